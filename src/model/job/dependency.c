#include "model/job/dependency.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "base/vec.h"
#include "model/job/job.h"
#include "model/limits.h"

#define DEPENDENCY_HELP                                                                            \
    "a dependency is TYPE:JOB[:JOB…] with TYPE after, afterany, afterok, afternotok or "         \
    "aftercorr, or "                                                                               \
    "singleton; "                                                                                  \
    "several are joined by ',' (all) or '?' (any)"

#define QUOTE_MAX 80 /* bytes of a wrong text repeated in a message */

const char *const dep_kind_words[] = {
    [DEP_AFTER] = "after",
    [DEP_AFTERANY] = "afterany",
    [DEP_AFTEROK] = "afterok",
    [DEP_AFTERNOTOK] = "afternotok",
    [DEP_AFTERCORR] = "aftercorr",
    [DEP_SINGLETON] = "singleton",
    [DEP_EXIT] = "exit",
    [DEP_NUMDONE] = "numdone",
    [DEP_NUMENDED] = "numended",
    [DEP_NUMEXIT] = "numexit",
    [DEP_NUMSTART] = "numstart",
    [DEP_NUMRUN] = "numrun",
    [DEP_NUMPEND] = "numpend",
    [DEP_NUMHOLD] = "numhold",
    [DEP_ON] = "on",
    [DEP_BEFORE] = "before",
    [DEP_BEFOREANY] = "beforeany",
    [DEP_BEFOREOK] = "beforeok",
    [DEP_BEFORENOTOK] = "beforenotok",
};

const char *const dep_compare_words[] = {[DEP_EQ] = "==", [DEP_NE] = "!=", [DEP_LT] = "<",
                                         [DEP_LE] = "<=", [DEP_GT] = ">",  [DEP_GE] = ">="};

#define KINDS    (sizeof dep_kind_words / sizeof dep_kind_words[0])
#define COMPARES (sizeof dep_compare_words / sizeof dep_compare_words[0])

typedef VEC(struct dependency) dependency_vec;

static int quote_len(struct span s)
{
    return s.len < QUOTE_MAX ? (int)s.len : QUOTE_MAX;
}

static bool digits_read(struct span text, uint64_t max, uint64_t *ret)
{
    char copy[24];
    if (!text.len || text.len >= sizeof copy)
        return false;
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    return text_to_u64(copy, max, ret);
}

/* Takes the part of *text after the first `mark` off it; an empty span without data if there is no
 * mark. */
static struct span tail_take(struct span *text, char mark)
{
    const char *at = memchr(text->data, mark, text->len);
    if (!at)
        return (struct span){0};
    struct span tail = {at + 1, text->len - (size_t)(at + 1 - text->data)};
    text->len = (size_t)(at - text->data);
    return tail;
}

/* Takes "(unfulfilled)" or "(failed)" off the end, as dependency_format writes them. */
static enum dep_status status_take(struct span *text)
{
    static const char *const words[] = {[DEP_OPEN] = "(unfulfilled)", [DEP_FAILED] = "(failed)"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        size_t len = words[i] ? strlen(words[i]) : 0;
        if (len && text->len > len && memcmp(text->data + text->len - len, words[i], len) == 0) {
            text->len -= len;
            return (enum dep_status)i;
        }
    }
    return DEP_OPEN;
}

static bool target_refuse(struct span text, const char *why, struct err *ret_err)
{
    return err_set(ret_err, ERR_INVALID, "\"%.*s\" in the dependency: %s", quote_len(text),
                   text.data, why);
}

/* Takes ">=3" off the end. */
static bool compare_take(struct span *text, struct dependency *d, struct err *ret_err)
{
    struct span whole = *text, number;
    size_t at = 0, len;
    while (at < text->len && !memchr("=!<>", text->data[at], 4))
        at++;
    bool counts = dep_counts((enum dep_kind)d->kind), needed = counts || d->kind == DEP_EXIT;
    if (at == text->len && d->kind == DEP_EXIT) {
        d->compare = DEP_NE;
        return true; /* however it failed */
    }
    if ((at < text->len) != needed)
        return target_refuse(whole,
                             needed ? "how many is said as numdone:JOB>=3 or numdone:JOB==all"
                                    : "a number is compared with after exit:JOB and num…:JOB only",
                             ret_err);
    if (!needed)
        return true;
    len = at + 1 < text->len && text->data[at + 1] == '=' ? 2 : 1;
    bool known = len == 1 && text->data[at] == '=';
    d->compare = DEP_EQ;
    for (size_t i = 0; i < COMPARES && !known; i++) {
        known = span_is((struct span){text->data + at, len}, dep_compare_words[i]);
        d->compare = (uint8_t)i;
    }
    number = span_trim((struct span){text->data + at + len, text->len - at - len});
    uint64_t n = 0;
    bool all = counts && span_is_nocase(number, "all");
    if (!known || (!all && !digits_read(number, INT32_MAX, &n)))
        return target_refuse(whole, "numbers are compared as ==3, !=3, <3, <=3, >3, >=3", ret_err);
    d->number = all ? DEP_ALL : (int32_t)n;
    text->len = at;
    return true;
}

/* After '_'. */
static bool task_parse(struct span whole, struct span task, struct dependency *d,
                       struct err *ret_err)
{
    uint64_t number;
    d->each = span_is(task, "each");
    if (d->each && (d->kind > DEP_AFTERCORR && d->kind != DEP_EXIT))
        return target_refuse(
            whole, "_each is for after, afterany, afterok, afternotok and exit, of arrays",
            ret_err);
    d->whole = span_is(task, "*");
    if (d->each || d->whole)
        return true;
    if (!digits_read(task, LIMIT_ARRAY_INDEX, &number))
        return target_refuse(whole, "after '_' comes one array index or '*'", ret_err);
    d->task_id = (uint32_t)number;
    return true;
}

/* ID, ID_TASK or ID_*; for `after` with +MINUTES. */
static bool target_parse(struct span text, enum dep_kind kind, struct dependency *ret,
                         struct err *ret_err)
{
    enum dep_status status = status_take(&text);
    struct span id = text;
    *ret =
        (struct dependency){.kind = (uint8_t)kind, .task_id = NO_TASK, .status = (uint8_t)status};
    if (kind > DEP_SINGLETON && !compare_take(&id, ret, ret_err))
        return false;
    struct span minutes = tail_take(&id, '+');
    struct span task = tail_take(&id, '_');
    uint64_t number;
    if (!digits_read(id, UINT64_MAX, &ret->job_id) || !ret->job_id)
        return err_set(ret_err, ERR_INVALID,
                       "\"%.*s\" in the dependency is no job id: " DEPENDENCY_HELP, quote_len(text),
                       text.data);
    if (task.data && !task_parse(text, task, ret, ret_err))
        return false;
    if (dep_is_before(kind) && ret->task_id != NO_TASK)
        return target_refuse(text, "before… names jobs and arrays as a whole", ret_err);
    if (!minutes.data)
        return true;
    if (kind != DEP_AFTER || !digits_read(minutes, INT32_MAX, &number))
        return target_refuse(text, "+MINUTES is for after:JOB+MINUTES", ret_err);
    ret->delay_us = (int64_t)number * USEC_PER_MIN;
    return true;
}

static bool targets_parse(struct span rest, enum dep_kind kind, dependency_vec *list,
                          struct err *ret_err)
{
    struct span piece;
    while (span_next(&rest, ':', &piece)) {
        struct dependency d;
        if (!target_parse(span_trim(piece), kind, &d, ret_err))
            return false;
        if (list->n == LIMIT_DEPENDENCIES)
            return err_set(
                ret_err, ERR_LIMIT,
                "a job may have %u dependencies at most; a job between can collect some of them",
                LIMIT_DEPENDENCIES);
        vec_push(list, d);
    }
    return true;
}

static bool kind_parse(struct span word, enum dep_kind *ret, struct err *ret_err)
{
    for (size_t i = 0; i < KINDS; i++)
        if (span_is_nocase(word, dep_kind_words[i])) {
            *ret = (enum dep_kind)i;
            return true;
        }
    if (span_is_nocase(word, "afterburstbuffer"))
        return err_set(
            ret_err, ERR_UNSUPPORTED,
            "not supported yet: afterburstbuffer, for there are no burst buffers; afterany "
            "waits for the end of the job");
    if (span_is_nocase(word, "expand"))
        return err_set(
            ret_err, ERR_UNSUPPORTED,
            "not supported yet: expand, for a running job keeps its size; submit a larger job");
    return err_set(ret_err, ERR_INVALID, "\"%.*s\" is no type of dependency: " DEPENDENCY_HELP,
                   quote_len(word), word.data);
}

static bool on_parse(struct span count, dependency_vec *list, struct err *ret_err)
{
    uint64_t n;
    enum dep_status status = status_take(&count);
    if (!digits_read(span_trim(count), LIMIT_DEPENDENCIES, &n) || !n)
        return err_set(
            ret_err, ERR_INVALID,
            "on:COUNT says for how many jobs it waits that name it with before, beforeok, "
            "beforenotok or beforeany: 1 to %u",
            LIMIT_DEPENDENCIES);
    vec_push(
        list,
        ((struct dependency){
            .kind = DEP_ON, .task_id = NO_TASK, .number = (int32_t)n, .status = (uint8_t)status}));
    return true;
}

/* One piece between separators. A number without a type is afterany, as in Slurm. */
static bool piece_parse(struct span piece, dependency_vec *list, struct err *ret_err)
{
    enum dep_kind kind = DEP_AFTERANY;
    if (piece.len && piece.data[0] >= '0' && piece.data[0] <= '9')
        return targets_parse(piece, kind, list, ret_err);
    struct span word = piece, targets = tail_take(&word, ':');
    enum dep_status status = targets.data ? DEP_OPEN : status_take(&word);
    if (!kind_parse(word, &kind, ret_err))
        return false;
    if (kind == DEP_ON && targets.data)
        return on_parse(targets, list, ret_err);
    if (kind != DEP_SINGLETON) {
        if (targets.data)
            return targets_parse(targets, kind, list, ret_err);
        return err_set(ret_err, ERR_INVALID, "\"%.*s\" names no job: " DEPENDENCY_HELP,
                       quote_len(piece), piece.data);
    }
    if (targets.data)
        return err_set(
            ret_err, ERR_INVALID,
            "singleton takes no job: it waits for all earlier jobs of the same name and user");
    vec_push(list, ((struct dependency){
                       .kind = DEP_SINGLETON, .task_id = NO_TASK, .status = (uint8_t)status}));
    return true;
}

/* ---- what belongs together ------------------------------------------------------------------ */

/* As it is written: a group of nodes, or the conditions of one piece. */
struct dependency_node {
    bool group, negated;
    char sep;                 /* of a group: ',' or '?'; 0 = it has one member */
    uint32_t from, to;        /* of a piece: its conditions */
    uint32_t next;            /* in its group; 0 = the last */
    uint32_t member, members; /* of a group: the first, and how many */
};

struct dependency_parser {
    struct span rest;
    dependency_vec found;
    VEC(struct dependency_node) node;
    dependency_vec list; /* in the order of the form */
    struct str form;
    struct err *e;
};

static bool mixed_refuse(struct dependency_parser *p)
{
    return err_set(
        p->e, ERR_INVALID,
        "a dependency has either ',' (all must hold) or '?' (any one suffices), not both, "
        "unless parentheses say what belongs together: (afterok:1,afterok:2)?afterany:3");
}

static char next_char(struct dependency_parser *p)
{
    while (p->rest.len && (p->rest.data[0] == ' ' || p->rest.data[0] == '\t'))
        p->rest.data++, p->rest.len--;
    return p->rest.len ? p->rest.data[0] : '\0';
}

static void char_skip(struct dependency_parser *p)
{
    p->rest.data++;
    p->rest.len--;
}

/* Up to the next separator; what stands in parentheses there is what was said of it. */
static struct span piece_take(struct dependency_parser *p)
{
    size_t len = 0;
    while (len < p->rest.len && !memchr(",?)", p->rest.data[len], 3)) {
        const char *close =
            p->rest.data[len] == '(' ? memchr(p->rest.data + len, ')', p->rest.len - len) : NULL;
        len = close ? (size_t)(close - p->rest.data) + 1 : len + 1;
    }
    struct span piece = {p->rest.data, len};
    p->rest.data += len;
    p->rest.len -= len;
    return span_trim(piece);
}

static bool group_parse(struct dependency_parser *p, uint32_t at, unsigned depth);

static bool term_parse(struct dependency_parser *p, uint32_t *ret_at, unsigned depth)
{
    struct dependency_node n = {0};
    while (next_char(p) == '!') {
        n.negated = !n.negated;
        char_skip(p);
    }
    n.group = next_char(p) == '(';
    *ret_at = (uint32_t)p->node.n;
    if (!n.group) {
        n.from = (uint32_t)p->found.n;
        if (!piece_parse(piece_take(p), &p->found, p->e))
            return false;
        n.to = (uint32_t)p->found.n;
        vec_push(&p->node, n);
        return true;
    }
    if (depth == LIMIT_DEPENDENCY_DEPTH)
        return err_set(p->e, ERR_LIMIT, "in a dependency at most %u parentheses are in each other",
                       LIMIT_DEPENDENCY_DEPTH);
    char_skip(p);
    vec_push(&p->node, n);
    if (!group_parse(p, *ret_at, depth + 1))
        return false;
    if (next_char(p) != ')')
        return err_set(p->e, ERR_INVALID, "in the dependency a ')' is missing");
    char_skip(p);
    return true;
}

static bool group_parse(struct dependency_parser *p, uint32_t at, unsigned depth)
{
    ASSERT(at < p->node.n);
    uint32_t term, last = 0;
    while (term_parse(p, &term, depth)) {
        if (last)
            p->node.v[last].next = term;
        else
            p->node.v[at].member = term;
        p->node.v[at].members++;
        last = term;
        char sep = next_char(p);
        if (sep != ',' && sep != '?')
            return true;
        if (p->node.v[at].sep && p->node.v[at].sep != sep)
            return mixed_refuse(p);
        p->node.v[at].sep = sep;
        char_skip(p);
    }
    return false;
}

/* What can be told only where it stands. */
static bool place_check(const struct dependency *d, bool negated, struct err *e)
{
    const char *word = dep_kind_words[d->kind];
    bool never =
        d->kind == DEP_SINGLETON || d->kind == DEP_ON || dep_is_before((enum dep_kind)d->kind);
    if (negated && (never || dep_pairs(d)))
        return err_set(e, ERR_INVALID, "'!' before %s%s has no meaning", word,
                       d->each ? ":…_each" : "");
    return true;
}

static bool piece_emit(struct dependency_parser *p, const struct dependency_node *n, bool negated)
{
    for (uint32_t i = n->from; i < n->to; i++) {
        struct dependency d = p->found.v[i];
        d.negated = negated;
        if (!place_check(&d, negated, p->e))
            return false;
        vec_push(&p->list, d);
        str_addc(&p->form, '.');
    }
    return true;
}

static char operator_of(const struct dependency_node *n, bool negated)
{
    return (n->sep == '?') != negated ? '|' : '&';
}

static bool emit(struct dependency_parser *p, uint32_t at, bool negated, char parent)
{
    ASSERT(at < p->node.n);
    const struct dependency_node *n = &p->node.v[at];
    negated ^= n->negated;
    while (n->group && n->members == 1) {
        const struct dependency_node *only = &p->node.v[n->member];
        if (!only->group && only->to - only->from > 1)
            break;
        n = only;
        negated ^= n->negated;
    }
    if (!n->group)
        return piece_emit(p, n, negated);
    char own = operator_of(n, negated);
    if (own != parent)
        str_addc(&p->form, own);
    for (uint32_t i = n->member, k = 0; k < n->members; k++, i = p->node.v[i].next)
        if (!emit(p, i, negated, own))
            return false;
    if (own != parent)
        str_addc(&p->form, ')');
    return true;
}

/* PBS's: what they mean among alternatives nobody says. */
static bool counts_check(const struct dependency_list *d, struct err *e)
{
    bool on = false, before = false, twice = false;
    uint64_t sum = 0; /* when all have come that are to name it */
    for (size_t i = 0; i < d->n; i++) {
        sum += d->v[i].kind == DEP_ON ? (uint64_t)d->v[i].number : 1;
        twice |= on && d->v[i].kind == DEP_ON;
        on |= d->v[i].kind == DEP_ON;
        before |= dep_is_before((enum dep_kind)d->v[i].kind);
    }
    if (twice)
        return err_set(e, ERR_INVALID, "on:COUNT is said once");
    if ((on || before) && (d->form || (d->any && d->n > 1)))
        return err_set(e, ERR_INVALID,
                       "on and before… stand in a list with ',', without '?' and parentheses");
    if (on && sum > LIMIT_DEPENDENCIES)
        return err_set(e, ERR_LIMIT,
                       "on:COUNT and the other conditions are %llu together: a job may have %u "
                       "dependencies at most; a job between can collect some of them",
                       (unsigned long long)sum, LIMIT_DEPENDENCIES);
    return true;
}

static bool list_make(struct dependency_parser *p, struct arena *a, struct dependency_list *ret)
{
    const char *form = str_text(&p->form);
    size_t len = p->form.len, groups = 0;
    for (size_t i = 0; i < len; i++)
        groups += form[i] == '&' || form[i] == '|';
    *ret = (struct dependency_list){.v = arena_dup(a, p->list.v, p->list.n * sizeof p->list.v[0]),
                                    .n = (uint32_t)p->list.n,
                                    .any = form[0] == '|'};
    if (groups > 1)
        ret->form = arena_strdup(a, form);
    return counts_check(ret, p->e);
}

bool dependency_parse(const char *text, struct arena *a, struct dependency_list *ret,
                      struct err *ret_err)
{
    struct dependency_parser p = {.rest = span_trim(span_of(text)), .e = ret_err};
    bool ok = true;
    *ret = (struct dependency_list){0};
    /* `scontrol update Dependency=0` takes them away. */
    if (!p.rest.len || span_is(p.rest, "0"))
        return true;
    vec_push(&p.node, ((struct dependency_node){.group = true}));
    ok = group_parse(&p, 0, 0);
    if (ok && p.rest.len)
        ok = err_set(ret_err, ERR_INVALID, "the dependency cannot be read at \"%.*s\"",
                     quote_len(p.rest), p.rest.data);
    ok = ok && emit(&p, 0, false, '\0') && list_make(&p, a, ret);
    vec_done(&p.found);
    vec_done(&p.node);
    vec_done(&p.list);
    str_done(&p.form);
    return ok;
}
