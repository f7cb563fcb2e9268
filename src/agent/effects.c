#include "agent/agent.h"

#include <stdlib.h>
#include <string.h>

void agent_effects_init(struct agent_effects *fx)
{
    memset(fx, 0, sizeof *fx);
    fx->arena = arena_new();
}

void agent_effects_reset(struct agent_effects *fx)
{
    fx->n = 0;
    arena_reset(fx->arena);
}

void agent_effects_done(struct agent_effects *fx)
{
    arena_free(fx->arena);
    free(fx->v);
    memset(fx, 0, sizeof *fx);
}
