/* How the tasks of a step are dealt out to the chosen nodes. Private to step/layout.c. */
#ifndef REMUDA_CORE_STEP_DEAL_H
#define REMUDA_CORE_STEP_DEAL_H

#include "core/step/layout.h"

/* A layout in the making; arrays have an entry for each node. */
struct dealing {
    const struct step_want *w;    /* what the step wants */
    const struct step_room *room; /* what each node of the job has left */
    size_t n;                     /* nodes */
    struct arena *a;
    int32_t *cap;                   /* tasks a node can take; INT32_MAX = any */
    int32_t *tasks;                 /* it gets */
    bool *chosen;                   /* by node */
    enum refusal cause;             /* what keeps a cap down */
    int64_t cause_has, cause_wants; /* of what there is too little, for the sentence */
    struct str *detail;             /* appended to; may be NULL */
};

/* Deals all tasks out within the caps, which have room for them; ids[i] are those of node i. */
void step_deal(struct dealing *d, struct idset *ids);
/* SPREAD_ARBITRARY: the nodes are told. Marks them as chosen; true if each has room for what it is
 * to run. */
bool step_told_fits(struct dealing *d);

#endif
