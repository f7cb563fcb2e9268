/* The handle of one of NVIDIA's devices. Asking by name starts each GPU in turn and ends with the
 * first that fails, so one lost GPU hides all others: where that fails, the GPUs and their
 * instances are gone through one by one, and those that fail are passed over. A device that is
 * found nowhere is asked for at its address, which says how it is itself. */
#include "node/hardware/gpu_parts.h"

#include <stdio.h>

#define MIG_MOST 8u

static bool instance_find(const struct nvml *n, nvml_device whole, const char *uuid,
                          nvml_device *ret)
{
    unsigned most = MIG_MOST;
    if (!n->mig_device)
        return false;
    if (n->mig_most && n->mig_most(whole, &most) != NVML_OK)
        most = MIG_MOST;
    for (unsigned i = 0; i < most && i < NVML_DEVICES_MAX; i++)
        if (n->mig_device(whole, i, ret) == NVML_OK && nvml_is_called(n, *ret, uuid))
            return true;
    return false;
}

/* *ret_worst: a code of one that does not answer, or NVML_OK. */
static bool walk_find(const struct nvml *n, const struct gpu *g, nvml_device *ret, int *ret_worst)
{
    unsigned count = 0;
    *ret_worst = n->count(&count);
    for (unsigned i = 0; *ret_worst == NVML_OK && i < count && i < NVML_DEVICES_MAX; i++) {
        nvml_device d;
        int code = n->by_index(i, &d);
        if (code == NVML_OK && g->nvidia.is_mig && instance_find(n, d, g->uuid, ret))
            return true;
        if (code == NVML_OK && !g->nvidia.is_mig && nvml_is_called(n, d, g->uuid)) {
            *ret = d;
            return true;
        }
    }
    return false;
}

/* What its address says of it, where the answers to its name say only that something is wrong
 * somewhere. */
static struct gpu_word absent_word(struct gpu_helper *h, struct gpu *g, int by_name)
{
    nvml_device at;
    int code = h->nvml.by_pci && !text_is(g->pci, "-") ? h->nvml.by_pci(g->pci, &at) : by_name;
    if (code == NVML_OK)
        return gpu_word_of(DEVICE_ABSENT,
                           "NVML knows no %s at %s any more: %s; scontrol reconfigure has the "
                           "daemon find what is there",
                           g->uuid, g->pci,
                           g->nvidia.is_mig ? "its instances were changed"
                                            : "another GPU is there");
    struct gpu_word word = gpu_nvidia_word(h, g, code, "its handle");
    if (word.sign ==
        DEVICE_WELL) /* the code says nothing of it: all that is known is that it was not found */
        word =
            gpu_word_of(DEVICE_ABSENT, "NVML knows no GPU %s: %s", g->uuid, nvml_code(code)->name);
    return word;
}

static void learn(const struct nvml *n, struct nvidia_gpu *g)
{
    g->whole = g->handle;
    for (size_t i = 0; i < ARRAY_LEN(g->gpm); i++)
        g->gpm[i].before = false; /* it was of what stood there before */
    if (!g->is_mig)
        return;
    if (!n->mig_parent || n->mig_parent(g->handle, &g->whole) != NVML_OK)
        g->whole = NULL;
    if (!n->gpu_instance || n->gpu_instance(g->handle, &g->gpu_instance) != NVML_OK)
        g->gpu_instance = NVML_NO_INSTANCE;
    if (!n->compute_instance || n->compute_instance(g->handle, &g->compute_instance) != NVML_OK)
        g->compute_instance = NVML_NO_INSTANCE;
}

static bool has_instances(const struct nvml *n, nvml_device d)
{
    unsigned now = 0, pending = 0;
    return n->mig_mode && n->mig_mode(d, &now, &pending) == NVML_OK && now;
}

/* It did not answer when the node was looked at, so its name is not known. Once it answers it is
 * used, but for instances: those the node has to be looked at anew for. */
static struct gpu_word nameless_find(struct gpu_helper *h, struct gpu *g)
{
    nvml_device at = NULL;
    int code = h->nvml.by_pci ? h->nvml.by_pci(g->pci, &at) : NVML_NOT_SUPPORTED;
    const struct gpu_code *c = nvml_code(code);
    if (c->sign == DEVICE_LOST)
        return gpu_word_of(DEVICE_LOST, "GPU at %s is lost: %s", g->pci, c->name);
    if (c->sign == SIGN_NONE || c->sign == SIGN_WRONG ||
        (code == NVML_OK && has_instances(&h->nvml, at)))
        return gpu_word_of(
            DEVICE_ABSENT,
            "GPU at %s did not answer when the node's daemon started: restart the daemon", g->pci);
    if (code != NVML_OK)
        return gpu_nvidia_word(h, g, code, "its handle");
    if (h->nvml.uuid(at, g->uuid, sizeof g->uuid) != NVML_OK)
        snprintf(g->uuid, sizeof g->uuid, "-");
    g->nvidia.handle = at;
    learn(&h->nvml, &g->nvidia);
    gpu_nvidia_events_register(h, g);
    return gpu_word_of(DEVICE_WELL, "%s", "");
}

struct gpu_word gpu_nvidia_find(struct gpu_helper *h, struct gpu *g)
{
    nvml_device d = NULL;
    int walked = NVML_OK;
    if (text_is(g->uuid, "-"))
        return nameless_find(h, g);
    int code = h->nvml.by_uuid ? h->nvml.by_uuid(g->uuid, &d) : NVML_NOT_FOUND;
    if (code != NVML_OK && nvml_code(code)->of_library)
        return gpu_nvidia_word(h, g, code, "its handle");
    if (code != NVML_OK && !walk_find(&h->nvml, g, &d, &walked))
        return absent_word(h, g, walked != NVML_OK ? walked : code);
    g->nvidia.handle = d;
    learn(&h->nvml, &g->nvidia);
    gpu_nvidia_events_register(h, g);
    return gpu_word_of(DEVICE_WELL, "%s", "");
}
