/* What remuda lint says, in words. */
#include "base/alloc.h"
#include "base/plain.h"
#include "cli/submit/lint.h"
#include "script/lines.h"

#include <string.h>

#define COLUMN 34 /* of what an option means */

static void column_fill(struct str *out, size_t from)
{
    size_t len = out->len - from;
    str_addf(out, "%*s", len + 2 < COLUMN ? (int)(COLUMN - len) : 2, "");
}

static void row_add(struct str *out, const char *first, const struct option_row *row,
                    const char *value)
{
    size_t from = out->len;
    str_add(out, "       ");
    str_add_plain(out, first);
    column_fill(out, from);
    lint_meaning(row, value, out);
    str_addc(out, '\n');
}

static const char *as_sbatch(const struct lint_became *b, struct arena *a)
{
    return arena_printf(a, "--%s%s%s", b->row->name, *b->value ? "=" : "", b->value);
}

static void option_add(const struct lint_answer *r, const struct lint_option *o, struct str *out)
{
    struct str text = STR_INIT;
    bool slurm = r->l.dialect == DIALECT_SLURM;
    lint_option_write(o, !slurm, &text);
    const char *written = arena_strdup(r->l.a, str_text(&text));
    str_done(&text);
    if (o->error) {
        str_add(out, "       ");
        str_add_plain(out, written);
        str_add(out, "  not taken\n");
    } else if (slurm) {
        row_add(out, written, o->row, o->value);
    } else if (o->became.n == 0) {
        row_add(out, written, o->row, NULL);
    } else {
        for (size_t i = 0; i < o->became.n; i++)
            row_add(out, as_sbatch(&o->became.v[i], r->l.a), o->became.v[i].row,
                    o->became.v[i].value);
    }
    if (o->no_effect) {
        str_add(out, "       no effect: ");
        str_add_plain(out, o->no_effect);
        str_addc(out, '\n');
    }
}

static void line_add(const struct lint_answer *r, unsigned number, const char *text,
                     struct str *out)
{
    size_t before = out->len;
    if (number)
        str_addf(out, "%5u  ", number);
    else
        str_add(out, "       ");
    str_add_plain(out, text);
    str_addc(out, '\n');
    bool any = false;
    for (size_t i = 0; i < r->l.option.n; i++)
        if (r->l.option.v[i].line == number) {
            option_add(r, &r->l.option.v[i], out);
            any = true;
        }
    if (!number && !any)
        str_cut(out, before);
}

static void understood_add(const struct lint_answer *r, struct str *out)
{
    static const char *const whose[] = {
        [DIALECT_SLURM] = "Slurm", [DIALECT_LSF] = "LSF", [DIALECT_PBS] = "PBS"};
    const struct lint *l = &r->l;
    str_add_plain(out, r->ask->script.name);
    str_addf(out, ": a script of %s's, read as %s reads it\n", whose[l->dialect],
             l->by_sbatch ? "sbatch" : script_command(l->dialect));
    for (size_t i = 0; i < l->line.n; i++)
        line_add(r, l->line.v[i].number, l->line.v[i].text, out);
    line_add(r, 0, "the command line", out);
    if (!l->line.n && !l->option.n)
        str_addf(out, "       it has no %s lines\n", script_prefix(l->dialect));
}

static void defaults_add(const struct lint_answer *r, struct str *out)
{
    str_add(out, "\nwhat it gets without asking\n");
    for (size_t i = 0; i < r->l.unasked.n; i++)
        row_add(out, as_sbatch(&r->l.unasked.v[i], r->l.a), r->l.unasked.v[i].row,
                r->l.unasked.v[i].value);
    for (size_t i = 0; i < r->cluster.defaults.n; i++) {
        const struct lint_default *d = &r->cluster.defaults.v[i];
        size_t from = out->len;
        str_addf(out, "       %s: ", d->what);
        str_add_plain(out, d->value);
        column_fill(out, from);
        str_add_plain(out, d->from);
        str_addc(out, '\n');
    }
    if (r->cluster.start) {
        str_addc(out, '\n');
        str_add_plain(out, r->cluster.start);
        str_addc(out, '\n');
    }
}

static void finding_add(const struct lint_answer *r, const struct lint_finding *f, struct str *out)
{
    str_add_plain(out, r->ask->script.name);
    if (f->line)
        str_addf(out, ":%u", f->line);
    str_addf(out, ": %s: ", lint_level_names[f->level]);
    str_add_plain(out, f->text);
    if (f->other_line && f->other_line != f->line && !strstr(f->text, "line "))
        str_addf(out, " (line %u)", f->other_line);
    str_addf(out, " [%s]\n", lint_rules[f->rule].name);
}

static void count_add(struct str *out, size_t n, const char *what, bool *some)
{
    if (n)
        str_addf(out, "%s%zu %s%s", *some ? ", " : "", n, what, n == 1 ? "" : "s");
    *some |= n > 0;
}

void lint_print(const struct lint_answer *r, bool quiet, struct str *out)
{
    bool some = false;
    if (!quiet) {
        understood_add(r, out);
        defaults_add(r, out);
        str_addc(out, '\n');
    }
    for (size_t i = 0; i < r->l.finding.n; i++)
        if (!quiet || r->l.finding.v[i].level > LINT_NOTE)
            finding_add(r, &r->l.finding.v[i], out);
    if (quiet)
        return;
    count_add(out, lint_count(&r->l, LINT_ERROR), "error", &some);
    count_add(out, lint_count(&r->l, LINT_WARNING), "warning", &some);
    count_add(out, lint_count(&r->l, LINT_NOTE), "note", &some);
    str_add(out, some ? "\n" : "nothing looks wrong\n");
}
