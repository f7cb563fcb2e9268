/* The future as the planner itself would make it: everything that runs ends when it is expected to, nothing new comes, and at each end the same
 * step is taken as in the present. What starts then has its planned start, and the nodes. So a planned start is not a guess beside the
 * policy but the policy's own answer; it can only move because work ends early or late, or comes or goes. */
#include "base/alloc.h"
#include "sched/pass.h"

/* Promises that are due become work. */
static void promises_due(struct pass *p)
{
    for (size_t i = 0; i < p->promise.n;) {
        struct promised pr = p->promise.v[i];
        if (pr.start_us > p->w->now_us) {
            i++;
            continue;
        }
        world_fulfil(p->w, pr.world_job);
        p->served[pr.part] = false;
        vec_remove(&p->promise, i);
        if (pr.het)
            pass_het_of(p, pr.het)->done = true;
        else
            pass_took_one(p, pr.lane);
    }
}

static int64_t next_time(const struct pass *p)
{
    int64_t at = world_next_end(p->w);
    for (size_t i = 0; i < p->promise.n; i++)
        if (p->promise.v[i].start_us < at)
            at = p->promise.v[i].start_us;
    return at;
}

void pass_forecast(struct pass *p, uint32_t budget)
{
    p->future = true;
    p->w->uid_plus1 = 0;
    while (p->live.n > 0) {
        int64_t at = next_time(p);
        if (at == INT64_MAX || (budget > 0 && map_u64_count(p->v->planned) >= budget))
            break;
        world_advance(p->w, at);
        promises_due(p);
        pass_step(p);
    }
}
