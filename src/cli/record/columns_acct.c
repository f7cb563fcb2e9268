/* Times of sacct that are not there yet are "Unknown", other missing values are empty. Usage
 * belongs to steps; the job's own line shows what Slurm sums up there. */
#include "cli/record/columns_acct.h"
#include "base/amount.h"
#include "base/duration.h"
#include "base/map.h"
#include "cli/record/acct_cells.h"
#include "cli/record/columns_job.h"
#include "cli/record/jobstats.h"
#include "model/job/job_attributes.h"

#include <stdio.h>

#define CELL(name) ACCT_CELL(static, name)
#define ASSOC_KEY  "%s\n%s\n%s"

// clang-format off
/* Of the job, on its steps' lines too. */
#define JOB_TEXT(name, expression)                                                                           \
    CELL(name)                                                                                               \
    {                                                                                                        \
        const struct job *j = row->job;                                                                      \
        (void)env;                                                                                           \
        cell_text(expression, "", out);                                                                      \
    }
/* Of the job; empty on the lines of its steps. */
#define OWN_TEXT(name, expression)                                                                           \
    CELL(name)                                                                                               \
    {                                                                                                        \
        const struct job *j = row->job;                                                                      \
        (void)env;                                                                                           \
        cell_text(row->step ? "" : (expression), "", out);                                                   \
    }
#define OWN_NUMBER(name, expression)                                                                         \
    CELL(name)                                                                                               \
    {                                                                                                        \
        const struct job *j = row->job;                                                                      \
        (void)env;                                                                                           \
        if (!row->step)                                                                                      \
            str_add_i64(out, (int64_t)(expression));                                                         \
    }
// clang-format on

static void mib_add(const struct cell_env *env, int64_t mib, struct str *out)
{
    if (env->noconvert && !env->unit)
        str_addf(out, "%lldM", (long long)mib);
    else
        size_format_mib(mib, env->unit, out);
}

/* ---- cells ---------------------------------------------------------------------------------- */

JOB_TEXT(account, j->spec.req.account)
JOB_TEXT(failed_node, j->failed_node)
CELL(admin_comment)
{
    const struct acct_env *more = env->more;
    if (row->step)
        return;
    if (!text_empty(row->job->admin_comment))
        cell_text(row->job->admin_comment, "", out);
    else if (more && more->jobstats)
        jobstats_add(more->jobstats, row->job, out);
}
OWN_TEXT(comment, j->spec.comment)
OWN_TEXT(constraints, j->spec.req.constraint)
OWN_TEXT(container, j->spec.container)
OWN_TEXT(extra, j->spec.extra)
OWN_NUMBER(gid, j->group_id)
OWN_TEXT(group, j->group_name)
OWN_TEXT(licenses, j->spec.req.licenses)
OWN_TEXT(partition, job_partition(j))
OWN_NUMBER(priority, j->priority)
OWN_TEXT(qos, j->spec.req.qos)
OWN_TEXT(reason, enum_name(&job_reason_names, j->reason))
OWN_TEXT(reservation, job_reservation(j))
OWN_NUMBER(restarts, j->restarts)
CELL(system_comment)
{
    if (row->step)
        return;
    cell_text(row->job->system_comment, "", out);
    if (!row->job->extended_us)
        return;
    str_addf(out, "%stime limit extended: ", out->len ? "; " : "");
    job_cell_extensions(row->job, env, out);
}
OWN_NUMBER(uid, j->user_id)
OWN_TEXT(user, j->user_name)
#define X(member, ...) OWN_TEXT(member, j->spec.member)
JOB_ATTRIBUTES(X)
#undef X
OWN_TEXT(work_dir, j->spec.work_dir)

CELL(alloc_nodes)
{
    (void)env;
    str_add_i64(out, row->step ? row->step->node_count : row->job->alloc_nodes);
}

/* What it has or had; of a job that waits, what it asks for. */
CELL(nodes_count)
{
    (void)env;
    str_add_i64(out, row->step ? row->step->node_count : job_nodes(row->job));
}

CELL(cluster)
{
    const struct acct_env *more = env->more;
    cell_text(more ? more->cluster : "", "", out);
}

CELL(db_index)
{
    (void)env;
    if (!row->step)
        str_add_u64(out, row->job->id);
}

static void exit_add(int32_t status, struct str *out)
{
    str_addf(out, "%d:%d", status_code(status), status_signal(status));
}

CELL(derived_exit)
{
    (void)env;
    if (!row->step)
        exit_add(row->job->derived_exit_status, out);
}

CELL(exit_code)
{
    (void)env;
    exit_add(row->step ? row->step->exit_status : acct_job_exit(row->job), out);
}

CELL(eligible)
{
    cell_time(env, row->step ? row->step->start_us : row->job->eligible_us, "Unknown", out);
}

CELL(submit)
{
    cell_time(env, row->step ? row->step->start_us : row->job->submit_us, "Unknown", out);
}

CELL(start)
{
    bool never = !row->step && job_state_over(acct_state(row));
    cell_time(env, acct_start_us(env, row), never ? "None" : "Unknown", out);
}

CELL(end)
{
    cell_time(env, acct_end_us(env, row), "Unknown", out);
}

CELL(flags)
{
    (void)env;
    if (!row->step)
        str_add(out, row->job->start_us ? "SchedMain,StartReceived" : "");
}

CELL(job_id)
{
    job_cell_label(row->job, env->bits_shown, out);
    if (row->step) {
        str_addc(out, '.');
        step_label(row->step->step_id, out);
    }
}

CELL(job_id_raw)
{
    (void)env;
    str_add_u64(out, row->job->id);
    if (row->step) {
        str_addc(out, '.');
        step_label(row->step->step_id, out);
    }
}

CELL(job_name)
{
    (void)env;
    cell_text(row->step ? row->step->step_name : row->job->spec.name, "", out);
}

CELL(node_list)
{
    (void)env;
    cell_text(row->step ? row->step->nodes : row->job->nodes, "None assigned", out);
}

CELL(req_mem)
{
    const struct job_request *r = &row->job->spec.req;
    const struct job *j = row->job;
    if (row->step)
        return;
    if (r->mem_per_cpu_mib > 0)
        mib_add(env, amount_times(r->mem_per_cpu_mib, job_cpus(j)), out);
    else if (r->mem_per_node_mib > 0)
        mib_add(env, amount_times(r->mem_per_node_mib, job_nodes(j)), out);
    else
        mib_add(env, j->alloc_mem_mib, out);
}

/* "CANCELLED by UID" when somebody did it. */
CELL(state)
{
    (void)env;
    str_add(out, enum_name(&job_state_names, acct_state(row)));
    uint32_t by_plus1 = row->step ? row->step->killed_by_uid_plus1 : row->job->killed_by_uid_plus1;
    if (acct_state(row) == JOB_CANCELLED && by_plus1)
        str_addf(out, " by %u", by_plus1 - 1);
}

CELL(std_err)
{
    (void)env;
    if (!row->step && row->job->spec.batch)
        cell_text(text_empty(row->job->spec.std_err) ? row->job->spec.std_out
                                                     : row->job->spec.std_err,
                  "slurm-%j.out", out);
}

CELL(std_in)
{
    (void)env;
    if (!row->step && row->job->spec.batch)
        cell_text(row->job->spec.std_in, "/dev/null", out);
}

CELL(std_out)
{
    (void)env;
    if (!row->step && row->job->spec.batch)
        job_cell_path(row->job, row->job->spec.std_out, out);
}

CELL(time_limit)
{
    (void)env;
    int64_t limit = job_limit_us(row->job);
    if (!row->step && !limit && row->job->state == JOB_PENDING)
        str_add(out, "Partition_Limit");
    else if (!row->step)
        duration_format(limit ? limit : TIME_UNLIMITED, out);
}

CELL(time_limit_raw)
{
    (void)env;
    int64_t limit = job_limit_us(row->job);
    if (row->step)
        return;
    if (!limit && row->job->state == JOB_PENDING)
        str_add(out, "Partition_Limit");
    else if (!limit || limit == TIME_UNLIMITED)
        str_add(out, "UNLIMITED");
    else
        str_add_i64(out, limit / USEC_PER_MIN);
}

CELL(gres)
{
    (void)env;
    cell_text(row->step ? row->step->gres : row->job->alloc_gres, "", out);
}

CELL(req_gres)
{
    (void)env;
    cell_text(row->step ? "" : row->job->spec.req.gres, "", out);
}

/* Nobody asks for a frequency here; the batch script has none in Slurm either. */
CELL(req_freq)
{
    (void)env;
    str_add(out, row->step && row->step->step_id == STEP_BATCH ? "0" : "Unknown");
}

CELL(req_cpus)
{
    (void)env;
    str_add_i64(out, row->step ? row->step->cpus : job_cpus(row->job));
}

CELL(req_nodes)
{
    (void)env;
    str_add_i64(out, row->step ? row->step->node_count : job_nodes(row->job));
}

CELL(submit_line)
{
    (void)env;
    cell_text(!row->step ? row->job->spec.submit_line
                         : (row->step->step_id == STEP_BATCH ? "" : row->step->submit_line),
              "", out);
}

const char *acct_assoc_key(const char *account, const char *user, const char *partition,
                           struct arena *a)
{
    return arena_printf(a, ASSOC_KEY, account ? account : "", user ? user : "",
                        partition ? partition : "");
}

/* The partition's own before the general one; 0 where there is none, or no more. */
CELL(assoc_id)
{
    const struct acct_env *more = env->more;
    const struct job *j = row->job;
    const char *account = j->spec.req.account;
    struct str key = STR_INIT;
    void *id = NULL;
    if (more && more->assoc) {
        str_addf(&key, ASSOC_KEY, account ? account : "", j->user_name ? j->user_name : "",
                 job_partition(j) ? job_partition(j) : "");
        id = map_str_get(more->assoc, str_text(&key));
        str_clear(&key);
        str_addf(&key, ASSOC_KEY, account ? account : "", j->user_name ? j->user_name : "", "");
        id = id ? id : map_str_get(more->assoc, str_text(&key));
    }
    str_done(&key);
    str_add_i64(out, (int64_t)(uintptr_t)id);
}

CELL(qos_raw)
{
    const struct acct_env *more = env->more;
    const char *name = row->job->spec.req.qos;
    void *id = more && more->qos && name ? map_str_get(more->qos, name) : NULL;
    if (id && !row->step)
        str_add_i64(out, (int64_t)(uintptr_t)id);
}

CELL(empty)
{
    (void)env, (void)row, (void)out;
}

static const struct column columns[] = {
    {"Account", 0, NULL, 10, "", cell_account},
    {"AdminComment", 0, NULL, 15, "", cell_admin_comment},
    {"AllocCPUS", CUT_NEVER, NULL, 10, "", cell_alloc_cpus},
    {"AllocNodes", CUT_NEVER, NULL, 10, "", cell_alloc_nodes},
    {"AllocTRES", 0, NULL, 10, "", cell_alloc_tres},
    {"AssocID", CUT_NEVER, NULL, 7, "", cell_assoc_id},
    {"AveCPU", 0, NULL, 10, "", cell_ave_cpu},
    {"AveCPUFreq", 0, NULL, 10, "", cell_ave_cpu_freq},
    {"AveDiskRead", 0, NULL, 14, "", cell_ave_read},
    {"AveDiskWrite", 0, NULL, 14, "", cell_ave_write},
    {"AvePages", 0, NULL, 10, "", cell_ave_pages},
    {"AveRSS", 0, NULL, 10, "", cell_ave_rss},
    {"AveVMSize", 0, NULL, 10, "", cell_ave_vm},
    {"BlockID", 0, NULL, 16, "", cell_empty},
    {"Cluster", 0, NULL, 10, "", cell_cluster},
    {"Comment", 0, NULL, 14, "", cell_comment},
    {"Constraints", 0, NULL, 19, "", cell_constraints},
    {"ConsumedEnergy", 0, NULL, 14, "", cell_energy},
    {"ConsumedEnergyRaw", 0, NULL, 17, "", cell_energy_raw},
    {"Container", 0, NULL, 19, "", cell_container},
    {"CPUTime", CUT_NEVER, NULL, 10, "", cell_cpu_time},
    {"CPUTimeRAW", CUT_NEVER, NULL, 10, "", cell_cpu_time_raw},
    {"DBIndex", CUT_NEVER, NULL, -10, "", cell_db_index},
    {"DerivedExitCode", 0, NULL, 15, "", cell_derived_exit},
    {"Elapsed", CUT_NEVER, NULL, 10, "", cell_elapsed},
    {"ElapsedRaw", CUT_NEVER, NULL, 10, "", cell_elapsed_raw},
    {"Eligible", CUT_PLAIN, NULL, 19, "", cell_eligible},
    {"End", CUT_PLAIN, NULL, 19, "", cell_end},
    {"ExitCode", 0, NULL, 8, "", cell_exit_code},
    {"Extra", 0, NULL, 20, "", cell_extra},
    {"FailedNode", 0, NULL, 15, "", cell_failed_node},
    {"Flags", 0, NULL, 19, "", cell_flags},
    {"GID", CUT_NEVER, NULL, 6, "", cell_gid},
    {"Group", 0, NULL, 9, "", cell_group},
    {"JobID", 0, NULL, -12, "", cell_job_id},
    {"JobIDRaw", 0, NULL, -12, "", cell_job_id_raw},
    {"JobName", 0, NULL, 10, "", cell_job_name},
    {"Layout", 0, NULL, 9, "", cell_layout},
    {"Licenses", 0, NULL, 20, "", cell_licenses},
    {"MaxDiskRead", 0, NULL, 12, "", cell_max_read},
    {"MaxDiskReadNode", 0, NULL, 15, "", cell_max_read_node},
    {"MaxDiskReadTask", 0, NULL, 15, "", cell_max_read_task},
    {"MaxDiskWrite", 0, NULL, 12, "", cell_max_write},
    {"MaxDiskWriteNode", 0, NULL, 16, "", cell_max_write_node},
    {"MaxDiskWriteTask", 0, NULL, 16, "", cell_max_write_task},
    {"MaxPages", 0, NULL, 8, "", cell_max_pages},
    {"MaxPagesNode", 0, NULL, 12, "", cell_max_pages_node},
    {"MaxPagesTask", 0, NULL, 14, "", cell_max_pages_task},
    {"MaxRSS", 0, NULL, 10, "", cell_max_rss},
    {"MaxRSSNode", 0, NULL, 10, "", cell_max_rss_node},
    {"MaxRSSTask", 0, NULL, 10, "", cell_max_rss_task},
    {"MaxVMSize", 0, NULL, 10, "", cell_max_vm},
    {"MaxVMSizeNode", 0, NULL, 14, "", cell_max_vm_node},
    {"MaxVMSizeTask", 0, NULL, 14, "", cell_max_vm_task},
    {"McsLabel", 0, NULL, 12, "", cell_empty},
    {"MinCPU", 0, NULL, 10, "", cell_min_cpu},
    {"MinCPUNode", 0, NULL, 10, "", cell_min_cpu_node},
    {"MinCPUTask", 0, NULL, 10, "", cell_min_cpu_task},
    {"NCPUS", CUT_NEVER, NULL, 10, "", cell_alloc_cpus},
    {"NNodes", CUT_NEVER, NULL, 8, "", cell_nodes_count},
    {"NodeList", 0, NULL, 15, "", cell_node_list},
    {"NTasks", CUT_NEVER, NULL, 8, "", cell_ntasks},
    {"Partition", 0, NULL, 10, "", cell_partition},
    {"Planned", CUT_NEVER, NULL, 10, "", cell_planned},
    {"PlannedCPU", CUT_NEVER, NULL, 10, "", cell_planned_cpu},
    {"PlannedCPURAW", CUT_NEVER, NULL, 13, "", cell_planned_cpu_raw},
    {"Priority", CUT_NEVER, NULL, 10, "", cell_priority},
    {"QOS", 0, NULL, 10, "", cell_qos},
    {"QOSRAW", CUT_NEVER, NULL, 6, "", cell_qos_raw},
    {"QOSREQ", 0, NULL, 10, "", cell_qos},
    {"Reason", 0, NULL, 22, "", cell_reason},
    {"ReqCPUFreq", 0, NULL, 10, "", cell_req_freq},
    {"ReqCPUFreqGov", 0, NULL, 13, "", cell_req_freq},
    {"ReqCPUFreqMax", 0, NULL, 13, "", cell_req_freq},
    {"ReqCPUFreqMin", 0, NULL, 13, "", cell_req_freq},
    {"ReqCPUS", CUT_NEVER, NULL, 8, "", cell_req_cpus},
    {"ReqMem", 0, NULL, 10, "", cell_req_mem},
    {"ReqNodes", CUT_NEVER, NULL, 8, "", cell_req_nodes},
    {"ReqTRES", 0, NULL, 10, "", cell_req_tres},
    {"Reservation", 0, NULL, 20, "", cell_reservation},
    {"ReservationId", CUT_NEVER, NULL, 8, "", cell_empty},
    {"Restarts", CUT_NEVER, NULL, 8, "", cell_restarts},
    {"SLUID", 0, NULL, 15, "", cell_db_index},
    {"Start", CUT_PLAIN, NULL, 19, "", cell_start},
    {"State", 0, NULL, 10, "", cell_state},
    {"StdErr", 0, NULL, 20, "", cell_std_err},
    {"StdIn", 0, NULL, 20, "", cell_std_in},
    {"StdOut", 0, NULL, 20, "", cell_std_out},
    {"Submit", CUT_PLAIN, NULL, 19, "", cell_submit},
    {"SubmitLine", 0, NULL, 20, "", cell_submit_line},
    {"Suspended", CUT_NEVER, NULL, 10, "", cell_suspended},
    {"SystemCPU", 0, NULL, 10, "", cell_system_cpu},
    {"SystemComment", 0, NULL, 15, "", cell_system_comment},
    {"Timelimit", 0, NULL, 10, "", cell_time_limit},
    {"TimelimitRaw", 0, NULL, 10, "", cell_time_limit_raw},
    {"TotalCPU", 0, NULL, 10, "", cell_total_cpu},
    {"TRESUsageInAve", 0, NULL, 14, "", cell_usage_in_ave},
    {"TRESUsageInMax", 0, NULL, 14, "", cell_usage_in_max},
    {"TRESUsageInMaxNode", 0, NULL, 18, "", cell_usage_in_max_node},
    {"TRESUsageInMaxTask", 0, NULL, 18, "", cell_usage_in_max_task},
    {"TRESUsageInMin", 0, NULL, 14, "", cell_usage_in_min},
    {"TRESUsageInMinNode", 0, NULL, 18, "", cell_usage_in_min_node},
    {"TRESUsageInMinTask", 0, NULL, 18, "", cell_usage_in_min_task},
    {"TRESUsageInTot", 0, NULL, 14, "", cell_usage_in_tot},
    {"TRESUsageOutAve", 0, NULL, 15, "", cell_usage_out_ave},
    {"TRESUsageOutMax", 0, NULL, 15, "", cell_usage_out_max},
    {"TRESUsageOutMaxNode", 0, NULL, 19, "", cell_usage_out_max_node},
    {"TRESUsageOutMaxTask", 0, NULL, 19, "", cell_usage_out_max_task},
    {"TRESUsageOutMin", 0, NULL, 15, "", cell_empty},
    {"TRESUsageOutMinNode", 0, NULL, 19, "", cell_empty},
    {"TRESUsageOutMinTask", 0, NULL, 19, "", cell_empty},
    {"TRESUsageOutTot", 0, NULL, 15, "", cell_usage_out_tot},
    {"UID", CUT_NEVER, NULL, 6, "", cell_uid},
    {"User", 0, NULL, 9, "", cell_user},
    {"UserCPU", 0, NULL, 10, "", cell_user_cpu},
// clang-format off
#define X(member, name, letter, header, width, json, ...) {name, 0, NULL, width, "", cell_##member},
    JOB_ATTRIBUTES(X)
#undef X
    // clang-format on
    {"WCKeyID", 0, NULL, 10, "", cell_empty},
    {"WorkDir", 0, NULL, 20, "", cell_work_dir},
    /* Gone from Slurm 22.05 on; exporters still ask for them (spec/clients.md). */
    {"AllocGRES", 0, NULL, 12, "", cell_gres},
    {"ReqGRES", 0, NULL, 12, "", cell_req_gres},
};
const struct column_table acct_columns = {columns, ARRAY_LEN(columns), "accounting", NULL};
const size_t acct_columns_listed = ARRAY_LEN(columns) - 2;

void acct_help_format_print(void)
{
    for (size_t i = 0; i < acct_columns_listed; i++) {
        bool last = i % 4 == 3 || i + 1 == acct_columns_listed;
        printf("%-19s%s", acct_columns.column[i].name, last ? "\n" : " ");
    }
}

bool acct_shows(const struct format *f, const char *name)
{
    const struct column *c = column_by_name(&acct_columns, name);
    for (size_t i = 0; c && i < f->item.n; i++)
        if (f->item.v[i].column == c)
            return true;
    return false;
}

bool acct_shows_admin_comment(const struct format *f)
{
    return acct_shows(f, "AdminComment");
}
