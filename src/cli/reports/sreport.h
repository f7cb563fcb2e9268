/* sreport: what its files share. */
#ifndef REMUDA_CLI_REPORTS_SREPORT_H
#define REMUDA_CLI_REPORTS_SREPORT_H

#include "base/arena.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "io/client/client.h"
#include "model/message.h"
#include "model/record/account.h"

#include <stdbool.h>

enum report_unit { REPORT_SECONDS, REPORT_MINUTES, REPORT_HOURS };

struct sreport {
    struct arena *a;
    struct client *client; /* opened when first needed */
    const char *cluster;   /* its name; learned with the connection */
    bool noheader, quiet;
    char parsable;         /* 'p', 'P' or 0 */
    enum report_unit unit; /* of all times that are printed */
    bool value, percent;   /* either, or both: HourPer */
    const char *tres;      /* -T as given; NULL = CPUs */
    bool leave;            /* quit was said */
    int rc;                /* exit status so far */
};

/* The connection, or NULL after an error was printed. */
struct client *sreport_connect(struct sreport *s);
/* Each record to `row`, in the command's arena. False, and rc is 1, after an error was printed. */
bool sreport_query(struct sreport *s, const struct msg_query *q, const struct fields *t,
                   void (*row)(void *ctx, const void *record), void *ctx);

/* ---- what a report is asked for ------------------------------------------------------------- */

/* X(KEY, word, letters that must be given, has a value) */
#define CONDITIONS(X)                                                                              \
    X(ALL_CLUSTERS, "all_clusters", 1, false)                                                      \
    X(CLUSTERS, "clusters", 1, true)                                                               \
    X(END, "end", 1, true)                                                                         \
    X(FORMAT, "format", 1, true)                                                                   \
    X(START, "start", 1, true)                                                                     \
    X(ACCOUNTS, "accounts", 2, true)                                                               \
    X(USERS, "users", 1, true)                                                                     \
    X(WCKEYS, "wckeys", 2, true)                                                                   \
    X(TREE, "tree", 4, false)                                                                      \
    X(ACCT_AS_PARENT, "acctasparent", 4, false)                                                    \
    X(FLAT_VIEW, "flatview", 2, false)                                                             \
    X(GID, "gid", 2, true)                                                                         \
    X(GROUPING, "grouping", 2, true)                                                               \
    X(JOBS, "jobs", 1, true)                                                                       \
    X(NODES, "nodes", 1, true)                                                                     \
    X(PARTITIONS, "partitions", 2, true)                                                           \
    X(PRINT_JOB_COUNT, "printjobcount", 2, false)                                                  \
    X(NAMES, "names", 1, true)                                                                     \
    X(GROUP, "group", 1, false)                                                                    \
    X(TOP_COUNT, "topcount", 1, true)
enum condition {
#define X(key, ...) COND_##key,
    CONDITIONS(X)
#undef X
        COND_COUNT
};
#define COND_COMMON                                                                                \
    (1u << COND_ALL_CLUSTERS | 1u << COND_CLUSTERS | 1u << COND_END | 1u << COND_FORMAT |          \
     1u << COND_START)

struct tres_kind_of {
    const char *name; /* cpu, mem, gres/gpu:v100 */
    uint32_t id;      /* as sacctmgr show tres numbers it */
};

struct sreport_asked {
    const char *value[COND_COUNT]; /* NULL = not given; "" of a word without a value */
    int64_t from_us, to_us;
    VEC(struct tres_kind_of) tres; /* the resources that each line is repeated for */
    bool one_tres;                 /* none was asked for: CPUs */
};
/* Reads the words behind the report's name; what is no condition of it (bits of `may`) is said, and
 * left aside. */
void asked_read(struct sreport *s, unsigned may, int n, char **word, struct sreport_asked *ret);
/* The resources of -T. False after Slurm's line: none of them is known. */
bool asked_tres(struct sreport *s, struct sreport_asked *k);
void asked_done(struct sreport_asked *k); /* the list; names are the arena's */
/* Is the word in the condition's list? Everything is where it was not given. */
bool asked_has(const struct sreport_asked *k, enum condition c, const char *word);
/* Is it about other clusters alone, of which nothing is known here? After a query. */
bool asked_elsewhere(const struct sreport *s, const struct sreport_asked *k);

/* ---- usage ---------------------------------------------------------------------------------- */

/* Rows of QUERY_USED, summed over what `by` (names of fields) leaves out; false after an error. */
typedef VEC(const struct used *) used_vec;
/* `each_hour`: a row an hour and not one for the whole time. Appends to *ret; rows live in the
 * arena. */
bool used_read(struct sreport *s, const struct sreport_asked *k, const char *by, bool each_hour,
               used_vec *ret);
/* Of one resource, in units × seconds. */
int64_t used_amount(const struct used *u, const char *tres);
/* The same of "gpu=12,gpu:v100=12". */
int64_t gres_amount(const char *gres, const char *name);

/* How much of it there was. */
struct capacity {
    int64_t count, all, down, future; /* count: now or last; others: units × seconds */
};
/* Nodes as they were; false after an error. */
typedef VEC(const struct node_spell *) spell_vec;
/* Those that touch the time asked about, as they were written: longer than it. */
bool spells_read(struct sreport *s, const struct sreport_asked *k, spell_vec *ret);
/* Of one resource, each spell cut to that time and to now; a node not heard of counts for
 * nothing. */
struct capacity spells_capacity(const spell_vec *spells, const char *tres, int64_t from_us,
                                int64_t to_us);

/* ---- tables --------------------------------------------------------------------------------- */

/* SIZE: a use, in a report of sizes. BLANK: as wide as a use of which this report knows nothing. */
enum cell_kind { CELL_TEXT, CELL_USE, CELL_SIZE, CELL_COUNT, CELL_BLANK };
struct report_column {
    const char *key;    /* word of format=; NULL: none */
    size_t least;       /* letters of it that must be given */
    const char *header; /* as printed, cut to the width */
    int width;          /* negative: to the left */
    enum cell_kind kind;
    const char *also;  /* another word for it, or NULL */
    size_t also_least; /* letters of that */
};

/* Columns of reports about clusters and users, of reservations, and of sizes before the sizes. */
enum use_column {
    USE_ACCOUNTS,
    USE_ALLOCATED,
    USE_CLUSTER,
    USE_DOWN,
    USE_ENERGY,
    USE_IDLE,
    USE_LOGIN,
    USE_OVER,
    USE_PLANNED_DOWN,
    USE_PLANNED,
    USE_PROPER,
    USE_REPORTED,
    USE_TRES_COUNT,
    USE_TRES_NAME,
    USE_USED,
    USE_WCKEY,
    USE_COLUMNS
};
enum resv_column {
    RESV_COL_ALLOCATED,
    RESV_COL_ASSOCIATIONS,
    RESV_COL_CLUSTER,
    RESV_COL_END,
    RESV_COL_FLAGS,
    RESV_COL_IDLE,
    RESV_COL_NAME,
    RESV_COL_NODES,
    RESV_COL_ID,
    RESV_COL_START,
    RESV_COL_TRES_COUNT,
    RESV_COL_TRES_NAME,
    RESV_COL_TOTAL,
    RESV_COLUMNS
};
enum sizes_column {
    SIZES_COL_ACCOUNT,
    SIZES_COL_CLUSTER,
    SIZES_COL_TRES_COUNT,
    SIZES_COL_DURATION,
    SIZES_COL_JOBS,
    SIZES_COL_NODES,
    SIZES_COL_USER,
    SIZES_COL_WCKEY,
    SIZES_COLUMNS
};
extern const struct report_column use_columns[USE_COLUMNS];         /* of accounts, users, keys */
extern const struct report_column utilization_columns[USE_COLUMNS]; /* of the cluster as a whole */
extern const struct report_column top_columns[USE_COLUMNS];         /* user TopUsage: fewer */
extern const struct report_column resv_columns[RESV_COLUMNS];
extern const struct report_column sizes_columns[SIZES_COLUMNS];

struct report_cell {
    const char *text;   /* CELL_TEXT; NULL = empty */
    int64_t amount, of; /* CELL_USE: units × seconds, and of how many; CELL_COUNT: the count */
};
#define REPORT_CELLS 128
struct report_row {
    struct report_cell cell[REPORT_CELLS]; /* by the number of the column */
};
struct sreport_report {
    struct sreport *s;                  /* for units and messages */
    const struct report_column *column; /* the caller's */
    int ncolumn;                        /* of the table */
    /* by place: number of the column, and its width */
    int shown[REPORT_CELLS * 2], width[REPORT_CELLS * 2];
    int nshown;                 /* columns of `format`, by number in `shown` */
    bool widest[REPORT_CELLS];  /* by the number: may be wider than it is, for its numbers */
    VEC(struct report_row) row; /* in the order they are printed */
};
/* `format`: NULL = `standard`. Unknown columns are said, and left out. */
void report_init(struct sreport_report *r, struct sreport *s, const struct report_column *columns,
                 int n, const char *format, const char *standard);
/* copied; its texts must live until report_print */
void report_add(struct sreport_report *r, const struct report_row *row);
/* Prints title, time and rows; frees. `seconds`: the length of the time is told, too. `unit_line`:
 * NULL = "Usage reported in CPU Minutes". */
void report_print(struct sreport_report *r, const char *title, const struct sreport_asked *k,
                  bool seconds, const char *unit_line);
/* "Minutes/Percentage of Total" */
const char *unit_words(const struct sreport *s);

/* ---- the reports ---------------------------------------------------------------------------- */

/* cluster utilization: of each resource allocated, down, idle and planned, hour by hour. */
void report_utilization(struct sreport *s, int n, char **word);
/* cluster AccountUtilizationByUser: the tree, users below their accounts. */
void report_account_by_user(struct sreport *s, int n, char **word);
/* cluster UserUtilizationByAccount: who used most CPU time first. */
void report_user_by_account(struct sreport *s, int n, char **word);
/* cluster UserUtilizationByWckey: jobs without a key are left out. */
void report_user_by_wckey(struct sreport *s, int n, char **word);
/* cluster WCKeyUtilizationByUser: a line for each key, its users below it. */
void report_wckey_by_user(struct sreport *s, int n, char **word);
/* user TopUsage: the first TopCount, 10 unless given; `group` adds up a user's accounts. */
void report_top(struct sreport *s, int n, char **word);
void report_sizes_by_account(struct sreport *s, int n, char **word); /* job SizesByAccount */
void report_sizes_by_both(struct sreport *s, int n, char **word);  /* job SizesByAccountAndWckey */
void report_sizes_by_wckey(struct sreport *s, int n, char **word); /* job SizesByWckey */
/* reservation utilization: used and left */
void report_reservations(struct sreport *s, int n, char **word);

/* The tree of accounts, those that jobs name and sacctmgr does not know below its root. */
struct account_node {
    const char *name; /* in the command's arena */
    int depth;        /* root has 0 */
    size_t up;        /* its place in the list; 0 = the root, which comes first */
};
typedef VEC(struct account_node) account_nodes;
struct account_tree {
    account_nodes node;    /* in the order of the tree */
    struct map_str *place; /* name → where it stands, +1 */
};
/* *ret begins as {0}. False after an error was printed; account_tree_done in any case. */
bool account_tree_read(struct sreport *s, const used_vec *used, struct account_tree *ret);
void account_tree_done(struct account_tree *t); /* names are the arena's */
/* in the list; 0, the root, where it has none of that name */
size_t account_place(const struct account_tree *t, const char *name);

const char *person_name(const char *user, struct arena *a); /* of the password file */

#endif
