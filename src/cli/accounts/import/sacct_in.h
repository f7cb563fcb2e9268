/* What `sacct -P` of a Slurm printed, read into our records: a line of column names, then a job or
 * a step a line. Pure: asks the caller for uids. */
#ifndef REMUDA_CLI_ACCOUNTS_IMPORT_SACCT_IN_H
#define REMUDA_CLI_ACCOUNTS_IMPORT_SACCT_IN_H

#include "base/arena.h"
#include "base/calendar/civil.h"
#include "base/err.h"
#include "base/str.h"
#include "model/job/job.h"
#include "model/message.h"
#include "model/stored.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SACCT_COLUMNS_MAX 200

/* Those that something is read of. */
/* X(COLUMN, name) */
#define SACCT_COLUMNS(X)                                                                           \
    X(JOB_ID, "JobID")                                                                             \
    X(RAW, "JobIDRaw")                                                                             \
    X(NAME, "JobName")                                                                             \
    X(USER, "User")                                                                                \
    X(UID, "UID")                                                                                  \
    X(GROUP, "Group")                                                                              \
    X(GID, "GID")                                                                                  \
    X(ACCOUNT, "Account")                                                                          \
    X(PARTITION, "Partition")                                                                      \
    X(QOS, "QOS")                                                                                  \
    X(WCKEY, "WCKey")                                                                              \
    X(RESERVATION, "Reservation")                                                                  \
    X(CLUSTER, "Cluster")                                                                          \
    X(SUBMIT, "Submit")                                                                            \
    X(ELIGIBLE, "Eligible")                                                                        \
    X(START, "Start")                                                                              \
    X(END, "End")                                                                                  \
    X(SUSPENDED, "Suspended")                                                                      \
    X(STATE, "State")                                                                              \
    X(EXIT, "ExitCode")                                                                            \
    X(DERIVED_EXIT, "DerivedExitCode")                                                             \
    X(ALLOC_TRES, "AllocTRES")                                                                     \
    X(REQ_TRES, "ReqTRES")                                                                         \
    X(ALLOC_CPUS, "AllocCPUS")                                                                     \
    X(NCPUS, "NCPUS")                                                                              \
    X(REQ_CPUS, "ReqCPUS")                                                                         \
    X(ALLOC_NODES, "AllocNodes")                                                                   \
    X(NNODES, "NNodes")                                                                            \
    X(NTASKS, "NTasks")                                                                            \
    X(TIMELIMIT, "Timelimit")                                                                      \
    X(TIMELIMIT_RAW, "TimelimitRaw")                                                               \
    X(NODE_LIST, "NodeList")                                                                       \
    X(COMMENT, "Comment")                                                                          \
    X(ADMIN_COMMENT, "AdminComment")                                                               \
    X(WORK_DIR, "WorkDir")                                                                         \
    X(SUBMIT_LINE, "SubmitLine")                                                                   \
    X(CONSTRAINTS, "Constraints")                                                                  \
    X(PRIORITY, "Priority")                                                                        \
    X(USER_CPU, "UserCPU")                                                                         \
    X(SYSTEM_CPU, "SystemCPU")                                                                     \
    X(TOTAL_CPU, "TotalCPU")                                                                       \
    X(MAX_RSS, "MaxRSS")                                                                           \
    X(MAX_RSS_NODE, "MaxRSSNode")                                                                  \
    X(AVE_RSS, "AveRSS")                                                                           \
    X(MAX_VM, "MaxVMSize")                                                                         \
    X(MAX_READ, "MaxDiskRead")                                                                     \
    X(MAX_WRITE, "MaxDiskWrite")

enum sacct_column {
#define X(column, name) COLUMN_##column,
    SACCT_COLUMNS(X)
#undef X
        COLUMN_COUNT
};

struct sacct_in {
    const struct civil_zone *zone;                              /* of the cluster it comes from */
    int64_t now_us;                                             /* nothing ended later */
    bool (*uid_of)(void *ctx, const char *user, uint32_t *ret); /* false: no such user here */
    /* A row; a job's other rows come before its own. False ends the reading. */
    bool (*row)(void *ctx, enum store_table table, const void *record);
    void *ctx;
    /* Private. */
    char separator;
    size_t columns;                    /* cells a line has */
    int16_t column[SACCT_COLUMNS_MAX]; /* what it is; -1 = nothing that is kept */
    struct arena *kept;                /* of the job at hand */
    struct job job;                    /* of the lines read last, until another begins */
    bool has_job;                      /* it is not given out yet */
    char cluster[128];                 /* of the lines before */
    struct step *step;                 /* steps of the job at hand */
    size_t nstep, cap;                 /* of that job, and room for so many */
    /* What was read. */
    uint64_t jobs, steps, alive,
        nobodys;        /* alive: not over, left out; nobodys: users not known here */
    struct str unknown; /* columns that nothing is read of */
    struct str missing; /* columns that would have told more */
};

/* what reading holds; records that were given out are the caller's arena's */
void sacct_in_done(struct sacct_in *in);
/* The line of names. ERR_INVALID. */
bool sacct_in_head(struct sacct_in *in, const char *line, struct err *ret_err);
/* Another line, or ERR_INVALID why it is none. */
bool sacct_in_line(struct sacct_in *in, const char *line, struct err *ret_err);
/* After the last: gives what is left. */
bool sacct_in_end(struct sacct_in *in);

/* ---- sacct_line.c ---- */
extern const char *const sacct_column_names[COLUMN_COUNT];
/* Has the heading one of that name? */
bool sacct_has_column(const struct sacct_in *in, enum sacct_column column);
struct sacct_line {
    const char *of[COLUMN_COUNT]; /* "" where there is none */
};
/* A line cut into its cells, which are in the arena. */
bool sacct_line_cut(const struct sacct_in *in, const char *line, struct arena *a,
                    struct sacct_line *ret, struct err *ret_err);

/* ---- sacct_cells.c: what cells mean; "" and Slurm's words for nothing are 0 ---- */
bool sacct_time(const char *cell, const struct civil_zone *zone, int64_t *ret_us);
/* "1-02:03:04", "02:03.456", "UNLIMITED". */
bool sacct_span(const char *cell, int64_t *ret_us);
/* "3:9" to a wait status. */
bool sacct_exit(const char *cell, int32_t *ret);
/* "CANCELLED by 1000"; *ret = -1: none that we have. */
bool sacct_state(const char *cell, int32_t *ret, uint32_t *ret_by_plus1);
/* "1.50G", "1024K", "512" to bytes. */
bool sacct_bytes(const char *cell, int64_t *ret);
struct sacct_tres {
    int64_t cpu, mem_mib, node, billing_plus1; /* 0 = not told, as of all but billing_plus1 */
    const char *gres;                          /* "gpu:v100=4,nic=2" */
};
/* "cpu=4,mem=8G,node=1,billing=4,gres/gpu=2"; kinds that are not counted here are passed over.
 * False: a number is none, or too large. */
bool sacct_tres(const char *cell, struct arena *a, struct sacct_tres *ret);
/* "12", "12_3", "12_[4-9]", "12+1", each with ".batch", ".0" behind it. */
struct sacct_id {
    uint64_t id;                            /* of the job, or of the array or heterogeneous job */
    bool is_element, is_component, is_step; /* which of the next hold something */
    uint32_t element, component;
    const char *waiting; /* "4-9" of "12_[4-9]"; NULL = none */
    int64_t step;
};
/* "12", "12_3", "12_[4-9%2]", "12+1", each with or without ".batch" or ".0" behind it. False:
 * anything else. */
bool sacct_id(const char *cell, struct arena *a, struct sacct_id *ret);

#endif
