/* What a reservation keeps is never given to others: random clusters, queues and reservations
 * (whole nodes, cores, devices, licences; once and again; over running work, over each other),
 * counted from outside, by texts that the planner gives: allocations of jobs and what reservations
 * say that they keep. */
#include "sched_worlds.h"

#include "base/idset.h"
#include "sched/books/state.h"

#define RESVS 4
#define TURNS 90

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

static int amount_of(const char *label)
{
    for (int i = 0; i < AMOUNTS; i++)
        if (text_is(label, amount_name[i]))
            return i;
    fail_msg("what is %s?", label);
    return 0;
}

static void node_total(const struct node *n, int64_t ret[AMOUNTS])
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
static bool kept_on(const struct scene *sc, const struct reservation *r, const struct node *n,
                    int64_t ret[AMOUNTS])
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

static void job_uses(const struct task *j, const struct alloc_node *an, int64_t ret[AMOUNTS])
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
static bool window_meets(const struct scene *sc, const struct reservation *r, int64_t from,
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

static int64_t job_end(const struct task *j)
{
    return j->limit >= INT64_MAX - j->start ? INT64_MAX : j->start + j->limit;
}

static bool overlays(const struct scene *sc, const char *name)
{
    for (size_t i = 0; name && i < RESVS; i++)
        if (text_is(sc->resv[i].name, name))
            return (sc->resv[i].r.flags & (RESV_MAINT | RESV_OVERLAP)) != 0;
    return false;
}

/* ---- the property ---- */

/* Sums of jobs on the node at that time, of those inside the reservation or of the others. CPUs
 * that are shared count once. */
static void in_use(const struct scene *sc, const char *node, int64_t at, const char *resv,
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

static void world_tell(const struct scene *sc)
{
    for (size_t i = 0; i < RESVS; i++)
        if (sc->resv[i].on)
            print_error("%s %lld-%lld flags %x nodes %s holds %s\n", sc->resv[i].name,
                        (long long)(sc->resv[i].r.start_us - NOW) / MIN,
                        (long long)(sc->resv[i].r.end_us - NOW) / MIN, sc->resv[i].r.flags,
                        sc->resv[i].r.nodes, sc->resv[i].r.holds);
    for (size_t i = 0; i < sc->s.njobs; i++) {
        const struct task *j = &sc->s.job[i];
        struct str text = STR_INIT;
        if (!j->start || j->gone)
            continue;
        alloc_format(&j->al, &text);
        print_error("job %llu %lld-%lld %s in %s: %s\n", (unsigned long long)j->id,
                    (long long)(j->start - NOW) / MIN, (long long)(job_end(j) - NOW) / MIN, j->part,
                    sc->inside[i] ? sc->inside[i] : "-", str_text(&text));
        str_done(&text);
    }
}

static void outside_check(const struct scene *sc, const struct task *j, const struct kept *k,
                          const struct node *n)
{
    int64_t keeps[AMOUNTS], total[AMOUNTS], others[AMOUNTS], before[AMOUNTS], from, to;
    if (!kept_on(sc, &k->r, n, keeps) || !window_meets(sc, &k->r, j->start, job_end(j), &from, &to))
        return;
    node_total(n, total);
    in_use(sc, n->name, from, k->name, false, NULL, others);
    /* It may share CPUs that others of them have. */
    in_use(sc, n->name, from, k->name, false, j, before);
    for (int d = 0; d < AMOUNTS; d++)
        if (others[d] > before[d] && keeps[d] > 0 && others[d] > total[d] - keeps[d]) {
            world_tell(sc);
            fail_msg("world %llu: job %llu starts at %lld on %s: others than those of %s have %lld "
                     "%s of "
                     "%lld, it keeps %lld from %lld on (%s)",
                     (unsigned long long)sc->s.seed, (unsigned long long)j->id,
                     (long long)(j->start - NOW) / MIN, n->name, k->name, (long long)others[d],
                     amount_name[d], (long long)total[d], (long long)keeps[d],
                     (long long)(from - NOW) / MIN, k->r.holds ? k->r.holds : k->r.nodes);
        }
}

/* Inside: its nodes, its time, no more than it keeps. */
static void inside_check(const struct scene *sc, const struct task *j, const struct kept *k,
                         const struct node *n)
{
    int64_t keeps[AMOUNTS], own[AMOUNTS], from = 0, to = 0;
    if (k->r.flags & (RESV_FLEX | RESV_ANY_NODES))
        return;
    assert_true(kept_on(sc, &k->r, n, keeps));
    assert_true(window_meets(sc, &k->r, j->start, job_end(j), &from, &to));
    if (from != j->start || to != job_end(j))
        fail_msg("world %llu: job %llu runs from %lld to %lld, outside %s",
                 (unsigned long long)sc->s.seed, (unsigned long long)j->id,
                 (long long)(j->start - NOW) / MIN, (long long)(job_end(j) - NOW) / MIN, k->name);
    in_use(sc, n->name, j->start, k->name, true, NULL, own);
    for (int d = 0; !text_empty(k->r.holds) && d < AMOUNTS; d++)
        if (d != WHOLE && keeps[d] > 0 && own[d] > keeps[d])
            fail_msg("world %llu: jobs of %s have %lld %s of %s, it keeps %lld",
                     (unsigned long long)sc->s.seed, k->name, (long long)own[d], amount_name[d],
                     n->name, (long long)keeps[d]);
}

static void licences_check(const struct scene *sc, const struct task *j, const struct kept *k)
{
    int64_t from, to, others = 0;
    if (text_empty(k->r.licenses) || text_empty(j->req.licenses) ||
        !window_meets(sc, &k->r, j->start, job_end(j), &from, &to))
        return;
    for (size_t i = 0; i < sc->s.njobs; i++) {
        const struct task *o = &sc->s.job[i];
        if (o->start && !o->gone && job_end(o) > from && o->req.licenses &&
            !text_is(sc->inside[i], k->name))
            others += text_is(o->req.licenses, "tool:2") ? 2 : 1;
    }
    if (others > 1) /* of two, one is kept */
        fail_msg("world %llu: job %llu takes a licence that %s keeps",
                 (unsigned long long)sc->s.seed, (unsigned long long)j->id, k->name);
}

static void start_check(const struct scene *sc, size_t job)
{
    const struct task *j = &sc->s.job[job];
    for (size_t i = 0; i < RESVS; i++) {
        const struct kept *k = &sc->resv[i];
        bool in = text_is(sc->inside[job], k->name);
        if (!k->on || (!in && overlays(sc, sc->inside[job])))
            continue;
        if (!in)
            licences_check(sc, j, k);
        for (size_t a = 0; a < j->al.n; a++)
            for (size_t n = 0; n < sc->s.nnodes; n++) {
                if (!text_is(sc->s.node[n].name, j->al.node[a].node))
                    continue;
                if (in)
                    inside_check(sc, j, k, &sc->s.node[n]);
                else
                    outside_check(sc, j, k, &sc->s.node[n]);
            }
    }
}

/* What it was given must be free: of running work unless it may lie over that, of other
 * reservations unless it may lie over those. */
static void choice_check(const struct scene *sc, const struct kept *k)
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

static void what_make(struct scene *sc, struct reservation *r)
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

static uint32_t flags_make(struct rng *g)
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

static void reserve(struct scene *sc)
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
static void resvs_roll(struct scene *sc)
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
static void refit(struct scene *sc)
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

/* ---- playing ---- */

static void submit_one(struct scene *sc)
{
    struct sim *s = &sc->s;
    struct task *j = &s->job[s->njobs];
    *j = (struct task){.id = s->next_id++, .submit = s->now, .elements = 1, .req = request_make(s)};
    if (sc->made > 0 && rng_chance(&s->rng, 400)) {
        j->req.reservation = sc->resv[rng_below(&s->rng, sc->made)].name;
        if (rng_chance(&s->rng, 100))
            j->req.reservation = "r1,r2";
    }
    if (rng_chance(&s->rng, 200))
        j->req.time_limit_us = j->req.time_min_us = 0;
    if (sched_check(s->cl, &j->req, 1000 + (uint32_t)(j->id % 3), NULL, NULL, NULL) != REFUSE_NONE)
        return;
    s->njobs++;
    job_wait(s->cl, j);
}

static void start_one(struct scene *sc, const struct plan_start *ps)
{
    struct sim *s = &sc->s;
    struct task *j = job_of(s, ps->job_id);
    struct str text = STR_INIT;
    size_t at = (size_t)(j - s->job);
    assert_true(j->start == 0 && ps->limit_us > 0);
    assert_true((ps->reservation != NULL) == !text_empty(j->req.reservation));
    j->start = s->now;
    j->limit = ps->limit_us;
    int64_t most = j->limit == TIME_UNLIMITED || j->limit > 6 * HOUR ? 6 * HOUR : j->limit;
    j->runs = rng_chance(&s->rng, 500) ? most : rng_range(&s->rng, 1, most / MIN) * MIN;
    j->end = s->now + j->runs;
    j->arena = arena_new();
    alloc_format(&ps->alloc, &text);
    assert_true(alloc_parse(str_text(&text), j->arena, &j->al, NULL));
    str_done(&text);
    sc->inside[at] = NULL;
    for (size_t i = 0; i < sc->made; i++)
        if (text_is(ps->reservation, sc->resv[i].name))
            sc->inside[at] = sc->resv[i].name;
    j->part = arena_strdup(j->arena, ps->partition);
    cluster_start(s->cl, j->id, &j->req, 1000 + (uint32_t)(j->id % 3), ps->partition, &j->al,
                  s->now, job_end(j));
    cluster_run_inside(s->cl, j->id, ps->reservation);
    cluster_unwait(s->cl, j->id);
    start_check(sc, at);
    sc->starts_inside += ps->reservation != NULL;
    sc->starts_beside += ps->reservation == NULL;
}

/* What listings say of nodes is what the texts of the reservations say, as it is asked of them. */
static void marks_check(const struct scene *sc)
{
    for (size_t n = 0; n < sc->s.nnodes; n++) {
        struct node_kept kept;
        bool any = false, maint = false;
        cluster_node_kept(sc->s.cl, sc->s.node[n].name, sc->s.now, &kept);
        for (size_t i = 0; i < RESVS; i++) {
            int64_t amounts[AMOUNTS];
            const struct reservation *r = &sc->resv[i].r;
            if (!sc->resv[i].on || !resv_is_on(r, sc->s.now) ||
                !kept_on(sc, r, &sc->s.node[n], amounts))
                continue;
            any = true;
            maint |= (r->flags & RESV_MAINT) != 0;
        }
        assert_int_equal(kept.reservation != NULL, any);
        assert_int_equal(kept.maint, maint);
    }
}

static void resv_turn(struct scene *sc)
{
    struct sim *s = &sc->s;
    end_due(s);
    resvs_roll(sc);
    sched_plan(s->cl, s->now, NULL, s->plan);
    for (size_t i = 0; i < s->plan->nstarts; i++)
        start_one(sc, &s->plan->start[i]);
    cluster_check(s->cl);
    marks_check(sc);
}

static int64_t next_time(const struct scene *sc)
{
    int64_t at = next_end(&sc->s);
    for (size_t i = 0; i < sc->made; i++) {
        const struct reservation *r = &sc->resv[i].r;
        if (!sc->resv[i].on)
            continue;
        int64_t turn = r->start_us > sc->s.now ? r->start_us : r->end_us;
        at = turn < at ? turn : at;
    }
    if (sc->s.plan->next_us > sc->s.now && sc->s.plan->next_us < at)
        at = sc->s.plan->next_us;
    return at;
}

static void node_falls(struct scene *sc)
{
    struct sim *s = &sc->s;
    struct node *n = &s->node[rng_below(&s->rng, s->nnodes)];
    n->drain = !n->drain;
    put_node(s->cl, n);
    refit(sc);
}

static bool anybody_waits(const struct sim *s)
{
    for (size_t i = 0; i < s->njobs; i++)
        if (!s->job[i].start)
            return true;
    return false;
}

/* All reservations gone, whoever asked for none can run. */
static void beside_all_ran(struct scene *sc)
{
    struct sim *s = &sc->s;
    for (size_t i = 0; i < sc->made; i++)
        if (sc->resv[i].on) {
            cluster_remove_reservation(s->cl, sc->resv[i].name);
            sc->resv[i].on = false;
        }
    do {
        resv_turn(sc);
        s->now = next_end(s) == INT64_MAX ? s->now : next_end(s);
    } while (next_end(s) != INT64_MAX);
    resv_turn(sc);
    for (size_t i = 0; i < s->njobs; i++) {
        struct plan_wait w;
        if (s->job[i].start || s->job[i].req.reservation)
            continue;
        assert_true(plan_wait_of(s->plan, s->cl, s->job[i].id, &w));
        if (w.reason != REASON_REQ_NODE_NOT_AVAIL)
            fail_msg("world %llu: job %llu never ran: %s, %s", (unsigned long long)s->seed,
                     (unsigned long long)s->job[i].id, enum_name(&job_reason_names, w.reason),
                     w.detail);
    }
}

static void scene_done(struct scene *sc)
{
    for (size_t i = 0; i < sc->made; i++)
        arena_free(sc->resv[i].arena);
    world_done(&sc->s);
}

static void scene_play(struct scene *sc, uint64_t seed)
{
    *sc =
        (struct scene){.s = {.rng = {seed}, .seed = seed, .mixed = true, .next_id = 1, .now = NOW}};
    struct sim *s = &sc->s;
    s->cl = cluster_of_factors();
    s->plan = plan_new();
    policy_put(s->cl, NULL);
    nodes_make(s);
    parts_make(s);
    size_t actions = 4 + rng_below(&s->rng, 40);
    for (size_t i = 0; i < actions; i++) {
        if (rng_chance(&s->rng, 150))
            reserve(sc);
        else if (rng_chance(&s->rng, 50))
            node_falls(sc);
        else
            submit_one(sc);
        if (rng_chance(&s->rng, 400)) {
            resv_turn(sc);
            int64_t next = next_time(sc), later = s->now + rng_range(&s->rng, 1, 20) * MIN;
            s->now = next < later ? next : later;
        }
    }
    for (int i = 0; i < TURNS && (anybody_waits(s) || next_end(s) != INT64_MAX); i++) {
        resv_turn(sc);
        if (next_time(sc) != INT64_MAX)
            s->now = next_time(sc);
    }
    beside_all_ran(sc);
    scene_done(sc);
}

static void what_is_kept_is_never_given_to_others(void **state)
{
    size_t inside = 0, beside = 0;
    for (uint64_t seed = 1; seed <= worlds_of(150); seed++) {
        struct scene sc;
        scene_play(&sc, seed * 104729);
        inside += sc.starts_inside;
        beside += sc.starts_beside;
    }
    assert_true(inside > 100 && beside > 1000); /* or the worlds show nothing */
}

/* One that is made, changed or gone is read for itself: groups of ten thousand nodes are not made
 * anew for it. */
static void a_reservation_leaves_the_other_books(void **state)
{
    struct cluster *cl = cluster_of_factors();
    struct node node = {.name = "n1", .cpus = 4, .memory_mib = 4000, .state = NODE_UP};
    struct reservation r = {
        .name = "r", .nodes = "n1", .start_us = NOW, .end_us = NOW + MIN, .users = "root"};
    struct node_kept kept;
    policy_put(cl, NULL);
    assert_true(cluster_put_node(cl, &node, NULL));
    cluster_node_kept(cl, "n1", NOW, &kept);
    assert_null(kept.reservation);
    uint64_t made = cl->derived.up_version, version = cl->derived.version;
    cluster_put_reservation(cl, &r);
    cluster_node_kept(cl, "n1", NOW, &kept);
    assert_string_equal(kept.reservation, "r");
    assert_int_equal(cl->derived.up_version, made);
    assert_true(cl->derived.version >
                version); /* what was worked out with the former does not hold */
    cluster_remove_reservation(cl, "r");
    cluster_node_kept(cl, "n1", NOW, &kept);
    assert_null(kept.reservation);
    assert_int_equal(cl->derived.up_version, made);
    cluster_free(cl);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_kept_is_never_given_to_others),
                                       cmocka_unit_test(a_reservation_leaves_the_other_books)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
