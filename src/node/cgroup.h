/* Control groups of steps. Version 1 controllers and version 2 are both used, each where it is mounted and
 * writable; what is not there is said in one sentence and done without: usage is then sampled from /proc,
 * processes are found as descendants, limits are not enforced. */
#ifndef REMUDA_NODE_CGROUP_H
#define REMUDA_NODE_CGROUP_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

/* For the node daemon, at start: makes a directory for the node's steps below this process's own groups, one
 * for each controller there is. `bases` gets a line "controller=directory" for each (controllers: memory,
 * cpuset, devices of version 1; "unified" with the version 2 controllers it has:
 * "unified:memory+cpuset+cpu+pids"); `missing` gets a sentence, ended by a newline, for each thing steps must
 * do without. `key` names the directory: unique on the machine. */
void cgroup_bases_make(const char *key, struct str *bases, struct str *missing);
/* At the end: removes those that hold no step. */
void cgroup_bases_remove(const char *bases);

/* Can device files be hidden from steps with these bases? */
bool cgroup_hides_devices(const char *bases);

#define STEP_CGROUP_MAX 4

/* The groups of one step. */
struct step_cgroup {
    char *dir[STEP_CGROUP_MAX]; /* owned */
    char *memory;               /* of these, the one that measures memory; NULL = none */
    size_t n;
    bool unified; /* memory is a version 2 group */
    bool hides;   /* the devices that were to be hidden are */
};

/* Makes the step's groups below the bases (text as above; NULL = none), with its limits. What cannot be made
 * is left out. `deny` lists device files to hide ("195:1 195:2"; NULL = none): see `hides`. */
void step_cgroup_make(struct step_cgroup *c, const char *bases, const char *name, int64_t mem_limit_bytes,
                      const char *cpus, const char *deny);
/* Puts the calling process into them. */
void step_cgroup_enter(const struct step_cgroup *c);
int64_t step_cgroup_rss(const struct step_cgroup *c); /* now, page cache not counted; -1 = not measured */
bool step_cgroup_oom(const struct step_cgroup *c);    /* was a process killed for memory? */
/* Kills whatever is in them, for a step whose shepherd is gone. */
void step_cgroup_kill(const struct step_cgroup *c);
/* Removes them; processes must be gone. */
void step_cgroup_remove(struct step_cgroup *c);
/* Opens the groups of a step that another process made. */
void step_cgroup_open(struct step_cgroup *c, const char *bases, const char *name);

#endif
