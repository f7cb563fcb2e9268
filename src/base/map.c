/* Both maps are uthash tables; uthash keeps its entries in a list in the order of insertion, which is the
 * order of a walk.
 *
 * A walk must survive the deletion of the entry it stands at, and must see entries that are added while it
 * stands at the last. So it holds the entry *before* the current one, and the current one's number, which no
 * other entry ever has: what follows the held entry is the current one (then the walk goes one further) or,
 * after a deletion, already the next. */
#include "base/map.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* Eight bytes a multiplication; both halves of the product matter, so they are folded together. Only speed
 * depends on it: no order comes from a hash. */
static unsigned bytes_hash(const char *data, size_t len)
{
    uint64_t h = len * UINT64_C(0x9e3779b97f4a7c15), word;
    for (; len >= sizeof word; data += sizeof word, len -= sizeof word) {
        memcpy(&word, data, sizeof word);
        h = (h ^ word) * UINT64_C(0xbf58476d1ce4e5b9);
        h ^= h >> 32;
    }
    word = 0;
    memcpy(&word, data, len);
    h = (h ^ word) * UINT64_C(0x94d049bb133111eb);
    return (unsigned)(h ^ (h >> 32));
}

#define HASH_FUNCTION(data, len, hash) ((hash) = bytes_hash((const char *)(data), (len)))
#define uthash_fatal(message)          die(message)
#include <uthash.h>

/* ---- keys that are numbers ---- */

struct entry_u64 {
    UT_hash_handle hh;
    uint64_t key, seq;
    void *value;
};

struct map_u64 {
    struct entry_u64 *head;
    uint64_t last_seq;
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
        e = xmalloc(sizeof *e);
        e->key = key;
        e->seq = ++m->last_seq;
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

bool map_u64_next(const struct map_u64 *m, struct map_walk *w)
{
    struct entry_u64 *before = w->at;
    struct entry_u64 *e = before ? before->hh.next : m->head;
    if (e && e->seq == w->seq) {
        before = e;
        e = e->hh.next;
    }
    if (!e)
        return false;
    w->at = before;
    w->seq = e->seq;
    w->key = e->key;
    w->value = e->value;
    return true;
}

/* ---- keys that are texts ---- */

struct entry_str {
    UT_hash_handle hh;
    uint64_t seq;
    void *value;
    char key[];
};

struct map_str {
    struct entry_str *head;
    uint64_t last_seq;
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

void **map_str_slot(struct map_str *m, const char *key, bool add, const char **ret_key)
{
    struct entry_str *e;
    unsigned hash;
    size_t len = strlen(key);
    HASH_VALUE(key, len, hash);
    HASH_FIND_BYHASHVALUE(hh, m->head, key, len, hash, e);
    if (!e) {
        if (!add)
            return NULL;
        e = xmalloc(sizeof *e + len + 1);
        e->seq = ++m->last_seq;
        e->value = NULL;
        memcpy(e->key, key, len + 1);
        HASH_ADD_KEYPTR_BYHASHVALUE(hh, m->head, e->key, len, hash, e);
    }
    *ret_key = e->key;
    return &e->value;
}

void map_str_put(struct map_str *m, const char *key, void *value)
{
    const char *kept;
    *map_str_slot(m, key, true, &kept) = value;
}

static struct entry_str *entry_str_find(const struct map_str *m, const char *key)
{
    struct entry_str *e;
    HASH_FIND(hh, m->head, key, strlen(key), e);
    return e;
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
    struct entry_str *before = w->at;
    struct entry_str *e = before ? before->hh.next : m->head;
    if (e && e->seq == w->seq) {
        before = e;
        e = e->hh.next;
    }
    if (!e)
        return false;
    w->at = before;
    w->seq = e->seq;
    w->text = e->key;
    w->value = e->value;
    return true;
}
