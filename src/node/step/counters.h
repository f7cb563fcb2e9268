/* What the node's network has carried: its interfaces and InfiniBand ports, for whomever. */
#ifndef REMUDA_NODE_STEP_COUNTERS_H
#define REMUDA_NODE_STEP_COUNTERS_H

#include <stdint.h>

struct counters; /* opaque: which of them count */

/* Bytes since the machine started; -1 = it has none of the kind. */
struct counters_now {
    int64_t net_rx, net_tx, ib_rx, ib_tx;
};

/* Interfaces of hardware; where there are none (a container), all but the loopback. */
struct counters *counters_new(void);
void counters_free(struct counters *c); /* NULL is fine */
/* Sums since the interfaces came up; -1 = there is none of the kind. */
void counters_read(const struct counters *c, struct counters_now *ret);

#endif
