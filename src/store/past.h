/* store_query_past for a kind of store that has no reading of its own. */
#ifndef REMUDA_STORE_PAST_H
#define REMUDA_STORE_PAST_H

#include "store/store.h"

/* Gives fn what the query asks for, as store_query_past (store.h) does, by reading whole tables: it
 * takes as long as there are rows. q->at and q->run_at move on. */
bool past_scan(struct store *s, struct past_query *q, store_past_fn fn, void *ctx,
               struct err *ret_err);

#endif
