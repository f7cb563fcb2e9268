/* Limits of accounts and QOS: each holds, says so with Slurm's word, lets go when room comes, when it
 * is lifted, and is the same after a restart. The tree: root, physics with alice and bob, chem with
 * alice; QOS test beside normal. */
#include "core_limits_help.h"

/* ---- what runs ---- */

static uint64_t submit_as(const char *who, int32_t cpus)
{
    if (text_starts(who, "bob"))
        am_bob();
    else
        am_alice();
    uint64_t id = submit(job_of(cpus, strchr(who, ':') + 1, "test"));
    assert_true(id > 0);
    return id;
}

enum way { BY_END, BY_LIFT, BY_RESTART, WAYS };

static void one_limit(size_t row, enum way way)
{
    assert_int_equal(limit_set(running[row].on, running[row].limit), REFUSE_NONE);
    uint64_t first = submit_as("alice:physics", running[row].cpus),
             second = submit_as(running[row].second, running[row].cpus), third = 0;
    if (running[row].third)
        third = submit_as(running[row].third, running[row].cpus);
    assert_int_equal(state(first), JOB_RUNNING);
    assert_int_equal(state(second), JOB_PENDING);
    assert_string_equal(reason(second), running[row].word);
    if (third)
        assert_int_equal(state(third), JOB_RUNNING);
    if (way == BY_RESTART) {
        restart(ENFORCED);
        for (int n = 1; n <= 4; n++) {
            struct held held[4];
            size_t nheld = 0;
            for (uint64_t id = first; id <= second + 1; id++)
                if (id <= (third ? third : second) && state(id) == JOB_RUNNING &&
                    job(id)->batch_host[1] - '0' == n)
                    held[nheld++] = (struct held){.job_id = id, .attempt = 1};
            hello_holding(n, held, nheld);
        }
        pass(MIN);
        assert_int_equal(state(first), JOB_RUNNING);
        assert_int_equal(state(second), JOB_PENDING);
        assert_string_equal(reason(second), running[row].word);
    }
    if (way == BY_LIFT)
        assert_int_equal(limit_set(running[row].on, running[row].lifted), REFUSE_NONE);
    else
        script_ends(first, 0);
    assert_int_equal(state(second), JOB_RUNNING);
}

static void limits_of_what_runs(void **unused)
{
    for (size_t i = 0; i < ARRAY_LEN(running); i++)
        for (int way = 0; way < WAYS; way++) {
            world_open(ENFORCED, 4);
            the_tree();
            one_limit(i, (enum way)way);
            world_close();
        }
}

/* An array starts as many elements as are allowed, and the next when one ends. */
static void an_array(void **unused)
{
    struct job_spec s = job_of(1, NULL, "test");
    s.array = "1-5";
    assert_int_equal(limit_set("qos test", "MaxJobsPerUser=2"), REFUSE_NONE);
    uint64_t id = submit(s);
    assert_int_equal(job_named(arena_printf(w.a, "%llu_1", (unsigned long long)id))->state,
                     JOB_RUNNING);
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS, .states = "RUNNING"}), 2);
    script_ends(job_named(arena_printf(w.a, "%llu_1", (unsigned long long)id))->id, 0);
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS, .states = "RUNNING"}), 2);
    assert_int_equal(job_named(arena_printf(w.a, "%llu_3", (unsigned long long)id))->state,
                     JOB_RUNNING);
}

/* A whole node counts whole, though one CPU was asked for. */
static void a_whole_node(void **unused)
{
    struct job_spec s = job_of(1, NULL, "test");
    s.req.exclusive = EXCLUSIVE_NODE;
    assert_int_equal(limit_set("qos test", "GrpTRES=cpu=10"), REFUSE_NONE);
    uint64_t first = submit(s), second = submit(s), third = submit(job_of(2, NULL, "test"));
    assert_int_equal(state(first), JOB_RUNNING);
    assert_int_equal(state(second), JOB_PENDING);
    assert_int_equal(state(third), JOB_RUNNING);
    assert_int_equal(state(submit(job_of(1, NULL, "test"))), JOB_PENDING);
}

/* A node that several jobs of the limit share counts once, and comes free with the last of them; one
 * that has it already is taken before the limit keeps a job waiting. */
static void nodes_that_are_shared(void **unused)
{
    assert_int_equal(limit_set("qos test", "GrpTRES=node=1"), REFUSE_NONE);
    am_bob();
    uint64_t others = submit(job_of(5, NULL, "normal"));
    am_alice();
    struct job_spec s = job_of(4, NULL, "test"), whole = job_of(1, NULL, "test");
    s.req.time_limit_us = 60 * MIN;
    uint64_t first = submit(s); /* n2: on n1 are 3 CPUs */
    s.req.ntasks = 2;
    s.req.time_limit_us = 30 * MIN;
    uint64_t second = submit(s); /* n1 would be filled first */
    assert_string_equal(job(others)->batch_host, "n1");
    assert_string_equal(job(first)->batch_host, "n2");
    assert_string_equal(job(second)->batch_host, "n2");
    s.req.ntasks = 3;
    uint64_t third = submit(s); /* no room for it there */
    assert_string_equal(reason(third), "QOSGrpNodeLimit");
    whole.req.exclusive = EXCLUSIVE_NODE;
    uint64_t fourth = submit(whole);
    assert_string_equal(reason(fourth), "QOSGrpNodeLimit");
    const struct blocker *b = why_one(fourth)->blockers.v;
    assert_non_null(strstr(b->what, "GrpTRES=node=1 of QOS test: 1 of 1 is in use"));
    assert_int_equal(b->first_us, job(first)->start_us + 60 * MIN);
    script_ends(first, 0);
    assert_string_equal(job(third)->batch_host, "n2");
    assert_int_equal(state(fourth), JOB_PENDING);
    script_ends(second, 0);
    assert_int_equal(state(fourth), JOB_PENDING);
    script_ends(third, 0);
    assert_int_equal(state(fourth), JOB_RUNNING);
}

/* Jobs on two nodes each, of which the cap has three: they overlap, or wait. */
static void nodes_that_overlap(void **unused)
{
    assert_int_equal(limit_set("qos test", "GrpTRES=node=3"), REFUSE_NONE);
    struct job_spec s = job_of(4, NULL, "test");
    s.req.min_nodes = s.req.max_nodes = 2;
    s.req.ntasks_per_node = 2;
    uint64_t id[5];
    for (size_t i = 0; i < ARRAY_LEN(id); i++)
        id[i] = submit(s);
    for (size_t i = 0; i < ARRAY_LEN(id); i++) /* two nodes hold four; a fifth needs two more */
        assert_int_equal(state(id[i]), i < 4 ? JOB_RUNNING : JOB_PENDING);
    assert_string_equal(reason(id[4]), "QOSGrpNodeLimit");
    script_ends(id[0], 0);
    assert_int_equal(state(id[4]), JOB_RUNNING);
    uint64_t one = submit(job_of(4, NULL, "test")), next = submit(job_of(5, NULL, "test"));
    assert_string_equal(job(one)->batch_host, "n3");
    assert_string_equal(reason(next), "QOSGrpNodeLimit");
}

/* What a job costs depends on the partition in which it is placed, and on what it gets there. */
static void what_it_costs(void **unused)
{
    configure(ENFORCED "PartitionName=dear Nodes=ALL TRESBillingWeights=CPU=2.5,Node=1\n");
    assert_int_equal(limit_set("qos test", "GrpTRES=billing=12"), REFUSE_NONE);
    struct job_spec s = job_of(4, NULL, "test"); /* 11 units there, 4 in main */
    s.req.partition = "dear";
    uint64_t first = submit(s), second = submit(s);
    assert_int_equal(state(first), JOB_RUNNING);
    assert_string_equal(reason(second), "QOSGrpBilling");
    s.req.ntasks = 1; /* 3.5 units, of which 3 count */
    uint64_t third = submit(s);
    assert_int_equal(state(third), JOB_PENDING);
    cancel(ids_of(third));
    s.req.partition = "dear,main";
    uint64_t either = submit(s);
    assert_int_equal(state(either), JOB_RUNNING);
    assert_string_equal(job(either)->run_partition, "main");
    script_ends(first, 0);
    assert_int_equal(state(second), JOB_RUNNING);
    s = job_of(1, NULL, "test"); /* a whole node costs as one */
    s.req.exclusive = EXCLUSIVE_NODE;
    assert_int_equal(state(submit(s)), JOB_PENDING);
}

/* Percents of what there is: of the partition whose QOS it is, else of the cluster. */
static void relative(void **unused)
{
    struct account_change *ch = change(VERB_MODIFY, NOUN_QOS);
    ch->fields = "flags";
    ch->qos = (struct record_list){KEEP(struct qos, .name = "test", .flags = QOS_RELATIVE), 1};
    assert_int_equal(changed(false), REFUSE_NONE);
    assert_int_equal(limit_set("qos test", "GrpTRES=cpu=25"), REFUSE_NONE); /* of 32 CPUs: 8 */
    uint64_t first = submit(job_of(4, NULL, "test")), second = submit(job_of(4, NULL, "test")),
             third = submit(job_of(4, NULL, "test"));
    assert_int_equal(state(first), JOB_RUNNING);
    assert_int_equal(state(second), JOB_RUNNING);
    assert_string_equal(reason(third), "QOSGrpCpuLimit");
    const struct blocker *b = why_one(third)->blockers.v;
    assert_non_null(strstr(b->what, "GrpTRES=cpu=8 of QOS test (25 % of what there is)"));
    assert_int_equal(limit_set("qos test", "GrpTRES=cpu=38"), REFUSE_NONE); /* 12 */
    assert_int_equal(state(third), JOB_RUNNING);
    uint64_t fourth = submit(job_of(1, NULL, "test"));
    assert_int_equal(state(fourth), JOB_PENDING);
    configure(ENFORCED "NodeName=n5 CPUs=8 RealMemory=1000\n"); /* 15 of 40 */
    hello(5);
    assert_int_equal(state(fourth), JOB_RUNNING);
    assert_string_equal(reason(submit(job_of(3, NULL, "test"))), "QOSGrpCpuLimit");
    /* Of a partition of two nodes. */
    configure(ENFORCED
              "NodeName=n5 CPUs=8 RealMemory=1000\nPartitionName=two Nodes=n[1-2] QOS=test\n");
    struct job_spec s = job_of(1, NULL, "normal");
    s.req.partition = "two";
    assert_string_equal(reason(submit(s)), "QOSGrpCpuLimit"); /* 6 of 16, 13 are had */
}

/* Who is held is told by what, who has of it, and when enough comes free. */
static void whose_it_is(void **unused)
{
    struct job_spec s = job_of(4, NULL, "test");
    assert_int_equal(limit_set("qos test", "GrpTRES=cpu=8"), REFUSE_NONE);
    uint64_t first = submit(s);
    am_bob();
    s.req.time_limit_us = 5 * MIN;
    uint64_t second = submit(s), third = submit(job_of(6, NULL, "test"));
    const struct blocker *b = why_one(third)->blockers.v;
    assert_int_equal(b->kind, BLOCKER_LIMIT);
    assert_string_equal(b->what, "GrpTRES=cpu=8 of QOS test: 8 of 8 are in use");
    assert_string_equal(b->jobs, arena_printf(w.a, "%llu,%llu", (unsigned long long)first,
                                              (unsigned long long)second));
    assert_string_equal(b->users, "alice,bob");
    assert_true(b->first_us >= job(first)->start_us + 10 * MIN); /* not the second's end */
    script_ends(second, 0);
    b = why_one(third)->blockers.v;
    assert_string_equal(b->what, "GrpTRES=cpu=8 of QOS test: 4 of 8 are in use, it needs 6");
    assert_string_equal(b->users, "alice");
}

/* A job that asks for little and would get much is held by what it would get, not promised a start
 * that would keep nodes from others. */
static void by_what_it_would_get(void **unused)
{
    struct job_spec s = job_of(1, NULL, "test");
    s.req.exclusive = EXCLUSIVE_NODE;
    assert_int_equal(limit_set("qos test", "GrpTRES=cpu=10"), REFUSE_NONE);
    uint64_t first = submit(s), second = submit(s);
    assert_int_equal(state(first), JOB_RUNNING);
    assert_string_equal(reason(second), "QOSGrpCpuLimit");
    assert_string_equal(((const struct blocker *)why_one(second)->blockers.v)->what,
                        "GrpTRES=cpu=10 of QOS test: 8 of 10 are in use, it needs 8");
    struct job_spec wide =
        job_of(8, NULL, "normal"); /* longer than the first: it would be passed */
    wide.req.time_limit_us = 120 * MIN;
    am_bob();
    for (int i = 0; i < 3; i++)
        assert_int_equal(state(submit(wide)), JOB_RUNNING);
    script_ends(first, 0);
    assert_int_equal(state(second), JOB_RUNNING);
}

/* Who is held by a limit keeps nothing free: others pass, and the one that may start does. */
static void it_blocks_nobody(void **unused)
{
    assert_int_equal(limit_set("qos test", "MaxJobsPerUser=1"), REFUSE_NONE);
    uint64_t first = submit(job_of(1, NULL, "test")), second = submit(job_of(8, NULL, "test"));
    struct job_spec wide = job_of(8, NULL, "normal");
    am_bob();
    for (int i = 0; i < 3; i++)
        assert_int_equal(state(submit(wide)), JOB_RUNNING);
    assert_int_equal(state(second), JOB_PENDING);
    assert_int_equal(state(first), JOB_RUNNING);
}

/* The partition's QOS comes before the job's, unless that has OverPartQOS. */
static void qos_of_a_partition(void **unused)
{
    am_root();
    struct partition p = {.qos = "test"};
    struct msg_update_partition m = {.name = "main", .fields = "qos", .values = {&p, 1}};
    say(1, MSG_UPDATE_PARTITION, &m);
    am_alice();
    assert_int_equal(limit_set("qos test", "MaxJobsPerUser=1"), REFUSE_NONE);
    assert_int_equal(limit_set("qos normal", "MaxJobsPerUser=2"), REFUSE_NONE);
    uint64_t first = submit(job_of(1, NULL, "normal")), second = submit(job_of(1, NULL, "normal"));
    assert_int_equal(state(first), JOB_RUNNING);
    assert_int_equal(state(second), JOB_PENDING);
    struct account_change *ch = change(VERB_MODIFY, NOUN_QOS);
    ch->fields = "flags";
    ch->qos =
        (struct record_list){KEEP(struct qos, .name = "normal", .flags = QOS_OVER_PART_QOS), 1};
    assert_int_equal(changed(false), REFUSE_NONE);
    assert_int_equal(state(second), JOB_RUNNING);
    assert_int_equal(state(submit(job_of(1, NULL, "normal"))), JOB_PENDING);
}

/* A limit of one partition's QOS does not hold back who may start in another. */
static void in_another_partition(void **unused)
{
    configure(ENFORCED "PartitionName=other Nodes=ALL\n");
    am_root();
    struct partition p = {.qos = "test"};
    struct msg_update_partition m = {.name = "main", .fields = "qos", .values = {&p, 1}};
    say(1, MSG_UPDATE_PARTITION, &m);
    am_alice();
    assert_int_equal(limit_set("qos test", "MaxJobsPerUser=1"), REFUSE_NONE);
    struct job_spec s = job_of(1, NULL, "normal");
    for (int turn = 0; turn < 2; turn++) {
        s.req.partition = turn ? "other,main" : "main,other";
        uint64_t first = submit(s), second = submit(s), third = submit(s);
        assert_int_equal(state(first), JOB_RUNNING);
        assert_string_equal(job(second)->run_partition, "other");
        assert_int_equal(state(third), JOB_RUNNING);
    }
    s.req.partition = "main";
    assert_string_equal(reason(submit(s)), "QOSMaxJobsPerUserLimit");
}

/* A QOS that sets a limit takes the place of the account's for its jobs; these count all the same
 * against it, for those who have to keep it. */
static void a_limit_of_the_qos_instead(void **unused)
{
    assert_int_equal(limit_set("physics", "GrpJobs=2"), REFUSE_NONE);
    assert_int_equal(limit_set("qos test", "GrpJobs=3"), REFUSE_NONE);
    for (int i = 0; i < 3; i++)
        assert_int_equal(state(submit(job_of(1, NULL, "test"))), JOB_RUNNING);
    uint64_t own = submit(job_of(1, NULL, "normal")), fourth = submit(job_of(1, NULL, "test"));
    assert_string_equal(reason(own), "AssocGrpJobsLimit");
    assert_string_equal(reason(fourth), "QOSGrpJobsLimit");
}

/* The priority of the QOS counts by its weight, and a change of it at once. */
static void priority_of_a_qos(void **unused)
{
    configure(ENFORCED "PriorityType=priority/multifactor\nPriorityWeightQOS=1000\n");
    struct account_change *ch = change(VERB_MODIFY, NOUN_QOS);
    ch->fields = "priority";
    ch->qos = (struct record_list){KEEP(struct qos, .name = "test", .priority = 100), 1};
    ch = change(VERB_MODIFY, NOUN_QOS);
    ch->fields = "priority";
    ch->qos = (struct record_list){KEEP(struct qos, .name = "normal", .priority = 25), 1};
    assert_int_equal(changed(false), REFUSE_NONE);
    for (int i = 0; i < 4; i++)
        assert_int_equal(state(submit(job_of(8, NULL, "normal"))), JOB_RUNNING);
    uint64_t low = submit(job_of(8, NULL, "normal")), high = submit(job_of(8, NULL, "test"));
    assert_int_equal(job(high)->priority - job(low)->priority, 750);
    ch = change(VERB_MODIFY, NOUN_QOS);
    ch->fields = "priority";
    ch->qos = (struct record_list){KEEP(struct qos, .name = "test", .priority = 0), 1};
    assert_int_equal(changed(false), REFUSE_NONE);
    assert_int_equal(job(low)->priority - job(high)->priority, 1000);
}

/* What is accepted without effect is said. */
static void what_does_not_hold_is_said(void **unused)
{
    static const struct {
        const char *limit;
        bool holds;
    } cases[] = {
        {"GrpTRES=cpu=4", true},     {"GrpTRES=gres/gpu=4", true},   {"GrpTRES=billing=4", true},
        {"GrpTRESMins=cpu=4", true}, {"GrpTRESRunMins=cpu=4", true}, {"GrpWall=4", true},
        {"GrpJobsAccrue=4", true},   {"MinPrioThreshold=4", true},   {"MaxWall=4", true},
        {"GrpSubmitJobs=4", true},   {"GrpTRES=energy=4", false}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *said = NULL;
        if (limit_set("physics", cases[i].limit) != REFUSE_NONE)
            continue; /* no GPU here */
        for (size_t k = 0; k < w.fx.n; k++)
            if (w.fx.v[k].kind == FX_REPLY && w.fx.v[k].msg.kind == MSG_ACCOUNTS_CHANGED)
                said = ((const struct msg_accounts_changed *)w.fx.v[k].msg.body)->warning;
        assert_int_equal(said == NULL, cases[i].holds);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_of_what_runs),
        TREE_STORY(an_array),
        TREE_STORY(a_whole_node),
        TREE_STORY(nodes_that_are_shared),
        TREE_STORY(nodes_that_overlap),
        TREE_STORY(what_it_costs),
        TREE_STORY(relative),
        TREE_STORY(whose_it_is),
        TREE_STORY(by_what_it_would_get),
        TREE_STORY(it_blocks_nobody),
        TREE_STORY(qos_of_a_partition),
        TREE_STORY(in_another_partition),
        TREE_STORY(a_limit_of_the_qos_instead),
        TREE_STORY(priority_of_a_qos),
        TREE_STORY(what_does_not_hold_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
