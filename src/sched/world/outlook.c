/* Ends of work, starts and ends of promises are merged in order of time into stretches in which as
 * much is free. What starts or is promised on the node cuts two stretches and lowers those between,
 * and a promise that is taken back raises them;
 * any other change there, or of the time, ends the outlook, and it is made anew when it is asked
 * for. The least over a window that moves on is kept as one queue of candidates for each dimension,
 * in which each is smaller than the one before it, so that a whole walk costs as much as the
 * stretches there are. */
#include "sched/world/outlook.h"

#include "base/alloc.h"
#include "sched/world/row.h"

#include <stdlib.h>
#include <string.h>

enum { RISES = 1, DROPS = 2 };

#define FIRST_ROOM 32 /* stretches: most nodes have fewer */

void outlook_free(struct outlook *p)
{
    if (!p)
        return;
    vec_done(&p->at);
    vec_done(&p->row);
    vec_done(&p->least);
    vec_done(&p->how);
    vec_done(&p->ends);
    vec_done(&p->queue);
    vec_done(&p->head);
    free(p);
}

/* ---- the sweep ---- */

static int end_order(const void *a, const void *b)
{
    const struct end *x = a, *y = b;
    return (x->at_us > y->at_us) - (x->at_us < y->at_us);
}

/* Ends of the node's promises, ascending. */
static void ends_collect(const struct world *w, uint32_t node, struct outlook *p)
{
    const struct agenda *a = &w->agenda;
    bool sorted = true;
    vec_clear(&p->ends);
    for (uint32_t t = a->kept[node]; t != NONE; t = a->take.v[t].next) {
        struct end e = {agenda_job(a, t)->end_us, t};
        if (e.at_us <= w->now_us || e.at_us == INT64_MAX)
            continue;
        sorted &= p->ends.n == 0 || p->ends.v[p->ends.n - 1].at_us <= e.at_us;
        vec_push(&p->ends, e);
    }
    if (!sorted)
        qsort(p->ends.v, p->ends.n, sizeof p->ends.v[0], end_order);
}

/* From at_us on `take` comes free (sign 1) or is taken. */
static void turn(const struct world *w, struct outlook *p, int64_t at_us, uint32_t take, int sign)
{
    size_t dims = w->dims;
    if (p->at.v[p->at.n - 1] < at_us) {
        vec_push(&p->at, at_us);
        vec_push(&p->how, 0);
        if (p->row.cap < p->row.n + dims) /* vec_reserve makes room for no more than it is told */
            vec_reserve(&p->row, 2 * (p->row.n + dims));
        memcpy(&p->row.v[p->row.n], &p->row.v[p->row.n - dims], dims * sizeof p->row.v[0]);
        p->row.n += dims;
    }
    p->how.v[p->how.n - 1] |= sign > 0 ? RISES : DROPS;
    const struct wtake *t = &w->agenda.take.v[take];
    for (uint32_t i = 0; i < t->n; i++) {
        const struct use *u = &w->agenda.use.v[t->first + i];
        p->row.v[p->row.n - dims + u->dim] += sign * u->amount;
    }
}

static int64_t first_of(int64_t a, int64_t b, int64_t c)
{
    int64_t least = a < b ? a : b;
    return c < least ? c : least;
}

/* Three lists that are sorted already, merged. What happens at one time goes into one stretch, so
 * that it does not matter which of the three is asked first. */
static void sweep(struct world *w, uint32_t node, struct outlook *p)
{
    const struct agenda *a = &w->agenda;
    uint32_t work = a->work[node], kept = a->kept[node];
    size_t end = 0;
    ends_collect(w, node, p);
    vec_clear(&p->at);
    vec_clear(&p->row);
    vec_clear(&p->how);
    vec_reserve(&p->at, FIRST_ROOM);
    vec_reserve(&p->how, FIRST_ROOM);
    vec_reserve(&p->row, FIRST_ROOM * w->dims);
    vec_push(&p->at, w->now_us);
    vec_push(&p->how, RISES);
    memcpy(p->row.v, world_free_row(w, node), w->dims * sizeof p->row.v[0]);
    p->row.n = w->dims;
    for (;;) {
        int64_t works = work == NONE ? INT64_MAX : agenda_job(a, work)->end_us,
                starts = kept == NONE ? INT64_MAX : agenda_job(a, kept)->start_us,
                ends = end == p->ends.n ? INT64_MAX : p->ends.v[end].at_us;
        int64_t at = first_of(works, starts, ends);
        if (at == INT64_MAX)
            return;
        if (works == at) {
            turn(w, p, at, work, 1);
            work = a->take.v[work].next;
        } else if (starts == at) {
            if (agenda_job(a, kept)->end_us > w->now_us)
                turn(w, p, at, kept, -1);
            kept = a->take.v[kept].next;
        } else {
            turn(w, p, at, p->ends.v[end++].job, 1);
        }
    }
}

static void least_find(const struct world *w, struct outlook *p)
{
    size_t dims = w->dims;
    if (p->least_known)
        return;
    p->least_known = true;
    vec_clear(&p->least);
    vec_reserve(&p->least, dims);
    memcpy(p->least.v, p->row.v, dims * sizeof p->least.v[0]);
    p->least.n = dims;
    for (size_t i = 1; i < p->at.n; i++)
        for (size_t d = 0; d < dims; d++)
            if (p->row.v[i * dims + d] < p->least.v[d])
                p->least.v[d] = p->row.v[i * dims + d];
}

static bool is_true(const struct world *w, const struct outlook *p, uint32_t node)
{
    return p->changes == w->agenda.changes[node] && p->now_us == w->now_us;
}

static struct outlook *outlook_of(struct world *w, uint32_t node)
{
    struct outlook *p = w->scratch.outlook[node];
    if (!p)
        p = w->scratch.outlook[node] = xcalloc(1, sizeof *p);
    /* Here and not when the node changes: it may change often between two questions. */
    if (!is_true(w, p, node)) {
        sweep(w, node, p);
        p->least_known = false;
        p->changes = w->agenda.changes[node];
        p->now_us = w->now_us;
    }
    return p;
}

/* The stretch in which the time lies; the first for what is past. */
static size_t stretch_of(const struct outlook *p, int64_t at_us)
{
    size_t low = 0, high = p->at.n;
    while (low + 1 < high) {
        size_t middle = (low + high) / 2;
        if (p->at.v[middle] <= at_us)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* ---- something is taken ---- */

/* Makes a stretch begin at that time, and returns its number. */
static size_t cut(const struct world *w, struct outlook *p, int64_t at_us)
{
    size_t i = stretch_of(p, at_us), dims = w->dims;
    if (p->at.v[i] >= at_us)
        return i;
    vec_push(&p->at, 0);
    vec_push(&p->how, 0);
    if (p->row.cap < p->row.n + dims)
        vec_reserve(&p->row, 2 * (p->row.n + dims));
    p->row.n += dims;
    size_t behind = p->at.n - 2 - i; /* stretches after the one that is cut */
    memmove(&p->at.v[i + 2], &p->at.v[i + 1], behind * sizeof p->at.v[0]);
    memmove(&p->how.v[i + 2], &p->how.v[i + 1], behind * sizeof p->how.v[0]);
    memmove(&p->row.v[(i + 1) * dims], &p->row.v[i * dims],
            (behind + 1) * dims * sizeof p->row.v[0]);
    p->at.v[i + 1] = at_us;
    p->how.v[i + 1] = 0;
    return i + 1;
}

/* So much more of it is free there, or less. */
static void stretches_add(const struct world *w, struct outlook *p, uint32_t dim, int64_t more,
                          size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        int64_t *amount = &p->row.v[i * w->dims + dim];
        *amount += more;
        if (p->least_known && *amount < p->least.v[dim])
            p->least.v[dim] = *amount;
    }
}

struct outlook *outlook_known(const struct world *w, uint32_t node)
{
    ASSERT(node < w->nall);
    struct outlook *p = w->scratch.outlook[node];
    return p && is_true(w, p, node) ? p : NULL;
}

/* What was told is what would be added up. Asked in builds with tests only, and only where the slow
 * way is short. */
static bool as_added_up(const struct world *w, const struct outlook *p, uint32_t node)
{
    int64_t row[64];
    for (size_t i = 0; i < p->at.n && p->at.n <= 16 && w->dims <= 64; i++) {
        world_row_at(w, node, p->at.v[i], row);
        if (memcmp(row, &p->row.v[i * w->dims], w->dims * sizeof row[0]) != 0)
            return false;
        for (size_t d = 0; d < w->dims; d++)
            if (p->least_known && row[d] < p->least.v[d])
                return false;
    }
    return true;
}

/* From from_us until it ends the take is free (sign 1), or no longer (-1). Of nothing known nothing
 * is told. */
static void told(const struct world *w, struct outlook *known, uint32_t take, int64_t from_us,
                 int sign)
{
    ASSERT(take < w->agenda.take.n && from_us >= w->now_us && (sign == 1 || sign == -1));
    if (!known)
        return;
    const struct wtake *t = &w->agenda.take.v[take];
    int64_t to_us = agenda_job(&w->agenda, take)->end_us;
    known->changes = w->agenda.changes[t->node];
    if (from_us >= to_us)
        return;
    size_t from = cut(w, known, from_us),
           to = to_us == INT64_MAX ? known->at.n : cut(w, known, to_us);
    known->how.v[from] |= sign > 0 ? RISES : DROPS;
    if (to < known->at.n)
        known->how.v[to] |= sign > 0 ? DROPS : RISES;
    for (uint32_t i = 0; i < t->n; i++) {
        const struct use *u = &w->agenda.use.v[t->first + i];
        stretches_add(w, known, u->dim, sign * u->amount, from, to);
    }
    known->least_known &= sign < 0;
    ASSERT(as_added_up(w, known, t->node));
}

void outlook_taken(const struct world *w, struct outlook *known, uint32_t take, int64_t from_us)
{
    told(w, known, take, from_us, -1);
}

/* Times at which it began and ended stay cuts between stretches that may be alike now. */
void outlook_given(const struct world *w, struct outlook *known, uint32_t take, int64_t from_us)
{
    told(w, known, take, from_us, 1);
}

/* ---- questions ---- */

const int64_t *outlook_least(struct world *w, uint32_t node, int64_t start_us, int64_t end_us)
{
    ASSERT(node < w->nall && start_us <= end_us);
    struct outlook *p = outlook_of(w, node);
    size_t i = stretch_of(p, start_us), dims = w->dims;
    int64_t *row = w->scratch.row;
    if (i == 0 && end_us == INT64_MAX) {
        least_find(w, p);
        memcpy(row, p->least.v, dims * sizeof row[0]);
        return row;
    }
    memcpy(row, &p->row.v[i * dims], dims * sizeof row[0]);
    for (i++; i < p->at.n && p->at.v[i] < end_us; i++)
        /* It cannot get less where nothing drops. */
        if (p->how.v[i] & DROPS)
            for (size_t d = 0; d < dims; d++)
                row[d] = p->row.v[i * dims + d] < row[d] ? p->row.v[i * dims + d] : row[d];
    return row;
}

bool outlook_holds(struct world *w, uint32_t node, int64_t start_us, int64_t end_us)
{
    const int64_t *least = outlook_least(w, node, start_us, end_us);
    for (size_t d = 0; d < w->dims; d++)
        if (least[d] < 0)
            return false;
    return true;
}

int64_t outlook_first(struct world *w, uint32_t node, int64_t limit_us, int64_t from_us,
                      int64_t before_us, int64_t until_us, const struct take *take)
{
    ASSERT(node < w->nall && limit_us >= 0);
    const struct outlook *p = outlook_of(w, node);
    int64_t start = from_us, does_us = time_add(start, limit_us);
    for (size_t i = stretch_of(p, from_us); i < p->at.n && start < before_us; i++) {
        int64_t end = i + 1 < p->at.n ? p->at.v[i + 1] : INT64_MAX;
        if (!take_fits(take, &p->row.v[i * w->dims])) {
            start = end;
            does_us = time_add(start, limit_us);
        } else if (end >= until_us || end >= does_us) {
            return start;
        }
    }
    return INT64_MAX;
}

bool outlook_run(struct world *w, uint32_t node, size_t *at, const struct take *take,
                 int64_t *ret_from_us, int64_t *ret_to_us)
{
    ASSERT(node < w->nall);
    const struct outlook *p = outlook_of(w, node);
    while (*at < p->at.n && !take_fits(take, &p->row.v[*at * w->dims]))
        ++*at;
    if (*at == p->at.n)
        return false;
    *ret_from_us = p->at.v[*at];
    while (*at < p->at.n && take_fits(take, &p->row.v[*at * w->dims]))
        ++*at;
    *ret_to_us = *at < p->at.n ? p->at.v[*at] : INT64_MAX;
    return true;
}

/* ---- a walk ---- */

struct outlook_walk outlook_walk(struct world *w, uint32_t node, int64_t limit_us)
{
    ASSERT(node < w->nall && limit_us >= 0);
    struct outlook *p = outlook_of(w, node);
    vec_clear(&p->queue);
    vec_reserve(&p->queue, p->at.n * w->dims);
    vec_clear(&p->head);
    for (size_t d = 0; d < 2 * w->dims; d++)
        vec_push(&p->head, 0);
    return (struct outlook_walk){.w = w, .p = p, .limit_us = limit_us};
}

/* The next time at which something drops into the window. A window that begins at its time less
 * limit_us, plus 1, is the first that holds the moment of the drop. */
static int64_t drop_next(struct outlook_walk *walk, const struct outlook *p)
{
    if (walk->limit_us == TIME_UNLIMITED)
        return INT64_MAX;
    for (; walk->drop < p->at.n; walk->drop++)
        if (p->how.v[walk->drop] & DROPS &&
            p->at.v[walk->drop] - walk->limit_us + 1 >= walk->w->now_us)
            return p->at.v[walk->drop] - walk->limit_us + 1;
    return INT64_MAX;
}

static int64_t rise_next(struct outlook_walk *walk, const struct outlook *p)
{
    while (walk->rise < p->at.n && !(p->how.v[walk->rise] & RISES))
        walk->rise++;
    return walk->rise < p->at.n ? p->at.v[walk->rise] : INT64_MAX;
}

static void window_take(const struct outlook_walk *walk, struct outlook *p, size_t stretch)
{
    size_t dims = walk->w->dims;
    for (size_t d = 0; d < dims; d++) {
        uint32_t *queue = &p->queue.v[d * p->at.n], *head = &p->head.v[2 * d], *tail = head + 1;
        int64_t amount = p->row.v[stretch * dims + d];
        /* None before it that has no less can be the least of a window that it is in. */
        while (*tail > *head && p->row.v[queue[*tail - 1] * dims + d] >= amount)
            --*tail;
        queue[(*tail)++] = (uint32_t)stretch;
    }
}

bool outlook_next(struct outlook_walk *walk, int64_t *ret_at_us, const int64_t **ret_row)
{
    struct outlook *p = walk->p;
    size_t dims = walk->w->dims;
    int64_t drop = drop_next(walk, p), rise = rise_next(walk, p), at = drop < rise ? drop : rise;
    if (at == INT64_MAX)
        return false;
    walk->drop += drop == at;
    walk->rise += rise == at;
    int64_t end = time_add(at, walk->limit_us);
    while (walk->end < p->at.n && p->at.v[walk->end] < end)
        window_take(walk, p, walk->end++);
    while (walk->first + 1 < p->at.n && p->at.v[walk->first + 1] <= at)
        walk->first++;
    for (size_t d = 0; d < dims; d++) {
        const uint32_t *queue = &p->queue.v[d * p->at.n];
        while (queue[p->head.v[2 * d]] < walk->first)
            p->head.v[2 * d]++;
        walk->w->scratch.row[d] = p->row.v[queue[p->head.v[2 * d]] * dims + d];
    }
    *ret_at_us = at;
    *ret_row = walk->w->scratch.row;
    return true;
}
