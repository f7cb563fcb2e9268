#include "script/dialect_commands.h"

#include "base/alloc.h"

#include <string.h>

// clang-format off
static const struct dialect_command commands[] = {
    {"srun", DIALECT_SLURM, {NULL, "mpirun, or blaunch", "mpirun, or pbsdsh"}},
    {"sbatch", DIALECT_SLURM, {NULL, "bsub < FILE", "qsub FILE"}},
    {"scancel", DIALECT_SLURM, {NULL, "bkill", "qdel"}},
    {"squeue", DIALECT_SLURM, {NULL, "bjobs", "qstat"}},
    {"sacct", DIALECT_SLURM, {NULL, "bhist, bacct", "qstat -x -f"}},
    {"sinfo", DIALECT_SLURM, {NULL, "bhosts", "pbsnodes -a"}},
    {"scontrol", DIALECT_SLURM, {NULL, "of its hosts sort -u $LSB_DJOB_HOSTFILE, of jobs bjobs -l, brequeue, bmod", "of its hosts sort -u $PBS_NODEFILE, of jobs qstat -f, qrerun, qalter"}},
    {"bsub", DIALECT_LSF, {"sbatch FILE", NULL, "qsub FILE"}},
    {"bkill", DIALECT_LSF, {"scancel", NULL, "qdel"}},
    {"bjobs", DIALECT_LSF, {"squeue", NULL, "qstat"}},
    {"blaunch", DIALECT_LSF, {"srun", NULL, "pbsdsh"}},
    {"jsrun", DIALECT_LSF, {"srun", NULL, "mpirun"}},
    {"brequeue", DIALECT_LSF, {"scontrol requeue", NULL, "qrerun"}},
    {"bmod", DIALECT_LSF, {"scontrol update JobId=", NULL, "qalter"}},
    {"qsub", DIALECT_PBS, {"sbatch FILE", "bsub < FILE", NULL}},
    {"qdel", DIALECT_PBS, {"scancel", "bkill", NULL}},
    {"qstat", DIALECT_PBS, {"squeue", "bjobs", NULL}},
    {"pbsdsh", DIALECT_PBS, {"srun", "blaunch", NULL}},
    {"qrerun", DIALECT_PBS, {"scontrol requeue", "brequeue", NULL}},
    {"qalter", DIALECT_PBS, {"scontrol update JobId=", "bmod", NULL}},
};
// clang-format on

const struct dialect_command *dialect_command_at(size_t i)
{
    return i < ARRAY_LEN(commands) ? &commands[i] : NULL;
}

static const struct dialect_command *named(struct span word, enum dialect of)
{
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        if (commands[i].of == of && span_is(word, commands[i].name))
            return &commands[i];
    return NULL;
}

/* Behind it a command begins still: VAR=value, then, exec … */
static bool leads_on(struct span word)
{
    static const char *const words[] = {"if",   "then", "else",  "elif", "do",    "while", "time",
                                        "exec", "eval", "nohup", "env",  "until", "!",     "{"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (span_is(word, words[i]))
            return true;
    return memchr(word.data, '=', word.len) != NULL;
}

const struct dialect_command *dialect_command_next(struct span line, size_t *at, enum dialect of)
{
    static const char ends[] = " \t\r;|&()`\"'";
    const struct dialect_command *found = NULL;
    bool begins = true; /* a command, at line.data[*at] */
    for (size_t i = 0, from; i < line.len && !found; *at = i > *at ? i : *at) {
        for (; i < line.len && strchr(ends, line.data[i]); i++)
            begins |= strchr(";|&(`", line.data[i]) != NULL;
        for (from = i; i < line.len && !strchr(ends, line.data[i]);)
            i++;
        struct span word = {line.data + from, i - from};
        if (word.len && word.data[0] == '#')
            i = line.len;
        else if (begins && from >= *at)
            found = named(word, of);
        begins = begins && (!word.len || leads_on(word));
    }
    return found;
}
