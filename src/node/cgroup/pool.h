/* Which control groups the steps of this node have. Groups that a step handed back are given to
 * another with the very same limits and devices, so that nothing has to be set, and nothing of the
 * former can still hold: of the same job, or of another once no step of the former is in them and
 * nothing is charged to them.
 *
 * Known in the daemon alone; its successor learns from the notes of the steps which are in use, and
 * removes the others. */
#ifndef REMUDA_NODE_CGROUP_POOL_H
#define REMUDA_NODE_CGROUP_POOL_H

#include "agent/note.h"
#include "node/step/plan.h"

#include <stdbool.h>
#include <stdint.h>

/* jobs' groups that wait for a job, or for their own job's next step, at most */
#define GROUP_POOL_SPARES 32

struct group_pool; /* opaque */

/* first: numbers begin after it. They must be none that groups of an earlier daemon may have: the
 * time in seconds is a good one. */
struct group_pool *group_pool_new(int64_t first);
void group_pool_free(struct group_pool *g); /* what it knows, no group; NULL is allowed */
/* Fills p->group, group_part and group_ready; nothing where the node has no groups. The same step
 * gets the same again. */
void group_pool_give(struct group_pool *g, struct step_plan *p);
/* A note of a step: one that was not known has groups; one that ended may have handed them back. */
void group_pool_note(struct group_pool *g, const struct note *n);
/* The step is over and forgotten. */
void group_pool_forget(struct group_pool *g, const struct note *step);
/* The numbers of the step's groups; false if it is not known. */
bool group_pool_find(const struct group_pool *g, const struct note *step, int64_t *ret_group,
                     int64_t *ret_part);
/* Are these in use, or kept for use? */
bool group_pool_has(const struct group_pool *g, int64_t group, int64_t part);
/* Lets go of those that waited since the call before, or all. True if some still wait. */
bool group_pool_age(struct group_pool *g, bool all);

#endif
