/* What the processes of a step use: samples of /proc and of the control groups, summed up in the
 * shepherd's note; where nothing else enforces a memory limit, the samples do. */
#ifndef REMUDA_NODE_SHEPHERD_WATCH_USAGE_H
#define REMUDA_NODE_SHEPHERD_WATCH_USAGE_H

#include "node/shepherd/step.h"

/* waitpid(-1, …, WNOHANG), with what the process used counted to its task. */
pid_t shepherd_wait(struct shepherd *s, int *ret_status);
/* Takes a sample, tells it, and says in s->sample_at_us when the next is due. */
void shepherd_sample_due(struct shepherd *s);
/* The time between two samples at most; 0 = none are taken. */
int64_t shepherd_sample_gap(const struct shepherd *s);
/* At the end: what those used that ended and were waited for. */
void shepherd_usage_of_ended(struct shepherd *s);
/* Counts the suspended time so far. */
void shepherd_suspension_count(struct shepherd *s);

#endif
