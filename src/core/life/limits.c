/* What is allowed changed: all jobs are looked at anew, those that wait and those that run. Of very
 * many only the first at once, the others slice by slice in the wakes that follow: the loop serves
 * others in between. Nothing is planned until all have been looked at, so that nothing starts by
 * what was allowed before. */
#include "core/life/life.h"
#include "core/record/accounts/accrue.h"
#include "core/record/accounts/minutes.h"

#include <string.h>

void accruing_run(struct core *c)
{
    struct jobrec *r;
    while (!c->slices.anew.on && (r = accrue_next(c))) /* else not all are counted yet */ {
        job_save(c, r);
        eligible_update(c, r);
    }
}

#define SLICE_LOOKS 2000

static size_t partitions_of(const struct jobrec *r)
{
    size_t n = 1;
    for (const char *at = r->j.spec.req.partition; at && (at = strchr(at, ',')); at++)
        n++;
    return n;
}

/* A job that waits is held against what is allowed in each of its partitions, a component with all
 * of its job in each of theirs. */
static size_t looks_of(const struct core *c, const struct jobrec *r)
{
    jobrec_vec jobs = {0};
    size_t n = partitions_of(r);
    if (r->j.het_job_id)
        components_find(c, r->j.het_job_id, &jobs);
    for (size_t i = 0; i < jobs.n; i++)
        n += partitions_of(jobs.v[i]);
    vec_done(&jobs);
    return n;
}

void limits_look_on(struct core *c)
{
    for (size_t looks = 0; c->slices.anew.on && looks < SLICE_LOOKS; looks++) {
        c->slices.anew.on = map_u64_next(c->jobs.by_id, &c->slices.anew.walk);
        struct jobrec *r = c->slices.anew.on ? c->slices.anew.walk.value : NULL;
        if (r && r->j.state == JOB_PENDING) {
            looks += looks_of(c, r) - 1;
            eligible_update(c, r);
        } else if (r && cluster_is_running(c->cluster, r->j.id)) {
            limits_running(c, r);
        }
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
