#include "model/env/job_env.h"

#include "model/env/env_maker.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/hostlist.h"
#include "base/idset.h"
#include "base/list.h"
#include "base/map.h"
#include "model/grammar/gres.h"
#include "model/job/array.h"
#include "model/limits.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define STANDARD_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* ---- writing ---- */

void env_put(struct env_maker *m, const char *name, const char *value)
{
    if (map_str_get(m->set, name))
        return;
    map_str_put(m->set, name, m);
    str_add(m->out, name);
    str_addc(m->out, '=');
    str_add(m->out, value);
    str_addc(m->out, '\0');
}

void env_put_given(struct env_maker *m, const char *name, const char *value)
{
    if (!text_empty(value))
        env_put(m, name, value);
}

void env_put_i64(struct env_maker *m, const char *name, int64_t n)
{
    struct str text = STR_INIT;
    str_add_i64(&text, n);
    env_put(m, name, str_text(&text));
    str_done(&text);
}

void env_put_count(struct env_maker *m, const char *name, int64_t n)
{
    if (n > 0)
        env_put_i64(m, name, n);
}

/* Value of an exported variable, or NULL. */
static const char *exported(const struct env_maker *m, const char *name)
{
    return text_value((struct span){m->e->exported.data, m->e->exported.len}, name);
}

static void put_unless_exported(struct env_maker *m, const char *name, const char *value)
{
    if (value && !exported(m, name))
        env_put(m, name, value);
}

/* ---- the allocation ---- */

void env_put_per_node(struct env_maker *m, const char *name, const struct alloc *al, bool tasks)
{
    struct str text = STR_INIT;
    for (size_t i = 0, run; i < al->n; i += run) {
        int32_t value = tasks ? al->node[i].tasks : al->node[i].cpu_count;
        for (run = 1; i + run < al->n; run++)
            if ((tasks ? al->node[i + run].tasks : al->node[i + run].cpu_count) != value)
                break;
        str_addf(&text, "%s%d", i ? "," : "", tasks && value < 1 ? 1 : value);
        if (run > 1)
            str_addf(&text, "(x%zu)", run);
    }
    env_put(m, name, text.len ? str_text(&text) : "1");
    str_done(&text);
}

/* Of a job that does not say how many tasks it has: as many as its CPUs have room for. */
static void put_tasks_per_node(struct env_maker *m)
{
    const struct job_request *r = &m->job->spec.req;
    const struct alloc *al = m->e->alloc;
    struct alloc room = {.n = al->n};
    if (env_tasks_asked(r)) {
        env_put_per_node(m, "SLURM_TASKS_PER_NODE", al, true);
        return;
    }
    room.node = xcalloc(al->n + 1, sizeof *room.node);
    for (size_t i = 0; i < al->n; i++)
        room.node[i].tasks = al->node[i].cpu_count / (r->cpus_per_task > 0 ? r->cpus_per_task : 1);
    env_put_per_node(m, "SLURM_TASKS_PER_NODE", &room, true);
    free(room.node);
}

static void put_nodes(struct env_maker *m)
{
    const struct job *j = m->job;
    const char *nodes = j->nodes ? j->nodes : m->e->node;
    env_put(m, "SLURM_JOB_NODELIST", nodes);
    env_put(m, "SLURM_NODELIST", nodes);
    env_put_i64(m, "SLURM_JOB_NUM_NODES", j->alloc_nodes > 0 ? j->alloc_nodes : 1);
    env_put_i64(m, "SLURM_NNODES", j->alloc_nodes > 0 ? j->alloc_nodes : 1);
    env_put_per_node(m, "SLURM_JOB_CPUS_PER_NODE", m->e->alloc, false);
    put_tasks_per_node(m);
}

static void put_cpus_here(struct env_maker *m)
{
    env_put_i64(m, "SLURM_CPUS_ON_NODE", m->here ? m->here->cpu_count : 1);
}

static const struct alloc_gres *gpus_here(const struct env_maker *m)
{
    for (size_t i = 0; m->here && i < m->here->ngres; i++)
        if (text_is(m->here->gres[i].kind, "gpu"))
            return &m->here->gres[i];
    return NULL;
}

/* Device numbers of all entries of the kind (a job may hold two types) in their order, in which
 * those that are left over are counted, unfolded: programs want "0,1,2". */
int64_t env_gpu_numbers(const struct env_maker *m, const struct alloc_node *node, struct str *out)
{
    struct idset set = IDSET_INIT;
    struct str all = STR_INIT;
    uint32_t id;
    int64_t n = 0;
    for (size_t i = 0; node && i < node->ngres; i++) {
        const struct alloc_gres *g = &node->gres[i];
        if (!text_is(g->kind, "gpu"))
            continue;
        n += g->count;
        if (g->devices)
            list_addf(&all, "%s", g->devices);
    }
    bool more =
        all.len && idset_parse(&set, str_text(&all), UINT32_MAX, NULL) && idset_first(&set, &id);
    for (; more; more = idset_next(&set, id, &id))
        list_addf(out, "%u", id);
    str_done(&all);
    idset_done(&set);
    return n;
}

/* HIP numbers what ROCR has left over from 0 on, so the same list in both would hide devices
 * twice. */
void env_put_visible_devices(struct env_maker *m, const char *numbers, int64_t n)
{
    ASSERT(numbers && n >= 0);
    struct str relative = STR_INIT, names = STR_INIT;
    struct span rest = span_of(numbers), number;
    for (int64_t i = 0; i < n; i++)
        str_addf(&relative, "%s%lld", i ? "," : "", (long long)i);
    while (m->e->gpu_names && span_next(&rest, ',', &number)) {
        struct span name =
            device_name_of(m->e->gpu_names, (uint32_t)strtoul(number.data, NULL, 10));
        if (name.len)
            list_addf(&names, "%.*s", (int)name.len, name.data);
    }
    if (names.len)
        numbers = str_text(&names);
    else if (m->e->gpus_hidden)
        numbers = str_text(&relative);
    env_put(m, "CUDA_VISIBLE_DEVICES", numbers);
    env_put(m, "ROCR_VISIBLE_DEVICES", numbers);
    env_put(m, "HIP_VISIBLE_DEVICES", str_text(&relative));
    env_put(m, "GPU_DEVICE_ORDINAL", numbers);
    env_put(m, "ZE_AFFINITY_MASK", numbers);
    str_done(&relative);
    str_done(&names);
}

static void put_gpus(struct env_maker *m)
{
    struct str numbers = STR_INIT;
    int64_t n = gpus_here(m) ? env_gpu_numbers(m, m->here, &numbers) : 0;
    if (n > 0) {
        env_put(m, "SLURM_JOB_GPUS", str_text(&numbers));
        env_put_i64(m, "SLURM_GPUS_ON_NODE", n);
        env_put_visible_devices(m, str_text(&numbers), n);
    } else if (m->e->has_gpus) {
        /* A job that asked for none must not use another's. */
        env_put(m, "CUDA_VISIBLE_DEVICES", "NoDevFiles");
        env_put(m, "ROCR_VISIBLE_DEVICES", "NoDevFiles");
    }
    str_done(&numbers);
}

/* ---- the array ---- */

/* As asked: "1-9:2" has 2, "1,3,5" has 1. */
static int64_t array_step(const char *asked)
{
    const char *colon = strchr(asked, ':');
    int64_t step = colon ? strtoll(colon + 1, NULL, 10) : 1;
    return step > 0 ? step : 1;
}

void env_put_array(struct env_maker *m)
{
    const struct job *j = m->job;
    struct idset ids = IDSET_INIT;
    uint32_t limit, first;
    if (j->array_job_id == 0 || j->array_task_id == NO_TASK)
        return;
    env_put_i64(m, "SLURM_ARRAY_JOB_ID", (int64_t)j->array_job_id);
    env_put_i64(m, "SLURM_ARRAY_TASK_ID", j->array_task_id);
    if (j->spec.array && array_parse(j->spec.array, LIMIT_ARRAY_INDEX, &ids, &limit, NULL) &&
        idset_first(&ids, &first)) {
        env_put_i64(m, "SLURM_ARRAY_TASK_COUNT", (int64_t)ids.count);
        env_put_i64(m, "SLURM_ARRAY_TASK_MIN", first);
        env_put_i64(m, "SLURM_ARRAY_TASK_MAX", idset_last(&ids));
        env_put_i64(m, "SLURM_ARRAY_TASK_STEP", array_step(j->spec.array));
    }
    idset_done(&ids);
}

/* ---- the job and its owner ---- */

void env_put_job(struct env_maker *m)
{
    const struct job *j = m->job;
    env_put_i64(m, "SLURM_JOB_ID", (int64_t)j->id);
    env_put_i64(m, "SLURM_JOBID", (int64_t)j->id);
    env_put(m, "SLURM_JOB_NAME", j->spec.name ? j->spec.name : "");
    env_put_given(m, "SLURM_JOB_PARTITION",
                  j->run_partition ? j->run_partition : j->spec.req.partition);
    env_put_given(m, "SLURM_JOB_ACCOUNT", j->spec.req.account);
    env_put_given(m, "SLURM_JOB_QOS", j->spec.req.qos);
    env_put_given(m, "SLURM_JOB_RESERVATION", job_reservation(j));
}

static void put_owner(struct env_maker *m)
{
    const struct job *j = m->job;
    env_put_i64(m, "SLURM_JOB_UID", j->user_id);
    env_put_i64(m, "SLURM_JOB_GID", j->group_id);
    env_put_given(m, "SLURM_JOB_USER", m->e->user ? m->e->user : j->user_name);
    env_put_given(m, "SLURM_JOB_GROUP", m->e->group ? m->e->group : j->group_name);
}

static void put_cluster(struct env_maker *m)
{
    env_put_given(m, "SLURM_CLUSTER_NAME", m->e->cluster_name);
    if (!text_empty(m->e->state_dir)) {
        struct str conf = STR_INIT;
        str_addf(&conf, "%s/remuda.conf", m->e->state_dir);
        env_put(m, "SLURM_CONF", str_text(&conf));
        env_put(m, "REMUDA_STATE", m->e->state_dir);
        str_done(&conf);
    }
}

void env_put_identity(struct env_maker *m)
{
    env_put_job(m);
    put_owner(m);
    put_cluster(m);
}

void env_put_place(struct env_maker *m)
{
    env_put(m, "SLURMD_NODENAME", m->e->node);
    env_put(m, "SLURM_TOPOLOGY_ADDR", m->e->topology_addr ? m->e->topology_addr : m->e->node);
    env_put(m, "SLURM_TOPOLOGY_ADDR_PATTERN",
            m->e->topology_pattern ? m->e->topology_pattern : "node");
}

void env_put_times(struct env_maker *m)
{
    const struct job *j = m->job;
    env_put_count(m, "SLURM_RESTART_COUNT", j->restarts);
    env_put_count(m, "SLURM_JOB_START_TIME", j->start_us / USEC_PER_SEC);
    if (j->limit_us > 0 && j->limit_us != TIME_UNLIMITED && j->start_us > 0)
        env_put_i64(m, "SLURM_JOB_END_TIME", time_add(j->start_us, j->limit_us) / USEC_PER_SEC);
}

static bool path_has(const char *path, const char *dir)
{
    struct span rest = span_of(path), piece;
    while (span_next(&rest, ':', &piece))
        if (span_is(piece, dir))
            return true;
    return false;
}

/* Commands inside the job must be this cluster's, whatever else is installed. */
static void put_path(struct env_maker *m)
{
    const char *path = exported(m, "PATH");
    struct str text = STR_INIT;
    if (!path)
        path = STANDARD_PATH;
    if (!text_empty(m->e->bin_dir) && !path_has(path, m->e->bin_dir))
        str_addf(&text, "%s:", m->e->bin_dir);
    str_add(&text, path);
    env_put(m, "PATH", str_text(&text));
    str_done(&text);
}

static void put_task(struct env_maker *m)
{
    env_put(m, "SLURM_NODEID", "0");
    env_put(m, "SLURM_PROCID", "0");
    env_put(m, "SLURM_LOCALID", "0");
    env_put(m, "SLURM_GTIDS", "0");
    env_put(m, "ENVIRONMENT", "BATCH");
    env_put(m, "HOSTNAME", m->e->hostname);
    put_unless_exported(m, "SLURM_PRIO_PROCESS", "0");
    put_unless_exported(m, "SLURM_SUBMIT_DIR", m->job->spec.work_dir);
    put_unless_exported(m, "SLURM_SUBMIT_HOST", m->job->spec.alloc_host);
    put_unless_exported(m, "USER", m->e->user);
    put_unless_exported(m, "LOGNAME", m->e->user);
    put_unless_exported(m, "HOME", m->e->home);
    put_unless_exported(m, "SHELL", m->e->shell);
    put_unless_exported(m, "TMPDIR", "/tmp");
    if (m->job->spec.get_user_env)
        env_put(m, "SLURM_GET_USER_ENV", "1");
    env_put_given(m, "SLURM_EXPORT_ENV", m->job->spec.export_env);
    env_put_given(m, "SLURM_CONTAINER", m->job->spec.container);
    env_put_given(m, "REMUDA_STEP_DIR", m->e->step_dir);
}

static void put_each(struct env_maker *m, struct span list)
{
    struct str name = STR_INIT;
    const char *at;
    while (text_next(&list, &at)) {
        size_t len = strcspn(at, "=");
        str_clear(&name);
        str_addn(&name, at, len);
        if (len > 0 && at[len] == '=')
            env_put(m, str_text(&name), at + len + 1);
    }
    str_done(&name);
}

static void copy_exported(struct env_maker *m)
{
    put_each(m, (struct span){m->e->exported.data, m->e->exported.len});
}

static void put_dialect(struct env_maker *m)
{
    struct str own = STR_INIT;
    job_env_dialect(m->e, &own);
    put_each(m, (struct span){own.data, own.len});
    str_done(&own);
}

struct env_maker env_maker_of(const struct job_env *e, struct str *out)
{
    return (struct env_maker){.e = e,
                              .job = e->job,
                              .here = alloc_find(e->alloc, e->node),
                              .set = map_str_new(),
                              .out = out};
}

void job_env_batch(const struct job_env *e, struct str *out)
{
    struct env_maker m = env_maker_of(e, out);
    env_put_identity(&m);
    env_put_place(&m);
    put_nodes(&m);
    put_cpus_here(&m);
    put_gpus(&m);
    env_put_tasks(&m);
    env_put_gpu_requests(&m);
    env_put_memory(&m);
    env_put_distribution(&m);
    env_put_mem_bind(&m, m.job->spec.mem_bind);
    env_put_mem_bind_batch(&m, m.job->spec.mem_bind);
    env_put_array(&m);
    env_put_times(&m);
    put_path(&m);
    put_task(&m);
    put_dialect(&m);
    copy_exported(&m);
    map_str_free(m.set);
}

static void put_allocation(struct env_maker *m)
{
    env_put_job(m);
    put_nodes(m);
    env_put_tasks(m);
    env_put_gpu_requests(m);
    env_put_memory(m);
    env_put_distribution(m);
    env_put_mem_bind(m, m->job->spec.mem_bind);
    env_put_times(m);
}

void job_env_allocation(const struct job_env *e, struct str *out)
{
    struct env_maker m = env_maker_of(e, out);
    put_allocation(&m);
    put_cluster(&m);
    map_str_free(m.set);
}

void job_env_leader(const struct job_env *e, struct str *out)
{
    struct env_maker m = env_maker_of(e, out);
    env_put_i64(&m, "SLURM_JOB_ID", (int64_t)e->job->id);
    put_cluster(&m);
    map_str_free(m.set);
}

static void component_put(const struct job_env *e, size_t i, struct str *out)
{
    ASSERT(e->job && e->alloc);
    struct str plain = STR_INIT;
    struct env_maker m = env_maker_of(e, &plain);
    put_allocation(&m);
    map_str_free(m.set);
    struct span rest = {plain.data, plain.len};
    for (const char *at; text_next(&rest, &at);) {
        size_t name = strcspn(at, "=");
        str_addn(out, at, name);
        str_addf(out, "_HET_GROUP_%zu%s", i, at + name);
        str_addc(out, '\0');
    }
    str_done(&plain);
}

void job_env_parts(struct job_env *e, const struct job *jobs, size_t n, struct arena *a)
{
    if (n < 2)
        return;
    struct job_env_part *part = arena_alloc(a, n * sizeof *part);
    for (size_t i = 0; i < n; i++) {
        part[i].job = &jobs[i];
        if (jobs[i].alloc)
            alloc_parse(jobs[i].alloc, a, &part[i].alloc, NULL);
    }
    e->part = part;
    e->nparts = n;
}

void job_env_components(const struct job_env *like, const struct job *jobs, size_t n,
                        struct arena *a, struct str *out)
{
    if (n < 2)
        return;
    for (size_t i = 0; i < n; i++) {
        struct job_env e = *like;
        struct alloc alloc = {0};
        if (jobs[i].alloc)
            alloc_parse(jobs[i].alloc, a, &alloc, NULL);
        e.job = &jobs[i];
        e.alloc = &alloc;
        e.node = alloc.n ? alloc.node[0].node : "";
        component_put(&e, i, out);
    }
    str_addf(out, "SLURM_HET_SIZE=%zu", n);
    str_addc(out, '\0');
}

void job_env_program(const struct job_env *e, const char *context, struct str *out)
{
    struct env_maker m = env_maker_of(e, out);
    env_put(&m, "PATH", STANDARD_PATH);
    env_put(&m, "SLURM_SCRIPT_CONTEXT", context);
    env_put_identity(&m);
    env_put_given(&m, "SLURM_JOB_LICENSES", e->job->spec.req.licenses);
    env_put_given(&m, "SLURM_JOB_CONSTRAINTS", e->job->spec.req.constraint);
    env_put_place(&m);
    put_nodes(&m);
    put_cpus_here(&m);
    put_gpus(&m);
    env_put_array(&m);
    env_put_times(&m);
    env_put_i64(&m, "SLURM_UID", e->job->user_id);
    env_put_given(&m, "SLURM_JOB_WORK_DIR", e->job->spec.work_dir);
    env_put_given(&m, "SLURM_JOB_COMMENT", e->job->spec.comment);
    map_str_free(m.set);
}
