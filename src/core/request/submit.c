/* submit: one job, one array, or the components of a heterogeneous job. Everything is checked
 * before anything is kept: a refused submission leaves no trace. */
#include "core/request/request.h"
#include "model/job/job_attributes.h"

#include <stdarg.h>
#include <string.h>

#define NICE_MAX 2147483645

struct draft {
    struct job_spec spec; /* texts of the request, or of the arena */
    struct idset ids;
    uint32_t limit;
};

struct submission {
    const struct msg_submit *m;
    struct draft *draft;
    size_t n;
    struct str warning; /* for the user */
    struct str detail;  /* why not */
};

static void say(struct str *to, const char *sentence)
{
    if (text_empty(sentence))
        return;
    if (to->len)
        str_add(to, "; ");
    str_add(to, sentence);
}

static enum refusal refuse(struct submission *s, enum refusal refusal, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static enum refusal refuse(struct submission *s, enum refusal refusal, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    str_clear(&s->detail);
    str_addv(&s->detail, format, args);
    va_end(args);
    return refusal;
}

static const char *default_partition(const struct core *c)
{
    for (size_t i = 0; i < c->part.n; i++)
        if (c->part.v[i]->p.is_default)
            return c->part.v[i]->p.name;
    return c->part.n == 1 ? c->part.v[0]->p.name : NULL;
}

static enum refusal partition_check(struct core *c, struct submission *s, struct job_spec *spec)
{
    if (text_empty(spec->req.partition) && spec->req.reservation)
        spec->req.partition = resv_partition(c, spec->req.reservation);
    if (text_empty(spec->req.partition))
        spec->req.partition = default_partition(c);
    if (text_empty(spec->req.partition))
        return refuse(
            s, REFUSE_INVALID_PARTITION,
            "no partition was asked for and none is the default: name one with --partition");
    return REFUSE_NONE;
}

/* Who waits for a mail must know now that none comes. */
static void mail_check(const struct core *c, struct submission *s, const struct job_spec *spec)
{
    struct str text = STR_INIT;
    if (!spec->mail_types || !c->mail_fault)
        return;
    str_addf(&text,
             "no mail will come of this job: %s; MailProg or SmtpServer in remuda.conf names what "
             "sends it",
             c->mail_fault);
    say(&s->warning, str_text(&text));
    str_done(&text);
}

static enum refusal privileges_check(struct core *c, struct submission *s, struct job_spec *spec)
{
    bool operates = peer_operates(c, c->turn.peer);
    if (spec->nice < 0 && !operates)
        return refuse(s, REFUSE_NICE,
                      "only operators may ask for a negative nice value; others may go "
                      "from 0 to %d",
                      NICE_MAX);
    if (!operates)
        spec->site_factor = 0;
    if (spec->nice > NICE_MAX)
        spec->nice = NICE_MAX;
    if (spec->priority_asked && !operates) {
        if (spec->priority_asked != PRIORITY_TOP)
            say(&s->warning, "only operators may set a priority: it is computed");
        spec->priority_asked = 0;
    }
    return REFUSE_NONE;
}

static enum refusal times_check(struct core *c, struct submission *s, struct job_spec *spec)
{
    struct job_request *r = &spec->req;
    deadline_shortest(spec);
    if (spec->deadline_us && spec->deadline_us <= c->turn.now_us)
        return refuse(s, REFUSE_TIME_LIMIT, "the deadline has passed already");
    if (spec->deadline_us && r->time_min_us > spec->deadline_us - c->turn.now_us)
        return refuse(s, REFUSE_TIME_MIN, "--time-min is longer than there is until the deadline");
    if (spec->deadline_us && spec->begin_us >= spec->deadline_us)
        return refuse(s, REFUSE_BEGIN_TIME, "the job may begin only after its deadline");
    if (r->time_min_us && r->time_limit_us && r->time_limit_us != TIME_UNLIMITED &&
        r->time_min_us > r->time_limit_us)
        return refuse(s, REFUSE_TIME_MIN, "--time-min is longer than --time");
    return REFUSE_NONE;
}

static enum refusal sampling_check(struct core *c, struct submission *s,
                                   const struct job_spec *spec)
{
    if (!sampled_too_seldom(c, spec, &spec->req))
        return REFUSE_NONE;
    return refuse(
        s, REFUSE_ACCOUNTING_FREQUENCY,
        "memory is asked for, and is watched at least every %lld s (JobAcctGatherFrequency): "
        "--acctg-freq=task= may be less, not more and not 0",
        (long long)(sampled_gap_most(c) / USEC_PER_SEC));
}

static enum refusal array_check(struct core *c, struct submission *s, struct draft *d)
{
    struct err err = {0};
    uint32_t largest = c->settings.max_array_size > LIMIT_ARRAY_INDEX
                           ? LIMIT_ARRAY_INDEX
                           : (uint32_t)(c->settings.max_array_size - 1);
    if (text_empty(d->spec.array))
        return REFUSE_NONE;
    if (s->n > 1)
        return refuse(s, REFUSE_INVALID_ARRAY, "a heterogeneous job cannot be an array");
    if (!array_parse(d->spec.array, largest, &d->ids, &d->limit, &err))
        return refuse(s, REFUSE_INVALID_ARRAY, "%s", err.text);
    return REFUSE_NONE;
}

/* A misspelt name would exclude nothing. A job that waits keeps the names of nodes that leave. */
enum refusal exclude_check(const struct core *c, const struct job_request *r, struct str *detail)
{
    struct hostlist h = HOSTLIST_INIT;
    struct err err = {0};
    enum refusal refusal = REFUSE_NONE;
    if (!text_empty(r->exclude) && !hostlist_parse(&h, r->exclude, &err)) {
        str_add(detail, err.text);
        refusal = REFUSE_INVALID_NODE;
    }
    for (size_t i = 0; i < h.n && !refusal; i++)
        if (!node_find(c, h.name[i])) {
            str_addf(detail, "--exclude: there is no node %s in this cluster", h.name[i]);
            refusal = REFUSE_INVALID_NODE;
        }
    hostlist_done(&h);
    return refusal;
}

static enum refusal names_check(struct submission *s, const struct job_spec *spec)
{
    const char *const names[] = {spec->name, spec->req.account, spec->req.qos,
#define X(member, ...) spec->member,
                                 JOB_ATTRIBUTES(X)
#undef X
    };
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (names[i] && strlen(names[i]) > 4 * LIMIT_NAME_BYTES)
            return refuse(
                s, REFUSE_TOO_LARGE,
                "names of jobs, accounts, QOS and workload keys are at most %u bytes long",
                4 * LIMIT_NAME_BYTES);
    return REFUSE_NONE;
}

/* Components of one submission count together. */
static enum refusal of_accounts_check(struct core *c, struct submission *s, struct draft *d)
{
    struct str why = STR_INIT, warning = STR_INIT;
    uint64_t elements = d->ids.count ? d->ids.count : 1;
    enum refusal refusal =
        limits_check(c, &d->spec, elements + (uint64_t)(d - s->draft), &why, &warning);
    if (refusal)
        refuse(s, refusal, "%s", str_text(&why));
    say(&s->warning, warning.len ? str_text(&warning) : NULL);
    str_done(&why);
    str_done(&warning);
    return refusal;
}

static enum refusal draft_check(struct core *c, struct submission *s, struct draft *d)
{
    enum refusal refusal = partition_check(c, s, &d->spec);
    enum job_reason pend = REASON_NONE;
    struct str why = STR_INIT;
    if (!refusal)
        refusal = account_choose(c, &d->spec.req, c->turn.peer->user, &why);
    if (!refusal)
        refusal = submit_host_check(c, d->spec.req.partition, &why);
    if (!refusal)
        refusal = resv_check(c, &d->spec.req, c->turn.peer->user, c->turn.peer->groups, &why);
    if (refusal && why.len)
        refuse(s, refusal, "%s", str_text(&why));
    if (!refusal)
        refusal = names_check(s, &d->spec);
    if (!refusal)
        refusal = exclude_check(c, &d->spec.req, &s->detail);
    if (!refusal)
        refusal = privileges_check(c, s, &d->spec);
    if (!refusal) {
        mail_check(c, s, &d->spec);
        resv_warn(c, &d->spec.req, &s->warning);
    }
    if (!refusal)
        refusal = times_check(c, s, &d->spec);
    if (!refusal)
        refusal = sampling_check(c, s, &d->spec);
    if (!refusal)
        refusal = array_check(c, s, d);
    if (!refusal && !d->spec.batch && d->ids.count)
        refusal = refuse(s, REFUSE_INVALID_ARRAY,
                         "an allocation cannot be an array: submit a batch script with --array");
    if (!refusal) {
        refusal = sched_check(c->cluster, &d->spec.req, c->turn.peer->uid, c->turn.peer->groups,
                              &pend, &why);
        if (refusal)
            refuse(s, refusal, "%s", str_text(&why));
        else
            say(&s->warning, pend == REASON_NONE ? str_text(&why) : NULL);
    }
    if (!refusal)
        refusal = of_accounts_check(c, s, d);
    str_done(&why);
    return refusal;
}

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

/* Its jobs as they would be kept, numbers among them; owned by the caller. */
static struct jobrec *trials_make(const struct core *c, const struct submission *s)
{
    struct jobrec *trial = xcalloc(s->n, sizeof *trial);
    for (size_t i = 0; i < s->n; i++)
        trial[i].j = (struct job){.id = c->jobs.next_id + i,
                                  .spec = s->draft[i].spec,
                                  .user_id = c->turn.peer->uid,
                                  .user_name = c->turn.peer->user,
                                  .group_name = c->turn.peer->group,
                                  .submit_us = c->turn.now_us,
                                  .eligible_us = c->turn.now_us};
    return trial;
}

static enum refusal together_check(struct core *c, struct submission *s)
{
    struct jobrec *trial = trials_make(c, s);
    struct str said = STR_INIT;
    enum refusal refusal = submit_together_check(c, trial, s->n, &s->detail, &said);
    say(&s->warning, said.len ? str_text(&said) : NULL);
    str_done(&said);
    free(trial);
    return refusal;
}

/* Of each element a row comes to be. */
static uint64_t texts_to_disk(const struct job_spec *spec, uint64_t elements)
{
    return texts_long(spec) * (elements ? elements : 1);
}

static enum refusal disk_check(struct core *c, struct submission *s)
{
    uint64_t bytes = s->m->script.len + s->m->env.len;
    for (size_t i = 0; i < s->n; i++)
        bytes += texts_to_disk(&s->draft[i].spec, s->draft[i].ids.count);
    return s->m->test_only || user_room_disk_fits(c, c->turn.peer->uid, bytes, &s->detail)
               ? REFUSE_NONE
               : REFUSE_TOO_LARGE;
}

enum refusal submission_check(struct core *c, struct submission *s)
{
    ASSERT(c->turn.peer);
    const struct job_spec *specs = s->m->specs.v;
    if (!s->n || s->n > 128)
        return refuse(s, REFUSE_BAD_MESSAGE, "a submission has from 1 to 128 components");
    if (s->m->script.len > LIMIT_SCRIPT_BYTES)
        return refuse(s, REFUSE_TOO_LARGE,
                      "the script has %zu bytes; at most %u are allowed: keep data in files and "
                      "read them in the job",
                      s->m->script.len, LIMIT_SCRIPT_BYTES);
    if (s->m->env.len > LIMIT_ENV_BYTES)
        return refuse(
            s, REFUSE_TOO_LARGE,
            "the exported environment has %zu bytes; at most %u are allowed: use --export=NONE or "
            "name what is needed",
            s->m->env.len, LIMIT_ENV_BYTES);
    if (!s->m->test_only && map_u64_count(c->jobs.by_id) + s->n > (size_t)c->settings.max_job_count)
        return refuse(s, REFUSE_QUEUE_FULL, "the queue is full: MaxJobCount is %d",
                      c->settings.max_job_count);
    if (!user_room_fits(c, s->m, &s->detail))
        return REFUSE_TOO_LARGE;
    for (size_t i = 0; i < s->n; i++) {
        s->draft[i].spec = specs[i];
        enum refusal refusal = draft_check(c, s, &s->draft[i]);
        if (refusal)
            return refusal;
    }
    enum refusal refusal = disk_check(c, s);
    return refusal ? refusal : together_check(c, s);
}

/* ---- keeping -------------------------------------------------------------------------------- */

static void system_comment_set(struct core *c, struct jobrec *r, const struct submission *s)
{
    struct str text = STR_INIT;
    say(&text, r->j.spec.no_effect);
    say(&text, s->warning.len ? str_text(&s->warning) : NULL);
    text_set(c, &r->j.system_comment, str_text(&text));
    str_done(&text);
}

static struct jobrec *record_make(struct core *c, struct submission *s, struct draft *d)
{
    struct jobrec *r = job_new(c, job_id_take(c));
    record_take(c, &job_spec_fields, &r->j.spec, &d->spec);
    r->j.user_id = c->turn.peer->uid;
    r->j.group_id = c->turn.peer->gid;
    text_set(c, &r->j.user_name, c->turn.peer->user);
    text_set(c, &r->j.group_name, c->turn.peer->group);
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
    user_room_texts(c, r);
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
            (before_check(c, r, asked, &err) && dependencies_set(c, r, asked, &err) &&
             components_fit(c, first, i + 1, &err)))
            continue;
        for (size_t k = 0; k < s->n; k++)
            job_forget(c, job_find(c, first + k));
        return refuse(s, REFUSE_DEPENDENCY, "%s", err.text);
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
        user_room_disk(c, r->j.user_id, texts_to_disk(&r->j.spec, r->pending.count));
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
    struct jobrec *trial = trials_make(c, s);
    submission_try(c, trial, s->n, !s->m->test_only, answer); /* else only now is asked for */
    free(trial);
}

void req_submit(struct core *c, const struct msg_submit *m)
{
    struct submission *s = submission_open(m);
    struct msg_submitted answer = {0};
    say(&s->warning, c->turn.remark);
    enum refusal refusal = submission_check(c, s);
    if (!refusal && (m->test_only || m->immediate))
        try_out(c, s, &answer);
    if (!refusal && m->immediate && answer.planned_us != c->turn.now_us)
        refusal = refuse(s, REFUSE_UNAVAILABLE,
                         "it cannot start at once; without --immediate it would wait");
    if (!refusal && m->test_only && !answer.planned_us)
        refusal = refuse(s, REFUSE_UNAVAILABLE, "no start can be planned now: %s",
                         answer.warning ? answer.warning : "its place in the queue is not known");
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
