/* Killing what a lost shepherd left behind. */
#ifndef REMUDA_NODE_DAEMON_CLEAR_H
#define REMUDA_NODE_DAEMON_CLEAR_H

#include <stddef.h>

/* Kills every process in the step's control groups, every process whose environment has the
 * assignment `tag`, and all their descendants, again and again until none is found, for a second at
 * most; then removes the groups. Returns how many are still there. */
size_t clear_step(const char *cgroups, const char *name, const char *tag);

#endif
