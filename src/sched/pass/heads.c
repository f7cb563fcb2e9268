/* The heads (firsts.h) across a restart, by name: numbers of partitions and reservations are others
 * after a change of the configuration. */
#include "base/list.h"
#include "sched/books/settle.h"
#include "sched/pass/priority.h"

#include <string.h>

/* The partition, or the reservation in it, that the bit is of. */
static void head_say(const struct cluster *cl, const struct wjob *j, uint32_t serve,
                     struct str *out)
{
    const struct spart *part = cl->part.v[serve % cl->part.n];
    uint32_t resv = serve / (uint32_t)cl->part.n;
    list_addf(out, "%llu:%s", (unsigned long long)j->w.job_id, part->p.name);
    if (resv)
        str_addf(out, "/%s", cl->resv.v[resv - 1]->r.name);
}

void cluster_heads_tell(const struct cluster *cl, struct str *out)
{
    for (size_t i = 0; i < cl->queue.head.n; i++) {
        const struct wjob *j = map_u64_get(cl->queue.by_job, cl->queue.head.v[i]);
        const struct compiled *c = j && j->w.head ? j->lane->klass->made : NULL;
        for (size_t k = 0; c && k < c->n; k++)
            if (j->w.head & serve_bit(c->option[k].serve) && !c->option[k].part->gone)
                head_say(cl, j, c->option[k].serve, out);
    }
}

static bool head_is(const struct option *o, struct span where)
{
    struct span part;
    if (!span_next(&where, '/', &part) || !span_is(part, o->part->p.name))
        return false;
    return where.len ? o->resv && span_is(where, o->resv->r.name) : !o->resv;
}

void cluster_heads_set(struct cluster *cl, const char *heads)
{
    struct span rest = span_of(heads), piece, number;
    cluster_settle(cl);
    while (heads && span_next(&rest, ',', &piece)) {
        char digits[24] = "";
        uint64_t id = 0;
        if (!span_next(&piece, ':', &number) || number.len >= sizeof digits)
            continue;
        memcpy(digits, number.data, number.len);
        struct wjob *j =
            text_to_u64(digits, UINT64_MAX, &id) ? map_u64_get(cl->queue.by_job, id) : NULL;
        const struct compiled *c = j ? demand_of(cl, j->lane->klass) : NULL;
        for (size_t k = 0; c && k < c->n; k++)
            if (head_is(&c->option[k], piece)) {
                j->w.head |= serve_bit(c->option[k].serve);
                vec_push(&cl->queue.head, id);
            }
    }
}
