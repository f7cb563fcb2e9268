/* A reservation: resources kept for some users or for maintenance during a time, once or again and
 * again. */
#ifndef REMUDA_MODEL_RESERVATION_H
#define REMUDA_MODEL_RESERVATION_H

#include "base/calendar/zone.h"
#include "model/fields.h"

/* X(FLAG, name as in Flags=, sign with which it may be changed later: ' ' set only when it is made,
 * '+' given, '-' given and taken away, doc) */
// clang-format off
#define RESV_FLAGS(X)                                                                                        \
    X(MAINT, "MAINT", '-', "for maintenance: its nodes are shown so, it may lie over other reservations")    \
    X(OVERLAP, "OVERLAP", '+', "may lie over other reservations")                                            \
    X(IGNORE_JOBS, "IGNORE_JOBS", '-', "may be made over running jobs")                                      \
    X(HOURLY, "HOURLY", '-', "again every hour")                                                             \
    X(DAILY, "DAILY", '-', "again every day")                                                                \
    X(WEEKDAY, "WEEKDAY", '-', "again every day from Monday to Friday")                                      \
    X(WEEKEND, "WEEKEND", '-', "again every Saturday and Sunday")                                            \
    X(WEEKLY, "WEEKLY", '-', "again every week")                                                             \
    X(ANY_NODES, "ANY_NODES", '-', "licences only: its jobs may use any nodes; also written LICENSE_ONLY")   \
    X(STATIC_ALLOC, "STATIC", '-', "nodes once chosen stay; also written STATIC_ALLOC")                      \
    X(PART_NODES, "PART_NODES", '-', "all nodes of its partition, as the partition changes")                 \
    X(REPLACE, "REPLACE", '+',                                                                               \
      "nodes that are down, drained or taken by its jobs are replaced by idle ones")                         \
    X(REPLACE_DOWN, "REPLACE_DOWN", '+', "nodes that are down or drained are replaced by idle ones")         \
    X(PURGE_COMP, "PURGE_COMP", '-', "goes when no job used it for a while (PURGE_COMP=time, 5 minutes)")    \
    X(NO_HOLD_JOBS_AFTER, "NO_HOLD_JOBS_AFTER_END", '+', "jobs that still wait when it ends run without it") \
    X(FLEX, "FLEX", '-', "its jobs may begin before it, end after it and use other nodes, too")              \
    X(ALL_NODES, "ALL_NODES", ' ', "all nodes of the cluster (shown only)")                                  \
    X(SPEC_NODES, "SPEC_NODES", ' ', "its nodes were named (shown only)")                                    \
    X(MAGNETIC, "MAGNETIC", '-', "takes jobs of those who may use it also if they did not ask for it")
// clang-format on

enum resv_flag_bit {
#define X(flag, name, sign, doc) RESV_BIT_##flag,
    RESV_FLAGS(X)
#undef X
        RESV_FLAG_COUNT
};
enum resv_flag {
#define X(flag, name, sign, doc) RESV_##flag = 1 << RESV_BIT_##flag,
    RESV_FLAGS(X)
#undef X
};
#define RESV_RECURRING (RESV_HOURLY | RESV_DAILY | RESV_WEEKDAY | RESV_WEEKEND | RESV_WEEKLY)
/* Do they say at most one way to recur? */
static inline bool resv_recurs_one_way(uint32_t flags)
{
    uint32_t recurs = flags & RESV_RECURRING;
    return (recurs & (recurs - 1)) == 0;
}

struct resv_flag_row {
    const char *name;
    char sign;
    const char *doc;
};
extern const struct resv_flag_row resv_flag_table[RESV_FLAG_COUNT];

// clang-format off
#define RESERVATION_FIELDS(X)                                                                                \
    X(TEXT, name, 0, "name")                                                                                 \
    X(TIME, start_us, 0, "begins; of a recurring one: this time or the next")                                \
    X(TIME, end_us, 0, "ends")                                                                               \
    X(SPAN, duration_us, &range_change, "how long; asked instead of the end")                                \
    X(U32, flags, &range_resv, "bits of enum resv_flag")                                                     \
    X(SPAN, purge_us, 0, "PURGE_COMP: goes after so long without jobs")                                      \
    X(TEXT, nodes, 0, "nodes, folded")                                                                       \
    X(I32, node_count, &range_nodes, "nodes asked for; 0 = those named")                                     \
    X(TEXT, core_counts, 0, "cores: of each node in order, comma-separated, or in all; NULL = whole nodes")  \
    X(TEXT, gres, 0, "generic resources in all: gpu:a100:4 (the rest of these nodes stays free for others)") \
    X(TEXT, holds, 0, "what it keeps where it keeps no whole nodes: n1 cpu=4 gpu:a100=2;n2 … (computed)")    \
    X(I32, core_count, 0, "cores in all (computed)")                                                         \
    X(I32, cpu_count, 0, "CPUs in all (computed)")                                                           \
    X(TEXT, partition, 0, "partition the nodes are taken from")                                              \
    X(TEXT, features, 0, "features its nodes have")                                                          \
    X(TEXT, licenses, 0, "licences: name:count,…")                                                           \
    X(TEXT, users, 0, "users who may use it, or all but -user,…")                                            \
    X(TEXT, accounts, 0, "accounts that may use it, or all but -account,…")                                  \
    X(TEXT, groups, 0, "groups whose members may use it")                                                    \
    X(TEXT, comment, 0, "comment")                                                                           \
    X(TIME, made_us, 0, "made")                                                                              \
    X(TIME, idle_us, 0, "without jobs since; 0 = has some, or has not begun")                                \
    X(BOOL, active, 0, "it is its time (computed)")                                                          \
    X(I32, day_second, &range_day, "second of the local day at which it was to begin, 1 = midnight; 0 = not known")
// clang-format on

struct reservation {
    RESERVATION_FIELDS(FIELD_MEMBER)
};
extern const struct fields reservation_fields;

/* "MAINT,DAILY,PURGE_COMP=00:10:00", any letter case; names flags that Slurm has and we have not.
 * ERR_UNSUPPORTED, ERR_INVALID. */
bool resv_flags_parse(const char *text, uint32_t *ret_flags, int64_t *ret_purge_us,
                      struct err *ret_err);
struct str;
/* Appends the words with commas between them, as scontrol shows them; nothing where none is set. */
void resv_flags_format(const struct reservation *r, struct str *out);

/* Start of the next time after that which begins at start_us; INT64_MAX = there is none. */
int64_t resv_next_start(const struct reservation *r, int64_t start_us, const struct zone *z);
/* The member of that name, for one that is to begin then. */
int32_t resv_day_second(int64_t start_us, const struct zone *z);
/* Is it some reservation's time, of a user's point of view: start ≤ at < end? */
static inline bool resv_is_on(const struct reservation *r, int64_t at_us)
{
    return r->start_us <= at_us && at_us < r->end_us;
}

/* May this user with this account run jobs in it? */
bool resv_admits(const struct reservation *r, const char *user, const char *groups,
                 const char *account);

#endif
