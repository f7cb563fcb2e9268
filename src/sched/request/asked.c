/* The generic resources of a request, by kind and type, and which dimensions of the cluster can
 * serve each. */
#include "sched/request/demand_work.h"

#include "base/alloc.h"
#include "base/amount.h"

#include <stdlib.h>
#include <string.h>

static int64_t dim_memory(const struct cluster *cl, uint32_t dim)
{
    int64_t most = 0;
    for (size_t g = 0; g < cl->group.n; g++)
        for (size_t d = 0; d < cl->group.v[g]->ndev; d++)
            if (cl->group.v[g]->dev[d].dim == dim && cl->group.v[g]->dev[d].mem_mib > most)
                most = cl->group.v[g]->dev[d].mem_mib;
    return most;
}

static bool dim_before(const struct cluster *cl, uint32_t a, uint32_t b)
{
    int64_t ma = dim_memory(cl, a), mb = dim_memory(cl, b);
    return ma != mb ? ma < mb : strcmp(cl->dim.v[a].label, cl->dim.v[b].label) < 0;
}

static void choices_find(const struct cluster *cl, struct asked *k)
{
    for (uint32_t d = DIM_GRES; d < cl->dim.n; d++) {
        if (!text_is(cl->dim.v[d].kind, k->item.kind) ||
            !gres_type_matches(k->item.type, cl->dim.v[d].type))
            continue;
        if (k->nchoices == CHOICES_MAX)
            break;
        size_t at = k->nchoices++;
        for (; at > 0 && dim_before(cl, d, k->choice[at - 1]); at--)
            k->choice[at] = k->choice[at - 1];
        k->choice[at] = d;
    }
}

static bool asked_add(struct demand_work *w, const struct gres_item *item, enum gres_per per)
{
    for (size_t i = 0; i < w->nasked; i++) {
        struct asked *k = &w->asked[i];
        if (k->per != per || !text_is(k->item.kind, item->kind))
            continue;
        if (k->item.type && item->type && !text_is_nocase(k->item.type, item->type))
            continue;
        /* The same said twice (--gres=gpu:4 --gpus-per-node=4) is said once. */
        if (k->item.count != item->count)
            return demand_complain(w, REFUSE_GRES, REASON_BAD_CONSTRAINTS,
                                   "two options ask for different numbers of the same resource");
        if (!k->item.type)
            k->item.type = item->type;
        return true;
    }
    if (w->nasked == NEEDS_MAX - DIM_GRES)
        return demand_complain(w, REFUSE_GRES, REASON_BAD_CONSTRAINTS,
                               "more kinds of generic resources than one request may name");
    w->asked[w->nasked++] = (struct asked){.item = *item, .per = per};
    return true;
}

static bool asked_list(struct demand_work *w, const char *text, bool gpus, enum gres_per per,
                       int64_t times)
{
    struct gres_list list = {0};
    struct err e = {0};
    if (text_empty(text))
        return true;
    if (!(gpus ? gres_parse_gpus(text, w->scratch, &list, &e)
               : gres_parse(text, w->scratch, &list, &e)))
        return demand_complain(w, REFUSE_GRES, REASON_BAD_CONSTRAINTS, e.text);
    for (size_t i = 0; i < list.n; i++) {
        list.item[i].count = amount_times(list.item[i].count, times);
        if (!asked_add(w, &list.item[i], per))
            return false;
    }
    return true;
}

static void task_gpus_drop(struct demand_work *w)
{
    size_t kept = 0;
    for (size_t i = 0; i < w->nasked; i++)
        if (w->asked[i].per != PER_TASK || !text_is(w->asked[i].item.kind, "gpu"))
            w->asked[kept++] = w->asked[i];
    w->nasked = kept;
}

bool demand_asked(struct demand_work *w)
{
    const struct job_request *r = w->req;
    int32_t sockets = r->sockets_per_node > 0 ? r->sockets_per_node : 1;
    if (!asked_list(w, r->gres, false, PER_NODE, 1) ||
        !asked_list(w, r->gpus_per_node, true, PER_NODE, 1) ||
        !asked_list(w, r->gpus_per_socket, true, PER_NODE, sockets) ||
        !asked_list(w, r->gpus_per_task, true, PER_TASK, 1) ||
        !asked_list(w, r->gpus, true, PER_JOB, 1))
        return false;
    bool any_gpu = false;
    for (size_t i = 0; i < w->nasked; i++)
        any_gpu |= text_is(w->asked[i].item.kind, "gpu");
    if (!any_gpu && r->ntasks_per_gpu > 0 && r->ntasks > 0) {
        int64_t gpus = (r->ntasks + r->ntasks_per_gpu - 1) / r->ntasks_per_gpu;
        if (!asked_add(w, &(struct gres_item){.kind = "gpu", .count = gpus}, PER_JOB))
            return false;
    }
    for (size_t i = 0; i < w->nasked; i++) {
        choices_find(w->cl, &w->asked[i]);
        if (!text_is(w->asked[i].item.kind, "gpu"))
            continue;
        int64_t *sum = w->asked[i].per == PER_JOB    ? &w->job_gpus
                       : w->asked[i].per == PER_TASK ? &w->task_gpus
                                                     : &w->node_gpus;
        *sum = amount_plus(*sum, w->asked[i].item.count);
    }
    /* GPUs for each task beside those of each node say how many tasks that has, not how many more
     * GPUs. */
    if (w->node_gpus > 0 && w->task_gpus > 0) {
        if (r->ntasks > 0 && w->node_gpus / w->task_gpus > r->ntasks)
            return demand_complain(
                w, REFUSE_NODE_CONFIG, REASON_BAD_CONSTRAINTS,
                "the GPUs of one node are for more tasks than there are; ask for fewer a "
                "node, or for more tasks");
        task_gpus_drop(w);
        w->task_gpus = 0;
    }
    /* It would be no memory at all, which no limit holds. */
    if (r->mem_per_gpu_mib > 0 && r->mem_per_node_mib == 0 && r->mem_per_cpu_mib == 0 && !any_gpu &&
        w->job_gpus == 0)
        return demand_complain(w, REFUSE_GRES, REASON_BAD_CONSTRAINTS,
                               "memory for each GPU needs GPUs; --mem-per-cpu is memory for each "
                               "CPU");
    if (w->job_gpus > INT32_MAX / 2)
        return demand_complain(w, REFUSE_GRES, REASON_BAD_CONSTRAINTS,
                               "more GPUs than any cluster has");
    return true;
}
