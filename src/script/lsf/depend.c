/* The grammar: conditions joined by &&, || and !, in parentheses or not; a condition is
 * FUNCTION(JOB) or JOB alone, which is done(JOB). What comes of it is the dependency of ours that
 * says the same, with a mark where a condition stands: which jobs a name means is told only by a
 * cluster. */
#include "script/lsf/depend.h"

#include "base/alloc.h"
#include "base/idset.h"
#include "base/vec.h"
#include "model/job/dependency.h"
#include "model/job/job.h"
#include "model/limits.h"
#include "script/dialect.h"

#include <string.h>

#define MARK      '\1' /* in the form: the next condition */
#define DEPTH_MAX 30   /* of ours, with what names add */

struct bsub_depend_parser {
    const char *whole, *at;
    struct arena *a;
    VEC(struct lsf_condition) found;
    unsigned depth;
    struct err *e;
};

static void blanks_skip(struct bsub_depend_parser *p)
{
    while (*p->at == ' ' || *p->at == '\t')
        p->at++;
}

static bool token_take(struct bsub_depend_parser *p, const char *token)
{
    blanks_skip(p);
    if (!text_starts(p->at, token))
        return false;
    p->at += strlen(token);
    return true;
}

static bool syntax_refuse(struct bsub_depend_parser *p)
{
    return dialect_blame(p->e, "-w", p->whole,
                         "cannot be read at %s%.40s%s; conditions are done(JOB), ended(JOB), "
                         "exit(JOB), exit(JOB,>3), started(JOB) and numdone(ARRAY,>=3), joined by "
                         "&&, || and !",
                         *p->at ? "\"" : "its end", p->at, *p->at ? "\"" : "");
}

/* ---- one condition ---- */

static bool is_word(char c)
{
    return c && !strchr(" \t()&|!,\"'", c);
}

static const char *word_take(struct bsub_depend_parser *p)
{
    blanks_skip(p);
    const char *from = p->at;
    size_t brackets = 0;
    while (is_word(*p->at) || (brackets && *p->at == ',')) {
        brackets += *p->at == '[';
        brackets -= *p->at == ']' && brackets;
        p->at++;
    }
    return arena_strndup(p->a, from, (size_t)(p->at - from));
}

static bool job_number(const char *word)
{
    return *word && strspn(word, "0123456789") == strcspn(word, "[");
}

/* "1-3,7" of "12[1-3,7]": the condition is of all of them, "1,2,3,7". */
static bool elements_take(struct bsub_depend_parser *p, const char *word, struct lsf_condition *c)
{
    struct idset set = IDSET_INIT;
    struct str list = STR_INIT;
    uint32_t at;
    bool ok = idset_parse(&set, c->index, UINT32_MAX - 2, NULL) && set.count > 0;
    if (ok && set.count > LIMIT_DEPENDENCIES) {
        idset_done(&set);
        return err_set(p->e, ERR_LIMIT, "-w: at most %u elements of %s are taken",
                       LIMIT_DEPENDENCIES, word);
    }
    for (bool more = ok && idset_first(&set, &at); more; more = idset_next(&set, at, &at))
        str_addf(&list, "%s%u", list.len ? "," : "", at);
    c->index = arena_strdup(p->a, str_text(&list));
    str_done(&list);
    idset_done(&set);
    return ok || syntax_refuse(p);
}

static bool index_take(struct bsub_depend_parser *p, char *word, struct lsf_condition *c)
{
    char *open = strchr(word, '[');
    if (!open)
        return true;
    size_t len = strlen(open);
    if (len < 3 || open[len - 1] != ']')
        return syntax_refuse(p);
    open[len - 1] = 0;
    c->index = open + 1;
    *open = 0;
    if (text_is(c->index, "*") || strspn(c->index, "0123456789") == strlen(c->index))
        return true;
    return elements_take(p, word, c);
}

/* 12, 12[3], "name", name*, 'name'. */
static bool job_take(struct bsub_depend_parser *p, struct lsf_condition *c)
{
    blanks_skip(p);
    char quote = *p->at == '"' || *p->at == '\'' ? *p->at : 0;
    char *word;
    if (quote) {
        const char *end = strchr(++p->at, quote);
        if (!end)
            return syntax_refuse(p);
        word = arena_strndup(p->a, p->at, (size_t)(end - p->at));
        p->at = end + 1;
        if (*p->at == '[')
            word = arena_printf(p->a, "%s%s", word, word_take(p));
    } else {
        word = arena_strdup(p->a, word_take(p));
    }
    if (!*word)
        return syntax_refuse(p);
    c->named = quote || !job_number(word);
    if (!index_take(p, word, c))
        return false;
    c->job = word;
    return true;
}

enum takes { JOB_ALONE, CODE, COUNT };

static const struct {
    const char *name, *type, *why;
    enum takes takes;
} functions[] = {
    {"done", "afterok", NULL, JOB_ALONE},
    {"ended", "afterany", NULL, JOB_ALONE},
    {"exit", "afternotok", NULL, CODE},
    {"started", "after", NULL, JOB_ALONE},
    {"post_done", "afterok", NULL, JOB_ALONE},
    {"post_err", NULL,
     "there are no post-execution programs that could fail; exit(JOB) is a job that did",
     JOB_ALONE},
    {"external", NULL,
     "nobody sends messages; a job that waits for somebody is held: bsub -H, and bresume lets it "
     "go",
     JOB_ALONE},
    {"numdone", "numdone", NULL, COUNT},
    {"numended", "numended", NULL, COUNT},
    {"numexit", "numexit", NULL, COUNT},
    {"numhold", "numhold", NULL, COUNT},
    {"numpend", "numpend", NULL, COUNT},
    {"numrun", "numrun", NULL, COUNT},
    {"numstart", "numstart", NULL, COUNT},
};

static bool function_find(struct bsub_depend_parser *p, const char *name, struct lsf_condition *c,
                          enum takes *ret_takes)
{
    for (size_t i = 0; i < ARRAY_LEN(functions); i++) {
        if (!text_is_nocase(name, functions[i].name))
            continue;
        c->type = functions[i].type;
        *ret_takes = functions[i].takes;
        return c->type ||
               dialect_refuse(p->e, arena_printf(p->a, "-w %s()", name), "%s", functions[i].why);
    }
    return dialect_blame(p->e, "-w", p->whole,
                         "there is no condition \"%s\"; done, ended, exit, started and the num… "
                         "are known",
                         name);
}

/* "3", ">=3", "*", as ours: "==3", ">=3", "==all". */
static bool number_take(struct bsub_depend_parser *p, enum takes takes, struct lsf_condition *c)
{
    static const char *const operators[] = {"==", "!=", ">=", "<=", ">", "<"};
    const char *how = "==";
    for (size_t i = 0; i < ARRAY_LEN(operators); i++)
        if (token_take(p, operators[i])) {
            how = operators[i];
            break;
        }
    blanks_skip(p);
    size_t digits = strspn(p->at, "0123456789");
    if (takes == COUNT && *p->at == '*' && text_is(how, "==")) {
        p->at++;
        c->compare = "==all";
        return true;
    }
    if (!digits || digits > 9)
        return syntax_refuse(p);
    c->compare = arena_printf(p->a, "%s%.*s", how, (int)digits, p->at);
    p->at += digits;
    return true;
}

static bool arguments_take(struct bsub_depend_parser *p, enum takes takes, struct lsf_condition *c)
{
    if (!job_take(p, c))
        return false;
    if (takes != JOB_ALONE && token_take(p, ",")) {
        if (!number_take(p, takes, c))
            return false;
        if (takes == CODE)
            c->type = "exit";
    } else if (takes == COUNT) {
        return dialect_blame(p->e, "-w", p->whole, "how many is missing: %s(%s,>=3), or * for all",
                             c->type, c->job);
    }
    return token_take(p, ")") || syntax_refuse(p);
}

static bool each_settle(struct bsub_depend_parser *p, struct lsf_condition *c, bool negated)
{
    bool each = c->index && text_is(c->index, "*");
    if (each && negated)
        return dialect_refuse(p->e, "-w with ! before an element for each",
                              "write the opposite: exit(%s[*]) for !done(%s[*])", c->job, c->job);
    if (each && text_starts(c->type, "num"))
        return dialect_refuse(p->e, "-w num…() of an element", "name the whole array: %s", c->job);
    return true;
}

static bool condition_take(struct bsub_depend_parser *p, bool negated)
{
    struct lsf_condition c = {.type = "afterok"};
    enum takes takes = JOB_ALONE;
    const char *before = p->at, *name = word_take(p);
    if (*name && token_take(p, "(")) {
        if (!function_find(p, name, &c, &takes) || !arguments_take(p, takes, &c))
            return false;
    } else {
        p->at = before;
        if (!job_take(p, &c))
            return false;
    }
    if (p->found.n == LIMIT_DEPENDENCIES)
        return err_set(p->e, ERR_LIMIT, "-w: at most %u conditions are taken", LIMIT_DEPENDENCIES);
    vec_push(&p->found, c);
    return each_settle(p, &c, negated);
}

/* ---- several ---- */

/* What has been read, and what joins its parts: ',' or '?'; 0 = it is one. */
struct bsub_depend_piece {
    struct str text;
    char sep;
    size_t n;
};

static bool several_take(struct bsub_depend_parser *p, struct bsub_depend_piece *ret, bool negated,
                         bool any);

static void text_wrap(struct str *text)
{
    struct str whole = STR_INIT;
    str_addf(&whole, "(%s)", str_text(text));
    str_done(text);
    *text = whole;
}

/* Takes what `one` holds. */
static void piece_join(struct bsub_depend_piece *to, char sep, struct bsub_depend_piece *one)
{
    if (to->n == 0) {
        *to = *one;
        to->n = 1;
        return;
    }
    if (to->n++ == 1 && to->sep && to->sep != sep)
        text_wrap(&to->text);
    if (one->sep && one->sep != sep)
        text_wrap(&one->text);
    to->sep = sep;
    str_addf(&to->text, "%c%s", sep, str_text(&one->text));
    str_done(&one->text);
}

static bool term_take(struct bsub_depend_parser *p, struct bsub_depend_piece *ret, bool negated)
{
    bool opposite = false, ok = true;
    struct bsub_depend_piece inner = {0};
    while (token_take(p, "!"))
        opposite = !opposite;
    if (!token_take(p, "(")) {
        ok = condition_take(p, negated != opposite);
        str_addf(&ret->text, "%s%c", opposite ? "!" : "", MARK);
        return ok;
    }
    if (++p->depth > DEPTH_MAX)
        return syntax_refuse(p);
    ok = several_take(p, &inner, negated != opposite, true) &&
         (token_take(p, ")") || syntax_refuse(p));
    p->depth--;
    if (ok) {
        bool grouped = opposite && (inner.sep || *str_text(&inner.text) == '!');
        str_addf(&ret->text, "%s%s%s%s", opposite ? "!" : "", grouped ? "(" : "",
                 str_text(&inner.text), grouped ? ")" : "");
        ret->sep = opposite ? 0 : inner.sep;
    }
    str_done(&inner.text);
    return ok;
}

/* Terms joined by &&, or by ||, which binds less. */
static bool several_take(struct bsub_depend_parser *p, struct bsub_depend_piece *ret, bool negated,
                         bool any)
{
    bool ok = true;
    for (bool first = true; ok && (first || token_take(p, any ? "||" : "&&")); first = false) {
        struct bsub_depend_piece one = {0};
        ok = any ? several_take(p, &one, negated, false) : term_take(p, &one, negated);
        if (ok)
            piece_join(ret, any ? '?' : ',', &one);
        else
            str_done(&one.text);
    }
    return ok;
}

bool lsf_depend_parse(const char *text, struct arena *a, struct lsf_depend *ret,
                      struct err *ret_err)
{
    struct bsub_depend_parser p = {.whole = text, .at = text, .a = a, .e = ret_err};
    struct bsub_depend_piece whole = {0};
    bool ok = several_take(&p, &whole, false, true);
    blanks_skip(&p);
    if (ok && *p.at)
        ok = syntax_refuse(&p);
    if (ok)
        *ret = (struct lsf_depend){arena_dup(a, p.found.v, p.found.n * sizeof *p.found.v),
                                   p.found.n, arena_strdup(a, str_text(&whole.text))};
    str_done(&whole.text);
    vec_done(&p.found);
    return ok;
}

static void target_add(const struct lsf_condition *c, struct span id, struct span index,
                       struct str *out)
{
    str_addn(out, id.data, id.len);
    if (index.len)
        str_addf(out, "_%.*s", (int)index.len, index.data);
    if (c->compare)
        str_add(out, c->compare);
}

/* Among others that all must hold, "afterok:1:2"; else "(afterok:1,afterok:2)". */
static void condition_add(const struct lsf_condition *c, const char *ids, bool all, struct str *out)
{
    struct span rest = span_of(ids), id;
    bool each = c->index && text_is(c->index, "*"), first = true;
    const char *indexes = each ? "each" : c->index ? c->index : "";
    bool apart = !all && (strchr(ids, ':') || strchr(indexes, ','));
    const char *type = each && text_is(c->type, "afterok") ? "aftercorr" : c->type;
    str_add(out, apart ? "(" : "");
    while (span_next(&rest, ':', &id)) {
        struct span list = span_of(indexes), index;
        for (bool any = span_next(&list, ',', &index); any; any = span_next(&list, ',', &index)) {
            if (first || apart)
                str_addf(out, "%s%s", first ? "" : ",", type);
            first = false;
            str_addc(out, ':');
            target_add(c, id, index, out);
        }
    }
    str_add(out, apart ? ")" : "");
}

const char *lsf_depend_text(const struct lsf_depend *d, const char *const *ids, struct arena *a)
{
    struct str out = STR_INIT;
    bool all = !strpbrk(d->form, "?!");
    size_t i = 0;
    for (const char *at = d->form; *at; at++)
        if (*at == MARK) {
            condition_add(&d->v[i], ids[i], all, &out);
            i++;
        } else {
            str_addc(&out, *at);
        }
    const char *text = arena_strdup(a, str_text(&out));
    str_done(&out);
    return text;
}

/* ---- back ---- */

static const char *function_of(enum dep_kind kind)
{
    switch (kind) {
    case DEP_AFTER: return "started";
    case DEP_AFTERANY: return "ended";
    case DEP_AFTEROK:
    case DEP_AFTERCORR: return "done";
    case DEP_AFTERNOTOK:
    case DEP_EXIT: return "exit";
    case DEP_NUMDONE:
    case DEP_NUMENDED:
    case DEP_NUMEXIT:
    case DEP_NUMSTART:
    case DEP_NUMRUN:
    case DEP_NUMPEND:
    case DEP_NUMHOLD:
    case DEP_SINGLETON:
    case DEP_ON:
    case DEP_BEFORE:
    case DEP_BEFOREANY:
    case DEP_BEFOREOK:
    case DEP_BEFORENOTOK: break;
    }
    return dep_kind_words[kind];
}

static void lsf_write(const struct dependency *d, struct str *out)
{
    bool counts = dep_counts((enum dep_kind)d->kind);
    str_addf(out, "%s%s", d->negated ? "!" : "", function_of((enum dep_kind)d->kind));
    if (!d->job_id)
        return;
    str_addf(out, "(%llu", (unsigned long long)d->job_id);
    if (dep_pairs(d))
        str_add(out, "[*]");
    else if (d->task_id != NO_TASK)
        str_addf(out, "[%u]", d->task_id);
    if (counts && d->number == DEP_ALL)
        str_add(out, ",*");
    else if (counts || d->kind == DEP_EXIT)
        str_addf(out, ",%s%d", d->compare == DEP_EQ ? "" : dep_compare_words[d->compare],
                 d->number);
    str_addc(out, ')');
}

bool lsf_depend_says(const struct dependency *d)
{
    bool known = d->kind != DEP_SINGLETON && d->kind != DEP_ON;
    return known && !dep_is_before((enum dep_kind)d->kind) && !d->delay_us;
}

const char *lsf_depend_of(const char *dependency, struct arena *a)
{
    struct dependency_list list;
    struct str out = STR_INIT;
    if (text_empty(dependency) || !dependency_parse(dependency, a, &list, NULL))
        return dependency;
    dependency_write(&list, " && ", " || ", lsf_write, &out);
    const char *text = arena_strdup(a, str_text(&out));
    str_done(&out);
    return text;
}
