/* Releases of what daemons say to each other. Frames name their fields, so most changes need
 * nothing (docs/decisions/0016-releases-side-by-side.md): the number goes up when a release says
 * something that the one before would misunderstand. A daemon works with the release before and the
 * one after its own. */
#ifndef REMUDA_MODEL_PROTOCOL_H
#define REMUDA_MODEL_PROTOCOL_H

#include "base/arena.h"

#include <stdint.h>

#define PROTOCOL_NOW    1 /* release 0 did not say any */
#define PROTOCOL_OLDEST 0 /* that this one still understands */

/* What a peer says of itself in its first message. */
struct protocol_peer {
    const char *who;     /* "node gpu7", "host far" */
    const char *version; /* Remuda's; NULL = it did not say */
    int32_t now, oldest; /* its PROTOCOL_NOW and PROTOCOL_OLDEST */
};

/* NULL = the two understand each other; else a sentence that says which is too old and what to do.
 * `self` is "this controller". In the arena. */
const char *protocol_fault(const struct protocol_peer *p, const char *self, const char *version,
                           struct arena *a);

#endif
