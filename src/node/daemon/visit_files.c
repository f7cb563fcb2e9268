#include "node/daemon/visit_files.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "io/files.h"
#include "node/step/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ENV_MAX    (1u << 20)
#define UNPREPARED ".prolog"

/* The last entry: a file without it lost its end with the machine's power. */
static const char whole[] = "REMUDA_VISIT=whole";

static const char *visits_dir(const char *node_dir, struct arena *a)
{
    return arena_printf(a, "%s/visits", node_dir);
}

static const char *path_of(const char *node_dir, const struct note *ids, bool prepared,
                           struct arena *a)
{
    return arena_printf(a, "%s/%lld.%lld%s", visits_dir(node_dir, a), (long long)ids->job_id,
                        (long long)ids->attempt, prepared ? "" : UNPREPARED);
}

/* Whole or not there for whoever reads it while the machine is up. */
static bool file_put(const char *path, const struct str *text, struct arena *a, struct err *ret_err)
{
    const char *early = arena_printf(a, "%s.new", path);
    if (small_file_write(AT_FDCWD, early, text->data, text->len, 0600) && rename(early, path) == 0)
        return true;
    file_error(ret_err, "write", path);
    unlink(early);
    return false;
}

bool visit_file_write(const char *node_dir, const struct note *ids, bool prepared,
                      struct plan_bytes env, struct err *ret_err)
{
    ASSERT(env.len > 0);
    struct arena *a = arena_new();
    struct str text = STR_INIT;
    str_addn(&text, env.data, env.len);
    str_addn(&text, whole, sizeof whole);
    bool ok = dir_make(visits_dir(node_dir, a), 0700, ret_err) &&
              file_put(path_of(node_dir, ids, prepared, a), &text, a, ret_err);
    str_done(&text);
    arena_free(a);
    return ok;
}

/* One that could not be written is not there. */
bool visit_file_ready(const char *node_dir, const struct note *ids, struct err *ret_err)
{
    struct arena *a = arena_new();
    const char *from = path_of(node_dir, ids, false, a);
    bool ok = rename(from, path_of(node_dir, ids, true, a)) == 0 || errno == ENOENT;
    if (!ok)
        err_set(ret_err, ERR_UNAVAILABLE, "cannot rename %s: %s", from, strerror(errno));
    arena_free(a);
    return ok;
}

void visit_file_remove(const char *node_dir, const struct note *ids)
{
    struct arena *a = arena_new();
    unlink(path_of(node_dir, ids, true, a));
    unlink(path_of(node_dir, ids, false, a));
    arena_free(a);
}

static bool whole_read(const char *path, struct str *out, struct err *ret_err)
{
    struct str text = STR_INIT;
    bool ok = file_read(path, ENV_MAX, &text, ret_err);
    bool is_whole = ok && text.len > sizeof whole &&
                    memcmp(text.data + text.len - sizeof whole, whole, sizeof whole) == 0;
    if (is_whole)
        str_addn(out, text.data, text.len - sizeof whole);
    else if (ok)
        err_set(ret_err, ERR_UNAVAILABLE, "%s is not whole: this machine lost its power", path);
    str_done(&text);
    return is_whole;
}

bool visit_file_read(const char *node_dir, const struct note *ids, struct str *out,
                     struct err *ret_err)
{
    struct arena *a = arena_new();
    const char *path = path_of(node_dir, ids, true, a);
    if (access(path, F_OK) != 0)
        path = path_of(node_dir, ids, false, a);
    bool ok = (access(path, F_OK) != 0 && errno == ENOENT) || whole_read(path, out, ret_err);
    arena_free(a);
    return ok;
}

/* Other names are of files that are not whole. */
static bool name_parse(const char *name, struct arena *a, struct note *ret, bool *ret_prepared)
{
    const char *end = strstr(name, UNPREPARED);
    size_t len = end ? (size_t)(end - name) : strlen(name);
    uint64_t job_id;
    uint32_t attempt;
    int64_t step_id;
    if ((end && !text_is(end, UNPREPARED)) ||
        !step_dir_name_parse(arena_printf(a, "%.*s.0", (int)len, name), &job_id, &attempt,
                             &step_id))
        return false;
    *ret = (struct note){.job_id = (int64_t)job_id, .attempt = attempt};
    *ret_prepared = !end;
    return true;
}

bool visit_files_scan(const char *node_dir,
                      void (*fn)(void *ctx, const struct note *ids, bool prepared), void *ctx,
                      struct err *ret_err)
{
    struct arena *a = arena_new();
    const char *dir = visits_dir(node_dir, a), **names;
    size_t n = 0;
    bool ok = (access(dir, F_OK) != 0 && errno == ENOENT) || dir_list(dir, a, &names, &n, ret_err);
    for (size_t i = 0; ok && i < n; i++) {
        struct note ids;
        bool prepared;
        if (name_parse(names[i], a, &ids, &prepared))
            fn(ctx, &ids, prepared);
        else
            unlink(arena_printf(a, "%s/%s", dir, names[i]));
    }
    arena_free(a);
    return ok;
}
