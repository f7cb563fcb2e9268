/* A request that is sent again, because its answer was lost, is not done again. */
#include "core_help.h"

#define NODES                                                                                      \
    "ClusterName=t\nNodeName=n[1-2] CPUs=4 RealMemory=1000\nPartitionName=main Nodes=ALL "         \
    "Default=YES\n"

static void ask_again(uint64_t conn, uint64_t request, enum message_kind kind, const void *body)
{
    struct message m = {.kind = kind, .seq = ++w.seq, .request = request, .body = body};
    effects_reset(&w.fx);
    step((struct event){.kind = EV_MESSAGE, .conn = conn, .peer = &w.peer, .msg = &m});
    settle(0);
}

static const struct msg_submitted *submitted(void)
{
    for (size_t i = 0; i < w.fx.n; i++)
        if (w.fx.v[i].kind == FX_REPLY && w.fx.v[i].msg.kind == MSG_SUBMITTED)
            return w.fx.v[i].msg.body;
    fail_msg("no job id was answered");
    return NULL;
}

static size_t jobs(void)
{
    return count((struct msg_query){.what = QUERY_JOBS, .states = "all"});
}

static void test_a_submission_sent_again_is_the_same_job(void **unused)
{
    (void)unused;
    struct job_spec spec = a_job("one");
    struct msg_submit m = {.specs = {&spec, 1}, .script = {"#!/bin/sh\n", 10}};
    ask_again(1, 77, MSG_SUBMIT, &m);
    uint64_t id = submitted()->job_id;
    ask_again(2, 77, MSG_SUBMIT, &m);
    assert_int_equal(submitted()->job_id, id);
    assert_int_equal(jobs(), 1);
    restart(NODES);
    am_alice();
    ask_again(3, 77, MSG_SUBMIT, &m);
    assert_int_equal(submitted()->job_id, id);
    assert_int_equal(jobs(), 1);
    ask_again(3, 78, MSG_SUBMIT, &m);
    assert_int_not_equal(submitted()->job_id, id);
    am_bob(); /* the number is no secret of anybody's job */
    ask_again(4, 77, MSG_SUBMIT, &m);
    assert_int_not_equal(submitted()->job_id, id);
    assert_int_equal(jobs(), 3);
}

static void test_what_was_refused_is_looked_at_again(void **unused)
{
    (void)unused;
    struct job_spec spec = a_job("one");
    struct msg_submit m = {.specs = {&spec, 1}, .script = {"#!/bin/sh\n", 10}};
    spec.req.partition = "elsewhere";
    ask_again(1, 5, MSG_SUBMIT, &m);
    assert_int_not_equal(refusal(), REFUSE_NONE);
    spec.req.partition = NULL;
    ask_again(1, 5, MSG_SUBMIT, &m);
    assert_int_not_equal(submitted()->job_id, 0);
}

static void test_a_limit_is_added_to_once(void **unused)
{
    (void)unused;
    uint64_t id = submit(a_job("one"));
    struct msg_update_job m = {.ids = ids_of(id), .time_limit_add_us = -MIN};
    ask_again(1, 9, MSG_UPDATE_JOB, &m);
    assert_int_equal(refusal(), REFUSE_NONE);
    ask_again(1, 9, MSG_UPDATE_JOB, &m);
    assert_int_equal(refusal(), REFUSE_NONE);
    restart(NODES);
    am_alice();
    ask_again(1, 9, MSG_UPDATE_JOB, &m);
    assert_int_equal(job(id)->spec.req.time_limit_us, 9 * MIN);
}

static void test_an_allocation_asked_for_again_is_heard_of_by_who_asked_last(void **unused)
{
    (void)unused;
    struct job_spec spec = a_job("alloc");
    spec.batch = false;
    spec.attached = true;
    struct msg_submit m = {.specs = {&spec, 1}, .attach = true};
    ask_again(1, 11, MSG_SUBMIT, &m);
    uint64_t id = submitted()->job_id;
    step((struct event){.kind = EV_CLOSED, .conn = 1});
    ask_again(2, 11, MSG_SUBMIT, &m);
    assert_int_equal(submitted()->job_id, id);
    assert_int_equal(sent(FX_REPLY, MSG_ALLOCATED), 1);
    pass(10 * MIN - SEC);
    assert_int_equal(state(id), JOB_RUNNING);
}

static void test_answers_are_kept_for_minutes(void **unused)
{
    (void)unused;
    struct job_spec spec = a_job("one");
    struct msg_submit m = {.specs = {&spec, 1}, .script = {"#!/bin/sh\n", 10}};
    for (uint64_t i = 1; i <= 20; i++) {
        ask_again(1, i, MSG_SUBMIT, &m);
        pass(MIN);
    }
    size_t kept = 0;
    for (size_t i = 0; i < w.store.n; i++)
        kept += w.store.v[i].table == TABLE_ANSWERED;
    assert_in_range(kept, 4, 6);
}

/* ---- how much is kept ---- */

#define HELD_AT_MOST (32u << 20) /* as the bound is counted: ROW_BYTES of each, and its texts */
#define ROW_BYTES    256u

static const struct answered *kept_of(uint64_t request)
{
    for (size_t i = 0; i < w.store.n; i++) {
        const struct answered *row = w.store.v[i].record;
        if (w.store.v[i].table == TABLE_ANSWERED && row->id == request)
            return row;
    }
    return NULL;
}

static size_t bytes_kept(uint32_t uid)
{
    size_t bytes = 0;
    for (size_t i = 0; i < w.store.n; i++) {
        const struct answered *row = w.store.v[i].record;
        if (w.store.v[i].table == TABLE_ANSWERED && row->user_id == uid)
            bytes += ROW_BYTES + (row->warning ? strlen(row->warning) : 0);
    }
    return bytes;
}

/* A job that is there, and so many of which each gives a sentence. */
static void hold_with(uint64_t request, uint64_t id, size_t others)
{
    struct str ids = STR_INIT;
    str_add_u64(&ids, id);
    for (size_t i = 0; i < others; i++)
        str_addf(&ids, ",%c", 'a' + (char)(i % 26));
    struct msg_job_control m = {.ids = str_text(&ids), .action = ACTION_HOLD};
    ask_again(1, request, MSG_JOB_CONTROL, &m);
    assert_non_null(answer());
    assert_int_equal(answer()->count, 1);
    str_done(&ids);
}

static uint64_t held_job(void)
{
    struct job_spec spec = a_job("held");
    spec.hold = true;
    return submit(spec);
}

/* A short list is said whole, of a long one as much as one reads; the first time all is told. */
static void test_what_is_kept_of_an_answer_has_a_bound(void **unused)
{
    (void)unused;
    uint64_t id = held_job();
    hold_with(1, id, 2);
    assert_non_null(strstr(kept_of(1)->warning, "; b: \"b\" names no job"));
    assert_null(strstr(kept_of(1)->warning, "more"));
    hold_with(2, id, 2000);
    assert_int_equal(answer()->results.n, 2000);
    assert_true(strlen(kept_of(2)->warning) < 4096);
    assert_non_null(strstr(kept_of(2)->warning, "…; and 19"));
    hold_with(2, id, 2000);
    assert_int_equal(answer()->results.n, 0);
    assert_string_equal(answer()->warning, kept_of(2)->warning);
}

/* What an older release kept is cut when it is read. */
static void test_a_long_answer_of_the_store_is_cut_where_a_letter_ends(void **unused)
{
    (void)unused;
    struct str text = STR_INIT;
    str_addc(&text, 'x');
    for (int i = 0; i < 100000; i++)
        str_add(&text, "ä");
    struct answered row = {
        .at_us = w.now, .id = 5, .user_id = ALICE, .count = 1, .warning = str_text(&text)};
    keep(&(struct effect){.kind = FX_STORE, .table = TABLE_ANSWERED, .record = &row});
    restart(NODES);
    am_alice();
    struct msg_job_control m = {.ids = "1", .action = ACTION_HOLD};
    ask_again(1, 5, MSG_JOB_CONTROL, &m);
    assert_int_equal(answer()->count, 1);
    assert_int_equal(strlen(answer()->warning), 4095 + strlen("…"));
    str_done(&text);
}

/* Over a restart, too; and as much as he asks for, there is room for others. */
static void test_one_user_pushes_out_his_own(void **unused)
{
    (void)unused;
    am_bob();
    uint64_t of_bob = held_job();
    hold_with(1, of_bob, 0);
    am_alice();
    uint64_t id = held_job(), request = 2;
    w.fills = true;
    for (; request < 2500; request++)
        hold_with(request, id, 60);
    restart(NODES);
    am_alice();
    for (; request < 6000; request++)
        hold_with(request, id, 60);
    w.fills = false;
    assert_in_range(bytes_kept(ALICE), HELD_AT_MOST / 2 - 8192, HELD_AT_MOST / 2);
    assert_null(kept_of(2));
    assert_non_null(kept_of(request - 4000));
    assert_non_null(kept_of(1));
    am_bob();
    for (; request < 9000; request++)
        hold_with(request, of_bob, 60);
    assert_non_null(kept_of(5999));
    assert_in_range(bytes_kept(BOB), HELD_AT_MOST / 4 - 8192, HELD_AT_MOST / 4);
}

static void answers_keep(uint32_t uid, uint64_t from, size_t n)
{
    struct str text = STR_INIT;
    for (size_t i = 0; i < 4000; i++)
        str_addc(&text, 'x');
    for (uint64_t i = 0; i < n; i++) {
        struct answered row = {.at_us = w.now + (int64_t)(from + i),
                               .id = from + i,
                               .user_id = uid,
                               .count = 1,
                               .warning = str_text(&text)};
        keep(&(struct effect){.kind = FX_STORE, .table = TABLE_ANSWERED, .record = &row});
    }
    str_done(&text);
}

/* Each who has all he may leaves the half of what was left: the twentieth would keep one answer. */
static void test_many_who_keep_much_leave_something_for_others(void **unused)
{
    enum { USERS = 20, EACH = 500, OWN = 60 };
    (void)unused;
    for (uint32_t n = 0; n < USERS; n++)
        answers_keep(2000 + n, 1 + n * EACH, EACH);
    restart(NODES);
    am_bob();
    uint64_t id = held_job(), request = 1 + USERS * EACH;
    for (int i = 0; i < OWN; i++)
        hold_with(request + (uint64_t)i, id, 60);
    for (int i = 0; i < OWN; i++)
        assert_non_null(kept_of(request + (uint64_t)i));
    size_t all = bytes_kept(BOB);
    for (uint32_t n = 0; n < USERS; n++) { /* all of them gave, as much as each other */
        assert_in_range(bytes_kept(2000 + n), HELD_AT_MOST / USERS - 32768, HELD_AT_MOST / USERS);
        all += bytes_kept(2000 + n);
    }
    assert_in_range(all, HELD_AT_MOST - 16384, HELD_AT_MOST);
}

/* Those of who kept most go, at the start: nobody else's are pushed out by them then. */
static void test_what_an_older_release_kept_has_a_bound(void **unused)
{
    enum { MANY = 16384, FEW = 20 };
    (void)unused;
    am_bob();
    uint64_t id = held_job();
    answers_keep(BOB, 1, FEW);
    answers_keep(ALICE, 100, MANY);
    restart(NODES);
    assert_in_range(bytes_kept(ALICE) + bytes_kept(BOB), HELD_AT_MOST - 8192, HELD_AT_MOST);
    am_bob();
    for (uint64_t i = 0; i < FEW; i++)
        hold_with(50000 + i, id, 0);
    for (uint64_t i = 0; i < FEW; i++)
        assert_true(kept_of(1 + i) && kept_of(50000 + i));
    assert_null(kept_of(100));
    assert_non_null(kept_of(100 + MANY - 1));
}

/* One who has user namespaces is as many of them as he likes. */
static void test_users_without_a_name_push_out_each_others(void **unused)
{
    (void)unused;
    am_alice();
    hold_with(1, held_job(), 0);
    w.fills = true;
    for (uint32_t n = 0; n < 10; n++) {
        am(70000 + n, NULL, false);
        uint64_t id = held_job();
        for (uint64_t i = 0; i < 1000; i++)
            hold_with(2 + n * 1000 + i, id, 60);
        if (n == 5)
            restart(NODES);
    }
    w.fills = false;
    size_t bytes = 0;
    for (uint32_t n = 0; n < 10; n++)
        bytes += bytes_kept(70000 + n);
    assert_in_range(bytes, HELD_AT_MOST / 2 - 8192, HELD_AT_MOST / 2);
    assert_non_null(kept_of(1));
}

/* Nobody asks for anything any more. */
static void test_old_answers_go_by_themselves(void **unused)
{
    (void)unused;
    uint64_t id = held_job();
    w.fills = true;
    for (uint64_t request = 1; request <= 3000; request++)
        hold_with(request, id, 0);
    w.fills = false;
    pass_awake(5 * MIN - SEC);
    assert_non_null(kept_of(1));
    pass_awake(2 * MIN);
    assert_int_equal(bytes_kept(ALICE), 0);
}

static int open_world(void **unused)
{
    (void)unused;
    world_open(NODES, 2);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_submission_sent_again_is_the_same_job, open_world,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_what_was_refused_is_looked_at_again, open_world,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_limit_is_added_to_once, open_world, teardown),
        cmocka_unit_test_setup_teardown(
            test_an_allocation_asked_for_again_is_heard_of_by_who_asked_last, open_world, teardown),
        cmocka_unit_test_setup_teardown(test_answers_are_kept_for_minutes, open_world, teardown),
        cmocka_unit_test_setup_teardown(test_what_is_kept_of_an_answer_has_a_bound, open_world,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_long_answer_of_the_store_is_cut_where_a_letter_ends,
                                        open_world, teardown),
        cmocka_unit_test_setup_teardown(test_one_user_pushes_out_his_own, open_world, teardown),
        cmocka_unit_test_setup_teardown(test_many_who_keep_much_leave_something_for_others,
                                        open_world, teardown),
        cmocka_unit_test_setup_teardown(test_what_an_older_release_kept_has_a_bound, open_world,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_users_without_a_name_push_out_each_others, open_world,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_old_answers_go_by_themselves, open_world, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
