/* Policies that traces are replayed under: those of the published simulators, which exist only as
 * references, and the daemon's own. */
#ifndef REMUDA_SIM_REFS_H
#define REMUDA_SIM_REFS_H

#include "sched/books/order.h"
#include "sim/replay/trace.h"

enum ref_order { REF_ARRIVAL, REF_SJF, REF_SAF, REF_WFP3, REF_F1, REF_DAEMON };
enum ref_backfill { REF_EASY, REF_NONE, REF_CONSERVATIVE };

struct ref_policy {
    const char *name;
    enum ref_order order, passing; /* of the queue; of those that pass a blocked job */
    enum ref_backfill backfill;
    const char *parameters; /* REF_DAEMON: SchedulerParameters */
    const char *doc;
};
extern const struct ref_policy ref_policies[];
extern const size_t ref_policy_count;

const struct ref_policy *ref_policy_named(const char *name); /* NULL = none */
bool ref_order_named(const char *name, enum ref_order *ret); /* false: no such order */
const char *ref_order_name(enum ref_order order);            /* as ref_order_named reads it */

/* A key in whole numbers that orders as the reference's does; larger first. `estimate` in seconds,
 * submit and now in the trace's time. */
int64_t ref_key(enum ref_order order, int64_t estimate, int64_t procs, int64_t submit, int64_t now);

#endif
