/* What the steps' processes use of a node's GPUs at one moment: percent of time that the GPUs work
 * for them, and GPU memory. In the process that watches the GPUs. */
#ifndef REMUDA_NODE_HARDWARE_GPU_USAGE_H
#define REMUDA_NODE_HARDWARE_GPU_USAGE_H

#include "base/str.h"
#include "base/vec.h"
#include "node/hardware/amd.h"
#include "node/hardware/nvml.h"

#include <stdbool.h>
#include <stdint.h>

struct step_use {
    char step[64]; /* its directory, "7.1.0" */
    int64_t percent, bytes;
};

struct gpu_usage {
    VEC(struct step_use) step;
    bool percent_known;
};

/* Adds one of NVIDIA's devices. *since_us: samples that are older have been counted; moves on. */
void gpu_usage_nvidia(struct gpu_usage *u, const struct nvml *n, nvml_device device,
                      unsigned long long *since_us);
/* Adds all of AMD's devices; how busy they are is of the last look at each. */
void gpu_usage_amd(struct gpu_usage *u, struct amd *a);
/* "used 7.1.0 85 1073741824" for each step, then "usage 1"; empties it. */
void gpu_usage_say(struct gpu_usage *u, struct str *out);

#endif
