/* How often the watch of the GPUs looks and tries again. How long an answer may take is no such
 * time: that depends on how busy a machine is. */
#ifndef REMUDA_NODE_GPU_TIME_H
#define REMUDA_NODE_GPU_TIME_H

#include <stdint.h>

/* Of a time in any unit, so many hundredths as REMUDA_GPU_PERCENT says (of tests); else all of
 * it. */
int64_t gpu_time(int64_t full);

#endif
