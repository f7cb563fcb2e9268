/* PrivateData: what who asks sees of others. Operators see everything, coordinators of an account
 * what is of it, everybody what is their own. Only core/ includes this. */
#ifndef REMUDA_CORE_RECORD_PRIVATE_H
#define REMUDA_CORE_RECORD_PRIVATE_H

#include "core/record/accounts/accounts.h"

/* `peer` NULL: who asks is not known, and sees what is nobody's in particular. */
bool may_see_job(const struct core *c, const struct peer *peer, const struct job *j);
/* operators alone with PrivateData=nodes */
bool may_see_nodes(const struct core *c, const struct peer *peer);
/* likewise with =partitions */
bool may_see_partitions(const struct core *c, const struct peer *peer);
/* Of who asks, for all reservations of an answer; `peer` must outlive it. */
struct resv_sight {
    const struct peer *peer;   /* NULL = not known */
    bool all;                  /* not private, or an operator */
    VEC(const char *) account; /* that the user is in */
};
/* Freed by resv_sight_close. Where they are private, a peer that is not known (NULL) sees none. */
struct resv_sight resv_sight_open(const struct core *c, const struct peer *peer);
void resv_sight_close(struct resv_sight *s); /* the list of accounts */
/* who may use it, as a user, by a group or an account, sees it */
bool may_see_reservation(const struct resv_sight *s, const struct reservation *r);
/* Who the user is, what he may, and in which accounts. `account`: as a member of it; NULL = in
 * any. */
bool may_see_user(const struct core *c, const struct peer *peer, const char *user,
                  const char *account);
/* Its row in listings: for members of it or of one below it, its coordinators and operators. */
bool may_see_account(const struct core *c, const struct peer *peer, const char *account);
/* How much was used by a user in an account; user NULL: by the whole account. */
bool may_see_usage(const struct core *c, const struct peer *peer, const char *user,
                   const char *account);
/* In which accounts the user is, and what they allow him. */
bool may_see_rights(const struct core *c, const struct peer *peer, const char *user);
/* Who changed what of accounts and users. */
bool may_see_transactions(const struct core *c, const struct peer *peer);

#endif
