/* The node's own control groups, in which those of its jobs are made. Version 1 controllers and
 * version 2 are both used, each where it is mounted and writable; for each thing that cannot be had
 * there is one sentence, and what is done instead. */
#ifndef REMUDA_NODE_CGROUP_BASE_H
#define REMUDA_NODE_CGROUP_BASE_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

/* Where to look what is mounted and which groups this process is in. */
struct cgroup_system {
    const char *mounts; /* /proc/self/mounts */
    const char *own;    /* /proc/self/cgroup */
    bool is_root;
    bool has_systemd; /* which is asked for a scope, as root of a machine with version 2 alone */
    /* Of a node that keeps jobs to no cores and hides no devices, whatever could be had: nothing is
     * said of either */
    bool is_virtual;
    /* Processes and threads that all jobs of the node may have together; 0 = no limit. */
    int64_t pids;
    const char *devices; /* files that are to be hidden, "195:0 195:1"; NULL = none */
};
/* This machine's; tests describe others. */
struct cgroup_system cgroup_system_here(void);

#define CGROUP_BASES_MAX 8

struct cgroup_bases {
    /* A line "controller=directory" each: memory, cpuset, devices, pids, freezer of version 1;
     * "unified:" with the version 2 controllers that can be had, joined by '+':
     * "unified:memory+cpuset+pids". */
    struct str text;
    /* What jobs are held to here, and a sentence for each thing they are not; sentences are
     * separated by "; " */
    struct str said;
    struct str scope;                  /* the group of our scope (cgroup/scope.h); empty = none */
    bool complete;                     /* nothing is missing */
    bool limits_memory, hides_devices; /* what groups here can do */
    int lock[CGROUP_BASES_MAX];        /* held until cgroup_bases_done: whose groups are in use */
    size_t nlocks;                     /* of `lock` */
};

/* Makes the node's groups below the groups of this process, named CGROUP_NAME_START
 * (io/process/groups.h) and `key` (unique on the machine). Groups so named whose daemon is gone,
 * beside them and in the lines of `former` (text as above, of an earlier start; NULL = none), are
 * removed unless processes are in them. */
void cgroup_bases_make(struct cgroup_bases *b, const struct cgroup_system *sys, const char *key,
                       const char *former);
/* Those of the bases, and of the lines of `former`, that are there: for the next start. One of
 * `former` that another daemon has is not ours: the directory with that line is a copy of its. */
void cgroup_bases_known(const struct cgroup_bases *b, const char *former, struct str *out);
/* At the end: removes those that hold no step, and lets go of the others. */
void cgroup_bases_done(struct cgroup_bases *b);

/* Takes the next line off the text. False at the end. */
bool cgroup_base_next(struct span *rest, char *controller, size_t controller_size, char *dir,
                      size_t dir_size);
/* The version 2 controllers of "unified:memory+pids" have it. */
bool cgroup_unified_has(const char *controller, const char *which);

#endif
