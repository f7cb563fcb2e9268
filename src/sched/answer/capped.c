#include "sched/answer/capped.h"

#include "base/alloc.h"
#include "sched/books/caps.h"

#include <stdlib.h>

#define JOBS_SAID 8

struct user {
    const struct run *run;
    int64_t has;
};

bool capped_by(const struct cluster *cl, const struct class_note *note, const struct lic_use *use,
               int64_t now_us, int64_t *takes)
{
    *takes = use->count;
    if (note && note->capped == use->lic + 1 && note->takes > use->count)
        *takes = note->takes;
    struct lic_use asks = *use;
    asks.count = *takes;
    return !use_has_room(cl, &asks, now_us);
}

static int by_amount(const void *a, const void *b)
{
    const struct user *x = a, *y = b;
    if (x->has != y->has)
        return x->has > y->has ? -1 : 1;
    return (x->run->job_id > y->run->job_id) - (x->run->job_id < y->run->job_id);
}

static int by_end(const void *a, const void *b)
{
    const struct run *x = ((const struct user *)a)->run, *y = ((const struct user *)b)->run;
    return (x->end_us > y->end_us) - (x->end_us < y->end_us);
}

static void jobs_say(const struct user *v, size_t n, struct arena *a, struct blocker *b)
{
    struct str jobs = STR_INIT;
    for (size_t i = 0; i < n && i < JOBS_SAID; i++)
        str_addf(&jobs, "%s%llu", i ? "," : "", (unsigned long long)v[i].run->job_id);
    b->jobs = n ? arena_strdup(a, str_text(&jobs)) : NULL;
    b->jobs_more = n > JOBS_SAID ? (int32_t)(n - JOBS_SAID) : 0;
    str_done(&jobs);
}

void capped_users(const struct cluster *cl, const struct lic_use *use, int64_t takes,
                  int64_t now_us, struct arena *a, struct blocker *b)
{
    const struct licence *l = &cl->lic.v[use->lic];
    VEC(struct user) v = {0};
    for (size_t i = 0; i < cl->run.n; i++) {
        const struct run *r = cl->run.v[i];
        for (size_t k = 0; k < r->ncap; k++)
            if (r->cap[k].lic == use->lic && r->cap[k].count > 0)
                vec_push(&v, ((struct user){r, r->cap[k].count}));
    }
    if (v.n)
        qsort(v.v, v.n, sizeof v.v[0], by_amount);
    jobs_say(v.v, v.n, a, b);
    int64_t left = l->total + use->slack - l->used;
    if (v.n)
        qsort(v.v, v.n, sizeof v.v[0], by_end);
    for (size_t i = 0; i < v.n && left < takes; i++) {
        left += v.v[i].has;
        int64_t end_us = v.v[i].run->end_us > now_us ? v.v[i].run->end_us : now_us;
        b->first_us = left >= takes && v.v[i].run->end_us != TIME_UNLIMITED ? end_us : 0;
    }
    vec_done(&v);
}
