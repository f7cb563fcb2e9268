/* A store is several files (its log, the log's index), and no call moves them together; a restore
 * has others beside. So the new one first gets a name that says what is to be done: from then on it
 * is the cluster's store, and whoever comes next does what is left. The steps can be done again
 * from wherever they ended.
 *
 * A restore has two such names. By the first the files get their places, and what an earlier one
 * set aside goes: a log of it would be taken for the log of what comes there. By the second the
 * store of the cluster, whose log may lie there by then, is set aside. */
#include "controller/disk/switch.h"

#include "base/alloc.h"
#include "base/str.h"
#include "controller/disk/placing.h"
#include "io/client/client.h"
#include "io/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ASIDES_MAX 1000

static const struct {
    const char *chosen; /* the new store's first name; NULL: it has only the second */
    const char *next;   /* the new store's name until it has its place */
    const char *aside;  /* of the old one */
    bool keeps;         /* what lies there of earlier times: numbers are added to the name */
} ways[] = {
    [SWITCH_RESTORED] = {STATE_STORE_CHOSEN, STATE_STORE_RESTORED, "remuda.db.before", false},
    [SWITCH_REPAIRED] = {NULL, "remuda.db.repaired", "remuda.db.damaged", true},
};

/* The store itself last: while it has not moved, it is known where its log went. */
static const char *const parts[] = {"-wal", "-shm", ""};

static bool move(const char *from, const char *to, struct err *ret_err)
{
    return rename(from, to) == 0 ||
           err_set(ret_err, ERR_UNAVAILABLE, "cannot move %s to %s: %s", from, to, strerror(errno));
}

/* NULL with ret_err: there is none left. */
static const char *aside_of(const char *dir, enum store_switch how, struct arena *a,
                            struct err *ret_err)
{
    struct stat st;
    const char *first = arena_printf(a, "%s/%s", dir, ways[how].aside), *path = first;
    for (int i = 2; ways[how].keeps && i < ASIDES_MAX; i++) {
        if (lstat(path, &st) != 0 && errno == ENOENT)
            return path;
        path = arena_printf(a, "%s.%d", first, i);
    }
    if (!ways[how].keeps)
        return first;
    err_set(ret_err, ERR_EXISTS, "%s and others are there already: move them away", first);
    return NULL;
}

static bool finish_one(const char *dir, enum store_switch how, const char *aside, struct arena *a,
                       struct err *ret_err)
{
    const char *at = arena_printf(a, "%s/remuda.db", dir);
    bool ok = true;
    for (size_t i = 0; ok && i < ARRAY_LEN(parts); i++) {
        const char *from = arena_printf(a, "%s%s", at, parts[i]);
        if (access(from, F_OK) == 0)
            ok = move(from, arena_printf(a, "%s%s", aside, parts[i]), ret_err);
    }
    return ok && move(arena_printf(a, "%s/%s", dir, ways[how].next), at, ret_err) &&
           dir_sync(dir, ret_err);
}

static bool is_there(const char *dir, const char *name, struct arena *a)
{
    return name && access(arena_printf(a, "%s/%s", dir, name), F_OK) == 0;
}

/* Whatever is left of it, from the first name on. */
static bool finish(const char *dir, enum store_switch how, const char *aside, struct arena *a,
                   struct err *ret_err)
{
    if (is_there(dir, ways[how].chosen, a)) {
        if (!placing_finish(dir, a, ret_err))
            return false;
        for (size_t i = 0; i < ARRAY_LEN(parts); i++)
            unlink(arena_printf(a, "%s%s", aside, parts[i]));
        if (!dir_sync(dir, ret_err) ||
            !move(arena_printf(a, "%s/%s", dir, ways[how].chosen),
                  arena_printf(a, "%s/%s", dir, ways[how].next), ret_err) ||
            !dir_sync(dir, ret_err))
            return false;
    }
    return finish_one(dir, how, aside, a, ret_err);
}

bool store_switch(const char *dir, const char *fresh, enum store_switch how, struct arena *a,
                  const char **ret_aside, struct err *ret_err)
{
    ASSERT(fresh[0] == '/' || dir[0] != '/');
    const char *aside = aside_of(dir, how, a, ret_err);
    const char *first = ways[how].chosen ? ways[how].chosen : ways[how].next;
    if (!aside)
        return false;
    *ret_aside = aside;
    for (size_t i = 0; !ways[how].chosen && i < ARRAY_LEN(parts); i++)
        unlink(arena_printf(a, "%s%s", aside, parts[i]));
    return dir_sync(dir, ret_err) && move(fresh, arena_printf(a, "%s/%s", dir, first), ret_err) &&
           dir_sync(dir, ret_err) && finish(dir, how, aside, a, ret_err);
}

bool store_switch_is_open(const char *dir, struct arena *a)
{
    bool open = false;
    for (size_t how = 0; how < ARRAY_LEN(ways); how++)
        open |= is_there(dir, ways[how].chosen, a) || is_there(dir, ways[how].next, a);
    return open;
}

void store_switch_drop(const char *dir, struct arena *a)
{
    ASSERT(!store_switch_is_open(dir, a));
    unlink(arena_printf(a, "%s/remuda.db.restoring", dir));
    unlink(arena_printf(a, "%s/remuda.db.restoring-journal", dir));
    placing_drop(dir, a);
}

bool store_switch_finish(const char *dir, struct arena *a, bool *ret_done, struct err *ret_err)
{
    ASSERT(dir[0]);
    bool ok = true;
    for (int how = SWITCH_RESTORED; ok && how <= SWITCH_REPAIRED; how++) {
        if (!is_there(dir, ways[how].chosen, a) && !is_there(dir, ways[how].next, a))
            continue;
        const char *aside = aside_of(dir, (enum store_switch)how, a, ret_err);
        ok = aside && finish(dir, (enum store_switch)how, aside, a, ret_err);
        if (ok && ret_done)
            *ret_done = true;
    }
    return ok;
}
