/* Jobs that are over for long, but that a job which is loaded still waits for: in memory they stay
 * until that is decided (core/life/forget.c), so a start loads them, too. */
#ifndef REMUDA_STORE_AWAITED_H
#define REMUDA_STORE_AWAITED_H

#include "model/job/job.h"
#include "store/job_filter.h"

#include <stdbool.h>
#include <stdint.h>

struct awaited; /* opaque */

/* Nothing was seen yet; never NULL. */
struct awaited *awaited_new(void);
void awaited_free(struct awaited *w); /* NULL is fine */
/* The row is loaded: what it waits for is noted. A dependency that cannot be read names nothing. */
void awaited_see(struct awaited *w, const struct job *j);
/* Was that row seen? */
bool awaited_has(const struct awaited *w, uint64_t id);
/* Some of the jobs that are waited for and of which not all need be there yet, to be read from the
 * store, and job_filter_done is due. After all rows were seen; false: there are no more. */
bool awaited_next(struct awaited *w, struct job_filter *ret);

#endif
