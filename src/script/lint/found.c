/* What was found, and questions about it. */
#include "script/lint/lint.h"

#include "base/alloc.h"
#include "base/duration.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const char *const lint_level_names[] = {"note", "warning", "error"};

const struct lint_rule_info lint_rules[LINT_RULE_COUNT] = {
#define X(id, name, level, doc) {name, doc, LINT_##level},
    LINT_RULES(X)
#undef X
};

/* ---- findings ---- */

void lint_find(struct lint *l, enum lint_rule rule, unsigned line, unsigned other_line,
               const char *format, ...)
{
    ASSERT(rule < LINT_RULE_COUNT);
    struct str text = STR_INIT;
    va_list args;
    va_start(args, format);
    str_addv(&text, format, args);
    va_end(args);
    struct lint_finding f = {rule, lint_rules[rule].level, line, other_line,
                             arena_strdup(l->a, str_text(&text))};
    str_done(&text);
    for (size_t i = 0; i < l->finding.n; i++)
        if (l->finding.v[i].line == line && text_is(l->finding.v[i].text, f.text))
            return;
    vec_push(&l->finding, f);
}

static int by_line(const void *a, const void *b)
{
    const struct lint_finding *x = a, *y = b;
    if (x->line != y->line) /* what is of no line comes last */
        return x->line - 1 < y->line - 1 ? -1 : 1;
    return x->level != y->level ? (int)y->level - (int)x->level : (int)x->rule - (int)y->rule;
}

void lint_sort(struct lint *l)
{
    if (l->finding.n)
        qsort(l->finding.v, l->finding.n, sizeof *l->finding.v, by_line);
}

size_t lint_count(const struct lint *l, enum lint_level level)
{
    size_t n = 0;
    for (size_t i = 0; i < l->finding.n; i++)
        n += l->finding.v[i].level == level;
    return n;
}

int lint_status(const struct lint *l)
{
    return lint_count(l, LINT_ERROR) ? 2 : lint_count(l, LINT_WARNING) ? 1 : 0;
}

/* ---- asking ---- */

unsigned lint_line_of(const struct lint *l, const char *option)
{
    for (size_t i = l->option.n; i-- > 0;) {
        const struct lint_option *o = &l->option.v[i];
        if (l->dialect == DIALECT_SLURM && text_is(o->row->name, option))
            return o->line;
        for (size_t k = 0; k < o->became.n; k++)
            if (text_is(o->became.v[k].row->name, option))
                return o->line;
    }
    return 0;
}

void lint_option_write(const struct lint_option *o, bool one_dash, struct str *out)
{
    bool quoted = one_dash && o->value && strpbrk(o->value, " \t");
    str_addf(out, "%s%s", one_dash ? "-" : "--", o->row->name);
    if (o->value)
        str_addf(out, "%s%s%s%s", one_dash ? " " : "=", quoted ? "\"" : "", o->value,
                 quoted ? "\"" : "");
}

static void span_say(int64_t us, struct str *out)
{
    static const struct {
        int64_t us;
        const char *name;
    } units[] = {{USEC_PER_DAY, "day"},
                 {USEC_PER_HOUR, "hour"},
                 {USEC_PER_MIN, "minute"},
                 {USEC_PER_SEC, "second"}};
    const char *between = "";
    if (us == TIME_UNLIMITED) {
        str_add(out, "without end");
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        int64_t n = us / units[i].us;
        us %= units[i].us;
        if (n)
            str_addf(out, "%s%lld %s%s", between, (long long)n, units[i].name, n == 1 ? "" : "s");
        between = n ? " " : between;
    }
}

void lint_meaning(const struct option_row *row, const char *value, struct str *out)
{
    int64_t us;
    if ((text_is(row->name, "time") || text_is(row->name, "time-min")) &&
        duration_parse(value ? value : "", &us, NULL) && us)
        span_say(us, out);
    else
        str_addn(out, row->doc, strcspn(row->doc, ":;"));
}

void lint_done(struct lint *l)
{
    for (size_t i = 0; i < l->option.n; i++)
        vec_done(&l->option.v[i].became);
    vec_done(&l->option);
    vec_done(&l->line);
    vec_done(&l->unasked);
    vec_done(&l->finding);
    free(l->comp);
}
