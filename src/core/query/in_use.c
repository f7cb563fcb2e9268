/* What associations and QOS have now, used, and promise: one walk over the jobs. A QOS has rows of
 * its users and accounts beside. */
#include "base/alloc.h"
#include "core/query/query.h"
#include "core/record/accounts/private.h"
#include "core/record/accounts/use.h"
#include "core/record/record.h"

#include <stdlib.h>

struct in_use_sum {
    enum limit_owner owner;
    uint32_t id;
    const char *user, *account; /* of a QOS: of which theirs; NULL = all together */
    int64_t jobs, submitted, accruing;
    VEC(int64_t) has;   /* by number of the resource, in thousandths, of memory MiB */
    struct idset nodes; /* a node that several jobs share counts once, as the limits do */
};

struct walk {
    const struct core *c;
    struct map_str *sum; /* owned */
    VEC(struct in_use_sum *) order;
    struct arena *a;          /* of their names */
    struct map_u64 *promised; /* owned; by use_key */
    bool jobs_seen, all_seen;
    struct map_walk used; /* of those who have nothing now */
    size_t row;           /* the next */
};

static struct in_use_sum *sum_take(struct walk *k, enum limit_owner owner, uint32_t id,
                                   const char *user, const char *account)
{
    struct str key = STR_INIT;
    str_addf(&key, "%d/%u\n%s\n%s", (int)owner, id, user ? user : "", account ? account : "");
    struct in_use_sum *s = map_str_get(k->sum, str_text(&key));
    if (!s) {
        s = xcalloc(1, sizeof *s);
        *s = (struct in_use_sum){.owner = owner,
                                 .id = id,
                                 .user = arena_strdup(k->a, user),
                                 .account = arena_strdup(k->a, account)};
        map_str_put(k->sum, str_text(&key), s);
        vec_push(&k->order, s);
    }
    str_done(&key);
    return s;
}

struct in_use_rates {
    const struct core *c;
    VEC(int64_t) of;
};

static void rate_take(void *ctx, const char *tres, int64_t rate)
{
    struct in_use_rates *v = ctx;
    ptrdiff_t n = use_tres_find(v->c, tres);
    while (n >= 0 && v->of.n <= (size_t)n)
        vec_push(&v->of, 0);
    if (n >= 0)
        v->of.v[n] = rate;
}

static int64_t gains(const struct jobrec *r, int64_t elements)
{
    if (r->accrue.of)
        return r->accrue.n;
    return r->j.eligible_us && !r->j.spec.hold && !r->j.accrue_us ? elements : 0;
}

static void job_add(struct in_use_sum *s, const struct jobrec *r, const struct in_use_rates *rates)
{
    int64_t elements = job_is_array(r) ? (int64_t)r->pending.count : 1;
    bool waits = r->j.state == JOB_PENDING;
    s->submitted += elements;
    s->accruing += waits ? gains(r, elements) : 0;
    s->jobs += !waits;
    for (size_t i = 0; !waits && i < r->hold.n; i++)
        if (!r->hold.v[i].released)
            idset_add(&s->nodes, (uint32_t)r->hold.v[i].node);
    for (size_t i = 0; i < rates->of.n; i++) {
        while (s->has.n <= i)
            vec_push(&s->has, 0);
        s->has.v[i] += rates->of.v[i];
    }
}

static void job_look(struct walk *k, const struct jobrec *r)
{
    bool waits = r->j.state == JOB_PENDING;
    const struct partrec *part = part_first(k->c, r->j.spec.req.partition);
    const char *in = !waits ? r->j.run_partition : part ? part->p.name : NULL;
    const struct qosrec *q[2];
    struct in_use_rates rates = {.c = k->c};
    if (!waits && r->j.state != JOB_RUNNING && r->j.state != JOB_SUSPENDED)
        return;
    if (!waits)
        use_rates(k->c, r, rate_take, &rates);
    for (const struct assocrec *a = assoc_for(k->c, r->j.spec.req.account, r->j.user_name, in); a;
         a = a->up)
        job_add(sum_take(k, OWNER_ASSOC, a->a.id, NULL, NULL), r, &rates);
    for (size_t i = 0, n = use_qos(k->c, r, in, q); i < n; i++) {
        job_add(sum_take(k, OWNER_QOS, q[i]->q.id, NULL, NULL), r, &rates);
        if (r->j.user_name)
            job_add(sum_take(k, OWNER_QOS, q[i]->q.id, r->j.user_name, NULL), r, &rates);
        if (r->j.spec.req.account)
            job_add(sum_take(k, OWNER_QOS, q[i]->q.id, NULL, r->j.spec.req.account), r, &rates);
    }
    vec_done(&rates.of);
}

static const char *has_say(const struct core *c, const struct in_use_sum *s, struct arena *a)
{
    struct str out = STR_INIT;
    for (size_t i = 0; i < s->has.n; i++) {
        const char *tres = c->usage.tres.v[i];
        int64_t n = text_is(tres, "node") ? (int64_t)s->nodes.count : s->has.v[i] / use_scale(tres);
        if (s->has.v[i])
            str_addf(&out, "%s%s=%lld", out.len ? "," : "", tres, (long long)n);
    }
    const char *text = out.len ? arena_strdup(a, str_text(&out)) : NULL;
    str_done(&out);
    return text;
}

static bool is_shown(const struct core *c, const struct peer *peer, const struct in_use_sum *s)
{
    const struct assocrec *of =
        s->owner == OWNER_ASSOC ? map_u64_get(c->accounts.assoc, s->id) : NULL;
    return of ? may_see_usage(c, peer, of->a.user, of->a.account)
              : may_see_usage(c, peer, s->user, s->account);
}

static void sum_row(const struct walk *k, const struct in_use_sum *s, struct arena *a,
                    const struct view *v)
{
    const struct userec *used = use_find(k->c, s->owner, s->id);
    bool whole = !s->user && !s->account;
    struct in_use row = {.owner = (int32_t)s->owner,
                         .id = s->id,
                         .user = s->user,
                         .account = s->account,
                         .jobs = s->jobs,
                         .submitted = s->submitted,
                         .accruing = s->accruing,
                         .has = has_say(k->c, s, a)};
    if (whole) {
        row.usage = use_amount(k->c, used, "billing");
        row.wall_ms = used ? used->wall_ms : 0;
        row.used = use_minutes(k->c, used, a);
        row.promised = use_minutes(k->c, map_u64_get(k->promised, use_key(s->owner, s->id)), a);
    }
    v->row(v->ctx, &row);
}

static void walk_drop(void *kept)
{
    struct walk *k = kept;
    for (size_t i = 0; i < k->order.n; i++) {
        vec_done(&k->order.v[i]->has);
        idset_done(&k->order.v[i]->nodes);
        free(k->order.v[i]);
    }
    vec_done(&k->order);
    map_str_free(k->sum);
    use_promised_free(k->promised);
    arena_free(k->a);
    free(k);
}

/* Their names live as long as the reading, whatever becomes of the jobs in between. */
static struct walk *walk_open(const struct core *c, struct query_at *at)
{
    struct walk *k = xcalloc(1, sizeof *k);
    *k = (struct walk){
        .c = c, .sum = map_str_new(), .a = arena_new(), .promised = use_promised_new()};
    at->kept = k;
    at->drop = walk_drop;
    return k;
}

/* The jobs; then those who have nothing now; then the rows. */
enum refusal query_in_use(const struct core *c, const struct peer *peer, int64_t now_us,
                          const struct view *v, struct query_at *at, size_t most)
{
    ASSERT(most > 0);
    struct walk *k = at->kept ? at->kept : walk_open(c, at);
    for (; !k->jobs_seen && most; most--) {
        if ((k->jobs_seen = !map_u64_next(c->jobs.by_id, &at->walk)))
            break;
        job_look(k, at->walk.value);
        use_promised_add(c, at->walk.value, now_us, k->promised);
    }
    for (; k->jobs_seen && !k->all_seen && most; most--) {
        if ((k->all_seen = !map_u64_next(c->usage.of, &k->used)))
            break;
        const struct userec *u = k->used.value;
        (void)sum_take(k, u->owner, u->id, NULL, NULL);
    }
    struct arena *a = arena_new();
    for (; k->all_seen && k->row < k->order.n && most; most--) {
        const struct in_use_sum *s = k->order.v[k->row++];
        if (is_shown(c, peer, s))
            sum_row(k, s, a, v);
        arena_reset(a);
    }
    arena_free(a);
    at->more = !k->all_seen || k->row < k->order.n;
    return REFUSE_NONE;
}
