/* --gpus-per-socket: GPUs that a node gives socket by socket. */
#include "base/alloc.h"
#include "base/amount.h"
#include "model/grammar/gres.h"
#include "sched/request/demand.h"

#include <stdlib.h>

int64_t *demand_per_socket(const struct cluster *cl, const struct job_request *req, struct arena *a)
{
    struct gres_list list = {0};
    if (text_empty(req->gpus_per_socket) || !gres_parse_gpus(req->gpus_per_socket, a, &list, NULL))
        return NULL;
    int64_t *per = arena_alloc(a, (cl->dim.n + 1) * sizeof per[0]);
    for (uint32_t d = DIM_GRES; d < cl->dim.n; d++)
        for (size_t i = 0; i < list.n; i++)
            if (text_is(cl->dim.v[d].kind, list.item[i].kind) &&
                gres_type_matches(list.item[i].type, cl->dim.v[d].type))
                per[d] = amount_plus(per[d], list.item[i].count);
    return per;
}

int64_t demand_each_socket(const struct compiled *c, uint32_t dim, int64_t count)
{
    ASSERT(count >= 0);
    int64_t sockets = c->req->sockets_per_node > 0 ? c->req->sockets_per_node : 1;
    int64_t even = count / sockets + (count % sockets > 0);
    int64_t per = c->per_socket ? c->per_socket[dim] : 0;
    return per < even ? per : even;
}

/* What is free of a dimension, each device by its place in the group: first those that lie on some
 * sockets only, on few before on more, as what is near others, too, is left for them where there is
 * something else; then those that lie on any, of which as many are gone as were given. */
struct by_socket {
    const struct group *g;
    uint32_t *dev; /* by which nothing is counted anew for each socket, of which there are many */
    size_t bound, n, gone; /* of `dev`: bound to sockets; in all; as the first of the others */
    size_t *here;          /* of one socket; scratch */
    char *chosen;          /* by device */
};

static bool is_bound_to(const struct group *g, size_t d, int32_t socket)
{
    int32_t each = group_socket_slots(g);
    for (int32_t s = socket * each; s < (socket + 1) * each && s < g->slots; s++)
        if (g->dev[d].near[s])
            return true;
    return false;
}

/* So many, or none. */
static bool socket_gives(struct by_socket *b, int32_t socket, int64_t want)
{
    size_t n = 0;
    for (size_t i = 0; i < b->bound && (int64_t)n < want; i++)
        if (!b->chosen[b->dev[i]] && is_bound_to(b->g, b->dev[i], socket))
            b->here[n++] = b->dev[i];
    if ((int64_t)(n + b->n - b->bound - b->gone) < want)
        return false;
    for (size_t i = 0; i < n; i++)
        b->chosen[b->here[i]] = 1;
    for (; (int64_t)n < want; n++)
        b->chosen[b->dev[b->bound + b->gone++]] = 1;
    return true;
}

/* `per` of each socket that has them, and of the last what is left; where none comes after those
 * that had as many, of one before that has only so few. */
static bool sockets_give(struct by_socket *b, int64_t count, int64_t per)
{
    uint64_t *gave = xcalloc(BIT_WORDS((size_t)b->g->sockets), sizeof gave[0]);
    for (int round = 0; round < 2 && (round == 0 || count < per); round++)
        for (int32_t k = 0; k < b->g->sockets && count > 0; k++) {
            int64_t want = count < per ? count : per;
            if (bit_get(gave, (size_t)k) || !socket_gives(b, k, want))
                continue;
            bit_set(gave, (size_t)k);
            count -= want;
        }
    free(gave);
    return count <= 0;
}

bool demand_devices_by_socket(const struct group *g, uint32_t dim, int64_t count, int64_t per,
                              const uint64_t *taken, char *chosen)
{
    ASSERT(count >= 0 && per > 0 && dim >= DIM_GRES && g->sockets > 0);
    struct by_socket b = {.g = g, .chosen = chosen};
    b.dev = xcalloc(g->ndev + 1, sizeof b.dev[0]);
    b.here = xcalloc(g->ndev + 1, sizeof b.here[0]);
    for (size_t i = 0; i < g->ndev; i++) {
        uint32_t d = g->by_reach[i];
        if (g->dev[d].dim != dim || (taken && taken[d]) || chosen[d])
            continue;
        b.dev[b.n++] = d;
        b.bound += g->dev[d].reach < g->sockets;
    }
    bool ok = count <= (int64_t)b.n && sockets_give(&b, count, per);
    free(b.dev);
    free(b.here);
    return ok;
}

static bool empty_holds(const struct group *g, uint32_t dim, int64_t count, int64_t per)
{
    char *chosen = xcalloc(g->ndev + 1, 1);
    bool ok = demand_devices_by_socket(g, dim, count, per, NULL, chosen);
    free(chosen);
    return ok;
}

/* Of one dimension: so many on each socket, `per` if there are. What is only counted lies nowhere,
 * and who has too few in all is short of those: so is who is no group of nodes, and has not even
 * sockets. */
static int64_t most_on_each(const struct group *g, uint32_t dim, int64_t count, int64_t per)
{
    ASSERT(count > 0 && per > 0);
    int64_t there = 0;
    for (size_t d = 0; d < g->ndev; d++)
        there += g->dev[d].dim == dim;
    if (there < count)
        return per;
    int64_t sockets = (count + per - 1) / per, most = 0, few = per + 1;
    for (int64_t try = per; few - most > 1; try = (most + few) / 2)
        *(empty_holds(g, dim, sockets * try < count ? sockets * try : count, try) ? &most : &few) =
            try;
    return most;
}

int64_t demand_on_sockets(const struct compiled *c, const struct variant *v, const struct group *g,
                          int64_t *ret_asked)
{
    int64_t most = 0;
    *ret_asked = 0;
    for (size_t i = 0; c->per_socket && i < v->ngres; i++) {
        const struct need_gres *need = &v->gres[i];
        int64_t count = need_gres_for(need, v->lay.umin),
                per = demand_each_socket(c, need->dim, count);
        if (per == 0)
            continue;
        *ret_asked += per;
        most += most_on_each(g, need->dim, count, per);
    }
    return most;
}
