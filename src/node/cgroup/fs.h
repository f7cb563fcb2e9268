/* Control groups as the files they are: reading, writing, ending and removing one group. Knows
 * nothing of jobs. */
#ifndef REMUDA_NODE_CGROUP_FS_H
#define REMUDA_NODE_CGROUP_FS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A control file as a whole. False with errno. A text that does not fit is cut. */
bool cgroup_put(const char *dir, const char *file, const char *text);
bool cgroup_put_number(const char *dir, const char *file, int64_t value); /* as cgroup_put */
/* Reads what fits, with a NUL; false, with errno, where it cannot be read. `dir` is absolute. */
bool cgroup_get(const char *dir, const char *file, char *buffer, size_t size);
/* Controllers that are off have no such files. */
bool cgroup_has(const char *dir, const char *file);
/* The same of a group that is open: its path is not walked again. `file` may be "../FILE", of the
 * group above. */
bool cgroup_put_at(int dir_fd, const char *file, const char *text);
/* as cgroup_get, below an open directory */
bool cgroup_get_at(int dir_fd, const char *file, char *buffer, size_t size);

/* The number in the line "KEY NUMBER"; -1 if there is none. */
int64_t cgroup_number(const char *text, const char *key);

/* Makes it; true if it is there already. */
bool cgroup_make(const char *dir);
/* Removes the group with all groups in it. Those with processes stay, with what they are in:
 * nothing is ever ended by this. True when nothing is left. */
bool cgroup_remove(const char *dir);

/* Calls fn for each process of the group and of the groups in it. Returns how many there are. */
size_t cgroup_each_process(const char *dir, void (*fn)(void *ctx, pid_t pid), void *ctx);
/* SIGKILL to each of them. */
size_t cgroup_kill_each(const char *dir);
/* Version 2: ends all at once, also those that are being born. False if this kernel (before 5.14)
 * or this group cannot. */
bool cgroup_kill_whole(const char *dir);
/* Version 1 freezer: nobody in it runs from now on (or does again). */
bool cgroup_freeze(const char *dir, bool frozen);

#endif
