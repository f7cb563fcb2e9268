/* Who counts as one user. */
#include "core/record/record.h"

bool peer_is_nameless(const struct peer *peer)
{
    return !peer->user && !peer->is_admin;
}

uint32_t peer_payer(const struct peer *peer)
{
    return peer_is_nameless(peer) ? NAMELESS_UID : peer->uid;
}

bool peers_are_one(const struct peer *one, const struct peer *other)
{
    return peer_payer(one) == peer_payer(other);
}

uint32_t job_payer(const struct job *j)
{
    return j->user_name ? j->user_id : NAMELESS_UID;
}
