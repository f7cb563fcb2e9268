#include "node/hardware/discover_gpus.h"

#include "base/alloc.h"
#include "base/list.h"

#include <stdlib.h>
#include <string.h>

struct gpu_row *gpu_found_add(struct gpu_found *f)
{
    struct gpu_row row = {0};
    vec_push(&f->gpu, row);
    return &f->gpu.v[f->gpu.n - 1];
}

void remark_add(struct str *remarks, const char *text)
{
    if (remarks->len)
        str_add(remarks, "; ");
    str_add(remarks, text);
}

/* ---- links ---- */

static bool has_peer(const struct gpu_row *row, const char *address)
{
    for (size_t i = 0; i < row->npeers; i++)
        if (text_is(row->peer[i], address))
            return true;
    return false;
}

/* Directly, or through a switch that both have a link to. */
static bool linked(const struct gpu_row *x, const struct gpu_row *y)
{
    if (has_peer(x, y->d.pci) || has_peer(y, x->d.pci))
        return true;
    for (size_t i = 0; i < x->npeers; i++)
        if (has_peer(y, x->peer[i]))
            return true;
    return false;
}

/* A link's other end that is a GPU is no switch: without this, two GPUs linked to a third would
 * count as linked with each other. */
static void gpus_forget_as_switches(struct gpu_found *f, struct gpu_row *row,
                                    struct gpu_row *direct)
{
    direct->npeers = 0;
    size_t switches = 0;
    for (size_t i = 0; i < row->npeers; i++) {
        bool is_gpu = false;
        for (size_t k = 0; k < f->gpu.n; k++)
            is_gpu |= text_is(f->gpu.v[k].d.pci, row->peer[i]);
        if (is_gpu)
            direct->peer[direct->npeers++] = row->peer[i];
        else
            row->peer[switches++] = row->peer[i];
    }
    row->npeers = switches;
}

static void links_say(struct gpu_found *f, struct arena *a)
{
    struct gpu_row *direct = arena_alloc(a, (f->gpu.n + 1) * sizeof *direct);
    for (size_t i = 0; i < f->gpu.n; i++) {
        gpus_forget_as_switches(f, &f->gpu.v[i], &direct[i]);
        direct[i].d = f->gpu.v[i].d;
    }
    for (size_t i = 0; i < f->gpu.n; i++) {
        struct str text = STR_INIT;
        for (size_t k = 0; k < f->gpu.n; k++) {
            bool by_switch = linked(&f->gpu.v[i], &f->gpu.v[k]);
            bool direct_link =
                has_peer(&direct[i], direct[k].d.pci) || has_peer(&direct[k], direct[i].d.pci);
            if (k != i && (by_switch || direct_link))
                str_addf(&text, "%s%d", text.len ? "+" : "", f->gpu.v[k].d.index);
        }
        if (!f->gpu.v[i].said_links)
            f->gpu.v[i].d.links = text.len ? arena_strdup(a, str_text(&text)) : NULL;
        str_done(&text);
    }
}

/* ---- CPUs ---- */

const char *gpu_cpus_text(const struct idset *cpus, struct arena *a)
{
    uint32_t first, last, next = 0;
    struct str text = STR_INIT;
    for (bool more = idset_first(cpus, &first); more; first = next) {
        for (last = first; (more = idset_next(cpus, last, &next)) && next == last + 1;)
            last = next;
        list_addf(&text, last > first ? "%u-%u" : "%u", first, last);
    }
    const char *result = text.len ? arena_strdup(a, str_text(&text)) : NULL;
    str_done(&text);
    return result;
}

/* The system's CPU numbers as the node's: its place in cpu_numbers. CPUs that the node has not are
 * left out. */
static const char *cpus_translate(const char *cpus, const char *cpu_numbers, struct arena *a)
{
    struct idset system = IDSET_INIT, ours = IDSET_INIT;
    struct span rest = span_of(cpu_numbers), one;
    uint32_t place = 0;
    if (!idset_parse(&system, cpus, UINT32_MAX, NULL))
        return cpus;
    for (; span_next(&rest, ',', &one); place++)
        if (idset_has(&system, (uint32_t)strtoul(one.data, NULL, 10)))
            idset_add(&ours, place);
    const char *result = gpu_cpus_text(&ours, a);
    idset_done(&system);
    idset_done(&ours);
    return result;
}

/* ---- numbers ---- */

#define NUMBER_MOST 62 /* that notes of shepherds can name (agent/note.h) */

bool gpu_is_instance(const struct device *d)
{
    return d->uuid && text_starts(d->uuid, "MIG-");
}

/* By name. What has none, and a GPU that stands where another of its type stood (it was exchanged),
 * by its place. */
static bool is_same(const struct device *x, const struct device *y, bool by_place)
{
    if (!text_is(y->kind, "gpu"))
        return false;
    if (!by_place)
        return x->uuid && text_is(x->uuid, y->uuid);
    return x->pci && text_is(x->pci, y->pci) && !gpu_is_instance(x) && !gpu_is_instance(y) &&
           (!y->uuid || !x->uuid || text_is(x->type, y->type));
}

static bool is_taken(const struct gpu_found *f, int32_t number)
{
    for (size_t i = 0; i < f->gpu.n; i++)
        if (f->gpu.v[i].d.index == number)
            return true;
    return false;
}

static bool is_known(const struct device_list *known, int32_t number)
{
    for (size_t i = 0; i < known->n; i++)
        if (known->v[i].index == number && text_is(known->v[i].kind, "gpu"))
            return true;
    return false;
}

static void known_numbers(struct gpu_found *f, const struct device_list *known, bool by_place)
{
    for (size_t i = 0; i < f->gpu.n; i++)
        for (size_t k = 0; k < known->n && f->gpu.v[i].d.index < 0; k++)
            if (!f->gpu.v[i].is_hole && is_same(&f->gpu.v[i].d, &known->v[k], by_place) &&
                !is_taken(f, known->v[k].index))
                f->gpu.v[i].d.index = known->v[k].index;
}

/* Its place, if nobody has that number or had it; else the lowest that is free. */
static int32_t number_free(const struct gpu_found *f, const struct device_list *known, size_t place)
{
    ASSERT(place <= INT32_MAX);
    int32_t number = (int32_t)place;
    if (!is_taken(f, number) && !is_known(known, number))
        return number;
    for (number = 0; is_taken(f, number) || is_known(known, number);)
        number++;
    if (number > NUMBER_MOST)
        for (number = 0; is_taken(f, number);)
            number++;
    return number;
}

static void holes_drop(struct gpu_found *f)
{
    size_t kept = 0;
    for (size_t i = 0; i < f->gpu.n; i++)
        if (!f->gpu.v[i].is_hole)
            f->gpu.v[kept++] = f->gpu.v[i];
    f->gpu.n = kept;
}

void gpus_number(struct gpu_found *f, const char *known, const char *cpu_numbers, struct arena *a)
{
    struct device_list had = {0};
    if (known)
        devices_parse(known, a, &had, NULL);
    for (size_t i = 0; i < f->gpu.n; i++)
        f->gpu.v[i].d.index = -1;
    known_numbers(f, &had, false);
    known_numbers(f, &had, true);
    for (size_t i = 0; i < f->gpu.n; i++) {
        struct device *d = &f->gpu.v[i].d;
        if (d->index < 0)
            d->index = number_free(f, &had, i);
        if (d->cpus && cpu_numbers)
            d->cpus = cpus_translate(d->cpus, cpu_numbers, a);
    }
    holes_drop(f);
}

void gpus_link(struct gpu_found *f, struct arena *a)
{
    links_say(f, a);
}
