/* What a step's control groups measure beyond what limits need. */
#ifndef REMUDA_NODE_CGROUP_MEASURE_H
#define REMUDA_NODE_CGROUP_MEASURE_H

#include "node/cgroup/group.h"

/* Each -1 where it is not measured. */
struct group_memory {
    int64_t rss_bytes;   /* shared memory and tmpfs counted, page cache not */
    int64_t cache_bytes; /* page cache */
    int64_t swap_bytes;  /* -1 = not counted */
};
/* In bytes; -1 = the kernel does not say. */
void group_memory_read(const struct step_cgroup *c, struct group_memory *ret);
/* Time in which some of its processes waited, in µs since it was made; `file` is "cpu.pressure",
 * "memory.pressure" or "io.pressure". -1: this kernel or version does not tell. */
int64_t group_pressure_us(const struct step_cgroup *c, const char *file);

#endif
