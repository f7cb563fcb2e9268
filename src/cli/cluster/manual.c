/* Manual pages are mdoc(7): names, synopsis, options and variables from the tables that read the
 * command lines, what is to be said beside from one file of prose (docs/manual.txt). */
#include "cli/cluster/manual.h"

#include "base/alloc.h"
#include "base/str.h"
#include "cli/program/give_out.h"
#include "cli/program/program.h"
#include "cli/program/tables.h"
#include "io/build.h"
#include "io/files.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define PROSE_MOST_BYTES (1u << 20)
#define LINE_BYTES       76 /* of the source of a page */

struct manual_page {
    struct str out;
    size_t column;
    struct arena *a;
};

/* ---- mdoc ---- */

static void macro(struct manual_page *p, const char *line)
{
    if (p->column)
        str_addc(&p->out, '\n');
    p->column = 0;
    str_addf(&p->out, "%s\n", line);
}

/* What roff takes for something else. */
static void plain_add(struct str *out, const char *word, size_t len, bool starts_line)
{
    if (starts_line && (*word == '.' || *word == '\''))
        str_add(out, "\\&");
    for (size_t i = 0; i < len; i++) {
        if (word[i] == '\\')
            str_add(out, "\\e");
        else
            str_addc(out, word[i]);
    }
}

/* Ends a sentence, and is no short form? */
static bool ends_sentence(const char *word, size_t len)
{
    return len > 2 && strchr(".!?", word[len - 1]) && !isdigit((unsigned char)word[len - 2]);
}

/* Running text: filled, with each sentence on a line of its own. */
static void text_add(struct manual_page *p, const char *text)
{
    for (const char *at = text; at && *at;) {
        at += strspn(at, " \n\t");
        size_t len = strcspn(at, " \n\t");
        if (!len)
            break;
        if (p->column && p->column + len + 1 > LINE_BYTES) {
            str_addc(&p->out, '\n');
            p->column = 0;
        }
        if (p->column)
            str_addc(&p->out, ' ');
        plain_add(&p->out, at, len, p->column == 0);
        p->column += len + 1;
        if (ends_sentence(at, len)) {
            str_addc(&p->out, '\n');
            p->column = 0;
        }
        at += len;
    }
}

/* An argument of a macro. */
static const char *argument(struct manual_page *p, const char *text)
{
    struct str s = STR_INIT;
    str_add(&s, "\\&"); /* no macro, whatever it is */
    for (const char *c = text; *c; c++) {
        if (*c == ' ')
            str_add(&s, "\\ ");
        else if (*c == '"')
            str_add(&s, "\\(dq");
        else
            plain_add(&s, c, 1, false);
    }
    const char *kept = arena_strdup(p->a, str_text(&s));
    str_done(&s);
    return kept;
}

/* ---- prose ---- */

/* The section of that name; NULL = there is none. */
static const char *section_of(const char *prose, const char *name, struct arena *a)
{
    const char *head = arena_printf(a, "@ %s\n", name);
    const char *at = prose && text_starts(prose, head) ? prose : NULL;
    if (!at && prose) {
        at = strstr(prose, arena_printf(a, "\n%s", head));
        at = at ? at + 1 : NULL;
    }
    if (!at)
        return NULL;
    at += strlen(head);
    const char *end = text_starts(at, "@ ") ? at : strstr(at, "\n@ ");
    return end ? arena_strndup(a, at, (size_t)(end - at)) : at;
}

#define EXAMPLES "% examples\n"

static void prose_add(struct manual_page *p, const char *text, bool first)
{
    struct span rest = span_of(text), line;
    bool literal = false, gap = !first;
    while (span_next(&rest, '\n', &line)) {
        const char *said = arena_strndup(p->a, line.data ? line.data : "", line.len);
        bool indented = text_starts(said, "  ");
        if (literal && !indented) {
            macro(p, ".Ed");
            literal = false;
            gap = true;
        }
        if (!*said) {
            gap = true;
            continue;
        }
        if (indented && !literal) {
            macro(p, ".Bd -literal -offset indent");
            literal = true;
        } else if (gap && !indented) {
            macro(p, ".Pp");
        }
        gap = false;
        if (literal) {
            plain_add(&p->out, said + 2, strlen(said + 2), true);
            str_addc(&p->out, '\n');
        } else {
            text_add(p, said);
        }
    }
    if (literal)
        macro(p, ".Ed");
}

/* ---- parts of a page ---- */

/* Of the build, as mdoc has it: "November 3, 2026". */
static const char *day(struct arena *a)
{
    static const char *const month[] = {"January",   "February", "March",    "April",
                                        "May",       "June",     "July",     "August",
                                        "September", "October",  "November", "December"};
    const char *open = strchr(build_name(), '(');
    int y, m, d;
    if (!open || sscanf(open, "(%d-%d-%d)", &y, &m, &d) != 3 || m < 1 || m > 12)
        return "November 23, 2026";
    return arena_printf(a, "%s %d, %d", month[m - 1], d, y);
}

static void head_add(struct manual_page *p, const struct command_table *t, const char *name)
{
    struct str title = STR_INIT;
    for (const char *c = name; *c; c++)
        str_addc(&title, (char)toupper((unsigned char)*c));
    macro(p, arena_printf(p->a, ".Dd %s", day(p->a)));
    macro(p, arena_printf(p->a, ".Dt %s 1", str_text(&title)));
    macro(p, ".Os Remuda");
    macro(p, ".Sh NAME");
    macro(p, arena_printf(p->a, ".Nm %s", name));
    macro(p, arena_printf(p->a, ".Nd %s", argument(p, t->doc) + 2));
    str_done(&title);
}

static void synopsis_add(struct manual_page *p, const struct command_table *t)
{
    const char *words = "";
    if (!t->table)
        words = text_is(t->command, "sbatch")   ? "[script [arguments]]"
                : text_is(t->command, "salloc") ? "[command [arguments]]"
                                                : "program [arguments]";
    else if (t->table->usage) {
        const char *bracket = strchr(t->table->usage, ']');
        words = bracket ? bracket + 1 + (bracket[1] == ' ') : "";
    }
    macro(p, ".Sh SYNOPSIS");
    macro(p, t->own ? arena_printf(p->a, ".Nm %s", t->command) : ".Nm");
    macro(p, ".Op Ar options");
    if (*words)
        macro(p, arena_printf(p->a, ".Ar %s", argument(p, words)));
}

static bool is_one_dash(const struct command_table *t)
{
    return t->table && t->table->one_dash;
}

static void option_add(struct manual_page *p, const struct option_row *row, bool one_dash)
{
    struct str it = STR_INIT;
    const char *metavar = argument(p, row->metavar ? row->metavar : "value");
    str_add(&it, ".It");
    if (row->letter)
        str_addf(&it, " Fl %c%s", row->letter, row->name ? " ," : "");
    if (row->name)
        str_addf(&it, " Fl %s%s", one_dash ? "\\&" : "-", row->name);
    if (row->arg == ARG_REQUIRED)
        str_addf(&it, row->name && !one_dash ? " Ns = Ns Ar %s" : " Ar %s", metavar);
    else if (row->arg != ARG_NONE)
        str_addf(&it, row->name ? " Ns Oo = Ns Ar %s Oc" : " Op Ar %s", metavar);
    macro(p, str_text(&it));
    text_add(p, row->doc ? row->doc : "");
    if (row->support == SUPPORT_NO_EFFECT)
        text_add(p, "(no effect)");
    if (row->why)
        text_add(p, arena_printf(p->a, "(%s)", row->why));
    if (!row->doc && !row->why)
        text_add(p, "See above.");
    str_done(&it);
}

static void options_add(struct manual_page *p, const struct command_table *t, bool refused)
{
    const struct option_row *row;
    size_t n = 0;
    for (size_t i = 0; (row = command_row(t, i)); i++) {
        if ((row->support == SUPPORT_REFUSED) != refused || (!row->name && !row->letter))
            continue;
        if (n++ == 0) {
            macro(p, refused ? ".Sh OPTIONS THAT ARE REFUSED" : ".Sh OPTIONS");
            if (refused)
                text_add(p, "They end the command with an error that says why.");
            macro(p, ".Bl -tag -width Ds");
        }
        option_add(p, row, is_one_dash(t));
    }
    if (n)
        macro(p, ".El");
}

static void variables_add(struct manual_page *p, const struct command_table *t)
{
    const struct option_row *row;
    size_t n = 0, which = t->table                        ? t->table->variables
                          : text_is(t->command, "sbatch") ? 0
                          : text_is(t->command, "salloc") ? 1
                                                          : 2;
    for (size_t i = 0; (row = command_row(t, i)); i++) {
        struct span rest = span_of(row->env[which]), name;
        while (span_next(&rest, ' ', &name)) {
            if (n++ == 0) {
                macro(p, ".Sh ENVIRONMENT");
                text_add(p, "Each stands for an option that is not given.");
                macro(p, ".Bl -tag -width Ds");
            }
            macro(p, arena_printf(p->a, ".It Ev %.*s", (int)name.len, name.data));
            macro(p, arena_printf(p->a, ".Fl -%s", row->name));
        }
    }
    if (n)
        macro(p, ".El");
}

static void page_make(struct manual_page *p, const struct command_table *t, const char *name,
                      const char *prose)
{
    const char *section = section_of(prose, t->command, p->a),
               *examples = section ? strstr(section, EXAMPLES) : NULL;
    const char *about = t->table ? t->table->about : NULL;
    head_add(p, t, name);
    synopsis_add(p, t);
    macro(p, ".Sh DESCRIPTION");
    text_add(p, about ? about : "");
    if (section)
        prose_add(p,
                  examples ? arena_strndup(p->a, section, (size_t)(examples - section)) : section,
                  !about);
    else if (!about)
        text_add(p, arena_printf(p->a, "%s: %s.", t->command, t->doc));
    options_add(p, t, false);
    options_add(p, t, true);
    variables_add(p, t);
    macro(p, ".Sh EXIT STATUS");
    text_add(p, t->own ? "0; 1 where it was not done; 2 where the command line could not be read."
                       : "As Slurm's command has it.");
    if (examples) {
        macro(p, ".Sh EXAMPLES");
        prose_add(p, examples + strlen(EXAMPLES), true);
    }
    macro(p, ".Sh SEE ALSO");
    macro(p, ".Xr remuda 1");
}

/* ---- remuda(1) ---- */

static void overview_make(struct manual_page *p, const char *prose)
{
    const struct command_table *t, all = {"remuda", "a workload manager", true, NULL, 0};
    const char *section = section_of(prose, "remuda", p->a);
    head_add(p, &all, "remuda");
    macro(p, ".Sh SYNOPSIS");
    macro(p, ".Nm");
    macro(p, ".Ar command");
    macro(p, ".Op Ar options");
    macro(p, ".Sh DESCRIPTION");
    prose_add(p, section ? section : "Remuda runs jobs on the machines of a cluster.", true);
    for (int own = 1; own >= 0; own--) {
        macro(p, own ? ".Sh COMMANDS" : ".Sh COMMANDS OF SLURM");
        macro(p, ".Bl -tag -width Ds");
        for (size_t i = 0; (t = command_table_at(i)); i++) {
            if (t->own != own)
                continue;
            macro(p, arena_printf(p->a, ".It Nm %s", t->command));
            text_add(p, t->doc);
        }
        macro(p, ".El");
    }
}

/* ---- files ---- */

static bool page_save(struct manual_page *p, const char *dir, const char *name, struct err *ret_err)
{
    const char *path = arena_printf(p->a, "%s/%s.1", dir, name);
    FILE *to = foreseen_file(path);
    bool ok = to && fwrite(str_text(&p->out), 1, p->out.len, to) == p->out.len;
    if (to && fclose(to) != 0)
        ok = false;
    return ok || err_set(ret_err, ERR_UNAVAILABLE, "cannot write %s: %s", path, strerror(errno));
}

/* "remuda why" has the page remuda-why(1). */
static const char *page_name(const char *command, struct arena *a)
{
    char *name = arena_strdup(a, command);
    for (char *c = name; *c; c++)
        *c = *c == ' ' ? '-' : *c;
    return name;
}

static bool one_write(const struct command_table *t, const char *dir, const char *prose,
                      struct err *ret_err)
{
    struct manual_page p = {.out = STR_INIT, .a = arena_new()};
    const char *name = t ? page_name(t->command, p.a) : "remuda";
    if (t)
        page_make(&p, t, name, prose);
    else
        overview_make(&p, prose);
    if (p.column)
        str_addc(&p.out, '\n');
    bool ok = page_save(&p, dir, name, ret_err);
    str_done(&p.out);
    arena_free(p.a);
    return ok;
}

bool manual_write(const char *dir, const char *prose, struct err *ret_err)
{
    struct arena *a = arena_new();
    const struct command_table *t;
    const char *text = prose ? file_read_text(prose, PROSE_MOST_BYTES, a, ret_err) : "";
    bool ok = text != NULL;
    if (ok && mkdir(dir, 0755) != 0 && errno != EEXIST)
        ok = err_set(ret_err, ERR_UNAVAILABLE, "cannot make %s: %s", dir, strerror(errno));
    ok = ok && one_write(NULL, dir, text, ret_err);
    for (size_t i = 0; ok && (t = command_table_at(i)); i++)
        ok = one_write(t, dir, text, ret_err);
    arena_free(a);
    return ok;
}

/* ---- compatibility ---- */

static void cell_add(struct str *out, const char *text)
{
    for (const char *c = text ? text : ""; *c; c++) {
        if (*c == '|')
            str_addc(out, '\\');
        str_addc(out, *c);
    }
}

static const char *honoured(const struct option_row *row)
{
    switch (row->support) {
    case SUPPORT_HONOURED: return row->why ? "in another way" : "honoured";
    case SUPPORT_NO_EFFECT: return "without effect";
    case SUPPORT_REFUSED: return "refused";
    }
    return "";
}

void compatibility_write(struct str *out)
{
    const struct command_table *t;
    const struct option_row *row;
    str_add(out, "# Every command, every option\n\nMade from the option tables by `remuda docs`. "
                 "*honoured*: it does what Slurm's manual says; *in another way*: it is done, and "
                 "how;\n*without effect*: it is taken, and nothing comes of it; *refused*: the "
                 "command ends with an error that gives the reason.\n\n"
                 "| command | option | what is done | reason |\n|---|---|---|---|\n");
    for (size_t c = 0; (t = command_table_at(c)); c++)
        for (size_t i = 0; (row = command_row(t, i)); i++) {
            str_addf(out, "| %s | `%s%s", t->command, row->name && !is_one_dash(t) ? "--" : "-",
                     row->name ? row->name : "");
            if (!row->name)
                str_addc(out, row->letter);
            str_addf(out, "` | %s | ", honoured(row));
            cell_add(out, row->why ? row->why : "");
            str_add(out, " |\n");
        }
}
