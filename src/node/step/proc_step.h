/* Whose step a process is by its ancestors, of which no process can choose another: shepherds are
 * subreapers, so what is below one is of its step, whatever it says of itself. */
#ifndef REMUDA_NODE_STEP_PROC_STEP_H
#define REMUDA_NODE_STEP_PROC_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_step {
    uint64_t job_id;
    uint32_t attempt;
    int64_t step_id;
};

/* The step whose shepherd, a process of user `keeper`, the process descends from. False: it is
 * below none, or is gone, or the shepherd cannot be looked into. */
bool proc_step_find(pid_t pid, uid_t keeper, struct proc_step *ret);

#endif
