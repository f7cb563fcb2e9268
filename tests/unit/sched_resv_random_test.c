/* What a reservation keeps is never given to others: random clusters, queues and reservations
 * (whole nodes, cores, devices, licences; once and again; over running work, over each other),
 * counted from outside, by texts that the planner gives: allocations of jobs and what reservations
 * say that they keep. */
#include "sched_resv_random_help.h"

#define TURNS 90

/* ---- the property ---- */

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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_kept_is_never_given_to_others),
        cmocka_unit_test(a_reservation_leaves_the_other_books),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
