/* Ranges whose extents do not overlap, so that a member is found by halving. Two places make
 * ranges, both through a *builder*, which takes members in ascending order and joins those at equal
 * distances: parsing builds the whole set; adding and deleting rebuild the two or three ranges
 * around the index and put the result in their place. A builder takes a whole range in constant
 * time: once three of its members are in, the rest follow.
 *
 * Ranges with steps that interleave ("1-9:2,4-20:4") are taken apart into members and built anew.
 * That is the one operation whose cost is the number of members, so it is limited. What two sets
 * have in common is reckoned range by range, by the Chinese remainder theorem. */
#include "base/idset.h"

#include "base/alloc.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MERGE_MAX (UINT64_C(1) << 16) /* members of interleaved ranges, all of a text */

void idset_done(struct idset *s)
{
    free(s->range);
    *s = IDSET_INIT;
}

void idset_copy(struct idset *to, const struct idset *from)
{
    struct idset copy = {.n = from->n, .cap = from->n, .count = from->count};
    if (from->n)
        copy.range = xmemdup(from->range, from->n * sizeof from->range[0]);
    idset_done(to);
    *to = copy;
}

static uint64_t range_count(const struct idrange *r)
{
    return (uint64_t)(r->last - r->first) / r->step + 1;
}

static void range_push(struct idset *s, struct idrange r)
{
    if (s->n == s->cap) {
        s->cap = s->cap ? 2 * s->cap : 4;
        s->range = xrealloc(s->range, s->cap * sizeof s->range[0]);
    }
    s->range[s->n++] = r;
    s->count += range_count(&r);
}

/* ---- the builder ---- */

struct builder {
    struct idset *out;
    struct idrange run; /* of `members` members; its step means something from two on */
    uint64_t members;
    uint64_t room; /* members of interleaved ranges that may still be taken apart */
};

/* Too few members for a range of their own: a later one may be the begin of a longer range
 * ("1,3,5-10", not "1-5:2,6-10"). */
static bool run_is_short(const struct builder *b)
{
    return b->members < 3 || (b->members == 3 && b->run.step > 1);
}

static void builder_id(struct builder *b, uint32_t id)
{
    if (b->members >= 2 && id - b->run.last == b->run.step) {
        b->run.last = id;
        b->members++;
        return;
    }
    if (b->members && !run_is_short(b)) {
        range_push(b->out, b->run);
        b->members = 0;
    }
    while (b->members > 1) {
        range_push(b->out, (struct idrange){b->run.first, b->run.first, 1});
        b->run.first += b->run.step;
        b->members--;
    }
    if (b->members == 0)
        b->run = (struct idrange){id, id, 1};
    else
        b->run = (struct idrange){b->run.first, id, id - b->run.last};
    b->members++;
}

static void builder_range(struct builder *b, struct idrange r)
{
    uint64_t count = range_count(&r);
    for (uint32_t i = 0; i < 3 && i < count; i++)
        builder_id(b, r.first + i * r.step);
    if (count > 3) {
        CHECK(b->run.step == r.step);
        b->run.last = r.last;
        b->members += count - 3;
    }
}

static void builder_end(struct builder *b)
{
    if (b->members)
        range_push(b->out, b->run);
    b->members = 0;
}

/* ---- reading ---- */

static bool number_read(const char **at, const char *end, uint64_t *ret)
{
    const char *p = *at;
    uint64_t n = 0;
    for (; p < end && isdigit((unsigned char)*p); p++)
        if ((n = n * 10 + (uint64_t)(*p - '0')) > UINT32_MAX)
            n = (uint64_t)UINT32_MAX + 1; /* stays too large, whatever follows */
    bool some = p != *at;
    *at = p;
    *ret = n;
    return some;
}

/* Reads "first[-last[:step]]". */
static bool range_read(struct span text, uint32_t max, struct idrange *ret, struct err *ret_err)
{
    const char *at = text.data, *end = text.data + text.len;
    uint64_t first = 0, last = 0, step = 1;
    int shown = (int)(text.len < 40 ? text.len : 40);
    bool ok = number_read(&at, end, &first);
    last = first;
    if (ok && at < end && *at == '-') {
        at++;
        ok = number_read(&at, end, &last);
        if (ok && at < end && *at == ':')
            ok = (at++, number_read(&at, end, &step)) && step > 0;
    }
    if (!ok || at != end)
        return err_set(ret_err, ERR_INVALID,
                       "\"%.*s\" is no task index or range: write 7, 1-10 or 0-100:5", shown,
                       text.data);
    if (last < first)
        return err_set(ret_err, ERR_INVALID, "the range \"%.*s\" ends before it begins", shown,
                       text.data);
    if (last > max)
        return err_set(ret_err, ERR_LIMIT,
                       "the task index in \"%.*s\" is above %u, the largest allowed", shown,
                       text.data, (unsigned)max);
    if (step > last - first)
        last = first;
    last -= (last - first) % step;
    *ret = (struct idrange){(uint32_t)first, (uint32_t)last, last == first ? 1 : (uint32_t)step};
    return true;
}

/* Of ranges, and of members. */
static int first_compare(const void *pa, const void *pb)
{
    return (*(const uint32_t *)pa > *(const uint32_t *)pb) -
           (*(const uint32_t *)pa < *(const uint32_t *)pb);
}

/* Builds ranges whose extents overlap, member by member. */
static bool interleaved_build(struct builder *b, const struct idrange *r, size_t n,
                              struct err *ret_err)
{
    uint64_t total = 0;
    for (size_t i = 0; i < n; i++)
        total += range_count(&r[i]);
    if (total > b->room)
        return err_set(ret_err, ERR_LIMIT,
                       "index ranges with steps that overlap may have %llu more indexes, not %llu",
                       (unsigned long long)b->room, (unsigned long long)total);
    b->room -= total;
    uint32_t *id = xmalloc(total * sizeof *id);
    size_t at = 0;
    for (size_t i = 0; i < n; i++)
        for (uint64_t k = 0, count = range_count(&r[i]); k < count; k++)
            id[at++] = (uint32_t)(r[i].first + k * r[i].step);
    qsort(id, at, sizeof *id, first_compare);
    for (size_t i = 0; i < at; i++)
        if (i == 0 || id[i] != id[i - 1])
            builder_id(b, id[i]);
    free(id);
    return true;
}

/* Takes the group of ranges from i on whose extents overlap each other; builds it. Returns where
 * the next group begins, 0 on error. */
static size_t group_build(struct builder *b, const struct idset *raw, size_t i, struct err *ret_err)
{
    ASSERT(i < raw->n);
    struct idrange all = raw->range[i];
    bool one = true; /* range: they go on in the same steps */
    size_t end = i + 1;
    for (; end < raw->n && raw->range[end].first <= all.last; end++) {
        const struct idrange *r = &raw->range[end];
        all.step = all.first == all.last ? r->step : all.step;
        one &=
            (r->first - all.first) % all.step == 0 && (r->step == all.step || r->first == r->last);
        all.last = r->last > all.last ? r->last : all.last;
    }
    if (one)
        builder_range(b, all);
    else if (!interleaved_build(b, raw->range + i, end - i, ret_err))
        return 0;
    return end;
}

bool idset_parse_within(struct idset *s, const char *text, uint32_t max, uint64_t *room,
                        struct err *ret_err)
{
    struct idset raw = IDSET_INIT, built = IDSET_INIT;
    struct span rest = span_of(text), piece;
    struct idrange r = {0};
    bool ok = true;
    while (ok && span_next(&rest, ',', &piece)) {
        ok = raw.n < *room ? range_read(span_trim(piece), max, &r, ret_err)
                           : err_set(ret_err, ERR_LIMIT, "one request lists too many ranges");
        if (ok)
            range_push(&raw, r);
    }
    *room -= raw.n;
    if (ok && raw.n > 1)
        qsort(raw.range, raw.n, sizeof raw.range[0], first_compare);
    struct builder b = {.out = &built, .room = *room < MERGE_MAX ? *room : MERGE_MAX};
    *room -= b.room;
    for (size_t i = 0; ok && i < raw.n;)
        ok = (i = group_build(&b, &raw, i, ret_err)) > 0;
    *room += b.room;
    builder_end(&b);
    idset_done(&raw);
    idset_done(ok ? s : &built);
    *s = ok ? built : *s;
    return ok;
}

bool idset_parse(struct idset *s, const char *text, uint32_t max, struct err *ret_err)
{
    return idset_parse_within(s, text, max, &(uint64_t){UINT64_MAX}, ret_err);
}

/* ---- writing ---- */

static void range_format(const struct idrange *r, struct str *out)
{
    bool pair = r->last - r->first == r->step;
    str_add_u64(out, r->first);
    if (r->last == r->first)
        return;
    str_addc(out, pair ? ',' : '-');
    str_add_u64(out, r->last);
    str_add(out, !pair && r->step > 1 ? ":" : "");
    if (!pair && r->step > 1)
        str_add_u64(out, r->step);
}

void idset_format(const struct idset *s, struct str *out)
{
    /* Built anew, so that equal sets read equal whatever was added and deleted in between. */
    struct idset canonical = IDSET_INIT;
    struct builder b = {.out = &canonical};
    for (size_t i = 0; i < s->n; i++)
        builder_range(&b, s->range[i]);
    builder_end(&b);
    for (size_t i = 0; i < canonical.n; i++) {
        str_add(out, i ? "," : "");
        range_format(&canonical.range[i], out);
    }
    idset_done(&canonical);
}

/* ---- single members ---- */

/* How many ranges begin at or before id. */
static size_t ranges_from(const struct idset *s, uint32_t id)
{
    size_t low = 0, high = s->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (s->range[mid].first <= id)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

bool idset_has(const struct idset *s, uint32_t id)
{
    size_t n = ranges_from(s, id);
    if (n == 0)
        return false;
    const struct idrange *r = &s->range[n - 1];
    return id <= r->last && (id - r->first) % r->step == 0;
}

/* Puts the ranges of `with` in the place of those from `begin` up to `end`. */
static void splice(struct idset *s, size_t begin, size_t end, const struct idset *with)
{
    size_t n = s->n - (end - begin) + with->n;
    if (n > s->cap) {
        s->cap = 2 * n;
        s->range = xrealloc(s->range, s->cap * sizeof s->range[0]);
    }
    for (size_t i = begin; i < end; i++)
        s->count -= range_count(&s->range[i]);
    if (s->n > end)
        memmove(s->range + begin + with->n, s->range + end, (s->n - end) * sizeof s->range[0]);
    if (with->n)
        memcpy(s->range + begin, with->range, with->n * sizeof s->range[0]);
    s->n = n;
    s->count += with->count;
}

/* Rebuilds the neighbourhood of id with it (`present`) or without it. */
static void change(struct idset *s, uint32_t id, bool present)
{
    /* Five pieces go in; each pushes out at most three singles and itself. */
    struct idrange space[32];
    struct idset around = {.range = space, .cap = ARRAY_LEN(space)};
    struct builder b = {.out = &around};
    size_t from = ranges_from(s, id); /* the range before this one is the one that id may be in */
    size_t begin = from > 2 ? from - 2 : 0;
    size_t end = from + 1 < s->n ? from + 1 : s->n;
    CHECK(s->range || end == 0);
    for (size_t i = begin; i + 1 < from; i++)
        builder_range(&b, s->range[i]);
    struct idrange *r = from ? &s->range[from - 1] : NULL;
    if (r && r->first < id)
        builder_range(
            &b, (struct idrange){r->first,
                                 id > r->last ? r->last : id - 1 - (id - 1 - r->first) % r->step,
                                 r->step});
    if (present)
        builder_id(&b, id);
    if (r && id < r->last)
        builder_range(&b,
                      (struct idrange){id + r->step - (id - r->first) % r->step, r->last, r->step});
    for (size_t i = from; i < end; i++)
        builder_range(&b, s->range[i]);
    builder_end(&b);
    splice(s, begin, end, &around);
}

void idset_add(struct idset *s, uint32_t id)
{
    if (!idset_has(s, id))
        change(s, id, true);
}

/* Where the last range stands whatever follows: true if these were put behind it. */
static bool append_fast(struct idset *s, uint32_t first, uint32_t last)
{
    struct idrange *r = s->n ? &s->range[s->n - 1] : NULL;
    uint64_t members = r ? range_count(r) : 0;
    if (r && (members < 3 || (members == 3 && r->step > 1)))
        return false;
    if (!r || first - r->last != r->step) {
        range_push(s, (struct idrange){first, last, 1});
        return true;
    }
    if (r->step > 1 && first != last)
        return false;
    r->last = last;
    s->count += (uint64_t)(last - first) + 1;
    return true;
}

void idset_append(struct idset *s, uint32_t first, uint32_t last)
{
    struct idrange space[32];
    struct idset around = {.range = space, .cap = ARRAY_LEN(space)};
    struct builder b = {.out = &around};
    ASSERT(first <= last && (s->n == 0 || first > s->range[s->n - 1].last));
    if (append_fast(s, first, last))
        return;
    size_t begin = s->n > 2 ? s->n - 2 : 0;
    for (size_t i = begin; i < s->n; i++)
        builder_range(&b, s->range[i]);
    builder_range(&b, (struct idrange){first, last, 1});
    builder_end(&b);
    splice(s, begin, s->n, &around);
}

bool idset_del(struct idset *s, uint32_t id)
{
    if (!idset_has(s, id))
        return false;
    change(s, id, false);
    return true;
}

bool idset_first(const struct idset *s, uint32_t *ret_id)
{
    if (s->n == 0)
        return false;
    *ret_id = s->range[0].first;
    return true;
}

bool idset_next(const struct idset *s, uint32_t after, uint32_t *ret_id)
{
    size_t n = ranges_from(s, after);
    if (n > 0 && after < s->range[n - 1].last) {
        const struct idrange *r = &s->range[n - 1];
        *ret_id = after + (r->step - (after - r->first) % r->step);
        return true;
    }
    if (n == s->n)
        return false;
    *ret_id = s->range[n].first;
    return true;
}

/* ---- two sets ---- */

/* Their greatest common divisor; *ret: what `x` must be multiplied with to leave it of `of`. */
static int64_t divisor_of(int64_t x, int64_t of, int64_t *ret)
{
    int64_t rest = of, next = x, k = 0, k_next = 1;
    while (next) {
        int64_t q = rest / next, r = rest - q * next, m = k - q * k_next;
        rest = next;
        next = r;
        k = k_next;
        k_next = m;
    }
    *ret = k < 0 ? k + of : k;
    return rest;
}

/* The members from `from` on that both have: false if there are none. */
static bool ranges_both(const struct idrange *a, const struct idrange *b, uint32_t from,
                        struct idrange *ret)
{
    int64_t low = a->first > b->first ? a->first : b->first, factor;
    int64_t high = a->last < b->last ? a->last : b->last;
    int64_t divisor = divisor_of(a->step, b->step, &factor), apart = (int64_t)b->first - a->first;
    low = low > from ? low : from;
    if (low > high || apart % divisor)
        return false;
    int64_t of = b->step / divisor, every = a->step * of;
    int64_t steps = (apart / divisor % of + of) % of * (factor % of) % of;
    int64_t first = a->first + a->step * steps, missing = low - first;
    first += missing > 0 ? (missing + every - 1) / every * every : missing / every * every;
    if (first > high)
        return false;
    int64_t last = high - (high - first) % every;
    *ret = (struct idrange){(uint32_t)first, (uint32_t)last, first == last ? 1 : (uint32_t)every};
    return true;
}

/* The range that `id` may be in, not before `least`. */
static size_t range_at(const struct idset *s, uint32_t id, size_t least)
{
    size_t n = ranges_from(s, id);
    return n > least + 1 ? n - 1 : least;
}

/* From the ranges i of a and j of b on, which move; over those before the other's begin at once. */
static bool both_next(const struct idset *a, const struct idset *b, uint32_t from, size_t *i,
                      size_t *j, struct idrange *ret)
{
    bool some = false;
    while (!some && *i < a->n && *j < b->n) {
        const struct idrange *x = &a->range[*i], *y = &b->range[*j];
        some = ranges_both(x, y, from, ret);
        if (x->last <= y->last)
            *i = range_at(a, y->first, *i + 1);
        if (y->last <= x->last)
            *j = range_at(b, x->first, *j + 1);
    }
    return some;
}

bool idset_common(const struct idset *a, const struct idset *b, uint32_t from, uint32_t *ret_id)
{
    size_t i = range_at(a, from, 0), j = range_at(b, from, 0);
    struct idrange r;
    bool some = both_next(a, b, from, &i, &j, &r);
    *ret_id = some ? r.first : *ret_id;
    return some;
}

void idset_both(struct idset *to, const struct idset *a, const struct idset *b)
{
    struct idset both = IDSET_INIT;
    struct builder build = {.out = &both};
    struct idrange r;
    for (size_t i = 0, j = 0; both_next(a, b, 0, &i, &j, &r);)
        builder_range(&build, r);
    builder_end(&build);
    idset_done(to);
    *to = both;
}

uint32_t idset_last(const struct idset *s)
{
    return s->n ? s->range[s->n - 1].last : 0;
}
