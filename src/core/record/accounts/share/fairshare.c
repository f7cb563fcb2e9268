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
 * All is worked out anew from what the tree and its use are, in integers; for somebody who looks, a
 * part at a time. */
#include "core/record/accounts/share/fairshare.h"

#include "core/record/accounts/use.h"
#include "core/record/record.h"

#include <stdlib.h>

#define LEVEL_MOST ((wide)1 << 126)
#define LEVEL_BITS 32

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

static void levels_set(struct fs_node *n, const struct fs_node *above)
{
    n->norm_shares =
        n->shares == SHARES_PARENT ? above->norm_shares : part_of(n->shares, above->level_shares);
    n->effective = part_of(n->use, above->use);
    level_set(n, above);
}

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

/* The children of that place are ranked next; `equal`: the first of them as the last one. */
static void frame_push(struct fs_work *w, uint32_t place, bool equal)
{
    struct fs_frame f = {.equal = equal};
    group_of(&w->t, place, &f.group);
    merge_begin(&f.sort, f.group.v, f.group.n, sizeof f.group.v[0], rank_order);
    vec_push(&w->frames, f);
}

static void frame_pop(struct fs_work *w)
{
    struct fs_frame *f = &w->frames.v[--w->frames.n];
    merge_done(&f->sort);
    vec_done(&f->group);
}

/* The next of the group at hand; w->left: users without a rank, w->shared: the rank of the last. */
static void rank_next(struct fs_work *w)
{
    struct fs_frame *f = &w->frames.v[w->frames.n - 1];
    const struct rank_key *k = &f->group.v[f->at];
    struct fs_node *n = &w->t.v[k->place];
    if (f->at > 0)
        f->equal = k->level == k[-1].level;
    f->at++;
    if (!n->r->a.user) {
        frame_push(w, k->place, f->equal);
        return;
    }
    w->shared = f->equal ? w->shared : w->left;
    n->factor = part_of((int64_t)w->shared, (int64_t)w->t.users);
    w->left--;
}

static bool ranks_go(struct fs_work *w, size_t *most)
{
    while (w->frames.n) {
        struct fs_frame *f = &w->frames.v[w->frames.n - 1];
        if (!merge_go(&f->sort, most) || !*most)
            return false;
        --*most;
        if (f->at < f->group.n)
            rank_next(w);
        else
            frame_pop(w);
    }
    return true;
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

static void classic_set(const struct core *c, struct fs_node *n, const struct fs_node *above)
{
    bool root = n == above;
    int64_t part = part_of(n->shares, above->level_shares);
    n->norm_shares = root                         ? SHARE_ONE
                     : n->shares == SHARES_PARENT ? above->norm_shares
                                                  : times(part, above->norm_shares);
    n->effective = root ? SHARE_ONE : classic_use(c, n, above, part);
    n->factor = classic_factor(c, n);
}

/* ---- a part at a time ----------------------------------------------------------------------- */

static void one_set(struct fs_work *w, struct fs_node *n)
{
    const struct fs_node *above = &w->t.v[n->above];
    n->norm_usage = part_of(n->use, w->t.v[0].use);
    if (!w->t.tree)
        classic_set(w->c, n, above);
    else if (n != above)
        levels_set(n, above);
    else
        n->effective = SHARE_ONE;
}

void shares_begin(struct fs_work *w, const struct core *c)
{
    *w = (struct fs_work){.c = c};
}

bool shares_go(struct fs_work *w, size_t *most)
{
    if (w->stage == FS_TREE && shares_tree_go(w, most)) {
        w->stage = FS_LEVELS;
        w->left = w->shared = w->t.users;
    }
    while (w->stage == FS_LEVELS && *most) {
        if (w->at < w->t.n) {
            one_set(w, &w->t.v[w->at++]);
            --*most;
            continue;
        }
        w->stage = FS_RANKS;
        if (w->t.tree && w->t.n)
            frame_push(w, 0, false);
    }
    return w->stage == FS_RANKS && ranks_go(w, most);
}

void shares_done(struct fs_work *w)
{
    while (w->frames.n)
        frame_pop(w);
    vec_done(&w->frames);
    shares_tree_done(w);
}

/* ---- for the planner ------------------------------------------------------------------------ */

static void tell(struct core *c, const struct assocrec *r)
{
    cluster_set_assoc_fairshare(c->cluster, r->a.id,
                                (int64_t)((wide)r->factor * FACTOR_ONE / SHARE_ONE));
}

/* Of 100,000 associations it takes a tenth of a second, and nobody asks before there are jobs. */
void fairshare_update(struct core *c)
{
    struct fs_work w;
    size_t all = SIZE_MAX;
    c->accounts.shares_stale = !c->accounts.shares_watched;
    if (c->accounts.shares_stale)
        return;
    shares_begin(&w, c);
    CHECK(shares_go(&w, &all));
    for (size_t i = 0; i < w.t.n; i++) {
        struct assocrec *r = w.t.v[i].r;
        int64_t former = r->factor;
        r->factor = w.t.v[i].factor > 0 ? w.t.v[i].factor : 0;
        if (r->watched && r->factor != former)
            tell(c, r);
    }
    shares_done(&w);
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
