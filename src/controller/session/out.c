/* What a session sends. Messages go at once, unless one before them waits for its payload (a script
 * that is not at hand is read from the store): then they wait behind it in a queue, because the
 * order to a node must stay. Answers go as fast as they are read. */
#include "base/alloc.h"
#include "base/str.h"
#include "controller/disk/payload.h"
#include "controller/long_read.h"
#include "controller/session/inside.h"
#include "controller/site/hosts.h"
#include "controller/site/joined.h"
#include "io/clock.h"

#include <stdlib.h>

#define PIECE_BYTES (256u << 10) /* of an answer sent at a time */
#define PUMP_BYTES  (1u << 20)   /* of it in a round: who reads as fast as it is sent has no end */

/* Is it the answer to get_script? That of a request before it may come later than it was asked
 * for. */
static bool is_of_script(const struct session *s, const struct message *m)
{
    return s->scripting && m->seq == SCRIPT_CALL;
}

/* It left, or waits only for who reads it. */
static void script_answered(struct session *s)
{
    s->scripting = false;
    s->querying = false;
    session_gate(s);
}

/* ---- messages out ---- */

static void payload_attach(const struct message *m, const struct payload *p, struct str *out)
{
    struct message with = *m;
    struct msg_launch launch;
    struct msg_script script;
    if (m->kind == MSG_LAUNCH) {
        launch = *(const struct msg_launch *)m->body;
        launch.script = p->script;
        launch.env = p->env;
        with.body = &launch;
    } else {
        script = *(const struct msg_script *)m->body;
        script.script = p->script;
        with.body = &script;
    }
    wire_encode(&with, out);
}

static struct queued *queued_add(struct session *s)
{
    struct queued *q = xcalloc(1, sizeof *q);
    q->session = s;
    *s->last = q;
    s->last = &q->next;
    return q;
}

static void queued_free(struct queued *q)
{
    str_done(&q->bytes);
    arena_free(q->arena);
    free(q);
}

static void queued_send(struct session *s)
{
    while (s->first && s->first->ready) {
        struct queued *q = s->first;
        if (!(s->first = q->next))
            s->last = &s->first;
        if (q->bytes.len > 0)
            conn_send(s->conn, q->bytes.data, q->bytes.len);
        queued_free(q);
    }
}

/* A launch whose script cannot be read has failed; the core hears it as from the node. */
static void launch_failed(struct session *s, const struct message *m, const struct err *why)
{
    const struct msg_launch *launch = m->body;
    const struct job *job = launch->job.v;
    struct peer peer = session_peer(s);
    struct msg_report r = {
        .kind = REPORT_FAILED,
        .job_id = job->id,
        .attempt = job->attempt,
        .step_id = launch->step_id,
        .at_us = clock_now_us(),
        .retry = true,
        .detail = why->text,
    };
    struct message report = {.kind = MSG_REPORT, .body = &r};
    log_error(s->owner->c->log, "cannot read the script of job %llu: %s",
              (unsigned long long)job->id, why->text);
    session_step(s, &report, &peer);
}

static void payload_came(void *ctx, const struct payload *p, const struct err *why)
{
    struct queued *q = ctx;
    struct session *s = q->session;
    if (!s) {
        queued_free(q);
        return;
    }
    bool scripting = q->scripting;
    q->ready = true;
    if (p) {
        payload_attach(&q->msg, p, &q->bytes);
    } else if (q->msg.kind == MSG_LAUNCH) {
        launch_failed(s, &q->msg, why);
    } else {
        struct msg_done done = {.refusal = REFUSE_STORE, .detail = why->text};
        struct message m = {.kind = MSG_DONE, .seq = q->msg.seq, .body = &done};
        wire_encode(&m, &q->bytes);
    }
    queued_send(s);
    if (scripting)
        script_answered(s);
}

static struct queued *payload_wait(struct session *s, const struct message *m, uint64_t job)
{
    const struct fields *t = message_fields(m->kind);
    struct queued *q = queued_add(s);
    q->arena = arena_new();
    void *body = arena_alloc(q->arena, t->size);
    record_copy(t, body, m->body, q->arena);
    q->msg = (struct message){.kind = m->kind, .seq = m->seq, .body = body};
    q->payload_job = job;
    payloads_read(s->owner->c->payloads, job, payload_came, q);
    return q;
}

/* A step's launch: the machine made it once for all its nodes, and it is encoded once. */
static void same_send(struct session *s, const struct message *m)
{
    struct sessions *all = s->owner;
    if (all->same_body != m->body) {
        str_clear(&all->same);
        wire_encode(m, &all->same);
        all->same_body = m->body;
    }
    conn_send(s->conn, all->same.data, all->same.len);
}

/* Puts the certificate into the answer to a join, and what keeps its node from being there. */
static void remote_joined(struct session *s, const struct message *m, struct msg_joined *ret)
{
    *ret = *(const struct msg_joined *)m->body;
    ret->cert = s->remote ? s->remote->cert : NULL;
    ret->authority = hosts_authority(s->owner->c->hosts);
    struct err err = {0};
    if (s->remote && !joined_add(s->owner->c, ret->host.v, &err))
        ret->fault = arena_strdup(s->remote->arena, err.text);
}

static void remark_put(const struct session *s, const struct message *m, struct msg_done *ret)
{
    *ret = *(const struct msg_done *)m->body;
    if (text_empty(ret->detail))
        ret->detail = s->remark;
}

static void remark_drop(struct session *s)
{
    free(s->remark);
    s->remark = NULL;
}

void session_remark(struct sessions *all, uint64_t id, const char *text)
{
    ASSERT(!text_empty(text));
    struct session *s = map_u64_get(all->by_id, id);
    if (!s)
        return;
    remark_drop(s);
    s->remark = xstrdup(text);
}

void session_send(struct sessions *all, uint64_t id, const struct message *m, uint64_t payload_job)
{
    ASSERT(m->kind < MESSAGE_COUNT);
    struct session *s = map_u64_get(all->by_id, id);
    if (!s)
        return;
    struct msg_joined joined;
    struct msg_done done;
    struct message with = *m;
    bool scripting = is_of_script(s, m);
    if (scripting) {
        with.seq = s->script_seq;
        m = &with;
    }
    if (m->kind == MSG_JOINED) {
        remote_joined(s, m, &joined);
        with.body = &joined;
        m = &with;
    } else if (m->kind == MSG_DONE && s->remark) {
        remark_put(s, m, &done);
        with.body = &done;
        m = &with;
    }
    if (m->kind == MSG_SCRIPT && payload_job == 0)
        payload_job = ((const struct msg_script *)m->body)->job_id;
    const struct payload *p = payload_job ? payloads_get(all->c->payloads, payload_job) : NULL;
    if (payload_job && !p) {
        payload_wait(s, m, payload_job)->scripting = scripting;
        return;
    }
    if (!p && !s->first && m->kind == MSG_LAUNCH) {
        same_send(s, m);
        return;
    }
    struct str frame = STR_INIT;
    if (p)
        payload_attach(m, p, &frame);
    else
        wire_encode(m, &frame);
    if (!s->first) {
        conn_send(s->conn, frame.data, frame.len);
        str_done(&frame);
    } else {
        struct queued *q = queued_add(s);
        q->bytes = frame;
        q->ready = true;
    }
    if (m->kind == MSG_DONE)
        remark_drop(s);
    if (scripting)
        script_answered(s);
}

/* ---- answers out ---- */

void session_pump(struct session *s)
{
    struct err err = {0};
    const char *data;
    size_t len;
    size_t ahead = s->share && share_unread(s->share) ? 0 : CONN_HIGH_BYTES, sent = 0;
    while (s->answer && sent < PUMP_BYTES && conn_unsent(s->conn) <= ahead &&
           !conn_is_closing(s->conn)) {
        if (answer_next(s->answer, PIECE_BYTES, &data, &len, &err)) {
            conn_send(s->conn, data, len);
            sent += len;
            continue;
        }
        answer_free(s->answer);
        s->answer = NULL;
        s->querying = false;
        if (err.code == ERR_NONE) {
            session_gate(s);
            return;
        }
        log_error(s->owner->c->log, "%s", err.text);
        conn_abort(s->conn);
    }
}

void session_reading(struct sessions *all, uint64_t id, struct long_read *r)
{
    struct session *s = map_u64_get(all->by_id, id);
    CHECK(s);
    s->reading = r;
}

void session_answer(struct sessions *all, uint64_t id, struct answer *a)
{
    struct session *s = map_u64_get(all->by_id, id);
    if (!s) {
        answer_free(a);
        return;
    }
    CHECK(!s->answer);
    s->answer = a;
    session_pump(s);
}

void session_answered(struct sessions *all, uint64_t id, const struct str *frames)
{
    struct session *s = map_u64_get(all->by_id, id);
    if (!s)
        return;
    s->querying = false;
    if (frames && !s->first) {
        conn_send(s->conn, frames->data, frames->len);
    } else if (frames) {
        struct queued *q = queued_add(s);
        str_addn(&q->bytes, frames->data, frames->len);
        q->ready = true;
    }
    session_gate(s);
}

void session_out_done(struct session *s)
{
    for (struct queued *q = s->first, *next; q; q = next) {
        next = q->next;
        q->session = NULL;
        if (q->ready)
            queued_free(q);
    }
    answer_free(s->answer);
    s->answer = NULL;
    long_read_free(s->reading);
    s->reading = NULL;
}
