/* The table of fair share: each association at its place in a walk down the tree. They are
 * gathered, put in order, and opened from the root on; each a part at a time. */
#include "core/record/accounts/share/fairshare.h"
#include "core/record/accounts/use.h"
#include "core/record/record.h"

#include <stdlib.h>
#include <string.h>

static int text_order(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

/* Below their parents users come before accounts, each by name. */
static int sibling_order(const void *va, const void *vb)
{
    const struct fs_item *x = va, *y = vb;
    const struct assoc *a = &x->r->a, *b = &y->r->a;
    if (x->up != y->up)
        return x->up < y->up ? -1 : 1;
    if (!a->user != !b->user)
        return a->user ? -1 : 1;
    int order = a->user ? text_order(a->user, b->user) : text_order(a->account, b->account);
    return order ? order : text_order(a->partition, b->partition);
}

/* Where the children of that one begin in the sorted list. */
static size_t children_at(const struct fs_work *w, uint32_t id)
{
    size_t low = 0, high = w->all.n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (w->all.v[middle].up < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void node_put(struct fs_work *w, struct assocrec *r, uint32_t parent)
{
    struct fs_table *t = &w->t;
    uint32_t place = (uint32_t)t->n++;
    struct fs_node *n = &t->v[place], *p = &t->v[parent];
    *n = (struct fs_node){.r = r, .parent = parent, .factor = -1};
    if (place)
        t->child[p->child + p->nchildren++] = place;
    n->depth = place ? p->depth + 1 : 0;
    n->shares = assoc_shares(&r->a);
    n->above = !place || p->shares != SHARES_PARENT || !parent ? parent : p->above;
    n->use = use_of(w->c, OWNER_ASSOC, r->a.id, "billing");
    t->users += r->a.user != NULL;
    if (place && n->shares > 0)
        t->v[n->above].level_shares += n->shares;
}

static void place_next(struct fs_work *w)
{
    struct fs_opened next = w->open.v[--w->open.n];
    struct assocrec *r = w->all.v[next.item].r;
    uint32_t place = (uint32_t)w->t.n;
    node_put(w, r, next.parent);
    size_t at = children_at(w, r->a.id), end = at;
    while (!r->a.user && end < w->all.n && w->all.v[end].up == r->a.id)
        end++;
    w->t.v[place].child = (uint32_t)w->t.listed; /* room for each; they come in this order */
    w->t.listed += end - at;
    for (size_t i = end; i > at; i--) /* the last first: it is taken last */
        vec_push(&w->open, ((struct fs_opened){i - 1, place}));
}

static bool gather_go(struct fs_work *w, size_t *most)
{
    for (; *most; --*most) {
        if (!map_u64_next(w->c->accounts.assoc, &w->walk))
            return true;
        struct assocrec *r = w->walk.value;
        if (!r->a.deleted)
            vec_push(&w->all, ((struct fs_item){r, r->up ? r->up->a.id : 0}));
    }
    return false;
}

static void places_begin(struct fs_work *w)
{
    /* Each is filled where it is placed: to clear all of it at once takes a millisecond. */
    w->t = (struct fs_table){.v = xmalloc((w->all.n + 1) * sizeof w->t.v[0]),
                             .child = xmalloc((w->all.n + 1) * sizeof w->t.child[0])};
    w->t.tree = !w->c->settings.word.no_fair_tree && !w->c->settings.word.depth_oblivious;
    if (w->all.n && !w->all.v[0].up)
        vec_push(&w->open, ((struct fs_opened){0, 0}));
}

bool shares_tree_go(struct fs_work *w, size_t *most)
{
    if (w->tree_stage == FS_GATHER && gather_go(w, most)) {
        merge_begin(&w->sort, w->all.v, w->all.n, sizeof w->all.v[0], sibling_order);
        w->tree_stage = FS_SORT;
    }
    if (w->tree_stage == FS_SORT && merge_go(&w->sort, most)) {
        places_begin(w);
        w->tree_stage = FS_PLACE;
    }
    for (; w->tree_stage == FS_PLACE && *most && w->open.n; --*most)
        place_next(w);
    if (w->tree_stage == FS_PLACE && !w->open.n)
        w->tree_stage = FS_PLACED;
    return w->tree_stage == FS_PLACED;
}

void shares_tree_done(struct fs_work *w)
{
    merge_done(&w->sort);
    vec_done(&w->all);
    vec_done(&w->open);
    free(w->t.v);
    free(w->t.child);
}
