/* Choosing nodes for one variant of a request, in parts: who could be (place.c), which of them
 * (pick.c), and when at the earliest (earliest.c). Only those three include this. */
#ifndef REMUDA_SCHED_WORLD_PLACING_H
#define REMUDA_SCHED_WORLD_PLACING_H

#include "sched/world/world.h"

struct placing {
    struct world *w;
    const struct to_place *what; /* is to be placed */
    struct variant *v;           /* of what->o: the one that is tried */
    int64_t start_us, end_us;    /* in this time */
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

static inline uint64_t key_clip(int64_t value, uint64_t most)
{
    return value < 0 ? 0 : (uint64_t)value > most ? most : (uint64_t)value;
}

#endif
