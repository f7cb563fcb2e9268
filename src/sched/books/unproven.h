/* Devices of a node that are out of use until they are found clean. Mostly that takes a moment:
 * for so long the planner counts on them as on work that ends. */
#ifndef REMUDA_SCHED_BOOKS_UNPROVEN_H
#define REMUDA_SCHED_BOOKS_UNPROVEN_H

#include "model/env/device_out.h"
#include "sched/books/state.h"

/* The node's list anew, from what is out and whom its devices belong to now. For whom a device
 * came free stays known as long as it is out. */
void unproven_fill(struct snode *n, const struct device_outs *out);
/* The hold was given back: its devices that are out came free for the job that its run gave way
 * to, if for any. */
void unproven_freed(struct snode *n, const struct hold *h);
/* When it is expected to be clean; INT64_MAX = it has been out for so long that nobody can know. */
int64_t unproven_until(const struct unproven *u, int64_t now_us);

#endif
