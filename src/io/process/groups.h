/* Control groups of jobs as another process sees them: which one a process is in, and how one that
 * was started elsewhere comes into them. The node's daemon makes them (node/cgroup). */
#ifndef REMUDA_IO_PROCESS_GROUPS_H
#define REMUDA_IO_PROCESS_GROUPS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* How the name of a node's own group begins, below which those of its jobs are. */
#define CGROUP_NAME_START "remuda."

/* Of the text of /proc/PID/cgroup: the process is in a group that some node daemon made for a
 * job. */
bool groups_are_of_job(const char *text);

/* Of the same text of a job's process: it is in no group of a job any more, but in one of its
 * user's own manager of services, which he can have it put into (systemd-run --user --scope,
 * containers without root): nothing is hidden from it there. */
bool groups_left_job(const char *text);

/* Calls fn with the directory of each group of a job that process `pid` is in, one a hierarchy
 * (version 2 is one), as they are mounted here. Returns how many; 0 with an error where it is in
 * none, is gone, or they are not mounted. fn false ends it. */
size_t groups_of_process(pid_t pid, bool (*fn)(void *ctx, const char *dir), void *ctx,
                         struct err *ret_err);

/* Puts process `pid`, with all its threads, into the groups of a job that process `like` of user
 * `owner` is in; those that it makes from then on are in them, too. For root. False: `like` is
 * somebody else's by now or gone, in none of them, in one that no daemon of ours made, or `pid` is
 * in some only; `ret_err` (0 before) says which. */
bool groups_enter(pid_t pid, pid_t like, uid_t owner, struct err *ret_err);

#endif
