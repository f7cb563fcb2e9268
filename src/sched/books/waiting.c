/* Jobs that wait come and go. */
#include "base/alloc.h"
#include "sched/books/classes.h"
#include "sched/books/settle.h"

#include <stdlib.h>

static bool same_place(const struct order_place *a, const struct order_place *b)
{
    return a->job_id == b->job_id && a->submit_us == b->submit_us && a->since_us == b->since_us &&
           a->limit_us == b->limit_us && a->width == b->width && a->nice == b->nice;
}

static bool same_but_elements(const struct waiting *a, const struct waiting *b)
{
    return a->het_job_id == b->het_job_id && a->het_size == b->het_size && a->uid == b->uid &&
           a->assoc == b->assoc && a->of_user == b->of_user && a->submit_us == b->submit_us &&
           a->eligible_us == b->eligible_us && a->ages_us == b->ages_us &&
           a->deadline_us == b->deadline_us && a->nice == b->nice && a->site == b->site &&
           a->qos_factor == b->qos_factor && a->assoc_factor == b->assoc_factor &&
           a->priority_asked == b->priority_asked && a->promise_priority == b->promise_priority &&
           same_place(&a->place, &b->place) && text_is(a->magnets, b->magnets) &&
           text_is(a->caps, b->caps) && record_equal(&job_request_fields, a->req, b->req);
}

void cluster_wait(struct cluster *cl, const struct waiting *w)
{
    ASSERT(w->job_id && w->req && w->elements > 0);
    struct wjob *j = map_u64_get(cl->queue.by_job, w->job_id);
    cluster_settle(cl);
    if (!j) {
        j = xcalloc(1, sizeof *j);
        map_u64_put(cl->queue.by_job, w->job_id, j);
        cl->queue.n++;
        j->serial = ++cl->queue.serial;
        wjob_enter(cl, j, w);
        if (w->head)
            vec_push(&cl->queue.head, w->job_id);
        if (w->oldest)
            vec_push(&cl->queue.oldest, w->job_id);
        if (w->promised_in)
            vec_push(&cl->queue.promised_in, w->job_id);
        return;
    }
    /* Only the number of elements changed, as it does with every start of an array: it keeps its
     * place. */
    if (same_but_elements(w, &j->w)) {
        j->lane->elements += (uint64_t)w->elements - j->w.elements;
        j->w.elements = w->elements;
        return;
    }
    wjob_change(cl, j, w);
}

void cluster_standing(const struct cluster *cl, uint64_t job_id, uint64_t *ret_head,
                      uint64_t *ret_oldest)
{
    const struct wjob *j = map_u64_get(cl->queue.by_job, job_id);
    *ret_head = j ? j->w.head : 0;
    *ret_oldest = j ? j->w.oldest : 0;
}

static void first_know(ids_vec *firsts, uint64_t job_id)
{
    for (size_t i = 0; i < firsts->n; i++)
        if (firsts->v[i] == job_id)
            return;
    vec_push(firsts, job_id);
}

void cluster_stand_anew(struct cluster *cl, uint64_t job_id, const struct order_stand *s)
{
    struct wjob *j = map_u64_get(cl->queue.by_job, job_id);
    if (!j)
        return;
    j->w.head = s->head;
    j->w.head_us = s->head ? s->head_us : 0;
    j->w.promised_in = s->promised_in;
    j->w.promised_us = s->promised_in ? s->promised_us : 0;
    if (s->head)
        first_know(&cl->queue.head, job_id);
    if (s->promised_in)
        first_know(&cl->queue.promised_in, job_id);
}

void cluster_unwait(struct cluster *cl, uint64_t job_id)
{
    struct wjob *j = map_u64_del(cl->queue.by_job, job_id);
    if (!j)
        return;
    wjob_leave(cl, j);
    free(j);
    cl->queue.n--;
}
