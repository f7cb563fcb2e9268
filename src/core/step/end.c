/* How steps end. Each node of a step reports its end; the step is over with the last of them, its
 * status the highest, and what it held is free for steps that wait. It is told to end (limit,
 * scancel, a command that does not come back, a node that failed, the job's own end) by a TERMINATE
 * of its own or of the job; its state is then what it was told to end as. A part whose node will
 * never report is closed by whoever learns of it: the node's hello without the step, its release,
 * its loss. */
#include "core/step/step.h"
#include "model/job/job_counts.h"

#define STATUS_KILLED 9 /* of tasks whose end nobody saw */

/* ---- the end of a step ---------------------------------------------------------------------- */

static enum job_state state_of(const struct steprec *st)
{
    /* Told to end with its job or its other tasks, it may still have left by itself. */
    if (st->ending && !(st->own_end && !status_signal(st->s.exit_status)))
        return st->end_as;
    if (st->s.oom)
        return JOB_OUT_OF_MEMORY;
    return status_state(st->s.exit_status);
}

static void callers_answer(struct core *c, struct steprec *st)
{
    struct msg_step_ended m = {.step = {&st->s, 1}, .detail = st->detail};
    for (size_t i = 0; i < c->calls.waiter.n;) {
        struct waiter w = c->calls.waiter.v[i];
        if (w.kind == WAIT_STEP && w.job_id == st->s.job_id && w.step_id == st->s.step_id) {
            fx_reply(c, w.conn, w.seq, MSG_STEP_ENDED, &m);
            vec_remove(&c->calls.waiter, i);
        } else {
            i++;
        }
    }
}

/* As Slurm's accounting: the highest wait status as a number, so that a code is above any signal.
 * What ends with the job is not counted. */
static void derived_status_take(struct jobrec *r, const struct steprec *st)
{
    bool runs = r->j.state == JOB_RUNNING || r->j.state == JOB_SUSPENDED;
    if (runs && st->s.exit_status > r->j.derived_exit_status)
        r->j.derived_exit_status = st->s.exit_status;
}

static void step_over(struct core *c, struct jobrec *r, struct steprec *st)
{
    st->s.suspended_us = step_suspended_us(&st->s, &r->j, c->turn.now_us);
    st->s.end_us = clock_end(c, st->s.start_us);
    st->s.state = state_of(st);
    st->s.lonely_us = 0;
    st->holder_conn = 0;
    st->gathering = st->save_due = false;
    text_set(c, &st->s.ended_nodes, NULL);
    step_usage_sum(c, r, st);
    step_save(c, st);
    derived_status_take(r, st);
    step_queue_over(c, st);
    callers_answer(c, st);
    steps_trim(c, r);
}

/* One node's tasks are gone. The step may be gone with them: do not touch it afterwards. */
static void part_over(struct core *c, struct jobrec *r, struct steprec *st, struct steppart *part,
                      int32_t status, bool oom)
{
    bool all = true;
    part->over = true;
    st->s.exit_status = status_higher(st->s.exit_status, status);
    st->s.oom |= oom;
    step_usage_end(c, st, part);
    for (size_t i = 0; i < st->part.n; i++)
        all &= st->part.v[i].over;
    if (!all) {
        step_gather(c, r, st, true);
        return;
    }
    step_over(c, r, st);
    steps_retry_soon(c, r);
}

void step_terminate(struct core *c, struct jobrec *r, struct steprec *st, enum job_state how,
                    int64_t kill_wait_us, const char *line, const char *detail)
{
    ASSERT(step_live(st) && st->s.job_id == r->j.id);
    ASSERT(kill_wait_us >= 0 && how != JOB_RUNNING);
    struct msg_terminate m = {.job_id = r->j.id,
                              .attempt = r->j.attempt,
                              .only_step = true,
                              .step_id = st->s.step_id,
                              .kill_wait_us = kill_wait_us,
                              .why = line};
    if (!st->ending) {
        st->end_as = how;
        text_set(c, &st->detail, detail);
    }
    st->ending = true;
    st->s.lonely_us = 0;
    for (size_t i = 0; i < st->part.n; i++) {
        const struct noderec *n = c->node.v[st->part.v[i].node];
        if (!st->part.v[i].over && n->conn)
            fx_send(c, n->conn, MSG_TERMINATE, &m, 0);
    }
}

/* ---- with its job --------------------------------------------------------------------------- */

void steps_end_with_job(struct core *c, struct jobrec *r)
{
    for (size_t i = 0; i < r->step.n; i++) {
        struct steprec *st = r->step.v[i];
        if (!step_live(st) || st->ending || st->s.step_id == STEP_BATCH)
            continue;
        st->ending = st->own_end = true;
        st->end_as = JOB_CANCELLED;
        st->s.lonely_us = 0;
    }
    step_wishes_refuse(c, r, REFUSE_ALREADY_DONE, NULL);
}

/* Steps that nobody reported any more. */
void steps_close(struct core *c, struct jobrec *r, enum job_state how)
{
    ASSERT(how != JOB_RUNNING && how != JOB_PENDING);
    for (size_t i = 0; i < r->step.n;) {
        struct steprec *st = r->step.v[i++];
        if (!step_live(st))
            continue;
        if (st->s.step_id == STEP_BATCH) {
            st->s.end_us = r->j.end_us > st->s.start_us ? r->j.end_us : st->s.start_us;
            st->s.state = how;
            if (how == JOB_FAILED && r->j.exit_status == STATUS_LAUNCH_FAILED) {
                st->s.state = JOB_CANCELLED; /* it never ran, as Slurm has it */
                st->s.exit_status = STATUS_LAUNCH_FAILED;
            }
            step_save(c, st);
            continue;
        }
        st->ending = true;
        st->end_as = how == JOB_NODE_FAIL ? JOB_NODE_FAIL : JOB_CANCELLED;
        st->s.exit_status = status_higher(st->s.exit_status, STATUS_KILLED);
        step_over(c, r, st);
        i = 0; /* the list was trimmed */
    }
    step_wishes_refuse(c, r, REFUSE_ALREADY_DONE, NULL);
}

/* ---- what nodes say ------------------------------------------------------------------------- */

static const char *sentence_of(struct core *c, const struct noderec *n, const char *what,
                               const char *detail)
{
    return arena_printf(c->turn.fx->arena, "node %s: %s", n->n.name, detail ? detail : what);
}

static void stray(struct core *c, const struct noderec *n, uint64_t job_id, uint32_t attempt,
                  int64_t step_id)
{
    struct msg_terminate m = {
        .job_id = job_id, .attempt = attempt, .only_step = true, .step_id = step_id};
    fx_send(c, n->conn, MSG_TERMINATE, &m, 0);
}

static void part_use(struct core *c, struct jobrec *r, struct steprec *st, struct steppart *part,
                     const struct msg_report *m)
{
    if (!m->usage.n)
        return;
    step_usage_said(&part->used, m->usage.v);
    if (st->part.n > 1)
        step_gather(c, r, st, false);
    else
        step_usage_sum(c, r, st);
}

static void part_failed(struct core *c, struct jobrec *r, struct steprec *st, struct steppart *part,
                        struct noderec *n, const struct msg_report *m)
{
    bool lost = m->kind == REPORT_LOST;
    bool goes_on = lost && st->s.no_kill && st->part.n > 1;
    node_log(c, n, LEVEL_WARNING, "step %llu.%lld on %s: %s", (unsigned long long)r->j.id,
             (long long)st->s.step_id, n->n.name,
             m->detail ? m->detail
             : lost    ? "lost"
                       : "failed");
    if (!st->ending && !goes_on) {
        part->over = true; /* the others are told to end, this one is */
        step_terminate(c, r, st, lost ? JOB_NODE_FAIL : JOB_FAILED, c->settings.kill_wait_us, "",
                       sentence_of(c, n, "its tasks are lost", m->detail));
    }
    part_over(c, r, st, part,
              lost             ? STATUS_KILLED
              : m->exit_status ? m->exit_status
                               : status_of_code(1),
              false);
}

/* The job's record says which of its steps used too much memory. */
static void oom_note(struct core *c, struct jobrec *r, const struct msg_report *m)
{
    struct str text = STR_INIT;
    str_addf(&text, "step %lld %s", (long long)m->step_id, m->detail);
    text_set(c, &r->j.reason_detail, str_text(&text));
    str_done(&text);
}

void step_report(struct core *c, struct noderec *n, struct jobrec *r, const struct msg_report *m)
{
    ASSERT(c->node.v[n->index] == n && m->job_id == r->j.id);
    struct steprec *st = step_find(r, m->step_id);
    struct steppart *part = st && step_live(st) ? step_part(st, n->index) : NULL;
    enum report_kind kind = (enum report_kind)m->kind;
    if (!part || part->over) {
        if (kind == REPORT_STARTED || kind == REPORT_USAGE)
            stray(c, n, m->job_id, m->attempt, m->step_id);
        return;
    }
    part->seen = true;
    part->unbegun = false;
    if (kind != REPORT_FAILED && kind != REPORT_LOST)
        step_queue_begun(c, st);
    part_use(c, r, st, part, m);
    if (kind == REPORT_FAILED && m->had)
        step_numbers_skip(r);
    switch (kind) {
    case REPORT_STARTED:
    case REPORT_RELEASED: return;
    case REPORT_USAGE:
        if (st->part.n == 1)
            step_save(c, st);
        return;
    case REPORT_EXITED:
        if (m->oom && m->detail && !r->j.reason_detail)
            oom_note(c, r, m);
        part_over(c, r, st, part, m->oom ? STATUS_OOM : m->exit_status, m->oom);
        if (!(st = step_find(r, m->step_id)) || !step_live(st))
            job_save(c, r);
        return;
    case REPORT_FAILED:
    case REPORT_LOST:
        part_failed(c, r, st, part, n, m);
        job_save(c, r);
        return;
    }
}

/* ---- nodes that go and come ----------------------------------------------------------------- */

void steps_node_gone(struct core *c, struct jobrec *r, uint32_t node, bool failed)
{
    ASSERT(node < c->node.n);
    for (size_t i = 0; i < r->step.n; i++) {
        struct steprec *st = r->step.v[i];
        struct steppart *part = step_live(st) ? step_part(st, node) : NULL;
        if (!part || part->over)
            continue;
        struct msg_report gone = {.kind = REPORT_LOST, .detail = failed ? "the node failed" : NULL};
        if (failed)
            part_failed(c, r, st, part, c->node.v[node], &gone);
        else
            part_over(c, r, st, part, STATUS_KILLED, false);
        i = SIZE_MAX; /* the list may have been trimmed: from the start again */
    }
}

/* In order of the steps. */
static const struct held *held_step(const struct held *held, size_t n, int64_t step_id)
{
    size_t from = 0, to = n;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (held[middle].step_id < step_id)
            from = middle + 1;
        else
            to = middle;
    }
    return from < n && held[from].step_id == step_id ? &held[from] : NULL;
}

/* A node is back: it has the step, or never got it, or has lost it. */
static void part_compare(struct core *c, struct jobrec *r, struct steprec *st,
                         struct steppart *part, struct noderec *n, const struct held *held)
{
    struct msg_report lost = {.kind = REPORT_LOST, .detail = "its tasks are lost"};
    if (!held && part->unbegun) /* its daemon ended before it could begin it: as if it never came */
        part->seen = part->unbegun = false;
    if (held) {
        part->seen = true;
        part->unbegun = held->unbegun;
        step_queue_begun(c, st);
        if (st->ending && !held->ended)
            stray(c, n, r->j.id, r->j.attempt, st->s.step_id);
    } else if (!part->seen && step_queue_may_begin(st) && !st->ending) {
        step_launch(c, r, st, part->node);
    } else if (!part->seen && st->s.lonely_us && !st->ending) {
        /* Made by a controller that died: its command may come back with what is to be launched. */
        return;
    } else {
        part_failed(c, r, st, part, n, &lost);
    }
}

void steps_reconcile(struct core *c, struct noderec *n, struct jobrec *r,
                     const struct msg_node_hello *m)
{
    ASSERT(c->node.v[n->index] == n);
    size_t nheld;
    const struct held *held = held_of(m, r, &nheld);
    VEC(int64_t) ids = {0};
    for (size_t i = 0; i < r->step.n; i++)
        vec_push(&ids, r->step.v[i]->s.step_id);
    for (size_t i = 0; i < ids.n; i++) {
        struct steprec *st = step_find(r, ids.v[i]);
        struct steppart *part = st && step_live(st) ? step_part(st, n->index) : NULL;
        if (part && !part->over)
            part_compare(c, r, st, part, n, held_step(held, nheld, ids.v[i]));
    }
    vec_done(&ids);
    for (size_t i = 0; i < nheld; i++) {
        if (held[i].step_id == STEP_BATCH || held[i].step_id == STEP_EXTERN || held[i].ended)
            continue;
        struct steprec *st = step_find(r, held[i].step_id);
        if (!st || !step_live(st) || !step_part(st, n->index))
            stray(c, n, held[i].job_id, held[i].attempt, held[i].step_id);
    }
}

/* ---- time ----------------------------------------------------------------------------------- */

void step_closed(struct core *c, uint64_t job_id, int64_t step_id, uint64_t conn)
{
    struct jobrec *r = job_find(c, job_id);
    struct steprec *st = r ? step_find(r, step_id) : NULL;
    if (!st || !step_live(st) || st->holder_conn != conn)
        return;
    st->holder_conn = 0;
    if (!st->ending) {
        st->s.lonely_us = c->turn.now_us;
        step_save(c, st);
    }
    timer_arm(c, r);
}

/* A step that no node has seen ends at once, for no node will report it: its launch was lost with a
 * controller. */
static void unseen_end(struct core *c, struct jobrec *r, int64_t step_id)
{
    struct steprec *st;
    for (size_t i = 0; (st = step_find(r, step_id)) && step_live(st) && i < st->part.n; i++)
        if (!st->part.v[i].over && !st->part.v[i].seen && !st->asked &&
            c->node.v[st->part.v[i].node]->conn)
            part_over(c, r, st, &st->part.v[i], STATUS_KILLED, false);
}

static void step_fire(struct core *c, struct jobrec *r, struct steprec *st)
{
    int64_t id = st->s.step_id;
    if (step_limit_end(c, r, st) <= c->turn.now_us)
        step_terminate(c, r, st, JOB_TIMEOUT, c->settings.kill_wait_us, "DUE TO TIME LIMIT",
                       "DUE TO TIME LIMIT");
    else if (step_grace_end(c, st) <= c->turn.now_us) {
        step_terminate(c, r, st, JOB_CANCELLED, c->settings.kill_wait_us, "",
                       "its command is gone");
        unseen_end(c, r, id);
    }
}

void steps_fire(struct core *c, struct jobrec *r)
{
    VEC(int64_t) ids = {0};
    for (size_t i = 0; i < r->step.n; i++)
        if (step_live(r->step.v[i]) && !r->step.v[i]->ending)
            vec_push(&ids, r->step.v[i]->s.step_id);
    for (size_t i = 0; i < ids.n; i++) {
        struct steprec *st = step_find(r, ids.v[i]);
        if (st && step_live(st))
            step_fire(c, r, st);
    }
    vec_done(&ids);
}
