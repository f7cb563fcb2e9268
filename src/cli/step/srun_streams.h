/* Where the tasks' streams of one component of srun's line go: srun's own, files of srun's, or
 * files that the nodes write. */
#ifndef REMUDA_CLI_STEP_SRUN_STREAMS_H
#define REMUDA_CLI_STEP_SRUN_STREAMS_H

#include "base/arena.h"
#include "base/err.h"
#include "cli/step/run.h"
#include "script/options/options.h"

struct stream_way {
    const char *stream;    /* stdin, stdout or stderr */
    int fd;                /* -1 = it goes elsewhere */
    int32_t task;          /* -1 = all */
    const char *node_file; /* NULL = the stream */
    /* Of srun's own, whose name holds the job's id: opened when that is known. */
    const char *late_file;
    const char *number; /* what was taken for a task's number */
};

struct srun_streams {
    const struct submit_options *o; /* of the component */
    struct arena *a;
    struct stream_way in, out, err;
    struct output_ways files; /* out and err as step_run wants them */
};

/* Chooses from --input, --output and --error, and opens the files whose names are known. False with
 * an error that names the file. */
bool streams_choose(const struct submit_options *o, struct arena *a, struct srun_streams *ret,
                    struct err *e);
/* Did the component say anything of where its output goes? */
bool streams_have_output(const struct submit_options *o);
/* What the shepherds of the step are told. */
void streams_tell(const struct srun_streams *s, struct msg_stream_tasks *t);
/* When there is a step: opens the files whose names hold the job's or the step's number, and those
 * that are named like a task that the `ntasks` lack. False if one could not be opened, which has
 * been said. */
bool streams_open_late(struct srun_streams *s, const struct job *job, const struct step *step,
                       int32_t ntasks);

#endif
