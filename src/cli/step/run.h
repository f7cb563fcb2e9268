/* Launches steps in an allocation and sees them through: one step, or one for each component of a
 * heterogeneous job, as one to the user. */
#ifndef REMUDA_CLI_STEP_RUN_H
#define REMUDA_CLI_STEP_RUN_H

#include "cli/step/output.h"
#include "cli/submit/allocation.h"
#include "model/message.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One step. `create` lacks address and key; `tasks` is what its shepherds are told. */
struct step_ask {
    struct msg_create_step create;    /* what the controller is asked */
    struct msg_stream_tasks tasks;    /* what the nodes are told */
    const struct output_ways *output; /* of this step alone; NULL = the run's */
};

struct step_run_ask {
    const struct step_ask *step;
    size_t nsteps;   /* one for each component */
    bool tasks_tell; /* why they failed: their exit codes are not said */
    bool label, unbuffered, pty, quiet, disable_status, quit_on_interrupt, kill_on_bad_exit,
        no_kill;
    int64_t wait_us;           /* 0 = never */
    int in_fd;                 /* the tasks' input; -1 = none */
    const int64_t *in_bytes;   /* so much of it, and no more; NULL = to its end */
    int32_t in_task;           /* ≥ 0: of that task only; -1 = all */
    struct output_ways output; /* of those steps that have no files of their own */
    const char *ports;         /* SrunPortRange; NULL = any */
    bool plain;                /* StreamTLS=NO: streams of other hosts are not encrypted */
    int32_t kill_wait_s; /* how long a step that is ended may take, to be said; 0 = the default */
    int verbose;         /* how often -v was given */
    /* Of a step that is refused: what is said before the reason, the exit status. NULL and 0: as
     * srun does. */
    const char *refused_as;
    int refused_status; /* what to end with where a step is refused */
    /* Called for each step once all exist, before their streams are used (--prolog, files named by
     * the job's id): may change the descriptors. May be NULL. False: the steps are ended again,
     * which has been explained. */
    bool (*created)(void *ctx, size_t i, const struct step *step);
    void *ctx;
};

/* The exit status of the command. Refusals and failures have been said. */
int step_run(struct allocation *al, const struct step_run_ask *ask);
/* Connects to a running step as sattach does: output comes here, input goes there, nothing ends
 * when the command does. */
int step_follow(struct allocation *al, uint64_t job_id, int64_t step_id,
                const struct step_run_ask *ask);

#endif
