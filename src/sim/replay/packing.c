/* The recipe is spec/scheduling.md 4g: nodes with GPUs only; the task list shuffled, random
 * copies appended; each task is placed once or dropped. CPU, memory, GPU model and shares of a
 * GPU are hard limits; a task with several GPUs takes whole ones of one node.
 *
 * Least lost capacity: a node's lost capacity is the expected GPU capacity, over the kinds of
 * task weighted by how often they occur, that cannot be used. A task goes where that grows
 * least. Weng et al. call capacity lost to a kind if not even one more task of the kind fits;
 * here it is also lost as far as the CPUs and the memory that are left would not go round: a
 * node with four idle GPUs and CPUs for one has three to lose. That is worth more than any way
 * to break ties: 95.4 instead of 94.4 % of openb's GPUs. All in whole numbers.
 *
 * What a node costs a kind of task changes only when something is placed there, so it is kept
 * until then. */
#include "sim/replay/packing.h"

#include "base/alloc.h"
#include "base/rng.h"
#include "base/str.h"
#include "base/vec.h"
#include "sim/replay/machine.h"
#include "sim/replay/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GPUS_MAX   8
#define WHOLE      1000
#define MODELS_MAX 32

struct packnode {
    int64_t cpu, mem;
    int32_t gpus, model;
    int32_t left[GPUS_MAX]; /* thousandths */
    int64_t lost;           /* as it is now, weighted */
};

/* What placing a task of a kind on a node costs, and on which GPU. */
struct offer {
    int64_t cost; /* NO_OFFER: it does not fit */
    int32_t gpu;
    bool known;
};
#define NO_OFFER INT64_MAX

struct packing_task {
    int64_t cpu, mem, weight;
    int32_t gpus, share; /* share: of the one GPU */
    uint32_t models;     /* bits; 0 = any */
    uint32_t kind;       /* index */
};

struct replay_packing {
    VEC(struct packnode) node;
    VEC(struct packing_task) task;
    VEC(struct packing_task) kind;
    struct offer *offer; /* by node and kind */
    VEC(char *) model;
    int64_t total; /* GPUs × 1000 */
};

static int32_t model_number(struct replay_packing *p, const char *name)
{
    for (size_t i = 0; i < p->model.n; i++)
        if (text_is(p->model.v[i], name))
            return (int32_t)i;
    vec_push(&p->model, xstrdup(name));
    return (int32_t)p->model.n - 1;
}

static bool nodes_take(struct replay_packing *p, const struct machine_table *m, struct err *ret_err)
{
    for (size_t i = 0; i < m->node.n; i++) {
        const struct machine_node *from = &m->node.v[i];
        struct packnode n = {.cpu = from->cpu_milli, .mem = from->memory_mib, .gpus = from->gpus};
        if (n.gpus > GPUS_MAX)
            return err_set(ret_err, ERR_LIMIT, "%s has %d GPUs; packing takes %d a node at most",
                           from->name, n.gpus, GPUS_MAX);
        if (n.gpus == 0)
            continue;
        n.model = model_number(p, from->model ? from->model : "");
        for (int32_t k = 0; k < n.gpus; k++)
            n.left[k] = WHOLE;
        p->total += (int64_t)n.gpus * WHOLE;
        vec_push(&p->node, n);
    }
    return p->node.n > 0 || err_set(ret_err, ERR_INVALID, "no node of the machine has GPUs");
}

static bool task_same(const struct packing_task *a, const struct packing_task *b)
{
    return a->cpu == b->cpu && a->mem == b->mem && a->gpus == b->gpus && a->share == b->share &&
           a->models == b->models;
}

static void task_add(struct replay_packing *p, struct packing_task t)
{
    while (t.kind < p->kind.n && !task_same(&p->kind.v[t.kind], &t))
        t.kind++;
    if (t.kind == p->kind.n)
        vec_push(&p->kind, t);
    p->kind.v[t.kind].weight++;
    vec_push(&p->task, t);
}

static bool task_read(struct replay_packing *p, const struct text_table *b, size_t row,
                      const size_t column[5], struct err *ret_err)
{
    ASSERT(row < b->rows);
    int64_t v[4];
    for (size_t i = 0; i < 4; i++)
        if (!table_number(b, row, column[i], &v[i], ret_err))
            return false;
    if (v[2] > GPUS_MAX || (v[2] == 1 && (v[3] < 1 || v[3] > WHOLE)))
        return err_set(ret_err, ERR_INVALID,
                       "line %zu: a task asks for %d GPUs at most, or for 1 to %d gpu_milli of one",
                       b->line.v[row], GPUS_MAX, WHOLE);
    struct packing_task t = {.cpu = v[0],
                             .mem = v[1],
                             .gpus = (int32_t)v[2],
                             .share = v[2] == 1 ? (int32_t)v[3] : WHOLE};
    struct span rest = span_of(table_cell(b, row, column[4])), model;
    while (rest.len > 0 && span_next(&rest, '|', &model)) {
        char name[64] = "";
        memcpy(name, model.data, model.len < sizeof name ? model.len : sizeof name - 1);
        int32_t number = model_number(p, name);
        if (number >= MODELS_MAX)
            return err_set(ret_err, ERR_LIMIT, "more than %d models of GPUs", MODELS_MAX);
        t.models |= 1u << number;
    }
    task_add(p, t);
    return true;
}

static bool tasks_read(struct replay_packing *p, const char *path, struct err *ret_err)
{
    struct text_table b;
    if (!table_read(path, ',', &b, ret_err))
        return false;
    const size_t column[] = {table_column(&b, "cpu_milli"), table_column(&b, "memory_mib"),
                             table_column(&b, "num_gpu|gpu"), table_column(&b, "gpu_milli"),
                             table_column(&b, "gpu_spec|model")};
    bool ok = b.rows > 0 && column[0] != NO_COLUMN && column[1] != NO_COLUMN &&
              column[2] != NO_COLUMN && column[3] != NO_COLUMN;
    if (!ok)
        err_set(ret_err, ERR_INVALID,
                "a table of tasks has the columns cpu_milli, memory_mib, num_gpu, gpu_milli and, "
                "if you "
                "like, gpu_spec, and a task at least");
    for (size_t row = 0; ok && row < b.rows; row++)
        ok = task_read(p, &b, row, column, ret_err);
    table_done(&b);
    return ok || err_prefix(ret_err, "%s", path);
}

/* ---- fitting ---- */

static bool suits(const struct packnode *n, const struct packing_task *t)
{
    return n->cpu >= t->cpu && n->mem >= t->mem && (!t->models || t->models >> n->model & 1);
}

static int32_t whole_free(const struct packnode *n)
{
    int32_t free = 0;
    for (int32_t i = 0; i < n->gpus; i++)
        free += n->left[i] == WHOLE;
    return free;
}

/* At most so much of `usable` as the amount left of something else suffices for, if `per` GPU
 * capacity needs `each` of it. */
static int64_t bounded(int64_t usable, int64_t left, int64_t each, int64_t per)
{
    return each > 0 && left * per / each < usable ? left * per / each : usable;
}

/* GPU capacity of the node that tasks of the kind cannot use, in thousandths. */
static int64_t kind_lost(const struct packnode *n, const struct packing_task *t)
{
    int64_t left = 0, usable = 0, per = t->gpus > 1 ? (int64_t)t->gpus * WHOLE : t->share;
    for (int32_t i = 0; i < n->gpus; i++) {
        left += n->left[i];
        usable += n->left[i] >= t->share ? n->left[i] : 0;
    }
    /* What asks no GPU uses none: all that is left is lost to it. */
    if (t->gpus == 0 || !suits(n, t) || (t->gpus > 1 && whole_free(n) < t->gpus))
        return left;
    return left - bounded(bounded(usable, n->cpu, t->cpu, per), n->mem, t->mem, per);
}

static int64_t node_lost(const struct replay_packing *p, const struct packnode *n)
{
    int64_t sum = 0;
    for (size_t k = 0; k < p->kind.n; k++)
        sum += p->kind.v[k].weight * kind_lost(n, &p->kind.v[k]);
    return sum;
}

/* Takes the GPU `at`, or whole ones from the first on. */
static void node_take(struct packnode *n, const struct packing_task *t, int32_t at)
{
    n->cpu -= t->cpu;
    n->mem -= t->mem;
    if (t->gpus == 1)
        n->left[at] -= t->share;
    for (int32_t i = 0, need = t->gpus > 1 ? t->gpus : 0; need > 0; i++)
        if (n->left[i] == WHOLE) {
            n->left[i] = 0;
            need--;
        }
}

static bool gpu_fits(const struct packnode *n, const struct packing_task *t, int32_t at)
{
    if (t->gpus == 1)
        return n->left[at] >= t->share;
    return at == 0 && (t->gpus == 0 || whole_free(n) >= t->gpus);
}

/* Smaller is better. */
static int64_t cost_of(const struct replay_packing *p, const struct packnode *n,
                       const struct packing_task *t, int32_t at, enum packing_rule rule)
{
    struct packnode after = *n;
    int64_t left = 0;
    node_take(&after, t, at);
    if (rule == PACK_LEAST_LOST)
        return node_lost(p, &after) - n->lost;
    for (int32_t i = 0; i < after.gpus; i++)
        left += after.left[i];
    /* What is left of everything, each as a share of a large node; among GPUs of a node the
     * fullest. */
    return (after.cpu * 1000 / 128000 + after.mem * 1000 / 1048576 + left / GPUS_MAX) * 1024 +
           n->left[at];
}

/* GPUs of a node with the same left of them are worth the same. */
static bool gpu_like_before(const struct packnode *n, int32_t at)
{
    for (int32_t i = 0; i < at; i++)
        if (n->left[i] == n->left[at])
            return true;
    return false;
}

static struct offer offer_of(const struct replay_packing *p, const struct packnode *n,
                             const struct packing_task *t, enum packing_rule rule)
{
    ASSERT(t->kind < p->kind.n);
    struct offer best = {.cost = NO_OFFER, .known = true};
    for (int32_t at = 0; suits(n, t) && at < (t->gpus == 1 ? n->gpus : 1); at++) {
        if (!gpu_fits(n, t, at) || gpu_like_before(n, at))
            continue;
        int64_t cost = cost_of(p, n, t, at, rule);
        if (cost < best.cost)
            best = (struct offer){.cost = cost, .gpu = at, .known = true};
    }
    return best;
}

static bool place(struct replay_packing *p, const struct packing_task *t, enum packing_rule rule)
{
    ASSERT(t->kind < p->kind.n);
    struct offer best = {.cost = NO_OFFER};
    size_t node = 0, kinds = p->kind.n;
    for (size_t i = 0; i < p->node.n; i++) {
        struct offer *o = &p->offer[i * kinds + t->kind];
        if (!o->known)
            *o = offer_of(p, &p->node.v[i], t, rule);
        if (o->cost < best.cost)
            best = *o, node = i;
    }
    if (best.cost == NO_OFFER)
        return false;
    node_take(&p->node.v[node], t, best.gpu);
    p->node.v[node].lost = node_lost(p, &p->node.v[node]);
    for (size_t k = 0; k < kinds; k++)
        p->offer[node * kinds + k].known = false;
    return true;
}

/* Per cent of the GPUs that are allocated when as many have been asked for. */
static double fill(struct replay_packing *p, enum packing_rule rule, uint64_t seed)
{
    struct rng rng = {seed};
    size_t n = p->task.n, *order = xcalloc(n, sizeof order[0]);
    int64_t asked = 0, given = 0;
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    for (size_t i = n; i-- > 1;) {
        size_t k = rng_below(&rng, i + 1), swap = order[i];
        order[i] = order[k];
        order[k] = swap;
    }
    for (size_t i = 0; i < p->node.n; i++)
        p->node.v[i].lost = node_lost(p, &p->node.v[i]);
    for (size_t i = 0; i < p->node.n * p->kind.n; i++)
        p->offer[i].known = false;
    for (size_t i = 0; asked < p->total; i++) {
        const struct packing_task *t = &p->task.v[i < n ? order[i] : rng_below(&rng, n)];
        int64_t gpus = t->gpus == 1 ? t->share : (int64_t)t->gpus * WHOLE;
        asked += gpus;
        if (asked <= p->total && place(p, t, rule))
            given += gpus;
    }
    free(order);
    return 100.0 * (double)given / (double)p->total;
}

static void packing_done(struct replay_packing *p)
{
    for (size_t i = 0; i < p->model.n; i++)
        free(p->model.v[i]);
    vec_done(&p->model);
    vec_done(&p->node);
    vec_done(&p->task);
    vec_done(&p->kind);
    free(p->offer);
}

static bool packing_open(struct replay_packing *p, const char *nodes, const char *tasks,
                         struct err *ret_err)
{
    struct machine_table m;
    if (!machine_read(nodes, &m, ret_err))
        return false;
    bool ok = nodes_take(p, &m, ret_err) && tasks_read(p, tasks, ret_err);
    machine_done(&m);
    p->offer = xcalloc(p->node.n * p->kind.n + 1, sizeof p->offer[0]);
    return ok;
}

bool packing_run(const char *nodes, const char *tasks, enum packing_rule rule, unsigned seeds,
                 struct packing_result *ret, struct err *ret_err)
{
    struct replay_packing p = {0};
    double sum = 0, square = 0;
    bool ok = packing_open(&p, nodes, tasks, ret_err);
    struct packnode *empty = p.node.n ? xmemdup(p.node.v, p.node.n * sizeof empty[0]) : NULL;
    for (unsigned seed = 1; ok && seed <= seeds; seed++) {
        memcpy(p.node.v, empty, p.node.n * sizeof empty[0]);
        double percent = fill(&p, rule, seed);
        sum += percent;
        square += percent * percent;
    }
    *ret = (struct packing_result){.percent = seeds ? sum / seeds : 0,
                                   .nodes = p.node.n,
                                   .tasks = p.task.n,
                                   .kinds = p.kind.n,
                                   .gpus = p.total / WHOLE};
    double variance = seeds > 1 ? (square - seeds * ret->percent * ret->percent) / (seeds - 1) : 0;
    ret->deviation = variance > 0 ? sqrt(variance) : 0;
    free(empty);
    packing_done(&p);
    return ok;
}
