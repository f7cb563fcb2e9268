/* scontrol show job: every field in Slurm's order and words. */
#include "base/duration.h"
#include "base/hostlist.h"
#include "base/vec.h"
#include "cli/record/columns_job.h"
#include "cli/record/job_json.h"
#include "cli/scontrol/scontrol.h"
#include "cli/table/columns.h"
#include "cli/table/listing.h"
#include "model/job/alloc.h"
#include "model/job/job_attributes.h"
#include "model/job/mail_type.h"
#include "model/job/stopped.h"
#include "model/refusal.h"

#include <stdio.h>
#include <string.h>

static const char *span_text(int64_t us, struct arena *a)
{
    struct str s = STR_INIT;
    duration_format(us, &s);
    const char *text = arena_strdup(a, str_text(&s));
    str_done(&s);
    return text;
}

static const char *tasks_text(const struct job *j, struct arena *a)
{
    struct str s = STR_INIT;
    job_cell_array(j, listing_env().bits_shown, &s);
    const char *text = arena_strdup(a, str_text(&s));
    str_done(&s);
    return text;
}

static void ids_lines(struct record_text *r, const struct job *j, struct arena *a)
{
    record_addf(r, "JobId", "%llu", (unsigned long long)j->id);
    if (j->array_job_id) {
        record_addf(r, "ArrayJobId", "%llu", (unsigned long long)j->array_job_id);
        if (j->array_task_id != NO_TASK)
            record_addf(r, "ArrayTaskId", "%u", j->array_task_id);
        else
            record_add(r, "ArrayTaskId", tasks_text(j, a));
        if (j->array_limit)
            record_addf(r, "ArrayTaskThrottle", "%u", j->array_limit);
    }
    if (j->het_job_id) {
        record_addf(r, "HetJobId", "%llu", (unsigned long long)j->het_job_id);
        record_addf(r, "HetJobOffset", "%u", j->het_offset);
    }
    record_add(r, "JobName", j->spec.name ? j->spec.name : "");
    if (j->het_job_id) {
        record_break(r);
        record_add(r, "HetJobIdSet", j->het_set);
    }
    record_break(r);
    record_addf(r, "UserId", "%s(%u)", j->user_name ? j->user_name : "nobody", j->user_id);
    record_addf(r, "GroupId", "%s(%u)", j->group_name ? j->group_name : "nobody", j->group_id);
    record_add(r, "MCS_label", "N/A");
    record_break(r);
    record_addf(r, "Priority", "%llu", (unsigned long long)j->priority);
    record_addf(r, "Nice", "%d", j->spec.nice);
    record_add(r, "Account", j->spec.req.account);
    record_add(r, "QOS", j->spec.req.qos);
#define X(member, name, ...)                                                                       \
    if (j->spec.member)                                                                            \
        record_add(r, name, j->spec.member);
    JOB_ATTRIBUTES(X)
#undef X
}

static void state_lines(struct record_text *r, const struct job *j, const struct cell_env *env,
                        int details, struct arena *a)
{
    int64_t limit = job_limit_us(j);
    bool first_reason = j->state == JOB_PENDING || j->reason != REASON_NONE;
    record_break(r);
    record_add(r, "JobState", job_state_shown(j));
    const char *reason = enum_name(&job_reason_names, first_reason ? j->reason : REASON_NONE);
    if (text_empty(j->away_nodes))
        record_add(r, "Reason", reason);
    else
        record_addf(r, "Reason", "%s,_UnavailableNodes:%s", reason, j->away_nodes);
    record_add(r, "Dependency", j->spec.dependency);
    if (!text_empty(j->reason_detail) && !r->oneliner) {
        record_break(r);
        record_add(r, "ReasonDetail", j->reason_detail);
    }
    record_break(r);
    record_add(r, "Requeue", j->spec.requeue == NO ? "0" : "1");
    record_addf(r, "Restarts", "%u", j->restarts);
    record_add(r, "BatchFlag", j->spec.batch ? "1" : "0");
    record_add(r, "Reboot", j->spec.reboot ? "1" : "0");
    record_addf(r, "ExitCode", "%d:%d", status_code(j->exit_status), status_signal(j->exit_status));
    if (details) {
        record_break(r);
        record_addf(r, "DerivedExitCode", "%d:%d", status_code(j->derived_exit_status),
                    status_signal(j->derived_exit_status));
    }
    record_break(r);
    record_add(r, "RunTime", span_text(job_elapsed_us(j, env->now_us), a));
    record_add(r, "TimeLimit", limit ? span_text(limit, a) : "Partition_Limit");
    record_add(r, "TimeMin",
               j->spec.req.time_min_us ? span_text(j->spec.req.time_min_us, a) : "N/A");
    if (j->extended_us) {
        struct str who = STR_INIT;
        job_cell_extensions(j, env, &who);
        record_break(r);
        record_add(r, "ExtendedBy", span_text(j->extended_us, a));
        record_add(r, "Extensions", str_text(&who));
        str_done(&who);
    }
    record_break(r);
    record_add(r, "SubmitTime", cell_time_text(env, j->submit_us, "Unknown", a));
    record_add(
        r, "EligibleTime",
        cell_time_text(env, j->eligible_us ? j->eligible_us : j->spec.begin_us, "Unknown", a));
    record_break(r);
    record_add(r, "AccrueTime", cell_time_text(env, job_accrue_us(j), "Unknown", a));
    record_break(r);
    record_add(r, "StartTime",
               cell_time_text(env, j->start_us ? j->start_us : j->planned_us, "Unknown", a));
    record_add(r, "EndTime", cell_time_text(env, j->end_us, "Unknown", a));
    record_add(r, "Deadline", cell_time_text(env, j->spec.deadline_us, "N/A", a));
    if (j->preempt_us) {
        record_break(r);
        record_add(r, "PreemptTime", cell_time_text(env, j->preempt_us, "None", a));
    }
    if (j->cron) {
        record_break(r);
        record_add(r, "CronJob", "Yes");
        record_addf(r, "CrontabSpec", "\"%s\"", j->cron);
    }
    record_break(r);
    record_add(r, "SuspendTime", cell_time_text(env, j->suspend_us, "None", a));
    record_addf(r, "SecsPreSuspend", "%lld",
                (long long)(job_before_suspension_us(j) / USEC_PER_SEC));
    record_add(r, "LastSchedEval", cell_time_text(env, j->evaluated_us, "Unknown", a));
    record_add(r, "Scheduler", "Main");
}

static void hosts_add(struct record_text *r, const char *key, const char *asked)
{
    struct str s = STR_INIT;
    job_cell_hosts(asked, &s);
    record_add(r, key, text_empty(asked) ? asked : str_text(&s));
    str_done(&s);
}

static void request_lines(struct record_text *r, const struct job *j, struct arena *a)
{
    const struct job_request *q = &j->spec.req;
    struct str s = STR_INIT;
    record_break(r);
    record_add(r, "Partition", job_partition(j));
    record_addf(r, "AllocNode:Sid", "%s:0", j->spec.alloc_host ? j->spec.alloc_host : "");
    record_break(r);
    hosts_add(r, "ReqNodeList", q->nodelist);
    hosts_add(r, "ExcNodeList", q->exclude);
    record_break(r);
    record_add(r, "NodeList", j->nodes ? j->nodes : r->oneliner ? "(null)" : "");
    if (j->planned_nodes && !j->nodes)
        record_add(r, "SchedNodeList", j->planned_nodes);
    if (j->batch_host) {
        record_break(r);
        record_add(r, "BatchHost", j->batch_host);
    }
    record_break(r);
    job_cell_nodes(j, &s);
    record_add(r, "NumNodes", str_text(&s));
    record_addf(r, "NumCPUs", "%d", job_cpus(j));
    record_addf(r, "NumTasks", "%d", job_tasks(j));
    record_addf(r, "CPUs/Task", "%d", q->cpus_per_task ? q->cpus_per_task : 1);
    int32_t cores = job_cores_asked(j), threads = job_threads_asked(j);
    record_addf(r, "ReqB:S:C:T", "0:0:%s:%s", cores ? arena_printf(a, "%d", cores) : "*",
                threads ? arena_printf(a, "%d", threads) : "*");
    struct job asked = *j;
    asked.alloc_nodes = asked.alloc_cpus = asked.alloc_tasks = 0;
    asked.alloc_gres = NULL;
    str_clear(&s);
    job_cell_tres(&asked, 0, &s);
    record_break(r);
    record_add(r, "ReqTRES", str_text(&s));
    str_clear(&s);
    if (j->alloc_nodes)
        job_cell_tres(j, 0, &s);
    record_break(r);
    record_add(r, "AllocTRES", s.len ? str_text(&s) : "(null)");
    record_break(r);
    record_add(r, "Socks/Node",
               q->sockets_per_node ? arena_printf(a, "%d", q->sockets_per_node) : "*");
    record_addf(r, "NtasksPerN:B:S:C", "%d:0:%s:%s", q->ntasks_per_node,
                q->ntasks_per_socket ? arena_printf(a, "%d", q->ntasks_per_socket) : "*",
                q->ntasks_per_core ? arena_printf(a, "%d", q->ntasks_per_core) : "*");
    record_add(r, "CoreSpec", q->core_spec ? arena_printf(a, "%d", q->core_spec - 1) : "*");
    str_done(&s);
}

/* "gpu:v100:2(IDX:0-1),…" */
static const char *node_gres(const struct alloc_node *node, struct arena *a)
{
    struct str gres = STR_INIT;
    for (size_t g = 0; g < node->ngres; g++) {
        const struct alloc_gres *one = &node->gres[g];
        str_addf(&gres, "%s%s%s%s:%lld", g ? "," : "", one->kind, one->type ? ":" : "",
                 one->type ? one->type : "", (long long)one->count);
        if (one->devices)
            str_addf(&gres, "(IDX:%s)", one->devices);
    }
    const char *text = arena_strdup(a, str_text(&gres));
    str_done(&gres);
    return text;
}

static bool holds_the_same(const struct alloc_node *x, const struct alloc_node *y, struct arena *a)
{
    return text_is(x->cpus, y->cpus) && x->mem_mib == y->mem_mib &&
           text_is(node_gres(x, a), node_gres(y, a));
}

/* "gpu:v100=2" as Slurm writes it here: "gpu:v100:2". */
static const char *job_gres(const struct job *j, struct arena *a)
{
    char *text = j->alloc_gres ? arena_strdup(a, j->alloc_gres) : NULL;
    for (char *c = text; c && *c; c++)
        if (*c == '=')
            *c = ':';
    return text;
}

/* -d: what it holds on each node; neighbours that hold the same share a line. */
static void alloc_lines(struct record_text *r, const struct job *j, struct arena *a)
{
    struct alloc al = {0};
    if (text_empty(j->alloc) || !alloc_parse(j->alloc, a, &al, NULL))
        return;
    record_break(r);
    record_add(r, "JOB_GRES", job_gres(j, a));
    for (size_t i = 0, next; i < al.n; i = next) {
        struct hostlist names = HOSTLIST_INIT;
        struct str nodes = STR_INIT;
        for (next = i; next < al.n && holds_the_same(&al.node[i], &al.node[next], a); next++)
            hostlist_add(&names, al.node[next].node);
        hostlist_fold(&names, &nodes);
        record_break(r);
        if (!r->oneliner)
            str_add(&r->text, "  ");
        record_add(r, "Nodes", str_text(&nodes));
        record_add(r, "CPU_IDs", al.node[i].cpus);
        record_addf(r, "Mem", "%lld", (long long)al.node[i].mem_mib);
        record_add(r, "GRES", node_gres(&al.node[i], a));
        str_done(&nodes);
        hostlist_done(&names);
    }
}

static const char *oversubscribe_text(const struct job *j)
{
    if (j->spec.req.exclusive == EXCLUSIVE_USER)
        return "USER";
    if (j->spec.req.exclusive)
        return "NO";
    return j->spec.req.oversubscribe ? "YES" : "OK";
}

static void memory_line(struct record_text *r, const struct job *j)
{
    const struct job_request *q = &j->spec.req;
    struct str s = STR_INIT;
    job_cell_memory(j, &s);
    record_break(r);
    record_addf(r, "MinCPUsNode", "%lld", (long long)job_min_cpus(j));
    if (q->mem_per_gpu_mib)
        record_add(r, "MinMemoryNode", "0");
    else
        record_add(r, q->mem_per_cpu_mib ? "MinMemoryCPU" : "MinMemoryNode", str_text(&s));
    record_addf(r, "MinTmpDiskNode", "%lld", (long long)q->tmp_disk_mib);
    str_done(&s);
}

static void path_line(struct record_text *r, const struct job *j, const char *key,
                      const char *pattern)
{
    struct str s = STR_INIT;
    job_cell_path(j, pattern, &s);
    record_break(r);
    record_add(r, key, str_text(&s));
    str_done(&s);
}

static const char *mail_words(uint32_t types, struct arena *a)
{
    struct str s = STR_INIT;
    mail_types_format(types, &s);
    const char *words = arena_strdup(a, s.len ? str_text(&s) : "NONE");
    str_done(&s);
    return words;
}

/* Lines of their own: what is asked of each kind of whole. */
void scontrol_gpu_lines(struct record_text *r, const struct job_request *q, const char *gpu_bind,
                        const char *whole)
{
    struct {
        const char *name, *prefix, *text;
    } line[] = {
        {"TresBind", "gres/gpu:", gpu_bind},
        {whole, "gres/gpu:", q->gpus},
        {"TresPerNode", q->gres ? "gres/" : "gres/gpu:", q->gres ? q->gres : q->gpus_per_node},
        {"TresPerSocket", "gres/gpu:", q->gpus_per_socket},
        {"TresPerTask", "gres/gpu:", q->gpus_per_task}};
    if (q->cpus_per_gpu) {
        record_break(r);
        record_addf(r, "CpusPerTres", "gres/gpu:%d", q->cpus_per_gpu);
    }
    if (q->mem_per_gpu_mib) {
        record_break(r);
        record_addf(r, "MemPerTres", "gres/gpu:%lld", (long long)q->mem_per_gpu_mib);
    }
    for (size_t i = 0; i < ARRAY_LEN(line); i++)
        if (line[i].text) {
            record_break(r);
            record_addf(r, line[i].name, "%s%s", line[i].prefix, line[i].text);
        }
    if (q->ntasks_per_gpu) {
        record_break(r);
        record_addf(r, "NtasksPerTRES", "%d", q->ntasks_per_gpu);
    }
}

/* What is only shown where it was asked for. */
static void flag_lines(struct record_text *r, const struct job *j, struct arena *a)
{
    const struct job_request *q = &j->spec.req;
    if (q->switches) {
        record_break(r);
        record_addf(r, "Switches", "%d@%s", q->switches, span_text(q->switches_wait_us, a));
    }
    if (j->spec.kill_on_invalid_dep != UNSET) {
        record_break(r);
        record_add(r, "KillOInInvalidDependent", j->spec.kill_on_invalid_dep == YES ? "Yes" : "No");
    }
    if (q->spread_job) {
        record_break(r);
        record_add(r, "SpreadJob", "Yes");
    }
}

static void rest_lines(struct record_text *r, const struct job *j, struct arena *a)
{
    const struct job_request *q = &j->spec.req;
    memory_line(r, j);
    record_break(r);
    record_add(r, "Features", q->constraint);
    record_add(r, "DelayBoot", span_text(j->spec.delay_boot_us, a));
    if (job_reservation(j)) {
        record_break(r);
        record_add(r, "Reservation", job_reservation(j));
    }
    if (q->prefer) {
        record_break(r);
        record_add(r, "Prefer", q->prefer);
    }
    record_break(r);
    record_add(r, "OverSubscribe", oversubscribe_text(j));
    record_add(r, "Contiguous", q->contiguous ? "1" : "0");
    record_add(r, "Licenses", q->licenses);
    record_add(r, "Network", "(null)");
    record_break(r);
    record_add(r, "Command", j->spec.command);
    record_break(r);
    record_add(r, "SubmitLine", r->oneliner ? NULL : j->spec.submit_line);
    record_break(r);
    record_add(r, "WorkDir", j->spec.work_dir);
    if (j->spec.comment) {
        record_break(r);
        record_add(r, "Comment", j->spec.comment);
    }
    if (j->admin_comment) {
        record_break(r);
        record_add(r, "AdminComment", j->admin_comment);
    }
    if (j->system_comment) {
        record_break(r);
        record_add(r, "SystemComment", j->system_comment);
    }
    if (j->spec.batch) {
        path_line(r, j, "StdErr", text_empty(j->spec.std_err) ? j->spec.std_out : j->spec.std_err);
        path_line(r, j, "StdIn", text_empty(j->spec.std_in) ? "/dev/null" : j->spec.std_in);
        path_line(r, j, "StdOut", j->spec.std_out);
    }
    flag_lines(r, j, a);
    scontrol_gpu_lines(r, q, j->spec.gpu_bind, "TresPerJob");
    if (j->spec.mail_types) {
        record_break(r);
        record_add(r, "MailUser", j->spec.mail_user ? j->spec.mail_user : j->user_name);
        record_add(r, "MailType", mail_words(j->spec.mail_types, a));
    }
}

void scontrol_job_print(struct scontrol *s, const struct job *j, const struct cell_env *env)
{
    struct record_text r;
    record_begin(&r, s->oneliner);
    ids_lines(&r, j, s->a);
    state_lines(&r, j, env, s->details, s->a);
    request_lines(&r, j, s->a);
    if (s->details)
        alloc_lines(&r, j, s->a);
    rest_lines(&r, j, s->a);
    record_print(&r);
}
