#include "base/str.h"

#include "base/alloc.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void str_done(struct str *s)
{
    free(s->data);
    *s = STR_INIT;
}

void str_clear(struct str *s)
{
    s->len = 0;
    if (s->data)
        s->data[0] = '\0';
}

void str_reserve(struct str *s, size_t more)
{
    size_t need = s->len + more + 1;
    CHECK(need > more);
    if (need <= s->cap)
        return;
    size_t cap = s->cap ? s->cap : 64;
    while (cap < need)
        cap *= 2;
    s->data = xrealloc(s->data, cap);
    s->cap = cap;
    s->data[s->len] = '\0';
}

void str_addn(struct str *s, const char *data, size_t len)
{
    str_reserve(s, len);
    if (len)
        memcpy(s->data + s->len, data, len);
    s->len += len;
    s->data[s->len] = '\0';
}

void str_add(struct str *s, const char *text)
{
    if (text)
        str_addn(s, text, strlen(text));
}

void str_addc(struct str *s, char c)
{
    if (s->cap - s->len < 2)
        str_reserve(s, 1);
    s->data[s->len++] = c;
    s->data[s->len] = '\0';
}

void str_addv(struct str *s, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    str_reserve(s, 32);
    size_t room = s->cap - s->len;
    int len = vsnprintf(s->data + s->len, room, format, args);
    CHECK(len >= 0);
    if ((size_t)len >= room) {
        str_reserve(s, (size_t)len);
        vsnprintf(s->data + s->len, (size_t)len + 1, format, again);
    }
    va_end(again);
    s->len += (size_t)len;
}

void str_addf(struct str *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    str_addv(s, format, args);
    va_end(args);
}

void str_add_u64(struct str *s, uint64_t n)
{
    char digits[20];
    size_t at = sizeof digits;
    do
        digits[--at] = (char)('0' + n % 10);
    while (n /= 10);
    str_addn(s, digits + at, sizeof digits - at);
}

void str_add_i64(struct str *s, int64_t n)
{
    if (n < 0)
        str_addc(s, '-');
    str_add_u64(s, n < 0 ? 0 - (uint64_t)n : (uint64_t)n);
}

void str_cut(struct str *s, size_t len)
{
    if (len >= s->len)
        return;
    s->len = len;
    s->data[len] = '\0';
}

const char *str_text(const struct str *s)
{
    return s->data ? s->data : "";
}

char *str_take(struct str *s)
{
    char *text = s->data ? s->data : xstrdup("");
    *s = STR_INIT;
    return text;
}

/* ---- spans ---- */

struct span span_of(const char *text)
{
    return (struct span){text, text ? strlen(text) : 0};
}

static bool blank(char c)
{
    return c == ' ' || c == '\t';
}

struct span span_trim(struct span s)
{
    while (s.len && blank(s.data[0])) {
        s.data++;
        s.len--;
    }
    while (s.len && blank(s.data[s.len - 1]))
        s.len--;
    return s;
}

bool span_is(struct span s, const char *text)
{
    if (s.len == 0)
        return !*text;
    return *text == *s.data && strlen(text) == s.len && memcmp(s.data, text, s.len) == 0;
}

bool span_is_nocase(struct span s, const char *text)
{
    return strlen(text) == s.len && (s.len == 0 || strncasecmp(s.data, text, s.len) == 0);
}

bool span_next(struct span *rest, char sep, struct span *ret_piece)
{
    if (!rest->data)
        return false;
    const char *at = rest->len ? memchr(rest->data, sep, rest->len) : NULL;
    *ret_piece = (struct span){rest->data, at ? (size_t)(at - rest->data) : rest->len};
    if (at) {
        rest->len -= ret_piece->len + 1;
        rest->data = at + 1;
    } else {
        *rest = (struct span){NULL, 0};
    }
    return true;
}

bool text_next(struct span *rest, const char **ret_text)
{
    const char *end = rest->len ? memchr(rest->data, '\0', rest->len) : NULL;
    if (!end)
        return false;
    *ret_text = rest->data;
    rest->len -= (size_t)(end - rest->data) + 1;
    rest->data = end + 1;
    return true;
}

const char *text_value(struct span list, const char *name)
{
    size_t len = strlen(name);
    const char *text;
    while (text_next(&list, &text))
        if (strncmp(text, name, len) == 0 && text[len] == '=')
            return text + len + 1;
    return NULL;
}

/* ---- plain texts ---- */

bool text_is(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

bool text_is_nocase(const char *a, const char *b)
{
    return a == b || (a && b && strcasecmp(a, b) == 0);
}

static size_t digits_of(const char *text)
{
    size_t n = 0;
    while (text[n] >= '0' && text[n] <= '9')
        n++;
    return n;
}

int text_compare_by_number(const char *a, const char *b)
{
    const char *x = a, *y = b;
    while (*x && *y) {
        size_t nx = digits_of(x), ny = digits_of(y);
        if (!nx || !ny) {
            if (*x != *y)
                return (unsigned char)*x < (unsigned char)*y ? -1 : 1;
            x++;
            y++;
            continue;
        }
        for (; nx > 1 && *x == '0'; nx--)
            x++;
        for (; ny > 1 && *y == '0'; ny--)
            y++;
        int order = nx != ny ? (nx < ny ? -1 : 1) : memcmp(x, y, nx);
        if (order)
            return order;
        x += nx;
        y += ny;
    }
    return *x || *y ? (*x ? 1 : -1) : strcmp(a, b);
}

bool text_empty(const char *a)
{
    return !a || !*a;
}

bool text_starts(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool text_starts_nocase(const char *text, const char *prefix)
{
    return strncasecmp(text, prefix, strlen(prefix)) == 0;
}

bool text_to_u64(const char *text, uint64_t max, uint64_t *ret_value)
{
    uint64_t n = 0;
    if (text_empty(text))
        return false;
    for (; *text; text++) {
        if (!isdigit((unsigned char)*text))
            return false;
        uint64_t digit = (uint64_t)(*text - '0');
        if (n > (UINT64_MAX - digit) / 10)
            return false;
        n = n * 10 + digit;
    }
    if (n > max)
        return false;
    *ret_value = n;
    return true;
}

bool text_to_i64(const char *text, int64_t min, int64_t max, int64_t *ret_value)
{
    uint64_t n;
    bool minus = text && *text == '-';
    if (text && (*text == '-' || *text == '+'))
        text++;
    if (!text_to_u64(text, (uint64_t)INT64_MAX + minus, &n))
        return false;
    int64_t value = minus ? (int64_t)(0 - n) : (int64_t)n;
    if (value < min || value > max)
        return false;
    *ret_value = value;
    return true;
}

#define NEAREST_MAX 64

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
    unsigned m = a < b ? a : b;
    return m < c ? m : c;
}

/* Optimal string alignment distance: insert, delete, replace, swap neighbours. Texts of up to
 * NEAREST_MAX letters. */
static unsigned edit_distance(const char *a, size_t an, const char *b, size_t bn)
{
    unsigned before[NEAREST_MAX + 1], last[NEAREST_MAX + 1], now[NEAREST_MAX + 1];
    for (size_t j = 0; j <= bn; j++)
        last[j] = (unsigned)j;
    memcpy(before, last, sizeof before);
    for (size_t i = 1; i <= an; i++) {
        int ca = tolower((unsigned char)a[i - 1]);
        now[0] = (unsigned)i;
        for (size_t j = 1; j <= bn; j++) {
            int cb = tolower((unsigned char)b[j - 1]);
            now[j] = min3(last[j] + 1, now[j - 1] + 1, last[j - 1] + (ca != cb));
            bool swapped = i > 1 && j > 1 && ca == tolower((unsigned char)b[j - 2]) &&
                           tolower((unsigned char)a[i - 2]) == cb;
            if (swapped && before[j - 2] + 1 < now[j])
                now[j] = before[j - 2] + 1;
        }
        memcpy(before, last, sizeof before);
        memcpy(last, now, sizeof last);
    }
    return last[bn];
}

/* How often each letter occurs, whatever its case; some are counted together. */
struct letter_counts {
    unsigned char n[32];
};

static struct letter_counts letters_of(const char *text)
{
    struct letter_counts letters = {{0}};
    for (; *text; text++)
        letters.n[(unsigned char)*text & 31]++;
    return letters;
}

/* The edit distance is at least that: an edit takes one letter away, or brings one, or both. */
static size_t letters_apart(const struct letter_counts *a, const struct letter_counts *b)
{
    size_t lost = 0, come = 0;
    for (size_t i = 0; i < ARRAY_LEN(a->n); i++) {
        lost += (size_t)(a->n[i] > b->n[i] ? a->n[i] - b->n[i] : 0);
        come += (size_t)(b->n[i] > a->n[i] ? b->n[i] - a->n[i] : 0);
    }
    return lost > come ? lost : come;
}

const char *text_nearest(const char *word, const char *const *candidates, size_t count)
{
    const char *best = NULL;
    size_t len = strlen(word);
    size_t best_distance = 0;
    if (len == 0 || len > NEAREST_MAX)
        return NULL;
    struct letter_counts letters = letters_of(word);
    for (size_t i = 0; i < count; i++) {
        size_t other = candidates[i] ? strlen(candidates[i]) : 0;
        if (other == 0 || other > NEAREST_MAX)
            continue;
        size_t longer = len > other ? len : other, at_least = 2 * longer - len - other;
        if (at_least * 3 > longer || (best && at_least >= best_distance))
            continue; /* most are by their length alone, */
        struct letter_counts others = letters_of(candidates[i]);
        at_least = letters_apart(&letters, &others);
        if (at_least * 3 > longer || (best && at_least >= best_distance))
            continue; /* or by their letters */
        size_t distance = edit_distance(word, len, candidates[i], other);
        if (distance * 3 <= longer && (!best || distance < best_distance)) {
            best = candidates[i];
            best_distance = distance;
        }
    }
    return best;
}

/* Does c belong to the set that starts after '['? Moves *pattern past the ']'. A set without end is
 * the letter '[' itself. */
static bool set_has(const char **pattern, char c, bool *ret_is_set)
{
    const char *p = *pattern;
    bool negate = *p == '!' || *p == '^';
    bool found = false, first = true;
    p += negate;
    for (; *p && (first || *p != ']'); first = false) {
        unsigned char low = (unsigned char)*p++, high = low;
        if (*p == '-' && p[1] && p[1] != ']') {
            high = (unsigned char)p[1];
            p += 2;
        }
        found |= (unsigned char)c >= low && (unsigned char)c <= high;
    }
    *ret_is_set = *p == ']';
    if (*ret_is_set)
        *pattern = p + 1;
    return found != negate;
}

/* One step without '*': does the pattern's first element match c? Moves *pattern on. */
static bool glob_one(const char **pattern, char c)
{
    char p = *(*pattern)++;
    bool is_set;
    if (p == '?')
        return true;
    if (p == '[') {
        bool has = set_has(pattern, c, &is_set);
        return is_set ? has : c == '[';
    }
    if (p == '\\' && **pattern)
        p = *(*pattern)++;
    return p == c;
}

bool text_glob(const char *pattern, const char *text)
{
    const char *star = NULL, *star_text = NULL;
    while (*text) {
        const char *next = pattern;
        if (*pattern == '*') {
            star = ++pattern;
            star_text = text;
        } else if (*pattern && glob_one(&next, *text)) {
            pattern = next;
            text++;
        } else if (star) {
            pattern = star;
            text = ++star_text;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}
