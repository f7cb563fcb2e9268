/* Processes that had the GPUs open and were killed, until they are gone: one that its driver keeps
 * has them open still. */
#ifndef REMUDA_NODE_HARDWARE_GPU_KILLED_H
#define REMUDA_NODE_HARDWARE_GPU_KILLED_H

#include "io/loop.h"

#include <stddef.h>
#include <sys/types.h>

struct gpu_killed; /* opaque */

/* None yet; never NULL. */
struct gpu_killed *gpu_killed_new(struct loop *l);
/* Nobody's end is waited for any more. NULL is fine. */
void gpu_killed_free(struct gpu_killed *k);
/* A child that is killed in this round: it is waited for, and reaped, and then all others of the
 * process group that it leads are waited for. */
void gpu_killed_add(struct gpu_killed *k, pid_t pid);
/* The same of one that has ended: what it left behind in its group, if it did. */
void gpu_killed_led(struct gpu_killed *k, pid_t pid);
/* How many are not known to be gone. */
size_t gpu_killed_left(const struct gpu_killed *k);
/* Adds to `ret` which these are, `max` at most; returns how many it wrote. */
size_t gpu_killed_pids(const struct gpu_killed *k, pid_t *ret, size_t max);
/* fn(ctx) whenever the last of them is gone; NULL: nobody is told any more. */
void gpu_killed_on_none(struct gpu_killed *k, loop_fn fn, void *ctx);

#endif
