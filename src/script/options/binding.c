/* Options about binding, sampling, clock frequencies and networks. */
#include "script/options/values.h"

#include "base/alloc.h"

#include <string.h>

/* [quiet|verbose,]TYPE[:LIST]: the type must be a known one; the list is read when steps are
 * bound. */
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

/* Where a list of numbers (hexadecimal ones with 0x, in a mask always), with "*count" behind some,
 * is none; NULL = it is one. */
static const char *list_offence(const char *list, bool mask)
{
    for (struct span rest = span_of(list), item; span_next(&rest, ',', &item);) {
        bool hex = item.len > 2 && item.data[0] == '0' && (item.data[1] | 32) == 'x', some = false;
        size_t first = hex ? 2 : 0, i = first, star;
        for (; i < item.len && item.data[i] != '*'; i++)
            if (!strchr(hex || mask ? "0123456789abcdefABCDEF" : "0123456789", item.data[i]))
                return item.data + i;
        if (i == item.len)
            continue;
        for (star = i++; i < item.len; i++, some |= item.data[i - 1] != '0')
            if (!strchr("0123456789", item.data[i]))
                return item.data + i;
        if (star == first || !some)
            return item.data + star; /* of no number, or none of it */
    }
    return NULL;
}

/* map_mem:LIST, mask_cpu:LIST …, wherever it stands in the value. */
static bool list_check(const struct option_row *row, const char *value, const char *name,
                       const char *things, struct err *e)
{
    const char *type = strstr(value, name), *list = type ? strchr(type, ':') : NULL;
    if (type && (!list || !list[1])) {
        err_set(e, ERR_VALUE, "numbers of %s belong behind it: --%s=%s:0,1", things, row->name,
                name);
        return err_lead(e, "error: missing list for \"--%s=%s:<list>\"", row->name, name);
    }
    const char *offence = list ? list_offence(list + 1, text_starts(name, "mask")) : NULL;
    if (!offence)
        return true;
    err_set(e, ERR_VALUE, "--%s=%s: %s are numbers", row->name, value, things);
    return err_lead(e, "error: Failed to validate number: %s, the offending character is %c",
                    list + 1, *offence);
}

JOB_SETTER(set_cpu_bind)
{
    static const char *const types[] = {
        "none",      "no",      "rank",  "map_cpu", "mask_cpu", "rank_ldom", "map_ldom",
        "mask_ldom", "cores",   "cores", "sockets", "threads",  "ldoms",     "boards",
        "quiet",     "verbose", "q",     "v",       "autobind", "one_thread"};
    static const char *const lists[] = {"map_cpu", "mask_cpu", "map_ldom", "mask_ldom"};
    bool ok = true;
    for (size_t i = 0; ok && i < ARRAY_LEN(lists); i++)
        ok = list_check(row, value, lists[i], "CPUs", ret_err);
    if (!ok)
        return err_lead(ret_err, "fatal: Failed to parse --cpu-bind= values.");
    if (binding_valid(value, types, ARRAY_LEN(types)))
        return set_text(o, row, value, env, a, ret_err);
    err_set(ret_err, ERR_INVALID,
            "--cpu-bind=%s: [quiet,|verbose,] and none, rank, map_cpu:LIST, mask_cpu:LIST, "
            "rank_ldom, map_ldom:LIST, mask_ldom:LIST, sockets, cores, threads or ldoms are "
            "allowed",
            value);
    err_lead(ret_err, "error: unrecognized --cpu-bind argument \"%s\"", value);
    return err_lead(ret_err, "fatal: Failed to parse --cpu-bind= values.");
}

JOB_SETTER(set_oom_kill_step)
{
    (void)o;
    (void)env;
    (void)a;
    return text_empty(value) || text_is(value, "0") || text_is(value, "1") ||
           value_refuse(row, value, ret_err, "0 or 1 is allowed");
}

JOB_SETTER(set_mem_bind)
{
    static const char *const types[] = {"none",     "no",     "local", "rank", "map_mem",
                                        "mask_mem", "prefer", "p",     "sort", "nosort",
                                        "verbose",  "v",      "quiet", "q"};
    if (!binding_valid(value, types, ARRAY_LEN(types)))
        return value_lead(row, value, ret_err,
                          "[quiet,|verbose,] and none, local, rank, map_mem:LIST, mask_mem:LIST, "
                          "prefer or sort are "
                          "allowed",
                          "unrecognized --mem-bind argument \"%s\"", value);
    if (!list_check(row, value, "map_mem", "memory nodes", ret_err) ||
        !list_check(row, value, "mask_mem", "memory nodes", ret_err))
        return false;
    return set_text(o, row, value, env, a, ret_err);
}

JOB_SETTER(set_profile)
{
    static const char *const types[] = {"all",    "none",    "energy",    "task",
                                        "lustre", "network", "filesystem"};
    struct span rest = span_of(value), word;
    while (span_next(&rest, ',', &word)) {
        size_t i = 0;
        while (i < ARRAY_LEN(types) && !span_is_nocase(word, types[i]))
            i++;
        if (i == ARRAY_LEN(types))
            return value_lead(row, value, ret_err,
                              "all, none, energy, task, lustre and network are allowed",
                              "invalid --profile=%s option", value);
    }
    return set_text(o, row, value, env, a, ret_err);
}

/* Seconds, or type=seconds,… */
JOB_SETTER(set_acctg_freq)
{
    static const char *const types[] = {"task", "energy", "network", "filesystem"};
    struct span rest = span_of(text_empty(value) ? NULL : value), word;
    o->spec.sample_s_plus1 = 0;
    o->spec.sample_others = strchr(value, '=') ? arena_strdup(a, value) : NULL;
    while (span_next(&rest, ',', &word)) {
        struct span number = word, type;
        int64_t seconds;
        size_t i = 0;
        if (memchr(word.data, '=', word.len)) {
            span_next(&number, '=', &type);
            while (i < ARRAY_LEN(types) && !span_is_nocase(type, types[i]))
                i++;
        }
        if (i == ARRAY_LEN(types) ||
            !text_to_i64(arena_strndup(a, number.data, number.len), 0, INT32_MAX - 1, &seconds))
            return value_lead(
                row, value, ret_err,
                "seconds, or task=, energy=, network= and filesystem= with seconds, are allowed",
                "Invalid --acctg-freq specification: %.*s", (int)word.len, word.data);
        if (i == 0)
            o->spec.sample_s_plus1 = (int32_t)seconds + 1;
    }
    o->acctg_freq = arena_strdup(a, value);
    return true;
}

/* ---- clock frequencies ---- */

/* Where the frequency stands among others: kHz, or a word. 0 = none. */
static int64_t frequency_rank(const char *text)
{
    static const char *const words[] = {"low", "medium", "highm1", "high"};
    int64_t khz;
    if (text_to_i64(text, 1, INT32_MAX, &khz))
        return khz;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (text_is_nocase(text, words[i]))
            return INT64_MAX - (int64_t)(ARRAY_LEN(words) - i);
    return 0;
}

static bool is_governor(const char *text)
{
    static const char *const names[] = {"conservative", "ondemand",  "performance",
                                        "powersave",    "schedutil", "userspace"};
    size_t i = 0;
    while (i < ARRAY_LEN(names) && !text_is_nocase(text, names[i]))
        i++;
    return i < ARRAY_LEN(names);
}

static bool cpu_freq_refuse(const struct option_row *row, const char *value, struct err *e,
                            const char *lead)
{
    value_lead(
        row, value, e,
        "a frequency in kHz, low, medium, high or highm1, then -MAX and :GOVERNOR, or a governor "
        "alone are allowed",
        "%s", lead);
    return err_lead(e, "error: Invalid --cpu-freq argument");
}

/* Each part for itself, then both ends together. NULL: well. */
static const char *cpu_freq_wrong(const char *low, const char *high, const char *governor,
                                  struct arena *a)
{
    const char *const part[] = {low, high ? high : low};
    if (governor && !high)
        return arena_printf(a, "gov on cpu-frec (%s) illegal without max", governor);
    for (size_t i = 0; i < ARRAY_LEN(part); i++)
        if (!frequency_rank(part[i]))
            return arena_printf(a, "unrecognized --cpu-freq argument \"%s\"", part[i]);
    if (high && frequency_rank(low) > frequency_rank(high))
        return arena_printf(a, "min cpu-frec (%s) must be < max cpu-freq (%s)", low, high);
    return governor && !is_governor(governor)
               ? arena_printf(a, "unrecognized --cpu-freq argument \"%s\"", governor)
               : NULL;
}

/* As Slurm writes it: Low-High:OnDemand. */
static const char *cpu_freq_spelled(const char *value, struct arena *a)
{
    static const char *const words[] = {"Low",          "Medium",   "Highm1",      "High",
                                        "Conservative", "OnDemand", "Performance", "PowerSave",
                                        "SchedUtil",    "UserSpace"};
    char *text = arena_strdup(a, value);
    for (char *at = text; *at; at += *at != '\0') {
        size_t len = strcspn(at, "-:");
        for (size_t i = 0; i < ARRAY_LEN(words); i++)
            if (strlen(words[i]) == len && strncasecmp(at, words[i], len) == 0)
                memcpy(at, words[i], len);
        at += len;
    }
    return text;
}

/* p1[-p2[:p3]], or a governor alone */
JOB_SETTER(set_cpu_freq)
{
    size_t low = strcspn(value, "-:");
    const char *rest = value + low, *colon = strchr(value, ':');
    const char *high = *rest == '-' ? arena_strndup(a, rest + 1, strcspn(rest + 1, ":")) : NULL;
    const char *wrong = is_governor(value) ? NULL
                                           : cpu_freq_wrong(arena_strndup(a, value, low), high,
                                                            colon ? colon + 1 : NULL, a);
    if (wrong)
        return cpu_freq_refuse(row, value, ret_err, wrong);
    o->cpu_freq = cpu_freq_spelled(value, a);
    return true;
}

/* [memory=]value,…[,verbose] */
JOB_SETTER(set_gpu_freq)
{
    struct span rest = span_of(value), word;
    bool ok = *value;
    while (ok && span_next(&rest, ',', &word)) {
        const char *text = arena_strndup(a, word.data, word.len);
        if (text_starts_nocase(text, "memory="))
            text += strlen("memory=");
        ok = frequency_rank(text) || text_is_nocase(text, "verbose");
    }
    return ok || value_lead(row, value, ret_err,
                            "a frequency in MHz, low, medium, high or highm1, memory= with one, "
                            "and verbose are allowed",
                            "Invalid --gpu-freq argument: gpu:%s", value);
}

const struct option_row options_binding[] = {
    {.name = "acctg-freq",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .env = ENV3("ACCTG_FREQ"),
     .metavar = "type=s",
     .doc = "how often usage is sampled: task=SECONDS, 0 = at the end alone",
     .set = set_acctg_freq},
    {.name = "cpu-bind",
     .alias = "cpu_bind",
     .arg = ARG_REQUIRED,
     .commands = CMD_SRUN,
     .env = {NULL, NULL, "SLURM_CPU_BIND"},
     .metavar = "type",
     .doc = "which CPUs each task runs on",
     .values = "CPU bind options:\n"
               "q[uiet]\tbind without a word (the default)\n"
               "v[erbose]\tsay on stderr what each task is bound to\n"
               "no[ne]\ttasks may use all CPUs of the step on their node\n"
               "rank\tthe CPU of the task's rank on its node\n"
               "map_cpu:<list>\tthe CPUs of the list, one a task\n"
               "mask_cpu:<list>\tthe masks of the list, one a task\n"
               "rank_ldom\tthe locality domain of the task's rank\n"
               "map_ldom:<list>\tthe locality domains of the list, one a task\n"
               "mask_ldom:<list>\tmasks of locality domains, one a task\n"
               "sockets\twhole sockets\n"
               "cores\twhole cores\n"
               "threads\tthreads\n"
               "ldoms\twhole locality domains\n"
               "help\tthis list",
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
     .set = set_cpu_freq},
    {.name = "gpu-freq",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .support = SUPPORT_NO_EFFECT,
     .env = ENV3("GPU_FREQ"),
     .metavar = "range",
     .doc = "clock of the GPUs",
     .why = "clocks are left to the nodes",
     .set = set_gpu_freq},
    {.name = "mem-bind",
     .alias = "mem_bind",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .env = ENV3("MEM_BIND"),
     .metavar = "type",
     .doc = "which memory each task uses",
     .values = "Memory bind options:\n"
               "nosort\tleave pages as they are\n"
               "sort\tsort pages first\n"
               "q[uiet]\tbind without a word (the default)\n"
               "v[erbose]\tsay on stderr what each task is bound to\n"
               "no[ne]\tany memory (the default)\n"
               "rank\tthe domain of the task's rank\n"
               "local\tthe memory of the processors in use\n"
               "map_mem:<list>\tthe domains of the list, one a task\n"
               "mask_mem:<list>\tmasks of domains, one a task\n"
               "help\tthis list",
     .set = set_mem_bind,
     .at = AT(spec.mem_bind)},
    {.name = "network",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .support = SUPPORT_NO_EFFECT,
     .env = ENV3("NETWORK"),
     .metavar = "type",
     .doc = "network of the job",
     .why = "it steers the switches of Cray and IBM; programs find the networks of the nodes "
            "themselves",
     .set = set_nothing},
    {.name = "oom-kill-step",
     .arg = ARG_OPTIONAL,
     .commands = CMD_ALL,
     .support = SUPPORT_NO_EFFECT,
     .env = {NULL, NULL, "SLURM_OOM_KILL_STEP"},
     .metavar = "0|1",
     .doc = "end the whole step when one task exceeds its memory",
     .why = "the kernel ends the process that exceeded the memory, and the job is OUT_OF_MEMORY",
     .set = set_oom_kill_step},
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
