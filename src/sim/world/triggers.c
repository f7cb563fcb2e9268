/* Triggers in a world: some are set and removed. */
#include "sim/world/inside.h"

#include <stdio.h>

static void set(struct sim_world *w, struct rng *rng)
{
    char job[32], node[32];
    bool of_job = rng_chance(rng, 500), stays = rng_chance(rng, 300);
    struct msg_set_trigger m = {.events = (uint32_t)rng_below(rng, 1u << TRIGGER_EVENT_COUNT),
                                .offset = (int32_t)rng_range(rng, -30, 30),
                                .permanent = stays,
                                .program = stays ? "/bin/stays" : SIM_ONCE};
    snprintf(job, sizeof job, rng_chance(rng, 200) ? "%llu_1" : "%llu",
             (unsigned long long)rng_below(rng, map_u64_count(w->numbers) + 1) + 1);
    snprintf(node, sizeof node, "%s", w->node.v[rng_below(rng, w->node.n)].n.name);
    if (rng_chance(rng, 700)) /* one event, as people set them */
        m.events = 1u << rng_below(rng, TRIGGER_EVENT_COUNT);
    if (of_job)
        m.job = job;
    else
        m.events &= ~TRIGGER_JOB_BITS;
    if (!of_job && rng_chance(rng, 500))
        m.nodes = node;
    world_request(w, MSG_SET_TRIGGER, &m, NULL);
}

void world_triggers_change(struct sim_world *w, struct rng *rng)
{
    struct msg_clear_trigger one = {.id = (uint32_t)rng_range(rng, 1, 40)};
    if (rng_chance(rng, 800))
        set(w, rng);
    else
        world_request(w, MSG_CLEAR_TRIGGER, &one, NULL);
}

void world_triggers_end(struct sim_world *w)
{
    struct msg_clear_trigger all = {.user_plus1 = 1};
    world_request(w, MSG_CLEAR_TRIGGER, &all, NULL);
}
