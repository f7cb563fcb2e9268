/* Every node of a job's partition is counted once: it has what a piece of the job takes free now
 * (and may be kept for a promised start), is away, is excluded by the job, could not hold it even
 * empty, lacks nothing but devices that are out of use (broken, or not yet clean), or is busy. Of a
 * busy node it is worked out what is short and when it is expected to be free enough: as its jobs
 * end, in the order of their ends. */
#include "sched/answer/blockers.h"
#include "sched/answer/capped.h"
#include "sched/answer/hours.h"
#include "sched/answer/outs.h"
#include "sched/books/limits/caps.h"

#include "base/alloc.h"
#include "base/hostlist.h"
#include "sched/books/settle.h"
#include "sched/pass/pass.h"
#include "sched/request/wording.h"

#include <stdlib.h>
#include <string.h>

#define NAMES_MAX 200 /* nodes named of a kind */
#define JOBS_MAX  8
#define OUTS_MAX  16 /* devices named that are out */

struct lot { /* nodes about which the same is said */
    enum blocker_kind kind;
    const char *what;
    int32_t nodes, endless;
    struct hostlist names;
    int64_t first_us, last_us;
    uint64_t job[JOBS_MAX];
    size_t njobs;
    struct map_u64 *seen; /* jobs counted */
};

struct blockers_work {
    const struct cluster *cl;
    const struct wjob *j;
    const struct compiled *c;
    const struct option *o;
    const struct class_note *note; /* of the last pass; NULL = none */
    struct arena *a;
    int64_t now_us;
    const struct planned **kept; /* by node: the promise it is kept for, the earliest */
    VEC(struct lot) lot;
    int32_t fit;
    size_t outs_said;
};

static struct lot *lot_of(struct blockers_work *w, enum blocker_kind kind, const char *what)
{
    for (size_t i = 0; i < w->lot.n; i++)
        if (w->lot.v[i].kind == kind && text_is(w->lot.v[i].what, what))
            return &w->lot.v[i];
    struct lot new = {.kind = kind, .what = what, .seen = map_u64_new()};
    vec_push(&w->lot, new);
    return &w->lot.v[w->lot.n - 1];
}

static void lot_node(struct lot *l, const struct snode *n)
{
    if (l->nodes++ < NAMES_MAX)
        hostlist_add(&l->names, n->name);
}

static void lot_job(struct lot *l, uint64_t id)
{
    if (map_u64_get(l->seen, id))
        return;
    map_u64_put(l->seen, id, l);
    if (l->njobs < JOBS_MAX)
        l->job[l->njobs++] = id;
}

static void lot_time(struct lot *l, int64_t at_us)
{
    if (at_us == INT64_MAX) {
        l->endless++;
        return;
    }
    if (!l->first_us || at_us < l->first_us)
        l->first_us = at_us;
    if (at_us > l->last_us)
        l->last_us = at_us;
}

/* ---- devices that are out of use ---- */

static const char *out_text(const struct blockers_work *w, const struct snode *n,
                            const struct device_out *d)
{
    if (d->failed)
        return arena_printf(
            w->a,
            "%s %d of %s is broken (%s); when it is mended, `scontrol update nodename=%s "
            "state=resume` has it looked at again",
            d->kind, d->index, n->name, d->why, n->name);
    return arena_printf(
        w->a, "%s %d of %s is not clean (%s); it is used again by itself as soon as it is", d->kind,
        d->index, n->name, d->why);
}

/* True if the node would do with its devices that are out: they are what is in the way. Else they
 * are told of beside what keeps it busy; and also where a piece of the job has room, since another
 * may need them. */
static bool out_node(struct blockers_work *w, const struct snode *n, const struct take *t)
{
    struct outs found = outs_in_the_way(w->cl, n, t, w->a);
    for (size_t i = 0; i < found.n && w->outs_said < OUTS_MAX; i++, w->outs_said++) {
        struct lot *l = lot_of(w, BLOCKER_OUT, out_text(w, n, found.v[i]));
        lot_node(l, n);
        l->first_us = found.v[i]->since_us;
    }
    return found.enough;
}

/* ---- a busy node ---- */

static const char *short_of(const struct blockers_work *w, const struct take *t, const int64_t *row)
{
    for (uint32_t i = 0; i < t->n; i++)
        if (t->use[i].dim >= DIM_GRES && row[t->use[i].dim] < t->use[i].amount)
            return arena_printf(w->a, "too few free %s", word_label(w->cl, w->c, t->use[i].dim));
    for (uint32_t i = 0; i < t->n; i++)
        if (t->use[i].dim == DIM_JOBS && row[DIM_JOBS] < t->use[i].amount)
            return t->use[i].amount > 1 ? "other jobs there, while whole nodes are needed"
                                        : "a job that has the node to itself";
    for (uint32_t i = 0; i < t->n; i++)
        if (t->use[i].dim == DIM_MEM && row[DIM_MEM] < t->use[i].amount)
            return "too little free memory";
    return "too few free CPUs";
}

static int hold_order(const void *va, const void *vb)
{
    const struct hold *const *a = va, *const *b = vb;
    int64_t x = (*a)->run->end_us, y = (*b)->run->end_us;
    if (x != y)
        return x < y ? -1 : 1;
    return ((*a)->run->job_id > (*b)->run->job_id) - ((*a)->run->job_id < (*b)->run->job_id);
}

static void gres_return(const struct cluster *cl, const struct snode *n, const struct held_gres *g,
                        int64_t *row)
{
    int64_t left = g->back;
    for (size_t i = 0; i < g->nindex && left > 0; i++, left--)
        row[held_dim(cl, n, g, i)]++;
    row[g->dim] += left;
}

static void hold_return(const struct blockers_work *w, const struct hold *h, int64_t *row)
{
    if (!h->run->suspended) {
        row[DIM_CPU] += (int64_t)h->ncpu;
        row[DIM_SHARE] += (int64_t)h->ncpu;
    }
    row[DIM_MEM] += h->mem_mib;
    row[DIM_JOBS] += run_places(h->run);
    for (size_t i = 0; i < h->ngres; i++)
        if (h->gres[i].dim < w->cl->dim.n)
            gres_return(w->cl, h->node, &h->gres[i], row);
}

static void busy_node(struct blockers_work *w, const struct snode *n, const struct take *t)
{
    const int64_t *now = node_free(w->cl, n);
    struct lot *l = lot_of(w, BLOCKER_BUSY, short_of(w, t, now));
    int64_t *row = xmalloc((w->cl->dim.n + 1) * sizeof row[0]);
    struct hold **hold = xmalloc((n->hold.n + 1) * sizeof hold[0]);
    size_t holdings = 0;
    int64_t at = INT64_MAX;
    memcpy(row, now, w->cl->dim.n * sizeof row[0]);
    for (size_t i = 0; i < n->hold.n; i++)
        if (!n->hold.v[i]->released)
            hold[holdings++] = n->hold.v[i];
    if (holdings > 1)
        qsort(hold, holdings, sizeof hold[0], hold_order);
    lot_node(l, n);
    for (size_t i = 0; i < holdings && at == INT64_MAX; i++) {
        hold_return(w, hold[i], row);
        lot_job(l, hold[i]->run->job_id);
        if ((take_fits(t, row) || i + 1 == holdings) && hold[i]->run->end_us != TIME_UNLIMITED)
            at = hold[i]->run->end_us > w->now_us ? hold[i]->run->end_us : w->now_us;
    }
    lot_time(l, at);
    free(hold);
    free(row);
}

/* ---- all nodes of a partition ---- */

static void away_node(struct blockers_work *w, const struct snode *n)
{
    const char *state = n->cfg->drain ? "drained" : n->cfg->fail ? "failing" : "down";
    const char *why = text_empty(n->cfg->reason)
                          ? state
                          : arena_printf(w->a, "%s: %.160s", state, n->cfg->reason);
    lot_node(lot_of(w, BLOCKER_AWAY, why), n);
}

static const char *lacks_text(const struct blockers_work *w, const struct group *g)
{
    struct str s = STR_INIT;
    word_lacks(w->cl, w->c, w->o, g, &s);
    const char *text = s.len ? arena_strdup(w->a, str_text(&s)) : NULL;
    str_done(&s);
    return text;
}

static void node_count(struct blockers_work *w, const struct snode *n)
{
    struct variant *v = variant_on(w->o, n->group);
    if (!v) {
        lot_node(lot_of(w, BLOCKER_NEVER, lacks_text(w, n->group)), n);
        return;
    }
    if (!demand_admits(w->c, w->o, n->idx)) {
        lot_node(lot_of(w, BLOCKER_EXCLUDED, NULL), n);
        return;
    }
    if (!n->up) {
        away_node(w, n);
        return;
    }
    if (resv_keeps_now(w->cl, n->idx, w->now_us, w->o->resv)) {
        lot_node(lot_of(w, BLOCKER_RESERVED, NULL), n);
        return;
    }
    const struct take *t = take_least(w->cl, w->c, w->o, v, n->group);
    bool but_for_outs = out_node(w, n, t);
    if (!take_fits(t, node_free(w->cl, n))) {
        if (!but_for_outs)
            busy_node(w, n, t);
        return;
    }
    w->fit++;
    if (w->kept[n->idx]) {
        struct lot *l = lot_of(w, BLOCKER_KEPT, NULL);
        lot_node(l, n);
        lot_job(l, w->kept[n->idx]->job_id);
        lot_time(l, w->kept[n->idx]->start_us);
    }
}

/* Nodes kept for promised starts of other jobs. */
static void kept_find(struct blockers_work *w, const struct plan *p, uint64_t job_id)
{
    struct map_walk at = {0};
    w->kept = xcalloc(w->cl->node.n + 1, sizeof w->kept[0]);
    if (p->priv->version != w->cl->derived.version)
        return;
    while (map_u64_next(p->priv->planned, &at)) {
        const struct planned *f = at.value;
        for (uint32_t i = 0; f->promise && f->job_id != job_id && i < f->nnodes; i++)
            if (!w->kept[f->node[i]] || w->kept[f->node[i]]->start_us > f->start_us)
                w->kept[f->node[i]] = f;
    }
}

/* ---- in words ---- */

static const char *names_text(struct blockers_work *w, struct lot *l)
{
    struct str s = STR_INIT;
    hostlist_sort(&l->names);
    hostlist_fold(&l->names, &s);
    const char *text = arena_strdup(w->a, str_text(&s));
    str_done(&s);
    return text;
}

static const char *jobs_text(const struct blockers_work *w, const struct lot *l)
{
    struct str s = STR_INIT;
    for (size_t i = 0; i < l->njobs; i++)
        str_addf(&s, "%s%llu", i ? "," : "", (unsigned long long)l->job[i]);
    const char *text = s.len ? arena_strdup(w->a, str_text(&s)) : NULL;
    str_done(&s);
    return text;
}

static void lots_out(struct blockers_work *w, blocker_vec *out)
{
    for (size_t i = 0; i < w->lot.n; i++) {
        struct lot *l = &w->lot.v[i];
        struct blocker b = {.kind = l->kind,
                            .partition = arena_strdup(w->a, w->o->part->p.name),
                            .what = l->what ? arena_strdup(w->a, l->what) : NULL,
                            .nodes = l->nodes,
                            .names = names_text(w, l),
                            .first_us = l->first_us,
                            .last_us = l->last_us,
                            .endless = l->endless,
                            .jobs = jobs_text(w, l),
                            .jobs_more = (int32_t)(map_u64_count(l->seen) - l->njobs)};
        vec_push(out, b);
        hostlist_done(&l->names);
        map_u64_free(l->seen);
    }
    vec_done(&w->lot);
}

static void needs_out(struct blockers_work *w, blocker_vec *out)
{
    struct str s = STR_INIT;
    word_demand(w->cl, w->c, w->o, w->o->nvariants ? &w->o->variant[0] : w->o->wish, MEMORY_ALL,
                &s);
    struct blocker b = {.kind = BLOCKER_NEEDS,
                        .partition = arena_strdup(w->a, w->o->part->p.name),
                        .what = arena_strdup(w->a, str_text(&s)),
                        .nodes = w->fit,
                        .nodes_all = (int32_t)w->o->part->node.n};
    vec_push(out, b);
    str_done(&s);
}

static void option_out(struct blockers_work *w, blocker_vec *out)
{
    if (w->o->never != REASON_NONE && w->o->never_text) {
        struct blocker b = {.kind = BLOCKER_LIMIT,
                            .partition = arena_strdup(w->a, w->o->part->p.name),
                            .what = arena_strdup(w->a, w->o->never_text)};
        vec_push(out, b);
    }
    const char *hours = hours_bar(w->cl, w->j, w->o, w->now_us, w->a);
    if (hours) {
        struct blocker b = {.kind = BLOCKER_LIMIT,
                            .partition = arena_strdup(w->a, w->o->part->p.name),
                            .what = hours};
        vec_push(out, b);
    }
    if (!w->o->wish)
        return;
    w->fit = 0;
    for (size_t i = 0; i < w->o->part->node.n; i++)
        node_count(w, w->o->part->node.v[i]);
    needs_out(w, out);
    lots_out(w, out);
}

static void licences_out(struct blockers_work *w, blocker_vec *out)
{
    for (size_t i = 0; i < w->c->nlic; i++) {
        const struct licence *l = &w->cl->lic.v[w->c->lic[i].lic];
        int64_t takes;
        if (!capped_by(w->cl, w->note, &w->c->lic[i], w->now_us, &takes))
            continue;
        if (is_cap(l)) {
            struct str what = STR_INIT;
            cap_say(w->cl, &w->c->lic[i], takes, &what);
            struct blocker b = {.kind = BLOCKER_LIMIT, .what = arena_strdup(w->a, str_text(&what))};
            capped_users(w->cl, &w->c->lic[i], takes, w->now_us, w->a, &b);
            for (size_t k = 0; w->c->lic[i].places && !b.partition && k < w->c->n; k++)
                if (use_concerns(&w->c->lic[i], &w->c->option[k]))
                    b.partition = arena_strdup(w->a, w->c->option[k].part->p.name);
            vec_push(out, b);
            str_done(&what);
            continue;
        }
        struct blocker b = {
            .kind = BLOCKER_LICENCE,
            .what = arena_printf(w->a, "needs %lld of the licence %s: %lld of %lld are free",
                                 (long long)w->c->lic[i].count, l->name,
                                 (long long)(l->total - l->used), (long long)l->total)};
        vec_push(out, b);
    }
}

#define PARTITIONS_SAID 4

void sched_blockers(struct cluster *cl, const struct plan *p, uint64_t job_id, int64_t now_us,
                    struct arena *a, blocker_vec *out)
{
    cluster_settle(cl);
    const struct wjob *j = map_u64_get(cl->queue.by_job, job_id);
    struct blockers_work w = {.cl = cl, .j = j, .a = a, .now_us = now_us};
    if (!j)
        return;
    w.c = demand_of(cl, j->lane->klass);
    w.note = plan_note(p->priv, j->lane->klass);
    kept_find(&w, p, job_id);
    licences_out(&w, out);
    for (size_t i = 0; i < w.c->n && i < PARTITIONS_SAID; i++) {
        w.o = &w.c->option[i];
        option_out(&w, out);
    }
    free(w.kept);
}
