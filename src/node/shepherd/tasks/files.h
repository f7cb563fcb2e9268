/* Files on the node that the tasks' output goes to (srun -o with %t, %n or %N). Each task opens its
 * own, so that a file system that does not answer stops the task and not the shepherd, which would
 * end neither at its limit nor by scancel. A file that tasks share is emptied by the first of them,
 * for which the others wait. Where lines are to bear task numbers (--label) the shepherd writes
 * them: it opens these files before the first task starts, with the job owner's rights alone. */
#ifndef REMUDA_NODE_SHEPHERD_TASKS_FILES_H
#define REMUDA_NODE_SHEPHERD_TASKS_FILES_H

#include "node/shepherd/tasks/set.h"

/* What a file name pattern of the tasks stands for, of one of them; the caller frees it. */
char *task_path(const struct task_set *t, const struct task *task, const char *pattern);

/* Opens those of --label; one that cannot be opened is left to its task, which says why. Of the
 * others it finds who is first; task_files_begun when the tasks have been forked. */
void task_files_open(struct task_set *t);
void task_files_begun(struct task_set *t);
/* In the task's process: the descriptor to keep until its file is open (-1: none), and the opening,
 * which waits for the file's first task. -1 with errno. */
int task_file_turn_fd(const struct task_file *f);
int task_file_open_own(const struct task_file *f, const char *path, bool append);
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
