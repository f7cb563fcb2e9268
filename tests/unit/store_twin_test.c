/* The memory twin against SQLite: random batches, then random questions; both give the same rows in
 * the same order. */
#include "share.h"
#include "store/store_ops.h"
#include "store_help.h"
#include "wire_random.h"

#include <string.h>

#define WORLDS     10
#define BATCHES    8
#define QUESTIONS  60
#define PASTS_READ 40

static const char *const names[] = {"a", "b'c", "d\xff", ""};
static const char *const partitions[] = {"gpu", "cpu", "gpu,cpu"};
static const char *const nodes[] = {"n1", "n[1-3]", "m7", NULL};
static const char *const pending[] = {"1-3", "7", "0-20:5", NULL};
static const char *const waits[] = {"afterok:3,after:7+5(failed)", "aftercorr:12", NULL,
                                    "(exit:20_each>3?numdone:9==all),singleton", NULL};
static const char *const crons[] = {"@hourly", NULL, NULL, NULL};

#define PICK(r, list) ((list)[rng_below((r), ARRAY_LEN(list))])

static struct job random_job(struct rng *r, struct arena *a)
{
    struct job j = {0};
    record_random(&job_fields, &j, r, 150, a);
    j.id = rng_below(r, 40) + 1;
    j.attempt = (uint32_t)rng_below(r, 3);
    j.array_job_id = rng_chance(r, 300) ? rng_below(r, 40) : 0;
    j.array_task_id = rng_chance(r, 500) ? (uint32_t)rng_below(r, 8) : NO_TASK;
    j.array_pending = PICK(r, pending);
    j.het_job_id = rng_chance(r, 200) ? rng_below(r, 40) : 0;
    j.het_offset = (uint32_t)rng_below(r, 3);
    j.state = (int32_t)rng_below(r, JOB_STATE_COUNT);
    j.user_id = (uint32_t)rng_below(r, 4);
    j.spec.name = PICK(r, names);
    j.spec.req.partition = PICK(r, partitions);
    j.run_partition = rng_chance(r, 500) ? partitions[rng_below(r, 2)] : NULL;
    j.spec.req.account = PICK(r, names);
    j.spec.req.qos = PICK(r, names);
    j.nodes = PICK(r, nodes);
    j.spec.dependency = PICK(r, waits);
    j.cron = PICK(r, crons);
    j.submit_us = rng_range(r, 0, 50);
    j.eligible_us = rng_chance(r, 800) ? j.submit_us + rng_range(r, 0, 20) : 0;
    j.start_us = rng_chance(r, 600) ? j.submit_us + rng_range(r, 0, 30) : 0;
    j.end_us = rng_chance(r, 700) ? j.submit_us + rng_range(r, 0, 50) : 0;
    return j;
}

/* A random row of a random table; keys are few, so that rows are replaced and removed. */
static void add_random(struct batch *batches[2], struct rng *r, struct arena *a)
{
    enum store_table table = (enum store_table)rng_below(r, STORE_TABLE_COUNT);
    enum row_op op = rng_chance(r, 200) ? ROW_DELETE : ROW_PUT;
    const struct fields *t = store_table_rows[table].fields;
    void *record = arena_alloc(a, t->size);
    record_random(t, record, r, 300, a);
    if (table == TABLE_JOB || table == TABLE_JOB_RUN)
        *(struct job *)record = random_job(r, a);
    if (table == TABLE_STEP)
        *(struct step *)record = (struct step){.job_id = rng_below(r, 40),
                                               .attempt = (uint32_t)rng_below(r, 3),
                                               .step_id = rng_range(r, -3, 3),
                                               .ntasks = (int32_t)rng_below(r, 9)};
    if (table == TABLE_PAYLOAD)
        ((struct payload *)record)->job_id = rng_below(r, 40);
    const struct field *key[KEY_FIELDS_MAX];
    size_t nkey = table_key(table, key);
    for (size_t i = 0; i < nkey; i++)
        if (key[i]->type == FIELD_TEXT)
            *(const char **)field_ptr(key[i], record) = names[rng_below(r, 4)];
    for (int i = 0; i < 2; i++)
        batch_add(batches[i], op, table, record);
}

static void commit_random(struct world w[2], struct rng *r, struct arena *a)
{
    struct batch *batches[2] = {world_batch(&w[0]), world_batch(&w[1])};
    for (uint64_t n = rng_below(r, 60); n; n--)
        add_random(batches, r, a);
    for (int i = 0; i < 2; i++) {
        struct err e;
        if (!world_commit(&w[i], batches[i], &e))
            fail_msg("%s", e.text);
    }
}

static void assert_same(struct rows rows[2], const char *what)
{
    if (rows[0].v.n != rows[1].v.n)
        fail_msg("%s: %zu rows here, %zu there", what, rows[0].v.n, rows[1].v.n);
    for (size_t i = 0; i < rows[0].v.n; i++)
        if (!record_equal(rows[0].t, rows[0].v.v[i], rows[1].v.v[i]))
            fail_msg("%s: row %zu differs", what, i);
    vec_done(&rows[0].v);
    vec_done(&rows[1].v);
}

static void compare_tables(struct world w[2], bool live_only, int64_t ended_after_us)
{
    for (int table = 0; table < STORE_TABLE_COUNT; table++) {
        struct rows rows[2] = {{.world = &w[0], .t = store_table_rows[table].fields},
                               {.world = &w[1], .t = store_table_rows[table].fields}};
        for (int i = 0; i < 2; i++)
            assert_true(store_load(w[i].store, (enum store_table)table, live_only, ended_after_us,
                                   rows_add, &rows[i], NULL));
        assert_same(rows, store_table_rows[table].name);
    }
}

static struct msg_query random_query(struct rng *r)
{
    static const char *const ids[] = {"3", "3,4,5,17", "7_2", "7_[1-3,5]", "9+1", "12,13_1"};
    static const char *const uids[] = {"0", "1,2", "3"};
    static const char *const states[] = {"PENDING",    "r", "CD,F", "all", "RUNNING,TIMEOUT,CG",
                                         "CONFIGURING"};
    static const char *const hosts[] = {"n2", "n[3-9],m7"};
    static const char *const listed[] = {"a", "b'c,d\xff", "d\xff"};
    static const char *const parts[] = {"gpu", "cpu,none"};
    struct msg_query q = {0};
    q.ids = rng_chance(r, 300) ? PICK(r, ids) : NULL;
    q.uids = rng_chance(r, 300) ? PICK(r, uids) : NULL;
    q.states = rng_chance(r, 400) ? PICK(r, states) : NULL;
    q.nodes = rng_chance(r, 150) ? PICK(r, hosts) : NULL;
    q.names = rng_chance(r, 200) ? PICK(r, listed) : NULL;
    q.accounts = rng_chance(r, 100) ? PICK(r, listed) : NULL;
    q.qos = rng_chance(r, 100) ? PICK(r, listed) : NULL;
    q.partitions = rng_chance(r, 150) ? PICK(r, parts) : NULL;
    q.from_us = rng_chance(r, 400) ? rng_range(r, 1, 90) : 0;
    q.to_us = rng_chance(r, 300) ? rng_range(r, 1, 90) : 0;
    q.duplicates = rng_chance(r, 400);
    return q;
}

static size_t compare_answers(struct world w[2], struct rng *r)
{
    struct msg_query q = random_query(r);
    struct rows rows[2] = {{.world = &w[0], .t = &job_fields}, {.world = &w[1], .t = &job_fields}};
    for (int i = 0; i < 2; i++) {
        struct err e = {0};
        if (!store_query_jobs(w[i].store, &q, rows_add, &rows[i], &e))
            fail_msg("%s", e.text);
    }
    size_t found = rows[0].v.n;
    assert_same(rows, "query");
    return found;
}

/* What is over, page after page. */
struct past_rows_read {
    struct world *world;
    VEC(enum store_table) table;
    VEC(const void *) row;
};

static void past_row(void *ctx, enum store_table table, const void *record)
{
    struct past_rows_read *p = ctx;
    const struct fields *t = store_table_rows[table].fields;
    void *copy = arena_alloc(p->world->arena, t->size);
    record_copy(t, copy, record, p->world->arena);
    vec_push(&p->table, table);
    vec_push(&p->row, copy);
}

static size_t compare_past(struct world w[2], struct past_query first)
{
    struct past_query q[2] = {first, first};
    struct past_rows_read rows[2] = {{.world = &w[0]}, {.world = &w[1]}};
    struct err e;
    do {
        for (int i = 0; i < 2; i++)
            assert_true(store_query_past(w[i].store, &q[i], past_row, &rows[i], &e));
        assert_int_equal(q[0].more, q[1].more);
        assert_int_equal(q[0].at.id, q[1].at.id);
        assert_int_equal(q[0].run_at.id, q[1].run_at.id);
    } while (q[0].more);
    size_t n = rows[0].row.n;
    if (n != rows[1].row.n)
        fail_msg("past %d: %zu rows here, %zu there", first.kind, n, rows[1].row.n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(rows[0].table.v[i], rows[1].table.v[i]);
        if (!record_equal(store_table_rows[rows[0].table.v[i]].fields, rows[0].row.v[i],
                          rows[1].row.v[i]))
            fail_msg("past %d: row %zu differs", first.kind, i);
    }
    for (int i = 0; i < 2; i++) {
        vec_done(&rows[i].table);
        vec_done(&rows[i].row);
    }
    return n;
}

static size_t compare_pasts(struct world w[2], struct rng *r)
{
    size_t found = 0;
    for (int kind = 0; kind < PAST_USAGE; kind++) /* sums: the twin keeps none */
        found += compare_past(w, (struct past_query){.kind = (enum past_kind)kind,
                                                     .before_us = rng_range(r, 1, 90),
                                                     .most = rng_below(r, 5) + 1});
    return found;
}

static void test_both_kinds_answer_alike(void **state)
{
    struct rng r = {4};
    size_t found = 0, past = 0;
    for (int k = 0; k < (int)worlds_of(WORLDS); k++) {
        struct world w[2];
        struct arena *a = arena_new();
        world_open_memory(&w[0]);
        world_open_sqlite(&w[1]);
        for (int i = 0; i < BATCHES; i++)
            commit_random(w, &r, a);
        compare_tables(w, false, 0);
        compare_tables(w, true, rng_range(&r, 0, 90));
        for (int i = 0; i < QUESTIONS; i++)
            found += compare_answers(w, &r);
        for (int i = 0; i < PASTS_READ; i++)
            past += compare_pasts(w, &r);
        world_close(&w[0]);
        world_close(&w[1]);
        arena_free(a);
    }
    assert_true(found > 1000); /* the questions were not all in vain */
    assert_true(past > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_both_kinds_answer_alike)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
