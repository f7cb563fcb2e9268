#include "cli/record/acct_json.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/duration.h"
#include "base/hostlist.h"
#include "cli/program/room.h"
#include "cli/record/columns_acct.h"
#include "cli/record/columns_job.h"
#include "cli/table/json_slurm.h"
#include "model/job/job_counts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What nothing here corresponds to. */
static const struct json_absent job_absent[] = {{"block", ABSENT_TEXT},
                                                {"flags", ABSENT_LIST},
                                                {"script", ABSENT_TEXT},
                                                {"segment_size", ABSENT_ZERO}};
static const struct json_absent usage_absent[] = {
    {"max", ABSENT_LIST}, {"min", ABSENT_LIST}, {"average", ABSENT_LIST}, {"total", ABSENT_LIST}};

static void cpu_json(struct json_out *o, const char *key, int64_t us)
{
    json_key(o, key);
    json_object(o);
    json_key_i64(o, "seconds", us / USEC_PER_SEC);
    json_key_i64(o, "microseconds", us % USEC_PER_SEC);
    json_object_end(o);
}

static void time_json(struct json_out *o, const struct cell_env *env, const struct acct_row *row)
{
    const struct job *j = row->job;
    const struct step *s = row->step;
    int64_t user = s ? s->cpu_user_us : j->cpu_user_us,
            system = s ? s->cpu_system_us : j->cpu_system_us;
    json_key(o, "time");
    json_object(o);
    json_key_i64(o, "elapsed", acct_elapsed_us(env, row) / USEC_PER_SEC);
    if (s) {
        json_key_time(o, "end", s->end_us);
        json_key_time(o, "start", s->start_us);
    } else {
        json_key_i64(o, "eligible", j->eligible_us / USEC_PER_SEC);
        json_key_i64(o, "end",
                     job_state_over(j->state) || j->state == JOB_REQUEUED ? j->end_us / USEC_PER_SEC
                                                                          : 0);
        json_key_i64(o, "start", (j->resize_us ? j->resize_us : j->start_us) / USEC_PER_SEC);
        json_key_i64(o, "submission", j->submit_us / USEC_PER_SEC);
        json_key_number(o, "planned", j->start_us && j->eligible_us,
                        (j->start_us - j->eligible_us) / USEC_PER_SEC);
        json_key_limit(o, "limit", job_limit_us(j) ? job_limit_us(j) : TIME_UNLIMITED,
                       USEC_PER_MIN);
    }
    json_key_i64(o, "suspended", acct_suspended_us(env, row) / USEC_PER_SEC);
    cpu_json(o, "system", system);
    cpu_json(o, "total", user + system);
    cpu_json(o, "user", user);
    json_object_end(o);
}

/* The numbers that Slurm gives its kinds; those of gres begin at 1001. */
enum { ID_CPU = 1, ID_MEM = 2, ID_NODE = 4, ID_BILLING = 5, ID_GRES = 1001 };

static void tres_item(struct json_out *o, int id, const char *type, const char *name, int64_t count)
{
    json_object(o);
    json_key_word(o, "type", type);
    json_key_word(o, "name", name);
    json_key_i64(o, "id", id);
    json_key_i64(o, "count", count);
    json_object_end(o);
}

/* "cpu=4,mem=2G,gres/gpu=2" as the list of that name, so that it is what the columns say. */
static void tres_list(struct json_out *o, const char *key, const struct str *tres)
{
    static const char *const known[] = {
        [ID_CPU] = "cpu", [ID_MEM] = "mem", [ID_NODE] = "node", [ID_BILLING] = "billing"};
    struct arena *a = arena_new();
    struct span rest = {str_text(tres), tres->len}, piece;
    int gres = ID_GRES;
    json_key(o, key);
    json_array(o);
    while (tres->len && span_next(&rest, ',', &piece)) {
        char *type = arena_strndup(a, piece.data, piece.len), *value = strchr(type, '=');
        ASSERT(value);
        *value++ = '\0';
        char *name = strchr(type, '/');
        if (name)
            *name++ = '\0';
        int id = 0;
        int64_t count = strtoll(value, NULL, 10);
        for (size_t i = 0; i < ARRAY_LEN(known); i++)
            id = known[i] && text_is(known[i], type) ? (int)i : id;
        if (id == ID_MEM)
            size_parse_mib(value, &count, NULL);
        tres_item(o, id ? id : gres++, type, name ? name : "", count);
    }
    json_array_end(o);
    arena_free(a);
}

static void tres_json(struct json_out *o, const struct acct_row *row)
{
    struct str allocated = STR_INIT, requested = STR_INIT;
    acct_tres_allocated(row, 0, &allocated);
    acct_tres_requested(row, 0, &requested);
    json_key(o, "tres");
    json_object(o);
    tres_list(o, "allocated", &allocated);
    tres_list(o, "requested", &requested);
    json_object_end(o);
    str_done(&allocated);
    str_done(&requested);
}

/* ["n1","n2"] */
static void nodes_list(struct json_out *o, const char *folded)
{
    struct hostlist h = HOSTLIST_INIT;
    json_key(o, "list");
    json_array(o);
    if (!text_empty(folded) && hostlist_parse(&h, folded, NULL))
        for (size_t i = 0; i < h.n; i++)
            json_text(o, h.name[i]);
    json_array_end(o);
    hostlist_done(&h);
}

static void usage_none(struct json_out *o, const char *key)
{
    json_key(o, key);
    json_object(o);
    json_absent(o, usage_absent, ARRAY_LEN(usage_absent));
    json_object_end(o);
}

/* Who cancelled it, by name; the number of who has none. */
static void killer_json(struct json_out *o, uint32_t uid_plus1)
{
    const struct passwd *pw = uid_plus1 ? user_by_uid(uid_plus1 - 1) : NULL;
    char number[16] = "";
    if (uid_plus1)
        snprintf(number, sizeof number, "%u", uid_plus1 - 1);
    json_key_text(o, "kill_request_user", pw ? pw->pw_name : number);
}

static void step_rest_json(struct json_out *o, const struct acct_row *row)
{
    const struct step *s = row->step;
    json_key_word(o, "pid", "");
    killer_json(o, s->killed_by_uid_plus1);
    json_key(o, "CPU");
    json_object(o);
    json_key(o, "requested_frequency");
    json_object(o);
    json_key_number(o, "min", false, 0);
    json_key_number(o, "max", false, 0);
    json_object_end(o);
    json_key_word(o, "governor", s->cpu_freq);
    json_object_end(o);
    json_key(o, "task");
    json_object(o);
    json_key_word(o, "distribution", "");
    json_object_end(o);
    json_key(o, "tres");
    json_object(o);
    usage_none(o, "requested");
    usage_none(o, "consumed");
    struct str allocated = STR_INIT;
    acct_tres_allocated(row, 0, &allocated);
    tres_list(o, "allocated", &allocated);
    json_object_end(o);
    str_done(&allocated);
}

static void step_json(struct json_out *o, const struct cell_env *env, const struct acct_row *row)
{
    const struct step *s = row->step;
    struct str label = STR_INIT;
    str_addf(&label, "%llu.", (unsigned long long)s->job_id);
    step_label(s->step_id, &label);
    json_object(o);
    time_json(o, env, row);
    json_key_exit(o, "exit_code", s->exit_status);
    json_key(o, "nodes");
    json_object(o);
    json_key_i64(o, "count", s->node_count);
    json_key_word(o, "range", s->nodes);
    nodes_list(o, s->nodes);
    json_object_end(o);
    json_key(o, "tasks");
    json_object(o);
    json_key_i64(o, "count", s->ntasks);
    json_object_end(o);
    json_key_words(o, "state", enum_name(&job_state_names, s->state), NULL);
    json_key(o, "statistics");
    json_object(o);
    json_key(o, "CPU");
    json_object(o);
    json_key_i64(o, "actual_frequency", s->cpu_khz);
    json_object_end(o);
    json_key(o, "energy");
    json_object(o);
    json_key_number(o, "consumed", s->energy_mj > 0, s->energy_mj / 1000);
    json_object_end(o);
    json_key_i64(o, "max_rss_bytes", s->max_rss_bytes);
    json_key_i64(o, "max_vm_bytes", s->max_vm_bytes);
    json_key_i64(o, "read_bytes", s->read_bytes);
    json_key_i64(o, "write_bytes", s->write_bytes);
    if (s->gpu_samples) {
        json_key_i64(o, "gpu_mem_max_bytes", s->gpu_mem_max_bytes);
        json_key_i64(o, "gpu_mem_ave_bytes", s->gpu_mem_ave_bytes);
    }
    if (s->gpu_util_samples) {
        json_key_i64(o, "gpu_util_max_percent", s->gpu_util_max);
        json_key_i64(o, "gpu_util_ave_percent", s->gpu_util_ave);
    }
    json_object_end(o);
    json_key(o, "step");
    json_object(o);
    json_key_word(o, "id", str_text(&label));
    json_key_word(o, "name", s->step_name);
    json_object_end(o);
    step_rest_json(o, row);
    json_object_end(o);
    str_done(&label);
}

static void array_json(struct json_out *o, const struct job *j)
{
    bool element = j->array_job_id && j->array_task_id != NO_TASK;
    json_key(o, "array");
    json_object(o);
    json_key(o, "job_id");
    json_u64(o, j->array_job_id);
    json_key_number(o, "task_id", element, element ? j->array_task_id : 0);
    json_key_word(o, "task", j->array_pending);
    json_key(o, "limits");
    json_object(o);
    json_key(o, "max");
    json_object(o);
    json_key(o, "running");
    json_object(o);
    json_key_i64(o, "tasks", j->array_limit);
    json_object_end(o);
    json_object_end(o);
    json_object_end(o);
    json_object_end(o);
    json_key(o, "het");
    json_object(o);
    json_key(o, "job_id");
    json_u64(o, j->het_job_id);
    json_key_number(o, "job_offset", j->het_job_id != 0, j->het_offset);
    json_object_end(o);
}

static void requirement_json(struct json_out *o, const struct job *j)
{
    const struct job_request *r = &j->spec.req;
    json_key(o, "required");
    json_object(o);
    json_key_i64(o, "CPUs", job_cpus(j));
    json_key_number(o, "memory_per_cpu", r->mem_per_cpu_mib > 0, r->mem_per_cpu_mib);
    json_key_number(o, "memory_per_node", r->mem_per_node_mib > 0, r->mem_per_node_mib);
    json_object_end(o);
}

static void belongs_json(struct json_out *o, const struct job *j, const char *cluster)
{
    json_key(o, "association");
    json_object(o);
    json_key_word(o, "account", j->spec.req.account);
    json_key_word(o, "cluster", cluster);
    json_key_word(o, "partition", "");
    json_key_word(o, "user", j->user_name);
    json_key_i64(o, "id", 0);
    json_object_end(o);
    json_key(o, "mcs");
    json_object(o);
    json_key_word(o, "label", "");
    json_object_end(o);
    json_key(o, "reservation");
    json_object(o);
    json_key_i64(o, "id", 0);
    json_key_word(o, "name", j->run_reservation ? j->run_reservation : j->spec.req.reservation);
    json_key_word(o, "requested", j->spec.req.reservation);
    json_object_end(o);
    json_key(o, "wckey");
    json_object(o);
    json_key_word(o, "wckey", j->spec.wckey);
    json_key_words(o, "flags", NULL, NULL);
    json_object_end(o);
}

static void file_json(struct json_out *o, const char *key, const char *expanded,
                      const struct job *j, const char *pattern)
{
    struct str s = STR_INIT;
    if (!text_empty(pattern))
        job_cell_path(j, pattern, &s);
    json_key_word(o, key, pattern);
    json_key_word(o, expanded, str_text(&s));
    str_done(&s);
}

static void files_json(struct json_out *o, const struct job *j)
{
    const char *err = text_empty(j->spec.std_err) ? j->spec.std_out : j->spec.std_err;
    file_json(o, "stdin", "stdin_expanded", j,
              text_empty(j->spec.std_in) ? "/dev/null" : j->spec.std_in);
    file_json(o, "stdout", "stdout_expanded", j, j->spec.std_out);
    file_json(o, "stderr", "stderr_expanded", j, err);
}

static void job_json(struct json_out *o, const struct cell_env *env, const struct job *j)
{
    const struct acct_env *more = env->more;
    struct acct_row row = {j, NULL};
    json_key(o, "comment");
    json_object(o);
    json_key_word(o, "administrator", j->admin_comment);
    json_key_word(o, "job", j->spec.comment);
    json_key_word(o, "system", j->system_comment);
    json_object_end(o);
    json_key_word(o, "account", j->spec.req.account);
    json_key_i64(o, "allocation_nodes", j->alloc_nodes);
    array_json(o, j);
    json_key_word(o, "cluster", more->cluster);
    json_key_word(o, "constraints", j->spec.req.constraint);
    json_key_exit(o, "derived_exit_code", j->derived_exit_status);
    json_key_exit(o, "exit_code", acct_job_exit(j));
    json_key_word(o, "extra", j->spec.extra);
    json_key_word(o, "failed_node", j->failed_node);
    json_key_word(o, "group", j->group_name);
    json_key(o, "job_id");
    json_u64(o, j->id);
    json_key_word(o, "name", j->spec.name);
    json_key_word(o, "licenses", j->spec.req.licenses);
    killer_json(o, j->killed_by_uid_plus1);
    json_key_word(o, "nodes", j->nodes ? j->nodes : "None assigned");
    json_key_word(o, "partition", job_partition(j));
    json_key_number(o, "priority", true, (int64_t)j->priority);
    json_key_word(o, "qos", j->spec.req.qos);
    requirement_json(o, j);
    json_key_i64(o, "restart_cnt", j->restarts);
    json_key(o, "state");
    json_object(o);
    json_key_words(o, "current", enum_name(&job_state_names, acct_state(&row)), NULL);
    json_key_word(o, "reason", enum_name(&job_reason_names, j->reason));
    json_object_end(o);
    json_key_word(o, "submit_line", j->spec.submit_line);
    time_json(o, env, &row);
    tres_json(o, &row);
    json_key_word(o, "used_gres", j->alloc_gres);
    json_key_word(o, "user", j->user_name);
    json_key_word(o, "working_directory", j->spec.work_dir);
    belongs_json(o, j, more->cluster);
    files_json(o, j);
    json_key_word(o, "container", j->spec.container);
    json_key_bool(o, "hold", j->spec.hold && j->state == JOB_PENDING);
    json_key_word(o, "qosreq", j->spec.req.qos);
    json_absent(o, job_absent, ARRAY_LEN(job_absent));
}

void acct_json_print(const struct job *const *job, size_t njobs, const struct step *const *step,
                     size_t nsteps, const struct cell_env *env, enum json_form form)
{
    struct str out = STR_INIT;
    struct json_out o;
    json_slurm_begin(&o, &out, "sacct");
    json_key(&o, "jobs");
    json_array(&o);
    for (size_t i = 0; i < njobs; i++) {
        json_object(&o);
        job_json(&o, env, job[i]);
        json_key(&o, "steps");
        json_array(&o);
        for (size_t k = acct_steps_of(step, nsteps, job[i]);
             k < nsteps && step[k]->job_id == job[i]->id && step[k]->attempt == job[i]->attempt;
             k++) {
            struct acct_row row = {job[i], step[k]};
            if (acct_step_is_of(step[k], job[i]))
                step_json(&o, env, &row);
        }
        json_array_end(&o);
        json_object_end(&o);
    }
    json_array_end(&o);
    json_slurm_end(&o, form);
}
