/* Calls that may never come back: reads of a driver that waits for its device, libraries that wait
 * for a lock. Each runs on a thread of its own, and nobody waits longer for it than they want
 * to. */
#ifndef REMUDA_NODE_HARDWARE_BOUNDED_H
#define REMUDA_NODE_HARDWARE_BOUNDED_H

#include <stdbool.h>
#include <stdint.h>

struct bounded; /* opaque: one such thread, which does one thing at a time */

struct bounded *bounded_new(void); /* no call is under way */
/* NULL is fine. One that does not come back is left behind, with what it was given. */
void bounded_free(struct bounded *b);
/* Has fn(ctx) called. False: it still is at what it began before, or no thread can be had. What ctx
 * points to belongs to fn until it has come back. */
bool bounded_begin(struct bounded *b, void (*fn)(void *ctx), void *ctx);
/* True once it has come back, at the latest at until_ms of bounded_now_ms. */
bool bounded_wait(struct bounded *b, int64_t until_ms);
/* A clock that is never set. */
int64_t bounded_now_ms(void);

#endif
