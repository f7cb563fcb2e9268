/* One srun, shared by the files that are its parts: srun.c (the command), srun_tasks.c (what the
 * steps ask for and their tasks run), srun_multi.c (--multi-prog), srun_groups.c (which component
 * of the job each step is of), srun_bcast.c (--bcast), srun_container.c (--container-image).
 * Failures leave their sentence in the err. */
#ifndef REMUDA_CLI_STEP_SRUN_PARTS_H
#define REMUDA_CLI_STEP_SRUN_PARTS_H

#include "cli/step/run.h"
#include "cli/step/srun_streams.h"
#include "cli/submit/allocation.h"
#include "cli/submit/command.h"

#include <stdbool.h>
#include <stddef.h>

struct launch {
    struct submit_command line;   /* the command line, read */
    struct allocation al;         /* the job, had or made */
    struct step_ask *step;        /* one for each component */
    struct step_run_ask run;      /* what step_run gets */
    struct srun_streams *streams; /* of each component */
    const char *prolog, *epilog;  /* --prolog, --epilog; NULL = none */
    /* Which component of the line each step is of; NULL = the one of its number. */
    const size_t *comp_of;
    struct step *made; /* the steps, once they are */
};

/* Fills each step from its component's options, all but the job's id. */
bool srun_steps_fill(struct launch *l, struct err *e);
/* In a job that was found, before its steps are bound: of root's environment little where the job
 * is another's. */
bool srun_env_settle(struct launch *l, struct err *e);
/* Where in argv the words of component i's program are; false if it has none. */
bool srun_program_words(const struct launch *l, size_t i, int *ret_from, int *ret_to);

/* With --container-image or --container-name of component i: its tasks run their program in that
 * container. ERR_VALUE, ERR_UNSUPPORTED and others: what was asked for makes no sense. */
bool srun_container_take(struct launch *l, size_t i, struct step_ask *s, struct err *e);

/* Reads the file of --multi-prog for component i, lines that end in a backslash joined. */
bool srun_multi_prog_read(struct launch *l, size_t i, const char *path, struct err *e);
/* Does the file of --multi-prog name a program for each of the component's tasks, and none twice? 0
 * tasks = they are not known yet. */
bool srun_multi_prog_check(const struct launch *l, size_t i, int32_t ntasks, struct err *e);

/* Each step to a component of the job, in their order. */
void srun_jobs_bind(struct launch *l);
/* In a job that exists already: as --het-group says. May change the number of steps. */
bool srun_groups_bind(struct launch *l, struct err *e);

/* The component of the job with this id. */
const struct job *srun_job_of(const struct launch *l, uint64_t id);
/* Several components, all made: tells the tasks of each how they are counted together. */
void srun_groups_join(struct launch *l);

/* --async (srun_async.c): is it possible with the other options? Then where the tasks' streams go;
 * then the step is queued and its number printed. */
bool srun_async_check(const struct launch *l, struct err *e);
/* Files of the step, no streams to here: each appended to, "none" is /dev/null. */
void srun_async_streams(const struct submit_options *o, struct msg_stream_tasks *t);
/* --async: prints "Submitted job step 12.0" and leaves the step to itself; the exit status. */
int srun_async(struct launch *l);

/* With --bcast copies the program to each node of the job and makes the steps run that copy. False
 * when that failed, which has been said. */
bool srun_bcast(struct launch *l);

#endif
