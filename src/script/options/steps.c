/* Options of salloc and srun alone: they start and steer job steps and interactive allocations. */
#include "script/options/values.h"

#include "base/alloc.h"
#include "base/idset.h"
#include "model/grammar/signals.h"
#include "model/limits.h"

#include <string.h>

#define US_PER_S INT64_C(1000000)

JOB_SETTER(set_kill_on_bad_exit)
{
    int64_t yes = 1;
    if (!text_empty(value) && !value_number(row, value, 0, 1, &yes, ret_err))
        return false;
    o->launch.kill_on_bad_exit = yes ? YES : NO;
    return true;
}

JOB_SETTER(set_kill_command)
{
    int signal;
    o->launch.kill_command = 15;
    if (text_empty(value))
        return true;
    if (!signal_parse(value, &signal))
        return value_refuse(row, value, ret_err, "a signal's name or number is allowed");
    o->launch.kill_command = signal;
    return true;
}

JOB_SETTER(set_het_group)
{
    struct idset set = IDSET_INIT;
    struct err why = {0};
    bool ok = idset_parse(&set, value, COMPONENTS_MAX - 1, &why);
    idset_done(&set);
    o->launch.het_group = arena_strdup(a, value);
    if (ok)
        return true;
    err_set(ret_err, ERR_INVALID, "--het-group: components are numbers and ranges, as 0 or 0-1,3");
    return err_lead(ret_err, "error: Invalid --het-group value: %.100s", value);
}

JOB_SETTER(set_relative)
{
    int64_t n;
    if (!value_number(row, value, 0, LIMIT_NODES, &n, ret_err))
        return false;
    o->launch.relative_plus1 = (int32_t)n + 1;
    return true;
}

JOB_SETTER(set_wait)
{
    int64_t seconds;
    if (!value_number(row, value, 0, 1 << 30, &seconds, ret_err))
        return false;
    o->launch.wait_us = seconds * US_PER_S;
    o->launch.wait_given = true;
    return true;
}

JOB_SETTER(set_job_id)
{
    int64_t id;
    if (!value_number(row, value, 1, INT64_MAX, &id, ret_err))
        return false;
    o->launch.job_id = (uint64_t)id;
    return true;
}

/* none: programs find each other by themselves or by their own launcher. pmix_v4: of that version
 * or another, which its clients do not notice. */
JOB_SETTER(set_mpi)
{
    static const char *const types[] = {"none", "list", "pmi2", "pmix"};
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (text_is(value, types[i]))
            return set_text(o, row, value, env, a, ret_err);
    if (text_is(value, "pmix_v3") || text_is(value, "pmix_v4") || text_is(value, "pmix_v5"))
        return set_text(o, row, "pmix", env, a, ret_err);
    err_set(ret_err, ERR_INVALID,
            "--mpi=%s: none, pmi2, pmix and list are allowed; programs of other libraries start "
            "with their "
            "own mpirun inside the job, which launches through srun",
            value);
    err_lead(ret_err,
             "error: Couldn't find the specified plugin name for mpi/%s looking at all files",
             value);
    return err_lead(ret_err, "error: Invalid MPI type '%s', --mpi=list for acceptable types",
                    value);
}

/* A number without effect is one all the same. */
JOB_SETTER(set_some_number)
{
    int64_t n;
    return value_number(row, value, 1, INT32_MAX, &n, ret_err);
}

/* yes, no, or a beginning of one of them; nothing is yes */
JOB_SETTER(set_yes_or_no)
{
    size_t len = value ? strlen(value) : 0;
    return !len || (len <= 3 && strncasecmp(value, "yes", len) == 0) ||
           (len <= 2 && strncasecmp(value, "no", len) == 0) ||
           value_refuse(row, value, ret_err, "yes and no are allowed");
}

JOB_SETTER(set_bcast)
{
    o->launch.bcast = text_empty(value) ? "" : arena_strdup(a, value);
    return true;
}

JOB_SETTER(set_pty)
{
    if (!text_empty(value))
        return value_refuse(row, value, ret_err,
                            "no terminal of one's own choice is used; --pty without a value is");
    o->launch.pty = true;
    return true;
}

#define NODE_SIDE "the controller tells each node of the step itself"

/* A row of srun's that sets a member of launch. */
#define STEP_FLAG(name_, letter_, env_, doc_, member)                                              \
    {                                                                                              \
        .name = name_, .letter = letter_, .arg = ARG_NONE, .commands = CMD_SRUN,                   \
        .env = {NULL, NULL, env_}, .doc = doc_, .set = set_flag, .at = AT(launch.member)           \
    }
#define STEP_VALUE(name_, letter_, arg_, env_, metavar_, doc_, setter, member)                     \
    {                                                                                              \
        .name = name_, .letter = letter_, .arg = arg_, .commands = CMD_SRUN,                       \
        .env = {NULL, NULL, env_}, .metavar = metavar_, .doc = doc_, .set = setter,                \
        .at = AT(launch.member)                                                                    \
    }
#define STEP_NOTHING_LIKE(name_, letter_, arg_, env_, metavar_, doc_, why_, setter)                \
    {                                                                                              \
        .name = name_, .letter = letter_, .arg = arg_, .commands = CMD_SRUN,                       \
        .support = SUPPORT_NO_EFFECT, .env = {NULL, NULL, env_}, .metavar = metavar_, .doc = doc_, \
        .why = why_, .set = setter                                                                 \
    }
#define STEP_NOTHING(name_, letter_, arg_, env_, metavar_, doc_, why_)                             \
    STEP_NOTHING_LIKE(name_, letter_, arg_, env_, metavar_, doc_, why_, set_nothing)
#define STEP_REFUSED(name_, letter_, arg_, env_, metavar_, doc_, why_)                             \
    {                                                                                              \
        .name = name_, .letter = letter_, .arg = arg_, .commands = CMD_SRUN,                       \
        .support = SUPPORT_REFUSED, .env = {NULL, NULL, env_}, .metavar = metavar_, .doc = doc_,   \
        .why = why_                                                                                \
    }

// clang-format off
const struct option_row options_steps[] = {
    {.name = "bell",
     .arg = ARG_NONE,
     .commands = CMD_SALLOC,
     .env = {NULL, "SALLOC_BELL"},
     .doc = "ring the bell when the allocation is there",
     .set = set_flag,
     .at = AT(launch.bell),
     .rival = "no-bell"},
    {.name = "no-bell",
     .arg = ARG_NONE,
     .commands = CMD_SALLOC,
     .env = {NULL, "SALLOC_NO_BELL"},
     .doc = "never ring it",
     .set = set_flag,
     .at = AT(launch.no_bell),
     .rival = "bell"},
    {.name = "kill-command",
     .letter = 'K',
     .arg = ARG_OPTIONAL,
     .commands = CMD_SALLOC,
     .env = {NULL, "SALLOC_KILL_CMD"},
     .metavar = "signal",
     .doc = "end the command when the allocation ends",
     .set = set_kill_command},
    {.name = "no-shell",
     .arg = ARG_NONE,
     .commands = CMD_SALLOC,
     .doc = "allocate and return at once",
     .set = set_flag,
     .at = AT(launch.no_shell)},
    STEP_REFUSED("accel-bind", 0, ARG_REQUIRED, NULL, "g|n|v", "bind tasks to the devices near their CPUs",
                 "--gpu-bind=closest gives each task the GPUs near its CPUs"),
    STEP_FLAG("async", 0, NULL, "queue the step in this allocation, print its number and return", async),
    STEP_VALUE("bcast", 0, ARG_OPTIONAL, "SLURM_BCAST", "path", "copy the program to the nodes first", set_bcast, bcast),
    STEP_NOTHING("bcast-exclude", 0, ARG_REQUIRED, "SLURM_BCAST_EXCLUDE", "paths", "shared libraries not to copy",
                 "shared libraries are not copied; the nodes' own are used"),
    STEP_NOTHING("compress", 0, ARG_OPTIONAL, "SLURM_COMPRESS", "type", "compress what --bcast copies",
                 "files are copied as they are"),
    STEP_REFUSED("debugger-test", 0, ARG_NONE, NULL, NULL, "stop the tasks for a parallel debugger",
                 "no parallel debugger is attached; start one in the step: srun gdb -batch -ex run program"),
    STEP_FLAG("disable-status", 'X', "SLURM_DISABLE_STATUS", "Ctrl-C ends the step at once", disable_status),
    STEP_VALUE("epilog", 0, ARG_REQUIRED, "SLURM_EPILOG", "program", "program here after the step", set_text, epilog),
    STEP_FLAG("exact", 0, "SLURM_EXACT", "only the CPUs asked for", exact),
    STEP_NOTHING("external-launcher", 0, ARG_OPTIONAL, NULL, "args", "step for the daemons of another launcher",
                 "a launcher's daemons are a step like any other"),
    {.name = "het-group", .arg = ARG_REQUIRED, .commands = CMD_SRUN, .metavar = "list", .doc = "components of a heterogeneous job to run on",
     .set = set_het_group, .component = true},
    STEP_FLAG("interactive", 0, NULL, "the shell of salloc on a node", interactive),
    STEP_VALUE("jobid", 0, ARG_REQUIRED, "SLURM_JOB_ID", "id", "run in this job's allocation", set_job_id, job_id),
    STEP_VALUE("kill-on-bad-exit", 'K', ARG_OPTIONAL, "SLURM_KILL_BAD_EXIT", "0|1", "end the step when a task fails",
               set_kill_on_bad_exit, kill_on_bad_exit),
    STEP_FLAG("label", 'l', "SLURM_LABELIO", "put the task number before each line", label),
    STEP_VALUE("mpi", 0, ARG_REQUIRED, "SLURM_MPI_TYPE", "type", "how MPI programs find each other: none, pmi2, pmix; list shows the types",
               set_mpi, mpi),
    STEP_NOTHING_LIKE("msg-timeout", 0, ARG_REQUIRED, NULL, "seconds", "how long to wait for the controller",
                      "the controller is waited for, whatever happens to it, as long as srun runs", set_some_number),
    STEP_FLAG("multi-prog", 0, NULL, "another program for each task, from a file", multi_prog),
    STEP_REFUSED("no-allocate", 'Z', ARG_NONE, NULL, NULL, "run without an allocation",
                 "every step belongs to a job; without one srun makes it"),
    STEP_FLAG("overlap", 0, "SLURM_OVERLAP", "share the resources of other steps", overlap),
    STEP_FLAG("preserve-env", 'E', NULL, "keep SLURM_NNODES and SLURM_NTASKS as they are", preserve_env),
    STEP_VALUE("prolog", 0, ARG_REQUIRED, "SLURM_PROLOG", "program", "program here before the step", set_text, prolog),
    STEP_VALUE("pty", 0, ARG_OPTIONAL, NULL, NULL, "task 0 in a terminal", set_pty, pty),
    STEP_FLAG("quit-on-interrupt", 0, NULL, "one Ctrl-C ends the step", quit_on_interrupt),
    STEP_VALUE("relative", 'r', ARG_REQUIRED, NULL, "n", "from the n-th node of the allocation", set_relative, relative_plus1),
    STEP_FLAG("no-rendezvous", 0, "SLURM_NO_RENDEZVOUS", "no MASTER_ADDR, MASTER_PORT, RANK, WORLD_SIZE … for the tasks",
              no_rendezvous),
    STEP_NOTHING_LIKE("send-libs", 0, ARG_OPTIONAL, "SLURM_SEND_LIBS", "yes|no", "copy shared libraries with --bcast",
                      "shared libraries are not copied; the nodes' own are used", set_yes_or_no),
    STEP_NOTHING("slurmd-debug", 0, ARG_REQUIRED, "SLURMD_DEBUG", "level", "messages of the node daemon",
                 "the node daemon's log is in its state directory: remuda status shows where"),
    STEP_VALUE("task-epilog", 0, ARG_REQUIRED, "SLURM_TASK_EPILOG", "program", "program after each task", set_text, task_epilog),
    STEP_VALUE("task-prolog", 0, ARG_REQUIRED, "SLURM_TASK_PROLOG", "program", "program before each task", set_text, task_prolog),
    STEP_NOTHING_LIKE("threads", 'T', ARG_REQUIRED, "SLURM_THREADS", "n", "threads of srun for the launch", NODE_SIDE, set_some_number),
    STEP_NOTHING("treewidth", 0, ARG_REQUIRED, "SLURM_TREE_WIDTH", "n", "fan-out of the launch", NODE_SIDE),
    STEP_FLAG("unbuffered", 'u', "SLURM_UNBUFFEREDIO", "pass on output as it comes", unbuffered),
    STEP_FLAG("wait-for-children", 0, "SLURM_WAIT_FOR_CHILDREN", "tasks end with the last process they started", wait_children),
    STEP_VALUE("wait", 'W', ARG_REQUIRED, "SLURM_WAIT", "seconds",
               "how long to wait for the other tasks after the first ended; 0 = for ever", set_wait, wait_us),
    STEP_FLAG("whole", 0, NULL, "all CPUs of the job on the step's nodes, which is the default", whole),
};
// clang-format on
const size_t options_steps_n = ARRAY_LEN(options_steps);
