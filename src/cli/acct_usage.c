#include "base/duration.h"
#include "cli/acct_cells.h"
#include "cli/columns_job.h"

#define CELL(name) ACCT_CELL(, name)

// clang-format off
/* Of a step; empty on the job's line. */
#define STEP_BYTES(name, member)                                                                             \
    CELL(name)                                                                                               \
    {                                                                                                        \
        if (row->step)                                                                                       \
            bytes_add(env, row->step->member, out);                                                          \
    }
#define STEP_NUMBER(name, member)                                                                            \
    CELL(name)                                                                                               \
    {                                                                                                        \
        (void)env;                                                                                           \
        if (row->step)                                                                                       \
            str_add_i64(out, row->step->member);                                                             \
    }
#define STEP_TEXT(name, expression)                                                                          \
    CELL(name)                                                                                               \
    {                                                                                                        \
        const struct step *s = row->step;                                                                    \
        (void)env;                                                                                           \
        if (s)                                                                                               \
            str_add(out, expression);                                                                        \
    }
#define STEP_CPU(name, member)                                                                               \
    CELL(name)                                                                                               \
    {                                                                                                        \
        (void)env;                                                                                           \
        if (row->step)                                                                                       \
            duration_format(row->step->member / USEC_PER_SEC * USEC_PER_SEC, out);                          \
    }
// clang-format on

static void bytes_add(const struct cell_env *env, int64_t bytes, struct str *out)
{
    if (env->noconvert && !env->unit)
        str_add_i64(out, bytes);
    else
        size_format_bytes(bytes, env->unit, out);
}

/* CPU time: [D-]HH:MM:SS from an hour on, below it MM:SS.mmm. */
static void cpu_add(int64_t us, struct str *out)
{
    if (us >= USEC_PER_HOUR)
        duration_format(us, out);
    else
        str_addf(out, "%02d:%02d.%03d", (int)(us / USEC_PER_MIN), (int)(us / USEC_PER_SEC % 60),
                 (int)(us / 1000 % 1000));
}

STEP_BYTES(ave_read, read_bytes)
STEP_BYTES(ave_write, write_bytes)
STEP_BYTES(ave_rss, ave_rss_bytes)
STEP_BYTES(ave_vm, ave_vm_bytes)
STEP_BYTES(max_read, read_max_bytes)
STEP_BYTES(max_write, write_max_bytes)
STEP_BYTES(max_rss, max_rss_bytes)
STEP_BYTES(max_vm, max_vm_bytes)
STEP_NUMBER(max_pages, max_pages)
STEP_NUMBER(max_task, max_rss_task)
STEP_NUMBER(ntasks, ntasks)
STEP_TEXT(max_node, s->max_rss_node ? s->max_rss_node : (s->nodes ? s->nodes : ""))
STEP_TEXT(layout, s->step_id >= 0 ? "Block" : "Unknown")
STEP_CPU(ave_cpu, ave_cpu_us)
STEP_CPU(min_cpu, min_cpu_us)

static int32_t cpus_of(const struct acct_row *row)
{
    if (row->step)
        return row->step->cpus;
    return row->job->alloc_cpus;
}

static int64_t planned_us(const struct cell_env *env, const struct job *j)
{
    int64_t until = j->start_us ? j->start_us : job_state_over(j->state) ? j->end_us : env->now_us;
    int64_t from = j->eligible_us ? j->eligible_us : j->submit_us;
    return until > from ? until - from : 0;
}

CELL(alloc_cpus)
{
    (void)env;
    str_add_i64(out, cpus_of(row));
}

CELL(elapsed)
{
    duration_format(acct_elapsed_us(env, row), out);
}

CELL(elapsed_raw)
{
    str_add_i64(out, acct_elapsed_us(env, row) / USEC_PER_SEC);
}

CELL(cpu_time)
{
    duration_format(acct_elapsed_us(env, row) / USEC_PER_SEC * USEC_PER_SEC * cpus_of(row), out);
}

CELL(cpu_time_raw)
{
    str_add_i64(out, acct_elapsed_us(env, row) / USEC_PER_SEC * cpus_of(row));
}

CELL(planned)
{
    if (!row->step)
        duration_format(planned_us(env, row->job), out);
}

CELL(planned_cpu)
{
    if (!row->step)
        duration_format(planned_us(env, row->job) / USEC_PER_SEC * USEC_PER_SEC * job_cpus(row->job), out);
}

CELL(planned_cpu_raw)
{
    if (!row->step)
        str_add_i64(out, planned_us(env, row->job) / USEC_PER_SEC * job_cpus(row->job));
}

CELL(suspended)
{
    (void)env;
    duration_format(row->step ? row->step->suspended_us : row->job->suspended_us, out);
}

CELL(system_cpu)
{
    (void)env;
    cpu_add(row->step ? row->step->cpu_system_us : row->job->cpu_system_us, out);
}

CELL(user_cpu)
{
    (void)env;
    cpu_add(row->step ? row->step->cpu_user_us : row->job->cpu_user_us, out);
}

CELL(total_cpu)
{
    (void)env;
    cpu_add(row->step ? row->step->cpu_user_us + row->step->cpu_system_us
                      : row->job->cpu_user_us + row->job->cpu_system_us,
            out);
}

/* "cpu=00:00:04,mem=12K,…" of a step. */
static void usage_in_add(const struct step *s, int64_t gpu_mem, int32_t gpu_util, struct str *out)
{
    str_add(out, "cpu=");
    duration_format(s->cpu_user_us + s->cpu_system_us, out);
    str_addf(out, ",fs/disk=%lld", (long long)s->read_max_bytes);
    if (s->gpu_samples) {
        str_add(out, ",gres/gpumem=");
        size_format_bytes(gpu_mem, 0, out);
    }
    if (s->gpu_util_samples)
        str_addf(out, ",gres/gpuutil=%d", gpu_util);
    str_add(out, ",mem=");
    size_format_bytes(s->max_rss_bytes, 0, out);
    str_addf(out, ",pages=%lld,vmem=", (long long)s->max_pages);
    size_format_bytes(s->max_vm_bytes, 0, out);
}

CELL(usage_in_ave)
{
    (void)env;
    if (row->step)
        usage_in_add(row->step, row->step->gpu_mem_ave_bytes, row->step->gpu_util_ave, out);
}

CELL(usage_in_max)
{
    (void)env;
    if (row->step)
        usage_in_add(row->step, row->step->gpu_mem_max_bytes, row->step->gpu_util_max, out);
}

CELL(usage_in_tot)
{
    (void)env;
    if (row->step)
        usage_in_add(row->step, row->step->gpu_mem_tot_bytes, row->step->gpu_util_tot, out);
}

/* The least that a GPU did is not kept. */
CELL(usage_in_min)
{
    (void)env;
    if (row->step) {
        struct step s = *row->step;
        s.gpu_samples = s.gpu_util_samples = 0;
        usage_in_add(&s, 0, 0, out);
    }
}

CELL(usage_out)
{
    (void)env;
    if (row->step)
        str_addf(out, "fs/disk=%lld", (long long)row->step->write_max_bytes);
}
