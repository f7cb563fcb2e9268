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

bool update_given(const struct update *u, const char *field)
{
    return u->values && list_has(u->fields, field);
}

bool update_resizes(const struct update *u)
{
    return update_given(u, "nodelist") || update_given(u, "min_nodes");
}

uint64_t update_disk_more(const struct jobrec *r, const struct job_spec *to)
{
    uint64_t had = texts_long(&r->j.spec), has = texts_long(to);
    return has > had ? (has - had) * (r->pending.count ? r->pending.count : 1) : 0;
}

static bool touches_request(const struct update *u)
{
    for (size_t i = 0; u->values && i < job_request_fields.n; i++)
        if (update_given(u, job_request_fields.field[i].name))
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
    u->limit = update_given(u, "time_limit_us") || m->time_limit_add_us || m->end_us;
    if (update_given(u, "time_limit_us"))
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
    if (update_given(u, "site_factor"))
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
    if (update_given(u, "priority_asked") && u->values->priority_asked)
        return refuse(REFUSE_ACCESS_DENIED,
                      "only operators may set a priority; Nice= lowers it, `scontrol top` reorders "
                      "your own jobs",
                      detail);
    if (update_given(u, "site_factor"))
        return refuse(REFUSE_ACCESS_DENIED, "only operators may set the site factor", detail);
    if (update_given(u, "nice") && u->values->nice < 0 && u->values->nice < r->j.spec.nice)
        return refuse(REFUSE_ACCESS_DENIED, "only operators may set a negative nice value", detail);
    if (u->m->admin_comment)
        return refuse(REFUSE_ACCESS_DENIED, "only operators may set AdminComment", detail);
    return update_given(u, "hold") && !u->values->hold ? hold_release_check(c, r, detail)
                                                       : REFUSE_NONE;
}

/* It is held, and a priority alone does not let it go. */
static bool stays_held(const struct jobrec *r, const struct update *u)
{
    bool let_go = update_given(u, "hold") && !u->values->hold && r->j.reason == REASON_NONE;
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
    if (update_given(u, "work_dir") && (text_empty(t->work_dir) || t->work_dir[0] != '/'))
        return refuse(REFUSE_WORK_DIR, "WorkDir is a directory's whole path, from / on", detail);
    if (update_given(u, "later_env") && t->later_env && strlen(t->later_env) > LIMIT_TEXT_BYTES)
        return refuse(REFUSE_TOO_LARGE, "later variables have 64 KiB together", detail);
    if (update_given(u, "deadline_us") && t->deadline_us && t->deadline_us <= c->turn.now_us)
        return refuse(REFUSE_INVALID_TIME, "the deadline has passed already", detail);
    if (t->deadline_us && t->begin_us >= t->deadline_us)
        return refuse(REFUSE_BEGIN_TIME, "the job may begin only after its deadline", detail);
    if (update_given(u, "time_min_us") && t->req.time_limit_us &&
        t->req.time_limit_us != TIME_UNLIMITED && t->req.time_min_us > t->req.time_limit_us)
        return refuse(REFUSE_TIME_MIN, "TimeMin is longer than the time limit", detail);
    if (update_given(u, "priority_asked") && t->priority_asked && stays_held(r, u))
        return refuse(REFUSE_HELD, "it is held: `scontrol release` lets it start", detail);
    if (u->m->array_limit_plus1 && !r->j.array_job_id)
        return refuse(REFUSE_INVALID_ARRAY, "ArrayTaskThrottle is of arrays; this job is none",
                      detail);
    return REFUSE_NONE;
}

/* The owner's: as he asks, all; as others do, what the job's record has. Whose are not known is in
 * none. */
static const char *groups_known(const struct core *c, const struct jobrec *r)
{
    bool own = c->turn.peer->uid == r->j.user_id;
    const char *groups = own ? c->turn.peer->groups : r->j.group_name;
    return groups ? groups : "";
}

#define WORK_NODE  4 /* of WORK_JOB: a node that is named */
#define WORK_PAIRS 8 /* names of partitions that are compared count as one of it */

/* What a short text may name is found anew for each job. */
static void names_count(struct core *c, const struct job_request *r)
{
    size_t pairs = list_count(r->partition) * c->part.n;
    size_t nodes = hostlist_count(r->exclude ? r->exclude : "", c->node.n) +
                   hostlist_count(r->nodelist ? r->nodelist : "", c->node.n);
    work_add(c, WORK_NODE * nodes + pairs / WORK_PAIRS);
}

/* The request as it would be, against the cluster and its limits. */
static enum refusal request_check(struct core *c, const struct jobrec *r, struct update *u,
                                  const char **detail)
{
    const char *groups = c->turn.peer->uid == r->j.user_id ? c->turn.peer->groups : NULL;
    /* An operator may move jobs anywhere. */
    if (!groups && update_given(u, "partition") && !peer_operates(c, c->turn.peer))
        groups = groups_known(c, r);
    enum job_reason pend = REASON_NONE;
    struct str why = STR_INIT;
    u->asks = r->j.state == JOB_PENDING && touches_request(u);
    if (!u->asks)
        return REFUSE_NONE;
    names_count(c, &u->trial.req);
    enum refusal refusal = update_given(u, "exclude") || update_given(u, "nodelist")
                               ? node_lists_check(c, &u->trial.req, &why)
                               : REFUSE_NONE;
    if (!refusal &&
        (update_given(u, "account") || update_given(u, "qos") || update_given(u, "partition")))
        refusal = account_choose(c, &u->trial.req, r->j.user_name, &why);
    if (!refusal && update_given(u, "partition") && !peer_operates(c, c->turn.peer))
        refusal = submit_host_check(c, u->trial.req.partition, &why);
    if (!refusal && update_given(u, "reservation"))
        refusal = resv_check(c, &u->trial.req, r->j.user_name, groups_known(c, r), &why);
    else if (!refusal && update_given(u, "account"))
        refusal = resv_account_check(c, &u->trial.req, r->j.user_name, &why);
    if (!refusal)
        refusal = sched_check(c->cluster, &u->trial.req, r->j.user_id, groups, &pend, &why);
    if (!refusal && !u->beside)
        refusal = update_together_check(c, r, &u->trial, &why);
    const char *text = arena_strdup(c->turn.fx->arena, str_text(&why));
    str_done(&why);
    return refusal ? refuse(refusal, text, detail) : REFUSE_NONE;
}

/* What of a run may change: how many nodes it keeps, its licences, its reservation. */
static enum refusal run_check(struct core *c, const struct jobrec *r, struct update *u,
                              const char **detail)
{
    const struct job_request *to = &u->trial.req;
    enum refusal refusal = REFUSE_NONE;
    if (!update_of_a_run(r) || !u->values)
        return REFUSE_NONE;
    if (update_given(u, "min_nodes") && u->values->req.max_nodes &&
        u->values->req.max_nodes != u->values->req.min_nodes)
        return refuse(REFUSE_NOT_PENDING,
                      "a running job keeps as many nodes as NumNodes= says: give one number, no "
                      "range",
                      detail);
    if (r->j.het_job_id &&
        (update_given(u, "nodelist") || (update_given(u, "min_nodes") && u->values->req.min_nodes)))
        return refuse(REFUSE_UNSUPPORTED, "components of heterogeneous jobs keep their nodes",
                      detail);
    if (update_given(u, "licenses"))
        refusal = job_licences_check(c, r, to->licenses, detail);
    if (!refusal && update_given(u, "reservation"))
        refusal = job_resv_check(c, r, to, groups_known(c, r), detail);
    return refusal;
}

static enum refusal key_check(struct core *c, const struct jobrec *r, struct update *u,
                              const char **detail)
{
    struct str why = STR_INIT;
    enum refusal refusal =
        update_given(u, "wckey") ? wckey_choose(c, &u->trial, r->j.user_name, &why) : REFUSE_NONE;
    const char *text = arena_strdup(c->turn.fx->arena, str_text(&why));
    str_done(&why);
    return refusal ? refuse(refusal, text, detail) : REFUSE_NONE;
}

/* ---- the job as it would be ----------------------------------------------------------------- */

/* Memory is asked for in one way: the new way takes the place of the old. */
static void memory_choose(struct update *u)
{
    struct job_request *t = &u->trial.req;
    bool node = update_given(u, "mem_per_node_mib"), cpu = update_given(u, "mem_per_cpu_mib"),
         gpu = update_given(u, "mem_per_gpu_mib");
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
    if (update_given(u, "min_nodes") && t->ntasks > 0 && t->ntasks < t->min_nodes)
        t->ntasks = t->min_nodes;
}

/* A run's record names its reservation as it is called; a waiting job's list may have blanks. */
static void reservation_trim(const struct core *c, const struct jobrec *r, struct update *u)
{
    struct span name = span_trim(span_of(u->trial.req.reservation));
    if (update_given(u, "reservation") && update_of_a_run(r) && name.len)
        u->trial.req.reservation = arena_strndup(c->turn.fx->arena, name.data, name.len);
}

static void trial_make(const struct core *c, const struct jobrec *r, struct update *u)
{
    u->trial = r->j.spec;
    for (size_t i = 0; i < job_spec_fields.n; i++) {
        const struct field *f = &job_spec_fields.field[i];
        if (update_given(u, f->name) && !update_is_taken_apart(r, f->name))
            field_copy(f, &u->trial, u->values);
    }
    if (update_given(u, "later_env")) /* adds to what there is */
        u->trial.later_env =
            later_env_add(r->j.spec.later_env, u->values->later_env, c->turn.fx->arena);
    if (!update_given(u, "partition")) /* those of the request were read for all its jobs */
        u->trial.req.partition = partitions_once(c, u->trial.req.partition);
    if (!update_given(u, "reservation"))
        u->trial.req.reservation = resvs_once(c, u->trial.req.reservation);
    reservation_trim(c, r, u);
    memory_choose(u);
    tasks_raise(u);
    deadline_shortest(&u->trial);
}

/* Texts may grow as far as the owner's jobs may have. */
static enum refusal room_check(struct core *c, const struct jobrec *r, const struct update *u,
                               const char **detail)
{
    struct str why = STR_INIT;
    int64_t more = (int64_t)texts_long(&u->trial) - texts_long(&r->j.spec);
    bool fits = user_room_texts_fit(c, r->j.user_id, more, &why) &&
                user_room_disk_fits(c, r->j.user_id, update_disk_more(r, &u->trial), &why);
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
    if (r->j.state == JOB_REQUEUED && update_resizes(u))
        return refuse(REFUSE_NOT_PENDING,
                      "its run is ending, and it goes back to the queue: ask again when it waits",
                      detail);
    if (r->j.state == JOB_PENDING || (!u->m->reset_accrue && update_any_time(r, u->fields)))
        return REFUSE_NONE;
    trial_make(c, r, u);
    if (update_given(u, "qos") && !update_given(u, "account") && !peer_operates(c, c->turn.peer))
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
