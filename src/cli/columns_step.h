/* Columns of squeue --steps. */
#ifndef REMUDA_CLI_COLUMNS_STEP_H
#define REMUDA_CLI_COLUMNS_STEP_H

#include "cli/columns.h"

extern const struct column_table step_columns;

#endif
