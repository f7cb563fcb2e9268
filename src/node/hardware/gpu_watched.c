#include "node/hardware/gpu_watched.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/vec.h"
#include "model/grammar/gres.h"

#include <stdlib.h>

static const char *files_of(const char *files, int32_t index, struct str *out)
{
    struct span rest = span_of(files ? files : ""), one, number;
    str_clear(out);
    while (span_next(&rest, ',', &one))
        if (span_next(&one, '=', &number) && strtol(number.data, NULL, 10) == index)
            str_addf(out, "%.*s", (int)one.len, one.data);
    return out->len ? str_text(out) : "-";
}

void watched_gpus_take(struct watched_gpus *g, const char *devices, const char *files)
{
    ASSERT(g);
    struct arena *a = arena_new();
    struct device_list list = {0};
    struct str file = STR_INIT;
    if (devices)
        devices_parse(devices, a, &list, NULL);
    for (size_t i = 0; i < list.n; i++) {
        const struct device *d = &list.v[i];
        if (!text_is(d->kind, "gpu"))
            continue;
        struct watched_gpu one = {.index = d->index,
                                  .uuid = xstrdup(text_empty(d->uuid) ? "-" : d->uuid),
                                  .pci = xstrdup(text_empty(d->pci) ? "-" : d->pci),
                                  .files = xstrdup(files_of(files, d->index, &file))};
        vec_push(g, one);
    }
    str_done(&file);
    arena_free(a);
}

void watched_gpus_drop(struct watched_gpus *g)
{
    for (size_t i = 0; i < g->n; i++) {
        free(g->v[i].uuid);
        free(g->v[i].pci);
        free(g->v[i].files);
    }
    vec_done(g);
}

void watched_gpus_say(const struct watched_gpus *g, struct str *out)
{
    for (size_t i = 0; i < g->n; i++) {
        const struct watched_gpu *one = &g->v[i];
        str_addf(out, "device %d %s %s %d %s\n", one->index, one->uuid, one->pci,
                 one->hangs >= WATCHED_HANGS_MAX, one->files);
    }
    str_add(out, "begin\n");
}
