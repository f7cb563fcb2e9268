/* A shepherd whose step is over waits for a command that does not take what the tasks wrote:
 * somebody reads it page by page. But it is a process of the node's, and who makes steps by the
 * thousand and reads nothing, or a little now and then, must not fill the node with them. */
#ifndef REMUDA_NODE_SHEPHERD_LINGER_H
#define REMUDA_NODE_SHEPHERD_LINGER_H

#include "node/shepherd/shepherd.h"

#include <stddef.h>
#include <stdint.h>

/* Of a user on a node so many wait without end, so many more as long as something is taken every
 * LINGER_MS, and any number of others for that long from any moment on at most, where so many
 * bytes that are taken are worth a ms. */
#define LINGER_SLOTS       16
#define LINGER_SLOW_SLOTS  240
#define LINGER_MS          10000
#define LINGER_BYTES_MS    256
#define LINGER_WITHOUT_END INT64_MAX

/* How long this process waits, for all of its streams and files together. */
struct lingering {
    int64_t until_us;        /* CLOCK_MONOTONIC, or LINGER_WITHOUT_END */
    bool is_slow;            /* it has a place of LINGER_SLOW_SLOTS */
    const struct herd *herd; /* NULL = there are no places to be had */
    int64_t uid;
    int places_fd;     /* -1 = none was asked for yet */
    int64_t ask_at_us; /* for a better place, not before */
};

/* A place is asked for when the time of those without is over, so that the many that wait for
 * moments have none; it is this process's own until it ends. */
struct lingering linger_begin(const struct herd *h, int64_t uid);
/* For poll, in ms: -1 = without end, 0 = it has waited long enough. It is to be asked again after
 * that time: there may be a better place by then. */
int linger_wait_ms(struct lingering *l);
/* A last second for who had no turn yet. */
void linger_last(struct lingering *l);
/* So many bytes more were taken. */
void linger_took(struct lingering *l, size_t bytes);

#endif
