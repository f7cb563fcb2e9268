/* What is allowed changed: all jobs are looked at anew, those that wait and those that run. Of very
 * many only the first at once, the others slice by slice in the wakes that follow: the loop serves
 * others in between. Nothing is planned until all have been looked at, so that nothing starts by
 * what was allowed before. */
#include "core/record/accounts/limits.h"
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

/* A job that waits is held against what is allowed in each of its partitions; all components of one
 * with the first, as what they ask for together is worked out for all of them at once. Returns how
 * many looks it was. */
static size_t waiting_look(struct core *c, struct jobrec *r)
{
    jobrec_vec jobs = {0};
    size_t n = 0;
    const struct jobrec *leader = r->j.het_job_id ? job_find(c, r->j.het_job_id) : NULL;
    if (leader && leader != r && leader->j.state == JOB_PENDING)
        return 1; /* in its leader's turn */
    if (leader == r)
        components_find(c, r->j.id, &jobs);
    else
        vec_push(&jobs, r);
    for (size_t i = 0; i < jobs.n; i++) {
        n += partitions_of(jobs.v[i]);
        if (jobs.v[i]->j.state == JOB_PENDING)
            eligible_update(c, jobs.v[i]);
    }
    vec_done(&jobs);
    return n;
}

void limits_look_on(struct core *c)
{
    for (size_t looks = 0; c->slices.anew.on && looks < SLICE_LOOKS;) {
        c->slices.anew.on = map_u64_next(c->jobs.by_id, &c->slices.anew.walk);
        struct jobrec *r = c->slices.anew.on ? c->slices.anew.walk.value : NULL;
        looks += r && r->j.state == JOB_PENDING ? waiting_look(c, r) : 1;
        if (r && r->j.state != JOB_PENDING && cluster_is_running(c->cluster, r->j.id))
            limits_running(c, r);
    }
    if (!c->slices.anew.on)
        plan_soon(c);
}

void jobs_anew(struct core *c)
{
    limits_components_forget(c);
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
