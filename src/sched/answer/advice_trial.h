/* One advice is being looked for: what the rows of advice.c and advice_gpus.c share. */
#ifndef REMUDA_SCHED_ANSWER_ADVICE_TRIAL_H
#define REMUDA_SCHED_ANSWER_ADVICE_TRIAL_H

#include "sched/answer/advice.h"
#include "sched/answer/whatif.h"

struct trial {
    struct whatif w;               /* the cluster as it would be */
    const struct job_request *req; /* as it is */
    const struct option *o;        /* of its first partition */
    const char *groups;            /* of who asks */
    struct arena *a;
    struct advices *ret; /* what has been found so far */
};

/* Would it start now with this request, and nobody give way? `anew`: as a job that is submitted
 * now. */
bool trial_starts_now(struct trial *t, struct job_request req, bool anew);
/* Adds an advice; the request is copied. `update` NULL = only by submitting it anew. */
void trial_advise(struct trial *t, const struct job_request *req, int64_t start_us,
                  const char *option, const char *update);
/* A change that is tried once, and advised if it helps. */
void trial_once(struct trial *t, struct job_request req, const char *option, const char *update);

typedef void (*amount_set)(struct job_request *req, int64_t value, void *ctx, struct arena *a);
/* The largest of least, 2 × least, … below `most` with which it starts now; 0 = none. What is
 * returned was itself tried. */
int64_t trial_largest(struct trial *t, int64_t least, int64_t most, bool anew, amount_set set,
                      void *ctx);

/* advice_gpus.c: other types of GPU, fewer of them. */
void advise_gpu_types(struct trial *t);
/* Adds the largest number of GPUs, fewer than it asks for, with which it would start earlier. */
void advise_fewer_gpus(struct trial *t);

#endif
