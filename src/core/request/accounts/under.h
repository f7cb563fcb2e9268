/* What stands below an account, for a request of many changes, which would go through all
 * associations for each. Only core/ includes this. */
#ifndef REMUDA_CORE_REQUEST_ACCOUNTS_UNDER_H
#define REMUDA_CORE_REQUEST_ACCOUNTS_UNDER_H

#include "core/request/accounts/of_user.h"

/* Begins as zeros. */
struct under {
    size_t asked;
    /* by number: → map_u64 of those right below it, owned; NULL: not known yet */
    struct map_u64 *of;
    assocrec_vec found; /* the answer */
};

/* It and all below it, those that were removed among them; valid until the next call. */
const assocrec_vec *under_all(struct under *u, const struct core *c, struct assocrec *top);
/* One that is new, or that stood below `former` (NULL: below none) until now. */
void under_moved(struct under *u, struct assocrec *r, const struct assocrec *former);
void under_done(struct under *u); /* as at the beginning */

#endif
