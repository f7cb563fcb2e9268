#include "sim/world/gpus.h"

#include "base/alloc.h"
#include "model/grammar/gres.h"
#include "model/job/alloc.h"

#include <stdlib.h>
#include <string.h>

void simgpus_init(struct simgpus *g, const char *gres)
{
    struct arena *a = arena_new();
    struct gres_list list = {0};
    struct str text = STR_INIT;
    int32_t index = 0;
    *g = (struct simgpus){0};
    if (gres)
        gres_parse(gres, a, &list, NULL);
    for (size_t i = 0; i < list.n; i++)
        for (int64_t k = 0; text_is(list.item[i].kind, "gpu") && k < list.item[i].count; k++)
            str_addf(&text, "%sgpu:%s:%d:::", text.len ? ";" : "",
                     list.item[i].type ? list.item[i].type : "", index++);
    g->devices = text.len ? str_take(&text) : NULL;
    str_done(&text);
    arena_free(a);
}

void simgpus_done(struct simgpus *g)
{
    free(g->devices);
    vec_done(&g->holder);
    idset_done(&g->broken);
}

static bool same_run(const struct note *a, const struct note *b)
{
    return a->job_id == b->job_id && a->attempt == b->attempt;
}

static char *one_begin(struct simgpus *g, const char *node, int32_t index, const struct note *ids,
                       int64_t now_us)
{
    for (size_t i = 0; i < g->holder.n; i++) {
        const struct sim_gpu_holder *h = &g->holder.v[i];
        if (h->index == index && h->until_us > now_us && !same_run(&h->ids, ids))
            return xasprintf(
                "job %lld starts with GPU %d of %s, which a process of job %lld still holds",
                (long long)ids->job_id, index, node, (long long)h->ids.job_id);
        /* Of the same job; that its step is over was to be known. */
        if (h->index == index && h->until_us > now_us && h->until_us != INT64_MAX &&
            h->over_us + NOTE_DELAY_US < now_us)
            return xasprintf(
                "step %lld of job %lld starts with GPU %d of %s, which a process of its step %lld, "
                "which is over, still holds",
                (long long)ids->step_id, (long long)ids->job_id, index, node,
                (long long)h->ids.step_id);
    }
    if (idset_has(&g->broken, (uint32_t)index))
        return xasprintf("job %lld starts with GPU %d of %s, which is broken",
                         (long long)ids->job_id, index, node);
    struct sim_gpu_holder h = {.index = index, .ids = *ids, .until_us = INT64_MAX};
    vec_push(&g->holder, h);
    return NULL;
}

char *simgpus_begin(struct simgpus *g, const char *node, const struct msg_launch *l,
                    const struct note *ids, int64_t now_us)
{
    const struct job *j = l->job.v;
    const struct step *step = l->step.n ? l->step.v : NULL;
    struct arena *a = arena_new();
    struct alloc al = {0};
    const char *text = step ? step->layout : j->alloc;
    const struct alloc_node *here =
        text && alloc_parse(text, a, &al, NULL) ? alloc_find(&al, node) : NULL;
    char *wrong = NULL;
    for (size_t i = 0; here && g->devices && i < here->ngres && !wrong; i++) {
        struct idset set = IDSET_INIT;
        uint32_t id;
        if (here->gres[i].devices && text_is(here->gres[i].kind, "gpu") &&
            idset_parse(&set, here->gres[i].devices, INT32_MAX, NULL))
            for (bool more = idset_first(&set, &id); more && !wrong;
                 more = idset_next(&set, id, &id))
                wrong = one_begin(g, node, (int32_t)id, ids, now_us);
        idset_done(&set);
    }
    arena_free(a);
    return wrong;
}

int64_t simgpus_of(const struct simgpus *g, const struct note *ids)
{
    int64_t mask = 0;
    for (size_t i = 0; i < g->holder.n; i++) {
        const struct sim_gpu_holder *h = &g->holder.v[i];
        if (same_run(&h->ids, ids) && h->ids.step_id == ids->step_id && h->index < 63)
            mask |= INT64_C(1) << h->index;
    }
    return mask;
}

void simgpus_end(struct simgpus *g, const struct note *ids, int64_t now_us, int64_t stuck_us)
{
    for (size_t i = 0; i < g->holder.n; i++) {
        struct sim_gpu_holder *h = &g->holder.v[i];
        if (same_run(&h->ids, ids) && h->ids.step_id == ids->step_id && h->until_us == INT64_MAX) {
            h->until_us = now_us + stuck_us;
            h->over_us = now_us;
        }
    }
}

void simgpus_reboot(struct simgpus *g)
{
    vec_clear(&g->holder);
}

void simgpus_break(struct simgpus *g, int32_t index, bool broken)
{
    if (broken)
        idset_add(&g->broken, (uint32_t)index);
    else
        idset_del(&g->broken, (uint32_t)index);
}

static bool goes_on(const struct device_look *look, const struct note *ids)
{
    for (uint32_t i = 0; i < look->nsteps; i++)
        if (look->step[i].job_id == (uint64_t)ids->job_id &&
            look->step[i].attempt == ids->attempt &&
            (look->step[i].step_id == LOOK_ALL_STEPS || look->step[i].step_id == ids->step_id))
            return true;
    return false;
}

struct device_seen simgpus_look(const struct simgpus *g, const struct device_look *look,
                                int64_t now_us, struct arena *a)
{
    struct device_seen seen = {.index = look->index, .use = look->use, .sign = DEVICE_CLEAN};
    if (idset_has(&g->broken, (uint32_t)look->index)) {
        seen.sign = DEVICE_BROKEN;
        seen.why = "it has fallen off the bus";
        return seen;
    }
    for (size_t i = 0; i < g->holder.n && seen.sign != DEVICE_HELD; i++) {
        const struct sim_gpu_holder *h = &g->holder.v[i];
        if (h->index != look->index || h->until_us <= now_us)
            continue;
        if (goes_on(look, &h->ids)) {
            seen.sign = DEVICE_SHARED;
            continue;
        }
        seen.sign = DEVICE_HELD;
        seen.why =
            arena_printf(a, "a process of job %lld still holds it", (long long)h->ids.job_id);
    }
    return seen;
}
