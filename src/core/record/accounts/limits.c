/* Limits that hold while jobs run are caps of the planner: it counts what runs against them,
 * foresees when they leave room, and keeps promises within them. A cap belongs to a limit and to
 * whom it is counted for: a QOS's MaxJobsPerUser has one for each user with a job there. They
 * are made when a job comes that counts against them, and never taken away; one whose limit was
 * lifted has none any more that count. */
#include "core/record/accounts/limits.h"
#include "core/record/record.h"

#include <stdlib.h>
#include <string.h>

struct caprec {
    uint32_t id;
    int64_t most;
    bool told;
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

bool enforces_wckeys(const struct core *c)
{
    return c->settings.word.enforce_wckeys || c->settings.word.enforce_all;
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
        const struct resource_limit_row *row = &resource_limit_table[list->v[i].what];
        if (row->counts != counts || (row->scope == SCOPE_GROUP) != group)
            continue;
        hit.l = &list->v[i];
        hit.value =
            carrier->qos && i < carrier->qos->worth.n ? carrier->qos->worth.v[i] : hit.l->value;
        hit.above = is_set(out, before, hit.l);
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
            const struct limit *l = &r->limit.v[i];
            const struct resource_limit_row *row = &resource_limit_table[l->what];
            bool nearest = row->counts == counts && row->scope != SCOPE_GROUP;
            for (size_t k = of_qos; nearest && k < out->n; k++)
                nearest = !same_limit(out->v[k].l, l);
            if (nearest)
                vec_push(
                    out,
                    ((struct limit_hit){
                        .l = l, .assoc = r, .value = l->value, .above = is_set(out, of_qos, l)}));
        }
}

/* Who carries limits for a subject, in order of precedence. */
struct limit_carriers {
    const struct qosrec *qos[2]; /* NULL = none */
    const struct assocrec *leaf; /* and those above it; NULL = none */
};

static struct limit_carriers carriers_of(const struct core *c, const struct limit_subject *who)
{
    const struct partrec *part = who->partition ? part_find(c, who->partition) : NULL;
    const struct qosrec *own = qos_find(c, who->qos),
                        *of_part = part ? qos_find(c, part->p.qos) : NULL;
    bool own_first = own && (own->q.flags & QOS_OVER_PART_QOS);
    struct limit_carriers w = {{own_first ? own : of_part, own_first ? of_part : own},
                               assoc_for(c, who->account, who->user, who->partition)};
    if (w.qos[1] == w.qos[0])
        w.qos[1] = NULL;
    return w;
}

static void hits_collect(const struct limit_carriers *w, enum limit_counts counts, limit_hits *out)
{
    for (size_t i = 0; i < ARRAY_LEN(w->qos); i++) {
        size_t before = out->n;
        for (int group = 0; w->qos[i] && group < 2; group++)
            carrier_collect(&w->qos[i]->limit, &(struct limit_hit){.qos = w->qos[i]}, counts, group,
                            before, out);
    }
    size_t of_qos = out->n;
    for (const struct assocrec *r = w->leaf; r; r = r->up)
        carrier_collect(&r->limit, &(struct limit_hit){.assoc = r}, counts, true, of_qos, out);
    passed_down(w->leaf, counts, of_qos, out);
}

void limits_collect(const struct core *c, const struct limit_subject *who, enum limit_counts counts,
                    limit_hits *out)
{
    struct limit_carriers w = carriers_of(c, who);
    hits_collect(&w, counts, out);
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
    else if (text_is(l->tres, "billing"))
        *ret = CAP_BILLING;
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
    case COUNTS_LEAST: return cap_counts_of(l, &counts, &gres);
    case COUNTS_PRIORITY: return true;
    case COUNTS_ACCRUING: return true;
    case COUNTS_USED:
    case COUNTS_PROMISED: break;
    }
    return false;
}

void limit_key(const struct core *c, const struct limit_subject *who, const struct limit_hit *h,
               struct str *out)
{
    ASSERT((h->qos != NULL) != (h->assoc != NULL));
    const struct assocrec *leaf = assoc_for(c, who->account, who->user, who->partition);
    limit_id_add(h->l, out);
    switch (resource_limit_table[h->l->what].scope) {
    case SCOPE_USER:
        if (h->assoc) /* of each user below: his own association */
            str_addf(out, "\n%u", leaf ? leaf->a.id : 0);
        else
            str_addf(out, "\n%s", who->user ? who->user : "");
        return;
    case SCOPE_ACCOUNT: str_addf(out, "\n%s", who->account ? who->account : ""); return;
    case SCOPE_GROUP:
    case SCOPE_JOB:
    case SCOPE_NODE: return;
    }
}

/* What one job may have holds for what it would get: the rest of a whole node, GPUs of a type that
 * it did not name. */
static enum cap_each each_of(const struct limit *l)
{
    return l->what == LIMIT_MAX_TRES            ? CAP_EACH_JOB
           : l->what == LIMIT_MAX_TRES_PER_NODE ? CAP_EACH_NODE
           : l->what == LIMIT_MAX_TRES_MINS     ? CAP_EACH_MINUTES
                                                : CAP_TOGETHER;
}

static void cap_tell(struct core *c, struct caprec *cap, const struct limit_subject *who,
                     const struct limit_hit *h)
{
    struct cap row = {.id = cap->id, .most = h->value, .hours = h->l->hours, .each = each_of(h->l)};
    struct str says = STR_INIT;
    if (cap->told && cap->most == h->value)
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
    cap->most = h->value;
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

int64_t limit_worth(const struct core *c, const struct limit_subject *who,
                    const struct limit_hit *h)
{
    const struct qosrec *q = h->assoc ? qos_find(c, who->qos) : NULL;
    bool of_it = h->l->what == LIMIT_GRP_TRES || h->l->what == LIMIT_MAX_TRES;
    if (!q || !of_it || q->q.limit_factor_e6_plus1 <= 1)
        return h->value;
    return times_e6(h->value, q->q.limit_factor_e6_plus1 - 1);
}

static bool is_capped(const struct limit_hit *h)
{
    enum cap_counts counts;
    const char *gres;
    bool of_each = each_of(h->l) != CAP_TOGETHER && !h->above;
    return (of_each || resource_limit_table[h->l->what].counts == COUNTS_RUNNING) &&
           cap_counts_of(h->l, &counts, &gres);
}

/* `waits`: those on each job by itself, too. */
static void caps_add(struct core *c, const struct limit_subject *who, bool waits, cap_uses *out)
{
    limit_hits hits = {0};
    struct str key = STR_INIT;
    struct limit_carriers w = carriers_of(c, who);
    hits_collect(&w, COUNTS_RUNNING, &hits);
    if (waits)
        hits_collect(&w, COUNTS_ASKED, &hits);
    for (size_t i = 0; i < hits.n; i++) {
        if (!is_capped(&hits.v[i]))
            continue;
        str_clear(&key);
        limit_key(c, who, &hits.v[i], &key);
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
                                   .slack = limit_worth(c, who, &hits.v[i]) - hits.v[i].value}));
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

/* In each of these partitions. What holds in some of them says in which, by places in the list. */
static const char *caps_text(struct core *c, const struct jobrec *r, const char *partitions,
                             bool waits)
{
    cap_uses uses = {0};
    struct str text = STR_INIT;
    struct span rest = span_of(partitions ? partitions : ""), piece;
    uint32_t place = 0, all = 0;
    struct arena *names = arena_new();
    for (; span_next(&rest, ',', &piece); place++) {
        struct limit_subject who = limits_subject(r, arena_strndup(names, piece.data, piece.len));
        size_t first = uses.n;
        uint32_t bit = place < PLACES_MOST ? UINT32_C(1) << place : 0;
        caps_add(c, &who, waits, &uses);
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
    arena_free(names);
    return kept;
}

const char *limits_waiting(struct core *c, const struct jobrec *r, const char *partitions)
{
    return enforces_limits(c) ? caps_text(c, r, partitions, true) : NULL;
}

void limits_running(struct core *c, const struct jobrec *r)
{
    ASSERT(cluster_is_running(c->cluster, r->j.id));
    if (enforces_limits(c) || c->accounts.last_cap)
        cluster_run_capped(c->cluster, r->j.id,
                           enforces_limits(c) ? caps_text(c, r, r->j.run_partition, false) : NULL);
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
    relative_know(c);
    while (map_u64_next(c->accounts.qos, &w)) {
        const struct qos *q = &((const struct qosrec *)w.value)->q;
        qos_tell(c, q);
        if (!q->deleted && q->priority > c->accounts.most_qos)
            c->accounts.most_qos = q->priority;
    }
    w = (struct map_walk){0};
    while (c->accounts.prioritized && map_u64_next(c->accounts.assoc, &w)) {
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
        if (!hits.v[i].above && hits.v[i].value > most)
            most = hits.v[i].value;
    vec_done(&hits);
    return (uint64_t)most;
}

/* ---- for listings ---------------------------------------------------------------------------- */

int64_t limit_capped(const struct core *c, const struct limit_subject *who,
                     const struct limit_hit *h)
{
    enum cap_counts counts;
    const char *gres;
    struct str key = STR_INIT;
    if (resource_limit_table[h->l->what].counts != COUNTS_RUNNING || !enforces_limits(c) ||
        !cap_counts_of(h->l, &counts, &gres))
        return -1;
    limit_key(c, who, h, &key);
    const struct caprec *cap = map_str_get(c->accounts.cap_of, str_text(&key));
    str_done(&key);
    return cap ? cluster_cap_used(c->cluster, cap->id) : 0; /* none: nobody counts against it */
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
