/* The answer to "why": reasons in sentences, blockers, order, plan and advice, from the
 * controller's machine. */
#include "core_help.h"

static struct job_spec wide(const char *name, int32_t nodes)
{
    struct job_spec s = a_job(name);
    s.req.ntasks = 0;
    s.req.exclusive = EXCLUSIVE_NODE;
    s.req.min_nodes = s.req.max_nodes = nodes;
    s.req.time_limit_us = 60 * MIN;
    return s;
}

static void a_wait_for_nodes_is_explained(void **unused)
{
    submit(wide("one", 3));
    uint64_t id = submit(wide("two", 2));
    const struct why *y = why_one(id);
    assert_int_equal(y->reason, REASON_RESOURCES);
    assert_int_equal(y->rank, 1);
    assert_int_equal(y->waiting, 1);
    assert_int_equal(y->sureness, SURE_PROMISE);
    assert_int_equal(y->planned_us, w.now + 60 * MIN);
    const struct blocker *b = y->blockers.v;
    assert_int_equal(y->blockers.n, 2);
    assert_int_equal(b[0].kind, BLOCKER_NEEDS);
    assert_int_equal(b[0].nodes, 1);
    assert_int_equal(b[1].kind, BLOCKER_BUSY);
    assert_int_equal(b[1].nodes, 3);
    const struct why_advice *v = y->advice.v;
    assert_true(y->advice.n > 0 && v[0].now);
    assert_string_equal(v[0].option, "--nodes=1");
    assert_string_equal(v[0].command, arena_printf(w.a, "scontrol update JobId=%llu NumNodes=1",
                                                   (unsigned long long)id));
}

/* The node nN says that it has two GPUs, and what of them is out of use. */
static void hello_with_gpus(int n, const char *out)
{
    struct node self = {.name = arena_printf(w.a, "n%d", n),
                        .real_cpus = 8,
                        .real_memory_mib = 8000,
                        .real_gres = "gpu:v100:2",
                        .devices = "gpu:v100:0:::;gpu:v100:1:::",
                        .devices_out = out,
                        .version = "test"};
    struct msg_node_hello m = {.node = {&self, 1}, .pid = 9, .devices_seq = 5};
    gone(n);
    am_root();
    say(CONN_OF(n), MSG_NODE_HELLO, &m);
    am_alice();
}

static void a_device_that_is_out_is_named(void **unused)
{
    restart(
        "GresTypes=gpu\nNodeName=n[1-2] Gres=gpu:v100:2 CPUs=8 RealMemory=8000\nPartitionName=main "
        "Nodes=ALL Default=YES\n");
    hello_with_gpus(1, "gpu:1:failed:7000000:XID 79: it has fallen off the bus");
    hello_with_gpus(2, "gpu:0:unproven:8000000:process 9 (python) of job 3 still holds it");
    struct job_spec s = a_job("wants-two");
    s.req.gres = "gpu:2";
    uint64_t id = submit(s);
    const struct why *y = why_one(id);
    assert_int_equal(y->reason, REASON_RESOURCES);
    assert_string_equal(
        y->sure_text,
        "devices that it could use are out of use, and nobody can know when they come back");
    const struct blocker *b = y->blockers.v;
    assert_int_equal(y->blockers.n, 3);
    assert_int_equal(b[0].kind, BLOCKER_NEEDS);
    assert_int_equal(b[0].nodes, 0);
    assert_int_equal(b[1].kind, BLOCKER_OUT);
    assert_int_equal(b[1].first_us, 7000000);
    assert_string_equal(b[1].names, "n1");
    assert_string_equal(b[1].what, "gpu 1 of n1 is broken (XID 79: it has fallen off the bus); "
                                   "when it is mended, `scontrol update "
                                   "nodename=n1 state=resume` has it looked at again");
    assert_int_equal(b[2].kind, BLOCKER_OUT);
    assert_string_equal(
        b[2].what,
        "gpu 0 of n2 is not clean (process 9 (python) of job 3 still holds it); it is used "
        "again by itself as soon as it is");
    /* One that needs a single GPU starts. */
    s.req.gres = "gpu:1";
    assert_int_equal(why_one(submit(s))->state, JOB_RUNNING);
}

static void asking_changes_nothing(void **unused)
{
    submit(wide("one", 3));
    uint64_t id = submit(wide("two", 2));
    submit(wide("three", 1));
    uint64_t before = core_hash(w.c);
    why_one(id);
    assert_int_equal(core_hash(w.c), before);
    assert_int_equal(why_one(id)->rank, 1);
}

static void holds_and_dependencies_say_what_to_do(void **unused)
{
    uint64_t first = submit(a_job("first"));
    struct job_spec held = a_job("held"), after = a_job("after"), later = a_job("later");
    held.hold = true;
    after.dependency = arena_printf(w.a, "afterok:%llu", (unsigned long long)first);
    later.begin_us = w.now + 10 * MIN;
    assert_non_null(strstr(why_one(submit(held))->because, "scontrol release"));
    const char *because = why_one(submit(after))->because;
    assert_non_null(strstr(because, "is RUNNING"));
    assert_non_null(strstr(because, "that is for job 1 to end well;"));
    const struct why *y = why_one(submit(later));
    assert_int_equal(y->reason, REASON_BEGIN_TIME);
    assert_int_equal(y->planned_us, later.begin_us);
    assert_int_equal(why_one(first)->state, JOB_RUNNING);
}

static uint64_t after(const char *kind, uint64_t id, const char *more)
{
    struct job_spec s = a_job("after");
    s.dependency = arena_printf(w.a, "%s:%llu%s", kind, (unsigned long long)id, more);
    return submit(s);
}

/* An array's own record is one of its elements, whose end is not that of the others. */
static void what_became_of_an_array_is_said_of_its_elements(void **unused)
{
    (void)unused;
    struct job_spec s = a_job("array");
    s.array = "0-3%1";
    uint64_t id = submit(s), all = after("afterok", id, ""), one = after("afterok", id, "_1");
    assert_non_null(strstr(why_one(all)->because, "of the elements of job 1 3 wait, 1 under way"));
    assert_non_null(strstr(why_one(one)->because, "job 1_1 is PENDING"));
    for (uint32_t i = 0; i < 4; i++)
        script_ends(job_named(arena_printf(w.a, "1_%u", i))->id, i == 1 ? 256 : 0);
    const char *because = why_one(all)->because;
    assert_non_null(strstr(because, "of the elements of job 1 3 ended well, 1 failed"));
    assert_non_null(strstr(why_one(one)->because, "job 1_1 is FAILED"));
    struct job_spec p = a_job("pairs");
    p.array = "0-3";
    p.dependency = "aftercorr:1";
    const struct job *pair = job_named(arena_printf(w.a, "%llu_1", (unsigned long long)submit(p)));
    because = why_one(pair->id)->because;
    assert_non_null(strstr(because, "job 1_1 is FAILED"));
    assert_non_null(strstr(
        because, arena_printf(w.a, "JobId=%llu_1 ", (unsigned long long)pair->array_job_id)));
    p.array = "0-3,7-9"; /* the last three have no partners and wait together, the others apart */
    uint64_t left = submit(p);
    const char *rest = arena_printf(w.a, "%llu_7", (unsigned long long)left);
    const struct msg_explained *said = why(rest);
    assert_non_null(strstr(
        ((const struct why *)said->jobs.v)->because,
        arena_printf(w.a, "JobId=%llu_[7-9] Dependency=` removes it", (unsigned long long)left)));
    p.array = "0-3,7";
    left = submit(p);
    said = why(arena_printf(w.a, "%llu_7", (unsigned long long)left));
    assert_non_null(strstr(((const struct why *)said->jobs.v)->because,
                           arena_printf(w.a, "`scancel %llu_7`", (unsigned long long)left)));
    uint64_t minute = after("after", submit(wide("late", 4)), "+1");
    assert_non_null(strstr(why_one(minute)->because, "and 1 minute to pass then"));
}

static void a_job_that_missed_its_deadline_says_by_how_much(void **unused)
{
    struct job_spec s = a_job("late");
    s.hold = true;
    s.req.time_limit_us = 30 * MIN;
    s.deadline_us = w.now + 40 * MIN;
    uint64_t id = submit(s);
    pass(10 * MIN + SEC);
    const struct why *y = why_one(id);
    assert_int_equal(y->state, JOB_DEADLINE);
    assert_non_null(strstr(y->because, "it asks for 00:30:00, and 00:29:59 is left; -t or "));
}

static void all_waiting_jobs_in_short(void **unused)
{
    submit(wide("one", 4));
    submit(wide("two", 2));
    am_bob();
    submit(wide("three", 1));
    struct msg_why mine = {.uids = "1001"};
    assert_int_equal(why(NULL)->jobs.n, 2);
    say(50, MSG_WHY, &mine);
    const struct msg_explained *e = w.fx.v[0].msg.body;
    assert_int_equal(e->jobs.n, 1);
    assert_string_equal(((const struct why *)e->jobs.v)->name, "three");
}

static void an_unknown_job_is_refused(void **unused)
{
    struct msg_why m = {.ids = "4711"};
    say(50, MSG_WHY, &m);
    assert_int_equal(refusal(), REFUSE_INVALID_JOB_ID);
}

static void what_a_job_waited_for_is_kept(void **unused)
{
    uint64_t one = submit(wide("one", 4));
    struct job_spec held = wide("held", 4), next = wide("next", 4);
    held.hold = true;
    uint64_t two = submit(held), three = submit(next);
    pass(100 * SEC);
    control(ids_of(two), ACTION_RELEASE);
    pass(20 * SEC);
    assert_string_equal(why_one(two)->waited_for, "Priority=20,JobHeldUser=100");
    assert_string_equal(why_one(three)->waited_for, "Resources=120");
    assert_null(
        job(three)
            ->waited_for); /* it is worked out when somebody asks, and stored when the wait ends */
    script_ends(one, 0);
    assert_int_equal(state(three), JOB_RUNNING);
    assert_string_equal(job(three)->waited_for, "Resources=120");
    pass(30 * SEC);
    cancel(ids_of(two));
    assert_string_equal(job(two)->waited_for, "Priority=20,Resources=30,JobHeldUser=100");
}

static void an_element_has_waited_since_its_array_came(void **unused)
{
    uint64_t one = submit(wide("one", 4));
    struct job_spec s = wide("many", 4);
    s.array = "0-1";
    uint64_t many = submit(s);
    pass(10 * SEC);
    script_ends(one, 0);
    pass(40 * SEC);
    const struct job *first = job_named(arena_printf(w.a, "%llu_0", (unsigned long long)many));
    assert_int_equal(first->state, JOB_RUNNING);
    assert_string_equal(first->waited_for, "Resources=10");
    script_ends(first->id, 0);
    assert_string_equal(
        job_named(arena_printf(w.a, "%llu_1", (unsigned long long)many))->waited_for,
        "Resources=50");
}

static void what_was_counted_survives_a_restart(void **unused)
{
    submit(wide("one", 4));
    struct job_spec held = wide("held", 4);
    held.hold = true;
    uint64_t two = submit(held);
    pass(60 * SEC);
    control(ids_of(two), ACTION_RELEASE);
    restart(CONF);
    pass(40 * SEC); /* no node comes back */
    assert_string_equal(why_one(two)->waited_for, "JobHeldUser=60,ReqNodeNotAvail=40");
}

static void a_requeued_job_waits_anew(void **unused)
{
    uint64_t one = submit(wide("one", 4)), two = submit(wide("two", 4));
    pass(60 * SEC);
    script_ends(one, 0);
    assert_string_equal(job(two)->waited_for, "Resources=60");
    struct job_spec held = wide("three", 4);
    uint64_t three = submit(held);
    (void)three;
    control(ids_of(two), ACTION_REQUEUE);
    script_ends(two, 0);
    pass(10 * SEC);
    assert_true(text_empty(job(two)->waited_for) || !strstr(job(two)->waited_for, "60"));
}

/* What may be worked out in a copy: what changes nothing, where it takes long. */
static void only_questions_of_large_clusters_ask_much(void **unused)
{
    struct job_spec spec = a_job("held");
    struct msg_why why = {0};
    struct msg_submit submission = {.specs = {&spec, 1}, .test_only = true};
    const struct message asked = {.kind = MSG_WHY, .body = &why},
                         tried = {.kind = MSG_SUBMIT, .body = &submission};
    assert_false(core_asks_much(w.c, &asked));
    assert_false(core_asks_much(w.c, &tried));
    spec.hold = true;
    for (int i = 0; i < 200; i++)
        submit(spec);
    assert_true(core_asks_much(w.c, &asked));
    assert_true(core_asks_much(w.c, &tried));
    submission.test_only = false;
    submission.immediate = true;
    assert_false(core_asks_much(w.c, &tried));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(a_wait_for_nodes_is_explained),
        STORY(only_questions_of_large_clusters_ask_much),
        STORY(a_device_that_is_out_is_named),
        STORY(asking_changes_nothing),
        STORY(holds_and_dependencies_say_what_to_do),
        STORY(what_became_of_an_array_is_said_of_its_elements),
        STORY(a_job_that_missed_its_deadline_says_by_how_much),
        STORY(all_waiting_jobs_in_short),
        STORY(an_unknown_job_is_refused),
        STORY(what_a_job_waited_for_is_kept),
        STORY(an_element_has_waited_since_its_array_came),
        STORY(what_was_counted_survives_a_restart),
        STORY(a_requeued_job_waits_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
