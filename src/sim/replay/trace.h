/* Workloads as files: the Standard Workload Format, plain or gzipped, cleaned by the rule C1 of the
 * scheduling literature. */
#ifndef REMUDA_SIM_TRACE_H
#define REMUDA_SIM_TRACE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_job {
    int64_t id;              /* as in the file; of a site's accounting, the number of its line */
    int64_t submit, run;     /* seconds; run is cut to the estimate */
    int64_t estimate;        /* of the user, seconds; run if there is none */
    int64_t procs;           /* processors, or GPUs */
    int64_t user, queue;     /* -1 = not given */
    int64_t gpus, gpus_node; /* fields 19 and 20; 0 = not given */
    int64_t started;         /* when it started in reality, seconds; -1 = not known */
    /* Of a site's accounting or queue; 0 or NULL = not given. Texts live in the trace. */
    int64_t nodes, mem_mib; /* memory of the whole job */
    const char *label;      /* job id as people know it: 1234_7 */
    const char *partition, *account, *user_name;
    const char *gpu_type;
    const char *constraint;
    const char *nodelist; /* where it runs already, at the moment the queue was looked at */
};

struct trace {
    char *name;                                  /* file name without folder and endings */
    VEC(struct trace_job) job;                   /* by submit, ties in file order */
    int64_t max_procs, max_nodes, gpus_per_node; /* of the header; 0 = not given */
    int64_t epoch; /* seconds since 1970 at the trace's second 0; 0 = not known */
    bool site;     /* jobs of a site, with all that it asks of them */
    /* A live queue: the second it was looked at; nothing waiting starts before; 0 = none */
    int64_t live_at;
    struct arena *text; /* NULL = none */
    struct {
        uint64_t run0, procs0, submit0, wide;
        uint64_t still; /* of a site: waits, runs or is held still */
    } dropped;
};

/* Reads and sorts; nothing is dropped yet. ERR names file and line. */
bool trace_read(const char *path, struct trace *ret, struct err *ret_err);
/* The same of a text, which is changed; *ret_line is where it stopped. The trace has no name. */
bool trace_parse(char *text, struct trace *ret, size_t *ret_line, struct err *ret_err);
/* The name a trace gets from the path of its file; owned by the caller. */
char *trace_name(const char *path);
void trace_sort(struct trace *t); /* by submission, stable */
/* Cleaning C1 for a machine of so many processors. */
void trace_clean(struct trace *t, int64_t machine);
void trace_done(struct trace *t); /* its texts; empty again */

/* Keeps jobs first…last (counted from 1 in order of submission). */
void trace_keep(struct trace *t, size_t first, size_t last);
/* Moves each arrival by −seconds … +seconds, seeded, and sorts again. */
void trace_shake(struct trace *t, uint64_t seed, int64_t seconds);
/* Is the job one whose waiting counts? Not of those that run already when a live queue is looked
 * at. */
bool trace_counts(const struct trace_job *j);

/* A whole file, gunzipped if it is gzipped ("-": standard input); owned by the caller, with a 0
 * behind it. NULL with ret_err set. */
char *file_text(const char *path, size_t *ret_len, struct err *ret_err);

#endif
