/* Components of a heterogeneous job beside each other in the world of a pass. */
#ifndef REMUDA_SCHED_PASS_TOGETHER_H
#define REMUDA_SCHED_PASS_TOGETHER_H

#include "sched/pass/pass.h"

/* The components of a job that are in the world: the first n in the order of het.job. */
struct beside {
    struct pass *p;
    struct het *h;
    int64_t at_us;       /* when they start; now, unless it is a promise */
    bool promise;        /* kept for them then, and not work that begins */
    uint32_t part;       /* of the promise: number of the partition it serves */
    bool extra, awaited; /* … as in struct promised; who is awaited is promised anew each time */
    size_t n;            /* components that are in the world */
    uint32_t *world_job; /* theirs in the agenda */
    struct option **o;   /* theirs, of those that have begun */
    /* Of the search; bitmaps of nodes, one a component */
    uint64_t *barred;  /* where it must not go; NULL = none was looked for yet */
    uint64_t *shunned; /* what others would take */
    uint64_t *alone;   /* where it would go if the others were not */
    uint64_t *detour;  /* of the one that is being placed */
    int left;          /* places that may be asked yet */
    size_t failed;     /* the one that did not fit last */
};

/* None of them is in the world yet; to be ended with together_done. promise: kept for them from
 * at_us on, counted for the partition of that number. */
struct beside together_new(struct pass *p, struct het *h, int64_t at_us, bool promise,
                           uint32_t part);
/* Frees what it took to search; what is in the world stays. */
void together_done(struct beside *t);
/* The next component goes into the world, where p->at says. False: single CPUs or devices are not
 * to be had on p->refused_node. */
bool together_put(struct beside *t, struct option *o);
/* The same, where it fits beside those that are there. False: nowhere. */
bool together_next(struct beside *t);
/* All of them, none being there yet, where they were promised their start. False: they were not, or
 * it is no longer to be had; then none is in the world. */
bool together_again(struct beside *t);
/* Takes out again all but the first n. */
void together_back(struct beside *t, size_t n);
/* Looks for places for all of them, none being there yet: where one takes what another cannot do
 * without, it goes elsewhere. True: all are in the world; false: none is. *places: so many are
 * asked for components that others must fit beside; it goes down. het.job is in another order
 * afterwards. */
bool together_search(struct beside *t, int *places);
/* Does one of the first n ask for something else than the others? If not, their order is all the
 * same. */
bool together_differ(const struct het *h, size_t n);

#endif
