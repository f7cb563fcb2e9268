/* sacctmgr: what its files share. */
#ifndef REMUDA_CLI_ACCOUNTS_ACCOUNTS_H
#define REMUDA_CLI_ACCOUNTS_ACCOUNTS_H

#include "base/arena.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "cli/table/columns.h"
#include "cli/table/json_slurm.h"
#include "io/client/client.h"
#include "model/record/account.h"

#include <stdbool.h>

/* ---- the book, as the controller has it ----------------------------------------------------- */

/* What carries limits: an association or a QOS. */
struct sacctmgr_owner {
    VEC(const struct limit *) limit; /* that it sets itself */
    const struct sacctmgr_owner *up; /* whose limits for users hold here too; NULL = nobody's */
};

/* A place in the tree of accounts, as it stands in the book. */
struct assoc_view {
    struct sacctmgr_owner owner; /* its limits; `up` is that of `up` */
    const struct assoc *a;       /* the record */
    struct assoc_view *up;       /* NULL = it is root */
    int depth;                   /* in the tree */
};

/* A QOS, as it stands in the book. */
struct qos_view {
    struct sacctmgr_owner owner; /* its limits; nobody's above */
    const struct qos *q;         /* the record */
};

/* All of accounting at one moment, read in one go. Records live in the arena of the command. */
struct book {
    VEC(const struct account *) account; /* removed ones, too, as of all lists */
    VEC(const struct account_user *) user;
    /* In the order of the tree: an account, its users, the accounts below it. */
    VEC(struct assoc_view *) assoc;
    VEC(struct qos_view *) qos;
    VEC(const struct wckey *) wckey;
    VEC(const struct tres *) tres; /* resources that are counted */
    bool limit_ids;                /* limits are to have their numbers; set it before book_read */
    struct book_index *index;      /* by name; NULL before book_read */
};

/* ---- the command ---------------------------------------------------------------------------- */

struct sacctmgr {
    struct arena *a;
    const char *called;    /* the command's name in its messages; NULL = sacctmgr */
    const char *state_dir; /* as it was asked for; NULL = the one that is found */
    const char *qos_file;  /* loaded with, or without, a file of accounts: one request */
    struct client *client; /* opened when first needed */
    const char *cluster;   /* its name; learned with the connection */
    bool immediate, noheader, quiet, readonly, associations, oneliner; /* -i: nobody is asked */
    enum json_form json;                                               /* --json or --yaml */
    char parsable;                                                     /* 'p', 'P' or 0 */
    int verbose;                                                       /* how often -v was given */
    bool exact;       /* others' texts are not for people's eyes: they go into JSON, or a file */
    bool trial;       /* changes are tried and not made; nobody is asked */
    bool interactive; /* the prompt */
    bool leave;       /* quit was said */
    int rc;           /* exit status so far */
};

/* The connection, or NULL after an error was printed. */
struct client *sacctmgr_connect(struct sacctmgr *s);
/* "sacctmgr: error: …"; sets rc. */
void sacctmgr_fail(struct sacctmgr *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A line of Slurm's own on stderr; sets rc. */
void sacctmgr_refuse(struct sacctmgr *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Commands, one a line, until quit or the end of the input; each is run by `run`. */
void sacctmgr_prompt(struct sacctmgr *s, void (*run)(struct sacctmgr *s, int n, char **word));
/* Slurm's question, answered by -i; nobody answers for 30 s: no. `what`: "Would you like to commit
 * changes?". */
bool sacctmgr_ask(struct sacctmgr *s, const char *what);
/* `archive dump` and `archive load`. */
void sacctmgr_archive(struct sacctmgr *s, int n, char **word);
/* Rows of a query, each given to `row`. False after an error was printed. */
bool sacctmgr_query(struct sacctmgr *s, const struct msg_query *q, const struct fields *t,
                    void (*row)(void *ctx, const void *record), void *ctx);

/* Everything, what was removed too. False after an error was printed. */
bool book_read(struct sacctmgr *s, struct book *b);
void book_done(struct book *b); /* the lists and indexes; records are the arena's */
/* NULL = none of that name, or it was removed. */
const struct account *book_account(const struct book *b, const char *name);
const struct account_user *book_user(const struct book *b, const char *name); /* as book_account */
/* That is there; user and partition may be NULL. */
struct assoc_view *book_assoc(const struct book *b, const char *account, const char *user,
                              const char *partition);
/* Is it there? */
bool book_wckey(const struct book *b, const char *user, const char *name);
/* NULL = none of that name is there. */
struct qos_view *book_qos(const struct book *b, const char *name);
bool book_has_tres(void *book, const char *tres); /* a tres_known */
/* Its QOS, comma-separated, what it inherits among them. */
const char *assoc_view_qos(const struct book *b, const struct assoc_view *v, struct arena *a);
/* The names of a comma list in alphabetical order, in which Slurm shows QOS. */
const char *names_sorted(const char *list, struct arena *a);
/* The limit set on it; NULL = none. `tres` NULL for limits that count none. */
const struct limit *owner_limit(const struct sacctmgr_owner *o, enum resource_limit what,
                                const char *tres);
/* All of that limit, in the order of Slurm's numbers of resources; `inherited`: those of accounts
 * above count too. */
void owner_limit_each(const struct sacctmgr_owner *o, enum resource_limit what, bool inherited,
                      void (*each)(void *ctx, const struct limit *l), void *ctx);
/* All of that limit as Slurm writes it: "cpu=10,mem=100M", "4", "08:00:00"; `inherited`: those of
 * accounts above count too. */
void owner_limit_say(const struct sacctmgr_owner *o, enum resource_limit what, bool inherited,
                     struct str *out);
/* Is the user a coordinator of the account, itself or by one above it? */
bool book_coordinates(const struct book *b, const char *user, const char *account);

/* ---- words ---------------------------------------------------------------------------------- */

/* What sacctmgr is asked about. X(NOUN, word, letters that must be given) */
#define ENTITIES(X)                                                                                \
    X(ACCOUNT, "account", 2)                                                                       \
    X(ASSOC, "association", 2)                                                                     \
    X(CLUSTER, "cluster", 2)                                                                       \
    X(CONFIGURATION, "configuration", 2)                                                           \
    X(COORDINATOR, "coordinator", 3)                                                               \
    X(EVENT, "event", 1)                                                                           \
    X(FEDERATION, "federation", 1)                                                                 \
    X(INSTANCE, "instance", 1)                                                                     \
    X(JOB, "job", 1)                                                                               \
    X(PROBLEM, "problem", 1)                                                                       \
    X(QOS, "qos", 1)                                                                               \
    X(RESOURCE, "resource", 4)                                                                     \
    X(RESERVATION, "reservation", 4)                                                               \
    X(RUNAWAY, "runawayjobs", 2)                                                                   \
    X(STATS, "stats", 1)                                                                           \
    X(TRANSACTION, "transaction", 1)                                                               \
    X(TRES, "tres", 3)                                                                             \
    X(USER, "user", 1)                                                                             \
    X(WCKEY, "wckey", 1)
enum entity {
#define X(name, word, least) ENTITY_##name,
    ENTITIES(X)
#undef X
        ENTITY_COUNT
};

/* The keys that stand before '=', and words without it. X(KEY, words, letters that must be given,
 * entities that have it as a condition, entities that have it set) */
#define ON(name) (1u << ENTITY_##name)
#define TREE     (ON(ACCOUNT) | ON(ASSOC) | ON(USER))
// clang-format off
#define KEYS(X)                                                                                              \
    X(ACCOUNTS, "accounts,account,acct", 3, TREE | ON(COORDINATOR) | ON(TRANSACTION) | ON(PROBLEM), 0)       \
    X(ACTION, "action", 4, ON(TRANSACTION), 0)                                                               \
    X(ACTOR, "actors", 4, ON(TRANSACTION), 0)                                                                \
    X(ADMIN_COMMENT, "admincomment", 2, 0, ON(JOB))                                                          \
    X(ADMIN_LEVEL, "adminlevel", 2, ON(USER), ON(USER))                                                      \
    X(ALL_TIME, "all_time", 5, ON(EVENT), 0)                                                                 \
    X(ALL_CLUSTERS, "all_clusters", 5, ON(EVENT), 0)                                                         \
    X(CLASSIFICATION, "classification", 3, ON(CLUSTER), ON(CLUSTER))                                         \
    X(CLUSTERS, "clusters", 1, ~0u, 0)                                                                       \
    X(COMMENT, "comment", 3, 0, TREE)                                                                        \
    X(DEFAULT_ACCOUNT, "defaultaccount", 8, ON(USER), ON(USER))                                              \
    X(DEFAULT_QOS, "defaultqos", 8, TREE, TREE | ON(CLUSTER))                                                \
    X(DEFAULT_WCKEY, "defaultwckey", 8, ON(USER), ON(USER))                                                  \
    X(DERIVED_EXIT, "derivedexitcode,derivedec", 9, 0, ON(JOB))                                              \
    X(DESCRIPTION, "descriptions", 3, ON(ACCOUNT) | ON(QOS), ON(ACCOUNT) | ON(QOS))                          \
    X(END, "endtime", 1, ON(EVENT) | ON(TRANSACTION) | ON(RESERVATION) | ON(JOB), 0)                         \
    X(EXEMPT_TIME, "preemptexempttime", 9, 0, ON(QOS))                                                       \
    X(EXTRA, "extra", 1, 0, ON(JOB))                                                                         \
    X(FAIRSHARE, "fairshare,shares", 2, 0, TREE | ON(CLUSTER))                                               \
    X(FLAGS, "flags", 2, ON(QOS) | ON(ACCOUNT), ON(QOS) | ON(ACCOUNT))                                       \
    X(FORMAT, "format", 2, ~0u, 0)                                                                           \
    X(GPU_IDLE, "gpuidle", 3, 0, ON(QOS))                                                                    \
    X(GRACE_TIME, "gracetime", 3, 0, ON(QOS))                                                                \
    X(IDS, "ids", 1, ON(ASSOC) | ON(QOS) | ON(TRES) | ON(TRANSACTION) | ON(WCKEY) | ON(RESERVATION), 0)      \
    X(JOB_COMMENT, "comment,derivedexitstring,derivedes", 1, 0, ON(JOB))                                     \
    X(JOB_IDS, "jobids", 1, ON(JOB), 0)                                                                      \
    X(LIMIT_FACTOR, "limitfactor", 6, 0, ON(QOS))                                                            \
    X(NAMES, "names", 1, ~(ON(ASSOC) | ON(JOB)), 0)                                                          \
    X(NEW_NAME, "newname", 4, 0, ON(USER))                                                                   \
    X(NEW_WCKEY, "newwckey", 1, 0, ON(JOB))                                                                  \
    X(NODES, "nodes", 1, ON(EVENT) | ON(RESERVATION), 0)                                                     \
    X(OLD_WCKEY, "oldwckey", 1, ON(JOB), 0)                                                                  \
    X(ONLY_DEFAULTS, "onlydefaults", 4, ON(ASSOC), 0)                                                        \
    X(ORGANIZATION, "organizations", 1, ON(ACCOUNT), ON(ACCOUNT))                                            \
    X(PARENT, "parents", 4, ON(ACCOUNT) | ON(ASSOC), ON(ACCOUNT))                                            \
    X(PARTITIONS, "partitions", 4, ON(USER) | ON(ASSOC), 0)                                                  \
    X(PREEMPT, "preempt", 7, 0, ON(QOS))                                                                     \
    X(PREEMPT_MODE, "preemptmode", 8, ON(QOS), ON(QOS))                                                      \
    X(PRIORITY, "priority", 3, 0, TREE | ON(QOS) | ON(CLUSTER))                                              \
    X(QOS_LIST, "qos,qoslevel", 1, TREE | ON(QOS), TREE | ON(CLUSTER))                                       \
    X(RAW_USAGE, "rawusage", 7, 0, TREE | ON(QOS))                                                           \
    X(SERVERS, "server", 3, ON(RESOURCE), 0)                                                                 \
    X(START, "starttime", 3, ON(EVENT) | ON(TRANSACTION) | ON(RESERVATION) | ON(JOB), 0)                     \
    X(STATES, "states", 4, ON(EVENT), 0)                                                                     \
    X(SYSTEM_COMMENT, "systemcomment", 2, 0, ON(JOB))                                                        \
    X(TREE, "tree", 4, TREE, 0)                                                                              \
    X(TYPE, "type", 2, ON(TRES), 0)                                                                          \
    X(USAGE_FACTOR, "usagefactor", 6, 0, ON(QOS))                                                            \
    X(USAGE_THRESHOLD, "usagethreshold", 6, 0, ON(QOS))                                                      \
    X(USERS, "users", 1, TREE | ON(COORDINATOR) | ON(TRANSACTION) | ON(WCKEY) | ON(EVENT) | ON(PROBLEM) | ON(JOB), 0)  \
    X(WCKEYS, "wckeys", 2, ON(USER) | ON(WCKEY), 0)                                                          \
    X(WITH_ASSOC, "withassoc", 5, TREE | ON(TRANSACTION), 0)                                                 \
    X(WITH_CLUSTERS, "withclusters", 6, ON(RESOURCE), 0)                                                     \
    X(WITH_COORD, "withcoordinators", 5, TREE, 0)                                                            \
    X(WITH_DELETED, "withdeleted", 5, TREE | ON(QOS) | ON(TRES) | ON(WCKEY), 0)                              \
    X(WITH_RAW, "withrawqoslevel", 5, TREE, 0)                                                               \
    X(WITH_SUB, "withsubaccounts", 5, TREE, 0)                                                               \
    X(WITHOUT_PARENT_INFO, "wopinfo", 4, TREE, 0)                                                            \
    X(WITHOUT_PARENT_LIMITS, "woplimits", 4, TREE, 0)                                                        \
    X(WITHOUT_LIMITS, "wolimits", 3, TREE | ON(CLUSTER), 0)
// clang-format on
enum sacctmgr_key {
#define X(key, ...) KEY_##key,
    KEYS(X)
#undef X
        KEY_COUNT
};

/* A word of the command line: a condition, or something to set. */
struct spec {
    enum sacctmgr_key key; /* which, of KEYS */
    bool is_limit;
    enum resource_limit limit; /* is_limit */
    const char *tres;          /* GrpCPUs=4 and its like: the resource; else NULL */
    const char *word;          /* the key in Slurm's letters */
    enum account_list how;     /* =, +=, -= */
    const char *typed;         /* the whole word */
    const char *value;         /* without quotes; "" of a word without '=' */
};

/* Where what is set may stand: nowhere (list, delete), among the conditions (add), after "set"
 * (modify). */
enum spec_mode { SPECS_WHERE, SPECS_MIXED, SPECS_SET };
struct specs {
    enum entity entity;          /* what the line is about */
    enum spec_mode mode;         /* whether "set" stands among the words */
    VEC(struct spec) where, set; /* in the order they were given */
};

const char *entity_word(enum entity entity); /* "association" */
/* The entity that a word names, its abbreviations too. */
bool entity_find(const char *word, enum entity *ret);
/* The words after the entity. False after an error was printed. */
bool specs_read(struct sacctmgr *s, enum entity entity, enum spec_mode mode, int n, char **word,
                struct specs *ret);
void specs_done(struct specs *sp); /* the lists; texts are the arena's */
/* The values of a condition, joined by commas; NULL = not given. */
const char *specs_where(const struct specs *sp, enum sacctmgr_key key, struct arena *a);
/* A word without a value among the conditions: WithDeleted, Tree. */
bool specs_flag(const struct specs *sp, enum sacctmgr_key key);
/* A condition that says nothing about what is to be changed or taken away: without it all would be
 * meant. NULL = each of them does. */
const struct spec *specs_idle(const struct specs *sp);
/* The last of that key that is set; NULL = none. */
const struct spec *specs_set(const struct specs *sp, enum sacctmgr_key key);
/* The value of "KEY=value", where KEY may be cut short; NULL = the word is not of that key. */
const char *spec_value(const char *word, const char *key);
/* Is each action of transactions that is asked for one that there is? False after an error was
 * printed. */
bool actions_check(struct sacctmgr *s, const struct specs *sp);
/* Slurm's lines about a flag of a QOS that is none, where it prints them. */
void say_unknown_flags(const char *asked);
/* "suspend,gang" is suspend: who was stopped goes on when its nodes come free, and nothing here
 * shares a core by turns. */
bool preempt_mode_of(const char *text, int32_t *ret);
/* In small letters, as Slurm keeps names. */
char *name_lowered(const char *name, struct arena *a);
/* Is the word one of the list? NULL: everything is; "": what has no word. */
bool specs_match(const char *list, const char *word);

/* ---- listing -------------------------------------------------------------------------------- */

/* A line of a listing of accounts, users, associations, QOS. */
struct account_row {
    const struct book *book;       /* all of it, for what a column looks up */
    const struct account *account; /* NULL = the row is of none, as of the next three */
    const struct account_user *user;
    const struct assoc_view *assoc;
    const struct qos_view *qos;
    const struct sacctmgr_owner *owner; /* of the two; NULL = no limits */
    const char *coordinators;
    bool own_limits; /* not those of accounts above */
    bool own_qos;    /* QOS as set on it */
    int depth;       /* account names are indented by so many; 0 = not */
};

/* A table of columns under `format` (NULL = the default), on stdout. */
struct table_out {
    struct sacctmgr *s; /* for messages */
    struct format format;
    struct cell_env env;
    struct str out; /* not yet printed */
};
/* The items of format=, with sacctmgr's words for the columns of all its listings. False after an
 * error was printed. */
bool fields_read(struct sacctmgr *s, const struct column_table *t, const char *format,
                 struct format *f);
/* False after an error was printed: a column that is none. */
bool table_begin(struct table_out *t, struct sacctmgr *s, const struct column_table *columns,
                 const char *format, const void *more);
/* Of the struct that the columns are for; written out now and then, so that a long listing needs no
 * memory. */
void table_row(struct table_out *t, const void *record);
void table_end(struct table_out *t); /* writes out the rest; frees */

/* Columns of struct account_row. */
const struct column_table *account_columns(enum entity entity, struct arena *a);

void accounts_show(struct sacctmgr *s,
                   const struct specs *sp);                   /* account, user, association, QOS */
void others_show(struct sacctmgr *s, const struct specs *sp); /* all the others */
/* show event: spells in which nodes were not up, since yesterday unless times or states are
 * given. */
void events_show(struct sacctmgr *s, const struct specs *sp);
/* modify job: what is said of jobs that are over. */
void jobs_modify(struct sacctmgr *s, const struct specs *sp);
/* show stats: what the controller was asked, how often and how long it took. */
void stats_show(struct sacctmgr *s);
void stats_clear(struct sacctmgr *s); /* counts anew */
/* show reservation: past ones and those of now, the latest first, and what of them went unused. */
void reservations_show(struct sacctmgr *s, const struct specs *sp);
/* show problem: accounts without users, users that this host has no uid for. */
void problems_show(struct sacctmgr *s, const struct specs *sp);

/* ---- listing, for programs ------------------------------------------------------------------ */

/* --json and --yaml: the members that Slurm's data parser v0.0.43 names. Of accounts, users,
 * associations and QOS. */
void accounts_json(struct sacctmgr *s, const struct book *b, const struct account_row *row,
                   size_t n, enum entity entity);
/* One document's frame: the key of its list, each record by `each`, the end. */
struct json_list {
    struct sacctmgr *s; /* for the form, JSON or YAML */
    const struct book *book;
    struct json_out out;
    struct str text; /* what `out` writes */
};
/* of an object with the one list `key` */
void json_list_begin(struct json_list *l, struct sacctmgr *s, const struct book *b,
                     const char *key);
void json_list_end(struct json_list *l); /* Prints it in the form that was asked for; frees. */
/* {type, name, id, count} */
void tres_json(struct json_list *l, const struct tres *t, int64_t count);
void wckey_json(struct json_list *l, const struct wckey *k); /* one record of the list */
/* Who is named by its association: {account, cluster, partition, user, id}. */
void assoc_short_json(struct json_list *l, const struct assoc *a);

/* ---- changing ------------------------------------------------------------------------------- */

struct changes {
    struct sacctmgr *s;
    VEC(struct account_change) change; /* in the order they are to be made */
    struct str said;    /* what will be done, in Slurm's words; printed before the question */
    const char *warned; /* what the controller said of a part last: it is said once */
    bool guarded;       /* whoever may change none of the kind is not told that there is none */
};
/* What the changes are made of is the arena's. */
void changes_done(struct changes *c);
/* A change whose record lies in the arena. */
void change_account(struct changes *c, enum account_verb verb, const char *fields,
                    const struct account *a);
/* `fields` are those that it sets; NULL = all, as of a new one. */
void change_user(struct changes *c, enum account_verb verb, const char *fields,
                 const struct account_user *u);
/* Added or removed, for k->user alone; copied. */
void change_wckey(struct changes *c, enum account_verb verb, const struct wckey *k);
/* Copied into the arena; what is returned is for limits and lists to be added, and valid until the
 * next change. */
struct account_change *change_assoc(struct changes *c, enum account_noun noun,
                                    enum account_verb verb, const char *fields,
                                    const struct assoc *a);
/* As change_assoc; `fields` as for users. */
struct account_change *change_qos(struct changes *c, enum account_verb verb, const char *fields,
                                  const struct qos *q);
/* Is the caller an operator? The controller is asked, with a change that would change nothing. */
bool sacctmgr_operates(struct sacctmgr *s);
/* Slurm shows some to operators alone. True after it was said. */
bool kept_from_strangers(struct sacctmgr *s, enum entity entity);
/* Tries them, says what was prepared, asks, and sends. `none`: what is said where there are no
 * changes (Slurm's words). */
void changes_commit(struct changes *c, const char *none);

/* Everything of `set` that belongs to an association, or to a QOS: as changes of that one; the
 * lists that grow or shrink apart, as Slurm allows = beside +=. False after an error was
 * printed. */
struct sacctmgr_given {
    struct assoc assoc; /* values of what `fields` names, as of `qos` */
    struct qos qos;
    const char *fields; /* set with "=" */
    /* "qos", "flags" or "preempt" that += names, and -= */
    const char *more[2];
    struct assoc assoc_more[2];
    struct qos qos_more[2];
    struct record_list limits; /* set; -1 takes one back */
    bool no_usage;             /* RawUsage=0: what was used is forgotten */
    struct str said;           /* "  MaxJobs       = 4\n" */
};
/* *ret is overwritten; settings_done follows even where it failed. What it is made of is the
 * arena's. */
bool settings_read(struct sacctmgr *s, const struct book *b, const struct specs *sp,
                   struct sacctmgr_given *ret);
void settings_done(struct sacctmgr_given *st); /* what was said */
/* Their changes of one association or QOS, given with its key alone. */
void settings_to_assoc(struct changes *c, const struct sacctmgr_given *st, enum account_verb verb,
                       const struct assoc *key);
/* One change, and another for each list that grows or shrinks; no change where nothing is set, but
 * of a new one. */
void settings_to_qos(struct changes *c, const struct sacctmgr_given *st, enum account_verb verb,
                     const char *name);

/* add account, user, qos, coordinator, wckey: reads the book, tries, asks, sends. */
void accounts_add(struct sacctmgr *s, const struct specs *sp);
/* modify … where … set …; jobs, too. Without anything to set it is refused. */
void accounts_modify(struct sacctmgr *s, const struct specs *sp);
/* remove … where …; without a condition it is refused, as all would be meant. */
void accounts_remove(struct sacctmgr *s, const struct specs *sp);
/* The associations that the conditions of `sp` name, users' or accounts' own. */
bool assoc_is_meant(const struct specs *sp, const struct assoc_view *v, struct arena *a);
/* "  C = cluster    A = nova of physics", "… A = nova  U = alice  P = debug". */
void assoc_line(struct sacctmgr *s, const struct assoc_view *v, bool modified, struct str *out);

/* QOS as a Slurm's `sacctmgr -P show qos` lists them (qos_file.c): adds the changes, and those that
 * are new to the book. False after an error was printed. */
bool qos_file_read(struct sacctmgr *s, struct book *b, struct changes *c, const char *path,
                   const struct str *text);

#define PARENT_SHARES "2147483647" /* FairShare=parent in Slurm's flat file */
/* dump CLUSTER [FILE]: the tree as a file that accounts_load_file reads; ./CLUSTER.cfg unless
 * named. */
void accounts_dump(struct sacctmgr *s, int n, char **word);
/* load FILE [clean]: what of it is not there is added; with `clean` all accounts go first. */
void accounts_load_file(struct sacctmgr *s, int n, char **word);

#endif
