/* Memory of accounts and their like: a block of those that came at once, or each its own. */
#ifndef REMUDA_CORE_RECORD_ACCOUNTS_MEMORY_H
#define REMUDA_CORE_RECORD_ACCOUNTS_MEMORY_H

#include "core/record/accounts/accounts.h"

/* For n records of that size, zero; there is at most one of each kind. */
void *account_block_new(struct core *c, enum account_block_of of, size_t n, size_t size);
/* Frees a record or limit, unless it lies among others that came at once. */
void account_memory_free(struct core *c, void *p);
/* Is it memory of its own, to be freed, and not a piece of a block that was loaded? */
bool limit_list_is_own(const struct core *c, const limit_list *list);
/* Before something is put into it: a list that lies among others gets memory of its own. */
void limit_list_own(struct core *c, limit_list *list);
/* The association of that number among those that came at once, NULL if it is none of them. One
 * that was removed since is found, too: for numbers of which it is known that they are there. */
struct assocrec *assoc_in_block(const struct core *c, uint32_t id);
void accounts_blocks_free(struct core *c); /* when nothing points into them any more */

#endif
