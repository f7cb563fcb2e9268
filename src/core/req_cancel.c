/* cancel: ends or signals jobs, by references, by filters, or both. */
#include "core/inside.h"

#include <string.h>

struct cancel {
    const struct msg_cancel *m;
    struct hostlist nodes;
    const struct job_ref *ref; /* the reference at hand: a step of it */
};

static bool number_in(const char *list, uint64_t n)
{
    char text[24];
    struct str s = STR_INIT;
    str_add_u64(&s, n);
    strncpy(text, str_text(&s), sizeof text - 1);
    text[sizeof text - 1] = '\0';
    str_done(&s);
    return list_has(list, text);
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
    if (m->uids && !number_in(m->uids, r->j.user_id))
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

static void signal_send(struct core *c, struct jobrec *r, const struct cancel *x)
{
    struct msg_signal m = {.job_id = r->j.id,
                           .attempt = r->j.attempt,
                           .signal = x->m->signal,
                           .batch = x->m->batch,
                           .full = x->m->full};
    if (x->ref && x->ref->has_step) {
        m.only_step = true;
        m.step_id = x->ref->step_id;
        if (!m.signal)
            m.signal = 15;
    }
    for (size_t i = 0; i < r->hold.n; i++) {
        struct noderec *n = c->node.v[r->hold.v[i].node];
        if (n->conn && !r->hold.v[i].released)
            fx_send(c, n->conn, MSG_SIGNAL, &m, 0);
    }
}

static enum refusal cancel_running(struct core *c, struct jobrec *r, const struct cancel *x)
{
    bool to_step = x->ref && x->ref->has_step && x->ref->step_id != STEP_BATCH;
    struct steprec *st = to_step ? step_find(r, x->ref->step_id) : NULL;
    if (to_step && !st)
        return x->ref->step_id >= 0 && x->ref->step_id < r->next_step ? REFUSE_ALREADY_DONE
                                                                      : REFUSE_INVALID_JOB_ID;
    if (to_step && !step_live(st))
        return REFUSE_ALREADY_DONE;
    if (to_step && (!x->m->signal || x->m->signal == 9)) {
        step_terminate(c, r, st, JOB_CANCELLED, x->m->signal ? 0 : c->settings.kill_wait_us, "",
                       "it was cancelled");
        return REFUSE_NONE;
    }
    /* SIGKILL to the whole job is its end, as scancel(1) says. */
    bool ends = !x->m->signal || (x->m->signal == 9 && !x->m->batch && !x->m->full);
    if (!ends || (x->ref && x->ref->has_step)) {
        signal_send(c, r, x);
        return REFUSE_NONE;
    }
    r->j.killed_by_uid_plus1 = c->peer->uid + 1;
    job_end(c, r, JOB_CANCELLED, REASON_NONE, x->m->signal == 9 ? 0 : c->settings.kill_wait_us, "");
    return REFUSE_NONE;
}

static enum refusal cancel_one(struct core *c, struct jobrec *r, void *ctx, const char **detail)
{
    const struct cancel *x = ctx;
    (void)detail;
    if (!fits(x, r))
        return REFUSE_NONE;
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
    case JOB_STATE_COUNT: break;
    }
    return REFUSE_ALREADY_DONE;
}

/* By filters alone: all live jobs that fit and that the peer may end. */
static void cancel_filtered(struct core *c, struct cancel *x)
{
    struct map_walk w = {0};
    jobrec_vec jobs = {0};
    struct msg_done done = {0};
    while (map_u64_next(c->job, &w)) {
        struct jobrec *r = w.value;
        if (job_live(r) && may_control(c, r) && fits(x, r))
            vec_push(&jobs, r);
    }
    for (size_t i = 0; i < jobs.n; i++) {
        const char *detail = NULL;
        done.count += cancel_one(c, jobs.v[i], x, &detail) == REFUSE_NONE;
    }
    vec_done(&jobs);
    fx_reply(c, c->conn, c->seq, MSG_DONE, &done);
}

/* A reference to a step is a list of its own, because the action needs to know which. */
static bool single_step(const char *ids, struct job_ref *ret)
{
    return ids && !strchr(ids, ',') && job_ref_parse(ids, ret, NULL);
}

void req_cancel(struct core *c, const struct msg_cancel *m)
{
    struct cancel x = {.m = m};
    struct job_ref ref;
    struct err err = {0};
    if (m->nodes && !hostlist_parse(&x.nodes, m->nodes, &err)) {
        reply_done(c, REFUSE_INVALID_NODE, err.text);
    } else if (m->ids) {
        bool one = single_step(m->ids, &ref);
        if (one && ref.has_step)
            x.ref = &ref;
        refs_each(c, m->ids, true, cancel_one, &x);
        if (one)
            job_ref_done(&ref);
    } else {
        cancel_filtered(c, &x);
    }
    hostlist_done(&x.nodes);
}
