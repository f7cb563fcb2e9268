/* Who was first and blocked stays first until it starts, also when the controller is another. */
#include "core_help.h"

#define HOUR USEC_PER_HOUR

static const char conf[] = "ClusterName=test\nOperators=olga\nKillWait=30\n"
                           "NodeName=n[1-4] CPUs=8 RealMemory=8000\n"
                           "PartitionName=main Nodes=n[1-4] Default=YES State=UP\n"
                           "PartitionName=more Nodes=n[1-4] State=UP\n";

static int open_it(void **unused)
{
    world_open(conf, 4);
    return 0;
}

static uint64_t sized(int nodes, int64_t limit_us, const char *partition)
{
    struct job_spec s = a_job("sized");
    s.req.ntasks = 8 * nodes;
    s.req.min_nodes = s.req.max_nodes = nodes;
    s.req.time_limit_us = limit_us;
    s.req.partition = partition;
    return submit(s);
}

static const char *heads(void)
{
    const char *value = "";
    for (size_t i = 0; i < w.store.n; i++) {
        const struct meta *m = w.store.v[i].record;
        if (w.store.v[i].table == TABLE_META && text_is(m->key, "heads"))
            value = m->value;
    }
    return value;
}

static void again(const char *text, uint64_t runs)
{
    restart(text);
    for (int n = 1; n <= 4; n++)
        hello_holding(n, &(struct held){.job_id = runs, .attempt = 1, .step_id = STEP_BATCH}, 1);
}

/* The head waited for its hour; a job of a minute would go before anybody else. */
static void head_first(bool restarts, const char *text)
{
    uint64_t runs = sized(4, 2 * HOUR, "main"), head = sized(4, HOUR, "main");
    pass(61 * MIN);
    assert_string_equal(heads(), arena_printf(w.a, "%llu:main", (unsigned long long)head));
    int64_t promised = why_one(head)->planned_us;
    if (restarts)
        again(text, runs);
    uint64_t brief = sized(4, MIN, "main");
    assert_int_equal(why_one(head)->rank, 1);
    assert_int_equal(why_one(head)->planned_us, promised);
    script_ends(runs, 0);
    assert_int_equal(state(head), JOB_RUNNING);
    assert_int_equal(state(brief), JOB_PENDING);
    script_ends(head, 0);
    script_ends(brief, 0);
}

static void without_a_restart(void **unused)
{
    head_first(false, conf);
}

static void across_a_restart(void **unused)
{
    head_first(true, conf);
}

/* Partitions have other numbers then. */
static void across_a_restart_with_another_configuration(void **unused)
{
    head_first(true, "ClusterName=test\nOperators=olga\nKillWait=30\n"
                     "NodeName=n[1-4] CPUs=8 RealMemory=8000\n"
                     "PartitionName=new Nodes=n[1-4] State=UP\n"
                     "PartitionName=main Nodes=n[1-4] Default=YES State=UP\n");
}

/* Until its nodes are there again nobody is promised a start: who would go before the head else
 * waits in the queue already. */
static void whoever_waits_across_a_restart(void **unused)
{
    for (int late = 0; late < 2; late++) {
        configure(conf);
        uint64_t runs = sized(4, 2 * HOUR, "main"), head = sized(4, HOUR, "main");
        pass(61 * MIN);
        uint64_t brief = sized(4, MIN, "main");
        restart(conf);
        pass(late * 30 * SEC);
        for (int n = 1; n <= 4; n++)
            hello_holding(n, &(struct held){.job_id = runs, .attempt = 1, .step_id = STEP_BATCH},
                          1);
        assert_int_equal(why_one(head)->rank, 1);
        script_ends(runs, 0);
        assert_int_equal(state(head), JOB_RUNNING);
        script_ends(head, 0);
        script_ends(brief, 0);
        pass(MIN);
    }
}

static void who_is_gone_is_no_head(void **unused)
{
    uint64_t runs = sized(4, 2 * HOUR, "main"), head = sized(4, HOUR, "main");
    pass(61 * MIN);
    assert_int_equal(cancel(ids_of(head)), REFUSE_NONE);
    pass(SEC);
    assert_string_equal(heads(), "");
    again(conf, runs);
    uint64_t brief = sized(4, MIN, "main"), longer = sized(4, HOUR, "main");
    script_ends(runs, 0);
    assert_int_equal(state(brief), JOB_RUNNING);
    assert_int_equal(state(longer), JOB_PENDING);
}

#define OPENED(function) cmocka_unit_test_setup_teardown(function, open_it, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        OPENED(without_a_restart),
        OPENED(across_a_restart),
        OPENED(across_a_restart_with_another_configuration),
        OPENED(whoever_waits_across_a_restart),
        OPENED(who_is_gone_is_no_head),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
