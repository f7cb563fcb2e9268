/* Which controllers the groups of a node have, and what jobs are held to by them. Private to base.c
 * and controllers.c. */
#ifndef REMUDA_NODE_CGROUP_CONTROLLERS_H
#define REMUDA_NODE_CGROUP_CONTROLLERS_H

#include "node/cgroup/base.h"

#include <limits.h>

/* A hierarchy, and whether it can be used. */
struct base_place {
    char point[PATH_MAX]; /* where the hierarchy is mounted */
    char own[PATH_MAX];   /* the group of this process in it, "" = the top */
    char why[512];        /* why it cannot be used */
    char no_scope[128];   /* why systemd made no scope */
};
/* Those that are looked for: version 1 of each, and version 2. */
struct base_places {
    /* of each hierarchy; `v2`: of the one for all */
    struct base_place memory, cpuset, devices, pids, freezer, v2;
};

/* Does the group's file name the controller? */
bool cgroup_lists(const char *dir, const char *file, const char *controller);
/* The base that has the controller, into `dir`; *ret_v2: in version 2. */
bool cgroup_base_of(const struct cgroup_bases *b, const char *which, char *dir, size_t size,
                    bool *ret_v2);
/* Can all processes of a group be ended in one go? */
bool cgroup_bases_end_all(const struct cgroup_bases *b);
/* Can files of these devices ("195:0 195:1"; NULL = none) be hidden from jobs? */
bool cgroup_bases_hide(const struct cgroup_bases *b, bool is_root, const char *devices);
/* Fills in `said`, `complete`, `limits_memory` and `hides_devices`. The reason of memory's place
 * may be put into words that fit better. */
void cgroup_bases_tell(struct cgroup_bases *b, const struct cgroup_system *sys,
                       struct base_places *p);

#endif
