/* What the planner knows of each QOS: whose work gives way to its jobs and how, and which limits of
 * partitions they may exceed. A QOS that nobody told of is as if it had nothing of the kind. Only
 * sched/ includes this. */
#ifndef REMUDA_SCHED_BOOKS_LIMITS_QOS_H
#define REMUDA_SCHED_BOOKS_LIMITS_QOS_H

#include "sched/books/state.h"

struct sqos {
    const char *name; /* interned */
    char *preempt;    /* as it was told; NULL = nobody */
    bool known;       /* false: it went; the place stays */
    enum preempt_mode preempt_mode;
    int64_t exempt_us, grace_us; /* runs so long before it must go, and then has so long to end */
    uint32_t over;               /* bits of enum qos_over */
};

/* NULL = none of that name. */
const struct sqos *qos_get(const struct cluster *cl, const char *name);
/* Does work of `victim` give way to jobs of `asker`? Either may be NULL. */
bool qos_beats(const struct sqos *asker, const struct sqos *victim);
/* Has it anybody whom it may stop? */
bool qos_stops(const struct sqos *q);
static inline bool qos_may_exceed(const struct sqos *q, enum qos_over what)
{
    return q && (q->over & what);
}
void qos_book_free(struct cluster *cl); /* at the end of the cluster */

#endif
