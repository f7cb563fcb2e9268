#include "core/request/told.h"

#include "model/job/array.h"

#define REASONS_MOST 64u /* of a reference; further ones are told without their sentence */

void told_begin(struct told *t)
{
    t->from = t->result.n;
    t->done_before = t->done;
}

void told_add(struct told *t, struct arena *a, const char *ref, enum refusal refusal,
              const char *detail)
{
    if (refusal == REFUSE_NONE) {
        t->done++;
        return;
    }
    struct result result = {
        .ref = ref, .refusal = refusal, .detail = detail ? arena_strdup(a, detail) : NULL};
    vec_push(&t->result, result);
}

static size_t reason_find(const struct told *t, enum refusal refusal, const char *detail)
{
    const struct result *told = t->element.n ? t->result.v + t->from : NULL;
    size_t i = 0;
    while (i < t->element.n &&
           !(told[i].refusal == (int32_t)refusal && text_is(told[i].detail, detail)))
        i++;
    return i;
}

void told_join(struct told *t, struct arena *a, const char *ref, const struct jobrec *r,
               enum refusal refusal, const char *detail)
{
    uint32_t id;
    if (refusal == REFUSE_NONE) {
        t->done++;
        return;
    }
    size_t i = reason_find(t, refusal, detail);
    if (i >= REASONS_MOST) {
        detail = NULL;
        i = reason_find(t, refusal, NULL);
    }
    if (i == t->element.n) {
        told_add(t, a, ref, refusal, detail);
        vec_push(&t->element, IDSET_INIT);
    }
    if (r->j.array_job_id && r->j.array_task_id != NO_TASK)
        idset_add(&t->element.v[i], r->j.array_task_id);
    for (bool more = idset_first(&r->pending, &id); more; more = idset_next(&r->pending, id, &id))
        idset_add(&t->element.v[i], id);
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
        result[i].elements = text.len ? arena_strdup(a, str_text(&text)) : NULL;
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
