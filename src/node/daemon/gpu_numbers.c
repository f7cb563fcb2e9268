/* Whether the numbers by which steps go mean the same GPUs in a list that was found anew. Discovery
 * sees to it wherever something is known of a device (hardware/discover_gpus.c); where that does
 * not do, nobody goes by the new list. */
#include "node/daemon/daemon.h"
#include "node/hardware/gpu_sentences.h"

#include <string.h>

const struct device *gpu_of_number(const struct device_list *list, int32_t index)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->v[i].index == index && text_is(list->v[i].kind, "gpu"))
            return &list->v[i];
    return NULL;
}

/* Something of it is as it was, or nothing is known of both that could be compared. */
static bool may_be_same(const struct device *x, struct span x_files, const struct device *y,
                        struct span y_files)
{
    bool files = x_files.len && y_files.len, uuids = x->uuid && y->uuid, pci = x->pci && y->pci;
    if (!files && !uuids && !pci)
        return true;
    return (files && x_files.len == y_files.len &&
            memcmp(x_files.data, y_files.data, x_files.len) == 0) ||
           (uuids && text_is(x->uuid, y->uuid)) || (pci && text_is(x->pci, y->pci));
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
            !may_be_same(w, device_name_of(m->device_files, (uint32_t)w->index), n,
                         device_name_of(found->device_files, (uint32_t)n->index)))
            return arena_printf(a, SAY_NUMBER_LOST, w->index);
    }
    return NULL;
}
