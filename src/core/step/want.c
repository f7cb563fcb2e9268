/* What a step asks for, from the message: counts that follow from others are filled in, lists of
 * nodes become marks, gres of all forms one list. What is left open the job decides, as the SLURM_*
 * variables of its environment would for srun. */
#include "base/alloc.h"
#include "base/amount.h"
#include "base/hostlist.h"
#include "base/map.h"
#include "base/vec.h"
#include "core/step/layout.h"
#include "model/grammar/gres.h"
#include "model/limits.h"
#include "model/settings/node_sizes.h"

#include <stdarg.h>
#include <string.h>

#define FEW_NODES 16

struct want_reading {
    const struct msg_create_step *m;
    const struct job_request *req;
    const struct job *job;
    const struct alloc *held;
    struct arena *a;
    struct step_want *w;
    enum refusal refusal;
    struct str *detail;
    VEC(struct gres_need) need;
    /* Places of the job's nodes, plus one: lists may name them many thousand times. */
    struct map_str *place;
};

static bool refuse(struct want_reading *x, enum refusal refusal, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static bool refuse(struct want_reading *x, enum refusal refusal, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    x->refusal = refusal;
    str_addv(x->detail, format, args);
    va_end(args);
    return false;
}

/* ---- nodes ---------------------------------------------------------------------------------- */

static ptrdiff_t node_at(struct want_reading *x, const char *name)
{
    for (size_t i = 0; !x->place && i < x->held->n && i < FEW_NODES; i++)
        if (text_is(x->held->node[i].node, name))
            return (ptrdiff_t)i;
    if (x->held->n <= FEW_NODES)
        return -1;
    if (!x->place) {
        x->place = map_str_new();
        for (size_t i = x->held->n; i-- > 0;)
            map_str_put(x->place, x->held->node[i].node, (void *)(uintptr_t)(i + 1));
    }
    return (ptrdiff_t)(uintptr_t)map_str_get(x->place, name) - 1;
}

/* Marks the nodes of a list; those that must be there are of the job. */
static bool nodes_mark(struct want_reading *x, const char *text, bool *mark, bool value,
                       bool must_be)
{
    struct hostlist names = HOSTLIST_INIT;
    struct err err = {0};
    bool ok = text_empty(text) || hostlist_parse(&names, text, &err) ||
              refuse(x, REFUSE_INVALID_NODE, "%s", err.text);
    for (size_t i = 0; ok && i < names.n; i++) {
        ptrdiff_t at = node_at(x, names.name[i]);
        if (at >= 0)
            mark[at] = value;
        else if (must_be)
            ok = refuse(x, REFUSE_NODE_CONFIG, "node %s is not part of job %llu, which has %s",
                        names.name[i], (unsigned long long)x->job->id,
                        x->job->nodes ? x->job->nodes : "none");
    }
    hostlist_done(&names);
    return ok;
}

static bool nodes_read(struct want_reading *x)
{
    size_t n = x->held->n;
    int32_t first = x->m->relative_plus1 ? x->m->relative_plus1 - 1 : 0;
    x->w->allowed = arena_alloc(x->a, (n + 1) * sizeof(bool));
    x->w->must = arena_alloc(x->a, (n + 1) * sizeof(bool));
    memset(x->w->must, 0, (n + 1) * sizeof(bool));
    for (size_t i = 0; i < n; i++)
        x->w->allowed[i] = x->m->interactive ? i == 0 : (int64_t)i >= first;
    if (first < 0 || (size_t)first >= n)
        return refuse(x, REFUSE_INVALID_NODE_COUNT, "--relative=%d: job %llu has nodes 0 to %zu",
                      first, (unsigned long long)x->job->id, n - 1);
    return nodes_mark(x, x->req->exclude, x->w->allowed, false, false) &&
           nodes_mark(x, x->req->nodelist, x->w->must, true, true);
}

static bool arbitrary_read(struct want_reading *x)
{
    struct hostlist names = HOSTLIST_INIT;
    struct err err = {0};
    if (!hostlist_parse(&names, x->m->task_nodes, &err))
        return refuse(x, REFUSE_INVALID_NODE, "%s", err.text);
    size_t n = names.n;
    bool ok = (n > 0 && n <= LIMIT_TASKS) ||
              refuse(x, REFUSE_INVALID_TASK_COUNT,
                     "--distribution=arbitrary: the list has the nodes of %zu tasks; a step has "
                     "from 1 to %u",
                     n, LIMIT_TASKS);
    x->w->task_node = arena_alloc(x->a, (n + 1) * sizeof(int32_t));
    for (size_t i = 0; ok && i < n; i++) {
        ptrdiff_t at = node_at(x, names.name[i]);
        x->w->task_node[i] = (int32_t)at;
        if (at < 0)
            ok = refuse(x, REFUSE_NODE_CONFIG, "node %s is not part of job %llu, which has %s",
                        names.name[i], (unsigned long long)x->job->id,
                        x->job->nodes ? x->job->nodes : "none");
    }
    hostlist_done(&names);
    if (ok && x->w->ntasks && (size_t)x->w->ntasks > n)
        return refuse(x, REFUSE_INVALID_TASK_COUNT,
                      "%d tasks are asked for, but nodes are given for %zu", x->w->ntasks, n);
    x->w->ntasks = x->w->ntasks ? x->w->ntasks : (int32_t)n;
    return ok;
}

/* ---- generic resources ---------------------------------------------------------------------- */

static struct gres_need *need_of(struct want_reading *x, const char *kind, const char *type)
{
    for (size_t i = 0; i < x->need.n; i++)
        if (text_is(x->need.v[i].kind, kind) && text_is(x->need.v[i].type, type))
            return &x->need.v[i];
    vec_push(&x->need, ((struct gres_need){.kind = kind, .type = type}));
    return &x->need.v[x->need.n - 1];
}

enum need_of_what { OF_NODE, OF_TASK, OF_STEP, OF_SOCKET };

static bool needs_add(struct want_reading *x, const char *text, bool gpus, enum need_of_what what)
{
    struct gres_list list = {0};
    struct err err = {0};
    int64_t sockets = x->req->sockets_per_node ? x->req->sockets_per_node : 1;
    if (text_empty(text))
        return true;
    if (!(gpus ? gres_parse_gpus : gres_parse)(text, x->a, &list, &err))
        return refuse(x, REFUSE_GRES, "%s", err.text);
    for (size_t i = 0; i < list.n; i++) {
        struct gres_need *need = need_of(x, list.item[i].kind, list.item[i].type);
        need->per_node += what == OF_NODE     ? list.item[i].count
                          : what == OF_SOCKET ? amount_times(list.item[i].count, sockets)
                                              : 0;
        need->per_task += what == OF_TASK ? list.item[i].count : 0;
        need->total += what == OF_STEP ? list.item[i].count : 0;
    }
    return true;
}

static bool any_gres(const struct job_request *r)
{
    return r->gres || r->gpus || r->gpus_per_node || r->gpus_per_task || r->gpus_per_socket;
}

static bool gres_read(struct want_reading *x)
{
    const struct job_request *r = x->req;
    bool ok = needs_add(x, r->gres, false, OF_NODE) &&
              needs_add(x, r->gpus_per_node, true, OF_NODE) &&
              needs_add(x, r->gpus_per_socket, true, OF_SOCKET) &&
              needs_add(x, r->gpus_per_task, true, OF_TASK) && needs_add(x, r->gpus, true, OF_STEP);
    x->w->nneed = x->need.n;
    x->w->need = arena_alloc(x->a, (x->need.n + 1) * sizeof *x->w->need);
    if (x->need.n)
        memcpy(x->w->need, x->need.v, x->need.n * sizeof *x->w->need);
    x->w->no_gres = any_gres(r) && !x->need.n;
    if (!any_gres(r))
        x->w->shares |= SHARES_GRES;
    return ok;
}

static int64_t gpus_total(const struct step_want *w, bool per_task)
{
    int64_t sum = 0;
    for (size_t i = 0; i < w->nneed; i++)
        if (text_is(w->need[i].kind, "gpu"))
            sum += per_task ? w->need[i].per_task : w->need[i].total;
    return sum;
}

/* ---- counts --------------------------------------------------------------------------------- */

static size_t counted(const bool *marks, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += marks[i];
    return count;
}

/* Those that a step is about which does not say how many: the named ones, else all that it may
 * have. */
static const bool *nodes_meant(const struct step_want *w, size_t held)
{
    return !w->min_nodes && counted(w->must, held) ? w->must : w->allowed;
}

/* Of a range as many as the job has. */
static int64_t nodes_most(const struct step_want *w, size_t held)
{
    if (!w->min_nodes)
        return (int64_t)counted(nodes_meant(w, held), held);
    if ((size_t)w->max_nodes > held)
        return (int64_t)held;
    return w->max_nodes > w->min_nodes ? w->max_nodes : w->min_nodes;
}

/* Where nothing says how many tasks there are but -c, they are as many as that fills of the
 * nodes. */
static int32_t tasks_by_cpus(const struct step_want *w, const struct alloc *held, size_t nodes,
                             int32_t cpus_per_task)
{
    const bool *meant = nodes_meant(w, held->n);
    int64_t tasks = 0;
    for (size_t i = 0, k = 0; i < held->n && k < nodes; i++) {
        tasks += meant[i] ? held->node[i].cpu_count / cpus_per_task : 0;
        k += meant[i];
    }
    return tasks < (int64_t)nodes         ? (int32_t)nodes
           : tasks < (int64_t)LIMIT_TASKS ? (int32_t)tasks
                                          : (int32_t)LIMIT_TASKS;
}

/* -n, or what follows from GPUs or nodes. A job's own number comes with SLURM_NTASKS, and only
 * within it; the environment knows that of one component alone. */
static int64_t tasks_follow(const struct want_reading *x)
{
    const struct step_want *w = x->w;
    const struct job_request *j = &x->job->spec.req;
    int64_t nodes = nodes_most(w, x->held->n), gpus = gpus_total(w, false),
            per_task = gpus_total(w, true);
    if (x->m->interactive)
        return 1;
    if (gpus && x->req->ntasks_per_gpu)
        return amount_times(gpus, x->req->ntasks_per_gpu);
    if (gpus && per_task)
        return gpus / per_task > 0 ? gpus / per_task : 1;
    if (w->per_node)
        return amount_times(nodes, w->per_node);
    if (x->job->het_job_id && j->ntasks)
        return j->ntasks;
    if (x->req->cpus_per_task && !j->ntasks_per_node)
        return tasks_by_cpus(w, x->held, (size_t)nodes, x->req->cpus_per_task);
    return nodes;
}

/* How many tasks follow is as little to be believed as a number that is said. */
static bool tasks_read(struct want_reading *x)
{
    int64_t tasks = x->w->ntasks ? x->w->ntasks : tasks_follow(x);
    x->w->ntasks = tasks > 0 && tasks <= (int64_t)LIMIT_TASKS ? (int32_t)tasks : 0;
    if (x->w->ntasks)
        return true;
    if (tasks <= 0)
        return refuse(x, REFUSE_NODE_CONFIG,
                      "every node of job %llu is left out, and no task is left",
                      (unsigned long long)x->job->id);
    return refuse(x, REFUSE_INVALID_TASK_COUNT,
                  "%lld tasks follow from what is asked for; a step has from 1 to %u",
                  (long long)tasks, LIMIT_TASKS);
}

/* Of a list of numbers the largest that the job has nodes for. */
static bool sizes_read(struct want_reading *x)
{
    struct node_sizes sizes;
    struct err err = {0};
    if (text_empty(x->req->node_sizes))
        return true;
    if (!node_sizes_parse(x->req->node_sizes, &sizes, &err))
        return refuse(x, REFUSE_INVALID_NODE_COUNT, "--nodes=%s: %s", x->req->node_sizes, err.text);
    int32_t n = node_sizes_largest(&sizes, (int32_t)x->held->n);
    if (n)
        x->w->min_nodes = x->w->max_nodes = n;
    return true; /* none is so small: the smallest is refused as too large */
}

static bool counts_check(struct want_reading *x)
{
    struct step_want *w = x->w;
    unsigned long long id = x->job->id;
    size_t n = x->held->n;
    if (w->ntasks < 0 || w->min_nodes < 0 || w->max_nodes < 0 || w->cpus_per_task < 0 ||
        w->ntasks > (int32_t)LIMIT_TASKS)
        return refuse(x, REFUSE_INVALID_TASK_COUNT, "a step has from 1 to %u tasks", LIMIT_TASKS);
    if (w->max_nodes && w->max_nodes < w->min_nodes)
        return refuse(x, REFUSE_INVALID_NODE_COUNT,
                      "at least %d and at most %d nodes are asked for", w->min_nodes, w->max_nodes);
    if ((size_t)w->min_nodes > n)
        return refuse(x, REFUSE_TOO_MANY_CPUS, "%d nodes are asked for; job %llu has %zu: %s",
                      w->min_nodes, id, n, x->job->nodes ? x->job->nodes : "none");
    return true;
}

static void counts_read(struct want_reading *x)
{
    struct step_want *w = x->w;
    const struct job_request *r = x->req;
    *w = (struct step_want){.job_id = x->job->id,
                            .ntasks = r->ntasks,
                            .min_nodes = r->min_nodes,
                            .max_nodes = r->max_nodes,
                            .cpus_per_task = r->cpus_per_task,
                            .per_node = r->ntasks_per_node,
                            .per_socket = r->ntasks_per_socket,
                            .per_core = r->ntasks_per_core,
                            .per_gpu = r->ntasks_per_gpu,
                            .cpus_per_gpu = r->cpus_per_gpu,
                            .mem_node_mib = r->mem_per_node_mib > 0 ? r->mem_per_node_mib : 0,
                            .mem_cpu_mib = r->mem_per_cpu_mib,
                            .mem_gpu_mib = r->mem_per_gpu_mib,
                            .overcommit = r->overcommit || x->m->interactive};
    /* SLURM_MEM_PER_NODE tells a step all that its job has, as if nothing had been asked. */
    if (x->held->n && w->mem_node_mib == x->held->node[0].mem_mib)
        w->mem_node_mib = 0;
    w->exact = x->m->exact || r->cpus_per_task || r->cpus_per_gpu || r->exclusive == EXCLUSIVE_NODE;
    if (x->m->overlap || x->m->interactive)
        w->shares = SHARES_CPUS | SHARES_MEMORY | SHARES_GRES;
    if (w->mem_node_mib + w->mem_cpu_mib + w->mem_gpu_mib == 0)
        w->shares |= SHARES_MEMORY;
}

/* How many nodes, once the tasks are known: without -N the tasks spread over all nodes of the job,
 * as SLURM_NNODES would have it, or over fewer where some are busy. */
static void nodes_follow(struct want_reading *x)
{
    struct step_want *w = x->w;
    int32_t n = (int32_t)x->held->n;
    if (w->min_nodes > w->ntasks) {
        w->warning = arena_printf(x->a, "can't run %d processes on %d nodes, setting nnodes to %d",
                                  w->ntasks, w->min_nodes, w->ntasks);
        w->min_nodes = w->ntasks;
        w->max_nodes = w->max_nodes && w->max_nodes < w->min_nodes ? w->min_nodes : w->max_nodes;
    }
    if (!w->max_nodes)
        w->max_nodes = w->min_nodes ? w->min_nodes : n;
    if (w->max_nodes > w->ntasks)
        w->max_nodes = w->ntasks;
    if (w->max_nodes > n)
        w->max_nodes = n;
}

/* "block", "cyclic:…", "plane=4", "arbitrary", "*"; ",Pack" and ",NoPack". Deeper levels are the
 * node's. */
static bool spread_read(struct want_reading *x)
{
    const char *text = x->req->distribution ? x->req->distribution : "";
    size_t len = strcspn(text, ":,");
    char *word = arena_strndup(x->a, text, len);
    int64_t plane;
    if (x->m->task_nodes) {
        x->w->spread = SPREAD_ARBITRARY;
    } else if (!*word || text_is_nocase(word, "block") || text_is(word, "*") ||
               text_is_nocase(word, "Pack") || text_is_nocase(word, "NoPack")) {
        const char *comma = strchr(text, ',');
        x->w->spread = text_is_nocase(word, "Pack") || (comma && text_is_nocase(comma + 1, "Pack"))
                           ? SPREAD_PACK
                           : SPREAD_BLOCK;
    } else if (text_is_nocase(word, "cyclic")) {
        x->w->spread = SPREAD_CYCLIC;
    } else if (text_starts_nocase(word, "plane=") && text_to_i64(word + 6, 1, INT32_MAX, &plane)) {
        x->w->spread = SPREAD_PLANE;
        x->w->plane = (int32_t)plane;
    } else if (text_is_nocase(word, "arbitrary")) {
        return refuse(
            x, REFUSE_INVALID_TASK_COUNT,
            "--distribution=arbitrary needs the node of each task: --nodelist or SLURM_HOSTFILE");
    } else {
        return refuse(x, REFUSE_INVALID_TASK_COUNT,
                      "--distribution=%s: allowed are block, cyclic, plane=SIZE and arbitrary",
                      word);
    }
    return true;
}

static bool task_has_share(const struct step_want *w, const char *kind)
{
    size_t i = 0;
    while (i < w->nneed && !(text_is(w->need[i].kind, kind) && w->need[i].per_task))
        i++;
    return i < w->nneed;
}

/* --gpus and --gpus-per-node beside --gpus-per-task are how many tasks there are, told twice: each
 * task's share says it all. */
static bool totals_check(struct want_reading *x)
{
    for (size_t i = 0; i < x->w->nneed; i++) {
        struct gres_need *need = &x->w->need[i];
        int64_t by_task = amount_times(need->per_task, x->w->ntasks);
        if (task_has_share(x->w, need->kind))
            need->per_node = 0;
        if (!need->total || !need->per_task)
            continue;
        if (need->total != by_task)
            return refuse(
                x, REFUSE_GRES,
                "%lld GPUs are asked for with --gpus, and %lld with --gpus-per-task for %d tasks",
                (long long)need->total, (long long)by_task, x->w->ntasks);
        need->total = 0;
    }
    return true;
}

bool step_want_read(const struct msg_create_step *m, const struct job *job,
                    const struct alloc *held, struct arena *a, struct step_want *ret,
                    enum refusal *ret_refusal, struct str *detail)
{
    const struct job_spec *spec = m->spec.v;
    struct want_reading x = {
        .m = m, .req = &spec->req, .job = job, .held = held, .a = a, .w = ret, .detail = detail};
    counts_read(&x);
    bool ok = sizes_read(&x) && counts_check(&x) && nodes_read(&x) && spread_read(&x) &&
              gres_read(&x) && (ret->spread != SPREAD_ARBITRARY || arbitrary_read(&x));
    ok = ok && tasks_read(&x) && totals_check(&x);
    if (ok && ret->spread != SPREAD_ARBITRARY)
        nodes_follow(&x);
    vec_done(&x.need);
    map_str_free(x.place);
    *ret_refusal = x.refusal;
    return ok;
}
