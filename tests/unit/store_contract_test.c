/* What store.h promises, of both kinds: every test runs on SQLite and on the memory twin. */
#include "store_help.h"

#include <string.h>

static int open_memory(void **state)
{
    *state = xcalloc(1, sizeof(struct world));
    world_open_memory(*state);
    return 0;
}

static int open_sqlite(void **state)
{
    *state = xcalloc(1, sizeof(struct world));
    world_open_sqlite(*state);
    return 0;
}

static int close_world(void **state)
{
    world_close(*state);
    free(*state);
    return 0;
}

static void test_a_record_comes_back_whole(void **state)
{
    struct world *w = *state;
    struct job j = {.id = 42,
                    .spec.name = "a\xff'b",
                    .spec.comment = "",
                    .spec.req.mem_per_node_mib = MEM_ALL,
                    .array_task_id = NO_TASK,
                    .state = JOB_RUNNING,
                    .reason = REASON_REQUEUED_HELD,
                    .priority = UINT64_MAX,
                    .limit_us = INT64_MAX,
                    .spec.nice = INT32_MIN,
                    .oom = true};
    world_put_job(w, &j);
    struct rows r = {.world = w, .t = &job_fields};
    assert_true(store_load(w->store, TABLE_JOB, false, 0, rows_add, &r, NULL));
    assert_int_equal(r.v.n, 1);
    assert_true(record_equal(&job_fields, &j, r.v.v[0]));
    vec_done(&r.v);
}

/* Elements of an array are loaded whenever they ended, while one is not over or ended of late: a job
 * that waits for it from now on asks how all of them ended. */
static void test_arrays_are_loaded_whole(void **state)
{
    struct world *w = *state;
    const struct job jobs[] = {
        {.id = 1, .array_job_id = 1, .array_task_id = NO_TASK, .state = JOB_PENDING},
        {.id = 2, .array_job_id = 1, .array_task_id = 0, .state = JOB_COMPLETED, .end_us = 10},
        {.id = 3, .array_job_id = 1, .array_task_id = 1, .state = JOB_FAILED, .end_us = 90},
        {.id = 4, .array_job_id = 4, .array_task_id = 0, .state = JOB_COMPLETED, .end_us = 10},
        {.id = 5, .array_job_id = 4, .array_task_id = 1, .state = JOB_COMPLETED, .end_us = 90},
        {.id = 6, .state = JOB_COMPLETED, .end_us = 10},
        {.id = 7, .state = JOB_COMPLETED, .end_us = 90},
        {.id = 8, .state = JOB_RUNNING},
        {.id = 9, .array_job_id = 9, .array_task_id = 0, .state = JOB_FAILED, .end_us = 10},
        {.id = 10, .array_job_id = 9, .array_task_id = 1, .state = JOB_COMPLETED, .end_us = 49},
    };
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++)
        world_put_job(w, &jobs[i]);
    assert_string_equal(world_load_ids(w, TABLE_JOB, true, 50), "1 2 3 4 5 7 8");
}

/* Components are found from the leader on without a gap: of a company that is wanted all are. */
static void test_companies_are_loaded_whole(void **state)
{
    struct world *w = *state;
    for (unsigned late = 0; late < 8; late++)
        for (int lives = 0; lives < 2; lives++) {
            for (unsigned i = 0; i < 3; i++)
                world_put_job(w,
                              &(struct job){.id = 1 + i,
                                            .het_job_id = 1,
                                            .het_offset = i,
                                            .state = late >> i & lives ? JOB_RUNNING : JOB_FAILED,
                                            .end_us = late >> i & lives ? 0
                                                      : late >> i & 1   ? 90
                                                                        : 10});
            assert_string_equal(world_load_ids(w, TABLE_JOB, true, 50), late ? "1 2 3" : "");
        }
}

/* It ended, and before it was given its next time the controller was gone for longer than jobs are
 * remembered. */
static void test_what_scrontab_starts_is_loaded(void **state)
{
    struct world *w = *state;
    world_put_job(w, &(struct job){.id = 1, .state = JOB_FAILED, .end_us = 10});
    for (int32_t s = 0; s < JOB_STATE_COUNT; s++) {
        world_put_job(w, &(struct job){.id = 2, .state = s, .end_us = 10, .cron = "* * * * *"});
        assert_string_equal(world_load_ids(w, TABLE_JOB, true, 50), "2");
    }
}

/* What is over for long is loaded if a job waits for it, whatever for: not if it said so and does
 * not wait any more, nor what has nothing to do with it. */
static void test_what_is_waited_for_is_loaded(void **state)
{
    struct world *w = *state;
    static const struct {
        const char *before, *behind;
    } texts[] = {
        {"after:", "+600"},   {"afterany:", ""},        {"afterok:", "(failed)"},
        {"afternotok:", ""},  {"aftercorr:", ""},       {"afterok:", "_each"},
        {"exit:", "_each>3"}, {"numdone:", "==all"},    {"(afterok:40?after:", ")"},
        {"!afterok:", ""},    {"singleton,after:", ""}, {"afterok:", "_2"},
    };
    const struct job old[] = {
        {.id = 10, .state = JOB_FAILED, .end_us = 10},
        {.id = 20, .array_job_id = 20, .array_task_id = 3, .state = JOB_FAILED, .end_us = 10},
        {.id = 21, .array_job_id = 20, .array_task_id = 1, .state = JOB_FAILED, .end_us = 9},
        {.id = 22, .array_job_id = 20, .array_task_id = 2, .state = JOB_COMPLETED, .end_us = 11},
        {.id = 30, .het_job_id = 30, .state = JOB_COMPLETED, .end_us = 10},
        {.id = 31, .het_job_id = 30, .het_offset = 1, .state = JOB_COMPLETED, .end_us = 10},
    };
    for (size_t i = 0; i < ARRAY_LEN(old); i++)
        world_put_job(w, &old[i]);
    world_put_job(
        w, &(struct job){.id = 40, .state = JOB_RUNNING, .spec.dependency = "afterok:10:20:30"});
    assert_string_equal(world_load_ids(w, TABLE_JOB, true, 50), "40");
    static const struct {
        unsigned id;
        const char *loaded;
    } whom[] = {{10, "40 50 10"},
                {20, "40 50 20 21 22"},
                {21, "40 50 21 20 22"},
                {30, "40 50 30 31"},
                {31, "40 50 31 30"}};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        for (size_t k = 0; k < ARRAY_LEN(whom); k++) {
            char *text = xasprintf("%s%u%s", texts[i].before, whom[k].id, texts[i].behind);
            world_put_job(w,
                          &(struct job){.id = 50, .state = JOB_PENDING, .spec.dependency = text});
            assert_string_equal(world_load_ids(w, TABLE_JOB, true, 50), whom[k].loaded);
            free(text);
        }
}

static void test_a_put_replaces_a_delete_removes(void **state)
{
    struct world *w = *state;
    struct err e;
    world_put(w, TABLE_JOB,
              (const void *const[]){&(struct job){.id = 3},
                                    &(struct job){.id = 1, .spec.name = "old", .user_id = 5},
                                    &(struct job){.id = 2}, NULL});
    struct batch *b = world_batch(w);
    batch_add(b, ROW_PUT, TABLE_JOB, &(struct job){.id = 1, .spec.name = "new"});
    batch_add(b, ROW_DELETE, TABLE_JOB, &(struct job){.id = 3});
    batch_add(b, ROW_DELETE, TABLE_JOB, &(struct job){.id = 77});
    assert_true(world_commit(w, b, &e));
    struct rows r = {.world = w, .t = &job_fields};
    assert_true(store_load(w->store, TABLE_JOB, false, 0, rows_add, &r, NULL));
    assert_true(record_equal(&job_fields, r.v.v[0], &(struct job){.id = 1, .spec.name = "new"}));
    assert_string_equal(rows_ids(&r), "1 2");
}

static void test_rows_of_a_batch_apply_in_order(void **state)
{
    struct world *w = *state;
    struct err e;
    struct batch *b = world_batch(w);
    batch_add(b, ROW_PUT, TABLE_JOB, &(struct job){.id = 1});
    batch_add(b, ROW_DELETE, TABLE_JOB, &(struct job){.id = 1});
    batch_add(b, ROW_DELETE, TABLE_JOB, &(struct job){.id = 2});
    batch_add(b, ROW_PUT, TABLE_JOB, &(struct job){.id = 2});
    assert_true(world_commit(w, b, &e));
    assert_string_equal(world_load_ids(w, TABLE_JOB, false, 0), "2");
}

static void test_a_batch_owns_its_rows(void **state)
{
    struct world *w = *state;
    struct err e;
    char name[] = "train";
    struct batch *b = world_batch(w);
    batch_add(b, ROW_PUT, TABLE_JOB, &(struct job){.id = 1, .spec.name = name});
    memset(name, 'x', sizeof name - 1);
    assert_true(world_commit(w, b, &e));
    assert_string_equal(world_query_ids(w, &(struct msg_query){.names = "train"}), "1");
}

static void test_steps_stand_in_the_order_of_their_key(void **state)
{
    struct world *w = *state;
    world_put(
        w, TABLE_STEP,
        (const void *const[]){&(struct step){.job_id = 2, .attempt = 1, .step_id = 0},
                              &(struct step){.job_id = 1, .attempt = 2, .step_id = STEP_BATCH},
                              &(struct step){.job_id = 1, .attempt = 1, .step_id = 10},
                              &(struct step){.job_id = 1, .attempt = 1, .step_id = 9},
                              &(struct step){.job_id = 1, .attempt = 1, .step_id = STEP_BATCH},
                              &(struct step){.job_id = 10, .attempt = 1}, NULL});
    assert_string_equal(world_load_ids(w, TABLE_STEP, false, 0), "1.-1 1.9 1.10 1.-1 2.0 10.0");
    struct rows all = {.world = w, .t = &step_fields}, one = all, none = all;
    assert_true(store_query_steps(w->store, 1, 0, rows_add, &all, NULL));
    assert_string_equal(rows_ids(&all), "1.-1 1.9 1.10 1.-1");
    assert_true(store_query_steps(w->store, 1, 2, rows_add, &one, NULL));
    assert_string_equal(rows_ids(&one), "1.-1");
    assert_true(store_query_steps(w->store, 3, 0, rows_add, &none, NULL));
    assert_string_equal(rows_ids(&none), "");
}

static void test_a_start_loads_what_lives(void **state)
{
    struct world *w = *state;
    const void *const jobs[] = {
        &(struct job){.id = 1, .state = JOB_COMPLETED, .end_us = 100},
        &(struct job){.id = 2, .state = JOB_PENDING},
        &(struct job){.id = 3, .state = JOB_RUNNING, .end_us = 100},
        &(struct job){.id = 4, .state = JOB_FAILED, .end_us = 200},
        &(struct job){.id = 5, .state = JOB_COMPLETING},
        &(struct job){.id = 6, .state = JOB_CANCELLED},
        NULL,
    };
    const void *const steps[] = {&(struct step){.job_id = 1}, &(struct step){.job_id = 3},
                                 &(struct step){.job_id = 4}, &(struct step){.job_id = 9}, NULL};
    world_put(w, TABLE_JOB, jobs);
    world_put(w, TABLE_STEP, steps);
    assert_string_equal(world_load_ids(w, TABLE_JOB, true, 150), "2 3 4 5");
    assert_string_equal(world_load_ids(w, TABLE_JOB, true, INT64_MAX), "2 3 5");
    assert_string_equal(world_load_ids(w, TABLE_JOB, true, 0), "1 2 3 4 5 6");
    assert_string_equal(world_load_ids(w, TABLE_STEP, true, 150), "3.0 4.0");
    assert_string_equal(world_load_ids(w, TABLE_STEP, false, 150), "1.0 3.0 4.0 9.0");
}

static void test_payloads(void **state)
{
    struct world *w = *state;
    struct arena *a = arena_new();
    struct err e = {0};
    struct payload p = {.job_id = 42, .script = {"#!/bin/sh\n\0\xff", 12}, .env = {"A=1\0", 4}},
                   got;
    assert_false(store_payload(w->store, 42, a, &got, &e));
    assert_int_equal(e.code, ERR_NOT_FOUND);
    assert_string_equal(e.text, "no script of job 42 is stored");
    world_put(w, TABLE_PAYLOAD, (const void *const[]){&p, &(struct payload){.job_id = 43}, NULL});
    assert_true(store_payload(w->store, 42, a, &got, &e));
    assert_true(record_equal(&payload_fields, &p, &got));
    assert_true(store_payload(w->store, 43, a, &got, &e));
    assert_int_equal(got.script.len, 0);
    assert_false(store_payload(w->store, 44, a, &got, &e));
    arena_free(a);
}

static const char *fact(struct world *w, const char *key)
{
    struct rows r = {.world = w, .t = &meta_fields};
    const char *value = NULL;
    assert_true(store_load(w->store, TABLE_META, false, 0, rows_add, &r, NULL));
    for (size_t i = 0; i < r.v.n; i++)
        if (strcmp(((const struct meta *)r.v.v[i])->key, key) == 0)
            value = ((const struct meta *)r.v.v[i])->value;
    vec_done(&r.v);
    return value;
}

static void test_small_facts(void **state)
{
    struct world *w = *state;
    world_put(w, TABLE_META,
              (const void *const[]){&(struct meta){.key = "next_job_id", .value = "43"}, NULL});
    assert_string_equal(fact(w, "next_job_id"), "43");
    assert_string_equal(fact(w, "epoch"), "1");
    assert_string_equal(fact(w, "seq"), "1");
    assert_string_equal(fact(w, "schema_version"), "1");
}

static void test_a_deposed_writer_is_denied(void **state)
{
    struct world *w = *state;
    uint64_t epoch = 0, seq = 99;
    struct err e;
    world_put_job(w, &(struct job){.id = 1});
    assert_true(store_take_epoch(w->store, &epoch, &seq, NULL));
    assert_int_equal(epoch, w->epoch + 1);
    assert_int_equal(seq, 1);
    struct batch *b = world_batch(w);
    batch_add(b, ROW_PUT, TABLE_JOB, &(struct job){.id = 2});
    assert_false(world_commit(w, b, &e));
    assert_int_equal(e.code, ERR_DENIED);
    assert_string_equal(world_load_ids(w, TABLE_JOB, false, 0), "1");
    w->epoch = epoch;
    world_put_job(w, &(struct job){.id = 3});
    assert_string_equal(world_load_ids(w, TABLE_JOB, false, 0), "1 3");
}

static void test_batches_have_no_gaps(void **state)
{
    struct world *w = *state;
    static const uint64_t wrong[] = {0, 1, 3};
    world_put_job(w, &(struct job){.id = 1});
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct err e;
        struct batch *b = world_batch(w);
        b->seq = wrong[i];
        batch_add(b, ROW_DELETE, TABLE_JOB, &(struct job){.id = 1});
        assert_false(world_commit(w, b, &e));
        assert_int_equal(e.code, ERR_INVALID);
    }
    assert_string_equal(world_load_ids(w, TABLE_JOB, false, 0), "1");
}

/* Numbers that another store may have, in whose place this one is, are left out. */
static void test_a_batch_may_leave_numbers_out(void **state)
{
    struct world *w = *state;
    struct err e;
    world_put_job(w, &(struct job){.id = 1});
    for (uint64_t seq = 6; seq < 9; seq++) {
        struct batch *b = world_batch(w);
        b->gap = 5;
        b->seq = seq;
        batch_add(b, ROW_PUT, TABLE_JOB, &(struct job){.id = seq});
        assert_int_equal(world_commit(w, b, &e), seq == 7);
    }
    assert_string_equal(world_load_ids(w, TABLE_JOB, false, 0), "1 7");
    assert_string_equal(fact(w, "seq"), "7");
}

static void test_an_empty_batch_is_a_batch(void **state)
{
    struct world *w = *state;
    struct err e;
    assert_true(world_commit(w, world_batch(w), &e));
    world_put_job(w, &(struct job){.id = 1});
    assert_string_equal(fact(w, "seq"), "2");
}

struct nested {
    struct world *w;
    struct rows steps;
};

static void read_steps(void *ctx, const void *record)
{
    struct nested *n = ctx;
    assert_true(store_query_steps(n->w->store, ((const struct job *)record)->id, 0, rows_add,
                                  &n->steps, NULL));
}

static void test_rows_may_be_read_while_rows_are_read(void **state)
{
    struct world *w = *state;
    struct nested n = {.w = w, .steps = {.world = w, .t = &step_fields}};
    world_put(w, TABLE_JOB,
              (const void *const[]){&(struct job){.id = 1}, &(struct job){.id = 2}, NULL});
    world_put(w, TABLE_STEP,
              (const void *const[]){&(struct step){.job_id = 1},
                                    &(struct step){.job_id = 2, .step_id = 5}, NULL});
    assert_true(store_query_jobs(w->store, &(struct msg_query){0}, read_steps, &n, NULL));
    assert_string_equal(rows_ids(&n.steps), "1.0 2.5");
}

static void test_a_failing_twin(void **state)
{
    struct world *w = *state;
    struct err e;
    store_memory_fail(w->store, 2);
    for (int i = 0; i < 2; i++) {
        struct batch *b = world_batch(w);
        batch_add(b, ROW_PUT, TABLE_JOB, &(struct job){.id = 1});
        assert_false(world_commit(w, b, &e));
        assert_int_equal(e.code, ERR_UNAVAILABLE);
    }
    assert_string_equal(world_load_ids(w, TABLE_JOB, false, 0), "");
    world_put_job(w, &(struct job){.id = 1});
    assert_string_equal(world_load_ids(w, TABLE_JOB, false, 0), "1");
    assert_string_equal(store_describe(w->store), "memory");
}

#define BOTH(test)                                                                                 \
    {#test " (memory)", test, open_memory, close_world, NULL},                                     \
    {                                                                                              \
#test " (SQLite)", test, open_sqlite, close_world, NULL                                    \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(test_a_record_comes_back_whole),
        BOTH(test_arrays_are_loaded_whole),
        BOTH(test_companies_are_loaded_whole),
        BOTH(test_what_scrontab_starts_is_loaded),
        BOTH(test_what_is_waited_for_is_loaded),
        BOTH(test_a_put_replaces_a_delete_removes),
        BOTH(test_rows_of_a_batch_apply_in_order),
        BOTH(test_a_batch_owns_its_rows),
        BOTH(test_steps_stand_in_the_order_of_their_key),
        BOTH(test_a_start_loads_what_lives),
        BOTH(test_payloads),
        BOTH(test_small_facts),
        BOTH(test_a_deposed_writer_is_denied),
        BOTH(test_batches_have_no_gaps),
        BOTH(test_a_batch_may_leave_numbers_out),
        BOTH(test_an_empty_batch_is_a_batch),
        BOTH(test_rows_may_be_read_while_rows_are_read),
        cmocka_unit_test_setup_teardown(test_a_failing_twin, open_memory, close_world),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
