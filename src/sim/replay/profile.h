/* How many processors of a flat pool are free when: what a conservative plan is made of. Times in
 * seconds. */
#ifndef REMUDA_SIM_PROFILE_H
#define REMUDA_SIM_PROFILE_H

#include "base/vec.h"

#include <stdint.h>

struct slice {
    int64_t from, free; /* until the next slice begins; the last one lasts for ever */
};

struct profile {
    VEC(struct slice) slice;
};

/* `free` processors from then on, for ever */
void profile_init(struct profile *p, int64_t from, int64_t free);
void profile_done(struct profile *p);                   /* the list */
void profile_forget(struct profile *p, int64_t before); /* what is past */
/* Adds `procs` (or takes, if negative) over [from, to). */
void profile_add(struct profile *p, int64_t from, int64_t to, int64_t procs);
/* The first time, at or after `from`, from which `procs` are free for so long. They must be free at
 * last. */
int64_t profile_earliest(const struct profile *p, int64_t from, int64_t procs, int64_t seconds);

#endif
