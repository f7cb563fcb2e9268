/* What the controller keeps: the rows that are no records of another header, and the table of all
 * of them, which the store makes its database from. */
#ifndef REMUDA_MODEL_STORED_H
#define REMUDA_MODEL_STORED_H

#include "model/fields.h"
#include "model/job/job.h"
#include "model/record/account.h"
#include "model/record/host.h"
#include "model/record/node.h"
#include "model/record/partition.h"
#include "model/record/priority.h"
#include "model/record/reservation.h"
#include "model/record/trigger.h"
#include "model/record/used.h"
#include "model/refusal.h"

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
    X(BOOL, nameless, 0, "who has no name, and keeps what all such may keep together")                     \
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
    const char *key; /* names of the fields, with commas */
    const char *doc;
};
extern const struct store_table_row store_table_rows[STORE_TABLE_COUNT];

/* Does the row say what no such row is without: its name, a number from 1 on? ERR_INVALID: no. */
bool store_row_whole(enum store_table table, const void *record, struct err *ret_err);

#endif
