/* remuda accounts: who is in what, with which limits, and how much of each is used: a tree for
 * people. What is too long for the terminal goes on in the next line, below where it began. */
#include "base/amount.h"
#include "base/duration.h"
#include "base/list.h"
#include "cli/accounts/accounts.h"
#include "cli/program/commands.h"
#include "cli/program/own_line.h"
#include "cli/program/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define NAME_MOST  40 /* columns of the tree */
#define REST_LEAST 20

struct sacctmgr_people {
    const char *state_dir, *user;
    VEC(const char *) account;
    struct sacctmgr s;
    struct book book;
    VEC(const struct limit_use *) use;
    int width; /* of the terminal; 0 = none */
    int names; /* columns of the tree */
    struct str out;
};

static bool account_take(void *to, const char *word, struct arena *a, struct err *ret_err)
{
    struct sacctmgr_people *p = to;
    vec_push(&p->account, word);
    return true;
}

static const struct option_row rows[] = {
    OPT_VALUE("user", 'u', "name", "only the accounts of this user, and this user in them",
              set_any_text, offsetof(struct sacctmgr_people, user)),
    OWN_STATE(struct sacctmgr_people),
    OWN_HELP,
};
OPTION_TABLE(accounts_options, rows, .usage = "remuda accounts [OPTIONS] [ACCOUNT...]",
             .about = "  The tree of accounts: who is in what, with which QOS and limits, and how "
                      "much of each limit is used; and what\n"
                      "  is limited by QOS. With ACCOUNT: these, and what is below them. * marks a "
                      "user's default account, or the default QOS.\n",
             .words = WORDS_MIXED, .word = account_take);

/* ---- what is said --------------------------------------------------------------------------- */

static void amount_say(const struct limit *l, int64_t n, struct str *out)
{
    enum limit_unit unit = resource_limit_table[l->what].unit;
    if (unit == UNIT_MINUTES)
        duration_format(amount_times(n, USEC_PER_MIN), out);
    else if (unit == UNIT_TRES && text_is(l->tres, "mem"))
        size_format_mib(n, 0, out);
    else
        str_add_i64(out, n);
}

static bool is_counted(const struct limit *l)
{
    enum limit_counts counts = resource_limit_table[l->what].counts;
    return counts != COUNTS_ASKED && counts != COUNTS_LEAST && counts != COUNTS_PRIORITY;
}

/* By whom it is used; NULL = by nobody. A group's is asked for nobody in particular. */
static const struct limit_use *use_of(const struct sacctmgr_people *p, const struct limit *l,
                                      const char *user, const char *account)
{
    for (size_t i = 0; i < p->use.n; i++) {
        const struct limit_use *u = p->use.v[i];
        if (text_is(u->id, l->id) && (!user || text_is(u->user, user)) &&
            (!account || !u->account || text_is(u->account, account)))
            return u;
    }
    return NULL;
}

static void comma(struct str *out)
{
    if (out->len)
        str_add(out, ", ");
}

static void limit_say(const struct limit *l, int64_t used, struct str *out)
{
    comma(out);
    str_add(out, resource_limit_table[l->what].word);
    if (l->tres)
        str_addf(out, " %s", l->tres);
    str_addc(out, ' ');
    if (used >= 0) {
        amount_say(l, used, out);
        str_add(out, " of ");
    }
    amount_say(l, l->value, out);
    if (!text_empty(l->hours))
        str_addf(out, " (%s)", l->hours);
}

/* Limits of the account itself; those of its users are counted in their lines. */
static void own_limits_say(const struct sacctmgr_people *p, const struct sacctmgr_owner *o,
                           struct str *out)
{
    for (size_t i = 0; i < o->limit.n; i++) {
        const struct limit *l = o->limit.v[i];
        const struct limit_use *u = use_of(p, l, NULL, NULL);
        bool group = resource_limit_table[l->what].scope == SCOPE_GROUP;
        limit_say(l, group && is_counted(l) ? (u ? u->used : 0) : -1, out);
    }
}

/* Limits that hold for a user in an account: his own, or passed down; the nearest of each. */
static void user_limits_say(const struct sacctmgr_people *p, const struct assoc_view *v,
                            struct str *out)
{
    VEC(const struct limit *) said = {0};
    for (const struct assoc_view *at = v; at; at = at->up)
        for (size_t i = 0; i < at->owner.limit.n; i++) {
            const struct limit *l = at->owner.limit.v[i];
            bool group = resource_limit_table[l->what].scope == SCOPE_GROUP, known = false;
            for (size_t k = 0; k < said.n; k++)
                known |= said.v[k]->what == l->what && text_is(said.v[k]->tres, l->tres);
            if (known || (group && at != v) || (at != v && !is_counted(l)))
                continue;
            const struct limit_use *u =
                use_of(p, l, group ? NULL : v->a->user, group ? NULL : v->a->account);
            limit_say(l, is_counted(l) ? (u ? u->used : 0) : -1, out);
            vec_push(&said, l);
        }
    vec_done(&said);
}

static const char *default_qos(const struct assoc_view *v)
{
    while (v && !v->a->default_qos)
        v = v->up;
    return v ? v->a->default_qos : NULL;
}

static void qos_say(const struct sacctmgr_people *p, const struct assoc_view *v, struct str *out)
{
    struct span rest = span_of(assoc_view_qos(&p->book, v, p->s.a)), piece;
    const char *first = default_qos(v);
    bool any = false;
    comma(out);
    str_add(out, "QOS ");
    while (span_next(&rest, ',', &piece)) {
        str_addf(out, "%s%.*s%s", any ? "," : "", (int)piece.len, piece.data,
                 first && span_is(piece, first) ? "*" : "");
        any = piece.len > 0;
    }
    if (!any)
        str_add(out, "none");
}

static bool own_qos(const struct assoc_view *v)
{
    return v->a->qos || v->a->qos_more || v->a->qos_less || v->a->default_qos || !v->up;
}

/* ---- lines ---------------------------------------------------------------------------------- */

static size_t characters(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

/* Words of the rest, as many a line as fit. */
static void line_print(struct sacctmgr_people *p, int indent, const char *name, const char *rest)
{
    size_t at = (size_t)indent + characters(name);
    size_t from = (size_t)p->names + 2, most = p->width ? (size_t)p->width : SIZE_MAX;
    if (most != SIZE_MAX && most < from + REST_LEAST) {
        from = (size_t)indent + 4;
        at = most; /* begins in a line of its own */
    }
    str_addf(&p->out, "%*s%s", indent, "", name);
    struct span words = span_of(rest), word;
    bool first = true;
    while (span_next(&words, ' ', &word)) {
        size_t len = characters(arena_strndup(p->s.a, word.data, word.len));
        if (!word.len)
            continue;
        if (at < from && first) {
            str_addf(&p->out, "%*s", (int)(from - at), "");
            at = from;
        } else if (at + 1 + len > most || (first && at >= from)) {
            str_addf(&p->out, "\n%*s", (int)from, "");
            at = from;
        } else {
            str_addc(&p->out, ' ');
            at++;
        }
        str_addn(&p->out, word.data, word.len);
        at += len;
        first = false;
    }
    str_addc(&p->out, '\n');
}

static const char *name_of(const struct sacctmgr_people *p, const struct assoc_view *v)
{
    const struct account_user *u = v->a->user ? book_user(&p->book, v->a->user) : NULL;
    if (!v->a->user)
        return v->a->account;
    return arena_printf(p->s.a, "%s%s%s%s%s", v->a->user,
                        u && text_is(u->default_account, v->a->account) ? "*" : "",
                        v->a->partition ? " (" : "", v->a->partition ? v->a->partition : "",
                        v->a->partition ? ")" : "");
}

static void people_say(const struct sacctmgr_people *p, const struct assoc_view *v, struct str *out)
{
    const struct account *a = v->a->user ? NULL : book_account(&p->book, v->a->account);
    const struct account_user *u = v->a->user ? book_user(&p->book, v->a->user) : NULL;
    if (a && !text_empty(a->coordinators))
        str_addf(out, "coordinators %s", a->coordinators);
    if (u && u->admin_level != ADMIN_NONE)
        str_addf(out, "%s", enum_name(&admin_level_names, u->admin_level));
    if (own_qos(v))
        qos_say(p, v, out);
    if (v->a->user)
        user_limits_say(p, v, out);
    else
        own_limits_say(p, &v->owner, out);
}

/* ---- what is shown -------------------------------------------------------------------------- */

static bool is_asked(const struct sacctmgr_people *p, const struct assoc_view *v)
{
    bool asked = p->account.n == 0;
    for (const struct assoc_view *at = v; at && !asked; at = at->up)
        for (size_t i = 0; i < p->account.n; i++)
            asked |= text_is_nocase(at->a->account, p->account.v[i]);
    if (v->a->deleted || !asked)
        return false;
    if (!p->user)
        return true;
    if (v->a->user)
        return text_is(v->a->user, p->user);
    for (size_t i = 0; i < p->book.assoc.n; i++) { /* an account above one of the user's */
        const struct assoc_view *own = p->book.assoc.v[i];
        if (own->a->deleted || !own->a->user || !text_is(own->a->user, p->user))
            continue;
        for (const struct assoc_view *at = own; at; at = at->up)
            if (at == v)
                return true;
    }
    return false;
}

static void tree_print(struct sacctmgr_people *p)
{
    VEC(const struct assoc_view *) shown = {0};
    for (size_t i = 0; i < p->book.assoc.n; i++) {
        const struct assoc_view *v = p->book.assoc.v[i];
        size_t wide = is_asked(p, v) ? characters(name_of(p, v)) + (size_t)v->depth * 2 : 0;
        if (!wide)
            continue;
        vec_push(&shown, v);
        if ((int)wide > p->names)
            p->names = wide > NAME_MOST ? NAME_MOST : (int)wide;
    }
    for (size_t i = 0; i < shown.n; i++) {
        struct str rest = STR_INIT;
        people_say(p, shown.v[i], &rest);
        line_print(p, shown.v[i]->depth * 2, name_of(p, shown.v[i]), str_text(&rest));
        str_done(&rest);
    }
    vec_done(&shown);
}

/* Who uses how much of a QOS's limits. */
static void qos_use_say(const struct sacctmgr_people *p, const struct limit *l, struct str *out)
{
    enum limit_scope scope = resource_limit_table[l->what].scope;
    const struct limit_use *u = use_of(p, l, p->user, NULL);
    if (scope != SCOPE_USER && scope != SCOPE_ACCOUNT) {
        limit_say(l, is_counted(l) ? (u ? u->used : 0) : -1, out);
        return;
    }
    limit_say(l, -1, out);
    for (size_t i = 0, n = 0; i < p->use.n; i++) {
        const char *whose = p->use.v[i]->user ? p->use.v[i]->user : p->use.v[i]->account;
        if (!text_is(p->use.v[i]->id, l->id) || !p->use.v[i]->used ||
            (p->user && !text_is(p->use.v[i]->user, p->user)))
            continue;
        str_addf(out, "%s%s ", n++ ? ", " : ": ", whose);
        amount_say(l, p->use.v[i]->used, out);
    }
}

static void qos_print(struct sacctmgr_people *p)
{
    bool any = false;
    for (size_t i = 0; i < p->book.qos.n; i++) {
        const struct qos_view *v = p->book.qos.v[i];
        struct str rest = STR_INIT;
        if (v->q->deleted || (!v->owner.limit.n && !v->q->priority))
            continue;
        if (v->q->priority)
            str_addf(&rest, "priority %u", v->q->priority);
        for (size_t k = 0; k < v->owner.limit.n; k++)
            qos_use_say(p, v->owner.limit.v[k], &rest);
        if (!any)
            str_addc(&p->out, '\n');
        line_print(p, 0, arena_printf(p->s.a, "QOS %s", v->q->name), str_text(&rest));
        any = true;
        str_done(&rest);
    }
}

/* ---- asking --------------------------------------------------------------------------------- */

static void use_keep(void *ctx, const void *record)
{
    struct sacctmgr_people *p = ctx;
    vec_push(&p->use, arena_dup(p->s.a, record, sizeof(struct limit_use)));
}

/* COLUMNS, else the terminal's, else none: what is not a terminal gets long lines. */
static int width_find(void)
{
    const char *said = getenv("COLUMNS");
    struct winsize size;
    int n = said ? atoi(said) : 0;
    if (n > 0)
        return n;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

static bool accounts_named(struct sacctmgr_people *p)
{
    for (size_t i = 0; i < p->account.n; i++) {
        bool found = false;
        for (size_t k = 0; k < p->book.assoc.n && !found; k++)
            found = !p->book.assoc.v[k]->a->deleted &&
                    text_is_nocase(p->book.assoc.v[k]->a->account, p->account.v[i]);
        if (found)
            continue;
        VEC(const char *) names = {0};
        for (size_t k = 0; k < p->book.account.n; k++)
            vec_push(&names, p->book.account.v[k]->name);
        const char *near = text_nearest(p->account.v[i], names.v, names.n);
        sacctmgr_fail(&p->s, "there is no account %s%s%s%s", p->account.v[i],
                      near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
        vec_done(&names);
        return false;
    }
    return true;
}

static void accounts_print(struct sacctmgr_people *p)
{
    struct msg_query use = {.what = QUERY_LIMIT_USE};
    p->book.limit_ids = true; /* by which use is told */
    if (!sacctmgr_connect(&p->s) || !book_read(&p->s, &p->book) ||
        !sacctmgr_query(&p->s, &use, &limit_use_fields, use_keep, p) || !accounts_named(p))
        return;
    p->width = width_find();
    tree_print(p);
    qos_print(p);
    fputs(str_text(&p->out), stdout);
}

int cmd_accounts(int argc, char **argv)
{
    struct arena *a = arena_new();
    struct sacctmgr_people p = {.s = {.a = a, .called = "remuda accounts"}};
    struct option_line line = {.table = &accounts_options, .to = &p, .a = a};
    int rc;
    if (own_line_read("remuda accounts", &line, argc, argv, &rc)) {
        p.s.state_dir = p.state_dir;
        accounts_print(&p);
        rc = p.s.rc;
    }
    if (p.s.client)
        client_close(p.s.client);
    book_done(&p.book);
    vec_done(&p.use);
    vec_done(&p.account);
    str_done(&p.out);
    arena_free(a);
    return rc;
}
