/* XIDs: numbers that the driver gives to errors. Most are errors of programs and the jobs' own
 * affair. What a GPU needs afterwards newer drivers say themselves (gpu_nvidia.c asks them each
 * second); of older ones the list here tells which XIDs a GPU does not recover from. An XID of one
 * instance of a GPU says nothing about the others. */
#include "node/hardware/gpu_parts.h"

#define XIDS_AT_ONCE 64 /* more wait for the next second */

static const struct {
    unsigned from, to;
    const char *text;
} fatal_xids[] = {
    {46, 46, "it stopped processing"},
    {48, 48, "double-bit memory error"},
    {62, 62, "its internal microcontroller halted"},
    {64, 64, "a faulty row of its memory cannot be replaced"},
    {74, 74, "NVLink error"},
    {79, 79, "it has fallen off the bus"},
    {95, 95, "uncontained memory error"},
    {109, 109, "context switch timed out"},
    {110, 110, "security fault"},
    {119, 119, "its system processor does not answer"},
    {120, 120, "its system processor failed"},
    {136, 136, "an NVLink could not be trained"},
    {140, 140, "unrecovered memory error"},
    {143, 143, "it could not be initialised"},
    {144, 150, "NVLink error"},
    {151, 151, "a key could not be exchanged"},
    {155, 155, "NVLink error"},
    {156, 156, "a resource of it was retired"},
    {158, 158, "it stopped answering"},
};

static const char *xid_fatal(unsigned long long xid)
{
    for (size_t i = 0; i < sizeof fatal_xids / sizeof fatal_xids[0]; i++)
        if (xid >= fatal_xids[i].from && xid <= fatal_xids[i].to)
            return fatal_xids[i].text;
    return NULL;
}

static bool is_of(const struct gpu *g, const struct nvml_event *e)
{
    if (g->maker != &gpu_nvidia || !g->nvidia.handle || g->nvidia.whole != e->device)
        return false;
    if (!g->nvidia.is_mig || e->gpu_instance == NVML_NO_INSTANCE ||
        g->nvidia.gpu_instance == NVML_NO_INSTANCE)
        return true;
    return e->gpu_instance == g->nvidia.gpu_instance &&
           (e->compute_instance == NVML_NO_INSTANCE ||
            g->nvidia.compute_instance == NVML_NO_INSTANCE ||
            e->compute_instance == g->nvidia.compute_instance);
}

static bool driver_tells(const struct nvml *n, nvml_device whole)
{
    struct nvml_field f = {.id = NVML_FIELD_RECOVERY};
    return n->fields && n->fields(whole, 1, &f) == NVML_OK && f.answer == NVML_OK;
}

static void event_take(struct gpu_helper *h, const struct nvml_event *e)
{
    const char *text = e->type & NVML_EVENT_XID ? xid_fatal(e->data) : NULL;
    for (size_t i = 0; i < h->gpu.n && (e->type & NVML_EVENT_XID); i++)
        h->gpu.v[i].nvidia.xids += is_of(&h->gpu.v[i], e);
    if (!text || driver_tells(&h->nvml, e->device))
        return;
    for (size_t i = 0; i < h->gpu.n; i++) {
        struct gpu_word w = gpu_word_of(DEVICE_BROKEN, "GPU %s reports XID %llu: %s",
                                        h->gpu.v[i].uuid, e->data, text);
        if (is_of(&h->gpu.v[i], e))
            gpu_sign_say(h, &h->gpu.v[i], w.sign, w.why);
    }
}

static bool events_begin(struct gpu_helper *h)
{
    const struct nvml *n = &h->nvml;
    int code = n->event_set && n->event_register && n->event_wait ? n->event_set(&h->events)
                                                                  : NVML_NOT_SUPPORTED;
    if (code == NVML_OK) {
        for (size_t i = 0; i < h->gpu.n; i++)
            gpu_nvidia_events_register(h, &h->gpu.v[i]);
        return true;
    }
    h->events = NULL;
    if (!h->events_told)
        gpu_line_say(h, "note XIDs of the GPUs are not heard of: %s", nvml_code(code)->name);
    h->events_told = true;
    return false;
}

void gpu_nvidia_events_register(struct gpu_helper *h, struct gpu *g)
{
    unsigned long long known = NVML_EVENT_XID;
    if (!h->events || g->maker != &gpu_nvidia || !g->nvidia.whole)
        return;
    if (h->nvml.event_types && h->nvml.event_types(g->nvidia.whole, &known) != NVML_OK)
        known = NVML_EVENT_XID;
    if (known & NVML_EVENT_XID)
        h->nvml.event_register(g->nvidia.whole, NVML_EVENT_XID, h->events);
}

void gpu_nvidia_events_end(struct gpu_helper *h)
{
    if (h->events && h->nvml.event_free)
        h->nvml.event_free(h->events);
    h->events = NULL;
}

void gpu_nvidia_events(struct gpu_helper *h)
{
    int code = NVML_OK;
    if (!h->has_nvml || (!h->events && !events_begin(h)))
        return;
    for (int i = 0; i < XIDS_AT_ONCE && code == NVML_OK; i++) {
        struct nvml_event e = {.gpu_instance = NVML_NO_INSTANCE,
                               .compute_instance = NVML_NO_INSTANCE};
        code = h->nvml.event_wait(h->events, &e, 0);
        if (code == NVML_OK)
            event_take(h, &e);
    }
    if (code == NVML_OK || code == NVML_TIMEOUT) {
        h->events_told = false;
        return;
    }
    if (!h->events_told)
        gpu_line_say(
            h, "note XIDs of the GPUs were not heard of for a moment: waiting for them answered %s",
            nvml_code(code)->name);
    h->events_told = true;
    gpu_nvidia_events_end(h); /* a new set, with the devices that are still there, a second later */
}
