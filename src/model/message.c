#include "model/message.h"

#include "base/alloc.h"
#include "base/str.h"
#include "model/stored.h"

#define NAMES(list, ...)                                                                           \
    static const char *const list##_text[] = {__VA_ARGS__};                                        \
    const struct enum_names list = {list##_text, ARRAY_LEN(list##_text)};

NAMES(query_what_names, [QUERY_JOBS] = "jobs", [QUERY_NODES] = "nodes",
      [QUERY_PARTITIONS] = "partitions", [QUERY_STEPS] = "steps", [QUERY_SETTINGS] = "settings",
      [QUERY_STATUS] = "status", [QUERY_HISTORY] = "history", [QUERY_RESERVATIONS] = "reservations",
      [QUERY_PRIORITY] = "priority", [QUERY_SHARES] = "shares", [QUERY_DIAG] = "diag",
      [QUERY_TOKENS] = "tokens", [QUERY_HOSTS] = "hosts", [QUERY_ACCOUNTS] = "accounts",
      [QUERY_ACCOUNT_USERS] = "account_users", [QUERY_ASSOCS] = "assocs", [QUERY_QOS] = "qos",
      [QUERY_LIMITS] = "limits", [QUERY_WCKEYS] = "wckeys", [QUERY_TRES] = "tres",
      [QUERY_TRANSACTIONS] = "transactions", [QUERY_USED] = "used",
      [QUERY_NODE_SPELLS] = "node_spells", [QUERY_PAST_RESERVATIONS] = "past_reservations",
      [QUERY_LIMIT_USE] = "limit_use", [QUERY_FAIR_SHARES] = "fair_shares",
      [QUERY_IN_USE] = "in_use", [QUERY_TRIGGERS] = "triggers")
NAMES(job_action_names, [ACTION_HOLD] = "hold", [ACTION_UHOLD] = "uhold",
      [ACTION_RELEASE] = "release", [ACTION_REQUEUE] = "requeue",
      [ACTION_REQUEUE_HOLD] = "requeuehold", [ACTION_SUSPEND] = "suspend",
      [ACTION_RESUME] = "resume", [ACTION_TOP] = "top", [ACTION_NOTIFY] = "notify")
NAMES(daemon_action_names, [DAEMON_PING] = "ping", [DAEMON_RECONFIGURE] = "reconfigure",
      [DAEMON_SHUTDOWN] = "shutdown", [DAEMON_RESET_DIAG] = "reset_diag",
      [DAEMON_DAMPENING] = "dampening")
NAMES(report_kind_names, [REPORT_STARTED] = "started", [REPORT_USAGE] = "usage",
      [REPORT_EXITED] = "exited", [REPORT_RELEASED] = "released", [REPORT_FAILED] = "failed",
      [REPORT_LOST] = "lost")

NAMES(host_role_names, [ROLE_NODE] = "node", [ROLE_LOGIN] = "login")
NAMES(stream_names, [STREAM_IN] = "in", [STREAM_OUT] = "out", [STREAM_ERR] = "err")
NAMES(mpi_op_names, [MPI_MEET] = "meet", [MPI_MET] = "met", [MPI_ASK] = "ask",
      [MPI_ANSWER] = "answer", [MPI_ABORT] = "abort")

/* A record and its table from its X-macro. */
#define TABLE(tag, structure, macro)                                                               \
    static const struct field tag##_rows[] = {macro(ROW)};                                         \
    const struct fields tag##_fields = {#tag, sizeof(structure), tag##_rows, ARRAY_LEN(tag##_rows)};

#define STRUCTURE                 struct result
#define ROW(type, name, aux, doc) FIELD_ROW_AT(STRUCTURE, , type, name, aux, doc)
TABLE(result, struct result, RESULT_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct daemon_status
TABLE(status, struct daemon_status, STATUS_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct held
TABLE(held, struct held, HELD_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct token
TABLE(token, struct token, TOKEN_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct host
TABLE(host, struct host, HOST_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct cron_entry
TABLE(cron_entry, struct cron_entry, CRON_ENTRY_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct limit_use
TABLE(limit_use, struct limit_use, LIMIT_USE_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct in_use
TABLE(in_use, struct in_use, IN_USE_FIELDS)
#undef STRUCTURE
#undef TABLE
#undef ROW

#define MESSAGE_ROWS(tag, macro)                                                                   \
    static const struct field msg_##tag##_rows[] = {macro(ROW)};                                   \
    static const struct fields msg_##tag##_table = {                                               \
        #tag, sizeof(struct msg_##tag), msg_##tag##_rows, ARRAY_LEN(msg_##tag##_rows)};
#define ROW(type, name, aux, doc) FIELD_ROW_AT(STRUCTURE, , type, name, aux, doc)
#define STRUCTURE                 struct msg_submit
MESSAGE_ROWS(submit, MSG_SUBMIT_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_query
MESSAGE_ROWS(query, MSG_QUERY_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_archive
MESSAGE_ROWS(archive, MSG_ARCHIVE_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_archived
MESSAGE_ROWS(archived, MSG_ARCHIVED_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_add_past
MESSAGE_ROWS(add_past, MSG_ADD_PAST_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_why
MESSAGE_ROWS(why, MSG_WHY_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_explained
MESSAGE_ROWS(explained, MSG_EXPLAINED_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_may
MESSAGE_ROWS(may, MSG_MAY_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_allowed
MESSAGE_ROWS(allowed, MSG_ALLOWED_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_job_control
MESSAGE_ROWS(job_control, MSG_JOB_CONTROL_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_cancel
MESSAGE_ROWS(cancel, MSG_CANCEL_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_update_job
MESSAGE_ROWS(update_job, MSG_UPDATE_JOB_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_amend_jobs
MESSAGE_ROWS(amend_jobs, MSG_AMEND_JOBS_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_extend
MESSAGE_ROWS(extend, MSG_EXTEND_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_update_node
MESSAGE_ROWS(update_node, MSG_UPDATE_NODE_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_update_partition
MESSAGE_ROWS(update_partition, MSG_UPDATE_PARTITION_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_update_reservation
MESSAGE_ROWS(update_reservation, MSG_UPDATE_RESERVATION_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_change_accounts
MESSAGE_ROWS(change_accounts, MSG_CHANGE_ACCOUNTS_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_accounts_changed
MESSAGE_ROWS(accounts_changed, MSG_ACCOUNTS_CHANGED_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_set_crontab
MESSAGE_ROWS(set_crontab, MSG_SET_CRONTAB_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_get_crontab
MESSAGE_ROWS(get_crontab, MSG_GET_CRONTAB_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_crontab
MESSAGE_ROWS(crontab, MSG_CRONTAB_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_set_trigger
MESSAGE_ROWS(set_trigger, MSG_SET_TRIGGER_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_clear_trigger
MESSAGE_ROWS(clear_trigger, MSG_CLEAR_TRIGGER_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_wait_job
MESSAGE_ROWS(wait_job, MSG_WAIT_JOB_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_get_script
MESSAGE_ROWS(get_script, MSG_GET_SCRIPT_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_daemon
MESSAGE_ROWS(daemon, MSG_DAEMON_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_submitted
MESSAGE_ROWS(submitted, MSG_SUBMITTED_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_script
MESSAGE_ROWS(script, MSG_SCRIPT_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_done
MESSAGE_ROWS(done, MSG_DONE_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_job_ended
MESSAGE_ROWS(job_ended, MSG_JOB_ENDED_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_node_hello
MESSAGE_ROWS(node_hello, MSG_NODE_HELLO_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_heartbeat
MESSAGE_ROWS(heartbeat, MSG_HEARTBEAT_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_devices_retry
MESSAGE_ROWS(devices_retry, MSG_DEVICES_RETRY_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_report
MESSAGE_ROWS(report, MSG_REPORT_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_node_welcome
MESSAGE_ROWS(node_welcome, MSG_NODE_WELCOME_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_launch
MESSAGE_ROWS(launch, MSG_LAUNCH_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_terminate
MESSAGE_ROWS(terminate, MSG_TERMINATE_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_signal
MESSAGE_ROWS(signal, MSG_SIGNAL_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_report_ack
MESSAGE_ROWS(report_ack, MSG_REPORT_ACK_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_series
MESSAGE_ROWS(series, MSG_SERIES_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_series_kept
MESSAGE_ROWS(series_kept, MSG_SERIES_KEPT_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_get_series
MESSAGE_ROWS(get_series, MSG_GET_SERIES_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_series_part
MESSAGE_ROWS(series_part, MSG_SERIES_PART_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_get_output
MESSAGE_ROWS(get_output, MSG_GET_OUTPUT_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_read_output
MESSAGE_ROWS(read_output, MSG_READ_OUTPUT_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_output_read
MESSAGE_ROWS(output_read, MSG_OUTPUT_READ_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_output
MESSAGE_ROWS(output, MSG_OUTPUT_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_attach
MESSAGE_ROWS(attach, MSG_ATTACH_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_finish_job
MESSAGE_ROWS(finish_job, MSG_FINISH_JOB_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_create_step
MESSAGE_ROWS(create_step, MSG_CREATE_STEP_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_attach_step
MESSAGE_ROWS(attach_step, MSG_ATTACH_STEP_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_allocated
MESSAGE_ROWS(allocated, MSG_ALLOCATED_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_step_pending
MESSAGE_ROWS(step_pending, MSG_STEP_PENDING_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_step_created
MESSAGE_ROWS(step_created, MSG_STEP_CREATED_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_step_ended
MESSAGE_ROWS(step_ended, MSG_STEP_ENDED_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_stream_to
MESSAGE_ROWS(stream_to, MSG_STREAM_TO_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_stream_hello
MESSAGE_ROWS(stream_hello, MSG_STREAM_HELLO_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_stream_tasks
MESSAGE_ROWS(stream_tasks, MSG_STREAM_TASKS_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_stream_started
MESSAGE_ROWS(stream_started, MSG_STREAM_STARTED_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_stream_data
MESSAGE_ROWS(stream_data, MSG_STREAM_DATA_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_stream_credit
MESSAGE_ROWS(stream_credit, MSG_STREAM_CREDIT_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_stream_exit
MESSAGE_ROWS(stream_exit, MSG_STREAM_EXIT_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_stream_window
MESSAGE_ROWS(stream_window, MSG_STREAM_WINDOW_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_stream_signal
MESSAGE_ROWS(stream_signal, MSG_STREAM_SIGNAL_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_stream_notice
MESSAGE_ROWS(stream_notice, MSG_STREAM_NOTICE_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_stream_mpi
MESSAGE_ROWS(stream_mpi, MSG_STREAM_MPI_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_stream_done
MESSAGE_ROWS(stream_done, MSG_STREAM_DONE_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_make_token
MESSAGE_ROWS(make_token, MSG_MAKE_TOKEN_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_token_made
MESSAGE_ROWS(token_made, MSG_TOKEN_MADE_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_join
MESSAGE_ROWS(join, MSG_JOIN_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_joined
MESSAGE_ROWS(joined, MSG_JOINED_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_renew
MESSAGE_ROWS(renew, MSG_RENEW_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_vouch
MESSAGE_ROWS(vouch, MSG_VOUCH_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct msg_expel
MESSAGE_ROWS(expel, MSG_EXPEL_FIELDS)
#undef STRUCTURE
#undef ROW
#undef MESSAGE_ROWS

const struct fields msg_create_step_fields = {"create_step", sizeof(struct msg_create_step),
                                              msg_create_step_rows,
                                              ARRAY_LEN(msg_create_step_rows)};

const struct message_row message_table[MESSAGE_COUNT] = {
#define X(kind, name, tag, who, doc) [MSG_##kind] = {name, &msg_##tag##_table, WHO_##who, doc},
    MESSAGES(X)
#undef X
};

bool message_changes(enum message_kind kind)
{
    return kind == MSG_SUBMIT || kind == MSG_JOB_CONTROL || kind == MSG_CANCEL ||
           kind == MSG_UPDATE_JOB || kind == MSG_AMEND_JOBS || kind == MSG_EXTEND ||
           kind == MSG_UPDATE_NODE || kind == MSG_UPDATE_PARTITION ||
           kind == MSG_UPDATE_RESERVATION || kind == MSG_FINISH_JOB || kind == MSG_EXPEL ||
           kind == MSG_CHANGE_ACCOUNTS || kind == MSG_SET_CRONTAB || kind == MSG_SET_TRIGGER ||
           kind == MSG_CLEAR_TRIGGER;
}

bool message_kind_parse(const char *name, enum message_kind *ret)
{
    for (int i = 0; i < MESSAGE_COUNT; i++)
        if (text_is(message_table[i].name, name)) {
            *ret = (enum message_kind)i;
            return true;
        }
    return false;
}
