/* What a schedule was worth, by the conventions of the scheduling literature (spec: mean bounded slowdown with 10 s, percentiles by nearest rank). */
#ifndef REMUDA_SIM_METRICS_H
#define REMUDA_SIM_METRICS_H

#include "sim/replay.h"

#include <stdio.h>

struct metrics {
    struct {
        double mean, p50, p95, p99, max, area;
    } wait; /* seconds; area: weighted by run × processors */
    struct {
        double mean, p95, p99, worst_user;
    } bsld;
    double util, util_to_last_submit;
    int64_t makespan; /* seconds */
    struct {
        double mean, p99, max;
    } pass_us;
    char schedule[65], jobs[65]; /* SHA-256 */
};

void metrics_of(const struct trace *t, const struct replay_machine *m, const struct replay_result *r,
                struct metrics *ret);

/* The whole result as JSON (spec/scheduling.md 6b). */
void metrics_json(FILE *to, const struct trace *t, const struct replay_setup *s,
                  const struct replay_result *r, const struct metrics *m);

/* "job,submit,start,end,procs,nodes,why", one line a job by id. */
void starts_csv(FILE *to, const struct trace *t, const struct replay_result *r);

#endif
