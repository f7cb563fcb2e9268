/* qstat: jobs as PBS lists them: one line each, everything with -f, as JSON with -F json. An array
 * is one job here; -t shows its elements. */
#include "cli/pbs/qstat.h"
#include "base/alloc.h"
#include "cli/program/commands.h"
#include "cli/program/localtime.h"
#include "cli/record/columns_job.h"
#include "cli/table/listing.h"

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
    q->filter.queue = arena_strndup(a, word, len);
    return len > 0 || err_set(ret_err, ERR_VALUE, "illegally formed destination: %s", word);
}

/* -F json; dsv is the other form of PBS. */
static SETTER(set_form)
{
    struct qstat *q = to;
    q->json = text_is(value, "json");
    return q->json || err_set(ret_err, ERR_VALUE, "-F %s is not supported: json is", value);
}

#define AT(member) offsetof(struct qstat, member)
#define FLAG(name_, member, doc_)                                                                  \
    {                                                                                              \
        .name = name_, .doc = doc_, .set = set_flag, .at = AT(member)                              \
    }
static const struct option_row rows[] = {
    FLAG("1", unwrapped, "lines are not broken"),
    FLAG("B", servers, "the server"),
    {.name = "F",
     .arg = ARG_REQUIRED,
     .metavar = "json",
     .doc = "with -f: as JSON",
     .set = set_form},
    FLAG("G", alternate, "the same as -a"),
    FLAG("H", history, "ended jobs only"),
    FLAG("J", arrays, "arrays only"),
    FLAG("Q", queues, "queues"),
    FLAG("T", alternate, "the same as -a"),
    FLAG("a", alternate, "more columns"),
    FLAG("f", full, "everything"),
    OPT_ACCEPTED("help", 0, ARG_NONE, "show this help"),
    FLAG("i", waiting, "jobs that do not run"),
    FLAG("n", hosts, "their nodes, below each"),
    FLAG("p", elements, "the same as -t"),
    FLAG("q", queues, "queues"),
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
    FLAG("x", ended, "ended jobs, too (Torque: as XML; refused)"),
};
OPTION_TABLE(qstat_options, rows, .usage = "qstat [OPTIONS] [job_id | queue | @server …]",
             .words = WORDS_MIXED, .word = word_take, .one_dash = true, .letters_attach = true);

/* ---- lines ---- */

static const char *cut(const struct qstat *q, const char *text, size_t width)
{
    if (q->unwrapped || strlen(text) <= width)
        return text;
    return arena_printf(q->a, "%.*s*", (int)width - 1, text);
}

/* CPU time, as PBS has it under "Time Use". */
static const char *time_use(const struct qstat *q, const struct job *j)
{
    long long s = (j->cpu_user_us + j->cpu_system_us) / USEC_PER_SEC;
    if (lsf_job_is_pending(j))
        return "0";
    return arena_printf(q->a, "%02lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
}

static void line_add(struct qstat *q, const struct qstat_row *r)
{
    const struct job *j = r->job;
    if (q->site.torque)
        str_addf(&q->out, "%-25s %-16s %-15s %8s %1s %-15s\n", cut(q, r->id, 25),
                 cut(q, j->spec.name ? j->spec.name : "", 16), cut(q, j->user_name, 15),
                 time_use(q, j), r->state, job_partition(j));
    else
        str_addf(&q->out, "%-17s %-16s %-16s  %8s %1s %-16s\n", cut(q, r->id, 17),
                 cut(q, j->spec.name ? j->spec.name : "", 16), cut(q, j->user_name, 16),
                 time_use(q, j), r->state, job_partition(j));
}

static void head_add(struct qstat *q)
{
    if (q->site.torque)
        str_add(&q->out,
                "Job ID                    Name             User            Time Use S Queue\n"
                "------------------------- ---------------- --------------- -------- - -----\n");
    else
        str_add(&q->out, "Job id            Name             User              Time Use S Queue\n"
                         "----------------  ---------------- ----------------  -------- - -----\n");
}

static const char *clock_text(const struct qstat *q, int64_t us)
{
    if (us <= 0 || us == TIME_UNLIMITED)
        return "--";
    long long min = us / USEC_PER_MIN;
    return arena_printf(q->a, "%02lld:%02lld", min / 60, min % 60);
}

static void alternate_add(struct qstat *q, const struct qstat_row *r)
{
    const struct job *j = r->job;
    struct lsf_host *host;
    size_t n = lsf_job_hosts(j, q->a, &host);
    int32_t nodes = n ? (int32_t)n : j->spec.req.min_nodes > 0 ? j->spec.req.min_nodes : 1;
    const char *memory =
        j->alloc_mem_mib > 0 ? arena_printf(q->a, "%lldmb", (long long)j->alloc_mem_mib) : "--";
    str_addf(&q->out, "%-15s %-8s %-8s %-10s %6s %3d %3d %6s %5s %1s %5s\n", cut(q, r->id, 15),
             cut(q, j->user_name, 8), cut(q, job_partition(j), 8),
             cut(q, j->spec.name ? j->spec.name : "", 10), "--", nodes, qstat_cpus(j), memory,
             clock_text(q, job_limit_us(j)), r->state,
             clock_text(q, lsf_job_is_pending(j) ? 0 : job_elapsed_us(j, time_now_us())));
    if (q->hosts && n)
        str_addf(&q->out, "   %s\n", qstat_exec_host(j, &q->site, q->a));
    if (q->comments && lsf_job_is_pending(j))
        str_addf(&q->out, "   %s\n", lsf_pending_reason(j, q->a));
}

static void alternate_head(struct qstat *q)
{
    str_addf(&q->out, "\n%s: \n%60sReq'd  Req'd   Elap\n", pbs_server(&q->site), "");
    str_add(&q->out,
            "Job ID          Username Queue    Jobname    SessID NDS TSK Memory Time  S Time\n"
            "--------------- -------- -------- ---------- ------ --- --- ------ ----- - -----\n");
}

/* ---- which ---- */

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
    return q->ended || !over || q->operand.n;
}

/* What the whole of an array is in: waiting, begun, or over. */
static const char *array_state(const struct lsf_job_list *l, size_t from, size_t to)
{
    bool begun = false, over = true;
    for (size_t i = from; i < to; i++) {
        begun |= !lsf_job_is_pending(l->job.v[i]);
        over &= lsf_job_is_over(l->job.v[i]);
    }
    return over ? "F" : begun ? "B" : pbs_job_state(l->job.v[from]);
}

static void rows_make(struct qstat *q, const struct lsf_job_list *l)
{
    for (size_t i = 0, end; i < l->job.n; i = end) {
        const struct job *j = l->job.v[i];
        for (end = i + 1; end < l->job.n && lsf_job_number(l->job.v[end]) == lsf_job_number(j);)
            end++;
        bool whole = j->array_job_id != 0;
        struct qstat_row row = {j, pbs_job_id(j, whole, &q->site, q->a),
                                whole ? array_state(l, i, end) : pbs_job_state(j), whole};
        if (!whole || !q->one_element)
            vec_push(&q->row, row);
        for (size_t k = i; whole && (q->elements || q->one_element) && k < end; k++) {
            const struct job *one = l->job.v[k];
            const char *state = pbs_job_state(one);
            row = (struct qstat_row){one, pbs_job_id(one, false, &q->site, q->a),
                                     text_is(state, "F") ? "X" : state, false};
            vec_push(&q->row, row);
        }
    }
}

/* ---- the whole ---- */

static void show(struct qstat *q)
{
    size_t shown = 0;
    if (q->full && q->json) {
        qstat_json_add(q);
        listing_flush(&q->out);
        return;
    }
    bool alternate = q->alternate || q->hosts || q->comments || q->running || q->waiting ||
                     (q->filter.users && q->users_given);
    for (size_t i = 0; i < q->row.n; i++) {
        if (!is_shown(q, &q->row.v[i]))
            continue;
        if (q->full) {
            qstat_full_add(q, &q->row.v[i]);
            continue;
        }
        if (shown++ == 0) {
            if (alternate)
                alternate_head(q);
            else
                head_add(q);
        }
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
        if (say && strchr("FX", q->row.v[i].state[0])) {
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

static int jobs_run(struct qstat *q, struct client *c)
{
    struct lsf_job_list l = {0};
    struct err e = {0};
    int status = 0;
    q->users_given = q->filter.users != NULL;
    if (!q->users_given)
        q->filter.users = "all";
    q->filter.all = q->ended || q->history;
    for (size_t i = 0; i < q->operand.n; i++) {
        const char *id = pbs_operand(q->operand.v[i], q->a);
        q->one_element |= strchr(id, '[') != NULL;
        vec_push(&q->filter.ids, id);
    }
    if (!lsf_jobs_read(c, &q->filter, q->a, &l, &e)) {
        fprintf(stderr, NAME ": %s\n", e.text);
        return 1;
    }
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
    if (q->site.torque && q->ended && !q->json) {
        fputs(NAME ": -x (XML) is not supported; qstat -f -F json has the same\n", stderr);
        return PBS_USAGE;
    }
    struct client *c = pbs_connect(NAME, dir);
    if (!c)
        return PBS_NO_CONTROLLER;
    int status = q->servers  ? qstat_server_add(q, c)
                 : q->queues ? qstat_queues_add(q, c)
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
    str_done(&q.out);
    arena_free(q.a);
    return status;
}
