/* What is known of the people whose work waits, beside what they ask for: how much they used and
 * use, and how long such jobs of theirs ran. Only the default order (order.h) looks at it. */
#ifndef REMUDA_SCHED_BOOKS_LIMITS_PEOPLE_H
#define REMUDA_SCHED_BOOKS_LIMITS_PEOPLE_H

#include "sched/books/state.h"

/* One that is new has used nothing. The cluster's own, and stays. */
struct person *cluster_person(struct cluster *cl, uint32_t uid);
/* What running work holds counts for its user. */
void person_run(struct cluster *cl, struct run *r);
void person_run_over(struct run *r);  /* takes off what person_run added */
void people_free(struct cluster *cl); /* at the end of the cluster */

void holding_add(struct holding *to, const struct holding *more, int64_t sign); /* 1 or -1 */
/* Of the whole cluster, the larger of its parts of all CPUs and all GPUs, in FACTOR_ONE-ths. */
int64_t person_busy(const struct cluster *cl, const struct person *p);
/* The same of anything that is held, memory among it: who has all of that of a node has the node,
 * though its CPUs are idle. */
int64_t holding_part(const struct cluster *cl, const struct holding *h);
/* How long a job that asks for limit_us (0 = no limit given) is expected to run; 0 = not known. */
int64_t share_expected(const struct share *s, int64_t limit_us);

#endif
