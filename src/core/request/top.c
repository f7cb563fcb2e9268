/* scontrol top: a job goes before its user's other jobs that wait in the same partition with the
 * same account and QOS. Nobody else is served sooner or later for it.
 *
 * With the multifactor priority it is as in Slurm: the nice value falls by what is missing to the
 * first, and those of the others rise by as much together. An order that looks at limits and widths
 * has no such sum: a nice value that puts a long job before a short one would put it before
 * everybody's. There places change hands: the job takes the place of the first, who takes that of
 * the next, and so on to the one whose place is free now. */
#include "core/request/request.h"

#include <stdlib.h>

#define MOVED_MOST 1000 /* others whose place or nice value changes for one */
#define NICE_MOST  ((INT64_C(1) << 31) - 4)

struct stand {
    struct jobrec *r;
    struct order_place place;
    uint64_t key;
};

typedef VEC(struct stand) stands;

static int by_stand(const void *va, const void *vb)
{
    const struct stand *a = va, *b = vb;
    if (a->key != b->key)
        return a->key > b->key ? -1 : 1;
    if (a->place.since_us != b->place.since_us)
        return a->place.since_us < b->place.since_us ? -1 : 1;
    if (a->place.submit_us != b->place.submit_us)
        return a->place.submit_us < b->place.submit_us ? -1 : 1;
    return (a->place.job_id > b->place.job_id) - (a->place.job_id < b->place.job_id);
}

static bool same_queue(const struct jobrec *a, const struct jobrec *b)
{
    const struct job_request *x = &a->j.spec.req, *y = &b->j.spec.req;
    return a->j.user_id == b->j.user_id && text_is_nocase(x->partition, y->partition) &&
           text_is(x->account ? x->account : "", y->account ? y->account : "") &&
           text_is(x->qos ? x->qos : "", y->qos ? y->qos : "");
}

/* In the order in which they stand. */
static void stands_find(struct core *c, const struct jobrec *of, stands *out)
{
    struct map_walk w = {0};
    while (map_u64_next(c->jobs.by_id, &w)) {
        struct stand one = {.r = w.value};
        if (one.r->waiting && !one.r->j.spec.priority_asked && same_queue(one.r, of) &&
            sched_place_of(c->cluster, one.r->j.id, c->turn.now_us, &one.place, &one.key))
            vec_push(out, one);
    }
    if (out->n > 1)
        qsort(out->v, out->n, sizeof out->v[0], by_stand);
}

static bool listed(const top_list *list, uint64_t id)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->v[i] == id)
            return true;
    return false;
}

static void moved(struct core *c, struct jobrec *r)
{
    job_save(c, r);
    eligible_update(c, r);
}

/* From `to` on each takes the place behind its own, up to the one at `from`, who takes that of
 * `to`. */
static void places_turn(struct core *c, stands *s, size_t to, size_t from)
{
    size_t last = from - to > MOVED_MOST ? to + MOVED_MOST - 1 : from - 1;
    struct order_place left = s->v[from].place;
    place_give(c, s->v[from].r, &s->v[to].place);
    for (size_t i = to; i <= last; i++)
        place_give(c, s->v[i].r, i == last ? &left : &s->v[i + 1].place);
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
    int64_t top = (int64_t)(s->v[to].key / FACTOR_ONE),
            gain = top - (int64_t)(s->v[from].key / FACTOR_ONE);
    nice_add(s->v[from].r, -gain);
    for (size_t i = to; i < s->n && k < n; i++) {
        if (i == from)
            continue;
        int64_t priority = (int64_t)(s->v[i].key / FACTOR_ONE),
                by = gain / (int64_t)n + ((int64_t)k < gain % (int64_t)n);
        if (priority - by >= top)
            by = priority - top + 1;
        nice_add(s->v[i].r, by);
        k++;
        moved(c, s->v[i].r);
    }
    moved(c, s->v[from].r);
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

enum refusal job_top(struct core *c, struct jobrec *r, top_list *before, const char **detail)
{
    ASSERT(job_find(c, r->j.id) == r);
    stands s = {0};
    enum refusal refusal = state_check(r, detail);
    if (refusal)
        return refusal;
    stands_find(c, r, &s);
    size_t to = 0, from = 0;
    for (size_t i = 0; i < s.n; i++) {
        from = s.v[i].r == r ? i : from;
        to = listed(before, s.v[i].r->j.id) ? i + 1 : to;
    }
    if (s.n && s.v[from].r == r && from > to && cluster_has_places(c->cluster))
        places_turn(c, &s, to, from);
    else if (s.n && s.v[from].r == r && from > to)
        nice_share(c, &s, to, from);
    vec_push(before, r->j.id);
    vec_done(&s);
    plan_soon(c);
    return REFUSE_NONE;
}
