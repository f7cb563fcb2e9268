/* change_accounts: all of its changes in their order, or none. Each is done in the book, whose journal
 * undoes all of them when one is refused, when it was only a trial, or when something that runs would
 * lose its ground. Then the rows are stored in the turn, with a transaction for each change, and
 * what follows for jobs is marked. */
#include "base/list.h"
#include "core/record/limits.h"
#include "core/record/record.h"
#include "core/request/accounts_may.h"
#include "core/request/request.h"
#include "model/limits.h"

#include <stdlib.h>
#include <string.h>

#define CHANGES_MAX 100000
#define TEXT_MAX    4096 /* of descriptions and lists */
#define INFO_MAX    2000 /* of a transaction */

struct change {
    struct core *c;
    struct arena *a; /* of the turn */
    const struct account_change *ch;
    VEC(struct account_changed) changed;
    const char *detail;
};

static enum refusal no(struct change *g, enum refusal refusal, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static enum refusal no(struct change *g, enum refusal refusal, const char *format, ...)
{
    struct str text = STR_INIT;
    va_list args;
    va_start(args, format);
    str_addv(&text, format, args);
    va_end(args);
    g->detail = arena_strdup(g->a, str_text(&text));
    str_done(&text);
    return refusal;
}

static void changed(struct change *g, enum account_verb verb, enum account_noun noun,
                    const char *name, const struct assoc *a, bool asked)
{
    struct account_changed row = {
        .verb = verb, .noun = noun, .name = arena_strdup(g->a, name), .asked = asked};
    if (a) {
        row.account = arena_strdup(g->a, a->account);
        row.user = arena_strdup(g->a, a->user);
        row.partition = arena_strdup(g->a, a->partition);
        row.parent = arena_strdup(g->a, a->parent);
    }
    vec_push(&g->changed, row);
}

/* ---- lists of words ------------------------------------------------------------------------- */

static const char *list_without(struct change *g, const char *list, const char *words)
{
    struct str out = STR_INIT;
    struct span rest = span_of(list ? list : ""), piece;
    while (span_next(&rest, ',', &piece)) {
        const char *word = arena_strndup(g->a, piece.data, piece.len);
        if (*word && !(words && list_has(words, word)))
            str_addf(&out, "%s%s", out.len ? "," : "", word);
    }
    const char *text = out.len ? arena_strdup(g->a, str_text(&out)) : NULL;
    str_done(&out);
    return text;
}

static const char *list_with(struct change *g, const char *list, const char *words)
{
    const char *rest = list_without(g, words, list);
    if (!list || !rest)
        return rest ? rest : list;
    return arena_printf(g->a, "%s,%s", list, rest);
}

static const char *list_put(struct change *g, const char *list, const char *words)
{
    switch ((enum account_list)g->ch->list) {
    case LIST_SET: return list_without(g, words, NULL);
    case LIST_MORE: return list_with(g, list, words);
    case LIST_LESS: return list_without(g, list, words);
    }
    return list;
}

static enum refusal qos_list_check(struct change *g, const char *list)
{
    struct span rest = span_of(list ? list : ""), piece;
    while (span_next(&rest, ',', &piece)) {
        const char *name = arena_strndup(g->a, piece.data, piece.len);
        if (*name && !qos_find(g->c, name))
            return no(g, REFUSE_QOS, "there is no QOS %s: add it first with sacctmgr add qos %s",
                      name, name);
    }
    return REFUSE_NONE;
}

/* Access to QOS: a list of its own, or what is more and less than above it. */
static void assoc_qos_put(struct change *g, struct assoc *a, const char *words)
{
    words = list_without(g, words, NULL);
    if (g->ch->list == LIST_SET) {
        a->qos = words;
        a->qos_more = a->qos_less = NULL;
    } else if (a->qos) {
        a->qos = list_put(g, a->qos, words);
        if (!a->qos) /* the last one was taken: none, not those above */
            a->qos_less = list_with(g, a->qos_less, words);
    } else if (g->ch->list == LIST_MORE) {
        a->qos_more = list_with(g, a->qos_more, words);
        a->qos_less = list_without(g, a->qos_less, words);
    } else {
        a->qos_less = list_with(g, a->qos_less, words);
        a->qos_more = list_without(g, a->qos_more, words);
    }
}

/* ---- fields --------------------------------------------------------------------------------- */

static const char *const fixed[] = {"name",    "id",      "account",    "user",     "partition",
                                    "deleted", "made_us", "changed_us", "qos_more", "qos_less"};

/* Sets the fields that the change names; qos of an association apart. */
static enum refusal fields_set(struct change *g, const struct fields *t, void *record,
                               const void *values)
{
    struct span rest = span_of(g->ch->fields ? g->ch->fields : ""), piece;
    while (g->ch->fields && span_next(&rest, ',', &piece)) {
        const char *name = arena_strndup(g->a, piece.data, piece.len);
        ptrdiff_t i = fields_find(t, name);
        bool wrong = i < 0;
        for (size_t k = 0; k < ARRAY_LEN(fixed); k++)
            wrong |= text_is(name, fixed[k]);
        if (wrong)
            return no(g, REFUSE_UPDATE, "\"%s\" of %s cannot be changed", name, t->name);
        const struct field *f = &t->field[i];
        if (t == &assoc_fields && text_is(name, "qos")) {
            assoc_qos_put(g, record, *(const char *const *)field_ptr(f, values));
        } else if (text_is(name, "preempt")) {
            const char **list = field_ptr(f, record);
            *list = list_put(g, *list, *(const char *const *)field_ptr(f, values));
        } else if (text_is(name, "flags") && g->ch->list != LIST_SET) {
            uint32_t *bits = field_ptr(f, record), some = *(const uint32_t *)field_ptr(f, values);
            *bits = g->ch->list == LIST_MORE ? *bits | some : *bits & ~some;
        } else {
            field_take(f, record, values);
        }
    }
    return REFUSE_NONE;
}

static enum refusal texts_check(struct change *g, const struct fields *t, const void *record)
{
    for (size_t i = 0; i < t->n; i++) {
        const char *text = t->field[i].type == FIELD_TEXT
                               ? *(const char *const *)field_ptr(&t->field[i], record)
                               : NULL;
        if (text && strlen(text) > TEXT_MAX)
            return no(g, REFUSE_TOO_LARGE, "%s has %zu bytes; at most %d are allowed",
                      t->field[i].name, strlen(text), TEXT_MAX);
    }
    return REFUSE_NONE;
}

static enum refusal name_check(struct change *g, const char *what, const char *name)
{
    if (account_name_good(name))
        return REFUSE_NONE;
    return no(g, REFUSE_UPDATE,
              "a name of %s has from 1 to %u letters, digits and signs, without blanks, quotes, "
              "commas, = / : * ? and brackets",
              what, LIMIT_NAME_BYTES);
}

/* ---- limits --------------------------------------------------------------------------------- */

static bool tres_is_known(const struct core *c, const char *tres)
{
    struct map_walk w = {0};
    while (map_u64_next(c->accounts.tres, &w)) {
        const struct tres *t = w.value;
        size_t len = strlen(t->type);
        if (t->name ? strncmp(tres, t->type, len) == 0 && tres[len] == '/' &&
                          text_is_nocase(tres + len + 1, t->name)
                    : text_is(tres, t->type))
            return true;
    }
    return text_starts(tres, "license/");
}

static enum refusal limit_check(struct change *g, enum limit_owner owner, const struct limit *l)
{
    const struct resource_limit_row *row = &resource_limit_table[l->what];
    bool of_tres = row->unit == UNIT_TRES || row->unit == UNIT_TRES_MINUTES;
    if (!(row->owners >> owner & 1u))
        return no(g, REFUSE_UPDATE, "%s is no limit of %s", row->word,
                  owner == OWNER_QOS ? "a QOS" : "an association");
    if (of_tres != !text_empty(l->tres))
        return no(g, REFUSE_UPDATE,
                  of_tres ? "%s needs resources, as in %s=cpu=4" : "%s counts no resources",
                  row->word, row->word);
    if (of_tres && !tres_is_known(g->c, l->tres))
        return no(g, REFUSE_UPDATE,
                  "%s: there is no resource \"%s\" here; sacctmgr show tres lists those there are",
                  row->word, l->tres);
    if (l->hours)
        return no(g, REFUSE_UPDATE, "%s: hours of a limit are not there yet", row->word);
    return REFUSE_NONE;
}

static enum refusal limits_set(struct change *g, enum limit_owner owner, uint32_t id, bool *ret_any)
{
    const struct limit *v = g->ch->limits.v;
    for (size_t i = 0; i < g->ch->limits.n; i++) {
        struct limit l = v[i];
        enum refusal refusal = limit_check(g, owner, &l);
        if (refusal)
            return refusal;
        l.owner = owner;
        l.owner_id = id;
        l.id = arena_printf(g->a, "%s/%u/%s%s%s", enum_name(&limit_owner_names, owner), id,
                            enum_name(&resource_limit_names, l.what), l.tres ? "/" : "",
                            l.tres ? l.tres : "");
        if (l.value < 0)
            limit_drop(g->c, l.id);
        else
            accounts_put(g->c, TABLE_LIMIT, &l);
        *ret_any = true;
    }
    return REFUSE_NONE;
}

static void limits_lift(struct change *g, limit_list *list)
{
    while (list->n)
        limit_drop(g->c, arena_strdup(g->a, list->v[list->n - 1]->id));
}

/* ---- accounts ------------------------------------------------------------------------------- */

static enum refusal account_add(struct change *g, const struct account *asked)
{
    struct account a = *asked;
    enum refusal refusal = name_check(g, "an account", a.name);
    if (!refusal)
        refusal = texts_check(g, &account_fields, &a);
    if (refusal || account_find(g->c, a.name))
        return refusal;
    a.coordinators = NULL;
    a.deleted = false;
    a.made_us = a.changed_us = g->c->turn.now_us;
    a.description = text_empty(a.description) ? a.name : a.description;
    a.organization = text_empty(a.organization) ? a.name : a.organization;
    accounts_put(g->c, TABLE_ACCOUNT, &a);
    changed(g, VERB_ADD, NOUN_ACCOUNT, a.name, NULL, true);
    return REFUSE_NONE;
}

static enum refusal account_modify(struct change *g, const struct account *asked)
{
    struct account *there = account_find(g->c, asked->name);
    if (!there)
        return no(g, REFUSE_NO_SUCH_ACCOUNT, "there is no account %s", asked->name);
    struct account a = *there;
    enum refusal refusal = list_has(g->ch->fields, "coordinators")
                               ? no(g, REFUSE_UPDATE, "coordinators are added and deleted")
                               : fields_set(g, &account_fields, &a, asked);
    if (!refusal)
        refusal = texts_check(g, &account_fields, &a);
    if (refusal)
        return refusal;
    a.changed_us = g->c->turn.now_us;
    accounts_put(g->c, TABLE_ACCOUNT, &a);
    changed(g, VERB_MODIFY, NOUN_ACCOUNT, a.name, NULL, true);
    return REFUSE_NONE;
}

/* Not in the place of a default while the user has others. */
static enum refusal default_check(struct change *g, const struct assoc *a)
{
    const struct account_user *u = a->user ? account_user_find(g->c, a->user) : NULL;
    struct map_walk w = {0};
    if (!u || a->partition || !text_is(u->default_account, a->account))
        return REFUSE_NONE;
    while (map_u64_next(g->c->accounts.assoc, &w)) {
        const struct assocrec *r = w.value;
        if (!r->a.deleted && text_is(r->a.user, a->user) && !text_is(r->a.account, a->account))
            return no(g, REFUSE_DEFAULT_ACCOUNT,
                      "%s is the default account of %s: set another first with sacctmgr modify "
                      "user %s set defaultaccount=%s",
                      a->account, a->user, a->user, r->a.account);
    }
    return REFUSE_NONE;
}

static void assoc_drop(struct change *g, struct assocrec *r, bool asked)
{
    struct assoc gone = r->a;
    limits_lift(g, &r->limit);
    gone.deleted = true;
    gone.changed_us = g->c->turn.now_us;
    changed(g, VERB_REMOVE, NOUN_ASSOC, NULL, &gone, asked);
    accounts_put(g->c, TABLE_ASSOC, &gone);
}

/* A user without any account has no default. */
static void default_forget(struct change *g, const char *user)
{
    struct account_user *there = user ? account_user_find(g->c, user) : NULL;
    if (!there || assoc_find(g->c, there->default_account, user, NULL))
        return;
    struct account_user u = *there;
    u.default_account = NULL;
    accounts_put(g->c, TABLE_ACCOUNT_USER, &u);
}

/* It and all below it. */
static enum refusal assoc_remove(struct change *g, struct assocrec *top, bool check_default)
{
    struct map_walk w = {0};
    enum refusal refusal = check_default ? default_check(g, &top->a) : REFUSE_NONE;
    VEC(struct assocrec *) under = {0};
    while (map_u64_next(g->c->accounts.assoc, &w)) {
        struct assocrec *r = w.value;
        if (!r->a.deleted && assoc_is_under(r, top))
            vec_push(&under, r);
    }
    for (size_t i = 0; i < under.n && !refusal; i++) {
        struct assocrec *r = under.v[i];
        const char *user = arena_strdup(g->a, r->a.user);
        assoc_drop(g, r, r == top);
        if (user && !r->a.partition)
            default_forget(g, user);
    }
    for (size_t i = 0; i < under.n && !refusal; i++) {
        struct account *there =
            under.v[i]->a.user ? NULL : account_find(g->c, under.v[i]->a.account);
        if (!there || text_is(there->name, ROOT_ACCOUNT))
            continue;
        struct account gone = *there;
        gone.deleted = true;
        gone.coordinators = NULL;
        gone.changed_us = g->c->turn.now_us;
        changed(g, VERB_REMOVE, NOUN_ACCOUNT, gone.name, NULL, under.v[i] == top);
        accounts_put(g->c, TABLE_ACCOUNT, &gone);
    }
    vec_done(&under);
    return refusal;
}

static enum refusal account_remove(struct change *g, const struct account *asked)
{
    struct assocrec *r = assoc_find(g->c, asked->name, NULL, NULL);
    if (text_is(asked->name, ROOT_ACCOUNT))
        return no(g, REFUSE_UPDATE, "the account root is the root of all others and stays");
    if (!account_find(g->c, asked->name))
        return no(g, REFUSE_NO_SUCH_ACCOUNT, "there is no account %s", asked->name);
    if (r)
        return assoc_remove(g, r, false);
    struct account gone = *account_find(g->c, asked->name);
    gone.deleted = true;
    accounts_put(g->c, TABLE_ACCOUNT, &gone);
    changed(g, VERB_REMOVE, NOUN_ACCOUNT, gone.name, NULL, true);
    return REFUSE_NONE;
}

/* ---- users ---------------------------------------------------------------------------------- */

static enum refusal user_add(struct change *g, const struct account_user *asked)
{
    struct account_user u = *asked;
    enum refusal refusal = name_check(g, "a user", u.name);
    if (!refusal)
        refusal = texts_check(g, &account_user_fields, &u);
    if (refusal || account_user_find(g->c, u.name))
        return refusal;
    if (!account_find(g->c, u.default_account))
        return no(g, REFUSE_NO_SUCH_ACCOUNT, "there is no account %s to be the default of %s",
                  u.default_account ? u.default_account : "(none given)", u.name);
    u.deleted = false;
    u.made_us = u.changed_us = g->c->turn.now_us;
    accounts_put(g->c, TABLE_ACCOUNT_USER, &u);
    changed(g, VERB_ADD, NOUN_USER, u.name, NULL, true);
    return REFUSE_NONE;
}

static enum refusal user_modify(struct change *g, const struct account_user *asked)
{
    struct account_user *there = account_user_find(g->c, asked->name);
    if (!there)
        return no(g, REFUSE_NO_SUCH_ACCOUNT, "there is no user %s", asked->name);
    struct account_user u = *there;
    enum refusal refusal = fields_set(g, &account_user_fields, &u, asked);
    if (!refusal)
        refusal = texts_check(g, &account_user_fields, &u);
    if (!refusal && !assoc_find(g->c, u.default_account, u.name, NULL) && u.default_account)
        refusal = no(g, REFUSE_NO_SUCH_ACCOUNT, "%s has no association with account %s", u.name,
                     u.default_account);
    if (refusal)
        return refusal;
    u.changed_us = g->c->turn.now_us;
    accounts_put(g->c, TABLE_ACCOUNT_USER, &u);
    changed(g, VERB_MODIFY, NOUN_USER, u.name, NULL, true);
    return REFUSE_NONE;
}

static void coordinator_forget(struct change *g, const char *user)
{
    struct map_walk w = {0};
    while (map_str_next(g->c->accounts.account, &w)) {
        struct account a = *(const struct account *)w.value;
        if (!a.coordinators || !list_has(a.coordinators, user))
            continue;
        a.coordinators = list_without(g, a.coordinators, user);
        accounts_put(g->c, TABLE_ACCOUNT, &a);
    }
}

static enum refusal user_remove(struct change *g, const struct account_user *asked)
{
    struct map_walk w = {0};
    struct account_user *there = account_user_find(g->c, asked->name);
    if (!there)
        return no(g, REFUSE_NO_SUCH_ACCOUNT, "there is no user %s", asked->name);
    if (text_is(asked->name, "root"))
        return no(g, REFUSE_UPDATE, "the user root stays");
    while (map_u64_next(g->c->accounts.assoc, &w)) {
        struct assocrec *r = w.value;
        if (!r->a.deleted && text_is(r->a.user, asked->name))
            assoc_drop(g, r, false);
    }
    coordinator_forget(g, asked->name);
    struct account_user gone = *account_user_find(g->c, asked->name);
    gone.deleted = true;
    gone.admin_level = ADMIN_NONE;
    gone.default_account = NULL;
    gone.changed_us = g->c->turn.now_us;
    accounts_put(g->c, TABLE_ACCOUNT_USER, &gone);
    changed(g, VERB_REMOVE, NOUN_USER, gone.name, NULL, true);
    return REFUSE_NONE;
}

/* ---- associations --------------------------------------------------------------------------- */

static enum refusal parent_check(struct change *g, const struct assoc *a)
{
    const struct assocrec *self = assoc_find(g->c, a->account, NULL, NULL),
                          *above = assoc_find(g->c, a->parent, NULL, NULL);
    if (text_is(a->account, ROOT_ACCOUNT))
        return a->parent ? no(g, REFUSE_UPDATE, "the account root has none above it") : REFUSE_NONE;
    if (!above)
        return no(g, REFUSE_NO_SUCH_ACCOUNT, "there is no account %s to stand above %s",
                  a->parent ? a->parent : "(none given)", a->account);
    if (self && assoc_is_under(above, self))
        return no(g, REFUSE_UPDATE, "%s stands below %s itself", a->parent, a->account);
    return REFUSE_NONE;
}

static enum refusal assoc_check(struct change *g, const struct assoc *a)
{
    enum refusal refusal = texts_check(g, &assoc_fields, a);
    if (!refusal)
        refusal = qos_list_check(g, a->qos);
    if (!refusal)
        refusal = qos_list_check(g, a->qos_more);
    if (!refusal)
        refusal = qos_list_check(g, a->default_qos);
    if (!refusal && !a->user)
        refusal = parent_check(g, a);
    return refusal;
}

static enum refusal assoc_add(struct change *g, const struct assoc *asked)
{
    struct assoc a = *asked;
    bool any = false;
    enum refusal refusal = REFUSE_NONE;
    if (!account_find(g->c, a.account))
        return no(g, REFUSE_NO_SUCH_ACCOUNT, "there is no account %s", a.account);
    if (a.user && !account_user_find(g->c, a.user))
        return no(g, REFUSE_NO_SUCH_ACCOUNT, "there is no user %s", a.user);
    if (a.user && !assoc_find(g->c, a.account, NULL, NULL))
        return no(g, REFUSE_NO_SUCH_ACCOUNT, "the account %s has no place in the tree", a.account);
    if (a.partition && (!a.user || !account_name_good(a.partition)))
        return no(g, REFUSE_UPDATE, "only associations of users are of one partition");
    a.parent = a.user ? NULL : text_empty(a.parent) ? ROOT_ACCOUNT : a.parent;
    refusal = assoc_check(g, &a);
    if (refusal || assoc_find(g->c, a.account, a.user, a.partition))
        return refusal;
    struct map_walk w = {0};
    a.id = 0;
    while (!a.id && map_u64_next(g->c->accounts.assoc, &w)) { /* it had a number once */
        const struct assoc *r = &((struct assocrec *)w.value)->a;
        if (r->deleted && text_is(r->account, a.account) &&
            (r->user == a.user || text_is(r->user, a.user)) &&
            (r->partition == a.partition || text_is(r->partition, a.partition)))
            a.id = r->id;
    }
    a.id = a.id ? a.id : accounts_next_id(g->c, TABLE_ASSOC);
    a.deleted = false;
    a.made_us = a.changed_us = g->c->turn.now_us;
    accounts_put(g->c, TABLE_ASSOC, &a);
    changed(g, VERB_ADD, NOUN_ASSOC, NULL, &a, true);
    return limits_set(g, OWNER_ASSOC, a.id, &any);
}

static enum refusal assoc_modify(struct change *g, const struct assoc *asked)
{
    struct assocrec *there = assoc_find(g->c, asked->account, asked->user, asked->partition);
    bool any = false;
    if (!there)
        return no(g, REFUSE_NO_SUCH_ACCOUNT, "there is no association of %s%s%s",
                  asked->user ? asked->user : "", asked->user ? " with account " : "account ",
                  asked->account);
    struct assoc a = there->a;
    enum refusal refusal = fields_set(g, &assoc_fields, &a, asked);
    if (!refusal)
        refusal = assoc_check(g, &a);
    if (refusal)
        return refusal;
    a.changed_us = g->c->turn.now_us;
    accounts_put(g->c, TABLE_ASSOC, &a);
    changed(g, VERB_MODIFY, NOUN_ASSOC, NULL, &a, true);
    return limits_set(g, OWNER_ASSOC, a.id, &any);
}

static enum refusal coordinator_change(struct change *g, const struct assoc *asked)
{
    struct account *there = account_find(g->c, asked->account);
    if (!there)
        return no(g, REFUSE_NO_SUCH_ACCOUNT, "there is no account %s", asked->account);
    if (!account_user_find(g->c, asked->user))
        return no(g, REFUSE_NO_SUCH_ACCOUNT, "there is no user %s",
                  asked->user ? asked->user : "(none given)");
    bool has = there->coordinators && list_has(there->coordinators, asked->user);
    if (has == (g->ch->verb == VERB_ADD))
        return REFUSE_NONE;
    struct account a = *there;
    a.coordinators = has ? list_without(g, a.coordinators, asked->user)
                         : list_with(g, a.coordinators, asked->user);
    enum refusal refusal = texts_check(g, &account_fields, &a);
    if (refusal)
        return refusal;
    accounts_put(g->c, TABLE_ACCOUNT, &a);
    changed(g, (enum account_verb)g->ch->verb, NOUN_COORDINATOR, NULL, asked, true);
    return REFUSE_NONE;
}

/* ---- QOS ------------------------------------------------------------------------------------ */

static enum refusal qos_add(struct change *g, const struct qos *asked)
{
    struct qos q = *asked;
    bool any = false;
    enum refusal refusal = name_check(g, "a QOS", q.name);
    if (!refusal)
        refusal = texts_check(g, &qos_fields, &q);
    if (!refusal)
        refusal = qos_list_check(g, q.preempt);
    if (refusal || qos_find(g->c, q.name))
        return refusal;
    const struct qosrec *former = map_str_get(g->c->accounts.qos_of, q.name);
    q.id = former ? former->q.id : accounts_next_id(g->c, TABLE_QOS);
    q.deleted = false;
    q.made_us = q.changed_us = g->c->turn.now_us;
    q.description = text_empty(q.description) ? q.name : q.description;
    accounts_put(g->c, TABLE_QOS, &q);
    changed(g, VERB_ADD, NOUN_QOS, q.name, NULL, true);
    return limits_set(g, OWNER_QOS, q.id, &any);
}

static enum refusal qos_modify(struct change *g, const struct qos *asked)
{
    struct qosrec *there = qos_find(g->c, asked->name);
    bool any = false;
    if (!there)
        return no(g, REFUSE_QOS, "there is no QOS %s", asked->name);
    struct qos q = there->q;
    enum refusal refusal = fields_set(g, &qos_fields, &q, asked);
    if (!refusal)
        refusal = texts_check(g, &qos_fields, &q);
    if (!refusal)
        refusal = qos_list_check(g, q.preempt);
    if (!refusal && q.preempt && list_has(q.preempt, q.name))
        refusal = no(g, REFUSE_UPDATE, "jobs of a QOS do not give way to each other");
    if (refusal)
        return refusal;
    q.changed_us = g->c->turn.now_us;
    accounts_put(g->c, TABLE_QOS, &q);
    changed(g, VERB_MODIFY, NOUN_QOS, q.name, NULL, true);
    return limits_set(g, OWNER_QOS, q.id, &any);
}

/* Nobody has it any more. */
static void qos_withdraw(struct change *g, const char *name)
{
    struct map_walk w = {0};
    while (map_u64_next(g->c->accounts.assoc, &w)) {
        struct assoc a = ((const struct assocrec *)w.value)->a;
        bool named = (a.qos && list_has(a.qos, name)) ||
                     (a.qos_more && list_has(a.qos_more, name)) ||
                     (a.qos_less && list_has(a.qos_less, name)) || text_is(a.default_qos, name);
        if (a.deleted || !named)
            continue;
        a.qos = list_without(g, a.qos, name);
        a.qos_more = list_without(g, a.qos_more, name);
        a.qos_less = list_without(g, a.qos_less, name);
        a.default_qos = text_is(a.default_qos, name) ? NULL : a.default_qos;
        accounts_put(g->c, TABLE_ASSOC, &a);
    }
    for (w = (struct map_walk){0}; map_u64_next(g->c->accounts.qos, &w);) {
        struct qos q = ((const struct qosrec *)w.value)->q;
        if (q.deleted || !q.preempt || !list_has(q.preempt, name))
            continue;
        q.preempt = list_without(g, q.preempt, name);
        accounts_put(g->c, TABLE_QOS, &q);
    }
}

static enum refusal qos_remove(struct change *g, const struct qos *asked)
{
    struct qosrec *there = qos_find(g->c, asked->name);
    if (!there)
        return no(g, REFUSE_QOS, "there is no QOS %s", asked->name);
    struct qos gone = there->q;
    gone.name = arena_strdup(g->a, gone.name);
    limits_lift(g, &there->limit);
    qos_withdraw(g, gone.name);
    gone = there->q;
    gone.deleted = true;
    gone.changed_us = g->c->turn.now_us;
    accounts_put(g->c, TABLE_QOS, &gone);
    changed(g, VERB_REMOVE, NOUN_QOS, gone.name, NULL, true);
    return REFUSE_NONE;
}

/* ---- workload keys -------------------------------------------------------------------------- */

static struct wckey *wckey_find(const struct core *c, const char *name, const char *user)
{
    struct map_walk w = {0};
    while (map_u64_next(c->accounts.wckey, &w)) {
        struct wckey *k = w.value;
        if (text_is(k->name, name) && text_is(k->user, user))
            return k;
    }
    return NULL;
}

static enum refusal wckey_change(struct change *g, const struct wckey *asked)
{
    struct wckey k = *asked;
    const struct wckey *there;
    enum refusal refusal = name_check(g, "a workload key", k.name);
    if (!refusal)
        refusal = name_check(g, "a user", k.user);
    if (refusal)
        return refusal;
    there = wckey_find(g->c, k.name, k.user);
    if (g->ch->verb == VERB_MODIFY)
        return no(g, REFUSE_UPDATE, "a workload key is added or deleted");
    bool has = there && !there->deleted;
    if (has == (g->ch->verb == VERB_ADD))
        return REFUSE_NONE;
    k.id = there ? there->id : accounts_next_id(g->c, TABLE_WCKEY);
    k.deleted = has;
    k.made_us = there ? there->made_us : g->c->turn.now_us;
    k.changed_us = g->c->turn.now_us;
    accounts_put(g->c, TABLE_WCKEY, &k);
    const struct assoc who = {.user = k.user};
    changed(g, (enum account_verb)g->ch->verb, NOUN_WCKEY, k.name, &who, true);
    return REFUSE_NONE;
}

/* ---- one change ----------------------------------------------------------------------------- */

static enum refusal assoc_verb(struct change *g, const struct assoc *a)
{
    struct assocrec *r;
    switch ((enum account_verb)g->ch->verb) {
    case VERB_ADD: return assoc_add(g, a);
    case VERB_MODIFY: return assoc_modify(g, a);
    case VERB_REMOVE: break;
    }
    r = assoc_find(g->c, a->account, a->user, a->partition);
    if (!r)
        return no(g, REFUSE_NO_SUCH_ACCOUNT, "there is no such association");
    if (!a->user)
        return no(g, REFUSE_UPDATE, "an account's association goes with the account");
    return assoc_remove(g, r, true);
}

#define DEED(noun, list, tag)                                                                      \
    case NOUN_##noun: {                                                                            \
        const struct tag *v = ch->list.v;                                                          \
        return ch->list.n != 1           ? no(g, REFUSE_BAD_MESSAGE, "a change is of one " #list)  \
               : ch->verb == VERB_ADD    ? list##_add(g, v)                                        \
               : ch->verb == VERB_MODIFY ? list##_modify(g, v)                                     \
                                         : list##_remove(g, v);                                    \
    }

static enum refusal change_do(struct change *g)
{
    const struct account_change *ch = g->ch;
    switch ((enum account_noun)ch->noun) {
        DEED(ACCOUNT, account, account)
        DEED(USER, user, account_user)
        DEED(QOS, qos, qos)
    case NOUN_ASSOC:
    case NOUN_COORDINATOR:
        if (ch->assoc.n != 1 || text_empty(((const struct assoc *)ch->assoc.v)->account))
            return no(g, REFUSE_BAD_MESSAGE, "a change is of one association");
        return ch->noun == NOUN_ASSOC ? assoc_verb(g, ch->assoc.v)
                                      : coordinator_change(g, ch->assoc.v);
    case NOUN_WCKEY:
        return ch->wckey.n == 1 ? wckey_change(g, ch->wckey.v)
                                : no(g, REFUSE_BAD_MESSAGE, "a change is of one workload key");
    }
    return no(g, REFUSE_BAD_MESSAGE, "there is no such change");
}

/* ---- transactions --------------------------------------------------------------------------- */

static void name_add(struct str *out, const char *name)
{
    if (name && !list_has(str_text(out), name))
        str_addf(out, "%s%s", out->len ? "," : "", name);
}

static void values_say(const struct fields *t, const void *record, struct str *out)
{
    static const char *const apart[] = {"made_us", "changed_us", "id"};
    for (size_t i = 0; i < t->n && out->len < INFO_MAX; i++) {
        const struct field *f = &t->field[i];
        const void *p = field_ptr(f, record);
        bool skip = false;
        for (size_t k = 0; k < ARRAY_LEN(apart); k++)
            skip |= text_is(f->name, apart[k]);
        if (!skip && f->type == FIELD_TEXT && *(const char *const *)p)
            str_addf(out, "%s%s='%s'", out->len ? "," : "", f->name, *(const char *const *)p);
        else if (!skip && (f->type == FIELD_U32 || f->type == FIELD_I32) && *(const uint32_t *)p)
            str_addf(out, "%s%s=%d", out->len ? "," : "", f->name, *(const int32_t *)p);
    }
}

/* What was asked, not what it brought with it. */
static void info_say(const struct account_change *ch, struct str *out)
{
    const struct limit *l = ch->limits.v;
    if (ch->verb == VERB_REMOVE)
        return;
    if (ch->account.n)
        values_say(&account_fields, ch->account.v, out);
    if (ch->user.n)
        values_say(&account_user_fields, ch->user.v, out);
    if (ch->assoc.n)
        values_say(&assoc_fields, ch->assoc.v, out);
    if (ch->qos.n)
        values_say(&qos_fields, ch->qos.v, out);
    if (ch->wckey.n)
        values_say(&wckey_fields, ch->wckey.v, out);
    for (size_t i = 0; i < ch->limits.n && out->len < INFO_MAX; i++)
        str_addf(out, "%s%s=%s%s%lld", out->len ? "," : "", resource_limit_table[l[i].what].word,
                 l[i].tres ? l[i].tres : "", l[i].tres ? "=" : "", (long long)l[i].value);
}

static void transaction_note(struct change *g, size_t first)
{
    static const char *const verbs[] = {
        [VERB_ADD] = "Add", [VERB_MODIFY] = "Modify", [VERB_REMOVE] = "Remove"};
    static const char *const nouns[] = {
        [NOUN_ACCOUNT] = "Accounts", [NOUN_USER] = "Users",   [NOUN_ASSOC] = "Associations",
        [NOUN_QOS] = "QOS",          [NOUN_WCKEY] = "WCKeys", [NOUN_COORDINATOR] = "Account Coord"};
    struct str info = STR_INIT, target = STR_INIT, accounts = STR_INIT, users = STR_INIT;
    struct core *c = g->c;
    struct transaction t = {.at_us = c->turn.now_us};
    if (g->changed.n == first)
        return;
    t.id = (uint64_t)c->turn.now_us > c->accounts.last_transaction
               ? (uint64_t)c->turn.now_us
               : c->accounts.last_transaction + 1;
    c->accounts.last_transaction = t.id;
    for (size_t i = first; i < g->changed.n && target.len < INFO_MAX; i++) {
        const struct account_changed *v = &g->changed.v[i];
        name_add(&target, v->name ? v->name : v->user ? v->user : v->account);
        name_add(&accounts, v->noun == NOUN_ACCOUNT ? v->name : v->account);
        name_add(&users, v->noun == NOUN_USER ? v->name : v->user);
    }
    info_say(g->ch, &info);
    t.actor =
        c->turn.peer->user ? c->turn.peer->user : arena_printf(g->a, "uid %u", c->turn.peer->uid);
    t.action = arena_printf(g->a, "%s %s", verbs[g->ch->verb], nouns[g->ch->noun]);
    t.target = str_text(&target);
    t.info = info.len ? str_text(&info) : NULL;
    t.accounts = accounts.len ? str_text(&accounts) : NULL;
    t.users = users.len ? str_text(&users) : NULL;
    fx_store(c, TABLE_TRANSACTION, &t);
    str_done(&info);
    str_done(&target);
    str_done(&accounts);
    str_done(&users);
}

/* ---- the request ---------------------------------------------------------------------------- */

/* Nothing that waits or runs may lose the association or QOS that it is of. */
static enum refusal jobs_check(struct change *g)
{
    struct map_walk w = {0};
    bool any = false;
    for (size_t i = 0; i < g->changed.n; i++)
        any |= g->changed.v[i].verb == VERB_REMOVE &&
               (g->changed.v[i].noun == NOUN_ASSOC || g->changed.v[i].noun == NOUN_QOS);
    while (any && map_u64_next(g->c->jobs.by_id, &w)) {
        const struct jobrec *r = w.value;
        const struct job_request *req = &r->j.spec.req;
        if (!job_live(r))
            continue;
        for (size_t i = 0; i < g->changed.n; i++) {
            const struct account_changed *v = &g->changed.v[i];
            bool of_it = v->verb == VERB_REMOVE &&
                         ((v->noun == NOUN_ASSOC && v->user && text_is(v->user, r->j.user_name) &&
                           text_is(v->account, req->account) &&
                           !assoc_for(g->c, req->account, v->user, NULL)) ||
                          (v->noun == NOUN_QOS && text_is(v->name, req->qos)));
            if (of_it)
                return no(g, REFUSE_ASSOC_BUSY,
                          "job %llu of %s (account %s, QOS %s) is not over: cancel it, or give it "
                          "another with scontrol update",
                          (unsigned long long)r->j.id, r->j.user_name ? r->j.user_name : "?",
                          req->account ? req->account : "none", req->qos ? req->qos : "none");
        }
    }
    return REFUSE_NONE;
}

/* Jobs are looked at anew with what is allowed now. */
static void accounts_follow(struct core *c)
{
    usage_factors(c);
    limits_anew(c);
    plan_soon(c);
}

static enum refusal changes_do(struct change *g, const struct msg_change_accounts *m)
{
    const struct account_change *v = m->changes.v;
    enum refusal refusal = REFUSE_NONE;
    if (m->changes.n > CHANGES_MAX)
        return no(g, REFUSE_TOO_LARGE, "%zu changes at once; at most %d are allowed", m->changes.n,
                  CHANGES_MAX);
    for (size_t i = 0; i < m->changes.n && !refusal; i++) {
        size_t first = g->changed.n;
        g->ch = &v[i];
        if (!account_change_allowed(g->c, m, g->ch, &g->detail))
            return REFUSE_ACCESS_DENIED;
        refusal = change_do(g);
        if (!refusal && !m->test_only)
            transaction_note(g, first);
    }
    return refusal ? refusal : jobs_check(g);
}

void req_change_accounts(struct core *c, const struct msg_change_accounts *m)
{
    struct change g = {.c = c, .a = c->turn.fx->arena};
    size_t effects = c->turn.fx->n;
    accounts_journal(c);
    enum refusal refusal = changes_do(&g, m);
    if (refusal || m->test_only) {
        c->turn.fx->n = effects; /* transactions of what is undone */
        accounts_undo(c);
    } else {
        accounts_keep(c);
        accounts_follow(c);
    }
    struct msg_accounts_changed answer = {.changed = {.v = g.changed.v, .n = g.changed.n}};
    if (refusal)
        reply_done(c, refusal, g.detail);
    else
        fx_reply(c, c->turn.conn, c->turn.seq, MSG_ACCOUNTS_CHANGED, &answer);
    vec_done(&g.changed);
}
