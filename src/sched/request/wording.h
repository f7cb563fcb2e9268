/* Words for demands, used by refusals and explanations. */
#ifndef REMUDA_SCHED_REQUEST_WORDING_H
#define REMUDA_SCHED_REQUEST_WORDING_H

#include "base/str.h"
#include "sched/request/demand.h"

/* Memory that no option asks for and that comes with the CPUs is said where it may be what is in
 * the way, and not where it is told what was asked. */
enum word_memory { MEMORY_ASKED, MEMORY_ALL };

/* "2 nodes with 4 CPUs, 8000 MiB of memory and 2 gpu:v100 each", "16 tasks on 1 to 16 nodes, each
 * with 1 CPU" appended. Types of resources are said where they were asked for. */
void word_demand(const struct cluster *cl, const struct compiled *c, const struct option *o,
                 const struct variant *v, enum word_memory memory, struct str *out);
/* Where the nodes that hold a piece of it are too few: " has room for 8 of them: 4 such nodes with
 * 64 CPUs and 8 gpu:a100 in all" appended. `v` as demand_roomiest gives it. */
void word_room(const struct cluster *cl, const struct compiled *c, const struct option *o,
               const struct variant *v, const struct demand_room *room, struct str *out);
/* Where nodes with another type of its first resource do not add to the room: " (all gpu of a job
 * are of one type)" appended. */
void word_one_type(const struct cluster *cl, const struct compiled *c, const struct variant *v,
                   struct str *out);
/* What comes nearest in the partition: "the nearest are gpu[1-4] with 4 gpu:v100 (8 asked)"
 * appended; of nodes that --nodelist names and that have too little: "the one asked for is gpu1
 * …". */
void word_nearest(const struct cluster *cl, const struct compiled *c, const struct option *o,
                  struct str *out);
/* Do nodes that --nodelist names have too little, so that word_nearest tells of those? */
bool word_nearest_is_named(const struct cluster *cl, const struct compiled *c,
                           const struct option *o);
/* What an empty node of the group has too little of: " with no gpu:v100 (2 asked)" appended. */
void word_lacks(const struct cluster *cl, const struct compiled *c, const struct option *o,
                const struct group *g, struct str *out);
/* A generic resource as it was asked for: "gpu:v100", or "gpu" where no type was named. */
const char *word_label(const struct cluster *cl, const struct compiled *c, uint32_t dim);
/* "32 CPUs" / "64000 MiB of memory" / "4 gpu:v100" appended. */
void word_amount(const struct cluster *cl, uint32_t dim, int64_t amount, struct str *out);

#endif
