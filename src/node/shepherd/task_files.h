/* Files on the node that the tasks' output goes to (srun -o with %t, %n or %N). The shepherd opens
 * them all before the first task starts, with the job owner's rights alone: so that a file that
 * tasks share is emptied once, and so that it can write the lines itself where they are to bear
 * task numbers (--label). */
#ifndef REMUDA_NODE_SHEPHERD_TASK_FILES_H
#define REMUDA_NODE_SHEPHERD_TASK_FILES_H

#include "node/shepherd/tasks.h"

/* What a file name pattern of the tasks stands for, of one of them; the caller frees it. */
char *task_path(const struct task_set *t, const struct task *task, const char *pattern);

/* Opens them; one that cannot be opened is left to its task, which says why. */
void task_files_open(struct task_set *t);
/* Does the shepherd write it, from the task's pipe? */
bool task_file_is_labelled(const struct task_set *t, const struct task *task,
                           enum stream_name stream);
/* Whole lines with the task's number before each; with `end` also what is left of one. Never waits:
 * what a pipe or a terminal does not take now stays late, and goes out with task_file_flush when it
 * takes more (POLLOUT). Until then the task is not read. */
void task_file_write(struct task_set *t, struct task *task, enum stream_name stream,
                     const char *bytes, size_t len, bool end);
bool task_file_is_late(const struct task_file *f);
void task_file_flush(struct task_set *t, struct task_file *f);

#endif
