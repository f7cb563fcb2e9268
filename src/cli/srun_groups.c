#include "base/alloc.h"
#include "base/idset.h"
#include "cli/srun_parts.h"
#include "model/step_env.h"

void srun_jobs_bind(struct launch *l)
{
    for (size_t i = 0; i < l->run.nsteps; i++)
        l->step[i].create.job_id = l->al.job[i < l->al.njobs ? i : l->al.njobs - 1].id;
}

/* What the environment says of the tasks is about the first component; the others have their own, as the job was laid out. */
static void group_spec(struct launch *l, struct step_ask *s, size_t component)
{
    const struct submit_options *o = &l->line.comp[component < l->line.ncomp ? component : 0];
    struct job_spec *spec = arena_dup(l->line.a, s->create.spec.v, sizeof *spec);
    const struct {
        const char *option;
        int32_t *number;
    } of_env[] = {{"ntasks", &spec->req.ntasks},
                  {"nodes", &spec->req.min_nodes},
                  {"nodes", &spec->req.max_nodes},
                  {"ntasks-per-node", &spec->req.ntasks_per_node},
                  {"cpus-per-task", &spec->req.cpus_per_task}};
    for (size_t i = 0; i < sizeof of_env / sizeof of_env[0]; i++)
        if (option_source_of(o, of_env[i].option, CMD_SRUN) == FROM_ENVIRONMENT)
            *of_env[i].number = 0;
    s->create.spec.v = spec;
}

/* Adds a step of the line's component `comp` on each of the job's components that --het-group of it names. */
static bool group_add(struct launch *l, struct step_ask *step, const struct step_ask *first, size_t comp,
                      size_t *n, struct err *e)
{
    const char *asked = l->line.comp[comp].launch.het_group;
    struct idset set = IDSET_INIT;
    uint32_t id;
    if (!idset_parse(&set, asked, COMPONENTS_MAX - 1, e))
        return err_prefix(e, "--het-group");
    bool ok = true;
    for (bool more = idset_first(&set, &id); more && ok; more = idset_next(&set, id, &id)) {
        if (id >= l->al.njobs || *n == COMPONENTS_MAX) {
            ok = err_set(e, ERR_INVALID, "--het-group=%s: the job's components are 0 to %zu", asked,
                         l->al.njobs - 1);
        } else {
            step[*n] = first[comp];
            step[*n].create.job_id = l->al.job[id].id;
            group_spec(l, &step[*n], comp);
            ++*n;
        }
    }
    idset_done(&set);
    return ok;
}

/* --het-group=0,2-3: these components, each with the program; without it the first (":" components: one after another). */
bool srun_groups_bind(struct launch *l, struct err *e)
{
    size_t n = 0, given = 0;
    for (size_t i = 0; i < l->run.nsteps; i++)
        given += !text_empty(l->line.comp[i].launch.het_group);
    if (given == 0) {
        if (l->run.nsteps > l->al.njobs)
            return err_set(e, ERR_INVALID, "the job has %zu component%s; %zu were given", l->al.njobs,
                           l->al.njobs == 1 ? "" : "s", l->run.nsteps);
        srun_jobs_bind(l);
        return true;
    }
    if (given < l->run.nsteps)
        return err_set(e, ERR_INVALID, "--het-group is given for %zu of %zu components; give it for each",
                       given, l->run.nsteps);
    struct step_ask *step = arena_alloc(l->line.a, COMPONENTS_MAX * sizeof *step);
    for (size_t i = 0; i < l->run.nsteps; i++)
        if (!group_add(l, step, l->step, i, &n, e))
            return false;
    l->step = step;
    l->run.nsteps = n;
    l->run.step = step;
    return true;
}

static const struct job *job_of(const struct launch *l, uint64_t id)
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
        jobs[i] = job_of(l, l->made[i].job_id);
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
