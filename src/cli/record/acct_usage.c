#include "base/alloc.h"
#include "base/arena.h"
#include "base/duration.h"
#include "base/idset.h"
#include "cli/record/acct_cells.h"
#include "cli/record/columns_job.h"
#include "model/job/alloc.h"
#include "model/job/job_counts.h"

#include <stdlib.h>
#include <string.h>

#define CELL(name) ACCT_CELL(, name)

// clang-format off
/* Of a step that was measured; empty on the job's line. */
#define STEP_BYTES(name, member)                                                                             \
    CELL(name)                                                                                               \
    {                                                                                                        \
        if (measured(row))                                                                                   \
            bytes_add(env, row->step->member, out);                                                          \
    }
#define STEP_NUMBER(name, member)                                                                            \
    CELL(name)                                                                                               \
    {                                                                                                        \
        (void)env;                                                                                           \
        if (measured(row))                                                                                   \
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
        if (measured(row))                                                                                   \
            duration_format(row->step->member / USEC_PER_SEC * USEC_PER_SEC, out);                          \
    }
// clang-format on

/* What runs has figures when it was looked at for the first time; what ended has them. */
static bool measured(const struct acct_row *row)
{
    return row->step && (row->step->end_us || row->step->max_rss_bytes);
}

static void bytes_add(const struct cell_env *env, int64_t bytes, struct str *out)
{
    if (env->noconvert && !env->unit)
        str_add_i64(out, bytes);
    else
        size_format_bytes(bytes, env->unit, out);
}

/* CPU time: [D-]HH:MM:SS from an hour on, and of whole seconds; else MM:SS.mmm. */
static void cpu_add(int64_t us, struct str *out)
{
    if (us >= USEC_PER_HOUR || us % USEC_PER_SEC < 1000)
        duration_format(us / USEC_PER_SEC * USEC_PER_SEC, out);
    else
        str_addf(out, "%02d:%02d.%03d", (int)(us / USEC_PER_MIN), (int)(us / USEC_PER_SEC % 60),
                 (int)(us / 1000 % 1000));
}

static int64_t mean_of(int64_t sum, const struct step *s)
{
    return sum / (s->ntasks > 0 ? s->ntasks : 1);
}

CELL(ave_read)
{
    if (measured(row))
        bytes_add(env, mean_of(row->step->read_bytes, row->step), out);
}

CELL(ave_write)
{
    if (measured(row))
        bytes_add(env, mean_of(row->step->write_bytes, row->step), out);
}

STEP_BYTES(ave_rss, ave_rss_bytes)
STEP_BYTES(ave_vm, ave_vm_bytes)
STEP_BYTES(max_read, read_max_bytes)
STEP_BYTES(max_write, write_max_bytes)
STEP_BYTES(max_rss, max_rss_bytes)
STEP_BYTES(max_vm, max_vm_bytes)
STEP_NUMBER(max_pages, max_pages)
STEP_NUMBER(ave_pages, ave_pages)
CELL(ntasks)
{
    (void)env;
    if (row->step)
        str_add_i64(out, row->step->ntasks);
}
STEP_TEXT(layout, s->step_id<0 ? "Unknown" : s->ntasks> s->node_count ? "Block" : "Cyclic")
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
    /* Waiting: asked for. */
    str_add_i64(out, cpus_of(row) || row->step ? cpus_of(row) : job_cpus(row->job));
}

static int text_compare(const void *pa, const void *pb)
{
    return strcmp(*(const char *const *)pa, *(const char *const *)pb);
}

/* In the order of their names, as accounting has them. */
static void tres_sorted(const struct str *tres, struct str *out)
{
    enum { MOST = 64 };
    struct arena *a = arena_new();
    const char *part[MOST];
    size_t n = 0;
    struct span rest = {str_text(tres), tres->len}, piece;
    while (n < MOST && span_next(&rest, ',', &piece))
        part[n++] = arena_strndup(a, piece.data, piece.len);
    qsort(part, n, sizeof *part, text_compare);
    for (size_t i = 0; i < n; i++)
        str_addf(out, "%s%s", i ? "," : "", part[i]);
    arena_free(a);
}

/* Of memory, which is kept in MiB. */
static char mem_unit(const struct cell_env *env)
{
    return env->noconvert && !env->unit ? 'M' : env->unit;
}

CELL(alloc_tres)
{
    struct str tres = STR_INIT;
    acct_tres_allocated(row, mem_unit(env), &tres);
    tres_sorted(&tres, out);
    str_done(&tres);
}

CELL(req_tres)
{
    struct str tres = STR_INIT;
    acct_tres_requested(row, mem_unit(env), &tres);
    tres_sorted(&tres, out);
    str_done(&tres);
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
        duration_format(
            planned_us(env, row->job) / USEC_PER_SEC * USEC_PER_SEC * job_cpus(row->job), out);
}

CELL(planned_cpu_raw)
{
    if (!row->step)
        str_add_i64(out, planned_us(env, row->job) / USEC_PER_SEC * job_cpus(row->job));
}

CELL(suspended)
{
    duration_format(acct_suspended_us(env, row), out);
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

/* ---- whose figures they are ---- */

/* A batch script has no layout, and one node. */
static const char *node_of_task(const struct step *s, int32_t task, struct arena *a)
{
    struct alloc al = {0};
    const char *node = s->max_rss_node ? s->max_rss_node : s->nodes ? s->nodes : "";
    if (text_empty(s->layout) || !alloc_parse(s->layout, a, &al, NULL))
        return node;
    for (size_t i = 0; i < al.n; i++) {
        struct idset ids = IDSET_INIT;
        bool here = al.node[i].task_ids &&
                    idset_parse(&ids, al.node[i].task_ids, UINT32_MAX, NULL) &&
                    idset_has(&ids, (uint32_t)task);
        idset_done(&ids);
        if (here)
            return al.node[i].node;
    }
    return node;
}

static void node_add(const struct step *s, const char *name, int32_t task, struct str *out)
{
    struct arena *a = arena_new();
    str_addf(out, "%s%s", name, node_of_task(s, task, a));
    arena_free(a);
}

// clang-format off
#define STEP_EXTREME(name, member)                                                                           \
    STEP_NUMBER(name##_task, member)                                                                         \
    CELL(name##_node)                                                                                        \
    {                                                                                                        \
        (void)env;                                                                                           \
        if (measured(row))                                                                                   \
            node_add(row->step, "", row->step->member, out);                                                 \
    }
// clang-format on
STEP_EXTREME(max_rss, max_rss_task)
STEP_EXTREME(max_vm, max_vm_task)
STEP_EXTREME(max_pages, max_pages_task)
STEP_EXTREME(max_read, read_max_task)
STEP_EXTREME(max_write, write_max_task)
STEP_EXTREME(min_cpu, min_cpu_task)

/* ---- by kind ---- */

/* "cpu=00:00:04,mem=12K,…" of a step. */
struct usage_in {
    int64_t mj, disk, mem, pages, vmem, gpu_mem;
    int32_t gpu_util;
};

static int64_t joules(int64_t mj)
{
    return mj / 1000 + (mj % 1000 >= 500);
}

/* Of each task nothing is known of its energy: the mean is the whole by their number. */
static void usage_in_add(const struct step *s, const struct usage_in *u, struct str *out)
{
    str_addf(out, "energy=%lld,fs/disk=%lld", (long long)joules(u->mj), (long long)u->disk);
    if (s->gpu_samples) {
        str_add(out, ",gres/gpumem=");
        size_format_bytes(u->gpu_mem, 0, out);
    }
    if (s->gpu_util_samples)
        str_addf(out, ",gres/gpuutil=%d", u->gpu_util);
    str_add(out, ",mem=");
    size_format_bytes(u->mem, 0, out);
    str_addf(out, ",pages=%lld,vmem=", (long long)u->pages);
    size_format_bytes(u->vmem, 0, out);
}

static void cpu_in_add(int64_t us, struct str *out)
{
    str_add(out, "cpu=");
    duration_format(us / USEC_PER_SEC * USEC_PER_SEC, out);
    str_addc(out, ',');
}

CELL(usage_in_ave)
{
    const struct step *s = row->step;
    (void)env;
    if (!measured(row))
        return;
    cpu_in_add(s->ave_cpu_us, out);
    usage_in_add(s,
                 &(struct usage_in){mean_of(s->energy_mj, s), mean_of(s->read_bytes, s),
                                    s->ave_rss_bytes, s->ave_pages, s->ave_vm_bytes,
                                    s->gpu_mem_ave_bytes, s->gpu_util_ave},
                 out);
}

/* The most CPU time of several tasks is not kept, nor the least of anything else. */
CELL(usage_in_max)
{
    const struct step *s = row->step;
    (void)env;
    if (!measured(row))
        return;
    if (s->ntasks <= 1)
        cpu_in_add(s->cpu_user_us + s->cpu_system_us, out);
    usage_in_add(s,
                 &(struct usage_in){mean_of(s->energy_mj, s), s->read_max_bytes, s->max_rss_bytes,
                                    s->max_pages, s->max_vm_bytes, s->gpu_mem_max_bytes,
                                    s->gpu_util_max},
                 out);
}

CELL(usage_in_tot)
{
    const struct step *s = row->step;
    (void)env;
    if (!measured(row))
        return;
    int64_t n = s->ntasks > 0 ? s->ntasks : 1;
    cpu_in_add(s->cpu_user_us + s->cpu_system_us, out);
    usage_in_add(s,
                 &(struct usage_in){s->energy_mj, s->read_bytes, s->ave_rss_bytes * n,
                                    s->ave_pages * n, s->ave_vm_bytes * n, s->gpu_mem_tot_bytes,
                                    s->gpu_util_tot},
                 out);
}

/* The least of several tasks is kept of CPU time, and of GPUs by node. */
CELL(usage_in_min)
{
    const struct step *s = row->step;
    (void)env;
    if (!measured(row))
        return;
    cpu_in_add(s->min_cpu_us, out);
    str_addf(out, "energy=%lld", (long long)joules(mean_of(s->energy_mj, s)));
    if (s->gpu_samples) {
        str_add(out, ",gres/gpumem=");
        size_format_bytes(s->gpu_mem_min_bytes, 0, out);
    }
    if (s->gpu_util_samples)
        str_addf(out, ",gres/gpuutil=%d", s->gpu_util_min);
}

/* Units of 1000: 2596142 is 2.60M, 3000 is 3K. */
static void thousands_add(const struct cell_env *env, int64_t n, struct str *out)
{
    static const char letters[] = " KMGTP";
    const char *wanted = env->unit ? strchr(letters, env->unit) : NULL;
    double value = (double)n;
    size_t unit = 0;
    if (env->noconvert && !env->unit) {
        str_add_i64(out, n);
        return;
    }
    while (n && letters[unit + 1] && (wanted ? &letters[unit] < wanted : value >= 1000)) {
        value /= 1000;
        unit++;
    }
    if (value == (double)(int64_t)value)
        str_add_i64(out, (int64_t)value);
    else
        str_addf(out, "%.2f", value);
    if (unit)
        str_addc(out, letters[unit]);
}

/* In kHz, but it does not say so: as Slurm has it. */
CELL(ave_cpu_freq)
{
    if (measured(row))
        thousands_add(env, row->step->cpu_khz, out);
}

static int64_t energy_of(const struct acct_row *row)
{
    return joules(row->step ? row->step->energy_mj : row->job->energy_mj);
}

CELL(energy)
{
    thousands_add(env, energy_of(row), out);
}

CELL(energy_raw)
{
    (void)env;
    str_add_i64(out, energy_of(row));
}

CELL(usage_in_max_task)
{
    const struct step *s = row->step;
    (void)env;
    if (measured(row))
        str_addf(out, "fs/disk=%d,mem=%d,pages=%d,vmem=%d", s->read_max_task, s->max_rss_task,
                 s->max_pages_task, s->max_vm_task);
}

CELL(usage_in_max_node)
{
    const struct step *s = row->step;
    (void)env;
    if (!measured(row))
        return;
    node_add(s, "fs/disk=", s->read_max_task, out);
    node_add(s, ",mem=", s->max_rss_task, out);
    node_add(s, ",pages=", s->max_pages_task, out);
    node_add(s, ",vmem=", s->max_vm_task, out);
}

CELL(usage_in_min_task)
{
    (void)env;
    if (measured(row))
        str_addf(out, "cpu=%d", row->step->min_cpu_task);
}

CELL(usage_in_min_node)
{
    (void)env;
    if (measured(row))
        node_add(row->step, "cpu=", row->step->min_cpu_task, out);
}

// clang-format off
#define STEP_OUT(name, expression)                                                                           \
    CELL(name)                                                                                               \
    {                                                                                                        \
        const struct step *s = row->step;                                                                    \
        (void)env;                                                                                           \
        if (measured(row))                                                                                   \
            str_addf(out, "fs/disk=%lld", (long long)(expression));                                          \
    }
// clang-format on
STEP_OUT(usage_out_ave, mean_of(s->write_bytes, s))
STEP_OUT(usage_out_max, s->write_max_bytes)
STEP_OUT(usage_out_tot, s->write_bytes)
STEP_OUT(usage_out_max_task, s->write_max_task)

CELL(usage_out_max_node)
{
    (void)env;
    if (measured(row))
        node_add(row->step, "fs/disk=", row->step->write_max_task, out);
}
