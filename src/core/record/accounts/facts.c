/* What the book of accounts says; what was removed says nothing. */
#include "base/list.h"
#include "core/record/accounts/accounts.h"
#include "core/record/accounts/limit_book.h"
#include "core/record/record.h"

#include <stdlib.h>

struct account *account_find(const struct core *c, const char *name)
{
    struct account *a = text_empty(name) ? NULL : map_str_get(c->accounts.account, name);
    return a && !a->deleted ? a : NULL;
}

struct account_user *account_user_find(const struct core *c, const char *name)
{
    struct account_user *u = text_empty(name) ? NULL : map_str_get(c->accounts.user, name);
    return u && !u->deleted ? u : NULL;
}

struct assocrec *assoc_find(const struct core *c, const char *account, const char *user,
                            const char *partition)
{
    struct assocrec *r = assoc_ever(c, account, user, partition);
    return r && !r->a.deleted ? r : NULL;
}

struct assocrec *assoc_for(const struct core *c, const char *account, const char *user,
                           const char *partition)
{
    struct assocrec *r = text_empty(partition) ? NULL : assoc_find(c, account, user, partition);
    return r ? r : assoc_find(c, account, user, NULL);
}

struct qosrec *qos_find(const struct core *c, const char *name)
{
    struct qosrec *r = text_empty(name) ? NULL : map_str_get(c->accounts.qos_of, name);
    return r && !r->q.deleted ? r : NULL;
}

/* Each is looked at once, and is then a key of `seen`. */
bool qos_may_stop(const struct core *c, const char *from, const char *to, const char **ret_last)
{
    VEC(const struct qosrec *) way = {0};
    struct map_str *seen = map_str_new();
    const struct qosrec *q = qos_find(c, from);
    bool may = false;
    if (q)
        vec_push(&way, q);
    for (size_t i = 0; i < way.n && !may; i++) {
        struct span rest = span_of(way.v[i]->q.preempt ? way.v[i]->q.preempt : ""), piece;
        may = way.v[i]->q.preempt && list_has(way.v[i]->q.preempt, to);
        if (may && ret_last)
            *ret_last = way.v[i]->q.name;
        while (!may && span_next(&rest, ',', &piece)) {
            char *name = xstrndup(piece.data, piece.len);
            q = map_str_get(seen, name) ? NULL : qos_find(c, name);
            if (q) {
                map_str_put(seen, name, seen);
                vec_push(&way, q);
            }
            free(name);
        }
    }
    map_str_free(seen);
    vec_done(&way);
    return may;
}

bool accounts_in_use(const struct core *c)
{
    return c->accounts.accounts > 0;
}

const char *account_default(const struct core *c, const char *user)
{
    const struct account_user *u = account_user_find(c, user);
    return u ? u->default_account : NULL;
}

bool assoc_has_qos(const struct core *c, const struct assocrec *r, const char *qos)
{
    if (!qos_find(c, qos))
        return false;
    for (; r; r = r->up) {
        if (r->a.qos)
            return list_has(r->a.qos, qos);
        if (r->a.qos_less && list_has(r->a.qos_less, qos))
            return false;
        if (r->a.qos_more && list_has(r->a.qos_more, qos))
            return true;
    }
    return false;
}

const char *assoc_qos_list(const struct core *c, const struct assocrec *r, struct arena *a)
{
    struct str out = STR_INIT;
    struct map_walk w = {0};
    while (map_u64_next(c->accounts.qos, &w)) { /* QOS get their numbers in the order they come */
        const struct qosrec *q = w.value;
        if (!q->q.deleted && assoc_has_qos(c, r, q->q.name))
            str_addf(&out, "%s%s", out.len ? "," : "", q->q.name);
    }
    const char *text = arena_strdup(a, str_text(&out));
    str_done(&out);
    return text;
}

const char *assoc_default_qos(const struct assocrec *r)
{
    for (; r; r = r->up)
        if (r->a.default_qos)
            return r->a.default_qos;
    return NULL;
}

const struct limit *assoc_limit(const struct assocrec *r, enum resource_limit what,
                                const char *tres)
{
    ASSERT(what < RESOURCE_LIMIT_COUNT);
    for (; r; r = r->up) {
        const struct limit *l = limit_own(&r->limit, what, tres);
        if (l)
            return l;
    }
    return NULL;
}

bool assoc_is_under(const struct assocrec *r, const struct assocrec *above)
{
    for (; r; r = r->up)
        if (r == above)
            return true;
    return false;
}

bool account_coordinates(const struct core *c, const char *user, const char *account)
{
    for (const struct assocrec *r = assoc_find(c, account, NULL, NULL); r; r = r->up) {
        const struct account *a = account_find(c, r->a.account);
        if (!a)
            continue;
        if (a->coordinators && list_has(a->coordinators, user))
            return true;
        if ((a->flags >> ACCOUNT_BIT_USERS_ARE_COORDS & 1u) &&
            assoc_find(c, r->a.account, user, NULL))
            return true;
    }
    return false;
}

enum admin_level account_level(const struct core *c, const char *user)
{
    const struct account_user *u = account_user_find(c, user);
    return u ? (enum admin_level)u->admin_level : ADMIN_NONE;
}

/* Sums, as a restart changes the order in which they came. */
uint64_t accounts_hash(const struct core *c, uint64_t hash)
{
    const struct account_book *b = &c->accounts;
    struct map_walk w = {0};
    uint64_t sum = 0;
    while (map_str_next(b->account, &w))
        sum += record_hash(&account_fields, w.value, HASH_INIT);
    for (w = (struct map_walk){0}; map_str_next(b->user, &w);)
        sum += record_hash(&account_user_fields, w.value, HASH_INIT);
    for (w = (struct map_walk){0}; map_u64_next(b->assoc, &w);)
        sum += record_hash(&assoc_fields, &((struct assocrec *)w.value)->a, HASH_INIT);
    for (w = (struct map_walk){0}; map_u64_next(b->qos, &w);)
        sum += record_hash(&qos_fields, &((struct qosrec *)w.value)->q, HASH_INIT);
    struct limit_walk lists = {0};
    for (const limit_list *of; (of = limits_next(c, &lists));)
        for (size_t i = 0; i < of->n; i++)
            sum += record_hash(&limit_fields, &of->v[i], HASH_INIT);
    for (w = (struct map_walk){0}; map_u64_next(b->wckey, &w);)
        sum += record_hash(&wckey_fields, w.value, HASH_INIT);
    return hash_bytes(hash, &sum, sizeof sum);
}
