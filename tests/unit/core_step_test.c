/* Steps of an allocation: made, waiting, ending, lost and found again. The nodes are told by
 * hand. */
#include "core_help.h"

#define SRUN 7000u /* connections of commands are numbered from here */

/* ---- people and nodes ---- */

static const void *heard(uint64_t conn, enum message_kind kind)
{
    for (size_t i = 0; i < w.fx.n; i++)
        if (w.fx.v[i].kind == FX_REPLY && w.fx.v[i].conn == conn && w.fx.v[i].msg.kind == kind)
            return w.fx.v[i].msg.body;
    return NULL;
}

/* An allocation of `nodes` nodes with 8 CPUs each. */
static uint64_t salloc(int32_t nodes)
{
    struct job_spec s = a_job("alloc");
    s.batch = false;
    s.req.min_nodes = s.req.max_nodes = nodes;
    s.req.ntasks = 8 * nodes;
    s.req.mem_per_node_mib = 1000;
    return submit(s);
}

static struct msg_create_step a_step(uint64_t job_id, struct job_spec *spec, int32_t tasks)
{
    *spec = (struct job_spec){.name = "true", .req = {.ntasks = tasks}};
    return (struct msg_create_step){.job_id = job_id, .spec = {spec, 1}, .address = "@x"};
}

/* The step made; NULL if it waits or was refused. */
static const struct step *srun(uint64_t conn, const struct msg_create_step *m)
{
    say(conn, MSG_CREATE_STEP, m);
    const struct msg_step_created *made = heard(conn, MSG_STEP_CREATED);
    return made ? made->step.v : NULL;
}

static const struct step *srun_tasks(uint64_t conn, uint64_t job_id, int32_t tasks)
{
    struct job_spec spec;
    struct msg_create_step m = a_step(job_id, &spec, tasks);
    return srun(conn, &m);
}

static const struct step *srun_exact(uint64_t conn, uint64_t job_id, int32_t tasks)
{
    struct job_spec spec;
    struct msg_create_step m = a_step(job_id, &spec, tasks);
    m.exact = true;
    return srun(conn, &m);
}

static void node_says(int n, uint64_t id, int64_t step_id, enum report_kind kind, int32_t status)
{
    report(n, (struct msg_report){.kind = (int32_t)kind,
                                  .job_id = id,
                                  .attempt = job(id)->attempt,
                                  .step_id = step_id,
                                  .exit_status = status});
}

static void ends(int n, uint64_t id, int64_t step_id, int32_t status)
{
    node_says(n, id, step_id, REPORT_EXITED, status);
}

static size_t running(uint64_t id)
{
    return count((struct msg_query){.what = QUERY_STEPS, .ids = ids_of(id)});
}

static const struct step *row(uint64_t id, int64_t step_id)
{
    const struct step *found = NULL;
    for (size_t i = 0; i < w.store.n; i++) {
        const struct step *s = w.store.v[i].record;
        if (w.store.v[i].table == TABLE_STEP && s->job_id == id && s->step_id == step_id)
            found = s;
    }
    assert_non_null(found);
    return found;
}

static void hang_up(uint64_t conn)
{
    effects_reset(&w.fx);
    step((struct event){.kind = EV_CLOSED, .conn = conn});
    settle(0);
}

static size_t told(int n, enum message_kind kind)
{
    size_t k = 0;
    for (size_t i = 0; i < w.fx.n; i++)
        k +=
            w.fx.v[i].kind == FX_SEND && w.fx.v[i].conn == CONN_OF(n) && w.fx.v[i].msg.kind == kind;
    return k;
}

/* ---- making and ending ---- */

static void a_step_runs_and_ends(void **unused)
{
    (void)unused;
    uint64_t id = salloc(2);
    const struct step *s = srun_tasks(SRUN, id, 4);
    assert_non_null(s);
    assert_int_equal(s->step_id, 0);
    assert_int_equal(s->ntasks, 4);
    assert_int_equal(s->node_count, 2);
    assert_int_equal(s->cpus, 16);
    assert_string_equal(
        s->layout, "n1 cpus=0-7 mem=1000 tasks=2 ids=0,1; n2 cpus=0-7 mem=1000 tasks=2 ids=2,3");
    assert_string_equal(s->master_addr, "n1");
    assert_in_range(s->master_port, 20000, 29999);
    assert_int_equal(told(1, MSG_LAUNCH), 1);
    assert_int_equal(told(2, MSG_LAUNCH), 1);
    assert_int_equal(running(id), 1);
    ends(1, id, 0, 0);
    assert_null(heard(SRUN, MSG_STEP_ENDED));
    assert_int_equal(running(id), 1);
    ends(2, id, 0, status_of_code(3));
    const struct msg_step_ended *e = heard(SRUN, MSG_STEP_ENDED);
    assert_non_null(e);
    assert_int_equal(((const struct step *)e->step.v)->exit_status, status_of_code(3));
    assert_int_equal(((const struct step *)e->step.v)->state, JOB_FAILED);
    assert_int_equal(running(id), 0);
    assert_int_equal(state(id), JOB_RUNNING);
    assert_int_equal(job(id)->derived_exit_status, status_of_code(3));
    assert_int_equal(srun_tasks(SRUN, id, 1)->step_id, 1);
}

/* How the launch tells the node to bind the tasks of a step whose command said `asked`. */
static const char *bound(uint64_t id, const char *asked)
{
    struct job_spec spec;
    struct msg_create_step m = a_step(id, &spec, 2);
    spec.cpu_bind = asked;
    assert_non_null(srun(SRUN, &m));
    for (size_t i = 0; i < w.fx.n; i++)
        if (w.fx.v[i].kind == FX_SEND && w.fx.v[i].msg.kind == MSG_LAUNCH) {
            const struct msg_launch *l = w.fx.v[i].msg.body;
            const struct msg_create_step *create = l->create.v;
            const char *text = ((const struct job_spec *)create->spec.v)->cpu_bind;
            int64_t step_id = ((const struct step *)l->step.v)->step_id;
            const char *kept = text ? arena_strdup(w.a, text) : NULL;
            ends(1, id, step_id, 0);
            ends(2, id, step_id, 0);
            return kept;
        }
    fail();
    return NULL;
}

static void cpu_bind_set(const char *names, const char *value)
{
    struct peer asks = w.peer;
    struct node v = {.cpu_bind = value};
    struct msg_update_node m = {.names = names, .fields = "cpu_bind", .values = {&v, 1}};
    am_olga();
    say(1, MSG_UPDATE_NODE, &m);
    w.peer = asks;
    assert_int_equal(refusal(), REFUSE_NONE);
}

static void nodes_that_agree_bind_what_nobody_asked_to_bind(void **unused)
{
    (void)unused;
    uint64_t id = salloc(2);
    assert_null(bound(id, NULL));
    cpu_bind_set("n1", "cores");
    assert_null(bound(id, NULL));
    cpu_bind_set("n2", "cores");
    assert_string_equal(bound(id, NULL), "cores");
    assert_string_equal(bound(id, "verbose"), "verbose,cores");
    assert_string_equal(bound(id, "map_cpu:0,1"), "map_cpu:0,1");
    cpu_bind_set("n[1-2]", NULL);
    assert_null(bound(id, NULL));
}

static void signals_outrank_codes(void **unused)
{
    (void)unused;
    uint64_t id = salloc(2);
    srun_tasks(SRUN, id, 2);
    ends(1, id, 0, 9);
    ends(2, id, 0, status_of_code(5));
    assert_int_equal(row(id, 0)->exit_status, 9);
}

static void usage_is_summed_over_nodes(void **unused)
{
    (void)unused;
    uint64_t id = salloc(2);
    srun_tasks(SRUN, id, 4);
    struct step used = {.cpu_user_us = 100,
                        .max_rss_bytes = 50,
                        .ave_rss_bytes = 40,
                        .read_bytes = 7,
                        .min_cpu_us = 30};
    report(
        1,
        (struct msg_report){
            .kind = REPORT_EXITED, .job_id = id, .attempt = 1, .step_id = 0, .usage = {&used, 1}});
    restart(CONF);
    for (int i = 3; i <= 4; i++)
        hello(i);
    hello(1);
    struct held held = {.job_id = id, .attempt = 1, .step_id = 0};
    hello_holding(2, &held, 1);
    am_alice();
    assert_int_equal(running(id), 1);
    used = (struct step){.cpu_user_us = 11,
                         .max_rss_bytes = 90,
                         .max_rss_task = 3,
                         .ave_rss_bytes = 60,
                         .read_bytes = 1,
                         .min_cpu_us = 10};
    report(
        2,
        (struct msg_report){
            .kind = REPORT_USAGE, .job_id = id, .attempt = 1, .step_id = 0, .usage = {&used, 1}});
    report(
        2,
        (struct msg_report){
            .kind = REPORT_EXITED, .job_id = id, .attempt = 1, .step_id = 0, .usage = {&used, 1}});
    const struct step *s = row(id, 0);
    assert_int_equal(s->cpu_user_us, 111);
    assert_int_equal(s->max_rss_bytes, 90);
    assert_int_equal(s->max_rss_task, 3);
    assert_string_equal(s->max_rss_node, "n2");
    assert_int_equal(s->ave_rss_bytes, 50);
    assert_int_equal(s->read_bytes, 8);
    assert_int_equal(s->min_cpu_us, 10);
    assert_int_equal(s->state, JOB_COMPLETED);
    assert_int_equal(job(id)->cpu_user_us, 111);
}

static void a_report_that_is_repeated_counts_once(void **unused)
{
    (void)unused;
    uint64_t id = salloc(1);
    struct step used = {.cpu_user_us = 100};
    srun_tasks(SRUN, id, 1);
    for (int i = 0; i < 2; i++)
        report(1, (struct msg_report){.kind = REPORT_EXITED,
                                      .job_id = id,
                                      .attempt = 1,
                                      .step_id = 0,
                                      .usage = {&used, 1}});
    assert_int_equal(row(id, 0)->cpu_user_us, 100);
    assert_int_equal(job(id)->cpu_user_us, 100);
    assert_int_equal(sent(FX_SEND, MSG_REPORT_ACK), 1);
}

static size_t effects_of(enum effect_kind kind, int which)
{
    size_t n = 0;
    for (size_t i = 0; i < w.fx.n; i++)
        n += w.fx.v[i].kind == kind &&
             (kind == FX_STORE ? (int)w.fx.v[i].table : (int)w.fx.v[i].msg.kind) == which;
    return n;
}

/* Its row is written once for all of them, and no report is acknowledged before. */
static void ends_of_many_nodes_are_gathered(void **unused)
{
    (void)unused;
    uint64_t id = salloc(4);
    srun_tasks(SRUN, id, 4);
    am_root();
    effects_reset(&w.fx);
    for (int n = 1; n <= 3; n++) {
        struct msg_report m = {
            .kind = REPORT_EXITED, .seq = (uint64_t)n, .job_id = id, .attempt = 1, .step_id = 0};
        struct message said = {.kind = MSG_REPORT, .body = &m};
        step((struct event){.kind = EV_MESSAGE, .conn = CONN_OF(n), .peer = &w.peer, .msg = &said});
    }
    assert_int_equal(effects_of(FX_SEND, MSG_REPORT_ACK), 0);
    assert_int_equal(effects_of(FX_STORE, TABLE_STEP), 0);
    assert_int_equal(core_wake_due(w.c), 0);
    settle(0);
    assert_int_equal(effects_of(FX_SEND, MSG_REPORT_ACK), 3);
    assert_int_equal(effects_of(FX_STORE, TABLE_STEP), 1);
    assert_string_equal(row(id, 0)->ended_nodes, "n[1-3]");
    restart(CONF);
    struct held there = {.job_id = id, .attempt = 1, .step_id = 0};
    for (int n = 1; n <= 4; n++)
        hello_holding(n, &there, n == 4);
    assert_int_equal(row(id, 0)->state, JOB_RUNNING);
    ends(4, id, 0, 0);
    assert_int_equal(row(id, 0)->state, JOB_COMPLETED);
}

/* ---- sharing ---- */

static void a_second_step_waits_for_the_first(void **unused)
{
    (void)unused;
    uint64_t id = salloc(1);
    assert_non_null(srun_tasks(SRUN, id, 1));
    assert_null(srun_tasks(SRUN + 1, id, 1));
    assert_non_null(heard(SRUN + 1, MSG_STEP_PENDING));
    assert_null(srun_tasks(SRUN + 2, id, 1));
    ends(1, id, 0, 0);
    assert_non_null(heard(SRUN + 1, MSG_STEP_CREATED));
    assert_null(heard(SRUN + 2, MSG_STEP_CREATED));
    ends(1, id, 1, 0);
    assert_non_null(heard(SRUN + 2, MSG_STEP_CREATED));
}

static void exact_steps_run_side_by_side(void **unused)
{
    (void)unused;
    uint64_t id = salloc(1);
    const struct step *s = srun_exact(SRUN, id, 4);
    assert_string_equal(s->layout, "n1 cpus=0-3 mem=1000 tasks=4 ids=0-3");
    s = srun_exact(SRUN + 1, id, 3);
    assert_string_equal(s->layout, "n1 cpus=4-6 mem=1000 tasks=3 ids=0-2");
    assert_null(srun_exact(SRUN + 2, id, 2));
    s = srun_exact(SRUN + 3, id, 1);
    assert_string_equal(s->layout, "n1 cpus=7 mem=1000 tasks=1 ids=0");
    ends(1, id, 0, 0);
    assert_non_null(heard(SRUN + 2, MSG_STEP_CREATED));
}

static void a_step_with_memory_of_its_own_leaves_less_to_others(void **unused)
{
    (void)unused;
    uint64_t id = salloc(1);
    struct job_spec spec;
    struct msg_create_step m = a_step(id, &spec, 1);
    m.exact = true;
    spec.req.mem_per_node_mib = 600;
    assert_string_equal(srun(SRUN, &m)->layout, "n1 cpus=0 mem=600 tasks=1 ids=0");
    assert_null(srun(SRUN + 1, &m));
    assert_non_null(heard(SRUN + 1, MSG_STEP_PENDING));
    spec.req.mem_per_node_mib = 400;
    assert_non_null(srun(SRUN + 2, &m));
    spec.req.mem_per_node_mib = 0;
    assert_non_null(srun(SRUN + 3, &m));
    spec.req.mem_per_node_mib = 1200;
    assert_null(srun(SRUN + 4, &m));
    assert_int_equal(refusal(), REFUSE_MEMORY);
}

static void steps_that_overlap_take_nothing_away(void **unused)
{
    (void)unused;
    uint64_t id = salloc(1);
    struct job_spec spec;
    struct msg_create_step m = a_step(id, &spec, 1);
    m.overlap = true;
    assert_non_null(srun_tasks(SRUN, id, 8));
    assert_non_null(srun(SRUN + 1, &m));
    m = a_step(id, &spec, 1);
    m.interactive = true;
    assert_int_equal(srun(SRUN + 2, &m)->step_id, STEP_INTERACTIVE);
    ends(1, id, 0, 0);
    assert_non_null(srun_tasks(SRUN, id, 8));
}

static void now_or_never(void **unused)
{
    (void)unused;
    uint64_t id = salloc(1);
    struct job_spec spec;
    struct msg_create_step m = a_step(id, &spec, 1);
    srun_tasks(SRUN, id, 1);
    m.immediate = true;
    assert_null(srun(SRUN + 1, &m));
    assert_int_equal(refusal(), REFUSE_UNAVAILABLE);
}

static void a_wish_goes_with_its_command(void **unused)
{
    (void)unused;
    uint64_t id = salloc(1);
    srun_tasks(SRUN, id, 1);
    srun_tasks(SRUN + 1, id, 1);
    hang_up(SRUN + 1);
    ends(1, id, 0, 0);
    assert_int_equal(running(id), 0);
}

static void what_can_never_be_is_refused(void **unused)
{
    (void)unused;
    uint64_t id = salloc(1);
    struct job_spec spec;
    struct msg_create_step m = a_step(id, &spec, 2);
    spec.req.min_nodes = 2;
    assert_null(srun(SRUN, &m));
    assert_int_equal(refusal(), REFUSE_TOO_MANY_CPUS);
    assert_string_equal(answer()->detail, "2 nodes are asked for; job 1 has 1: n1");
    assert_null(srun_tasks(SRUN, id, 9));
    assert_int_equal(refusal(), REFUSE_TOO_MANY_CPUS);
    m = a_step(id, &spec, 1);
    spec.req.nodelist = "n3";
    assert_null(srun(SRUN, &m));
    assert_int_equal(refusal(), REFUSE_NODE_CONFIG);
    m = a_step(id, &spec, 1);
    spec.sample_s_plus1 = 1; /* no samples: the memory it asked for could not be watched */
    assert_null(srun(SRUN, &m));
    assert_int_equal(refusal(), REFUSE_ACCOUNTING_FREQUENCY);
    m = a_step(id, &spec, 1);
    spec.req.gres = "gpu:1";
    assert_null(srun(SRUN, &m));
    assert_int_equal(refusal(), REFUSE_GRES);
    assert_null(srun_tasks(SRUN, 99, 1));
    assert_int_equal(refusal(), REFUSE_INVALID_JOB_ID);
    am_bob();
    assert_null(srun_tasks(SRUN, id, 1));
    assert_int_equal(refusal(), REFUSE_ACCESS_DENIED);
    am_alice();
    struct job_spec held = a_job("held");
    held.hold = true;
    assert_null(srun_tasks(SRUN, submit(held), 1));
    assert_int_equal(refusal(), REFUSE_JOB_PENDING);
    cancel(ids_of(id));
    assert_null(srun_tasks(SRUN, id, 1));
    assert_int_equal(refusal(), REFUSE_ALREADY_DONE);
}

/* ---- ends that come from outside ---- */

static const struct msg_terminate *terminate_sent(void)
{
    const struct msg_terminate *t = NULL;
    for (size_t i = 0; i < w.fx.n; i++)
        if (w.fx.v[i].kind == FX_SEND && w.fx.v[i].msg.kind == MSG_TERMINATE)
            t = w.fx.v[i].msg.body;
    return t;
}

/* srun gives up its step when it has the job's SIGTERM: that must not make a cancelled job of one
 * that is sent back. */
static void a_cancelled_step_is_not_a_cancelled_job(void **unused)
{
    (void)unused;
    struct job_spec held = a_job("held");
    held.hold = true;
    uint64_t waits = submit(held), id = submit(a_job("again"));
    assert_int_equal(cancel(arena_printf(w.a, "%llu.0", (unsigned long long)waits)),
                     REFUSE_ALREADY_DONE);
    assert_int_equal(state(waits), JOB_PENDING);
    srun_tasks(SRUN, id, 1);
    control(ids_of(id), ACTION_REQUEUE);
    assert_int_equal(state(id), JOB_REQUEUED);
    assert_int_equal(cancel(arena_printf(w.a, "%llu.0", (unsigned long long)id)),
                     REFUSE_ALREADY_DONE);
    assert_int_equal(state(id), JOB_REQUEUED);
}

/* A list of steps ends those steps, each of its own job. */
static void steps_of_a_list_are_cancelled_alone(void **unused)
{
    (void)unused;
    uint64_t a = submit(a_job("a")), b = submit(a_job("b"));
    srun_tasks(SRUN, a, 1);
    srun_tasks(SRUN + 1, b, 1);
    assert_int_equal(
        cancel(arena_printf(w.a, "%llu.0,%llu.0", (unsigned long long)a, (unsigned long long)b)),
        REFUSE_NONE);
    assert_int_equal(sent(FX_SEND, MSG_TERMINATE), 2);
    assert_true(terminate_sent()->only_step);
    assert_int_equal(state(a), JOB_RUNNING);
    assert_int_equal(state(b), JOB_RUNNING);
}

static void a_step_is_cancelled_alone(void **unused)
{
    (void)unused;
    uint64_t id = salloc(2);
    srun_tasks(SRUN, id, 2);
    assert_int_equal(cancel("1.0"), REFUSE_NONE);
    assert_int_equal(sent(FX_SEND, MSG_TERMINATE), 2);
    const struct msg_terminate *t = NULL;
    for (size_t i = 0; i < w.fx.n; i++)
        if (w.fx.v[i].msg.kind == MSG_TERMINATE)
            t = w.fx.v[i].msg.body;
    assert_true(t->only_step);
    assert_int_equal(t->step_id, 0);
    ends(1, id, 0, 15);
    ends(2, id, 0, 15);
    assert_int_equal(row(id, 0)->state, JOB_CANCELLED);
    assert_int_equal(state(id), JOB_RUNNING);
    assert_int_equal(cancel("1.0"), REFUSE_ALREADY_DONE);
    assert_int_equal(cancel("1.7"), REFUSE_INVALID_JOB_ID);
}

static void a_step_has_a_limit_of_its_own(void **unused)
{
    (void)unused;
    uint64_t id = salloc(1);
    struct job_spec spec;
    struct msg_create_step m = a_step(id, &spec, 1);
    spec.req.time_limit_us = MIN;
    srun(SRUN, &m);
    pass(59 * SEC);
    assert_int_equal(sent(FX_SEND, MSG_TERMINATE), 0);
    pass(2 * SEC);
    assert_int_equal(sent(FX_SEND, MSG_TERMINATE), 1);
    ends(1, id, 0, 15);
    assert_int_equal(row(id, 0)->state, JOB_TIMEOUT);
    assert_string_equal(((const struct msg_step_ended *)heard(SRUN, MSG_STEP_ENDED))->detail,
                        "DUE TO TIME LIMIT");
    assert_int_equal(state(id), JOB_RUNNING);
}

static void suspended_time_is_not_counted(void **unused)
{
    (void)unused;
    uint64_t id = salloc(1);
    struct job_spec spec;
    struct msg_create_step m = a_step(id, &spec, 1);
    spec.req.time_limit_us = 2 * MIN;
    srun(SRUN, &m);
    pass(MIN);
    am_root();
    control(ids_of(id), ACTION_SUSPEND);
    am_alice();
    assert_null(srun_exact(SRUN + 1, id, 1)); /* it waits */
    pass(3 * MIN);
    assert_int_equal(sent(FX_SEND, MSG_TERMINATE), 0);
    am_root();
    control(ids_of(id), ACTION_RESUME);
    pass(59 * SEC);
    assert_int_equal(sent(FX_SEND, MSG_TERMINATE), 0);
    pass(2 * SEC);
    assert_int_equal(sent(FX_SEND, MSG_TERMINATE), 1);
    ends(1, id, 0, 15);
    assert_int_equal(row(id, 0)->suspended_us, 3 * MIN);
    assert_non_null(heard(SRUN + 1, MSG_STEP_CREATED));
}

static void a_command_that_is_gone_takes_its_step_along(void **unused)
{
    (void)unused;
    uint64_t id = salloc(1);
    srun_tasks(SRUN, id, 1);
    hang_up(SRUN);
    pass(61 * SEC);
    assert_int_equal(sent(FX_SEND, MSG_TERMINATE), 1);
    ends(1, id, 0, 15);
    assert_int_equal(row(id, 0)->state, JOB_CANCELLED);
    assert_int_equal(state(id), JOB_RUNNING);
}

static void who_comes_back_hears_the_end(void **unused)
{
    (void)unused;
    uint64_t id = salloc(1);
    srun_tasks(SRUN, id, 1);
    hang_up(SRUN);
    struct msg_attach_step m = {
        .job_id = id, .step_id = 0, .hold = true, .address = "@y", .key = "k"};
    say(SRUN + 1, MSG_ATTACH_STEP, &m);
    assert_non_null(heard(SRUN + 1, MSG_STEP_CREATED));
    assert_int_equal(told(1, MSG_STREAM_TO), 1);
    pass(2 * MIN);
    assert_int_equal(sent(FX_SEND, MSG_TERMINATE), 0);
    ends(1, id, 0, 0);
    assert_non_null(heard(SRUN + 1, MSG_STEP_ENDED));
    say(SRUN + 2, MSG_ATTACH_STEP, &m);
    assert_non_null(heard(SRUN + 2, MSG_STEP_ENDED));
}

static void a_repeated_call_finds_its_step(void **unused)
{
    (void)unused;
    uint64_t id = salloc(1);
    struct job_spec spec;
    struct msg_create_step m = a_step(id, &spec, 1);
    m.key = "secret";
    assert_int_equal(srun(SRUN, &m)->step_id, 0);
    hang_up(SRUN);
    assert_int_equal(srun(SRUN + 1, &m)->step_id, 0);
    assert_int_equal(told(1, MSG_LAUNCH), 1); /* the node was not seen to have it */
    node_says(1, id, 0, REPORT_STARTED, 0);
    assert_int_equal(srun(SRUN + 2, &m)->step_id, 0);
    assert_int_equal(told(1, MSG_LAUNCH), 0);
    struct rows r = ask((struct msg_query){.what = QUERY_STEPS, .ids = ids_of(id)});
    assert_int_equal(((const struct step *)r.row.v[0])->key_hash, 0);
    vec_done(&r.row);
    ends(1, id, 0, 0);
    assert_non_null(heard(SRUN + 2, MSG_STEP_ENDED));
    assert_int_equal(srun(SRUN + 3, &m)->step_id, 0);
    assert_non_null(heard(SRUN + 3, MSG_STEP_ENDED));
}

/* ---- the job ends ---- */

static void a_job_takes_its_steps_along(void **unused)
{
    (void)unused;
    uint64_t id = salloc(3);
    struct job_spec spec;
    struct msg_create_step m = a_step(id, &spec, 2);
    spec.req.nodelist = "n[2-3]";
    srun(SRUN, &m);
    srun_tasks(SRUN + 1, id, 24);
    cancel(ids_of(id));
    assert_int_equal(((const struct msg_done *)heard(SRUN + 1, MSG_DONE))->refusal,
                     REFUSE_ALREADY_DONE);
    assert_int_equal(told(1, MSG_TERMINATE), 0); /* nothing was launched there */
    assert_int_equal(told(2, MSG_TERMINATE), 1);
    assert_int_equal(told(3, MSG_TERMINATE), 1);
    assert_int_equal(state(id), JOB_COMPLETING);
    ends(2, id, 0, 15);
    node_says(2, id, STEP_EXTERN, REPORT_RELEASED, 0);
    assert_int_equal(state(id), JOB_COMPLETING);
    assert_int_equal(node("n2")->alloc_cpus, 0);
    node_says(3, id, STEP_EXTERN, REPORT_RELEASED, 0); /* its end was never said */
    assert_int_equal(state(id), JOB_CANCELLED);
    assert_int_equal(row(id, 0)->state, JOB_CANCELLED);
    assert_int_equal(row(id, 0)->exit_status, 15);
    assert_non_null(heard(SRUN, MSG_STEP_ENDED));
}

static void a_step_that_ended_well_with_its_job_is_completed(void **unused)
{
    (void)unused;
    uint64_t id = salloc(1);
    srun_tasks(SRUN, id, 2);
    cancel(ids_of(id));
    ends(1, id, 0, 0);
    assert_int_equal(row(id, 0)->state, JOB_COMPLETED);
}

static void all_nodes_of_a_batch_job_are_waited_for(void **unused)
{
    (void)unused;
    struct job_spec s = a_job("batch");
    s.req.min_nodes = s.req.max_nodes = 2;
    s.req.ntasks = 16;
    uint64_t id = submit(s);
    srun_tasks(SRUN, id, 16);
    script_ends(id, 0);
    assert_int_equal(state(id), JOB_COMPLETING);
    /* "clean" may have been said before the step came. */
    assert_int_equal(told(1, MSG_TERMINATE), 1);
    assert_int_equal(told(2, MSG_TERMINATE), 1);
    node_says(1, id, STEP_EXTERN, REPORT_RELEASED, 0);
    restart(CONF);
    hello(1);
    hello(3);
    hello(4);
    assert_int_equal(node("n1")->alloc_cpus, 0);
    assert_int_equal(node("n2")->alloc_cpus, 8);
    assert_int_equal(state(id), JOB_COMPLETING);
    hello(2);
    assert_int_equal(state(id), JOB_COMPLETED);
    am_alice();
}

/* ---- nodes and controllers come and go ---- */

static void a_lost_node_ends_a_step_of_a_job_that_goes_on(void **unused)
{
    (void)unused;
    struct job_spec s = a_job("alloc");
    s.batch = false;
    s.no_kill = true;
    s.req.min_nodes = s.req.max_nodes = 3;
    s.req.ntasks = 24;
    uint64_t id = submit(s);
    struct job_spec spec;
    struct msg_create_step m = a_step(id, &spec, 3);
    m.exact = true;
    srun(SRUN, &m);
    m.no_kill = true;
    srun(SRUN + 1, &m);
    gone(2);
    pass(61 * SEC);
    assert_int_equal(state(id), JOB_RUNNING);
    assert_string_equal(job(id)->nodes, "n[1,3]");
    ends(1, id, 0, 15);
    ends(3, id, 0, 15);
    assert_int_equal(row(id, 0)->state, JOB_NODE_FAIL);
    assert_int_equal(running(id), 1);
    ends(1, id, 1, 0);
    ends(3, id, 1, 0);
    assert_int_equal(row(id, 1)->state, JOB_CANCELLED); /* tasks of it were lost: as killed */
}

static void a_lost_launch_is_repeated(void **unused)
{
    (void)unused;
    uint64_t id = salloc(1);
    srun_tasks(SRUN, id, 1);
    gone(1);
    hello(1);
    assert_int_equal(told(1, MSG_LAUNCH), 1);
    struct held held = {.job_id = id, .attempt = 1, .step_id = 0};
    gone(1);
    hello_holding(1, &held, 1);
    assert_int_equal(told(1, MSG_LAUNCH), 0);
    gone(1);
    hello(1); /* it had it, and has it no more */
    assert_int_equal(row(id, 0)->state, JOB_NODE_FAIL);
    assert_non_null(heard(SRUN, MSG_STEP_ENDED));
    assert_int_equal(state(id), JOB_RUNNING);
}

/* A daemon takes along what it had in memory only. */
static void what_a_daemon_had_not_begun_is_launched_again(void **unused)
{
    (void)unused;
    uint64_t id = salloc(2);
    srun_tasks(SRUN, id, 2);
    node_says(2, id, 0, REPORT_STARTED, 0);
    struct held held = {.job_id = id, .attempt = 1, .step_id = 0, .unbegun = true};
    for (int i = 0; i < 2; i++) {
        gone(1);
        hello_holding(1, &held, 1);
        assert_int_equal(told(1, MSG_LAUNCH), 0);
        gone(1);
        hello(1);
        assert_int_equal(told(1, MSG_LAUNCH), 1);
        assert_int_equal(row(id, 0)->state, JOB_RUNNING);
    }
    gone(1);
    hello_holding(1, &held, 1);
    node_says(1, id, 0, REPORT_STARTED, 0);
    gone(1);
    hello(1); /* it had begun */
    assert_int_equal(told(1, MSG_LAUNCH), 0);
    ends(2, id, 0, 0);
    assert_int_equal(row(id, 0)->state, JOB_NODE_FAIL);
    assert_int_equal(state(id), JOB_RUNNING);
}

/* ---- srun --async ---- */

static uint64_t salloc_with_a_queued_step(void)
{
    struct job_spec spec = {.name = "true", .req = {.ntasks = 2}};
    struct msg_create_step m = {
        .job_id = salloc(2), .spec = {&spec, 1}, .async = true, .tasks = {"tasks", 5}};
    spec.req.min_nodes = spec.req.max_nodes = 2;
    say(SRUN, MSG_CREATE_STEP, &m);
    assert_int_equal(refusal(), REFUSE_NONE);
    return m.job_id;
}

/* Told again until each node has begun it, over restarts of everybody; and then never again. */
static void a_queued_step_begins_once_on_each_node(void **unused)
{
    (void)unused;
    uint64_t id = salloc_with_a_queued_step();
    struct held unbegun = {.job_id = id, .attempt = 1, .step_id = 0, .unbegun = true};
    struct held begun = {.job_id = id, .attempt = 1, .step_id = 0};
    node_says(1, id, 0, REPORT_STARTED, 0);
    restart(CONF);
    hello_holding(1, &begun, 1);
    hello_holding(2, &unbegun, 1);
    assert_int_equal(told(2, MSG_LAUNCH), 0);
    gone(2);
    hello(2); /* its daemon took it along */
    assert_int_equal(told(2, MSG_LAUNCH), 1);
    restart(CONF);
    hello_holding(1, &begun, 1);
    hello(2);
    assert_int_equal(told(2, MSG_LAUNCH), 1);
    node_says(2, id, 0, REPORT_STARTED, 0);
    restart(CONF);
    hello_holding(1, &begun, 1);
    hello(2); /* it had begun there, and the node knows nothing of it any more */
    assert_int_equal(told(2, MSG_LAUNCH), 0);
    assert_int_equal(told(1, MSG_LAUNCH), 0);
    ends(1, id, 0, 0);
    assert_int_equal(row(id, 0)->state, JOB_NODE_FAIL);
}

static void what_was_not_begun_and_is_told_to_end_is_not_launched_again(void **unused)
{
    (void)unused;
    uint64_t id = salloc(1);
    srun_tasks(SRUN, id, 1);
    struct held held = {.job_id = id, .attempt = 1, .step_id = 0, .unbegun = true};
    gone(1);
    hello_holding(1, &held, 1);
    struct msg_cancel end = {.ids = arena_printf(w.a, "%s.0", ids_of(id))};
    say(SRUN + 1, MSG_CANCEL, &end);
    assert_int_equal(refusal(), REFUSE_NONE);
    gone(1);
    hello(1);
    assert_int_equal(told(1, MSG_LAUNCH), 0);
    assert_int_equal(row(id, 0)->state, JOB_CANCELLED);
    assert_int_equal(state(id), JOB_RUNNING);
}

static void an_unknown_step_on_a_node_is_ended(void **unused)
{
    (void)unused;
    uint64_t id = salloc(1);
    struct held held = {.job_id = id, .attempt = 1, .step_id = 5};
    gone(1);
    hello_holding(1, &held, 1);
    assert_int_equal(told(1, MSG_TERMINATE), 1);
    node_says(1, id, 5, REPORT_STARTED, 0);
    assert_int_equal(told(1, MSG_TERMINATE), 1);
    assert_int_equal(running(id), 0);
}

static void steps_outlive_the_controller(void **unused)
{
    (void)unused;
    uint64_t id = salloc(2);
    srun_exact(SRUN, id, 2);
    node_says(1, id, 0, REPORT_STARTED, 0);
    node_says(2, id, 0, REPORT_STARTED, 0);
    ends(1, id, 0, status_of_code(2));
    restart(CONF);
    struct held held = {.job_id = id, .attempt = 1, .step_id = 0};
    hello(1);
    hello_holding(2, &held, 1);
    am_alice();
    assert_int_equal(running(id), 1);
    struct msg_attach_step m = {.job_id = id, .step_id = 0, .hold = true};
    say(SRUN + 1, MSG_ATTACH_STEP, &m);
    assert_string_equal(
        srun_exact(SRUN + 2, id, 16 - 2)->layout,
        "n1 cpus=1-7 mem=1000 tasks=7 ids=0-6; n2 cpus=1-7 mem=1000 tasks=7 ids=7-13");
    ends(2, id, 0, 0);
    const struct msg_step_ended *e = heard(SRUN + 1, MSG_STEP_ENDED);
    assert_non_null(e);
    assert_int_equal(((const struct step *)e->step.v)->exit_status, status_of_code(2));
    assert_int_equal(row(id, 1)->step_id, 1);
}

/* A srun of the run before, on a node that was cut off: it asks for its step 0, and ends it, and
 * means another. */
static void a_command_of_a_former_run_has_nothing_of_this_one(void **unused)
{
    (void)unused;
    uint64_t id = submit(a_job("requeued"));
    srun_exact(SRUN, id, 1);
    am_root();
    control(ids_of(id), ACTION_REQUEUE);
    ends(1, id, 0, 0);
    script_ends(id, 0);
    node_says(1, id, STEP_EXTERN, REPORT_RELEASED, 0);
    pass(3 * MIN);
    assert_int_equal(job(id)->attempt, 2);
    am_alice();
    srun_exact(SRUN + 1, id, 1);
    assert_int_equal(running(id), 1);
    struct msg_attach_step m = {.job_id = id, .step_id = 0, .hold = true, .attempt = 1};
    say(SRUN + 2, MSG_ATTACH_STEP, &m);
    assert_int_equal(refusal(), REFUSE_ALREADY_DONE);
    struct msg_cancel end = {.ids = arena_printf(w.a, "%s.0", ids_of(id)), .attempt = 1};
    say(SRUN + 2, MSG_CANCEL, &end);
    assert_int_equal(refusal(), REFUSE_ALREADY_DONE);
    assert_int_equal(row(id, 0)->state, JOB_RUNNING);
    m.attempt = 2;
    say(SRUN + 3, MSG_ATTACH_STEP, &m);
    assert_non_null(heard(SRUN + 3, MSG_STEP_CREATED));
    end.attempt = 2;
    say(SRUN + 3, MSG_CANCEL, &end);
    assert_int_equal(refusal(), REFUSE_NONE);
}

static void a_step_that_was_never_launched_ends_unless_its_command_comes_back(void **unused)
{
    (void)unused;
    uint64_t id = salloc(1);
    struct job_spec spec;
    struct msg_create_step m = a_step(id, &spec, 1);
    m.exact = true;
    m.key = "one";
    srun(SRUN, &m);
    m.key = "two";
    srun(SRUN + 1, &m);
    restart(CONF); /* before anything was sent */
    hello(1);
    am_alice();
    assert_int_equal(running(id), 2);
    m.key = "one";
    assert_int_equal(srun(SRUN + 2, &m)->step_id, 0);
    assert_int_equal(told(1, MSG_LAUNCH), 1);
    pass(61 * SEC);
    assert_int_equal(running(id), 1);
    assert_int_equal(row(id, 1)->state, JOB_CANCELLED);
}

static void two_steps_on_a_node_have_two_ports(void **unused)
{
    (void)unused;
    configure(CONF "RendezvousPorts=30000-30001\n");
    uint64_t id = salloc(1);
    int32_t a = srun_exact(SRUN, id, 1)->master_port, b = srun_exact(SRUN + 1, id, 1)->master_port;
    assert_in_range(a, 30000, 30001);
    assert_int_equal(a + b, 60001);
    assert_int_equal(srun_exact(SRUN + 2, id, 1)->master_port, 0);
    ends(1, id, 0, 0);
    assert_int_equal(srun_exact(SRUN + 3, id, 1)->master_port, a);
}

static void many_steps_one_after_another(void **unused)
{
    (void)unused;
    uint64_t id = salloc(1);
    for (int64_t i = 0; i < 400; i++) {
        struct step used = {.cpu_user_us = 10};
        assert_int_equal(srun_tasks(SRUN, id, 1)->step_id, i);
        report(1, (struct msg_report){.kind = REPORT_EXITED,
                                      .job_id = id,
                                      .attempt = 1,
                                      .step_id = i,
                                      .usage = {&used, 1}});
        if (i % 100 == 0)
            effects_reset(&w.fx);
    }
    assert_int_equal(job(id)->cpu_user_us, 4000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(a_step_runs_and_ends),
        STORY(nodes_that_agree_bind_what_nobody_asked_to_bind),
        STORY(signals_outrank_codes),
        STORY(usage_is_summed_over_nodes),
        STORY(a_report_that_is_repeated_counts_once),
        STORY(ends_of_many_nodes_are_gathered),
        STORY(a_second_step_waits_for_the_first),
        STORY(exact_steps_run_side_by_side),
        STORY(a_step_with_memory_of_its_own_leaves_less_to_others),
        STORY(steps_that_overlap_take_nothing_away),
        STORY(now_or_never),
        STORY(a_wish_goes_with_its_command),
        STORY(what_can_never_be_is_refused),
        STORY(a_cancelled_step_is_not_a_cancelled_job),
        STORY(steps_of_a_list_are_cancelled_alone),
        STORY(a_step_is_cancelled_alone),
        STORY(a_step_has_a_limit_of_its_own),
        STORY(suspended_time_is_not_counted),
        STORY(a_command_that_is_gone_takes_its_step_along),
        STORY(who_comes_back_hears_the_end),
        STORY(a_repeated_call_finds_its_step),
        STORY(a_job_takes_its_steps_along),
        STORY(a_step_that_ended_well_with_its_job_is_completed),
        STORY(all_nodes_of_a_batch_job_are_waited_for),
        STORY(a_lost_node_ends_a_step_of_a_job_that_goes_on),
        STORY(a_lost_launch_is_repeated),
        STORY(what_a_daemon_had_not_begun_is_launched_again),
        STORY(a_queued_step_begins_once_on_each_node),
        STORY(what_was_not_begun_and_is_told_to_end_is_not_launched_again),
        STORY(an_unknown_step_on_a_node_is_ended),
        STORY(steps_outlive_the_controller),
        STORY(a_command_of_a_former_run_has_nothing_of_this_one),
        STORY(a_step_that_was_never_launched_ends_unless_its_command_comes_back),
        STORY(two_steps_on_a_node_have_two_ports),
        STORY(many_steps_one_after_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
