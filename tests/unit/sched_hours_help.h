/* Ten nodes in a partition with hours. */
#ifndef REMUDA_TESTS_SCHED_HOURS_HELP_H
#define REMUDA_TESTS_SCHED_HOURS_HELP_H

#include "sched_alone.h"

/* Ten nodes; NOW is a Monday, 13:46:40. */
static inline struct world in_hours(const char *windows)
{
    struct partition p = a_part("main", "ALL");
    p.time_windows = windows;
    return world_make(a_node(""), "n[1-10]", p);
}

/* A job of n components, 100 and so on. */
static inline void components_come(struct world *w, const struct job_request *req, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct waiting job = {.job_id = 100 + i,
                              .het_job_id = 100,
                              .het_size = (uint32_t)n,
                              .req = req,
                              .uid = 1000,
                              .elements = 1,
                              .submit_us = NOW,
                              .eligible_us = NOW};
        cluster_wait(w->cl, &job);
    }
}

#endif
