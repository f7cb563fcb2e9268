/* The life of reservations: they begin, end or come again, replace nodes that fail, and go when
 * nobody uses them. Jobs are not told: whoever waits for one is planned only while it is there, and
 * its running jobs end with it (resv_job_end). */
#include "base/list.h"
#include "core/life/life.h"
#include "core/record/asked.h"

#include <string.h>

void resv_save(struct core *c, struct resvrec *v)
{
    fx_store(c, TABLE_RESERVATION, &v->r);
}

/* Who waits with the planner learns which reservations draw it now. Collected first: the walk must
 * see no change of the map, whatever comes of it. */
static void magnets_update(struct core *c)
{
    struct map_walk w = {0};
    VEC(uint64_t) ids = {0};
    while (map_u64_next(c->jobs.by_id, &w))
        if (((const struct jobrec *)w.value)->waiting)
            vec_push(&ids, w.key);
    for (size_t i = 0; i < ids.n; i++)
        eligible_update(c, job_find(c, ids.v[i]));
    vec_done(&ids);
}

void resv_tell(struct core *c, struct resvrec *v)
{
    bool magnetic = (v->r.flags & RESV_MAGNETIC) != 0;
    cluster_put_reservation(c->cluster, &v->r);
    if (magnetic || v->magnetic)
        magnets_update(c);
    v->magnetic = magnetic;
    plan_soon(c);
}

/* In the order in which they were made, so that nothing depends on the order in which the store
 * reads them; the planner is told of them in that order. */
void resv_insert(struct core *c, struct resvrec *v)
{
    size_t at = c->resv.n;
    vec_push(&c->resv, v);
    for (; at > 0; at--) {
        const struct reservation *before = &c->resv.v[at - 1]->r;
        if (before->made_us < v->r.made_us ||
            (before->made_us == v->r.made_us && strcmp(before->name, v->r.name) < 0))
            break;
        c->resv.v[at] = c->resv.v[at - 1];
    }
    c->resv.v[at] = v;
}

void resv_load(struct core *c, const struct reservation *row)
{
    struct resvrec *v = xcalloc(1, sizeof *v);
    record_intern(c, &reservation_fields, &v->r, row);
    resv_insert(c, v);
}

void resvs_restore(struct core *c)
{
    for (size_t i = 0; i < c->resv.n; i++)
        resv_tell(c, c->resv.v[i]);
}

/* ---- jobs ---- */

static bool runs_in(const struct jobrec *r, const char *name)
{
    return (r->j.state == JOB_RUNNING || r->j.state == JOB_SUSPENDED) &&
           text_is(r->j.run_reservation, name);
}

static bool asks_for(const struct jobrec *r, const char *name)
{
    return r->j.spec.req.reservation && list_has(r->j.spec.req.reservation, name);
}

static bool waits_for(const struct jobrec *r, const char *name)
{
    return (job_waits(r) || r->j.requeue_pending) && asks_for(r, name);
}

size_t resv_jobs(const struct core *c, const char *name, bool running)
{
    struct map_walk w = {0};
    size_t n = 0;
    while (map_u64_next(c->jobs.by_id, &w))
        n += running ? runs_in(w.value, name) : waits_for(w.value, name);
    return n;
}

static void there_are(const struct core *c, const char *name, struct str *why)
{
    VEC(const char *) names = {0};
    for (size_t i = 0; i < c->resv.n; i++)
        vec_push(&names, c->resv.v[i]->r.name);
    const char *near = text_nearest(name, names.v, names.n);
    str_addf(why, "there is no reservation %.100s", name);
    if (near)
        str_addf(why, "; did you mean %s?", near);
    else if (names.n == 0)
        str_add(why, ": there are none");
    vec_done(&names);
}

static void who_may(const struct reservation *r, struct str *why)
{
    const char *between = "it is for ";
    const char *const list[] = {r->users, r->groups, r->accounts}, *const what[] = {"users",
                                                                                    "groups",
                                                                                    "accounts"};
    str_addf(why, "the reservation %s is not for you with this account: ", r->name);
    for (size_t i = 0; i < ARRAY_LEN(list); i++)
        if (!text_empty(list[i])) {
            str_addf(why, "%sthe %s %s", between, what[i], list[i]);
            between = " and ";
        }
}

static enum refusal resv_admit(const struct resvrec *v, const struct job_request *req,
                               const char *user, const char *groups, struct str *why)
{
    int64_t length = v->r.end_us - v->r.start_us;
    if (!resv_admits(&v->r, user, groups, req->account)) {
        who_may(&v->r, why);
        return REFUSE_RESERVATION_ACCESS;
    }
    if ((v->r.flags & RESV_FLEX) || req->time_min_us <= length)
        return REFUSE_NONE;
    str_addf(why, "the reservation %s lasts ", v->r.name);
    duration_format(length, why);
    str_add(why, " and its jobs end with it; more was asked for at least: give a shorter "
                 "--time-min, or none");
    return REFUSE_TIME_LIMIT;
}

void resv_warn(const struct core *c, const struct job_request *req, struct str *to)
{
    const struct resvrec *v = req->reservation ? resv_find(c, req->reservation) : NULL;
    int64_t length = v ? v->r.end_us - v->r.start_us : 0;
    if (!v || (v->r.flags & RESV_FLEX) || req->time_limit_us <= length)
        return;
    str_addf(to, "%sthe reservation %s lasts ", to->len ? "; " : "", v->r.name);
    duration_format(length, to);
    str_add(to, " and its jobs end with it: the job gets no more of its time limit");
}

const char *resvs_once(const struct core *c, const char *names)
{
    struct span rest = span_of(names ? names : ""), first;
    bool blank = span_next(&rest, ',', &first) && !span_trim(first).len;
    /* A blank names none that there is; at the beginning of a list it would be lost. */
    return blank ? names : list_once(names, 1, c->turn.fx->arena);
}

enum refusal resv_check(const struct core *c, const struct job_request *req, const char *user,
                        const char *groups, struct str *why)
{
    struct span rest = span_of(req->reservation), piece;
    size_t n = 0;
    while (req->reservation && span_next(&rest, ',', &piece)) {
        if (++n > LIMIT_JOB_RESERVATIONS) {
            str_addf(why, "a job names at most %u reservations", LIMIT_JOB_RESERVATIONS);
            return REFUSE_TOO_LARGE;
        }
        char *name = xstrndup(span_trim(piece).data, span_trim(piece).len);
        const struct resvrec *v = resv_find(c, name);
        enum refusal refusal = v ? resv_admit(v, req, user, groups, why) : REFUSE_RESERVATION;
        if (!v)
            there_are(c, name, why);
        free(name);
        if (refusal)
            return refusal;
    }
    return REFUSE_NONE;
}

enum refusal resv_account_check(const struct core *c, const struct job_request *req,
                                const char *user, struct str *why)
{
    const struct resvrec *v =
        req->reservation ? resv_closed(c, req->reservation, user, req->account) : NULL;
    if (v)
        who_may(&v->r, why);
    return v ? REFUSE_RESERVATION_ACCESS : REFUSE_NONE;
}

/* ---- the end ---- */

/* The list without the name; NULL when nothing is left. */
static const char *list_without(struct core *c, const char *list, const char *name)
{
    struct span rest = span_of(list), piece;
    struct str left = STR_INIT;
    while (span_next(&rest, ',', &piece))
        if (!span_is(span_trim(piece), name))
            list_addf(&left, "%.*s", (int)piece.len, piece.data);
    const char *text = left.len ? arena_strdup(c->turn.fx->arena, str_text(&left)) : NULL;
    str_done(&left);
    return text;
}

/* As in Slurm: a job that has no reservation left to wait for is held, unless the reservation was
 * made to let it go on; one that does not wait, if it is sent back. */
static void job_leave(struct core *c, struct jobrec *r, const struct reservation *v)
{
    const char *left = list_without(c, r->j.spec.req.reservation, v->name);
    text_set(c, &r->j.spec.req.reservation, left);
    bool held = !left && !(v->flags & RESV_NO_HOLD_JOBS_AFTER) && !r->j.spec.hold;
    if (held && !job_waits(r)) {
        r->j.hold_after_requeue = true;
    } else if (held) {
        hold_write(c, r, true);
        r->j.reason = REASON_RESERVATION_DELETED;
    }
    job_save(c, r);
    eligible_update(c, r);
}

/* What it was, for reports; until now if it ends early. */
static void resv_keep(struct core *c, const struct resvrec *v)
{
    struct reservation past = v->r;
    if (past.end_us > c->turn.now_us)
        past.end_us = c->turn.now_us;
    if (past.start_us > 0 && past.start_us < past.end_us)
        fx_store(c, TABLE_PAST_RESERVATION, &past);
}

/* None runs in it, but any that asks for it may wait once more, those that are over, too; and the
 * next of that name may be for others. */
void resv_drop(struct core *c, struct resvrec *v)
{
    struct map_walk w = {0};
    VEC(uint64_t) asking = {0};
    while (map_u64_next(c->jobs.by_id, &w))
        if (asks_for(w.value, v->r.name))
            vec_push(&asking, w.key);
    resv_keep(c, v);
    fx_remove(c, TABLE_RESERVATION, &v->r);
    cluster_remove_reservation(c->cluster, v->r.name);
    for (size_t i = 0; i < c->resv.n; i++)
        if (c->resv.v[i] == v) {
            vec_remove(&c->resv, i);
            break;
        }
    if (v->magnetic)
        magnets_update(c);
    for (size_t i = 0; i < asking.n; i++)
        job_leave(c, job_find(c, asking.v[i]), &v->r);
    vec_done(&asking);
    record_drop(c, &reservation_fields, &v->r);
    free(v);
    plan_soon(c);
}

/* ---- what is due ---- */

#define LOOK_AGAIN_US (30 * USEC_PER_SEC)

static bool counted(const struct reservation *r)
{
    return !(r->flags & (RESV_SPEC_NODES | RESV_STATIC_ALLOC | RESV_ANY_NODES | RESV_PART_NODES)) &&
           r->nodes;
}

/* Since when no job has run in it or waited for it; INT64_MAX = one does. Jobs that ended count by
 * those that are still in memory: a reservation of which nobody is remembered has been idle since
 * it began. */
static int64_t idle_since(const struct core *c, const struct resvrec *v)
{
    struct map_walk w = {0};
    int64_t since = v->r.start_us > v->r.made_us ? v->r.start_us : v->r.made_us;
    while (map_u64_next(c->jobs.by_id, &w)) {
        const struct jobrec *r = w.value;
        if (!text_is(r->j.run_reservation, v->r.name) && !waits_for(r, v->r.name))
            continue;
        if (job_live(r))
            return INT64_MAX;
        since = r->j.end_us > since ? r->j.end_us : since;
    }
    return since;
}

static int64_t resv_due(const struct core *c, const struct resvrec *v)
{
    int64_t due = v->r.end_us;
    if (v->r.start_us > c->turn.now_us && v->r.start_us < due)
        due = v->r.start_us;
    if ((v->r.flags & RESV_PURGE_COMP) && time_add(v->r.start_us, v->r.purge_us) < due)
        due = time_add(v->r.start_us, v->r.purge_us);
    return due > v->look_us ? due : v->look_us;
}

int64_t resvs_due(const struct core *c)
{
    int64_t due = INT64_MAX;
    for (size_t i = 0; i < c->resv.n; i++) {
        int64_t at = c->planning.refit && counted(&c->resv.v[i]->r) ? 0 : resv_due(c, c->resv.v[i]);
        due = at < due ? at : due;
    }
    return due;
}

/* Forward to the time that is not over. */
static void resv_roll(struct core *c, struct resvrec *v)
{
    int64_t length = v->r.end_us - v->r.start_us;
    resv_keep(c, v);
    while (v->r.end_us <= c->turn.now_us) {
        v->r.start_us = resv_next_start(&v->r, v->r.start_us, cluster_zone(c->cluster));
        v->r.end_us = time_add(v->r.start_us, length);
    }
    fx_log(c, LEVEL_INFO, "reservation %s comes again", v->r.name);
    resv_save(c, v);
    resv_tell(c, v);
}

/* True if it is gone. */
static bool resv_fire(struct core *c, struct resvrec *v)
{
    if (v->r.end_us <= c->turn.now_us && (v->r.flags & RESV_RECURRING)) {
        resv_roll(c, v);
        return false;
    }
    if (v->r.end_us <= c->turn.now_us) {
        if (resv_jobs(c, v->r.name, true) == 0) {
            resv_drop(c, v);
            return true;
        }
        v->look_us = c->turn.now_us + LOOK_AGAIN_US;
        return false;
    }
    if (v->r.start_us <= c->turn.now_us)
        plan_soon(c);
    if (!(v->r.flags & RESV_PURGE_COMP) || time_add(v->r.start_us, v->r.purge_us) > c->turn.now_us)
        return false;
    int64_t since = idle_since(c, v);
    if (since != INT64_MAX && time_add(since, v->r.purge_us) <= c->turn.now_us) {
        fx_log(c, LEVEL_INFO,
               "reservation %s goes: nobody has used it for as long as PURGE_COMP says", v->r.name);
        resv_drop(c, v);
        return true;
    }
    v->look_us =
        since == INT64_MAX ? c->turn.now_us + LOOK_AGAIN_US : time_add(since, v->r.purge_us);
    return false;
}

/* Nodes that are down or drained, and with REPLACE those that its jobs have, give way to others,
 * where there are any. */
static void resv_refit(struct core *c, struct resvrec *v)
{
    struct reservation trial = v->r, taken;
    struct str why = STR_INIT;
    if (sched_reserve(c->cluster, &trial, c->turn.now_us, c->turn.fx->arena, &why) == REFUSE_NONE &&
        !(text_is(trial.nodes, v->r.nodes) && text_is(trial.holds, v->r.holds))) {
        fx_log(c, LEVEL_INFO, "reservation %s: nodes %s instead of %s", v->r.name, trial.nodes,
               v->r.nodes);
        record_intern(c, &reservation_fields, &taken, &trial);
        record_drop(c, &reservation_fields, &v->r);
        v->r = taken;
        resv_save(c, v);
        resv_tell(c, v);
    }
    str_done(&why);
}

void resvs_fire(struct core *c)
{
    for (size_t i = 0; i < c->resv.n;)
        if (resv_due(c, c->resv.v[i]) > c->turn.now_us || !resv_fire(c, c->resv.v[i]))
            i++;
    /* Only after a node or a run in one of them changed: each is a choice of nodes anew. */
    for (size_t i = 0; c->planning.refit && i < c->resv.n; i++)
        if (counted(&c->resv.v[i]->r))
            resv_refit(c, c->resv.v[i]);
    c->planning.refit = false;
}

/* ---- shown ---- */

void resv_show(const struct core *c, const struct msg_query *q, int64_t now_us,
               const struct view *view, size_t *ret_shown)
{
    struct asked_words names = asked_words_read(q->names);
    *ret_shown = 0;
    for (size_t i = 0; i < c->resv.n; i++) {
        struct reservation copy = c->resv.v[i]->r;
        const struct partrec *p = copy.partition ? part_find(c, copy.partition) : NULL;
        if (!asked_words_have(&names, copy.name))
            continue;
        copy.active = resv_is_on(&copy, now_us);
        if ((copy.flags & RESV_PART_NODES) && p)
            copy.nodes = p->p.nodes;
        view->row(view->ctx, &copy);
        (*ret_shown)++;
    }
    asked_words_done(&names);
}
