#include "sim/replay/profile.h"

#include "base/alloc.h"

#include <stdbool.h>

void profile_init(struct profile *p, int64_t from, int64_t free)
{
    struct slice all = {from, free};
    *p = (struct profile){0};
    vec_push(&p->slice, all);
}

void profile_done(struct profile *p)
{
    vec_done(&p->slice);
}

/* The slice that holds `at`; slices before the first are not known any more. */
static size_t slice_find(const struct profile *p, int64_t at)
{
    ASSERT(p->slice.n > 0);
    size_t low = 0, high = p->slice.n;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (p->slice.v[middle].from <= at)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The slice that begins at `at`, cut where needed. */
static size_t slice_cut(struct profile *p, int64_t at)
{
    size_t i = slice_find(p, at);
    struct slice s = p->slice.v[i];
    if (s.from >= at)
        return i;
    s.from = at;
    vec_push(&p->slice, s);
    memmove(&p->slice.v[i + 2], &p->slice.v[i + 1], (p->slice.n - i - 2) * sizeof s);
    p->slice.v[i + 1] = s;
    return i + 1;
}

void profile_forget(struct profile *p, int64_t before)
{
    size_t i = slice_find(p, before);
    memmove(&p->slice.v[0], &p->slice.v[i], (p->slice.n - i) * sizeof p->slice.v[0]);
    p->slice.n -= i;
}

void profile_add(struct profile *p, int64_t from, int64_t to, int64_t procs)
{
    size_t out = 0;
    if (to <= from)
        return;
    size_t first = slice_cut(p, from), last = slice_cut(p, to);
    for (size_t i = first; i < last; i++)
        p->slice.v[i].free += procs;
    /* Neighbours that became equal are one. */
    size_t low = first > 0 ? first - 1 : 0, high = last + 1 < p->slice.n ? last + 1 : p->slice.n;
    out = low + 1;
    for (size_t i = low + 1; i < high; i++)
        if (p->slice.v[i].free != p->slice.v[out - 1].free)
            p->slice.v[out++] = p->slice.v[i];
    memmove(&p->slice.v[out], &p->slice.v[high], (p->slice.n - high) * sizeof p->slice.v[0]);
    p->slice.n -= high - out;
}

int64_t profile_earliest(const struct profile *p, int64_t from, int64_t procs, int64_t seconds)
{
    ASSERT(procs >= 0 && seconds >= 0);
    size_t i = slice_find(p, from);
    int64_t start = from;
    for (; i < p->slice.n; i++) {
        bool last = i + 1 == p->slice.n;
        if (p->slice.v[i].free < procs) {
            CHECK(!last);
            start = p->slice.v[i + 1].from;
        } else if (last || p->slice.v[i + 1].from >= start + seconds) {
            return start;
        }
    }
    return start;
}
