/* A name is a prefix and the number at its end, which may be missing. Reading multiplies brackets
 * out depth first, one buffer for the name under construction. Folding looks at neighbours only:
 * the same prefix shares brackets, the next number with the same padding widens a range. Numbers
 * have at most 18 digits, so that they fit in 64 bits; further digits to the left count as
 * prefix. */
#include "base/hostlist.h"

#include "base/alloc.h"
#include "base/rng.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Of one name, as in DNS; also bounds how deep brackets nest while they are multiplied out. */
#define NAME_BYTES_MAX 255
#define DIGITS_MAX     18
/* Of one expression: each name goes through all of them. A cluster of many dimensions has four. */
#define BRACKETS_MAX 8

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
            return (ptrdiff_t)i;
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
    while (p < end && isdigit((unsigned char)*p)) {
        if (++ret->width > DIGITS_MAX)
            return false;
        ret->value = ret->value * 10 + (uint64_t)(*p++ - '0');
    }
    *at = p;
    return ret->width > 0;
}

/* A list may have a hundred thousand: printf would be most of the time. */
static void number_add(struct str *out, uint64_t value, size_t width)
{
    char digits[DIGITS_MAX + 1];
    ASSERT(width <= sizeof digits);
    size_t at = sizeof digits;
    do
        digits[--at] = (char)('0' + value % 10);
    while (value /= 10);
    while (sizeof digits - at < width)
        digits[--at] = '0';
    str_addn(out, digits + at, sizeof digits - at);
}

static bool expand(struct hostlist *h, struct str *before, const char *rest, size_t len,
                   struct err *ret_err);

/* One range of a bracket: each number with the rest of the expression after the bracket. */
static bool range_expand(struct hostlist *h, struct str *before, const char *text, size_t len,
                         const char *after, size_t after_len, struct err *ret_err)
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
        return err_set(ret_err, ERR_INVALID, "\"%.*s\" is no number or range",
                       (int)(len < 40 ? len : 40), text);
    if (high.value - low.value >= HOSTLIST_MAX)
        return err_set(ret_err, ERR_LIMIT, "a host list names at most %u hosts", HOSTLIST_MAX);
    size_t keep = before->len;
    for (uint64_t n = low.value; ok && n <= high.value; n++) {
        number_add(before, n, low.width);
        ok = expand(h, before, after, after_len, ret_err);
        str_cut(before, keep);
    }
    return ok;
}

static bool bracket_expand(struct hostlist *h, struct str *before, const char *open, size_t len,
                           struct err *ret_err)
{
    const char *close = memchr(open, ']', len);
    if (!close)
        return err_set(ret_err, ERR_INVALID, "\"%.*s\": a bracket is not closed",
                       (int)(len < 60 ? len : 60), open);
    struct span inside = {open + 1, (size_t)(close - open - 1)}, piece;
    size_t after_len = len - (size_t)(close + 1 - open);
    if (!inside.len)
        return err_set(ret_err, ERR_INVALID, "\"[]\" holds no number");
    while (span_next(&inside, ',', &piece)) {
        piece = span_trim(piece);
        if (!range_expand(h, before, piece.data, piece.len, close + 1, after_len, ret_err))
            return false;
    }
    return true;
}

/* May these bytes, which hold no '[', follow `have` bytes in a name? */
static bool plain_check(size_t have, const char *plain, size_t len, struct err *ret_err)
{
    if (have + len > NAME_BYTES_MAX)
        return err_set(ret_err, ERR_LIMIT, "a host name is longer than %d bytes", NAME_BYTES_MAX);
    for (size_t i = 0; i < len; i++) {
        if (plain[i] == ']')
            return err_set(ret_err, ERR_INVALID,
                           "\"%.*s\": a bracket is closed that was not opened", (int)len, plain);
        if ((unsigned char)plain[i] < ' ' || plain[i] == 0x7f)
            return err_set(ret_err, ERR_INVALID,
                           "\"%.*s\": a host name holds no control characters", (int)len, plain);
    }
    return true;
}

/* Adds `before` + every expansion of rest. */
static bool expand(struct hostlist *h, struct str *before, const char *rest, size_t len,
                   struct err *ret_err)
{
    const char *open = len ? memchr(rest, '[', len) : NULL;
    size_t plain = open ? (size_t)(open - rest) : len;
    if (!plain_check(before->len, rest, plain, ret_err))
        return false;
    size_t keep = before->len;
    bool ok = true;
    str_addn(before, rest, plain);
    if (open) {
        ok = bracket_expand(h, before, open, len - plain, ret_err);
    } else if (h->n >= HOSTLIST_MAX) {
        ok = err_set(ret_err, ERR_LIMIT, "a host list names at most %u hosts", HOSTLIST_MAX);
    } else {
        name_push(h, xmemdup(str_text(before), before->len + 1));
    }
    str_cut(before, keep);
    return ok;
}

static bool separates(char c)
{
    return c == ',' || c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool brackets_check(struct span e, struct err *ret_err)
{
    size_t n = 0;
    for (size_t i = 0; i < e.len; i++)
        n += e.data[i] == '[';
    return n <= BRACKETS_MAX ||
           err_set(ret_err, ERR_LIMIT, "\"%.*s…\": a host list has at most %d brackets to a name",
                   (int)(e.len < 40 ? e.len : 40), e.data, BRACKETS_MAX);
}

/* Takes the expression up to the next separator outside brackets; false at the end. */
static bool expression_next(const char **at, struct span *ret)
{
    const char *p = *at;
    while (separates(*p))
        p++;
    ret->data = p;
    for (bool inside = false; *p && (inside || !separates(*p)); p++)
        inside = *p == '[' || (inside && *p != ']');
    ret->len = (size_t)(p - ret->data);
    *at = p;
    return ret->len > 0;
}

bool hostlist_parse(struct hostlist *h, const char *text, struct err *ret_err)
{
    struct span piece;
    struct str before = STR_INIT;
    size_t former = h->n;
    bool ok = true;
    while (ok && expression_next(&text, &piece))
        ok = brackets_check(piece, ret_err) && expand(h, &before, piece.data, piece.len, ret_err);
    while (!ok && h->n > former)
        free(h->name[--h->n]);
    if (!ok && h->n == 0)
        hostlist_done(h); /* a list that was empty owns nothing, as before */
    str_done(&before);
    return ok;
}

/* ---- counting ---- */

/* Of what stands in a bracket. */
static size_t ranges_count(struct span inside, size_t most)
{
    struct span piece;
    size_t n = 0;
    while (n <= most && span_next(&inside, ',', &piece)) {
        piece = span_trim(piece);
        const char *at = piece.data, *end = piece.data + piece.len;
        struct number low, high;
        bool is_range = number_read(&at, end, &low) && at < end && *at++ == '-' &&
                        number_read(&at, end, &high) && high.value >= low.value;
        uint64_t more = is_range ? high.value - low.value + 1 : 1;
        n += more > most ? most + 1 : (size_t)more;
    }
    return n;
}

static size_t expression_count(struct span e, size_t most)
{
    size_t n = 1;
    const char *open, *close;
    while (n <= most && e.len && (open = memchr(e.data, '[', e.len)) &&
           (close = memchr(open, ']', e.len - (size_t)(open - e.data)))) {
        size_t more = ranges_count((struct span){open + 1, (size_t)(close - open - 1)}, most);
        n = more > most ? most + 1 : n * more;
        e.len -= (size_t)(close + 1 - e.data);
        e.data = close + 1;
    }
    return n;
}

size_t hostlist_count(const char *text, size_t most)
{
    ASSERT(most < SIZE_MAX / 2);
    struct span piece;
    size_t n = 0;
    while (n <= most && expression_next(&text, &piece))
        n += expression_count(piece, most);
    return n <= most ? n : most + 1;
}

/* ---- looking for one ---- */

/* Are these digits, as they are written, among what stands in a bracket? */
static bool ranges_have(struct span inside, const char *digits, size_t n)
{
    struct span piece;
    struct number asked, low, high;
    const char *text = digits;
    if (!number_read(&text, digits + n, &asked))
        return false;
    while (span_next(&inside, ',', &piece)) {
        piece = span_trim(piece);
        const char *at = piece.data, *end = piece.data + piece.len;
        if (!number_read(&at, end, &low))
            continue;
        high = low;
        if (at < end && (*at++ != '-' || !number_read(&at, end, &high)))
            continue;
        bool written = n == low.width || (n > low.width && *digits != '0');
        if (written && asked.value >= low.value && asked.value <= high.value)
            return true;
    }
    return false;
}

/* Where in a name, of which so many bytes are `have`, an expression may have come to. */
struct places {
    bool at[NAME_BYTES_MAX + 1];
    size_t have; /* bytes of the name */
};

/* Goes on by a text that stands outside of brackets; false: from nowhere. */
static bool places_plain(struct places *places, const char *name, const char *plain, size_t len)
{
    bool any = false;
    for (size_t i = places->have + 1; i-- > 0;) {
        bool fits = i >= len && places->at[i - len] && memcmp(name + i - len, plain, len) == 0;
        places->at[i] = fits;
        any = any || fits;
    }
    return any;
}

/* Goes on by each number of a bracket; false: from nowhere. */
static bool places_numbers(struct places *places, const char *name, struct span inside)
{
    struct places next = {.have = places->have};
    bool any = false;
    for (size_t i = 0; i <= places->have; i++) {
        size_t digits = places->at[i] ? strspn(name + i, "0123456789") : 0;
        for (size_t n = 1; n <= digits && n <= DIGITS_MAX; n++)
            if (!next.at[i + n] && ranges_have(inside, name + i, n))
                any = next.at[i + n] = true;
    }
    *places = next;
    return any;
}

/* All ways through an expression are gone at once: one by one they double with each bracket. */
static bool expression_has(struct span e, const char *name)
{
    struct places places = {.at = {true}, .have = strnlen(name, NAME_BYTES_MAX + 1)};
    if (places.have > NAME_BYTES_MAX)
        return false;
    for (;;) {
        const char *open = e.len ? memchr(e.data, '[', e.len) : NULL;
        size_t plain = open ? (size_t)(open - e.data) : e.len;
        if (!places_plain(&places, name, e.data, plain))
            return false;
        if (!open)
            return places.at[places.have];
        const char *close = memchr(open, ']', e.len - plain);
        if (!close ||
            !places_numbers(&places, name, (struct span){open + 1, (size_t)(close - open - 1)}))
            return false;
        e = (struct span){close + 1, e.len - (size_t)(close + 1 - e.data)};
    }
}

bool hostlist_text_has(const char *text, const char *name)
{
    ASSERT(text && name);
    struct span piece;
    while (expression_next(&text, &piece))
        if (expression_has(piece, name))
            return true;
    return false;
}

/* ---- order ---- */

struct hostlist_piece {
    const char *name;
    size_t begin, end; /* of the digits at the end of the name */
    uint64_t value;
};

static struct hostlist_piece piece_of(const char *name)
{
    struct hostlist_piece p = {.name = name, .end = strlen(name)};
    uint64_t unit = 1;
    for (p.begin = p.end; p.begin > 0 && p.end - p.begin < DIGITS_MAX; p.begin--) {
        unsigned digit = (unsigned char)name[p.begin - 1] - (unsigned)'0';
        if (digit > 9)
            break;
        p.value += digit * unit;
        unit *= 10;
    }
    return p;
}

static int name_compare(const void *pa, const void *pb)
{
    struct hostlist_piece a = piece_of(*(char *const *)pa), b = piece_of(*(char *const *)pb);
    int order = memcmp(a.name, b.name, a.begin < b.begin ? a.begin : b.begin);
    if (order)
        return order;
    if (a.begin != b.begin)
        return a.begin < b.begin ? -1 : 1;
    if (a.value != b.value)
        return a.value < b.value ? -1 : 1;
    return strcmp(a.name, b.name);
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
        size_t at = (size_t)hash_text(HASH_INIT, h->name[i]) & (size - 1);
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

static bool prefix_equal(const struct hostlist_piece *a, const struct hostlist_piece *b)
{
    return a->begin == b->begin && a->end > a->begin && b->end > b->begin &&
           memcmp(a->name, b->name, a->begin) == 0;
}

static bool padded(const struct hostlist_piece *p)
{
    return p->end - p->begin > 1 && p->name[p->begin] == '0';
}

/* May b follow a in a range? As many digits, or neither starts with a zero: 09-10 and 9-10, but
 * never 09 and 9. */
static bool follows(const struct hostlist_piece *a, const struct hostlist_piece *b)
{
    return b->value == a->value + 1 &&
           (a->end - a->begin == b->end - b->begin || (!padded(a) && !padded(b)));
}

static void range_add(struct str *out, const struct hostlist_piece *first,
                      const struct hostlist_piece *last)
{
    str_addn(out, first->name + first->begin, first->end - first->begin);
    if (last->value != first->value) {
        str_addc(out, '-');
        str_addn(out, last->name + last->begin, last->end - last->begin);
    }
}

/* Writes `head` and the names from i on that share its prefix; `p` is the piece of name i and,
 * after, of the name whose index is returned. */
static size_t brackets_add(const struct hostlist *h, size_t i, const struct hostlist_piece *head,
                           struct hostlist_piece *p, struct str *out)
{
    struct hostlist_piece first = *head, last = *head;
    str_addn(out, head->name, head->begin);
    str_addc(out, '[');
    do {
        if (!follows(&last, p)) {
            range_add(out, &first, &last);
            str_addc(out, ',');
            first = *p;
        }
        last = *p;
        if (++i == h->n)
            break;
        *p = piece_of(h->name[i]);
    } while (prefix_equal(head, p));
    range_add(out, &first, &last);
    str_addc(out, ']');
    return i;
}

void hostlist_fold(const struct hostlist *h, struct str *out)
{
    struct hostlist_piece head, next = {0};
    for (size_t i = 0; i < h->n;) {
        if (i)
            str_addc(out, ',');
        head = i ? next : piece_of(h->name[0]);
        if (++i < h->n)
            next = piece_of(h->name[i]);
        if (i < h->n && prefix_equal(&head, &next))
            i = brackets_add(h, i, &head, &next, out);
        else
            str_addn(out, head.name, head.end);
    }
}
