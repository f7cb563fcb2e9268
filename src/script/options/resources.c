/* Options that count: nodes, tasks, CPUs, memory, disk. */
#include "script/options/values.h"

#include "base/alloc.h"
#include "model/limits.h"
#include "model/settings/node_sizes.h"

#include <string.h>

#define TASKS    .min = 1, .max = LIMIT_TASKS, .component = true
#define PER_NODE .min = 1, .max = LIMIT_CPUS_PER_NODE, .component = true

/* MIN, MIN-MAX, with k for 1024. */
static bool nodes_read(const struct option_row *row, const char *value, int64_t *min, int64_t *max,
                       struct err *e)
{
    struct span rest = span_of(value), part;
    if (!span_next(&rest, '-', &part) ||
        !value_count(row, span_trim(part), value, LIMIT_NODES, min, e))
        return false;
    *max = *min;
    return !strchr(value, '-') || value_count(row, span_trim(rest), value, LIMIT_NODES, max, e);
}

/* A list of numbers: what it spans is the range that everybody else goes by. */
static bool sizes_read(struct submit_options *o, const struct option_row *row, const char *value,
                       struct arena *a, struct err *e)
{
    struct node_sizes sizes;
    if (!node_sizes_parse(value, &sizes, e))
        return value_lead(row, value, e, arena_strdup(a, e->text),
                          "\"%s\" is not a valid node count", value);
    o->spec.req.min_nodes = sizes.range[0].low;
    o->spec.req.max_nodes = sizes.range[sizes.n - 1].high;
    o->spec.req.node_sizes = arena_strdup(a, value);
    return true;
}

/* Slurm names the half that it cannot read, and takes an end that is not there for -1. */
static bool nodes_refuse(const struct option_row *row, const char *value, int64_t min,
                         struct err *e)
{
    static const char allowed[] = "MIN or MIN-MAX of at most 65536 is allowed, with k for 1024";
    const char *dash = strchr(value, '-');
    if (min && dash && !dash[1])
        return value_lead(row, value, e, allowed,
                          "Maximum node count -1 is less than minimum node count %lld",
                          (long long)min);
    return value_lead(row, value, e, allowed, "\"%s\" is not a valid node count",
                      min && dash ? dash + 1 : value);
}

JOB_SETTER(set_nodes)
{
    int64_t min = 0, max = 0;
    if (strchr(value, ',') || strchr(value, ':'))
        return sizes_read(o, row, value, a, ret_err);
    o->spec.req.node_sizes = NULL;
    if (!nodes_read(row, value, &min, &max, ret_err))
        return nodes_refuse(row, value, min, ret_err);
    if (max < min)
        return value_lead(row, value, ret_err, "the smaller number comes first",
                          "Maximum node count %lld is less than minimum node count %lld",
                          (long long)max, (long long)min);
    if (max == 0) {
        err_set(ret_err, ERR_INVALID, "a job needs a node");
        return value_refused(row, value, ret_err, "Node count specification invalid");
    }
    o->spec.req.min_nodes = min ? (int32_t)min : 1;
    o->spec.req.max_nodes = (int32_t)max;
    return true;
}

/* --mem=0 and --mem-per-cpu=0 ask for all memory of each node. */
JOB_SETTER(set_mem)
{
    if (!set_mib(o, row, value, env, a, ret_err))
        return false;
    int64_t *mib = (int64_t *)(void *)((char *)o + row->at);
    if (*mib == 0)
        *mib = MEM_ALL;
    return true;
}

/* One part of -B: a count, "*" for any, "2-4" for at least 2. */
static bool info_part(const struct option_row *row, struct span part, const char *value,
                      int32_t *ret, struct err *e)
{
    if (span_is(part, "*") || part.len == 0)
        return true;
    struct span rest = part, low;
    int64_t n;
    span_next(&rest, '-', &low);
    if (!value_count(row, low, value, LIMIT_CPUS_PER_NODE, &n, e))
        return false;
    *ret = (int32_t)n;
    return true;
}

JOB_SETTER(set_node_info)
{
    struct job_request *q = &o->spec.req;
    int32_t *field[] = {&q->sockets_per_node, &q->cores_per_socket, &q->threads_per_core};
    struct span rest = span_of(value), part;
    size_t i = 0;
    static const char *const ordinal[] = {"first", "second", "third"};
    for (; i < ARRAY_LEN(field) && span_next(&rest, ':', &part); i++)
        if (!info_part(row, part, value, field[i], ret_err)) {
            err_set(ret_err, ERR_INVALID,
                    "--extra-node-info=%s: sockets[:cores[:threads]] is allowed, a number or * in "
                    "each place",
                    value);
            return err_lead(ret_err, "error: Invalid numeric value \"%.*s\" for %s arg of -B.",
                            (int)part.len, part.data, ordinal[i]);
        }
    if (span_next(&rest, ':', &part))
        return value_refuse(row, value, ret_err, "sockets[:cores[:threads]] is allowed");
    return true;
}

JOB_SETTER(set_core_spec)
{
    int64_t cores;
    if (!value_number(row, value, 0, LIMIT_CPUS_PER_NODE, &cores, ret_err))
        return false;
    o->spec.req.core_spec = (int32_t)cores + 1;
    return true;
}

/* As Slurm where AllowSpecResourcesUsage is off, which is its default. */
JOB_SETTER(set_thread_spec)
{
    int64_t threads;
    return value_number(row, value, 1, LIMIT_CPUS_PER_NODE, &threads, ret_err);
}

JOB_SETTER(set_hint)
{
    static const char *const names[] = {NULL, "compute_bound", "memory_bound", "multithread",
                                        "nomultithread"};
    for (int32_t i = HINT_COMPUTE_BOUND; i <= HINT_NOMULTITHREAD; i++) {
        if (text_is_nocase(value, names[i])) {
            o->spec.req.hint = i;
            return true;
        }
    }
    err_set(ret_err, ERR_INVALID,
            "--hint=%s: compute_bound, memory_bound, multithread and nomultithread are allowed",
            value);
    return err_lead(ret_err, "error: unrecognized --hint argument \"%s\", see --hint=help", value);
}

const struct option_row options_resources[] = {
    {.name = "core-spec",
     .letter = 'S',
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .env = ENV3("CORE_SPEC"),
     .metavar = "cores",
     .doc = "cores of each node set aside for the system",
     .set = set_core_spec,
     .component = true},
    {.name = "cores-per-socket",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .metavar = "n",
     .doc = "nodes with n cores a socket or more",
     .set = set_i32,
     .at = AT(spec.req.cores_per_socket),
     PER_NODE},
    {.name = "cpus-per-task",
     .letter = 'c',
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .env = {NULL, NULL, "SRUN_CPUS_PER_TASK"},
     .metavar = "n",
     .doc = "CPUs of each task",
     .set = set_i32,
     .at = AT(spec.req.cpus_per_task),
     PER_NODE},
    {.name = "extra-node-info",
     .letter = 'B',
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .metavar = "S[:C[:T]]",
     .doc = "sockets a node, cores a socket, threads a core",
     .set = set_node_info,
     .component = true},
    {.name = "hint",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .env = {"SBATCH_HINT SLURM_HINT", "SALLOC_HINT SLURM_HINT", "SLURM_HINT"},
     .metavar = "type",
     .doc = "compute_bound, memory_bound, multithread, nomultithread",
     .values = "Application hint options:\n"
               "compute_bound\tall cores of each socket, a thread of each\n"
               "memory_bound\tone core of each socket\n"
               "[no]multithread\tall threads of a core, or one\n"
               "help\tthis list",
     .set = set_hint,
     .component = true},
    {.name = "mem",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .env = ENV3("MEM_PER_NODE"),
     .metavar = "size",
     .doc = "memory on each node: 4000 (MiB), 16G, 1T; 0 = all of it",
     .set = set_mem,
     .at = AT(spec.req.mem_per_node_mib),
     .component = true},
    {.name = "mem-per-cpu",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .env = ENV3("MEM_PER_CPU"),
     .metavar = "size",
     .doc = "memory for each CPU",
     .set = set_mem,
     .at = AT(spec.req.mem_per_cpu_mib),
     .component = true},
    {.name = "mincpus",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .metavar = "n",
     .doc = "nodes with n CPUs or more",
     .set = set_i32,
     .at = AT(spec.req.min_cpus_per_node),
     PER_NODE},
    {.name = "nodes",
     .letter = 'N',
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .env = {NULL, NULL, "SLURM_NNODES SLURM_JOB_NUM_NODES"},
     .metavar = "min[-max]",
     .doc = "number of nodes",
     .set = set_nodes,
     .component = true},
    {.name = "ntasks",
     .alias = "tasks",
     .letter = 'n',
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .env = {NULL, NULL, "SLURM_NTASKS SLURM_NPROCS"},
     .metavar = "n",
     .doc = "number of tasks",
     .set = set_i32,
     .at = AT(spec.req.ntasks),
     TASKS},
    {.name = "ntasks-per-core",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .env = {NULL, NULL, "SLURM_NTASKS_PER_CORE"},
     .metavar = "n",
     .doc = "tasks on each core, at most",
     .set = set_i32,
     .at = AT(spec.req.ntasks_per_core),
     TASKS},
    {.name = "ntasks-per-node",
     .alias = "tasks-per-node",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .env = {NULL, NULL, "SLURM_NTASKS_PER_NODE"},
     .metavar = "n",
     .doc = "tasks on each node",
     .set = set_i32,
     .at = AT(spec.req.ntasks_per_node),
     TASKS},
    {.name = "ntasks-per-socket",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .env = {NULL, NULL, "SLURM_NTASKS_PER_SOCKET"},
     .metavar = "n",
     .doc = "tasks on each socket, at most",
     .set = set_i32,
     .at = AT(spec.req.ntasks_per_socket),
     TASKS},
    {.name = "overcommit",
     .letter = 'O',
     .arg = ARG_NONE,
     .commands = CMD_ALL,
     .env = ENV3("OVERCOMMIT"),
     .doc = "one CPU a node, however many tasks",
     .set = set_flag,
     .at = AT(spec.req.overcommit),
     .component = true},
    {.name = "sockets-per-node",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .metavar = "n",
     .doc = "nodes with n sockets or more",
     .set = set_i32,
     .at = AT(spec.req.sockets_per_node),
     PER_NODE},
    {.name = "thread-spec",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .support = SUPPORT_NO_EFFECT,
     .env = ENV3("THREAD_SPEC"),
     .metavar = "n",
     .doc = "threads of each node set aside for the system",
     .why = "what is set aside is counted in cores: --core-spec=CORES",
     .set = set_thread_spec,
     .component = true},
    {.name = "threads-per-core",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .env = {"SBATCH_THREADS_PER_CORE", "SALLOC_THREADS_PER_CORE", "SLURM_THREADS_PER_CORE"},
     .metavar = "n",
     .doc = "threads of each core to use",
     .set = set_i32,
     .at = AT(spec.req.threads_per_core),
     PER_NODE},
    {.name = "tmp",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .metavar = "size",
     .doc = "nodes with so much temporary disk",
     .set = set_mib,
     .at = AT(spec.req.tmp_disk_mib),
     .component = true},
};
const size_t options_resources_n = ARRAY_LEN(options_resources);
