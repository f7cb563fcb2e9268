/* Lanes of waiting jobs, and what the order asks of the first of each. */
#ifndef REMUDA_SCHED_BOOKS_LANES_H
#define REMUDA_SCHED_BOOKS_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sclass;
struct wjob;
struct share;
struct person;

/* Jobs of one class whose order among themselves never changes: same nice, asked priority and
 * order. Sorted by (eligible, submit, id). */
struct lane {
    struct sclass *klass;
    int32_t nice, site;                        /* as asked; what the site adds */
    int64_t qos_factor, assoc_factor;          /* in PRIORITY_ONE-ths */
    uint64_t priority_asked, promise_priority; /* 0 = by the factors; and what a promise needs */
    bool placed;                               /* its one job has the place of another */
    uint32_t uid_plus1;                        /* of a lane that is one user's own; 0 = anybody's */
    uint64_t het;         /* a heterogeneous job's components have lanes of their own */
    struct wjob **job;    /* room for cap */
    size_t first, n, cap; /* jobs are job[first … first+n) */
    uint64_t elements;    /* of all of them */
    uint32_t idx;         /* place in cluster.queue.lane */
    uint64_t hash;        /* of its class, its user and what else is above */
    struct lane *alike;   /* of the same hash */
};

/* Of a lane what the order asks of its first job. They stand side by side in memory: with a hundred
 * thousand jobs waiting, to walk from lane to job to user costs more than all that is then reckoned
 * with. */
struct front {
    const struct wjob *job;
    uint64_t job_id;
    int64_t since_us,
        submit_us;           /* of its own: it gains by waiting from then on; it was submitted */
    const struct share *own; /* as in struct waiting */
    const struct person *person;
    uint32_t klass; /* place of its class */
    int32_t nice;
    bool het; /* it is a component */
    /* Something of the job itself counts beside what it asks for and how long it waits: it is a
     * component, it has a deadline, the place of another or a priority that was asked for */
    bool apart;
};

/* From when on the job gains by waiting (ages_from in state.h). */
static inline int64_t front_ages_from(const struct front *f)
{
    return f->since_us > f->submit_us ? f->since_us : f->submit_us;
}

#endif
