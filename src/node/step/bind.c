/* Lists of users are read once, not once a task: both may be long. The CPUs of a step on a node are
 * taken apart into cores; tasks pick cores in turn, from the sockets in turn (cyclic, Slurm's
 * default) or one socket after another (block). A task takes as many cores as its CPUs need. By
 * default tasks are bound when their CPUs or cores come out even, as Slurm's automatic binding
 * does; else all may use all. */
#include "node/step/bind.h"

#include "base/alloc.h"
#include "base/idset.h"
#include "base/list.h"
#include "base/vec.h"
#include "model/grammar/gres.h"

#include <stdlib.h>
#include <string.h>

#define NAMED_MOST 1048576u

enum bind_unit {
    UNIT_NONE,
    UNIT_THREADS,
    UNIT_CORES,
    UNIT_SOCKETS,
    UNIT_RANK,
    UNIT_MAP,
    UNIT_MASK
};

static const char *const unit_names[] = {"none", "threads",  "cores",    "sockets",
                                         "rank", "map_cpu:", "mask_cpu:"};

typedef VEC(uint32_t) u32s;

struct core_cpus {
    u32s cpu; /* numbers of the node */
    int32_t socket;
    size_t used;
};

/* The elements of "0,4,8", each to be read from there. */
typedef VEC(const char *) word_list;

struct binding {
    const struct bind_ask *ask;
    VEC(struct core_cpus) core;
    u32s cpu;  /* all */
    u32s task; /* numbers */
    u32s gpu;
    struct device_list device; /* of the whole node */
    int32_t sockets;
    enum bind_unit unit;
    word_list number, list;           /* the system's, by the node's; of map and mask */
    word_list gpu_map, gpu_mask, mem; /* of --gpu-bind and --mem-bind */
    struct idset ours;                /* see step_cpus */
    /* Of each GPU of the step: the system's CPUs that are near it; none = not known. */
    VEC(struct idset) near;
    size_t named; /* CPUs, one task after another; those after NAMED_MOST (-O) are not bound */
    bool verbose, block;
};

static void words_read(const char *list, word_list *out)
{
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        vec_push(out, at);
}

/* Round and round. */
static const char *word_of(const word_list *list, size_t index)
{
    return list->v[index % list->n];
}

static void numbers(const char *folded, u32s *out)
{
    struct idset set = IDSET_INIT;
    uint32_t id;
    bool more = folded && idset_parse(&set, folded, UINT32_MAX, NULL) && idset_first(&set, &id);
    for (; more; more = idset_next(&set, id, &id))
        vec_push(out, id);
    idset_done(&set);
}

static void cores_find(struct binding *b)
{
    int32_t tpc = b->ask->threads_per_core > 0 ? b->ask->threads_per_core : 1;
    int32_t cps = b->ask->cores_per_socket > 0 ? b->ask->cores_per_socket : INT32_MAX;
    uint32_t last = UINT32_MAX;
    for (size_t i = 0; i < b->cpu.n; i++) {
        uint32_t core = b->cpu.v[i] / (uint32_t)tpc;
        if (core != last) {
            struct core_cpus c = {.socket = (int32_t)(core / (uint32_t)cps)};
            vec_push(&b->core, c);
        }
        last = core;
        vec_push(&b->core.v[b->core.n - 1].cpu, b->cpu.v[i]);
        if (b->core.v[b->core.n - 1].socket >= b->sockets)
            b->sockets = b->core.v[b->core.n - 1].socket + 1;
    }
}

/* ---- what was asked ---- */

/* With --overcommit it may be any number; no task has more than all. */
static int32_t cpus_per_task(const struct binding *b)
{
    int32_t n = b->ask->spec ? b->ask->spec->req.cpus_per_task : 0;
    int32_t most = b->cpu.n ? (int32_t)b->cpu.n : 1;
    return n <= 0 ? 1 : n < most ? n : most;
}

static void word_take(struct binding *b, struct span word, bool *ret_said)
{
    static const struct {
        const char *word;
        enum bind_unit unit;
    } words[] = {{"none", UNIT_NONE},         {"no", UNIT_NONE},
                 {"threads", UNIT_THREADS},   {"cores", UNIT_CORES},
                 {"sockets", UNIT_SOCKETS},   {"ldoms", UNIT_SOCKETS},
                 {"boards", UNIT_NONE},       {"rank", UNIT_RANK},
                 {"rank_ldom", UNIT_SOCKETS}, {"one_thread", UNIT_THREADS}};
    if (span_is_nocase(word, "verbose") || span_is_nocase(word, "v"))
        b->verbose = true;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (span_is_nocase(word, words[i].word)) {
            b->unit = words[i].unit;
            *ret_said = true;
        }
}

/* Even: bind; else leave free. */
static enum bind_unit automatic(const struct binding *b)
{
    size_t wanted = b->task.n * (size_t)cpus_per_task(b);
    if (wanted == b->cpu.n)
        return UNIT_THREADS;
    if (b->task.n == b->core.n || wanted == b->core.n)
        return UNIT_CORES;
    return UNIT_NONE;
}

static void cpu_bind_read(struct binding *b)
{
    const char *asked = b->ask->spec ? b->ask->spec->cpu_bind : NULL;
    struct span rest = span_of(asked), word;
    bool said = false;
    while (asked && !said && span_next(&rest, ',', &word)) {
        struct span type, list = word;
        span_next(&list, ':', &type);
        if (span_is_nocase(type, "map_cpu") || span_is_nocase(type, "mask_cpu")) {
            b->unit = span_is_nocase(type, "map_cpu") ? UNIT_MAP : UNIT_MASK;
            words_read(list.data, &b->list);
            said = true;
        } else {
            word_take(b, type, &said);
        }
    }
    if (!said)
        b->unit = automatic(b);
}

static void distribution_read(struct binding *b)
{
    const char *d = b->ask->spec ? b->ask->spec->req.distribution : NULL;
    const char *second = d ? strchr(d, ':') : NULL;
    b->block = second && text_starts_nocase(second + 1, "block");
}

/* ---- picking ---- */

/* The core that the next task (or the next CPU of one) takes; from `socket` if it can. */
static struct core_cpus *core_pick(struct binding *b, int32_t socket)
{
    struct core_cpus *any = NULL;
    for (size_t i = 0; i < b->core.n; i++) {
        struct core_cpus *c = &b->core.v[i];
        if (c->used == c->cpu.n)
            continue;
        if (socket < 0 || c->socket == socket)
            return c;
        any = any ? any : c;
    }
    return any;
}

static void cores_reset(struct binding *b)
{
    for (size_t i = 0; i < b->core.n; i++)
        b->core.v[i].used = 0;
}

/* Takes CPUs of whole cores (cores) or as many as it needs (threads). */
static void cpus_pick(struct binding *b, size_t index, struct idset *out)
{
    int32_t need = cpus_per_task(b),
            socket = b->block || b->sockets < 2 ? -1 : (int32_t)(index % (size_t)b->sockets);
    while (need > 0) {
        struct core_cpus *c = core_pick(b, socket);
        if (!c) { /* more tasks than CPUs: they share, from the first on */
            cores_reset(b);
            if (!(c = core_pick(b, socket)))
                return;
        }
        socket = c->socket;
        if (b->unit == UNIT_CORES) {
            for (size_t i = 0; i < c->cpu.n; i++)
                idset_add(out, c->cpu.v[i]);
            need -= (int32_t)c->cpu.n;
            c->used = c->cpu.n;
        } else {
            idset_add(out, c->cpu.v[c->used++]);
            need--;
        }
    }
}

static void socket_pick(struct binding *b, size_t index, struct idset *out)
{
    struct core_cpus *first = b->core.n ? &b->core.v[index % b->core.n] : NULL;
    int32_t socket = b->sockets > 1 ? (int32_t)(index % (size_t)b->sockets)
                     : first        ? first->socket
                                    : 0;
    for (size_t i = 0; i < b->core.n; i++)
        for (size_t k = 0; b->core.v[i].socket == socket && k < b->core.v[i].cpu.n; k++)
            idset_add(out, b->core.v[i].cpu.v[k]);
}

/* ---- system numbers ---- */

static void system_numbers(const struct binding *b, const struct idset *cpus, struct idset *out)
{
    uint32_t id;
    for (bool more = idset_first(cpus, &id); more; more = idset_next(cpus, id, &id))
        if (id < b->number.n)
            idset_add(out, (uint32_t)strtoul(b->number.v[id], NULL, 10));
}

/* Element of a map or mask, round and round. */
static void listed(const struct binding *b, size_t index, struct idset *out)
{
    if (!b->list.n)
        return;
    if (b->unit == UNIT_MAP) {
        idset_add(out, (uint32_t)strtoul(word_of(&b->list, index), NULL, 0));
        return;
    }
    unsigned long mask = strtoul(word_of(&b->list, index), NULL, 16);
    for (uint32_t bit = 0; bit < 64; bit++)
        if (mask >> bit & 1)
            idset_add(out, bit);
}

/* All that the step holds; in the system's numbers where CPUs are kept to. */
static void step_cpus(const struct binding *b, struct idset *out)
{
    struct idset all = IDSET_INIT;
    for (size_t i = 0; i < b->cpu.n; i++)
        idset_add(b->ask->cpu_numbers ? &all : out, b->cpu.v[i]);
    if (b->ask->cpu_numbers)
        system_numbers(b, &all, out);
    idset_done(&all);
}

/* Those of a bound task, never beyond what the step holds. */
static void task_cpus(struct binding *b, size_t index, struct idset *out)
{
    struct idset own = IDSET_INIT, system = IDSET_INIT;
    uint32_t id;
    if (b->unit == UNIT_THREADS || b->unit == UNIT_CORES)
        cpus_pick(b, index, &own);
    else if (b->unit == UNIT_SOCKETS)
        socket_pick(b, index, &own);
    else if (b->unit == UNIT_RANK && b->cpu.n)
        idset_add(&own, b->cpu.v[index % b->cpu.n]);
    system_numbers(b, &own, &system);
    if (b->unit == UNIT_MAP || b->unit == UNIT_MASK)
        listed(b, index, &system);
    for (bool more = idset_first(&system, &id); more; more = idset_next(&system, id, &id))
        if (idset_has(&b->ours, id))
            idset_add(out, id);
    idset_done(&own);
    idset_done(&system);
}

/* Plain numbers: the shepherd reads no ranges. */
static void cpus_write(const struct idset *cpus, struct str *out)
{
    uint32_t id;
    for (bool more = idset_first(cpus, &id), first = true; more;
         more = idset_next(cpus, id, &id), first = false)
        str_addf(out, "%s%u", first ? "" : ",", id);
    str_add(out, cpus->count == 0 ? "- " : " ");
}

/* ---- GPUs and memory ---- */

/* In the order of their numbers, in which those that are left over are counted; an allocation has
 * them type by type. */
static void gpus_find(struct binding *b)
{
    struct str all = STR_INIT;
    for (size_t i = 0; i < b->ask->here->ngres; i++)
        if (text_is(b->ask->here->gres[i].kind, "gpu") && b->ask->here->gres[i].devices)
            list_addf(&all, "%s", b->ask->here->gres[i].devices);
    numbers(str_text(&all), &b->gpu);
    str_done(&all);
}

/* As CUDA is to be told of it: by name where it has one, else by its number, which counts from 0
 * where the others are hidden. */
static void gpu_add(const struct binding *b, size_t i, struct str *out)
{
    struct span name = device_name_of(b->ask->gpu_names, b->gpu.v[i]);
    if (name.len)
        str_addf(out, "%.*s", (int)name.len, name.data);
    else
        str_addf(out, "%u", b->ask->gpus_hidden ? (uint32_t)i : b->gpu.v[i]);
}

static int64_t last_number(const char *text)
{
    const char *colon = text ? strrchr(text, ':') : NULL;
    return text ? strtoll(colon ? colon + 1 : text, NULL, 0) : 0;
}

static void devices_add(const struct binding *b, size_t from, size_t n, struct str *out)
{
    for (size_t i = 0; i < n && b->gpu.n; i++) {
        str_add(out, i ? "," : "");
        gpu_add(b, (from + i) % b->gpu.n, out);
    }
}

static void near_find(struct binding *b)
{
    for (size_t i = 0; i < b->gpu.n; i++) {
        struct idset near = IDSET_INIT, system = IDSET_INIT;
        for (size_t k = 0; k < b->device.n; k++)
            if (text_is(b->device.v[k].kind, "gpu") &&
                b->device.v[k].index == (int32_t)b->gpu.v[i] && b->device.v[k].cpus)
                idset_parse(&near, b->device.v[k].cpus, UINT32_MAX, NULL);
        if (b->ask->cpu_numbers) {
            system_numbers(b, &near, &system);
            idset_copy(&near, &system);
        }
        idset_done(&system);
        vec_push(&b->near, near);
    }
}

/* Shares a CPU with those that are near the step's i-th GPU? */
static bool is_near(const struct binding *b, size_t i, const struct idset *cpus)
{
    uint32_t id;
    bool is = b->near.v[i].count == 0;
    for (bool more = idset_first(cpus, &id); more && !is; more = idset_next(cpus, id, &id))
        is = idset_has(&b->near.v[i], id);
    return is;
}

/* --gpu-bind=closest: all that are near the task's CPUs (the step's, if it is not bound); none is:
 * all. */
static void nearest_add(const struct binding *b, const struct idset *task, struct str *out)
{
    size_t before = out->len;
    for (size_t i = 0; i < b->gpu.n; i++)
        if (is_near(b, i, task->count ? task : &b->ours)) {
            str_add(out, out->len > before ? "," : "");
            gpu_add(b, i, out);
        }
}

/* The list of "map_gpu:LIST" or "map:LIST"; NULL: it is neither. */
static const char *list_of(const char *asked, const char *word, const char *short_word)
{
    if (!asked)
        return NULL;
    return text_starts_nocase(asked, word)         ? asked + strlen(word)
           : text_starts_nocase(asked, short_word) ? asked + strlen(short_word)
                                                   : NULL;
}

static const char *gpu_bind_of(const struct job_spec *spec)
{
    const char *asked = spec ? spec->gpu_bind : NULL;
    bool verbose =
        asked && (text_starts_nocase(asked, "verbose,") || text_starts_nocase(asked, "v,"));
    return verbose ? strchr(asked, ',') + 1 : asked;
}

/* --ntasks-per-gpu is single:N, --gpus-per-task per_task:N, unless --gpu-bind says otherwise.
 * [verbose,]none | single:N | per_task:N | map_gpu:LIST | mask_gpu:LIST | closest; --gpus-per-task
 *   gives each its own unless said otherwise. */
static void task_gpus(const struct binding *b, size_t index, const struct idset *cpus,
                      struct str *out)
{
    const struct job_spec *spec = b->ask->spec;
    const char *asked = gpu_bind_of(spec);
    int64_t per_task = spec && spec->req.gpus_per_task ? last_number(spec->req.gpus_per_task) : 0;
    size_t before = out->len;
    if (asked && text_starts_nocase(asked, "per_task:"))
        per_task = last_number(asked);
    int64_t share = !asked && spec && per_task == 0 ? spec->req.ntasks_per_gpu : 0;
    if (b->gpu.n && share > 0) {
        devices_add(b, index / (size_t)share, 1, out);
    } else if (b->gpu.n && asked && text_starts_nocase(asked, "single:")) {
        int64_t tasks = last_number(asked);
        devices_add(b, index / (size_t)(tasks > 0 ? tasks : 1), 1, out);
    } else if (b->gpu.n && asked && text_is_nocase(asked, "closest")) {
        nearest_add(b, cpus, out);
    } else if (b->gpu.n && b->gpu_map.n) {
        devices_add(b, strtoul(word_of(&b->gpu_map, index), NULL, 0), 1, out);
    } else if (b->gpu.n && b->gpu_mask.n) {
        unsigned long mask = strtoul(word_of(&b->gpu_mask, index), NULL, 16);
        for (size_t i = 0; i < b->gpu.n && i < 64; i++)
            if (mask >> i & 1) {
                str_add(out, out->len > before ? "," : "");
                gpu_add(b, i, out);
            }
    } else if (b->gpu.n && per_task > 0 && !(asked && text_is_nocase(asked, "none"))) {
        devices_add(b, index * (size_t)per_task,
                    (size_t)per_task < b->gpu.n ? (size_t)per_task : b->gpu.n, out);
    }
    if (out->len == before)
        str_addc(out, '-');
}

/* map_mem:LIST and rank; the kernel's own policy (local) is what the others come to. */
static void task_memory(const struct binding *b, size_t index, struct str *out)
{
    const char *asked = b->ask->spec ? b->ask->spec->mem_bind : NULL;
    if (b->mem.n) {
        str_addf(out, "%lu", strtoul(word_of(&b->mem, index), NULL, 0));
    } else if (asked && strstr(asked, "rank")) {
        str_addf(out, "%zu", index);
    } else {
        str_addc(out, '-');
    }
}

static void lists_read(struct binding *b)
{
    const struct job_spec *spec = b->ask->spec;
    const char *gpus = gpu_bind_of(spec),
               *mem = spec && spec->mem_bind ? strstr(spec->mem_bind, "map_mem:") : NULL;
    words_read(b->ask->cpu_numbers, &b->number);
    words_read(list_of(gpus, "map_gpu:", "map:"), &b->gpu_map);
    words_read(list_of(gpus, "mask_gpu:", "mask:"), &b->gpu_mask);
    words_read(mem ? mem + strlen("map_mem:") : NULL, &b->mem);
}

static void binding_done(struct binding *b)
{
    for (size_t i = 0; i < b->core.n; i++)
        vec_done(&b->core.v[i].cpu);
    for (size_t i = 0; i < b->near.n; i++)
        idset_done(&b->near.v[i]);
    word_list *const lists[] = {&b->number, &b->list, &b->gpu_map, &b->gpu_mask, &b->mem};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        vec_done(lists[i]);
    vec_done(&b->core);
    vec_done(&b->near);
    vec_done(&b->cpu);
    vec_done(&b->task);
    vec_done(&b->gpu);
    idset_done(&b->ours);
}

void bind_tasks(const struct bind_ask *ask, struct arena *a, struct bind_result *ret)
{
    struct binding b = {.ask = ask};
    struct str out = STR_INIT;
    numbers(ask->here->cpus, &b.cpu);
    numbers(ask->here->task_ids, &b.task);
    cores_find(&b);
    gpus_find(&b);
    devices_parse(ask->devices, a, &b.device, NULL);
    lists_read(&b);
    near_find(&b);
    step_cpus(&b, &b.ours);
    cpu_bind_read(&b);
    distribution_read(&b);
    if (!ask->cpu_numbers)
        b.unit = UNIT_NONE;
    for (size_t i = 0; i < b.task.n; i++) {
        struct idset cpus = IDSET_INIT;
        if (b.unit != UNIT_NONE && b.named < NAMED_MOST)
            task_cpus(&b, i, &cpus);
        b.named += cpus.count;
        str_addf(&out, "%u ", b.task.v[i]);
        cpus_write(&cpus, &out);
        task_gpus(&b, i, &cpus, &out);
        idset_done(&cpus);
        str_addc(&out, ' ');
        task_memory(&b, i, &out);
        str_addc(&out, '\n');
    }
    *ret = (struct bind_result){arena_strdup(a, str_text(&out)), unit_names[b.unit], b.verbose};
    str_done(&out);
    binding_done(&b);
}
