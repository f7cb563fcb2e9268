/* Work beside the loop: threads for what may block. */
#ifndef REMUDA_IO_WORK_H
#define REMUDA_IO_WORK_H

#include "io/loop.h"

/* run(ctx) on some thread of a pool of four, then done(ctx) on the loop. Several run at once, in no
 * particular order. */
void work_start(struct loop *l, loop_fn run, loop_fn done, void *ctx);

/* Has the pool's threads made now, where that would end the process, and not when there is none
 * left to be had. After what a process does to itself alone (rights, filters of system calls). */
void work_prepare(struct loop *l);

/* One thread of its own with a queue: works run one after another, in the order they were given;
 * each done(ctx) comes on the loop in the same order. The thread sleeps while there is nothing to
 * do. */
struct worker; /* opaque */
/* Its thread waits; `name` is what ps shows of it. Where none can be made now, what it is given
 * waits until one can. */
struct worker *worker_new(struct loop *l, const char *name);
/* run(ctx) on the worker's thread, in the order of the calls, then done(ctx) on the loop's. */
void worker_add(struct worker *w, loop_fn run, loop_fn done, void *ctx);
/* Waits until all works given have run (their done() are called before it returns), then ends the
 * thread. Blocks: for the end of a daemon. */
void worker_free(struct worker *w);

#endif
