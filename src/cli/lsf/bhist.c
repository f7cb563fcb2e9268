/* bhist: in which states jobs have been, and for how long.
 *
 * A job that was requeued has a record of each run. What it waited is what is left of its life when
 * its runs and stops are taken off; what of that it was held is known from the reasons it waited
 * for. */
#include "cli/lsf/bjobs.h"
#include "cli/lsf/interval.h"
#include "cli/program/commands.h"
#include "cli/program/localtime.h"
#include "cli/program/room.h"
#include "cli/record/columns_job.h"
#include "cli/table/listing.h"
#include "model/job/job_counts.h"
#include "model/job/waits.h"

#include <stdio.h>
#include <string.h>

#define NAME "bhist"

struct bhist {
    struct lsf_filter filter; /* first: lsf_id_take fills it */
    bool all, done, ended, failed, pending, running, suspended, wide, longer, unbroken;
    struct lsf_interval alive, submitted, completed, dispatched;
    struct arena *a;
    struct str out;
};

#define AT(member)                offsetof(struct bhist, member)
#define FLAG(name_, member, doc_) OPT_FLAG(name_, 0, doc_, AT(member))
#define VALUE(name_, metavar_, member, set_, doc_)                                                 \
    OPT_VALUE(name_, 0, metavar_, doc_, set_, AT(member))
static const struct option_row rows[] = {
    VALUE("C", "begin,end", completed, lsf_set_interval, "jobs that ended between"),
    VALUE("D", "begin,end", dispatched, lsf_set_interval, "jobs that started between"),
    VALUE("J", "name", filter.name, set_text, "jobs of this name; * stands for any letters"),
    OPT_REFUSED("Lp", 0, ARG_REQUIRED, "jobs of a licence project", "-P names projects"),
    VALUE("P", "project", filter.project, set_text, "jobs of this project"),
    VALUE("S", "begin,end", submitted, lsf_set_interval, "jobs that were submitted between"),
    VALUE("T", "begin,end", alive, lsf_set_interval, "the same as -t"),
    FLAG("UF", unbroken, "-l without broken lines"),
    OPT_ACCEPTED("V", 0, ARG_NONE, "show the version"),
    FLAG("a", all, "ended jobs, too"),
    OPT_REFUSED("app", 0, ARG_REQUIRED, "jobs of an application profile",
                "there are no application profiles"),
    OPT_ACCEPTED("b", 0, ARG_NONE, "in short (always so, without -l)"),
    OPT_REFUSED("cname", 0, ARG_NONE, "names of clusters", "there is one cluster"),
    FLAG("d", ended, "ended jobs only"),
    FLAG("e", failed, "jobs only that did not end well"),
    OPT_REFUSED("f", 0, ARG_REQUIRED, "file of events", "the history is in one database"),
    VALUE("g", "group", filter.group, set_text, "jobs of this group, and of those below it"),
    {.name = "h", .alias = "help", .doc = "show this help", .set = set_nothing},
    FLAG("l", longer, "what happened to each job"),
    VALUE("m", "hosts", filter.host, set_text, "jobs on these hosts"),
    OPT_ACCEPTED("n", 0, ARG_REQUIRED, "files of events to look at (all, always)"),
    FLAG("p", pending, "waiting jobs only"),
    VALUE("q", "queue", filter.queue, set_text, "jobs of this queue"),
    FLAG("r", running, "running jobs only"),
    FLAG("s", suspended, "suspended jobs only"),
    VALUE("t", "begin,end", alive, lsf_set_interval, "jobs that were there between"),
    VALUE("u", "user", filter.users, set_text, "jobs of this user; all"),
    FLAG("w", wide, "nothing cut"),
};
OPTION_TABLE(bhist_options, rows, .usage = "bhist [OPTIONS] [job_ID | \"job_ID[index]\" …]",
             .words = WORDS_MIXED, .word = lsf_id_take, .one_dash = true, .letters_attach = true);

/* ---- which ---- */

static bool is_shown(const struct bhist *b, const struct job *j)
{
    const char *state = lsf_job_state(j);
    bool over = lsf_job_is_over(j);
    bool named = b->ended || b->failed || b->pending || b->running || b->suspended;
    if (!lsf_interval_has(&b->submitted, job_first_submit_us(j)) ||
        (b->completed.given && (!over || !lsf_interval_has(&b->completed, j->end_us))) ||
        (b->dispatched.given &&
         (lsf_job_is_pending(j) || !lsf_interval_has(&b->dispatched, j->start_us))))
        return false;
    if (named)
        return (b->ended && over) || (b->failed && over && j->state != JOB_COMPLETED) ||
               (b->pending && lsf_job_is_pending(j)) || (b->running && text_is(state, "RUN")) ||
               (b->suspended && strstr(state, "SUSP"));
    return b->all || b->completed.given || b->alive.given || b->filter.ids.n || !over;
}

/* ---- times ---- */

struct times {
    double pend, psusp, run, ususp, ssusp, total;
};

static double seconds(int64_t us)
{
    return us > 0 ? (double)us / (double)USEC_PER_SEC : 0;
}

static double waited_s(const struct job *j, bool held)
{
    struct span rest = span_of(j->waited_for), cause;
    double sum = 0;
    int64_t s;
    while (waits_next(&rest, &cause, &s))
        if (held == (cause.len >= 7 && memcmp(cause.data, "JobHeld", 7) == 0))
            sum += (double)s;
    return sum;
}

/* A run that is over, of a job that was requeued: it is kept as what waits again. */
static bool is_former(const struct lsf_job_list *l, size_t i, size_t to)
{
    return i + 1 < to && l->job.v[i]->start_us;
}

/* Of one job; [from, to) are its runs, the last one first in force. */
static struct times times_of(const struct lsf_job_list *l, size_t from, size_t to, int64_t now)
{
    const struct job *last = l->job.v[to - 1];
    int64_t end = lsf_job_is_over(last) && last->end_us ? last->end_us : now;
    struct times t = {.total = seconds(end - job_first_submit_us(l->job.v[from]))};
    for (size_t i = from; i < to; i++) {
        const struct job *j = l->job.v[i];
        int64_t stopped = j->suspended_us;
        if (j->state == JOB_SUSPENDED)
            stopped += now - j->suspend_us;
        if (j->suspended_by == SUSPENDER_PERSON)
            t.ususp += seconds(stopped);
        else
            t.ssusp += seconds(stopped);
        t.run +=
            lsf_job_is_pending(j) && !is_former(l, i, to) ? 0 : seconds(job_elapsed_us(j, now));
        t.psusp += waited_s(j, true);
        t.pend += waited_s(j, false);
    }
    double rest = t.total - t.run - t.ususp - t.ssusp;
    if (text_is(lsf_job_state(last), "PSUSP")) /* what it waits for now is not in the sums yet */
        t.psusp = rest - t.pend;
    t.psusp = t.psusp < rest ? t.psusp : rest > 0 ? rest : 0;
    t.pend = rest > t.psusp ? rest - t.psusp : 0;
    return t;
}

/* ---- lines ---- */

static void line_add(struct bhist *b, const struct job *j, const struct times *t)
{
    const char *id = lsf_job_id(j, b->a), *name = lsf_job_name(j, b->a);
    name = b->wide ? lsf_fill(name, 9, b->a) : lsf_cut(name, 9, b->a);
    str_addf(&b->out, "%-7s %-7.*s %s %-8.0f%-8.0f%-8.0f%-8.0f%-8.0f%-8.0f%-10.0f\n", id,
             b->wide ? 64 : 7, j->user_name, name, t->pend, t->psusp, t->run, t->ususp, t->ssusp,
             0.0, t->total);
}

static void dispatched_add(struct bhist *b, const struct lsf_long *l, const struct job *j,
                           bool former)
{
    struct lsf_host *host;
    size_t n = former ? lsf_run_hosts(j, b->a, &host) : lsf_job_hosts(j, b->a, &host);
    const struct passwd *p = user_by_uid(j->user_id);
    struct str text = STR_INIT;
    if (!n || !j->start_us)
        return;
    const char *when = lsf_date(j->start_us, b->a);
    str_addf(&text, "%s: Dispatched %d Task(s) on Host(s)", when, lsf_job_slots(j));
    for (size_t i = 0; i < n; i++)
        if (host[i].slots > 1)
            str_addf(&text, " <%d*%s>", host[i].slots, host[i].name);
        else
            str_addf(&text, " <%s>", host[i].name);
    str_addf(&text, ", Allocated %d Slot(s); Dispatched to <%s>;", lsf_job_slots(j), host[0].name);
    lsf_long_paragraph(l, str_text(&text));
    lsf_long_paragraph(
        l, arena_printf(b->a,
                        "%s: Running with execution home <%s>, Execution CWD <%s>, Execution "
                        "rusage <%s>;",
                        when, p ? p->pw_dir : "-", j->spec.work_dir,
                        j->alloc_mem_mib > 0
                            ? arena_printf(b->a, "mem=%lld.00", (long long)j->alloc_mem_mib)
                            : "-"));
    str_done(&text);
}

static void long_add(struct bhist *b, const struct lsf_job_list *jobs, size_t from, size_t to)
{
    struct lsf_long l = {NULL, b->unbroken, b->a, &b->out};
    int64_t now = time_now_us();
    struct times t = times_of(jobs, from, to, now);
    lsf_long_head(&l, jobs->job.v[to - 1]);
    lsf_long_submitted(&l, jobs->job.v[from]);
    for (size_t i = from; i < to; i++) {
        const struct job *j = jobs->job.v[i];
        dispatched_add(b, &l, j, is_former(jobs, i, to));
        if (i + 1 < to && j->end_us)
            lsf_long_paragraph(
                &l, arena_printf(b->a, "%s: Job has been requeued;", lsf_date(j->end_us, b->a)));
        else
            lsf_long_ended(&l, j);
    }
    const struct job *last = jobs->job.v[to - 1];
    if (last->state == JOB_SUSPENDED)
        lsf_long_paragraph(&l, arena_printf(b->a, "%s: Suspended: %s;",
                                            lsf_date(last->suspend_us, b->a),
                                            lsf_suspend_reason(last)));
    str_addf(&b->out,
             "\nSummary of time in seconds spent in various states by  %s\n"
             "  PEND     PSUSP    RUN      USUSP    SSUSP    UNKWN    TOTAL\n"
             "  %-9.0f%-9.0f%-9.0f%-9.0f%-9.0f%-9.0f%-10.0f\n",
             lsf_date(lsf_job_is_over(last) ? last->end_us : now, b->a), t.pend, t.psusp, t.run,
             t.ususp, t.ssusp, 0.0, t.total);
}

static size_t show(struct bhist *b, const struct lsf_job_list *l)
{
    int64_t now = time_now_us();
    size_t shown = 0;
    for (size_t i = 0, end; i < l->job.n; i = end) {
        for (end = i + 1; end < l->job.n && l->job.v[end]->id == l->job.v[i]->id &&
                          l->job.v[end]->array_task_id == l->job.v[i]->array_task_id;)
            end++;
        const struct job *j = l->job.v[end - 1];
        if (!is_shown(b, j))
            continue;
        if (shown++ == 0 && !b->longer)
            str_add(&b->out, "Summary of time in seconds spent in various states:\n"
                             "JOBID   USER    JOB_NAME  PEND    PSUSP   RUN     USUSP   SSUSP   "
                             "UNKWN   TOTAL\n");
        else if (shown > 1 && b->longer)
            str_add(&b->out, "------------------------------------------------------------------"
                             "------------\n");
        if (b->longer) {
            long_add(b, l, i, end);
        } else {
            struct times t = times_of(l, i, end, now);
            line_add(b, j, &t);
        }
    }
    listing_flush(&b->out);
    return shown;
}

static int bhist_run(struct bhist *b)
{
    struct lsf_job_list l = {0};
    struct err e = {0};
    bool past = b->all || b->ended || b->failed || b->alive.given || b->submitted.given ||
                b->completed.given || b->dispatched.given || b->filter.ids.n;
    b->longer = b->longer || b->unbroken;
    b->filter.past = past;
    b->filter.runs = past;
    b->filter.from_us = b->alive.from_us;
    b->filter.to_us = b->alive.to_us;
    struct client *c = lsf_connect(NAME, state_dir_find(NULL, b->a));
    if (!c)
        return LSF_EXIT;
    bool ok = lsf_jobs_read(c, &b->filter, b->a, &l, &e);
    client_close(c);
    if (!ok)
        return lsf_line_failed(NAME, &e);
    size_t shown = show(b, &l);
    for (size_t i = 0; shown && i < l.missing.n; i++)
        fprintf(stderr, "Job <%s> is not found\n", l.missing.v[i]);
    if (!shown)
        fputs("No matching job found\n", stderr);
    lsf_job_list_done(&l);
    return shown ? 0 : LSF_EXIT;
}

int cmd_bhist(int argc, char **argv)
{
    struct bhist b = {.a = arena_new()};
    int status = 0;
    if (lsf_line_read(NAME, &bhist_options, &b, b.a, argc, argv, &status))
        status = bhist_run(&b);
    lsf_filter_done(&b.filter);
    str_done(&b.out);
    arena_free(b.a);
    return status;
}
