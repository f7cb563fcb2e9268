/* What the steps' processes use of a node's GPUs at one moment: percent of time that the GPUs work
 * for them, GPU memory, energy; and what each device does, by whomever. In the process that watches
 * the GPUs. */
#ifndef REMUDA_NODE_HARDWARE_GPU_USAGE_H
#define REMUDA_NODE_HARDWARE_GPU_USAGE_H

#include "base/str.h"
#include "base/vec.h"
#include "node/hardware/amd/amd.h"
#include "node/hardware/nvidia/nvml.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct step_use {
    char step[64]; /* its directory, "7.1.0" … */
    uid_t uid;     /* … as processes of this user say */
    int64_t percent, bytes, mj;
};

/* A device; -1 = not told. */
struct gpu_usage_row {
    int32_t index; /* as the node numbers it */
    int64_t percent, bytes, mw;
    int64_t mj;        /* since the last time; 0 = not told */
    int64_t own_bytes; /* of its memory, beyond what is in use of one that nobody has */
    bool idle, busy;   /* neither: that cannot be found out */
    bool explained;    /* its processes are known, and steps have their parts of all that */
};

/* What is remembered of a device from one time to the next. */
struct gpu_meter {
    unsigned long long since_us; /* wall clock: older samples of its use are counted */
    bool has_energy, has_bytes;
    unsigned long long mj; /* counter */
    int64_t at_ms;         /* of the last time; 0 = there was none */
    unsigned long long bytes;
};

struct gpu_usage {
    struct gpu_holders *holders; /* not owned */
    VEC(struct step_use) step;   /* in the order they were asked for */
    VEC(struct gpu_usage_row) gpu;
    bool percent_known;
};

/* A device that is asked. */
struct gpu_asked {
    int32_t index;
    bool is_part;     /* an instance: nothing is told of how busy it is … */
    int activity;     /* … but this: tenths of a percent; -1 = nor is this */
    const char *uuid; /* what it is called: another may come into its place while it is asked */
    bool has_base;
    uint64_t base_bytes; /* in use when nobody has it */
    int64_t now_ms;      /* a clock that is never set */
};

/* Adds one of NVIDIA's devices. */
void gpu_usage_nvidia(struct gpu_usage *u, const struct nvml *n, nvml_device device,
                      const struct gpu_asked *asked, struct gpu_meter *m);
/* Adds one of AMD's, of the last look at it. */
void gpu_usage_amd(struct gpu_usage *u, struct amd *a, uint32_t number,
                   const struct gpu_asked *asked, struct gpu_meter *m);
/* "used 7.1.0 85 1073741824 250000 UID" for each step, "gpu 0 85 2147483648 210000 250000 WORK
 * EXPLAINED OWN" for each device (WORK i, b or -), then "usage 1"; empties it. */
void gpu_usage_say(struct gpu_usage *u, struct str *out);

#endif
