/* What is done when a time has come: a limit is reached, a step's command stays away, a deadline
 * passes, an ended job is forgotten. The time of very many may come at once: so many are done in
 * one wake. */
#include "base/duration.h"
#include "core/record/triggers/triggers.h"
#include "core/turn.h"

static void running_fire(struct core *c, struct jobrec *r)
{
    steps_fire(c, r);
    if (due_signal(r) <= c->turn.now_us)
        job_warn(c, r);
    if (due_trigger(c, r) <= c->turn.now_us)
        triggers_time(c, r);
    for (size_t i = 0; i < LIMIT_MAILS; i++)
        if (due_mail(r, &limit_mails[i]) <= c->turn.now_us) {
            r->mailed |= limit_mails[i].type;
            mail_job(c, r, limit_mails[i].type);
        }
    if (r->j.spec.deadline_us && r->j.spec.deadline_us <= c->turn.now_us) {
        job_end(c, r, JOB_DEADLINE, REASON_DEADLINE, c->settings.kill_wait_us, "DUE TO DEADLINE");
    } else if (due_kill(c, r) <= c->turn.now_us) {
        mail_job(c, r, MAIL_TIME_LIMIT);
        job_end(c, r, JOB_TIMEOUT, REASON_TIME_LIMIT, c->settings.kill_wait_us,
                "DUE TO TIME LIMIT");
    } else if (r->j.preempt_us && r->j.preempt_end_us <= c->turn.now_us) {
        preempt_end(c, r);
    }
}

/* What `remuda why` and scontrol say of its end. */
static void deadline_say(struct core *c, struct jobrec *r)
{
    struct str why = STR_INIT;
    int64_t left = r->j.spec.deadline_us - c->turn.now_us;
    str_add(&why, "it can no longer end by its deadline: it asks for ");
    duration_format(r->j.spec.deadline_us - due_latest_start(r), &why);
    str_add(&why, ", and ");
    duration_format(left > 0 ? left : 0, &why);
    str_add(&why, " is left; -t or --time-min may ask for less");
    text_set(c, &r->j.reason_detail, str_text(&why));
    str_done(&why);
}

/* A waiting job that can no longer end by its deadline is cancelled. */
static void pending_fire(struct core *c, struct jobrec *r)
{
    if (r->j.spec.deadline_us && due_latest_start(r) < c->turn.now_us) {
        deadline_say(c, r);
        job_over(c, r, JOB_DEADLINE, REASON_DEADLINE);
    } else {
        eligible_update(c, r);
    }
}

static void job_fire(struct core *c, struct jobrec *r)
{
    /* Who waits for it must have seen its end before it is forgotten, even if both come in one
     * wake. */
    if (!job_live(r))
        dependents_run(c);
    if (allocation_due(c, r) <= c->turn.now_us)
        allocation_abandon(c, r);
    else if (r->j.state == JOB_PENDING)
        pending_fire(c, r);
    else if (r->j.state == JOB_RUNNING)
        running_fire(c, r);
    else if (job_may_forget(c, r, c->settings.min_job_age_us)) {
        job_forget_whole(c, r);
        return;
    } else if (job_state_over((enum job_state)r->j.state)) {
        /* Somebody still waits for it: look again later. */
        timer_arm_later(c, r);
        return;
    }
    timer_arm_again(c, r);
}

void timers_fire(struct core *c)
{
    struct alarm a;
    while (work_left(c) && timer_next(c, &a)) {
        work_add(c, WORK_JOB);
        if (!a.job_id) {
            node_alarm(c, c->node.v[a.node]);
            continue;
        }
        struct jobrec *r = job_find(c, a.job_id);
        r->timer_us = 0;
        job_fire(c, r);
    }
}
