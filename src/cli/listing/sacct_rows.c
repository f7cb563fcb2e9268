/* The rows of sacct: jobs come first, then the steps of the same jobs; both are joined by (job,
 * attempt). */
#include "base/alloc.h"
#include "base/duration.h"
#include "base/vec.h"
#include "cli/listing/sacct.h"
#include "cli/program/give_out.h"
#include "cli/program/program.h"
#include "cli/record/columns_acct.h"
#include "cli/record/columns_job.h"
#include "cli/record/jobstats.h"
#include "cli/table/listing.h"
#include "cli/table/listing_command.h"
#include "model/job/array.h"
#include "model/settings/key.h"
#include "model/stored.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading -------------------------------------------------------------------------------- */

static bool in_range(const struct sacct_range *r, int64_t n)
{
    return !r->high || (n >= r->low && n <= r->high);
}

static bool group_fits(const char *groups, const struct job *j)
{
    char gid[16];
    snprintf(gid, sizeof gid, "%u", j->group_id);
    return listing_has(groups, gid) || (j->group_name && listing_has(groups, j->group_name));
}

static bool limit_fits(const struct sacct_command *s, const struct job *j)
{
    int64_t limit = job_limit_us(j) ? job_limit_us(j) : TIME_UNLIMITED;
    if (!s->limit_min.given)
        return true;
    return s->limit_max.given ? limit >= s->limit_min.us && limit <= s->limit_max.us
                              : limit == s->limit_min.us;
}

static void job_keep(void *ctx, const void *record)
{
    struct sacct_command *s = ctx;
    const struct job *j = record;
    /* What may not run yet (held, dependent) is shown only if it is asked for by its id. */
    if (!s->query.ids && !j->eligible_us && !j->start_us)
        return;
    bool fits = in_range(&s->nodes, j->alloc_nodes) && in_range(&s->cpus, j->alloc_cpus) &&
                limit_fits(s, j);
    fits = fits && (!s->groups || group_fits(s->groups, j)) &&
           (!s->flags || (j->start_us && listing_has(s->flags, "SchedMain")));
    fits = fits && listing_has(s->reasons, enum_name(&job_reason_names, j->reason)) &&
           listing_has(s->wckeys, j->spec.wckey);
    fits = fits && (!s->constraints ||
                    (j->spec.req.constraint && strstr(j->spec.req.constraint, s->constraints)));
    if (fits)
        vec_push(&s->job, arena_dup(s->l.a, j, sizeof *j));
}

static void step_keep(void *ctx, const void *record)
{
    struct sacct_command *s = ctx;
    vec_push(&s->step, arena_dup(s->l.a, record, sizeof(struct step)));
}

static void cluster_note(void *ctx, const void *record)
{
    struct sacct_command *s = ctx;
    const struct meta *m = record;
    if (text_is(m->key, SETTING_KEY(ClusterName)))
        s->acct_env.cluster = m->value;
    if (text_is(m->key, SETTING_KEY(JobstatsComment)))
        s->jobstats =
            !s->l.json && text_is_nocase(m->value, "YES") && acct_shows_admin_comment(&s->l.format);
}

static void node_keep(void *ctx, const void *record)
{
    struct sacct_command *s = ctx;
    vec_push(&s->node, arena_dup(s->l.a, record, sizeof(struct node)));
}

/* How much memory GPUs have; who may not see nodes does without. */
static bool nodes_read(struct sacct_command *s, struct client *c, struct err *ret_err)
{
    struct msg_done done = {0};
    struct msg_query q = {.what = QUERY_NODES, .fields = "name,devices"};
    bool any = false;
    for (size_t i = 0; i < s->job.n; i++)
        any |= !text_empty(s->job.v[i]->alloc_gres);
    return !s->jobstats || !any ||
           client_query(c, &q, &node_fields, s->l.a, node_keep, s, &done, ret_err);
}

static void qos_keep(void *ctx, const void *record)
{
    struct sacct_command *s = ctx;
    const struct qos *q = record;
    if (!q->deleted)
        s->qos_known = listing_join(s->qos_known, arena_strdup(s->l.a, q->name), s->l.a);
}

static bool has_job_of(const struct sacct_command *s, const char *qos)
{
    for (size_t i = 0; i < s->job.n; i++)
        if (text_is(s->job.v[i]->spec.req.qos, qos))
            return true;
    return false;
}

/* A QOS that is none is refused, in Slurm's words, unless a job has it: while no accounts are in
 * use any name is kept. */
static bool qos_check(struct sacct_command *s, struct client *c, struct err *ret_err)
{
    struct msg_done done = {0};
    struct msg_query ask = {.what = QUERY_QOS, .fields = "name,deleted"};
    struct span rest = span_of(s->query.qos), piece;
    if (text_empty(s->query.qos))
        return true;
    if (!client_query(c, &ask, &qos_fields, s->l.a, qos_keep, s, &done, ret_err))
        return false;
    while (span_next(&rest, ',', &piece)) {
        const char *name = arena_strndup(s->l.a, piece.data, piece.len);
        if (!*name || done.refusal != REFUSE_NONE || listing_has(s->qos_known, name) ||
            has_job_of(s, name))
            continue;
        program_error("sacct", "You gave a bad qos '%s'. Valid QOS's are %s", name,
                      s->qos_known ? s->qos_known : "");
        plain_line("sacct: fatal: problem processing qos list");
        return false;
    }
    return true;
}

static int step_order(const void *pa, const void *pb)
{
    const struct step *a = *(const struct step *const *)pa, *b = *(const struct step *const *)pb;
    if (a->job_id != b->job_id)
        return a->job_id < b->job_id ? -1 : 1;
    if (a->attempt != b->attempt)
        return a->attempt < b->attempt ? -1 : 1;
    /* batch, extern, interactive before the numbered ones */
    int64_t ka = a->step_id < 0 ? -10 - a->step_id : a->step_id,
            kb = b->step_id < 0 ? -10 - b->step_id : b->step_id;
    return (ka > kb) - (ka < kb);
}

struct sacct_place {
    const struct job *j;
    size_t at; /* as it came: by number, and of a number run after run */
};

/* As Slurm's accounting orders them: by the second in which they were submitted, single jobs before
 * arrays, of an array by index. */
static int job_order(const void *pa, const void *pb)
{
    const struct sacct_place *a = pa, *b = pb;
    int64_t sa = a->j->submit_us / USEC_PER_SEC, sb = b->j->submit_us / USEC_PER_SEC;
    if (sa != sb)
        return sa < sb ? -1 : 1;
    if (a->j->array_job_id != b->j->array_job_id)
        return a->j->array_job_id < b->j->array_job_id ? -1 : 1;
    if (a->j->array_job_id && a->j->array_task_id != b->j->array_task_id)
        return a->j->array_task_id < b->j->array_task_id ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

static void jobs_sort(struct sacct_command *s)
{
    size_t n = s->job.n;
    struct sacct_place *place = xcalloc(n + 1, sizeof *place);
    for (size_t i = 0; i < n; i++)
        place[i] = (struct sacct_place){s->job.v[i], i};
    qsort(place, n, sizeof *place, job_order);
    for (size_t i = 0; i < n; i++)
        s->job.v[i] = place[i].j;
    free(place);
}

bool sacct_rows_read(struct sacct_command *s, struct client *c, struct err *ret_err)
{
    struct msg_done done = {0};
    struct msg_query settings = {.what = QUERY_SETTINGS}, steps = s->query;
    if (!client_query(c, &settings, &meta_fields, s->l.a, cluster_note, s, &done, ret_err))
        return false;
    s->query.what = QUERY_HISTORY;
    if (!client_query(c, &s->query, &job_fields, s->l.a, job_keep, s, &done, ret_err))
        return false;
    if (done.refusal != REFUSE_NONE)
        return err_set(ret_err, ERR_INVALID, "%s%s%s", refusal_text((enum refusal)done.refusal),
                       done.detail ? ". " : "", done.detail ? done.detail : "");
    if (!qos_check(s, c, ret_err))
        return false;
    steps.what = QUERY_STEPS;
    steps.history = true;
    jobs_sort(s);
    if (s->allocations && !s->jobstats)
        return true;
    if (!client_query(c, &steps, &step_fields, s->l.a, step_keep, s, &done, ret_err) ||
        !nodes_read(s, c, ret_err))
        return false;
    if (s->step.n)
        qsort(s->step.v, s->step.n, sizeof *s->step.v, step_order);
    return true;
}

/* ---- showing -------------------------------------------------------------------------------- */

/* -j 42.batch: only that step's line; with -X the job's, which has no others. */
static bool step_wanted(const struct sacct_command *s, const struct acct_row *row)
{
    if (s->allocations || !s->query.ids || !strchr(s->query.ids, '.'))
        return true;
    struct span rest = span_of(s->query.ids), piece;
    bool wanted = false;
    while (!wanted && span_next(&rest, ',', &piece)) {
        struct job_ref ref;
        if (!job_ref_parse(arena_strndup(s->l.a, piece.data, piece.len), &ref, NULL))
            continue;
        bool job = ref.job_id == row->job->id || ref.job_id == row->job->array_job_id;
        wanted = job && (!ref.has_step || (row->step && ref.step_id == row->step->step_id));
        job_ref_done(&ref);
    }
    return wanted;
}

static void row_print(struct sacct_command *s, const struct acct_row *row)
{
    if (step_wanted(s, row))
        listing_row(&s->l, row);
}

void sacct_rows_print(struct sacct_command *s)
{
    listing_begin(&s->l);
    for (size_t i = 0; i < s->job.n; i++) {
        struct acct_row row = {s->job.v[i], NULL};
        row_print(s, &row);
        for (size_t k = s->allocations ? s->step.n : acct_steps_of(s->step.v, s->step.n, row.job);
             k < s->step.n && s->step.v[k]->job_id == row.job->id &&
             s->step.v[k]->attempt == row.job->attempt;
             k++) {
            row.step = s->step.v[k];
            if (acct_step_is_of(row.step, row.job))
                row_print(s, &row);
        }
    }
    listing_end(&s->l);
}

/* -B: the scripts of the jobs found. */
bool sacct_scripts_print(struct sacct_command *s, struct client *c, struct err *ret_err)
{
    if (!s->query.ids)
        return err_set(ret_err, ERR_INVALID,
                       "This operation requires a job list (-j) to be specified");
    for (size_t i = 0; i < s->job.n; i++) {
        struct msg_get_script get = {.job_id = s->job.v[i]->array_job_id ? s->job.v[i]->array_job_id
                                                                         : s->job.v[i]->id};
        struct message answer;
        if (!client_call(c, MSG_GET_SCRIPT, &get, 0, s->l.a, &answer, ret_err))
            return false;
        printf("Batch Script for "
               "%llu\n-----------------------------------------------------------------------------"
               "---\n",
               (unsigned long long)s->job.v[i]->id);
        if (answer.kind == MSG_SCRIPT) {
            const struct msg_script *script = answer.body;
            foreign_out(script->script.data, script->script.len);
        } else {
            puts("NONE");
        }
    }
    return true;
}
