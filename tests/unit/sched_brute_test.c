/* The planner beside one that tries every set of nodes, on small random clusters: a job starts if
 * and only if some set can take it at its turn; the first that cannot is promised the very first
 * time at which some set can; nobody who passes it takes that time away; and nobody waits who could
 * have started without touching what is promised. The brute planner knows nothing of the planner's
 * code: it counts tasks that fit on each node and tries all sets. */
#include "base/rng.h"
#include "sched_help.h"
#include "share.h"

#define NODES 6
#define RUNS  24 /* running, and started in the pass */
#define JOBS  8

enum { GPU_A, GPU_V, TYPES, GPU_ANY = TYPES, GPU_NONE }; /* types; type asked for */

struct room {
    int64_t cpus, mem, gpus[TYPES];
    int jobs;
};

struct ask {
    int nmin, nmax, tasks, cpt, per_node; /* per_node: tasks there at most; 0 = any */
    int64_t gpus_task;
    int64_t mem_node, mem_cpu, gpus;
    int gpu_type, lic;
    bool mixes; /* no type alone could do: each node gives the same of each */
    unsigned must, excluded, features; /* nodes */
    bool contiguous, alone;
    int64_t limit_us;
};

struct use_of {
    struct room take[NODES];
    int lic;
    int64_t end_us;
};

struct brute {
    struct rng rng;
    uint64_t seed;
    int n, lic_total;
    struct room total[NODES];
    unsigned fast; /* nodes with the feature */
    struct use_of run[RUNS];
    size_t nruns;
    struct ask ask[JOBS];
    struct job_request req[JOBS];
    char text[JOBS][3][64];
    size_t njobs;
    struct cluster *cl;
    struct plan *plan;
};

/* ---- the brute planner ---- */

static struct room room_at(const struct brute *b, int node, int64_t at_us)
{
    struct room r = b->total[node];
    for (size_t i = 0; i < b->nruns; i++) {
        if (b->run[i].end_us <= at_us)
            continue;
        const struct room *t = &b->run[i].take[node];
        r.cpus -= t->cpus, r.mem -= t->mem, r.jobs += t->jobs;
        for (int k = 0; k < TYPES; k++)
            r.gpus[k] -= t->gpus[k];
    }
    return r;
}

static int64_t lesser_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Tasks of the job that fit into the room of a node, where it has so many GPUs for them. */
static int64_t tasks_in(const struct brute *b, const struct ask *q, int node, int64_t at_us,
                        int64_t gpus)
{
    struct room r = room_at(b, node, at_us);
    if ((q->alone && r.jobs > 0) || q->gpus > gpus || q->mem_node > r.mem)
        return 0;
    int64_t tasks = r.cpus / q->cpt;
    if (q->per_node > 0)
        tasks = lesser_of(tasks, q->per_node);
    if (q->gpus_task > 0)
        tasks = lesser_of(tasks, gpus / q->gpus_task);
    if (q->mem_cpu > 0)
        tasks = lesser_of(tasks, r.mem / (q->mem_cpu * q->cpt));
    if (q->alone && q->mem_cpu > 0 &&
        r.mem < q->mem_cpu * r.cpus) /* all CPUs are the job's, with their memory */
        return 0;
    return tasks;
}

static bool neighbours(unsigned set)
{
    while (set && !(set & 1))
        set >>= 1;
    return (set & (set + 1)) == 0;
}

/* Do the nodes hold all tasks, each with GPUs of one type only? */
static bool one_type_can(const struct brute *b, const struct ask *q, unsigned set, int64_t at_us,
                         int type)
{
    int64_t tasks = 0;
    for (int i = 0; i < b->n; i++) {
        int64_t here = set >> i & 1 ? tasks_in(b, q, i, at_us, room_at(b, i, at_us).gpus[type]) : 1;
        if (here < 1)
            return false;
        tasks += set >> i & 1 ? here : 0;
    }
    return tasks >= q->tasks;
}

/* With so many of the first type and so many of the second on each node? GPUs of tasks are made up
 * so where each node has as many tasks. */
static bool mix_can(const struct brute *b, const struct ask *q, unsigned set, int64_t at_us,
                    const int64_t *mix)
{
    int64_t tasks = 0, each = q->tasks / __builtin_popcount(set);
    for (int i = 0; i < b->n; i++) {
        struct room r = room_at(b, i, at_us);
        if (!(set >> i & 1))
            continue;
        int64_t here = tasks_in(b, q, i, at_us, mix[GPU_A] + mix[GPU_V]);
        if (r.gpus[GPU_A] < mix[GPU_A] || r.gpus[GPU_V] < mix[GPU_V] ||
            here < (q->gpus_task ? each : 1))
            return false;
        tasks += here;
    }
    return tasks >= q->tasks;
}

static bool any_mix_can(const struct brute *b, const struct ask *q, unsigned set, int64_t at_us)
{
    int nodes = __builtin_popcount(set);
    int64_t all = q->gpus_task ? q->gpus_task * (q->tasks / nodes) : q->gpus, mix[TYPES];
    if (q->gpus_task && q->tasks % nodes != 0)
        return false;
    for (mix[GPU_A] = 0; mix[GPU_A] <= all; mix[GPU_A]++) {
        mix[GPU_V] = all - mix[GPU_A];
        if (mix_can(b, q, set, at_us, mix))
            return true;
    }
    return false;
}

static bool set_can(const struct brute *b, const struct ask *q, unsigned set, int64_t at_us)
{
    int nodes = __builtin_popcount(set);
    if (nodes < q->nmin || nodes > q->nmax || nodes > q->tasks || (set & q->must) != q->must ||
        set & q->excluded || (set & q->features) != set || (q->contiguous && !neighbours(set)))
        return false;
    if (q->mixes)
        return any_mix_can(b, q, set, at_us);
    for (int type = 0; type < TYPES; type++)
        if ((q->gpu_type == type || q->gpu_type >= GPU_ANY) && one_type_can(b, q, set, at_us, type))
            return true;
    return false;
}

static bool licensed(const struct brute *b, const struct ask *q, int64_t at_us)
{
    int used = 0;
    for (size_t i = 0; i < b->nruns; i++)
        used += b->run[i].end_us > at_us ? b->run[i].lic : 0;
    return b->lic_total - used >= q->lic;
}

static unsigned any_set(const struct brute *b, const struct ask *q, int64_t at_us, unsigned among)
{
    for (unsigned set = 1; set < 1U << b->n && licensed(b, q, at_us); set++)
        if ((set & among) == set && set_can(b, q, set, at_us))
            return set;
    return 0;
}

static int64_t earliest(const struct brute *b, const struct ask *q)
{
    int64_t best = INT64_MAX;
    for (size_t i = 0; i < b->nruns; i++)
        if (b->run[i].end_us > NOW && b->run[i].end_us < best &&
            any_set(b, q, b->run[i].end_us, ~0U))
            best = b->run[i].end_us;
    return best;
}

/* ---- worlds ---- */

static int node_number(const char *name)
{
    return atoi(name + 1) - 1;
}

static void cluster_make(struct brute *b)
{
    struct settings set;
    static const char *const types[] = {[GPU_A] = "a", [GPU_V] = "v"};
    settings_default(&set);
    set.word.priority_ageing = false;
    b->lic_total = 1 + (int)rng_below(&b->rng, 3);
    char licences[24], all[24];
    snprintf(licences, sizeof licences, "tool:%d", b->lic_total);
    set.licenses = licences;
    b->cl = cluster_new();
    cluster_set_policy(b->cl, &set);
    b->plan = plan_new();
    b->n = 2 + (int)rng_below(&b->rng, NODES - 1);
    bool same = rng_chance(&b->rng, 300);
    for (int i = 0; i < b->n; i++) {
        char name[24], gpus[48] = "";
        snprintf(name, sizeof name, "n%d", i + 1);
        struct node n = a_node(name);
        n.cores_per_socket = same ? 2 : (int32_t)rng_range(&b->rng, 1, 3);
        n.cpus = 2 * n.cores_per_socket;
        n.memory_mib = same ? 400 : 100 * rng_range(&b->rng, 1, 6);
        int64_t have[TYPES] = {0};
        if (rng_chance(&b->rng, 400))
            for (int k = 0; k < TYPES; k++)
                have[k] = same ? 2 : rng_range(&b->rng, 1, 2);
        else if (same || rng_chance(&b->rng, 667))
            have[same ? GPU_A : (int)rng_below(&b->rng, TYPES)] =
                same ? 2 : rng_range(&b->rng, 1, 3);
        for (int k = 0; k < TYPES; k++)
            if (have[k])
                snprintf(gpus + strlen(gpus), sizeof gpus - strlen(gpus), "%sgpu:%s:%d",
                         gpus[0] ? "," : "", types[k], (int)have[k]);
        n.gres = gpus[0] ? gpus : NULL;
        if (rng_chance(&b->rng, 500)) {
            n.features = "fast";
            b->fast |= 1U << i;
        }
        b->total[i] = (struct room){n.cpus, n.memory_mib, {have[GPU_A], have[GPU_V]}, 0};
        put_node(b->cl, &n);
    }
    snprintf(all, sizeof all, "n[1-%d]", b->n);
    struct partition p = a_part("main", all);
    put_part(b->cl, &p);
}

static void ask_make(struct brute *b, size_t i)
{
    struct ask *q = &b->ask[i];
    struct job_request *r = &b->req[i];
    struct rng *g = &b->rng;
    *q = (struct ask){.features = ~0U, .gpu_type = GPU_NONE};
    q->nmin = (int)rng_range(g, 1, b->n);
    q->nmax = q->nmin + (rng_chance(g, 300) ? (int)rng_below(g, 3) : 0);
    q->tasks = q->nmax + (rng_chance(g, 400) ? (int)rng_below(g, 5) : 0);
    q->cpt = rng_chance(g, 300) ? 2 : 1;
    *r = (struct job_request){
        .partition = "main", .min_nodes = q->nmin, .max_nodes = q->nmax, .ntasks = q->tasks};
    r->cpus_per_task = q->cpt;
    if (rng_chance(g, 150))
        r->ntasks_per_node = q->per_node = (int)rng_range(g, 1, 4);
    if (rng_chance(g, 250))
        r->mem_per_cpu_mib = q->mem_cpu = 50 * rng_range(g, 1, 3);
    else
        r->mem_per_node_mib = q->mem_node = 50 * rng_range(g, 1, 8);
    if (rng_chance(g, 350)) {
        static const char *const words[] = {[GPU_A] = "a:", [GPU_V] = "v:", [GPU_ANY] = ""};
        q->gpus = rng_range(g, 1, rng_chance(g, 400) ? 4 : 2);
        q->gpu_type = (int)rng_below(g, TYPES + 1);
        snprintf(b->text[i][0], sizeof b->text[i][0], "%s%d", words[q->gpu_type], (int)q->gpus);
        if (rng_chance(g, 300)) {
            q->gpus_task = q->gpus;
            q->gpus = 0;
            r->gpus_per_task = b->text[i][0];
        } else {
            r->gpus_per_node = b->text[i][0];
        }
    }
    if (rng_chance(g, 150)) {
        r->constraint = "fast";
        q->features = b->fast;
    }
    if (rng_chance(g, 120)) {
        int one = (int)rng_below(g, (uint64_t)b->n);
        snprintf(b->text[i][1], sizeof b->text[i][1], "n%d", one + 1);
        q->must = 1U << one;
        r->nodelist = b->text[i][1];
    } else if (rng_chance(g, 120)) {
        int one = (int)rng_below(g, (uint64_t)b->n);
        snprintf(b->text[i][1], sizeof b->text[i][1], "n%d", one + 1);
        q->excluded = 1U << one;
        r->exclude = b->text[i][1];
    }
    r->contiguous = q->contiguous = rng_chance(g, 120);
    q->alone = rng_chance(g, 150);
    r->exclusive = q->alone ? EXCLUSIVE_NODE : EXCLUSIVE_UNSET;
    if (rng_chance(g, 150)) {
        q->lic = (int)rng_range(g, 1, b->lic_total);
        snprintf(b->text[i][2], sizeof b->text[i][2], "tool:%d", q->lic);
        r->licenses = b->text[i][2];
    }
    r->time_limit_us = q->limit_us = 10 * MIN * rng_range(g, 1, 9);
}

/* ---- what the planner gave ---- */

/* Everything that is needed to do it by hand. */
static const char *world_text(const struct brute *b, uint64_t id)
{
    static char text[2048];
    const struct ask *q = &b->ask[id - 1];
    size_t at = (size_t)snprintf(
        text, sizeof text,
        "world %llu, job %llu (nodes %d-%d tasks %d of %d CPUs, memory %lld a node or %lld a "
        "CPU, %d a node, gpus %lld or %lld a task of type %d, must %#x not %#x only %#x%s%s "
        "licences %d) on",
        (unsigned long long)b->seed, (unsigned long long)id, q->nmin, q->nmax, q->tasks, q->cpt,
        (long long)q->mem_node, (long long)q->mem_cpu, q->per_node, (long long)q->gpus,
        (long long)q->gpus_task, q->gpu_type, q->must, q->excluded, q->features,
        q->contiguous ? " contiguous" : "", q->alone ? " alone" : "", q->lic);
    for (int i = 0; i < b->n; i++) {
        struct room r = room_at(b, i, NOW);
        at += (size_t)snprintf(text + at, sizeof text - at,
                               " [%lld/%lld CPUs %lld/%lld MiB %lld/%lld gpu:a %lld/%lld gpu:v, "
                               "%d jobs]",
                               (long long)r.cpus, (long long)b->total[i].cpus, (long long)r.mem,
                               (long long)b->total[i].mem, (long long)r.gpus[GPU_A],
                               (long long)b->total[i].gpus[GPU_A], (long long)r.gpus[GPU_V],
                               (long long)b->total[i].gpus[GPU_V], r.jobs);
    }
    return text;
}

/* An allocation, checked against the request and what is free, and taken. */
static void start_take(struct brute *b, const struct ask *q, const struct plan_start *s)
{
    struct use_of *u = &b->run[b->nruns];
    unsigned set = 0;
    int tasks = 0;
    *u = (struct use_of){.lic = q->lic, .end_us = NOW + s->limit_us};
    assert_true(b->nruns < RUNS);
    assert_int_equal(s->limit_us, q->limit_us);
    for (size_t i = 0; i < s->alloc.n; i++) {
        const struct alloc_node *a = &s->alloc.node[i];
        int node = node_number(a->node);
        struct room r = room_at(b, node, NOW);
        struct room *t = &u->take[node];
        int64_t gpus = 0;
        *t = (struct room){a->cpu_count, a->mem_mib, {0}, 1};
        for (size_t k = 0; k < a->ngres; k++) {
            t->gpus[text_is(a->gres[k].type, "a") ? GPU_A : GPU_V] += a->gres[k].count;
            gpus += a->gres[k].count;
        }
        if (!q->mixes && !q->alone && t->gpus[GPU_A] && t->gpus[GPU_V])
            fail_msg("%s: %s gives two types, though one could do", world_text(b, s->job_id),
                     a->node);
        set |= 1U << node;
        tasks += a->tasks;
        bool enough = a->tasks >= 1 && a->cpu_count >= a->tasks * q->cpt && gpus >= q->gpus &&
                      gpus >= q->gpus_task * a->tasks &&
                      (q->per_node == 0 || a->tasks <= q->per_node) && t->mem >= q->mem_node &&
                      t->mem >= q->mem_cpu * a->tasks * q->cpt;
        bool there = t->cpus <= r.cpus && t->mem <= r.mem && t->gpus[GPU_A] <= r.gpus[GPU_A] &&
                     t->gpus[GPU_V] <= r.gpus[GPU_V] && (!q->alone || r.jobs == 0);
        if (!enough || !there)
            fail_msg("%s: %s is %s", world_text(b, s->job_id), a->node,
                     enough ? "given twice" : "too little");
        if (q->alone)
            t->cpus = b->total[node].cpus, t->mem = b->total[node].mem,
            memcpy(t->gpus, b->total[node].gpus, sizeof t->gpus);
    }
    if (!set_can(b, q, set, NOW) || !licensed(b, q, NOW) || tasks != q->tasks)
        fail_msg("%s: starts on %#x with %d tasks, which is not what it asked for",
                 world_text(b, s->job_id), set, tasks);
    b->nruns++;
}

static unsigned planned_set(const struct plan_wait *w)
{
    struct hostlist h = HOSTLIST_INIT;
    unsigned set = 0;
    assert_true(hostlist_parse(&h, w->planned_nodes, NULL));
    for (size_t i = 0; i < h.n; i++)
        set |= 1U << node_number(h.name[i]);
    hostlist_done(&h);
    return set;
}

/* The starts come in the order of the queue: each job's turn is played after those before it. */
static void pass_check(struct brute *b, const uint64_t *queue, size_t n)
{
    const struct ask *head = NULL;
    int64_t promised = INT64_MAX;
    unsigned kept = 0;
    sched_plan(b->cl, NOW, NULL, b->plan);
    for (size_t i = 0; i < n; i++) {
        const struct ask *q = &b->ask[queue[i] - 1];
        const struct plan_start *s = start_of(b->plan, queue[i]);
        struct plan_wait w = {0};
        if (s) {
            start_take(b, q, s);
            if (head && !any_set(b, head, promised, ~0U))
                fail_msg("%s takes the promised start from the first", world_text(b, queue[i]));
            continue;
        }
        assert_true(plan_wait_of(b->plan, b->cl, queue[i], &w));
        if (w.reason == REASON_REQ_NODE_NOT_AVAIL || w.reason == REASON_BAD_CONSTRAINTS)
            fail_msg("%s was accepted and can never start", world_text(b, queue[i]));
        if (!head) {
            unsigned could = any_set(b, q, NOW, ~0U);
            if (could)
                fail_msg("%s could start on %#x", world_text(b, queue[i]), could);
            promised = earliest(b, q);
            if (w.planned_us != promised)
                fail_msg("%s is promised %lld min, but could start in %lld",
                         world_text(b, queue[i]), (long long)((w.planned_us - NOW) / MIN),
                         (long long)((promised - NOW) / MIN));
            head = q;
            kept = planned_set(&w);
        } else {
            unsigned could = any_set(b, q, NOW, NOW + q->limit_us <= promised ? ~0U : ~kept);
            if (could && !(head->lic && q->lic && NOW + q->limit_us > promised))
                fail_msg("%s could pass on %#x", world_text(b, queue[i]), could);
        }
    }
}

static void world(uint64_t seed)
{
    struct brute b = {.rng = {seed}, .seed = seed};
    uint64_t queue[JOBS];
    size_t n = 0, jobs = 1 + rng_below(&b.rng, JOBS), runs = rng_below(&b.rng, jobs);
    cluster_make(&b);
    for (size_t i = 0; i < jobs; i++) {
        ask_make(&b, i);
        struct job_request checked = b.req[i];
        bool possible = false;
        struct brute empty = b;
        empty.nruns = 0;
        possible = any_set(&empty, &b.ask[i], NOW, ~0U) != 0;
        if (!possible && b.ask[i].gpu_type == GPU_ANY) {
            b.ask[i].mixes = true;
            possible = any_set(&empty, &b.ask[i], NOW, ~0U) != 0;
        }
        bool taken = sched_check(b.cl, &checked, 1000, NULL, NULL, NULL) == REFUSE_NONE;
        if (possible != taken)
            fail_msg("%s is %s, but %s start on the empty cluster", world_text(&b, i + 1),
                     taken ? "taken" : "refused", possible ? "could" : "could never");
        if (!taken)
            continue;
        queue_job(b.cl, i + 1, &b.req[i]);
        if (i >= runs) {
            queue[n++] = i + 1;
            continue;
        }
        sched_plan(b.cl, NOW, NULL, b.plan);
        const struct plan_start *s = start_of(b.plan, i + 1);
        if (s) {
            start_take(&b, &b.ask[i], s);
            cluster_start(b.cl, i + 1, &b.req[i], 1000, s->partition, &s->alloc, NOW,
                          NOW + s->limit_us);
        }
        cluster_unwait(b.cl, i + 1);
    }
    pass_check(&b, queue, n);
    plan_free(b.plan);
    cluster_free(b.cl);
}

static void agrees_with_a_planner_that_tries_every_set(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= worlds_of(600); seed++)
        world(seed * 2654435761U);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_a_planner_that_tries_every_set)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
