/* How the tasks of an MPI program find each other, on this node (srun --mpi): each has a descriptor
 * to the shepherd, which answers what it asks (agent/pmi.h), and meets the other nodes through the
 * command. Used by the tasks' files alone. */
#ifndef REMUDA_NODE_SHEPHERD_TASKS_MEET_H
#define REMUDA_NODE_SHEPHERD_TASKS_MEET_H

#include "node/shepherd/setup.h"
#include "node/shepherd/tasks/set.h"

struct meet; /* opaque */

/* When it is known what runs, before the first task starts. True: they may; false: tasks_start is
 * called when they may, or the step ends. */
bool meet_open(struct task_set *t);
/* A task's own end of a pair of descriptors, where it has one. False with errno. */
bool meet_end_open(struct task_set *t, size_t place, int *ret);
/* In the task's process: its variables, and its descriptor stays open when it executes. */
void meet_env(const struct task_set *t, const struct task *task, int fd, struct env *e);
/* The task is over. */
void meet_ended(struct task_set *t, size_t place);
/* All processes of the step are gone. */
void meet_done(struct task_set *t);
/* The command knows of all that are: what it is told from now on comes after that. */
void meet_ends_told(struct task_set *t);
/* The command says something. */
void meet_take(struct task_set *t, const struct msg_stream_mpi *m);

/* Does PMIx's server not read what the command said? Then that is to say no more. */
bool meet_is_behind(const struct task_set *t);

/* Entries to wait for, one for each task; all of them -1 where nothing was asked for. */
void meet_wait_for(const struct task_set *t, struct pollfd *v);
/* After poll(2): v as meet_wait_for filled it. */
void meet_serve(struct task_set *t, const struct pollfd *v);

#endif
