/* AMD's devices, as ROCm SMI tells of them. */
#include "node/gpu_parts.h"

#include <stdio.h>

#define PROCESSES_MAX 256u

static void begin(struct gpu_helper *h)
{
    bool unfit = false;
    if (h->has_rsmi)
        return;
    h->has_rsmi = rsmi_open(&h->rsmi, &unfit);
    snprintf(h->rsmi_why, sizeof h->rsmi_why, "%s",
             h->has_rsmi ? ""
             : unfit     ? "AMD's management library lacks functions that are needed"
                         : "AMD's management library cannot be opened, or finds no driver");
}

static bool memory_read(const struct gpu_helper *h, const struct gpu *g, struct gpu_memory *ret)
{
    uint64_t total = 0, used = 0;
    bool ok = h->rsmi.memory_total(g->amd.number, RSMI_VRAM, &total) == 0 &&
              h->rsmi.memory_used(g->amd.number, RSMI_VRAM, &used) == 0;
    *ret = (struct gpu_memory){ok, total, used};
    return ok;
}

static bool ecc_read(const struct gpu_helper *h, const struct gpu *g, uint64_t *ret)
{
    static const int blocks[] = {1, 2, 4}; /* memory, copy engines, shaders */
    bool any = false;
    *ret = 0;
    for (size_t i = 0; h->rsmi.ecc && i < sizeof blocks / sizeof blocks[0]; i++) {
        struct rsmi_errors e = {0};
        if (h->rsmi.ecc(g->amd.number, blocks[i], &e) != 0)
            continue;
        *ret += e.uncorrectable;
        any = true;
    }
    return any;
}

static bool find(struct gpu_helper *h, struct gpu *g)
{
    uint32_t count = 0;
    char uuid[32];
    if (h->rsmi.count(&count) != 0)
        return false;
    for (uint32_t i = 0; i < count && i < RSMI_DEVICES_MAX && !g->amd.found; i++)
        if (rsmi_uuid(&h->rsmi, i, uuid) && text_is(uuid, g->uuid)) {
            g->amd.found = true;
            g->amd.number = i;
            g->amd.has_ecc = ecc_read(h, g, &g->amd.ecc);
        }
    return g->amd.found;
}

/* The library has no word for lost: what answered once and does not now is. */
static struct gpu_word health(struct gpu_helper *h, struct gpu *g)
{
    struct gpu_memory m;
    uint64_t ecc;
    if (!h->has_rsmi)
        return gpu_word_of(DEVICE_BLIND, "%s", h->rsmi_why);
    if (!g->amd.found && !find(h, g))
        return gpu_word_of(DEVICE_ABSENT, "ROCm SMI knows no GPU %s", g->uuid);
    bool answers = memory_read(h, g, &m);
    g->amd.answered |= answers;
    if (g->amd.answered && !answers)
        return gpu_word_of(DEVICE_LOST, "GPU %s is lost: ROCm SMI does not reach it any more", g->uuid);
    if (!ecc_read(h, g, &ecc) || !g->amd.has_ecc || ecc <= g->amd.ecc)
        return gpu_word_of(DEVICE_WELL, "%s", "");
    uint64_t more = ecc - g->amd.ecc;
    g->amd.ecc = ecc;
    return gpu_word_of(DEVICE_BROKEN, "GPU %s has %llu new uncorrectable memory errors (ECC)", g->uuid,
                       (unsigned long long)more);
}

static void search(struct gpu_helper *h, struct gpu *g, struct gpu_search *s)
{
    struct rsmi_process process[PROCESSES_MAX];
    uint32_t n = PROCESSES_MAX;
    if (!h->rsmi.processes || !h->rsmi.process_gpus || h->rsmi.processes(process, &n) != 0)
        return;
    for (uint32_t i = 0; i < n && i < PROCESSES_MAX; i++) {
        uint32_t on[64], gpus = 64;
        struct gpu_holder holder;
        bool here = false;
        if (h->rsmi.process_gpus(process[i].pid, on, &gpus) != 0 ||
            !gpu_holder_find((pid_t)process[i].pid, &holder))
            continue;
        for (uint32_t k = 0; k < gpus && k < 64; k++)
            here |= on[k] == g->amd.number;
        s->computes = true;
        if (here)
            gpu_search_weigh(s, &holder);
    }
}

static struct gpu_word memory(struct gpu_helper *h, struct gpu *g, struct gpu_memory *ret)
{
    memory_read(h, g, ret);
    return gpu_word_of(DEVICE_WELL, "%s", "");
}

static void nothing(struct gpu_helper *h)
{
    (void)h;
}

static void usage(struct gpu_helper *h)
{
    if (h->has_rsmi)
        gpu_usage_amd(&h->usage, &h->rsmi);
}

static void version(const struct gpu_helper *h, struct str *out)
{
    if (h->has_rsmi)
        str_add(out, "ROCm SMI");
}

const struct gpu_maker gpu_amd = {.begin = begin,
                                  .health = health,
                                  .search = search,
                                  .memory = memory,
                                  .retry = nothing,
                                  .tick = nothing,
                                  .usage = usage,
                                  .version = version};
