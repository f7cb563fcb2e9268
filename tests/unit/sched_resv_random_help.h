/* Random reservations: what each keeps, when, and how they come and go. */
#ifndef REMUDA_TESTS_SCHED_RESV_RANDOM_HELP_H
#define REMUDA_TESTS_SCHED_RESV_RANDOM_HELP_H

#include "sched_worlds.h"

#include "base/idset.h"
#include "sched/books/state.h"

#define RESVS 4

enum { CPU, MEM, A100, V100, GPU, NIC, WHOLE, AMOUNTS };
static const char *const amount_name[AMOUNTS] = {"cpu", "mem", "gpu:a100", "gpu:v100",
                                                 "gpu", "nic", "jobs"};

struct kept {
    char name[16];
    struct reservation r;
    struct arena *arena;
    bool on; /* it exists */
};

struct scene {
    struct sim s;
    struct kept resv[RESVS];
    size_t made, starts_inside, starts_beside;
    const char *inside[120]; /* by place in s.job: the reservation it runs in */
};

/* ---- amounts ---- */

static inline int amount_of(const char *label)
{
    for (int i = 0; i < AMOUNTS; i++)
        if (text_is(label, amount_name[i]))
            return i;
    fail_msg("what is %s?", label);
    return 0;
}

static inline void node_total(const struct node *n, int64_t ret[AMOUNTS])
{
    memset(ret, 0, AMOUNTS * sizeof ret[0]);
    ret[CPU] = n->cpus;
    ret[MEM] = n->memory_mib;
    ret[WHOLE] = 1;
    if (text_is(n->gres, "gpu:a100:4"))
        ret[A100] = 4;
    else if (text_is(n->gres, "gpu:v100:2,nic:1"))
        ret[V100] = 2, ret[NIC] = 1;
    else if (text_is(n->gres, two_types))
        ret[A100] = ret[V100] = 2;
    else if (n->gres)
        ret[GPU] = 4;
}

/* What the reservation keeps of the node; false = nothing. */
static inline bool kept_on(const struct scene *sc, const struct reservation *r,
                           const struct node *n, int64_t ret[AMOUNTS])
{
    struct hostlist h = HOSTLIST_INIT;
    bool has = false;
    memset(ret, 0, AMOUNTS * sizeof ret[0]);
    if (text_empty(r->holds)) {
        const char *nodes = (r->flags & RESV_PART_NODES) ? "ALL" : r->nodes;
        if (text_is(nodes, "ALL"))
            has = true;
        else if (!text_empty(nodes)) {
            assert_true(hostlist_parse(&h, nodes, NULL));
            has = hostlist_has(&h, n->name);
        }
        if (has)
            node_total(n, ret);
        hostlist_done(&h);
        return has;
    }
    char *text = xstrdup(r->holds), *node_rest = NULL, *word_rest = NULL;
    for (char *node = strtok_r(text, ";", &node_rest); node;
         node = strtok_r(NULL, ";", &node_rest)) {
        char *word = strtok_r(node, " ", &word_rest);
        if (!text_is(word, n->name))
            continue;
        has = true;
        while ((word = strtok_r(NULL, " ", &word_rest))) {
            char *equals = strchr(word, '=');
            *equals = '\0';
            ret[amount_of(word)] += strtoll(equals + 1, NULL, 10);
        }
    }
    free(text);
    (void)sc;
    return has;
}

static inline void job_uses(const struct task *j, const struct alloc_node *an, int64_t ret[AMOUNTS])
{
    memset(ret, 0, AMOUNTS * sizeof ret[0]);
    ret[CPU] = an->cpu_count;
    ret[MEM] = an->mem_mib;
    ret[WHOLE] = 1;
    for (size_t i = 0; i < an->ngres; i++) {
        char label[64];
        snprintf(label, sizeof label, "%s%s%s", an->gres[i].kind, an->gres[i].type ? ":" : "",
                 an->gres[i].type ? an->gres[i].type : "");
        ret[amount_of(label)] += an->gres[i].count;
    }
    (void)j;
}

/* ---- windows ---- */

/* Do the two times share one? */
static inline bool window_meets(const struct scene *sc, const struct reservation *r, int64_t from,
                                int64_t to, int64_t *ret_from, int64_t *ret_to)
{
    int64_t start = r->start_us, length = r->end_us - r->start_us;
    for (int i = 0; i < 4000 && start < to; i++) {
        if (start + length > from) {
            *ret_from = start > from ? start : from;
            *ret_to = start + length < to ? start + length : to;
            return true;
        }
        start = resv_next_start(r, start, cluster_zone(sc->s.cl));
        if (start == INT64_MAX)
            return false;
    }
    return false;
}

static inline int64_t job_end(const struct task *j)
{
    return j->limit >= INT64_MAX - j->start ? INT64_MAX : j->start + j->limit;
}

static inline bool overlays(const struct scene *sc, const char *name)
{
    for (size_t i = 0; name && i < RESVS; i++)
        if (text_is(sc->resv[i].name, name))
            return (sc->resv[i].r.flags & (RESV_MAINT | RESV_OVERLAP)) != 0;
    return false;
}

/* ---- the property ---- */

/* Sums of jobs on the node at that time, of those inside the reservation or of the others. CPUs
 * that are shared count once. */
static inline void in_use(const struct scene *sc, const char *node, int64_t at, const char *resv,
                          bool inside, const struct task *but, int64_t ret[AMOUNTS])
{
    struct idset cpus = IDSET_INIT;
    memset(ret, 0, AMOUNTS * sizeof ret[0]);
    for (size_t i = 0; i < sc->s.njobs; i++) {
        const struct task *j = &sc->s.job[i];
        if (j == but || !j->start || j->gone || job_end(j) <= at ||
            text_is(sc->inside[i], resv) != inside)
            continue;
        const struct alloc_node *an = alloc_find(&j->al, node);
        int64_t uses[AMOUNTS];
        if (!an)
            continue;
        job_uses(j, an, uses);
        for (int d = 0; d < AMOUNTS; d++)
            ret[d] += uses[d];
        struct idset mine = IDSET_INIT;
        assert_true(idset_parse(&mine, an->cpus, 4096, NULL));
        for (uint32_t c = 0; c < 4096; c++)
            if (idset_has(&mine, c))
                idset_add(&cpus, c);
        idset_done(&mine);
    }
    ret[CPU] = (int64_t)cpus.count;
    ret[WHOLE] = ret[WHOLE] > 0;
    idset_done(&cpus);
}

/* What it was given must be free: of running work unless it may lie over that, of other
 * reservations unless it may lie over those. */
static inline void choice_check(const struct scene *sc, const struct kept *k)
{
    const struct reservation *r = &k->r;
    int64_t from, to;
    if ((r->flags & (RESV_IGNORE_JOBS | RESV_PART_NODES)) ||
        !window_meets(sc, r, sc->s.now, INT64_MAX, &from, &to))
        return;
    for (size_t n = 0; n < sc->s.nnodes; n++) {
        int64_t keeps[AMOUNTS], total[AMOUNTS], used[AMOUNTS];
        if (!kept_on(sc, r, &sc->s.node[n], keeps))
            continue;
        node_total(&sc->s.node[n], total);
        in_use(sc, sc->s.node[n].name, from, k->name, false, NULL, used);
        for (int d = 0; d < AMOUNTS; d++)
            if (keeps[d] > 0 && used[d] > total[d] - keeps[d])
                fail_msg("world %llu: %s keeps %lld %s of %s, where %lld of %lld are in use",
                         (unsigned long long)sc->s.seed, k->name, (long long)keeps[d],
                         amount_name[d], sc->s.node[n].name, (long long)used[d],
                         (long long)total[d]);
        for (size_t i = 0; i < RESVS; i++) {
            const struct kept *o = &sc->resv[i];
            int64_t theirs[AMOUNTS], begin, end;
            if (!o->on || o == k || overlays(sc, k->name) ||
                !kept_on(sc, &o->r, &sc->s.node[n], theirs) ||
                !window_meets(sc, &o->r, from, to, &begin, &end))
                continue;
            for (int d = 0; d < AMOUNTS; d++)
                if (keeps[d] > 0 && theirs[d] > 0 && keeps[d] + theirs[d] > total[d])
                    fail_msg("world %llu: %s and %s both keep %s of %s",
                             (unsigned long long)sc->s.seed, k->name, o->name, amount_name[d],
                             sc->s.node[n].name);
        }
    }
}

/* ---- making reservations ---- */

static inline void what_make(struct scene *sc, struct reservation *r)
{
    struct rng *g = &sc->s.rng;
    switch (rng_below(g, 7)) {
    case 0: r->nodes = sc->s.node[rng_below(g, sc->s.nnodes)].name; break;
    case 1: r->nodes = "ALL"; break;
    case 2:
        r->node_count = (int32_t)rng_range(g, 1, 3);
        r->flags |= rng_chance(g, 300) ? RESV_REPLACE : rng_chance(g, 500) ? RESV_REPLACE_DOWN : 0;
        break;
    case 3: r->core_counts = rng_chance(g, 500) ? "3" : "9"; break;
    case 4: r->gres = rng_chance(g, 500) ? "gpu:a100:2" : "gpu:3"; break;
    case 5:
        r->node_count = 2;
        r->core_counts = rng_chance(g, 500) ? "2,4" : "6";
        break;
    case 6:
        r->flags |= RESV_ANY_NODES;
        r->licenses = "tool:1";
        break;
    }
}

static inline uint32_t flags_make(struct rng *g)
{
    static const uint32_t recurring[] = {RESV_HOURLY, RESV_DAILY, RESV_WEEKDAY, RESV_WEEKEND,
                                         RESV_WEEKLY};
    uint32_t flags = 0;
    flags |= rng_chance(g, 300) ? recurring[rng_below(g, ARRAY_LEN(recurring))] : 0;
    flags |= rng_chance(g, 250) ? RESV_IGNORE_JOBS : 0;
    flags |= rng_chance(g, 120) ? RESV_OVERLAP : 0;
    flags |= rng_chance(g, 80) ? RESV_MAINT : 0;
    flags |= rng_chance(g, 100) ? RESV_FLEX : 0;
    return flags;
}

static inline void reserve(struct scene *sc)
{
    static const int64_t lengths[] = {10 * MIN, 30 * MIN, 50 * MIN, 2 * HOUR, 5 * HOUR};
    struct kept *k = &sc->resv[sc->made];
    struct rng *g = &sc->s.rng;
    struct str why = STR_INIT;
    if (sc->made == RESVS)
        return;
    *k = (struct kept){.arena = arena_new()};
    snprintf(k->name, sizeof k->name, "r%zu", sc->made + 1);
    k->r = (struct reservation){.name = k->name, .users = "a", .flags = flags_make(g)};
    k->r.start_us = sc->s.now + (rng_chance(g, 400) ? 0 : rng_range(g, 1, 60) * MIN);
    k->r.end_us =
        k->r.start_us + lengths[rng_below(g, (k->r.flags & RESV_HOURLY) ? 3 : ARRAY_LEN(lengths))];
    what_make(sc, &k->r);
    if (sched_reserve(sc->s.cl, &k->r, sc->s.now, k->arena, &why) == REFUSE_NONE) {
        k->on = true;
        sc->made++;
        choice_check(sc, k);
        cluster_put_reservation(sc->s.cl, &k->r);
    } else {
        assert_true(why.len > 0);
        arena_free(k->arena);
        *k = (struct kept){.on = false};
    }
    str_done(&why);
}

/* As the core does: what is over goes or comes again. */
static inline void resvs_roll(struct scene *sc)
{
    for (size_t i = 0; i < sc->made; i++) {
        struct reservation *r = &sc->resv[i].r;
        int64_t length = r->end_us - r->start_us;
        if (!sc->resv[i].on || r->end_us > sc->s.now)
            continue;
        while ((r->flags & RESV_RECURRING) && r->end_us <= sc->s.now) {
            r->start_us = resv_next_start(r, r->start_us, cluster_zone(sc->s.cl));
            r->end_us = r->start_us + length;
        }
        if (r->end_us > sc->s.now) {
            cluster_put_reservation(sc->s.cl, r);
        } else {
            cluster_remove_reservation(sc->s.cl, sc->resv[i].name);
            sc->resv[i].on = false;
        }
    }
}

/* Counted ones are chosen again when a node goes. */
static inline void refit(struct scene *sc)
{
    for (size_t i = 0; i < sc->made; i++) {
        struct reservation trial = sc->resv[i].r;
        struct str why = STR_INIT;
        if (sc->resv[i].on && !(trial.flags & (RESV_SPEC_NODES | RESV_ANY_NODES)) &&
            sched_reserve(sc->s.cl, &trial, sc->s.now, sc->resv[i].arena, &why) == REFUSE_NONE) {
            sc->resv[i].r = trial;
            cluster_put_reservation(sc->s.cl, &trial);
        }
        str_done(&why);
    }
}

#endif
