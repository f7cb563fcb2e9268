/* Pages are looked at in two ways. Those that a table's tree still leads to are the table's;
 * they are found first. Of the others nobody says what they are: each row that looks, in all its
 * columns, like one of a table is taken for it. Such a page may have been given up long ago, so
 * what a tree leads to wins, and of tables whose rows are deleted in everyday life (tokens and
 * hosts above all: one that was taken away must not come back) only the tree's pages count.
 *
 * Where the trees begin stands in the schema, which is itself a table: its pages are known by
 * their look, whatever became of the file's first. */
#include "store/file/salvage.h"

#include "base/alloc.h"
#include "base/map.h"
#include "base/str.h"
#include "store/file/pages.h"
#include "store/file/shape.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BATCH_ROWS  2000u
#define BATCH_BYTES (64u << 20)
#define DEPTH_MAX   32 /* of a tree */

/* What is known of a page: a table's number, or */
enum { OWNER_NONE = 255, OWNER_OTHER = 254, OWNER_JOB_INDEX = 253 };

struct salvage_tree {
    uint32_t root;
    uint8_t owner;
};

struct salvage_work {
    struct salvage *s;
    struct pages *pages;
    uint8_t *owner; /* by page number */
    struct shape shape[STORE_TABLE_COUNT];
    VEC(struct salvage_tree) trees;
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
 * was deleted. */
static bool rows_stay(enum store_table table)
{
    switch (table) {
    case TABLE_JOB:
    case TABLE_JOB_RUN:
    case TABLE_JOB_PART:
    case TABLE_STEP:
    case TABLE_PAYLOAD:
    case TABLE_META: return true;
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
    case TABLE_TRES:
    case TABLE_TRANSACTION:
    case TABLE_NODE_SPELL:
    case TABLE_PAST_RESERVATION:
    case TABLE_USED_HOUR:
    case TABLE_CRONTAB:
    case TABLE_TRIGGER:
    case TABLE_ANSWERED:
    case TABLE_LEFT_OUT:
    case STORE_TABLE_COUNT: break;
    }
    return false;
}

/* ---- the schema ---- */

static const char *text_of(struct salvage_work *w, const struct value *v)
{
    return v->type == VALUE_TEXT ? arena_strndup(w->a, (const char *)v->data, v->len) : NULL;
}

static void root_take(struct salvage_work *w, uint8_t owner, uint32_t root)
{
    struct salvage_tree t = {root, owner};
    vec_push(&w->trees, t);
}

/* A row of the schema: type, name, table, root, text. */
static void schema_row(struct salvage_work *w, const struct cell *c)
{
    if (c->n != 5 || c->value[3].type != VALUE_INT || c->value[3].number < 1 ||
        c->value[3].number > pages_count(w->pages))
        return;
    const char *type = text_of(w, &c->value[0]), *name = text_of(w, &c->value[1]),
               *sql = text_of(w, &c->value[4]);
    uint32_t root = (uint32_t)c->value[3].number;
    if (text_is(type, "index") && name && sql)
        root_take(w, text_is(text_of(w, &c->value[2]), "job") ? OWNER_JOB_INDEX : OWNER_OTHER,
                  root);
    for (size_t i = 0; text_is(type, "table") && name && sql && i < STORE_TABLE_COUNT; i++)
        if (text_is(name, store_table_rows[i].name) && shape_from_sql(&w->shape[i], sql))
            root_take(w, (uint8_t)i, root);
}

static void page_schema(struct salvage_work *w, uint32_t number, const uint8_t *data)
{
    struct tree_page page;
    if (!tree_page_parse(w->pages, number, data, &page) || page.kind != PAGE_TABLE_LEAF)
        return;
    for (unsigned i = 0; i < page.cells; i++) {
        arena_reset(w->a);
        if (cell_parse(w->pages, &page, i, w->a, &w->cell))
            schema_row(w, &w->cell);
    }
}

static void schema_find(struct salvage_work *w)
{
    uint8_t *data = xmalloc(PAGE_SIZE_MAX);
    for (uint32_t n = 1; n <= w->s->pages; n++)
        if (page_read(w->pages, n, data))
            page_schema(w, n, data);
        else
            w->s->unreadable++;
    free(data);
}

/* ---- who owns a page ---- */

static bool kind_fits(const struct salvage_work *w, uint8_t owner, enum page_kind kind)
{
    bool table = owner < STORE_TABLE_COUNT && w->shape[owner].rowid;
    return table ? kind == PAGE_TABLE_INNER || kind == PAGE_TABLE_LEAF
                 : kind == PAGE_INDEX_INNER || kind == PAGE_INDEX_LEAF;
}

static void tree_walk(struct salvage_work *w, uint32_t number, uint8_t owner, int depth)
{
    struct tree_page page;
    if (depth > DEPTH_MAX || number == 0 || number > w->s->pages || w->owner[number] != OWNER_NONE)
        return;
    uint8_t *data = xmalloc(pages_size(w->pages));
    if (page_read(w->pages, number, data) && tree_page_parse(w->pages, number, data, &page) &&
        kind_fits(w, owner, page.kind)) {
        w->owner[number] = owner;
        for (unsigned i = 0; i <= page.cells; i++)
            tree_walk(w, tree_page_below(w->pages, &page, i), owner, depth + 1);
    }
    free(data);
}

/* Pages that the file has to give: what stood on them is deleted. */
static void free_walk(struct salvage_work *w)
{
    uint8_t *data = xmalloc(PAGE_SIZE_MAX);
    uint32_t at = pages_first_free(w->pages);
    for (uint32_t i = 0;
         at && at <= w->s->pages && i < w->s->pages && page_read(w->pages, at, data); i++) {
        uint32_t leaves =
            (uint32_t)data[4] << 24 | (uint32_t)data[5] << 16 | (uint32_t)data[6] << 8 | data[7];
        for (uint32_t k = 0; k < leaves && 12 + 4 * (size_t)k <= pages_size(w->pages); k++) {
            const uint8_t *p = data + 8 + 4 * (size_t)k;
            uint32_t leaf =
                (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
            if (leaf <= w->s->pages && w->owner[leaf] == OWNER_NONE)
                w->owner[leaf] = OWNER_OTHER;
        }
        at = (uint32_t)data[0] << 24 | (uint32_t)data[1] << 16 | (uint32_t)data[2] << 8 | data[3];
    }
    free(data);
}

static void owners_find(struct salvage_work *w)
{
    bool all = true, has[STORE_TABLE_COUNT] = {0};
    w->owner = xmalloc((size_t)w->s->pages + 1);
    memset(w->owner, OWNER_NONE, (size_t)w->s->pages + 1);
    for (size_t i = 0; i < w->trees.n; i++) {
        tree_walk(w, w->trees.v[i].root, w->trees.v[i].owner, 0);
        if (w->trees.v[i].owner < STORE_TABLE_COUNT)
            has[w->trees.v[i].owner] = true;
    }
    for (size_t i = 0; i < STORE_TABLE_COUNT; i++)
        all &= has[i];
    /* The pages of a table that was dropped are free. */
    if (all)
        free_walk(w);
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
    if (text && text_to_u64(text, UINT64_MAX / 2, &is) && is > *n)
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
    batch_add(w->batch, ROW_PUT, table, record);
    if (w->batch->n >= BATCH_ROWS || arena_used(w->batch->arena) > BATCH_BYTES)
        batch_commit(w);
}

/* ---- rows ---- */

static bool row_read(struct salvage_work *w, const struct shape *shape, bool sure)
{
    void *record = arena_alloc(w->a, store_table_rows[shape->table].fields->size);
    bool ok =
        shape_read(shape, &w->cell, sure, w->a, record) && w->s->sound(shape->table, record, NULL);
    if (ok)
        row_put(w, shape->table, record, sure);
    return ok;
}

static void cell_of_table(struct salvage_work *w, const struct tree_page *page, unsigned i,
                          enum store_table table)
{
    if (!cell_parse(w->pages, page, i, w->a, &w->cell) || !row_read(w, &w->shape[table], true))
        w->s->lost[table]++;
}

static void cell_of_none(struct salvage_work *w, const struct tree_page *page, unsigned i)
{
    if (!cell_parse(w->pages, page, i, w->a, &w->cell))
        return;
    for (size_t t = 0; t < STORE_TABLE_COUNT; t++)
        if (rows_stay((enum store_table)t) &&
            w->shape[t].rowid == (page->kind == PAGE_TABLE_LEAF) &&
            row_read(w, &w->shape[t], false))
            return;
}

/* An index of jobs ends each entry with the number of the row, which is the job's. */
static void cell_of_index(struct salvage_work *w, const struct tree_page *page, unsigned i)
{
    if (!cell_parse(w->pages, page, i, w->a, &w->cell))
        return;
    const struct value *last = &w->cell.value[w->cell.n - 1];
    if (last->type == VALUE_INT && last->number > 0)
        job_seen(w, (uint64_t)last->number, false);
}

static void page_rows(struct salvage_work *w, uint32_t number, const uint8_t *data)
{
    struct tree_page page;
    uint8_t owner = w->owner[number];
    if (!tree_page_parse(w->pages, number, data, &page) || page.kind == PAGE_TABLE_INNER)
        return;
    for (unsigned i = 0; i < page.cells && w->err.code == 0; i++) {
        arena_reset(w->a);
        if (owner < STORE_TABLE_COUNT)
            cell_of_table(w, &page, i, (enum store_table)owner);
        else if (owner == OWNER_JOB_INDEX)
            cell_of_index(w, &page, i);
        else
            cell_of_none(w, &page, i);
    }
}

/* What no tree leads to first, so that what one does replaces it. */
static bool rows_find(struct salvage_work *w)
{
    uint8_t *data = xmalloc(PAGE_SIZE_MAX);
    for (int sure = 0; sure < 2; sure++)
        for (uint32_t n = 1; n <= w->s->pages && w->err.code == 0; n++)
            if (w->owner[n] != OWNER_OTHER && (w->owner[n] != OWNER_NONE) == sure &&
                page_read(w->pages, n, data))
                page_rows(w, n, data);
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
    struct str log = STR_INIT;
    str_addf(&log, "%s-wal", from);
    bool there = access(str_text(&log), F_OK) == 0;
    str_done(&log);
    return there && !store_whole(from, false, &err) && store_whole(from, true, &err);
}

static bool salvage_to(struct salvage_work *w, const char *to)
{
    uint64_t none;
    w->to = store_open_sqlite(to, false, &w->err);
    if (!w->to || !store_take_epoch(w->to, &w->epoch, &none, &w->err))
        return false;
    schema_find(w);
    owners_find(w);
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
    for (size_t t = 0; t < STORE_TABLE_COUNT; t++)
        shape_init(&w.shape[t], (enum store_table)t);
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
    vec_done(&w.trees);
    free(w.owner);
    pages_close(w.pages);
    return ok;
}
