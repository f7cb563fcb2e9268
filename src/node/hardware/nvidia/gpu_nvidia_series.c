/* What an NVIDIA device does, for the series of its job. Of a value that the library does not tell,
 * or that cannot be (more than 100 %), nothing is said. Instances (MIG) tell their memory, and
 * activity on Hopper and newer; the rest is the whole GPU's, which others have too.
 *
 * NVLink's bytes are counters (fields 138, 139), so a sample has their rate since the one before.
 * Bytes over PCIe are told by GPM. Their counters (197, 198) have 32 bits with the driver that was
 * seen (580, H200): at 55 GB/s they go round each 80 ms, and their rate is any number; they count
 * only where they have 64. The call that looks at PCIe for 20 ms is not made (decision 0135). */
#include "base/alloc.h"
#include "model/record/series.h"
#include "node/hardware/gpu_parts.h"

#include <string.h>

#define FIELD_MEMORY_TEMP 82
#define FIELD_NVLINK_TX   138 /* KiB, of all links with this scope: */
#define FIELD_NVLINK_RX   139
#define ALL_LINKS         UINT32_MAX
#define FIELD_PCIE_TX     197 /* bytes; wraps */
#define FIELD_PCIE_RX     198
#define FIELDS_N          5
#define PCIE_FIELDS       2 /* the first */
#define FIELD_IS_32_BITS  1 /* its type */

#define CLOCK_SM      1
#define CLOCK_MEMORY  2
#define CORE_SENSOR   0
#define POWER_MAX_MW  5000000u
#define CLOCK_MAX_MHZ 100000u
#define TEMP_MAX      300
#define GPM_LEAST_MS  110
#define GPM_SM        2
#define GPM_PCIE_TX   20 /* MiB/s */
#define GPM_PCIE_RX   21
#define PCIE_MAX_MIB  1e6

static void say(struct str *out, int id, long long value)
{
    str_addf(out, " %d:%lld", id, value);
}

static void use_say(const struct nvml *n, nvml_device device, struct str *out)
{
    struct nvml_use use = {0};
    unsigned percent, period;
    if (n->use && n->use(device, &use) == NVML_OK && use.gpu <= 100) {
        say(out, SERIES_GPU_UTIL, use.gpu);
        if (use.memory <= 100)
            say(out, SERIES_GPU_MEM_UTIL, use.memory);
    }
    if (n->encoder && n->encoder(device, &percent, &period) == NVML_OK && percent <= 100)
        say(out, SERIES_GPU_ENCODER, percent);
    if (n->decoder && n->decoder(device, &percent, &period) == NVML_OK && percent <= 100)
        say(out, SERIES_GPU_DECODER, percent);
}

static void memory_say(const struct nvml *n, nvml_device device, struct str *out)
{
    struct nvml_memory m = {0};
    if (n->memory(device, &m) != NVML_OK || m.used > m.total)
        return;
    say(out, SERIES_GPU_MEM, (long long)(m.used >> 20));
    say(out, SERIES_GPU_MEM_TOTAL, (long long)(m.total >> 20));
}

static void sensors_say(const struct nvml *n, nvml_device device, struct str *out)
{
    static const int clock[2] = {CLOCK_SM, CLOCK_MEMORY};
    static const int id[2] = {SERIES_GPU_SM_CLOCK, SERIES_GPU_MEM_CLOCK};
    unsigned number = 0;
    unsigned long long bits = 0, errors = 0;
    if (n->power && n->power(device, &number) == NVML_OK && number < POWER_MAX_MW)
        say(out, SERIES_GPU_POWER, (number + 50) / 100);
    if (n->temperature && n->temperature(device, CORE_SENSOR, &number) == NVML_OK &&
        number < TEMP_MAX)
        say(out, SERIES_GPU_TEMP, number);
    for (size_t i = 0; i < 2 && n->clock; i++)
        if (n->clock(device, clock[i], &number) == NVML_OK && number < CLOCK_MAX_MHZ)
            say(out, id[i], number);
    if (n->clock_reasons && n->clock_reasons(device, &bits) == NVML_OK && bits <= INT32_MAX)
        say(out, SERIES_GPU_THROTTLE, (long long)bits);
    if (n->ecc_total && n->ecc_total(device, 1, 0, &errors) == NVML_OK && errors <= INT32_MAX)
        say(out, SERIES_GPU_ECC, (long long)errors);
}

/* ---- counters ---- */

static void fields_say(const struct nvml *n, struct gpu *g, bool pcie_too, struct str *out)
{
    static const struct {
        unsigned id, scope, per_kib;
        int series;
    } row[FIELDS_N] = {{FIELD_PCIE_TX, 0, 1024, SERIES_GPU_PCIE_TX},
                       {FIELD_PCIE_RX, 0, 1024, SERIES_GPU_PCIE_RX},
                       {FIELD_NVLINK_TX, ALL_LINKS, 1, SERIES_GPU_NVLINK_TX},
                       {FIELD_NVLINK_RX, ALL_LINKS, 1, SERIES_GPU_NVLINK_RX},
                       {FIELD_MEMORY_TEMP, 0, 1, SERIES_GPU_MEM_TEMP}};
    struct nvml_field f[FIELDS_N] = {0};
    for (size_t i = 0; i < FIELDS_N; i++) {
        f[i].id = row[i].id;
        f[i].scope = row[i].scope;
    }
    if (!n->fields || n->fields(g->nvidia.handle, FIELDS_N, f) != NVML_OK)
        return;
    for (size_t i = pcie_too ? 0 : PCIE_FIELDS; i + 1 < FIELDS_N; i++)
        if (f[i].answer == NVML_OK && f[i].type != FIELD_IS_32_BITS)
            gpu_rate_say(&g->nvidia.counted[i], f[i].value.large, row[i].per_kib, row[i].series,
                         out);
    if (f[FIELDS_N - 1].answer == NVML_OK && f[FIELDS_N - 1].value.number < TEMP_MAX)
        say(out, SERIES_GPU_MEM_TEMP, f[FIELDS_N - 1].value.number);
}

/* ---- activity (GPM) ---- */

static bool activity_begin(const struct nvml *n, const struct nvidia_gpu *g,
                           struct nvidia_activity *y)
{
    struct nvml_gpm_support support = {.version = 1};
    bool complete = n->gpm_support && n->gpm_alloc && n->gpm_free && n->gpm_metrics &&
                    (g->is_mig ? n->gpm_mig_sample != NULL : n->gpm_sample != NULL);
    if (y->sample[0])
        return true;
    y->none = !complete || n->gpm_support(g->whole, &support) != NVML_OK || !support.supported ||
              n->gpm_alloc(&y->sample[0]) != NVML_OK;
    if (!y->none && n->gpm_alloc(&y->sample[1]) != NVML_OK) {
        n->gpm_free(y->sample[0]);
        y->sample[0] = NULL;
        y->none = true;
    }
    return !y->none;
}

static bool activity_take(const struct nvml *n, const struct nvidia_gpu *g, void *to)
{
    return (g->is_mig ? n->gpm_mig_sample(g->whole, g->gpu_instance, to)
                      : n->gpm_sample(g->handle, to)) == NVML_OK;
}

/* True: `m`, whose metrics are named, has what was since the sample before. The newer sample is the
 * older one of the next time. */
static bool activity_read(const struct nvml *n, const struct nvidia_gpu *g,
                          struct nvidia_activity *y, struct nvml_gpm *m)
{
    int64_t now = gpu_now_ms();
    bool pair = y->before;
    if (y->none || !g->whole || !activity_begin(n, g, y) || (pair && now - y->at_ms < GPM_LEAST_MS))
        return false;
    y->before = activity_take(n, g, y->sample[1]);
    if (!y->before)
        return false;
    m->version = 1;
    m->older = y->sample[0];
    m->newer = y->sample[1];
    bool told = pair && n->gpm_metrics(m) == NVML_OK;
    y->sample[0] = m->newer;
    y->sample[1] = m->older;
    y->at_ms = now;
    return told;
}

/* In tenths of a percent; -1 = not told, or it cannot be. */
static int activity_of(const struct nvml_gpm_metric *m)
{
    return m->answer == NVML_OK && m->value >= 0 && m->value <= 100 ? (int)(m->value * 10 + 0.5)
                                                                    : -1;
}

/* True: it tells of PCIe, too, which is said where `pcie_too`. */
static bool activity(const struct nvml *n, struct nvidia_gpu *g, bool pcie_too, struct str *out)
{
    static const struct {
        unsigned metric;
        int series;
    } row[] = {{GPM_SM, SERIES_GPU_SM}, {3, SERIES_GPU_OCCUPANCY}, {5, SERIES_GPU_TENSOR},
               {10, SERIES_GPU_DRAM},   {11, SERIES_GPU_FP64},     {12, SERIES_GPU_FP32},
               {13, SERIES_GPU_FP16}},
      pcie[] = {{GPM_PCIE_TX, SERIES_GPU_PCIE_TX}, {GPM_PCIE_RX, SERIES_GPU_PCIE_RX}};
    static struct nvml_gpm m;
    bool told = false;
    m = (struct nvml_gpm){.n = ARRAY_LEN(row) + ARRAY_LEN(pcie)};
    for (size_t i = 0; i < ARRAY_LEN(row); i++)
        m.metric[i].id = row[i].metric;
    for (size_t i = 0; i < ARRAY_LEN(pcie); i++)
        m.metric[ARRAY_LEN(row) + i].id = pcie[i].metric;
    if (!activity_read(n, g, &g->gpm[0], &m))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(row); i++)
        if (activity_of(&m.metric[i]) >= 0)
            say(out, row[i].series, activity_of(&m.metric[i]));
    for (size_t i = 0; i < ARRAY_LEN(pcie) && pcie_too; i++) {
        const struct nvml_gpm_metric *one = &m.metric[ARRAY_LEN(row) + i];
        if (one->answer != NVML_OK || !(one->value >= 0 && one->value < PCIE_MAX_MIB))
            continue;
        say(out, pcie[i].series, (long long)(one->value * 1024 + 0.5));
        told = true;
    }
    return told;
}

int gpu_nvidia_activity(struct gpu_helper *h, struct nvidia_gpu *g)
{
    static struct nvml_gpm m;
    m = (struct nvml_gpm){.n = 1};
    m.metric[0].id = GPM_SM;
    return activity_read(&h->nvml, g, &g->gpm[1], &m) ? activity_of(&m.metric[0]) : -1;
}

void gpu_nvidia_sample(struct gpu_helper *h, struct gpu *g, struct str *out)
{
    size_t before = out->len;
    if (!h->has_nvml || !gpu_nvidia_in_hand(h, g))
        return;
    memory_say(&h->nvml, g->nvidia.handle, out);
    if (!g->nvidia.is_mig) {
        use_say(&h->nvml, g->nvidia.handle, out);
        sensors_say(&h->nvml, g->nvidia.handle, out);
    }
    if (h->events || g->nvidia.xids)
        say(out, SERIES_GPU_XID, (long long)g->nvidia.xids);
    bool pcie_told = activity(&h->nvml, &g->nvidia, !g->nvidia.is_mig, out);
    if (!g->nvidia.is_mig)
        fields_say(&h->nvml, g, !pcie_told, out);
    if (!gpu_nvidia_in_hand(h, g))
        str_cut(out, before);
}

void gpu_nvidia_sample_end(struct gpu_helper *h)
{
    for (size_t i = 0; i < h->gpu.n; i++) {
        struct nvidia_gpu *g = &h->gpu.v[i].nvidia;
        for (size_t k = 0; k < 4; k++) {
            void *sample = g->gpm[k / 2].sample[k % 2];
            if (sample && h->nvml.gpm_free)
                h->nvml.gpm_free(sample);
        }
        memset(g->gpm, 0, sizeof g->gpm);
        for (size_t k = 0; k < 4; k++)
            g->counted[k].known = false;
    }
}
