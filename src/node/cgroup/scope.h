/* On a machine that systemd runs, its version 2 groups are systemd's, but for what it hands over: a
 * scope, a unit made of processes that are there already. */
#ifndef REMUDA_NODE_CGROUP_SCOPE_H
#define REMUDA_NODE_CGROUP_SCOPE_H

#include <stdbool.h>
#include <stddef.h>

/* Finds, or has systemd make, the scope "remuda-KEY.scope" with all controllers, for root. `point`:
 * where version 2 groups are mounted. Its group, in which groups may be made, is in `dir`. It
 * outlives this process. Takes a tenth of a second, the first time. False: systemd is not asked or
 * does not do it; `why`. */
bool cgroup_scope_take(const char *point, const char *key, char *dir, size_t size, char *why,
                       size_t why_size);
/* Gives the scope back, if no step is in it: it is gone then. `dir` as above. */
void cgroup_scope_end(const char *dir);

#endif
