/* A store that is older than what was said last: nothing of it runs by itself, and no number is
 * given twice. */
#include "core_restored_help.h"

#include "model/limits.h"

#include <string.h>
#include <time.h>

static void test_what_waited_is_held_until_it_is_released(void **unused)
{
    (void)unused;
    struct job_spec array = a_job("array");
    struct job_spec later = a_job("one");
    later.begin_us = w.now + 60 * MIN;
    array.begin_us = w.now + 60 * MIN;
    array.array = "0-3";
    uint64_t one = submit(later), many = submit(array);
    restart_older(40);
    hello(1);
    hello(2);
    pass(61 * MIN);
    assert_int_equal(state(one), JOB_PENDING);
    assert_true(job(one)->spec.hold && job(many)->spec.hold);
    assert_non_null(strstr(job(one)->system_comment, "scontrol release"));
    control(ids_of(one), ACTION_RELEASE);
    control(ids_of(many), ACTION_RELEASE);
    assert_int_equal(state(one), JOB_RUNNING);
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS, .states = "RUNNING"}), 5);
    assert_in_range(submit(a_job("new")), 40, 60);
}

static void test_what_runs_goes_on_where_its_node_has_it(void **unused)
{
    (void)unused;
    uint64_t id = submit(a_wide_job("wide")), other = submit(a_wide_job("other"));
    restart_older(0);
    held_by(1, id, 1);
    hello(2); /* it has nothing: the other has ended since, or never began */
    assert_int_equal(state(id), JOB_RUNNING);
    assert_int_not_equal(state(other), JOB_RUNNING);
    assert_int_equal(sent(FX_SEND, MSG_LAUNCH), 0);
    pass(MIN);
    assert_int_equal(state(other), JOB_PENDING);
    assert_true(job(other)->spec.hold);
    script_ends(id, 0);
    assert_int_equal(state(id), JOB_COMPLETED);
}

/* Nothing of the second component is on its node: its steps would be. It goes by the script in the
 * first. */
static void test_components_go_by_their_script(void **unused)
{
    (void)unused;
    struct job_spec two[] = {a_wide_job("a"), a_wide_job("b")};
    uint64_t id = submit_all(two, 2);
    assert_int_equal(state(id + 1), JOB_RUNNING);
    restart_older(0);
    held_by(1, id, 1);
    hello(2);
    assert_int_equal(state(id), JOB_RUNNING);
    control(ids_of(id), ACTION_REQUEUE);
    script_ends(id, 0);
    pass(3 * MIN);
    assert_false(job(id)->spec.hold || job(id + 1)->spec.hold);
    assert_int_equal(job(id)->attempt, 2);
}

static void test_numbers_that_nodes_know_are_not_given_again(void **unused)
{
    (void)unused;
    restart(NODES);
    held_by(1, 57, 1);
    assert_int_equal(terminated(57), 1);
    assert_int_equal(submit(a_job("new")), 58);
}

/* A wrong word of one node, and no job could be submitted ever after. */
static void test_numbers_that_nobody_gave_are_not_believed(void **unused)
{
    (void)unused;
    struct job_spec spec = a_job("late");
    spec.begin_us = w.now + 10 * MIN;
    uint64_t id = submit(spec);
    static const uint64_t numbers[] = {UINT64_MAX, UINT64_MAX - 1, INT64_MAX, 1000000000};
    restart(NODES);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        held_by(1, numbers[i], 1);
        assert_int_equal(terminated(numbers[i]), 1);
    }
    held_by(2, id, UINT32_MAX); /* its first hello: what it says of an older life may be so */
    assert_int_equal(terminated(id), 1);
    assert_false(job(id)->spec.hold);
    assert_int_equal(job(id)->attempt, 0);
    assert_int_equal(submit(a_job("new")), id + 1);
}

/* It may have been used up or withdrawn since. */
static void test_no_token_of_it_lets_anybody_in(void **unused)
{
    (void)unused;
    am_root();
    for (int i = 0; i < 3; i++) {
        struct token t = {.id = (const char *[]){"t1", "t2", "t3"}[i], .secret_hash = "hash"};
        struct msg_make_token m = {.token = {&t, 1}, .text = "t"};
        say(1, MSG_MAKE_TOKEN, &m);
    }
    assert_int_equal(count((struct msg_query){.what = QUERY_TOKENS}), 3);
    restart(NODES);
    am_root();
    assert_int_equal(count((struct msg_query){.what = QUERY_TOKENS}), 3);
    restart_older(0);
    assert_int_equal(count((struct msg_query){.what = QUERY_TOKENS}), 0);
    restart(NODES);
    am_root();
    assert_int_equal(count((struct msg_query){.what = QUERY_TOKENS}), 0);
}

static void meta_put(const char *key, const char *value)
{
    for (size_t i = 0; i < w.store.n; i++) {
        struct meta *m = w.store.v[i].record;
        if (w.store.v[i].table == TABLE_META && text_is(m->key, key))
            m->value = value;
    }
}

static const char *left_out(const char *name)
{
    for (size_t i = 0; i < w.store.n; i++)
        if (w.store.v[i].table == TABLE_LEFT_OUT &&
            text_is(((struct left_out *)w.store.v[i].record)->name, name))
            return ((struct left_out *)w.store.v[i].record)->why;
    return NULL;
}

/* What the store says of itself, by hand or by damage: ids go on behind what rows and the shell
 * know, and it is told. */
static void test_numbers_of_the_store_that_cannot_be(void **unused)
{
    static const struct {
        const char *value;
        uint64_t given; /* by the shell; 0 = it knows nothing */
        uint64_t next;  /* 0 = as the rows have it */
        const char *why;
    } cases[] = {
        {"18446744073709551615", 0, 0, "may be 1 to 4611686018427387903"},
        {"9223372036854775807", 2, 0, "may be 1 to 4611686018427387903"},
        {"4611686018427387903", 2, 0, "ids are at 2"},
        {"1000000000", 2, 0, "ids are at 2"},
        {"1000000000", 3, 3, "ids are at 3"},
        {"0", 2, 0, "may be 1"},
        {"x", 0, 0, "it is x"},
        {"700", 2, 700, NULL},
        {"1", 5, 5, NULL}, /* an older store */
        {"100000001", 2, 100000001, NULL},
        {"100000002", 2, 0, "ids are at 2"},
        {"1000000000", 0, 1000000000, NULL},
        {"1000000000", 999999999, 1000000000, NULL},
    };
    (void)unused;
    uint64_t id = submit(a_job("one"));
    assert_int_equal(id, 1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        meta_put("next_job_id", cases[i].value);
        core_free(w.c);
        effects_reset(&w.fx);
        w.c = core_new(1, "ctl");
        configure(NODES);
        for (int t = 0; t < STORE_TABLE_COUNT; t++)
            if (t != TABLE_LEFT_OUT)
                load((enum store_table)t);
        if (cases[i].given)
            core_ids_from(w.c, cases[i].given);
        core_loaded(w.c, w.now, &w.fx);
        core_check(w.c);
        settle(0);
        const char *why = left_out("meta next_job_id");
        assert_true(!why == !cases[i].why);
        if (why && !strstr(why, cases[i].why))
            fail_msg("%zu: %s", i, why);
        uint64_t next = submit(a_job("next"));
        assert_int_equal(next, cases[i].next ? cases[i].next : 2);
        world_close(); /* anew: one job, and nothing left out */
        world_open(NODES, 2);
        submit(a_job("one"));
    }
}

/* A difference of clocks that cannot be would move all that runs by as much. */
static void test_other_numbers_of_the_store(void **unused)
{
    static const struct {
        const char *key, *value;
    } rows[] = {{"clock", "boot -9223372036854775808"},
                {"clock", "boot 1795885729194939000"},
                {"usage_at", "9223372036854775807"},
                {"last_trigger", "4294967295"},
                {"seq", "18446744073709551615"}};
    (void)unused;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct err err = {0};
        struct meta m = {.key = rows[i].key, .value = rows[i].value};
        assert_false(core_row_sound(TABLE_META, &m, &err));
        assert_non_null(strstr(err.text, "may be"));
        m.value = text_is(m.key, "clock") ? "boot 1795885729194939" : "12";
        assert_true(core_row_sound(TABLE_META, &m, &err));
    }
    assert_false(core_row_sound(TABLE_JOB, &(struct job){.id = UINT64_MAX}, NULL));
}

static void test_a_start_that_the_store_does_not_know(void **unused)
{
    (void)unused;
    struct job_spec spec = a_job("late");
    spec.begin_us = w.now + 10 * MIN;
    uint64_t id = submit(spec);
    restart(NODES); /* nothing says that the store is older, but a node does */
    held_by(1, id, 3);
    assert_int_equal(terminated(id), 1);
    hello(2);
    pass(11 * MIN);
    assert_int_equal(state(id), JOB_PENDING);
    assert_true(job(id)->spec.hold);
    report(1, (struct msg_report){.kind = REPORT_RELEASED, .job_id = id, .attempt = 3, .seq = 1});
    am_root();
    control(ids_of(id), ACTION_RELEASE);
    assert_int_equal(state(id), JOB_RUNNING);
    assert_true(job(id)->attempt > 4);
}

static void test_jobs_of_reservations_are_held_too(void **unused)
{
    (void)unused;
    am_root();
    struct reservation r = {
        .users = "alice", .node_count = 1, .start_us = w.now + MIN, .duration_us = 60 * MIN};
    say(1, MSG_UPDATE_RESERVATION,
        &(struct msg_update_reservation){.name = "r1",
                                         .create = true,
                                         .fields = "users,node_count,start_us,duration_us",
                                         .values = {&r, 1}});
    am_alice();
    struct job_spec spec = a_job("in it");
    spec.req.reservation = "r1";
    uint64_t id = submit(spec);
    assert_int_not_equal(id, 0);
    restart_older(0);
    hello(1);
    hello(2);
    pass(2 * MIN);
    assert_int_equal(state(id), JOB_PENDING);
    am_alice();
    control(ids_of(id), ACTION_RELEASE);
    assert_int_equal(state(id), JOB_RUNNING);
}

static int open_world(void **unused)
{
    (void)unused;
    world_open(NODES, 2);
    return 0;
}

/* As a node that lies would have it: none of what waits is held, or waits for what that node says
 * it has, and numbers go on where they were, however often it says so. */
static void test_nothing_of_an_older_life_is_believed_twice(void **unused)
{
    (void)unused;
    struct job_spec spec = a_job("late");
    spec.begin_us = w.now + 10 * MIN;
    uint64_t id = submit(spec);
    restart(NODES);
    hello(1);
    hello(2);
    for (uint64_t far = 1000; far < 100000000; far *= 10)
        held_by(1, far, 1);
    for (uint32_t attempt = 1; attempt < 30000; attempt *= 3) {
        held_by(1, id, attempt);
        assert_int_equal(terminated(id), 1);
    }
    held_by(1, id, UINT32_MAX);
    assert_false(job(id)->spec.hold);
    assert_int_equal(job(id)->attempt, 0);
    assert_int_equal(submit(a_job("new")), id + 1);
    held_by(1, id, 20000); /* and says nothing more of it */
    pass(11 * MIN);
    assert_int_equal(state(id), JOB_RUNNING);
}

/* One word of a node moves the numbers once, however many it names. */
static void test_one_hello_moves_numbers_once(void **unused)
{
    (void)unused;
    struct held held[100];
    restart(NODES);
    for (size_t i = 0; i < 100; i++)
        held[i] = (struct held){.job_id = 99999999 * (i + 1), .attempt = 1, .step_id = STEP_BATCH};
    hello_holding(1, held, 100);
    assert_int_equal(submit(a_job("new")), 100000000);
}

static void test_what_is_held_is_found_in_any_order(void **unused)
{
    (void)unused;
    uint64_t id = submit(a_wide_job("a"));
    for (uint64_t i = 0; i < 3; i++) {
        struct held held[3] = {{.job_id = 900, .attempt = 1, .step_id = STEP_BATCH},
                               {.job_id = 800, .attempt = 1, .step_id = STEP_BATCH},
                               {.job_id = 700, .attempt = 1, .step_id = STEP_BATCH}};
        held[i].job_id = id;
        hello_holding(1, held, 3);
        assert_int_equal(state(id), JOB_RUNNING);
        assert_int_equal(sent(FX_SEND, MSG_LAUNCH), 0);
        assert_int_equal(sent(FX_SEND, MSG_TERMINATE), 2);
    }
}

/* As many as a message may have, twenty times: a second of the processor is far more than that
 * takes, and far less than to compare each with each. */
static size_t said_that_there_are_more(void)
{
    size_t n = 0;
    for (size_t i = 0; i < w.fx.n; i++)
        n += w.fx.v[i].kind == FX_LOG && strstr(w.fx.v[i].text, "more like these");
    return n;
}

static void test_much_that_a_node_never_had_costs_little(void **unused)
{
    (void)unused;
    uint64_t id = submit(a_job("a"));
    struct held *held = arena_alloc(w.a, LIMIT_LIST_RECORDS * sizeof *held);
    clock_t began = clock();
    size_t lines = 0;
    for (int round = 0; round < 20; round++) {
        for (uint32_t i = 0; i < LIMIT_LIST_RECORDS; i++)
            held[i] = (struct held){.job_id = round % 2 ? id : 1 + i * 7919 % LIMIT_LIST_RECORDS,
                                    .attempt = round % 2 ? i : 1,
                                    .step_id = STEP_BATCH};
        hello_holding(2, held, LIMIT_LIST_RECORDS);
        assert_true(sent(FX_LOG, MESSAGE_COUNT) < 30);
        lines += sent(FX_LOG, MESSAGE_COUNT);
        if (round < 6) /* then the node has said more than is logged of one (node_log) */
            assert_int_equal(said_that_there_are_more(), round % 2 == 0);
    }
    assert_in_range(lines, 51, 64);
    assert_in_range(clock() - began, 0, 20 * CLOCKS_PER_SEC);
    assert_int_equal(state(id), JOB_RUNNING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_waited_is_held_until_it_is_released, open_world,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_what_runs_goes_on_where_its_node_has_it, open_world,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_components_go_by_their_script, open_world, teardown),
        cmocka_unit_test_setup_teardown(test_numbers_that_nodes_know_are_not_given_again,
                                        open_world, teardown),
        cmocka_unit_test_setup_teardown(test_numbers_that_nobody_gave_are_not_believed, open_world,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_no_token_of_it_lets_anybody_in, open_world, teardown),
        cmocka_unit_test_setup_teardown(test_numbers_of_the_store_that_cannot_be, open_world,
                                        teardown),
        cmocka_unit_test(test_other_numbers_of_the_store),
        cmocka_unit_test_setup_teardown(test_nothing_of_an_older_life_is_believed_twice, open_world,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_one_hello_moves_numbers_once, open_world, teardown),
        cmocka_unit_test_setup_teardown(test_what_is_held_is_found_in_any_order, open_world,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_much_that_a_node_never_had_costs_little, open_world,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_start_that_the_store_does_not_know, open_world,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_jobs_of_reservations_are_held_too, open_world,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
