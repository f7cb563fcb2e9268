/* A map from each text to its number of users; the map's own copy of the key is the interned text. */
#include "base/intern.h"

#include "base/alloc.h"
#include "base/map.h"

#include <stdint.h>
#include <stdlib.h>

struct intern {
    struct map_str *users;
};

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
    void **users = map_str_slot(pool->users, text, true, &kept);
    *users = (void *)((uintptr_t)*users + 1);
    return kept;
}

void intern_drop(struct intern *pool, const char *text)
{
    if (!text)
        return;
    const char *kept = NULL;
    void **users = map_str_slot(pool->users, text, false, &kept);
    CHECK(users && kept == text);
    *users = (void *)((uintptr_t)*users - 1);
    if (!*users)
        map_str_del(pool->users, text);
}

size_t intern_count(const struct intern *pool)
{
    return map_str_count(pool->users);
}
