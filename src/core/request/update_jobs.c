/* update_job: which jobs an update means. Of several each is changed by itself, and those that are
 * refused are told of; the components of a heterogeneous job, with values for each of them, are
 * changed together or not at all. */
#include "base/list.h"
#include "core/request/request.h"
#include "core/request/update_job.h"

/* ---- each by itself ---- */

static enum refusal update_one(struct core *c, struct jobrec *r, const struct job_ref *ref,
                               void *ctx, const char **detail)
{
    (void)ref;
    enum refusal refusal = update_check(c, r, ctx, detail);
    if (!refusal)
        refusal = update_limits_check(c, &r, ctx, 1, detail);
    return refusal ? refusal : update_take(c, r, ctx, detail);
}

/* They are read for each of the jobs, which may be thousands: a list has each name once, and no
 * more names than can be there. One more is refused as all of them would be. */
static struct job_spec *lists_shorten(const struct core *c, const struct job_spec *values)
{
    struct arena *a = c->turn.fx->arena;
    struct job_spec *s = arena_dup(a, values, sizeof *s);
    struct job_request *r = &s->req;
    r->partition = list_first(partitions_once(c, r->partition), c->part.n + 1, a);
    r->reservation = list_first(resvs_once(c, r->reservation), LIMIT_JOB_RESERVATIONS + 1, a);
    return s;
}

static size_t update_texts(const void *ctx)
{
    const struct update *u = ctx;
    return u->values ? texts_long(u->values) : 0;
}

static bool update_fill(const struct core *c, void *ctx, const void *body, struct err *ret_err)
{
    const struct msg_update_job *m = body;
    (void)c, (void)ret_err;
    *(struct update *)ctx =
        (struct update){.m = m, .values = m->values.n ? m->values.v : NULL, .fields = m->fields};
    return true;
}

static const struct sweep_kind updating = {
    .kind = MSG_UPDATE_JOB,
    .act = update_one,
    .ctx_size = sizeof(struct update),
    .fill = update_fill,
    .texts = update_texts,
};

/* ---- components together ---- */

static enum refusal components_named(struct core *c, const struct msg_update_job *m, jobrec_vec *of,
                                     const char **detail)
{
    enum refusal refusal = refs_collect(c, m->ids ? m->ids : "", of, detail);
    if (refusal)
        return refusal;
    if (of->n && !may_manage(c, of->v[0]))
        return REFUSE_ACCESS_DENIED;
    uint64_t leader = of->n ? of->v[0]->j.het_job_id : 0;
    vec_clear(of);
    if (leader)
        components_find(c, leader, of);
    if (of->n == m->values.n)
        return REFUSE_NONE;
    *detail = leader ? arena_printf(c->turn.fx->arena,
                                    "the job has %zu components, and values for "
                                    "%zu are given",
                                    of->n, m->values.n)
                     : "values for several components are given, and the job has one";
    return REFUSE_BAD_MESSAGE;
}

static enum refusal fields_check(const struct update *u, bool further, struct arena *a,
                                 const char **detail)
{
    const char *wrong = update_field_wrong(u->fields, a);
    bool waits = further && !wrong && list_has(u->fields, "dependency") &&
                 !text_empty(u->values->dependency);
    if (wrong)
        *detail = arena_printf(a, "\"%s\" of a job cannot be changed", wrong);
    else if (waits)
        *detail = "the first part waits for all of them: a dependency is given to it";
    return wrong || waits ? REFUSE_UPDATE : REFUSE_NONE;
}

/* What their owner raises of several limits may delay others only together. */
static enum refusal raises_check(struct core *c, const jobrec_vec *of, const struct update *u,
                                 const char **detail)
{
    int64_t *each = arena_alloc(c->turn.fx->arena, (of->n + 1) * sizeof *each);
    for (size_t i = 0; i < of->n; i++)
        each[i] = u[i].extends;
    return extend_check_each(c, of, each, detail);
}

/* With what each of them will ask for, not with what those beside it asked for until now. */
static enum refusal asked_check(struct core *c, const jobrec_vec *of, const struct update *u,
                                const char **detail)
{
    struct arena *a = c->turn.fx->arena;
    const struct job_spec **as = arena_alloc(a, (of->n + 1) * sizeof *as);
    struct str why = STR_INIT;
    bool asks = false;
    for (size_t i = 0; i < of->n; i++) {
        as[i] = &u[i].trial;
        asks |= u[i].asks;
    }
    enum refusal refusal = asks ? components_together_check(c, of, as, &why) : REFUSE_NONE;
    *detail = refusal ? arena_strdup(a, str_text(&why)) : *detail;
    str_done(&why);
    return refusal;
}

/* All are checked before the first is taken. What taking itself may refuse is asked of the first
 * alone: only it has a dependency, and no component that runs changes its nodes. */
static enum refusal components_update(struct core *c, const struct msg_update_job *m,
                                      const char **detail)
{
    struct arena *a = c->turn.fx->arena;
    struct update *u = arena_alloc(a, m->values.n * sizeof *u);
    struct span rest = span_of(m->fields), fields = {0};
    jobrec_vec of = {0};
    enum refusal refusal = components_named(c, m, &of, detail);
    for (size_t i = 0; i < of.n && !refusal; i++) {
        bool any = span_next(&rest, ';', &fields) && fields.len;
        u[i] = (struct update){
            .m = m,
            .beside = true,
            .values = lists_shorten(c, (const struct job_spec *)m->values.v + i),
            .fields = any ? list_once(arena_strndup(a, fields.data, fields.len), 1, a) : NULL};
        refusal = fields_check(&u[i], i > 0, a, detail);
        if (!refusal)
            refusal = update_check(c, of.v[i], &u[i], detail);
        if (refusal && *detail)
            *detail = arena_printf(a, "part %zu: %s", i + 1, *detail);
    }
    if (!refusal)
        refusal = asked_check(c, &of, u, detail);
    if (!refusal)
        refusal = raises_check(c, &of, u, detail);
    if (!refusal)
        refusal = update_limits_check(c, of.v, u, of.n, detail);
    for (size_t i = 0; i < of.n && !refusal; i++)
        refusal = update_take(c, of.v[i], &u[i], detail);
    vec_done(&of);
    return refusal;
}

void req_update_job(struct core *c, const struct msg_update_job *m)
{
    const char *detail = NULL;
    struct arena *a = c->turn.fx->arena;
    if (m->step_limit_us || m->values.n > 1) {
        enum refusal refusal =
            m->values.n > 1 ? components_update(c, m, &detail) : step_limits_update(c, m, &detail);
        reply_done(c, refusal, detail);
        return;
    }
    /* Each is looked for in the list again and again, for each job. */
    struct msg_update_job once = *m;
    once.fields = list_once(m->fields, 1, a);
    if (m->values.n)
        once.values.v = lists_shorten(c, m->values.v);
    const char *wrong = update_field_wrong(once.fields, a);
    if (wrong)
        reply_done(c, REFUSE_UPDATE, arena_printf(a, "\"%s\" of a job cannot be changed", wrong));
    else if (!text_empty(m->fields) && !m->values.n)
        reply_done(c, REFUSE_BAD_MESSAGE, "fields are named, but no values are given");
    else
        sweep_begin(c, &updating, &once, m->ids ? m->ids : "");
}
