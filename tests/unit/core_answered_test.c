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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
