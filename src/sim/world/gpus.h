/* The GPUs of a simulated machine: who really holds them, which the controller can only know from
 * what the node finds out. */
#ifndef REMUDA_SIM_GPUS_H
#define REMUDA_SIM_GPUS_H

#include "agent/agent.h"
#include "base/idset.h"
#include "base/vec.h"

#include <stdint.h>

/* A step's processes on a device. */
struct sim_gpu_holder {
    int32_t index;
    struct note ids;
    int64_t until_us; /* INT64_MAX while it lives */
    int64_t over_us;  /* when the step was over */
};

struct simgpus {
    char *devices; /* as a node describes them; NULL = it has none; owned */
    VEC(struct sim_gpu_holder) holder;
    struct idset broken;
};

void simgpus_init(struct simgpus *g, const char *gres); /* "gpu:v100:2" */
void simgpus_done(struct simgpus *g);                   /* its lists */
/* A step begins with what the launch gives it on that node. A sentence if that must not be; the
 * caller frees it. */
char *simgpus_begin(struct simgpus *g, const char *node, const struct msg_launch *l,
                    const struct note *ids, int64_t now_us);
/* Its GPUs, as a shepherd notes them. */
int64_t simgpus_of(const struct simgpus *g, const struct note *ids);
/* Of what a shepherd says the agent hears so much later. */
#define NOTE_DELAY_US 50
/* It is over; its processes are gone stuck_us later. */
void simgpus_end(struct simgpus *g, const struct note *ids, int64_t now_us, int64_t stuck_us);
void simgpus_reboot(struct simgpus *g);                            /* nothing holds anything */
void simgpus_break(struct simgpus *g, int32_t index, bool broken); /* from now on it looks so */
/* What a look at it shows; texts in the arena. */
struct device_seen simgpus_look(const struct simgpus *g, const struct device_look *look,
                                int64_t now_us, struct arena *a);

#endif
