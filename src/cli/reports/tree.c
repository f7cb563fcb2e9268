/* The tree of accounts for reports. */
#include "base/alloc.h"
#include "cli/reports/sreport.h"

#include <stdlib.h>
#include <string.h>

struct tree_found {
    const char *name, *parent;
};
struct tree_finding {
    struct sreport *s;
    VEC(struct tree_found) account;
};

static void assoc_row(void *ctx, const void *record)
{
    struct tree_finding *f = ctx;
    const struct assoc *a = record;
    if (!a->user && a->parent)
        vec_push(&f->account, ((struct tree_found){a->account, a->parent}));
}

static bool is_known(const struct tree_finding *f, const char *name)
{
    for (size_t i = 0; i < f->account.n; i++)
        if (text_is(f->account.v[i].name, name))
            return true;
    return text_is(name, "root");
}

static int name_order(const void *a, const void *b)
{
    return strcmp(((const struct tree_found *)a)->name, ((const struct tree_found *)b)->name);
}

static void below_add(const struct tree_finding *f, account_tree *t, size_t up)
{
    const char *name = t->v[up].name;
    int depth = t->v[up].depth + 1;
    for (size_t i = 0; i < f->account.n; i++)
        if (text_is(f->account.v[i].parent, name) && t->n <= f->account.n) {
            vec_push(t, ((struct account_node){f->account.v[i].name, depth, up}));
            below_add(f, t, t->n - 1);
        }
}

bool account_tree_read(struct sreport *s, const used_vec *used, account_tree *ret)
{
    struct msg_query q = {.what = QUERY_ASSOCS};
    struct tree_finding f = {.s = s};
    bool ok = sreport_query(s, &q, &assoc_fields, assoc_row, &f);
    for (size_t i = 0; ok && i < used->n; i++)
        if (used->v[i]->account && !is_known(&f, used->v[i]->account))
            vec_push(&f.account, ((struct tree_found){used->v[i]->account, "root"}));
    if (f.account.n)
        qsort(f.account.v, f.account.n, sizeof f.account.v[0], name_order);
    vec_push(ret, ((struct account_node){.name = "root"}));
    below_add(&f, ret, 0);
    vec_done(&f.account);
    return ok;
}

/* Jobs without an account are the root's. */
size_t account_place(const account_tree *t, const char *name)
{
    for (size_t i = 0; name && i < t->n; i++)
        if (text_is(t->v[i].name, name))
            return i;
    return 0;
}

bool account_below(const account_tree *t, size_t at, const char *top)
{
    for (;; at = t->v[at].up) {
        if (text_is(t->v[at].name, top))
            return true;
        if (at == 0)
            return false;
    }
}
