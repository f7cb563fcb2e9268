/* Choosing nodes for one variant of a request, in parts: who could be (place.c), which of them
 * (pick.c), what each must hold (share.c), and when at the earliest (earliest.c). */
#ifndef REMUDA_SCHED_WORLD_PLACING_H
#define REMUDA_SCHED_WORLD_PLACING_H

#include "sched/world/world.h"

struct placing {
    struct world *w;
    const struct to_place *what; /* is to be placed */
    struct variant *v;           /* of what->o: the one that is tried */
    int32_t hours_nmax;          /* nodes at most: as v says, and hours of the partition */
    int32_t nmax;                /* the same, or as many as one job may have */
    int64_t start_us, end_us;    /* in this time */
    /* While one node is looked at (earliest.c): it gives so much, for so many units, or nothing.
     * NULL = more or less of them */
    const struct take *whole;
    int32_t whole_units;
    /* Nodes that must come free before the variant can start, at least; 0 = not known */
    uint64_t lacks;
    const struct lic_use *capped; /* the cap that did not allow it; NULL = none */
    int64_t takes;                /* that much of it */
    /* Bitmap of nodes that are preferred, or the only ones (cap_nodes.h); NULL = none are */
    const uint64_t *near;
    bool near_only; /* where switches are insisted on */
};

/* Fills world.scratch.key and .cap with the nodes that could take something from start_us to
 * end_us. */
void placing_candidates(struct placing *p);
/* Chooses among world.scratch.key: fills .pick. False if they do not do. */
bool placing_pick(struct placing *p);
/* All licences it asks for, during the whole of its time. */
bool placing_licences_free(struct placing *p);
/* Candidates, choice, and what each node gets, within what caps allow it there:
 * placing_licences_free asked only about the least. False: there is no such place, or a cap
 * (p->capped) does not allow one. */
bool placing_find(struct placing *p, struct placement *ret);

/* share.c: */
/* The most units that any node of the variant holds, if that is easily said; else what the layout
 * allows. */
int32_t placing_share_most(const struct placing *p);
/* So many a node must hold to be of use: what all the others it can be with do not. */
int32_t placing_share_least(const struct placing *p);
/* What so many units take on the node, in `own` if nobody else has it; NULL if it could not hold
 * them if it were empty. */
const struct take *placing_take(const struct placing *p, uint32_t node, int32_t units,
                                struct take *own);
/* What the node must hold if it is the only one. */
int32_t placing_units_alone(const struct placing *p);
/* There is one node only, with many promises, and nothing but what is free on it decides: then its
 * outlook tells all that there is to know about times and places. */
bool placing_alone(const struct placing *p);
/* Of nodes 64 × word … 64 × word + 63, those that it may go to. */
uint64_t placing_allowed(const struct placing *p, size_t word);
/* Can the pieces of p->v go nowhere but as the even layout `even` goes, which was tried? So it is
 * where nodes are full with an even share: then all of this was asked before. */
bool placing_only_even(const struct placing *p, struct variant *even);

static inline uint64_t key_clip(int64_t value, uint64_t most)
{
    return value < 0 ? 0 : (uint64_t)value > most ? most : (uint64_t)value;
}

#endif
