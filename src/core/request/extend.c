/* extend: more time for a running job, as much as delays nobody. What its account, QOS, partition
 * and reservation allow bounds it first; of the rest the planner says how much leaves every start
 * where it is (sched/answer/extend.c). On a large cluster that is worked out in a copy of the
 * machine. What the copy found is checked here once more, where the machine is as it is now: what
 * is promised by then must not move; the forecast is the copy's. */
#include "sched/answer/extend.h"
#include "core/record/accounts/limits.h"
#include "core/record/accounts/minutes.h"
#include "core/record/accounts/minutes_ask.h"
#include "core/record/accounts/private.h"
#include "core/request/request.h"

struct extending {
    struct core *c;
    jobrec_vec job;         /* one, or the components of a heterogeneous job */
    const int64_t *each_us; /* what each of them gets of all; NULL = the same */
    bool by_itself;         /* nothing else is changed with it */
    int64_t asked_us, bounded_us, granted_us;
    const char *bound; /* what allows no more than bounded_us; NULL = nothing */
    struct extension found;
};

static struct extend_ask ask_of(const struct extending *x, int64_t add_us)
{
    uint64_t *id = arena_alloc(x->c->turn.fx->arena, (x->job.n + 1) * sizeof *id);
    for (size_t i = 0; i < x->job.n; i++)
        id[i] = x->job.v[i]->j.id;
    return (struct extend_ask){.job = id,
                               .n = x->job.n,
                               .add_us = add_us,
                               .each_us = x->each_us,
                               .cost_max = x->c->turn.aside ? EXTEND_COST : EXTEND_COST_HERE};
}

static const char *text_of(struct arena *a, struct str *s)
{
    const char *text = arena_strdup(a, str_text(s));
    str_done(s);
    return text;
}

/* ---- who, and which jobs -------------------------------------------------------------------- */

static enum refusal refuse(enum refusal refusal, const char *sentence, const char **detail)
{
    *detail = sentence;
    return refusal;
}

static enum refusal state_check(const struct extending *x, const struct jobrec *r,
                                const char **detail)
{
    if (r->j.state == JOB_PENDING)
        return refuse(REFUSE_NOT_RUNNING,
                      "it waits: `scontrol update JobId=… TimeLimit=…` changes what it asks for",
                      detail);
    if (r->j.state == JOB_SUSPENDED)
        return refuse(REFUSE_NOT_RUNNING,
                      "it is suspended: nobody knows when its time ends, so nobody can tell whom "
                      "more of it would delay; ask again when it runs",
                      detail);
    if (!job_live(r))
        return refuse(REFUSE_ALREADY_DONE,
                      x->job.n > 1 ? "a component of it is over: more time is given to one that "
                                     "runs, as 20+1"
                                   : "it is over",
                      detail);
    if (r->j.state != JOB_RUNNING)
        return refuse(REFUSE_ALREADY_DONE, "it is ending", detail);
    if (r->j.preempt_us)
        return refuse(REFUSE_ALREADY_DONE, "it was told to give way to another job", detail);
    if (!r->j.limit_us || r->j.limit_us == TIME_UNLIMITED)
        return refuse(REFUSE_TIME_LIMIT, "it has no time limit that could be raised", detail);
    return REFUSE_NONE;
}

static enum refusal right_check(const struct core *c, const struct jobrec *r, const char **detail)
{
    if (!may_manage(c, r))
        return REFUSE_ACCESS_DENIED;
    if (c->settings.word.extend_never && !peer_operates(c, c->turn.peer))
        return refuse(REFUSE_DISABLED, "OwnerExtends=no: here only operators raise time limits",
                      detail);
    return REFUSE_NONE;
}

/* Of an array one element, of a heterogeneous job all of its components, or the one that is
 * named. */
static enum refusal jobs_find(struct extending *x, const char *id, const char **detail)
{
    struct job_ref ref = {0};
    if (text_empty(id) || !job_ref_parse(id, &ref, NULL) || ref.has_step) {
        job_ref_done(&ref);
        return REFUSE_INVALID_JOB_ID;
    }
    uint64_t number = ref.job_id;
    bool component = ref.het_offset >= 0;
    job_ref_done(&ref);
    enum refusal refusal = refs_collect(x->c, id, &x->job, detail);
    if (!refusal && !x->job.n)
        refusal = REFUSE_INVALID_JOB_ID;
    if (refusal)
        return refusal;
    struct jobrec *r = x->job.v[0];
    if (r->j.het_job_id && !component && r->j.het_job_id == number) {
        vec_clear(&x->job);
        components_find(x->c, leader_of(r), &x->job);
    } else if (x->job.n > 1 && !r->j.het_job_id) {
        if (!may_manage(x->c, r)) /* who may not is told no more of it */
            return REFUSE_ACCESS_DENIED;
        return refuse(REFUSE_INVALID_ARRAY,
                      "more than one element is meant: time is given to one at a time, as 12_3",
                      detail);
    }
    return REFUSE_NONE;
}

static enum refusal jobs_check(const struct extending *x, const char **detail)
{
    enum refusal refusal = REFUSE_NONE;
    for (size_t i = 0; i < x->job.n && !refusal; i++) {
        refusal = right_check(x->c, x->job.v[i], detail);
        if (!refusal)
            refusal = state_check(x, x->job.v[i], detail);
    }
    return refusal;
}

/* ---- what is allowed ------------------------------------------------------------------------ */

static void bound(struct extending *x, int64_t most_us, const char *what)
{
    if (most_us >= x->bounded_us)
        return;
    x->bounded_us = most_us > 0 ? most_us : 0;
    x->bound = what;
}

static int64_t add_of(const struct extending *x, size_t i, int64_t add_us)
{
    return x->each_us ? x->each_us[i] : add_us;
}

/* What all of them need of one limit that is counted for this one, if this one gets so much. */
static int64_t minutes_together(const struct extending *x, const struct jobrec *r,
                                const struct minutes_ask *q, int64_t add_us)
{
    int64_t need = 0;
    for (size_t i = 0; i < x->job.n; i++) {
        const struct jobrec *other = x->job.v[i];
        int64_t us = other == r ? add_us : add_of(x, i, add_us);
        if (other == r || minutes_count_against(q->c, other, q->who, q->h))
            need = time_add(need, minutes_need(q, other, us));
    }
    return need;
}

/* Do the limits in minutes allow so much more? */
static bool minutes_allow(const struct extending *x, const struct jobrec *r, int64_t add_us,
                          struct str *why)
{
    const struct core *c = x->c;
    static const enum limit_counts kinds[] = {COUNTS_USED, COUNTS_PROMISED};
    struct limit_subject who = limits_subject(r, r->j.run_partition);
    bool fits = true;
    for (size_t i = 0; i < ARRAY_LEN(kinds) && fits; i++) {
        limit_hits hits = {0};
        limits_collect(c, &who, kinds[i], &hits);
        for (size_t n = 0; n < hits.n && fits; n++) {
            if (hits.v[n].above || !minutes_hold(hits.v[n].l))
                continue;
            struct minutes_ask q = minutes_ask_of(c, &who, &hits.v[n], NULL);
            int64_t need = minutes_together(x, r, &q, add_us);
            fits = minutes_fit(&q, need);
            if (!fits)
                minutes_say(&q, need, why);
        }
        vec_done(&hits);
    }
    return fits;
}

/* Do the limits of its accounts and QOS? What another of its partitions would allow is nothing to
 * it. */
static bool limits_allow(const struct extending *x, const struct jobrec *r, int64_t add_us,
                         struct str *why)
{
    struct jobrec longer = *r;
    str_clear(why);
    longer.j.spec.req.time_limit_us = time_add(r->j.limit_us, add_us);
    longer.j.spec.req.partition = r->j.run_partition;
    if (limits_bar(x->c, &longer, why) != REASON_NONE)
        return false;
    return minutes_allow(x, r, add_us, why);
}

/* The most that they allow, in whole minutes. */
static void limits_bound(struct extending *x, const struct jobrec *r)
{
    struct str why = STR_INIT, unused = STR_INIT;
    int64_t good = 0, bad = x->bounded_us / USEC_PER_MIN + 1;
    if (limits_allow(x, r, x->bounded_us, &why)) {
        str_done(&why);
        return;
    }
    while (bad - good > 1) {
        int64_t middle = good + (bad - good) / 2;
        if (limits_allow(x, r, middle * USEC_PER_MIN, &unused))
            good = middle;
        else
            bad = middle;
    }
    str_done(&unused);
    bound(x, good * USEC_PER_MIN, text_of(x->c->turn.fx->arena, &why));
}

static bool past_partition(const struct core *c, const struct jobrec *r)
{
    const struct qosrec *q = r->j.spec.req.qos ? qos_find(c, r->j.spec.req.qos) : NULL;
    return q && (q->q.flags & QOS_PART_TIME_LIMIT);
}

/* What else bounds it: the reservation of that name, or its partition. A name is told to those who
 * may see the reservation. */
static const char *bound_say(const struct core *c, const struct jobrec *r, const char *resv)
{
    const struct resvrec *other = resv ? resv_find(c, resv) : NULL;
    struct resv_sight sight = resv_sight_open(c, c->turn.peer);
    bool named = other && may_see_reservation(&sight, &other->r);
    resv_sight_close(&sight);
    if (named)
        return arena_printf(c->turn.fx->arena,
                            "reservation %s begins then, of nodes or licences that it has", resv);
    if (resv)
        return "a reservation begins then, of nodes or licences that it has";
    return arena_printf(c->turn.fx->arena,
                        "partition %s allowed no more in the hours in which it began",
                        r->j.run_partition);
}

/* With the script all of a heterogeneous job is over: a component that is meant alone does not
 * outlast the first, which has it. */
static void bound_by_script(struct extending *x, const struct jobrec *r)
{
    struct jobrec *first = r->j.het_job_id ? job_find(x->c, leader_of(r)) : NULL;
    if (!first || first == r || !x->by_itself || x->job.n > 1 || !job_has_script(first))
        return;
    int64_t end = job_limit_end(x->c, first);
    if (end != INT64_MAX)
        bound(x, end - job_limit_end(x->c, r),
              "the limit of the component with the script is then");
}

static void bound_by(struct extending *x, const struct jobrec *r)
{
    const struct core *c = x->c;
    struct arena *a = c->turn.fx->arena;
    const struct partrec *p = r->j.run_partition ? part_find(c, r->j.run_partition) : NULL;
    int64_t end = job_limit_end(c, r), with = resv_job_end(c, r);
    if (p && p->p.max_time_us && p->p.max_time_us != TIME_UNLIMITED && !past_partition(c, r))
        bound(x, p->p.max_time_us - r->j.limit_us,
              arena_printf(a, "MaxTime of partition %s allows no more", p->p.name));
    if (with != INT64_MAX)
        bound(x, with - end, arena_printf(a, "its reservation %s ends then", r->j.run_reservation));
    bound(x, FIELD_SPAN_MAX - r->j.limit_us, "no time limit is longer than that");
    bound_by_script(x, r);
    if (r->j.spec.deadline_us)
        bound(x, r->j.spec.deadline_us - end, "its deadline is then");
    const char *resv = NULL;
    const struct extend_ask ask = ask_of(x, x->bounded_us);
    int64_t most = sched_extend_bound(c->cluster, &ask, r->j.id, c->turn.now_us, &resv);
    if (most != TIME_UNLIMITED)
        bound(x, most - end, bound_say(c, r, resv));
    if (enforces_limits(c) && x->bounded_us > 0)
        limits_bound(x, r);
}

/* Where each gets another time, the first that may not have all of its own is left in x, else the
 * longest. */
static void bound_each(struct extending *x)
{
    int64_t longest = 0;
    for (size_t i = 0; i < x->job.n; i++) {
        x->asked_us = x->bounded_us = x->each_us[i];
        bound_by(x, x->job.v[i]);
        if (x->bounded_us < x->asked_us)
            return;
        longest = x->asked_us > longest ? x->asked_us : longest;
    }
    x->asked_us = x->bounded_us = longest;
}

static void bound_all(struct extending *x, int64_t most_us)
{
    x->bounded_us = most_us;
    for (size_t i = 0; i < x->job.n; i++)
        bound_by(x, x->job.v[i]);
}

/* ---- what delays nobody --------------------------------------------------------------------- */

static bool plan_ask(struct extending *x, int64_t add_us, bool promises_only, bool all,
                     struct extension *ret)
{
    struct extend_ask ask = ask_of(x, add_us);
    ask.promises_only = promises_only;
    ask.all = all;
    return sched_extend(x->c->cluster, x->c->plan, &ask, x->c->turn.now_us, ret);
}

static enum refusal grant_find(struct extending *x, bool all, const char **detail)
{
    if (x->each_us)
        bound_each(x);
    else
        bound_all(x, x->asked_us);
    if (x->bounded_us == 0 || (all && x->bounded_us < x->asked_us))
        return REFUSE_NONE;
    if (!plan_ask(x, x->bounded_us, false, all, &x->found))
        return refuse(REFUSE_BUSY,
                      "the queue is so long that whom it would delay takes too long to work out; "
                      "ask again later",
                      detail);
    x->granted_us = x->found.granted_us;
    return REFUSE_NONE;
}

/* ---- in words ------------------------------------------------------------------------------- */

static void later_say(const struct extending *x, struct str *out)
{
    const struct extension *f = &x->found;
    const struct jobrec *other = job_find(x->c, f->later_job);
    struct str label = STR_INIT;
    duration_say(x->bounded_us, out);
    if (other && may_see_job(x->c, x->c->turn.peer, &other->j)) {
        job_label(&other->j, &label);
        str_addf(out, " would delay job %s", str_text(&label));
    } else {
        str_add(out, " would delay a job of somebody else");
    }
    str_done(&label);
    if (f->later_us != TIME_UNLIMITED) {
        str_add(out, " by ");
        duration_say(f->later_us, out);
    }
    if (f->later_jobs > 1)
        str_addf(out, ", and %llu more", (unsigned long long)f->later_jobs - 1);
    if (f->cut)
        str_add(out, " (not every time in between could be tried)");
}

static const char *outcome(const struct extending *x, bool test_only)
{
    struct str s = STR_INIT;
    const char *verb = test_only ? "would be granted" : "granted";
    if (x->granted_us > 0) {
        duration_say(x->granted_us, &s);
        str_addf(&s, " %s", verb);
    } else {
        str_addf(&s, "nothing %s", verb);
    }
    if (x->found.later_jobs && x->granted_us < x->bounded_us) {
        str_add(&s, "; ");
        later_say(x, &s);
    }
    if (x->bounded_us < x->asked_us) {
        str_add(&s, "; of ");
        duration_say(x->asked_us, &s);
        str_add(&s, " at most ");
        duration_say(x->bounded_us, &s);
        str_addf(&s, ": %s", x->bound);
    }
    return text_of(x->c->turn.fx->arena, &s);
}

/* ---- the request ---------------------------------------------------------------------------- */

static void answer(struct core *c, enum refusal refusal, const char *detail, int64_t granted_us)
{
    struct msg_done done = {
        .refusal = refusal, .detail = detail, .count = (uint64_t)(granted_us / USEC_PER_SEC)};
    fx_reply(c, c->turn.conn, c->turn.seq, MSG_DONE, &done);
}

/* What a copy found, some time ago: is it allowed still, and does no promise move? */
static enum refusal worked_take(struct extending *x, const char **detail)
{
    const struct msg_done *w = x->c->turn.worked;
    int64_t granted = w->count < INT64_MAX / USEC_PER_SEC ? (int64_t)w->count * USEC_PER_SEC : 0;
    *detail = w->detail;
    if (w->refusal || granted == 0)
        return (enum refusal)w->refusal;
    bound_all(x, granted);
    if (x->bounded_us < granted || !plan_ask(x, granted, true, true, &x->found) ||
        x->found.granted_us < granted)
        return refuse(REFUSE_BUSY,
                      "while it was worked out whom it would delay, others came or started; ask "
                      "again",
                      detail);
    x->granted_us = granted;
    return REFUSE_NONE;
}

static enum refusal extend(struct extending *x, const struct msg_extend *m, const char **detail)
{
    enum refusal refusal = jobs_find(x, m->id, detail);
    if (!refusal)
        refusal = jobs_check(x, detail);
    if (!refusal && x->asked_us <= 0)
        refusal = refuse(REFUSE_TIME_LIMIT, "more time is a second at least", detail);
    if (!refusal && x->c->turn.worked)
        return worked_take(x, detail);
    if (!refusal)
        refusal = grant_find(x, m->all, detail);
    if (refusal)
        return refusal;
    if (m->all && x->granted_us < x->asked_us)
        x->granted_us = 0;
    *detail = outcome(x, m->test_only);
    return x->granted_us > 0 ? REFUSE_NONE : REFUSE_TIME_LIMIT;
}

void req_extend(struct core *c, const struct msg_extend *m)
{
    bool endless = m->add_us == TIME_UNLIMITED;
    int64_t seconds = m->add_us / USEC_PER_SEC; /* as they are counted in the answer */
    struct extending x = {
        .c = c, .by_itself = true, .asked_us = endless ? m->add_us : seconds * USEC_PER_SEC};
    const char *detail = NULL;
    enum refusal refusal = extend(&x, m, &detail);
    if (!refusal && !m->test_only)
        for (size_t i = 0; i < x.job.n; i++)
            job_extended(c, x.job.v[i], x.granted_us);
    answer(c, refusal, detail, refusal ? 0 : x.granted_us);
    vec_done(&x.job);
}

/* All of what is asked for, or why not. */
static enum refusal whole_check(struct extending *x, const char **detail)
{
    enum refusal refusal = jobs_check(x, detail);
    if (!refusal)
        refusal = grant_find(x, true, detail);
    if (!refusal && x->granted_us < x->asked_us) {
        x->granted_us = 0;
        *detail = arena_printf(x->c->turn.fx->arena, "%s; `remuda extend` gives what delays nobody",
                               outcome(x, false));
        refusal = REFUSE_TIME_LIMIT;
    }
    return refusal;
}

enum refusal extend_check(struct core *c, struct jobrec *r, int64_t add_us, const char **detail)
{
    ASSERT(job_find(c, r->j.id) == r);
    struct extending x = {.c = c, .asked_us = add_us};
    vec_push(&x.job, r);
    enum refusal refusal = whole_check(&x, detail);
    vec_done(&x.job);
    return refusal;
}

enum refusal extend_check_each(struct core *c, const jobrec_vec *job, const int64_t *each_us,
                               const char **detail)
{
    struct extending x = {.c = c};
    VEC(int64_t) each = {0};
    for (size_t i = 0; i < job->n; i++)
        if (each_us[i] > 0) {
            vec_push(&x.job, job->v[i]);
            vec_push(&each, each_us[i]);
        }
    x.each_us = each.v;
    enum refusal refusal = x.job.n ? whole_check(&x, detail) : REFUSE_NONE;
    vec_done(&each);
    vec_done(&x.job);
    return refusal;
}
