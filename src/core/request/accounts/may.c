/* Who may: administrators everything; operators all but making operators and administrators;
 * coordinators of an account what is below it; everybody the defaults of his own. */
#include "core/request/accounts/may.h"
#include "base/list.h"
#include "base/plain.h"
#include "core/record/record.h"
#include "model/limits.h"

#include <string.h>

bool account_name_good(const char *name)
{
    if (text_empty(name) || strlen(name) > LIMIT_NAME_BYTES || name[0] == '-' || name[0] == '+')
        return false;
    for (const unsigned char *p = (const unsigned char *)name; *p; p++)
        if (*p <= ' ' || *p == 0x7f || strchr(",=/'\"\\:*?[]|;&<>", *p))
            return false;
    return text_is_plain(name);
}

/* Of the QOS that are given, each is one that the account above has: nobody gives what he has
 * not. */
static bool qos_is_given(const struct core *c, struct changes_asked *asked, const struct assoc *to,
                         const struct account_change *ch)
{
    const struct assocrec *above =
        to->user ? assoc_find(c, to->account, NULL, NULL) : assoc_find(c, to->parent, NULL, NULL);
    const struct assocrec *own = assoc_find(c, to->account, to->user, to->partition);
    if (!to->user && own)
        above = own->up;
    const char *const lists[] = {to->qos, to->qos_more, to->default_qos};
    size_t depth = 1;
    if (ch->list == LIST_LESS && ch->verb == VERB_MODIFY)
        return true;
    for (const struct assocrec *r = above; r && !r->a.qos; r = r->up)
        depth++;
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        const char *once = list_once(lists[i], 1, c->turn.fx->arena);
        struct span rest = span_of(once ? once : ""), piece;
        while (span_next(&rest, ',', &piece)) {
            *asked->looks += depth;
            const char *name = arena_strndup(c->turn.fx->arena, piece.data, piece.len);
            if (*name && !assoc_has_qos(c, above, name))
                return false;
        }
    }
    return true;
}

/* The account in whose hands it is: of a user's association the account, of an account's own the
 * one above it. */
static const char *account_over(const struct core *c, const struct assoc *a)
{
    const struct assocrec *r = assoc_find(c, a->account, NULL, NULL);
    if (a->user)
        return a->account;
    return r ? (r->up ? r->up->a.account : NULL) : a->parent;
}

static bool coordinates(const struct core *c, const char *account)
{
    return account && c->turn.peer->user && account_coordinates(c, c->turn.peer->user, account);
}

static void places_read(struct changes_asked *asked)
{
    const struct account_change *v = asked->all->changes.v;
    asked->place = map_str_new();
    asked->his = map_str_new();
    for (size_t i = 0; i < asked->all->changes.n; i++) {
        const struct assoc *a = v[i].assoc.n ? v[i].assoc.v : NULL;
        if (v[i].noun == NOUN_ASSOC && v[i].verb == VERB_ADD && a && a->account && !a->user &&
            !map_str_get(asked->place, a->account))
            map_str_put(asked->place, a->account, (void *)(uintptr_t)a);
    }
}

/* An account that a coordinator adds stands under one of his, or under one that he adds so. */
static bool added_under_his(const struct core *c, struct changes_asked *asked, const char *name)
{
    VEC(const char *) way = {0};
    bool his = false;
    if (!asked->place)
        places_read(asked);
    const char *at = name;
    for (size_t n = 0; !his && at && n <= asked->all->changes.n; n++) {
        const struct assoc *place = map_str_get(asked->place, at);
        vec_push(&way, at);
        at = place ? place->parent : NULL;
        his = at && (map_str_get(asked->his, at) || coordinates(c, at));
    }
    for (size_t i = 0; his && i < way.n; i++)
        map_str_put(asked->his, way.v[i], asked);
    vec_done(&way);
    return his;
}

static bool own_defaults(const struct core *c, const struct account_change *ch)
{
    const struct account_user *u = ch->user.n ? ch->user.v : NULL;
    struct span rest = span_of(ch->fields ? ch->fields : ""), piece;
    if (ch->noun != NOUN_USER || ch->verb != VERB_MODIFY || !u || ch->new_name ||
        !text_is(u->name, c->turn.peer->user))
        return false;
    while (span_next(&rest, ',', &piece))
        if (!span_is(piece, "default_account") && !span_is(piece, "default_wckey"))
            return false;
    return true;
}

static void removed_read(const struct core *c, struct changes_asked *asked)
{
    const struct account_change *v = asked->all->changes.v;
    asked->removed = map_str_new();
    for (size_t i = 0; i < asked->all->changes.n; i++) {
        const struct assoc *a = v[i].assoc.n ? v[i].assoc.v : NULL;
        if (v[i].noun == NOUN_ASSOC && v[i].verb == VERB_REMOVE && a && a->user &&
            coordinates(c, a->account))
            map_str_put(asked->removed, a->user, asked);
    }
}

/* The request took a user from an account of the coordinator, and now he is in none: he goes, too,
 * as the commands do it. */
static bool left_his(const struct core *c, struct changes_asked *asked, const char *user)
{
    if (!asked->removed)
        removed_read(c, asked);
    bool taken = map_str_get(asked->removed, user);
    const assocrec_vec *his = taken ? of_user(asked->of_user, c, user) : NULL;
    for (size_t i = 0; taken && i < his->n; i++)
        taken = his->v[i]->a.deleted;
    return taken;
}

void changes_asked_done(struct changes_asked *asked)
{
    map_str_free(asked->place);
    map_str_free(asked->his);
    map_str_free(asked->removed);
}

/* The user is in accounts of the coordinator, and in no other. */
static bool is_his_alone(const struct core *c, struct changes_asked *asked, const char *user)
{
    const assocrec_vec *all = of_user(asked->of_user, c, user);
    bool any = false;
    for (size_t i = 0; i < all->n; i++) {
        const struct assocrec *r = all->v[i];
        if (r->a.deleted)
            continue;
        if (!coordinates(c, r->a.account))
            return false;
        any = true;
    }
    return any;
}

static bool coordinator_may(struct core *c, struct changes_asked *asked,
                            const struct account_change *ch, const char **ret_detail)
{
    const struct assoc *a = ch->assoc.n ? ch->assoc.v : NULL;
    switch ((enum account_noun)ch->noun) {
    case NOUN_ACCOUNT: {
        const struct account *acct = ch->account.n ? ch->account.v : NULL;
        if (!acct)
            return false;
        if (ch->verb == VERB_ADD)
            return added_under_his(c, asked, acct->name);
        const struct assoc self = {.account = acct->name};
        return coordinates(c, account_over(c, &self));
    }
    case NOUN_USER: { /* a new one belongs to nobody yet; one that is there may be others', too */
        const struct account_user *u = ch->user.n ? ch->user.v : NULL;
        if (ch->verb == VERB_REMOVE)
            return u && u->name && (is_his_alone(c, asked, u->name) || left_his(c, asked, u->name));
        return ch->verb == VERB_ADD && u && !u->admin_level && coordinates(c, u->default_account);
    }
    case NOUN_ASSOC:
    case NOUN_COORDINATOR:
        if (!a || !coordinates(c, account_over(c, a)))
            return false;
        if (ch->noun == NOUN_ASSOC && !qos_is_given(c, asked, a, ch)) {
            *ret_detail = "a coordinator gives only QOS that the account has";
            return false;
        }
        return !list_has(ch->fields, "parent") || coordinates(c, a->parent);
    case NOUN_QOS:
    case NOUN_WCKEY: break;
    }
    return false;
}

bool core_loads_accounts(const struct core *c, const struct peer *peer)
{
    struct map_walk w = {0};
    if (peer_operates(c, peer) || peer_administers(c, peer))
        return true;
    while (peer->user && !peer->is_plain && map_str_next(c->accounts.account, &w))
        if (account_coordinates(c, peer->user, ((const struct account *)w.value)->name))
            return true;
    return false;
}

bool account_change_allowed(struct core *c, struct changes_asked *asked,
                            const struct account_change *ch, const char **ret_detail)
{
    const struct account_user *u = ch->user.n ? ch->user.v : NULL;
    if (peer_administers(c, c->turn.peer))
        return true;
    bool levels = ch->noun == NOUN_USER && u &&
                  (ch->verb == VERB_MODIFY ? list_has(ch->fields, "admin_level") : u->admin_level);
    bool above = ch->noun == NOUN_USER && u && (ch->verb == VERB_REMOVE || ch->new_name) &&
                 account_level(c, u->name) != ADMIN_NONE;
    if (levels || above) {
        *ret_detail = "only administrators make and unmake operators and administrators";
        return false;
    }
    if (peer_operates(c, c->turn.peer))
        return true;
    if (!c->turn.peer || c->turn.peer->is_plain || !c->turn.peer->user)
        return false;
    if (ch->no_usage) {
        *ret_detail = "only operators set RawUsage";
        return false;
    }
    return own_defaults(c, ch) || coordinator_may(c, asked, ch, ret_detail);
}
