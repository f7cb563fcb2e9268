/* Devices that are out of use and in a job's way. */
#ifndef REMUDA_SCHED_ANSWER_OUTS_H
#define REMUDA_SCHED_ANSWER_OUTS_H

#include "base/arena.h"
#include "model/env/device_out.h"
#include "sched/request/demand.h"

/* Devices of the node that the job would take, and that nobody has and nobody may have. */
struct outs {
    const struct device_out **v;
    size_t n;    /* the cluster's own */
    bool enough; /* with them the node would do */
};

/* Of what `t` takes there; all lives in the arena. */
struct outs outs_in_the_way(const struct cluster *cl, const struct snode *n, const struct take *t,
                            struct arena *a);

/* The first of the option that may go on nodes of the group; NULL = none may. An option whose
 * partition could not hold the job at all has none to begin with (option.wish). */
struct variant *variant_on(const struct option *o, const struct group *g);

#endif
