/* The messages between clients, controller and nodes, and the request table: who may send what.
 * Each message is a record with a field table; wire/ turns them into frames. */
#ifndef REMUDA_MODEL_MESSAGE_H
#define REMUDA_MODEL_MESSAGE_H

#include "model/message/answer.h"
#include "model/message/ask.h"
#include "model/message/node.h"
#include "model/message/stream.h"
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

enum who {
    WHO_ANYONE, /* who has a connection */
    WHO_OWNER /* or operator; the handler checks each job */,
    WHO_OPERATOR, /* and administrators */
    WHO_ADMIN,
    WHO_NODE, /* a node's daemon */
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
    X(AMEND_JOBS, "amend_jobs", amend_jobs, OWNER, "say something of jobs afterwards: comments, whether they failed") \
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
    const char *name;            /* as sdiag and the protocol's page have it */
    const struct fields *fields; /* of its body */
    enum who who;                /* for readers: the deed itself asks (core/record/facts.c) */
    const char *doc;
};
extern const struct message_row message_table[MESSAGE_COUNT];
bool message_kind_parse(const char *name, enum message_kind *ret); /* of the name in its row */

/* A message in memory: kind and record (struct msg_… of that kind). */
struct message {
    enum message_kind kind;
    uint64_t seq; /* number of the request on its connection; an answer repeats it */
    /* The request's own number, the same when it is sent again; 0 = it may be done twice. */
    uint64_t request;
    const void *body; /* a struct of the kind's own */
};
/* Does a request of that kind change something, so that doing it twice is not the same as once?
 * Steps have a name of their own: create_step.key. */
bool message_changes(enum message_kind kind);

#endif
