/* A shepherd whose step is over waits for a command that does not take what the tasks wrote:
 * somebody reads it page by page. But it is a process of the node's, and who makes steps by the
 * thousand and reads nothing, or a little now and then, must not fill the node with them. */
#ifndef REMUDA_NODE_SHEPHERD_LINGER_H
#define REMUDA_NODE_SHEPHERD_LINGER_H

#include "node/shepherd/shepherd.h"

#include <stddef.h>
#include <stdint.h>

#define LINGER_SLOTS       16    /* of a user on a node, that wait without end */
#define LINGER_MS          10000 /* the others: so long from any moment on at most, */
#define LINGER_BYTES_MS    256   /* where so many bytes that are taken are worth a ms */
#define LINGER_WITHOUT_END INT64_MAX

/* How long this process waits, for all of its streams and files together. */
struct lingering {
    int64_t until_us; /* CLOCK_MONOTONIC, or LINGER_WITHOUT_END */
};

/* The place to wait without end that this process may get is its own until it ends. */
struct lingering linger_begin(const struct herd *h, int64_t uid);
/* For poll, in ms: -1 = without end, 0 = it has waited long enough. */
int linger_wait_ms(const struct lingering *l);
/* So many bytes more were taken. */
void linger_took(struct lingering *l, size_t bytes);

#endif
