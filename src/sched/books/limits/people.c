#include "sched/books/limits/people.h"

#include "base/alloc.h"
#include "sched/books/tables.h"

#include <stdlib.h>

struct person *cluster_person(struct cluster *cl, uint32_t uid)
{
    struct person *p = map_u64_get(cl->people, (uint64_t)uid + 1);
    if (!p) {
        p = xcalloc(1, sizeof *p);
        map_u64_put(cl->people, (uint64_t)uid + 1, p);
    }
    return p;
}

void people_free(struct cluster *cl)
{
    struct map_walk w = {0};
    while (map_u64_next(cl->people, &w))
        free(w.value);
    map_u64_free(cl->people);
}

void cluster_set_use(struct cluster *cl, uint32_t uid, int64_t used)
{
    cluster_person(cl, uid)->used = used < 0 ? 0 : used > FACTOR_ONE ? FACTOR_ONE : used;
}

/* ---- what runs ---- */

void holding_add(struct holding *to, const struct holding *more, int64_t sign)
{
    ASSERT(sign == 1 || sign == -1);
    to->cpus += sign * more->cpus;
    to->gpus += sign * more->gpus;
    to->mem_mib += sign * more->mem_mib;
}

void person_run(struct cluster *cl, struct run *r)
{
    ASSERT(!r->person && r->holds.cpus == 0 && r->holds.gpus == 0);
    r->person = cluster_person(cl, r->uid);
    for (size_t i = 0; i < r->nholds; i++) {
        const struct hold *h = &r->hold[i];
        r->holds.cpus += (int64_t)h->ncpu;
        r->holds.mem_mib += h->mem_mib;
        for (size_t k = 0; k < h->ngres; k++)
            r->holds.gpus += cl->dim.v[h->gres[k].dim].is_gpu ? h->gres[k].count : 0;
    }
    holding_add(&r->person->holds, &r->holds, 1);
}

void person_run_over(struct run *r)
{
    ASSERT(r->person->holds.cpus >= r->holds.cpus && r->person->holds.gpus >= r->holds.gpus);
    holding_add(&r->person->holds, &r->holds, -1);
}

static int64_t part_of(int64_t part, int64_t all)
{
    return all <= 0 || part <= 0 ? 0 : part >= all ? FACTOR_ONE : part * FACTOR_ONE / all;
}

static int64_t busy_part(const struct cluster *cl, const struct holding *h)
{
    int64_t cpus = part_of(h->cpus, cl->derived.all.cpus),
            gpus = part_of(h->gpus, cl->derived.all.gpus);
    return cpus > gpus ? cpus : gpus;
}

int64_t person_busy(const struct cluster *cl, const struct person *p)
{
    return busy_part(cl, &p->holds);
}

int64_t holding_part(const struct cluster *cl, const struct holding *h)
{
    int64_t busy = busy_part(cl, h), mem = part_of(h->mem_mib, cl->derived.all.mem_mib);
    return busy > mem ? busy : mem;
}

/* ---- how long jobs ran ---- */

int64_t share_expected(const struct share *s, int64_t limit_us)
{
    for (size_t i = 0; i < s->expected.n; i++)
        if (s->expected.v[i].limit_us == limit_us)
            return s->expected.v[i].run_us;
    return 0;
}

void cluster_set_expected(struct cluster *cl, uint32_t uid, const char *account, int64_t limit_us,
                          int64_t run_us)
{
    ASSERT(limit_us >= 0 && run_us >= 0);
    struct share *s = cluster_share(cl, uid, account);
    size_t i = 0;
    while (i < s->expected.n && s->expected.v[i].limit_us != limit_us)
        i++;
    if (run_us <= 0) {
        if (i < s->expected.n)
            vec_remove(&s->expected, i);
        return;
    }
    struct expected one = {.limit_us = limit_us, .run_us = run_us};
    if (i < s->expected.n)
        s->expected.v[i] = one;
    else
        vec_push(&s->expected, one);
}

int64_t cluster_expected(struct cluster *cl, uint32_t uid, const char *account, int64_t limit_us)
{
    return share_expected(cluster_share(cl, uid, account), limit_us);
}
