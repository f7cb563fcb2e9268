/* The node's machine.
 *
 * A step goes (WAITING →) PROLOG → STARTING → RUNNING → (CLEANING →) ENDED → (EPILOG →) (PROVING →)
 * OVER; held.c has the table. Everything that comes is put to the step it concerns:
 *
 *   LAUNCH      unknown: takes it (prolog, or a shepherd at once). Known: nothing, the message is a
 *               repetition. Over, or ended before it came: FAILED, as one that this node has had.
 *   TERMINATE   live: its shepherd ends it. Over or unknown: RELEASED.
 *   notes       move it on; its end becomes a report.
 *   REPORT_ACK  when the last report of a step that is OVER is acknowledged, the step is forgotten.
 *
 * What follows an end depends on the epilog, and so on settings that a node that has just restarted
 * does not have yet: the step waits in ENDED for the controller's welcome. A restarted daemon that
 * is told what it finds repeats reports that were acknowledged but not forgotten; the controller
 * knows them by (job, attempt, step).
 *
 * RELEASED is implied by an EXITED that is clean. Otherwise it follows when nothing of the job is
 * left here and the epilog ran. */
#include "agent/agent.h"

#include "agent/inside.h"
#include "base/alloc.h"
#include "base/rng.h"

#include <stdlib.h>

static void connection_up(struct turn *t)
{
    t->a->connected = true;
    t->a->welcomed = t->a->hello_said = t->a->refusal_said = false;
    t->a->devices.told_seq = 0;
    t->a->devices.urgent = true;
    if (!t->a->devices.looked)
        devices_look(t);
    hello_when_looked(t);
}

static void connection_down(struct turn *t)
{
    t->a->connected = t->a->welcomed = false;
    t->a->heartbeat_due_us = INT64_MAX;
}

/* Also the moment to repeat what has waited long for its acknowledgement. */
static void wake(struct turn *t, const struct agent_event *ev)
{
    struct agent *a = t->a;
    a->load_centi = ev->load_centi;
    a->free_mem_mib = ev->free_mem_mib;
    steps_proven(t);
    answers_miss(t);
    end_all_when_due(t);
    if (a->devices.due_us <= t->now_us)
        devices_look(t);
    if (t->now_us < a->heartbeat_due_us)
        return;
    if (!a->welcomed) { /* it was refused: the node may be in the configuration by now */
        a->heartbeat_due_us = INT64_MAX;
        a->hello_said = false;
        hello_when_looked(t);
        return;
    }
    heartbeat_send(t);
    for (struct report *p = a->reports.first; p; p = p->next)
        if (p->sent_us + a->welcome.heartbeat_us <= t->now_us)
            turn_report_send(t, p);
    a->heartbeat_due_us = t->now_us + a->welcome.heartbeat_us;
}

static void node_changed(struct turn *t)
{
    t->a->node_changed = true;
    t->a->devices.pause_us = LOOK_PAUSE_US;
    devices_look(t);
    hello_when_looked(t);
    if (t->a->welcomed)
        heartbeat_send(t);
}

/* ---- the clock ---- */

#define CLOCK_STEP_US INT64_C(1000000) /* less is made up for later */

static void moved(int64_t *at_us, int64_t by_us)
{
    if (*at_us && *at_us != INT64_MAX)
        *at_us += by_us;
}

/* The wall clock was set if it went on by another amount than the one that nobody sets: what is due
 * after a while is due after the same while. */
static void clock_look(struct agent *a, const struct agent_event *ev)
{
    int64_t difference = ev->now_us - ev->mono_us,
            by_us = a->clock_known ? difference - a->clock_us : 0;
    struct held_walk w = {0};
    if (!ev->mono_us || (a->clock_known && by_us < CLOCK_STEP_US && by_us > -CLOCK_STEP_US))
        return;
    a->clock_known = true;
    a->clock_us = difference;
    moved(&a->heartbeat_due_us, by_us);
    moved(&a->devices.due_us, by_us);
    for (size_t i = 0; i < a->devices.n; i++) /* processes are newer or older by the same clock */
        moved(&a->devices.v[i].from_us, by_us);
    moved(&a->end_all_us, by_us);
    while (held_next(&a->held, &w)) {
        moved(&w.step->prove_until_us, by_us);
        moved(&w.step->answer_by_us, by_us);
    }
    gpus_clock_set(&a->gpus, by_us);
    for (struct report *p = a->reports.first; p; p = p->next)
        moved(&p->sent_us, by_us);
}

/* ---- the machine ---- */

static void step_found(struct agent *a, const struct note *ids)
{
    struct held_step *s = held_add(&a->held, (uint64_t)ids->job_id, (uint32_t)ids->attempt,
                                   ids->step_id, HELD_STARTING);
    s->found = true;
    held_mark(&a->held, s);
}

void agent_step(struct agent *a, const struct agent_event *ev, struct agent_effects *fx)
{
    struct turn t = {a, ev->now_us, fx};
    clock_look(a, ev);
    switch (ev->kind) {
    case AGENT_UP: connection_up(&t); break;
    case AGENT_DOWN: connection_down(&t); break;
    case AGENT_MESSAGE: take_message(&t, ev->msg); break;
    case AGENT_FOUND:
        if (!step_of_note(&t, ev->note))
            step_found(a, ev->note);
        break;
    case AGENT_VISITED:
        if (!visit_of(&a->held, (uint64_t)ev->note->job_id, (uint32_t)ev->note->attempt))
            visit_begin(&a->held, (uint64_t)ev->note->job_id, (uint32_t)ev->note->attempt, ev->ok,
                        NULL);
        break;
    case AGENT_NOTE: take_note(&t, ev->note); break;
    case AGENT_PROLOG_DONE: take_prolog_done(&t, ev); break;
    case AGENT_EPILOG_DONE: take_epilog_done(&t, ev); break;
    case AGENT_WAKE: wake(&t, ev); break;
    case AGENT_CHANGED: node_changed(&t); break;
    case AGENT_LOOKED:
    case AGENT_DEVICE_SIGN: devices_seen(&t, ev); break;
    case AGENT_GPU_USED: gpus_used(&t, ev); break;
    }
    devices_date(&t);
}

struct agent *agent_new(const struct node *self, int64_t pid, uint64_t first_seq)
{
    ASSERT(!text_empty(self->name));
    struct agent *a = xcalloc(1, sizeof *a);
    a->pid = pid;
    a->heartbeat_due_us = INT64_MAX;
    held_init(&a->held);
    reports_init(&a->reports, first_seq);
    devices_init(&a->devices, first_seq);
    agent_set_node(a, self);
    return a;
}

void agent_look_every(struct agent *a, int64_t us)
{
    a->devices.pause_max_us = us;
}

void agent_free(struct agent *a)
{
    if (!a)
        return;
    held_done(&a->held);
    reports_done(&a->reports);
    devices_done(&a->devices);
    gpus_now_done(&a->gpus);
    arena_free(a->node_arena);
    arena_free(a->welcome_arena);
    free(a);
}

void agent_set_node(struct agent *a, const struct node *self)
{
    struct arena *fresh = arena_new();
    struct node *copy = arena_alloc(fresh, sizeof *copy);
    record_copy(&node_fields, copy, self, fresh);
    arena_free(a->node_arena);
    a->node_arena = fresh;
    a->node = copy;
    devices_set(&a->devices, copy);
}

bool agent_gpu_is_held(const struct agent *a, int32_t index)
{
    const struct watched *w = watched_find(&a->devices, index);
    return w && watched_in_use(a, w);
}

int64_t agent_wake_due(const struct agent *a)
{
    int64_t due = a->devices.due_us < a->heartbeat_due_us ? a->devices.due_us : a->heartbeat_due_us;
    struct held_walk w = {0};
    if (a->end_all_us && a->end_all_us < due)
        due = a->end_all_us;
    while (held_next(&a->held, &w)) {
        const struct held_step *s = w.step;
        if ((s->state == HELD_PROVING || s->state == HELD_WAITING) && s->prove_until_us < due)
            due = s->prove_until_us;
        if (held_answers(s) && s->answer_by_us < due)
            due = s->answer_by_us;
    }
    return due;
}

const struct msg_node_welcome *agent_welcome(const struct agent *a)
{
    return a->has_welcome ? &a->welcome : NULL;
}

void agent_each_running(const struct agent *a, void (*fn)(void *ctx, const struct note *n),
                        void *ctx)
{
    struct held_walk w = {0};
    while (held_next(&a->held, &w)) {
        const struct held_step *s = w.step;
        if (s->state != HELD_STARTING && s->state != HELD_RUNNING && s->state != HELD_CLEANING)
            continue;
        struct note n = {.job_id = (int64_t)s->job_id,
                         .attempt = s->attempt,
                         .step_id = s->step_id,
                         .pid = s->pid};
        fn(ctx, &n);
    }
}

size_t agent_held_count(const struct agent *a)
{
    return a->held.count;
}

size_t agent_unacknowledged_count(const struct agent *a)
{
    return a->reports.n;
}

static uint32_t reports_about(const struct agent *a, const struct held_step *s)
{
    uint32_t n = 0;
    for (const struct report *p = a->reports.first; p; p = p->next) {
        const struct msg_report *m = &p->msg;
        n += m->job_id == s->job_id && m->attempt == s->attempt && m->step_id == s->step_id;
    }
    return n;
}

/* Of several steps of a job the last to end says that the job is gone; it may be acknowledged and
 * forgotten before the others. */
static bool said_by_another(const struct agent *a, const struct held_step *s)
{
    for (const struct held_step *o = held_of_job(&a->held, s->job_id); o; o = o->next_of_job)
        if (o->attempt == s->attempt && o->released)
            return true;
    if (held_has_speaker(s))
        return true;
    return held_was_ended(&a->held, s->job_id, s->attempt, s->step_id);
}

/* A job's prolog runs once at a time, and nobody waits for one that does not. Nothing of the job
 * runs beside its epilog. */
static void prolog_check(const struct agent *a, const struct held_step *s)
{
    const struct visit *v = visit_of(&a->held, s->job_id, s->attempt);
    bool other = held_prolog_runs(s);
    CHECK(s->state != HELD_PROLOG || (v && !v->prepared && !other));
    CHECK(s->state != HELD_WAITING || s->prove_until_us != INT64_MAX || other);
    CHECK(s->state != HELD_EPILOG || !held_has_others(s));
}

void agent_check(const struct agent *a)
{
    struct held_walk w = {0};
    size_t steps = 0, reports = 0;
    while (held_next(&a->held, &w)) {
        const struct held_step *s = w.step;
        steps++;
        reports += s->unacknowledged;
        CHECK(s->unacknowledged == reports_about(a, s));
        CHECK(s->state != HELD_OVER || s->unacknowledged > 0);
        CHECK(s->state != HELD_OVER || s->exit_reported || s->released);
        CHECK((s->state != HELD_PROLOG && s->state != HELD_WAITING) || s->launch);
        prolog_check(a, s);
        CHECK(!s->release_wanted || s->state != HELD_OVER || s->released || held_has_others(s) ||
              said_by_another(a, s) || s->shut_out || !a->has_welcome);
        CHECK(held_find(&a->held, s->job_id, s->attempt, s->step_id) == s);
        held_check(&a->held, s);
    }
    CHECK(steps == a->held.count);
    CHECK(reports == a->reports.n);
    for (const struct report *p = a->reports.first; p && p->next; p = p->next)
        CHECK(p->msg.seq < p->next->msg.seq);
    CHECK(!a->welcomed || (a->connected && a->has_welcome));
}

static uint64_t visits_hash(const struct agent *a, uint64_t hash)
{
    struct visit_walk w = {0};
    while (visit_next(&a->held, &w)) {
        int64_t visit[] = {(int64_t)w.visit->job_id, w.visit->attempt, w.visit->prepared,
                           w.visit->job.n > 0};
        hash = hash_bytes(hash, visit, sizeof visit);
    }
    return hash;
}

uint64_t agent_hash(const struct agent *a)
{
    uint64_t hash = visits_hash(a, HASH_INIT);
    struct held_walk w = {0};
    while (held_next(&a->held, &w)) {
        const struct held_step *s = w.step;
        int64_t state[] = {(int64_t)s->job_id, s->attempt,  s->step_id,
                           s->state,           s->doomed,   s->exit_reported,
                           s->release_wanted,  s->released, s->pid,
                           s->end.status,      s->lost,     s->unacknowledged,
                           s->answer_by_us,    s->roused,   s->shut_out};
        hash = hash_bytes(hash, state, sizeof state);
    }
    for (const struct report *p = a->reports.first; p; p = p->next)
        hash = record_hash(message_fields(MSG_REPORT), &p->msg, hash);
    int64_t rest[] = {a->connected, a->welcomed, a->heartbeat_due_us, a->end_all_us,
                      (int64_t)a->reports.next_seq};
    return hash_bytes(hash, rest, sizeof rest);
}
