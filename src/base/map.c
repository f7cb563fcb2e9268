/* Both maps are uthash tables; uthash keeps its entries in a list in the order of insertion, which is the order of a walk. */
#include "base/map.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

#define uthash_fatal(message) die(message)
#include <uthash.h>

struct entry_u64 {
    UT_hash_handle hh;
    uint64_t key;
    void *value;
};

struct map_u64 {
    struct entry_u64 *head;
};

struct map_u64 *map_u64_new(void)
{
    return xcalloc(1, sizeof(struct map_u64));
}

void map_u64_free(struct map_u64 *m)
{
    if (!m)
        return;
    struct entry_u64 *e = m->head, *next;
    HASH_CLEAR(hh, m->head);
    for (; e; e = next) {
        next = e->hh.next;
        free(e);
    }
    free(m);
}

static struct entry_u64 *entry_u64_find(const struct map_u64 *m, uint64_t key)
{
    struct entry_u64 *e;
    HASH_FIND(hh, m->head, &key, sizeof key, e);
    return e;
}

void map_u64_put(struct map_u64 *m, uint64_t key, void *value)
{
    struct entry_u64 *e = entry_u64_find(m, key);
    if (!e) {
        e = xcalloc(1, sizeof *e);
        e->key = key;
        HASH_ADD(hh, m->head, key, sizeof e->key, e);
    }
    e->value = value;
}

void *map_u64_get(const struct map_u64 *m, uint64_t key)
{
    struct entry_u64 *e = entry_u64_find(m, key);
    return e ? e->value : NULL;
}

void *map_u64_del(struct map_u64 *m, uint64_t key)
{
    struct entry_u64 *e = entry_u64_find(m, key);
    if (!e)
        return NULL;
    void *value = e->value;
    HASH_DEL(m->head, e);
    free(e);
    return value;
}

size_t map_u64_count(const struct map_u64 *m)
{
    return HASH_COUNT(m->head);
}

/* A walk holds the entry to come, so that the current one may be deleted. */
static const char walk_end;

bool map_u64_next(const struct map_u64 *m, struct map_walk *w)
{
    struct entry_u64 *e = w->at ? w->at : m->head;
    if (!e || w->at == (void *) (uintptr_t) &walk_end)
        return false;
    w->key = e->key;
    w->value = e->value;
    w->at = e->hh.next ? e->hh.next : (void *) (uintptr_t) &walk_end;
    return true;
}

struct entry_str {
    UT_hash_handle hh;
    void *value;
    char key[];
};

struct map_str {
    struct entry_str *head;
};

struct map_str *map_str_new(void)
{
    return xcalloc(1, sizeof(struct map_str));
}

void map_str_free(struct map_str *m)
{
    if (!m)
        return;
    struct entry_str *e = m->head, *next;
    HASH_CLEAR(hh, m->head);
    for (; e; e = next) {
        next = e->hh.next;
        free(e);
    }
    free(m);
}

static struct entry_str *entry_str_find(const struct map_str *m, const char *key)
{
    struct entry_str *e;
    HASH_FIND(hh, m->head, key, strlen(key), e);
    return e;
}

void map_str_put(struct map_str *m, const char *key, void *value)
{
    struct entry_str *e = entry_str_find(m, key);
    if (!e) {
        size_t len = strlen(key);
        e = xcalloc(1, sizeof *e + len + 1);
        memcpy(e->key, key, len + 1);
        HASH_ADD_KEYPTR(hh, m->head, e->key, len, e);
    }
    e->value = value;
}

void *map_str_get(const struct map_str *m, const char *key)
{
    struct entry_str *e = entry_str_find(m, key);
    return e ? e->value : NULL;
}

void *map_str_del(struct map_str *m, const char *key)
{
    struct entry_str *e = entry_str_find(m, key);
    if (!e)
        return NULL;
    void *value = e->value;
    HASH_DEL(m->head, e);
    free(e);
    return value;
}

size_t map_str_count(const struct map_str *m)
{
    return HASH_COUNT(m->head);
}

bool map_str_next(const struct map_str *m, struct map_walk *w)
{
    struct entry_str *e = w->at ? w->at : m->head;
    if (!e || w->at == (void *) (uintptr_t) &walk_end)
        return false;
    w->text = e->key;
    w->value = e->value;
    w->at = e->hh.next ? e->hh.next : (void *) (uintptr_t) &walk_end;
    return true;
}
