/* For share*.c: what is known of a user's share. */
#ifndef REMUDA_CONTROLLER_SHARE_INSIDE_H
#define REMUDA_CONTROLLER_SHARE_INSIDE_H

#include "base/duration.h"
#include "controller/session/share.h"

#define NS           INT64_C(1000) /* in a microsecond */
#define ADDRESS      (UINT64_C(1) << 63)
#define HOST         (UINT64_C(1) << 62)
#define GUESTS       (UINT64_C(1) << 61)
#define NODE         (UINT64_C(1) << 60)
#define BOUND        (UINT64_C(1) << 59) /* guests whose host has a limit */
#define PAUSE_MAX_US (2 * USEC_PER_SEC)
#define ABOUT_US     (10 * USEC_PER_SEC) /* who asked for something less long ago is about */
#define OVER_US      USEC_PER_SEC        /* who had too much less long ago still has … */

/* Without a connection: who left first is first. */
struct gone {
    struct user_share *first, **last;
    size_t n;
};

/* Two different ones, who asked last first. */
struct recents {
    struct {
        bool any;
        uint64_t key;
        int64_t at_us;
    } v[2];
};

struct shares {
    struct loop *loop;
    struct map_u64 *by_uid;    /* and hosts, nodes, addresses of hosts */
    struct map_u64 *strangers; /* addresses: as many as somebody likes, for no walk over users */
    struct timer *timer;
    struct user_share *waiting, **last_waiting; /* who came first is first */
    int64_t strangers_ns, strangers_us; /* the debt of all addresses together, as it was then */
    int64_t strangers_free_us;          /* none of them is listened to before */
    struct gone gone, strangers_gone;
    int64_t crowd_us;            /* since when those who had much are counted anew */
    int64_t crowd, crowd_before; /* so many, and while they were counted before */
    uint64_t round;              /* the last one in which something was done for anybody */
    int64_t round_ns;            /* and how much of it for those who have much */
    struct recents users;
    struct recents origins; /* from where: hosts whose users are counted together, 0 = elsewhere */
};

struct user_share {
    struct shares *all;
    uint64_t key;     /* uid; of an address see share_join_address */
    bool vouched;     /* an address from which a host of the cluster speaks */
    int64_t slice_ns; /* with others about who ask for little */
    size_t connections, bytes, unsent, large;
    int64_t debt_ns, counted_us;  /* the debt as it was then */
    int64_t credit_ns, credit_us; /* and what may be had beyond a slice */
    int64_t alone_ns;             /* spent since the loop last looked round */
    uint64_t round;               /* the last one in which something was done for the user */
    int64_t round_ns;             /* and how much of it */
    int64_t asked_us, over_us;    /* when the user was last served; had too much */
    int64_t much_us;              /* had more in one go than is allowed */
    int64_t crowd_us;             /* since when it is counted among those who had much */
    int64_t free_us;              /* not listened to before */
    struct share_wait *first, **last;
    struct user_share *next; /* in the list of those that have somebody waiting */
    bool listed;
    struct user_share *next_gone, **gone; /* among those without a connection; NULL = it has one */
};

/* Of a host or a node, not of a user: by which its connections and its time are counted. */
static inline bool share_is_host(const struct user_share *s)
{
    return (s->key & (HOST | NODE)) && !(s->key & ADDRESS);
}

/* That one asked just now. */
void recents_note(struct recents *r, uint64_t key, int64_t now_us);
/* Has anybody else asked for something a moment ago? */
bool recents_others(const struct recents *r, uint64_t key, int64_t now_us);
/* Of so much time, spent for that one: what goes beyond what is allowed in a round. */
int64_t share_beyond(struct user_share *s, int64_t ns);
/* When it is its turn. */
int64_t share_due(const struct user_share *s);
/* It is no more in the list of those that have somebody waiting; it must be in there. */
void share_unlist(struct user_share *s);
void shares_run(void *shares); /* for the timer: those whose turn it is go on */
/* It is not listened to for so long, 2 s at most, or longer if that was said before. */
void share_pause_for(struct user_share *s, int64_t now_us, int64_t us);

#endif
