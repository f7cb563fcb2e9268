/* Tables as text: a first line that names the columns, then a line a row, cells set apart by a
 * comma, a bar or what else is asked for. */
#ifndef REMUDA_SIM_TABLE_H
#define REMUDA_SIM_TABLE_H

#include "base/err.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NO_COLUMN SIZE_MAX

struct text_table {
    char *text; /* owned; all cells lie in it */
    VEC(char *) column;
    VEC(char *) cell; /* row by row */
    VEC(size_t) line; /* number of each row's line */
    size_t rows;
};

/* Takes `text`, which was allocated, also when it fails. Empty lines are left out; a row with more
 * or fewer cells than the first line is an error that names its line. Cells may be in double
 * quotes. */
bool table_parse(char *text, char separator, struct text_table *ret, struct err *ret_err);
/* A file, plain or gzipped; "-" is standard input. Errors name it. */
bool table_read(const char *path, char separator, struct text_table *ret, struct err *ret_err);
void table_done(struct text_table *t); /* its text; cells pointed into it */

/* The column of one of several names ("name|sn"), small and capital letters being the same;
 * NO_COLUMN if there is none. */
size_t table_column(const struct text_table *t, const char *names);
/* "" where the column is NO_COLUMN. */
const char *table_cell(const struct text_table *t, size_t row, size_t column);
/* A whole number of 0 at least, its fraction cut off; false with ret_err naming line, column and
 * content. */
bool table_number(const struct text_table *t, size_t row, size_t column, int64_t *ret,
                  struct err *ret_err);

/* Splits one line in place, at most `max` cells; returns how many. */
size_t cells_split(char *line, char separator, char **cell, size_t max);

#endif
