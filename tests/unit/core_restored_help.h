/* A controller that comes back with a store that is older than what was said last. */
#ifndef REMUDA_TESTS_CORE_RESTORED_HELP_H
#define REMUDA_TESTS_CORE_RESTORED_HELP_H

#include "core_step_help.h"

#define NODES                                                                                      \
    "ClusterName=t\nNodeName=n[1-2] CPUs=8 RealMemory=1000\nPartitionName=main Nodes=ALL "         \
    "Default=YES\n"

/* The controller comes back with what the store had, and the shell says that it is older. */
static inline void restart_older(uint64_t next)
{
    core_free(w.c);
    effects_reset(&w.fx);
    w.c = core_new(1, "ctl");
    configure(NODES);
    for (int t = 0; t < STORE_TABLE_COUNT; t++)
        load((enum store_table)t);
    core_ids_from(w.c, next);
    core_store_is_older(w.c);
    core_loaded(w.c, w.now, &w.fx);
    core_check(w.c);
    settle(0);
    am_root();
}

static inline void held_by(int n, uint64_t job_id, uint32_t attempt)
{
    struct held held = {.job_id = job_id, .attempt = attempt, .step_id = STEP_BATCH};
    hello_holding(n, &held, 1);
}

static inline size_t terminated(uint64_t job_id)
{
    size_t n = 0;
    for (size_t i = 0; i < w.fx.n; i++) {
        const struct effect *e = &w.fx.v[i];
        n += e->kind == FX_SEND && e->msg.kind == MSG_TERMINATE &&
             ((const struct msg_terminate *)e->msg.body)->job_id == job_id;
    }
    return n;
}

#endif
