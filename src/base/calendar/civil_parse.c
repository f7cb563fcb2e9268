/* A text is read piece by piece (a word, a date, a time of day, `now` with an offset) into a struct
 * reading, in any order; what is missing is then filled in from today. Every piece may come
 * once. */
#include "base/alloc.h"
#include "base/calendar/civil.h"
#include "base/duration.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define DAY_SEC INT64_C(86400)
#define SEC_MAX INT64_C(253402300799) /* 9999-12-31T23:59:59 */

static int days_in_month(int year, int month)
{
    ASSERT(month >= 1 && month <= 12);
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return days[month - 1] + (leap && month == 2);
}

struct civil_reading {
    const char *text, *at; /* all of it, what is still to be read */
    long blame;            /* once it is no point in time: where Slurm says the mistake is */
    bool has_date, has_year, has_time, has_sec;
    struct civil when;
    int64_t sec; /* if has_sec: the answer */
    int64_t now_sec;
    struct civil today;
};

static bool blame(struct civil_reading *r, long at)
{
    r->blame = at;
    return false;
}

/* What has been read up to here is out of its range: Slurm takes every number for one of two
 * digits. */
static bool number_blame(struct civil_reading *r, const char *end)
{
    return blame(r, end - r->text - 2);
}

static bool here_blame(struct civil_reading *r)
{
    return blame(r, r->at - r->text);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static void blanks_skip(struct civil_reading *r)
{
    while (is_blank(*r->at))
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
static int digits_take(struct civil_reading *r, size_t count)
{
    ASSERT(digits_count(r->at) >= count);
    int n = 0;
    while (count--)
        n = n * 10 + (*r->at++ - '0');
    return n;
}

/* Takes a number of one or two digits. */
static bool short_take(struct civil_reading *r, int *ret)
{
    size_t n = digits_count(r->at);
    if (n < 1 || n > 2)
        return false;
    *ret = digits_take(r, n);
    return true;
}

static bool word_take(struct civil_reading *r, const char *word)
{
    size_t len = strlen(word);
    if (strncasecmp(r->at, word, len) != 0)
        return false;
    r->at += len;
    return true;
}

static bool month_check(struct civil_reading *r, int month)
{
    return (month >= 1 && month <= 12) || number_blame(r, r->at);
}

static bool day_check(struct civil_reading *r, int day)
{
    return (day >= 1 && day <= 31) || number_blame(r, r->at);
}

static bool date_set(struct civil_reading *r, int year, int month, int day)
{
    if (r->has_date)
        return here_blame(r);
    r->has_date = true;
    r->has_year = year >= 0;
    r->when.year = year;
    r->when.month = month;
    r->when.day = day;
    return true;
}

/* Takes two digits, a number below 60. */
static bool sixty_take(struct civil_reading *r, int *ret)
{
    size_t n = digits_count(r->at);
    if (n < 2) {
        r->at += n;
        return here_blame(r);
    }
    *ret = digits_take(r, 2);
    return *ret < 60 || number_blame(r, r->at);
}

/* Takes a number below `end`. */
static bool clock_number_take(struct civil_reading *r, int end, int *ret)
{
    if (!short_take(r, ret))
        return here_blame(r);
    return *ret < end || number_blame(r, r->at);
}

static bool time_set(struct civil_reading *r, int hour, int minute, int second)
{
    if (r->has_time)
        return here_blame(r);
    r->has_time = true;
    r->when.hour = hour;
    r->when.minute = minute;
    r->when.second = second;
    return true;
}

/* HH:MM[:SS] [AM|PM] */
static bool clock_take(struct civil_reading *r)
{
    int hour, minute, second = 0;
    if (!clock_number_take(r, 24, &hour))
        return false;
    if (*r->at != ':')
        return here_blame(r);
    r->at++;
    if (!sixty_take(r, &minute))
        return false;
    if (*r->at == ':') {
        r->at++;
        if (!sixty_take(r, &second))
            return false;
    }
    blanks_skip(r);
    const char *half = r->at;
    bool am = word_take(r, "AM"), pm = !am && word_take(r, "PM");
    if (am || pm) {
        if (hour > 12)
            return blame(r, half - r->text);
        hour = hour % 12 + (pm ? 12 : 0);
    }
    return time_set(r, hour, minute, second);
}

/* A time of day may be joined to its date with T. */
static bool date_joint_take(struct civil_reading *r)
{
    if (*r->at != 'T' && *r->at != 't')
        return true;
    r->at++;
    return clock_take(r);
}

static int century(int two_digits)
{
    ASSERT(two_digits >= 0 && two_digits < 100);
    return 2000 + two_digits;
}

/* MM/DD[/YY] or MM.DD[.YY]; the year may have four digits. */
static bool date_separated_take(struct civil_reading *r, char separator)
{
    int month, day, year = -1;
    if (!short_take(r, &month) || !month_check(r, month))
        return false;
    r->at++; /* the separator, which is there */
    if (!short_take(r, &day))
        return here_blame(r);
    if (!day_check(r, day))
        return false;
    if (*r->at == separator) {
        r->at++;
        size_t n = digits_count(r->at);
        if (n != 2 && n != 4)
            return blame(r, r->at + n - r->text);
        year = digits_take(r, n);
        year = n == 2 ? century(year) : year;
    }
    return date_set(r, year, month, day) && date_joint_take(r);
}

/* YYYY-MM-DD */
static bool date_iso_take(struct civil_reading *r)
{
    const char *from = r->at;
    int month, day, year = digits_take(r, 4);
    r->at++; /* the '-', which is there */
    if (!short_take(r, &month) || *r->at != '-')
        return blame(r, from - r->text);
    if (!month_check(r, month))
        return false;
    r->at++;
    if (!short_take(r, &day))
        return blame(r, from - r->text);
    return day_check(r, day) && date_set(r, year, month, day) && date_joint_take(r);
}

/* MMDD[YY] */
static bool date_joined_take(struct civil_reading *r, size_t digits)
{
    int month = digits_take(r, 2), day, year = -1;
    if (!month_check(r, month))
        return false;
    day = digits_take(r, 2);
    if (!day_check(r, day))
        return false;
    if (digits == 6)
        year = century(digits_take(r, 2));
    return date_set(r, year, month, day) && date_joint_take(r);
}

/* Seconds since 1970 */
static bool seconds_take(struct civil_reading *r)
{
    size_t n = digits_count(r->at);
    if (n < 1 || n > 12 || r->has_sec)
        return false;
    for (; n; n--)
        r->sec = r->sec * 10 + (*r->at++ - '0');
    r->has_sec = true;
    return r->sec <= SEC_MAX;
}

/* Digits that are nothing: Slurm takes them for a month with a day behind it. */
static bool digits_blame(struct civil_reading *r, size_t n)
{
    if (!month_check(r, digits_take(r, n < 2 ? n : 2)))
        return false;
    return here_blame(r);
}

static bool number_take(struct civil_reading *r)
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
    return n >= 9 && n <= 12 ? seconds_take(r) : digits_blame(r, n);
}

static int64_t unit_take(struct civil_reading *r)
{
    static const struct {
        const char *name;
        int64_t sec;
    } units[] = {{"seconds", 1},
                 {"minutes", 60},
                 {"hours", 3600},
                 {"days", DAY_SEC},
                 {"weeks", 7 * DAY_SEC}};
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
static bool now_take(struct civil_reading *r)
{
    r->has_sec = true;
    r->sec = r->now_sec;
    blanks_skip(r);
    if (*r->at != '+' && *r->at != '-')
        return *r->at == '\0' || here_blame(r);
    int sign = *r->at++ == '-' ? -1 : 1;
    blanks_skip(r);
    size_t n = digits_count(r->at);
    if (n < 1 || n > 11)
        return blame(r, r->at - r->text - 1);
    int64_t count = 0;
    while (n--)
        count = count * 10 + (*r->at++ - '0');
    blanks_skip(r);
    long end = r->at - r->text - 1;
    int64_t unit = unit_take(r);
    if (unit == 0 || count > SEC_MAX / unit)
        return blame(r, end);
    r->sec += sign * count * unit;
    return r->sec <= SEC_MAX || blame(r, end);
}

static bool day_take(struct civil_reading *r, int days_on)
{
    struct civil day = r->today;
    day.day += days_on;
    civil_from_sec(civil_to_sec(&day), &day);
    return date_set(r, day.year, day.month, day.day);
}

static bool name_take(struct civil_reading *r)
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
    if (strncasecmp(r->at, "uts", 3) == 0) {
        r->at += r->at[3] == '=' ? 4 : 3;
        return seconds_take(r);
    }
    return false;
}

/* Between two pieces: blanks, or a '-' ("noon-tomorrow", "16:00-12/25"). */
static void joint_skip(struct civil_reading *r)
{
    if (*r->at == '-' && isalnum((unsigned char)r->at[1]))
        r->at++;
    blanks_skip(r);
}

static bool pieces_take(struct civil_reading *r)
{
    for (blanks_skip(r); *r->at; joint_skip(r)) {
        here_blame(r);
        bool ok = isdigit((unsigned char)*r->at) ? number_take(r) : name_take(r);
        if (!ok)
            return false;
        here_blame(r);
        /* Pieces end at a blank or a joint: "noonfika" and "12:00x" are mistakes. */
        if (*r->at && !is_blank(*r->at) && !is_blank(r->at[-1]) && *r->at != '-')
            return false;
    }
    if (r->has_sec)
        return !r->has_date && !r->has_time;
    return r->has_date || r->has_time;
}

/* Puts today, or the year, where the text names none; the day and the year that make sense for the
 * direction asked for. */
static bool reading_complete(struct civil_reading *r, const struct civil_zone *zone, bool future,
                             int64_t *ret_sec)
{
    bool no_date = !r->has_date, no_year = !r->has_year;
    if (no_date)
        day_take(r, 0);
    else if (no_year)
        r->when.year = r->today.year;
    struct civil *w = &r->when;
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
    struct civil_reading r = {.text = text, .at = text, .now_sec = civil_sec(now_us)};
    zone->sec_to_local(r.now_sec, &r.today);
    bool ok = pieces_take(&r);
    if (ok && !r.has_sec)
        ok = reading_complete(&r, zone, future, &r.sec);
    if (!ok) {
        err_set(ret_err, ERR_INVALID,
                "\"%.60s\" is no point in time: write HH:MM[:SS], YYYY-MM-DD[THH:MM[:SS]], "
                "MM/DD[/YY], MMDD[YY], today, tomorrow, midnight, "
                "noon, teatime, or now+N with seconds, minutes, hours, days or weeks",
                text);
        if (text[0])
            err_lead(ret_err, "Invalid time specification (pos=%ld): %.200s", r.blame, text);
        return false;
    }
    *ret_us = (r.sec < 0 ? 1 : r.sec) * USEC_PER_SEC;
    return true;
}
