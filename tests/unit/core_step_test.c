/* Steps of an allocation: made, waiting for each other, ending by themselves. */
#include "core_step_help.h"

#include "model/limits.h"

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

/* Of its steps a job keeps the highest wait status, as a number: a code is above any signal. */
static void a_job_keeps_the_highest_status_of_its_steps(void **unused)
{
    (void)unused;
    uint64_t id = salloc(1);
    static const int32_t ends_with[] = {9, 15, 1 << 8, 15, 2 << 8};
    for (size_t i = 0; i < ARRAY_LEN(ends_with); i++) {
        assert_non_null(srun_tasks(SRUN, id, 1));
        ends(1, id, (int64_t)i, ends_with[i]);
    }
    assert_int_equal(job(id)->derived_exit_status, 2 << 8);
    uint64_t other = salloc(1);
    assert_non_null(srun_tasks(SRUN, other, 1));
    assert_int_equal(cancel(ids_of(other)), REFUSE_NONE);
    ends(job(other)->batch_host[1] - '0', other, 0, 15);
    assert_int_equal(job(other)->derived_exit_status, 0);
    restart(CONF);
    assert_int_equal(job(id)->derived_exit_status, 2 << 8);
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

/* A node that was given back has no say. */
static void nodes_that_are_left_bind(void **unused)
{
    (void)unused;
    uint64_t id = salloc(3);
    cpu_bind_set("n[2-3]", "cores");
    assert_string_equal(job(id)->nodes, "n[1-3]");
    struct job_spec to = {.req.nodelist = "n[2-3]"};
    struct msg_update_job m = {.ids = ids_of(id), .fields = "nodelist", .values = {&to, 1}};
    say(1, MSG_UPDATE_JOB, &m);
    assert_int_equal(refusal(), REFUSE_NONE);
    assert_string_equal(bound(id, NULL), "cores");
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

static void used_gpus(int node, uint64_t id, enum report_kind kind, struct step used)
{
    report(
        node,
        (struct msg_report){
            .kind = (int32_t)kind, .job_id = id, .attempt = 1, .step_id = 0, .usage = {&used, 1}});
}

/* A node's daemon that was killed knows of GPUs, and of energy, what it saw since. What the node
 * said before stands, whether the controller was there all the time or not. */
static void what_was_said_of_gpus_stands(void **unused)
{
    (void)unused;
    static const struct step first = {.gpu_samples = 9,
                                      .gpu_util_samples = 9,
                                      .gpu_util_max = 80,
                                      .gpu_util_ave = 70,
                                      .gpu_mem_max_bytes = 2 << 20,
                                      .gpu_mem_ave_bytes = 1 << 20,
                                      .energy_mj = 500},
                             fewer = {.gpu_samples = 1, .gpu_mem_max_bytes = 3 << 20},
                             none = {.cpu_user_us = 7};
    for (int node = 1; node <= 2; node++) {
        uint64_t id = salloc(1);
        srun_tasks(SRUN, id, 1);
        used_gpus(node, id, REPORT_USAGE, first);
        if (node == 2) {
            restart(CONF);
            struct held held = {.job_id = id, .attempt = 1, .step_id = 0};
            hello_holding(2, &held, 1);
            am_alice();
        }
        used_gpus(node, id, REPORT_USAGE, fewer);
        used_gpus(node, id, REPORT_EXITED, none);
        const struct step *s = row(id, 0);
        assert_int_equal(s->cpu_user_us, 7);
        assert_int_equal(s->gpu_samples, 9);
        assert_int_equal(s->gpu_util_max, 80);
        assert_int_equal(s->gpu_util_ave, 70);
        assert_int_equal(s->gpu_mem_max_bytes, 3 << 20);
        assert_int_equal(s->gpu_mem_ave_bytes, 1 << 20);
        assert_int_equal(s->energy_mj, 500);
    }
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

/* Those of before count, whose rows are all that is left of them. */
static void a_job_has_so_many_steps_and_no_more(void **unused)
{
    (void)unused;
    uint64_t id = salloc(1);
    struct job_spec spec;
    struct msg_create_step m = a_step(id, &spec, 8);
    assert_int_equal(srun_tasks(SRUN, id, 8)->step_id, 0);
    ends(1, id, 0, 0);
    ((struct step *)row(id, 0))->step_id = LIMIT_STEPS_PER_JOB - 2;
    restart(CONF);
    struct held batch = {.job_id = id, .attempt = 1, .step_id = STEP_BATCH};
    hello_holding(1, &batch, 1);
    am_alice();
    assert_int_equal(srun(SRUN, &m)->step_id, LIMIT_STEPS_PER_JOB - 1);
    assert_null(srun(SRUN + 1, &m));
    assert_int_equal(refusal(), REFUSE_STEP_LIMIT);
    assert_non_null(strstr(answer()->detail, "40000"));
    assert_int_equal(running(id), 1);
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
        STORY(a_job_keeps_the_highest_status_of_its_steps),
        STORY(nodes_that_agree_bind_what_nobody_asked_to_bind),
        STORY(nodes_that_are_left_bind),
        STORY(signals_outrank_codes),
        STORY(usage_is_summed_over_nodes),
        STORY(what_was_said_of_gpus_stands),
        STORY(a_report_that_is_repeated_counts_once),
        STORY(ends_of_many_nodes_are_gathered),
        STORY(a_second_step_waits_for_the_first),
        STORY(exact_steps_run_side_by_side),
        STORY(a_step_with_memory_of_its_own_leaves_less_to_others),
        STORY(steps_that_overlap_take_nothing_away),
        STORY(now_or_never),
        STORY(a_job_has_so_many_steps_and_no_more),
        STORY(a_wish_goes_with_its_command),
        STORY(what_can_never_be_is_refused),
        STORY(two_steps_on_a_node_have_two_ports),
        STORY(many_steps_one_after_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
