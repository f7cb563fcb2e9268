/* Accounts, users, associations, QOS and their limits as they are, those that were removed among
 * them (`deleted`): who asks filters. In the order of their numbers, or in which they came.
 *
 * With PrivateData, who asks sees his own accounts and those he coordinates, with those above them,
 * so that what he sees is a tree. What he sees is worked out once for all rows of the answer,
 * however many parts it has. */
#include "base/alloc.h"
#include "base/list.h"
#include "core/query/query.h"
#include "core/record/accounts/limit_book.h"
#include "core/record/accounts/private.h"
#include "core/record/record.h"

#include <stdlib.h>

struct sight {
    const struct core *c;
    const struct peer *peer;
    bool users, accounts;           /* are private to others */
    struct map_str *account, *user; /* those that are seen all the same */
};

static void seen(struct map_str *m, const char *name)
{
    map_str_put(m, name, (void *)(uintptr_t)1);
}

/* Its account and those above; that of a user stands below his account, which has the same name. */
static void chain_seen(const struct sight *s, const struct assocrec *r)
{
    for (r = r->a.user ? r->up : r; r && !map_str_get(s->account, r->a.account); r = r->up)
        seen(s->account, r->a.account);
}

static void sight_open(struct sight *s, const struct core *c, const struct peer *peer)
{
    const struct setting_words *word = &c->settings.word;
    bool operates = peer_operates(c, peer);
    struct map_walk w = {0};
    *s = (struct sight){.c = c,
                        .peer = peer,
                        .users = word->private_users && !operates,
                        .accounts = (word->private_accounts || word->private_users) && !operates};
    if (!s->accounts)
        return;
    s->account = map_str_new();
    s->user = map_str_new();
    while (map_u64_next(c->accounts.assoc, &w)) {
        const struct assocrec *r = w.value;
        bool self = r->a.user && peer && peer->user && text_is(r->a.user, peer->user);
        if (r->a.deleted || (!self && !peer_coordinates(c, peer, r->a.account)))
            continue;
        chain_seen(s, r);
        if (r->a.user)
            seen(s->user, r->a.user);
    }
    if (peer && peer->user)
        seen(s->user, peer->user);
}

static void sight_drop(void *kept)
{
    struct sight *s = kept;
    map_str_free(s->account);
    map_str_free(s->user);
    free(s);
}

static bool account_seen(const struct sight *s, const char *name)
{
    return !s->accounts || map_str_get(s->account, name);
}

static bool user_seen(const struct sight *s, const char *name)
{
    return !s->users || map_str_get(s->user, name);
}

/* Of another user in an account only its coordinators see that he is in it. */
static bool assoc_seen(const struct sight *s, const struct assoc *a)
{
    bool others = a->user && !(s->peer && s->peer->user && text_is(a->user, s->peer->user));
    if (s->users && others)
        return peer_coordinates(s->c, s->peer, a->account);
    return account_seen(s, a->account);
}

static bool limit_seen(const struct sight *s, const struct limit *l)
{
    if (!s->accounts || l->owner != OWNER_ASSOC)
        return true;
    const struct assocrec *r = map_u64_get(s->c->accounts.assoc, l->owner_id);
    return r && assoc_seen(s, &r->a);
}

static bool row_seen(const struct sight *s, enum query_what what, const void *row)
{
    switch (what) {
    case QUERY_ACCOUNTS: return account_seen(s, ((const struct account *)row)->name);
    case QUERY_ACCOUNT_USERS: return user_seen(s, ((const struct account_user *)row)->name);
    case QUERY_ASSOCS: return assoc_seen(s, row);
    case QUERY_LIMITS: return limit_seen(s, row);
    case QUERY_WCKEYS: return user_seen(s, ((const struct wckey *)row)->user);
    case QUERY_QOS:
    case QUERY_TRES:
    case QUERY_JOBS:
    case QUERY_NODES:
    case QUERY_PARTITIONS:
    case QUERY_STEPS:
    case QUERY_SETTINGS:
    case QUERY_STATUS:
    case QUERY_HISTORY:
    case QUERY_RESERVATIONS:
    case QUERY_PRIORITY:
    case QUERY_SHARES:
    case QUERY_FAIR_SHARES:
    case QUERY_DIAG:
    case QUERY_TRIGGERS:
    case QUERY_TOKENS:
    case QUERY_HOSTS:
    case QUERY_TRANSACTIONS:
    case QUERY_USED:
    case QUERY_NODE_SPELLS:
    case QUERY_PAST_RESERVATIONS:
    case QUERY_LIMIT_USE:
    case QUERY_IN_USE: break;
    }
    return true;
}

/* Of those who coordinate it, whom he sees. */
static void account_tell(const struct sight *s, const struct account *account, const struct view *v)
{
    struct account shown = *account;
    struct span rest = span_of(account->coordinators ? account->coordinators : ""), name;
    struct str names = STR_INIT;
    while (span_next(&rest, ',', &name)) {
        char *one = xstrndup(name.data, name.len);
        if (user_seen(s, one))
            list_addf(&names, "%s", one);
        free(one);
    }
    shown.coordinators = names.len ? str_text(&names) : NULL;
    v->row(v->ctx, &shown);
    str_done(&names);
}

/* Those of so many owners. */
static void limits_tell(const struct sight *s, const struct view *v, struct query_at *at,
                        size_t most)
{
    struct limit_walk w = {.owner = at->walk, .of_qos = at->second};
    const limit_list *of = NULL;
    struct arena *a = arena_new();
    for (at->more = true; at->more && most; most--) {
        of = limits_next(s->c, &w);
        at->more = of != NULL;
        for (size_t i = 0; of && i < of->n; i++) {
            struct limit l = of->v[i];
            l.id = limit_id(&l, a);
            if (limit_seen(s, &l))
                v->row(v->ctx, &l);
        }
        arena_reset(a);
    }
    arena_free(a);
    at->walk = w.owner;
    at->second = w.of_qos;
}

enum refusal query_accounts(const struct core *c, const struct msg_query *q,
                            const struct peer *peer, const struct view *v, struct query_at *at,
                            size_t most)
{
    ASSERT(most > 0);
    const struct account_book *b = &c->accounts;
    const struct map_str *by_name = q->what == QUERY_ACCOUNTS        ? b->account
                                    : q->what == QUERY_ACCOUNT_USERS ? b->user
                                                                     : NULL;
    const struct map_u64 *by_id = q->what == QUERY_ASSOCS   ? b->assoc
                                  : q->what == QUERY_QOS    ? b->qos
                                  : q->what == QUERY_WCKEYS ? b->wckey
                                                            : b->tres;
    if (!at->kept) {
        at->kept = xcalloc(1, sizeof(struct sight));
        at->drop = sight_drop;
        sight_open(at->kept, c, peer);
    }
    struct sight *s = at->kept;
    s->c = c;
    s->peer = peer;
    /* Of associations and QOS the record stands first. */
    for (at->more = q->what != QUERY_LIMITS; at->more && most; most--) {
        at->more = by_name ? map_str_next(by_name, &at->walk) : map_u64_next(by_id, &at->walk);
        if (!at->more || !row_seen(s, (enum query_what)q->what, at->walk.value))
            continue;
        if (q->what == QUERY_ACCOUNTS && s->users)
            account_tell(s, at->walk.value, v);
        else
            v->row(v->ctx, at->walk.value);
    }
    if (q->what == QUERY_LIMITS)
        limits_tell(s, v, at, most);
    return REFUSE_NONE;
}
