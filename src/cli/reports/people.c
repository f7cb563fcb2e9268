/* Reports about people and accounts: cluster AccountUtilizationByUser, UserUtilizationByAccount,
 * the two by workload keys, and user TopUsage. */
#include "base/alloc.h"
#include "base/list.h"
#include "cli/program/program.h"
#include "cli/program/room.h"
#include "cli/reports/sreport.h"

#include <stdlib.h>
#include <string.h>

#include "base/plain.h"

/* What all of them need. */
struct report_people {
    struct sreport *s;
    struct sreport_asked k;
    struct sreport_report report;
    struct report_column column[USE_COLUMNS];
    used_vec used;
    spell_vec spells;
    VEC(int64_t) there; /* of each resource asked about, units × seconds */
};

const char *person_name(const char *user, struct arena *a)
{
    const struct passwd *pw = user ? user_by_name(user) : NULL;
    struct str name = STR_INIT, plain = STR_INIT;
    if (!pw || !pw->pw_gecos)
        return "";
    str_addn(&name, pw->pw_gecos, strcspn(pw->pw_gecos, ","));
    str_add_plain(&plain, str_text(&name));
    const char *kept = arena_strdup(a, str_text(&plain));
    str_done(&name);
    str_done(&plain);
    return kept;
}

/* `standard`: columns before Used. */
static bool people_begin(struct report_people *p, struct sreport *s, unsigned may, const char *by,
                         const char *standard, bool energy, int n, char **word)
{
    *p = (struct report_people){.s = s};
    memcpy(p->column, may & 1u << COND_TOP_COUNT ? top_columns : use_columns, sizeof p->column);
    asked_read(s, may, n, word, &p->k);
    if (p->k.value[COND_TREE])
        p->column[USE_ACCOUNTS].width = -20;
    if (!asked_tres(s, &p->k) || !used_read(s, &p->k, by, false, &p->used) ||
        !spells_read(s, &p->k, &p->spells))
        return false;
    for (size_t i = 0; i < p->k.tres.n; i++) {
        const char *tres = p->k.tres.v[i].name;
        vec_push(&p->there, spells_capacity(&p->spells, tres, p->k.from_us, p->k.to_us).all);
    }
    const char *shown =
        arena_printf(s->a, "%s%s,used%s", standard, p->k.one_tres ? "" : ",tresname",
                     energy && p->k.one_tres ? ",energy" : "");
    report_init(&p->report, s, p->column, USE_COLUMNS, p->k.value[COND_FORMAT], shown);
    return true;
}

static void people_end(struct report_people *p)
{
    asked_done(&p->k);
    vec_done(&p->used);
    vec_done(&p->spells);
    vec_done(&p->there);
    vec_done(&p->report.row);
}

/* A line for each resource. */
static void lines_add(struct report_people *p, const struct used *u, struct report_row row)
{
    for (size_t i = 0; i < p->k.tres.n; i++) {
        const char *tres = p->k.tres.v[i].name;
        row.cell[USE_CLUSTER].text = p->s->cluster;
        row.cell[USE_TRES_NAME].text = tres;
        row.cell[USE_USED] =
            (struct report_cell){.amount = used_amount(u, tres), .of = p->there.v[i]};
        report_add(&p->report, &row);
    }
}

static void person_add(struct report_people *p, const struct used *u)
{
    struct report_row row = {0};
    row.cell[USE_ACCOUNTS].text = u->account;
    row.cell[USE_WCKEY].text = u->wckey;
    row.cell[USE_LOGIN].text = u->user_name;
    row.cell[USE_PROPER].text = person_name(u->user_name, p->s->a);
    lines_add(p, u, row);
}

static bool is_asked(const struct sreport_asked *k, const struct used *u)
{
    return asked_has(k, COND_ACCOUNTS, u->account) && asked_has(k, COND_USERS, u->user_name) &&
           asked_has(k, COND_WCKEYS, u->wckey);
}

static void used_filter(used_vec *used, const struct sreport_asked *k)
{
    size_t kept = 0;
    for (size_t i = 0; i < used->n; i++)
        if (is_asked(k, used->v[i]))
            used->v[kept++] = used->v[i];
    used->n = kept;
}

static int text_order(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

static int by_amount(const void *a, const void *b, void *tres)
{
    const struct used *const *p = a, *const *q = b;
    int64_t m = used_amount(*p, tres), n = used_amount(*q, tres);
    if (m != n)
        return m > n ? -1 : 1;
    int order = text_order((*p)->user_name, (*q)->user_name);
    return order ? order : text_order((*p)->account, (*q)->account);
}

static void used_sort(struct report_people *p, const char *tres)
{
    if (p->used.n)
        qsort_r(p->used.v, p->used.n, sizeof p->used.v[0], by_amount, (void *)tres);
}

/* ---- by user -------------------------------------------------------------------------------- */

#define MAY_PEOPLE (1u << COND_ACCOUNTS | 1u << COND_USERS)

void report_user_by_account(struct sreport *s, int n, char **word)
{
    struct report_people p;
    if (people_begin(&p, s, MAY_PEOPLE | 1u << COND_TREE, "account,user_name",
                     "cluster,login,proper,account", true, n, word)) {
        used_filter(&p.used, &p.k);
        used_sort(&p, "cpu"); /* whatever -T asks for */
        for (size_t i = 0; i < p.used.n; i++)
            person_add(&p, p.used.v[i]);
        report_print(&p.report, "Cluster/User/Account Utilization", &p.k, true, NULL);
    }
    people_end(&p);
}

void report_user_by_wckey(struct sreport *s, int n, char **word)
{
    struct report_people p;
    if (people_begin(&p, s, 1u << COND_USERS | 1u << COND_WCKEYS, "wckey,user_name",
                     "cluster,login,proper,wckey", false, n, word)) {
        used_filter(&p.used, &p.k);
        used_sort(&p, "cpu"); /* whatever -T asks for */
        for (size_t i = 0; i < p.used.n; i++)
            if (p.used.v[i]->wckey)
                person_add(&p, p.used.v[i]);
        report_print(&p.report, "Cluster/User/WCKey Utilization", &p.k, true, NULL);
    }
    people_end(&p);
}

/* Adds what y used to *sum. */
static void used_into(struct arena *a, struct used *sum, const struct used *y)
{
    struct str gres = STR_INIT;
    struct span rest, piece;
    sum->jobs += y->jobs;
    sum->cpu_s += y->cpu_s;
    sum->mem_mib_s += y->mem_mib_s;
    sum->node_s += y->node_s;
    sum->billing_s += y->billing_s;
    sum->planned_cpu_s += y->planned_cpu_s;
    if (text_empty(y->gres) || text_empty(sum->gres)) {
        sum->gres = text_empty(sum->gres) ? y->gres : sum->gres;
        return;
    }
    for (int side = 0; side < 2; side++) {
        rest = span_of(side ? y->gres : sum->gres);
        while (span_next(&rest, ',', &piece)) {
            const char *equals = memchr(piece.data, '=', piece.len);
            const char *name =
                equals ? arena_strndup(a, piece.data, (size_t)(equals - piece.data)) : NULL;
            if (name && (!side || gres_amount(sum->gres, name) == 0))
                str_addf(&gres, "%s%s=%lld", gres.len ? "," : "", name,
                         (long long)(gres_amount(sum->gres, name) + gres_amount(y->gres, name)));
        }
    }
    sum->gres = arena_strdup(a, str_text(&gres));
    str_done(&gres);
}

static int by_wckey(const void *a, const void *b)
{
    const struct used *const *p = a, *const *q = b;
    int order = text_order((*p)->wckey, (*q)->wckey);
    return order ? order : text_order((*p)->user_name, (*q)->user_name);
}

void report_wckey_by_user(struct sreport *s, int n, char **word)
{
    struct report_people p;
    if (people_begin(&p, s, 1u << COND_WCKEYS, "wckey,user_name", "cluster,wckey,login,proper",
                     false, n, word)) {
        used_filter(&p.used, &p.k);
        if (p.used.n) /* they come in the order of users */
            qsort(p.used.v, p.used.n, sizeof p.used.v[0], by_wckey);
        for (size_t i = 0; i < p.used.n; i++) {
            struct used sum = *p.used.v[i];
            if (!sum.wckey || (i > 0 && text_is(p.used.v[i - 1]->wckey, sum.wckey)))
                continue;
            size_t to = i + 1;
            for (; to < p.used.n && text_is(p.used.v[to]->wckey, sum.wckey); to++)
                used_into(s->a, &sum, p.used.v[to]);
            struct report_row row = {0};
            row.cell[USE_WCKEY].text = sum.wckey;
            lines_add(&p, &sum, row);
            for (size_t k = i; k < to; k++)
                person_add(&p, p.used.v[k]);
        }
        report_print(&p.report, "Cluster/WCKey/User Utilization", &p.k, true, NULL);
    }
    people_end(&p);
}

/* ---- top ------------------------------------------------------------------------------------ */

#define TOP_DEFAULT 10

static int by_user(const void *a, const void *b)
{
    const struct used *const *p = a, *const *q = b;
    int order = text_order((*p)->user_name, (*q)->user_name);
    return order ? order : text_order((*p)->account, (*q)->account);
}

/* Rows of one user become one. */
static void users_group(struct report_people *p)
{
    size_t kept = 0;
    struct str accounts = STR_INIT;
    if (p->used.n)
        qsort(p->used.v, p->used.n, sizeof p->used.v[0], by_user);
    for (size_t i = 0, to; i < p->used.n; i = to) {
        struct used *sum = arena_dup(p->s->a, p->used.v[i], sizeof *sum);
        str_clear(&accounts);
        str_add(&accounts, sum->account ? sum->account : "");
        for (to = i + 1; to < p->used.n && text_is(p->used.v[to]->user_name, sum->user_name);
             to++) {
            const char *account = p->used.v[to]->account;
            used_into(p->s->a, sum, p->used.v[to]);
            str_addf(&accounts, ", %s", account ? account : "");
        }
        if (to > i + 1)
            sum->account = arena_strdup(p->s->a, str_text(&accounts));
        p->used.v[kept++] = sum;
    }
    p->used.n = kept;
    str_done(&accounts);
}

void report_top(struct sreport *s, int n, char **word)
{
    struct report_people p;
    int64_t top = TOP_DEFAULT;
    if (people_begin(&p, s, MAY_PEOPLE | 1u << COND_GROUP | 1u << COND_TOP_COUNT,
                     "account,user_name", "cluster,login,proper,account", true, n, word)) {
        const char *count = p.k.value[COND_TOP_COUNT];
        if (count && !text_to_i64(count, 1, INT32_MAX, &top)) {
            program_error("sreport", "Invalid value for TopCount (%s)", count);
            s->rc = 1;
        }
        used_filter(&p.used, &p.k);
        if (p.k.value[COND_GROUP])
            users_group(&p);
        used_sort(&p, p.k.tres.v[0].name);
        for (size_t i = 0; i < p.used.n && (int64_t)i < top; i++)
            person_add(&p, p.used.v[i]);
        report_print(&p.report, arena_printf(s->a, "Top %lld Users", (long long)top), &p.k, true,
                     NULL);
    }
    people_end(&p);
}

/* ---- by account ----------------------------------------------------------------------------- */

/* What each account used: itself, and with those below it. */
struct account_use {
    struct used *sum; /* of it and those below; NULL = nothing */
    size_t first;     /* of its own rows, +1; they are chained in their order */
};
struct accounts {
    struct account_tree tree;
    struct account_use *use; /* by place in the tree */
    size_t *next;            /* of each row of `used`, +1 */
};

static void use_note(struct report_people *p, struct accounts *t, size_t at, const struct used *u)
{
    for (;; at = t->tree.node.v[at].up) {
        if (t->use[at].sum)
            used_into(p->s->a, t->use[at].sum, u);
        else
            t->use[at].sum = arena_dup(p->s->a, u, sizeof *u);
        if (at == 0)
            return;
    }
}

static bool accounts_read(struct report_people *p, struct accounts *t)
{
    if (!account_tree_read(p->s, &p->used, &t->tree))
        return false;
    t->use = arena_alloc(p->s->a, t->tree.node.n * sizeof t->use[0]);
    t->next = arena_alloc(p->s->a, p->used.n * sizeof t->next[0] + 1);
    for (size_t i = p->used.n; i-- > 0;) {
        struct account_use *own = &t->use[account_place(&t->tree, p->used.v[i]->account)];
        t->next[i] = own->first;
        own->first = i + 1;
    }
    for (size_t i = 0; i < p->used.n; i++)
        use_note(p, t, account_place(&t->tree, p->used.v[i]->account), p->used.v[i]);
    return true;
}

static const char *indented(struct report_people *p, int depth, const char *name)
{
    return p->k.value[COND_TREE] ? arena_printf(p->s->a, "%*s%s", depth, "", name) : name;
}

static void account_add(struct report_people *p, const struct accounts *t, size_t at, int depth)
{
    const char *name = t->tree.node.v[at].name;
    const struct used *sum = t->use[at].sum;
    struct report_row row = {0};
    if (!sum)
        return;
    row.cell[USE_ACCOUNTS].text = indented(p, depth, name);
    if (text_empty(p->k.value[COND_USERS]))
        lines_add(p, sum, row);
    for (size_t i = t->use[at].first; i; i = t->next[i - 1]) {
        const struct used *u = p->used.v[i - 1];
        if (!asked_has(&p->k, COND_USERS, u->user_name))
            continue;
        row.cell[USE_ACCOUNTS].text = indented(p, depth + 1, name);
        row.cell[USE_LOGIN].text = u->user_name;
        row.cell[USE_PROPER].text = person_name(u->user_name, p->s->a);
        lines_add(p, u, row);
    }
}

/* The nearest account above that was asked for, itself included; depth below it, or −1. */
static int depth_below_asked(const struct account_tree *t, const char *accounts, size_t at)
{
    int depth = -1;
    for (size_t k = at, below = 0;; k = t->node.v[k].up, below++) {
        if (list_has_nocase(accounts, t->node.v[k].name))
            depth = (int)below;
        if (k == 0)
            return depth;
    }
}

void report_account_by_user(struct sreport *s, int n, char **word)
{
    struct report_people p;
    struct accounts t = {0};
    if (people_begin(&p, s, MAY_PEOPLE | 1u << COND_TREE, "account,user_name",
                     "cluster,account,login,proper", true, n, word) &&
        accounts_read(&p, &t)) {
        for (size_t i = 0; i < t.tree.node.n; i++) {
            const char *accounts = p.k.value[COND_ACCOUNTS];
            int depth = accounts ? depth_below_asked(&t.tree, accounts, i) : t.tree.node.v[i].depth;
            if (depth >= 0)
                account_add(&p, &t, i, depth);
        }
        report_print(&p.report, "Cluster/Account/User Utilization", &p.k, true, NULL);
    }
    account_tree_done(&t.tree);
    people_end(&p);
}
