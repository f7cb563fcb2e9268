/* What a node's daemon finds in its directory before it serves (the steps, and the lock of those
 * who start them), and what it leaves there for shepherds. Only herd.c includes this. */
#ifndef REMUDA_NODE_DAEMON_HERD_FILES_H
#define REMUDA_NODE_DAEMON_HERD_FILES_H

#include "base/err.h"
#include "node/step/command.h"

#include <stdbool.h>

/* NODE_DIR/steps, made where it is not there: a descriptor, which the caller closes; -1 =
 * neither. */
int herd_steps_open(const char *node_dir, struct err *ret_err);
/* Waits, some seconds at most, until nobody holds NODE_DIR/shepherds.lock: whoever does may still
 * start steps. */
bool herd_lock_wait(const char *node_dir, struct err *ret_err);
/* Gives a command to the shepherd of the step `name`, with the file that goes with it, if one does,
 * which has that text. False with errno, as of step_dir_signal. */
bool herd_command_give(int steps_fd, const char *name, const struct step_command *c,
                       const char *text);

#endif
