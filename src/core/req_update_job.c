/* update_job: what scontrol update JobId=… changes. A request that would be refused changes nothing: values are tried on a copy first. */
#include "core/inside.h"

#include <string.h>

struct update {
    const struct msg_update_job *m;
    const struct job_spec *values;   /* NULL if none are given */
    struct str detail;
};

static bool given(const struct update *u, const char *field)
{
    return list_has(u->m->fields, field);
}

static bool touches(const struct update *u, const struct fields *t)
{
    for (size_t i = 0; i < t->n; i++)
        if (given(u, t->field[i].name))
            return true;
    return false;
}

static enum refusal refuse(struct update *u, enum refusal refusal, const char *sentence, const char **detail)
{
    str_clear(&u->detail);
    str_add(&u->detail, sentence);
    *detail = str_text(&u->detail);
    return refusal;
}

/* Fields that may change while the job runs. */
static const char *const any_time[] = {"time_limit_us", "comment", "wckey", "mail_types", "mail_user", "requeue", "extra", "name", "priority_asked", "nice"};

static bool only_any_time(const struct update *u)
{
    struct span rest = span_of(u->m->fields), piece;
    while (u->m->fields && span_next(&rest, ',', &piece)) {
        bool fine = false;
        for (size_t i = 0; i < ARRAY_LEN(any_time) && !fine; i++)
            fine = span_is(span_trim(piece), any_time[i]);
        if (!fine)
            return false;
    }
    return true;
}

static enum refusal rights_check(struct core *c, struct jobrec *r, struct update *u, const char **detail)
{
    bool operates = peer_operates(c, c->peer);
    int64_t limit = r->j.limit_us ? r->j.limit_us : r->j.spec.req.time_limit_us;
    bool started = r->j.state != JOB_PENDING;
    if (!job_live(r))
        return REFUSE_ALREADY_DONE;
    if (started && !only_any_time(u))
        return refuse(u, REFUSE_NOT_PENDING, "the job has started: only its time limit, comment, name, mail, requeue flag and priority may still change", detail);
    if (operates)
        return REFUSE_NONE;
    if (started && given(u, "time_limit_us") && limit != TIME_UNLIMITED && u->values->req.time_limit_us > limit)
        return refuse(u, REFUSE_ACCESS_DENIED, "only operators may raise the limit of a running job; you may lower it", detail);
    if (started && u->m->time_limit_add_us > 0)
        return refuse(u, REFUSE_ACCESS_DENIED, "only operators may raise the limit of a running job; you may lower it", detail);
    if (given(u, "priority_asked") && u->values->priority_asked)
        return refuse(u, REFUSE_ACCESS_DENIED, "only operators may set a priority; --nice lowers it", detail);
    if (given(u, "nice") && u->values->nice < r->j.spec.nice && u->values->nice < 0)
        return refuse(u, REFUSE_ACCESS_DENIED, "only operators may set a negative nice value", detail);
    if (u->m->admin_comment)
        return refuse(u, REFUSE_ACCESS_DENIED, "only operators may set AdminComment", detail);
    return REFUSE_NONE;
}

static void field_copy(const struct field *f, void *to, const void *from)
{
    switch (f->type) {
    case FIELD_BOOL:
        *(bool *) field_ptr(f, to) = *(const bool *) field_ptr(f, from);
        break;
    case FIELD_I32:
    case FIELD_U32:
    case FIELD_ENUM:
        memcpy(field_ptr(f, to), field_ptr(f, from), sizeof(int32_t));
        break;
    case FIELD_I64:
    case FIELD_U64:
    case FIELD_TIME:
    case FIELD_SPAN:
    case FIELD_MIB:
        memcpy(field_ptr(f, to), field_ptr(f, from), sizeof(int64_t));
        break;
    case FIELD_TEXT:
        memcpy(field_ptr(f, to), field_ptr(f, from), sizeof(const char *));
        break;
    case FIELD_BLOB:
    case FIELD_LIST:
        break;
    }
}

/* The request as it would be, checked against the cluster's limits. */
static enum refusal request_check(struct core *c, struct jobrec *r, struct update *u, struct job_spec *trial, const char **detail)
{
    struct str why = STR_INIT;
    enum job_reason barred = REASON_NONE;
    if (!touches(u, &job_request_fields) || r->j.state != JOB_PENDING)
        return REFUSE_NONE;
    enum refusal refusal = sched_check(c->cluster, &trial->req, r->j.user_id, c->peer->groups, &barred, &why);
    if (refusal)
        refuse(u, refusal, str_text(&why), detail);
    else
        r->barred = barred;
    str_done(&why);
    return refusal;
}

static void spec_apply(struct core *c, struct jobrec *r, const struct update *u, const struct job_spec *trial)
{
    bool renamed = given(u, "name");
    if (renamed)
        live_index(c, r, false);
    for (size_t i = 0; i < job_spec_fields.n; i++) {
        const struct field *f = &job_spec_fields.field[i];
        bool request = fields_find(&job_request_fields, f->name) >= 0;
        if (text_is(f->name, "dependency") || (!request && !given(u, f->name)))
            continue;
        if (f->type == FIELD_TEXT)
            text_set(c, field_ptr(f, &r->j.spec), *(const char *const *) field_ptr(f, trial));
        else
            field_copy(f, &r->j.spec, trial);
    }
    if (renamed)
        live_index(c, r, true);
}

static void limit_apply(struct core *c, struct jobrec *r, int64_t limit_us)
{
    r->j.spec.req.time_limit_us = limit_us;
    if (r->j.state != JOB_RUNNING && r->j.state != JOB_SUSPENDED)
        return;
    r->j.limit_us = limit_us;
    int64_t end = job_limit_end(c, r);
    cluster_set_end(c->cluster, r->j.id, end == INT64_MAX ? TIME_UNLIMITED : end);
    r->warned = false;
}

static void rest_apply(struct core *c, struct jobrec *r, const struct update *u)
{
    const struct msg_update_job *m = u->m;
    int64_t limit = r->j.limit_us ? r->j.limit_us : r->j.spec.req.time_limit_us;
    if (given(u, "time_limit_us"))
        limit_apply(c, r, u->values->req.time_limit_us);
    if (m->time_limit_add_us && limit != TIME_UNLIMITED)
        limit_apply(c, r, limit + m->time_limit_add_us > USEC_PER_MIN ? limit + m->time_limit_add_us : USEC_PER_MIN);
    if (m->end_us && r->j.start_us)
        limit_apply(c, r, m->end_us > r->j.start_us ? m->end_us - r->j.start_us : USEC_PER_MIN);
    if (m->admin_comment)
        text_set(c, &r->j.admin_comment, m->admin_comment);
    if (m->array_limit_plus1)
        r->j.array_limit = m->array_limit_plus1 - 1;
    if (m->reset_accrue)
        r->j.eligible_us = 0;
}

static enum refusal update_one(struct core *c, struct jobrec *r, void *ctx, const char **detail)
{
    struct update *u = ctx;
    struct job_spec trial = r->j.spec;
    struct err err = {0};
    enum refusal refusal = rights_check(c, r, u, detail);
    if (refusal)
        return refusal;
    for (size_t i = 0; u->values && i < job_spec_fields.n; i++)
        if (given(u, job_spec_fields.field[i].name))
            field_copy(&job_spec_fields.field[i], &trial, u->values);
    refusal = u->values ? request_check(c, r, u, &trial, detail) : REFUSE_NONE;
    if (refusal)
        return refusal;
    if (u->values && given(u, "dependency") && !dependencies_set(c, r, u->values->dependency, &err))
        return refuse(u, REFUSE_DEPENDENCY, err.text, detail);
    if (u->values)
        spec_apply(c, r, u, &trial);
    rest_apply(c, r, u);
    eligible_update(c, r);
    timer_arm(c, r);
    job_save(c, r);
    plan_soon(c);
    return REFUSE_NONE;
}

static const char *field_unknown(const struct msg_update_job *m, struct arena *a)
{
    struct span rest = span_of(m->fields), piece;
    while (m->fields && span_next(&rest, ',', &piece)) {
        const char *name = arena_strndup(a, piece.data, piece.len);
        if (piece.len && fields_find(&job_spec_fields, name) < 0)
            return name;
    }
    return NULL;
}

void req_update_job(struct core *c, const struct msg_update_job *m)
{
    struct update u = {.m = m, .values = m->values.n ? m->values.v : NULL};
    const char *unknown = field_unknown(m, c->fx->arena);
    if (unknown)
        reply_done(c, REFUSE_UPDATE, arena_printf(c->fx->arena, "\"%s\" is no field of a job that can be changed", unknown));
    else if (m->fields && !u.values)
        reply_done(c, REFUSE_BAD_MESSAGE, "fields are named, but no values are given");
    else
        refs_each(c, m->ids, true, update_one, &u);
    str_done(&u.detail);
}
