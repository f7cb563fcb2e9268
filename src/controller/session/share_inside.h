/* For share*.c: what is known of a user's share. */
#ifndef REMUDA_CONTROLLER_SHARE_INSIDE_H
#define REMUDA_CONTROLLER_SHARE_INSIDE_H

#include "controller/session/share.h"

struct user_share {
    struct shares *all;
    uint64_t key;     /* uid; of an address see share_join_address */
    bool vouched;     /* an address from which a host of the cluster speaks */
    int64_t slice_ns; /* with others about who ask for little */
    size_t connections, bytes, unsent, large;
    int64_t debt_ns, counted_us; /* the debt as it was then */
    int64_t alone_ns;            /* spent since the loop last looked round */
    uint64_t round;              /* the last one in which something was done for the user */
    int64_t round_ns;            /* and how much of it */
    int64_t asked_us, over_us;   /* when the user was last served; had too much */
    int64_t much_us;             /* had more in one go than is allowed */
    int64_t free_us;             /* not listened to before */
    struct share_wait *first, **last;
    struct user_share *next; /* in the list of those that have somebody waiting */
    bool listed;
    struct user_share *next_gone, **gone; /* among those without a connection; NULL = it has one */
};

#endif
