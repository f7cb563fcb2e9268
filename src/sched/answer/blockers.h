/* Everything that keeps a waiting job from starting, with counts; who is ahead of it; how sure its
 * planned start is. Worked out when somebody asks. */
#ifndef REMUDA_SCHED_ANSWER_BLOCKERS_H
#define REMUDA_SCHED_ANSWER_BLOCKERS_H

#include "base/arena.h"
#include "base/vec.h"
#include "model/record/why.h"
#include "sched/plan.h"

typedef VEC(struct blocker) blocker_vec;
/* For each partition the job may run in: what it needs, and where the nodes stand. Texts live in
 * the arena; the caller frees the vector. Nothing is added for a job that does not wait. */
void sched_blockers(struct cluster *cl, const struct plan *p, uint64_t job_id, int64_t now_us,
                    struct arena *a, blocker_vec *out);

/* What TimeWindows of a partition the waiting job may run in keep it from now, in a sentence
 * (arena); NULL = nothing. */
const char *sched_hours_bar(struct cluster *cl, uint64_t job_id, int64_t now_us, struct arena *a);

/* The first `max` jobs of the order that come before the job; fewer if fewer do. */
size_t sched_ahead(struct cluster *cl, const struct plan *p, uint64_t job_id, uint64_t *ret,
                   size_t max);

/* Jobs in the order now; an array counts once. */
uint64_t sched_waiting(const struct cluster *cl);

/* How sure the planned start of the last pass is, and that in a sentence (arena); without one, why
 * there is none. */
enum sureness sched_sureness(struct cluster *cl, const struct plan *p, uint64_t job_id,
                             struct arena *a, const char **ret_text);

#endif
