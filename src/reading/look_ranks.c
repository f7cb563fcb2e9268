/* Ranks of a step beside each other, by their CPU time: one that waits while the others work, one
 * that works while the others wait, and those that are done long before the last. A rank that
 * waits for others within MPI may be as busy as they are: what is told of it is what can be
 * seen. */
#include "base/idset.h"
#include "base/plain.h"
#include "reading/look.h"
#include "reading/say.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

#define AT_WORK       20.0 /* percent of a CPU that the middle rank has at least */
#define LOW_PART      0.5  /* of what the middle one has */
#define AT_WORK_GPUS  50.0 /* where GPUs do the work, CPUs say less */
#define LOW_PART_GPUS 0.2
#define ALONE         50.0
#define ALONE_OTHERS  0.1 /* of what the busiest has */
#define DONE          0.1 /* of its own mean: it is over */
#define EARLY_PERCENT 75  /* of the step's time */
#define LATE_PERCENT  95
#define LONG_MS       INT64_C(60000)
#define STEPS_TOLD    3
#define STEP_PART     10 /* of the longest step's time a step has at least a tenth */

struct rank {
    const struct curve *c;
    double mean;      /* of the step's whole time */
    int64_t until_ms; /* it was at work */
};

typedef VEC(struct rank) rank_vec;

struct step_ranks {
    int64_t step_id, from_ms, to_ms;
    rank_vec v;
    double middle;
};

typedef VEC(struct step_ranks) step_vec;

static int by_step(const void *a, const void *b)
{
    const struct rank *x = a, *y = b;
    int64_t m = x->c->key.step_id, n = y->c->key.step_id;
    return m != n ? (m > n) - (m < n) : (x->c->index > y->c->index) - (x->c->index < y->c->index);
}

static int by_mean(const void *a, const void *b)
{
    const struct rank *x = a, *y = b;
    return (x->mean > y->mean) - (x->mean < y->mean);
}

static int by_end(const void *a, const void *b)
{
    const struct rank *x = a, *y = b;
    return (x->until_ms > y->until_ms) - (x->until_ms < y->until_ms);
}

static void rank_measure(struct rank *r, int64_t from_ms, int64_t to_ms)
{
    ASSERT(r->c->at.n > 0 && from_ms <= to_ms);
    double sum = 0, own;
    for (size_t i = 0; i < r->c->at.n; i++)
        sum += r->c->at.v[i].v;
    own = sum / (double)r->c->at.n;
    r->mean = sum * (double)r->c->gap_ms / (double)(to_ms - from_ms + r->c->gap_ms);
    r->mean = r->mean < own ? r->mean : own;
    r->until_ms = from_ms;
    for (size_t i = 0; i < r->c->at.n; i++)
        if (r->c->at.v[i].v > DONE * own)
            r->until_ms = r->c->at.v[i].at_ms;
}

static void step_measure(struct step_ranks *s)
{
    s->from_ms = INT64_MAX;
    s->to_ms = 0;
    for (size_t i = 0; i < s->v.n; i++) {
        const struct curve *c = s->v.v[i].c;
        int64_t first = c->at.v[0].at_ms, last = c->at.v[c->at.n - 1].at_ms;
        s->from_ms = first < s->from_ms ? first : s->from_ms;
        s->to_ms = last > s->to_ms ? last : s->to_ms;
    }
    for (size_t i = 0; i < s->v.n; i++)
        rank_measure(&s->v.v[i], s->from_ms, s->to_ms);
    qsort(s->v.v, s->v.n, sizeof *s->v.v, by_mean);
    s->middle = s->v.v[s->v.n / 2].mean;
}

/* ---- sentences ---- */

static double mean_of(const struct step_ranks *s, size_t from, size_t to)
{
    double sum = 0;
    for (size_t i = from; i < to; i++)
        sum += s->v.v[i].mean;
    return to > from ? sum / (double)(to - from) : 0;
}

/* "rank 3 of step 0 (gpu7)", "ranks 2,5-7 of step 0" */
static void ranks_add(const struct step_ranks *s, size_t from, size_t to, struct str *text)
{
    struct idset ids = IDSET_INIT;
    for (size_t i = from; i < to; i++)
        idset_add(&ids, s->v.v[i].c->index);
    str_addf(text, "rank%s ", ids.count > 1 ? "s" : "");
    idset_format(&ids, text);
    str_add(text, " of step ");
    step_label(s->step_id, text);
    if (ids.count == 1) {
        str_add(text, " (");
        str_add_plain(text, s->v.v[from].c->key.node);
        str_addc(text, ')');
    }
    idset_done(&ids);
}

static bool low_say(struct look *l, const struct step_ranks *s)
{
    double part = l->gpu.n ? LOW_PART_GPUS : LOW_PART;
    size_t n = s->v.n, low = 0;
    while (low < n && s->v.v[low].mean < part * s->middle)
        low++;
    if (!low || s->middle < (l->gpu.n ? AT_WORK_GPUS : AT_WORK))
        return false;
    struct str text = STR_INIT, next = STR_INIT;
    ranks_add(s, 0, low, &text);
    str_addf(&text, " used %.0f %% of a CPU in the mean, the %s%.0f %%", mean_of(s, 0, low),
             n - low > 1 ? "others " : "other ", mean_of(s, low, n));
    str_addf(&next,
             "%s for data, disks or a lock, or %s less to do: share the work evenly, and see what "
             "%s read",
             low > 1 ? "they wait" : "it waits", low > 1 ? "have" : "has",
             low > 1 ? "they" : "it has to");
    say_found(l, FOUND_RANKS_UNEVEN, &text, &next);
    return true;
}

static bool alone_say(struct look *l, const struct step_ranks *s)
{
    size_t n = s->v.n;
    double most = s->v.v[n - 1].mean, others = s->v.v[n - 2].mean;
    if (l->gpu.n || most < ALONE || others > ALONE_OTHERS * most)
        return false;
    struct str text = STR_INIT, next = STR_INIT;
    str_addf(&text, "of %zu ranks one alone was at work, ", n);
    ranks_add(s, n - 1, n, &text);
    str_addf(&text, ": %.0f %% of a CPU, the %s %.0f %%", most, n > 2 ? "others" : "other",
             mean_of(s, 0, n - 1));
    str_add(&next, "what it does alone (reading, merging, writing) keeps the others waiting: do it "
                   "in a step of one task, or share it");
    say_found(l, FOUND_RANKS_UNEVEN, &text, &next);
    return true;
}

static bool early_say(struct look *l, struct step_ranks *s)
{
    int64_t whole = s->to_ms - s->from_ms;
    size_t n = s->v.n;
    rank_vec v = {xmemdup(s->v.v, n * sizeof *s->v.v), n, n};
    qsort(v.v, n, sizeof *v.v, by_end);
    const struct rank *half = &v.v[(n - 1) / 2], *last = &v.v[n - 1];
    bool is = whole >= LONG_MS && s->v.v[0].mean > 0 &&
              (half->until_ms - s->from_ms) * 100 < whole * EARLY_PERCENT &&
              (last->until_ms - s->from_ms) * 100 >= whole * LATE_PERCENT;
    if (is) {
        struct str text = STR_INIT, next = STR_INIT;
        str_addf(&text, "half of the %zu ranks of step ", n);
        step_label(s->step_id, &text);
        str_add(&text, " were done after ");
        say_span(half->until_ms - s->from_ms, &text);
        str_addf(&text, ", the last, rank %u, after ", last->c->index);
        say_span(last->until_ms - s->from_ms, &text);
        str_add(&next, "share the work in smaller pieces, the longest first, so that all end "
                       "together (or as an array, whose elements give their CPUs back)");
        say_found(l, FOUND_RANKS_UNEVEN, &text, &next);
    }
    vec_done(&v);
    return is;
}

/* ---- steps ---- */

static int by_length(const void *a, const void *b)
{
    const struct step_ranks *x = a, *y = b;
    int64_t m = x->to_ms - x->from_ms, n = y->to_ms - y->from_ms;
    return m != n ? (m < n) - (m > n) : (x->step_id > y->step_id) - (x->step_id < y->step_id);
}

static void step_take(const rank_vec *all, size_t from, size_t to, step_vec *ret)
{
    struct step_ranks s = {.step_id = all->v[from].c->key.step_id};
    for (size_t i = from; i < to; i++)
        vec_push(&s.v, all->v[i]);
    step_measure(&s);
    if (s.v.n >= 2 && s.to_ms > s.from_ms)
        vec_push(ret, s);
    else
        vec_done(&s.v);
}

static bool step_say(struct look *l, struct step_ranks *s)
{
    return early_say(l, s) || alone_say(l, s) || low_say(l, s);
}

/* Of many steps that are alike three sentences are enough; what a short one does costs little. */
static void steps_say(struct look *l, step_vec *step)
{
    size_t said = 0;
    if (step->n)
        qsort(step->v, step->n, sizeof *step->v, by_length);
    for (size_t i = 0; i < step->n && said < STEPS_TOLD; i++)
        if ((step->v[i].to_ms - step->v[i].from_ms) * STEP_PART >=
            step->v[0].to_ms - step->v[0].from_ms)
            said += step_say(l, &step->v[i]);
}

static bool was_said(const struct look *l)
{
    for (size_t i = 0; i < l->to->found.n; i++)
        if (l->to->found.v[i].kind == FOUND_GPU_UNEVEN ||
            l->to->found.v[i].kind == FOUND_NODES_UNEVEN)
            return true;
    return false;
}

void look_ranks(struct look *l)
{
    rank_vec all = {0};
    step_vec step = {0};
    for (size_t i = 0; i < l->curves->v.n; i++) {
        const struct curve *c = l->curves->v.v[i];
        if (c->value->id == SERIES_TASK_CPU && c->at.n >= READING_SAMPLES)
            vec_push(&all, ((struct rank){.c = c}));
    }
    if (all.n)
        qsort(all.v, all.n, sizeof *all.v, by_step);
    for (size_t i = 0, k; i < all.n; i = k) {
        for (k = i; k < all.n && all.v[k].c->key.step_id == all.v[i].c->key.step_id; k++)
            continue;
        step_take(&all, i, k, &step);
    }
    if (!was_said(l))
        steps_say(l, &step);
    for (size_t i = 0; i < step.n; i++)
        vec_done(&step.v[i].v);
    vec_done(&step);
    vec_done(&all);
}
