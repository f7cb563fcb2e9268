/* bacct: sums over jobs that ended, and with -l each of them. */
#include "base/alloc.h"
#include "cli/lsf/bjobs.h"
#include "cli/lsf/interval.h"
#include "cli/program/cluster_dir.h"
#include "cli/program/commands.h"
#include "cli/program/localtime.h"
#include "cli/program/room.h"
#include "cli/record/columns_job.h"
#include "cli/table/listing.h"
#include "model/job/job_counts.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NAME "bacct"
#define RULE                                                                                       \
    "------------------------------------------------------------------------------"               \
    "\n"

struct bacct {
    struct lsf_filter filter; /* first: lsf_id_take fills it */
    bool done, failed, brief, wide, longer, unbroken;
    struct lsf_interval submitted, completed, dispatched;
    struct past_jobs past;
    struct arena *a;
    struct str out;
};

#define AT(member)                offsetof(struct bacct, member)
#define FLAG(name_, member, doc_) OPT_FLAG(name_, 0, doc_, AT(member))
#define VALUE(name_, metavar_, member, set_, doc_)                                                 \
    OPT_VALUE(name_, 0, metavar_, doc_, set_, AT(member))
static const struct option_row rows[] = {
    VALUE("C", "begin,end", completed, lsf_set_interval, "jobs that ended between"),
    VALUE("D", "begin,end", dispatched, lsf_set_interval, "jobs that started between"),
    VALUE("J", "name", filter.name, set_text, "jobs of this name; * stands for any letters"),
    OPT_REFUSED("Lp", 0, ARG_REQUIRED, "jobs of a licence project", "-P names projects"),
    OPT_REFUSED("M", 0, ARG_REQUIRED, "file with hosts", "name them with -m"),
    VALUE("P", "project", filter.project, set_text, "jobs of this project"),
    VALUE("S", "begin,end", submitted, lsf_set_interval, "jobs that were submitted between"),
    OPT_REFUSED("U", 0, ARG_REQUIRED, "jobs of a reservation", "sreport reservation sums them"),
    FLAG("UF", unbroken, "-l without broken lines"),
    OPT_ACCEPTED("V", 0, ARG_NONE, "show the version"),
    OPT_REFUSED("app", 0, ARG_REQUIRED, "jobs of an application profile",
                "there are no application profiles"),
    FLAG("b", brief, "a line for each job"),
    OPT_REFUSED("cname", 0, ARG_NONE, "names of clusters", "there is one cluster"),
    FLAG("d", done, "jobs that ended well"),
    FLAG("e", failed, "jobs that did not"),
    OPT_REFUSED("f", 0, ARG_REQUIRED, "file of records", "the history is in one database"),
    {.name = "h", .alias = "help", .doc = "show this help", .set = set_nothing},
    FLAG("l", longer, "everything about each job"),
    VALUE("m", "hosts", filter.host, set_text, "jobs on these hosts"),
    VALUE("q", "queue", filter.queue, set_text, "jobs of this queue"),
    OPT_REFUSED("sla", 0, ARG_REQUIRED, "jobs of a service class", "there are no service classes"),
    VALUE("u", "user", filter.users, set_text, "jobs of this user; all"),
    FLAG("w", wide, "nothing cut"),
    OPT_REFUSED("x", 0, ARG_NONE, "jobs with exceptions", "remuda report names what was wasted"),
};
OPTION_TABLE(bacct_options, rows, .usage = "bacct [OPTIONS] [job_ID | \"job_ID[index]\" …]",
             .words = WORDS_MIXED, .word = lsf_id_take, .one_dash = true, .letters_attach = true);

/* ---- figures ---- */

static double seconds(int64_t us)
{
    return us > 0 ? (double)us / (double)USEC_PER_SEC : 0;
}

struct bacct_figures {
    double cpu, wait, turnaround, hog;
};

static struct bacct_figures figures_of(const struct job *j)
{
    struct bacct_figures f = {
        .cpu = seconds(j->cpu_user_us + j->cpu_system_us),
        .wait = seconds((j->start_us ? j->start_us : j->end_us) - job_first_submit_us(j)),
        .turnaround = seconds(j->end_us - job_first_submit_us(j)),
    };
    f.hog = f.turnaround > 0 ? f.cpu / f.turnaround : 0;
    return f;
}

struct bacct_sum {
    double all, most, least;
    size_t n;
};

static void sum_add(struct bacct_sum *s, double value, size_t times)
{
    s->all += value * (double)times;
    s->most = s->n == 0 || value > s->most ? value : s->most;
    s->least = s->n == 0 || value < s->least ? value : s->least;
    s->n += times;
}

static double mean(const struct bacct_sum *s)
{
    return s->n ? s->all / (double)s->n : 0;
}

/* ---- parts ---- */

static void head_add(struct bacct *b)
{
    const struct lsf_filter *f = &b->filter;
    const struct passwd *me = user_by_uid(getuid());
    const char *users = f->users ? f->users : me ? me->pw_name : "you";
    bool everybody = text_is(f->users, "all") || (f->ids.n && !f->users);
    str_add(&b->out, "\nAccounting information about jobs that are: \n");
    if (everybody)
        str_add(&b->out, "  - submitted by all users.\n");
    else
        str_addf(&b->out, "  - submitted by users %s, \n", users);
    if (f->project)
        str_addf(&b->out, "  - accounted on projects %s, \n", f->project);
    else
        str_add(&b->out, "  - accounted on all projects.\n");
    str_add(&b->out, b->done == b->failed ? "  - completed normally or exited\n"
                     : b->done            ? "  - completed normally.\n"
                                          : "  - exited.\n");
    if (f->host)
        str_addf(&b->out, "  - executed on hosts %s, \n", f->host);
    else
        str_add(&b->out, "  - executed on all hosts.\n");
    if (f->queue)
        str_addf(&b->out, "  - submitted to queues %s, \n", f->queue);
    else
        str_add(&b->out, "  - submitted to all queues.\n");
    str_add(&b->out, "  - accounted on all service classes.\n" RULE);
}

static bool is_shown(const struct bacct *b, const struct job *j)
{
    bool good = j->state == JOB_COMPLETED;
    return lsf_job_is_over(j) && (b->done == b->failed || b->done == good) &&
           lsf_interval_has(&b->submitted, job_first_submit_us(j)) &&
           lsf_interval_has(&b->completed, j->end_us) &&
           (!b->dispatched.given || lsf_interval_has(&b->dispatched, j->start_us));
}

static const char *status_of(const struct job *j)
{
    return j->state == JOB_COMPLETED ? "done" : "exit";
}

static void brief_add(struct bacct *b, const struct job *j)
{
    struct bacct_figures f = figures_of(j);
    str_addf(&b->out, "%-7s %-7.7s %-9s %-10s %-8.1f %-8.0f %-10.0f %-6s %6.4f\n",
             lsf_job_id(j, b->a), j->user_name, lsf_cut(lsf_job_name(j, b->a), 9, b->a),
             b->wide ? job_partition(j) : arena_printf(b->a, "%.10s", job_partition(j)), f.cpu,
             f.wait, f.turnaround, status_of(j), f.hog);
}

/* "115M", "0K" */
static const char *memory(struct bacct *b, const struct job *j)
{
    struct efficiency e;
    efficiency_of(&b->past, j, j->end_us, &e);
    return e.mem_bytes >= 1 << 20 ? arena_printf(b->a, "%lldM", (long long)(e.mem_bytes >> 20))
                                  : arena_printf(b->a, "%lldK", (long long)(e.mem_bytes >> 10));
}

static void long_add(struct bacct *b, const struct job *j)
{
    struct lsf_long l = {&b->past, b->unbroken, b->a, &b->out};
    struct bacct_figures f = figures_of(j);
    lsf_long_head(&l, j);
    lsf_long_submitted(&l, j);
    if (j->start_us)
        lsf_long_paragraph(&l, arena_printf(b->a, "%s: Dispatched %d Task(s) on Host(s) <%s>;",
                                            lsf_date(j->start_us, b->a), lsf_job_slots(j),
                                            lsf_exec_host(j, b->a)));
    lsf_long_paragraph(&l, arena_printf(b->a, "%s: Completed <%s>%s%s", lsf_date(j->end_us, b->a),
                                        status_of(j), lsf_job_term(j) ? "; " : ".",
                                        lsf_job_term(j) ? lsf_job_term(j) : ""));
    str_addf(&b->out,
             "\nAccounting information about this job:\n"
             "     CPU_T     WAIT     TURNAROUND   STATUS     HOG_FACTOR    MEM    SWAP\n"
             "%10.2f %8.0f %14.0f %8s %14.4f %6s %7s\n",
             f.cpu, f.wait, f.turnaround, status_of(j), f.hog, memory(b, j), "0K");
    str_add(&b->out, RULE);
}

static void summary_add(struct bacct *b, const struct lsf_job_list *l)
{
    struct bacct_sum cpu = {0}, wait = {0}, turnaround = {0}, hog = {0};
    unsigned good = 0;
    for (size_t i = 0; i < l->job.n + l->more.n; i++) {
        struct lsf_more one =
            i < l->job.n ? (struct lsf_more){l->job.v[i], 1} : l->more.v[i - l->job.n];
        struct bacct_figures f = figures_of(one.job);
        if (!is_shown(b, one.job))
            continue;
        good += one.job->state == JOB_COMPLETED;
        sum_add(&cpu, f.cpu, one.n);
        sum_add(&wait, f.wait, one.n);
        sum_add(&turnaround, f.turnaround, one.n);
        sum_add(&hog, f.hog, one.n);
    }
    str_addf(&b->out,
             "\nSUMMARY:      ( time unit: second ) \n"
             " Total number of done jobs: %7u      Total number of exited jobs: %5u\n"
             " Total CPU time consumed: %9.1f      Average CPU time consumed: %7.1f\n"
             " Maximum CPU time of a job: %7.1f      Minimum CPU time of a job: %7.1f\n",
             good, (unsigned)cpu.n - good, cpu.all, mean(&cpu), cpu.most, cpu.least);
    str_addf(&b->out,
             " Total wait time in queues: %7.1f\n Average wait time in queue: %6.1f\n"
             " Maximum wait time in queue: %6.1f      Minimum wait time in queue: %6.1f\n",
             wait.all, mean(&wait), wait.most, wait.least);
    str_addf(&b->out,
             " Average turnaround time:   %7.0f (seconds/job)\n"
             " Maximum turnaround time:   %7.0f      Minimum turnaround time:   %7.0f\n",
             mean(&turnaround), turnaround.most, turnaround.least);
    str_addf(&b->out,
             " Average hog factor of a job: %5.2f ( cpu time / turnaround time )\n"
             " Maximum hog factor of a job: %5.2f      Minimum hog factor of a job: %5.2f\n",
             mean(&hog), hog.most, hog.least);
    if (l->job.n > 1) {
        double from = 0, to = 0;
        for (size_t i = 0; i < l->job.n; i++) {
            double end = seconds(l->job.v[i]->end_us);
            from = i == 0 || end < from ? end : from;
            to = end > to ? end : to;
        }
        str_addf(&b->out, " Total throughput:        %9.2f (jobs/hour)  during %7.2f hours\n",
                 to > from ? (double)cpu.n / (to - from) * 3600 : 0, (to - from) / 3600);
    }
    str_addc(&b->out, '\n');
}

/* ---- the whole ---- */

static void narrow(const struct bacct *b, struct lsf_job_list *l)
{
    size_t kept = 0;
    for (size_t i = 0; i < l->job.n; i++)
        if (is_shown(b, l->job.v[i]))
            l->job.v[kept++] = l->job.v[i];
    l->job.n = kept;
}

static void show(struct bacct *b, const struct lsf_job_list *l)
{
    head_add(b);
    if (b->brief && !b->longer && l->job.n)
        str_add(&b->out, "JOBID   USER    JOB_NAME  QUEUE      CPU_T    WAIT     TURNAROUND STATUS "
                         "HOG_FACTOR\n");
    for (size_t i = 0; i < l->job.n; i++)
        if (b->longer)
            long_add(b, l->job.v[i]);
        else if (b->brief)
            brief_add(b, l->job.v[i]);
    summary_add(b, l);
    listing_flush(&b->out);
}

static int bacct_run(struct bacct *b)
{
    struct lsf_job_list l = {0};
    struct err e = {0};
    b->longer = b->longer || b->unbroken;
    b->filter.past = true;
    b->filter.from_us = b->completed.from_us;
    struct client *c = lsf_connect(NAME, state_dir_find(NULL, b->a));
    if (!c)
        return LSF_EXIT;
    bool ok = lsf_jobs_read(c, &b->filter, b->a, &l, &e);
    narrow(b, &l);
    ok = ok && (!b->longer || lsf_past_read(c, &l, b->a, &b->past, &e));
    client_close(c);
    if (!ok)
        return lsf_line_failed(NAME, &e);
    for (size_t i = 0; i < l.missing.n; i++)
        fprintf(stderr, "Job <%s> is not found\n", l.missing.v[i]);
    int status = l.missing.n && !l.job.n ? LSF_EXIT : 0;
    if (!status)
        show(b, &l);
    lsf_job_list_done(&l);
    return status;
}

int cmd_bacct(int argc, char **argv)
{
    struct bacct b = {.a = arena_new()};
    int status = 0;
    if (lsf_line_read(NAME, &bacct_options, &b, b.a, argc, argv, &status))
        status = bacct_run(&b);
    lsf_filter_done(&b.filter);
    past_done(&b.past);
    str_done(&b.out);
    arena_free(b.a);
    return status;
}
