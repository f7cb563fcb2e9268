/* Caps behind the licences that a class needs. */
#include "sched/request/demand.h"

void demand_cap_bind(const struct cluster *cl, struct compiled *c, const struct cap_ref *r,
                     const struct cap_apart *apart)
{
    ASSERT(r->lic < cl->lic.n);
    const struct cap_amount *of = &cl->lic.amount.v[cap_need_of(c->caps, r)->amount];
    if (c->nlic >= c->lic_room) {
        struct lic_use *before = c->lic;
        c->lic_room = 2 * c->nlic + 4;
        c->lic = arena_alloc(c->arena, c->lic_room * sizeof c->lic[0]);
        for (size_t i = 0; i < c->nlic; i++)
            c->lic[i] = before[i];
    }
    c->lic[c->nlic++] = cap_set_use(c->caps, r, apart);
    c->ncap++;
    c->caps_each |= of->each != CAP_TOGETHER;
    c->caps_sized |=
        of->counts != CAP_JOBS && of->counts != CAP_LICENCES && of->counts != CAP_NODES;
}

struct compiled *demand_of(const struct cluster *cl, struct sclass *k)
{
    struct compiled *c = demand_unchosen(cl, k);
    if (c->caps_chosen)
        return c;
    const struct cap_apart *apart = c->caps->apart.v;
    for (size_t i = 0; i < c->caps->ref.n; i++) {
        const struct cap_ref *r = &c->caps->ref.v[i];
        demand_cap_bind(cl, c, r, r->need & CAP_APART ? apart++ : NULL);
    }
    c->caps_chosen = true;
    return c;
}
