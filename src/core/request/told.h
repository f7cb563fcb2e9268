/* What comes of a request about many jobs: how many it reached, and of the others why not. Only
 * core/request includes this. */
#ifndef REMUDA_CORE_REQUEST_TOLD_H
#define REMUDA_CORE_REQUEST_TOLD_H

#include "core/record/state.h"

struct told {
    VEC(struct result) result;
    uint64_t done;
    size_t said; /* bytes of their sentences and of their elements */
    /* of the reference at hand, if it means many jobs */
    size_t from;               /* results from there on are about it */
    VEC(struct idset) element; /* which elements of the array each of them is about */
    uint64_t done_before;
};

/* The next reference is at hand. */
void told_begin(struct told *t);
/* Of one job; `ref` is kept, `detail` (NULL = none) is copied into the arena. What is said of all
 * has a bound: beyond it results have no sentence, and beyond as many as a message holds there are
 * no more. */
void told_add(struct told *t, struct arena *a, const char *ref, enum refusal refusal,
              const char *detail);
/* Of one of the many that the reference at hand means: each reason is told once. */
void told_join(struct told *t, struct arena *a, const char *ref, const struct jobrec *r,
               enum refusal refusal, const char *detail);
/* Of one of the many jobs of the name at hand: each reason is told once, whatever was told of
 * references before it. */
void told_once(struct told *t, struct arena *a, const char *name, enum refusal refusal,
               const char *detail);
/* The reference is done with. Elements that are over already are no failure where it reached
 * another. */
void told_settle(struct told *t, struct arena *a, enum message_kind kind);
void told_done(struct told *t); /* frees what it holds; texts are the arena's */

#endif
