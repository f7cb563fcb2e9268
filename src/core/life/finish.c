/* The end of a run. job_end begins it (limit, cancel, node loss …): everything of the job is told
 * to end and the job is COMPLETING until its nodes are free. The batch script's own end comes as a
 * report. Either way, when the last node is released the job takes its final state, or goes back to
 * PENDING if it is to be requeued. */
#include "core/life/life.h"
#include "core/record/accounts/usage.h"

static void mails(struct core *c, struct jobrec *r)
{
    bool failed = r->j.state != JOB_COMPLETED && r->j.state != JOB_CANCELLED;
    mail_job(c, r, failed && (r->j.spec.mail_types & MAIL_FAIL) ? MAIL_FAIL : MAIL_END);
}

/* All that follows when a job is over for good. The row is only marked (job_save), so what is
 * changed below is written with it. */
static void over(struct core *c, struct jobrec *r)
{
    ASSERT(!job_live(r) && !r->waiting);
    ASSERT(r->hold.n == 0);
    job_save(c, r);
    diag_count_end(c, r);
    mails(c, r);
    cron_over(c, r);
    dependents_wake(c, r);
    r->j.lonely_us = 0;
    waiters_answer(c, r->j.array_job_id ? r->j.array_job_id : leader_of(r));
    plan_soon(c);
}

static void over_alone(struct core *c, struct jobrec *r, enum job_state how, enum job_reason why)
{
    ASSERT(job_state_over(how) && r->hold.n == 0);
    waited_count(c, r);
    planner_leave(c, r);
    r->j.end_us = clock_end(c, r->j.start_us);
    if (!r->j.start_us || r->j.state == JOB_PENDING)
        r->j.start_us = how == JOB_CANCELLED || how == JOB_DEADLINE ? 0 : r->j.start_us;
    r->j.reason = why;
    job_move(c, r, how);
    over(c, r);
}

/* While they wait, components are one: none is left waiting for one that is gone. */
void het_waits_no_more(struct core *c, const struct jobrec *r, enum job_state how,
                       enum job_reason why)
{
    jobrec_vec others = {0};
    het_over_with(c, r, &others);
    for (size_t i = 0; i < others.n; i++) {
        struct jobrec *other = others.v[i];
        other->j.killed_by_uid_plus1 = r->j.killed_by_uid_plus1;
        if (job_waits(other)) {
            over_alone(c, other, how, why);
            continue;
        }
        requeue_drop(c, other);
        job_move_ending(c, other, JOB_COMPLETING, JOB_CANCELLED);
        job_save(c, other);
    }
    vec_done(&others);
}

void job_over(struct core *c, struct jobrec *r, enum job_state how, enum job_reason why)
{
    bool waited = job_waits(r);
    over_alone(c, r, how, why);
    if (waited)
        het_waits_no_more(c, r, how, why);
}

static bool all_released(const struct jobrec *r)
{
    for (size_t i = 0; i < r->hold.n; i++)
        if (!r->hold.v[i].released)
            return false;
    return true;
}

/* Everything is free again. */
static void run_finish(struct core *c, struct jobrec *r)
{
    ASSERT(r->j.state == JOB_COMPLETING || r->j.state == JOB_REQUEUED);
    ASSERT(all_released(r));
    enum job_state how = (enum job_state)r->j.end_state;
    cluster_release(c->cluster, r->j.id);
    steps_close(c, r, how);
    text_set(c, &r->j.released, NULL);
    text_set(c, &r->j.leaving, NULL);
    vec_clear(&r->hold);
    plan_soon(c);
    if (r->j.requeue_pending) {
        requeue_finish(c, r);
        return;
    }
    job_move(c, r, how);
    over(c, r);
}

/* A restarted controller must not take back what others may have by then. */
static void released_note(struct core *c, struct jobrec *r)
{
    struct hostlist names = HOSTLIST_INIT;
    struct str text = STR_INIT;
    for (size_t i = 0; i < r->hold.n; i++)
        if (r->hold.v[i].released)
            hostlist_add(&names, c->node.v[r->hold.v[i].node]->n.name);
    hostlist_fold(&names, &text);
    text_set(c, &r->j.released, str_text(&text));
    job_save(c, r);
    hostlist_done(&names);
    str_done(&text);
}

static void hold_release(struct core *c, struct jobrec *r, struct node_hold *hold)
{
    ASSERT(hold->node < c->node.n && hold >= r->hold.v && hold < r->hold.v + r->hold.n);
    if (hold->released)
        return;
    hold->released = true;
    node_job_remove(c, hold->node, r->j.id);
    cluster_release_node(c->cluster, r->j.id, c->node.v[hold->node]->n.name);
    if (r->j.leaving && hold->leaving) {
        leaving_note(c, r, NULL);
        job_save(c, r);
    }
    plan_soon(c);
}

void node_released(struct core *c, struct jobrec *r, uint32_t node)
{
    ASSERT(node < c->node.n || node == UINT32_MAX);
    bool ending = r->j.state == JOB_COMPLETING || r->j.state == JOB_REQUEUED;
    if (ending && node != UINT32_MAX)
        steps_node_gone(c, r, node, false);
    for (size_t i = 0; i < r->hold.n; i++)
        if (r->hold.v[i].node == node)
            hold_release(c, r, &r->hold.v[i]);
    if (ending && all_released(r))
        run_finish(c, r);
    else if (ending)
        released_note(c, r);
}

void terminate_send(struct core *c, struct jobrec *r, int64_t kill_wait_us, const char *why)
{
    ASSERT(kill_wait_us >= 0 && r->j.attempt > 0);
    struct msg_terminate m = {
        .job_id = r->j.id, .attempt = r->j.attempt, .kill_wait_us = kill_wait_us, .why = why};
    for (size_t i = 0; i < r->hold.n; i++) {
        struct noderec *n = c->node.v[r->hold.v[i].node];
        if (!r->hold.v[i].released && n->conn)
            fx_send(c, n->conn, MSG_TERMINATE, &m, 0);
    }
}

void hold_terminate(struct core *c, struct jobrec *r, const struct node_hold *h)
{
    const struct noderec *n = c->node.v[h->node];
    struct msg_terminate m = {.job_id = r->j.id,
                              .attempt = r->j.attempt,
                              .kill_wait_us = c->settings.kill_wait_us,
                              .why = "DUE TO JOB RESIZE"};
    if (n->conn && !h->released)
        fx_send(c, n->conn, MSG_TERMINATE, &m, 0);
}

/* Nodes where nothing was ever launched are free at once. No word would ever come from them. */
static void quiet_nodes_release(struct core *c, struct jobrec *r)
{
    ASSERT(r->j.state == JOB_COMPLETING || r->j.state == JOB_REQUEUED);
    for (size_t i = 0; i < r->hold.n; i++)
        if (!r->hold.v[i].told)
            hold_release(c, r, &r->hold.v[i]);
    if (!all_released(r))
        released_note(c, r);
}

/* What it used is charged, and learned from, while the state still says that it runs; a refund
 * gives back what has been charged. Then the planner, the state and the steps, and last the nodes
 * where nothing has to be waited for: the caller looks whether that was all of them. */
static void ending(struct core *c, struct jobrec *r, enum job_state how, enum job_reason why)
{
    ASSERT(r->j.state == JOB_RUNNING || r->j.state == JOB_SUSPENDED);
    ASSERT(r->j.start_us && how != JOB_PENDING && how != JOB_RUNNING);
    usage_charge(c, r);
    if (how == JOB_NODE_FAIL)
        usage_refund(c, r);
    r->j.end_us = clock_end(c, r->j.start_us);
    r->j.reason = why;
    usage_learn(c, r, how);
    if (r->j.state == JOB_SUSPENDED) {
        hold_suspended(c, r, why);
        suspension_count(c, r);
        cluster_suspend(c->cluster, r->j.id, false); /* its processes are woken to end */
    }
    cluster_ending(c->cluster, r->j.id, 0, time_add(c->turn.now_us, c->settings.kill_wait_us));
    job_move_ending(c, r, r->j.requeue_pending ? JOB_REQUEUED : JOB_COMPLETING, how);
    steps_end_with_job(c, r);
    quiet_nodes_release(c, r);
}

static void end_alone(struct core *c, struct jobrec *r, enum job_state how, enum job_reason why,
                      int64_t kill_wait_us, const char *line)
{
    ending(c, r, how, why);
    job_save(c, r);
    terminate_send(c, r, kill_wait_us, line);
    if (all_released(r))
        run_finish(c, r);
}

/* r ends so: what else of its job has to? */
static void others_end(struct core *c, struct jobrec *r, enum job_state how, enum job_reason why)
{
    bool oom = how == JOB_OUT_OF_MEMORY; /* the memory that ran out was the script's own */
    jobrec_vec others = {0};
    het_ending_with(c, r, how, &others);
    for (size_t i = 0; i < others.n; i++) {
        het_fate_share(c, others.v[i], r);
        end_alone(c, others.v[i], oom ? JOB_FAILED : how, oom ? REASON_NON_ZERO_EXIT : why,
                  c->settings.kill_wait_us, NULL);
    }
    vec_done(&others);
}

/* It is ending before the others are looked at, which share its fate, and finishes after them. */
void job_end(struct core *c, struct jobrec *r, enum job_state how, enum job_reason why,
             int64_t kill_wait_us, const char *line)
{
    ASSERT(r->j.state == JOB_RUNNING || r->j.state == JOB_SUSPENDED);
    ending(c, r, how, why);
    others_end(c, r, how, why);
    job_save(c, r);
    terminate_send(c, r, kill_wait_us, line);
    if (all_released(r))
        run_finish(c, r);
}

struct finish_outcome {
    enum job_state state;
    enum job_reason reason;
};

static struct finish_outcome outcome_of(const struct msg_report *report)
{
    if (report->oom)
        return (struct finish_outcome){JOB_OUT_OF_MEMORY, REASON_OUT_OF_MEMORY};
    if (status_signal(report->exit_status))
        return (struct finish_outcome){JOB_FAILED, REASON_RAISED_SIGNAL};
    if (status_code(report->exit_status))
        return (struct finish_outcome){JOB_FAILED, REASON_NON_ZERO_EXIT};
    return (struct finish_outcome){JOB_COMPLETED, REASON_NONE};
}

/* A step whose launch is still on its way to that node is not nothing. */
static bool leaves_nothing(const struct jobrec *r, const struct msg_report *report,
                           const struct noderec *host)
{
    return report->clean && host && !steps_on_node(r, host->index);
}

void batch_exited(struct core *c, struct jobrec *r, const struct msg_report *report)
{
    struct noderec *host = node_find(c, r->j.batch_host);
    struct finish_outcome o = outcome_of(report);
    if (r->script_ended) {
        /* Said again by a daemon that started anew, now that nothing is left: no other word of that
         * follows. */
        bool ending_now = r->j.state == JOB_COMPLETING || r->j.state == JOB_REQUEUED;
        if (ending_now && leaves_nothing(r, report, host))
            node_released(c, r, host->index);
        return;
    }
    r->script_ended = true;
    r->j.exit_status = report->oom ? STATUS_OOM : report->exit_status;
    r->j.oom |= report->oom;
    if (report->detail)
        text_set(c, &r->j.reason_detail, report->detail);
    if (r->j.state == JOB_RUNNING || r->j.state == JOB_SUSPENDED) {
        if (preempt_ended_by_itself(c, r, report))
            o = (struct finish_outcome){JOB_PREEMPTED, REASON_PREEMPTED};
        ending(c, r, o.state, o.reason);
        others_end(c, r, o.state, o.reason);
    }
    bool clean = leaves_nothing(r, report, host);
    job_save(c, r);
    if (!clean && all_released(r)) { /* the word that nothing is left was here before this one */
        run_finish(c, r);
        return;
    }
    if (clean)
        node_released(c, r, host->index);
    /* What the script left behind its shepherd has killed; its steps may save what they have. */
    terminate_send(c, r, c->settings.kill_wait_us, "");
}

/* Where its epilog is due, the node is not free before that has run. */
static void node_lost(struct core *c, struct jobrec *r, uint32_t node, bool epilog_due)
{
    ASSERT(node < c->node.n);
    bool batch_host = job_has_script(r) && text_is(c->node.v[node]->n.name, r->j.batch_host);
    bool runs = r->j.state == JOB_RUNNING || r->j.state == JOB_SUSPENDED;
    /* It was being given back anyway: the job goes on. */
    if (runs && hold_leaving(r, node)) {
        steps_node_gone(c, r, node, true);
        node_released(c, r, node);
        return;
    }
    /* --no-kill: on without it, unless the script was there or nothing is left. What it had until
     * now is kept as a row of its own, before the allocation shrinks. */
    if (runs && r->j.spec.no_kill && !batch_host && r->j.alloc_nodes > 1) {
        job_part_keep(c, r);
        hold_find(r, node)->leaving = true;
        steps_node_gone(c, r, node, true);
        if (epilog_due)
            hold_terminate(c, r, hold_find(r, node));
        else
            node_released(c, r, node);
        alloc_shrink(c, r);
        job_save(c, r);
        return;
    }
    bool again = runs && job_may_requeue(c, r);
    if (runs) {
        struct str why = STR_INIT;
        str_addf(&why, "node %s failed", c->node.v[node]->n.name);
        text_set(c, &r->j.reason_detail, str_text(&why));
        text_set(c, &r->j.failed_node, c->node.v[node]->n.name);
        str_done(&why);
        if (again)
            requeue_failed(c, r);
        ending(c, r, JOB_NODE_FAIL, REASON_NODE_DOWN);
        others_end(c, r, JOB_NODE_FAIL, REASON_NODE_DOWN);
        job_save(c, r);
        terminate_send(c, r, c->settings.kill_wait_us, "DUE TO NODE FAILURE");
    }
    if (!runs || !epilog_due)
        node_released(c, r, node);
}

void job_node_lost(struct core *c, struct jobrec *r, uint32_t node)
{
    node_lost(c, r, node, false);
}

void job_node_visited(struct core *c, struct jobrec *r, uint32_t node)
{
    ASSERT(hold_find(r, node));
    hold_find(r, node)->told = true;
    node_lost(c, r, node, true);
}

/* As in Slurm: what may not run again is cancelled, and where its shepherd was lost it is as if the
 * node had failed. */
static enum job_state launch_end(const struct jobrec *r, const struct msg_report *m, bool again)
{
    if (again || !m->retry || !(r->j.spec.batch || m->prolog))
        return JOB_FAILED;
    return m->gone ? JOB_NODE_FAIL : JOB_CANCELLED;
}

void launch_failed(struct core *c, struct jobrec *r, const struct msg_report *report)
{
    /* A node that says that another may do better; but an allocation's command waits for this run,
     * and no other. */
    bool runs = r->j.state == JOB_RUNNING || r->j.state == JOB_SUSPENDED;
    /* What a node has had nobody knows the end of: its user may let it go, also what is not to run
     * again by itself. */
    bool held = report->had && r->j.spec.batch;
    bool again = report->retry && (held || job_may_requeue(c, r));
    struct noderec *n = r->j.batch_host ? node_find(c, r->j.batch_host) : NULL;
    if (n && (runs || !report->had)) /* else it was told to begin once more, and has ended */
        node_log(c, n, LEVEL_WARNING, "job %llu could not be launched on %s: %s",
                 (unsigned long long)r->j.id, n->n.name, report->detail ? report->detail : "");
    r->script_ended = true;
    if (runs) {
        text_set(c, &r->j.reason_detail, report->detail);
        if (!report->retry)
            r->j.exit_status = STATUS_LAUNCH_FAILED;
        if (again)
            requeue_failed(c, r);
        if (again && held)
            doubt_begin(c, r);
        /* One of scrontab tries again at its next time. */
        bool hold = report->prolog && !c->settings.word.no_hold_on_prolog && !r->j.cron;
        r->j.hold_after_requeue |= again && hold;
        enum job_state how = launch_end(r, report, again);
        if (how == JOB_NODE_FAIL)
            text_set(c, &r->j.failed_node, r->j.batch_host);
        job_end(c, r, how, how == JOB_NODE_FAIL ? REASON_NODE_DOWN : REASON_LAUNCH_FAILED, 0, NULL);
    }
}
