/* Waiting work as classes of equal requests and lanes of jobs in fixed order. */
#ifndef REMUDA_SCHED_BOOKS_CLASSES_H
#define REMUDA_SCHED_BOOKS_CLASSES_H

#include "sched/books/state.h"

void classes_free(struct cluster *cl);
void classes_regroup(
    struct cluster *cl); /* after a change of partitions: some classes become one user's own, or no longer */
void run_free(struct cluster *cl, struct run *r);

/* Order within a lane: who could run first comes first. */
int wjob_order(const struct wjob *a, const struct wjob *b);

#endif
