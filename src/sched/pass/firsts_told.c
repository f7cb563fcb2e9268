/* Who stands first (firsts.h) across a restart, by name: numbers of partitions and reservations are
 * others after a change of the configuration. */
#include "base/list.h"
#include "sched/books/classes.h"
#include "sched/books/settle.h"
#include "sched/pass/priority.h"

#include <string.h>

/* The partition, or the reservation in it, that the bit is of; and the promised start, unless 0: it
 * is the head then. */
static void first_say(const struct cluster *cl, const struct wjob *j, uint32_t serve,
                      int64_t promised_us, struct str *out)
{
    const struct spart *part = cl->part.v[serve % cl->part.n];
    uint32_t resv = serve / (uint32_t)cl->part.n;
    if (out->len > 0)
        str_addc(out, ',');
    str_add_u64(out, j->w.job_id);
    if (promised_us || j->w.head_us) {
        str_addc(out, promised_us ? ':' : '@');
        str_add_i64(out, promised_us ? promised_us : j->w.head_us);
    }
    str_addc(out, ':');
    str_add(out, part->p.name);
    if (resv) {
        str_addc(out, '/');
        str_add(out, cl->resv.v[resv - 1]->r.name);
    }
}

static void firsts_say(const struct cluster *cl, uint64_t job_id, bool promised, struct str *out)
{
    const struct wjob *j = map_u64_get(cl->queue.by_job, job_id);
    const struct compiled *c = j ? j->lane->klass->made : NULL;
    uint64_t in = !j ? 0 : promised ? j->w.promised_in : j->w.head;
    for (size_t k = 0; in && c && k < c->n; k++)
        if (in & serve_bit(c->option[k].serve) && !c->option[k].part->gone)
            first_say(cl, j, c->option[k].serve, promised ? j->w.promised_us : 0, out);
}

void cluster_firsts_tell(const struct cluster *cl, struct str *out)
{
    for (size_t i = 0; i < cl->queue.head.n; i++)
        firsts_say(cl, cl->queue.head.v[i], false, out);
    for (size_t i = 0; i < cl->queue.promised_in.n; i++)
        firsts_say(cl, cl->queue.promised_in.v[i], true, out);
}

static bool serves(const struct option *o, struct span where)
{
    struct span part;
    if (!span_next(&where, '/', &part) || !span_is(part, o->part->p.name))
        return false;
    return where.len ? o->resv && span_is(where, o->resv->r.name) : !o->resv;
}

static bool number_of(struct span digits, uint64_t *ret)
{
    char text[24] = "";
    if (digits.len >= sizeof text)
        return false;
    memcpy(text, digits.data, digits.len);
    return text_to_u64(text, INT64_MAX, ret);
}

/* "42@1700000000000000", or the number alone. */
static bool job_of(struct span text, uint64_t *ret_id, uint64_t *ret_head_us)
{
    struct span id;
    return span_next(&text, '@', &id) && number_of(id, ret_id) &&
           (!text.len || number_of(text, ret_head_us));
}

/* As the head first promised the start head_us; or promised that of promised_us, unless 0. */
static void first_take(struct cluster *cl, struct wjob *j, const struct option *o, int64_t head_us,
                       int64_t promised_us)
{
    uint64_t *in = promised_us ? &j->w.promised_in : &j->w.head;
    if (!*in)
        vec_push(promised_us ? &cl->queue.promised_in : &cl->queue.head, j->w.job_id);
    *in |= serve_bit(o->serve);
    j->w.promised_us = promised_us ? promised_us : j->w.promised_us;
    j->w.head_us = promised_us ? j->w.head_us : head_us;
}

void cluster_firsts_set(struct cluster *cl, const char *firsts)
{
    struct span rest = span_of(firsts), piece, number, second;
    cluster_settle(cl);
    while (firsts && span_next(&rest, ',', &piece)) {
        uint64_t id = 0, head_us = 0, promised_us = 0;
        if (!span_next(&piece, ':', &number) || !job_of(number, &id, &head_us))
            continue;
        struct span where = piece;
        if (span_next(&piece, ':', &second) && piece.len) {
            if (!number_of(second, &promised_us))
                continue;
            where = piece;
        }
        struct wjob *j = map_u64_get(cl->queue.by_job, id);
        const struct compiled *c = j ? demand_of(cl, j->lane->klass) : NULL;
        for (size_t k = 0; c && k < c->n; k++)
            if (serves(&c->option[k], where))
                first_take(cl, j, &c->option[k], (int64_t)head_us, (int64_t)promised_us);
    }
    wjobs_promised_apart(cl);
}
