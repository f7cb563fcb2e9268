/* What a placement takes of caps: of CPUs, memory and devices that is known only when it is known
 * where. */
#include "sched/world/cap_takes.h"
#include "sched/books/limits/caps.h"
#include "sched/world/resv_view.h"

#include <string.h>

/* Fills scratch.row with its devices: those of a job that has the node to itself are all of it. */
static struct cap_sums node_takes(struct world *w, const struct compiled *c,
                                  const struct placement *at, const struct placed *pl)
{
    const struct group *g = w->now.group[pl->node];
    struct take own;
    const struct take *t = &own;
    int64_t *row = w->scratch.row;
    if (at->variant->lay.units == 0)
        t = take_least(w->cl, c, at->option, at->variant, g);
    else
        (void)demand_take(w->cl, c, at->option, at->variant, g, pl->units, &own);
    memset(row, 0, w->dims * sizeof row[0]);
    for (size_t d = DIM_GRES; at->option->mode.whole && d < w->dims && d < g->ntotal; d++)
        row[d] = g->total[d];
    for (uint32_t i = 0; i < t->n; i++)
        if (t->use[i].dim >= DIM_GRES && t->use[i].amount > row[t->use[i].dim])
            row[t->use[i].dim] = t->use[i].amount;
    return (struct cap_sums){.nodes = 1, .cpus = t->cpus, .mem_mib = t->mem_mib, .gres = row};
}

struct cap_sums placement_sums(struct world *w, const struct compiled *c,
                               const struct placement *at)
{
    ASSERT(c->ncap <= c->nlic);
    struct cap_sums sums = {.gres = w->scratch.sum};
    if (!c->caps_sized) {
        sums.nodes = (int64_t)at->at.n;
        return sums;
    }
    memset(w->scratch.sum, 0, w->dims * sizeof w->scratch.sum[0]);
    for (size_t k = 0; k < at->at.n; k++) {
        struct cap_sums one = node_takes(w, c, at, &at->at.v[k]);
        for (size_t d = DIM_GRES; d < w->dims; d++)
            w->scratch.sum[d] += one.gres[d];
        sums.cpus += one.cpus;
        sums.mem_mib += one.mem_mib;
        sums.nodes++;
    }
    return sums;
}

int64_t cap_takes_on_node(struct world *w, const struct compiled *c, const struct licence *cap,
                          const struct placement *at)
{
    int64_t most = 0;
    for (size_t k = 0; k < at->at.n; k++) {
        struct cap_sums one = node_takes(w, c, at, &at->at.v[k]);
        int64_t takes =
            cap_of_node(w->cl, cap_amount_of(w->cl, cap), one.cpus, one.mem_mib, one.gres);
        most = takes > most ? takes : most;
    }
    return most;
}

int64_t licence_takes(const struct world *w, const struct lic_use *use, const struct spart *part,
                      const struct cap_sums *sums)
{
    ASSERT(use->lic < w->cl->lic.n);
    const struct licence *l = &w->cl->lic.v[use->lic];
    if (!is_cap(l) || l->counts == CAP_JOBS || l->counts == CAP_LICENCES)
        return use->count;
    if (l->counts == CAP_BILLING)
        return cap_billing(w->cl, part, sums);
    return l->counts == CAP_NODES
               ? sums->nodes
               : cap_of_node(w->cl, cap_amount_of(w->cl, l), sums->cpus, sums->mem_mib, sums->gres);
}

/* ---- what is left --------------------------------------------------------------------------- */

static int64_t left_of(struct world *w, const struct option *o, const struct lic_use *use,
                       int64_t start_us, int64_t end_us)
{
    return view_row(w, o, (uint32_t)w->nnodes + use->lic, start_us, end_us)[DIM_CPU] + use->slack;
}

bool licence_free(struct world *w, const struct option *o, const struct lic_use *use, int64_t count,
                  int64_t start_us, int64_t end_us)
{
    ASSERT(count >= 0 && start_us <= end_us);
    const struct licence *l = &w->cl->lic.v[use->lic];
    if (use->above || !use_concerns(use, o) || left_of(w, o, use, start_us, end_us) >= count)
        return true;
    /* It binds at all times: too little in any of them is too little. */
    if (!l->hours)
        return false;
    /* It binds now, and no more from the turn of its hours on: until then there must be enough. */
    if (cap_binds(w->cl, l, start_us)) {
        int64_t turn = cap_turn(w->cl, l, start_us);
        if (turn >= end_us || left_of(w, o, use, start_us, turn) < count)
            return false;
    }
    /* Where it does not bind who starts now, or binds him for a part of his time only: a promise
     * that begins in its hours counted on what is left of it. */
    for (uint32_t t = w->agenda.kept[w->nnodes + use->lic]; t != NONE;
         t = w->agenda.take.v[t].next) {
        int64_t at = agenda_job(&w->agenda, t)->start_us;
        if (at > start_us && at < end_us && cap_binds(w->cl, l, at) &&
            left_of(w, o, use, at, at + 1) < count)
            return false;
    }
    return true;
}

static void turns_push(const struct world *w, const struct cap_hours *h, i64_vec *at)
{
    for (size_t i = 0; i < h->n; i++)
        if (h->turn[i] > w->now_us)
            vec_push(at, h->turn[i]);
}

void caps_times(const struct world *w, const struct compiled *c, i64_vec *at)
{
    ASSERT(c->ncap <= c->nlic);
    for (size_t i = c->nlic - c->ncap; i < c->nlic; i++)
        if (w->cl->lic.v[c->lic[i].lic].hours)
            turns_push(w, w->cl->lic.v[c->lic[i].lic].hours, at);
}

void caps_turns(const struct world *w, i64_vec *at)
{
    for (size_t i = 0; i < w->cl->lic.hours.n; i++)
        turns_push(w, w->cl->lic.hours.v[i], at);
}
