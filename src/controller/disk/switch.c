/* A store is several files (its log, the log's index), and no call moves them together. So the new
 * one first gets a name that says what is to be done: from then on it is the cluster's store, and
 * whoever comes next does what is left. The steps can be done again from wherever they ended. */
#include "controller/disk/switch.h"

#include "base/alloc.h"
#include "base/str.h"
#include "io/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ASIDES_MAX 1000

static const struct {
    const char *next;  /* the new store's name until it has its place */
    const char *aside; /* of the old one */
    bool keeps;        /* what lies there of earlier times: numbers are added to the name */
} ways[] = {
    [SWITCH_RESTORED] = {"remuda.db.restored", "remuda.db.before", false},
    [SWITCH_REPAIRED] = {"remuda.db.repaired", "remuda.db.damaged", true},
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

bool store_switch(const char *dir, const char *fresh, enum store_switch how, struct arena *a,
                  const char **ret_aside, struct err *ret_err)
{
    ASSERT(fresh[0] == '/' || dir[0] != '/');
    const char *aside = aside_of(dir, how, a, ret_err);
    if (!aside)
        return false;
    *ret_aside = aside;
    /* A log of an earlier one would be taken for the log of what comes there. */
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        unlink(arena_printf(a, "%s%s", aside, parts[i]));
    return move(fresh, arena_printf(a, "%s/%s", dir, ways[how].next), ret_err) &&
           dir_sync(dir, ret_err) && finish_one(dir, how, aside, a, ret_err);
}

bool store_switch_finish(const char *dir, struct arena *a, bool *ret_done, struct err *ret_err)
{
    ASSERT(dir[0]);
    bool ok = true;
    for (int how = SWITCH_RESTORED; ok && how <= SWITCH_REPAIRED; how++) {
        if (access(arena_printf(a, "%s/%s", dir, ways[how].next), F_OK) != 0)
            continue;
        const char *aside = aside_of(dir, (enum store_switch)how, a, ret_err);
        ok = aside && finish_one(dir, (enum store_switch)how, aside, a, ret_err);
        if (ok && ret_done)
            *ret_done = true;
    }
    return ok;
}
