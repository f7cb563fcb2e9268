/* What was asked of a job, as its environment says it. */
#include "model/env/env_maker.h"

#include "base/alloc.h"
#include "base/hostlist.h"
#include "base/list.h"

#include <string.h>

/* The type is not part of it: "v100:2" → as asked, like Slurm. */
void env_put_gpu_requests(struct env_maker *m)
{
    const struct job_request *r = &m->job->spec.req;
    env_put_given(m, "SLURM_GPUS", r->gpus);
    env_put_given(m, "SLURM_GPUS_PER_NODE", r->gpus_per_node);
    env_put_given(m, "SLURM_GPUS_PER_SOCKET", r->gpus_per_socket);
    env_put_given(m, "SLURM_GPUS_PER_TASK", r->gpus_per_task);
    env_put_count(m, "SLURM_CPUS_PER_GPU", r->cpus_per_gpu);
    env_put_count(m, "SLURM_MEM_PER_GPU", r->mem_per_gpu_mib);
    env_put_count(m, "SLURM_NTASKS_PER_GPU", r->ntasks_per_gpu);
    env_put_given(m, "SLURM_GPU_BIND", m->job->spec.gpu_bind);
}

void env_put_threads(struct env_maker *m, const struct job_request *r)
{
    bool one = !r->threads_per_core && r->hint != HINT_UNSET && r->hint != HINT_MULTITHREAD;
    env_put_count(m, "SLURM_THREADS_PER_CORE", one ? 1 : r->threads_per_core);
}

/* "Energy,Task": Slurm's spelling and order. */
static void put_profile(struct env_maker *m)
{
    static const char *const kind[] = {"Energy", "Lustre", "Network", "Task"};
    const char *asked = m->job->spec.profile;
    struct str text = STR_INIT;
    for (size_t i = 0; asked && i < ARRAY_LEN(kind); i++)
        if (list_has_nocase(asked, kind[i]) || list_has_nocase(asked, "all"))
            str_addf(&text, "%s%s", text.len ? "," : "", kind[i]);
    if (asked)
        env_put(m, "SLURM_PROFILE", text.len ? str_text(&text) : "None");
    str_done(&text);
}

void env_put_tasks(struct env_maker *m)
{
    const struct job_request *r = &m->job->spec.req;
    if (env_tasks_asked(r)) {
        int64_t n = m->job->alloc_tasks > 0 ? m->job->alloc_tasks : r->ntasks > 0 ? r->ntasks : 1;
        env_put_i64(m, "SLURM_NTASKS", n);
        env_put_i64(m, "SLURM_NPROCS", n);
    }
    env_put_count(m, "SLURM_NTASKS_PER_NODE", r->ntasks_per_node);
    env_put_count(m, "SLURM_NTASKS_PER_SOCKET", r->ntasks_per_socket);
    env_put_count(m, "SLURM_NTASKS_PER_CORE", r->ntasks_per_core);
    env_put_count(m, "SLURM_CPUS_PER_TASK", r->cpus_per_task);
    env_put_threads(m, r);
    if (r->overcommit)
        env_put(m, "SLURM_OVERCOMMIT", "1");
    put_profile(m);
    if (r->hint != HINT_UNSET)
        env_put(m, "SLURM_HINT", enum_name(&hint_names, r->hint));
}

void env_put_memory(struct env_maker *m)
{
    const struct job_request *r = &m->job->spec.req;
    if (r->mem_per_cpu_mib > 0)
        env_put_i64(m, "SLURM_MEM_PER_CPU", r->mem_per_cpu_mib);
    else if (r->mem_per_node_mib > 0)
        env_put_i64(m, "SLURM_MEM_PER_NODE", r->mem_per_node_mib);
    else if (r->mem_per_gpu_mib == 0 && m->here)
        env_put_count(m, "SLURM_MEM_PER_NODE", m->here->mem_mib);
}

/* The nodes of -m arbitrary, in their order. */
static void put_arbitrary(struct env_maker *m)
{
    const struct job_request *r = &m->job->spec.req;
    struct hostlist nodes = HOSTLIST_INIT;
    struct str text = STR_INIT;
    if (text_is_nocase(r->distribution, "arbitrary") && r->nodelist &&
        hostlist_parse(&nodes, r->nodelist, NULL)) {
        hostlist_fold(&nodes, &text);
        env_put(m, "SLURM_ARBITRARY_NODELIST", str_text(&text));
    }
    str_done(&text);
    hostlist_done(&nodes);
}

void env_put_distribution(struct env_maker *m)
{
    env_put_spread(m, m->job->spec.req.distribution);
    put_arbitrary(m);
}

/* "*" at its place is what Slurm does there: blocks of nodes, cyclic below. */
static void spread_spelled(const char *asked, struct str *out)
{
    struct span rest = {asked, strcspn(asked, ",")}, level;
    const char *tail = asked + rest.len, *same = "cyclic";
    for (size_t i = 0; span_next(&rest, ':', &level); i++) {
        bool any = span_is(level, "*");
        str_addf(out, "%s%.*s", i ? ":" : "",
                 any ? (int)strlen(i ? same : "block") : (int)level.len,
                 any ? (i ? same : "block") : level.data);
    }
    str_add(out, tail);
}

void env_put_spread(struct env_maker *m, const char *distribution)
{
    struct str spelled = STR_INIT;
    bool plane = distribution && text_starts(distribution, "plane=");
    if (plane) {
        env_put(m, "SLURM_DISTRIBUTION", "plane");
        env_put(m, "SLURM_DIST_PLANESIZE", distribution + strlen("plane="));
    } else if (!text_empty(distribution)) {
        spread_spelled(distribution, &spelled);
        env_put(m, "SLURM_DISTRIBUTION", str_text(&spelled));
    }
    str_done(&spelled);
}
