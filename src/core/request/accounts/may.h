/* Who may change what of accounts, and what names and values may be. Only core/ includes this. */
#ifndef REMUDA_CORE_REQUEST_ACCOUNTS_MAY_H
#define REMUDA_CORE_REQUEST_ACCOUNTS_MAY_H

#include "core/record/accounts/accounts.h"

/* May the peer at hand? `all`, the request, is looked at for what belongs together: an account that
 * is added with its place in the tree. *ret_detail says why not. */
bool account_change_allowed(struct core *c, const struct msg_change_accounts *all,
                            const struct account_change *ch, const char **ret_detail);
/* A name of an account, user, QOS or key: letters that do no harm in lists, files and terminals. */
bool account_name_good(const char *name);

#endif
