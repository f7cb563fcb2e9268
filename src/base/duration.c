#include "base/duration.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define TIME_HELP "a time limit is written minutes, minutes:seconds, hours:minutes:seconds, days-hours, days-hours:minutes, days-hours:minutes:seconds or UNLIMITED"

/* Reads up to `max` numbers separated by ':'. Returns how many, 0 if the text is anything else. */
static size_t numbers_read(struct span text, int64_t *number, size_t max)
{
    size_t n = 0;
    struct span piece;
    while (span_next(&text, ':', &piece)) {
        if (n == max || piece.len == 0 || piece.len > 12)
            return 0;
        number[n] = 0;
        for (size_t i = 0; i < piece.len; i++) {
            if (!isdigit((unsigned char) piece.data[i]))
                return 0;
            number[n] = number[n] * 10 + (piece.data[i] - '0');
        }
        n++;
    }
    return n;
}

static bool unlimited(const char *text)
{
    return strcasecmp(text, "UNLIMITED") == 0 || strcasecmp(text, "INFINITE") == 0 || strcmp(text, "-1") == 0;
}

/* days, hours, minutes, seconds → µs; false if it does not fit. */
static bool sum(int64_t days, int64_t hours, int64_t minutes, int64_t seconds, int64_t *ret_us)
{
    int64_t total = 0, part;
    const int64_t value[] = {days, hours, minutes, seconds}, unit[] = {USEC_PER_DAY, USEC_PER_HOUR, USEC_PER_MIN, USEC_PER_SEC};
    for (size_t i = 0; i < 4; i++)
        if (__builtin_mul_overflow(value[i], unit[i], &part) || __builtin_add_overflow(total, part, &total))
            return false;
    *ret_us = total;
    return total < TIME_UNLIMITED;
}

static bool limit_parse(const char *text, int64_t *ret_us)
{
    int64_t n[3] = {0}, days;
    const char *dash = strchr(text, '-');
    if (dash) {
        struct span before = {text, (size_t) (dash - text)};
        return numbers_read(before, &days, 1) == 1 && numbers_read(span_of(dash + 1), n, 3) > 0 && sum(days, n[0], n[1], n[2], ret_us);
    }
    switch (numbers_read(span_of(text), n, 3)) {
    case 1:
        return sum(0, 0, n[0], 0, ret_us);
    case 2:
        return sum(0, 0, n[0], n[1], ret_us);
    case 3:
        return sum(0, n[0], n[1], n[2], ret_us);
    }
    return false;
}

bool duration_parse(const char *text, int64_t *ret_us, struct err *ret_err)
{
    struct span s = span_trim(span_of(text ? text : ""));
    char copy[64];
    if (s.len == 0 || s.len >= sizeof copy)
        return err_set(ret_err, ERR_INVALID, "\"%.60s\" is no time limit: " TIME_HELP, text ? text : "");
    memcpy(copy, s.data, s.len);
    copy[s.len] = '\0';
    if (unlimited(copy)) {
        *ret_us = TIME_UNLIMITED;
        return true;
    }
    return limit_parse(copy, ret_us) || err_set(ret_err, ERR_INVALID, "\"%s\" is no time limit: " TIME_HELP, copy);
}

bool duration_parse_lsf(const char *text, int64_t *ret_us, struct err *ret_err)
{
    int64_t n[2] = {0};
    size_t count = text ? numbers_read(span_trim(span_of(text)), n, 2) : 0;
    bool ok = count == 1 ? sum(0, 0, n[0], 0, ret_us) : count == 2 && sum(0, n[0], n[1], 0, ret_us);
    return ok || err_set(ret_err, ERR_INVALID, "\"%.60s\" is no run limit: LSF writes minutes or hours:minutes", text ? text : "");
}

static void two_digits(struct str *out, int64_t n)
{
    str_addc(out, (char) ('0' + n / 10));
    str_addc(out, (char) ('0' + n % 10));
}

static void clock_add(struct str *out, int64_t hours, int64_t minutes, int64_t seconds)
{
    two_digits(out, hours);
    str_addc(out, ':');
    two_digits(out, minutes);
    str_addc(out, ':');
    two_digits(out, seconds);
}

void duration_format(int64_t us, struct str *out)
{
    if (us == TIME_UNLIMITED) {
        str_add(out, "UNLIMITED");
        return;
    }
    int64_t seconds = us > 0 ? us / USEC_PER_SEC : 0, days = seconds / 86400;
    if (days) {
        str_add_i64(out, days);
        str_addc(out, '-');
    }
    clock_add(out, seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
}

void duration_format_short(int64_t us, struct str *out)
{
    int64_t seconds = us > 0 ? us / USEC_PER_SEC : 0;
    if (us == TIME_UNLIMITED || seconds >= 86400) {
        duration_format(us, out);
        return;
    }
    int64_t hours = seconds / 3600, minutes = seconds / 60 % 60;
    if (hours) {
        str_add_i64(out, hours);
        str_addc(out, ':');
        two_digits(out, minutes);
    } else {
        str_add_i64(out, minutes);
    }
    str_addc(out, ':');
    two_digits(out, seconds % 60);
}

/* ---- sizes ---- */

static const char units[] = "KMGTPE";

/* Reads digits[.digits]; thousandths in *ret_milli. Returns what follows, or NULL. */
static const char *decimal_read(const char *text, int64_t *ret_whole, int64_t *ret_milli)
{
    int64_t whole = 0, milli = 0, scale = 100;
    if (!isdigit((unsigned char) *text))
        return NULL;
    for (; isdigit((unsigned char) *text); text++) {
        if (whole > INT64_MAX / 10 - 1)
            return NULL;
        whole = whole * 10 + (*text - '0');
    }
    if (*text == '.') {
        for (text++; isdigit((unsigned char) *text); text++, scale /= 10)
            milli += (*text - '0') * scale;
    }
    *ret_whole = whole;
    *ret_milli = milli;
    return text;
}

static bool size_bad(const char *text, struct err *ret_err)
{
    return err_set(ret_err, ERR_INVALID, "\"%.60s\" is no memory size: it is written as a number of MiB, or with K, M, G or T (\"4G\", \"512M\")", text);
}

bool size_parse_mib(const char *text, int64_t *ret_mib, struct err *ret_err)
{
    struct span s = span_trim(span_of(text ? text : ""));
    char copy[64];
    int64_t whole, milli, kib, more, factor = 1024;
    if (s.len == 0 || s.len >= sizeof copy)
        return size_bad(text ? text : "", ret_err);
    memcpy(copy, s.data, s.len);
    copy[s.len] = '\0';
    const char *rest = decimal_read(copy, &whole, &milli);
    if (!rest)
        return size_bad(copy, ret_err);
    if (*rest) {
        const char *unit = strchr(units, toupper((unsigned char) *rest));
        if (!unit || !*unit)
            return size_bad(copy, ret_err);
        factor = INT64_C(1) << (10 * (unit - units));
        rest++;
        if (*rest == 'i' || *rest == 'I')
            rest++;
        if (*rest == 'b' || *rest == 'B')
            rest++;
    }
    if (*rest || __builtin_mul_overflow(whole, factor, &kib) || __builtin_mul_overflow(milli, factor, &more) ||
        __builtin_add_overflow(kib, (more + 999) / 1000, &kib) || kib > INT64_MAX - 1024)
        return size_bad(copy, ret_err);
    *ret_mib = (kib + 1023) / 1024;
    return true;
}

/* Index in "KMGTPE" of a unit letter, or -1. */
static int unit_index(char unit)
{
    const char *at = unit ? strchr(units, toupper((unsigned char) unit)) : NULL;
    return at ? (int) (at - units) : -1;
}

/* value (in `from` units) in the forced unit, with up to two decimals, zeros cut. */
static void forced_add(struct str *out, int64_t value, int from, int to)
{
    int shift = 10 * (to - from);
    if (shift <= 0) {
        str_add_i64(out, value << -shift);
    } else {
        int64_t whole = value >> shift, rest = value & ((INT64_C(1) << shift) - 1);
        int64_t hundredths = shift > 50 ? (rest >> (shift - 50)) * 100 >> 50 : (rest * 100) >> shift;
        str_add_i64(out, whole);
        if (hundredths) {
            str_addc(out, '.');
            two_digits(out, hundredths);
        }
    }
    str_addc(out, units[to]);
}

void size_format_mib(int64_t mib, char unit, struct str *out)
{
    int to = unit_index(unit), at = 1;
    if (to >= 0) {
        forced_add(out, mib, 1, to);
        return;
    }
    if (mib == 0) {
        str_addc(out, '0');
        return;
    }
    while (mib % 1024 == 0 && at < 5) {
        mib /= 1024;
        at++;
    }
    str_add_i64(out, mib);
    str_addc(out, units[at]);
}

void size_format_bytes(int64_t bytes, char unit, struct str *out)
{
    int to = unit_index(unit), at = 0;
    int64_t kib = (bytes + 1023) / 1024;
    if (bytes == 0) {
        str_addc(out, '0');
        return;
    }
    if (to >= 0) {
        forced_add(out, kib, 0, to);
        return;
    }
    /* The unit in which at least 1000 of the next smaller are left: "1024K" stays, "1536K" too, 10 MiB is "10M". */
    while (at < 5 && (kib >> (10 * at)) >= 10240)
        at++;
    forced_add(out, kib, 0, at);
}

bool count_parse(const char *text, int64_t *ret_count, struct err *ret_err)
{
    int64_t whole = 0, milli = 0, count;
    const char *rest = text ? decimal_read(text, &whole, &milli) : NULL;
    int unit = rest && *rest ? unit_index(*rest) : -1;
    bool ok = rest && milli == 0 && (!*rest || (unit >= 0 && !rest[1]));
    if (ok && unit >= 0)
        ok = !__builtin_mul_overflow(whole, INT64_C(1) << (10 * (unit + 1)), &count);
    else
        count = whole;
    if (!ok)
        return err_set(ret_err, ERR_INVALID, "\"%.60s\" is no count: it is written as a number, or with K, M, G or T for 1024, 1024² …", text ? text : "");
    *ret_count = count;
    return true;
}
