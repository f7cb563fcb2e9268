/* What a job leaves on a device is gone after a second or two, or after a minute where a process
 * hangs. Who needs all devices of a node would never get them if others took those that are
 * clean while one is looked at, each time anew; least of all who stopped others for them. So a
 * device that is not proven counts as held until it is expected back: after as long again as it
 * has been out. That is near at first, so that little waits for it, and after MOMENT_US it is no
 * longer counted on: nobody waits without end for what may never come. */
#include "sched/books/unproven.h"

#include "base/alloc.h"
#include "base/duration.h"

/* `since_us` is by the node's clock: one that is further off is not believed. */
#define MOMENT_US (5 * USEC_PER_MIN)
#define SOON_US   USEC_PER_SEC

static struct unproven *unproven_find(struct snode *n, uint32_t dim, int32_t index)
{
    for (size_t i = 0; i < n->unproven.n; i++)
        if (n->unproven.v[i].dim == dim && n->unproven.v[i].index == index)
            return &n->unproven.v[i];
    return NULL;
}

void unproven_fill(struct snode *n, const struct device_outs *out)
{
    ASSERT(n->group && out->n <= UINT32_MAX);
    size_t known = n->unproven.n;
    for (size_t d = 0; d < n->group->ndev && out->n > 0; d++) {
        const struct sdevice *dev = &n->group->dev[d];
        const struct device_out *o =
            n->dev_job[d] == DEVICE_OUT ? device_outs_find(out, dev->kind, dev->index) : NULL;
        if (!o || o->failed)
            continue;
        const struct unproven *was = unproven_find(n, dev->dim, dev->index);
        struct unproven u = {dev->dim, dev->index, o->since_us, was ? was->for_job : 0};
        vec_push(&n->unproven, u);
    }
    for (size_t i = known; i < n->unproven.n; i++)
        n->unproven.v[i - known] = n->unproven.v[i];
    n->unproven.n -= known;
}

void unproven_freed(struct snode *n, const struct hold *h)
{
    ASSERT(h->run);
    for (size_t i = 0; i < h->ngres; i++)
        for (size_t k = 0; k < h->gres[i].nindex; k++) {
            struct unproven *u = unproven_find(n, h->gres[i].dim, h->gres[i].index[k]);
            if (u)
                u->for_job = h->run->for_job;
        }
}

int64_t unproven_until(const struct unproven *u, int64_t now_us)
{
    if (u->since_us <= now_us - MOMENT_US || u->since_us >= now_us + MOMENT_US)
        return INT64_MAX;
    int64_t age = now_us - u->since_us, end = u->since_us + MOMENT_US;
    int64_t at = now_us + (age > SOON_US ? age : SOON_US);
    return at < end ? at : end;
}
