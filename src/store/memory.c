/* The memory twin: a table is an array of records in key order. Jobs and steps arrive with
 * ascending ids, so that an insertion nearly always appends; each record is one block of memory
 * with its texts and blobs behind it. */
#include "base/alloc.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "store/packed_tables.h"
#include "store/past.h"
#include "store/store_ops.h"

#include <stdlib.h>
#include <string.h>

struct memory_table {
    const struct fields *t;
    const struct field *key[KEY_FIELDS_MAX];
    size_t nkey;
    VEC(void *) rows;
};

struct memory {
    struct store store;
    struct memory_table table[STORE_TABLE_COUNT];
    uint64_t epoch, seq;
    unsigned failing;
};

struct memory_cursor {
    struct cursor cursor;
    const struct memory_table *table;
    size_t at;
    /* Arrays and companies of which one is not over, or ended of late; NULL = it does not
     * matter. */
    struct map_u64 *arrays, *hets;
};

/* ---- records ---- */

static size_t tail_bytes(const struct field *f, const void *record)
{
    const void *p = field_ptr(f, record);
    if (f->type == FIELD_TEXT)
        return *(const char *const *)p ? strlen(*(const char *const *)p) + 1 : 0;
    CHECK(f->type != FIELD_LIST);
    return f->type == FIELD_BLOB ? ((const struct blob *)p)->len : 0;
}

/* One block: the record, then what it points to. */
static void *record_dup(const struct fields *t, const void *record)
{
    size_t size = t->size;
    for (size_t i = 0; i < t->n; i++)
        size += tail_bytes(&t->field[i], record);
    char *copy = xmalloc(size), *tail = copy + t->size;
    memcpy(copy, record, t->size);
    for (size_t i = 0; i < t->n; i++) {
        const struct field *f = &t->field[i];
        size_t len = tail_bytes(f, record);
        void *p = field_ptr(f, copy);
        if (f->type == FIELD_BLOB) {
            struct blob *b = p;
            if (len)
                memcpy(tail, b->data, len);
            *b = (struct blob){len ? tail : NULL, len};
        } else if (len) {
            memcpy(tail, *(const char **)p, len);
            *(const char **)p = tail;
        }
        tail += len;
    }
    return copy;
}

/* As SQLite orders: numbers as signed 64 bits, texts by their bytes. */
static int field_compare(const struct field *f, const void *a, const void *b)
{
    const void *p = field_ptr(f, a), *q = field_ptr(f, b);
    if (f->type == FIELD_TEXT)
        return strcmp(*(const char *const *)p, *(const char *const *)q);
    if (f->type == FIELD_U32)
        return (*(const uint32_t *)p > *(const uint32_t *)q) -
               (*(const uint32_t *)p < *(const uint32_t *)q);
    return (*(const int64_t *)p > *(const int64_t *)q) -
           (*(const int64_t *)p < *(const int64_t *)q);
}

static int key_compare(const struct memory_table *t, const void *a, const void *b)
{
    int order = 0;
    for (size_t i = 0; i < t->nkey && order == 0; i++)
        order = field_compare(t->key[i], a, b);
    return order;
}

/* The first row that is not before the record's key. */
static size_t table_find(const struct memory_table *t, const void *record, bool *ret_there)
{
    size_t low = 0, high = t->rows.n;
    if (high && key_compare(t, t->rows.v[high - 1], record) < 0)
        low = high;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (key_compare(t, t->rows.v[middle], record) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *ret_there = low < t->rows.n && key_compare(t, t->rows.v[low], record) == 0;
    return low;
}

static void table_put(struct memory_table *t, const void *record)
{
    bool there = false;
    size_t at = table_find(t, record, &there);
    void *copy = record_dup(t->t, record);
    if (there) {
        free(t->rows.v[at]);
    } else {
        vec_push(&t->rows, NULL);
        memmove(&t->rows.v[at + 1], &t->rows.v[at], (t->rows.n - 1 - at) * sizeof t->rows.v[0]);
    }
    t->rows.v[at] = copy;
}

static void table_delete(struct memory_table *t, const void *record)
{
    bool there = false;
    size_t at = table_find(t, record, &there);
    if (!there)
        return;
    free(t->rows.v[at]);
    vec_remove(&t->rows, at);
}

/* ---- operations ---- */

static struct memory *memory_of(struct store *s)
{
    return (struct memory *)s;
}

static void put_fact(struct memory *m, const char *key, uint64_t value)
{
    struct str text = STR_INIT;
    str_add_u64(&text, value);
    table_put(&m->table[TABLE_META], &(struct meta){.key = key, .value = str_text(&text)});
    str_done(&text);
}

static bool memory_commit(struct store *s, const struct batch *b, struct err *ret_err)
{
    struct memory *m = memory_of(s);
    if (m->failing) {
        m->failing--;
        return err_set(ret_err, ERR_UNAVAILABLE, "the store is away, as the test asked");
    }
    if (!batch_may_follow(b, m->epoch, m->seq, ret_err))
        return false;
    for (size_t i = 0; i < b->n; i++) {
        const struct row *row = &b->row[i];
        struct memory_table *t = &m->table[row->table];
        bool there = false;
        if (row->op == ROW_ADD)
            table_find(t, row->record, &there);
        if (row->op == ROW_DELETE)
            table_delete(t, row->record);
        else if (!there)
            table_put(t, row->record);
    }
    m->seq = b->seq;
    put_fact(m, META_SEQ, m->seq);
    return true;
}

static bool memory_take_epoch(struct store *s, uint64_t *ret_epoch, uint64_t *ret_seq,
                              struct err *ret_err)
{
    struct memory *m = memory_of(s);
    put_fact(m, META_EPOCH, ++m->epoch);
    *ret_epoch = m->epoch;
    *ret_seq = m->seq;
    return true;
}

/* The twin keeps no copy of its rows: it packs them when it is asked. */
static bool memory_packed_get(struct store *s, packed_bytes_fn fn, void *ctx, struct err *ret_err)
{
    struct str bytes = STR_INIT;
    bool ok = packed_rows_make(s, 1, &bytes, ret_err);
    if (ok && bytes.len)
        fn(ctx, bytes.data, bytes.len);
    str_done(&bytes);
    return ok;
}

static void memory_close(struct store *s)
{
    struct memory *m = memory_of(s);
    for (size_t i = 0; i < STORE_TABLE_COUNT; i++) {
        for (size_t k = 0; k < m->table[i].rows.n; k++)
            free(m->table[i].rows.v[k]);
        vec_done(&m->table[i].rows);
    }
    free(m->store.description);
    free(m);
}

/* ---- cursors ---- */

static bool step_is_of_recent_job(const struct memory *m, const struct scan *scan,
                                  const struct step *step)
{
    bool there = false;
    struct job key = {.id = step->job_id};
    size_t at = table_find(&m->table[TABLE_JOB], &key, &there);
    return there && job_is_recent(m->table[TABLE_JOB].rows.v[at], scan->ended_after_us);
}

static size_t scan_start(const struct memory_table *t, const struct scan *scan)
{
    bool there = false;
    if (!scan->of_job)
        return 0;
    struct step first_step = {.job_id = scan->job_id, .step_id = INT64_MIN};
    struct payload payload = {.job_id = scan->job_id};
    return table_find(t, scan->table == TABLE_STEP ? (const void *)&first_step : &payload, &there);
}

static void wholes_find(struct memory_cursor *c)
{
    c->arrays = map_u64_new();
    c->hets = map_u64_new();
    for (size_t i = 0; i < c->table->rows.n; i++) {
        struct job *j = c->table->rows.v[i];
        bool recent = job_is_recent(j, c->cursor.scan->ended_after_us);
        if (j->array_job_id && recent)
            map_u64_put(c->arrays, j->array_job_id, j);
        if (j->het_job_id && recent)
            map_u64_put(c->hets, j->het_job_id, j);
    }
}

/* Of a whole that is wanted, or by itself. */
static bool is_wanted(const struct memory_cursor *c, const struct job *j)
{
    return !c->arrays || job_is_recent(j, c->cursor.scan->ended_after_us) || j->cron ||
           (j->array_job_id && map_u64_get(c->arrays, j->array_job_id)) ||
           (j->het_job_id && map_u64_get(c->hets, j->het_job_id));
}

static struct cursor *memory_open(struct store *s, const struct scan *scan, struct err *ret_err)
{
    struct memory_cursor *c = xcalloc(1, sizeof *c);
    c->cursor = (struct cursor){.store = s, .scan = scan};
    c->table = &memory_of(s)->table[scan->table];
    c->at = scan_start(c->table, scan);
    if (scan->whole_jobs)
        wholes_find(c);
    return &c->cursor;
}

static const void *memory_next(struct cursor *cursor, bool *ret_failed, struct err *ret_err)
{
    struct memory_cursor *c = (struct memory_cursor *)cursor;
    const struct scan *scan = cursor->scan;
    while (c->at < c->table->rows.n) {
        const void *record = c->table->rows.v[c->at++];
        if (scan->of_job && !scan_wants(scan, record))
            return NULL; /* rows of one job stand together */
        if (!is_wanted(c, record))
            continue;
        if (scan->table != TABLE_STEP || !scan->live_only ||
            step_is_of_recent_job(memory_of(cursor->store), scan, record))
            return record;
    }
    return NULL;
}

static void memory_done(struct cursor *cursor)
{
    map_u64_free(((struct memory_cursor *)cursor)->arrays);
    map_u64_free(((struct memory_cursor *)cursor)->hets);
    free(cursor);
}

struct store *store_open_memory(void)
{
    static const struct store_ops ops = {
        .close = memory_close,
        .packed_get = memory_packed_get,
        .past = past_scan,
        .commit = memory_commit,
        .take_epoch = memory_take_epoch,
        .open = memory_open,
        .next = memory_next,
        .done = memory_done,
    };
    struct memory *m = xcalloc(1, sizeof *m);
    struct str names = STR_INIT;
    m->store = (struct store){.ops = &ops, .description = xstrdup("memory")};
    for (size_t i = 0; i < STORE_TABLE_COUNT; i++) {
        m->table[i].t = store_table_rows[i].fields;
        m->table[i].nkey = table_key((enum store_table)i, m->table[i].key);
    }
    table_put(&m->table[TABLE_META], &(struct meta){.key = META_SCHEMA, .value = SCHEMA_VERSION});
    table_names(&names);
    table_put(&m->table[TABLE_META], &(struct meta){.key = META_TABLES, .value = str_text(&names)});
    str_done(&names);
    put_fact(m, META_EPOCH, 0);
    put_fact(m, META_SEQ, 0);
    return &m->store;
}

struct store *store_memory_copy(struct store *s)
{
    struct store *copy = store_open_memory();
    const struct memory *from = memory_of(s);
    struct memory *to = memory_of(copy);
    for (size_t i = 0; i < STORE_TABLE_COUNT; i++)
        for (size_t k = 0; k < from->table[i].rows.n; k++)
            table_put(&to->table[i], from->table[i].rows.v[k]);
    to->epoch = from->epoch;
    to->seq = from->seq;
    return copy;
}

void store_memory_fail(struct store *s, unsigned count)
{
    memory_of(s)->failing = count;
}
