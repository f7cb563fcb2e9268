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

/* Or the number of one that cannot be read. */
static bool is_gpu(const struct gpu_row *row)
{
    return row->is_hole || text_is(row->d.kind, "gpu");
}

static bool is_taken(const struct gpu_found *f, int32_t number)
{
    for (size_t i = 0; i < f->gpu.n; i++)
        if (f->gpu.v[i].d.index == number && is_gpu(&f->gpu.v[i]))
            return true;
    return false;
}

/* The GPU that had the number; NULL = none. */
static const struct device *known_of(const struct device_list *known, int32_t number)
{
    for (size_t i = 0; i < known->n; i++)
        if (known->v[i].index == number && text_is(known->v[i].kind, "gpu"))
            return &known->v[i];
    return NULL;
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
    if (!is_taken(f, number) && !known_of(known, number))
        return number;
    for (number = 0; is_taken(f, number) || known_of(known, number);)
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

struct known {
    struct device_list had;
    const char *files; /* of these */
    struct arena *a;
};

static const char *files_of(const struct known *k, const struct device *d)
{
    struct span files = device_name_of(k->files, (uint32_t)d->index);
    return files.len ? arena_strndup(k->a, files.data, files.len) : NULL;
}

/* What no library knows, now or then. Another address is another GPU, which got the files. */
static void known_by_files(struct gpu_found *f, const struct known *k, bool exactly)
{
    for (size_t i = 0; i < f->gpu.n; i++)
        for (size_t n = 0; n < k->had.n && f->gpu.v[i].d.index < 0; n++) {
            const struct device *d = &k->had.v[n];
            if (text_is(d->kind, "gpu") && (!d->uuid || !f->gpu.v[i].d.uuid) &&
                (!d->pci || !f->gpu.v[i].d.pci || text_is(d->pci, f->gpu.v[i].d.pci)) &&
                gpu_same_files(&f->gpu.v[i], d, files_of(k, d), exactly) && !is_taken(f, d->index))
                f->gpu.v[i].d.index = d->index;
        }
}

static void numbers_begin(struct gpu_found *f, const char *known, const char *known_files,
                          struct arena *a, struct known *ret)
{
    *ret = (struct known){.files = known_files, .a = a};
    if (known)
        devices_parse(known, a, &ret->had, NULL);
    for (size_t i = 0; i < f->gpu.n; i++)
        if (is_gpu(&f->gpu.v[i]))
            f->gpu.v[i].d.index = -1;
    known_numbers(f, &ret->had, false);
    known_numbers(f, &ret->had, true);
    known_by_files(f, ret, true);
    known_by_files(f, ret, false);
}

void gpus_number(struct gpu_found *f, const char *known, const char *known_files,
                 const char *cpu_numbers, struct arena *a)
{
    struct known k;
    numbers_begin(f, known, known_files, a, &k);
    for (size_t i = 0; i < f->gpu.n; i++) {
        struct device *d = &f->gpu.v[i].d;
        if (d->index < 0)
            d->index = number_free(f, &k.had, i);
        if (d->cpus && cpu_numbers)
            d->cpus = cpus_translate(d->cpus, cpu_numbers, a);
    }
    holes_drop(f);
}

/* ---- numbers of lines ---- */

/* Where nothing is known of both that could be compared (a library that fails after an upgrade, and
 * what an older release kept, which had no files), the line's place says which it is. */
static int32_t number_of_line(const struct gpu_found *f, const struct known *k,
                              const struct gpu_row *row, size_t place)
{
    const struct device *had = known_of(&k->had, (int32_t)place);
    bool comparable = had && ((had->uuid && row->d.uuid) || (had->pci && row->d.pci) ||
                              (row->files && files_of(k, had)));
    bool by_place = (!row->d.uuid && !row->d.pci && !row->files) || (had && !comparable);
    return by_place && !is_taken(f, (int32_t)place) ? (int32_t)place
                                                    : number_free(f, &k->had, place);
}

/* Places among the lines as the numbers of those who stand there. */
static const char *links_of_places(const struct gpu_found *f, const char *places, struct arena *a)
{
    struct span rest = span_of(places), one;
    struct str text = STR_INIT;
    while (span_next(&rest, '+', &one)) {
        long place = strtol(one.data, NULL, 10);
        for (size_t i = 0; i < f->gpu.n && place >= 0; i++)
            if (is_gpu(&f->gpu.v[i]) && place-- == 0)
                str_addf(&text, "%s%d", text.len ? "+" : "", f->gpu.v[i].d.index);
    }
    const char *result = text.len ? arena_strdup(a, str_text(&text)) : NULL;
    str_done(&text);
    return result;
}

void gpus_number_lines(struct gpu_found *f, const char *known, const char *known_files,
                       struct arena *a)
{
    struct known k;
    if (!f->by_lines)
        return;
    numbers_begin(f, known, known_files, a, &k);
    for (size_t i = 0, place = 0; i < f->gpu.n; i++)
        if (is_gpu(&f->gpu.v[i])) {
            struct gpu_row *row = &f->gpu.v[i];
            if (row->d.index < 0)
                row->d.index = number_of_line(f, &k, row, place);
            place++;
        }
    for (size_t i = 0; i < f->gpu.n; i++)
        if (is_gpu(&f->gpu.v[i]) && f->gpu.v[i].said_links)
            f->gpu.v[i].d.links = links_of_places(f, f->gpu.v[i].d.links, a);
}

void gpus_link(struct gpu_found *f, struct arena *a)
{
    links_say(f, a);
}
