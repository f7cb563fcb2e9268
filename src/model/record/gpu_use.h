/* What a node's GPUs do, as the node says it with its heartbeats: "0:47:1024:210:-;3:0:512:55:1800"
 * for each device that could be asked: number, percent of time in which it worked, MiB of its
 * memory in use, watts, and for how many seconds it has been idle; "-" = not told (of the last: it
 * is not idle, or that cannot be found out). */
#ifndef REMUDA_MODEL_GPU_USE_H
#define REMUDA_MODEL_GPU_USE_H

#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

struct gpu_use {
    int32_t index;   /* as the node numbers it */
    int32_t util;    /* percent; -1 = not told, here and below */
    int64_t mem_mib; /* in use */
    int32_t watts;
    int64_t idle_s; /* it has done nothing for so long */
};

#define GPU_USE_MAX 64u

/* Appends one GPU, behind a ';' where there are others; gpu_use_read reads it. */
void gpu_use_format(const struct gpu_use *u, struct str *out);
/* At most `max` of them; what is no entry, or cannot be, is left out. Returns how many. */
size_t gpu_use_read(const char *text, struct gpu_use *ret, size_t max);

#endif
