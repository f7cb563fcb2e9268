/* sacctmgr add: accounts, users with their associations, coordinators, QOS, workload keys. */
#include "cli/accounts/accounts.h"
#include "cli/program/room.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

struct adding {
    struct sacctmgr *s;
    const struct specs *sp;
    struct book b;
    struct sacctmgr_given st;
    struct changes c;
    struct str lines; /* of associations */
    bool wrong;
};

/* Walks over "a,b,c"; names once each. */
static bool name_next(struct adding *g, struct span *rest, const char **ret)
{
    struct span piece;
    while (span_next(rest, ',', &piece)) {
        piece = span_trim(piece);
        if (!piece.len)
            continue;
        *ret = arena_strndup(g->s->a, piece.data, piece.len);
        return true;
    }
    return false;
}

static const char *set_value(struct adding *g, enum sacctmgr_key key)
{
    const struct spec *one = specs_set(g->sp, key);
    return one ? one->value : NULL;
}

static bool cluster_is_known(struct adding *g)
{
    const char *asked = specs_where(g->sp, KEY_CLUSTERS, g->s->a);
    struct span rest = span_of(asked ? asked : "");
    const char *name;
    while (name_next(g, &rest, &name)) {
        if (text_is_nocase(name, g->s->cluster))
            continue;
        sacctmgr_refuse(g->s, " This cluster '%s' doesn't exist.", name);
        sacctmgr_refuse(g->s, "        Contact your admin to add it to accounting.");
        return false;
    }
    return true;
}

/* ---- accounts ------------------------------------------------------------------------------- */

static void account_said(struct adding *g, const struct str *names, const struct account *a)
{
    struct str *out = &g->c.said;
    if (names->len) {
        str_addf(out, " Adding Account(s)\n%s Settings\n", str_text(names));
        str_addf(out, "  Description     = %s\n", a->description ? a->description : "Account Name");
        str_addf(out, "  Organization    = %s\n",
                 a->organization ? a->organization : "Parent/Account Name");
    }
    if (g->lines.len)
        str_addf(out, " Associations\n%s", str_text(&g->lines));
    if (g->lines.len && g->st.said.len)
        str_addf(out, " Settings\n%s", str_text(&g->st.said));
}

static void account_add(struct adding *g, const char *names)
{
    struct span rest = span_of(names ? names : "");
    struct str said = STR_INIT;
    struct account a = {.description = set_value(g, KEY_DESCRIPTION),
                        .organization = set_value(g, KEY_ORGANIZATION)};
    const char *parent = g->st.assoc.parent ? g->st.assoc.parent : "root";
    const struct spec *flags = specs_set(g->sp, KEY_FLAGS);
    struct err e = {0};
    if (flags &&
        !flag_words_parse(account_flag_words, ACCOUNT_FLAG_COUNT, flags->value, &a.flags, &e))
        sacctmgr_fail(g->s, "%s", e.text);
    if (text_empty(names)) {
        sacctmgr_refuse(g->s, " Need name of account to add.");
        g->wrong = true;
    } else if (!book_assoc(&g->b, parent, NULL, NULL)) {
        sacctmgr_refuse(g->s, " Parent account '%s' doesn't exist on cluster %s", parent,
                        g->s->cluster);
        sacctmgr_refuse(g->s, "        Contact your admin to add this account.");
        sacctmgr_refuse(g->s, " No associations created.");
        g->wrong = true;
    }
    while (!g->wrong && name_next(g, &rest, &a.name)) {
        struct account made = a;
        struct assoc key = {.account = a.name, .parent = parent};
        if (book_assoc(&g->b, a.name, NULL, NULL))
            continue;
        if (!made.organization && !text_is(parent, "root"))
            made.organization = parent;
        if (!book_account(&g->b, a.name)) {
            change_account(&g->c, VERB_ADD, NULL, &made);
            str_addf(&said, "  %s\n", a.name);
        }
        settings_to_assoc(&g->c, &g->st, VERB_ADD, &key);
        str_addf(&g->lines, "  A = %-10.10s C = %-10.10s\n", a.name, g->s->cluster);
    }
    account_said(g, &said, &a);
    str_done(&said);
}

/* ---- users ---------------------------------------------------------------------------------- */

static bool admin_level_of(struct adding *g, const char *word, int32_t *ret)
{
    for (int32_t i = 0; word && i < (int32_t)admin_level_names.n; i++)
        if (*word && text_starts_nocase(enum_name(&admin_level_names, i), word)) {
            *ret = i;
            return true;
        }
    if (word)
        sacctmgr_fail(g->s, "AdminLevel=%s: it is None, Operator or Administrator", word);
    return !word;
}

static bool accounts_are_known(struct adding *g, const char *accounts)
{
    struct span rest = span_of(accounts);
    const char *name;
    bool known = true;
    while (name_next(g, &rest, &name))
        if (!book_account(&g->b, name)) {
            sacctmgr_refuse(g->s, " This account '%s' doesn't exist.", name);
            sacctmgr_refuse(g->s, "        Contact your admin to add this account.");
            known = false;
        }
    if (!known)
        sacctmgr_refuse(g->s, " No associations or wckeys created.");
    return known;
}

/* A user whom this host does not know: people mistype. */
static bool user_is_meant(struct adding *g, const char *name)
{
    if (g->s->immediate || user_by_name(name))
        return true;
    return sacctmgr_ask(g->s,
                        arena_printf(g->s->a,
                                     "There is no uid for user '%s'\nAre you sure you want to "
                                     "continue?",
                                     name));
}

static void user_assocs(struct adding *g, const char *user, const char *accounts)
{
    const char *partitions = specs_where(g->sp, KEY_PARTITIONS, g->s->a);
    struct span rest = span_of(accounts);
    struct assoc key = {.user = user};
    while (name_next(g, &rest, &key.account)) {
        struct span parts = span_of(partitions ? partitions : "");
        bool more = partitions ? name_next(g, &parts, &key.partition) : true;
        while (more) {
            if (!book_assoc(&g->b, key.account, user, key.partition)) {
                settings_to_assoc(&g->c, &g->st, VERB_ADD, &key);
                str_addf(&g->lines, "  U = %-9.9s A = %-10.10s C = %-10.10s", user, key.account,
                         g->s->cluster);
                if (key.partition)
                    str_addf(&g->lines, " P = %-10.10s", key.partition);
                str_addc(&g->lines, '\n');
            }
            more = partitions && name_next(g, &parts, &key.partition);
        }
        key.partition = NULL;
    }
}

static void user_wckeys(struct adding *g, const char *user, const char *keys, struct str *said)
{
    struct span rest = span_of(keys ? keys : "");
    struct wckey k = {.user = user};
    while (name_next(g, &rest, &k.name)) {
        bool there = false;
        for (size_t i = 0; i < g->b.wckey.n; i++)
            there |= !g->b.wckey.v[i]->deleted && text_is(g->b.wckey.v[i]->name, k.name) &&
                     text_is(g->b.wckey.v[i]->user, user);
        if (there)
            continue;
        change_wckey(&g->c, VERB_ADD, &k);
        str_addf(said, "  U = %-9.9s W = %-10.10s C = %-10.10s\n", user, k.name, g->s->cluster);
    }
}

static void user_settings_say(struct adding *g, const struct account_user *u, bool level)
{
    const char *account = set_value(g, KEY_DEFAULT_ACCOUNT);
    const char *wckey = set_value(g, KEY_DEFAULT_WCKEY);
    if (!account && !wckey && !level)
        return;
    str_add(&g->c.said, " Settings =\n");
    if (account)
        str_addf(&g->c.said, "  Default Account = %s\n", account);
    if (wckey)
        str_addf(&g->c.said, "  Default WCKey   = %s\n", wckey);
    if (level)
        str_addf(&g->c.said, "  Admin Level     = %s\n",
                 enum_name(&admin_level_names, u->admin_level));
}

static const char *first_of(struct adding *g, const char *list)
{
    return arena_strndup(g->s->a, list, strcspn(list, ","));
}

/* Who was there before gets the default that is named with his new accounts. */
static void default_follow(struct adding *g, const struct account_user *u, bool any_new)
{
    const struct account_user *was = book_user(&g->b, u->name);
    struct account_user to = {.name = u->name, .default_account = u->default_account};
    if (was && any_new && set_value(g, KEY_DEFAULT_ACCOUNT) &&
        !text_is_nocase(was->default_account, to.default_account))
        change_user(&g->c, VERB_MODIFY, "default_account", &to);
}

/* Of a new user the user's record, then everything that hangs on it. */
static void users_each(struct adding *g, const char *names, const char *accounts,
                       struct account_user *u, struct str *added, struct str *keys)
{
    struct span rest = span_of(names);
    const char *wckeys = specs_where(g->sp, KEY_WCKEYS, g->s->a);
    if (u->default_wckey && !(wckeys && specs_match(wckeys, u->default_wckey)))
        wckeys =
            wckeys ? arena_printf(g->s->a, "%s,%s", u->default_wckey, wckeys) : u->default_wckey;
    while (name_next(g, &rest, &u->name)) {
        if (!book_user(&g->b, u->name)) {
            if (!user_is_meant(g, u->name)) {
                g->wrong = true;
                g->s->rc = 1;
                return;
            }
            change_user(&g->c, VERB_ADD, NULL, u);
            str_addf(added, "  %s\n", u->name);
        }
        size_t before = g->lines.len;
        user_assocs(g, u->name, accounts);
        default_follow(g, u, g->lines.len > before);
        user_wckeys(g, u->name, wckeys, keys);
    }
}

static void user_add(struct adding *g, const char *names)
{
    struct account_user u = {.default_wckey = set_value(g, KEY_DEFAULT_WCKEY)};
    const char *accounts = specs_where(g->sp, KEY_ACCOUNTS, g->s->a),
               *wckeys = specs_where(g->sp, KEY_WCKEYS, g->s->a),
               *first = set_value(g, KEY_DEFAULT_ACCOUNT), *level = set_value(g, KEY_ADMIN_LEVEL);
    struct str added = STR_INIT, keys = STR_INIT;
    bool only_default = !accounts;
    g->wrong = true;
    if (text_empty(names))
        sacctmgr_refuse(g->s, " Need name of user to add.");
    else if (text_empty(accounts) && text_empty(first))
        sacctmgr_refuse(g->s, " Need name of account to add user to.");
    else if (admin_level_of(g, level, &u.admin_level) &&
             accounts_are_known(g, accounts ? accounts : first)) {
        g->wrong = false;
        if (text_empty(accounts))
            accounts = first;
        else if (first && !specs_match(accounts, first))
            accounts = arena_printf(g->s->a, "%s,%s", first, accounts);
        u.default_account = first ? first : first_of(g, accounts);
        if (!u.default_wckey && !text_empty(wckeys))
            u.default_wckey = first_of(g, wckeys);
        users_each(g, names, accounts, &u, &added, &keys);
    }
    if (added.len) {
        str_addf(&g->c.said, " Adding User(s)\n%s", str_text(&added));
        user_settings_say(g, &u, level != NULL);
    }
    if (g->lines.len)
        str_addf(&g->c.said, " Associations =\n%s", str_text(&g->lines));
    if (keys.len)
        str_addf(&g->c.said, " WCKeys =\n%s", str_text(&keys));
    if (g->lines.len && !only_default)
        str_addf(&g->c.said, " Non Default Settings\n%s", str_text(&g->st.said));
    str_done(&added);
    str_done(&keys);
}

/* ---- QOS ------------------------------------------------------------------------------------ */

static void qos_add(struct adding *g, const char *names)
{
    struct span rest = span_of(names ? names : "");
    const char *name, *descr = set_value(g, KEY_DESCRIPTION), *last = NULL;
    struct str said = STR_INIT;
    if (text_empty(names)) {
        sacctmgr_refuse(g->s, " Need name of qos to add.");
        g->wrong = true;
    }
    while (name_next(g, &rest, &name)) {
        if (book_qos(&g->b, name))
            continue;
        settings_to_qos(&g->c, &g->st, VERB_ADD, name);
        str_addf(&said, "  %s\n", name);
        last = name;
    }
    if (last) {
        str_addf(&g->c.said, " Adding QOS(s)\n%s Settings\n  Description    = %s\n",
                 str_text(&said), descr ? descr : last);
        if (g->st.qos.flags) {
            str_addf(&g->c.said, "  %-24s = ", "Flags");
            for (int i = 0, any = 0; i < QOS_FLAG_COUNT; i++)
                if (g->st.qos.flags >> i & 1u)
                    str_addf(&g->c.said, "%s%s", any++ ? "," : "", qos_flag_words[i].word);
            str_addc(&g->c.said, '\n');
        }
        str_add(&g->c.said, str_text(&g->st.said));
    }
    str_done(&said);
}

/* ---- coordinators, workload keys ------------------------------------------------------------ */

static void coordinator_add(struct adding *g, const char *names)
{
    const char *accounts = specs_where(g->sp, KEY_ACCOUNTS, g->s->a), *name, *account;
    struct span rest = span_of(accounts ? accounts : "");
    struct str users = STR_INIT, to = STR_INIT;
    bool wrong = false;
    if (text_empty(accounts) || text_empty(names)) {
        sacctmgr_refuse(g->s, !g->sp->where.n     ? " You need to specify conditions to to add the "
                                                    "coordinator."
                              : text_empty(names) ? " You need to specify a user list here."
                                                  : " You need to specify an account list here.");
        g->wrong = true;
        return;
    }
    while (name_next(g, &rest, &account))
        if (!book_account(&g->b, account)) {
            sacctmgr_refuse(g->s, " You specified a non-existent account '%s'.", account);
            wrong = true;
        } else {
            str_addf(&to, "  %s\n", account);
        }
    rest = span_of(names);
    while (name_next(g, &rest, &name)) {
        struct span of = span_of(accounts);
        if (!book_user(&g->b, name)) {
            sacctmgr_refuse(g->s, " You specified a non-existent user '%s'.", name);
            wrong = true;
            continue;
        }
        str_addf(&users, "  %s\n", name);
        while (name_next(g, &of, &account)) {
            const struct assoc key = {.account = account, .user = name};
            change_assoc(&g->c, NOUN_COORDINATOR, VERB_ADD, NULL, &key);
        }
    }
    str_addf(&g->c.said, " Adding Coordinator User(s)\n%s To Account(s) and all sub-accounts\n%s",
             str_text(&users), str_text(&to));
    g->wrong = wrong;
    str_done(&users);
    str_done(&to);
}

static void wckey_add(struct adding *g, const char *names)
{
    const char *users = specs_where(g->sp, KEY_USERS, g->s->a), *user;
    struct span rest = span_of(users ? users : "");
    struct str said = STR_INIT;
    if (text_empty(names) || text_empty(users)) {
        sacctmgr_refuse(g->s, " Need the key and its users: add wckey NAME user=USER");
        g->wrong = true;
    }
    while (!g->wrong && name_next(g, &rest, &user))
        user_wckeys(g, user, names, &said);
    str_addf(&g->c.said, " WCKeys =\n%s", str_text(&said));
    str_done(&said);
}

void accounts_add(struct sacctmgr *s, const struct specs *sp)
{
    struct adding g = {.s = s, .sp = sp, .c = {.s = s}};
    const char *names = specs_where(sp, KEY_NAMES, s->a);
    if (sp->entity == ENTITY_USER && !names)
        names = specs_where(sp, KEY_USERS, s->a);
    if (sp->entity == ENTITY_ACCOUNT && !names)
        names = specs_where(sp, KEY_ACCOUNTS, s->a);
    if (sp->entity == ENTITY_COORDINATOR && !names)
        names = specs_where(sp, KEY_USERS, s->a);
    if (book_read(s, &g.b) && cluster_is_known(&g) && settings_read(s, &g.b, sp, &g.st)) {
        switch ((int)sp->entity) {
        case ENTITY_ACCOUNT: account_add(&g, names); break;
        case ENTITY_USER: user_add(&g, names); break;
        case ENTITY_QOS: qos_add(&g, names); break;
        case ENTITY_COORDINATOR: coordinator_add(&g, names); break;
        default: wckey_add(&g, names); break;
        }
        if (!g.wrong)
            changes_commit(&g.c, " Nothing new added.");
    }
    str_done(&g.lines);
    settings_done(&g.st);
    changes_done(&g.c);
    book_done(&g.b);
}
