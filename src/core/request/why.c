/* Why jobs wait: the reason in sentences with what to do, everything that is in the way, the place
 * in the order, the planned start and how sure it is, and what would let the job start sooner.
 * Nothing changes; the what-if passes are bounded by counted work, so that the answer of one job
 * does not hold others up. */
#include "base/list.h"
#include "core/record/accounts/minutes.h"
#include "core/record/accounts/private.h"
#include "core/record/accounts/usage.h"
#include "core/record/asked.h"
#include "core/record/record.h"
#include "core/request/request.h"
#include "model/extension.h"
#include "model/job/job_counts.h"
#include "sched/answer/advice.h"
#include "sched/answer/blockers.h"

#define AHEAD_SAID 5

static const char *text_of(struct arena *a, struct str *s)
{
    const char *text = s->len ? arena_strdup(a, str_text(s)) : NULL;
    str_done(s);
    return text;
}

/* PrivateData=jobs: what hidden jobs are in the way is said without their numbers. */
static bool is_shown(const struct core *c, const struct jobrec *r)
{
    return may_see_job(c, c->turn.peer, &r->j);
}

/* PrivateData=nodes: how many there are of a kind, not which and why. Evidence of what keeps a
 * device names jobs, too. */
static void nodes_hide(const struct core *c, struct why *w)
{
    struct blocker *b = w->blockers.v;
    bool nodes = !may_see_nodes(c, c->turn.peer),
         jobs = c->settings.word.private_jobs && !peer_operates(c, c->turn.peer);
    for (size_t i = 0; i < w->blockers.n; i++) {
        if (nodes)
            b[i].names = NULL;
        if (nodes && b[i].kind == BLOCKER_AWAY)
            b[i].what = "down or drained";
        if ((nodes || jobs) && b[i].kind == BLOCKER_OUT)
            b[i].what = "a device of a node, which nobody is given now";
    }
}

static void others_hide(const struct core *c, struct why *w)
{
    struct blocker *b = w->blockers.v;
    struct why_advice *v = w->advice.v;
    nodes_hide(c, w);
    if (!c->settings.word.private_jobs || peer_operates(c, c->turn.peer))
        return;
    w->ahead = NULL;
    for (size_t i = 0; i < w->blockers.n; i++)
        b[i].jobs = b[i].users = NULL;
    for (size_t i = 0; i < w->advice.n; i++)
        if (v[i].stops)
            v[i].stops = "jobs of others";
}

/* ---- the reason in sentences ---- */

/* The job as `scontrol update` takes it: of a heterogeneous job this component alone, of an array
 * this element, as the number of the last one means all of them; those that wait together in
 * brackets where others of the array wait or run by themselves. */
static const char *named(const struct core *c, const struct jobrec *r, struct arena *a)
{
    const struct arrayrec *array = job_is_array(r) ? array_of(c, r->j.array_job_id) : NULL;
    bool apart = array && array->waiting + array->active > 0;
    struct str ids = STR_INIT;
    if (array && (apart || r->pending.count == 1)) {
        idset_format(&r->pending, &ids);
        return arena_printf(a, r->pending.count == 1 ? "%llu_%s" : "%llu_[%s]",
                            (unsigned long long)r->j.array_job_id, text_of(a, &ids));
    }
    if (r->j.het_job_id)
        return arena_printf(a, "%llu+%u", (unsigned long long)r->j.het_job_id, r->j.het_offset);
    if (r->j.array_job_id && !job_is_array(r))
        return arena_printf(a, "%llu_%u", (unsigned long long)r->j.array_job_id,
                            r->j.array_task_id);
    return arena_printf(a, "%llu", (unsigned long long)r->j.id);
}

static const char *dependency_text(const struct core *c, const struct jobrec *r, struct arena *a)
{
    struct str s = STR_INIT, said = STR_INIT;
    dependency_say(&r->deps, &said);
    const char *awaited = text_of(a, &said);
    if (r->j.reason == REASON_DEPENDENCY_NEVER)
        str_addf(&s,
                 "its dependency %s can never be satisfied (it waits for %s); `scontrol update "
                 "JobId=%s Dependency=` removes it, `scancel %s` gives the job up",
                 r->j.spec.dependency, awaited, named(c, r, a), named(c, r, a));
    else
        str_addf(&s,
                 "waits for its dependency %s, that is for %s; `scontrol update JobId=%s "
                 "Dependency=` lets it start without",
                 r->j.spec.dependency, awaited, named(c, r, a));
    for (size_t i = 0, shown = 0; i < r->deps.n && shown < AHEAD_SAID; i++) {
        const struct jobrec *other = job_find(c, r->deps.v[i].job_id);
        if (!other || !is_shown(c, other))
            continue;
        str_add(&s, shown++ ? ", " : ": ");
        dependee_say(c, r, &r->deps.v[i], &s);
    }
    return text_of(a, &s);
}

static const char *held_text(const struct core *c, const struct jobrec *r, enum job_reason reason,
                             struct arena *a)
{
    const char *id = named(c, r, a);
    if (reason == REASON_HELD_ADMIN)
        return arena_printf(
            a, "an administrator holds it; an operator can let it go with `scontrol release %s`",
            id);
    if (reason == REASON_HELD_USER)
        return arena_printf(a, "its user holds it; `scontrol release %s` lets it go", id);
    return arena_printf(a, "it is held: %s%s%s; `scontrol release %s` lets it go",
                        job_reason_sentence(reason), r->j.reason_detail ? ": " : "",
                        r->j.reason_detail ? r->j.reason_detail : "", id);
}

static const char *limit_text(const struct core *c, const struct jobrec *r, struct arena *a)
{
    const struct arrayrec *array = array_of(c, r->j.array_job_id);
    return arena_printf(
        a,
        "%u of its tasks are active, as many as its limit %%%u allows; `scontrol update "
        "JobId=%llu ArrayTaskThrottle=0` lifts it, a number changes it",
        array ? array->active : 0, r->j.array_limit, (unsigned long long)r->j.array_job_id);
}

/* Limits that hours of a partition set, too, for which Slurm has no words of their own. */
static const char *hours_text(const struct core *c, const struct jobrec *r, enum job_reason reason,
                              struct arena *a)
{
    if (reason != REASON_QOS_MAX_JOBS_PER_USER && reason != REASON_PARTITION_NODE_LIMIT &&
        reason != REASON_PARTITION_TIME_LIMIT)
        return NULL;
    return sched_hours_bar(c->cluster, r->j.id, c->turn.now_us, a);
}

static const char *because(const struct core *c, const struct jobrec *r, enum job_reason reason,
                           struct arena *a)
{
    if (r->j.spec.hold)
        return held_text(c, r, reason, a);
    if (reason == REASON_DEPENDENCY || reason == REASON_DEPENDENCY_NEVER)
        return dependency_text(c, r, a);
    if (reason == REASON_BEGIN_TIME && r->j.cron)
        return arena_printf(a,
                            "it comes of line %u of its owner's scrontab, which says when it runs: "
                            "%s; `scrontab -e` changes it",
                            r->j.cron_first, r->j.cron);
    if (reason == REASON_BEGIN_TIME)
        return arena_printf(a,
                            "its begin time has not come; `scontrol update JobId=%s "
                            "StartTime=now` lets it start earlier",
                            named(c, r, a));
    if (reason == REASON_ARRAY_TASK_LIMIT)
        return limit_text(c, r, a);
    if (reason == REASON_RESERVATION && !r->waiting)
        return arena_printf(a,
                            "a reservation that it names is not, or no longer, for its user with "
                            "its account; `scontrol update JobId=%s ReservationName=` lets it "
                            "start without",
                            named(c, r, a));
    if (reason == REASON_NONE)
        return "it came just now and is about to be planned";
    struct str detail = STR_INIT;
    bool limited = minutes_or_limits_bar(c, r, NULL, &detail) == reason && detail.len;
    const char *text = limited ? arena_strdup(a, str_text(&detail)) : hours_text(c, r, reason, a);
    str_done(&detail);
    return text ? text
                : job_reason_sentence(reason); /* the rest is said by the planner's blockers */
}

/* ---- one job ---- */

static void fill_head(const struct jobrec *r, struct why *w, struct arena *a)
{
    struct str label = STR_INIT;
    job_label(&r->j, &label);
    *w = (struct why){
        .job_id = r->j.id,
        .name = r->j.spec.name,
        .user_name = r->j.user_name,
        .state = r->j.state,
        .reason = r->j.reason,
        .submit_us = r->j.submit_us,
        .eligible_us = r->j.eligible_us,
        .start_us = r->j.start_us,
    };
    w->label = text_of(a, &label);
}

static void fill_plan(struct core *c, const struct jobrec *r, const struct plan_wait *wait,
                      struct why *w, struct arena *a)
{
    if (!r->waiting || !wait->rank)
        return;
    w->rank = wait->rank;
    w->waiting = sched_waiting(c->cluster);
    w->planned_us = wait->planned_us;
    w->planned_nodes = wait->planned_nodes;
    w->sureness = sched_sureness(c->cluster, c->plan, r->j.id, a, &w->sure_text);
}

/* What the default order counts with instead of the limit. */
static void fill_expected(struct core *c, const struct jobrec *r, struct why *w)
{
    const struct job_request *req = &r->j.spec.req;
    w->limit_us = job_limit_asked(req);
    const char *account = usage_account(c, r->j.user_id, req->account, r->j.user_name);
    int64_t ran_us = cluster_expected(c->cluster, r->j.user_id, account, w->limit_us);
    w->expected_us = w->limit_us && ran_us > w->limit_us ? w->limit_us : ran_us;
}

static void fill_ahead(struct core *c, const struct jobrec *r, struct why *w, struct arena *a)
{
    uint64_t ahead[AHEAD_SAID];
    struct str s = STR_INIT;
    size_t n = sched_ahead(c->cluster, c->plan, r->j.id, ahead, AHEAD_SAID);
    for (size_t i = 0; i < n; i++)
        str_addf(&s, "%s%llu", i ? "," : "", (unsigned long long)ahead[i]);
    w->ahead = text_of(a, &s);
}

/* Whose jobs those are, each once. */
static const char *users_of(const struct core *c, const char *jobs, struct arena *a)
{
    struct span rest = span_of(jobs), piece;
    struct str users = STR_INIT;
    while (span_next(&rest, ',', &piece)) {
        uint64_t id = 0;
        (void)text_to_u64(arena_strndup(a, piece.data, piece.len), UINT64_MAX, &id);
        const struct jobrec *r = job_find(c, id);
        if (r && r->j.user_name && !list_has(str_text(&users), r->j.user_name))
            list_addf(&users, "%s", r->j.user_name);
    }
    return text_of(a, &users);
}

static void fill_blockers(struct core *c, const struct jobrec *r, struct why *w, struct arena *a)
{
    blocker_vec found = {0};
    sched_blockers(c->cluster, c->plan, r->j.id, c->turn.now_us, a, &found);
    for (size_t i = 0; i < found.n; i++)
        if (found.v[i].kind == BLOCKER_LIMIT && found.v[i].jobs)
            found.v[i].users = users_of(c, found.v[i].jobs, a);
    w->blockers.n = found.n;
    w->blockers.v = arena_dup(a, found.v, found.n * sizeof found.v[0]);
    vec_done(&found);
}

/* A limit in minutes keeps it from the planner: there is no plan, but an idea of when there is
 * room. */
static void fill_minutes(struct core *c, const struct jobrec *r, struct why *w, struct arena *a)
{
    struct blocker b;
    struct str detail = STR_INIT;
    if ((int32_t)minutes_or_limits_bar(c, r, NULL, &detail) == w->reason &&
        minutes_blocker(c, r, a, &b)) {
        if (b.jobs)
            b.users = users_of(c, b.jobs, a);
        w->because = job_reason_sentence((enum job_reason)w->reason);
        w->blockers = (struct record_list){arena_dup(a, &b, sizeof b), 1};
    }
    str_done(&detail);
}

static void fill_advice(struct core *c, const struct jobrec *r, uint64_t cost_max, uint64_t *cost,
                        struct why *w, struct arena *a)
{
    struct advices found;
    const char *groups =
        c->turn.peer && c->turn.peer->uid == r->j.user_id ? c->turn.peer->groups : NULL;
    sched_advise(c->cluster, c->plan, r->j.id, groups, c->turn.now_us, cost_max, a, &found);
    struct why_advice *v = arena_alloc(a, (found.v.n + 1) * sizeof v[0]);
    for (size_t i = 0; i < found.v.n; i++) {
        const struct advice *one = &found.v.v[i];
        v[i] = (struct why_advice){.option = one->option,
                                   .start_us = one->start_us,
                                   .now = one->start_us == c->turn.now_us,
                                   .stops = one->stops};
        if (one->update)
            v[i].command =
                arena_printf(a, "scontrol update JobId=%s %s", named(c, r, a), one->update);
    }
    w->advice = (struct record_list){v, found.v.n};
    w->advice_tried = true;
    w->advice_cut = found.cut;
    *cost += found.cost;
    advices_done(&found);
}

/* In a list one line says the most: counts of nodes where nodes are short, else how many go
 * first. */
static const char *in_short(const struct plan_wait *wait, const char *because, struct arena *a)
{
    if (wait->reason == REASON_PRIORITY && wait->rank > 1)
        return arena_printf(a, "%u job%s ahead of it", wait->rank - 1,
                            wait->rank == 2 ? " is" : "s are");
    return wait->detail ? wait->detail : because;
}

static const char *extended_text(const struct jobrec *r, struct arena *a)
{
    struct str s = STR_INIT;
    struct extension_row row;
    struct span rest = span_of(r->j.extensions ? r->j.extensions : "");
    if (!r->j.extended_us)
        return NULL;
    str_add(&s, "while it ran, its time limit was raised by ");
    duration_say(r->j.extended_us, &s);
    for (const char *sep = " ("; extensions_next(&rest, a, &row); sep = ", ") {
        str_addf(&s, "%s%s: ", sep, row.user);
        duration_say(row.add_us, &s);
    }
    str_addc(&s, ')');
    return text_of(a, &s);
}

static void explain(struct core *c, const struct jobrec *r, bool full, uint64_t cost_max,
                    uint64_t *cost, struct why *w)
{
    struct arena *a = c->turn.fx->arena;
    struct plan_wait wait = {0};
    fill_head(r, w, a);
    w->waited_for = waited_text(c, r, a);
    if (r->j.state != JOB_PENDING) {
        struct str idle = STR_INIT;
        /* What is known of its end, if it was not its own */
        w->because = text_empty(r->j.reason_detail) ? extended_text(r, a) : r->j.reason_detail;
        if (gpu_idle_say(c, r, &idle))
            w->because = arena_strdup(a, str_text(&idle));
        str_done(&idle);
        const char *stuck = job_stuck_said(c, r, a);
        if (stuck)
            w->because = arena_printf(a, "%s%sits end waits for what cannot be ended %s",
                                      text_empty(w->because) ? "" : w->because,
                                      text_empty(w->because) ? "" : "; ", stuck);
        return;
    }
    w->reason = pending_reason(c, r, c->turn.now_us, &wait);
    if (!may_see_nodes(c, c->turn.peer))
        wait.detail = NULL;
    w->because = because(c, r, w->reason, a);
    if (!full && r->waiting)
        w->because = in_short(&wait, w->because, a);
    if (w->reason == REASON_BEGIN_TIME)
        w->planned_us = r->j.spec.begin_us;
    fill_plan(c, r, &wait, w, a);
    fill_expected(c, r, w);
    if (full && !r->waiting)
        fill_minutes(c, r, w, a);
    if (!full || !r->waiting)
        return;
    fill_ahead(c, r, w, a);
    fill_blockers(c, r, w, a);
    if (cost_max > *cost)
        fill_advice(c, r, cost_max - *cost, cost, w, a);
}

/* ---- the request ---- */

struct why_answer {
    VEC(struct why) row;
    uint64_t more;
};

static int by_rank(const void *va, const void *vb)
{
    const struct why *a = va, *b = vb;
    uint32_t x = a->rank ? a->rank : UINT32_MAX, y = b->rank ? b->rank : UINT32_MAX;
    if (x != y)
        return x < y ? -1 : 1;
    return (a->job_id > b->job_id) - (a->job_id < b->job_id);
}

static void all_in_short(struct core *c, const struct msg_why *m, struct why_answer *answer)
{
    struct map_walk walk = {0};
    struct map_u64 *uid = asked_uids_read(m->uids);
    while (map_u64_next(c->jobs.by_id, &walk)) {
        const struct jobrec *r = walk.value;
        struct why w;
        uint64_t cost = 0;
        if (r->j.state != JOB_PENDING || (uid && !map_u64_get(uid, r->j.user_id)) ||
            !is_shown(c, r))
            continue;
        if (answer->row.n == WHY_JOBS_SHORT) {
            answer->more++;
            continue;
        }
        explain(c, r, false, 0, &cost, &w);
        vec_push(&answer->row, w);
    }
    map_u64_free(uid);
    if (answer->row.n > 1)
        qsort(answer->row.v, answer->row.n, sizeof answer->row.v[0], by_rank);
}

static enum refusal named_in_full(struct core *c, const struct msg_why *m,
                                  struct why_answer *answer, const char **detail)
{
    jobrec_vec jobs = {0};
    enum refusal refusal = refs_collect(c, m->ids, &jobs, detail);
    uint64_t cost = 0;
    size_t hidden = 0;
    for (size_t i = 0; !refusal && i < jobs.n; i++) {
        struct why w;
        if (!is_shown(c, jobs.v[i])) {
            hidden++;
            continue;
        }
        if (answer->row.n == WHY_JOBS_FULL) {
            answer->more++;
            continue;
        }
        explain(c, jobs.v[i], true,
                m->no_advice    ? 0
                : c->turn.hurry ? ADVICE_COST_HURRY
                                : ADVICE_COST,
                &cost, &w);
        others_hide(c, &w);
        vec_push(&answer->row, w);
    }
    if (!refusal && jobs.n && hidden == jobs.n)
        refusal = REFUSE_INVALID_JOB_ID; /* as if there were none */
    vec_done(&jobs);
    return refusal;
}

void req_why(struct core *c, const struct msg_why *m)
{
    struct why_answer answer = {0};
    const char *detail = NULL;
    enum refusal refusal = REFUSE_NONE;
    if (text_empty(m->ids))
        all_in_short(c, m, &answer);
    else
        refusal = named_in_full(c, m, &answer, &detail);
    if (refusal) {
        reply_done(c, refusal, detail);
    } else {
        struct msg_explained out = {.jobs = {answer.row.v, answer.row.n}, .more = answer.more};
        fx_reply(c, c->turn.conn, c->turn.seq, MSG_EXPLAINED, &out);
    }
    vec_done(&answer.row);
}

#define LITTLE 200 /* jobs and nodes; with fewer an answer takes less than a copy */

bool core_asks_much(const struct core *c, const struct message *m)
{
    if (map_u64_count(c->jobs.by_id) + c->node.n < LITTLE)
        return false;
    return m->kind == MSG_WHY || m->kind == MSG_EXTEND || m->kind == MSG_MAY ||
           (m->kind == MSG_SUBMIT && ((const struct msg_submit *)m->body)->test_only);
}
