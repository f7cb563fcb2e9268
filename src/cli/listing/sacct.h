/* sacct: what was asked for (listing/sacct.c), and the rows of the past that are read and shown for
 * it (sacct_rows.c). */
#ifndef REMUDA_CLI_LISTING_SACCT_H
#define REMUDA_CLI_LISTING_SACCT_H

#include "base/vec.h"
#include "cli/record/columns_acct.h"
#include "cli/record/jobstats.h"
#include "cli/table/listing_command.h"
#include "model/job/job.h"
#include "model/message.h"

struct sacct_range {
    int64_t low, high; /* high 0 = no range given */
};

struct size_bound {
    bool given; /* else `us` means nothing */
    int64_t us;
};

struct sacct_command {
    struct listing l;
    struct msg_query query; /* as the options make it */
    struct acct_env acct_env;
    const char *fields, *groups, *reasons, *wckeys, *constraints, *flags;
    const char *qos_known;             /* names that there are, for --qos */
    const char *unknown;               /* words that are no options, a line each */
    const char *start_text, *end_text; /* as typed, read when all is known */
    bool all_users, allocations, batch_script, truncate;
    struct sacct_range nodes, cpus;
    struct size_bound limit_min, limit_max;
    VEC(const struct job *) job;   /* of the answer, in its order */
    VEC(const struct step *) step; /* likewise */
    VEC(const struct node *) node; /* read only for columns that need them */
    bool jobstats;                 /* AdminComment is shown, and made where there is none */
    struct jobstats summary;
};

/* Reads what was asked for into `job` and `step`, steps in the order of their jobs. False: the
 * question was refused, or a QOS that was asked for is none, and said so. */
bool sacct_rows_read(struct sacct_command *s, struct client *c, struct err *ret_err);
/* For the columns that are shown: `assoc` and `qos` of acct_env, and the priority of each of `job`
 * that waits. */
bool sacct_known_read(struct sacct_command *s, struct client *c, struct err *ret_err);
/* What sacct_known_read made, if it was called. */
void sacct_known_free(struct sacct_command *s);
/* A line a job, and a line a step of it, as far as it was asked for. */
void sacct_rows_print(struct sacct_command *s);
/* -B: the scripts of the jobs found. */
bool sacct_scripts_print(struct sacct_command *s, struct client *c, struct err *ret_err);

#endif
