/* The oracle about accounts: no job starts beyond a limit that holds for it, by the books as they
 * were committed, and what the controller has in memory of accounts is what the store has. */
#include "base/idset.h"
#include "base/list.h"
#include "base/map.h"
#include "model/grammar/time_windows.h"
#include "model/job/alloc.h"
#include "sim/world/inside.h"

#include <string.h>

/* ---- the oracle about limits ---------------------------------------------------------------- */

struct books {
    struct arena *a;
    VEC(const struct job *) job;  /* that have resources */
    VEC(const struct job *) asks; /* that wait */
    VEC(const struct assoc *) assoc;
    VEC(const struct qos *) qos;
    VEC(const struct limit *) limit;
    enum store_table table;
};

static void book_row(void *ctx, const void *record)
{
    struct books *b = ctx;
    const struct fields *t = store_table_rows[b->table].fields;
    const struct job *j = record;
    bool waits = b->table == TABLE_JOB && j->state == JOB_PENDING;
    if (b->table == TABLE_JOB && !waits && j->state != JOB_RUNNING && j->state != JOB_SUSPENDED)
        return;
    void *copy = arena_alloc(b->a, t->size);
    record_copy(t, copy, record, b->a);
    if (waits)
        vec_push(&b->asks, copy);
    else if (b->table == TABLE_JOB)
        vec_push(&b->job, copy);
    else if (b->table == TABLE_ASSOC)
        vec_push(&b->assoc, copy);
    else if (b->table == TABLE_QOS)
        vec_push(&b->qos, copy);
    else
        vec_push(&b->limit, copy);
}

static void books_read(struct sim_world *w, struct books *b)
{
    static const enum store_table tables[] = {TABLE_JOB, TABLE_ASSOC, TABLE_QOS, TABLE_LIMIT};
    b->a = arena_new();
    for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
        b->table = tables[i];
        store_load(w->store, tables[i], false, 0, book_row, b, NULL);
    }
}

static void books_done(struct books *b)
{
    vec_done(&b->job);
    vec_done(&b->asks);
    vec_done(&b->assoc);
    vec_done(&b->qos);
    vec_done(&b->limit);
    arena_free(b->a);
}

/* Is the account this one, or below it? */
static bool is_below(const struct books *b, const char *account, const char *above)
{
    for (size_t depth = 0; account && depth < 8; depth++) {
        const char *parent = NULL;
        if (text_is(account, above))
            return true;
        for (size_t i = 0; i < b->assoc.n; i++)
            if (!b->assoc.v[i]->user && text_is(b->assoc.v[i]->account, account))
                parent = b->assoc.v[i]->parent;
        account = parent;
    }
    return false;
}

bool world_account_is_below(struct sim_world *w, const char *account, const char *above)
{
    struct books b = {0};
    books_read(w, &b);
    bool is = is_below(&b, account, above);
    books_done(&b);
    return is;
}

/* "gpu:v100=4": nodes of worlds have no other kind. */
static int64_t gpus_of(const struct job *j)
{
    const char *equals = j->alloc_gres ? strchr(j->alloc_gres, '=') : NULL;
    int64_t count = 0;
    return equals && text_to_i64(equals + 1, 0, INT32_MAX, &count) ? count : 0;
}

static int64_t amount_of(const struct job *j, const char *tres)
{
    if (!tres)
        return 1;
    return text_is(tres, "cpu")           ? j->alloc_cpus
           : text_is(tres, "license/lic") ? world_use_rate(j, tres) / 1000
           : text_is(tres, "billing")     ? j->alloc_cpus /* no partition has weights */
                                          : gpus_of(j);
}

/* Does the limit concern the job, as it does the one that started? */
static bool concerns(const struct books *b, const struct limit *l, const struct job *j,
                     const struct job *started)
{
    enum limit_scope scope = resource_limit_table[l->what].scope;
    if (l->owner == OWNER_ASSOC) {
        for (size_t i = 0; i < b->assoc.n; i++)
            if (b->assoc.v[i]->id == l->owner_id)
                return is_below(b, j->spec.req.account, b->assoc.v[i]->account);
        return false;
    }
    for (size_t i = 0; i < b->qos.n; i++)
        if (b->qos.v[i]->id == l->owner_id && !text_is(b->qos.v[i]->name, j->spec.req.qos))
            return false;
    return (scope != SCOPE_USER || text_is(j->user_name, started->user_name)) &&
           (scope != SCOPE_ACCOUNT || text_is(j->spec.req.account, started->spec.req.account));
}

static const struct qos *qos_of(const struct books *b, const char *name)
{
    for (size_t i = 0; i < b->qos.n; i++)
        if (text_is(b->qos.v[i]->name, name))
            return b->qos.v[i];
    return NULL;
}

/* So much of it the job may have: LimitFactor of its QOS counts for limits of accounts. */
static int64_t worth(const struct books *b, const struct limit *l, const struct job *started)
{
    const struct qos *q = qos_of(b, started->spec.req.qos);
    bool more = q && q->limit_factor_e6_plus1 > 1 && l->owner == OWNER_ASSOC && l->tres;
    return more ? l->value * (q->limit_factor_e6_plus1 - 1) / 1000000 : l->value;
}

/* Hours are in UTC here: worlds set no zone. */
static bool holds_then(const struct books *b, const struct limit *l, int64_t at_us)
{
    struct time_windows hours;
    struct zone utc = {0};
    return !l->hours || !time_hours_parse(l->hours, b->a, &hours, NULL) ||
           time_windows_open(&hours, at_us, &utc);
}

/* Who gives way is of a QOS that the asker's lists, as the books say. */
static void victim_check(struct sim_world *w, const struct books *b, const struct job *victim)
{
    const struct qos *of = NULL;
    for (size_t i = 0; i < b->asks.n; i++)
        if (b->asks.v[i]->id == victim->preempt_for)
            of = qos_of(b, b->asks.v[i]->spec.req.qos);
    if (of && (!of->preempt || !list_has(of->preempt, victim->spec.req.qos)))
        world_broke(w, "job %llu of QOS %s gives way to job %llu, whose QOS does not list that",
                    (unsigned long long)victim->id,
                    victim->spec.req.qos ? victim->spec.req.qos : "none",
                    (unsigned long long)victim->preempt_for);
}

/* ---- limits in minutes ---------------------------------------------------------------------- */

/* Of the owner and all below it. */
static struct simused used_of(struct sim_world *w, const struct books *b, const struct limit *l)
{
    struct simused sum = {0}, one;
    const struct assoc *top = NULL;
    if (l->owner == OWNER_QOS) {
        world_use_get(w, "qos", l->owner_id, l->tres, &sum);
        return sum;
    }
    for (size_t i = 0; i < b->assoc.n; i++)
        if (b->assoc.v[i]->id == l->owner_id)
            top = b->assoc.v[i];
    for (size_t i = 0; top && i < b->assoc.n; i++) {
        const struct assoc *a = b->assoc.v[i];
        if (!a->user || !is_below(b, a->account, top->account) ||
            !world_use_get(w, "assoc", a->id, l->tres, &one))
            continue;
        sum.now += one.now;
        sum.before += one.before;
    }
    return sum;
}

/* Whole seconds that a run may still use: beyond what it was charged, or from now on. */
static int64_t seconds_left(struct sim_world *w, const struct job *j, bool beyond_charged)
{
    int64_t at_us = j->state == JOB_SUSPENDED ? j->suspend_us : world_wall(w),
            ran_us = at_us - j->start_us - j->suspended_us,
            left_us = beyond_charged ? j->limit_us - world_use_charged(w, j->id) * USEC_PER_SEC
                                     : j->limit_us - ran_us;
    return left_us > 0 ? left_us / USEC_PER_SEC : 0;
}

static void minutes_check(struct sim_world *w, const struct books *b, const struct limit *l,
                          const struct job *started)
{
    bool used = resource_limit_table[l->what].counts == COUNTS_USED,
         safe = w->config.settings.word.enforce_safe;
    int64_t unit = 60 * (l->tres && text_is(l->tres, "mem") ? 1 : 1000), most = l->value * unit,
            promised = 0;
    struct simused all = {0};
    if (!world_use_began(w, started->id) || !concerns(b, l, started, started) ||
        !world_use_rate(started, l->tres))
        return;
    if (used)
        all = used_of(w, b, l);
    for (size_t i = 0; i < b->job.n && (safe || !used); i++)
        if (concerns(b, l, b->job.v[i], started))
            promised += world_use_rate(b->job.v[i], l->tres) * seconds_left(w, b->job.v[i], used);
    if (used && !safe ? all.now >= most && all.before >= most : all.now + promised > most)
        world_broke(w,
                    "job %llu started, and with it %lld is used or promised of %s, of which %lld "
                    "may be",
                    (unsigned long long)started->id, (long long)(all.now + promised), l->id,
                    (long long)most);
}

/* ---- ageing --------------------------------------------------------------------------------- */

/* So many of its elements gain priority by age. */
static int64_t gains(const struct job *j)
{
    struct idset pending = {0};
    struct span rest = span_of(j->accruing ? j->accruing : ""), piece;
    int64_t n = 0;
    if (j->state != JOB_PENDING || !j->eligible_us || j->spec.hold || j->accrue_us == ACCRUES_NOT)
        return 0;
    if (!j->array_pending)
        return 1;
    int64_t most =
        idset_parse(&pending, j->array_pending, UINT32_MAX - 1, NULL) ? (int64_t)pending.count : 0;
    idset_done(&pending);
    while (j->accrue_us && span_next(&rest, ',', &piece))
        for (int64_t of = 0, i = 0; i < (int64_t)piece.len; i++) {
            if (piece.data[i] == '@') {
                n += of;
                break;
            }
            of = of * 10 + (piece.data[i] - '0');
        }
    return !j->accrue_us || n > most ? most : n; /* some may have been cancelled */
}

/* Was it set in the batch, perhaps after what the batch has of jobs? One that waits for the disk
 * has what several turns did. */
static bool is_new(const struct batch *batch, const struct limit *l)
{
    for (size_t i = 0; i < batch->n; i++)
        if (batch->row[i].table == TABLE_LIMIT && batch->row[i].op == ROW_PUT &&
            text_is(((const struct limit *)batch->row[i].record)->id, l->id))
            return true;
    return false;
}

/* More of it gain than before: no limit on that is exceeded now. */
static void gains_check(struct sim_world *w, const struct books *b, const struct job *j,
                        const struct batch *batch)
{
    for (size_t i = 0; i < b->limit.n; i++) {
        const struct limit *l = b->limit.v[i];
        int64_t sum = 0;
        if (resource_limit_table[l->what].counts != COUNTS_ACCRUING || !concerns(b, l, j, j) ||
            is_new(batch, l))
            continue;
        for (size_t k = 0; k < b->asks.n; k++)
            sum += concerns(b, l, b->asks.v[k], j) ? gains(b->asks.v[k]) : 0;
        if (sum > l->value)
            world_broke(w,
                        "job %llu gains priority by age, and with it %lld do of %s, of which %lld "
                        "may",
                        (unsigned long long)j->id, (long long)sum, l->id, (long long)l->value);
    }
}

/* Remembers it. An element that is split off takes what its array gained before, which is no more
 * than there was, though a limit may have been lowered since. */
static bool gains_more(struct sim_world *w, const struct job *j)
{
    int64_t now = gains(j), before = (int64_t)(uintptr_t)map_u64_get(w->gaining, j->id);
    if (now)
        map_u64_put(w->gaining, j->id, (void *)(uintptr_t)now);
    else
        map_u64_del(w->gaining, j->id);
    bool inherited = !j->array_pending && j->accrue_us != world_wall(w);
    return now > before && j->accrue_us && !inherited; /* 0: there was no limit when it began */
}

/* ---- starts --------------------------------------------------------------------------------- */

/* Nodes it has that none of those before has: one that several share counts once. */
static int64_t nodes_add(struct map_str *seen, const struct job *j, struct arena *a)
{
    struct alloc al = {0};
    int64_t more = 0;
    bool is = j->alloc && alloc_parse(j->alloc, a, &al, NULL);
    for (size_t i = 0; is && i < al.n; i++) {
        more += !map_str_get(seen, al.node[i].node);
        map_str_put(seen, al.node[i].node, seen);
    }
    return more;
}

static int64_t amount_more(struct books *b, const struct limit *l, const struct job *j,
                           struct map_str *seen)
{
    return text_is(l->tres, "node") ? nodes_add(seen, j, b->a) : amount_of(j, l->tres);
}

/* What one job may have: of what it has, and not of what it asked for. */
static void got_check(struct sim_world *w, struct books *b, const struct limit *l,
                      const struct job *started)
{
    bool of_nodes = text_is(l->tres, "node");
    int64_t has = of_nodes ? started->alloc_nodes : amount_of(started, l->tres),
            most = worth(b, l, started);
    if (l->what == LIMIT_MAX_TRES && concerns(b, l, started, started) && has > most)
        world_broke(w, "job %llu started with %lld of %s, of which %lld may be",
                    (unsigned long long)started->id, (long long)has, l->id, (long long)most);
}

static void start_check(struct sim_world *w, struct books *b, const struct job *started)
{
    for (size_t i = 0; i < b->limit.n; i++) {
        const struct limit *l = b->limit.v[i];
        int64_t sum = 0, most = worth(b, l, started);
        if (resource_limit_table[l->what].counts == COUNTS_ACCRUING)
            continue; /* of those that wait */
        if (resource_limit_table[l->what].counts == COUNTS_ASKED) {
            got_check(w, b, l, started);
            continue;
        }
        if (resource_limit_table[l->what].counts != COUNTS_RUNNING) {
            minutes_check(w, b, l, started);
            continue;
        }
        if (!concerns(b, l, started, started) || !amount_of(started, l->tres) ||
            !holds_then(b, l, started->start_us))
            continue;
        struct map_str *seen = map_str_new();
        for (size_t k = 0; k < b->job.n; k++)
            if (concerns(b, l, b->job.v[k], started)) {
                int64_t its = worth(b, l, b->job.v[k]);
                sum += amount_more(b, l, b->job.v[k], seen);
                if (b->job.v[k]->start_us == started->start_us && its > most)
                    most = its; /* which of them was the last is not known */
            }
        map_str_free(seen);
        if (sum > most)
            world_broke(w,
                        "job %llu started, and with it there are %lld of %s, of which %lld may be",
                        (unsigned long long)started->id, (long long)sum, l->id, (long long)most);
    }
}

void world_limits_check(struct sim_world *w, const struct batch *batch)
{
    struct books b = {0};
    bool read = false, by_qos = w->core && core_settings(w->core)->word.preempt_by_qos;
    for (size_t i = 0; i < batch->n; i++) {
        const struct job *j = batch->row[i].record;
        if (batch->row[i].table != TABLE_JOB || batch->row[i].op != ROW_PUT)
            continue;
        bool starts =
                 j->state == JOB_RUNNING && j->start_us == world_wall(w) && j->spec.req.account,
             yields = by_qos && j->preempt_us == world_wall(w) && j->preempt_us,
             ages = gains_more(w, j);
        if (!read && (starts || yields || ages))
            books_read(w, &b);
        read |= starts || yields || ages;
        if (ages)
            gains_check(w, &b, j, batch);
        if (starts)
            start_check(w, &b, j);
        if (yields)
            victim_check(w, &b, j);
    }
    if (read)
        books_done(&b);
}

/* ---- memory and store ----------------------------------------------------------------------- */

struct limits_sum {
    const struct fields *t;
    uint64_t hash;
    size_t n;
};

static void sum_row(void *ctx, const void *record)
{
    struct limits_sum *s = ctx;
    s->hash += record_hash(s->t, record, HASH_INIT);
    s->n++;
}

void world_accounts_audit(struct sim_world *w)
{
    static const struct {
        enum query_what what;
        enum store_table table;
    } pairs[] = {{QUERY_ACCOUNTS, TABLE_ACCOUNT},
                 {QUERY_ACCOUNT_USERS, TABLE_ACCOUNT_USER},
                 {QUERY_ASSOCS, TABLE_ASSOC},
                 {QUERY_QOS, TABLE_QOS},
                 {QUERY_LIMITS, TABLE_LIMIT}};
    for (size_t i = 0; i < ARRAY_LEN(pairs) && w->core; i++) {
        const struct fields *t = store_table_rows[pairs[i].table].fields;
        struct limits_sum memory = {.t = t}, stored = {.t = t};
        struct view view = {sum_row, &memory};
        struct msg_query q = {.what = pairs[i].what};
        struct str detail = STR_INIT;
        core_query(w->core, &q, &world_daemon, world_wall(w), &view, &detail);
        str_done(&detail);
        store_load(w->store, pairs[i].table, false, 0, sum_row, &stored, NULL);
        if (memory.n != stored.n || memory.hash != stored.hash)
            world_broke(w, "of %s the controller has %zu rows and the store %zu, or others",
                        store_table_rows[pairs[i].table].name, memory.n, stored.n);
    }
}
