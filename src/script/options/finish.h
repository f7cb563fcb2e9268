/* Inside script/: what the cross-checks of finish.c and gpus_finish.c share. */
#ifndef REMUDA_SCRIPT_OPTIONS_FINISH_H
#define REMUDA_SCRIPT_OPTIONS_FINISH_H

#include "script/options/options.h"

struct finishing {
    struct submit_options *o; /* what was read, completed here */
    struct job_request *q;    /* of o */
    unsigned command;
    struct arena *a;
    struct str *warnings; /* a line each */
};

/* Of two options that exclude each other the one from the weaker source is to be dropped; two of
 * the same are an error. */
bool rivals_judge(struct finishing *f, const char *first, const char *second, bool *ret_drop_first,
                  bool *ret_drop_second, struct err *e);
/* The same for numbers: the one to drop is set to 0. */
bool i32_rivals(struct finishing *f, const char *first, int32_t *x, const char *second, int32_t *y,
                struct err *e);
/* Of the GPUs that a step asks for, by whatever options, all have a type or none has: they are
 * added up. */
bool step_gpu_types_agree(struct finishing *f, struct err *e);
/* Numbers of GPUs, tasks and nodes of a job that follow from each other, or contradict. */
bool gpus_finish(struct finishing *f, struct err *e);

/* plane=N deals N tasks to a node before the next gets any: false, and why, if not each node of a
 * job gets some. srun does without those that get none. */
bool options_plane_reaches(const struct finishing *f, struct err *ret_err);

#endif
