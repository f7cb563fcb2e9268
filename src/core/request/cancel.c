/* cancel: ends or signals jobs, by references, by filters, or both. */
#include "core/inside.h"

#include "model/signals.h"

#include <string.h>

/* Of one go: so many jobs are ended, so many looked at for that. */
#define SLICE_JOBS        128
#define SLICE_LOOKS       4096
#define SLICE_JOBS_HURRY  16
#define SLICE_LOOKS_HURRY 1024
#define SWEEPS_PER_USER   64     /* under way; each holds its request */
#define REST_US           (5000) /* between two goes while others ask for something */
#define ALONE_US          USEC_PER_SEC

struct cancel {
    const struct msg_cancel *m;
    struct hostlist nodes;
    VEC(uint64_t) uid; /* of m->uids */
};

/* `scancel -u`: the jobs are ended a slice a wake, so that everybody else is served in between, and the answer comes when all are. One sweep goes
 * a wake, of another user than the last, if there is one: a user who asks for a hundred gets no more than one who asks for one. */
struct sweep {
    struct cancel x;
    struct msg_cancel m; /* texts live in the arena */
    struct arena *arena;
    struct peer peer;
    uint64_t conn, seq, count;
    struct map_walk at;
    uint64_t below; /* jobs that came later are not meant */
};

static bool uid_in(const struct cancel *x, uint32_t uid)
{
    for (size_t i = 0; i < x->uid.n; i++)
        if (x->uid.v[i] == uid)
            return true;
    return false;
}

static bool cancel_fill(struct cancel *x, const struct msg_cancel *m, struct arena *a, struct err *ret_err)
{
    struct span rest = span_of(m->uids ? m->uids : ""), piece;
    *x = (struct cancel){.m = m};
    while (m->uids && span_next(&rest, ',', &piece)) {
        uint64_t uid;
        if (text_to_u64(arena_strndup(a, piece.data, piece.len), UINT32_MAX, &uid))
            vec_push(&x->uid, uid);
    }
    return !m->nodes || hostlist_parse(&x->nodes, m->nodes, ret_err);
}

static void cancel_done(struct cancel *x)
{
    hostlist_done(&x->nodes);
    vec_done(&x->uid);
}

static bool on_nodes(const struct cancel *x, const struct jobrec *r)
{
    struct hostlist names = HOSTLIST_INIT;
    bool found = false;
    if (r->j.nodes && hostlist_parse(&names, r->j.nodes, NULL))
        for (size_t i = 0; i < names.n && !found; i++)
            found = hostlist_has(&x->nodes, names.name[i]);
    hostlist_done(&names);
    return found;
}

static bool fits(const struct cancel *x, const struct jobrec *r)
{
    const struct msg_cancel *m = x->m;
    const struct job_spec *s = &r->j.spec;
    if (m->uids && !uid_in(x, r->j.user_id))
        return false;
    if (m->states && !list_has(m->states, enum_name(&job_state_names, r->j.state)))
        return false;
    if (m->partitions && !list_has(m->partitions, r->j.run_partition ? r->j.run_partition : s->req.partition))
        return false;
    if ((m->names && !list_has(m->names, s->name)) || (m->accounts && !list_has(m->accounts, s->req.account)))
        return false;
    if ((m->qos && !list_has(m->qos, s->req.qos)) ||
        (m->reservations && !list_has(m->reservations, s->req.reservation)))
        return false;
    if (m->wckeys && !list_has(m->wckeys, s->wckey))
        return false;
    return !m->nodes || on_nodes(x, r);
}

static void nodes_signal(struct core *c, struct jobrec *r, const struct msg_signal *m)
{
    for (size_t i = 0; i < r->hold.n; i++) {
        struct noderec *n = c->node.v[r->hold.v[i].node];
        if (n->conn && !r->hold.v[i].released)
            fx_send(c, n->conn, MSG_SIGNAL, m, 0);
    }
}

/* Without a signal: SIGKILL at once, as Slurm has it for a step. */
static enum refusal cancel_step(struct core *c, struct jobrec *r, int64_t step_id, const struct msg_cancel *x)
{
    struct steprec *st = step_find(r, step_id);
    bool script = step_id == STEP_BATCH && job_has_script(r);
    struct msg_signal m = {.job_id = r->j.id,
                           .attempt = r->j.attempt,
                           .signal = x->signal ? x->signal : SIGNAL_KILL,
                           .only_step = true,
                           .step_id = step_id};
    if (x->attempt && x->attempt != r->j.attempt)
        return REFUSE_ALREADY_DONE;
    if (step_queue_find(r, step_id))
        return m.signal == SIGNAL_KILL && step_queue_cancel(c, r, step_id) ? REFUSE_NONE : REFUSE_NOT_RUNNING;
    if (!st && !script)
        return step_id >= 0 && step_id < r->next_step ? REFUSE_ALREADY_DONE : REFUSE_INVALID_JOB_ID;
    if (st && !step_live(st))
        return REFUSE_ALREADY_DONE;
    if (m.signal != SIGNAL_KILL || script) {
        nodes_signal(c, r, &m);
        return REFUSE_NONE;
    }
    st->s.killed_by_uid_plus1 = c->peer->uid + 1;
    step_terminate(c, r, st, JOB_CANCELLED, x->gently ? c->settings.kill_wait_us : 0, "", "it was cancelled");
    return REFUSE_NONE;
}

static enum refusal cancel_running(struct core *c, struct jobrec *r, const struct cancel *x)
{
    const struct msg_cancel *m = x->m;
    bool batch = m->batch && !m->full, kill = !m->signal || m->signal == SIGNAL_KILL;
    struct msg_signal signal = {.job_id = r->j.id,
                                .attempt = r->j.attempt,
                                .signal = m->signal ? m->signal : SIGNAL_KILL,
                                .batch = batch,
                                .full = m->full};
    if (batch || !kill) {
        nodes_signal(c, r, &signal);
        return REFUSE_NONE;
    }
    /* SIGKILL to the whole job is its end, as scancel(1) says. */
    r->j.killed_by_uid_plus1 = c->peer->uid + 1;
    job_end(c, r, JOB_CANCELLED, REASON_NONE, c->settings.kill_wait_us, "");
    return REFUSE_NONE;
}

static bool runs(const struct jobrec *r)
{
    return r->j.state == JOB_RUNNING || r->j.state == JOB_SUSPENDED;
}

static enum refusal cancel_one(struct core *c, struct jobrec *r, const struct job_ref *ref, void *ctx,
                               const char **detail)
{
    const struct cancel *x = ctx;
    if (!fits(x, r))
        return REFUSE_NONE;
    /* Whatever becomes of the job: the end of a step is not its end. */
    if (ref && ref->has_step && runs(r))
        return cancel_step(c, r, ref->step_id, x->m);
    if (ref && ref->has_step) {
        *detail = "the job does not run, so that no step of it does";
        return REFUSE_ALREADY_DONE;
    }
    switch ((enum job_state)r->j.state) {
    case JOB_PENDING:
    case JOB_SPECIAL_EXIT:
        if (x->m->signal && x->m->signal != 9)
            return REFUSE_NOT_RUNNING;
        r->j.killed_by_uid_plus1 = c->peer->uid + 1;
        job_over(c, r, JOB_CANCELLED, REASON_NONE);
        return REFUSE_NONE;
    case JOB_RUNNING:
    case JOB_SUSPENDED: return cancel_running(c, r, x);
    case JOB_COMPLETING:
    case JOB_REQUEUED:
        if (r->j.requeue_pending && !x->m->signal) {
            r->j.requeue_pending = false;
            r->j.killed_by_uid_plus1 = c->peer->uid + 1;
            job_move_ending(c, r, JOB_COMPLETING, JOB_CANCELLED);
            job_save(c, r);
            return REFUSE_NONE;
        }
        return REFUSE_ALREADY_DONE;
    case JOB_COMPLETED:
    case JOB_CANCELLED:
    case JOB_FAILED:
    case JOB_TIMEOUT:
    case JOB_NODE_FAIL:
    case JOB_PREEMPTED:
    case JOB_BOOT_FAIL:
    case JOB_DEADLINE:
    case JOB_OUT_OF_MEMORY:
    case JOB_RESIZING:
    case JOB_STATE_COUNT: break;
    }
    return REFUSE_ALREADY_DONE;
}

static struct sweep *sweep_new(struct core *c, const struct cancel *x)
{
    struct sweep *s = xcalloc(1, sizeof *s);
    s->arena = arena_new();
    record_copy(message_table[MSG_CANCEL].fields, &s->m, x->m, s->arena);
    cancel_fill(&s->x, &s->m, s->arena, NULL);
    s->peer = *c->peer; /* all that says what this peer may */
    s->peer.user = arena_strdup(s->arena, c->peer->user);
    s->peer.group = arena_strdup(s->arena, c->peer->group);
    s->peer.groups = arena_strdup(s->arena, c->peer->groups);
    s->peer.host = arena_strdup(s->arena, c->peer->host);
    s->conn = c->conn;
    s->seq = c->seq;
    s->below = c->next_job_id;
    return s;
}

static void sweep_free(struct sweep *s)
{
    cancel_done(&s->x);
    arena_free(s->arena);
    free(s);
}

void sweeps_free(struct core *c)
{
    for (size_t i = 0; i < c->sweep.n; i++)
        sweep_free(c->sweep.v[i]);
    vec_done(&c->sweep);
}

/* True when it is done. */
static bool sweep_slice(struct core *c, struct sweep *s, bool hurry)
{
    size_t looks = hurry ? SLICE_LOOKS_HURRY : SLICE_LOOKS, jobs = hurry ? SLICE_JOBS_HURRY : SLICE_JOBS;
    const struct peer *asks = c->peer;
    bool more = true;
    c->peer = &s->peer;
    while (looks-- > 0 && jobs > 0 && (more = map_u64_next(c->job, &s->at) && s->at.key < s->below)) {
        struct jobrec *r = s->at.value;
        const char *detail = NULL;
        if (!job_live(r) || !fits(&s->x, r) || !may_control(c, r))
            continue;
        s->count += cancel_one(c, r, NULL, &s->x, &detail) == REFUSE_NONE;
        jobs--;
    }
    c->peer = asks;
    if (more)
        return false;
    struct msg_done done = {.count = s->count};
    fx_reply(c, s->conn, s->seq, MSG_DONE, &done);
    return true;
}

/* Which goes next. */
static size_t sweep_next(const struct core *c)
{
    for (size_t i = 0; i < c->sweep.n; i++)
        if (c->sweep.v[i]->peer.uid != c->swept_uid)
            return i;
    return 0;
}

/* A due time far ahead is of before the clock was set. */
int64_t sweeps_due(const struct core *c)
{
    if (!c->sweep.n || c->store_away)
        return INT64_MAX;
    return c->sweep_due_us > c->now_us + REST_US ? 0 : c->sweep_due_us;
}

bool core_sweeper(const struct core *c, int64_t now_us, uint32_t *ret_uid)
{
    if (sweeps_due(c) > now_us)
        return false;
    *ret_uid = c->sweep.v[sweep_next(c)]->peer.uid;
    return true;
}

static bool others_ask(const struct core *c)
{
    int64_t since = c->now_us - c->asked_us;
    return c->asked_us && since >= 0 && since < ALONE_US;
}

void sweeps_go(struct core *c)
{
    if (sweeps_due(c) > c->now_us)
        return;
    size_t i = sweep_next(c);
    struct sweep *s = c->sweep.v[i];
    bool hurry = others_ask(c);
    c->swept_uid = s->peer.uid;
    vec_remove(&c->sweep, i);
    if (sweep_slice(c, s, hurry))
        sweep_free(s);
    else
        vec_push(&c->sweep, s);
    c->sweep_due_us = c->now_us + (hurry ? REST_US : 0);
}

void sweeps_heed(struct core *c, const struct peer *asks)
{
    for (size_t i = 0; i < c->sweep.n; i++)
        if (asks && asks->uid != c->sweep.v[i]->peer.uid)
            c->asked_us = c->now_us;
}

static bool sweeps_full(const struct core *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->sweep.n; i++)
        n += c->sweep.v[i]->peer.uid == c->peer->uid;
    return n >= SWEEPS_PER_USER;
}

/* By filters alone: all live jobs that fit and that the peer may end. The first slice at once: mostly it is all. */
static void cancel_filtered(struct core *c, const struct cancel *x)
{
    struct sweep *s = sweep_new(c, x);
    if (c->hurry)
        c->asked_us = c->now_us;
    if (sweep_slice(c, s, c->hurry)) {
        sweep_free(s);
        return;
    }
    if (!c->sweep.n)
        c->sweep_due_us = c->now_us + (c->hurry ? REST_US : 0);
    vec_push(&c->sweep, s);
}

void req_cancel(struct core *c, const struct msg_cancel *m)
{
    struct cancel x;
    struct err err = {0};
    if (!cancel_fill(&x, m, c->fx->arena, &err))
        reply_done(c, REFUSE_INVALID_NODE, err.text);
    else if (m->ids)
        refs_each(c, m->ids, true, cancel_one, &x);
    else if (sweeps_full(c))
        reply_done(c, REFUSE_BUSY,
                   "64 of your requests to cancel many jobs are still being worked off; wait for one");
    else
        cancel_filtered(c, &x);
    cancel_done(&x);
}
