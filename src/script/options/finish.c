/* What only shows when all options are in: which of several that exclude each other counts, what
 * follows from others, and what cannot be.
 *
 * Options that exclude each other are judged by who set them: the command line beats the
 * environment beats the script, so that `sbatch --mem-per-cpu=2G job.sh` works with a script that
 * says --mem. Two of equal strength are an error, as in Slurm. */
#include "script/options/finish.h"

#include "base/alloc.h"
#include "base/hostlist.h"
#include "model/grammar/gres.h"
#include "model/limits.h"
#include "script/options/values.h"

#include <stdlib.h>
#include <string.h>

static enum option_source source_of(const struct finishing *f, const char *name)
{
    return option_source_of(f->o, name, f->command);
}

/* ---- which counts
 * ------------------------------------------------------------------------- */

bool rivals_judge(struct finishing *f, const char *first, const char *second, bool *ret_drop_first,
                  bool *ret_drop_second, struct err *e)
{
    enum option_source a = source_of(f, first), b = source_of(f, second);
    *ret_drop_first = a != FROM_DEFAULT && a < b;
    *ret_drop_second = b != FROM_DEFAULT && b < a;
    if (a != FROM_DEFAULT && a == b)
        return err_set(e, ERR_INVALID, "--%s and --%s are mutually exclusive; give one of them",
                       first, second);
    return true;
}

static bool i64_rivals(struct finishing *f, const char *first, int64_t *x, const char *second,
                       int64_t *y, struct err *e)
{
    bool drop_x, drop_y;
    if (!rivals_judge(f, first, second, &drop_x, &drop_y, e))
        return false;
    *x = drop_x ? 0 : *x;
    *y = drop_y ? 0 : *y;
    return true;
}

bool i32_rivals(struct finishing *f, const char *first, int32_t *x, const char *second, int32_t *y,
                struct err *e)
{
    bool drop_x, drop_y;
    if (!rivals_judge(f, first, second, &drop_x, &drop_y, e))
        return false;
    *x = drop_x ? 0 : *x;
    *y = drop_y ? 0 : *y;
    return true;
}

static bool memory_from_environment(struct finishing *f)
{
    return (source_of(f, "mem") == FROM_ENVIRONMENT) +
               (source_of(f, "mem-per-cpu") == FROM_ENVIRONMENT) +
               (source_of(f, "mem-per-gpu") == FROM_ENVIRONMENT) >
           1;
}

static bool memory_judge(struct finishing *f, struct err *e)
{
    struct job_request *q = f->q;
    if (!i64_rivals(f, "mem", &q->mem_per_node_mib, "mem-per-cpu", &q->mem_per_cpu_mib, e) ||
        !i64_rivals(f, "mem", &q->mem_per_node_mib, "mem-per-gpu", &q->mem_per_gpu_mib, e) ||
        !i64_rivals(f, "mem-per-cpu", &q->mem_per_cpu_mib, "mem-per-gpu", &q->mem_per_gpu_mib, e))
        return err_lead(e, memory_from_environment(f)
                               ? "fatal: SLURM_MEM_PER_CPU, SLURM_MEM_PER_GPU, and "
                                 "SLURM_MEM_PER_NODE are mutually exclusive."
                               : "fatal: --mem, --mem-per-cpu, and --mem-per-gpu are "
                                 "mutually exclusive.");
    if (q->mem_per_cpu_mib == MEM_ALL) {
        q->mem_per_cpu_mib = 0;
        q->mem_per_node_mib = MEM_ALL;
    }
    return true;
}

/* --hint says in a word what these say in numbers: the numbers count, unless the hint comes from a
 * stronger source. */
static void hint_judge(struct finishing *f)
{
    struct job_request *q = f->q;
    enum option_source hint = source_of(f, "hint"), numbers = source_of(f, "threads-per-core");
    enum option_source others[] = {source_of(f, "ntasks-per-core"),
                                   source_of(f, "extra-node-info")};
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        numbers = others[i] > numbers ? others[i] : numbers;
    if (hint == FROM_DEFAULT || numbers == FROM_DEFAULT)
        return;
    if (hint > numbers) {
        q->threads_per_core = q->ntasks_per_core = 0;
        if (source_of(f, "extra-node-info") != FROM_DEFAULT)
            q->sockets_per_node = q->cores_per_socket = 0;
    } else {
        q->hint = HINT_UNSET;
        note_no_effect(f->o, f->a, "--hint",
                       "--threads-per-core, --ntasks-per-core or -B says it already");
    }
}

/* ---- GPUs
 * --------------------------------------------------------------------------------- */

static bool typed(const struct gres_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->item[i].type)
            return true;
    return false;
}

/* Do both lists ask for the same GPUs? A list without types agrees with any of the same number. */
static bool gpus_agree(const struct gres_list *a, const struct gres_list *b)
{
    if (gres_count(a, "gpu") != gres_count(b, "gpu"))
        return false;
    if (!typed(a) || !typed(b))
        return true;
    for (size_t i = 0; i < a->n; i++) {
        size_t k = 0;
        while (k < b->n && !(text_is_nocase(a->item[i].type, b->item[k].type) &&
                             a->item[i].count == b->item[k].count))
            k++;
        if (k == b->n)
            return false;
    }
    return true;
}

/* Takes the GPUs out of `list`; the rest of it becomes --gres. */
static void gres_without_gpus(struct finishing *f, struct gres_list *list)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->n; i++)
        if (!text_is_nocase(list->item[i].kind, "gpu"))
            list->item[kept++] = list->item[i];
    list->n = kept;
    struct str text = STR_INIT;
    gres_format(list, &text);
    f->q->gres = kept ? arena_strdup(f->a, str_text(&text)) : NULL;
    str_done(&text);
}

static struct gres_list only_gpus(const struct gres_list *list, struct arena *a)
{
    struct gres_list gpus = {arena_alloc(a, (list->n ? list->n : 1) * sizeof *gpus.item), 0};
    for (size_t i = 0; i < list->n; i++)
        if (text_is_nocase(list->item[i].kind, "gpu"))
            gpus.item[gpus.n++] = list->item[i];
    return gpus;
}

/* --gres=gpu:4 with --gpus-per-node=4 is four GPUs a node, not eight; with --gpus-per-node=2 it is
 * a mistake. */
static bool gpus_per_node_merge(struct finishing *f, struct err *e)
{
    struct gres_list gres, per_node;
    if (!f->q->gres || !f->q->gpus_per_node)
        return true;
    if (!gres_parse(f->q->gres, f->a, &gres, e) ||
        !gres_parse_gpus(f->q->gpus_per_node, f->a, &per_node, e))
        return false;
    struct gres_list gpus = only_gpus(&gres, f->a);
    if (gpus.n == 0)
        return true;
    if (!gpus_agree(&gpus, &per_node)) {
        enum option_source a = source_of(f, "gres"), b = source_of(f, "gpus-per-node");
        if (a == b)
            return err_set(
                e, ERR_INVALID,
                "--gres=%s and --gpus-per-node=%s ask for different GPUs on each node; give one "
                "of them, or the same number twice",
                f->q->gres, f->q->gpus_per_node);
        if (a > b) {
            f->q->gpus_per_node = NULL;
            return true;
        }
    } else if (typed(&gpus) && !typed(&per_node)) {
        struct str text = STR_INIT;
        for (size_t i = 0; i < gpus.n; i++)
            str_addf(&text, "%s%s%s%lld", i ? "," : "", gpus.item[i].type ? gpus.item[i].type : "",
                     gpus.item[i].type ? ":" : "", (long long)gpus.item[i].count);
        f->q->gpus_per_node = arena_strdup(f->a, str_text(&text));
        str_done(&text);
    }
    gres_without_gpus(f, &gres);
    return true;
}

static bool gpu_total(struct finishing *f, const char *text, int64_t *ret, struct err *e)
{
    struct gres_list list = {0};
    if (text && !gres_parse_gpus(text, f->a, &list, e))
        return false;
    *ret = gres_count(&list, "gpu");
    return true;
}

/* A step's own: --gpus with --gpus-per-node says how many nodes; with --gpus-per-task or
 * --ntasks-per-gpu how many tasks. */
static bool step_gpus_derive(struct finishing *f, struct err *e)
{
    struct job_request *q = f->q;
    int64_t total, per_node, per_task;
    if (!gpu_total(f, q->gpus, &total, e) || !gpu_total(f, q->gpus_per_node, &per_node, e) ||
        !gpu_total(f, q->gpus_per_task, &per_task, e))
        return false;
    if (q->ntasks_per_gpu && per_task)
        return err_set(
            e, ERR_INVALID,
            "--ntasks-per-gpu and --gpus-per-task are mutually exclusive; give one of them");
    if (total && per_node) {
        if (total % per_node ||
            (q->min_nodes && q->min_nodes == q->max_nodes && total != per_node * q->min_nodes))
            return err_set(e, ERR_INVALID,
                           "--gpus=%s, --gpus-per-node=%s and %d node%s do not fit together",
                           q->gpus, q->gpus_per_node, q->min_nodes ? q->min_nodes : 1,
                           q->min_nodes > 1 ? "s" : "");
        if (!q->min_nodes)
            q->min_nodes = q->max_nodes = (int32_t)(total / per_node);
    }
    if (total && per_task && !q->ntasks) {
        if (total % per_task)
            return err_set(e, ERR_INVALID, "--gpus=%s is no multiple of --gpus-per-task=%s",
                           q->gpus, q->gpus_per_task);
        q->ntasks = (int32_t)(total / per_task);
    }
    if (total && q->ntasks_per_gpu && !q->ntasks &&
        total * q->ntasks_per_gpu <= (int64_t)LIMIT_TASKS)
        q->ntasks = (int32_t)(total * q->ntasks_per_gpu);
    return true;
}

/* ---- nodes and tasks
 * ---------------------------------------------------------------------- */

/* srun that runs in a job; else it makes one. */
static bool is_step(const struct finishing *f)
{
    return f->command == CMD_SRUN && f->o->launch.job_id;
}

/* srun's number of tasks counts, in its own job and in another. */
static void per_node_ignore(struct finishing *f)
{
    struct job_request *q = f->q;
    str_addf(f->warnings,
             "Warning: can't honor --ntasks-per-node set to %d which doesn't match the requested "
             "tasks %d with "
             "the number of requested nodes %d. Ignoring --ntasks-per-node.\n",
             q->ntasks_per_node, q->ntasks, q->min_nodes ? q->min_nodes : q->max_nodes);
    q->ntasks_per_node = 0;
}

static bool tasks_multiply(struct finishing *f, int64_t tasks, struct err *e)
{
    if (tasks > (int64_t)LIMIT_TASKS)
        return err_set(e, ERR_LIMIT, "that are %lld tasks; at most %u are allowed",
                       (long long)tasks, LIMIT_TASKS);
    f->q->ntasks = (int32_t)tasks;
    return true;
}

/* What is on each node, times the nodes. Who counts nodes and says what processors one has, or says
 * so with -B, asks for a task on each of these; of srun only where all three numbers are said, as
 * in Slurm. */
static bool tasks_from_nodes(struct finishing *f, struct err *e)
{
    struct job_request *q = f->q;
    int64_t nodes = q->min_nodes ? q->min_nodes : 1;
    if (q->ntasks || (q->max_nodes && q->max_nodes != q->min_nodes))
        return true;
    if (q->ntasks_per_node)
        return tasks_multiply(f, nodes * q->ntasks_per_node, e);
    const int32_t each[] = {q->sockets_per_node, q->cores_per_socket, q->threads_per_core};
    bool extra = source_of(f, "extra-node-info") != FROM_DEFAULT;
    bool several = each[0] > 1 || each[1] > 1 || each[2] > 1;
    if (is_step(f) || (!extra && !(q->min_nodes && several)))
        return true;
    if (f->command == CMD_SRUN && !(each[0] && each[1] && each[2]))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(each) && nodes <= (int64_t)LIMIT_TASKS; i++)
        nodes *= each[i] ? each[i] : 1;
    return tasks_multiply(f, nodes, e);
}

static bool tasks_derive(struct finishing *f, struct err *e)
{
    struct job_request *q = f->q;
    bool asked = source_of(f, "ntasks") != FROM_DEFAULT;
    if (asked && q->min_nodes > q->ntasks && !q->overcommit) {
        str_addf(f->warnings, "Warning: can't run %d processes on %d nodes, setting nnodes to %d\n",
                 q->ntasks, q->min_nodes, q->ntasks);
        q->min_nodes = q->max_nodes = q->ntasks;
        q->node_sizes = NULL;
    }
    if (!q->ntasks && !q->min_nodes && !is_step(f) && q->constraint && strchr(q->constraint, '*'))
        return true; /* counts of features say how many nodes, when these are chosen */
    if (!q->ntasks && !q->min_nodes && q->ntasks_per_node && !is_step(f))
        q->min_nodes = q->max_nodes = 1;
    if (asked && f->command == CMD_SRUN && q->ntasks_per_node && q->max_nodes &&
        (int64_t)q->max_nodes * q->ntasks_per_node < q->ntasks)
        per_node_ignore(f);
    return tasks_from_nodes(f, e);
}

/* ---- nodes by name ---- */

static void nodelist_fold(struct finishing *f, const struct hostlist *hosts, size_t n)
{
    struct hostlist kept = HOSTLIST_INIT;
    struct str text = STR_INIT;
    for (size_t i = 0; i < hosts->n && i < n; i++)
        hostlist_add(&kept, hosts->name[i]);
    hostlist_fold(&kept, &text);
    f->q->nodelist = arena_strdup(f->a, str_text(&text));
    str_done(&text);
    hostlist_done(&kept);
}

/* The job has all nodes of --nodelist, and more where its tasks need them; of more nodes than tasks
 * the first count. */
static bool nodelist_count(struct finishing *f, const struct hostlist *hosts, struct err *e)
{
    struct job_request *q = f->q;
    int32_t n = (int32_t)hosts->n;
    if (q->max_nodes && q->max_nodes < n) {
        err_set(e, ERR_INVALID,
                "--nodelist names %d nodes, of which all are used, and --nodes allows %d", n,
                q->max_nodes);
        return err_lead(e, "error: invalid number of nodes (-N %d-%d)", n, q->max_nodes);
    }
    if (q->ntasks && q->ntasks < n && q->min_nodes <= q->ntasks && !q->overcommit) {
        str_addf(f->warnings, "Warning: can't run %d processes on %d nodes, setting nnodes to %d\n",
                 q->ntasks, n, q->ntasks);
        nodelist_fold(f, hosts, (size_t)q->ntasks);
        n = q->ntasks;
    }
    if (q->ntasks > n && !q->max_nodes)
        q->max_nodes = q->ntasks < (int32_t)LIMIT_NODES ? q->ntasks : (int32_t)LIMIT_NODES;
    q->min_nodes = q->min_nodes > n ? q->min_nodes : n;
    return true;
}

static bool nodelist_judge(struct finishing *f, struct err *e)
{
    struct hostlist hosts = HOSTLIST_INIT;
    bool arbitrary = f->q->distribution && text_starts_nocase(f->q->distribution, "arbitrary");
    if (is_step(f))
        return true;
    if (arbitrary && text_empty(f->q->nodelist) && f->command != CMD_SRUN) {
        err_set(e, ERR_INVALID, "--distribution=arbitrary: --nodelist has the node of each task");
        return err_lead(
            e, "error: With Arbitrary distribution you need to specify a nodelist or hostfile "
               "with the -w option");
    }
    if (text_empty(f->q->nodelist) || (arbitrary && f->command == CMD_SRUN))
        return true;
    bool ok = hostlist_parse(&hosts, f->q->nodelist, e);
    if (arbitrary && !f->q->ntasks && hosts.n <= LIMIT_TASKS)
        f->q->ntasks = (int32_t)hosts.n;
    hostlist_uniq(&hosts);
    ok = ok && nodelist_count(f, &hosts, e);
    hostlist_done(&hosts);
    return ok;
}

/* ---- the rest ---- */

static bool rest_check(const struct finishing *f, struct err *e)
{
    const struct job_spec *s = &f->o->spec;
    if (s->signal_batch && f->command != CMD_SBATCH) {
        err_set(e, ERR_VALUE, "--signal=B: is of a script's shell, and sbatch's alone");
        return err_lead(e, "error: Invalid --signal specification");
    }
    if (source_of(f, "time-min") != FROM_DEFAULT &&
        (s->req.time_min_us <= 0 || s->req.time_min_us == TIME_UNLIMITED)) {
        err_set(e, ERR_INVALID, "--time-min is a time with which the job is content: more than 0");
        return err_lead(
            e, "refused: Invalid time-min specification (exceeds job's time or other limits)");
    }
    if (s->req.time_min_us && s->req.time_limit_us && s->req.time_min_us > s->req.time_limit_us) {
        err_set(e, ERR_INVALID, "--time-min is longer than --time");
        return err_lead(
            e, "refused: Invalid time-min specification (exceeds job's time or other limits)");
    }
    if (s->deadline_us && s->begin_us > s->deadline_us) {
        err_set(e, ERR_INVALID, "the job may begin only after its deadline");
        return err_lead(e, "error: Incompatible begin and deadline time specification");
    }
    return true;
}

static bool cpus_judge(struct finishing *f, struct err *e)
{
    if (i32_rivals(f, "cpus-per-task", &f->q->cpus_per_task, "cpus-per-gpu", &f->q->cpus_per_gpu,
                   e))
        return true;
    err_lead(e, "error: --cpus-per-gpu is mutually exclusive with --cpus-per-task");
    return err_lead(e, "error: Invalid generic resource (gres) specification");
}

/* --thread-spec is ignored as Slurm ignores it where AllowSpecResourcesUsage is not set, which says
 * so. */
static bool specialised_judge(struct finishing *f, struct err *e)
{
    if (source_of(f, "thread-spec") == FROM_DEFAULT)
        return true;
    if (source_of(f, "core-spec") != FROM_DEFAULT) {
        err_set(e, ERR_INVALID, "give one of --core-spec and --thread-spec");
        return err_lead(e, "fatal: -S/--core-spec and --thred-spec options are mutually exclusive");
    }
    str_add(f->warnings, "error: Ignoring --thread-spec since it's not allowed by configuration "
                         "(AllowSpecResourcesUsage = No)\n");
    return true;
}

static bool asked_for_gpus(const struct finishing *f, const char *option)
{
    const char *gres = f->q->gres;
    return source_of(f, option) > FROM_ENVIRONMENT &&
           (!text_is(option, "gres") || !gres || strstr(gres, "gpu") || text_is(gres, "none"));
}

/* SLURM_GPUS, SLURM_GPUS_PER_NODE and SLURM_GPUS_PER_TASK of a job speak for every step that says
 * nothing of GPUs; one that does means what it says. */
static void gpus_judge(struct finishing *f)
{
    const struct {
        const char *inherited;
        const char **text;
        const char *others[4];
    } rule[] = {
        {"gpus-per-task",
         &f->q->gpus_per_task,
         {"gpus", "gpus-per-node", "gpus-per-socket", "gres"}},
        {"gpus-per-node", &f->q->gpus_per_node, {"gpus", "gres"}},
        {"gpus", &f->q->gpus, {"gpus-per-node", "gpus-per-socket", "gres"}},
    };
    for (size_t i = 0; f->command == CMD_SRUN && i < ARRAY_LEN(rule); i++)
        for (size_t k = 0; k < ARRAY_LEN(rule[i].others) && rule[i].others[k]; k++)
            if (source_of(f, rule[i].inherited) == FROM_ENVIRONMENT &&
                asked_for_gpus(f, rule[i].others[k]))
                *rule[i].text = NULL;
}

/* How much of its nodes a step has is said once. */
static bool share_judge(struct finishing *f, struct err *e)
{
    const struct launch_options *l = &f->o->launch;
    bool alone = f->q->exclusive == EXCLUSIVE_NODE;
    if (f->command != CMD_SRUN)
        return true;
    if (l->whole && (l->exact || alone)) {
        err_set(e, ERR_INVALID, "--whole is the default; leave it out with --%s",
                l->exact ? "exact" : "exclusive");
        return err_lead(e, "error: --exact and --whole are mutually exclusive.");
    }
    if (alone && source_of(f, "overlap") > FROM_ENVIRONMENT) {
        err_set(e, ERR_INVALID, "--overlap shares CPUs with other steps; give one of them");
        return err_lead(e, "error: --exclusive and --overlap are mutually exclusive");
    }
    return true;
}

bool options_finish(struct submit_options *o, unsigned command, struct arena *a,
                    struct str *warnings, struct err *ret_err)
{
    struct finishing f = {o, &o->spec.req, command, a, warnings};
    if (o->verbose && o->quiet)
        return err_set(ret_err, ERR_INVALID, "don't specify both --verbose (-v) and --quiet (-Q)");
    hint_judge(&f);
    gpus_judge(&f);
    if (o->launch.het_group && !is_step(&f))
        note_no_effect(o, a, "--het-group", "it chooses components of a job that is there");
    o->spec.no_effect = o->no_effect;
    return memory_judge(&f, ret_err) && cpus_judge(&f, ret_err) && specialised_judge(&f, ret_err) &&
           gpus_per_node_merge(&f, ret_err) &&
           (!is_step(&f) || step_gpu_types_agree(&f, ret_err)) && nodelist_judge(&f, ret_err) &&
           options_plane_reaches(&f, ret_err) && share_judge(&f, ret_err) &&
           (is_step(&f) ? step_gpus_derive(&f, ret_err) : gpus_finish(&f, ret_err)) &&
           tasks_derive(&f, ret_err) && rest_check(&f, ret_err);
}
