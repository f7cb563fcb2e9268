/* The controller's machine gets what it would get from people and nodes: submissions, and reports of batch scripts that ended. Nothing is stored and
 * no node is simulated beyond what the machine hears of it, so that a year passes in seconds; what decides is the daemon's own code.
 *
 * The machine plans when it is woken, so the rule is a matter of when to wake it. Rule E has a quirk of its reference to keep: a job's
 * processors count as free from its estimated end on, even if an arrival of the same second is handled before that end. So what ends just as
 * estimated is reported first, and gets its pass in its turn.
 *
 * The conservative reference keeps a place for every job (profile.h); the machine is told to hold each until its place has come. */
#include "sim/replay.h"

#include "base/alloc.h"
#include "core/core.h"
#include "model/protocol.h"
#include "sim/profile.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EPOCH_S   INT64_C(1500000000) /* when the trace's second 0 is */
#define NODE_CONN 100                 /* of node 0 */
#define NEVER     INT64_MAX

struct ending {
    int64_t at;
    uint32_t job;
    bool reported;
};

struct replay {
    const struct trace *t;
    const struct replay_setup *s;
    struct replay_result *r;
    struct config config;
    struct core *core;
    struct effects fx;
    struct order_hook hook;
    struct peer user, root;
    char user_name[32];
    int64_t now; /* the trace's seconds */
    uint64_t seq;
    uint64_t *attempt_conn; /* by job: connection of its batch host */
    int64_t *limit;         /* by job: what the planner is told, seconds */
    size_t arrived, waiting;
    VEC(struct ending) ends; /* heap by (time, job) */
    VEC(struct ending) now_ending;
    VEC(uint64_t) released; /* job and connection of nodes that were told to end one */
    struct profile plan;
    int64_t *place;      /* conservative: start kept for each job */
    VEC(uint32_t) queue; /* conservative: waiting jobs by arrival */
    struct err *err;
    bool failed;
};

/* ---- ends to come ---- */

static bool ends_before(const struct ending *a, const struct ending *b)
{
    return a->at != b->at ? a->at < b->at : a->job < b->job;
}

static void ends_push(struct replay *p, struct ending e)
{
    vec_push(&p->ends, e);
    size_t i = p->ends.n - 1;
    for (; i > 0 && ends_before(&e, &p->ends.v[(i - 1) / 2]); i = (i - 1) / 2)
        p->ends.v[i] = p->ends.v[(i - 1) / 2];
    p->ends.v[i] = e;
}

static struct ending ends_pop(struct replay *p)
{
    struct ending top = p->ends.v[0], last = p->ends.v[--p->ends.n];
    size_t i = 0, child;
    for (; (child = 2 * i + 1) < p->ends.n; i = child) {
        if (child + 1 < p->ends.n && ends_before(&p->ends.v[child + 1], &p->ends.v[child]))
            child++;
        if (!ends_before(&p->ends.v[child], &last))
            break;
        p->ends.v[i] = p->ends.v[child];
    }
    if (p->ends.n > 0)
        p->ends.v[i] = last;
    return top;
}

/* ---- the machine ---- */

static int64_t wall_us(const struct replay *p)
{
    return (EPOCH_S + p->now) * USEC_PER_SEC;
}

static void failed(struct replay *p, const char *what, uint64_t job, const char *why)
{
    if (!p->failed)
        err_set(p->err, ERR_INVALID, "job %llu of the trace %s%s%s", (unsigned long long)job, what,
                why ? ": " : "", why ? why : "");
    p->failed = true;
}

static void job_started(struct replay *p, const struct job *j)
{
    uint32_t i = (uint32_t)(j->id - 1);
    p->r->job[i].start = p->now;
    p->r->job[i].end = p->now + p->t->job.v[i].run;
    p->r->job[i].nodes = j->alloc_nodes;
    p->waiting--;
    ends_push(p, (struct ending){.at = p->r->job[i].end, .job = i});
}

static void effect_take(struct replay *p, const struct effect *e)
{
    if (e->kind == FX_SEND && e->msg.kind == MSG_LAUNCH) {
        const struct job *j = ((const struct msg_launch *)e->msg.body)->job.v;
        p->attempt_conn[j->id - 1] = e->conn;
        job_started(p, j);
    } else if (e->kind == FX_SEND && e->msg.kind == MSG_TERMINATE) {
        vec_push(&p->released, ((const struct msg_terminate *)e->msg.body)->job_id);
        vec_push(&p->released, e->conn);
    } else if (e->kind == FX_REPLY && e->msg.kind == MSG_DONE) {
        const struct msg_done *d = e->msg.body;
        if (d->refusal)
            failed(p, "was refused", p->arrived + 1, d->detail);
    }
}

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

/* Nodes other than the first of a job that ended say that they are clean. */
static void nodes_answer(struct replay *p)
{
    for (size_t i = 0; i < p->released.n; i += 2) {
        struct msg_report m = {.seq = ++p->seq,
                               .kind = REPORT_RELEASED,
                               .job_id = p->released.v[i],
                               .attempt = 1,
                               .at_us = wall_us(p)};
        say(p, p->released.v[i + 1], &p->root, MSG_REPORT, &m);
    }
    vec_clear(&p->released);
}

static void end_report(struct replay *p, struct ending *e)
{
    struct msg_report m = {.seq = ++p->seq,
                           .kind = REPORT_EXITED,
                           .job_id = e->job + 1,
                           .attempt = 1,
                           .step_id = STEP_BATCH,
                           .at_us = wall_us(p),
                           .clean = true};
    if (e->reported)
        return;
    e->reported = true;
    say(p, p->attempt_conn[e->job], &p->root, MSG_REPORT, &m);
    nodes_answer(p);
}

static void submit(struct replay *p, uint32_t i)
{
    const struct trace_job *j = &p->t->job.v[i];
    const struct replay_machine *m = &p->s->machine;
    struct job_spec spec = {.name = "trace",
                            .batch = true,
                            .work_dir = "/",
                            .req = {.ntasks = 1, .time_limit_us = p->limit[i] * USEC_PER_SEC}};
    if (m->nodes == 0) {
        spec.req.cpus_per_task = (int32_t)j->procs;
    } else {
        spec.req.ntasks = (int32_t)j->procs;
        spec.req.min_nodes = spec.req.max_nodes = (int32_t)((j->procs + m->node_procs - 1) / m->node_procs);
    }
    if (p->s->policy.backfill == REF_CONSERVATIVE)
        spec.nice = (int32_t)i; /* none is the equal of another: each has its own place */
    struct msg_submit msg = {.specs = {&spec, 1}, .script = {"#!", 2}};
    p->user.uid = j->user >= 0 ? (uint32_t)(1000 + j->user % 100000) : 999;
    say(p, 1, &p->user, MSG_SUBMIT, &msg);
    p->arrived++;
    p->waiting++;
}

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void pass(struct replay *p)
{
    if (core_wake_due(p->core) > wall_us(p))
        return;
    double from = p->s->untimed ? 0 : seconds_now();
    p->r->passes++;
    feed(p, (struct event){.kind = EV_WAKE});
    if (!p->s->untimed) {
        uint32_t ns = (uint32_t)((seconds_now() - from) * 1e9);
        vec_push(&p->r->pass_ns, ns);
    }
    if (p->waiting > p->r->max_queue)
        p->r->max_queue = p->waiting;
}

/* ---- orders and places ---- */

static int64_t estimate_of(const struct replay_setup *s, const struct trace_job *j)
{
    int64_t seconds = j->estimate;
    if (s->estimates == ESTIMATES_PERFECT)
        seconds = j->run;
    if (s->estimates == ESTIMATES_FACTOR)
        seconds = (j->run * s->factor + 999) / 1000;
    return seconds > j->run ? seconds : j->run;
}

static bool key(void *ctx, const struct order_job *j, bool passing, int64_t *ret_key)
{
    struct replay *p = ctx;
    size_t i = j->job_id - 1;
    const struct trace_job *t = &p->t->job.v[i];
    *ret_key = ref_key(passing ? p->s->policy.passing : p->s->policy.order, p->limit[i], t->procs, t->submit,
                       p->now);
    return p->s->policy.backfill != REF_CONSERVATIVE || p->place[i] <= p->now;
}

static void started(void *ctx, uint64_t job_id, enum start_why why)
{
    struct replay *p = ctx;
    p->r->job[job_id - 1].why = why;
}

static void place_take(struct replay *p, uint32_t i)
{
    int64_t procs = p->t->job.v[i].procs;
    p->place[i] = profile_earliest(&p->plan, p->now, procs, p->limit[i]);
    profile_add(&p->plan, p->place[i], p->place[i] + p->limit[i], -procs);
}

static void place_give(struct replay *p, uint32_t i, int64_t from)
{
    profile_add(&p->plan, from, p->place[i] + p->limit[i], p->t->job.v[i].procs);
}

/* The job that ended gives back what was kept for it, and every waiting job in turn gives up its place for the earliest there is now. */
static void compress(struct replay *p, uint32_t ended)
{
    size_t kept = 0;
    profile_forget(&p->plan, p->now);
    place_give(p, ended, p->now);
    for (size_t k = 0; k < p->queue.n; k++) {
        uint32_t i = p->queue.v[k];
        if (p->place[i] <= p->now)
            continue;
        place_give(p, i, p->place[i]);
        place_take(p, i);
        p->queue.v[kept++] = i;
    }
    p->queue.n = kept;
    core_set_order(p->core, &p->hook);
}

static int64_t place_next(const struct replay *p)
{
    int64_t next = NEVER;
    for (size_t k = 0; k < p->queue.n; k++)
        if (p->place[p->queue.v[k]] > p->now && p->place[p->queue.v[k]] < next)
            next = p->place[p->queue.v[k]];
    return next;
}

/* ---- one second ---- */

static void ends_gather(struct replay *p)
{
    vec_clear(&p->now_ending);
    while (p->ends.n > 0 && p->ends.v[0].at <= p->now) {
        struct ending e = ends_pop(p);
        vec_push(&p->now_ending, e);
    }
}

static bool arrives_now(const struct replay *p)
{
    return p->arrived < p->t->job.n && p->t->job.v[p->arrived].submit <= p->now;
}

static void second_batch(struct replay *p)
{
    for (size_t i = 0; i < p->now_ending.n; i++)
        end_report(p, &p->now_ending.v[i]);
    while (arrives_now(p) && !p->failed)
        submit(p, (uint32_t)p->arrived);
    pass(p);
}

static void second_event(struct replay *p)
{
    bool conservative = p->s->policy.backfill == REF_CONSERVATIVE;
    for (size_t i = 0; i < p->now_ending.n; i++) {
        struct ending *e = &p->now_ending.v[i];
        if (p->t->job.v[e->job].run == p->limit[e->job])
            end_report(p, e);
    }
    if (conservative) {
        core_set_order(p->core, &p->hook);
        pass(p);
    }
    while (arrives_now(p) && !p->failed) {
        uint32_t i = (uint32_t)p->arrived;
        if (conservative) {
            profile_forget(&p->plan, p->now);
            place_take(p, i);
            vec_push(&p->queue, i);
        }
        submit(p, i);
        pass(p);
    }
    for (size_t i = 0; i < p->now_ending.n && !p->failed; i++) {
        end_report(p, &p->now_ending.v[i]);
        if (conservative)
            compress(p, p->now_ending.v[i].job);
        pass(p);
    }
}

static int64_t next_time(const struct replay *p)
{
    int64_t next = p->ends.n > 0 ? p->ends.v[0].at : NEVER;
    if (p->arrived < p->t->job.n && p->t->job.v[p->arrived].submit < next)
        next = p->t->job.v[p->arrived].submit;
    if (p->s->policy.backfill == REF_CONSERVATIVE && p->queue.n > 0) {
        int64_t place = place_next(p);
        next = place < next ? place : next;
    }
    return next;
}

/* ---- a replay ---- */

static void config_text(const struct replay *p, struct str *out)
{
    const struct replay_machine *m = &p->s->machine;
    str_addf(out,
             "MinJobAge=1\nSlurmdTimeout=0\nSelectTypeParameters=CR_CPU\nMaxJobCount=%zu\n"
             "SchedulerParameters=%s\n",
             p->t->job.n + 1000, p->s->policy.parameters ? p->s->policy.parameters : "");
    if (p->s->settings)
        str_add(out, p->s->settings);
    if (m->nodes == 0)
        str_addf(out, "NodeName=pool Sockets=1 CoresPerSocket=%lld ThreadsPerCore=1 RealMemory=1000000\n", (long long)m->procs);
    else
        str_addf(out, "NodeName=n[0001-%04lld] Sockets=1 CoresPerSocket=%lld ThreadsPerCore=1 RealMemory=1000000\n", (long long)m->nodes,
                 (long long)m->node_procs);
    str_add(out, "PartitionName=all Nodes=ALL Default=YES MaxTime=UNLIMITED State=UP\n");
}

static void nodes_greet(struct replay *p)
{
    for (size_t i = 0; i < p->config.nnodes; i++) {
        const struct node *conf = &p->config.node[i];
        struct node n = {.name = conf->name,
                         .real_cpus = conf->cpus,
                         .real_memory_mib = conf->memory_mib,
                         .version = REMUDA_VERSION};
        struct msg_node_hello m = {.node = {&n, 1}, .pid = 1, .protocol = PROTOCOL_NOW, .protocol_oldest = PROTOCOL_OLDEST};
        say(p, NODE_CONN + i, &p->root, MSG_NODE_HELLO, &m);
    }
}

static bool machine_start(struct replay *p)
{
    struct str text = STR_INIT;
    config_text(p, &text);
    bool ok = config_parse(str_text(&text), "trace", NULL, NULL, &p->config, p->err);
    str_done(&text);
    if (!ok)
        return false;
    p->core = core_new(1, "sim");
    effects_init(&p->fx);
    p->now = p->t->job.n > 0 ? p->t->job.v[0].submit : 0;
    feed(p, (struct event){.kind = EV_CONFIG, .config = &p->config});
    core_loaded(p->core, wall_us(p), &p->fx);
    effects_reset(&p->fx);
    core_set_order(p->core, &p->hook);
    nodes_greet(p);
    return true;
}

static void replay_close(struct replay *p)
{
    if (p->core) {
        core_free(p->core);
        effects_done(&p->fx);
        config_done(&p->config);
    }
    vec_done(&p->ends);
    vec_done(&p->now_ending);
    vec_done(&p->released);
    vec_done(&p->queue);
    profile_done(&p->plan);
    free(p->attempt_conn);
    free(p->limit);
    free(p->place);
}

static void replay_open(struct replay *p)
{
    size_t n = p->t->job.n + 1;
    bool reference = p->s->policy.order != REF_DAEMON;
    p->r->job = xcalloc(n, sizeof p->r->job[0]);
    p->attempt_conn = xcalloc(n, sizeof p->attempt_conn[0]);
    p->limit = xcalloc(n, sizeof p->limit[0]);
    p->place = xcalloc(n, sizeof p->place[0]);
    for (size_t i = 0; i < p->t->job.n; i++)
        p->limit[i] = estimate_of(p->s, &p->t->job.v[i]);
    p->user = (struct peer){.uid = 999, .gid = 999, .user = "trace", .group = "trace", .host = "sim"};
    p->root = (struct peer){.user = "root", .group = "root", .host = "sim", .is_admin = true};
    p->hook = (struct order_hook){.ctx = p,
                                  .key = reference ? key : NULL,
                                  .started = started,
                                  .passing = p->s->policy.passing != p->s->policy.order,
                                  .strict = p->s->policy.backfill == REF_NONE,
                                  .no_forecast = true};
    profile_init(&p->plan, p->t->job.n > 0 ? p->t->job.v[0].submit : 0, p->s->machine.procs);
}

bool replay_run(const struct trace *t, const struct replay_setup *setup, struct replay_result *ret,
                struct err *ret_err)
{
    struct replay p = {.t = t, .s = setup, .r = ret, .err = ret_err};
    int64_t next;
    *ret = (struct replay_result){0};
    replay_open(&p);
    p.failed = !machine_start(&p);
    while (!p.failed && (next = next_time(&p)) != NEVER) {
        p.now = next;
        ends_gather(&p);
        if (setup->rule == RULE_EVENT)
            second_event(&p);
        else
            second_batch(&p);
    }
    for (size_t i = 0; i < t->job.n && !p.failed; i++)
        if (ret->job[i].end == 0)
            failed(&p, "never started", (uint64_t)t->job.v[i].id, NULL);
    replay_close(&p);
    if (p.failed)
        replay_done(ret);
    return !p.failed;
}

void replay_done(struct replay_result *r)
{
    free(r->job);
    vec_done(&r->pass_ns);
    *r = (struct replay_result){0};
}
