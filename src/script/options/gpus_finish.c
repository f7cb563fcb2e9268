/* GPUs said in several ways: what follows from several options together, and what cannot be, in
 * Slurm's words.
 *
 * A job says how many GPUs it wants in all (--gpus), on each node (--gpus-per-node, --gres=gpu), on
 * each socket and for each task; --ntasks-per-gpu says how many tasks each has. Two of them
 * determine a third number (of nodes, of tasks on each node, of tasks): it is filled in where it is
 * not given and must agree where it is. A step inside a job inherits the job's numbers as variables
 * and may ask for a part of it, so nothing is held against those. */
#include "script/options/finish.h"

#include "base/alloc.h"
#include "model/grammar/gres.h"
#include "model/limits.h"

struct gpu_numbers {
    int64_t job, node, socket, task;
};

static bool counted(struct finishing *f, const char *text, int64_t *ret, struct err *e)
{
    struct gres_list list = {0};
    if (text && !gres_parse_gpus(text, f->a, &list, e))
        return false;
    *ret = gres_count(&list, "gpu");
    return true;
}

static bool numbers_read(struct finishing *f, struct gpu_numbers *g, struct err *e)
{
    const struct job_request *q = f->q;
    struct gres_list gres = {0};
    if (!counted(f, q->gpus, &g->job, e) || !counted(f, q->gpus_per_node, &g->node, e) ||
        !counted(f, q->gpus_per_socket, &g->socket, e) ||
        !counted(f, q->gpus_per_task, &g->task, e) ||
        (q->gres && !gres_parse(q->gres, f->a, &gres, e)))
        return false;
    if (!g->node)
        g->node = gres_count(&gres, "gpu");
    return true;
}

/* A number that Slurm's commands check before they ask: two lines of its own, then ours. */
static bool gpus_lead(struct err *e, const char *lead)
{
    err_lead(e, "error: %s", lead);
    return err_lead(e, "error: Invalid generic resource (gres) specification");
}

static bool gpus_refuse(struct err *e, const char *sentence, const char *lead)
{
    err_set(e, ERR_INVALID, "%s", sentence);
    return gpus_lead(e, lead);
}

/* ---- --ntasks-per-gpu ---- */

static bool tasks_per_gpu_alone(struct finishing *f, struct err *e)
{
    static const struct {
        const char *name;
        size_t at;
    } others[] = {{"gpus-per-task", offsetof(struct job_request, gpus_per_task)},
                  {"gpus-per-socket", offsetof(struct job_request, gpus_per_socket)}};
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        const char **text = (const char **)(void *)((char *)f->q + others[i].at);
        bool drop_gpus, drop_tasks;
        if (!*text || !f->q->ntasks_per_gpu)
            continue;
        if (!rivals_judge(f, others[i].name, "ntasks-per-gpu", &drop_gpus, &drop_tasks, e))
            return err_lead(
                e,
                "fatal: --%s is mutually exclusive with --ntasks-per-gpu and SLURM_NTASKS_PER_GPU",
                others[i].name);
        *text = drop_gpus ? NULL : *text;
        f->q->ntasks_per_gpu = drop_tasks ? 0 : f->q->ntasks_per_gpu;
    }
    if (f->q->ntasks_per_gpu && !i32_rivals(f, "ntasks-per-node", &f->q->ntasks_per_node,
                                            "ntasks-per-gpu", &f->q->ntasks_per_gpu, e))
        return err_lead(e, "fatal: --ntasks-per-node is mutually exclusive with --ntasks-per-gpu "
                           "and SLURM_NTASKS_PER_GPU");
    return true;
}

static int32_t nodes_exact(const struct finishing *f)
{
    const struct job_request *q = f->q;
    return q->min_nodes && q->min_nodes == q->max_nodes ? q->min_nodes : 0;
}

static bool tasks_set(struct finishing *f, int64_t tasks, struct err *e)
{
    if (tasks > (int64_t)LIMIT_TASKS)
        return err_set(e, ERR_LIMIT, "that are %lld tasks; at most %u are allowed",
                       (long long)tasks, LIMIT_TASKS);
    if (f->q->ntasks && f->q->ntasks != tasks)
        str_addf(f->warnings,
                 "Warning: %d tasks do not go with %d for each GPU; there will be %lld\n",
                 f->q->ntasks, f->q->ntasks_per_gpu, (long long)tasks);
    f->q->ntasks = (int32_t)tasks;
    return true;
}

/* No GPUs are asked for: as many as the tasks, or nodes, need. */
static bool gpus_from_tasks(struct finishing *f, struct gpu_numbers *g, struct err *e)
{
    struct job_request *q = f->q;
    if (q->ntasks % q->ntasks_per_gpu)
        return gpus_refuse(
            e, "give --ntasks a multiple of it, or say how many GPUs with --gpus",
            "Failed to validate job spec, -n/--ntasks has to be a multiple of --ntasks-per-gpu.");
    g->job = q->ntasks ? q->ntasks / q->ntasks_per_gpu : nodes_exact(f);
    if (!g->job)
        return gpus_refuse(
            e, "say how many tasks (--ntasks) or GPUs (--gpus) there are",
            "gres_job_state_validate: --ntasks-per-tres needs either a GRES GPU specification or a "
            "node/ntask specification");
    q->gpus = arena_printf(f->a, "%lld", (long long)g->job);
    return tasks_set(f, g->job * q->ntasks_per_gpu, e);
}

static bool tasks_from_gpus(struct finishing *f, struct gpu_numbers *g, struct err *e)
{
    struct job_request *q = f->q;
    int64_t on_node = g->node * q->ntasks_per_gpu;
    if (!q->ntasks_per_gpu)
        return true;
    if (!g->job && !g->node)
        return gpus_from_tasks(f, g, e);
    if (g->job)
        return tasks_set(f, g->job * q->ntasks_per_gpu, e);
    if (q->ntasks && !q->min_nodes && on_node < q->ntasks)
        q->min_nodes = q->max_nodes = (int32_t)((q->ntasks + on_node - 1) / on_node);
    else if (!q->ntasks || nodes_exact(f))
        return tasks_set(f, on_node * (q->min_nodes ? q->min_nodes : 1), e);
    return true;
}

/* ---- which is the larger, and of which a multiple ------------------------------------------- */

static bool sizes_check(const struct finishing *f, const struct gpu_numbers *g, struct err *e)
{
    if (g->job && (g->job < g->node || g->job < g->socket || g->job < g->task))
        return gpus_refuse(
            e, "--gpus is how many GPUs the whole job gets",
            "Failed to ensure --gpus >= --gres=gpu/--gpus-per-node >= --gpus-per-socket");
    if (g->node && (g->node < g->socket || g->node < g->task))
        return gpus_refuse(e, "a task and a socket have their GPUs on one node",
                           "Failed to ensure --gpus >= --gpus-per-task");
    if (g->job && f->q->min_nodes > g->job)
        return gpus_refuse(
            e, "fewer GPUs than nodes: each node of a job with --gpus gets at least one",
            "Failed to validate job spec, --gpus < -N");
    return true;
}

/* --gpus with a number for each node says how many nodes. */
static bool nodes_follow(struct finishing *f, const struct gpu_numbers *g, struct err *e)
{
    struct job_request *q = f->q;
    if (!g->job || !g->node)
        return true;
    if (g->job % g->node)
        return gpus_refuse(
            e, "each node gets the same number of GPUs",
            "Failed to validate job spec, --gpus is not multiple of --gres=gpu/--gpus-per-node");
    int64_t nodes = g->job / g->node;
    if ((q->min_nodes && nodes < q->min_nodes) || (q->max_nodes && nodes > q->max_nodes))
        return gpus_refuse(
            e, "leave --nodes out, or give as many as the numbers of GPUs say",
            arena_printf(
                f->a,
                "Failed to validate job spec. Based on --gpu and --gres=gpu/--gpus-per-node "
                "required nodes (%lld) doesn't fall between min_nodes (%d) and max_nodes (%d) "
                "boundaries.",
                (long long)nodes, q->min_nodes, q->max_nodes));
    if (nodes > (int64_t)LIMIT_NODES)
        return err_set(e, ERR_LIMIT, "that are %lld nodes; at most %u are allowed",
                       (long long)nodes, LIMIT_NODES);
    q->min_nodes = q->max_nodes = (int32_t)nodes;
    return true;
}

static bool sockets_check(const struct finishing *f, const struct gpu_numbers *g, struct err *e)
{
    if (!g->socket)
        return true;
    if (!f->q->sockets_per_node)
        return gpus_refuse(e, "it says how many sockets of each node count",
                           "--gpus-per-socket option requires --sockets-per-node specification");
    if (g->node % g->socket)
        return gpus_refuse(e, "each socket gets the same number of GPUs",
                           "Failed to validate job spec, --gres=gpu/--gpus-per-node not multiple "
                           "of --gpus-per-socket.");
    if (g->node && g->node / g->socket != f->q->sockets_per_node)
        return gpus_refuse(e, "leave one of the three out",
                           "Failed to validate job spec. Based on --gres=gpu/--gpus-per-node and "
                           "--gpus-per-socket "
                           "required number of sockets differ from --sockets-per-node.");
    return true;
}

/* GPUs for each task with those on each node or socket say how many tasks that has. */
static bool tasks_on_follow(int64_t gpus, int64_t task, int32_t *tasks, const char *uneven,
                            const char *differ, struct err *e)
{
    if (!gpus || !task)
        return true;
    if (gpus % task)
        return gpus_refuse(e, "each task gets the same number of GPUs", uneven);
    if (*tasks && *tasks != gpus / task)
        return gpus_refuse(e, "leave one of the three out", differ);
    *tasks = (int32_t)(gpus / task);
    return true;
}

/* The number of tasks as far as it is said: by itself, or by nodes. */
static int64_t tasks_said(const struct finishing *f)
{
    const struct job_request *q = f->q;
    int64_t nodes = nodes_exact(f), on_node = q->ntasks_per_node;
    if (q->ntasks)
        return q->ntasks;
    return on_node && !q->min_nodes ? on_node : nodes * (on_node ? on_node : 1);
}

static bool tasks_follow(struct finishing *f, const struct gpu_numbers *g, int64_t said,
                         struct err *e)
{
    if (!g->task)
        return true;
    if (!g->job && !said)
        return gpus_refuse(
            e, "--gpus-per-task needs the number of tasks (--ntasks=N) or of GPUs (--gpus=N)",
            "Failed to validate job spec. --gpus-per-task used without either --gpus or "
            "-n/--ntasks is "
            "not allowed.");
    if (g->job % g->task)
        return gpus_refuse(e, "each task gets the same number of GPUs",
                           "Failed to validate job spec, --gpus not multiple of --gpus-per-task");
    int64_t tasks = g->job ? g->job / g->task : said;
    if (said && tasks != said) {
        err_set(e, ERR_INVALID, "--gpus=%lld in --gpus-per-task=%lld are %lld tasks, not %lld%s",
                (long long)g->job, (long long)g->task, (long long)tasks, (long long)said,
                f->q->ntasks ? ""
                             : ": each node has one unless --ntasks or --ntasks-per-node say more");
        return gpus_lead(e, "Failed to validate job spec. Based on --gpus and --gpus-per-task "
                            "number of requested tasks differ from -n/--ntasks.");
    }
    return tasks_set(f, tasks, e);
}

static bool memory_check(const struct finishing *f, const struct gpu_numbers *g, struct err *e)
{
    if (!f->q->mem_per_gpu_mib || g->job || g->node || g->socket || g->task)
        return true;
    return gpus_refuse(
        e, "memory for each GPU needs GPUs; --mem-per-cpu is memory for each CPU",
        arena_printf(f->a, "Requested mem_per_tres=gres/gpu:%lld but did not request any GPU.",
                     (long long)f->q->mem_per_gpu_mib));
}

static bool tasks_on_nodes_follow(struct finishing *f, const struct gpu_numbers *g, bool several,
                                  struct err *e)
{
    struct job_request *q = f->q;
    int32_t on_node = q->ntasks_per_node, on_socket = q->ntasks_per_socket;
    if (!tasks_on_follow(
            g->node, g->task, &on_node,
            "Failed to validate job spec, --gres=gpu/--gpus-per-node not multiple of "
            "--gpus-per-task.",
            "Failed to validate job spec. Based on --gres=gpu/--gpus-per-node and --gpus-per-task "
            "requested number of tasks per node differ from --ntasks-per-node.",
            e) ||
        !tasks_on_follow(
            g->socket, g->task, &on_socket,
            "Failed to validate job spec, --gpus-per-socket not multiple of --gpus-per-task.",
            "Failed to validate job spec. Based on --gpus-per-socket and --gpus-per-task requested "
            "number "
            "of tasks per sockets differ from --ntasks-per-socket.",
            e))
        return false;
    if (several) {
        q->ntasks_per_node = on_node;
        q->ntasks_per_socket = on_socket;
    }
    return true;
}

bool step_gpu_types_agree(struct finishing *f, struct err *e)
{
    ASSERT(f->q && f->command);
    const struct {
        const char *option, *text;
    } said[] = {{"gres", f->q->gres},
                {"gpus", f->q->gpus},
                {"gpus-per-node", f->q->gpus_per_node},
                {"gpus-per-task", f->q->gpus_per_task},
                {"gpus-per-socket", f->q->gpus_per_socket}};
    const char *typed = NULL, *untyped = NULL;
    for (size_t i = 0; i < ARRAY_LEN(said); i++) {
        struct gres_list list = {0};
        if (text_empty(said[i].text) ||
            option_source_of(f->o, said[i].option, f->command) <= FROM_ENVIRONMENT ||
            !(i ? gres_parse_gpus : gres_parse)(said[i].text, f->a, &list, NULL))
            continue;
        for (size_t k = 0; k < list.n; k++)
            if (text_is(list.item[k].kind, "gpu") && list.item[k].type)
                typed = said[i].option;
            else if (text_is(list.item[k].kind, "gpu") && list.item[k].count > 0)
                untyped = said[i].option;
    }
    if (!typed || !untyped)
        return true;
    err_set(e, ERR_INVALID,
            "--%s says the type of its GPUs, --%s does not: give it with both, or with none", typed,
            untyped);
    return err_lead(e, "error: Invalid GRES specification (with and without type identification)");
}

bool gpus_finish(struct finishing *f, struct err *e)
{
    struct gpu_numbers g = {0};
    int64_t said = tasks_said(f);
    return tasks_per_gpu_alone(f, e) && numbers_read(f, &g, e) && sizes_check(f, &g, e) &&
           nodes_follow(f, &g, e) && sockets_check(f, &g, e) &&
           tasks_on_nodes_follow(f, &g, said || g.job, e) && tasks_from_gpus(f, &g, e) &&
           memory_check(f, &g, e) && tasks_follow(f, &g, said, e);
}
