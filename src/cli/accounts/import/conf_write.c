/* What was taken over of Slurm's configuration becomes files of the cluster's state. */
#include "cli/accounts/import/import.h"
#include "cli/program/program.h"
#include "io/client/client.h"
#include "io/files.h"
#include "io/together.h"
#include "model/limits.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME "remuda import"

static const char *target_of(const struct taken *t)
{
    return text_is(t->name, MAIN_FILE) ? "remuda.conf" : t->name;
}

struct conf_writing {
    struct import *m;
    const char *dir;
    VEC(struct together_file) file;
    struct str said;
};

static void file_add(struct conf_writing *w, const char *name, const struct str *text, mode_t mode)
{
    struct together_file f = {.name = name,
                              .data = arena_dup(w->m->a, text->data, text->len),
                              .len = text->len,
                              .mode = mode};
    vec_push(&w->file, f);
}

/* A name that nothing has yet, or that has the same: what an earlier import kept stays kept. */
static const char *kept_name(const struct conf_writing *w, const char *name,
                             const struct str *former)
{
    const char *kept = arena_printf(w->m->a, "%s.before-import", name);
    for (unsigned n = 2;; n++) {
        struct str there = STR_INIT;
        const char *path = arena_printf(w->m->a, "%s/%s", w->dir, kept);
        bool taken =
            access(path, F_OK) == 0 && !(file_read(path, LIMIT_CONFIG_BYTES, &there, NULL) &&
                                         text_is(str_text(&there), str_text(former)));
        str_done(&there);
        if (!taken)
            return kept;
        kept = arena_printf(w->m->a, "%s.before-import.%u", name, n);
    }
}

/* What is there and says something else is kept beside. */
static bool taken_write(struct conf_writing *w, const struct taken *t, struct err *ret_err)
{
    const char *name = target_of(t), *path = arena_printf(w->m->a, "%s/%s", w->dir, name);
    struct str text = STR_INIT, former = STR_INIT;
    struct err err = {0};
    str_addf(&text, "# remuda import slurm: %s/%s\n%s", w->m->conf, t->name, str_text(&t->text));
    bool there = file_read(path, LIMIT_CONFIG_BYTES, &former, &err);
    bool ok = there || err.code == ERR_NOT_FOUND || err_set(ret_err, err.code, "%s", err.text);
    bool same = there && text_is(str_text(&former), str_text(&text));
    if (ok && there && !same) {
        const char *kept = kept_name(w, name, &former);
        struct stat st; /* what it keeps from others stays kept from them */
        file_add(w, kept, &former, stat(path, &st) == 0 ? st.st_mode & 0777 : 0600);
        str_addf(&w->said, "%s was there: it is %s/%s now\n", path, w->dir, kept);
    }
    if (ok && !same)
        file_add(w, name, &text, 0644);
    str_addf(&w->said, "%s: %s\n", same ? "as it was" : "written", path);
    str_done(&former);
    str_done(&text);
    return ok;
}

/* All of them, or none: whatever happens in between. */
bool import_conf_write(struct import *m)
{
    struct conf_writing w = {.m = m, .dir = state_dir_own(m->state_dir, m->a)};
    struct err err = {0};
    bool ok = dir_make(w.dir, 0755, &err) && together_finish(w.dir, &err);
    for (size_t i = m->file.n; ok && i-- > 0;)
        ok = taken_write(&w, m->file.v[i], &err);
    ok = ok && (!w.file.n || together_write(w.dir, w.file.v, w.file.n, &err));
    if (ok)
        fputs(str_text(&w.said), stdout);
    else
        program_error(NAME, "%s", err.text);
    vec_done(&w.file);
    str_done(&w.said);
    return ok;
}
