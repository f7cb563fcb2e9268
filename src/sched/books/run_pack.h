/* What a run gives back when it ends, in the form that a pass begins with. */
#ifndef REMUDA_SCHED_BOOKS_RUN_PACK_H
#define REMUDA_SCHED_BOOKS_RUN_PACK_H

#include "sched/books/state.h"

struct pack_take {
    uint32_t node;  /* licences are numbered behind the nodes */
    uint32_t first; /* amounts: run_pack.use[first … first+n) */
    uint16_t n;
    uint16_t cpus; /* of `n`, the first: what is free while it is suspended */
};
struct run_pack {
    uint64_t version;           /* of the configuration it was made for; 0 = it must be made anew */
    uint32_t part;              /* place of its partition, plus 1; 0 = not known */
    VEC(struct pack_take) take; /* node by node */
    VEC(struct use) use;        /* of all of them, one behind the other */
};

/* Made when it is not there or no longer right; good until the cluster changes. */
const struct run_pack *run_pack_of(const struct cluster *cl, struct run *r);
void run_pack_drop(struct run *r); /* it is no longer right */
void run_pack_free(struct run *r); /* nothing where it is not packed */

#endif
