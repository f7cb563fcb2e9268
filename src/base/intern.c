/* A map from each text to its number of users; the map's own copy of the key is the interned text. The count
 * lies in the bytes of the map's value, which are zero for a new key. */
#include "base/intern.h"

#include "base/alloc.h"
#include "base/map.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct intern {
    struct map_str *users;
};

/* Changes the number of users by `by`; returns the new one. */
static uintptr_t users_change(void **slot, int by)
{
    uintptr_t users;
    memcpy(&users, slot, sizeof users);
    users += (uintptr_t)by;
    memcpy(slot, &users, sizeof users);
    return users;
}

struct intern *intern_new(void)
{
    struct intern *pool = xmalloc(sizeof *pool);
    pool->users = map_str_new();
    return pool;
}

void intern_free(struct intern *pool)
{
    if (!pool)
        return;
    map_str_free(pool->users);
    free(pool);
}

const char *intern_take(struct intern *pool, const char *text)
{
    if (!text)
        return NULL;
    const char *kept;
    users_change(map_str_slot(pool->users, text, true, &kept), 1);
    return kept;
}

void intern_drop(struct intern *pool, const char *text)
{
    if (!text)
        return;
    const char *kept = NULL;
    void **slot = map_str_slot(pool->users, text, false, &kept);
    CHECK(slot && kept == text);
    if (users_change(slot, -1) == 0)
        map_str_del(pool->users, text);
}

size_t intern_count(const struct intern *pool)
{
    return map_str_count(pool->users);
}
