/* Columns of squeue --steps. */
#ifndef REMUDA_CLI_RECORD_COLUMNS_STEP_H
#define REMUDA_CLI_RECORD_COLUMNS_STEP_H

#include "cli/table/columns.h"

extern const struct column_table step_columns;

#endif
