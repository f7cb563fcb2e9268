/* A walk goes in the order of insertion, must survive the deletion of the entry it stands at, and
 * must see entries that are added while it stands at the last. So each entry has a number that no
 * other entry ever has.
 *
 * A cluster has a map with an entry a job, so that it is made small. The entries lie one after
 * another in the order they came; a deleted one stays as a gap until there are more gaps than
 * entries; a table of their places, open addressing, finds them. A walk knows the number it was at
 * and its place; if entries were moved meanwhile it finds the place again, for the numbers ascend.
 *
 * Texts: the key of an entry is the text's hash, its value a block with the text and the caller's
 * value, which stays where it is when entries move. So a look-up reads one text, its own. */
#include "base/map.h"

#include "base/alloc.h"
#include "base/rng.h"

#include <stdlib.h>
#include <string.h>

/* ---- entries ------------------------------------------------------------------------------ */

#define GAPS_MIN   16 /* fewer are not worth moving the rest */
#define PLACES_MIN 16

/* value and key of a gap mean nothing. */
struct map_entry {
    uint64_t key;
    uint64_t seq; /* twice its number; plus 1: a gap */
    void *value;
};

struct map {
    struct map_entry *entry;
    size_t n, cap;   /* entries and gaps */
    size_t first;    /* all before it are gaps */
    size_t live;     /* entries */
    uint32_t *place; /* of entries, plus 1; 0 = nothing here */
    size_t nplaces;  /* a power of two, at least twice the entries; 0 = none yet */
    uint64_t last_seq;
};

static bool is_gap(const struct map_entry *e)
{
    return e->seq & 1;
}

static size_t key_home(const struct map *m, uint64_t key)
{
    uint64_t h = key * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(h ^ h >> 32) & (m->nplaces - 1);
}

static size_t place_next(const struct map *m, size_t at)
{
    return (at + 1) & (m->nplaces - 1);
}

/* Closes the gaps, and makes the table of places anew, with room for `more`. */
static void entries_pack(struct map *m, size_t more)
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
    pages_take(m->place, more ? wanted * sizeof m->place[0] : 0);
    m->nplaces = wanted;
    for (size_t i = 0; i < n; i++) {
        size_t at = key_home(m, m->entry[i].key);
        while (m->place[at])
            at = place_next(m, at);
        m->place[at] = (uint32_t)i + 1;
    }
    if (m->cap > 4 * (n + more + GAPS_MIN)) {
        m->cap = 2 * (n + more + GAPS_MIN);
        m->entry = xrealloc(m->entry, m->cap * sizeof m->entry[0]);
    }
}

/* An entry that is in no place yet. */
static struct map_entry *entry_new(struct map *m, uint64_t key)
{
    if (m->n == m->cap) {
        m->cap = m->cap ? 2 * m->cap : PLACES_MIN / 2;
        m->entry = xrealloc(m->entry, m->cap * sizeof m->entry[0]);
    }
    struct map_entry *e = &m->entry[m->n++];
    m->last_seq += 2;
    *e = (struct map_entry){.key = key, .seq = m->last_seq};
    m->live++;
    return e;
}

static bool is_full(const struct map *m)
{
    return 2 * (m->live + 1) > m->nplaces;
}

/* Empties a slot of the table; those after it that could not have theirs because of it move up. */
static void place_clear(struct map *m, size_t hole)
{
    size_t mask = m->nplaces - 1;
    m->place[hole] = 0;
    for (size_t at = place_next(m, hole); m->place[at]; at = place_next(m, at)) {
        size_t home = key_home(m, m->entry[m->place[at] - 1].key);
        if (((at - home) & mask) < ((at - hole) & mask))
            continue;
        m->place[hole] = m->place[at];
        m->place[at] = 0;
        hole = at;
    }
}

/* Of the place `at`, which has one. */
static void *entry_del(struct map *m, size_t at)
{
    struct map_entry *e = &m->entry[m->place[at] - 1];
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

/* Place of the first entry, or gap, of a higher number than `seq`. */
static size_t place_after(const struct map *m, uint64_t seq)
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

/* NULL at the end. */
static const struct map_entry *entry_next(const struct map *m, struct map_walk *w)
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
        return NULL;
    w->place = i;
    w->seq = m->entry[i].seq;
    return &m->entry[i];
}

static void map_reserve(struct map *m, size_t more)
{
    if (2 * (m->live + more) > m->nplaces)
        entries_pack(m, more);
    if (m->n + more <= m->cap)
        return;
    m->cap = m->n + more;
    m->entry = xrealloc(m->entry, m->cap * sizeof m->entry[0]);
    pages_take(m->entry + m->n, more * sizeof m->entry[0]);
}

/* ---- keys that are numbers ------------------------------------------------------------------ */

struct map_u64 {
    struct map m;
};

struct map_u64 *map_u64_new(void)
{
    return xcalloc(1, sizeof(struct map_u64));
}

void map_u64_free(struct map_u64 *m)
{
    if (!m)
        return;
    free(m->m.entry);
    free(m->m.place);
    free(m);
}

void map_u64_reserve(struct map_u64 *m, size_t more)
{
    map_reserve(&m->m, more);
}

/* Where the key's place is kept, or would be. */
static size_t key_find(const struct map *m, uint64_t key)
{
    size_t at = key_home(m, key);
    while (m->place[at] && m->entry[m->place[at] - 1].key != key)
        at = place_next(m, at);
    return at;
}

void **map_u64_slot(struct map_u64 *of, uint64_t key)
{
    struct map *m = &of->m;
    size_t at = m->nplaces ? key_find(m, key) : 0;
    if (m->nplaces && m->place[at])
        return &m->entry[m->place[at] - 1].value;
    if (is_full(m)) {
        entries_pack(m, 1);
        at = key_find(m, key);
    }
    struct map_entry *e = entry_new(m, key);
    m->place[at] = (uint32_t)m->n;
    return &e->value;
}

void map_u64_put(struct map_u64 *m, uint64_t key, void *value)
{
    *map_u64_slot(m, key) = value;
}

void *map_u64_get(const struct map_u64 *of, uint64_t key)
{
    const struct map *m = &of->m;
    uint32_t place = m->live ? m->place[key_find(m, key)] : 0;
    return place ? m->entry[place - 1].value : NULL;
}

void *map_u64_del(struct map_u64 *of, uint64_t key)
{
    struct map *m = &of->m;
    size_t at = m->live ? key_find(m, key) : 0;
    return m->live && m->place[at] ? entry_del(m, at) : NULL;
}

size_t map_u64_count(const struct map_u64 *m)
{
    return m->m.live;
}

bool map_u64_next(const struct map_u64 *m, struct map_walk *w)
{
    const struct map_entry *e = entry_next(&m->m, w);
    if (!e)
        return false;
    w->key = e->key;
    w->value = e->value;
    return true;
}

/* ---- keys that are texts -------------------------------------------------------------------- */

struct map_text {
    void *value;
    char key[];
};

struct map_str {
    struct map m; /* hash → struct map_text, owned */
};

struct map_str *map_str_new(void)
{
    return xcalloc(1, sizeof(struct map_str));
}

void map_str_free(struct map_str *of)
{
    if (!of)
        return;
    for (size_t i = of->m.first; i < of->m.n; i++)
        if (!is_gap(&of->m.entry[i]))
            free(of->m.entry[i].value);
    free(of->m.entry);
    free(of->m.place);
    free(of);
}

void map_str_reserve(struct map_str *m, size_t more)
{
    map_reserve(&m->m, more);
}

static struct map_text *text_of(const struct map_entry *e)
{
    return e->value;
}

/* As key_find. Texts of one hash have a place each. */
static size_t text_find(const struct map *m, uint64_t hash, const char *key)
{
    size_t at = key_home(m, hash);
    for (; m->place[at]; at = place_next(m, at)) {
        const struct map_entry *e = &m->entry[m->place[at] - 1];
        if (e->key == hash && strcmp(text_of(e)->key, key) == 0)
            break;
    }
    return at;
}

void **map_str_slot(struct map_str *of, const char *key, bool add, const char **ret_key)
{
    struct map *m = &of->m;
    size_t len = strlen(key);
    uint64_t hash = hash_quick(key, len);
    size_t at = m->nplaces ? text_find(m, hash, key) : 0;
    if (!m->nplaces || !m->place[at]) {
        if (!add)
            return NULL;
        if (is_full(m)) {
            entries_pack(m, 1);
            at = text_find(m, hash, key);
        }
        struct map_text *t = xmalloc(sizeof *t + len + 1);
        t->value = NULL;
        memcpy(t->key, key, len + 1);
        entry_new(m, hash)->value = t;
        m->place[at] = (uint32_t)m->n;
    }
    struct map_text *t = text_of(&m->entry[m->place[at] - 1]);
    *ret_key = t->key;
    return &t->value;
}

void map_str_put(struct map_str *m, const char *key, void *value)
{
    const char *kept;
    *map_str_slot(m, key, true, &kept) = value;
}

static size_t str_find(const struct map *m, const char *key)
{
    return text_find(m, hash_quick(key, strlen(key)), key);
}

void *map_str_get(const struct map_str *of, const char *key)
{
    const struct map *m = &of->m;
    uint32_t place = m->live ? m->place[str_find(m, key)] : 0;
    return place ? text_of(&m->entry[place - 1])->value : NULL;
}

void *map_str_del(struct map_str *of, const char *key)
{
    struct map *m = &of->m;
    size_t at = m->live ? str_find(m, key) : 0;
    if (!m->live || !m->place[at])
        return NULL;
    struct map_text *t = entry_del(m, at);
    void *value = t->value;
    free(t);
    return value;
}

size_t map_str_count(const struct map_str *m)
{
    return m->m.live;
}

bool map_str_next(const struct map_str *m, struct map_walk *w) /* w->text: until it is deleted */
{
    const struct map_entry *e = entry_next(&m->m, w);
    if (!e)
        return false;
    w->text = text_of(e)->key;
    w->value = text_of(e)->value;
    return true;
}
