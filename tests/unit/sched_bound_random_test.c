/* On random clusters and queues: jobs of a partition never have more CPUs of a node, or of a socket,
 * than it allows, whether they share them or not, and all that can run do. */
#include "sched_worlds.h"

#include "base/idset.h"

static uint64_t shared; /* so that worlds in which nobody shares fail */

/* How many jobs of the partition have each CPU of the node. */
static void jobs_on(const struct sim *s, size_t part, size_t node, int jobs[64])
{
    for (size_t i = 0; i < s->njobs; i++) {
        const struct task *j = &s->job[i];
        const struct alloc_node *a =
            j->start && !j->gone ? alloc_find(&j->al, s->name[node]) : NULL;
        struct idset set = IDSET_INIT;
        if (!a || !text_is(j->part, s->part[part].name))
            continue;
        assert_true(idset_parse(&set, a->cpus, 63, NULL));
        for (uint32_t c = 0; c < 64; c++)
            jobs[c] += idset_has(&set, c);
        idset_done(&set);
    }
}

static void check_bound(const struct sim *s, size_t part, size_t node)
{
    const struct partition *p = &s->part[part];
    int jobs[64] = {0}, cpus = 0, of_socket = s->node[node].cpus / s->node[node].sockets;
    jobs_on(s, part, node, jobs);
    for (int c = 0, here = 0; c < s->node[node].cpus; c++) {
        here = c % of_socket == 0 ? 0 : here;
        here += jobs[c] > 0;
        cpus += jobs[c] > 0;
        shared += jobs[c] > 1;
        if (p->max_cpus_per_socket > 0 && here > p->max_cpus_per_socket)
            fail_msg("world %llu: %s has more than %d CPUs of a socket of %s",
                     (unsigned long long)s->seed, p->name, p->max_cpus_per_socket, s->name[node]);
    }
    if (cpus > p->max_cpus_per_node)
        fail_msg("world %llu: %s has %d CPUs of %s, and may have %d", (unsigned long long)s->seed,
                 p->name, cpus, s->name[node], p->max_cpus_per_node);
}

static void turn(struct sim *s)
{
    end_due(s);
    sched_plan(s->cl, s->now, NULL, s->plan);
    for (size_t i = 0; i < s->plan->nstarts; i++)
        start(s, &s->plan->start[i]);
    for (size_t p = 0; p < s->nparts; p++)
        for (size_t n = 0; n < s->nnodes; n++)
            check_bound(s, p, n);
    cluster_check(s->cl);
}

static void a_partition_has_no_more_than_it_may(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= worlds_of(200); seed++) {
        struct sim s = {.rng = {seed * 32452843}, .seed = seed, .bounded = true};
        world_play(&s, turn);
        for (size_t i = 0; i < s.njobs; i++) {
            struct plan_wait w;
            if (s.job[i].start)
                continue;
            assert_true(plan_wait_of(s.plan, s.cl, s.job[i].id, &w));
            if (w.reason != REASON_REQ_NODE_NOT_AVAIL)
                fail_msg("world %llu: job %llu never ran: %s, %s", (unsigned long long)seed,
                         (unsigned long long)s.job[i].id, enum_name(&job_reason_names, w.reason),
                         w.detail);
        }
        world_done(&s);
    }
    assert_true(shared > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_partition_has_no_more_than_it_may)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
