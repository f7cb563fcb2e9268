/* What a step's tasks are sent. Used by set.c alone. */
#ifndef REMUDA_NODE_SHEPHERD_TASKS_INPUT_H
#define REMUDA_NODE_SHEPHERD_TASKS_INPUT_H

#include "node/shepherd/tasks/set.h"

#include <stdint.h>

/* Closes it, if it is open, and says so: -1. */
void fd_close(int *fd);

/* Bytes that were sent ever: a reader that has as many has all. */
uint64_t input_until(const struct task_set *t);
/* Takes a message of that stream: queues its bytes, for all or for the one task that it names, and
 * writes what the readers take now. Who sends more than was granted, or far too many small pieces
 * for one task or another, is let go. */
void input_take(struct task_set *t, size_t stream, const struct msg_stream_data *m);
/* Writes to the task what it takes now; closes its end after the last byte. */
void input_write(struct task_set *t, struct task *task);
/* Forgets what every reader has. */
void input_forget(struct task_set *t);
/* Grants the commands that read what they are told as much as the tasks have room for. */
void input_grant(struct task_set *t);

#endif
