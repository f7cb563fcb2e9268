/* A few questions go through all associations; more have them gone through once, and what moves in
 * the tree meanwhile is told. */
#include "core/request/accounts/under.h"

#define FEW 2

static void take(struct under *u, struct assocrec *r)
{
    if (!r->up)
        return;
    void **slot = map_u64_slot(u->of, r->up->a.id);
    if (!*slot)
        *slot = map_u64_new();
    map_u64_put(*slot, r->a.id, r);
}

const assocrec_vec *under_all(struct under *u, const struct core *c, struct assocrec *top)
{
    struct map_walk w = {0};
    bool all = u->asked++ >= FEW && !u->of;
    vec_clear(&u->found);
    if (all)
        u->of = map_u64_new();
    while ((all || !u->of) && map_u64_next(c->accounts.assoc, &w)) {
        struct assocrec *r = w.value;
        if (all)
            take(u, r);
        else if (assoc_is_under(r, top))
            vec_push(&u->found, r);
    }
    if (!u->of)
        return &u->found;
    vec_push(&u->found, top);
    for (size_t i = 0; i < u->found.n; i++) {
        const struct map_u64 *below = map_u64_get(u->of, u->found.v[i]->a.id);
        for (w = (struct map_walk){0}; below && map_u64_next(below, &w);)
            vec_push(&u->found, w.value);
    }
    return &u->found;
}

void under_moved(struct under *u, struct assocrec *r, const struct assocrec *former)
{
    struct map_u64 *below = u->of && former ? map_u64_get(u->of, former->a.id) : NULL;
    if (below)
        map_u64_del(below, r->a.id);
    if (u->of)
        take(u, r);
}

void under_done(struct under *u)
{
    struct map_walk w = {0};
    while (u->of && map_u64_next(u->of, &w))
        map_u64_free(w.value);
    map_u64_free(u->of);
    vec_done(&u->found);
    *u = (struct under){0};
}
