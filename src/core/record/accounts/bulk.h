/* Taking in many records at once. */
#ifndef REMUDA_CORE_RECORD_ACCOUNTS_BULK_H
#define REMUDA_CORE_RECORD_ACCOUNTS_BULK_H

#include "core/record/accounts/accounts.h"
#include "model/packed.h"

/* All rows of the tables that are packed; after those of the QOS, before anything else is there. */
void accounts_load_packed(struct core *c, const struct packed *p);

#endif
