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

/* create_step is a list in records that the store keeps, too. */
#define ROW(type, name, aux, doc) FIELD_ROW_AT(struct msg_create_step, , type, name, aux, doc)
static const struct field create_step_rows[] = {MSG_CREATE_STEP_FIELDS(ROW)};
#undef ROW
const struct fields msg_create_step_fields = {"create_step", sizeof(struct msg_create_step),
                                              create_step_rows, ARRAY_LEN(create_step_rows)};

const struct fields *message_fields(enum message_kind kind)
{
#define ROW(type, name, aux, doc) FIELD_ROW_AT(body, , type, name, aux, doc)
#define X(kind, name, tag, who, does, doc)                                                         \
    case MSG_##kind: {                                                                             \
        typedef struct msg_##tag body;                                                             \
        static const struct field rows[] = {MSG_##kind##_FIELDS(ROW)};                             \
        static const struct fields fields = {#tag, sizeof(body), rows, ARRAY_LEN(rows)};           \
        return &fields;                                                                            \
    }
    switch (kind) {
        MESSAGES(X)
    case MESSAGE_COUNT: break;
    }
#undef X
#undef ROW
    ASSERT(kind < MESSAGE_COUNT);
    return NULL;
}

const struct message_row message_table[MESSAGE_COUNT] = {
#define X(kind, name, tag, who, does, doc) [MSG_##kind] = {name, WHO_##who, DOES_##does, doc},
    MESSAGES(X)
#undef X
};

bool message_changes(enum message_kind kind)
{
    return message_table[kind].does == DOES_ONCE;
}

bool message_reads(enum message_kind kind)
{
    return message_table[kind].does == DOES_READ;
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
