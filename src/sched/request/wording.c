#include "sched/request/wording.h"

#include "base/hostlist.h"

#include <string.h>

void word_amount(const struct cluster *cl, uint32_t dim, int64_t amount, struct str *out)
{
    if (dim == DIM_CPU || dim == DIM_SHARE)
        str_addf(out, "%lld CPU%s", (long long)amount, amount == 1 ? "" : "s");
    else if (dim == DIM_MEM)
        str_addf(out, "%lld MiB of memory", (long long)amount);
    else if (dim >= DIM_GRES)
        str_addf(out, "%lld %s", (long long)amount, cl->dim.v[dim].label);
    else
        str_add(out, "the node to itself");
}

static bool worth_saying(const struct take *t, uint32_t i)
{
    if (t->use[i].dim == DIM_JOBS)
        return false;
    return t->use[i].dim != DIM_SHARE || t->n < 2 || t->use[1].dim != DIM_CPU;
}

static void word_take(const struct cluster *cl, const struct take *t, struct str *out)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < t->n; i++)
        left += worth_saying(t, i);
    bool first = true;
    for (uint32_t i = 0; i < t->n; i++) {
        if (!worth_saying(t, i))
            continue;
        left--;
        str_add(out, first ? "" : left ? ", " : " and ");
        word_amount(cl, t->use[i].dim, t->use[i].dim == DIM_SHARE ? t->cpus : t->use[i].amount,
                    out);
        first = false;
    }
}

/* A group to speak about: one that can hold it, else any of the partition. */
static const struct group *group_for(const struct cluster *cl, const struct option *o,
                                     const struct variant *v)
{
    for (size_t i = 0; i < cl->group.n; i++)
        if (bit_get(v->groups, i))
            return cl->group.v[i];
    return o->part->node.n > 0 ? o->part->node.v[0]->group : NULL;
}

/* What the request itself says that a node must have: who takes whole nodes takes all that is
 * there, which nobody asked for. */
static void take_asked(const struct cluster *cl, const struct compiled *c, const struct option *o,
                       const struct variant *v, const struct group *g, struct take *ret)
{
    struct option part = *o;
    part.mode.whole = false;
    demand_take(cl, c, &part, v, g, v->lay.umin, ret);
    for (uint32_t i = 0; o->mode.whole && o->mem == MEM_SHARE && i < ret->n; i++)
        if (ret->use[i].dim == DIM_MEM)
            ret->use[i] = ret->use[--ret->n];
}

void word_demand(const struct cluster *cl, const struct compiled *c, const struct option *o,
                 const struct variant *v, struct str *out)
{
    const struct layout *l = &v->lay;
    const struct group *g = group_for(cl, o, v);
    const char *whole = o->mode.whole ? "whole " : "";
    struct take t = {0};
    if (l->units > 0)
        str_addf(out, "%d pieces on %d to %d %snodes, each piece with ", l->units, l->nmin, l->nmax,
                 whole);
    else if (l->nmax > l->nmin)
        str_addf(out, "%d to %d %snodes with ", l->nmin, l->nmax, whole);
    else
        str_addf(out, "%d %snode%s with ", l->nmin, whole, l->nmin == 1 ? "" : "s");
    if (g) {
        take_asked(cl, c, o, v, g, &t);
        word_take(cl, &t, out);
    }
    if (l->nmin > 1 && l->units == 0)
        str_add(out, " each");
    if (!text_empty(c->req->constraint))
        str_addf(out, ", with the features %.80s", c->req->constraint);
}

/* How many of the demands the group fails, and those in words. */
static int group_fails(const struct cluster *cl, const struct compiled *c, const struct option *o,
                       const struct variant *v, const struct group *g, struct str *words)
{
    struct take t;
    int fails = 0;
    demand_take(cl, c, o, v, g, v->lay.umin, &t);
    for (uint32_t i = 0; i < t.n; i++) {
        int64_t has = t.use[i].dim < g->ntotal ? g->total[t.use[i].dim] : 0;
        if (has >= t.use[i].amount || t.use[i].dim == DIM_SHARE)
            continue;
        if (words) {
            str_add(words, fails ? ", " : " with ");
            if (has == 0 && t.use[i].dim >= DIM_GRES)
                str_addf(words, "no %s", cl->dim.v[t.use[i].dim].label);
            else
                word_amount(cl, t.use[i].dim, has, words);
            str_addf(words, " (%lld asked)", (long long)t.use[i].amount);
        }
        fails++;
    }
    return fails;
}

void word_lacks(const struct cluster *cl, const struct compiled *c, const struct option *o,
                const struct group *g, struct str *out)
{
    if (!o->wish)
        return;
    if (group_fails(cl, c, o, o->wish, g, NULL) > 0)
        group_fails(cl, c, o, o->wish, g, out);
    else if (!text_empty(c->req->constraint))
        str_addf(out, " with the features %.200s",
                 text_empty(g->features) ? "(none)" : g->features);
}

void word_nearest(const struct cluster *cl, const struct compiled *c, const struct option *o,
                  struct str *out)
{
    const struct group *best = NULL;
    int least = 0;
    for (size_t i = 0; o->wish && i < cl->group.n; i++) {
        const struct group *g = cl->group.v[i];
        if (!bit_get(g->parts, o->part->idx))
            continue;
        int fails = group_fails(cl, c, o, o->wish, g, NULL);
        if (!best || fails < least)
            best = g, least = fails;
    }
    if (!best)
        return;
    struct hostlist names = HOSTLIST_INIT;
    for (size_t i = 0; i < o->part->node.n && names.n < 64; i++)
        if (o->part->node.v[i]->group == best)
            hostlist_add(&names, o->part->node.v[i]->name);
    hostlist_sort(&names);
    str_add(out, names.n == 1 ? "the nearest is " : "the nearest are ");
    hostlist_fold(&names, out);
    if (least > 0 || !text_empty(c->req->constraint))
        word_lacks(cl, c, o, best, out);
    else if (!text_empty(best->features))
        str_addf(out, " with the features %.200s", best->features);
    hostlist_done(&names);
}
