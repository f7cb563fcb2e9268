/* Reads of live state. Filters are read once; each record is a copy on the stack with its computed
 * fields filled, handed to the view and forgotten. */
#include "core/query/query.h"

#include "base/list.h"
#include "core/record/accounts/minutes.h"
#include "core/record/accounts/private.h"
#include "core/record/triggers/triggers.h"
#include "model/grammar/gpu_idle.h"
#include "model/grammar/gres.h"
#include "model/job/job_counts.h"
#include "model/job/owner.h"

#include <string.h>

/* ---- jobs and steps ------------------------------------------------------------------------- */

/* When the limit ends the job if nothing changes: time suspended does not count, that of the
 * suspension at hand neither. */
static int64_t expected_end(const struct job *j, int64_t now_us)
{
    if (!j->limit_us || j->limit_us == TIME_UNLIMITED)
        return 0;
    return time_add(time_add(j->start_us, j->limit_us), job_suspended_us(j, now_us));
}

static void gpu_idle_fill(const struct core *c, const struct jobrec *r, struct job *j,
                          struct str *next)
{
    struct gpu_idle p;
    int64_t gpus;
    if (j->state != JOB_RUNNING || !job_has_gpus(r))
        return;
    j->gpu_idle_us = job_gpus_idle(c, r, 0, &gpus);
    j->gpu_idle_us = j->gpu_idle_us > 0 ? j->gpu_idle_us : 0;
    gpu_idle_policy(c, r, &p, NULL);
    if (j->gpu_idle_us && p.stages && gpu_idle_say(c, r, next))
        j->gpu_idle_next = str_text(next);
}

/* Which of the fields that cost something are wanted. A list may be long: it is read once. */
struct dear_fields {
    bool planned_us, priority, gpu_idle_us;
};

static struct dear_fields dear_fields_of(const struct msg_query *q)
{
    return (struct dear_fields){.planned_us = !q->fields || list_has(q->fields, "planned_us"),
                                .priority = !q->fields || list_has(q->fields, "priority"),
                                .gpu_idle_us = !q->fields || list_has(q->fields, "gpu_idle_us")};
}

/* As in Slurm: who is held while he runs is shown so; let go, he has his priority. */
static void run_show_held(struct job *j)
{
    if (!j->hold_after_requeue)
        return;
    j->priority = 0;
    if (j->reason == REASON_NONE)
        j->reason = j->admin_hold ? REASON_HELD_ADMIN : REASON_HELD_USER;
}

static void job_show(const struct core *c, const struct peer *peer, const struct jobrec *r,
                     const struct dear_fields *dear, int64_t now_us, struct part_nodes *known,
                     const struct view *v)
{
    struct job j = r->j;
    struct plan_wait wait;
    struct str next = STR_INIT;
    if (j.state == JOB_PENDING) {
        j.reason = pending_reason(c, r, now_us, &wait);
        if (!may_see_nodes(c, peer)) /* it tells how many are away, which, and why */
            wait.detail = wait.away_nodes = NULL;
        /* A sentence kept in the record tells of what holds the job; of a former run's end it says
         * nothing that still matters. */
        if (wait.detail || !j.spec.hold)
            j.reason_detail = wait.detail;
        j.away_nodes = wait.away_nodes;
        /* As in Slurm the begin time stands for the start of a job that is not planned yet. */
        j.planned_us =
            wait.planned_us || j.spec.begin_us <= now_us ? wait.planned_us : j.spec.begin_us;
        if (!j.planned_us && !r->waiting && dear->planned_us)
            j.planned_us = minutes_room_us(c, r, (enum job_reason)j.reason);
        j.planned_nodes = wait.planned_nodes;
        if (!wait.priority && dear->priority && job_is_kept(c, r, now_us))
            wait.priority = priority_kept(c, r, now_us);
        j.priority = r->j.spec.hold ? 0 : wait.priority ? wait.priority : 1;
        if (r->waiting)
            j.evaluated_us = now_us;
        pending_complete(c, known, &j);
    } else if (j.state == JOB_SPECIAL_EXIT) {
        j.priority = 0; /* it is held */
    } else if (j.state == JOB_RUNNING || j.state == JOB_SUSPENDED) {
        run_show_held(&j);
        j.end_us = expected_end(&j, now_us);
        if (j.preempt_end_us && (!j.end_us || j.preempt_end_us < j.end_us))
            j.end_us = j.preempt_end_us;
        if (dear->gpu_idle_us)
            gpu_idle_fill(c, r, &j, &next);
    }
    if (!peer || (!job_is_of(&j, peer->uid, peer->user) && !peer_operates(c, peer)))
        job_hide_values(&j); /* as its environment, and its script */
    v->row(v->ctx, &j);
    str_done(&next);
}

static void step_show(const struct jobrec *r, const struct step *s, int64_t now_us,
                      const struct view *v)
{
    struct step copy = *s;
    copy.suspended_us = step_suspended_us(s, &r->j, now_us);
    copy.key_hash = copy.together_hash = 0;
    copy.user_name = r->j.user_name;
    copy.user_id = r->j.user_id;
    copy.array_job_id = r->j.array_task_id != NO_TASK ? r->j.array_job_id : 0;
    copy.array_task_id = r->j.array_task_id;
    copy.partition = r->j.run_partition;
    v->row(v->ctx, &copy);
}

struct query_show {
    const struct core *c;
    const struct peer *peer;
    const struct msg_query *q;
    struct dear_fields dear;
    struct filter *f;
    const struct view *v;
    int64_t now_us;
    enum query_what what; /* of jobs: themselves, their steps, their priorities */
    struct part_nodes *known;
    struct str *detail;
    size_t looks;        /* that the filters took, beyond one a record */
    const size_t *taken; /* bytes that rows became; NULL = not known */
    size_t before;       /* when this part began */
};

#define BYTES_A_LOOK 16384u /* a usual row has one or two thousand, one with long texts a million */
#define PART_BYTES   (1u << 20) /* a part ends here however many records it may look at: some ms */

/* Has the part looked at as much as it may, with so many records left? Rows may be as long as their
 * texts. */
static bool part_is_full(const struct query_show *x, size_t left)
{
    size_t bytes = x->taken ? *x->taken - x->before : 0;
    return bytes >= PART_BYTES || left <= x->looks + bytes / BYTES_A_LOOK;
}

/* An element that was cancelled before it ran is no job that anybody saw: as in Slurm it is listed
 * no more, and accounting alone remembers it. */
static bool never_was(const struct jobrec *r)
{
    return r->j.array_job_id && r->j.id != r->j.array_job_id && r->j.state == JOB_CANCELLED &&
           !r->j.start_us && !r->j.attempt;
}

static void record_show(struct query_show *x, const struct jobrec *r, const struct job_ref *ref)
{
    if (!filter_fits(x->f, r, &x->looks) || never_was(r) || !may_see_job(x->c, x->peer, &r->j))
        return;
    if (x->what == QUERY_JOBS)
        job_show(x->c, x->peer, r, &x->dear, x->now_us, x->known, x->v);
    if (x->what == QUERY_PRIORITY)
        priority_show(x->c, r, filter_partitions(x->f), x->now_us, x->v);
    if (x->what != QUERY_STEPS)
        return;
    for (size_t i = 0; i < r->step.n; i++)
        if ((!ref || !ref->has_step || ref->step_id == r->step.v[i]->s.step_id) &&
            step_live(r->step.v[i]))
            step_show(r, &r->step.v[i]->s, x->now_us, x->v);
    for (size_t i = 0; i < step_queue_count(r); i++)
        if (!ref || !ref->has_step || ref->step_id == step_queue_at(r, i)->step_id)
            step_show(r, step_queue_at(r, i), x->now_us, x->v);
}

/* Jobs of a reference from where the last part ended; false: it was enough for this one. */
static bool ref_show(struct query_show *x, const struct job_ref *ref, const jobrec_vec *jobs,
                     struct refs_at *at, size_t *most)
{
    for (size_t k = 0; k < jobs->n; k++) {
        struct jobrec *r = jobs->v[k];
        /* A step reference names a part of its job: another of the same job is no repetition. */
        bool before = (at->begun && map_u64_get(at->told, r->j.id)) ||
                      (x->what != QUERY_STEPS && map_u64_get(at->shown, r->j.id));
        if (before)
            continue;
        map_u64_put(at->shown, r->j.id, r);
        record_show(x, r, ref);
        *most -= *most > 0;
        if (!part_is_full(x, *most))
            continue;
        at->begun = true;
        for (size_t i = 0; i <= k; i++)
            map_u64_put(at->told, jobs->v[i]->j.id, r);
        return false;
    }
    return true;
}

/* What is hidden is not there. */
static size_t jobs_seen(const struct query_show *x, jobrec_vec *jobs)
{
    size_t n = 0;
    for (size_t i = 0; i < jobs->n; i++)
        if (may_see_job(x->c, x->peer, &jobs->v[i]->j))
            jobs->v[n++] = jobs->v[i];
    jobs->n = n;
    return n;
}

/* Each record once, however often it is named: all waiting elements of an array are one. */
static enum refusal refs_show(struct query_show *x, struct query_at *part, size_t most)
{
    struct refs_at *at = filter_refs_at(x->f);
    const job_ref_vec *refs = filter_refs(x->f);
    at->shown = at->shown ? at->shown : map_u64_new();
    at->told = at->told ? at->told : map_u64_new();
    for (; at->ref < refs->n; at->ref++) {
        const struct job_ref *ref = &refs->v[at->ref];
        jobrec_vec jobs = {0};
        at->work += at->begun ? 0 : ref_work(x->c, ref);
        if (at->work > refs_work_most(x->c)) {
            str_add(x->detail, REFS_WORK_TEXT);
            return REFUSE_TOO_LARGE;
        }
        /* Nothing is split: resolving without `split` changes nothing. */
        (void)ref_resolve((struct core *)(uintptr_t)x->c, ref, false, &jobs);
        at->found += jobs_seen(x, &jobs);
        part->more = !ref_show(x, ref, &jobs, at, &most);
        vec_done(&jobs);
        if (part->more)
            return REFUSE_NONE;
        if (at->begun) {
            map_u64_free(at->told);
            at->told = map_u64_new();
            at->begun = false;
        }
    }
    return at->found || refs->n != 1 || x->what == QUERY_PRIORITY ? REFUSE_NONE
                                                                  : REFUSE_INVALID_JOB_ID;
}

static enum refusal jobs_show(const struct core *c, const struct msg_query *q,
                              const struct peer *peer, int64_t now_us, const struct view *v,
                              struct str *detail, struct query_at *at, size_t most)
{
    enum refusal refusal = REFUSE_NONE;
    if (!at->kept)
        refusal = filter_open(c, q, at, detail);
    struct query_show x = {.c = c,
                           .peer = peer,
                           .q = q,
                           .dear = dear_fields_of(q),
                           .f = at->kept,
                           .v = v,
                           .now_us = now_us,
                           .what = (enum query_what)q->what,
                           .known = filter_part_nodes(at->kept),
                           .detail = detail,
                           .taken = at->taken,
                           .before = at->taken ? *at->taken : 0};
    if (!refusal && q->ids)
        refusal = refs_show(&x, at, most);
    else
        for (at->more = !refusal; at->more && !part_is_full(&x, most); most--)
            if ((at->more = map_u64_next(c->jobs.by_id, &at->walk)))
                record_show(&x, at->walk.value, NULL);
    return refusal;
}

/* ---- reservations --------------------------------------------------------------------------- */

struct query_resv_view {
    struct resv_sight sight;
    const struct view *v;
    size_t shown;
};

static void resv_seen(void *ctx, const void *record)
{
    struct query_resv_view *s = ctx;
    if (!may_see_reservation(&s->sight, record))
        return;
    s->v->row(s->v->ctx, record);
    s->shown++;
}

static enum refusal reservations_show(const struct core *c, const struct msg_query *q,
                                      const struct peer *peer, int64_t now_us, const struct view *v,
                                      struct str *detail)
{
    struct query_resv_view s = {resv_sight_open(c, peer), v, 0};
    size_t unseen;
    resv_show(c, q, now_us, &(struct view){resv_seen, &s}, &unseen);
    resv_sight_close(&s.sight);
    if (s.shown || !q->names)
        return REFUSE_NONE;
    str_addf(detail, "there is no reservation %s", q->names);
    return REFUSE_RESERVATION;
}

enum refusal core_query(const struct core *c, const struct msg_query *q, const struct peer *peer,
                        int64_t now_us, const struct view *v, struct str *detail)
{
    struct query_at at = {0};
    enum refusal refusal = core_query_part(c, q, peer, now_us, v, detail, &at, SIZE_MAX);
    core_query_end(&at);
    return refusal;
}

void core_query_end(struct query_at *at)
{
    ASSERT(!at->kept || at->drop);
    if (at->kept)
        at->drop(at->kept);
    at->kept = NULL;
}

/* Kinds of records that are hidden as a whole; of others the rows are. */
static bool is_private(const struct core *c, enum query_what what, const struct peer *peer)
{
    if (what == QUERY_NODES || what == QUERY_HOSTS)
        return !may_see_nodes(c, peer);
    return what == QUERY_PARTITIONS && !may_see_partitions(c, peer);
}

enum refusal core_query_part(const struct core *c, const struct msg_query *q,
                             const struct peer *peer, int64_t now_us, const struct view *v,
                             struct str *detail, struct query_at *at, size_t most)
{
    ASSERT(most > 0 && v->row);
    at->more = false;
    if (is_private(c, (enum query_what)q->what, peer)) {
        str_add(detail, "PrivateData: this is for operators");
        return REFUSE_ACCESS_DENIED;
    }
    switch ((enum query_what)q->what) {
    case QUERY_JOBS:
    case QUERY_STEPS:
    case QUERY_PRIORITY: return jobs_show(c, q, peer, now_us, v, detail, at, most);
    case QUERY_NODES: return query_nodes(c, q, peer, now_us, v, detail, at, most);
    case QUERY_PARTITIONS: return query_partitions(c, q, v, detail, at, most);
    case QUERY_RESERVATIONS: return reservations_show(c, q, peer, now_us, v, detail);
    case QUERY_STATUS: query_status(c, peer, v); return REFUSE_NONE;
    case QUERY_SHARES: return query_shares(c, q, peer, v, at, most);
    case QUERY_DIAG: return query_diag(c, now_us, v);
    case QUERY_TOKENS:
        if (!peer || !peer->is_admin) {
            str_add(detail, "only administrators may see the tokens");
            return REFUSE_ACCESS_DENIED;
        }
        tokens_show(c, now_us, v);
        return REFUSE_NONE;
    case QUERY_HOSTS: core_hosts(c, v); return REFUSE_NONE;
    case QUERY_TRIGGERS:
        if (c->settings.word.private_jobs && !peer_operates(c, peer)) {
            str_add(detail, "PrivateData: this is for operators");
            return REFUSE_ACCESS_DENIED;
        }
        triggers_show(c, v);
        return REFUSE_NONE;
    case QUERY_ACCOUNTS:
    case QUERY_ACCOUNT_USERS:
    case QUERY_ASSOCS:
    case QUERY_QOS:
    case QUERY_LIMITS:
    case QUERY_WCKEYS:
    case QUERY_TRES: return query_accounts(c, q, peer, v, at, most);
    case QUERY_LIMIT_USE: return query_limit_use(c, peer, v, at, most);
    case QUERY_FAIR_SHARES: return query_fair_shares(c, peer, now_us, v, at, most);
    case QUERY_IN_USE: return query_in_use(c, peer, now_us, v, at, most);
    case QUERY_TRANSACTIONS:
    case QUERY_USED:
    case QUERY_NODE_SPELLS:
    case QUERY_PAST_RESERVATIONS:
    case QUERY_SETTINGS:
    case QUERY_HISTORY: break;
    }
    str_add(detail, "the controller's machine does not answer this query");
    return REFUSE_BAD_MESSAGE;
}
