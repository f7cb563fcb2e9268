/* What users ask is read once, not once a task: there may be many tasks, and each word may be long.
 * The CPUs of a step on a node are
 * taken apart into cores; tasks pick cores in turn, from the sockets in turn (cyclic, Slurm's
 * default) or one socket after another (block). A task takes as many cores as its CPUs need. By
 * default tasks are bound when their CPUs or cores come out even, as Slurm's automatic binding
 * does; else all may use all. */
#include "node/step/bind/bind.h"

#include "base/alloc.h"
#include "base/idset.h"
#include "base/vec.h"
#include "node/step/bind/gpus.h"
#include "node/step/bind/lists.h"

#include <string.h>

#define NAMED_MOST       1048576u
#define MEMORY_NODE_LAST 1023u /* that the shepherd can say to the kernel */

enum bind_unit {
    UNIT_NONE,
    UNIT_THREADS,
    UNIT_CORES,
    UNIT_SOCKETS,
    UNIT_RANK,
    UNIT_MAP,
    UNIT_MASK,
    UNIT_MAP_LDOM,
    UNIT_MASK_LDOM
};

static const char *const unit_names[] = {"none",     "threads",   "cores",     "sockets",   "rank",
                                         "map_cpu:", "mask_cpu:", "map_ldom:", "mask_ldom:"};

typedef VEC(uint32_t) u32s;

struct core_cpus {
    u32s cpu; /* numbers of the node */
    int32_t socket;
    size_t used;
};

struct binding {
    const struct bind_ask *ask;
    VEC(struct core_cpus) core;
    u32s cpu;  /* all */
    u32s task; /* numbers */
    int32_t sockets;
    enum bind_unit unit;
    bind_numbers number;   /* the system's, by the node's */
    struct bind_list list; /* of --cpu-bind: CPUs by the system's numbers, or sockets */
    struct bind_list mem;  /* of --mem-bind */
    struct gpu_binding gpu;
    struct idset ours; /* see step_cpus */
    /* One task after another; those after NAMED_MOST (-O) are not bound. */
    struct {
        size_t cpus, gpus, memory;
    } named;
    bool verbose, block, mem_rank;
};

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

/* A list of CPUs, or of locality domains, which are the sockets here. */
static bool cpu_list_read(struct binding *b, struct span type, struct span list)
{
    static const struct {
        const char *word;
        enum bind_unit unit;
    } words[] = {{"map_cpu", UNIT_MAP},
                 {"mask_cpu", UNIT_MASK},
                 {"map_ldom", UNIT_MAP_LDOM},
                 {"mask_ldom", UNIT_MASK_LDOM}};
    size_t i = 0;
    while (i < ARRAY_LEN(words) && !span_is_nocase(type, words[i].word))
        i++;
    if (i == ARRAY_LEN(words))
        return false;
    struct idset sockets = IDSET_INIT;
    if (b->sockets)
        idset_append(&sockets, 0, (uint32_t)b->sockets - 1);
    b->unit = words[i].unit;
    bool domains = b->unit == UNIT_MAP_LDOM || b->unit == UNIT_MASK_LDOM;
    bool mask = b->unit == UNIT_MASK || b->unit == UNIT_MASK_LDOM;
    (mask ? bind_mask_read : bind_map_read)(&b->list, list, domains ? &sockets : &b->ours,
                                            b->task.n);
    idset_done(&sockets);
    return true;
}

/* Of a list, which has commas itself, it leaves all that is behind the colon in *rest. */
static bool type_next(struct span *rest, struct span *ret_type)
{
    struct span word, all = *rest;
    if (!all.data || !span_next(rest, ',', &word))
        return false;
    const char *colon = memchr(word.data, ':', word.len);
    *ret_type = (struct span){word.data, colon ? (size_t)(colon - word.data) : word.len};
    if (colon)
        *rest = (struct span){colon + 1, all.len - ret_type->len - 1};
    return true;
}

static void cpu_bind_read(struct binding *b)
{
    const char *asked = b->ask->spec ? b->ask->spec->cpu_bind : NULL;
    struct span rest = span_of(asked), type;
    bool said = false;
    while (asked && !said && type_next(&rest, &type)) {
        said = cpu_list_read(b, type, rest);
        if (!said)
            word_take(b, type, &said);
    }
    if (!said)
        b->unit = automatic(b);
}

/* What else may stand there comes to the kernel's own policy (local). */
static void mem_bind_read(struct binding *b)
{
    const char *asked = b->ask->spec ? b->ask->spec->mem_bind : NULL;
    struct span rest = span_of(asked), type;
    struct idset nodes = IDSET_INIT;
    idset_append(&nodes, 0, MEMORY_NODE_LAST);
    for (bool said = false; asked && !said && type_next(&rest, &type);) {
        bool mask = span_is_nocase(type, "mask_mem");
        b->mem_rank = b->mem_rank || span_is_nocase(type, "rank");
        said = mask || span_is_nocase(type, "map_mem");
        if (said)
            (mask ? bind_mask_read : bind_map_read)(&b->mem, rest, &nodes, b->task.n);
    }
    idset_done(&nodes);
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

/* All of the step in the sockets that the element of a list names. */
static void domains_pick(const struct binding *b, const struct idset *sockets, struct idset *out)
{
    for (size_t i = 0; i < b->core.n; i++)
        for (size_t k = 0;
             idset_has(sockets, (uint32_t)b->core.v[i].socket) && k < b->core.v[i].cpu.n; k++)
            idset_add(out, b->core.v[i].cpu.v[k]);
}

/* All that the step holds; in the system's numbers where CPUs are kept to. */
static void step_cpus(const struct binding *b, struct idset *out)
{
    struct idset all = IDSET_INIT;
    for (size_t i = 0; i < b->cpu.n; i++)
        idset_add(b->ask->cpu_numbers ? &all : out, b->cpu.v[i]);
    if (b->ask->cpu_numbers)
        bind_numbers_of(&b->number, &all, out);
    idset_done(&all);
}

/* Those of a bound task, never beyond what the step holds. */
static void task_cpus(struct binding *b, size_t index, struct idset *out)
{
    const struct idset *listed = bind_list_of(&b->list, index);
    struct idset own = IDSET_INIT, system = IDSET_INIT;
    if (b->unit == UNIT_THREADS || b->unit == UNIT_CORES)
        cpus_pick(b, index, &own);
    else if (b->unit == UNIT_SOCKETS)
        socket_pick(b, index, &own);
    else if (b->unit == UNIT_RANK && b->cpu.n)
        idset_add(&own, b->cpu.v[index % b->cpu.n]);
    else if (listed && (b->unit == UNIT_MAP_LDOM || b->unit == UNIT_MASK_LDOM))
        domains_pick(b, listed, &own);
    bind_numbers_of(&b->number, &own, &system);
    bool by_number = listed && (b->unit == UNIT_MAP || b->unit == UNIT_MASK);
    idset_both(out, by_number ? listed : &system, &b->ours);
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

static void task_memory(struct binding *b, size_t index, struct str *out)
{
    const struct idset *nodes = bind_list_of(&b->mem, index);
    if (nodes && nodes->count && b->named.memory < NAMED_MOST) {
        idset_format(nodes, out);
        b->named.memory += nodes->count;
    } else if (!nodes && b->mem_rank) {
        str_addf(out, "%zu", index);
    } else {
        str_addc(out, '-');
    }
}

static void task_gpus(struct binding *b, size_t index, const struct idset *cpus, struct str *out)
{
    size_t n = 0;
    if (b->named.gpus < NAMED_MOST)
        n = gpu_binding_task(&b->gpu, index, cpus->count ? cpus : &b->ours, out);
    b->named.gpus += n;
    if (n == 0)
        str_addc(out, '-');
}

static void binding_done(struct binding *b)
{
    for (size_t i = 0; i < b->core.n; i++)
        vec_done(&b->core.v[i].cpu);
    bind_list_done(&b->list);
    bind_list_done(&b->mem);
    gpu_binding_done(&b->gpu);
    vec_done(&b->number);
    vec_done(&b->core);
    vec_done(&b->cpu);
    vec_done(&b->task);
    idset_done(&b->ours);
}

void bind_tasks(const struct bind_ask *ask, struct arena *a, struct bind_result *ret)
{
    struct binding b = {.ask = ask};
    struct str out = STR_INIT;
    numbers(ask->here->cpus, &b.cpu);
    numbers(ask->here->task_ids, &b.task);
    cores_find(&b);
    bind_numbers_read(ask->cpu_numbers, &b.number);
    step_cpus(&b, &b.ours);
    gpu_binding_read(&b.gpu, ask, &b.number, b.task.n);
    cpu_bind_read(&b);
    mem_bind_read(&b);
    distribution_read(&b);
    if (!ask->cpu_numbers)
        b.unit = UNIT_NONE;
    for (size_t i = 0; i < b.task.n; i++) {
        struct idset cpus = IDSET_INIT;
        if (b.unit != UNIT_NONE && b.named.cpus < NAMED_MOST)
            task_cpus(&b, i, &cpus);
        b.named.cpus += cpus.count;
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
