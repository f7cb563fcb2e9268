#include "store/used/tally.h"

#include "base/alloc.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tally_gres_sum {
    const char *name;
    int64_t amount;
};

struct tally_row {
    const char *key;
    struct used u;
    VEC(struct tally_gres_sum) gres;
};

struct used_tally {
    struct used_query q;
    struct arena *arena;
    struct map_str *by; /* key → row */
    VEC(struct tally_row *) row;
    struct tally_row *last;
    struct str key;
};

struct used_tally *tally_new(const struct used_query *q)
{
    struct used_tally *t = xcalloc(1, sizeof *t);
    t->q = *q;
    t->arena = arena_new();
    t->by = map_str_new();
    return t;
}

void tally_free(struct used_tally *t)
{
    for (size_t i = 0; i < t->row.n; i++)
        vec_done(&t->row.v[i]->gres);
    vec_done(&t->row);
    map_str_free(t->by);
    str_done(&t->key);
    arena_free(t->arena);
    free(t);
}

void used_by_job(const struct job *j, char number[16], struct used *ret)
{
    snprintf(number, 16, "%u", j->user_id);
    *ret = (struct used){.account = j->spec.req.account,
                         .user_name = j->user_name ? j->user_name : number,
                         .partition = j->run_partition,
                         .qos = j->spec.req.qos,
                         .wckey = j->spec.wckey,
                         .reservation = job_reservation(j),
                         .job_cpus = j->alloc_cpus};
}

/* ---- adding ---- */

#define SEPARATOR '\x01'

static void key_text(struct used_tally *t, bool wanted, const char *text)
{
    if (wanted && text)
        str_add(&t->key, text);
    str_addc(&t->key, SEPARATOR);
}

static struct tally_row *row_new(struct used_tally *t, const struct used *by, int64_t from_s)
{
    struct tally_row *r = arena_alloc(t->arena, sizeof *r);
    unsigned want = t->q.by;
    *r = (struct tally_row){.key = arena_strdup(t->arena, str_text(&t->key))};
    r->u.from_us = t->q.each_hour ? from_s * USEC_PER_SEC : 0;
    if (!t->q.each_hour) {
#define KEEP(member, bit) r->u.member = want & (bit) ? arena_strdup(t->arena, by->member) : NULL
        KEEP(account, USED_BY_ACCOUNT);
        KEEP(user_name, USED_BY_USER);
        KEEP(partition, USED_BY_PARTITION);
        KEEP(qos, USED_BY_QOS);
        KEEP(wckey, USED_BY_WCKEY);
        KEEP(reservation, USED_BY_RESERVATION);
#undef KEEP
        r->u.job_cpus = want & USED_BY_JOB_CPUS ? by->job_cpus : 0;
    }
    vec_push(&t->row, r);
    map_str_put(t->by, r->key, r);
    return r;
}

static struct tally_row *row_of(struct used_tally *t, const struct used *by, int64_t from_s)
{
    unsigned want = t->q.by;
    str_clear(&t->key);
    if (t->q.each_hour) {
        str_addf(&t->key, "%020lld", (long long)from_s);
    } else {
        key_text(t, want & USED_BY_ACCOUNT, by->account);
        key_text(t, want & USED_BY_USER, by->user_name);
        key_text(t, want & USED_BY_PARTITION, by->partition);
        key_text(t, want & USED_BY_QOS, by->qos);
        key_text(t, want & USED_BY_WCKEY, by->wckey);
        key_text(t, want & USED_BY_RESERVATION, by->reservation);
        str_addf(&t->key, "%010d", want & USED_BY_JOB_CPUS ? by->job_cpus : 0);
    }
    struct tally_row *r = map_str_get(t->by, str_text(&t->key));
    return r ? r : row_new(t, by, from_s);
}

/* Wraps where a damaged row holds nonsense. */
static int64_t sum_of(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

void tally_add(struct used_tally *t, const struct used *by, int64_t from_s, const struct used *sum)
{
    ASSERT(sum->cpu_s >= 0);
    struct tally_row *r = t->last = row_of(t, by, from_s);
    r->u.jobs += sum->jobs;
    r->u.cpu_s = sum_of(r->u.cpu_s, sum->cpu_s);
    r->u.mem_mib_s = sum_of(r->u.mem_mib_s, sum->mem_mib_s);
    r->u.node_s = sum_of(r->u.node_s, sum->node_s);
    r->u.billing_s = sum_of(r->u.billing_s, sum->billing_s);
    r->u.planned_cpu_s = sum_of(r->u.planned_cpu_s, sum->planned_cpu_s);
}

void tally_add_gres(struct used_tally *t, const char *name, int64_t amount)
{
    ASSERT(t->last);
    struct tally_row *r = t->last;
    size_t i = 0;
    while (i < r->gres.n && !text_is(r->gres.v[i].name, name))
        i++;
    if (i == r->gres.n) {
        struct tally_gres_sum new = {.name = arena_strdup(t->arena, name)};
        vec_push(&r->gres, new);
    }
    r->gres.v[i].amount = sum_of(r->gres.v[i].amount, amount);
}

struct gres_by_time {
    struct used_tally *t;
    int64_t ran_s;
};

static void gres_times(void *ctx, const char *name, int64_t count)
{
    const struct gres_by_time *g = ctx;
    if (g->ran_s)
        tally_add_gres(g->t, name, count * g->ran_s);
}

static void share_add(struct used_tally *t, const struct used_job *u, int64_t from_s, int64_t to_s)
{
    char number[16];
    struct used by;
    struct used_share share;
    if (!used_job_share(u, from_s, to_s, &share))
        return;
    used_by_job(u->j, number, &by);
    tally_add(t, &by, from_s, &share.sum);
    used_job_gres(u->j, gres_times, &(struct gres_by_time){t, share.ran_s});
}

void tally_add_job(struct used_tally *t, const struct used_job *u)
{
    ASSERT(u->from_s <= u->to_s && u->start_s <= u->from_s);
    int64_t from = t->q.from_us / USEC_PER_SEC, to = t->q.to_us / USEC_PER_SEC;
    if (!t->q.each_hour) {
        share_add(t, u, from, to);
        return;
    }
    if (u->planned_s > from)
        from += (u->planned_s - from) / USED_HOUR_S * USED_HOUR_S;
    for (; from < to && from <= u->to_s; from += USED_HOUR_S)
        share_add(t, u, from, from + USED_HOUR_S);
}

/* ---- giving ---- */

static int row_order(const void *a, const void *b)
{
    const struct tally_row *const *p = a, *const *q = b;
    return strcmp((*p)->key, (*q)->key);
}

static int gres_order(const void *a, const void *b)
{
    return strcmp(((const struct tally_gres_sum *)a)->name,
                  ((const struct tally_gres_sum *)b)->name);
}

static void gres_say(struct tally_row *r, struct str *out)
{
    const char *comma = "";
    if (r->gres.n)
        qsort(r->gres.v, r->gres.n, sizeof r->gres.v[0], gres_order);
    for (size_t i = 0; i < r->gres.n; i++) {
        if (r->gres.v[i].amount == 0)
            continue;
        str_addf(out, "%s%s=%lld", comma, r->gres.v[i].name, (long long)r->gres.v[i].amount);
        comma = ",";
    }
}

static bool is_empty(const struct used *u)
{
    return !u->jobs && !u->cpu_s && !u->mem_mib_s && !u->node_s && !u->billing_s &&
           !u->planned_cpu_s;
}

void tally_give(struct used_tally *t, store_row_fn fn, void *ctx)
{
    if (t->row.n)
        qsort(t->row.v, t->row.n, sizeof t->row.v[0], row_order);
    for (size_t i = 0; i < t->row.n; i++) {
        struct str gres = STR_INIT;
        gres_say(t->row.v[i], &gres);
        struct used u = t->row.v[i]->u;
        u.gres = gres.len ? str_text(&gres) : NULL;
        if (!is_empty(&u) || u.gres)
            fn(ctx, &u);
        str_done(&gres);
    }
}
