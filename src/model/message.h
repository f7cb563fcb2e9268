/* The messages between clients, controller and nodes, and the request table: who may send what. Each message is a record with a
 * field table; wire/ turns them into frames. */
#ifndef REMUDA_MODEL_MESSAGE_H
#define REMUDA_MODEL_MESSAGE_H

#include "model/fields.h"
#include "model/job.h"
#include "model/node.h"
#include "model/partition.h"
#include "model/refusal.h"

/* ---- clients ask ------------------------------------------------------------------------------------------------- */

#define MSG_SUBMIT_FIELDS(X)                                                                               \
    X(LIST, specs, &job_spec_fields, "one job_spec; several = components of a heterogeneous job")          \
    X(BLOB, script, 0, "the batch script; empty for an interactive allocation")                            \
    X(BLOB, env, 0, "exported environment: NAME=VALUE, each ended by NUL")                                 \
    X(BOOL, test_only, 0, "answer when and where it would start, keep nothing")                            \
    X(BOOL, immediate, 0, "refuse (UNAVAILABLE) instead of queueing when it cannot start at once")
#define MSG_SUBMITTED_FIELDS(X)                                                                            \
    X(U64, job_id, 0, "id given")                                                                          \
    X(TEXT, warning, 0, "what was accepted without effect or clamped; shown on stderr only if not empty")  \
    X(TIME, planned_us, 0, "test_only: when it would start")                                               \
    X(TEXT, nodes, 0, "test_only: where")                                                                  \
    X(I32, cpus, 0, "test_only: CPUs it would get")                                                        \
    X(TEXT, partition, 0, "test_only: in which partition")

enum query_what { QUERY_JOBS, QUERY_NODES, QUERY_PARTITIONS, QUERY_STEPS, QUERY_SETTINGS, QUERY_STATUS, QUERY_HISTORY };
extern const struct enum_names query_what_names;
/* Filters are "and"ed; NULL = all. Answer: ROWS frames (wire.h) of the records asked for, then DONE. */
#define MSG_QUERY_FIELDS(X)                                                                                \
    X(ENUM, what, &query_what_names, "which records")                                                      \
    X(TEXT, fields, 0, "names of the fields wanted, comma-separated; NULL = all")                          \
    X(TEXT, ids, 0, "jobs, steps: job references (model/array.h), comma-separated")                        \
    X(TEXT, uids, 0, "jobs: owners, numbers, comma-separated")                                             \
    X(TEXT, states, 0, "jobs: state names, comma-separated; NULL = those not over (QUERY_JOBS) or all (HISTORY); \"all\"") \
    X(TEXT, partitions, 0, "jobs: partitions; nodes: members of these")                                    \
    X(TEXT, names, 0, "jobs: job names; nodes, partitions: their names, node ranges allowed")              \
    X(TEXT, accounts, 0, "jobs: accounts")                                                                 \
    X(TEXT, qos, 0, "jobs: QOS")                                                                           \
    X(TEXT, nodes, 0, "jobs: that run (ran) on any of these")                                              \
    X(TIME, from_us, 0, "HISTORY: jobs alive in or after")                                                 \
    X(TIME, to_us, 0, "HISTORY: jobs alive in or before")                                                  \
    X(BOOL, duplicates, 0, "HISTORY: former runs of requeued jobs too")                                    \
    X(BOOL, history, 0, "STEPS: from the history: steps of the jobs HISTORY would give for the same filters")

enum job_action {
    ACTION_HOLD, ACTION_UHOLD, ACTION_RELEASE, ACTION_REQUEUE, ACTION_REQUEUE_HOLD, ACTION_SUSPEND, ACTION_RESUME, ACTION_TOP,
};
extern const struct enum_names job_action_names;
#define MSG_JOB_CONTROL_FIELDS(X)                                                                          \
    X(ENUM, action, &job_action_names, "what to do")                                                       \
    X(TEXT, ids, 0, "job references, comma-separated; or name=NAME for all jobs of that name")             \
    X(BOOL, special_exit, 0, "REQUEUE_HOLD: with state SPECIAL_EXIT")

#define MSG_CANCEL_FIELDS(X)                                                                               \
    X(TEXT, ids, 0, "job and step references, comma-separated; NULL = by the filters alone")               \
    X(I32, signal, 0, "signal to send; 0 = end the job")                                                   \
    X(BOOL, batch, 0, "to the batch shell only")                                                           \
    X(BOOL, full, 0, "to the steps and the batch shell")                                                   \
    X(BOOL, hurry, 0, "no staging out")                                                                    \
    X(TEXT, uids, 0, "filters: owners")                                                                    \
    X(TEXT, states, 0, "filters: states")                                                                  \
    X(TEXT, partitions, 0, "filters: partitions")                                                          \
    X(TEXT, names, 0, "filters: job names")                                                                \
    X(TEXT, accounts, 0, "filters: accounts")                                                              \
    X(TEXT, qos, 0, "filters: QOS")                                                                        \
    X(TEXT, nodes, 0, "filters: nodes")                                                                    \
    X(TEXT, reservations, 0, "filters: reservations")                                                      \
    X(TEXT, wckeys, 0, "filters: wckeys")

#define MSG_UPDATE_JOB_FIELDS(X)                                                                           \
    X(TEXT, ids, 0, "job references, comma-separated; or name=NAME")                                       \
    X(TEXT, fields, 0, "fields of job_spec to set, comma-separated")                                       \
    X(LIST, values, &job_spec_fields, "one job_spec with the new values")                                  \
    X(SPAN, time_limit_add_us, 0, "TimeLimit+= and -=")                                                    \
    X(TEXT, admin_comment, 0, "AdminComment; \"\" not given")                                              \
    X(U32, array_limit_plus1, 0, "ArrayTaskThrottle, plus 1")                                              \
    X(TIME, end_us, 0, "EndTime=")                                                                         \
    X(I32, reset_accrue, 0, "ResetAccrueTime")

#define MSG_UPDATE_NODE_FIELDS(X)                                                                          \
    X(TEXT, names, 0, "nodes, ranges allowed")                                                             \
    X(TEXT, state, 0, "DOWN, DRAIN, UNDRAIN, FAIL, RESUME, IDLE, FUTURE, POWER_DOWN …")                    \
    X(TEXT, reason, 0, "why; needed for DOWN, DRAIN and FAIL")                                             \
    X(TEXT, fields, 0, "further fields of node to set: weight, features, gres, comment, …")                \
    X(LIST, values, &node_fields, "one node with the new values")

#define MSG_UPDATE_PARTITION_FIELDS(X)                                                                     \
    X(TEXT, name, 0, "partition")                                                                          \
    X(BOOL, create, 0, "make it")                                                                          \
    X(BOOL, remove, 0, "remove it")                                                                        \
    X(TEXT, fields, 0, "fields of partition to set, comma-separated")                                      \
    X(LIST, values, &partition_fields, "one partition with the new values")

#define MSG_WAIT_JOB_FIELDS(X)                                                                             \
    X(U64, job_id, 0, "answered (JOB_ENDED) when the job, with all elements of an array, is over")

#define MSG_GET_SCRIPT_FIELDS(X)                                                                           \
    X(U64, job_id, 0, "whose batch script; answered with SCRIPT")
#define MSG_SCRIPT_FIELDS(X)                                                                               \
    X(U64, job_id, 0, "job")                                                                               \
    X(BLOB, script, 0, "its batch script")

enum daemon_action { DAEMON_PING, DAEMON_RECONFIGURE, DAEMON_SHUTDOWN };
extern const struct enum_names daemon_action_names;
#define MSG_DAEMON_FIELDS(X)                                                                               \
    X(ENUM, action, &daemon_action_names, "ping, read the configuration again, stop")                      \
    X(BOOL, nodes_too, 0, "SHUTDOWN: node daemons stop as well (running jobs go on under their shepherds)")

/* ---- answers ------------------------------------------------------------------------------------------------------ */

#define RESULT_FIELDS(X)                                                                                   \
    X(TEXT, ref, 0, "what the result is about: a job reference, a node")                                   \
    X(ENUM, refusal, &refusal_names, "NONE = done")                                                        \
    X(TEXT, detail, 0, "sentence for people")
struct result {
    RESULT_FIELDS(FIELD_MEMBER)
};
extern const struct fields result_fields;

#define MSG_DONE_FIELDS(X)                                                                                 \
    X(ENUM, refusal, &refusal_names, "NONE = done; else why not")                                          \
    X(TEXT, detail, 0, "sentence for people; what was asked, what is allowed, what would work")            \
    X(TEXT, warning, 0, "done, but")                                                                       \
    X(U64, count, 0, "jobs, nodes or rows it concerned")                                                   \
    X(LIST, results, &result_fields, "for each reference that did not go as asked")

#define MSG_JOB_ENDED_FIELDS(X)                                                                            \
    X(U64, job_id, 0, "job")                                                                               \
    X(ENUM, state, &job_state_names, "how it ended")                                                       \
    X(I32, exit_status, 0, "wait status; of an array: the highest")

/* A controller or node daemon as `remuda status` shows it (rows of QUERY_STATUS). */
#define STATUS_FIELDS(X)                                                                                   \
    X(TEXT, role, 0, "controller or node")                                                                 \
    X(TEXT, name, 0, "host or node name")                                                                  \
    X(I64, pid, 0, "process id")                                                                           \
    X(TIME, start_us, 0, "running since")                                                                  \
    X(TEXT, version, 0, "Remuda version")                                                                  \
    X(TEXT, state_dir, 0, "state directory")                                                               \
    X(TEXT, store, 0, "store: kind and path")                                                              \
    X(TEXT, trouble, 0, "what is wrong, in a sentence; NULL = nothing")                                    \
    X(U64, jobs_pending, 0, "controller: jobs waiting (array elements counted)")                           \
    X(U64, jobs_running, 0, "jobs running")                                                                \
    X(I64, rss_bytes, 0, "its memory")                                                                     \
    X(U64, turns, 0, "controller: turns since start")                                                      \
    X(U64, plans, 0, "planner passes since start")                                                         \
    X(SPAN, last_plan_us, 0, "time the last pass took")                                                    \
    X(SPAN, mean_plan_us, 0, "mean time of a pass")                                                        \
    X(U64, queue_considered, 0, "jobs considered in the last pass")
struct daemon_status {
    STATUS_FIELDS(FIELD_MEMBER)
};
extern const struct fields status_fields;

/* ---- nodes and controller ------------------------------------------------------------------------------------------- */

/* What a node holds: rows of NODE_HELLO. */
#define HELD_FIELDS(X)                                                                                     \
    X(U64, job_id, 0, "job")                                                                               \
    X(U32, attempt, 0, "which start of it")                                                                \
    X(I64, step_id, 0, "step")                                                                             \
    X(BOOL, ended, 0, "its processes are gone; the report is on its way")
struct held {
    HELD_FIELDS(FIELD_MEMBER)
};
extern const struct fields held_fields;

#define MSG_NODE_HELLO_FIELDS(X)                                                                           \
    X(LIST, node, &node_fields, "one node: its name and the fields a node reports")                        \
    X(LIST, held, &held_fields, "what runs there or awaits acknowledgement")                               \
    X(I64, pid, 0, "process id of the node daemon")
#define MSG_NODE_WELCOME_FIELDS(X)                                                                         \
    X(SPAN, heartbeat_us, 0, "how often to report")                                                        \
    X(SPAN, accounting_freq_us, 0, "how often to sample")                                                  \
    X(SPAN, kill_wait_us, 0, "between SIGTERM and SIGKILL")                                                \
    X(TEXT, prolog, 0, "program before a job")                                                             \
    X(TEXT, epilog, 0, "program after a job")                                                              \
    X(SPAN, prolog_timeout_us, 0, "how long they may take")                                                \
    X(BOOL, constrain_cores, 0, "keep jobs on their CPUs")                                                 \
    X(BOOL, constrain_ram, 0, "hold jobs to their memory")                                                 \
    X(BOOL, constrain_devices, 0, "hide other jobs' devices")                                              \
    X(TEXT, cluster_name, 0, "for SLURM_CLUSTER_NAME")                                                     \
    X(TEXT, state_dir, 0, "state directory of the cluster")
#define MSG_HEARTBEAT_FIELDS(X)                                                                            \
    X(I32, load_centi, 0, "load average, hundredths")                                                      \
    X(MIB, free_mem_mib, 0, "free memory")

/* Idempotent: a node that already has (job, attempt, step) does nothing. The script and env are attached by the controller's shell from the store. */
#define MSG_LAUNCH_FIELDS(X)                                                                               \
    X(LIST, job, &job_fields, "one job, as it starts")                                                     \
    X(I64, step_id, 0, "STEP_BATCH")                                                                       \
    X(BLOB, script, 0, "batch script")                                                                     \
    X(BLOB, env, 0, "exported environment")
/* End everything of (job, attempt) on this node: SIGCONT, SIGTERM, after kill_wait SIGKILL; then report RELEASED. */
#define MSG_TERMINATE_FIELDS(X)                                                                            \
    X(U64, job_id, 0, "job")                                                                               \
    X(U32, attempt, 0, "which start of it")                                                                \
    X(SPAN, kill_wait_us, 0, "grace; 0 = SIGKILL at once")                                                 \
    X(TEXT, why, 0, "line for the job's stderr: \"DUE TO TIME LIMIT\", \"\"")
#define MSG_SIGNAL_FIELDS(X)                                                                               \
    X(U64, job_id, 0, "job")                                                                               \
    X(U32, attempt, 0, "which start of it")                                                                \
    X(I64, step_id, 0, "step, when only_step")                                                             \
    X(BOOL, only_step, 0, "to that step only")                                                             \
    X(BOOL, batch, 0, "to the batch shell only")                                                           \
    X(BOOL, full, 0, "to steps and batch shell; neither = to steps (a batch job without steps: to its children)") \
    X(I32, signal, 0, "signal number; SIGSTOP and SIGCONT suspend and resume all processes")
#define MSG_REPORT_ACK_FIELDS(X) X(U64, seq, 0, "the node's number of the report that is now durable")

enum report_kind {
    REPORT_STARTED,  /* the batch script (step) runs */
    REPORT_USAGE,    /* so much used so far */
    REPORT_EXITED,   /* the step ended; usage is final. clean = nothing of the job is left on this node */
    REPORT_RELEASED, /* all processes of the job are gone and its epilog ran: its resources on this node are free */
    REPORT_FAILED,   /* could not be launched: detail says why */
    REPORT_LOST,     /* the shepherd vanished: the end is unknown; processes were killed */
};
extern const struct enum_names report_kind_names;
/* Repeated until REPORT_ACK(seq), in order of seq. USAGE and STARTED are not repeated (seq 0). */
#define MSG_REPORT_FIELDS(X)                                                                               \
    X(U64, seq, 0, "number of the report on this node; 0 = needs no acknowledgement")                      \
    X(ENUM, kind, &report_kind_names, "what happened")                                                     \
    X(U64, job_id, 0, "job")                                                                               \
    X(U32, attempt, 0, "which start of it")                                                                \
    X(I64, step_id, 0, "step")                                                                             \
    X(TIME, at_us, 0, "when, by the node's clock")                                                         \
    X(I32, exit_status, 0, "EXITED: wait status")                                                          \
    X(BOOL, clean, 0, "EXITED: nothing of the job is left here (RELEASED is implied)")                     \
    X(BOOL, oom, 0, "a process was killed for memory")                                                     \
    X(BOOL, retry, 0, "FAILED: trying again elsewhere may work")                                           \
    X(TEXT, detail, 0, "sentence for people")                                                              \
    X(LIST, usage, &step_fields, "one step: usage so far or in all")

/* ---- the table -------------------------------------------------------------------------------------------------- */

enum who { WHO_ANYONE, WHO_OWNER /* or operator; the handler checks each job */, WHO_OPERATOR, WHO_ADMIN, WHO_NODE, WHO_CONTROLLER };

/* X(KIND, name on the wire, struct tag, who may send it, doc) */
#define MESSAGES(X)                                                                                        \
    X(SUBMIT, "submit", submit, ANYONE, "submit a job")                                                    \
    X(QUERY, "query", query, ANYONE, "read records")                                                       \
    X(JOB_CONTROL, "job_control", job_control, OWNER, "hold, release, requeue, suspend, resume, top")      \
    X(CANCEL, "cancel", cancel, OWNER, "end or signal jobs")                                               \
    X(UPDATE_JOB, "update_job", update_job, OWNER, "change jobs")                                          \
    X(UPDATE_NODE, "update_node", update_node, OPERATOR, "change nodes")                                   \
    X(UPDATE_PARTITION, "update_partition", update_partition, ADMIN, "change partitions")                  \
    X(WAIT_JOB, "wait_job", wait_job, ANYONE, "wait for the end of a job")                                 \
    X(GET_SCRIPT, "get_script", get_script, OWNER, "read a batch script back")                             \
    X(DAEMON, "daemon", daemon, ANYONE, "ping; administrators: reconfigure, shut down")                    \
    X(SUBMITTED, "submitted", submitted, CONTROLLER, "answer to submit")                                   \
    X(SCRIPT, "script", script, CONTROLLER, "answer to get_script")                                        \
    X(DONE, "done", done, CONTROLLER, "answer: done, or refused with the reason")                          \
    X(JOB_ENDED, "job_ended", job_ended, CONTROLLER, "answer to wait_job")                                 \
    X(NODE_HELLO, "node_hello", node_hello, NODE, "a node daemon connects")                                \
    X(HEARTBEAT, "heartbeat", heartbeat, NODE, "a node lives")                                             \
    X(REPORT, "report", report, NODE, "what happened to a job on a node")                                  \
    X(NODE_WELCOME, "node_welcome", node_welcome, CONTROLLER, "answer to node_hello")                      \
    X(LAUNCH, "launch", launch, CONTROLLER, "start a job's batch script")                                  \
    X(TERMINATE, "terminate", terminate, CONTROLLER, "end a job on this node")                             \
    X(SIGNAL, "signal", signal, CONTROLLER, "signal a job on this node")                                   \
    X(REPORT_ACK, "report_ack", report_ack, CONTROLLER, "a report is durable")

enum message_kind {
#define X(kind, name, tag, who, doc) MSG_##kind,
    MESSAGES(X)
#undef X
        MESSAGE_COUNT
};

struct msg_submit { MSG_SUBMIT_FIELDS(FIELD_MEMBER) };
struct msg_submitted { MSG_SUBMITTED_FIELDS(FIELD_MEMBER) };
struct msg_query { MSG_QUERY_FIELDS(FIELD_MEMBER) };
struct msg_job_control { MSG_JOB_CONTROL_FIELDS(FIELD_MEMBER) };
struct msg_cancel { MSG_CANCEL_FIELDS(FIELD_MEMBER) };
struct msg_update_job { MSG_UPDATE_JOB_FIELDS(FIELD_MEMBER) };
struct msg_update_node { MSG_UPDATE_NODE_FIELDS(FIELD_MEMBER) };
struct msg_update_partition { MSG_UPDATE_PARTITION_FIELDS(FIELD_MEMBER) };
struct msg_wait_job { MSG_WAIT_JOB_FIELDS(FIELD_MEMBER) };
struct msg_get_script { MSG_GET_SCRIPT_FIELDS(FIELD_MEMBER) };
struct msg_script { MSG_SCRIPT_FIELDS(FIELD_MEMBER) };
struct msg_daemon { MSG_DAEMON_FIELDS(FIELD_MEMBER) };
struct msg_done { MSG_DONE_FIELDS(FIELD_MEMBER) };
struct msg_job_ended { MSG_JOB_ENDED_FIELDS(FIELD_MEMBER) };
struct msg_node_hello { MSG_NODE_HELLO_FIELDS(FIELD_MEMBER) };
struct msg_node_welcome { MSG_NODE_WELCOME_FIELDS(FIELD_MEMBER) };
struct msg_heartbeat { MSG_HEARTBEAT_FIELDS(FIELD_MEMBER) };
struct msg_launch { MSG_LAUNCH_FIELDS(FIELD_MEMBER) };
struct msg_terminate { MSG_TERMINATE_FIELDS(FIELD_MEMBER) };
struct msg_signal { MSG_SIGNAL_FIELDS(FIELD_MEMBER) };
struct msg_report_ack { MSG_REPORT_ACK_FIELDS(FIELD_MEMBER) };
struct msg_report { MSG_REPORT_FIELDS(FIELD_MEMBER) };

struct message_row {
    const char *name;
    const struct fields *fields;
    enum who who;
    const char *doc;
};
extern const struct message_row message_table[MESSAGE_COUNT];
bool message_kind_parse(const char *name, enum message_kind *ret);

/* A message in memory: kind and record (struct msg_… of that kind). */
struct message {
    enum message_kind kind;
    uint64_t seq;   /* number of the request on its connection; an answer repeats it */
    const void *body;
};

/* ---- rows in the store -------------------------------------------------------------------------------------------- */

/* Scripts and environments are rows of their own, written once, never in the controller's memory. */
#define PAYLOAD_FIELDS(X)                                               \
    X(U64, job_id, 0, "job (an array: its id; elements share it)")      \
    X(BLOB, script, 0, "batch script")                                  \
    X(BLOB, env, 0, "exported environment")
struct payload {
    PAYLOAD_FIELDS(FIELD_MEMBER)
};
extern const struct fields payload_fields;

/* Small facts: next_job_id, epoch, cluster name, schema version. */
#define META_FIELDS(X)                  \
    X(TEXT, key, 0, "name")             \
    X(TEXT, value, 0, "value")
struct meta {
    META_FIELDS(FIELD_MEMBER)
};
extern const struct fields meta_fields;

/* X(TABLE, SQL name, fields, leading fields of the table that make its key, as a comma-separated text, doc) */
#define STORE_TABLES(X)                                                                                     \
    X(JOB, "job", job_fields, "id", "every job, live and ended; the latest run of each")                    \
    X(JOB_RUN, "job_run", job_fields, "id,attempt", "former runs of requeued jobs")                         \
    X(STEP, "step", step_fields, "job_id,attempt,step_id", "steps and what they used")                      \
    X(PAYLOAD, "payload", payload_fields, "job_id", "scripts and environments")                             \
    X(NODE, "node", node_fields, "name", "nodes as last known")                                             \
    X(PARTITION, "partition", partition_fields, "name", "partitions changed by scontrol")                   \
    X(META, "meta", meta_fields, "key", "small facts")

enum store_table {
#define X(table, name, fields, key, doc) TABLE_##table,
    STORE_TABLES(X)
#undef X
        STORE_TABLE_COUNT
};
struct store_table_row {
    const char *name;
    const struct fields *fields;
    const char *key;
    const char *doc;
};
extern const struct store_table_row store_table_rows[STORE_TABLE_COUNT];

#endif
