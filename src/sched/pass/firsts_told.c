/* Who stands first (firsts.h) across a restart, by name: numbers of partitions and reservations are
 * others after a change of the configuration. */
#include "base/list.h"
#include "sched/books/classes.h"
#include "sched/books/settle.h"
#include "sched/pass/priority.h"

#include <string.h>

/* The whole, which is stored anew with each change. Heads come first, then those who were promised
 * the first starts; who is past it is promised his start anew after a restart. */
#define FIRSTS_BYTES 65536
#define FIRSTS_RUN   1024 /* in one piece */

/* Jobs by consecutive numbers, as components have, of which the same is to be said. */
struct firsts_piece {
    uint64_t from, to; /* 0 = none */
    uint32_t serve;    /* bit of the partition, or of a reservation in it */
    bool promised;     /* else they are heads */
    int64_t us;        /* promised, or first promised as the head; 0 = nothing was */
};

static void piece_say(const struct cluster *cl, const struct firsts_piece *one, struct str *out)
{
    const struct spart *part = cl->part.v[one->serve % cl->part.n];
    uint32_t resv = one->serve / (uint32_t)cl->part.n;
    size_t before = out->len;
    if (!one->from)
        return;
    if (out->len > 0)
        str_addc(out, ',');
    str_add_u64(out, one->from);
    if (one->to > one->from)
        str_addf(out, "-%llu", (unsigned long long)one->to);
    if (one->us) {
        str_addc(out, one->promised ? ':' : '@');
        str_add_i64(out, one->us);
    }
    str_addc(out, ':');
    str_add(out, part->p.name);
    if (resv) {
        str_addc(out, '/');
        str_add(out, cl->resv.v[resv - 1]->r.name);
    }
    if (out->len > FIRSTS_BYTES)
        str_cut(out, before);
}

static void first_say(const struct cluster *cl, struct firsts_piece *last, struct firsts_piece one,
                      struct str *out)
{
    if (last->from && one.from == last->to + 1 && one.to - last->from < FIRSTS_RUN &&
        one.serve == last->serve && one.promised == last->promised && one.us == last->us) {
        last->to = one.to;
        return;
    }
    piece_say(cl, last, out);
    *last = one;
}

static void firsts_say(const struct cluster *cl, uint64_t job_id, bool promised,
                       struct firsts_piece *last, struct str *out)
{
    const struct wjob *j = map_u64_get(cl->queue.by_job, job_id);
    const struct compiled *c = j ? demand_of(cl, j->lane->klass) : NULL;
    uint64_t in = !j ? 0 : promised ? j->w.promised_in : j->w.head;
    for (size_t k = 0; in && c && k < c->n; k++)
        if (in & serve_bit(c->option[k].serve) && !c->option[k].part->gone)
            first_say(cl, last,
                      (struct firsts_piece){job_id, job_id, c->option[k].serve, promised,
                                            promised ? j->w.promised_us : j->w.head_us},
                      out);
}

void cluster_firsts_tell(struct cluster *cl, struct str *out)
{
    struct firsts_piece last = {0};
    cluster_settle(cl);
    for (size_t i = 0; i < cl->queue.head.n; i++)
        firsts_say(cl, cl->queue.head.v[i], false, &last, out);
    for (size_t i = 0; i < cl->queue.promised_in.n; i++)
        firsts_say(cl, cl->queue.promised_in.v[i], true, &last, out);
    piece_say(cl, &last, out);
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

/* "42@1700000000000000", "42-44@…", or the numbers alone. */
static bool jobs_of(struct span text, struct firsts_piece *ret)
{
    struct span ids, id;
    uint64_t head_us = 0;
    if (!span_next(&text, '@', &ids) || !span_next(&ids, '-', &id) || !number_of(id, &ret->from) ||
        (text.len && !number_of(text, &head_us)))
        return false;
    ret->us = (int64_t)head_us;
    ret->to = ret->from;
    return !ids.len ||
           (number_of(ids, &ret->to) && ret->to >= ret->from && ret->to - ret->from < FIRSTS_RUN);
}

static void first_take(struct cluster *cl, struct wjob *j, const struct option *o,
                       const struct firsts_piece *one)
{
    uint64_t *in = one->promised ? &j->w.promised_in : &j->w.head;
    if (!*in)
        vec_push(one->promised ? &cl->queue.promised_in : &cl->queue.head, j->w.job_id);
    *in |= serve_bit(o->serve);
    *(one->promised ? &j->w.promised_us : &j->w.head_us) = one->us;
}

static void piece_take(struct cluster *cl, const struct firsts_piece *one, struct span where)
{
    for (uint64_t id = one->from; id <= one->to; id++) {
        struct wjob *j = map_u64_get(cl->queue.by_job, id);
        const struct compiled *c = j ? demand_of(cl, j->lane->klass) : NULL;
        for (size_t k = 0; c && k < c->n; k++)
            if (serves(&c->option[k], where))
                first_take(cl, j, &c->option[k], one);
    }
}

void cluster_firsts_set(struct cluster *cl, const char *firsts)
{
    struct span rest = span_of(firsts), piece, number, second;
    cluster_settle(cl);
    while (firsts && span_next(&rest, ',', &piece)) {
        struct firsts_piece one = {0};
        uint64_t promised_us;
        if (!span_next(&piece, ':', &number) || !jobs_of(number, &one))
            continue;
        struct span where = piece;
        if (span_next(&piece, ':', &second) && piece.len) {
            if (!number_of(second, &promised_us) || !promised_us)
                continue;
            where = piece;
            one.promised = true;
            one.us = (int64_t)promised_us;
        }
        piece_take(cl, &one, where);
    }
    wjobs_promised_apart(cl);
}
