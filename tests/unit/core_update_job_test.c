/* scontrol update of jobs, as the controller's machine takes it. */
#include "core_step_help.h"

static enum refusal change(const char *ids, const char *fields, struct job_spec values)
{
    struct msg_update_job m = {.ids = ids, .fields = fields, .values = {&values, 1}};
    say(1, MSG_UPDATE_JOB, &m);
    return refusal();
}

static enum refusal change_other(struct msg_update_job m)
{
    say(1, MSG_UPDATE_JOB, &m);
    return refusal();
}

static struct job_spec limit_of(int64_t us)
{
    return (struct job_spec){.req = {.time_limit_us = us}};
}

static uint64_t submit_held(const char *name)
{
    struct job_spec s = a_job(name);
    s.hold = true;
    return submit(s);
}

/* Four nodes full, so that the next job waits. */
static void fill(void)
{
    for (int i = 0; i < 4; i++)
        assert_int_not_equal(submit(a_wide_job("fill")), 0);
}

static void a_waiting_job_takes_what_is_asked_anew(void **unused)
{
    uint64_t id = submit_held("one");
    struct job_spec v = {.comment = "later", .req = {.ntasks = 4, .partition = "small"}};
    assert_int_equal(change(ids_of(id), "comment,ntasks,partition", v), REFUSE_NONE);
    assert_string_equal(job(id)->spec.comment, "later");
    assert_int_equal(job(id)->spec.req.ntasks, 4);
    assert_string_equal(job(id)->spec.req.partition, "small");
    assert_string_equal(job(id)->spec.name, "one");
    assert_int_equal(control(ids_of(id), ACTION_RELEASE), REFUSE_NONE);
    assert_int_equal(state(id), JOB_RUNNING);
    assert_string_equal(job(id)->nodes, "n1");
    assert_int_equal(job(id)->alloc_cpus, 4);
}

/* What qalter -l select=a+b sends: each component has values of its own. */
static void components_change_together_or_not_at_all(void **unused)
{
    struct job_spec parts[] = {a_job("het"), a_job("het")};
    parts[0].hold = parts[1].hold = true;
    uint64_t id = submit_all(parts, 2);
    assert_int_not_equal(id, 0);
    struct job_spec to[] = {{.comment = "both", .req = {.ntasks = 2}},
                            {.comment = "not meant", .req = {.ntasks = 4000}}};
    struct msg_update_job m = {
        .ids = ids_of(id), .fields = "comment,ntasks;ntasks", .values = {to, 2}};
    uint64_t before = core_hash(w.c);
    assert_int_equal(change_other(m), REFUSE_NODE_CONFIG);
    assert_non_null(strstr(answer()->detail, "part 2: "));
    assert_true(core_hash(w.c) == before);
    to[1].req.ntasks = 3;
    assert_int_equal(change_other(m), REFUSE_NONE);
    assert_int_equal(job(id)->spec.req.ntasks, 2);
    assert_string_equal(job(id)->spec.comment, "both");
    assert_int_equal(job(id + 1)->spec.req.ntasks, 3);
    assert_true(text_empty(job(id + 1)->spec.comment));
    m.fields = "comment;";
    to[0].comment = "of one";
    assert_int_equal(change_other(m), REFUSE_NONE);
    assert_string_equal(job(id)->spec.comment, "of one");
    assert_int_equal(job(id + 1)->spec.req.ntasks, 3);
    to[1].dependency = "afterok:1";
    m.fields = "ntasks;dependency";
    assert_int_equal(change_other(m), REFUSE_UPDATE);
    m.ids = ids_of(submit_held("one"));
    m.fields = "ntasks;ntasks";
    assert_int_equal(change_other(m), REFUSE_BAD_MESSAGE);
}

static void a_refused_update_changes_nothing(void **unused)
{
    uint64_t id = submit_held("one");
    struct job_spec v = {.comment = "lost", .req = {.ntasks = 4000}};
    uint64_t before = core_hash(w.c);
    assert_int_equal(change(ids_of(id), "comment,ntasks", v), REFUSE_NODE_CONFIG);
    assert_non_null(answer()->detail);
    v = (struct job_spec){.comment = "lost", .dependency = "afterok:9999"};
    assert_int_equal(change(ids_of(id), "comment,dependency", v), REFUSE_DEPENDENCY);
    assert_int_equal(change(ids_of(id), "time_limit_us", limit_of(3 * USEC_PER_HOUR)),
                     REFUSE_TIME_LIMIT);
    assert_int_equal(change(ids_of(id), "no_such_field", v), REFUSE_UPDATE);
    assert_int_equal(change(ids_of(id), "submit_line", v), REFUSE_UPDATE);
    assert_int_equal(change("9999", "comment", v), REFUSE_INVALID_JOB_ID);
    assert_true(core_hash(w.c) == before);
}

static void only_its_owner_and_operators_change_a_job(void **unused)
{
    uint64_t id = submit_held("one");
    am_bob();
    assert_int_equal(change(ids_of(id), "comment", (struct job_spec){.comment = "mine"}),
                     REFUSE_ACCESS_DENIED);
    am_olga();
    assert_int_equal(change(ids_of(id), "comment", (struct job_spec){.comment = "hers"}),
                     REFUSE_NONE);
    assert_string_equal(job(id)->spec.comment, "hers");
}

static void a_running_job_lets_its_owner_lower_the_limit_only(void **unused)
{
    uint64_t id = submit(a_job("one"));
    assert_int_equal(change(ids_of(id), "time_limit_us", limit_of(20 * MIN)), REFUSE_ACCESS_DENIED);
    assert_int_equal(
        change_other((struct msg_update_job){.ids = ids_of(id), .time_limit_add_us = MIN}),
        REFUSE_ACCESS_DENIED);
    assert_int_equal(
        change_other((struct msg_update_job){.ids = ids_of(id), .end_us = w.now + 20 * MIN}),
        REFUSE_ACCESS_DENIED);
    assert_int_equal(change(ids_of(id), "time_limit_us", limit_of(0)), REFUSE_TIME_LIMIT);
    assert_int_equal(job(id)->limit_us, 10 * MIN);
    assert_int_equal(change(ids_of(id), "time_limit_us", limit_of(5 * MIN)), REFUSE_NONE);
    assert_int_equal(job(id)->limit_us, 5 * MIN);
    assert_int_equal(job(id)->end_us, w.now + 5 * MIN);
    pass(5 * MIN - SEC);
    assert_int_equal(state(id), JOB_RUNNING);
    pass(SEC);
    assert_int_equal(state(id), JOB_COMPLETING);
    assert_int_equal(job(id)->end_state, JOB_TIMEOUT);
}

static void an_operator_raises_it_beyond_the_partition(void **unused)
{
    uint64_t id = submit(a_job("one"));
    am_olga();
    assert_int_equal(change_other((struct msg_update_job){.ids = ids_of(id),
                                                          .time_limit_add_us = 3 * USEC_PER_HOUR}),
                     REFUSE_NONE);
    assert_int_equal(job(id)->limit_us, 10 * MIN + 3 * USEC_PER_HOUR);
    pass(11 * MIN);
    assert_int_equal(state(id), JOB_RUNNING);
    assert_int_equal(
        change_other((struct msg_update_job){.ids = ids_of(id), .end_us = w.now + MIN}),
        REFUSE_NONE);
    pass(MIN);
    assert_int_equal(state(id), JOB_COMPLETING);
}

static void a_shorter_limit_lets_another_job_be_planned_earlier(void **unused)
{
    fill();
    uint64_t waits = submit(a_wide_job("waits"));
    assert_int_equal(job(waits)->planned_us, w.now + 10 * MIN);
    assert_int_equal(change("1", "time_limit_us", limit_of(3 * MIN)), REFUSE_NONE);
    assert_int_equal(job(waits)->planned_us, w.now + 3 * MIN);
}

static void a_started_job_keeps_its_request(void **unused)
{
    uint64_t id = submit(a_job("one"));
    assert_int_equal(change(ids_of(id), "ntasks", (struct job_spec){.req = {.ntasks = 2}}),
                     REFUSE_NOT_PENDING);
    assert_int_equal(job(id)->spec.req.ntasks, 1);
    assert_int_equal(
        change(ids_of(id), "comment,name", (struct job_spec){.comment = "c", .name = "renamed"}),
        REFUSE_NONE);
    assert_string_equal(job(id)->spec.name, "renamed");
    script_ends(id, 0);
    assert_int_equal(change(ids_of(id), "comment", (struct job_spec){.comment = "d"}),
                     REFUSE_JOB_FINISHED);
}

static void priorities_are_for_operators(void **unused)
{
    fill();
    uint64_t first = submit(a_wide_job("first")), second = submit(a_wide_job("second"));
    struct job_spec v = {.priority_asked = 1000000000};
    assert_int_equal(change(ids_of(second), "priority_asked,hold", v), REFUSE_ACCESS_DENIED);
    assert_int_equal(change(ids_of(second), "nice", (struct job_spec){.nice = -5}),
                     REFUSE_ACCESS_DENIED);
    am_olga();
    assert_int_equal(change(ids_of(second), "priority_asked,hold", v), REFUSE_NONE);
    assert_int_equal(job(second)->priority, 1000000000);
    assert_true(job(first)->priority < job(second)->priority);
    script_ends(1, 0);
    assert_int_equal(state(second), JOB_RUNNING);
    assert_int_equal(state(first), JOB_PENDING);
}

static void priority_0_holds_and_the_hold_is_of_who_gave_it(void **unused)
{
    fill();
    uint64_t id = submit(a_wide_job("one"));
    struct job_spec hold = {.hold = true};
    assert_int_equal(change(ids_of(id), "priority_asked,hold", hold), REFUSE_NONE);
    assert_int_equal(job(id)->reason, REASON_HELD_USER);
    assert_int_equal(control(ids_of(id), ACTION_RELEASE), REFUSE_NONE);
    am_olga();
    assert_int_equal(change(ids_of(id), "priority_asked,hold", hold), REFUSE_NONE);
    assert_int_equal(job(id)->reason, REASON_HELD_ADMIN);
    am_alice();
    assert_int_equal(change(ids_of(id), "hold", (struct job_spec){.hold = false}),
                     REFUSE_ACCESS_DENIED);
    assert_int_equal(job(id)->reason, REASON_HELD_ADMIN);
}

static void a_dependency_can_be_taken_away(void **unused)
{
    uint64_t first = submit(a_job("first"));
    struct job_spec s = a_job("second");
    s.dependency = arena_printf(w.a, "afterok:%llu", (unsigned long long)first);
    uint64_t second = submit(s);
    assert_int_equal(job(second)->reason, REASON_DEPENDENCY);
    script_ends(first, status_of_code(1));
    assert_int_equal(job(second)->reason, REASON_DEPENDENCY_NEVER);
    uint64_t third = submit(a_job("third"));
    s.dependency = arena_printf(w.a, "afterany:%llu", (unsigned long long)third);
    assert_int_equal(change(ids_of(second), "dependency", s), REFUSE_NONE);
    assert_int_equal(job(second)->reason, REASON_DEPENDENCY);
    assert_int_equal(job(second)->eligible_us, 0);
    assert_int_equal(change(ids_of(second), "dependency", (struct job_spec){.dependency = NULL}),
                     REFUSE_NONE);
    assert_int_equal(state(second), JOB_RUNNING);
}

static void a_renamed_job_frees_who_waits_for_its_name(void **unused)
{
    uint64_t first = submit(a_job("same"));
    struct job_spec s = a_job("same");
    s.dependency = "singleton";
    uint64_t second = submit(s);
    assert_int_equal(job(second)->reason, REASON_DEPENDENCY);
    assert_int_equal(change(ids_of(first), "name", (struct job_spec){.name = "other"}),
                     REFUSE_NONE);
    wake();
    assert_int_equal(state(second), JOB_RUNNING);
}

static void a_begin_time_moves_the_start(void **unused)
{
    fill();
    uint64_t id = submit(a_wide_job("one"));
    assert_int_equal(
        change(ids_of(id), "begin_us", (struct job_spec){.begin_us = w.now + 30 * MIN}),
        REFUSE_NONE);
    assert_int_equal(job(id)->reason, REASON_BEGIN_TIME);
    for (uint64_t k = 1; k <= 4; k++)
        script_ends(k, 0);
    assert_int_equal(state(id), JOB_PENDING);
    pass(30 * MIN);
    assert_int_equal(state(id), JOB_RUNNING);
    assert_int_equal(job(id)->eligible_us, w.now);
}

static void a_deadline_must_be_ahead(void **unused)
{
    uint64_t id = submit_held("one");
    assert_int_equal(change(ids_of(id), "deadline_us", (struct job_spec){.deadline_us = w.now - 1}),
                     REFUSE_INVALID_TIME);
    assert_int_equal(
        change(ids_of(id), "deadline_us", (struct job_spec){.deadline_us = w.now + 40 * MIN}),
        REFUSE_NONE);
    pass(41 * MIN);
    assert_int_equal(state(id), JOB_DEADLINE);
}

/* A job that only says when it must be over runs until then, however long its partition would let
 * it. */
static void a_deadline_is_the_limit_of_a_job_without_one(void **unused)
{
    uint64_t id = submit_held("one");
    struct job_spec none = {.deadline_us = w.now + 40 * MIN};
    assert_int_equal(change(ids_of(id), "deadline_us,time_limit_us,time_min_us", none),
                     REFUSE_NONE);
    assert_int_equal(job(id)->spec.req.time_min_us, MIN);
    assert_int_equal(control(ids_of(id), ACTION_RELEASE), REFUSE_NONE);
    assert_int_equal(state(id), JOB_RUNNING);
    assert_in_range(job(id)->limit_us, 39 * MIN, 40 * MIN);
}

static void memory_asked_anew_replaces_what_was_asked(void **unused)
{
    uint64_t id = submit_held("one");
    assert_int_equal(
        change(ids_of(id), "mem_per_cpu_mib", (struct job_spec){.req = {.mem_per_cpu_mib = 500}}),
        REFUSE_NONE);
    assert_int_equal(job(id)->spec.req.mem_per_node_mib, 0);
    assert_int_equal(control(ids_of(id), ACTION_RELEASE), REFUSE_NONE);
    assert_int_equal(job(id)->alloc_mem_mib, 500);
}

static void a_throttle_lets_more_elements_run(void **unused)
{
    struct job_spec s = a_job("many");
    s.array = "0-9%2";
    uint64_t id = submit(s);
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS, .states = "R"}), 2);
    assert_int_equal(
        change_other((struct msg_update_job){.ids = ids_of(id), .array_limit_plus1 = 5}),
        REFUSE_NONE);
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS, .states = "R"}), 4);
    uint64_t single = submit_held("single");
    assert_int_equal(
        change_other((struct msg_update_job){.ids = ids_of(single), .array_limit_plus1 = 5}),
        REFUSE_INVALID_ARRAY);
}

static void one_element_of_a_waiting_array_is_changed(void **unused)
{
    struct job_spec s = a_job("many");
    s.array = "0-9";
    s.hold = true;
    uint64_t id = submit(s);
    const char *ref = arena_printf(w.a, "%llu_4", (unsigned long long)id);
    assert_int_equal(change(ref, "comment", (struct job_spec){.comment = "four"}), REFUSE_NONE);
    assert_string_equal(job_named(ref)->spec.comment, "four");
    assert_int_equal(job_named(ref)->array_task_id, 4);
    assert_string_equal(
        job_named(arena_printf(w.a, "%llu_5", (unsigned long long)id))->array_pending, "0-3,5-9");
}

static void several_jobs_and_those_that_did_not_go(void **unused)
{
    uint64_t one = submit_held("one"), two = submit_held("two");
    const char *ids =
        arena_printf(w.a, "%llu,777,%llu", (unsigned long long)one, (unsigned long long)two);
    assert_int_equal(change(ids, "comment", (struct job_spec){.comment = "both"}), REFUSE_NONE);
    assert_int_equal(answer()->count, 2);
    assert_int_equal(answer()->results.n, 1);
    assert_string_equal(((const struct result *)answer()->results.v)->ref, "777");
    assert_string_equal(job(two)->spec.comment, "both");
}

static void an_admin_comment_is_an_operators(void **unused)
{
    uint64_t id = submit_held("one");
    assert_int_equal(change_other((struct msg_update_job){.ids = ids_of(id), .admin_comment = "x"}),
                     REFUSE_ACCESS_DENIED);
    am_olga();
    assert_int_equal(change_other((struct msg_update_job){.ids = ids_of(id), .admin_comment = "x"}),
                     REFUSE_NONE);
    assert_string_equal(job(id)->admin_comment, "x");
}

static void an_update_outlives_a_restart(void **unused)
{
    uint64_t id = submit_held("one");
    change(ids_of(id), "comment,ntasks",
           (struct job_spec){.comment = "kept", .req = {.ntasks = 3}});
    restart(CONF);
    assert_string_equal(job(id)->spec.comment, "kept");
    assert_int_equal(job(id)->spec.req.ntasks, 3);
}

/* On two nodes, on the second of which a step runs: the script's end leaves the job COMPLETING until
 * that node says that nothing is left. */
static uint64_t on_two_nodes(void)
{
    struct job_spec s = a_job("two");
    s.req.min_nodes = s.req.max_nodes = 2;
    s.req.ntasks = 2;
    uint64_t id = submit(s);
    assert_string_equal(job(id)->nodes, "n[1-2]");
    struct job_spec one;
    struct msg_create_step there = a_step(id, &one, 1);
    one.req.nodelist = "n2";
    assert_non_null(srun(SRUN, &there));
    node_says(2, id, 0, REPORT_STARTED, 0);
    return id;
}

/* Both nodes come back with what they have of its first run. */
static void nodes_come_back(uint64_t id)
{
    struct held script = {.job_id = id, .attempt = 1, .step_id = STEP_BATCH};
    struct held step_there = {.job_id = id, .attempt = 1, .step_id = 0};
    hello_holding(1, &script, 1);
    hello_holding(2, &step_there, 1);
}

static void released(uint64_t id, int node)
{
    struct msg_report gone = {.kind = REPORT_RELEASED, .job_id = id, .attempt = job(id)->attempt};
    report(node, gone);
}

/* Nothing would come of a change, so none is acknowledged; nor after a restart. */
static void a_job_that_is_ending_takes_no_change(void **unused)
{
    static const char *const fields[] = {"min_nodes", "nodelist", "time_limit_us", "comment",
                                         "name",      "requeue",  "deadline_us",   "ntasks"};
    struct job_spec to = {.comment = "x",
                          .name = "y",
                          .requeue = YES,
                          .deadline_us = w.now + 60 * MIN,
                          .req = {.min_nodes = 1, .nodelist = "n1", .time_limit_us = 5 * MIN}};
    uint64_t id = on_two_nodes();
    script_ends(id, 0);
    am_root();
    for (int life = 0; life < 2; life++) {
        assert_int_equal(state(id), JOB_COMPLETING);
        uint64_t before = core_hash(w.c);
        for (size_t i = 0; i < ARRAY_LEN(fields); i++)
            assert_int_equal(change(ids_of(id), fields[i], to), REFUSE_JOB_FINISHED);
        assert_int_equal(
            change_other((struct msg_update_job){.ids = ids_of(id), .admin_comment = "z"}),
            REFUSE_JOB_FINISHED);
        assert_int_equal(control(ids_of(id), ACTION_HOLD), REFUSE_JOB_FINISHED);
        assert_int_equal(control(ids_of(id), ACTION_RELEASE), REFUSE_JOB_FINISHED);
        assert_int_equal(control(ids_of(id), ACTION_SUSPEND), REFUSE_ALREADY_DONE);
        assert_int_equal(control(ids_of(id), ACTION_RESUME), REFUSE_ALREADY_DONE);
        assert_true(core_hash(w.c) == before);
        if (!life)
            restart(CONF);
    }
    nodes_come_back(id);
    released(id, 1);
    released(id, 2);
    assert_int_equal(state(id), JOB_COMPLETED);
}

/* It goes back: what is asked of its next run counts, its nodes it cannot give back any more. */
static void a_job_that_goes_back_takes_what_counts_then(void **unused)
{
    struct job_spec to = {.comment = "next", .req = {.min_nodes = 1, .time_limit_us = 5 * MIN}};
    uint64_t id = on_two_nodes();
    assert_int_equal(control(ids_of(id), ACTION_REQUEUE), REFUSE_NONE);
    assert_int_equal(state(id), JOB_REQUEUED);
    assert_int_equal(change(ids_of(id), "min_nodes", to), REFUSE_NOT_PENDING);
    assert_non_null(strstr(answer()->detail, "ask again when it waits"));
    assert_int_equal(change(ids_of(id), "comment,time_limit_us", to), REFUSE_NONE);
    assert_int_equal(control(ids_of(id), ACTION_HOLD), REFUSE_NONE);
    restart(CONF);
    hello(1);
    hello(2);
    assert_int_equal(state(id), JOB_PENDING);
    assert_int_equal(job(id)->reason, REASON_HELD_USER);
    assert_int_equal(control(ids_of(id), ACTION_RELEASE), REFUSE_NONE);
    assert_int_equal(job(id)->attempt, 2);
    assert_true(job(id)->limit_us == 5 * MIN);
}

/* The node that is given back is told again, and is nobody's until it says that nothing is left. */
static void a_resize_goes_on_after_a_restart(void **unused)
{
    uint64_t id = on_two_nodes();
    pass(10 * SEC);
    struct job_spec to = {.req = {.min_nodes = 1}};
    assert_int_equal(change(ids_of(id), "min_nodes", to), REFUSE_NONE);
    restart(CONF);
    assert_string_equal(job(id)->nodes, "n1");
    nodes_come_back(id);
    assert_int_equal(sent(FX_SEND, MSG_TERMINATE), 1);
    struct job_spec next = a_wide_job("next");
    next.req.nodelist = "n2";
    uint64_t waits = submit(next);
    assert_int_equal(state(waits), JOB_PENDING);
    released(id, 2);
    assert_int_equal(state(waits), JOB_RUNNING);
    assert_int_equal(state(id), JOB_RUNNING);
    script_ends(id, 0);
    assert_int_equal(state(id), JOB_COMPLETED);
    assert_int_equal(job(id)->alloc_nodes, 1);
    assert_null(job(id)->leaving);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(a_waiting_job_takes_what_is_asked_anew),
        STORY(components_change_together_or_not_at_all),
        STORY(a_refused_update_changes_nothing),
        STORY(only_its_owner_and_operators_change_a_job),
        STORY(a_running_job_lets_its_owner_lower_the_limit_only),
        STORY(an_operator_raises_it_beyond_the_partition),
        STORY(a_shorter_limit_lets_another_job_be_planned_earlier),
        STORY(a_started_job_keeps_its_request),
        STORY(priorities_are_for_operators),
        STORY(priority_0_holds_and_the_hold_is_of_who_gave_it),
        STORY(a_dependency_can_be_taken_away),
        STORY(a_renamed_job_frees_who_waits_for_its_name),
        STORY(a_begin_time_moves_the_start),
        STORY(a_deadline_must_be_ahead),
        STORY(a_deadline_is_the_limit_of_a_job_without_one),
        STORY(memory_asked_anew_replaces_what_was_asked),
        STORY(a_throttle_lets_more_elements_run),
        STORY(one_element_of_a_waiting_array_is_changed),
        STORY(several_jobs_and_those_that_did_not_go),
        STORY(an_admin_comment_is_an_operators),
        STORY(an_update_outlives_a_restart),
        STORY(a_job_that_is_ending_takes_no_change),
        STORY(a_job_that_goes_back_takes_what_counts_then),
        STORY(a_resize_goes_on_after_a_restart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
