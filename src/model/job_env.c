#include "model/job_env.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/hostlist.h"
#include "base/idset.h"
#include "base/map.h"
#include "model/array.h"
#include "model/gres.h"
#include "model/limits.h"

#include <stdarg.h>
#include <string.h>

#define STANDARD_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

struct maker {
    const struct job_env *e;
    const struct job *job;
    const struct alloc_node *here; /* NULL if the allocation does not name the node */
    struct map_str *set;           /* names already written */
    struct str *out;
};

/* ---- writing ---- */

static void put(struct maker *m, const char *name, const char *value)
{
    if (map_str_get(m->set, name))
        return;
    map_str_put(m->set, name, m);
    str_add(m->out, name);
    str_addc(m->out, '=');
    str_add(m->out, value);
    str_addc(m->out, '\0');
}

static void put_given(struct maker *m, const char *name, const char *value)
{
    if (!text_empty(value))
        put(m, name, value);
}

static void put_i64(struct maker *m, const char *name, int64_t n)
{
    struct str text = STR_INIT;
    str_add_i64(&text, n);
    put(m, name, str_text(&text));
    str_done(&text);
}

static void put_count(struct maker *m, const char *name, int64_t n)
{
    if (n > 0)
        put_i64(m, name, n);
}

/* Value of an exported variable, or NULL. */
static const char *exported(const struct maker *m, const char *name)
{
    size_t len = strlen(name);
    const char *at = m->e->exported.data, *end = at ? at + m->e->exported.len : at;
    for (; at < end; at += strlen(at) + 1)
        if (strncmp(at, name, len) == 0 && at[len] == '=')
            return at + len + 1;
    return NULL;
}

static void put_unless_exported(struct maker *m, const char *name, const char *value)
{
    if (value && !exported(m, name))
        put(m, name, value);
}

/* ---- the allocation ---- */

/* "2(x3),1": equal neighbours are counted. */
static void put_per_node(struct maker *m, const char *name, bool tasks)
{
    const struct alloc *al = m->e->alloc;
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
    put(m, name, text.len ? str_text(&text) : "1");
    str_done(&text);
}

static void put_nodes(struct maker *m)
{
    const struct job *j = m->job;
    const char *nodes = j->nodes ? j->nodes : m->e->node;
    put(m, "SLURM_JOB_NODELIST", nodes);
    put(m, "SLURM_NODELIST", nodes);
    put_i64(m, "SLURM_JOB_NUM_NODES", j->alloc_nodes > 0 ? j->alloc_nodes : 1);
    put_i64(m, "SLURM_NNODES", j->alloc_nodes > 0 ? j->alloc_nodes : 1);
    put_per_node(m, "SLURM_JOB_CPUS_PER_NODE", false);
    put_per_node(m, "SLURM_TASKS_PER_NODE", true);
    put_i64(m, "SLURM_CPUS_ON_NODE", m->here ? m->here->cpu_count : 1);
}

static const struct alloc_gres *gpus_here(const struct maker *m)
{
    for (size_t i = 0; m->here && i < m->here->ngres; i++)
        if (text_is(m->here->gres[i].kind, "gpu"))
            return &m->here->gres[i];
    return NULL;
}

/* Device numbers of all entries of the kind (a job may hold two types), unfolded: programs want "0,1,2". */
static int64_t gpu_numbers(const struct maker *m, struct str *out)
{
    int64_t n = 0;
    for (size_t i = 0; m->here && i < m->here->ngres; i++) {
        const struct alloc_gres *g = &m->here->gres[i];
        struct idset set = IDSET_INIT;
        uint32_t id;
        if (!text_is(g->kind, "gpu"))
            continue;
        n += g->count;
        bool more = g->devices && idset_parse(&set, g->devices, UINT32_MAX, NULL) && idset_first(&set, &id);
        for (; more; more = idset_next(&set, id, &id))
            str_addf(out, "%s%u", out->len ? "," : "", id);
        idset_done(&set);
    }
    return n;
}

/* HIP numbers what ROCR has left over from 0 on, so the same list in both would hide devices twice. */
static void put_visible_devices(struct maker *m, const char *numbers, int64_t n)
{
    struct str relative = STR_INIT;
    for (int64_t i = 0; i < n; i++)
        str_addf(&relative, "%s%lld", i ? "," : "", (long long)i);
    put(m, "CUDA_VISIBLE_DEVICES", numbers);
    put(m, "ROCR_VISIBLE_DEVICES", numbers);
    put(m, "HIP_VISIBLE_DEVICES", str_text(&relative));
    put(m, "GPU_DEVICE_ORDINAL", numbers);
    put(m, "ZE_AFFINITY_MASK", numbers);
    str_done(&relative);
}

static void put_gpus(struct maker *m)
{
    struct str numbers = STR_INIT;
    int64_t n = gpus_here(m) ? gpu_numbers(m, &numbers) : 0;
    if (n > 0) {
        put(m, "SLURM_JOB_GPUS", str_text(&numbers));
        put_i64(m, "SLURM_GPUS_ON_NODE", n);
        put_visible_devices(m, str_text(&numbers), n);
    } else if (m->e->has_gpus) {
        /* A job that asked for none must not use another's. */
        put(m, "CUDA_VISIBLE_DEVICES", "NoDevFiles");
        put(m, "ROCR_VISIBLE_DEVICES", "NoDevFiles");
    }
    str_done(&numbers);
}

/* ---- what was asked ---- */

/* The type is not part of it: "v100:2" → as asked, like Slurm. */
static void put_gpu_requests(struct maker *m)
{
    const struct job_request *r = &m->job->spec.req;
    put_given(m, "SLURM_GPUS", r->gpus);
    put_given(m, "SLURM_GPUS_PER_NODE", r->gpus_per_node);
    put_given(m, "SLURM_GPUS_PER_SOCKET", r->gpus_per_socket);
    put_given(m, "SLURM_GPUS_PER_TASK", r->gpus_per_task);
    put_count(m, "SLURM_CPUS_PER_GPU", r->cpus_per_gpu);
    put_count(m, "SLURM_MEM_PER_GPU", r->mem_per_gpu_mib);
    put_count(m, "SLURM_NTASKS_PER_GPU", r->ntasks_per_gpu);
    put_given(m, "SLURM_GPU_BIND", m->job->spec.gpu_bind);
}

static void put_tasks(struct maker *m)
{
    const struct job_request *r = &m->job->spec.req;
    if (r->ntasks > 0 || r->ntasks_per_node > 0 || r->ntasks_per_gpu > 0) {
        int64_t n = m->job->alloc_tasks > 0 ? m->job->alloc_tasks : r->ntasks > 0 ? r->ntasks : 1;
        put_i64(m, "SLURM_NTASKS", n);
        put_i64(m, "SLURM_NPROCS", n);
    }
    put_count(m, "SLURM_NTASKS_PER_NODE", r->ntasks_per_node);
    put_count(m, "SLURM_NTASKS_PER_SOCKET", r->ntasks_per_socket);
    put_count(m, "SLURM_NTASKS_PER_CORE", r->ntasks_per_core);
    put_count(m, "SLURM_CPUS_PER_TASK", r->cpus_per_task);
    put_count(m, "SLURM_THREADS_PER_CORE", r->threads_per_core);
    if (r->overcommit)
        put(m, "SLURM_OVERCOMMIT", "1");
    if (r->hint != HINT_UNSET)
        put(m, "SLURM_HINT", enum_name(&hint_names, r->hint));
}

static void put_memory(struct maker *m)
{
    const struct job_request *r = &m->job->spec.req;
    if (r->mem_per_cpu_mib > 0)
        put_i64(m, "SLURM_MEM_PER_CPU", r->mem_per_cpu_mib);
    else if (r->mem_per_node_mib > 0)
        put_i64(m, "SLURM_MEM_PER_NODE", r->mem_per_node_mib);
    else if (r->mem_per_gpu_mib == 0 && m->here)
        put_count(m, "SLURM_MEM_PER_NODE", m->here->mem_mib);
}

static void put_distribution(struct maker *m)
{
    const char *d = m->job->spec.req.distribution;
    put_given(m, "SLURM_DISTRIBUTION", d);
    if (d && text_starts(d, "plane="))
        put(m, "SLURM_DIST_PLANESIZE", d + strlen("plane="));
}

/* "verbose,map_mem:0,prefer" in its parts. */
static void put_mem_bind(struct maker *m)
{
    const char *bind = m->job->spec.mem_bind;
    struct span rest = span_of(bind), piece;
    if (text_empty(bind))
        return;
    put(m, "SBATCH_MEM_BIND", bind);
    put(m, "SLURM_MEM_BIND", bind);
    while (span_next(&rest, ',', &piece)) {
        char word[256] = "";
        memcpy(word, piece.data, piece.len < sizeof word ? piece.len : sizeof word - 1);
        char *list = strchr(word, ':');
        if (text_is(word, "verbose") || text_is(word, "v") || text_is(word, "quiet") || text_is(word, "q")) {
            put(m, "SBATCH_MEM_BIND_VERBOSE", word[0] == 'v' ? "verbose" : "quiet");
        } else if (text_is(word, "prefer")) {
            put(m, "SBATCH_MEM_BIND_PREFER", "prefer");
        } else {
            if (list)
                *list++ = '\0';
            put_given(m, "SBATCH_MEM_BIND_TYPE", word);
            put_given(m, "SBATCH_MEM_BIND_LIST", list);
        }
    }
}

static void put_array(struct maker *m)
{
    const struct job *j = m->job;
    struct idset ids = IDSET_INIT;
    uint32_t limit, first;
    if (j->array_job_id == 0 || j->array_task_id == NO_TASK)
        return;
    put_i64(m, "SLURM_ARRAY_JOB_ID", (int64_t)j->array_job_id);
    put_i64(m, "SLURM_ARRAY_TASK_ID", j->array_task_id);
    if (j->spec.array && array_parse(j->spec.array, LIMIT_ARRAY_INDEX, &ids, &limit, NULL) &&
        idset_first(&ids, &first)) {
        put_i64(m, "SLURM_ARRAY_TASK_COUNT", (int64_t)ids.count);
        put_i64(m, "SLURM_ARRAY_TASK_MIN", first);
        put_i64(m, "SLURM_ARRAY_TASK_MAX", idset_last(&ids));
        put_i64(m, "SLURM_ARRAY_TASK_STEP", ids.n > 0 && ids.range[0].step > 0 ? ids.range[0].step : 1);
    }
    idset_done(&ids);
}

/* ---- the job and its owner ---- */

static void put_identity(struct maker *m)
{
    const struct job *j = m->job;
    put_i64(m, "SLURM_JOB_ID", (int64_t)j->id);
    put_i64(m, "SLURM_JOBID", (int64_t)j->id);
    put(m, "SLURM_JOB_NAME", j->spec.name ? j->spec.name : "");
    put_i64(m, "SLURM_JOB_UID", j->user_id);
    put_i64(m, "SLURM_JOB_GID", j->group_id);
    put_given(m, "SLURM_JOB_USER", m->e->user ? m->e->user : j->user_name);
    put_given(m, "SLURM_JOB_GROUP", m->e->group ? m->e->group : j->group_name);
    put_given(m, "SLURM_JOB_PARTITION", j->run_partition ? j->run_partition : j->spec.req.partition);
    put_given(m, "SLURM_JOB_ACCOUNT", j->spec.req.account);
    put_given(m, "SLURM_JOB_QOS", j->spec.req.qos);
    put_given(m, "SLURM_JOB_RESERVATION", j->spec.req.reservation);
    put_given(m, "SLURM_JOB_LICENSES", j->spec.req.licenses);
    put_given(m, "SLURM_JOB_DEPENDENCY", j->spec.dependency);
    put_given(m, "SLURM_JOB_CONSTRAINTS", j->spec.req.constraint);
    put_given(m, "SLURM_CLUSTER_NAME", m->e->cluster_name);
    put(m, "SLURMD_NODENAME", m->e->node);
    put(m, "SLURM_TOPOLOGY_ADDR", m->e->node);
    put(m, "SLURM_TOPOLOGY_ADDR_PATTERN", "node");
    if (!text_empty(m->e->state_dir)) {
        struct str conf = STR_INIT;
        str_addf(&conf, "%s/remuda.conf", m->e->state_dir);
        put(m, "SLURM_CONF", str_text(&conf));
        put(m, "REMUDA_STATE", m->e->state_dir);
        str_done(&conf);
    }
}

static void put_times(struct maker *m)
{
    const struct job *j = m->job;
    put_count(m, "SLURM_RESTART_COUNT", j->restarts);
    put_count(m, "SLURM_JOB_START_TIME", j->start_us / USEC_PER_SEC);
    if (j->limit_us > 0 && j->limit_us != TIME_UNLIMITED && j->start_us > 0)
        put_i64(m, "SLURM_JOB_END_TIME", (j->start_us + j->limit_us) / USEC_PER_SEC);
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
static void put_path(struct maker *m)
{
    const char *path = exported(m, "PATH");
    struct str text = STR_INIT;
    if (!path)
        path = STANDARD_PATH;
    if (!text_empty(m->e->bin_dir) && !path_has(path, m->e->bin_dir))
        str_addf(&text, "%s:", m->e->bin_dir);
    str_add(&text, path);
    put(m, "PATH", str_text(&text));
    str_done(&text);
}

static void put_task(struct maker *m)
{
    put(m, "SLURM_NODEID", "0");
    put(m, "SLURM_PROCID", "0");
    put(m, "SLURM_LOCALID", "0");
    put(m, "SLURM_GTIDS", "0");
    put(m, "ENVIRONMENT", "BATCH");
    put(m, "HOSTNAME", m->e->hostname);
    put_unless_exported(m, "SLURM_PRIO_PROCESS", "0");
    put_unless_exported(m, "SLURM_SUBMIT_DIR", m->job->spec.work_dir);
    put_unless_exported(m, "SLURM_SUBMIT_HOST", m->job->spec.alloc_host);
    put_unless_exported(m, "USER", m->e->user);
    put_unless_exported(m, "LOGNAME", m->e->user);
    put_unless_exported(m, "HOME", m->e->home);
    put_unless_exported(m, "SHELL", m->e->shell);
    put_unless_exported(m, "TMPDIR", "/tmp");
    if (m->job->spec.get_user_env)
        put(m, "SLURM_GET_USER_ENV", "1");
    put_given(m, "SLURM_EXPORT_ENV", m->job->spec.export_env);
    put_given(m, "SLURM_PROFILE", m->job->spec.profile);
    put_given(m, "SLURM_CONTAINER", m->job->spec.container);
    put_given(m, "REMUDA_STEP_DIR", m->e->step_dir);
}

static void copy_exported(struct maker *m)
{
    const char *at = m->e->exported.data, *end = at ? at + m->e->exported.len : at;
    struct str name = STR_INIT;
    for (; at < end; at += strlen(at) + 1) {
        size_t len = strcspn(at, "=");
        str_clear(&name);
        str_addn(&name, at, len);
        if (len > 0 && at[len] == '=')
            put(m, str_text(&name), at + len + 1);
    }
    str_done(&name);
}

static struct maker maker_of(const struct job_env *e, struct str *out)
{
    return (struct maker){
        .e = e, .job = e->job, .here = alloc_find(e->alloc, e->node), .set = map_str_new(), .out = out};
}

void job_env_batch(const struct job_env *e, struct str *out)
{
    struct maker m = maker_of(e, out);
    put_identity(&m);
    put_nodes(&m);
    put_gpus(&m);
    put_tasks(&m);
    put_gpu_requests(&m);
    put_memory(&m);
    put_distribution(&m);
    put_mem_bind(&m);
    put_array(&m);
    put_times(&m);
    put_path(&m);
    put_task(&m);
    copy_exported(&m);
    map_str_free(m.set);
}

void job_env_program(const struct job_env *e, const char *context, struct str *out)
{
    struct maker m = maker_of(e, out);
    put(&m, "PATH", STANDARD_PATH);
    put(&m, "SLURM_SCRIPT_CONTEXT", context);
    put_identity(&m);
    put_nodes(&m);
    put_gpus(&m);
    put_array(&m);
    put_times(&m);
    put_i64(&m, "SLURM_UID", e->job->user_id);
    put_given(&m, "SLURM_JOB_WORK_DIR", e->job->spec.work_dir);
    put_given(&m, "SLURM_JOB_COMMENT", e->job->spec.comment);
    map_str_free(m.set);
}
