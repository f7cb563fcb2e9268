/* Users' tables for scrontab, and the jobs that come of them.
 *
 * An entry of a table is one job for as long as the table is: it waits for its next time, runs,
 * and goes back to wait for the time that is next when it is over. So it never runs beside
 * itself, and what was due meanwhile is left out. A time that came while the controller was down
 * is made up for once, when it is back. The table is kept as its owner wrote it; the job knows
 * its lines. */
#include "core/record/record.h"
#include "model/grammar/cron.h"

#include <string.h>

/* A clock that is set back by less does not let a job run again for times for which it ran. */
#define SET_BACK_US (3 * USEC_PER_HOUR)

struct crontabrec *crontab_find(const struct core *c, uint32_t uid)
{
    return map_u64_get(c->users.crontab, (uint64_t)uid + 1);
}

static struct crontabrec *crontab_ensure(struct core *c, uint32_t uid)
{
    struct crontabrec *table = crontab_find(c, uid);
    if (!table) {
        table = xcalloc(1, sizeof *table);
        table->t.user_id = uid;
        map_u64_put(c->users.crontab, (uint64_t)uid + 1, table);
    }
    return table;
}

static void crontab_free(struct crontabrec *table)
{
    vec_done(&table->job);
    free(table);
}

void crontabs_free(struct core *c)
{
    struct map_walk w = {0};
    while (map_u64_next(c->users.crontab, &w))
        crontab_free(w.value);
    map_u64_free(c->users.crontab);
}

static void crontab_drop_empty(struct core *c, struct crontabrec *table)
{
    if (table->t.text || table->job.n)
        return;
    map_u64_del(c->users.crontab, (uint64_t)table->t.user_id + 1);
    crontab_free(table);
}

void crontab_load(struct core *c, const struct crontab *row)
{
    text_set(c, &crontab_ensure(c, row->user_id)->t.text, row->text);
}

void crontab_put(struct core *c, uint32_t uid, const char *text)
{
    struct crontabrec *table = crontab_ensure(c, uid);
    if (text)
        fx_store(c, TABLE_CRONTAB, &(struct crontab){.user_id = uid, .text = text});
    else if (table->t.text)
        fx_remove(c, TABLE_CRONTAB, &table->t);
    text_set(c, &table->t.text, text);
    crontab_drop_empty(c, table);
}

void cron_join(struct core *c, struct jobrec *r)
{
    ASSERT(r->j.cron && !r->j.array_job_id && !r->j.het_job_id);
    struct crontabrec *table = crontab_ensure(c, r->j.user_id);
    vec_push(&table->job, r->j.id);
}

void cron_leave(struct core *c, struct jobrec *r)
{
    ASSERT(r->j.cron);
    struct crontabrec *table = crontab_find(c, r->j.user_id);
    for (size_t i = 0; table && i < table->job.n; i++)
        if (table->job.v[i] == r->j.id) {
            vec_remove(&table->job, i);
            break;
        }
    text_set(c, &r->j.cron, NULL);
    r->j.cron_first = r->j.cron_last = 0;
    r->j.cron_ran_us = 0;
    r->j.spec.begin_us = 0; /* it was the table's, and who sends it back means now */
    if (table)
        crontab_drop_empty(c, table);
    job_save(c, r);
}

static bool line_counts(const char *line, size_t len)
{
    return span_trim((struct span){line, len}).len && !text_starts(line, CRON_DISABLED);
}

/* Its lines are no more than remarks from now on. */
static void lines_mark(struct core *c, const struct jobrec *r)
{
    struct crontabrec *table = crontab_find(c, r->j.user_id);
    struct str text = STR_INIT;
    const char *at = table ? table->t.text : NULL;
    for (uint32_t number = 1; at && *at; number++) {
        size_t len = strcspn(at, "\n"), whole = len + (at[len] == '\n');
        if (number >= r->j.cron_first && number <= r->j.cron_last && line_counts(at, len))
            str_add(&text, CRON_DISABLED);
        str_addn(&text, at, whole);
        at += whole;
    }
    if (text.len)
        crontab_put(c, r->j.user_id, str_text(&text));
    str_done(&text);
}

void cron_over(struct core *c, struct jobrec *r)
{
    ASSERT(!job_live(r));
    if (!r->j.cron)
        return;
    if (r->j.start_us && !r->j.killed_by_uid_plus1 && r->j.state != JOB_DEADLINE) {
        vec_push(&c->marks.again, r->j.id);
        return;
    }
    lines_mark(c, r);
    cron_leave(c, r);
}

/* Has the table the last line of its entry still? */
static bool line_is_there(const struct crontabrec *table, const struct jobrec *r)
{
    const char *at = table->t.text;
    for (uint32_t number = 1; at && *at; number++) {
        size_t len = strcspn(at, "\n");
        struct span line = span_trim((struct span){at, len});
        if (number == r->j.cron_last)
            return line.len && *line.data != '#';
        at += len + (at[len] == '\n');
    }
    return false;
}

/* Has another its lines, which waits for them or was made later? */
static bool lines_are_taken(const struct core *c, const struct crontabrec *table,
                            const struct jobrec *r)
{
    for (size_t i = 0; i < table->job.n; i++) {
        const struct jobrec *other = job_find(c, table->job.v[i]);
        if (other != r && other->j.cron_first <= r->j.cron_last &&
            other->j.cron_last >= r->j.cron_first && (job_live(other) || other->j.id > r->j.id))
            return true;
    }
    return false;
}

void crons_restore(struct core *c)
{
    for (size_t i = 0; i < c->marks.again.n; i++) {
        struct jobrec *r = job_find(c, c->marks.again.v[i]);
        const struct crontabrec *table = crontab_find(c, r->j.user_id);
        if (!line_is_there(table, r) || lines_are_taken(c, table, r))
            cron_leave(c, r);
    }
}

static int64_t next_time(const struct core *c, const struct jobrec *r)
{
    struct cron cron;
    int64_t after = c->turn.now_us, ran = r->j.cron_ran_us;
    if (!cron_parse(r->j.cron, &cron, NULL, NULL))
        return r->j.spec.begin_us;
    if (ran > after && ran - after <= SET_BACK_US)
        after = ran;
    return cron_next(&cron, after, cluster_zone(c->cluster));
}

void cron_wait(struct core *c, struct jobrec *r)
{
    ASSERT(r->j.cron);
    r->j.cron_ran_us = r->j.spec.begin_us;
    r->j.submit_us = c->turn.now_us; /* as in Slurm: its age is of this time, not of the table */
    r->j.first_submit_us = 0;
    r->j.spec.begin_us = next_time(c, r);
}

void crons_look(struct core *c)
{
    struct map_walk w = {0};
    while (map_u64_next(c->users.crontab, &w)) {
        const struct crontabrec *table = w.value;
        for (size_t i = 0; i < table->job.n; i++) {
            struct jobrec *r = job_find(c, table->job.v[i]);
            if (r->j.state != JOB_PENDING || r->j.spec.begin_us <= c->turn.now_us)
                continue;
            int64_t next = next_time(c, r);
            if (next == r->j.spec.begin_us)
                continue;
            r->j.spec.begin_us = next;
            eligible_update(c, r);
            job_save(c, r);
        }
    }
}
