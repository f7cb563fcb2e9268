/* The node's machine.
 *
 * A step goes PROLOG → STARTING → RUNNING → (CLEANING →) ENDED → (EPILOG →) OVER; held.c has the table.
 * Everything that comes is put to the step it concerns:
 *
 *   LAUNCH     unknown: takes it (prolog, or a shepherd at once). Known, or ended before: nothing, the
 * message is a repetition. TERMINATE  live: its shepherd ends it. Over or unknown: RELEASED. A LAUNCH of that
 * start that comes later is ignored. notes      move it on; its end becomes a report. REPORT_ACK when the
 * last report of a step that is OVER is acknowledged, the step is forgotten.
 *
 * What follows an end depends on the epilog, and so on settings that a node that has just restarted does not
 * have yet: the step waits in ENDED for the controller's welcome. A restarted daemon that is told what it
 * finds repeats reports that were acknowledged but not forgotten; the controller knows them by (job, attempt,
 * step).
 *
 * RELEASED is implied by an EXITED that is clean. Otherwise it follows when nothing of the job is left here
 * and the epilog ran. */
#include "agent/agent.h"

#include "agent/held.h"
#include "agent/report.h"
#include "base/alloc.h"
#include "base/rng.h"

#include <stdlib.h>
#include <string.h>

struct agent {
    struct arena *node_arena;
    struct node *node; /* as told in NODE_HELLO */
    int64_t pid;
    struct holdings held;
    struct reports reports;
    bool connected, welcomed;
    bool has_welcome; /* settings below are there */
    struct arena *welcome_arena;
    struct msg_node_welcome welcome;
    int64_t heartbeat_due_us;
};

/* One step of the machine at work. */
struct turn {
    struct agent *a;
    int64_t now_us;
    struct agent_effects *fx;
};

/* ---- effects ---- */

static struct agent_effect *effect_add(struct turn *t, enum agent_effect_kind kind)
{
    struct agent_effects *fx = t->fx;
    if (fx->n == fx->cap) {
        fx->cap = fx->cap ? 2 * fx->cap : 16;
        fx->v = xrealloc(fx->v, fx->cap * sizeof fx->v[0]);
    }
    struct agent_effect *e = &fx->v[fx->n++];
    memset(e, 0, sizeof *e);
    e->kind = kind;
    return e;
}

static struct agent_effect *effect_about(struct turn *t, enum agent_effect_kind kind,
                                         const struct held_step *s)
{
    struct agent_effect *e = effect_add(t, kind);
    e->note.job_id = (int64_t)s->job_id;
    e->note.attempt = s->attempt;
    e->note.step_id = s->step_id;
    e->note.pid = s->pid;
    return e;
}

static void send(struct turn *t, enum message_kind kind, const void *body)
{
    struct agent_effect *e = effect_add(t, AGENT_SEND);
    const struct fields *fields = message_table[kind].fields;
    void *copy = arena_alloc(t->fx->arena, fields->size);
    record_copy(fields, copy, body, t->fx->arena);
    e->msg = (struct message){.kind = kind, .body = copy};
}

static void report_send(struct turn *t, struct report *p)
{
    p->sent_us = t->now_us;
    send(t, MSG_REPORT, &p->msg);
}

/* ---- reports ---- */

static void report_keep(struct turn *t, struct held_step *s, struct report *p)
{
    reports_add(&t->a->reports, p);
    s->unacknowledged++;
    if (t->a->welcomed)
        report_send(t, p);
}

static void report_once(struct turn *t, struct report *p)
{
    if (t->a->welcomed)
        report_send(t, p);
    report_free(p);
}

static struct report *report_of(struct turn *t, enum report_kind kind, const struct held_step *s,
                                const struct note *n)
{
    return report_make(kind, s, n, t->a->node->name, t->now_us);
}

static void report_released(struct turn *t, struct held_step *s, const char *detail)
{
    struct report *p = report_of(t, REPORT_RELEASED, s, NULL);
    p->msg.detail = detail ? xstrdup(detail) : NULL;
    s->released = true;
    report_keep(t, s, p);
}

/* ---- what becomes of a step ---- */

static bool has_program(const char *path)
{
    return path && *path;
}

static void forget_if_acknowledged(struct turn *t, struct held_step *s)
{
    if (s->state != HELD_OVER || s->unacknowledged > 0)
        return;
    held_remember_ended(&t->a->held, s->job_id, s->attempt);
    effect_about(t, AGENT_FORGET, s);
    held_remove(&t->a->held, s);
}

static void step_over(struct turn *t, struct held_step *s)
{
    held_move(s, HELD_OVER);
    if (s->release_wanted && !s->released)
        report_released(t, s, NULL);
    forget_if_acknowledged(t, s);
}

/* The last step of a job here is followed by the epilog. */
static bool epilog_follows(const struct turn *t, const struct held_step *s)
{
    return has_program(t->a->welcome.epilog) && !held_has_others(&t->a->held, s);
}

static void epilog_begin(struct turn *t, struct held_step *s)
{
    held_move(s, HELD_EPILOG);
    struct agent_effect *e = effect_about(t, AGENT_EPILOG, s);
    if (s->launch && s->launch->job.n)
        e->job = s->launch->job.v;
}

/* An end that is not reported yet. */
static void end_report(struct turn *t, struct held_step *s, bool clean)
{
    struct report *p = NULL;
    if (s->lost)
        p = report_of(t, REPORT_LOST, s, NULL);
    else if (s->end.kind == NOTE_EXITED)
        p = report_of(t, REPORT_EXITED, s, &s->end);
    if (!p)
        return;
    p->msg.clean = clean;
    s->exit_reported = true;
    s->released = clean && !s->lost;
    report_keep(t, s, p);
}

/* Of a step in ENDED, once the settings are known. */
static void settle(struct turn *t, struct held_step *s)
{
    if (!t->a->has_welcome)
        return;
    bool epilog = epilog_follows(t, s);
    if (!s->exit_reported)
        end_report(t, s, !epilog && !held_has_others(&t->a->held, s));
    if (epilog) {
        epilog_begin(t, s);
        return;
    }
    if (!s->released && !held_has_others(&t->a->held, s))
        report_released(t, s, NULL);
    step_over(t, s);
}

static void step_ended(struct turn *t, struct held_step *s)
{
    held_move(s, HELD_ENDED);
    settle(t, s);
}

/* It never ran. */
static void step_failed(struct turn *t, struct held_step *s, const struct note *why)
{
    struct report *p = report_of(t, REPORT_FAILED, s, why);
    s->exit_reported = true;
    report_keep(t, s, p);
    step_over(t, s);
}

static void shepherd_terminate(struct turn *t, struct held_step *s)
{
    struct agent_effect *e = effect_about(t, AGENT_TERMINATE, s);
    e->kill_wait_us = s->kill_wait_us;
    e->why = arena_strdup(t->fx->arena, s->why);
}

static void step_start(struct turn *t, struct held_step *s, const struct msg_launch *launch)
{
    effect_about(t, AGENT_START, s)->launch = launch;
}

/* ---- messages ---- */

static void take_welcome(struct turn *t, const struct msg_node_welcome *w)
{
    struct agent *a = t->a;
    struct arena *fresh = arena_new();
    record_copy(message_table[MSG_NODE_WELCOME].fields, &a->welcome, w, fresh);
    arena_free(a->welcome_arena);
    a->welcome_arena = fresh;
    a->has_welcome = a->welcomed = true;
    a->heartbeat_due_us = a->welcome.heartbeat_us > 0 ? t->now_us + a->welcome.heartbeat_us : INT64_MAX;
    for (struct report *p = a->reports.first; p; p = p->next)
        report_send(t, p);
    struct held_walk walk = {0};
    while (held_next(&a->held, &walk))
        if (walk.step->state == HELD_ENDED)
            settle(t, walk.step);
}

static void take_launch(struct turn *t, const struct msg_launch *l)
{
    struct agent *a = t->a;
    if (l->job.n != 1 || !a->has_welcome)
        return;
    const struct job *j = l->job.v;
    if (held_find(&a->held, j->id, j->attempt, l->step_id) || held_was_ended(&a->held, j->id, j->attempt))
        return;
    bool prolog = has_program(a->welcome.prolog) && !held_of_job(&a->held, j->id);
    struct held_step *s =
        held_add(&a->held, j->id, j->attempt, l->step_id, prolog ? HELD_PROLOG : HELD_STARTING);
    if (prolog || has_program(a->welcome.epilog))
        held_keep_launch(s, l, prolog);
    if (prolog)
        effect_about(t, AGENT_PROLOG, s)->launch = s->launch;
    else
        step_start(t, s, l);
}

/* To answer a TERMINATE about something that is not (any longer) here. */
static void release_unknown(struct turn *t, const struct msg_terminate *m)
{
    struct held_step *s = held_add(&t->a->held, m->job_id, m->attempt, STEP_EXTERN, HELD_STARTING);
    held_remember_ended(&t->a->held, m->job_id, m->attempt);
    s->exit_reported = true;
    report_released(t, s, NULL);
    held_move(s, HELD_OVER);
}

static void step_terminate(struct turn *t, struct held_step *s, const struct msg_terminate *m)
{
    s->release_wanted = true;
    s->kill_wait_us = m->kill_wait_us;
    free(s->why);
    s->why = xstrdup(m->why);
    switch (s->state) {
    case HELD_PROLOG:
    case HELD_STARTING:
        s->doomed = true;
        break;
    case HELD_RUNNING:
    case HELD_CLEANING:
        shepherd_terminate(t, s);
        break;
    case HELD_ENDED:
    case HELD_EPILOG:
        break;
    case HELD_OVER:
        /* The controller may have missed nothing: a clean EXITED is on its way. It asks, so it gets the
         * answer too. */
        if (!s->released)
            report_released(t, s, NULL);
        break;
    case HELD_STATE_COUNT:
        break;
    }
}

static void take_terminate(struct turn *t, const struct msg_terminate *m)
{
    bool any = false;
    for (struct held_step *s = held_of_job(&t->a->held, m->job_id), *next; s; s = next) {
        next = s->next_of_job;
        if (s->attempt != m->attempt)
            continue;
        any = true;
        step_terminate(t, s, m);
    }
    if (!any)
        release_unknown(t, m);
}

static void take_signal(struct turn *t, const struct msg_signal *m)
{
    for (struct held_step *s = held_of_job(&t->a->held, m->job_id); s; s = s->next_of_job) {
        if (s->attempt != m->attempt || s->state != HELD_RUNNING ||
            (m->only_step && s->step_id != m->step_id))
            continue;
        struct agent_effect *e = effect_about(t, AGENT_SIGNAL, s);
        e->signal = m->signal;
        e->batch = m->batch;
        e->full = m->full || m->only_step;
    }
}

static struct held_step *step_of_report(struct turn *t, const struct report *p)
{
    return held_find(&t->a->held, p->msg.job_id, p->msg.attempt, p->msg.step_id);
}

static void take_ack(struct turn *t, const struct msg_report_ack *m)
{
    struct report *p = reports_take(&t->a->reports, m->seq);
    struct held_step *s = p ? step_of_report(t, p) : NULL;
    report_free(p);
    if (!s)
        return;
    s->unacknowledged--;
    forget_if_acknowledged(t, s);
}

static void take_message(struct turn *t, const struct message *m)
{
    if (m->kind == MSG_NODE_WELCOME)
        take_welcome(t, m->body);
    else if (m->kind == MSG_LAUNCH)
        take_launch(t, m->body);
    else if (m->kind == MSG_TERMINATE)
        take_terminate(t, m->body);
    else if (m->kind == MSG_SIGNAL)
        take_signal(t, m->body);
    else if (m->kind == MSG_REPORT_ACK)
        take_ack(t, m->body);
}

/* ---- notes
 * ----------------------------------------------------------------------------------------------------------
 */

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
    if (!has_program(t->a->welcome.epilog))
        held_drop_launch(s);
    else if (s->launch && s->launch->script.len)
        held_keep_launch(s, s->launch, false);
    report_once(t, report_of(t, REPORT_STARTED, s, n));
    if (s->doomed)
        shepherd_terminate(t, s);
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
    end_report(t, s, false);
    held_move(s, HELD_CLEANING);
}

static void note_failed(struct turn *t, struct held_step *s, const struct note *n)
{
    if (is_live(s))
        step_failed(t, s, n);
}

/* The shepherd is gone. It may have told its end by way of the state file only: the shell has fed the notes
 * of that file first. */
static void note_gone(struct turn *t, struct held_step *s, const struct note *n)
{
    if (s->state == HELD_CLEANING) {
        effect_about(t, AGENT_CLEAR, s);
        step_ended(t, s);
    } else if (s->state == HELD_RUNNING) {
        effect_about(t, AGENT_CLEAR, s);
        s->lost = true;
        step_ended(t, s);
    } else if (s->state == HELD_STARTING) {
        struct note why = *n;
        why.retry = 1;
        if (!why.detail[0])
            memcpy(why.detail, "its shepherd ended before it could start it",
                   sizeof "its shepherd ended before it could start it");
        step_failed(t, s, &why);
    }
}

static void take_note(struct turn *t, const struct note *n)
{
    struct held_step *s = held_find(&t->a->held, (uint64_t)n->job_id, (uint32_t)n->attempt, n->step_id);
    if (!s)
        return;
    switch (n->kind) {
    case NOTE_STARTED:
        note_started(t, s, n);
        break;
    case NOTE_USAGE:
        if (s->state == HELD_RUNNING)
            report_once(t, report_of(t, REPORT_USAGE, s, n));
        break;
    case NOTE_EXITED:
        note_exited(t, s, n);
        break;
    case NOTE_CLEARED:
        if (s->state == HELD_CLEANING)
            step_ended(t, s);
        break;
    case NOTE_FAILED:
        note_failed(t, s, n);
        break;
    case NOTE_GONE:
        note_gone(t, s, n);
        break;
    case NOTE_KIND_COUNT:
        break;
    }
}

/* ---- programs of the site ---- */

static struct held_step *step_of(struct turn *t, const struct note *n)
{
    return held_find(&t->a->held, (uint64_t)n->job_id, (uint32_t)n->attempt, n->step_id);
}

static void prolog_done(struct turn *t, const struct agent_event *ev)
{
    struct held_step *s = step_of(t, ev->note);
    if (!s || s->state != HELD_PROLOG)
        return;
    if (!ev->ok) {
        struct note why = {.kind = NOTE_FAILED, .retry = 1};
        size_t len = ev->text ? strnlen(ev->text, sizeof why.detail - 1) : 0;
        if (len > 0)
            memcpy(why.detail, ev->text, len);
        step_failed(t, s, &why);
    } else if (s->doomed) {
        step_ended(t, s); /* the epilog undoes the prolog, then RELEASED */
    } else {
        held_move(s, HELD_STARTING);
        step_start(t, s, s->launch);
    }
}

static void epilog_done(struct turn *t, const struct agent_event *ev)
{
    struct held_step *s = step_of(t, ev->note);
    if (!s || s->state != HELD_EPILOG)
        return;
    report_released(t, s, ev->ok ? NULL : ev->text);
    step_over(t, s);
}

/* ---- the connection ---- */

static void hello(struct turn *t)
{
    struct agent *a = t->a;
    struct held *rows = arena_alloc(t->fx->arena, (a->held.count + 1) * sizeof *rows);
    struct held_walk w = {0};
    size_t n = 0;
    while (held_next(&a->held, &w))
        rows[n++] =
            (struct held){w.step->job_id, w.step->attempt, w.step->step_id, w.step->state >= HELD_ENDED};
    struct msg_node_hello m = {.node = {a->node, 1}, .held = {rows, n}, .pid = a->pid};
    send(t, MSG_NODE_HELLO, &m);
}

static void connection_up(struct turn *t)
{
    t->a->connected = true;
    t->a->welcomed = false;
    hello(t);
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
    if (!a->welcomed || t->now_us < a->heartbeat_due_us)
        return;
    struct msg_heartbeat beat = {.load_centi = ev->load_centi, .free_mem_mib = ev->free_mem_mib};
    send(t, MSG_HEARTBEAT, &beat);
    for (struct report *p = a->reports.first; p; p = p->next)
        if (p->sent_us + a->welcome.heartbeat_us <= t->now_us)
            report_send(t, p);
    a->heartbeat_due_us = t->now_us + a->welcome.heartbeat_us;
}

/* ---- the machine ---- */

void agent_step(struct agent *a, const struct agent_event *ev, struct agent_effects *fx)
{
    struct turn t = {a, ev->now_us, fx};
    switch (ev->kind) {
    case AGENT_UP:
        connection_up(&t);
        break;
    case AGENT_DOWN:
        connection_down(&t);
        break;
    case AGENT_MESSAGE:
        take_message(&t, ev->msg);
        break;
    case AGENT_FOUND:
        if (!step_of(&t, ev->note))
            held_add(&a->held, (uint64_t)ev->note->job_id, (uint32_t)ev->note->attempt, ev->note->step_id,
                     HELD_STARTING);
        break;
    case AGENT_NOTE:
        take_note(&t, ev->note);
        break;
    case AGENT_PROLOG_DONE:
        prolog_done(&t, ev);
        break;
    case AGENT_EPILOG_DONE:
        epilog_done(&t, ev);
        break;
    case AGENT_WAKE:
        wake(&t, ev);
        break;
    }
}

struct agent *agent_new(const struct node *self, int64_t pid, uint64_t first_seq)
{
    struct agent *a = xcalloc(1, sizeof *a);
    a->pid = pid;
    a->heartbeat_due_us = INT64_MAX;
    held_init(&a->held);
    reports_init(&a->reports, first_seq);
    agent_set_node(a, self);
    return a;
}

void agent_free(struct agent *a)
{
    if (!a)
        return;
    held_done(&a->held);
    reports_done(&a->reports);
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
}

int64_t agent_wake_due(const struct agent *a)
{
    return a->heartbeat_due_us;
}

const struct msg_node_welcome *agent_welcome(const struct agent *a)
{
    return a->has_welcome ? &a->welcome : NULL;
}

void agent_each_running(const struct agent *a, void (*fn)(void *ctx, const struct note *n), void *ctx)
{
    struct held_walk w = {0};
    while (held_next(&a->held, &w)) {
        const struct held_step *s = w.step;
        if (s->state != HELD_STARTING && s->state != HELD_RUNNING && s->state != HELD_CLEANING)
            continue;
        struct note n = {
            .job_id = (int64_t)s->job_id, .attempt = s->attempt, .step_id = s->step_id, .pid = s->pid};
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
        CHECK(s->state != HELD_PROLOG || s->launch);
        CHECK(!s->release_wanted || s->state != HELD_OVER || s->released);
        CHECK(held_find(&a->held, s->job_id, s->attempt, s->step_id) == s);
    }
    CHECK(steps == a->held.count);
    CHECK(reports == a->reports.n);
    for (const struct report *p = a->reports.first; p && p->next; p = p->next)
        CHECK(p->msg.seq < p->next->msg.seq);
    CHECK(!a->welcomed || (a->connected && a->has_welcome));
}

uint64_t agent_hash(const struct agent *a)
{
    uint64_t hash = HASH_INIT;
    struct held_walk w = {0};
    while (held_next(&a->held, &w)) {
        const struct held_step *s = w.step;
        int64_t state[] = {
            (int64_t)s->job_id, s->attempt,  s->step_id, s->state,      s->doomed, s->exit_reported,
            s->release_wanted,  s->released, s->pid,     s->end.status, s->lost,   s->unacknowledged};
        hash = hash_bytes(hash, state, sizeof state);
    }
    for (const struct report *p = a->reports.first; p; p = p->next)
        hash = record_hash(message_table[MSG_REPORT].fields, &p->msg, hash);
    int64_t rest[] = {a->connected, a->welcomed, a->heartbeat_due_us, (int64_t)a->reports.next_seq};
    return hash_bytes(hash, rest, sizeof rest);
}
