/* What is said of how the elements of an array ended, while some of them are sent back: as those
 * that are there say, and without a walk through all for each. */
#include "core_help.h"

#include "core/record/record.h"

#define WIDE                                                                                       \
    "ClusterName=test\nOperators=olga\nMinJobAge=999999\nKillWait=30\n"                            \
    "NodeName=n1 CPUs=500 RealMemory=80000\n"                                                      \
    "PartitionName=main Nodes=n1 Default=YES MaxTime=2:00:00 State=UP\n"

#define FORGETS                                                                                    \
    "ClusterName=test\nMinJobAge=300\nKillWait=30\nNodeName=n1 CPUs=500 RealMemory=80000\n"        \
    "PartitionName=main Nodes=n1 Default=YES MaxTime=2:00:00 State=UP\n"

static uint64_t many(size_t n)
{
    struct job_spec s = a_job("many");
    s.array = arena_printf(w.a, "0-%zu", n - 1);
    s.requeue = YES;
    s.req.mem_per_node_mib = 1;
    return submit(s);
}

static struct arrayrec *counts(uint64_t id)
{
    return map_u64_get(w.c->jobs.array, id);
}

static const char *element(uint64_t id, size_t task)
{
    return arena_printf(w.a, "%llu_%zu", (unsigned long long)id, task);
}

static struct jobrec *record(uint64_t id, size_t task)
{
    return map_u64_get(counts(id)->element, task);
}

static void ends(uint64_t id, size_t task, int32_t status)
{
    const struct jobrec *r = record(id, task);
    report(1, (struct msg_report){.kind = REPORT_EXITED,
                                  .job_id = r->j.id,
                                  .attempt = r->j.attempt,
                                  .step_id = STEP_BATCH,
                                  .exit_status = status,
                                  .clean = true});
}

/* Of those that are over. */
static void assert_counted(uint64_t id)
{
    const struct arrayrec *a = counts(id);
    struct map_walk walk = {0};
    uint32_t well = 0, bad = 0;
    int32_t code[2] = {INT32_MAX, INT32_MIN}, status[2] = {INT32_MAX, INT32_MIN};
    while (map_u64_next(a->element, &walk)) {
        const struct job *j = &((const struct jobrec *)walk.value)->j;
        int32_t rank = status_rank(j->exit_status);
        if (!job_state_over((enum job_state)j->state))
            continue;
        status[0] = j->exit_status < status[0] ? j->exit_status : status[0];
        status[1] = j->exit_status > status[1] ? j->exit_status : status[1];
        well += j->state == JOB_COMPLETED;
        if (j->state == JOB_COMPLETED)
            continue;
        bad++;
        code[0] = rank < code[0] ? rank : code[0];
        code[1] = rank > code[1] ? rank : code[1];
    }
    assert_int_equal(a->well, well);
    assert_int_equal(a->bad, bad);
    if (bad) {
        assert_int_equal(a->code.least, code[0]);
        assert_int_equal(a->code.most, code[1]);
    }
    if (well + bad) {
        assert_int_equal(a->exit.least, status[0]);
        assert_int_equal(a->exit.most, status[1]);
    }
}

static void what_is_said_of_ends_is_of_those_that_are_over(void **unused)
{
    static const int32_t statuses[] = {0, 0x100, 0x200, 9, 0x7f00, 15};
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct rng rng = {seed};
        size_t n = 2 + rng_below(&rng, 5), kinds = 1 + rng_below(&rng, ARRAY_LEN(statuses));
        uint64_t id = many(n);
        for (int k = 0; k < 40; k++) {
            size_t task = rng_below(&rng, n);
            int32_t state = record(id, task)->j.state;
            if (state == JOB_RUNNING) {
                ends(id, task, statuses[rng_below(&rng, kinds)]);
            } else {
                struct msg_job_control m = {.ids = element(id, task),
                                            .action = rng_below(&rng, 3) ? ACTION_REQUEUE
                                                                         : ACTION_REQUEUE_HOLD,
                                            .special_exit = rng_below(&rng, 2)};
                say(1, MSG_JOB_CONTROL, &m);
                assert_counted(id);
                control(element(id, task), ACTION_RELEASE);
                pass(130 * SEC);
            }
            assert_counted(id);
        }
        cancel(ids_of(id));
        for (size_t task = 0; task < n; task++) {
            const struct jobrec *r = record(id, task);
            report(1, (struct msg_report){.kind = REPORT_RELEASED,
                                          .job_id = r->j.id,
                                          .attempt = r->j.attempt,
                                          .step_id = STEP_BATCH});
        }
        pass(MIN);
    }
}

/* One ended and left memory, one runs on, one goes back and ends again: as the first and the last
 * end say. */
static void what_left_memory_is_said_when_another_goes_back(void **unused)
{
    static const int32_t statuses[] = {0, 0x100, 0x200, 9};
    for (size_t i = 0; i < 4 * 4 * 4; i++) {
        int32_t gone = statuses[i % 4], was = statuses[i / 4 % 4], is = statuses[i / 16];
        world_open(FORGETS, 1);
        uint64_t id = many(3);
        ends(id, 0, gone);
        pass(20 * MIN);
        assert_null(record(id, 0));
        ends(id, 1, was);
        assert_int_equal(control(element(id, 1), ACTION_REQUEUE), REFUSE_NONE);
        pass(130 * SEC);
        const struct arrayrec *a = counts(id);
        assert_int_equal(a->exit.least, gone);
        assert_int_equal(a->exit.most, gone);
        ends(id, 1, is);
        assert_int_equal(a->exit.least, gone < is ? gone : is);
        assert_int_equal(a->exit.most, gone > is ? gone : is);
        int32_t code = status_rank(gone ? gone : is);
        if (gone || is)
            assert_true(a->code.least <= code && code <= a->code.most);
        if (!gone != !is)
            assert_int_equal(a->code.least, a->code.most);
        world_close();
    }
}

static size_t worked;
static void work_sum(void)
{
    worked += w.c->turn.work;
}

/* All of them go back: with few codes a walk through the array is made few times. */
static void an_array_that_goes_back_is_hardly_walked(void **unused)
{
    for (int32_t kinds = 1; kinds < 4; kinds++) {
        size_t n = 400;
        uint64_t id = many(n);
        for (size_t task = 0; task < n; task++)
            ends(id, task, (1 + (int32_t)task % kinds) << 8);
        assert_int_equal(counts(id)->bad, n);
        worked = 0;
        w.after_step = work_sum;
        assert_int_equal(control(ids_of(id), ACTION_REQUEUE_HOLD), REFUSE_NONE);
        for (int k = 0; k < 100 && counts(id)->bad; k++)
            pass(SEC);
        w.after_step = NULL;
        assert_int_equal(counts(id)->bad, 0);
        assert_int_equal(counts(id)->held, n);
        assert_true(worked < 4 * 8 * n); /* four walks */
        assert_int_equal(cancel(ids_of(id)), REFUSE_NONE);
        pass(MIN);
    }
}

static int wide(void **unused)
{
    world_open(WIDE, 1);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_said_of_ends_is_of_those_that_are_over, wide,
                                        teardown),
        cmocka_unit_test(what_left_memory_is_said_when_another_goes_back),
        cmocka_unit_test_setup_teardown(an_array_that_goes_back_is_hardly_walked, wide, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
