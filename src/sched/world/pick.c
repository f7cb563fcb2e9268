/* Which of the candidates. Requests for the same on each node take the best keys. Requests for a
 * number of pieces take a single node if one can hold them all, else the nodes that hold most, so
 * that they use few. */
#include "base/alloc.h"
#include "sched/books/topo.h"
#include "sched/world/narrow.h"
#include "sched/world/placing.h"

#include <stdlib.h>
#include <string.h>

static int key_order(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Puts those below the pivot first, the pivot after them, and returns where. Half of the keys are
 * below it, and which is anybody's guess, so there's no branch to guess: each is exchanged with the
 * first that is not below, and stays there if it is below. */
static size_t keys_part(uint64_t *v, size_t low, size_t high)
{
    ASSERT(high - low >= 3);
    size_t at[3] = {low, low + (high - low) / 2, high - 1};
    uint64_t a = v[at[0]], b = v[at[1]], c = v[at[2]];
    size_t mid = at[a < b ? (b < c ? 1 : a < c ? 2 : 0) : (a < c ? 0 : b < c ? 2 : 1)];
    uint64_t pivot = v[mid];
    v[mid] = c;
    size_t below = low;
    for (size_t i = low; i < high - 1; i++) {
        uint64_t key = v[i];
        v[i] = v[below];
        v[below] = key;
        below += key < pivot;
    }
    v[high - 1] = v[below];
    v[below] = pivot;
    return below;
}

/* Puts the k smallest keys first, in no order (selection, median of three; keys differ all). Linear
 * on average: to sort thousands of candidates for eight nodes would be most of a placement. Small
 * rests are sorted, where a pivot gains nothing. */
static void keys_select(uint64_t *v, size_t n, size_t k)
{
    size_t low = 0, high = n;
    while (high - low > 16 && k > low && k < high) {
        size_t pivot = keys_part(v, low, high);
        if (pivot >= k)
            high = pivot;
        else
            low = pivot + 1;
    }
    if (k > low && k < high)
        qsort(v + low, high - low, sizeof v[0], key_order);
}

static bool picked(const struct scratch *s, uint32_t node)
{
    for (size_t i = 0; i < s->pick.n; i++)
        if (s->pick.v[i] == node)
            return true;
    return false;
}

static bool pick_must(struct placing *p)
{
    struct scratch *s = &p->w->scratch;
    for (size_t i = 0; i < p->what->c->nmust; i++) {
        bool there = false;
        for (size_t k = 0; k < s->key.n && !there; k++)
            there = NODE_OF(s->key.v[k]) == p->what->c->must[i];
        if (!there)
            return false;
        vec_push(&s->pick, p->what->c->must[i]);
    }
    return true;
}

/* The best candidate of some groups that is not picked yet (`taken` has those that are): the one
 * that holds most, then the smallest key. Candidates are sorted here, so of equal ones the first
 * has the smallest key. */
static uint32_t counted_best(const struct placing *p, const uint64_t *groups, const uint64_t *taken)
{
    const struct scratch *s = &p->w->scratch;
    uint32_t best = NONE;
    for (size_t k = 0; k < s->key.n; k++) {
        uint32_t node = NODE_OF(s->key.v[k]);
        if (bit_get(groups, p->w->now.group[node]->idx) &&
            (best == NONE || s->cap[node] > s->cap[best]) && !bit_get(taken, node))
            best = node;
    }
    return best;
}

/* The nodes that a counted feature asks for: name*2. */
static bool pick_count(struct placing *p, const struct count_need *count, uint64_t *taken)
{
    struct scratch *s = &p->w->scratch;
    int32_t missing = count->nodes;
    for (size_t k = 0; k < s->pick.n; k++)
        missing -= bit_get(count->groups, p->w->now.group[s->pick.v[k]]->idx);
    for (; missing > 0; missing--) {
        uint32_t node = counted_best(p, count->groups, taken);
        if (node == NONE)
            return false;
        vec_push(&s->pick, node);
        bit_set(taken, node);
    }
    return true;
}

static bool pick_counts(struct placing *p)
{
    struct scratch *s = &p->w->scratch;
    if (p->v->ncount == 0)
        return true;
    uint64_t *taken = xcalloc(BIT_WORDS(p->w->nnodes) + 1, sizeof taken[0]);
    for (size_t k = 0; k < s->pick.n; k++)
        bit_set(taken, s->pick.v[k]);
    bool ok = true;
    for (size_t i = 0; i < p->v->ncount && ok; i++)
        ok = pick_count(p, &p->v->count[i], taken);
    free(taken);
    return ok;
}

static bool has_must(const struct compiled *c, uint64_t first, uint64_t last)
{
    for (size_t i = 0; i < c->nmust; i++)
        if (c->must[i] < first || c->must[i] > last)
            return false;
    return true;
}

/* A node comes into a stretch (more 1) or drops out of it (-1): of each counted feature it has so
 * many. */
static void counts_add(const struct placing *p, uint64_t node, int32_t more, int32_t *has)
{
    for (size_t i = 0; i < p->v->ncount; i++)
        if (bit_get(p->v->count[i].groups, p->w->now.group[node]->idx))
            has[i] += more;
}

/* Does a stretch with so many have what counted features ask for, if this node (NONE = none) drops
 * out? */
static bool has_counts(const struct placing *p, const int32_t *has, uint64_t without)
{
    bool all = true;
    for (size_t i = 0; i < p->v->ncount && all; i++) {
        const struct count_need *c = &p->v->count[i];
        bool less = without != NONE && bit_get(c->groups, p->w->now.group[without]->idx);
        all = has[i] - less >= c->nodes;
    }
    return all;
}

/* The first stretch of neighbouring candidates that holds what is asked, the nodes that are named,
 * and those that counted features ask for. */
static bool pick_neighbours(struct placing *p)
{
    struct scratch *s = &p->w->scratch;
    const struct layout *l = &p->v->lay;
    int32_t has[FEATURE_COUNTS_MAX] = {0};
    for (size_t i = 0; i < s->key.n; i++)
        s->key.v[i] = NODE_OF(s->key.v[i]);
    if (s->key.n > 1)
        qsort(s->key.v, s->key.n, sizeof s->key.v[0], key_order);
    size_t from = 0;
    int64_t units = 0;
    for (size_t i = 0; i < s->key.n; i++) {
        if (i > from && s->key.v[i] != s->key.v[i - 1] + 1)
            from = i, units = 0, memset(has, 0, sizeof has);
        units += s->cap[s->key.v[i]];
        counts_add(p, s->key.v[i], 1, has);
        size_t nodes = i - from + 1;
        /* The stretch slides: what is added at its right end drops out at its left. */
        if (nodes > (size_t)p->nmax) {
            counts_add(p, s->key.v[from], -1, has);
            units -= s->cap[s->key.v[from++]];
            nodes--;
        }
        if (nodes < (size_t)l->nmin || units < l->units || !has_counts(p, has, NONE) ||
            !has_must(p->what->c, s->key.v[from], s->key.v[i]))
            continue;
        for (; nodes > (size_t)l->nmin && units - s->cap[s->key.v[from]] >= l->units &&
               has_must(p->what->c, s->key.v[from + 1], s->key.v[i]) &&
               has_counts(p, has, s->key.v[from]);
             nodes--) {
            counts_add(p, s->key.v[from], -1, has);
            units -= s->cap[s->key.v[from++]];
        }
        for (size_t k = from; k <= i; k++)
            vec_push(&s->pick, (uint32_t)s->key.v[k]);
        return true;
    }
    return false;
}

static void pick_same(struct placing *p)
{
    struct scratch *s = &p->w->scratch;
    const struct layout *l = &p->v->lay;
    size_t want = (size_t)(p->what->c->req->use_min_nodes ? l->nmin : p->nmax);
    if (want < s->pick.n)
        want = s->pick.n;
    if (s->pick.n == 0) {
        want = want < s->key.n ? want : s->key.n;
        keys_select(s->key.v, s->key.n, want);
        for (size_t i = 0; i < want; i++)
            vec_push(&s->pick, NODE_OF(s->key.v[i]));
        return;
    }
    if (s->key.n > 1)
        qsort(s->key.v, s->key.n, sizeof s->key.v[0], key_order);
    for (size_t i = 0; i < s->key.n && s->pick.n < want; i++)
        if (!picked(s, NODE_OF(s->key.v[i])))
            vec_push(&s->pick, NODE_OF(s->key.v[i]));
}

static int64_t pick_units(const struct scratch *s)
{
    int64_t sum = 0;
    for (size_t i = 0; i < s->pick.n; i++)
        sum += s->cap[s->pick.v[i]];
    return sum;
}

static bool pick_one(struct placing *p)
{
    struct scratch *s = &p->w->scratch;
    uint64_t best = UINT64_MAX;
    for (size_t i = 0; i < s->key.n; i++)
        if (s->key.v[i] < best && s->cap[NODE_OF(s->key.v[i])] >= p->v->lay.units)
            best = s->key.v[i];
    if (best != UINT64_MAX)
        vec_push(&s->pick, NODE_OF(best));
    return best != UINT64_MAX;
}

/* Takes candidates, most units first, within the same weight or regardless of it. Keys are made
 * anew: what the weight says (and whether something is promised there) as it was, then most units,
 * then what of the shape fits into 12 bits, then the node. If the job does not fit so within nmax
 * nodes, the weight is forgotten: to start matters more. */
static void pick_largest(struct placing *p, bool weighted)
{
    struct scratch *s = &p->w->scratch;
    const struct layout *l = &p->v->lay;
    size_t before = s->pick.n;
    VEC(uint64_t) key = {0};
    for (size_t i = 0; i < s->key.n; i++) {
        uint32_t node = NODE_OF(s->key.v[i]);
        uint64_t rank = weighted ? s->key.v[i] >> 52 : 0, shape = s->key.v[i] >> 36 & 0xfff;
        if (!picked(s, node))
            vec_push(&key, rank << 52 | (0xffff - key_clip(s->cap[node], 0xffff)) << 36 |
                               shape << NODE_BITS | node);
    }
    if (key.n > 1)
        qsort(key.v, key.n, sizeof key.v[0], key_order);
    int64_t units = pick_units(s);
    for (size_t i = 0; i < key.n && s->pick.n < (size_t)p->nmax; i++) {
        if (units >= l->units && s->pick.n >= (size_t)l->nmin && !p->what->c->req->spread_job)
            break;
        vec_push(&s->pick, NODE_OF(key.v[i]));
        units += s->cap[NODE_OF(key.v[i])];
    }
    vec_done(&key);
    if (units < l->units && weighted) {
        s->pick.n = before;
        pick_largest(p, false);
    }
}

static bool pick_nodes(struct placing *p)
{
    struct scratch *s = &p->w->scratch;
    const struct layout *l = &p->v->lay;
    vec_clear(&s->pick);
    if (s->key.n < (size_t)l->nmin)
        return false;
    if (p->what->c->req->contiguous) {
        if (!pick_neighbours(p))
            return false;
    } else {
        if ((p->what->c->nmust > 0 || p->v->ncount > 0) && s->key.n > 1)
            qsort(s->key.v, s->key.n, sizeof s->key.v[0], key_order);
        /* What there is no choice about comes first; what is left of nmax is chosen freely. */
        if (!pick_must(p) || !pick_counts(p))
            return false;
        if (l->units == 0)
            pick_same(p);
        else if (!(s->pick.n == 0 && l->nmin <= 1 && !p->what->c->req->spread_job && pick_one(p)))
            pick_largest(p, true);
    }
    return s->pick.n >= (size_t)l->nmin && s->pick.n <= (size_t)p->nmax &&
           (l->units == 0 || pick_units(s) >= l->units);
}

/* May the nodes lie below more leaf switches than the job wants? */
static bool insists(const struct placing *p)
{
    return p->what->c->req->switches > 0 && p->start_us < p->what->insists_until_us;
}

/* Nodes close to each other first; if that cannot be, any. */
bool placing_pick(struct placing *p)
{
    ASSERT(p->start_us <= p->end_us && p->v);
    struct scratch *s = &p->w->scratch;
    const struct layout *l = &p->v->lay;
    const struct job_request *r = p->what->c->req;
    size_t n = s->key.n;
    bool together = p->w->cl->wiring.topo && p->nmax > 1 && !r->contiguous &&
                    p->what->c->nmust == 0 && p->v->ncount == 0 &&
                    (!p->w->cl->policy.topo_optional || r->switches > 0);
    if (!together || n < (size_t)l->nmin)
        return pick_nodes(p) && (!insists(p) || topo_leaves(p->w) <= (size_t)r->switches);
    /* To narrow takes candidates away, which are needed again if nothing comes of it. */
    uint64_t *all = xmemdup(s->key.v, (n + 1) * sizeof all[0]);
    size_t want = (size_t)(r->use_min_nodes ? l->nmin : p->nmax);
    bool ok = topo_narrow(p->w, (size_t)l->nmin, want, l->units) > 0 && pick_nodes(p);
    if (!ok) {
        memcpy(s->key.v, all, n * sizeof all[0]);
        s->key.n = n;
        ok = pick_nodes(p);
    }
    free(all);
    return ok && (!insists(p) || topo_leaves(p->w) <= (size_t)r->switches);
}
