/* A script is read by the readers that its command would use, with somebody looking on
 * (option_watch): each option as it is taken or not, and, of LSF and PBS, each option of sbatch
 * that it becomes. What cannot be read is a finding, and reading goes on behind it. */
#include "base/alloc.h"
#include "script/lines.h"
#include "script/lint/lint.h"
#include "script/script.h"

#include <string.h>

/* ---- looking on ---- */

/* What the dialect's reader notes of options without effect. */
static const char *no_effect_of(const struct lint *l)
{
    return l->dialect == DIALECT_LSF   ? l->lsf.no_effect
           : l->dialect == DIALECT_PBS ? l->pbs.no_effect
           : l->ncomp                  ? l->comp[l->ncomp - 1].no_effect
                                       : l->comp[0].no_effect;
}

static enum lint_rule rule_of(const struct err *e)
{
    if (e->code == ERR_UNSUPPORTED && !strstr(e->text, "Unknown resource"))
        return RULE_REFUSED_OPTION;
    bool none = e->code == ERR_USAGE || strstr(e->text, "unrecognized option") ||
                strstr(e->text, "invalid option") || strstr(e->text, "is no option") ||
                strstr(e->text, "Unknown resource") || strstr(e->text, "directive error") ||
                strstr(e->text, "is ambiguous");
    return none ? RULE_BAD_OPTION : RULE_BAD_VALUE;
}

/* "line 12: " is said by the finding. */
static const char *sentence_of(const char *text)
{
    if (!text_starts(text, "line "))
        return text;
    size_t digits = strspn(text + 5, "0123456789");
    return digits && text_starts(text + 5 + digits, ": ") ? text + 5 + digits + 2 : text;
}

static const char *new_part(const char *before, const char *after, struct arena *a)
{
    size_t len = before ? strlen(before) : 0;
    if (!after || strlen(after) <= len)
        return NULL;
    return arena_strdup(a, after + len + (len ? 2 : 0));
}

static size_t effects_len(const struct lint *l)
{
    size_t len = 0;
    for (size_t i = 0; i < l->option.n; i++)
        if (l->option.v[i].no_effect)
            len += strlen(l->option.v[i].no_effect) + (len ? 2 : 0);
    return len;
}

static void option_seen(void *ctx, unsigned line, const struct option_row *row, const char *value,
                        const struct err *e)
{
    struct lint *l = ctx;
    if (text_is(row->name, "lint"))
        return;
    struct lint_option o = {.line = line, .row = row, .value = arena_strdup(l->a, value)};
    const char *noted = no_effect_of(l);
    size_t known = effects_len(l);
    if (e) {
        o.error = arena_strdup(l->a, sentence_of(e->text));
        lint_find(l, rule_of(e), line, 0, "%s", o.error);
    } else if (noted && strlen(noted) > known) {
        o.no_effect = new_part(known ? arena_strndup(l->a, noted, known) : NULL, noted, l->a);
        lint_find(l, RULE_NO_EFFECT, line, 0, "no effect: %s", o.no_effect);
    }
    vec_push(&l->option, o);
}

/* The line of the last option that the sentence names. */
static unsigned line_named(const struct lint *l, const char *text)
{
    unsigned line = 0;
    for (const char *c = text; (c = strchr(c, '-')); c++) {
        if (c > text && c[-1] != ' ' && c[-1] != '\'' && c[-1] != '-')
            continue;
        while (*c == '-')
            c++;
        size_t len = strcspn(c, " =:,.;'\"/)");
        for (size_t i = 0; i < l->option.n; i++) {
            const struct lint_option *o = &l->option.v[i];
            bool letter = len == 1 && o->row->letter == *c;
            if (o->line && len && (letter || span_is((struct span){c, len}, o->row->name)))
                line = o->line;
        }
        if (!*c)
            break;
    }
    return line;
}

static void line_failed(void *ctx, unsigned line, const struct err *e)
{
    struct lint *l = ctx;
    const char *text = sentence_of(e->text);
    l->readable = l->readable && line; /* a job that a line is missing of is still one */
    lint_find(l, rule_of(e), line ? line : line_named(l, text), 0, "%s", text);
}

static bool words_have(const char *words, const char *word)
{
    struct span rest = span_of(words), one;
    while (span_next(&rest, ' ', &one))
        if (span_is(one, word))
            return true;
    return false;
}

/* "-R span[ptile]": does the value of the option hold what stands behind the first word? */
static bool holds_parts(const char *value, const char *from)
{
    const char *c = strchr(from, ' ');
    if (value && strchr(value, '{')) /* of LSF's -R: all that it says is of these parts */
        return true;
    while (c && *c) {
        c += strspn(c, " []=");
        size_t len = strcspn(c, " []=");
        if (len && !(value && memmem(value, strlen(value), c, len)))
            return false;
        c += len;
    }
    return true;
}

static void option_became(void *ctx, const char *from, const struct option_row *row,
                          const char *value)
{
    struct lint *l = ctx;
    struct lint_became b = {row, value ? arena_strdup(l->a, value) : ""};
    const struct option_row *done[16];
    size_t n = 0;
    for (size_t i = l->option.n; i-- > 0;) {
        struct lint_option *o = &l->option.v[i];
        bool again = false;
        for (size_t k = 0; k < n; k++)
            again |= done[k] == o->row;
        if (again || o->error || !words_have(o->row->becomes, row->name) ||
            !holds_parts(o->value, from) || n == ARRAY_LEN(done))
            continue;
        done[n++] = o->row;
        vec_push(&o->became, b);
    }
    if (!n)
        vec_push(&l->unasked, b);
}

/* ---- reading ---- */

static bool slurm_read(struct lint *l, int argc, char *const argv[], struct str *warnings,
                       struct err *e)
{
    struct str ignored = STR_INIT;
    int rest;
    l->ncomp = 1;
    bool ok = script_parse(NULL, l->text, l->len, l->comp, COMPONENTS_MAX, &l->ncomp, true, l->env,
                           l->a, &ignored, e);
    str_done(&ignored);
    if (ok && l->get)
        ok = options_parse_env(&l->comp[0], CMD_SBATCH, l->get, l->env, l->a, e);
    ok = ok && (argc == 0 || options_parse_argv(&l->comp[0], CMD_SBATCH, argc, argv,
                                                FROM_COMMAND_LINE, l->env, l->a, &rest, e));
    for (size_t i = 0; ok && i < l->ncomp; i++) {
        if (i > 0)
            ok = options_carry_over(&l->comp[i], &l->comp[i - 1], l->env, l->a, e);
        ok = ok && options_finish(&l->comp[i], CMD_SBATCH, l->a, warnings, e);
    }
    return ok;
}

/* Jobs by their numbers; whom names mean only a cluster knows. */
static bool lsf_depend_give(const struct lsf_request *r, struct dialect_out *d, struct err *e)
{
    const char **ids = arena_alloc(d->a, (r->depend.n + 1) * sizeof *ids);
    for (size_t i = 0; i < r->depend.n; i++) {
        ids[i] = r->depend.v[i].job;
        if (r->depend.v[i].named)
            return true;
    }
    return !r->depend.n ||
           dialect_give(d, "-w", "dependency", lsf_depend_text(&r->depend, ids, d->a), e);
}

static bool lsf_parts_finish(struct lint *l, const struct dialect_out *d, struct err *e)
{
    l->ncomp = lsf_parts(&l->lsf);
    for (size_t i = 0; i < l->ncomp; i++) {
        struct dialect_out one = *d;
        const struct lsf_request *part = lsf_part(&l->lsf, i, l->a, e);
        one.o = &l->comp[i];
        if (!part || !lsf_finish(part, &one, e) ||
            (i > 0 && !options_finish(one.o, CMD_SBATCH, l->a, one.warnings, e)))
            return false;
    }
    return true;
}

static bool lsf_read(struct lint *l, int argc, char *const argv[], struct str *warnings,
                     struct err *e)
{
    struct dialect_out d = {l->comp, FROM_DIRECTIVE, l->env, l->a, warnings};
    struct str ignored = STR_INIT;
    unsigned lines;
    int rest;
    l->lsf = (struct lsf_request){.site = l->env->site, .keep_output = l->by_sbatch};
    bool ok = lsf_read_script(&l->lsf, l->text, l->len, l->env, l->a, &ignored, &lines, e) &&
              (argc == 0 || l->by_sbatch ||
               lsf_read_words(&l->lsf, argc, argv, l->env, l->a, &rest, e)) &&
              lsf_parts_finish(l, &d, e) && lsf_depend_give(&l->lsf, &d, e) &&
              dialect_give_flag(&d, "-K", "wait", l->lsf.wait, e);
    if (l->by_sbatch &&
        (l->lsf.depend.n || l->lsf.candidates || l->lsf.wait || l->lsf.interactive != LSF_BATCH))
        lint_find(l, RULE_REFUSED_OPTION, 0, 0,
                  "-w, -m, -I and -K of #BSUB lines are read by bsub: bsub < FILE");
    str_done(&ignored);
    return ok;
}

static bool pbs_parts_finish(struct lint *l, const struct dialect_out *d, struct err *e)
{
    l->ncomp = pbs_parts(&l->pbs);
    for (size_t i = 0; i < l->ncomp; i++) {
        struct dialect_out one = *d;
        one.o = &l->comp[i];
        if (!pbs_part_finish(&l->pbs, i, &one, e) ||
            (i > 0 && !options_finish(one.o, CMD_SBATCH, l->a, one.warnings, e)))
            return false;
    }
    return true;
}

static bool pbs_read(struct lint *l, int argc, char *const argv[], struct str *warnings,
                     struct err *e)
{
    struct dialect_out d = {l->comp, FROM_DIRECTIVE, l->env, l->a, warnings};
    struct str ignored = STR_INIT;
    unsigned lines;
    int rest;
    const char *prefix = l->pbs.prefix;
    l->pbs = (struct pbs_request){
        .site = l->env->site, .prefix = prefix, .keep_environment = l->by_sbatch};
    bool ok = (argc == 0 || l->by_sbatch ||
               pbs_read_words(&l->pbs, argc, argv, l->env, l->a, &rest, e)) &&
              pbs_read_script(&l->pbs, l->text, l->len, l->env, l->a, &ignored, &lines, e) &&
              pbs_parts_finish(l, &d, e) && pbs_files_finish(&l->pbs, l->by_sbatch, &d, e) &&
              dialect_give_flag(&d, "-W block", "wait", l->pbs.wait, e);
    if (l->by_sbatch && (l->pbs.interactive || l->pbs.wait || l->pbs.shell || l->pbs.args))
        lint_find(l, RULE_REFUSED_OPTION, 0, 0,
                  "-I, -S, -F and -W block of #PBS lines are read by qsub: qsub FILE");
    str_done(&ignored);
    return ok;
}

static void warnings_find(struct lint *l, const struct str *warnings)
{
    struct span rest = {str_text(warnings), warnings->len}, line;
    while (span_next(&rest, '\n', &line)) {
        if (!line.len)
            continue;
        const char *text = arena_strndup(l->a, line.data, line.len);
        unsigned number = line_named(l, text);
        if (text_starts(text, "without -o")) /* it is among what it gets without asking */
            continue;
        if (!number && strstr(text, "nodes"))
            number = lint_line_of(l, "nodes");
        lint_find(l, RULE_ADJUSTED, number, 0, "%s",
                  text_starts(text, "Warning: ") ? text + 9 : text);
    }
}

static void job_read(struct lint *l, int argc, char *const argv[])
{
    struct err e = {0};
    struct str warnings = STR_INIT;
    bool ok;
    l->ncomp = 1;
    if (l->dialect == DIALECT_SLURM) {
        ok = slurm_read(l, argc, argv, &warnings, &e);
    } else {
        ok = (l->dialect == DIALECT_LSF ? lsf_read : pbs_read)(l, argc, argv, &warnings, &e) &&
             options_finish(l->comp, CMD_SBATCH, l->a, &warnings, &e);
        l->comp[0].spec.dialect = l->by_sbatch ? DIALECT_SLURM : l->dialect;
    }
    warnings_find(l, &warnings);
    str_done(&warnings);
    if (!ok)
        line_failed(l, 0, &e);
}

/* The lines that are read, in one list with their texts. */
static void directives_take(struct lint *l)
{
    struct script_lines lines = {.rest = {l->text, l->len}, .reads = l->dialect};
    struct script_line line;
    struct span rest;
    while (script_line_next(&lines, &line)) {
        if (!script_line_is_of(line.text, l->dialect, &rest) ||
            (line.first_command && l->dialect != DIALECT_LSF))
            continue;
        struct lint_line one = {line.number, arena_strndup(l->a, line.text.data, line.text.len)};
        vec_push(&l->line, one);
    }
}

void lint_read_alone(struct lint *l, const char *text, size_t len, int argc, char *const argv[])
{
    ASSERT(l->env && l->a);
    struct option_env env = *l->env;
    struct dialect_site site = env.site ? *env.site : dialect_site_standard();
    l->text = text;
    l->len = len;
    l->readable = true;
    l->comp = xcalloc(COMPONENTS_MAX, sizeof *l->comp);
    l->watch = (struct option_watch){
        .ctx = l, .option = option_seen, .failed = line_failed, .became = option_became};
    env.watch = &l->watch;
    env.site = arena_dup(l->a, &site, sizeof site);
    l->env = arena_dup(l->a, &env, sizeof env);
    script_dialect(text, len, &l->others);
    l->others &= ~(1u << l->dialect);
    directives_take(l);
    job_read(l, argc, argv);
}
