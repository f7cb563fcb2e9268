/* Users and groups of this host, with a cache: names may come from a directory service far away, so
 * they are asked on worker threads. */
#ifndef REMUDA_IO_USERS_H
#define REMUDA_IO_USERS_H

#include "io/loop.h"

#include <stdint.h>
#include <sys/types.h>

/* In place of a group that somebody says: the one that the user database has for the user. */
#define GID_OF_USER ((gid_t)-1)

struct user_group {
    gid_t gid;
    const char *name; /* NULL if it has none */
};

struct user {
    uid_t uid;
    /* As asked: the group the peer runs with; asked as GID_OF_USER: primary_gid. */
    gid_t gid;
    gid_t primary_gid; /* in the user database; `gid` if the uid has no entry */
    const char *name;  /* NULL if the uid has no name */
    const char *group; /* name of `gid`, or NULL */
    /* Names of all groups, comma-separated, primary first; NULL if the uid has no name. */
    const char *groups;
    const char *home, *shell;  /* NULL if the uid has no name */
    struct user_group *member; /* the same groups, with their numbers */
    size_t nmembers;
};

/* The group of that number as the user database has it for the user, who may be in several; NULL:
 * not in it. */
const struct user_group *user_group(const struct user *user, gid_t gid);

struct users; /* opaque */

/* Entries are kept for max_age_us, then asked again. Of a user with more than 64 groups those that
 * nobody needs are forgotten. */
struct users *users_new(struct loop *l, int64_t max_age_us);
void users_free(struct users *u); /* waiting callbacks are not called. NULL is fine */
/* The cached entry, however old, valid until the next round of the loop; NULL if it is not cached.
 * `gid` is the group the peer runs with. */
const struct user *users_cached(struct users *u, uid_t uid, gid_t gid);
/* The same for who begins something: NULL, too, if it is older than max_age_us and may be another's
 * by now. It serves for want of a better one where name services have not answered for 2 s. */
const struct user *users_recent(struct users *u, uid_t uid, gid_t gid);
/* found(ctx) in a later round, when users_cached will not be NULL for it: with the answer, or after
 * 2 s, if there is an old entry. */
void users_ask(struct users *u, uid_t uid, gid_t gid, loop_fn found, void *ctx);
/* The entry, once it is there, stays: for who reads users_cached in later rounds without asking.
 * What was never looked up is forgotten when nobody keeps it or waits for it. */
void users_keep(struct users *u, uid_t uid, gid_t gid);
/* Once for each users_keep, which there must have been. */
void users_let_go(struct users *u, uid_t uid, gid_t gid);
/* Takes back what users_ask was given that ctx for. */
void users_cancel(struct users *u, uid_t uid, gid_t gid, void *ctx);
/* Asks again for those who have another name than `name` says (uid, plus 1 → text). */
struct map_u64;
void users_compare(struct users *u, const struct map_u64 *name);
/* changed(ctx) when somebody is found to have another name than before; NULL = no more. */
void users_on_change(struct users *u, loop_fn changed, void *ctx);
/* Asks for everything again (reconfigure); until the answers are there the old entries serve. */
void users_flush(struct users *u);

/* On a thread beside the loop, after a lookup that ended with errno `why`: had it no room (memory,
 * descriptors), so that it says nothing of whom was looked for? Then true, after a nap, for ten
 * seconds together; *naps counts them, from 0. */
bool lookup_again(int why, int *naps);
/* There, too: the groups of a user, the primary one among them; malloc'ed, at least one. */
gid_t *groups_list(const char *name, gid_t primary, int *ret_n);
/* Blocking, without a cache: for small programs. Texts are malloc'ed, user_done frees them. False
 * if the uid has no entry (the rest is filled as far as known). */
bool user_lookup(uid_t uid, gid_t gid, struct user *ret);
/* Frees what user_find filled in; a zeroed one is fine. */
void user_done(struct user *user);

#endif
