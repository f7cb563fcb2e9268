/* A site's own jobs as a workload: what sacct -P prints, and what squeue prints of a live queue. */
#ifndef REMUDA_SIM_ACCOUNTING_H
#define REMUDA_SIM_ACCOUNTING_H

#include "sim/replay/table.h"
#include "sim/replay/trace.h"

/* The columns that are read, for help texts. */
#define SACCT_FORMAT                                                                               \
    "JobID,Submit,Eligible,Start,End,ElapsedRaw,TimelimitRaw,ReqCPUS,ReqNodes,ReqMem,ReqTRES,"     \
    "User,Account,"                                                                                \
    "Partition,State"

/* `path`: a file, plain or gzipped, or "-". Cells are set apart by bars, columns come in any order;
 * steps are left out. Needed are JobID (or JobIDRaw), Submit, ElapsedRaw (or Elapsed, or Start and
 * End) and ReqCPUS (or AllocCPUS, NCPUS); the others are used where they are. Times are local ones,
 * or seconds since 1970 (SLURM_TIME_FORMAT=%s). Second 0 of the trace is the first submission. Jobs
 * that have not ended are counted as dropped; the rest is dropped by trace_clean. ERR names file,
 * line and column. */
bool sacct_read(const char *path, struct trace *ret, struct err *ret_err);

/* The live queue: `path` holds what squeue printed with --Format=SQUEUE_FORMAT; NULL: squeue is
 * run, and it is `now_s`. Jobs that run already begin at the trace's first second and last until
 * their limits are over; held jobs and those that wait for others or for a time are counted as
 * dropped. */
#define SQUEUE_FORMAT                                                                              \
    "JobArrayID:60|,UserName:60|,Account:60|,Partition:200|,State:30|,SubmitTime:30|,StartTime:"   \
    "30|,"                                                                                         \
    "TimeLimit:30|,"                                                                               \
    "TimeUsed:30|,NumCPUs:20|,NumNodes:20|,tres-alloc:400|,NodeList:4000|,Reason:100|,Feature:200"
/* A file of `squeue -o …`, or the queue of this machine's Slurm (path NULL). now_s: when, in
 * seconds of the epoch; of a file it is found in it. */
bool squeue_read(const char *path, int64_t now_s, struct trace *ret, struct err *ret_err);

/* The same of tables that are read already; the trace of accounting has no name. now_s 0: as the
 * running jobs tell. */
bool sacct_parse(const struct text_table *t, struct trace *ret, struct err *ret_err);
/* `t` is consumed in part: cells are trimmed. *ret is freed here where it fails. */
bool squeue_parse(struct text_table *t, int64_t now_s, struct trace *ret, struct err *ret_err);

/* ---- one cell ---- */

/* "2026-11-21T05:06:01" (local) or "1795237561"; "Unknown", "None", "N/A" and "" give -1. */
bool site_time(const char *cell, int64_t *ret_s, struct err *ret_err);
/* A resource of "cpu=4,mem=16G,gres/gpu:a100=2"; of the same name with several types the sum. 0 if
 * there is none. Memory in MiB. */
int64_t site_tres(const char *cell, const char *name);
/* The type of the GPUs in it ("a100"), or NULL; lives in `a`. */
const char *site_gpu_type(const char *cell, struct arena *a);
/* ReqMem: "16G", "4000Mc" (a CPU), "16Gn" (a node); MiB of the whole job, 0 if it says nothing. */
int64_t site_memory(const char *cell, int64_t cpus, int64_t nodes);

#endif
