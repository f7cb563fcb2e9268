/* A string is copied in one piece when it is plain ASCII without escapes, which nearly all of
 * ours are; the slow way handles the rest.
 *
 * Bytes that are no UTF-8. Linux lets names and paths hold any byte but NUL and '/', JSON holds
 * only Unicode. Between our own programs such a byte 0xNN travels as the lone surrogate \udcNN
 * (the way Python's "surrogateescape" does it) and comes out as the byte again. Raw bytes that
 * are no UTF-8 and any other lone surrogate are refused. */
#include "wire/json_in.h"

#include "wire/quote.h"
#include "wire/utf8.h"

#include <stdarg.h>
#include <string.h>

void json_in_begin(struct json_in *in, const char *text, size_t len, struct arena *a,
                   struct err *ret_err)
{
    *in =
        (struct json_in){.start = text, .at = text, .end = text + len, .arena = a, .err = ret_err};
}

bool json_in_fail(struct json_in *in, const char *format, ...)
{
    if (in->failed)
        return false;
    in->failed = true;
    va_list args;
    va_start(args, format);
    err_setv(in->err, ERR_INVALID, format, args);
    va_end(args);
    return false;
}

static bool fail_here(struct json_in *in, const char *expected)
{
    size_t byte = (size_t)(in->at - in->start);
    if (in->at == in->end)
        return json_in_fail(in, "expected %s where the JSON ends (byte %zu)", expected, byte);
    return json_in_fail(in, "expected %s at byte %zu", expected, byte);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

char json_in_peek(struct json_in *in)
{
    while (in->at < in->end && is_blank(*in->at))
        in->at++;
    if (in->failed || in->at == in->end)
        return '\0';
    return *in->at;
}

bool json_in_open(struct json_in *in, char bracket)
{
    if (json_in_peek(in) != bracket)
        return fail_here(in, bracket == '{' ? "an object" : "an array");
    if (in->depth == JSON_DEPTH_MAX)
        return json_in_fail(in, "JSON nested deeper than %u", JSON_DEPTH_MAX);
    in->depth++;
    in->at++;
    return true;
}

bool json_in_more(struct json_in *in, char bracket, bool *first)
{
    if (in->failed)
        return false;
    char c = json_in_peek(in);
    if (c == bracket) {
        in->at++;
        in->depth--;
        return false;
    }
    if (!*first) {
        if (c != ',')
            return fail_here(in, bracket == '}' ? "',' or '}'" : "',' or ']'");
        in->at++;
    }
    *first = false;
    return true;
}

/* ---- strings ---- */

static const char *plain_end(const char *p, const char *end)
{
    while (p < end && !json_escape_of[(unsigned char)*p])
        p++;
    return p;
}

/* What a digit is worth, and 1 more; 0: it is none. */
static const unsigned char hex_worth[256] = {
    ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
    ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
    ['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

static bool hex4(struct json_in *in, uint32_t *ret)
{
    uint32_t n = 0;
    if (in->end - in->at < 4)
        return fail_here(in, "four hexadecimal digits");
    for (int i = 0; i < 4; i++) {
        unsigned worth = hex_worth[(unsigned char)in->at[i]];
        if (!worth)
            return fail_here(in, "four hexadecimal digits");
        n = n << 4 | (worth - 1);
    }
    in->at += 4;
    *ret = n;
    return true;
}

/* After "\u". Returns the bytes put into out[4], 0 on error. */
static size_t take_unicode(struct json_in *in, char *out)
{
    uint32_t c = 0, low = 0;
    if (!hex4(in, &c))
        return 0;
    if (c < 0xd800 || c > 0xdfff)
        return utf8_put(c, out);
    if (c >= 0xdc80 && c <= 0xdcff) { /* a byte that was no UTF-8 */
        out[0] = (char)(c & 0xff);
        return 1;
    }
    if (c < 0xdc00 && in->end - in->at >= 6 && in->at[0] == '\\' && in->at[1] == 'u') {
        in->at += 2;
        if (!hex4(in, &low))
            return 0;
        if (low >= 0xdc00 && low <= 0xdfff)
            return utf8_put(0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00), out);
    }
    json_in_fail(in, "half a surrogate pair before byte %zu", (size_t)(in->at - in->start));
    return 0;
}

/* After the backslash. Returns the bytes put into out[4], 0 on error. */
static size_t take_escape(struct json_in *in, char *out)
{
    static const char letters[] = "\"\\/bfnrt", meaning[] = "\"\\/\b\f\n\r\t";
    if (in->at < in->end && *in->at == 'u') {
        in->at++;
        return take_unicode(in, out);
    }
    const char *letter = in->at < in->end && *in->at ? strchr(letters, *in->at) : NULL;
    if (!letter) {
        fail_here(in, "an escape JSON knows");
        return 0;
    }
    in->at++;
    out[0] = meaning[letter - letters];
    return 1;
}

/* Where the string that starts at p (after its quote) ends: at its closing quote, or at the end of
 * all. */
static const char *string_end(const char *p, const char *end)
{
    for (const char *at = p; (at = memchr(at, '"', (size_t)(end - at))); at++) {
        const char *back = at;
        while (back > p && back[-1] == '\\')
            back--;
        if ((at - back) % 2 == 0)
            return at;
    }
    return end;
}

/* Escapes as control characters have, \u0000 to \u007f, as many as follow one another: a text of a
 * user's may be a megabyte of them. Returns where the next byte goes. */
static char *unescape_ascii(struct json_in *in, char *at)
{
    const char *p = in->at;
    for (; in->end - p >= 6 && memcmp(p, "\\u00", 4) == 0; p += 6) {
        unsigned high = hex_worth[(unsigned char)p[4]], low = hex_worth[(unsigned char)p[5]];
        if (!high || high > 8 || !low)
            break;
        *at++ = (char)((high - 1) << 4 | (low - 1));
    }
    in->at = p;
    return at;
}

/* Unescapes up to the closing quote into out, which is long enough: no escape is shorter than
 * what it means. */
static bool unescape(struct json_in *in, char *out, size_t *ret_len)
{
    char *at = out;
    for (;;) {
        at = unescape_ascii(in, at);
        const char *run = plain_end(in->at, in->end);
        if (run > in->at) { /* escapes follow one another in long texts */
            memcpy(at, in->at, (size_t)(run - in->at));
            at += run - in->at;
            in->at = run;
        }
        if (run == in->end)
            return fail_here(in, "the end of a string");
        if (*run == '"') {
            in->at++;
            *at = '\0';
            *ret_len = (size_t)(at - out);
            return true;
        }
        size_t n;
        if (*run == '\\') {
            in->at++;
            n = take_escape(in, at);
            if (n == 0)
                return false;
        } else {
            n = utf8_take(run, (size_t)(in->end - run));
            if (n == 0 || (unsigned char)*run < 0x20)
                return fail_here(in,
                                 n ? "no bare control character in a string" : "UTF-8 in a string");
            memcpy(at, run, n);
            in->at += n;
        }
        at += n;
    }
}

static bool string_open(struct json_in *in)
{
    if (json_in_peek(in) != '"')
        return fail_here(in, "a string");
    in->at++;
    return true;
}

bool json_in_bytes(struct json_in *in, size_t max, const char **ret, size_t *ret_len)
{
    if (!string_open(in))
        return false;
    const char *from = in->at, *to = plain_end(from, in->end);
    if (to < in->end && *to == '"') {
        *ret_len = (size_t)(to - from);
        in->at = to + 1;
        *ret = *ret_len <= max ? arena_strndup(in->arena, from, *ret_len) : "";
    } else {
        char *copy = arena_alloc(in->arena, (size_t)(string_end(to, in->end) - from) + 1);
        if (!unescape(in, copy, ret_len))
            return false;
        *ret = copy;
    }
    if (*ret_len > max)
        return json_in_fail(in, "a text of %zu bytes; at most %zu are allowed", *ret_len, max);
    return true;
}

bool json_in_text(struct json_in *in, size_t max, const char **ret)
{
    size_t len = 0;
    if (!json_in_bytes(in, max, ret, &len))
        return false;
    if (memchr(*ret, '\0', len))
        return json_in_fail(in, "a text with a NUL character in it");
    return true;
}

bool json_in_word(struct json_in *in, struct span *ret)
{
    if (!string_open(in))
        return false;
    const char *from = in->at, *to = plain_end(from, in->end);
    if (to < in->end && *to == '"') {
        *ret = (struct span){from, (size_t)(to - from)};
        in->at = to + 1;
        return true;
    }
    in->at = from - 1;
    return json_in_bytes(in, SIZE_MAX, &ret->data, &ret->len);
}

bool json_in_key(struct json_in *in, struct span *ret)
{
    if (!json_in_word(in, ret))
        return false;
    if (json_in_peek(in) != ':')
        return fail_here(in, "':'");
    in->at++;
    return true;
}

/* ---- numbers and words ---- */

static bool is_digit(const struct json_in *in)
{
    return in->at < in->end && *in->at >= '0' && *in->at <= '9';
}

bool json_in_number(struct json_in *in, bool *ret_negative, uint64_t *ret)
{
    uint64_t n = 0;
    *ret_negative = json_in_peek(in) == '-';
    const char *from = in->at;
    in->at += *ret_negative;
    if (!is_digit(in)) {
        in->at = from;
        return fail_here(in, "a number");
    }
    bool zero = *in->at == '0';
    for (; is_digit(in); in->at++) {
        uint64_t digit = (uint64_t)(*in->at - '0');
        if (n > (UINT64_MAX - digit) / 10)
            return json_in_fail(in, "number at byte %zu does not fit 64 bits",
                                (size_t)(from - in->start));
        n = n * 10 + digit;
    }
    if (zero && in->at - from - *ret_negative > 1)
        return json_in_fail(in, "number at byte %zu starts with 0", (size_t)(from - in->start));
    if (in->at < in->end && (*in->at == '.' || *in->at == 'e' || *in->at == 'E'))
        return json_in_fail(in, "expected a whole number at byte %zu", (size_t)(from - in->start));
    *ret = n;
    return true;
}

bool json_in_i64(struct json_in *in, int64_t min, int64_t max, int64_t *ret)
{
    bool negative = false;
    uint64_t n = 0;
    if (!json_in_number(in, &negative, &n))
        return false;
    uint64_t most = negative ? (uint64_t)INT64_MAX + 1 : (uint64_t)INT64_MAX;
    int64_t value = n > most ? 0 : negative ? (int64_t)(0 - n) : (int64_t)n;
    if (n > most || value < min || value > max)
        return json_in_fail(in, "number %s%llu is out of range", negative ? "-" : "",
                            (unsigned long long)n);
    *ret = value;
    return true;
}

bool json_in_u64(struct json_in *in, uint64_t max, uint64_t *ret)
{
    bool negative = false;
    uint64_t n = 0;
    if (!json_in_number(in, &negative, &n))
        return false;
    if ((negative && n) || n > max)
        return json_in_fail(in, "number %s%llu is out of range", negative ? "-" : "",
                            (unsigned long long)n);
    *ret = n;
    return true;
}

static bool take_word(struct json_in *in, const char *word)
{
    size_t len = strlen(word);
    if ((size_t)(in->end - in->at) < len || memcmp(in->at, word, len) != 0)
        return fail_here(in, "a JSON value");
    in->at += len;
    return true;
}

bool json_in_bool(struct json_in *in, bool *ret)
{
    char c = json_in_peek(in);
    if (c != 't' && c != 'f')
        return fail_here(in, "true or false");
    if (!take_word(in, c == 't' ? "true" : "false"))
        return false;
    *ret = c == 't';
    return true;
}

bool json_in_null(struct json_in *in)
{
    if (json_in_peek(in) != 'n')
        return fail_here(in, "null");
    return take_word(in, "null");
}

/* ---- what nobody asked for ---- */

static bool skip_digits(struct json_in *in)
{
    if (!is_digit(in))
        return fail_here(in, "a digit");
    while (is_digit(in))
        in->at++;
    return true;
}

static bool skip_number(struct json_in *in)
{
    in->at += *in->at == '-';
    bool zero = is_digit(in) && *in->at == '0';
    const char *from = in->at;
    if (!skip_digits(in))
        return false;
    if (zero && in->at - from > 1)
        return json_in_fail(in, "number at byte %zu starts with 0", (size_t)(from - in->start));
    if (in->at < in->end && *in->at == '.') {
        in->at++;
        if (!skip_digits(in))
            return false;
    }
    if (in->at < in->end && (*in->at == 'e' || *in->at == 'E')) {
        in->at++;
        if (in->at < in->end && (*in->at == '+' || *in->at == '-'))
            in->at++;
        return skip_digits(in);
    }
    return true;
}

/* Checks a string like one that is kept, without keeping it. */
static bool skip_string(struct json_in *in)
{
    char sink[4];
    in->at++;
    for (;;) {
        in->at = plain_end(in->at, in->end);
        if (in->at == in->end)
            return fail_here(in, "the end of a string");
        if (*in->at == '"') {
            in->at++;
            return true;
        }
        if (*in->at == '\\') {
            in->at++;
            if (take_escape(in, sink) == 0)
                return false;
        } else {
            size_t n = utf8_take(in->at, (size_t)(in->end - in->at));
            if (n == 0 || (unsigned char)*in->at < 0x20)
                return fail_here(in,
                                 n ? "no bare control character in a string" : "UTF-8 in a string");
            in->at += n;
        }
    }
}

static bool skip_object(struct json_in *in)
{
    if (!json_in_open(in, '{'))
        return false;
    for (bool first = true; json_in_more(in, '}', &first);) {
        if (json_in_peek(in) != '"')
            return fail_here(in, "a string");
        if (!skip_string(in))
            return false;
        if (json_in_peek(in) != ':')
            return fail_here(in, "':'");
        in->at++;
        if (!json_in_skip(in))
            return false;
    }
    return !in->failed;
}

static bool skip_array(struct json_in *in)
{
    if (!json_in_open(in, '['))
        return false;
    for (bool first = true; json_in_more(in, ']', &first);)
        if (!json_in_skip(in))
            return false;
    return !in->failed;
}

/* Recursive, at most JSON_DEPTH_MAX deep. */
bool json_in_skip(struct json_in *in)
{
    char c = json_in_peek(in);
    if (in->failed)
        return false;
    if (c == '{')
        return skip_object(in);
    if (c == '[')
        return skip_array(in);
    if (c == '"')
        return skip_string(in);
    if (c == '-' || (c >= '0' && c <= '9'))
        return skip_number(in);
    return take_word(in, c == 't' ? "true" : c == 'f' ? "false" : "null");
}

bool json_in_end(struct json_in *in)
{
    if (json_in_peek(in) != '\0' || (in->at != in->end && !in->failed))
        return fail_here(in, "the end");
    return !in->failed;
}
