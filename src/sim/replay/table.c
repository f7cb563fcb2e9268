#include "sim/replay/table.h"

#include "base/alloc.h"
#include "base/str.h"
#include "sim/replay/trace.h"

#include <string.h>
#include <strings.h>

#define CELLS_MAX  128
#define NUMBER_MAX (INT64_C(1) << 53)

size_t cells_split(char *line, char separator, char **cell, size_t max)
{
    ASSERT(max > 0);
    const char separators[] = {separator, '\0'};
    size_t n = 0;
    while (line && n < max) {
        char *end;
        if (*line == '"' && (end = strchr(line + 1, '"'))) {
            cell[n++] = line + 1;
            *end = '\0';
            line = strchr(end + 1, separator);
            line = line ? line + 1 : NULL;
        } else {
            cell[n++] = strsep(&line, separators);
        }
    }
    return n;
}

static bool line_take(struct text_table *t, char *line, char separator, size_t number,
                      struct err *ret_err)
{
    char *cell[CELLS_MAX];
    line[strcspn(line, "\r")] = '\0';
    if (*line == '\0')
        return true;
    size_t n = cells_split(line, separator, cell, CELLS_MAX), columns = t->column.n;
    if (columns == 0) {
        for (size_t i = 0; i < n; i++)
            vec_push(&t->column, cell[i]);
        return true;
    }
    /* sacct -p ends each line with a bar, and so may one who writes the first line by hand. */
    if (n == columns + 1 && *cell[columns] == '\0')
        n--;
    if (n != columns)
        return err_set(ret_err, ERR_INVALID,
                       "line %zu has %zu cells, the first line names %zu columns", number, n,
                       columns);
    for (size_t i = 0; i < n; i++)
        vec_push(&t->cell, cell[i]);
    vec_push(&t->line, number);
    t->rows++;
    return true;
}

bool table_parse(char *text, char separator, struct text_table *ret, struct err *ret_err)
{
    char *rest = text, *line;
    *ret = (struct text_table){.text = text};
    for (size_t number = 1; (line = strsep(&rest, "\n")); number++)
        if (!line_take(ret, line, separator, number, ret_err)) {
            table_done(ret);
            return false;
        }
    if (ret->column.n == 0) {
        table_done(ret);
        return err_set(ret_err, ERR_INVALID, "it is empty; the first line should name the columns");
    }
    return true;
}

bool table_read(const char *path, char separator, struct text_table *ret, struct err *ret_err)
{
    size_t len;
    char *text = file_text(path, &len, ret_err);
    *ret = (struct text_table){0};
    return text && (table_parse(text, separator, ret, ret_err) || err_prefix(ret_err, "%s", path));
}

void table_done(struct text_table *t)
{
    free(t->text);
    vec_done(&t->column);
    vec_done(&t->cell);
    vec_done(&t->line);
    *t = (struct text_table){0};
}

size_t table_column(const struct text_table *t, const char *names)
{
    struct span rest = span_of(names), name;
    while (span_next(&rest, '|', &name))
        for (size_t i = 0; i < t->column.n; i++)
            if (strncasecmp(t->column.v[i], name.data, name.len) == 0 &&
                t->column.v[i][name.len] == '\0')
                return i;
    return NO_COLUMN;
}

const char *table_cell(const struct text_table *t, size_t row, size_t column)
{
    ASSERT(column == NO_COLUMN || (row < t->rows && column < t->column.n));
    return column == NO_COLUMN ? "" : t->cell.v[row * t->column.n + column];
}

bool table_number(const struct text_table *t, size_t row, size_t column, int64_t *ret,
                  struct err *ret_err)
{
    const char *cell = table_cell(t, row, column);
    char *end;
    *ret = strtoll(cell, &end, 10);
    if (end != cell && *end == '.')
        (void)strtoull(end + 1, &end, 10);
    if (end != cell && *end == '\0' && *ret >= 0 && *ret <= NUMBER_MAX)
        return true;
    return err_set(ret_err, ERR_INVALID, "line %zu: %s is '%s', where a whole number is expected",
                   t->line.v[row],
                   column == NO_COLUMN ? "a column that is missing" : t->column.v[column], cell);
}
