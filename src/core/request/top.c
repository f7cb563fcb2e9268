/* scontrol top: a job goes before its user's other jobs that wait in the same partition with the
 * same account and QOS. Nobody else is served sooner or later for it.
 *
 * With the multifactor priority it is as in Slurm: the nice value falls by what is missing to the
 * first, and those of the others rise by as much together. An order that looks at limits and widths
 * has no such sum: a nice value that puts a long job before a short one would put it before
 * everybody's. There places change hands: the job takes the place of the first, who takes that of
 * the next, and so on to the one whose place is free now. Being the head of the partition
 * (sched/pass/firsts.h) goes with the place.
 *
 * Where starts are promised to many (promises=aged and all), the promise and not the place says who
 * goes first. So the job takes that of the first, too, if it needs no more than that one: for whom
 * that was is promised another start, behind the rest. What needs more could not have it without
 * moving what others were promised: there the promises stand. So they do with the multifactor
 * priority, where equal jobs of all users are in one line by age. */
#include "core/life/life.h"
#include "core/request/request.h"
#include "model/job/job_counts.h"
#include "model/job/owner.h"

#include <stdlib.h>

#define MOVED_MOST     1000 /* others whose place or nice value changes for one */
#define NICE_MOST      ((INT64_C(1) << 31) - 4)
#define WORK_LOOKED_AT 32 /* of WORK_JOB: one that is looked at, or put in order */

struct stand {
    struct jobrec *r;
    struct order_stand o;
};

typedef VEC(struct stand) stands;

static int by_key(const void *va, const void *vb)
{
    const struct order_stand *a = &((const struct stand *)va)->o,
                             *b = &((const struct stand *)vb)->o;
    if (a->key != b->key)
        return a->key > b->key ? -1 : 1;
    if (a->place.since_us != b->place.since_us)
        return a->place.since_us < b->place.since_us ? -1 : 1;
    if (a->place.submit_us != b->place.submit_us)
        return a->place.submit_us < b->place.submit_us ? -1 : 1;
    return (a->place.job_id > b->place.job_id) - (a->place.job_id < b->place.job_id);
}

static int by_promise(const void *va, const void *vb)
{
    const struct stand *a = va, *b = vb;
    if (a->o.promised_us != b->o.promised_us)
        return a->o.promised_us < b->o.promised_us ? -1 : 1;
    return by_key(a, b);
}

static bool same_queue(const struct jobrec *a, const struct jobrec *b)
{
    const struct job_request *x = &a->j.spec.req, *y = &b->j.spec.req;
    return jobs_are_of_one(&a->j, &b->j) && text_is_nocase(x->partition, y->partition) &&
           text_is(x->account ? x->account : "", y->account ? y->account : "") &&
           text_is(x->qos ? x->qos : "", y->qos ? y->qos : "");
}

static void stands_find(struct core *c, const struct jobrec *of, stands *out)
{
    struct map_walk w = {0};
    while (map_u64_next(c->jobs.by_id, &w)) {
        struct stand one = {.r = w.value};
        if (one.r->waiting && !one.r->j.spec.priority_asked && same_queue(one.r, of) &&
            sched_stand_of(c->cluster, one.r->j.id, c->turn.now_us, &one.o))
            vec_push(out, one);
    }
}

static void moved(struct core *c, struct jobrec *r)
{
    work_add(c, WORK_JOB);
    job_save(c, r);
    eligible_update(c, r);
}

/* Puts them in order, and says where r is and where it is to go, behind those that were moved
 * before. False: it is there. */
static bool is_behind(stands *s, int (*by)(const void *, const void *), const struct jobrec *r,
                      const struct map_u64 *before, size_t *ret_to, size_t *ret_from)
{
    *ret_to = *ret_from = 0;
    if (s->n > 1)
        qsort(s->v, s->n, sizeof s->v[0], by);
    for (size_t i = 0; i < s->n; i++) {
        *ret_from = s->v[i].r == r ? i : *ret_from;
        *ret_to = map_u64_get(before, s->v[i].r->j.id) ? i + 1 : *ret_to;
    }
    return *ret_from > *ret_to && s->v[*ret_from].r == r;
}

static void place_take(struct stand *s, const struct order_stand *of)
{
    s->o.place = of->place;
    s->o.head = of->head;
    s->o.head_us = of->head_us;
}

/* From `to` on each takes the place behind its own, up to the one at `from`, who takes that of
 * `to`. */
static void places_turn(struct core *c, stands *s, size_t to, size_t from)
{
    size_t last = from - to > MOVED_MOST ? to + MOVED_MOST - 1 : from - 1;
    struct order_stand left = s->v[from].o;
    place_take(&s->v[from], &s->v[to].o);
    for (size_t i = to; i <= last; i++)
        place_take(&s->v[i], i == last ? &left : &s->v[i + 1].o);
    for (size_t i = to; i <= last; i++)
        place_give(c, s->v[i].r, &s->v[i].o.place);
    place_give(c, s->v[from].r, &s->v[from].o.place);
    for (size_t i = to; i <= last; i++)
        moved(c, s->v[i].r);
    moved(c, s->v[from].r);
}

static void nice_add(struct jobrec *r, int64_t by)
{
    int64_t nice = r->j.spec.nice + by;
    nice = nice > NICE_MOST ? NICE_MOST : nice < -NICE_MOST ? -NICE_MOST : nice;
    r->j.spec.nice = (int32_t)nice;
}

/* Those behind share what the one at `from` gains, and stand behind it after that. */
static void nice_share(struct core *c, stands *s, size_t to, size_t from)
{
    size_t n = s->n - to - 1 < MOVED_MOST ? s->n - to - 1 : MOVED_MOST, k = 0;
    int64_t top = (int64_t)(s->v[to].o.key / FACTOR_ONE),
            gain = top - (int64_t)(s->v[from].o.key / FACTOR_ONE);
    nice_add(s->v[from].r, -gain);
    for (size_t i = to; i < s->n && k < n; i++) {
        if (i == from)
            continue;
        int64_t priority = (int64_t)(s->v[i].o.key / FACTOR_ONE),
                by = gain / (int64_t)n + ((int64_t)k < gain % (int64_t)n);
        if (priority - by >= top)
            by = priority - top + 1;
        nice_add(s->v[i].r, by);
        k++;
        moved(c, s->v[i].r);
    }
    moved(c, s->v[from].r);
}

/* The same for no longer? */
static bool needs_no_more(const struct jobrec *a, const struct jobrec *b)
{
    struct job_request as = a->j.spec.req;
    int64_t a_us = job_limit_asked(&as), b_us = job_limit_asked(&b->j.spec.req);
    as.time_limit_us = b->j.spec.req.time_limit_us;
    return a_us && b_us && a_us <= b_us && record_equal(&job_request_fields, &as, &b->j.spec.req);
}

/* Components are promised a start together: one alone can neither give that nor have it. */
static void promise_take(struct stand *from, struct stand *to)
{
    if (!to->o.promised_in || from->r->j.het_job_id || to->r->j.het_job_id ||
        !needs_no_more(from->r, to->r))
        return;
    from->o.promised_us = to->o.promised_us;
    from->o.promised_in = to->o.promised_in;
    to->o.promised_us = INT64_MAX;
    to->o.promised_in = 0;
}

static enum refusal refuse(enum refusal refusal, const char *sentence, const char **detail)
{
    *detail = sentence;
    return refusal;
}

static enum refusal state_check(const struct jobrec *r, const char **detail)
{
    if (r->j.state != JOB_PENDING)
        return job_live(r) ? REFUSE_NOT_PENDING : REFUSE_ALREADY_DONE;
    if (r->j.spec.hold)
        return refuse(REFUSE_HELD, "it is held: `scontrol release` lets it start", detail);
    if (r->j.spec.priority_asked)
        return refuse(REFUSE_DISABLED, "an operator gave it a priority, by which it stands",
                      detail);
    if (!r->waiting)
        return refuse(
            REFUSE_DISABLED,
            "it cannot start yet, so it has no place in the order; `remuda why` says what "
            "it waits for, and then it can go to the top",
            detail);
    return REFUSE_NONE;
}

enum refusal job_top(struct core *c, struct jobrec *r, struct map_u64 *before, const char **detail)
{
    ASSERT(job_find(c, r->j.id) == r);
    stands s = {0};
    enum refusal refusal = state_check(r, detail);
    if (refusal)
        return refusal;
    stands_find(c, r, &s);
    work_add(c, (map_u64_count(c->jobs.by_id) + 2 * s.n) * WORK_LOOKED_AT);
    size_t to, from;
    if (is_behind(&s, by_promise, r, before, &to, &from) && cluster_has_places(c->cluster))
        promise_take(&s.v[from], &s.v[to]);
    if (is_behind(&s, by_key, r, before, &to, &from)) {
        if (cluster_has_places(c->cluster))
            places_turn(c, &s, to, from);
        else
            nice_share(c, &s, to, from);
    }
    for (size_t i = 0; i < s.n; i++)
        cluster_stand_anew(c->cluster, s.v[i].r->j.id, &s.v[i].o);
    firsts_store(c);
    map_u64_put(before, r->j.id, r);
    vec_done(&s);
    plan_soon(c);
    return REFUSE_NONE;
}
