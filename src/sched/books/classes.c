/* A class holds one copy of the request, its texts interned. A lane holds the jobs of a class whose
 * order among themselves never changes as they age, so that only the first of each lane has to be
 * compared with others. Lanes are arrays: jobs come at the end and leave at the front nearly
 * always. */
#include "sched/books/classes.h"

#include "base/alloc.h"
#include "base/rng.h"
#include "sched/books/limits/cap_set.h"
#include "sched/books/limits/people.h"
#include "sched/books/tables.h"

#include <stdlib.h>
#include <string.h>

/* ---- classes ---- */

static void request_intern(struct cluster *cl, struct job_request *req)
{
    for (size_t i = 0; i < job_request_fields.n; i++)
        if (job_request_fields.field[i].type == FIELD_TEXT) {
            const char **text = field_ptr(&job_request_fields.field[i], req);
            *text = intern_take(cl->text, *text);
        }
}

static void request_drop(struct cluster *cl, struct job_request *req)
{
    for (size_t i = 0; i < job_request_fields.n; i++)
        if (job_request_fields.field[i].type == FIELD_TEXT)
            intern_drop(cl->text, *(const char **)field_ptr(&job_request_fields.field[i], req));
}

static void buckets_grow(struct cluster *cl)
{
    size_t n = cl->klass.nbuckets ? cl->klass.nbuckets * 2 : 64;
    struct sclass **bucket = xcalloc(n, sizeof bucket[0]);
    for (size_t i = 0; i < cl->klass.nbuckets; i++)
        for (struct sclass *k = cl->klass.bucket[i], *next; k; k = next) {
            next = k->next;
            k->next = bucket[k->hash % n];
            bucket[k->hash % n] = k;
        }
    free(cl->klass.bucket);
    cl->klass.bucket = bucket;
    cl->klass.nbuckets = n;
}

/* A class belongs to one user if it matters on which user's nodes its jobs go. */
static uint32_t class_owner(const struct cluster *cl, const struct job_request *req, uint32_t uid)
{
    bool own =
        req->exclusive == EXCLUSIVE_USER || req->exclusive == EXCLUSIVE_MCS || cl->part.by_user;
    return own ? uid + 1 : 0;
}

static struct sclass *class_take(struct cluster *cl, const struct waiting *w,
                                 const struct job_request *req, uint32_t owner)
{
    const char *magnets = w->magnets, *caps = w->caps;
    uint64_t hash = record_hash(&job_request_fields, req, HASH_INIT + owner);
    if (magnets)
        hash = hash_text(hash, magnets);
    if (caps)
        hash = hash_text(hash, caps);
    for (struct sclass *k = cl->klass.nbuckets ? cl->klass.bucket[hash % cl->klass.nbuckets] : NULL;
         k; k = k->next)
        if (k->hash == hash && k->uid_plus1 == owner && text_is(k->magnets, magnets) &&
            text_is(k->caps, caps) && record_equal(&job_request_fields, &k->req, req))
            return k;
    if (cl->klass.count >= cl->klass.nbuckets)
        buckets_grow(cl);
    struct sclass *k = xcalloc(1, sizeof *k);
    k->hash = hash;
    k->req = *req;
    k->uid_plus1 = owner;
    k->magnets = intern_take(cl->text, magnets);
    k->caps = intern_take(cl->text, caps);
    k->serial = ++cl->queue.serial;
    request_intern(cl, &k->req);
    cap_set_read(cl, k->caps, &k->req, &k->cap_set);
    k->next = cl->klass.bucket[hash % cl->klass.nbuckets];
    cl->klass.bucket[hash % cl->klass.nbuckets] = k;
    cl->klass.count++;
    if (cl->klass.holes.n > 0) {
        k->idx = cl->klass.holes.v[--cl->klass.holes.n];
        cl->klass.v[k->idx] = k;
    } else {
        k->idx = (uint32_t)cl->klass.n;
        vec_push(&cl->klass, k);
    }
    return k;
}

static void class_drop(struct cluster *cl, struct sclass *k)
{
    struct sclass **at = &cl->klass.bucket[k->hash % cl->klass.nbuckets];
    while (*at != k)
        at = &(*at)->next;
    *at = k->next;
    cl->klass.count--;
    cl->klass.v[k->idx] = NULL;
    vec_push(&cl->klass.holes, k->idx);
    arena_free(k->made_arena);
    vec_done(&k->cause);
    cap_set_done(&k->cap_set);
    request_drop(cl, &k->req);
    intern_drop(cl->text, k->magnets);
    intern_drop(cl->text, k->caps);
    free(k);
}

/* ---- lanes ---- */

int wjob_order(const struct wjob *a, const struct wjob *b)
{
    int64_t x = stands_since(&a->w), y = stands_since(&b->w);
    if (x != y)
        return x < y ? -1 : 1;
    x = stands_submitted(&a->w);
    y = stands_submitted(&b->w);
    if (x != y)
        return x < y ? -1 : 1;
    uint64_t p = stands_as(&a->w), q = stands_as(&b->w);
    return (p > q) - (p < q);
}

/* Does the order tell users apart? Then a lane is one user's own. */
static bool lanes_by_user(const struct cluster *cl)
{
    return cl->policy.weight_fair > 0 || cl->policy.order == ORDER_AGEING;
}

/* Of all that tells it apart from other lanes. */
static uint64_t lane_hash(const struct sclass *k, const struct waiting *w, uint32_t owner)
{
    const uint64_t parts[] = {k->serial,
                              owner,
                              (uint64_t)w->nice,
                              (uint64_t)w->site,
                              (uint64_t)w->qos_factor,
                              (uint64_t)w->assoc_factor,
                              w->priority_asked,
                              w->promise_priority,
                              w->het_job_id};
    return hash_bytes(HASH_INIT, parts, sizeof parts);
}

/* Place of the first job that is not before `j`. */
static size_t lane_find(const struct lane *l, const struct wjob *j)
{
    size_t low = l->first, high = l->first + l->n;
    if (l->n > 0 && wjob_order(l->job[high - 1], j) < 0)
        return high;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (wjob_order(l->job[middle], j) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* By which it goes first (pass/standing.h). */
static int64_t promised_of(const struct waiting *w)
{
    return w->promised_in ? w->promised_us : INT64_MAX;
}

/* A promise is a place in the order only for the first of a lane, and promises are made in its
 * order: so along a lane they begin one after the other, and those without any come last. Who would
 * stand there before others who go first, as his request was changed or he was held, has a lane of
 * his own. */
static bool promises_in_order(const struct cluster *cl, const struct lane *l,
                              const struct waiting *w)
{
    if (cl->queue.promised_in.n == 0 || l->n == 0)
        return true;
    const struct wjob j = {.w = *w};
    size_t at = lane_find(l, &j);
    return (at == l->first || promised_of(&l->job[at - 1]->w) <= promised_of(w)) &&
           (at == l->first + l->n || promised_of(w) <= promised_of(&l->job[at]->w));
}

static struct lane *lane_take(struct cluster *cl, struct sclass *k, const struct waiting *w)
{
    uint32_t owner = lanes_by_user(cl) ? w->uid + 1 : 0;
    uint64_t hash = lane_hash(k, w, owner);
    struct lane *first = map_u64_get(cl->queue.lane_of, hash);
    for (struct lane *l = first; l; l = l->alike)
        if (l->klass == k && l->nice == w->nice && l->site == w->site &&
            l->qos_factor == w->qos_factor && l->assoc_factor == w->assoc_factor &&
            l->priority_asked == w->priority_asked && l->promise_priority == w->promise_priority &&
            !l->placed && !w->place.job_id && l->uid_plus1 == owner && l->het == w->het_job_id &&
            promises_in_order(cl, l, w))
            return l;
    struct lane *l = xcalloc(1, sizeof *l);
    *l = (struct lane){.klass = k,
                       .nice = w->nice,
                       .site = w->site,
                       .qos_factor = w->qos_factor,
                       .assoc_factor = w->assoc_factor,
                       .priority_asked = w->priority_asked,
                       .promise_priority = w->promise_priority,
                       .placed = w->place.job_id != 0,
                       .uid_plus1 = owner,
                       .het = w->het_job_id,
                       .hash = hash,
                       .alike = first,
                       .idx = (uint32_t)cl->queue.lane.n};
    map_u64_put(cl->queue.lane_of, hash, l);
    k->lanes++;
    vec_push(&cl->queue.lane, l);
    vec_push(&cl->queue.front, (struct front){0});
    return l;
}

static void lane_drop(struct cluster *cl, struct lane *l)
{
    struct lane *first = map_u64_get(cl->queue.lane_of, l->hash);
    if (first != l) {
        struct lane *before = first;
        while (before->alike != l)
            before = before->alike;
        before->alike = l->alike;
    } else if (l->alike) {
        map_u64_put(cl->queue.lane_of, l->hash, l->alike);
    } else {
        map_u64_del(cl->queue.lane_of, l->hash);
    }
    struct lane *last = cl->queue.lane.v[--cl->queue.lane.n];
    cl->queue.lane.v[l->idx] = last;
    cl->queue.front.v[l->idx] = cl->queue.front.v[--cl->queue.front.n];
    last->idx = l->idx;
    if (--l->klass->lanes == 0)
        class_drop(cl, l->klass);
    free(l->job);
    free(l);
}

/* To be called when its first job came, went or changed. */
static void front_see(struct cluster *cl, const struct lane *l)
{
    const struct wjob *j = l->job[l->first];
    cl->queue.front.v[l->idx] =
        (struct front){.job = j,
                       .job_id = j->w.job_id,
                       .since_us = j->w.ages_us ? j->w.ages_us : j->w.eligible_us,
                       .submit_us = j->w.submit_us,
                       .own = j->w.own,
                       .person = j->w.person,
                       .klass = l->klass->idx,
                       .nice = l->nice,
                       .het = l->het != 0,
                       .apart = l->het || l->placed || l->priority_asked || j->w.deadline_us > 0};
}

static void lane_insert(struct cluster *cl, struct lane *l, struct wjob *j)
{
    if (l->first + l->n == l->cap) {
        if (l->first > l->n) {
            memmove(l->job, l->job + l->first, l->n * sizeof l->job[0]);
            l->first = 0;
        } else {
            l->cap = l->cap ? 2 * l->cap : 2;
            l->job = xrealloc(l->job, l->cap * sizeof l->job[0]);
        }
    }
    size_t at = lane_find(l, j);
    memmove(&l->job[at + 1], &l->job[at], (l->first + l->n - at) * sizeof l->job[0]);
    l->job[at] = j;
    l->n++;
    l->elements += j->w.elements;
    j->lane = l;
    if (at == l->first)
        front_see(cl, l);
}

/* The lane may be empty then: who takes the job out drops it. */
static void lane_remove(struct cluster *cl, struct lane *l, struct wjob *j)
{
    size_t at = lane_find(l, j);
    CHECK(at < l->first + l->n && l->job[at] == j);
    CHECK(l->elements >= j->w.elements);
    l->elements -= j->w.elements;
    if (at == l->first)
        l->first++;
    else
        memmove(&l->job[at], &l->job[at + 1], (l->first + l->n - at - 1) * sizeof l->job[0]);
    l->n--;
    if (l->n > 0)
        front_see(cl, l);
}

/* ---- jobs ---- */

void waiting_know(struct cluster *cl, struct waiting *w, const struct job_request *req)
{
    w->own = cluster_share(cl, w->uid, w->of_user ? NULL : req->account);
    w->share = w->assoc ? cluster_assoc_share(cl, w->assoc) : w->own;
    w->person = cluster_person(cl, w->uid);
}

static void wjob_place(struct cluster *cl, struct wjob *j, const struct job_request *req)
{
    struct sclass *k = class_take(cl, &j->w, req, class_owner(cl, req, j->w.uid));
    waiting_know(cl, &j->w, req);
    lane_insert(cl, lane_take(cl, k, &j->w), j);
    j->w.req = &k->req;
    j->w.magnets = k->magnets;
    j->w.caps = k->caps;
}

void wjob_enter(struct cluster *cl, struct wjob *j, const struct waiting *w)
{
    ASSERT(!j->lane && w->req);
    j->w = *w;
    wjob_place(cl, j, w->req);
}

void wjob_change(struct cluster *cl, struct wjob *j, const struct waiting *w)
{
    ASSERT(j->lane && w->job_id == j->w.job_id);
    struct lane *l = j->lane;
    const struct waiting was = j->w;
    bool same = record_equal(&job_request_fields, w->req, j->w.req);
    lane_remove(cl, l, j);
    j->w = *w;
    j->w.floor = was.floor;
    if (same) { /* else what it asks for now has not waited so, and was not promised */
        j->w.head = was.head;
        j->w.head_us = was.head_us;
        j->w.oldest = was.oldest;
        j->w.promised_us = was.promised_us;
        j->w.promised_in = was.promised_in;
    }
    wjob_place(cl, j, w->req); /* before the old lane goes: w->req may be its class's copy */
    if (l->n == 0)
        lane_drop(cl, l);
}

/* One stands before it in its lane who was promised a later start, or none. */
static bool promised_behind(const struct wjob *j)
{
    size_t at = lane_find(j->lane, j);
    return at > j->lane->first && promised_of(&j->lane->job[at - 1]->w) > promised_of(&j->w);
}

void wjobs_promised_apart(struct cluster *cl)
{
    for (bool moved = true; moved;) {
        moved = false;
        for (size_t i = 0; i < cl->queue.promised_in.n; i++) {
            struct wjob *j = map_u64_get(cl->queue.by_job, cl->queue.promised_in.v[i]);
            if (!j || !promised_behind(j))
                continue;
            struct waiting same = j->w;
            wjob_change(cl, j, &same);
            moved = true;
        }
    }
}

void wjob_leave(struct cluster *cl, struct wjob *j)
{
    ASSERT(j->lane && j->lane->n > 0);
    struct lane *l = j->lane;
    lane_remove(cl, l, j);
    if (l->n == 0)
        lane_drop(cl, l);
}

void classes_regroup(struct cluster *cl)
{
    struct map_walk w = {0};
    while (map_u64_next(cl->queue.by_job, &w)) {
        struct wjob *j = w.value;
        const struct lane *l = j->lane;
        if (class_owner(cl, j->w.req, j->w.uid) == l->klass->uid_plus1 &&
            lanes_by_user(cl) == (l->uid_plus1 > 0))
            continue;
        struct waiting same = j->w;
        wjob_change(cl, j, &same);
    }
}

void classes_free(struct cluster *cl)
{
    struct map_walk w = {0};
    while (map_u64_next(cl->queue.by_job, &w)) {
        wjob_leave(cl, w.value);
        free(w.value);
    }
    free(cl->klass.bucket);
    vec_done(&cl->klass);
    vec_done(&cl->klass.holes);
    vec_done(&cl->queue.lane);
    vec_done(&cl->queue.front);
    map_u64_free(cl->queue.lane_of);
}
