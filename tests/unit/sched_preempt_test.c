/* Which running jobs give way: compared with trying every set of victims, on random small
 * clusters. */
#include "base/rng.h"
#include "sched_help.h"

#define NODES 3
#define CPUS  6
#define RUNS  7

struct victim {
    int node, last, cpus; /* on nodes node … last, so many CPUs on each */
    int64_t lost;
};

struct case_ {
    struct cluster *cl;
    struct victim run[RUNS];
    size_t n;
    int used[NODES];
    int want_nodes, want_cpus; /* on each */
};

static struct partition low(enum preempt_mode mode)
{
    struct partition p = a_part("low", "n[1-3]");
    p.preempt_mode = mode;
    return p;
}

static struct cluster *a_cluster(enum preempt_mode mode, const char *exempt)
{
    struct cluster *cl = cluster_new();
    struct settings s;
    settings_default(&s);
    put_setting(&s, "PreemptType", "preempt/partition_prio");
    put_setting(&s, "PreemptMode", "REQUEUE");
    s.preempt_exempt_us = exempt ? 10 * MIN : 0;
    cluster_set_policy(cl, &s);
    struct node n = a_node("");
    n.cpus = CPUS;
    n.sockets = 1;
    n.cores_per_socket = CPUS;
    put_nodes(cl, "n[1-3]", n);
    struct partition l = low(mode), h = a_part("high", "n[1-3]");
    h.is_default = false;
    h.priority_tier = 5;
    put_part(cl, &l);
    put_part(cl, &h);
    return cl;
}

static void run_add(struct cluster *cl, uint64_t id, const struct victim *v, int first_cpu[NODES],
                    int64_t ran_us)
{
    struct alloc_node an[NODES];
    char name[NODES][16], cpus[NODES][32];
    struct alloc al = {.node = an};
    struct job_request req = {.partition = "low"};
    for (int i = v->node; i <= v->last; i++, al.n++) {
        snprintf(name[i], sizeof name[i], "n%d", i + 1);
        snprintf(cpus[i], sizeof cpus[i], "%d-%d", first_cpu[i], first_cpu[i] + v->cpus - 1);
        first_cpu[i] += v->cpus;
        an[al.n] = (struct alloc_node){
            .node = name[i], .cpus = cpus[i], .cpu_count = v->cpus, .mem_mib = 10};
    }
    cluster_start(cl, id, &req, 1000, "low", &al, NOW - ran_us, NOW + 5 * HOUR);
}

static void case_make(struct case_ *x, struct rng *rng)
{
    *x = (struct case_){.cl = a_cluster(PREEMPT_UNSET, NULL)};
    int first[NODES] = {0};
    for (int tries = 0; tries < 20 && x->n < RUNS; tries++) {
        struct victim v = {.node = (int)rng_below(rng, NODES), .cpus = (int)rng_range(rng, 1, 4)};
        v.last = v.node + (int)rng_below(rng, 2) * (v.node < NODES - 1);
        bool room = true;
        for (int i = v.node; i <= v.last; i++)
            room &= first[i] + v.cpus <= CPUS;
        if (!room)
            continue;
        int64_t ran = (int64_t)rng_range(rng, 1, 50) * 10 * USEC_PER_SEC;
        v.lost = (v.last - v.node + 1) * v.cpus * (ran / USEC_PER_SEC);
        run_add(x->cl, 100 + x->n, &v, first, ran);
        x->run[x->n++] = v;
    }
    memcpy(x->used, first, sizeof first);
    x->want_nodes = (int)rng_range(rng, 1, 2);
    x->want_cpus = (int)rng_range(rng, 2, CPUS);
}

static bool set_makes_room(const struct case_ *x, unsigned set)
{
    int fit = 0;
    for (int i = 0; i < NODES; i++) {
        int used = x->used[i];
        for (size_t k = 0; k < x->n; k++)
            if ((set >> k & 1) && x->run[k].node <= i && i <= x->run[k].last)
                used -= x->run[k].cpus;
        fit += CPUS - used >= x->want_cpus;
    }
    return fit >= x->want_nodes;
}

static int64_t set_cost(const struct case_ *x, unsigned set)
{
    int64_t cost = 0;
    for (size_t k = 0; k < x->n; k++)
        cost += (set >> k & 1) ? x->run[k].lost : 0;
    return cost;
}

static struct plan *plan_high(struct cluster *cl, const struct job_request *req)
{
    struct plan *plan = plan_new();
    queue_job(cl, 1, req);
    sched_plan(cl, NOW, NULL, plan);
    cluster_check(cl); /* lifting left no trace */
    return plan;
}

static void test_the_cheapest_victims_and_none_in_vain(void **state)
{
    (void)state;
    struct rng rng = {7};
    int preempted = 0, best = 0;
    for (int round = 0; round < 400; round++) {
        struct case_ x;
        case_make(&x, &rng);
        struct job_request req = {.partition = "high",
                                  .ntasks = x.want_nodes * x.want_cpus,
                                  .min_nodes = x.want_nodes,
                                  .max_nodes = x.want_nodes,
                                  .ntasks_per_node = x.want_cpus,
                                  .mem_per_node_mib = 10,
                                  .time_limit_us = HOUR};
        struct plan *plan = plan_high(x.cl, &req);
        unsigned set = 0;
        for (size_t i = 0; i < plan->npreempts; i++) {
            assert_int_equal(plan->preempt[i].for_job, 1);
            assert_int_equal(plan->preempt[i].mode, PREEMPT_REQUEUE);
            set |= 1u << (plan->preempt[i].victim - 100);
        }
        assert_int_equal(plan->nstarts, set_makes_room(&x, 0));
        if (!set_makes_room(&x, 0)) {
            int64_t least = INT64_MAX;
            for (unsigned s = 1; s < 1u << x.n; s++)
                if (set_makes_room(&x, s) && set_cost(&x, s) < least)
                    least = set_cost(&x, s);
            assert_true(set_makes_room(&x, set));
            for (size_t k = 0; k < x.n; k++)
                assert_false((set >> k & 1) && set_makes_room(&x, set & ~(1u << k)));
            assert_true(set_cost(&x, set) >= least);
            preempted++;
            best += set_cost(&x, set) == least;
        } else {
            assert_int_equal(set, 0);
        }
        plan_free(plan);
        cluster_free(x.cl);
    }
    assert_true(preempted > 200);
    assert_int_equal(best, preempted); /* of so few every set is tried */
}

static void test_who_is_safe(void **state)
{
    (void)state;
    struct job_request req = {
        .partition = "high", .ntasks = CPUS * NODES, .mem_per_node_mib = 10, .time_limit_us = HOUR};
    struct {
        enum preempt_mode mode;
        const char *exempt;
        int64_t ran_us;
        size_t victims;
    } cases[] = {
        {PREEMPT_OFF, NULL, HOUR, 0},      {PREEMPT_CANCEL, NULL, HOUR, 1},
        {PREEMPT_UNSET, "10", 9 * MIN, 0}, {PREEMPT_UNSET, "10", 10 * MIN, 1},
        {PREEMPT_SUSPEND, "10", MIN, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cluster *cl = a_cluster(cases[i].mode, cases[i].exempt);
        int first[NODES] = {0};
        run_add(cl, 100, &(struct victim){.node = 0, .last = 1, .cpus = 2}, first, cases[i].ran_us);
        struct plan *plan = plan_high(cl, &req);
        assert_int_equal(plan->npreempts, cases[i].victims);
        if (cases[i].exempt && !cases[i].victims)
            assert_true(plan->next_us == NOW + MIN);
        plan_free(plan);
        cluster_free(cl);
    }
}

/* The low partition's own jobs never stop each other, and what ends soon anyway is waited for. */
static void test_no_need(void **state)
{
    (void)state;
    struct job_request req = {
        .partition = "low", .ntasks = CPUS * NODES, .mem_per_node_mib = 10, .time_limit_us = HOUR};
    struct cluster *cl = a_cluster(PREEMPT_UNSET, NULL);
    int first[NODES] = {0};
    run_add(cl, 100, &(struct victim){.node = 0, .last = 2, .cpus = 2}, first, HOUR);
    struct plan *plan = plan_high(cl, &req);
    assert_int_equal(plan->npreempts, 0);
    plan_free(plan);
    cluster_unwait(cl, 1);
    cluster_set_end(cl, 100, NOW + 20 * USEC_PER_SEC);
    req.partition = "high";
    plan = plan_high(cl, &req);
    assert_int_equal(plan->npreempts, 0);
    cluster_set_end(cl, 100, NOW + HOUR);
    cluster_ending(
        cl, 100, 1,
        NOW + 3 * MIN); /* its victim is ending: no other is taken, and the room is promised */
    sched_plan(cl, NOW, NULL, plan);
    assert_int_equal(plan->npreempts, 0);
    struct plan_wait wait;
    assert_true(plan_wait_of(plan, cl, 1, &wait));
    assert_true(wait.planned_us == NOW + 3 * MIN);
    plan_free(plan);
    cluster_free(cl);
}

/* PriorityTier=0 is a tier like any other: its jobs do not stop each other. */
static void equals_of_the_lowest_tier_do_not_stop_each_other(void **state)
{
    struct cluster *cl = a_cluster(PREEMPT_UNSET, NULL);
    struct partition l = low(PREEMPT_UNSET);
    l.priority_tier = 0;
    put_part(cl, &l);
    struct victim v = {.node = 0, .last = 2, .cpus = CPUS};
    int first[NODES] = {0};
    run_add(cl, 1, &v, first, HOUR);
    struct job_request q = {.partition = "low", .time_limit_us = HOUR};
    struct plan *plan = plan_new();
    queue_job(cl, 2, &q);
    sched_plan(cl, NOW, NULL, plan);
    assert_int_equal(plan->npreempts, 0);
    q.partition = "high";
    queue_job(cl, 2, &q);
    sched_plan(cl, NOW, NULL, plan);
    assert_int_equal(plan->npreempts, 1);
    plan_free(plan);
    cluster_free(cl);
}

/* Of two GPUs one is out; a job of high wants both, one of low a single one. How many start? */
static size_t starts_beside(const char *out, int64_t *ret_next_us)
{
    struct cluster *cl = a_cluster(PREEMPT_UNSET, NULL);
    struct node n = a_node("n1");
    n.gres = "gpu:v100:2";
    n.devices = "gpu:v100:0:::;gpu:v100:1:::";
    n.devices_out = out;
    put_node(cl, &n);
    struct job_request both = {.partition = "high", .gres = "gpu:2", .time_limit_us = HOUR};
    struct job_request one = {.partition = "low", .gres = "gpu:1", .time_limit_us = HOUR};
    queue_job(cl, 1, &both);
    queue_job(cl, 2, &one);
    struct plan *plan = plan_new();
    sched_plan(cl, NOW, NULL, plan);
    size_t starts = plan->nstarts;
    *ret_next_us = plan->next_us;
    plan_free(plan);
    cluster_free(cl);
    return starts;
}

/* A device that is not proven clean is counted on for five minutes, after which nobody waits for
 * it; a broken one is not, nor what is out since a time that cannot be. */
static void test_a_device_is_counted_on_for_a_moment(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        int64_t age_us;
        size_t starts;
        int64_t next_us; /* from now; when it is expected, or given up */
    } cases[] = {
        {"unproven", 0, 0, USEC_PER_SEC},
        {"unproven", 40 * USEC_PER_SEC, 0, 40 * USEC_PER_SEC},
        {"unproven", 4 * MIN, 0, MIN},
        {"unproven", 5 * MIN, 1, HOUR},
        {"unproven", -MIN, 0, USEC_PER_SEC},
        {"unproven", -HOUR, 1, HOUR},
        {"unproven", INT64_MIN / 2, 1, HOUR},
        {"unproven", NOW - INT64_MAX, 1, HOUR},
        {"failed", 40 * USEC_PER_SEC, 1, HOUR},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char out[160];
        int64_t next;
        snprintf(out, sizeof out, "gpu:0:%s:%lld:a process still holds it", cases[i].what,
                 (long long)(NOW - cases[i].age_us));
        size_t starts = starts_beside(out, &next);
        if (starts != cases[i].starts || next != NOW + cases[i].next_us)
            fail_msg("case %zu: %zu start, the next pass in %lld us", i, starts,
                     (long long)(next - NOW));
    }
}

/* ---- who gave way does not come back before the one it was for ---- */

/* Two nodes of which jobs of "main" share the CPUs, which those of "high" want alone: what is free
 * after work that shares is not foreseen, so nothing is promised there. */
static struct cluster *a_cluster_that_shares(bool by_qos)
{
    struct cluster *cl = cluster_new();
    struct settings s;
    settings_default(&s);
    put_setting(&s, "PreemptType", by_qos ? "preempt/qos" : "preempt/partition_prio");
    put_setting(&s, "PreemptMode", "REQUEUE");
    cluster_set_policy(cl, &s);
    put_nodes(cl, "n[1-3]", a_node(""));
    struct partition l = a_part("main", "n[1-2]"), h = a_part("high", "n[1-2]"),
                     other = a_part("elsewhere", "n3");
    l.share = SHARE_FORCE;
    l.share_count = 2;
    h.is_default = other.is_default = false;
    h.priority_tier = 5;
    put_part(cl, &l);
    put_part(cl, &h);
    put_part(cl, &other);
    cluster_put_qos(cl, &(struct sched_qos){.name = "low"});
    cluster_put_qos(cl, &(struct sched_qos){.name = "test", .preempt = "low"});
    cluster_put_qos(cl, &(struct sched_qos){.name = "top", .preempt = "test"});
    return cl;
}

static void wait_in_pieces(struct cluster *cl, uint64_t id, const struct job_request *req,
                           int pieces)
{
    for (int i = 0; i < pieces; i++) {
        struct waiting w = {.job_id = id + (uint64_t)i,
                            .req = req,
                            .uid = 1000,
                            .elements = 1,
                            .het_job_id = pieces > 1 ? id : 0,
                            .het_size = pieces > 1 ? (uint32_t)pieces : 0,
                            .submit_us = NOW - HOUR + (int64_t)id,
                            .eligible_us = NOW - HOUR + (int64_t)id};
        cluster_wait(cl, &w);
    }
}

static void run_on(struct cluster *cl, uint64_t id, const char *node, const struct job_request *req)
{
    struct alloc_node an = {.node = node, .cpus = "0-7", .cpu_count = 8, .mem_mib = 10};
    struct alloc al = {.node = &an, .n = 1};
    cluster_start(cl, id, req, 1000, req->partition, &al, NOW - HOUR, NOW + 5 * HOUR);
}

struct comeback {
    bool by_qos;
    int asker, next; /* components of the job that work is stopped for, and of the next */
    const char *partition, *qos; /* of the next */
    bool begins;
    bool far; /* one node will do, and on another that is promised, but late */
};

static void plan_expect(const struct comeback *x, struct cluster *cl, struct plan *plan,
                        int64_t at_us, size_t stops)
{
    size_t begin = x->begins ? (size_t)x->next : 0;
    sched_plan(cl, at_us, NULL, plan);
    if (plan->npreempts != stops || plan->nstarts != begin)
        fail_msg("%s, %d for %d, %s of %s: %zu are stopped and not %zu, %zu start and not %zu",
                 x->by_qos ? "QOS" : "tiers", x->asker, x->next, x->partition, x->qos,
                 plan->npreempts, stops, plan->nstarts, begin);
}

static void comes_back(const struct comeback *x)
{
    struct cluster *cl = a_cluster_that_shares(x->by_qos);
    struct job_request low = {.partition = "main", .qos = "low"},
                       top = {.partition = "high", .qos = "top"},
                       next = {.partition = x->partition,
                               .qos = x->qos,
                               .mem_per_node_mib = 10,
                               .time_limit_us = HOUR},
                       asks = {.partition = "high",
                               .qos = "test",
                               .min_nodes = x->far ? 1 : 2 / x->asker,
                               .cpus_per_task = 8,
                               .mem_per_node_mib = 10,
                               .time_limit_us = HOUR};
    run_on(cl, 100, "n1", &low);
    run_on(cl, 101, "n2", x->far ? &top : &low);
    wait_in_pieces(cl, 10, &asks, x->asker);
    wait_in_pieces(cl, 20, &next, x->next);
    struct plan *plan = plan_new();
    plan_expect(x, cl, plan, NOW, x->far ? 1 : 2);
    cluster_ending(cl, 100, 10, NOW + 30 * USEC_PER_SEC);
    if (!x->far) {
        /* The other is not gone yet: whoever began in the place of one would be stopped, too. */
        cluster_ending(cl, 101, 10, NOW + 30 * USEC_PER_SEC);
        cluster_release(cl, 101);
    }
    plan_expect(x, cl, plan, NOW + USEC_PER_SEC, 0);
    cluster_release(cl, 100);
    sched_plan(cl, NOW + 2 * USEC_PER_SEC, NULL, plan);
    assert_int_equal(plan->npreempts, 0);
    assert_non_null(start_of(plan, 10));
    cluster_check(cl);
    plan_free(plan);
    cluster_free(cl);
}

static void test_who_gave_way_is_not_back_first(void **state)
{
    (void)state;
    static const struct comeback cases[] = {
        {true, 1, 1, "main", "low", false, false},
        {true, 2, 1, "main", "low", false, false},
        {true, 1, 2, "main", "low", false, false},
        {true, 1, 1, "main", "test", true, false},
        {true, 1, 1, "main", "top", true, false},
        {true, 1, 1, "main", "low", false, true},
        {true, 1, 1, "elsewhere", "low", true, false},
        {false, 1, 1, "main", "low", false, false},
        {false, 2, 1, "main", "low", false, false},
        {false, 1, 2, "main", "low", false, false},
        {false, 1, 1, "main", "low", false, true},
        {false, 1, 1, "elsewhere", "low", true, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        comes_back(&cases[i]);
}

/* Work was stopped for a job that then cannot start: a node is gone. Others wait for it a moment, are
 * looked at again when that is over, and begin. */
static void test_nobody_is_kept_out_for_long(void **state)
{
    (void)state;
    for (int by_qos = 0; by_qos < 2; by_qos++) {
        struct cluster *cl = a_cluster_that_shares(by_qos);
        struct job_request low = {.partition = "main", .qos = "low"}, next = low,
                           asks = {.partition = "high",
                                   .qos = "test",
                                   .min_nodes = 2,
                                   .cpus_per_task = 8,
                                   .mem_per_node_mib = 10,
                                   .time_limit_us = HOUR};
        next.mem_per_node_mib = 10;
        next.time_limit_us = HOUR;
        run_on(cl, 100, "n1", &low);
        wait_in_pieces(cl, 10, &asks, 1);
        wait_in_pieces(cl, 20, &next, 1);
        struct plan *plan = plan_new();
        sched_plan(cl, NOW, NULL, plan);
        assert_int_equal(plan->npreempts, 1);
        cluster_release(cl, 100);
        struct node n = a_node("n1");
        n.state = NODE_DOWN;
        put_node(cl, &n);
        sched_plan(cl, NOW + USEC_PER_SEC, NULL, plan);
        assert_int_equal(plan->nstarts, 0);
        assert_true(plan->next_us > NOW + MIN && plan->next_us < NOW + 5 * MIN);
        sched_plan(cl, plan->next_us, NULL, plan);
        assert_non_null(start_of(plan, 20));
        plan_free(plan);
        cluster_free(cl);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_of_the_lowest_tier_do_not_stop_each_other),
        cmocka_unit_test(test_the_cheapest_victims_and_none_in_vain),
        cmocka_unit_test(test_who_is_safe),
        cmocka_unit_test(test_no_need),
        cmocka_unit_test(test_who_gave_way_is_not_back_first),
        cmocka_unit_test(test_nobody_is_kept_out_for_long),
        cmocka_unit_test(test_a_device_is_counted_on_for_a_moment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
