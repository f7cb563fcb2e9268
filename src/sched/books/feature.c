/* A recursive descent parser makes a tree; the tree is then multiplied out into arms at the
 * brackets and counts, which speak about the job as a whole, while what lies below them stays a
 * tree that is evaluated for one node at a time. */
#include "sched/books/feature.h"

#include "base/alloc.h"
#include "base/list.h"
#include "base/str.h"

#include <ctype.h>
#include <string.h>

#define DEPTH_MAX 32

enum expr_kind { EXPR_NAME, EXPR_AND, EXPR_OR, EXPR_BRACKET, EXPR_COUNT };

struct feature_expr {
    enum expr_kind kind;
    const char *name;
    const struct feature_expr *left, *right;
    int32_t count;
    bool whole_job; /* it speaks about the job as a whole somewhere */
};

struct feature_parser {
    const char *text, *at;
    struct arena *a;
    struct err *err;
    int depth, names; /* of parentheses that are open; so far */
    bool bracket; /* inside of […], which says something of the whole job: none is in another */
};

static const struct feature_expr *parse_or(struct feature_parser *p);

static void blanks(struct feature_parser *p)
{
    while (*p->at == ' ' || *p->at == '\t')
        p->at++;
}

static void *fail(struct feature_parser *p, const char *what)
{
    err_set(p->err, ERR_INVALID,
            "constraint \"%.100s\": %s at position %d; write features joined by & and |, with (…), "
            "[a|b] or "
            "name*count",
            p->text, what, (int)(p->at - p->text) + 1);
    return NULL;
}

static const struct feature_expr *make(struct feature_parser *p, enum expr_kind kind,
                                       const struct feature_expr *left,
                                       const struct feature_expr *right)
{
    struct feature_expr *e = arena_alloc(p->a, sizeof *e);
    *e = (struct feature_expr){.kind = kind,
                               .left = left,
                               .right = right,
                               .whole_job = kind == EXPR_BRACKET || left->whole_job ||
                                            (right && right->whole_job)};
    return e;
}

static bool name_char(char c)
{
    return isalnum((unsigned char)c) || (c && strchr("_-.:=/+@%", c));
}

static const struct feature_expr *parse_name(struct feature_parser *p)
{
    const char *start = p->at;
    while (name_char(*p->at))
        p->at++;
    if (p->at == start)
        return fail(p, "a feature name is missing");
    /* What makes the tree of them, multiplies it out or holds it against a node goes as deep as
     * there are names. */
    if (++p->names > FEATURE_NAMES_MAX) {
        err_set(p->err, ERR_LIMIT,
                "constraint \"%.60s…\" names more features than can be considered: at most %d "
                "features, one named again counted again; give the nodes meant a feature of their "
                "own, or name them with --nodelist or --exclude",
                p->text, FEATURE_NAMES_MAX);
        return NULL;
    }
    struct feature_expr *e = arena_alloc(p->a, sizeof *e);
    *e = (struct feature_expr){.kind = EXPR_NAME,
                               .name = arena_strndup(p->a, start, (size_t)(p->at - start))};
    return e;
}

static const struct feature_expr *parse_enclosed(struct feature_parser *p, char close)
{
    bool outer = p->bracket;
    if (++p->depth > DEPTH_MAX)
        return fail(p, "parentheses nest too deep");
    if (outer && close == ']')
        return fail(p, "brackets are in brackets");
    p->bracket = outer || close == ']';
    p->at++;
    const struct feature_expr *e = parse_or(p);
    p->bracket = outer;
    blanks(p);
    if (e && *p->at != close)
        return fail(p, close == ')' ? "a ) is missing" : "a ] is missing");
    p->at += e != NULL;
    p->depth--;
    return e;
}

static const struct feature_expr *parse_count(struct feature_parser *p,
                                              const struct feature_expr *e)
{
    blanks(p);
    if (!e || *p->at != '*')
        return e;
    int64_t count = 0;
    const char *start = ++p->at;
    while (isdigit((unsigned char)*p->at) && count < INT32_MAX)
        count = count * 10 + (*p->at++ - '0');
    if (p->at == start || count < 1 || count > INT32_MAX)
        return fail(p, "a count of nodes is missing after *");
    struct feature_expr *counted = arena_alloc(p->a, sizeof *counted);
    *counted = (struct feature_expr){
        .kind = EXPR_COUNT, .left = e, .count = (int32_t)count, .whole_job = true};
    return counted;
}

static const struct feature_expr *parse_factor(struct feature_parser *p)
{
    blanks(p);
    if (*p->at == '[') {
        const struct feature_expr *e = parse_enclosed(p, ']');
        return e ? make(p, EXPR_BRACKET, e, NULL) : NULL;
    }
    return parse_count(p, *p->at == '(' ? parse_enclosed(p, ')') : parse_name(p));
}

static const struct feature_expr *parse_and(struct feature_parser *p)
{
    const struct feature_expr *e = parse_factor(p);
    for (blanks(p); e && (*p->at == '&' || *p->at == ','); blanks(p)) {
        p->at++;
        const struct feature_expr *right = parse_factor(p);
        e = right ? make(p, EXPR_AND, e, right) : NULL;
    }
    return e;
}

static const struct feature_expr *parse_or(struct feature_parser *p)
{
    const struct feature_expr *e = parse_and(p);
    for (blanks(p); e && *p->at == '|'; blanks(p)) {
        p->at++;
        const struct feature_expr *right = parse_and(p);
        e = right ? make(p, EXPR_OR, e, right) : NULL;
    }
    return e;
}

/* ---- arms ---- */

static bool arms_add(struct feature_parser *p, struct feature_arms *to,
                     const struct feature_arm *arm)
{
    if (to->n == FEATURE_ARMS_MAX)
        return fail(p, "more alternatives than can be considered") != NULL;
    to->arm[to->n++] = *arm;
    return true;
}

static int32_t nodes_join(int32_t a, int32_t b, bool bracket)
{
    if (!bracket)
        return a > b ? a : b;
    return a < INT32_MAX - b ? a + b : INT32_MAX;
}

static bool arm_merge(struct feature_parser *p, struct feature_arm *to,
                      const struct feature_arm *from, bool bracket)
{
    if (to->nall + from->nall > FEATURE_COUNTS_MAX ||
        to->ncount + from->ncount > FEATURE_COUNTS_MAX)
        return fail(p, "more counts than can be considered") != NULL;
    for (size_t i = 0; i < from->nall; i++)
        to->all[to->nall++] = from->all[i];
    for (size_t i = 0; i < from->ncount; i++)
        to->count[to->ncount++] = from->count[i];
    to->nodes = nodes_join(to->nodes, from->nodes, bracket);
    return true;
}

static bool expand(struct feature_parser *p, const struct feature_expr *e, bool bracket,
                   struct feature_arms *ret);

static bool expand_and(struct feature_parser *p, const struct feature_expr *e, bool bracket,
                       struct feature_arms *ret)
{
    struct feature_arms left = {arena_alloc(p->a, FEATURE_ARMS_MAX * sizeof *left.arm), 0};
    if (!expand(p, e->left, bracket, &left))
        return false;
    struct feature_arms right = {arena_alloc(p->a, FEATURE_ARMS_MAX * sizeof *right.arm), 0};
    if (!expand(p, e->right, bracket, &right))
        return false;
    for (size_t i = 0; i < left.n; i++)
        for (size_t k = 0; k < right.n; k++) {
            struct feature_arm arm = left.arm[i];
            if (!arm_merge(p, &arm, &right.arm[k], bracket) || !arms_add(p, ret, &arm))
                return false;
        }
    return true;
}

static bool expand(struct feature_parser *p, const struct feature_expr *e, bool bracket,
                   struct feature_arms *ret)
{
    if (e->kind == EXPR_COUNT)
        return arms_add(
            p, ret,
            &(struct feature_arm){.count = {{e->left, e->count}}, .ncount = 1, .nodes = e->count});
    if (e->kind == EXPR_BRACKET)
        return expand(p, e->left, true, ret);
    if (e->kind == EXPR_OR && (bracket || e->whole_job))
        return expand(p, e->left, bracket, ret) && expand(p, e->right, bracket, ret);
    if (e->kind == EXPR_AND && (bracket || e->whole_job))
        return expand_and(p, e, bracket, ret);
    return arms_add(p, ret, &(struct feature_arm){.all = {e}, .nall = 1});
}

bool feature_parse(const char *text, struct arena *a, struct feature_arms *ret, struct err *ret_err)
{
    struct feature_parser p = {.text = text, .at = text, .a = a, .err = ret_err};
    *ret = (struct feature_arms){
        arena_alloc(a, (text_empty(text) ? 1 : FEATURE_ARMS_MAX) * sizeof *ret->arm), 0};
    if (text_empty(text)) {
        ret->n = 1;
        return true;
    }
    const struct feature_expr *e = parse_or(&p);
    blanks(&p);
    if (e && *p.at)
        e = fail(&p, "something unexpected stands");
    return e && expand(&p, e, false, ret);
}

/* ---- evaluation ---- */

bool feature_holds(const struct feature_expr *e, const char *features)
{
    switch (e->kind) {
    case EXPR_NAME: return list_has(features, e->name);
    case EXPR_AND: return feature_holds(e->left, features) && feature_holds(e->right, features);
    case EXPR_OR: return feature_holds(e->left, features) || feature_holds(e->right, features);
    case EXPR_BRACKET:
    case EXPR_COUNT: return feature_holds(e->left, features);
    }
    return false;
}

int32_t feature_nodes(const struct feature_arms *arms)
{
    int32_t nodes = arms->n ? arms->arm[0].nodes : 0;
    for (size_t i = 1; i < arms->n; i++)
        nodes = arms->arm[i].nodes < nodes ? arms->arm[i].nodes : nodes;
    return nodes;
}

bool feature_arm_holds(const struct feature_arm *arm, const char *features)
{
    for (size_t i = 0; i < arm->nall; i++)
        if (!feature_holds(arm->all[i], features))
            return false;
    return true;
}

static size_t names_collect(const struct feature_expr *e, const char **ret, size_t n, size_t max)
{
    if (!e || n == max)
        return n;
    if (e->kind == EXPR_NAME) {
        ret[n] = e->name;
        return n + 1;
    }
    return names_collect(e->right, ret, names_collect(e->left, ret, n, max), max);
}

size_t feature_names(const char *text, struct arena *a, const char **ret, size_t max)
{
    ASSERT(max > 0);
    struct feature_parser p = {.text = text, .at = text, .a = a};
    return text_empty(text) ? 0 : names_collect(parse_or(&p), ret, 0, max);
}
