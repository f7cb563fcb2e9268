/* AMD's devices, as the kernel tells of them, or ROCm SMI (amd.h). Which answer means what for a
 * device is said in answer.c; here, which sign each is. */
#include "model/record/series.h"
#include "node/hardware/gpu_parts.h"
#include "node/hardware/gpu_time.h"

#include <inttypes.h>
#include <stdio.h>

/* What is not there is not looked for sooner again; each time that fails it is twice that. */
#define RETRY_MS  10000
#define DOUBLED   6u   /* so often: one that hangs leaves a thread behind */
#define ERRORS_MS 5000 /* counting errors asks each block of a device: not each second */

static void begin(struct gpu_helper *h)
{
    struct amd_helper *m = &h->amd;
    struct str why = STR_INIT;
    bool again = m->wanted || !m->amd;
    if (!again || gpu_now_ms() < m->due_ms)
        return;
    struct amd *amd = amd_open(&why);
    m->tries = amd ? 0 : m->tries + (m->tries < DOUBLED);
    m->due_ms = gpu_now_ms() + gpu_time(RETRY_MS) * (INT64_C(1) << m->tries);
    m->wanted = false;
    snprintf(m->why, sizeof m->why, "%s",
             amd       ? ""
             : why.len ? str_text(&why)
                       : "AMD's driver is not loaded (there is no /dev/kfd)");
    str_done(&why);
    if (!amd && m->amd)
        return; /* what is known of them is more than nothing */
    if (!amd_close(m->amd))
        m->tries = DOUBLED;
    m->amd = amd;
    for (size_t i = 0; i < h->gpu.n; i++)
        h->gpu.v[i].amd.found = false;
}

static uint32_t render_of(const struct gpu *g)
{
    for (size_t i = 0; i < g->nfiles; i++)
        if (g->file[i].major == DRM_MAJOR)
            return g->file[i].minor;
    return UINT32_MAX;
}

static const char *name_of(const struct gpu *g)
{
    return text_is(g->uuid, "-") ? g->pci : g->uuid;
}

static bool find(struct gpu_helper *h, struct gpu *g)
{
    g->amd.number = amd_find(h->amd.amd, g->uuid, render_of(g));
    g->amd.found = g->amd.number != UINT32_MAX;
    return g->amd.found;
}

static struct gpu_word errors_word(struct gpu *g, const struct amd_now *now)
{
    uint64_t before = g->amd.ecc;
    bool more = now->has_errors && g->amd.has_ecc && now->uncorrectable > before;
    if (now->has_errors) { /* less than before: it was reset, and counts anew */
        g->amd.has_ecc = true;
        g->amd.ecc = now->uncorrectable;
    }
    if (!more)
        return gpu_word_of(DEVICE_WELL, "%s", "");
    return gpu_word_of(DEVICE_BROKEN,
                       "GPU %s has %" PRIu64 " new uncorrectable memory errors (ECC)", name_of(g),
                       now->uncorrectable - before);
}

static struct gpu_word health(struct gpu_helper *h, struct gpu *g)
{
    struct amd_helper *m = &h->amd;
    if (!m->amd)
        return gpu_word_of(DEVICE_BLIND, "%s", m->why);
    if (!g->amd.found && !find(h, g)) {
        m->wanted = true;
        return gpu_word_of(DEVICE_ABSENT, "%s knows no GPU %s", m->amd->source->name, name_of(g));
    }
    bool errors_too = gpu_now_ms() >= g->amd.errors_due_ms;
    if (errors_too)
        g->amd.errors_due_ms = gpu_now_ms() + gpu_time(ERRORS_MS);
    amd_look(m->amd, UINT64_C(1) << g->amd.number, errors_too);
    const struct amd_now *now = amd_now(m->amd, g->amd.number);
    switch (now->answer) {
    case AMD_OK:
    case AMD_NOT_TOLD:
    case AMD_LATER: return errors_word(g, now);
    case AMD_DOUBT: return gpu_word_of(DEVICE_DOUBT, "GPU %s: %s", name_of(g), now->why);
    case AMD_BLIND: return gpu_word_of(DEVICE_BLIND, "GPU %s: %s", name_of(g), now->why);
    case AMD_ABSENT: return gpu_word_of(DEVICE_ABSENT, "GPU %s: %s", name_of(g), now->why);
    case AMD_LOST: break;
    }
    return gpu_word_of(DEVICE_LOST, "GPU %s is lost: %s", name_of(g), now->why);
}

static void search(struct gpu_helper *h, struct gpu *g, struct gpu_search *s)
{
    const amd_process_vec *p;
    if (!amd_processes(h->amd.amd, &p)) {
        s->unsure = gpu_word_of(DEVICE_BLIND,
                                "GPU %s: the driver does not tell which processes compute on it",
                                name_of(g));
        return;
    }
    for (size_t i = 0; i < p->n; i++) {
        struct gpu_holder holder;
        if (p->v[i].device != g->amd.number || !gpu_holder_find(h->holders, p->v[i].pid, &holder))
            continue; /* gone since; its memory is looked at */
        gpu_search_memory(s, p->v[i].pid, p->v[i].has_bytes ? p->v[i].bytes : UINT64_MAX);
        s->how = GPU_COMPUTES;
        gpu_search_weigh(s, &holder);
    }
}

static struct gpu_word memory(struct gpu_helper *h, struct gpu *g, struct gpu_memory *ret)
{
    const struct amd_now *now =
        amd_now(h->amd.amd, g->amd.number); /* of the look at its health, just before */
    *ret = (struct gpu_memory){now->has_memory, now->memory_total, now->memory_used};
    return gpu_word_of(DEVICE_WELL, "%s", "");
}

static void retry(struct gpu_helper *h)
{
    h->amd.due_ms = 0;
}

static void nothing(struct gpu_helper *h)
{
    (void)h;
}

static void usage(struct gpu_helper *h)
{
    for (size_t i = 0; h->amd.amd && i < h->gpu.n; i++) {
        struct gpu *g = &h->gpu.v[i];
        if (g->maker != &gpu_amd || !g->amd.found)
            continue;
        struct gpu_asked asked = gpu_asked_of(g);
        gpu_usage_amd(&h->usage, h->amd.amd, g->amd.number, &asked, &g->meter);
    }
}

static void sample(struct gpu_helper *h, struct gpu *g, struct str *out)
{
    if (!h->amd.amd || !g->amd.found)
        return;
    const struct amd_now *now = amd_now(h->amd.amd, g->amd.number); /* of the last second's look */
    if (now->answer != AMD_OK && now->answer != AMD_NOT_TOLD)
        return;
    if (now->has_busy)
        str_addf(out, " %d:%u", SERIES_GPU_UTIL, now->busy_percent);
    if (now->has_memory)
        str_addf(out, " %d:%" PRIu64 " %d:%" PRIu64, SERIES_GPU_MEM, now->memory_used >> 20,
                 SERIES_GPU_MEM_TOTAL, now->memory_total >> 20);
    str_add(out, now->sensors);
    if (now->table.has_links) {
        gpu_rate_say(&g->amd.counted[0], now->table.links_tx_kib, 1, SERIES_GPU_NVLINK_TX, out);
        gpu_rate_say(&g->amd.counted[1], now->table.links_rx_kib, 1, SERIES_GPU_NVLINK_RX, out);
    }
    if (g->amd.has_ecc && g->amd.ecc <= INT32_MAX)
        str_addf(out, " %d:%" PRIu64, SERIES_GPU_ECC, g->amd.ecc);
}

static void version(const struct gpu_helper *h, struct str *out)
{
    if (h->amd.amd)
        amd_version(h->amd.amd, out);
}

const struct gpu_maker gpu_amd = {.begin = begin,
                                  .health = health,
                                  .search = search,
                                  .memory = memory,
                                  .retry = retry,
                                  .tick = nothing,
                                  .usage = usage,
                                  .sample = sample,
                                  .version = version};
