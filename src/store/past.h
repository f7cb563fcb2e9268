/* store_query_past for a kind of store that has no reading of its own. */
#ifndef REMUDA_STORE_PAST_H
#define REMUDA_STORE_PAST_H

#include "store/store.h"

bool past_scan(struct store *s, struct past_query *q, store_past_fn fn, void *ctx,
               struct err *ret_err);

#endif
