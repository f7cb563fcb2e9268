/* Workloads as files: the Standard Workload Format, plain or gzipped, cleaned by the rule C1 of the scheduling literature. */
#ifndef REMUDA_SIM_TRACE_H
#define REMUDA_SIM_TRACE_H

#include "base/err.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_job {
    int64_t id;              /* as in the file */
    int64_t submit, run;     /* seconds; run is cut to the estimate */
    int64_t estimate;        /* of the user, seconds; run if there is none */
    int64_t procs;           /* processors, or GPUs */
    int64_t user, queue;     /* -1 = not given */
    int64_t gpus, gpus_node; /* fields 19 and 20; 0 = not given */
};

struct trace {
    char *name;                                  /* file name without folder and endings */
    VEC(struct trace_job) job;                   /* by submit, ties in file order */
    int64_t max_procs, max_nodes, gpus_per_node; /* of the header; 0 = not given */
    struct {
        uint64_t run0, procs0, submit0, wide;
    } dropped;
};

/* Reads and sorts; nothing is dropped yet. ERR names file and line. */
bool trace_read(const char *path, struct trace *ret, struct err *ret_err);
/* Cleaning C1 for a machine of so many processors. */
void trace_clean(struct trace *t, int64_t machine);
void trace_done(struct trace *t);

/* Keeps jobs first…last (counted from 1 in order of submission). */
void trace_keep(struct trace *t, size_t first, size_t last);
/* Moves each arrival by −seconds … +seconds, seeded, and sorts again. */
void trace_shake(struct trace *t, uint64_t seed, int64_t seconds);

/* A whole file, gunzipped if it is gzipped ("-": standard input); owned by the caller, with a 0 behind it. NULL with ret_err set. */
char *file_text(const char *path, size_t *ret_len, struct err *ret_err);

#endif
