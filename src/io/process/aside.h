/* Long questions are answered beside the loop: a copy of the process (fork) works the answer out
 * and is gone. What it finds comes back in bytes; the process it is a copy of goes on meanwhile,
 * and its state is not touched. For pure computation only: the copy keeps no descriptor but its way
 * out, no capability and no timer, is less urgent than the process, and ends with it. */
#ifndef REMUDA_IO_ASIDE_H
#define REMUDA_IO_ASIDE_H

#include "base/str.h"
#include "io/loop.h"

struct aside; /* opaque; one copy at work */

/* work(ctx, out) is called in the copy. done(ctx, answer, cpu_us) comes once, on the loop: what
 * work wrote; NULL if the copy did not get so far (killed, too slow, more than most_bytes); and the
 * processor time that the copy took. The aside is freed by itself after `done`. NULL with ret_err
 * if there is no room for a copy: then neither is called. */
struct aside *aside_start(struct loop *l, void (*work)(void *ctx, struct str *out),
                          void (*done)(void *ctx, const struct str *answer, int64_t cpu_us),
                          void *ctx, size_t most_bytes, struct err *ret_err);
/* Ends the copy; `done` is not called. NULL is fine. */
void aside_free(struct aside *a);

#endif
