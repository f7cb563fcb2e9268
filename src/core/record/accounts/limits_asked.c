/* Limits that a job exceeds by what it asks for, whoever else runs: those on one job, and of the
 * others what they can never allow. */
#include "base/amount.h"
#include "base/list.h"
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

/* The shortest MaxWall that holds; TIME_UNLIMITED = none. */
static int64_t shortest_us(const struct core *c, const struct limit_subject *who)
{
    limit_hits hits = {0};
    int64_t least = TIME_UNLIMITED;
    limits_collect(c, who, COUNTS_ASKED, &hits);
    for (size_t i = 0; i < hits.n; i++)
        if (hits.v[i].l->what == LIMIT_MAX_WALL && !hits.v[i].above && wall_us(&hits.v[i]) < least)
            least = wall_us(&hits.v[i]);
    vec_done(&hits);
    return least;
}

int64_t limits_wall_given_us(const struct core *c, const struct jobrec *r, const char *partitions)
{
    struct span rest = span_of(partitions ? partitions : ""), piece;
    int64_t least = TIME_UNLIMITED, wants = r->j.spec.req.time_min_us;
    bool shorter = false;
    if (!enforces_limits(c) || r->j.spec.req.time_limit_us)
        return 0;
    struct arena *a = arena_new();
    while (span_next(&rest, ',', &piece)) {
        const struct partrec *p = part_find(c, arena_strndup(a, piece.data, piece.len));
        struct limit_subject who = limits_subject(r, p ? p->p.name : NULL);
        int64_t most = p ? shortest_us(c, &who) : TIME_UNLIMITED, own = TIME_UNLIMITED;
        if (p && (p->p.default_time_us || p->p.max_time_us))
            own = p->p.default_time_us ? p->p.default_time_us : p->p.max_time_us;
        shorter |= most < own;
        own = most < own ? most : own;
        least = own < least ? own : least;
    }
    arena_free(a);
    least = least < wants ? wants : least; /* where that is too long it does not start at all */
    return shorter ? least : 0;
}

static bool within(const struct core *c, const struct jobrec *r, const struct limit_subject *who,
                   const struct limit_hit *h)
{
    const struct limit *l = h->l;
    int64_t wall = r->j.spec.req.time_limit_us, asks;
    switch ((enum resource_limit)l->what) {
    case LIMIT_MAX_WALL: /* who gives none is given no more (limits_wall_given_us) */
        return wall ? wall != TIME_UNLIMITED && wall <= wall_us(h)
                    : wall_us(h) > 0 && r->j.spec.req.time_min_us <= wall_us(h);
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

/* What keeps it from that partition. */
static enum job_reason bar_in(const struct core *c, const struct jobrec *r, const char *partition,
                              struct str *detail)
{
    enum job_reason bar = account_bar(c, r, partition);
    return bar == REASON_NONE && enforces_limits(c) ? asked_bar(c, r, partition, detail) : bar;
}

/* It is enough if one of its partitions would let it run. */
enum job_reason limits_bar(const struct core *c, const struct jobrec *r, struct str *detail)
{
    struct span rest = span_of(r->j.spec.req.partition ? r->j.spec.req.partition : ""), piece;
    struct arena *a = arena_new();
    enum job_reason bar = REASON_NONE;
    bool any = false;
    while (enforces_associations(c) && !any && span_next(&rest, ',', &piece)) {
        bar = bar_in(c, r, arena_strndup(a, piece.data, piece.len), detail);
        any = bar == REASON_NONE;
    }
    arena_free(a);
    return bar;
}

enum job_reason limits_bar_beside(const struct core *c, const struct jobrec *r, const char *open,
                                  struct str *detail)
{
    const char *all = r->j.spec.req.partition;
    struct span rest = span_of(all ? all : ""), piece, last = {0};
    if (!open || open == all)
        return limits_bar(c, r, detail);
    if (*open)
        return REASON_NONE;
    while (span_next(&rest, ',', &piece))
        last = piece;
    struct arena *a = arena_new();
    enum job_reason bar = bar_in(c, r, arena_strndup(a, last.data, last.len), detail);
    arena_free(a);
    return bar;
}

const char *limits_open(const struct core *c, const struct jobrec *r, struct arena *a)
{
    const char *all = r->j.spec.req.partition;
    struct span rest = span_of(all ? all : ""), piece;
    struct str open = STR_INIT;
    if (!all || !strchr(all, ',') || !enforces_associations(c))
        return all;
    while (span_next(&rest, ',', &piece)) {
        const char *partition = arena_strndup(a, piece.data, piece.len);
        if (bar_in(c, r, partition, NULL) == REASON_NONE)
            list_addf(&open, "%s", partition);
    }
    const char *text = arena_strdup(a, str_text(&open));
    str_done(&open);
    return text;
}
