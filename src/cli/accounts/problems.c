/* sacctmgr show problem: what in the tree does nothing for anybody. */
#include "cli/accounts/accounts.h"
#include "cli/program/room.h"
#include "cli/table/listing.h"

struct problem {
    const char *cluster, *account, *user; /* NULL = not told */
    const char *what;
};

#define TEXT_CELL(name)                                                                            \
    static void cell_##name(const struct cell_env *env, const void *record, struct str *out)       \
    {                                                                                              \
        const char *text = ((const struct problem *)record)->name;                                 \
        (void)env;                                                                                 \
        str_add(out, text ? text : "");                                                            \
    }
TEXT_CELL(cluster)
TEXT_CELL(account)
TEXT_CELL(user)
TEXT_CELL(what)

static const struct column problem_column[] = {
    {"Cluster", 0, NULL, 10, NULL, cell_cluster},
    {"Account", 0, NULL, 10, NULL, cell_account},
    {"User", 0, NULL, 10, NULL, cell_user},
    {"Problem", 0, NULL, 40, NULL, cell_what},
};
static const struct column_table problem_table = {problem_column, ARRAY_LEN(problem_column),
                                                  "problem", NULL};

/* An account with neither users nor accounts below it: nobody can use it. In the order of the tree
 * both would follow it. */
static bool is_empty(const struct book *b, size_t i)
{
    const struct assoc_view *v = b->assoc.v[i];
    if (v->a->user || v->a->deleted)
        return false;
    for (size_t k = i + 1; k < b->assoc.n && b->assoc.v[k]->depth > v->depth; k++)
        if (!b->assoc.v[k]->a->deleted)
            return false;
    return true;
}

/* Users are told whatever accounts are asked for, as Slurm does. */
void problems_show(struct sacctmgr *s, const struct specs *sp)
{
    const char *format = specs_where(sp, KEY_FORMAT, s->a),
               *accounts = specs_where(sp, KEY_ACCOUNTS, s->a),
               *users = specs_where(sp, KEY_USERS, s->a);
    struct table_out t;
    struct book b = {0};
    bool ok =
        book_read(s, &b) &&
        table_begin(&t, s, &problem_table, format ? format : "Cluster,Account,User,Problem", NULL);
    for (size_t i = 0; ok && !users && i < b.assoc.n; i++)
        if (is_empty(&b, i) && specs_match(accounts, b.assoc.v[i]->a->account))
            table_row(&t, &(struct problem){.cluster = s->cluster,
                                            .account = b.assoc.v[i]->a->account,
                                            .what = "Account has no users"});
    for (size_t i = 0; ok && i < b.user.n; i++) {
        const struct account_user *u = b.user.v[i];
        if (!u->deleted && specs_match(users, u->name) && !user_by_name(u->name))
            table_row(&t, &(struct problem){.user = u->name, .what = "User does not have a uid"});
    }
    if (ok)
        table_end(&t);
    book_done(&b);
}
