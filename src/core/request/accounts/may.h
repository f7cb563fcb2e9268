/* Who may change what of accounts, and what names and values may be. Only core/ includes this. */
#ifndef REMUDA_CORE_REQUEST_ACCOUNTS_MAY_H
#define REMUDA_CORE_REQUEST_ACCOUNTS_MAY_H

#include "core/request/accounts/of_user.h"

/* A request as a whole, of whose changes each is asked about: it is looked at for what belongs
 * together, as an account that is added with its place in the tree. Gone through once, when the
 * first of a coordinator's changes wants to know. */
struct changes_asked {
    const struct msg_change_accounts *all;
    struct of_user *of_user; /* of who asks */
    size_t *looks;           /* counts what is gone through */
    struct map_str *place;   /* account → struct assoc: where the request adds it, first */
    struct map_str *his;     /* accounts that stand so under one of the coordinator's */
    struct map_str *removed; /* users whom the request takes from accounts of the coordinator */
};
void changes_asked_done(struct changes_asked *asked); /* its maps */
/* May the peer at hand? *ret_detail says why not. */
bool account_change_allowed(struct core *c, struct changes_asked *asked,
                            const struct account_change *ch, const char **ret_detail);
/* A name of an account, user, QOS or key: letters that do no harm in lists, files and terminals. */
bool account_name_good(const char *name);

#endif
