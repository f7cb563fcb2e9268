/* What is shown of a waiting job before there is an allocation to say it: the limit it will have,
 * the nodes it will need, when it will have ended. */
#include "core/query/query.h"

#include "base/alloc.h"
#include "base/amount.h"
#include "model/grammar/gres.h"
#include "model/job/job_counts.h"

#include <stdlib.h>
#include <string.h>

static int32_t node_cpus(const struct node *n)
{
    return n->cpus;
}

/* Of all types. */
static int32_t node_gpus(const struct node *n)
{
    struct arena *a = arena_new();
    struct gres_list list;
    int64_t count = n->gres && gres_parse(n->gres, a, &list, NULL) ? gres_count(&list, "gpu") : 0;
    arena_free(a);
    return count < INT32_MAX ? (int32_t)count : INT32_MAX;
}

/* The most that a node of the partition has. */
static int32_t most_of(const struct core *c, const struct partition *p,
                       int32_t (*has)(const struct node *n))
{
    struct hostlist names = HOSTLIST_INIT;
    int32_t most = 0;
    if (p->nodes)
        hostlist_parse(&names, p->nodes, NULL);
    for (size_t i = 0; i < names.n; i++) {
        const struct noderec *n = node_find(c, names.name[i]);
        int32_t count = n ? has(&n->n) : 0;
        if (count > most)
            most = count;
    }
    hostlist_done(&names);
    return most;
}

struct part_node { /* the most that one node of a partition has */
    int32_t cpus;
    int32_t gpus; /* -1: not looked up */
};

static struct part_node *largest(const struct core *c, struct part_nodes *known,
                                 const struct partrec *p)
{
    const char *name;
    if (!known->of)
        known->of = map_str_new();
    void **slot = map_str_slot(known->of, p->p.name, true, &name);
    if (!*slot) {
        struct part_node *one = *slot = xcalloc(1, sizeof *one);
        *one = (struct part_node){most_of(c, &p->p, node_cpus), -1};
    }
    return *slot;
}

/* Nodes for so many if it had the largest of the partition, which has `most`, to itself. */
static int32_t nodes_for(const struct job_request *r, int64_t asked, int32_t most)
{
    int64_t nodes = most > 0 && asked > 0 ? (asked - 1) / most + 1 : 0;
    if (r->max_nodes > 0 && nodes > r->max_nodes)
        nodes = r->max_nodes;
    return nodes < INT32_MAX ? (int32_t)nodes : INT32_MAX;
}

/* As few nodes as its tasks' CPUs and its GPUs can be on. */
static void nodes_complete(const struct core *c, struct part_nodes *known, const struct partrec *p,
                           struct job *j)
{
    struct job_request *r = &j->spec.req;
    int32_t nodes = 0;
    if (r->ntasks > 1 && r->ntasks_per_node <= 0 && !r->overcommit)
        nodes = nodes_for(r, amount_times(r->ntasks, r->cpus_per_task > 0 ? r->cpus_per_task : 1),
                          largest(c, known, p)->cpus);
    if (r->gpus || r->gpus_per_task) {
        struct part_node *node = largest(c, known, p);
        if (node->gpus < 0)
            node->gpus = most_of(c, &p->p, node_gpus);
        int32_t of_gpus = nodes_for(r, job_gpus_asked(j), node->gpus);
        nodes = of_gpus > nodes ? of_gpus : nodes;
    }
    if (nodes > r->min_nodes)
        r->min_nodes = nodes;
}

void pending_complete(const struct core *c, struct part_nodes *known, struct job *j)
{
    ASSERT(j->state == JOB_PENDING || j->state == JOB_SPECIAL_EXIT);
    struct job_request *r = &j->spec.req;
    const struct partrec *p = part_first(c, r->partition);
    if (!p)
        return;
    if (r->time_limit_us <= 0)
        j->limit_us = p->p.default_time_us > 0 ? p->p.default_time_us
                      : p->p.max_time_us > 0   ? p->p.max_time_us
                                               : TIME_UNLIMITED;
    int64_t limit = r->time_limit_us > 0 ? r->time_limit_us : j->limit_us;
    if (j->planned_us && limit > 0 && limit != TIME_UNLIMITED)
        j->end_us = time_add(j->planned_us, limit);
    if (!j->eligible_us)
        j->eligible_us = j->spec.begin_us;
    nodes_complete(c, known, p, j);
}

void part_nodes_done(struct part_nodes *known)
{
    struct map_walk w = {0};
    while (known->of && map_str_next(known->of, &w))
        free(w.value);
    map_str_free(known->of);
}
