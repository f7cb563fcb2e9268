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
const char *job_state_short(enum job_state s);
/* Final: it will not change again. */
bool job_state_over(enum job_state s);
bool job_state_allowed(enum job_state from, enum job_state to); /* the table of moves */
/* "PENDING", "pd", "r", "timeout": long or short, any case; also Slurm's CONFIGURING/CF,
 * REVOKED/RV, SIGNALING/SI, STAGE_OUT/SO, STOPPED/ST, REQUEUE_FED/RF, REQUEUE_HOLD/RH,
 * RESV_DEL_HOLD/RD, which no job of ours is ever in: then *ret = -1 and true. */
bool job_state_parse(const char *text, int32_t *ret);

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
    X(SPECIAL_EXIT, "JobHeldUser", "requeued and held with state SPECIAL_EXIT")
// clang-format on

enum job_reason {
#define X(code, word, sentence) REASON_##code,
    JOB_REASONS(X)
#undef X
        REASON_COUNT
};
extern const struct enum_names job_reason_names; /* Slurm's words */
const char *job_reason_sentence(enum job_reason r);

#endif
