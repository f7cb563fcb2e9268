/* Jobs whose nodes are gone, whose launches fail, and whose controller or store goes and comes back. */
#include "core_help.h"

#include "base/hostlist.h"

/* ---- nodes ---- */

static void a_node_that_is_gone_for_a_moment_loses_nothing(void **unused)
{
    uint64_t id = submit(a_job("one"));
    int n = job(id)->batch_host[1] - '0';
    report(n, (struct msg_report){
                  .kind = REPORT_STARTED, .job_id = id, .attempt = 1, .step_id = STEP_BATCH});
    gone(n);
    pass(30 * SEC);
    struct held held = {.job_id = id, .attempt = 1, .step_id = STEP_BATCH};
    hello_holding(n, &held, 1);
    assert_int_equal(state(id), JOB_RUNNING);
    assert_int_equal(sent(FX_SEND, MSG_TERMINATE), 0);
    assert_int_equal(sent(FX_SEND, MSG_LAUNCH), 0);
    script_ends(id, 0);
    assert_int_equal(state(id), JOB_COMPLETED);
}

static void a_launch_lost_on_its_way_is_sent_again(void **unused)
{
    uint64_t id = submit(a_job("one"));
    int n = job(id)->batch_host[1] - '0';
    gone(n);
    hello(n);
    assert_int_equal(sent(FX_SEND, MSG_LAUNCH), 1);
    assert_int_equal(job(id)->attempt, 1);
}

/* Its daemon waited for the prolog, and took along what it had in memory only. */
static void a_script_that_a_daemon_had_not_begun_is_launched_again(void **unused)
{
    struct job_spec s = a_job("one");
    s.requeue = NO;
    uint64_t id = submit(s);
    int n = job(id)->batch_host[1] - '0';
    struct held held = {.job_id = id, .attempt = 1, .step_id = STEP_BATCH, .unbegun = true};
    for (int i = 0; i < 2; i++) {
        gone(n);
        hello_holding(n, &held, 1);
        assert_int_equal(sent(FX_SEND, MSG_LAUNCH), 0);
        gone(n);
        hello(n);
        assert_int_equal(sent(FX_SEND, MSG_LAUNCH), 1);
        assert_int_equal(state(id), JOB_RUNNING);
    }
    held.unbegun = false;
    gone(n);
    hello_holding(n, &held, 1);
    gone(n);
    hello(n);
    assert_int_equal(sent(FX_SEND, MSG_LAUNCH), 0);
    assert_int_equal(state(id), JOB_NODE_FAIL);
}

static void a_node_gone_too_long_gives_its_jobs_to_others(void **unused)
{
    uint64_t id = submit(a_job("one"));
    int n = job(id)->batch_host[1] - '0';
    const char *name = job(id)->batch_host;
    gone(n);
    pass_awake(61 * SEC);
    assert_int_equal(node(name)->state, NODE_DOWN);
    assert_int_equal(state(id), JOB_RUNNING);
    assert_int_equal(job(id)->attempt, 2);
    assert_string_not_equal(job(id)->batch_host, name);
    assert_null(job(id)->failed_node); /* that is its former run's */
    const struct job *former = NULL;
    for (size_t i = 0; i < w.store.n; i++)
        former = w.store.v[i].table == TABLE_JOB_RUN ? w.store.v[i].record : former;
    assert_string_equal(former->failed_node, name);
    assert_true(former->submit_us < job(id)->submit_us);
    /* It comes back and still holds the former run: that is ended there. */
    struct held held = {.job_id = id, .attempt = 1, .step_id = STEP_BATCH};
    hello_holding(n, &held, 1);
    assert_int_equal(sent(FX_SEND, MSG_TERMINATE), 1);
    assert_int_equal(state(id), JOB_RUNNING);
    assert_int_equal(node(name)->state, NODE_UP);
}

/* One that never had the job says that it still has a run of it, again and again: the job does not
 * wait for that. One that had it is waited for, also after a restart. */
static void a_former_run_is_waited_for_where_it_was(void **unused)
{
    uint64_t id = submit(a_job("one"));
    struct held held = {.job_id = id, .attempt = 1, .step_id = STEP_BATCH};
    int had = job(id)->batch_host[1] - '0';
    for (int round = 0; round < 2; round++) {
        am_alice();
        assert_int_equal(control(ids_of(id), ACTION_REQUEUE_HOLD), REFUSE_NONE);
        script_ends(id, 0);
        assert_int_equal(state(id), JOB_PENDING);
        if (round)
            restart(CONF);
        for (int n = 1; n <= 4; n++)
            if (n != had)
                hello_holding(n, &held, 1);
        assert_int_equal(sent(FX_SEND, MSG_TERMINATE), 1);
        if (round)
            hello_holding(had, &held, 1);
        am_alice();
        assert_int_equal(control(ids_of(id), ACTION_RELEASE), REFUSE_NONE);
        assert_int_equal(state(id), round ? JOB_PENDING : JOB_RUNNING);
        held.attempt = 2;
        had = round ? had : job(id)->batch_host[1] - '0';
    }
    report(had, (struct msg_report){.kind = REPORT_RELEASED, .job_id = id, .attempt = 2});
    assert_int_equal(state(id), JOB_RUNNING);
}

static bool node_in(uint64_t id, int n)
{
    struct hostlist names = HOSTLIST_INIT;
    assert_true(hostlist_parse(&names, job(id)->nodes, NULL));
    bool in = false;
    for (size_t i = 0; i < names.n; i++)
        in |= names.name[i][1] == '0' + n;
    hostlist_done(&names);
    return in;
}

/* It was given up while the job ends elsewhere: what it still has is told to end, and waited for. */
static void who_comes_back_while_others_still_end_is_told(void **unused)
{
    struct job_spec two = a_job("two");
    two.req.min_nodes = two.req.max_nodes = two.req.ntasks = 2;
    uint64_t id = submit(two);
    int first = job(id)->batch_host[1] - '0', other = first == 1 ? 2 : 1;
    for (int n = 4; n > 0; n--) /* the other of the two */
        other = n != first && node_in(id, n) ? n : other;
    gone(other);
    pass_awake(61 * SEC);
    assert_int_equal(state(id), JOB_REQUEUED);
    hello_holding(other, &(struct held){.job_id = id, .attempt = 1}, 1);
    assert_int_equal(sent(FX_SEND, MSG_TERMINATE), 1);
}

static void a_launch_that_fails_is_tried_again_some_times(void **unused)
{
    uint64_t id = submit(a_job("one"));
    int tries = 0;
    while (state(id) == JOB_RUNNING) {
        const struct job *j = job(id);
        assert_true(++tries < 20);
        report(j->batch_host[1] - '0', (struct msg_report){.kind = REPORT_FAILED,
                                                           .job_id = id,
                                                           .attempt = j->attempt,
                                                           .step_id = STEP_BATCH,
                                                           .retry = true,
                                                           .detail = "no home"});
        report(j->batch_host[1] - '0',
               (struct msg_report){.kind = REPORT_RELEASED, .job_id = id, .attempt = j->attempt});
    }
    assert_int_equal(state(id), JOB_PENDING);
    assert_true(job(id)->spec.hold);
    assert_int_equal(tries, 6);
    assert_string_equal(job(id)->reason_detail, "no home");
}

/* A node without room would fail all that waits before another has ended a job. */
static void a_node_that_fails_every_launch_is_drained(void **unused)
{
    const char *bad = NULL;
    uint64_t id = 0;
    for (int i = 0; i < 5; i++) {
        if (i == 0 || i == 2)
            id = submit(a_job("one"));
        bad = bad ? bad : arena_strdup(w.a, job(id)->batch_host);
        assert_string_equal(job(id)->batch_host, bad);
        assert_false(node(bad)->drain);
        uint32_t attempt = job(id)->attempt;
        report(bad[1] - '0', (struct msg_report){.kind = REPORT_FAILED,
                                                 .job_id = id,
                                                 .attempt = attempt,
                                                 .step_id = STEP_BATCH,
                                                 .retry = true,
                                                 .unfit = true,
                                                 .detail = "no room"});
        report(bad[1] - '0',
               (struct msg_report){.kind = REPORT_RELEASED, .job_id = id, .attempt = attempt});
        if (i == 1) { /* one that starts shows that the node is well */
            report(bad[1] - '0', (struct msg_report){.kind = REPORT_STARTED,
                                                     .job_id = id,
                                                     .attempt = job(id)->attempt,
                                                     .step_id = STEP_BATCH});
            script_ends(id, 0);
        }
    }
    assert_true(node(bad)->drain);
    assert_string_equal(node(bad)->reason, "batch job complete failure: no room");
    assert_int_equal(state(id), JOB_RUNNING); /* elsewhere */
    assert_string_not_equal(job(id)->batch_host, bad);
}

/* As Slurm 22.05 does: what may not run again and could not be launched is cancelled; where the
 * shepherd was lost before it began it is a failed node's. */
static void a_launch_that_fails_once_and_for_all(void **unused)
{
    struct job_spec s = a_job("once");
    s.requeue = NO;
    for (int gone = 0; gone < 2; gone++) {
        uint64_t id = submit(s);
        assert_int_equal(state(id), JOB_RUNNING);
        report(job(id)->batch_host[1] - '0', (struct msg_report){.kind = REPORT_FAILED,
                                                                 .job_id = id,
                                                                 .attempt = 1,
                                                                 .step_id = STEP_BATCH,
                                                                 .retry = true,
                                                                 .gone = gone,
                                                                 .detail = "no room"});
        report(job(id)->batch_host[1] - '0',
               (struct msg_report){.kind = REPORT_RELEASED, .job_id = id, .attempt = 1});
        assert_int_equal(state(id), gone ? JOB_NODE_FAIL : JOB_CANCELLED);
        assert_int_equal(job(id)->reason, gone ? REASON_NODE_DOWN : REASON_LAUNCH_FAILED);
        assert_string_equal(job(id)->reason_detail, "no room");
        assert_true(gone ? text_is(job(id)->failed_node, job(id)->batch_host)
                         : !job(id)->failed_node);
    }
}

/* ---- restarts ---- */

static void a_restart_changes_nothing(void **unused)
{
    struct job_spec s = a_job("many");
    s.array = "0-9%2";
    submit(s);
    uint64_t runs = submit(a_wide_job("runs"));
    s = a_job("after");
    s.dependency = arena_printf(w.a, "afterok:%llu", (unsigned long long)runs);
    uint64_t after = submit(s);
    s = a_job("held");
    s.hold = true;
    submit(s);
    uint64_t done = submit(a_job("done"));
    script_ends(done, 0);
    uint64_t before = core_hash(w.c);
    size_t rows = count((struct msg_query){.what = QUERY_JOBS, .states = "all"});
    for (int n = 1; n <= 4; n++)
        gone(n);
    uint64_t without_nodes = core_hash(w.c);
    assert_true(before != without_nodes);
    restart(CONF);
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS, .states = "all"}), rows);
    assert_int_equal(state(runs), JOB_RUNNING);
    assert_int_equal(job(after)->reason, REASON_DEPENDENCY);
    assert_int_equal(node(job(runs)->nodes)->alloc_cpus, 8);
    int n = job(runs)->batch_host[1] - '0';
    struct held held = {.job_id = runs, .attempt = 1, .step_id = STEP_BATCH};
    hello_holding(n, &held, 1);
    assert_int_equal(sent(FX_SEND, MSG_LAUNCH), 0);
    script_ends(runs, 0);
    assert_int_equal(state(runs), JOB_COMPLETED);
    assert_int_equal(state(after), JOB_RUNNING);
}

static void nothing_starts_while_the_store_is_away(void **unused)
{
    struct job_spec s = a_job("one");
    s.hold = true;
    uint64_t id = submit(s);
    step((struct event){.kind = EV_STORE_AWAY, .text = "disk full"});
    assert_int_equal(control(ids_of(id), ACTION_RELEASE), REFUSE_NONE);
    assert_int_equal(state(id), JOB_PENDING);
    assert_int_equal(job(id)->reason, REASON_STORE_AWAY);
    step((struct event){.kind = EV_STORE_BACK});
    wake();
    assert_int_equal(state(id), JOB_RUNNING);
}

/* A controller that was stopped, as one in a machine that stood still: what nodes said meanwhile
 * comes behind the first look. */
static void who_looks_late_hears_first(void **unused)
{
    uint64_t id = submit(a_job("runs"));
    const char *name = job(id)->batch_host;
    (void)unused;
    for (int i = 0; i < 2; i++) {
        w.now += 100 * SEC;
        wake();
        assert_int_equal(node(name)->state, NODE_UP);
        pass(SEC); /* they are heard of: the next time, too */
    }
    assert_int_equal(job(id)->attempt, 1);
    gone(name[1] - '0');
    w.now += 100 * SEC; /* one that does not come back has a third of the time more */
    wake();
    assert_int_equal(node(name)->state, NODE_UP);
    pass(19 * SEC);
    assert_int_equal(node(name)->state, NODE_UP);
    pass(2 * SEC); /* late again, which is no excuse twice */
    assert_int_equal(node(name)->state, NODE_DOWN);
    assert_int_equal(job(id)->attempt, 2);
}

/* It cannot be answered meanwhile, so its silence says nothing. */
static void a_node_is_not_given_up_while_the_store_is_away(void **unused)
{
    uint64_t id = submit(a_job("runs"));
    const char *name = job(id)->batch_host;
    step((struct event){.kind = EV_STORE_AWAY, .text = "disk full"});
    gone(name[1] - '0');
    for (int i = 0; i < 5; i++)
        pass(61 * SEC);
    assert_int_equal(job(id)->attempt, 1);
    assert_int_equal(node(name)->state, NODE_UP);
    step((struct event){.kind = EV_STORE_BACK});
    pass(50 * SEC);
    assert_int_equal(job(id)->attempt, 1);
    pass(10 * SEC);
    assert_int_equal(node(name)->state, NODE_DOWN);
    assert_int_equal(job(id)->attempt, 2);
}

static void equal_histories_give_equal_states(void **unused)
{
    uint64_t hash[2];
    for (int k = 0; k < 2; k++) {
        if (k)
            world_open(CONF, 4);
        for (int i = 0; i < 20; i++)
            submit(i % 3 ? a_job("small") : a_wide_job("wide"));
        pass(3 * MIN);
        for (uint64_t id = 1; id <= 3; id++)
            script_ends(id, 0);
        cancel("7,9");
        hash[k] = core_hash(w.c);
        if (!k)
            world_close();
    }
    assert_true(hash[0] == hash[1]);
}

/* A listing of all jobs in parts shows each once, though some end and some come in between. */
static void a_listing_in_parts_shows_each_once(void **unused)
{
    struct msg_query q = {.what = QUERY_JOBS, .states = "all"};
    struct rows r = {.what = QUERY_JOBS};
    struct view view = {row_take, &r};
    struct query_at at = {0};
    struct str detail = STR_INIT;
    struct job_spec spec = a_job("listed");
    spec.hold = true;
    for (int i = 0; i < 10; i++)
        submit(spec);
    int parts = 0;
    do {
        assert_int_equal(core_query_part(w.c, &q, &w.peer, w.now, &view, &detail, &at, 3),
                         REFUSE_NONE);
        if (parts++ == 1)
            cancel("2,9"), submit(spec);
    } while (at.more);
    core_query_end(&at);
    assert_int_equal(r.row.n, 11);
    for (size_t i = 0; i < r.row.n; i++)
        assert_int_equal(((const struct job *)r.row.v[i])->id, i + 1);
    vec_done(&r.row);
    str_done(&detail);
}

/* ---- a line that goes while the controller is not there ---- */

#define WITHOUT_N1                                                                                 \
    "ClusterName=test\nOperators=olga\nMinJobAge=300\nKillWait=30\nNodeName=n[2-4] CPUs=8 "        \
    "RealMemory=8000\nPartitionName=main Nodes=n[2-4] Default=YES MaxTime=UNLIMITED State=UP\n"

static uint64_t runs_on(const char *nodes, int32_t count)
{
    struct job_spec s = a_job("on");
    s.req.nodelist = nodes;
    s.req.min_nodes = s.req.max_nodes = s.req.ntasks = count;
    s.req.time_limit_us = TIME_UNLIMITED;
    uint64_t id = submit(s);
    report(1, (struct msg_report){
                  .kind = REPORT_STARTED, .job_id = id, .attempt = 1, .step_id = STEP_BATCH});
    assert_int_equal(state(id), JOB_RUNNING);
    return id;
}

/* Its host left with --force, say, and the machine of the controller was started anew: of the jobs
 * there nobody says any more how they end. */
static void who_runs_on_a_node_that_no_line_describes_is_not_forgotten(void **unused)
{
    configure(CONF "PartitionName=long Nodes=n[1-4] Default=YES MaxTime=UNLIMITED\n");
    uint64_t one = runs_on("n1", 1), other = runs_on("n1", 1), wide = runs_on("n[1-2]", 2);
    restart(WITHOUT_N1);
    for (int n = 2; n <= 4; n++)
        hello(n);
    assert_int_equal(state(one), JOB_RUNNING);
    assert_string_equal(node("n1")->reason, "no longer configured");
    assert_true(node("n1")->drain && node("n1")->cpus > 0);
    pass(61 * SEC);
    pass(31 * SEC);
    assert_int_equal(job(one)->restarts, 1);
    assert_int_equal(job(other)->restarts, 1);
    assert_int_not_equal(state(wide), JOB_RUNNING);
    assert_int_equal(count((struct msg_query){.what = QUERY_NODES}), 3);
}

static void such_a_node_speaks_for_its_jobs(void **unused)
{
    configure(CONF "PartitionName=long Nodes=n[1-4] Default=YES MaxTime=UNLIMITED\n");
    uint64_t one = runs_on("n1", 1), other = runs_on("n1", 1);
    restart(WITHOUT_N1);
    struct held held[] = {{.job_id = one, .attempt = 1, .step_id = STEP_BATCH},
                          {.job_id = other, .attempt = 1, .step_id = STEP_BATCH}};
    hello_holding(1, held, 2);
    pass(10 * MIN);
    assert_int_equal(state(other), JOB_RUNNING);
    script_ends(one, 0);
    assert_int_equal(state(one), JOB_COMPLETED);
    configure(CONF); /* the line is back */
    assert_false(node("n1")->drain);
    assert_int_equal(node("n1")->cpus, 8);
    script_ends(other, 0);
    assert_int_equal(state(other), JOB_COMPLETED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(who_runs_on_a_node_that_no_line_describes_is_not_forgotten),
        STORY(such_a_node_speaks_for_its_jobs),
        STORY(a_listing_in_parts_shows_each_once),
        STORY(a_node_that_is_gone_for_a_moment_loses_nothing),
        STORY(a_launch_lost_on_its_way_is_sent_again),
        STORY(a_script_that_a_daemon_had_not_begun_is_launched_again),
        STORY(a_node_gone_too_long_gives_its_jobs_to_others),
        STORY(a_former_run_is_waited_for_where_it_was),
        STORY(who_comes_back_while_others_still_end_is_told),
        STORY(a_launch_that_fails_is_tried_again_some_times),
        STORY(a_node_that_fails_every_launch_is_drained),
        STORY(a_launch_that_fails_once_and_for_all),
        STORY(a_restart_changes_nothing),
        STORY(nothing_starts_while_the_store_is_away),
        STORY(who_looks_late_hears_first),
        STORY(a_node_is_not_given_up_while_the_store_is_away),
        STORY(equal_histories_give_equal_states),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
