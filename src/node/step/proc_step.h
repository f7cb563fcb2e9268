/* Whose step a process is by its ancestors, of which no process can choose another: shepherds are
 * subreapers, so what is below one is of its step, whatever it says of itself. */
#ifndef REMUDA_NODE_STEP_PROC_STEP_H
#define REMUDA_NODE_STEP_PROC_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_steps; /* opaque */

struct proc_step {
    uint64_t job_id;
    uint32_t attempt;
    int64_t step_id;
    bool elsewhere; /* of another node's daemon on this machine */
};

/* Shepherds are processes of user `keeper`. What was read of a process is remembered, its ancestors
 * too, so that many processes below one long chain of them cost no more than the chain. */
struct proc_steps *proc_steps_new(uid_t keeper);
void proc_steps_free(struct proc_steps *s); /* NULL is fine */
/* The directory of this node's steps (copied); before it is said none is elsewhere. */
void proc_steps_at(struct proc_steps *s, const char *dir);
/* All is read anew: numbers of processes are used again, so do so before each round. */
void proc_steps_forget(struct proc_steps *s);
/* The step whose shepherd the process descends from. False: it is below none, or is gone, or the
 * shepherd cannot be looked into. */
bool proc_steps_find(struct proc_steps *s, pid_t pid, struct proc_step *ret);

#endif
