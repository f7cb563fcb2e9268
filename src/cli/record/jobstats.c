/* The summary is made when it is shown, out of the rows that seff reads. They tell of a job, not of
 * each of its nodes: a node's part of what was used is as its part of what was had, and a GPU's the
 * mean of all. */
#include "cli/record/jobstats.h"

#include "base/arena.h"
#include "base/duration.h"
#include "base/idset.h"
#include "cli/record/efficiency.h"
#include "model/grammar/gres.h"
#include "model/job/alloc.h"
#include "model/state.h"

#include <string.h>

#define MIB          (INT64_C(1) << 20)
#define STORED_BLOCK 65535u

/* ---- the envelope --------------------------------------------------------------------------- */

static uint32_t crc32_of(const char *data, size_t len)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < len; i++) {
        crc ^= (unsigned char)data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0xedb88320) : 0);
    }
    return ~crc;
}

static void little_add(struct str *out, uint32_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        str_addc(out, (char)(value >> 8 * i & 0xff));
}

void gzip_stored(const char *data, size_t len, struct str *out)
{
    static const char head[] = "\x1f\x8b\x08\0\0\0\0\0\0\xff";
    size_t at = 0;
    str_addn(out, head, sizeof head - 1);
    do {
        size_t n = len - at < STORED_BLOCK ? len - at : STORED_BLOCK;
        str_addc(out, at + n == len);
        little_add(out, (uint32_t)n, 2);
        little_add(out, ~(uint32_t)n, 2);
        str_addn(out, data + at, n);
        at += n;
    } while (at < len);
    little_add(out, crc32_of(data, len), 4);
    little_add(out, (uint32_t)len, 4);
}

void base64_add(const char *data, size_t len, struct str *out)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *p = (const unsigned char *)data;
    for (size_t i = 0; i < len; i += 3) {
        size_t n = len - i < 3 ? len - i : 3;
        uint32_t three =
            (uint32_t)p[i] << 16 | (n > 1 ? (uint32_t)p[i + 1] << 8 : 0) | (n > 2 ? p[i + 2] : 0);
        str_addc(out, letters[three >> 18]);
        str_addc(out, letters[three >> 12 & 63]);
        str_addc(out, n > 1 ? letters[three >> 6 & 63] : '=');
        str_addc(out, n > 2 ? letters[three & 63] : '=');
    }
}

/* ---- what was had and used ------------------------------------------------------------------ */

static int64_t part_of(int64_t all, int64_t mine, int64_t whole)
{
    return whole > 0 ? (int64_t)((double)all * (double)mine / (double)whole) : 0;
}

static const struct node *node_find(const struct jobstats *from, const char *name)
{
    for (size_t i = 0; i < from->nnodes; i++)
        if (text_is(from->node[i]->name, name))
            return from->node[i];
    return NULL;
}

/* Memory of the node's GPU of that index; 0 = not known. */
static int64_t gpu_memory(const struct jobstats *from, const char *name, uint32_t index,
                          struct arena *a)
{
    const struct node *n = node_find(from, name);
    struct device_list list = {0};
    if (!n || !n->devices || !devices_parse(n->devices, a, &list, NULL))
        return 0;
    for (size_t i = 0; i < list.n; i++)
        if (text_is(list.v[i].kind, "gpu") && list.v[i].index == (int32_t)index)
            return list.v[i].mem_mib * MIB;
    return 0;
}

struct jobstats_gpus {
    int64_t n;
    struct str total, used, busy; /* "0":123,"1":… */
    bool known;                   /* the memory of each */
};

static void gpu_add(struct jobstats_gpus *g, uint32_t index, int64_t memory,
                    const struct efficiency *e)
{
    const char *comma = g->total.len ? ", " : "";
    double percent = efficiency_percent(e->gpu_percent_s, e->gpu_had_s * 100);
    g->n++;
    g->known &= memory > 0;
    str_addf(&g->total, "%s\"%u\": %lld", comma, index, (long long)memory);
    str_addf(&g->used, "%s\"%u\": %lld", comma, index,
             (long long)(e->gpus > 0 ? e->gpu_mem_bytes / e->gpus : 0));
    str_addf(&g->busy, "%s\"%u\": %.1f", comma, index, percent < 100.0 ? percent : 100.0);
}

static void gpus_of_node(struct jobstats_gpus *g, const struct jobstats *from,
                         const struct alloc_node *n, const struct efficiency *e, struct arena *a)
{
    for (size_t i = 0; i < n->ngres; i++) {
        struct idset set = IDSET_INIT;
        uint32_t index;
        if (!text_is(n->gres[i].kind, "gpu") || !n->gres[i].devices ||
            !idset_parse(&set, n->gres[i].devices, INT32_MAX, NULL))
            continue;
        for (bool more = idset_first(&set, &index); more; more = idset_next(&set, index, &index))
            gpu_add(g, index, gpu_memory(from, n->node, index, a), e);
        idset_done(&set);
    }
}

static void gpus_done(struct jobstats_gpus *g)
{
    str_done(&g->total);
    str_done(&g->used);
    str_done(&g->busy);
}

/* Is the use of each of the job's GPUs known? Else they are left out: a reader who is told of GPUs
 * wants all of it. */
static bool gpus_known(const struct jobstats *from, const struct alloc *al,
                       const struct efficiency *e, struct arena *a)
{
    struct jobstats_gpus g = {.known = true};
    for (size_t i = 0; i < al->n; i++)
        gpus_of_node(&g, from, &al->node[i], e, a);
    bool known = e->gpu_known && g.known && g.n == e->gpus;
    gpus_done(&g);
    return known;
}

static void node_add(const struct jobstats *from, const struct alloc_node *n, const struct job *j,
                     const struct efficiency *e, bool with_gpus, struct arena *a, struct str *out)
{
    struct jobstats_gpus g = {.known = true};
    int64_t had = n->mem_mib * MIB, used = part_of(e->mem_bytes, n->mem_mib, j->alloc_mem_mib);
    int64_t cpu_us = part_of(j->cpu_user_us + j->cpu_system_us, n->cpu_count, j->alloc_cpus);
    str_addf(out,
             "\"%s\": {\"total_memory\": %lld, \"used_memory\": %lld, \"total_time\": %.3f, "
             "\"cpus\": %d",
             n->node, (long long)had, (long long)used, (double)cpu_us / USEC_PER_SEC,
             (int)n->cpu_count);
    if (with_gpus)
        gpus_of_node(&g, from, n, e, a);
    if (g.n > 0)
        str_addf(out,
                 ", \"gpu_total_memory\": {%s}, \"gpu_used_memory\": {%s}, "
                 "\"gpu_utilization\": {%s}",
                 str_text(&g.total), str_text(&g.used), str_text(&g.busy));
    str_addc(out, '}');
    gpus_done(&g);
}

static void json_add(const struct jobstats *from, const struct job *j, const struct efficiency *e,
                     const struct alloc *al, struct arena *a, struct str *out)
{
    bool with_gpus = gpus_known(from, al, e, a);
    str_add(out, "{\"nodes\": {");
    for (size_t i = 0; i < al->n; i++) {
        str_add(out, i ? ", " : "");
        node_add(from, &al->node[i], j, e, with_gpus, a, out);
    }
    str_addf(out, "}, \"total_time\": %lld, \"gpus\": %d}", (long long)e->ran_s,
             with_gpus ? (int)e->gpus : 0);
}

void jobstats_add(const struct jobstats *from, const struct job *j, struct str *out)
{
    struct efficiency e;
    struct alloc al = {0};
    struct str json = STR_INIT, gzip = STR_INIT;
    if (!job_state_over((enum job_state)j->state) || j->state == JOB_RESIZING || !j->start_us)
        return;
    struct arena *a = arena_new();
    efficiency_of_steps(from->step, from->nsteps, j, j->end_us, &e);
    str_add(out, "JS1:");
    if (e.ran_s > 0 && e.mem_bytes > 0 && alloc_parse(j->alloc, a, &al, NULL) && al.n > 0) {
        json_add(from, j, &e, &al, a, &json);
        gzip_stored(json.data, json.len, &gzip);
        base64_add(gzip.data, gzip.len, out);
    } else {
        str_add(out, "Short");
    }
    str_done(&json);
    str_done(&gzip);
    arena_free(a);
}
