/* sacctmgr modify: what the conditions name, and what becomes of it. */
#include "cli/accounts/changing.h"

#include "base/list.h"
#include "cli/program/room.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- what is meant -------------------------------------------------------------------------- */

const char *changing_names(const struct specs *sp, struct arena *a)
{
    const char *names = specs_where(sp, KEY_NAMES, a),
               *more = sp->entity == ENTITY_USER      ? specs_where(sp, KEY_USERS, a)
                       : sp->entity == ENTITY_ACCOUNT ? specs_where(sp, KEY_ACCOUNTS, a)
                       : sp->entity == ENTITY_QOS     ? specs_where(sp, KEY_QOS_LIST, a)
                                                      : NULL;
    return !names ? more : !more ? names : arena_printf(a, "%s,%s", names, more);
}

bool assoc_is_meant(const struct specs *sp, const struct assoc_view *v, struct arena *a)
{
    const char *names = changing_names(sp, a), *accounts = specs_where(sp, KEY_ACCOUNTS, a),
               *users = specs_where(sp, KEY_USERS, a),
               *partitions = specs_where(sp, KEY_PARTITIONS, a),
               *parents = specs_where(sp, KEY_PARENT, a);
    bool of_user = sp->entity == ENTITY_USER || users;
    if (v->a->deleted || (v->a->user != NULL) != of_user)
        return false;
    if (sp->entity == ENTITY_USER)
        users = names;
    else if (sp->entity == ENTITY_ACCOUNT)
        accounts = names;
    return specs_match(accounts, v->a->account) && (!users || specs_match(users, v->a->user)) &&
           (!partitions || specs_match(partitions, v->a->partition)) &&
           (!parents || specs_match(parents, v->a->parent));
}

void assoc_line(struct sacctmgr *s, const struct assoc_view *v, bool modified, struct str *out)
{
    const struct assoc *a = v->a;
    if (a->user)
        str_addf(out,
                 modified ? "  C = %-10.10s A = %-20.20s U = %-9.9s"
                          : "  C = %-10.10s A = %-10.10s U = %-9.9s",
                 s->cluster, a->account, a->user);
    else if (a->parent)
        str_addf(out, "  C = %-10.10s A = %s of %s", s->cluster, a->account, a->parent);
    else
        str_addf(out, "  C = %-10.10s A = %s", s->cluster, a->account);
    if (a->partition)
        str_addf(out, " P = %s", a->partition);
    str_addc(out, '\n');
}

bool changing_has_conditions(struct changing *g)
{
    for (size_t i = 0; i < g->sp->where.n; i++)
        if (g->sp->where.v[i].key != KEY_CLUSTERS)
            return true;
    return sacctmgr_ask(g->s, " You didn't set any conditions with 'WHERE'.\nAre you sure you want "
                              "to continue?");
}

bool changing_conditions_choose(struct changing *g, const char *none)
{
    const struct spec *one = specs_idle(g->sp);
    if (!one)
        return true;
    puts(none);
    sacctmgr_fail(
        g->s,
        "%s does not choose what is meant here; name it (names=…), or find the names with "
        "sacctmgr show",
        one->typed ? one->typed : one->value);
    return false;
}

bool changing_is_here(struct changing *g)
{
    const char *clusters = specs_where(g->sp, KEY_CLUSTERS, g->s->a);
    return specs_match(clusters, g->s->cluster);
}

bool changing_is_guarded(const struct changing *g, bool removes)
{
    const struct passwd *own = user_by_uid(geteuid());
    enum entity e = g->sp->entity;
    bool coordinates = false;
    for (size_t i = 0; own && i < g->b.account.n && !coordinates; i++)
        coordinates = !g->b.account.v[i]->deleted &&
                      book_coordinates(&g->b, own->pw_name, g->b.account.v[i]->name);
    if (e == ENTITY_QOS || (e == ENTITY_ACCOUNT && removes))
        return true;
    return (e == ENTITY_ACCOUNT || e == ENTITY_USER || e == ENTITY_ASSOC) && !coordinates &&
           !(own && text_is(g->names, own->pw_name));
}

/* ---- modify --------------------------------------------------------------------------------- */

/* Of the user itself: level and defaults. False: nothing of that is set, or it is wrong. */
static bool user_values(struct changing *g, struct account_user *u, struct str *fields)
{
    const struct spec *level = specs_set(g->sp, KEY_ADMIN_LEVEL),
                      *account = specs_set(g->sp, KEY_DEFAULT_ACCOUNT),
                      *wckey = specs_set(g->sp, KEY_DEFAULT_WCKEY);
    if (level) {
        int32_t found = -1;
        for (int32_t i = 0; i < (int32_t)admin_level_names.n; i++)
            if (*level->value && text_starts_nocase(admin_level_names.name[i], level->value))
                found = i;
        if (found < 0) {
            sacctmgr_fail(g->s, "AdminLevel=%s: it is None, Operator or Administrator",
                          level->value);
            g->wrong = true;
        }
        u->admin_level = found;
        str_add(fields, "admin_level");
    }
    if (account) {
        u->default_account = name_lowered(account->value, g->s->a);
        str_addf(fields, "%sdefault_account", fields->len ? "," : "");
    }
    if (wckey) {
        u->default_wckey = text_empty(wckey->value) ? NULL : wckey->value;
        str_addf(fields, "%sdefault_wckey", fields->len ? "," : "");
    }
    return (fields->len || specs_set(g->sp, KEY_NEW_NAME)) && !g->wrong;
}

static bool where_given(const struct changing *g, enum sacctmgr_key key)
{
    return specs_where(g->sp, key, g->s->a) != NULL;
}

/* What an account, a user or the like is given itself must be chosen by what it is itself: a
 * condition on associations alone would mean all of them. */
static bool chosen_itself(struct changing *g, bool by_itself, const enum sacctmgr_key *of_assocs,
                          size_t n)
{
    for (size_t i = 0; i < n && !by_itself; i++)
        if (where_given(g, of_assocs[i])) {
            sacctmgr_refuse(g->s, " There was a problem with your 'where' options.");
            sacctmgr_fail(g->s,
                          "these conditions choose associations; what is set belongs to the %s "
                          "itself: name it (names=…)",
                          g->sp->entity == ENTITY_USER ? "user" : "account");
            g->wrong = true;
            return false;
        }
    return true;
}

bool user_is_meant(const struct changing *g, const struct account_user *u)
{
    const char *account = specs_where(g->sp, KEY_DEFAULT_ACCOUNT, g->s->a),
               *level = specs_where(g->sp, KEY_ADMIN_LEVEL, g->s->a);
    return !u->deleted && specs_match(g->names, u->name) &&
           (!account || specs_match(account, u->default_account)) &&
           (!level || text_starts_nocase(enum_name(&admin_level_names, u->admin_level), level));
}

static void users_modify(struct changing *g)
{
    static const enum sacctmgr_key of_assocs[] = {KEY_ACCOUNTS, KEY_PARTITIONS};
    struct account_user u = {0};
    struct str fields = STR_INIT, said = STR_INIT, without = STR_INIT;
    bool any = user_values(g, &u, &fields) &&
               chosen_itself(g,
                             g->names || where_given(g, KEY_DEFAULT_ACCOUNT) ||
                                 where_given(g, KEY_ADMIN_LEVEL),
                             of_assocs, ARRAY_LEN(of_assocs));
    for (size_t i = 0; any && i < g->b.user.n; i++) {
        u.name = g->b.user.v[i]->name;
        if (!user_is_meant(g, g->b.user.v[i]))
            continue;
        bool lacks = (u.default_account && !book_assoc(&g->b, u.default_account, u.name, NULL)) ||
                     (u.default_wckey && !book_wckey(&g->b, u.name, u.default_wckey));
        if (lacks)
            str_addf(&without, "  U = %s C = %s\n", u.name, g->s->cluster);
        if (fields.len)
            change_user(&g->c, VERB_MODIFY, arena_strdup(g->s->a, str_text(&fields)), &u);
        vec_push(&g->user, u.name);
        str_addf(&said, "  %s\n", u.name);
    }
    if (without.len) {
        printf(" Can't modify because these users aren't associated with new default %s "
               "'%s'...\n%s",
               u.default_account ? "account" : "wckey",
               u.default_account ? u.default_account : u.default_wckey, str_text(&without));
        g->s->rc = 1;
        g->wrong = true;
    }
    if (said.len)
        str_addf(&g->c.said, " Modified users...\n%s", str_text(&said));
    str_done(&fields);
    str_done(&said);
    str_done(&without);
}

/* After all else, which goes by the former name. */
static void user_rename(struct changing *g)
{
    const struct spec *to = specs_set(g->sp, KEY_NEW_NAME);
    if (!to || !g->user.n)
        return;
    if (g->user.n > 1) {
        sacctmgr_fail(g->s, "NewName=%s: one user can have the name, and these are %zu", to->value,
                      g->user.n);
        g->wrong = true;
    }
    const struct account_user u = {.name = g->user.v[0]};
    change_user(&g->c, VERB_MODIFY, NULL, &u);
    g->c.change.v[g->c.change.n - 1].new_name = to->value;
}

bool account_is_meant(const struct changing *g, const struct account *a)
{
    const char *description = specs_where(g->sp, KEY_DESCRIPTION, g->s->a),
               *organization = specs_where(g->sp, KEY_ORGANIZATION, g->s->a);
    return a && !a->deleted && specs_match(g->names, a->name) &&
           (!description || specs_match(description, a->description)) &&
           (!organization || specs_match(organization, a->organization));
}

static void accounts_values(struct changing *g)
{
    static const enum sacctmgr_key of_assocs[] = {KEY_PARENT, KEY_USERS, KEY_PARTITIONS};
    const struct spec *descr = specs_set(g->sp, KEY_DESCRIPTION),
                      *org = specs_set(g->sp, KEY_ORGANIZATION),
                      *flags = specs_set(g->sp, KEY_FLAGS);
    struct account a = {.description = descr ? descr->value : NULL,
                        .organization = org ? org->value : NULL};
    const char *fields = arena_printf(g->s->a, "%s%s%s%s%s", descr ? "description" : "",
                                      descr && org ? "," : "", org ? "organization" : "",
                                      flags && (descr || org) ? "," : "", flags ? "flags" : "");
    struct str said = STR_INIT;
    struct err e = {0};
    if (flags && !text_is(flags->value, "-1") &&
        !flag_words_parse(account_flag_words, ACCOUNT_FLAG_COUNT, flags->value, &a.flags, &e)) {
        sacctmgr_fail(g->s, "%s", e.text);
        g->wrong = true;
    }
    bool by_itself =
        g->names || where_given(g, KEY_DESCRIPTION) || where_given(g, KEY_ORGANIZATION);
    bool any = *fields && chosen_itself(g, by_itself, of_assocs, ARRAY_LEN(of_assocs));
    for (size_t i = 0; any && i < g->b.account.n; i++) {
        a.name = g->b.account.v[i]->name;
        if (!account_is_meant(g, g->b.account.v[i]))
            continue;
        change_account(&g->c, VERB_MODIFY, fields, &a);
        if (flags)
            g->c.change.v[g->c.change.n - 1].list = flags->how;
        str_addf(&said, "  %s\n", a.name);
    }
    if (said.len)
        str_addf(&g->c.said, " Modified accounts...\n%s", str_text(&said));
    str_done(&said);
}

/* ---- who has it from above ---- */

static bool has_limit(const struct assoc_view *v, const struct limit *l)
{
    for (size_t i = 0; i < v->owner.limit.n; i++) {
        const struct limit *own = v->owner.limit.v[i];
        if (own->what == l->what && text_is(own->tres, l->tres) && text_is(own->hours, l->hours))
            return true;
    }
    return false;
}

/* Of what is set, is there something that it has not itself, nor an account between? `top` is the
 * account that is modified. */
static bool is_heir(const struct changing *g, const struct assoc_view *v,
                    const struct assoc_view *top)
{
    const struct sacctmgr_given *st = &g->st;
    const struct limit *l = st->limits.v;
    bool qos = list_has(st->fields, "qos") || st->more[0] || st->more[1],
         default_qos = list_has(st->fields, "default_qos"),
         priority = list_has(st->fields, "priority_plus1");
    for (const struct assoc_view *a = v; a && a != top; a = a->up) {
        qos = qos && !a->a->qos;
        default_qos = default_qos && !a->a->default_qos;
        priority = priority && !a->a->priority_plus1;
    }
    bool any = qos || default_qos || priority;
    for (size_t i = 0; !any && i < st->limits.n; i++) {
        any = resource_limit_table[l[i].what].scope != SCOPE_GROUP;
        for (const struct assoc_view *a = v; any && a && a != top; a = a->up)
            any = !has_limit(a, &l[i]);
    }
    return any;
}

struct heir {
    const struct assoc_view *v;
    size_t at; /* in the book */
};

static int newest_first(const void *va, const void *vb)
{
    const struct heir *a = va, *b = vb;
    return (a->v->a->id < b->v->a->id) - (a->v->a->id > b->v->a->id);
}

/* Users below an account, which stands at `at` in the book, whose values change with that of `top`,
 * as Slurm lists them: of each account those that came last first. */
static void heirs_say(const struct changing *g, size_t at, const struct assoc_view *top,
                      struct str *said)
{
    const struct assoc_view *of = g->b.assoc.v[at];
    VEC(struct heir) below = {0};
    for (size_t i = at + 1; i < g->b.assoc.n && g->b.assoc.v[i]->depth > of->depth; i++)
        if (g->b.assoc.v[i]->up == of && !g->b.assoc.v[i]->a->deleted)
            vec_push(&below, ((struct heir){g->b.assoc.v[i], i}));
    if (below.n > 1)
        qsort(below.v, below.n, sizeof below.v[0], newest_first);
    for (size_t i = 0; i < below.n; i++) {
        if (!is_heir(g, below.v[i].v, top))
            continue;
        if (below.v[i].v->a->user)
            assoc_line(g->s, below.v[i].v, true, said);
        else
            heirs_say(g, below.v[i].at, top, said);
    }
    vec_done(&below);
}

/* Nothing is set but the account above it, and that is it already. */
static bool stays_there(const struct sacctmgr_given *st, const struct assoc_view *v)
{
    return text_is(st->fields, "parent") && !st->limits.n && !st->no_usage && !st->more[0] &&
           !st->more[1] && text_is_nocase(v->a->parent, st->assoc.parent);
}

static void assocs_modify(struct changing *g, const char *title)
{
    struct str said = STR_INIT;
    const struct sacctmgr_given *st = &g->st;
    bool any = st->fields || st->limits.n || st->no_usage || st->more[0] || st->more[1];
    bool of_user = g->sp->entity == ENTITY_USER;
    bool by_itself = of_user
                         ? where_given(g, KEY_DEFAULT_ACCOUNT) || where_given(g, KEY_ADMIN_LEVEL)
                         : where_given(g, KEY_DESCRIPTION) || where_given(g, KEY_ORGANIZATION);
    if (any && by_itself) {
        sacctmgr_refuse(g->s, " There was a problem with your 'where' options.");
        sacctmgr_fail(g->s,
                      "%s, and what is set belongs to their associations: name them (names=…, "
                      "account=…)",
                      of_user ? "DefaultAccount and AdminLevel choose users"
                              : "Description and Organization choose accounts");
        g->wrong = true;
    }
    for (size_t i = 0; any && !by_itself && i < g->b.assoc.n; i++) {
        const struct assoc_view *v = g->b.assoc.v[i];
        if (!assoc_is_meant(g->sp, v, g->s->a) || stays_there(st, v))
            continue;
        settings_to_assoc(&g->c, st, VERB_MODIFY, v->a);
        assoc_line(g->s, v, true, &said);
        if (!v->a->user)
            heirs_say(g, i, v, &said);
    }
    if (said.len)
        str_addf(&g->c.said, " %s\n%s", title, str_text(&said));
    str_done(&said);
}

bool qos_is_meant(const struct changing *g, const struct qos *q)
{
    struct arena *a = g->s->a;
    const char *said = specs_where(g->sp, KEY_DESCRIPTION, a);
    return !q->deleted && specs_match(g->names, q->name) &&
           specs_match(specs_where(g->sp, KEY_IDS, a), arena_printf(a, "%u", q->id)) &&
           (!said || specs_match(said, q->description));
}

static void qos_modify(struct changing *g)
{
    struct str said = STR_INIT;
    for (size_t i = 0; i < g->b.qos.n; i++) {
        const struct qos *q = g->b.qos.v[i]->q;
        if (!qos_is_meant(g, q))
            continue;
        settings_to_qos(&g->c, &g->st, VERB_MODIFY, q->name);
        str_addf(&said, "  %s\n", q->name);
    }
    if (said.len)
        str_addf(&g->c.said, " Modified qos...\n%s", str_text(&said));
    str_done(&said);
}

/* What a cluster is given is given to the root of its tree, with which the book begins. */
static void cluster_modify(struct changing *g)
{
    const struct assoc root = {.account = "root"};
    struct str said = STR_INIT;
    if (g->names && !specs_match(g->names, g->s->cluster))
        return;
    settings_to_assoc(&g->c, &g->st, VERB_MODIFY, &root);
    for (size_t i = 0; i < g->b.assoc.n && i < 1; i++) {
        assoc_line(g->s, g->b.assoc.v[i], true, &said);
        heirs_say(g, i, g->b.assoc.v[i], &said);
    }
    str_addf(&g->c.said,
             " Setting\n  Default Limits:\n%s Modified cluster defaults for "
             "associations...\n%s",
             str_text(&g->st.said), str_text(&said));
    str_done(&said);
}

static void parent_check(struct changing *g)
{
    const char *parent = g->st.assoc.parent;
    if (!parent || book_assoc(&g->b, parent, NULL, NULL))
        return;
    sacctmgr_refuse(g->s, " Parent Account %s doesn't exist.", parent);
    g->wrong = true;
}

static void entity_modify(struct changing *g)
{
    parent_check(g);
    if (g->wrong || !changing_is_here(g))
        return;
    switch ((int)g->sp->entity) {
    case ENTITY_ACCOUNT:
        accounts_values(g);
        assocs_modify(g, "Modified account associations...");
        break;
    case ENTITY_USER:
        if (g->st.no_usage && !where_given(g, KEY_ACCOUNTS)) {
            sacctmgr_fail(g->s, "An account must be specified");
            g->wrong = true;
            break;
        }
        users_modify(g);
        assocs_modify(g, "Modified user associations...");
        user_rename(g);
        break;
    case ENTITY_ASSOC: assocs_modify(g, "Modified associations..."); break;
    case ENTITY_CLUSTER: cluster_modify(g); break;
    default: qos_modify(g); break;
    }
}

void accounts_modify(struct sacctmgr *s, const struct specs *sp)
{
    struct changing g = {.s = s, .sp = sp, .c = {.s = s}, .names = changing_names(sp, s->a)};
    if (!sp->set.n) {
        sacctmgr_refuse(s, " You didn't give me anything to set");
        return;
    }
    if (sp->entity == ENTITY_JOB) {
        jobs_modify(s, sp);
        return;
    }
    if (changing_has_conditions(&g) && changing_conditions_choose(&g, " Nothing modified") &&
        book_read(s, &g.b) && settings_read(s, &g.b, sp, &g.st)) {
        entity_modify(&g);
        g.c.guarded = changing_is_guarded(&g, false);
        if (!g.wrong)
            changes_commit(&g.c, " Nothing modified");
    }
    settings_done(&g.st);
    changes_done(&g.c);
    vec_done(&g.user);
    book_done(&g.b);
}
