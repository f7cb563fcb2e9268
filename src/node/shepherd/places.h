/* Places of which a user, or a node, has so many: bytes of a file that are locked. The kernel gives
 * them back, however the process ends that has them. */
#ifndef REMUDA_NODE_SHEPHERD_PLACES_H
#define REMUDA_NODE_SHEPHERD_PLACES_H

#include "node/shepherd/shepherd.h"

#include <stdint.h>

/* A file beside those of the steps; -1 with errno. Who closes it gives back all his places in
 * it. */
int places_open(const struct herd *h, const char *name);
/* Takes `want` of the `most` from `first` on. False: some may be taken; errno is EAGAIN where there
 * are not so many, else why the kernel has none. Of the same places a process takes once: its own
 * look free to it. */
bool places_take(int fd, int64_t first, int64_t most, int64_t want);

#endif
