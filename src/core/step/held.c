/* What a node says that it holds, in order: so that what it has of one job is found without looking
 * through all that it says, which may be sixty thousand things it never had. */
#include "core/step/step.h"

#include <stdlib.h>
#include <string.h>

/* By job, start and step. */
static int held_order(const void *va, const void *vb)
{
    const struct held *a = va, *b = vb;
    if (a->job_id != b->job_id)
        return a->job_id < b->job_id ? -1 : 1;
    if (a->attempt != b->attempt)
        return a->attempt < b->attempt ? -1 : 1;
    return (a->step_id > b->step_id) - (a->step_id < b->step_id);
}

struct msg_node_hello held_sorted(const struct msg_node_hello *m, struct arena *a)
{
    struct msg_node_hello sorted = *m;
    struct held *held = arena_dup(a, m->held.v, m->held.n * sizeof *held);
    size_t n = 0;
    if (m->held.n)
        qsort(held, m->held.n, sizeof *held, held_order);
    for (size_t i = 0; i < m->held.n; i++)
        if (i == 0 || held_order(&held[i], &held[n - 1]) != 0)
            held[n++] = held[i];
    sorted.held.v = held;
    sorted.held.n = n;
    return sorted;
}

const struct held *held_of(const struct msg_node_hello *m, const struct jobrec *r, size_t *ret_n)
{
    const struct held *held = m->held.v,
                      least = {.job_id = r->j.id, .attempt = r->j.attempt, .step_id = INT64_MIN};
    size_t from = 0, to = m->held.n;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (held_order(&held[middle], &least) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    while (to < m->held.n && held[to].job_id == r->j.id && held[to].attempt == r->j.attempt)
        to++;
    *ret_n = to - from;
    return held + from;
}
