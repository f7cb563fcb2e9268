#include "cli/columns_step.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "model/job.h"

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
    str_add_u64(out, s->job_id);
    str_addc(out, '.');
    step_label(s->step_id, out);
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
    duration_format_short((s->end_us ? s->end_us : env->now_us) - s->start_us - s->suspended_us, out);
}

CELL(tasks)
{
    (void)env;
    str_add_i64(out, s->ntasks);
}

CELL(gres)
{
    (void)env;
    cell_text(s->gres, "N/A", out);
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
    {"StepID", 'i', "STEPID", 0, "job_id,step_id", cell_label},
    {"StepName", 'j', "NAME", 0, "step_name", cell_name},
    {"Partition", 'P', "PARTITION", 0, "partition", cell_partition},
    {"UserName", 'u', "USER", 0, "user_name", cell_user},
    {"TimeUsed", 'M', "TIME", 0, "start_us,end_us,suspended_us", cell_elapsed},
    {"Nodes", 'N', "NODELIST", 0, "nodes", cell_nodes},
    {"StartTime", 'S', "START_TIME", 0, "start_us", cell_start},
    {"NumTasks", 'A', "NTASKS", 0, "ntasks", cell_tasks},
    {"gres", 'b', "TRES_PER_NODE", 0, "gres", cell_gres},
};
const struct column_table step_columns = {columns, ARRAY_LEN(columns), "step"};
