/* What is free on a node at a time or over a stretch of time, as far as work and promises go
 * (reservations: resv_view.h). Rows are amounts by dimension. */
#ifndef REMUDA_SCHED_WORLD_ROW_H
#define REMUDA_SCHED_WORLD_ROW_H

#include "sched/world/world.h"

/* Fills ret_row, of world.dims amounts, with what is free at at_us, now or later. */
void world_row_at(const struct world *w, uint32_t node, int64_t at_us, int64_t *ret_row);
/* The least that is free from start_us until before end_us. The world's own: good until the next
 * call, or until the node changes. */
const int64_t *world_row(struct world *w, uint32_t node, int64_t start_us, int64_t end_us);

#endif
