/* What is shown of a waiting job before there is an allocation to say it: the limit it will have,
 * the nodes it will need, when it will have ended. */
#include "core/query/query.h"

#include <string.h>

static int32_t cpus_look_up(const struct core *c, const struct partition *p)
{
    struct hostlist names = HOSTLIST_INIT;
    int32_t most = 0;
    if (p->nodes)
        hostlist_parse(&names, p->nodes, NULL);
    for (size_t i = 0; i < names.n; i++) {
        const struct noderec *n = node_find(c, names.name[i]);
        if (n && n->n.cpus > most)
            most = n->n.cpus;
    }
    hostlist_done(&names);
    return most;
}

/* CPUs of the partition's largest node; looked up once a query. */
static int32_t node_cpus(const struct core *c, struct part_cpus *known, const struct partrec *p)
{
    for (size_t i = 0; i < known->seen.n; i++)
        if (known->seen.v[i].part == p)
            return known->seen.v[i].cpus;
    struct part_cpu one = {p, cpus_look_up(c, &p->p)};
    vec_push(&known->seen, one);
    return one.cpus;
}

/* Nodes for its CPUs if it had the largest of the partition to itself. */
static int32_t nodes_for_cpus(const struct job_request *r, int32_t most)
{
    int64_t cpus = (int64_t)r->ntasks * (r->cpus_per_task > 0 ? r->cpus_per_task : 1);
    int64_t nodes = most > 0 ? (cpus + most - 1) / most : 0;
    if (r->max_nodes > 0 && nodes > r->max_nodes)
        nodes = r->max_nodes;
    return nodes < INT32_MAX ? (int32_t)nodes : INT32_MAX;
}

void pending_complete(const struct core *c, struct part_cpus *known, struct job *j)
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
    if (r->ntasks > 1 && r->ntasks_per_node <= 0 && !r->overcommit) {
        int32_t nodes = nodes_for_cpus(r, node_cpus(c, known, p));
        if (nodes > r->min_nodes)
            r->min_nodes = nodes;
    }
}

void part_cpus_done(struct part_cpus *known)
{
    vec_done(&known->seen);
}
