#include "sched/world/cap_nodes.h"

#include "sched/books/limits/caps.h"
#include "sched/world/placing.h"
#include "sched/world/resv_view.h"

#include <string.h>

static void job_add(const struct world *w, const struct wjobs *j, uint64_t *bits)
{
    for (uint32_t t = j->first; t < j->first + j->n; t++)
        if (w->agenda.take.v[t].node < w->nnodes)
            bit_set(bits, w->agenda.take.v[t].node);
}

/* A bitmap, for no sum of jobs' nodes tells how many are shared. It costs what the cap's jobs have,
 * and is worked out only where their sum leaves no room. */
/* Nodes that jobs of the cap have at that time, which is not over. Fills scratch.shared. */
static int64_t nodes_at(struct world *w, uint32_t lic, int64_t at_us)
{
    const struct agenda *a = &w->agenda;
    uint64_t *bits = w->scratch.shared;
    int64_t n = 0;
    memset(bits, 0, BIT_WORDS(w->nnodes) * sizeof bits[0]);
    for (uint32_t t = a->work[w->nnodes + lic]; t != NONE; t = a->take.v[t].next)
        if (agenda_job(a, t)->end_us > at_us)
            job_add(w, agenda_job(a, t), bits);
    for (uint32_t t = a->kept[w->nnodes + lic]; t != NONE && agenda_job(a, t)->start_us <= at_us;
         t = a->take.v[t].next)
        if (agenda_job(a, t)->end_us > at_us)
            job_add(w, agenda_job(a, t), bits);
    for (size_t i = 0; i < BIT_WORDS(w->nnodes); i++)
        n += (int64_t)bit_ones(bits[i]);
    return n;
}

static int64_t most_of(const struct world *w, const struct lic_use *use)
{
    return w->cl->lic.v[use->lic].total + use->slack;
}

bool cap_nodes_out(struct world *w, const struct option *o, const struct lic_use *use)
{
    ASSERT(cap_counts_nodes(&w->cl->lic.v[use->lic]));
    if (world_free_row(w, w->nnodes + use->lic)[DIM_CPU] + use->slack >= use->count)
        return false;
    int64_t room = most_of(w, use) - nodes_at(w, use->lic, w->now_us);
    /* Nodes that its jobs have cost nothing more, if anything is free there; of no use to a job
     * that wants nodes for itself. */
    for (size_t i = 0; i < BIT_WORDS(w->nnodes) && !o->mode.whole; i++)
        room += (int64_t)bit_ones(w->scratch.shared[i] & w->now.open[i]);
    return room < use->count;
}

bool cap_nodes_may(struct placing *p, const struct lic_use *use)
{
    struct world *w = p->w;
    const struct to_place *what = p->what;
    if (!cap_binds(w->cl, &w->cl->lic.v[use->lic], p->start_us))
        return true;
    int64_t room = most_of(w, use) - nodes_at(w, use->lic, p->start_us);
    for (size_t i = 0; i < BIT_WORDS(w->nnodes) && room < use->count && !what->o->mode.whole; i++)
        for (uint64_t bits =
                 w->scratch.shared[i] & w->now.up[i] & option_allows(what->c, what->o, i);
             bits && room < use->count; bits &= bits - 1) {
            /* Now each is asked whether it could take a share then, which is dear: only until it is
             * enough. */
            uint32_t node = (uint32_t)(i * 64 + (size_t)__builtin_ctzll(bits));
            const struct group *g = w->now.group[node];
            room += world_group_has(p->v, g) &&
                    demand_cap(w->cl, what->c, what->o, p->v, g,
                               view_row(w, what->o, node, p->start_us, p->end_us)) > 0;
        }
    return room >= use->count;
}

/* Nodes of the placement that none of the cap's jobs has then; false = too many. */
static bool room_at(struct world *w, const struct lic_use *use, const struct placement *at,
                    int64_t at_us, int64_t *ret_new)
{
    int64_t there = nodes_at(w, use->lic, at_us), more = 0;
    for (size_t i = 0; i < at->at.n; i++)
        more += !bit_get(w->scratch.shared, at->at.v[i].node);
    *ret_new = more;
    return there + more <= most_of(w, use);
}

bool cap_nodes_allow(struct world *w, const struct lic_use *use, const struct placement *at,
                     int64_t start_us, int64_t end_us, int64_t *ret_new)
{
    ASSERT(start_us <= end_us && use->lic < w->cl->lic.n);
    const struct agenda *a = &w->agenda;
    const struct licence *l = &w->cl->lic.v[use->lic];
    int64_t more;
    /* From the start until it ends there are most where a promise begins; what ends in between
     * leaves only more room. Whether or not the cap binds at the start, it must leave what was
     * promised for its hours, those of another day, too. */
    bool room = room_at(w, use, at, start_us, ret_new) || !cap_binds(w->cl, l, start_us);
    for (uint32_t t = a->kept[w->nnodes + use->lic]; t != NONE && room; t = a->take.v[t].next) {
        int64_t at_us = agenda_job(a, t)->start_us;
        if (at_us > start_us && at_us < end_us && cap_binds(w->cl, l, at_us))
            room = room_at(w, use, at, at_us, &more);
    }
    return room;
}

bool cap_nodes_near(struct placing *p)
{
    struct world *w = p->w;
    if (!p->capped || p->near || !cap_counts_nodes(&w->cl->lic.v[p->capped->lic]) ||
        p->what->o->mode.whole)
        return false;
    int64_t there = nodes_at(w, p->capped->lic, p->start_us);
    /* A copy: the next look at the cap fills scratch.shared anew, while these are still
     * preferred. */
    memcpy(w->scratch.near, w->scratch.shared, BIT_WORDS(w->nnodes) * sizeof w->scratch.near[0]);
    p->near = w->scratch.near;
    p->near_only = there >= most_of(w, p->capped);
    return there > 0;
}
