/* The smallest changes of a request with which a waiting job would start sooner, each tried by
 * planning it. */
#ifndef REMUDA_SCHED_ANSWER_ADVICE_H
#define REMUDA_SCHED_ANSWER_ADVICE_H

#include "base/arena.h"
#include "base/vec.h"
#include "sched/plan.h"

struct advice {
    const char *option; /* as sbatch takes it: "--time=3:40:00" */
    /* As `scontrol update job N …` takes it; NULL = only by submitting it anew */
    const char *update;
    struct job_request req; /* the whole request, changed so */
    int64_t start_us;       /* when it would start: now, or as planned */
    /* Jobs that would have to give way, in words, and then it starts; NULL = none */
    const char *stops;
};

struct advices {
    /* Those that start now first, in the order in which people would try them */
    VEC(struct advice) v;
    bool cut; /* not everything could be tried within the bound */
    /* Planned start as the job is, worked out now; INT64_MAX = none is known */
    int64_t start_us;
    uint64_t cost; /* counted work, in units of about 5 ns */
};

/* A good bound for a controller that serves others: some 60 ms */
#define ADVICE_COST       UINT64_C(8000000)
#define ADVICE_COST_HURRY (ADVICE_COST / 16) /* where others wait for it at this moment */

/* Tries changes of the waiting job until counted work of cost_max is spent. user_groups: of its
 * owner, NULL = not known. Texts live in the arena. Of a job that does not wait nothing is known;
 * of a component of a heterogeneous job, only what `scontrol update` can change is tried. An advice
 * keeps the job's place in the order when it can be followed by `scontrol update`; else it was
 * tried as a job that is submitted now. The caller frees with advices_done. */
void sched_advise(struct cluster *cl, const struct plan *p, uint64_t job_id,
                  const char *user_groups, int64_t now_us, uint64_t cost_max, struct arena *a,
                  struct advices *ret);
void advices_done(struct advices *v); /* the list; texts are the arena's */

#endif
