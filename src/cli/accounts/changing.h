/* A change that sacctmgr is to make of what its conditions name: between modify.c and remove.c. */
#ifndef REMUDA_CLI_ACCOUNTS_CHANGING_H
#define REMUDA_CLI_ACCOUNTS_CHANGING_H

#include "cli/accounts/accounts.h"

struct changing {
    struct sacctmgr *s;       /* for messages */
    const struct specs *sp;   /* what was asked for */
    struct book b;            /* read when it begins */
    struct sacctmgr_given st; /* what `set` says */
    struct changes c;         /* gathered here, sent at the end */
    const char *names;        /* of what the entity is */
    VEC(const char *) user;   /* who is modified */
    bool wrong;               /* an error was printed: nothing is sent */
};

/* The names that say which entities are meant, whatever their key; NULL = none do. */
const char *changing_names(const struct specs *sp, struct arena *a);
/* Without conditions everything is meant: is it? Asks. */
bool changing_has_conditions(struct changing *g);
/* Does each condition choose something here? Says which does not, after `none`. */
bool changing_conditions_choose(struct changing *g, const char *none);
/* Is this cluster meant? */
bool changing_is_here(struct changing *g);
/* Slurm refuses who may change none of the kind before it looks for what is meant. Coordinators may
 * look for accounts and users, but remove no account; everybody for oneself. */
bool changing_is_guarded(const struct changing *g, bool removes);
/* As assoc_is_meant, of an account: by name, description and organization. NULL: it is not. */
bool account_is_meant(const struct changing *g, const struct account *a);
/* As assoc_is_meant, of a user: by name, default account and level. */
bool user_is_meant(const struct changing *g, const struct account_user *u);
/* As assoc_is_meant, of a QOS. */
bool qos_is_meant(const struct changing *g, const struct qos *q);

#endif
