/* The order of waiting work: tier of the partition, then priority, then `order`, then who could run
 * first. */
#ifndef REMUDA_SCHED_PASS_PRIORITY_H
#define REMUDA_SCHED_PASS_PRIORITY_H

#include "model/record/priority.h"
#include "sched/request/demand.h"

/* A factor of 1 in fixed point; priorities are kept with 20 binary places */
#define PRIORITY_ONE FACTOR_ONE

/* Of a partition, in struct waiting.head and oldest. With more than 64 some share one: a job in
 * both then stands first in both. */
static inline uint64_t serve_bit(uint32_t serve)
{
    return UINT64_C(1) << serve % 64;
}

/* Of the partition's CPUs or GPUs, the larger part that the job asks for, in PRIORITY_ONE-ths. */
int64_t part_of_all(const struct cluster *cl, const struct option *o, const struct waiting *w);

/* What an order looks at. */
struct order_job order_job_of(const struct cluster *cl, const struct option *o,
                              const struct waiting *w, int64_t now_us);

/* The priority in fixed point: the multifactor one, or where the chosen order (order.h) puts the
 * job. */
uint64_t priority_of(const struct cluster *cl, const struct option *o, const struct waiting *w,
                     int64_t now_us);
/* The same of a lane's first, where nothing of it is apart and the order is one of places. `like`:
 * what order_job_of says of an equal of it, which gives a limit of asked_us (0 = none). */
uint64_t priority_of_front(const struct cluster *cl, const struct front *f,
                           const struct order_job *like, int64_t asked_us);

#endif
