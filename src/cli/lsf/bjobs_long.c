/* bjobs -l: paragraphs, wrapped at 80 columns; lines of a paragraph after its first stand behind 21
 * blanks. */
#include "cli/lsf/bjobs.h"

#include "base/duration.h"
#include "cli/program/localtime.h"
#include "cli/program/room.h"
#include "cli/record/columns_job.h"
#include "model/job/job_counts.h"
#include "script/lsf/depend.h"
#include "wire/utf8.h"

#include <string.h>

#define WIDTH  80
#define INDENT 21

/* Broken wherever the line is full, as LSF does. */
void lsf_long_paragraph(const struct lsf_long *l, const char *text)
{
    size_t room = WIDTH - 1;
    for (size_t len = strlen(text); len > 0;) {
        size_t n = l->unbroken ? len : utf8_bytes(text, len, room);
        str_addn(l->out, text, n);
        str_addc(l->out, '\n');
        text += n;
        len -= n;
        room = WIDTH - 1 - INDENT;
        if (len)
            str_addf(l->out, "%*s", INDENT, "");
    }
}

static const char *kept(struct str *text, struct arena *a)
{
    const char *copy = arena_strdup(a, str_text(text));
    str_done(text);
    return copy;
}

const char *lsf_date(int64_t us, struct arena *a)
{
    struct str text = STR_INIT;
    civil_format(us, us, "%a %b %e %H:%M:%S", &civil_local, &text);
    return kept(&text, a);
}

const char *lsf_size(int64_t bytes, struct arena *a)
{
    double mib = (double)bytes / (1 << 20);
    if (mib >= 1024 * 1024)
        return arena_printf(a, "%.1f Tbytes", mib / 1024 / 1024);
    if (mib >= 1024)
        return arena_printf(a, "%.1f Gbytes", mib / 1024);
    return arena_printf(a, "%.0f Mbytes", mib < 1 ? 1 : mib);
}

const char *lsf_size_in(int64_t bytes, char unit, struct arena *a)
{
    static const char units[] = "KMGTPE";
    const char *at = unit ? strchr(units, unit) : NULL;
    double n = (double)bytes;
    for (const char *u = units; at && u <= at; u++)
        n /= 1024;
    return at ? arena_printf(a, "%.1f %cbytes", n, unit) : lsf_size(bytes, a);
}

static const char *file_of(const struct job *j, const char *pattern, struct arena *a)
{
    struct str text = STR_INIT;
    job_cell_path(j, pattern, &text);
    return kept(&text, a);
}

const char *lsf_resources_text(const struct job *j, struct arena *a)
{
    const struct job_request *q = &j->spec.req;
    struct str text = STR_INIT;
    int64_t mem = q->mem_per_node_mib > 0 ? q->mem_per_node_mib : q->mem_per_cpu_mib;
    if (!text_empty(q->constraint))
        str_addf(&text, "select[%s] ", q->constraint);
    if (mem > 0)
        str_addf(&text, "rusage[mem=%lld.00%s] ", (long long)mem,
                 q->mem_per_node_mib > 0 ? "/host" : "/task");
    if (q->ntasks_per_node > 0)
        str_addf(&text, "span[ptile=%d] ", q->ntasks_per_node);
    else if (q->min_nodes == 1 && q->max_nodes == 1)
        str_add(&text, "span[hosts=1] ");
    if (q->cpus_per_task > 1)
        str_addf(&text, "affinity[core(%d)] ", q->cpus_per_task);
    if (q->switches > 0)
        str_addf(&text, "cu[maxcus=%d] ", q->switches);
    if (text.len)
        str_cut(&text, text.len - 1);
    return text.len ? kept(&text, a) : NULL;
}

/* ---- the parts ---- */

void lsf_long_head(const struct lsf_long *l, const struct job *j)
{
    const char *project = j->spec.project ? j->spec.project : "default";
    const char *command = j->spec.command ? j->spec.command : lsf_job_name(j, l->a);
    struct str text = STR_INIT;
    str_addf(&text, "Job <%s>, Job Name <%s>, User <%s>, Project <%s>, ", lsf_job_id(j, l->a),
             lsf_job_name(j, l->a), j->user_name, project);
    if (j->spec.job_group)
        str_addf(&text, "Job Group <%s>, ", j->spec.job_group);
    if (j->spec.mail_user)
        str_addf(&text, "Mail <%s>, ", j->spec.mail_user);
    str_addf(&text, "Status <%s>, Queue <%s>, Command <%s>, Share group charged </%s>",
             lsf_job_state(j), job_partition(j), command, j->user_name);
    if (j->spec.comment)
        str_addf(&text, ", Job Description <%s>", j->spec.comment);
    str_addc(l->out, '\n');
    lsf_long_paragraph(l, str_text(&text));
    str_done(&text);
}

static void files_add(const struct job *j, struct arena *a, struct str *text)
{
    bool anew = j->spec.open_mode == OPEN_TRUNCATE, out = j->spec.open_mode == OPEN_TRUNCATE_OUTPUT,
         err = j->spec.open_mode == OPEN_TRUNCATE_ERROR;
    if (j->spec.std_in)
        str_addf(text, ", Input File <%s>", file_of(j, j->spec.std_in, a));
    if (j->spec.std_out)
        str_addf(text, ", Output File%s <%s>", anew || out ? " (overwrite)" : "",
                 file_of(j, j->spec.std_out, a));
    if (j->spec.std_err)
        str_addf(text, ", Error File%s <%s>", anew || err ? " (overwrite)" : "",
                 file_of(j, j->spec.std_err, a));
}

void lsf_long_submitted(const struct lsf_long *l, const struct job *j)
{
    const char *resources = lsf_resources_text(j, l->a);
    struct str text = STR_INIT;
    str_addf(&text, "%s: Submitted from host <%s>, CWD <%s>",
             lsf_date(job_first_submit_us(j), l->a), j->spec.alloc_host ? j->spec.alloc_host : "-",
             j->spec.work_dir);
    files_add(j, l->a, &text);
    if (j->spec.req.exclusive == EXCLUSIVE_NODE)
        str_add(&text, ", Exclusive Execution");
    if (j->spec.requeue == YES)
        str_add(&text, ", Re-runnable");
    if (j->spec.begin_us)
        str_addf(&text, ", Specified Start Time <%s>", lsf_date(j->spec.begin_us, l->a));
    if (!text_empty(j->spec.dependency))
        str_addf(&text, ", Dependency Condition <%s>", lsf_depend_of(j->spec.dependency, l->a));
    str_addf(&text, ", %d Task(s)", lsf_job_slots(j));
    if (resources)
        str_addf(&text, ", Requested Resources <%s>", resources);
    str_addc(&text, ';');
    lsf_long_paragraph(l, str_text(&text));
    str_done(&text);
}

static void hosts_add(const struct lsf_host *host, size_t n, struct str *text)
{
    for (size_t i = 0; i < n; i++)
        if (host[i].slots > 1)
            str_addf(text, " <%d*%s>", host[i].slots, host[i].name);
        else
            str_addf(text, " <%s>", host[i].name);
}

static void started_add(const struct lsf_long *l, const struct job *j)
{
    struct lsf_host *host;
    size_t n = lsf_job_hosts(j, l->a, &host);
    const struct passwd *p = user_by_uid(j->user_id);
    struct str text = STR_INIT;
    if (!n || !j->start_us)
        return;
    str_addf(&text, "%s: Started %d Task(s) on Host(s)", lsf_date(j->start_us, l->a),
             lsf_job_slots(j));
    hosts_add(host, n, &text);
    str_addf(&text, ", Allocated %d Slot(s) on Host(s)", lsf_job_slots(j));
    hosts_add(host, n, &text);
    if (p)
        str_addf(&text, ", Execution Home <%s>", p->pw_dir);
    str_addf(&text, ", Execution CWD <%s>;", j->spec.work_dir);
    lsf_long_paragraph(l, str_text(&text));
    str_done(&text);
}

static void usage_add(const struct lsf_long *l, const struct job *j)
{
    struct efficiency e = {0};
    if (lsf_job_is_pending(j) || !l->past)
        return;
    efficiency_of(l->past, j, time_now_us(), &e);
    if (!lsf_job_is_over(j)) {
        str_addf(l->out, "%s: Resource usage collected.\n", lsf_date(time_now_us(), l->a));
        str_addf(l->out, "%*sThe CPU time used is %.1f seconds.\n", INDENT, "",
                 (double)(j->cpu_user_us + j->cpu_system_us) / (double)USEC_PER_SEC);
        if (e.mem_bytes)
            str_addf(l->out, "%*sMEM: %s;  SWAP: 0 Mbytes\n", INDENT, "",
                     lsf_size(e.mem_bytes, l->a));
    }
    if (e.mem_bytes)
        str_addf(l->out, "\n MEMORY USAGE:\n MAX MEM: %s\n", lsf_size(e.mem_bytes, l->a));
}

void lsf_long_ended(const struct lsf_long *l, const struct job *j)
{
    double cpu = (double)(j->cpu_user_us + j->cpu_system_us) / (double)USEC_PER_SEC;
    const char *when = lsf_date(j->end_us, l->a), *term = lsf_job_term(j);
    int signo = status_signal(j->exit_status);
    if (!lsf_job_is_over(j))
        return;
    if (j->state == JOB_COMPLETED)
        lsf_long_paragraph(
            l, arena_printf(l->a, "%s: Done successfully. The CPU time used is %.1f seconds.", when,
                            cpu));
    else if (!term && signo)
        lsf_long_paragraph(
            l, arena_printf(l->a, "%s: Exited by signal %d. The CPU time used is %.1f seconds.",
                            when, signo, cpu));
    else
        lsf_long_paragraph(
            l,
            arena_printf(l->a, "%s: Exited with exit code %d. The CPU time used is %.1f seconds.",
                         when, lsf_job_exit_code(j), cpu));
    if (j->state != JOB_COMPLETED)
        lsf_long_paragraph(l, arena_printf(l->a, "%s: Completed <exit>%s%s", when,
                                           term ? "; " : ".", term ? term : ""));
}

static void limits_add(const struct lsf_long *l, const struct job *j)
{
    int64_t limit = job_limit_us(j);
    if (limit > 0 && limit != TIME_UNLIMITED)
        str_addf(l->out, "\n RUNLIMIT                \n %.1f min\n",
                 (double)limit / (double)USEC_PER_MIN);
    if (j->alloc_mem_mib >= 1024)
        str_addf(l->out, "\n MEMLIMIT\n   %.1f G \n", (double)j->alloc_mem_mib / 1024);
    else if (j->alloc_mem_mib > 0)
        str_addf(l->out, "\n MEMLIMIT\n   %lld M \n", (long long)j->alloc_mem_mib);
}

void lsf_long_print(const struct lsf_long *l, const struct job *j)
{
    const char *resources = lsf_resources_text(j, l->a);
    lsf_long_head(l, j);
    lsf_long_submitted(l, j);
    limits_add(l, j);
    started_add(l, j);
    lsf_long_ended(l, j);
    usage_add(l, j);
    if (lsf_job_is_pending(j))
        str_addf(l->out, " PENDING REASONS:\n %s;\n", lsf_pending_reason(j, l->a));
    else if (lsf_job_is_suspended(j))
        str_addf(l->out, " SUSPENDING REASONS:\n %s;\n", lsf_suspend_reason(j));
    str_add(l->out,
            "\n SCHEDULING PARAMETERS:\n"
            "           r15s   r1m  r15m   ut      pg    io   ls    it    tmp    swp    mem\n"
            " loadSched   -     -     -     -       -     -    -     -     -      -      -  \n"
            " loadStop    -     -     -     -       -     -    -     -     -      -      -  \n");
    if (resources)
        str_addf(l->out, "\n RESOURCE REQUIREMENT DETAILS:\n Combined: %s\n Effective: %s\n",
                 resources, resources);
}
