/* A user gets another name: the user, associations, keys and coordinators. Associations keep their
 * numbers, and with them limits, shares and what was used. The past is told under the name that was
 * then; who still has jobs keeps the name, for they carry it. */
#include "base/list.h"
#include "core/record/record.h"
#include "core/request/accounts/change.h"

static enum refusal name_is_free(struct account_step *g, const char *from, const char *to)
{
    struct map_walk w = {0};
    const struct account_user *there = account_user_find(g->c, to);
    if (text_is(from, "root"))
        return change_refuse(g, REFUSE_UPDATE, "the user root keeps the name");
    if (there)
        return change_refuse(g, REFUSE_UPDATE, "there is a user %s; delete that one first", to);
    while (map_u64_next(g->c->accounts.assoc, &w)) {
        const struct assoc *a = &((const struct assocrec *)w.value)->a;
        if (!a->deleted && text_is(a->user, from) && assoc_ever(g->c, a->account, to, a->partition))
            return change_refuse(g, REFUSE_UPDATE,
                                 "a user %s was in account %s before, whose use that is: add %s "
                                 "again, and delete %s",
                                 to, a->account, to, from);
    }
    return REFUSE_NONE;
}

static enum refusal has_no_jobs(struct account_step *g, const char *user)
{
    struct map_walk w = {0};
    while (map_u64_next(g->c->jobs.by_id, &w)) {
        const struct jobrec *r = w.value;
        if (job_live(r) && text_is(r->j.user_name, user))
            return change_refuse(g, REFUSE_ASSOC_BUSY,
                                 "job %llu of %s is not over: a name is changed when no job has it",
                                 (unsigned long long)r->j.id, user);
    }
    return REFUSE_NONE;
}

static void associations_rename(struct account_step *g, const char *from, const char *to)
{
    struct map_walk w = {0};
    while (map_u64_next(g->c->accounts.assoc, &w)) {
        struct assoc a = ((const struct assocrec *)w.value)->a;
        if (a.deleted || !text_is(a.user, from))
            continue;
        a.user = to;
        a.changed_us = g->c->turn.now_us;
        accounts_put(g->c, TABLE_ASSOC, &a);
        change_did(g, VERB_MODIFY, NOUN_ASSOC, NULL, &a, false);
    }
}

static void wckeys_rename(struct account_step *g, const char *from, const char *to)
{
    struct map_walk w = {0};
    while (map_u64_next(g->c->accounts.wckey, &w)) {
        struct wckey k = *(const struct wckey *)w.value;
        if (k.deleted || !text_is(k.user, from))
            continue;
        k.user = to;
        accounts_put(g->c, TABLE_WCKEY, &k);
    }
}

static void coordinators_rename(struct account_step *g, const char *from, const char *to)
{
    struct map_walk w = {0};
    while (map_str_next(g->c->accounts.account, &w)) {
        struct account a = *(const struct account *)w.value;
        if (!a.coordinators || !list_has(a.coordinators, from))
            continue;
        a.coordinators = words_with(g, words_without(g, a.coordinators, from), to);
        accounts_put(g->c, TABLE_ACCOUNT, &a);
    }
}

enum refusal change_user_rename(struct account_step *g, const struct account_user *as,
                                const char *to)
{
    ASSERT(as->name && to);
    const char *from = arena_strdup(g->a, as->name);
    struct account_user gone = *account_user_find(g->c, from), u = *as;
    enum refusal refusal = change_name_check(g, "a user", to);
    if (!refusal)
        refusal =
            change_looks(g, map_u64_count(g->c->accounts.assoc) + map_u64_count(g->c->jobs.by_id));
    if (!refusal)
        refusal = name_is_free(g, from, to);
    if (!refusal)
        refusal = has_no_jobs(g, from);
    if (refusal)
        return refusal;
    u.name = to;
    u.made_us = gone.made_us;
    accounts_put(g->c, TABLE_ACCOUNT_USER, &u);
    associations_rename(g, from, to);
    wckeys_rename(g, from, to);
    coordinators_rename(g, from, to);
    if (g->coordinators && map_str_get(g->coordinators, from))
        map_str_put(g->coordinators, to, g);
    gone.deleted = true;
    gone.admin_level = ADMIN_NONE;
    gone.default_account = NULL;
    gone.changed_us = g->c->turn.now_us;
    accounts_put(g->c, TABLE_ACCOUNT_USER, &gone);
    change_did(g, VERB_MODIFY, NOUN_USER, from, NULL, true);
    return REFUSE_NONE;
}
