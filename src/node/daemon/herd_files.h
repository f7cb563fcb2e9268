/* What a node's daemon finds in its directory before it serves: the steps, and the lock of those
 * who start them. Only herd.c includes this. */
#ifndef REMUDA_NODE_DAEMON_HERD_FILES_H
#define REMUDA_NODE_DAEMON_HERD_FILES_H

#include "base/err.h"

#include <stdbool.h>

/* NODE_DIR/steps, made where it is not there: a descriptor, which the caller closes; -1 =
 * neither. */
int herd_steps_open(const char *node_dir, struct err *ret_err);
/* Waits, some seconds at most, until nobody holds NODE_DIR/shepherds.lock: whoever does may still
 * start steps. */
bool herd_lock_wait(const char *node_dir, struct err *ret_err);

#endif
