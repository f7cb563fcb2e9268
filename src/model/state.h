/* The life cycle of a job as a table: states, their names, and which moves are allowed. */
#ifndef REMUDA_MODEL_STATE_H
#define REMUDA_MODEL_STATE_H

#include "model/fields.h"

/* X(state, long name, short name as squeue %t, is it over) */
// clang-format off
#define JOB_STATES(X)                                       \
    X(PENDING, "PENDING", "PD", false)                      \
    X(RUNNING, "RUNNING", "R", false)                       \
    X(SUSPENDED, "SUSPENDED", "S", false)                   \
    X(COMPLETING, "COMPLETING", "CG", false)                \
    X(COMPLETED, "COMPLETED", "CD", true)                   \
    X(CANCELLED, "CANCELLED", "CA", true)                   \
    X(FAILED, "FAILED", "F", true)                          \
    X(TIMEOUT, "TIMEOUT", "TO", true)                       \
    X(NODE_FAIL, "NODE_FAIL", "NF", true)                   \
    X(PREEMPTED, "PREEMPTED", "PR", true)                   \
    X(BOOT_FAIL, "BOOT_FAIL", "BF", true)                   \
    X(DEADLINE, "DEADLINE", "DL", true)                     \
    X(OUT_OF_MEMORY, "OUT_OF_MEMORY", "OOM", true)          \
    X(REQUEUED, "REQUEUED", "RQ", false)                    \
    X(SPECIAL_EXIT, "SPECIAL_EXIT", "SE", false)           \
    X(RESIZING, "RESIZING", "RS", true)
// clang-format on

/* PENDING…SUSPENDED are what they say. COMPLETING: the script ended (record.end_state says how),
 * processes or nodes are still being cleaned. REQUEUED: ended (cleaning) and goes back to PENDING;
 * SPECIAL_EXIT: requeued and held (scontrol requeuehold State=SpecialExit). RESIZING: of no job; in
 * the accounting, the part of a run before it gave nodes back. */
enum job_state {
#define X(state, name, shorter, over) JOB_##state,
    JOB_STATES(X)
#undef X
        JOB_STATE_COUNT
};

extern const struct enum_names job_state_names;
/* "PD", "R"; "?" for what is no state. */
const char *job_state_short(enum job_state s);
/* Final: it will not change again. */
bool job_state_over(enum job_state s);
bool job_state_allowed(enum job_state from, enum job_state to); /* the table of moves */
/* "PENDING", "pd", "r", "timeout": long or short, any case; also Slurm's CONFIGURING/CF,
 * REVOKED/RV, SIGNALING/SI, STAGE_OUT/SO, STOPPED/ST, REQUEUE_FED/RF, REQUEUE_HOLD/RH,
 * RESV_DEL_HOLD/RD, which no job of ours is ever in: then *ret = -1 and true. */
bool job_state_parse(const char *text, int32_t *ret);

/* Limits of accounts and QOS: of each kind of resource a reason of its own, as Slurm has them. X as
 * below. */
// clang-format off
#define LIMIT_REASONS(X) \
    X(ASSOC_GRP_CPU, "AssocGrpCpuLimit", "its account has as many CPUs as it may") \
    X(ASSOC_GRP_MEM, "AssocGrpMemLimit", "its account has as many memory as it may") \
    X(ASSOC_GRP_NODE, "AssocGrpNodeLimit", "its account has as many nodes as it may") \
    X(ASSOC_GRP_GRES, "AssocGrpGRES", "its account has as many devices as it may") \
    X(ASSOC_GRP_LICENSE, "AssocGrpLicense", "its account has as many licences as it may") \
    X(ASSOC_GRP_BILLING, "AssocGrpBilling", "its account has as many billing units as it may") \
    X(ASSOC_GRP_OTHER, "AssocGrpUnknown", "its account has as many resources as it may") \
    X(ASSOC_MAX_JOB_CPU, "AssocMaxCpuPerJobLimit", "asks for more CPUs than a job of its account may have") \
    X(ASSOC_MAX_JOB_MEM, "AssocMaxMemPerJob", "asks for more memory than a job of its account may have") \
    X(ASSOC_MAX_JOB_NODE, "AssocMaxNodePerJobLimit", "asks for more nodes than a job of its account may have") \
    X(ASSOC_MAX_JOB_GRES, "AssocMaxGRESPerJob", "asks for more devices than a job of its account may have") \
    X(ASSOC_MAX_JOB_LICENSE, "AssocMaxLicensePerJob", "asks for more licences than a job of its account may have") \
    X(ASSOC_MAX_JOB_BILLING, "AssocMaxBillingPerJob", "asks for more billing units than a job of its account may have") \
    X(ASSOC_MAX_JOB_OTHER, "AssocMaxUnknownPerJob", "asks for more resources than a job of its account may have") \
    X(ASSOC_MAX_NODE_CPU, "AssocMaxCpuPerNode", "asks for more CPUs on a node than a job of its account may have") \
    X(ASSOC_MAX_NODE_MEM, "AssocMaxMemPerNode", "asks for more memory on a node than a job of its account may have") \
    X(ASSOC_MAX_NODE_NODE, "AssocMaxNodePerJobLimit", "asks for more nodes on a node than a job of its account may have") \
    X(ASSOC_MAX_NODE_GRES, "AssocMaxGRESPerNode", "asks for more devices on a node than a job of its account may have") \
    X(ASSOC_MAX_NODE_LICENSE, "AssocMaxLicensePerJob", "asks for more licences on a node than a job of its account may have") \
    X(ASSOC_MAX_NODE_BILLING, "AssocMaxBillingPerNode", "asks for more billing units on a node than a job of its account may have") \
    X(ASSOC_MAX_NODE_OTHER, "AssocMaxUnknownPerNode", "asks for more resources on a node than a job of its account may have") \
    X(ASSOC_MAX_MINS_CPU, "AssocMaxCpuMinutesPerJobLimit", "asks for more CPUs × minutes than a job of its account may have") \
    X(ASSOC_MAX_MINS_MEM, "AssocMaxMemMinutesPerJob", "asks for more memory × minutes than a job of its account may have") \
    X(ASSOC_MAX_MINS_NODE, "AssocMaxNodeMinutesPerJob", "asks for more nodes × minutes than a job of its account may have") \
    X(ASSOC_MAX_MINS_GRES, "AssocMaxGRESMinutesPerJob", "asks for more devices × minutes than a job of its account may have") \
    X(ASSOC_MAX_MINS_LICENSE, "AssocMaxLicenseMinutesPerJob", "asks for more licences × minutes than a job of its account may have") \
    X(ASSOC_MAX_MINS_BILLING, "AssocMaxBillingMinutesPerJob", "asks for more billing units × minutes than a job of its account may have") \
    X(ASSOC_MAX_MINS_OTHER, "AssocMaxUnknownMinutesPerJob", "asks for more resources × minutes than a job of its account may have") \
    X(QOS_GRP_CPU, "QOSGrpCpuLimit", "jobs of its QOS have as many CPUs as they may") \
    X(QOS_GRP_MEM, "QOSGrpMemLimit", "jobs of its QOS have as many memory as they may") \
    X(QOS_GRP_NODE, "QOSGrpNodeLimit", "jobs of its QOS have as many nodes as they may") \
    X(QOS_GRP_GRES, "QOSGrpGRES", "jobs of its QOS have as many devices as they may") \
    X(QOS_GRP_LICENSE, "QOSGrpLicense", "jobs of its QOS have as many licences as they may") \
    X(QOS_GRP_BILLING, "QOSGrpBilling", "jobs of its QOS have as many billing units as they may") \
    X(QOS_GRP_OTHER, "QOSGrpUnknown", "jobs of its QOS have as many resources as they may") \
    X(QOS_MAX_USER_CPU, "QOSMaxCpuPerUserLimit", "its user's jobs have as many CPUs as the QOS allows") \
    X(QOS_MAX_USER_MEM, "QOSMaxMemoryPerUser", "its user's jobs have as many memory as the QOS allows") \
    X(QOS_MAX_USER_NODE, "QOSMaxNodePerUserLimit", "its user's jobs have as many nodes as the QOS allows") \
    X(QOS_MAX_USER_GRES, "QOSMaxGRESPerUser", "its user's jobs have as many devices as the QOS allows") \
    X(QOS_MAX_USER_LICENSE, "QOSMaxLicensePerUser", "its user's jobs have as many licences as the QOS allows") \
    X(QOS_MAX_USER_BILLING, "QOSMaxBillingPerUser", "its user's jobs have as many billing units as the QOS allows") \
    X(QOS_MAX_USER_OTHER, "QOSMaxUnknownPerUser", "its user's jobs have as many resources as the QOS allows") \
    X(QOS_MAX_ACCOUNT_CPU, "MaxCpuPerAccount", "its account's jobs have as many CPUs as the QOS allows") \
    X(QOS_MAX_ACCOUNT_MEM, "MaxMemoryPerAccount", "its account's jobs have as many memory as the QOS allows") \
    X(QOS_MAX_ACCOUNT_NODE, "MaxNodePerAccount", "its account's jobs have as many nodes as the QOS allows") \
    X(QOS_MAX_ACCOUNT_GRES, "MaxGRESPerAccount", "its account's jobs have as many devices as the QOS allows") \
    X(QOS_MAX_ACCOUNT_LICENSE, "MaxLicensePerAccount", "its account's jobs have as many licences as the QOS allows") \
    X(QOS_MAX_ACCOUNT_BILLING, "MaxBillingPerAccount", "its account's jobs have as many billing units as the QOS allows") \
    X(QOS_MAX_ACCOUNT_OTHER, "MaxUnknownPerAccount", "its account's jobs have as many resources as the QOS allows") \
    X(QOS_MAX_JOB_CPU, "QOSMaxCpuPerJobLimit", "asks for more CPUs than a job of its QOS may have") \
    X(QOS_MAX_JOB_MEM, "QOSMaxMemoryPerJob", "asks for more memory than a job of its QOS may have") \
    X(QOS_MAX_JOB_NODE, "QOSMaxNodePerJobLimit", "asks for more nodes than a job of its QOS may have") \
    X(QOS_MAX_JOB_GRES, "QOSMaxGRESPerJob", "asks for more devices than a job of its QOS may have") \
    X(QOS_MAX_JOB_LICENSE, "QOSMaxLicensePerJob", "asks for more licences than a job of its QOS may have") \
    X(QOS_MAX_JOB_BILLING, "QOSMaxBillingPerJob", "asks for more billing units than a job of its QOS may have") \
    X(QOS_MAX_JOB_OTHER, "QOSMaxUnknownPerJob", "asks for more resources than a job of its QOS may have") \
    X(QOS_MAX_NODE_CPU, "QOSMaxCpuPerNode", "asks for more CPUs on a node than a job of its QOS may have") \
    X(QOS_MAX_NODE_MEM, "QOSMaxMemoryPerNode", "asks for more memory on a node than a job of its QOS may have") \
    X(QOS_MAX_NODE_NODE, "QOSMaxNodePerJobLimit", "asks for more nodes on a node than a job of its QOS may have") \
    X(QOS_MAX_NODE_GRES, "QOSMaxGRESPerNode", "asks for more devices on a node than a job of its QOS may have") \
    X(QOS_MAX_NODE_LICENSE, "QOSMaxLicensePerJob", "asks for more licences on a node than a job of its QOS may have") \
    X(QOS_MAX_NODE_BILLING, "QOSMaxBillingPerNode", "asks for more billing units on a node than a job of its QOS may have") \
    X(QOS_MAX_NODE_OTHER, "QOSMaxUnknownPerNode", "asks for more resources on a node than a job of its QOS may have") \
    X(QOS_MAX_MINS_CPU, "QOSMaxCpuMinutesPerJobLimit", "asks for more CPUs × minutes than a job of its QOS may have") \
    X(QOS_MAX_MINS_MEM, "QOSMaxMemoryMinutesPerJob", "asks for more memory × minutes than a job of its QOS may have") \
    X(QOS_MAX_MINS_NODE, "QOSMaxNodeMinutesPerJob", "asks for more nodes × minutes than a job of its QOS may have") \
    X(QOS_MAX_MINS_GRES, "QOSMaxGRESMinutesPerJob", "asks for more devices × minutes than a job of its QOS may have") \
    X(QOS_MAX_MINS_LICENSE, "QOSMaxLicenseMinutesPerJob", "asks for more licences × minutes than a job of its QOS may have") \
    X(QOS_MAX_MINS_BILLING, "QOSMaxBillingMinutesPerJob", "asks for more billing units × minutes than a job of its QOS may have") \
    X(QOS_MAX_MINS_OTHER, "QOSMaxUnknownMinutesPerJob", "asks for more resources × minutes than a job of its QOS may have") \
    X(QOS_MIN_CPU, "QOSMinCpuNotSatisfied", "asks for fewer CPUs than a job of its QOS must have") \
    X(QOS_MIN_MEM, "QOSMinMemory", "asks for fewer memory than a job of its QOS must have") \
    X(QOS_MIN_NODE, "QOSMinNode", "asks for fewer nodes than a job of its QOS must have") \
    X(QOS_MIN_GRES, "QOSMinGRES", "asks for fewer devices than a job of its QOS must have") \
    X(QOS_MIN_LICENSE, "QOSMinLicense", "asks for fewer licences than a job of its QOS must have") \
    X(QOS_MIN_BILLING, "QOSMinBilling", "asks for fewer billing units than a job of its QOS must have") \
    X(QOS_MIN_OTHER, "QOSMinUnknown", "asks for fewer resources than a job of its QOS must have") \
    X(ASSOC_MAX_JOBS, "AssocMaxJobsLimit", "as many of its user's jobs run as its account allows") \
    X(ASSOC_MAX_WALL, "AssocMaxWallDurationPerJobLimit", "its time limit is longer than its account allows") \
    X(QOS_GRP_JOBS, "QOSGrpJobsLimit", "as many jobs of its QOS run as may") \
    X(QOS_MAX_JOBS_PER_ACCOUNT, "MaxJobsPerAccount", "as many of its account's jobs run as the QOS allows") \
    X(QOS_MAX_WALL, "QOSMaxWallDurationPerJobLimit", "its time limit is longer than its QOS allows") \
    X(INVALID_ACCOUNT, "InvalidAccount", "its account is gone") \
    X(INVALID_QOS, "InvalidQOS", "its QOS is gone, or it may not use it any more") \
    X(ASSOC_GRP_MINS_CPU, "AssocGrpCPUMinutesLimit", "its account has used as many resources × minutes as it may") \
    X(ASSOC_GRP_RUN_MINS_CPU, "AssocGrpCPURunMinutesLimit", "running jobs of its account may still use as many resources × minutes as they may") \
    X(ASSOC_GRP_MINS_MEM, "AssocGrpMemMinutes", "its account has used as many resources × minutes as it may") \
    X(ASSOC_GRP_RUN_MINS_MEM, "AssocGrpMemRunMinutes", "running jobs of its account may still use as many resources × minutes as they may") \
    X(ASSOC_GRP_MINS_NODE, "AssocGrpNodeMinutes", "its account has used as many resources × minutes as it may") \
    X(ASSOC_GRP_RUN_MINS_NODE, "AssocGrpNodeRunMinutes", "running jobs of its account may still use as many resources × minutes as they may") \
    X(ASSOC_GRP_MINS_GRES, "AssocGrpGRESMinutes", "its account has used as many resources × minutes as it may") \
    X(ASSOC_GRP_RUN_MINS_GRES, "AssocGrpGRESRunMinutes", "running jobs of its account may still use as many resources × minutes as they may") \
    X(ASSOC_GRP_MINS_LICENSE, "AssocGrpLicenseMinutes", "its account has used as many resources × minutes as it may") \
    X(ASSOC_GRP_RUN_MINS_LICENSE, "AssocGrpLicenseRunMinutes", "running jobs of its account may still use as many resources × minutes as they may") \
    X(ASSOC_GRP_MINS_BILLING, "AssocGrpBillingMinutes", "its account has used as many resources × minutes as it may") \
    X(ASSOC_GRP_RUN_MINS_BILLING, "AssocGrpBillingRunMinutes", "running jobs of its account may still use as many resources × minutes as they may") \
    X(ASSOC_GRP_MINS_OTHER, "AssocGrpUnknownMinutes", "its account has used as many resources × minutes as it may") \
    X(ASSOC_GRP_RUN_MINS_OTHER, "AssocGrpUnknownRunMinutes", "running jobs of its account may still use as many resources × minutes as they may") \
    X(ASSOC_GRP_WALL, "AssocGrpWallLimit", "its account has used as much wall clock time as it may") \
    X(QOS_GRP_MINS_CPU, "QOSGrpCPUMinutesLimit", "its QOS has used as many resources × minutes as it may") \
    X(QOS_GRP_RUN_MINS_CPU, "QOSGrpCPURunMinutesLimit", "running jobs of its QOS may still use as many resources × minutes as they may") \
    X(QOS_GRP_MINS_MEM, "QOSGrpMemoryMinutes", "its QOS has used as many resources × minutes as it may") \
    X(QOS_GRP_RUN_MINS_MEM, "QOSGrpMemoryRunMinutes", "running jobs of its QOS may still use as many resources × minutes as they may") \
    X(QOS_GRP_MINS_NODE, "QOSGrpNodeMinutes", "its QOS has used as many resources × minutes as it may") \
    X(QOS_GRP_RUN_MINS_NODE, "QOSGrpNodeRunMinutes", "running jobs of its QOS may still use as many resources × minutes as they may") \
    X(QOS_GRP_MINS_GRES, "QOSGrpGRESMinutes", "its QOS has used as many resources × minutes as it may") \
    X(QOS_GRP_RUN_MINS_GRES, "QOSGrpGRESRunMinutes", "running jobs of its QOS may still use as many resources × minutes as they may") \
    X(QOS_GRP_MINS_LICENSE, "QOSGrpLicenseMinutes", "its QOS has used as many resources × minutes as it may") \
    X(QOS_GRP_RUN_MINS_LICENSE, "QOSGrpLicenseRunMinutes", "running jobs of its QOS may still use as many resources × minutes as they may") \
    X(QOS_GRP_MINS_BILLING, "QOSGrpBillingMinutes", "its QOS has used as many resources × minutes as it may") \
    X(QOS_GRP_RUN_MINS_BILLING, "QOSGrpBillingRunMinutes", "running jobs of its QOS may still use as many resources × minutes as they may") \
    X(QOS_GRP_MINS_OTHER, "QOSGrpUnknownMinutes", "its QOS has used as many resources × minutes as it may") \
    X(QOS_GRP_RUN_MINS_OTHER, "QOSGrpUnknownRunMinutes", "running jobs of its QOS may still use as many resources × minutes as they may") \
    X(QOS_GRP_WALL, "QOSGrpWallLimit", "its QOS has used as much wall clock time as it may") \
    X(QOS_USAGE_THRESHOLD, "QOSUsageThreshold", "the fair share of its association is below the UsageThreshold of its QOS")
// clang-format on

/* Why a job waits, or why it ended as it did. X(code, Slurm's word, sentence for people) */
// clang-format off
#define JOB_REASONS(X)                                                                                            \
    X(NONE, "None", "")                                                                                           \
    X(PRIORITY, "Priority", "jobs of higher priority are to start first")                                         \
    X(RESOURCES, "Resources", "waits for nodes, cores, memory or devices to become free")                         \
    X(DEPENDENCY, "Dependency", "a job it depends on has not ended as required yet")                              \
    X(DEPENDENCY_NEVER, "DependencyNeverSatisfied", "a job it depends on ended in a way that can never satisfy it") \
    X(BEGIN_TIME, "BeginTime", "its begin time has not come")                                                     \
    X(HELD_USER, "JobHeldUser", "held by its user")                                                               \
    X(HELD_ADMIN, "JobHeldAdmin", "held by an administrator")                                                     \
    X(PARTITION_DOWN, "PartitionDown", "its partition is down")                                                   \
    X(PARTITION_INACTIVE, "PartitionInactive", "its partition is inactive")                                       \
    X(PARTITION_NODE_LIMIT, "PartitionNodeLimit", "asks for more or fewer nodes than its partition allows")       \
    X(PARTITION_TIME_LIMIT, "PartitionTimeLimit", "its time limit exceeds its partition's")                       \
    X(PARTITION_CONFIG, "PartitionConfig", "its partition cannot hold what it asks for")                          \
    X(REQ_NODE_NOT_AVAIL, "ReqNodeNotAvail", "nodes it needs are down, drained or reserved")                      \
    X(BAD_CONSTRAINTS, "BadConstraints", "no set of nodes can ever satisfy it")                                   \
    X(LICENSES, "Licenses", "waits for licences")                                                                 \
    X(RESERVATION, "Reservation", "waits for its reservation")                                                    \
    X(RESERVATION_DELETED, "ReservationDeleted", "its reservation was deleted")                                   \
    X(ARRAY_TASK_LIMIT, "JobArrayTaskLimit", "as many tasks of its array run as its % limit allows")              \
    X(MAX_REQUEUE, "JobHoldMaxRequeue", "was requeued as often as allowed and is held")                           \
    X(LAUNCH_FAILED_HELD, "launch_failed_requeued_held", "its launch failed; requeued and held")                  \
    X(CLEANING, "Cleaning", "its former run is still being cleaned up")                                           \
    X(QOS_MAX_JOBS_PER_USER, "QOSMaxJobsPerUserLimit", "as many of its user's jobs run as the QOS allows")        \
    X(ASSOC_LIMIT, "AssocGrpJobsLimit", "as many jobs run as its account allows")                                 \
    X(DEADLINE, "DeadLine", "cannot end before its deadline")                                                     \
    X(INACTIVE_LIMIT, "InactiveLimit", "the command that held it is gone")                                        \
    X(NODE_DOWN, "NodeDown", "a node failed")                                                                     \
    X(TIME_LIMIT, "TimeLimit", "reached its time limit")                                                          \
    X(NON_ZERO_EXIT, "NonZeroExitCode", "ended with a non-zero exit code")                                        \
    X(RAISED_SIGNAL, "RaisedSignal", "ended by a signal")                                                         \
    X(OUT_OF_MEMORY, "OutOfMemory", "exceeded its memory")                                                        \
    X(LAUNCH_FAILED, "JobLaunchFailure", "could not be launched")                                                 \
    X(PREEMPTED, "Preempted", "gave way to a job of higher precedence")                                           \
    X(PROLOG, "Prolog", "its prolog is running")                                                                  \
    X(STORE_AWAY, "SchedDefer", "the store is away; nothing is started until it is back")                         \
    X(REQUEUED_HELD, "job_requeued_in_held_state", "was requeued and is held")                         \
    X(GPU_IDLE, "GpuIdle", "its GPUs did nothing for as long as GpuIdle allows") \
    LIMIT_REASONS(X) \
    X(USER_UNKNOWN, "UserUnknown", "name services know no user of its owner's number any more")
// clang-format on

enum job_reason {
#define X(code, word, sentence) REASON_##code,
    JOB_REASONS(X)
#undef X
        REASON_COUNT
};
extern const struct enum_names job_reason_names;    /* Slurm's words */
const char *job_reason_sentence(enum job_reason r); /* "" where the number is none */

#endif
