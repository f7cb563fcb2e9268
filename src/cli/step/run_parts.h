/* One run of step_run or step_follow, shared by the files that are its parts: step/run.c (the loop
 * and the end), step/run_call.c (the controller), step/run_peers.c (the shepherds' streams and the
 * tasks' input), step/run_mpi.c (how tasks of MPI meet), step/run_signals.c (signals, Ctrl-C). */
#ifndef REMUDA_CLI_STEP_RUN_PARTS_H
#define REMUDA_CLI_STEP_RUN_PARTS_H

#include "cli/program/command_signals.h"
#include "cli/step/run.h"
#include "cli/step/stream_hub.h"
#include "cli/step/tasks.h"

#include <poll.h>

enum phase { STEP_ASKED, STEP_MADE, STEP_OVER };

struct one_step;
struct meeting; /* opaque; run_mpi.c */

/* A node of a step. */
struct step_node {
    struct one_step *step;    /* that it is of */
    const char *name;         /* the arena's */
    const char *task_ids;     /* those it runs: "0-3" */
    struct stream_peer *peer; /* NULL = it has not come yet, or is gone */
    int64_t credit;           /* bytes of input that its tasks have room for */
    bool came, done;          /* once; `done`: all its tasks have ended */
};

struct one_step {
    const struct step_ask *ask;    /* borrowed */
    struct msg_create_step create; /* as sent, with what this run adds */
    uint64_t call;                 /* number of the call that is open; 0 = none */
    unsigned asked;                /* how often, a connection each */
    enum phase phase;
    struct step step;    /* as it was made */
    struct alloc layout; /* on which nodes its tasks are */
    struct step_node *node;
    size_t nnodes;              /* of `node` */
    int32_t first;              /* number of its first task over all steps */
    struct step_tasks *tasks;   /* how each is */
    struct step_output *output; /* the run's, or its own */
    int32_t ended_status;       /* as the controller told it; before: not known */
    enum job_state ended_state;
    int64_t ended_at_ms; /* of the clock that is never set; 0 = it has not */
};

struct srun_run {
    const struct step_run_ask *ask; /* borrowed */
    struct allocation *al;          /* the job; its calls are this run's */
    struct arena *a;
    struct stream_hub *hub; /* where shepherds connect to */
    /* The one that steps share, then those of steps with files of their own; none before all steps
     * exist. */
    struct step_output **output;
    size_t noutput; /* of `output` */
    struct one_step *step;
    size_t nsteps; /* of `step`, in the order of components */
    bool follows;  /* sattach */
    /* what has been said or done, once each */
    int64_t input_bytes; /* so far */
    bool refused, input_over, killed, pending_said, noticed, aborted_said;
    bool end_asked, end_gently; /* the controller was, or is to be, told to end the steps */
    /* A full disk, or a reader that went away: what becomes of the tasks then is its doing. */
    bool output_lost, reader_gone;
    int32_t ntasks;                       /* of all steps */
    int64_t interrupted_ms, first_end_ms; /* first Ctrl-C; first end of a task; 0 = none yet */
    /* The tasks have had SIGINT: from then on the step is ended; 0 = they have not. */
    int64_t abort_at_ms;
    int64_t told_to_end_ms; /* somebody ended the command by a signal; 0 = nobody did */
    int64_t ending_ms;      /* since when the controller knows that they are to end; 0 = not */
    bool gave_up;           /* whoever had to end the step did not */
    int32_t last_bad;       /* status of the tasks that were said to have failed last */
    int status;             /* what the command ends with, so far */
    int refused_signal;     /* that no task could be given; 0 = none */
    /* Of an MPI program: what its tasks are told, who meets, and with which code it ended itself (0
     * = it did not). */
    const char *mpi_map, *mpi_name;
    struct meeting **meeting; /* owned; those that are open */
    size_t nmeetings;         /* of them */
    int mpi_code;
    struct pollfd *fd; /* what the loop waits for */
};

/* ---- step/run_words.c ---- */
/* A line of the command's own, unless --quiet. */
void run_say(const struct srun_run *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A warning: --quiet does not keep it. */
void run_warn(const struct srun_run *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A line for --verbose. */
void run_tell(const struct srun_run *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same of each job that steps are made in: its nodes, and how many CPUs it has on them. */
void run_jobs_tell(const struct srun_run *r);
/* "42.0", in the run's arena */
const char *run_step_name(const struct srun_run *r, const struct one_step *s);

typedef void (*node_fn)(struct srun_run *r, struct step_node *n, void *arg);
/* Calls for each node of each step. */
void run_each_node(struct srun_run *r, node_fn fn, void *arg);

/* step/run_call.c: asks the controller for all steps that are not over, or again after it was away;
 * takes what it says. */
void run_ask_all(struct srun_run *r);
/* All that has come; nothing more is known of the controller where the connection is gone. */
void run_controller_read(struct srun_run *r);
/* Asks it to end all steps, at once or gently: with SIGTERM before SIGKILL; why (may be NULL) is
 * said. */
void run_kill(struct srun_run *r, const char *why, bool gently);

/* step/run_peers.c: for hub_new, with the run as ctx. */
extern const struct hub_ops run_hub_ops;
/* May input be read now? Then reads some and sends it to the nodes whose tasks read. */
bool run_input_wanted(struct srun_run *r);
/* As much as every task that gets input has room for; nothing while one has none. */
void run_input_read(struct srun_run *r);

/* step/run_mpi.c: says to the tasks of an MPI program where they all are. */
void run_mpi_tell(struct srun_run *r, struct msg_stream_tasks *t);
/* A frame of a node's about its tasks of MPI: meetings, questions of PMI, aborts. */
void run_mpi_take(struct srun_run *r, struct step_node *n, const struct msg_stream_mpi *m);
/* Tasks have ended: do others wait for them? */
void run_mpi_check(struct srun_run *r);
void run_mpi_done(struct srun_run *r); /* meetings that never came to an end, too */

/* step/run_signals.c */
void run_signal_nodes(struct srun_run *r, int signo);
/* Ends the step if its tasks had a second for Ctrl-C. */
void run_abort_check(struct srun_run *r);
/* Whoever ended the command by a signal does not wait for a controller that is away: longer than
 * for the tasks, which their shepherds end, too. Nor does a command that ended its step wait for a
 * node that does not end it. True: it gives up, and has said so. */
bool run_give_up_check(struct srun_run *r);
/* How long the end may take. */
void run_aborted_say(struct srun_run *r);
/* What a signal to this command means for the step: told to its tasks, unless they have heard it
 * already (model/grammar/signals.h). */
void run_signal_take(struct srun_run *r, const struct command_signal *got);
/* How the tasks are. */
void run_status_say(struct srun_run *r);

#endif
