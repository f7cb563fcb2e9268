/* --multi-prog: the file is read and checked here, before anything is started; each task finds its
 * line on its node (node/step/multi_prog.c). */
#include "base/idset.h"
#include "cli/step/srun_parts.h"
#include "cli/submit/script.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FILE_BYTES (1u << 20)

/* "\" at the end of a line: it goes on in the next. */
static void lines_join(char *text, size_t len)
{
    for (size_t i = 0; i + 1 < len; i++)
        if (text[i] == '\\' && text[i + 1] == '\n')
            text[i] = text[i + 1] = ' ';
}

bool srun_multi_prog_read(struct launch *l, size_t i, const char *path, struct err *e)
{
    ASSERT(i < l->run.nsteps);
    struct blob *ret = &l->step[i].tasks.multi_prog;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        err_set(e, ERR_NOT_FOUND, "--multi-prog: %s: %s", path, strerror(errno));
        return err_lead(e, "error: Could not open multi_prog config file %s", path);
    }
    const char *text = submit_read_fd(fd, FILE_BYTES, l->line.a, &ret->len, e);
    close(fd);
    if (!text)
        return err_prefix(e, "--multi-prog");
    if (ret->len > FILE_BYTES)
        return err_set(e, ERR_LIMIT, "--multi-prog: %s has more than %u bytes", path, FILE_BYTES);
    char *own = arena_dup(l->line.a, text, ret->len + 1);
    lines_join(own, ret->len);
    ret->data = own;
    return srun_multi_prog_check(l, i, l->line.comp[i].spec.req.ntasks, e);
}

struct multi_checking {
    const char *path;
    int32_t ntasks; /* 0 = not known */
    int line;
    bool rest; /* "*" takes those that no line names */
    struct idset seen;
    struct err *e;
};

static bool invalid(const struct multi_checking *k, const char *what)
{
    return err_set(k->e, ERR_INVALID, "%s: line %d of configuration file %s invalid", what, k->line,
                   k->path);
}

static bool ids_check(struct multi_checking *k, const char *text)
{
    struct idset set = IDSET_INIT;
    uint32_t id;
    char what[64] = "";
    bool ok = idset_parse(&set, text, UINT32_MAX, NULL);
    if (!ok)
        snprintf(what, sizeof what, "Invalid task range specification (%.20s)", text);
    for (bool more = ok && idset_first(&set, &id); more && ok; more = idset_next(&set, id, &id)) {
        if (k->ntasks && id >= (uint32_t)k->ntasks)
            snprintf(what, sizeof what, "Invalid task id, %u >= ntasks", id);
        else if (idset_has(&k->seen, id))
            snprintf(what, sizeof what, "Duplicate record for task %u", id);
        ok = !what[0];
        idset_add(&k->seen, id);
    }
    idset_done(&set);
    return ok || invalid(k, what);
}

static bool line_check(struct multi_checking *k, struct span line, struct arena *a)
{
    size_t len = 0;
    k->line++;
    line = span_trim(line);
    if (!line.len || line.data[0] == '#')
        return true;
    while (len < line.len && line.data[len] != ' ' && line.data[len] != '\t')
        len++;
    if (len == line.len)
        return invalid(k, "No program for these tasks");
    const char *ids = arena_strndup(a, line.data, len);
    k->rest |= text_is(ids, "*");
    return text_is(ids, "*") || ids_check(k, ids);
}

bool srun_multi_prog_check(const struct launch *l, size_t i, int32_t ntasks, struct err *e)
{
    ASSERT(i < l->run.nsteps);
    const struct blob *text = &l->step[i].tasks.multi_prog;
    struct span rest = {text->data, text->len}, line;
    int from = 0, to = 0;
    if (!l->line.comp[i < l->line.ncomp ? i : 0].launch.multi_prog ||
        !srun_program_words(l, i, &from, &to))
        return true;
    struct multi_checking k = {.path = l->line.argv[from], .ntasks = ntasks, .e = e};
    bool ok = true;
    while (ok && span_next(&rest, '\n', &line))
        ok = line_check(&k, line, l->line.a);
    for (int32_t id = 0; ok && !k.rest && id < ntasks; id++)
        if (!idset_has(&k.seen, (uint32_t)id))
            ok = err_set(e, ERR_INVALID, "Configuration file %s invalid, no record for task id %d",
                         k.path, id);
    idset_done(&k.seen);
    return ok;
}
