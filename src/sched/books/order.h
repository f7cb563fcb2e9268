/* Orders of the waiting work, and the seam by which a simulator brings its own.
 *
 * PriorityType chooses: priority/ageing (ours, the default), priority/multifactor,
 * priority/basic; SchedulerParameters order= names any row of the table: `ageing`, `priority`
 * (multifactor), `arrival`, `sjf` (shortest limit first), `saf` (smallest limit × width first),
 * `wfp` (width × (wait ÷ limit)³). Partition tiers come first in any order; a priority that an
 * operator asked for stands in the place of the computed one; in orders other than `priority` a
 * job's nice counts as so many seconds less of waiting, or more of limit. */
#ifndef REMUDA_SCHED_BOOKS_ORDER_H
#define REMUDA_SCHED_BOOKS_ORDER_H

#include <stdbool.h>
#include <stdint.h>

enum sched_order { ORDER_PRIORITY, ORDER_ARRIVAL, ORDER_SJF, ORDER_SAF, ORDER_WFP, ORDER_AGEING };
enum sched_backfill { BACKFILL_EASY, BACKFILL_NONE };
/* Who is promised a start: the first that is blocked in each partition; and who waited longer than
 * the age bound; and everybody. */
enum sched_promises { PROMISES_HEAD, PROMISES_AGED, PROMISES_ALL };

enum start_why { START_HEAD, START_PASSED, START_PROMISED };

/* What an order may look at. */
struct order_job {
    uint64_t job_id;
    int64_t submit_us, now_us; /* µs of the wall clock */
    int64_t limit_us;          /* TIME_UNLIMITED = none */
    int64_t expected_us;       /* how long such jobs of its user ran; 0 = not known */
    /* In 2^20ths: of all recent use its user's part, and of the cluster the part that its user's
     * running work has */
    int64_t used, busy;
    int64_t width;        /* CPUs, or GPUs at their worth in CPUs, whichever is more */
    int64_t fills;        /* in 2^20ths: so much of what is idle it takes, where that counts */
    int32_t nice;         /* as asked; higher is later */
    int64_t age_bound_us; /* waiting counts more and more from there on */
    int64_t promised_us;  /* as the head it was first promised to start then; 0 = never */
    bool head,
        oldest; /* it was the first that was blocked; it waited longest, far past the bound */
};

/* Larger first, below 2⁵²; equal ones go by who could run first. With 20 binary places, like the
 * multifactor priority. */
uint64_t order_key(enum sched_order order, const struct order_job *j);

/* The name of an order, or of a way to backfill; false if there is none of that name. */
bool order_named(const char *name, enum sched_order *ret);
/* False = no such name; *ret is as it was. */
bool backfill_named(const char *name, enum sched_backfill *ret);
bool promises_named(const char *name, enum sched_promises *ret); /* "head", "aged", "all" */

/* A simulator's own order. `key` says where a job stands (larger first), among those that may pass
 * a blocked one if `passing`; false: it must not start now. Jobs that differ in it must differ in
 * their request, their nice or their time of submission. */
struct order_hook {
    void *ctx;
    /* false: not now; larger keys first */
    bool (*key)(void *ctx, const struct order_job *j, bool passing, int64_t *ret_key);
    /* A job starts: as the first in the order, past a blocked one, or as it was promised. May be
     * NULL. */
    void (*started)(void *ctx, uint64_t job_id, enum start_why why);
    /* A blocked job is promised a start. May be NULL. */
    void (*promised)(void *ctx, uint64_t job_id, int64_t start_us);
    /* What a node costs that has so many CPUs free, if a job takes up to `wanted` of them; the
     * cheapest of equal weight is taken, costs above 65,535 count as that. NULL: fewest free. */
    uint64_t (*node_cost)(void *ctx, int64_t free, int64_t wanted);
    bool passing;     /* the order of those that pass a blocked job is another one */
    bool strict;      /* nothing passes a blocked job */
    bool no_forecast; /* only who starts now is of interest */
};

#endif
