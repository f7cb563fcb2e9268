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

/* The script of a job, found when the daemon starts, with what its shepherd noted. */
static inline void found_noted(struct note n)
{
    n.kind = NOTE_STARTED;
    n.attempt = 1;
    n.pid = 9 + n.job_id;
    step((struct agent_event){.kind = AGENT_FOUND, .note = &n});
    note(n);
}

static inline void found_with(int64_t id, int64_t start_us, int64_t uid, int64_t gpus)
{
    found_noted((struct note){.job_id = id,
                              .step_id = STEP_BATCH,
                              .start_us = start_us,
                              .uid_plus1 = uid + 1,
                              .gpus = gpus});
}

#endif
