/* The past: rows that go because they are old, and rows that come from an archive or from another
 * cluster. Memory holds nothing of either; what it does hold is never touched. */
#include "core/request/request.h"
#include "model/settings/key.h"

#define ADDED_ID_MAX (UINT64_C(1) << 31)

void req_archive(struct core *c, const struct msg_archive *m)
{
    struct past_rule rule[PAST_COUNT];
    struct err err = {0};
    if ((m->directory || m->script) && !(c->turn.peer && c->turn.peer->is_admin)) {
        reply_done(c, REFUSE_ACCESS_DENIED,
                   arena_printf(c->turn.fx->arena,
                                "where files are made and which program runs as the controller's "
                                "user only root and that user say; without Directory= and Script= "
                                "it is %s and %s",
                                SETTING_KEY(ArchiveDir), SETTING_KEY(ArchiveScript)));
        return;
    }
    past_rules(&c->settings, rule);
    if (!past_rules_change(rule, m->purge, m->archive, &err)) {
        reply_done(c, REFUSE_UPDATE, err.text);
        return;
    }
    fx_archive(c, m);
}

/* ---- removing ------------------------------------------------------------------------------- */

/* A run of a job that came again, and that no node has any more: memory knows nothing of it. */
static bool is_former(const struct core *c, const struct past_key *k)
{
    const struct jobrec *r = job_find(c, k->id);
    bool of_run = k->table == TABLE_JOB_RUN || k->table == TABLE_STEP || k->table == TABLE_JOB_PART;
    if (!r || !of_run || !job_live(r) || r->former_runs)
        return false;
    return k->attempt < r->j.attempt || (r->j.state == JOB_PENDING && k->attempt == r->j.attempt);
}

static bool is_remembered(const struct core *c, const struct past_key *k)
{
    return job_find(c, k->id) || (k->array_job_id && array_of(c, k->array_job_id)) ||
           (k->het_job_id && job_find(c, k->het_job_id));
}

static void row_remove(struct core *c, const struct past_key *k)
{
    switch (k->table) {
    case TABLE_JOB:
    case TABLE_JOB_RUN:
    case TABLE_JOB_PART:
        fx_remove(c, k->table,
                  &(struct job){.id = k->id, .attempt = k->attempt, .start_us = k->second});
        return;
    case TABLE_STEP:
        fx_remove(c, TABLE_STEP,
                  &(struct step){.job_id = k->id, .attempt = k->attempt, .step_id = k->second});
        return;
    case TABLE_PAYLOAD: fx_remove(c, TABLE_PAYLOAD, &(struct payload){.job_id = k->id}); return;
    case TABLE_NODE_SPELL:
        fx_remove(c, TABLE_NODE_SPELL,
                  &(struct node_spell){.name = k->name, .start_us = k->second});
        return;
    case TABLE_PAST_RESERVATION:
        fx_remove(c, TABLE_PAST_RESERVATION,
                  &(struct reservation){.name = k->name, .start_us = k->second});
        return;
    case TABLE_TRANSACTION:
        fx_remove(c, TABLE_TRANSACTION, &(struct transaction){.id = k->id});
        return;
    case TABLE_QUEUED_STEP:
    case TABLE_NODE:
    case TABLE_PARTITION:
    case TABLE_RESERVATION:
    case TABLE_META:
    case TABLE_USAGE:
    case TABLE_USE:
    case TABLE_TOKEN:
    case TABLE_HOST:
    case TABLE_ACCOUNT:
    case TABLE_ACCOUNT_USER:
    case TABLE_ASSOC:
    case TABLE_QOS:
    case TABLE_LIMIT:
    case TABLE_WCKEY:
    case TABLE_TRES:
    case TABLE_USED_HOUR:
    case TABLE_CRONTAB:
    case TABLE_TRIGGER:
    case TABLE_ANSWERED:
    case TABLE_LEFT_OUT:
    case STORE_TABLE_COUNT: return;
    }
}

static bool is_of_job(enum store_table table)
{
    return table == TABLE_JOB || table == TABLE_JOB_RUN || table == TABLE_JOB_PART ||
           table == TABLE_STEP || table == TABLE_PAYLOAD;
}

void past_remove(struct core *c, const struct past_rows *rows)
{
    for (size_t i = 0; i < rows->n; i++)
        if (!is_of_job(rows->v[i].table) || !is_remembered(c, &rows->v[i]) ||
            is_former(c, &rows->v[i]))
            row_remove(c, &rows->v[i]);
    if (rows->used_before_us) {
        struct str text = STR_INIT;
        str_add_i64(&text, rows->used_before_us);
        fx_store(c, TABLE_META, &(struct meta){.key = META_USED_SINCE, .value = str_text(&text)});
        str_done(&text);
    }
}

/* ---- adding --------------------------------------------------------------------------------- */

static bool job_may_come(const struct core *c, const struct job *j, bool whole, struct err *ret_err)
{
    if (!j->id || j->id > ADDED_ID_MAX)
        return err_set(ret_err, ERR_INVALID, "a job's number is 1 to %llu",
                       (unsigned long long)ADDED_ID_MAX);
    if (whole ? !core_row_sound(TABLE_JOB, j, ret_err) : !record_check(&job_fields, j, ret_err))
        return false;
    if (whole && !job_state_over((enum job_state)j->state))
        return err_set(ret_err, ERR_INVALID, "it is not over");
    return j->end_us <= c->turn.now_us || err_set(ret_err, ERR_INVALID, "it ends in the future");
}

static bool jobs_may_come(const struct core *c, const struct record_list *l, bool whole,
                          struct err *ret_err)
{
    const struct job *j = l->v;
    for (size_t i = 0; i < l->n; i++)
        if (!job_may_come(c, &j[i], whole, ret_err))
            return err_prefix(ret_err, "job %llu", (unsigned long long)j[i].id);
    return true;
}

/* Keys that are texts are there. */
static bool others_may_come(const struct core *c, const struct msg_add_past *m, struct err *ret_err)
{
    const struct step *s = m->steps.v;
    const struct payload *p = m->payloads.v;
    const struct node_spell *n = m->events.v;
    const struct reservation *r = m->reservations.v;
    const struct used *u = m->sums.v;
    bool ok = true;
    for (size_t i = 0; ok && i < m->steps.n; i++)
        ok = s[i].job_id && core_row_sound(TABLE_STEP, &s[i], NULL);
    for (size_t i = 0; ok && i < m->payloads.n; i++)
        ok = p[i].job_id != 0;
    for (size_t i = 0; ok && i < m->events.n; i++)
        ok = !text_empty(n[i].name) && n[i].end_us && n[i].end_us <= c->turn.now_us;
    for (size_t i = 0; ok && i < m->reservations.n; i++)
        ok = !text_empty(r[i].name) && core_row_sound(TABLE_RESERVATION, &r[i], NULL);
    for (size_t i = 0; ok && i < m->sums.n; i++)
        ok = u[i].from_us > 0 && u[i].from_us <= c->turn.now_us && u[i].cpu_s >= 0;
    return ok || err_set(ret_err, ERR_INVALID,
                         "a step, a script, an event, a reservation or a sum that cannot be");
}

static void list_add(struct core *c, enum store_table table, const struct record_list *l)
{
    size_t size = store_table_rows[table].fields->size;
    for (size_t i = 0; i < l->n; i++)
        fx_add(c, table, (const char *)l->v + i * size);
}

static void sums_add(struct core *c, const struct record_list *l)
{
    const struct used *u = l->v;
    struct str who = STR_INIT;
    for (size_t i = 0; i < l->n; i++) {
        struct used_hour h = used_hour_of(&u[i], &who);
        fx_add(c, TABLE_USED_HOUR, &h);
    }
    str_done(&who);
}

void req_add_past(struct core *c, const struct msg_add_past *m)
{
    struct err err = {0};
    const struct job *j = m->jobs.v;
    if (!jobs_may_come(c, &m->jobs, true, &err) || !jobs_may_come(c, &m->runs, false, &err) ||
        !jobs_may_come(c, &m->parts, false, &err) || !others_may_come(c, m, &err)) {
        reply_done(c, REFUSE_UPDATE, err.text);
        return;
    }
    for (size_t i = 0; i < m->jobs.n; i++)
        if (j[i].id >= c->jobs.next_id)
            c->jobs.next_id = j[i].id + 1;
    list_add(c, TABLE_JOB_PART, &m->parts);
    list_add(c, TABLE_JOB_RUN, &m->runs);
    list_add(c, TABLE_JOB, &m->jobs);
    list_add(c, TABLE_STEP, &m->steps);
    list_add(c, TABLE_PAYLOAD, &m->payloads);
    list_add(c, TABLE_NODE_SPELL, &m->events);
    list_add(c, TABLE_PAST_RESERVATION, &m->reservations);
    list_add(c, TABLE_TRANSACTION, &m->transactions);
    sums_add(c, &m->sums);
    reply_done(c, REFUSE_NONE, NULL);
}
