/* A node whose devices say something of themselves. */
#ifndef REMUDA_TESTS_AGENT_GPUS_HELP_H
#define REMUDA_TESTS_AGENT_GPUS_HELP_H

#include "agent_world.h"

#include "model/env/device_out.h"

#include <string.h>

static inline void signed_by_itself(int32_t index, enum device_sign sign, const char *why)
{
    struct device_seen seen = {index, 0, sign, why};
    step((struct agent_event){.kind = AGENT_DEVICE_SIGN, .seen = &seen, .nseen = 1});
}

#endif
