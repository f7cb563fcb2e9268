/* Words for demands, used by refusals and explanations. */
#ifndef REMUDA_SCHED_REQUEST_WORDING_H
#define REMUDA_SCHED_REQUEST_WORDING_H

#include "base/str.h"
#include "sched/request/demand.h"

/* "2 nodes with 4 CPUs, 8000 MiB of memory and 2 gpu:v100 each" appended. */
void word_demand(const struct cluster *cl, const struct compiled *c, const struct option *o,
                 const struct variant *v, struct str *out);
/* What comes nearest in the partition: "the nearest are gpu[1-4] with 4 gpu:v100 (8 asked)"
 * appended. */
void word_nearest(const struct cluster *cl, const struct compiled *c, const struct option *o,
                  struct str *out);
/* What an empty node of the group has too little of: " with no gpu:v100 (2 asked)" appended. */
void word_lacks(const struct cluster *cl, const struct compiled *c, const struct option *o,
                const struct group *g, struct str *out);
/* "32 CPUs" / "64000 MiB of memory" / "4 gpu:v100" appended. */
void word_amount(const struct cluster *cl, uint32_t dim, int64_t amount, struct str *out);

#endif
