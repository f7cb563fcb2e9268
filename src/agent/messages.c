/* What the controller says. */
#include "agent/inside.h"

#include "base/alloc.h"
#include "model/protocol.h"

#include <stdlib.h>
#include <string.h>

/* What came to its end before it was known what follows that. */
static void ends_settle(struct turn *t)
{
    struct held_walk w = {0};
    while (held_next(&t->a->held, &w)) {
        struct held_step *s = w.step;
        bool waits = s->state == HELD_OVER && s->release_wanted && !s->released;
        if (s->state == HELD_ENDED)
            step_settle(t, s);
        else if (waits && visit_of(&t->a->held, s->job_id, s->attempt))
            job_gone(t, s);
    }
}

static void take_welcome(struct turn *t, const struct msg_node_welcome *w)
{
    struct agent *a = t->a;
    const struct protocol_peer controller = {"the controller", w->version, w->protocol,
                                             w->protocol_oldest};
    const char *fault = protocol_fault(&controller, "this node", REMUDA_VERSION, t->fx->arena);
    if (fault) {
        turn_log(t, true, "%s", fault);
        return;
    }
    struct arena *fresh = arena_new();
    record_copy(message_fields(MSG_NODE_WELCOME), &a->welcome, w, fresh);
    arena_free(a->welcome_arena);
    a->welcome_arena = fresh;
    if (a->welcomed) /* the configuration was read anew: its devices may be others, too */
        turn_effect(t, AGENT_FIND);
    a->has_welcome = a->welcomed = true;
    a->end_all_us = 0;
    if (a->welcome.devices_failed)
        devices_learn_failed(t, a->welcome.devices_failed);
    a->heartbeat_due_us =
        a->welcome.heartbeat_us > 0 ? t->now_us + a->welcome.heartbeat_us : INT64_MAX;
    for (struct report *p = a->reports.first; p; p = p->next)
        turn_report_send(t, p);
    ends_settle(t);
    devices_announce(t);
}

static const char epilog_failed[] =
    "the epilog of its job failed there while the host was shut out";

static void take_launch(struct turn *t, const struct msg_launch *l)
{
    struct agent *a = t->a;
    if (l->job.n < 1 || !a->has_welcome)
        return;
    const struct job *j = l->job.v;
    if (held_find(&a->held, j->id, j->attempt, l->step_id))
        return;
    bool had = held_was_ended(&a->held, j->id, j->attempt, l->step_id);
    struct held_step *s = held_add(&a->held, j->id, j->attempt, l->step_id, HELD_WAITING);
    s->uid_plus1 = (int64_t)j->user_id + 1;
    s->prove_until_us = INT64_MAX;
    if (had)
        step_had(t, s);
    else if (!job_goes_on(t, s))
        step_not_begun(t, s, epilog_failed);
    else
        step_launch_try(t, s, l);
}

/* To answer a TERMINATE about something that is not (any longer) here. */
static void release_unknown(struct turn *t, const struct msg_terminate *m)
{
    /* The steps of an allocation are over already. */
    if (job_epilog(t, m->job_id, m->attempt, false))
        return;
    struct held_step *s = held_add(&t->a->held, m->job_id, m->attempt, STEP_EXTERN, HELD_STARTING);
    s->exit_reported = true;
    turn_report_released(t, s, NULL);
    held_move(s, HELD_OVER);
}

/* To answer a TERMINATE of a step that is not (any longer) here. */
static void step_unknown(struct turn *t, const struct msg_terminate *m)
{
    struct held_step *s = held_add(&t->a->held, m->job_id, m->attempt, m->step_id, HELD_STARTING);
    s->exit_reported = s->released = true;
    turn_report_keep(t, s, turn_report_of(t, REPORT_LOST, s, NULL));
    held_move(s, HELD_OVER);
}

static void step_terminate(struct turn *t, struct held_step *s, const struct msg_terminate *m)
{
    s->release_wanted |= !m->only_step;
    s->kill_wait_us = m->kill_wait_us;
    free(s->why);
    s->why = xstrdup(m->why);
    switch (s->state) {
    case HELD_WAITING: step_not_begun(t, s, step_ended_early); break;
    case HELD_PROLOG:
    case HELD_STARTING: s->doomed = true; break;
    case HELD_RUNNING:
    case HELD_CLEANING: step_shepherd_terminate(t, s); break;
    case HELD_ENDED:
    case HELD_EPILOG:
    case HELD_PROVING: break;
    case HELD_OVER:
        /* What was said may have come before the controller wanted to hear it, when more was to be
         * launched here. It asks, so it gets an answer. */
        if (!m->only_step)
            job_gone(t, s);
        break;
    case HELD_STATE_COUNT: break;
    }
}

#define SHUT_OUT_UNKNOWN_US (60 * INT64_C(1000000)) /* the cluster's settings were never told */

/* In half the time in which the controller waits for this node before it gives up what runs here;
 * until then the host may be let in again. */
static void shut_out_take(struct turn *t)
{
    const struct msg_node_welcome *w = t->a->has_welcome ? &t->a->welcome : NULL;
    int64_t left_us = w ? w->timeout_us - w->kill_wait_us : 0;
    int64_t after_us = !w || w->timeout_us <= 0 ? SHUT_OUT_UNKNOWN_US
                       : left_us > 0            ? left_us / 2
                                                : 0;
    if (t->a->end_all_us)
        return;
    t->a->end_all_us = t->now_us + after_us;
    if (t->a->held.count > 0 || map_u64_count(t->a->held.visit) > 0)
        turn_log(t, true,
                 "this host was shut out of the cluster: what jobs run here is ended in %lld s, "
                 "unless it joins again before",
                 (long long)(after_us / 1000000));
}

/* Allocations that have been here and have nothing running have no step whose end they follow. */
static void idle_visits_end(struct turn *t)
{
    struct visit_walk w = {0};
    while (visit_next(&t->a->held, &w))
        if (!held_is_alive(&t->a->held, w.visit->job_id, w.visit->attempt))
            job_epilog(t, w.visit->job_id, w.visit->attempt, true);
}

void end_all_when_due(struct turn *t)
{
    struct held_walk w = {0};
    if (!t->a->end_all_us || t->now_us < t->a->end_all_us)
        return;
    t->a->end_all_us = INT64_MAX;
    while (held_next(&t->a->held, &w)) {
        struct held_step *s = w.step;
        struct msg_terminate m = {.job_id = s->job_id,
                                  .attempt = s->attempt,
                                  .why = "DUE TO NODE FAILURE",
                                  .kill_wait_us = t->a->has_welcome ? t->a->welcome.kill_wait_us
                                                                    : SHUT_OUT_UNKNOWN_US / 2};
        if (s->state == HELD_OVER)
            continue;
        s->shut_out |= !s->release_wanted;
        s->run->shut_out |= s->shut_out;
        step_terminate(t, s, &m);
    }
    idle_visits_end(t);
}

static void take_terminate(struct turn *t, const struct msg_terminate *m)
{
    bool any = false;
    if (!m->only_step) /* a step of it whose launch comes only now does not begin */
        held_remember_ended(&t->a->held, m->job_id, m->attempt);
    for (struct held_step *s = held_of_job(&t->a->held, m->job_id), *next; s; s = next) {
        next = s->next_of_job;
        if (s->attempt != m->attempt || (m->only_step && s->step_id != m->step_id))
            continue;
        any = true;
        s->shut_out &= m->only_step;
        step_terminate(t, s, m);
    }
    if (!any && m->only_step)
        step_unknown(t, m);
    else if (!any)
        release_unknown(t, m);
}

/* Steps, the batch script, or both: never what the script started without srun, unless all are
 * meant. */
static bool signal_means(const struct msg_signal *m, const struct held_step *s)
{
    if (s->attempt != m->attempt || s->state != HELD_RUNNING)
        return false;
    if (m->only_step)
        return s->step_id == m->step_id;
    return m->full || m->batch == (s->step_id == STEP_BATCH);
}

static void take_line(struct turn *t, const struct msg_signal *m)
{
    const struct held_step *script = held_find(&t->a->held, m->job_id, m->attempt, STEP_BATCH);
    bool has_script = script && script->state == HELD_RUNNING;
    for (struct held_step *s = held_of_job(&t->a->held, m->job_id); s; s = s->next_of_job) {
        if (s->attempt != m->attempt || s->state != HELD_RUNNING ||
            (has_script && s->step_id != STEP_BATCH))
            continue;
        struct agent_effect *e = turn_effect_about(t, AGENT_TELL, s);
        e->text = arena_strdup(t->fx->arena, m->say);
        e->streams = m->streams;
    }
}

static void take_signal(struct turn *t, const struct msg_signal *m)
{
    if (m->say) {
        take_line(t, m);
        return;
    }
    for (struct held_step *s = held_of_job(&t->a->held, m->job_id); s; s = s->next_of_job) {
        if (!signal_means(m, s))
            continue;
        struct agent_effect *e = turn_effect_about(t, AGENT_SIGNAL, s);
        e->signal = m->signal;
        e->batch = m->batch && !m->full && !m->only_step;
        e->of_job = !m->only_step && !e->batch;
    }
}

static void take_stream_to(struct turn *t, const struct msg_stream_to *m)
{
    const struct held_step *s = held_find(&t->a->held, m->job_id, m->attempt, m->step_id);
    if (!s || s->state != HELD_RUNNING)
        return;
    struct agent_effect *e = turn_effect_about(t, AGENT_FOLLOW, s);
    e->text = arena_strdup(t->fx->arena, m->address);
    e->why = arena_strdup(t->fx->arena, m->key);
}

static void take_ack(struct turn *t, const struct msg_report_ack *m)
{
    struct report *p = reports_take(&t->a->reports, m->seq);
    struct held_step *s = p ? step_of_report(t, p) : NULL;
    report_free(p);
    if (!s)
        return;
    s->unacknowledged--;
    step_forget_if_acknowledged(t, s);
}

#define HELLO_AGAIN_US (10 * INT64_C(1000000))

/* The answer to a hello that was refused: the node is not in the configuration. It says hello again
 * from time to time, and with the next connection; the log has it once for each of those. */
static void take_refusal(struct turn *t, const struct msg_done *m)
{
    if (m->refusal == REFUSE_NONE)
        return;
    if (m->shut_out)
        shut_out_take(t);
    if (!t->a->welcomed && t->a->hello_said)
        t->a->heartbeat_due_us = t->now_us + HELLO_AGAIN_US;
    if (!t->a->welcomed && t->a->refusal_said)
        return;
    t->a->refusal_said = true;
    turn_log(t, true, "the controller refuses this node: %s%s%s",
             refusal_text((enum refusal)m->refusal), m->detail ? ": " : "",
             m->detail ? m->detail : "");
}

/* What an operator took care of may be there again, or be another. */
static void take_retry(struct turn *t)
{
    const char *gone = devices_gone(t);
    devices_retry(t);
    struct agent_effect *find = turn_effect(t, AGENT_FIND);
    find->accepts = true;
    find->text = gone;
}

void take_message(struct turn *t, const struct message *m)
{
    ASSERT(m->kind < MESSAGE_COUNT && m->body);
    if (m->kind == MSG_NODE_WELCOME)
        take_welcome(t, m->body);
    else if (m->kind == MSG_LAUNCH)
        take_launch(t, m->body);
    else if (m->kind == MSG_TERMINATE)
        take_terminate(t, m->body);
    else if (m->kind == MSG_SIGNAL)
        take_signal(t, m->body);
    else if (m->kind == MSG_STREAM_TO)
        take_stream_to(t, m->body);
    else if (m->kind == MSG_DEVICES_RETRY)
        take_retry(t);
    else if (m->kind == MSG_REPORT_ACK)
        take_ack(t, m->body);
    else if (m->kind == MSG_DONE)
        take_refusal(t, m->body);
}
