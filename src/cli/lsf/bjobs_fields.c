/* The fields of bjobs -o. What LSF measures and nothing here does is there, and is "-". */
#include "cli/lsf/bjobs.h"

#include "base/duration.h"
#include "cli/program/localtime.h"
#include "cli/record/columns_job.h"
#include "model/job/job_counts.h"
#include "script/lsf/depend.h"

#include <string.h>

#define FIELD_FN(name)                                                                             \
    static const char *name##_of(const struct job *j, const struct past_jobs *p, struct arena *a); \
    static const char *name(const struct lsf_row *r, struct arena *a)                              \
    {                                                                                              \
        return name##_of(r->job, r->past, a);                                                      \
    }                                                                                              \
    static const char *name##_of(const struct job *j, const struct past_jobs *p, struct arena *a)

FIELD_FN(number)
{
    return arena_printf(a, "%llu", (unsigned long long)lsf_job_number(j));
}

FIELD_FN(job_index)
{
    return arena_printf(a, "%u", j->array_task_id == NO_TASK ? 0 : j->array_task_id);
}

FIELD_FN(state)
{
    return lsf_job_state(j);
}

FIELD_FN(user)
{
    return j->user_name ? j->user_name : arena_printf(a, "%u", j->user_id);
}

FIELD_FN(user_group)
{
    return j->group_name;
}

FIELD_FN(job_group)
{
    return j->spec.job_group;
}

FIELD_FN(queue)
{
    return job_partition(j);
}

FIELD_FN(job_name)
{
    return lsf_job_name(j, a);
}

FIELD_FN(description)
{
    return j->spec.comment;
}

FIELD_FN(project)
{
    return j->spec.project ? j->spec.project : "default";
}

FIELD_FN(priority)
{
    return arena_printf(a, "%llu", (unsigned long long)j->priority);
}

FIELD_FN(dependency)
{
    return lsf_depend_of(j->spec.dependency, a);
}

FIELD_FN(pend_reason)
{
    return lsf_job_is_pending(j) ? lsf_pending_reason(j, a) : NULL;
}

FIELD_FN(command)
{
    return j->spec.command ? j->spec.command : j->spec.name;
}

FIELD_FN(exit_code)
{
    return lsf_job_is_over(j) && j->state != JOB_COMPLETED
               ? arena_printf(a, "%d", lsf_job_exit_code(j))
               : NULL;
}

/* The line of the report, without its full stop. */
FIELD_FN(exit_reason)
{
    const char *term = lsf_job_term(j);
    size_t len = term ? strlen(term) : 0;
    return len ? arena_strndup(a, term, len - (term[len - 1] == '.')) : NULL;
}

FIELD_FN(suspend_reason)
{
    if (!lsf_job_is_suspended(j))
        return NULL;
    return lsf_suspend_reason(j);
}

FIELD_FN(from_host)
{
    return j->spec.alloc_host;
}

FIELD_FN(first_host)
{
    struct lsf_host *host;
    return lsf_job_hosts(j, a, &host) ? host[0].name : NULL;
}

FIELD_FN(exec_host)
{
    return lsf_exec_host(j, a);
}

FIELD_FN(host_count)
{
    struct lsf_host *host;
    size_t n = lsf_job_hosts(j, a, &host);
    return n ? arena_printf(a, "%zu", n) : NULL;
}

FIELD_FN(slots)
{
    return arena_printf(a, "%d", lsf_job_slots(j));
}

FIELD_FN(slots_held)
{
    return lsf_job_is_pending(j) ? NULL : slots_of(j, p, a);
}

FIELD_FN(exclusive)
{
    return j->spec.req.exclusive == EXCLUSIVE_NODE ? "Y" : "N";
}

FIELD_FN(submit_time)
{
    return lsf_time(job_first_submit_us(j), a);
}

FIELD_FN(start_time)
{
    return lsf_time(lsf_job_is_pending(j) ? 0 : j->start_us, a);
}

FIELD_FN(planned_time)
{
    return lsf_time(lsf_job_is_pending(j) ? j->planned_us : 0, a);
}

FIELD_FN(begin_time)
{
    return lsf_time(j->spec.begin_us, a);
}

static int64_t limit_of(const struct job *j)
{
    int64_t limit = job_limit_us(j);
    return limit == TIME_UNLIMITED ? 0 : limit;
}

FIELD_FN(time_left)
{
    if (j->state != JOB_RUNNING || !limit_of(j))
        return NULL;
    int64_t left = limit_of(j) - job_elapsed_us(j, time_now_us());
    int64_t min = (left > 0 ? left : 0) / USEC_PER_MIN;
    return arena_printf(a, "%lld:%lld %s", (long long)(min / 60), (long long)(min % 60),
                        left < 0 ? "X" : "L");
}

FIELD_FN(finish_time)
{
    if (lsf_job_is_over(j))
        return lsf_time(j->end_us, a);
    if (j->state != JOB_RUNNING || !limit_of(j))
        return NULL;
    return arena_printf(a, "%s L", lsf_time(time_add(j->start_us, limit_of(j)), a));
}

FIELD_FN(percent)
{
    if (j->state != JOB_RUNNING || !limit_of(j))
        return NULL;
    double part = (double)job_elapsed_us(j, time_now_us()) / (double)limit_of(j);
    return arena_printf(a, "%.2f%% L", 100 * part);
}

static const char *cpu_seconds(const struct job *j, struct arena *a, int64_t us)
{
    return lsf_job_is_pending(j)
               ? NULL
               : arena_printf(a, "%.1f second(s)", (double)us / (double)USEC_PER_SEC);
}

FIELD_FN(cpu_used)
{
    return cpu_seconds(j, a, j->cpu_user_us + j->cpu_system_us);
}

FIELD_FN(cpu_user)
{
    return cpu_seconds(j, a, j->cpu_user_us);
}

FIELD_FN(cpu_system)
{
    return cpu_seconds(j, a, j->cpu_system_us);
}

FIELD_FN(run_time)
{
    return arena_printf(a, "%lld second(s)",
                        (long long)(job_elapsed_us(j, time_now_us()) / USEC_PER_SEC));
}

FIELD_FN(pend_time)
{
    int64_t until = lsf_job_is_pending(j) || !j->start_us ? time_now_us() : j->start_us;
    return arena_printf(a, "%lld", (long long)((until - job_first_submit_us(j)) / USEC_PER_SEC));
}

FIELD_FN(run_limit)
{
    return limit_of(j) ? arena_printf(a, "%.1f", (double)limit_of(j) / (double)USEC_PER_MIN) : NULL;
}

static const char *path_of(const struct job *j, struct arena *a, const char *pattern)
{
    struct str text = STR_INIT;
    if (!pattern)
        return NULL;
    job_cell_path(j, pattern, &text);
    const char *kept = arena_strdup(a, str_text(&text));
    str_done(&text);
    return kept;
}

FIELD_FN(input_file)
{
    return path_of(j, a, j->spec.std_in);
}

FIELD_FN(output_file)
{
    return path_of(j, a, j->spec.std_out);
}

FIELD_FN(error_file)
{
    return path_of(j, a, j->spec.std_err);
}

FIELD_FN(directory)
{
    return j->spec.work_dir;
}

/* "4" of "gpu:v100=4". */
FIELD_FN(gpu_count)
{
    const char *gpu = j->alloc_gres ? strstr(j->alloc_gres, "gpu") : NULL;
    const char *equals = gpu ? strchr(gpu, '=') : NULL;
    return equals ? arena_strndup(a, equals + 1, strspn(equals + 1, "0123456789")) : NULL;
}

FIELD_FN(gpu_held)
{
    return j->alloc_gres;
}

/* ---- memory ---- */

/* Of a job that has started: as much as it had at most, by what is seen of its steps. */
static const char *memory_most(const struct lsf_row *r, struct arena *a)
{
    struct efficiency e;
    if (!r->past || lsf_job_is_pending(r->job))
        return NULL;
    efficiency_of(r->past, r->job, time_now_us(), &e);
    return e.mem_bytes > 0 ? lsf_size_in(e.mem_bytes, r->unit, a) : NULL;
}

static const char *memory_now(const struct lsf_row *r, struct arena *a)
{
    return lsf_job_is_over(r->job) ? NULL : memory_most(r, a);
}

static const char *memory_limit(const struct lsf_row *r, struct arena *a)
{
    struct str text = STR_INIT;
    if (r->job->alloc_mem_mib <= 0)
        return NULL;
    if (r->unit)
        return lsf_size_in(r->job->alloc_mem_mib << 20, r->unit, a);
    size_format_mib(r->job->alloc_mem_mib, 0, &text);
    const char *kept = arena_strdup(a, str_text(&text));
    str_done(&text);
    return kept;
}

FIELD_FN(resources)
{
    return lsf_resources_text(j, a);
}

/* LSF knows it; nothing here tells. */
FIELD_FN(unknown)
{
    return NULL;
}

static const struct lsf_field fields[] = {
    {"jobid", "id", 7, number, false, false},
    {"jobindex", "", 8, job_index, false, false},
    {"stat", "", 5, state, false, false},
    {"user", "", 7, user, false, false},
    {"user_group", "ugroup", 15, user_group, false, false},
    {"queue", "", 10, queue, false, false},
    {"job_name", "name", 10, job_name, true, false},
    {"job_description", "description", 17, description, false, false},
    {"proj_name", "proj project", 11, project, false, false},
    {"application", "app", 13, unknown, false, false},
    {"service_class", "sla", 13, unknown, false, false},
    {"job_group", "group", 10, job_group, false, false},
    {"job_priority", "priority", 12, priority, false, false},
    {"dependency", "", 15, dependency, false, false},
    {"pend_reason", "", 11, pend_reason, false, false},
    {"command", "cmd", 15, command, false, false},
    {"pids", "", 20, unknown, false, false},
    {"exit_code", "", 10, exit_code, false, false},
    {"exit_reason", "", 50, exit_reason, false, false},
    {"kill_reason", "", 50, exit_reason, false, false},
    {"suspend_reason", "", 50, suspend_reason, false, false},
    {"from_host", "", 11, from_host, false, false},
    {"first_host", "", 11, first_host, false, false},
    {"exec_host", "", 11, exec_host, false, false},
    {"nexec_host", "", 10, host_count, false, false},
    {"alloc_slot", "", 20, exec_host, false, false},
    {"nalloc_slot", "", 10, slots_held, false, false},
    {"nreq_slot", "", 10, slots, false, false},
    {"exclusive", "", 13, exclusive, false, false},
    {"submit_time", "", 15, submit_time, false, false},
    {"start_time", "", 15, start_time, false, false},
    {"estimated_start_time", "", 20, planned_time, false, false},
    {"specified_start_time", "", 20, begin_time, false, false},
    {"time_left", "", 11, time_left, false, false},
    {"finish_time", "", 16, finish_time, false, false},
    {"ru_utime", "", 12, cpu_user, false, false},
    {"ru_stime", "", 12, cpu_system, false, false},
    {"%complete", "", 11, percent, false, false},
    {"pend_time", "", 12, pend_time, false, false},
    {"cpu_used", "", 10, cpu_used, false, false},
    {"run_time", "", 15, run_time, false, false},
    {"slots", "", 5, slots, false, false},
    {"mem", "", 10, memory_now, false, true},
    {"max_mem", "", 10, memory_most, false, true},
    {"avg_mem", "", 10, unknown, false, true},
    {"memlimit", "", 10, memory_limit, false, true},
    {"swap", "", 10, unknown, false, true},
    {"swaplimit", "", 10, unknown, false, true},
    {"gpu_num", "gnum", 10, gpu_count, false, false},
    {"gpu_mode", "gmode", 20, unknown, false, false},
    {"gpu_alloc", "galloc", 30, gpu_held, false, false},
    {"nthreads", "", 10, unknown, false, false},
    {"min_req_proc", "", 12, slots, false, false},
    {"max_req_proc", "", 12, slots, false, false},
    {"effective_resreq", "eresreq", 17, resources, false, false},
    {"combined_resreq", "cresreq", 20, resources, false, false},
    {"runtimelimit", "rtlimit", 12, run_limit, false, false},
    {"input_file", "", 10, input_file, false, false},
    {"output_file", "", 11, output_file, false, false},
    {"error_file", "", 10, error_file, false, false},
    {"output_dir", "", 15, directory, false, false},
    {"sub_cwd", "", 10, directory, false, false},
    {"exec_home", "", 10, unknown, false, false},
    {"exec_cwd", "", 10, directory, false, false},
};

const struct lsf_fields lsf_job_fields = {fields, ARRAY_LEN(fields)};
