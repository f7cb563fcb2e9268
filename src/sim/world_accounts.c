/* Accounts, QOS and limits in a world, and the oracle about them: no job starts beyond a limit that
 * holds for it, by the books as they were committed, and what the controller has in memory of
 * accounts is what the store has. The limits of accounts and those of QOS are of different kinds,
 * so that none takes another's place. */
#include "base/list.h"
#include "sim/world_inside.h"

#include <stdlib.h>
#include <string.h>

static const char *const accounts[] = {"root", "a1", "a2"}, *const qos[] = {"q1", "q2"};

/* ---- changes -------------------------------------------------------------------------------- */

static bool change_all(struct world *w, struct account_change *changes, size_t n)
{
    struct msg_change_accounts m = {.changes = {changes, n}};
    return world_request(w, MSG_CHANGE_ACCOUNTS, &m, NULL);
}

void world_accounts_make(struct world *w)
{
    struct account account[2] = {{.name = "a1"}, {.name = "a2"}};
    struct assoc assoc[5] = {{.account = "a1"},
                             {.account = "a2", .parent = "a1"},
                             {.account = "a1", .user = "root"},
                             {.account = "a2", .user = "root"},
                             {.account = "root", .qos = "normal,q1,q2"}};
    struct qos q[2] = {{.name = "q1"}, {.name = "q2"}};
    struct account_change v[9] = {
        {.noun = NOUN_ACCOUNT, .account = {&account[0], 1}},
        {.noun = NOUN_ACCOUNT, .account = {&account[1], 1}},
        {.noun = NOUN_ASSOC, .assoc = {&assoc[0], 1}},
        {.noun = NOUN_ASSOC, .assoc = {&assoc[1], 1}},
        {.noun = NOUN_ASSOC, .assoc = {&assoc[2], 1}},
        {.noun = NOUN_ASSOC, .assoc = {&assoc[3], 1}},
        {.noun = NOUN_QOS, .qos = {&q[0], 1}},
        {.noun = NOUN_QOS, .qos = {&q[1], 1}},
        {.noun = NOUN_ASSOC, .verb = VERB_MODIFY, .fields = "qos", .assoc = {&assoc[4], 1}}};
    if (!change_all(w, v, ARRAY_LEN(v)))
        world_broke(w, "accounts cannot be made");
}

struct kind {
    enum limit_owner owner;
    enum resource_limit what;
    const char *tres;
};
static const struct kind kinds[] = {{OWNER_ASSOC, LIMIT_GRP_TRES, "cpu"},
                                    {OWNER_ASSOC, LIMIT_GRP_TRES, "node"},
                                    {OWNER_ASSOC, LIMIT_GRP_TRES, "gres/gpu"},
                                    {OWNER_QOS, LIMIT_GRP_JOBS, NULL},
                                    {OWNER_QOS, LIMIT_MAX_JOBS_PER_USER, NULL},
                                    {OWNER_QOS, LIMIT_MAX_JOBS_PER_ACCOUNT, NULL},
                                    {OWNER_QOS, LIMIT_MAX_TRES_PER_ACCOUNT, "cpu"},
                                    {OWNER_QOS, LIMIT_MAX_TRES_PER_USER, "gres/gpu"}};

static void limit_change(struct world *w, const struct kind *k, const char *owner, int64_t value)
{
    struct limit l = {.what = k->what, .tres = k->tres, .value = value};
    struct assoc a = {.account = owner};
    struct qos q = {.name = owner};
    struct account_change ch = {.verb = VERB_MODIFY, .limits = {&l, 1}};
    if (k->owner == OWNER_ASSOC) {
        ch.noun = NOUN_ASSOC;
        ch.assoc = (struct record_list){&a, 1};
    } else {
        ch.noun = NOUN_QOS;
        ch.qos = (struct record_list){&q, 1};
    }
    change_all(w, &ch, 1);
}

/* An account of nobody's comes or goes; sometimes with a change that is refused, so that all is
 * undone. */
static void account_change(struct world *w, struct rng *rng)
{
    struct account account = {.name = "a3"};
    struct assoc assoc = {.account = "a3", .parent = rng_chance(rng, 500) ? "a1" : "a2"},
                 none = {.account = "nowhere", .user = "root"};
    bool add = rng_chance(rng, 500);
    struct account_change v[3] = {
        {.noun = NOUN_ACCOUNT, .verb = add ? VERB_ADD : VERB_REMOVE, .account = {&account, 1}},
        {.noun = NOUN_ASSOC, .assoc = {&assoc, 1}},
        {.noun = NOUN_ASSOC, .assoc = {&none, 1}}};
    change_all(w, v, add ? 2 + rng_chance(rng, 300) : 1);
}

void world_accounts_change(struct world *w, struct rng *rng)
{
    const struct kind *k = &kinds[rng_below(rng, ARRAY_LEN(kinds))];
    if (rng_chance(rng, 150)) {
        account_change(w, rng);
        return;
    }
    limit_change(w, k,
                 k->owner == OWNER_ASSOC ? accounts[rng_below(rng, ARRAY_LEN(accounts))]
                                         : qos[rng_below(rng, ARRAY_LEN(qos))],
                 rng_chance(rng, 300) ? -1 : rng_range(rng, 0, 4));
}

void world_accounts_open(struct world *w)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        for (size_t k = 0; k < ARRAY_LEN(accounts); k++)
            if (kinds[i].owner == OWNER_ASSOC)
                limit_change(w, &kinds[i], accounts[k], -1);
            else if (k < ARRAY_LEN(qos))
                limit_change(w, &kinds[i], qos[k], -1);
}

const char *world_account_of(struct rng *rng)
{
    return accounts[rng_below(rng, ARRAY_LEN(accounts))];
}

const char *world_qos_of(struct rng *rng)
{
    return rng_chance(rng, 300) ? NULL : qos[rng_below(rng, ARRAY_LEN(qos))];
}

/* ---- the oracle about limits ---------------------------------------------------------------- */

struct books {
    struct arena *a;
    VEC(const struct job *) job; /* that have resources */
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
    if (b->table == TABLE_JOB && j->state != JOB_RUNNING && j->state != JOB_SUSPENDED)
        return;
    void *copy = arena_alloc(b->a, t->size);
    record_copy(t, copy, record, b->a);
    if (b->table == TABLE_JOB)
        vec_push(&b->job, copy);
    else if (b->table == TABLE_ASSOC)
        vec_push(&b->assoc, copy);
    else if (b->table == TABLE_QOS)
        vec_push(&b->qos, copy);
    else
        vec_push(&b->limit, copy);
}

static void books_read(struct world *w, struct books *b)
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

/* "gpu:v100=4,nic=2" */
static int64_t gpus_of(const struct job *j)
{
    struct span rest = span_of(j->alloc_gres ? j->alloc_gres : ""), piece;
    int64_t sum = 0;
    while (span_next(&rest, ',', &piece)) {
        const char *equals = memchr(piece.data, '=', piece.len);
        if (equals && piece.len > 3 && memcmp(piece.data, "gpu", 3) == 0)
            sum += strtoll(equals + 1, NULL, 10);
    }
    return sum;
}

static int64_t amount_of(const struct job *j, const char *tres)
{
    if (!tres)
        return 1;
    return text_is(tres, "cpu")    ? j->alloc_cpus
           : text_is(tres, "node") ? j->alloc_nodes
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

static void start_check(struct world *w, const struct books *b, const struct job *started)
{
    for (size_t i = 0; i < b->limit.n; i++) {
        const struct limit *l = b->limit.v[i];
        int64_t sum = 0;
        if (!concerns(b, l, started, started) || !amount_of(started, l->tres))
            continue;
        for (size_t k = 0; k < b->job.n; k++)
            if (concerns(b, l, b->job.v[k], started))
                sum += amount_of(b->job.v[k], l->tres);
        if (sum > l->value)
            world_broke(
                w, "job %llu started, and with it there are %lld of %s, of which %lld may be",
                (unsigned long long)started->id, (long long)sum, l->id, (long long)l->value);
    }
}

void world_limits_check(struct world *w, const struct batch *batch)
{
    struct books b = {0};
    bool read = false;
    for (size_t i = 0; i < batch->n; i++) {
        const struct job *j = batch->row[i].record;
        if (batch->row[i].table != TABLE_JOB || batch->row[i].op != ROW_PUT ||
            j->state != JOB_RUNNING || j->start_us != world_wall(w) || !j->spec.req.account)
            continue;
        if (!read)
            books_read(w, &b);
        read = true;
        start_check(w, &b, j);
    }
    if (read)
        books_done(&b);
}

/* ---- memory and store ----------------------------------------------------------------------- */

struct sum {
    const struct fields *t;
    uint64_t hash;
    size_t n;
};

static void sum_row(void *ctx, const void *record)
{
    struct sum *s = ctx;
    s->hash += record_hash(s->t, record, HASH_INIT);
    s->n++;
}

void world_accounts_audit(struct world *w)
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
        struct sum memory = {.t = t}, stored = {.t = t};
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
