/* One function a cell. Where a pending job has no value yet, the words are Slurm's: "N/A", "n/a",
 * "(null)", "*". */
#include "cli/record/columns_job.h"

#include "base/duration.h"
#include "cli/record/job_cell.h"
#include "model/job/array.h"
#include "model/job/job_attributes.h"
#include "model/job/stopped.h"

#include <stdio.h>
#include <string.h>

// clang-format off
/* "*" where nothing was asked. */
#define STAR_CELL(name, expression)                                                                          \
    CELL(name)                                                                                               \
    {                                                                                                        \
        (void)env;                                                                                           \
        if (expression)                                                                                      \
            str_add_i64(out, expression);                                                                    \
        else                                                                                                 \
            str_addc(out, '*');                                                                              \
    }
// clang-format on
#define TIME_CELL(name, expression, if_zero)                                                       \
    CELL(name)                                                                                     \
    {                                                                                              \
        cell_time(env, expression, if_zero, out);                                                  \
    }

TEXT_CELL(account, j->spec.req.account, "(null)")
TEXT_CELL(admin_comment, j->admin_comment, "(null)")
TEXT_CELL(alloc_host, j->spec.alloc_host, "(null)")
NUMBER_CELL(array_job_id, j->array_job_id ? j->array_job_id : j->id)
YES_CELL(batch_flag, j->spec.batch, "1", "0")
TEXT_CELL(batch_host, j->batch_host, "n/a")
TEXT_CELL(command, j->spec.command, "(null)")
TEXT_CELL(comment, j->spec.comment, "(null)")
YES_CELL(contiguous, j->spec.req.contiguous, "1", "0")
STAR_CELL(cores, job_cores_asked(j))
STAR_CELL(sockets, j->spec.req.sockets_per_node)
STAR_CELL(threads, job_threads_asked(j))
NUMBER_CELL(cpus, job_cpus(j))
NUMBER_CELL(cpus_per_task, j->spec.req.cpus_per_task ? j->spec.req.cpus_per_task : 1)
TIME_CELL(deadline, j->spec.deadline_us, "N/A")
TIME_CELL(eligible, j->eligible_us, "N/A")
TIME_CELL(accrue, job_accrue_us(j), "N/A")
TIME_CELL(evaluated,
          j->evaluated_us ? j->evaluated_us
          : j->start_us   ? j->start_us
                          : j->submit_us,
          "N/A")
TIME_CELL(preempt, j->preempt_us, "N/A")
TIME_CELL(submit, j->submit_us, "N/A")
TIME_CELL(end, j->end_us, j->state == JOB_RUNNING || j->state == JOB_SUSPENDED ? "NONE" : "N/A")
TIME_CELL(start, j->start_us ? j->start_us : j->planned_us, "N/A")
TEXT_CELL(feature, j->spec.req.constraint, "(null)")
NUMBER_CELL(group_id, j->group_id)
TEXT_CELL(group, j->group_name, "(null)")
NUMBER_CELL(id, j->id)
TEXT_CELL(licenses, j->spec.req.licenses, "(null)")
NUMBER_CELL(max_nodes, !j->alloc_nodes && j->spec.req.max_nodes > job_nodes(j)
                           ? j->spec.req.max_nodes
                           : job_nodes(j))
NUMBER_CELL(min_cpus, job_min_cpus(j))
TEXT_CELL(name, j->spec.name, "")
NUMBER_CELL(nice, j->spec.nice)
TEXT_CELL(node_list, j->nodes, "")
NUMBER_CELL(num_nodes, job_nodes(j))
NUMBER_CELL(num_tasks, job_tasks(j))
TEXT_CELL(partition, job_partition(j), "(null)")
TEXT_CELL(prefer, j->spec.req.prefer, "(null)")
TEXT_CELL(qos, j->spec.req.qos, "(null)")
YES_CELL(reboot, j->spec.reboot, "1", "0")
YES_CELL(requeue, j->spec.requeue != NO, "1", "0")
NUMBER_CELL(req_switch, j->spec.req.switches)
TEXT_CELL(reservation, job_reservation(j), "(null)")
NUMBER_CELL(restarts, j->restarts)
TEXT_CELL(planned_nodes, j->planned_nodes, "(null)")
TEXT_CELL(state, job_state_shown(j), "")
TEXT_CELL(state_compact, job_state_shown_short(j), "")
TEXT_CELL(system_comment, j->system_comment, "(null)")
NUMBER_CELL(user_id, j->user_id)
TEXT_CELL(user, j->user_name, "nobody")
#define X(member, ...) TEXT_CELL(member, j->spec.member, "(null)")
JOB_ATTRIBUTES(X)
#undef X
TEXT_CELL(work_dir, j->spec.work_dir, "(null)")
/* For how long all its GPUs have done nothing. */
CELL(gpu_idle)
{
    (void)env;
    if (j->gpu_idle_us > 0)
        duration_format(j->gpu_idle_us / USEC_PER_SEC * USEC_PER_SEC, out);
    else
        str_add(out, "N/A");
}
/* Slurm's word, and after this one the nodes. */
CELL(reason)
{
    (void)env;
    /* squeue shows its few underscores as blanks; scontrol does not. */
    for (const char *c = enum_name(&job_reason_names, j->reason); *c; c++)
        str_addc(out, *c == '_' ? ' ' : *c);
    if (!text_empty(j->away_nodes))
        str_addf(out, ", UnavailableNodes:%s", j->away_nodes);
}
TEXT_CELL(dependency, j->spec.dependency, "(null)")
TEXT_CELL(container, j->spec.container, "(null)")
TEXT_CELL(profile, j->spec.profile, "NotSet")
TEXT_CELL(gpus, j->spec.req.gpus, "N/A")
TEXT_CELL(gpus_per_socket, j->spec.req.gpus_per_socket, "N/A")
TEXT_CELL(gpus_per_task, j->spec.req.gpus_per_task, "N/A")
NUMBER_CELL(priority_long, j->priority)
NUMBER_CELL(tmp_disk, j->spec.req.tmp_disk_mib)
NUMBER_CELL(ntasks_per_node, j->spec.req.ntasks_per_node)
NUMBER_CELL(derived_ec, j->derived_exit_status) /* wait statuses, as Slurm prints them */
NUMBER_CELL(exit_code, j->exit_status)
TEXT_CELL(het_set, j->het_set, "N/A")

CELL(het_id)
{
    (void)env;
    if (j->het_job_id)
        str_add_u64(out, j->het_job_id);
    else
        str_add(out, "N/A");
}

CELL(het_offset)
{
    (void)env;
    if (j->het_job_id)
        str_add_u64(out, j->het_offset);
    else
        str_add(out, "N/A");
}

CELL(array_task)
{
    if (j->array_task_id != NO_TASK && j->array_job_id)
        str_add_u64(out, j->array_task_id);
    else if (!text_empty(j->array_pending))
        job_cell_array(j, env->bits_shown, out);
    else
        str_add(out, "N/A");
}

CELL(label)
{
    job_cell_label(j, env->bits_shown, out);
}

CELL(core_spec)
{
    (void)env;
    if (j->spec.req.core_spec)
        str_add_i64(out, j->spec.req.core_spec - 1);
    else
        str_add(out, "N/A");
}

CELL(delay_boot)
{
    (void)env;
    duration_format_short(j->spec.delay_boot_us, out);
}

CELL(memory)
{
    (void)env;
    job_cell_memory(j, out);
}

CELL(oversubscribe)
{
    (void)env;
    if (j->spec.req.exclusive == EXCLUSIVE_NODE || j->spec.req.exclusive == EXCLUSIVE_TOPO)
        str_add(out, "NO");
    else if (j->spec.req.exclusive == EXCLUSIVE_USER)
        str_add(out, "USER");
    else if (j->spec.req.exclusive == EXCLUSIVE_MCS)
        str_add(out, "MCS");
    else
        str_add(out, j->spec.req.oversubscribe ? "YES" : "OK");
}

CELL(pending_time)
{
    int64_t until = j->start_us ? j->start_us : env->now_us;
    str_add_i64(out, (until - j->submit_us) / USEC_PER_SEC);
}

CELL(req_nodes)
{
    (void)env;
    job_cell_hosts(j->spec.req.nodelist, out);
}

CELL(exc_nodes)
{
    (void)env;
    job_cell_hosts(j->spec.req.exclude, out);
}

/* Between 0 and 1, as %p and Priority have it: the 64-bit priority as a part of 2^32. */
CELL(priority)
{
    (void)env;
    char text[32];
    snprintf(text, sizeof text, "%.14f", (double)j->priority / 4294967296.0);
    str_add(out, text);
}

/* The nodes, if any; of jobs that wait, and of those that failed, the reason in parentheses. */
CELL(reason_list)
{
    (void)env;
    static const uint32_t by_reason =
        UINT32_C(1) << JOB_PENDING | UINT32_C(1) << JOB_SPECIAL_EXIT | UINT32_C(1) << JOB_FAILED |
        UINT32_C(1) << JOB_TIMEOUT | UINT32_C(1) << JOB_DEADLINE | UINT32_C(1) << JOB_OUT_OF_MEMORY;
    if (by_reason & UINT32_C(1) << j->state) {
        str_addc(out, '(');
        cell_reason(env, j, out);
        str_addc(out, ')');
    } else if (!text_empty(j->nodes)) {
        str_add(out, j->nodes);
    }
}

CELL(sct)
{
    cell_sockets(env, j, out);
    str_addc(out, ':');
    cell_cores(env, j, out);
    str_addc(out, ':');
    cell_threads(env, j, out);
}

CELL(std_err)
{
    (void)env;
    job_cell_path(j, text_empty(j->spec.std_err) ? j->spec.std_out : j->spec.std_err, out);
}

CELL(std_in)
{
    (void)env;
    job_cell_path(j, text_empty(j->spec.std_in) ? "/dev/null" : j->spec.std_in, out);
}

CELL(std_out)
{
    (void)env;
    job_cell_path(j, j->spec.std_out, out);
}

CELL(time_used)
{
    duration_format_short(job_elapsed_us(j, env->now_us), out);
}

CELL(time_limit)
{
    (void)env;
    int64_t limit = job_limit_us(j);
    if (limit)
        duration_format_short(limit, out);
    else
        str_add(out, "UNLIMITED");
}

CELL(time_left)
{
    int64_t limit = job_limit_us(j);
    if (!limit || limit == TIME_UNLIMITED)
        str_add(out, "UNLIMITED");
    else if (limit < job_elapsed_us(j, env->now_us))
        str_add(out, "INVALID");
    else
        duration_format_short(limit - job_elapsed_us(j, env->now_us), out);
}

CELL(time_min)
{
    (void)env;
    duration_format_short(j->spec.req.time_min_us, out);
}

CELL(tres_alloc)
{
    (void)env;
    job_cell_tres(j, 0, out);
}

CELL(tres_per_node)
{
    (void)env;
    const struct job_request *r = &j->spec.req;
    if (!text_empty(r->gres))
        str_addf(out, "gres/%s", r->gres);
    else if (!text_empty(r->gpus_per_node))
        str_addf(out, "gres/gpu:%s", r->gpus_per_node);
    else
        str_add(out, "N/A");
}

CELL(wait_switch)
{
    (void)env;
    duration_format_short(j->spec.req.switches_wait_us, out);
}

/* NTPerCore, NTPerSocket: unset is not 0. */
static void unset_or_number(int32_t n, struct str *out)
{
    if (n > 0)
        str_add_i64(out, n);
    else
        str_add(out, "N/A");
}

CELL(ntasks_per_core)
{
    (void)env;
    unset_or_number(j->spec.req.ntasks_per_core, out);
}

CELL(ntasks_per_socket)
{
    (void)env;
    unset_or_number(j->spec.req.ntasks_per_socket, out);
}

CELL(cluster)
{
    (void)j;
    str_add(out, env->cluster ? env->cluster : "N/A");
}

/* What there is nothing to say of: Slurm's words for it. */
#define CONSTANT_CELL(name, text) TEXT_CELL(name, j ? text : text, "")
CONSTANT_CELL(nothing, "N/A")
CONSTANT_CELL(none, "(null)")
CONSTANT_CELL(no_origin, "NA")
CONSTANT_CELL(zero, "0")
CONSTANT_CELL(empty, "")

/* Fields that several cells read. */
#define F_LABEL  JOB_LABEL_FIELDS
#define F_NODES  "alloc_nodes,min_nodes,max_nodes,ntasks,ntasks_per_node"
#define F_CPUS   F_NODES ",alloc_cpus,alloc_tasks,cpus_per_task,overcommit"
#define F_TIMES  "state,start_us,end_us,suspend_us,suspended_us"
#define F_LIMIT  "limit_us,time_limit_us"
#define F_MEMORY "mem_per_cpu_mib,mem_per_node_mib,mem_per_gpu_mib,alloc_mem_mib,alloc_nodes"
#define F_PATH                                                                                     \
    "id,array_job_id,array_task_id,batch_host,user_name,name,work_dir,std_out,std_err,std_in"
#define F_TRES                                                                                     \
    F_CPUS "," F_MEMORY                                                                            \
           ",billing_plus1,billing_asked_plus1,alloc_gres,gpus,gpus_per_node,gpus_per_socket,"     \
           "sockets_per_node,gpus_per_task,ntasks_per_gpu,ntasks,gres"

/* X(long name, letter, header, cell, fields read) */
// clang-format off
#define JOB_COLUMNS(X)                                                                                       \
    X("Account", 'a', "ACCOUNT", account, "account")                                                         \
    X("AccrueTime", 0, "ACCRUE_TIME", accrue, "eligible_us,accrue_us")                                         \
    X("admin_comment", 0, "ADMIN_COMMENT", admin_comment, "admin_comment")                                   \
    X("AllocNodes", 0, "ALLOC_NODES", alloc_host, "alloc_host")                                              \
    X("AllocSID", 0, "ALLOC_SID", nothing, "id")                                                             \
    X("JobID", 'A', "JOBID", id, "id")                                                                       \
    X("ArrayJobID", 'F', "ARRAY_JOB_ID", array_job_id, "id,array_job_id")                                    \
    X("ArrayTaskID", 'K', "ARRAY_TASK_ID", array_task, F_LABEL)                                              \
    X("AssocID", 0, "ASSOC_ID", nothing, "id")                                                               \
    X("BatchFlag", 0, "BATCH_FLAG", batch_flag, "batch")                                                     \
    X("BatchHost", 'B', "EXEC_HOST", batch_host, "batch_host")                                               \
    X("BoardsPerNode", 0, "BOARDS_PER_NODE", zero, "id")                                                     \
    X("BurstBuffer", 0, "BURST_BUFFER", none, "id")                                                          \
    X("BurstBufferState", 0, "BURST_BUFFER_STATE", none, "id")                                               \
    X("Cluster", 0, "CLUSTER", cluster, "id")                                                                \
    X("ClusterFeature", 0, "CLUSTER_FEATURES", none, "id")                                                   \
    X("Command", 'o', "COMMAND", command, "command")                                                         \
    X("Comment", 'k', "COMMENT", comment, "comment")                                                         \
    X("Container", 0, "CONTAINER", container, "container")                                                   \
    X("ContainerID", 0, "CONTAINER_ID", none, "id")                                                          \
    X("Contiguous", 'O', "CONTIGUOUS", contiguous, "contiguous")                                             \
    X("Cores", 'I', "CORES_PER_SOCKET", cores, "cores_per_socket,hint")                                      \
    X("CoreSpec", 'X', "CORE_SPEC", core_spec, "core_spec")                                                  \
    X("CPUFreq", 0, "CPUS_FREQ", nothing, "id")                                                              \
    X("cpus-per-task", 0, "CPUS_PER_TASK", cpus_per_task, "cpus_per_task")                                   \
    X("cpus-per-tres", 0, "CPUS_PER_TRES", nothing, "id")                                                    \
    X("Deadline", 0, "DEADLINE", deadline, "deadline_us")                                                    \
    X("DelayBoot", 0, "DELAY_BOOT", delay_boot, "delay_boot_us")                                             \
    X("Dependency", 'E', "DEPENDENCY", dependency, "dependency")                                             \
    X("DerivedEC", 0, "DERIVED_EC", derived_ec, "derived_exit_status")                                       \
    X("EligibleTime", 0, "ELIGIBLE_TIME", eligible, "eligible_us")                                           \
    X("EndTime", 'e', "END_TIME", end, "end_us,state")                                                       \
    X("exit_code", 0, "EXIT_CODE", exit_code, "exit_status")                                                 \
    X("Feature", 'f', "FEATURES", feature, "constraint")                                                     \
    X("GpuIdle", 0, "GPU_IDLE", gpu_idle, "gpu_idle_us")                                                    \
    X("GroupID", 'G', "GROUP", group_id, "group_id")                                                         \
    X("GroupName", 'g', "GROUP", group, "group_name")                                                        \
    X("HetJobID", 0, "HET_JOB_ID", het_id, "het_job_id")                                                     \
    X("HetJobIDSet", 0, "HET_JOB_ID_SET", het_set, "het_set")                                                \
    X("HetJobOffset", 0, "HET_JOB_OFFSET", het_offset, "het_job_id,het_offset")                              \
    X("JobArrayID", 'i', "JOBID", label, F_LABEL)                                                            \
    X("LastSchedEval", 0, "LAST_SCHED_EVAL", evaluated, "evaluated_us,start_us,submit_us")                   \
    X("Licenses", 'W', "LICENSES", licenses, "licenses")                                                     \
    X("MaxCPUs", 0, "MAX_CPUS", cpus, F_CPUS)                                                                \
    X("MaxNodes", 0, "MAX_NODES", max_nodes, F_NODES)                                                        \
    X("MCSLabel", 0, "MCSLABEL", none, "id")                                                                 \
    X("mem-per-tres", 0, "MEM_PER_TRES", nothing, "id")                                                      \
    X("MinCpus", 'c', "MIN_CPUS", min_cpus, "min_cpus_per_node,cpus_per_task,ntasks_per_node,ntasks,overcommit")               \
    X("MinMemory", 'm', "MIN_MEMORY", memory, F_MEMORY)                                                      \
    X("MinTime", 0, "TIME_MIN", time_min, "time_min_us")                                                     \
    X("MinTmpDisk", 'd', "MIN_TMP_DISK", tmp_disk, "tmp_disk_mib")                                           \
    X("Name", 'j', "NAME", name, "name")                                                                     \
    X("Network", 0, "NETWORK", none, "id")                                                                   \
    X("Nice", 'y', "NICE", nice, "nice")                                                                     \
    X("NodeList", 'N', "NODELIST", node_list, "nodes")                                                       \
    X("Nodes", 0, "NODES", num_nodes, F_NODES)                                                               \
    X("NTPerBoard", 0, "NTASKS_PER_BOARD", zero, "id")                                                       \
    X("NTPerCore", 0, "NTASKS_PER_CORE", ntasks_per_core, "ntasks_per_core")                                 \
    X("NTPerNode", 0, "NTASKS_PER_NODE", ntasks_per_node, "ntasks_per_node")                                 \
    X("NTPerSocket", 0, "NTASKS_PER_SOCKET", ntasks_per_socket, "ntasks_per_socket")                         \
    X("NumCPUs", 'C', "CPUS", cpus, F_CPUS)                                                                  \
    X("NumNodes", 'D', "NODES", num_nodes, F_NODES)                                                          \
    X("NumTasks", 0, "TASKS", num_tasks, F_CPUS)                                                             \
    X("Origin", 0, "ORIGIN", no_origin, "id")                                                                \
    X("OriginRaw", 0, "ORIGIN_RAW", no_origin, "id")                                                         \
    X("OverSubscribe", 'h', "OVER_SUBSCRIBE", oversubscribe, "exclusive,oversubscribe")                      \
    X("Partition", 'P', "PARTITION", partition, "partition,run_partition")                                   \
    X("PendingTime", 0, "PENDING_TIME", pending_time, "submit_us,start_us")                                  \
    X("PreemptTime", 0, "PREEMPT_TIME", preempt, "preempt_us")                                                       \
    X("Prefer", 0, "PREFER", prefer, "prefer")                                                               \
    X("Priority", 'p', "PRIORITY", priority, "priority")                                                     \
    X("PriorityLong", 'Q', "PRIORITY", priority_long, "priority")                                            \
    X("Profile", 0, "PROFILE", profile, "profile")                                                           \
    X("QOS", 'q', "QOS", qos, "qos")                                                                         \
    X("Reason", 'r', "REASON", reason, "reason,away_nodes")                                                  \
    X("ReasonList", 'R', "NODELIST(REASON)", reason_list, "state,nodes,reason,away_nodes")                   \
    X("Reboot", 0, "REBOOT", reboot, "reboot")                                                               \
    X("ReqNodes", 'n', "REQ_NODES", req_nodes, "nodelist")                                                   \
    X("ReqSwitch", 0, "REQ_SWITCH", req_switch, "switches")                                                  \
    X("Requeue", 0, "REQUEUE", requeue, "requeue")                                                           \
    X("Reservation", 'v', "RESERVATION", reservation, "reservation,run_reservation,state")                                         \
    X("ResizeTime", 0, "RESIZE_TIME", nothing, "id")                                                         \
    X("RestartCnt", 0, "RESTART_COUNT", restarts, "restarts")                                                \
    X("ResvPort", 0, "RESV_PORT", nothing, "id")                                                             \
    X("SchedNodes", 'Y', "SCHEDNODES", planned_nodes, "planned_nodes")                                       \
    X("SCT", 'z', "S:C:T", sct, "sockets_per_node,cores_per_socket,threads_per_core,hint")                   \
    X("SelectJobInfo", 's', "", empty, "id")                                                                 \
    X("SiblingsActive", 0, "ACTIVE_SIBLINGS", no_origin, "id")                                               \
    X("SiblingsActiveRaw", 0, "ACTIVE_SIBLINGS_RAW", no_origin, "id")                                        \
    X("SiblingsViable", 0, "VIABLE_SIBLINGS", no_origin, "id")                                               \
    X("SiblingsViableRaw", 0, "VIALBLE_SIBLINGS_RAW", no_origin, "id")                                       \
    X("Sockets", 'H', "SOCKETS_PER_NODE", sockets, "sockets_per_node")                                       \
    X("SPerBoard", 0, "SOCKETS_PER_BOARD", zero, "id")                                                       \
    X("StartTime", 'S', "START_TIME", start, "start_us,planned_us")                                          \
    X("State", 'T', "STATE", state, "state,stopped_us")                                                      \
    X("StateCompact", 't', "ST", state_compact, "state,stopped_us")                                          \
    X("StdErr", 0, "STDERR", std_err, F_PATH)                                                                \
    X("StdIn", 0, "STDIN", std_in, F_PATH)                                                                   \
    X("StdOut", 0, "STDOUT", std_out, F_PATH)                                                                \
    X("SubmitTime", 'V', "SUBMIT_TIME", submit, "submit_us")                                                 \
    X("system_comment", 0, "SYSTEM_COMMENT", system_comment, "system_comment")                               \
    X("Threads", 'J', "THREADS_PER_CORE", threads, "threads_per_core,hint")                                  \
    X("TimeLeft", 'L', "TIME_LEFT", time_left, F_TIMES "," F_LIMIT)                                          \
    X("TimeLimit", 'l', "TIME_LIMIT", time_limit, F_LIMIT)                                                   \
    X("TimeUsed", 'M', "TIME", time_used, F_TIMES)                                                           \
    X("tres-alloc", 0, "TRES_ALLOC", tres_alloc, F_TRES)                                                     \
    X("tres-bind", 0, "TRES_BIND", nothing, "id")                                                            \
    X("tres-freq", 0, "TRES_FREQ", nothing, "id")                                                            \
    X("tres-per-job", 0, "TRES_PER_JOB", gpus, "gpus")                                                       \
    X("tres-per-node", 'b', "TRES_PER_NODE", tres_per_node, "gres,gpus_per_node")                            \
    X("tres-per-socket", 0, "TRES_PER_SOCKET", gpus_per_socket, "gpus_per_socket")                           \
    X("tres-per-step", 0, "TRES_PER_STEP", nothing, "id")                                                    \
    X("tres-per-task", 0, "TRES_PER_TASK", gpus_per_task, "gpus_per_task")                                   \
    X("UserID", 'U', "UID", user_id, "user_id")                                                              \
    X("UserName", 'u', "USER", user, "user_name")                                                            \
    X("Wait4Switch", 0, "WAIT4SWITCH", wait_switch, "switches_wait_us")                                      \
    X("WorkDir", 'Z', "WORK_DIR", work_dir, "work_dir")                                                      \
    X("ExcNodes", 'x', "EXC_NODES", exc_nodes, "exclude")                                                    \
    X("gres", 0, "TRES_PER_NODE", tres_per_node, "gres,gpus_per_node")
// clang-format on

static const struct column columns[] = {
#define X(name, letter, header, cell, fields) {name, letter, header, 0, fields, cell_##cell},
    JOB_COLUMNS(X)
#undef X
// clang-format off
#define X(member, name, letter, header, width, json, ...) {name, letter, header, 0, #member, cell_##member},
    JOB_ATTRIBUTES(X)
#undef X
    // clang-format on
};

const struct column_table job_columns = {columns, ARRAY_LEN(columns), "job", "lLM"};
