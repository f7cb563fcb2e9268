/* Reads of the past are made on threads with a read-only handle each (reads.h); SQLite's
 * write-ahead log lets them read while the writer commits. An answer is made as a whole (in a file
 * when it is large) before it is sent: a slow reader holds no transaction open. */
#include "base/alloc.h"
#include "base/list.h"
#include "controller/answer.h"
#include "controller/query.h"
#include "controller/reads.h"
#include "controller/session/session.h"
#include "io/clock.h"
#include "model/job/owner.h"

#include <stdlib.h>

#define IDS_PER_GROW 1024

struct history_read {
    struct controller *c;
    uint64_t session;
    struct core_sight sight; /* of who asks */
    uint32_t uid;
    const char *user;
    struct arena *arena;
    struct msg_query query;
    struct answer *answer;
    struct err err;
};

/* ---- on the reader's thread ---- */

struct job_key {
    uint64_t id;
    uint32_t attempt;
};

struct job_keys {
    struct job_key *v;
    size_t n, cap;
};

static void job_key_add(void *ctx, const void *record)
{
    struct job_keys *keys = ctx;
    const struct job *j = record;
    if (keys->n == keys->cap)
        keys->v = xrealloc(keys->v, (keys->cap += IDS_PER_GROW) * sizeof *keys->v);
    keys->v[keys->n++] = (struct job_key){.id = j->id, .attempt = j->attempt};
}

struct narrowed {
    const struct history_read *read;
    void (*row)(void *ctx, const void *record);
    void *ctx;
};

static void seen_row(void *ctx, const void *record)
{
    const struct narrowed *n = ctx;
    const struct job *j = record;
    const char *account = j->spec.req.account;
    const struct core_sight *sight = &n->read->sight;
    if (sight->operates || job_is_of(j, n->read->uid, n->read->user)) {
        n->row(n->ctx, record);
        return;
    }
    struct job shown = *j;
    job_hide_values(&shown); /* as its environment, its owner's to read */
    if (sight->jobs || (sight->accounts && account && list_has(sight->accounts, account)))
        n->row(n->ctx, &shown);
}

/* Those that who asks may see. */
static bool jobs_read(struct store *s, const struct history_read *r,
                      void (*row)(void *, const void *), void *ctx, struct err *ret_err)
{
    struct narrowed n = {r, row, ctx};
    return store_query_jobs(s, &r->query, seen_row, &n, ret_err);
}

static bool steps_read(struct store *s, const struct history_read *r, struct answer *a,
                       struct err *ret_err)
{
    struct job_keys keys = {0};
    bool ok = jobs_read(s, r, job_key_add, &keys, ret_err);
    for (size_t i = 0; ok && i < keys.n; i++) {
        const struct job_key *next = i + 1 < keys.n ? &keys.v[i + 1] : NULL;
        if (next && next->id == keys.v[i].id && next->attempt == keys.v[i].attempt)
            continue; /* a part of the same run */
        ok = store_query_steps(s, keys.v[i].id, keys.v[i].attempt, answer_row_callback, a, ret_err);
    }
    free(keys.v);
    return ok;
}

/* ---- what was used ---- */

static unsigned used_by(const char *fields)
{
    static const struct {
        const char *field;
        enum used_by by;
    } by[] = {{"account", USED_BY_ACCOUNT},     {"user_name", USED_BY_USER},
              {"partition", USED_BY_PARTITION}, {"qos", USED_BY_QOS},
              {"wckey", USED_BY_WCKEY},         {"reservation", USED_BY_RESERVATION},
              {"job_cpus", USED_BY_JOB_CPUS}};
    unsigned bits = 0;
    for (size_t i = 0; i < ARRAY_LEN(by); i++)
        if (!fields || list_has(fields, by[i].field))
            bits |= by[i].by;
    return bits;
}

/* Asked of some jobs alone, a sum may be one job's. */
static bool is_of_jobs(const struct msg_query *q)
{
    return q->ids || q->nodes;
}

static bool all_is_seen(const struct history_read *r)
{
    return r->sight.usage && (r->sight.jobs || !is_of_jobs(&r->query));
}

/* Sums that are nobody's are for everybody; a workload key is somebody's, and a reservation's sum
 * is seen as the reservation is. */
static void used_row(void *ctx, const void *record)
{
    const struct history_read *r = ctx;
    const struct used *u = record;
    bool his = u->user_name && text_is(u->user_name, r->user),
         managed = u->account && r->sight.accounts && list_has(r->sight.accounts, u->account),
         nobodys = !u->user_name && !u->account && !u->wckey &&
                   (!u->reservation || r->sight.past_reservations);
    if (all_is_seen(r) || his || managed || nobodys)
        answer_row(r->answer, record);
}

static bool used_read(struct store *s, struct history_read *r, struct err *ret_err)
{
    const struct msg_query *q = &r->query;
    const struct msg_query jobs = {.what = QUERY_HISTORY,
                                   .ids = q->ids,
                                   .nodes = q->nodes,
                                   .from_us = q->from_us,
                                   .to_us = q->to_us};
    struct used_query used = {.from_us = q->from_us,
                              .to_us = q->to_us ? q->to_us : clock_now_us(),
                              .now_us = clock_now_us(),
                              .by = used_by(q->fields),
                              .each_hour = q->each_hour,
                              .jobs = is_of_jobs(q) ? &jobs : NULL};
    if (used.jobs && !all_is_seen(r)) {
        used.by |= USED_BY_USER | USED_BY_ACCOUNT;
        used.each_hour = false;
    }
    return store_query_used(s, &used, used_row, r, ret_err);
}

/* Rows of spells and past reservations are few. */
struct in_time {
    const struct msg_query *q;
    struct answer *answer;
};

static bool is_in_time(const struct msg_query *q, int64_t start_us, int64_t end_us)
{
    return (!q->to_us || start_us < q->to_us) && (!end_us || end_us > q->from_us);
}

static void spell_row(void *ctx, const void *record)
{
    const struct in_time *t = ctx;
    const struct node_spell *s = record;
    if (is_in_time(t->q, s->start_us, s->end_us))
        answer_row(t->answer, s);
}

static void reservation_row(void *ctx, const void *record)
{
    const struct in_time *t = ctx;
    const struct reservation *r = record;
    if (is_in_time(t->q, r->start_us, r->end_us))
        answer_row(t->answer, r);
}

static void transaction_row(void *ctx, const void *record)
{
    const struct in_time *t = ctx;
    const struct transaction *done = record;
    if (done->at_us >= t->q->from_us && (!t->q->to_us || done->at_us < t->q->to_us))
        answer_row(t->answer, done);
}

static bool past_read(struct store *s, struct history_read *r, struct err *ret_err)
{
    const struct msg_query *q = &r->query;
    struct answer *a = r->answer;
    struct in_time t = {q, a};
    switch ((enum query_what)q->what) {
    case QUERY_STEPS: return steps_read(s, r, a, ret_err);
    case QUERY_USED: return used_read(s, r, ret_err);
    case QUERY_TRANSACTIONS:
        return store_load(s, TABLE_TRANSACTION, false, 0, transaction_row, &t, ret_err);
    case QUERY_NODE_SPELLS:
        return store_load(s, TABLE_NODE_SPELL, false, 0, spell_row, &t, ret_err);
    case QUERY_PAST_RESERVATIONS:
        return store_load(s, TABLE_PAST_RESERVATION, false, 0, reservation_row, &t, ret_err);
    case QUERY_HISTORY:
    case QUERY_JOBS:
    case QUERY_NODES:
    case QUERY_PARTITIONS:
    case QUERY_SETTINGS:
    case QUERY_STATUS:
    case QUERY_RESERVATIONS:
    case QUERY_PRIORITY:
    case QUERY_SHARES:
    case QUERY_FAIR_SHARES:
    case QUERY_DIAG:
    case QUERY_TRIGGERS:
    case QUERY_TOKENS:
    case QUERY_HOSTS:
    case QUERY_ACCOUNTS:
    case QUERY_ACCOUNT_USERS:
    case QUERY_ASSOCS:
    case QUERY_QOS:
    case QUERY_LIMITS:
    case QUERY_WCKEYS:
    case QUERY_TRES:
    case QUERY_LIMIT_USE:
    case QUERY_IN_USE: break;
    }
    return jobs_read(s, r, answer_row_callback, a, ret_err);
}

static void read_run(void *ctx, struct reader *reader)
{
    struct history_read *r = ctx;
    struct store *s = reader_begin(reader, &r->err);
    bool ok = s && past_read(s, r, &r->err);
    reader_end(reader);
    enum refusal refusal = REFUSE_NONE;
    if (!ok)
        refusal = r->err.code == ERR_INVALID ? REFUSE_INVALID_JOB_ID : REFUSE_STORE;
    answer_end(r->answer, refusal, ok ? NULL : r->err.text);
}

/* ---- on the loop ---- */

/* What is damaged stays so until the controller is stopped and the store repaired: who runs the
 * cluster is told, also where only a user asked. */
static void damage_keep(struct controller *c, const struct err *why)
{
    if (why->code != ERR_INTERNAL || c->past_damaged)
        return;
    c->past_damaged = arena_strdup(c->arena, why->text);
    log_error(c->log, "the past cannot be read: %s", why->text);
}

static void read_done(void *ctx)
{
    struct history_read *r = ctx;
    damage_keep(r->c, &r->err);
    session_answer(r->c->sessions, r->session, r->answer);
    arena_free(r->arena);
    free(r);
}

static bool may_read(const struct core_sight *sight, enum query_what what)
{
    return (what != QUERY_TRANSACTIONS || sight->transactions) &&
           (what != QUERY_NODE_SPELLS || sight->events) &&
           (what != QUERY_PAST_RESERVATIONS || sight->past_reservations);
}

void history_run(struct controller *c, uint64_t id, uint64_t seq, const struct msg_query *q,
                 const struct peer *peer)
{
    struct answer *a =
        answer_new(c->state_dir, seq, query_record_fields((enum query_what)q->what), q->fields);
    answer_of(a, c->answers, peer);
    struct history_read *r = xcalloc(1, sizeof *r);
    *r = (struct history_read){
        .c = c, .session = id, .arena = arena_new(), .answer = a, .uid = peer->uid};
    r->user = peer->user ? arena_strdup(r->arena, peer->user) : NULL;
    core_sight_of(c->core, peer, r->arena, &r->sight);
    if (!may_read(&r->sight, (enum query_what)q->what)) {
        answer_end(a, REFUSE_ACCESS_DENIED, "PrivateData: this is for operators");
        session_answer(c->sessions, id, a);
        arena_free(r->arena);
        free(r);
        return;
    }
    record_copy(message_fields(MSG_QUERY), &r->query, q, r->arena);
    if (reads_add(c->reads, peer, read_run, read_done, r))
        return;
    answer_end(a, REFUSE_BUSY, "too many of your reads of the accounting wait already; try again");
    read_done(r);
}
