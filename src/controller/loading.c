#include "controller/loading.h"

#include "base/alloc.h"
#include "controller/controller.h"
#include "controller/disk/given.h"
#include "controller/turn.h"
#include "io/clock.h"
#include "model/packed.h"

#include <stdlib.h>

struct started_job {
    uint64_t id;
    uint32_t attempt;
};

struct controller_loading {
    struct controller *c;
    enum store_table table;
    struct started_job *started; /* jobs that may have steps */
    size_t n, cap;
    uint64_t rows;
};

static void row_load(void *ctx, const void *record)
{
    struct controller_loading *l = ctx;
    l->rows++;
    core_load(l->c->core, l->table, record);
    const struct job *j = record;
    if (l->table != TABLE_JOB || j->attempt == 0)
        return;
    if (l->n == l->cap)
        l->started = xrealloc(l->started, (l->cap = l->cap * 2 + 64) * sizeof *l->started);
    l->started[l->n++] = (struct started_job){.id = j->id, .attempt = j->attempt};
}

static bool table_load(struct controller_loading *l, struct store *s, enum store_table table,
                       struct err *ret_err)
{
    int64_t ended_after_us = clock_now_us() - l->c->config.settings.min_job_age_us;
    l->table = table;
    return store_load(s, table, true, ended_after_us, row_load, l, ret_err);
}

/* Reads through all of a store that was put in another's place: the only part of a start that takes
 * longer the more jobs there ever were. */
static bool stranger_check(struct controller *c, const char *db, struct err *ret_err)
{
    int64_t start_us = clock_monotonic_us();
    log_info(c->log, "%s is not the store that was written last: reading through all of it", db);
    bool ok = store_whole(db, false, ret_err) || ret_err->code == ERR_UNAVAILABLE;
    log_info(c->log, "read through all of it in %lld ms",
             (long long)(clock_monotonic_us() - start_us) / 1000);
    return ok;
}

/* Is this the store that was written last? */
static bool given_compare(struct controller *c, uint64_t seq, struct err *ret_err)
{
    struct given g = {0};
    struct err err = {0};
    const char *path = controller_path(c, "given"), *db = controller_path(c, "remuda.db");
    if (!given_read(path, &g, ret_err))
        return false;
    if (given_is_known(&g)) {
        core_ids_from(c->core, g.next_job_id);
        if (g.seq > seq) {
            core_store_is_older(c->core);
            turns_number_beyond(c->turns, g.seq);
        }
        if (!given_is_of(&g, db, seq) && !stranger_check(c, db, ret_err))
            return false;
    }
    g.inode = given_inode(db);
    int fd = given_open(path, &err);
    if (fd >= 0)
        turns_write_given(c->turns, fd, &g);
    else /* a full disk must not keep the cluster down */
        log_warning(c->log, "an older store would not be noticed: %s", err.text);
    return true;
}

static void packed_load(void *ctx, const struct packed *p)
{
    struct controller_loading *l = ctx;
    core_load_packed(l->c->core, p);
    for (size_t i = 0; i < p->ntable; i++)
        l->rows += p->table[i].n;
}

/* Limits after what carries them. */
static bool accounts_load(struct controller_loading *l, struct store *s, struct err *ret_err)
{
    static const enum store_table tables[] = {TABLE_ACCOUNT, TABLE_ACCOUNT_USER, TABLE_ASSOC,
                                              TABLE_LIMIT,   TABLE_WCKEY,        TABLE_TRES,
                                              TABLE_USE};
    bool at_once = false;
    bool ok = table_load(l, s, TABLE_QOS, ret_err) &&
              store_load_packed(s, packed_load, l, &at_once, ret_err);
    for (size_t i = 0; ok && i < ARRAY_LEN(tables); i++)
        if (!at_once || !store_is_packed(tables[i]))
            ok = table_load(l, s, tables[i], ret_err);
    return ok;
}

bool controller_load(struct controller *c, struct store *s, uint64_t seq, struct err *ret_err)
{
    struct controller_loading l = {.c = c};
    int64_t start_us = clock_monotonic_us();
    bool ok =
        table_load(&l, s, TABLE_META, ret_err) && table_load(&l, s, TABLE_USAGE, ret_err) &&
        table_load(&l, s, TABLE_PARTITION, ret_err) && table_load(&l, s, TABLE_NODE, ret_err) &&
        table_load(&l, s, TABLE_NODE_SPELL, ret_err) && table_load(&l, s, TABLE_TOKEN, ret_err) &&
        table_load(&l, s, TABLE_HOST, ret_err) && table_load(&l, s, TABLE_RESERVATION, ret_err) &&
        accounts_load(&l, s, ret_err) && table_load(&l, s, TABLE_CRONTAB, ret_err) &&
        table_load(&l, s, TABLE_TRIGGER, ret_err) && table_load(&l, s, TABLE_ANSWERED, ret_err) &&
        table_load(&l, s, TABLE_JOB, ret_err);
    l.table = TABLE_STEP;
    for (size_t i = 0; ok && i < l.n; i++)
        ok = store_query_steps(s, l.started[i].id, l.started[i].attempt, row_load, &l, ret_err);
    free(l.started);
    ok = ok && table_load(&l, s, TABLE_QUEUED_STEP, ret_err);
    if (!ok || !given_compare(c, seq, ret_err))
        return false;
    if (c->killed)
        core_was_killed(c->core);
    core_loaded(c->core, clock_now_us(), turns_effects(c->turns));
    log_info(c->log, "loaded %llu rows from %s in %lld ms", (unsigned long long)l.rows,
             store_describe(s), (long long)(clock_monotonic_us() - start_us) / 1000);
    return true;
}
