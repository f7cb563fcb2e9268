/* Of each lane what the order asks of its first job, side by side in memory: with a hundred
 * thousand jobs waiting, walking from lane to job to user costs more than all that is then
 * reckoned with. */
#ifndef REMUDA_SCHED_BOOKS_FRONT_H
#define REMUDA_SCHED_BOOKS_FRONT_H

#include <stdbool.h>
#include <stdint.h>

struct wjob;
struct share;
struct person;

struct front {
    const struct wjob *job;
    uint64_t job_id;
    int64_t since_us, submit_us; /* of its own: it gains by waiting from then on; it was submitted */
    const struct share *own;     /* as in struct waiting */
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
