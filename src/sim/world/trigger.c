/* Of triggers the oracle sees to it that each that does not stay runs once at most, whatever
 * crashes. That none is forgotten is an invariant of the machine (triggers_check): its event and
 * its being pulled are one commit. */
#include "sim/world/inside.h"

#include <string.h>

void world_trigger_runs(struct sim_world *w, const struct program_run *run)
{
    bool once = text_is(run->line, SIM_ONCE);
    if (once && !w->trigger_doubt && map_u64_get(w->trigger_ran, run->trigger))
        world_broke(w, "trigger %u runs twice", run->trigger);
    if (once)
        map_u64_put(w->trigger_ran, run->trigger, w);
    if (text_empty(run->argument))
        world_broke(w, "trigger %u is not told why it runs", run->trigger);
    w->hash = hash_bytes(w->hash, run->argument, strlen(run->argument));
    world_plan(w, rng_range(&w->rng, 1, 20 * USEC_PER_SEC),
               (struct happening){.what = H_PROGRAM_OVER, .turn = w->epoch});
}
