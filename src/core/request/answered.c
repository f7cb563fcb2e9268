/* Requests that changed something, and what was answered. The connection may break, and the
 * controller end, between the commit and the answer: then the command asks again with the number it
 * gave its request, and gets the same answer instead of a second job. The row is committed with
 * what the request did, so there is no moment at which one is stored without the other; a request
 * of which nothing is stored is simply done. Answers that changed nothing are not kept: they are
 * found again by looking again. */
#include "core/request/request.h"

#define KEPT_US   (5 * USEC_PER_MIN) /* a command gives up long before */
#define KEPT_MAX  65536              /* the oldest go first */
#define TEXT_MOST 4096               /* of what is said of single jobs, and one more */

void answered_free(struct core *c)
{
    struct map_walk w = {0};
    while (map_u64_next(c->calls.answered, &w))
        free(w.value);
    map_u64_free(c->calls.answered);
}

void answered_load(struct core *c, const struct answered *row)
{
    ASSERT(!map_u64_get(c->calls.answered, row->id));
    struct answered *kept = xcalloc(1, sizeof *kept);
    record_intern(c, &answered_fields, kept, row);
    map_u64_put(c->calls.answered, row->id, kept);
}

/* The clock was set: they are as old as before. */
void answered_move(struct core *c, int64_t by_us)
{
    struct map_walk w = {0};
    while (map_u64_next(c->calls.answered, &w)) {
        struct answered *row = w.value;
        fx_remove(c, TABLE_ANSWERED, row);
        row->at_us += by_us;
        fx_store(c, TABLE_ANSWERED, row);
    }
}

static void oldest_drop(struct core *c)
{
    for (;;) {
        struct map_walk w = {0};
        if (!map_u64_next(c->calls.answered, &w))
            return;
        struct answered *oldest = w.value;
        if (oldest->at_us + KEPT_US > c->turn.now_us &&
            map_u64_count(c->calls.answered) <= KEPT_MAX)
            return;
        fx_remove(c, TABLE_ANSWERED, oldest);
        map_u64_del(c->calls.answered, oldest->id);
        record_drop(c, &answered_fields, oldest);
        free(oldest);
    }
}

/* What the store cannot hold as a list is said as text, as much as is read: of many thousand it
 * would fill memory. */
static const char *results_text(struct core *c, const struct msg_done *done)
{
    const struct result *r = done->results.v;
    struct str text = STR_INIT;
    size_t i = 0;
    for (; i < done->results.n && text.len < TEXT_MOST; i++)
        str_addf(&text, "%s%.100s: %.600s", text.len ? "; " : "", r[i].ref ? r[i].ref : "",
                 r[i].detail ? r[i].detail : refusal_text((enum refusal)r[i].refusal));
    if (i < done->results.n)
        str_addf(&text, "; and %zu more", done->results.n - i);
    const char *copy = text.len ? arena_strdup(c->turn.fx->arena, str_text(&text)) : done->warning;
    str_done(&text);
    return copy;
}

static const struct effect *reply_find(const struct core *c, size_t from)
{
    bool changed = false;
    const struct effect *reply = NULL;
    for (size_t i = from; i < c->turn.fx->n; i++) {
        const struct effect *e = &c->turn.fx->v[i];
        changed |= e->kind != FX_REPLY && e->kind != FX_LOG;
        if (!reply && e->kind == FX_REPLY && e->conn == c->turn.conn && e->msg.seq == c->turn.seq)
            reply = e;
    }
    return changed ? reply : NULL;
}

void answered_keep(struct core *c, size_t from)
{
    ASSERT(from <= c->turn.fx->n);
    const struct effect *reply = c->turn.request ? reply_find(c, from) : NULL;
    if (reply)
        answered_keep_reply(c, reply);
}

void answered_keep_reply(struct core *c, const struct effect *reply)
{
    if (!c->turn.request || (reply->msg.kind != MSG_DONE && reply->msg.kind != MSG_SUBMITTED))
        return;
    struct answered row = {
        .at_us = c->turn.now_us, .id = c->turn.request, .user_id = c->turn.peer->uid};
    if (reply->msg.kind == MSG_SUBMITTED) {
        const struct msg_submitted *s = reply->msg.body;
        row.job_id = s->job_id;
        row.warning = s->warning;
    } else {
        const struct msg_done *done = reply->msg.body;
        row.refusal = done->refusal;
        row.detail = done->detail;
        row.warning = results_text(c, done);
        row.count = done->count;
    }
    if (map_u64_get(c->calls.answered, row.id)) /* somebody else's, by chance */
        return;
    answered_load(c, &row);
    fx_store(c, TABLE_ANSWERED, &row);
    oldest_drop(c);
}

bool answered_again(struct core *c, const struct message *m)
{
    const struct answered *row = m->request ? map_u64_get(c->calls.answered, m->request) : NULL;
    if (!row || row->user_id != c->turn.peer->uid)
        return false;
    if (!row->job_id) {
        struct msg_done done = {.refusal = row->refusal,
                                .detail = row->detail,
                                .warning = row->warning,
                                .count = row->count};
        fx_reply(c, c->turn.conn, c->turn.seq, MSG_DONE, &done);
        return true;
    }
    struct msg_submitted s = {.job_id = row->job_id, .warning = row->warning};
    fx_reply(c, c->turn.conn, c->turn.seq, MSG_SUBMITTED, &s);
    if (m->kind == MSG_SUBMIT)
        submission_attach(c, m->body, row->job_id);
    return true;
}
