#include "model/protocol.h"

#include "base/str.h"

const char *protocol_fault(const struct protocol_peer *p, const char *self, const char *version,
                           struct arena *a)
{
    const char *theirs = text_empty(p->version) ? "an unknown version" : p->version;
    if (p->now < PROTOCOL_OLDEST)
        return arena_printf(
            a,
            "%s runs Remuda %s, which is too old for %s (Remuda %s): it speaks protocol %d, "
            "and %d is the oldest understood here; upgrade it",
            p->who, theirs, self, version, (int)p->now, PROTOCOL_OLDEST);
    if (p->oldest > PROTOCOL_NOW)
        return arena_printf(
            a,
            "%s runs Remuda %s, which is too new for %s (Remuda %s): it needs protocol %d or "
            "later, and %d is spoken here; upgrade the controller first, then the others",
            p->who, theirs, self, version, (int)p->oldest, PROTOCOL_NOW);
    return NULL;
}
