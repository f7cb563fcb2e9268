/* bjobs -l: paragraphs, wrapped at 80 columns; lines of a paragraph after its first stand behind 21
 * blanks. */
#include "cli/lsf/bjobs.h"

#include "base/duration.h"
#include "cli/program/localtime.h"
#include "cli/record/columns_job.h"

#include <string.h>

#define WIDTH  80
#define INDENT 21

/* Broken wherever the line is full, as LSF does. */
static void paragraph_add(struct str *out, const char *text)
{
    size_t room = WIDTH - 1;
    for (size_t len = strlen(text); len > 0;) {
        size_t n = len < room ? len : room;
        str_addn(out, text, n);
        str_addc(out, '\n');
        text += n;
        len -= n;
        room = WIDTH - 1 - INDENT;
        if (len)
            str_addf(out, "%*s", INDENT, "");
    }
}

static const char *date(int64_t us, struct arena *a)
{
    struct str text = STR_INIT;
    civil_format(us, us, "%a %b %e %H:%M:%S", &civil_local, &text);
    const char *kept = arena_strdup(a, str_text(&text));
    str_done(&text);
    return kept;
}

static const char *file_of(const struct job *j, const char *pattern, struct arena *a)
{
    struct str text = STR_INIT;
    job_cell_path(j, pattern, &text);
    const char *kept = arena_strdup(a, str_text(&text));
    str_done(&text);
    return kept;
}

static void head_add(const struct job *j, struct arena *a, struct str *out)
{
    const char *project = j->spec.project ? j->spec.project : "default";
    const char *command = j->spec.command ? j->spec.command : lsf_job_name(j, a);
    str_addc(out, '\n');
    paragraph_add(out, arena_printf(a,
                                    "Job <%s>, Job Name <%s>, User <%s>, Project <%s>, Status "
                                    "<%s>, Queue <%s>, Command <%s>, Share group charged </%s>",
                                    lsf_job_id(j, a), lsf_job_name(j, a), j->user_name, project,
                                    lsf_job_state(j), job_partition(j), command, j->user_name));
}

static void submitted_add(const struct job *j, struct arena *a, struct str *out)
{
    struct str text = STR_INIT;
    str_addf(&text, "%s: Submitted from host <%s>, CWD <%s>", date(j->submit_us, a),
             j->spec.alloc_host ? j->spec.alloc_host : "-", j->spec.work_dir);
    if (j->spec.std_out)
        str_addf(&text, ", Output File <%s>", file_of(j, j->spec.std_out, a));
    if (j->spec.std_err)
        str_addf(&text, ", Error File <%s>", file_of(j, j->spec.std_err, a));
    str_addf(&text, ", %d Task(s)", lsf_job_slots(j));
    if (!text_empty(j->spec.dependency))
        str_addf(&text, ", Dependency Condition <%s>", j->spec.dependency);
    str_addc(&text, ';');
    paragraph_add(out, str_text(&text));
    str_done(&text);
}

static void started_add(const struct job *j, struct arena *a, struct str *out)
{
    struct lsf_host *host;
    size_t n = lsf_job_hosts(j, a, &host);
    struct str text = STR_INIT;
    if (!n || !j->start_us)
        return;
    str_addf(&text, "%s: Started %d Task(s) on Host(s)", date(j->start_us, a), lsf_job_slots(j));
    for (size_t i = 0; i < n; i++)
        if (host[i].slots > 1)
            str_addf(&text, " <%d*%s>", host[i].slots, host[i].name);
        else
            str_addf(&text, " <%s>", host[i].name);
    str_addf(&text, ", Execution CWD <%s>;", j->spec.work_dir);
    paragraph_add(out, str_text(&text));
    str_done(&text);
}

static void ended_add(const struct job *j, struct arena *a, struct str *out)
{
    double cpu = (double)(j->cpu_user_us + j->cpu_system_us) / (double)USEC_PER_SEC;
    const char *when = date(j->end_us, a), *term = lsf_job_term(j);
    if (!lsf_job_is_over(j))
        return;
    if (j->state == JOB_COMPLETED)
        paragraph_add(out,
                      arena_printf(a, "%s: Done successfully. The CPU time used is %.1f seconds.",
                                   when, cpu));
    else
        paragraph_add(out, arena_printf(a,
                                        "%s: Exited with exit code %d. The CPU time used is %.1f "
                                        "seconds.",
                                        when, lsf_job_exit_code(j), cpu));
    if (term)
        paragraph_add(out, arena_printf(a, "%s: Completed <exit>; %s", when, term));
}

static void limits_add(const struct job *j, struct str *out)
{
    int64_t limit = job_limit_us(j);
    if (limit > 0 && limit != TIME_UNLIMITED)
        str_addf(out, "\n RUNLIMIT\n %.1f min\n", (double)limit / (double)USEC_PER_MIN);
    if (j->alloc_mem_mib > 0)
        str_addf(out, "\n MEMLIMIT\n   %.1f G\n", (double)j->alloc_mem_mib / 1024);
}

void lsf_long_print(const struct job *j, struct arena *a, struct str *out)
{
    head_add(j, a, out);
    submitted_add(j, a, out);
    started_add(j, a, out);
    ended_add(j, a, out);
    if (!lsf_job_is_over(j))
        limits_add(j, out);
    if (lsf_job_is_pending(j))
        str_addf(out, " PENDING REASONS:\n %s;\n", lsf_pending_reason(j, a));
    str_add(out,
            "\n SCHEDULING PARAMETERS:\n"
            "           r15s   r1m  r15m   ut      pg    io   ls    it    tmp    swp    mem\n"
            " loadSched   -     -     -     -       -     -    -     -     -      -      -  \n"
            " loadStop    -     -     -     -       -     -    -     -     -      -      -  \n");
}
