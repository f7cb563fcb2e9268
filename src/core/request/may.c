/* may: what a user may use, as his jobs would be taken: each partition, and in it each account with
 * each QOS, with the limits that hold, how much of them is in use, and the GPUs that are free. What
 * is asked here is what submission asks (choose.c, sched_check) and what the planner is told
 * (limits_collect): nothing is worked out a second time. Nothing changes. */
#include "base/amount.h"
#include "base/list.h"
#include "core/record/accounts/limit_view.h"
#include "core/record/accounts/private.h"
#include "core/record/record.h"
#include "core/request/request.h"
#include "model/grammar/gres.h"

#include <stdlib.h>
#include <string.h>

#define CHOICES_ENOUGH 200 /* in one answer; a partition is told whole */

struct may_asked {
    struct core *c;
    struct arena *a;
    const char *user, *groups;
    uint32_t uid;
    bool self;
    VEC(const char *) account; /* the default first, then by name */
};

static const char *text_of(struct arena *a, struct str *s)
{
    const char *text = s->len ? arena_strdup(a, str_text(s)) : NULL;
    str_done(s);
    return text;
}

/* ---- whom it is about ----------------------------------------------------------------------- */

static int by_name(const void *va, const void *vb)
{
    return strcmp(*(const char *const *)va, *(const char *const *)vb);
}

static bool has_account(const struct may_asked *k, const char *name)
{
    for (size_t i = 0; i < k->account.n; i++)
        if (text_is(k->account.v[i], name))
            return true;
    return false;
}

static void accounts_find(struct may_asked *k)
{
    const char *first = account_default(k->c, k->user);
    struct map_walk w = {0};
    if (first)
        vec_push(&k->account, first);
    while (map_u64_next(k->c->accounts.assoc, &w)) {
        const struct assoc *a = &((const struct assocrec *)w.value)->a;
        if (!a->deleted && a->user && text_is(a->user, k->user) && !has_account(k, a->account))
            vec_push(&k->account, a->account);
    }
    size_t from = first != NULL;
    if (k->account.n > from + 1)
        qsort(k->account.v + from, k->account.n - from, sizeof k->account.v[0], by_name);
}

static const char *coordinated(const struct may_asked *k)
{
    struct map_walk w = {0};
    struct str names = STR_INIT;
    while (map_str_next(k->c->accounts.account, &w)) {
        const struct account *a = w.value;
        if (!a->deleted && account_coordinates(k->c, k->user, a->name))
            list_addf(&names, "%s", a->name);
    }
    return text_of(k->a, &names);
}

/* ---- GPUs ----------------------------------------------------------------------------------- */

typedef VEC(struct may_gpu) may_gpus;

static struct may_gpu *gpu_of(may_gpus *list, const char *type, struct arena *a)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->v[i].type == type || text_is(list->v[i].type, type))
            return &list->v[i];
    vec_push(list, ((struct may_gpu){.type = type ? arena_strdup(a, type) : NULL}));
    return &list->v[list->n - 1];
}

static void gpus_add(may_gpus *list, const char *gres, bool free_ones, struct arena *a)
{
    struct gres_list items = {0};
    if (!gres || !gres_parse(gres, a, &items, NULL))
        return;
    for (size_t i = 0; i < items.n; i++)
        if (text_is(items.item[i].kind, "gpu")) {
            struct may_gpu *g = gpu_of(list, items.item[i].type, a);
            *(free_ones ? &g->free : &g->total) += items.item[i].count;
        }
}

static void nodes_tell(const struct may_asked *k, const struct partition *p,
                       struct may_partition *out)
{
    struct hostlist names = HOSTLIST_INIT;
    may_gpus gpus = {0};
    if (p->nodes)
        hostlist_parse(&names, p->nodes, NULL);
    for (size_t i = 0; i < names.n; i++) {
        const struct noderec *n = node_find(k->c, names.name[i]);
        struct str left = STR_INIT;
        if (!n || n->n.state != NODE_UP || n->n.drain || n->n.fail)
            continue;
        out->nodes++;
        gpus_add(&gpus, n->n.gres, false, k->a);
        cluster_node_free_gres(k->c->cluster, n->n.name, &left);
        gpus_add(&gpus, left.len ? str_text(&left) : NULL, true, k->a);
        str_done(&left);
    }
    out->gpus = (struct record_list){arena_dup(k->a, gpus.v, gpus.n * sizeof gpus.v[0]), gpus.n};
    vec_done(&gpus);
    hostlist_done(&names);
}

/* ---- limits --------------------------------------------------------------------------------- */

static const char *owner_of(const struct limit_hit *h, struct arena *a)
{
    if (h->qos)
        return arena_printf(a, "QOS %s", h->qos->q.name);
    if (h->assoc->a.user)
        return arena_printf(a, "%s in account %s", h->assoc->a.user, h->assoc->a.account);
    return arena_printf(a, "account %s", h->assoc->a.account);
}

static struct may_limit limit_tell(const struct may_asked *k, const struct limit_subject *who,
                                   const struct limit_hit *h)
{
    bool seen = limit_use_seen(k->c, k->c->turn.peer, who, h);
    int64_t used = seen ? limit_used(k->c, live_sums_known(k->c), who, h) : -1;
    return (struct may_limit){.what = h->l->what,
                              .tres = h->l->tres,
                              .owner = h->l->owner,
                              .of = owner_of(h, k->a),
                              .hours = h->l->hours,
                              .value = h->value,
                              .counted = used >= 0,
                              .used = used > 0 ? used : 0,
                              .left = used < 0 || used > h->value ? 0 : h->value - used,
                              .holds = enforces_limits(k->c) && limit_does(h->l)};
}

static void limits_tell(const struct may_asked *k, const struct limit_subject *who,
                        struct may_choice *out)
{
    static const enum limit_counts kinds[] = {COUNTS_RUNNING,  COUNTS_LIVE,     COUNTS_ASKED,
                                              COUNTS_LEAST,    COUNTS_ACCRUING, COUNTS_USED,
                                              COUNTS_PROMISED, COUNTS_PRIORITY};
    VEC(struct may_limit) said = {0};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        limit_hits hits = {0};
        limits_collect(k->c, who, kinds[i], &hits);
        for (size_t n = 0; n < hits.n; n++) {
            if (hits.v[n].above)
                continue;
            vec_push(&said, limit_tell(k, who, &hits.v[n]));
            int64_t wall = amount_times(hits.v[n].value, USEC_PER_MIN);
            if (hits.v[n].l->what == LIMIT_MAX_WALL && enforces_limits(k->c) &&
                (out->time_limit_us == TIME_UNLIMITED || wall < out->time_limit_us)) {
                out->time_limit_us = wall;
                out->time_limit_of = owner_of(&hits.v[n], k->a);
            }
        }
        vec_done(&hits);
    }
    out->limits = (struct record_list){arena_dup(k->a, said.v, said.n * sizeof said.v[0]), said.n};
    vec_done(&said);
}

/* ---- choices -------------------------------------------------------------------------------- */

typedef VEC(struct may_choice) may_choices;

static void choice_tell(const struct may_asked *k, const struct partition *p,
                        const struct assocrec *r, const char *qos, may_choices *out)
{
    struct may_choice one = {.account = r->a.account,
                             .account_default =
                                 text_is(account_default(k->c, k->user), r->a.account),
                             .qos = qos,
                             .time_limit_us = p->max_time_us ? p->max_time_us : TIME_UNLIMITED,
                             .time_limit_of = arena_printf(k->a, "partition %s", p->name)};
    struct limit_subject who = {k->user, r->a.account, qos, p->name};
    struct job_request req = {.account = r->a.account, .partition = p->name};
    struct str why = STR_INIT;
    if (account_choose(k->c, &req, k->user, &why) == REFUSE_NONE)
        one.qos_default = text_is(req.qos, qos);
    str_clear(&why);
    req.qos = qos;
    one.refusal = (int32_t)account_choose(k->c, &req, k->user, &why);
    if (!one.refusal)
        one.refusal = (int32_t)sched_may_use(k->c->cluster, p->name, &req, k->uid, k->groups, &why);
    one.usable = !one.refusal;
    one.because = text_of(k->a, &why);
    limits_tell(k, &who, &one);
    vec_push(out, one);
}

static void choices_tell(const struct may_asked *k, const struct partition *p,
                         struct may_partition *out)
{
    may_choices list = {0};
    for (size_t i = 0; i < k->account.n; i++) {
        const struct assocrec *r = assoc_for(k->c, k->account.v[i], k->user, p->name);
        struct span rest = span_of(r ? assoc_qos_list(k->c, r, k->a) : ""), piece;
        while (r && span_next(&rest, ',', &piece))
            if (piece.len)
                choice_tell(k, p, r, arena_strndup(k->a, piece.data, piece.len), &list);
    }
    bool any = list.n == 0 && !enforces_associations(k->c);
    for (size_t i = 0; i < list.n; i++)
        any |= ((const struct may_choice *)list.v)[i].usable;
    out->usable = out->usable && any;
    if (!any && !out->because)
        out->because =
            list.n ? arena_strdup(k->a, "it takes none of these accounts and QOS")
                   : arena_printf(k->a, "%s is in no account that has a QOS there", k->user);
    out->choices = (struct record_list){arena_dup(k->a, list.v, list.n * sizeof list.v[0]), list.n};
    vec_done(&list);
}

/* ---- partitions ----------------------------------------------------------------------------- */

static void partition_tell(const struct may_asked *k, const struct partition *p,
                           struct may_partition *out)
{
    struct str why = STR_INIT;
    *out = (struct may_partition){.name = p->name,
                                  .is_default = p->is_default,
                                  .state = p->state,
                                  .max_time_us = p->max_time_us,
                                  .default_time_us = p->default_time_us,
                                  .max_nodes = p->max_nodes};
    out->refusal = (int32_t)sched_may_use(k->c->cluster, p->name, NULL, k->uid, k->groups, &why);
    if (!out->refusal && k->self)
        out->refusal = (int32_t)submit_host_check(k->c, p->name, &why);
    if (!out->refusal && p->state == PART_DOWN)
        str_addf(&why, "partition %s is down: its jobs wait until it is up", p->name);
    out->usable = why.len == 0 && !out->refusal;
    out->because = text_of(k->a, &why);
    out->nodes_private = !may_see_nodes(k->c, k->c->turn.peer);
    if (!out->nodes_private)
        nodes_tell(k, p, out);
    choices_tell(k, p, out);
}

/* The default first, as they are told: the n-th. */
static const struct partition *partition_at(const struct core *c, size_t n)
{
    size_t first = 0;
    while (first < c->part.n && !c->part.v[first]->p.is_default)
        first++;
    if (first < c->part.n && n == 0)
        return &c->part.v[first]->p;
    if (first < c->part.n && n <= first)
        n--;
    return &c->part.v[n]->p;
}

static bool is_told(const struct may_asked *k, const struct partition *p)
{
    struct str unused = STR_INIT;
    bool shown = !p->hidden && may_see_partitions(k->c, k->c->turn.peer);
    bool told = shown || sched_may_use(k->c->cluster, p->name, NULL, k->uid, k->groups, &unused) ==
                             REFUSE_NONE;
    str_done(&unused);
    return told;
}

static void partitions_tell(const struct may_asked *k, uint32_t from, struct msg_allowed *out)
{
    VEC(struct may_partition) list = {0};
    size_t n = 0, at = from;
    for (; at < k->c->part.n && n < CHOICES_ENOUGH; at++) {
        const struct partition *p = partition_at(k->c, at);
        struct may_partition one;
        if (!is_told(k, p))
            continue;
        partition_tell(k, p, &one);
        n += one.choices.n + 1;
        vec_push(&list, one);
    }
    out->next = at < k->c->part.n ? (uint32_t)at : 0;
    out->partitions =
        (struct record_list){arena_dup(k->a, list.v, list.n * sizeof list.v[0]), list.n};
    vec_done(&list);
}

/* ---- the request ---------------------------------------------------------------------------- */

static enum refusal asker_check(const struct core *c, const char *user, const char **ret_detail)
{
    const struct peer *peer = c->turn.peer;
    if (text_empty(user)) {
        *ret_detail = "it is not known who you are: name a user with --user";
        return REFUSE_ACCESS_DENIED;
    }
    if (may_see_rights(c, peer, user))
        return REFUSE_NONE;
    *ret_detail = "PrivateData: what others may use is for operators, and for coordinators of "
                  "their accounts";
    return REFUSE_ACCESS_DENIED;
}

void req_may(struct core *c, const struct msg_may *m)
{
    ASSERT(c->turn.peer);
    struct may_asked k = {.c = c, .a = c->turn.fx->arena, .user = m->user};
    const char *detail = NULL;
    k.self = text_empty(m->user) || text_is(m->user, c->turn.peer->user);
    if (k.self)
        k.user = c->turn.peer->user;
    k.uid = k.self ? c->turn.peer->uid : m->uid;
    k.groups = k.self ? c->turn.peer->groups ? c->turn.peer->groups : "" : m->groups;
    enum refusal refusal = asker_check(c, k.user, &detail);
    if (refusal) {
        reply_done(c, refusal, detail);
        return;
    }
    accounts_find(&k);
    struct msg_allowed answer = {.user = k.user,
                                 .default_account = account_default(c, k.user),
                                 .coordinates = coordinated(&k),
                                 .accounts_needed = enforces_associations(c),
                                 .limits_hold = enforces_limits(c)};
    partitions_tell(&k, m->from, &answer);
    fx_reply(c, c->turn.conn, c->turn.seq, MSG_ALLOWED, &answer);
    vec_done(&k.account);
}
