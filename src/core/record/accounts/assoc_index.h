/* Where associations are found by account, user and partition, and in the tree; and workload keys
 * by name and user (wckey_ever). */
#ifndef REMUDA_CORE_RECORD_ACCOUNTS_ASSOC_INDEX_H
#define REMUDA_CORE_RECORD_ACCOUNTS_ASSOC_INDEX_H

#include "core/record/accounts/accounts.h"

/* Exactly this one, also one that was removed; user and partition may be NULL. */
struct assocrec *assoc_at(const struct core *c, const char *account, const char *user,
                          const char *partition);
/* Makes it, which is in the book by its number, found by account, user and partition (which may be
 * NULL); one that was removed is found, too. */
void assoc_index(struct core *c, const struct assocrec *r);
/* Makes room for so many more. */
void assoc_index_reserve(struct core *c, size_t more);
/* Before its texts change or it leaves the book; nothing where it is not indexed. */
void assoc_unindex(struct core *c, const struct assocrec *r);
/* Finds the one above it; root is above what hangs on an account that there is not. */
void assoc_hang(const struct core *c, struct assocrec *r);
/* A key that is in the book is found by wckey_ever from now on. */
void wckey_index(struct core *c, struct wckey *k);
/* Before its texts change or it leaves the book; nothing where another of them is found. */
void wckey_unindex(struct core *c, const struct wckey *k);

#endif
