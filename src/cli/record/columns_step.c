#include "cli/record/columns_step.h"
#include "cli/record/columns_job.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "model/job/job.h"

// clang-format off
#define CELL(name)                                                                                           \
    static void name##_print(const struct cell_env *env, const struct step *s, struct str *out);             \
    static void cell_##name(const struct cell_env *env, const void *record, struct str *out)                 \
    {                                                                                                        \
        name##_print(env, record, out);                                                                      \
    }                                                                                                        \
    static void name##_print(const struct cell_env *env, const struct step *s, struct str *out)
// clang-format on

CELL(label)
{
    (void)env;
    step_cell_label(s, out);
}

CELL(name)
{
    (void)env;
    cell_text(s->step_name, "", out);
}

CELL(nodes)
{
    (void)env;
    cell_text(s->nodes, "", out);
}

CELL(start)
{
    cell_time(env, s->start_us, "N/A", out);
}

CELL(elapsed)
{
    int64_t until = s->end_us ? s->end_us : env->now_us;
    duration_format_short(whole_seconds_ran(s->start_us, until, s->suspended_us), out);
}

CELL(tasks)
{
    (void)env;
    str_add_i64(out, s->ntasks);
}

CELL(gres)
{
    (void)env;
    cell_text(s->gres, "(null)", out);
}

/* Slurm's words for what no step has. */
#define CONSTANT_CELL(name, text)                                                                  \
    CELL(name)                                                                                     \
    {                                                                                              \
        (void)env;                                                                                 \
        (void)s;                                                                                   \
        str_add(out, text);                                                                        \
    }
CONSTANT_CELL(none, "(null)")

CELL(cluster)
{
    (void)s;
    cell_text(env->cluster, "N/A", out);
}

CELL(cpu_freq)
{
    (void)env;
    str_add(out, s->step_id == STEP_BATCH ? "0-0:0" : "Unknown-Unknown:Unknown");
}

CELL(job_id)
{
    (void)env;
    str_add_u64(out, s->job_id);
}

CELL(array_job_id)
{
    (void)env;
    str_add_u64(out, s->array_job_id);
}

CELL(array_task_id)
{
    (void)env;
    if (s->array_job_id)
        str_add_u64(out, s->array_task_id);
    else
        str_add(out, "N/A");
}

CELL(limit)
{
    (void)env;
    if (s->limit_us && s->limit_us != TIME_UNLIMITED)
        duration_format_short(s->limit_us, out);
    else
        str_add(out, "UNLIMITED");
}

CELL(state)
{
    (void)env;
    str_add(out, enum_name(&job_state_names, s->state));
}

CELL(user_id)
{
    (void)env;
    str_add_u64(out, s->user_id);
}

CELL(user)
{
    (void)env;
    cell_text(s->user_name, "nobody", out);
}

CELL(partition)
{
    (void)env;
    cell_text(s->partition, "", out);
}

static const struct column columns[] = {
    {"StepID", 'i', "STEPID", 0, "job_id,step_id,array_job_id,array_task_id", cell_label},
    {"StepName", 'j', "NAME", 0, "step_name", cell_name},
    {"StepState", 0, "STATE", 0, "state", cell_state},
    {"Partition", 'P', "PARTITION", 0, "partition", cell_partition},
    {"UserName", 'u', "USER", 0, "user_name", cell_user},
    {"UserID", 'U', "UID", 0, "user_id", cell_user_id},
    {"TimeUsed", 'M', "TIME", 0, "start_us,end_us,suspended_us", cell_elapsed},
    {"TimeLimit", 'l', "TIME_LIMIT", 0, "limit_us", cell_limit},
    {"Nodes", 'N', "NODELIST", 0, "nodes", cell_nodes},
    {"StartTime", 'S', "START_TIME", 0, "start_us", cell_start},
    {"NumTasks", 'A', "TASKS", 0, "ntasks", cell_tasks},
    {"JobID", 0, "JOB_ID", 0, "job_id", cell_job_id},
    {"ArrayJobID", 0, "ARRAY_JOB_ID", 0, "array_job_id", cell_array_job_id},
    {"ArrayTaskID", 0, "ARRAY_TASK_ID", 0, "array_job_id,array_task_id", cell_array_task_id},
    {"Cluster", 0, "CLUSTER", 0, "job_id", cell_cluster},
    {"Container", 0, "CONTAINER", 0, "job_id", cell_none},
    {"CPUFreq", 0, "CPU_FREQ", 0, "step_id", cell_cpu_freq},
    {"gres", 'b', "TRES_PER_NODE", 0, "gres", cell_gres},
    {"tres-bind", 0, "TRES_BIND", 0, "job_id", cell_none},
    {"tres-freq", 0, "TRES_FREQ", 0, "job_id", cell_none},
    {"tres-per-job", 0, "TRES_PER_JOB", 0, "job_id", cell_none},
    {"tres-per-node", 0, "TRES_PER_NODE", 0, "gres", cell_gres},
    {"tres-per-socket", 0, "TRES_PER_SOCKET", 0, "job_id", cell_none},
    {"tres-per-step", 0, "TRES_PER_STEP", 0, "job_id", cell_none},
    {"tres-per-task", 0, "TRES_PER_TASK", 0, "job_id", cell_none},
};
const struct column_table step_columns = {columns, ARRAY_LEN(columns), "job step", "lM"};
