/* Sums of what was used, by whom and where, or hour by hour. */
#ifndef REMUDA_STORE_USED_TALLY_H
#define REMUDA_STORE_USED_TALLY_H

#include "store/store.h"
#include "store/used/job.h"

struct used_tally; /* opaque */
/* `q` is copied, its texts are borrowed */
struct used_tally *tally_new(const struct used_query *q);
void tally_free(struct used_tally *t); /* with its rows */

/* Adds to the row of `by` (of which what the query does not ask for is left aside), or to the hour
 * that begins at from_s. Generic resources are added to the row that was added to last. */
void tally_add(struct used_tally *t, const struct used *by, int64_t from_s, const struct used *sum);
/* to the row that the last tally_add was for */
void tally_add_gres(struct used_tally *t, const char *name, int64_t amount);
/* What of the job falls into the query's time. */
void tally_add_job(struct used_tally *t, const struct used_job *u);

/* In the order of whom and where, or of time. */
void tally_give(struct used_tally *t, store_row_fn fn, void *ctx);

/* By whom and where a job is counted; names that it does not have are NULL. Texts are the job's, or
 * stand in `number`. */
void used_by_job(const struct job *j, char number[16], struct used *ret);
#define USED_HOUR_S 3600

#endif
