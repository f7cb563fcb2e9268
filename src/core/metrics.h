/* Figures of the cluster for those who watch it by machine, as OpenMetrics text (`/metrics`): with
 * Slurm's names (slurm_…), and ours beside them (remuda_…). docs/metrics.md says what each is.
 *
 * A page is made a part at a time, so that a cluster of any size holds nobody up; each record is as
 * it was when its part was made. Pure, as all of core/. */
#ifndef REMUDA_CORE_METRICS_H
#define REMUDA_CORE_METRICS_H

#include "base/str.h"
#include "model/record/diag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct core;

enum metrics_section {
    METRICS_JOBS = 1,             /* jobs by state, and what they have */
    METRICS_JOBS_USERS_ACCTS = 2, /* the same by user and by account */
    METRICS_NODES = 4,            /* nodes by state, and each */
    METRICS_PARTITIONS = 8,       /* partitions */
    METRICS_SCHEDULER = 16,       /* the planner, the queue, GPUs by type, the controller */
    METRICS_RUNNING = 32,         /* each running job, and each device that it has */
    METRICS_ALL = 63,
};

struct metrics_asked {
    unsigned sections; /* bits of enum metrics_section */
    /* Who reads it operates the cluster; else it holds what PrivateData leaves everybody. */
    bool operates;
    /* Prometheus' own text format, of which OpenMetrics is the successor. */
    bool plain;
    const char *version; /* of the program */
    bool store_away;     /* as the shell knows it */
    struct diag diag;    /* of METRICS_SCHEDULER; its texts are not read */
};

/* Bytes that rows of single jobs may take: of more of them the rest is left out, and
 * remuda_metrics_left_out counts how many jobs that were. */
#define METRICS_ROWS_MAX_BYTES (96u << 20)

struct metrics; /* opaque */

/* Texts of `asked` must outlive it. */
struct metrics *metrics_new(const struct metrics_asked *asked);
void metrics_free(struct metrics *m); /* NULL is fine */
/* Goes on: about `most` records are looked at, or lines made. False: it is done. */
bool metrics_part(struct metrics *m, const struct core *c, int64_t now_us, size_t most);
/* Of one that is done: its texts, in order; they stay the metrics' own unless taken. */
size_t metrics_texts(struct metrics *m, struct str **ret);

#endif
