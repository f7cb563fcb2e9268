/* When at the earliest. What each node could hold is a flight of stairs over time; put together and
 * sorted they tell at which times enough could be free, and there placing is tried. */
#include "base/alloc.h"
#include "sched/world/cap_takes.h"
#include "sched/world/outlook.h"
#include "sched/world/part_windows.h"
#include "sched/world/placing.h"
#include "sched/world/resv_view.h"

#include <stdlib.h>
#include <string.h>

static void stair_push(struct world *w, int64_t at_us, int32_t more, int32_t nodes)
{
    struct stair s = {at_us, more, nodes};
    vec_push(&w->scratch.stair, s);
}

static bool too_late(const struct placing *p, int64_t at_us)
{
    return p->what->latest_us && at_us > p->what->latest_us;
}

/* Units of use that fit. Where a node gives its all or nothing, that is one comparison. */
static int32_t units_of_use(const struct placing *p, uint32_t node, const int64_t *row)
{
    if (p->whole)
        return take_fits(p->whole, row) ? p->whole_units : 0;
    return demand_cap(p->w->cl, p->what->c, p->what->o, p->v, p->w->now.group[node], row);
}

static int32_t cap_at(struct placing *p, uint32_t node, int64_t at_us, int64_t limit_us)
{
    return units_of_use(p, node,
                        view_row(p->w, p->what->o, node, at_us, time_add(at_us, limit_us)));
}

static void stair_if(struct placing *p, uint32_t node, int64_t at_us, int64_t limit_us,
                     int32_t *cap)
{
    int32_t now = cap_at(p, node, at_us, limit_us);
    if (now != *cap)
        stair_push(p->w, at_us, now - *cap, (now > 0) - (*cap > 0));
    *cap = now;
}

/* Without promises on it a node only gets freer. So its ends are all there is to look at, one of
 * equal ones, and none once it holds the most that one node may give. */
static void stairs_free(struct placing *p, uint32_t node)
{
    struct world *w = p->w;
    const struct agenda *a = &w->agenda;
    int64_t *row = w->scratch.row;
    memcpy(row, world_free_row(w, node), w->dims * sizeof row[0]);
    int32_t cap = units_of_use(p, node, row);
    if (cap > 0)
        stair_push(w, w->now_us, cap, 1);
    for (uint32_t t = a->work[node]; t != NONE && cap < p->v->lay.umax; t = a->take.v[t].next) {
        const struct wtake *take = &a->take.v[t];
        int64_t end = a->job.v[take->job].end_us;
        for (uint32_t i = 0; i < take->n; i++)
            row[a->use.v[take->first + i].dim] += a->use.v[take->first + i].amount;
        if (end == INT64_MAX || too_late(p, end))
            break;
        /* Several end at once: asked when all of them are added. */
        if (take->next != NONE && agenda_job(a, take->next)->end_us == end)
            continue;
        int32_t more = units_of_use(p, node, row);
        if (more > cap)
            stair_push(w, end, more - cap, cap == 0);
        cap = more;
    }
}

static int time_order(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* With promises it also gets less free: each time at which something ends or a promise comes into
 * reach may change it. */
static void stairs_kept(struct placing *p, uint32_t node, int64_t limit_us)
{
    struct world *w = p->w;
    const struct agenda *a = &w->agenda;
    i64_vec at = {0};
    vec_push(&at, w->now_us);
    for (uint32_t t = a->work[node]; t != NONE; t = a->take.v[t].next)
        vec_push(&at, agenda_job(a, t)->end_us);
    for (uint32_t t = a->kept[node]; t != NONE; t = a->take.v[t].next) {
        const struct wjobs *j = agenda_job(a, t);
        vec_push(&at, j->end_us);
        if (limit_us != TIME_UNLIMITED)
            vec_push(&at, j->start_us - limit_us + 1);
    }
    view_times(w, p->what->o, node, limit_us, &at);
    qsort(at.v, at.n, sizeof at.v[0], time_order);
    int32_t cap = 0;
    for (size_t i = 0; i < at.n; i++)
        if (at.v[i] >= w->now_us && at.v[i] != INT64_MAX && !too_late(p, at.v[i]) &&
            (i == 0 || at.v[i] != at.v[i - 1]))
            stair_if(p, node, at.v[i], limit_us, &cap);
    vec_done(&at);
}

/* Where nothing but work and promises is in the way, and promises are many: of a node that
 * gives its all or nothing. */
static void stairs_whole(struct placing *p, uint32_t node, int64_t limit_us)
{
    size_t at = 0;
    int64_t from, to;
    while (outlook_run(p->w, node, &at, p->whole, &from, &to) && !too_late(p, from)) {
        if (to < time_add(from, limit_us))
            continue;
        stair_push(p->w, from, p->whole_units, 1);
        if (to != INT64_MAX)
            stair_push(p->w, to - limit_us + 1, -p->whole_units, -1);
    }
}

/* The same of a node that may give more or less. */
static void stairs_outlook(struct placing *p, uint32_t node, int64_t limit_us)
{
    struct world *w = p->w;
    struct outlook_walk walk = outlook_walk(w, node, limit_us);
    const int64_t *row;
    int64_t at;
    int32_t cap = 0;
    while (outlook_next(&walk, &at, &row) && !too_late(p, at)) {
        int32_t now = units_of_use(p, node, row);
        if (now != cap)
            stair_push(w, at, now - cap, (now > 0) - (cap > 0));
        cap = now;
    }
}

/* Of no height: they name times at which it is worth trying. Whether there is enough then is asked
 * of licence_free, which knows about hours and slack. */
static void stairs_licences(struct placing *p)
{
    struct world *w = p->w;
    const struct agenda *a = &w->agenda;
    for (size_t i = 0; i < p->what->c->nlic; i++) {
        uint32_t node = (uint32_t)w->nnodes + p->what->c->lic[i].lic;
        for (uint32_t t = a->work[node]; t != NONE; t = a->take.v[t].next)
            if (agenda_job(a, t)->end_us != INT64_MAX)
                stair_push(w, agenda_job(a, t)->end_us, 0, 0);
        for (uint32_t t = a->kept[node]; t != NONE; t = a->take.v[t].next)
            if (agenda_job(a, t)->end_us != INT64_MAX)
                stair_push(w, agenda_job(a, t)->end_us, 0, 0);
        i64_vec at = {0};
        view_times(w, p->what->o, node, TIME_UNLIMITED, &at);
        for (size_t k = 0; k < at.n; k++)
            if (at.v[k] >= w->now_us)
                stair_push(w, at.v[k], 0, 0);
        vec_done(&at);
    }
}

/* The same of hours of partitions and caps, and of the time from which the job no longer insists on
 * few switches. */
static void stairs_windows(struct placing *p)
{
    i64_vec at = {0};
    part_window_times(p->w, p->what->o->part, &at);
    caps_times(p->w, p->what->c, &at);
    for (size_t i = 0; i < at.n; i++)
        stair_push(p->w, at.v[i], 0, 0);
    if (p->what->c->req->switches > 0 && p->what->insists_until_us > p->w->now_us)
        stair_push(p->w, p->what->insists_until_us, 0, 0);
    vec_done(&at);
}

static int stair_order(const void *a, const void *b)
{
    const struct stair *x = a, *y = b;
    return (x->at_us > y->at_us) - (x->at_us < y->at_us);
}

static void stairs_of(struct placing *p, uint32_t node, int64_t limit_us)
{
    struct world *w = p->w;
    struct take own;
    if (!world_group_has(p->v, w->now.group[node]))
        return;
    int32_t least = placing_share_least(p);
    bool whole = least == placing_share_most(p);
    p->whole = whole ? placing_take(p, node, least, &own) : NULL;
    p->whole_units = least;
    if (whole && !p->whole)
        return;
    bool plain = view_plain(w, p->what->o, node);
    if (w->agenda.kept[node] == NONE && plain)
        stairs_free(p, node);
    else if (plain && whole && outlook_pays(w, node))
        stairs_whole(p, node, limit_us);
    else if (plain && outlook_pays(w, node))
        stairs_outlook(p, node, limit_us);
    else
        stairs_kept(p, node, limit_us);
    p->whole = NULL;
}

/* As many as there are takes on the nodes that it may use, and their sorting: the dearest question
 * of a pass, asked for each promise and before work is stopped, never for the whole queue. */
static void stairs_collect(struct placing *p, int64_t limit_us)
{
    struct world *w = p->w;
    vec_clear(&w->scratch.stair);
    for (size_t i = 0; i < BIT_WORDS(w->nnodes); i++)
        for (uint64_t bits = placing_allowed(p, i); bits; bits &= bits - 1)
            stairs_of(p, (uint32_t)(i * 64 + (size_t)__builtin_ctzll(bits)), limit_us);
    stairs_licences(p);
    stairs_windows(p);
    if (w->scratch.stair.n > 1)
        qsort(w->scratch.stair.v, w->scratch.stair.n, sizeof w->scratch.stair.v[0], stair_order);
}

/* ---- a pool that is one node ---- */

/* The only node that the variant may use; NONE if there are several, or none. */
static uint32_t only_node(const struct placing *p)
{
    const struct world *w = p->w;
    uint32_t only = NONE;
    for (size_t i = 0; i < BIT_WORDS(w->nnodes); i++)
        for (uint64_t bits = placing_allowed(p, i); bits; bits &= bits - 1) {
            uint32_t node = (uint32_t)(i * 64 + (size_t)__builtin_ctzll(bits));
            if (!world_group_has(p->v, w->now.group[node]))
                continue;
            if (only != NONE)
                return NONE;
            only = node;
        }
    return only;
}

/* The first time from `from` on and below `before` at which the node could hold so many units;
 * INT64_MAX = there is none. */
static int64_t first_on(struct placing *p, uint32_t node, int64_t limit_us, int32_t least,
                        int64_t from, int64_t before)
{
    struct world *w = p->w;
    int32_t cap = 0;
    if (outlook_pays(w, node) && view_plain(w, p->what->o, node)) {
        struct take own;
        const struct take *take = placing_take(p, node, least, &own);
        return take ? outlook_first(w, node, limit_us, from, before, INT64_MAX, take) : INT64_MAX;
    }
    vec_clear(&w->scratch.stair);
    stairs_of(p, node, limit_us);
    for (size_t i = 0; i < w->scratch.stair.n; i++) {
        const struct stair *s = &w->scratch.stair.v[i];
        cap += s->more;
        if (s->at_us >= before)
            return INT64_MAX;
        /* The last of those before `from` has what is free then. */
        if (cap >= least && (i + 1 == w->scratch.stair.n || w->scratch.stair.v[i + 1].at_us > from))
            return s->at_us > from ? s->at_us : from;
    }
    return INT64_MAX;
}

/* Asked in builds with tests only: the place is the one that candidates and a choice among them
 * come to. */
static bool as_placing_finds(struct placing *p, const struct placement *at)
{
    struct placement found = {0};
    bool same = placing_find(p, &found) && found.at.n == 1 &&
                found.at.v[0].node == at->at.v[0].node && found.at.v[0].units == at->at.v[0].units;
    vec_done(&found.at);
    return same;
}

static void alone_fill(struct placing *p, uint32_t node, struct placement *ret)
{
    struct placed at = {node, p->v->lay.units > 0 ? p->v->lay.units : 1};
    ret->option = p->what->o;
    ret->variant = p->v;
    vec_clear(&ret->at);
    vec_push(&ret->at, at);
    ASSERT(as_placing_finds(p, ret));
}

/* Where one node decides, the first time at which it could do is tried before all are found. */
static bool alone_earliest(struct placing *p, int64_t limit_us, int64_t from, struct placement *ret,
                           int64_t *ret_us)
{
    uint32_t node = only_node(p);
    struct take own;
    if (node == NONE || p->v->lay.nmin > 1 || !view_plain(p->w, p->what->o, node) ||
        !outlook_pays(p->w, node))
        return false;
    const struct take *take = placing_take(p, node, placing_units_alone(p), &own);
    if (!take)
        return false;
    int64_t at = outlook_first(p->w, node, limit_us, from, INT64_MAX, INT64_MAX, take);
    if (at == INT64_MAX || too_late(p, at))
        return false;
    p->start_us = at;
    p->end_us = time_add(at, limit_us);
    *ret_us = at;
    if (at > p->w->now_us && placing_alone(p)) {
        alone_fill(p, node, ret);
        return true;
    }
    /* No is no answer yet: at a later time a licence may be free or the partition open, which the
     * stairs know about. */
    return placing_licences_free(p) && part_window_bars(p->w, p->what->o, at) == REASON_NONE &&
           placing_find(p, ret);
}

/* The first of these times on any node, where one node does for the variant. */
static int64_t first_on_any(struct placing *p, int64_t limit_us, int64_t from, int64_t before)
{
    int64_t first = INT64_MAX;
    if (p->what->latest_us && p->what->latest_us < before)
        before = p->what->latest_us + 1;
    for (size_t i = 0; i < BIT_WORDS(p->w->nnodes); i++)
        for (uint64_t bits = placing_allowed(p, i); bits; bits &= bits - 1) {
            uint32_t node = (uint32_t)(i * 64 + (size_t)__builtin_ctzll(bits));
            int64_t at = first_on(p, node, limit_us, placing_units_alone(p), from, before);
            first = at < first ? at : first;
            before = first < before ? first : before;
        }
    return first;
}

/* No licence, no cap and no hours: what nodes have free decides. */
static bool nodes_decide(const struct placing *p)
{
    return p->what->c->nlic == 0 && p->what->o->part->windows.n == 0 && !p->w->view.kept_head;
}

/* Earliest time from `from` on and below `before` at which the variant can start. The sum of all
 * stairs says that there could be enough; whether there is, with switches, neighbours, named nodes
 * and caps, only placing says, so it is tried at each time at which the sum allows it, and the
 * first that succeeds is the earliest. */
static bool variant_earliest(struct placing *p, int64_t limit_us, int64_t from, int64_t before,
                             struct placement *ret, int64_t *ret_us)
{
    struct world *w = p->w;
    const struct layout *l = &p->v->lay;
    int64_t units = 0, nodes = 0;
    if (l->nmax == 1 && nodes_decide(p)) {
        int64_t at = first_on_any(p, limit_us, from, before);
        if (at == INT64_MAX)
            return false;
        p->start_us = at;
        p->end_us = time_add(at, limit_us);
        if (placing_find(p, ret)) {
            *ret_us = at;
            return true;
        }
    }
    stairs_collect(p, limit_us);
    for (size_t i = 0; i < w->scratch.stair.n && w->scratch.stair.v[i].at_us < before; i++) {
        units += w->scratch.stair.v[i].more;
        nodes += w->scratch.stair.v[i].nodes;
        int64_t at = w->scratch.stair.v[i].at_us > from ? w->scratch.stair.v[i].at_us : from;
        /* Of stairs at one time, or before `from`, the last has the sum. */
        if ((i + 1 < w->scratch.stair.n && w->scratch.stair.v[i + 1].at_us <= at) ||
            nodes < l->nmin || units < l->units)
            continue;
        p->start_us = at;
        p->end_us = time_add(at, limit_us);
        if (!placing_licences_free(p) || part_window_bars(w, p->what->o, at) != REASON_NONE)
            continue;
        if (!placing_find(p, ret))
            continue;
        *ret_us = at;
        return true;
    }
    return false;
}

bool world_earliest(struct world *w, const struct to_place *what, int64_t limit_us, int64_t from_us,
                    struct placement *ret, int64_t *ret_us)
{
    ASSERT(limit_us >= 0 && from_us >= w->now_us);
    struct option *o = what->o;
    struct placing p = {.w = w, .what = what};
    bool found = false;
    p.v = &o->variant[0];
    if (o->nvariants == 1 && alone_earliest(&p, limit_us, from_us, ret, ret_us))
        return true;
    *ret_us = what->latest_us ? time_add(what->latest_us, 1) : INT64_MAX;
    for (size_t i = 0; i < o->nvariants; i++) {
        p.v = &o->variant[i];
        if (i > 0 && placing_only_even(&p, &o->variant[i - 1]))
            continue;
        found |= variant_earliest(&p, limit_us, from_us, *ret_us, ret, ret_us);
    }
    return found;
}
