#include "base/alloc.h"
#include "base/hostlist.h"
#include "base/idset.h"
#include "cli/step/srun_parts.h"
#include "model/env/step_env.h"

void srun_jobs_bind(struct launch *l)
{
    for (size_t i = 0; i < l->run.nsteps; i++)
        l->step[i].create.job_id = l->al.job[i < l->al.njobs ? i : l->al.njobs - 1].id;
}

/* ---- what a component of the step asks for ---- */

/* What the environment says is about the job, or its first component; others have their own, as
 * they were laid out. */
static void env_forget(const struct submit_options *o, struct job_request *r)
{
    const struct {
        const char *option;
        int32_t *number;
    } numbers[] = {{"ntasks", &r->ntasks},
                   {"nodes", &r->min_nodes},
                   {"nodes", &r->max_nodes},
                   {"ntasks-per-node", &r->ntasks_per_node},
                   {"ntasks-per-gpu", &r->ntasks_per_gpu},
                   {"cpus-per-task", &r->cpus_per_task},
                   {"cpus-per-gpu", &r->cpus_per_gpu}};
    const struct {
        const char *option;
        int64_t *mib;
    } sizes[] = {{"mem", &r->mem_per_node_mib},
                 {"mem-per-cpu", &r->mem_per_cpu_mib},
                 {"mem-per-gpu", &r->mem_per_gpu_mib}};
    const struct {
        const char *option, **text;
    } texts[] = {{"gres", &r->gres},
                 {"gpus", &r->gpus},
                 {"gpus-per-node", &r->gpus_per_node},
                 {"gpus-per-socket", &r->gpus_per_socket},
                 {"gpus-per-task", &r->gpus_per_task}};
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        if (option_source_of(o, numbers[i].option, CMD_SRUN) == FROM_ENVIRONMENT)
            *numbers[i].number = 0;
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
        if (option_source_of(o, sizes[i].option, CMD_SRUN) == FROM_ENVIRONMENT)
            *sizes[i].mib = 0;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (option_source_of(o, texts[i].option, CMD_SRUN) == FROM_ENVIRONMENT)
            *texts[i].text = NULL;
}

static struct job_spec *own_spec(struct launch *l, struct step_ask *s, size_t component)
{
    const struct submit_options *o = &l->line.comp[component < l->line.ncomp ? component : 0];
    struct job_spec *spec = arena_dup(l->line.a, s->create.spec.v, sizeof *spec);
    env_forget(o, &spec->req);
    s->create.spec.v = spec;
    return spec;
}

/* ---- components of a heterogeneous job ---- */

/* A step for each of the job's components; those that a component of the line has are given to
 * it. */
struct groups {
    struct step_ask of[COMPONENTS_MAX];
    size_t comp[COMPONENTS_MAX]; /* of the line */
    bool taken[COMPONENTS_MAX];
};

static bool group_add(struct launch *l, struct groups *g, size_t comp, struct err *e)
{
    const char *asked = l->line.comp[comp].launch.het_group;
    struct idset set = IDSET_INIT;
    uint32_t id;
    if (!idset_parse(&set, asked, COMPONENTS_MAX - 1, e))
        return err_prefix(e, "--het-group");
    bool ok = true;
    for (bool more = idset_first(&set, &id); more && ok; more = idset_next(&set, id, &id)) {
        if (id >= l->al.njobs) {
            err_set(e, ERR_INVALID, "--het-group=%s: the job's components are 0 to %zu", asked,
                    l->al.njobs - 1);
            ok = err_lead(
                e, "error: Requested het-group offset exceeds highest hetjob index (%u > %zu)", id,
                l->al.njobs - 1);
        } else if (g->taken[id]) {
            ok = err_set(e, ERR_INVALID, "Duplicate het groups in single srun not supported: %u",
                         id);
        } else {
            g->taken[id] = true;
            g->of[id] = l->step[comp];
            g->comp[id] = comp;
            g->of[id].create.job_id = l->al.job[id].id;
            if (id > 0)
                own_spec(l, &g->of[id], comp);
        }
    }
    idset_done(&set);
    return ok;
}

/* Tasks are numbered in the order of the job's components, whatever the order of the line: as in
 * Slurm. */
static void groups_take(struct launch *l, const struct groups *g)
{
    struct step_ask *step = arena_alloc(l->line.a, COMPONENTS_MAX * sizeof *step);
    size_t *comp = arena_alloc(l->line.a, COMPONENTS_MAX * sizeof *comp), n = 0;
    for (size_t i = 0; i < COMPONENTS_MAX; i++)
        if (g->taken[i]) {
            comp[n] = g->comp[i];
            step[n++] = g->of[i];
        }
    l->comp_of = comp;
    l->step = step;
    l->run.nsteps = n;
    l->run.step = step;
}

/* ---- components of the line alone, in an ordinary job --------------------------------------- */

/* The first `n` of the job's nodes that no component has yet. */
static bool nodes_choose(const struct hostlist *all, struct hostlist *used, size_t n,
                         struct str *names, struct err *e)
{
    size_t before = used->n, found = 0;
    for (size_t i = 0; i < all->n && found < n; i++)
        if (!hostlist_has(used, all->name[i])) {
            str_addf(names, "%s%s", found++ ? "," : "", all->name[i]);
            hostlist_add(used, all->name[i]);
        }
    return found == n || err_set(e, ERR_INVALID,
                                 "Allocation failure of %zu nodes: job size of %zu, already "
                                 "allocated %zu nodes to previous "
                                 "components.",
                                 n, all->n, before);
}

/* Each has nodes to itself, in the order of the job's: as many as it asks for, or one. */
static bool nodes_deal(struct launch *l, size_t comp, const struct hostlist *all,
                       struct hostlist *used, struct err *e)
{
    struct job_request *r = &own_spec(l, &l->step[comp], comp)->req;
    size_t n = r->min_nodes > 0 ? (size_t)r->min_nodes : 1;
    struct str names = STR_INIT;
    if (!text_empty(r->nodelist))
        return hostlist_parse(used, r->nodelist, e);
    bool ok = nodes_choose(all, used, n, &names, e);
    r->nodelist = arena_strdup(l->line.a, str_text(&names));
    r->min_nodes = r->max_nodes = (int32_t)n;
    str_done(&names);
    return ok;
}

static bool line_groups_bind(struct launch *l, struct err *e)
{
    struct hostlist all = HOSTLIST_INIT, used = HOSTLIST_INIT;
    bool ok = hostlist_parse(&all, l->al.job[0].nodes ? l->al.job[0].nodes : "", e);
    for (size_t i = 0; ok && i < l->run.nsteps; i++)
        ok = nodes_deal(l, i, &all, &used, e);
    hostlist_done(&all);
    hostlist_done(&used);
    srun_jobs_bind(l);
    return ok;
}

/* ---- which of them ---- */

/* --het-group=0,2-3: these components, each with the program; without it the first (":" components:
 * one after another). */
bool srun_groups_bind(struct launch *l, struct err *e)
{
    size_t given = 0, n = l->run.nsteps;
    for (size_t i = 0; i < n; i++)
        given += !text_empty(l->line.comp[i].launch.het_group);
    if (given == 0 && n > 1 && l->al.njobs == 1)
        return line_groups_bind(l, e);
    if (given == 0) {
        if (n > l->al.njobs)
            return err_set(
                e, ERR_INVALID,
                "Attempt to run a job step with het group value of %zu, but the job allocation has "
                "maximum value of %zu",
                n - 1, l->al.njobs - 1);
        srun_jobs_bind(l);
        for (size_t i = 1; i < n; i++)
            own_spec(l, &l->step[i], i);
        return true;
    }
    if (given < n)
        return err_set(e, ERR_INVALID,
                       "--het-group is given for %zu of %zu components; give it for each", given,
                       n);
    struct groups *g = arena_alloc(l->line.a, sizeof *g);
    for (size_t i = 0; i < n; i++)
        if (!group_add(l, g, i, e))
            return false;
    groups_take(l, g);
    return true;
}

const struct job *srun_job_of(const struct launch *l, uint64_t id)
{
    for (size_t i = 0; i < l->al.njobs; i++)
        if (l->al.job[i].id == id)
            return &l->al.job[i];
    return &l->al.job[0];
}

void srun_groups_join(struct launch *l)
{
    size_t n = l->run.nsteps;
    if (n < 2)
        return;
    const struct job **jobs = arena_alloc(l->line.a, n * sizeof *jobs);
    struct str env = STR_INIT;
    int32_t world = 0, nodes = 0;
    for (size_t i = 0; i < n; i++)
        jobs[i] = srun_job_of(l, l->made[i].job_id);
    step_env_whole(jobs, l->made, n, l->line.a, &env);
    struct job_env like = {.job = jobs[0]};
    job_env_components(&like, l->al.job, l->al.njobs, l->line.a, &env);
    struct blob whole = {arena_dup(l->line.a, env.data, env.len), env.len};
    str_done(&env);
    for (size_t i = 0; i < n; i++) {
        struct msg_stream_tasks *t = &l->step[i].tasks;
        t->first_task = world;
        t->first_node = nodes;
        t->whole_env = whole;
        t->master_addr = l->made[0].master_addr;
        t->master_port = arena_printf(l->line.a, "%d", l->made[0].master_port);
        world += l->made[i].ntasks;
        nodes += l->made[i].node_count;
    }
    for (size_t i = 0; i < n; i++)
        l->step[i].tasks.world = world;
}
