/* sacctmgr delete: what the conditions name goes, and what hangs on it. */
#include "cli/accounts/changing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void users_remove(struct changing *g)
{
    struct str said = STR_INIT;
    for (size_t i = 0; i < g->b.user.n; i++) {
        const struct account_user *u = g->b.user.v[i];
        if (!user_is_meant(g, u))
            continue;
        const struct account_user key = {.name = u->name};
        change_user(&g->c, VERB_REMOVE, NULL, &key);
        str_addf(&said, "  %s\n", u->name);
    }
    if (said.len)
        str_addf(&g->c.said, " Deleting users...\n%s", str_text(&said));
    str_done(&said);
}

/* Users who have no association any more go. */
static void users_left(struct changing *g, const struct str *removed)
{
    struct str said = STR_INIT;
    for (size_t i = 0; i < g->b.user.n; i++) {
        const struct account_user *u = g->b.user.v[i];
        bool had = false, has = false;
        if (u->deleted || text_is(u->name, "root"))
            continue;
        for (size_t k = 0; k < g->b.assoc.n; k++) {
            const struct assoc *a = g->b.assoc.v[k]->a;
            if (a->deleted || !text_is(a->user, u->name))
                continue;
            bool goes = specs_match(str_text(removed), arena_printf(g->s->a, "%u", a->id));
            had |= goes;
            has |= !goes;
        }
        if (!had || has)
            continue;
        const struct account_user key = {.name = u->name};
        change_user(&g->c, VERB_REMOVE, NULL, &key);
        str_addf(&said, "  %s\n", u->name);
    }
    if (said.len)
        str_addf(&g->c.said, " Deleting users (No Associations)...\n%s", str_text(&said));
    str_done(&said);
}

/* The account that is the default of a user stays while others of his go, too: he is removed as a
 * whole, or given another default. What stays of his beside it is for the controller to see. */
static void users_defaults_check(struct changing *g)
{
    struct str of = STR_INIT;
    for (size_t i = 0; i < g->b.user.n; i++) {
        const struct account_user *u = g->b.user.v[i];
        size_t others = 0, own = 0;
        bool kept = u->deleted || !specs_match(g->names, u->name);
        for (size_t k = 0; k < g->b.assoc.n && !kept; k++) {
            const struct assoc *a = g->b.assoc.v[k]->a;
            if (a->deleted || !text_is(a->user, u->name))
                continue;
            bool first = text_is(a->account, u->default_account),
                 meant = assoc_is_meant(g->sp, g->b.assoc.v[k], g->s->a);
            kept |= first && !meant;
            own += first && meant;
            others += !first && meant;
        }
        if (own && others && !kept)
            str_addf(&of, "  C = %-15s A = %-10s U = %-9s\n", g->s->cluster, u->default_account,
                     u->name);
    }
    if (of.len) {
        sacctmgr_refuse(g->s, " Error with request: %s\n%s%s", refusal_text(REFUSE_DEFAULT_ACCOUNT),
                        str_text(&of),
                        " You must change the default account of these users or remove the users "
                        "completely from the affected clusters to allow these changes.\n"
                        " Changes Discarded");
        g->wrong = true;
    }
    str_done(&of);
}

static void user_assocs_remove(struct changing *g)
{
    users_defaults_check(g);
    struct str said = STR_INIT, removed = STR_INIT;
    for (size_t i = 0; i < g->b.assoc.n; i++) {
        const struct assoc_view *v = g->b.assoc.v[i];
        if (!assoc_is_meant(g->sp, v, g->s->a))
            continue;
        const struct assoc key = {
            .account = v->a->account, .user = v->a->user, .partition = v->a->partition};
        change_assoc(&g->c, NOUN_ASSOC, VERB_REMOVE, NULL, &key);
        assoc_line(g->s, v, false, &said);
        str_addf(&removed, "%s%u", removed.len ? "," : "", v->a->id);
    }
    if (said.len) {
        str_addf(&g->c.said, " Deleting user associations...\n%s", str_text(&said));
        users_left(g, &removed);
    }
    str_done(&said);
    str_done(&removed);
}

/* Rows as the tables of Slurm have them: by user, account and partition. */
static int user_row_compare(const void *pa, const void *pb)
{
    const struct assoc *a = *(const struct assoc *const *)pa, *b = *(const struct assoc *const *)pb;
    int by = strcmp(a->user ? a->user : "", b->user ? b->user : "");
    by = by ? by : strcmp(a->account, b->account);
    return by ? by : strcmp(a->partition ? a->partition : "", b->partition ? b->partition : "");
}

/* Do conditions choose associations, and accounts by them? */
static bool by_associations(const struct changing *g)
{
    return specs_flag(g->sp, KEY_PARENT) || specs_flag(g->sp, KEY_CLUSTERS);
}

/* Does the association go with the accounts that are named: is it of one of them, or, where
 * conditions choose associations, below one of them? */
static bool goes(const struct changing *g, const struct assoc_view *v, const char *parents)
{
    bool below = by_associations(g);
    for (v = v->a->user ? v->up : v; v; v = below ? v->up : NULL)
        if (account_is_meant(g, book_account(&g->b, v->a->account)) &&
            specs_match(parents, v->a->parent))
            return true;
    return false;
}

/* Who may not take away what only operators may is told that, and not whose default it is. */
static bool denied(struct changing *g)
{
    if (sacctmgr_operates(g->s))
        return false;
    sacctmgr_fail(g->s, "Your user doesn't have privilege to perform this action");
    sacctmgr_refuse(g->s, " Error with request: %s", refusal_text(REFUSE_ACCESS_DENIED));
    return g->wrong = true;
}

/* An account that is somebody's default stays. As in Slurm the first of the associations is not
 * looked at: an account goes together with its only user. */
static void default_accounts_check(struct changing *g, const char *parents)
{
    VEC(const struct assoc *) row = {0};
    struct str of = STR_INIT;
    for (size_t i = 0; i < g->b.assoc.n; i++) {
        const struct assoc *a = g->b.assoc.v[i]->a;
        if (!a->deleted && a->user && goes(g, g->b.assoc.v[i], parents))
            vec_push(&row, a);
    }
    if (row.n)
        qsort(row.v, row.n, sizeof row.v[0], user_row_compare);
    for (size_t i = 1; i < row.n; i++) {
        const struct account_user *u = book_user(&g->b, row.v[i]->user);
        if (u && text_is(u->default_account, row.v[i]->account))
            str_addf(&of, "  C = %-15s A = %-10s U = %-9s\n", g->s->cluster, row.v[i]->account,
                     row.v[i]->user);
    }
    if (of.len && !denied(g)) {
        sacctmgr_refuse(g->s, " Error with request: %s\n%s%s", refusal_text(REFUSE_DEFAULT_ACCOUNT),
                        str_text(&of),
                        " Please either remove the accounts listed above from list and resubmit,\n"
                        " or change these users' default accounts to remove the account(s).\n"
                        " Changes Discarded");
        g->wrong = true;
    }
    str_done(&of);
    vec_done(&row);
}

/* Slurm's lines of associations that go. */
static void assocs_say(struct changing *g, const char *parents)
{
    VEC(const struct assoc *) row = {0};
    for (size_t i = 0; i < g->b.assoc.n; i++)
        if (!g->b.assoc.v[i]->a->deleted && goes(g, g->b.assoc.v[i], parents))
            vec_push(&row, g->b.assoc.v[i]->a);
    if (row.n)
        qsort(row.v, row.n, sizeof row.v[0], user_row_compare);
    str_add(&g->c.said, " Deleting account associations...\n");
    for (size_t i = 0; i < row.n; i++) {
        const struct assoc_view view = {.a = row.v[i]};
        assoc_line(g->s, &view, false, &g->c.said);
    }
    vec_done(&row);
}

static void accounts_take_away(struct changing *g)
{
    struct str said = STR_INIT;
    const char *parents = specs_where(g->sp, KEY_PARENT, g->s->a);
    if (g->names && specs_match(g->names, "root")) {
        sacctmgr_refuse(g->s, " You are not allowed to remove the root account.");
        sacctmgr_refuse(g->s, " Use remove cluster instead.");
        g->wrong = true;
    } else {
        default_accounts_check(g, parents);
    }
    for (size_t i = 0; i < g->b.account.n; i++) {
        const struct account *a = g->b.account.v[i];
        const struct assoc_view *v = book_assoc(&g->b, a->name, NULL, NULL);
        bool below = false; /* goes with the one above it */
        if (a->deleted || text_is(a->name, "root") || !account_is_meant(g, a) ||
            (parents && !(v && specs_match(parents, v->a->parent))))
            continue;
        for (v = v ? v->up : NULL; v; v = v->up)
            below |= account_is_meant(g, book_account(&g->b, v->a->account)) &&
                     specs_match(parents, v->a->parent);
        const struct account key = {.name = a->name};
        if (!below)
            change_account(&g->c, VERB_REMOVE, NULL, &key);
        str_addf(&said, "  %s\n", a->name);
    }
    if (said.len && by_associations(g))
        assocs_say(g, parents);
    else if (said.len)
        str_addf(&g->c.said, " Deleting accounts...\n%s", str_text(&said));
    str_done(&said);
}

/* A QOS that is somebody's default stays. */
static void default_qos_check(struct changing *g)
{
    struct str of = STR_INIT;
    for (size_t i = 0; i < g->b.assoc.n; i++) {
        const struct assoc *a = g->b.assoc.v[i]->a;
        if (a->deleted || !a->default_qos || !specs_match(g->names, a->default_qos))
            continue;
        str_addf(&of, "\n  DefQOS = %-10.10s C = %-10.10s A = %-20.20s", a->default_qos,
                 g->s->cluster, a->account);
        if (a->user)
            str_addf(&of, " U = %-9.9s", a->user);
        if (a->partition)
            str_addf(&of, " P = %s", a->partition);
    }
    if (of.len && !denied(g)) {
        sacctmgr_refuse(g->s, " Associations listed below have these as their Default QOS.%s",
                        str_text(&of));
        sacctmgr_refuse(g->s,
                        " Please either remove the qos' listed above from list and resubmit,\n"
                        " or change the default qos to remove the qos.\n Changes Discarded");
        g->wrong = true;
    }
    str_done(&of);
}

static void qos_remove(struct changing *g)
{
    struct str said = STR_INIT;
    default_qos_check(g);
    for (size_t i = 0; i < g->b.qos.n; i++) {
        const struct qos *q = g->b.qos.v[i]->q;
        if (!qos_is_meant(g, q))
            continue;
        const struct qos key = {.name = q->name};
        change_qos(&g->c, VERB_REMOVE, NULL, &key);
        str_addf(&said, "  %s\n", q->name);
    }
    if (said.len)
        str_addf(&g->c.said, " Deleting QOS(s)...\n%s", str_text(&said));
    str_done(&said);
}

/* Slurm says of whom, and of which accounts, before it looks for them. */
static void coordinators_say(const char *users, const char *accounts, struct str *out)
{
    struct span rest = span_of(users ? users : ""), piece;
    str_add(out, users ? " Removing Coordinators with user name\n" : " Removing all users from");
    while (users && span_next(&rest, ',', &piece))
        str_addf(out, "  %.*s\n", (int)piece.len, piece.data);
    str_add(out, !users ? " Accounts\n" : accounts ? " From Account(s)\n" : " From all accounts\n");
    rest = span_of(accounts ? accounts : "");
    while (accounts && span_next(&rest, ',', &piece))
        str_addf(out, "  %.*s\n", (int)piece.len, piece.data);
}

static void coordinators_remove(struct changing *g)
{
    const char *accounts = specs_where(g->sp, KEY_ACCOUNTS, g->s->a),
               *users = specs_where(g->sp, KEY_USERS, g->s->a);
    VEC(const struct assoc *) row = {0};
    users = g->names ? g->names : users;
    coordinators_say(users, accounts, &g->c.said);
    for (size_t i = 0; i < g->b.account.n; i++) {
        const struct account *a = g->b.account.v[i];
        struct span rest = span_of(a->coordinators ? a->coordinators : ""), piece;
        if (a->deleted || !specs_match(accounts, a->name))
            continue;
        while (span_next(&rest, ',', &piece)) {
            const struct assoc key = {.account = a->name,
                                      .user = arena_strndup(g->s->a, piece.data, piece.len)};
            if (!*key.user || !specs_match(users, key.user))
                continue;
            change_assoc(&g->c, NOUN_COORDINATOR, VERB_REMOVE, NULL, &key);
            vec_push(&row, arena_dup(g->s->a, &key, sizeof key));
        }
    }
    if (row.n) {
        qsort(row.v, row.n, sizeof row.v[0], user_row_compare);
        str_add(&g->c.said, " Removed Coordinators (sub accounts not listed)...\n");
    }
    for (size_t i = 0; i < row.n; i++)
        str_addf(&g->c.said, "  U = %-9.9s A = %-10.10s\n", row.v[i]->user, row.v[i]->account);
    vec_done(&row);
}

static void wckeys_remove(struct changing *g)
{
    const char *users = specs_where(g->sp, KEY_USERS, g->s->a);
    for (size_t i = 0; i < g->b.wckey.n; i++) {
        const struct wckey *k = g->b.wckey.v[i];
        if (k->deleted || !specs_match(g->names, k->name) ||
            (users && !specs_match(users, k->user)))
            continue;
        change_wckey(&g->c, VERB_REMOVE, k);
        str_addf(&g->c.said, "  U = %-9.9s W = %-10.10s\n", k->user, k->name);
    }
}

/* Conditions on the user's associations, not on the user. */
static bool of_associations(const struct specs *sp)
{
    return specs_flag(sp, KEY_ACCOUNTS) || specs_flag(sp, KEY_PARTITIONS) ||
           specs_flag(sp, KEY_CLUSTERS);
}

void accounts_remove(struct sacctmgr *s, const struct specs *sp)
{
    struct changing g = {.s = s, .sp = sp, .c = {.s = s}, .names = changing_names(sp, s->a)};
    if (!sp->where.n) {
        sacctmgr_refuse(s, sp->entity == ENTITY_COORDINATOR
                               ? " You need to specify a user list or account list here."
                               : " No conditions given to remove, not executing.");
        return;
    }
    if (!changing_conditions_choose(&g, " Nothing deleted") || !book_read(s, &g.b))
        g.wrong = true;
    else if (changing_is_here(&g)) {
        switch ((int)sp->entity) {
        case ENTITY_ACCOUNT: accounts_take_away(&g); break;
        case ENTITY_QOS: qos_remove(&g); break;
        case ENTITY_COORDINATOR: coordinators_remove(&g); break;
        case ENTITY_WCKEY: wckeys_remove(&g); break;
        default:
            if (of_associations(sp) || sp->entity == ENTITY_ASSOC)
                user_assocs_remove(&g);
            else
                users_remove(&g);
            break;
        }
    }
    g.c.guarded = changing_is_guarded(&g, true);
    const char *none = sp->entity == ENTITY_COORDINATOR
                           ? arena_printf(s->a, "%s Nothing removed", str_text(&g.c.said))
                           : " Nothing deleted";
    if (!g.wrong)
        changes_commit(&g.c, none);
    changes_done(&g.c);
    book_done(&g.b);
}
