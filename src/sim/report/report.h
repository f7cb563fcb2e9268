/* Results for people. */
#ifndef REMUDA_SIM_REPORT_H
#define REMUDA_SIM_REPORT_H

#include "sim/report/metrics.h"

#include <stdio.h>

/* A run that is to be told of. */
struct report_run {
    const char *name;                 /* of its column */
    const struct replay_setup *setup; /* NULL: how it went in reality */
    struct replay_result result;
    struct sim_metrics m;
};

/* What was replayed, and what was left out. */
void report_workload(FILE *to, const struct trace *t, const struct replay_machine *m);
/* One run. */
void report_run(FILE *to, const struct trace *t, const struct report_run *r);
/* Two runs beside each other, and how it went in reality if `recorded` is not NULL; who fares
 * better and who worse. */
void report_compare(FILE *to, const struct trace *t, const struct report_run *recorded,
                    const struct report_run *a, const struct report_run *b);
/* The same as JSON. */
void report_compare_json(FILE *to, const struct trace *t, const struct report_run *recorded,
                         const struct report_run *a, const struct report_run *b);

#endif
