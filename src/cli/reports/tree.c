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
    struct map_str *known; /* their names */
};

static void found_add(struct tree_finding *f, const char *name, const char *parent)
{
    if (text_is(name, "root") || map_str_get(f->known, name))
        return;
    vec_push(&f->account, ((struct tree_found){name, parent}));
    map_str_put(f->known, name, f);
}

static void assoc_row(void *ctx, const void *record)
{
    struct tree_finding *f = ctx;
    const struct assoc *a = record;
    if (!a->user && a->parent)
        found_add(f, a->account, a->parent);
}

/* By parent, those of one by name. */
static int found_order(const void *a, const void *b)
{
    const struct tree_found *x = a, *y = b;
    int order = strcmp(x->parent, y->parent);
    return order ? order : strcmp(x->name, y->name);
}

static void node_add(struct account_tree *t, const char *name, int depth, size_t up)
{
    vec_push(&t->node, ((struct account_node){name, depth, up}));
    map_str_put(t->place, name, (void *)t->node.n); /* NOLINT(performance-no-int-to-ptr) */
}

/* The first of those whose parent it is. */
static size_t first_below(const struct tree_finding *f, const char *name)
{
    size_t from = 0, to = f->account.n;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        if (strcmp(f->account.v[mid].parent, name) < 0)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

static void below_add(const struct tree_finding *f, struct account_tree *t, size_t up)
{
    const char *name = t->node.v[up].name;
    int depth = t->node.v[up].depth + 1;
    for (size_t i = first_below(f, name); i < f->account.n && text_is(f->account.v[i].parent, name);
         i++) {
        node_add(t, f->account.v[i].name, depth, up);
        below_add(f, t, t->node.n - 1);
    }
}

bool account_tree_read(struct sreport *s, const used_vec *used, struct account_tree *ret)
{
    struct msg_query q = {.what = QUERY_ASSOCS};
    struct tree_finding f = {.s = s, .known = map_str_new()};
    bool ok = sreport_query(s, &q, &assoc_fields, assoc_row, &f);
    for (size_t i = 0; ok && i < used->n; i++)
        if (used->v[i]->account)
            found_add(&f, used->v[i]->account, "root");
    if (f.account.n)
        qsort(f.account.v, f.account.n, sizeof f.account.v[0], found_order);
    ret->place = map_str_new();
    node_add(ret, "root", 0, 0);
    below_add(&f, ret, 0);
    vec_done(&f.account);
    map_str_free(f.known);
    return ok;
}

void account_tree_done(struct account_tree *t)
{
    vec_done(&t->node);
    map_str_free(t->place);
}

/* Jobs without an account are the root's. */
size_t account_place(const struct account_tree *t, const char *name)
{
    size_t at = name ? (size_t)(uintptr_t)map_str_get(t->place, name) : 0;
    return at ? at - 1 : 0;
}
