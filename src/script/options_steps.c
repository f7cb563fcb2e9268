/* Options of salloc and srun alone. They start and steer job steps and interactive allocations, which batch
 * jobs do not need; the ones that a job's record holds are honoured, the others are refused. */
#include "script/option_values.h"

#include "base/alloc.h"

#define STEPS   "job steps are not launched yet; batch jobs are: sbatch"
#define SESSION "interactive allocations are not made yet; batch jobs are: sbatch"

#define STEP_ROW(name_, letter_, arg_, env_, metavar_, doc_)                                                 \
    {                                                                                                        \
        .name = name_, .letter = letter_, .arg = arg_, .commands = CMD_SRUN, .support = SUPPORT_REFUSED,     \
        .env = {NULL, NULL, env_}, .metavar = metavar_, .doc = doc_, .why = STEPS                            \
    }
#define SALLOC_ROW(name_, letter_, arg_, env_, metavar_, doc_)                                               \
    {                                                                                                        \
        .name = name_, .letter = letter_, .arg = arg_, .commands = CMD_SALLOC, .support = SUPPORT_REFUSED,   \
        .env = {NULL, env_, NULL}, .metavar = metavar_, .doc = doc_, .why = SESSION                          \
    }

const struct option_row options_steps[] = {
    SALLOC_ROW("bell", 0, ARG_NONE, "SALLOC_BELL", NULL, "ring the bell when the allocation is there"),
    SALLOC_ROW("no-bell", 0, ARG_NONE, "SALLOC_NO_BELL", NULL, "never ring it"),
    SALLOC_ROW("kill-command", 'K', ARG_OPTIONAL, "SALLOC_KILL_CMD", "signal",
               "end the command when the allocation ends"),
    SALLOC_ROW("no-shell", 0, ARG_NONE, NULL, NULL, "allocate and return at once"),
    STEP_ROW("bcast", 0, ARG_OPTIONAL, "SLURM_BCAST", "path", "copy the program to the nodes first"),
    STEP_ROW("bcast-exclude", 0, ARG_REQUIRED, "SLURM_BCAST_EXCLUDE", "paths",
             "shared libraries not to copy"),
    STEP_ROW("compress", 0, ARG_OPTIONAL, "SLURM_COMPRESS", "type", "compress what --bcast copies"),
    STEP_ROW("debugger-test", 0, ARG_NONE, NULL, NULL, "stop the tasks for a parallel debugger"),
    STEP_ROW("disable-status", 'X', ARG_NONE, "SLURM_DISABLE_STATUS", NULL, "Ctrl-C ends the step at once"),
    STEP_ROW("epilog", 0, ARG_REQUIRED, "SLURM_EPILOG", "program", "program here after the step"),
    STEP_ROW("exact", 0, ARG_NONE, "SLURM_EXACT", NULL, "only the resources asked for"),
    STEP_ROW("external-launcher", 0, ARG_OPTIONAL, NULL, "args", "step for the daemons of another launcher"),
    STEP_ROW("het-group", 0, ARG_REQUIRED, NULL, "list", "components of a heterogeneous job to run on"),
    STEP_ROW("interactive", 0, ARG_NONE, NULL, NULL, "the shell of salloc on a node"),
    STEP_ROW("jobid", 0, ARG_REQUIRED, "SLURM_JOB_ID", "id", "run in this job's allocation"),
    STEP_ROW("kill-on-bad-exit", 'K', ARG_OPTIONAL, "SLURM_KILL_BAD_EXIT", "0|1",
             "end the step when a task fails"),
    STEP_ROW("label", 'l', ARG_NONE, "SLURM_LABELIO", NULL, "put the task number before each line"),
    STEP_ROW("mpi", 0, ARG_REQUIRED, "SLURM_MPI_TYPE", "type", "how MPI programs find each other"),
    STEP_ROW("msg-timeout", 0, ARG_REQUIRED, NULL, "seconds", "how long to wait for the controller"),
    STEP_ROW("multi-prog", 0, ARG_NONE, NULL, NULL, "another program for each task, from a file"),
    STEP_ROW("no-allocate", 'Z', ARG_NONE, NULL, NULL, "run without an allocation"),
    STEP_ROW("overlap", 0, ARG_NONE, "SLURM_OVERLAP", NULL, "share the resources of other steps"),
    STEP_ROW("preserve-env", 'E', ARG_NONE, NULL, NULL, "keep SLURM_NNODES and SLURM_NTASKS as they are"),
    STEP_ROW("prolog", 0, ARG_REQUIRED, "SLURM_PROLOG", "program", "program here before the step"),
    STEP_ROW("pty", 0, ARG_OPTIONAL, NULL, "file", "task 0 in a terminal"),
    STEP_ROW("quit-on-interrupt", 0, ARG_NONE, NULL, NULL, "one Ctrl-C ends the step"),
    STEP_ROW("relative", 'r', ARG_REQUIRED, NULL, "n", "from the n-th node of the allocation"),
    STEP_ROW("send-libs", 0, ARG_OPTIONAL, "SLURM_SEND_LIBS", "yes|no", "copy shared libraries with --bcast"),
    STEP_ROW("slurmd-debug", 0, ARG_REQUIRED, "SLURMD_DEBUG", "level", "messages of the node daemon"),
    STEP_ROW("task-epilog", 0, ARG_REQUIRED, "SLURM_TASK_EPILOG", "program", "program after each task"),
    STEP_ROW("task-prolog", 0, ARG_REQUIRED, "SLURM_TASK_PROLOG", "program", "program before each task"),
    STEP_ROW("threads", 'T', ARG_REQUIRED, "SLURM_THREADS", "n", "threads of srun for the launch"),
    STEP_ROW("treewidth", 0, ARG_REQUIRED, "SLURM_TREE_WIDTH", "n", "fan-out of the launch"),
    STEP_ROW("unbuffered", 'u', ARG_NONE, "SLURM_UNBUFFEREDIO", NULL, "pass on output as it comes"),
    STEP_ROW("wait", 'W', ARG_REQUIRED, "SLURM_WAIT", "seconds",
             "how long to wait for the other tasks after the first ended"),
};
const size_t options_steps_n = ARRAY_LEN(options_steps);
