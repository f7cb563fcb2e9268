#include "cli/reports/efficiency.h"

#include "base/str.h"

#include <stdlib.h>
#include <string.h>

#define MIB (INT64_C(1) << 20)

struct keeping {
    struct arena *a;
    struct past *past;
};

static void job_keep(void *ctx, const void *record)
{
    const struct keeping *k = ctx;
    const struct job *j = record;
    if (j->state != JOB_RESIZING) /* what a run had before it gave nodes back */
        vec_push(&k->past->job, arena_dup(k->a, j, sizeof *j));
}

static void step_keep(void *ctx, const void *record)
{
    const struct keeping *k = ctx;
    vec_push(&k->past->step, arena_dup(k->a, record, sizeof(struct step)));
}

static int step_order(const void *a, const void *b)
{
    const struct step *const *p = a, *const *q = b;
    return ((*p)->job_id > (*q)->job_id) - ((*p)->job_id < (*q)->job_id);
}

static bool query(struct client *c, const struct msg_query *q, const struct fields *t,
                  void (*row)(void *ctx, const void *record), struct keeping *k,
                  struct err *ret_err)
{
    struct msg_done done = {0};
    return client_query(c, q, t, k->a, row, k, &done, ret_err) &&
           (done.refusal == REFUSE_NONE ||
            err_set(ret_err, ERR_INVALID, "%s",
                    done.detail ? done.detail : refusal_text((enum refusal)done.refusal)));
}

bool past_read(struct client *c, const struct msg_query *q, struct arena *a, struct past *ret,
               struct err *ret_err)
{
    struct msg_query jobs = *q, steps = *q;
    struct keeping k = {a, ret};
    *ret = (struct past){0};
    jobs.what = QUERY_HISTORY;
    steps.what = QUERY_STEPS;
    steps.history = true;
    if (!query(c, &jobs, &job_fields, job_keep, &k, ret_err) ||
        !query(c, &steps, &step_fields, step_keep, &k, ret_err))
        return false;
    if (ret->step.n)
        qsort(ret->step.v, ret->step.n, sizeof ret->step.v[0], step_order);
    return true;
}

void past_done(struct past *p)
{
    vec_done(&p->job);
    vec_done(&p->step);
}

double efficiency_percent(int64_t used, int64_t had)
{
    return had > 0 ? 100.0 * (double)used / (double)had : 0.0;
}

/* ---- of a job ------------------------------------------------------------------------------- */

static int64_t ran_us(const struct job *j, int64_t now_us)
{
    int64_t end = j->state == JOB_RUNNING                      ? now_us
                  : j->state == JOB_SUSPENDED && j->suspend_us ? j->suspend_us
                                                               : j->end_us;
    int64_t ran = j->start_us ? end - j->start_us - j->suspended_us : 0;
    return ran > 0 ? ran : 0;
}

/* "gpu:v100=4,nic=2" */
static int32_t gpus_of(const char *gres)
{
    struct span rest = span_of(gres ? gres : ""), piece;
    int64_t sum = 0;
    while (span_next(&rest, ',', &piece)) {
        const char *equals = memchr(piece.data, '=', piece.len);
        char number[16] = "";
        int64_t count;
        size_t len = equals ? piece.len - (size_t)(equals + 1 - piece.data) : 0;
        bool gpu = piece.len > 3 && memcmp(piece.data, "gpu", 3) == 0 &&
                   (piece.data[3] == ':' || piece.data[3] == '=');
        if (!gpu || !equals || len >= sizeof number)
            continue;
        memcpy(number, equals + 1, len);
        if (text_to_i64(number, 0, INT32_MAX, &count))
            sum += count;
    }
    return sum > INT32_MAX ? INT32_MAX : (int32_t)sum;
}

static void step_add(struct efficiency *e, const struct step *st, int64_t now_us)
{
    int64_t tasks = st->step_id >= 0 && st->ntasks > 1 ? st->ntasks : 1,
            mem = st->max_rss_bytes > INT64_MAX / tasks ? INT64_MAX : st->max_rss_bytes * tasks,
            end = st->end_us ? st->end_us : now_us;
    if (mem > e->mem_bytes) {
        e->mem_bytes = mem;
        e->mem_estimated = tasks > 1;
    }
    if (st->gpu_samples && st->gpu_util_samples && end > st->start_us) {
        e->gpu_known = true;
        e->gpu_percent_s += st->gpu_util_tot * ((end - st->start_us) / USEC_PER_SEC);
    }
    if (st->gpu_samples && st->gpu_mem_tot_bytes > e->gpu_mem_bytes)
        e->gpu_mem_bytes = st->gpu_mem_tot_bytes;
}

void efficiency_of(const struct past *p, const struct job *j, int64_t now_us,
                   struct efficiency *ret)
{
    size_t low = 0, high = p->step.n;
    *ret = (struct efficiency){.ran_s = ran_us(j, now_us) / USEC_PER_SEC,
                               .cpu_s = (j->cpu_user_us + j->cpu_system_us) / USEC_PER_SEC,
                               .gpus = gpus_of(j->alloc_gres)};
    ret->cpu_had_s = ret->ran_s * j->alloc_cpus;
    ret->gpu_had_s = ret->ran_s * ret->gpus;
    ret->mem_had = j->alloc_mem_mib < INT64_MAX / MIB ? j->alloc_mem_mib * MIB : 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (p->step.v[middle]->job_id < j->id)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < p->step.n && p->step.v[low]->job_id == j->id; low++)
        if (p->step.v[low]->attempt == j->attempt)
            step_add(ret, p->step.v[low], now_us);
}
