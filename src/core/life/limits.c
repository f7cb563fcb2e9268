/* What is allowed changed: all jobs are looked at anew, those that wait and those that run. Of very
 * many only the first at once, the others slice by slice in the wakes that follow: the loop serves
 * others in between. Nothing is planned until all have been looked at, so that nothing starts by
 * what was allowed before. */
#include "core/life/life.h"
#include "core/record/accounts/accrue.h"
#include "core/record/accounts/minutes.h"

void accruing_run(struct core *c)
{
    struct jobrec *r;
    while (!c->slices.anew.on && (r = accrue_next(c))) /* else not all are counted yet */ {
        job_save(c, r);
        eligible_update(c, r);
    }
}

#define SLICE_JOBS 2000

void limits_look_on(struct core *c)
{
    size_t left = SLICE_JOBS;
    while (c->slices.anew.on && left--) {
        c->slices.anew.on = map_u64_next(c->jobs.by_id, &c->slices.anew.walk);
        struct jobrec *r = c->slices.anew.on ? c->slices.anew.walk.value : NULL;
        if (r && r->j.state == JOB_PENDING)
            eligible_update(c, r);
        else if (r && cluster_is_running(c->cluster, r->j.id))
            limits_running(c, r);
    }
    if (!c->slices.anew.on)
        plan_soon(c);
}

void jobs_anew(struct core *c)
{
    c->slices.anew.on = true;
    c->slices.anew.walk = (struct map_walk){0};
    limits_look_on(c);
}

void limits_anew(struct core *c)
{
    limits_priorities(c);
    minutes_know(c);
    accrue_know(c);
    if (!enforces_associations(c) && !c->accounts.last_cap && !c->accounts.most_qos &&
        !c->accounts.most_assoc && !c->settings.priority_weight_fairshare)
        return;
    jobs_anew(c);
}
