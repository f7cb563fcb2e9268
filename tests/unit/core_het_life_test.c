/* Components whose lives part: one is over, ending or cancelled while others run, wait or go back.
 * They are one job: found whole, run together, and none is left waiting for one that does not come. */
#include "core_step_help.h"

static void released(uint64_t id)
{
    uint32_t attempt = job(id)->attempt;
    for (int n = 1; n <= 4; n++)
        report(n, (struct msg_report){.kind = REPORT_RELEASED,
                                      .job_id = id,
                                      .attempt = attempt,
                                      .step_id = STEP_BATCH});
}

static uint64_t components(size_t n)
{
    struct job_spec s[3] = {a_job("one"), a_job("two"), a_job("three")};
    for (size_t i = 0; i < n; i++) {
        s[i].requeue = YES;
        s[i].req.time_limit_us = 100 * MIN;
    }
    am_alice();
    uint64_t id = submit_all(s, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(state(id + i), JOB_RUNNING);
    /* A step in each, so that there is something on its nodes to clear. */
    for (size_t i = 0; i < n; i++) {
        int at = job(id + i)->batch_host[1] - '0';
        if (!i)
            report(at, (struct msg_report){.kind = REPORT_STARTED,
                                           .job_id = id,
                                           .attempt = job(id)->attempt,
                                           .step_id = STEP_BATCH});
        assert_non_null(srun_tasks(SRUN + i, id + i, 1));
        node_says(at, id + i, 0, REPORT_STARTED, 0);
    }
    return id;
}

/* It stays as long as others do, through a restart, too; so that the last is found with them. */
static void one_that_is_over_is_there_while_others_are(void **unused)
{
    (void)unused;
    for (int again = 0; again < 2; again++) {
        uint64_t id = components(3);
        assert_int_equal(cancel(ids_of(id + 1)), REFUSE_NONE);
        released(id + 1);
        assert_int_equal(state(id + 1), JOB_CANCELLED);
        for (int m = 0; m < 20; m++)
            pass(MIN);
        if (again) {
            restart(CONF);
            for (int n = 1; n <= 4; n++) {
                struct held held[] = {
                    {.job_id = id, .attempt = 1, .step_id = STEP_BATCH},
                };
                hello_holding(n, held, text_is(job(id)->batch_host, arena_printf(w.a, "n%d", n)));
            }
            am_alice();
        }
        assert_non_null(job(id + 1));
        script_ends(id, 0);
        released(id);
        assert_int_not_equal(state(id + 2), JOB_RUNNING);
        released(id + 2);
        assert_true(job_state_over((enum job_state)state(id + 2)));
        for (int m = 0; m < 20; m++)
            pass(MIN);
        for (uint64_t k = 0; k < 3; k++) {
            struct rows r = ask((struct msg_query){.what = QUERY_JOBS, .ids = ids_of(id + k)});
            assert_int_equal(r.row.n, 0);
            vec_done(&r.row);
        }
    }
}

/* The nodes of one are still cleared when the others wait again. */
static void one_that_is_ending_goes_back_with_the_others(void **unused)
{
    (void)unused;
    for (int first = 0; first < 2; first++) {
        uint64_t id = components(2);
        assert_int_equal(cancel(ids_of(id + 1)), REFUSE_NONE);
        assert_int_equal(state(id + 1), JOB_COMPLETING);
        assert_int_equal(control(ids_of(id), ACTION_REQUEUE), REFUSE_NONE);
        released(first ? id + 1 : id);
        released(first ? id : id + 1);
        pass(MIN);
        for (uint64_t k = 0; k < 2; k++)
            assert_int_equal(state(id + k), JOB_RUNNING);
        assert_int_equal(job(id)->attempt, 2);
        assert_int_equal(job(id + 1)->attempt, 2);
        assert_int_equal(cancel(ids_of(id)), REFUSE_NONE);
        released(id);
        released(id + 1);
        pass(MIN);
    }
}

/* While they go back they are one, as while they wait. */
static void what_goes_back_is_cancelled_whole(void **unused)
{
    (void)unused;
    for (int order = 0; order < 2; order++) {
        uint64_t id = components(2);
        assert_int_equal(control(ids_of(id), ACTION_REQUEUE), REFUSE_NONE);
        assert_int_equal(state(id), JOB_REQUEUED);
        assert_int_equal(state(id + 1), JOB_REQUEUED);
        assert_int_equal(cancel(ids_of(id + 1)), REFUSE_NOT_WHOLE_HET);
        if (order)
            released(id + 1);
        assert_int_equal(cancel(ids_of(id)), REFUSE_NONE);
        released(id);
        released(id + 1);
        pass(MIN);
        assert_int_equal(state(id), JOB_CANCELLED);
        assert_int_equal(state(id + 1), JOB_CANCELLED);
    }
}

static bool is_there(uint64_t id)
{
    struct rows r = ask((struct msg_query){.what = QUERY_JOBS, .ids = ids_of(id)});
    bool there = false;
    for (size_t i = 0; i < r.row.n; i++)
        there |= ((const struct job *)r.row.v[i])->id == id;
    vec_done(&r.row);
    return there;
}

static void all_fail(uint64_t id)
{
    script_ends(id, 0x100);
    for (uint64_t k = 0; k < 3; k++)
        released(id + k);
    for (uint64_t k = 0; k < 3; k++)
        assert_true(job_state_over((enum job_state)state(id + k)));
}

/* A job waits for one of them: all stay, whatever makes room, and go back together; when it is gone
 * they go together. */
static void while_one_is_waited_for_all_are_there(void **unused)
{
    (void)unused;
    for (uint64_t of = 0; of < 3; of++)
        for (int room = 0; room < 2; room++) {
            configure(room ? CONF "MaxJobCount=6\n" : CONF);
            uint64_t id = components(3);
            struct job_spec s = a_job("waits"), many = a_job("many");
            s.dependency = arena_printf(w.a, "afterok:%llu", (unsigned long long)(id + of));
            uint64_t waits = submit(s);
            if (of == 0)
                all_fail(id);
            else { /* each by itself */
                for (uint64_t k = 1; k < 3; k++) {
                    assert_int_equal(cancel(ids_of(id + k)), REFUSE_NONE);
                    released(id + k);
                }
                all_fail(id);
            }
            assert_int_equal(job(waits)->reason, REASON_DEPENDENCY_NEVER);
            pass(MIN);
            many.array = "0-1";
            if (room)
                assert_int_not_equal(submit(many), 0);
            for (int m = 0; !room && m < 20; m++)
                pass(MIN);
            for (uint64_t k = 0; k < 3; k++)
                assert_true(is_there(id + k));
            assert_int_equal(control(ids_of(id), ACTION_REQUEUE), REFUSE_NONE);
            pass(MIN);
            for (uint64_t k = 0; k < 3; k++)
                assert_int_equal(state(id + k), JOB_RUNNING);
            assert_int_equal(cancel(ids_of(waits)), REFUSE_NONE);
            all_fail(id);
            for (int m = 0; m < 20; m++)
                pass(MIN);
            for (uint64_t k = 0; k < 3; k++)
                assert_false(is_there(id + k));
            for (uint64_t more = id + 3; more < id + 10; more++)
                cancel(ids_of(more));
            for (uint64_t more = id + 3; more < id + 10; more++)
                if (is_there(more))
                    released(more);
        }
}

/* To make room, as by age. */
static void no_component_makes_room_alone(void **unused)
{
    (void)unused;
    configure(CONF "MaxJobCount=5\n");
    uint64_t id = components(3);
    assert_int_equal(cancel(ids_of(id + 1)), REFUSE_NONE);
    released(id + 1);
    all_fail(id);
    pass(MIN);
    struct job_spec many = a_job("many");
    many.array = "0-2";
    assert_int_not_equal(submit(many), 0);
    pass(MIN);
    size_t there = 0;
    for (uint64_t k = 0; k < 3; k++)
        there += is_there(id + k);
    assert_true(there == 0 || there == 3);
}

/* One ended long before the others, and the controller, started again, reads what ended lately. */
static void components_go_back_together_or_not_at_all(void **unused)
{
    (void)unused;
    for (uint64_t early = 0; early < 4; early++) { /* 3: none */
        uint64_t id = components(3);
        all_fail(id);
        for (size_t i = w.store.n; i-- > 0;)
            if (w.store.v[i].table == TABLE_JOB &&
                ((const struct job *)w.store.v[i].record)->id == id + early)
                vec_remove(&w.store, i);
        restart(CONF);
        for (int n = 1; n <= 4; n++)
            hello(n);
        am_alice();
        enum refusal refused = control(ids_of(id), ACTION_REQUEUE);
        assert_int_equal(refused == REFUSE_NONE, early == 3);
        pass(MIN);
        for (uint64_t k = 0; k < 3; k++)
            if (k != early)
                assert_int_equal(state(id + k) == JOB_RUNNING, early == 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(one_that_is_over_is_there_while_others_are),
        STORY(one_that_is_ending_goes_back_with_the_others),
        STORY(what_goes_back_is_cancelled_whole),
        STORY(while_one_is_waited_for_all_are_there),
        STORY(no_component_makes_room_alone),
        STORY(components_go_back_together_or_not_at_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
