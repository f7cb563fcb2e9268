/* Going back to PENDING: by hand, after a node failure or preemption, after a launch that failed. The former run keeps its row in job_run. */
#include "core/inside.h"

static void run_keep(struct core *c, const struct jobrec *r, enum job_state how)
{
    struct job former = r->j;
    former.state = how;
    former.end_state = JOB_PENDING;
    if (!former.end_us)
        former.end_us = clock_end(c, former.start_us);
    fx_store(c, TABLE_JOB_RUN, &former);
}

static void run_clear(struct core *c, struct jobrec *r)
{
    text_set(c, &r->j.nodes, NULL);
    text_set(c, &r->j.batch_host, NULL);
    text_set(c, &r->j.alloc, NULL);
    text_set(c, &r->j.alloc_gres, NULL);
    text_set(c, &r->j.run_partition, NULL);
    r->j.alloc_nodes = r->j.alloc_cpus = r->j.alloc_tasks = 0;
    r->j.alloc_mem_mib = 0;
    r->j.resize_us = 0;
    r->j.start_us = r->j.end_us = r->j.suspend_us = r->j.suspended_us = 0;
    preempt_clear(r);
    r->j.limit_us = 0;
    r->j.exit_status = 0;
    r->j.oom = false;
    r->j.killed_by_uid_plus1 = 0;
    r->j.cpu_user_us = r->j.cpu_system_us = 0;
    r->started = r->script_ended = r->warned = false;
    r->mailed = 0;
    steps_drop(c, r);
}

/* `how` is what the former run is remembered as. */
static void back_to_pending(struct core *c, struct jobrec *r, enum job_state how, bool special)
{
    bool was_over = !job_live(r);
    restored_requeue(c, r);
    if (r->j.start_us)
        run_keep(c, r, how);
    if (r->j.array_job_id) /* its times and status are about to go, which are counted */
        array_count(c, r, -1);
    run_clear(c, r);
    if (r->j.array_job_id)
        array_count(c, r, +1);
    if (was_over)
        dependents_reopen(c, r);
    /* What it waited for was there when it started, or no longer matters to who sends a cancelled job back. */
    dependencies_drop(c, r);
    text_set(c, &r->j.spec.dependency, NULL);
    r->j.restarts++;
    waited_begins(c, r);
    r->j.requeue_pending = false;
    r->j.eligible_us = 0;
    bool never_launched = r->j.reason == REASON_LAUNCH_FAILED;
    r->j.reason = REASON_NONE;
    bool often = r->j.restarts > (uint32_t)c->settings.max_batch_requeue;
    hold_comes_back(r, special                   ? REASON_SPECIAL_EXIT
                       : never_launched && often ? REASON_MAX_REQUEUE
                       : never_launched          ? REASON_LAUNCH_FAILED_HELD
                                                 : REASON_HELD_USER);
    if (special && r->j.state != JOB_SPECIAL_EXIT)
        job_move(c, r, JOB_SPECIAL_EXIT);
    else if (!special)
        job_move(c, r, JOB_PENDING);
    job_save(c, r);
    mail_job(c, r, MAIL_REQUEUE);
    eligible_update(c, r);
    plan_soon(c);
}

/* A component that ended alone before has to run again with the others. */
static void components_back(struct core *c, const struct jobrec *r)
{
    jobrec_vec jobs = {0};
    components_find(c, leader_of(r), &jobs);
    for (size_t i = 0; r->j.het_job_id && i < jobs.n; i++)
        if (job_state_over((enum job_state)jobs.v[i]->j.state))
            back_to_pending(c, jobs.v[i], (enum job_state)jobs.v[i]->j.state, false);
    vec_done(&jobs);
}

void requeue_finish(struct core *c, struct jobrec *r)
{
    enum job_state how = (enum job_state)r->j.end_state;
    bool special = how == JOB_SPECIAL_EXIT;
    back_to_pending(c, r, special ? JOB_FAILED : how, special);
    components_back(c, r);
}

/* A component goes back with its leader, and may be there first; any other job that waits is where it was to go. */
static enum refusal requeue_waiting(struct core *c, struct jobrec *r, bool hold, bool special,
                                    const char **detail)
{
    const struct jobrec *leader = job_find(c, leader_of(r));
    if (!leader || leader == r || leader->j.state == JOB_PENDING) {
        *detail =
            hold ? "the job is pending already; `scontrol hold` holds it" : "the job is pending already";
        return REFUSE_JOB_PENDING;
    }
    if (hold && !r->j.spec.hold) {
        r->j.spec.hold = true;
        r->j.reason = special ? REASON_SPECIAL_EXIT : REASON_HELD_USER;
        eligible_update(c, r);
        job_save(c, r);
    }
    return REFUSE_NONE;
}

enum refusal job_requeue(struct core *c, struct jobrec *r, bool hold, bool special, const char **detail)
{
    if (!r->j.spec.batch) {
        *detail = "only batch jobs can be requeued: an interactive allocation ends with its command";
        return REFUSE_NOT_REQUEUABLE;
    }
    if (!job_may_requeue(c, r)) {
        *detail = r->j.spec.requeue == NO
                      ? "it was submitted with --no-requeue; `scontrol update JobId=… Requeue=1` allows it"
                      : "JobRequeue=0 forbids it; `scontrol update JobId=… Requeue=1` allows it for a job";
        return REFUSE_DISABLED;
    }
    switch ((enum job_state)r->j.state) {
    case JOB_PENDING: return requeue_waiting(c, r, hold, special, detail);
    case JOB_RUNNING:
    case JOB_SUSPENDED:
        r->j.requeue_pending = true;
        r->j.hold_after_requeue |= hold; /* Priority=0 of a running job holds it, too */
        job_end(c, r, special ? JOB_SPECIAL_EXIT : JOB_REQUEUED, REASON_NONE, c->settings.kill_wait_us,
                "DUE TO JOB REQUEUE");
        return REFUSE_NONE;
    case JOB_COMPLETING:
        /* It is ending anyway: it goes back instead of taking its end state. */
        r->j.requeue_pending = true;
        r->j.hold_after_requeue = hold || r->j.admin_hold;
        job_move_ending(c, r, JOB_REQUEUED, special ? JOB_SPECIAL_EXIT : (enum job_state)r->j.end_state);
        job_save(c, r);
        return REFUSE_NONE;
    case JOB_REQUEUED:
        r->j.hold_after_requeue |= hold;
        job_save(c, r);
        return REFUSE_NONE;
    case JOB_SPECIAL_EXIT: return REFUSE_NONE;
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
        r->j.hold_after_requeue = hold || r->j.admin_hold;
        back_to_pending(c, r, (enum job_state)r->j.state, special);
        return REFUSE_NONE;
    case JOB_STATE_COUNT: break;
    }
    return REFUSE_NOT_RUNNING;
}

void launch_failed(struct core *c, struct jobrec *r, const struct msg_report *report)
{
    bool again = report->retry && r->j.spec.batch && r->j.spec.requeue != NO;
    fx_log(c, LEVEL_WARNING, "job %llu could not be launched on %s: %s", (unsigned long long)r->j.id,
           r->j.batch_host ? r->j.batch_host : "?", report->detail ? report->detail : "");
    r->script_ended = true;
    if (r->j.state == JOB_RUNNING || r->j.state == JOB_SUSPENDED) {
        text_set(c, &r->j.reason_detail, report->detail);
        if (!report->retry)
            r->j.exit_status = STATUS_LAUNCH_FAILED;
        r->j.requeue_pending = again;
        bool hold = report->prolog && !c->settings.word.no_hold_on_prolog;
        bool often = r->j.restarts >= (uint32_t)c->settings.max_batch_requeue;
        r->j.hold_after_requeue = (again && (hold || often)) || r->j.admin_hold;
        job_end(c, r, report->prolog && !again ? JOB_CANCELLED : JOB_FAILED, REASON_LAUNCH_FAILED, 0, NULL);
    }
}
