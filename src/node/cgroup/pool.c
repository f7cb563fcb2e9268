/* A place is what a job has: a group in each of the node's, number `group` in all of them. In it
 * are the parts of steps. A place whose steps all handed back to anybody is spare. One that had a
 * step which did not is for its own job alone, for what that did may be charged to the job's group;
 * it goes some seconds after its last step, in which another step of the job may begin. */
#include "node/cgroup/pool.h"

#include "base/alloc.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

struct pool_part {
    int64_t number;
    char *limits; /* as text; NULL = not known */
    bool busy;    /* a step has it: */
    int64_t step_id;
};

struct pool_place {
    int64_t number;
    char *limits;
    int64_t job_id, attempt; /* who has it, or had it */
    VEC(struct pool_part) part;
    int64_t last_part;
    bool marked; /* a step did not hand back, or to its own job only */
    bool old;    /* idle since before the last group_pool_age */
};

struct group_pool {
    VEC(struct pool_place *) place;
    int64_t last;
};

struct group_pool *group_pool_new(int64_t first)
{
    struct group_pool *g = xcalloc(1, sizeof *g);
    g->last = first;
    return g;
}

static void place_free(struct pool_place *p)
{
    for (size_t i = 0; i < p->part.n; i++)
        free(p->part.v[i].limits);
    vec_done(&p->part);
    free(p->limits);
    free(p);
}

void group_pool_free(struct group_pool *g)
{
    if (!g)
        return;
    for (size_t i = 0; i < g->place.n; i++)
        place_free(g->place.v[i]);
    vec_done(&g->place);
    free(g);
}

/* ---- looking ---- */

static size_t busy_parts(const struct pool_place *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->part.n; i++)
        n += p->part.v[i].busy;
    return n;
}

static bool is_idle(const struct pool_place *p)
{
    return busy_parts(p) == 0;
}

static bool is_spare(const struct pool_place *p)
{
    return !p->marked && is_idle(p);
}

static bool is_of(const struct pool_place *p, int64_t job_id, int64_t attempt)
{
    return p->job_id == job_id && p->attempt == attempt;
}

static struct pool_part *part_of(struct pool_place *p, int64_t step_id)
{
    for (size_t i = 0; i < p->part.n; i++)
        if (p->part.v[i].busy && p->part.v[i].step_id == step_id)
            return &p->part.v[i];
    return NULL;
}

static struct pool_part *part_free_of(struct pool_place *p, const char *limits)
{
    for (size_t i = 0; i < p->part.n; i++)
        if (!p->part.v[i].busy && text_is(p->part.v[i].limits, limits))
            return &p->part.v[i];
    return NULL;
}

/* The place of the job; else NULL. */
static struct pool_place *place_of(const struct group_pool *g, int64_t job_id, int64_t attempt)
{
    for (size_t i = 0; i < g->place.n; i++)
        if (is_of(g->place.v[i], job_id, attempt))
            return g->place.v[i];
    return NULL;
}

/* A spare one with those limits, best one that has a part with those of the step. The last that
 * became spare is the first to be used, so that others become old. */
static struct pool_place *place_spare(const struct group_pool *g, const char *job, const char *step)
{
    struct pool_place *found = NULL;
    for (size_t i = g->place.n; i-- > 0;) {
        struct pool_place *p = g->place.v[i];
        if (!is_spare(p) || !text_is(p->limits, job))
            continue;
        if (part_free_of(p, step))
            return p;
        if (!found)
            found = p;
    }
    return found;
}

/* ---- giving ---- */

static char *job_limits(const struct step_plan *p)
{
    return xasprintf("%lld %lld %lld %lld", (long long)p->job_mem_bytes,
                     (long long)p->job_swap_bytes_plus1, (long long)p->swappiness_plus1,
                     (long long)p->pids_max);
}

static char *step_limits(const struct step_plan *p)
{
    return xasprintf("%lld %lld %lld cpus %s deny %s", (long long)p->mem_limit_bytes,
                     (long long)p->swap_bytes_plus1, (long long)p->pids_max,
                     p->cpus ? p->cpus : "-", p->deny ? p->deny : "-");
}

static struct pool_place *place_new(struct group_pool *g, int64_t number)
{
    struct pool_place *p = xcalloc(1, sizeof *p);
    p->number = number;
    vec_push(&g->place, p);
    return p;
}

/* Takes ownership of limits. */
static struct pool_part *part_new(struct pool_place *p, int64_t number, char *limits)
{
    struct pool_part part = {.number = number, .limits = limits};
    vec_push(&p->part, part);
    if (number > p->last_part)
        p->last_part = number;
    return &p->part.v[p->part.n - 1];
}

/* For the plan's step. *ret_ready: nothing has to be set. Takes ownership of both texts. */
static struct pool_part *part_take(struct pool_place *place, char *job, char *step, bool *ret_ready)
{
    bool same = text_is(place->limits, job);
    struct pool_part *part = same ? part_free_of(place, step) : NULL;
    *ret_ready = part != NULL;
    if (part)
        free(step);
    else
        part = part_new(place, place->last_part + 1, step);
    free(place->limits);
    place->limits = job;
    return part;
}

void group_pool_give(struct group_pool *g, struct step_plan *p)
{
    ASSERT(p->job_id);
    bool ready;
    if (text_empty(p->cgroups))
        return;
    struct pool_place *place = place_of(g, p->job_id, p->attempt);
    struct pool_part *part = place ? part_of(place, p->step_id) : NULL;
    if (!part) {
        char *job = job_limits(p), *step = step_limits(p);
        if (!place)
            place = place_spare(g, job, step);
        if (!place)
            place = place_new(g, ++g->last);
        part = part_take(place, job, step, &ready);
        p->group_ready = ready;
        part->busy = true;
        part->step_id = p->step_id;
        place->job_id = p->job_id;
        place->attempt = p->attempt;
        place->old = false;
    }
    p->group = place->number;
    p->group_part = part->number;
}

/* ---- ends ---- */

static void place_drop(struct group_pool *g, size_t i)
{
    place_free(g->place.v[i]);
    vec_remove(&g->place, i);
}

static void spares_bound(struct group_pool *g)
{
    size_t idle = 0;
    for (size_t i = g->place.n; i-- > 0;)
        if (is_idle(g->place.v[i]) && (g->place.v[i]->part.n == 0 || ++idle > GROUP_POOL_SPARES))
            place_drop(g, i);
}

/* The part is as new, to its job at least. */
static void part_back(struct group_pool *g, struct pool_place *p, struct pool_part *part,
                      bool to_any)
{
    part->busy = false;
    /* Without limits: of an earlier daemon, nobody knows for whom they would do. */
    if (!to_any || !part->limits || !p->limits)
        p->marked = true;
    if (is_idle(p))
        spares_bound(g);
}

static void part_learn(struct group_pool *g, const struct note *n)
{
    struct pool_place *p = place_of(g, n->job_id, n->attempt);
    if (!p || p->number != n->group) {
        p = place_new(g, n->group);
        p->job_id = n->job_id;
        p->attempt = n->attempt;
    }
    struct pool_part *part = part_new(p, n->group_part, NULL);
    part->busy = true;
    part->step_id = n->step_id;
    if (g->last < n->group)
        g->last = n->group;
}

void group_pool_note(struct group_pool *g, const struct note *n)
{
    struct pool_place *p = place_of(g, n->job_id, n->attempt);
    struct pool_part *part = p ? part_of(p, n->step_id) : NULL;
    if (n->kind == NOTE_STARTED && n->group && !part)
        part_learn(g, n);
    else if (n->kind == NOTE_EXITED && n->group_back && part && p->number == n->group &&
             part->number == n->group_part)
        part_back(g, p, part, n->group_back >= GROUP_TO_ANY);
}

void group_pool_forget(struct group_pool *g, const struct note *step)
{
    struct pool_place *p = place_of(g, step->job_id, step->attempt);
    struct pool_part *part = p ? part_of(p, step->step_id) : NULL;
    if (!part)
        return;
    free(part->limits);
    vec_remove(&p->part, (size_t)(part - p->part.v));
    p->marked = true;
    spares_bound(g);
}

bool group_pool_find(const struct group_pool *g, const struct note *step, int64_t *ret_group,
                     int64_t *ret_part)
{
    struct pool_place *p = place_of(g, step->job_id, step->attempt);
    const struct pool_part *part = p ? part_of(p, step->step_id) : NULL;
    if (!part)
        return false;
    *ret_group = p->number;
    *ret_part = part->number;
    return true;
}

bool group_pool_has(const struct group_pool *g, int64_t group, int64_t part)
{
    ASSERT(part >= 0);
    for (size_t i = 0; i < g->place.n; i++)
        for (size_t k = 0; g->place.v[i]->number == group && k < g->place.v[i]->part.n; k++)
            if (g->place.v[i]->part.v[k].number == part)
                return true;
    return false;
}

bool group_pool_age(struct group_pool *g, bool all)
{
    bool some = false;
    for (size_t i = g->place.n; i-- > 0;) {
        struct pool_place *p = g->place.v[i];
        if (!is_idle(p))
            continue;
        if (all || p->old)
            place_drop(g, i);
        else
            some = p->old = true;
    }
    return some;
}
