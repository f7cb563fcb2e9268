/* The process that watches the GPUs (see gpu_watch.h). It sleeps until it is asked or it is time to look after the devices' health.
 *
 * Clean is a device that answers, on which no process computes that counts (gpu_holders.h), whose file no process of its last job has open, and whose memory is back: at most a
 * little more in use than when it was first found clean. Before that is known, a small part of it may be in use, for what drivers keep. Memory of processes that do not count
 * (an X server) is not asked back.
 *
 * Where steps of a job go on with a device that another had, their processes are passed over, and their memory is taken off as far as the library tells it.
 *
 * Broken is a device that the library calls lost, that reports one of the XID errors that only a reset or an exchange mends, or that counts more uncorrectable memory errors than
 * when this process began. Other XIDs are errors of programs; they are the jobs' own affair. */
#include "base/alloc.h"
#include "base/arena.h"
#include "base/str.h"
#include "base/vec.h"
#include "node/gpu_holders.h"
#include "node/gpu_usage.h"
#include "node/gpu_watch.h"
#include "node/nvml.h"
#include "node/rsmi.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PARENT_FD    3
#define HEALTH_MS    1000
#define MEMORY_SLACK (UINT64_C(256) << 20) /* above the base */
#define MEMORY_UNKNOWN                                                                                       \
    (UINT64_C(1) << 30) /* in use while the base is not known; or 1/32 of the device, if that is more */
#define FILES_MAX     8u
#define PROCESSES_MAX 256u

struct gpu {
    int32_t index;
    char uuid[96];
    struct device_number file[FILES_MAX];
    size_t nfiles;
    nvml_device handle; /* NULL: the library does not know it */
    nvml_device whole;  /* the GPU that it is an instance of, or itself: events name it */
    bool is_mig;
    bool is_amd; /* its number there is `amd` */
    uint32_t amd;
    bool answered; /* once, when asked for its memory */
    bool broken;   /* has been told */
    bool has_base, has_ecc;
    unsigned long long used_since_us; /* wall clock: older samples of its use are counted */
    uint64_t base_bytes, ecc;
};

/* A process that has a device file open. */
struct opener {
    struct gpu_holder holder;
    struct device_number file;
};

struct asked {
    struct device_look look;
    char *steps; /* that go on and may hold it; owned */
};

struct helper {
    struct nvml nvml;
    struct rsmi rsmi;
    bool has_nvml, has_rsmi;
    void *events; /* NULL: none */
    VEC(struct gpu) gpu;
    VEC(struct asked) look;
    VEC(struct opener) opener; /* while a look is answered */
    struct gpu_usage usage;
    struct str in, out;
};

/* ---- words ---- */

/* XIDs that a device does not recover from by itself. */
static const struct {
    unsigned xid;
    const char *text;
} fatal_xids[] = {
    {46, "it stopped processing"},
    {48, "double-bit memory error"},
    {62, "its internal microcontroller halted"},
    {64, "a faulty row of its memory cannot be replaced"},
    {74, "NVLink error"},
    {79, "it has fallen off the bus"},
    {95, "uncontained memory error"},
    {109, "context switch timed out"},
    {119, "its system processor does not answer"},
    {120, "its system processor failed"},
    {140, "unrecovered memory error"},
    {143, "it could not be initialised"},
};

static const char *xid_fatal(unsigned long long xid)
{
    for (size_t i = 0; i < sizeof fatal_xids / sizeof fatal_xids[0]; i++)
        if (fatal_xids[i].xid == xid)
            return fatal_xids[i].text;
    return NULL;
}

static void say_all(struct helper *h)
{
    for (size_t at = 0; at < h->out.len;) {
        ssize_t n = send(PARENT_FD, h->out.data + at, h->out.len - at, MSG_NOSIGNAL);
        if (n <= 0)
            exit(0); /* the daemon is gone */
        at += (size_t)n;
    }
    str_clear(&h->out);
}

static void broke(struct helper *h, struct gpu *g, const char *why)
{
    if (!g->broken)
        str_addf(&h->out, "broke %d %s\n", g->index, why);
    g->broken = true;
}

/* ---- health ---- */

static bool memory_read(const struct helper *h, const struct gpu *g, struct nvml_memory *ret)
{
    uint64_t total = 0, used = 0;
    *ret = (struct nvml_memory){0};
    if (!g->is_amd)
        return g->handle && h->nvml.memory(g->handle, ret) == NVML_OK;
    bool ok = h->rsmi.memory_total(g->amd, RSMI_VRAM, &total) == 0 &&
              h->rsmi.memory_used(g->amd, RSMI_VRAM, &used) == 0;
    ret->total = total;
    ret->used = used;
    return ok;
}

/* A few devices are lost in a way that only some calls notice: this one asks the device itself. AMD's library has no word for it: what answered once and does not now is lost. */
static bool is_lost(const struct helper *h, struct gpu *g)
{
    struct nvml_memory memory = {0};
    if (!g->is_amd)
        return g->handle && h->nvml.memory(g->handle, &memory) == NVML_LOST;
    bool answers = memory_read(h, g, &memory);
    g->answered |= answers;
    return g->answered && !answers;
}

static bool amd_ecc_read(const struct helper *h, const struct gpu *g, uint64_t *ret)
{
    static const int blocks[] = {1, 2, 4}; /* memory, copy engines, shaders */
    bool any = false;
    *ret = 0;
    for (size_t i = 0; h->rsmi.ecc && i < sizeof blocks / sizeof blocks[0]; i++) {
        struct rsmi_errors e = {0};
        if (h->rsmi.ecc(g->amd, blocks[i], &e) != 0)
            continue;
        *ret += e.uncorrectable;
        any = true;
    }
    return any;
}

static bool ecc_read(const struct helper *h, const struct gpu *g, uint64_t *ret)
{
    unsigned long long count = 0;
    if (g->is_amd)
        return amd_ecc_read(h, g, ret);
    bool ok = g->handle && !g->is_mig && h->nvml.ecc_total &&
              h->nvml.ecc_total(g->handle, 1 /* uncorrected */, 0 /* since the driver was loaded */,
                                &count) == NVML_OK;
    *ret = count;
    return ok;
}

/* What is wrong with it now; false: nothing. */
static bool is_broken(struct helper *h, struct gpu *g, struct str *why)
{
    uint64_t ecc;
    if (is_lost(h, g)) {
        str_addf(why, "GPU %s is lost: %s", g->uuid,
                 g->is_amd ? "ROCm SMI does not reach it any more" : "NVML_ERROR_GPU_IS_LOST");
    } else if (ecc_read(h, g, &ecc) && g->has_ecc && ecc > g->ecc) {
        str_addf(why, "GPU %s has %llu new uncorrectable memory errors (ECC)", g->uuid,
                 (unsigned long long)(ecc - g->ecc));
        g->ecc = ecc;
    }
    return why->len > 0;
}

static void events_take(struct helper *h)
{
    struct nvml_event e = {0};
    while (h->events && h->nvml.event_wait(h->events, &e, 0) == NVML_OK) {
        const char *text = xid_fatal(e.data);
        for (size_t i = 0; i < h->gpu.n && (e.type & NVML_EVENT_XID) && text; i++) {
            char why[256];
            snprintf(why, sizeof why, "GPU %s reports XID %llu: %s", h->gpu.v[i].uuid, e.data, text);
            if (h->gpu.v[i].whole == e.device)
                broke(h, &h->gpu.v[i], why);
        }
        e = (struct nvml_event){0};
    }
}

static void usage_look(struct helper *h)
{
    for (size_t i = 0; i < h->gpu.n; i++)
        if (h->gpu.v[i].handle && !h->gpu.v[i].broken)
            gpu_usage_nvidia(&h->usage, &h->nvml, h->gpu.v[i].handle, &h->gpu.v[i].used_since_us);
    if (h->has_rsmi)
        gpu_usage_amd(&h->usage, &h->rsmi);
    gpu_usage_say(&h->usage, &h->out);
}

static void health_look(struct helper *h)
{
    events_take(h);
    for (size_t i = 0; i < h->gpu.n; i++) {
        struct gpu *g = &h->gpu.v[i];
        struct str why = STR_INIT;
        if (!g->broken && is_broken(h, g, &why))
            broke(h, g, str_text(&why));
        str_done(&why);
    }
    usage_look(h);
    say_all(h);
}

/* ---- is it clean? ---- */

struct search {
    const struct gpu_use *use;
    const char *steps; /* that go on */
    struct str why;
    uint64_t innocent_bytes; /* used by processes that do not count */
    bool computes;
    bool shared;        /* processes of those steps are there */
    bool memory_hidden; /* and it is not known how much of the memory they have */
    VEC(pid_t) known;   /* of those whose memory is known */
};

static void holder_say(struct search *s, const struct gpu_holder *h)
{
    if (s->why.len > 0)
        return;
    str_addf(&s->why, "process %ld (%s)", (long)h->pid, h->name);
    if (h->job_id)
        str_addf(&s->why, " of job %lld", (long long)h->job_id);
    else if (h->of_job)
        str_add(&s->why, " of a job");
    else
        str_addf(&s->why, " of user %u", (unsigned)h->uid);
    str_add(&s->why, " still holds it");
}

static bool is_known(const struct search *s, pid_t pid)
{
    for (size_t i = 0; i < s->known.n; i++)
        if (s->known.v[i] == pid)
            return true;
    return false;
}

static void holder_weigh(void *ctx, const struct gpu_holder *h)
{
    struct search *s = ctx;
    if (h->pid == getpid() || !gpu_holder_counts(h, s->use, s->computes, geteuid() == 0))
        return;
    if (!gpu_holder_goes_on(h, s->use, s->steps)) {
        holder_say(s, h);
        return;
    }
    s->shared = true;
    s->memory_hidden |= !is_known(s, h->pid);
}

static void computing_search(struct search *s, nvml_device device,
                             int (*list)(nvml_device, unsigned *, struct nvml_process *), bool computes)
{
    struct nvml_process process[PROCESSES_MAX];
    unsigned n = PROCESSES_MAX;
    if (!list || list(device, &n, process) != NVML_OK)
        return;
    for (unsigned i = 0; i < n && i < PROCESSES_MAX; i++) {
        struct gpu_holder h;
        size_t before = s->why.len;
        if (!gpu_holder_find((pid_t)process[i].pid, &h))
            continue; /* gone since; its memory is looked at */
        s->computes = computes || h.of_job;
        if (process[i].used_bytes != UINT64_MAX && !is_known(s, h.pid))
            vec_push(&s->known, h.pid);
        holder_weigh(s, &h);
        if (s->why.len == before && process[i].used_bytes != UINT64_MAX)
            s->innocent_bytes += process[i].used_bytes;
    }
}

static void amd_search(const struct helper *h, const struct gpu *g, struct search *s)
{
    struct rsmi_process process[PROCESSES_MAX];
    uint32_t n = PROCESSES_MAX;
    if (!h->rsmi.processes || !h->rsmi.process_gpus || h->rsmi.processes(process, &n) != 0)
        return;
    for (uint32_t i = 0; i < n && i < PROCESSES_MAX; i++) {
        uint32_t on[64], gpus = 64;
        struct gpu_holder holder;
        bool here = false;
        if (h->rsmi.process_gpus(process[i].pid, on, &gpus) != 0 ||
            !gpu_holder_find((pid_t)process[i].pid, &holder))
            continue;
        for (uint32_t k = 0; k < gpus && k < 64; k++)
            here |= on[k] == g->amd;
        s->computes = true;
        if (here)
            holder_weigh(s, &holder);
    }
}

static void memory_weigh(struct helper *h, struct gpu *g, struct search *s)
{
    struct nvml_memory m = {0};
    if (s->memory_hidden || !memory_read(h, g, &m))
        return;
    uint64_t used = m.used > s->innocent_bytes ? m.used - s->innocent_bytes : 0;
    uint64_t most = m.total / 32 > MEMORY_UNKNOWN ? m.total / 32 : MEMORY_UNKNOWN;
    most = g->has_base ? g->base_bytes + MEMORY_SLACK : most;
    if (used > most) {
        str_addf(&s->why, "%llu MiB of its memory are in use, though no process is known to hold them",
                 (unsigned long long)(used >> 20));
        return;
    }
    if (!g->has_base || (!s->innocent_bytes && used < g->base_bytes))
        g->base_bytes = used;
    g->has_base = true;
}

static bool has_file(const struct gpu *g, const struct device_number *file)
{
    for (size_t i = 0; i < g->nfiles; i++)
        if (g->file[i].major == file->major && g->file[i].minor == file->minor)
            return true;
    return false;
}

static void openers_weigh(const struct helper *h, const struct gpu *g, struct search *s)
{
    for (size_t i = 0; i < h->opener.n && !s->why.len; i++)
        if (has_file(g, &h->opener.v[i].file))
            holder_weigh(s, &h->opener.v[i].holder);
}

static void one_look(struct helper *h, struct gpu *g, const struct asked *asked)
{
    const struct device_look *look = &asked->look;
    struct gpu_use use = {look->job_id, look->uid, look->from_us};
    struct search s = {.use = &use, .steps = asked->steps};
    struct str wrong = STR_INIT;
    if (is_broken(h, g, &wrong)) {
        g->broken = true;
        str_addf(&h->out, "seen %d %llu broken %s\n", look->index, (unsigned long long)look->use,
                 str_text(&wrong));
        str_done(&wrong);
        return;
    }
    g->broken = false; /* somebody asks for it again */
    if (g->handle) {
        computing_search(&s, g->handle, h->nvml.compute_processes, true);
        computing_search(&s, g->handle, h->nvml.graphics_processes, false);
    }
    if (g->is_amd)
        amd_search(h, g, &s);
    s.computes = false;
    openers_weigh(h, g, &s);
    if (!s.why.len && (g->handle || g->is_amd))
        memory_weigh(h, g, &s);
    str_addf(&h->out, "seen %d %llu %s %s\n", look->index, (unsigned long long)look->use,
             s.why.len  ? "held"
             : s.shared ? "shared"
                        : "clean",
             str_text(&s.why));
    str_done(&s.why);
    vec_done(&s.known);
    str_done(&wrong);
}

static void opener_take(void *ctx, const struct gpu_holder *holder, const struct device_number *file)
{
    struct helper *h = ctx;
    struct opener o = {*holder, *file};
    vec_push(&h->opener, o);
}

/* Who has files of the devices open that are to be looked at: of those whose last job is known, since without that an open file says nothing. */
static void openers_find(struct helper *h)
{
    struct device_number file[GPU_FILES_MAX];
    size_t n = 0;
    vec_clear(&h->opener);
    for (size_t i = 0; i < h->look.n; i++)
        for (size_t k = 0; k < h->gpu.n && h->look.v[i].look.from_us; k++)
            for (size_t f = 0;
                 h->gpu.v[k].index == h->look.v[i].look.index && f < h->gpu.v[k].nfiles && n < GPU_FILES_MAX;
                 f++)
                file[n++] = h->gpu.v[k].file[f];
    gpu_holders_each(file, n, opener_take, h);
}

static void looks_answer(struct helper *h)
{
    openers_find(h);
    for (size_t i = 0; i < h->look.n; i++)
        for (size_t k = 0; k < h->gpu.n; k++)
            if (h->gpu.v[k].index == h->look.v[i].look.index)
                one_look(h, &h->gpu.v[k], &h->look.v[i]);
    for (size_t i = 0; i < h->look.n; i++)
        free(h->look.v[i].steps);
    str_add(&h->out, "done\n");
    vec_clear(&h->look);
    say_all(h);
}

/* ---- devices ---- */

static void files_read(struct gpu *g, const char *text)
{
    for (const char *at = text; *at && g->nfiles < FILES_MAX;) {
        char *end;
        unsigned long major = strtoul(at, &end, 10);
        if (end == at || *end != ':')
            return;
        unsigned long minor = strtoul(end + 1, &end, 10);
        g->file[g->nfiles++] = (struct device_number){(uint32_t)major, (uint32_t)minor};
        at = *end == '+' ? end + 1 : end;
        if (*end != '+')
            return;
    }
}

static void amd_find(struct helper *h, struct gpu *g)
{
    uint32_t count = 0;
    char uuid[32];
    if (!h->has_rsmi || g->handle || h->rsmi.count(&count) != 0)
        return;
    for (uint32_t i = 0; i < count && i < RSMI_DEVICES_MAX && !g->is_amd; i++)
        if (rsmi_uuid(&h->rsmi, i, uuid) && text_is(uuid, g->uuid)) {
            g->is_amd = true;
            g->amd = i;
        }
}

static void handle_find(struct helper *h, struct gpu *g)
{
    unsigned count = 0;
    if (!h->has_nvml)
        return;
    if (h->nvml.by_uuid && h->nvml.by_uuid(g->uuid, &g->handle) == NVML_OK)
        return;
    g->handle = NULL;
    h->nvml.count(&count);
    for (unsigned i = 0; i < count && i < NVML_DEVICES_MAX; i++) {
        nvml_device d;
        char uuid[96] = "";
        if (h->nvml.by_index(i, &d) == NVML_OK && h->nvml.uuid(d, uuid, sizeof uuid) == NVML_OK &&
            text_is(uuid, g->uuid))
            g->handle = d;
    }
}

static void device_take(struct helper *h, int32_t index, const char *uuid, const char *files)
{
    struct gpu g = {.index = index, .is_mig = text_starts(uuid, "MIG-")};
    snprintf(g.uuid, sizeof g.uuid, "%s", uuid);
    files_read(&g, files);
    handle_find(h, &g);
    amd_find(h, &g);
    g.has_ecc = ecc_read(h, &g, &g.ecc);
    g.whole = g.handle;
    g.used_since_us = (unsigned long long)time(NULL) * 1000000;
    if (g.is_mig && g.handle && (!h->nvml.mig_parent || h->nvml.mig_parent(g.handle, &g.whole) != NVML_OK))
        g.whole = NULL;
    if (g.whole && h->events)
        h->nvml.event_register(g.whole, NVML_EVENT_XID, h->events);
    vec_push(&h->gpu, g);
}

static void libraries_begin(struct helper *h)
{
    struct nvml *n = &h->nvml;
    bool unfit;
    h->has_rsmi = rsmi_open(&h->rsmi, &unfit);
    h->has_nvml = nvml_open(n) == NVML_OPENED;
    if (h->has_nvml &&
        (!n->event_set || !n->event_register || !n->event_wait || n->event_set(&h->events) != NVML_OK))
        h->events = NULL;
}

/* ---- the loop ---- */

static void line_take(struct helper *h, const char *line)
{
    struct device_look look = {0};
    unsigned long long use, job;
    long long from;
    char uuid[96], files[256];
    int index, at = 0;
    if (sscanf(line, "device %d %95s %255s", &index, uuid, files) == 3) {
        device_take(h, index, uuid, files);
    } else if (sscanf(line, "look %d %llu %llu %u %lld %n", &look.index, &use, &job, &look.uid, &from, &at) ==
               5) {
        look.use = use;
        look.job_id = job;
        look.from_us = from;
        vec_push(&h->look, ((struct asked){look, xstrdup(text_is(line + at, "-") ? "" : line + at)}));
    } else if (text_is(line, "go")) {
        looks_answer(h);
    }
}

static void lines_take(struct helper *h)
{
    char piece[4096], *end;
    ssize_t n = recv(PARENT_FD, piece, sizeof piece, 0);
    if (n <= 0)
        exit(0);
    str_addn(&h->in, piece, (size_t)n);
    while (h->in.len > 0 && (end = memchr(h->in.data, '\n', h->in.len))) {
        size_t len = (size_t)(end - h->in.data);
        *end = '\0';
        line_take(h, h->in.data);
        memmove(h->in.data, end + 1, h->in.len - len - 1);
        h->in.len -= len + 1;
    }
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000) + t.tv_nsec / 1000000;
}

int gpu_watch_main(void)
{
    struct helper h = {0};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "remudad-gpus");
    libraries_begin(&h);
    for (int64_t due_ms = 0;;) {
        struct pollfd p = {.fd = PARENT_FD, .events = POLLIN};
        int64_t left_ms = due_ms - now_ms();
        if (poll(&p, 1, !h.has_nvml && !h.has_rsmi ? -1 : left_ms > 0 ? (int)left_ms : 0) > 0)
            lines_take(&h);
        if (now_ms() < due_ms)
            continue;
        health_look(&h);
        due_ms = now_ms() + HEALTH_MS;
    }
}
