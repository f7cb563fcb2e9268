/* Changes of QOS and workload keys. */
#include "base/list.h"
#include "core/record/record.h"
#include "core/request/accounts/change.h"
#include "core/request/accounts/may.h"
#include "model/grammar/gpu_idle.h"

/* ---- QOS ------------------------------------------------------------------------------------ */

static enum refusal gpu_idle_check(struct account_step *g, const char *text)
{
    struct gpu_idle read;
    struct err err = {0};
    return gpu_idle_parse(text, &read, &err) ? REFUSE_NONE
                                             : change_refuse(g, REFUSE_UPDATE, "%s", err.text);
}

/* Which QOS may stop others is no circle, or jobs would stop each other without end. */
static enum refusal preempt_loop_check(struct account_step *g, const char *name)
{
    const char *last;
    if (!qos_may_stop(g->c, name, name, &last))
        return REFUSE_NONE;
    return change_refuse(g, REFUSE_QOS_LOOP,
                         "QOS preemption loop: %s may stop %s%s, which may stop %s", name,
                         text_is(last, name) ? "" : "others and in the end ", last, name);
}

enum refusal change_qos_add(struct account_step *g, const struct qos *asked)
{
    ASSERT(g->ch && g->ch->noun == NOUN_QOS);
    struct qos q = *asked;
    bool any = false;
    enum refusal refusal = change_name_check(g, "a QOS", q.name);
    if (!refusal)
        refusal = change_texts_check(g, &qos_fields, &q);
    if (!refusal)
        refusal = change_qos_check(g, q.preempt);
    if (!refusal)
        refusal = gpu_idle_check(g, q.gpu_idle);
    if (refusal || qos_find(g->c, q.name))
        return refusal;
    const struct qosrec *former = map_str_get(g->c->accounts.qos_of, q.name);
    q.id = former ? former->q.id : accounts_next_id(g->c, TABLE_QOS);
    q.deleted = false;
    q.made_us = q.changed_us = g->c->turn.now_us;
    q.description = text_empty(q.description) ? q.name : q.description;
    accounts_put(g->c, TABLE_QOS, &q);
    refusal = preempt_loop_check(g, q.name);
    if (refusal)
        return refusal;
    change_did(g, VERB_ADD, NOUN_QOS, q.name, NULL, true);
    return change_limits(g, OWNER_QOS, q.id, &any);
}

enum refusal change_qos_modify(struct account_step *g, const struct qos *asked)
{
    ASSERT(g->ch && g->ch->noun == NOUN_QOS);
    struct qosrec *there = qos_find(g->c, asked->name);
    bool any = false;
    if (!there)
        return change_refuse(g, REFUSE_QOS, "there is no QOS %s", asked->name);
    struct qos q = there->q;
    enum refusal refusal = change_fields(g, &qos_fields, &q, asked);
    if (!refusal)
        refusal = change_texts_check(g, &qos_fields, &q);
    if (!refusal)
        refusal = change_qos_check(g, q.preempt);
    if (!refusal)
        refusal = gpu_idle_check(g, q.gpu_idle);
    if (refusal)
        return refusal;
    q.changed_us = g->c->turn.now_us;
    accounts_put(g->c, TABLE_QOS, &q);
    refusal = preempt_loop_check(g, q.name);
    if (refusal)
        return refusal;
    change_did(g, VERB_MODIFY, NOUN_QOS, q.name, NULL, true);
    return change_limits(g, OWNER_QOS, q.id, &any);
}

/* Nobody has it any more. */
static void qos_withdraw(struct account_step *g, const char *name)
{
    struct map_walk w = {0};
    while (map_u64_next(g->c->accounts.assoc, &w)) {
        struct assoc a = ((const struct assocrec *)w.value)->a;
        bool named = (a.qos && list_has(a.qos, name)) ||
                     (a.qos_more && list_has(a.qos_more, name)) ||
                     (a.qos_less && list_has(a.qos_less, name)) || text_is(a.default_qos, name);
        if (a.deleted || !named)
            continue;
        a.qos = words_without(g, a.qos, name);
        a.qos_more = words_without(g, a.qos_more, name);
        a.qos_less = words_without(g, a.qos_less, name);
        a.default_qos = text_is(a.default_qos, name) ? NULL : a.default_qos;
        accounts_put(g->c, TABLE_ASSOC, &a);
    }
    for (w = (struct map_walk){0}; map_u64_next(g->c->accounts.qos, &w);) {
        struct qos q = ((const struct qosrec *)w.value)->q;
        if (q.deleted || !q.preempt || !list_has(q.preempt, name))
            continue;
        q.preempt = words_without(g, q.preempt, name);
        accounts_put(g->c, TABLE_QOS, &q);
    }
}

enum refusal change_qos_remove(struct account_step *g, const struct qos *asked)
{
    ASSERT(g->ch && g->ch->noun == NOUN_QOS);
    struct qosrec *there = qos_find(g->c, asked->name);
    if (!there)
        return change_refuse(g, REFUSE_QOS, "there is no QOS %s", asked->name);
    enum refusal refusal = change_looks(g, map_u64_count(g->c->accounts.assoc));
    if (refusal)
        return refusal;
    struct qos gone = there->q;
    gone.name = arena_strdup(g->a, gone.name);
    change_limits_lift(g, &there->limit);
    qos_withdraw(g, gone.name);
    gone = there->q;
    gone.deleted = true;
    gone.changed_us = g->c->turn.now_us;
    accounts_put(g->c, TABLE_QOS, &gone);
    change_did(g, VERB_REMOVE, NOUN_QOS, gone.name, NULL, true);
    return REFUSE_NONE;
}

/* ---- workload keys -------------------------------------------------------------------------- */

enum refusal change_wckey_change(struct account_step *g, const struct wckey *asked)
{
    ASSERT(g->ch && g->ch->noun == NOUN_WCKEY);
    struct wckey k = *asked;
    const struct wckey *there;
    enum refusal refusal = change_name_check(g, "a workload key", k.name);
    if (!refusal)
        refusal = change_name_check(g, "a user", k.user);
    if (refusal)
        return refusal;
    there = wckey_ever(g->c, k.name, k.user);
    if (g->ch->verb == VERB_MODIFY)
        return change_refuse(g, REFUSE_UPDATE, "a workload key is added or deleted");
    bool has = there && !there->deleted;
    if (has == (g->ch->verb == VERB_ADD))
        return REFUSE_NONE;
    k.id = there ? there->id : accounts_next_id(g->c, TABLE_WCKEY);
    k.deleted = has;
    k.made_us = there ? there->made_us : g->c->turn.now_us;
    k.changed_us = g->c->turn.now_us;
    accounts_put(g->c, TABLE_WCKEY, &k);
    const struct assoc who = {.user = k.user};
    change_did(g, (enum account_verb)g->ch->verb, NOUN_WCKEY, k.name, &who, true);
    return REFUSE_NONE;
}

/* ---- default QOS ---------------------------------------------------------------------------- */

/* Associations of which the request changes access to QOS, or the default. */
static struct map_u64 *qos_touched(const struct core *c, const struct msg_change_accounts *m)
{
    struct map_u64 *touched = map_u64_new();
    const struct account_change *v = m->changes.v;
    for (size_t i = 0; i < m->changes.n; i++) {
        const struct assoc *asked = v[i].assoc.n ? v[i].assoc.v : NULL;
        if (v[i].noun != NOUN_ASSOC || v[i].verb != VERB_MODIFY || !asked || !v[i].fields ||
            !(list_has(v[i].fields, "qos") || list_has(v[i].fields, "default_qos")))
            continue;
        struct assocrec *r = assoc_find(c, asked->account, asked->user, asked->partition);
        if (r)
            map_u64_put(touched, r->a.id, r);
    }
    return touched;
}

static bool is_touched(const struct map_u64 *touched, const struct assocrec *r)
{
    for (; r; r = r->up)
        if (map_u64_get(touched, r->a.id))
            return true;
    return false;
}

enum refusal change_defaults_check(struct account_step *g, const struct msg_change_accounts *m)
{
    struct map_u64 *touched = qos_touched(g->c, m);
    struct map_walk w = {0};
    enum refusal refusal = REFUSE_NONE;
    while (map_u64_count(touched) && !refusal && map_u64_next(g->c->accounts.assoc, &w)) {
        const struct assocrec *r = w.value;
        const char *own = r->a.deleted ? NULL : assoc_default_qos(r);
        if (!own || assoc_has_qos(g->c, r, own) || !is_touched(touched, r))
            continue;
        const char *list = assoc_qos_list(g->c, r, g->a);
        refusal = change_refuse(
            g, REFUSE_QOS,
            "%s would have the default QOS %s and may use %s: give access to "
            "it, or another default, in the same command",
            r->a.user ? arena_printf(g->a, "%s with account %s", r->a.user, r->a.account)
                      : arena_printf(g->a, "account %s", r->a.account),
            own, *list ? list : "none");
    }
    map_u64_free(touched);
    return refusal;
}
