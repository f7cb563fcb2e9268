/* All a shepherd needs to know to run one step, as the node daemon hands it over: everything is
 * looked up and expanded already, so that the shepherd asks no name service and reads no
 * configuration. */
#ifndef REMUDA_NODE_STEP_PLAN_H
#define REMUDA_NODE_STEP_PLAN_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plan_bytes {
    const void *data; /* borrowed */
    size_t len;
};

#define STEP_PLAN_MAX (32u << 20) /* bytes of one plan, without its length */

/* Which output files are continued, not begun anew. */
enum plan_append { APPEND_NONE, APPEND_BOTH, APPEND_OUTPUT, APPEND_ERROR };

/* X(type, member, doc). Types: I64; TEXT (NULL = not given); BYTES. Members absent in the encoded
 * form are 0. */
// clang-format off
#define STEP_PLAN(X)                                                                                         \
    X(I64, job_id, "job")                                                                                    \
    X(I64, attempt, "which start of it")                                                                     \
    X(I64, step_id, "step")                                                                                  \
    X(TEXT, dir_name, "name of the step's directory: JOB.ATTEMPT.STEP")                                      \
    X(TEXT, spare_dir, "directory of an earlier step to make it of (spare_dirs.h); NULL = a new one")        \
    X(TEXT, node, "node name, for messages")                                                                 \
    X(I64, switch_user, "become uid, gid and groups below")                                                  \
    X(I64, uid, "owner")                                                                                     \
    X(I64, gid, "group")                                                                                     \
    X(BYTES, groups, "supplementary groups: array of gid_t")                                                 \
    X(TEXT, user, "owner's name")                                                                            \
    X(TEXT, home, "home directory")                                                                          \
    X(TEXT, shell, "login shell")                                                                            \
    X(I64, login_env, "take the environment of a login shell")                                               \
    X(TEXT, bin_dir, "directory of the commands, put before a login environment's PATH")                     \
    X(TEXT, work_dir, "work directory")                                                                      \
    X(TEXT, std_in, "standard input file; NULL = /dev/null")                                                 \
    X(TEXT, std_out, "standard output file")                                                                 \
    X(TEXT, std_err, "standard error file; NULL = with standard output")                                     \
    X(I64, append, "enum plan_append: which output files are continued, not begun anew")                     \
    X(I64, umask_plus1, "umask, plus 1; 0 = leave it")                                                       \
    X(I64, nice, "nice value to run with")                                                                   \
    X(TEXT, rlimits, "soft limits: NOFILE=1024,STACK=unlimited")                                             \
    X(TEXT, cpus, "CPUs of the machine to keep to, folded; NULL = all")                                      \
    X(I64, mem_limit_bytes, "memory of the step; 0 = no limit")                                              \
    X(I64, job_mem_bytes, "memory of the job on this node, all its steps together; 0 = no limit")            \
    X(I64, swap_bytes_plus1, "swap beyond the memory, of the step; plus 1; 0 = no limit of its own")         \
    X(I64, job_swap_bytes_plus1, "the same, of the job")                                                     \
    X(I64, swappiness_plus1, "of its memory, plus 1; 0 = as the kernel likes")                               \
    X(I64, pids_max, "processes and threads of the job on this node; 0 = no limit")                          \
    X(I64, over_memory_kill, "end it at a sample that finds it over its memory, also where the kernel limits memory") \
    X(I64, mem_asked_mib, "memory the job has here, as it asked or got; 0 = none")                           \
    X(I64, sample_us, "how often to sample usage")                                                           \
    X(I64, series, "tell the node daemon what the samples say (model/record/series.h)")                             \
    X(I64, energy_us, "so far apart is the power of GPUs sampled; 0 = not")                                  \
    X(I64, network_us, "and what the network carries")                                                       \
    X(I64, filesystem_us, "and what was read and written")                                                   \
    X(TEXT, cgroups,                                                                                         \
      "directories to make the step's cgroups in: \"memory=/sys/…\\ncpuset=/sys/…\\n\"; see cgroup/group.h")       \
    X(I64, group, "number of the job's groups (cgroup/pool.h); 0 = named after the step's directory")        \
    X(I64, group_part, "of the step's own in them")                                                          \
    X(I64, group_ready, "they were handed back by a step with the very same limits")                         \
    X(TEXT, deny, "device files to hide from it: \"195:1 195:2\"; NULL = none")                              \
    X(I64, gpus, "GPUs it has: bit n for number n, up to 62; noted for the next daemon")                     \
    X(I64, hidden, "GPUs that it does not have, whose files are in `deny`: likewise") \
    X(TEXT, address, "steps with tasks: where the command is, numeric addresses, blank-separated; NULL = a batch script") \
    X(TEXT, key, "secret to show there")                                                                     \
    X(TEXT, tasks, "its tasks here, a line each: number in the step, CPUs, devices; \"-\" = not said; see cli/step/tasks.h") \
    X(I64, world, "tasks of the whole step")                                                                 \
    X(I64, pty, "task 0 has a terminal")                                                                     \
    X(I64, rendezvous, "tasks get RANK, WORLD_SIZE …")                                                       \
    X(TEXT, master_addr, "MASTER_ADDR for them")                                                             \
    X(TEXT, master_port, "MASTER_PORT")                                                                      \
    X(TEXT, job_name, "name of the job, for file names")                                                     \
    X(I64, array_job_id, "of an array's element: the array, for file names; 0 = none")                       \
    X(I64, array_task_plus1, "and its index, plus 1")                                                     \
    X(TEXT, task_prolog, "the site's program before each task and batch script")                                              \
    X(TEXT, task_epilog, "and after it")                                                                     \
    X(I64, kill_wait_us, "between SIGTERM and SIGKILL when the command is gone")                             \
    X(I64, unkillable_us, "processes that outlive SIGKILL so long are reported; 0 = never")                  \
    X(TEXT, bind_report, "--cpu-bind=verbose: say to what each task is bound")                               \
    X(TEXT, report, "what stands in LSF's report of the job and is known when it starts (model/env/lsf_report.h); NULL = none is written") \
    X(BYTES, hosts, "hosts of the job, a line for each task, for the step's file \"hosts\"; empty = none")     \
    X(BYTES, script, "batch script; steps with tasks and no command: the frame that says what they run")     \
    X(BYTES, args, "its arguments, each ended by NUL")                                                       \
    X(BYTES, env, "environment: NAME=VALUE, each ended by NUL")                                              \
    X(BYTES, keep, "kept in the step's directory as \"job\" until it is forgotten; empty = nothing")
// clang-format on

#define PLAN_C_I64   int64_t
#define PLAN_C_TEXT  const char *
#define PLAN_C_BYTES struct plan_bytes

struct step_plan {
#define X(type, member, doc) PLAN_C_##type member;
    STEP_PLAN(X)
#undef X
};

/* Bytes it takes, without its length: those of more than STEP_PLAN_MAX must not be encoded. */
size_t step_plan_size(const struct step_plan *p);
/* Appends 4 bytes of length (native byte order: both ends are of one machine) and the plan. */
void step_plan_encode(const struct step_plan *p, struct str *out);
/* Length of the plan that follows 4 such bytes. */
uint32_t step_plan_length(const void *four_bytes);
/* Reads a plan (without the length); *ret points into data. False if it is none. */
bool step_plan_decode(const void *data, size_t len, struct step_plan *ret);

/* An array of pointers to texts that follow each other, each ended by NUL; a NULL at the end; the
 * caller frees the array. `room` further pointers can be put before that NULL (ret_n says
 * where). */
char **plan_texts(struct plan_bytes b, size_t room, size_t *ret_n);

#endif
