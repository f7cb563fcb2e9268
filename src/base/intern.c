#include "base/intern.h"

#include "base/alloc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define uthash_fatal(message) die(message)
#include <uthash.h>

struct entry {
    UT_hash_handle hh;
    uint32_t users;
    char text[];
};

struct intern {
    struct entry *head;
};

struct intern *intern_new(void)
{
    return xcalloc(1, sizeof(struct intern));
}

void intern_free(struct intern *pool)
{
    if (!pool)
        return;
    struct entry *e = pool->head, *next;
    HASH_CLEAR(hh, pool->head);
    for (; e; e = next) {
        next = e->hh.next;
        free(e);
    }
    free(pool);
}

const char *intern_take(struct intern *pool, const char *text)
{
    if (!text)
        return NULL;
    struct entry *e;
    size_t len = strlen(text);
    HASH_FIND(hh, pool->head, text, len, e);
    if (!e) {
        e = xmalloc(sizeof *e + len + 1);
        memset(e, 0, sizeof *e);
        memcpy(e->text, text, len + 1);
        HASH_ADD_KEYPTR(hh, pool->head, e->text, len, e);
    }
    e->users++;
    return e->text;
}

void intern_drop(struct intern *pool, const char *text)
{
    if (!text)
        return;
    struct entry *e = (struct entry *) (uintptr_t) (text - offsetof(struct entry, text));
    CHECK(e->users > 0);
    if (--e->users)
        return;
    HASH_DEL(pool->head, e);
    free(e);
}

size_t intern_count(const struct intern *pool)
{
    return HASH_COUNT(pool->head);
}
