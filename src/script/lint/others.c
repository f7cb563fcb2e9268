/* Lines of other systems in the same script: what they would have said. They are read as their own
 * command reads them, and the options of sbatch that both become are laid beside each other. */
#include "base/alloc.h"
#include "script/lines.h"
#include "script/lint/lint.h"

#include <stdlib.h>
#include <string.h>

/* What differs by system without anybody asking for it. */
static bool is_own_default(const char *option)
{
    return text_is(option, "open-mode") || text_is(option, "export") ||
           text_is(option, "requeue") || text_is(option, "no-requeue");
}

static bool asked(const struct lint *l, const struct option_row *row)
{
    return lint_line_of(l, row->name) != 0;
}

/* Of a value that both have, in the form that can be compared: 90 minutes are 1:30:00. */
static bool same_value(const struct lint *l, const struct lint *other, const struct option_row *row)
{
    size_t i = option_index(row);
    const struct job_request *q = &l->comp[0].spec.req, *r = &other->comp[0].spec.req;
    if (text_is(row->name, "time"))
        return q->time_limit_us == r->time_limit_us;
    if (text_is(row->name, "mem"))
        return q->mem_per_node_mib == r->mem_per_node_mib;
    if (text_is(row->name, "mem-per-cpu"))
        return q->mem_per_cpu_mib == r->mem_per_cpu_mib;
    if (text_is(row->name, "mail-type"))
        return l->comp[0].spec.mail_types == other->comp[0].spec.mail_types;
    return text_is(l->comp[0].given[i], other->comp[0].given[i]);
}

static const char *written(const struct lint *l, const struct submit_options *o,
                           const struct option_row *row)
{
    const char *given = o->given[option_index(row)];
    return arena_printf(l->a, "--%s%s%s", row->name, text_empty(given) ? "" : "=",
                        given ? given : "");
}

static void row_look(struct lint *l, const struct lint *other, const struct option_row *row,
                     unsigned *found)
{
    const char *prefix = script_prefix(other->dialect), *ours = script_command(l->dialect);
    if (!asked(other, row) || is_own_default(row->name))
        return;
    unsigned line = lint_line_of(other, row->name), mine = lint_line_of(l, row->name);
    const char *theirs = written(l, &other->comp[0], row);
    if (!mine) {
        lint_find(l, RULE_TWO_DIALECTS, line, 0,
                  "the %s line is not read by %s; to %s it would be %s, which no other line says",
                  prefix, ours, script_command(other->dialect), theirs);
        (*found)++;
    } else if (!same_value(l, other, row)) {
        lint_find(l, RULE_TWO_DIALECTS, line, mine, "%s reads %s in line %u; %s would read %s here",
                  ours, written(l, &l->comp[0], row), mine, script_command(other->dialect), theirs);
        (*found)++;
    }
}

static unsigned first_line(const struct lint *other)
{
    return other->line.n ? other->line.v[0].number : 0;
}

static void other_look(struct lint *l, enum dialect d)
{
    struct option_env env = *l->env;
    struct lint other = {.dialect = d, .env = &env, .a = l->a};
    const struct option_row *row;
    unsigned found = 0;
    env.watch = NULL;
    lint_read_alone(&other, l->text, l->len, 0, NULL);
    for (size_t i = 0; (row = option_at(i)); i++)
        row_look(l, &other, row, &found);
    if (!found && first_line(&other))
        lint_find(l, RULE_OTHER_DIALECT, first_line(&other), 0,
                  "%s lines are not read by %s; they say nothing else than its own",
                  script_prefix(d), script_command(l->dialect));
    lint_done(&other);
}

void lint_others_look(struct lint *l)
{
    for (unsigned d = DIALECT_SLURM; d <= DIALECT_PBS; d++)
        if (l->others & (1u << d))
            other_look(l, d);
}

bool lint_systems_agree(const char *text, size_t len, const struct option_env *env, struct arena *a,
                        struct str *warnings, struct err *ret_err)
{
    unsigned all;
    struct lint l = {
        .dialect = script_dialect(text, len, &all), .by_sbatch = true, .env = env, .a = a};
    if (l.dialect == DIALECT_SLURM || !(all & ~(1u << l.dialect)))
        return true;
    bool ok = true;
    lint_read_alone(&l, text, len, 0, NULL);
    l.finding.n = 0;
    lint_others_look(&l);
    for (size_t i = 0; ok && i < l.finding.n; i++) {
        const struct lint_finding *f = &l.finding.v[i];
        if (f->rule == RULE_TWO_DIALECTS && f->other_line)
            ok = err_set(ret_err, ERR_INVALID,
                         "lines %u and %u contradict each other: %s; write it in #SBATCH lines, "
                         "which count, or take one of the two out",
                         f->other_line, f->line, f->text);
        else if (f->rule == RULE_TWO_DIALECTS)
            str_addf(warnings, "line %u: %s\n", f->line, f->text);
    }
    lint_done(&l);
    return ok;
}
