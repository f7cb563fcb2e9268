/* The variables that jobs find on LSF and PBS. A slot of LSF and a process of PBS is a task here.
 */
#include "model/env/env_maker.h"

#include "base/alloc.h"
#include "base/idset.h"
#include "model/job/array.h"
#include "model/job/pattern.h"
#include "model/limits.h"

#include <string.h>

struct dialect_env_writer {
    const struct job_env *e;
    const struct job *job;
    struct str *out;
};

static void put(struct dialect_env_writer *m, const char *name, const char *value)
{
    str_addf(m->out, "%s=%s", name, value);
    str_addc(m->out, '\0');
}

static void put_given(struct dialect_env_writer *m, const char *name, const char *value)
{
    if (!text_empty(value))
        put(m, name, value);
}

static void put_i64(struct dialect_env_writer *m, const char *name, int64_t n)
{
    str_addf(m->out, "%s=%lld", name, (long long)n);
    str_addc(m->out, '\0');
}

static void put_count(struct dialect_env_writer *m, const char *name, int64_t n)
{
    if (n > 0)
        put_i64(m, name, n);
}

/* LSF leaves longer lists away: programs read the file then. */
#define HOSTS_SHOWN 4096

static int32_t tasks_on(const struct job *j, const struct alloc_node *n)
{
    int32_t each = j->spec.req.cpus_per_task > 0 ? j->spec.req.cpus_per_task : 1;
    int32_t tasks = env_tasks_asked(&j->spec.req) ? n->tasks : n->cpu_count / each;
    return tasks > 0 ? tasks : 1;
}

static size_t parts_of(const struct job_env *e)
{
    return e->nparts ? e->nparts : e->alloc ? 1 : 0;
}

static struct job_env_part part_at(const struct job_env *e, size_t i)
{
    ASSERT(i < (e->nparts ? e->nparts : 1));
    return e->nparts ? e->part[i] : (struct job_env_part){e->job, *e->alloc};
}

static uint64_t hosts_bytes(const struct job_env *e)
{
    uint64_t bytes = 0;
    for (size_t p = 0; p < parts_of(e); p++) {
        struct job_env_part one = part_at(e, p);
        for (size_t i = 0; i < one.alloc.n; i++)
            bytes += (uint64_t)tasks_on(one.job, &one.alloc.node[i]) *
                     (strlen(one.alloc.node[i].node) + 1);
    }
    return bytes;
}

/* A job may ask for millions of tasks: a list of more than `most` bytes is not made at all. */
static bool hosts_add(const struct job_env *e, char between, size_t most, struct str *out)
{
    if (hosts_bytes(e) > most)
        return false;
    for (size_t p = 0; p < parts_of(e); p++) {
        struct job_env_part one = part_at(e, p);
        for (size_t i = 0; i < one.alloc.n; i++)
            for (int32_t k = tasks_on(one.job, &one.alloc.node[i]); k > 0; k--) {
                str_add(out, one.alloc.node[i].node);
                str_addc(out, between);
            }
    }
    return true;
}

bool job_env_hosts(const struct job_env *e, struct str *out)
{
    return e->job->spec.dialect == DIALECT_SLURM || hosts_add(e, '\n', JOB_HOSTS_MAX, out);
}

static void put_text(struct dialect_env_writer *m, const char *name, struct str *text)
{
    put(m, name, str_text(text));
    str_clear(text);
}

static bool is_element(const struct job *j)
{
    return j->array_job_id && j->array_task_id != NO_TASK;
}

static int64_t slots_of(const struct dialect_env_writer *m)
{
    int64_t slots = 0;
    for (size_t p = 0; p < parts_of(m->e); p++) {
        struct job_env_part one = part_at(m->e, p);
        for (size_t i = 0; i < one.alloc.n; i++)
            slots += tasks_on(one.job, &one.alloc.node[i]);
    }
    return slots > 0 ? slots : 1;
}

static int64_t nodes_of(const struct dialect_env_writer *m)
{
    int64_t nodes = 0;
    for (size_t p = 0; p < parts_of(m->e); p++)
        nodes += (int64_t)part_at(m->e, p).alloc.n;
    return nodes > 0 ? nodes : 1;
}

/* ---- LSF ---- */

static void put_lsf_array(struct dialect_env_writer *m)
{
    const struct job *j = m->job;
    struct idset ids = IDSET_INIT;
    uint32_t limit;
    put_i64(m, "LSB_JOBINDEX", is_element(j) ? j->array_task_id : 0);
    if (is_element(j) && j->spec.array &&
        array_parse(j->spec.array, LIMIT_ARRAY_INDEX, &ids, &limit, NULL)) {
        const char *colon = strchr(j->spec.array, ':');
        size_t digits = colon ? strspn(colon + 1, "0123456789") : 0; /* "2,50%3" may follow */
        str_addf(m->out, "LSB_JOBINDEX_STEP=%.*s", digits ? (int)digits : 1,
                 digits ? colon + 1 : "1");
        str_addc(m->out, '\0');
        put_i64(m, "LSB_JOBINDEX_END", idset_last(&ids));
    }
    idset_done(&ids);
}

static void put_lsf_hosts(struct dialect_env_writer *m)
{
    struct str text = STR_INIT;
    bool shown = hosts_add(m->e, ' ', HOSTS_SHOWN + 1, &text); /* with a blank at the end */
    str_cut(&text, text.len ? text.len - 1 : 0);
    if (shown)
        put(m, "LSB_HOSTS", str_text(&text));
    str_clear(&text);
    for (size_t p = 0; p < parts_of(m->e); p++) {
        struct job_env_part one = part_at(m->e, p);
        for (size_t i = 0; i < one.alloc.n; i++)
            str_addf(&text, "%s%s %d", text.len ? " " : "", one.alloc.node[i].node,
                     tasks_on(one.job, &one.alloc.node[i]));
    }
    put_text(m, "LSB_MCPU_HOSTS", &text);
    if (m->e->step_dir) {
        str_addf(&text, "%s/hosts", m->e->step_dir);
        put(m, "LSB_DJOB_HOSTFILE", str_text(&text));
        put_text(m, "LSB_DJOB_RANKFILE", &text);
    }
    str_done(&text);
}

static void put_file(struct dialect_env_writer *m, const char *name, const char *pattern)
{
    struct pattern_env env = pattern_env_of_job(m->job);
    struct str path = STR_INIT;
    if (!pattern)
        return;
    env.node = m->e->node;
    env.user = m->e->user ? m->e->user : "";
    pattern_expand(pattern, &env, &path);
    put_text(m, name, &path);
    str_done(&path);
}

static void put_lsf(struct dialect_env_writer *m)
{
    const struct job *j = m->job;
    struct str name = STR_INIT;
    uint64_t id = is_element(j) ? j->array_job_id : j->id;
    str_add(&name, j->spec.name ? j->spec.name : "");
    if (is_element(j))
        str_addf(&name, "[%u]", j->array_task_id);
    put_i64(m, "LSB_JOBID", (int64_t)id);
    put_i64(m, "LSB_BATCH_JID", (int64_t)id);
    put_text(m, "LSB_JOBNAME", &name);
    put_given(m, "LSB_QUEUE", j->run_partition ? j->run_partition : j->spec.req.partition);
    put(m, "LSB_PROJECT_NAME", j->spec.project ? j->spec.project : "default");
    put_given(m, "LSB_SUB_HOST", j->spec.alloc_host);
    put_given(m, "LSB_SUB_USER", m->e->user);
    put_given(m, "LSFUSER", m->e->user);
    put_file(m, "LSB_OUTPUTFILE", j->spec.std_out);
    put_file(m, "LSB_ERRORFILE", j->spec.std_err);
    put_i64(m, "LSB_DJOB_NUMPROC", slots_of(m));
    put_i64(m, "LSB_MAX_NUM_PROCESSORS", slots_of(m));
    if (m->e->interactive)
        put(m, "LSB_INTERACTIVE", "Y");
    if (j->restarts > 0)
        put(m, "LSB_RESTART", "Y");
    put_lsf_array(m);
    put_lsf_hosts(m);
    str_done(&name);
}

/* ---- PBS ---- */

/* "pro:server" of the submission. */
static bool site_is_torque(const struct job *j)
{
    return text_starts(j->spec.dialect_site, "torque:");
}

static const char *server_of(const struct job *j)
{
    const char *colon = j->spec.dialect_site ? strchr(j->spec.dialect_site, ':') : NULL;
    return colon ? colon + 1 : "";
}

static void put_pbs_ids(struct dialect_env_writer *m, bool torque)
{
    const struct job *j = m->job;
    struct str text = STR_INIT;
    uint64_t id = is_element(j) ? j->array_job_id : j->id;
    str_addf(&text, "%llu", (unsigned long long)id);
    if (is_element(j))
        str_addf(&text, "[%u]", j->array_task_id);
    str_addf(&text, ".%s", server_of(j));
    put_text(m, "PBS_JOBID", &text);
    str_add(&text, j->spec.name ? j->spec.name : "");
    if (torque && is_element(j))
        str_addf(&text, "-%u", j->array_task_id);
    put_text(m, "PBS_JOBNAME", &text);
    if (is_element(j)) {
        put_i64(m, torque ? "PBS_ARRAYID" : "PBS_ARRAY_INDEX", j->array_task_id);
        str_addf(&text, "%llu[].%s", (unsigned long long)id, server_of(j));
        if (!torque)
            put_text(m, "PBS_ARRAY_ID", &text);
    }
    str_done(&text);
}

/* Does the submission say it? */
static bool is_told(const struct dialect_env_writer *m, const char *name)
{
    return text_value((struct span){m->e->exported.data, m->e->exported.len}, name);
}

static void put_unless_told(struct dialect_env_writer *m, const char *name, int64_t n)
{
    if (!is_told(m, name))
        put_i64(m, name, n);
}

static void put_pbs_sizes(struct dialect_env_writer *m, bool torque)
{
    const struct job *j = m->job;
    int64_t each = j->spec.req.cpus_per_task > 0 ? j->spec.req.cpus_per_task : 1;
    if (!torque && m->e->interactive)
        return; /* qsub gives them along: what the user says of them is not known here */
    if (!torque) {
        put_unless_told(m, "NCPUS", each);
        put_unless_told(m, "OMP_NUM_THREADS", each);
        return;
    }
    int64_t nodes = nodes_of(m);
    put_i64(m, "PBS_NUM_NODES", nodes);
    put_i64(m, "PBS_NP", slots_of(m));
    put_i64(m, "PBS_NUM_PPN", slots_of(m) / nodes);
    put_count(m, "PBS_WALLTIME", j->limit_us == TIME_UNLIMITED ? 0 : j->limit_us / USEC_PER_SEC);
    put(m, "PBS_VNODENUM", "0");
    put(m, "PBS_VERSION", "TORQUE-6");
}

static void put_pbs(struct dialect_env_writer *m)
{
    const struct job *j = m->job;
    bool torque = site_is_torque(j);
    struct str text = STR_INIT;
    put_pbs_ids(m, torque);
    const char *queue = j->run_partition ? j->run_partition : j->spec.req.partition;
    put_given(m, "PBS_QUEUE", queue);
    if (!m->e->interactive && !is_told(m, "PBS_O_QUEUE"))
        put_given(m, "PBS_O_QUEUE", queue);
    put_given(m, "PBS_ACCOUNT", j->spec.req.account);
    put(m, "PBS_ENVIRONMENT", m->e->interactive ? "PBS_INTERACTIVE" : "PBS_BATCH");
    put(m, "PBS_NODENUM", "0");
    put(m, "PBS_TASKNUM", "1");
    put_given(m, torque ? "PBS_SERVER" : "PBS_JOBDIR", torque ? server_of(j) : m->e->home);
    if (m->e->step_dir) {
        str_addf(&text, "%s/hosts", m->e->step_dir);
        put_text(m, "PBS_NODEFILE", &text);
    }
    put_pbs_sizes(m, torque);
    str_done(&text);
}

void job_env_dialect(const struct job_env *e, struct str *out)
{
    struct dialect_env_writer w = {e, e->job, out};
    switch ((enum dialect)e->job->spec.dialect) {
    case DIALECT_SLURM: break;
    case DIALECT_LSF: put_lsf(&w); break;
    case DIALECT_PBS: put_pbs(&w); break;
    }
}
