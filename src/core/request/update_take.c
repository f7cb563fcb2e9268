/* The second half of an update of a job: the record takes what update_job.c has checked. Nothing is
 * changed of a job, or told to others that wait for it, before the last of what may refuse. */
#include "base/list.h"
#include "core/record/accounts/limits.h"
#include "core/record/accounts/minutes.h"
#include "core/record/accounts/usage.h"
#include "core/request/request.h"
#include "core/request/update_job.h"

static enum refusal refuse(enum refusal refusal, const char *sentence, const char **detail)
{
    *detail = sentence;
    return refusal;
}

/* Dependencies are set by dependencies_set, which alone can still refuse: it comes before this. */
static void spec_take(struct core *c, struct jobrec *r, const struct update *u)
{
    for (size_t i = 0; i < job_spec_fields.n; i++) {
        const struct field *f = &job_spec_fields.field[i];
        if (text_is(f->name, "dependency"))
            continue;
        if (f->type == FIELD_TEXT)
            text_set(c, field_ptr(f, &r->j.spec), *(const char *const *)field_ptr(f, &u->trial));
        else
            field_copy(f, &r->j.spec, &u->trial);
    }
}

static void name_set(struct core *c, struct jobrec *r, const char *name)
{
    live_index(c, r, false);
    text_set(c, &r->j.spec.name, name);
    live_index(c, r, true);
    dependencies_renamed(c, r);
}

/* Jobs of the former name may have waited for this one to end. */
static void name_left(struct core *c, const struct jobrec *r, const char *former)
{
    struct jobrec was = *r;
    was.j.spec.name = former;
    singletons_look(c, &was);
}

/* A raise that the site leaves to the owner is one like those of `remuda extend`. */
static void limit_take(struct core *c, struct jobrec *r, const struct update *u)
{
    if (u->extends) {
        job_extended(c, r, u->extends);
        return;
    }
    int64_t less = r->j.limit_us - r->j.spec.req.time_limit_us;
    if (less > 0) /* what was granted goes first */
        r->j.extended_us = less < r->j.extended_us ? r->j.extended_us - less : 0;
    r->j.limit_us = r->j.spec.req.time_limit_us;
    job_limit_changed(c, r);
}

static void hold_take(struct core *c, struct jobrec *r, const struct update *u)
{
    if (update_given(u, "hold") && u->values->hold)
        hold_give(c, r, false);
    else if (update_given(u, "hold"))
        hold_end(c, r);
}

static void waiting_take(struct core *c, struct jobrec *r, const struct update *u)
{
    hold_take(c, r, u);
    if (update_given(u, "dependency") && r->j.reason == REASON_DEPENDENCY_NEVER)
        r->j.reason = REASON_NONE;
    bool later = r->j.spec.begin_us > c->turn.now_us ||
                 (update_given(u, "dependency") && r->j.spec.dependency);
    if (later || u->m->reset_accrue)
        r->j.eligible_us = 0;
}

/* It counts when the job comes back to the queue. */
static void running_priority_take(struct core *c, struct jobrec *r, const struct update *u)
{
    if (update_given(u, "priority_asked") && u->values->priority_asked) /* 0 holds it */
        r->j.priority = u->values->priority_asked;
    hold_take(c, r, u);
}

static void run_take(struct core *c, struct jobrec *r, const struct update *u)
{
    if (update_given(u, "licenses"))
        job_licences_tell(c, r);
    if (update_given(u, "reservation"))
        job_resv_take(c, r);
}

static void record_take_update(struct core *c, struct jobrec *r, const struct update *u)
{
    bool licences =
        update_given(u, "licenses") && !text_is(u->trial.req.licenses, r->j.spec.req.licenses);
    if (update_of_a_run(r) && licences && c->usage.at_us != c->turn.now_us)
        usage_tick(c); /* what it had until now is charged by itself; once for all in a turn */
    limits_count(c, r, -1);
    spec_take(c, r, u);
    limits_components_forget(c);
    usage_know(c, r->j.user_id, r->j.spec.req.account, r->j.user_name);
    limits_count(c, r, +1);
    user_room_count(c, r);
    if (u->m->admin_comment)
        text_set(c, &r->j.admin_comment, u->m->admin_comment);
    if (u->m->array_limit_plus1)
        r->j.array_limit = u->m->array_limit_plus1 - 1;
    if (u->limit && update_of_a_run(r))
        limit_take(c, r, u);
    minutes_changed(c);
    if (update_of_a_run(r))
        run_take(c, r, u);
    if (r->j.state != JOB_PENDING)
        running_priority_take(c, r, u);
    if (r->j.state == JOB_PENDING)
        waiting_take(c, r, u);
    if (update_given(u, "nice"))
        place_nice(c, r, u->values->nice);
}

static enum refusal resize(struct core *c, struct jobrec *r, const struct update *u,
                           const char **detail)
{
    const struct job_request *to = &u->values->req;
    if (update_given(u, "nodelist"))
        return job_resize(c, r, to->nodelist ? to->nodelist : "", 0, detail);
    /* 0 is all it has. */
    return to->min_nodes ? job_resize(c, r, NULL, to->min_nodes, detail) : REFUSE_NONE;
}

enum refusal update_take(struct core *c, struct jobrec *r, const struct update *u,
                         const char **detail)
{
    struct err err = {0};
    enum refusal refusal = REFUSE_NONE;
    ASSERT(job_find(c, r->j.id) == r);
    if (update_of_a_run(r) && update_resizes(u))
        refusal = resize(c, r, u, detail);
    if (refusal)
        return refusal;
    const char *after = update_given(u, "dependency") ? u->values->dependency : NULL;
    const char *name = arena_strdup(c->turn.fx->arena, r->j.spec.name);
    if (update_given(u, "name")) /* of a singleton it is asked by its new name */
        name_set(c, r, u->trial.name);
    if (update_given(u, "dependency") &&
        (!before_check(c, r, after, &err) || !dependencies_set(c, r, after, &err))) {
        if (update_given(u, "name"))
            name_set(c, r, name);
        return refuse(err.code == ERR_EXISTS ? REFUSE_CIRCULAR : REFUSE_DEPENDENCY,
                      arena_strdup(c->turn.fx->arena, err.text), detail);
    }
    user_room_disk(c, r->j.user_id, update_disk_more(r, &u->trial));
    record_take_update(c, r, u);
    job_save(c, r);
    eligible_update(c, r);
    if (update_given(u, "name"))
        name_left(c, r, name);
    components_look(c, r);
    before_apply(c, r, after);
    if (r->deps.n && job_is_array(r))
        aftercorr_begin(c, r);
    timer_arm(c, r);
    plan_soon(c);
    return REFUSE_NONE;
}
