#include "sched/world/exact_devices.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

static bool same_place(const struct group *g, size_t a, size_t b)
{
    return g->dev[a].place == g->dev[b].place;
}

static bool is_free(const struct choice *ch, size_t d, uint32_t dim)
{
    return ch->g->dev[d].dim == dim && !ch->x->dev_job[d] && !ch->dev[d];
}

/* The device to begin with: the first of the smallest set that holds all, else of the largest set.
 * `beside`, by place: so many free ones of the dimension lie there. */
static size_t device_seed(const struct choice *ch, uint32_t dim, int64_t count,
                          const int64_t *beside)
{
    size_t best = SIZE_MAX;
    int64_t best_free = 0;
    for (size_t d = 0; d < ch->g->ndev; d++) {
        if (!is_free(ch, d, dim))
            continue;
        int64_t here = beside[ch->g->dev[d].place];
        bool better = best == SIZE_MAX ||
                      (best_free >= count ? here >= count && here < best_free : here > best_free);
        if (better)
            best = d, best_free = here;
    }
    return best;
}

/* ---- devices with links ---- */

static bool linked(const struct group *g, size_t a, size_t b)
{
    return g->dev[a].linked && g->dev[a].linked[b];
}

static bool has_links(const struct choice *ch, uint32_t dim)
{
    for (size_t d = 0; d < ch->g->ndev; d++)
        if (ch->g->dev[d].dim == dim && ch->g->dev[d].linked)
            return true;
    return false;
}

/* How good a set is: links within it, pairs of it that lie together, and links that it cuts: those
 * to free devices that it leaves. */
struct worth {
    int32_t inside, together, cut;
};

static bool worth_more(const struct worth *a, const struct worth *b)
{
    if (a->inside != b->inside)
        return a->inside > b->inside;
    return a->together != b->together ? a->together > b->together : a->cut < b->cut;
}

/* What device d adds to the set; `cut` counts from d's side: one that is linked with the set is cut
 * no more. */
static struct worth worth_with(const struct choice *ch, const char *set, size_t d, uint32_t dim)
{
    struct worth w = {0};
    for (size_t i = 0; i < ch->g->ndev; i++) {
        bool chosen = set[i] || (ch->dev[i] && ch->g->dev[i].dim != dim);
        w.inside += chosen && linked(ch->g, d, i);
        w.together += set[i] && same_place(ch->g, d, i);
        w.cut +=
            set[i] ? -linked(ch->g, i, d) : i != d && is_free(ch, i, dim) && linked(ch->g, d, i);
    }
    return w;
}

/* The set that grows from device `seed`, each time by the one that adds most. False if there are
 * too few. */
static bool set_grow(const struct choice *ch, uint32_t dim, int64_t count, size_t seed, char *set,
                     struct worth *ret)
{
    *ret = (struct worth){0};
    memset(set, 0, ch->g->ndev);
    for (size_t next = seed; count > 0; count--) {
        struct worth best = {0};
        if (next == SIZE_MAX) {
            for (size_t d = 0; d < ch->g->ndev; d++) {
                struct worth w =
                    is_free(ch, d, dim) && !set[d] ? worth_with(ch, set, d, dim) : best;
                if (is_free(ch, d, dim) && !set[d] && (next == SIZE_MAX || worth_more(&w, &best)))
                    next = d, best = w;
            }
        } else {
            best = worth_with(ch, set, next, dim);
        }
        if (next == SIZE_MAX)
            return false;
        set[next] = 1;
        ret->inside += best.inside;
        ret->together += best.together;
        ret->cut += best.cut;
        next = SIZE_MAX;
    }
    return true;
}

/* One set grown from each device, the best of them taken. All sets would be too many (12,870 of 8
 * among 16); grown so, a pair is always a linked one where there is one, and so are islands of
 * links, which is what nodes have. */
static bool linked_choose(struct choice *ch, uint32_t dim, int64_t count)
{
    char *set = xcalloc(2 * ch->g->ndev, 1), *best = set + ch->g->ndev;
    struct worth worth = {0}, w;
    bool found = false;
    for (size_t d = 0; d < ch->g->ndev; d++) {
        if (!is_free(ch, d, dim) || !set_grow(ch, dim, count, d, set, &w) ||
            (found && !worth_more(&w, &worth)))
            continue;
        memcpy(best, set, ch->g->ndev);
        worth = w;
        found = true;
    }
    for (size_t d = 0; d < ch->g->ndev; d++)
        ch->dev[d] = (char)(ch->dev[d] | best[d]);
    free(set);
    return found;
}

bool exact_devices(struct choice *ch, uint32_t dim, int64_t count)
{
    ASSERT(count >= 0 && dim >= DIM_GRES);
    if (count > 0 && has_links(ch, dim))
        return linked_choose(ch, dim, count);
    int64_t *beside = xcalloc(ch->g->ndev + 1, sizeof beside[0]);
    for (size_t d = 0; d < ch->g->ndev; d++)
        beside[ch->g->dev[d].place] += is_free(ch, d, dim);
    size_t seed = 0;
    while (count > 0 && (seed = device_seed(ch, dim, count, beside)) != SIZE_MAX)
        for (size_t d = seed; d < ch->g->ndev && count > 0; d++)
            if (is_free(ch, d, dim) && same_place(ch->g, d, seed)) {
                ch->dev[d] = 1;
                beside[ch->g->dev[d].place]--;
                count--;
            }
    free(beside);
    return count <= 0;
}
