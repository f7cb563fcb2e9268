/* The controller's machine gets what it would get from people and nodes: submissions, and reports
 * of batch scripts that ended. Nothing is stored and no node is simulated beyond what the machine
 * hears of it, so that a year passes in seconds; what decides is the daemon's own code. */
#include "base/alloc.h"
#include "model/grammar/signals.h"
#include "model/protocol.h"
#include "sim/replay/inside.h"
#include "sim/replay/site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int64_t wall_us(const struct replay *p)
{
    return (p->epoch + p->now) * USEC_PER_SEC;
}

void replay_failed(struct replay *p, const char *what, int64_t job, const char *why)
{
    if (!p->failed)
        err_set(p->err, ERR_INVALID, "job %lld of the trace %s%s%s", (long long)job, what,
                why ? ": " : "", why ? why : "");
    p->failed = true;
}

/* ---- what it says ---- */

static uint32_t index_of(const struct replay *p, uint64_t job_id)
{
    return (uint32_t)(uintptr_t)map_u64_get(p->by_id, job_id) - 1;
}

static void job_started(struct replay *p, const struct job *j, uint64_t conn)
{
    uint32_t i = index_of(p, j->id);
    struct replayed *r = &p->r->job[i];
    struct live_job *l = &p->job[i];
    l->conn = conn;
    l->attempt = j->attempt;
    r->start = p->now;
    r->end = p->now + p->t->job.v[i].run;
    r->nodes = j->alloc_nodes;
    p->waiting--;
    p->started++;
    /* pyss takes the ends of a second in the order in which the jobs started. */
    endings_push(&p->ends, (struct ending){.at = r->end,
                                           .turn = p->s->rule == RULE_EVENT ? p->started : 0,
                                           .job = i,
                                           .attempt = l->attempt});
    if (p->s->estimates == ESTIMATES_PREDICT && l->limit < p->t->job.v[i].estimate)
        endings_push(&p->corrections,
                     (struct ending){.at = p->now + l->limit, .job = i, .attempt = l->attempt});
    if (p->t->job.v[i].nodelist)
        endings_push(&p->corrections,
                     (struct ending){.at = p->now, .job = i, .attempt = l->attempt});
    nodes_count_take(p, i, j->alloc);
}

/* It must give way to others: it ends now, and may begin anew later. */
static void job_stopped(struct replay *p, uint32_t i)
{
    ASSERT(i < p->t->job.n);
    struct live_job *l = &p->job[i];
    int64_t ran = l->suspended ? p->t->job.v[i].run - l->left : p->now - p->r->job[i].start;
    p->r->lost_s += ran * p->t->job.v[i].procs;
    p->r->job[i].stopped++;
    p->r->job[i].end = 0;
    l->suspended = false;
    l->attempt = 0; /* the end that was expected is void */
    p->waiting++;
    nodes_count_take(p, i, NULL);
}

static void terminate_take(struct replay *p, const struct msg_terminate *m, uint64_t conn)
{
    uint32_t i = index_of(p, m->job_id);
    if (conn == p->job[i].conn && !p->job[i].over && m->attempt == p->job[i].attempt)
        job_stopped(p, i);
    vec_push(&p->released, m->job_id);
    vec_push(&p->released, conn);
    vec_push(&p->released, m->attempt);
}

static void signal_take(struct replay *p, const struct msg_signal *m, uint64_t conn)
{
    uint32_t i = index_of(p, m->job_id);
    struct live_job *l = &p->job[i];
    if (conn != l->conn || l->over || m->attempt != l->attempt)
        return;
    if (m->signal == SIGNAL_STOP && !l->suspended) {
        l->suspended = true;
        l->left = p->r->job[i].end - p->now;
    } else if (m->signal == SIGNAL_CONT && l->suspended) {
        l->suspended = false;
        p->r->job[i].end = p->now + l->left;
        endings_push(&p->ends,
                     (struct ending){.at = p->r->job[i].end, .job = i, .attempt = l->attempt});
    }
}

static void effect_take(struct replay *p, const struct effect *e)
{
    if (e->kind == FX_SEND && e->msg.kind == MSG_LAUNCH) {
        job_started(p, ((const struct msg_launch *)e->msg.body)->job.v, e->conn);
    } else if (e->kind == FX_SEND && e->msg.kind == MSG_TERMINATE) {
        terminate_take(p, e->msg.body, e->conn);
    } else if (e->kind == FX_SEND && e->msg.kind == MSG_SIGNAL) {
        signal_take(p, e->msg.body, e->conn);
    } else if (e->kind == FX_REPLY && e->msg.kind == MSG_SUBMITTED) {
        p->submitted_id = ((const struct msg_submitted *)e->msg.body)->job_id;
    } else if (e->kind == FX_REPLY && e->msg.kind == MSG_DONE) {
        const struct msg_done *d = e->msg.body;
        if (d->refusal)
            p->refusal = arena_strdup(p->r->text, d->detail ? d->detail : "refused");
    }
}

/* ---- what it is told ---- */

static void feed(struct replay *p, struct event ev)
{
    ev.now_us = wall_us(p);
    core_step(p->core, &ev, &p->fx);
    for (size_t i = 0; i < p->fx.n; i++)
        effect_take(p, &p->fx.v[i]);
    effects_reset(&p->fx);
}

static void say(struct replay *p, uint64_t conn, const struct peer *peer, enum message_kind kind,
                const void *body)
{
    struct message m = {.kind = kind, .seq = ++p->seq, .body = body};
    feed(p, (struct event){.kind = EV_MESSAGE, .conn = conn, .peer = peer, .msg = &m});
}

static void report(struct replay *p, uint64_t conn, enum report_kind kind, uint64_t job_id,
                   uint32_t attempt)
{
    struct msg_report m = {.seq = ++p->seq,
                           .kind = kind,
                           .job_id = job_id,
                           .attempt = attempt,
                           .step_id = STEP_BATCH,
                           .at_us = wall_us(p),
                           .clean = kind == REPORT_EXITED};
    say(p, conn, &p->root, MSG_REPORT, &m);
}

/* Nodes that were told to end a job say that they are clean. */
static void nodes_answer(struct replay *p)
{
    for (size_t i = 0; i < p->released.n; i += 3) {
        uint64_t id = p->released.v[i], conn = p->released.v[i + 1];
        uint32_t attempt = (uint32_t)p->released.v[i + 2];
        const struct live_job *l = &p->job[index_of(p, id)];
        bool script = conn == l->conn && !l->over;
        report(p, conn, script ? REPORT_EXITED : REPORT_RELEASED, id, attempt);
    }
    vec_clear(&p->released);
}

void replay_end(struct replay *p, struct ending *e)
{
    struct live_job *l = &p->job[e->job];
    if (e->reported || l->over || l->suspended || e->attempt != l->attempt ||
        e->at != p->r->job[e->job].end)
        return;
    e->reported = true;
    l->over = true;
    nodes_count_take(p, e->job, NULL);
    report(p, l->conn, REPORT_EXITED, l->id, l->attempt);
    nodes_answer(p);
    prediction_learn(p, e->job);
}

void replay_correct(struct replay *p, uint32_t job)
{
    struct live_job *l = &p->job[job];
    char ids[24];
    l->limit = p->t->job.v[job].estimate;
    struct job_spec spec = {.req = {.time_limit_us = l->limit * USEC_PER_SEC}};
    snprintf(ids, sizeof ids, "%llu", (unsigned long long)l->id);
    struct msg_update_job m = {.ids = ids, .fields = "time_limit_us", .values = {&spec, 1}};
    say(p, 1, &p->root, MSG_UPDATE_JOB, &m);
}

/* ---- submissions ---- */

/* Of a trace: so many processors; in nodes, as few of them as can be. */
static void request_plain(const struct replay *p, const struct trace_job *j, struct job_request *r,
                          struct str *gres)
{
    const struct replay_machine *m = &p->s->machine;
    if (m->lines && m->gpus > 0 && j->gpus > 0) {
        r->ntasks = (int32_t)j->gpus;
        r->cpus_per_task = (int32_t)((j->procs + j->gpus - 1) / j->gpus);
        if (j->gpus_node > 0)
            r->min_nodes = r->max_nodes = (int32_t)((j->gpus + j->gpus_node - 1) / j->gpus_node);
        str_addf(gres, "%lld", (long long)j->gpus);
        r->gpus = str_text(gres);
    } else if (m->lines) {
        r->ntasks = (int32_t)j->procs;
    } else if (m->nodes == 0) {
        r->ntasks = 1;
        r->cpus_per_task = (int32_t)j->procs;
    } else {
        r->ntasks = (int32_t)j->procs;
        r->min_nodes = r->max_nodes = (int32_t)((j->procs + m->node_procs - 1) / m->node_procs);
    }
}

static bool partition_there(const struct replay *p, const char *names)
{
    struct span rest = span_of(names), name;
    while (span_next(&rest, ',', &name)) {
        bool there = false;
        for (size_t i = 0; i < p->config.nparts && !there; i++)
            there = span_is(name, p->config.part[i].name);
        if (!there)
            return false;
    }
    return true;
}

/* Of a site: what its accounting says was asked. */
static void request_site(struct replay *p, const struct trace_job *j, struct job_request *r,
                         struct str *gres)
{
    int64_t nodes = j->nodes > 0 ? j->nodes : 1;
    if (j->partition && partition_there(p, j->partition))
        r->partition = j->partition;
    else if (j->partition)
        p->r->elsewhere++;
    r->ntasks = nodes > 1 ? (int32_t)j->procs : 1;
    r->cpus_per_task = nodes > 1 ? 1 : (int32_t)j->procs;
    if (nodes > j->procs)
        r->ntasks = (int32_t)nodes;
    r->min_nodes = r->max_nodes = (int32_t)nodes;
    r->mem_per_node_mib = (j->mem_mib + nodes - 1) / nodes;
    r->account = j->account;
    r->constraint = j->constraint;
    r->nodelist = j->nodelist;
    if (j->gpus > 0) {
        str_addf(gres, "%s%s%s%lld", j->gpus % nodes ? "" : "gpu:", j->gpu_type ? j->gpu_type : "",
                 j->gpu_type ? ":" : "", (long long)(j->gpus % nodes ? j->gpus : j->gpus / nodes));
        *(j->gpus % nodes ? &r->gpus : &r->gres) = str_text(gres);
    }
}

void replay_submit(struct replay *p, uint32_t i)
{
    ASSERT(i < p->t->job.n);
    const struct trace_job *j = &p->t->job.v[i];
    struct str gres = STR_INIT;
    p->job[i].limit = estimate_of(p, i);
    /* No partition allows all the time since the first submission: that comes when it has
     * started */
    if (j->nodelist)
        p->job[i].limit -= p->t->live_at;
    struct job_spec spec = {.name = "trace",
                            .batch = true,
                            .work_dir = "/",
                            .req = {.time_limit_us = p->job[i].limit * USEC_PER_SEC}};
    if (p->t->site && p->s->machine.config)
        request_site(p, j, &spec.req, &gres);
    else
        request_plain(p, j, &spec.req, &gres);
    if (p->s->policy.backfill == REF_CONSERVATIVE)
        spec.nice = (int32_t)i; /* none is the equal of another: each has its own place */
    struct msg_submit msg = {.specs = {&spec, 1}, .script = {"#!", 2}};
    p->user.uid = j->user >= 0 ? (uint32_t)(1000 + j->user % 100000) : 999;
    p->user.user = j->user_name ? j->user_name : "trace";
    p->submitted_id = 0;
    p->refusal = NULL;
    p->waiting++;
    map_u64_put(p->by_id, p->next_id, (void *)(uintptr_t)(i + 1));
    say(p, 1, &p->user, MSG_SUBMIT, &msg);
    str_done(&gres);
    p->arrived++;
    if (p->submitted_id && p->submitted_id != p->next_id)
        replay_failed(p, "got an id that was not its turn", j->id, NULL);
    p->job[i].id = p->submitted_id;
    if (p->submitted_id) {
        p->next_id++;
        if (p->s->foresee)
            vec_push(&p->unplanned, i);
        if (p->s->depth > 0)
            vec_push(&p->queue, i);
        return;
    }
    p->waiting--;
    p->r->refused++;
    p->r->job[i].refused = p->refusal ? p->refusal : "refused";
    if (!p->s->machine.config)
        replay_failed(p, "was refused", j->id, p->refusal);
}

/* ---- passes ---- */

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct planned_ask {
    int64_t at_us;
};

static void planned_row(void *ctx, const void *record)
{
    const struct job *j = record;
    ((struct planned_ask *)ctx)->at_us = j->state == JOB_PENDING ? j->planned_us : 0;
}

/* What those who came are told of their start. */
static void planned_ask(struct replay *p)
{
    for (size_t k = 0; k < p->unplanned.n; k++) {
        uint32_t i = p->unplanned.v[k];
        struct planned_ask ask = {0};
        char id[24];
        snprintf(id, sizeof id, "%llu", (unsigned long long)p->job[i].id);
        struct msg_query q = {.what = QUERY_JOBS, .ids = id};
        struct view v = {planned_row, &ask};
        struct str detail = STR_INIT;
        core_query(p->core, &q, &p->root, wall_us(p), &v, &detail);
        str_done(&detail);
        if (ask.at_us)
            p->r->job[i].first_planned = ask.at_us / USEC_PER_SEC - p->epoch;
    }
    vec_clear(&p->unplanned);
}

void replay_pass(struct replay *p)
{
    if (core_wake_due(p->core) > wall_us(p))
        return;
    double from = p->s->untimed ? 0 : seconds_now();
    p->pass_mark = ++p->r->passes;
    if (p->s->depth > 0)
        depth_mark(p);
    feed(p, (struct event){.kind = EV_WAKE});
    if (!p->s->untimed) {
        uint32_t ns = (uint32_t)((seconds_now() - from) * 1e9);
        vec_push(&p->r->pass_ns, ns);
    }
    nodes_answer(p);
    if (p->waiting > p->r->max_queue)
        p->r->max_queue = p->waiting;
    planned_ask(p);
}

int64_t replay_wake_due(const struct replay *p)
{
    int64_t due = core_wake_due(p->core);
    return due > INT64_MAX - USEC_PER_SEC ? NEVER
                                          : (due + USEC_PER_SEC - 1) / USEC_PER_SEC - p->epoch;
}

/* ---- birth and death ---- */

static void config_text(const struct replay *p, struct str *out)
{
    const struct replay_machine *m = &p->s->machine;
    if (m->config)
        str_addf(out, "%s\n", m->config);
    str_addf(out, "FirstJobId=1\nMinJobAge=1\nSlurmdTimeout=0\nMaxJobCount=%zu\n",
             p->t->job.n + 1000);
    if (p->s->policy.parameters || !m->config)
        str_addf(out, "%sSchedulerParameters=%s\n",
                 m->config ? "PriorityType=priority/ageing\nSchedulerType=sched/backfill\n" : "",
                 p->s->policy.parameters ? p->s->policy.parameters : "");
    if (m->config) {
        str_add(out, p->s->settings);
        return;
    }
    str_add(out, "SelectTypeParameters=CR_CPU\n");
    str_add(out, p->s->settings);
    if (m->lines)
        str_add(out, m->lines);
    else if (m->nodes == 0)
        str_addf(
            out,
            "NodeName=pool Sockets=1 CoresPerSocket=%lld ThreadsPerCore=1 RealMemory=1000000\n",
            (long long)m->procs);
    else
        str_addf(out,
                 "NodeName=n[0001-%04lld] Sockets=1 CoresPerSocket=%lld ThreadsPerCore=1 "
                 "RealMemory=1000000\n",
                 (long long)m->nodes, (long long)m->node_procs);
    str_add(out, "PartitionName=all Nodes=ALL Default=YES MaxTime=UNLIMITED State=UP\n");
}

/* Nodes are said to share a machine, so that they have what is configured and need not report
 * it. */
static void nodes_greet(struct replay *p)
{
    for (size_t i = 0; i < p->config.nnodes; i++) {
        struct node n = {
            .name = p->config.node[i].name, .is_virtual = true, .version = REMUDA_VERSION};
        struct msg_node_hello m = {.node = {&n, 1},
                                   .pid = 1,
                                   .protocol = PROTOCOL_NOW,
                                   .protocol_oldest = PROTOCOL_OLDEST};
        say(p, NODE_CONN + i, &p->root, MSG_NODE_HELLO, &m);
    }
}

bool machine_start(struct replay *p)
{
    struct str text = STR_INIT;
    config_text(p, &text);
    bool ok = config_parse(str_text(&text), p->s->machine.path ? p->s->machine.path : "trace",
                           p->s->machine.config ? site_include : NULL, (void *)p->s->machine.path,
                           &p->config, p->err);
    str_done(&text);
    if (!ok)
        return false;
    p->core = core_new(1, "sim");
    effects_init(&p->fx);
    feed(p, (struct event){.kind = EV_CONFIG, .config = &p->config});
    core_loaded(p->core, wall_us(p), &p->fx);
    effects_reset(&p->fx);
    core_set_order(p->core, &p->hook);
    nodes_greet(p);
    nodes_count_start(p);
    return true;
}

void machine_stop(struct replay *p)
{
    if (!p->core)
        return;
    nodes_count_end(p);
    core_free(p->core);
    effects_done(&p->fx);
    config_done(&p->config);
}
