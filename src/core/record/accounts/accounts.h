/* The book of accounts: accounts, users, associations, QOS, limits, workload keys. Facts about
 * them, and one way to change a record. Only core/ includes this. */
#ifndef REMUDA_CORE_RECORD_ACCOUNTS_H
#define REMUDA_CORE_RECORD_ACCOUNTS_H

#include "core/record/state.h"

typedef VEC_SMALL(struct limit) limit_list;

struct assocrec {
    struct assoc a; /* texts interned */
    /* a user's: that of the account; an account's: of its parent; NULL: root */
    struct assocrec *up;
    limit_list limit;    /* set on it; owned */
    int64_t factor : 63; /* of fair share, in SHARE_ONE-ths (fairshare.c) */
    bool watched : 1;    /* the planner knows it; with the factor eight bytes of each */
};

struct qosrec {
    struct qos q;     /* texts interned */
    limit_list limit; /* in the order of kinds */
    /* With the flag Relative what its limits are worth, in their order (relative.c); else none */
    VEC(int64_t) worth;
};

#define ROOT_ACCOUNT "root"
#define NORMAL_QOS   "normal"

/* Empty books; nothing is stored yet. Freed with accounts_free, whose texts the pool frees. */
void accounts_init(struct core *c);
/* At the end of the controller; arrays of core_load_packed in one piece each. */
void accounts_free(struct core *c);
/* A stored row; of what carries limits before the limits. */
void accounts_load(struct core *c, enum store_table table, const void *record);
/* One that was loaded goes out of memory again, and stays in the store. */
void accounts_forget(struct core *c, enum store_table table, const void *record);
/* When all rows are loaded: the account root with the user root and the QOS normal are always
 * there; before anybody changed anything in memory alone. */
void accounts_restore(struct core *c);
/* Resources of the configuration that were not seen before get their numbers. */
void accounts_tres_note(struct core *c);

/* ---- facts: what was removed is not found --------------------------------------------------- */
struct account *account_find(const struct core *c, const char *name);
/* NULL = not known to accounting, or no name. */
struct account_user *account_user_find(const struct core *c, const char *name);
/* Exactly this one; user and partition may be NULL. */
struct assocrec *assoc_find(const struct core *c, const char *account, const char *user,
                            const char *partition);
/* The same, also one that was removed. */
struct assocrec *assoc_ever(const struct core *c, const char *account, const char *user,
                            const char *partition);
/* The one that a user's job in that partition runs under: the partition's own before the
 * general. */
struct assocrec *assoc_for(const struct core *c, const char *account, const char *user,
                           const char *partition);
/* A user's workload key of that name, also one that was removed; NULL = never had. */
struct wckey *wckey_ever(const struct core *c, const char *name, const char *user);
/* One QOS, not a list of them. */
struct qosrec *qos_find(const struct core *c, const char *name);
/* May jobs of the QOS `from` stop those of `to`, or of others that may, and so on? `from` itself
 * counts where it comes again. *ret_last, if not NULL: which may stop `to` itself. */
bool qos_may_stop(const struct core *c, const char *from, const char *to, const char **ret_last);
/* Has anybody made accounts of his own? Until then everybody may everything, as before. */
bool accounts_in_use(const struct core *c);
/* The account of a user's job that names none; NULL = none is known. */
const char *account_default(const struct core *c, const char *user);
/* Its QOS, comma-separated, in the order of their numbers (in the arena); all that it inherits. */
const char *assoc_qos_list(const struct core *c, const struct assocrec *r, struct arena *a);
/* May jobs under it run in that QOS? By what it and those above it list, add and take away; r NULL
 * may in none. */
bool assoc_has_qos(const struct core *c, const struct assocrec *r, const char *qos);
/* NULL = none is set on it or above it. */
const char *assoc_default_qos(const struct assocrec *r);
/* A limit that is passed down: the nearest that is set on it or above it. */
const struct limit *assoc_limit(const struct assocrec *r, enum resource_limit what,
                                const char *tres);
bool assoc_is_under(const struct assocrec *r, const struct assocrec *above); /* or is it */
/* Does the user manage this account: coordinator of it or of one above? */
bool account_coordinates(const struct core *c, const char *user, const char *account);
/* ADMIN_NONE for whoever is not known. */
enum admin_level account_level(const struct core *c, const char *user);
/* Hash of all records, whatever the order in which they came: for core_hash. */
uint64_t accounts_hash(const struct core *c, uint64_t hash);

/* ---- changing ------------------------------------------------------------------------------- */
/* Puts a record in the place of the one of its key, or beside the others. The former is kept in the
 * journal, if one is open, until accounts_keep or accounts_undo. */
void accounts_put(struct core *c, enum store_table table, const void *record);
/* Takes the limit with the key of `l` out. */
void limit_drop(struct core *c, const struct limit *l);
/* The number that the next new record of the table gets; it is given away only by accounts_put. */
uint32_t accounts_next_id(struct core *c, enum store_table table);
/* Stores it under a number and time of now. */
void transaction_put(struct core *c, struct transaction *t);
void accounts_journal(struct core *c); /* opens it */
/* Records changed since the request began; 0 = none, or no request is at work. */
size_t accounts_journaled(const struct core *c);
void accounts_keep(struct core *c); /* to the store */
void accounts_undo(struct core *c); /* all is as it was when the journal was opened */

#endif
