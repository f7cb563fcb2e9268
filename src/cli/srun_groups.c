#include "base/alloc.h"
#include "base/idset.h"
#include "cli/srun_parts.h"

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

/* --het-group=0,2-3: these components, each with the program; without it the first (":" components: one after another). */
bool srun_groups_bind(struct launch *l, struct err *e)
{
    const char *asked = l->line.comp[0].launch.het_group;
    struct idset set = IDSET_INIT;
    uint32_t id;
    size_t k = 0;
    if (text_empty(asked)) {
        if (l->run.nsteps > l->al.njobs)
            return err_set(e, ERR_INVALID, "the job has %zu component%s; %zu were given", l->al.njobs,
                           l->al.njobs == 1 ? "" : "s", l->run.nsteps);
        srun_jobs_bind(l);
        return true;
    }
    if (!idset_parse(&set, asked, COMPONENTS_MAX - 1, e))
        return err_prefix(e, "--het-group");
    struct step_ask *first = l->step;
    l->step = arena_alloc(l->line.a, set.count * sizeof *l->step);
    for (bool more = idset_first(&set, &id); more; more = idset_next(&set, id, &id), k++) {
        if (id >= l->al.njobs) {
            idset_done(&set);
            return err_set(e, ERR_INVALID, "--het-group=%s: the job's components are 0 to %zu", asked,
                           l->al.njobs - 1);
        }
        l->step[k] = first[k < l->run.nsteps ? k : 0];
        l->step[k].create.job_id = l->al.job[id].id;
        group_spec(l, &l->step[k], k);
    }
    l->run.nsteps = k;
    l->run.step = l->step;
    idset_done(&set);
    return true;
}
