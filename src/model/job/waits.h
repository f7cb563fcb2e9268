/* What a job waited for and how long for each cause: job.waited_for, "Resources=12,Priority=3", the
 * causes as reasons are called, times in seconds. */
#ifndef REMUDA_MODEL_JOB_WAITS_H
#define REMUDA_MODEL_JOB_WAITS_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

/* One more cause at the end of the list. */
void waits_add(struct str *list, const char *cause, int64_t seconds);
/* The next of the list; what is none is passed over. False: there is none. */
bool waits_next(struct span *rest, struct span *ret_cause, int64_t *ret_seconds);

#endif
