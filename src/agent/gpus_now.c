/* A device whose processes are hidden (a container of the site's around the daemon), or whose list
 * cannot be had, is used by whom it was given to: by the steps of srun that have it, in equal
 * parts, else by the batch script.
 *
 * A device is idle since the first of the looks in a row that found it so. When nothing was heard
 * of it for SILENT_US (its library hangs, the process that asks was started anew), that count
 * begins anew: nobody may be punished for what was not seen. */
#include "agent/gpus_now.h"

#include "agent/inside.h"
#include "model/record/gpu_use.h"

#define SILENT_US INT64_C(30000000)

void gpus_now_done(struct gpus_now *g)
{
    vec_done(&g->v);
}

void gpus_clock_set(struct gpus_now *g, int64_t by_us)
{
    for (size_t i = 0; i < g->v.n; i++) {
        g->v.v[i].said_us += by_us;
        if (g->v.v[i].idle_from_us)
            g->v.v[i].idle_from_us += by_us;
    }
}

static void device_note(struct gpus_now *g, const struct gpu_now *now, int64_t now_us)
{
    struct gpu_doing *d = NULL;
    for (size_t i = 0; i < g->v.n && !d; i++)
        d = g->v.v[i].now.index == now->index ? &g->v.v[i] : NULL;
    if (!d && g->v.n == GPU_USE_MAX)
        return;
    if (!d) {
        vec_push(&g->v, (struct gpu_doing){0});
        d = &g->v.v[g->v.n - 1];
    }
    if (!now->idle)
        d->idle_from_us = 0;
    else if (!d->idle_from_us || now_us - d->said_us > SILENT_US)
        d->idle_from_us = now_us;
    d->now = *now;
    d->said_us = now_us;
}

const char *gpus_say(struct turn *t)
{
    const struct gpus_now *g = &t->a->gpus;
    struct str text = STR_INIT;
    for (size_t i = 0; i < g->v.n && !t->a->welcome.no_gpu_use; i++) {
        const struct gpu_doing *d = &g->v.v[i];
        if (t->now_us - d->said_us > SILENT_US)
            continue;
        struct gpu_use u = {
            .index = d->now.index,
            .util = d->now.util,
            .mem_mib = d->now.mem_bytes < 0 ? -1 : d->now.mem_bytes >> 20,
            .watts = d->now.power_mw < 0 ? -1 : (int32_t)((d->now.power_mw + 500) / 1000),
            .idle_s = d->idle_from_us ? (d->said_us - d->idle_from_us) / 1000000 : -1};
        gpu_use_format(&u, &text);
    }
    const char *said = text.len ? arena_strdup(t->fx->arena, str_text(&text)) : NULL;
    str_done(&text);
    return said;
}

/* ---- the steps' parts ---- */

static bool has(const struct held_step *s, int32_t index)
{
    return s->state == HELD_RUNNING && idset_has(&s->gpus, (uint32_t)index);
}

/* Who has it: steps of srun before a script. */
static int64_t holders(const struct agent *a, int32_t index, bool of_srun)
{
    int64_t n = 0;
    for (const struct held_step *s = held_marked(&a->held); s; s = s->marked_next)
        n += has(s, index) && (s->step_id >= 0) == of_srun;
    return n;
}

/* What of the devices that are not explained is this step's. */
static void hidden_add(const struct agent *a, const struct agent_event *ev,
                       const struct held_step *s, struct gpu_used *used)
{
    for (size_t i = 0; i < ev->ngpus; i++) {
        const struct gpu_now *g = &ev->gpus[i];
        if (g->explained || !has(s, g->index))
            continue;
        int64_t steps = holders(a, g->index, true);
        if (steps > 0 && s->step_id < 0)
            continue;
        steps = steps > 0 ? steps : holders(a, g->index, false);
        used->util += (int32_t)((g->util > 0 ? g->util : 0) / steps);
        used->mem_bytes += (g->own_bytes > 0 ? g->own_bytes : 0) / steps;
        used->energy_mj += g->energy_mj / steps;
    }
}

/* Which step it is of is in a process's environment, that is its owner's to write: he is believed
 * about his own steps, and root about all, as whose it is told where the kernel shows which step it
 * is of. Of a step of a shepherd of an older release, found when this daemon began, it is not known
 * whose it is. */
static bool is_its_use(const struct held_step *s, const struct gpu_used *u)
{
    return u->job_id == s->job_id && u->attempt == s->attempt && u->step_id == s->step_id &&
           (!s->uid_plus1 || u->uid == 0 || u->uid == s->uid_plus1 - 1);
}

static void told_add(const struct agent_event *ev, const struct held_step *s, struct gpu_used *used)
{
    for (size_t i = 0; i < ev->nused; i++) {
        const struct gpu_used *u = &ev->used[i];
        if (!is_its_use(s, u))
            continue;
        used->util += u->util;
        used->mem_bytes += u->mem_bytes;
        used->energy_mj += u->energy_mj;
    }
}

static void step_note(const struct agent_event *ev, struct held_step *s,
                      const struct gpu_used *used)
{
    s->gpu.samples++;
    s->gpu.mem_sum_kib += used->mem_bytes / 1024;
    if (used->mem_bytes > s->gpu.mem_max_bytes)
        s->gpu.mem_max_bytes = used->mem_bytes;
    s->gpu.energy_mj += used->energy_mj;
    if (!ev->ok)
        return;
    s->gpu.util_samples++;
    s->gpu.util_sum += used->util;
    if (used->util > s->gpu.util_max)
        s->gpu.util_max = used->util;
}

void gpus_used(struct turn *t, const struct agent_event *ev)
{
    if (t->a->welcome.no_gpu_use)
        return;
    for (size_t i = 0; i < ev->ngpus; i++)
        device_note(&t->a->gpus, &ev->gpus[i], t->now_us);
    for (struct held_step *s = held_marked(&t->a->held); s; s = s->marked_next) {
        struct gpu_used used = {0};
        if (s->state != HELD_RUNNING || s->gpus.count == 0)
            continue;
        told_add(ev, s, &used);
        hidden_add(t->a, ev, s, &used);
        step_note(ev, s, &used);
    }
}
