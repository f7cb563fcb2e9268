/* What a schedule was worth, by the conventions of the scheduling literature (spec: mean bounded
 * slowdown with 10 s, percentiles by nearest rank). */
#ifndef REMUDA_SIM_METRICS_H
#define REMUDA_SIM_METRICS_H

#include "sim/replay/replay.h"

#include <stdio.h>

struct sim_metrics {
    struct {
        double mean, p50, p95, p99, max, area;
    } wait; /* seconds; area: weighted by run × processors */
    struct {
        double mean, p95, p99, worst_user, worst_width;
    } bsld;
    /* That count: not refused, not running when a live queue was looked at */
    size_t jobs;
    int64_t worst_user;          /* whose, of those with ten jobs at least; -1 = none */
    const char *worst_user_name; /* NULL = not known */
    /* Widths are classed by powers of two: the least of the class; 0 = none */
    int64_t worst_width;
    double util, util_to_last_submit;
    int64_t makespan; /* seconds */
    struct {
        double mean, p99, max;
    } pass_us;
    char schedule[65], jobs_hash[65]; /* SHA-256 */
};

/* All of them: waits, slowdowns, use, times of passes, hashes of the schedule. */
void metrics_of(const struct trace *t, const struct replay_machine *m,
                const struct replay_result *r, struct sim_metrics *ret);

/* Is job i one of those that count? */
bool metrics_count(const struct trace *t, const struct replay_result *r, size_t i);
/* Bounded: (wait + run) / max(run, 10 s), at least 1 (Feitelson et al. 1997). */
double metrics_slowdown(const struct trace_job *j, const struct replayed *r);
/* How it went in reality, if the trace says of every job when it started; freed with
 * replay_done. */
bool recorded_result(const struct trace *t, struct replay_result *ret);

/* Sums over jobs of one user or one class of widths. */
struct group_sum {
    int64_t key; /* user, or least width */
    const char *name;
    double wait, slow; /* sums */
    uint64_t n;
};
/* Groups in order of their first job; freed by the caller. */
struct group_sum *groups_by_user(const struct trace *t, const struct replay_result *r,
                                 size_t *ret_n);
/* Freed by the caller, as of the other groups. */
struct group_sum *groups_by_width(const struct trace *t, const struct replay_result *r,
                                  size_t *ret_n);

/* The whole result as JSON (spec/scheduling.md 6b). */
void metrics_json(FILE *to, const struct trace *t, const struct replay_setup *s,
                  const struct replay_result *r, const struct sim_metrics *m);

/* "job,submit,start,end,procs,nodes,why", one line a job by id. */
void starts_csv(FILE *to, const struct trace *t, const struct replay_result *r);

#endif
