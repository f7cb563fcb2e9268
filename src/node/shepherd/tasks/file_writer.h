/* A process that writes one file of --label for the shepherd: it alone stands still when the file
 * system does not answer, or when a named pipe has no reader. The shepherd puts whole lines into a
 * pipe to it, and reads no more of a task whose lines the pipe does not take.
 *
 * It is the owner's, in none of the step's control groups, and gets none of the step's signals:
 * what the tasks wrote before they were killed still goes out. It ends when the shepherd has closed
 * the pipe and all is written; a step is not over before. One that takes nothing for a while after
 * the tasks' end is given up, and from then on killed, and named if it outlives that, as they are.
 */
#ifndef REMUDA_NODE_SHEPHERD_TASKS_FILE_WRITER_H
#define REMUDA_NODE_SHEPHERD_TASKS_FILE_WRITER_H

#include "node/shepherd/tasks/set.h"

struct file_writer {
    pid_t pid; /* 0 = it has ended */
    int lines; /* the shepherd's end of the pipe; does not block */
    int said; /* one int for each of its readers: 0 = open, or errno; its end: the writer is gone */
    struct file_writer *next;
};

/* As no limit of a job's counts them: so many of all steps of a user, and of a node, of which a
 * part is for users with few. */
#define FILE_WRITERS_OF_USER 2048
#define FILE_WRITERS_FEW     256
#define FILE_WRITERS_OF_NODE 4096
#define FILE_WRITERS_OF_MANY 3072 /* of the node's, for who has more than few */
#define FILE_WRITERS_TEXT    "2,048 files of a user's, and 4,096 of all,"

/* Places for n, before they are made; waits a while for those of others. False with errno, EAGAIN
 * where there are none. They are given back when the last of the step's writers has ended. */
bool file_writers_reserve(struct task_set *t, size_t n);
/* Makes one that opens path; `readers` may ask file_writer_opened. NULL with errno. */
struct file_writer *file_writer_start(struct task_set *t, const char *path, size_t readers);
/* In a task's process: waits for the file. 0, or errno. */
int file_writer_opened(int said);

#endif
