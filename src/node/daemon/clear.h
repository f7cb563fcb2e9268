/* Killing what a lost shepherd left behind. */
#ifndef REMUDA_NODE_DAEMON_CLEAR_H
#define REMUDA_NODE_DAEMON_CLEAR_H

#include "io/log.h"

#include <stdint.h>

/* How long a daemon waits for that: a second of one step, and of more that follow at once next to
 * nothing, as it has others to serve. All zero at first. */
struct clear_pace {
    int64_t rest_until_ms;
};

/* Kills every process in the step's control groups, every process of that user (0: of anybody)
 * whose environment has the assignment `tag`, and all their descendants, again and again until none
 * is found, as long as the pace lets it; then removes the groups. What is found by its environment
 * is killed for half a minute more, beside the caller. Says in the log, of the step `step`, if some
 * are left. Returns how many were found last: 0 = none is left; -1 = that is not known yet. */
int clear_step(struct clear_pace *pace, struct log *log, const char *step, const char *cgroups,
               const char *name, const char *tag, int64_t uid_plus1);

#endif
