/* submit: one job, one array, or the components of a heterogeneous job. Everything is checked
 * before anything is kept: a refused submission leaves no trace. */
#include "core/record/accounts/usage.h"
#include "core/request/submit/submission.h"

struct submission *submission_open(const struct msg_submit *m)
{
    ASSERT(m->specs.v || m->specs.n == 0);
    struct submission *s = xcalloc(1, sizeof *s);
    s->m = m;
    s->n = m->specs.n;
    s->draft = xcalloc(s->n ? s->n : 1, sizeof *s->draft);
    return s;
}

void submission_close(struct submission *s)
{
    for (size_t i = 0; i < s->n; i++)
        idset_done(&s->draft[i].ids);
    free(s->draft);
    str_done(&s->warning);
    str_done(&s->detail);
    free(s);
}

const struct job_spec *submission_spec(const struct submission *s)
{
    return &s->draft[0].spec;
}

const char *submission_detail(const struct submission *s)
{
    return str_text(&s->detail);
}

const char *submission_warning(const struct submission *s)
{
    return s->warning.len ? str_text(&s->warning) : NULL;
}

/* ---- keeping -------------------------------------------------------------------------------- */

static void system_comment_set(struct core *c, struct jobrec *r, const struct submission *s)
{
    struct str text = STR_INIT;
    submission_say(&text, r->j.spec.no_effect);
    submission_say(&text, s->warning.len ? str_text(&s->warning) : NULL);
    text_set(c, &r->j.system_comment, str_text(&text));
    str_done(&text);
}

static struct jobrec *record_make(struct core *c, struct submission *s, struct draft *d)
{
    struct jobrec *r = job_new(c, job_id_take(c));
    record_intern(c, &job_spec_fields, &r->j.spec, &d->spec);
    r->j.user_id = c->turn.peer->uid;
    r->j.group_id = c->turn.peer->gid;
    text_set(c, &r->j.user_name, c->turn.peer->user);
    text_set(c, &r->j.group_name, c->turn.peer->group);
    owner_came(c, r->j.user_id, r->j.user_name);
    r->j.submit_us = c->turn.now_us;
    if (r->j.spec.hold)
        r->j.reason = REASON_HELD_USER;
    if (d->ids.count) {
        r->pending = d->ids;
        d->ids = IDSET_INIT;
        r->j.array_job_id = r->j.id;
        r->j.array_limit = d->limit;
        r->j.array_size = (uint32_t)r->pending.count;
        array_ensure(c, r->j.id);
        array_pending_text(c, r);
    }
    system_comment_set(c, r, s);
    user_room_count(c, r);
    return r;
}

static void het_link(struct core *c, uint64_t first, size_t n)
{
    struct str set = STR_INIT;
    if (n < 2)
        return;
    str_addf(&set, "%llu-%llu", (unsigned long long)first, (unsigned long long)(first + n - 1));
    for (size_t i = 0; i < n; i++) {
        struct jobrec *r = job_find(c, first + i);
        r->j.het_job_id = first;
        r->j.het_offset = (uint32_t)i;
        text_set(c, &r->j.het_set, str_text(&set));
    }
    str_done(&set);
}

/* A dependency that cannot be kept undoes the records made so far. */
static enum refusal dependencies_take(struct core *c, struct submission *s, uint64_t first)
{
    for (size_t i = 0; i < s->n; i++) {
        struct jobrec *r = job_find(c, first + i);
        struct err err = {0};
        const char *asked = s->draft[i].spec.dependency;
        if (text_empty(asked) ||
            (before_check(c, r, asked, &err) && dependencies_set(c, r, asked, &err)))
            continue;
        for (size_t k = 0; k < s->n; k++)
            job_forget(c, job_find(c, first + k));
        return submission_refuse(s, REFUSE_DEPENDENCY, "%s", err.text);
    }
    return REFUSE_NONE;
}

/* Components have the first one's: a submission of 128 must not be stored 128 times. */
static void payload_save(struct core *c, const struct msg_submit *m, uint64_t id)
{
    if (!m->script.len && !m->env.len)
        return;
    struct payload row = {.job_id = id, .script = m->script, .env = m->env};
    user_room_disk(c, c->turn.peer->uid, m->script.len + m->env.len);
    fx_store(c, TABLE_PAYLOAD, &row);
}

enum refusal submission_keep(struct core *c, struct submission *s, uint64_t *ret_id)
{
    ASSERT(c->turn.peer && s->n > 0);
    uint64_t first = c->jobs.next_id;
    for (size_t i = 0; i < s->n; i++)
        record_make(c, s, &s->draft[i]);
    het_link(c, first, s->n);
    enum refusal refusal = dependencies_take(c, s, first);
    if (refusal) {
        c->jobs.next_id = first;
        return refusal;
    }
    for (size_t i = 0; i < s->n; i++) {
        struct jobrec *r = job_find(c, first + i);
        job_start_state(c, r);
        c->diag.jobs_submitted++;
        user_room_row(c, r->j.user_id, &r->j.spec);
        user_room_disk(c, r->j.user_id, submission_texts(&r->j.spec, &r->pending));
        if (i == 0)
            payload_save(c, s->m, first);
        usage_know(c, r->j.user_id, r->j.spec.req.account, r->j.user_name);
        eligible_update(c, r);
        before_apply(c, r, s->draft[i].spec.dependency);
        if (r->deps.n && job_is_array(r))
            aftercorr_begin(c, r);
        if (r->j.state == JOB_PENDING)
            job_save(c, r);
    }
    *ret_id = first;
    return REFUSE_NONE;
}

/* ---- the request ---------------------------------------------------------------------------- */

/* Who made an allocation holds it, if it wants to hear of it; otherwise its grace begins. */
void submission_attach(struct core *c, const struct msg_submit *m, uint64_t id)
{
    ASSERT(job_find(c, id));
    struct jobrec *r = job_find(c, id);
    if (m->attach)
        waiter_add(c, WAIT_ALLOCATION, id, 0);
    if (r && m->attach && allocation_attached(r))
        allocation_hold(c, r);
    else if (r && allocation_attached(r))
        allocation_lonely(c, r);
    if (r)
        allocation_announce(c, r); /* it runs already, when it is asked for again */
    waiters_answer(c, id);
}

static void try_out(struct core *c, const struct submission *s, struct msg_submitted *answer)
{
    struct jobrec *trial = submission_trials(c, s);
    submission_try(c, trial, s->n, !s->m->test_only, answer); /* else only now is asked for */
    free(trial);
}

void req_submit(struct core *c, const struct msg_submit *m)
{
    struct submission *s = submission_open(m);
    struct msg_submitted answer = {0};
    submission_say(&s->warning, c->turn.remark);
    enum refusal refusal = submission_check(c, s);
    if (!refusal && (m->test_only || m->immediate))
        try_out(c, s, &answer);
    if (!refusal && m->immediate && answer.planned_us != c->turn.now_us)
        refusal = submission_refuse(s, REFUSE_UNAVAILABLE,
                                    "it cannot start at once; without --immediate it would wait");
    if (!refusal && m->test_only && !answer.planned_us)
        refusal = submission_refuse(s, REFUSE_UNAVAILABLE, "no start can be planned now: %s",
                                    answer.warning ? answer.warning
                                                   : "its place in the queue is not known");
    if (!refusal && !m->test_only)
        refusal = submission_keep(c, s, &answer.job_id);
    if (refusal) {
        reply_done(c, refusal, submission_detail(s));
    } else {
        answer.warning = submission_warning(s);
        fx_reply(c, c->turn.conn, c->turn.seq, MSG_SUBMITTED, &answer);
        if (!m->test_only)
            submission_attach(c, m, answer.job_id);
    }
    submission_close(s);
}
