/* Everything about a job, as qstat -f has it. */
#include "base/alloc.h"
#include "base/amount.h"
#include "cli/pbs/qstat.h"
#include "cli/program/localtime.h"
#include "cli/record/columns_job.h"
#include "cli/submit/env.h"
#include "model/job/job_counts.h"
#include "script/pbs/pbs.h"

#include <stdio.h>
#include <string.h>

/* ---- values ---- */

int32_t qstat_nodes(const struct job *j, struct arena *a)
{
    struct lsf_host *host;
    size_t n = lsf_job_hosts(j, a, &host);
    return n ? (int32_t)n : j->spec.req.min_nodes > 0 ? j->spec.req.min_nodes : 1;
}

/* Of "gpu:v100=4"; of one that waits what it asks for, as far as that is a plain number. */
int64_t qstat_gpus(const struct job *j)
{
    const char *gpu = j->alloc_gres ? strstr(j->alloc_gres, "gpu") : NULL;
    const char *equals = gpu ? strchr(gpu, '=') : NULL;
    char digits[16] = "";
    int64_t n = 0;
    if (equals) {
        size_t len = strspn(equals + 1, "0123456789");
        memcpy(digits, equals + 1, len < sizeof digits ? len : sizeof digits - 1);
    } else if (j->spec.req.gpus_per_node) {
        const char *colon = strrchr(j->spec.req.gpus_per_node, ':');
        snprintf(digits, sizeof digits, "%.15s", colon ? colon + 1 : j->spec.req.gpus_per_node);
    }
    return text_to_i64(digits, 0, INT32_MAX, &n) ? n : 0;
}

/* Of a whole array the index stays open. */
static void array_pattern_add(const char *pattern, struct str *out)
{
    for (const char *c; (c = strstr(pattern, "%a")); pattern = c + 2) {
        str_addn(out, pattern, (size_t)(c - pattern));
        str_add(out, "^array_index^");
    }
    str_add(out, pattern);
}

static const char *path_of(const struct job *j, const char *pattern, bool array, struct arena *a)
{
    struct str text = STR_INIT, open = STR_INIT;
    if (!pattern)
        return NULL;
    if (array)
        array_pattern_add(pattern, &open);
    job_cell_path(j, array ? str_text(&open) : pattern, &text);
    str_done(&open);
    const char *kept =
        arena_printf(a, "%s:%s", j->spec.alloc_host ? j->spec.alloc_host : "", str_text(&text));
    str_done(&text);
    return kept;
}

/* ---- attributes ---- */

static void used_add(const struct qstat *q, struct pbs_attributes *t, const struct job *j)
{
    const char *group = "resources_used";
    if (lsf_job_is_pending(j))
        return;
    int64_t cpu = j->cpu_user_us + j->cpu_system_us;
    pbs_attribute_add(t, group, "cput", pbs_clock(cpu, t->a));
    struct efficiency e;
    efficiency_of(&q->past, j, time_now_us(), &e);
    if (e.mem_bytes)
        pbs_attribute_add(t, group, "mem",
                          arena_printf(t->a, "%lldkb", (long long)(e.mem_bytes >> 10)));
    pbs_attribute_number(t, group, "ncpus", job_cpus(j));
    pbs_attribute_add(t, group, "walltime", pbs_clock(job_elapsed_us(j, time_now_us()), t->a));
}

/* What its nodes must have, as far as that is a list of properties: ":ib" of Torque, ":ib=True" of
 * Pro's chunks. */
static void properties_write(const char *constraint, bool torque, struct str *out)
{
    struct span rest = span_of(constraint), one;
    if (text_empty(constraint) || strpbrk(constraint, "|()[]*!"))
        return;
    while (span_next(&rest, '&', &one))
        str_addf(out, ":%.*s%s", (int)one.len, one.data, torque ? "" : "=True");
}

/* "4" of "4", "a100:4" and "gpu:a100:4"; of what is no one number 0. */
static int64_t gpus_said(const char *text)
{
    const char *colon = text ? strrchr(text, ':') : NULL;
    int64_t n = 0;
    return text && text_to_i64(colon ? colon + 1 : text, 0, INT32_MAX, &n) ? n : 0;
}

/* Memory and GPUs of a chunk: of one that is all that the job has on its nodes, or of a task. */
static void chunk_more_write(const struct job_request *r, bool whole, int64_t cpus, struct str *out)
{
    int64_t mib = whole && r->mem_per_node_mib > 0 ? r->mem_per_node_mib : 0;
    int64_t gpus = gpus_said(whole && r->gpus_per_node ? r->gpus_per_node : r->gpus_per_task);
    if (r->mem_per_cpu_mib > 0)
        mib = amount_times(r->mem_per_cpu_mib, cpus);
    if (mib > 0 && mib % 1024 == 0)
        str_addf(out, ":mem=%lldgb", (long long)mib / 1024);
    else if (mib > 0)
        str_addf(out, ":mem=%lldmb", (long long)mib);
    if (gpus > 0)
        str_addf(out, ":ngpus=%lld", (long long)gpus);
}

/* One chunk, or part of nodes=, as the flavour writes it. */
static void part_write(const struct job *j, int32_t nodes, bool torque, struct str *out)
{
    const struct job_request *r = &j->spec.req;
    int32_t tasks = lsf_job_slots(j), each = r->cpus_per_task > 0 ? r->cpus_per_task : 1;
    bool by_node = qstat_chunk_is_node(r);
    int32_t procs = !by_node ? 1 : r->ntasks_per_node > 0 ? r->ntasks_per_node : tasks;
    int64_t cpus = amount_times(procs, each);
    str_add(out, out->len ? "+" : "");
    if (torque) {
        int64_t ppn = by_node ? procs : ((int64_t)tasks + nodes - 1) / nodes;
        int64_t gpus = gpus_said(r->gpus_per_node);
        str_addf(out, "%d:ppn=%lld", nodes, (long long)amount_times(ppn, each));
        if (gpus > 0)
            str_addf(out, ":gpus=%lld", (long long)gpus);
    } else if (by_node) {
        str_addf(out, "%d:ncpus=%lld", r->min_nodes, (long long)cpus);
        if (procs > 1 || r->ntasks_per_node > 0)
            str_addf(out, ":mpiprocs=%d", procs);
    } else {
        str_addf(out, "%d:ncpus=%d", tasks, each);
    }
    if (!torque)
        chunk_more_write(r, by_node || tasks == 1, cpus, out);
    properties_write(r->constraint, torque, out);
}

/* All components of a heterogeneous job. */
static const char *parts_text(const struct qstat *q, const struct job *j, int32_t nodes)
{
    struct str out = STR_INIT;
    for (size_t i = 0; j->het_job_id && i < q->list->part.n; i++) {
        const struct job *part = q->list->part.v[i];
        if (part->het_job_id == j->id)
            part_write(part, qstat_nodes(part, q->a), q->site.torque, &out);
    }
    if (!out.len)
        part_write(j, nodes, q->site.torque, &out);
    const char *text = arena_strdup(q->a, str_text(&out));
    str_done(&out);
    return text;
}

/* What was asked for, in the words of the flavour: select and place, or nodes. */
static void size_add(const struct qstat *q, struct pbs_attributes *t, const struct job *j,
                     int32_t nodes)
{
    const struct job_request *r = &j->spec.req;
    const char *group = "Resource_List", *text = parts_text(q, j, nodes);
    if (q->site.torque) {
        pbs_attribute_add(t, group, "neednodes", text);
        pbs_attribute_add(t, group, "nodes", text);
        return;
    }
    bool alone = r->exclusive == EXCLUSIVE_NODE;
    const char *how = r->max_nodes == 1 && !j->het_job_id ? "pack"
                      : r->ntasks_per_node > 0            ? "scatter"
                                                          : "free";
    pbs_attribute_add(t, group, "place", alone ? arena_printf(t->a, "%s:excl", how) : how);
    pbs_attribute_add(t, group, "select", text);
}

/* What waits has no nodes yet: what all components ask for. */
static int32_t nodes_asked(const struct qstat *q, const struct job *j)
{
    int32_t nodes = 0;
    for (size_t i = 0; j->het_job_id && lsf_job_is_pending(j) && i < q->list->part.n; i++)
        if (q->list->part.v[i]->het_job_id == j->id)
            nodes += qstat_nodes(q->list->part.v[i], q->a);
    return nodes ? nodes : qstat_nodes(j, q->a);
}

static void asked_add(const struct qstat *q, struct pbs_attributes *t, const struct job *j)
{
    const char *group = "Resource_List";
    int64_t limit = job_limit_us(j);
    int32_t nodes = nodes_asked(q, j);
    if (j->alloc_mem_mib > 0)
        pbs_attribute_add(t, group, "mem",
                          arena_printf(t->a, "%lldmb", (long long)j->alloc_mem_mib));
    pbs_attribute_number(t, group, "ncpus", job_cpus(j));
    if (qstat_gpus(j))
        pbs_attribute_number(t, group, "ngpus", qstat_gpus(j));
    pbs_attribute_number(t, group, "nodect", nodes);
    size_add(q, t, j, nodes);
    if (limit > 0 && limit != TIME_UNLIMITED)
        pbs_attribute_add(t, group, "walltime", pbs_clock(limit, t->a));
}

static void variables_add(const struct qstat *q, struct pbs_attributes *t, const struct job *j)
{
    const char *group = "Variable_List", *list = j->spec.export_env;
    char *const nothing[] = {NULL};
    struct str named = STR_INIT;
    struct err e = {0};
    pbs_attribute_joined(t, group, "PBS_O_LOGNAME", j->user_name);
    pbs_attribute_joined(t, group, "PBS_O_HOST", j->spec.alloc_host);
    pbs_attribute_joined(t, group, "PBS_O_QUEUE", job_partition(j));
    if (list) /* NONE is no list */
        submit_env_named(list, nothing, &named, &e);
    struct span rest = {named.data, named.len};
    for (const char *entry; text_next(&rest, &entry);) {
        const char *equals = strchr(entry, '=');
        pbs_attribute_joined(t, group, arena_strndup(t->a, entry, (size_t)(equals - entry)),
                             arena_strdup(t->a, equals + 1));
    }
    str_done(&named);
}

/* Why it waits, as PBS Pro's scheduler and server write it. */
static const char *waiting_comment(const struct job *j, struct arena *a)
{
    const char *detail = text_empty(j->reason_detail) ? NULL : j->reason_detail;
    switch (j->reason) {
    case REASON_REQUEUED_HELD:
    case REASON_HELD_USER: return arena_printf(a, "Job held by %s", j->user_name);
    case REASON_HELD_ADMIN: return "Job held by an operator";
    case REASON_NONE:
    case REASON_PRIORITY: return "Not Running: Job waits for the next cycle or for others";
    case REASON_PARTITION_DOWN: return "Not Running: Queue not started.";
    case REASON_RESOURCES:
        return arena_printf(a, "Not Running: Insufficient amount of resource%s%s",
                            detail ? ": " : "", detail ? detail : "");
    default: return lsf_pending_reason(j, a);
    }
}

const char *qstat_comment(const struct lsf_job_list *list, const struct job *j, struct arena *a)
{
    if (lsf_job_is_pending(j))
        return waiting_comment(j, a);
    const char *where = qstat_exec_vnode(list, j, a);
    const char *run = j->start_us && where ? arena_printf(a, "Job run at %.16s on %s",
                                                          pbs_date(j->start_us, a), where)
                                           : NULL;
    if (!run || !lsf_job_is_over(j))
        return run;
    return arena_printf(a, "%s and %s", run, j->state == JOB_COMPLETED ? "finished" : "failed");
}

static const char *mail_points(const struct job *j)
{
    static const char *const points[] = {"n", "a", "b", "ab", "e", "ae", "be", "abe"};
    uint32_t m = j->spec.mail_types;
    return points[(m & MAIL_FAIL ? 1 : 0) + (m & MAIL_BEGIN ? 2 : 0) + (m & MAIL_END ? 4 : 0)];
}

static void files_add(struct pbs_attributes *t, const struct job *j, bool array)
{
    const char *err = j->spec.std_err ? j->spec.std_err : j->spec.std_out;
    pbs_attribute_add(t, NULL, "Error_Path", path_of(j, err, array, t->a));
    pbs_attribute_add(t, NULL, "Join_Path", j->spec.std_err ? "n" : "oe");
    pbs_attribute_add(t, NULL, "Keep_Files", "n");
    pbs_attribute_add(t, NULL, "Output_Path", path_of(j, j->spec.std_out, array, t->a));
}

static void times_add(const struct qstat *q, struct pbs_attributes *t, const struct job *j)
{
    bool begun = !lsf_job_is_pending(j) && j->start_us;
    pbs_attribute_add(t, NULL, "ctime", pbs_date(job_first_submit_us(j), t->a));
    pbs_attribute_add(t, NULL, "etime", pbs_date(j->eligible_us, t->a));
    pbs_attribute_add(t, NULL, "mtime", pbs_date(j->changed_us, t->a));
    pbs_attribute_add(t, NULL, "qtime", pbs_date(job_first_submit_us(j), t->a));
    pbs_attribute_add(t, NULL, "Execution_Time", pbs_date(j->spec.begin_us, t->a));
    if (begun)
        pbs_attribute_add(t, NULL, q->site.torque ? "start_time" : "stime",
                          pbs_date(j->start_us, t->a));
    if (lsf_job_is_over(j))
        pbs_attribute_add(t, NULL, q->site.torque ? "comp_time" : "obittime",
                          pbs_date(j->end_us, t->a));
}

static void end_add(const struct qstat *q, const struct qstat_row *r, struct pbs_attributes *t)
{
    const struct job *j = r->job;
    bool classic = q->site.torque && q->form != PBS_JSON;
    if (lsf_job_is_over(j) && !r->array)
        pbs_attribute_number(t, NULL, classic ? "exit_status" : "Exit_status",
                             pbs_exit_status(j, &q->site));
    if (!r->array)
        return;
    pbs_attribute_add(t, NULL, "array", "True");
    pbs_attribute_add(t, NULL, "array_indices_submitted", j->spec.array);
    pbs_attribute_add(t, NULL, "array_indices_remaining", j->array_pending);
}

void qstat_attributes(const struct qstat *q, const struct qstat_row *r, struct pbs_attributes *t)
{
    const struct job *j = r->job;
    const char *host = j->spec.alloc_host ? j->spec.alloc_host : pbs_server(&q->site);
    pbs_attribute_add(t, NULL, "Job_Name", qstat_name(q, r));
    pbs_attribute_add(t, NULL, "Job_Owner", arena_printf(t->a, "%s@%s", j->user_name, host));
    used_add(q, t, j);
    pbs_attribute_add(t, NULL, "job_state", r->state);
    pbs_attribute_add(t, NULL, "queue", job_partition(j));
    pbs_attribute_add(t, NULL, "server", pbs_server(&q->site));
    pbs_attribute_add(t, NULL, "Account_Name", j->spec.req.account);
    pbs_attribute_add(t, NULL, "depend",
                      pbs_depend_of(j->spec.dependency, pbs_server(&q->site), q->a));
    pbs_attribute_add(t, NULL, "exec_host", qstat_exec_host(q->list, j, &q->site, t->a));
    if (!q->site.torque)
        pbs_attribute_add(t, NULL, "exec_vnode", qstat_exec_vnode(q->list, j, t->a));
    pbs_attribute_add(t, NULL, "Hold_Types", text_is(r->state, "H") && !j->priority ? "u" : "n");
    files_add(t, j, r->array && !q->site.torque);
    pbs_attribute_add(t, NULL, "Mail_Points", mail_points(j));
    pbs_attribute_add(t, NULL, "Mail_Users", j->spec.mail_user);
    times_add(q, t, j);
    pbs_attribute_number(t, NULL, "Priority", -(int64_t)j->spec.nice);
    pbs_attribute_add(t, NULL, "Rerunable", j->spec.requeue == NO ? "False" : "True");
    asked_add(q, t, j);
    variables_add(q, t, j);
    pbs_attribute_add(t, NULL, "comment", qstat_comment(q->list, j, t->a));
    if (j->attempt) /* one that went back has been counted as it did */
        pbs_attribute_number(t, NULL, "run_count", j->restarts + (j->start_us != 0));
    end_add(q, r, t);
    pbs_attribute_add(t, NULL, "project", j->spec.project);
    pbs_attribute_add(t, NULL, "Submit_arguments", j->spec.submit_line);
}
