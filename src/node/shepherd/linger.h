/* A shepherd whose step is over waits for a command that does not take what the tasks wrote:
 * somebody reads it page by page. But it is a process of the node's, and who makes steps by the
 * thousand and reads nothing must not fill the node with them. */
#ifndef REMUDA_NODE_SHEPHERD_LINGER_H
#define REMUDA_NODE_SHEPHERD_LINGER_H

#include "node/shepherd/shepherd.h"

#include <stdint.h>

#define LINGER_SLOTS 16    /* of a user on a node, that wait without end */
#define LINGER_MS    10000 /* the others: so long without anything being taken */

/* How long poll may wait for the command, in ms; -1 = without end. The place that this process gets
 * is its own until it ends. */
int linger_ms(const struct herd *h, int64_t uid);

#endif
