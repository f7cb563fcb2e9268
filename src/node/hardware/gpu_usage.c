/* How busy a device is, its own figure says, which is that of its job's curve
 * (gpu_nvidia_series.c); so what the accounting has of a job's steps together is what the curve
 * shows. Its parts go to steps by what NVML tells of each process (samples of the last seconds),
 * and equally where it does not (older drivers, AMD). Of instances there is no such figure: then
 * percents are not known. Memory is told of each process. Energy is the device's counter, or its
 * power over the time that passed, and goes where the work is; of a device that does nothing
 * equally to whom it is of.
 *
 * Processes may be hidden (a container without the host's numbers): then the device is not
 * explained, and who has it in the daemon's books has its figures (agent/gpus_now.c).
 *
 * A device is idle when nothing of it works and its memory in use does not change. */
#include "node/hardware/gpu_usage.h"

#include "base/alloc.h"
#include "model/record/series.h"
#include "node/hardware/gpu_holders.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SAMPLES_MAX   1024u
#define POWER_MAX_MW  5000000u
#define SECOND_US     1000000u
#define PASSED_MAX_MS 10000 /* power of so long ago says nothing */

static struct step_use *step_of(struct gpu_usage *u, const struct gpu_holder *h)
{
    for (size_t i = 0; i < u->step.n; i++)
        if (u->step.v[i].uid == h->uid && text_is(u->step.v[i].step, h->step))
            return &u->step.v[i];
    struct step_use new = {.uid = h->uid};
    snprintf(new.step, sizeof new.step, "%s", h->step);
    vec_push(&u->step, new);
    return &u->step.v[u->step.n - 1];
}

/* NULL if the process is of no step. What is below a step's shepherd is told as root's, who is
 * believed about all steps: in a container it may have another number than the step's user. */
static struct step_use *step_of_process(struct gpu_usage *u, unsigned pid)
{
    struct gpu_holder h;
    if (!gpu_holder_find(u->holders, (pid_t)pid, &h) || !h.step[0])
        return NULL;
    if (h.below_shepherd)
        h.uid = 0;
    return step_of(u, &h);
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

/* ---- NVIDIA ---- */

/* A device's processes, each once, and how much of its time each has. */
struct gpu_usage_work {
    struct nvml_processes list;
    int64_t *percent;
    int64_t sum;
    bool told, listed;
};

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

/* The clock may be set back, and what the library says may be nonsense: what is not yet over is no
 * time to ask from. If the samples since then are too many, the newest will do. */
static void since_move(unsigned long long *since_us, const struct nvml_process_use *use, unsigned n,
                       bool too_many)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    unsigned long long now_us = (unsigned long long)t.tv_sec * 1000000 + t.tv_nsec / 1000,
                       latest_us = now_us + SECOND_US;
    for (unsigned i = 0; i < n; i++)
        if (use[i].at_us > *since_us && use[i].at_us <= latest_us)
            *since_us = use[i].at_us;
    if (too_many || *since_us > latest_us)
        *since_us = now_us - SECOND_US;
}

static void samples_take(struct gpu_usage_work *w, const struct nvml *n, nvml_device device,
                         unsigned long long *since_us)
{
    static struct nvml_process_use use[SAMPLES_MAX];
    unsigned samples = SAMPLES_MAX;
    int answer =
        n->process_use ? n->process_use(device, use, &samples, *since_us) : NVML_NOT_SUPPORTED;
    w->told = answer == NVML_OK || answer == NVML_NOT_FOUND; /* nothing since: idle */
    samples = answer != NVML_OK ? 0 : samples < SAMPLES_MAX ? samples : SAMPLES_MAX;
    since_move(since_us, use, samples, answer == NVML_TOO_SMALL);
    for (unsigned i = 0; i < w->list.v.n; i++) {
        if (is_first(w->list.v.v, i))
            w->percent[i] = percent_of(use, samples, w->list.v.v[i].pid);
        w->sum += w->percent[i];
    }
}

static void work_read(struct gpu_usage_work *w, const struct nvml *n, nvml_device device,
                      bool is_part, unsigned long long *since_us)
{
    struct nvml_processes mps = {0};
    w->listed = nvml_processes_read(n->compute_processes, device, &w->list) == NVML_OK;
    if (w->listed && nvml_processes_read(n->mps_processes, device, &mps) == NVML_OK)
        processes_join(&w->list, &mps);
    vec_done(&mps.v);
    w->percent = xcalloc(w->list.v.n + 1, sizeof *w->percent);
    if (w->listed && !is_part)
        samples_take(w, n, device, since_us);
}

static bool encodes(const struct nvml *n, nvml_device device)
{
    unsigned percent, period;
    return (n->encoder && n->encoder(device, &percent, &period) == NVML_OK && percent > 0 &&
            percent <= 100) ||
           (n->decoder && n->decoder(device, &percent, &period) == NVML_OK && percent > 0 &&
            percent <= 100);
}

static void row_percent(struct gpu_usage_row *row, const struct nvml *n, nvml_device device,
                        const struct gpu_asked *asked, const struct gpu_usage_work *w)
{
    struct nvml_use whole = {0};
    bool known = !asked->is_part && n->use && n->use(device, &whole) == NVML_OK && whole.gpu <= 100;
    if (known || w->told)
        row->percent = known && (whole.gpu > 0 || !w->told) ? whole.gpu
                       : w->sum > 100                       ? 100
                                                            : w->sum;
    row->busy = row->percent > 0 || asked->activity > 0 ||
                (row->percent == 0 && encodes(n, device)) || (known && whole.memory > 0);
    row->idle = !row->busy && (row->percent == 0 || asked->activity == 0);
}

static void row_memory(struct gpu_usage_row *row, struct gpu_meter *m,
                       const struct gpu_asked *asked, unsigned long long used)
{
    if (m->has_bytes && m->bytes != used) {
        row->busy = true;
        row->idle = false;
    }
    m->has_bytes = true;
    m->bytes = used;
    row->bytes = (int64_t)used;
    row->own_bytes =
        asked->has_base && used > asked->base_bytes ? (int64_t)(used - asked->base_bytes) : 0;
}

/* A counter that was set back, or is beyond what any device takes, counts nothing. */
static void row_energy(struct gpu_usage_row *row, struct gpu_meter *m,
                       const struct gpu_asked *asked, const unsigned long long *mj, int64_t mw)
{
    int64_t passed = m->at_ms ? asked->now_ms - m->at_ms : 0;
    int64_t most = passed * (POWER_MAX_MW / 1000);
    m->at_ms = asked->now_ms;
    row->mw = mw;
    if (mj) {
        bool counts =
            m->has_energy && *mj >= m->mj && passed > 0 && *mj - m->mj <= (unsigned long long)most;
        row->mj = counts ? (int64_t)(*mj - m->mj) : 0;
        if (counts && mw < 0)
            row->mw = row->mj * 1000 / passed;
        m->has_energy = true;
        m->mj = *mj;
    } else if (mw >= 0 && passed <= PASSED_MAX_MS) {
        row->mj = mw * passed / 1000;
    }
}

/* Equal parts of it for the steps that have processes there; how many they are. */
static size_t share_out(struct gpu_usage *u, const uint32_t *pid, size_t n, int64_t percent,
                        int64_t mj)
{
    ASSERT(percent >= 0);
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
    for (size_t i = 0; i < seen; i++) {
        u->step.v[at[i]].percent += percent / (int64_t)seen;
        u->step.v[at[i]].mj += mj / (int64_t)seen;
    }
    free(at);
    return seen;
}

/* By the work of each; what processes of nobody's do is nobody's. */
static void share_by_work(struct gpu_usage *u, const struct gpu_usage_work *w,
                          const struct gpu_usage_row *row)
{
    for (size_t i = 0; i < w->list.v.n; i++) {
        struct step_use *s = w->percent[i] ? step_of_process(u, w->list.v.v[i].pid) : NULL;
        if (!s)
            continue;
        s->percent += w->sum > row->percent
                          ? w->percent[i] * row->percent / w->sum
                          : w->percent[i] + (row->percent - w->sum) * w->percent[i] / w->sum;
        s->mj += row->mj * w->percent[i] / w->sum;
    }
}

static void shares(struct gpu_usage *u, const struct gpu_usage_work *w, struct gpu_usage_row *row)
{
    uint32_t *pid = xcalloc(w->list.v.n + 1, sizeof *pid);
    for (size_t i = 0; i < w->list.v.n; i++) {
        struct step_use *s = step_of_process(u, w->list.v.v[i].pid);
        pid[i] = w->list.v.v[i].pid;
        /* All ones, and whatever cannot be. */
        if (s && w->list.v.v[i].used_bytes < (UINT64_C(1) << 50))
            s->bytes += (int64_t)w->list.v.v[i].used_bytes;
    }
    if (w->sum > 0)
        share_by_work(u, w, row);
    else
        share_out(u, pid, w->list.v.n, row->percent > 0 ? row->percent : 0, row->mj);
    row->explained = w->list.v.n > 0;
    free(pid);
}

void gpu_usage_nvidia(struct gpu_usage *u, const struct nvml *n, nvml_device device,
                      const struct gpu_asked *asked, struct gpu_meter *m)
{
    struct gpu_usage_row row = {.index = asked->index, .percent = -1, .bytes = -1, .mw = -1};
    struct gpu_usage_work w = {0};
    struct nvml_memory mem = {0};
    unsigned long long mj = 0;
    unsigned mw = 0;
    work_read(&w, n, device, asked->is_part, &m->since_us);
    bool has_memory = n->memory(device, &mem) == NVML_OK && mem.used <= mem.total;
    if (asked->is_part && !nvml_is_called(n, device, asked->uuid)) {
        free(w.percent);
        vec_done(&w.list.v);
        return;
    }
    row_percent(&row, n, device, asked, &w);
    if (has_memory)
        row_memory(&row, m, asked, mem.used);
    bool counter = !asked->is_part && n->energy && n->energy(device, &mj) == NVML_OK;
    bool power = !asked->is_part && !counter && n->power && n->power(device, &mw) == NVML_OK &&
                 mw < POWER_MAX_MW;
    row_energy(&row, m, asked, counter ? &mj : NULL, power ? (int64_t)mw : -1);
    u->percent_known |= row.percent >= 0;
    shares(u, &w, &row);
    vec_push(&u->gpu, row);
    free(w.percent);
    vec_done(&w.list.v);
}

/* ---- AMD ---- */

static int64_t amd_power_mw(const struct amd_now *now)
{
    struct series_point point[16];
    size_t n = series_points_read(span_of(now->sensors), point, ARRAY_LEN(point));
    for (size_t i = 0; i < n; i++)
        if (point[i].id == SERIES_GPU_POWER)
            return point[i].value * 100;
    return -1;
}

void gpu_usage_amd(struct gpu_usage *u, struct amd *a, uint32_t number,
                   const struct gpu_asked *asked, struct gpu_meter *m)
{
    const struct amd_now *now = amd_now(a, number);
    struct gpu_usage_row row = {.index = asked->index, .percent = -1, .bytes = -1, .mw = -1};
    const amd_process_vec *p;
    size_t n = 0;
    if (now->answer != AMD_OK && now->answer != AMD_NOT_TOLD)
        return;
    bool listed = amd_processes(a, &p);
    uint32_t *pid = xcalloc(listed ? p->n + 1 : 1, sizeof *pid);
    if (now->has_busy && now->busy_percent <= 100)
        row.percent = now->busy_percent;
    row.busy = row.percent > 0;
    row.idle = row.percent == 0;
    if (now->has_memory)
        row_memory(&row, m, asked, now->memory_used);
    row_energy(&row, m, asked, NULL, amd_power_mw(now));
    for (size_t i = 0; listed && i < p->n; i++) {
        if (p->v[i].device != number)
            continue;
        struct step_use *s = step_of_process(u, (unsigned)p->v[i].pid);
        pid[n++] = (uint32_t)p->v[i].pid;
        if (s && p->v[i].has_bytes)
            s->bytes += (int64_t)p->v[i].bytes;
    }
    u->percent_known |= row.percent >= 0;
    share_out(u, pid, n, row.percent > 0 ? row.percent : 0, row.mj);
    row.explained = n > 0;
    vec_push(&u->gpu, row);
    free(pid);
}

void gpu_usage_say(struct gpu_usage *u, struct str *out)
{
    for (size_t i = 0; i < u->step.n; i++)
        str_addf(out, "used %s %lld %lld %lld %u\n", u->step.v[i].step,
                 (long long)u->step.v[i].percent, (long long)u->step.v[i].bytes,
                 (long long)u->step.v[i].mj, (unsigned)u->step.v[i].uid);
    for (size_t i = 0; i < u->gpu.n; i++) {
        const struct gpu_usage_row *g = &u->gpu.v[i];
        str_addf(out, "gpu %d %lld %lld %lld %lld %c %d %lld\n", g->index, (long long)g->percent,
                 (long long)g->bytes, (long long)g->mw, (long long)g->mj,
                 g->idle   ? 'i'
                 : g->busy ? 'b'
                           : '-',
                 g->explained, (long long)g->own_bytes);
    }
    str_addf(out, "usage %d\n", u->percent_known);
    vec_clear(&u->step);
    vec_clear(&u->gpu);
    u->percent_known = false;
}
