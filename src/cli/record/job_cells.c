/* What several commands say about a job in the same words. */
#include "cli/record/columns_job.h"

#include "base/hostlist.h"
#include "base/list.h"
#include "cli/record/node_words.h"
#include "model/extension.h"
#include "model/job/alloc.h"
#include "model/job/job_counts.h"
#include "model/job/pattern.h"

#include <string.h>

int64_t job_limit_us(const struct job *j)
{
    return j->limit_us ? j->limit_us : j->spec.req.time_limit_us;
}

int64_t whole_seconds_ran(int64_t start_us, int64_t end_us, int64_t suspended_us)
{
    int64_t s = end_us / USEC_PER_SEC - start_us / USEC_PER_SEC - suspended_us / USEC_PER_SEC;
    return start_us && s > 0 ? s * USEC_PER_SEC : 0;
}

int64_t job_elapsed_us(const struct job *j, int64_t now_us)
{
    if (!j->start_us || j->state == JOB_PENDING)
        return 0;
    bool going = j->state == JOB_RUNNING || j->state == JOB_SUSPENDED;
    int64_t end = going || !j->end_us ? now_us : j->end_us;
    return whole_seconds_ran(j->start_us, end, job_suspended_us(j, now_us));
}

void job_cell_extensions(const struct job *j, const struct cell_env *env, struct str *out)
{
    struct arena *a = arena_new();
    struct extension_row row;
    struct span rest = span_of(j->extensions ? j->extensions : "");
    for (const char *comma = ""; extensions_next(&rest, a, &row); comma = ",") {
        str_addf(out, "%s%s(", comma, row.user);
        cell_time(env, row.at_us, "Unknown", out);
        str_add(out, ",+");
        duration_format(row.add_us, out);
        str_addc(out, ')');
    }
    arena_free(a);
}

const char *job_partition(const struct job *j)
{
    return j->run_partition ? j->run_partition : j->spec.req.partition;
}

bool job_in_partitions(const struct job *j, const char *list)
{
    bool waits = !j->run_partition || j->state == JOB_PENDING || j->state == JOB_REQUEUED;
    return (j->run_partition && list_has(list, j->run_partition)) ||
           (waits && list_shares(list, j->spec.req.partition));
}

void job_cell_nodes(const struct job *j, struct str *out)
{
    str_add_i64(out, job_nodes(j));
    if (!j->alloc_nodes && j->spec.req.max_nodes > job_nodes(j)) {
        str_addc(out, '-');
        str_add_i64(out, j->spec.req.max_nodes);
    }
}

void job_cell_hosts(const char *asked, struct str *out)
{
    struct hostlist names = HOSTLIST_INIT;
    if (!text_empty(asked) && hostlist_parse(&names, asked, NULL)) {
        hostlist_sort(&names);
        hostlist_uniq(&names);
        hostlist_fold(&names, out);
    } else {
        str_add(out, asked);
    }
    hostlist_done(&names);
}

int64_t job_min_cpus(const struct job *j)
{
    const struct job_request *q = &j->spec.req;
    int64_t tasks = q->ntasks_per_node && !q->overcommit ? q->ntasks_per_node : 1;
    if (q->ntasks > 0 && tasks > q->ntasks)
        tasks = q->ntasks;
    int64_t cpus = (q->cpus_per_task ? q->cpus_per_task : 1) * tasks;
    return q->min_cpus_per_node > cpus ? q->min_cpus_per_node : cpus;
}

int32_t job_cores_asked(const struct job *j)
{
    const struct job_request *q = &j->spec.req;
    return q->hint == HINT_MEMORY_BOUND ? 1 : q->cores_per_socket;
}

int32_t job_threads_asked(const struct job *j)
{
    const struct job_request *q = &j->spec.req;
    return q->hint != HINT_UNSET && q->hint != HINT_MULTITHREAD ? 1 : q->threads_per_core;
}

void job_cell_memory(const struct job *j, struct str *out)
{
    const struct job_request *r = &j->spec.req;
    if (r->mem_per_cpu_mib > 0) {
        size_format_mib(r->mem_per_cpu_mib, 0, out);
    } else if (r->mem_per_node_mib > 0) {
        size_format_mib(r->mem_per_node_mib, 0, out);
    } else if (r->mem_per_gpu_mib > 0) {
        size_format_mib(r->mem_per_gpu_mib, 0, out);
    } else if (j->alloc_mem_mib > 0 && j->alloc_nodes > 0) {
        size_format_mib(j->alloc_mem_mib / j->alloc_nodes, 0, out);
    } else {
        str_addc(out, '0');
    }
}

/* Slurm's buffer of `most` characters holds the ids, "..." and a zero. */
void job_cell_array(const struct job *j, size_t most, struct str *out)
{
    struct str tasks = STR_INIT;
    job_array_tasks(j, &tasks);
    const char *text = str_text(&tasks), *limit = strchr(text, '%');
    size_t len = limit ? (size_t)(limit - text) : tasks.len;
    if (most && len + 3 > most) {
        size_t dots = most < 4 ? most - 1 : 3;
        str_addn(out, text, most - 1 - dots);
        str_addn(out, "...", dots);
        str_add(out, limit);
    } else {
        str_addn(out, text, tasks.len);
    }
    str_done(&tasks);
}

void job_cell_label(const struct job *j, size_t most, struct str *out)
{
    struct str whole = STR_INIT;
    job_label(j, &whole);
    if (whole.len && whole.data[whole.len - 1] == ']') {
        str_addf(out, "%llu_[", (unsigned long long)j->array_job_id);
        job_cell_array(j, most, out);
        str_addc(out, ']');
    } else {
        str_addn(out, str_text(&whole), whole.len);
    }
    str_done(&whole);
}

void job_cell_path(const struct job *j, const char *pattern, struct str *out)
{
    struct pattern_env env = pattern_env_of_job(j);
    if (text_empty(pattern))
        pattern = j->array_job_id ? "slurm-%A_%a.out" : "slurm-%j.out";
    if (pattern[0] != '/') {
        str_add(out, j->spec.work_dir);
        str_addc(out, '/');
    }
    pattern_expand(pattern, &env, out);
}

bool gres_held_parse(const char *held, struct arena *a, struct gres_list *ret)
{
    char *text = arena_strdup(a, held ? held : "");
    for (char *at = text; *at; at++)
        if (*at == '=')
            *at = ':';
    *ret = (struct gres_list){0};
    return gres_parse(text, a, ret, NULL);
}

void gres_held_tres(const char *held, struct str *out)
{
    struct arena *a = arena_new();
    struct gres_list list;
    if (gres_held_parse(held, a, &list))
        gres_list_tres(&list, out);
    arena_free(a);
}

void step_cell_label(const struct step *s, struct str *out)
{
    if (s->array_job_id)
        str_addf(out, "%llu_%u", (unsigned long long)s->array_job_id, s->array_task_id);
    else
        str_add_u64(out, s->job_id);
    str_addc(out, '.');
    step_label(s->step_id, out);
}

void step_cell_tres(const struct step *s, int64_t mem_mib, char unit, struct str *out)
{
    struct arena *a = arena_new();
    struct alloc layout = {0};
    int64_t mem = 0;
    if (s->layout)
        alloc_parse(s->layout, a, &layout, NULL);
    for (size_t i = 0; i < layout.n; i++)
        mem += layout.node[i].mem_mib;
    str_addf(out, "cpu=%d", s->cpus);
    if (mem || mem_mib) {
        str_add(out, ",mem=");
        size_format_mib(mem ? mem : mem_mib, unit, out);
    }
    str_addf(out, ",node=%d", s->node_count);
    gres_held_tres(s->gres, out);
    arena_free(a);
}

void job_cell_tres(const struct job *j, char unit, struct str *out)
{
    int64_t mem = job_mem_mib(j);
    str_addf(out, "cpu=%d", job_cpus(j));
    if (mem > 0) {
        str_add(out, ",mem=");
        size_format_mib(mem, unit, out);
    }
    str_addf(out, ",node=%d", job_nodes(j));
    if (job_billing(j))
        str_addf(out, ",billing=%lld", (long long)job_billing(j));
    if (j->alloc_nodes)
        gres_held_tres(j->alloc_gres, out);
    else if (job_gpus_asked(j))
        str_addf(out, ",gres/gpu=%lld", (long long)job_gpus_asked(j));
}
