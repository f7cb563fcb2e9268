/* scontrol update of partitions, and what it means for waiting jobs. */
#include "core_help.h"

static enum refusal send(struct msg_update_partition m)
{
    struct peer asks = w.peer;
    am_root();
    say(1, MSG_UPDATE_PARTITION, &m);
    w.peer = asks;
    return refusal();
}

static enum refusal change(const char *name, const char *fields, struct partition values)
{
    return send(
        (struct msg_update_partition){.name = name, .fields = fields, .values = {&values, 1}});
}

static void fields_change_and_survive_a_restart(void **unused)
{
    assert_int_equal(change("small", "max_time_us,nodes",
                            (struct partition){.max_time_us = MIN, .nodes = "n[2-3],n2"}),
                     REFUSE_NONE);
    assert_int_equal(part("small")->max_time_us, MIN);
    assert_string_equal(part("small")->nodes, "n[2-3]");
    assert_int_equal(part("small")->total_nodes, 2);
    assert_string_equal(node("n1")->partitions, "main");
    restart(CONF);
    assert_int_equal(part("small")->max_time_us, MIN);
    assert_string_equal(part("small")->nodes, "n[2-3]");
}

static void all_nodes_are_named(void **unused)
{
    assert_int_equal(change("small", "nodes", (struct partition){.nodes = "ALL"}), REFUSE_NONE);
    assert_string_equal(part("small")->nodes, "n[1-4]");
}

static void a_refused_change_changes_nothing(void **unused)
{
    uint64_t before = core_hash(w.c);
    assert_int_equal(change("small", "max_time_us,nodes",
                            (struct partition){.max_time_us = MIN, .nodes = "n[2-9]"}),
                     REFUSE_INVALID_NODE);
    assert_non_null(strstr(answer()->detail, "n5"));
    assert_int_equal(change("small", "max_tme_us", (struct partition){.max_time_us = MIN}),
                     REFUSE_UPDATE);
    assert_int_equal(change("small", "total_cpus", (struct partition){.total_cpus = 1}),
                     REFUSE_UPDATE);
    assert_int_equal(change("none", "max_time_us", (struct partition){.max_time_us = MIN}),
                     REFUSE_INVALID_PARTITION);
    am_alice();
    struct msg_update_partition m = {.name = "small", .remove = true};
    say(1, MSG_UPDATE_PARTITION, &m);
    assert_int_equal(refusal(), REFUSE_ACCESS_DENIED);
    assert_true(core_hash(w.c) == before);
}

static void jobs_come_from_the_hosts_allowed(void **unused)
{
    struct job_spec s = a_job("one");
    s.req.partition = "small";
    assert_int_equal(
        change("small", "alloc_nodes", (struct partition){.alloc_nodes = "login[1-2]"}),
        REFUSE_NONE);
    assert_int_equal(submit(s), 0);
    assert_int_equal(refusal(), REFUSE_PARTITION_ACCESS);
    assert_string_equal(answer()->detail,
                        "jobs of partition small are submitted from login[1-2]; this is login");
    /* Nor do they come there by a change of what was submitted elsewhere. */
    struct job_spec held = a_job("held");
    held.hold = true;
    struct msg_update_job move = {
        .ids = ids_of(submit(held)), .fields = "partition", .values = {&s, 1}};
    say(1, MSG_UPDATE_JOB, &move);
    assert_int_equal(refusal(), REFUSE_PARTITION_ACCESS);
    assert_string_equal(answer()->results.n ? ((const struct result *)answer()->results.v)[0].detail
                                            : "",
                        "jobs of partition small are submitted from login[1-2]; this is login");
    w.peer.host = "login2.example.org";
    assert_int_not_equal(submit(s), 0);
    w.peer.host = "login";
    s.req.partition = "main";
    assert_int_not_equal(submit(s), 0);
}

static void jobs_wait_while_their_partition_is_down(void **unused)
{
    struct job_spec s = a_job("one");
    s.req.partition = "small";
    assert_int_equal(change("small", "state", (struct partition){.state = PART_DOWN}), REFUSE_NONE);
    uint64_t id = submit(s);
    assert_int_equal(job(id)->reason, REASON_PARTITION_DOWN);
    assert_string_equal(why_one(id)->sure_text,
                        "its partition does not let it start, however much is free");
    restart(CONF);
    hello(1);
    assert_int_equal(part("small")->state, PART_DOWN);
    assert_int_equal(job(id)->reason, REASON_PARTITION_DOWN);
    assert_int_equal(change("small", "state", (struct partition){.state = PART_UP}), REFUSE_NONE);
    assert_int_equal(state(id), JOB_RUNNING);
}

static void a_drained_partition_takes_no_new_jobs_but_runs_those_it_has(void **unused)
{
    struct job_spec s = a_job("one");
    s.req.partition = "small";
    s.hold = true;
    uint64_t id = submit(s);
    assert_int_equal(change("small", "state", (struct partition){.state = PART_DRAIN}),
                     REFUSE_NONE);
    assert_int_equal(submit(s), 0);
    assert_int_equal(refusal(), REFUSE_PARTITION_DOWN);
    restart(CONF);
    hello(1);
    assert_int_equal(control(ids_of(id), ACTION_RELEASE), REFUSE_NONE);
    assert_int_equal(state(id), JOB_RUNNING);
}

static void a_limit_raised_lets_waiting_jobs_start(void **unused)
{
    configure("EnforcePartLimits=NO\n" CONF);
    struct job_spec s = a_job("long");
    s.req.time_limit_us = 3 * USEC_PER_HOUR;
    uint64_t id = submit(s);
    assert_int_equal(job(id)->reason, REASON_PARTITION_TIME_LIMIT);
    assert_non_null(job(id)->reason_detail);
    assert_int_equal(
        change("main", "max_time_us", (struct partition){.max_time_us = 4 * USEC_PER_HOUR}),
        REFUSE_NONE);
    assert_int_equal(state(id), JOB_RUNNING);
}

static void there_is_one_default(void **unused)
{
    assert_int_equal(change("small", "is_default", (struct partition){.is_default = true}),
                     REFUSE_NONE);
    assert_false(part("main")->is_default);
    restart(CONF);
    assert_false(part("main")->is_default);
    assert_true(part("small")->is_default);
    for (int i = 1; i <= 4; i++)
        hello(i);
    uint64_t id = submit(a_job("one"));
    assert_string_equal(job(id)->run_partition, "small");
}

static void a_partition_is_made_and_removed(void **unused)
{
    struct partition v = {.nodes = "n4"};
    struct msg_update_partition make = {
        .name = "extra", .create = true, .fields = "nodes", .values = {&v, 1}};
    assert_int_equal(send(make), REFUSE_NONE);
    assert_int_equal(send(make), REFUSE_INVALID_PARTITION);
    /* what a line of the configuration could not name, or would take for defaults */
    static const char *const none[] = {"", "a b", "a,b", "a#", "#", "a\rb", "DEFAULT", "default"};
    for (size_t i = 0; i < ARRAY_LEN(none); i++) {
        make.name = none[i];
        assert_int_equal(send(make), REFUSE_INVALID_PARTITION);
    }
    v.allow_accounts = "a\nProlog=/tmp/p";
    make = (struct msg_update_partition){
        .name = "extra", .fields = "allow_accounts", .values = {&v, 1}};
    assert_int_equal(send(make), REFUSE_UPDATE);
    struct job_spec s = a_job("one");
    s.req.partition = "extra";
    uint64_t id = submit(s);
    assert_string_equal(job(id)->nodes, "n4");
    struct msg_update_partition take = {.name = "extra", .remove = true};
    assert_int_equal(send(take), REFUSE_DISABLED);
    script_ends(id, 0);
    assert_int_equal(send(take), REFUSE_NONE);
    assert_int_equal(submit(s), 0);
    restart(CONF);
    assert_int_equal(count((struct msg_query){.what = QUERY_PARTITIONS}), 2);
}

#define FILE_NOW                                                                                   \
    "ClusterName=test\nOperators=olga\nNodeName=n[1-4] CPUs=8 RealMemory=8000\n"                   \
    "PartitionName=main Nodes=n[1-4] Default=YES State=UP\n"

/* What scontrol set survives a restart; what the file says now is not undone by a row that was made
 * of the old file. */
static void test_a_row_and_a_changed_file(void **unused)
{
    (void)unused;
    am_root();
    struct partition values = {.priority_tier = 7};
    struct msg_update_partition m = {
        .name = "small", .fields = "priority_tier", .values = {&values, 1}};
    say(1, MSG_UPDATE_PARTITION, &m);
    assert_int_equal(refusal(), REFUSE_NONE);
    restart(FILE_NOW "PartitionName=small Nodes=n[1-2] PriorityTier=2 MaxNodes=9 State=UP\n");
    assert_int_equal(part("small")->priority_tier, 7);
    assert_int_equal(part("small")->max_nodes, 9);
    assert_string_equal(part("small")->nodes, "n[1-2]");
    configure(FILE_NOW "PartitionName=small Nodes=n[1-2] PriorityTier=2 MaxNodes=5 State=UP\n");
    settle(0);
    restart(FILE_NOW "PartitionName=small Nodes=n[1-2] PriorityTier=3 MaxNodes=5 State=UP\n");
    assert_int_equal(part("small")->priority_tier, 3); /* read again, the file counts */
}

static void test_a_node_keeps_what_was_set(void **unused)
{
    (void)unused;
    am_root();
    struct node values = {.weight = 42, .features = "big,fast"};
    struct msg_update_node m = {.names = "n1", .fields = "weight,features", .values = {&values, 1}};
    say(1, MSG_UPDATE_NODE, &m);
    assert_int_equal(refusal(), REFUSE_NONE);
    restart(CONF);
    assert_int_equal(node("n1")->weight, 42);
    assert_string_equal(node("n1")->features, "big,fast");
    configure(CONF);
    settle(0);
    restart(CONF);
    assert_int_equal(node("n1")->weight, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(fields_change_and_survive_a_restart),
        STORY(all_nodes_are_named),
        STORY(a_refused_change_changes_nothing),
        STORY(jobs_come_from_the_hosts_allowed),
        STORY(jobs_wait_while_their_partition_is_down),
        STORY(a_drained_partition_takes_no_new_jobs_but_runs_those_it_has),
        STORY(a_limit_raised_lets_waiting_jobs_start),
        STORY(there_is_one_default),
        STORY(a_partition_is_made_and_removed),
        STORY(test_a_row_and_a_changed_file),
        STORY(test_a_node_keeps_what_was_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
