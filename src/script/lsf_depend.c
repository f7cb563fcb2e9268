/* The grammar: conditions joined by && or ||, in parentheses or not; a condition is FUNCTION(JOB)
 * or JOB alone, which is done(JOB). */
#include "script/lsf_depend.h"

#include "base/alloc.h"
#include "base/vec.h"
#include "model/limits.h"
#include "script/dialect.h"

#include <string.h>

struct parser {
    const char *whole, *at;
    struct arena *a;
    VEC(struct lsf_condition) found;
    bool all, any;
    unsigned depth;
    struct err *e;
};

#define DEPTH_MAX 50

static void blanks_skip(struct parser *p)
{
    while (*p->at == ' ' || *p->at == '\t')
        p->at++;
}

static bool token_take(struct parser *p, const char *token)
{
    blanks_skip(p);
    if (!text_starts(p->at, token))
        return false;
    p->at += strlen(token);
    return true;
}

static bool syntax_refuse(struct parser *p)
{
    return dialect_blame(p->e, "-w", p->whole,
                         "cannot be read at \"%.40s\"; conditions are done(JOB), ended(JOB), "
                         "exit(JOB) and started(JOB), joined by && or ||",
                         p->at);
}

/* ---- one condition ---- */

static bool is_word(char c)
{
    return c && !strchr(" \t()&|!,\"'", c);
}

static const char *word_take(struct parser *p)
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

static bool index_take(struct parser *p, char *word, struct lsf_condition *c)
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
    return dialect_refuse(p->e, "-w with several elements",
                          "write one condition for each: done(%s[1]) && done(%s[2])", word, word);
}

/* 12, 12[3], "name", name*, 'name'. */
static bool job_take(struct parser *p, struct lsf_condition *c)
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
    } else {
        word = arena_strdup(p->a, word_take(p));
    }
    if (!*word)
        return syntax_refuse(p);
    c->named = quote || !job_number(word);
    if (!index_take(p, word, c))
        return false;
    c->job = word;
    return !(c->named && c->index) ||
           dialect_refuse(p->e, "-w with a name and an index", "name the job by its number");
}

static const struct {
    const char *name, *type, *why;
} functions[] = {
    {"done", "afterok", NULL},
    {"ended", "afterany", NULL},
    {"exit", "afternotok", NULL},
    {"started", "after", NULL},
    {"post_done", "afterok", NULL},
    {"post_err", NULL, "there are no post-execution programs of jobs"},
    {"external", NULL, "there are no external messages"},
    {"numdone", NULL, "elements are not counted; done(ARRAY) waits for all"},
    {"numended", NULL, "elements are not counted; ended(ARRAY) waits for all"},
    {"numexit", NULL, "elements are not counted; exit(ARRAY) waits for all"},
    {"numhold", NULL, "elements are not counted"},
    {"numpend", NULL, "elements are not counted"},
    {"numrun", NULL, "elements are not counted"},
    {"numstart", NULL, "elements are not counted"},
};

static bool function_find(struct parser *p, const char *name, struct lsf_condition *c)
{
    for (size_t i = 0; i < ARRAY_LEN(functions); i++) {
        if (!text_is_nocase(name, functions[i].name))
            continue;
        c->type = functions[i].type;
        return c->type ||
               dialect_refuse(p->e, arena_printf(p->a, "-w %s()", name), "%s", functions[i].why);
    }
    return dialect_blame(p->e, "-w", p->whole,
                         "there is no condition \"%s\"; done, ended, exit and started are known",
                         name);
}

static bool condition_take(struct parser *p)
{
    struct lsf_condition c = {.type = "afterok"};
    const char *before = p->at, *name = word_take(p);
    if (token_take(p, "!"))
        return dialect_refuse(p->e, "-w with !", "write the opposite: exit(JOB) for !done(JOB)");
    if (*name && token_take(p, "(")) {
        if (!function_find(p, name, &c) || !job_take(p, &c))
            return false;
        if (token_take(p, ","))
            return dialect_refuse(p->e, "-w exit() with a code",
                                  "exit(JOB) waits for a job that failed, whatever its code");
        if (!token_take(p, ")"))
            return syntax_refuse(p);
    } else {
        p->at = before;
        if (!job_take(p, &c))
            return false;
    }
    if (p->found.n == LIMIT_DEPENDENCIES)
        return err_set(p->e, ERR_LIMIT, "-w: at most %u conditions are taken", LIMIT_DEPENDENCIES);
    if (c.index && text_is(c.index, "*"))
        c.type = text_is(c.type, "afterok") ? "aftercorr" : c.type;
    vec_push(&p->found, c);
    return true;
}

/* ---- several ---- */

static bool expression_take(struct parser *p)
{
    do {
        if (token_take(p, "(")) {
            if (++p->depth > DEPTH_MAX)
                return syntax_refuse(p);
            if (!expression_take(p))
                return false;
            p->depth--;
            if (!token_take(p, ")"))
                return syntax_refuse(p);
        } else if (!condition_take(p)) {
            return false;
        }
        if (token_take(p, "&&"))
            p->all = true;
        else if (token_take(p, "||"))
            p->any = true;
        else
            return true;
    } while (true);
}

bool lsf_depend_parse(const char *text, struct arena *a, struct lsf_depend *ret,
                      struct err *ret_err)
{
    struct parser p = {.whole = text, .at = text, .a = a, .e = ret_err};
    bool ok = expression_take(&p);
    blanks_skip(&p);
    if (ok && *p.at)
        ok = syntax_refuse(&p);
    if (ok && p.all && p.any)
        ok = dialect_refuse(ret_err, "-w with both && and ||",
                            "a job between can collect some of the conditions");
    if (ok)
        *ret = (struct lsf_depend){arena_dup(a, p.found.v, p.found.n * sizeof *p.found.v),
                                   p.found.n, p.any};
    vec_done(&p.found);
    return ok;
}

const char *lsf_depend_text(const struct lsf_depend *d, const char *const *ids, struct arena *a)
{
    struct str out = STR_INIT;
    for (size_t i = 0; i < d->n; i++) {
        const struct lsf_condition *c = &d->v[i];
        str_addf(&out, "%s%s:%s", i == 0 ? "" : d->any ? "?" : ",", c->type, ids[i]);
        if (c->index && !text_is(c->index, "*"))
            str_addf(&out, "_%s", c->index);
    }
    const char *text = arena_strdup(a, str_text(&out));
    str_done(&out);
    return text;
}
