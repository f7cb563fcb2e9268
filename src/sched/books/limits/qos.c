#include "sched/books/limits/qos.h"

#include "base/list.h"

#include <stdlib.h>

const struct sqos *qos_get(const struct cluster *cl, const char *name)
{
    const struct sqos *q = text_empty(name) ? NULL : map_str_get(cl->qos_of, name);
    return q && q->known ? q : NULL;
}

bool qos_beats(const struct sqos *asker, const struct sqos *victim)
{
    return asker && victim && asker != victim && asker->preempt &&
           list_has(asker->preempt, victim->name);
}

bool qos_stops(const struct sqos *q)
{
    return q && !text_empty(q->preempt);
}

static struct sqos *qos_take(struct cluster *cl, const char *name)
{
    struct sqos *q = map_str_get(cl->qos_of, name);
    if (!q) {
        q = xcalloc(1, sizeof *q);
        q->name = intern_take(cl->text, name);
        map_str_put(cl->qos_of, name, q);
    }
    return q;
}

/* Running work knows its QOS by its place. */
static void runs_find(struct cluster *cl, const struct sqos *q)
{
    for (size_t i = 0; i < cl->run.n; i++)
        if (cl->run.v[i]->qos_name == q->name)
            cl->run.v[i]->qos = q;
}

void cluster_put_qos(struct cluster *cl, const struct sched_qos *to)
{
    ASSERT(!text_empty(to->name));
    struct sqos *q = qos_take(cl, to->name);
    bool same = q->known && text_is(q->preempt ? q->preempt : "", to->preempt ? to->preempt : "") &&
                q->preempt_mode == to->preempt_mode && q->exempt_us == to->exempt_us &&
                q->grace_us == to->grace_us && q->over == to->over;
    if (same)
        return;
    free(q->preempt);
    q->preempt = text_empty(to->preempt) ? NULL : xstrdup(to->preempt);
    q->preempt_mode = to->preempt_mode;
    q->exempt_us = to->exempt_us;
    q->grace_us = to->grace_us;
    q->over = to->over;
    q->known = true;
    cl->derived.stale = true; /* limits of requests are worked out anew */
    runs_find(cl, q);
}

void cluster_remove_qos(struct cluster *cl, const char *name)
{
    struct sqos *q = map_str_get(cl->qos_of, name);
    if (!q || !q->known)
        return;
    q->known = false;
    cl->derived.stale = true;
}

void cluster_run_qos(struct cluster *cl, uint64_t job_id, const char *qos)
{
    struct run *r = map_u64_get(cl->run.by_job, job_id);
    if (!r)
        return;
    const char *name = text_empty(qos) ? NULL : intern_take(cl->text, qos);
    intern_drop(cl->text, r->qos_name);
    r->qos_name = name;
    r->qos = name ? map_str_get(cl->qos_of, name) : NULL;
}

void qos_book_free(struct cluster *cl)
{
    struct map_walk w = {0};
    while (map_str_next(cl->qos_of, &w)) {
        struct sqos *q = w.value;
        free(q->preempt);
        intern_drop(cl->text, q->name);
        free(q);
    }
    map_str_free(cl->qos_of);
}
