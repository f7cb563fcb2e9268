/* Limits that hold while jobs run are caps of the planner: it counts what runs against them,
 * foresees when they leave room, and keeps promises within them. A cap belongs to a limit and to
 * whom it is counted for: a QOS's MaxJobsPerUser has one for each user with a job there. They
 * are made when a job comes that counts against them, and never taken away; one whose limit was
 * lifted has none any more that count.
 *
 * Limits on how many jobs there are (MaxSubmitJobs) are checked when one is submitted, against
 * counts by account, user, QOS and partition, of which there are few. */
#include "core/record/limits.h"
#include "base/hostlist.h"
#include "core/record/record.h"
#include "model/gres.h"
#include "model/job_counts.h"

#include <stdlib.h>
#include <string.h>

struct caprec {
    uint32_t id;
    int64_t most;
    bool told;
};

/* Jobs that are there, elements of arrays each. Texts interned. */
struct live_count {
    const char *account, *user, *qos, *partition;
    uint64_t jobs;
};

/* ---- what is insisted on -------------------------------------------------------------------- */

bool enforces_associations(const struct core *c)
{
    const struct setting_words *w = &c->settings.word;
    return w->enforce_associations || w->enforce_limits || w->enforce_qos || w->enforce_safe ||
           w->enforce_wckeys || w->enforce_all;
}

bool enforces_limits(const struct core *c)
{
    const struct setting_words *w = &c->settings.word;
    return w->enforce_limits || w->enforce_safe || w->enforce_all;
}

bool enforces_qos(const struct core *c)
{
    return c->settings.word.enforce_qos || c->settings.word.enforce_all;
}

struct limit_subject limits_subject(const struct jobrec *r, const char *partition)
{
    return (struct limit_subject){.user = r->j.user_name,
                                  .account = r->j.spec.req.account,
                                  .qos = r->j.spec.req.qos,
                                  .partition = partition};
}

/* ---- which hold ----------------------------------------------------------------------------- */

/* What an association and a QOS call differently. */
static enum resource_limit same_as(enum resource_limit what)
{
    if (what == LIMIT_MAX_JOBS)
        return LIMIT_MAX_JOBS_PER_USER;
    if (what == LIMIT_MAX_JOBS_ACCRUE)
        return LIMIT_MAX_JOBS_ACCRUE_PER_USER;
    return what == LIMIT_MAX_SUBMIT ? LIMIT_MAX_SUBMIT_PER_USER : what;
}

/* Does somebody before the n-th set it? A limit of some hours holds beside the others. */
static bool is_set(const limit_hits *hits, size_t n, const struct limit *l)
{
    for (size_t i = 0; i < n; i++) {
        const struct limit *other = hits->v[i].l;
        if (!other->hours &&
            same_as((enum resource_limit)other->what) == same_as((enum resource_limit)l->what) &&
            (other->tres == l->tres || text_is(other->tres, l->tres)))
            return true;
    }
    return false;
}

/* `before`: what those say is not asked here. */
static void carrier_collect(const limit_list *list, const struct limit_hit *carrier,
                            enum limit_counts counts, bool group, size_t before, limit_hits *out)
{
    for (size_t i = 0; i < list->n; i++) {
        struct limit_hit hit = *carrier;
        const struct resource_limit_row *row = &resource_limit_table[list->v[i]->what];
        hit.l = list->v[i];
        hit.above = is_set(out, before, hit.l);
        if (row->counts == counts && (row->scope == SCOPE_GROUP) == group)
            vec_push(out, hit);
    }
}

static bool same_limit(const struct limit *a, const struct limit *b)
{
    return a->what == b->what && text_is(a->tres, b->tres) && text_is(a->hours, b->hours);
}

/* Limits that are passed down, nearest first. */
static void passed_down(const struct assocrec *leaf, enum limit_counts counts, size_t of_qos,
                        limit_hits *out)
{
    for (const struct assocrec *r = leaf; r; r = r->up)
        for (size_t i = 0; i < r->limit.n; i++) {
            const struct limit *l = r->limit.v[i];
            const struct resource_limit_row *row = &resource_limit_table[l->what];
            bool nearest = true;
            for (size_t k = of_qos; k < out->n; k++)
                nearest &= !same_limit(out->v[k].l, l);
            if (row->counts == counts && row->scope != SCOPE_GROUP && nearest)
                vec_push(out,
                         ((struct limit_hit){.l = l, .assoc = r, .above = is_set(out, of_qos, l)}));
        }
}

void limits_collect(const struct core *c, const struct limit_subject *who, enum limit_counts counts,
                    limit_hits *out)
{
    const struct partrec *part = who->partition ? part_find(c, who->partition) : NULL;
    const struct qosrec *own = qos_find(c, who->qos),
                        *of_part = part ? qos_find(c, part->p.qos) : NULL;
    bool own_first = own && (own->q.flags & QOS_OVER_PART_QOS);
    const struct qosrec *const order[] = {own_first ? own : of_part, own_first ? of_part : own};
    for (size_t i = 0; i < ARRAY_LEN(order); i++) {
        size_t before = out->n;
        if (!order[i] || (i > 0 && order[i] == order[0]))
            continue;
        for (int group = 0; group < 2; group++)
            carrier_collect(&order[i]->limit, &(struct limit_hit){.qos = order[i]}, counts, group,
                            before, out);
    }
    size_t of_qos = out->n;
    const struct assocrec *leaf = assoc_for(c, who->account, who->user, who->partition);
    for (const struct assocrec *r = leaf; r; r = r->up)
        carrier_collect(&r->limit, &(struct limit_hit){.assoc = r}, counts, true, of_qos, out);
    passed_down(leaf, counts, of_qos, out);
}

void limit_say(const struct limit_hit *h, struct str *out)
{
    const struct resource_limit_row *row = &resource_limit_table[h->l->what];
    str_addf(out, "%s=%s%s%lld%s%s of ", row->word, h->l->tres ? h->l->tres : "",
             h->l->tres ? "=" : "", (long long)h->l->value, h->l->hours ? " at " : "",
             h->l->hours ? h->l->hours : "");
    if (h->qos)
        str_addf(out, "QOS %s", h->qos->q.name);
    else
        str_addf(out, "%s%s%s", h->assoc->a.user ? h->assoc->a.user : "account ",
                 h->assoc->a.user ? " in account " : "", h->assoc->a.account);
}

/* ---- caps ----------------------------------------------------------------------------------- */

static bool cap_counts_of(const struct limit *l, enum cap_counts *ret, const char **ret_gres)
{
    *ret_gres = NULL;
    if (!l->tres)
        *ret = CAP_JOBS;
    else if (text_is(l->tres, "cpu"))
        *ret = CAP_CPUS;
    else if (text_is(l->tres, "mem"))
        *ret = CAP_MEM;
    else if (text_is(l->tres, "node"))
        *ret = CAP_NODES;
    else if (text_starts(l->tres, "gres/"))
        *ret = CAP_GRES, *ret_gres = l->tres + strlen("gres/");
    else if (text_starts(l->tres, "license/"))
        *ret = CAP_LICENCES, *ret_gres = l->tres + strlen("license/");
    else
        return false;
    return true;
}

bool limit_holds(const struct limit *l)
{
    enum cap_counts counts;
    const char *gres;
    switch (resource_limit_table[l->what].counts) {
    case COUNTS_RUNNING: return cap_counts_of(l, &counts, &gres);
    case COUNTS_LIVE: return true;
    case COUNTS_ASKED:
    case COUNTS_LEAST: return cap_counts_of(l, &counts, &gres) || text_is(l->tres, "billing");
    case COUNTS_PRIORITY: return true;
    case COUNTS_ACCRUING:
    case COUNTS_USED:
    case COUNTS_PROMISED: break;
    }
    return false;
}

/* For whom a limit is counted. */
static void cap_key(const struct limit_subject *who, const struct limit_hit *h,
                    const struct assocrec *leaf, struct str *out)
{
    str_addf(out, "%s", h->l->id);
    switch (resource_limit_table[h->l->what].scope) {
    case SCOPE_USER:
        if (h->assoc) /* of each user below: his own association */
            str_addf(out, "\n%u", leaf->a.id);
        else
            str_addf(out, "\n%s", who->user ? who->user : "");
        return;
    case SCOPE_ACCOUNT: str_addf(out, "\n%s", who->account ? who->account : ""); return;
    case SCOPE_GROUP:
    case SCOPE_JOB:
    case SCOPE_NODE: return;
    }
}

static void cap_tell(struct core *c, struct caprec *cap, const struct limit_subject *who,
                     const struct limit_hit *h)
{
    struct cap row = {.id = cap->id, .most = h->l->value, .hours = h->l->hours};
    struct str says = STR_INIT;
    if (cap->told && cap->most == h->l->value)
        return;
    (void)cap_counts_of(h->l, &row.counts, &row.gres);
    row.reason = resource_limit_reason((enum limit_owner)h->l->owner,
                                       (enum resource_limit)h->l->what, h->l->tres);
    limit_say(h, &says);
    if (resource_limit_table[h->l->what].scope == SCOPE_USER && who->user)
        str_addf(&says, ", of which for %s", who->user);
    else if (resource_limit_table[h->l->what].scope == SCOPE_ACCOUNT && who->account)
        str_addf(&says, ", of which for account %s", who->account);
    row.says = str_text(&says);
    cluster_put_cap(c->cluster, &row);
    str_done(&says);
    cap->told = true;
    cap->most = h->l->value;
}

struct cap_use {
    uint32_t id;
    bool above;
    int64_t slack;
    uint32_t places; /* bits: in which of the job's partitions, by their places in its list */
};
typedef VEC(struct cap_use) cap_uses;

/* value × factor, which is in millionths; as much as fits. */
static int64_t times_e6(int64_t value, int64_t factor_e6)
{
    int64_t whole = value / 1000000, rest = value % 1000000;
    if (factor_e6 > 0 && whole > INT64_MAX / 4 / factor_e6)
        return INT64_MAX / 4;
    return whole * factor_e6 + rest * factor_e6 / 1000000;
}

/* LimitFactor of the job's QOS: an association's GrpTRES and MaxTRES are worth so much to it. */
static int64_t limit_worth(const struct core *c, const struct limit_subject *who,
                           const struct limit_hit *h)
{
    const struct qosrec *q = h->assoc ? qos_find(c, who->qos) : NULL;
    bool of_it = h->l->what == LIMIT_GRP_TRES || h->l->what == LIMIT_MAX_TRES;
    if (!q || !of_it || q->q.limit_factor_e6_plus1 <= 1)
        return h->l->value;
    return times_e6(h->l->value, q->q.limit_factor_e6_plus1 - 1);
}

static void caps_add(struct core *c, const struct limit_subject *who, cap_uses *out)
{
    limit_hits hits = {0};
    struct str key = STR_INIT;
    const struct assocrec *leaf = assoc_for(c, who->account, who->user, who->partition);
    limits_collect(c, who, COUNTS_RUNNING, &hits);
    for (size_t i = 0; i < hits.n; i++) {
        enum cap_counts counts;
        const char *gres;
        if (!cap_counts_of(hits.v[i].l, &counts, &gres))
            continue;
        str_clear(&key);
        cap_key(who, &hits.v[i], leaf, &key);
        struct caprec *cap = map_str_get(c->accounts.cap_of, str_text(&key));
        if (!cap) {
            cap = xcalloc(1, sizeof *cap);
            cap->id = ++c->accounts.last_cap;
            map_str_put(c->accounts.cap_of, str_text(&key), cap);
        }
        cap_tell(c, cap, who, &hits.v[i]);
        vec_push(out,
                 ((struct cap_use){.id = cap->id,
                                   .above = hits.v[i].above,
                                   .slack = limit_worth(c, who, &hits.v[i]) - hits.v[i].l->value}));
    }
    str_done(&key);
    vec_done(&hits);
}

static int use_order(const void *a, const void *b)
{
    const struct cap_use *x = a, *y = b;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return x->above != y->above ? x->above - y->above
                                : (x->slack > y->slack) - (x->slack < y->slack);
}

#define PLACES_MOST 32 /* partitions of a job that are told apart */

/* Of those that say the same one is left, which holds where any of them did. */
static void uses_join(cap_uses *v)
{
    size_t kept = 0;
    if (v->n > 1)
        qsort(v->v, v->n, sizeof v->v[0], use_order);
    for (size_t i = 0; i < v->n; i++)
        if (kept > 0 && use_order(&v->v[i], &v->v[kept - 1]) == 0)
            v->v[kept - 1].places |= v->v[i].places;
        else
            v->v[kept++] = v->v[i];
    v->n = kept;
}

/* In each of these partitions, comma-separated. What holds in some of them says in which, by their
 * places in the list. */
static const char *caps_text(struct core *c, const struct jobrec *r, const char *partitions)
{
    cap_uses uses = {0};
    struct str text = STR_INIT;
    struct span rest = span_of(partitions ? partitions : ""), piece;
    uint32_t place = 0, all = 0;
    for (; span_next(&rest, ',', &piece); place++) {
        struct limit_subject who =
            limits_subject(r, arena_strndup(c->turn.fx->arena, piece.data, piece.len));
        size_t first = uses.n;
        uint32_t bit = place < PLACES_MOST ? UINT32_C(1) << place : 0;
        caps_add(c, &who, &uses);
        for (size_t i = first; i < uses.n; i++)
            uses.v[i].places = bit;
        all |= bit;
    }
    if (place > PLACES_MOST) /* too many to tell: all of them hold in each */
        for (size_t i = 0; i < uses.n; i++)
            uses.v[i].places = all;
    uses_join(&uses);
    for (size_t i = 0; i < uses.n; i++) {
        str_addf(&text, "%s%u", text.len ? "," : "", uses.v[i].id);
        if (uses.v[i].slack)
            str_addf(&text, ":%lld", (long long)uses.v[i].slack);
        if (uses.v[i].places != all)
            str_addf(&text, "@%u", uses.v[i].places);
        str_add(&text, uses.v[i].above ? "+" : "");
    }
    const char *kept = text.len ? arena_strdup(c->turn.fx->arena, str_text(&text)) : NULL;
    str_done(&text);
    vec_done(&uses);
    return kept;
}

const char *limits_waiting(struct core *c, const struct jobrec *r)
{
    return enforces_limits(c) ? caps_text(c, r, r->j.spec.req.partition) : NULL;
}

void limits_running(struct core *c, const struct jobrec *r)
{
    if (enforces_limits(c) || c->accounts.last_cap)
        cluster_run_capped(c->cluster, r->j.id,
                           enforces_limits(c) ? caps_text(c, r, r->j.run_partition) : NULL);
}

/* ---- priorities ----------------------------------------------------------------------------- */

static void qos_tell(struct core *c, const struct qos *q)
{
    struct sched_qos to = {.name = q->name,
                           .preempt = q->preempt,
                           .preempt_mode = (enum preempt_mode)q->preempt_mode,
                           .exempt_us = q->preempt_exempt_us,
                           .grace_us = q->grace_us};
    static const struct {
        enum qos_flag flag;
        enum qos_over over;
    } over[] = {{QOS_PART_MAX_NODES, QOS_OVER_MAX_NODES},
                {QOS_PART_MIN_NODES, QOS_OVER_MIN_NODES},
                {QOS_PART_TIME_LIMIT, QOS_OVER_MAX_TIME},
                {QOS_NO_RESERVE, QOS_PROMISED_NOTHING}};
    if (q->deleted) {
        cluster_remove_qos(c->cluster, q->name);
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(over); i++)
        if (q->flags & (uint32_t)over[i].flag)
            to.over |= (uint32_t)over[i].over;
    cluster_put_qos(c->cluster, &to);
}

void limits_priorities(struct core *c)
{
    struct map_walk w = {0};
    c->accounts.most_qos = c->accounts.most_assoc = 0;
    while (map_u64_next(c->accounts.qos, &w)) {
        const struct qos *q = &((const struct qosrec *)w.value)->q;
        qos_tell(c, q);
        if (!q->deleted && q->priority > c->accounts.most_qos)
            c->accounts.most_qos = q->priority;
    }
    for (w = (struct map_walk){0}; map_u64_next(c->accounts.assoc, &w);) {
        const struct assoc *a = &((const struct assocrec *)w.value)->a;
        if (!a->deleted && a->priority_plus1 > c->accounts.most_assoc + 1)
            c->accounts.most_assoc = a->priority_plus1 - 1;
    }
}

static int64_t factor_of(uint32_t priority, uint32_t most, bool as_it_is)
{
    if (as_it_is)
        return (int64_t)priority * FACTOR_ONE;
    return most ? (int64_t)priority * FACTOR_ONE / most : 0;
}

void limits_factors(const struct core *c, const struct jobrec *r, int64_t *ret_qos,
                    int64_t *ret_assoc)
{
    const struct qosrec *q = qos_find(c, r->j.spec.req.qos);
    const struct partrec *part = part_first(c, r->j.spec.req.partition);
    const struct assocrec *a =
        assoc_for(c, r->j.spec.req.account, r->j.user_name, part ? part->p.name : NULL);
    while (a && !a->a.priority_plus1)
        a = a->up;
    *ret_qos = factor_of(q ? q->q.priority : 0, c->accounts.most_qos,
                         c->settings.word.no_normal_qos || c->settings.word.no_normal_all);
    *ret_assoc = factor_of(a ? a->a.priority_plus1 - 1 : 0, c->accounts.most_assoc,
                           c->settings.word.no_normal_assoc || c->settings.word.no_normal_all);
}

uint64_t limits_promise_priority(const struct core *c, const struct jobrec *r)
{
    const struct partrec *part = part_first(c, r->j.spec.req.partition);
    struct limit_subject who = limits_subject(r, part ? part->p.name : NULL);
    limit_hits hits = {0};
    int64_t most = 0;
    if (!enforces_limits(c))
        return 0;
    limits_collect(c, &who, COUNTS_PRIORITY, &hits);
    for (size_t i = 0; i < hits.n; i++)
        if (!hits.v[i].above && hits.v[i].l->value > most)
            most = hits.v[i].l->value;
    vec_done(&hits);
    return (uint64_t)most;
}

/* ---- of one job ----------------------------------------------------------------------------- */

/* What the job asks for of a resource; −1 = it cannot be told. */
static int64_t asked_of(const struct jobrec *r, const char *tres)
{
    const struct job *j = &r->j;
    int64_t sum = 0;
    if (text_is(tres, "cpu"))
        return job_cpus(j);
    if (text_is(tres, "mem"))
        return job_mem_mib(j);
    if (text_is(tres, "node"))
        return job_nodes(j);
    if (text_is(tres, "billing"))
        return job_billing(j);
    if (text_is(tres, "gres/gpu"))
        return job_gpus_asked(j);
    if (!text_starts(tres, "gres/"))
        return -1;
    struct arena *a = arena_new();
    struct gres_list list = {0};
    const char *name = tres + strlen("gres/");
    size_t kind = strcspn(name, ":");
    if (gres_parse(j->spec.req.gres ? j->spec.req.gres : "", a, &list, NULL))
        for (size_t i = 0; i < list.n; i++) {
            const struct gres_item *item = &list.item[i];
            bool same = strlen(item->kind) == kind && strncmp(item->kind, name, kind) == 0 &&
                        (!name[kind] || text_is_nocase(item->type, name + kind + 1));
            sum += same ? item->count * job_nodes(j) : 0;
        }
    arena_free(a);
    return sum;
}

int64_t limits_wall_us(const struct core *c, const struct limit_subject *who)
{
    limit_hits hits = {0};
    int64_t least = 0;
    limits_collect(c, who, COUNTS_ASKED, &hits);
    for (size_t i = 0; i < hits.n; i++)
        if (hits.v[i].l->what == LIMIT_MAX_WALL && !hits.v[i].above &&
            (!least || hits.v[i].l->value * USEC_PER_MIN < least))
            least = hits.v[i].l->value * USEC_PER_MIN;
    vec_done(&hits);
    return least;
}

static bool within(const struct core *c, const struct jobrec *r, const struct limit_subject *who,
                   const struct limit_hit *h)
{
    const struct limit *l = h->l;
    int64_t wall = r->j.spec.req.time_limit_us, asks;
    switch ((enum resource_limit)l->what) {
    case LIMIT_MAX_WALL:
        return !wall || (wall != TIME_UNLIMITED && wall <= l->value * USEC_PER_MIN);
    case LIMIT_MAX_TRES: return asked_of(r, l->tres) <= limit_worth(c, who, h);
    case LIMIT_MAX_TRES_PER_NODE: return asked_of(r, l->tres) / job_nodes(&r->j) <= l->value;
    case LIMIT_MAX_TRES_MINS:
        asks = asked_of(r, l->tres);
        return !wall || asks <= 0 ||
               (wall != TIME_UNLIMITED && wall / USEC_PER_MIN <= l->value / asks);
    case LIMIT_MIN_TRES:
        asks = asked_of(r, l->tres);
        return asks < 0 || asks >= l->value;
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
                         (long long)asked_of(r, hits.v[i].l->tres));
        }
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

/* ---- how many there are --------------------------------------------------------------------- */

static struct live_count *live_of(struct core *c, const struct jobrec *r)
{
    struct str key = STR_INIT;
    const struct job_request *req = &r->j.spec.req;
    str_addf(&key, "%s\n%s\n%s\n%s", req->account ? req->account : "",
             r->j.user_name ? r->j.user_name : "", req->qos ? req->qos : "",
             req->partition ? req->partition : "");
    struct live_count *n = map_str_get(c->accounts.live, str_text(&key));
    if (!n) {
        n = xcalloc(1, sizeof *n);
        text_set(c, &n->account, req->account);
        text_set(c, &n->user, r->j.user_name);
        text_set(c, &n->qos, req->qos);
        text_set(c, &n->partition, req->partition);
        map_str_put(c->accounts.live, str_text(&key), n);
    }
    str_done(&key);
    return n;
}

void limits_count(struct core *c, const struct jobrec *r, int64_t sign)
{
    uint64_t n = job_is_array(r) ? r->pending.count : 1;
    if (!job_live(r) || !n)
        return;
    struct live_count *at = live_of(c, r);
    CHECK(sign > 0 || at->jobs >= n);
    at->jobs += (uint64_t)sign * n;
}

/* Jobs that are there of those the limit is about. */
static uint64_t live_under(const struct core *c, const struct limit_subject *who,
                           const struct limit_hit *h)
{
    struct map_walk w = {0};
    uint64_t sum = 0;
    enum limit_scope scope = resource_limit_table[h->l->what].scope;
    while (map_str_next(c->accounts.live, &w)) {
        const struct live_count *n = w.value;
        if (!n->jobs || (scope == SCOPE_USER && !text_is(n->user, who->user)) ||
            (scope == SCOPE_ACCOUNT && !text_is(n->account, who->account)))
            continue;
        if (h->qos) {
            const struct partrec *part = part_first(c, n->partition);
            bool of_it =
                text_is(n->qos, h->qos->q.name) || (part && text_is(part->p.qos, h->qos->q.name));
            sum += of_it ? n->jobs : 0;
            continue;
        }
        const struct assocrec *leaf = assoc_for(c, n->account, n->user, NULL);
        bool of_it = scope == SCOPE_USER ? text_is(n->account, who->account)
                                         : leaf && assoc_is_under(leaf, h->assoc);
        sum += of_it ? n->jobs : 0;
    }
    return sum;
}

bool limits_room(const struct core *c, const struct limit_subject *who, uint64_t more,
                 struct str *detail)
{
    limit_hits hits = {0};
    bool room = true;
    if (!enforces_limits(c))
        return true;
    limits_collect(c, who, COUNTS_LIVE, &hits);
    for (size_t i = 0; i < hits.n && room; i++) {
        uint64_t there = live_under(c, who, &hits.v[i]), most = (uint64_t)hits.v[i].l->value;
        room = hits.v[i].above || there + more <= most;
        if (room)
            continue;
        limit_say(&hits.v[i], detail);
        str_addf(detail, ": %llu %s there, %llu more would be too many", (unsigned long long)there,
                 there == 1 ? "job is" : "jobs are", (unsigned long long)more);
    }
    vec_done(&hits);
    return room;
}

int64_t limit_used(const struct core *c, const struct limit_subject *who, const struct limit_hit *h)
{
    enum cap_counts counts;
    const char *gres;
    struct str key = STR_INIT;
    if (resource_limit_table[h->l->what].counts == COUNTS_LIVE)
        return (int64_t)live_under(c, who, h);
    if (resource_limit_table[h->l->what].counts != COUNTS_RUNNING || !enforces_limits(c) ||
        !cap_counts_of(h->l, &counts, &gres))
        return -1;
    cap_key(who, h, assoc_for(c, who->account, who->user, who->partition), &key);
    const struct caprec *cap = map_str_get(c->accounts.cap_of, str_text(&key));
    str_done(&key);
    return cap ? cluster_cap_used(c->cluster, cap->id) : 0; /* none: nobody counts against it */
}

bool limits_next_subject(const struct core *c, struct map_walk *w, struct limit_subject *ret)
{
    while (map_str_next(c->accounts.live, w)) {
        const struct live_count *n = w->value;
        *ret = (struct limit_subject){n->user, n->account, n->qos, n->partition};
        if (n->jobs)
            return true;
    }
    return false;
}

void limits_free(struct core *c)
{
    struct map_walk w = {0};
    while (map_str_next(c->accounts.live, &w))
        free(w.value);
    for (w = (struct map_walk){0}; map_str_next(c->accounts.cap_of, &w);)
        free(w.value);
    map_str_free(c->accounts.live);
    map_str_free(c->accounts.cap_of);
}
