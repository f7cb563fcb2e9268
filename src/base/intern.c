/* A table of pointers, open addressing; before each text lies the number of its users. Whoever
 * gives a text back gives its address, so that only the last user costs a look-up. */
#include "base/intern.h"

#include "base/alloc.h"
#include "base/rng.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS_MIN 64

struct intern_text {
    uint32_t users;
    char bytes[];
};

struct intern {
    struct intern_text **slot;
    size_t nslots; /* a power of two */
    size_t n;      /* texts; at most three quarters of the slots */
};

struct intern *intern_new(void)
{
    struct intern *pool = xcalloc(1, sizeof *pool);
    pool->nslots = SLOTS_MIN;
    pool->slot = xcalloc(pool->nslots, sizeof pool->slot[0]);
    return pool;
}

void intern_free(struct intern *pool)
{
    if (!pool)
        return;
    for (size_t i = 0; i < pool->nslots; i++)
        free(pool->slot[i]);
    free(pool->slot);
    free(pool);
}

static size_t text_home(const struct intern *pool, const char *text)
{
    return (size_t)hash_quick(text, strlen(text)) & (pool->nslots - 1);
}

/* The text's slot, or the empty one where it belongs. */
static size_t text_find(const struct intern *pool, const char *text)
{
    size_t at = text_home(pool, text);
    while (pool->slot[at] && strcmp(pool->slot[at]->bytes, text) != 0)
        at = (at + 1) & (pool->nslots - 1);
    return at;
}

static void slots_set(struct intern *pool, size_t nslots)
{
    struct intern_text **former = pool->slot;
    size_t nformer = pool->nslots;
    pool->slot = xcalloc(nslots, sizeof pool->slot[0]);
    pool->nslots = nslots;
    for (size_t i = 0; i < nformer; i++) {
        if (!former[i])
            continue;
        size_t at = text_home(pool, former[i]->bytes);
        while (pool->slot[at])
            at = (at + 1) & (nslots - 1);
        pool->slot[at] = former[i];
    }
    free(former);
}

static struct intern_text *text_new(const char *text)
{
    size_t len = strlen(text);
    struct intern_text *t = xmalloc(offsetof(struct intern_text, bytes) + len + 1);
    t->users = 0;
    memcpy(t->bytes, text, len + 1);
    return t;
}

const char *intern_take(struct intern *pool, const char *text)
{
    if (!text)
        return NULL;
    size_t at = text_find(pool, text);
    if (!pool->slot[at]) {
        if (4 * (pool->n + 1) > 3 * pool->nslots) {
            slots_set(pool, 2 * pool->nslots);
            at = text_find(pool, text);
        }
        pool->slot[at] = text_new(text);
        pool->n++;
    }
    pool->slot[at]->users++;
    return pool->slot[at]->bytes;
}

static struct intern_text *text_of(const char *text)
{
    return (struct intern_text *)(uintptr_t)(text - offsetof(struct intern_text, bytes));
}

void intern_more(const char *text, uint32_t users)
{
    CHECK(text_of(text)->users > 0 && users <= UINT32_MAX - text_of(text)->users);
    text_of(text)->users += users;
}

const char *intern_find(const struct intern *pool, const char *text)
{
    const struct intern_text *t = text ? pool->slot[text_find(pool, text)] : NULL;
    return t ? t->bytes : NULL;
}

/* Empties a slot; texts after it that could not have theirs because of it move up. */
static void slot_clear(struct intern *pool, size_t hole)
{
    size_t mask = pool->nslots - 1;
    pool->slot[hole] = NULL;
    for (size_t at = (hole + 1) & mask; pool->slot[at]; at = (at + 1) & mask) {
        size_t home = text_home(pool, pool->slot[at]->bytes);
        if (((at - home) & mask) < ((at - hole) & mask))
            continue;
        pool->slot[hole] = pool->slot[at];
        pool->slot[at] = NULL;
        hole = at;
    }
}

void intern_drop(struct intern *pool, const char *text)
{
    if (!text)
        return;
    struct intern_text *t = text_of(text);
    CHECK(t->users > 0);
    if (--t->users > 0)
        return;
    size_t at = text_find(pool, text);
    CHECK(pool->slot[at] == t);
    slot_clear(pool, at);
    free(t);
    if (--pool->n < pool->nslots / 8 && pool->nslots > SLOTS_MIN)
        slots_set(pool, pool->nslots / 2);
}

size_t intern_count(const struct intern *pool)
{
    return pool->n;
}
