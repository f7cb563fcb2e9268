/* Fair share along the tree of associations.
 *
 * Fair tree: siblings are ranked by their level, which is their part of the shares over their part
 * of the use; all users of an account that is ahead are ahead of those of the next. A user's factor
 * is the rank over the number of users. What is equal has the same rank, also the first below two
 * accounts that are; 22.05 is followed in that, down to accounts that are equal not being merged.
 * An account that has the shares of its parent is as if its children were the parent's.
 *
 * With NO_FAIR_TREE a factor is 2^−(use/shares), where use is one's own and a part of what all of
 * the account used.
 *
 * All is worked out anew from what the tree and its use are, in integers. */
#include "core/record/accounts/use.h"
#include "core/record/record.h"

#include <stdlib.h>
#include <string.h>

__extension__ typedef __int128 wide;

#define LEVEL_MOST ((wide)1 << 126)
#define LEVEL_BITS 32

struct fs_node {
    struct assocrec *r;
    uint32_t parent; /* place in the table */
    uint32_t above;  /* the nearest one with shares of its own: whose shares it gets a part of */
    uint32_t child, nchildren; /* places in the list of children */
    uint32_t depth;
    int64_t shares; /* SHARES_PARENT = those of the parent */
    int64_t use;
    int64_t level_shares; /* of those that get a part of its shares, together */
    wide level;           /* in 2^32nds */
    int64_t norm_shares, norm_usage, effective, level_e6, factor;
};

struct fs_table {
    struct fs_node *v; /* parents first, in the order in which they are shown */
    size_t n, users;
    uint32_t *child;
    bool tree;
};

/* ---- the table ------------------------------------------------------------------------------ */

static int text_order(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

/* Below their parents users come before accounts, each by name. */
static int sibling_order(const void *va, const void *vb)
{
    const struct assocrec *a = *(struct assocrec *const *)va, *b = *(struct assocrec *const *)vb;
    if (a->up != b->up)
        return (a->up ? a->up->a.id : 0) < (b->up ? b->up->a.id : 0) ? -1 : 1;
    if (!a->a.user != !b->a.user)
        return a->a.user ? -1 : 1;
    int order =
        a->a.user ? text_order(a->a.user, b->a.user) : text_order(a->a.account, b->a.account);
    return order ? order : text_order(a->a.partition, b->a.partition);
}

typedef VEC(struct assocrec *) assoc_vec;
struct opened {
    struct assocrec *r;
    uint32_t parent;
};

/* Where the children of that one begin in the sorted list. */
static size_t children_at(const assoc_vec *all, uint32_t id)
{
    size_t low = 0, high = all->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct assocrec *up = all->v[middle]->up;
        if ((up ? up->a.id : 0) < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void node_put(const struct core *c, struct fs_table *t, struct assocrec *r, uint32_t parent)
{
    uint32_t place = (uint32_t)t->n++;
    struct fs_node *n = &t->v[place];
    const struct fs_node *p = &t->v[parent];
    *n = (struct fs_node){.r = r, .parent = parent, .factor = -1};
    n->depth = place ? p->depth + 1 : 0;
    n->shares = assoc_shares(&r->a);
    n->above = !place || p->shares != SHARES_PARENT || !parent ? parent : p->above;
    n->use = use_of(c, OWNER_ASSOC, r->a.id, "billing");
    t->users += r->a.user != NULL;
    if (place && n->shares > 0)
        t->v[n->above].level_shares += n->shares;
}

/* Places are given as in a walk down the tree; then the children of each stand in a list. */
static void table_make(const struct core *c, struct fs_table *t)
{
    assoc_vec all = {0};
    struct map_walk w = {0};
    VEC(struct opened) open = {0};
    while (map_u64_next(c->accounts.assoc, &w))
        if (!((struct assocrec *)w.value)->a.deleted)
            vec_push(&all, w.value);
    if (all.n > 1)
        qsort(all.v, all.n, sizeof all.v[0], sibling_order);
    *t = (struct fs_table){.v = xcalloc(all.n + 1, sizeof t->v[0]),
                           .child = xcalloc(all.n + 1, sizeof t->child[0])};
    t->tree = !c->settings.word.no_fair_tree && !c->settings.word.depth_oblivious;
    if (all.n && !all.v[0]->up) {
        vec_push(&open, ((struct opened){all.v[0], 0}));
    }
    while (open.n) {
        struct assocrec *r = open.v[open.n - 1].r;
        uint32_t parent = open.v[open.n - 1].parent, place = (uint32_t)t->n;
        open.n--;
        node_put(c, t, r, parent);
        size_t at = children_at(&all, r->a.id), end = at;
        while (!r->a.user && end < all.n && all.v[end]->up == r)
            end++;
        for (size_t i = end; i > at; i--) /* the last first: it is taken last */
            vec_push(&open, ((struct opened){all.v[i - 1], place}));
    }
    uint32_t next = 0;
    for (size_t i = 1; i < t->n; i++)
        t->v[t->v[i].parent].nchildren++;
    for (size_t i = 0; i < t->n; i++) {
        t->v[i].child = next;
        next += t->v[i].nchildren;
        t->v[i].nchildren = 0;
    }
    for (size_t i = 1; i < t->n; i++) {
        struct fs_node *p = &t->v[t->v[i].parent];
        t->child[p->child + p->nchildren++] = (uint32_t)i;
    }
    vec_done(&all);
    vec_done(&open);
}

static void table_done(struct fs_table *t)
{
    free(t->v);
    free(t->child);
}

/* ---- fair tree ------------------------------------------------------------------------------ */

static int64_t part_of(int64_t part, int64_t whole)
{
    return whole > 0 ? (int64_t)(((wide)part * SHARE_ONE + whole / 2) / whole) : 0;
}

static void level_set(struct fs_node *n, const struct fs_node *above)
{
    if (n->shares == SHARES_PARENT) {
        n->level = LEVEL_MOST;
        n->level_e6 = -2;
    } else if (n->shares == 0) {
        n->level = 0;
    } else if (n->use == 0) {
        n->level = LEVEL_MOST;
        n->level_e6 = -1;
    } else {
        wide part = (wide)n->shares * above->use, whole = (wide)above->level_shares * n->use;
        wide e6 = (part * 1000000 + whole / 2) / whole;
        n->level = (part << LEVEL_BITS) / whole;
        n->level_e6 = e6 > INT64_MAX ? INT64_MAX : (int64_t)e6;
    }
}

static void levels_set(struct fs_table *t)
{
    for (size_t i = 1; i < t->n; i++) {
        struct fs_node *n = &t->v[i];
        const struct fs_node *above = &t->v[n->above];
        n->norm_shares = n->shares == SHARES_PARENT ? above->norm_shares
                                                    : part_of(n->shares, above->level_shares);
        n->effective = part_of(n->use, above->use);
        level_set(n, above);
    }
}

struct rank_key {
    wide level;
    bool is_account;
    uint32_t place;
};
typedef VEC(struct rank_key) rank_list;

static int rank_order(const void *va, const void *vb)
{
    const struct rank_key *a = va, *b = vb;
    if (a->level != b->level)
        return a->level > b->level ? -1 : 1;
    if (a->is_account != b->is_account)
        return a->is_account - b->is_account;
    return (a->place > b->place) - (a->place < b->place);
}

/* Children, those of an account without shares of its own in its place. */
static void group_of(const struct fs_table *t, uint32_t place, rank_list *out)
{
    const struct fs_node *n = &t->v[place];
    for (uint32_t i = 0; i < n->nchildren; i++) {
        uint32_t child = t->child[n->child + i];
        const struct fs_node *one = &t->v[child];
        if (!one->r->a.user && one->shares == SHARES_PARENT)
            group_of(t, child, out);
        else
            vec_push(out, ((struct rank_key){one->level, !one->r->a.user, child}));
    }
}

/* `left`: users without a rank; `shared`: the rank of the last one. */
static void rank_below(struct fs_table *t, uint32_t place, size_t *left, size_t *shared, bool equal)
{
    rank_list group = {0};
    group_of(t, place, &group);
    if (group.n > 1)
        qsort(group.v, group.n, sizeof group.v[0], rank_order);
    for (size_t i = 0; i < group.n; i++) {
        struct fs_node *n = &t->v[group.v[i].place];
        if (i > 0)
            equal = group.v[i].level == group.v[i - 1].level;
        if (!n->r->a.user) {
            rank_below(t, group.v[i].place, left, shared, equal);
            continue;
        }
        *shared = equal ? *shared : *left;
        n->factor = part_of((int64_t)*shared, (int64_t)t->users);
        --*left;
    }
    vec_done(&group);
}

/* ---- the older formulas --------------------------------------------------------------------- */

static int64_t times(int64_t a, int64_t b)
{
    return (int64_t)(((wide)a * b + SHARE_ONE / 2) / SHARE_ONE);
}

static int64_t classic_factor(const struct core *c, const struct fs_node *n)
{
    int64_t damping = c->settings.fairshare_damping > 0 ? c->settings.fairshare_damping : 1;
    wide whole = (wide)n->norm_shares * damping, part = n->effective;
    if (whole <= 0)
        return 0;
    for (; whole > INT64_C(1) << 60; whole >>= 1)
        part >>= 1;
    return (int64_t)(((wide)exp2_neg((int64_t)part, (int64_t)whole) * SHARE_ONE) >> 32);
}

#define LOG_BITS 40
#define LOG_ONE  (INT64_C(1) << LOG_BITS)

/* log2 of part / whole, both above 0, in 2^40ths. */
static int64_t log2_of(wide part, wide whole)
{
    int64_t log = 0;
    for (; part >= 2 * whole; log += LOG_ONE)
        whole *= 2;
    for (; part < whole; log -= LOG_ONE)
        part *= 2;
    for (; whole >> 60; whole >>= 1)
        part >>= 1;
    uint64_t x = (uint64_t)((part << 62) / whole); /* from 1 to 2, in 2^62nds */
    for (int64_t bit = LOG_ONE / 2; bit; bit /= 2) {
        wide square = (wide)x * x >> 62;
        bool more = square >> 63 != 0;
        log += more ? bit : 0;
        x = (uint64_t)(more ? square >> 1 : square);
    }
    return log;
}

/* 2^log in SHARE_ONE-ths, up to a million. */
static int64_t exp2_of(int64_t log)
{
    int64_t up = log > 0 ? (log + LOG_ONE - 1) / LOG_ONE : 0;
    if (up > 20)
        return SHARE_ONE * 1000000;
    return (int64_t)(((wide)exp2_neg(up * LOG_ONE - log, LOG_ONE) * SHARE_ONE << up) >> 32);
}

/* DEPTH_OBLIVIOUS: use over shares of the account, times one's own ratio within it, which counts
 * the less the more the account is off its share in the other direction. */
static int64_t oblivious_use(const struct fs_node *n, const struct fs_node *above)
{
    if (!above->norm_shares || !above->effective || !n->norm_shares || !above->norm_usage)
        return n->norm_usage;
    if (!n->norm_usage)
        return 0;
    int64_t log_p = log2_of(above->effective, above->norm_shares),
            log_l = log2_of((wide)n->norm_usage * above->norm_shares,
                            (wide)above->norm_usage * n->norm_shares);
    if ((log_p < 0) != (log_l < 0) && log_p && log_l) {
        /* 1 / (1 + (5 ln p)²), with 5 ln 2 in 2^40ths */
        wide five_ln = (wide)log_p * INT64_C(3810616923929) >> LOG_BITS;
        wide square = five_ln * five_ln >> LOG_BITS;
        log_l = (int64_t)((wide)log_l * LOG_ONE / (LOG_ONE + square));
    }
    return times(exp2_of(log_p + log_l), n->norm_shares);
}

static int64_t classic_use(const struct core *c, const struct fs_node *n,
                           const struct fs_node *above, int64_t part)
{
    if (n->above == 0)
        return n->norm_usage;
    if (n->shares == SHARES_PARENT)
        return above->effective;
    return c->settings.word.depth_oblivious
               ? oblivious_use(n, above)
               : n->norm_usage + times(above->effective - n->norm_usage, part);
}

static void classic_set(const struct core *c, struct fs_table *t)
{
    for (size_t i = 0; i < t->n; i++) {
        struct fs_node *n = &t->v[i];
        const struct fs_node *above = &t->v[n->above];
        int64_t part = part_of(n->shares, above->level_shares);
        n->norm_shares = i == 0                       ? SHARE_ONE
                         : n->shares == SHARES_PARENT ? above->norm_shares
                                                      : times(part, above->norm_shares);
        n->effective = i == 0 ? SHARE_ONE : classic_use(c, n, above, part);
        n->factor = classic_factor(c, n);
    }
}

/* ---- for the planner and for people --------------------------------------------------------- */

static void table_fill(const struct core *c, struct fs_table *t)
{
    table_make(c, t);
    size_t left = t->users, shared = t->users;
    for (size_t i = 0; i < t->n; i++)
        t->v[i].norm_usage = part_of(t->v[i].use, t->v[0].use);
    if (t->n)
        t->v[0].effective = SHARE_ONE;
    if (t->tree) {
        levels_set(t);
        if (t->n)
            rank_below(t, 0, &left, &shared, false);
    } else {
        classic_set(c, t);
    }
}

static void tell(struct core *c, const struct assocrec *r)
{
    cluster_set_assoc_fairshare(c->cluster, r->a.id,
                                (int64_t)((wide)r->factor * FACTOR_ONE / SHARE_ONE));
}

/* Of 100,000 associations it takes a tenth of a second, and nobody asks before there are jobs. */
void fairshare_update(struct core *c)
{
    struct fs_table t;
    c->accounts.shares_stale = !c->accounts.shares_watched;
    if (c->accounts.shares_stale)
        return;
    table_fill(c, &t);
    for (size_t i = 0; i < t.n; i++) {
        struct assocrec *r = t.v[i].r;
        int64_t former = r->factor;
        r->factor = t.v[i].factor > 0 ? t.v[i].factor : 0;
        if (r->watched && r->factor != former)
            tell(c, r);
    }
    table_done(&t);
}

void fairshare_watch(struct core *c, struct assocrec *r)
{
    ASSERT(map_u64_get(c->accounts.assoc, r->a.id) == r);
    if (r->watched)
        return;
    r->watched = true;
    fairshare_watch_all(c);
    tell(c, r);
}

void fairshare_watch_all(struct core *c)
{
    c->accounts.shares_watched = true;
    if (c->accounts.shares_stale)
        fairshare_update(c);
}

int64_t fairshare_of(const struct assocrec *r)
{
    return r->factor;
}

void fairshare_rows(const struct core *c, int64_t now_us,
                    bool (*wanted)(void *ctx, const struct assoc *a), const struct view *v)
{
    struct fs_table t;
    struct arena *a = arena_new();
    struct map_u64 *promised = use_promised(c, now_us);
    table_fill(c, &t);
    for (size_t i = 0; i < t.n; i++) {
        const struct fs_node *n = &t.v[i];
        const struct assoc *of = &n->r->a;
        if (n->depth > 0 && !wanted(v->ctx, of))
            continue;
        struct fair_share row = {.assoc_id = of->id,
                                 .account = of->account,
                                 .user = of->user,
                                 .partition = of->partition,
                                 .parent = of->parent,
                                 .depth = n->depth,
                                 .shares = n->shares,
                                 .norm_shares = n->norm_shares,
                                 .usage = n->use,
                                 .norm_usage = n->norm_usage,
                                 .effective = n->effective,
                                 .level_e6 = n->level_e6,
                                 .factor = n->factor};
        row.used = use_minutes(c, use_find(c, OWNER_ASSOC, of->id), a);
        row.promised = use_minutes(c, map_u64_get(promised, use_key(OWNER_ASSOC, of->id)), a);
        row.limits = use_limits(&n->r->limit, LIMIT_GRP_TRES_MINS, a);
        v->row(v->ctx, &row);
        arena_reset(a);
    }
    use_promised_free(promised);
    arena_free(a);
    table_done(&t);
}
