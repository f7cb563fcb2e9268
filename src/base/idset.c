/* Ranges are kept ascending by first member and never interleave their members: adding or deleting inside a stepped range splits it at that
 * member. Two stepped ranges may overlap in extent ("0-10:2,1-11:2"), so membership looks at every range whose extent covers the index. */
#include "base/idset.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

static uint64_t range_count(const struct idrange *r)
{
    return (uint64_t) (r->last - r->first) / r->step + 1;
}

static bool range_has(const struct idrange *r, uint32_t id)
{
    return id >= r->first && id <= r->last && (id - r->first) % r->step == 0;
}

void idset_done(struct idset *s)
{
    free(s->range);
    *s = IDSET_INIT;
}

void idset_copy(struct idset *to, const struct idset *from)
{
    struct idrange *ranges = from->n ? xmemdup(from->range, from->n * sizeof *ranges) : NULL;
    free(to->range);
    *to = (struct idset){ranges, from->n, from->n, from->count};
}

/* First range whose first member is above `first`. */
static size_t place_of(const struct idset *s, uint32_t first)
{
    size_t low = 0, high = s->n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (s->range[mid].first > first)
            high = mid;
        else
            low = mid + 1;
    }
    return low;
}

static void range_insert(struct idset *s, struct idrange r)
{
    if (r.first == r.last)
        r.step = 1;
    if (s->n == s->cap) {
        s->cap = s->cap ? 2 * s->cap : 4;
        s->range = xrealloc(s->range, s->cap * sizeof s->range[0]);
    }
    size_t at = place_of(s, r.first);
    memmove(&s->range[at + 1], &s->range[at], (s->n - at) * sizeof r);
    s->range[at] = r;
    s->n++;
    s->count += range_count(&r);
}

static void range_take(struct idset *s, size_t at)
{
    s->count -= range_count(&s->range[at]);
    memmove(&s->range[at], &s->range[at + 1], (s->n - at - 1) * sizeof s->range[0]);
    s->n--;
}

static ptrdiff_t range_of(const struct idset *s, uint32_t id)
{
    for (size_t i = place_of(s, id); i-- > 0;)
        if (range_has(&s->range[i], id))
            return (ptrdiff_t) i;
    return -1;
}

bool idset_has(const struct idset *s, uint32_t id)
{
    return range_of(s, id) >= 0;
}

/* Joins the range at `at` with its successor where both are plain runs that touch, or single members that go on with a plain run. */
static bool join_next(struct idset *s, size_t at)
{
    if (at + 1 >= s->n)
        return false;
    struct idrange *a = &s->range[at], *b = &s->range[at + 1];
    if (a->step != 1 || b->step != 1 || a->last == UINT32_MAX || a->last + 1 != b->first)
        return false;
    a->last = b->last;
    memmove(b, b + 1, (s->n - at - 2) * sizeof *b);
    s->n--;
    return true;
}

void idset_add(struct idset *s, uint32_t id)
{
    if (idset_has(s, id))
        return;
    range_insert(s, (struct idrange){id, id, 1});
    size_t at = place_of(s, id) - 1;
    join_next(s, at);
    if (at > 0)
        join_next(s, at - 1);
}

bool idset_del(struct idset *s, uint32_t id)
{
    ptrdiff_t found = range_of(s, id);
    if (found < 0)
        return false;
    struct idrange r = s->range[found];
    range_take(s, (size_t) found);
    if (id > r.first)
        range_insert(s, (struct idrange){r.first, id - r.step, r.step});
    if (id < r.last)
        range_insert(s, (struct idrange){id + r.step, r.last, r.step});
    return true;
}

bool idset_first(const struct idset *s, uint32_t *ret_id)
{
    if (!s->n)
        return false;
    *ret_id = s->range[0].first;
    return true;
}

bool idset_next(const struct idset *s, uint32_t after, uint32_t *ret_id)
{
    bool found = false;
    for (size_t i = 0; i < s->n; i++) {
        const struct idrange *r = &s->range[i];
        if (found && r->first >= *ret_id)
            break;
        if (r->last <= after)
            continue;
        uint32_t id = r->first > after ? r->first : r->first + ((after - r->first) / r->step + 1) * r->step;
        if (!found || id < *ret_id)
            *ret_id = id;
        found = true;
    }
    return found;
}

uint32_t idset_last(const struct idset *s)
{
    uint32_t last = 0;
    for (size_t i = 0; i < s->n; i++)
        if (s->range[i].last > last)
            last = s->range[i].last;
    return last;
}

/* ---- text ---- */

static bool number_take(struct span *in, uint32_t max, uint32_t *ret, struct err *ret_err)
{
    uint64_t n = 0;
    size_t digits = 0;
    while (in->len && in->data[0] >= '0' && in->data[0] <= '9') {
        if (n <= UINT32_MAX)
            n = n * 10 + (uint64_t) (in->data[0] - '0');
        in->data++;
        in->len--;
        digits++;
    }
    if (!digits)
        return err_set(ret_err, ERR_INVALID, "a number is missing at \"%.*s\"", (int) (in->len < 40 ? in->len : 40), in->data);
    if (n > max)
        return err_set(ret_err, ERR_LIMIT, "index %llu%s is above the largest one allowed, %u", (unsigned long long) n, n > UINT32_MAX ? "…" : "", max);
    *ret = (uint32_t) n;
    return true;
}

static bool letter_take(struct span *in, char c)
{
    if (!in->len || in->data[0] != c)
        return false;
    in->data++;
    in->len--;
    return true;
}

static bool range_parse(struct span piece, uint32_t max, struct idrange *r, struct err *ret_err)
{
    struct span in = span_trim(piece);
    r->step = 1;
    if (!number_take(&in, max, &r->first, ret_err))
        return false;
    r->last = r->first;
    if (letter_take(&in, '-')) {
        if (!number_take(&in, max, &r->last, ret_err))
            return false;
        if (letter_take(&in, ':') && !number_take(&in, UINT32_MAX, &r->step, ret_err))
            return false;
    }
    if (in.len)
        return err_set(ret_err, ERR_INVALID, "cannot read \"%.*s\": indexes are written 1,3,5-10 or 0-100:5", (int) (piece.len < 60 ? piece.len : 60), piece.data);
    if (r->step == 0)
        return err_set(ret_err, ERR_INVALID, "the step of a range must be at least 1");
    if (r->last < r->first)
        return err_set(ret_err, ERR_INVALID, "range %u-%u runs backwards", r->first, r->last);
    r->last = r->first + (r->last - r->first) / r->step * r->step;
    return true;
}

/* Do two ranges share a member? Only the overlap of their extents needs a look, at most one step of the coarser range at a time. */
static bool ranges_meet(const struct idrange *a, const struct idrange *b)
{
    uint32_t low = a->first > b->first ? a->first : b->first, high = a->last < b->last ? a->last : b->last;
    if (low > high)
        return false;
    const struct idrange *coarse = a->step >= b->step ? a : b, *fine = coarse == a ? b : a;
    if (fine->step == 1)
        return low <= coarse->first || (low - coarse->first) % coarse->step == 0 ||
               (uint64_t) low + (coarse->step - (low - coarse->first) % coarse->step) <= high;
    uint64_t id = coarse->first >= low ? coarse->first : coarse->first + ((uint64_t) (low - coarse->first) + coarse->step - 1) / coarse->step * coarse->step;
    /* After fine->step members of the coarse range the remainders repeat. */
    for (uint32_t tries = 0; id <= high && tries < fine->step; id += coarse->step, tries++)
        if (range_has(fine, (uint32_t) id))
            return true;
    return false;
}

static void range_add(struct idset *s, const struct idrange *r)
{
    bool meets = false;
    for (size_t i = 0; i < s->n && !meets; i++)
        meets = ranges_meet(&s->range[i], r);
    if (!meets) {
        range_insert(s, *r);
        return;
    }
    for (uint64_t id = r->first; id <= r->last; id += r->step)
        idset_add(s, (uint32_t) id);
}

/* Texts that repeat members cost an insertion each: bounded, so that nobody can keep the controller busy. */
#define OVERLAP_MAX 1000000u

bool idset_parse(struct idset *s, const char *text, uint32_t max, struct err *ret_err)
{
    struct idset read = IDSET_INIT;
    struct span rest = span_of(text), piece;
    bool ok = !text_empty(text) || err_set(ret_err, ERR_INVALID, "no index is given");
    while (ok && span_next(&rest, ',', &piece)) {
        struct idrange r;
        ok = range_parse(piece, max, &r, ret_err);
        if (!ok)
            break;
        bool meets = false;
        for (size_t i = 0; i < read.n && !meets; i++)
            meets = ranges_meet(&read.range[i], &r);
        if (meets && range_count(&r) > OVERLAP_MAX)
            ok = err_set(ret_err, ERR_LIMIT, "range %u-%u repeats indexes given before; write each index once", r.first, r.last);
        else
            range_add(&read, &r);
    }
    for (size_t i = 0; ok && i + 1 < read.n;)
        if (!join_next(&read, i))
            i++;
    if (!ok) {
        idset_done(&read);
        return false;
    }
    idset_done(s);
    *s = read;
    return true;
}

void idset_format(const struct idset *s, struct str *out)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct idrange *r = &s->range[i];
        if (i)
            str_addc(out, ',');
        str_add_u64(out, r->first);
        if (r->last == r->first)
            continue;
        bool two = r->last - r->first == r->step;
        str_addc(out, two ? ',' : '-');
        str_add_u64(out, r->last);
        if (!two && r->step > 1) {
            str_addc(out, ':');
            str_add_u64(out, r->step);
        }
    }
}
