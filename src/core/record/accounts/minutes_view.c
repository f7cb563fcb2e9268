/* Who is held by a limit in minutes is told whose use it is and when there will be room: as running
 * jobs use up what they may, or as use decays or is forgotten. */
#include "base/alloc.h"
#include "base/amount.h"
#include "core/record/accounts/minutes.h"
#include "core/record/accounts/minutes_ask.h"
#include "core/record/accounts/private.h"
#include "core/record/accounts/use.h"
#include "core/record/record.h"

#include <stdlib.h>

__extension__ typedef __int128 wide;

#define RUNS_SAID  8
#define USERS_SAID 4

/* ---- what running jobs may still use -------------------------------------------------------- */

struct left {
    const struct jobrec *r;
    int64_t amount, us; /* so much of the limit, until then */
};
typedef VEC(struct left) lefts;

static int by_amount(const void *a, const void *b)
{
    const struct left *x = a, *y = b;
    if (x->amount != y->amount)
        return x->amount > y->amount ? -1 : 1;
    return (x->r->j.id > y->r->j.id) - (x->r->j.id < y->r->j.id);
}

static void left_add(const struct minutes_ask *q, const struct jobrec *r, lefts *out)
{
    struct left one = {.r = r};
    if ((r->j.state != JOB_RUNNING && r->j.state != JOB_SUSPENDED) ||
        !minutes_count_against(q->c, r, q->who, q->h))
        return;
    one.amount = minutes_left(q->c, r, q->h, &one.us);
    if (one.amount > 0)
        vec_push(out, one);
}

/* A node that was given back and is free keeps its hold, and has the job no more. */
static bool is_first_node(const struct jobrec *r, size_t node)
{
    size_t k = 0;
    while (k < r->hold.n && r->hold.v[k].released)
        k++;
    return k < r->hold.n && r->hold.v[k].node == node;
}

/* By the nodes, which have what runs: of those that wait there may be many more. A job of several
 * nodes is taken where its first is. */
static void lefts_find(const struct minutes_ask *q, lefts *out)
{
    const struct core *c = q->c;
    for (size_t i = 0; i < c->node.n; i++)
        for (size_t k = 0; k < c->node.v[i]->job.n; k++) {
            const struct jobrec *r = job_find(c, c->node.v[i]->job.v[k]);
            if (r && is_first_node(r, i))
                left_add(q, r, out);
        }
}

static int by_end(const void *a, const void *b)
{
    const struct left *x = a, *y = b;
    return (x->us > y->us) - (x->us < y->us);
}

#define LEFTS_MOST 128

/* Where many run, those that end one after the other become one that ends with the last of them and
 * has what all have: what is worked out of it comes too late by little, and never too early. */
static void lefts_gather(lefts *v)
{
    size_t each = (v->n + LEFTS_MOST - 1) / LEFTS_MOST, n = 0;
    if (each < 2)
        return;
    qsort(v->v, v->n, sizeof v->v[0], by_end);
    for (size_t i = 0; i < v->n; i++) {
        if (i % each == 0)
            v->v[n++] = (struct left){0};
        v->v[n - 1].amount = amount_plus(v->v[n - 1].amount, v->v[i].amount);
        v->v[n - 1].us = v->v[i].us;
    }
    v->n = n;
    ASSERT(v->n <= LEFTS_MOST);
}

/* Of it is still to be used after so long, if all run on: it shrinks with the time. */
static wide left_after(const lefts *v, int64_t us)
{
    wide sum = 0;
    for (size_t i = 0; i < v->n; i++)
        if (v->v[i].us == USE_LONG)
            sum += v->v[i].amount;
        else if (v->v[i].us > us)
            sum += (wide)v->v[i].amount * (v->v[i].us - us) / v->v[i].us;
    return sum;
}

/* ---- when there is room --------------------------------------------------------------------- */

#define LOOK_US (INT64_C(400) * 24 * 3600 * USEC_PER_SEC)

/* Of what was used and running jobs may still use so much counts then, at most: who runs may use
 * all that is left to it until its end, and only from then on that decays or is forgotten. */
static wide used_after(const struct minutes_ask *q, const lefts *v, int64_t us)
{
    const struct core *c = q->c;
    int64_t now_us = c->turn.now_us, at_us = now_us + us;
    bool decays = !(q->h->qos && (q->h->qos->q.flags & QOS_NO_DECAY));
    wide sum = decays ? usage_decayed(c, q->used, now_us, at_us) : q->used;
    for (size_t i = 0; i < v->n && q->safe; i++) {
        bool over = v->v[i].us != USE_LONG && v->v[i].us < us && decays;
        sum += over ? usage_decayed(c, v->v[i].amount, now_us + v->v[i].us, at_us) : v->v[i].amount;
    }
    return sum;
}

static bool fits_after(const struct minutes_ask *q, const lefts *v, int64_t need, int64_t us)
{
    if (!q->counts_used)
        return left_after(v, us) + need <= q->most;
    return q->safe ? used_after(q, v, us) + need <= q->most : used_after(q, v, us) < q->most;
}

/* The least time, by minutes, after which there is room; 0 = not within a year. */
static int64_t room_after(const struct minutes_ask *q, const lefts *v, int64_t need)
{
    int64_t low = 0, high = LOOK_US / USEC_PER_MIN;
    if (!fits_after(q, v, need, LOOK_US))
        return 0;
    while (low + 1 < high) {
        int64_t middle = low + (high - low) / 2;
        if (fits_after(q, v, need, middle * USEC_PER_MIN))
            high = middle;
        else
            low = middle;
    }
    return high * USEC_PER_MIN;
}

/* Of many that wait some ask the same. */
struct known_room {
    struct minutes_room room; /* the first member */
    lefts running;
    struct map_u64 *after; /* need → µs until there is room, int64_t, owned */
};

#define ROOMS_MAX 8   /* limits whose runs are looked for in one instant */
#define AFTER_MAX 256 /* needs that are told apart */

static void room_drop(struct minutes_room *of)
{
    struct known_room *room = (struct known_room *)of;
    struct map_walk w = {0};
    vec_done(&room->running);
    while (map_u64_next(room->after, &w))
        free(w.value);
    map_u64_free(room->after);
    free(room);
}

static struct known_room *room_of(const struct minutes_ask *q)
{
    struct map_str *rooms = minutes_rooms(q->c);
    struct str key = STR_INIT;
    limit_key(q->c, q->who, q->h, &key);
    struct known_room *room = map_str_get(rooms, str_text(&key));
    if (!room && map_str_count(rooms) < ROOMS_MAX) {
        room = xcalloc(1, sizeof *room);
        room->room.drop = room_drop;
        room->after = map_u64_new();
        if (!q->counts_used || q->safe)
            lefts_find(q, &room->running);
        lefts_gather(&room->running);
        map_str_put(rooms, str_text(&key), room);
    }
    str_done(&key);
    return room;
}

/* 0 = it is not known. */
static int64_t room_after_known(const struct minutes_ask *q, int64_t need)
{
    struct known_room *room = room_of(q);
    if (!room)
        return 0;
    int64_t *known = map_u64_get(room->after, (uint64_t)need);
    if (!known && map_u64_count(room->after) < AFTER_MAX) {
        known = xcalloc(1, sizeof *known);
        *known = room_after(q, &room->running, need);
        map_u64_put(room->after, (uint64_t)need, known);
    }
    return known ? *known : 0;
}

/* In one partition all that hold it must have room; 0 = none holds it, or it is not known. */
static int64_t room_in(const struct core *c, const struct jobrec *r, const char *partition,
                       enum job_reason reason)
{
    struct limit_subject who = limits_subject(r, partition);
    struct limit_hit hit;
    int64_t need, latest = 0;
    bool is = false;
    for (size_t from = 0; minutes_held_from(c, r, partition, &from, &hit, &need);) {
        struct minutes_ask q = minutes_ask_of(c, &who, &hit, NULL);
        int64_t after = room_after_known(&q, need);
        is |= resource_limit_reason((enum limit_owner)hit.l->owner,
                                    (enum resource_limit)hit.l->what, hit.l->tres) == reason;
        if (!after)
            return 0;
        latest = after > latest ? after : latest;
    }
    return is ? latest : 0;
}

int64_t minutes_room_us(const struct core *c, const struct jobrec *r, enum job_reason reason)
{
    struct span rest = span_of(r->j.spec.req.partition ? r->j.spec.req.partition : ""), piece;
    struct arena *a = arena_new();
    int64_t soonest = 0;
    while (span_next(&rest, ',', &piece)) {
        int64_t after = room_in(c, r, arena_strndup(a, piece.data, piece.len), reason);
        if (after && (!soonest || after < soonest))
            soonest = after;
    }
    arena_free(a);
    return soonest ? c->turn.now_us + soonest : 0;
}

/* ---- who used it ---------------------------------------------------------------------------- */

struct minutes_part {
    const struct assocrec *of;
    int64_t used;
};

static int by_use(const void *a, const void *b)
{
    const struct minutes_part *x = a, *y = b;
    if (x->used != y->used)
        return x->used > y->used ? -1 : 1;
    return (x->of->a.id > y->of->a.id) - (x->of->a.id < y->of->a.id);
}

/* Of an account who used most of it, as far as who asks may know. */
static void users_say(const struct minutes_ask *q, struct str *out)
{
    struct map_walk w = {0};
    VEC(struct minutes_part) v = {0};
    while (q->h->assoc && map_u64_next(q->c->accounts.assoc, &w)) {
        const struct assocrec *r = w.value;
        const struct userec *u = r->a.user ? use_find(q->c, OWNER_ASSOC, r->a.id) : NULL;
        int64_t used = !u ? 0 : q->h->l->tres ? use_amount(q->c, u, q->h->l->tres) : u->wall_ms;
        if (used >= q->unit && assoc_is_under(r, q->h->assoc) &&
            may_see_usage(q->c, q->c->turn.peer, r->a.user, r->a.account))
            vec_push(&v, ((struct minutes_part){r, used}));
    }
    if (v.n)
        qsort(v.v, v.n, sizeof v.v[0], by_use);
    for (size_t i = 0; i < v.n && i < USERS_SAID; i++)
        str_addf(out, "%s%s in %s (%lld)", i ? ", " : "; used by ", v.v[i].of->a.user,
                 v.v[i].of->a.account, (long long)(v.v[i].used / q->unit));
    if (v.n > USERS_SAID)
        str_addf(out, " and %zu more", v.n - USERS_SAID);
    vec_done(&v);
}

/* ---- both ----------------------------------------------------------------------------------- */

static void jobs_say(lefts *v, struct arena *a, struct blocker *b)
{
    struct str jobs = STR_INIT;
    if (v->n)
        qsort(v->v, v->n, sizeof v->v[0], by_amount);
    for (size_t i = 0; i < v->n && i < RUNS_SAID; i++)
        str_addf(&jobs, "%s%llu", i ? "," : "", (unsigned long long)v->v[i].r->j.id);
    b->jobs = jobs.len ? arena_strdup(a, str_text(&jobs)) : NULL;
    b->jobs_more = v->n > RUNS_SAID ? (int32_t)(v->n - RUNS_SAID) : 0;
    str_done(&jobs);
}

bool minutes_blocker(const struct core *c, const struct jobrec *r, struct arena *a,
                     struct blocker *ret)
{
    const struct partrec *part = part_first(c, r->j.spec.req.partition);
    struct limit_subject who = limits_subject(r, part ? part->p.name : NULL);
    struct limit_hit hit;
    struct str what = STR_INIT;
    lefts running = {0};
    int64_t need;
    if (!minutes_held_by(c, r, who.partition, &hit, &need))
        return false;
    struct minutes_ask q = minutes_ask_of(c, &who, &hit, NULL);
    minutes_say(&q, need, &what);
    if (!q.counts_used || q.safe)
        lefts_find(&q, &running);
    if (q.counts_used)
        users_say(&q, &what);
    *ret = (struct blocker){.kind = BLOCKER_LIMIT, .what = arena_strdup(a, str_text(&what))};
    int64_t after_us = room_after(&q, &running, need);
    ret->first_us = after_us ? c->turn.now_us + after_us : 0;
    jobs_say(&running, a, ret);
    vec_done(&running);
    str_done(&what);
    return true;
}
