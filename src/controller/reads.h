/* Reads of the store beside the loop (history, series), on a few threads: each user has one at a
 * time, users take turns, and nobody has more than some waiting. */
#ifndef REMUDA_CONTROLLER_READS_H
#define REMUDA_CONTROLLER_READS_H

#include "controller/disk/reader.h"
#include "core/core.h"
#include "io/loop.h"

#define READS_THREADS  4
#define READS_PER_USER 64 /* that wait */

struct reads; /* opaque */

/* No thread is started before the first question; both are borrowed. */
struct reads *reads_new(struct loop *l, const char *store_path, struct writer *writer);
/* While the writer holds (writer_holds) none begins, and alone(ctx) is called when none is at work;
 * after it has held, and whenever it may, reads_look is due. */
void reads_on_hold(struct reads *all, loop_fn alone, void *ctx);
void reads_look(struct reads *all); /* begins what may, or calls that; NULL is fine */
/* Those that wait run first. Blocks: for the end of a daemon. NULL is fine. */
void reads_free(struct reads *all);

/* run(ctx, reader) on a thread, then done(ctx) on the loop. False: so many of the user wait
 * already; neither is called. peer: who reads; NULL: all who have no turn of their own, for what is
 * not to wait for what else its user reads. */
bool reads_add(struct reads *all, const struct peer *peer, void (*run)(void *ctx, struct reader *r),
               loop_fn done, void *ctx);

#endif
