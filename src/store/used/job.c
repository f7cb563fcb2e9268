/* Times are cut to whole seconds first, as Slurm counts them. Of a run that was suspended only the
 * sum of its stops is kept: it is spread evenly over the run. What a run had until t is a function
 * of t alone, and a share the difference of two of its values, so that shares add up exactly. */
#include "store/used/job.h"

#include "base/alloc.h"

#include "base/str.h"
#include "model/job/job_counts.h"

#include <stdio.h>
#include <string.h>

/* Nonsense in a damaged row must not become a million hours. */
#define SPAN_MAX_S (INT64_C(5) * 366 * 86400)
#define AMOUNT_MAX (INT64_C(1) << 34)
#define GRES_MAX   64u
#define GRES_BYTES 64u

static int64_t end_of(const struct job *j, int64_t now_us)
{
    if (j->state == JOB_SUSPENDED && j->suspend_us)
        return j->suspend_us;
    return j->state == JOB_RUNNING || j->state == JOB_SUSPENDED ? now_us : j->end_us;
}

bool used_job_init(struct used_job *u, const struct job *j, bool part, int64_t now_us)
{
    int64_t end = end_of(j, now_us), from = j->resize_us ? j->resize_us : j->start_us;
    if (j->state == JOB_PENDING || j->start_us <= 0 || end < j->start_us)
        return false;
    *u = (struct used_job){.j = j,
                           .start_s = j->start_us / USEC_PER_SEC,
                           .from_s = from / USEC_PER_SEC,
                           .to_s = end / USEC_PER_SEC,
                           .counts = !part};
    if (u->to_s - u->start_s > SPAN_MAX_S)
        u->start_s = u->to_s - SPAN_MAX_S;
    if (u->from_s < u->start_s || u->from_s > u->to_s)
        u->from_s = u->from_s < u->start_s ? u->start_s : u->to_s;
    int64_t suspended_us = job_part_suspended_us(j, end);
    u->suspended_s = suspended_us > 0 ? suspended_us / USEC_PER_SEC : 0;
    if (u->suspended_s > u->to_s - u->from_s)
        u->suspended_s = u->to_s - u->from_s;
    u->planned_s = u->start_s;
    if (!part && j->eligible_us > 0 && j->eligible_us / USEC_PER_SEC < u->start_s)
        u->planned_s = j->eligible_us / USEC_PER_SEC;
    if (u->start_s - u->planned_s > SPAN_MAX_S)
        u->planned_s = u->start_s - SPAN_MAX_S;
    return true;
}

/* How long it had run by then. */
static int64_t ran_until(const struct used_job *u, int64_t at_s)
{
    int64_t all = u->to_s - u->from_s, t = at_s < u->from_s ? 0
                                           : at_s > u->to_s ? all
                                                            : at_s - u->from_s;
    return all ? t - u->suspended_s * t / all : 0;
}

static int64_t overlap(int64_t a, int64_t b, int64_t from, int64_t to)
{
    int64_t low = a > from ? a : from, high = b < to ? b : to;
    return high > low ? high - low : 0;
}

static int64_t bounded(int64_t amount)
{
    return amount < 0 ? 0 : amount > AMOUNT_MAX ? AMOUNT_MAX : amount;
}

bool used_job_share(const struct used_job *u, int64_t from_s, int64_t to_s, struct used_share *ret)
{
    ASSERT(from_s <= to_s);
    const struct job *j = u->j;
    int64_t cpus = bounded(j->alloc_cpus), ran = ran_until(u, to_s) - ran_until(u, from_s);
    bool began = u->start_s >= from_s && u->start_s < to_s,
         was_there = u->start_s < from_s && u->to_s > from_s;
    *ret = (struct used_share){.ran_s = ran, .began = u->counts && began};
    ret->sum.jobs = u->counts && (began || was_there);
    ret->sum.cpu_s = ran * cpus;
    ret->sum.mem_mib_s = ran * bounded(j->alloc_mem_mib);
    ret->sum.node_s = ran * bounded(j->alloc_nodes);
    ret->sum.billing_s = ran * bounded(job_billing(j));
    ret->sum.planned_cpu_s = overlap(u->planned_s, u->start_s, from_s, to_s) * cpus;
    return ret->sum.jobs || ran || ret->sum.planned_cpu_s;
}

/* ---- generic resources ---- */

struct gres_count {
    char name[GRES_BYTES];
    int64_t count;
};

static void gres_add(struct gres_count *g, size_t *n, struct span name, int64_t count)
{
    size_t i = 0;
    while (i < *n && !span_is(name, g[i].name))
        i++;
    if (i == GRES_MAX || name.len == 0 || name.len >= GRES_BYTES)
        return;
    if (i == *n) {
        snprintf(g[i].name, sizeof g[i].name, "%.*s", (int)name.len, name.data);
        g[(*n)++].count = 0;
    }
    g[i].count = bounded(g[i].count + count);
}

/* "gpu:v100=4,nic=2": gpu 4, gpu:v100 4, nic 2. */
void used_job_gres(const struct job *j, used_gres_fn fn, void *ctx)
{
    ASSERT(fn);
    struct gres_count g[GRES_MAX];
    struct span rest = span_of(j->alloc_gres ? j->alloc_gres : ""), piece;
    size_t n = 0;
    while (span_next(&rest, ',', &piece)) {
        const char *equals = memchr(piece.data, '=', piece.len);
        char number[24] = "";
        int64_t count = 0;
        if (!equals)
            continue;
        struct span name = {piece.data, (size_t)(equals - piece.data)};
        const char *colon = memchr(name.data, ':', name.len);
        snprintf(number, sizeof number, "%.*s", (int)(piece.len - name.len - 1), equals + 1);
        if (!text_to_i64(number, 0, AMOUNT_MAX, &count))
            continue;
        if (colon)
            gres_add(g, &n, (struct span){name.data, (size_t)(colon - name.data)}, count);
        gres_add(g, &n, name, count);
    }
    for (size_t i = 0; i < n; i++)
        fn(ctx, g[i].name, g[i].count);
}
