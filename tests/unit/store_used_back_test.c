/* Sums of use when the past is removed, comes back, or is another release's. */
#include "store_used_help.h"

/* ---- what goes, and comes back -------------------------------------------------------------- */

struct gone {
    struct world *world;
    struct {
        enum store_table table;
        void *record;
    } row[4000];
    size_t n;
};

static void gone_add(void *ctx, enum store_table table, const void *record)
{
    struct gone *g = ctx;
    const struct fields *t = store_table_rows[table].fields;
    assert_true(g->n < ARRAY_LEN(g->row));
    g->row[g->n].table = table;
    g->row[g->n].record = arena_alloc(g->world->arena, t->size);
    record_copy(t, g->row[g->n].record, record, g->world->arena);
    g->n++;
}

/* Page after page, as the controller reads them, each removed in pieces before the next. */
static void past_remove(struct both *b, struct gone *g, int64_t before_us)
{
    struct past_query q = {.kind = PAST_JOBS, .before_us = before_us, .most = 3};
    struct err e;
    do {
        size_t from = g->n;
        if (!store_query_past(b->sql.store, &q, gone_add, g, &e))
            fail_msg("%s", e.text);
        for (size_t i = from; i < g->n; i += 2) {
            struct batch *batch = world_batch(&b->sql);
            for (size_t k = i; k < g->n && k < i + 2; k++)
                batch_add(batch, ROW_DELETE, g->row[k].table, g->row[k].record);
            if (!world_commit(&b->sql, batch, &e))
                fail_msg("%s", e.text);
        }
    } while (q.more);
}

static void past_add(struct world *w, const struct gone *g)
{
    struct err e;
    struct batch *batch = world_batch(w);
    for (size_t i = 0; i < g->n; i++)
        batch_add(batch, ROW_ADD, g->row[i].table, g->row[i].record);
    if (!world_commit(w, batch, &e))
        fail_msg("%s", e.text);
}

static size_t jobs_there(struct world *w)
{
    struct rows rows = {.world = w, .t = &job_fields};
    struct err e;
    assert_true(store_load(w->store, TABLE_JOB, false, 0, rows_add, &rows, &e));
    size_t n = rows.v.n;
    vec_done(&rows.v);
    return n;
}

static void test_what_comes_back_is_counted_once(void **state)
{
    struct both b;
    struct world other;
    static struct gone gone;
    zone_set("America/New_York");
    both_open(&b, 15200400);
    gone = (struct gone){.world = &b.sql};
    history_make(&b, 1);
    both_commit(&b);
    size_t before = jobs_there(&b.sql);
    past_remove(&b, &gone, INT64_MAX);
    assert_true(gone.n > JOBS / 2 && jobs_there(&b.sql) < before);
    assert_true(ask(&b, true) > 10);
    for (int twice = 0; twice < 2; twice++) {
        past_add(&b.sql, &gone);
        assert_int_equal(jobs_there(&b.sql), before);
        assert_true(ask(&b, false) > 10); /* sums, a recount, and the twin's count */
    }
    past_remove(&b, &gone, NOW_US - 200 * 24 * HOUR);
    assert_true(ask(&b, true) > 10);
    world_open_sqlite(&other); /* which never had them */
    past_add(&other, &gone);
    past_add(&other, &gone);
    struct used_query q = {.from_us = 0, .to_us = NOW_US + 1000 * HOUR, .now_us = NOW_US};
    struct rows kept = rows_read(&other, &q, store_query_used),
                counted = rows_read(&other, &q, store_recount_used);
    assert_int_equal(kept.v.n, 1);
    rows_same(&kept, &counted, "another store");
    vec_done(&kept.v);
    vec_done(&counted.v);
    world_close(&other);
    both_close(&b);
}

/* Of sums the oldest go, some at a time; what ended later stays. */
static void test_sums_that_are_old_go(void **state)
{
    struct both b;
    struct err e;
    char text[32];
    int64_t cut = NOW_US - 30 * 24 * HOUR;
    zone_set("UTC");
    both_open(&b, 15200500);
    history_make(&b, 1);
    for (size_t i = 0; i < b.job.n; i++) { /* what runs is counted as of now */
        struct job *j = &b.job.v[i];
        if (j->state == JOB_PENDING)
            job_begin(b.r, j, j->eligible_us);
        if (j->state == JOB_RUNNING)
            job_end(b.r, j);
        both_put(&b, TABLE_JOB, j);
    }
    both_commit(&b);
    cut -= cut % (24 * HOUR);
    snprintf(text, sizeof text, "%lld", (long long)cut);
    struct used_query old = {.from_us = 0, .to_us = cut - 31 * 24 * HOUR, .now_us = NOW_US},
                      young = {.from_us = cut, .to_us = NOW_US, .now_us = NOW_US};
    struct rows before = rows_read(&b.sql, &young, store_query_used);
    for (int i = 0; i < 200; i++) {
        struct batch *batch = world_batch(&b.sql);
        batch_add(batch, ROW_PUT, TABLE_META,
                  &(struct meta){.key = META_USED_SINCE, .value = text});
        assert_true(world_commit(&b.sql, batch, &e));
    }
    struct rows none = rows_read(&b.sql, &old, store_query_used),
                after = rows_read(&b.sql, &young, store_query_used);
    const struct used *u = none.v.n ? none.v.v[0] : NULL;
    assert_true(!u || (u->cpu_s == 0 && u->jobs == 0));
    rows_same(&before, &after, "what is younger");
    vec_done(&none.v);
    vec_done(&before.v);
    vec_done(&after.v);
    both_close(&b);
}

struct used_hours {
    struct world *world;
    VEC(struct used_hour) v;
};

static void hour_keep(void *ctx, enum store_table table, const void *record)
{
    struct used_hours *h = ctx;
    struct str who = STR_INIT;
    struct used *u = arena_alloc(h->world->arena, sizeof *u);
    assert_int_equal(table, STORE_TABLE_COUNT);
    record_copy(&used_fields, u, record, h->world->arena);
    struct used_hour hour = used_hour_of(u, &who);
    hour.who = arena_strdup(h->world->arena, hour.who);
    vec_push(&h->v, hour);
    str_done(&who);
}

static void sums_purge(struct world *w, int64_t before_us)
{
    struct err e;
    char text[32];
    struct batch *batch = world_batch(w);
    snprintf(text, sizeof text, "%lld", (long long)before_us);
    batch_add(batch, ROW_PUT, TABLE_META, &(struct meta){.key = META_USED_SINCE, .value = text});
    assert_true(world_commit(w, batch, &e));
}

static void hours_add(struct world *w, const struct used_hours *h)
{
    struct err e;
    struct batch *batch = world_batch(w);
    for (size_t i = 0; i < h->v.n; i++)
        batch_add(batch, ROW_ADD, TABLE_USED_HOUR, &h->v.v[i]);
    if (!world_commit(w, batch, &e))
        fail_msg("%s", e.text);
}

/* What reports say of all times is as before; without `same`: no more than before, in any. */
#define ASKED_SUMS 60
static bool sums_compare(struct world *w, struct rng r, struct rows *before, bool same)
{
    bool less = false;
    for (size_t i = 0; i < ASKED_SUMS; i++) {
        int64_t from = NOW_US - rng_range(&r, 0, 450 * 24) * HOUR;
        struct used_query q = {.from_us = from - from % HOUR, .now_us = NOW_US};
        q.to_us = q.from_us + rng_range(&r, 1, 200 * 24) * HOUR;
        q.by = (unsigned)rng_below(&r, 2 * USED_BY_JOB_CPUS);
        q.each_hour = i % 10 == 0;
        struct rows now = rows_read(w, &q, store_query_used), then = before[i];
        if (!before[i].t)
            before[i] = now;
        else if (same)
            rows_same(&then, &now, "sums that came back");
        for (size_t k = 0; !same && k < now.v.n && now.v.n == then.v.n; k++)
            assert_true(((const struct used *)now.v.v[k])->cpu_s <=
                        ((const struct used *)then.v.v[k])->cpu_s);
        less |= then.t && now.v.n < then.v.n;
        if (then.t)
            vec_done(&now.v);
    }
    return less;
}

/* Hours that were archived and removed come back where they are missing, however much was removed
 * then, and are counted once. */
static void test_sums_come_back(void **state)
{
    static struct used_hours hours;
    for (int round = 0; round < 3; round++) {
        struct both b;
        struct err e;
        struct rows before[ASKED_SUMS] = {{0}};
        int64_t cut = NOW_US - (90 + 31 * round) * 24 * HOUR + 5 * HOUR;
        zone_set(zones[round]);
        both_open(&b, 15200700 + (uint64_t)round);
        hours = (struct used_hours){.world = &b.sql};
        history_make(&b, 1);
        both_commit(&b);
        struct rng r = *b.r;
        sums_compare(&b.sql, r, before, true);
        struct past_query q = {.kind = PAST_USAGE, .before_us = cut};
        assert_true(store_query_past(b.sql.store, &q, hour_keep, &hours, &e));
        assert_true(hours.v.n > 300);
        hours_add(&b.sql, &hours); /* too early: nothing is missing */
        sums_compare(&b.sql, r, before, true);
        sums_purge(&b.sql, cut); /* killed soon after */
        hours_add(&b.sql, &hours);
        sums_compare(&b.sql, r, before, false);
        for (int i = 0; i < 200; i++)
            sums_purge(&b.sql, cut);
        assert_true(sums_compare(&b.sql, r, before, false)); /* what was loaded went, too */
        for (int twice = 0; twice < 2; twice++) {
            hours_add(&b.sql, &hours);
            sums_compare(&b.sql, r, before, true);
        }
        struct used_hours again = {.world = &b.sql};
        assert_true(store_query_past(b.sql.store, &q, hour_keep, &again, &e));
        assert_int_equal(again.v.n, hours.v.n);
        for (size_t i = 0; i < ASKED_SUMS; i++)
            vec_done(&before[i].v);
        vec_done(&again.v);
        vec_done(&hours.v);
        both_close(&b);
    }
}

/* A cluster that begins anew has no sums: those of an archive are all there is, until it has jobs
 * of that time itself. */
static void test_sums_come_to_a_new_store(void **state)
{
    struct world w;
    struct str who = STR_INIT;
    struct used u = {.from_us = (NOW_US - 40 * 24 * HOUR) / HOUR * HOUR,
                     .user_name = "ann",
                     .account = "physics",
                     .jobs = 1,
                     .there = 2,
                     .cpu_s = 3600,
                     .gres = "gpu=3600,gpu:v100=3600"};
    static struct used_hours one;
    zone_set("UTC");
    world_open_sqlite(&w);
    one = (struct used_hours){.world = &w};
    struct used_hour hour = used_hour_of(&u, &who);
    vec_push(&one.v, hour);
    hours_add(&w, &one);
    hours_add(&w, &one);
    struct used_query q = {.from_us = u.from_us - 24 * HOUR,
                           .to_us = u.from_us + 24 * HOUR,
                           .now_us = NOW_US,
                           .by = USED_BY_USER};
    struct rows rows = rows_read(&w, &q, store_query_used);
    assert_int_equal(rows.v.n, 1);
    const struct used *got = rows.v.v[0];
    assert_int_equal(got->cpu_s, 3600);
    assert_int_equal(got->jobs, 1);
    assert_string_equal(got->gres, "gpu=3600,gpu:v100=3600");
    assert_string_equal(got->user_name, "ann");
    vec_done(&rows.v);
    q.from_us = u.from_us;
    rows = rows_read(&w, &q, store_query_used);
    assert_int_equal(((const struct used *)rows.v.v[0])->jobs, 3);
    vec_done(&rows.v);
    vec_done(&one.v);
    str_done(&who);
    world_close(&w);
}

static void sql_run(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

/* Until all jobs of such a store are counted, and after. */
static void test_a_store_of_an_older_release_is_counted_in_pieces(void **state)
{
    struct both b;
    struct err e;
    zone_set("Asia/Kolkata");
    both_open(&b, 15200200);
    history_make(&b, 1);
    for (uint64_t id = 2000; id < 2700; id++) {
        struct job j = job_new(b.r, id);
        job_begin(b.r, &j, j.eligible_us);
        job_end(b.r, &j);
        both_put(&b, TABLE_JOB, &j);
    }
    both_commit(&b);
    store_close(b.sql.store);
    b.sql.store = store_open_memory(); /* for world_reopen to close */
    sql_run(b.sql.path, "DROP TABLE used; DROP TABLE used_by; DROP TABLE used_gres; DROP TABLE "
                        "used_fact");
    world_reopen(&b.sql);
    for (int i = 0; i < 4; i++) {
        assert_true(ask(&b, false) > 10);
        job_live_on(&b, &b.job.v[i]);
        both_commit(&b);
        assert_true(world_commit(&b.sql, world_batch(&b.sql), &e));
    }
    both_close(&b);
}

static void test_a_commit_that_fails_adds_nothing(void **state)
{
    struct both b;
    struct err e;
    zone_set("UTC");
    both_open(&b, 15200300);
    struct job j = job_new(b.r, 7);
    job_begin(b.r, &j, NOW_US - 50 * HOUR);
    j.state = JOB_COMPLETED;
    struct batch *batch = world_batch(&b.sql);
    batch_add(batch, ROW_PUT, TABLE_JOB, &j);
    batch->seq += 5;
    assert_false(store_commit(b.sql.store, batch, &e));
    batch_free(batch);
    struct used_query q = {.from_us = 0, .to_us = NOW_US + 1000 * HOUR, .now_us = NOW_US};
    struct rows none = rows_read(&b.sql, &q, store_query_used);
    assert_int_equal(none.v.n, 0);
    both_put(&b, TABLE_JOB, &j);
    both_commit(&b);
    struct rows one = rows_read(&b.sql, &q, store_query_used);
    assert_int_equal(one.v.n, 1);
    assert_int_equal(((const struct used *)one.v.v[0])->cpu_s,
                     j.alloc_cpus * (j.end_us / USEC_PER_SEC - j.start_us / USEC_PER_SEC));
    vec_done(&none.v);
    vec_done(&one.v);
    both_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_comes_back_is_counted_once),
        cmocka_unit_test(test_sums_that_are_old_go),
        cmocka_unit_test(test_sums_come_back),
        cmocka_unit_test(test_sums_come_to_a_new_store),
        cmocka_unit_test(test_a_store_of_an_older_release_is_counted_in_pieces),
        cmocka_unit_test(test_a_commit_that_fails_adds_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
