/* Limits that a job exceeds by what it asks for, whoever else runs: those on one job, and of the
 * others what they can never allow. */
#include "base/amount.h"
#include "core/record/accounts/limits.h"
#include "core/record/record.h"
#include "model/job/job_counts.h"

#include <string.h>

int64_t limits_asked_of(const struct jobrec *r, const char *tres)
{
    const struct job *j = &r->j;
    if (text_is(tres, "cpu"))
        return job_cpus(j);
    if (text_is(tres, "mem"))
        return job_mem_mib(j);
    if (text_is(tres, "node"))
        return job_nodes(j);
    if (text_is(tres, "billing"))
        return job_billing(j);
    return text_starts(tres, "gres/") ? job_gres_asked(j, tres + strlen("gres/")) : -1;
}

static int64_t wall_us(const struct limit_hit *h)
{
    return amount_times(h->value, USEC_PER_MIN);
}

int64_t limits_wall_us(const struct core *c, const struct limit_subject *who)
{
    limit_hits hits = {0};
    int64_t least = 0;
    limits_collect(c, who, COUNTS_ASKED, &hits);
    for (size_t i = 0; i < hits.n; i++)
        if (hits.v[i].l->what == LIMIT_MAX_WALL && !hits.v[i].above &&
            (!least || wall_us(&hits.v[i]) < least))
            least = wall_us(&hits.v[i]);
    vec_done(&hits);
    return least;
}

static bool within(const struct core *c, const struct jobrec *r, const struct limit_subject *who,
                   const struct limit_hit *h)
{
    const struct limit *l = h->l;
    int64_t wall = r->j.spec.req.time_limit_us, asks;
    switch ((enum resource_limit)l->what) {
    case LIMIT_MAX_WALL: return !wall || (wall != TIME_UNLIMITED && wall <= wall_us(h));
    case LIMIT_MAX_TRES: return limits_asked_of(r, l->tres) <= limit_worth(c, who, h);
    case LIMIT_MAX_TRES_PER_NODE: return limits_asked_of(r, l->tres) / job_nodes(&r->j) <= h->value;
    case LIMIT_MAX_TRES_MINS:
        asks = limits_asked_of(r, l->tres);
        return !wall || asks <= 0 ||
               (wall != TIME_UNLIMITED && wall / USEC_PER_MIN <= h->value / asks);
    case LIMIT_MIN_TRES:
        asks = limits_asked_of(r, l->tres);
        return asks < 0 || asks >= h->value;
        // clang-format off
#define X(limit, ...) case LIMIT_##limit:
        X(GRP_JOBS) X(GRP_JOBS_ACCRUE) X(GRP_SUBMIT) X(GRP_TRES) X(GRP_TRES_MINS)
        X(GRP_TRES_RUN_MINS) X(GRP_WALL) X(MAX_JOBS) X(MAX_JOBS_ACCRUE) X(MAX_SUBMIT)
        X(MAX_JOBS_PER_USER) X(MAX_JOBS_PER_ACCOUNT) X(MAX_JOBS_ACCRUE_PER_USER)
        X(MAX_JOBS_ACCRUE_PER_ACCOUNT) X(MAX_SUBMIT_PER_USER) X(MAX_SUBMIT_PER_ACCOUNT)
        X(MAX_TRES_PER_USER) X(MAX_TRES_PER_ACCOUNT) X(MAX_TRES_RUN_MINS_PER_USER)
        X(MAX_TRES_RUN_MINS_PER_ACCOUNT) X(MIN_PRIO)
#undef X
            // clang-format on
            case RESOURCE_LIMIT_COUNT : break;
    }
    return true;
}

static enum job_reason asked_bar(const struct core *c, const struct jobrec *r,
                                 const char *partition, struct str *detail)
{
    static const enum limit_counts kinds[] = {COUNTS_ASKED, COUNTS_LEAST};
    struct limit_subject who = limits_subject(r, partition);
    enum job_reason reason = REASON_NONE;
    limit_hits hits = {0};
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
        limits_collect(c, &who, kinds[k], &hits);
    for (size_t i = 0; i < hits.n && reason == REASON_NONE; i++) {
        if (hits.v[i].above || within(c, r, &who, &hits.v[i]))
            continue;
        reason = resource_limit_reason((enum limit_owner)hits.v[i].l->owner,
                                       (enum resource_limit)hits.v[i].l->what, hits.v[i].l->tres);
        if (detail) {
            str_clear(detail);
            limit_say(&hits.v[i], detail);
            if (hits.v[i].l->tres)
                str_addf(detail, ", the job asks for %lld",
                         (long long)limits_asked_of(r, hits.v[i].l->tres));
        }
    }
    vec_done(&hits);
    return reason;
}

enum job_reason limits_alone(const struct core *c, const struct jobrec *r, const char *partition,
                             struct str *detail)
{
    struct limit_subject who = limits_subject(r, partition);
    enum job_reason reason = REASON_NONE;
    limit_hits hits = {0};
    limits_collect(c, &who, COUNTS_RUNNING, &hits);
    for (size_t i = 0; i < hits.n && reason == REASON_NONE; i++) {
        const struct limit *l = hits.v[i].l;
        int64_t asks = l->tres ? limits_asked_of(r, l->tres) : 1;
        if (hits.v[i].above || l->hours || asks <= limit_worth(c, &who, &hits.v[i]))
            continue;
        reason = resource_limit_reason((enum limit_owner)l->owner, (enum resource_limit)l->what,
                                       l->tres);
        str_clear(detail);
        limit_say(&hits.v[i], detail);
        str_addf(detail, ", the job asks for %lld", (long long)asks);
    }
    vec_done(&hits);
    return reason;
}

/* Its account or QOS went, or is no longer for its user. */
static enum job_reason account_bar(const struct core *c, const struct jobrec *r,
                                   const char *partition)
{
    const struct job_request *req = &r->j.spec.req;
    const struct assocrec *leaf = assoc_for(c, req->account, r->j.user_name, partition);
    const struct qosrec *q = qos_find(c, req->qos);
    if (!leaf && enforces_associations(c))
        return REASON_INVALID_ACCOUNT;
    if (q && (q->q.flags & QOS_REQUIRES_RESV) && text_empty(req->reservation))
        return REASON_INVALID_QOS;
    return leaf && enforces_qos(c) && !assoc_has_qos(c, leaf, req->qos) ? REASON_INVALID_QOS
                                                                        : REASON_NONE;
}

/* It is enough if one of its partitions would let it run. */
enum job_reason limits_bar(const struct core *c, const struct jobrec *r, struct str *detail)
{
    struct span rest = span_of(r->j.spec.req.partition ? r->j.spec.req.partition : ""), piece;
    struct arena *a = arena_new();
    enum job_reason bar = REASON_NONE;
    bool any = false;
    while (enforces_associations(c) && !any && span_next(&rest, ',', &piece)) {
        const char *partition = arena_strndup(a, piece.data, piece.len);
        bar = account_bar(c, r, partition);
        if (bar == REASON_NONE && enforces_limits(c))
            bar = asked_bar(c, r, partition, detail);
        any = bar == REASON_NONE;
    }
    arena_free(a);
    return bar;
}
