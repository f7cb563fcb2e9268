/* The time of hosts that speak for users and are not trusted with who they are. Each of its users
 * has a share, and root there speaks for as many as there are: together they have what all who ask
 * elsewhere have, and no more. A site with one login node loses nothing by it: where nothing is
 * asked for elsewhere there is no bound, and most of what is asked there is little.
 *
 * A node's daemon says seldom what costs much: that it is there, what it holds, how it is now. Each
 * of these may be 40 ms of the loop, with the plan that follows, and may be said without pause. So
 * may small things, some thousand in a round: what goes beyond what a user may have of one counts.
 * Of ends of jobs that are said one after the other nothing does. */
#include "base/alloc.h"
#include "base/map.h"
#include "controller/session/share_inside.h"

#define SLICE_HOST_NS (10000 * NS)
#define PART_HOST     2 /* of the time it has one of so many */
#define PART_NODE     10

/* Those that had too much a moment ago. */
static int64_t hosts_over(const struct shares *all, int64_t now_us)
{
    struct map_walk at = {0};
    int64_t n = 0;
    while (map_u64_next(all->by_uid, &at)) {
        const struct user_share *host = at.value;
        n += share_is_host(host) && !(host->key & NODE) && host->over_us > now_us - OVER_US;
    }
    return n;
}

static void host_owes(struct user_share *s, int64_t ns, int64_t now_us)
{
    bool node = s->key & NODE;
    s->debt_ns -= (now_us - s->counted_us) * NS / (node ? PART_NODE : PART_HOST);
    s->debt_ns = (s->debt_ns > 0 ? s->debt_ns : 0) + ns;
    s->counted_us = s->asked_us = now_us;
    if (!node && !recents_others(&s->all->origins, s->key, now_us))
        s->debt_ns = 0; /* nobody was held up */
    if (s->debt_ns < SLICE_HOST_NS)
        return;
    s->over_us = now_us;
    share_pause_for(s, now_us,
                    s->debt_ns / NS * (node ? PART_NODE : hosts_over(s->all, now_us) + 1));
}

void shares_spent_from(struct shares *all, struct user_share *from, int64_t ns)
{
    ASSERT(ns >= 0);
    int64_t now = loop_served_us(all->loop);
    if (!from || !(from->key & NODE))
        recents_note(&all->origins, from ? from->key : 0, now);
    if (from)
        host_owes(from, ns, now);
}

void shares_said(struct shares *all, struct user_share *node, int64_t ns)
{
    ASSERT(node->key & NODE);
    int64_t much = share_beyond(node, ns);
    if (much)
        shares_spent_from(all, node, much);
}

void shares_caused_from(struct shares *all, uint64_t mark, int64_t ns)
{
    ASSERT(mark);
    struct user_share *from = map_u64_get(all->by_uid, mark);
    if (from)
        host_owes(from, ns, loop_served_us(all->loop));
}

uint64_t share_mark(const struct user_share *s)
{
    return s->key;
}
