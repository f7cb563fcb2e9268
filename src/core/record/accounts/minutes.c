#include "core/record/accounts/minutes.h"
#include "core/record/accounts/limit_book.h"
#include "core/record/accounts/minutes_ask.h"
#include "core/record/accounts/use.h"
#include "core/record/record.h"
#include "model/job/job_counts.h"

#include <stdlib.h>
#include <string.h>

/* What a start would have got that was too much. */
struct dear {
    int32_t cpus, nodes;
    int64_t mem_mib, limit_us;
    char *gres, *partition;
    uint64_t change; /* the last before it was refused */
    enum job_reason reason;
    char *says;
};

/* Sums over running jobs, by limit and whom it is counted for; good until the next change or the
 * next instant. */
struct minutes {
    bool any; /* there are such limits */
    bool due;
    uint64_t change; /* number of the last that may let somebody start */
    int64_t at_us;
    struct map_str *sum;  /* → int64_t, owned */
    struct map_str *room; /* → struct minutes_room, owned */
    struct map_u64 *dear; /* job → struct dear, owned */
};

static struct minutes *minutes_of(const struct core *c)
{
    return c->usage.minutes;
}

static void sums_drop(struct minutes *m)
{
    struct map_walk w = {0};
    while (map_str_next(m->sum, &w))
        free(w.value);
    map_str_free(m->sum);
    m->sum = map_str_new();
    for (w = (struct map_walk){0}; map_str_next(m->room, &w);) {
        struct minutes_room *room = w.value;
        room->drop(room);
    }
    map_str_free(m->room);
    m->room = map_str_new();
}

/* Those of this instant. */
static struct map_str *sums_now(const struct core *c)
{
    struct minutes *m = minutes_of(c);
    if (!m)
        return NULL;
    if (m->at_us != c->turn.now_us)
        sums_drop(m);
    m->at_us = c->turn.now_us;
    return m->sum;
}

struct map_str *minutes_rooms(const struct core *c)
{
    return sums_now(c) ? minutes_of(c)->room : NULL;
}

static void dear_free(struct dear *d)
{
    if (!d)
        return;
    free(d->gres);
    free(d->partition);
    free(d->says);
    free(d);
}

void minutes_know(struct core *c)
{
    struct map_walk w = {0};
    if (!c->usage.minutes) {
        c->usage.minutes = xcalloc(1, sizeof *c->usage.minutes);
        c->usage.minutes->sum = map_str_new();
        c->usage.minutes->room = map_str_new();
        c->usage.minutes->dear = map_u64_new();
    }
    struct minutes *m = c->usage.minutes;
    m->any = false;
    m->change++;
    struct limit_walk lists = {0};
    bool some = limits_any(c, COUNTS_USED) || limits_any(c, COUNTS_PROMISED);
    for (const limit_list *of; some && (of = limits_next(c, &lists));)
        for (size_t i = 0; i < of->n; i++)
            m->any |= minutes_hold(&of->v[i]);
    while (map_u64_next(c->accounts.qos, &w)) {
        const struct qos *q = &((const struct qosrec *)w.value)->q;
        if (q->deleted || !(q->flags & QOS_ENFORCE_USAGE_THRESHOLD))
            continue;
        m->any = true;
        fairshare_watch_all(c);
    }
    sums_drop(m);
}

void minutes_free(struct core *c)
{
    struct map_walk w = {0};
    struct minutes *m = c->usage.minutes;
    if (!m)
        return;
    sums_drop(m);
    map_str_free(m->sum);
    map_str_free(m->room);
    while (map_u64_next(m->dear, &w))
        dear_free(w.value);
    map_u64_free(m->dear);
    free(m);
}

bool minutes_hold(const struct limit *l)
{
    enum limit_counts counts = resource_limit_table[l->what].counts;
    static const char *const counted[] = {"cpu", "mem", "node", "billing"};
    bool known = !l->tres || text_starts(l->tres, "gres/") || text_starts(l->tres, "license/");
    for (size_t i = 0; i < ARRAY_LEN(counted); i++)
        known |= text_is(l->tres, counted[i]);
    return known && (counts == COUNTS_USED || counts == COUNTS_PROMISED);
}

void minutes_changed(struct core *c)
{
    struct minutes *m = c->usage.minutes;
    if (!m || !m->any)
        return;
    m->due = true;
    m->change++;
    sums_drop(m);
}

void minutes_kept(struct core *c)
{
    ASSERT(c->usage.minutes);
    c->usage.minutes->due = true;
    sums_drop(c->usage.minutes);
}

bool minutes_due(const struct core *c)
{
    return c->usage.minutes && c->usage.minutes->due;
}

void minutes_looked(struct core *c)
{
    struct map_walk w = {0};
    struct minutes *m = c->usage.minutes;
    VEC(uint64_t) gone = {0};
    m->due = false;
    while (map_u64_next(m->dear, &w)) {
        const struct jobrec *r = job_find(c, w.key);
        if (!r || r->j.state != JOB_PENDING)
            vec_push(&gone, w.key);
    }
    for (size_t i = 0; i < gone.n; i++)
        dear_free(map_u64_del(m->dear, gone.v[i]));
    vec_done(&gone);
}

/* ---- what a job needs ----------------------------------------------------------------------- */

/* A job that waits, as if it had what it asks for at least. */
static struct jobrec as_asked(const struct core *c, const struct jobrec *r, const char *partition,
                              struct arena *a)
{
    struct jobrec t = {.j = r->j};
    const struct minutes *m = minutes_of(c);
    const struct dear *d = m ? map_u64_get(m->dear, r->j.id) : NULL;
    int64_t gpus = job_gpus_asked(&r->j);
    const char *gres = r->j.spec.req.gres;
    bool typed = gres && strncmp(gres, "gpu:", 4) == 0 && strchr(gres + 4, ':') &&
                 !strchr(gres, ',') && !r->j.spec.req.gpus && !r->j.spec.req.gpus_per_node &&
                 !r->j.spec.req.gpus_per_task;
    t.j.alloc_nodes = d ? d->nodes : job_nodes(&r->j);
    t.j.alloc_cpus = d ? d->cpus : job_cpus(&r->j);
    t.j.alloc_mem_mib = d ? d->mem_mib : job_mem_mib(&r->j);
    t.j.alloc_gres = d ? d->gres : NULL;
    t.j.run_partition = d ? d->partition : partition;
    t.j.billing_plus1 = 0;
    if (!d && gpus > 0)
        t.j.alloc_gres = typed ? arena_printf(a, "gpu:%.*s=%lld", (int)strcspn(gres + 4, ":"),
                                              gres + 4, (long long)gpus)
                               : arena_printf(a, "gpu=%lld", (long long)gpus);
    return t;
}

static const struct dear *dear_of(const struct core *c, const struct jobrec *r)
{
    const struct minutes *m = minutes_of(c);
    return m ? map_u64_get(m->dear, r->j.id) : NULL;
}

/* How long it may run, at least. */
static int64_t asked_us(const struct core *c, const struct jobrec *r, const char *partition)
{
    const struct partrec *p = partition ? part_find(c, partition) : NULL;
    int64_t us =
        r->j.spec.req.time_min_us ? r->j.spec.req.time_min_us : r->j.spec.req.time_limit_us;
    const struct dear *d = dear_of(c, r);
    if (!us && p)
        us = p->p.default_time_us ? p->p.default_time_us : p->p.max_time_us;
    if (d && r->j.spec.req.time_min_us) /* the planner gives it as much as it asks for */
        us = d->limit_us < r->j.spec.req.time_limit_us || !r->j.spec.req.time_limit_us
                 ? d->limit_us
                 : r->j.spec.req.time_limit_us;
    return !us || us > USE_LONG ? USE_LONG : us;
}

/* ---- the question --------------------------------------------------------------------------- */

int64_t minutes_in_use(const struct core *c, const struct limit_subject *who,
                       const struct limit_hit *h)
{
    struct minutes_ask q = minutes_ask_of(c, who, h, sums_now(c));
    return (q.counts_used ? q.used : q.promised) / q.unit;
}

enum job_reason usage_threshold_bar(const struct core *c, const struct jobrec *r,
                                    const char *partition, struct str *detail)
{
    const struct qosrec *q[2];
    size_t n = use_qos(c, r, partition, q);
    const struct assocrec *leaf = assoc_for(c, r->j.spec.req.account, r->j.user_name, partition);
    for (size_t i = 0; i < n && leaf; i++) {
        int64_t least = q[i]->q.usage_threshold_e6_plus1 - 1;
        if (!(q[i]->q.flags & QOS_ENFORCE_USAGE_THRESHOLD) || least < 0 ||
            fairshare_of(leaf) / (SHARE_ONE / 1000000) >= least)
            continue;
        if (detail) {
            str_clear(detail);
            str_addf(detail,
                     "UsageThreshold=%lld.%06lld of QOS %s: the fair share of %s in account %s is "
                     "%lld.%06lld",
                     (long long)(least / 1000000), (long long)(least % 1000000), q[i]->q.name,
                     leaf->a.user, leaf->a.account, (long long)(fairshare_of(leaf) / SHARE_ONE),
                     (long long)(fairshare_of(leaf) % SHARE_ONE / (SHARE_ONE / 1000000)));
        }
        return REASON_QOS_USAGE_THRESHOLD;
    }
    return REASON_NONE;
}

static void minutes_collect(const struct core *c, const struct limit_subject *who, limit_hits *out)
{
    limits_collect(c, who, COUNTS_USED, out);
    limits_collect(c, who, COUNTS_PROMISED, out);
}

bool minutes_held_from(const struct core *c, const struct jobrec *r, const char *partition,
                       size_t *from, struct limit_hit *ret, int64_t *ret_need)
{
    const struct minutes *m = minutes_of(c);
    struct limit_subject who = limits_subject(r, partition);
    limit_hits hits = {0};
    bool held = false;
    if (!m || !m->any)
        return false;
    struct arena *a = arena_new();
    struct jobrec t = as_asked(c, r, partition, a);
    int64_t us = asked_us(c, r, partition);
    minutes_collect(c, &who, &hits);
    for (; *from < hits.n && !held; ++*from) {
        const struct limit_hit *h = &hits.v[*from];
        if (h->above || !minutes_hold(h->l))
            continue;
        struct minutes_ask q = minutes_ask_of(c, &who, h, sums_now(c));
        *ret = *h;
        *ret_need = minutes_need(&q, &t, us);
        held = !minutes_fit(&q, *ret_need);
    }
    vec_done(&hits);
    arena_free(a);
    return held;
}

bool minutes_held_by(const struct core *c, const struct jobrec *r, const char *partition,
                     struct limit_hit *ret, int64_t *ret_need)
{
    size_t from = 0;
    return minutes_held_from(c, r, partition, &from, ret, ret_need);
}

enum job_reason minutes_bar(const struct core *c, const struct jobrec *r, const char *partition,
                            struct str *detail)
{
    const struct minutes *m = minutes_of(c);
    struct limit_subject who = limits_subject(r, partition);
    struct limit_hit hit;
    int64_t need;
    if (!m || !m->any)
        return REASON_NONE;
    const struct dear *d = dear_of(c, r);
    if (d && d->change == m->change) {
        if (detail) {
            str_clear(detail);
            str_add(detail, d->says);
        }
        return d->reason;
    }
    if (!minutes_held_by(c, r, partition, &hit, &need))
        return usage_threshold_bar(c, r, partition, detail);
    if (detail) {
        struct minutes_ask q = minutes_ask_of(c, &who, &hit, sums_now(c));
        minutes_say(&q, need, detail);
    }
    return resource_limit_reason((enum limit_owner)hit.l->owner, (enum resource_limit)hit.l->what,
                                 hit.l->tres);
}

enum job_reason minutes_alone(const struct core *c, const struct jobrec *r, const char *partition,
                              struct str *detail)
{
    const struct minutes *m = minutes_of(c);
    struct limit_subject who = limits_subject(r, partition);
    enum job_reason reason = REASON_NONE;
    limit_hits hits = {0};
    if (!m || !m->any)
        return REASON_NONE;
    struct arena *a = arena_new();
    struct jobrec t = as_asked(c, r, partition, a);
    int64_t us = asked_us(c, r, partition);
    minutes_collect(c, &who, &hits);
    for (size_t i = 0; i < hits.n && us < USE_LONG && reason == REASON_NONE; i++) {
        const struct limit *l = hits.v[i].l;
        if (hits.v[i].above || !minutes_hold(l))
            continue;
        struct minutes_ask q = minutes_ask_of(c, &who, &hits.v[i], sums_now(c));
        q.safe = true; /* by its whole time */
        int64_t need = minutes_need(&q, &t, us);
        if (need <= q.most)
            continue;
        reason = resource_limit_reason((enum limit_owner)l->owner, (enum resource_limit)l->what,
                                       l->tres);
        str_clear(detail);
        limit_say(&hits.v[i], detail);
        str_addf(detail, ", the job asks for %lld minutes",
                 (long long)((need + q.unit - 1) / q.unit));
    }
    vec_done(&hits);
    arena_free(a);
    return reason;
}

enum job_reason minutes_or_limits_bar(const struct core *c, const struct jobrec *r,
                                      const char *open, struct str *detail)
{
    enum job_reason bar = limits_bar_beside(c, r, open, detail);
    if (bar == REASON_NONE)
        bar = limits_components_bar(c, r, detail);
    const struct minutes *m = minutes_of(c);
    bool any = false;
    if (bar != REASON_NONE || !m || !m->any || !enforces_limits(c))
        return bar;
    struct arena *a = arena_new();
    open = open ? open : limits_open(c, r, a);
    struct span rest = span_of(open ? open : ""), piece;
    while (!any && span_next(&rest, ',', &piece)) {
        bar = minutes_bar(c, r, arena_strndup(a, piece.data, piece.len), detail);
        any = bar == REASON_NONE;
    }
    arena_free(a);
    return bar;
}

/* ---- starts --------------------------------------------------------------------------------- */

/* As if it had what the plan gives it. */
static struct jobrec as_planned(const struct minutes_start *start, struct str *gres)
{
    struct jobrec t = {.j = start->r->j};
    const struct alloc *al = &start->s->alloc;
    t.j.alloc_nodes = (int32_t)al->n;
    t.j.alloc_cpus = 0;
    t.j.alloc_mem_mib = 0;
    for (size_t i = 0; i < al->n; i++) {
        t.j.alloc_cpus += al->node[i].cpu_count;
        t.j.alloc_mem_mib += al->node[i].mem_mib;
    }
    str_clear(gres);
    alloc_gres_text(al, gres);
    t.j.alloc_gres = str_text(gres);
    t.j.run_partition = start->s->partition;
    t.j.billing_plus1 = 0;
    return t;
}

static void remember(struct core *c, const struct minutes_start *start, enum job_reason reason,
                     const char *says)
{
    struct str gres = STR_INIT;
    struct jobrec t = as_planned(start, &gres);
    struct dear *d = xcalloc(1, sizeof *d);
    *d = (struct dear){.cpus = t.j.alloc_cpus,
                       .nodes = t.j.alloc_nodes,
                       .mem_mib = t.j.alloc_mem_mib,
                       .limit_us = start->s->limit_us,
                       .change = c->usage.minutes->change,
                       .reason = reason,
                       .says = xstrdup(says),
                       .gres = gres.len ? xstrdup(str_text(&gres)) : NULL,
                       .partition = xstrdup(start->s->partition)};
    dear_free(map_u64_del(c->usage.minutes->dear, start->r->j.id));
    map_u64_put(c->usage.minutes->dear, start->r->j.id, d);
    str_done(&gres);
}

/* Of a limit that one of them counts against, all that do together. */
static bool all_fit(const struct core *c, const struct minutes_start *start, size_t n,
                    const struct limit_subject *who, const struct limit_hit *h, struct str *says)
{
    struct minutes_ask q = minutes_ask_of(c, who, h, sums_now(c));
    struct str gres = STR_INIT;
    int64_t need = 0;
    for (size_t i = 0; i < n; i++) {
        struct jobrec t = as_planned(&start[i], &gres);
        if (!minutes_count_against(c, &t, who, h))
            continue;
        need +=
            minutes_need(&q, &t, start[i].s->limit_us > USE_LONG ? USE_LONG : start[i].s->limit_us);
        need = need > USE_MOST ? USE_MOST : need;
    }
    str_done(&gres);
    bool fit = minutes_fit(&q, need);
    if (!fit)
        minutes_say(&q, need, says);
    return fit;
}

bool minutes_start(struct core *c, const struct minutes_start *start, size_t n)
{
    const struct minutes *m = minutes_of(c);
    bool may = true;
    enum job_reason reason = REASON_NONE;
    if (!m || !m->any || !enforces_limits(c))
        return true;
    struct str says = STR_INIT;
    for (size_t i = 0; i < n && may; i++) {
        struct limit_subject who = limits_subject(start[i].r, start[i].s->partition);
        limit_hits hits = {0};
        minutes_collect(c, &who, &hits);
        for (size_t k = 0; k < hits.n && may; k++) {
            const struct limit *l = hits.v[k].l;
            may = hits.v[k].above || !minutes_hold(l) ||
                  all_fit(c, start, n, &who, &hits.v[k], &says);
            if (!may)
                reason = resource_limit_reason((enum limit_owner)l->owner,
                                               (enum resource_limit)l->what, l->tres);
        }
        vec_done(&hits);
    }
    for (size_t i = 0; i < n; i++)
        if (may)
            dear_free(map_u64_del(c->usage.minutes->dear, start[i].r->j.id));
        else
            remember(c, &start[i], reason, str_text(&says));
    str_done(&says);
    return may;
}

bool minutes_exhausted(const struct core *c, const struct jobrec *r, struct str *detail)
{
    ASSERT(r->j.run_partition && r->j.start_us);
    const struct minutes *m = minutes_of(c);
    struct limit_subject who = limits_subject(r, r->j.run_partition);
    limit_hits hits = {0};
    bool over = false;
    if (!m || !m->any || !enforces_limits(c) || minutes_safe(c))
        return false;
    limits_collect(c, &who, COUNTS_USED, &hits);
    for (size_t i = 0; i < hits.n && !over; i++) {
        if (hits.v[i].above || !minutes_hold(hits.v[i].l))
            continue;
        struct minutes_ask q = minutes_ask_of(c, &who, &hits.v[i], sums_now(c));
        over = !minutes_fit(&q, 0);
        if (over)
            minutes_say(&q, 0, detail);
    }
    vec_done(&hits);
    return over;
}
