/* scontrol show job: which jobs are shown. */
#include "base/vec.h"
#include "cli/record/columns_job.h"
#include "cli/record/job_json.h"
#include "cli/scontrol/scontrol.h"
#include "cli/table/listing.h"
#include "model/job/array.h"
#include "model/limits.h"
#include "model/refusal.h"

#include <stdio.h>
#include <string.h>

struct show_job_found {
    struct arena *a;
    const char *hidden; /* names of hidden partitions */
    VEC(const struct job *) job;
};

static void job_keep(void *ctx, const void *record)
{
    struct show_job_found *f = ctx;
    vec_push(&f->job, arena_dup(f->a, record, sizeof(struct job)));
}

static void hidden_note(void *ctx, const void *record)
{
    struct show_job_found *f = ctx;
    const struct partition *p = record;
    if (p->hidden)
        f->hidden = listing_join(f->hidden, p->name, f->a);
}

/* Of an array whose elements still wait as one record, the element that is named stands alone. */
static const struct job *element_of(const struct job *j, const struct job_ref *ref, struct arena *a)
{
    if (ref->task_id == NO_TASK || !j->array_job_id || j->array_task_id != NO_TASK)
        return j;
    struct job *one = arena_dup(a, j, sizeof *j);
    one->array_task_id = ref->task_id;
    return one;
}

/* Leaves of what was found the element or component that is named. */
static void named_keep(struct show_job_found *f, const struct job_ref *ref)
{
    for (size_t i = 0; i < f->job.n;) {
        const struct job *j = f->job.v[i];
        if (ref->het_offset >= 0 &&
            (j->het_job_id ? j->het_offset : 0) != (uint32_t)ref->het_offset) {
            vec_remove(&f->job, i);
            continue;
        }
        f->job.v[i++] = element_of(j, ref, f->a);
    }
}

/* As in Slurm: a job that is there and has no such element or component is another thing than one
 * that nobody knows. */
static bool part_missing(struct scontrol *s, struct client *c, const struct job_ref *ref)
{
    struct show_job_found whole = {.a = s->a};
    struct msg_done done = {0};
    struct msg_query q = {.what = QUERY_JOBS,
                          .ids = arena_printf(s->a, "%llu", (unsigned long long)ref->job_id),
                          .states = "all",
                          .fields = "id"};
    bool part = ref->task_id != NO_TASK || ref->het_offset >= 0;
    bool found = part && client_query(c, &q, &job_fields, s->a, job_keep, &whole, &done, NULL) &&
                 whole.job.n;
    vec_done(&whole.job);
    return found;
}

static bool has_element(const struct job *j, uint32_t task)
{
    struct idset waiting = {0};
    if (j->array_task_id == NO_TASK && j->array_pending)
        idset_parse(&waiting, j->array_pending, LIMIT_ARRAY_INDEX, NULL);
    bool has = j->array_task_id == task || idset_has(&waiting, task);
    idset_done(&waiting);
    return has;
}

static bool is_named(const struct job *j, const struct job_ref *ref)
{
    if (ref->het_offset >= 0)
        return j->het_job_id == ref->job_id && j->het_offset == (uint32_t)ref->het_offset;
    if (ref->task_id != NO_TASK)
        return j->array_job_id == ref->job_id && has_element(j, ref->task_id);
    return j->id == ref->job_id || j->array_job_id == ref->job_id || j->het_job_id == ref->job_id;
}

/* Those of a list that are not there, as of nodes and partitions; lists of elements are passed
 * over. */
static void missing_say(struct scontrol *s, const struct show_job_found *f, const char *ids)
{
    struct span rest = span_of(ids), piece;
    bool inside = false;
    while (span_next(&rest, ',', &piece)) {
        const char *word = arena_strndup(s->a, piece.data, piece.len);
        struct job_ref ref;
        inside |= strchr(word, '[') != NULL;
        if (inside) {
            inside = !strchr(word, ']');
            continue;
        }
        bool there = !job_ref_parse(word, &ref, NULL);
        for (size_t i = 0; i < f->job.n && !there; i++)
            there = is_named(f->job.v[i], &ref);
        job_ref_done(&ref);
        if (there)
            continue;
        printf("Job %s not found\n", word);
        s->rc = 1;
    }
}

void scontrol_show_jobs(struct scontrol *s, const char *ids)
{
    ids = text_empty(ids) ? NULL : ids; /* `scontrol show job "$NONE"`: all of them, as in Slurm */
    struct client *c = scontrol_connect(s, "slurm_load_jobs error");
    struct show_job_found f = {.a = s->a};
    struct msg_query q = {.what = QUERY_JOBS, .ids = ids, .states = "all"};
    struct msg_done done = {0};
    struct err err = {0};
    struct cell_env env = listing_env();
    if (!c)
        return;
    /* Who names a job sees it, wherever it is. */
    struct msg_query parts = {.what = QUERY_PARTITIONS, .fields = "name,hidden"};
    bool all = s->all || ids;
    if ((!all && !client_query(c, &parts, &partition_fields, s->a, hidden_note, &f, &done, &err)) ||
        !client_query(c, &q, &job_fields, s->a, job_keep, &f, &done, &err)) {
        scontrol_fail(s, "slurm_load_jobs error: %s", err.text);
        vec_done(&f.job);
        return;
    }
    struct job_ref ref = {.task_id = NO_TASK, .het_offset = -1};
    bool one = ids && job_ref_parse(ids, &ref, NULL);
    if (one)
        named_keep(&f, &ref);
    for (size_t i = 0; !all && f.hidden && i < f.job.n;) {
        if (listing_has(f.hidden, job_partition(f.job.v[i])))
            vec_remove(&f.job, i);
        else
            i++;
    }
    if (s->json && f.job.n)
        job_json_print(f.job.v, f.job.n, "scontrol", s->json);
    for (size_t i = 0; !s->json && i < f.job.n; i++)
        scontrol_job_print(s, f.job.v[i], &env);
    if (one && !f.job.n && !s->json && part_missing(s, c, &ref)) {
        printf("Job %s not found\n", ids);
        s->rc = 1;
    } else if (done.refusal != REFUSE_NONE && ids && !one && !strpbrk(ids, ", "))
        scontrol_refuse(s, "scontrol_print_job error: %s",
                        refusal_text((enum refusal)done.refusal));
    else if (done.refusal != REFUSE_NONE)
        scontrol_fail(s, "slurm_load_jobs error: %s", refusal_text((enum refusal)done.refusal));
    else if (!f.job.n && s->json)
        job_json_print(NULL, 0, "scontrol", s->json);
    else if (!f.job.n)
        puts("No jobs in the system");
    else if (ids && !one && !s->json)
        missing_say(s, &f, ids);
    job_ref_done(&ref);
    vec_done(&f.job);
}
