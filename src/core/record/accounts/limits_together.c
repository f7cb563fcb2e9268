/* The components of a heterogeneous job start together or not at all, so what each of them may
 * have alone they may still never have at once. A limit that all of them together exceed bars each.
 * Nodes are left out: components may share one, which then counts once. */
#include "core/record/accounts/limits.h"
#include "core/record/record.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

struct together {
    const char *key; /* whose limit it is */
    struct limit_hit hit;
    int64_t asks, worth;
    bool holds; /* for one of them at least */
};

struct together_sum {
    const struct core *c;
    struct arena *a;
    VEC(struct together) limit;
};

static bool has(const limit_hits *hits, const struct limit *l)
{
    for (size_t i = 0; i < hits->n; i++)
        if (hits->v[i].l == l)
            return true;
    return false;
}

/* Of these stay those that hold in each of the other partitions open to it, too: where another
 * does not, it may start. */
static void keep_of_all(const struct together_sum *s, const struct jobrec *r, struct span others,
                        limit_hits *hits)
{
    struct span piece;
    while (hits->n && span_next(&others, ',', &piece)) {
        struct limit_subject who = limits_subject(r, arena_strndup(s->a, piece.data, piece.len));
        limit_hits there = {0};
        size_t n = 0;
        limits_collect(s->c, &who, COUNTS_RUNNING, &there);
        for (size_t i = 0; i < hits->n; i++)
            if (has(&there, hits->v[i].l))
                hits->v[n++] = hits->v[i];
        hits->n = n;
        vec_done(&there);
    }
}

static struct together *together_of(struct together_sum *s, const struct limit_subject *who,
                                    const struct limit_hit *h)
{
    struct str key = STR_INIT;
    limit_key(s->c, who, h, &key);
    for (size_t i = 0; i < s->limit.n; i++)
        if (text_is(s->limit.v[i].key, str_text(&key))) {
            str_done(&key);
            return &s->limit.v[i];
        }
    vec_push(&s->limit, ((struct together){.key = arena_strdup(s->a, str_text(&key)), .hit = *h}));
    str_done(&key);
    return &s->limit.v[s->limit.n - 1];
}

static void component_add(struct together_sum *s, const struct jobrec *r)
{
    const char *open = limits_open(s->c, r, s->a);
    struct span rest = span_of(open ? open : ""), first;
    limit_hits hits = {0};
    if (!span_next(&rest, ',', &first))
        return;
    struct limit_subject who = limits_subject(r, arena_strndup(s->a, first.data, first.len));
    limits_collect(s->c, &who, COUNTS_RUNNING, &hits);
    keep_of_all(s, r, rest, &hits);
    for (size_t i = 0; i < hits.n; i++) {
        const struct limit_hit *h = &hits.v[i];
        if (h->l->hours || text_is(h->l->tres, "node") || !limit_holds(h->l))
            continue;
        struct together *t = together_of(s, &who, h);
        int64_t asks = h->l->tres ? limits_asked_of(r, h->l->tres) : 1,
                worth = limit_worth(s->c, &who, h);
        t->asks += asks > 0 ? asks : 0;
        t->holds |= !h->above;
        t->worth = worth > t->worth ? worth : t->worth;
    }
    vec_done(&hits);
}

enum job_reason limits_together(const struct core *c, const struct jobrec *const *r, size_t n,
                                struct str *detail)
{
    struct together_sum s = {.c = c, .a = arena_new()};
    enum job_reason reason = REASON_NONE;
    for (size_t i = 0; i < n; i++)
        component_add(&s, r[i]);
    for (size_t i = 0; i < s.limit.n && reason == REASON_NONE; i++) {
        const struct together *t = &s.limit.v[i];
        const struct limit *l = t->hit.l;
        if (!t->holds || t->asks <= t->worth)
            continue;
        reason = resource_limit_reason((enum limit_owner)l->owner, (enum resource_limit)l->what,
                                       l->tres);
        if (!detail)
            continue;
        str_clear(detail);
        limit_say(&t->hit, detail);
        str_addf(detail, ", the components of the job ask for %lld together", (long long)t->asks);
    }
    vec_done(&s.limit);
    arena_free(s.a);
    return reason;
}

/* ---- of all components, once ---- */

struct together_known {
    uint64_t het_job_id; /* of whom it is known; 0 = of nobody */
    size_t components;
    enum job_reason reason;
    struct str detail;
};

struct together_known *together_known_new(void)
{
    return xcalloc(1, sizeof(struct together_known));
}

void together_known_free(struct together_known *known)
{
    if (known)
        str_done(&known->detail);
    free(known);
}

void limits_components_forget(struct core *c)
{
    c->accounts.together->het_job_id = 0;
}

enum job_reason limits_components_bar(const struct core *c, const struct jobrec *r,
                                      struct str *detail)
{
    struct together_known *known = c->accounts.together;
    jobrec_vec jobs = {0};
    if (!r->j.het_job_id || !enforces_limits(c))
        return REASON_NONE;
    components_find(c, r->j.het_job_id, &jobs);
    if (known->het_job_id != r->j.het_job_id || known->components != jobs.n) {
        str_clear(&known->detail);
        known->reason =
            limits_together(c, (const struct jobrec *const *)jobs.v, jobs.n, &known->detail);
        known->het_job_id = r->j.het_job_id;
        known->components = jobs.n;
    }
    vec_done(&jobs);
    if (detail && known->reason != REASON_NONE) {
        str_clear(detail);
        str_add(detail, str_text(&known->detail));
    }
    return known->reason;
}
