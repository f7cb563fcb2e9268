#include "node/step/bind/gpus.h"

#include "base/alloc.h"
#include "base/list.h"
#include "model/grammar/gres.h"

#include <stdlib.h>
#include <string.h>

static void gpus_find(struct gpu_binding *g, const struct bind_ask *ask)
{
    struct str all = STR_INIT;
    struct idset set = IDSET_INIT;
    uint32_t id;
    for (size_t i = 0; i < ask->here->ngres; i++)
        if (text_is(ask->here->gres[i].kind, "gpu") && ask->here->gres[i].devices)
            list_addf(&all, "%s", ask->here->gres[i].devices);
    bool more =
        all.len && idset_parse(&set, str_text(&all), UINT32_MAX, NULL) && idset_first(&set, &id);
    for (; more; more = idset_next(&set, id, &id))
        vec_push(&g->gpu, id);
    idset_done(&set);
    str_done(&all);
}

static void names_find(struct gpu_binding *g, const struct bind_ask *ask)
{
    for (size_t i = 0; i < g->gpu.n; i++) {
        struct span name = device_name_of(ask->gpu_names, g->gpu.v[i]);
        struct str text = STR_INIT;
        if (name.len)
            str_addn(&text, name.data, name.len);
        else
            str_add_u64(&text, ask->gpus_hidden ? i : g->gpu.v[i]);
        vec_push(&g->name, str_take(&text));
    }
}

static void near_find(struct gpu_binding *g, const struct bind_ask *ask, const bind_numbers *system)
{
    struct arena *a = arena_new();
    struct device_list device = {0};
    devices_parse(ask->devices, a, &device, NULL);
    for (size_t i = 0; i < g->gpu.n; i++) {
        struct idset near = IDSET_INIT, numbers = IDSET_INIT;
        for (size_t k = 0; k < device.n; k++)
            if (text_is(device.v[k].kind, "gpu") && device.v[k].index == (int32_t)g->gpu.v[i] &&
                device.v[k].cpus)
                idset_parse(&near, device.v[k].cpus, UINT32_MAX, NULL);
        if (ask->cpu_numbers) {
            bind_numbers_of(system, &near, &numbers);
            idset_copy(&near, &numbers);
        }
        idset_done(&numbers);
        vec_push(&g->near, near);
    }
    arena_free(a);
}

/* ---- what was asked ---- */

static int64_t last_number(const char *text)
{
    const char *colon = text ? strrchr(text, ':') : NULL;
    return text ? strtoll(colon ? colon + 1 : text, NULL, 0) : 0;
}

static const char *asked_of(const struct job_spec *spec)
{
    const char *asked = spec ? spec->gpu_bind : NULL;
    bool verbose =
        asked && (text_starts_nocase(asked, "verbose,") || text_starts_nocase(asked, "v,"));
    return verbose ? strchr(asked, ',') + 1 : asked;
}

static void way_set(struct gpu_binding *g, enum gpu_way way, int64_t share)
{
    g->way = way;
    g->share = share > 0 ? (size_t)share : 1;
}

/* map_gpu:LIST, mask_gpu:LIST, or map and mask as 25.05 has them; without elements it is none. A
 * map's numbers go round and round the GPUs. */
static bool list_read(struct gpu_binding *g, const char *asked, size_t tasks)
{
    static const char *const words[] = {"map_gpu", "map", "mask_gpu", "mask"};
    struct span list = span_of(asked), type;
    struct idset within = IDSET_INIT;
    size_t i = 0;
    span_next(&list, ':', &type);
    while (i < ARRAY_LEN(words) && !span_is_nocase(type, words[i]))
        i++;
    if (g->gpu.n == 0 || i == ARRAY_LEN(words))
        return false;
    idset_append(&within, 0, i < 2 ? UINT32_MAX : (uint32_t)g->gpu.n - 1);
    (i < 2 ? bind_map_read : bind_mask_read)(&g->list, list, &within, tasks);
    idset_done(&within);
    if (g->list.turn.n)
        way_set(g, GPU_WAY_LIST, 1);
    return g->list.turn.n > 0;
}

/* --ntasks-per-gpu is single:N, --gpus-per-task per_task:N, unless --gpu-bind says otherwise.
 * [verbose,]none | single:N | per_task:N | map_gpu:LIST | mask_gpu:LIST | closest; --gpus-per-task
 *   gives each its own unless said otherwise. */
static void way_read(struct gpu_binding *g, const struct job_spec *spec, size_t tasks)
{
    const char *asked = asked_of(spec);
    int64_t per_task = spec && spec->req.gpus_per_task ? last_number(spec->req.gpus_per_task) : 0;
    if (asked && text_starts_nocase(asked, "per_task:"))
        per_task = last_number(asked);
    if (asked && text_starts_nocase(asked, "single:"))
        way_set(g, GPU_WAY_SINGLE, last_number(asked));
    else if (asked && text_is_nocase(asked, "closest"))
        way_set(g, GPU_WAY_CLOSEST, 1);
    else if (asked && (text_is_nocase(asked, "none") || list_read(g, asked, tasks)))
        return;
    else if (per_task > 0)
        way_set(g, GPU_WAY_PER_TASK, per_task);
    else if (!asked && spec && spec->req.ntasks_per_gpu > 0)
        way_set(g, GPU_WAY_SINGLE, spec->req.ntasks_per_gpu);
}

void gpu_binding_read(struct gpu_binding *g, const struct bind_ask *ask, const bind_numbers *system,
                      size_t tasks)
{
    gpus_find(g, ask);
    names_find(g, ask);
    near_find(g, ask, system);
    way_read(g, ask->spec, tasks);
}

/* ---- of a task ---- */

static void gpu_add(const struct gpu_binding *g, size_t i, size_t *n, struct str *out)
{
    str_add(out, *n ? "," : "");
    str_add(out, g->name.v[i]);
    ++*n;
}

/* All that share a CPU with the task; none does: all. */
static size_t nearest_add(const struct gpu_binding *g, const struct idset *cpus, struct str *out)
{
    size_t n = 0;
    uint32_t id;
    for (size_t i = 0; i < g->gpu.n; i++)
        if (g->near.v[i].count == 0 || idset_common(&g->near.v[i], cpus, 0, &id))
            gpu_add(g, i, &n, out);
    return n;
}

static size_t listed_add(const struct gpu_binding *g, size_t index, struct str *out)
{
    const struct idset *listed = bind_list_of(&g->list, index);
    size_t n = 0;
    uint32_t id;
    for (bool more = idset_first(listed, &id); more; more = idset_next(listed, id, &id))
        gpu_add(g, id % g->gpu.n, &n, out);
    return n;
}

static size_t range_add(const struct gpu_binding *g, size_t from, size_t most, struct str *out)
{
    size_t n = 0;
    while (n < most && n < g->gpu.n)
        gpu_add(g, (from + n) % g->gpu.n, &n, out);
    return n;
}

size_t gpu_binding_task(const struct gpu_binding *g, size_t index, const struct idset *cpus,
                        struct str *out)
{
    if (g->gpu.n == 0)
        return 0;
    switch (g->way) {
    case GPU_WAY_SINGLE: return range_add(g, index / g->share, 1, out);
    case GPU_WAY_PER_TASK: return range_add(g, index * g->share, g->share, out);
    case GPU_WAY_CLOSEST: return nearest_add(g, cpus, out);
    case GPU_WAY_LIST: return listed_add(g, index, out);
    case GPU_WAY_NONE: break;
    }
    return 0;
}

void gpu_binding_done(struct gpu_binding *g)
{
    for (size_t i = 0; i < g->near.n; i++)
        idset_done(&g->near.v[i]);
    for (size_t i = 0; i < g->name.n; i++)
        free(g->name.v[i]);
    vec_done(&g->near);
    vec_done(&g->name);
    vec_done(&g->gpu);
    bind_list_done(&g->list);
}
