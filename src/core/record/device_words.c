/* Devices that are out of use, in words for people. */
#include "base/idset.h"
#include "core/record/record.h"
#include "model/env/device_out.h"

/* ---- for people ---- */

const char *job_stuck_said(const struct core *c, const struct jobrec *r, struct arena *a)
{
    const char *job = arena_printf(a, "job %llu step ", (unsigned long long)r->j.id);
    struct str text = STR_INIT;
    for (size_t i = 0; i < r->hold.n; i++) {
        const struct noderec *n = c->node.v[r->hold.v[i].node];
        struct device_outs outs = {0};
        if (n->n.devices_out)
            device_outs_parse(n->n.devices_out, a, &outs);
        for (size_t k = 0; k < outs.n; k++)
            if (device_out_is_process(&outs.v[k]) && text_starts(outs.v[k].why, job))
                str_addf(&text, "%son %s: %s", text.len ? "; " : "", n->n.name, outs.v[k].why);
    }
    const char *result = text.len ? arena_strdup(a, str_text(&text)) : NULL;
    str_done(&text);
    return result;
}

const char *node_devices_said(const char *devices_out, struct arena *a)
{
    struct device_outs known = {0};
    struct str text = STR_INIT;
    if (!devices_out)
        return NULL;
    device_outs_parse(devices_out, a, &known);
    device_outs_say(&known, false, &text);
    const char *result = text.len ? arena_strdup(a, str_text(&text)) : NULL;
    str_done(&text);
    return result;
}

static bool holds_device(const struct alloc_node *here, const struct device_out *d)
{
    bool held = false;
    for (size_t g = 0; g < here->ngres && !held; g++) {
        struct idset set = IDSET_INIT;
        if (text_is(here->gres[g].kind, d->kind) && here->gres[g].devices &&
            idset_parse(&set, here->gres[g].devices, INT32_MAX, NULL))
            held = idset_has(&set, (uint32_t)d->index);
        idset_done(&set);
    }
    return held;
}

void alloc_outs_say(const struct core *c, const struct alloc *held, struct arena *a,
                    struct str *out)
{
    for (size_t i = 0; i < held->n; i++) {
        const struct noderec *n = node_find(c, held->node[i].node);
        struct device_outs outs = {0};
        if (n && n->n.devices_out)
            device_outs_parse(n->n.devices_out, a, &outs);
        for (size_t k = 0; k < outs.n; k++)
            if (holds_device(&held->node[i], &outs.v[k]))
                str_addf(out, "%s%s %d of %s is %s: %s", out->len ? "; " : "", outs.v[k].kind,
                         outs.v[k].index, n->n.name, outs.v[k].failed ? "broken" : "not clean",
                         outs.v[k].why);
    }
}
