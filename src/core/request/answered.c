/* Requests that changed something, and what was answered. The connection may break, and the
 * controller end, between the commit and the answer: then the command asks again with the number it
 * gave its request, and gets the same answer instead of a second job. The row is committed with
 * what the request did, so there is no moment at which one is stored without the other; a request
 * of which nothing is stored is simply done. Answers that changed nothing are not kept: they are
 * found again by looking again.
 *
 * They lie in memory and in the store, are all read at a start, and are written anew when the clock
 * was set. So there is a bound on their bytes, and each payer has one of his own: what he keeps is
 * no more than what is left for all others, so one alone has the half. Beyond it his own oldest go,
 * not somebody else's, whose command may just be asking again. But what is left halves with each
 * who has all he may: a little is everybody's, and if there is no room for that, who has most of
 * all gives it. */
#include "core/request/request.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

#define KEPT_US    (5 * USEC_PER_MIN) /* a command gives up long before */
#define REST_US    USEC_PER_MIN       /* those of as long go in one turn */
#define KEPT_BYTES (32u << 20)        /* 131,072 of submissions that nothing is said of */
#define OWN_BYTES  (256u << 10)       /* of one payer's, whatever others keep */
#define ROW_BYTES  256u               /* of one, but for its texts: in memory or in the store */
#define TEXT_MOST  4096u              /* of each of its texts */
#define RESULTS    3072u              /* of what became of single jobs, before "and 7 more" */
#define DROPS_MOST 1000u              /* in one turn */

struct kept_answer {
    struct answered row;      /* texts interned */
    struct kept_answer *next; /* its payer's next younger one */
};

struct payer_answers {
    struct kept_answer *oldest, *youngest;
    size_t bytes;
};

struct answers {
    struct map_u64 *kept;     /* number → struct kept_answer, owned; in the order of time */
    struct map_u64 *of_payer; /* payer, plus 1 → struct payer_answers, owned */
    size_t bytes;             /* of all of them */
};

/* ---- what is kept --------------------------------------------------------------------------- */

static uint64_t payer_of(const struct answered *row)
{
    return (row->nameless ? NAMELESS_UID : row->user_id) + UINT64_C(1);
}

static size_t row_bytes(const struct answered *row)
{
    return ROW_BYTES + (row->detail ? strlen(row->detail) : 0) +
           (row->warning ? strlen(row->warning) : 0);
}

static struct payer_answers *answers_of(const struct core *c, uint64_t payer)
{
    return map_u64_get(c->calls.answers->of_payer, payer);
}

/* What is longer is cut, where a letter ends. */
static void text_cut(struct str *text, size_t most)
{
    size_t len = most;
    if (text->len <= most)
        return;
    while (len && ((unsigned char)text->data[len] & 0xc0) == 0x80)
        len--;
    str_cut(text, len);
    str_add(text, "…");
}

static const char *text_within(const char *text, struct str *room)
{
    if (!text || strlen(text) <= TEXT_MOST)
        return text;
    str_add(room, text);
    text_cut(room, TEXT_MOST);
    return str_text(room);
}

static struct kept_answer *answer_put(struct core *c, const struct answered *row)
{
    struct answers *all = c->calls.answers;
    struct str detail = STR_INIT, warning = STR_INIT;
    struct answered within = *row;
    struct kept_answer *kept = xcalloc(1, sizeof *kept);
    ASSERT(!map_u64_get(all->kept, row->id));
    within.detail = text_within(row->detail, &detail);
    within.warning = text_within(row->warning, &warning);
    record_intern(c, &answered_fields, &kept->row, &within);
    str_done(&detail);
    str_done(&warning);
    map_u64_put(all->kept, row->id, kept);
    struct payer_answers *of = answers_of(c, payer_of(row));
    if (!of) {
        of = xcalloc(1, sizeof *of);
        map_u64_put(all->of_payer, payer_of(row), of);
    }
    if (of->youngest)
        of->youngest->next = kept;
    else
        of->oldest = kept;
    of->youngest = kept;
    of->bytes += row_bytes(&kept->row);
    all->bytes += row_bytes(&kept->row);
    return kept;
}

static void oldest_drop(struct core *c, uint64_t payer)
{
    struct answers *all = c->calls.answers;
    struct payer_answers *of = answers_of(c, payer);
    struct kept_answer *oldest = of->oldest;
    size_t bytes = row_bytes(&oldest->row);
    fx_remove(c, TABLE_ANSWERED, &oldest->row);
    map_u64_del(all->kept, oldest->row.id);
    of->oldest = oldest->next;
    of->bytes -= bytes;
    all->bytes -= bytes;
    if (!of->oldest)
        free(map_u64_del(all->of_payer, payer));
    record_drop(c, &answered_fields, &oldest->row);
    free(oldest);
}

/* Who keeps most; somebody keeps something. */
static uint64_t payer_of_most(const struct core *c)
{
    struct map_walk w = {0};
    uint64_t most = 0;
    size_t bytes = 0;
    while (map_u64_next(c->calls.answers->of_payer, &w)) {
        const struct payer_answers *of = w.value;
        if (of->bytes <= bytes)
            continue;
        bytes = of->bytes;
        most = w.key;
    }
    CHECK(bytes > 0);
    return most;
}

static void most_drop(struct core *c, size_t more)
{
    while (c->calls.answers->bytes && c->calls.answers->bytes + more > KEPT_BYTES)
        oldest_drop(c, payer_of_most(c));
}

/* With so much more, whose it is has no more than what is left beside all. */
static void room_make(struct core *c, uint64_t payer, size_t more)
{
    const struct payer_answers *of;
    while ((of = answers_of(c, payer)) && of->bytes + more > OWN_BYTES &&
           of->bytes + more + c->calls.answers->bytes + more > KEPT_BYTES)
        oldest_drop(c, payer);
    most_drop(c, more);
}

/* The oldest of all is its payer's oldest, too. */
static const struct answered *oldest_of_all(const struct core *c)
{
    struct map_walk w = {0};
    bool any = map_u64_next(c->calls.answers->kept, &w);
    return any ? &((const struct kept_answer *)w.value)->row : NULL;
}

int64_t answered_due(const struct core *c)
{
    const struct answered *oldest = c->store.away ? NULL : oldest_of_all(c);
    return oldest ? time_add(oldest->at_us, KEPT_US + REST_US) : INT64_MAX;
}

static void answers_expire(struct core *c)
{
    const struct answered *oldest;
    for (size_t n = 0;
         n < DROPS_MOST && (oldest = oldest_of_all(c)) && oldest->at_us + KEPT_US <= c->turn.now_us;
         n++)
        oldest_drop(c, payer_of(oldest));
}

void answered_expire(struct core *c)
{
    if (answered_due(c) <= c->turn.now_us)
        answers_expire(c);
}

void answered_load(struct core *c, const struct answered *row)
{
    answer_put(c, row);
}

void answered_restore(struct core *c)
{
    most_drop(c, 0);
}

/* The clock was set: they are as old as before. */
void answered_move(struct core *c, int64_t by_us)
{
    struct map_walk w = {0};
    while (map_u64_next(c->calls.answers->kept, &w)) {
        struct answered *row = &((struct kept_answer *)w.value)->row;
        fx_remove(c, TABLE_ANSWERED, row);
        row->at_us += by_us;
        fx_store(c, TABLE_ANSWERED, row);
    }
}

void answered_begin(struct core *c)
{
    c->calls.answers = xcalloc(1, sizeof *c->calls.answers);
    c->calls.answers->kept = map_u64_new();
    c->calls.answers->of_payer = map_u64_new();
}

void answered_free(struct core *c)
{
    struct map_walk w = {0};
    while (map_u64_next(c->calls.answers->kept, &w))
        free(w.value);
    map_u64_free(c->calls.answers->kept);
    for (w = (struct map_walk){0}; map_u64_next(c->calls.answers->of_payer, &w);)
        free(w.value);
    map_u64_free(c->calls.answers->of_payer);
    free(c->calls.answers);
}

void answered_check(const struct core *c)
{
    struct map_walk w = {0};
    size_t rows = 0, bytes = 0;
    while (map_u64_next(c->calls.answers->of_payer, &w)) {
        const struct payer_answers *of = w.value;
        size_t own = 0;
        for (const struct kept_answer *k = of->oldest; k; k = k->next, rows++) {
            CHECK(payer_of(&k->row) == w.key && (k->next || k == of->youngest));
            CHECK(map_u64_get(c->calls.answers->kept, k->row.id) == k);
            own += row_bytes(&k->row);
        }
        CHECK(own == of->bytes && own > 0);
        bytes += own;
    }
    CHECK(rows == map_u64_count(c->calls.answers->kept) && bytes == c->calls.answers->bytes);
}

/* ---- the request at hand -------------------------------------------------------------------- */

/* What the store cannot hold as a list is said as text. */
static const char *results_text(struct core *c, const struct msg_done *done)
{
    const struct result *r = done->results.v;
    struct str text = STR_INIT;
    size_t n = done->results.n, i = 0;
    for (; i < n && text.len <= RESULTS; i++)
        str_addf(&text, "%s%.100s: %.600s", text.len ? "; " : "", r[i].ref ? r[i].ref : "",
                 r[i].detail ? r[i].detail : refusal_text((enum refusal)r[i].refusal));
    text_cut(&text, RESULTS);
    if (i < n)
        str_addf(&text, "; and %zu more", n - i);
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
        .at_us = c->turn.now_us,
        .id = c->turn.request,
        .user_id = c->turn.peer->uid,
        .nameless = peer_is_nameless(c->turn.peer),
    };
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
    if (map_u64_get(c->calls.answers->kept, row.id)) /* somebody else's, by chance */
        return;
    answers_expire(c);
    room_make(c, payer_of(&row), row_bytes(&row));
    fx_store(c, TABLE_ANSWERED, &answer_put(c, &row)->row);
}

bool answered_again(struct core *c, const struct message *m)
{
    const struct kept_answer *kept =
        m->request ? map_u64_get(c->calls.answers->kept, m->request) : NULL;
    const struct answered *row = kept ? &kept->row : NULL;
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
