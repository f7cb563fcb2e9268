#include "cli/reports/array_digest.h"

#include "base/duration.h"
#include "base/str.h"

#include <stdlib.h>

#define ENDS_MOST    12u /* kinds of ends that are shown; of one exit code one */
#define ENDS_KEPT    256u
#define INDEXES_MOST 160u /* bytes */

void array_digest_begin(struct array_digest *d)
{
    *d = (struct array_digest){.failed = NO_TASK};
}

static bool ended_well(const struct job *j)
{
    return j->state == JOB_COMPLETED;
}

static void end_add(struct array_digest *d, const struct job *j)
{
    size_t i = 0;
    while (i < d->end.n &&
           (d->end.v[i].state != (uint32_t)j->state || d->end.v[i].exit_status != j->exit_status))
        i++;
    if (i == d->end.n) {
        if (i == ENDS_KEPT)
            return;
        vec_push(&d->end, ((struct array_end){(uint32_t)j->state, j->exit_status, IDSET_INIT}));
    }
    idset_add(&d->end.v[i].tasks, j->array_task_id);
}

static void ran_add(struct array_digest *d, const struct job *j)
{
    int64_t ran_us = j->start_us ? j->end_us - j->start_us - j->suspended_us : 0;
    if (ran_us <= 0)
        return;
    vec_push(&d->ran_us, ran_us);
    d->cpu_us += j->cpu_user_us + j->cpu_system_us;
    d->cpu_had_us += ran_us * j->alloc_cpus;
    if (ran_us > d->longest_us) {
        d->longest_us = ran_us;
        d->longest = j->array_task_id;
    }
}

/* Elements that never began are one record. */
static void unsplit_add(struct array_digest *d, const struct job *j)
{
    struct idset all = IDSET_INIT;
    if (!text_empty(j->array_pending) && idset_parse(&all, j->array_pending, NO_TASK - 1, NULL)) {
        d->elements += all.count;
        d->in_state[j->state] += all.count;
    }
    idset_done(&all);
}

void array_digest_add(struct array_digest *d, const struct job *j)
{
    if ((size_t)j->state >= JOB_STATE_COUNT)
        return;
    if (j->array_task_id == NO_TASK) {
        unsplit_add(d, j);
        return;
    }
    d->elements++;
    d->in_state[j->state]++;
    ran_add(d, j);
    if (ended_well(j))
        return;
    end_add(d, j);
    if (j->start_us && j->state != JOB_CANCELLED && j->array_task_id < d->failed)
        d->failed = j->array_task_id;
}

/* ---- lines ---- */

static void states_write(const struct array_digest *d, struct str *out)
{
    const char *before = ": ";
    str_addf(out, "%llu element%s", (unsigned long long)d->elements, d->elements == 1 ? "" : "s");
    for (size_t i = 0; i < JOB_STATE_COUNT; i++)
        if (d->in_state[i]) {
            str_addf(out, "%s%llu %s", before, (unsigned long long)d->in_state[i],
                     enum_name(&job_state_names, (int64_t)i));
            before = ", ";
        }
    str_addc(out, '\n');
}

static int by_length(const void *a, const void *b)
{
    const int64_t *p = a, *q = b;
    return (*p > *q) - (*p < *q);
}

static void lengths_write(struct array_digest *d, struct str *out)
{
    size_t n = d->ran_us.n;
    if (!n)
        return;
    qsort(d->ran_us.v, n, sizeof *d->ran_us.v, by_length);
    str_add(out, "They ran ");
    duration_format(d->ran_us.v[n / 2], out);
    str_add(out, " in the median, ");
    duration_format(d->longest_us, out);
    str_addf(out, " at most (element %u), and used %.0f %% of their CPU time\n", d->longest,
             d->cpu_had_us ? 100.0 * (double)d->cpu_us / (double)d->cpu_had_us : 0.0);
}

/* "3,5,9-20": cut behind a comma where it is long. */
static void indexes_write(const struct idset *tasks, size_t most, struct str *out)
{
    struct str text = STR_INIT;
    idset_format(tasks, &text);
    if (text.len > most) {
        size_t len = most;
        while (len && text.data[len - 1] != ',')
            len--;
        str_addn(out, text.data, len);
        str_addf(out, " … (%llu in all)", (unsigned long long)tasks->count);
    } else {
        str_add(out, str_text(&text));
    }
    str_done(&text);
}

static void end_write(const struct array_end *e, int width, struct str *out)
{
    size_t from = out->len;
    str_addf(out, "%s", enum_name(&job_state_names, e->state));
    /* Two of them are no signals: the state says it. */
    bool plain = e->exit_status == STATUS_OOM || e->exit_status == STATUS_LAUNCH_FAILED;
    if (status_signal(e->exit_status) && !plain)
        str_addf(out, " by signal %d", status_signal(e->exit_status));
    else if (status_code(e->exit_status))
        str_addf(out, " with exit code %d", status_code(e->exit_status));
    str_add(out, ": ");
    size_t used = out->len - from;
    size_t room = (size_t)width > used + 40 ? (size_t)width - used - 20 : 20;
    indexes_write(&e->tasks, room < INDEXES_MOST ? room : INDEXES_MOST, out);
    str_addc(out, '\n');
}

void array_digest_write(struct array_digest *d, int width, struct str *out)
{
    states_write(d, out);
    lengths_write(d, out);
    for (size_t i = 0; i < d->end.n && i < ENDS_MOST; i++)
        end_write(&d->end.v[i], width, out);
    if (d->end.n > ENDS_MOST)
        str_addf(out, "and %zu%s more ways to end: sacct shows them\n", d->end.n - ENDS_MOST,
                 d->end.n == ENDS_KEPT ? " or" : "");
}

void array_digest_done(struct array_digest *d)
{
    for (size_t i = 0; i < d->end.n; i++)
        idset_done(&d->end.v[i].tasks);
    vec_done(&d->end);
    vec_done(&d->ran_us);
}
