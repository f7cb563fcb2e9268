/* An update that gives waiting jobs another account, QOS or partition: what limits how many there
 * may be holds as if they were submitted so. Otherwise whoever may have three jobs in a QOS would
 * submit five hundred elsewhere and move them there. What their QOS refuses holds so for all they
 * ask for anew, or one task would be taken and be made a hundred.
 *
 * Only what becomes more is asked: a job that counts against a limit already may be moved within
 * it, also where the limit was lowered since. Jobs that are changed together count together. */
#include "core/record/accounts/limits.h"
#include "core/request/request.h"
#include "core/request/update_job.h"

struct move {
    const struct jobrec *from;
    struct jobrec to; /* what is counted; all else is the former's */
    struct limit_subject who;
    limit_hits limit;
    uint64_t *before; /* jobs that count against each */
};

static bool is_moved(const struct job_request *from, const struct job_request *to)
{
    return !text_is(from->account, to->account) || !text_is(from->qos, to->qos) ||
           !text_is(from->partition, to->partition);
}

static uint64_t jobs_of(struct core *c, const struct move *m, size_t i)
{
    return live_sums_of(live_sums_known(c), &m->who, &m->limit.v[i]);
}

static void move_make(struct core *c, const struct jobrec *r, const struct job_spec *to,
                      struct move *m)
{
    *m = (struct move){.from = r, .to = *r};
    m->to.j.spec = *to;
    m->who = limits_subject(&m->to, to->req.partition);
    const struct partrec *part = limits_counted_in(c, &m->who);
    m->who.partition = part ? part->p.name : NULL;
    limits_collect(c, &m->who, COUNTS_LIVE, &m->limit);
    m->before = arena_alloc(c->turn.fx->arena, (m->limit.n + 1) * sizeof *m->before);
    for (size_t i = 0; i < m->limit.n; i++)
        m->before[i] = m->limit.v[i].above ? 0 : jobs_of(c, m, i);
}

/* All are counted as they would be. */
static bool move_fits(struct core *c, const struct move *m, struct str *why)
{
    for (size_t i = 0; i < m->limit.n; i++) {
        const struct limit_hit *h = &m->limit.v[i];
        uint64_t after = h->above ? 0 : jobs_of(c, m, i);
        if (after <= m->before[i] || after <= (uint64_t)h->value)
            continue;
        limit_full_say(h, m->before[i], after - m->before[i], why);
        return false;
    }
    return true;
}

static enum refusal counts_check(struct core *c, struct move *m, size_t n, struct str *why)
{
    bool fits = true;
    for (size_t i = 0; i < n; i++) {
        limits_count(c, m[i].from, -1);
        limits_count(c, &m[i].to, +1);
    }
    for (size_t i = 0; i < n && fits; i++)
        fits = move_fits(c, &m[i], why);
    for (size_t i = 0; i < n; i++) {
        limits_count(c, &m[i].to, -1);
        limits_count(c, m[i].from, +1);
    }
    return fits ? REFUSE_NONE : REFUSE_PARTITION_LIMIT;
}

static bool is_denied(struct core *c, const struct jobrec *r, const struct job_spec *as,
                      struct str *why)
{
    struct job_spec trial = *as;
    struct str waits = STR_INIT;
    bool denied = limits_deny_check(c, &trial, r->j.user_name, why, &waits) != REFUSE_NONE;
    str_done(&waits);
    return denied;
}

/* One that was taken may ask for more than it may have, as a limit was lowered since: whatever it
 * asks for instead, it is there already. */
static enum refusal deny_check(struct core *c, const struct jobrec *r, const struct update *u,
                               struct str *why)
{
    const struct job_spec *now = &r->j.spec, *to = &u->trial;
    const struct qosrec *q = qos_find(c, to->req.qos);
    if (r->j.state != JOB_PENDING || !u->asks || !q || !(q->q.flags & QOS_DENY_ON_LIMIT))
        return REFUSE_NONE;
    struct str was = STR_INIT;
    bool denied =
        is_denied(c, r, to, why) && (is_moved(&now->req, &to->req) || !is_denied(c, r, now, &was));
    str_done(&was);
    return denied ? REFUSE_PARTITION_LIMIT : REFUSE_NONE;
}

enum refusal update_limits_check(struct core *c, struct jobrec *const *of, const struct update *u,
                                 size_t n, const char **detail)
{
    ASSERT(c->turn.peer);
    enum refusal refusal = REFUSE_NONE;
    struct str why = STR_INIT;
    size_t moves = 0;
    if (!enforces_limits(c) || peer_operates(c, c->turn.peer))
        return REFUSE_NONE;
    struct move *m = arena_alloc(c->turn.fx->arena, (n + 1) * sizeof *m);
    for (size_t i = 0; i < n; i++)
        if (of[i]->j.state == JOB_PENDING && is_moved(&of[i]->j.spec.req, &u[i].trial.req))
            move_make(c, of[i], &u[i].trial, &m[moves++]);
    if (moves)
        refusal = counts_check(c, m, moves, &why);
    for (size_t i = 0; i < n && !refusal; i++)
        refusal = deny_check(c, of[i], &u[i], &why);
    if (refusal)
        *detail = arena_strdup(c->turn.fx->arena, str_text(&why));
    for (size_t i = 0; i < moves; i++)
        vec_done(&m[i].limit);
    str_done(&why);
    return refusal;
}
