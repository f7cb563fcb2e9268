/* Options about binding, sampling, clock frequencies and networks. */
#include "script/option_values.h"

#include "base/alloc.h"

#include <string.h>

/* [quiet|verbose,]TYPE[:LIST]: the type must be a known one; the list is read when steps are bound. */
static bool binding_valid(const char *value, const char *const *types, size_t n)
{
    static const char *const loud[] = {"quiet,", "verbose,", "q,", "v,"};
    for (size_t i = 0; i < ARRAY_LEN(loud); i++)
        if (text_starts_nocase(value, loud[i]))
            value += strlen(loud[i]);
    struct span word, rest = span_of(value);
    while (span_next(&rest, ',', &word)) {
        struct span type;
        size_t i = 0;
        if (!span_next(&word, ':', &type))
            return false;
        while (i < n && !span_is_nocase(type, types[i]))
            i++;
        if (i == n)
            return false;
        if (word.len)
            return true; /* a list, with commas of its own */
    }
    return true;
}

static SETTER(set_cpu_bind)
{
    static const char *const types[] = {"none",      "no",       "rank",      "map_cpu",  "mask_cpu",
                                        "rank_ldom", "map_ldom", "mask_ldom", "cores",    "cores",
                                        "sockets",   "threads",  "ldoms",     "boards",   "quiet",
                                        "verbose",   "q",        "v",         "autobind", "one_thread"};
    if (!binding_valid(value, types, ARRAY_LEN(types)))
        return value_refuse(
            row, value, ret_err,
            "[quiet,|verbose,] and none, rank, map_cpu:LIST, mask_cpu:LIST, rank_ldom, map_ldom:LIST, "
            "mask_ldom:LIST, sockets, cores, threads or ldoms are allowed");
    return set_text(o, row, value, env, a, ret_err);
}

static SETTER(set_mem_bind)
{
    static const char *const types[] = {"none", "no",   "local",  "rank",    "map_mem", "mask_mem", "prefer",
                                        "p",    "sort", "nosort", "verbose", "v",       "quiet",    "q"};
    if (!binding_valid(value, types, ARRAY_LEN(types)))
        return value_refuse(
            row, value, ret_err,
            "[quiet,|verbose,] and none, local, rank, map_mem:LIST, mask_mem:LIST, prefer or sort are "
            "allowed");
    return set_text(o, row, value, env, a, ret_err);
}

static SETTER(set_profile)
{
    static const char *const types[] = {"all", "none", "energy", "task", "lustre", "network", "filesystem"};
    struct span rest = span_of(value), word;
    while (span_next(&rest, ',', &word)) {
        size_t i = 0;
        while (i < ARRAY_LEN(types) && !span_is_nocase(word, types[i]))
            i++;
        if (i == ARRAY_LEN(types))
            return value_refuse(row, value, ret_err,
                                "all, none, energy, task, lustre and network are allowed");
    }
    return set_text(o, row, value, env, a, ret_err);
}

const struct option_row options_binding[] = {
    {.name = "acctg-freq",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .support = SUPPORT_NO_EFFECT,
     .env = ENV3("ACCTG_FREQ"),
     .metavar = "type=s",
     .doc = "how often usage is sampled",
     .why = "the cluster's JobAcctGatherFrequency holds for all jobs",
     .set = set_nothing},
    {.name = "cpu-bind",
     .alias = "cpu_bind",
     .arg = ARG_REQUIRED,
     .commands = CMD_SRUN,
     .env = {NULL, NULL, "SLURM_CPU_BIND"},
     .metavar = "type",
     .doc = "which CPUs each task runs on",
     .set = set_cpu_bind,
     .at = AT(spec.cpu_bind)},
    {.name = "cpu-freq",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .support = SUPPORT_NO_EFFECT,
     .env = {"SBATCH_CPU_FREQ_REQ", "SALLOC_CPU_FREQ_REQ", "SLURM_CPU_FREQ_REQ"},
     .metavar = "range",
     .doc = "clock of the CPUs",
     .why = "clocks are left to the nodes",
     .set = set_nothing},
    {.name = "gpu-freq",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .support = SUPPORT_NO_EFFECT,
     .env = ENV3("GPU_FREQ"),
     .metavar = "range",
     .doc = "clock of the GPUs",
     .why = "clocks are left to the nodes",
     .set = set_nothing},
    {.name = "mem-bind",
     .alias = "mem_bind",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .env = ENV3("MEM_BIND"),
     .metavar = "type",
     .doc = "which memory each task uses",
     .set = set_mem_bind,
     .at = AT(spec.mem_bind)},
    {.name = "network",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .support = SUPPORT_REFUSED,
     .env = ENV3("NETWORK"),
     .metavar = "type",
     .doc = "network of the job",
     .why = "it steers the switches of Cray and IBM; programs find the networks of the nodes themselves"},
    {.name = "oom-kill-step",
     .arg = ARG_OPTIONAL,
     .commands = CMD_ALL,
     .support = SUPPORT_NO_EFFECT,
     .env = {NULL, NULL, "SLURM_OOM_KILL_STEP"},
     .metavar = "0|1",
     .doc = "end the whole step when one task exceeds its memory",
     .why = "the kernel ends the process that exceeded the memory, and the job is OUT_OF_MEMORY",
     .set = set_nothing},
    {.name = "profile",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .support = SUPPORT_NO_EFFECT,
     .env = ENV3("PROFILE"),
     .metavar = "types",
     .doc = "detailed records of usage",
     .why = "usage of every job is measured; no HDF5 file is written",
     .set = set_profile,
     .at = AT(spec.profile)},
    {.name = "reboot",
     .arg = ARG_NONE,
     .commands = CMD_ALL,
     .support = SUPPORT_NO_EFFECT,
     .doc = "reboot the nodes first",
     .why = "no node is rebooted for a job",
     .set = set_flag,
     .at = AT(spec.reboot),
     .component = true},
    {.name = "resv-ports",
     .arg = ARG_OPTIONAL,
     .commands = CMD_ALL,
     .support = SUPPORT_REFUSED,
     .env = {NULL, NULL, "SLURM_RESV_PORTS"},
     .metavar = "n",
     .doc = "network ports reserved for the job",
     .why = "no ports are reserved; take one from the job id: $((SLURM_JOB_ID % 10000 + 20000))"},
    {.name = "stepmgr",
     .arg = ARG_NONE,
     .commands = CMD_ALLOC,
     .support = SUPPORT_NO_EFFECT,
     .doc = "steps managed on the job's first node",
     .why = "the controller manages the steps of all jobs",
     .set = set_nothing},
};
const size_t options_binding_n = ARRAY_LEN(options_binding);
