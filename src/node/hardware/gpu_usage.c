/* Memory is told of each process. How busy a device is for each process NVML tells as samples of
 * the last seconds: their mean since the last time counts. Where it does not (older drivers,
 * instances of a GPU, AMD), the device's own figure counts, in equal parts for the steps that
 * compute on it. Of instances there is none either: then percents are not known. */
#include "node/hardware/gpu_usage.h"

#include "base/alloc.h"
#include "node/hardware/gpu_holders.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROCESSES_MAX 256u
#define SAMPLES_MAX   1024u

static struct step_use *step_of(struct gpu_usage *u, const char *step)
{
    for (size_t i = 0; i < u->step.n; i++)
        if (text_is(u->step.v[i].step, step))
            return &u->step.v[i];
    struct step_use new = {0};
    snprintf(new.step, sizeof new.step, "%s", step);
    vec_push(&u->step, new);
    return &u->step.v[u->step.n - 1];
}

/* NULL if the process is of no step. */
static struct step_use *step_of_process(struct gpu_usage *u, unsigned pid)
{
    struct gpu_holder h;
    return gpu_holder_find((pid_t)pid, &h) && h.step[0] ? step_of(u, h.step) : NULL;
}

/* The mean of a process's samples. */
static int64_t percent_of(const struct nvml_process_use *use, unsigned n, unsigned pid)
{
    int64_t sum = 0, count = 0;
    for (unsigned i = 0; i < n; i++) {
        if (use[i].pid != pid || use[i].gpu > 100)
            continue;
        sum += use[i].gpu;
        count++;
    }
    return count ? sum / count : 0;
}

static bool is_first(const struct nvml_process *p, unsigned i)
{
    for (unsigned k = 0; k < i; k++)
        if (p[k].pid == p[i].pid)
            return false;
    return true;
}

/* True if it is known how busy the device is for each process. */
static bool samples_take(struct gpu_usage *u, const struct nvml *n, nvml_device device,
                         const struct nvml_process *process, unsigned count,
                         unsigned long long *since_us)
{
    static struct nvml_process_use use[SAMPLES_MAX];
    unsigned samples = SAMPLES_MAX;
    int answer =
        n->process_use ? n->process_use(device, use, &samples, *since_us) : NVML_NOT_SUPPORTED;
    if (answer != NVML_OK)
        return answer == NVML_NOT_FOUND; /* nothing since: idle */
    samples = samples < SAMPLES_MAX ? samples : SAMPLES_MAX;
    for (unsigned i = 0; i < samples; i++)
        *since_us = use[i].at_us > *since_us ? use[i].at_us : *since_us;
    for (unsigned i = 0; i < count; i++) {
        struct step_use *s = is_first(process, i) ? step_of_process(u, process[i].pid) : NULL;
        if (s)
            s->percent += percent_of(use, samples, process[i].pid);
    }
    return true;
}

/* Equal parts of it for the steps that have processes there. */
static void share_out(struct gpu_usage *u, const uint32_t *pid, size_t n, int64_t percent)
{
    size_t seen = 0;
    size_t *at = xcalloc(n + 1, sizeof *at);
    for (size_t i = 0; i < n; i++) {
        const struct step_use *s = step_of_process(u, pid[i]);
        bool known = s == NULL;
        for (size_t k = 0; k < seen && !known; k++)
            known = at[k] == (size_t)(s - u->step.v);
        if (!known)
            at[seen++] = (size_t)(s - u->step.v);
    }
    for (size_t i = 0; i < seen; i++)
        u->step.v[at[i]].percent += percent / (int64_t)seen;
    free(at);
}

/* Clients of MPS stand in a list of their own, and with some drivers in both. */
static void processes_join(struct nvml_processes *to, const struct nvml_processes *from)
{
    for (size_t i = 0; i < from->v.n; i++) {
        bool known = false;
        for (size_t k = 0; k < to->v.n && !known; k++)
            known = to->v.v[k].pid == from->v.v[i].pid;
        if (!known)
            vec_push(&to->v, from->v.v[i]);
    }
}

void gpu_usage_nvidia(struct gpu_usage *u, const struct nvml *n, nvml_device device,
                      unsigned long long *since_us)
{
    struct nvml_processes list = {0}, mps = {0};
    struct nvml_use whole = {0};
    if (nvml_processes_read(n->compute_processes, device, &list) != NVML_OK) {
        vec_done(&list.v);
        return;
    }
    if (nvml_processes_read(n->mps_processes, device, &mps) == NVML_OK)
        processes_join(&list, &mps);
    uint32_t *pid = xcalloc(list.v.n + 1, sizeof *pid);
    for (size_t i = 0; i < list.v.n; i++) {
        struct step_use *s = step_of_process(u, list.v.v[i].pid);
        pid[i] = list.v.v[i].pid;
        /* All ones, and whatever cannot be. */
        if (s && list.v.v[i].used_bytes < (UINT64_C(1) << 50))
            s->bytes += (int64_t)list.v.v[i].used_bytes;
    }
    if (samples_take(u, n, device, list.v.v, (unsigned)list.v.n, since_us)) {
        u->percent_known = true;
    } else if (n->use && n->use(device, &whole) == NVML_OK && whole.gpu <= 100) {
        u->percent_known = true;
        share_out(u, pid, list.v.n, whole.gpu);
    }
    free(pid);
    vec_done(&list.v);
    vec_done(&mps.v);
}

/* ---- AMD ---- */

void gpu_usage_amd(struct gpu_usage *u, struct amd *a)
{
    const amd_process_vec *p;
    if (!amd_processes(a, &p))
        return;
    uint32_t *pid = xcalloc(p->n + 1, sizeof *pid);
    for (size_t i = 0; i < p->n; i++) {
        struct step_use *s = p->v[i].has_bytes ? step_of_process(u, (unsigned)p->v[i].pid) : NULL;
        if (s)
            s->bytes += (int64_t)p->v[i].bytes;
    }
    for (uint32_t d = 0; d < a->n; d++) {
        const struct amd_now *now = amd_now(a, d);
        size_t n = 0;
        for (size_t i = 0; i < p->n && now->has_busy; i++)
            if (p->v[i].device == d)
                pid[n++] = (uint32_t)p->v[i].pid;
        u->percent_known |= now->has_busy;
        share_out(u, pid, n, now->busy_percent);
    }
    free(pid);
}

void gpu_usage_say(struct gpu_usage *u, struct str *out)
{
    for (size_t i = 0; i < u->step.n; i++)
        str_addf(out, "used %s %lld %lld\n", u->step.v[i].step, (long long)u->step.v[i].percent,
                 (long long)u->step.v[i].bytes);
    str_addf(out, "usage %d\n", u->percent_known);
    vec_clear(&u->step);
    u->percent_known = false;
}
