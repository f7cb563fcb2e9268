/* Rows of the past on their way into the history: gathered, compared with what is there, and sent a
 * piece at a time, each whole. For administrators. */
#ifndef REMUDA_CLI_ACCOUNTS_PAST_H
#define REMUDA_CLI_ACCOUNTS_PAST_H

#include "cli/accounts/accounts.h"
#include "model/message.h"
#include "model/stored.h"

#include <stdbool.h>
#include <stdint.h>

/* A list of a message that is being filled. */
struct past_list {
    const struct fields *fields; /* of its records */
    struct record_list list;
    size_t cap; /* room in `list` */
};

struct past_rows_out {
    struct sacctmgr *s;                     /* the connection, and where errors are said */
    struct arena *arena;                    /* of the piece */
    struct past_list of[STORE_TABLE_COUNT]; /* by table */
    size_t rows;                            /* in all of them, not sent yet */
    bool dry_run;                           /* only compared */
    /* Jobs that are new, were there already, and whose numbers are those of others. */
    uint64_t added, there, taken;
    uint64_t first_taken; /* number of the first; 0 = none */
};

void past_out_begin(struct past_rows_out *o, struct sacctmgr *s); /* nothing is asked yet */
void past_out_done(struct past_rows_out *o); /* frees, with what was not sent */
/* False: no rows of this table are taken. */
bool past_out_takes(enum store_table table);
/* What its rows are here: sums of hours are struct used. */
const struct fields *past_out_fields(enum store_table table);
/* Copies it. A job's other rows come before its own. False after an error was printed. */
bool past_out_add(struct past_rows_out *o, enum store_table table, const void *record);
/* Sends what is left. */
bool past_out_flush(struct past_rows_out *o);

#endif
