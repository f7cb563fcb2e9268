/* What becomes of a step: its moves, and the reports and effects that go with them. */
#include "agent/inside.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

void turn_report_send(struct turn *t, struct report *p)
{
    struct devices *d = &t->a->devices;
    struct msg_report m = p->msg;
    bool with_devices =
        m.kind == REPORT_RELEASED || m.kind == REPORT_FAILED || m.kind == REPORT_LOST || m.clean;
    devices_refresh(t);
    if (devices_speak(d) && (with_devices || d->told_seq != d->seq)) {
        m.devices_seq = d->seq;
        m.devices_out = d->text;
        m.device_health = d->n ? d->health : NULL;
        devices_told(d);
    }
    p->sent_us = t->now_us;
    turn_send(t, MSG_REPORT, &m);
}

/* ---- reports ---- */

void turn_report_keep(struct turn *t, struct held_step *s, struct report *p)
{
    reports_add(&t->a->reports, p);
    s->unacknowledged++;
    if (t->a->welcomed)
        turn_report_send(t, p);
}

void turn_report_once(struct turn *t, struct report *p)
{
    if (t->a->welcomed)
        turn_report_send(t, p);
    report_free(p);
}

struct held_step *step_of_report(struct turn *t, const struct report *p)
{
    return held_find(&t->a->held, p->msg.job_id, p->msg.attempt, p->msg.step_id);
}

struct report *turn_report_of(struct turn *t, enum report_kind kind, const struct held_step *s,
                              const struct note *n)
{
    return report_make(kind, s, n, t->a->node->name, t->now_us);
}

void visit_leave(struct turn *t, const struct held_step *s)
{
    if (!visit_of(&t->a->held, s->job_id, s->attempt))
        return;
    visit_end(&t->a->held, s->job_id, s->attempt);
    turn_effect_about(t, AGENT_VISIT_END, s);
}

/* No step of its job may begin here any more. Of one that the controller did not end it launches
 * further steps; only its script is not to begin a second time. */
static bool ends_its_job(const struct held_step *s)
{
    return s->step_id == STEP_BATCH ||
           ((s->step_id == STEP_EXTERN || s->release_wanted) && !s->shut_out);
}

/* Its job is gone from here: nobody asks for its visit any more, with an epilog or without one. A
 * launch of it may be on its way to meet this. */
static void job_left(struct turn *t, struct held_step *s)
{
    s->released = true;
    if (!s->shut_out || ends_its_job(s))
        held_remember_ended(&t->a->held, s->job_id, s->attempt);
    visit_leave(t, s);
}

void turn_report_released(struct turn *t, struct held_step *s, const char *detail)
{
    struct report *p = turn_report_of(t, REPORT_RELEASED, s, NULL);
    p->msg.detail = detail ? xstrdup(detail) : NULL;
    job_left(t, s);
    turn_report_keep(t, s, p);
}

/* ---- what becomes of a step ---- */

bool program_given(const char *path)
{
    return path && *path;
}

/* The batch script is all of a job there is without being asked; the shell of an allocation is a
 * step like others: more may follow it. */
static bool step_is_script(const struct held_step *s)
{
    return s->step_id == STEP_BATCH || s->step_id == STEP_EXTERN;
}

/* Not so a step of an allocation that goes on. */
static bool gives_back(const struct held_step *s)
{
    return step_is_script(s) || s->release_wanted;
}

void step_forget_if_acknowledged(struct turn *t, struct held_step *s)
{
    if (s->state != HELD_OVER || s->unacknowledged > 0)
        return;
    if (ends_its_job(s))
        held_remember_ended(&t->a->held, s->job_id, s->attempt);
    else
        held_remember_step_ended(&t->a->held, s);
    turn_effect_about(t, AGENT_FORGET, s);
    held_remove(&t->a->held, s);
}

/* RELEASED of a step of that run. */
static struct held_step *released_of(struct turn *t, const struct report *p,
                                     const struct held_run *run)
{
    struct held_step *s = p->msg.kind == REPORT_RELEASED ? step_of_report(t, p) : NULL;
    return s && s->run == run ? s : NULL;
}

/* It is said with RELEASED alone. */
static bool epilog_failure_unheard(struct turn *t, uint64_t job_id, const struct held_run *run)
{
    for (const struct report *p = t->a->reports.first; p; p = p->next)
        if (p->msg.detail && released_of(t, p, run))
            return true;
    for (const struct held_step *s = held_of_job(&t->a->held, job_id); s; s = s->next_of_job)
        if (s->run == run && s->state == HELD_PROVING && s->release_why)
            return true;
    return false;
}

/* What was said, or is yet to be said, of its end here is not so any more, and would be believed
 * when it ends. */
bool job_goes_on(struct turn *t, const struct held_step *launched)
{
    const struct reports *r = &t->a->reports;
    struct held_run *run = launched->run;
    if (!run->shut_out || held_epilog_runs(launched))
        return true;
    if (epilog_failure_unheard(t, launched->job_id, run))
        return false;
    run->shut_out = false;
    for (struct report *p = r->first, *next; p; p = next) {
        struct held_step *s = released_of(t, p, run);
        next = p->next;
        if (!s)
            continue;
        report_free(reports_take(&t->a->reports, p->msg.seq));
        s->unacknowledged--;
    }
    for (struct held_step *s = held_of_job(&t->a->held, launched->job_id), *next; s; s = next) {
        next = s->next_of_job;
        if (s->run != run || !s->shut_out)
            continue;
        s->release_wanted = s->released = false;
        step_forget_if_acknowledged(t, s);
    }
    return true;
}

bool job_epilog(struct turn *t, uint64_t job_id, uint32_t attempt, bool shut_out)
{
    ASSERT(job_id);
    const struct visit *v = visit_of(&t->a->held, job_id, attempt);
    if (!v || !program_given(t->a->welcome.epilog))
        return false;
    struct held_step *s = held_add(&t->a->held, job_id, attempt, STEP_EXTERN, HELD_STARTING);
    s->exit_reported = s->release_wanted = true;
    s->shut_out = shut_out;
    s->run->shut_out |= shut_out;
    held_move(s, HELD_ENDED);
    epilog_begin(t, s);
    return true;
}

/* Before the settings are known nobody can tell whether an epilog ends its visit: take_welcome asks
 * again. */
void job_gone(struct turn *t, struct held_step *s)
{
    if (!t->a->has_welcome && visit_of(&t->a->held, s->job_id, s->attempt))
        return;
    if (!held_has_others(s) && !held_has_speaker(s) &&
        !job_epilog(t, s->job_id, s->attempt, s->shut_out))
        turn_report_released(t, s, NULL);
}

void over_finish(struct turn *t, struct held_step *s)
{
    /* While another step of the job is alive here, the job is not gone: the last one says so. */
    if (s->release_wanted && !s->released)
        job_gone(t, s);
    step_forget_if_acknowledged(t, s);
}

void step_over(struct turn *t, struct held_step *s)
{
    held_move(s, HELD_OVER);
    over_finish(t, s);
}

/* The job's last step here is followed by the epilog: its batch script, or any once the job is to
 * end. Between the steps of an allocation there is none, nor a second beside one that runs. */
static bool epilog_follows(const struct turn *t, const struct held_step *s)
{
    return program_given(t->a->welcome.epilog) && gives_back(s) && !held_has_others(s) &&
           !held_epilog_runs(s);
}

void step_prove(struct turn *t, struct held_step *s, const char *detail)
{
    held_move(s, HELD_PROVING);
    s->prove_until_us = t->now_us + PROVE_WAIT_US;
    free(s->release_why);
    s->release_why = xstrdup(detail);
}

void steps_proven(struct turn *t)
{
    struct held_walk w = {0};
    while (held_next(&t->a->held, &w)) {
        struct held_step *s = w.step;
        if (s->state == HELD_WAITING)
            step_launch_try(t, s, held_launch(s));
        if (s->state != HELD_PROVING || (s->prove_until_us > t->now_us && !devices_proven(t, s)))
            continue;
        held_move(s, HELD_OVER); /* before the report, which says what of it is not clean */
        /* Another may have been launched meanwhile: it says so when it is gone. */
        if (!s->released && gives_back(s) && !held_has_speaker(s) && !held_has_others(s))
            turn_report_released(t, s, s->release_why);
        over_finish(t, s);
    }
}

void epilog_begin(struct turn *t, struct held_step *s)
{
    held_move(s, HELD_EPILOG);
    const struct visit *v = visit_of(&t->a->held, s->job_id, s->attempt);
    struct agent_effect *e = turn_effect_about(t, AGENT_EPILOG, s);
    if (v && v->job.n)
        e->job = v->job.v;
}

/* An end that is not reported yet. */
void step_end_report(struct turn *t, struct held_step *s, bool clean)
{
    struct report *p = NULL;
    if (s->lost)
        p = turn_report_of(t, REPORT_LOST, s, NULL);
    else if (s->end.kind == NOTE_EXITED)
        p = turn_report_of(t, REPORT_EXITED, s, &s->end);
    if (!p)
        return;
    p->msg.clean = clean;
    s->exit_reported = true;
    if (clean && !s->lost)
        job_left(t, s);
    turn_report_keep(t, s, p);
}

/* Of a step in ENDED, once the settings are known. */
void step_settle(struct turn *t, struct held_step *s)
{
    if (!t->a->has_welcome)
        return;
    bool epilog = epilog_follows(t, s);
    bool last = gives_back(s) && !held_has_others(s) && !held_has_speaker(s);
    bool prove = last && !devices_proven(t, s);
    if (!s->exit_reported)
        step_end_report(t, s,
                        !epilog && !prove && last &&
                            s->step_id < 0); /* of srun steps RELEASED tells it */
    if (epilog) {
        epilog_begin(t, s);
        return;
    }
    devices_give_back(t, s);
    if (prove && !s->released) {
        step_prove(t, s, NULL);
        return;
    }
    if (!s->released && last)
        turn_report_released(t, s, NULL);
    step_over(t, s);
}

void step_ended(struct turn *t, struct held_step *s)
{
    bool was_stuck = s->stuck != NULL;
    held_move(s, HELD_ENDED);
    step_settle(t, s);
    if (was_stuck)
        devices_announce(t);
}

/* It never ran. */
void step_failed(struct turn *t, struct held_step *s, const struct note *why)
{
    struct report *p = turn_report_of(t, REPORT_FAILED, s, why);
    s->exit_reported = true;
    /* Before the report, which says how the devices are that it gives back. */
    held_move(s, HELD_OVER);
    devices_give_back(t, s);
    turn_report_keep(t, s, p);
    over_finish(t, s);
}

/* A controller that asks for what is over has ended it meanwhile, and takes the answer for nothing;
 * or it has gone back to an older store, and would wait for ever. */
void step_had(struct turn *t, struct held_step *s)
{
    struct note had = {.kind = NOTE_FAILED,
                       .retry = 1,
                       .detail = "this node has had that start before, and it is over"};
    s->had = true;
    step_failed(t, s, &had);
}

const char step_ended_early[] = "it was ended before it could begin";

void step_not_begun(struct turn *t, struct held_step *s, const char *why)
{
    ASSERT(why);
    struct note failed = {.kind = NOTE_FAILED, .retry = 1};
    size_t len = strnlen(why, sizeof failed.detail - 1);
    memcpy(failed.detail, why, len);
    step_failed(t, s, &failed);
}

/* The shell keeps it, too: the next daemon has the prolog run no second time, and knows what the
 * epilog needs. */
static struct visit *visit_keep(struct turn *t, const struct held_step *s, bool prepared,
                                const struct msg_launch *l)
{
    struct visit *v = visit_begin(&t->a->held, s->job_id, s->attempt, prepared, l);
    struct agent_effect *e = turn_effect_about(t, AGENT_VISIT_KEEP, s);
    e->job = v->job.v;
    e->prepared = prepared;
    return v;
}

void visit_prepared(struct turn *t, const struct held_step *s)
{
    struct visit *v = visit_of(&t->a->held, s->job_id, s->attempt);
    if (!v || v->prepared)
        return;
    v->prepared = true;
    turn_effect_about(t, AGENT_VISIT_READY, s);
}

/* The visit of its job, from the first step that begins: one that was refused has not been here. No
 * prolog runs beside what runs. NULL: the site has no programs around jobs. */
static struct visit *visit_enter(struct turn *t, const struct held_step *s,
                                 const struct msg_launch *l)
{
    struct holdings *h = &t->a->held;
    bool prolog = program_given(t->a->welcome.prolog);
    struct visit *v = visit_of(h, s->job_id, s->attempt);
    if (!v && (prolog || program_given(t->a->welcome.epilog)))
        v = visit_keep(t, s, !prolog || held_another_runs(s), l);
    if (v && !v->prepared && held_another_runs(s))
        visit_prepared(t, s);
    return v;
}

static const char too_many_wait[] =
    "too many steps of its job wait there for its prolog or its devices";

static void step_launch(struct turn *t, struct held_step *s, const struct msg_launch *l)
{
    const struct visit *v = visit_enter(t, s, l);
    bool prolog = v && !v->prepared && program_given(t->a->welcome.prolog);
    if (prolog && !s->launch && !held_keep_launch(s, l)) {
        step_not_begun(t, s, too_many_wait);
        return;
    }
    held_move(s, prolog ? HELD_PROLOG : HELD_STARTING);
    if (prolog)
        turn_effect_about(t, AGENT_PROLOG, s)->launch = held_launch(s);
    else
        step_start(t, s, l);
}

/* The controller may not have heard yet that a device is not to be given. For a look at one the
 * step waits so long, for the prolog as long as that takes. Once its job's epilog runs, which ends
 * the visit, it comes too late. */
void step_launch_try(struct turn *t, struct held_step *s, const struct msg_launch *l)
{
    ASSERT(l->job.n > 0);
    if (held_epilog_runs(s)) {
        step_not_begun(t, s, step_ended_early);
        return;
    }
    if (held_prolog_runs(s)) {
        s->prove_until_us = INT64_MAX;
        if (!s->launch && !held_keep_launch(s, l))
            step_not_begun(t, s, too_many_wait);
        return;
    }
    if (s->prove_until_us == INT64_MAX)
        s->prove_until_us = t->now_us + PROVE_WAIT_US;
    struct str why = STR_INIT;
    enum devices_answer answer = devices_give(t, s, l, &why);
    if (answer == DEVICES_GIVEN)
        step_launch(t, s, l);
    else if (answer == DEVICES_REFUSED || s->prove_until_us <= t->now_us)
        step_not_begun(t, s, str_text(&why));
    else if (!s->launch && !held_keep_launch(s, l))
        step_not_begun(t, s, too_many_wait);
    str_done(&why);
}

/* Processes that outlive SIGKILL are named by the shepherd after a time; who says nothing for twice
 * that time is looked at. */
void step_answer_await(struct turn *t, struct held_step *s)
{
    int64_t unkillable_us = t->a->has_welcome ? t->a->welcome.unkillable_us : 0;
    s->answer_by_us = unkillable_us > 0 ? t->now_us + s->kill_wait_us + 2 * unkillable_us : 0;
}

void answers_miss(struct turn *t)
{
    struct held_walk w = {0};
    while (held_next(&t->a->held, &w)) {
        struct held_step *s = w.step;
        if (!held_answers(s) || t->now_us < s->answer_by_us)
            continue;
        turn_effect_about(t, AGENT_ROUSE, s)->gives_up = s->roused;
        s->roused = true;
        step_answer_await(t, s);
    }
}

void step_shepherd_terminate(struct turn *t, struct held_step *s)
{
    if (!s->answer_by_us)
        step_answer_await(t, s);
    struct agent_effect *e = turn_effect_about(t, AGENT_TERMINATE, s);
    e->kill_wait_us = s->kill_wait_us;
    e->why = arena_strdup(t->fx->arena, s->why);
    e->of_job = s->release_wanted;
}

void step_start(struct turn *t, struct held_step *s, const struct msg_launch *launch)
{
    turn_effect_about(t, AGENT_START, s)->launch = launch;
}
