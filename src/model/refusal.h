/* Why a request is refused: Slurm's text (tools match it) and, with it, a sentence of ours in the
 * reply's `detail`. */
#ifndef REMUDA_MODEL_REFUSAL_H
#define REMUDA_MODEL_REFUSAL_H

#include "model/fields.h"

/* X(code, Slurm's text) */
// clang-format off
#define REFUSALS(X)                                                                                                 \
    X(NONE, "Success")                                                                                              \
    X(INVALID_JOB_ID, "Invalid job id specified")                                                                   \
    X(ACCESS_DENIED, "Access/permission denied")                                                                    \
    X(INVALID_PARTITION, "Invalid partition name specified")                                                        \
    X(INVALID_NODE, "Invalid node name specified")                                                                  \
    X(INVALID_NODE_COUNT, "Node count specification invalid")                                                       \
    X(INVALID_TASK_COUNT, "Task count specification invalid")                                                       \
    X(INVALID_CPU_COUNT, "CPU count specification invalid")                                                         \
    X(MEMORY, "Memory specification can not be satisfied")                                                          \
    X(NODE_CONFIG, "Requested node configuration is not available")                                                 \
    X(GRES, "Invalid generic resource (gres) specification")                                                        \
    X(TIME_LIMIT, "Requested time limit is invalid (missing or exceeds some limit)")                                \
    X(PARTITION_LIMIT, "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)")     \
    X(INVALID_ARRAY, "Invalid job array specification")                                                             \
    X(DEPENDENCY, "Job dependency problem")                                                                         \
    X(FEATURE, "Invalid feature specification")                                                                     \
    X(ACCOUNT, "Invalid account or account/partition combination specified")                                        \
    X(QOS, "Invalid qos specification")                                                                             \
    X(LICENSES, "Invalid license specification")                                                                    \
    X(RESERVATION, "Requested reservation is invalid")                                                              \
    X(ALREADY_DONE, "Job/step already completing or completed")                                                     \
    X(NOT_PENDING, "Job is no longer pending execution")                                                            \
    X(NOT_RUNNING, "Job is not running")                                                                            \
    X(ALREADY_SUSPENDED, "Job already suspended")                                                                   \
    X(NOT_SUSPENDED, "Job is not suspended")                                                                        \
    X(DISABLED, "Requested operation is presently disabled")                                                        \
    X(NOT_SUPPORTED, "Function is not implemented")                                                                 \
    X(PARTITION_DOWN, "Required partition not available (inactive or drain)")                                       \
    X(PARTITION_ACCESS, "User's group not permitted to use this partition")                                         \
    X(BEGIN_TIME, "Requested start time is invalid")                                                                \
    X(TOO_LARGE, "Message exceeds a limit")                                                                         \
    X(QUEUE_FULL, "Slurm temporarily unable to accept job, sleeping and retrying")                                  \
    X(BUSY, "Resource temporarily unavailable")                                                                     \
    X(UNAVAILABLE, "Requested nodes are busy")                                                                      \
    X(SCRIPT, "Batch script is empty or does not look like a script")                                               \
    X(TIMEOUT, "Socket timed out on send/recv operation")                                                           \
    X(NO_CONTROLLER, "Unable to contact slurm controller (connect failure)")                                        \
    X(STORE, "Unable to write the job to the store")                                                                \
    X(BAD_MESSAGE, "Invalid message")                                                                               \
    X(UPDATE, "Invalid value in update request")                                                                    \
    X(NOT_REQUEUABLE, "Only batch jobs are accepted or processed")                                                  \
    X(WORK_DIR, "Invalid working directory")                                                                        \
    X(HELD, "Job is in held state, pending scheduler release")                                             \
    X(JOB_PENDING, "Job is pending execution")                                                                      \
    X(TOO_MANY_CPUS, "More processors requested than permitted")                                                    \
    X(STEP_LIMIT, "Step limit reached for this job")                                                                \
    X(RESERVATION_ACCESS, "Access denied to requested reservation")                                                 \
    X(RESERVATION_BUSY, "Requested reservation is in use")                                                          \
    X(RESERVATION_NAME, "Duplicate reservation name")                                                               \
    X(ASSOC_BUSY, "Job(s) active, cancel job(s) before remove")                                                    \
    X(DEFAULT_ACCOUNT, "You can not remove the default account of a user")                                           \
    X(NO_SUCH_ACCOUNT, "The account or association does not exist")                                                  \
    X(TIME_MIN, "Invalid time-min specification (exceeds job's time or other limits)")                              \
    X(PREFER, "Invalid preferred feature specification")                                                             \
    X(UNSUPPORTED, "Requested operation not supported on this system")                                              \
    X(JOB_FINISHED, "Job has already finished")                                                                     \
    X(CIRCULAR, "Circular job dependency") \
    X(INVALID_TIME, "Invalid time specified") \
    X(RESERVATION_SKIP, "Reservation given is not skipable, try deleting instead") \
    X(NODE_CPUS, "Requested node configuration is not available") \
    X(NODE_MEMORY, "Requested node configuration is not available") \
    X(NODE_DISK, "Requested node configuration is not available") \
    X(NODE_SOCKETS, "Requested node configuration is not available") \
    X(ACCOUNTING_FREQUENCY, "Invalid accounting frequency requested") \
    X(RESERVATION_OVERLAP, "Requested reservation overlaps with another reservation") \
    X(RATE_LIMITED, "RPC rate limited") \
    X(CRON_CHANGE, "Cannot modify scrontab jobs through scontrol") \
    X(CRON_CANCEL, "Cannot cancel scrontab jobs without --cron flag.") \
    X(NICE, "Invalid --nice value") \
    X(TRIGGER_DUPLICATE, "Duplicate event trigger") \
    X(TRIGGER_NONE, "No such process") \
    X(NOT_WHOLE_HET, "Operation not permitted on individual component of heterogeneous job") \
    X(SUBMIT_FILTER, "Unspecified error") \
    X(QOS_LOOP, "QOS Preemption loop detected") \
    X(WCKEY, "Invalid wckey specification")
// clang-format on

enum refusal {
#define X(code, text) REFUSE_##code,
    REFUSALS(X)
#undef X
        REFUSAL_COUNT
};
extern const struct enum_names refusal_names; /* "INVALID_JOB_ID", as they travel */
const char *refusal_text(enum refusal r);     /* Slurm's text */
/* What Slurm says in a line before it; NULL = nothing. */
const char *refusal_lead(enum refusal r);

#endif
