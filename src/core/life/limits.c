/* What is allowed changed: all jobs are looked at anew, those that wait and those that run. */
#include "core/record/limits.h"
#include "core/life/life.h"
#include "core/record/minutes.h"

void limits_anew(struct core *c)
{
    struct map_walk w = {0};
    limits_priorities(c);
    minutes_know(c);
    if (!enforces_associations(c) && !c->accounts.last_cap && !c->accounts.most_qos &&
        !c->accounts.most_assoc && !c->settings.priority_weight_fairshare)
        return;
    while (map_u64_next(c->jobs.by_id, &w)) {
        struct jobrec *r = w.value;
        if (r->j.state == JOB_PENDING)
            eligible_update(c, r);
        else if (cluster_is_running(c->cluster, r->j.id))
            limits_running(c, r);
    }
}
