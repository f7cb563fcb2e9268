/* Every invariant of the machine, asserted: run after each step of simulated worlds. */
#include "core/inside.h"

#include <string.h>

static bool holds_nodes(const struct jobrec *r)
{
    return r->j.state == JOB_RUNNING || r->j.state == JOB_SUSPENDED || r->j.state == JOB_COMPLETING || r->j.state == JOB_REQUEUED;
}

static bool node_lists(const struct core *c, uint32_t node, uint64_t job_id)
{
    const struct noderec *n = c->node.v[node];
    size_t times = 0;
    for (size_t i = 0; i < n->job.n; i++)
        times += n->job.v[i] == job_id;
    return times == 1;
}

static void array_check(const struct core *c, const struct jobrec *r)
{
    const struct arrayrec *array = array_of(c, r->j.array_job_id);
    CHECK(array);
    if (job_is_array(r)) {
        struct map_walk w = {0};
        struct str text = STR_INIT;
        idset_format(&r->pending, &text);
        CHECK(r->pending.count > 0 && text_is(str_text(&text), r->j.array_pending));
        str_done(&text);
        while (map_u64_next(array->element, &w))
            CHECK(!idset_has(&r->pending, (uint32_t) w.key));
    } else {
        CHECK(map_u64_get(array->element, r->j.array_task_id) == r);
        CHECK(!r->j.array_pending && r->pending.count == 0);
    }
}

static void job_check(const struct core *c, const struct jobrec *r)
{
    CHECK(r->j.id < c->next_job_id);
    if (holds_nodes(r)) {
        CHECK(r->j.start_us && r->j.alloc && r->j.attempt > 0);
        for (size_t i = 0; i < r->hold.n; i++)
            CHECK(r->hold.v[i].released || node_lists(c, r->hold.v[i].node, r->j.id));
    } else {
        CHECK(r->hold.n == 0);
        CHECK(!cluster_is_running(c->cluster, r->j.id));
    }
    CHECK(!r->waiting || r->j.state == JOB_PENDING);
    CHECK(!job_state_over((enum job_state) r->j.state) || r->j.end_us);
    CHECK((r->j.state == JOB_REQUEUED) <= r->j.requeue_pending);
    if (r->j.array_job_id)
        array_check(c, r);
}

static void nodes_check(const struct core *c)
{
    for (size_t i = 0; i < c->node.n; i++) {
        const struct noderec *n = c->node.v[i];
        CHECK(n->index == i);
        CHECK(!n->conn || map_u64_get(c->node_by_conn, n->conn) == n);
        for (size_t k = 0; k < n->job.n; k++) {
            const struct jobrec *r = job_find(c, n->job.v[k]);
            CHECK(r && holds_nodes(r));
        }
    }
}

void core_check(const struct core *c)
{
    struct map_walk w = {0};
    uint64_t pending = 0, running = 0;
    while (map_u64_next(c->job, &w)) {
        const struct jobrec *r = w.value;
        CHECK(r->j.id == w.key);
        job_check(c, r);
        if (r->j.state == JOB_PENDING)
            pending += job_is_array(r) ? r->pending.count : 1;
        running += r->j.state == JOB_RUNNING || r->j.state == JOB_SUSPENDED;
    }
    CHECK(pending == c->pending);
    CHECK(running == c->running);
    nodes_check(c);
    cluster_check(c->cluster);
}

uint64_t core_hash(const struct core *c)
{
    struct map_walk w = {0};
    uint64_t hash = hash_bytes(HASH_INIT, &c->next_job_id, sizeof c->next_job_id), jobs = 0;
    /* The order of the map is that of insertion, which a restart changes: a sum does not see it. */
    while (map_u64_next(c->job, &w)) {
        const struct jobrec *r = w.value;
        jobs += record_hash(&job_fields, &r->j, HASH_INIT);
    }
    hash = hash_bytes(hash, &jobs, sizeof jobs);
    for (size_t i = 0; i < c->node.n; i++)
        hash = record_hash(&node_fields, &c->node.v[i]->n, hash);
    for (size_t i = 0; i < c->part.n; i++)
        hash = record_hash(&partition_fields, &c->part.v[i]->p, hash);
    return hash;
}
