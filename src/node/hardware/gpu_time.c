#include "node/hardware/gpu_time.h"

#include <stdlib.h>

int64_t gpu_time(int64_t full)
{
    const char *text = getenv("REMUDA_GPU_PERCENT");
    long percent = text ? strtol(text, NULL, 10) : 100;
    return percent > 0 ? full * percent / 100 : full;
}
