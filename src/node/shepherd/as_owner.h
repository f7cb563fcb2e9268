/* What a shepherd does in its owner's name it does with the owner's rights: it keeps its real and
 * saved ids, so the owner can neither stop nor trace it meanwhile, and takes its own rights back
 * after. */
#ifndef REMUDA_NODE_SHEPHERD_AS_OWNER_H
#define REMUDA_NODE_SHEPHERD_AS_OWNER_H

#include "base/alloc.h"
#include "node/step/plan.h"

#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

struct own_ids {
    uid_t uid;
    gid_t gid;
};

/* Is it a user? The kernel takes -1 for "as it is", which is root, and cuts a longer number. */
static inline bool plan_owner_is(const struct step_plan *p)
{
    return p->uid >= 0 && p->uid < UINT32_MAX && p->gid >= 0 && p->gid < UINT32_MAX;
}

/* The owner's rights and no others. The ids of the file system alone would not do: what is open
 * under /proc/sys is asked for the effective user, and a quota or the room kept for root for
 * capabilities, which go with him. False: it did not; as_before all the same. */
static inline bool as_owner(const struct step_plan *p, struct own_ids *ret)
{
    *ret = (struct own_ids){geteuid(), getegid()};
    return !p->switch_user ||
           (plan_owner_is(p) && setegid((gid_t)p->gid) == 0 && seteuid((uid_t)p->uid) == 0);
}

static inline void as_before(const struct step_plan *p, const struct own_ids *own)
{
    if (p->switch_user)
        CHECK(seteuid(own->uid) == 0 && setegid(own->gid) == 0);
}

#endif
