#include "cli/record/efficiency.h"

#include "base/duration.h"
#include "model/job/job_counts.h"

#define MIB (INT64_C(1) << 20)

double efficiency_percent(int64_t used, int64_t had)
{
    return had > 0 ? 100.0 * (double)used / (double)had : 0.0;
}

/* ---- of a job ------------------------------------------------------------------------------- */

/* Whole seconds, so that it is the difference of Start and End as sacct shows them. */
static int64_t ran_s(const struct job *j, int64_t now_us)
{
    int64_t end = j->state == JOB_RUNNING                      ? now_us
                  : j->state == JOB_SUSPENDED && j->suspend_us ? j->suspend_us
                                                               : j->end_us;
    int64_t ran = end / USEC_PER_SEC - j->start_us / USEC_PER_SEC - j->suspended_us / USEC_PER_SEC;
    return j->start_us && ran > 0 ? ran : 0;
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

void efficiency_of_steps(const struct step *const *step, size_t nsteps, const struct job *j,
                         int64_t now_us, struct efficiency *ret)
{
    size_t low = 0, high = nsteps;
    *ret = (struct efficiency){.ran_s = ran_s(j, now_us),
                               .cpu_s = (j->cpu_user_us + j->cpu_system_us) / USEC_PER_SEC,
                               .gpus = job_gpus_held(j->alloc_gres)};
    ret->cpu_had_s = ret->ran_s * j->alloc_cpus;
    ret->gpu_had_s = ret->ran_s * ret->gpus;
    ret->mem_had = j->alloc_mem_mib < INT64_MAX / MIB ? j->alloc_mem_mib * MIB : 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (step[middle]->job_id < j->id)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < nsteps && step[low]->job_id == j->id; low++)
        if (step[low]->attempt == j->attempt)
            step_add(ret, step[low], now_us);
}
