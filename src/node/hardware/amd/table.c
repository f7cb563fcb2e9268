/* The driver's table of figures, gpu_metrics: the kernel's file, or ROCm SMI's answer, which is the
 * same bytes. Its head says how long it is and which layout it has; of a layout that is not known
 * here nothing is read, and all ones are no figure.
 *
 *   1.1 to 1.3   video engine at 20, clocks at 54 and 58; of 1.3 at 112 why it is slowed, the same
 *                bits for all models
 *   1.4, 1.5     MI300: video engines at 16; counters of KiB of each XGMI link */
#include "model/record/series.h"
#include "node/hardware/amd/amd.h"

#include "base/alloc.h"

#include <inttypes.h>
#include <string.h>

#define HEAD            4u
#define ENGINES         4u
#define LINKS           ((size_t)8)
#define CLOCK_MAX_MHZ   10000u
#define LIMITED_POWER   UINT64_C(0x00000000ffffffff) /* by power, current */
#define LIMITED_HEAT    UINT64_C(0x0000ffff00000000)
#define NVML_POWER_CAP  4u
#define NVML_SW_THERMAL 0x20u

static uint64_t number_at(const char *bytes, size_t at, size_t size)
{
    ASSERT(size > 0 && size <= 8);
    uint64_t n = 0;
    for (size_t i = size; i-- > 0;)
        n = n << 8 | (unsigned char)bytes[at + i];
    return n;
}

static bool is_told(uint64_t n, size_t size)
{
    ASSERT(size > 0 && size <= 8);
    return n != UINT64_MAX >> (64 - 8 * size);
}

/* The mean of those that are told. */
static void engines_read(const char *bytes, size_t at, size_t n, struct amd_table *ret)
{
    unsigned sum = 0, told = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t percent = number_at(bytes, at + 2 * i, 2);
        sum += percent <= 100 ? (unsigned)percent : 0;
        told += percent <= 100;
    }
    ret->has_engines = told > 0;
    ret->engines_percent = told ? (sum + told / 2) / told : 0;
}

static uint32_t clock_read(const char *bytes, size_t at)
{
    uint64_t mhz = number_at(bytes, at, 2);
    return mhz <= CLOCK_MAX_MHZ ? (uint32_t)mhz : 0;
}

static void slowed_read(const char *bytes, size_t at, struct amd_table *ret)
{
    uint64_t why = number_at(bytes, at, 8);
    ret->has_slowed = is_told(why, 8);
    if (ret->has_slowed)
        ret->slowed =
            (why & LIMITED_POWER ? NVML_POWER_CAP : 0) | (why & LIMITED_HEAT ? NVML_SW_THERMAL : 0);
}

/* False: none of them is told. */
static bool links_read(const char *bytes, size_t at, uint64_t *ret)
{
    bool any = false;
    *ret = 0;
    for (size_t i = 0; i < LINKS; i++) {
        uint64_t kib = number_at(bytes, at + 8 * i, 8);
        any |= is_told(kib, 8);
        *ret += is_told(kib, 8) ? kib : 0;
    }
    return any;
}

void amd_table_read(const char *bytes, size_t len, struct amd_table *ret)
{
    *ret = (struct amd_table){0};
    size_t size = len >= HEAD ? number_at(bytes, 0, 2) : 0;
    if (size < HEAD || size > len || bytes[2] != 1)
        return;
    switch (bytes[3]) {
    case 1:
    case 2:
    case 3:
        if (size < 80)
            return;
        engines_read(bytes, 20, 1, ret);
        ret->clock_mhz = clock_read(bytes, 54);
        ret->memory_clock_mhz = clock_read(bytes, 58);
        if (bytes[3] == 3 && size >= 120)
            slowed_read(bytes, 112, ret);
        return;
    case 4:
    case 5: {
        size_t reads = bytes[3] == 4 ? 104 : 176, writes = reads + 8 * LINKS;
        if (size < writes + 8 * LINKS)
            return;
        engines_read(bytes, 16, ENGINES, ret);
        ret->has_links = links_read(bytes, reads, &ret->links_rx_kib) &&
                         links_read(bytes, writes, &ret->links_tx_kib);
        return;
    }
    default: return;
    }
}

void amd_table_say(const struct amd_table *t, bool clocks_too, struct str *out)
{
    if (t->has_engines)
        str_addf(out, " %d:%" PRIu32, SERIES_GPU_DECODER, t->engines_percent);
    if (t->has_slowed)
        str_addf(out, " %d:%" PRIu32, SERIES_GPU_THROTTLE, t->slowed);
    if (clocks_too && t->clock_mhz)
        str_addf(out, " %d:%" PRIu32, SERIES_GPU_SM_CLOCK, t->clock_mhz);
    if (clocks_too && t->memory_clock_mhz)
        str_addf(out, " %d:%" PRIu32, SERIES_GPU_MEM_CLOCK, t->memory_clock_mhz);
}
