/* Whether the numbers by which steps go mean the same GPUs in a list that was found anew. Discovery
 * sees to it wherever something is known of a device (hardware/discover_gpus.c); where that does
 * not do, nobody goes by the new list. */
#include "node/daemon/daemon.h"
#include "node/hardware/discover_gpus.h"
#include "node/hardware/gpu_sentences.h"

const struct device *gpu_of_number(const struct device_list *list, int32_t index)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->v[i].index == index && text_is(list->v[i].kind, "gpu"))
            return &list->v[i];
    return NULL;
}

static const char *files_of(const char *files, const struct device *d, struct arena *a)
{
    struct span own = device_name_of(files, (uint32_t)d->index);
    return own.len ? arena_strndup(a, own.data, own.len) : NULL;
}

/* By what discovery knows it by, the surest first; or nothing is known of both that could be
 * compared. */
static bool may_be_same(const struct device *x, const char *x_files, const struct device *y,
                        const char *y_files)
{
    bool pci = x->pci && y->pci, at_place = pci && text_is(x->pci, y->pci);
    bool is_part = gpu_is_instance(x) || gpu_is_instance(y); /* its place is others', too */
    struct gpu_row row = {.d = *y, .files = y_files};
    if (x->uuid && y->uuid)
        return text_is(x->uuid, y->uuid) || (at_place && !is_part);
    if (pci && (!at_place || !is_part))
        return at_place;
    return !x_files || !y_files || gpu_same_files(&row, x, x_files, true) ||
           gpu_same_files(&row, x, x_files, false);
}

const char *gpu_number_lost(const struct node_daemon *d, const struct machine *found,
                            struct arena *a)
{
    const struct machine *m = &d->machine;
    struct device_list was = {0}, now = {0};
    devices_parse(m->devices, a, &was, NULL);
    devices_parse(found->devices, a, &now, NULL);
    for (size_t i = 0; i < was.n; i++) {
        const struct device *w = &was.v[i], *n = gpu_of_number(&now, w->index);
        if (text_is(w->kind, "gpu") && n && agent_gpu_is_held(d->agent, w->index) &&
            !may_be_same(w, files_of(m->device_files, w, a), n,
                         files_of(found->device_files, n, a)))
            return arena_printf(a, SAY_NUMBER_LOST, w->index);
    }
    return NULL;
}
