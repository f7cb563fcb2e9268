/* The associations of a user, for a request of many changes, which would go through all of them for
 * each. Only core/ includes this. */
#ifndef REMUDA_CORE_REQUEST_ACCOUNTS_OF_USER_H
#define REMUDA_CORE_REQUEST_ACCOUNTS_OF_USER_H

#include "core/record/accounts/accounts.h"

typedef VEC(struct assocrec *) assocrec_vec;

/* Begins as zeros. */
struct of_user {
    size_t asked;
    struct map_str *user; /* → assocrec_vec, owned; NULL: they are not known by user yet */
    assocrec_vec one;     /* the answer while they are not */
};

/* His, those that were removed among them; valid until the next call. */
const assocrec_vec *of_user(struct of_user *o, const struct core *c, const char *user);
/* One that never was before is made. */
void of_user_made(struct of_user *o, struct assocrec *r);
/* As at the beginning: at the end, or where a user has another name. */
void of_user_done(struct of_user *o);

#endif
