/* Files of a step's control groups, open: a shepherd that has the same groups for one short step
 * after another walks along their paths once. */
#ifndef REMUDA_NODE_CGROUP_FILES_H
#define REMUDA_NODE_CGROUP_FILES_H

#include <stdbool.h>
#include <stddef.h>

#define CGROUP_FILES_MAX 8 /* groups of one step */

/* Of the group that measures memory; "job": of the group above it. */
enum cgroup_file {
    CGROUP_KILLS, /* processes killed for memory */
    CGROUP_KILLS_JOB,
    CGROUP_CHARGED, /* bytes */
    CGROUP_CHARGED_JOB,
    CGROUP_SWAP, /* bytes; version 1: with those that are charged */
    CGROUP_SWAP_JOB,
    CGROUP_PEAK, /* version 1: the most that was charged; written to begin anew */
    CGROUP_PEAK_JOB,
    CGROUP_FILE_KINDS,
};

/* All zero: none is open. Numbers are of descriptors, plus 1. */
struct cgroup_files {
    int memory[CGROUP_FILE_KINDS]; /* descriptors + 1; 0 = not open, as of all */
    int tasks[CGROUP_FILES_MAX];
    int procs;
};

/* The text of such a file of the open group. False with errno. */
bool cgroup_file_get(struct cgroup_files *f, enum cgroup_file which, int dir_fd, bool v2,
                     char *buffer, size_t size);
/* Opened at the first use, below dir_fd; false, with errno, where the file is not there or refuses
 * the text. */
bool cgroup_file_put(struct cgroup_files *f, enum cgroup_file which, int dir_fd, bool v2,
                     const char *text);
/* Opens version 1's `tasks` of group i, which cgroup_files_enter is to write to. */
void cgroup_files_tasks(struct cgroup_files *f, size_t i, int dir_fd);
/* The calling thread enters group i. False with errno. */
bool cgroup_files_enter(const struct cgroup_files *f, size_t i, int dir_fd);
/* No process is in the group. */
bool cgroup_files_no_process(struct cgroup_files *f, int dir_fd, bool v2);
void cgroup_files_close(struct cgroup_files *f); /* those that are open */

#endif
