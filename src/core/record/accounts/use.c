/* What associations and QOS used. A run is charged to its association and to all above it, to its
 * QOS and to that of its partition. Of associations only those that jobs run under have rows of
 * their own; those above them are sums, made anew whenever the tree changes or use decays, so that
 * a parent always has what its children have. One that was removed keeps its row: what was used
 * stays used.
 *
 * A row is written in the step that changes it, as all of usage.c: so a run is charged once,
 * whatever is killed when. */
#include "core/record/accounts/use.h"
#include "core/record/accounts/usage.h"
#include "core/record/record.h"
#include "model/grammar/gres.h"
#include "model/job/job_counts.h"

#include <stdlib.h>
#include <string.h>

__extension__ typedef __int128 wide;

/* ---- resources ------------------------------------------------------------------------------ */

ptrdiff_t use_tres_find(const struct core *c, const char *tres)
{
    for (size_t i = 0; i < c->usage.tres.n; i++)
        if (text_is_nocase(c->usage.tres.v[i], tres))
            return (ptrdiff_t)i;
    return -1;
}

uint32_t use_tres_number(struct core *c, const char *tres)
{
    ptrdiff_t there = use_tres_find(c, tres);
    if (there >= 0)
        return (uint32_t)there;
    const char *name = NULL;
    text_set(c, &name, tres);
    vec_push(&c->usage.tres, name);
    return (uint32_t)c->usage.tres.n - 1;
}

void uses_init(struct core *c)
{
    static const char *const fixed[] = {
        [USE_CPU] = "cpu", [USE_MEM] = "mem", [USE_NODE] = "node", [USE_BILLING] = "billing"};
    c->usage.of = map_u64_new();
    for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
        (void)use_tres_number(c, fixed[i]);
}

void uses_know_tres(struct core *c)
{
    struct map_walk w = {0};
    while (map_u64_next(c->accounts.tres, &w)) {
        const struct tres *t = w.value;
        struct str name = STR_INIT;
        str_addf(&name, "%s%s%s", t->type, t->name ? "/" : "", t->name ? t->name : "");
        (void)use_tres_number(c, str_text(&name));
        str_done(&name);
    }
}

int64_t use_scale(const char *tres)
{
    return text_is(tres, "mem") ? 1 : 1000;
}

/* What a run uses in a second, by number of the resource. */
struct use_rates {
    struct core *c;
    VEC(int64_t) of;
};

static void rate_set(struct use_rates *v, uint32_t tres, int64_t value)
{
    while (v->of.n <= tres)
        vec_push(&v->of, 0);
    v->of.v[tres] = value;
}

static void rate_take(void *ctx, const char *tres, int64_t rate)
{
    struct use_rates *v = ctx;
    uint32_t number = use_tres_number(v->c, tres);
    rate_set(v, number, rate + (number < v->of.n ? v->of.v[number] : 0));
}

/* "matlab:2,ansys": what it asks for of licences is what it has. */
static void licence_rates(const char *list, rate_row row, void *ctx)
{
    struct str name = STR_INIT;
    struct span rest = span_of(list ? list : ""), piece;
    while (span_next(&rest, ',', &piece)) {
        int64_t n = 1;
        piece = span_trim(piece);
        if (!piece.len)
            continue;
        str_clear(&name);
        str_addf(&name, "license/%.*s", (int)piece.len, piece.data);
        char *colon = strchr(name.data, ':');
        if (colon && !text_to_i64(colon + 1, 1, INT32_MAX, &n))
            continue;
        if (colon)
            *colon = '\0';
        row(ctx, name.data, n * 1000);
    }
    str_done(&name);
}

void use_rates(const struct core *c, const struct jobrec *r, rate_row row, void *ctx)
{
    struct str text = STR_INIT;
    struct arena *a = arena_new();
    row(ctx, "cpu", r->j.alloc_cpus * INT64_C(1000));
    row(ctx, "mem", job_mem_mib(&r->j));
    row(ctx, "node", r->j.alloc_nodes * INT64_C(1000));
    row(ctx, "billing", usage_billing_milli(c, r));
    licence_rates(r->j.spec.req.licenses, row, ctx);
    gres_text_tres(r->j.alloc_gres, &text);
    struct span rest = span_of(str_text(&text)), piece;
    while (span_next(&rest, ',', &piece)) {
        const char *one = arena_strndup(a, piece.data, piece.len), *equals = strchr(one, '=');
        int64_t n = 0;
        if (equals && text_to_i64(equals + 1, 0, INT32_MAX, &n))
            row(ctx, arena_strndup(a, one, (size_t)(equals - one)), n * 1000);
    }
    arena_free(a);
    str_done(&text);
}

/* ---- records -------------------------------------------------------------------------------- */

uint64_t use_key(enum limit_owner owner, uint32_t id)
{
    return (uint64_t)owner << 32 | id;
}

const struct userec *use_find(const struct core *c, enum limit_owner owner, uint32_t id)
{
    return map_u64_get(c->usage.of, use_key(owner, id));
}

static struct userec *use_take(struct core *c, enum limit_owner owner, uint32_t id)
{
    struct userec *u = map_u64_get(c->usage.of, use_key(owner, id));
    if (!u) {
        u = xcalloc(1, sizeof *u);
        u->owner = owner;
        u->id = id;
        map_u64_put(c->usage.of, use_key(owner, id), u);
    }
    return u;
}

int64_t use_amount(const struct core *c, const struct userec *u, const char *tres)
{
    ptrdiff_t i = u ? use_tres_find(c, tres) : -1;
    return i >= 0 && (size_t)i < u->amount.n ? u->amount.v[i] : 0;
}

int64_t use_of(const struct core *c, enum limit_owner owner, uint32_t id, const char *tres)
{
    return use_amount(c, use_find(c, owner, id), tres);
}

static int64_t sum_of(int64_t a, int64_t b)
{
    int64_t sum = a + b; /* both are below USE_MOST */
    return sum < 0 ? 0 : sum > USE_MOST ? USE_MOST : sum;
}

void use_add(struct userec *u, uint32_t tres, int64_t more)
{
    while (u->amount.n <= tres)
        vec_push(&u->amount, 0);
    u->amount.v[tres] = sum_of(u->amount.v[tres], more);
}

static void unsave(struct core *c, struct userec *u)
{
    u->own = true;
    if (!u->unsaved)
        vec_push(&c->usage.use_unsaved, u);
    u->unsaved = true;
}

void uses_load(struct core *c, const struct use_row *row)
{
    const char *slash = row->id ? strchr(row->id, '/') : NULL;
    uint64_t id;
    if (!slash || !text_to_u64(slash + 1, UINT32_MAX, &id))
        return;
    struct userec *u =
        use_take(c, text_starts(row->id, "qos/") ? OWNER_QOS : OWNER_ASSOC, (uint32_t)id);
    struct span rest = span_of(row->tres ? row->tres : ""), piece;
    struct arena *a = arena_new();
    while (span_next(&rest, ',', &piece)) {
        const char *one = arena_strndup(a, piece.data, piece.len), *equals = strchr(one, '=');
        int64_t n = 0;
        if (equals && text_to_i64(equals + 1, 0, USE_MOST, &n))
            use_add(u, use_tres_number(c, arena_strndup(a, one, (size_t)(equals - one))), n);
    }
    arena_free(a);
    u->wall_ms = row->wall_ms;
    u->own = true;
    u->loaded_us = row->at_us;
}

static void amount_say(const char *tres, int64_t amount, struct str *out)
{
    if (out->len > 0)
        str_addc(out, ',');
    str_add(out, tres);
    str_addc(out, '=');
    str_add_i64(out, amount);
}

void uses_save(struct core *c)
{
    struct str id = STR_INIT, tres = STR_INIT;
    for (size_t i = 0; i < c->usage.use_unsaved.n; i++) {
        struct userec *u = c->usage.use_unsaved.v[i];
        str_clear(&id);
        str_clear(&tres);
        str_add(&id, enum_name(&limit_owner_names, (int32_t)u->owner));
        str_addc(&id, '/');
        str_add_u64(&id, u->id);
        for (size_t k = 0; k < u->amount.n; k++)
            if (u->amount.v[k])
                amount_say(c->usage.tres.v[k], u->amount.v[k], &tres);
        struct use_row row = {.id = str_text(&id),
                              .tres = tres.len ? str_text(&tres) : NULL,
                              .wall_ms = u->wall_ms,
                              .at_us = c->usage.at_us};
        fx_store(c, TABLE_USE, &row);
        u->unsaved = false;
    }
    vec_clear(&c->usage.use_unsaved);
    str_done(&id);
    str_done(&tres);
}

void uses_free(struct core *c)
{
    struct map_walk w = {0};
    while (map_u64_next(c->usage.of, &w)) {
        struct userec *u = w.value;
        vec_done(&u->amount);
        free(u);
    }
    map_u64_free(c->usage.of);
    vec_done(&c->usage.tres);
    vec_done(&c->usage.use_unsaved);
}

/* ---- charging ------------------------------------------------------------------------------- */

size_t use_qos(const struct core *c, const struct jobrec *r, const char *partition,
               const struct qosrec *ret[2])
{
    const struct partrec *part = partition ? part_find(c, partition) : NULL;
    const struct qosrec *own = qos_find(c, r->j.spec.req.qos),
                        *of_part = part ? qos_find(c, part->p.qos) : NULL;
    bool own_first = own && (own->q.flags & QOS_OVER_PART_QOS);
    const struct qosrec *const order[] = {own_first ? own : of_part, own_first ? of_part : own};
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(order); i++)
        if (order[i] && (n == 0 || ret[0] != order[i]))
            ret[n++] = order[i];
    return n;
}

int64_t use_factor_e6(const struct core *c, const struct jobrec *r)
{
    const struct qosrec *q[2];
    size_t n = use_qos(c, r, r->j.run_partition, q);
    for (size_t i = 0; i < n; i++)
        if (q[i]->q.usage_factor_e6_plus1)
            return q[i]->q.usage_factor_e6_plus1 - 1;
    return 1000000;
}

int64_t use_left_us(const struct jobrec *r, int64_t now_us)
{
    int64_t ran = (r->j.state == JOB_SUSPENDED ? r->j.suspend_us : now_us) - r->j.start_us -
                  r->j.suspended_us;
    if (!r->j.limit_us || r->j.limit_us == TIME_UNLIMITED)
        return USE_LONG;
    return r->j.limit_us > ran ? r->j.limit_us - ran : 0;
}

int64_t use_product(int64_t rate, int64_t time, int64_t per)
{
    wide all = (wide)rate * time / per;
    return all > USE_MOST ? USE_MOST : (int64_t)all;
}

/* To all that the run counts against; `seconds_e6`: time × use factor, in millionths. */
static void charge(struct core *c, const struct jobrec *r, int64_t seconds_e6, int64_t sign)
{
    const struct qosrec *q[2];
    size_t nq = use_qos(c, r, r->j.run_partition, q);
    struct assocrec *leaf = assoc_for(c, r->j.spec.req.account, r->j.user_name, r->j.run_partition);
    struct use_rates rate = {.c = c};
    VEC(struct userec *) to = {0};
    if (!leaf && !nq)
        return;
    use_rates(c, r, rate_take, &rate);
    for (struct assocrec *a = leaf; a; a = a->up)
        vec_push(&to, use_take(c, OWNER_ASSOC, a->a.id));
    if (leaf)
        unsave(c, to.v[0]);
    for (size_t i = 0; i < nq; i++) {
        vec_push(&to, use_take(c, OWNER_QOS, q[i]->q.id));
        unsave(c, to.v[to.n - 1]);
    }
    for (size_t i = 0; i < to.n; i++) {
        for (size_t k = 0; k < rate.of.n; k++)
            if (rate.of.v[k])
                use_add(to.v[i], (uint32_t)k,
                        sign * use_product(rate.of.v[k], seconds_e6, 1000000));
        to.v[i]->wall_ms = sum_of(to.v[i]->wall_ms, sign * use_product(1000, seconds_e6, 1000000));
    }
    vec_done(&to);
    vec_done(&rate.of);
}

void uses_charge(struct core *c, const struct jobrec *r, int64_t seconds)
{
    charge(c, r, use_product(seconds, use_factor_e6(c, r), 1), 1);
}

/* What is charged in a period decays with it: so much of the seconds of a run is left. */
static int64_t seconds_left_e6(const struct core *c, int64_t seconds)
{
    int64_t now_us = c->turn.now_us, at_us = now_us, sum = 0,
            period_us = c->settings.priority_calc_period_us > USEC_PER_SEC
                            ? c->settings.priority_calc_period_us
                            : 5 * USEC_PER_MIN,
            first = (now_us - c->usage.at_us) / USEC_PER_SEC;
    int64_t some = first < 0 ? 0 : first < seconds ? first : seconds;
    for (; seconds > 0; seconds -= some, some = period_us / USEC_PER_SEC) {
        int64_t part = some < seconds ? some : seconds;
        int64_t left = usage_decayed(c, part * 1000000, at_us, c->usage.at_us);
        if (part > 0 && left == 0)
            break; /* decayed to nothing, or forgotten */
        sum += left;
        at_us = (at_us < c->usage.at_us ? at_us : c->usage.at_us) - period_us;
    }
    return sum;
}

int64_t uses_refund(struct core *c, const struct jobrec *r, int64_t seconds)
{
    int64_t left_e6 = seconds_left_e6(c, seconds);
    charge(c, r, use_product(left_e6, use_factor_e6(c, r), 1000000), -1);
    return use_product(usage_billing_milli(c, r), left_e6, INT64_C(1000000000));
}

/* ---- sums, decay, forgetting ---------------------------------------------------------------- */

static void add_to(struct userec *to, const struct userec *from)
{
    for (size_t i = 0; i < from->amount.n; i++)
        use_add(to, (uint32_t)i, from->amount.v[i]);
    to->wall_ms = sum_of(to->wall_ms, from->wall_ms);
}

static void clear(struct userec *u)
{
    for (size_t i = 0; i < u->amount.n; i++)
        u->amount.v[i] = 0;
    u->wall_ms = 0;
}

void uses_sum(struct core *c)
{
    struct map_walk w = {0};
    VEC(const struct userec *) own = {0};
    while (map_u64_next(c->usage.of, &w)) {
        struct userec *u = w.value;
        if (!u->own)
            clear(u);
        else if (u->owner == OWNER_ASSOC)
            vec_push(&own, u);
    }
    for (size_t i = 0; i < own.n; i++) {
        const struct assocrec *a = map_u64_get(c->accounts.assoc, own.v[i]->id);
        for (a = a ? a->up : NULL; a; a = a->up)
            add_to(use_take(c, OWNER_ASSOC, a->a.id), own.v[i]);
    }
    vec_done(&own);
}

static bool decays(const struct core *c, const struct userec *u)
{
    const struct qosrec *q = u->owner == OWNER_QOS ? map_u64_get(c->accounts.qos, u->id) : NULL;
    return !q || !(q->q.flags & QOS_NO_DECAY);
}

static bool use_decay(const struct core *c, struct userec *u, int64_t from_us, int64_t until_us)
{
    bool any = false;
    for (size_t i = 0; i < u->amount.n; i++) {
        u->amount.v[i] = usage_decayed(c, u->amount.v[i], from_us, until_us);
        any |= u->amount.v[i] > 0;
    }
    u->wall_ms = usage_decayed(c, u->wall_ms, from_us, until_us);
    return any;
}

bool uses_decay(struct core *c, int64_t from_us, int64_t until_us)
{
    struct map_walk w = {0};
    bool any = false;
    while (map_u64_next(c->usage.of, &w)) {
        struct userec *u = w.value;
        if (u->own && decays(c, u))
            any |= use_decay(c, u, from_us, until_us);
    }
    uses_sum(c);
    return any;
}

void uses_move(struct core *c, int64_t by_us)
{
    struct map_walk w = {0};
    while (map_u64_next(c->usage.of, &w)) {
        struct userec *u = w.value;
        if (!u->own)
            continue;
        u->loaded_us += by_us;
        unsave(c, u);
    }
}

void uses_restore(struct core *c)
{
    struct map_walk w = {0};
    uses_know_tres(c);
    bool forget = c->settings.word.usage_reset_now;
    while (map_u64_next(c->usage.of, &w)) {
        struct userec *u = w.value;
        if (!u->own || !decays(c, u))
            continue;
        c->usage.any |= use_decay(c, u, u->loaded_us, c->usage.at_us);
        if (forget) {
            clear(u);
            unsave(c, u);
        }
    }
    uses_sum(c);
}

/* Is it one of them, or below one? */
static bool is_forgotten(const struct core *c, const struct userec *u, const struct map_u64 *owners)
{
    if (u->owner == OWNER_QOS)
        return map_u64_get(owners, use_key(OWNER_QOS, u->id));
    const struct assocrec *a = map_u64_get(c->accounts.assoc, u->id);
    while (a && !map_u64_get(owners, use_key(OWNER_ASSOC, a->a.id)))
        a = a->up;
    return a;
}

void uses_forget(struct core *c, const struct map_u64 *owners)
{
    struct map_walk w = {0};
    while (map_u64_next(c->usage.of, &w)) {
        struct userec *u = w.value;
        if (!u->own || !is_forgotten(c, u, owners))
            continue;
        clear(u);
        unsave(c, u);
    }
}
