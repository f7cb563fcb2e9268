/* What shepherds and the site's programs say. */
#include "agent/inside.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

struct held_step *step_of_note(struct turn *t, const struct note *n)
{
    return held_find(&t->a->held, (uint64_t)n->job_id, (uint32_t)n->attempt, n->step_id);
}

static bool is_live(const struct held_step *s)
{
    return s->state == HELD_STARTING || s->state == HELD_RUNNING;
}

static void note_started(struct turn *t, struct held_step *s, const struct note *n)
{
    if (s->state != HELD_STARTING)
        return;
    s->pid = n->pid;
    held_move(s, HELD_RUNNING);
    turn_report_once(t, turn_report_of(t, REPORT_STARTED, s, n));
    if (s->doomed)
        step_shepherd_terminate(t, s);
    s->doomed = false;
}

static void note_exited(struct turn *t, struct held_step *s, const struct note *n)
{
    if (!is_live(s))
        return;
    if (s->state == HELD_STARTING)
        held_move(s, HELD_RUNNING);
    s->pid = n->pid;
    s->end = *n;
    if (n->clean) {
        step_ended(t, s);
        return;
    }
    step_end_report(t, s, false);
    held_move(s, HELD_CLEANING);
    step_answer_await(t, s);
}

static void note_failed(struct turn *t, struct held_step *s, const struct note *n)
{
    if (is_live(s))
        step_failed(t, s, n);
}

/* The shepherd is gone. It may have told its end by way of the state file only: the shell has fed
 * the notes of that file first. */
static void note_gone(struct turn *t, struct held_step *s, const struct note *n)
{
    if (s->state == HELD_CLEANING) {
        turn_effect_about(t, AGENT_CLEAR, s);
        step_ended(t, s);
    } else if (s->state == HELD_RUNNING) {
        turn_effect_about(t, AGENT_CLEAR, s);
        s->lost = true;
        step_ended(t, s);
    } else if (s->state == HELD_STARTING) {
        struct note why = *n;
        why.retry = 1;
        s->lost = true;
        if (!why.detail[0])
            memcpy(why.detail, "its shepherd ended before it could start it",
                   sizeof "its shepherd ended before it could start it");
        step_failed(t, s, &why);
    }
}

/* It keeps what its job has here; the rest of the node works on, and people are told. */
static void note_stuck(struct turn *t, struct held_step *s, const struct note *n)
{
    if (s->state >= HELD_ENDED)
        return;
    if (!s->stuck)
        s->stuck_since_us = n->at_us;
    if (!s->stuck || s->stuck_pid != n->status)
        turn_log(t, true, "%s; job %llu keeps what it has here until that ends", n->detail,
                 (unsigned long long)s->job_id);
    free(s->stuck);
    s->stuck = xstrdup(n->detail);
    held_mark(&t->a->held, s);
    s->stuck_pid = n->status;
    devices_announce(t);
}

/* Once a step has its shepherd, nobody else speaks for it. That the shepherd is gone, others must
 * say. */
static bool speaks_for(const struct note *n, const struct held_step *s)
{
    return n->kind == NOTE_GONE || s->pid == 0 || n->pid == s->pid;
}

void take_note(struct turn *t, const struct note *n)
{
    struct held_step *s = step_of_note(t, n);
    if (!s)
        return;
    if (!speaks_for(n, s)) {
        turn_log(
            t, true,
            "process %lld spoke for a step of job %llu that is process %lld's; it is not believed",
            (long long)n->pid, (unsigned long long)s->job_id, (long long)s->pid);
        return;
    }
    if (s->found && !s->uid_plus1 && n->uid_plus1 > 0 && n->uid_plus1 <= (int64_t)UINT32_MAX + 1)
        s->uid_plus1 = n->uid_plus1;
    s->hidden |= n->hidden;
    if (s->found && s->gpus.count == 0 && n->gpus && s->state < HELD_ENDED)
        devices_found(t, s, n);
    if (s->answer_by_us && !(n->kind == NOTE_STUCK && n->status == n->pid)) { /* it speaks */
        s->roused = false;
        step_answer_await(t, s);
    }
    switch (n->kind) {
    case NOTE_STARTED: note_started(t, s, n); break;
    case NOTE_USAGE:
        if (s->state == HELD_RUNNING)
            turn_report_once(t, turn_report_of(t, REPORT_USAGE, s, n));
        break;
    case NOTE_EXITED: note_exited(t, s, n); break;
    case NOTE_CLEARED:
        if (s->state == HELD_CLEANING)
            step_ended(t, s);
        break;
    case NOTE_FAILED: note_failed(t, s, n); break;
    case NOTE_GONE: note_gone(t, s, n); break;
    case NOTE_STUCK: note_stuck(t, s, n); break;
    case NOTE_KIND_COUNT: break;
    }
}

/* ---- programs of the site ---- */

/* Those that waited for it fail alike. What comes next has it run again. */
static void prolog_failed(struct turn *t, struct held_step *s, const char *text)
{
    struct note why = {.kind = NOTE_FAILED, .retry = 1, .prolog = 1};
    size_t len = text ? strnlen(text, sizeof why.detail - 1) : 0;
    if (len > 0)
        memcpy(why.detail, text, len);
    step_failed(t, s, &why);
    for (struct held_step *o = held_of_job(&t->a->held, s->job_id), *next; o; o = next) {
        next = o->next_of_job;
        if (o->attempt == s->attempt && o->state == HELD_WAITING)
            step_failed(t, o, &why);
    }
}

void take_prolog_done(struct turn *t, const struct agent_event *ev)
{
    struct held_step *s = step_of_note(t, ev->note);
    if (!s || s->state != HELD_PROLOG)
        return;
    if (!ev->ok) {
        prolog_failed(t, s, ev->text);
        return;
    }
    visit_prepared(t, s);
    if (s->doomed && s->release_wanted && !s->shut_out) {
        step_ended(t, s); /* the epilog undoes the prolog, then RELEASED */
    } else if (s->doomed) {
        /* The job goes on, or does so where this host is let in again: this is all that is said. */
        step_not_begun(t, s, step_ended_early);
    } else {
        held_move(s, HELD_STARTING);
        step_start(t, s, held_launch(s));
    }
    steps_proven(t);
}

void take_epilog_done(struct turn *t, const struct agent_event *ev)
{
    struct held_step *s = step_of_note(t, ev->note);
    if (!s || s->state != HELD_EPILOG)
        return;
    const char *detail = ev->ok ? NULL : ev->text;
    visit_leave(t, s);
    devices_give_back(t, s);
    if (!devices_proven(t, s)) {
        step_prove(t, s, detail);
        return;
    }
    held_move(s, HELD_OVER);
    if (!held_has_speaker(s))
        turn_report_released(t, s, detail);
    over_finish(t, s);
}
