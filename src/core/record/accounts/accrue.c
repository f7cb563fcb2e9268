#include "core/record/accounts/accrue.h"
#include "base/alloc.h"
#include "core/record/accounts/limit_book.h"
#include "core/record/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How many gain of those that a limit is counted for. */
struct accrue_sum {
    int64_t n;
};

struct accrue_hit {
    struct accrue_sum *sum;
    int64_t most;
    bool above;
};

/* All jobs of a user in an account, a QOS and a partition: the same limits apply to them. */
struct accruer {
    struct limit_subject who; /* texts interned */
    int64_t n;                /* jobs that gain */
    VEC(struct accrue_hit) hit;
    /* Who would like to, in order from `first` on; who no longer waits is passed over. */
    VEC(struct accrue_wish {
        int64_t since_us;
        uint64_t job_id;
    })
    queue;
    size_t first;
    size_t full; /* when it is so long those that no longer wait go; 0 = it never was */
    bool sorted;
};

struct accruing {
    bool any;           /* there are such limits */
    bool due;           /* a place came free, or somebody wishes one */
    size_t at;          /* those before it have been asked since */
    struct map_str *of; /* account, user, QOS, partitions → struct accruer, owned */
    VEC(struct accruer *) list;
    struct map_str *sum; /* key of a limit → struct accrue_sum, owned */
};

/* ---- limits --------------------------------------------------------------------------------- */

static struct accrue_sum *sum_take(struct accruing *all, const char *key)
{
    struct accrue_sum *sum = map_str_get(all->sum, key);
    if (!sum) {
        sum = xcalloc(1, sizeof *sum);
        map_str_put(all->sum, key, sum);
    }
    return sum;
}

static void hits_make(struct core *c, struct accruer *a)
{
    struct accruing *all = c->accounts.accruing;
    struct str key = STR_INIT;
    limit_hits hits = {0};
    vec_clear(&a->hit);
    if (all->any)
        limits_collect(c, &a->who, COUNTS_ACCRUING, &hits);
    for (size_t i = 0; i < hits.n; i++) {
        str_clear(&key);
        limit_key(c, &a->who, &hits.v[i], &key);
        struct accrue_hit hit = {.sum = sum_take(all, str_text(&key)),
                                 .most = hits.v[i].value,
                                 .above = hits.v[i].above};
        hit.sum->n += a->n;
        vec_push(&a->hit, hit);
    }
    str_done(&key);
    vec_done(&hits);
}

static void sums_drop(struct accruing *all)
{
    struct map_walk w = {0};
    while (map_str_next(all->sum, &w))
        free(w.value);
    map_str_free(all->sum);
    all->sum = map_str_new();
}

void accrue_know(struct core *c)
{
    struct map_walk w = {0};
    if (!c->accounts.accruing) {
        c->accounts.accruing = xcalloc(1, sizeof *c->accounts.accruing);
        c->accounts.accruing->of = map_str_new();
        c->accounts.accruing->sum = map_str_new();
    }
    struct accruing *all = c->accounts.accruing;
    all->any = enforces_limits(c) && limits_any(c, COUNTS_ACCRUING);
    sums_drop(all);
    for (w = (struct map_walk){0}; map_str_next(all->of, &w);)
        hits_make(c, w.value);
    all->due = true;
}

void accrue_free(struct core *c)
{
    struct accruing *all = c->accounts.accruing;
    struct map_walk w = {0};
    if (!all)
        return;
    sums_drop(all);
    map_str_free(all->sum);
    while (map_str_next(all->of, &w)) {
        struct accruer *a = w.value;
        vec_done(&a->hit);
        vec_done(&a->queue);
        free(a);
    }
    map_str_free(all->of);
    vec_done(&all->list);
    free(all);
}

/* Of several partitions that of the first counts, as for the priority. What is not there limits
 * nobody: names that somebody thought of make nothing that stays. */
static struct limit_subject subject_of(const struct core *c, const struct jobrec *r)
{
    const struct job_request *req = &r->j.spec.req;
    const struct qosrec *q = qos_find(c, req->qos);
    const struct partrec *part = part_first(c, req->partition);
    return (struct limit_subject){.user = r->j.user_name,
                                  .account = req->account,
                                  .qos = q ? q->q.name : NULL,
                                  .partition = part ? part->p.name : NULL};
}

static struct accruer *accruer_of(struct core *c, const struct jobrec *r)
{
    struct accruing *all = c->accounts.accruing;
    struct limit_subject who = subject_of(c, r);
    struct str key = STR_INIT;
    str_addf(&key, "%s\n%s\n%s\n%s", who.account ? who.account : "", who.user ? who.user : "",
             who.qos ? who.qos : "", who.partition ? who.partition : "");
    struct accruer *a = map_str_get(all->of, str_text(&key));
    if (!a) {
        a = xcalloc(1, sizeof *a);
        text_set(c, &a->who.account, who.account);
        text_set(c, &a->who.user, who.user);
        text_set(c, &a->who.qos, who.qos);
        text_set(c, &a->who.partition, who.partition);
        hits_make(c, a);
        map_str_put(all->of, str_text(&key), a);
        vec_push(&all->list, a);
    }
    str_done(&key);
    return a;
}

int64_t accrue_count(const struct core *c, const char *key)
{
    const struct accruing *all = c->accounts.accruing;
    const struct accrue_sum *sum = all ? map_str_get(all->sum, key) : NULL;
    return sum ? sum->n : 0;
}

/* ---- elements of arrays --------------------------------------------------------------------- */

/* j.accruing of an array's record: "2@1700000000,1@1700000300", so many from then on, in the order
 * in which they start. */
struct accrue_batch {
    int64_t n, from_us;
};
typedef VEC(struct accrue_batch) batches;

static void batches_read(const char *text, batches *ret)
{
    struct span rest = span_of(text ? text : ""), piece;
    while (span_next(&rest, ',', &piece)) {
        char one[48];
        struct accrue_batch b = {0};
        (void)snprintf(one, sizeof one, "%.*s", (int)piece.len, piece.data);
        char *at = strchr(one, '@');
        if (!at)
            continue;
        *at = '\0';
        if (text_to_i64(one, 1, UINT32_MAX, &b.n) &&
            text_to_i64(at + 1, 1, FIELD_TIME_MAX / USEC_PER_SEC, &b.from_us)) {
            b.from_us *= USEC_PER_SEC;
            vec_push(ret, b);
        }
    }
}

static int64_t batches_sum(const batches *v)
{
    int64_t n = 0;
    for (size_t i = 0; i < v->n; i++)
        n += v->v[i].n;
    return n;
}

#define BATCHES_MAX 64 /* more are told apart no further: the last begin together */

static void batches_set(struct core *c, struct jobrec *r, batches *v)
{
    struct str text = STR_INIT;
    while (v->n > BATCHES_MAX) {
        v->v[v->n - 2].n += v->v[v->n - 1].n;
        v->v[v->n - 2].from_us = v->v[v->n - 1].from_us;
        v->n--;
    }
    for (size_t i = 0; i < v->n; i++)
        str_addf(&text, "%s%lld@%lld", i ? "," : "", (long long)v->v[i].n,
                 (long long)(v->v[i].from_us / USEC_PER_SEC));
    text_set(c, &r->j.accruing, text.len ? str_text(&text) : NULL);
    r->j.accrue_us = v->n ? v->v[0].from_us : ACCRUES_NOT;
    str_done(&text);
}

int64_t accrue_element(struct core *c, struct jobrec *array)
{
    ASSERT(job_is_array(array));
    batches v = {0};
    int64_t from_us = array->j.accrue_us;
    if (!from_us)
        return 0;
    batches_read(array->j.accruing, &v);
    if (v.n == 0)
        return ACCRUES_NOT;
    if (--v.v[0].n == 0)
        vec_remove(&v, 0);
    batches_set(c, array, &v);
    vec_done(&v);
    return from_us;
}

/* ---- places --------------------------------------------------------------------------------- */

static int64_t elements(const struct jobrec *r)
{
    return job_is_array(r) ? (int64_t)r->pending.count : 1;
}

/* Of it so many have a place. */
static int64_t has_now(const struct jobrec *r)
{
    batches v = {0};
    if (r->j.state != JOB_PENDING || !r->j.eligible_us || r->j.spec.hold ||
        r->j.accrue_us == ACCRUES_NOT)
        return 0;
    if (!job_is_array(r) || !r->j.accrue_us)
        return elements(r);
    batches_read(r->j.accruing, &v);
    int64_t n = batches_sum(&v), most = elements(r);
    vec_done(&v);
    return n < most ? n : most; /* some may have been cancelled */
}

static bool wishes(const struct jobrec *r)
{
    return r->j.state == JOB_PENDING && r->j.eligible_us && !r->j.spec.hold && r->j.accrue_us &&
           has_now(r) < elements(r);
}

static void count(struct core *c, struct accruer *a, int64_t more)
{
    a->n += more;
    for (size_t i = 0; i < a->hit.n; i++)
        a->hit.v[i].sum->n += more;
    c->accounts.accruing->due |= more < 0;
}

static int wish_order(const void *a, const void *b)
{
    const struct accrue_wish *x = a, *y = b;
    if (x->since_us != y->since_us)
        return x->since_us < y->since_us ? -1 : 1;
    return (x->job_id > y->job_id) - (x->job_id < y->job_id);
}

static void wishes_sort(struct accruer *a)
{
    if (!a->sorted && a->queue.n > a->first)
        qsort(a->queue.v + a->first, a->queue.n - a->first, sizeof a->queue.v[0], wish_order);
    a->sorted = true;
}

/* Whoever comes and goes while there is no place leaves a wish: they go when they are most. One
 * that went to another account and came back stands there twice. */
static void wishes_prune(struct core *c, struct accruer *a)
{
    size_t n = 0;
    wishes_sort(a);
    for (size_t i = a->first; i < a->queue.n; i++) {
        struct accrue_wish w = a->queue.v[i];
        struct jobrec *r = job_find(c, w.job_id);
        bool its = r && r->accrue.of == a;
        if (its && !wishes(r))
            r->accrue.wishes = false;
        else if (its && !(n && wish_order(&a->queue.v[n - 1], &w) == 0))
            a->queue.v[n++] = w;
    }
    a->queue.n = n;
    a->first = 0;
    a->full = 2 * n + 64;
}

static void wish(struct core *c, struct accruer *a, struct jobrec *r)
{
    struct accrue_wish w = {r->j.eligible_us, r->j.id};
    if (r->accrue.wishes || !wishes(r))
        return;
    if (a->queue.n >= a->full)
        wishes_prune(c, a);
    a->sorted =
        a->queue.n == a->first || (a->sorted && wish_order(&a->queue.v[a->queue.n - 1], &w) <= 0);
    vec_push(&a->queue, w);
    r->accrue.wishes = true;
    c->accounts.accruing->due = true;
}

void accrue_begin(struct core *c, struct jobrec *r)
{
    ASSERT(r->j.state == JOB_PENDING);
    const struct accruing *all = c->accounts.accruing;
    text_set(c, &r->j.accruing, NULL);
    r->j.accrue_us = all && all->any ? ACCRUES_NOT : 0;
}

static void place_leave(struct core *c, struct jobrec *r)
{
    if (r->j.accrue_us == ACCRUES_NOT)
        return;
    text_set(c, &r->j.accruing, NULL);
    r->j.accrue_us = ACCRUES_NOT;
    job_save(c, r);
}

void accrue_update(struct core *c, struct jobrec *r)
{
    struct accruing *all = c->accounts.accruing;
    if (!all || (!all->any && !r->accrue.of && !r->j.accrue_us))
        return;
    if (all->any && r->j.state == JOB_PENDING && r->j.eligible_us && r->j.spec.hold)
        place_leave(c, r);
    int64_t now = has_now(r);
    struct accruer *a = now || wishes(r) ? accruer_of(c, r) : r->accrue.of;
    if (r->accrue.of && r->accrue.of != a && a->hit.n && now) {
        place_leave(c, r); /* it asks those of the other account */
        now = 0;
    }
    if (r->accrue.of && r->accrue.of != a) {
        count(c, r->accrue.of, -r->accrue.n);
        r->accrue.n = 0;
        r->accrue.wishes = false;
    }
    if (!a)
        return;
    r->accrue.of = a;
    if (now != r->accrue.n)
        count(c, a, now - r->accrue.n);
    r->accrue.n = now;
    wish(c, a, r);
}

/* ---- giving --------------------------------------------------------------------------------- */

static int64_t room_of(const struct accruer *a)
{
    int64_t room = INT64_MAX;
    for (size_t i = 0; i < a->hit.n; i++) {
        int64_t left = a->hit.v[i].most - a->hit.v[i].sum->n;
        if (!a->hit.v[i].above && left < room)
            room = left;
    }
    return room;
}

static void give(struct core *c, struct accruer *a, struct jobrec *r, int64_t n)
{
    batches v = {0};
    if (job_is_array(r)) {
        batches_read(r->j.accruing, &v);
        if (v.n && v.v[v.n - 1].from_us / USEC_PER_SEC == c->turn.now_us / USEC_PER_SEC)
            v.v[v.n - 1].n += n;
        else
            vec_push(&v, ((struct accrue_batch){n, c->turn.now_us}));
        batches_set(c, r, &v);
        vec_done(&v);
    } else {
        r->j.accrue_us = c->turn.now_us;
    }
    r->accrue.n += n;
    count(c, a, n);
}

/* The first that still wishes. */
static struct jobrec *first_wish(struct core *c, struct accruer *a)
{
    wishes_sort(a);
    for (; a->first < a->queue.n; a->first++) {
        struct jobrec *r = job_find(c, a->queue.v[a->first].job_id);
        if (r && r->accrue.of == a && wishes(r))
            return r;
        if (r && r->accrue.of == a)
            r->accrue.wishes = false;
    }
    vec_clear(&a->queue);
    a->first = 0;
    return NULL;
}

static struct jobrec *give_next(struct core *c, struct accruer *a)
{
    int64_t room = room_of(a);
    struct jobrec *r = room > 0 ? first_wish(c, a) : NULL;
    if (!r)
        return NULL;
    int64_t wants = elements(r) - r->accrue.n;
    give(c, a, r, wants < room ? wants : room);
    if (!wishes(r)) {
        r->accrue.wishes = false;
        a->first++;
    }
    return r;
}

struct jobrec *accrue_next(struct core *c)
{
    struct accruing *all = c->accounts.accruing;
    if (all && all->due)
        all->at = 0;
    if (!all)
        return NULL;
    all->due = false;
    for (; all->at < all->list.n; all->at++) {
        struct jobrec *r = give_next(c, all->list.v[all->at]);
        if (r)
            return r;
    }
    return NULL;
}

size_t accrue_wishes(const struct core *c)
{
    const struct accruing *all = c->accounts.accruing;
    size_t n = 0;
    for (size_t i = 0; all && i < all->list.n; i++)
        n += all->list.v[i]->queue.n;
    return n;
}

/* ---- for core_check ------------------------------------------------------------------------- */

void accrue_check(const struct core *c)
{
    const struct accruing *all = c->accounts.accruing;
    struct map_walk w = {0};
    if (!all)
        return;
    for (size_t i = 0; i < all->list.n; i++) {
        const struct accruer *a = all->list.v[i];
        int64_t n = 0;
        for (w = (struct map_walk){0}; map_u64_next(c->jobs.by_id, &w);) {
            const struct jobrec *r = w.value;
            if (r->accrue.of != a)
                continue;
            CHECK(r->accrue.n == 0 || r->accrue.n == has_now(r));
            n += r->accrue.n;
        }
        CHECK(n == a->n);
    }
    for (w = (struct map_walk){0}; map_str_next(all->sum, &w);) {
        const struct accrue_sum *of = w.value;
        int64_t n = 0;
        for (size_t i = 0; i < all->list.n; i++)
            for (size_t k = 0; k < all->list.v[i]->hit.n; k++)
                n += all->list.v[i]->hit.v[k].sum == of ? all->list.v[i]->n : 0;
        CHECK(n == of->n);
    }
}
