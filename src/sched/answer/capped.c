#include "sched/answer/capped.h"

#include "base/alloc.h"
#include "sched/books/limits/caps.h"

#include <stdlib.h>

#define JOBS_SAID 8

struct capped_user {
    const struct run *run;
    int64_t has;
};

bool capped_by(const struct cluster *cl, const struct class_note *note, const struct lic_use *use,
               int64_t now_us, int64_t *takes)
{
    ASSERT(use->lic < cl->lic.n);
    bool noted = note && note->capped == use->lic + 1;
    *takes = use->count;
    if (noted && (note->takes > use->count || cap_counts_nodes(&cl->lic.v[use->lic])))
        *takes = note->takes;
    struct lic_use asks = *use;
    asks.count = *takes;
    return !use_has_room(cl, &asks, now_us);
}

static int by_amount(const void *a, const void *b)
{
    const struct capped_user *x = a, *y = b;
    if (x->has != y->has)
        return x->has > y->has ? -1 : 1;
    return (x->run->job_id > y->run->job_id) - (x->run->job_id < y->run->job_id);
}

static int by_end(const void *a, const void *b)
{
    const struct run *x = ((const struct capped_user *)a)->run,
                     *y = ((const struct capped_user *)b)->run;
    return (x->end_us > y->end_us) - (x->end_us < y->end_us);
}

static void jobs_say(const struct capped_user *v, size_t n, struct arena *a, struct blocker *b)
{
    struct str jobs = STR_INIT;
    for (size_t i = 0; i < n && i < JOBS_SAID; i++)
        str_addf(&jobs, "%s%llu", i ? "," : "", (unsigned long long)v[i].run->job_id);
    b->jobs = n ? arena_strdup(a, str_text(&jobs)) : NULL;
    b->jobs_more = n > JOBS_SAID ? (int32_t)(n - JOBS_SAID) : 0;
    str_done(&jobs);
}

/* Ends in this order leave room for so much with the run that is returned; NULL = none does. */
static const struct run *room_with(const struct cluster *cl, const struct lic_use *use,
                                   int64_t takes, const struct capped_user *v, size_t n)
{
    const struct licence *l = &cl->lic.v[use->lic];
    int64_t left = l->total + use->slack - l->used;
    uint32_t *jobs = cap_counts_nodes(l) ? xcalloc(cl->node.n + 1, sizeof jobs[0]) : NULL;
    const struct run *with = NULL;
    if (jobs)
        left = l->total + use->slack - cap_in_use(cl, use->lic);
    for (size_t i = 0; i < n && jobs; i++)
        for (size_t k = 0; k < v[i].run->nholds; k++)
            jobs[v[i].run->hold[k].node->idx] += !v[i].run->hold[k].released;
    for (size_t i = 0; i < n && !with; i++) {
        int64_t before = left;
        left += jobs ? 0 : v[i].has;
        for (size_t k = 0; jobs && k < v[i].run->nholds; k++)
            if (!v[i].run->hold[k].released && --jobs[v[i].run->hold[k].node->idx] == 0)
                left++;
        with = before < takes && left >= takes ? v[i].run : NULL;
    }
    free(jobs);
    return with;
}

void capped_users(const struct cluster *cl, const struct lic_use *use, int64_t takes,
                  int64_t now_us, struct arena *a, struct blocker *b)
{
    ASSERT(is_cap(&cl->lic.v[use->lic]));
    VEC(struct capped_user) v = {0};
    for (size_t i = 0; i < cl->run.n; i++) {
        const struct run *r = cl->run.v[i];
        for (size_t k = 0; k < r->ncap; k++)
            if (r->cap[k].lic == use->lic && r->cap[k].count > 0)
                vec_push(&v, ((struct capped_user){r, r->cap[k].count}));
    }
    if (v.n)
        qsort(v.v, v.n, sizeof v.v[0], by_amount);
    jobs_say(v.v, v.n, a, b);
    if (v.n)
        qsort(v.v, v.n, sizeof v.v[0], by_end);
    const struct run *with = room_with(cl, use, takes, v.v, v.n);
    if (with && with->end_us != TIME_UNLIMITED)
        b->first_us = with->end_us > now_us ? with->end_us : now_us;
    vec_done(&v);
}
