/* The node daemon's ears: takes lines from the shepherds' socket, each with the process that wrote
 * it. */
#ifndef REMUDA_NODE_DAEMON_NOTES_IN_H
#define REMUDA_NODE_DAEMON_NOTES_IN_H

#include "base/err.h"
#include "base/str.h"
#include "io/log.h"
#include "io/loop.h"

#include <sys/types.h>

struct notes_in; /* opaque */

/* line(ctx, line without its end, who wrote it; 0 = not known: it came by the pipe of an earlier
 * release, which its shepherds still have). What a process of another user than the daemon's writes
 * is not taken, and its connection is closed; the shepherds that share it connect anew. */
struct notes_in *notes_in_new(struct loop *l, struct log *log, int steps_fd,
                              void (*line)(void *ctx, struct span line, pid_t writer), void *ctx,
                              struct err *ret_err);
void notes_in_free(struct notes_in *n); /* NULL is fine */
/* No shepherd of an earlier release is left: its pipe goes. */
void notes_in_end_pipe(int steps_fd);

#endif
