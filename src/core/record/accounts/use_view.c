/* What was used and what may still be, as people are shown it. */
#include "core/record/accounts/use.h"
#include "core/record/record.h"

#include <stdlib.h>
#include <string.h>

struct promising {
    const struct core *c;
    struct userec *to[16];
    size_t n;
    int64_t seconds_e6;
};

static void promise_rate(void *ctx, const char *tres, int64_t rate)
{
    struct promising *p = ctx;
    ptrdiff_t number = use_tres_find(p->c, tres);
    for (size_t i = 0; i < p->n && number >= 0; i++)
        use_add(p->to[i], (uint32_t)number, use_product(rate, p->seconds_e6, 1000000));
}

static struct userec *promised_to(struct map_u64 *m, enum limit_owner owner, uint32_t id)
{
    struct userec *u = map_u64_get(m, use_key(owner, id));
    if (!u) {
        u = xcalloc(1, sizeof *u);
        map_u64_put(m, use_key(owner, id), u);
    }
    return u;
}

void use_promised_add(const struct core *c, const struct jobrec *r, int64_t now_us,
                      struct map_u64 *m)
{
    if (r->j.state != JOB_RUNNING && r->j.state != JOB_SUSPENDED)
        return;
    const struct qosrec *q[2];
    int64_t left_us = use_left_us(r, now_us);
    struct promising p = {.c = c};
    const struct assocrec *leaf =
        assoc_for(c, r->j.spec.req.account, r->j.user_name, r->j.run_partition);
    size_t nq = use_qos(c, r, r->j.run_partition, q);
    p.seconds_e6 = use_product(left_us / USEC_PER_SEC, use_factor_e6(c, r), 1);
    for (size_t i = 0; i < nq; i++)
        p.to[p.n++] = promised_to(m, OWNER_QOS, q[i]->q.id);
    for (const struct assocrec *a = leaf; a; a = a->up) {
        if (p.n == ARRAY_LEN(p.to)) {
            use_rates(c, r, promise_rate, &p);
            p.n = 0;
        }
        p.to[p.n++] = promised_to(m, OWNER_ASSOC, a->a.id);
    }
    use_rates(c, r, promise_rate, &p);
}

struct map_u64 *use_promised_new(void)
{
    return map_u64_new();
}

bool use_promised_go(const struct core *c, int64_t now_us, struct map_u64 *m, struct map_walk *w,
                     size_t *most)
{
    for (; *most; --*most) {
        if (!map_u64_next(c->jobs.by_id, w))
            return true;
        use_promised_add(c, w->value, now_us, m);
    }
    return false;
}

void use_promised_free(struct map_u64 *m)
{
    struct map_walk w = {0};
    while (map_u64_next(m, &w)) {
        struct userec *u = w.value;
        vec_done(&u->amount);
        free(u);
    }
    map_u64_free(m);
}

const char *use_minutes(const struct core *c, const struct userec *u, struct arena *a)
{
    struct str out = STR_INIT, name = STR_INIT;
    struct map_walk w = {0};
    while (map_u64_next(c->accounts.tres, &w)) {
        const struct tres *t = w.value;
        str_clear(&name);
        str_addf(&name, "%s%s%s", t->type, t->name ? "/" : "", t->name ? t->name : "");
        str_addf(&out, "%s%s=%lld", out.len ? "," : "", str_text(&name),
                 (long long)(use_amount(c, u, str_text(&name)) / use_scale(str_text(&name)) / 60));
    }
    const char *text = arena_strdup(a, str_text(&out));
    str_done(&out);
    str_done(&name);
    return text;
}

const char *use_limits(const limit_list *list, enum resource_limit what, struct arena *a)
{
    struct str out = STR_INIT;
    for (size_t i = 0; i < list->n; i++)
        if ((enum resource_limit)list->v[i].what == what)
            str_addf(&out, "%s%s=%lld", out.len ? "," : "", list->v[i].tres,
                     (long long)list->v[i].value);
    const char *text = out.len ? arena_strdup(a, str_text(&out)) : NULL;
    str_done(&out);
    return text;
}
