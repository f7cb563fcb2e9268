/* What is known of the devices to each process that watches them (gpu_watch.h). */
#ifndef REMUDA_NODE_HARDWARE_GPU_WATCHED_H
#define REMUDA_NODE_HARDWARE_GPU_WATCHED_H

#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

#define WATCHED_HANGS_MAX 2 /* suspicion needs more than one */

/* What is said of a device to each process that starts. */
struct watched_gpu {
    int32_t index;
    char *uuid, *pci, *files;
    int hangs; /* of its library, at this device */
};

/* Owned; all zero = none. */
struct watched_gpus {
    struct watched_gpu *v;
    size_t n, cap;
};

/* Adds the GPUs of `devices` as model/grammar/gres.h writes them, `files` as machine.device_files
 * (NULL = not known). */
void watched_gpus_take(struct watched_gpus *g, const char *devices, const char *files);
/* None any more. */
void watched_gpus_drop(struct watched_gpus *g);
/* Adds to `out` what a process that starts is told: a line a device, and "begin". */
void watched_gpus_say(const struct watched_gpus *g, struct str *out);

#endif
