/* How long the watch of the GPUs waits for things. */
#ifndef REMUDA_NODE_GPU_TIME_H
#define REMUDA_NODE_GPU_TIME_H

#include <stdint.h>

/* Of a time in any unit, so many hundredths as REMUDA_GPU_PERCENT says (of tests); else all of it. */
int64_t gpu_time(int64_t full);

#endif
