/* A user's table for scrontab is changed as a whole, in one event: what there was goes, with its
 * jobs, and what there is to be comes, or, where one line of it will not do, nothing happens. A
 * job of the former table that runs goes on, as one that does not come again.
 *
 * Each entry is checked as a submission would be, as if those of the former table were gone and
 * the entries before it were there. */
#include "core/record/accounts/limits.h"
#include "core/request/request.h"
#include "model/grammar/cron.h"
#include "model/job/owner.h"

#include <string.h>

struct crontab_change {
    const struct msg_set_crontab *m;
    const struct cron_entry *entry;
    struct msg_submit *submit; /* of each entry */
    struct job_spec *spec;
    struct submission **made;
    struct jobrec *counted; /* those that were checked, as limits count them */
    size_t checked;
    jobrec_vec former;
    VEC(struct result) result;
    struct str warning;
    struct str full; /* why the queue has no room */
};

static void result_add(struct core *c, struct crontab_change *x, uint32_t line,
                       enum refusal refusal, const char *detail)
{
    struct arena *a = c->turn.fx->arena;
    struct result result = {
        .ref = arena_printf(a, "%u", line), .refusal = refusal, .detail = arena_strdup(a, detail)};
    vec_push(&x->result, result);
}

/* What no terminal and no line should have in it. */
static const char *text_wrong(const char *text)
{
    if (strlen(text) > LIMIT_TEXT_BYTES)
        return "a table has at most 64 KiB";
    for (const char *p = text; *p; p++)
        if (((unsigned char)*p < ' ' && *p != '\n' && *p != '\t') || *p == 0x7f)
            return "there is a control character in it";
    return NULL;
}

static const char *entry_wrong(const struct cron_entry *e)
{
    const struct job_spec *spec = e->spec.v;
    if (e->spec.n != 1 || !e->cron || !e->script.len || !e->first || e->last < e->first)
        return "an entry has a time, a script and one job";
    if (!spec->batch || spec->attached)
        return "it has to be a batch job";
    if (!text_empty(spec->array))
        return "a job of scrontab cannot be an array: it is one job that comes again";
    if (!text_empty(spec->dependency))
        return "a job of scrontab cannot depend on others: it would for its first run alone";
    return NULL;
}

static enum refusal entry_check(struct core *c, struct crontab_change *x, size_t i)
{
    const struct cron_entry *e = &x->entry[i];
    struct cron cron;
    struct err err = {0};
    const char *wrong = entry_wrong(e);
    if (wrong || !cron_parse(e->cron, &cron, NULL, &err)) {
        result_add(c, x, e->last, REFUSE_BEGIN_TIME, wrong ? wrong : err.text);
        return REFUSE_BEGIN_TIME;
    }
    x->spec[i] = *(const struct job_spec *)e->spec.v;
    x->spec[i].begin_us = cron_next(&cron, c->turn.now_us, cluster_zone(c->cluster));
    x->submit[i] =
        (struct msg_submit){.specs = {&x->spec[i], 1}, .script = e->script, .env = e->env};
    x->made[i] = submission_open(&x->submit[i]);
    enum refusal refusal = submission_check(c, x->made[i]);
    if (refusal) {
        result_add(c, x, e->last, refusal, submission_detail(x->made[i]));
        return refusal;
    }
    if (submission_warning(x->made[i]))
        str_addf(&x->warning, "%sline %u: %s", x->warning.len ? "\n" : "", e->last,
                 submission_warning(x->made[i]));
    struct jobrec *r = &x->counted[x->checked++];
    r->j.spec = *submission_spec(x->made[i]);
    r->j.user_name = c->turn.peer->user;
    limits_count(c, r, +1);
    return REFUSE_NONE;
}

/* All are looked at, so that all that is wrong is said at once. */
static enum refusal entries_check(struct core *c, struct crontab_change *x)
{
    enum refusal first = REFUSE_NONE;
    if (!user_room_jobs_fit(c, c->turn.peer->uid, x->m->entries.n, &x->full))
        return REFUSE_QUEUE_FULL;
    for (size_t i = 0; i < x->former.n; i++)
        if (job_waits(x->former.v[i]))
            limits_count(c, x->former.v[i], -1);
    for (size_t i = 0; i < x->m->entries.n; i++) {
        enum refusal refusal = entry_check(c, x, i);
        first = first ? first : refusal;
    }
    for (size_t i = 0; i < x->checked; i++)
        limits_count(c, &x->counted[i], -1);
    for (size_t i = 0; i < x->former.n; i++)
        if (job_waits(x->former.v[i]))
            limits_count(c, x->former.v[i], +1);
    return first;
}

static void former_leave(struct core *c, struct crontab_change *x)
{
    for (size_t i = 0; i < x->former.n; i++) {
        struct jobrec *r = x->former.v[i];
        cron_leave(c, r);
        if (!job_waits(r))
            continue;
        r->j.killed_by_uid_plus1 = c->turn.peer->uid + 1;
        job_over(c, r, JOB_CANCELLED, REASON_NONE);
    }
}

static void entries_keep(struct core *c, struct crontab_change *x)
{
    for (size_t i = 0; i < x->m->entries.n; i++) {
        const struct cron_entry *e = &x->entry[i];
        uint64_t id;
        CHECK(submission_keep(c, x->made[i], &id) == REFUSE_NONE);
        struct jobrec *r = job_find(c, id);
        text_set(c, &r->j.cron, e->cron);
        r->j.cron_first = e->first;
        r->j.cron_last = e->last;
        cron_join(c, r);
        job_save(c, r);
    }
}

/* Who may have user namespaces is 65,536 users without a name, and a table of remarks makes no job,
 * whose room would bound it. */
static enum refusal change_wrong(const struct core *c, const struct msg_set_crontab *m,
                                 const char **detail)
{
    *detail = m->text ? text_wrong(m->text) : NULL;
    if (*detail)
        return REFUSE_TOO_LARGE;
    if (m->text && c->settings.word.scron_disable) {
        *detail = "scrontab is disabled on this cluster (ScronParameters=disable): a table can be "
                  "read and removed";
        return REFUSE_DISABLED;
    }
    if (m->text && peer_is_nameless(c->turn.peer)) {
        *detail = "the controller's host knows no name for this user, and only users with a name "
                  "have tables: one can be read and removed";
        return REFUSE_ACCESS_DENIED;
    }
    if (!m->text && m->entries.n) {
        *detail = "entries of no table";
        return REFUSE_BAD_MESSAGE;
    }
    if (m->entries.n > LIMIT_CRONTAB_ENTRIES) {
        *detail = "a table has at most 200 entries";
        return REFUSE_TOO_LARGE;
    }
    return REFUSE_NONE;
}

static void change_do(struct core *c, struct crontab_change *x)
{
    struct crontabrec *table = crontab_find(c, c->turn.peer->uid);
    for (size_t i = 0; table && i < table->job.n; i++)
        vec_push(&x->former, job_find(c, table->job.v[i]));
    struct msg_done done = {.refusal = entries_check(c, x)};
    if (!done.refusal) {
        former_leave(c, x);
        crontab_put(c, c->turn.peer->uid, x->m->text);
        entries_keep(c, x);
        done.count = x->m->entries.n;
        done.warning = x->warning.len ? str_text(&x->warning) : NULL;
    }
    done.detail = x->full.len ? str_text(&x->full) : NULL;
    done.results = (struct record_list){x->result.v, x->result.n};
    fx_reply(c, c->turn.conn, c->turn.seq, MSG_DONE, &done);
}

void req_set_crontab(struct core *c, const struct msg_set_crontab *m)
{
    ASSERT(c->turn.peer);
    const char *detail;
    enum refusal refusal = change_wrong(c, m, &detail);
    if (refusal) {
        reply_done(c, refusal, detail);
        return;
    }
    size_t n = m->entries.n ? m->entries.n : 1;
    struct crontab_change x = {.m = m, .entry = m->entries.v};
    x.submit = xcalloc(n, sizeof *x.submit);
    x.spec = xcalloc(n, sizeof *x.spec);
    x.made = xcalloc(n, sizeof *x.made);
    x.counted = xcalloc(n, sizeof *x.counted);
    change_do(c, &x);
    for (size_t i = 0; i < n; i++)
        if (x.made[i])
            submission_close(x.made[i]);
    free(x.submit);
    free(x.spec);
    free(x.made);
    free(x.counted);
    vec_done(&x.former);
    vec_done(&x.result);
    str_done(&x.warning);
    str_done(&x.full);
}

/* Its jobs know whose number it was. */
static bool table_is_his(const struct core *c, const struct crontabrec *table)
{
    const struct peer *peer = c->turn.peer;
    for (size_t i = 0; i < table->job.n; i++)
        if (!job_is_of(&job_find(c, table->job.v[i])->j, peer->uid, peer->user))
            return false;
    return true;
}

void req_get_crontab(struct core *c, const struct msg_get_crontab *m)
{
    ASSERT(c->turn.peer);
    uint32_t uid = m->user_plus1 ? m->user_plus1 - 1 : c->turn.peer->uid;
    if (uid != c->turn.peer->uid && !peer_operates(c, c->turn.peer)) {
        reply_done(c, REFUSE_ACCESS_DENIED, "only operators may read the table of another user");
        return;
    }
    const struct crontabrec *table = crontab_find(c, uid);
    if (table && !peer_operates(c, c->turn.peer) && !table_is_his(c, table))
        table = NULL;
    struct msg_crontab answer = {.text = table ? table->t.text : NULL};
    fx_reply(c, c->turn.conn, c->turn.seq, MSG_CRONTAB, &answer);
}
