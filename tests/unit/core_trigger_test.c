/* Triggers: when they are pulled, that each runs once, what outlives a restart, and who may. */
#include "core_help.h"

#define COLLECT (5 * SEC)
#define HOUR    (60 * MIN)

static enum refusal set(struct msg_set_trigger m)
{
    m.program = m.program ? m.program : "/bin/tell";
    struct peer asks = w.peer;
    am_root();
    say(1, MSG_SET_TRIGGER, &m);
    w.peer = asks;
    assert_non_null(answer());
    return refusal();
}

/* Sets it, and tells its number. */
static uint32_t made(struct msg_set_trigger m)
{
    assert_int_equal(set(m), REFUSE_NONE);
    return (uint32_t)answer()->count;
}

static enum refusal clear(struct msg_clear_trigger m)
{
    say(1, MSG_CLEAR_TRIGGER, &m);
    return refusal();
}

static size_t there(void)
{
    return count((struct msg_query){.what = QUERY_TRIGGERS});
}

/* What the programs that were let out by the last deed were told, in their order; they end. */
static const char *told(void)
{
    struct str all = STR_INIT;
    size_t n = 0;
    for (size_t i = 0; i < w.fx.n; i++)
        if (w.fx.v[i].kind == FX_PROGRAM) {
            str_addf(&all, "%s%s", n++ ? " " : "", w.fx.v[i].program.argument);
            assert_string_equal(w.fx.v[i].program.line, "/bin/tell");
        }
    const char *text = arena_strdup(w.a, str_text(&all));
    str_done(&all);
    effects_reset(&w.fx);
    for (size_t i = 0; i < n; i++)
        step((struct event){.kind = EV_PROGRAM_OVER});
    settle(0);
    return text;
}

static const char *told_after(int64_t us)
{
    pass(us);
    return told();
}

static uint64_t running(const char *name)
{
    uint64_t id = submit(a_job(name));
    assert_int_equal(state(id), JOB_RUNNING);
    return id;
}

static void node_set(const char *names, const char *to)
{
    struct peer asks = w.peer;
    am_root();
    say(1, MSG_UPDATE_NODE,
        &(struct msg_update_node){.names = names, .state = to, .reason = "a test"});
    w.peer = asks;
}

static void fini_runs_once_when_the_job_is_over(void **state_)
{
    uint64_t id = running("a");
    made((struct msg_set_trigger){.events = TRIGGER_BIT(FINI), .job = ids_of(id)});
    assert_string_equal(told_after(MIN), "");
    assert_int_equal(there(), 1);
    script_ends(id, 0);
    assert_string_equal(told(), ids_of(id));
    assert_int_equal(there(), 0);
    assert_string_equal(told_after(MIN), "");
    assert_int_equal(set((struct msg_set_trigger){.events = TRIGGER_BIT(FINI), .job = ids_of(id)}),
                     REFUSE_ALREADY_DONE);
    assert_int_equal(set((struct msg_set_trigger){.events = TRIGGER_BIT(FINI), .job = "4711"}),
                     REFUSE_INVALID_JOB_ID);
}

static void a_requeued_job_is_not_over(void **state_)
{
    uint64_t id = running("a");
    made((struct msg_set_trigger){.events = TRIGGER_BIT(FINI), .job = ids_of(id)});
    am_root();
    assert_int_equal(control(ids_of(id), ACTION_REQUEUE), REFUSE_NONE);
    assert_string_equal(told(), "");
    assert_int_equal(there(), 1);
    assert_int_equal(cancel(ids_of(id)), REFUSE_NONE);
    pass(MIN);
    if (state(id) != JOB_CANCELLED)
        script_ends(id, 15);
    assert_int_equal(there(), 0);
}

static void an_array_is_over_with_its_last_element(void **state_)
{
    struct job_spec spec = a_job("array");
    spec.array = "1-2";
    uint64_t id = submit(spec);
    const char *first = arena_printf(w.a, "%llu_1", (unsigned long long)id);
    made((struct msg_set_trigger){.events = TRIGGER_BIT(FINI), .job = ids_of(id)});
    made((struct msg_set_trigger){.events = TRIGGER_BIT(FINI), .job = first});
    assert_int_equal(set((struct msg_set_trigger){.events = TRIGGER_BIT(FINI),
                                                  .job = arena_printf(w.a, "%s7", first)}),
                     REFUSE_INVALID_JOB_ID);
    script_ends(job_named(first)->id, 0);
    assert_string_equal(told(), first);
    assert_int_equal(there(), 1);
    script_ends(job_named(arena_printf(w.a, "%llu_2", (unsigned long long)id))->id, 0);
    assert_string_equal(told(), ids_of(id));
    assert_int_equal(there(), 0);
}

static void time_comes_before_the_limit(void **state_)
{
    uint64_t id = running("a"); /* ten minutes */
    made((struct msg_set_trigger){.events = TRIGGER_BIT(TIME), .job = ids_of(id), .offset = -120});
    assert_string_equal(told_after(7 * MIN), "");
    assert_string_equal(told_after(MIN), ids_of(id));
    assert_string_equal(told_after(MIN), "");
    assert_int_equal(there(), 0);
    /* One that is set when the time has passed runs at once; one that stays, once a run. */
    made((struct msg_set_trigger){
        .events = TRIGGER_BIT(TIME), .job = ids_of(id), .offset = -300, .permanent = true});
    assert_string_equal(told(), ids_of(id));
    assert_string_equal(told_after(SEC), "");
    assert_int_equal(there(), 1);
    made((struct msg_set_trigger){.events = TRIGGER_BIT(TIME), .job = ids_of(id)});
    script_ends(id, 0); /* before its limit: that one has nothing to tell of */
    assert_string_equal(told(), "");
    assert_int_equal(there(), 1);
    pass(HOUR); /* and the job is forgotten */
    assert_int_equal(there(), 0);
}

static void nodes_that_fail_together_are_told_together(void **state_)
{
    made((struct msg_set_trigger){.events = TRIGGER_BIT(DOWN)});
    made((struct msg_set_trigger){.events = TRIGGER_BIT(DOWN), .nodes = "n3"});
    node_set("n1", "DOWN");
    assert_string_equal(told(), "");
    pass(SEC);
    node_set("n2", "DOWN");
    assert_string_equal(told_after(COLLECT), "n[1-2]");
    assert_int_equal(there(), 1);
    node_set("n3", "DOWN");
    assert_string_equal(told_after(COLLECT), "n3");
    assert_int_equal(there(), 0);
    made((struct msg_set_trigger){.events = TRIGGER_BIT(UP), .permanent = true});
    node_set("n[1-3]", "RESUME");
    assert_string_equal(told_after(COLLECT), "n[1-3]");
    assert_string_equal(told_after(HOUR), "");
    node_set("n2", "DOWN");
    node_set("n2", "RESUME");
    assert_string_equal(told_after(COLLECT), "n2");
}

static void a_silent_node_is_down_for_its_job(void **state_)
{
    uint64_t id = running("a"), other = running("b");
    int n = job(id)->batch_host[1] - '0';
    made((struct msg_set_trigger){.events = TRIGGER_BIT(DOWN), .job = ids_of(id)});
    node_set(arena_printf(w.a, "n%d", n == 1 ? 2 : 1), "DOWN");
    assert_string_equal(told_after(COLLECT), "");
    node_set(job(id)->batch_host, "DOWN");
    assert_string_equal(told_after(COLLECT), arena_printf(w.a, "n%d", n));
    assert_int_equal(there(), 0);
    assert_true(other != id);
}

static void drained_when_the_last_job_has_gone(void **state_)
{
    uint64_t id = running("a");
    const char *host = arena_strdup(w.a, job(id)->batch_host);
    made((struct msg_set_trigger){.events = TRIGGER_BIT(DRAINED), .nodes = host});
    made((struct msg_set_trigger){.events = TRIGGER_BIT(DRAINING)});
    made((struct msg_set_trigger){.events = TRIGGER_BIT(RESUME)});
    made((struct msg_set_trigger){.events = TRIGGER_BIT(FAIL)});
    node_set(host, "DRAIN");
    assert_string_equal(told_after(COLLECT), host);
    assert_string_equal(told_after(MIN), "");
    script_ends(id, 0);
    assert_string_equal(told_after(COLLECT), host);
    assert_int_equal(there(), 2);
    node_set(host, "FAIL");
    assert_string_equal(told_after(COLLECT), host);
    node_set(host, "RESUME");
    assert_string_equal(told_after(COLLECT), host);
    assert_int_equal(there(), 0);
}

static void idle_for_as_long_as_was_asked(void **state_)
{
    made((struct msg_set_trigger){
        .events = TRIGGER_BIT(IDLE), .nodes = "n1", .offset = 600, .permanent = true});
    assert_string_equal(told_after(10 * MIN - SEC), "");
    assert_string_equal(told_after(SEC), "n1");
    assert_string_equal(told_after(HOUR), "");
    node_set("n1", "DRAIN");
    pass(MIN);
    node_set("n1", "RESUME");
    assert_string_equal(told_after(9 * MIN), "");
    assert_string_equal(told_after(MIN), "n1");
    made((struct msg_set_trigger){.events = TRIGGER_BIT(IDLE), .offset = 60}); /* they are, long */
    assert_string_equal(told(), "n[1-4]");
    assert_int_equal(there(), 1);
}

static void the_cluster_itself(void **state_)
{
    made((struct msg_set_trigger){.events = TRIGGER_BIT(RECONFIG)});
    made((struct msg_set_trigger){.events = TRIGGER_BIT(DATABASE_FAILURE)});
    made((struct msg_set_trigger){.events = TRIGGER_BIT(DATABASE_OPERATION)});
    made((struct msg_set_trigger){.events = TRIGGER_BIT(CONTROLLER_OPERATION)});
    made((struct msg_set_trigger){.events = TRIGGER_BIT(CONTROLLER_FAILURE)});
    configure(CONF);
    settle(0);
    assert_string_equal(told(), "reconfig");
    effects_reset(&w.fx);
    step((struct event){.kind = EV_STORE_AWAY, .text = "full"});
    settle(0);
    assert_string_equal(told(), "primary_database_failure");
    step((struct event){.kind = EV_STORE_BACK});
    settle(0);
    assert_string_equal(told(), "primary_database_resumed_operation");
    assert_int_equal(there(), 2);
    restart(CONF);
    assert_string_equal(told(), "primary_slurmctld_resumed_operation");
    assert_int_equal(there(), 1);
}

/* Pulled before the end, run after it, and never twice. */
static void what_was_pulled_outlives_a_restart(void **state_)
{
    uint64_t id = running("a");
    uint32_t last = made(
        (struct msg_set_trigger){.events = TRIGGER_BIT(FINI), .job = ids_of(id), .offset = 60});
    made((struct msg_set_trigger){.events = TRIGGER_BIT(DOWN), .program = "/bin/tell"});
    script_ends(id, 0);
    node_set("n[1-2]", "DOWN");
    restart(CONF);
    assert_string_equal(told(), "");
    assert_int_equal(there(), 2);
    assert_string_equal(told_after(COLLECT), "n[1-2]");
    restart(CONF);
    assert_string_equal(told_after(MIN), ids_of(id));
    restart(CONF);
    assert_int_equal(there(), 0);
    assert_true(made((struct msg_set_trigger){.events = TRIGGER_BIT(DOWN)}) > last + 1);
}

static void eight_at_a_time(void **state_)
{
    for (int i = 0; i < 12; i++)
        made((struct msg_set_trigger){.events = TRIGGER_BIT(RECONFIG), .offset = -i});
    configure(CONF);
    settle(0);
    assert_int_equal(sent(FX_PROGRAM, MESSAGE_COUNT), 8);
    assert_int_equal(there(), 4);
    effects_reset(&w.fx);
    step((struct event){.kind = EV_PROGRAM_OVER});
    settle(0);
    assert_int_equal(sent(FX_PROGRAM, MESSAGE_COUNT), 1);
    assert_int_equal(there(), 3);
}

static void a_clock_that_is_set_changes_no_wait(void **state_)
{
    uint64_t id = running("a");
    made((struct msg_set_trigger){.events = TRIGGER_BIT(FINI), .job = ids_of(id), .offset = 100});
    int64_t mono = 1000 * SEC;
    step((struct event){.kind = EV_WAKE, .mono_us = mono});
    script_ends(id, 0);
    w.now -= 5 * HOUR;
    step((struct event){.kind = EV_WAKE, .mono_us = mono});
    settle(0);
    w.now += 99 * SEC;
    step((struct event){.kind = EV_WAKE, .mono_us = mono + 99 * SEC});
    assert_string_equal(told(), "");
    w.now += SEC;
    step((struct event){.kind = EV_WAKE, .mono_us = mono + 100 * SEC});
    assert_string_equal(told(), ids_of(id));
}

static void who_may(void **state_)
{
    uint64_t id = running("a");
    struct msg_set_trigger m = {
        .events = TRIGGER_BIT(FINI), .job = ids_of(id), .program = "/bin/tell"};
    am_alice(); /* whose job it is */
    say(1, MSG_SET_TRIGGER, &m);
    assert_int_equal(refusal(), REFUSE_ACCESS_DENIED);
    uint32_t number = made(m);
    assert_int_equal(set(m), REFUSE_TRIGGER_DUPLICATE);
    am_alice();
    assert_int_equal(there(), 1);
    assert_int_equal(clear((struct msg_clear_trigger){.id = number}), REFUSE_ACCESS_DENIED);
    assert_int_equal(clear((struct msg_clear_trigger){.id = 77}), REFUSE_TRIGGER_NONE);
    assert_int_equal(clear((struct msg_clear_trigger){0}), REFUSE_BAD_MESSAGE);
    configure(CONF "PrivateData=jobs\n");
    struct rows hidden = ask((struct msg_query){.what = QUERY_TRIGGERS});
    assert_int_equal(hidden.refusal, REFUSE_ACCESS_DENIED);
    am_root();
    assert_int_equal(there(), 1);
    assert_int_equal(clear((struct msg_clear_trigger){.user_plus1 = 5}), REFUSE_TRIGGER_NONE);
    assert_int_equal(clear((struct msg_clear_trigger){.job = ids_of(id)}), REFUSE_NONE);
    assert_int_equal(there(), 0);
    configure(CONF "SlurmctldParameters=disable_triggers\n");
    assert_int_equal(set(m), REFUSE_DISABLED);
}

static void what_makes_no_sense_is_refused(void **state_)
{
    char *many = xcalloc(1, 5000);
    memset(many, 'a', 4999);
    many[0] = '/';
    assert_int_equal(set((struct msg_set_trigger){0}), REFUSE_BAD_MESSAGE);
    assert_int_equal(set((struct msg_set_trigger){.events = TRIGGER_BIT(FINI)}),
                     REFUSE_BAD_MESSAGE);
    assert_int_equal(set((struct msg_set_trigger){.events = TRIGGER_BIT(DOWN), .nodes = "n[1-9]"}),
                     REFUSE_INVALID_NODE);
    assert_int_equal(
        set((struct msg_set_trigger){.events = TRIGGER_BIT(DOWN), .program = "bin/tell"}),
        REFUSE_BAD_MESSAGE);
    assert_int_equal(
        set((struct msg_set_trigger){.events = TRIGGER_BIT(DOWN), .program = "/bin/\033[2J"}),
        REFUSE_TOO_LARGE);
    assert_int_equal(set((struct msg_set_trigger){.events = TRIGGER_BIT(DOWN), .program = many}),
                     REFUSE_TOO_LARGE);
    free(many);
    for (int i = 0; i < 500; i++)
        made((struct msg_set_trigger){.events = TRIGGER_BIT(DOWN), .offset = i});
    assert_int_equal(set((struct msg_set_trigger){.events = TRIGGER_BIT(DOWN), .offset = 500}),
                     REFUSE_TOO_LARGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(fini_runs_once_when_the_job_is_over),
        STORY(a_requeued_job_is_not_over),
        STORY(an_array_is_over_with_its_last_element),
        STORY(time_comes_before_the_limit),
        STORY(nodes_that_fail_together_are_told_together),
        STORY(a_silent_node_is_down_for_its_job),
        STORY(drained_when_the_last_job_has_gone),
        STORY(idle_for_as_long_as_was_asked),
        STORY(the_cluster_itself),
        STORY(what_was_pulled_outlives_a_restart),
        STORY(eight_at_a_time),
        STORY(a_clock_that_is_set_changes_no_wait),
        STORY(who_may),
        STORY(what_makes_no_sense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
