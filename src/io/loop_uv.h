/* For io's own files: the loop with libuv visible. */
#ifndef REMUDA_IO_LOOP_UV_H
#define REMUDA_IO_LOOP_UV_H

#include "io/loop.h"

#include <uv.h>

/* The libuv loop inside. */
uv_loop_t *loop_uv(struct loop *l);
/* "what: libuv's words"; returns false. */
bool loop_error(struct err *ret_err, int uv_code, const char *what);

/* Calls fn(ctx) in the next round; may be taken back. For "never inside the function that started
 * it". */
struct later {
    loop_fn fn;                /* NULL = not waiting */
    void *ctx;                 /* of fn */
    struct later *next, *prev; /* a ring */
};
/* Nothing if it waits already. */
void loop_later(struct loop *l, struct later *one, loop_fn fn, void *ctx);
void loop_later_cancel(struct loop *l, struct later *one); /* nothing where it does not wait */
/* The same, but run in this round: before the turn and once more after it. For writing out what was
 * gathered. */
void loop_flush(struct loop *l, struct later *one, loop_fn fn, void *ctx);

/* Room to read into, shared by all connections of the loop; only within one callback. */
#define LOOP_SCRATCH_BYTES (256u << 10)
char *loop_scratch(struct loop *l); /* LOOP_SCRATCH_BYTES; the callback's until it returns */

#endif
