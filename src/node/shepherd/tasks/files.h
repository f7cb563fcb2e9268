/* Files on the node that the tasks' output goes to (srun -o with %t, %n or %N). Each task opens its
 * own, so that a file system that does not answer stops the task and not the shepherd, which would
 * end neither at its limit nor by scancel. A file that tasks share is emptied by the first of them,
 * for which the others wait. Where lines are to bear task numbers (--label) the shepherd puts them
 * there, and a process for each file opens and writes it (file_writer.h). */
#ifndef REMUDA_NODE_SHEPHERD_TASKS_FILES_H
#define REMUDA_NODE_SHEPHERD_TASKS_FILES_H

#include "node/shepherd/tasks/set.h"

/* What a file name pattern of the tasks stands for, of one of them; the caller frees it. */
char *task_path(const struct task_set *t, const struct task *task, const char *pattern);

/* Finds who opens what; of --label it starts their writers. False, with why: these would be too
 * many, and no task may start. task_files_begun when the tasks have been forked. */
bool task_files_open(struct task_set *t, struct str *ret_why);
/* All tasks have their files: what they took turns by is closed. */
void task_files_begun(struct task_set *t);
/* In the task's process: the descriptor to keep until its file is open (-1: none), and the opening,
 * which waits for the file's first task. -1 with errno. */
int task_file_turn_fd(const struct task_file *f);
/* In the task's own process, as its user; waits for its turn where several tasks have one file. -1,
 * with errno. */
int task_file_open_own(const struct task_file *f, const char *path, bool append);
/* Of --label: waits until the writer has it open; its_pipe, or -1 with errno. */
int task_file_opened(const struct task_file *f, int its_pipe);
/* Does the shepherd carry it, from the task's pipe to the file's writer? */
bool task_file_is_labelled(const struct task_set *t, const struct task *task,
                           enum stream_name stream);
/* Whole lines with the task's number before each; with `end` also what is left of one. Never waits:
 * what the writer does not take now stays late, and goes out with task_file_flush when it
 * takes more (POLLOUT). Until then the task is not read. */
void task_file_write(struct task_set *t, struct task *task, enum stream_name stream,
                     const char *bytes, size_t len, bool end);
/* Of len bytes as many whole lines as go out together, so that lines of several tasks do not mix in
 * a named pipe; at least one. */
size_t task_file_piece(const char *bytes, size_t len);
/* Nothing is added any more: the writer may end when it has all. */
void task_file_end(struct task_set *t, struct task_file *f);
/* Something waits to be written, as the file could take no more. */
bool task_file_is_late(const struct task_file *f);
/* Writes what waits, as far as it goes; a file that is over is closed when nothing does. */
void task_file_flush(struct task_set *t, struct task_file *f);

#endif
