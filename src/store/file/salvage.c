/* Pages are looked at in two ways. Those that a table's tree still leads to are the table's. Of the
 * others nobody says what they are: such a page is of the table, among those whose trees are torn,
 * that most of its rows look like in all their columns; where a whole tree leads to all of a
 * table's pages, none is. Such a page may also have been given up long ago: what a tree leads to
 * wins, and where it is not known which pages are free, only rows are taken of tables from which
 * nothing is deleted in everyday life (a host that was taken away must not come back). */
#include "store/file/salvage.h"

#include "base/alloc.h"
#include "base/map.h"
#include "base/str.h"
#include "model/limits.h"
#include "store/file/log.h"
#include "store/file/owners.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BATCH_ROWS  2000u
#define BATCH_BYTES (64u << 20)

struct salvage_work {
    struct salvage *s;
    struct pages *pages;
    struct page_owners owners;
    bool second;     /* now the pages that trees lead to: what is there already stays */
    struct arena *a; /* of one row */
    struct cell cell;
    struct map_u64 *job; /* ids that were seen; the value: kept in the new store */
    struct map_u64 *far; /* jobs from pages without an owner: how far each had come, plus 1 */
    struct store *to;
    struct batch *batch;
    uint64_t epoch, seq; /* of the new store */
    struct err err;
};

/* Tables whose rows stay: a row on a page that no tree leads to is one that was lost, and none that
 * was deleted, or deleted as what is long past is. */
static bool rows_stay(enum store_table table)
{
    switch (table) {
    case TABLE_JOB:
    case TABLE_JOB_RUN:
    case TABLE_JOB_PART:
    case TABLE_STEP:
    case TABLE_PAYLOAD:
    case TABLE_META:
    case TABLE_TRES:
    case TABLE_TRANSACTION:
    case TABLE_NODE_SPELL:
    case TABLE_PAST_RESERVATION:
    case TABLE_USED_HOUR: return true;
    case TABLE_QUEUED_STEP:
    case TABLE_NODE:
    case TABLE_PARTITION:
    case TABLE_RESERVATION:
    case TABLE_USAGE:
    case TABLE_USE:
    case TABLE_TOKEN:
    case TABLE_HOST:
    case TABLE_ACCOUNT:
    case TABLE_ACCOUNT_USER:
    case TABLE_ASSOC:
    case TABLE_QOS:
    case TABLE_LIMIT:
    case TABLE_WCKEY:
    case TABLE_CRONTAB:
    case TABLE_TRIGGER:
    case TABLE_ANSWERED:
    case TABLE_LEFT_OUT:
    case STORE_TABLE_COUNT: break;
    }
    return false;
}

/* ---- the new store ---- */

static bool batch_commit(struct salvage_work *w)
{
    w->batch->seq = w->seq + 1;
    w->batch->epoch = w->epoch;
    bool ok = w->err.code == 0 && store_commit(w->to, w->batch, &w->err);
    w->seq += ok;
    batch_free(w->batch);
    w->batch = batch_new();
    return ok;
}

static void number_raise(const char *text, uint64_t *n)
{
    uint64_t is;
    if (text && text_to_u64(text, LIMIT_COUNTED, &is) && is > *n)
        *n = is;
}

/* The store keeps its own facts; of the others the highest number counts. */
static bool meta_take(struct salvage_work *w, const struct meta *m)
{
    if (text_is(m->key, META_SEQ))
        number_raise(m->value, &w->s->seq);
    if (text_is(m->key, "next_job_id"))
        number_raise(m->value, &w->s->next_job_id);
    return !text_is(m->key, META_SEQ) && !text_is(m->key, META_EPOCH) &&
           !text_is(m->key, META_SCHEMA) && !text_is(m->key, META_TABLES);
}

static void job_seen(struct salvage_work *w, uint64_t id, bool kept)
{
    if (id == 0 || id > INT64_MAX / 2)
        return;
    if (kept || !map_u64_get(w->job, id))
        map_u64_put(w->job, id, kept ? w : (void *)w->s);
}

/* Of two rows of a job that no tree leads to, the one that had come further. */
static bool job_is_further(struct salvage_work *w, const struct job *j)
{
    uintptr_t far = 1 + 2 * (uintptr_t)j->attempt + job_state_over((enum job_state)j->state);
    if ((uintptr_t)map_u64_get(w->far, j->id) > far)
        return false;
    map_u64_put(w->far, j->id, (void *)far); // NOLINT(performance-no-int-to-ptr)
    return true;
}

static void row_put(struct salvage_work *w, enum store_table table, const void *record, bool sure)
{
    if (table == TABLE_META && !meta_take(w, record))
        return;
    if (table == TABLE_JOB && !sure && !job_is_further(w, record))
        return;
    if (table == TABLE_JOB)
        job_seen(w, ((const struct job *)record)->id, true);
    if (table == TABLE_STEP)
        job_seen(w, ((const struct step *)record)->job_id, false);
    if (table == TABLE_PAYLOAD)
        job_seen(w, ((const struct payload *)record)->job_id, false);
    batch_add(w->batch, w->second && !sure ? ROW_ADD : ROW_PUT, table, record);
    if (w->batch->n >= BATCH_ROWS || arena_used(w->batch->arena) > BATCH_BYTES)
        batch_commit(w);
}

/* ---- rows ---- */

static bool row_read(struct salvage_work *w, enum store_table table, bool sure, void **ret)
{
    *ret = arena_alloc(w->a, store_table_rows[table].fields->size);
    return shape_read(&w->owners.shape[table], &w->cell, sure, w->a, *ret) &&
           w->s->sound(table, *ret, NULL);
}

static bool cell_of_table(struct salvage_work *w, const struct tree_page *page, unsigned i,
                          enum store_table table, bool sure)
{
    void *record;
    bool ok = cell_parse(w->pages, page, i, w->a, &w->cell) && row_read(w, table, sure, &record);
    if (ok)
        row_put(w, table, record, sure);
    return ok;
}

/* May rows of a table be on a page that none of its tree leads to? */
static bool may_be_on(const struct salvage_work *w, enum store_table table, uint8_t owner,
                      enum page_kind kind)
{
    const struct page_owners *o = &w->owners;
    if (o->shape[table].rowid != (kind == PAGE_TABLE_LEAF) || !o->torn[table])
        return false;
    if (owner == OWNER_FREE) /* those of a table that was dropped are */
        return rows_stay(table) && !o->found[table];
    return rows_stay(table) || o->free_known;
}

/* How well each table fits a cell: 2 if it reads, 1 more if it has exactly its columns. */
static void cell_weigh(struct salvage_work *w, const struct tree_page *page, unsigned i,
                       uint8_t owner, unsigned fits[STORE_TABLE_COUNT])
{
    void *record;
    if (!cell_parse(w->pages, page, i, w->a, &w->cell))
        return;
    for (size_t t = 0; t < STORE_TABLE_COUNT; t++)
        if (may_be_on(w, (enum store_table)t, owner, page->kind) &&
            row_read(w, (enum store_table)t, false, &record))
            fits[t] += w->cell.n == w->owners.shape[t].n ? 3 : 2;
}

/* Of a table that most of its rows fit: a page has rows of one. */
static unsigned page_of_none(struct salvage_work *w, const struct tree_page *page, uint8_t owner)
{
    unsigned fits[STORE_TABLE_COUNT] = {0}, rows = 0;
    size_t best = 0;
    for (unsigned i = 0; i < page->cells; i++) {
        arena_reset(w->a);
        cell_weigh(w, page, i, owner, fits);
    }
    for (size_t t = 1; t < STORE_TABLE_COUNT; t++)
        best = fits[t] > fits[best] ? t : best;
    for (unsigned i = 0; fits[best] && i < page->cells && w->err.code == 0; i++) {
        arena_reset(w->a);
        rows += cell_of_table(w, page, i, (enum store_table)best, false);
    }
    return rows;
}

/* One of which no row is the table's was led to by a number that is damaged. */
static void page_of_table(struct salvage_work *w, const struct tree_page *page,
                          enum store_table table)
{
    unsigned rows = 0;
    for (unsigned i = 0; i < page->cells && w->err.code == 0; i++) {
        arena_reset(w->a);
        rows += cell_of_table(w, page, i, table, true);
    }
    if (rows == 0)
        rows = page_of_none(w, page, OWNER_NONE);
    w->s->lost[table] += page->cells > rows ? page->cells - rows : 0;
}

/* An index of jobs ends each entry with the number of the row, which is the job's. */
static void page_of_index(struct salvage_work *w, const struct tree_page *page)
{
    for (unsigned i = 0; i < page->cells; i++) {
        arena_reset(w->a);
        if (!cell_parse(w->pages, page, i, w->a, &w->cell))
            continue;
        const struct value *last = &w->cell.value[w->cell.n - 1];
        if (last->type == VALUE_INT && last->number > 0)
            job_seen(w, (uint64_t)last->number, false);
    }
}

static void page_rows(struct salvage_work *w, uint32_t number, const uint8_t *data)
{
    struct tree_page page;
    uint8_t owner = w->owners.of[number];
    if (!tree_page_parse(w->pages, number, data, &page) || page.kind == PAGE_TABLE_INNER)
        return;
    if (owner < STORE_TABLE_COUNT)
        page_of_table(w, &page, (enum store_table)owner);
    else if (owner == OWNER_JOB_INDEX)
        page_of_index(w, &page);
    else
        page_of_none(w, &page, owner);
}

static bool is_sure(uint8_t owner)
{
    return owner != OWNER_NONE && owner != OWNER_FREE;
}

/* What no tree leads to first, so that what one does replaces it. */
static bool rows_find(struct salvage_work *w)
{
    uint8_t *data = xmalloc(PAGE_SIZE_MAX);
    for (int sure = 0; sure < 2; sure++) {
        w->second = sure;
        for (uint32_t n = 1; n <= w->s->pages && w->err.code == 0; n++)
            if (w->owners.of[n] != OWNER_OTHER && is_sure(w->owners.of[n]) == sure &&
                page_read(w->pages, n, data))
                page_rows(w, n, data);
    }
    free(data);
    return w->err.code == 0;
}

/* ---- all of it ---- */

static void row_count(void *ctx, const void *record)
{
    (void)record;
    ++*(uint64_t *)ctx;
}

static void jobs_lost_find(struct salvage_work *w)
{
    struct map_walk walk = {0};
    while (map_u64_next(w->job, &walk)) {
        if (walk.key >= w->s->next_job_id)
            w->s->next_job_id = walk.key + 1;
        if (walk.value == (void *)w)
            continue;
        w->s->jobs_lost++;
        if (walk.key < UINT32_MAX)
            idset_add(&w->s->jobs_lost_ids, (uint32_t)walk.key);
    }
}

/* The facts that numbers go on from, and how many rows there are now. */
static bool finish(struct salvage_work *w)
{
    struct str next = STR_INIT;
    uint64_t rows = 0;
    jobs_lost_find(w);
    str_add_u64(&next, w->s->next_job_id);
    batch_add(w->batch, ROW_PUT, TABLE_META, &(struct meta){"next_job_id", str_text(&next)});
    bool ok = batch_commit(w);
    str_done(&next);
    for (size_t t = 0; ok && t < STORE_TABLE_COUNT; t++) {
        ok = store_load(w->to, (enum store_table)t, false, 0, row_count, &w->s->kept[t], &w->err);
        rows += t == TABLE_META ? 0 : w->s->kept[t];
    }
    return ok &&
           (rows || err_set(&w->err, ERR_NOT_FOUND, "no row of a store of Remuda's is left in it"));
}

/* Together a whole database and the log of another are damage; without the log it is whole. */
static bool log_is_foreign(const char *from)
{
    struct err err = {0};
    struct stat st;
    struct str log = STR_INIT;
    str_addf(&log, "%s-wal", from);
    bool there = access(str_text(&log), F_OK) == 0;
    str_done(&log);
    if (!there || stat(from, &st) != 0 || st.st_size == 0)
        return false;
    return store_log_goes_back(from) ||
           (!store_whole(from, false, &err) && store_whole(from, true, &err));
}

static bool salvage_to(struct salvage_work *w, const char *to)
{
    uint64_t none;
    w->to = store_open_sqlite(to, false, &w->err);
    if (!w->to || !store_take_epoch(w->to, &w->epoch, &none, &w->err))
        return false;
    page_owners_find(w->pages, &w->owners);
    w->s->unreadable = w->owners.unreadable;
    return rows_find(w) && finish(w);
}

/* Its log goes into the file as it is closed: where that failed, it is there still. */
static bool is_one_file(const char *to, struct err *ret_err)
{
    struct str log = STR_INIT;
    str_addf(&log, "%s-wal", to);
    bool left = access(str_text(&log), F_OK) == 0;
    str_done(&log);
    if (left)
        return err_set(ret_err, ERR_UNAVAILABLE, "%s could not be written whole", to);
    return store_whole(to, true, ret_err);
}

static void files_remove(const char *to)
{
    static const char *const endings[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
        struct str name = STR_INIT;
        str_addf(&name, "%s%s", to, endings[i]);
        unlink(str_text(&name));
        str_done(&name);
    }
}

bool store_salvage(const char *from, const char *to, struct salvage *s, struct err *ret_err)
{
    if (access(to, F_OK) == 0)
        return err_set(ret_err, ERR_EXISTS, "%s is there already", to);
    s->log_left_out = log_is_foreign(from);
    struct salvage_work w = {.s = s, .pages = pages_open(from, !s->log_left_out, ret_err)};
    if (!w.pages)
        return false;
    w.a = arena_new();
    w.job = map_u64_new();
    w.far = map_u64_new();
    w.batch = batch_new();
    s->next_job_id = s->next_job_id ? s->next_job_id : 1;
    s->pages = pages_count(w.pages);
    s->in_log = pages_in_log(w.pages);
    bool ok = salvage_to(&w, to);
    store_close(w.to);
    ok = ok && is_one_file(to, &w.err);
    if (!ok)
        files_remove(to);
    if (!ok && ret_err)
        *ret_err = w.err;
    batch_free(w.batch);
    map_u64_free(w.job);
    map_u64_free(w.far);
    arena_free(w.a);
    page_owners_done(&w.owners);
    pages_close(w.pages);
    return ok;
}
