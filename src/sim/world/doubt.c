/* After a store was restored: of jobs that it calls waiting nobody knows whether they have run.
 * None starts before somebody said that it may. */
#include "sim/world/inside.h"

void world_doubt_check(struct sim_world *w, const struct job *j, const struct simjob *known)
{
    bool waits = known->state == JOB_PENDING || known->state == JOB_REQUEUED;
    /* An element that left its array since is as doubtful as that. */
    bool doubtful = map_u64_get(w->doubtful, known->of_backup ? j->id : j->array_job_id);
    if (doubtful && waits && j->state == JOB_RUNNING)
        world_broke(
            w,
            "job %llu starts, of which a store that was restored does not know whether it has run",
            (unsigned long long)j->id);
    if (!waits && !j->restored && j->attempt == known->attempt)
        map_u64_del(w->doubtful, j->id); /* its node has that run */
}

void world_doubt_end(struct sim_world *w)
{
    map_u64_free(w->doubtful);
    w->doubtful = map_u64_new();
}
