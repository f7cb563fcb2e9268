/* --help and --usage of the commands that have one table of their own; those of sbatch, salloc and
 * srun: doc.c. */
#include "script/options/values.h"

#include "base/alloc.h"

#include <string.h>

static enum help_value value_kind(enum option_arg arg)
{
    switch (arg) {
    case ARG_NONE: return HELP_NONE;
    case ARG_REQUIRED: return HELP_REQUIRED;
    case ARG_OPTIONAL:
    case ARG_NEXT: return HELP_OPTIONAL;
    }
    return HELP_NONE;
}

struct help_option option_help_of(const struct option_row *row)
{
    return (struct help_option){row->name,    row->letter, value_kind(row->arg),
                                row->metavar, row->doc,    false};
}

static bool is_shown(const struct option_table *t, const struct option_row *row)
{
    return (row->support != SUPPORT_REFUSED || t->refused_shown) && !row->hidden;
}

static bool is_of_help(const struct option_row *row)
{
    return text_is(row->name, "help") || text_is(row->name, "usage");
}

static void rows_add(const struct option_table *t, bool of_help, bool both, struct str *out)
{
    const struct option_row *row;
    for (size_t i = 0; (row = option_row_at(t, i)); i++) {
        if (!is_shown(t, row) || (!both && is_of_help(row) != of_help))
            continue;
        struct help_option h = option_help_of(row);
        h.one_dash = t->one_dash;
        help_row(&h, out);
    }
}

void option_table_write_help(const struct option_table *t, struct str *out)
{
    bool valid = strstr(t->usage, "[<OPTION>]") != NULL,
         sshare = strstr(t->usage, "[OPTION]") != NULL;
    str_addf(out, "%s%s\n%s", valid ? "" : "Usage: ", t->usage, t->about ? t->about : "");
    if (valid || sshare) {
        str_add(out, valid ? "    Valid <OPTION> values are:\n" : "  Valid OPTIONs are:\n");
        rows_add(t, false, true, out);
    } else {
        rows_add(t, false, false, out);
        str_add(out, "\nHelp options:\n");
        rows_add(t, true, false, out);
    }
}

void option_table_write_usage(const struct option_table *t, struct str *out)
{
    struct help_option o[OPTION_MAX];
    const struct option_row *row;
    const char *bracket = strstr(t->usage, " [");
    size_t name = bracket ? (size_t)(bracket - t->usage) : strlen(t->usage), n = 0;
    const char *words = strchr(t->usage, ']');
    if (strstr(t->usage, "OPTION>]") || strstr(t->usage, "OPTION]")) {
        str_addf(out, "Usage: %.*s [options]%s\n\tUse --help for all of them\n", (int)name,
                 t->usage, words + 1);
        return;
    }
    for (size_t i = 0; (row = option_row_at(t, i)); i++)
        if (is_shown(t, row)) {
            o[n] = option_help_of(row);
            o[n++].one_dash = t->one_dash;
        }
    struct arena *a = arena_new();
    help_usage(arena_strndup(a, t->usage, name), o, n, words ? words + 1 + (words[1] == ' ') : "",
               out);
    arena_free(a);
}
