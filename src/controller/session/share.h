/* Each user's share of the controller's time. Whoever asks for much waits for their own turn, not
 * everybody for theirs: a user who has used up a slice of it is not listened to until others, if
 * there are any, had several times as much. The turn goes round over users, not over
 * connections. */
#ifndef REMUDA_CONTROLLER_SHARE_H
#define REMUDA_CONTROLLER_SHARE_H

#include "io/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct shares; /* opaque */
/* Opaque: of one user, as long as somebody has it, and until the user owes nothing. */
struct user_share;

/* Nobody has one yet; its timers run in that loop. */
struct shares *shares_new(struct loop *l);
void shares_free(struct shares *all); /* all shares must have been left */

/* One connection more, or less, of that user. */
struct user_share *share_join(struct shares *all, uid_t uid);
/* Once for each share_join: the share is freed when nobody has it and its user owes nothing. */
void share_leave(struct user_share *s);
/* The same of an address from which somebody speaks who has not said who it is. */
struct user_share *share_join_address(struct shares *all, const char *address);
/* The same of a host (its id) that speaks for users and is not trusted with who they are, to count
 * its connections and the time that goes into what they ask for. */
struct user_share *share_join_host(struct shares *all, const char *host);
/* The same of those of its users whom the controller does not know: there are as many as somebody
 * likes, so they are one user together. */
struct user_share *share_join_bound_guests(struct shares *all, const char *host);
/* The same of a host (its name) that is trusted with who its users are, and has no limit for all of
 * them; or one of these. */
struct user_share *share_join_guests(struct shares *all, const char *host);
#define GUESTS_HERE "" /* of the controller's own host */
/* Who were not looked up yet. No host has that name. */
#define GUESTS_NEW "\1new"
/* Is it one of those? */
bool share_is_guests(const struct user_share *s);
/* The same of a host's node daemon, for shares_said and shares_caused_from: what it says that
 * costs much at once, or in a round, has a tenth of the time. */
struct user_share *share_join_node(struct shares *all, const char *host);
/* Connections that have it now. */
size_t share_count(const struct user_share *s);
/* How many may: what any user may have, and no more than `fair`, half of what is left of all. Those
 * who were not looked up yet are bound so only where less than a quarter is left: who has many
 * numbers is not to keep out all others while name services are slow. Those of a host that has a
 * limit (share_join_bound_guests) may have `fair`, as all of that host together. NULL: a user's. */
size_t share_connections_most(const struct user_share *s, size_t fair);
/* A host of the cluster has shown itself at that address: its users' commands begin there, and are
 * no strangers'. What it owed as one is forgotten. */
void share_vouch(struct user_share *s);
/* Open ones of that user. */
size_t share_connections(const struct shares *all, uid_t uid);

/* May this user be listened to now? */
bool share_may(const struct user_share *s);
/* So much processor time of the loop went into what the user asked for. */
void share_spent(struct user_share *s, int64_t ns);
/* The same for what came of a message that is not whole yet: nobody waits for an answer to that, so
 * none of it is allowed for nothing. */
void share_spent_on_half(struct user_share *s, int64_t ns);
/* What was asked made more necessary later (a commit, a plan): so much processor time, and so long
 * others had to wait for it. `by`: a uid, or the mark of a share (share_mark); nothing if it is
 * gone. */
void shares_caused(struct shares *all, uint64_t by, int64_t cost_ns, int64_t took_us);

/* So much of what share_spent and shares_caused were told came from that host (share_join_host;
 * NULL: from elsewhere). However many users it speaks for, they have half of the time where
 * something is asked for elsewhere, less where several hosts have so much. */
void shares_spent_from(struct shares *all, struct user_share *from, int64_t ns);
/* A host's node has said something (share_join_node): what its words cost in a round of the loop
 * beyond what is allowed for nothing is owed. */
void shares_said(struct shares *all, struct user_share *node, int64_t ns);
/* The same of a host by its mark (share_mark): nothing if it is gone. */
void shares_caused_from(struct shares *all, uint64_t mark, int64_t ns);
/* Never 0 of a host or of guests; of a user it is the uid. */
uint64_t share_mark(const struct user_share *s);
/* Of those that share_join_guests would give, if somebody has it. */
uint64_t share_guests_mark(const char *host);

/* Has somebody else asked for something a moment ago? */
bool share_others(const struct user_share *s);
/* In which time the user may go on; 0 = now. */
int64_t share_pause(const struct user_share *s);

/* Waits for the user's next slice: fn(ctx) is called once, those that wait
 * longest first. */
/* The caller's memory, zeroed at first: it stays where it is while it waits. */
struct share_wait {
    struct share_wait *next, **link; /* link: NULL = it does not wait */
    struct user_share *of;           /* whose turn it waits for */
    loop_fn fn;                      /* called with ctx */
    void *ctx;
};
/* Calls fn from the loop when the user's turn comes, once; `w` that waits already goes on
 * waiting. */
void share_wait(struct user_share *s, struct share_wait *w, loop_fn fn, void *ctx);
/* It waits no more; fn is not called. Nothing if it did not wait. */
void share_wait_cancel(struct share_wait *w);

/* Bytes of messages that are not whole yet, of all connections of the user:
 * more (or, below 0, less). False: it is more than a user may have. */
bool share_bytes(struct user_share *s, ptrdiff_t more);
/* The same of bytes on their way to the user, who does not read them. False: so many that nothing
 * more is to be asked for. */
bool share_unsent(struct user_share *s, ptrdiff_t more);
bool share_unread(const struct user_share *s); /* is it so? */
/* One large answer more is made, for which much is held in memory (a script; the tree of shares);
 * share_large_sent, when most of it has left. False: as many are under way as a user may have. */
bool share_large(struct user_share *s);
void share_large_sent(struct user_share *s); /* one of those that share_large let in */

#endif
