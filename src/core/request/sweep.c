/* Requests about many jobs (`scancel -u`, `scontrol hold` with a list) are worked off a slice a
 * wake, so that everybody else is served in between; the answer comes when all is done. The first
 * slice is made at once: mostly it is all. One request goes a wake, of another user than the last,
 * if there is one: a user who asks for a hundred gets no more than one who asks for one.
 *
 * Jobs are kept by number between two slices: what they were may be gone by then. */
#include "core/record/accounts/private.h"
#include "core/record/users/user_room.h"
#include "core/request/request.h"
#include "core/request/told.h"

#include <string.h>

/* Of one go: so much is done to jobs, so many are looked at for that. */
#define SLICE_JOBS        128
#define SLICE_LOOKS       4096
#define SLICE_JOBS_HURRY  16
#define SLICE_LOOKS_HURRY 1024
#define TEXTS_A_JOB       16384u /* its row is stored, the request's read: so much of them counts */
#define WORK_RANGE        8      /* of WORK_JOB: one of the elements of which a refusal is told */
#define SWEEPS_PER_USER   64     /* under way; each holds its request */
#define REST_US           (5000) /* between two goes while others ask for something */
#define ALONE_US          USEC_PER_SEC

#define FULL_TEXT "64 of your requests about many jobs are still being worked off; wait for one"

#define SPLIT_MAX 16384u /* elements that a user's requests under way may make jobs of their own */
#define SPLIT_TEXT                                                                                 \
    "more than 16384 elements that wait are named, each of which would become a job of its own: "  \
    "name fewer, or the whole array"

/* Jobs that filters choose and that stay, of which the answer tells: components without the rest
 * of their job, and those of a user who was named by somebody who may not. */
#define STAYED_SAID 256

struct sweep_slice {
    size_t jobs, looks; /* left of it */
};

struct sweep {
    const struct sweep_kind *kind;
    struct arena *arena; /* of all texts below */
    void *body, *ctx;
    struct peer peer;
    uint64_t conn, seq, request;
    /* by filters, or by a name */
    struct map_walk at;
    uint64_t below; /* jobs that came later are not meant */
    /* by references; NULL = by filters */
    const char *rest;
    const char *text;   /* the one at hand; NULL = none is */
    struct job_ref ref; /* the same, unless it is a name */
    bool named, many;   /* many: it means more than one job */
    bool any, walked;   /* of a name: a live job has it; all there are were looked at */
    VEC(uint64_t) job;  /* that it means */
    size_t next;
    uint32_t split_from; /* elements that still wait from there on are meant, too */
    struct told told;    /* what came of it */
    size_t work;         /* see ref_work */
    uint64_t room;       /* see job_ref_parse_within */
    size_t split;        /* elements that became jobs of their own */
};

static struct sweep *sweep_new(struct core *c, const struct sweep_kind *kind, const void *body,
                               const char *refs)
{
    const struct fields *t = message_fields(kind->kind);
    struct sweep *s = xcalloc(1, sizeof *s);
    s->kind = kind;
    s->arena = arena_new();
    s->body = arena_alloc(s->arena, t->size);
    record_copy(t, s->body, body, s->arena);
    s->ctx = arena_alloc(s->arena, kind->ctx_size);
    s->room = LIMIT_REF_RANGES;
    s->rest = refs ? arena_strdup(s->arena, refs) : NULL;
    s->peer = *c->turn.peer; /* all that says what this peer may */
    s->peer.user = arena_strdup(s->arena, c->turn.peer->user);
    s->peer.group = arena_strdup(s->arena, c->turn.peer->group);
    s->peer.groups = arena_strdup(s->arena, c->turn.peer->groups);
    s->peer.host = arena_strdup(s->arena, c->turn.peer->host);
    s->conn = c->turn.conn;
    s->seq = c->turn.seq;
    s->request = c->turn.request;
    s->below = c->jobs.next_id;
    return s;
}

static void ref_end(struct sweep *s)
{
    told_settle(&s->told, s->arena, s->kind->kind);
    if (s->text && !s->named)
        job_ref_done(&s->ref);
    s->text = NULL;
    vec_clear(&s->job);
    s->next = 0;
}

static void sweep_free(struct sweep *s)
{
    ref_end(s);
    if (s->kind->done)
        s->kind->done(s->ctx);
    vec_done(&s->job);
    told_done(&s->told);
    arena_free(s->arena);
    free(s);
}

void sweeps_free(struct core *c)
{
    for (size_t i = 0; i < c->slices.sweeps.list.n; i++)
        sweep_free(c->slices.sweeps.list.v[i]);
    vec_done(&c->slices.sweeps.list);
}

static void outcome_add(struct sweep *s, const char *ref, enum refusal refusal, const char *detail)
{
    told_add(&s->told, s->arena, ref, refusal, detail);
}

/* ---- by references ---- */

/* The next job of that name that he may manage; NULL: none is left, or the slice is over. */
static struct jobrec *name_next(struct core *c, struct sweep *s, struct sweep_slice *left)
{
    while (!s->walked && left->looks > 0) {
        left->looks--;
        s->walked = !map_u64_next(c->jobs.by_id, &s->at) || s->at.key >= s->below;
        struct jobrec *r = s->walked ? NULL : s->at.value;
        if (!r || !job_live(r) || !text_is(r->j.spec.name, s->text))
            continue;
        s->any = true;
        if (may_manage(c, r))
            return r;
    }
    if (s->walked && !s->any)
        outcome_add(s, s->text, REFUSE_INVALID_JOB_ID, NULL);
    return NULL;
}

/* Those that its user's requests make jobs of their own until they are done. */
static size_t splitting(const struct core *c, const struct sweep *s)
{
    size_t n = s->split;
    for (size_t i = 0; i < c->slices.sweeps.list.n; i++) {
        const struct sweep *other = c->slices.sweeps.list.v[i];
        n += other != s && peers_are_one(&other->peer, &s->peer) ? other->split : 0;
    }
    return n;
}

/* What makes it more than one request may ask for. */
static const char *ref_too_large(const struct core *c, struct sweep *s)
{
    s->work += ref_work(c, &s->ref);
    if (s->work > refs_work_most(c))
        return REFS_WORK_TEXT;
    size_t room = SPLIT_MAX - splitting(c, s), more = ref_split_count(c, &s->ref, room);
    const char *why = NULL;
    if (more > room)
        return SPLIT_TEXT;
    if (more && !dependencies_split_fit(c, job_find(c, s->ref.job_id), more, &why))
        return why;
    s->split += more;
    s->many = more > 1;
    return NULL;
}

static void ref_begin(struct core *c, struct sweep *s, const char *text, struct sweep_slice *left)
{
    struct err err = {0};
    jobrec_vec jobs = {0};
    if (!job_ref_parse_within(text, &s->room, &s->ref, &err)) {
        outcome_add(s, text, REFUSE_INVALID_JOB_ID, err.text);
        return;
    }
    s->text = text;
    s->named = false;
    s->split_from = 0;
    told_begin(&s->told);
    s->ref.exact = s->ref.has_step; /* a step is one record's */
    size_t work = ref_work(c, &s->ref);
    left->looks -= work < left->looks ? work : left->looks;
    const char *too_large = ref_too_large(c, s);
    if (too_large) {
        outcome_add(s, text, REFUSE_TOO_LARGE, too_large);
        ref_end(s);
        return;
    }
    if (!ref_resolve(c, &s->ref, !s->ref.has_step, &jobs))
        outcome_add(s, text, REFUSE_INVALID_JOB_ID, NULL);
    for (size_t i = 0; i < jobs.n; i++)
        vec_push(&s->job, jobs.v[i]->j.id);
    s->many |= jobs.n > 1;
    vec_done(&jobs);
}

static void next_begin(struct core *c, struct sweep *s, struct sweep_slice *left)
{
    if (text_starts_nocase(s->rest, "name=")) {
        s->text = s->rest + strlen("name=");
        s->named = true;
        s->rest = "";
        told_begin(&s->told);
        return;
    }
    left->looks--;
    const char *text = refs_next(&s->rest, s->arena);
    if (*text)
        ref_begin(c, s, text, left);
}

static void job_do(struct core *c, struct sweep *s, struct jobrec *r)
{
    const char *detail = NULL;
    enum refusal refusal = may_manage(c, r)
                               ? s->kind->act(c, r, s->named ? NULL : &s->ref, s->ctx, &detail)
                               : REFUSE_ACCESS_DENIED;
    /* Slurm tells what an update of a whole array meets of its elements, too. */
    bool of_elements = s->many || (s->kind->kind == MSG_UPDATE_JOB && job_is_array(r));
    if (s->named)
        told_once(&s->told, s->arena, s->text, refusal, detail);
    else if (of_elements)
        told_join(&s->told, s->arena, s->text, r, refusal, detail);
    else
        outcome_add(s, s->text, refusal, detail);
    work_add(c, refusal ? r->pending.n * WORK_RANGE : 0);
}

/* The next job that the reference at hand means; NULL: it means no more. */
static struct jobrec *job_next(struct core *c, struct sweep *s, struct sweep_slice *left)
{
    jobrec_vec split = {0};
    struct jobrec *r = s->named ? name_next(c, s, left) : NULL;
    while (!r && s->next < s->job.n) /* one that is gone by now was over */
        r = job_find(c, s->job.v[s->next++]);
    if (!r && !s->named && !s->ref.has_step && ref_split(c, &s->ref, &s->split_from, 1, &split))
        r = split.v[0];
    vec_done(&split);
    return r;
}

static size_t cost_of(const struct sweep *s, const struct jobrec *r, size_t most)
{
    size_t texts = texts_long(&r->j.spec), asked = s->kind->texts ? s->kind->texts(s->ctx) : 0;
    size_t cost = 1 + (texts + asked + pending_bytes(&r->pending)) / TEXTS_A_JOB;
    return cost < most ? cost : most;
}

/* What was done to one job may take as long as for many. */
static void work_take(const struct core *c, size_t before, struct sweep_slice *left)
{
    size_t more = (c->turn.work - before) / WORK_JOB;
    left->jobs -= more < left->jobs ? more : left->jobs;
}

/* True when it is done. */
static bool refs_slice(struct core *c, struct sweep *s, struct sweep_slice left)
{
    while (left.jobs > 0 && left.looks > 0) {
        if (!s->text && !*s->rest)
            return true;
        if (!s->text) {
            s->many = false;
            next_begin(c, s, &left);
            continue;
        }
        size_t before = c->turn.work;
        struct jobrec *r = job_next(c, s, &left);
        if (r) {
            left.jobs -= cost_of(s, r, left.jobs);
            job_do(c, s, r);
            work_take(c, before, &left);
        } else if (!s->named || s->walked) {
            ref_end(s);
        }
    }
    return !s->text && !*s->rest;
}

static void stayed_say(struct sweep *s, const struct jobrec *r, enum refusal why,
                       const char *detail)
{
    if (s->told.result.n < STAYED_SAID)
        outcome_add(s, arena_printf(s->arena, "%llu", (unsigned long long)r->j.id), why, detail);
}

/* Whoever names a user means all of his jobs; whoever names a partition means his own in it. */
static void denied_say(const struct core *c, struct sweep *s, const struct jobrec *r)
{
    if (s->kind->of_named_users && s->kind->of_named_users(s->ctx) &&
        may_see_job(c, &s->peer, &r->j))
        stayed_say(s, r, REFUSE_ACCESS_DENIED, NULL);
}

static bool filter_slice(struct core *c, struct sweep *s, struct sweep_slice left)
{
    bool more = true;
    size_t beyond = 0;
    while (left.looks-- > beyond && left.jobs > 0 &&
           (more = map_u64_next(c->jobs.by_id, &s->at) && s->at.key < s->below)) {
        struct jobrec *r = s->at.value;
        const char *detail = NULL;
        if (!job_live(r) || !s->kind->fits(s->ctx, r, &beyond))
            continue;
        if (!may_manage(c, r)) {
            denied_say(c, s, r);
            continue;
        }
        left.jobs -= cost_of(s, r, left.jobs);
        size_t before = c->turn.work;
        enum refusal refusal = s->kind->act(c, r, NULL, s->ctx, &detail);
        work_take(c, before, &left);
        s->told.done += refusal == REFUSE_NONE;
        if (refusal == REFUSE_NOT_WHOLE_HET)
            stayed_say(s, r, refusal, detail);
    }
    return !more;
}

static void sweep_answer(struct core *c, const struct sweep *s)
{
    struct msg_done done = {.count = s->told.done, .results = {s->told.result.v, s->told.result.n}};
    if (s->told.result.n && s->rest && !s->told.done) {
        done.refusal = s->told.result.v[0].refusal;
        done.detail = s->told.result.v[0].detail;
    }
    fx_reply(c, s->conn, s->seq, MSG_DONE, &done);
}

/* True when it is done, and answered. What is done is done in the name, and as the request, of who
 * asked. */
static bool sweep_slice(struct core *c, struct sweep *s, bool hurry)
{
    struct sweep_slice slice = {hurry ? SLICE_JOBS_HURRY : SLICE_JOBS,
                                hurry ? SLICE_LOOKS_HURRY : SLICE_LOOKS};
    const struct peer *asks = c->turn.peer;
    uint64_t conn = c->turn.conn, seq = c->turn.seq, request = c->turn.request;
    c->turn.peer = &s->peer;
    c->turn.conn = s->conn;
    c->turn.seq = s->seq;
    c->turn.request = s->request;
    bool over = s->rest ? refs_slice(c, s, slice) : filter_slice(c, s, slice);
    if (over) {
        sweep_answer(c, s);
        if (s->told.done) /* maybe in turns before this one */
            answered_keep_reply(c, &c->turn.fx->v[c->turn.fx->n - 1]);
    }
    c->turn.peer = asks;
    c->turn.conn = conn;
    c->turn.seq = seq;
    c->turn.request = request;
    return over;
}

/* Which goes next. */
static size_t sweep_next(const struct core *c)
{
    for (size_t i = 0; i < c->slices.sweeps.list.n; i++)
        if (peer_payer(&c->slices.sweeps.list.v[i]->peer) != c->slices.sweeps.last_payer)
            return i;
    return 0;
}

/* A due time far ahead is of before the clock was set. */
int64_t sweeps_due(const struct core *c)
{
    if (!c->slices.sweeps.list.n || c->store.away)
        return INT64_MAX;
    return c->slices.sweeps.due_us > c->turn.now_us + REST_US ? 0 : c->slices.sweeps.due_us;
}

const struct peer *core_sweeper(const struct core *c, int64_t now_us)
{
    return sweeps_due(c) > now_us ? NULL : &c->slices.sweeps.list.v[sweep_next(c)]->peer;
}

static bool others_ask(const struct core *c)
{
    int64_t since = c->turn.now_us - c->slices.sweeps.asked_us;
    return c->slices.sweeps.asked_us && since >= 0 && since < ALONE_US;
}

void sweeps_go(struct core *c)
{
    if (sweeps_due(c) > c->turn.now_us)
        return;
    size_t i = sweep_next(c);
    struct sweep *s = c->slices.sweeps.list.v[i];
    bool hurry = others_ask(c);
    c->slices.sweeps.last_payer = peer_payer(&s->peer);
    vec_remove(&c->slices.sweeps.list, i);
    if (sweep_slice(c, s, hurry))
        sweep_free(s);
    else
        vec_push(&c->slices.sweeps.list, s);
    c->slices.sweeps.due_us = c->turn.now_us + (hurry ? REST_US : 0);
}

void sweeps_heed(struct core *c, const struct peer *asks)
{
    for (size_t i = 0; i < c->slices.sweeps.list.n; i++)
        if (asks && !peers_are_one(asks, &c->slices.sweeps.list.v[i]->peer))
            c->slices.sweeps.asked_us = c->turn.now_us;
}

/* ---- the request ---- */

static bool sweeps_full(const struct core *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->slices.sweeps.list.n; i++)
        n += peers_are_one(&c->slices.sweeps.list.v[i]->peer, c->turn.peer);
    return n >= SWEEPS_PER_USER;
}

/* Too many are under way to keep this one: what is left of it is told. */
static void sweep_cut(struct core *c, struct sweep *s)
{
    outcome_add(s, s->text ? s->text : s->rest, REFUSE_BUSY, FULL_TEXT);
    sweep_answer(c, s);
    sweep_free(s);
}

bool sweep_again(struct core *c, const struct message *m)
{
    for (size_t i = 0; m->request && i < c->slices.sweeps.list.n; i++) {
        struct sweep *s = c->slices.sweeps.list.v[i];
        if (s->request != m->request || s->peer.uid != c->turn.peer->uid)
            continue;
        s->conn = c->turn.conn;
        s->seq = c->turn.seq;
        return true;
    }
    return false;
}

void sweep_begin(struct core *c, const struct sweep_kind *kind, const void *body, const char *refs)
{
    ASSERT(c->turn.peer && kind->act && kind->fill);
    struct err err = {0};
    struct sweep *s = sweep_new(c, kind, body, refs);
    if (!kind->fill(c, s->ctx, s->body, &err)) {
        reply_done(c, REFUSE_INVALID_NODE, err.text);
        sweep_free(s);
        return;
    }
    if (!refs && sweeps_full(c)) {
        reply_done(c, REFUSE_BUSY, FULL_TEXT);
        sweep_free(s);
        return;
    }
    if (c->turn.hurry)
        c->slices.sweeps.asked_us = c->turn.now_us;
    if (sweep_slice(c, s, c->turn.hurry)) {
        sweep_free(s);
        return;
    }
    if (sweeps_full(c)) {
        sweep_cut(c, s);
        return;
    }
    if (!c->slices.sweeps.list.n)
        c->slices.sweeps.due_us = c->turn.now_us + (c->turn.hurry ? REST_US : 0);
    vec_push(&c->slices.sweeps.list, s);
}
