#include "sched/books/limits/caps.h"

#include "base/amount.h"
#include "sched/books/limits/cap_set.h"
#include "sched/books/run_pack.h"
#include "sched/books/settle.h"
#include "sched/books/tables.h"

#include <stdlib.h>
#include <string.h>

ptrdiff_t cap_find(const struct cluster *cl, uint32_t id)
{
    return (ptrdiff_t)cap_place(cl, id).plus1 - 1;
}

/* ---- amounts -------------------------------------------------------------------------------- */

static bool dim_counts(const struct dim *d, const char *gres)
{
    size_t kind = strcspn(gres, ":");
    if (!d->kind || strncmp(d->kind, gres, kind) != 0 || d->kind[kind])
        return false;
    return !gres[kind] || text_is_nocase(d->type, gres + kind + 1);
}

int64_t cap_of_node(const struct cluster *cl, const struct cap_amount *cap, int64_t cpus,
                    int64_t mem_mib, const int64_t *gres)
{
    ASSERT(cpus >= 0 && mem_mib >= 0);
    int64_t sum = 0;
    switch (cap->counts) {
    case CAP_JOBS:
    case CAP_LICENCES:
    case CAP_BILLING: return 0; /* not by node */
    case CAP_NODES: return 1;
    case CAP_CPUS: return cpus;
    case CAP_MEM: return mem_mib;
    case CAP_GRES: break;
    }
    for (size_t d = DIM_GRES; d < cl->dim.n; d++)
        if (gres[d] && dim_counts(&cl->dim.v[d], cap->gres))
            sum += gres[d];
    return sum;
}

static int64_t weighed(const struct cluster *cl, const struct tres_weight *t,
                       const struct cap_sums *sums)
{
    int64_t sum = 0;
    switch (t->kind) {
    case TRES_CPU: return sums->cpus;
    case TRES_MEM: return sums->mem_mib;
    case TRES_NODE: return sums->nodes;
    case TRES_GRES: break;
    }
    for (size_t d = DIM_GRES; d < cl->dim.n; d++)
        if (sums->gres[d] && dim_counts(&cl->dim.v[d], t->name))
            sum += sums->gres[d];
    return sum;
}

/* The same as job_billing_milli makes of what a job has. */
int64_t cap_billing(const struct cluster *cl, const struct spart *part, const struct cap_sums *sums)
{
    ASSERT(sums->cpus >= 0 && sums->mem_mib >= 0);
    int64_t sum = 0, most = 0;
    if (!part || !part->is_billed)
        return sums->cpus;
    for (size_t i = 0; i < part->billing.n; i++) {
        const struct tres_weight *t = &part->billing.v[i];
        int64_t one =
            amount_times(t->milli < 0 ? -t->milli : t->milli, weighed(cl, t, sums)) / t->per;
        one = t->milli < 0 ? -one : one;
        sum += one;
        most = one > most ? one : most;
    }
    int64_t milli = cl->policy.max_tres ? most : sum;
    return milli > 0 ? milli / 1000 : 0;
}

/* ---- the table ------------------------------------------------------------------------------ */

/* Those of many caps are the same. */
static struct cap_hours *hours_take(struct cluster *cl, const char *text)
{
    struct arena *a = arena_new();
    struct time_windows w = {0};
    struct cap_hours *h = NULL;
    if (text && time_hours_parse(text, a, &w, NULL)) {
        for (size_t i = 0; i < cl->lic.hours.n && !h; i++) {
            const struct time_window *o = &cl->lic.hours.v[i]->window;
            if (o->days == w.v->days && o->from_min == w.v->from_min && o->to_min == w.v->to_min)
                h = cl->lic.hours.v[i];
        }
        if (!h) {
            h = xcalloc(1, sizeof *h);
            h->window = *w.v;
            vec_push(&cl->lic.hours, h);
        }
    }
    arena_free(a);
    return h;
}

/* Of what is counted for a whole job, each by itself or together, one takes as much. */
static bool whole_job(enum cap_each each)
{
    return each == CAP_TOGETHER || each == CAP_EACH_JOB;
}

static uint32_t amount_of(struct cluster *cl, const struct licence *cap)
{
    uint32_t n = (uint32_t)cl->lic.amount.n;
    struct cap_amount new = {.counts = cap->counts, .each = cap->each, .like = n};
    new.gres = cap->gres;
    for (uint32_t i = 0; i < n; i++) {
        const struct cap_amount *of = &cl->lic.amount.v[i];
        if (of->counts != cap->counts || !text_is(of->gres, cap->gres))
            continue;
        if (of->each == cap->each)
            return i;
        if (new.like == n && whole_job(of->each) && whole_job(cap->each))
            new.like = i;
    }
    vec_push(&cl->lic.amount, new);
    return n;
}

void cluster_put_cap(struct cluster *cl, const struct cap *cap)
{
    ptrdiff_t at = cap_find(cl, cap->id);
    CHECK(cap->id);
    if (at < 0) {
        struct licence l = {.cap_id = cap->id, .counts = cap->counts, .each = cap->each};
        l.gres = cap->gres ? xstrdup(cap->gres) : NULL;
        l.amount = amount_of(cl, &l);
        vec_push(&cl->lic, l);
        while (cl->lic.of_cap.n <= cap->id)
            vec_push(&cl->lic.of_cap, (struct cap_place){0});
        cl->lic.of_cap.v[cap->id] = (struct cap_place){(uint32_t)cl->lic.n, l.amount};
        at = (ptrdiff_t)cl->lic.n - 1;
    }
    struct licence *l = &cl->lic.v[at];
    l->total = cap->most;
    l->reason = cap->reason;
    free(l->name);
    l->name = xstrdup(cap->says);
    l->hours = hours_take(cl, cap->hours);
}

/* ---- hours ---------------------------------------------------------------------------------- */

static struct time_windows windows_of(const struct cap_hours *h)
{
    return (struct time_windows){.v = (struct time_window *)&h->window, .n = 1};
}

void caps_look_ahead(struct cluster *cl, int64_t now_us)
{
    for (size_t i = 0; i < cl->lic.hours.n; i++) {
        struct cap_hours *h = cl->lic.hours.v[i];
        struct time_windows w = windows_of(h);
        int64_t at = now_us;
        h->from_us = now_us;
        h->open[0] = time_windows_open(&w, now_us, &cl->local.zone);
        for (h->n = 0; h->n < CAP_TURNS; h->n++) {
            at = time_windows_next(&w, at, &cl->local.zone);
            if (at == INT64_MAX)
                break;
            h->turn[h->n] = at;
            h->open[h->n + 1] = time_windows_open(&w, at, &cl->local.zone);
        }
    }
}

/* How many turns there were by then; −1 = farther than was looked. */
static int turns_by(const struct cap_hours *h, int64_t at_us)
{
    int n = 0;
    if (h->n == 0 || at_us < h->from_us || at_us >= h->turn[h->n - 1])
        return -1;
    while (h->turn[n] <= at_us)
        n++;
    return n;
}

bool cap_binds(const struct cluster *cl, const struct licence *cap, int64_t at_us)
{
    if (!cap->hours)
        return true;
    struct time_windows w = windows_of(cap->hours);
    int n = turns_by(cap->hours, at_us);
    return n >= 0 ? cap->hours->open[n] : time_windows_open(&w, at_us, &cl->local.zone);
}

int64_t cap_turn(const struct cluster *cl, const struct licence *cap, int64_t at_us)
{
    if (!cap->hours)
        return INT64_MAX;
    struct time_windows w = windows_of(cap->hours);
    int n = turns_by(cap->hours, at_us);
    return n >= 0 ? cap->hours->turn[n] : time_windows_next(&w, at_us, &cl->local.zone);
}

bool use_has_room(const struct cluster *cl, const struct lic_use *use, int64_t now_us)
{
    ASSERT(use->lic < cl->lic.n && use->count >= 0);
    const struct licence *l = &cl->lic.v[use->lic];
    return use->above || l->total + use->slack - cap_in_use(cl, use->lic) >= use->count ||
           !cap_binds(cl, l, now_us);
}

/* ---- running work --------------------------------------------------------------------------- */

static int64_t run_amount(const struct cluster *cl, const struct licence *cap, const struct run *r)
{
    int64_t sum = cap->counts == CAP_JOBS ? 1 : 0;
    if (cap->counts == CAP_LICENCES) {
        ptrdiff_t of = cluster_licence(cl, cap->gres);
        for (size_t i = 0; of >= 0 && i < r->nlic; i++)
            sum += r->lic[i].lic == (uint32_t)of ? r->lic[i].count : 0;
        return sum;
    }
    int64_t *gres = xcalloc(cl->dim.n + 1, sizeof gres[0]);
    struct cap_sums all = {.gres = gres};
    for (size_t i = 0; i < r->nholds && cap->counts != CAP_JOBS; i++) {
        const struct hold *h = &r->hold[i];
        if (h->released)
            continue;
        for (size_t k = 0; k < h->ngres; k++)
            gres[h->gres[k].dim] += h->gres[k].count;
        all.nodes++;
        all.cpus += (int64_t)h->ncpu;
        all.mem_mib += h->mem_mib;
    }
    if (cap->counts == CAP_NODES)
        sum = all.nodes;
    else if (cap->counts == CAP_BILLING)
        sum = cap_billing(cl, cluster_part(cl, r->partition), &all);
    else if (cap->counts != CAP_JOBS)
        sum = cap_of_node(cl, cap_amount_of(cl, cap), all.cpus, all.mem_mib, gres);
    free(gres);
    return sum;
}

void caps_recount(struct cluster *cl, struct run *r)
{
    ASSERT(r->ncap == 0 || r->cap);
    for (size_t i = 0; i < r->ncap; i++) {
        struct licence *l = &cl->lic.v[r->cap[i].lic];
        l->used -= r->cap[i].count;
        r->cap[i].count = run_amount(cl, l, r);
        l->used += r->cap[i].count;
    }
}

void cluster_run_capped(struct cluster *cl, uint64_t job_id, const char *caps)
{
    struct run *r = map_u64_get(cl->run.by_job, job_id);
    struct cap_set set;
    if (!r)
        return;
    for (size_t i = 0; i < r->ncap; i++)
        cl->lic.v[r->cap[i].lic].used -= r->cap[i].count;
    free(r->cap);
    cap_set_read(cl, caps, NULL, &set);
    r->ncap = set.ref.n;
    r->cap = r->ncap ? xmalloc(r->ncap * sizeof r->cap[0]) : NULL;
    cap_set_all(&set, r->cap);
    cap_set_done(&set);
    caps_recount(cl, r);
    run_pack_drop(r);
}

static bool counts_against(const struct run *r, uint32_t lic)
{
    for (size_t i = 0; i < r->ncap; i++)
        if (r->cap[i].lic == lic && r->cap[i].count > 0)
            return true;
    return false;
}

int64_t cap_in_use(const struct cluster *cl, uint32_t lic)
{
    ASSERT(lic < cl->lic.n);
    const struct licence *l = &cl->lic.v[lic];
    int64_t n = 0;
    if (!cap_counts_nodes(l) || l->used == 0)
        return l->used;
    uint64_t *bits = xcalloc(BIT_WORDS(cl->node.n) + 1, sizeof bits[0]);
    for (size_t i = 0; i < cl->run.n; i++) {
        const struct run *r = cl->run.v[i];
        for (size_t k = 0; counts_against(r, lic) && k < r->nholds; k++)
            if (!r->hold[k].released)
                bit_set(bits, r->hold[k].node->idx);
    }
    for (size_t i = 0; i < BIT_WORDS(cl->node.n); i++)
        n += (int64_t)bit_ones(bits[i]);
    free(bits);
    return n;
}

int64_t cluster_cap_used(const struct cluster *cl, uint32_t id)
{
    ptrdiff_t at = cap_find(cl, id);
    return at < 0 ? 0 : cap_in_use(cl, (uint32_t)at);
}

/* ---- words ---------------------------------------------------------------------------------- */

void cap_say(const struct cluster *cl, const struct lic_use *use, int64_t takes, struct str *out)
{
    ASSERT(is_cap(&cl->lic.v[use->lic]) && takes >= 0);
    const struct licence *cap = &cl->lic.v[use->lic];
    if (cap->each) {
        str_addf(out, "%s: as it would be placed it %s %lld%s", cap->name,
                 cap->each == CAP_EACH_MINUTES ? "may use" : "gets", (long long)takes,
                 cap->each == CAP_EACH_NODE ? " on a node" : "");
        return;
    }
    int64_t used = cap_in_use(cl, use->lic), most = cap->total + use->slack,
            left = most > used ? most - used : 0;
    str_addf(out, "%s: %lld of %lld %s in use", cap->name, (long long)used, (long long)most,
             most == 1 ? "is" : "are");
    if (left && left < takes)
        str_addf(out, ", it needs %lld", (long long)takes);
}
