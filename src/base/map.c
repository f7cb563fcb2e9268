/* A walk goes in the order of insertion, must survive the deletion of the entry it stands at, and
 * must see entries that are added while it stands at the last. So each entry has a number that no
 * other entry ever has.
 *
 * Numbers: a cluster has a map with an entry a job, so that it is made small. The entries lie one
 * after another in the order they came; a deleted one stays as a gap until there are more gaps than
 * entries; a table of their places, open addressing, finds them. A walk knows the number it was at
 * and its place; if entries were moved meanwhile it finds the place again, for the numbers ascend.
 *
 * Texts: a uthash table, whose entries are in a list in the order of insertion. A walk holds the
 * entry *before* the current one, and the current one's number: what follows the held entry is the
 * current one (then the walk goes one further) or, after a deletion, already the next. */
#include "base/map.h"

#include "base/alloc.h"
#include "base/rng.h"

#include <stdlib.h>
#include <string.h>

#define HASH_FUNCTION(data, len, hash) ((hash) = (unsigned)hash_quick((const char *)(data), (len)))
#define uthash_fatal(message)          die(message)
#include <uthash.h>

/* ---- keys that are numbers ---- */

#define GAPS_MIN   16 /* fewer are not worth moving the rest */
#define PLACES_MIN 16

/* value and key of a gap mean nothing. */
struct entry_u64 {
    uint64_t key;
    uint64_t seq; /* twice its number; plus 1: a gap */
    void *value;
};

struct map_u64 {
    struct entry_u64 *entry;
    size_t n, cap;   /* entries and gaps */
    size_t first;    /* all before it are gaps */
    size_t live;     /* entries */
    uint32_t *place; /* of entries, plus 1; 0 = nothing here */
    size_t nplaces;  /* a power of two, at least twice the entries; 0 = none yet */
    uint64_t last_seq;
};

static bool is_gap(const struct entry_u64 *e)
{
    return e->seq & 1;
}

struct map_u64 *map_u64_new(void)
{
    return xcalloc(1, sizeof(struct map_u64));
}

void map_u64_free(struct map_u64 *m)
{
    if (!m)
        return;
    free(m->entry);
    free(m->place);
    free(m);
}

static size_t key_home(const struct map_u64 *m, uint64_t key)
{
    uint64_t h = key * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(h ^ h >> 32) & (m->nplaces - 1);
}

/* Where the key's place is kept, or would be. */
static size_t key_find(const struct map_u64 *m, uint64_t key)
{
    size_t at = key_home(m, key);
    while (m->place[at] && m->entry[m->place[at] - 1].key != key)
        at = (at + 1) & (m->nplaces - 1);
    return at;
}

static struct entry_u64 *entry_u64_find(const struct map_u64 *m, uint64_t key)
{
    uint32_t place = m->live ? m->place[key_find(m, key)] : 0;
    return place ? &m->entry[place - 1] : NULL;
}

/* Closes the gaps, and makes the table of places anew, with room for `more`. */
static void entries_pack(struct map_u64 *m, size_t more)
{
    size_t n = 0, wanted = PLACES_MIN;
    for (size_t i = m->first; i < m->n; i++)
        if (!is_gap(&m->entry[i]))
            m->entry[n++] = m->entry[i];
    CHECK(n == m->live && n + more < UINT32_MAX / 2);
    m->n = n;
    m->first = 0;
    while (wanted < 2 * (n + more))
        wanted *= 2;
    free(m->place);
    m->place = xcalloc(wanted, sizeof m->place[0]);
    m->nplaces = wanted;
    for (size_t i = 0; i < n; i++)
        m->place[key_find(m, m->entry[i].key)] = (uint32_t)i + 1;
    if (m->cap > 4 * (n + more + GAPS_MIN)) {
        m->cap = 2 * (n + more + GAPS_MIN);
        m->entry = xrealloc(m->entry, m->cap * sizeof m->entry[0]);
    }
}

void map_u64_reserve(struct map_u64 *m, size_t more)
{
    if (2 * (m->live + more) > m->nplaces)
        entries_pack(m, more);
    if (m->n + more <= m->cap)
        return;
    m->cap = m->n + more;
    m->entry = xrealloc(m->entry, m->cap * sizeof m->entry[0]);
}

void map_u64_put(struct map_u64 *m, uint64_t key, void *value)
{
    size_t at = m->nplaces ? key_find(m, key) : 0;
    if (m->nplaces && m->place[at]) {
        m->entry[m->place[at] - 1].value = value;
        return;
    }
    if (2 * (m->live + 1) > m->nplaces) {
        entries_pack(m, 1);
        at = key_find(m, key);
    }
    if (m->n == m->cap) {
        m->cap = m->cap ? 2 * m->cap : PLACES_MIN / 2;
        m->entry = xrealloc(m->entry, m->cap * sizeof m->entry[0]);
    }
    m->last_seq += 2;
    m->entry[m->n] = (struct entry_u64){.key = key, .seq = m->last_seq, .value = value};
    m->place[at] = (uint32_t)++m->n;
    m->live++;
}

void *map_u64_get(const struct map_u64 *m, uint64_t key)
{
    struct entry_u64 *e = entry_u64_find(m, key);
    return e ? e->value : NULL;
}

/* Empties a slot of the table; those after it that could not have theirs because of it move up. */
static void place_clear(struct map_u64 *m, size_t hole)
{
    size_t mask = m->nplaces - 1;
    m->place[hole] = 0;
    for (size_t at = (hole + 1) & mask; m->place[at]; at = (at + 1) & mask) {
        size_t home = key_home(m, m->entry[m->place[at] - 1].key);
        if (((at - home) & mask) < ((at - hole) & mask))
            continue;
        m->place[hole] = m->place[at];
        m->place[at] = 0;
        hole = at;
    }
}

void *map_u64_del(struct map_u64 *m, uint64_t key)
{
    size_t at = m->live ? key_find(m, key) : 0;
    if (!m->live || !m->place[at])
        return NULL;
    struct entry_u64 *e = &m->entry[m->place[at] - 1];
    void *value = e->value;
    place_clear(m, at);
    e->seq |= 1;
    m->live--;
    while (m->first < m->n && is_gap(&m->entry[m->first]))
        m->first++;
    if (m->n - m->live > m->live + GAPS_MIN)
        entries_pack(m, 0);
    return value;
}

size_t map_u64_count(const struct map_u64 *m)
{
    return m->live;
}

/* Place of the first entry, or gap, of a higher number than `seq`. */
static size_t place_after(const struct map_u64 *m, uint64_t seq)
{
    size_t low = m->first, high = m->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if ((m->entry[middle].seq | 1) <= (seq | 1))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool map_u64_next(const struct map_u64 *m, struct map_walk *w)
{
    size_t i = w->place;
    if (!w->seq)
        i = m->first;
    else if (i < m->n && (m->entry[i].seq | 1) == (w->seq | 1))
        i++;
    else
        i = place_after(m, w->seq);
    while (i < m->n && is_gap(&m->entry[i]))
        i++;
    if (i >= m->n)
        return false;
    w->place = i;
    w->seq = m->entry[i].seq;
    w->key = m->entry[i].key;
    w->value = m->entry[i].value;
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
    size_t deleted;       /* so many, ever */
    uint64_t deleted_seq; /* of the last of them */
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
    m->deleted++;
    m->deleted_seq = e->seq;
    HASH_DEL(m->head, e);
    free(e);
    return value;
}

size_t map_str_count(const struct map_str *m)
{
    return HASH_COUNT(m->head);
}

/* A walk keeps the entry before the current one, which may be deleted. Where others were deleted
 * since, as between two parts of a long answer, that may be gone: then the place is found by its
 * number. */
static struct entry_str *before_find(const struct map_str *m, const struct map_walk *w)
{
    struct entry_str *before = w->at;
    bool only_current = m->deleted == w->place + 1 && m->deleted_seq == w->seq;
    if (!before || m->deleted == w->place || only_current)
        return before;
    before = NULL;
    for (struct entry_str *e = m->head; e && e->seq < w->seq; e = e->hh.next)
        before = e;
    return before;
}

bool map_str_next(const struct map_str *m, struct map_walk *w)
{
    struct entry_str *before = before_find(m, w);
    struct entry_str *e = before ? before->hh.next : m->head;
    if (e && e->seq == w->seq) {
        before = e;
        e = e->hh.next;
    }
    if (!e)
        return false;
    w->at = before;
    w->place = m->deleted;
    w->seq = e->seq;
    w->text = e->key;
    w->value = e->value;
    return true;
}
