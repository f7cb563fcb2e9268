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

enum does {
    DOES_READ,  /* leaves everything as it is: served while the store is away */
    DOES_ONCE,  /* changes something, and twice is not once: asked again after a break it is not
                 * done again */
    DOES_AGAIN, /* waits for the store, and may be done twice, or knows itself again
                 * (create_step.key) */
    DOES_TELL,  /* asks for nothing: an answer, an order to a node, bytes of a stream */
};

/* X(KIND, name on the wire, struct tag, who may send it, what it does, doc) Its fields are
 * MSG_KIND_FIELDS, in model/message/. */
// clang-format off
#define MESSAGES(X)                                                                                        \
    X(SUBMIT, "submit", submit, ANYONE, ONCE, "submit a job") \
    X(QUERY, "query", query, ANYONE, READ, "read records") \
    X(WHY, "why", why, ANYONE, READ, "ask why jobs wait") \
    X(MAY, "may", may, ANYONE, READ, "ask what a user may use") \
    X(JOB_CONTROL, "job_control", job_control, OWNER, ONCE, "hold, release, requeue, suspend, resume, top") \
    X(CANCEL, "cancel", cancel, OWNER, ONCE, "end or signal jobs") \
    X(UPDATE_JOB, "update_job", update_job, OWNER, ONCE, "change jobs") \
    X(AMEND_JOBS, "amend_jobs", amend_jobs, OWNER, ONCE, "say something of jobs afterwards: comments, whether they failed") \
    X(EXTEND, "extend", extend, OWNER, ONCE, "give a running job more time, where that harms nobody") \
    X(UPDATE_NODE, "update_node", update_node, OPERATOR, ONCE, "change nodes") \
    X(UPDATE_PARTITION, "update_partition", update_partition, ADMIN, ONCE, "change partitions") \
    X(UPDATE_RESERVATION, "update_reservation", update_reservation, OPERATOR, ONCE, "change reservations") \
    X(CHANGE_ACCOUNTS, "change_accounts", change_accounts, ANYONE, ONCE, "change accounts, users, QOS, limits: who may is decided by change") \
    X(SET_CRONTAB, "set_crontab", set_crontab, ANYONE, ONCE, "change one's table for scrontab") \
    X(GET_CRONTAB, "get_crontab", get_crontab, ANYONE, READ, "read a table for scrontab: one's own; operators: anybody's") \
    X(CRONTAB, "crontab", crontab, CONTROLLER, TELL, "answer to get_crontab") \
    X(SET_TRIGGER, "set_trigger", set_trigger, ANYONE, ONCE, "set a trigger: root, SlurmUser, the controller's user") \
    X(CLEAR_TRIGGER, "clear_trigger", clear_trigger, ANYONE, ONCE, "remove triggers: one's own; administrators: anybody's") \
    X(WAIT_JOB, "wait_job", wait_job, ANYONE, READ, "wait for the end of a job") \
    X(ATTACH, "attach", attach, OWNER, AGAIN, "wait for an allocation and hold it") \
    X(FINISH_JOB, "finish_job", finish_job, OWNER, ONCE, "give an allocation back") \
    X(CREATE_STEP, "create_step", create_step, OWNER, AGAIN, "launch tasks in an allocation") \
    X(ATTACH_STEP, "attach_step", attach_step, OWNER, AGAIN, "connect to the streams of a step") \
    X(GET_SCRIPT, "get_script", get_script, OWNER, READ, "read a batch script back") \
    X(DAEMON, "daemon", daemon, ANYONE, AGAIN, "ping; administrators: reconfigure, shut down") \
    X(MAKE_TOKEN, "make_token", make_token, ADMIN, AGAIN, "make a token with which hosts join") \
    X(EXPEL, "expel", expel, ADMIN, ONCE, "withdraw tokens, shut hosts out") \
    X(ARCHIVE, "archive", archive, ADMIN, AGAIN, "write the past to files and remove it") \
    X(ADD_PAST, "add_past", add_past, ADMIN, AGAIN, "add jobs and other things of the past to the history") \
    X(JOIN, "join", join, ANYONE, AGAIN, "join the cluster as a host") \
    X(RENEW, "renew", renew, ANYONE, AGAIN, "have a host's certificate renewed") \
    X(VOUCH, "vouch", vouch, ANYONE, AGAIN, "say who is at a host's end of a connection") \
    X(TOKEN_MADE, "token_made", token_made, CONTROLLER, TELL, "answer to make_token") \
    X(JOINED, "joined", joined, CONTROLLER, TELL, "answer to join and renew") \
    X(SUBMITTED, "submitted", submitted, CONTROLLER, TELL, "answer to submit") \
    X(ARCHIVED, "archived", archived, CONTROLLER, TELL, "answer to archive") \
    X(ACCOUNTS_CHANGED, "accounts_changed", accounts_changed, CONTROLLER, TELL, "answer to change_accounts") \
    X(EXPLAINED, "explained", explained, CONTROLLER, TELL, "answer to why") \
    X(ALLOWED, "allowed", allowed, CONTROLLER, TELL, "answer to may") \
    X(SCRIPT, "script", script, CONTROLLER, TELL, "answer to get_script") \
    X(DONE, "done", done, CONTROLLER, TELL, "answer: done, or refused with the reason") \
    X(JOB_ENDED, "job_ended", job_ended, CONTROLLER, TELL, "answer to wait_job") \
    X(ALLOCATED, "allocated", allocated, CONTROLLER, TELL, "the allocation is there") \
    X(STEP_PENDING, "step_pending", step_pending, CONTROLLER, TELL, "the step waits for resources of its job") \
    X(STEP_CREATED, "step_created", step_created, CONTROLLER, TELL, "the step is being launched") \
    X(STEP_ENDED, "step_ended", step_ended, CONTROLLER, TELL, "the step is over") \
    X(NODE_HELLO, "node_hello", node_hello, NODE, READ, "a node daemon connects") \
    X(HEARTBEAT, "heartbeat", heartbeat, NODE, READ, "a node lives") \
    X(SERIES, "series", series, NODE, AGAIN, "samples of what runs on a node") \
    X(SERIES_KEPT, "series_kept", series_kept, CONTROLLER, TELL, "samples are on the disk") \
    X(GET_SERIES, "get_series", get_series, ANYONE, READ, "read the samples of a job that one sees") \
    X(SERIES_PART, "series_part", series_part, CONTROLLER, TELL, "answer to get_series") \
    X(GET_OUTPUT, "get_output", get_output, ANYONE, AGAIN, "read the end of what one's own job wrote on its node") \
    X(READ_OUTPUT, "read_output", read_output, CONTROLLER, TELL, "get_output, to the node") \
    X(OUTPUT_READ, "output_read", output_read, NODE, AGAIN, "answer to read_output") \
    X(OUTPUT, "output", output, CONTROLLER, TELL, "answer to get_output") \
    X(REPORT, "report", report, NODE, AGAIN, "what happened to a job on a node") \
    X(NODE_WELCOME, "node_welcome", node_welcome, CONTROLLER, TELL, "answer to node_hello") \
    X(LAUNCH, "launch", launch, CONTROLLER, TELL, "start a job's batch script") \
    X(TERMINATE, "terminate", terminate, CONTROLLER, TELL, "end a job on this node") \
    X(SIGNAL, "signal", signal, CONTROLLER, TELL, "signal a job on this node") \
    X(DEVICES_RETRY, "devices_retry", devices_retry, CONTROLLER, TELL, "look at broken devices again") \
    X(REPORT_ACK, "report_ack", report_ack, CONTROLLER, TELL, "a report is durable") \
    X(STREAM_TO, "stream_to", stream_to, CONTROLLER, TELL, "connect a step's streams to another command") \
    X(STREAM_HELLO, "stream_hello", stream_hello, STREAM, TELL, "a shepherd connects to a command") \
    X(STREAM_TASKS, "stream_tasks", stream_tasks, STREAM, TELL, "what the tasks run") \
    X(STREAM_STARTED, "stream_started", stream_started, STREAM, TELL, "tasks run") \
    X(STREAM_DATA, "stream_data", stream_data, STREAM, TELL, "bytes of a task's stream") \
    X(STREAM_CREDIT, "stream_credit", stream_credit, STREAM, TELL, "more input may be sent") \
    X(STREAM_EXIT, "stream_exit", stream_exit, STREAM, TELL, "tasks ended") \
    X(STREAM_WINDOW, "stream_window", stream_window, STREAM, TELL, "the terminal has another size") \
    X(STREAM_SIGNAL, "stream_signal", stream_signal, STREAM, TELL, "signal the tasks") \
    X(STREAM_NOTICE, "stream_notice", stream_notice, STREAM, TELL, "the shepherd has something to say") \
    X(STREAM_MPI, "stream_mpi", stream_mpi, STREAM, TELL, "tasks of an MPI program meet, or end all") \
    X(STREAM_DONE, "stream_done", stream_done, STREAM, TELL, "all tasks of a node are gone")
// clang-format on

enum message_kind {
#define X(kind, name, tag, who, does, doc) MSG_##kind,
    MESSAGES(X)
#undef X
        MESSAGE_COUNT
};

/* The body of each: struct msg_submit has the fields of MSG_SUBMIT_FIELDS, and so on. */
#define X(kind, name, tag, who, does, doc)                                                         \
    struct msg_##tag {                                                                             \
        MSG_##kind##_FIELDS(FIELD_MEMBER)                                                          \
    };
MESSAGES(X)
#undef X

struct message_row {
    const char *name; /* as sdiag and the protocol's page have it */
    enum who who;     /* for readers: the deed itself asks (core/record/facts.c) */
    enum does does;
    const char *doc;
};
extern const struct message_row message_table[MESSAGE_COUNT];
const struct fields *message_fields(enum message_kind kind);       /* of its body */
bool message_kind_parse(const char *name, enum message_kind *ret); /* of the name in its row */

/* A message in memory: kind and record (struct msg_… of that kind). */
struct message {
    enum message_kind kind;
    uint64_t seq; /* number of the request on its connection; an answer repeats it */
    /* The request's own number, the same when it is sent again; 0 = it may be done twice. */
    uint64_t request;
    const void *body; /* a struct of the kind's own */
};
bool message_changes(enum message_kind kind); /* DOES_ONCE */
bool message_reads(enum message_kind kind);   /* DOES_READ */

#endif
