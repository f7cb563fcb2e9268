/* Which pending jobs the planner gets. A job is eligible when nothing but resources and order keeps
 * it: no hold, its begin time has come, its dependencies are satisfied, its array's % limit leaves
 * room. What its partition's limits or state say about it is the planner's: they may change. Limits
 * in minutes and on single jobs keep it from the planner, though it is eligible: it ages.
 * Whoever changes one of these calls eligible_update, which is cheap and idempotent. */
#include "base/list.h"
#include "core/record/accounts/accrue.h"
#include "core/record/accounts/minutes.h"
#include "core/record/accounts/usage.h"
#include "core/record/accounts/use.h"
#include "core/record/record.h"
#include "model/job/job_counts.h"

#include <string.h>

/* ---- eligibility ---------------------------------------------------------------------------- */

static uint32_t elements_now(const struct core *c, const struct jobrec *r)
{
    if (!r->j.array_job_id)
        return 1;
    uint64_t n = job_is_array(r) ? r->pending.count : 1;
    uint64_t room = array_room(array_of(c, r->j.array_job_id), r->j.array_limit);
    n = n < room ? n : room;
    return (uint32_t)(n < UINT32_MAX ? n : UINT32_MAX);
}

/* Components of a heterogeneous job have numbers that follow each other. */
static uint32_t het_size(const struct core *c, const struct jobrec *r)
{
    uint32_t n = 0;
    const struct jobrec *other;
    while (r->j.het_job_id && (other = job_find(c, r->j.het_job_id + n)) &&
           other->j.het_job_id == r->j.het_job_id)
        n++;
    return n;
}

static bool accrue_always(const struct core *c)
{
    return c->settings.word.accrue_always;
}

/* Reservations that draw a job which asks for none, comma-separated; NULL = none. Of its groups its
 * own is known. */
static const char *magnets_of(const struct core *c, const struct jobrec *r, struct arena *a)
{
    struct str names = STR_INIT;
    for (size_t i = 0; i < c->resv.n && text_empty(r->j.spec.req.reservation); i++) {
        const struct reservation *v = &c->resv.v[i]->r;
        if ((v->flags & RESV_MAGNETIC) &&
            resv_admits(v, r->j.user_name, r->j.group_name, r->j.spec.req.account))
            list_addf(&names, "%s", v->name);
    }
    const char *text = names.len ? arena_strdup(a, str_text(&names)) : NULL;
    str_done(&names);
    return text;
}

/* Whose fair share it has: of several partitions that of the first. 0 = its user's, as where nobody
 * keeps accounts. */
static struct assocrec *share_of(const struct core *c, const struct jobrec *r)
{
    const struct partrec *part = part_first(c, r->j.spec.req.partition);
    return accounts_in_use(c)
               ? assoc_for(c, r->j.spec.req.account, r->j.user_name, part ? part->p.name : NULL)
               : NULL;
}

struct waiting planner_would(const struct core *c, const struct jobrec *r, uint32_t elements)
{
    ASSERT(elements > 0);
    const struct assocrec *a = share_of(c, r);
    struct waiting w = {
        .job_id = r->j.id,
        .req = &r->j.spec.req,
        .het_job_id = r->j.het_job_id,
        .het_size = het_size(c, r),
        .uid = r->j.user_id,
        .elements = elements,
        .submit_us = job_first_submit_us(&r->j), /* who gave way keeps its place among equals */
        .eligible_us = accrue_always(c) ? r->j.submit_us : r->j.eligible_us,
        .ages_us = r->j.accrue_us == ACCRUES_NOT ? NOT_AGEING : r->j.accrue_us,
        .deadline_us = r->j.spec.deadline_us,
        .nice = r->j.spec.nice,
        .site = r->j.spec.site_factor,
        .priority_asked = r->j.spec.priority_asked,
        .place = place_taken(r),
        .promise_priority = limits_promise_priority(c, r),
        .assoc = a ? a->a.id : 0,
        .of_user = usage_account(c, r->j.user_id, r->j.spec.req.account, r->j.user_name) == NULL,
    };
    limits_factors(c, r, &w.qos_factor, &w.assoc_factor);
    return w;
}

static void share_watch(struct core *c, const struct jobrec *r)
{
    struct assocrec *a = share_of(c, r);
    if (a)
        fairshare_watch(c, a);
}

/* Its groups were asked about when it was submitted. */
static bool lets_in(const struct resvrec *v, const struct jobrec *r)
{
    struct reservation for_whom = v->r;
    for_whom.groups = NULL;
    return resv_admits(&for_whom, r->j.user_name, NULL, r->j.spec.req.account);
}

/* Of the reservations it names those that are there and for it: whom one is for may change, and so
 * may the job's account, or a name be another reservation's since. */
static const char *resvs_open(const struct core *c, const struct jobrec *r, struct arena *a)
{
    const char *all = r->j.spec.req.reservation;
    struct span rest = span_of(all ? all : ""), piece;
    struct str open = STR_INIT;
    if (!all || !resv_closed(c, all, r->j.user_name, r->j.spec.req.account))
        return all;
    struct arena *names = arena_new();
    while (span_next(&rest, ',', &piece)) {
        piece = span_trim(piece);
        const struct resvrec *v = resv_find(c, arena_strndup(names, piece.data, piece.len));
        if (v && lets_in(v, r))
            list_addf(&open, "%s", v->r.name);
    }
    const char *text = arena_strdup(a, str_text(&open));
    str_done(&open);
    arena_free(names);
    return text;
}

/* Of its partitions (`all`: limits_open) those in which no limit on the job keeps it: the planner
 * takes any that it is told. */
static const char *partitions_open(const struct core *c, const struct jobrec *r, const char *all,
                                   struct arena *a)
{
    struct span rest = span_of(all ? all : ""), piece;
    struct str open = STR_INIT;
    if (!all || !strchr(all, ',') || !enforces_limits(c))
        return all;
    while (span_next(&rest, ',', &piece)) {
        const char *partition = arena_strndup(a, piece.data, piece.len);
        if (usage_threshold_bar(c, r, partition, NULL) == REASON_NONE)
            list_addf(&open, "%s", partition);
    }
    const char *text = arena_strdup(a, str_text(&open));
    str_done(&open);
    return text;
}

/* What is made for it lives in the arena. */
static struct waiting told_in(struct core *c, const struct jobrec *r, uint32_t elements,
                              const char *partitions, struct arena *a)
{
    share_watch(c, r);
    struct waiting w = planner_would(c, r, elements);
    const char *open = partitions_open(c, r, partitions, a), *inside = resvs_open(c, r, a);
    int64_t wall_us = limits_wall_given_us(c, r, open);
    w.magnets = magnets_of(c, r, a);
    w.caps = limits_waiting(c, r, open);
    if (wall_us || !text_is(open, w.req->partition) || !text_is(inside, w.req->reservation)) {
        struct job_request *told = arena_dup(a, w.req, sizeof *w.req);
        told->partition = open;
        told->reservation = inside;
        told->time_limit_us = wall_us ? wall_us : told->time_limit_us;
        w.req = told;
    }
    return w;
}

struct waiting planner_told(struct core *c, const struct jobrec *r, uint32_t elements)
{
    struct arena *a = c->turn.fx->arena;
    return told_in(c, r, elements, limits_open(c, r, a), a);
}

static void planner_take(struct core *c, struct jobrec *r, uint32_t elements,
                         const char *partitions, struct arena *a)
{
    struct waiting w = told_in(c, r, elements, partitions, a);
    cluster_wait(c->cluster, &w);
    r->waiting = true;
    plan_soon(c);
}

static bool held(const struct jobrec *r)
{
    return r->j.spec.hold;
}

static bool deps_settle(struct core *c, struct jobrec *r, bool *ret_over)
{
    bool changed;
    *ret_over = false;
    if (!r->deps.n)
        return true;
    enum dep_status status = dependencies_update(c, r, &changed);
    if (status == DEP_FAILED && r->j.reason != REASON_DEPENDENCY_NEVER) {
        r->j.reason = REASON_DEPENDENCY_NEVER;
        changed = true;
        mail_job(c, r, MAIL_INVALID_DEPEND);
        bool kill = r->j.spec.kill_on_invalid_dep == UNSET ? c->settings.word.kill_invalid_depend
                                                           : r->j.spec.kill_on_invalid_dep == YES;
        if (kill) {
            job_never_soon(c, r);
            *ret_over = true;
            return false;
        }
    }
    if (changed)
        job_save(c, r);
    return status == DEP_SATISFIED;
}

/* One of those it names is enough (resvs_open). */
static bool resv_ready(const struct core *c, const struct jobrec *r)
{
    const char *names = r->j.spec.req.reservation;
    bool ready = !names;
    for (size_t i = 0; i < c->resv.n && !ready; i++)
        ready = list_has(names, c->resv.v[i]->r.name) && lets_in(c->resv.v[i], r);
    return ready;
}

/* What keeps it from the planner; NONE = nothing. `limits`: what minutes_or_limits_bar said, which
 * is dear where there are many partitions; NULL = it was not asked. */
static enum job_reason own_reason(const struct core *c, const struct jobrec *r, int64_t now_us,
                                  const enum job_reason *limits)
{
    if (held(r))
        return (enum job_reason)(r->j.reason ? r->j.reason : REASON_HELD_USER);
    if (owner_gone(c, r))
        return REASON_USER_UNKNOWN;
    if (r->deps.n && r->j.spec.dependency)
        return r->j.reason == REASON_DEPENDENCY_NEVER ? REASON_DEPENDENCY_NEVER : REASON_DEPENDENCY;
    if (r->j.spec.begin_us > now_us)
        return REASON_BEGIN_TIME;
    if (!resv_ready(c, r))
        return resv_there(c, r->j.spec.req.reservation) ? REASON_RESERVATION
                                                        : REASON_RESERVATION_DELETED;
    if (r->former_runs)
        return REASON_CLEANING;
    enum job_reason bar = limits ? *limits : minutes_or_limits_bar(c, r, NULL, NULL);
    if (bar != REASON_NONE)
        return bar;
    return elements_now(c, r) == 0 ? REASON_ARRAY_TASK_LIMIT : REASON_NONE;
}

void eligible_update(struct core *c, struct jobrec *r)
{
    ASSERT(!r->waiting || r->j.state == JOB_PENDING);
    bool over = false;
    if (r->j.state != JOB_PENDING || !c->store.loaded)
        return;
    bool ready = deps_settle(c, r, &over);
    if (over)
        return;
    owner_look(c, r);
    ready = ready && !held(r) && r->j.spec.begin_us <= c->turn.now_us && resv_ready(c, r) &&
            !r->former_runs;
    if (ready && !r->j.eligible_us) { /* though a limit may hold it: it gains by waiting */
        r->j.eligible_us = c->turn.now_us;
        accrue_begin(c, r);
        job_save(c, r);
    }
    if (ready)
        share_watch(c, r); /* it has a priority, though a limit may keep it from the planner */
    bool asked = ready && !owner_gone(c, r);
    struct arena *a = arena_new(); /* of its own: a turn may look at all jobs */
    const char *open = asked ? limits_open(c, r, a) : NULL;
    enum job_reason bar = asked ? minutes_or_limits_bar(c, r, open, NULL) : REASON_NONE;
    uint32_t elements = asked && bar == REASON_NONE ? elements_now(c, r) : 0;
    accrue_update(c, r);
    waited_cause(c, r,
                 elements ? REASON_NONE : own_reason(c, r, c->turn.now_us, asked ? &bar : NULL));
    if (elements) {
        planner_take(c, r, elements, open, a);
    } else if (r->waiting) {
        planner_leave(c, r);
        plan_soon(c);
    }
    arena_free(a);
    timer_arm(c, r);
}

bool job_is_kept(const struct core *c, const struct jobrec *r, int64_t now_us)
{
    return r->j.state == JOB_PENDING && !r->waiting && !held(r) && r->j.eligible_us &&
           !(r->deps.n && r->j.spec.dependency) && r->j.spec.begin_us <= now_us &&
           resv_ready(c, r) && !r->former_runs;
}

enum job_reason pending_reason(const struct core *c, const struct jobrec *r, int64_t now_us,
                               struct plan_wait *ret_wait)
{
    ASSERT(job_waits(r));
    *ret_wait = (struct plan_wait){0};
    enum job_reason own = own_reason(c, r, now_us, NULL);
    if (own != REASON_NONE)
        return own;
    if (c->store.away)
        return REASON_STORE_AWAY;
    if (r->waiting && plan_wait_of(c->plan, c->cluster, r->j.id, ret_wait))
        return ret_wait->reason;
    return REASON_NONE;
}
