/* Lines of sacct: which column is what, and cells. */
#include "cli/accounts/import/sacct_in.h"

#include "base/alloc.h"

#include <string.h>

const char *const sacct_column_names[COLUMN_COUNT] = {
#define X(column, name) [COLUMN_##column] = name,
    SACCT_COLUMNS(X)
#undef X
};

/* Without them sums and reports are poorer. */
static const enum sacct_column wanted[] = {COLUMN_USER,       COLUMN_ACCOUNT, COLUMN_PARTITION,
                                           COLUMN_QOS,        COLUMN_SUBMIT,  COLUMN_START,
                                           COLUMN_ALLOC_TRES, COLUMN_EXIT};

static void word_add(struct str *to, const char *word, size_t len)
{
    str_addf(to, "%s%.*s", to->len ? "," : "", len < 60 ? (int)len : 60, word);
}

/* A width may stand behind it: "JobName%30". */
static int16_t column_find(struct span name)
{
    const char *percent = memchr(name.data, '%', name.len);
    if (percent)
        name.len = (size_t)(percent - name.data);
    for (int16_t i = 0; i < COLUMN_COUNT; i++)
        if (span_is_nocase(name, sacct_column_names[i]))
            return i;
    return -1;
}

bool sacct_has_column(const struct sacct_in *in, enum sacct_column column)
{
    for (size_t i = 0; i < in->columns; i++)
        if (in->column[i] == (int16_t)column)
            return true;
    return false;
}

bool sacct_in_head(struct sacct_in *in, const char *line, struct err *ret_err)
{
    size_t first = strcspn(line, "|,;\t\x1f^~!#");
    struct span rest = span_of(line), name;
    in->separator = line[first] ? line[first] : '|';
    in->kept = arena_new();
    while (span_next(&rest, in->separator, &name)) {
        if (name.len == 0 && rest.len == 0)
            break; /* `sacct -p` ends each line with one */
        if (in->columns == SACCT_COLUMNS_MAX)
            return err_set(ret_err, ERR_INVALID, "more than %d columns", SACCT_COLUMNS_MAX);
        in->column[in->columns] = column_find(name);
        if (in->column[in->columns++] < 0)
            word_add(&in->unknown, name.data, name.len);
    }
    if (!sacct_has_column(in, COLUMN_STATE) || !sacct_has_column(in, COLUMN_END) ||
        (!sacct_has_column(in, COLUMN_JOB_ID) && !sacct_has_column(in, COLUMN_RAW)))
        return err_set(ret_err, ERR_INVALID,
                       "the first line must name the columns, among them JobID, State and End: "
                       "sacct -a -P -o JobID,JobIDRaw,User,Account,Partition,QOS,Submit,Eligible,"
                       "Start,End,State,ExitCode,AllocTRES,ReqTRES,Timelimit,NodeList,JobName");
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
        if (!sacct_has_column(in, wanted[i]))
            word_add(&in->missing, sacct_column_names[wanted[i]],
                     strlen(sacct_column_names[wanted[i]]));
    return true;
}

bool sacct_line_cut(const struct sacct_in *in, const char *line, struct arena *a,
                    struct sacct_line *ret, struct err *ret_err)
{
    struct span rest = span_of(line), cell;
    size_t n = 0;
    for (int i = 0; i < COLUMN_COUNT; i++)
        ret->of[i] = "";
    while (span_next(&rest, in->separator, &cell)) {
        if (n < in->columns && in->column[n] >= 0)
            ret->of[in->column[n]] = arena_strndup(a, cell.data, cell.len);
        if (n < in->columns || cell.len || rest.len)
            n++;
    }
    return n == in->columns ||
           err_set(ret_err, ERR_INVALID,
                   "%zu cells, and there are %zu columns; if a text has '%c' in it, sacct "
                   "--delimiter chooses another",
                   n, in->columns, in->separator);
}
