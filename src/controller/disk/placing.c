/* Everything is written beside its place first: a full disk, or a file by a name that no backup
 * has, is found while nothing has changed. Then one rename, the store's, decides for all of it;
 * what follows can be done again by whoever comes next, and leaves each file as it was or as it is
 * to be, never none: without its authority's key a cluster would make another, that no host knows.
 *
 * What is to be done is known by names alone. NAME.restoring goes as it takes its place, and
 * NAME.leaving when NAME has left it. */
#include "controller/disk/placing.h"

#include "base/alloc.h"
#include "base/str.h"
#include "io/files.h"
#include "model/limits.h"
#include "store/file/place.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char restoring[] = ".restoring", leaving[] = ".leaving";

struct placing_work {
    const char *dir;
    struct arena *a;
    struct err *err;
};

static bool ends_in(const char *name, const char *ending)
{
    size_t len = strlen(name), n = strlen(ending);
    return len > n && text_is(name + len - n, ending);
}

bool placing_is_conf(const char *name)
{
    return ends_in(name, ".conf");
}

bool placing_name_is_good(const char *name)
{
    bool tls = text_starts(name, "tls/");
    if (tls)
        name += strlen("tls/");
    return *name && *name != '.' && !strchr(name, '/') && (tls || placing_is_conf(name));
}

const char *placing_beside(const char *dir, const char *name, struct arena *a)
{
    return arena_printf(a, "%s/%s%s", dir, name, restoring);
}

bool placing_put(const char *dir, const char *name, const void *data, size_t len, mode_t mode,
                 struct arena *a, struct err *ret_err)
{
    ASSERT(placing_name_is_good(name));
    return dir_make(arena_printf(a, "%s/tls", dir), 0700, ret_err) &&
           file_write_atomic(placing_beside(dir, name, a), data, len, mode, ret_err);
}

bool placing_leave(const char *dir, const char *name, struct arena *a, struct err *ret_err)
{
    ASSERT(placing_name_is_good(name));
    return file_write_atomic(arena_printf(a, "%s/%s%s", dir, name, leaving), "", 0, 0600, ret_err);
}

/* Calls `each` with every NAME of which there is NAME`ending`; "given" has a place, too. */
static bool each_name(struct placing_work *p, const char *ending,
                      bool (*each)(struct placing_work *p, const char *name))
{
    const char *const below[] = {"", "tls/"};
    bool ok = true;
    for (size_t d = 0; ok && d < ARRAY_LEN(below); d++) {
        const char **names;
        size_t n = 0;
        const char *path = arena_printf(p->a, "%s/%s", p->dir, below[d]);
        if (access(path, F_OK) != 0)
            continue;
        ok = dir_list(path, p->a, &names, &n, p->err);
        for (size_t i = 0; ok && i < n; i++) {
            if (!ends_in(names[i], ending))
                continue;
            const char *name = arena_printf(p->a, "%s%.*s", below[d],
                                            (int)(strlen(names[i]) - strlen(ending)), names[i]);
            if (placing_name_is_good(name) || text_is(name, "given"))
                ok = each(p, name);
        }
    }
    return ok;
}

static bool restoring_drop(struct placing_work *p, const char *name)
{
    unlink(placing_beside(p->dir, name, p->a));
    return true;
}

static bool leaving_drop(struct placing_work *p, const char *name)
{
    unlink(arena_printf(p->a, "%s/%s%s", p->dir, name, leaving));
    return true;
}

void placing_drop(const char *dir, struct arena *a)
{
    struct placing_work p = {dir, a, &(struct err){0}};
    each_name(&p, restoring, restoring_drop);
    each_name(&p, leaving, leaving_drop);
}

static bool copy_aside(struct placing_work *p, const char *path, const char *aside)
{
    struct str data = STR_INIT;
    struct stat st;
    bool ok = stat(path, &st) == 0 || file_error(p->err, "keep", path);
    ok = ok && file_read(path, LIMIT_CONFIG_BYTES, &data, p->err) &&
         file_write_atomic(aside, str_text(&data), data.len, st.st_mode & 0777, p->err);
    str_done(&data);
    return ok;
}

/* What was kept by an earlier restore goes only for what is there to be kept. (A rename between two
 * names of one file does nothing, and leaves both.) */
static bool set_aside(struct placing_work *p, const char *path)
{
    const char *aside = arena_printf(p->a, "%s.before", path);
    const char *early = arena_printf(p->a, "%s.before.new", path);
    unlink(early);
    if (link(path, early) != 0) {
        if (errno == ENOENT)
            return true;
        return place_has_no_links(errno) ? copy_aside(p, path, aside)
                                         : file_error(p->err, "keep", path);
    }
    bool ok = rename(early, aside) == 0 || file_error(p->err, "keep", path);
    unlink(early);
    return ok;
}

static bool leave_one(struct placing_work *p, const char *name)
{
    const char *path = arena_printf(p->a, "%s/%s", p->dir, name);
    if (rename(path, arena_printf(p->a, "%s.before", path)) != 0 && errno != ENOENT)
        return file_error(p->err, "keep", path);
    return leaving_drop(p, name);
}

static bool place_one(struct placing_work *p, const char *name)
{
    const char *path = arena_printf(p->a, "%s/%s", p->dir, name);
    bool kept = text_is(name, "given") || set_aside(p, path);
    return kept && (rename(placing_beside(p->dir, name, p->a), path) == 0 ||
                    file_error(p->err, "write", path));
}

bool placing_finish(const char *dir, struct arena *a, struct err *ret_err)
{
    ASSERT(dir[0]);
    struct placing_work p = {dir, a, ret_err};
    const char *tls = arena_printf(a, "%s/tls", dir);
    return each_name(&p, leaving, leave_one) && each_name(&p, restoring, place_one) &&
           (access(tls, F_OK) != 0 || dir_sync(tls, ret_err)) && dir_sync(dir, ret_err);
}
