/* Texts made from the option table: --help, --usage, and the support matrix. */
#include "script/options.h"

#include "base/alloc.h"
#include "script/option_values.h"

#include <stdio.h>
#include <string.h>

#define HELP_COLUMN 30

static const char *command_name(unsigned command)
{
    return command == CMD_SBATCH ? "sbatch" : command == CMD_SALLOC ? "salloc" : "srun";
}

static const char *command_rest(unsigned command)
{
    return command == CMD_SBATCH   ? "[OPTIONS…] [ : OPTIONS… ] script [args…]"
           : command == CMD_SALLOC ? "[OPTIONS…] [ : OPTIONS… ] [command [args…]]"
                                   : "[OPTIONS…] [ : OPTIONS… ] program [args…]";
}

void options_write_usage(unsigned command, struct str *out)
{
    str_addf(out, "Usage: %s %s\n", command_name(command), command_rest(command));
}

static void option_spell(const struct option_row *row, struct str *out)
{
    str_addf(out, "--%s", row->name);
    if (row->arg == ARG_OPTIONAL)
        str_addf(out, "[=%s]", row->metavar ? row->metavar : "value");
    else if (row->arg == ARG_REQUIRED)
        str_addf(out, "=%s", row->metavar ? row->metavar : "value");
}

static void help_line(const struct option_row *row, struct str *out)
{
    size_t start = out->len;
    if (row->letter)
        str_addf(out, "  -%c, ", row->letter);
    else
        str_add(out, "      ");
    option_spell(row, out);
    if (out->len - start >= HELP_COLUMN) {
        str_addc(out, '\n');
        start = out->len;
    }
    while (out->len - start < HELP_COLUMN)
        str_addc(out, ' ');
    str_add(out, row->doc);
    if (row->support == SUPPORT_NO_EFFECT)
        str_add(out, " (no effect)");
    str_addc(out, '\n');
}

void options_write_help(unsigned command, struct str *out)
{
    const struct option_row *rows;
    const char *title;
    size_t n;
    options_write_usage(command, out);
    for (size_t t = 0; (title = option_theme(t, &rows, &n)); t++) {
        size_t before = out->len;
        str_addf(out, "\n%s:\n", title);
        size_t begun = out->len;
        for (size_t i = 0; i < n; i++)
            if ((rows[i].commands & command) && rows[i].support != SUPPORT_REFUSED)
                help_line(&rows[i], out);
        if (out->len == begun)
            str_cut(out, before);
    }
    str_add(out, "\nOther options of Slurm's are refused with the reason; docs/options.md lists them all.\n");
}

/* ---- the support matrix
 * ------------------------------------------------------------------------------------------------------- */

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

static void spelling_cell(const struct option_row *row, struct str *out)
{
    struct str spelt = STR_INIT;
    option_spell(row, &spelt);
    str_addc(out, '`');
    cell_add(out, str_text(&spelt));
    str_addc(out, '`');
    if (row->letter)
        str_addf(out, ", `-%c`", row->letter);
    struct span rest = span_of(row->alias), alias;
    while (span_next(&rest, ' ', &alias))
        str_addf(out, ", `--%.*s`", (int)alias.len, alias.data);
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
    spelling_cell(row, out);
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
    str_add(out,
            "# Options of sbatch, salloc and srun\n\n"
            "Made from the option table by `remuda docs`. Every option of Slurm 25.05 is here. *yes*: "
            "it does what Slurm's manual says.\n"
            "*no effect*: it is accepted, nothing comes of it, and the job's SystemComment says so. "
            "*refused*: the command ends with an error\n"
            "that gives the reason. An empty cell: the command has no such option.\n\n"
            "A command line beats the environment, and that beats the script; of an option given twice "
            "the last counts.\n"
            "salloc and srun come with job steps; their columns say what they will do with an option.\n");
    for (size_t t = 0; (title = option_theme(t, &rows, &n)); t++) {
        str_addf(out,
                 "\n## %s\n\n| option | sbatch | salloc | srun | variables | meaning "
                 "|\n|---|---|---|---|---|---|\n",
                 title);
        for (size_t i = 0; i < n; i++)
            matrix_row(&rows[i], out);
    }
}
