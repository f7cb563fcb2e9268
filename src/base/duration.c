#include "base/duration.h"

#include "base/alloc.h"

#include <ctype.h>
#include <string.h>

/* ---- time limits ---- */

#define FIELD_MAX        INT64_C(4294967295)
#define DURATION_MAX_SEC (FIELD_MAX * 60) /* Slurm's own bound: minutes in 32 bits */

static bool field_read(const char **at, int64_t *ret)
{
    const char *p = *at;
    int64_t n = 0;
    for (; isdigit((unsigned char)*p); p++)
        if ((n = n * 10 + (*p - '0')) > FIELD_MAX)
            return false;
    bool some = p != *at;
    *at = p;
    *ret = n;
    return some;
}

/* Reads up to three fields with colons between them and takes the whole text. Returns how many, 0
 * if it is anything else. */
static int fields_read(const char *text, int64_t field[3])
{
    for (int n = 0; n < 3; n++) {
        if (!field_read(&text, &field[n]))
            return 0;
        if (!*text)
            return n + 1;
        if (*text++ != ':')
            return 0;
    }
    return 0;
}

/* Seconds of "[days-]a[:b[:c]]", or -1. With days the fields start at hours; without, one or two
 * fields start at minutes. */
static int64_t limit_seconds(const char *text)
{
    int64_t days = 0, f[3] = {0};
    const char *dash = strchr(text, '-');
    if (dash && (!field_read(&text, &days) || text != dash))
        return -1;
    int n = fields_read(dash ? dash + 1 : text, f);
    if (n == 0)
        return -1;
    if (!dash && n < 3)
        return f[0] * 60 + f[1];
    return days * 86400 + f[0] * 3600 + f[1] * 60 + f[2];
}

bool duration_parse(const char *text, int64_t *ret_us, struct err *ret_err)
{
    if (text_is_nocase(text, "UNLIMITED") || text_is_nocase(text, "INFINITE") ||
        text_is(text, "-1")) {
        *ret_us = TIME_UNLIMITED;
        return true;
    }
    int64_t sec = limit_seconds(text);
    if (sec < 0)
        return err_set(
            ret_err, ERR_INVALID,
            "\"%.60s\" is no time limit: write minutes, minutes:seconds, hours:minutes:seconds, "
            "days-hours, days-hours:minutes, "
            "days-hours:minutes:seconds or UNLIMITED",
            text);
    if (sec > DURATION_MAX_SEC)
        return err_set(ret_err, ERR_LIMIT,
                       "the time limit \"%.60s\" is above %lld days; UNLIMITED sets none", text,
                       (long long)(DURATION_MAX_SEC / 86400));
    *ret_us = sec * USEC_PER_SEC;
    return true;
}

bool duration_parse_lsf(const char *text, int64_t *ret_us, struct err *ret_err)
{
    int64_t f[3] = {0};
    int n = fields_read(text, f);
    if (n != 1 && n != 2)
        return err_set(ret_err, ERR_INVALID,
                       "\"%.60s\" is no LSF run limit: write minutes or hours:minutes", text);
    int64_t min = n == 1 ? f[0] : f[0] * 60 + f[1];
    if (min > FIELD_MAX)
        return err_set(ret_err, ERR_LIMIT, "the run limit \"%.60s\" is above %lld minutes", text,
                       (long long)FIELD_MAX);
    *ret_us = min * USEC_PER_MIN;
    return true;
}

static void two_digits(struct str *out, int64_t n)
{
    ASSERT(n >= 0 && n < 100);
    str_addc(out, (char)('0' + n / 10));
    str_addc(out, (char)('0' + n % 10));
}

void duration_format(int64_t us, struct str *out)
{
    if (us == TIME_UNLIMITED) {
        str_add(out, "UNLIMITED");
        return;
    }
    int64_t sec = us > 0 ? us / USEC_PER_SEC : 0;
    if (sec >= 86400) {
        str_add_i64(out, sec / 86400);
        str_addc(out, '-');
    }
    two_digits(out, sec / 3600 % 24);
    str_addc(out, ':');
    two_digits(out, sec / 60 % 60);
    str_addc(out, ':');
    two_digits(out, sec % 60);
}

void duration_format_short(int64_t us, struct str *out)
{
    int64_t sec = us > 0 ? us / USEC_PER_SEC : 0;
    if (us == TIME_UNLIMITED || sec >= 86400) {
        duration_format(us, out);
        return;
    }
    if (sec >= 3600) {
        str_add_i64(out, sec / 3600);
        str_addc(out, ':');
        two_digits(out, sec / 60 % 60);
    } else {
        str_add_i64(out, sec / 60);
    }
    str_addc(out, ':');
    two_digits(out, sec % 60);
}

void duration_say(int64_t us, struct str *out)
{
    static const struct {
        int64_t sec;
        const char *name;
    } unit[] = {{86400, "d"}, {3600, "h"}, {60, "min"}};
    int64_t sec = us > 0 ? us / USEC_PER_SEC : 0;
    if (us == TIME_UNLIMITED) {
        str_add(out, "unlimited");
        return;
    }
    if (sec < 60) {
        str_addf(out, "%lld s", (long long)sec);
        return;
    }
    const char *between = "";
    for (size_t i = 0; i < sizeof unit / sizeof unit[0]; i++) {
        if (sec >= unit[i].sec) {
            str_addf(out, "%s%lld %s", between, (long long)(sec / unit[i].sec), unit[i].name);
            between = " ";
        }
        sec %= unit[i].sec;
    }
}

bool duration_parse_units(const char *text, int64_t *ret_us, struct err *ret_err)
{
    static const struct {
        char name;
        int64_t us;
    } unit[] = {
        {'d', USEC_PER_DAY}, {'h', USEC_PER_HOUR}, {'m', USEC_PER_MIN}, {'s', USEC_PER_SEC}};
    int64_t sum = 0;
    size_t next = 0;
    const char *p = text + strspn(text, "0123456789");
    if (p == text || !*p || !memchr("dhms", *p, 4))
        return duration_parse(text, ret_us, ret_err);
    for (p = text; *p; p++) {
        int64_t n = 0, part;
        const char *from = p;
        for (; *p >= '0' && *p <= '9'; p++)
            if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *p - '0', &n))
                return err_set(ret_err, ERR_LIMIT, "\"%.60s\" is too long a time", text);
        while (next < sizeof unit / sizeof unit[0] && unit[next].name != *p)
            next++;
        if (p == from || next == sizeof unit / sizeof unit[0])
            return err_set(ret_err, ERR_INVALID,
                           "\"%.60s\" is no time: 2h, 90m and 1d12h are, and all that --time of "
                           "sbatch takes",
                           text);
        if (__builtin_mul_overflow(n, unit[next].us, &part) ||
            __builtin_add_overflow(sum, part, &sum))
            return err_set(ret_err, ERR_LIMIT, "\"%.60s\" is too long a time", text);
        next++;
    }
    *ret_us = sum;
    return true;
}

/* ---- sizes and counts ---- */

static const char size_units[] = "KMGTP";

/* The power of 1024 a unit letter stands for (K is 1), 0 if it is none. */
static int unit_power(char unit)
{
    const char *at = unit ? strchr(size_units, toupper((unsigned char)unit)) : NULL;
    return at ? (int)(at - size_units) + 1 : 0;
}

/* Reads "count[unit]"; *ret_power is 0 without a unit. With `byte_suffix` a B may follow the
 * unit. */
static bool amount_read(const char *text, bool byte_suffix, int64_t *ret_count, int *ret_power)
{
    int64_t n = 0;
    const char *p = text;
    for (; isdigit((unsigned char)*p); p++)
        if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *p - '0', &n))
            return false;
    if (p == text)
        return false;
    *ret_power = unit_power(*p);
    if (*ret_power)
        p++;
    if (byte_suffix && *ret_power && toupper((unsigned char)*p) == 'B')
        p++;
    *ret_count = n;
    return !*p;
}

#define SIZE_MAX_MIB (INT64_MAX >> 20) /* so that bytes fit in 64 bits */

bool size_parse_mib(const char *text, int64_t *ret_mib, struct err *ret_err)
{
    int64_t n;
    int power;
    if (!amount_read(text, true, &n, &power))
        return err_set(
            ret_err, ERR_INVALID,
            "\"%.60s\" is no memory size: write a whole number with K, M, G or T (without one: "
            "M), as in 1500M or 16G",
            text);
    if (power == 0)
        power = 2;
    int64_t most = power < 2 ? SIZE_MAX_MIB << 10 : SIZE_MAX_MIB >> (10 * (power - 2));
    if (n > most)
        return err_set(ret_err, ERR_LIMIT, "the memory size \"%.60s\" is above %lldT", text,
                       (long long)(SIZE_MAX_MIB >> 20));
    *ret_mib = power == 1 ? (n + 1023) / 1024 : n << (10 * (power - 2));
    return true;
}

/* Writes count × 1024^have in the unit 1024^want: whole if it is, else with two decimals. */
static void amount_add(struct str *out, uint64_t count, int have, int want)
{
    int shift = 10 * (want - have);
    if (shift <= 0) {
        str_add_u64(out, count << -shift);
    } else {
        uint64_t whole = count >> shift, rest = count & ((UINT64_C(1) << shift) - 1);
        uint64_t hundredths = ((rest * 100) + (UINT64_C(1) << (shift - 1))) >> shift;
        str_add_u64(out, whole + hundredths / 100);
        if (rest) {
            str_addc(out, '.');
            two_digits(out, (int64_t)(hundredths % 100));
        }
    }
    str_addc(out, size_units[want - 1]);
}

void size_format_mib(int64_t mib, char unit, struct str *out)
{
    if (mib <= 0) {
        str_addc(out, '0');
        return;
    }
    int power = unit_power(unit);
    for (int p = 5; !power; p--)
        if ((mib & ((INT64_C(1) << (10 * (p - 2))) - 1)) == 0)
            power = p;
    amount_add(out, (uint64_t)mib, 2, power);
}

void size_format_bytes(int64_t bytes, char unit, struct str *out)
{
    if (bytes <= 0) {
        str_addc(out, '0');
        return;
    }
    /* Slurm takes the largest unit in which the size is a multiple of a half; smaller than K is not
     * shown. */
    int power = unit_power(unit);
    for (int p = 5; !power && p > 1; p--)
        if (bytes >> (10 * p) && (bytes & ((INT64_C(1) << (10 * p - 1)) - 1)) == 0)
            power = p;
    amount_add(out, (uint64_t)bytes, 0, power ? power : 1);
}

bool count_parse(const char *text, int64_t *ret_count, struct err *ret_err)
{
    int64_t n;
    int power;
    if (!amount_read(text, false, &n, &power))
        return err_set(ret_err, ERR_INVALID,
                       "\"%.60s\" is no count: write a whole number, optionally with K, M, G or T",
                       text);
    if (n > INT64_MAX >> (10 * power))
        return err_set(ret_err, ERR_LIMIT, "the count \"%.60s\" is too large", text);
    *ret_count = n << (10 * power);
    return true;
}
