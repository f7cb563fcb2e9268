#include "cli/reports/efficiency.h"

#include "base/str.h"

#include <stdlib.h>

struct efficiency_keeping {
    struct arena *a;
    struct past_jobs *past;
};

static void job_keep(void *ctx, const void *record)
{
    const struct efficiency_keeping *k = ctx;
    const struct job *j = record;
    if (j->state != JOB_RESIZING) /* what a run had before it gave nodes back */
        vec_push(&k->past->job, arena_dup(k->a, j, sizeof *j));
}

static void step_keep(void *ctx, const void *record)
{
    const struct efficiency_keeping *k = ctx;
    vec_push(&k->past->step, arena_dup(k->a, record, sizeof(struct step)));
}

static int step_order(const void *a, const void *b)
{
    const struct step *const *p = a, *const *q = b;
    return ((*p)->job_id > (*q)->job_id) - ((*p)->job_id < (*q)->job_id);
}

static bool query(struct client *c, const struct msg_query *q, const struct fields *t,
                  void (*row)(void *ctx, const void *record), struct efficiency_keeping *k,
                  struct err *ret_err)
{
    struct msg_done done = {0};
    return client_query(c, q, t, k->a, row, k, &done, ret_err) &&
           (done.refusal == REFUSE_NONE ||
            err_set(ret_err, ERR_INVALID, "%s",
                    done.detail ? done.detail : refusal_text((enum refusal)done.refusal)));
}

bool past_read(struct client *c, const struct msg_query *q, struct arena *a, struct past_jobs *ret,
               struct err *ret_err)
{
    struct msg_query jobs = *q, steps = *q;
    struct efficiency_keeping k = {a, ret};
    *ret = (struct past_jobs){0};
    jobs.what = QUERY_HISTORY;
    steps.what = QUERY_STEPS;
    steps.history = true;
    if (!query(c, &jobs, &job_fields, job_keep, &k, ret_err) ||
        !query(c, &steps, &step_fields, step_keep, &k, ret_err))
        return false;
    if (ret->step.n)
        qsort(ret->step.v, ret->step.n, sizeof ret->step.v[0], step_order);
    return true;
}

static int run_order(const void *a, const void *b)
{
    const struct job *const *p = a, *const *q = b;
    if ((*p)->id != (*q)->id)
        return (*p)->id < (*q)->id ? -1 : 1;
    if ((*p)->attempt != (*q)->attempt)
        return (*p)->attempt < (*q)->attempt ? -1 : 1;
    return ((*p)->state == JOB_PENDING) - ((*q)->state == JOB_PENDING);
}

/* One that waits for its next run carries the number of its last one, which has a row of its own
 * before it. */
static bool began(const struct job *j)
{
    return j->start_us && j->state != JOB_PENDING;
}

bool past_runs_read(struct client *c, const char *job, uint32_t attempt, struct arena *a,
                    struct past_jobs *ret, struct err *ret_err)
{
    const struct msg_query q = {.ids = job, .duplicates = true};
    if (!past_read(c, &q, a, ret, ret_err))
        return false;
    const struct job **row = ret->job.v;
    size_t n = ret->job.n, kept = 0, end;
    ret->known = n > 0;
    if (n)
        qsort(row, n, sizeof *row, run_order);
    for (size_t i = 0; i < n; i = end) {
        const struct job *found = NULL;
        for (end = i; end < n && row[end]->id == row[i]->id; end++)
            if (began(row[end]) && (!attempt || row[end]->attempt == attempt))
                found = row[end];
        if (found) {
            vec_push(&ret->now, row[end - 1]);
            row[kept++] = found;
        }
    }
    ret->job.n = kept;
    return true;
}

void past_done(struct past_jobs *p)
{
    vec_done(&p->now);
    vec_done(&p->job);
    vec_done(&p->step);
}

void efficiency_of(const struct past_jobs *p, const struct job *j, int64_t now_us,
                   struct efficiency *ret)
{
    efficiency_of_steps(p->step.v, p->step.n, j, now_us, ret);
}
