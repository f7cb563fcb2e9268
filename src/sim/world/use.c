/* The oracle about use: what each association and QOS used, counted anew from the rows of jobs as
 * they were committed, with no decay. A run is charged for whole seconds: all that it ran, less
 * what it was charged before. The oracle charges it whenever the controller says that it did: when
 * the books say that all running work is charged ("usage_at"), when a run is stopped, becomes
 * smaller or ends. So its books and those of the store must be equal after each commit, whatever
 * crashed. */
#include "sim/world/inside.h"

#include <stdlib.h>
#include <string.h>

struct simrun {
    struct arena *a; /* of the row's texts */
    struct job j;    /* as it was committed last */
    int64_t charged; /* seconds */
    bool over;
    bool fresh; /* it began in the last batch */
};

struct simuse {
    struct map_u64 *run;  /* job → struct simrun of its last run, owned */
    struct map_str *used; /* "assoc/12 cpu", "qos/3 wall" → struct simused, owned */
    int64_t ahead_us;     /* the difference of the clocks, as it was committed last */
    bool ahead_known;
    const char *forget; /* RawUsage=0 of it is on its way to be committed; NULL = of nobody's */
    bool forget_qos;
};

/* ---- records -------------------------------------------------------------------------------- */

static struct simuse *use_new(void)
{
    struct simuse *u = xcalloc(1, sizeof *u);
    u->run = map_u64_new();
    u->used = map_str_new();
    return u;
}

static struct simuse *use_of(struct sim_world *w)
{
    if (!w->use)
        w->use = use_new();
    return w->use;
}

static void run_free(struct simrun *r)
{
    if (!r)
        return;
    arena_free(r->a);
    free(r);
}

void world_use_free(struct simuse *u)
{
    struct map_walk w = {0};
    if (!u)
        return;
    while (map_u64_next(u->run, &w))
        run_free(w.value);
    for (w = (struct map_walk){0}; map_str_next(u->used, &w);)
        free(w.value);
    map_u64_free(u->run);
    map_str_free(u->used);
    free(u);
}

static struct simrun *run_put(struct simuse *u, const struct job *j, int64_t charged, bool over)
{
    struct simrun *r = xcalloc(1, sizeof *r);
    r->a = arena_new();
    record_copy(&job_fields, &r->j, j, r->a);
    r->charged = charged;
    r->over = over;
    run_free(map_u64_del(u->run, j->id));
    map_u64_put(u->run, j->id, r);
    return r;
}

static struct simused *used_at(struct simuse *u, const char *key)
{
    struct simused *n = map_str_get(u->used, key);
    if (!n) {
        n = xcalloc(1, sizeof *n);
        map_str_put(u->used, key, n);
    }
    return n;
}

struct simuse *world_use_copy(const struct simuse *from)
{
    struct simuse *u = use_new();
    struct map_walk w = {0};
    if (!from)
        return u;
    while (map_u64_next(from->run, &w)) {
        const struct simrun *r = w.value;
        run_put(u, &r->j, r->charged, r->over);
    }
    for (w = (struct map_walk){0}; map_str_next(from->used, &w);)
        *used_at(u, w.text) = *(const struct simused *)w.value;
    u->ahead_us = from->ahead_us;
    u->ahead_known = from->ahead_known;
    return u;
}

/* ---- whom a run is charged to --------------------------------------------------------------- */

struct use_rows {
    void (*row)(void *ctx, const void *record);
    void *ctx;
    bool any;
};

static void row_pass(void *ctx, const void *record)
{
    struct use_rows *r = ctx;
    r->any = true;
    r->row(r->ctx, record);
}

/* A store that never had accounts has no rows of those that always are. */
void world_use_assocs(struct sim_world *w, void (*row)(void *ctx, const void *record), void *ctx)
{
    struct use_rows r = {row, ctx, false};
    static const struct assoc first[] = {{.id = 1, .account = "root"},
                                         {.id = 2, .account = "root", .user = "root"}};
    store_load(w->store, TABLE_ASSOC, false, 0, row_pass, &r, NULL);
    for (size_t i = 0; i < ARRAY_LEN(first) && !r.any; i++)
        row(ctx, &first[i]);
}

static void qos_load(struct sim_world *w, void (*row)(void *ctx, const void *record), void *ctx)
{
    struct use_rows r = {row, ctx, false};
    static const struct qos first = {.id = 1, .name = "normal"};
    store_load(w->store, TABLE_QOS, false, 0, row_pass, &r, NULL);
    if (!r.any)
        row(ctx, &first);
}

struct payers {
    const struct job *j;
    uint32_t assoc, qos; /* 0 = none */
    int64_t factor_e6;
};

static void payer_assoc(void *ctx, const void *record)
{
    struct payers *p = ctx;
    const struct assoc *a = record;
    if (!a->deleted && !a->partition && a->user && text_is(a->user, p->j->user_name) &&
        text_is(a->account, p->j->spec.req.account))
        p->assoc = a->id;
}

static void payer_qos(void *ctx, const void *record)
{
    struct payers *p = ctx;
    const struct qos *q = record;
    if (q->deleted || !text_is(q->name, p->j->spec.req.qos))
        return;
    p->qos = q->id;
    p->factor_e6 = q->usage_factor_e6_plus1 ? q->usage_factor_e6_plus1 - 1 : 1000000;
}

static struct payers payers_of(struct sim_world *w, const struct job *j)
{
    struct payers p = {.j = j, .factor_e6 = 1000000};
    world_use_assocs(w, payer_assoc, &p);
    qos_load(w, payer_qos, &p);
    return p;
}

/* In thousandths, of memory in MiB. */
int64_t world_use_rate(const struct job *j, const char *tres)
{
    const char *equals = j->alloc_gres ? strchr(j->alloc_gres, '=') : NULL;
    int64_t count = 0;
    if (!tres)
        return 1000;
    if (text_is(tres, "cpu") || text_is(tres, "billing")) /* no partition has weights */
        return j->alloc_cpus * INT64_C(1000);
    if (text_is(tres, "mem"))
        return j->alloc_mem_mib;
    if (text_is(tres, "node"))
        return j->alloc_nodes * INT64_C(1000);
    if (text_is(tres, "license/lic")) /* "lic", "lic:2" */
        return !j->spec.req.licenses ? 0 : strchr(j->spec.req.licenses, ':') ? 2000 : 1000;
    if (equals) /* "gpu:v100=4": nodes of worlds have no other kind */
        text_to_i64(equals + 1, 0, INT32_MAX, &count);
    return count * 1000;
}

/* NULL: wall clock time. */
static const char *const counted[] = {"cpu", "mem",      "node",          "billing",
                                      NULL,  "gres/gpu", "gres/gpu:v100", "license/lic"};

static void used_key(struct str *key, const char *owner, uint32_t id, const char *tres)
{
    str_clear(key);
    str_addf(key, "%s/%u %s", owner, id, tres ? tres : "wall");
}

static void pay(struct simuse *u, const char *owner, uint32_t id, const struct job *j,
                int64_t seconds_e6)
{
    struct str key = STR_INIT;
    for (size_t i = 0; id && i < ARRAY_LEN(counted); i++) {
        int64_t rate = world_use_rate(j, counted[i]);
        used_key(&key, owner, id, counted[i]);
        if (rate)
            used_at(u, str_text(&key))->now += rate * (seconds_e6 / 1000000);
    }
    str_done(&key);
}

static void charge(struct sim_world *w, struct simrun *r, const struct job *had, int64_t ran_us)
{
    struct simuse *u = use_of(w);
    int64_t seconds = ran_us / USEC_PER_SEC - r->charged;
    if (seconds <= 0)
        return;
    struct payers p = payers_of(w, had);
    r->charged += seconds;
    pay(u, "assoc", p.assoc, had, seconds * p.factor_e6);
    pay(u, "qos", p.qos, had, seconds * p.factor_e6);
}

/* ---- rows ----------------------------------------------------------------------------------- */

static bool has_nodes(const struct job *j)
{
    return j->state == JOB_RUNNING || j->state == JOB_SUSPENDED;
}

static int64_t ran_until(const struct job *j, int64_t at_us)
{
    int64_t end = j->state == JOB_SUSPENDED ? j->suspend_us : at_us,
            us = end - j->start_us - j->suspended_us;
    return us > 0 ? us : 0;
}

static void job_row(struct sim_world *w, const struct job *j)
{
    struct simuse *u = use_of(w);
    struct simrun *r = map_u64_get(u->run, j->id);
    bool same = r && r->j.attempt == j->attempt;
    if (!j->start_us || j->state == JOB_PENDING || (same && r->over))
        return;
    if (same && j->resize_us && j->resize_us != r->j.resize_us && has_nodes(&r->j)) {
        struct job had = *j;
        if (had.state != JOB_SUSPENDED)
            had.state = JOB_RUNNING;
        charge(w, r, &r->j, ran_until(&had, j->resize_us));
    }
    bool over = !has_nodes(j), fresh = !same || r->fresh;
    r = run_put(u, j, same ? r->charged : 0, over);
    r->fresh = fresh;
    if (over)
        charge(w, r, &r->j, ran_until(&r->j, j->end_us));
    else if (j->suspend_us) /* stopped; or it went on since, perhaps in the same instant */
        charge(w, r, &r->j,
               ran_until(&r->j, j->suspend_us) + (j->state == JOB_RUNNING && j->suspended_us == 1));
}

/* The clock was set: so long as their rows do not say it, runs are told in the new time. By less
 * than a second none is. */
static void clock_row(struct simuse *u, const char *value)
{
    struct map_walk w = {0};
    const char *space = value ? strrchr(value, ' ') : NULL;
    int64_t ahead_us = 0;
    if (!space || !text_to_i64(space + 1, INT64_MIN, INT64_MAX, &ahead_us))
        return;
    int64_t by_us = u->ahead_known ? ahead_us - u->ahead_us : 0;
    u->ahead_us = ahead_us;
    u->ahead_known = true;
    if (by_us > -USEC_PER_SEC && by_us < USEC_PER_SEC)
        return;
    while (map_u64_next(u->run, &w)) {
        struct simrun *r = w.value;
        int64_t *const at[] = {&r->j.start_us, &r->j.suspend_us, &r->j.resize_us};
        for (size_t i = 0; !r->over && i < ARRAY_LEN(at); i++)
            if (*at[i])
                *at[i] += by_us;
    }
}

static void meta_row(struct sim_world *w, const struct meta *m)
{
    struct simuse *u = use_of(w);
    struct map_walk walk = {0};
    int64_t at_us = 0;
    if (text_is(m->key, "clock"))
        clock_row(u, m->value);
    if (!text_is(m->key, "usage_at") || !m->value || !text_to_i64(m->value, 0, INT64_MAX, &at_us))
        return;
    while (map_u64_next(u->run, &walk)) {
        struct simrun *r = walk.value;
        if (!r->over)
            charge(w, r, &r->j, ran_until(&r->j, at_us));
    }
}

/* ---- RawUsage=0 ----------------------------------------------------------------------------- */

static void forget_key(struct simuse *u, const char *owner, uint32_t id)
{
    struct str key = STR_INIT;
    for (size_t i = 0; i < ARRAY_LEN(counted); i++) {
        used_key(&key, owner, id, counted[i]);
        struct simused *n = map_str_get(u->used, str_text(&key));
        if (n)
            n->now = 0;
    }
    str_done(&key);
}

static void forget_assoc(void *ctx, const void *record)
{
    struct sim_world *w = ctx;
    const struct assoc *a = record;
    if (a->user && world_account_is_below(w, a->account, w->use->forget))
        forget_key(w->use, "assoc", a->id);
}

static void forget_qos(void *ctx, const void *record)
{
    struct sim_world *w = ctx;
    const struct qos *q = record;
    if (text_is(w->use->forget, q->name))
        forget_key(w->use, "qos", q->id);
}

void world_use_forgets(struct sim_world *w, bool of_qos, const char *name)
{
    use_of(w)->forget = name;
    w->use->forget_qos = of_qos;
}

void world_use_forgot(struct sim_world *w)
{
    if (w->use && !w->away) /* else the store has it later */
        w->use->forget = NULL;
}

void world_use_lose(struct sim_world *w)
{
    if (w->use)
        w->use->forget = NULL;
}

/* ---- the comparison ------------------------------------------------------------------------- */

struct use_comparison {
    struct sim_world *w;
    struct map_str *seen; /* keys of `used` that the store has */
};

static void amount_compare(struct use_comparison *c, const char *id, const char *tres,
                           int64_t stored)
{
    struct str key = STR_INIT;
    str_addf(&key, "%s %s", id, tres);
    const struct simused *n = map_str_get(c->w->use->used, str_text(&key));
    map_str_put(c->seen, str_text(&key), c);
    if ((n ? n->now : 0) != stored)
        world_broke(c->w, "the store has %lld as used of %s, and the rows of jobs say %lld",
                    (long long)stored, str_text(&key), (long long)(n ? n->now : 0));
    str_done(&key);
}

static void use_compare(void *ctx, const void *record)
{
    struct use_comparison *c = ctx;
    const struct use_row *row = record;
    struct span rest = span_of(row->tres ? row->tres : ""), piece;
    struct arena *a = arena_new();
    while (span_next(&rest, ',', &piece)) {
        char *one = arena_strndup(a, piece.data, piece.len), *equals = strchr(one, '=');
        int64_t stored = 0;
        if (!equals || !text_to_i64(equals + 1, 0, INT64_MAX, &stored))
            continue;
        *equals = '\0';
        amount_compare(c, row->id, one, stored);
    }
    amount_compare(c, row->id, "wall", row->wall_ms);
    arena_free(a);
}

static void all_compare(struct sim_world *w)
{
    struct use_comparison c = {.w = w, .seen = map_str_new()};
    struct map_walk walk = {0};
    store_load(w->store, TABLE_USE, false, 0, use_compare, &c, NULL);
    while (map_str_next(w->use->used, &walk)) {
        const struct simused *n = walk.value;
        if (n->now && !map_str_get(c.seen, walk.text))
            world_broke(w, "the store has nothing as used of %s, and the rows of jobs say %lld",
                        walk.text, (long long)n->now);
    }
    map_str_free(c.seen);
}

bool world_use_is_kept(const struct sim_world *w)
{
    return w->core && core_settings(w->core)->priority_decay_half_life_us == 0 &&
           w->config.settings.word.enforce_limits;
}

void world_use_learn(struct sim_world *w, const struct batch *batch)
{
    struct map_walk walk = {0};
    if (!world_use_is_kept(w))
        return;
    struct simuse *u = use_of(w);
    while (map_str_next(u->used, &walk)) {
        struct simused *n = walk.value;
        n->before = n->now;
    }
    for (walk = (struct map_walk){0}; map_u64_next(u->run, &walk);)
        ((struct simrun *)walk.value)->fresh = false;
    if (u->forget)
        (u->forget_qos ? qos_load : world_use_assocs)(w, u->forget_qos ? forget_qos : forget_assoc,
                                                      w);
    u->forget = NULL;
    for (size_t i = 0; i < batch->n; i++) {
        if (batch->row[i].op != ROW_PUT)
            continue;
        if (batch->row[i].table == TABLE_JOB || batch->row[i].table == TABLE_JOB_RUN)
            job_row(w, batch->row[i].record);
        else if (batch->row[i].table == TABLE_META)
            meta_row(w, batch->row[i].record);
    }
    all_compare(w);
}

bool world_use_get(const struct sim_world *w, const char *owner, uint32_t id, const char *tres,
                   struct simused *ret)
{
    struct str key = STR_INIT;
    if (!w->use)
        return false;
    used_key(&key, owner, id, tres);
    const struct simused *n = map_str_get(w->use->used, str_text(&key));
    *ret = n ? *n : (struct simused){0};
    str_done(&key);
    return true;
}

bool world_use_began(const struct sim_world *w, uint64_t job_id)
{
    const struct simrun *r = w->use ? map_u64_get(w->use->run, job_id) : NULL;
    return r && r->fresh;
}

int64_t world_use_charged(const struct sim_world *w, uint64_t job_id)
{
    const struct simrun *r = w->use ? map_u64_get(w->use->run, job_id) : NULL;
    return r ? r->charged : 0;
}
