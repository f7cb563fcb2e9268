/* What a placement takes of licences and caps. */
#ifndef REMUDA_SCHED_WORLD_CAP_TAKES_H
#define REMUDA_SCHED_WORLD_CAP_TAKES_H

#include "sched/books/limits/caps.h"
#include "sched/world/world.h"

/* What a placement takes together, as far as caps that can bind it ask: where none asks for more
 * than nodes, all else is 0. `gres` in scratch.sum. scratch.row is overwritten. */
struct cap_sums placement_sums(struct world *w, const struct compiled *c,
                               const struct placement *at);
/* The most that it takes of it on one of its nodes. */
int64_t cap_takes_on_node(struct world *w, const struct compiled *c, const struct licence *cap,
                          const struct placement *at);
/* What the licence or cap loses by it, exactly. */
int64_t licence_takes(const struct world *w, const struct lic_use *use, const struct spart *part,
                      const struct cap_sums *sums);
/* Is so much of it left from start_us to end_us? A cap of some hours binds who starts in them; who
 * starts at another time must leave what was promised. */
bool licence_free(struct world *w, const struct option *o, const struct lic_use *use, int64_t count,
                  int64_t start_us, int64_t end_us);
/* Appends when caps of the request begin and cease to bind, from the world's time on. */
void caps_times(const struct world *w, const struct compiled *c, i64_vec *at);
/* The same of all caps. */
void caps_turns(const struct world *w, i64_vec *at);

#endif
