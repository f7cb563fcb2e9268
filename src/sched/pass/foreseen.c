/* A forecast that was made elsewhere: written there, read here. Both are the same program with the
 * same configuration, so that numbers and places of nodes go as they are in memory. What stands
 * here meanwhile, promises among it, stays until all of it is there; the next pass makes its
 * promises anew. */
#include "base/alloc.h"
#include "sched/books/settle.h"
#include "sched/pass/found.h"
#include "sched/pass/pass.h"

#include <stdlib.h>
#include <string.h>

/* With more, jobs are foreseen without their nodes. */
#define NODES_BYTES (8u << 20)

struct foreseen_head {
    uint64_t version, cost, serial;
    int64_t now_us;
};

struct foreseen_line {
    uint64_t job_id;
    int64_t start_us;
    uint64_t nnodes;
};

/* ---- where it is made ---- */

static void line_write(const struct planned *f, struct str *out)
{
    bool nodes = out->len < NODES_BYTES;
    struct foreseen_line line = {f->job_id, f->start_us, nodes ? f->nnodes : 0};
    str_addn(out, (const char *)&line, sizeof line);
    str_addn(out, (const char *)f->node, line.nnodes * sizeof f->node[0]);
}

void plan_foresee(struct cluster *cl, int64_t now_us, struct str *out)
{
    struct plan *p = plan_new();
    struct map_walk walk = {0};
    p->priv->lost = cl->derived.lost; /* who may begin now is not asked */
    sched_plan(cl, now_us, NULL, p);
    const struct plan_private *v = p->priv;
    struct foreseen_head head = {v->version, v->forecast_cost, v->forecast_serial, now_us};
    str_addn(out, (const char *)&head, sizeof head);
    while (map_u64_next(v->planned, &walk))
        line_write(walk.value, out);
    plan_free(p);
}

/* ---- where it is wanted ---- */

static bool bytes_take(struct foreseen *f, void *to, size_t len)
{
    if (f->bytes->len - f->at < len)
        return false;
    memcpy(to, f->bytes->data + f->at, len);
    f->at += len;
    return true;
}

/* False: there is none left. */
static bool line_take(struct foreseen *f, const struct cluster *cl, struct map_u64 *coming,
                      size_t *ret_cost)
{
    struct foreseen_line line;
    if (!bytes_take(f, &line, sizeof line) || line.nnodes > cl->node.n)
        return false;
    struct planned one = {.job_id = line.job_id,
                          .start_us = line.start_us,
                          .nnodes = (uint32_t)line.nnodes,
                          .node = xmalloc((line.nnodes + 1) * sizeof one.node[0])};
    bool whole = bytes_take(f, one.node, line.nnodes * sizeof one.node[0]);
    for (size_t i = 0; whole && i < line.nnodes; i++)
        whole = one.node[i] < cl->node.n;
    if (!whole) {
        free(one.node);
        return false;
    }
    planned_put(coming, one);
    *ret_cost = 1 + line.nnodes;
    return true;
}

static void coming_drop(struct plan_private *v)
{
    planned_done(v->coming);
    v->coming = NULL;
}

void plan_foreseen(struct plan *p, struct cluster *cl, struct foreseen *f, size_t most)
{
    cluster_settle(cl);
    struct plan_private *v = p->priv;
    struct foreseen_head head;
    struct foreseen begin = {.bytes = f->bytes};
    bool fits = bytes_take(&begin, &head, sizeof head) && head.version == cl->derived.version;
    if (f->at == 0) {
        coming_drop(v);
        v->coming = map_u64_new();
        f->at = begin.at;
    }
    f->more = fits;
    planned_drain(v, most);
    for (size_t cost = 0, one; f->more && cost < most; cost += one)
        f->more = line_take(f, cl, v->coming, &one);
    if (f->more)
        return;
    if (fits) {
        planned_replace(v, v->coming);
        v->coming = NULL;
        v->forecast_us = head.now_us;
        v->forecast_cost = head.cost;
        v->forecast_serial = head.serial;
        p->foresee = false;
    }
    coming_drop(v);
}
