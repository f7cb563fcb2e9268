#include "core/record/accounts/minutes_ask.h"
#include "base/alloc.h"
#include "core/record/accounts/use.h"
#include "core/record/record.h"

/* ---- what a job uses ------------------------------------------------------------------------ */

struct minutes_ask_rate {
    const char *tres;
    int64_t sum;
};

static void rate_find(void *ctx, const char *tres, int64_t rate)
{
    struct minutes_ask_rate *of = ctx;
    if (text_is_nocase(of->tres, tres))
        of->sum += rate;
}

/* In units of use.h, in a second; wall clock time as if it were one of something. */
static int64_t rate_of(const struct core *c, const struct jobrec *r, const char *tres)
{
    struct minutes_ask_rate of = {.tres = tres};
    if (!tres)
        return 1000;
    use_rates(c, r, rate_find, &of);
    return of.sum;
}

/* ---- sums ----------------------------------------------------------------------------------- */

bool minutes_safe(const struct core *c)
{
    return c->settings.word.enforce_safe || c->settings.word.enforce_all;
}

/* With `safe`, a use factor counts beforehand if the QOS says so. */
static int64_t factor_before(const struct core *c, const struct jobrec *r)
{
    const struct qosrec *q[2];
    size_t n = use_qos(c, r, r->j.run_partition, q);
    for (size_t i = 0; i < n; i++)
        if (q[i]->q.flags & QOS_USAGE_FACTOR_SAFE)
            return use_factor_e6(c, r);
    return 1000000;
}

bool minutes_count_against(const struct core *c, const struct jobrec *r,
                           const struct limit_subject *who, const struct limit_hit *h)
{
    enum limit_scope scope = resource_limit_table[h->l->what].scope;
    const struct qosrec *q[2];
    if ((scope == SCOPE_USER && !text_is(r->j.user_name, who->user)) ||
        (scope == SCOPE_ACCOUNT && !text_is(r->j.spec.req.account, who->account)))
        return false;
    if (h->assoc) {
        const struct assocrec *leaf =
            assoc_for(c, r->j.spec.req.account, r->j.user_name, r->j.run_partition);
        return leaf && assoc_is_under(leaf, h->assoc);
    }
    size_t n = use_qos(c, r, r->j.run_partition, q);
    return (n > 0 && q[0] == h->qos) || (n > 1 && q[1] == h->qos);
}

/* Time × use factor of what the run may still use: beyond what is charged (whole seconds of what it
 * ran: those that it has begun are still to come), or from now on. */
static int64_t left_e6(const struct core *c, const struct jobrec *r, bool used)
{
    int64_t us = use_left_us(r, c->turn.now_us), seconds = us / USEC_PER_SEC;
    if (used && us != USE_LONG) {
        int64_t uncharged = r->j.limit_us / USEC_PER_SEC - r->charged_us / USEC_PER_SEC;
        seconds = uncharged > seconds ? uncharged : seconds;
    }
    return use_product(seconds, used ? factor_before(c, r) : use_factor_e6(c, r), 1);
}

int64_t minutes_left(const struct core *c, const struct jobrec *r, const struct limit_hit *h,
                     int64_t *us)
{
    bool used = resource_limit_table[h->l->what].counts == COUNTS_USED;
    if (us)
        *us = use_left_us(r, c->turn.now_us);
    return use_product(rate_of(c, r, h->l->tres), left_e6(c, r, used), 1000000);
}

static int64_t sum_make(const struct core *c, const struct limit_subject *who,
                        const struct limit_hit *h)
{
    struct map_walk w = {0};
    int64_t sum = 0;
    while (map_u64_next(c->jobs.by_id, &w)) {
        const struct jobrec *r = w.value;
        if ((r->j.state != JOB_RUNNING && r->j.state != JOB_SUSPENDED) ||
            !minutes_count_against(c, r, who, h))
            continue;
        sum += minutes_left(c, r, h, NULL);
        sum = sum > USE_MOST ? USE_MOST : sum;
    }
    return sum;
}

/* What running jobs may still use of it. */
static int64_t promised(const struct core *c, const struct limit_subject *who,
                        const struct limit_hit *h, struct map_str *sums)
{
    struct str key = STR_INIT;
    if (!sums)
        return sum_make(c, who, h);
    enum limit_scope scope = resource_limit_table[h->l->what].scope;
    limit_id_add(h->l, &key);
    str_addf(&key, "\n%s",
             scope == SCOPE_USER      ? who->user
             : scope == SCOPE_ACCOUNT ? who->account
                                      : "");
    int64_t *sum = map_str_get(sums, str_text(&key));
    if (!sum) {
        sum = xcalloc(1, sizeof *sum);
        *sum = sum_make(c, who, h);
        map_str_put(sums, str_text(&key), sum);
    }
    str_done(&key);
    return *sum;
}

static int64_t used_of(const struct core *c, const struct limit_hit *h)
{
    const struct userec *u =
        h->qos ? use_find(c, OWNER_QOS, h->qos->q.id) : use_find(c, OWNER_ASSOC, h->assoc->a.id);
    if (!u)
        return 0;
    return h->l->tres ? use_amount(c, u, h->l->tres) : u->wall_ms;
}

/* ---- the question --------------------------------------------------------------------------- */

struct minutes_ask minutes_ask_of(const struct core *c, const struct limit_subject *who,
                                  const struct limit_hit *h, struct map_str *sum)
{
    struct minutes_ask q = {.c = c, .h = h, .who = who, .safe = minutes_safe(c)};
    q.counts_used = resource_limit_table[h->l->what].counts == COUNTS_USED;
    q.unit = (h->l->tres ? use_scale(h->l->tres) : 1000) * 60;
    q.most = use_product(h->value, q.unit, 1);
    q.used = q.counts_used ? used_of(c, h) : 0;
    q.promised = !q.counts_used || q.safe ? promised(c, who, h, sum) : 0;
    return q;
}

int64_t minutes_need(const struct minutes_ask *q, const struct jobrec *t, int64_t us)
{
    int64_t factor = q->counts_used ? factor_before(q->c, t) : use_factor_e6(q->c, t);
    if (q->counts_used && !q->safe)
        return 0;
    int64_t seconds_e6 = use_product((us + USEC_PER_SEC - 1) / USEC_PER_SEC, factor, 1);
    return use_product(rate_of(q->c, t, q->h->l->tres), seconds_e6, 1000000);
}

bool minutes_fit(const struct minutes_ask *q, int64_t need)
{
    if (q->counts_used && !q->safe)
        return q->used < q->most;
    return need == 0 || (q->used <= q->most && q->promised <= q->most - q->used &&
                         need <= q->most - q->used - q->promised);
}

void minutes_say(const struct minutes_ask *q, int64_t need, struct str *out)
{
    str_clear(out);
    limit_say(q->h, out);
    if (q->counts_used)
        str_addf(out, ": %lld of %lld minutes are used", (long long)(q->used / q->unit),
                 (long long)q->h->value);
    if (q->counts_used && q->safe)
        str_addf(out, ", running jobs may use %lld, it asks for %lld",
                 (long long)(q->promised / q->unit), (long long)((need + q->unit - 1) / q->unit));
    else if (!q->counts_used)
        str_addf(out, ": running jobs may still use %lld of %lld minutes, it asks for %lld",
                 (long long)(q->promised / q->unit), (long long)q->h->value,
                 (long long)((need + q->unit - 1) / q->unit));
}
