/* Inside of preemption; only its files include this. victims.c: who may stop whom.
 * lift.c: what would be without them. hopeless.c: whether that could help. choose.c: which of them,
 * as few and as cheap as possible. preempt.c: in the order of the pass. keep_out.c: who does not
 * begin meanwhile. */
#ifndef REMUDA_SCHED_PASS_PREEMPT_INSIDE_H
#define REMUDA_SCHED_PASS_PREEMPT_INSIDE_H

#include "sched/pass/pass.h"

struct victim {
    struct run *run;
    enum preempt_mode mode;
    int64_t lost; /* CPU seconds; with youngest_first seconds */
    int64_t cpus; /* that come free with it */
};
typedef VEC(struct victim) victims;

/* Who wants room: a job, or all components of a heterogeneous one, which start together. */
struct asker {
    struct pass *p;
    const struct entry *e; /* for whom room is made */
    const struct het *het; /* NULL = a job of one piece */
    u32_vec at;            /* nodes of the last placement that was tried */
};
static inline uint64_t asker_id(const struct asker *a)
{
    return a->het ? a->het->id : a->e->job->w.job_id;
}

/* ---- victims.c ---- */
/* NULL = gone */
const struct partition *run_partition(const struct cluster *cl, const struct run *r);
/* How long it is warned before it is ended. */
int64_t run_grace_us(const struct cluster *cl, const struct run *r);
bool preempt_asks(const struct asker *a); /* could it ever stop others? */
/* All that could go now, the least loss first. */
void victims_collect(const struct asker *a, victims *v);

/* ---- lift.c ---- */
void lift(struct pass *p, struct victim *v);
/* The victim has again what it had: it was lifted only to see whether that helps. */
void put_back(struct pass *p, struct victim *v);
void put_back_all(struct pass *p, victims *v); /* they stay: their room is theirs again */
/* Could it start now, with devices and sockets looked at? Fills a->at. */
bool asker_fits(struct asker *a);
/* Makes it so, by counts, for the rest of the pass. */
void asker_begin(struct asker *a);
/* Could it start at that time, by counts? */
bool asker_fits_at(struct asker *a, int64_t at_us);

/* ---- hopeless.c ---- */
/* Could it start if all of these went, as far as sums tell? There is one at least; nobody is
 * lifted. */
bool victims_could_do(const struct asker *a, const victims *v);

/* ---- choose.c ---- */
bool victims_choose(struct asker *a, victims *chosen);

#endif
