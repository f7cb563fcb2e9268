/* NVIDIA's devices. Broken is a device that needs a reset, a reboot or an exchange: newer drivers
 * say which (the recovery action), and say as well when it is done. Of older ones it is what their
 * remapped rows of memory say, or new uncorrectable memory errors where there is no remapping, and
 * XIDs (gpu_nvidia_events.c). Memory errors that the device contained, and a remapping that waits
 * for the next reset, take nothing out.
 *
 * Where the memory of a GPU is memory of the system (Grace Hopper), pages stay there after a
 * process has ended: then it proves nothing, and who has the device open does. */
#include "node/hardware/gpu_parts.h"
#include "node/hardware/gpu_time.h"

#include <stdio.h>
#include <string.h>

#define REOPEN_MS 5000

/* What the driver wants done, by the value of its field. */
static const char *const actions[] = {NULL,
                                      "a reset (nvidia-smi -r)",
                                      "a reboot of the node",
                                      "its traffic with other GPUs to be stopped",
                                      "to be drained and reset (nvidia-smi -r)",
                                      "its fabric (IMEX) to be recovered"};

static void library_close(struct gpu_helper *h)
{
    gpu_nvidia_events_end(h);
    gpu_nvidia_sample_end(h);
    nvml_close(&h->nvml);
    h->has_nvml = false;
    for (size_t i = 0; i < h->gpu.n; i++)
        h->gpu.v[i].nvidia.handle = h->gpu.v[i].nvidia.whole = NULL;
}

static void begin(struct gpu_helper *h)
{
    struct str why = STR_INIT;
    if (h->has_nvml || gpu_now_ms() < h->nvml_due_ms)
        return;
    h->has_nvml = nvml_open(&h->nvml, &why) == NVML_OPENED;
    h->nvml_due_ms = gpu_now_ms() + gpu_time(REOPEN_MS);
    snprintf(h->nvml_why, sizeof h->nvml_why, "%s", str_text(&why));
    str_done(&why);
}

static void retry(struct gpu_helper *h)
{
    library_close(h);
    h->nvml_due_ms = 0;
    begin(h);
}

struct gpu_word gpu_nvidia_word(struct gpu_helper *h, const struct gpu *g, int code,
                                const char *asked)
{
    const struct gpu_code *c = nvml_code(code);
    if (c->of_library) {
        snprintf(h->nvml_why, sizeof h->nvml_why, "NVML: %s (%d): %s", c->name, code, c->text);
        library_close(h);
    }
    return gpu_word_of_code(g, c, code, asked);
}

/* ---- is it well? ---- */

static int action_read(const struct nvml *n, nvml_device whole, unsigned *ret)
{
    struct nvml_field f = {.id = NVML_FIELD_RECOVERY};
    int code = n->fields ? n->fields(whole, 1, &f) : NVML_NOT_SUPPORTED;
    *ret = f.value.number;
    return code == NVML_OK ? f.answer : code;
}

/* What is asked beyond the memory need not be known: only bad news of the device counts. */
static bool is_bad_news(int code)
{
    int sign = nvml_code(code)->sign;
    return sign == DEVICE_RESET || sign == DEVICE_BROKEN || sign == DEVICE_LOST;
}

static bool ecc_read(const struct nvml *n, const struct nvidia_gpu *g, uint64_t *ret)
{
    unsigned long long count = 0;
    bool ok = !g->is_mig && n->ecc_total &&
              n->ecc_total(g->handle, 1 /* uncorrected */, 0 /* since the driver was loaded */,
                           &count) == NVML_OK &&
              count <= UINT32_MAX; /* more cannot be */
    *ret = count;
    return ok;
}

static struct gpu_word ecc_word(const struct nvml *n, struct gpu *g)
{
    struct nvidia_gpu *own = &g->nvidia;
    uint64_t count = 0, before = own->ecc;
    bool had = own->has_ecc;
    if (!ecc_read(n, own, &count))
        return gpu_word_of(DEVICE_WELL, "%s", "");
    own->has_ecc = true;
    own->ecc = count; /* a reset sets it back */
    if (had && count > before)
        return gpu_word_of(DEVICE_BROKEN, "GPU %s has %llu new uncorrectable memory errors (ECC)",
                           g->uuid, (unsigned long long)(count - before));
    return gpu_word_of(DEVICE_WELL, "%s", "");
}

static struct gpu_word damage_word(const struct nvml *n, struct gpu *g)
{
    unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0, action = 0;
    nvml_device whole = g->nvidia.whole;
    int told = whole ? action_read(n, whole, &action) : NVML_NOT_SUPPORTED;
    int rows = whole && n->remapped
                   ? n->remapped(whole, &corrected, &uncorrected, &pending, &failed)
                   : NVML_NOT_SUPPORTED;
    bool tells = told == NVML_OK, remaps = rows == NVML_OK;
    int bad = is_bad_news(told) ? told : rows;
    if (is_bad_news(bad))
        return gpu_word_of_code(g, nvml_code(bad), bad, "its damage");
    if (tells && action)
        return gpu_word_of(DEVICE_RESET, "GPU %s needs %s, says its driver", g->uuid,
                           action < sizeof actions / sizeof actions[0] ? actions[action]
                                                                       : "to be recovered");
    if (remaps && failed)
        return gpu_word_of(DEVICE_BROKEN,
                           "GPU %s has rows of memory that could not be replaced: exchange it",
                           g->uuid);
    if (!tells && !remaps)
        return ecc_word(n, g);
    return gpu_word_of(DEVICE_WELL, "%s", "");
}

static struct gpu_word health(struct gpu_helper *h, struct gpu *g)
{
    struct nvml_memory memory = {0};
    struct gpu_word word;
    if (!h->has_nvml)
        return gpu_word_of(DEVICE_BLIND, "%s", h->nvml_why);
    if (!gpu_nvidia_in_hand(h, g)) {
        word = gpu_nvidia_find(h, g);
        if (word.sign != DEVICE_WELL)
            return word;
    }
    word = gpu_nvidia_word(h, g, h->nvml.memory(g->nvidia.handle, &memory), "its memory");
    if (word.sign == DEVICE_WELL)
        return damage_word(&h->nvml, g);
    /* Of an instance that was removed, for example: it is looked for anew. */
    g->nvidia.handle = NULL;
    return word;
}

/* ---- is it clean? ---- */

static void list_search(struct gpu_helper *h, struct gpu *g, struct gpu_search *s, nvml_list_fn fn,
                        bool computes)
{
    struct nvml_processes list = {0};
    nvml_device device = gpu_nvidia_in_hand(h, g);
    int code = device ? nvml_processes_read(fn, device, &list) : NVML_OK;
    if (device && !gpu_nvidia_in_hand(h, g))
        vec_clear(&list.v); /* maybe those of another; its memory is not told either */
    struct gpu_word word = gpu_nvidia_word(h, g, code, "its processes");
    if (word.sign != DEVICE_WELL)
        s->unsure = word;
    for (size_t i = 0; i < list.v.n; i++) {
        struct gpu_holder holder;
        if (!gpu_holder_find(h->holders, (pid_t)list.v.v[i].pid, &holder))
            continue; /* gone since; its memory is looked at */
        s->how = computes || holder.of_job ? GPU_COMPUTES : GPU_OPEN;
        gpu_search_memory(s, holder.pid, list.v.v[i].used_bytes);
        gpu_search_weigh(s, &holder);
    }
    vec_done(&list.v);
}

static void search(struct gpu_helper *h, struct gpu *g, struct gpu_search *s)
{
    list_search(h, g, s, h->nvml.compute_processes, true);
    list_search(h, g, s, h->nvml.mps_processes, true);
    list_search(h, g, s, h->nvml.graphics_processes, false);
}

static struct gpu_word memory(struct gpu_helper *h, struct gpu *g, struct gpu_memory *ret)
{
    struct nvml_memory m = {0};
    unsigned numa;
    nvml_device whole = g->nvidia.whole;
    *ret = (struct gpu_memory){0};
    if (!gpu_nvidia_in_hand(h, g))
        return gpu_word_of(DEVICE_BLIND, "%s", h->nvml_why);
    if (whole && h->nvml.numa_node && h->nvml.numa_node(whole, &numa) == NVML_OK)
        return gpu_word_of(DEVICE_WELL, "%s", "");
    int code = h->nvml.memory(g->nvidia.handle, &m);
    *ret = (struct gpu_memory){code == NVML_OK && gpu_nvidia_in_hand(h, g), m.total, m.used};
    return gpu_nvidia_word(h, g, code, "its memory");
}

/* ---- the rest ---- */

static void usage(struct gpu_helper *h)
{
    for (size_t i = 0; i < h->gpu.n; i++) {
        struct gpu *g = &h->gpu.v[i];
        if (g->maker != &gpu_nvidia || g->hangs || g->told != DEVICE_WELL ||
            !gpu_nvidia_in_hand(h, g))
            continue;
        struct gpu_asked asked = gpu_asked_of(g);
        if (asked.is_part)
            asked.activity = gpu_nvidia_activity(h, &g->nvidia);
        gpu_usage_nvidia(&h->usage, &h->nvml, g->nvidia.handle, &asked, &g->meter);
    }
}

static void version(const struct gpu_helper *h, struct str *out)
{
    if (h->has_nvml)
        nvml_version_say(&h->nvml, out);
}

const struct gpu_maker gpu_nvidia = {.begin = begin,
                                     .health = health,
                                     .search = search,
                                     .memory = memory,
                                     .retry = retry,
                                     .tick = gpu_nvidia_events,
                                     .usage = usage,
                                     .sample = gpu_nvidia_sample,
                                     .version = version};
