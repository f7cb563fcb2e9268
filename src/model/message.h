/* The messages between clients, controller and nodes, and the request table: who may send what.
 * Each message is a record with a field table; wire/ turns them into frames. */
#ifndef REMUDA_MODEL_MESSAGE_H
#define REMUDA_MODEL_MESSAGE_H

#include "model/fields.h"
#include "model/job/job.h"
#include "model/record/account.h"
#include "model/record/diag.h"
#include "model/record/host.h"
#include "model/record/may.h"
#include "model/record/node.h"
#include "model/record/partition.h"
#include "model/record/priority.h"
#include "model/record/reservation.h"
#include "model/record/trigger.h"
#include "model/record/used.h"
#include "model/record/why.h"
#include "model/refusal.h"

/* ---- clients ask ---------------------------------------------------------------------------- */

// clang-format off
#define MSG_SUBMIT_FIELDS(X)                                                                               \
    X(LIST, specs, &job_spec_fields, "one job_spec; several = components of a heterogeneous job")          \
    X(BLOB, script, 0, "the batch script; empty for an interactive allocation")                            \
    X(BLOB, env, 0, "exported environment: NAME=VALUE, each ended by NUL")                                 \
    X(BOOL, test_only, 0, "answer when and where it would start, keep nothing")                            \
    X(BOOL, immediate, 0, "refuse (UNAVAILABLE) instead of queueing when it cannot start at once")         \
    X(BOOL, attach, 0, "no batch job: ALLOCATED follows on the same call when it runs, JOB_ENDED when it is over")
#define MSG_SUBMITTED_FIELDS(X)                                                                            \
    X(U64, job_id, 0, "id given")                                                                          \
    X(TEXT, warning, 0, "what was accepted without effect or clamped; shown on stderr only if not empty")  \
    X(TIME, planned_us, 0, "test_only: when it would start")                                               \
    X(TEXT, nodes, 0, "test_only: where")                                                                  \
    X(I32, cpus, 0, "test_only: CPUs it would get")                                                        \
    X(TEXT, partition, 0, "test_only: in which partition")
// clang-format on

enum query_what {
    QUERY_JOBS,
    QUERY_NODES,
    QUERY_PARTITIONS,
    QUERY_STEPS,
    QUERY_SETTINGS,
    QUERY_STATUS,
    QUERY_HISTORY,
    QUERY_RESERVATIONS,
    QUERY_PRIORITY,
    QUERY_SHARES,
    QUERY_DIAG,
    QUERY_TOKENS,
    QUERY_HOSTS,
    QUERY_ACCOUNTS,
    QUERY_ACCOUNT_USERS,
    QUERY_ASSOCS,
    QUERY_QOS,
    QUERY_LIMITS,
    QUERY_WCKEYS,
    QUERY_TRES,
    QUERY_TRANSACTIONS,
    QUERY_USED,
    QUERY_NODE_SPELLS,
    QUERY_PAST_RESERVATIONS,
    QUERY_LIMIT_USE,
    QUERY_FAIR_SHARES,
    QUERY_IN_USE,
    QUERY_TRIGGERS
};
#define QUERY_COUNT (QUERY_TRIGGERS + 1)
extern const struct enum_names query_what_names;
/* Filters are "and"ed; NULL = all. Answer: ROWS frames (wire.h) of the records asked for, then
 * DONE. */
// clang-format off
#define MSG_QUERY_FIELDS(X)                                                                                \
    X(ENUM, what, &query_what_names, "which records")                                                      \
    X(TEXT, fields, 0, "names of the fields wanted, comma-separated; NULL = all")                          \
    X(TEXT, ids, 0, "jobs, steps: job references (model/job/array.h), comma-separated")                        \
    X(TEXT, uids, 0, "jobs: owners, numbers, comma-separated")                                             \
    X(TEXT, states, 0, "jobs: state names, comma-separated; NULL = those not over (QUERY_JOBS) or all (HISTORY); \"all\"") \
    X(TEXT, partitions, 0, "jobs: partitions; nodes: members of these")                                    \
    X(TEXT, names, 0, "jobs: job names; nodes, partitions, reservations: their names, node ranges allowed")              \
    X(TEXT, accounts, 0, "jobs: accounts")                                                                 \
    X(TEXT, qos, 0, "jobs: QOS")                                                                           \
    X(TEXT, nodes, 0, "jobs: that run (ran) on any of these")                                              \
    X(TIME, from_us, 0, "HISTORY: jobs alive in or after; USED, NODE_SPELLS, PAST_RESERVATIONS: the time's begin (USED: a whole hour)") \
    X(TIME, to_us, 0, "HISTORY: jobs alive in or before; USED, NODE_SPELLS, PAST_RESERVATIONS: the time's end (USED: a whole hour)") \
    X(BOOL, duplicates, 0, "HISTORY: former runs of requeued jobs too")                                    \
    X(BOOL, history, 0, "STEPS: from the history: steps of the jobs HISTORY would give for the same filters") \
    X(BOOL, exact, 0, "JOBS, STEPS: a number in ids names the very record that carries it, not the array of that number") \
    X(BOOL, each_hour, 0, "USED: of the whole cluster, hour by hour")
// clang-format on

/* Answered with EXPLAINED. With `ids`: everything about each of these (at most WHY_JOBS_FULL); else
 * in short about the waiting jobs of `uids`, in their order. */
#define WHY_JOBS_FULL  16
#define WHY_JOBS_SHORT 500
#define MSG_WHY_FIELDS(X)                                                                          \
    X(TEXT, ids, 0, "job references, comma-separated")                                             \
    X(TEXT, uids, 0, "without ids: owners, numbers, comma-separated; NULL = all")                  \
    X(BOOL, no_advice, 0, "do not look for changes that would let it start sooner")
#define MSG_EXPLAINED_FIELDS(X)                                                                    \
    X(LIST, jobs, &why_fields, "each job")                                                         \
    X(U64, more, 0, "further jobs that were left out")

/* What a user may use; as much as fits an answer, partition by partition. */
// clang-format off
#define MSG_MAY_FIELDS(X)                                                                                  \
    X(TEXT, user, 0, "whom it is about; NULL = who asks")                                                  \
    X(U32, uid, 0, "of another user: the number, as the asker's host knows it")                            \
    X(TEXT, groups, 0, "of another user: the groups, as the asker's host knows them, comma-separated; NULL = AllowGroups= is not looked at") \
    X(U32, from, 0, "partitions that were told before")
#define MSG_ALLOWED_FIELDS(X)                                                                              \
    X(TEXT, user, 0, "whom it is about")                                                                   \
    X(TEXT, default_account, 0, "account of jobs that name none; NULL = there is none")                    \
    X(TEXT, coordinates, 0, "accounts of which the user is a coordinator, comma-separated")                \
    X(BOOL, accounts_needed, 0, "a job needs an account in which the user is")                             \
    X(BOOL, limits_hold, 0, "limits are insisted on")                                                      \
    X(LIST, partitions, &may_partition_fields, "partitions, the default first")                            \
    X(U32, next, 0, "there are more: ask again from here; 0 = that was all")

/* How much of a limit is in use, by whom it is counted for (rows of QUERY_LIMIT_USE). */
#define LIMIT_USE_FIELDS(X)                                                                                \
    X(TEXT, id, 0, "the limit: its key")                                                                   \
    X(TEXT, user, 0, "of which for this user; NULL = for all together")                                    \
    X(TEXT, account, 0, "of which for this account")                                                       \
    X(I64, used, &range_any64, "in use")

/* What an association or a QOS has, used and promises, limits or not (rows of QUERY_IN_USE); those
 * that have and used nothing have no row. */
#define IN_USE_FIELDS(X)                                                                                   \
    X(ENUM, owner, &limit_owner_names, "kind of its owner")                                                \
    X(U32, id, 0, "number of the association or QOS")                                                      \
    X(TEXT, user, 0, "of a QOS: of which this user's; NULL = all together")                                \
    X(TEXT, account, 0, "of a QOS: of which this account's")                                               \
    X(I64, jobs, 0, "jobs that have resources")                                                            \
    X(I64, submitted, 0, "and those that wait, each element of an array")                                  \
    X(I64, accruing, 0, "of which gain priority by age")                                                   \
    X(TEXT, has, 0, "what running jobs have: cpu=4,mem=100,gres/gpu=1")                                    \
    X(I64, usage, 0, "decayed use, in thousandths of billing units × seconds")                             \
    X(I64, wall_ms, 0, "decayed wall clock time")                                                          \
    X(TEXT, used, 0, "decayed use: cpu=5,mem=100, in resource × minutes")                                  \
    X(TEXT, promised, 0, "what running jobs may still use by their limits, the same way")
// clang-format on
struct in_use {
    IN_USE_FIELDS(FIELD_MEMBER)
};
extern const struct fields in_use_fields;
struct limit_use {
    LIMIT_USE_FIELDS(FIELD_MEMBER)
};
extern const struct fields limit_use_fields;

enum job_action {
    ACTION_HOLD,
    ACTION_UHOLD,
    ACTION_RELEASE,
    ACTION_REQUEUE,
    ACTION_REQUEUE_HOLD,
    ACTION_SUSPEND,
    ACTION_RESUME,
    ACTION_TOP,
    ACTION_NOTIFY,
};
extern const struct enum_names job_action_names;
enum notify_streams { NOTIFY_ERROR = 1, NOTIFY_OUTPUT = 2 };
#define MSG_JOB_CONTROL_FIELDS(X)                                                                  \
    X(ENUM, action, &job_action_names, "what to do")                                               \
    X(TEXT, ids, 0, "job references, comma-separated; or name=NAME for all jobs of that name")     \
    X(BOOL, special_exit, 0, "REQUEUE_HOLD: with state SPECIAL_EXIT")                              \
    X(TEXT, text, 0, "NOTIFY: a line for the job's error output")                                  \
    X(U32, streams, 0, "NOTIFY: bits of enum notify_streams; 0 = the error output")

// clang-format off
#define MSG_CANCEL_FIELDS(X)                                                                               \
    X(TEXT, ids, 0, "job and step references, comma-separated; NULL = by the filters alone")               \
    X(I32, signal, &range_signal, "signal to send; 0 = end the job")                                       \
    X(BOOL, batch, 0, "to the batch shell only")                                                           \
    X(BOOL, full, 0, "to the steps and the batch shell")                                                   \
    X(BOOL, hurry, 0, "no staging out")                                                                    \
    X(BOOL, gently, 0, "steps: SIGTERM, and SIGKILL KillWait later, instead of SIGKILL at once")           \
    X(TEXT, uids, 0, "filters: owners")                                                                    \
    X(TEXT, states, 0, "filters: states")                                                                  \
    X(TEXT, partitions, 0, "filters: partitions")                                                          \
    X(TEXT, names, 0, "filters: job names")                                                                \
    X(TEXT, accounts, 0, "filters: accounts")                                                              \
    X(TEXT, qos, 0, "filters: QOS")                                                                        \
    X(TEXT, nodes, 0, "filters: nodes")                                                                    \
    X(TEXT, reservations, 0, "filters: reservations")                                                      \
    X(TEXT, wckeys, 0, "filters: wckeys")                                                                  \
    X(U32, attempt, 0, "steps: of this start of the job only, so that a command of a former run does not end another's; 0 = of any") \
    X(BOOL, cron, 0, "jobs of scrontab are meant, too, where that has to be said")

#define MSG_UPDATE_JOB_FIELDS(X)                                                                           \
    X(TEXT, ids, 0, "job references, comma-separated; or name=NAME")                                       \
    X(TEXT, fields, 0, "fields of job_spec to set, comma-separated")                                       \
    X(LIST, values, &job_spec_fields, "one job_spec with the new values")                                  \
    X(SPAN, time_limit_add_us, &range_change, "TimeLimit+= and -=")                                        \
    X(TEXT, admin_comment, 0, "AdminComment; \"\" not given")                                              \
    X(U32, array_limit_plus1, 0, "ArrayTaskThrottle, plus 1")                                              \
    X(TIME, end_us, 0, "EndTime=")                                                                         \
    X(I32, reset_accrue, 0, "ResetAccrueTime")                                                             \
    X(SPAN, step_limit_us, 0, "of the step that ids names (of all steps of the job): its time limit")

/* Answered with DONE: `detail` says what was granted and what more would do, `count` is what was
 * granted, in seconds. */
#define MSG_EXTEND_FIELDS(X)                                                                               \
    X(TEXT, id, 0, "a running job, an element of an array, a component")                                   \
    X(SPAN, add_us, 0, "so much longer it would run")                                                      \
    X(BOOL, all, 0, "all of that or nothing")                                                              \
    X(BOOL, test_only, 0, "say what would be granted, change nothing")

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

#define MSG_UPDATE_RESERVATION_FIELDS(X)                                                                   \
    X(TEXT, name, 0, "reservation; NULL: a name is made of the user's and a number")                       \
    X(BOOL, create, 0, "make it")                                                                          \
    X(BOOL, remove, 0, "remove it")                                                                        \
    X(BOOL, skip, 0, "of a recurring one: leave the time at hand, or the next, out")                       \
    X(TEXT, fields, 0, "fields of reservation to set, comma-separated")                                    \
    X(LIST, values, &reservation_fields, "one reservation with the new values")
// clang-format on

/* All of the changes in their order, or none. Answered with ACCOUNTS_CHANGED, or DONE with why
 * not. */
// clang-format off
#define MSG_CHANGE_ACCOUNTS_FIELDS(X)                                                                      \
    X(LIST, changes, &account_change_fields, "what to do")                                                 \
    X(BOOL, test_only, 0, "say what would be changed, change nothing")

#define MSG_ACCOUNTS_CHANGED_FIELDS(X)                                                                     \
    X(LIST, changed, &account_changed_fields, "what was changed, in order; empty = nothing had to be")     \
    X(TEXT, warning, 0, "accepted, but")
// clang-format on

/* What is over goes: kinds and ages as model/past.h has them. Answered with ARCHIVED when all of it
 * is gone, or DONE with why not. */
// clang-format off
#define MSG_ARCHIVE_FIELDS(X)                                                                              \
    X(TEXT, purge, 0, "what goes, and from which age on: jobs=12months,steps=30days; kinds that are not named as the settings say") \
    X(TEXT, archive, 0, "kinds that are written to files before, comma-separated; those of the settings, too") \
    X(TEXT, directory, 0, "where the files are made; NULL = ArchiveDir")                                    \
    X(TEXT, script, 0, "program that keeps it instead; NULL = ArchiveScript")
#define MSG_ARCHIVED_FIELDS(X) X(TEXT, text, 0, "what was written and removed, a line each")

/* Rows of the past, of an archive or of another cluster. One that is there already stays as it is.
 * What they used is added to the sums unless it is in them. Numbers above are given from now on.
 * All of it, or DONE with why not. */
#define MSG_ADD_PAST_FIELDS(X)                                                                             \
    X(LIST, jobs, &job_fields, "jobs that are over")                                                        \
    X(LIST, runs, &job_fields, "former runs of requeued jobs")                                              \
    X(LIST, parts, &job_fields, "parts of runs before they gave nodes back")                                \
    X(LIST, steps, &step_fields, "steps")                                                                   \
    X(LIST, payloads, &payload_fields, "scripts")                                                           \
    X(LIST, events, &node_spell_fields, "how nodes were")                                                   \
    X(LIST, reservations, &reservation_fields, "reservations that are over")                                \
    X(LIST, transactions, &transaction_fields, "who changed what")                                          \
    X(LIST, sums, &used_fields, "sums of hours")
// clang-format on

/* An entry of a user's table for scrontab: the job that comes of it. */
// clang-format off
#define CRON_ENTRY_FIELDS(X)                                                                               \
    X(TEXT, cron, 0, "when: five fields, or a word (model/grammar/cron.h)")                                        \
    X(U32, first, 0, "line of the table where the entry begins, with its options; from 1")                 \
    X(U32, last, 0, "and where it ends")                                                                   \
    X(LIST, spec, &job_spec_fields, "one job_spec")                                                        \
    X(BLOB, script, 0, "what runs")                                                                        \
    X(BLOB, env, 0, "its environment, as of submit")
struct cron_entry {
    CRON_ENTRY_FIELDS(FIELD_MEMBER)
};
extern const struct fields cron_entry_fields;
/* The table of who asks, whole: it takes the place of the one that there was, with its jobs, or
 * nothing changes. Answered with DONE; `results` names lines. */
#define MSG_SET_CRONTAB_FIELDS(X)                                                                          \
    X(TEXT, text, 0, "the table, as it was written; NULL = there is to be none")                           \
    X(LIST, entries, &cron_entry_fields, "what it says, in order")
/* Answered with CRONTAB. */
#define MSG_GET_CRONTAB_FIELDS(X)                                                                          \
    X(U32, user_plus1, 0, "whose, plus 1; 0 = of who asks")
#define MSG_CRONTAB_FIELDS(X)                                                                              \
    X(TEXT, text, 0, "the table, with its lines that were taken out marked; NULL = there is none")
/* Sets a trigger for who asks. Answered with DONE; `count` is its number. */
#define MSG_SET_TRIGGER_FIELDS(X)                                                                          \
    X(U32, events, &range_trigger_events, "bits of enum trigger_event")                                    \
    X(TEXT, job, 0, "reference of the job it is about; NULL = none")                                       \
    X(TEXT, nodes, 0, "nodes it is about, ranges allowed; NULL = all")                                     \
    X(I32, offset, &range_trigger_offset, "as in trigger")                                                 \
    X(BOOL, permanent, 0, "as in trigger")                                                                 \
    X(TEXT, program, 0, "as in trigger")
/* Removes triggers; what is given has to fit. Answered with DONE. */
#define MSG_CLEAR_TRIGGER_FIELDS(X)                                                                        \
    X(U32, id, 0, "the trigger of that number; 0 = any")                                                   \
    X(TEXT, job, 0, "those about this job; NULL = any")                                                    \
    X(U32, user_plus1, 0, "those of this user, plus 1; 0 = anybody's")
// clang-format on

#define MSG_WAIT_JOB_FIELDS(X)                                                                     \
    X(U64, job_id, 0, "answered (JOB_ENDED) when the job, with all elements of an array, is over")

/* Allocations (salloc, srun). A job with spec.attached belongs to the connection that submitted it,
 * or that attached to it last. When that connection is gone, it has settings.attach_grace_us to
 * come back (a controller that was restarted, a cut network); then the job is ended. */
#define MSG_ATTACH_FIELDS(X)                                                                       \
    X(U64, job_id, 0,                                                                              \
      "answered like a submission with `attach`: ALLOCATED when it runs, JOB_ENDED when it is "    \
      "over")                                                                                      \
    X(BOOL, hold, 0, "the job belongs to this connection from now on")
#define MSG_FINISH_JOB_FIELDS(X)                                                                   \
    X(U64, job_id, 0,                                                                              \
      "an allocation that is no longer needed (of a heterogeneous job: its leader; all "           \
      "components end)")                                                                           \
    X(I32, exit_status, &range_any32, "wait status the job ends with: COMPLETED or FAILED")

/* create_step with `async`: the program comes with the request, is stored with it, and goes to the
 * nodes with the launch; output goes to files that the nodes write. */
/* A step: one launch of tasks in an allocation. The answer on the same call: STEP_PENDING if it has
 * to wait for resources of the job, STEP_CREATED when it has them (the nodes are told in the same
 * turn), STEP_ENDED when all its tasks are gone. The tasks' program, environment and streams go
 * directly between the command and the shepherds (stream messages below), which connect to
 * `address`. When the connection of this call is gone for longer than attach_grace_us, the step is
 * ended. */
// clang-format off
#define MSG_CREATE_STEP_FIELDS(X)                                                                          \
    X(U64, job_id, 0, "job; a component of a heterogeneous job by its own id")                             \
    X(LIST, spec, &job_spec_fields, "one job_spec: what the step wants (0 = from the job); name, binding, time limit, submit_line as for jobs") \
    X(BOOL, exact, 0, "--exact: only the CPUs asked for; else all of the job's on its nodes")              \
    X(BOOL, overlap, 0, "--overlap: share with other steps")                                               \
    X(BOOL, immediate, 0, "refuse instead of waiting when its resources are busy")                         \
    X(BOOL, no_kill, 0, "goes on without a node that fails")                                               \
    X(BOOL, pty, 0, "task 0 gets a terminal")                                                              \
    X(BOOL, interactive, 0, "STEP_INTERACTIVE: the shell of an allocation")                                \
    X(BOOL, no_rendezvous, 0, "no MASTER_ADDR, MASTER_PORT, RANK … in the tasks' environment")             \
    X(I32, relative_plus1, &range_nodes, "--relative, plus 1: from the n-th node of the job")              \
    X(TEXT, task_nodes, 0, "--distribution=arbitrary: node of each task, comma-separated")                 \
    X(BOOL, async, 0, "srun --async: the step belongs to no connection; it is answered with STEP_CREATED at once, and waits by itself") \
    X(BLOB, tasks, 0, "async: the frame of the STREAM_TASKS that its shepherds would get from a command")  \
    X(TEXT, address, 0, "where shepherds reach the command: \"@abstract-name\" (Unix, same host), \"host:port\"; several, blank-separated, tried in turn") \
    X(TEXT, key, 0, "secret they show there; also the step's name should the call be repeated: a step with the same key is not made twice") \
    X(U32, attempt, 0, "start of the job in which the command runs; 0 = it does not run in this job")      \
    X(U32, command_pid, 0, "process id of the command, on spec.alloc_host")                                \
    X(TEXT, cpu_freq, 0, "--cpu-freq, as asked")
// clang-format on
#define MSG_STEP_PENDING_FIELDS(X) X(TEXT, reason, 0, "Slurm's words: Requested nodes are busy, …")
#define MSG_STEP_CREATED_FIELDS(X)                                                                 \
    X(LIST, step, &step_fields, "one step; its layout says which tasks run where")                 \
    X(TEXT, warning, 0, "accepted, but")
#define MSG_STEP_ENDED_FIELDS(X)                                                                   \
    X(LIST, step, &step_fields, "one step, as it ended")                                           \
    X(TEXT, detail, 0,                                                                             \
      "why, when it is not its own doing: \"CANCELLED AT … DUE TO TIME LIMIT\", a node that "    \
      "failed")
/* sattach, and a srun whose call was cut: shepherds of the step connect to `address` as well;
 * STEP_CREATED, then STEP_ENDED. */
// clang-format off
#define MSG_ATTACH_STEP_FIELDS(X)                                                                          \
    X(U64, job_id, 0, "job")                                                                               \
    X(I64, step_id, &range_step, "step")                                                                   \
    X(BOOL, hold, 0, "the step belongs to this connection from now on")                                    \
    X(TEXT, address, 0, "as in create_step; NULL = streams stay as they are")                              \
    X(TEXT, key, 0, "secret the shepherds show there")                                                     \
    X(U32, attempt, 0, "start of the job that the step belongs to; 0 = any")
// clang-format on

#define MSG_GET_SCRIPT_FIELDS(X) X(U64, job_id, 0, "whose batch script; answered with SCRIPT")
#define MSG_SCRIPT_FIELDS(X)                                                                       \
    X(U64, job_id, 0, "job")                                                                       \
    X(BLOB, script, 0, "its batch script")

enum daemon_action {
    DAEMON_PING,
    DAEMON_RECONFIGURE,
    DAEMON_SHUTDOWN,
    DAEMON_RESET_DIAG,
    DAEMON_DAMPENING
};
extern const struct enum_names daemon_action_names;
#define MSG_DAEMON_FIELDS(X)                                                                       \
    X(ENUM, action, &daemon_action_names, "ping, read the configuration again, stop, count anew")  \
    X(BOOL, nodes_too, 0,                                                                          \
      "SHUTDOWN: node daemons stop as well (running jobs go on under their shepherds)")            \
    X(I32, factor, 0, "DAMPENING: FairShareDampeningFactor until the configuration is read again")

/* Hosts. The shell puts the hash of the secret, the address and the certificate in; the machine
 * decides and remembers. */
#define MSG_MAKE_TOKEN_FIELDS(X)                                                                   \
    X(LIST, token, &token_fields,                                                                  \
      "one token: role, trusted, uses_left and, as its age, expires_us are asked for")             \
    X(TEXT, text, 0, "the token as people carry it; made by the controller")
#define MSG_TOKEN_MADE_FIELDS(X)                                                                   \
    X(LIST, token, &token_fields, "one token")                                                     \
    X(TEXT, text, 0, "the token as people carry it")
// clang-format off
#define MSG_JOIN_FIELDS(X)                                                                                 \
    X(TEXT, text, 0, "the token")                                                                          \
    X(TEXT, public_key, 0, "to be certified, PEM")                                                         \
    X(TEXT, config, 0, "NodeName= lines of its nodes, as it finds itself; NULL = none")                    \
    X(LIST, host, &host_fields, "one host: name, uid, nodes")                                              \
    X(I32, protocol, 0, "PROTOCOL_NOW of who says this (model/protocol.h)")                                \
    X(I32, protocol_oldest, 0, "the oldest it understands")                                                \
    X(TEXT, version, 0, "its Remuda version")
// clang-format on
#define MSG_JOINED_FIELDS(X)                                                                       \
    X(LIST, host, &host_fields, "one host, as it was let in")                                      \
    X(TEXT, cert, 0, "its certificate, PEM")                                                       \
    X(TEXT, authority, 0, "the cluster's, PEM")                                                    \
    X(TEXT, cluster_name, 0, "name of the cluster")
#define MSG_RENEW_FIELDS(X) X(TEXT, public_key, 0, "to be certified for the host that asks, PEM")
// clang-format off
#define MSG_VOUCH_FIELDS(X)                                                                                \
    X(U32, uid, 0, "who is at the host's end of this connection, by the word of the host's kernel")        \
    X(U32, gid, 0, "their group")                                                                          \
    X(I32, protocol, 0, "PROTOCOL_NOW of who says this (model/protocol.h)")                                \
    X(I32, protocol_oldest, 0, "the oldest it understands")                                                \
    X(TEXT, version, 0, "its Remuda version")
// clang-format on
#define MSG_EXPEL_FIELDS(X)                                                                        \
    X(TEXT, names, 0,                                                                              \
      "tokens and hosts, by id or host name, comma-separated; NULL = the host that asks")

/* ---- answers -------------------------------------------------------------------------------- */

#define RESULT_FIELDS(X)                                                                           \
    X(TEXT, ref, 0, "what the result is about: a job reference, a node")                           \
    X(ENUM, refusal, &refusal_names, "NONE = done")                                                \
    X(TEXT, detail, 0, "sentence for people")
struct result {
    RESULT_FIELDS(FIELD_MEMBER)
};
extern const struct fields result_fields;

// clang-format off
#define MSG_DONE_FIELDS(X)                                                                                 \
    X(ENUM, refusal, &refusal_names, "NONE = done; else why not")                                          \
    X(TEXT, detail, 0, "sentence for people; what was asked, what is allowed, what would work")            \
    X(TEXT, warning, 0, "done, but")                                                                       \
    X(U64, count, 0, "jobs, nodes or rows it concerned")                                                   \
    X(LIST, results, &result_fields, "for each reference that did not go as asked")                        \
    X(SPAN, again_us, 0, "refused for now: it may be asked again after so long; 0 = not said")
// clang-format on

#define MSG_ALLOCATED_FIELDS(X)                                                                    \
    X(LIST, jobs, &job_fields, "the job, running; of a heterogeneous job all components in order")

#define MSG_JOB_ENDED_FIELDS(X)                                                                    \
    X(U64, job_id, 0, "job")                                                                       \
    X(ENUM, state, &job_state_names, "how it ended")                                               \
    X(I32, exit_status, &range_any32, "wait status; of an array: the highest")

/* A controller or node daemon as `remuda status` shows it (rows of QUERY_STATUS). */
// clang-format off
#define STATUS_FIELDS(X)                                                                                   \
    X(TEXT, role, 0, "controller or node")                                                                 \
    X(TEXT, name, 0, "host or node name")                                                                  \
    X(I64, pid, 0, "process id")                                                                           \
    X(TIME, start_us, 0, "running since")                                                                  \
    X(TEXT, version, 0, "Remuda version")                                                                  \
    X(TEXT, state_dir, 0, "state directory")                                                               \
    X(TEXT, store, 0, "store: kind and path")                                                              \
    X(TEXT, trouble, 0, "what is wrong, in a sentence; NULL = nothing")                                    \
    X(TEXT, isolation, 0, "node: what jobs are held to there, and what they are not")                      \
    X(U64, jobs_pending, 0, "controller: jobs waiting (array elements counted)")                           \
    X(U64, jobs_running, 0, "jobs running")                                                                \
    X(I64, rss_bytes, 0, "its memory")                                                                     \
    X(U64, turns, 0, "controller: turns since start")                                                      \
    X(U64, plans, 0, "planner passes since start")                                                         \
    X(SPAN, last_plan_us, 0, "time the last pass took")                                                    \
    X(SPAN, mean_plan_us, 0, "mean time of a pass")                                                        \
    X(U64, queue_considered, 0, "jobs considered in the last pass")                                        \
    X(TEXT, device_trouble, 0, "node: why devices that are in its machine cannot be used")                 \
    X(SPAN, round_max_us, 0, "controller: longest time in which it heard nobody")
// clang-format on
struct daemon_status {
    STATUS_FIELDS(FIELD_MEMBER)
};
extern const struct fields status_fields;

/* ---- nodes and controller ------------------------------------------------------------------- */

/* What a node holds: rows of NODE_HELLO. */
#define HELD_FIELDS(X)                                                                             \
    X(U64, job_id, 0, "job")                                                                       \
    X(U32, attempt, 0, "which start of it")                                                        \
    X(I64, step_id, &range_step, "step")                                                           \
    X(BOOL, ended, 0, "its processes are gone; the report is on its way")                          \
    X(BOOL, unbegun, 0, "only in the daemon's memory: nothing of it would outlive the daemon yet")
struct held {
    HELD_FIELDS(FIELD_MEMBER)
};
extern const struct fields held_fields;

// clang-format off
#define MSG_NODE_HELLO_FIELDS(X)                                                                           \
    X(LIST, node, &node_fields, "one node: its name and the fields a node reports")                        \
    X(LIST, held, &held_fields, "what runs there or awaits acknowledgement")                               \
    X(I64, pid, 0, "process id of the node daemon")                                                        \
    X(I32, protocol, 0, "PROTOCOL_NOW of who says this (model/protocol.h)")                                \
    X(I32, protocol_oldest, 0, "the oldest it understands")                                                                 \
    X(U64, devices_seq, 0, "age of node.devices_out: what has a smaller number is older")
#define MSG_NODE_WELCOME_FIELDS(X)                                                                         \
    X(SPAN, heartbeat_us, 0, "how often to report")                                                        \
    X(SPAN, accounting_freq_us, 0, "how often to sample")                                                  \
    X(SPAN, kill_wait_us, 0, "between SIGTERM and SIGKILL")                                                \
    X(TEXT, prolog, 0, "program before a job")                                                             \
    X(TEXT, epilog, 0, "program after a job")                                                              \
    X(SPAN, prolog_timeout_us, 0, "how long they may take")                                                \
    X(TEXT, task_prolog, 0, "program before each task")                                                    \
    X(TEXT, task_epilog, 0, "program after each task")                                                     \
    X(BOOL, constrain_cores, 0, "keep jobs on their CPUs")                                                 \
    X(BOOL, constrain_ram, 0, "hold jobs to their memory")                                                 \
    X(BOOL, constrain_devices, 0, "hide other jobs' devices")                                              \
    X(BOOL, constrain_swap, 0, "hold jobs to their swap")                                                  \
    X(BOOL, over_memory_kill, 0, "end jobs over their memory at the samples too")                          \
    X(I32, allowed_ram, 0, "hundredths of a percent of a job's memory; 0 = all of it")                     \
    X(I32, allowed_swap, 0, "the same, of swap beyond it")                                                 \
    X(I32, max_ram, 0, "hundredths of a percent of the node's memory; 0 = all of it")                      \
    X(I32, max_swap, 0, "the same, of swap")                                                               \
    X(MIB, min_ram_mib, 0, "a job is allowed this at least")                                               \
    X(I32, swappiness_plus1, 0, "of jobs' memory, plus 1; 0 = as the kernel likes")                        \
    X(I32, pids_max, 0, "processes and threads of a job; 0 = half of what the machine can have")           \
    X(SPAN, unkillable_us, 0, "processes that outlive SIGKILL so long are reported; 0 = none are")         \
    X(TEXT, topology_addr, 0, "for SLURM_TOPOLOGY_ADDR: s3.s0.n1; NULL = the node's name")                \
    X(TEXT, topology_pattern, 0, "for SLURM_TOPOLOGY_ADDR_PATTERN: switch.switch.node")                   \
    X(TEXT, devices_failed, 0, "devices that are known to be broken: an entry of node.devices_out each")   \
    X(TEXT, cluster_name, 0, "for SLURM_CLUSTER_NAME")                                                     \
    X(TEXT, state_dir, 0, "state directory of the cluster")                                                \
    X(I32, protocol, 0, "PROTOCOL_NOW of who says this (model/protocol.h)")                                \
    X(I32, protocol_oldest, 0, "the oldest it understands")                                                \
    X(TEXT, version, 0, "its Remuda version")                                                              \
    X(BOOL, series, 0, "samples are to be sent (SERIES)")                                                  \
    X(BOOL, no_gpu_use, 0, "what GPUs do is not measured (DisableGPUAcct)")                                \
    X(TEXT, frequencies, 0, "of what is sampled at another gap: energy=10,network=0,filesystem=30, in seconds")
// clang-format on
#define MSG_HEARTBEAT_FIELDS(X)                                                                    \
    X(I32, load_centi, 0, "load average, hundredths")                                              \
    X(MIB, free_mem_mib, 0, "free memory")                                                         \
    X(U64, devices_seq, 0, "age of devices_out; 0 = nothing is said of it")                        \
    X(TEXT, devices_out, 0, "as node.devices_out")                                                 \
    X(TEXT, device_health, 0, "as node.device_health, of the same age; NULL = an older release")   \
    X(LIST, node, &node_fields,                                                                    \
      "the node as a hello describes it, if its devices are others than those told")               \
    X(TEXT, gpu_use, 0, "what its GPUs do (model/record/gpu_use.h); NULL = that is not known")
/* An operator brings broken devices back: the node looks at them again. */
#define MSG_DEVICES_RETRY_FIELDS(X) X(U64, devices_seq, 0, "what the controller knows")

extern const struct fields msg_create_step_fields;
/* Idempotent: a node that already has (job, attempt, step) does nothing. The script and env are
 * attached by the controller's shell from the store. */
// clang-format off
#define MSG_LAUNCH_FIELDS(X)                                                                               \
    X(LIST, job, &job_fields, "the job, as it starts; of a heterogeneous job's script, and of the shell of an interactive one of LSF or PBS, all components, the leader first")                                                     \
    X(I64, step_id, &range_step, "STEP_BATCH or a step's number")                                          \
    X(BLOB, script, 0, "batch script; of an async step what runs: create_step.tasks")                      \
    X(BLOB, env, 0, "exported environment")                                                                \
    X(LIST, step, &step_fields, "one step with its layout; none for the batch script")                     \
    X(LIST, create, &msg_create_step_fields, "what was asked of it (one); its program and environment come through the stream")
/* Let the shepherd of a step connect to another command (sattach). */
#define MSG_STREAM_TO_FIELDS(X)                                                                            \
    X(U64, job_id, 0, "job")                                                                               \
    X(U32, attempt, 0, "which start of it")                                                                \
    X(I64, step_id, &range_step, "step")                                                                   \
    X(TEXT, address, 0, "as in create_step")                                                               \
    X(TEXT, key, 0, "secret to show")
// clang-format on
/* End everything of (job, attempt) on this node: SIGCONT, SIGTERM, after kill_wait SIGKILL; then
 * report RELEASED. With only_step, that step alone: its EXITED follows as always and no RELEASED; a
 * node that does not hold the step answers LOST for it. */
// clang-format off
#define MSG_TERMINATE_FIELDS(X)                                                                            \
    X(U64, job_id, 0, "job")                                                                               \
    X(U32, attempt, 0, "which start of it")                                                                \
    X(SPAN, kill_wait_us, 0, "grace; 0 = SIGKILL at once")                                                 \
    X(TEXT, why, 0, "line for the job's stderr: \"DUE TO TIME LIMIT\", \"\"")                              \
    X(BOOL, only_step, 0, "that step only; the job goes on")                                               \
    X(I64, step_id, &range_step, "step, when only_step")
#define MSG_SIGNAL_FIELDS(X)                                                                               \
    X(U64, job_id, 0, "job")                                                                               \
    X(U32, attempt, 0, "which start of it")                                                                \
    X(I64, step_id, &range_step, "step, when only_step")                                                   \
    X(BOOL, only_step, 0, "to that step only")                                                             \
    X(BOOL, batch, 0, "to the batch shell only")                                                           \
    X(BOOL, full, 0, "to steps, batch shell and what it started; neither = to steps")                        \
    X(I32, signal, &range_signal, "signal number; SIGSTOP and SIGCONT suspend and resume all processes")     \
    X(TEXT, say, 0, "no signal: a line for the error output of the batch script, or of the steps where there is none") \
    X(U32, streams, 0, "say: bits of enum notify_streams; of steps it is their error output")
// clang-format on
/* Samples of what runs on the node (wire/series.h); the shell keeps them, beside the core. Repeated
 * until SERIES_KEPT says so. */
#define MSG_SERIES_FIELDS(X)                                                                       \
    X(U64, number, 0, "of the frame, growing; of this process of the node's daemon alone")         \
    X(BLOB, blocks, 0, "blocks, each with its length")
#define MSG_SERIES_KEPT_FIELDS(X) X(U64, number, 0, "frames up to this one are on the disk")
/* Answered with SERIES_PART, or DONE with a refusal. */
#define MSG_GET_SERIES_FIELDS(X)                                                                   \
    X(U64, job_id, 0, "the job")                                                                   \
    X(U32, attempt, 0, "which run of it; 0 = the last")                                            \
    X(TIME, from_us, 0, "samples after this; 0 = from its beginning")                              \
    X(TIME, to_us, 0, "samples before this; 0 = to its end")                                       \
    X(TEXT, after, 0, "`next` of the part before; NULL = the first")
#define MSG_SERIES_PART_FIELDS(X)                                                                  \
    X(BLOB, blocks, 0, "blocks, each with its length")                                             \
    X(TEXT, next, 0, "there is more: ask again with this; NULL = that was all")                    \
    X(TEXT, warning, 0, "what could not be read; NULL = nothing")
#define OUTPUT_END_BYTES (32u << 10) /* of each file */
/* The last bytes of what a job wrote, of its batch node, where the file may be on a disk of that
 * node alone. The node opens it as the job's owner. Answered with OUTPUT, or DONE with a
 * refusal. */
#define MSG_GET_OUTPUT_FIELDS(X)                                                                   \
    X(U64, job_id, 0, "the job")                                                                   \
    X(U32, attempt, 0, "which run of it")                                                          \
    X(TEXT, out, 0, "path of its output")                                                          \
    X(TEXT, err, 0, "path of its error output; NULL = the same file")
#define MSG_READ_OUTPUT_FIELDS(X)                                                                  \
    X(U64, number, 0, "of the question")                                                           \
    X(U32, uid, 0, "whose files they are, and who opens them")                                     \
    X(U32, gid, 0, "his group")                                                                    \
    X(TIME, since_us, 0, "files that nobody wrote to since then are not the job's")                \
    X(TEXT, out, 0, "path")                                                                        \
    X(TEXT, err, 0, "path; NULL = none")
#define MSG_OUTPUT_READ_FIELDS(X)                                                                  \
    X(U64, number, 0, "of the question")                                                           \
    X(BLOB, out, 0, "the last bytes; empty = no such file")                                        \
    X(BLOB, err, 0, "the last bytes; empty = no such file")
#define MSG_OUTPUT_FIELDS(X)                                                                       \
    X(BLOB, out, 0, "the last bytes, as they are; empty = no such file")                           \
    X(BLOB, err, 0, "the last bytes, as they are; empty = no such file")
#define MSG_REPORT_ACK_FIELDS(X)                                                                   \
    X(U64, seq, 0, "the node's number of the report that is now durable")

enum report_kind {
    REPORT_STARTED, /* the batch script (step) runs */
    REPORT_USAGE,   /* so much used so far */
    /* The step ended; usage is final. clean = nothing of the job is left on this node. */
    REPORT_EXITED,
    /* All processes of the job are gone and its epilog ran: its resources on this node are free. */
    REPORT_RELEASED,
    REPORT_FAILED, /* could not be launched: detail says why */
    REPORT_LOST,   /* the shepherd vanished: the end is unknown; processes were killed */
};
extern const struct enum_names report_kind_names;
/* Repeated until REPORT_ACK(seq), in order of seq. USAGE and STARTED are not repeated (seq 0). */
// clang-format off
#define MSG_REPORT_FIELDS(X)                                                                               \
    X(U64, seq, 0, "number of the report on this node; 0 = needs no acknowledgement")                      \
    X(ENUM, kind, &report_kind_names, "what happened")                                                     \
    X(U64, job_id, 0, "job")                                                                               \
    X(U32, attempt, 0, "which start of it")                                                                \
    X(I64, step_id, &range_step, "step")                                                                   \
    X(TIME, at_us, 0, "when, by the node's clock")                                                         \
    X(I32, exit_status, &range_any32, "EXITED: wait status")                                               \
    X(BOOL, clean, 0, "EXITED of a batch script: nothing of the job is left here (RELEASED is implied)")                     \
    X(BOOL, oom, 0, "a process was killed for memory")                                                     \
    X(BOOL, retry, 0, "FAILED: trying again elsewhere may work")                                           \
    X(BOOL, prolog, 0, "FAILED: the site's prolog did; the node takes no more jobs")                       \
    X(BOOL, gone, 0, "FAILED: its shepherd ended before it began, as with a node that fails")              \
    X(TEXT, detail, 0, "sentence for people")                                                              \
    X(U64, devices_seq, 0, "age of devices_out; 0 = nothing is said of it")                                \
    X(TEXT, devices_out, 0, "as node.devices_out: what the job gave back may be there")                    \
    X(LIST, usage, &step_fields, "one step: usage so far or in all")                                       \
    X(TEXT, device_health, 0, "as node.device_health, of the same age; NULL = an older release")
// clang-format on

/* ---- streams: between a command (srun, sattach) and the shepherds of a step ----
 * The shepherd connects and says STREAM_HELLO; the command answers STREAM_TASKS and each side then
 * sends what it has. Flow: a side stops reading tasks, terminals or files while its unsent bytes
 * are above a bound, so a slow reader slows the writer; towards tasks, no more bytes are under way
 * than STREAM_CREDIT allows. */

// clang-format off
#define MSG_STREAM_HELLO_FIELDS(X)                                                                         \
    X(U64, job_id, 0, "job")                                                                               \
    X(U32, attempt, 0, "which start of it")                                                                \
    X(I64, step_id, &range_step, "step")                                                                   \
    X(TEXT, key, 0, "first half of the secret of create_step or attach_step")                              \
    X(TEXT, node, 0, "node of this shepherd")                                                              \
    X(I64, pid, 0, "its process id")
/* The command's answer: what to run, the same for all nodes; of a sattach the proof alone. */
#define MSG_STREAM_TASKS_FIELDS(X)                                                                         \
    X(TEXT, proof, 0, "second half of the secret: whoever took over the address of a dead command does not know it") \
    X(BLOB, args, 0, "program (searched in the task's PATH) and arguments, each ended by NUL")                                           \
    X(BLOB, multi_prog, 0, "--multi-prog: text of the file, instead of args")                              \
    X(BLOB, env, 0, "environment of the command: NAME=VALUE, each ended by NUL; what the node sets for the step and its tasks replaces it") \
    X(TEXT, work_dir, 0, "work directory")                                                                 \
    X(TEXT, std_in, 0, "file each task reads, pattern (opened on the node); NULL = the stream")            \
    X(TEXT, std_out, 0, "file for output, pattern; NULL = the stream")                                     \
    X(TEXT, std_err, 0, "file for errors, pattern; NULL = the stream, or with the output if that is a file") \
    X(BOOL, append, 0, "files: append instead of truncating")                                              \
    X(BOOL, errors_apart, 0, "errors: the stream, though output is a file")                                \
    X(BOOL, label, 0, "files: the task's number before each line")                                         \
    X(I32, stdin_task_plus1, &range_reader, "stream: the one task that reads it, plus 1; 0 = all; -1 = none (/dev/null)") \
    X(TEXT, task_prolog, 0, "program before each task")                                                    \
    X(TEXT, task_epilog, 0, "program after each task")                                                     \
    X(U32, umask_plus1, &range_umask, "umask, plus 1")                                                     \
    X(TEXT, rlimits, 0, "soft limits to propagate")                                                        \
    X(BOOL, wait_children, 0, "--wait-for-children: tasks end with the last process they leave behind")    \
    X(BOOL, preserve_env, 0, "SLURM_NNODES, SLURM_NTASKS … stay as the command has them")                  \
    X(I32, first_task, &range_tasks, "of several components: what is added to the step's task numbers")    \
    X(I32, first_node, &range_nodes, "and to its node numbers")                                            \
    X(I32, world, &range_tasks, "tasks of all components together; 0 = there is one")                      \
    X(BLOB, whole_env, 0, "NAME=VALUE of all components together, each ended by NUL, instead of the step's own") \
    X(TEXT, master_addr, 0, "rendezvous of all components; NULL = the step's own")                         \
    X(TEXT, master_port, 0, "and its port")                                                                \
    X(I32, rows, &range_window, "pty: window")                                                             \
    X(I32, columns, &range_window, "pty: window")                                                          \
    X(TEXT, term, 0, "pty: TERM of the command's terminal")                                                \
    X(TEXT, mpi, 0, "how the tasks of an MPI program find each other: pmi2, pmix; NULL = not by us")       \
    X(BOOL, mpi_default, 0, "nobody but the site asked for it: tasks start without where it is not to be had") \
    X(TEXT, mpi_name, 0, "then a name for all tasks together, no other program's")                         \
    X(TEXT, mpi_map, 0, "and where they are: \"NODE 0-3,8\", a line for each node; NULL = all are of this one")
// clang-format on
#define MSG_STREAM_STARTED_FIELDS(X)                                                               \
    X(TEXT, tasks, 0, "numbers of the tasks that run, folded")                                     \
    X(TEXT, pids, 0, "their process ids, comma-separated, in order")

enum stream_name { STREAM_IN, STREAM_OUT, STREAM_ERR };
extern const struct enum_names stream_names;
/* From shepherds: output of a task. To shepherds: input for a task, or for all that read the
 * stream. */
#define MSG_STREAM_DATA_FIELDS(X)                                                                  \
    X(ENUM, stream, &stream_names, "which of a task's streams")                                    \
    X(I32, task_plus1, &range_tasks,                                                               \
      "task number, plus 1; 0 = all tasks of the node that read it")                               \
    X(BLOB, data, 0, "bytes")                                                                      \
    X(BOOL, end, 0, "nothing follows on this stream")
#define MSG_STREAM_CREDIT_FIELDS(X)                                                                \
    X(I64, bytes, 0, "so many more bytes of STREAM_IN may be sent to this shepherd")
// clang-format off
#define MSG_STREAM_EXIT_FIELDS(X)                                                                          \
    X(TEXT, tasks, 0, "numbers of tasks that ended, folded")                                               \
    X(I32, exit_status, &range_any32, "their wait status")                                                 \
    X(BOOL, oom, 0, "a process was killed for memory")                                                     \
    X(TEXT, detail, 0, "why they could not start: \"execve(): foo: No such file or directory\"; NULL = they ran")
// clang-format on
#define MSG_STREAM_WINDOW_FIELDS(X)                                                                \
    X(I32, rows, &range_window, "lines of the terminal")                                           \
    X(I32, columns, &range_window, "columns")
#define MSG_STREAM_SIGNAL_FIELDS(X)                                                                \
    X(I32, signal, &range_signal, "for all tasks of the node; SIGKILL ends the step there")
/* Lines from the shepherd itself for the command's standard error. */
#define MSG_STREAM_NOTICE_FIELDS(X)                                                                \
    X(TEXT, text, 0, "\"slurmstepd: error: …\"")                                                   \
    X(BOOL, ends, 0, "it says that the step was told to end")
/* Tasks of an MPI program meet (srun --mpi). Each node that has some of the ranks of a meeting
 * sends MEET with what these bring; the command hands it to the others, and says MET to each when
 * all came. */
enum mpi_op { MPI_MEET, MPI_MET, MPI_ASK, MPI_ANSWER, MPI_ABORT };
extern const struct enum_names mpi_op_names;
// clang-format off
#define MSG_STREAM_MPI_FIELDS(X)                                                                           \
    X(ENUM, op, &mpi_op_names, "what is said")                                                             \
    X(TEXT, ranks, 0, "MEET, MET: who meets, folded; NULL = all tasks; ABORT: start = none runs, left = it is gone")  \
    X(I32, rank, &range_tasks, "ASK, ANSWER: whose; ABORT: who says so")                                   \
    X(I32, code, &range_any32, "ABORT: exit code that the step ends with; ANSWER: not 0 = there is none")  \
    X(TEXT, text, 0, "ABORT: why")                                                                         \
    X(BLOB, data, 0, "MEET, ANSWER: what is brought")
// clang-format on
/* All tasks of the node are gone and all their output was sent; the shepherd closes. */
#define MSG_STREAM_DONE_FIELDS(X)                                                                  \
    X(I32, exit_status, &range_any32, "the highest wait status of its tasks")

/* ---- the table ------------------------------------------------------------------------------ */

enum who {
    WHO_ANYONE,
    WHO_OWNER /* or operator; the handler checks each job */,
    WHO_OPERATOR,
    WHO_ADMIN,
    WHO_NODE,
    WHO_CONTROLLER,
    WHO_STREAM /* never at the controller */
};

/* X(KIND, name on the wire, struct tag, who may send it, doc) */
// clang-format off
#define MESSAGES(X)                                                                                        \
    X(SUBMIT, "submit", submit, ANYONE, "submit a job")                                                    \
    X(QUERY, "query", query, ANYONE, "read records")                                                       \
    X(WHY, "why", why, ANYONE, "ask why jobs wait")                                                         \
    X(MAY, "may", may, ANYONE, "ask what a user may use")                                                   \
    X(JOB_CONTROL, "job_control", job_control, OWNER, "hold, release, requeue, suspend, resume, top")      \
    X(CANCEL, "cancel", cancel, OWNER, "end or signal jobs")                                               \
    X(UPDATE_JOB, "update_job", update_job, OWNER, "change jobs")                                          \
    X(EXTEND, "extend", extend, OWNER, "give a running job more time, where that harms nobody")               \
    X(UPDATE_NODE, "update_node", update_node, OPERATOR, "change nodes")                                   \
    X(UPDATE_PARTITION, "update_partition", update_partition, ADMIN, "change partitions")                  \
    X(UPDATE_RESERVATION, "update_reservation", update_reservation, OPERATOR, "change reservations")       \
    X(CHANGE_ACCOUNTS, "change_accounts", change_accounts, ANYONE, "change accounts, users, QOS, limits: who may is decided by change") \
    X(SET_CRONTAB, "set_crontab", set_crontab, ANYONE, "change one's table for scrontab")                  \
    X(GET_CRONTAB, "get_crontab", get_crontab, ANYONE, "read a table for scrontab: one's own; operators: anybody's") \
    X(CRONTAB, "crontab", crontab, CONTROLLER, "answer to get_crontab")                                    \
    X(SET_TRIGGER, "set_trigger", set_trigger, ANYONE, "set a trigger: root, SlurmUser, the controller's user") \
    X(CLEAR_TRIGGER, "clear_trigger", clear_trigger, ANYONE, "remove triggers: one's own; administrators: anybody's") \
    X(WAIT_JOB, "wait_job", wait_job, ANYONE, "wait for the end of a job")                                 \
    X(ATTACH, "attach", attach, OWNER, "wait for an allocation and hold it")                               \
    X(FINISH_JOB, "finish_job", finish_job, OWNER, "give an allocation back")                              \
    X(CREATE_STEP, "create_step", create_step, OWNER, "launch tasks in an allocation")                     \
    X(ATTACH_STEP, "attach_step", attach_step, OWNER, "connect to the streams of a step")                  \
    X(GET_SCRIPT, "get_script", get_script, OWNER, "read a batch script back")                             \
    X(DAEMON, "daemon", daemon, ANYONE, "ping; administrators: reconfigure, shut down")                    \
    X(MAKE_TOKEN, "make_token", make_token, ADMIN, "make a token with which hosts join")                   \
    X(EXPEL, "expel", expel, ADMIN, "withdraw tokens, shut hosts out")                                     \
    X(ARCHIVE, "archive", archive, ADMIN, "write the past to files and remove it")                         \
    X(ADD_PAST, "add_past", add_past, ADMIN, "add jobs and other things of the past to the history")       \
    X(JOIN, "join", join, ANYONE, "join the cluster as a host")                                            \
    X(RENEW, "renew", renew, ANYONE, "have a host's certificate renewed")                                  \
    X(VOUCH, "vouch", vouch, ANYONE, "say who is at a host's end of a connection")                         \
    X(TOKEN_MADE, "token_made", token_made, CONTROLLER, "answer to make_token")                            \
    X(JOINED, "joined", joined, CONTROLLER, "answer to join and renew")                                    \
    X(SUBMITTED, "submitted", submitted, CONTROLLER, "answer to submit")                                   \
    X(ARCHIVED, "archived", archived, CONTROLLER, "answer to archive")                                     \
    X(ACCOUNTS_CHANGED, "accounts_changed", accounts_changed, CONTROLLER, "answer to change_accounts")      \
    X(EXPLAINED, "explained", explained, CONTROLLER, "answer to why")                                      \
    X(ALLOWED, "allowed", allowed, CONTROLLER, "answer to may")                                            \
    X(SCRIPT, "script", script, CONTROLLER, "answer to get_script")                                        \
    X(DONE, "done", done, CONTROLLER, "answer: done, or refused with the reason")                          \
    X(JOB_ENDED, "job_ended", job_ended, CONTROLLER, "answer to wait_job")                                 \
    X(ALLOCATED, "allocated", allocated, CONTROLLER, "the allocation is there")                            \
    X(STEP_PENDING, "step_pending", step_pending, CONTROLLER, "the step waits for resources of its job")   \
    X(STEP_CREATED, "step_created", step_created, CONTROLLER, "the step is being launched")                \
    X(STEP_ENDED, "step_ended", step_ended, CONTROLLER, "the step is over")                                \
    X(NODE_HELLO, "node_hello", node_hello, NODE, "a node daemon connects")                                \
    X(HEARTBEAT, "heartbeat", heartbeat, NODE, "a node lives")                                             \
    X(SERIES, "series", series, NODE, "samples of what runs on a node")                                    \
    X(SERIES_KEPT, "series_kept", series_kept, CONTROLLER, "samples are on the disk")                      \
    X(GET_SERIES, "get_series", get_series, ANYONE, "read the samples of a job that one sees")             \
    X(SERIES_PART, "series_part", series_part, CONTROLLER, "answer to get_series")                         \
    X(GET_OUTPUT, "get_output", get_output, ANYONE, "read the end of what one's own job wrote on its node") \
    X(READ_OUTPUT, "read_output", read_output, CONTROLLER, "get_output, to the node")                      \
    X(OUTPUT_READ, "output_read", output_read, NODE, "answer to read_output")                              \
    X(OUTPUT, "output", output, CONTROLLER, "answer to get_output")                                        \
    X(REPORT, "report", report, NODE, "what happened to a job on a node")                                  \
    X(NODE_WELCOME, "node_welcome", node_welcome, CONTROLLER, "answer to node_hello")                      \
    X(LAUNCH, "launch", launch, CONTROLLER, "start a job's batch script")                                  \
    X(TERMINATE, "terminate", terminate, CONTROLLER, "end a job on this node")                             \
    X(SIGNAL, "signal", signal, CONTROLLER, "signal a job on this node")                                   \
    X(DEVICES_RETRY, "devices_retry", devices_retry, CONTROLLER, "look at broken devices again")           \
    X(REPORT_ACK, "report_ack", report_ack, CONTROLLER, "a report is durable")                             \
    X(STREAM_TO, "stream_to", stream_to, CONTROLLER, "connect a step's streams to another command")        \
    X(STREAM_HELLO, "stream_hello", stream_hello, STREAM, "a shepherd connects to a command")              \
    X(STREAM_TASKS, "stream_tasks", stream_tasks, STREAM, "what the tasks run")                            \
    X(STREAM_STARTED, "stream_started", stream_started, STREAM, "tasks run")                               \
    X(STREAM_DATA, "stream_data", stream_data, STREAM, "bytes of a task's stream")                         \
    X(STREAM_CREDIT, "stream_credit", stream_credit, STREAM, "more input may be sent")                     \
    X(STREAM_EXIT, "stream_exit", stream_exit, STREAM, "tasks ended")                                      \
    X(STREAM_WINDOW, "stream_window", stream_window, STREAM, "the terminal has another size")              \
    X(STREAM_SIGNAL, "stream_signal", stream_signal, STREAM, "signal the tasks")                           \
    X(STREAM_NOTICE, "stream_notice", stream_notice, STREAM, "the shepherd has something to say")          \
    X(STREAM_MPI, "stream_mpi", stream_mpi, STREAM, "tasks of an MPI program meet, or end all")             \
    X(STREAM_DONE, "stream_done", stream_done, STREAM, "all tasks of a node are gone")
// clang-format on

enum message_kind {
#define X(kind, name, tag, who, doc) MSG_##kind,
    MESSAGES(X)
#undef X
        MESSAGE_COUNT
};

/* The body of each: struct msg_submit has the fields of MSG_SUBMIT_FIELDS, and so on. */
#define X(kind, name, tag, who, doc)                                                               \
    struct msg_##tag {                                                                             \
        MSG_##kind##_FIELDS(FIELD_MEMBER)                                                          \
    };
MESSAGES(X)
#undef X

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
    uint64_t seq; /* number of the request on its connection; an answer repeats it */
    /* The request's own number, the same when it is sent again; 0 = it may be done twice. */
    uint64_t request;
    const void *body;
};
/* Does a request of that kind change something, so that doing it twice is not the same as once?
 * Steps have a name of their own: create_step.key. */
bool message_changes(enum message_kind kind);

/* ---- rows in the store ---------------------------------------------------------------------- */

/* Scripts and environments are rows of their own, written once, never in the controller's
 * memory. */
#define PAYLOAD_FIELDS(X)                                                                          \
    X(U64, job_id, 0, "job (an array: its id; elements share it)")                                 \
    X(BLOB, script, 0, "batch script")                                                             \
    X(BLOB, env, 0, "exported environment")
struct payload {
    PAYLOAD_FIELDS(FIELD_MEMBER)
};
extern const struct fields payload_fields;

/* A step of srun --async, from the request until it is over: what it asked for (its job_spec) and
 * what it runs. */
// clang-format off
#define QUEUED_STEP_FIELDS(X)                                                                              \
    X(U64, job_id, 0, "job")                                                                               \
    X(U32, attempt, 0, "start of the job it belongs to")                                                   \
    X(I64, step_id, &range_step, "number it has")                                                          \
    X(BOOL, exact, 0, "as in create_step")                                                                 \
    X(BOOL, overlap, 0, "as in create_step")                                                               \
    X(BOOL, goes_on, 0, "no_kill of create_step")                                                          \
    X(BOOL, no_rendezvous, 0, "as in create_step")                                                         \
    X(I32, relative_plus1, &range_nodes, "as in create_step")                                              \
    X(TEXT, task_nodes, 0, "as in create_step")                                                            \
    X(U64, key_hash, 0, "of create_step's key")                                                            \
    X(BLOB, tasks, 0, "as in create_step")
// clang-format on
struct queued_step {
    struct job_spec spec;
    QUEUED_STEP_FIELDS(FIELD_MEMBER)
};
extern const struct fields queued_step_fields; /* all rows of job_spec_fields, then these */

/* A user's table for scrontab. Lines whose job was ended for good begin with CRON_DISABLED. */
#define CRON_DISABLED "#DISABLED: "
#define CRONTAB_FIELDS(X)                                                                          \
    X(U32, user_id, 0, "whose")                                                                    \
    X(TEXT, text, 0, "as it was written")
struct crontab {
    CRONTAB_FIELDS(FIELD_MEMBER)
};
extern const struct fields crontab_fields;

/* A request that changed something, and what was answered: who asks again, because the answer was
 * lost, gets it again. Kept for some minutes. */
// clang-format off
#define ANSWERED_FIELDS(X)                                                                                 \
    X(TIME, at_us, 0, "when it was answered")                                                              \
    X(U64, id, 0, "number its command gave it")                                                            \
    X(U32, user_id, 0, "who asked")                                                                        \
    X(U64, job_id, 0, "submitted: the id given; else 0")                                                   \
    X(ENUM, refusal, &refusal_names, "done: why not")                                                      \
    X(TEXT, detail, 0, "done: the sentence")                                                               \
    X(TEXT, warning, 0, "done, submitted: accepted, but")                                                  \
    X(U64, count, 0, "done: jobs, nodes or rows it concerned")
// clang-format on
struct answered {
    ANSWERED_FIELDS(FIELD_MEMBER)
};
extern const struct fields answered_fields;

/* A row that a start could not take: see core/load/left_out.c. */
#define LEFT_OUT_FIELDS(X)                                                                         \
    X(TEXT, name, 0, "table and key of the row: job 42")                                           \
    X(TIME, at_us, 0, "when")                                                                      \
    X(TEXT, why, 0, "what is wrong with it")                                                       \
    X(TEXT, record, 0, "the row: name=value of all that is given, a line each")
struct left_out {
    LEFT_OUT_FIELDS(FIELD_MEMBER)
};
extern const struct fields left_out_fields;

/* Small facts: next_job_id, epoch, cluster name, schema version. */
#define META_FIELDS(X)                                                                             \
    X(TEXT, key, 0, "name")                                                                        \
    X(TEXT, value, 0, "value")
struct meta {
    META_FIELDS(FIELD_MEMBER)
};
extern const struct fields meta_fields;

/* X(TABLE, SQL name, fields, leading fields of the table that make its key, as a comma-separated
 * text, doc) */
// clang-format off
#define STORE_TABLES(X)                                                                                     \
    X(JOB, "job", job_fields, "id", "every job, live and ended; the latest run of each")                    \
    X(JOB_RUN, "job_run", job_fields, "id,attempt", "former runs of requeued jobs")                         \
    X(JOB_PART, "job_part", job_fields, "id,start_us", "parts of runs before they gave nodes back")         \
    X(STEP, "step", step_fields, "job_id,attempt,step_id", "steps and what they used")                      \
    X(PAYLOAD, "payload", payload_fields, "job_id", "scripts and environments")                             \
    X(QUEUED_STEP, "queued_step", queued_step_fields, "job_id,step_id", "steps of srun --async that are not over") \
    X(NODE, "node", node_fields, "name", "nodes as last known")                                             \
    X(PARTITION, "partition", partition_fields, "name", "partitions changed by scontrol")                   \
    X(RESERVATION, "reservation", reservation_fields, "name", "reservations")                               \
    X(META, "meta", meta_fields, "key", "small facts")                                                      \
    X(USAGE, "usage", usage_fields, "who", "what users used, for fair share")  \
    X(USE, "use_of", use_fields, "id", "what associations and QOS used")                                    \
    X(TOKEN, "token", token_fields, "id", "tokens with which hosts may join")                               \
    X(HOST, "host", host_fields, "id", "hosts that joined")                                                 \
    X(ACCOUNT, "account", account_fields, "name", "accounts")                                               \
    X(ACCOUNT_USER, "account_user", account_user_fields, "name", "users who have accounts")                 \
    X(ASSOC, "assoc", assoc_fields, "id", "associations: accounts, and users in them")                      \
    X(QOS, "qos", qos_fields, "id", "qualities of service")                                                 \
    X(LIMIT, "resource_limit", limit_fields, "id", "limits of associations and QOS")                        \
    X(WCKEY, "wckey", wckey_fields, "id", "workload keys of users")                                         \
    X(TRES, "tres", tres_fields, "id", "trackable resources")                                               \
    X(TRANSACTION, "account_transaction", transaction_fields, "id", "who changed what of accounts, QOS and limits") \
    X(NODE_SPELL, "node_spell", node_spell_fields, "name,start_us", "how nodes were, and from when to when")    \
    X(PAST_RESERVATION, "past_reservation", reservation_fields, "name,start_us", "reservations that are over")  \
    X(USED_HOUR, "used_hour", used_hour_fields, "from_us,who", "sums of hours that came from archives")      \
    X(CRONTAB, "crontab", crontab_fields, "user_id", "users' tables for scrontab")                          \
    X(TRIGGER, "trigger_set", trigger_fields, "id", "triggers (strigger)")                                  \
    X(ANSWERED, "answered", answered_fields, "at_us,id", "requests of the last minutes, answered")          \
    X(LEFT_OUT, "left_out", left_out_fields, "name", "rows that a start could not take, in words")
// clang-format on

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
