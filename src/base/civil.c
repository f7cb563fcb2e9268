/* Day numbers follow H. Hinnant's days_from_civil and civil_from_days: years begin in March, so that the leap
 * day is the last day, and 400 years are one era of equal length.
 *
 * civil_parse reads a text piece by piece (a word, a date, a time of day, `now` with an offset) into a struct
 * reading, in any order; what is missing is then filled in from today. Every piece may come once. */
#include "base/civil.h"

#include "base/alloc.h"
#include "base/duration.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define DAY_SEC 86400
#define SEC_MAX INT64_C(253402300799) /* 9999-12-31T23:59:59 */

/* ---- dates and seconds ---- */

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

int64_t civil_to_sec(const struct civil *c)
{
    int64_t year = (int64_t)c->year - (c->month <= 2);
    int64_t era = floor_div(year, 400);
    int64_t year_of_era = year - era * 400;
    int64_t day_of_year = (153 * (c->month + (c->month > 2 ? -3 : 9)) + 2) / 5 + c->day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return (era * 146097 + day_of_era - 719468) * DAY_SEC + c->hour * INT64_C(3600) +
           c->minute * INT64_C(60) + c->second;
}

void civil_from_sec(int64_t sec, struct civil *ret)
{
    int64_t days = floor_div(sec, DAY_SEC);
    int rest = (int)(sec - days * DAY_SEC);
    int64_t z = days + 719468;
    int64_t era = floor_div(z, 146097);
    int64_t doe = z - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int doy = (int)(doe - (365 * yoe + yoe / 4 - yoe / 100));
    int month = (5 * doy + 2) / 153;
    ret->day = doy - (153 * month + 2) / 5 + 1;
    ret->month = month < 10 ? month + 3 : month - 9;
    ret->year = (int)(yoe + era * 400 + (ret->month <= 2));
    ret->hour = rest / 3600;
    ret->minute = rest / 60 % 60;
    ret->second = rest % 60;
    ret->weekday = (int)(days + 4 - floor_div(days + 4, 7) * 7);
}

static int64_t utc_to_sec(const struct civil *local)
{
    return civil_to_sec(local);
}

static void utc_from_sec(int64_t sec, struct civil *ret_local)
{
    civil_from_sec(sec, ret_local);
}

const struct civil_zone civil_utc = {utc_to_sec, utc_from_sec};

static int days_in_month(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return days[month - 1] + (leap && month == 2);
}

/* ---- reading ---- */

struct reading {
    const char *at; /* what is still to be read */
    bool has_date, has_year, has_time, has_sec;
    struct civil when;
    int64_t sec; /* if has_sec: the answer */
    int64_t now_sec;
    struct civil today;
};

static void blanks_skip(struct reading *r)
{
    while (*r->at == ' ' || *r->at == '\t')
        r->at++;
}

static size_t digits_count(const char *at)
{
    size_t n = 0;
    while (isdigit((unsigned char)at[n]))
        n++;
    return n;
}

/* Takes `count` digits, which are there. */
static int digits_take(struct reading *r, size_t count)
{
    int n = 0;
    while (count--)
        n = n * 10 + (*r->at++ - '0');
    return n;
}

/* Takes a number of one or two digits. */
static bool short_take(struct reading *r, int *ret)
{
    size_t n = digits_count(r->at);
    if (n < 1 || n > 2)
        return false;
    *ret = digits_take(r, n);
    return true;
}

static bool word_take(struct reading *r, const char *word)
{
    size_t len = strlen(word);
    if (strncasecmp(r->at, word, len) != 0 || isalpha((unsigned char)r->at[len]))
        return false;
    r->at += len;
    return true;
}

static bool date_set(struct reading *r, int year, int month, int day)
{
    if (r->has_date)
        return false;
    r->has_date = true;
    r->has_year = year >= 0;
    r->when.year = year;
    r->when.month = month;
    r->when.day = day;
    return true;
}

static bool time_set(struct reading *r, int hour, int minute, int second)
{
    if (r->has_time || hour > 23 || minute > 59 || second > 59)
        return false;
    r->has_time = true;
    r->when.hour = hour;
    r->when.minute = minute;
    r->when.second = second;
    return true;
}

/* HH:MM[:SS] [AM|PM] */
static bool clock_take(struct reading *r)
{
    int hour, minute, second = 0;
    if (!short_take(r, &hour) || *r->at++ != ':' || !short_take(r, &minute))
        return false;
    if (*r->at == ':') {
        r->at++;
        if (!short_take(r, &second))
            return false;
    }
    blanks_skip(r);
    bool am = word_take(r, "AM"), pm = !am && word_take(r, "PM");
    if (am || pm) {
        if (hour < 1 || hour > 12)
            return false;
        hour = hour % 12 + (pm ? 12 : 0);
    }
    return time_set(r, hour, minute, second);
}

/* A time of day may be joined to its date with T or -. */
static bool date_joint_take(struct reading *r)
{
    if (((*r->at == 'T' || *r->at == 't') || *r->at == '-') && isdigit((unsigned char)r->at[1])) {
        r->at++;
        return clock_take(r);
    }
    return true;
}

static int century(int two_digits)
{
    return 2000 + two_digits;
}

/* MM/DD[/YY] or MM.DD[.YY]; the year may have four digits. */
static bool date_separated_take(struct reading *r, char separator)
{
    int month, day, year = -1;
    if (!short_take(r, &month) || *r->at++ != separator || !short_take(r, &day))
        return false;
    if (*r->at == separator) {
        r->at++;
        size_t n = digits_count(r->at);
        if (n != 2 && n != 4)
            return false;
        year = digits_take(r, n);
        year = n == 2 ? century(year) : year;
    }
    return date_set(r, year, month, day) && date_joint_take(r);
}

/* YYYY-MM-DD */
static bool date_iso_take(struct reading *r)
{
    int month, day, year = digits_take(r, 4);
    if (*r->at++ != '-' || !short_take(r, &month) || *r->at++ != '-' || !short_take(r, &day))
        return false;
    return date_set(r, year, month, day) && date_joint_take(r);
}

/* MMDD[YY] */
static bool date_joined_take(struct reading *r, size_t digits)
{
    int month = digits_take(r, 2), day = digits_take(r, 2),
        year = digits == 6 ? century(digits_take(r, 2)) : -1;
    return date_set(r, year, month, day) && date_joint_take(r);
}

/* Seconds since 1970 */
static bool seconds_take(struct reading *r)
{
    size_t n = digits_count(r->at);
    if (n < 1 || n > 12 || r->has_sec)
        return false;
    for (; n; n--)
        r->sec = r->sec * 10 + (*r->at++ - '0');
    r->has_sec = true;
    return r->sec <= SEC_MAX;
}

static bool number_take(struct reading *r)
{
    size_t n = digits_count(r->at);
    char after = r->at[n];
    if (n <= 2 && after == ':')
        return clock_take(r);
    if (n <= 2 && (after == '/' || after == '.'))
        return date_separated_take(r, after);
    if (n == 4 && after == '-') {
        /* "1225-16:00" is a day and an hour, "2026-12-25" a day. */
        size_t second = digits_count(r->at + 5);
        return r->at[5 + second] == ':' ? date_joined_take(r, 4) : date_iso_take(r);
    }
    if (n == 4 || n == 6)
        return date_joined_take(r, n);
    return n >= 9 && seconds_take(r);
}

static int64_t unit_take(struct reading *r)
{
    static const struct {
        const char *name;
        int64_t sec;
    } units[] = {{"seconds", 1}, {"minutes", 60}, {"hours", 3600}, {"days", DAY_SEC}, {"weeks", 7 * DAY_SEC}};
    size_t len = 0;
    while (isalpha((unsigned char)r->at[len]))
        len++;
    if (len == 0)
        return 1;
    for (size_t i = 0; i < ARRAY_LEN(units); i++)
        if (len <= strlen(units[i].name) && strncasecmp(r->at, units[i].name, len) == 0) {
            r->at += len;
            return units[i].sec;
        }
    return 0;
}

/* now[{+|-}count[unit]] */
static bool now_take(struct reading *r)
{
    r->has_sec = true;
    r->sec = r->now_sec;
    blanks_skip(r);
    if (*r->at != '+' && *r->at != '-')
        return true;
    int sign = *r->at++ == '-' ? -1 : 1;
    blanks_skip(r);
    size_t n = digits_count(r->at);
    if (n < 1 || n > 11)
        return false;
    int64_t count = 0;
    while (n--)
        count = count * 10 + (*r->at++ - '0');
    blanks_skip(r);
    int64_t unit = unit_take(r);
    if (unit == 0 || count > SEC_MAX / unit)
        return false;
    r->sec += sign * count * unit;
    return r->sec <= SEC_MAX;
}

static bool day_take(struct reading *r, int days_on)
{
    struct civil day = r->today;
    day.day += days_on;
    civil_from_sec(civil_to_sec(&day), &day);
    return date_set(r, day.year, day.month, day.day);
}

static bool name_take(struct reading *r)
{
    static const struct {
        const char *name;
        int hour;
    } hours[] = {{"midnight", 0}, {"elevenses", 11}, {"noon", 12}, {"fika", 15}, {"teatime", 16}};
    static const struct {
        const char *name;
        int days_on;
    } days[] = {{"yesterday", -1}, {"today", 0}, {"tomorrow", 1}};
    for (size_t i = 0; i < ARRAY_LEN(hours); i++)
        if (word_take(r, hours[i].name))
            return time_set(r, hours[i].hour, 0, 0);
    for (size_t i = 0; i < ARRAY_LEN(days); i++)
        if (word_take(r, days[i].name))
            return day_take(r, days[i].days_on) && date_joint_take(r);
    if (word_take(r, "now"))
        return now_take(r);
    if (strncasecmp(r->at, "uts=", 4) == 0) {
        r->at += 4;
        return seconds_take(r);
    }
    return false;
}

static bool pieces_take(struct reading *r)
{
    for (blanks_skip(r); *r->at; blanks_skip(r)) {
        bool ok = isdigit((unsigned char)*r->at) ? number_take(r) : name_take(r);
        if (!ok)
            return false;
        /* Pieces end at a blank: "noonfika" and "12:00x" are mistakes. */
        if (*r->at && *r->at != ' ' && *r->at != '\t' && r->at[-1] != ' ' && r->at[-1] != '\t')
            return false;
    }
    if (r->has_sec)
        return !r->has_date && !r->has_time;
    return r->has_date || r->has_time;
}

/* Puts today, or the year, where the text names none; the day and the year that make sense for the direction
 * asked for. */
static bool reading_complete(struct reading *r, const struct civil_zone *zone, bool future, int64_t *ret_sec)
{
    bool no_date = !r->has_date, no_year = !r->has_year;
    if (no_date)
        day_take(r, 0);
    else if (no_year)
        r->when.year = r->today.year;
    struct civil *w = &r->when;
    if (w->month < 1 || w->month > 12 || w->day < 1)
        return false;
    if (no_year && !no_date) {
        /* 29 February passes this test in every year, and the one below only in the right ones. */
        bool passed = w->day <= days_in_month(2000, w->month) && zone->local_to_sec(w) < r->now_sec;
        if (future && passed)
            w->year++;
        else if (!future && !passed && zone->local_to_sec(w) > r->now_sec)
            w->year--;
    } else if (no_date && future && zone->local_to_sec(w) < r->now_sec) {
        w->day++;
        civil_from_sec(civil_to_sec(w), w);
    }
    if (w->year > 9999 || w->day > days_in_month(w->year, w->month))
        return false;
    *ret_sec = zone->local_to_sec(w);
    return true;
}

bool civil_parse(const char *text, int64_t now_us, const struct civil_zone *zone, bool future,
                 int64_t *ret_us, struct err *ret_err)
{
    struct reading r = {.at = text, .now_sec = floor_div(now_us, USEC_PER_SEC)};
    zone->sec_to_local(r.now_sec, &r.today);
    bool ok = pieces_take(&r);
    if (ok && !r.has_sec)
        ok = reading_complete(&r, zone, future, &r.sec);
    if (!ok)
        return err_set(ret_err, ERR_INVALID,
                       "\"%.60s\" is no point in time: write HH:MM[:SS], YYYY-MM-DD[THH:MM[:SS]], "
                       "MM/DD[/YY], MMDD[YY], today, tomorrow, midnight, "
                       "noon, teatime, or now+N with seconds, minutes, hours, days or weeks",
                       text);
    *ret_us = r.sec * USEC_PER_SEC;
    return true;
}

/* ---- writing ---- */

static void padded_add(struct str *out, int64_t n, int width, char pad)
{
    char digits[20];
    int at = (int)sizeof digits;
    if (n < 0) {
        str_addc(out, '-');
        n = -n;
    }
    do
        digits[--at] = (char)('0' + n % 10);
    while (n /= 10);
    while ((int)sizeof digits - at < width)
        digits[--at] = pad;
    str_addn(out, digits + at, sizeof digits - (size_t)at);
}

static void clock_add(struct str *out, const struct civil *c, bool seconds)
{
    padded_add(out, c->hour, 2, '0');
    str_addc(out, ':');
    padded_add(out, c->minute, 2, '0');
    if (seconds) {
        str_addc(out, ':');
        padded_add(out, c->second, 2, '0');
    }
}

static void date_add(struct str *out, const struct civil *c)
{
    padded_add(out, c->year, 4, '0');
    str_addc(out, '-');
    padded_add(out, c->month, 2, '0');
    str_addc(out, '-');
    padded_add(out, c->day, 2, '0');
}

void civil_format_iso(int64_t us, const struct civil_zone *zone, struct str *out)
{
    struct civil c;
    zone->sec_to_local(floor_div(us, USEC_PER_SEC), &c);
    date_add(out, &c);
    str_addc(out, 'T');
    clock_add(out, &c, true);
}

static const char *const weekdays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

static int64_t day_number(const struct civil *c)
{
    struct civil day = {.year = c->year, .month = c->month, .day = c->day};
    return civil_to_sec(&day) / DAY_SEC;
}

/* squeue(1), SLURM_TIME_FORMAT=relative: shorter the nearer. */
static void relative_add(const struct civil *c, const struct civil *now, struct str *out)
{
    int64_t days = day_number(c) - day_number(now);
    if (days == 0) {
        clock_add(out, c, true);
    } else if (days >= -1 && days < 7) {
        str_add(out, days == 1 ? "Tomorr" : days == -1 ? "Ystday" : weekdays[c->weekday]);
        str_addc(out, ' ');
        clock_add(out, c, false);
    } else {
        str_add_i64(out, c->day);
        str_addc(out, ' ');
        str_add(out, months[c->month - 1]);
        str_addc(out, ' ');
        if (c->year == now->year)
            clock_add(out, c, false);
        else
            str_add_i64(out, c->year);
    }
}

static int day_of_year(const struct civil *c)
{
    struct civil first = {.year = c->year, .month = 1, .day = 1};
    return (int)(day_number(c) - civil_to_sec(&first) / DAY_SEC) + 1;
}

static void us_date_add(struct str *out, const struct civil *c)
{
    padded_add(out, c->month, 2, '0');
    str_addc(out, '/');
    padded_add(out, c->day, 2, '0');
    str_addc(out, '/');
    padded_add(out, c->year % 100, 2, '0');
}

/* One conversion of strftime(3). False if it is not one of ours. */
static bool conversion_add(char conversion, const struct civil *c, int64_t sec, struct str *out)
{
    switch (conversion) {
    case 'Y':
        str_add_i64(out, c->year);
        return true;
    case 'm':
        padded_add(out, c->month, 2, '0');
        return true;
    case 'd':
        padded_add(out, c->day, 2, '0');
        return true;
    case 'H':
        padded_add(out, c->hour, 2, '0');
        return true;
    case 'M':
        padded_add(out, c->minute, 2, '0');
        return true;
    case 'S':
        padded_add(out, c->second, 2, '0');
        return true;
    case 's':
        str_add_i64(out, sec);
        return true;
    case 'y':
        padded_add(out, c->year % 100, 2, '0');
        return true;
    case 'b':
        str_add(out, months[c->month - 1]);
        return true;
    case 'a':
        str_add(out, weekdays[c->weekday]);
        return true;
    case 'e':
        padded_add(out, c->day, 2, ' ');
        return true;
    case 'j':
        padded_add(out, day_of_year(c), 3, '0');
        return true;
    case 'T':
        clock_add(out, c, true);
        return true;
    case 'R':
        clock_add(out, c, false);
        return true;
    case 'F':
        date_add(out, c);
        return true;
    case 'D':
        us_date_add(out, c);
        return true;
    case '%':
        str_addc(out, '%');
        return true;
    default:
        return false;
    }
}

static void format_add(const char *format, const struct civil *c, int64_t sec, struct str *out)
{
    for (; *format; format++) {
        if (*format != '%' || !conversion_add(format[1], c, sec, out))
            str_addc(out, *format);
        else
            format++;
    }
}

void civil_format(int64_t us, int64_t now_us, const char *format, const struct civil_zone *zone,
                  struct str *out)
{
    struct civil c, now;
    int64_t sec = floor_div(us, USEC_PER_SEC);
    zone->sec_to_local(sec, &c);
    if (text_is_nocase(format, "relative")) {
        zone->sec_to_local(floor_div(now_us, USEC_PER_SEC), &now);
        relative_add(&c, &now, out);
    } else if (format && strchr(format, '%')) {
        format_add(format, &c, sec, out);
    } else {
        civil_format_iso(us, zone, out);
    }
}
