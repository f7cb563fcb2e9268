/* The tasks of a step on this node: started when the command says what to run, their streams
 * carried between their pipes (or terminal) and the command. Used by the shepherd's loop alone. */
#ifndef REMUDA_NODE_SHEPHERD_TASKS_SET_H
#define REMUDA_NODE_SHEPHERD_TASKS_SET_H

#include "node/shepherd/shepherd.h"
#include "node/shepherd/tasks/stream.h"
#include "node/step/shortage.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define FOLLOWERS_MAX (STREAMS_MAX - 1) /* sattach commands at one time */

struct file_turn;   /* opaque; files.c */
struct file_writer; /* file_writer.h */
struct meet;        /* opaque; meet.c */

/* A file on the node; see files.h. */
struct task_file {
    bool is_labelled;       /* the shepherd puts numbers before its lines; for its writer */
    bool is_over;           /* then: nothing is added any more */
    int fd;                 /* then: to the writer; -1 = none, or it has all */
    struct file_turn *turn; /* while the tasks are forked; NULL = none */
    bool turn_first;
    struct str begun; /* of a line, without its end yet */
    struct str late;  /* lines that it does not take yet */
};

struct task {
    int32_t id;                /* number in the step */
    const char *cpus;          /* NULL = those of the step */
    const char *gpus;          /* NULL = those of the step */
    const char *mem_nodes;     /* NULL = any */
    pid_t pid;                 /* 0 = not started */
    int status;                /* wait status, once it has ended */
    bool ended, told;          /* `told`: and its command knows */
    int out_fd, err_fd, in_fd; /* ours; -1 = none (any more) */
    uint64_t in_done;          /* of the input, bytes written to it, or meant for another */
    bool in_end;               /* no more comes for it alone */
    struct task_file file[2];  /* of its output and errors */
};

/* Input for one task alone (sattach --input-filter). */
struct input_part {
    uint64_t from, to; /* bytes of the input */
    int32_t task;      /* whose it is; below 0: of all */
};

struct task_set_ops {
    void (*signal)(void *ctx, int signo); /* the command wants all tasks to get it */
    /* The step must end: the command is gone, or its program said so. */
    void (*gone)(void *ctx);
};

struct task_set {
    const struct herd *herd;
    const struct step_plan *plan;
    const struct step_cgroup *groups;
    int failure_fd; /* where its tasks' processes say why they could not be set up */
    const struct task_set_ops *ops;
    void *ctx;
    struct task *task; /* owned, of n */
    size_t n;
    struct stream stream[STREAMS_MAX]; /* the command's, then those of sattach */
    int64_t granted[STREAMS_MAX];      /* bytes of input that each may still send */
    size_t grant_first;                /* of them, who is asked first */
    size_t nstreams;                   /* in use */
    struct arena *arena;               /* of `what` */
    struct msg_stream_tasks what;      /* what runs */
    bool ends;                         /* it was told to: its notices say so */
    bool asked;                        /* for `what` */
    /* all tasks were started; the command's stream has gone */
    bool launched, owner_gone, singletons_checked;
    bool detached;            /* no command: the plan says what runs, files take what it writes */
    struct shortage shortage; /* while it starts */
    int64_t tell_at_us;       /* ends that are not told yet; 0 = there are none */
    struct output_kept *kept; /* of what the tasks wrote last, for who attaches (output_keep.c) */
    bool is_pty;              /* task[0].out_fd and in_fd are the terminal's master */
    struct str input;         /* from byte input_from on */
    uint64_t input_from;
    bool input_end;
    struct input_part *part;     /* in order */
    size_t nparts;               /* of `part` */
    struct file_turn *turns;     /* while the tasks are forked */
    struct file_writer *writers; /* processes that write output files; NULL = none */
    int places_fd;               /* of the writers; -1 = none */
    size_t writers_took;         /* bytes since that was asked */
    struct meet *meet;           /* tasks of an MPI program; NULL = are not */
    int aborted_code;            /* it ended itself, with this exit code; 0 = did not */
};

/* Reads the tasks from the plan and connects to the command. False: why. */
bool task_set_open(struct task_set *t, char *why, size_t why_size);
/* A step without a command begins; after task_set_open. */
void task_set_launch(struct task_set *t);
/* Another command that wants to see (sattach); one too many is told so; silently not, if it cannot
 * be reached. */
void task_set_follow(struct task_set *t, const char *address, const char *key);

size_t task_set_wait_max(const struct task_set *t); /* room for entries to wait for */
/* Entries to wait for, into v; returns task_set_wait_max, as each has its place. Then
 * task_set_serve with the same entries. What is said from then on goes out with the next
 * task_set_wait_for, task_set_finish or, where something else is waited for, task_set_let_go. */
size_t task_set_wait_for(struct task_set *t, struct pollfd *v);
/* Is task_set_serve to be called though nothing comes? */
bool task_set_has_more(const struct task_set *t);
/* Reads outputs, writes input, sends; n must be task_set_wait_max. */
void task_set_serve(struct task_set *t, const struct pollfd *v, size_t n);
void task_set_let_go(struct task_set *t); /* sends it; whose stream has gone is noticed */

/* A child ended: was it one of the tasks? Then task_set_tell_ends once all that ended are known,
 * and again at tell_at_us (unless 0): tasks that end at about the same time are told of
 * together. */
bool task_set_reaped(struct task_set *t, pid_t pid, int status);
/* Tells who follows which tasks ended: at once when all have, else those of a short while together.
 * oom: memory ran out in the step. */
void task_set_tell_ends(struct task_set *t, bool oom, int64_t now_us);
/* Is it a process that writes a file for us (file_writer.h)? Was it one, which has ended now? Does
 * any still run? Did one take something since that was asked? */
bool task_set_writer_is(const struct task_set *t, pid_t pid);
/* was it one that writes output files? */
bool task_set_writer_reaped(struct task_set *t, pid_t pid);
bool task_set_writes(const struct task_set *t);  /* is one alive? */
bool task_set_writers_moved(struct task_set *t); /* since the last call */
/* Are all tasks over (or will none ever run)? */
bool task_set_over(const struct task_set *t);
/* The wait status the step ends with: the highest exit code, else a signal. */
int task_set_status(const struct task_set *t);
/* A line for the command's standard error; false if there is no command to take it. */
bool task_set_notice(struct task_set *t, const char *line);
/* Programs of MPI that srun started side by side, without a launcher of their library, are worlds
 * of their own, each rank 0 of 1: says so once. Called when tasks have run a while. */
void task_set_singletons_check(struct task_set *t);
/* No process is left: hands over what is still in the pipes, says DONE, waits until the command has
 * taken it all. */
void task_set_finish(struct task_set *t);

/* ---- for loop.c and finish.c ---- */

#define INPUT_BYTES INT64_C(262144) /* granted at first, and kept granted */

/* Starts what the command asks for; nothing if it has been. */
void tasks_launch(struct task_set *t, const struct msg_stream_tasks *m);
/* The second half of that, where something had to be waited for. */
void tasks_start(struct task_set *t);
/* Does the command's stream take no more for now? */
bool tasks_full(const struct task_set *t);
/* What a task that has ended may have left in its pipe, or terminal: others who have that may write
 * to it for ever. */
size_t task_output_left(int fd);
/* Tells who follows of all that have ended and were not told of. */
void tasks_tell_ends(struct task_set *t, bool oom);
/* One read of its output or errors, carried to where they belong: how many bytes; 0 when there is
 * nothing to read now, or nowhere to put it. */
size_t task_output_read(struct task_set *t, struct task *task, enum stream_name stream);
/* Of a terminal's master; does nothing unless both are above 0. */
void terminal_size_set(int fd, int32_t rows, int32_t columns);

/* task.c: in the new process of a task; descriptors are its own ends, groups_why is of
 * step_cgroup_fork. */
struct task_ends {
    int in, out, err, meet; /* descriptors of the task's side; -1 = none */
    const char *terminal;   /* NULL = none */
};
/* In the new process: binding, limits, user, environment, exec(3). `groups_why`: of
 * step_cgroup_fork. What fails is told through failure_fd. */
_Noreturn void task_exec(const struct task_set *t, const struct task *task, size_t local_id,
                         const struct task_ends *ends, int groups_why);

#endif
