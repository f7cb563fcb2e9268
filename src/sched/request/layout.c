/* From options to a layout. The forms a user may give are many, what the planner must know is
 * little: how many nodes, how many units in all and on each node, and what a unit is. A unit is the
 * smallest piece that is placed as one:
 *   neither -n nor --gpus     a node's share (its tasks); as many as nodes
 *   -n                        a task, or a node's even share of the tasks
 *   --gpus                    a GPU, or a node's even share of them
 *   -n and --gpus             a bundle: the tasks and GPUs divided by their greatest common divisor
 * Where the nodes are counted and the tasks divide evenly, the even layout comes first and the
 * uneven one after it. */
#include "sched/request/demand.h"

#include "base/amount.h"
#include "model/limits.h"

#include <stdio.h>
#include <string.h>

static int32_t most(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

static int32_t least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static int64_t common(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static int32_t up(int64_t a, int64_t b)
{
    return (int32_t)((a + b - 1) / b);
}

static size_t refuse(struct verdict *v, enum refusal r, const char *text)
{
    if (v) {
        v->refusal = r;
        v->reason = REASON_BAD_CONSTRAINTS;
        if (v->text)
            str_add(v->text, text);
    }
    return 0;
}

/* What the options say, with what follows from them filled in. */
struct layout_counts {
    int32_t nodes, max_nodes, tasks, per_node;
    int64_t gpus, node_gpus, task_gpus;
};

/* More than there may be are one more than that: which demand_tasks_bounded refuses. */
static int32_t tasks_most(int64_t tasks)
{
    return (int32_t)(tasks < (int64_t)LIMIT_TASKS + 1 ? tasks : (int64_t)LIMIT_TASKS + 1);
}

static struct layout node_shares(const struct layout_counts *k, int32_t tasks, int64_t gpus)
{
    return (struct layout){.nmin = k->nodes,
                           .nmax = k->max_nodes,
                           .umin = 1,
                           .umax = 1,
                           .unit_tasks = tasks,
                           .unit_gpus = amount_plus(
                               k->node_gpus, amount_plus(amount_times(tasks, k->task_gpus), gpus)),
                           .gpu_share = gpus > 0 ? k->gpus / gpus : 0};
}

static struct layout pieces(const struct layout_counts *k, int32_t units, int32_t on_node,
                            int32_t unit_tasks, int64_t unit_gpus)
{
    return (struct layout){.nmin = k->nodes,
                           .nmax = k->max_nodes,
                           .units = units,
                           .umin = 1,
                           .umax = least(on_node, units - (k->nodes - 1)),
                           .base_gpus = k->node_gpus,
                           .unit_tasks = unit_tasks,
                           .unit_gpus =
                               amount_plus(amount_times(unit_tasks, k->task_gpus), unit_gpus),
                           .gpu_share = k->gpus > 0 ? units : 0};
}

static size_t by_tasks(struct layout_counts *k, struct layout *ret, struct verdict *v)
{
    int32_t on_node = k->per_node > 0 ? least(k->per_node, k->tasks) : k->tasks;
    bool counted = k->nodes > 0;
    k->nodes = most(least(k->nodes, k->tasks), up(k->tasks, on_node));
    if (k->max_nodes == 0)
        k->max_nodes = counted ? k->nodes : k->tasks;
    if (k->nodes > k->max_nodes)
        return refuse(v, REFUSE_NODE_CONFIG,
                      "more tasks than fit on the nodes asked for with so many tasks on each");
    k->max_nodes = least(k->max_nodes, k->tasks);
    size_t n = 0;
    if (k->nodes == k->max_nodes && k->tasks % k->nodes == 0)
        ret[n++] = node_shares(k, k->tasks / k->nodes, 0);
    if (n == 0 || (on_node > ret[0].unit_tasks && k->nodes > 1))
        ret[n++] = pieces(k, k->tasks, on_node, 1, 0);
    return n;
}

static size_t by_gpus(struct layout_counts *k, const struct job_request *req, struct layout *ret,
                      struct verdict *v)
{
    int32_t tasks = req->ntasks_per_gpu > 0 ? 0 : most(k->per_node, 1);
    int32_t gpus = (int32_t)k->gpus;
    size_t n = 0;
    bool counted = k->nodes > 0;
    k->nodes = most(k->nodes, 1);
    if (k->max_nodes == 0)
        k->max_nodes = counted ? k->nodes : gpus;
    if (k->nodes > gpus)
        return refuse(v, REFUSE_GRES,
                      "fewer GPUs than nodes: each node of a job with --gpus gets at least one");
    k->max_nodes = least(k->max_nodes, gpus);
    if (k->nodes == k->max_nodes && gpus % k->nodes == 0)
        ret[n++] = node_shares(
            k, tasks > 0 ? tasks : tasks_most(amount_times(req->ntasks_per_gpu, gpus / k->nodes)),
            gpus / k->nodes);
    if (n == 0 || (k->nodes > 1 && gpus > k->nodes)) {
        ret[n] = pieces(k, gpus, gpus, tasks > 0 ? 0 : req->ntasks_per_gpu, 1);
        ret[n++].base_tasks = tasks;
    }
    return n;
}

static size_t by_bundles(struct layout_counts *k, struct layout *ret, struct verdict *v)
{
    int32_t bundles = (int32_t)common(k->tasks, k->gpus);
    bool counted = k->nodes > 0;
    size_t n = 0;
    k->nodes = most(least(k->nodes, k->tasks), 1);
    if (k->max_nodes == 0)
        k->max_nodes = counted ? k->nodes : bundles;
    if (k->nodes > k->gpus)
        return refuse(v, REFUSE_GRES,
                      "fewer GPUs than nodes: each node of a job with --gpus gets at least one");
    if (k->nodes == k->max_nodes && (bundles % k->nodes == 0 || k->nodes > bundles)) {
        ret[n] = node_shares(k, up(k->tasks, k->nodes), up(k->gpus, k->nodes));
        ret[n++].gpu_share = k->nodes;
    }
    if (k->nodes > bundles)
        return n > 0 ? n
                     : refuse(v, REFUSE_GRES,
                              "tasks and GPUs cannot be divided among that many nodes; give a "
                              "number of each that "
                              "the number of nodes divides");
    k->max_nodes = least(k->max_nodes, bundles);
    int32_t tasks = (int32_t)(k->tasks / bundles),
            on_node = k->per_node > 0 ? k->per_node / tasks : bundles;
    if (on_node < 1)
        return refuse(v, REFUSE_INVALID_TASK_COUNT,
                      "so few tasks a node do not go with that number of GPUs");
    k->nodes = most(k->nodes, up(bundles, on_node));
    if (n == 0 || (k->nodes > 1 && bundles > k->nodes))
        ret[n++] = pieces(k, bundles, on_node, tasks, k->gpus / bundles);
    return n;
}

size_t demand_layouts(const struct job_request *req, int64_t gpus, int64_t gpus_per_node,
                      int64_t gpus_per_task, struct layout *ret, struct verdict *v)
{
    ASSERT(gpus >= 0 && gpus_per_node >= 0 && gpus_per_task >= 0);
    struct layout_counts k = {.nodes = most(req->min_nodes, 0),
                              .max_nodes = most(req->max_nodes, 0),
                              .tasks = most(req->ntasks, 0),
                              .per_node = most(req->ntasks_per_node, 0),
                              .gpus = gpus,
                              .node_gpus = gpus_per_node,
                              .task_gpus = gpus_per_task};
    if (k.max_nodes > 0 && k.max_nodes < k.nodes)
        return refuse(v, REFUSE_INVALID_NODE_COUNT,
                      "the largest number of nodes is below the smallest");
    /* --gpus beside a number for each node or task only says how many of those there are. */
    if (gpus > 0 && gpus_per_node > 0) {
        k.nodes = k.nodes ? k.nodes : up(gpus, gpus_per_node);
        k.gpus = 0;
    } else if (gpus > 0 && gpus_per_task > 0) {
        k.tasks = k.tasks ? k.tasks : up(gpus, gpus_per_task);
        k.gpus = 0;
    }
    if (req->ntasks_per_gpu > 0 && gpus_per_node > 0 && k.per_node == 0)
        k.per_node = tasks_most(amount_times(gpus_per_node, req->ntasks_per_gpu));
    if (k.tasks > 0 && k.gpus > 0)
        return by_bundles(&k, ret, v);
    if (k.tasks > 0)
        return by_tasks(&k, ret, v);
    if (k.gpus > 0)
        return by_gpus(&k, req, ret, v);
    k.nodes = most(k.nodes, 1);
    if (k.max_nodes == 0)
        k.max_nodes = k.nodes;
    ret[0] = node_shares(&k, most(k.per_node, 1), 0);
    return 1;
}

/* The most nodes on which it has no more tasks than a job may; INT32_MAX = as many as one likes. */
static int64_t nodes_within(const struct layout *l)
{
    int64_t each = l->units > 0 ? l->base_tasks : l->unit_tasks, most = LIMIT_TASKS;
    if (l->units > 0)
        most -= amount_times(l->units, l->unit_tasks);
    return most < 0 ? 0 : each > 0 ? most / each : INT32_MAX;
}

size_t demand_tasks_bounded(struct layout *list, size_t n, struct verdict *v)
{
    ASSERT(n > 0);
    size_t kept = 0;
    int32_t nodes = list[0].nmin;
    for (size_t i = 0; i < n; i++) {
        int64_t most = nodes_within(&list[i]);
        if (most < list[i].nmin)
            continue;
        list[kept] = list[i];
        list[kept].nmax = (int32_t)(list[i].nmax < most ? list[i].nmax : most);
        kept++;
    }
    if (kept > 0)
        return kept;
    char text[160];
    snprintf(text, sizeof text,
             "on %d node%s it has more tasks than a job may have: %u in all; ask for fewer on each "
             "node, or for fewer nodes",
             nodes, nodes == 1 ? "" : "s", LIMIT_TASKS);
    return refuse(v, REFUSE_INVALID_TASK_COUNT, text);
}

static bool says_nodes_or_gpus(const struct job_request *r)
{
    return r->min_nodes > 0 || r->max_nodes > 0 || !text_empty(r->node_sizes) ||
           !text_empty(r->gpus) || !text_empty(r->gpus_per_node) || !text_empty(r->gpus_per_task) ||
           !text_empty(r->gpus_per_socket);
}

void demand_hold_counts(struct job_request *req)
{
    if (text_empty(req->constraint) || !strchr(req->constraint, '*') || says_nodes_or_gpus(req))
        return;
    struct arena *a = arena_new();
    struct feature_arms arms;
    struct err unused = {0};
    int32_t nodes = feature_parse(req->constraint, a, &arms, &unused) ? feature_nodes(&arms) : 0;
    arena_free(a);
    if (nodes < 1 || nodes > (int32_t)LIMIT_TASKS)
        return;
    req->min_nodes = nodes;
    if (req->ntasks <= 0)
        req->max_nodes = nodes;
    else if (req->ntasks < nodes)
        req->ntasks = nodes;
}
