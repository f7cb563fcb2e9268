/* Going back to PENDING: by hand, after a node failure or preemption, after a launch that failed.
 * The former run keeps its row in job_run.
 *
 * What goes back because something failed starts again at once, maybe into the same failure, as
 * fast as nodes can say so. Such runs are counted while they follow each other; one that went well
 * for a while, or somebody who sends or lets the job go, begins the count anew. */
#include "core/life/life.h"
#include "model/job/job_counts.h"

#define GOOD_RUN_US (INT64_C(3600) * USEC_PER_SEC)

static void run_clear(struct core *c, struct jobrec *r)
{
    ASSERT(r->hold.n == 0);
    had_nodes_note(c, r);
    text_set(c, &r->j.nodes, NULL);
    text_set(c, &r->j.batch_host, NULL);
    text_set(c, &r->j.alloc, NULL);
    text_set(c, &r->j.alloc_gres, NULL);
    text_set(c, &r->j.run_partition, NULL);
    text_set(c, &r->j.run_reservation, NULL);
    r->j.derived_exit_status = 0;
    r->j.alloc_nodes = r->j.alloc_cpus = r->j.alloc_tasks = 0;
    r->j.alloc_mem_mib = 0;
    r->j.billing_plus1 = 0;
    r->j.resize_us = r->j.resize_suspended_us = 0;
    r->j.start_us = r->j.end_us = r->j.suspend_us = r->j.suspended_us = 0;
    r->j.stopped_us = 0;
    preempt_clear(r);
    r->j.limit_us = r->j.extended_us = 0;
    text_set(c, &r->j.extensions, NULL);
    text_set(c, &r->j.failed_node, NULL);
    text_set(c, &r->j.place, NULL);
    r->j.oom = false;
    r->j.killed_by_uid_plus1 = 0;
    r->j.cpu_user_us = r->j.cpu_system_us = r->j.energy_mj = 0;
    r->started = r->script_ended = r->warned = false;
    r->mailed = 0;
    r->j.gpu_idle_told = 0;
    r->j.gpu_idle_told_us = 0;
    steps_drop(c, r);
}

/* As in Slurm: its row of the past keeps the time for which it was there. */
static void submitted_again(const struct core *c, struct jobrec *r)
{
    r->j.first_submit_us = job_first_submit_us(&r->j);
    r->j.submit_us = c->turn.now_us;
}

/* One of scrontab tries again at its next time, however often it has failed. */
static bool failures_hold(const struct core *c, const struct jobrec *r)
{
    return !r->j.cron && r->j.failed_requeues > (uint32_t)c->settings.max_batch_requeue;
}

void requeue_failed(struct core *c, struct jobrec *r)
{
    ASSERT(r->j.state == JOB_RUNNING || r->j.state == JOB_SUSPENDED);
    if (c->turn.now_us - r->j.start_us >= GOOD_RUN_US)
        r->j.failed_requeues = 0;
    r->j.failed_requeues++;
    r->j.requeue_pending = true;
    r->j.hold_after_requeue |= failures_hold(c, r);
}

static enum job_reason held_as(const struct core *c, const struct jobrec *r, bool special)
{
    enum job_reason ended = (enum job_reason)r->j.reason;
    bool failed = ended == REASON_LAUNCH_FAILED || ended == REASON_NODE_DOWN;
    bool idle_again = ended == REASON_GPU_IDLE && gpu_idle_holds(c, r, r->j.gpu_idle_requeues);
    if (special || ended == REASON_REQUEUED_HELD)
        return REASON_REQUEUED_HELD;
    if (idle_again || (failed && failures_hold(c, r)))
        return REASON_MAX_REQUEUE;
    return ended == REASON_LAUNCH_FAILED ? REASON_LAUNCH_FAILED_HELD : REASON_HELD_USER;
}

/* What an administrator holds stays; and a hold that somebody gave it before, where the way back
 * has none of its own: of two, nothing tells whether there was another. */
void requeue_drop(const struct core *c, struct jobrec *r)
{
    ASSERT(r->j.requeue_pending);
    r->j.requeue_pending = false;
    if (held_as(c, r, r->j.end_state == JOB_SPECIAL_EXIT) != REASON_HELD_USER)
        r->j.hold_after_requeue = r->j.admin_hold;
}

void requeue_forgive(const struct core *c, struct jobrec *r)
{
    bool failed = r->j.requeue_pending && failures_hold(c, r);
    if (failed && held_as(c, r, r->j.end_state == JOB_SPECIAL_EXIT) == REASON_MAX_REQUEUE)
        r->j.hold_after_requeue = r->j.admin_hold;
    r->j.failed_requeues = 0;
}

/* All jobs are being looked at, and components in their leader's turn (life/limits.c), which may be
 * past without it having waited. */
static void components_too(struct core *c, const struct jobrec *r)
{
    jobrec_vec jobs = {0};
    if (!c->slices.anew.on || r->j.het_job_id != r->j.id)
        return;
    components_find(c, r->j.id, &jobs);
    for (size_t i = 0; i < jobs.n; i++)
        if (jobs.v[i] != r && jobs.v[i]->j.state == JOB_PENDING)
            eligible_update(c, jobs.v[i]);
    vec_done(&jobs);
}

void back_to_pending(struct core *c, struct jobrec *r, enum job_state how, bool special)
{
    ASSERT(r->hold.n == 0 && !r->waiting);
    ASSERT(how != JOB_PENDING && how != JOB_RUNNING);
    bool was_over = !job_live(r);
    restored_requeue(c, r);
    /* The former run's row, while what it had is still there. A run without a number is of another
     * scheduler, or a hand's, and has no row of its own. */
    if (r->j.start_us && r->j.attempt)
        run_keep(c, r, how);
    run_clear(c, r);
    if (was_over)
        dependents_reopen(c, r);
    /* What it waited for was there when it started, or no longer matters to who sends a cancelled
     * job back. */
    dependencies_drop(c, r);
    text_set(c, &r->j.spec.dependency, NULL);
    r->j.restarts++;
    submitted_again(c, r);
    waited_begins(c, r);
    r->j.requeue_pending = false;
    r->j.eligible_us = 0;
    if (r->j.cron)
        cron_wait(c, r);
    enum job_reason held = held_as(c, r, special);
    r->j.reason = REASON_NONE;
    hold_comes_back(c, r, held);
    if (special && r->j.state != JOB_SPECIAL_EXIT)
        job_move(c, r, JOB_SPECIAL_EXIT);
    else if (!special)
        job_move(c, r, JOB_PENDING);
    r->j.exit_status = 0; /* which was counted of an array, until then */
    job_save(c, r);
    if (!r->j.cron)
        mail_job(c, r, MAIL_REQUEUE);
    eligible_update(c, r);
    components_too(c, r);
    singletons_look(c, r); /* it runs no more */
    plan_soon(c);
}

/* A component that ended alone before, or is ending, has to run again with the others. */
static void components_back(struct core *c, const struct jobrec *r)
{
    jobrec_vec jobs = {0};
    components_find(c, leader_of(r), &jobs);
    for (size_t i = 0; r->j.het_job_id && i < jobs.n; i++) {
        struct jobrec *one = jobs.v[i];
        if (job_state_over((enum job_state)one->j.state)) {
            back_to_pending(c, one, (enum job_state)one->j.state, false);
        } else if (one->j.state == JOB_COMPLETING) {
            one->j.requeue_pending = true;
            job_move_ending(c, one, JOB_REQUEUED, (enum job_state)one->j.end_state);
            job_save(c, one);
        }
    }
    vec_done(&jobs);
}

void requeue_finish(struct core *c, struct jobrec *r)
{
    ASSERT(r->j.requeue_pending && r->hold.n == 0);
    enum job_state how = (enum job_state)r->j.end_state;
    bool special = how == JOB_SPECIAL_EXIT;
    back_to_pending(c, r, special ? JOB_REQUEUED : how, special);
    components_back(c, r);
}
