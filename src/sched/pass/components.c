/* The components of heterogeneous jobs as they wait in a pass, and where one of them can start. */
#include "sched/pass/components.h"

#include "base/alloc.h"
#include "sched/pass/bars.h"
#include "sched/pass/to_place.h"
#include "sched/world/resv_view.h"

#include <stdlib.h>

struct het *pass_het_of(const struct pass *p, uint64_t id)
{
    ASSERT(id);
    uintptr_t at = p->het_at ? (uintptr_t)map_u64_get(p->het_at, id) : 0;
    return at ? &p->het.v[at - 1] : NULL;
}

static struct het *het_add(struct pass *p, uint64_t id)
{
    vec_push(&p->het, ((struct het){.id = id}));
    if (!p->het_at)
        p->het_at = map_u64_new();
    map_u64_put(p->het_at, id, (void *)(uintptr_t)p->het.n);
    return &p->het.v[p->het.n - 1];
}

struct wjob *job_here(const struct pass *p, struct wjob *j)
{
    return p->instead && j == p->left_out ? p->instead->job[0] : j;
}

/* They were promised a start together: what one lost, as it was changed or held, all lost. */
static void promised_see(struct het *h)
{
    const struct waiting *first = &h->job[0]->w;
    h->promised_us = first->promised_in && first->het_size <= h->n ? first->promised_us : INT64_MAX;
    for (size_t i = 1; i < h->n; i++)
        if (!h->job[i]->w.promised_in || h->job[i]->w.promised_us != h->promised_us)
            h->promised_us = INT64_MAX;
}

void hets_collect(struct pass *p)
{
    ASSERT(p->het.n == 0);
    for (size_t i = 0; i < p->cl->queue.lane.n; i++) {
        if (!p->cl->queue.front.v[i].het)
            continue;
        struct lane *l = p->cl->queue.lane.v[i];
        for (size_t k = 0; k < l->n; k++) {
            struct het *h = pass_het_of(p, l->het);
            h = h ? h : het_add(p, l->het);
            /* By number: the order of lanes depends on what came and went before. */
            h->job = xrealloc(h->job, (h->n + 1) * sizeof h->job[0]);
            size_t at = h->n++;
            for (; at > 0 && h->job[at - 1]->w.job_id > l->job[l->first + k]->w.job_id; at--)
                h->job[at] = h->job[at - 1];
            h->job[at] = job_here(p, l->job[l->first + k]);
        }
    }
    for (size_t i = 0; i < p->het.n; i++)
        promised_see(&p->het.v[i]);
}

int64_t het_limit_at(const struct pass *p, const struct option *o, int64_t start_us)
{
    return view_limit(p->w, o, o->limit_us, start_us);
}

struct option *het_place(struct pass *p, const struct wjob *j, int64_t at_us,
                         const uint64_t *barred, const uint64_t *shunned)
{
    ASSERT(at_us >= p->w->now_us);
    const struct compiled *c = demand_of(p->cl, j->lane->klass);
    for (size_t i = 0; i < c->n; i++) {
        struct option *o = &c->option[i];
        if (o->never != REASON_NONE || option_held_by(p, o, j->w.uid, at_us) != REASON_NONE)
            continue;
        struct to_place what = pass_to_place(p, c, o, j);
        p->cost += try_cost(p, o);
        what.barred = barred;
        what.shunned = shunned;
        if (world_place(p->w, &what, at_us, time_add(at_us, het_limit_at(p, o, at_us)), &p->at))
            return o;
    }
    return NULL;
}

/* ---- hours of partitions ---- */

/* What hours leave in a partition. */
struct seats {
    const struct spart *part;
    int32_t left;
    bool asked; /* for the component that is being seated */
};

struct seating {
    struct pass *p;
    const struct het *h;
    VEC(struct seats) at;
    size_t *in; /* by component: its place in `at` plus 1; 0 = it has none yet */
};

static size_t seats_of(struct seating *s, const struct spart *part, uint32_t uid)
{
    for (size_t i = 0; i < s->at.n; i++)
        if (s->at.v[i].part == part)
            return i;
    struct seats new = {.part = part, .left = hours_room(s->p, part, uid, s->p->w->now_us)};
    vec_push(&s->at, new);
    return s->at.n - 1;
}

/* Where all are taken, one that sits there may go elsewhere. */
static bool seat(struct seating *s, size_t i)
{
    const struct wjob *j = s->h->job[i];
    const struct compiled *c = demand_of(s->p->cl, j->lane->klass);
    for (size_t k = 0; k < c->n; k++) {
        if (c->option[k].never != REASON_NONE)
            continue;
        size_t at = seats_of(s, c->option[k].part, j->w.uid);
        if (s->at.v[at].asked)
            continue;
        s->at.v[at].asked = true;
        bool free_one = s->at.v[at].left > 0;
        s->at.v[at].left -= free_one;
        for (size_t other = 0; other < s->h->n && !free_one; other++)
            free_one = s->in[other] == at + 1 && seat(s, other);
        if (!free_one)
            continue;
        s->in[i] = at + 1;
        return true;
    }
    return false;
}

const struct wjob *het_held_by_hours(struct pass *p, const struct het *h)
{
    struct seating s = {.p = p, .h = h, .in = xcalloc(h->n + 1, sizeof(size_t))};
    const struct wjob *held = NULL;
    for (size_t i = 0; i < h->n && !held; i++) {
        for (size_t k = 0; k < s.at.n; k++)
            s.at.v[k].asked = false;
        held = seat(&s, i) ? NULL : h->job[i];
    }
    vec_done(&s.at);
    free(s.in);
    return held;
}
