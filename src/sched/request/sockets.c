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

/* Does it lie near the socket? Where nothing is known of that, it may be near any. */
static bool near_socket(const struct group *g, size_t d, int32_t socket, int32_t each)
{
    if (!g->dev[d].near)
        return true;
    for (int32_t s = socket * each; s < (socket + 1) * each && s < g->slots; s++)
        if (g->dev[d].near[s])
            return true;
    return false;
}

static int32_t sockets_near(const struct group *g, size_t d, int32_t each)
{
    int32_t n = 0;
    for (int32_t k = 0; k < g->sockets; k++)
        n += near_socket(g, d, k, each);
    return n;
}

bool demand_devices_by_socket(const struct group *g, uint32_t dim, int64_t count, int64_t per,
                              const uint64_t *taken, char *chosen)
{
    ASSERT(count >= 0 && per > 0 && dim >= DIM_GRES && g->sockets > 0);
    int32_t each = (g->slots + g->spec_slots) / g->sockets;
    for (int32_t k = 0; k < g->sockets && count > 0; k++) {
        int64_t want = count < per ? count : per;
        size_t *here = xcalloc(g->ndev + 1, sizeof here[0]), n = 0;
        /* What is near others, too, is left for them where there is something else. */
        for (int32_t reach = 1; reach <= g->sockets && (int64_t)n < want; reach++)
            for (size_t d = 0; d < g->ndev && (int64_t)n < want; d++)
                if (g->dev[d].dim == dim && !(taken && taken[d]) && !chosen[d] &&
                    near_socket(g, d, k, each) && sockets_near(g, d, each) == reach)
                    here[n++] = d;
        for (size_t i = 0; (int64_t)n == want && i < n; i++)
            chosen[here[i]] = 1;
        count -= (int64_t)n == want ? want : 0;
        free(here);
    }
    return count <= 0;
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
