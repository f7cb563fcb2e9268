/* Where associations are found by account, user and partition, and in the tree. */
#ifndef REMUDA_CORE_RECORD_ACCOUNTS_ASSOC_INDEX_H
#define REMUDA_CORE_RECORD_ACCOUNTS_ASSOC_INDEX_H

#include "core/record/accounts/accounts.h"

/* Exactly this one, also one that was removed; user and partition may be NULL. */
struct assocrec *assoc_at(const struct core *c, const char *account, const char *user,
                          const char *partition);
/* Makes it found by account, user and partition (which may be NULL); removed ones stay beside those
 * that are there. */
void assoc_index(struct core *c, struct assocrec *r);
/* Before its record is freed; nothing where it is not indexed. */
void assoc_unindex(struct core *c, const struct assocrec *r);
/* Finds the one above it. */
void assoc_hang(const struct core *c, struct assocrec *r);

#endif
