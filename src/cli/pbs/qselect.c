/* qselect, tracejob: which jobs are so, and what has happened to one. */
#include "base/alloc.h"
#include "base/list.h"
#include "cli/pbs/qstat.h"
#include "cli/program/cluster_dir.h"
#include "cli/program/commands.h"
#include "cli/program/localtime.h"
#include "cli/record/columns_job.h"
#include "cli/table/listing.h"
#include "model/job/job_counts.h"
#include "script/pbs/pbs.h"

#include <stdio.h>
#include <string.h>

enum qselect_comparison { IS_EQ, IS_NE, IS_GE, IS_GT, IS_LE, IS_LT };

/* "ncpus.ge.4" */
struct qselect_condition {
    const char *resource;
    enum qselect_comparison how;
    int64_t value;
};

struct qselect {
    struct lsf_filter filter;
    const char *states, *account, *project, *host, *rerunable;
    bool past, arrays, elements, held;
    struct qselect_condition condition[16];
    size_t conditions;
    struct dialect_site site;
    struct arena *a;
};

/* ---- conditions ---- */

static const char *const comparisons[] = {"eq", "ne", "ge", "gt", "le", "lt"};
static const char *const resources[] = {"ncpus", "mem", "walltime", "nodect", "nodes", "ngpus"};

/* 0: it has none of the kind. */
static int64_t time_of(const struct job *j, char which)
{
    switch (which) {
    case 'a': return j->spec.begin_us;
    case 'e': return j->eligible_us;
    case 's': return lsf_job_is_pending(j) ? 0 : j->start_us;
    case 't': return lsf_job_is_pending(j) ? j->planned_us : j->start_us;
    default: return job_first_submit_us(j); /* c, q */
    }
}

static int64_t value_of(const struct job *j, const char *resource, struct arena *a)
{
    int64_t limit = job_limit_us(j);
    if (!resource[1])
        return time_of(j, resource[0]) / USEC_PER_SEC;
    if (text_is(resource, "priority"))
        return -(int64_t)j->spec.nice;
    if (text_is(resource, "ncpus"))
        return job_cpus(j);
    if (text_is(resource, "ngpus"))
        return qstat_gpus(j);
    if (text_is(resource, "walltime"))
        return limit / USEC_PER_SEC;
    if (text_is(resource, "mem"))
        return j->alloc_mem_mib > 0 ? j->alloc_mem_mib : 0;
    return qstat_nodes(j, a);
}

static bool holds(const struct qselect_condition *c, int64_t value)
{
    switch (c->how) {
    case IS_EQ: return value == c->value;
    case IS_NE: return value != c->value;
    case IS_GE: return value >= c->value;
    case IS_GT: return value > c->value;
    case IS_LE: return value <= c->value;
    case IS_LT: return value < c->value;
    }
    return false;
}

/* Read as qsub reads it: "walltime=1:00:00". */
static bool value_read(const char *resource, const char *text, struct qselect_condition *c,
                       struct arena *a, struct err *e)
{
    struct pbs_request r = {0};
    struct dialect_site site = dialect_site_standard();
    const char *plain = text_is(resource, "mem") || text_is(resource, "walltime") ? NULL : text;
    r.site = &site;
    if (plain)
        return text_to_i64(plain, 0, INT32_MAX, &c->value) ||
               err_set(e, ERR_VALUE, "illegal -l value: %s is no number", text);
    if (!pbs_resources_read(&r, arena_printf(a, "%s=%s", resource, text), a, e))
        return false;
    c->value = text_is(resource, "mem") ? r.l.mem_mib : r.l.wall_s;
    return true;
}

/* "ncpus.ge.4,walltime.lt.1:00:00" */
static SETTER(set_conditions)
{
    struct qselect *q = to;
    struct span rest = span_of(value), one;
    while (span_next(&rest, ',', &one)) {
        struct qselect_condition c = {0};
        const char *text = arena_strndup(a, one.data, one.len), *dot = strchr(text, '.');
        const char *second = dot ? strchr(dot + 1, '.') : NULL;
        size_t how = 0, what = 0;
        if (!second || q->conditions == ARRAY_LEN(q->condition))
            return err_set(ret_err, ERR_VALUE, "illegal -l value: %s; resource.ge.value is needed",
                           text);
        c.resource = arena_strndup(a, text, (size_t)(dot - text));
        for (; how < ARRAY_LEN(comparisons); how++)
            if (span_is((struct span){dot + 1, (size_t)(second - dot - 1)}, comparisons[how]))
                break;
        for (; what < ARRAY_LEN(resources); what++)
            if (text_is(c.resource, resources[what]))
                break;
        if (how == ARRAY_LEN(comparisons) || what == ARRAY_LEN(resources))
            return err_set(
                ret_err, ERR_VALUE,
                "illegal -l value: %s; ncpus, mem, walltime, nodect and ngpus are known, "
                "with eq, ne, ge, gt, le, lt",
                text);
        c.how = (enum qselect_comparison)how;
        if (!value_read(c.resource, second + 1, &c, a, ret_err))
            return false;
        q->condition[q->conditions++] = c;
    }
    return true;
}

/* Takes ".gt." or "gt." off; none: equal. */
static const char *comparison_take(const char *text, enum qselect_comparison *ret)
{
    const char *at = text + (*text == '.');
    *ret = IS_EQ;
    for (size_t i = 0; i < ARRAY_LEN(comparisons); i++)
        if (strncmp(at, comparisons[i], 2) == 0 && at[2] == '.') {
            *ret = (enum qselect_comparison)i;
            return at + 3;
        }
    return text;
}

static bool condition_add(struct qselect *q, struct qselect_condition c, struct err *e)
{
    if (q->conditions == ARRAY_LEN(q->condition))
        return err_set(e, ERR_VALUE, "%zu conditions at most are taken", ARRAY_LEN(q->condition));
    q->condition[q->conditions++] = c;
    return true;
}

/* -a, -t: the time as qsub -a reads it. */
static SETTER(set_moment)
{
    static const struct option_env here = {.zone = &civil_local};
    struct option_env now = here;
    struct pbs_request r = {0};
    struct qselect_condition c = {.resource = "a"};
    const struct option_row *date = option_row_named(&qsub_options, "a");
    const char *rest = value;
    now.now_us = time_now_us();
    if (row->name[0] == 't') {
        if (!*value || !strchr("aceqst", *value))
            return err_set(ret_err, ERR_VALUE,
                           "illegal -t value: %s; a, c, e, q, s and t are known, as s.gt.12312359",
                           value);
        c.resource = arena_strndup(a, value, 1);
        rest++;
    }
    rest = comparison_take(rest, &c.how);
    if (!date->set(&r, date, rest, &now, a, ret_err) ||
        !civil_parse(r.begin, now.now_us, &civil_local, true, &c.value, ret_err))
        return false;
    c.value /= USEC_PER_SEC;
    return condition_add(to, c, ret_err);
}

static SETTER(set_priority)
{
    struct qselect_condition c = {.resource = "priority"};
    const char *rest = comparison_take(value, &c.how);
    return (text_to_i64(*rest == '+' ? rest + 1 : rest, -1024, 1023, &c.value) ||
            err_set(ret_err, ERR_VALUE, "illegal -p value: %s; -1024 to 1023 is allowed", value)) &&
           condition_add(to, c, ret_err);
}

/* ---- qselect ---- */

#define AT(member)                offsetof(struct qselect, member)
#define FLAG(name_, member, doc_) OPT_FLAG(name_, 0, doc_, AT(member))
#define VALUE(name_, metavar_, member, doc_)                                                       \
    {                                                                                              \
        .name = name_, .arg = ARG_REQUIRED, .metavar = metavar_, .doc = doc_, .set = set_text,     \
        .at = AT(member)                                                                           \
    }
static const struct option_row select_rows[] = {
    VALUE("A", "account", account, "jobs of this account"),
    FLAG("H", past, "ended jobs, too (the same as -x)"),
    FLAG("J", arrays, "arrays only"),
    VALUE("N", "name", filter.name, "jobs of this name"),
    VALUE("P", "project", project, "jobs of this project"),
    FLAG("T", elements, "elements of arrays, too"),
    {.name = "a",
     .arg = ARG_REQUIRED,
     .metavar = "[.op.]time",
     .doc = "by the time not before which they start: .gt.12312359",
     .set = set_moment},
    OPT_REFUSED("c", 0, ARG_REQUIRED, "by checkpoint intervals", "there are no checkpoints"),
    OPT_ACCEPTED("help", 0, ARG_NONE, "show this help"),
    {.name = "h",
     .arg = ARG_REQUIRED,
     .metavar = "holds",
     .doc = "held jobs (of which kind is not told apart)",
     .set = set_flag,
     .at = AT(held)},
    {.name = "l",
     .arg = ARG_REQUIRED,
     .metavar = "resource.op.value",
     .doc = "ncpus, mem, walltime, nodect, ngpus; eq, ne, ge, gt, le, lt",
     .set = set_conditions},
    {.name = "p",
     .arg = ARG_REQUIRED,
     .metavar = "[.op.]n",
     .doc = "by priority, as qsub -p sets it: .ge.0",
     .set = set_priority},
    VALUE("q", "queue", filter.queue, "jobs of this queue"),
    VALUE("r", "y|n", rerunable, "jobs that may run again, or not"),
    VALUE("s", "letters", states, "jobs in these states: QRHWES, with -x F"),
    {.name = "t",
     .arg = ARG_REQUIRED,
     .metavar = "which[.op.]time",
     .doc = "by times: a not before, c or q submitted, e eligible, s start, t planned start",
     .set = set_moment},
    VALUE("u", "users", filter.users, "jobs of these users"),
    OPT_ACCEPTED("version", 0, ARG_NONE, "show the version"),
    FLAG("x", past, "ended jobs, too"),
};
OPTION_TABLE(qselect_options, select_rows, .usage = "qselect [OPTIONS]", .one_dash = true,
             .letters_attach = true);

/* False: the job has no such value, as one without a limit has no walltime; no comparison holds. */
static bool has_value(const struct job *j, const char *resource)
{
    if (!resource[1])
        return time_of(j, resource[0]) != 0;
    return !text_is(resource, "walltime") ||
           (job_limit_us(j) > 0 && job_limit_us(j) != TIME_UNLIMITED);
}

static bool is_meant(const struct qselect *q, const struct job *j)
{
    const char *state = pbs_job_state(j);
    bool over = lsf_job_is_over(j);
    if ((over && !q->past) || (q->states && !strchr(q->states, state[0])) ||
        (q->held && !text_is(lsf_job_state(j), "PSUSP")) || (q->arrays && !j->array_job_id) ||
        (q->account && !text_is(q->account, j->spec.req.account)) ||
        (q->project && !text_is(q->project, j->spec.project)))
        return false;
    if (q->rerunable && (j->spec.requeue == NO) != text_is(q->rerunable, "n"))
        return false;
    for (size_t i = 0; i < q->conditions; i++)
        if (!has_value(j, q->condition[i].resource) ||
            !holds(&q->condition[i], value_of(j, q->condition[i].resource, q->a)))
            return false;
    return true;
}

static void ids_print(const struct qselect *q, const struct lsf_job_list *l)
{
    uint64_t last = 0;
    for (size_t i = 0; i < l->job.n; i++) {
        const struct job *j = l->job.v[i];
        bool element = j->array_job_id != 0;
        if (!is_meant(q, j))
            continue;
        if (element && lsf_job_number(j) != last)
            puts(pbs_job_id(j, true, &q->site, q->a));
        last = element ? lsf_job_number(j) : 0;
        if (!element || q->elements)
            puts(pbs_job_id(j, false, &q->site, q->a));
    }
    fflush(stdout);
}

static int select_run(struct qselect *q)
{
    const char *dir = state_dir_find(NULL, q->a);
    struct lsf_job_list l = {0};
    struct err e = {0};
    q->site = pbs_site(dir, q->a);
    if (!q->filter.users)
        q->filter.users = "all";
    if (q->filter.queue)
        q->filter.queue = arena_strndup(q->a, q->filter.queue, strcspn(q->filter.queue, "@"));
    q->filter.all = q->past;
    struct client *c = pbs_connect("qselect", dir);
    if (!c)
        return PBS_NO_CONTROLLER;
    bool ok = lsf_jobs_read(c, &q->filter, q->a, &l, &e);
    client_close(c);
    if (ok)
        ids_print(q, &l);
    else
        fprintf(stderr, "qselect: %s\n", e.text);
    lsf_job_list_done(&l);
    return ok ? 0 : 1;
}

int cmd_qselect(int argc, char **argv)
{
    struct qselect q = {.a = arena_new()};
    int status;
    if (pbs_line_read("qselect", &qselect_options, &q, q.a, argc, argv, &status))
        status = select_run(&q);
    lsf_filter_done(&q.filter);
    arena_free(q.a);
    return status;
}

/* ---- tracejob ---- */

struct tracejob {
    struct lsf_filter filter;
    VEC(const char *) operand;
    struct dialect_site site;
    struct arena *a;
    struct str out;
};

static bool job_take(void *to, const char *word, struct arena *a, struct err *ret_err)
{
    struct tracejob *t = to;
    if (!pbs_operand(word, a))
        return err_set(ret_err, ERR_VALUE, "illegally formed job identifier: %s", word);
    vec_push(&t->operand, arena_strdup(a, word));
    return true;
}

static const struct option_row trace_rows[] = {
    OPT_ACCEPTED("a", 0, ARG_NONE, "without the accounting log (there is one history)"),
    OPT_ACCEPTED("f", 0, ARG_REQUIRED, "without events of this kind (there are few)"),
    OPT_ACCEPTED("help", 0, ARG_NONE, "show this help"),
    OPT_ACCEPTED("l", 0, ARG_NONE, "without the scheduler's log"),
    OPT_ACCEPTED("m", 0, ARG_NONE, "without the logs of nodes"),
    OPT_ACCEPTED("n", 0, ARG_REQUIRED, "days to look back (all, always)"),
    OPT_REFUSED("p", 0, ARG_REQUIRED, "directory of the logs", "the history is in one database"),
    OPT_ACCEPTED("s", 0, ARG_NONE, "without the server's log"),
    OPT_ACCEPTED("v", 0, ARG_NONE, "say more (there is no more)"),
    OPT_ACCEPTED("version", 0, ARG_NONE, "show the version"),
    OPT_ACCEPTED("w", 0, ARG_REQUIRED, "columns (lines are not broken)"),
    OPT_ACCEPTED("z", 0, ARG_NONE, "without lines that come often (there are none)"),
};
OPTION_TABLE(tracejob_options, trace_rows, .usage = "tracejob [OPTIONS] job_id …",
             .words = WORDS_MIXED, .word = job_take, .one_dash = true, .letters_attach = true);

static void event_add(struct tracejob *t, int64_t us, const char *text)
{
    civil_format(us, us, "%m/%d/%Y %H:%M:%S", &civil_local, &t->out);
    str_addf(&t->out, "  S    %s\n", text);
}

static void run_add(struct tracejob *t, const struct job *j)
{
    const char *host = j->spec.alloc_host ? j->spec.alloc_host : pbs_server(&t->site);
    if (j->state != JOB_PENDING && j->start_us)
        event_add(t, j->start_us,
                  arena_printf(t->a, "Job Run at request of Scheduler@%s on exec_vnode %s",
                               pbs_server(&t->site), qstat_exec_vnode(NULL, j, t->a)));
    if (!lsf_job_is_over(j))
        return;
    if (j->killed_by_uid_plus1)
        event_add(t, j->end_us,
                  arena_printf(t->a, "Job to be deleted at request of uid %u@%s",
                               j->killed_by_uid_plus1 - 1, host));
    event_add(t, j->end_us,
              arena_printf(t->a,
                           "Exit_status=%d resources_used.cput=%s resources_used.ncpus=%d "
                           "resources_used.walltime=%s",
                           pbs_exit_status(j, &t->site),
                           pbs_clock(j->cpu_user_us + j->cpu_system_us, t->a), job_cpus(j),
                           pbs_clock(job_elapsed_us(j, j->end_us), t->a)));
}

/* Each run of a job, and of each element. */
static void trace_add(struct tracejob *t, const struct lsf_job_list *l)
{
    for (size_t i = 0; i < l->job.n; i++) {
        const struct job *j = l->job.v[i];
        bool first = i == 0 || l->job.v[i - 1]->id != j->id ||
                     l->job.v[i - 1]->array_task_id != j->array_task_id;
        const char *host = j->spec.alloc_host ? j->spec.alloc_host : pbs_server(&t->site);
        if (first) {
            str_addf(&t->out, "\nJob: %s\n\n", pbs_job_id(j, false, &t->site, t->a));
            event_add(t, job_first_submit_us(j),
                      arena_printf(t->a,
                                   "Job Queued at request of %s@%s, owner = %s@%s, job name = %s, "
                                   "queue = %s",
                                   j->user_name, host, j->user_name, host,
                                   j->spec.name ? j->spec.name : "", job_partition(j)));
        } else {
            event_add(t, l->job.v[i - 1]->end_us, "Job requeued");
        }
        run_add(t, j);
    }
}

static int trace_one(struct tracejob *t, struct client *c, const char *operand)
{
    struct lsf_filter one = {.users = "all", .past = true, .runs = true};
    struct lsf_job_list l = {0};
    struct err e = {0};
    vec_push(&one.ids, pbs_operand(operand, t->a));
    bool ok = lsf_jobs_read(c, &one, t->a, &l, &e), found = l.job.n > 0;
    if (!ok)
        fprintf(stderr, "tracejob: %s\n", e.text);
    else if (!found)
        fprintf(stderr, "tracejob: Couldn't find Job Id %s in logs\n", operand);
    trace_add(t, &l);
    lsf_filter_done(&one);
    lsf_job_list_done(&l);
    return ok && found ? 0 : 1;
}

static int trace_run(struct tracejob *t)
{
    const char *dir = state_dir_find(NULL, t->a);
    int status = 0;
    t->site = pbs_site(dir, t->a);
    if (!t->operand.n) {
        fprintf(stderr, "usage: %s\n", tracejob_options.usage);
        return PBS_USAGE;
    }
    struct client *c = pbs_connect("tracejob", dir);
    if (!c)
        return PBS_NO_CONTROLLER;
    for (size_t i = 0; i < t->operand.n; i++)
        status = trace_one(t, c, t->operand.v[i]) ? 1 : status;
    client_close(c);
    listing_flush(&t->out);
    return status;
}

int cmd_tracejob(int argc, char **argv)
{
    struct tracejob t = {.a = arena_new()};
    int status;
    if (pbs_line_read("tracejob", &tracejob_options, &t, t.a, argc, argv, &status))
        status = trace_run(&t);
    vec_done(&t.operand);
    str_done(&t.out);
    arena_free(t.a);
    return status;
}
