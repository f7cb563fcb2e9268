/* Columns of sinfo, over lines (struct sinfo_row): one for each letter of -o and each name of
 * -O. */
#ifndef REMUDA_CLI_RECORD_COLUMNS_NODE_H
#define REMUDA_CLI_RECORD_COLUMNS_NODE_H

#include "cli/table/columns.h"

/* When may nodes that differ in a column share a line? */
enum merge {
    MERGE_ALWAYS, /* its cell counts or lists them */
    MERGE_RANGE,  /* its cell shows a range, unless --exact */
    MERGE_NEVER,
};

extern const struct column_table node_columns;
/* how sinfo shows it of several nodes in one line */
enum merge node_column_merge(const struct column *c);
/* %P and %R: a line belongs to one partition only if one of them is shown. */
bool node_column_names_partition(const struct column *c);

#endif
