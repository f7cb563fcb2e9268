/* Steps on the nodes of a world, as their disks and process tables know them. */
#include "sim/world/inside.h"

#include <stdlib.h>

struct simstep *simstep_of(struct simnode *n, const struct note *ids)
{
    for (size_t i = 0; i < n->step.n; i++)
        if (n->step.v[i]->ids.job_id == ids->job_id && n->step.v[i]->ids.attempt == ids->attempt &&
            n->step.v[i]->ids.step_id == ids->step_id)
            return n->step.v[i];
    return NULL;
}

void simstep_end_at(struct sim_world *w, size_t i, struct simstep *s, int64_t after_us,
                    int32_t status)
{
    s->b.exit_status = status;
    s->stopped = false;
    s->ends_us = w->now_us + after_us;
    struct happening h = {.what = H_STEP_END, .node = i, .turn = ++s->turn};
    h.note = s->ids;
    world_plan(w, after_us, h);
}

void simstep_forget(struct simnode *n, const struct note *ids)
{
    struct simstep *s = simstep_of(n, ids);
    for (size_t i = 0; s && i < n->step.n; i++)
        if (n->step.v[i] == s) {
            vec_done(&s->said);
            free(s->cpus);
            free(s);
            vec_remove(&n->step, i);
            return;
        }
}
