/* The book of accounts as a store has it that was changed by hand, or got out of a damaged file.
 * Each row may be sound and what they say together not: accounts that stand below each other in a
 * circle, or below one that there is not, two rows of one association, QOS that may stop themselves
 * in the end. Whoever walks up the tree would walk for ever. So what is there twice is left out,
 * and what leads nowhere leads to root from then on, until somebody moves it. Each is said. */
#include "base/list.h"
#include "core/load/load.h"
#include "core/record/accounts/accounts.h"
#include "core/record/accounts/assoc_index.h"

#define SAID_MOST 20 /* of one kind; what is more is counted */

struct mending {
    struct core *c;
    struct arena *a;
    size_t said;
};

static void say(struct mending *m, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct mending *m, const char *format, ...)
{
    struct str text = STR_INIT;
    va_list args;
    va_start(args, format);
    str_addv(&text, format, args);
    va_end(args);
    if (m->said++ < SAID_MOST)
        fx_log(m->c, LEVEL_ERROR, "%s", str_text(&text));
    str_done(&text);
}

static void rest_say(struct mending *m, const char *what)
{
    if (m->said > SAID_MOST)
        fx_log(m->c, LEVEL_ERROR, "and so %zu more %s", m->said - SAID_MOST, what);
    m->said = 0;
}

/* ---- what is there twice -------------------------------------------------------------------- */

/* Which of two is found: one that was not removed, else the older. */
static bool comes_first(const struct assocrec *r, const struct assocrec *other)
{
    return r->a.deleted != other->a.deleted ? !r->a.deleted : r->a.id < other->a.id;
}

static void assocs_once(struct mending *m)
{
    struct core *c = m->c;
    struct map_walk w = {0};
    if (c->accounts.assoc_of.n == map_u64_count(c->accounts.assoc))
        return;
    while (map_u64_next(c->accounts.assoc, &w)) {
        struct assocrec *r = w.value, *found = assoc_at(c, r->a.account, r->a.user, r->a.partition);
        if (found != r && comes_first(r, found))
            assoc_index(c, r);
    }
    VEC(struct assocrec *) twins = {0};
    for (w = (struct map_walk){0}; map_u64_next(c->accounts.assoc, &w);) {
        struct assocrec *r = w.value;
        if (assoc_at(c, r->a.account, r->a.user, r->a.partition) != r)
            vec_push(&twins, r);
    }
    for (size_t i = 0; i < twins.n; i++) {
        const struct assoc *a = &twins.v[i]->a;
        row_leave_out(c, TABLE_ASSOC, a,
                      arena_printf(m->a, "it is the same as number %u",
                                   assoc_at(c, a->account, a->user, a->partition)->a.id));
        accounts_forget(c, TABLE_ASSOC, a);
    }
    vec_done(&twins);
    c->accounts.rehang = true;
}

/* By name the one is found that was loaded last. */
static void qos_once(struct mending *m)
{
    struct core *c = m->c;
    VEC(struct qosrec *) twins = {0};
    struct map_walk w = {0};
    if (map_str_count(c->accounts.qos_of) == map_u64_count(c->accounts.qos))
        return;
    while (map_u64_next(c->accounts.qos, &w)) {
        struct qosrec *r = w.value;
        if (map_str_get(c->accounts.qos_of, r->q.name) != r)
            vec_push(&twins, r);
    }
    for (size_t i = 0; i < twins.n; i++) {
        struct qosrec *r = twins.v[i], *found = map_str_get(c->accounts.qos_of, r->q.name);
        const char *name = arena_strdup(m->a, r->q.name);
        row_leave_out(c, TABLE_QOS, &r->q,
                      arena_printf(m->a, "it has the name of number %u", found->q.id));
        accounts_forget(c, TABLE_QOS, &r->q);
        map_str_put(c->accounts.qos_of, name, found);
    }
    vec_done(&twins);
}

/* ---- the tree ------------------------------------------------------------------------------- */

static void below_root(struct mending *m, struct assocrec *r, const char *why)
{
    say(m,
        "account %s stands below %s, %s: it stands below root from now on; `sacctmgr modify "
        "account "
        "%s set parent=NAME` moves it",
        r->a.account, r->a.parent ? r->a.parent : "nothing", why, r->a.account);
    text_set(m->c, &r->a.parent, ROOT_ACCOUNT);
    assoc_hang(m->c, r);
    fx_store(m->c, TABLE_ASSOC, &r->a);
}

/* Is it the oldest of a circle? Whoever leads into one of others comes by `mark` again. */
static bool is_first_of_circle(const struct assocrec *r)
{
    const struct assocrec *at = r->up, *mark = NULL;
    bool first = true;
    for (size_t n = 1, until = 1; at && at != r && at != mark; n++, at = at->up) {
        first &= at->a.id > r->a.id;
        if (n == until) {
            mark = at;
            until *= 2;
        }
    }
    return at == r && first;
}

static void tree_mend(struct mending *m)
{
    struct core *c = m->c;
    struct map_walk w = {0};
    while (map_u64_next(c->accounts.assoc, &w)) {
        struct assocrec *r = w.value;
        if (r->a.user || text_is(r->a.account, ROOT_ACCOUNT))
            continue;
        if (!r->a.deleted && !assoc_find(c, r->a.parent, NULL, NULL))
            below_root(m, r, "which is not there");
        else if (is_first_of_circle(r))
            below_root(m, r, "which stands below it in the end");
    }
    rest_say(m, "accounts");
}

/* What associations name and there is not. Nobody may use it, and it can be added. */
static void names_look(struct mending *m)
{
    struct core *c = m->c;
    struct map_walk w = {0};
    while (map_u64_next(c->accounts.assoc, &w)) {
        const struct assocrec *r = w.value, *own = r->a.user ? r->up : r;
        const struct assoc *a = &r->a;
        bool hangs = own && !own->a.deleted && own->a.account == a->account; /* interned */
        if (a->deleted)
            continue;
        if (!hangs || (!a->user && !account_find(c, a->account)))
            say(m, "association %u is of account %s, which is not there: `sacctmgr add account %s`",
                a->id, a->account, a->account);
        else if (a->user && !account_user_find(c, a->user))
            say(m,
                "association %u is of user %s, who is not there: `sacctmgr add user %s account=%s`",
                a->id, a->user, a->user, a->account);
    }
    rest_say(m, "associations");
}

/* ---- QOS ------------------------------------------------------------------------------------ */

static const char *list_without(struct arena *a, const char *list, struct span word)
{
    struct span rest = span_of(list), piece;
    struct str kept = STR_INIT;
    while (span_next(&rest, ',', &piece))
        if (piece.len != word.len || memcmp(piece.data, word.data, word.len) != 0)
            list_addf(&kept, "%.*s", (int)piece.len, piece.data);
    const char *text = kept.len ? arena_strdup(a, str_text(&kept)) : NULL;
    str_done(&kept);
    return text;
}

static void preempt_mend(struct mending *m)
{
    struct map_walk w = {0};
    while (map_u64_next(m->c->accounts.qos, &w)) {
        struct qosrec *q = w.value;
        const char *list = arena_strdup(m->a, q->q.preempt ? q->q.preempt : "");
        struct span rest = span_of(list), piece;
        while (!q->q.deleted && span_next(&rest, ',', &piece)) {
            const char *other = arena_strndup(m->a, piece.data, piece.len);
            if (!text_is(other, q->q.name) && !qos_may_stop(m->c, other, q->q.name, NULL))
                continue;
            say(m,
                "QOS %s may stop %s, which may stop it in the end: it may not from now on; "
                "`sacctmgr "
                "modify qos %s set preempt=LIST` says which it may",
                q->q.name, other, q->q.name);
            text_set(m->c, &q->q.preempt, list_without(m->a, q->q.preempt, piece));
            fx_store(m->c, TABLE_QOS, &q->q);
        }
    }
    rest_say(m, "QOS");
}

void book_twins_leave(struct core *c)
{
    struct mending m = {.c = c, .a = arena_new()};
    assocs_once(&m);
    qos_once(&m);
    arena_free(m.a);
}

void book_mend(struct core *c)
{
    struct mending m = {.c = c, .a = arena_new()};
    if (!c->accounts.implied)
        tree_mend(&m);
    /* Whoever changes a row by hand has them come one by one: the others were looked at then. */
    if (!c->accounts.implied && c->accounts.rehang)
        names_look(&m);
    preempt_mend(&m);
    arena_free(m.a);
}
