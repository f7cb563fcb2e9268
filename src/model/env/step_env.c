#include "model/env/step_env.h"

#include "base/alloc.h"
#include "base/hostlist.h"
#include "base/idset.h"
#include "base/list.h"
#include "model/env/env_maker.h"

#include <string.h>

static const struct job_spec *spec_of(const struct step_env *e)
{
    return e->asked && e->asked->spec.n ? e->asked->spec.v : NULL;
}

static int64_t node_index(const struct step_env *e)
{
    for (size_t i = 0; i < e->layout->n; i++)
        if (text_is(e->layout->node[i].node, e->job.node))
            return (int64_t)i;
    return 0;
}

int64_t step_env_number(int64_t step_id)
{
    return step_id == STEP_BATCH         ? INT64_C(4294967291)
           : step_id == STEP_EXTERN      ? INT64_C(4294967292)
           : step_id == STEP_INTERACTIVE ? INT64_C(4294967290)
                                         : step_id;
}

static void put_step(struct env_maker *m, const struct step_env *e)
{
    const struct step *s = e->step;
    env_put_i64(m, "SLURM_STEP_ID", step_env_number(s->step_id));
    env_put_i64(m, "SLURM_STEPID", step_env_number(s->step_id));
    env_put_given(m, "SLURM_STEP_NODELIST", s->nodes);
    env_put_i64(m, "SLURM_STEP_NUM_NODES", s->node_count);
    env_put_i64(m, "SLURM_STEP_NUM_TASKS", s->ntasks);
    env_put_per_node(m, "SLURM_STEP_TASKS_PER_NODE", e->layout, true);
    env_put_per_node(m, "SLURM_TASKS_PER_NODE", e->layout, true);
    env_put_i64(m, "SLURM_NTASKS", s->ntasks);
    env_put_i64(m, "SLURM_NPROCS", s->ntasks);
    env_put_i64(m, "SLURM_NNODES", s->node_count);
    env_put_i64(m, "SLURM_NODEID", node_index(e));
}

static void put_job(struct env_maker *m, const struct step_env *e)
{
    const struct job *j = m->job;
    const char *nodes = j->nodes ? j->nodes : e->job.node;
    env_put(m, "SLURM_JOB_NODELIST", nodes);
    env_put(m, "SLURM_NODELIST", nodes);
    env_put_i64(m, "SLURM_JOB_NUM_NODES", j->alloc_nodes > 0 ? j->alloc_nodes : 1);
    env_put_per_node(m, "SLURM_JOB_CPUS_PER_NODE", e->job.alloc, false);
}

/* Numbers of all tasks of this node. */
static void put_gtids(struct env_maker *m, const struct alloc_node *here)
{
    struct idset ids = IDSET_INIT;
    struct str text = STR_INIT;
    uint32_t id;
    bool more = here && here->task_ids && idset_parse(&ids, here->task_ids, UINT32_MAX, NULL) &&
                idset_first(&ids, &id);
    for (; more; more = idset_next(&ids, id, &id))
        list_addf(&text, "%u", id);
    env_put(m, "SLURM_GTIDS", str_text(&text));
    str_done(&text);
    idset_done(&ids);
}

/* As asked of the step or its job; else what a step of Slurm's has that asks for none. */
static const char *distribution_of(const struct step_env *e, const struct job_request *step,
                                   const struct job_request *job)
{
    if (!text_empty(step->distribution))
        return step->distribution;
    if (!text_empty(job->distribution))
        return job->distribution;
    return e->step->ntasks <= e->step->node_count ? "cyclic" : "block";
}

static void put_asked(struct env_maker *m, const struct step_env *e, const struct alloc_node *here)
{
    const struct job_spec *spec = spec_of(e);
    const struct job_request *r = spec ? &spec->req : &m->job->spec.req, *job = &m->job->spec.req;
    env_put_i64(m, "SLURM_CPUS_ON_NODE", here ? here->cpu_count : 1);
    env_put_count(m, "SLURM_CPUS_PER_TASK",
                  r->cpus_per_task ? r->cpus_per_task : job->cpus_per_task);
    if (!text_is_nocase(r->distribution, "arbitrary"))
        env_put_count(m, "SLURM_NTASKS_PER_NODE",
                      r->ntasks_per_node ? r->ntasks_per_node : job->ntasks_per_node);
    env_put_count(m, "SLURM_NTASKS_PER_TRES", r->ntasks_per_gpu);
    env_put_count(m, "SLURM_NTASKS_PER_SOCKET", r->ntasks_per_socket);
    env_put_count(m, "SLURM_NTASKS_PER_CORE", r->ntasks_per_core);
    env_put_threads(m, r);
    if (r->overcommit)
        env_put(m, "SLURM_OVERCOMMIT", "1");
    env_put_spread(m, distribution_of(e, r, job));
    env_put_given(m, "SLURM_CPU_BIND", e->cpu_bind);
    env_put_given(m, "SLURM_CPU_BIND_TYPE", e->cpu_bind);
    env_put_given(m, "SLURM_CPU_BIND_LIST", e->cpu_list);
    env_put_mem_bind_parts(m, spec ? spec->mem_bind : NULL);
    env_put_given(m, "SLURM_GPUS_PER_TASK", r->gpus_per_task);
}

/* A step holds all GPUs of its job here, or those it asked for. */
static void put_gpus(struct env_maker *m, const struct step_env *e, const struct alloc_node *here)
{
    struct str own = STR_INIT, job = STR_INIT;
    int64_t n = env_gpu_numbers(m, here, &own);
    if (env_gpu_numbers(m, m->here, &job) > 0)
        env_put(m, "SLURM_JOB_GPUS", str_text(&job));
    if (n > 0) {
        env_put(m, "SLURM_STEP_GPUS", str_text(&own));
        env_put_i64(m, "SLURM_GPUS_ON_NODE", n);
        env_put_visible_devices(m, str_text(&own), n);
    } else if (e->job.has_gpus) {
        env_put(m, "CUDA_VISIBLE_DEVICES", "NoDevFiles");
        env_put(m, "ROCR_VISIBLE_DEVICES", "NoDevFiles");
    }
    str_done(&own);
    str_done(&job);
}

/* Where srun is: the first address that other hosts can use. */
static void put_command(struct env_maker *m, const struct step_env *e)
{
    struct span rest = span_of(e->asked ? e->asked->address : NULL), address;
    while (span_next(&rest, ' ', &address)) {
        struct str host = STR_INIT, port = STR_INIT;
        if (address.len > strlen("tls:") && memcmp(address.data, "tls:", strlen("tls:")) == 0) {
            address.data += strlen("tls:");
            address.len -= strlen("tls:");
        }
        const char *colon =
            address.len && address.data[0] != '@' ? memrchr(address.data, ':', address.len) : NULL;
        if (!colon)
            continue;
        str_addn(&host, address.data, (size_t)(colon - address.data));
        str_addn(&port, colon + 1, (size_t)(address.data + address.len - colon - 1));
        env_put(m, "SLURM_LAUNCH_NODE_IPADDR", str_text(&host));
        env_put(m, "SLURM_SRUN_COMM_HOST", str_text(&host));
        env_put(m, "SLURM_SRUN_COMM_PORT", str_text(&port));
        env_put(m, "SLURM_STEP_LAUNCHER_PORT", str_text(&port));
        str_done(&host);
        str_done(&port);
        return;
    }
}

/* All components of a heterogeneous job go by its number. */
static void put_leader(struct env_maker *m)
{
    env_put_count(m, "SLURM_JOB_ID", (int64_t)m->job->het_job_id);
    env_put_count(m, "SLURM_JOBID", (int64_t)m->job->het_job_id);
}

void step_env_shared(const struct step_env *e, struct str *out)
{
    struct env_maker m = env_maker_of(&e->job, out);
    const struct alloc_node *here = alloc_find(e->layout, e->job.node);
    put_leader(&m);
    env_put_identity(&m);
    env_put_place(&m);
    put_step(&m, e);
    put_job(&m, e);
    put_gtids(&m, here);
    put_asked(&m, e, here);
    put_gpus(&m, e, here);
    env_put_gpu_requests(&m);
    env_put_memory(&m);
    env_put_array(&m);
    env_put_times(&m);
    put_command(&m, e);
    env_put_given(&m, "REMUDA_STEP_DIR", e->job.step_dir);
    map_str_free(m.set);
    if (e->job.interactive)
        job_env_dialect(&e->job, out);
}

/* ---- several components as one ---- */

static void alloc_append(struct alloc *to, const char *text, struct hostlist *names,
                         struct arena *a)
{
    struct alloc more = {0};
    if (text_empty(text) || !alloc_parse(text, a, &more, NULL))
        return;
    struct alloc_node *both = arena_alloc(a, (to->n + more.n + 1) * sizeof *both);
    memcpy(both, to->node, to->n * sizeof *both);
    memcpy(both + to->n, more.node, more.n * sizeof *both);
    for (size_t i = 0; i < more.n; i++)
        hostlist_add(names, more.node[i].node);
    to->node = both;
    to->n += more.n;
}

static void put_names(struct env_maker *m, const char *name, const char *other,
                      const struct hostlist *names)
{
    struct str text = STR_INIT;
    hostlist_fold(names, &text);
    env_put(m, name, str_text(&text));
    if (other)
        env_put(m, other, str_text(&text));
    str_done(&text);
}

void step_env_whole(const struct job *const *jobs, const struct step *steps, size_t n,
                    struct arena *a, struct str *out)
{
    ASSERT(n > 0);
    static const struct alloc nothing;
    struct job_env leader = {.job = jobs[0], .alloc = &nothing, .node = ""};
    struct env_maker m = env_maker_of(&leader, out);
    struct hostlist held = HOSTLIST_INIT, used = HOSTLIST_INIT;
    struct alloc job = {.node = arena_alloc(a, 1), .n = 0}, layout = job;
    int64_t tasks = 0, id = (int64_t)(jobs[0]->het_job_id ? jobs[0]->het_job_id : jobs[0]->id);
    for (size_t i = 0; i < n; i++) {
        alloc_append(&job, jobs[i]->alloc, &held, a);
        alloc_append(&layout, steps[i].layout, &used, a);
        tasks += steps[i].ntasks;
    }
    env_put_i64(&m, "SLURM_JOB_ID", id);
    env_put_i64(&m, "SLURM_JOBID", id);
    put_names(&m, "SLURM_JOB_NODELIST", "SLURM_NODELIST", &held);
    put_names(&m, "SLURM_STEP_NODELIST", NULL, &used);
    env_put_i64(&m, "SLURM_JOB_NUM_NODES", (int64_t)job.n);
    env_put_per_node(&m, "SLURM_JOB_CPUS_PER_NODE", &job, false);
    env_put_per_node(&m, "SLURM_TASKS_PER_NODE", &layout, true);
    env_put_per_node(&m, "SLURM_STEP_TASKS_PER_NODE", &layout, true);
    env_put_i64(&m, "SLURM_NNODES", (int64_t)layout.n);
    env_put_i64(&m, "SLURM_STEP_NUM_NODES", (int64_t)layout.n);
    env_put_i64(&m, "SLURM_NTASKS", tasks);
    env_put_i64(&m, "SLURM_NPROCS", tasks);
    env_put_i64(&m, "SLURM_STEP_NUM_TASKS", tasks);
    map_str_free(m.set);
    hostlist_done(&held);
    hostlist_done(&used);
}
