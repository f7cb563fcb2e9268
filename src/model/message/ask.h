/* What clients ask: the fields of each request, and of its answer where that is for it alone. The
 * table that says who may send which is in model/message.h, which everybody includes who needs a
 * message. */
#ifndef REMUDA_MODEL_MESSAGE_ASK_H
#define REMUDA_MODEL_MESSAGE_ASK_H

#include "model/fields.h"
#include "model/job/job.h"
#include "model/record/host.h"
#include "model/record/may.h"
#include "model/record/node.h"
#include "model/record/partition.h"
#include "model/record/reservation.h"
#include "model/record/trigger.h"
#include "model/record/why.h"
#include "model/refusal.h"

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
    QUERY_JOBS,              /* struct job: in memory, not over unless asked for */
    QUERY_NODES,             /* struct node */
    QUERY_PARTITIONS,        /* struct partition */
    QUERY_STEPS,             /* struct step */
    QUERY_SETTINGS,          /* struct meta: key and value */
    QUERY_STATUS,            /* struct daemon_status, one */
    QUERY_HISTORY,           /* struct job, out of the store */
    QUERY_RESERVATIONS,      /* struct reservation: to come and active */
    QUERY_PRIORITY,          /* struct priority_row: of what waits */
    QUERY_SHARES,            /* struct usage */
    QUERY_DIAG,              /* struct diag, one */
    QUERY_TOKENS,            /* struct token */
    QUERY_HOSTS,             /* struct host */
    QUERY_ACCOUNTS,          /* struct account, removed ones too, as of the next */
    QUERY_ACCOUNT_USERS,     /* struct account_user */
    QUERY_ASSOCS,            /* struct assoc */
    QUERY_QOS,               /* struct qos */
    QUERY_LIMITS,            /* struct limit */
    QUERY_WCKEYS,            /* struct wckey */
    QUERY_TRES,              /* struct tres */
    QUERY_TRANSACTIONS,      /* struct transaction, out of the store */
    QUERY_USED,              /* struct used, out of the store */
    QUERY_NODE_SPELLS,       /* struct node_spell, out of the store */
    QUERY_PAST_RESERVATIONS, /* struct reservation, out of the store */
    QUERY_LIMIT_USE,         /* struct limit_use */
    QUERY_FAIR_SHARES,       /* struct fair_share */
    QUERY_IN_USE,            /* struct in_use */
    QUERY_TRIGGERS
};
#define QUERY_COUNT (QUERY_TRIGGERS + 1)
extern const struct enum_names query_what_names;
/* Filters are "and"ed; NULL = all. Answer: ROWS frames of the records asked for, then DONE. */
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
    X(BOOL, exact, 0, "JOBS, STEPS, HISTORY: a number in ids names the very record that carries it, not the array of that number") \
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
    ACTION_HOLD,  /* an operator's is released by operators alone */
    ACTION_UHOLD, /* as its user holds it, whoever asks */
    ACTION_RELEASE,
    ACTION_REQUEUE,      /* ends its run, and it waits again */
    ACTION_REQUEUE_HOLD, /* and is held */
    ACTION_SUSPEND,
    ACTION_RESUME,
    ACTION_TOP,    /* first of its user's */
    ACTION_NOTIFY, /* a line to its output */
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
    X(TEXT, fields, 0, "fields of job_spec to set, comma-separated; of several values a list of each, parted by ;") \
    X(LIST, values, &job_spec_fields, "one job_spec with the new values; or one for each component of the one job that ids names: together or not at all") \
    X(SPAN, time_limit_add_us, &range_change, "TimeLimit+= and -=")                                        \
    X(TEXT, admin_comment, 0, "AdminComment; \"\" not given")                                              \
    X(U32, array_limit_plus1, 0, "ArrayTaskThrottle, plus 1")                                              \
    X(TIME, end_us, 0, "EndTime=")                                                                         \
    X(I32, reset_accrue, 0, "ResetAccrueTime")                                                             \
    X(SPAN, step_limit_us, 0, "of the step that ids names (of all steps of the job): its time limit")

/* What is said of jobs afterwards, whether they are over or not; all of them or none. Those that
 * memory does not know any more the shell reads first (event.rows). Answered with DONE. */
#define AMENDED_AT_ONCE 1000
#define MSG_AMEND_JOBS_FIELDS(X)                                                                           \
    X(TEXT, ids, 0, "numbers of jobs, comma-separated, 1,000 at most")                                     \
    X(TEXT, fields, 0, "which fields of the job are set, comma-separated: comment, extra; for operators admin_comment, system_comment; of jobs that are over wckey, derived_exit_status") \
    X(LIST, values, &job_fields, "one job with the new values")                                            \
    X(BOOL, test_only, 0, "say whether it may be done, change nothing")

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
    X(TEXT, together, 0, "the same in the calls for each component's part of one step, which have one number; NULL = it is of one component") \
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
    DAEMON_PING, /* is it there? */
    DAEMON_RECONFIGURE,
    DAEMON_SHUTDOWN,
    DAEMON_RESET_DIAG, /* counts of sdiag begin anew */
    /* sets FairShareDampeningFactor */
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
    X(TEXT, cluster_name, 0, "name of the cluster")                                                \
    X(TEXT, fault, 0, "why its node is not there yet; NULL = nothing")
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

#endif
