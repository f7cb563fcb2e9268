/* A partition, with the keys of slurm.conf(5). */
#ifndef REMUDA_MODEL_PARTITION_H
#define REMUDA_MODEL_PARTITION_H

#include "model/fields.h"

enum part_state { PART_UP, PART_DOWN, PART_DRAIN, PART_INACTIVE };
enum part_share { SHARE_NO, SHARE_EXCLUSIVE, SHARE_YES, SHARE_FORCE };
enum preempt_mode {
    PREEMPT_UNSET, /* the cluster's */
    /* as the cluster does */ PREEMPT_OFF,
    PREEMPT_CANCEL,  /* who gives way ends */
    PREEMPT_REQUEUE, /* or waits again */
    PREEMPT_SUSPEND, /* or is stopped, and goes on later */
    /* or they take turns */
    PREEMPT_GANG
};
/* EnforcePartLimits: NO; ANY (one partition of a list that takes the job is enough); ours: CLAMP;
 * ALL (each must) */
enum limit_policy { LIMITS_PEND, LIMITS_REFUSE, LIMITS_CLAMP, LIMITS_ALL };
extern const struct enum_names part_state_names, part_share_names, preempt_mode_names,
    limit_policy_names;

// clang-format off
#define PARTITION_FIELDS(X)                                                                        \
    X(TEXT, name, 0, "partition name")                                                             \
    X(TEXT, nodes, 0, "nodes, folded")                                                             \
    X(BOOL, is_default, 0, "used when a job names none")                                           \
    X(ENUM, state, &part_state_names, "UP, DOWN, DRAIN, INACTIVE")                                 \
    X(SPAN, max_time_us, 0, "longest limit; 0 = unlimited")                                        \
    X(SPAN, default_time_us, 0, "limit of jobs that give none; 0 = max_time")                      \
    X(I32, min_nodes, 0, "nodes a job, at least")                                                  \
    X(I32, max_nodes, 0, "nodes a job, at most; 0 = unlimited")                                    \
    X(I32, max_cpus_per_node, 0, "CPUs its jobs may have on a node, together; 0 = unlimited")                   \
    X(I32, max_cpus_per_socket, 0, "CPUs its jobs may have on a socket, together; 0 = unlimited")  \
    X(MIB, max_mem_per_node_mib, 0, "memory a job may have on a node; 0 = unlimited")              \
    X(MIB, max_mem_per_cpu_mib, 0, "memory a job may have for each CPU; 0 = unlimited")            \
    X(MIB, def_mem_per_node_mib, 0, "memory a node for jobs that ask none; 0 = not set")           \
    X(MIB, def_mem_per_cpu_mib, 0, "memory a CPU for jobs that ask none; 0 = not set")             \
    X(MIB, def_mem_per_gpu_mib, 0, "memory a GPU for jobs that ask none")                          \
    X(I32, def_cpu_per_gpu, &range_cpus, "CPUs a GPU for jobs that ask none")                      \
    X(TEXT, allow_groups, 0, "groups that may use it; NULL = all")                                 \
    X(TEXT, allow_accounts, 0, "accounts that may use it; NULL = all")                             \
    X(TEXT, deny_accounts, 0, "accounts that may not")                                             \
    X(TEXT, allow_qos, 0, "QOS that may use it; NULL = all")                                       \
    X(TEXT, deny_qos, 0, "QOS that may not")                                                       \
    X(TEXT, alloc_nodes, 0, "hosts jobs may be submitted from; NULL = all")                        \
    X(TEXT, qos, 0, "QOS of the partition itself")                                                 \
    X(I32, priority_tier, 0, "higher tiers are considered first; 1 unless set")                    \
    X(I32, priority_job_factor, 0, "added to the priority; 1 unless set")                          \
    X(ENUM, preempt_mode, &preempt_mode_names, "how its jobs give way; unset = as PreemptMode of the cluster says")                            \
    X(SPAN, grace_time_us, 0, "warning before preemption")                                         \
    X(SPAN, over_time_limit_us, 0, "how far past its limit a job may run")                         \
    X(ENUM, share, &part_share_names, "OverSubscribe")                                             \
    X(I32, share_count, 0, "jobs that may share a resource: FORCE:n, YES:n")                       \
    X(BOOL, exclusive_user, 0, "a node serves one user at a time")                                 \
    X(BOOL, hidden, 0, "shown only with -a")                                                       \
    X(BOOL, root_only, 0, "only root may submit")                                                  \
    X(BOOL, req_resv, 0, "only inside a reservation")                                              \
    X(BOOL, lln, 0, "least loaded nodes first")                                                    \
    X(BOOL, disable_root, 0, "root may not submit (DisableRootJobs)")                              \
    X(TEXT, billing_weights, 0, "what use of its resources costs: CPU=1.0,Mem=0.25G,GRES/gpu=2; NULL = 1 a CPU") \
    X(TEXT, alternate, 0, "partition used when this one is not available")                         \
    X(TEXT, time_windows, 0, "limits by time of day (model/grammar/time_windows.h): weekdays 08:00-18:00 max_jobs_per_user=2; …")         \
    X(TEXT, set_fields, 0, "fields that scontrol set and the configuration file does not know; all: it made the partition") \
    X(I32, total_nodes, 0, "nodes in it (computed)")                                               \
    X(I32, total_cpus, 0, "CPUs in it (computed)")                                                 \
    X(TEXT, tres, 0, "all it has: cpu=8,mem=16000M,node=2,gres/gpu=4 (computed)") \
    X(TEXT, cpu_bind, 0, "how tasks are bound that nobody asks to be bound, where their nodes do not say it (CpuBind)") \
    X(TEXT, def_cpu_per_gpu_types, 0, "CPUs a GPU by its type, where that is not as def_cpu_per_gpu says: a100=16,v100=8") \
    X(TEXT, def_mem_per_gpu_types, 0, "memory a GPU by its type, the same: a100=64000") \
    X(TEXT, gpu_idle, 0, "what is done about its jobs whose GPUs are idle (model/grammar/gpu_idle.h); NULL = as GpuIdle of the cluster says")
// clang-format on

struct partition {
    PARTITION_FIELDS(FIELD_MEMBER)
};
extern const struct fields partition_fields;

/* Of a GPU of that type (NULL = untyped), as "a100=16,v100=8" has it; else `otherwise`. */
int64_t partition_per_type(const char *types, const char *type, int64_t otherwise);

/* What GPUs bring, as JobDefaults has it: "DefCpuPerGPU=4,a100:16,DefMemPerGPU=8000" (MiB), in a;
 * NULL: nothing. */
const char *partition_job_defaults(const struct partition *p, struct arena *a);

#endif
