#include "script/dialect_variables.h"

#include "base/alloc.h"

#include <string.h>

// clang-format off
static const struct dialect_variable variables[] = {
    {{"SLURM_SUBMIT_DIR", "LS_SUBCWD", "PBS_O_WORKDIR"}, NULL, SAME_ALWAYS, false, NULL},
    {{"SLURM_SUBMIT_HOST", "LSB_SUB_HOST", "PBS_O_HOST"}, NULL, SAME_ALWAYS, false, NULL},
    {{"SLURM_JOB_PARTITION", "LSB_QUEUE", "PBS_QUEUE"}, NULL, SAME_ALWAYS, false, NULL},
    {{"SLURM_JOB_USER", "LSB_SUB_USER", "PBS_O_LOGNAME"}, NULL, SAME_ALWAYS, false, NULL},
    {{"SLURM_JOB_USER", "LSFUSER", "PBS_O_LOGNAME"}, NULL, SAME_ALWAYS, false, NULL},
    {{"SLURM_ARRAY_TASK_ID", "LSB_JOBINDEX", "PBS_ARRAY_INDEX"}, "PBS_ARRAYID", SAME_IN_ARRAYS, false, "LSB_JOBINDEX is 0 where there is no array"},
    {{"SLURM_ARRAY_TASK_MAX", "LSB_JOBINDEX_END", NULL}, NULL, SAME_IN_ARRAYS, false, NULL},
    {{"SLURM_ARRAY_TASK_STEP", "LSB_JOBINDEX_STEP", NULL}, NULL, SAME_IN_ARRAYS, false, NULL},
    {{"SLURM_ARRAY_JOB_ID", "LSB_JOBID", "PBS_ARRAY_ID"}, NULL, SAME_IN_ARRAYS, true, "PBS writes 12[].server for the number 12"},
    {{"SLURM_JOB_ID", "LSB_JOBID", "PBS_JOBID"}, NULL, SAME_BUT_ARRAYS, true, "PBS writes 12.server for the number 12; of an element LSF has the number of the array"},
    {{"SLURM_JOBID", "LSB_BATCH_JID", "PBS_JOBID"}, NULL, SAME_BUT_ARRAYS, true, "PBS writes 12.server for the number 12"},
    {{"SLURM_JOB_NAME", "LSB_JOBNAME", "PBS_JOBNAME"}, NULL, SAME_BUT_ARRAYS, false, "of an element LSF adds its index: name[3]"},
    {{"SLURM_NTASKS", "LSB_DJOB_NUMPROC", "PBS_NP"}, "PBS_NP", SAME_ONE_CPU, false, "LSF and PBS count slots or CPUs, Slurm tasks"},
    {{"SLURM_NTASKS", "LSB_MAX_NUM_PROCESSORS", "PBS_NP"}, "PBS_NP", SAME_ONE_CPU, false, "LSF and PBS count slots or CPUs, Slurm tasks"},
    {{"SLURM_NPROCS", "LSB_DJOB_NUMPROC", "PBS_NP"}, "PBS_NP", SAME_ONE_CPU, false, "LSF and PBS count slots or CPUs, Slurm tasks"},
    {{"SLURM_CPUS_PER_TASK", NULL, "NCPUS"}, NULL, SAME_NEVER, false, "that has the CPUs of a chunk"},
    {{"SLURM_JOB_NUM_NODES", NULL, NULL}, "PBS_NUM_NODES", SAME_ALWAYS, false, NULL},
    {{"SLURM_NNODES", NULL, NULL}, "PBS_NUM_NODES", SAME_ALWAYS, false, NULL},
    {{"SLURM_NTASKS_PER_NODE", NULL, NULL}, "PBS_NUM_PPN", SAME_ALWAYS, false, NULL},
    {{"SLURM_JOB_ACCOUNT", "LSB_PROJECT_NAME", "PBS_ACCOUNT"}, NULL, SAME_NEVER, false, "LSF has the project, which need not be the account"},
    {{"SLURM_JOB_NODELIST", "LSB_HOSTS", "PBS_NODEFILE"}, NULL, SAME_NEVER, false, "Slurm has n[1-2], LSF names with blanks between, PBS the path of a file with one name a line"},
    {{"SLURM_NODELIST", "LSB_HOSTS", "PBS_NODEFILE"}, NULL, SAME_NEVER, false, "Slurm has n[1-2], LSF names with blanks between, PBS the path of a file with one name a line"},
    {{NULL, "LSB_DJOB_HOSTFILE", "PBS_NODEFILE"}, NULL, SAME_ONE_CPU, false, "a file with a name for each slot, or for each process"},
    {{"SLURM_JOB_NODELIST", "LSB_MCPU_HOSTS", NULL}, NULL, SAME_NEVER, false, "Slurm has n[1-2], LSF names and numbers of slots in turn"},
    {{"SLURM_RESTART_COUNT", "LSB_RESTART", NULL}, NULL, SAME_NEVER, false, "LSF has Y, Slurm how often"},
};
// clang-format on

const struct dialect_variable *dialect_variable_at(size_t i)
{
    return i < ARRAY_LEN(variables) ? &variables[i] : NULL;
}

const struct dialect_variable *dialect_variable_named(struct span name, enum dialect of, bool array)
{
    ASSERT((size_t)of < ARRAY_LEN(variables[0].name));
    const struct dialect_variable *found = NULL;
    for (size_t i = 0; i < ARRAY_LEN(variables); i++) {
        const struct dialect_variable *v = &variables[i];
        bool is = (v->name[of] && span_is(name, v->name[of])) ||
                  (of == DIALECT_PBS && v->torque && span_is(name, v->torque));
        bool fits = v->same != (array ? SAME_BUT_ARRAYS : SAME_IN_ARRAYS);
        if (is && fits)
            return v;
        if (is && !found)
            found = v;
    }
    return found;
}

const char *dialect_variable_in(const struct dialect_variable *v, enum dialect d, bool torque)
{
    ASSERT((size_t)d < ARRAY_LEN(v->name));
    return d == DIALECT_PBS && torque && v->torque ? v->torque : v->name[d];
}

bool dialect_of_variable(struct span name, enum dialect *ret)
{
    static const struct {
        const char *prefix;
        enum dialect dialect;
    } kinds[] = {{"SLURM_", DIALECT_SLURM},
                 {"LSB_", DIALECT_LSF},
                 {"LS_", DIALECT_LSF},
                 {"LSF", DIALECT_LSF},
                 {"PBS_", DIALECT_PBS}};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        size_t len = strlen(kinds[i].prefix);
        if (name.len > len && memcmp(name.data, kinds[i].prefix, len) == 0) {
            *ret = kinds[i].dialect;
            return true;
        }
    }
    return false;
}

static bool is_name(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

bool dialect_variable_next(struct span text, size_t *at, struct span *ret)
{
    for (size_t i = *at; i + 1 < text.len; i++) {
        if (text.data[i] == '\\') {
            i++;
            continue;
        }
        if (text.data[i] != '$')
            continue;
        size_t from = i + 1 + (text.data[i + 1] == '{'), to = from;
        while (to < text.len && is_name(text.data[to]))
            to++;
        if (to == from)
            continue;
        *ret = (struct span){text.data + from, to - from};
        *at = to;
        return true;
    }
    return false;
}
