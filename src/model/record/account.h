/* Accounts: who may use the cluster for whom, with which quality of service (QOS). The words are
 * those of sacctmgr(1): an association is an account, or a user in an account, or that in one
 * partition. Associations form a tree whose root is the account "root".
 *
 * All are rows of the store. What is removed stays as a row with `deleted`, so that past jobs have
 * names, and comes back under its number when it is added again. */
#ifndef REMUDA_MODEL_ACCOUNT_H
#define REMUDA_MODEL_ACCOUNT_H

#include "model/fields.h"
#include "model/record/partition.h"
#include "model/record/resource_limit.h"

enum admin_level { ADMIN_NONE, ADMIN_OPERATOR, ADMIN_ADMINISTRATOR };
extern const struct enum_names admin_level_names;

/* Flags of accounts. X(FLAG, word, doc) */
#define ACCOUNT_FLAGS(X)                                                                           \
    X(NO_USERS_ARE_COORDS, "NoUsersAreCoords", "its users are not its coordinators")               \
    X(USERS_ARE_COORDS, "UsersAreCoords", "each of its users is a coordinator of it")
enum account_flag_bit {
#define X(flag, word, doc) ACCOUNT_BIT_##flag,
    ACCOUNT_FLAGS(X)
#undef X
        ACCOUNT_FLAG_COUNT
};

// clang-format off
#define ACCOUNT_FIELDS(X)                                                                           \
    X(TEXT, name, 0, "name of the account")                                                         \
    X(TEXT, description, 0, "what it is; the name where nothing was said")                          \
    X(TEXT, organization, 0, "whose it is; that of its parent, or the name")                        \
    X(TEXT, coordinators, 0, "users who may manage its users and limits, comma-separated")          \
    X(U32, flags, 0, "bits of enum account_flag_bit")                                               \
    X(BOOL, deleted, 0, "removed")                                                                  \
    X(TIME, made_us, 0, "added")                                                                    \
    X(TIME, changed_us, 0, "changed last")

#define ACCOUNT_USER_FIELDS(X)                                                                      \
    X(TEXT, name, 0, "name of the user")                                                            \
    X(TEXT, default_account, 0, "account of jobs that name none")                                   \
    X(TEXT, default_wckey, 0, "workload key of jobs that name none")                                \
    X(ENUM, admin_level, &admin_level_names, "what the user may do to others")                      \
    X(BOOL, deleted, 0, "removed")                                                                  \
    X(TIME, made_us, 0, "added")                                                                    \
    X(TIME, changed_us, 0, "changed last")

#define ASSOC_FIELDS(X)                                                                             \
    X(U32, id, 0, "number, from 1")                                                                 \
    X(TEXT, account, 0, "account")                                                                  \
    X(TEXT, user, 0, "user; NULL = the account itself")                                             \
    X(TEXT, partition, 0, "in this partition only; NULL = in all")                                  \
    X(TEXT, parent, 0, "of an account: the account above it; NULL = it is root")                    \
    X(I32, shares, &range_assoc_shares, "of fair share, among its siblings; −1 = those of the parent itself; 0 = 1; −2 = none") \
    X(U32, priority_plus1, 0, "added to the priority of its jobs, plus 1; 0 = as above it")         \
    X(TEXT, qos, 0, "QOS it may use, comma-separated; NULL = those above it, and more or less")     \
    X(TEXT, qos_more, 0, "QOS it may use beside those above it")                                    \
    X(TEXT, qos_less, 0, "QOS it may not use of those above it")                                    \
    X(TEXT, default_qos, 0, "QOS of jobs that name none; NULL = as above it")                       \
    X(TEXT, comment, 0, "comment")                                                                  \
    X(BOOL, deleted, 0, "removed")                                                                  \
    X(TIME, made_us, 0, "added")                                                                    \
    X(TIME, changed_us, 0, "changed last")
// clang-format on

/* Flags of a QOS: sacctmgr(1), 25.05. X(FLAG, word, doc) */
// clang-format off
#define QOS_FLAGS(X)                                                                                         \
    X(DENY_ON_LIMIT, "DenyOnLimit", "a job that by itself exceeds a limit is refused instead of kept waiting") \
    X(ENFORCE_USAGE_THRESHOLD, "EnforceUsageThreshold", "jobs below UsageThreshold do not start")            \
    X(NO_DECAY, "NoDecay", "use of it does not decay")                                                       \
    X(NO_RESERVE, "NoReserve", "its jobs are promised no start")                                             \
    X(OVER_PART_QOS, "OverPartQOS", "its limits come before those of the partition's QOS")                   \
    X(PART_MAX_NODES, "PartitionMaxNodes", "its jobs may exceed MaxNodes of the partition")                  \
    X(PART_MIN_NODES, "PartitionMinNodes", "its jobs may have fewer than MinNodes of the partition")         \
    X(PART_TIME_LIMIT, "PartitionTimeLimit", "its jobs may exceed MaxTime of the partition")                 \
    X(RELATIVE, "Relative", "of a partition's QOS: limits are percents of the partition")                    \
    X(REQUIRES_RESV, "RequiresReservation", "its jobs run in a reservation")                                 \
    X(USAGE_FACTOR_SAFE, "UsageFactorSafe", "limits of minutes count the use factor before a job starts")
// clang-format on
enum qos_flag_bit {
#define X(flag, word, doc) QOS_BIT_##flag,
    QOS_FLAGS(X)
#undef X
        QOS_FLAG_COUNT
};
enum qos_flag {
#define X(flag, word, doc) QOS_##flag = 1 << QOS_BIT_##flag,
    QOS_FLAGS(X)
#undef X
};
struct flag_word {
    const char *word, *doc; /* as sacctmgr writes it */
};
extern const struct flag_word qos_flag_words[QOS_FLAG_COUNT];
extern const struct flag_word account_flag_words[ACCOUNT_FLAG_COUNT];
/* "DenyOnLimit,NoDecay", any letter case, to bits; ERR_INVALID names the word and those known. */
bool flag_words_parse(const struct flag_word *words, size_t n, const char *text, uint32_t *ret,
                      struct err *ret_err);

// clang-format off
#define QOS_FIELDS(X)                                                                               \
    X(U32, id, 0, "number, from 1")                                                                 \
    X(TEXT, name, 0, "name")                                                                        \
    X(TEXT, description, 0, "what it is; the name where nothing was said")                          \
    X(U32, priority, 0, "counts by PriorityWeightQOS")                                              \
    X(U32, flags, 0, "bits of enum qos_flag")                                                       \
    X(TEXT, preempt, 0, "QOS whose jobs give way to its, comma-separated")                          \
    X(ENUM, preempt_mode, &preempt_mode_names, "how its jobs give way; unset = as PreemptMode of the cluster says") \
    X(SPAN, preempt_exempt_us, 0, "its jobs run at least so long before they give way")             \
    X(SPAN, grace_us, 0, "warning before they do")                                                  \
    X(I64, usage_factor_e6_plus1, 0, "use counts times this, in millionths, plus 1; 0 = 1.0")       \
    X(I64, usage_threshold_e6_plus1, 0, "least fair share of who uses it, in millionths, plus 1; 0 = none") \
    X(I64, limit_factor_e6_plus1, 0, "its associations' limits count times this, in millionths, plus 1; 0 = 1.0") \
    X(TEXT, gpu_idle, 0, "what is done about its jobs whose GPUs are idle (model/grammar/gpu_idle.h); NULL = as their partition says") \
    X(BOOL, deleted, 0, "removed")                                                                  \
    X(TIME, made_us, 0, "added")                                                                    \
    X(TIME, changed_us, 0, "changed last")

/* A user's use of a workload key. */
#define WCKEY_FIELDS(X)                                                                             \
    X(U32, id, 0, "number, from 1")                                                                 \
    X(TEXT, name, 0, "the key")                                                                     \
    X(TEXT, user, 0, "user")                                                                        \
    X(BOOL, deleted, 0, "removed")                                                                  \
    X(TIME, made_us, 0, "added")                                                                    \
    X(TIME, changed_us, 0, "changed last")

/* A trackable resource: a kind that is counted, under a number that stays. */
#define TRES_FIELDS(X)                                                                              \
    X(U32, id, 0, "Slurm's number: cpu 1, mem 2, energy 3, node 4, billing 5, fs/disk 6, vmem 7, pages 8; others from 1001") \
    X(TEXT, type, 0, "cpu, gres, license …")                                                        \
    X(TEXT, name, 0, "gpu, gpu:v100; NULL = the type has only one")

/* Who changed what of all this. */
#define TRANSACTION_FIELDS(X)                                                                       \
    X(U64, id, 0, "number, from 1")                                                                 \
    X(TIME, at_us, 0, "when")                                                                       \
    X(TEXT, actor, 0, "who")                                                                        \
    X(TEXT, action, 0, "Add Users, Modify Associations …")                                          \
    X(TEXT, target, 0, "to what")                                                                   \
    X(TEXT, info, 0, "what")                                                                        \
    X(TEXT, accounts, 0, "accounts it concerned, comma-separated")                                  \
    X(TEXT, users, 0, "users it concerned")
// clang-format on

#define SHARES_PARENT (-1)
#define SHARES_NONE   (-2)

struct account {
    ACCOUNT_FIELDS(FIELD_MEMBER)
};
struct account_user {
    ACCOUNT_USER_FIELDS(FIELD_MEMBER)
};
struct assoc {
    ASSOC_FIELDS(FIELD_MEMBER)
};
struct qos {
    QOS_FIELDS(FIELD_MEMBER)
};
struct wckey {
    WCKEY_FIELDS(FIELD_MEMBER)
};
struct tres {
    TRES_FIELDS(FIELD_MEMBER)
};
struct transaction {
    TRANSACTION_FIELDS(FIELD_MEMBER)
};
/* As people write them: 0 or more; -1 = those of the parent. */
static inline int32_t assoc_shares(const struct assoc *a)
{
    return a->shares == SHARES_NONE ? 0 : a->shares == 0 ? 1 : a->shares;
}
/* Does the text name it: "cpu", "gres/gpu:v100"? */
bool tres_is(const struct tres *t, const char *text);
extern const struct fields account_fields, account_user_fields, assoc_fields, qos_fields,
    wckey_fields, tres_fields, transaction_fields;

/* ---- changes -------------------------------------------------------------------------------- */

enum account_noun {
    NOUN_ACCOUNT,
    NOUN_USER,
    NOUN_ASSOC, /* add: of an account under its parent, or of a user */
    NOUN_QOS,
    NOUN_WCKEY,
    NOUN_COORDINATOR, /* add, remove: assoc.user of assoc.account */
};
extern const struct enum_names account_noun_names;
enum account_verb { VERB_ADD, VERB_MODIFY, VERB_REMOVE };
extern const struct enum_names account_verb_names;
/* How words are put into a list (qos, preempt, flags). */
enum account_list { LIST_SET, LIST_MORE, LIST_LESS };
extern const struct enum_names account_list_names;

/* One deed. The record that it is about stands in the list of its kind (one record); of an
 * association account, user and partition are its key. */
// clang-format off
#define ACCOUNT_CHANGE_FIELDS(X)                                                                    \
    X(ENUM, verb, &account_verb_names, "add, modify, remove")                                       \
    X(ENUM, noun, &account_noun_names, "what")                                                      \
    X(TEXT, fields, 0, "fields of the record to set, comma-separated; of an added one all that are given count") \
    X(ENUM, list, &account_list_names, "how its lists are set: as given, these more, these less")   \
    X(LIST, account, &account_fields, "the account")                                                \
    X(LIST, user, &account_user_fields, "the user")                                                 \
    X(LIST, assoc, &assoc_fields, "the association")                                                \
    X(LIST, qos, &qos_fields, "the QOS")                                                            \
    X(LIST, wckey, &wckey_fields, "the workload key")                                               \
    X(LIST, limits, &limit_fields, "limits of the association or QOS to set; value −1 = no more")   \
    X(BOOL, no_usage, 0, "RawUsage=0: of the association or QOS and all below it, use is forgotten") \
    X(TEXT, new_name, 0, "of a user that is modified: the name from now on")
// clang-format on
struct account_change {
    ACCOUNT_CHANGE_FIELDS(FIELD_MEMBER)
};
extern const struct fields account_change_fields;

/* What became of it: a line for each record that was really changed, also of those that a change
 * brings with it (the associations of an account that is removed). */
#define ACCOUNT_CHANGED_FIELDS(X)                                                                  \
    X(ENUM, verb, &account_verb_names, "what was done")                                            \
    X(ENUM, noun, &account_noun_names, "to what")                                                  \
    X(TEXT, name, 0, "of an account, user, QOS, workload key")                                     \
    X(TEXT, account, 0, "of an association")                                                       \
    X(TEXT, user, 0, "of an association; of a coordinator, workload key")                          \
    X(TEXT, partition, 0, "of an association")                                                     \
    X(TEXT, parent, 0, "of an account's association")                                              \
    X(BOOL, asked, 0, "it was itself in the request")
struct account_changed {
    ACCOUNT_CHANGED_FIELDS(FIELD_MEMBER)
};
extern const struct fields account_changed_fields;

#endif
