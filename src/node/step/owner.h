/* The owners of jobs as this host knows them. Name services may be far away, so they are asked on
 * worker threads and remembered. */
#ifndef REMUDA_NODE_STEP_OWNER_H
#define REMUDA_NODE_STEP_OWNER_H

#include "io/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct owner {
    uid_t uid;
    gid_t gid;
    bool known;                      /* has an entry in the user database */
    const char *name, *home, *shell; /* NULL if not known */
    const char *group;               /* name of gid, or NULL */
    const gid_t *groups;             /* supplementary groups; at least gid */
    size_t ngroups;                  /* of `groups` */
};

struct owners; /* opaque */

/* Entries are asked again when they are older than max_age_us: a number may be another user's by
 * then, and a user may have left a group. */
struct owners *owners_new(struct loop *l, int64_t max_age_us);
void owners_free(struct owners *o); /* waiting callbacks are not called */
/* The owner if remembered, however long ago; valid until the next round of the loop. */
const struct owner *owners_cached(struct owners *o, uid_t uid, gid_t gid);
/* NULL, too, if that is longer ago than max_age_us, unless name services do not answer: have not
 * for 2 s. */
const struct owner *owners_recent(struct owners *o, uid_t uid, gid_t gid);
/* found(ctx) in a later round; owners_cached is not NULL then. With the answer, or after 2 s, if
 * there is an old one. */
void owners_ask(struct owners *o, uid_t uid, gid_t gid, loop_fn found, void *ctx);

#endif
