/* What sacct(1) finds: a day of jobs, and questions about it. The memory twin answers;
 * store_twin_test shows that SQLite answers alike.
 *
 *   time        10    20    30    40    50    60
 *   1 train     P──R──────────CD                     alice, gpu, n1
 *   2 train           P─────R───────F                bob, cpu, n2
 *   3 prep      P────────────────────────────        alice; held from the start: never eligible
 *   4 serve                 P──R──────────────       bob, gpu, n[1-2]; runs
 *   5 waits                       P───────────       alice; eligible, waits in gpu or cpu
 *   6 gone            P──CA                          bob; cancelled before it started */
#include "store_help.h"

#include "store/job_filter.h"

#include <stdlib.h>
#include <unistd.h>

static int open_day(void **state)
{
    static const struct job jobs[] = {
        {.id = 1,
         .spec = {.name = "train", .req = {.account = "physics", .qos = "high"}},
         .user_id = 1000,
         .state = JOB_COMPLETED,
         .submit_us = 10,
         .eligible_us = 10,
         .start_us = 15,
         .end_us = 35,
         .run_partition = "gpu",
         .nodes = "n1"},
        {.id = 2,
         .spec.name = "train",
         .user_id = 1001,
         .state = JOB_FAILED,
         .submit_us = 20,
         .eligible_us = 20,
         .start_us = 30,
         .end_us = 45,
         .run_partition = "cpu",
         .nodes = "n2"},
        {.id = 3, .spec.name = "prep", .user_id = 1000, .state = JOB_PENDING, .submit_us = 10},
        {.id = 4,
         .spec.name = "serve",
         .user_id = 1001,
         .state = JOB_RUNNING,
         .submit_us = 30,
         .eligible_us = 30,
         .start_us = 35,
         .end_us = 37,
         .run_partition = "gpu",
         .nodes = "n[1-2]"},
        {.id = 5,
         .spec = {.name = "waits", .req.partition = "gpu,cpu"},
         .user_id = 1000,
         .state = JOB_PENDING,
         .submit_us = 40,
         .eligible_us = 40},
        {.id = 6,
         .spec.name = "gone",
         .user_id = 1001,
         .state = JOB_CANCELLED,
         .submit_us = 20,
         .eligible_us = 20,
         .end_us = 25},
    };
    struct world *w = xcalloc(1, sizeof *w);
    world_open_memory(w);
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
        struct job j = jobs[i];
        j.array_task_id = NO_TASK;
        world_put_job(w, &j);
    }
    *state = w;
    return 0;
}

static int close_day(void **state)
{
    world_close(*state);
    free(*state);
    return 0;
}

#define ASK(expected, ...)                                                                         \
    assert_string_equal(world_query_ids(w, &(struct msg_query){__VA_ARGS__}), expected)

static void test_times_alone(void **state)
{
    struct world *w = *state;
    ASK("1 2 3 4 5 6", .from_us = 0);
    ASK("1 2 3 4 5", .from_us = 30);
    ASK("1 2 3 4 5", .from_us = 35);
    ASK("2 3 4 5", .from_us = 36);
    ASK("3 4 5", .from_us = 46); /* the limit of 4 has passed, yet it runs */
    ASK("1 3", .to_us = 19);
    ASK("1 2 3 6", .from_us = 20, .to_us = 25);
    ASK("1 2 3", .from_us = 26, .to_us = 29);
    ASK("", .to_us = 9);
}

static void test_states_alone_are_those_of_now(void **state)
{
    struct world *w = *state;
    ASK("3 5", .states = "PENDING");
    ASK("1 2", .states = "cd,f");
    ASK("4", .states = "Running");
    ASK("1 2 3 4 5 6", .states = "all");
    ASK("", .states = "CONFIGURING");
    ASK("6", .states = "CONFIGURING,CANCELLED");
}

static void test_states_within_times_are_those_of_then(void **state)
{
    struct world *w = *state;
    ASK("1", .states = "RUNNING", .from_us = 16, .to_us = 20);
    ASK("1 2", .states = "R", .from_us = 30, .to_us = 34);
    ASK("4", .states = "R", .from_us = 50, .to_us = 60);
    ASK("2 6", .states = "PENDING", .from_us = 20, .to_us = 21);
    ASK("5", .states = "PENDING", .from_us = 50, .to_us = 60); /* 3 was never eligible */
    ASK("1", .states = "COMPLETED", .from_us = 30, .to_us = 40);
    ASK("", .states = "COMPLETED", .from_us = 10, .to_us = 34);
    ASK("", .states = "COMPLETED", .from_us = 36, .to_us = 60);
    ASK("1 2", .states = "COMPLETED,RUNNING", .from_us = 31, .to_us = 34);
    ASK("6", .states = "CA", .from_us = 20, .to_us = 30);
}

static void test_other_filters(void **state)
{
    struct world *w = *state;
    ASK("1 3 5", .uids = "1000");
    ASK("1 2 3 4 5 6", .uids = "1001,1000");
    ASK("", .uids = "0");
    ASK("1 2 6", .names = "train,gone");
    ASK("1", .names = "train", .uids = "1000");
    ASK("1", .accounts = "physics");
    ASK("1", .qos = "low,high");
    ASK("1 4 5", .partitions = "gpu");
    ASK("2 5", .partitions = "cpu");
    ASK("2 4", .nodes = "n[2-9]");
    ASK("1 4", .nodes = "n1");
    ASK("2 4", .ids = "4,2,99");
    ASK("4", .ids = "4.batch");
    ASK("4", .ids = "2,4", .partitions = "gpu");
}

static void test_arrays(void **state)
{
    struct world *w = *state;
    static const struct job jobs[] = {
        {.id = 20, .array_job_id = 20, .array_task_id = NO_TASK, .array_pending = "4-9"},
        {.id = 21, .array_job_id = 20, .array_task_id = 1, .state = JOB_RUNNING},
        {.id = 22, .array_job_id = 20, .array_task_id = 3, .state = JOB_COMPLETED},
        {.id = 23, .array_job_id = 0, .array_task_id = NO_TASK},
    };
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++)
        world_put_job(w, &jobs[i]);
    ASK("20 21 22", .ids = "20");
    ASK("21", .ids = "20_1");
    ASK("21", .ids = "21");
    ASK("20", .ids = "20_7"); /* still in the record of the rest */
    ASK("", .ids = "20_2");
    ASK("20 21", .ids = "20_[1-2,9]");
    ASK("20 22 23", .ids = "20_3,23,20_4");
    ASK("20", .ids = "20", .exact = true);
    ASK("20 21", .ids = "20,21", .exact = true);
}

/* Conditions × records, and elements that are named: in numbers of which each product is years. */
static void test_conditions_cost_what_they_are(void **state)
{
    enum { CONDITIONS = 100000, RECORDS = 20000, ARRAYS = 1000 };
    struct str names = STR_INIT, ids = STR_INIT, uids = STR_INIT;
    struct job_filter f;
    size_t found = 0;
    for (int i = 0; i < CONDITIONS; i++) {
        str_addf(&names, ",name%d", i);
        str_addf(&uids, "%s%d", i ? "," : "", 2 * i);
        str_addf(&ids, "%s40_%d", i ? "," : "", 2 * i + 1);
    }
    for (int i = 0; i < ARRAYS; i++)
        str_add(&ids, ",40_[400001-2147483645:2]");
    const struct msg_query q = {.names = str_text(&names),
                                .accounts = str_text(&names),
                                .qos = str_text(&names),
                                .partitions = str_text(&names),
                                .nodes = str_text(&names),
                                .uids = str_text(&uids),
                                .ids = str_text(&ids)};
    alarm(60);
    assert_true(job_filter_init(&f, &(struct msg_query){.names = q.names, .ids = q.ids}, NULL));
    job_filter_done(&f);
    struct msg_query most = q;
    most.nodes = "name[0-60000]";
    assert_true(job_filter_init(&f, &most, NULL));
    for (int i = 0; i < RECORDS; i++) {
        struct job j = {
            .id = 100 + (uint64_t)i,
            .array_job_id = 40,
            .array_task_id = (uint32_t)i,
            .user_id = (uint32_t)i,
            .run_partition = "name99999",
            .nodes = "name59999",
            .spec = {.name = "name99999", .req = {.account = "name99998", .qos = "name99997"}}};
        j.array_task_id += i % 2 == 0; /* even numbers of users alone are asked for */
        found += job_filter_matches(&f, &j, false);
        j.user_id = 0;
        j.array_task_id = 2 * (uint32_t)i;
        found += job_filter_matches(&f, &j, false);
    }
    assert_int_equal(found, RECORDS / 2);
    for (int i = 0; i < ARRAYS; i++) {
        struct job j = {.id = 40,
                        .array_job_id = 40,
                        .array_task_id = NO_TASK,
                        .array_pending = "0-2147483646:2",
                        .run_partition = "name0",
                        .nodes = "name0",
                        .spec = {.name = "name0", .req = {.account = "name0", .qos = "name0"}}};
        assert_false(job_filter_matches(&f, &j, false));
        j.array_pending = "0-2147483646";
        assert_true(job_filter_matches(&f, &j, false));
    }
    job_filter_done(&f);
    alarm(0);
    str_done(&names);
    str_done(&ids);
    str_done(&uids);
}

static void test_components_of_a_heterogeneous_job(void **state)
{
    struct world *w = *state;
    for (uint32_t i = 0; i < 3; i++)
        world_put_job(
            w, &(struct job){
                   .id = 30 + i, .het_job_id = 30, .het_offset = i, .array_task_id = NO_TASK});
    ASK("30 31 32", .ids = "30");
    ASK("31", .ids = "30+1");
    ASK("32", .ids = "32");
    ASK("30", .ids = "30", .exact = true);
}

static void test_former_runs_come_first(void **state)
{
    struct world *w = *state;
    const void *const runs[] = {
        &(struct job){.id = 4,
                      .attempt = 2,
                      .state = JOB_NODE_FAIL,
                      .submit_us = 10,
                      .start_us = 15,
                      .end_us = 20},
        &(struct job){.id = 4,
                      .attempt = 1,
                      .state = JOB_REQUEUED,
                      .submit_us = 5,
                      .start_us = 6,
                      .end_us = 8},
        &(struct job){.id = 7,
                      .attempt = 1,
                      .state = JOB_PREEMPTED,
                      .submit_us = 5,
                      .start_us = 6,
                      .end_us = 8},
        NULL,
    };
    world_put(w, TABLE_JOB_RUN, runs);
    ASK("1 2 3 4 5 6 7", .from_us = 0); /* the newest that matches */
    ASK("4", .ids = "4", .to_us = 9);
    ASK("4", .ids = "4", .states = "NODE_FAIL");
    ASK("4", .ids = "4", .states = "REQUEUED");
    ASK("4", .ids = "4", .states = "NODE_FAIL,REQUEUED");
    ASK("", .ids = "4", .states = "PREEMPTED");
    ASK("1 2 3 4 4 4 5 6 7", .duplicates = true);
    ASK("4 4", .duplicates = true, .ids = "4", .from_us = 12);
    ASK("4", .duplicates = true, .ids = "4", .to_us = 9); /* over, whatever its state says */
    struct rows r = {.world = w, .t = &job_fields};
    assert_true(store_query_jobs(w->store, &(struct msg_query){.duplicates = true, .ids = "4"},
                                 rows_add, &r, NULL));
    assert_int_equal(((const struct job *)r.v.v[0])->attempt, 1);
    assert_int_equal(((const struct job *)r.v.v[1])->attempt, 2);
    assert_int_equal(((const struct job *)r.v.v[2])->state, JOB_RUNNING);
    vec_done(&r.v);
}

static void test_filters_that_make_no_sense(void **state)
{
    struct world *w = *state;
    static const struct {
        struct msg_query q;
        const char *text;
    } bad[] = {
        {{.uids = "1000,alice"}, "uid 'alice' is no number of a user"},
        {{.states = "COMPLETED,ASLEEP"}, "unknown job state 'ASLEEP'"},
        {{.ids = "4,x"}, NULL},
        {{.nodes = "n[1-"}, NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct rows r = {.world = w, .t = &job_fields};
        struct err e = {0};
        assert_false(store_query_jobs(w->store, &bad[i].q, rows_add, &r, &e));
        assert_int_equal(e.code, ERR_INVALID);
        assert_true(e.text[0]);
        if (bad[i].text)
            assert_string_equal(e.text, bad[i].text);
        assert_int_equal(r.v.n, 0);
    }
}

#define DAY(test) cmocka_unit_test_setup_teardown(test, open_day, close_day)

int main(void)
{
    const struct CMUnitTest tests[] = {
        DAY(test_times_alone),
        DAY(test_states_alone_are_those_of_now),
        DAY(test_states_within_times_are_those_of_then),
        DAY(test_other_filters),
        DAY(test_arrays),
        DAY(test_conditions_cost_what_they_are),
        DAY(test_components_of_a_heterogeneous_job),
        DAY(test_former_runs_come_first),
        DAY(test_filters_that_make_no_sense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
