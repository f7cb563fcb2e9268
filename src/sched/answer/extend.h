/* May running work go on longer without anybody else's start moving later? The planner's own pass
 * and forecast, made once as things are and again with a later end; nothing that anyone can see
 * changes. */
#ifndef REMUDA_SCHED_ANSWER_EXTEND_H
#define REMUDA_SCHED_ANSWER_EXTEND_H

#include "sched/plan.h"

/* Bounds of counted work, in entries looked at (about 5 ns each): where the loop waits for it, and
 * where it holds nobody up. One forecast more than that is made at most. */
#define EXTEND_COST_HERE UINT64_C(8000000)
#define EXTEND_COST      UINT64_C(120000000)

struct extend_ask {
    const uint64_t *job; /* that run, and get the same time */
    size_t n;
    int64_t add_us; /* so much longer */
    /* Not NULL: of all that was asked for each of them gets this; only with `all` */
    const int64_t *each_us;
    bool all;           /* less than that is not looked for */
    bool promises_only; /* look at starts of now and at promises, not at what is foreseen */
    uint64_t cost_max;  /* entries looked at */
};

struct extension {
    int64_t granted_us; /* whole minutes, or all: nobody's start moves later by that */
    /* Of all that was asked for: who would start later, the one that loses most first, by how much
     * (TIME_UNLIMITED: no start could be foreseen), and how many there are; 0 = nobody */
    uint64_t later_job, later_jobs;
    int64_t later_us; /* so much later that one starts */
    bool cut;         /* more may be harmless: not everything could be tried */
};

/* `live` is the plan of the last pass, which knows where promises stand. False: not even how things
 * are could be worked out within the bound. */
bool sched_extend(struct cluster *cl, const struct plan *live, const struct extend_ask *ask,
                  int64_t now_us, struct extension *ret);

/* The time by which a running job, one of those of `ask`, has to end whoever waits: TIME_UNLIMITED,
 * or a reservation begins that keeps what it has of nodes or licences, or its partition allowed no
 * more when it began. `ret_resv` gets the name of the reservation, which lasts until the next
 * change; NULL = it is the partition. */
int64_t sched_extend_bound(const struct cluster *cl, const struct extend_ask *ask, uint64_t job_id,
                           int64_t now_us, const char **ret_resv);

#endif
