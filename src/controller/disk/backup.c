#include "controller/disk/backup.h"

#include "base/alloc.h"
#include "base/str.h"
#include "base/vec.h"
#include "controller/disk/given.h"
#include "controller/disk/state_line.h"
#include "controller/disk/switch.h"
#include "io/files.h"
#include "io/process/daemon.h"
#include "model/limits.h"
#include "store/file/backup.h"
#include "store/file/place.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct backup_work {
    struct arena *a;
    const char *dir, *file;
    VEC(struct backup_file) files; /* a restore: that are to be put into their places */
    VEC(const char *) had;         /* a restore: names that the backup has */
    struct str lacked;             /* a restore: names that it has not, and were set aside */
    struct err err;
};

static const char *in_dir(const struct backup_work *w, const char *name)
{
    return arena_printf(w->a, "%s/%s", w->dir, name);
}

static int finish(struct backup_work *w, const char *name, bool ok)
{
    if (!ok)
        fprintf(stderr, "%s: error: %s\n", name, w->err.text);
    vec_done(&w->files);
    vec_done(&w->had);
    str_done(&w->lacked);
    arena_free(w->a);
    return ok ? 0 : 1;
}

/* ---- backup ---- */

static bool file_add(struct backup_work *w, const char *name)
{
    struct str data = STR_INIT;
    struct stat st;
    if (stat(in_dir(w, name), &st) != 0 || !S_ISREG(st.st_mode))
        return true;
    bool ok = file_read(in_dir(w, name), LIMIT_CONFIG_BYTES, &data, &w->err);
    struct backup_file f = {.name = arena_strdup(w->a, name), .mode = st.st_mode & 0777};
    f.data = (struct blob){arena_dup(w->a, data.len ? data.data : "", data.len), data.len};
    str_done(&data);
    vec_push(&w->files, f);
    return ok;
}

static bool is_conf(const char *name)
{
    size_t len = strlen(name);
    return len > strlen(".conf") && text_is(name + len - strlen(".conf"), ".conf");
}

/* What is configured there, and the cluster's certificates and keys. */
static bool files_read(struct backup_work *w)
{
    const char **names;
    size_t n;
    bool ok = dir_list(w->dir, w->a, &names, &n, &w->err);
    for (size_t i = 0; ok && i < n; i++)
        if (is_conf(names[i]))
            ok = file_add(w, names[i]);
    if (!ok || access(in_dir(w, "tls"), F_OK) != 0)
        return ok;
    ok = dir_list(in_dir(w, "tls"), w->a, &names, &n, &w->err);
    for (size_t i = 0; ok && i < n; i++)
        ok = file_add(w, arena_printf(w->a, "tls/%s", names[i]));
    return ok;
}

static bool files_find(void *ctx, const struct backup_file **ret, size_t *ret_n,
                       struct err *ret_err)
{
    struct backup_work *w = ctx;
    if (!files_read(w)) {
        *ret_err = w->err;
        return false;
    }
    *ret = w->files.v;
    *ret_n = w->files.n;
    return true;
}

int backup_main(int argc, char **argv)
{
    struct backup_work w = {.a = arena_new(), .lacked = STR_INIT};
    bool ok = state_line_read(argc, argv, w.a, &w.dir, &w.file, &w.err);
    if (ok && access(in_dir(&w, "remuda.db"), F_OK) != 0)
        ok =
            err_set(&w.err, ERR_NOT_FOUND, "there is no cluster in %s: %s", w.dir, strerror(errno));
    ok = ok && backup_write(in_dir(&w, "remuda.db"), w.file, files_find, &w, &w.err);
    if (ok)
        printf("%s holds the cluster of %s: its store and %zu files.\n", w.file, w.dir, w.files.n);
    return finish(&w, "remuda backup", ok);
}

/* ---- restore ---- */

/* Everything is written beside its place first: a full disk, or a file by a name that no backup
 * has, is found while nothing has changed. Whoever is killed later leaves each file as it was or as
 * it is to be, and never none: without its authority's key a cluster would make another, that no
 * host knows. */
static const char *beside(const struct backup_work *w, const char *name)
{
    return in_dir(w, arena_printf(w->a, "%s.restoring", name));
}

static const char *aside_of(const struct backup_work *w, const char *name)
{
    return in_dir(w, arena_printf(w->a, "%s.before", name));
}

static bool copy_aside(struct backup_work *w, const char *path, const char *aside)
{
    struct str data = STR_INIT;
    struct stat st;
    bool ok = stat(path, &st) == 0 || file_error(&w->err, "keep", path);
    ok = ok && file_read(path, LIMIT_CONFIG_BYTES, &data, &w->err) &&
         file_write_atomic(aside, str_text(&data), data.len, st.st_mode & 0777, &w->err);
    str_done(&data);
    return ok;
}

static bool set_aside(struct backup_work *w, const char *name)
{
    const char *path = in_dir(w, name), *aside = aside_of(w, name);
    unlink(aside);
    if (link(path, aside) == 0 || errno == ENOENT)
        return true;
    return place_has_no_links(errno) ? copy_aside(w, path, aside)
                                     : file_error(&w->err, "keep", path);
}

/* Only names that a backup has by itself: nobody's file can be made to write elsewhere. */
static bool name_is_good(const char *name)
{
    bool tls = text_starts(name, "tls/");
    if (tls)
        name += strlen("tls/");
    return *name && *name != '.' && !strchr(name, '/') && (tls || is_conf(name));
}

/* What others may write to is theirs; whatever the backup says. */
static mode_t mode_good(uint32_t mode)
{
    return mode & 0755;
}

static bool is_there(const struct backup_work *w, const struct backup_file *f)
{
    struct str now = STR_INIT;
    bool same = file_read(in_dir(w, f->name), LIMIT_CONFIG_BYTES, &now, NULL) &&
                now.len == f->data.len &&
                memcmp(str_text(&now), f->data.data ? f->data.data : "", now.len) == 0;
    str_done(&now);
    return same;
}

static bool file_write_beside(void *ctx, const struct backup_file *f)
{
    struct backup_work *w = ctx;
    const char *name;
    if (!name_is_good(f->name))
        return err_set(&w->err, ERR_INVALID, "%s holds a file \"%.100s\", which no backup has",
                       w->file, f->name);
    name = arena_strdup(w->a, f->name);
    vec_push(&w->had, name);
    if (is_there(w, f))
        return true;
    vec_push(&w->files, (struct backup_file){.name = name});
    return dir_make(in_dir(w, "tls"), 0700, &w->err) &&
           file_write_atomic(beside(w, name), f->data.data, f->data.len, mode_good(f->mode),
                             &w->err);
}

static bool files_place(struct backup_work *w)
{
    for (size_t i = 0; i < w->files.n; i++) {
        const char *name = w->files.v[i].name, *path = in_dir(w, name);
        if (!set_aside(w, name))
            return false;
        if (rename(beside(w, name), path) != 0)
            return file_error(&w->err, "write", path);
    }
    return access(in_dir(w, "tls"), F_OK) != 0 || dir_sync(in_dir(w, "tls"), &w->err);
}

static bool is_had(const struct backup_work *w, const char *name)
{
    for (size_t i = 0; i < w->had.n; i++)
        if (text_is(w->had.v[i], name))
            return true;
    return false;
}

/* What is configured by a file that came since would be of another cluster than the one restored.
 * The authority may stay: who is in says the store. */
static bool lacked_set_aside(struct backup_work *w)
{
    const char **names;
    size_t n;
    if (!dir_list(w->dir, w->a, &names, &n, &w->err))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!is_conf(names[i]) || text_is(names[i], "remuda.conf") || is_had(w, names[i]))
            continue;
        if (rename(in_dir(w, names[i]), aside_of(w, names[i])) != 0)
            return file_error(&w->err, "keep", in_dir(w, names[i]));
        str_addf(&w->lacked, "%s%s", w->lacked.len ? ", " : "", names[i]);
    }
    return true;
}

static void besides_remove(struct backup_work *w)
{
    for (size_t i = 0; i < w->files.n; i++)
        unlink(beside(w, w->files.v[i].name));
}

/* With the controller's lock held. */
static bool restore(struct backup_work *w)
{
    uint64_t seq, next;
    const char *aside, *fresh = in_dir(w, "remuda.db.restoring");
    if (access(in_dir(w, "host.conf"), F_OK) == 0)
        return err_set(&w->err, ERR_EXISTS,
                       "%s is of a host that joined a cluster: `remuda leave` first, or choose "
                       "another directory with --state",
                       w->dir);
    if (!store_switch_finish(w->dir, w->a, NULL, &w->err))
        return false;
    unlink(fresh); /* of one that was cut off */
    unlink(in_dir(w, "remuda.db.restoring-journal"));
    if (!backup_read(w->file, fresh, file_write_beside, w, &seq, &next, &w->err)) {
        unlink(fresh);
        besides_remove(w);
        return false;
    }
    return files_place(w) && lacked_set_aside(w) &&
           given_raise(in_dir(w, "given"), seq, next, &w->err) &&
           store_switch(w->dir, fresh, SWITCH_RESTORED, w->a, &aside, &w->err);
}

/* They came with the file, and will run. */
static void programs_say(const struct backup_work *w)
{
    struct str text = STR_INIT;
    backup_programs(in_dir(w, "remuda.db"), &text);
    if (text.len)
        printf("Programs will be run by what was restored; `strigger --get` shows them, "
               "`strigger --clear --id=N` takes one back:\n%s",
               str_text(&text));
    str_done(&text);
}

/* Who was shut out since the backup was made is back. */
static void hosts_say(const struct backup_work *w)
{
    struct str text = STR_INIT;
    backup_hosts(in_dir(w, "remuda.db"), &text);
    if (text.len)
        printf("These hosts are let in, also those that were shut out since; `remuda hosts remove "
               "ID` shuts one out. Tokens were not restored:\n%s",
               str_text(&text));
    str_done(&text);
}

int restore_main(int argc, char **argv)
{
    struct backup_work w = {.a = arena_new(), .lacked = STR_INIT};
    struct pid_file lock = {.fd = -1};
    bool ok = state_line_read(argc, argv, w.a, &w.dir, &w.file, &w.err);
    umask(022);
    ok = ok && dir_make(w.dir, geteuid() == 0 ? 0755 : 0700, &w.err) &&
         (pid_file_lock_dir(&lock, in_dir(&w, "controller.pid"), &w.err) ||
          err_prefix(&w.err, "`remuda down` first"));
    ok = ok && restore(&w);
    pid_file_drop(&lock);
    if (ok) {
        printf("%s has the cluster of %s. `remuda up` starts it. Jobs that waited are held, for "
               "they may "
               "have run "
               "since; `scontrol release` lets them run. What was there is kept beside, as "
               "*.before.\n",
               w.dir, w.file);
        if (w.lacked.len)
            printf("Set aside in this way, as the backup has none of that name: %s\n",
                   str_text(&w.lacked));
        programs_say(&w);
        hosts_say(&w);
    }
    return finish(&w, "remuda restore", ok);
}
