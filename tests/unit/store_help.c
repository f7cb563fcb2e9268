#include "store_help.h"

#include "base/alloc.h"
#include "base/str.h"

#include <stdlib.h>
#include <unistd.h>

static void take_over(struct world *w)
{
    struct err e = {0};
    if (!store_take_epoch(w->store, &w->epoch, &w->seq, &e))
        fail_msg("%s", e.text);
}

void world_open_memory(struct world *w)
{
    *w = (struct world){.store = store_open_memory(), .arena = arena_new()};
    take_over(w);
}

static void open_file(struct world *w)
{
    struct err e = {0};
    w->store = store_open_sqlite(w->path, false, &e);
    if (!w->store)
        fail_msg("%s", e.text);
}

void world_open_sqlite(struct world *w)
{
    char dir[] = "/tmp/remuda-store-XXXXXX";
    assert_non_null(mkdtemp(dir));
    *w = (struct world){
        .dir = xstrdup(dir), .path = xasprintf("%s/remuda.db", dir), .arena = arena_new()};
    open_file(w);
    take_over(w);
}

void world_reopen(struct world *w)
{
    store_close(w->store);
    open_file(w);
    take_over(w);
}

void world_close(struct world *w)
{
    static const char *const ends[] = {"", "-wal", "-shm"};
    store_close(w->store);
    for (size_t i = 0; w->dir && i < ARRAY_LEN(ends); i++) {
        char *path = xasprintf("%s%s", w->path, ends[i]);
        unlink(path);
        free(path);
    }
    if (w->dir)
        rmdir(w->dir);
    free(w->dir);
    free(w->path);
    arena_free(w->arena);
}

struct batch *world_batch(struct world *w)
{
    struct batch *b = batch_new();
    b->epoch = w->epoch;
    b->seq = w->seq + 1;
    return b;
}

bool world_commit(struct world *w, struct batch *b, struct err *e)
{
    *e = (struct err){0};
    bool done = store_commit(w->store, b, e);
    if (done)
        w->seq = b->seq;
    batch_free(b);
    return done;
}

void world_put(struct world *w, enum store_table table, const void *const *records)
{
    struct err e;
    struct batch *b = world_batch(w);
    for (; *records; records++)
        batch_add(b, ROW_PUT, table, *records);
    if (!world_commit(w, b, &e))
        fail_msg("%s", e.text);
}

void world_put_job(struct world *w, const struct job *j)
{
    world_put(w, TABLE_JOB, (const void *const[]){j, NULL});
}

void rows_add(void *ctx, const void *record)
{
    struct rows *r = ctx;
    void *copy = arena_alloc(r->world->arena, r->t->size);
    record_copy(r->t, copy, record, r->world->arena);
    vec_push(&r->v, copy);
}

const char *rows_ids(struct rows *r)
{
    struct str out = STR_INIT;
    for (size_t i = 0; i < r->v.n; i++) {
        str_add(&out, i ? " " : "");
        if (r->t == &step_fields)
            str_addf(&out, "%llu.%lld",
                     (unsigned long long)((const struct step *)r->v.v[i])->job_id,
                     (long long)((const struct step *)r->v.v[i])->step_id);
        else
            str_add_u64(&out, ((const struct job *)r->v.v[i])->id);
    }
    const char *text = arena_strdup(r->world->arena, str_text(&out));
    str_done(&out);
    vec_done(&r->v);
    return text;
}

const char *world_load_ids(struct world *w, enum store_table table, bool live_only,
                           int64_t ended_after_us)
{
    struct rows r = {.world = w, .t = store_table_rows[table].fields};
    struct err e = {0};
    if (!store_load(w->store, table, live_only, ended_after_us, rows_add, &r, &e))
        fail_msg("%s", e.text);
    return rows_ids(&r);
}

const char *world_query_ids(struct world *w, const struct msg_query *q)
{
    struct rows r = {.world = w, .t = &job_fields};
    struct err e = {0};
    if (!store_query_jobs(w->store, q, rows_add, &r, &e))
        fail_msg("%s", e.text);
    return rows_ids(&r);
}
