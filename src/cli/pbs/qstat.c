/* qstat: jobs as PBS lists them: one line each, everything with -f, as JSON with -F json. An array
 * is one job here; -t shows its elements. */
#include "cli/pbs/qstat.h"
#include "base/alloc.h"
#include "cli/program/commands.h"
#include "cli/program/localtime.h"
#include "cli/record/columns_job.h"
#include "cli/table/listing.h"
#include "wire/utf8.h"

#include <stdio.h>
#include <string.h>

#define NAME "qstat"

static bool word_take(void *to, const char *word, struct arena *a, struct err *ret_err)
{
    struct qstat *q = to;
    if (word[0] == '@')
        return true; /* the server */
    if (pbs_operand(word, a)) {
        vec_push(&q->operand, arena_strdup(a, word));
        return true;
    }
    size_t len = strcspn(word, "@");
    const char *queue = arena_strndup(a, word, len), *before = q->filter.queue;
    q->filter.queue = before ? arena_printf(a, "%s,%s", before, queue) : queue;
    return len > 0 || err_set(ret_err, ERR_VALUE, "illegally formed destination: %s", word);
}

static SETTER(set_form)
{
    struct qstat *q = to;
    return pbs_form_parse(value, &q->form) ||
           err_set(ret_err, ERR_VALUE, "-F takes json or dsv, not %s", value);
}

#define AT(member)                offsetof(struct qstat, member)
#define FLAG(name_, member, doc_) OPT_FLAG(name_, 0, doc_, AT(member))
static const struct option_row rows[] = {
    FLAG("1", same_line, "lines are not broken; of -n the nodes on the same line"),
    FLAG("B", servers, "the server"),
    {.name = "D",
     .arg = ARG_REQUIRED,
     .metavar = "text",
     .doc = "what parts the values of -F dsv; |",
     .set = set_text,
     .at = AT(delimiter)},
    OPT_REFUSED("C", 0, ARG_REQUIRED, "ids beside which the number is the same",
                "there is one server"),
    OPT_ACCEPTED("E", 0, ARG_NONE, "queries in groups (always so)"),
    {.name = "F",
     .arg = ARG_REQUIRED,
     .metavar = "form",
     .doc = "with -f: json, dsv",
     .set = set_form},
    FLAG("G", gigabytes, "as -a, sizes in GB"),
    FLAG("H", history, "ended jobs only, as -a"),
    FLAG("J", arrays, "arrays only"),
    FLAG("M", alternate, "as -a (sizes in MB)"),
    FLAG("Q", queues, "queues"),
    FLAG("R", alternate, "as -a (Torque: with disk reservations, which there are not)"),
    FLAG("T", alternate, "as -a"),
    FLAG("a", alternate, "more columns"),
    OPT_ACCEPTED("e", 0, ARG_NONE, "jobs in queues that start jobs (Torque; all are)"),
    FLAG("f", full, "everything"),
    OPT_ACCEPTED("help", 0, ARG_NONE, "show this help"),
    FLAG("i", waiting, "jobs that do not run"),
    FLAG("l", unwrapped, "long names (Torque)"),
    FLAG("n", hosts, "their nodes, below each"),
    FLAG("p", percent, "of arrays how much has ended, instead of the time"),
    FLAG("q", queue_limits, "queues and their limits"),
    FLAG("r", running, "running jobs"),
    FLAG("s", comments, "comments, below each"),
    FLAG("t", elements, "elements of arrays"),
    {.name = "u",
     .arg = ARG_REQUIRED,
     .metavar = "users",
     .doc = "jobs of these users",
     .set = set_text,
     .at = AT(filter.users)},
    OPT_ACCEPTED("version", 0, ARG_NONE, "show the version"),
    FLAG("w", unwrapped, "nothing cut"),
    FLAG("x", ended, "PBS Pro: ended jobs, too; Torque: as XML"),
};
OPTION_TABLE(qstat_options, rows, .usage = "qstat [OPTIONS] [job_id | queue | @server …]",
             .words = WORDS_MIXED, .word = word_take, .one_dash = true, .letters_attach = true);

/* ---- lines ---- */

/* As many characters; with -w what is longer stays as it is. */
static const char *cut(const struct qstat *q, const char *text, size_t width)
{
    size_t len = strlen(text), all = utf8_width(text, len);
    if (all > width && q->unwrapped)
        return text;
    if (all > width)
        return arena_printf(q->a, "%.*s*", (int)utf8_bytes(text, len, width - 1), text);
    return arena_printf(q->a, "%s%*s", text, (int)(width - all), "");
}

/* CPU time, as PBS has it under "Time Use". */
static const char *time_use(const struct qstat *q, const struct qstat_row *r)
{
    const struct job *j = r->job;
    if (q->percent)
        return r->array ? arena_printf(q->a, "%u", r->all ? 100 * r->ended / r->all : 0) : "--";
    long long s = (j->cpu_user_us + j->cpu_system_us) / USEC_PER_SEC;
    if (lsf_job_is_pending(j))
        return "0";
    return arena_printf(q->a, "%02lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
}

const char *qstat_name(const struct qstat *q, const struct qstat_row *r)
{
    const struct job *j = r->job;
    const char *name = j->spec.name ? j->spec.name : "";
    bool element = j->array_job_id && !r->array && j->array_task_id != NO_TASK;
    return q->site.torque && element ? arena_printf(q->a, "%s-%u", name, j->array_task_id) : name;
}

/* -w has wider columns. */
static void line_add(struct qstat *q, const struct qstat_row *r)
{
    const struct job *j = r->job;
    const char *name = qstat_name(q, r), *queue = job_partition(j);
    if (q->site.torque)
        str_addf(&q->out, "%-25s %-16s %-15s %8s %1s %-15s\n", cut(q, r->id, 25), cut(q, name, 16),
                 cut(q, j->user_name, 15), time_use(q, r), r->state, queue);
    else if (q->unwrapped)
        str_addf(&q->out, "%-30s %s %s  %8s %1s %-15s\n", r->id, cut(q, name, 15),
                 cut(q, j->user_name, 15), time_use(q, r), r->state, queue);
    else
        str_addf(&q->out, "%-17s %-16s %-16s  %8s %1s %-16s\n", cut(q, r->id, 17), cut(q, name, 16),
                 cut(q, j->user_name, 16), time_use(q, r), r->state, queue);
}

static void head_add(struct qstat *q)
{
    const char *use = q->percent ? "  % done" : "Time Use";
    if (q->site.torque)
        str_addf(&q->out,
                 "Job ID                    Name             User            %s S Queue\n"
                 "------------------------- ---------------- --------------- -------- - -----\n",
                 use);
    else if (q->unwrapped)
        str_addf(&q->out,
                 "Job id                         Name            User             %s S Queue\n"
                 "------------------------------ --------------- ---------------  -------- - "
                 "---------------\n",
                 use);
    else
        str_addf(&q->out,
                 "Job id            Name             User              %s S Queue\n"
                 "----------------  ---------------- ----------------  -------- - -----\n",
                 use);
}

static const char *clock_text(const struct qstat *q, int64_t us)
{
    long long min = us / USEC_PER_MIN;
    if (q->site.torque)
        return pbs_clock(us, q->a);
    return arena_printf(q->a, "%02lld:%02lld", min / 60, min % 60);
}

static const char *limit_text(const struct qstat *q, const struct job *j)
{
    int64_t us = job_limit_us(j);
    return us <= 0 || us == TIME_UNLIMITED ? "--" : clock_text(q, us);
}

static const char *memory_text(const struct qstat *q, int64_t mib)
{
    if (mib <= 0)
        return "--";
    return q->gigabytes ? arena_printf(q->a, "%lldgb", (long long)((mib + 1023) / 1024))
                        : arena_printf(q->a, "%lldmb", (long long)mib);
}

static void alternate_add(struct qstat *q, const struct qstat_row *r)
{
    const struct job *j = r->job;
    const char *where = q->hosts ? qstat_exec_host(q->list, j, &q->site, q->a) : NULL;
    const char *comment = q->comments ? qstat_comment(q->list, j, q->a) : NULL;
    const char *elapsed =
        lsf_job_is_pending(j) ? "--" : clock_text(q, job_elapsed_us(j, time_now_us()));
    const char *memory = memory_text(q, j->alloc_mem_mib), *name = qstat_name(q, r);
    if (q->site.torque)
        str_addf(&q->out, "%-23s %-11s %-8s %-16s %6s %5d %6d %9s %9s %1s %9s", cut(q, r->id, 23),
                 cut(q, j->user_name, 11), cut(q, job_partition(j), 8), cut(q, name, 16), "--",
                 qstat_nodes(j, q->a), job_cpus(j), memory, limit_text(q, j), r->state, elapsed);
    else if (q->unwrapped)
        str_addf(&q->out, "%-30s %s %s %s %8s %4d %5d %6s %5s %1s %5s", r->id,
                 cut(q, j->user_name, 15), cut(q, job_partition(j), 15), cut(q, name, 15), "--",
                 qstat_nodes(j, q->a), job_cpus(j), memory, limit_text(q, j), r->state, elapsed);
    else
        str_addf(&q->out, "%-15s %-8s %-8s %-10s %6s %3d %3d %6s %5s %1s %5s", cut(q, r->id, 15),
                 cut(q, j->user_name, 8), cut(q, job_partition(j), 8), cut(q, name, 10), "--",
                 qstat_nodes(j, q->a), job_cpus(j), memory, limit_text(q, j), r->state, elapsed);
    if (where)
        str_addf(&q->out, q->same_line ? " %s" : "\n   %s", where);
    if (comment)
        str_addf(&q->out, q->same_line ? " %s" : "\n   %s", comment);
    str_addc(&q->out, '\n');
}

static void alternate_head(struct qstat *q)
{
    str_addf(&q->out, "\n%s: \n", pbs_server(&q->site));
    if (q->site.torque)
        str_addf(
            &q->out,
            "%81sReq'd     Req'd       Elap\n"
            "Job ID                  Username    Queue    Jobname          SessID  NDS   TSK   "
            "Memory      Time    S   Time\n"
            "----------------------- ----------- -------- ---------------- ------ ----- ------ "
            "--------- --------- - ---------\n",
            "");
    else if (q->unwrapped)
        str_addf(&q->out,
                 "%98sReq'd  Req'd   Elap\n"
                 "Job ID                         Username        Queue           Jobname         "
                 "SessID   NDS  TSK   Memory Time  S Time\n"
                 "------------------------------ --------------- --------------- --------------- "
                 "-------- ---- ----- ------ ----- - -----\n",
                 "");
    else
        str_addf(
            &q->out,
            "%60sReq'd  Req'd   Elap\n"
            "Job ID          Username Queue    Jobname    SessID NDS TSK Memory Time  S Time\n"
            "--------------- -------- -------- ---------- ------ --- --- ------ ----- - -----\n",
            "");
}

/* ---- which ---- */

/* Torque shows what ended as completed; JSON is a form of PBS Pro's, and so are its words. */
static const char *qstat_state(const struct qstat *q, const struct job *j)
{
    const char *state = pbs_job_state(j);
    return text_is(state, "F") && q->site.torque && q->form != PBS_JSON ? "C" : state;
}

static bool is_shown(const struct qstat *q, const struct qstat_row *r)
{
    char state = r->state[0];
    bool over = state == 'F' || state == 'X' || state == 'C';
    if (q->arrays && !r->job->array_job_id)
        return false;
    if (q->running && (over || !strchr("RES", state)))
        return false;
    if (q->waiting && !strchr("QHW", state))
        return false;
    if (q->history)
        return over;
    return q->ended || !over || r->of_live || q->operand.n;
}

/* What the whole of an array is in: waiting, begun, or over. */
static struct qstat_row array_row(const struct qstat *q, const struct lsf_job_list *l, size_t from,
                                  size_t to)
{
    const struct job *j = l->job.v[from];
    struct qstat_row row = {.job = j, .id = pbs_job_id(j, true, &q->site, q->a), .array = true};
    bool begun = false;
    for (size_t i = from; i < to; i++) {
        begun |= !lsf_job_is_pending(l->job.v[i]);
        row.ended += lsf_job_is_over(l->job.v[i]);
    }
    row.all = (unsigned)(to - from);
    row.state = row.ended == row.all ? qstat_state(q, j)
                : !begun             ? pbs_job_state(j)
                : q->site.torque     ? "R"
                                     : "B";
    return row;
}

static bool whole_is_over(const struct lsf_job_list *l, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (!lsf_job_is_over(l->job.v[i]))
            return false;
    return true;
}

static void rows_make(struct qstat *q, const struct lsf_job_list *l)
{
    for (size_t i = 0, end; i < l->job.n; i = end) {
        const struct job *j = l->job.v[i];
        for (end = i + 1; end < l->job.n && lsf_job_number(l->job.v[end]) == lsf_job_number(j);)
            end++;
        bool whole = j->array_job_id != 0;
        struct qstat_row row = {
            .job = j, .id = pbs_job_id(j, false, &q->site, q->a), .state = qstat_state(q, j)};
        if (whole)
            row = array_row(q, l, i, end);
        if (!whole || !q->one_element)
            vec_push(&q->row, row);
        for (size_t k = i; whole && (q->elements || q->one_element) && k < end; k++) {
            const struct job *one = l->job.v[k];
            const char *state = qstat_state(q, one);
            row = (struct qstat_row){.job = one,
                                     .id = pbs_job_id(one, false, &q->site, q->a),
                                     .state = text_is(state, "F") ? "X" : state,
                                     .of_live = !q->one_element && !whole_is_over(l, i, end)};
            vec_push(&q->row, row);
        }
    }
}

/* ---- the whole ---- */

static void full_show(struct qstat *q)
{
    struct pbs_report r = {.form = q->form,
                           .title = "Job Id: ",
                           .indent = "    ",
                           .kind = "Jobs",
                           .element = "Job",
                           .delimiter = q->delimiter,
                           .unbroken = q->unwrapped || q->same_line,
                           .a = q->a,
                           .out = &q->out};
    pbs_report_begin(&r, pbs_server(&q->site), time_now_us());
    for (size_t i = 0; i < q->row.n; i++) {
        struct pbs_attributes t = {.a = q->a};
        if (!is_shown(q, &q->row.v[i]))
            continue;
        qstat_attributes(q, &q->row.v[i], &t);
        pbs_report_add(&r, q->row.v[i].id, &t);
        pbs_attributes_done(&t);
    }
    pbs_report_end(&r);
    listing_flush(&q->out);
}

static void show(struct qstat *q)
{
    size_t shown = 0;
    if (q->full) {
        full_show(q);
        return;
    }
    bool alternate = q->alternate || q->history || q->hosts || q->comments || q->running ||
                     q->waiting || q->gigabytes || (q->filter.users && q->users_given);
    for (size_t i = 0; i < q->row.n; i++) {
        if (!is_shown(q, &q->row.v[i]))
            continue;
        if (shown++ == 0 && alternate)
            alternate_head(q);
        else if (shown == 1)
            head_add(q);
        if (alternate)
            alternate_add(q, &q->row.v[i]);
        else
            line_add(q, &q->row.v[i]);
    }
    listing_flush(&q->out);
}

static int missing_say(const struct qstat *q, const char *operand)
{
    const char *id = strpbrk(operand, ".@")
                         ? operand
                         : arena_printf(q->a, "%s.%s", operand, pbs_server(&q->site));
    fprintf(stderr, NAME ": Unknown Job Id %s%s\n", q->site.torque ? "Error " : "", id);
    return PBS_UNKNOWN_JOB;
}

/* Of an operand that has ended, without -x. */
static int ended_say(struct qstat *q)
{
    int status = 0;
    size_t kept = 0;
    bool say = q->operand.n && !q->ended && !q->history && !q->site.torque;
    for (size_t i = 0; i < q->row.n; i++) {
        if (say && !q->row.v[i].of_live && strchr("FX", q->row.v[i].state[0])) {
            fprintf(stderr,
                    NAME ": %s Job has finished, use -x or -H to obtain historical job "
                         "information\n",
                    q->row.v[i].id);
            status = PBS_FINISHED;
        } else {
            q->row.v[kept++] = q->row.v[i];
        }
    }
    q->row.n = kept;
    return status;
}

/* Jobs by their ids, and beside them those of the queues. */
static bool jobs_read(struct qstat *q, struct client *c, struct lsf_job_list *l, struct err *e)
{
    struct lsf_filter one = q->filter;
    struct lsf_job_list more = {0};
    if (!q->filter.ids.n || !q->filter.queue)
        return lsf_jobs_read(c, &q->filter, q->a, l, e);
    one.queue = NULL;
    bool ok = lsf_jobs_read(c, &one, q->a, l, e);
    memset(&one.ids, 0, sizeof one.ids);
    one.queue = q->filter.queue;
    ok = ok && lsf_jobs_read(c, &one, q->a, &more, e);
    size_t named = l->job.n;
    for (size_t i = 0; i < more.job.n; i++) {
        const struct job *j = more.job.v[i];
        bool there = lsf_job_is_over(j) && !q->ended && !q->history;
        for (size_t k = 0; k < named && !there; k++)
            there = lsf_job_number(l->job.v[k]) == lsf_job_number(j);
        if (!there)
            vec_push(&l->job, j);
    }
    for (size_t i = 0; i < more.part.n; i++)
        vec_push(&l->part, more.part.v[i]);
    lsf_job_list_done(&more);
    return ok;
}

static int jobs_run(struct qstat *q, struct client *c)
{
    struct lsf_job_list l = {0};
    struct err e = {0};
    int status = q->filter.queue ? qstat_queues_known(q, c) : 0;
    q->users_given = q->filter.users != NULL;
    if (!q->users_given)
        q->filter.users = "all";
    q->filter.all = q->ended || q->history || q->elements;
    for (size_t i = 0; i < q->operand.n; i++) {
        const char *id = pbs_operand(q->operand.v[i], q->a);
        q->one_element |= strchr(id, '[') != NULL;
        vec_push(&q->filter.ids, id);
    }
    if (status == PBS_UNKNOWN_QUEUE && !q->operand.n && !q->filter.queue)
        return status; /* none of what was named is left */
    q->list = &l;
    if (!jobs_read(q, c, &l, &e)) {
        fprintf(stderr, NAME ": %s\n", e.text);
        return 1;
    }
    if (q->full)
        lsf_past_read(c, &l, q->a, &q->past, &e); /* without it memory is not shown */
    rows_make(q, &l);
    for (size_t i = 0; i < l.missing.n; i++)
        status = missing_say(q, l.missing.v[i]);
    int over = ended_say(q);
    show(q);
    lsf_job_list_done(&l);
    return status ? status : over;
}

static int qstat_run(struct qstat *q)
{
    const char *dir = state_dir_find(NULL, q->a);
    q->site = pbs_site(dir, q->a);
    if (q->site.torque && q->ended && q->form == PBS_TEXT) { /* -x is a form there */
        q->form = PBS_XML;
        q->full = true;
        q->ended = false;
    }
    if (!q->delimiter)
        q->delimiter = "|";
    q->unwrapped = q->unwrapped || (q->same_line && q->full);
    struct client *c = pbs_connect(NAME, dir);
    if (!c)
        return PBS_NO_CONTROLLER;
    int status = q->servers                     ? qstat_server_add(q, c)
                 : q->queues || q->queue_limits ? qstat_queues_add(q, c)
                                                : jobs_run(q, c);
    listing_flush(&q->out);
    client_close(c);
    return status;
}

int cmd_qstat(int argc, char **argv)
{
    struct qstat q = {.a = arena_new()};
    int status;
    if (pbs_line_read(NAME, &qstat_options, &q, q.a, argc, argv, &status))
        status = qstat_run(&q);
    lsf_filter_done(&q.filter);
    vec_done(&q.operand);
    vec_done(&q.row);
    past_done(&q.past);
    str_done(&q.out);
    arena_free(q.a);
    return status;
}
