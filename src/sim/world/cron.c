/* Of jobs of scrontab the oracle sees to it that no run is for a time for which there was one
 * before, nor before its time. (That a job never runs beside itself is asked of all jobs.) */
#include "sim/world/inside.h"

#include <stdlib.h>

/* By which the clock has to be set back before a time may come again
 * (core/record/users/crontab.c). */
#define SET_BACK_US (3 * USEC_PER_HOUR)

/* Of a job: the last run that was committed. */
struct simcron {
    int64_t due_us;
    uint32_t attempt;
    int64_t set_us;    /* how far forward the clock was set then */
    int64_t lowest_us; /* the least since */
};

void world_cron_free(struct sim_world *w)
{
    struct map_walk walk = {0};
    while (map_u64_next(w->cron, &walk))
        free(walk.value);
    map_u64_free(w->cron);
}

void world_cron_clock(struct sim_world *w)
{
    struct map_walk walk = {0};
    while (map_u64_next(w->cron, &walk)) {
        struct simcron *known = walk.value;
        known->lowest_us = w->set_us < known->lowest_us ? w->set_us : known->lowest_us;
    }
}

void world_cron_check(struct sim_world *w, const struct job *j)
{
    struct simcron *known = map_u64_get(w->cron, j->id);
    if (!j->cron)
        return;
    if (!known) {
        known = xcalloc(1, sizeof *known);
        map_u64_put(w->cron, j->id, known);
    }
    /* One that begins suspended, sharing its nodes, began all the same: later its start may have
     * moved with the clock. */
    if ((j->state != JOB_RUNNING && j->state != JOB_SUSPENDED) || j->attempt <= known->attempt)
        return;
    bool set_back = known->lowest_us < known->set_us - SET_BACK_US;
    if (known->attempt && j->spec.begin_us <= known->due_us && !set_back)
        world_broke(w, "job %llu of scrontab runs twice for the same time",
                    (unsigned long long)j->id);
    if (j->start_us < j->spec.begin_us)
        world_broke(w, "job %llu of scrontab runs %lld s before its time",
                    (unsigned long long)j->id,
                    (long long)((j->spec.begin_us - j->start_us) / USEC_PER_SEC));
    *known = (struct simcron){j->spec.begin_us, j->attempt, w->set_us, w->set_us};
}
