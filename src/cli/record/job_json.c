/* One job as Slurm's data parser v0.0.40 and later describes job_info. What Remuda has no word for
 * is there with its empty value, so that clients that index keys find them. */
#include "cli/record/job_json.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/hostlist.h"
#include "cli/program/cluster_dir.h"
#include "cli/program/localtime.h"
#include "cli/record/columns_job.h"
#include "cli/table/json_slurm.h"
#include "model/grammar/gres.h"
#include "model/job/alloc.h"
#include "model/job/job_attributes.h"
#include "model/job/job_counts.h"
#include "model/job/mail_type.h"
#include "model/job/stopped.h"

#include <string.h>

/* What nothing here corresponds to. */
static const struct json_absent absent[] = {
    {"batch_features", ABSENT_TEXT},
    {"burst_buffer", ABSENT_TEXT},
    {"burst_buffer_state", ABSENT_TEXT},
    {"cluster_features", ABSENT_TEXT},
    {"container_id", ABSENT_TEXT},
    {"cpu_frequency_minimum", ABSENT_NUMBER},
    {"cpu_frequency_maximum", ABSENT_NUMBER},
    {"cpu_frequency_governor", ABSENT_NUMBER},
    {"federation_origin", ABSENT_TEXT},
    {"federation_siblings_active", ABSENT_TEXT},
    {"federation_siblings_viable", ABSENT_TEXT},
    {"job_size_str", ABSENT_LIST},
    {"mcs_label", ABSENT_TEXT},
    {"network", ABSENT_TEXT},
    {"priority_by_partition", ABSENT_LIST},
    {"segment_size", ABSENT_ZERO},
    {"selinux_context", ABSENT_TEXT},
    {"show_flags", ABSENT_LIST},
    {"sockets_per_board", ABSENT_ZERO},
    {"tasks_per_board", ABSENT_NUMBER},
    {"thread_spec", ABSENT_ZERO},
};

static void path(struct json_out *o, const char *key, const struct job *j, const char *pattern)
{
    struct str s = STR_INIT;
    job_cell_path(j, pattern, &s);
    json_key_word(o, key, str_text(&s));
    str_done(&s);
}

static void array_tasks(struct json_out *o, const struct job *j)
{
    struct str s = STR_INIT;
    job_array_tasks(j, &s);
    json_key_word(o, "array_task_string", str_text(&s));
    str_done(&s);
}

static void ids(struct json_out *o, const struct job *j)
{
    bool element = j->array_job_id && j->array_task_id != NO_TASK;
    json_key(o, "job_id");
    json_u64(o, j->id);
    json_key_number(o, "array_job_id", true, (int64_t)j->array_job_id);
    json_key_number(o, "array_task_id", element, element ? j->array_task_id : 0);
    json_key_number(o, "array_max_tasks", true, j->array_limit);
    array_tasks(o, j);
    json_key_number(o, "het_job_id", true, (int64_t)j->het_job_id);
    json_key_word(o, "het_job_id_set", j->het_set);
    json_key_number(o, "het_job_offset", true, j->het_offset);
    json_key_i64(o, "user_id", j->user_id);
    json_key_word(o, "user_name", j->user_name);
    json_key_i64(o, "group_id", j->group_id);
    json_key_word(o, "group_name", j->group_name);
    json_key_word(o, "account", j->spec.req.account);
    json_key_i64(o, "association_id", 0);
    json_key_word(o, "name", j->spec.name);
}

static void times(struct json_out *o, const struct job *j)
{
    json_key_time(o, "accrue_time", job_accrue_us(j));
    json_key_time(o, "deadline", j->spec.deadline_us);
    json_key_limit(o, "delay_boot", j->spec.delay_boot_us, USEC_PER_MIN);
    json_key_time(o, "eligible_time", j->eligible_us);
    json_key_time(o, "end_time", j->end_us);
    json_key_time(o, "last_sched_evaluation", j->evaluated_us);
    json_key_time(o, "preempt_time", j->preempt_us);
    json_key_time(o, "preemptable_time", 0);
    json_key_time(o, "pre_sus_time", job_before_suspension_us(j));
    json_key_time(o, "resize_time", 0);
    json_key_time(o, "start_time", j->start_us ? j->start_us : j->planned_us);
    json_key_time(o, "submit_time", j->submit_us);
    json_key_time(o, "suspend_time", j->suspend_us);
    json_key_limit(o, "time_limit", job_limit_us(j) ? job_limit_us(j) : TIME_UNLIMITED,
                   USEC_PER_MIN);
    json_key_limit(o, "time_minimum", j->spec.req.time_min_us, USEC_PER_MIN);
}

/* Slurm's own text where it has one, else our sentence. */
static void description(struct json_out *o, const struct job *j)
{
    struct str s = STR_INIT;
    if (!text_empty(j->away_nodes))
        str_addf(&s, "%s, UnavailableNodes:%s", enum_name(&job_reason_names, j->reason),
                 j->away_nodes);
    json_key_word(o, "state_description", s.len ? str_text(&s) : j->reason_detail);
    str_done(&s);
}

static void state(struct json_out *o, const struct job *j)
{
    /* While it is cleaned up, Slurm gives the end state with COMPLETING as a flag. */
    bool completing = j->state == JOB_COMPLETING;
    json_key_words(o, "job_state",
                   enum_name(&job_state_names, completing ? j->end_state : j->state),
                   completing          ? "COMPLETING"
                   : job_is_stopped(j) ? STATE_STOPPED
                                       : NULL);
    json_key_word(o, "state_reason", enum_name(&job_reason_names, j->reason));
    description(o, j);
    json_key_exit(o, "exit_code", j->exit_status);
    json_key_exit(o, "derived_exit_code", j->derived_exit_status);
    json_key_number(o, "priority", true, (int64_t)j->priority);
    json_key_bool(o, "hold", j->priority == 0 && j->state == JOB_PENDING);
    json_key_i64(o, "restart_cnt", j->restarts);
    json_key_bool(o, "requeue", j->spec.requeue != NO);
    json_key_i64(o, "nice", j->spec.nice);
}

static void alloc_node_json(struct json_out *o, const struct alloc_node *n, int64_t index)
{
    json_object(o);
    json_key_i64(o, "index", index);
    json_key_word(o, "name", n->node);
    json_key(o, "cpus");
    json_object(o);
    json_key_i64(o, "count", n->cpu_count);
    json_key_i64(o, "used", n->cpu_count);
    json_object_end(o);
    json_key(o, "memory");
    json_object(o);
    json_key_i64(o, "used", n->mem_mib);
    json_key_i64(o, "allocated", n->mem_mib);
    json_object_end(o);
    json_key(o, "sockets");
    json_array(o);
    json_array_end(o);
    json_object_end(o);
}

static void resources(struct json_out *o, const struct job *j, struct arena *a)
{
    struct alloc al = {0};
    json_key(o, "job_resources");
    if (text_empty(j->alloc) || !alloc_parse(j->alloc, a, &al, NULL) || !al.n) {
        json_null(o);
        return;
    }
    json_object(o);
    json_key_words(o, "select_type", "CPU", "MEMORY");
    json_key(o, "nodes");
    json_object(o);
    json_key_i64(o, "count", (int64_t)al.n);
    json_key_words(o, "select_type",
                   j->spec.req.exclusive == EXCLUSIVE_NODE ? "EXCLUSIVE" : "AVAILABLE", NULL);
    json_key_word(o, "list", j->nodes);
    json_key_bool(o, "whole", j->spec.req.exclusive == EXCLUSIVE_NODE);
    json_key(o, "allocation");
    json_array(o);
    for (size_t i = 0; i < al.n; i++)
        alloc_node_json(o, &al.node[i], (int64_t)i);
    json_array_end(o);
    json_object_end(o);
    json_key_i64(o, "cpus", j->alloc_cpus);
    json_key_number(o, "threads_per_core", j->spec.req.threads_per_core > 0,
                    j->spec.req.threads_per_core);
    json_object_end(o);
}

/* ["gpu:v100:2(IDX:0-1)"], one text a node. */
static void gres_detail(struct json_out *o, const struct job *j, struct arena *a)
{
    struct alloc al = {0};
    json_key(o, "gres_detail");
    json_array(o);
    if (!text_empty(j->alloc) && alloc_parse(j->alloc, a, &al, NULL))
        for (size_t i = 0; i < al.n; i++) {
            struct str s = STR_INIT;
            for (size_t g = 0; g < al.node[i].ngres; g++) {
                const struct alloc_gres *gres = &al.node[i].gres[g];
                str_addf(&s, "%s%s%s%s:%lld", g ? "," : "", gres->kind, gres->type ? ":" : "",
                         gres->type ? gres->type : "", (long long)gres->count);
                if (gres->devices)
                    str_addf(&s, "(IDX:%s)", gres->devices);
            }
            if (s.len)
                json_text(o, str_text(&s));
            str_done(&s);
        }
    json_array_end(o);
}

static void request(struct json_out *o, const struct job *j)
{
    const struct job_request *r = &j->spec.req;
    json_key_number(o, "cpus", true, job_cpus(j));
    json_key_number(o, "node_count", true, job_nodes(j));
    json_key_number(o, "tasks", true, job_tasks(j));
    json_key_number(o, "cpus_per_task", r->cpus_per_task > 0, r->cpus_per_task);
    json_key_number(o, "max_cpus", true, 0);
    json_key_number(o, "max_nodes", true, r->max_nodes);
    json_key_number(o, "memory_per_cpu", r->mem_per_cpu_mib > 0, r->mem_per_cpu_mib);
    json_key_number(o, "memory_per_node", r->mem_per_node_mib > 0, r->mem_per_node_mib);
    json_key_number(o, "minimum_cpus_per_node", true, job_min_cpus(j));
    json_key_number(o, "minimum_tmp_disk_per_node", true, r->tmp_disk_mib);
    json_key_number(o, "cores_per_socket", r->cores_per_socket > 0, r->cores_per_socket);
    json_key_number(o, "sockets_per_node", r->sockets_per_node > 0, r->sockets_per_node);
    json_key_number(o, "threads_per_core", r->threads_per_core > 0, r->threads_per_core);
    json_key_number(o, "tasks_per_core", r->ntasks_per_core > 0, r->ntasks_per_core);
    json_key_number(o, "tasks_per_node", true, r->ntasks_per_node);
    json_key_number(o, "tasks_per_socket", r->ntasks_per_socket > 0, r->ntasks_per_socket);
    json_key_number(o, "tasks_per_tres", r->ntasks_per_gpu > 0, r->ntasks_per_gpu);
    json_key_i64(o, "core_spec", r->core_spec ? r->core_spec - 1 : 0);
    json_key_bool(o, "contiguous", r->contiguous);
    json_key_i64(o, "minimum_switches", r->switches);
    json_key_i64(o, "required_switches", r->switches);
    json_key_i64(o, "maximum_switch_wait_time", r->switches_wait_us / USEC_PER_SEC);
    json_key_words(o, "shared",
                   r->exclusive == EXCLUSIVE_USER ? "user"
                   : r->exclusive                 ? "none"
                                                  : "",
                   NULL);
    json_key_words(o, "exclusive", r->exclusive ? enum_name(&exclusive_names, r->exclusive) : "",
                   NULL);
    json_key_bool(o, "oversubscribe", r->oversubscribe);
    json_key_word(o, "features", r->constraint);
    json_key_word(o, "prefer", r->prefer);
    json_key_word(o, "licenses", r->licenses);
    json_key_word(o, "licenses_allocated", j->alloc_nodes ? r->licenses : "");
    json_key_word(o, "qos", r->qos);
    json_key_word(o, "resv_name", job_reservation(j));
    json_key_word(o, "required_nodes", r->nodelist);
    json_key_word(o, "excluded_nodes", r->exclude);
    json_key_word(o, "partition", job_partition(j));
}

static void per_gpu(struct json_out *o, const char *key, int64_t n)
{
    struct str s = STR_INIT;
    if (n > 0)
        str_addf(&s, "gres/gpu:%lld", (long long)n);
    json_key_word(o, key, str_text(&s));
    str_done(&s);
}

static void tres(struct json_out *o, const struct job *j)
{
    struct str s = STR_INIT, per_node = STR_INIT;
    const struct job_request *r = &j->spec.req;
    job_cell_tres(j, 0, &s);
    json_key_word(o, "tres_req_str", str_text(&s));
    json_key_word(o, "tres_alloc_str", j->alloc_nodes ? str_text(&s) : "");
    if (!text_empty(r->gres))
        str_addf(&per_node, "gres/%s", r->gres);
    else if (!text_empty(r->gpus_per_node))
        str_addf(&per_node, "gres/gpu:%s", r->gpus_per_node);
    json_key_word(o, "tres_per_node", str_text(&per_node));
    json_key_word(o, "tres_per_job", r->gpus);
    json_key_word(o, "tres_per_socket", r->gpus_per_socket);
    json_key_word(o, "tres_per_task", r->gpus_per_task);
    json_key_word(o, "tres_bind", j->spec.gpu_bind);
    json_key_word(o, "tres_freq", "");
    per_gpu(o, "cpus_per_tres", r->cpus_per_gpu);
    per_gpu(o, "memory_per_tres", r->mem_per_gpu_mib);
    json_key_number(o, "billable_tres", j->alloc_nodes > 0, job_billing(j));
    str_done(&s);
    str_done(&per_node);
}

static void mails(struct json_out *o, const struct job *j)
{
    struct str s = STR_INIT;
    mail_types_format(j->spec.mail_types, &s);
    json_key_list(o, "mail_type", str_text(&s));
    str_done(&s);
}

static void files(struct json_out *o, const struct job *j)
{
    const char *in = text_empty(j->spec.std_in) ? "/dev/null" : j->spec.std_in,
               *err = text_empty(j->spec.std_err) ? j->spec.std_out : j->spec.std_err;
    path(o, "standard_error", j, err);
    path(o, "standard_input", j, in);
    path(o, "standard_output", j, j->spec.std_out);
    path(o, "stderr_expanded", j, err);
    path(o, "stdin_expanded", j, in);
    path(o, "stdout_expanded", j, j->spec.std_out);
}

static void rest(struct json_out *o, const struct job *j, const char *cluster)
{
    json_key_word(o, "admin_comment", j->admin_comment);
    json_key_word(o, "allocating_node", j->spec.alloc_host);
    json_key_bool(o, "batch_flag", j->spec.batch);
    json_key_word(o, "batch_host", j->batch_host);
    json_key_word(o, "failed_node", j->failed_node);
    json_key_words(o, "flags", j->cron ? "CRON_JOB" : NULL, NULL);
    json_key_word(o, "cron", j->cron);
    json_key_word(o, "command", j->spec.command);
    json_key_word(o, "comment", j->spec.comment);
    json_key_word(o, "container", j->spec.container);
    json_key_word(o, "dependency", j->spec.dependency);
    json_key_word(o, "extra", j->spec.extra);
    mails(o, j);
    json_key_word(o, "mail_user", j->spec.mail_user);
    json_key_word(o, "nodes", j->nodes);
    json_key_word(o, "scheduled_nodes", j->planned_nodes);
    json_key_words(o, "profile", "NOT_SET", NULL);
    json_key_bool(o, "reboot", j->spec.reboot);
    files(o, j);
    json_key_word(o, "submit_line", j->spec.submit_line);
    json_key_word(o, "system_comment", j->system_comment);
#define X(member, name, letter, header, width, json, ...) json_key_word(o, json, j->spec.member);
    JOB_ATTRIBUTES(X)
#undef X
    json_key_word(o, "current_working_directory", j->spec.work_dir);
    json_key_word(o, "cluster", cluster);
    json_absent(o, absent, ARRAY_LEN(absent));
}

static void job_json(struct json_out *o, const struct job *j, const char *cluster)
{
    struct arena *a = arena_new();
    json_object(o);
    ids(o, j);
    state(o, j);
    times(o, j);
    request(o, j);
    tres(o, j);
    resources(o, j, a);
    gres_detail(o, j, a);
    rest(o, j, cluster);
    json_object_end(o);
    arena_free(a);
}

void job_json_print(const struct job *const *job, size_t n, const char *command,
                    enum json_form form)
{
    struct arena *a = arena_new();
    const char *cluster = cluster_name(state_dir_find(NULL, a), a);
    struct str out = STR_INIT;
    struct json_out o;
    json_slurm_begin(&o, &out, command);
    json_key(&o, "jobs");
    json_array(&o);
    for (size_t i = 0; i < n; i++)
        job_json(&o, job[i], cluster);
    json_array_end(&o);
    json_key_time(&o, "last_backfill", time_now_us());
    json_key_time(&o, "last_update", time_now_us());
    json_slurm_end(&o, form);
    arena_free(a);
}
