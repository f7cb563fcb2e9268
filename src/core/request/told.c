#include "core/request/told.h"

#include "model/job/array.h"

#include <string.h>

#define REASONS_MOST 64u        /* of a reference; further ones are told without their sentence */
#define SAID_MOST    (1u << 20) /* see told_add: a frame names one job thousands of times */

void told_begin(struct told *t)
{
    t->from = t->result.n;
    t->done_before = t->done;
}

static bool may_say(const struct told *t, const char *text)
{
    return !text || strlen(text) <= SAID_MOST - t->said;
}

/* A copy in the arena; NULL: there is none, or no more is said. */
static const char *say(struct told *t, struct arena *a, const char *text)
{
    if (!text || !may_say(t, text))
        return NULL;
    t->said += strlen(text);
    return arena_strdup(a, text);
}

void told_add(struct told *t, struct arena *a, const char *ref, enum refusal refusal,
              const char *detail)
{
    if (refusal == REFUSE_NONE)
        t->done++;
    else if (t->result.n < LIMIT_LIST_RECORDS)
        vec_push(&t->result,
                 ((struct result){.ref = ref, .refusal = refusal, .detail = say(t, a, detail)}));
}

/* The first of n results that says the same, or n. */
static size_t reason_find(const struct result *told, size_t n, enum refusal refusal,
                          const char *detail)
{
    size_t i = 0;
    while (i < n && !(told[i].refusal == (int32_t)refusal && text_is(told[i].detail, detail)))
        i++;
    return i;
}

void told_once(struct told *t, struct arena *a, const char *name, enum refusal refusal,
               const char *detail)
{
    const struct result *told = t->result.n > t->from ? t->result.v + t->from : NULL;
    size_t n = t->result.n - t->from;
    const char *said = n < REASONS_MOST && may_say(t, detail) ? detail : NULL;
    size_t i = refusal ? reason_find(told, n, refusal, detail) : n;
    if (i == n && said != detail)
        i = reason_find(told, n, refusal, NULL);
    if (i == n)
        told_add(t, a, name, refusal, said);
}

/* Those of an array that wait are many, and few ranges. */
static void elements_join(struct idset *of, const struct idset *pending)
{
    struct idset all = IDSET_INIT;
    uint32_t id;
    idset_copy(&all, pending);
    for (bool more = idset_first(of, &id); more; more = idset_next(of, id, &id))
        idset_add(&all, id);
    idset_done(of);
    *of = all;
}

void told_join(struct told *t, struct arena *a, const char *ref, const struct jobrec *r,
               enum refusal refusal, const char *detail)
{
    const struct result *told = t->element.n ? t->result.v + t->from : NULL;
    if (refusal == REFUSE_NONE) {
        t->done++;
        return;
    }
    size_t i = reason_find(told, t->element.n, refusal, detail);
    if (i == t->element.n && (i >= REASONS_MOST || !may_say(t, detail))) {
        detail = NULL;
        i = reason_find(told, t->element.n, refusal, NULL);
    }
    if (i == t->element.n) {
        if (t->result.n == LIMIT_LIST_RECORDS)
            return;
        told_add(t, a, ref, refusal, detail);
        vec_push(&t->element, IDSET_INIT);
    }
    if (r->j.array_job_id && r->j.array_task_id != NO_TASK)
        idset_add(&t->element.v[i], r->j.array_task_id);
    if (r->pending.count)
        elements_join(&t->element.v[i], &r->pending);
}

/* A hold says which they are. */
static bool over_already(enum message_kind kind, enum refusal refusal)
{
    return refusal == REFUSE_ALREADY_DONE ||
           (refusal == REFUSE_JOB_FINISHED && kind == MSG_UPDATE_JOB);
}

void told_settle(struct told *t, struct arena *a, enum message_kind kind)
{
    struct result *result = t->element.n ? t->result.v + t->from : NULL;
    bool reached = t->done > t->done_before;
    size_t kept = 0;
    for (size_t i = 0; i < t->element.n; i++)
        reached |= !over_already(kind, result[i].refusal);
    for (size_t i = 0; i < t->element.n; i++) {
        struct str text = STR_INIT;
        array_format_tasks(&t->element.v[i], &text);
        result[i].elements = text.len ? say(t, a, str_text(&text)) : NULL;
        str_done(&text);
        idset_done(&t->element.v[i]);
        if (!reached || !over_already(kind, result[i].refusal))
            result[kept++] = result[i];
    }
    t->result.n -= t->element.n - kept;
    vec_clear(&t->element);
}

void told_done(struct told *t)
{
    vec_done(&t->element);
    vec_done(&t->result);
}
