/* Waiting work as classes of equal requests and lanes of jobs in fixed order. */
#ifndef REMUDA_SCHED_BOOKS_CLASSES_H
#define REMUDA_SCHED_BOOKS_CLASSES_H

#include "sched/books/state.h"

/* A job that is new comes into the lane and the class of its request. `w` is copied; its request
 * and magnets into the class. */
void wjob_enter(struct cluster *cl, struct wjob *j, const struct waiting *w);
/* Fills in what the planner itself knows of whose it is: share, own, person. */
void waiting_know(struct cluster *cl, struct waiting *w, const struct job_request *req);
/* It goes on as `w` says, in whichever lane that is. `w` may point into its present class. */
void wjob_change(struct cluster *cl, struct wjob *j, const struct waiting *w);
/* It leaves its lane; lane and class go with the last job. The job itself stays the caller's. */
void wjob_leave(struct cluster *cl, struct wjob *j);

/* After a change of partitions: some classes become one user's own, or no longer. */
void classes_regroup(struct cluster *cl);
/* After jobs were told what they are promised: who stands in his lane behind one who was promised a
 * later start, or none, gets another lane. */
void wjobs_promised_apart(struct cluster *cl);
/* Frees all jobs that wait, and their lanes and classes. */
void classes_free(struct cluster *cl);

/* The times and the number by which it stands among equals: its own, or those of its place. */
static inline int64_t stands_since(const struct waiting *w)
{
    if (w->place.job_id)
        return w->place.since_us;
    return w->ages_us ? w->ages_us : w->eligible_us;
}

static inline int64_t stands_submitted(const struct waiting *w)
{
    return w->place.job_id ? w->place.submit_us : w->submit_us;
}

static inline uint64_t stands_as(const struct waiting *w)
{
    return w->place.job_id ? w->place.job_id : w->job_id;
}

/* From when on its place gains by waiting. */
static inline int64_t stands_from(const struct waiting *w)
{
    int64_t since = stands_since(w), submitted = stands_submitted(w);
    return since > submitted ? since : submitted;
}

/* Order within a lane: who could run first comes first. */
int wjob_order(const struct wjob *a, const struct wjob *b);

#endif
