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

static struct job_spec spec_of(int nodes, int64_t limit_us, const char *partition)
{
    struct job_spec s = a_job("sized");
    s.req.ntasks = 8 * nodes;
    s.req.min_nodes = s.req.max_nodes = nodes;
    s.req.time_limit_us = limit_us;
    s.req.partition = partition;
    return s;
}

static uint64_t sized(int nodes, int64_t limit_us, const char *partition)
{
    return submit(spec_of(nodes, limit_us, partition));
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

static void heads_are(uint64_t head, int64_t first_us)
{
    assert_string_equal(heads(), arena_printf(w.a, "%llu@%lld:main", (unsigned long long)head,
                                              (long long)first_us));
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
    int64_t promised = why_one(head)->planned_us;
    heads_are(head, promised);
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

/* Short work that fits goes before it and moves its start, until the one that it was first promised
 * is past. */
static void first_promise_missed(bool restarts)
{
    uint64_t runs = sized(2, 30 * MIN, "main"), head = sized(4, 4 * HOUR, "main");
    pass(SEC);
    int64_t first_us = why_one(head)->planned_us;
    pass(28 * MIN);
    uint64_t late = sized(2, HOUR, "main");
    assert_int_equal(state(late), JOB_RUNNING);
    assert_true(why_one(head)->planned_us > first_us);
    heads_are(head, first_us);
    pass(3 * MIN);
    script_ends(runs, 0);
    if (restarts)
        again(conf, late);
    uint64_t longer = sized(1, 2 * HOUR, "main"), brief = sized(1, 10 * MIN, "main");
    assert_int_equal(why_one(head)->rank, 1);
    assert_int_equal(state(longer), JOB_PENDING);
    assert_int_equal(state(brief), JOB_RUNNING);
    heads_are(head, first_us);
    script_ends(brief, 0);
    script_ends(late, 0);
    assert_int_equal(state(head), JOB_RUNNING);
}

static void who_misses_its_first_promise_stays_first(void **unused)
{
    first_promise_missed(false);
}

static void and_across_a_restart(void **unused)
{
    first_promise_missed(true);
}

static void each_element_of_an_array_is_promised_anew(void **unused)
{
    struct job_spec s = spec_of(4, 4 * HOUR, "main");
    uint64_t runs = sized(4, HOUR, "main");
    s.array = "1-3";
    uint64_t array = submit(s);
    pass(SEC);
    int64_t first_us = why_one(array)->planned_us;
    heads_are(array, first_us);
    pass(MIN);
    script_ends(runs, 0);
    const char *id = arena_printf(w.a, "%llu@", (unsigned long long)array),
               *first = arena_printf(w.a, "%lld", (long long)first_us);
    assert_ptr_equal(strstr(heads(), id), heads());
    assert_null(strstr(heads(), first));
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
        OPENED(who_misses_its_first_promise_stays_first),
        OPENED(and_across_a_restart),
        OPENED(each_element_of_an_array_is_promised_anew),
        OPENED(without_a_restart),
        OPENED(across_a_restart),
        OPENED(across_a_restart_with_another_configuration),
        OPENED(whoever_waits_across_a_restart),
        OPENED(who_is_gone_is_no_head),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
