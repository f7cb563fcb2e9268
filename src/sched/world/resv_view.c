/* What a job may count on, on a node over a time: what is free there, less what reservations keep
 * for others, and for a job of a reservation no more than that keeps. A reservation keeps what it
 * has less what its own jobs hold, so nothing is counted twice: for others the node looks the same
 * whether a job of the reservation runs there or not. Over a stretch of time the least is found at
 * its beginning, where a promise begins, or where a reservation does. Nodes that no reservation
 * touches, which nearly all are, take none of this path. Where part of a node is kept, nobody
 * shares CPUs: a job that could share starts there only where it has idle ones, or a job inside
 * might find that those which make up its part are half taken by others. The same path holds
 * MaxCPUsPerNode, which counts all jobs of a partition on a node together. */
#include "sched/world/resv_view.h"
#include "sched/world/cap_takes.h"
#include "sched/world/part_windows.h"
#include "sched/world/row.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* ---- building ---- */

static void kept_add(struct world *w, const struct sresv *s, const struct rpart *p)
{
    struct kept_for k = {.s = s, .part = p, .next = w->view.kept_head[p->node]};
    w->view.kept_head[p->node] = (uint32_t)w->view.kept_for.n;
    vec_push(&w->view.kept_for, k);
}

static int time_order(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

#define TURNS_MAX 4 /* times of a recurring reservation at which a forecast stops */

static void windows_make(struct world *w, const struct sresv *s)
{
    struct windows *win = &w->view.win[s->number - 1];
    win->n = resv_windows(w->cl, &s->r, w->now_us, win->v);
    for (size_t i = 0; i < win->n && i < TURNS_MAX; i++) {
        if (win->v[i].start_us > w->now_us)
            vec_push(&w->view.turn, win->v[i].start_us);
        vec_push(&w->view.turn, win->v[i].end_us);
    }
}

void view_init(struct world *w)
{
    const struct cluster *cl = w->cl;
    w->view.used = xcalloc(w->dims + 1, sizeof w->view.used[0]);
    w->view.other = xcalloc(w->dims + 1, sizeof w->view.other[0]);
    for (size_t i = 0; i < cl->part.n; i++)
        if (!cl->part.v[i]->gone)
            part_window_times(w, cl->part.v[i], &w->view.turn);
    caps_turns(w, &w->view.turn);
    if (w->view.turn.n > 1)
        qsort(w->view.turn.v, w->view.turn.n, sizeof w->view.turn.v[0], time_order);
    if (cl->resv.n == 0)
        return;
    w->view.win = xcalloc(cl->resv.n, sizeof w->view.win[0]);
    w->view.kept_head = xmalloc((w->nall + 1) * sizeof w->view.kept_head[0]);
    memset(w->view.kept_head, 0xff, (w->nall + 1) * sizeof w->view.kept_head[0]);
    for (size_t i = 0; i < cl->resv.n; i++) {
        const struct sresv *s = cl->resv.v[i];
        if (!s)
            continue;
        windows_make(w, s);
        for (size_t k = 0; w->view.win[i].n > 0 && k < s->part.n; k++)
            if (s->part.v[k].node < w->nall)
                kept_add(w, s, &s->part.v[k]);
    }
    if (w->view.turn.n > 1)
        qsort(w->view.turn.v, w->view.turn.n, sizeof w->view.turn.v[0], time_order);
}

void view_done(struct world *w)
{
    free(w->view.used);
    free(w->view.other);
    free(w->view.win);
    free(w->view.kept_head);
    vec_done(&w->view.kept_for);
    vec_done(&w->view.turn);
}

/* ---- times ---- */

/* The first window that begins, or ends, after that time; win->n = none. They come in order. */
static size_t window_after(const struct windows *win, int64_t at_us, bool ends)
{
    size_t first = 0, past = win->n;
    while (first < past) {
        size_t i = first + (past - first) / 2;
        if ((ends ? win->v[i].end_us : win->v[i].start_us) > at_us)
            past = i;
        else
            first = i + 1;
    }
    return first;
}

const struct window *view_window(const struct world *w, const struct sresv *s, int64_t at_us)
{
    ASSERT(s->number > 0 && s->number <= w->cl->resv.n);
    const struct windows *win = &w->view.win[s->number - 1];
    size_t i = window_after(win, at_us, true);
    return i < win->n && win->v[i].start_us <= at_us ? &win->v[i] : NULL;
}

#define SHORTEST_US USEC_PER_MIN /* a run that is cut to less is not worth its start */

/* What would be cut to less is not cut, and so fits into no window. */
int64_t view_limit(const struct world *w, const struct option *o, int64_t limit_us,
                   int64_t start_us)
{
    ASSERT(limit_us >= 0);
    const struct window *win = o->resv && o->cut ? view_window(w, o->resv, start_us) : NULL;
    int64_t room = win ? win->end_us - start_us : limit_us;
    limit_us = room < limit_us && room >= SHORTEST_US ? room : limit_us;
    return part_window_limit(w, o, limit_us, start_us);
}

/* Cuts *end_us to the end of the reservation where that is allowed; false if the time lies
 * outside. */
static bool window_holds(const struct world *w, const struct viewpoint *p, int64_t start_us,
                         int64_t *end_us)
{
    if (!p->inside || !resv_confines(p->inside))
        return true;
    const struct window *win = view_window(w, p->inside, start_us);
    if (!win)
        return false;
    if (*end_us <= win->end_us)
        return true;
    *end_us = win->end_us;
    return p->cut && win->end_us - start_us >= SHORTEST_US;
}

int64_t view_next_turn(const struct world *w)
{
    return w->view.turn_first < w->view.turn.n ? w->view.turn.v[w->view.turn_first] : INT64_MAX;
}

bool view_advance(struct world *w, int64_t now_us)
{
    ASSERT(w->view.turn_first <= w->view.turn.n);
    size_t before = w->view.turn_first;
    while (w->view.turn_first < w->view.turn.n && w->view.turn.v[w->view.turn_first] <= now_us)
        w->view.turn_first++;
    return w->view.turn_first > before;
}

/* ---- amounts ---- */

/* The CPUs of work that shares stand in DIM_SHARE; DIM_CPU has those of them that were idle when it
 * began. On the same CPUs, several jobs count several times. */
static void used_add(struct world *w, const struct wtake *t)
{
    bool shares = t->node < w->nnodes && w->agenda.job.v[t->job].shares;
    for (uint32_t i = 0; i < t->n; i++) {
        const struct use *u = &w->agenda.use.v[t->first + i];
        if (shares && u->dim == DIM_CPU)
            continue;
        w->view.used[u->dim] += u->amount;
        if (shares && u->dim == DIM_SHARE)
            w->view.used[DIM_CPU] += u->amount;
    }
}

/* Fills world.used with what jobs of the reservation, or of the partition, hold on the node at a
 * time. */
static void used_fill(struct world *w, uint32_t node, int64_t at_us, uint32_t resv, uint32_t part)
{
    const struct agenda *a = &w->agenda;
    memset(w->view.used, 0, w->dims * sizeof w->view.used[0]);
    for (uint32_t t = a->work[node]; t != NONE; t = a->take.v[t].next) {
        const struct wjobs *j = agenda_job(a, t);
        if (!j->lifted && j->end_us > at_us && (resv ? j->resv == resv : j->part == part))
            used_add(w, &a->take.v[t]);
    }
    for (uint32_t t = a->kept[node]; t != NONE; t = a->take.v[t].next) {
        const struct wjobs *j = agenda_job(a, t);
        if (j->start_us <= at_us && j->end_us > at_us && (resv ? j->resv == resv : j->part == part))
            used_add(w, &a->take.v[t]);
    }
}

static void less(const struct world *w, int64_t *row, uint32_t dim, int64_t keeps)
{
    int64_t rest = keeps - w->view.used[dim];
    if (rest > 0)
        row[dim] -= rest;
}

static void keep_from_others(struct world *w, const struct viewpoint *p, uint32_t node,
                             int64_t at_us, const struct kept_for *k, int64_t *row)
{
    used_fill(w, node, at_us, k->s->number, 0);
    if (p->over_work)
        memset(w->view.used, 0, w->dims * sizeof w->view.used[0]);
    if (!k->part->whole) {
        for (uint32_t i = 0; i < k->part->n; i++)
            less(w, row, k->part->use[i].dim, k->part->use[i].amount);
        return;
    }
    const struct group *g = w->cl->node.v[node]->group;
    for (uint32_t d = 0; d < g->ntotal && d < w->dims; d++)
        less(w, row, d, g->total[d]);
}

/* Inside: no more than is kept. Licences are not limited so: jobs may use others, too. */
static void keep_within(struct world *w, uint32_t node, int64_t at_us, const struct kept_for *k,
                        int64_t *row)
{
    if (k->part->whole || node >= w->nnodes || !resv_confines(k->s))
        return;
    used_fill(w, node, at_us, k->s->number, 0);
    for (uint32_t i = 0; i < k->part->n; i++) {
        int64_t rest = k->part->use[i].amount - w->view.used[k->part->use[i].dim];
        if (row[k->part->use[i].dim] > rest)
            row[k->part->use[i].dim] = rest;
    }
}

/* Who shares may lie on CPUs that its partition has already (exact.c): so many jobs on each of
 * them. */
static void partition_caps(struct world *w, const struct viewpoint *p, uint32_t node, int64_t at_us,
                           int64_t *row)
{
    int64_t most = part_cpus_most(&p->capped->p, w->cl->node.v[node]->group);
    uint32_t dim = p->share > 0 ? DIM_SHARE : DIM_CPU;
    used_fill(w, node, at_us, 0, p->capped->idx + 1);
    int64_t rest = (p->share > 0 ? most * p->share : most) - w->view.used[dim];
    if (row[dim] > rest)
        row[dim] = rest;
}

static bool matters(const struct viewpoint *p, const struct kept_for *k)
{
    if (k->s == p->but || p->over_all)
        return false;
    return k->s == p->inside || !p->inside || !resv_overlays(p->inside);
}

static void row_seen(struct world *w, const struct viewpoint *p, uint32_t node, int64_t at_us,
                     int64_t *row)
{
    if (p->over_work && node < w->nnodes)
        for (size_t d = 0; d < w->dims; d++)
            row[d] =
                d < w->cl->node.v[node]->group->ntotal ? w->cl->node.v[node]->group->total[d] : 0;
    else
        world_row_at(w, node, at_us, row);
    bool parts = false;
    for (uint32_t i = w->view.kept_head ? w->view.kept_head[node] : NONE; i != NONE;
         i = w->view.kept_for.v[i].next) {
        const struct kept_for *k = &w->view.kept_for.v[i];
        if (!matters(p, k) || !view_window(w, k->s, at_us))
            continue;
        parts |= !k->part->whole;
        if (k->s == p->inside)
            keep_within(w, node, at_us, k, row);
        else
            keep_from_others(w, p, node, at_us, k, row);
    }
    if (p->share > 0 && parts && row[DIM_SHARE] > row[DIM_CPU])
        row[DIM_SHARE] = row[DIM_CPU];
    if (p->capped && node < w->nnodes)
        partition_caps(w, p, node, at_us, row);
}

static void row_least(struct world *w, const struct viewpoint *p, uint32_t node, int64_t at_us)
{
    row_seen(w, p, node, at_us, w->view.other);
    for (size_t d = 0; d < w->dims; d++)
        if (w->view.other[d] < w->scratch.row[d])
            w->scratch.row[d] = w->view.other[d];
}

/* Who shares finds room where no CPU is idle, too. */
static bool has_cpus(const struct viewpoint *p, const int64_t *row)
{
    return row[DIM_CPU] > 0 || (p->share > 0 && row[DIM_SHARE] > 0);
}

const int64_t *view_row_of(struct world *w, const struct viewpoint *p, uint32_t node,
                           int64_t start_us, int64_t end_us)
{
    ASSERT(node < w->nall && start_us <= end_us);
    const struct agenda *a = &w->agenda;
    bool away =
        node < w->nnodes && p->inside && p->inside->nodes && !bit_get(p->inside->nodes, node);
    if (away || !window_holds(w, p, start_us, &end_us)) {
        memset(w->scratch.row, 0, w->dims * sizeof w->scratch.row[0]);
        return w->scratch.row;
    }
    /* The least of a stretch of time: between these times something only comes free. */
    row_seen(w, p, node, start_us, w->scratch.row);
    for (uint32_t t = a->kept[node]; t != NONE && agenda_job(a, t)->start_us < end_us;
         t = a->take.v[t].next)
        if (agenda_job(a, t)->start_us > start_us)
            row_least(w, p, node, agenda_job(a, t)->start_us);
    for (uint32_t i = w->view.kept_head ? w->view.kept_head[node] : NONE; i != NONE;
         i = w->view.kept_for.v[i].next) {
        const struct kept_for *k = &w->view.kept_for.v[i];
        const struct windows *win = &w->view.win[k->s->number - 1];
        /* Once nothing is left it cannot get less. */
        if (!matters(p, k))
            continue;
        for (size_t n = window_after(win, start_us, false);
             n < win->n && win->v[n].start_us < end_us && has_cpus(p, w->scratch.row); n++)
            row_least(w, p, node, win->v[n].start_us);
    }
    return w->scratch.row;
}

static struct viewpoint viewpoint_of(const struct option *o)
{
    return (struct viewpoint){.inside = o->resv,
                              .cut = o->cut,
                              .share = o->mode.share,
                              .capped = part_caps_cpus(&o->part->p) ? o->part : NULL};
}

bool view_plain(const struct world *w, const struct option *o, uint32_t node)
{
    return !o->resv && (!w->view.kept_head || w->view.kept_head[node] == NONE) &&
           (node >= w->nnodes || !part_caps_cpus(&o->part->p));
}

const int64_t *view_row(struct world *w, const struct option *o, uint32_t node, int64_t start_us,
                        int64_t end_us)
{
    if (view_plain(w, o, node))
        return world_row(w, node, start_us, end_us);
    struct viewpoint p = viewpoint_of(o);
    return view_row_of(w, &p, node, start_us, end_us);
}

/* ---- when it may change ---- */

static void time_push(i64_vec *at, int64_t time_us)
{
    vec_push(at, time_us);
}

void view_times(const struct world *w, const struct option *o, uint32_t node, int64_t limit_us,
                i64_vec *at)
{
    for (size_t i = 0; o->resv && i < w->view.win[o->resv->number - 1].n; i++) {
        const struct window *win = &w->view.win[o->resv->number - 1].v[i];
        time_push(at, win->start_us);
        time_push(at, win->end_us);
        if (resv_confines(o->resv) && limit_us != TIME_UNLIMITED)
            time_push(at, win->end_us - limit_us + 1);
    }
    for (uint32_t i = w->view.kept_head ? w->view.kept_head[node] : NONE; i != NONE;
         i = w->view.kept_for.v[i].next) {
        const struct windows *win = &w->view.win[w->view.kept_for.v[i].s->number - 1];
        for (size_t n = 0; n < win->n; n++) {
            time_push(at, win->v[n].end_us);
            if (limit_us != TIME_UNLIMITED)
                time_push(at, win->v[n].start_us - limit_us + 1);
        }
    }
}
