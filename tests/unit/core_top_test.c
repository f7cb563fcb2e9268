/* `scontrol top`: before one's other jobs of the same queue, and nobody else is moved for it. */
#include "core_help.h"

#include <stdio.h>

#define HOUR USEC_PER_HOUR

static const char ageing[] = "ClusterName=test\nOperators=olga\nKillWait=30\n"
                             "NodeName=n[1-4] CPUs=8 RealMemory=8000\n"
                             "PartitionName=main Nodes=n[1-4] Default=YES State=UP\n"
                             "PartitionName=other Nodes=n[1-4] State=UP\n";
/* Orders of the queue, each a row of the same configuration. */
static const char *const orders[] = {
    "",
    "SchedulerParameters=order=arrival\n",
    "SchedulerParameters=order=sjf\n",
    "SchedulerParameters=order=saf\n",
    "SchedulerParameters=order=wfp\n",
    "PriorityType=priority/multifactor\nPriorityWeightAge=1000\n",
    "PriorityType=priority/basic\n",
};
#define SHORTEST    2 /* what other runs teach of a limit has no say */
#define MULTIFACTOR 5

static const char *arena_conf(const char *order)
{
    static char text[512];
    snprintf(text, sizeof text, "%s%s", order, ageing);
    return text;
}

static int open_it(void **unused)
{
    world_open(ageing, 4);
    return 0;
}

static uint64_t wide(int64_t limit_us)
{
    struct job_spec s = a_job("wide");
    s.req.ntasks = 32;
    s.req.min_nodes = s.req.max_nodes = 4;
    s.req.time_limit_us = limit_us;
    return submit(s);
}

/* The jobs in the order in which they start, one at a time: their places in `id`. */
static void starts_are(uint64_t running, const uint64_t *id, const int *place, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        script_ends(running, 0);
        running = id[place[i]];
        if (state(running) != JOB_RUNNING)
            fail_msg("job %llu is not the %zu. to start", (unsigned long long)running, i + 1);
        pass(MIN);
    }
    script_ends(running, 0);
    pass(MIN);
}

static void the_last_goes_first_in_any_order(void **unused)
{
    for (size_t o = 0; o < ARRAY_LEN(orders); o++) {
        am_alice();
        configure(arena_printf(w.a, "%s%s", orders[o], ageing));
        uint64_t runs = wide(HOUR), id[4];
        for (int i = 0; i < 4; i++) {
            id[i] = wide(HOUR);
            pass(SEC);
        }
        assert_int_equal(control(ids_of(id[3]), ACTION_TOP), REFUSE_NONE);
        starts_are(runs, id, (const int[]){3, 0, 1, 2}, 4);
    }
}

/* Several at once keep the order in which they are named. */
static void a_list_in_its_order(void **unused)
{
    for (size_t o = 0; o < ARRAY_LEN(orders); o++) {
        am_alice();
        configure(arena_printf(w.a, "%s%s", orders[o], ageing));
        uint64_t runs = wide(HOUR), id[4];
        for (int i = 0; i < 4; i++) {
            id[i] = wide(HOUR);
            pass(SEC);
        }
        const char *ids =
            arena_printf(w.a, "%llu,%llu", (unsigned long long)id[2], (unsigned long long)id[1]);
        assert_int_equal(control(ids, ACTION_TOP), REFUSE_NONE);
        starts_are(runs, id, (const int[]){2, 1, 0, 3}, 4);
    }
}

/* A long job takes the place of a short one, which has its own from then on. */
static void places_change_hands(void **unused)
{
    configure(arena_printf(w.a, "%s%s", orders[SHORTEST], ageing));
    uint64_t runs = wide(HOUR), brief = wide(10 * MIN), middle = wide(2 * HOUR),
             lengthy = wide(40 * HOUR);
    am_bob();
    uint64_t bobs = wide(HOUR);
    am_alice();
    assert_int_equal(control(ids_of(lengthy), ACTION_TOP), REFUSE_NONE);
    assert_non_null(job(lengthy)->place);
    uint64_t id[] = {brief, middle, lengthy, bobs};
    /* Bob's stays between the first and the second of alice's. */
    starts_are(runs, id, (const int[]){2, 3, 0, 1}, 4);
}

static void others_are_not_moved(void **unused)
{
    uint64_t runs = wide(HOUR);
    am_bob();
    uint64_t bobs = wide(HOUR);
    am_alice();
    uint64_t a = wide(2 * HOUR), b = wide(3 * HOUR);
    assert_int_equal(control(ids_of(b), ACTION_TOP), REFUSE_NONE);
    uint64_t id[] = {bobs, a, b};
    starts_are(runs, id, (const int[]){0, 2, 1}, 3);
}

static void other_queues_are_not_touched(void **unused)
{
    wide(HOUR);
    struct job_spec s = a_wide_job("other");
    s.req.partition = "other";
    s.req.time_limit_us = MIN;
    uint64_t other = submit(s), here = wide(HOUR);
    assert_int_equal(control(ids_of(here), ACTION_TOP), REFUSE_NONE);
    assert_null(job(other)->place);
    assert_null(job(here)->place);
}

static void it_survives_a_restart(void **unused)
{
    const char *conf = arena_printf(w.a, "%s%s", orders[SHORTEST], ageing);
    configure(conf);
    uint64_t runs = wide(HOUR), id[] = {wide(HOUR), wide(2 * HOUR), wide(30 * HOUR)};
    assert_int_equal(control(ids_of(id[2]), ACTION_TOP), REFUSE_NONE);
    restart(conf);
    for (int n = 1; n <= 4; n++)
        hello_holding(n, &(struct held){.job_id = runs, .attempt = 1, .step_id = STEP_BATCH}, 1);
    starts_are(runs, id, (const int[]){2, 0, 1}, 3);
}

static void again(const char *conf, uint64_t runs)
{
    restart(conf);
    for (int n = 1; n <= 4; n++)
        hello_holding(n, &(struct held){.job_id = runs, .attempt = 1, .step_id = STEP_BATCH}, 1);
}

/* It waited for its limit, so nobody would pass it: another of its user's takes that, too, be it
 * one that would go before it else, or behind it. Bob's, which would go before both, stays behind
 * the first. */
static void the_head_gives_its_place(void **unused)
{
    static const int64_t limits[] = {10 * MIN, 40 * HOUR};
    for (size_t k = 0; k < 4; k++) {
        am_alice();
        configure(ageing);
        uint64_t runs = wide(2 * HOUR), head = wide(HOUR);
        pass(61 * MIN);
        uint64_t last = wide(limits[k % 2]);
        am_bob();
        uint64_t bobs = wide(MIN);
        am_alice();
        assert_int_equal(why_one(head)->rank, 1);
        assert_int_equal(control(ids_of(last), ACTION_TOP), REFUSE_NONE);
        if (k >= 2)
            again(ageing, runs);
        assert_int_equal(why_one(last)->rank, 1);
        uint64_t id[] = {head, last, bobs};
        starts_are(runs, id, (const int[]){1, 2, 0}, 3);
    }
}

/* What it was promised first is past, as the work before it runs over its end: that goes with the
 * place. */
static void a_missed_promise_goes_with_the_place(void **unused)
{
    uint64_t runs = wide(30 * MIN), head = wide(10 * HOUR), last = wide(20 * HOUR);
    pass(31 * MIN);
    am_bob();
    uint64_t bobs = wide(MIN);
    am_alice();
    assert_int_equal(why_one(head)->rank, 1);
    assert_int_equal(control(ids_of(last), ACTION_TOP), REFUSE_NONE);
    assert_int_equal(why_one(last)->rank, 1);
    uint64_t id[] = {head, last, bobs};
    starts_are(runs, id, (const int[]){1, 2, 0}, 3);
}

static void the_head_of_another_stays(void **unused)
{
    uint64_t runs = wide(2 * HOUR);
    am_bob();
    uint64_t bobs = wide(HOUR);
    pass(61 * MIN);
    am_alice();
    uint64_t id[] = {wide(10 * MIN), wide(10 * HOUR), bobs};
    assert_int_equal(control(ids_of(id[1]), ACTION_TOP), REFUSE_NONE);
    starts_are(runs, id, (const int[]){2, 1, 0}, 3);
}

/* Past four age bounds the one that waited longest goes first, whatever its limit. */
static void the_oldest_gives_its_place(void **unused)
{
    uint64_t runs = wide(400 * HOUR), oldest = wide(300 * HOUR);
    pass(205 * HOUR);
    uint64_t id[] = {oldest, wide(10 * MIN)};
    assert_int_equal(why_one(oldest)->rank, 1);
    assert_int_equal(control(ids_of(id[1]), ACTION_TOP), REFUSE_NONE);
    starts_are(runs, id, (const int[]){1, 0}, 2);
}

/* Where every start is promised, the job takes that of the first if it needs no more. Bob's is
 * where it was. */
static void the_first_gives_its_promise(void **unused)
{
    static const char *const promising[] = {"SchedulerParameters=promises=all\n",
                                            "SchedulerParameters=promises=all,order=arrival\n",
                                            "SchedulerParameters=promises=aged,age_bound=60\n"};
    static const int64_t limits[] = {HOUR, 10 * MIN, 2 * HOUR};
    for (size_t k = 0; k < 9; k++) {
        bool more = limits[k % 3] > HOUR;
        am_alice();
        configure(arena_printf(w.a, "%s%s", promising[k / 3], ageing));
        uint64_t runs = wide(HOUR), id[4];
        for (int i = 0; i < 4; i++) {
            if (i == 1)
                am_bob();
            id[i] = wide(i == 3 ? limits[k % 3] : HOUR);
            pass(2 * MIN);
            am_alice();
        }
        int64_t bobs = why_one(id[1])->planned_us;
        const char *ids =
            arena_printf(w.a, "%llu,%llu", (unsigned long long)id[3], (unsigned long long)id[2]);
        assert_int_equal(control(ids, ACTION_TOP), REFUSE_NONE);
        pass(SEC);
        assert_true(why_one(id[1])->planned_us <= bobs);
        starts_are(runs, id, more ? (const int[]){0, 1, 2, 3} : (const int[]){3, 1, 2, 0}, 4);
    }
}

static void with_priorities_nice_is_shared(void **unused)
{
    configure(arena_printf(w.a, "%s%s", orders[MULTIFACTOR], ageing));
    wide(HOUR);
    uint64_t id[4];
    int64_t before = 0, after = 0;
    for (int i = 0; i < 4; i++) {
        struct job_spec s = a_job("nice");
        s.req.ntasks = 32;
        s.req.min_nodes = 4;
        s.nice = 50 * i;
        id[i] = submit(s);
        before += s.nice;
    }
    assert_int_equal(control(ids_of(id[3]), ACTION_TOP), REFUSE_NONE);
    for (int i = 0; i < 4; i++)
        after += job(id[i])->spec.nice;
    assert_int_equal(job(id[3])->spec.nice, 0);
    assert_int_equal(job(id[0])->spec.nice, 50);
    assert_int_equal(job(id[1])->spec.nice, 100);
    assert_int_equal(before, after);
    assert_null(job(id[3])->place);
}

/* Submitted with no look at anything else between, which would take long for so many. */
static void crowd(size_t n, uint64_t id[])
{
    for (size_t i = 0; i < n; i++) {
        struct job_spec s = a_job("crowd");
        s.req.ntasks = 32;
        s.req.min_nodes = 4;
        struct msg_submit m = {.specs = {&s, 1}, .script = {"#!/bin/sh\n", 10}};
        struct message asked = {.kind = MSG_SUBMIT, .seq = ++w.seq, .body = &m};
        struct event ev = {
            .kind = EV_MESSAGE, .now_us = w.now, .conn = 1, .peer = &w.peer, .msg = &asked};
        effects_reset(&w.fx);
        core_step(w.c, &ev, &w.fx);
        for (size_t k = 0; k < w.fx.n; k++)
            if (w.fx.v[k].kind == FX_REPLY && w.fx.v[k].msg.kind == MSG_SUBMITTED)
                id[i] = ((const struct msg_submitted *)w.fx.v[k].msg.body)->job_id;
        w.now++;
    }
}

/* One to the top: a thousand others at most get another place, or another nice value. */
static void a_thousand_are_moved_at_most(void **unused)
{
    static const size_t numbers[] = {1002, 1100}; /* of them the last goes to the top */
    static uint64_t id[1100];
    for (size_t k = 0; k < 4; k++) {
        world_close();
        world_open(arena_conf(k < 2 ? "" : orders[MULTIFACTOR]), 4);
        wide(HOUR);
        size_t n = numbers[k % 2], rows = 0;
        crowd(n, id);
        struct msg_job_control m = {.ids = ids_of(id[n - 1]), .action = ACTION_TOP};
        struct message asked = {.kind = MSG_JOB_CONTROL, .seq = ++w.seq, .body = &m};
        effects_reset(&w.fx);
        step((struct event){.kind = EV_MESSAGE, .conn = 1, .peer = &w.peer, .msg = &asked});
        wake();
        for (size_t i = 0; i < w.fx.n; i++)
            rows += w.fx.v[i].kind == FX_STORE && w.fx.v[i].table == TABLE_JOB;
        assert_int_equal(refusal(), REFUSE_NONE);
        assert_int_equal(rows, 1001);
    }
}

/* Each looks at all jobs there are and may move a thousand: a list is worked off in parts. */
static void a_list_takes_its_time(void **unused)
{
    static uint64_t id[600];
    struct str ids = STR_INIT;
    wide(HOUR);
    crowd(600, id);
    for (size_t i = 0; i < 20; i++)
        str_addf(&ids, "%s%llu", i ? "," : "", (unsigned long long)id[500 + i]);
    struct msg_job_control m = {.ids = str_text(&ids), .action = ACTION_TOP};
    struct message asked = {.kind = MSG_JOB_CONTROL, .seq = ++w.seq, .body = &m};
    effects_reset(&w.fx);
    step((struct event){.kind = EV_MESSAGE, .conn = 1, .peer = &w.peer, .msg = &asked});
    size_t most = 0, wakes = 0;
    for (size_t before = 0; !sent(FX_REPLY, MSG_DONE); before = w.fx.n, wakes++) {
        step((struct event){.kind = EV_WAKE});
        most = w.fx.n - before > most ? w.fx.n - before : most;
    }
    assert_in_range(wakes, 19, 21);
    assert_in_range(most, 2, 2100);
    assert_int_equal(refusal(), REFUSE_NONE);
    str_done(&ids);
}

static void what_cannot_go_to_the_top(void **unused)
{
    uint64_t runs = wide(HOUR), held = wide(HOUR), asked = wide(HOUR);
    assert_int_equal(control(ids_of(runs), ACTION_TOP), REFUSE_NOT_PENDING);
    assert_int_equal(control(ids_of(held), ACTION_HOLD), REFUSE_NONE);
    assert_int_equal(control(ids_of(held), ACTION_TOP), REFUSE_HELD);
    am_bob();
    assert_int_equal(control(ids_of(asked), ACTION_TOP), REFUSE_ACCESS_DENIED);
    am_olga();
    struct job_spec v = {.priority_asked = 100};
    say(1, MSG_UPDATE_JOB,
        &(struct msg_update_job){
            .ids = ids_of(asked), .fields = "priority_asked", .values = {&v, 1}});
    am_alice();
    assert_int_equal(control(ids_of(asked), ACTION_TOP), REFUSE_DISABLED);
    struct job_spec later = a_job("later");
    later.begin_us = w.now + HOUR;
    uint64_t id = submit(later);
    assert_int_equal(control(ids_of(id), ACTION_TOP), REFUSE_DISABLED);
}

#define OPENED(function) cmocka_unit_test_setup_teardown(function, open_it, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        OPENED(the_last_goes_first_in_any_order),
        OPENED(a_list_in_its_order),
        OPENED(places_change_hands),
        OPENED(others_are_not_moved),
        OPENED(other_queues_are_not_touched),
        OPENED(it_survives_a_restart),
        OPENED(the_head_gives_its_place),
        OPENED(a_missed_promise_goes_with_the_place),
        OPENED(the_head_of_another_stays),
        OPENED(the_oldest_gives_its_place),
        OPENED(the_first_gives_its_promise),
        OPENED(with_priorities_nice_is_shared),
        OPENED(a_thousand_are_moved_at_most),
        OPENED(a_list_takes_its_time),
        OPENED(what_cannot_go_to_the_top),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
