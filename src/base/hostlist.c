/* A name splits into a prefix and, where its end (or the part before a domain) is a number, that number. Folding joins neighbours whose text around the last
 * number is equal and whose numbers follow each other with equal padding. */
#include "base/hostlist.h"

#include "base/alloc.h"
#include "base/rng.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define EXPANSION_BYTES_MAX 4096 /* of one name while brackets are multiplied out */

void hostlist_done(struct hostlist *h)
{
    for (size_t i = 0; i < h->n; i++)
        free(h->name[i]);
    free(h->name);
    *h = HOSTLIST_INIT;
}

static void name_push(struct hostlist *h, char *owned)
{
    if (h->n == h->cap) {
        h->cap = h->cap ? 2 * h->cap : 8;
        h->name = xrealloc(h->name, h->cap * sizeof h->name[0]);
    }
    h->name[h->n++] = owned;
}

void hostlist_add(struct hostlist *h, const char *name)
{
    name_push(h, xstrdup(name));
}

ptrdiff_t hostlist_find(const struct hostlist *h, const char *name)
{
    for (size_t i = 0; i < h->n; i++)
        if (strcmp(h->name[i], name) == 0)
            return (ptrdiff_t) i;
    return -1;
}

bool hostlist_has(const struct hostlist *h, const char *name)
{
    return hostlist_find(h, name) >= 0;
}

/* ---- reading ---- */

struct number {
    uint64_t value;
    size_t width; /* digits, with leading zeros */
};

static bool number_read(const char **at, const char *end, struct number *ret)
{
    const char *p = *at;
    *ret = (struct number){0};
    while (p < end && isdigit((unsigned char) *p)) {
        if (++ret->width > 18)
            return false;
        ret->value = ret->value * 10 + (uint64_t) (*p++ - '0');
    }
    *at = p;
    return ret->width > 0;
}

static bool expand(struct hostlist *h, struct str *before, const char *rest, size_t len, size_t max, struct err *ret_err);

/* One range of a bracket: each number with the rest of the expression after the bracket. */
static bool range_expand(struct hostlist *h, struct str *before, const char *text, size_t len, const char *after, size_t after_len, size_t max,
                         struct err *ret_err)
{
    const char *at = text, *end = text + len;
    struct number low, high;
    bool ok = number_read(&at, end, &low);
    high = low;
    if (ok && at < end && *at == '-') {
        at++;
        ok = number_read(&at, end, &high);
    }
    if (!ok || at != end || high.value < low.value)
        return err_set(ret_err, ERR_INVALID, "\"%.*s\" is no number or range", (int) (len < 40 ? len : 40), text);
    if (high.value - low.value >= max)
        return err_set(ret_err, ERR_LIMIT, "a host list names at most %u hosts", HOSTLIST_MAX);
    size_t keep = before->len;
    for (uint64_t n = low.value; ok && n <= high.value; n++) {
        str_addf(before, "%0*llu", (int) low.width, (unsigned long long) n);
        ok = expand(h, before, after, after_len, max, ret_err);
        str_cut(before, keep);
    }
    return ok;
}

static bool bracket_expand(struct hostlist *h, struct str *before, const char *open, size_t len, size_t max, struct err *ret_err)
{
    const char *close = memchr(open, ']', len);
    if (!close)
        return err_set(ret_err, ERR_INVALID, "\"%.*s\": a bracket is not closed", (int) (len < 60 ? len : 60), open);
    struct span inside = {open + 1, (size_t) (close - open - 1)}, piece;
    size_t after_len = len - (size_t) (close + 1 - open);
    if (!inside.len)
        return err_set(ret_err, ERR_INVALID, "\"[]\" holds no number");
    while (span_next(&inside, ',', &piece)) {
        piece = span_trim(piece);
        if (!range_expand(h, before, piece.data, piece.len, close + 1, after_len, max, ret_err))
            return false;
    }
    return true;
}

/* Adds `before` + every expansion of rest. */
static bool expand(struct hostlist *h, struct str *before, const char *rest, size_t len, size_t max, struct err *ret_err)
{
    const char *open = len ? memchr(rest, '[', len) : NULL;
    size_t plain = open ? (size_t) (open - rest) : len;
    if (plain && memchr(rest, ']', plain))
        return err_set(ret_err, ERR_INVALID, "\"%.*s\": a bracket is closed that was not opened", (int) (len < 60 ? len : 60), rest);
    if (before->len + plain > EXPANSION_BYTES_MAX)
        return err_set(ret_err, ERR_LIMIT, "a host name is longer than %d bytes", EXPANSION_BYTES_MAX);
    size_t keep = before->len;
    bool ok = true;
    str_addn(before, rest, plain);
    if (open) {
        ok = bracket_expand(h, before, open, len - plain, max, ret_err);
    } else if (h->n >= max) {
        ok = err_set(ret_err, ERR_LIMIT, "a host list names at most %u hosts", HOSTLIST_MAX);
    } else {
        hostlist_add(h, str_text(before));
    }
    str_cut(before, keep);
    return ok;
}

/* Takes the next expression up to a comma outside brackets. */
static bool expression_next(struct span *rest, struct span *ret)
{
    if (!rest->data)
        return false;
    int depth = 0;
    size_t i = 0;
    for (; i < rest->len; i++) {
        char c = rest->data[i];
        if (c == ',' && depth == 0)
            break;
        depth += (c == '[') - (c == ']');
        if (depth < 0)
            depth = 0;
    }
    *ret = (struct span){rest->data, i};
    *rest = i < rest->len ? (struct span){rest->data + i + 1, rest->len - i - 1} : (struct span){NULL, 0};
    return true;
}

bool hostlist_parse(struct hostlist *h, const char *text, struct err *ret_err)
{
    struct span rest = span_of(text), piece;
    struct str before = STR_INIT;
    size_t former = h->n;
    bool ok = true;
    while (ok && expression_next(&rest, &piece)) {
        piece = span_trim(piece);
        if (piece.len)
            ok = expand(h, &before, piece.data, piece.len, HOSTLIST_MAX, ret_err);
    }
    while (!ok && h->n > former)
        free(h->name[--h->n]);
    str_done(&before);
    return ok;
}

/* ---- order ---- */

/* Where the last run of digits of a name begins and ends; an empty run at the end of names without one. */
static void digits_find(const char *name, size_t *ret_begin, size_t *ret_end)
{
    size_t end = strlen(name);
    while (end > 0 && !isdigit((unsigned char) name[end - 1]))
        end--;
    size_t begin = end;
    while (begin > 0 && isdigit((unsigned char) name[begin - 1]) && end - begin < 18)
        begin--;
    *ret_begin = end ? begin : strlen(name);
    *ret_end = end ? end : strlen(name);
}

static uint64_t digits_value(const char *name, size_t begin, size_t end)
{
    uint64_t n = 0;
    for (size_t i = begin; i < end; i++)
        n = n * 10 + (uint64_t) (name[i] - '0');
    return n;
}

static int name_compare(const void *pa, const void *pb)
{
    const char *a = *(char *const *) pa, *b = *(char *const *) pb;
    size_t ab, ae, bb, be;
    digits_find(a, &ab, &ae);
    digits_find(b, &bb, &be);
    int order = strncmp(a, b, ab < bb ? ab : bb);
    if (order == 0 && ab != bb)
        order = ab < bb ? -1 : 1;
    if (order)
        return order;
    uint64_t an = digits_value(a, ab, ae), bn = digits_value(b, bb, be);
    if (an != bn)
        return an < bn ? -1 : 1;
    return strcmp(a, b);
}

void hostlist_sort(struct hostlist *h)
{
    if (h->n > 1)
        qsort(h->name, h->n, sizeof h->name[0], name_compare);
}

void hostlist_uniq(struct hostlist *h)
{
    size_t size = 16;
    while (size < 2 * h->n)
        size *= 2;
    const char **seen = xcalloc(size, sizeof *seen);
    size_t kept = 0;
    for (size_t i = 0; i < h->n; i++) {
        size_t at = (size_t) hash_text(HASH_INIT, h->name[i]) & (size - 1);
        while (seen[at] && strcmp(seen[at], h->name[i]) != 0)
            at = (at + 1) & (size - 1);
        if (seen[at]) {
            free(h->name[i]);
            continue;
        }
        seen[at] = h->name[i];
        h->name[kept++] = h->name[i];
    }
    h->n = kept;
    free(seen);
}

/* ---- folding ---- */

struct piece {
    const char *name;
    size_t begin, end; /* of the digits */
    uint64_t value;
};

static struct piece piece_of(const char *name)
{
    struct piece p = {.name = name};
    digits_find(name, &p.begin, &p.end);
    p.value = digits_value(name, p.begin, p.end);
    return p;
}

/* Same text around the number? */
static bool around_equal(const struct piece *a, const struct piece *b)
{
    return a->begin == b->begin && a->end > a->begin && b->end > b->begin && memcmp(a->name, b->name, a->begin) == 0 &&
           strcmp(a->name + a->end, b->name + b->end) == 0;
}

/* May b stand in the same range as a (equal padding: written with as many digits, or neither has leading zeros)? */
static bool padding_equal(const struct piece *a, const struct piece *b)
{
    bool a_padded = a->name[a->begin] == '0' && a->end - a->begin > 1, b_padded = b->name[b->begin] == '0' && b->end - b->begin > 1;
    return a->end - a->begin == b->end - b->begin || (!a_padded && !b_padded);
}

static void range_add(struct str *out, const struct piece *first, const struct piece *last)
{
    str_addn(out, first->name + first->begin, first->end - first->begin);
    if (last->value != first->value) {
        str_addc(out, '-');
        str_addn(out, last->name + last->begin, last->end - last->begin);
    }
}

/* Writes the group of names that starts at i and shares brackets; returns where the next one starts. */
static size_t group_add(const struct hostlist *h, size_t i, struct str *out)
{
    struct piece head = piece_of(h->name[i]), first = head, last = head;
    size_t next = i + 1;
    struct str ranges = STR_INIT;
    bool several = false;
    for (; next < h->n; next++) {
        struct piece p = piece_of(h->name[next]);
        if (!around_equal(&head, &p))
            break;
        several = true;
        if (p.value == last.value + 1 && padding_equal(&last, &p)) {
            last = p;
            continue;
        }
        range_add(&ranges, &first, &last);
        str_addc(&ranges, ',');
        first = last = p;
    }
    if (!several) {
        str_add(out, head.name);
        str_done(&ranges);
        return next;
    }
    range_add(&ranges, &first, &last);
    str_addn(out, head.name, head.begin);
    str_addc(out, '[');
    str_addn(out, str_text(&ranges), ranges.len);
    str_addc(out, ']');
    str_add(out, head.name + head.end);
    str_done(&ranges);
    return next;
}

void hostlist_fold(const struct hostlist *h, struct str *out)
{
    for (size_t i = 0; i < h->n;) {
        if (i)
            str_addc(out, ',');
        i = group_add(h, i, out);
    }
}
