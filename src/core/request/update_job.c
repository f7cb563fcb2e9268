/* What scontrol update JobId=… changes of a job. A refused update changes nothing: the new values
 * are put on a copy of what was asked, the copy is checked as a submission would be, and only then
 * the record takes it. */
#include "core/request/update_job.h"
#include "base/list.h"
#include "core/record/accounts/limits.h"
#include "core/record/accounts/minutes.h"
#include "core/record/accounts/usage.h"
#include "core/request/request.h"
#include "model/env/later_env.h"

static bool given(const struct update *u, const char *field)
{
    return u->values && list_has(u->fields, field);
}

static bool touches_request(const struct update *u)
{
    for (size_t i = 0; u->values && i < job_request_fields.n; i++)
        if (given(u, job_request_fields.field[i].name))
            return true;
    return u->limit;
}

static enum refusal refuse(enum refusal refusal, const char *sentence, const char **detail)
{
    *detail = sentence;
    return refusal;
}

/* ---- checks --------------------------------------------------------------------------------- */

/* What the time limit becomes by TimeLimit=, TimeLimit+=, TimeLimit-= or EndTime=. */
static enum refusal limit_find(struct core *c, const struct jobrec *r, struct update *u,
                               const char **detail)
{
    const struct msg_update_job *m = u->m;
    int64_t limit = update_of_a_run(r) ? r->j.limit_us : r->j.spec.req.time_limit_us;
    u->limit = given(u, "time_limit_us") || m->time_limit_add_us || m->end_us;
    if (given(u, "time_limit_us"))
        limit = u->values->req.time_limit_us;
    if (m->time_limit_add_us && !limit)
        return refuse(REFUSE_TIME_LIMIT,
                      "the job has its partition's default limit: give the new limit itself",
                      detail);
    if (m->time_limit_add_us && limit != TIME_UNLIMITED) {
        int64_t sum = time_add(limit, m->time_limit_add_us);
        if (sum <= 0)
            return refuse(REFUSE_TIME_LIMIT,
                          arena_printf(c->turn.fx->arena,
                                       "TimeLimit decrement larger than current time limit (%lld > "
                                       "%lld minutes): take off less, or `scancel` the job",
                                       (long long)(-m->time_limit_add_us / USEC_PER_MIN),
                                       (long long)(limit / USEC_PER_MIN)),
                          detail);
        limit = sum;
    }
    if (limit > FIELD_SPAN_MAX && limit != TIME_UNLIMITED)
        return refuse(REFUSE_TIME_LIMIT,
                      "no time limit is longer than 2982616 days; UNLIMITED has no end", detail);
    if (m->end_us && !update_of_a_run(r))
        return refuse(REFUSE_NOT_RUNNING,
                      "EndTime is of a running job; a waiting one has a TimeLimit", detail);
    if (m->end_us)
        limit = m->end_us - r->j.start_us - r->j.suspended_us;
    if (m->end_us && m->end_us <= c->turn.now_us)
        return refuse(REFUSE_INVALID_TIME, "that has passed already; `scancel` ends a job now",
                      detail);
    if (u->limit && update_of_a_run(r) && limit <= 0)
        return refuse(REFUSE_TIME_LIMIT, "a running job needs a limit above 0; `scancel` ends it",
                      detail);
    if (u->limit)
        u->trial.req.time_limit_us = limit;
    return REFUSE_NONE;
}

/* What is left of it to a coordinator of the job's account. */
static enum refusal coordinator_check(const struct update *u, const char **detail)
{
    if (given(u, "site_factor"))
        return refuse(REFUSE_ACCESS_DENIED, "only operators may set the site factor", detail);
    if (u->m->admin_comment)
        return refuse(REFUSE_ACCESS_DENIED, "only operators may set AdminComment", detail);
    return REFUSE_NONE;
}

/* The owner's own limit, while the job runs. */
static enum refusal raise_check(struct core *c, struct jobrec *r, struct update *u,
                                const char **detail)
{
    if (!u->limit || !update_of_a_run(r) || u->trial.req.time_limit_us <= r->j.limit_us)
        return REFUSE_NONE;
    if (!c->settings.word.extend_update || u->trial.req.time_limit_us == TIME_UNLIMITED)
        return refuse(REFUSE_ACCESS_DENIED,
                      c->settings.word.extend_never
                          ? "only operators may raise the limit of a running job; you may lower it"
                          : "only operators may raise the limit of a running job; you may lower "
                            "it, and `remuda extend` gives you what delays nobody",
                      detail);
    u->extends = u->trial.req.time_limit_us - r->j.limit_us;
    u->trial.req.time_limit_us = r->j.spec.req.time_limit_us;
    return extend_check(c, r, u->extends, detail);
}

static enum refusal operator_check(struct core *c, struct jobrec *r, struct update *u,
                                   const char **detail)
{
    enum refusal refusal = raise_check(c, r, u, detail);
    if (refusal)
        return refusal;
    if (given(u, "priority_asked") && u->values->priority_asked)
        return refuse(REFUSE_ACCESS_DENIED,
                      "only operators may set a priority; Nice= lowers it, `scontrol top` reorders "
                      "your own jobs",
                      detail);
    if (given(u, "site_factor"))
        return refuse(REFUSE_ACCESS_DENIED, "only operators may set the site factor", detail);
    if (given(u, "nice") && u->values->nice < 0 && u->values->nice < r->j.spec.nice)
        return refuse(REFUSE_ACCESS_DENIED, "only operators may set a negative nice value", detail);
    if (u->m->admin_comment)
        return refuse(REFUSE_ACCESS_DENIED, "only operators may set AdminComment", detail);
    return given(u, "hold") && !u->values->hold ? hold_release_check(c, r, detail) : REFUSE_NONE;
}

/* It is held, and a priority alone does not let it go. */
static bool stays_held(const struct jobrec *r, const struct update *u)
{
    bool let_go = given(u, "hold") && !u->values->hold && r->j.reason == REASON_NONE;
    return update_of_a_run(r) ? r->j.hold_after_requeue
                              : r->j.state == JOB_PENDING && r->j.spec.hold && !let_go;
}

static enum refusal values_check(const struct core *c, const struct jobrec *r,
                                 const struct update *u, const char **detail)
{
    const struct job_spec *t = &u->trial;
    if (!spec_names_fit(t))
        return refuse(REFUSE_TOO_LARGE, SPEC_NAMES_LONG, detail);
    const char *path = spec_path_long(t);
    if (path && !spec_path_long(&r->j.spec)) /* an older release let it be longer */
        return refuse(REFUSE_TOO_LARGE, arena_printf(c->turn.fx->arena, SPEC_PATH_LONG, path),
                      detail);
    if (given(u, "work_dir") && (text_empty(t->work_dir) || t->work_dir[0] != '/'))
        return refuse(REFUSE_WORK_DIR, "WorkDir is a directory's whole path, from / on", detail);
    if (given(u, "later_env") && t->later_env && strlen(t->later_env) > LIMIT_TEXT_BYTES)
        return refuse(REFUSE_TOO_LARGE, "later variables have 64 KiB together", detail);
    if (given(u, "deadline_us") && t->deadline_us && t->deadline_us <= c->turn.now_us)
        return refuse(REFUSE_INVALID_TIME, "the deadline has passed already", detail);
    if (t->deadline_us && t->begin_us >= t->deadline_us)
        return refuse(REFUSE_BEGIN_TIME, "the job may begin only after its deadline", detail);
    if (given(u, "time_min_us") && t->req.time_limit_us && t->req.time_limit_us != TIME_UNLIMITED &&
        t->req.time_min_us > t->req.time_limit_us)
        return refuse(REFUSE_TIME_MIN, "TimeMin is longer than the time limit", detail);
    if (given(u, "priority_asked") && t->priority_asked && stays_held(r, u))
        return refuse(REFUSE_HELD, "it is held: `scontrol release` lets it start", detail);
    if (u->m->array_limit_plus1 && !r->j.array_job_id)
        return refuse(REFUSE_INVALID_ARRAY, "ArrayTaskThrottle is of arrays; this job is none",
                      detail);
    return REFUSE_NONE;
}

/* The request as it would be, against the cluster and its limits. */
static enum refusal request_check(struct core *c, const struct jobrec *r, struct update *u,
                                  const char **detail)
{
    const char *groups = c->turn.peer->uid == r->j.user_id ? c->turn.peer->groups : NULL;
    /* Whose groups are not known is in none; an operator may move jobs anywhere. */
    if (!groups && given(u, "partition") && !peer_operates(c, c->turn.peer))
        groups = "";
    enum job_reason pend = REASON_NONE;
    struct str why = STR_INIT;
    if (r->j.state != JOB_PENDING || !touches_request(u))
        return REFUSE_NONE;
    enum refusal refusal = given(u, "exclude") || given(u, "nodelist")
                               ? node_lists_check(c, &u->trial.req, &why)
                               : REFUSE_NONE;
    if (!refusal && (given(u, "account") || given(u, "qos") || given(u, "partition")))
        refusal = account_choose(c, &u->trial.req, r->j.user_name, &why);
    if (!refusal && given(u, "partition") && !peer_operates(c, c->turn.peer))
        refusal = submit_host_check(c, u->trial.req.partition, &why);
    if (!refusal && given(u, "reservation"))
        refusal = resv_check(c, &u->trial.req, r->j.user_name, groups, &why);
    if (!refusal)
        refusal = sched_check(c->cluster, &u->trial.req, r->j.user_id, groups, &pend, &why);
    if (!refusal)
        refusal = update_together_check(c, r, &u->trial, &why);
    const char *text = arena_strdup(c->turn.fx->arena, str_text(&why));
    str_done(&why);
    return refusal ? refuse(refusal, text, detail) : REFUSE_NONE;
}

/* What of a run may change: how many nodes it keeps, its licences, its reservation. */
static enum refusal run_check(struct core *c, const struct jobrec *r, struct update *u,
                              const char **detail)
{
    const char *groups = c->turn.peer->uid == r->j.user_id ? c->turn.peer->groups : NULL;
    const struct job_request *to = &u->trial.req;
    enum refusal refusal = REFUSE_NONE;
    if (!update_of_a_run(r) || !u->values)
        return REFUSE_NONE;
    if (given(u, "min_nodes") && u->values->req.max_nodes &&
        u->values->req.max_nodes != u->values->req.min_nodes)
        return refuse(REFUSE_NOT_PENDING,
                      "a running job keeps as many nodes as NumNodes= says: give one number, no "
                      "range",
                      detail);
    if (r->j.het_job_id &&
        (given(u, "nodelist") || (given(u, "min_nodes") && u->values->req.min_nodes)))
        return refuse(REFUSE_UNSUPPORTED, "components of heterogeneous jobs keep their nodes",
                      detail);
    if (given(u, "licenses"))
        refusal = job_licences_check(c, r, to->licenses, detail);
    if (!refusal && given(u, "reservation"))
        refusal = job_resv_check(c, r, to, groups, detail);
    return refusal;
}

static enum refusal key_check(struct core *c, const struct jobrec *r, struct update *u,
                              const char **detail)
{
    struct str why = STR_INIT;
    enum refusal refusal =
        given(u, "wckey") ? wckey_choose(c, &u->trial, r->j.user_name, &why) : REFUSE_NONE;
    const char *text = arena_strdup(c->turn.fx->arena, str_text(&why));
    str_done(&why);
    return refusal ? refuse(refusal, text, detail) : REFUSE_NONE;
}

/* ---- the change ----------------------------------------------------------------------------- */

/* Memory is asked for in one way: the new way takes the place of the old. */
static void memory_choose(struct update *u)
{
    struct job_request *t = &u->trial.req;
    bool node = given(u, "mem_per_node_mib"), cpu = given(u, "mem_per_cpu_mib"),
         gpu = given(u, "mem_per_gpu_mib");
    if (!node && !cpu && !gpu)
        return;
    t->mem_per_node_mib = node ? t->mem_per_node_mib : 0;
    t->mem_per_cpu_mib = cpu ? t->mem_per_cpu_mib : 0;
    t->mem_per_gpu_mib = gpu ? t->mem_per_gpu_mib : 0;
}

/* NumNodes= above the number of tasks: each node runs one. */
static void tasks_raise(struct update *u)
{
    struct job_request *t = &u->trial.req;
    if (given(u, "min_nodes") && t->ntasks > 0 && t->ntasks < t->min_nodes)
        t->ntasks = t->min_nodes;
}

/* A run's record names its reservation as it is called; a waiting job's list may have blanks. */
static void reservation_trim(const struct core *c, const struct jobrec *r, struct update *u)
{
    struct span name = span_trim(span_of(u->trial.req.reservation));
    if (given(u, "reservation") && update_of_a_run(r) && name.len)
        u->trial.req.reservation = arena_strndup(c->turn.fx->arena, name.data, name.len);
}

static void trial_make(const struct core *c, const struct jobrec *r, struct update *u)
{
    u->trial = r->j.spec;
    for (size_t i = 0; i < job_spec_fields.n; i++) {
        const struct field *f = &job_spec_fields.field[i];
        if (given(u, f->name) && !update_is_taken_apart(r, f->name))
            field_copy(f, &u->trial, u->values);
    }
    if (given(u, "later_env")) /* adds to what there is */
        u->trial.later_env =
            later_env_add(r->j.spec.later_env, u->values->later_env, c->turn.fx->arena);
    u->trial.req.partition = partitions_once(c, u->trial.req.partition);
    reservation_trim(c, r, u);
    memory_choose(u);
    tasks_raise(u);
    deadline_shortest(&u->trial);
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

/* Jobs of the former name may have waited for this one to end. */
static void name_set(struct core *c, struct jobrec *r, const char *name)
{
    live_index(c, r, false);
    singletons_look(c, r);
    text_set(c, &r->j.spec.name, name);
    live_index(c, r, true);
    dependencies_renamed(c, r);
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
    if (given(u, "hold") && u->values->hold)
        hold_give(c, r, false);
    else if (given(u, "hold"))
        hold_end(c, r);
}

static void waiting_take(struct core *c, struct jobrec *r, const struct update *u)
{
    hold_take(c, r, u);
    if (given(u, "dependency") && r->j.reason == REASON_DEPENDENCY_NEVER)
        r->j.reason = REASON_NONE;
    bool later =
        r->j.spec.begin_us > c->turn.now_us || (given(u, "dependency") && r->j.spec.dependency);
    if (later || u->m->reset_accrue)
        r->j.eligible_us = 0;
}

/* It counts when the job comes back to the queue. */
static void running_priority_take(struct core *c, struct jobrec *r, const struct update *u)
{
    if (given(u, "priority_asked") && u->values->priority_asked) /* 0 holds it */
        r->j.priority = u->values->priority_asked;
    hold_take(c, r, u);
}

static void run_take(struct core *c, struct jobrec *r, const struct update *u)
{
    if (given(u, "licenses"))
        job_licences_tell(c, r);
    if (given(u, "reservation"))
        job_resv_take(c, r);
}

static void record_take_update(struct core *c, struct jobrec *r, const struct update *u)
{
    bool licences = given(u, "licenses") && !text_is(u->trial.req.licenses, r->j.spec.req.licenses);
    if (update_of_a_run(r) && licences && c->usage.at_us != c->turn.now_us)
        usage_tick(c); /* what it had until now is charged by itself; once for all in a turn */
    limits_count(c, r, -1);
    spec_take(c, r, u);
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
    if (given(u, "nice"))
        place_nice(c, r, u->values->nice);
}

static bool resizes(const struct update *u)
{
    return given(u, "nodelist") || given(u, "min_nodes");
}

static enum refusal resize(struct core *c, struct jobrec *r, const struct update *u,
                           const char **detail)
{
    const struct job_request *to = &u->values->req;
    if (given(u, "nodelist"))
        return job_resize(c, r, to->nodelist ? to->nodelist : "", 0, detail);
    /* 0 is all it has. */
    return to->min_nodes ? job_resize(c, r, NULL, to->min_nodes, detail) : REFUSE_NONE;
}

/* So many bytes more on the disk, where each element that waits gets a row. */
static uint64_t disk_more(const struct jobrec *r, const struct job_spec *to)
{
    uint64_t had = texts_long(&r->j.spec), has = texts_long(to);
    return has > had ? (has - had) * (r->pending.count ? r->pending.count : 1) : 0;
}

/* Texts may grow as far as the owner's jobs may have. */
static enum refusal room_check(struct core *c, const struct jobrec *r, const struct update *u,
                               const char **detail)
{
    struct str why = STR_INIT;
    int64_t more = (int64_t)texts_long(&u->trial) - texts_long(&r->j.spec);
    bool fits = user_room_texts_fit(c, r->j.user_id, more, &why) &&
                user_room_disk_fits(c, r->j.user_id, disk_more(r, &u->trial), &why);
    if (!fits)
        *detail = arena_strdup(c->turn.fx->arena, str_text(&why));
    str_done(&why);
    return fits ? REFUSE_NONE : REFUSE_TOO_LARGE;
}

/* A started job keeps QOS and account, as limits are held where jobs start. */
static enum refusal started_check(struct core *c, const struct jobrec *r, struct update *u,
                                  const char **detail)
{
    struct str why = STR_INIT;
    enum refusal refusal = REFUSE_NONE;
    if (r->j.state == JOB_REQUEUED && resizes(u))
        return refuse(REFUSE_NOT_PENDING,
                      "its run is ending, and it goes back to the queue: ask again when it waits",
                      detail);
    if (r->j.state == JOB_PENDING || (!u->m->reset_accrue && update_any_time(r, u->fields)))
        return REFUSE_NONE;
    trial_make(c, r, u);
    if (given(u, "qos") && !given(u, "account") && !peer_operates(c, c->turn.peer))
        refusal = account_choose(c, &u->trial.req, r->j.user_name, &why);
    const char *text = refusal ? arena_strdup(c->turn.fx->arena, str_text(&why))
                               : "the job has started: only its time limit, priority, name, "
                                 "comments, mail, licences, reservation and requeue flag may "
                                 "still change, and it may give nodes back";
    str_done(&why);
    return refuse(refusal ? refusal : REFUSE_NOT_PENDING, text, detail);
}

enum refusal update_check(struct core *c, struct jobrec *r, struct update *u, const char **detail)
{
    enum refusal refusal = update_who_check(c, r, u, detail);
    if (refusal)
        return refusal;
    if (!job_live(r) || r->j.state == JOB_COMPLETING)
        return REFUSE_JOB_FINISHED;
    if (r->j.cron)
        return refuse(REFUSE_CRON_CHANGE, CRON_CHANGE_TEXT, detail);
    refusal = started_check(c, r, u, detail);
    if (refusal)
        return refusal;
    if (r->waiting)
        waited_count(c, r); /* with another request it is of another class */
    u->extends = 0;
    trial_make(c, r, u);
    refusal = limit_find(c, r, u, detail);
    if (!refusal && !peer_operates(c, c->turn.peer))
        refusal =
            peer_directs(c, r) ? coordinator_check(u, detail) : operator_check(c, r, u, detail);
    if (!refusal)
        refusal = values_check(c, r, u, detail);
    if (!refusal)
        refusal = room_check(c, r, u, detail);
    if (!refusal)
        refusal = request_check(c, r, u, detail);
    if (!refusal)
        refusal = run_check(c, r, u, detail);
    if (!refusal)
        refusal = key_check(c, r, u, detail);
    return refusal;
}

enum refusal update_take(struct core *c, struct jobrec *r, const struct update *u,
                         const char **detail)
{
    struct err err = {0};
    bool resized = update_of_a_run(r) && resizes(u);
    enum refusal refusal = resized ? resize(c, r, u, detail) : REFUSE_NONE;
    if (refusal)
        return refusal;
    const char *after = given(u, "dependency") ? u->values->dependency : NULL;
    const char *name = arena_strdup(c->turn.fx->arena, r->j.spec.name);
    if (given(u, "name")) /* of a singleton it is asked by its new name */
        name_set(c, r, u->trial.name);
    if (given(u, "dependency") &&
        (!before_check(c, r, after, &err) || !dependencies_set(c, r, after, &err))) {
        if (given(u, "name"))
            name_set(c, r, name);
        return refuse(err.code == ERR_EXISTS ? REFUSE_CIRCULAR : REFUSE_DEPENDENCY,
                      arena_strdup(c->turn.fx->arena, err.text), detail);
    }
    user_room_disk(c, r->j.user_id, disk_more(r, &u->trial));
    record_take_update(c, r, u);
    job_save(c, r);
    eligible_update(c, r);
    components_look(c, r);
    before_apply(c, r, after);
    if (r->deps.n && job_is_array(r))
        aftercorr_begin(c, r);
    timer_arm(c, r);
    plan_soon(c);
    return REFUSE_NONE;
}
