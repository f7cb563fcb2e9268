/* What the node's GPUs do: each step's part of it, and what the controller is told with each
 * heartbeat. Private to agent/. */
#ifndef REMUDA_AGENT_GPUS_NOW_H
#define REMUDA_AGENT_GPUS_NOW_H

#include "agent/agent.h"
#include "base/vec.h"

struct turn;

struct gpu_doing {
    struct gpu_now now;   /* as the node said it last … */
    int64_t said_us;      /* … and when */
    int64_t idle_from_us; /* 0 = it is not idle, or that cannot be found out */
};

struct gpus_now {
    VEC(struct gpu_doing) v; /* as the last look saw them */
};

void gpus_now_done(struct gpus_now *g); /* the list */
/* A sample for each step that has GPUs and runs. */
void gpus_used(struct turn *t, const struct agent_event *ev);
/* For the controller (model/record/gpu_use.h), in the turn's arena; NULL = it is not known. */
const char *gpus_say(struct turn *t);
/* The clock was set forward so far (back: less than 0): the times move with it. */
void gpus_clock_set(struct gpus_now *g, int64_t by_us);

#endif
