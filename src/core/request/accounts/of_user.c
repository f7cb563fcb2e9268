/* A few questions go through all associations: to know them by user is dearer than that. More have
 * them gone through once. */
#include "core/request/accounts/of_user.h"

#include "base/alloc.h"

#include <stdlib.h>

#define FEW 8

static void take(struct of_user *o, struct assocrec *r)
{
    const char *key;
    void **slot = map_str_slot(o->user, r->a.user, true, &key);
    if (!*slot)
        *slot = xcalloc(1, sizeof(assocrec_vec));
    assocrec_vec *his = *slot;
    vec_push(his, r);
}

const assocrec_vec *of_user(struct of_user *o, const struct core *c, const char *user)
{
    struct map_walk w = {0};
    bool by_user = o->user || o->asked++ >= FEW, all = by_user && !o->user;
    vec_clear(&o->one);
    if (all)
        o->user = map_str_new();
    while ((all || !by_user) && map_u64_next(c->accounts.assoc, &w)) {
        struct assocrec *r = w.value;
        if (all && r->a.user)
            take(o, r);
        else if (!all && text_is(r->a.user, user))
            vec_push(&o->one, r);
    }
    const assocrec_vec *his = by_user ? map_str_get(o->user, user) : NULL;
    return his ? his : &o->one;
}

void of_user_made(struct of_user *o, struct assocrec *r)
{
    if (o->user && r->a.user)
        take(o, r);
}

void of_user_done(struct of_user *o)
{
    struct map_walk w = {0};
    while (o->user && map_str_next(o->user, &w)) {
        assocrec_vec *his = w.value;
        vec_done(his);
        free(his);
    }
    map_str_free(o->user);
    vec_done(&o->one);
    *o = (struct of_user){0};
}
