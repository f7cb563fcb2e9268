/* How much of what a job had it used. */
#ifndef REMUDA_CLI_REPORTS_EFFICIENCY_H
#define REMUDA_CLI_REPORTS_EFFICIENCY_H

#include "base/vec.h"
#include "io/client.h"
#include "model/job.h"
#include "model/message.h"

#include <stdbool.h>

struct efficiency {
    int64_t ran_s;              /* without what it was stopped */
    int64_t cpu_s, cpu_had_s;   /* CPU time used; CPUs × time */
    int64_t mem_bytes, mem_had; /* at most; allocated, both in all. 0 = not known */
    bool mem_estimated;         /* of several tasks: the largest times their number */
    int32_t gpus;
    bool gpu_known;                   /* what its processes used of them */
    int64_t gpu_percent_s, gpu_had_s; /* percent × seconds; GPUs × seconds */
    int64_t gpu_mem_bytes;            /* at most, in all */
};

/* Jobs and their steps, by id. */
struct past {
    VEC(const struct job *) job;
    VEC(const struct step *) step;
};
/* What the query (HISTORY's filters) finds; false with ret_err. Records live in `a`. */
bool past_read(struct client *c, const struct msg_query *q, struct arena *a, struct past *ret,
               struct err *ret_err);
void past_done(struct past *p);

/* Of the latest run. */
void efficiency_of(const struct past *p, const struct job *j, int64_t now_us,
                   struct efficiency *ret);
/* 0 where there was nothing. */
double efficiency_percent(int64_t used, int64_t had);

#endif
