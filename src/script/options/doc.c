/* Texts made from the option table: --help, --usage, and the support matrix. */
#include "script/options/options.h"

#include "base/alloc.h"
#include "base/plain.h"
#include "script/options/values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *command_name(unsigned command)
{
    return command == CMD_SBATCH ? "sbatch" : command == CMD_SALLOC ? "salloc" : "srun";
}

static const char *command_words(unsigned command)
{
    return command == CMD_SBATCH   ? "script(0) [args(0)...]"
           : command == CMD_SALLOC ? "[command(0) [args(0)...]]"
                                   : "executable(0) [args(0)...]";
}

static int by_name(const void *a, const void *b)
{
    const struct option_row *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

/* The rows of that heading (NULL: all) that help shows, in the order of their names; returns how
 * many. */
static size_t rows_take(unsigned command, const char *heading, const struct option_row **to)
{
    const struct option_row *rows;
    size_t n, count = 0;
    for (size_t t = 0; option_theme(t, &rows, &n); t++)
        for (size_t i = 0; i < n && (!heading || !strcmp(heading, option_heading(t))); i++)
            if ((rows[i].commands & command) && rows[i].support != SUPPORT_REFUSED)
                to[count++] = &rows[i];
    qsort(to, count, sizeof *to, by_name);
    return count;
}

void options_write_usage(unsigned command, struct str *out)
{
    const struct option_row *row[OPTION_MAX];
    struct help_option o[OPTION_MAX];
    size_t n = rows_take(command, NULL, row);
    for (size_t i = 0; i < n; i++)
        o[i] = option_help_of(row[i]);
    help_usage(command_name(command), o, n, command_words(command), out);
}

static void row_write(const struct option_row *row, struct str *out)
{
    struct help_option o = option_help_of(row);
    help_row(&o, out);
    if (row->support == SUPPORT_NO_EFFECT) {
        str_cut(out, out->len - 1);
        str_add(out, " (no effect)\n");
    }
}

void options_write_values(const struct option_row *row, struct str *out)
{
    struct span rest = span_of(row->values), line;
    bool heading = true;
    while (span_next(&rest, '\n', &line)) {
        const char *tab = memchr(line.data, '\t', line.len);
        int word = (int)(tab ? (size_t)(tab - line.data) : line.len);
        if (tab)
            str_addf(out, "        %-18.*s%.*s\n", word, line.data, (int)line.len - word - 1,
                     tab + 1);
        else
            str_addf(out, "%.*s\n", word, line.data);
        if (heading && tab == NULL && rest.len && memchr(rest.data, '\t', rest.len))
            str_addf(out, "    --%s=               %s\n", row->name, row->doc);
        heading = false;
    }
}

static bool heading_is_new(size_t theme)
{
    for (size_t t = 0; t < theme; t++)
        if (!strcmp(option_heading(t), option_heading(theme)))
            return false;
    return true;
}

void options_write_help(unsigned command, struct str *out)
{
    const struct option_row *row[OPTION_MAX];
    str_addf(out, "Usage: %s [OPTIONS(0)...] [ : [OPTIONS(N)...]] %s\n", command_name(command),
             command_words(command));
    for (size_t t = 0; option_heading(t); t++) {
        size_t n = heading_is_new(t) ? rows_take(command, option_heading(t), row) : 0;
        if (n)
            str_addf(out, "\n%s:\n", option_heading(t));
        for (size_t i = 0; i < n; i++)
            row_write(row[i], out);
    }
    str_add(out, "\nAny other option of Slurm's is refused with the reason; docs/options.md has "
                 "them all.\n");
}

/* In quotes where a shell would read it otherwise. */
static void word_add(struct str *out, const char *word)
{
    if (strpbrk(word, " \t\n&|;<>()$`\\'\"*?[]#~"))
        str_add_shell_word(out, word);
    else
        str_add(out, word);
}

void options_write_words(const struct submit_options *o, unsigned command, struct str *out)
{
    const struct option_row *row;
    for (size_t i = 0; (row = option_at(i)); i++) {
        if (o->source[i] == FROM_DEFAULT || !(row->commands & command))
            continue;
        const char *given = o->given[i];
        str_addf(out, " --%s%s", row->name, *given ? "=" : "");
        word_add(out, given);
    }
}

/* ---- the support matrix
 * ------------------------------------------------------------------- */

static const char *support_word(enum support s)
{
    switch (s) {
    case SUPPORT_HONOURED: return "yes";
    case SUPPORT_NO_EFFECT: return "no effect";
    case SUPPORT_REFUSED: return "refused";
    }
    return "";
}

/* '|' would end a cell. */
static void cell_add(struct str *out, const char *text)
{
    for (const char *c = text ? text : ""; *c; c++) {
        if (*c == '|')
            str_addc(out, '\\');
        str_addc(out, *c);
    }
}

static void spelling_cell(const struct option_row *row, bool one_dash, struct str *out)
{
    struct str spelt = STR_INIT;
    struct help_option o = option_help_of(row);
    o.one_dash = one_dash;
    help_spell(&o, &spelt);
    str_addc(out, '`');
    cell_add(out, str_text(&spelt));
    str_addc(out, '`');
    if (row->letter)
        str_addf(out, ", `-%c`", row->letter);
    struct span rest = span_of(row->alias), alias;
    while (span_next(&rest, ' ', &alias))
        str_addf(out, ", `%s%.*s`", one_dash ? "-" : "--", (int)alias.len, alias.data);
    str_done(&spelt);
}

static void variables_cell(const struct option_row *row, struct str *out)
{
    struct str cell = STR_INIT;
    for (size_t i = 0; i < ARRAY_LEN(row->env); i++) {
        struct span rest = span_of(row->env[i]), name;
        while (span_next(&rest, ' ', &name)) {
            char quoted[80];
            snprintf(quoted, sizeof quoted, "`%.*s`", (int)name.len, name.data);
            if (!strstr(str_text(&cell), quoted))
                str_addf(&cell, "%s%s", cell.len ? ", " : "", quoted);
        }
    }
    str_add(out, str_text(&cell));
    str_done(&cell);
}

static void matrix_row(const struct option_row *row, struct str *out)
{
    str_add(out, "| ");
    spelling_cell(row, false, out);
    static const unsigned commands[] = {CMD_SBATCH, CMD_SALLOC, CMD_SRUN};
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        str_addf(out, " | %s", row->commands & commands[i] ? support_word(row->support) : "");
    str_add(out, " | ");
    variables_cell(row, out);
    str_add(out, " | ");
    cell_add(out, row->doc);
    if (row->why) {
        str_add(out, "; ");
        cell_add(out, row->why);
    }
    str_add(out, " |\n");
}

void options_write_markdown(struct str *out)
{
    const struct option_row *rows;
    const char *title;
    size_t n;
    str_add(
        out,
        "# Options of sbatch, salloc and srun\n\n"
        "Made from the option table by `remuda docs`. Every option of Slurm 25.05 is here. *yes*: "
        "it does what Slurm's manual says.\n"
        "*no effect*: it is accepted, nothing comes of it, and the job's SystemComment says so. "
        "*refused*: the command ends with an error\n"
        "that gives the reason. An empty cell: the command has no such option.\n\n"
        "A command line beats the environment, and that beats the script; of an option given twice "
        "the last counts.\n"
        "salloc and srun come with job steps; their columns say what they will do with an option.\n"
        "The other commands' options stand at the end, a table a command.\n");
    for (size_t t = 0; (title = option_theme(t, &rows, &n)); t++) {
        str_addf(out,
                 "\n## %s\n\n| option | sbatch | salloc | srun | variables | meaning "
                 "|\n|---|---|---|---|---|---|\n",
                 title);
        for (size_t i = 0; i < n; i++)
            matrix_row(&rows[i], out);
    }
}

static const char *support_of(const struct option_row *row)
{
    return row->support == SUPPORT_HONOURED && row->why ? "differs" : support_word(row->support);
}

void option_table_write_markdown(const struct option_table *t, const char *command, struct str *out)
{
    const struct option_row *row;
    str_addf(out, "\n## %s\n\n| option | works | variables | meaning |\n|---|---|---|---|\n",
             command);
    for (size_t i = 0; (row = option_row_at(t, i)); i++) {
        str_add(out, "| ");
        spelling_cell(row, t->one_dash, out);
        str_addf(out, " | %s | ", support_of(row));
        variables_cell(row, out);
        str_add(out, " | ");
        cell_add(out, row->doc);
        if (row->why)
            str_add(out, "; ");
        cell_add(out, row->why);
        str_add(out, " |\n");
    }
}
