#include "sched/answer/outs.h"

#include "sched/books/tables.h"

struct outs outs_in_the_way(const struct cluster *cl, const struct snode *n, const struct take *t,
                            struct arena *a)
{
    struct device_outs outs = {0};
    struct outs found = {0};
    if (!n->has_out || !device_outs_parse(n->cfg->devices_out, a, &outs))
        return found;
    int64_t *row = arena_dup(a, node_free(cl, n), cl->dim.n * sizeof row[0]);
    found.v = arena_alloc(a, (n->group->ndev + 1) * sizeof(const struct device_out *));
    for (size_t d = 0; d < n->group->ndev; d++) {
        const struct sdevice *dev = &n->group->dev[d];
        const struct device_out *out =
            n->dev_job[d] == DEVICE_OUT ? device_outs_find(&outs, dev->kind, dev->index) : NULL;
        for (uint32_t i = 0; out && i < t->n; i++) {
            if (t->use[i].dim != dev->dim)
                continue;
            row[dev->dim]++;
            found.v[found.n++] = out;
            break;
        }
    }
    found.enough = found.n > 0 && take_fits(t, row);
    return found;
}

struct variant *variant_on(const struct option *o, const struct group *g)
{
    for (size_t i = 0; i < o->nvariants; i++)
        if (bit_get(o->variant[i].groups, g->idx))
            return &o->variant[i];
    return NULL;
}
