/* Changes of accounts, users, associations and coordinators: the tree stays one. */
#include "base/list.h"
#include "core/record/record.h"
#include "core/request/accounts/change.h"
#include "core/request/accounts/may.h"
#include "model/limits.h"

/* ---- accounts ------------------------------------------------------------------------------- */

enum refusal change_account_add(struct account_step *g, const struct account *asked)
{
    ASSERT(g->ch && g->ch->noun == NOUN_ACCOUNT);
    struct account a = *asked;
    enum refusal refusal = change_name_check(g, "an account", a.name);
    if (!refusal)
        refusal = change_texts_check(g, &account_fields, &a);
    if (refusal || account_find(g->c, a.name))
        return refusal;
    a.coordinators = NULL;
    a.deleted = false;
    a.made_us = a.changed_us = g->c->turn.now_us;
    a.description = text_empty(a.description) ? a.name : a.description;
    a.organization = text_empty(a.organization) ? a.name : a.organization;
    accounts_put(g->c, TABLE_ACCOUNT, &a);
    change_did(g, VERB_ADD, NOUN_ACCOUNT, a.name, NULL, true);
    return REFUSE_NONE;
}

enum refusal change_account_modify(struct account_step *g, const struct account *asked)
{
    ASSERT(g->ch && g->ch->noun == NOUN_ACCOUNT);
    struct account *there = account_find(g->c, asked->name);
    if (!there)
        return change_refuse(g, REFUSE_NO_SUCH_ACCOUNT, "there is no account %s", asked->name);
    struct account a = *there;
    enum refusal refusal =
        list_has(g->ch->fields, "coordinators")
            ? change_refuse(g, REFUSE_UPDATE, "coordinators are added and deleted")
            : change_fields(g, &account_fields, &a, asked);
    if (!refusal)
        refusal = change_texts_check(g, &account_fields, &a);
    if (refusal)
        return refusal;
    if (!change_is_none(g, &account_fields, &a, there)) {
        a.changed_us = g->c->turn.now_us;
        accounts_put(g->c, TABLE_ACCOUNT, &a);
    }
    change_did(g, VERB_MODIFY, NOUN_ACCOUNT, a.name, NULL, true);
    return REFUSE_NONE;
}

/* Does the user keep the account in another partition, or in all of them? */
static bool keeps_account(const assocrec_vec *his, const struct assoc *a)
{
    for (size_t i = 0; i < his->n; i++) {
        const struct assocrec *r = his->v[i];
        if (!r->a.deleted && r->a.id != a->id && text_is(r->a.account, a->account))
            return true;
    }
    return false;
}

/* Not in the place of a default while the user has others. */
static enum refusal default_check(struct account_step *g, const struct assoc *a)
{
    const struct account_user *u = a->user ? account_user_find(g->c, a->user) : NULL;
    if (!u || !text_is(u->default_account, a->account))
        return REFUSE_NONE;
    const assocrec_vec *his = of_user(&g->of_user, g->c, a->user);
    if (keeps_account(his, a))
        return REFUSE_NONE;
    for (size_t i = 0; i < his->n; i++) {
        const struct assocrec *r = his->v[i];
        if (!r->a.deleted && !text_is(r->a.account, a->account))
            return change_refuse(
                g, REFUSE_DEFAULT_ACCOUNT,
                "%s is the default account of %s: set another first with sacctmgr modify "
                "user %s set defaultaccount=%s",
                a->account, a->user, a->user, r->a.account);
    }
    return REFUSE_NONE;
}

static void assoc_drop(struct account_step *g, struct assocrec *r, bool asked)
{
    struct assoc gone = r->a;
    change_limits_lift(g, &r->limit);
    gone.deleted = true;
    gone.changed_us = g->c->turn.now_us;
    change_did(g, VERB_REMOVE, NOUN_ASSOC, NULL, &gone, asked);
    accounts_put(g->c, TABLE_ASSOC, &gone);
}

/* Of users whose association went: who has their default account no more, in no partition either,
 * has none. */
static void defaults_forget(struct account_step *g, struct map_str *user)
{
    struct map_walk w = {0};
    while (map_str_next(user, &w)) {
        struct account_user u = *(const struct account_user *)w.value;
        const assocrec_vec *his = of_user(&g->of_user, g->c, u.name);
        bool has = false;
        for (size_t i = 0; i < his->n; i++)
            has |= !his->v[i]->a.deleted && text_is(u.default_account, his->v[i]->a.account);
        if (has)
            continue;
        u.default_account = NULL;
        accounts_put(g->c, TABLE_ACCOUNT_USER, &u);
    }
}

static enum refusal below_read(struct account_step *g, struct assocrec *top, assocrec_vec *out)
{
    const assocrec_vec *all;
    enum refusal refusal = change_under(g, top, &all);
    for (size_t i = 0; i < all->n; i++)
        if (!all->v[i]->a.deleted)
            vec_push(out, all->v[i]);
    return refusal;
}

/* It and all below it. */
enum refusal change_assoc_remove(struct account_step *g, struct assocrec *top, bool check_default)
{
    ASSERT(!top->a.deleted);
    enum refusal refusal = check_default ? default_check(g, &top->a) : REFUSE_NONE;
    assocrec_vec under = {0};
    struct map_str *without = map_str_new(); /* user → struct account_user */
    if (top->a.user)                         /* nothing is below a user's */
        vec_push(&under, top);
    if (!refusal && !top->a.user)
        refusal = below_read(g, top, &under);
    for (size_t i = 0; i < under.n && !refusal; i++) {
        struct assocrec *r = under.v[i];
        struct account_user *u = r->a.user ? account_user_find(g->c, r->a.user) : NULL;
        if (u && text_is(u->default_account, r->a.account))
            map_str_put(without, u->name, u);
        assoc_drop(g, r, r == top);
    }
    defaults_forget(g, without);
    for (size_t i = 0; i < under.n && !refusal; i++) {
        struct account *there =
            under.v[i]->a.user ? NULL : account_find(g->c, under.v[i]->a.account);
        if (!there || text_is(there->name, ROOT_ACCOUNT))
            continue;
        struct account gone = *there;
        gone.deleted = true;
        gone.coordinators = NULL;
        gone.changed_us = g->c->turn.now_us;
        change_did(g, VERB_REMOVE, NOUN_ACCOUNT, gone.name, NULL, under.v[i] == top);
        accounts_put(g->c, TABLE_ACCOUNT, &gone);
    }
    map_str_free(without);
    vec_done(&under);
    return refusal;
}

enum refusal change_account_remove(struct account_step *g, const struct account *asked)
{
    ASSERT(g->ch && g->ch->noun == NOUN_ACCOUNT);
    struct assocrec *r = assoc_find(g->c, asked->name, NULL, NULL);
    if (text_is(asked->name, ROOT_ACCOUNT))
        return change_refuse(g, REFUSE_UPDATE,
                             "the account root is the root of all others and stays");
    if (!account_find(g->c, asked->name))
        return change_refuse(g, REFUSE_NO_SUCH_ACCOUNT, "there is no account %s", asked->name);
    if (r)
        return change_assoc_remove(g, r, false);
    struct account gone = *account_find(g->c, asked->name);
    gone.deleted = true;
    accounts_put(g->c, TABLE_ACCOUNT, &gone);
    change_did(g, VERB_REMOVE, NOUN_ACCOUNT, gone.name, NULL, true);
    return REFUSE_NONE;
}

/* ---- users ---------------------------------------------------------------------------------- */

static enum refusal default_wckey_check(struct account_step *g, const struct account_user *asked)
{
    return text_empty(asked->default_wckey)
               ? REFUSE_NONE
               : change_name_check(g, "a workload key", asked->default_wckey);
}

enum refusal change_user_add(struct account_step *g, const struct account_user *asked)
{
    ASSERT(g->ch && g->ch->noun == NOUN_USER);
    struct account_user u = *asked;
    enum refusal refusal = change_name_check(g, "a user", u.name);
    if (!refusal)
        refusal = change_texts_check(g, &account_user_fields, &u);
    if (!refusal)
        refusal = default_wckey_check(g, &u);
    if (refusal || account_user_find(g->c, u.name))
        return refusal;
    if (!account_find(g->c, u.default_account))
        return change_refuse(g, REFUSE_NO_SUCH_ACCOUNT,
                             "there is no account %s to be the default of %s",
                             u.default_account ? u.default_account : "(none given)", u.name);
    u.deleted = false;
    u.made_us = u.changed_us = g->c->turn.now_us;
    accounts_put(g->c, TABLE_ACCOUNT_USER, &u);
    change_did(g, VERB_ADD, NOUN_USER, u.name, NULL, true);
    return REFUSE_NONE;
}

enum refusal change_user_modify(struct account_step *g, const struct account_user *asked)
{
    ASSERT(g->ch && g->ch->noun == NOUN_USER);
    struct account_user *there = account_user_find(g->c, asked->name);
    if (!there)
        return change_refuse(g, REFUSE_NO_SUCH_ACCOUNT, "there is no user %s", asked->name);
    struct account_user u = *there;
    enum refusal refusal = change_fields(g, &account_user_fields, &u, asked);
    if (!refusal)
        refusal = change_texts_check(g, &account_user_fields, &u);
    if (!refusal && list_has(g->ch->fields, "default_wckey"))
        refusal = default_wckey_check(g, asked);
    if (!refusal && !assoc_find(g->c, u.default_account, u.name, NULL) && u.default_account)
        refusal = change_refuse(g, REFUSE_NO_SUCH_ACCOUNT, "%s has no association with account %s",
                                u.name, u.default_account);
    if (refusal)
        return refusal;
    bool none = change_is_none(g, &account_user_fields, &u, there);
    u.changed_us = g->c->turn.now_us;
    if (g->ch->new_name) {
        of_user_done(&g->of_user);
        return change_user_rename(g, &u, g->ch->new_name);
    }
    if (!none)
        accounts_put(g->c, TABLE_ACCOUNT_USER, &u);
    change_did(g, VERB_MODIFY, NOUN_USER, u.name, NULL, true);
    return REFUSE_NONE;
}

static void coordinators_read(struct account_step *g)
{
    struct map_walk w = {0};
    g->coordinators = map_str_new();
    while (map_str_next(g->c->accounts.account, &w)) {
        const char *list = ((const struct account *)w.value)->coordinators;
        struct span rest = span_of(list ? list : ""), piece;
        while (span_next(&rest, ',', &piece))
            map_str_put(g->coordinators, arena_strndup(g->a, piece.data, piece.len), g);
    }
}

/* Few are any, and then all accounts are gone through. */
static enum refusal coordinator_forget(struct account_step *g, const char *user)
{
    struct map_walk w = {0};
    if (!g->coordinators)
        coordinators_read(g);
    if (!map_str_get(g->coordinators, user))
        return REFUSE_NONE;
    while (map_str_next(g->c->accounts.account, &w)) {
        struct account a = *(const struct account *)w.value;
        if (!a.coordinators || !list_has(a.coordinators, user))
            continue;
        a.coordinators = words_without(g, a.coordinators, user);
        accounts_put(g->c, TABLE_ACCOUNT, &a);
    }
    return change_looks(g, map_str_count(g->c->accounts.account));
}

enum refusal change_user_remove(struct account_step *g, const struct account_user *asked)
{
    ASSERT(g->ch && g->ch->noun == NOUN_USER);
    struct account_user *there = account_user_find(g->c, asked->name);
    if (!there)
        return change_refuse(g, REFUSE_NO_SUCH_ACCOUNT, "there is no user %s", asked->name);
    if (text_is(asked->name, "root"))
        return change_refuse(g, REFUSE_UPDATE, "the user root stays");
    const assocrec_vec *his = of_user(&g->of_user, g->c, asked->name);
    for (size_t i = 0; i < his->n; i++)
        if (!his->v[i]->a.deleted)
            assoc_drop(g, his->v[i], false);
    enum refusal refusal = coordinator_forget(g, asked->name);
    if (refusal)
        return refusal;
    struct account_user gone = *account_user_find(g->c, asked->name);
    gone.deleted = true;
    gone.admin_level = ADMIN_NONE;
    gone.default_account = NULL;
    gone.changed_us = g->c->turn.now_us;
    accounts_put(g->c, TABLE_ACCOUNT_USER, &gone);
    change_did(g, VERB_REMOVE, NOUN_USER, gone.name, NULL, true);
    return REFUSE_NONE;
}

/* ---- associations --------------------------------------------------------------------------- */

/* How many are above it, itself among them; of a store that had no bound it may be more than one
 * would be let make. */
static size_t depth_of(const struct assocrec *r)
{
    size_t n = 0;
    for (; r; r = r->up)
        n++;
    return n;
}

/* How many levels the account and what is below it have. */
static enum refusal height_of(struct account_step *g, struct assocrec *top, size_t *ret)
{
    const assocrec_vec *all;
    enum refusal refusal = change_under(g, top, &all);
    size_t most = 1;
    for (size_t i = 0; i < all->n; i++) {
        const struct assocrec *r = all->v[i];
        size_t n = 1;
        if (r->a.user || r->a.deleted)
            continue;
        for (; r && r != top; r = r->up)
            n++;
        if (r && n > most)
            most = n;
    }
    *ret = most;
    return refusal;
}

static enum refusal parent_check(struct account_step *g, const struct assoc *a)
{
    struct assocrec *self = assoc_find(g->c, a->account, NULL, NULL);
    const struct assocrec *above = assoc_find(g->c, a->parent, NULL, NULL);
    size_t height = 1;
    if (text_is(a->account, ROOT_ACCOUNT))
        return a->parent ? change_refuse(g, REFUSE_UPDATE, "the account root has none above it")
                         : REFUSE_NONE;
    if (!above)
        return change_refuse(g, REFUSE_NO_SUCH_ACCOUNT, "there is no account %s to stand above %s",
                             a->parent ? a->parent : "(none given)", a->account);
    if (self && assoc_is_under(above, self))
        return change_refuse(g, REFUSE_UPDATE, "%s stands below %s itself", a->parent, a->account);
    if (self && self->up == above)
        return REFUSE_NONE;
    enum refusal refusal = self ? height_of(g, self, &height) : REFUSE_NONE;
    if (refusal)
        return refusal;
    size_t depth = depth_of(above) + height;
    if (depth > LIMIT_ACCOUNT_DEPTH)
        return change_refuse(g, REFUSE_UPDATE,
                             "%s would have accounts %zu deep below root; %u are allowed, as each "
                             "job counts in all above it",
                             a->account, depth, LIMIT_ACCOUNT_DEPTH);
    return REFUSE_NONE;
}

static enum refusal assoc_check(struct account_step *g, const struct assoc *a)
{
    enum refusal refusal = change_texts_check(g, &assoc_fields, a);
    if (!refusal)
        refusal = change_qos_check(g, a->qos);
    if (!refusal)
        refusal = change_qos_check(g, a->qos_more);
    if (!refusal)
        refusal = change_qos_check(g, a->default_qos);
    if (!refusal && !a->user)
        refusal = parent_check(g, a);
    return refusal;
}

enum refusal change_assoc_add(struct account_step *g, const struct assoc *asked)
{
    struct assoc a = *asked;
    bool any = false;
    enum refusal refusal = REFUSE_NONE;
    if (!account_find(g->c, a.account))
        return change_refuse(g, REFUSE_NO_SUCH_ACCOUNT, "there is no account %s", a.account);
    if (a.user && !account_user_find(g->c, a.user))
        return change_refuse(g, REFUSE_NO_SUCH_ACCOUNT, "there is no user %s", a.user);
    if (a.user && !assoc_find(g->c, a.account, NULL, NULL))
        return change_refuse(g, REFUSE_NO_SUCH_ACCOUNT, "the account %s has no place in the tree",
                             a.account);
    if (a.partition && (!a.user || !account_name_good(a.partition)))
        return change_refuse(g, REFUSE_UPDATE, "only associations of users are of one partition");
    a.parent = a.user ? NULL : text_empty(a.parent) ? ROOT_ACCOUNT : a.parent;
    refusal = assoc_check(g, &a);
    if (refusal || assoc_find(g->c, a.account, a.user, a.partition))
        return refusal;
    const struct assocrec *once = assoc_ever(g->c, a.account, a.user, a.partition);
    a.id = once ? once->a.id : accounts_next_id(g->c, TABLE_ASSOC);
    a.deleted = false;
    a.made_us = a.changed_us = g->c->turn.now_us;
    const struct assocrec *former = once ? once->up : NULL;
    accounts_put(g->c, TABLE_ASSOC, &a);
    struct assocrec *made = assoc_find(g->c, a.account, a.user, a.partition);
    if (!once)
        of_user_made(&g->of_user, made);
    under_moved(&g->under, made, former);
    change_did(g, VERB_ADD, NOUN_ASSOC, NULL, &a, true);
    return change_limits(g, OWNER_ASSOC, a.id, &any);
}

enum refusal change_assoc_modify(struct account_step *g, const struct assoc *asked)
{
    struct assocrec *there = assoc_find(g->c, asked->account, asked->user, asked->partition);
    bool any = false;
    if (!there)
        return change_refuse(g, REFUSE_NO_SUCH_ACCOUNT, "there is no association of %s%s%s",
                             asked->user ? asked->user : "",
                             asked->user ? " with account " : "account ", asked->account);
    struct assoc a = there->a;
    enum refusal refusal = change_fields(g, &assoc_fields, &a, asked);
    if (!refusal)
        refusal = assoc_check(g, &a);
    if (refusal)
        return refusal;
    const struct assocrec *former = there->up;
    if (!change_is_none(g, &assoc_fields, &a, &there->a)) {
        a.changed_us = g->c->turn.now_us;
        accounts_put(g->c, TABLE_ASSOC, &a);
    }
    if (there->up != former) {
        under_moved(&g->under, there, former);
        change_fuller(g, a.id);
    }
    change_did(g, VERB_MODIFY, NOUN_ASSOC, NULL, &a, true);
    return change_limits(g, OWNER_ASSOC, a.id, &any);
}

enum refusal change_coordinator_change(struct account_step *g, const struct assoc *asked)
{
    struct account *there = account_find(g->c, asked->account);
    if (!there)
        return change_refuse(g, REFUSE_NO_SUCH_ACCOUNT, "there is no account %s", asked->account);
    if (!account_user_find(g->c, asked->user))
        return change_refuse(g, REFUSE_NO_SUCH_ACCOUNT, "there is no user %s",
                             asked->user ? asked->user : "(none given)");
    bool has = there->coordinators && list_has(there->coordinators, asked->user);
    if (has == (g->ch->verb == VERB_ADD))
        return REFUSE_NONE;
    struct account a = *there;
    a.coordinators = has ? words_without(g, a.coordinators, asked->user)
                         : words_with(g, a.coordinators, asked->user);
    enum refusal refusal = change_texts_check(g, &account_fields, &a);
    if (refusal)
        return refusal;
    accounts_put(g->c, TABLE_ACCOUNT, &a);
    if (g->coordinators && !has)
        map_str_put(g->coordinators, asked->user, g);
    change_did(g, (enum account_verb)g->ch->verb, NOUN_COORDINATOR, NULL, asked, true);
    return REFUSE_NONE;
}
