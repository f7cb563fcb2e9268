/* A job: what was asked (struct job_request inside struct job_spec) and what became of it (struct
 * job).
 *
 * Each member is declared by a row of a table, X(type, name, aux, doc); the tables job_spec_fields
 * and job_fields hold the same rows for the wire, the store and the documentation. "Not given" is
 * 0, NULL or false everywhere. */
#ifndef REMUDA_MODEL_JOB_H
#define REMUDA_MODEL_JOB_H

#include "base/duration.h"
#include "model/fields.h"
#include "model/record/partition.h"
#include "model/state.h"
#include "model/tristate.h"

#define MEM_ALL INT64_C(-1) /* --mem=0: all memory of the node */
#define NO_TASK UINT32_MAX  /* job.array_task_id of a job that is no array element */

enum exclusive { EXCLUSIVE_UNSET, EXCLUSIVE_NODE, EXCLUSIVE_USER, EXCLUSIVE_MCS, EXCLUSIVE_TOPO };
/* The last two: one of two files is begun anew, the other continued. */
enum open_mode {
    OPEN_UNSET,  /* JobFileAppend decides */
    OPEN_APPEND, /* what files had stays */
    OPEN_TRUNCATE,
    OPEN_TRUNCATE_OUTPUT,
    OPEN_TRUNCATE_ERROR
};
/* In whose words a job was submitted: its environment and the end of its output are as there. */
enum dialect { DIALECT_SLURM, DIALECT_LSF, DIALECT_PBS };
enum hint {
    HINT_UNSET,
    HINT_COMPUTE_BOUND, /* all cores of a socket, a thread each */
    HINT_MEMORY_BOUND,  /* one core a socket */
    HINT_MULTITHREAD,   /* threads of a core may be used */
    /* a thread of each core */
    HINT_NOMULTITHREAD
};
/* Who suspended a job, and so who may let it go on: a person (or a program in their name); the
 * planner, for a job of higher precedence; or because others have their turn on its CPUs. */
enum suspender { SUSPENDER_PERSON, SUSPENDER_PREEMPTION, SUSPENDER_GANG };
extern const struct enum_names suspender_names, dialect_names;
extern const struct enum_names tristate_names, exclusive_names, open_mode_names, hint_names;

/* --mail-type bits */
enum mail_type {
    MAIL_BEGIN = 1,           /* it starts */
    MAIL_END = 2,             /* it is over, however */
    MAIL_FAIL = 4,            /* it ended otherwise than well */
    MAIL_REQUEUE = 8,         /* it goes back to the queue */
    MAIL_INVALID_DEPEND = 16, /* its dependency can never be satisfied */
    MAIL_STAGE_OUT = 32,      /* taken, and never sent */
    MAIL_TIME_LIMIT = 64,     /* it has reached it */
    MAIL_TIME_LIMIT_90 = 128, /* percent of it; so of 80 and 50 */
    MAIL_TIME_LIMIT_80 = 256,
    MAIL_TIME_LIMIT_50 = 512,
    MAIL_ARRAY_TASKS = 1024, /* of each element, not of the array */
};

/* What placement depends on. Jobs whose rows here are all equal are one class for the planner. */
// clang-format off
#define JOB_REQUEST_FIELDS(X)                                                                                            \
    X(TEXT, partition, 0, "partitions asked for, comma-separated; the job runs in one of them")                          \
    X(TEXT, account, 0, "account to charge")                                                                             \
    X(TEXT, qos, 0, "quality of service")                                                                                \
    X(TEXT, reservation, 0, "reservation to run in")                                                                     \
    X(I32, min_nodes, &range_nodes, "nodes, at least")                                                                   \
    X(I32, max_nodes, &range_nodes, "nodes, at most; 0 = as min_nodes needs")                                            \
    X(I32, ntasks, &range_tasks, "tasks in all; 0 = derived from nodes and tasks per node")                              \
    X(I32, cpus_per_task, &range_cpus, "CPUs of each task; 0 = 1")                                                       \
    X(I32, ntasks_per_node, &range_tasks, "tasks on each node (at most, when ntasks is given too)")                      \
    X(I32, ntasks_per_socket, &range_tasks, "tasks on each socket, at most")                                             \
    X(I32, ntasks_per_core, &range_tasks, "tasks on each core, at most")                                                 \
    X(I32, ntasks_per_gpu, &range_tasks, "tasks for each GPU")                                                           \
    X(I32, min_cpus_per_node, &range_cpus, "--mincpus: CPUs each node must have")                                        \
    X(I32, sockets_per_node, &range_cpus, "sockets each node must have")                                                 \
    X(I32, cores_per_socket, &range_cpus, "cores each socket must have")                                                 \
    X(I32, threads_per_core, &range_cpus, "threads of each core to use, at most")                                        \
    X(I32, core_spec, &range_cpus, "cores set aside for the system on each node, plus 1 (0 = not given)")                \
    X(ENUM, hint, &hint_names, "--hint")                                                                                 \
    X(MIB, mem_per_node_mib, &range_mem, "memory on each node; -1 = all of it")                                          \
    X(MIB, mem_per_cpu_mib, 0, "memory for each CPU")                                                                    \
    X(MIB, mem_per_gpu_mib, 0, "memory for each GPU")                                                                    \
    X(MIB, tmp_disk_mib, 0, "temporary disk each node must have")                                                        \
    X(TEXT, gres, 0, "generic resources on each node: gpu:v100:2,nic:1")                                                 \
    X(TEXT, gpus, 0, "GPUs of the whole job: [type:]count[,…]")                                                          \
    X(TEXT, gpus_per_node, 0, "GPUs on each node: [type:]count")                                                         \
    X(TEXT, gpus_per_task, 0, "GPUs for each task: [type:]count")                                                        \
    X(TEXT, gpus_per_socket, 0, "GPUs on each socket: [type:]count")                                                     \
    X(I32, cpus_per_gpu, &range_cpus, "CPUs for each GPU")                                                               \
    X(MIB, gpu_mem_mib, 0, "memory each GPU must have at least")                                                         \
    X(TEXT, constraint, 0, "node features asked for, Slurm's grammar")                                                   \
    X(TEXT, prefer, 0, "node features liked, not required")                                                              \
    X(TEXT, nodelist, 0, "nodes the job must include")                                                                   \
    X(TEXT, exclude, 0, "nodes the job must not use")                                                                    \
    X(BOOL, contiguous, 0, "nodes must be neighbours")                                                                   \
    X(BOOL, spread_job, 0, "as many nodes as possible")                                                                  \
    X(BOOL, use_min_nodes, 0, "as few nodes as possible when a range was given")                                         \
    X(ENUM, exclusive, &exclusive_names, "--exclusive: share no node (or only with own jobs)")                           \
    X(BOOL, oversubscribe, 0, "may share cores with others that say so")                                                 \
    X(BOOL, overcommit, 0, "the CPUs of one task on each node, however many tasks")                                                         \
    X(TEXT, licenses, 0, "licences: name[:count],…")                                                                     \
    X(I32, switches, 0, "leaf switches, at most")                                                                        \
    X(SPAN, switches_wait_us, 0, "how long to wait for so few switches")                                                 \
    X(SPAN, time_limit_us, 0, "wall clock limit; 0 = the partition's default")                                           \
    X(SPAN, time_min_us, 0, "limit may be lowered to this to start sooner")                                              \
    X(TEXT, distribution, 0, "task distribution, as asked")                                                              \
    X(TEXT, node_sizes, 0, "numbers of nodes of which any will do, between min_nodes and max_nodes: 1,4-8,16-64:16")

/* The rest of what a user asks. */
#define JOB_SPEC_FIELDS(X)                                                                                               \
    X(TEXT, name, 0, "job name")                                                                                         \
    X(TEXT, comment, 0, "user's comment")                                                                                \
    X(TEXT, wckey, 0, "workload characterisation key")                                                                   \
    X(BOOL, batch, 0, "has a batch script (else an interactive allocation)")                                             \
    X(BOOL, attached, 0, "an allocation that ends when the connection of the command that made it is gone for good")    \
    X(TEXT, work_dir, 0, "work directory, absolute")                                                                     \
    X(TEXT, command, 0, "path of the script (or command), with its arguments")                                           \
    X(TEXT, submit_line, 0, "command line that submitted it")                                                            \
    X(TEXT, alloc_host, 0, "host it was submitted from")                                                                 \
    X(TEXT, std_in, 0, "standard input, pattern; NULL = /dev/null")                                                      \
    X(TEXT, std_out, 0, "standard output, pattern; NULL = slurm-%j.out or slurm-%A_%a.out")                              \
    X(TEXT, std_err, 0, "standard error, pattern; NULL = with standard output")                                          \
    X(ENUM, open_mode, &open_mode_names, "output files: append, truncate, or only one of the two begun anew")             \
    X(TIME, begin_us, 0, "not before")                                                                                   \
    X(TIME, deadline_us, 0, "must end by; cancelled when it no longer can")                                              \
    X(SPAN, delay_boot_us, 0, "--delay-boot")                                                                            \
    X(TEXT, dependency, 0, "dependencies, as asked (model/job/dependency.h)")                                                \
    X(ENUM, kill_on_invalid_dep, &tristate_names, "cancel when a dependency can never be satisfied")                     \
    X(TEXT, array, 0, "array indexes as asked: 0-15:4,20%5")                                                             \
    X(BOOL, hold, 0, "submitted held")                                                                                   \
    X(I32, nice, &range_any32, "lowers the priority; negative raises it (operators only)")                               \
    X(I32, site_factor, &range_any32, "added to the priority by the site")                                               \
    X(U64, priority_asked, &range_priority, "--priority (operators only); 0 = computed")                                 \
    X(ENUM, requeue, &tristate_names, "may be requeued after node failure or preemption; unset = JobRequeue setting")    \
    X(BOOL, reboot, 0, "--reboot")                                                                                       \
    X(I32, signal, &range_signal, "signal number to send before the limit; 0 = none")                                    \
    X(SPAN, signal_before_us, 0, "how long before the limit")                                                            \
    X(BOOL, signal_batch, 0, "B: to the batch shell only")                                                               \
    X(U32, mail_types, &range_mail, "bits of enum mail_type")                                                            \
    X(TEXT, mail_user, 0, "who gets mail; NULL = the submitting user")                                                   \
    X(BOOL, no_kill, 0, "goes on when one of its nodes fails")                                                           \
    X(TEXT, rlimits, 0, "soft limits to propagate: NOFILE=1024,STACK=unlimited,…")                                       \
    X(U32, umask_plus1, &range_umask, "umask of the submitter plus 1 (0 = not given)")                                   \
    X(BOOL, get_user_env, 0, "--get-user-env: the node makes a login environment")                                       \
    X(TEXT, cpu_bind, 0, "--cpu-bind for the steps")                                                                     \
    X(TEXT, mem_bind, 0, "--mem-bind for the steps")                                                                     \
    X(TEXT, gpu_bind, 0, "--gpu-bind for the steps")                                                                     \
    X(TEXT, extra, 0, "--extra: free text")                                                                              \
    X(TEXT, profile, 0, "--profile, as asked")                                                                           \
    X(TEXT, container, 0, "--container, as asked")                                                                       \
    X(TEXT, export_env, 0, "--export as asked: ALL, NONE, NIL or a list")                                                \
    X(TEXT, script_args, 0, "arguments of the script (model/grammar/script_args.h)")                                             \
    X(TEXT, no_effect, 0, "options accepted without effect, with the reasons; the controller puts it into system_comment") \
    X(TEXT, sample_others, 0, "--acctg-freq of others than the task: energy=10,network=0,filesystem=30; NULL = JobAcctGatherFrequency") \
    X(I32, sample_s_plus1, 0, "seconds between samples of its usage, plus 1 (1: none but at the end); 0 = JobAcctGatherFrequency") \
    X(ENUM, dialect, &dialect_names, "in whose words it was submitted: slurm, lsf or pbs")                                 \
    X(TEXT, project, 0, "project it was submitted under, as asked (bsub -P)")                                            \
    X(TEXT, dialect_site, 0, "of PBS: flavour and server, \"pro:head\"; NULL = none")                                     \
    X(TEXT, job_group, 0, "group of jobs it was submitted in, as asked (bsub -g): /a/b") \
    X(TEXT, later_env, 0, "variables given after the submission, over those of it (model/env/later_env.h)") \
    X(TEXT, shell, 0, "program that runs the script, instead of the one that its first line names")

/* What became of it. */
#define JOB_STATE_FIELDS(X)                                                                                              \
    X(U64, id, 0, "job id, never reused")                                                                                \
    X(U64, array_job_id, 0, "id of the array; 0 = no array")                                                             \
    X(U32, array_task_id, 0, "index of this element; NO_TASK (4294967295) = none or the array record itself")            \
    X(TEXT, array_pending, 0, "array record: indexes not split off yet, folded; NULL when none are left")                \
    X(U32, array_limit, 0, "array: elements that may run at once; 0 = no limit")                                         \
    X(U32, array_size, 0, "array: elements in all")                                                                      \
    X(U64, het_job_id, 0, "id of the heterogeneous job's leader; 0 = none")                                              \
    X(U32, het_offset, 0, "component number in the heterogeneous job")                                                   \
    X(TEXT, het_set, 0, "ids of all components, folded")                                                                 \
    X(U32, user_id, 0, "uid of the owner")                                                                               \
    X(U32, group_id, 0, "gid it runs with")                                                                              \
    X(TEXT, user_name, 0, "name of the owner")                                                                           \
    X(TEXT, group_name, 0, "name of the group")                                                                          \
    X(ENUM, state, &job_state_names, "state")                                                                            \
    X(ENUM, end_state, &job_state_names, "while COMPLETING or REQUEUED: how the run ended")                              \
    X(ENUM, reason, &job_reason_names, "why it waits, or why it ended so")                                               \
    X(TEXT, reason_detail, 0, "the reason in a sentence, with names and counts")                                         \
    X(TEXT, away_nodes, 0, "ReqNodeNotAvail: nodes of its partition that are down or drained, folded (computed)")        \
    X(TIME, submit_us, 0, "submitted; of a job that went back to the queue, when it did last")                           \
    X(TIME, eligible_us, 0, "may run from (begin time, dependencies, release)")                                          \
    X(TIME, resize_us, 0, "this run gave nodes back last; 0 = it did not")                                               \
    X(TIME, start_us, 0, "started (the last time)")                                                                      \
    X(TIME, end_us, 0, "ended; while running, when its limit ends; else 0")                                              \
    X(TIME, suspend_us, 0, "suspended or resumed last")                                                                  \
    X(SPAN, suspended_us, 0, "time spent suspended in earlier suspensions of this run")                                  \
    X(SPAN, resize_suspended_us, 0, "of that, before it gave nodes back last")                                           \
    X(ENUM, suspended_by, &suspender_names, "who suspended it: somebody, preemption, or gang scheduling")                \
    X(TIME, stopped_us, 0, "while RUNNING: since when it is stopped by SIGSTOP or SIGTSTP (STOPPED); 0 = is not")           \
    X(BOOL, stopped_partly, 0, "stopped_us: the script alone was told, or its steps alone")                               \
    X(TIME, preempt_us, 0, "told to give way to another job; 0 = not")                                                   \
    X(TIME, preempt_end_us, 0, "and ended then at the latest: GraceTime of its partition is over")                       \
    X(U64, preempt_for, 0, "the job it gives (gave) way to")                                                             \
    X(ENUM, preempt_how, &preempt_mode_names, "and how: CANCEL or REQUEUE")                                              \
    X(TIME, planned_us, 0, "planned start; 0 = none yet")                                                                \
    X(TEXT, planned_nodes, 0, "nodes of the planned start, folded")                                                      \
    X(TIME, evaluated_us, 0, "last considered by the planner")                                                           \
    X(U64, priority, 0, "scheduling priority; 0 = held")                                                                 \
    X(U32, restarts, 0, "times it was requeued after a start")                                                           \
    X(U32, attempt, 0, "number of this start, 1 for the first; what nodes are told")                                     \
    X(I32, exit_status, &range_any32, "wait status of the batch script: exit code in bits 8-15, signal in bits 0-6")     \
    X(I32, derived_exit_status, &range_any32, "highest wait status of its steps")                                        \
    X(U32, killed_by_uid_plus1, 0, "uid that cancelled it, plus 1")                                                      \
    X(TEXT, run_partition, 0, "partition it runs (ran) in")                                                              \
    X(TEXT, run_reservation, 0, "reservation it runs (ran) in")                                                          \
    X(TEXT, nodes, 0, "nodes it runs (ran) on, folded, rank 0 first")                                                    \
    X(TEXT, batch_host, 0, "node that runs the batch script")                                                            \
    X(I32, alloc_nodes, &range_nodes, "nodes allocated")                                                                 \
    X(I32, alloc_cpus, 0, "CPUs allocated in all")                                                                       \
    X(MIB, alloc_mem_mib, 0, "memory allocated in all")                                                                  \
    X(I32, alloc_tasks, &range_tasks, "tasks it was laid out for")                                                       \
    X(TEXT, alloc, 0, "what it holds on each node (model/job/alloc.h)")                                                      \
    X(TEXT, alloc_gres, 0, "gres held in all: gpu:v100=4,nic=2")                                                         \
    X(SPAN, limit_us, 0, "limit in force for this run (partition default applied)")                                      \
    X(SPAN, extended_us, 0, "of that, what was granted while it ran (remuda extend)")                                    \
    X(TEXT, extensions, 0, "who had it extended, when, by how much: the last few")                                       \
    X(TEXT, place, 0, "scontrol top: the place in the order that it took of another of its user's (top.c)")              \
    X(TEXT, admin_comment, 0, "administrator's comment")                                                                 \
    X(TEXT, system_comment, 0, "comment of the system: what was accepted without effect, clamped, …")                    \
    X(BOOL, oom, 0, "the kernel killed a process of it for memory")                                                      \
    X(BOOL, requeue_pending, 0, "goes back to PENDING when cleaned (scontrol requeue of a running job)")                 \
    X(BOOL, hold_after_requeue, 0, "and is held then")                                                                   \
    X(BOOL, admin_hold, 0, "the hold it has, or will have then, is an administrator's: its owner cannot take it back")  \
    X(TEXT, renamed, 0, "name that its user has now, as who let it go again said; NULL = user_name")                     \
    X(BOOL, restored, 0, "as an older store has it: whether it has run since is not known")                              \
    X(TEXT, released, 0, "while COMPLETING or REQUEUED: nodes that are free already, folded")                            \
    X(TEXT, leaving, 0, "what it gave back of its allocation and nodes have not yet cleaned")                            \
    X(TEXT, had_nodes, 0, "nodes of its former starts, and of what it gave back, folded")                                \
    X(TEXT, waited_for, 0, "what it waited for and how long for each cause, \"Resources=12,Priority=3\" in seconds")     \
    X(SPAN, cpu_user_us, 0, "user CPU time of all its steps so far")                                                     \
    X(SPAN, cpu_system_us, 0, "system CPU time of all its steps so far")                                                 \
    X(TIME, changed_us, 0, "this record changed last")                                                                   \
    X(I64, billing_plus1, 0, "billing units of what it has, by TRESBillingWeights, plus 1; 0 = its CPUs")                \
    X(I64, billing_asked_plus1, 0, "billing units of what it asks for, the same way")                                    \
    X(TIME, lonely_us, 0, "the command that holds it is away since; 0 = it is there, or none is needed")                 \
    X(TEXT, cron, 0, "of scrontab: when it runs again and again (model/grammar/cron.h); NULL = it does not")                     \
    X(U32, cron_first, 0, "of scrontab: the line of its owner's table where its entry begins, from 1")                   \
    X(U32, cron_last, 0, "and where it ends")                                                                            \
    X(TIME, cron_ran_us, 0, "of scrontab: the time for which it ran last")                                         \
    X(TIME, accrue_us, 0, "gains priority by age from; 0 = from eligible_us; the last instant of 9999 = not yet, by a limit") \
    X(TEXT, accruing, 0, "array record under such a limit: how many of those next to start gain, and from when (accrue.c)") \
    X(U32, gpu_idle_told, 0, "bits of enum gpu_idle_stage: what GpuIdle had done about this run while its GPUs are idle")      \
    X(TIME, gpu_idle_told_us, 0, "and when its owner was told last; 0 = not")                                            \
    X(U32, gpu_idle_requeues, 0, "GpuIdle sent it back so often since it was held for it last")                             \
    X(I64, energy_mj, 0, "energy of all its steps so far, millijoules; 0 = not told")                                      \
    X(SPAN, gpu_idle_us, 0, "all its GPUs have been idle for so long, as its nodes said last; 0 = they are not, or that is not known (computed)") \
    X(TEXT, gpu_idle_next, 0, "and what GpuIdle does about it next, in words (computed)") \
    X(TIME, first_submit_us, 0, "submitted, of a job that went back to the queue since; 0 = it did not") \
    X(TEXT, failed_node, 0, "node whose failure ended it")                                                               \
    X(U32, failed_requeues, 0, "in a row so many of its runs failed by what they ran on, and it went back by itself")
// clang-format on

/* accrue_us of a job that does not gain priority by age. */
#define ACCRUES_NOT FIELD_TIME_MAX

struct job_request {
    FIELD_MEMBERS(JOB_REQUEST_FIELDS)
};

struct job_spec {
    struct job_request req;
    FIELD_MEMBERS(JOB_SPEC_FIELDS)
};

struct job {
    struct job_spec spec;
    FIELD_MEMBERS(JOB_STATE_FIELDS)
};

extern const struct fields job_request_fields; /* offsets in struct job_request */
/* In struct job_spec: the request's rows, then the rest. */
extern const struct fields job_spec_fields;
/* In struct job: all rows of job_spec_fields, then the state's. */
extern const struct fields job_fields;

/* Steps that are no srun launch. */
#define STEP_BATCH       INT64_C(-1)
#define STEP_EXTERN      INT64_C(-2)
#define STEP_INTERACTIVE INT64_C(-3)

/* What a step has in its layout without having it to itself: with --overlap, or because it asked
 * for none and may use all the job has there. */
enum step_shares { SHARES_CPUS = 1, SHARES_MEMORY = 2, SHARES_GRES = 4 };

/* One job step and what it used. */
// clang-format off
#define STEP_FIELDS(X)                                                                  \
    X(U64, job_id, 0, "job")                                                            \
    X(U32, attempt, 0, "start of the job it belongs to")                                \
    X(I64, step_id, &range_step, "step number; -1 batch, -2 extern, -3 interactive")    \
    X(TEXT, step_name, 0, "name: batch, or the program")                                \
    X(ENUM, state, &job_state_names, "RUNNING, then how it ended")                      \
    X(TEXT, nodes, 0, "nodes, folded")                                                  \
    X(I32, node_count, &range_nodes, "nodes")                                           \
    X(I32, ntasks, &range_tasks, "tasks")                                               \
    X(I32, cpus, 0, "CPUs")                                                             \
    X(TEXT, gres, 0, "gres held: gpu:v100=2")                                           \
    X(TEXT, layout, 0, "what it holds and which tasks run on each node (model/job/alloc.h); not for the batch step") \
    X(SPAN, limit_us, 0, "its own time limit; 0 = the job's")                           \
    X(TEXT, submit_line, 0, "command line that launched it")                            \
    X(TEXT, master_addr, 0, "host name of its first node, as all nodes of the job resolve it") \
    X(I32, master_port, &range_port, "port reserved for it on that node; 0 = none")     \
    X(U32, shares, &range_shares, "bits of enum step_shares: what of its layout others may use too") \
    X(BOOL, no_kill, 0, "goes on without a node that fails")                            \
    X(BOOL, detached, 0, "srun --async: no command stands behind it")                   \
    X(U64, key_hash, 0, "of create_step's key: a repeated call finds its step")         \
    X(U64, together_hash, 0, "the same in each component's part of a step of several; 0 = it is of one") \
    X(TEXT, ended_nodes, 0, "nodes where all its tasks are gone, folded, while it runs elsewhere") \
    X(TIME, start_us, 0, "started")                                                     \
    X(TIME, end_us, 0, "ended; 0 while running")                                        \
    X(SPAN, suspended_us, 0, "time spent suspended")                                    \
    X(I32, exit_status, &range_any32, "wait status, the highest of its tasks")          \
    X(BOOL, oom, 0, "a process was killed for memory")                                  \
    X(U32, killed_by_uid_plus1, 0, "uid that cancelled it, plus 1")                     \
    X(SPAN, cpu_user_us, 0, "user CPU time")                                            \
    X(SPAN, cpu_system_us, 0, "system CPU time")                                        \
    X(I64, max_rss_bytes, 0, "largest resident set, page cache not counted")            \
    X(TEXT, max_rss_node, 0, "node of it")                                              \
    X(I32, max_rss_task, 0, "task of it")                                               \
    X(I64, ave_rss_bytes, 0, "mean of the tasks' largest resident sets")                \
    X(I64, max_vm_bytes, 0, "largest virtual size")                                     \
    X(I32, max_vm_task, 0, "task of it")                                                \
    X(I64, ave_vm_bytes, 0, "mean of the tasks' largest virtual sizes")                 \
    X(I64, max_pages, 0, "most major page faults of a task")                            \
    X(I32, max_pages_task, 0, "that task")                                              \
    X(I64, ave_pages, 0, "mean of the tasks' major page faults")                        \
    X(I64, read_bytes, 0, "bytes read from disk")                                       \
    X(I64, write_bytes, 0, "bytes written to disk")                                     \
    X(I64, read_max_bytes, 0, "bytes read, most of a task")                             \
    X(I32, read_max_task, 0, "that task")                                               \
    X(I64, write_max_bytes, 0, "bytes written, most of a task")                         \
    X(I32, write_max_task, 0, "that task")                                              \
    X(SPAN, min_cpu_us, 0, "least CPU time of a task")                                  \
    X(I32, min_cpu_task, 0, "that task")                                                \
    X(SPAN, ave_cpu_us, 0, "mean CPU time of the tasks")                                \
    X(I64, gpu_samples, 0, "times its GPUs were looked at; 0 = nothing below is known") \
    X(I64, gpu_util_samples, 0, "of these, with utilisation")                           \
    X(I32, gpu_util_max, 0, "percent its processes used of GPUs at most, summed over a node's GPUs") \
    X(I32, gpu_util_ave, 0, "the same, mean over time and nodes")                       \
    X(I32, gpu_util_tot, 0, "sum over nodes of the means")                              \
    X(I64, gpu_mem_max_bytes, 0, "GPU memory its processes had on a node at most")      \
    X(I64, gpu_mem_ave_bytes, 0, "the same, mean over time and nodes")                  \
    X(I64, gpu_mem_tot_bytes, 0, "sum over nodes of the most")                          \
    X(I32, gpu_util_min, 0, "the least of the nodes' means")                            \
    X(I64, gpu_mem_min_bytes, 0, "the least of the nodes' mosts")                       \
    X(I64, energy_mj, 0, "energy of its GPUs and its part of that of its CPUs, millijoules; 0 = not told") \
    X(I64, cpu_khz, 0, "mean clock of its CPUs while they worked for it; 0 = not told") \
    X(SPAN, suspended_before_us, 0, "time its job had been suspended when it began")    \
    X(TEXT, user_name, 0, "owner of the job (computed)")                                \
    X(U32, user_id, 0, "uid of the owner (computed)")                                   \
    X(U64, array_job_id, 0, "array its job is an element of; 0 = none (computed)")      \
    X(U32, array_task_id, 0, "index of the element (computed)")                         \
    X(TEXT, partition, 0, "partition of the job (computed)")                            \
    X(TEXT, command_host, 0, "host of the srun behind it; NULL = none")                 \
    X(U32, command_pid, 0, "its process id there")                                      \
    X(TEXT, cpu_freq, 0, "--cpu-freq, as asked")                                        \
    X(TEXT, distribution, 0, "--distribution, as asked")                                \
    X(TEXT, gres_asked, 0, "--gres of the step itself")                                 \
    X(TEXT, gpus, 0, "GPUs of the whole step, as asked")                                \
    X(TEXT, gpus_per_node, 0, "GPUs on each node, as asked")                            \
    X(TEXT, gpus_per_socket, 0, "GPUs on each socket, as asked")                        \
    X(TEXT, gpus_per_task, 0, "GPUs for each task, as asked")                           \
    X(TEXT, gpu_bind, 0, "--gpu-bind, as asked")                                        \
    X(I32, cpus_per_gpu, 0, "CPUs for each GPU, as asked")                              \
    X(MIB, mem_per_gpu_mib, 0, "memory for each GPU, as asked")                         \
    X(TIME, lonely_us, 0, "its command is away since; 0 = it is there, or none is needed")
// clang-format on

struct step {
    STEP_FIELDS(FIELD_MEMBER)
};
extern const struct fields step_fields;

struct str;
/* "42", "42_7" for an array element, "42_[0-9%4]" for the pending rest of an array, "42+1" for a
 * component; appended to out. */
void job_label(const struct job *j, struct str *out);
/* The fields of a job that it looks at. */
#define JOB_LABEL_FIELDS                                                                           \
    "id,array_job_id,array_task_id,array_pending,array_limit,array_size,het_job_id,het_offset"
/* The reservations it asked for; of one that asked for none the one that drew it, once it has
 * begun. NULL = none. */
const char *job_reservation(const struct job *j);
/* The waiting indexes of an array record as Slurm writes them, "0-9%4"; nothing if there are
 * none. */
void job_array_tasks(const struct job *j, struct str *out);
/* "batch", "extern", "interactive" or the number. */
void step_label(int64_t step_id, struct str *out);

/* Wait statuses as job.exit_status holds them (see wait(2); here defined bit by bit so that
 * simulators need no headers). */
static inline int status_code(int32_t status)
{
    return (status >> 8) & 0xff;
}
static inline int status_signal(int32_t status)
{
    return status & 0x7f;
}
/* Memory ran out: Slurm shows a signal that there is not, 0:125, and commands exit with 128
 * more. */
#define STATUS_OOM 125
/* Nothing of it ran, and would not elsewhere: 0:53, as Slurm shows it. */
#define STATUS_LAUNCH_FAILED 53
static inline int32_t status_of_code(int code)
{
    return (code & 0xff) << 8;
}

#endif
