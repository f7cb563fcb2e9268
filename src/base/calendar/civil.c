/* Day numbers follow H. Hinnant's days_from_civil and civil_from_days: years begin in March, so
 * that the leap day is the last day, and 400 years are one era of equal length. */
#include "base/calendar/civil.h"

#include "base/alloc.h"
#include "base/duration.h"

#include <string.h>

#define DAY_SEC 86400

/* ---- dates and seconds ---- */

static int64_t floor_div(int64_t a, int64_t b)
{
    ASSERT(b > 0);
    return a / b - (a % b < 0);
}

int64_t civil_sec(int64_t us)
{
    return floor_div(us, USEC_PER_SEC);
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

/* ---- writing ---- */

static void padded_add(struct str *out, int64_t n, int width, char pad)
{
    ASSERT(width >= 0 && width <= 20);
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
    zone->sec_to_local(civil_sec(us), &c);
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

static const char *const weekdays_whole[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                             "Thursday", "Friday", "Saturday"};
static const char *const months_whole[] = {"January",   "February", "March",    "April",
                                           "May",       "June",     "July",     "August",
                                           "September", "October",  "November", "December"};

static int day_of_year(const struct civil *c)
{
    ASSERT(c->month >= 1 && c->month <= 12);
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

/* Of ISO 8601: the week belongs to the year that has its Thursday. */
static int iso_week(const struct civil *c, int *ret_year)
{
    int from_monday = (c->weekday + 6) % 7;
    struct civil thursday;
    civil_from_sec((day_number(c) - from_monday + 3) * DAY_SEC, &thursday);
    *ret_year = thursday.year;
    return (day_of_year(&thursday) - 1) / 7 + 1;
}

static void offset_add(const struct civil *c, int64_t sec, struct str *out)
{
    int minutes = (int)((civil_to_sec(c) - sec) / 60);
    str_addc(out, minutes < 0 ? '-' : '+');
    minutes = minutes < 0 ? -minutes : minutes;
    padded_add(out, minutes / 60 * 100 + minutes % 60, 4, '0');
}

/* Weeks: which of them, from what day on. */
static bool week_add(char conversion, const struct civil *c, struct str *out)
{
    int year, week = iso_week(c, &year), day = day_of_year(c) - 1;
    switch (conversion) {
    case 'V': padded_add(out, week, 2, '0'); return true;
    case 'G': str_add_i64(out, year); return true;
    case 'g': padded_add(out, year % 100, 2, '0'); return true;
    case 'U': padded_add(out, (day + 7 - c->weekday) / 7, 2, '0'); return true;
    case 'W': padded_add(out, (day + 7 - (c->weekday + 6) % 7) / 7, 2, '0'); return true;
    case 'u': str_add_i64(out, c->weekday ? c->weekday : 7); return true;
    case 'w': str_add_i64(out, c->weekday); return true;
    default: return false;
    }
}

/* As in the C locale, in which all of this program's output is. */
static bool long_form_add(char conversion, const struct civil *c, int64_t sec, struct str *out)
{
    int hour = c->hour % 12 ? c->hour % 12 : 12;
    switch (conversion) {
    case 'A': str_add(out, weekdays_whole[c->weekday]); return true;
    case 'B': str_add(out, months_whole[c->month - 1]); return true;
    case 'h': str_add(out, months[c->month - 1]); return true;
    case 'C': padded_add(out, c->year / 100, 2, '0'); return true;
    case 'I': padded_add(out, hour, 2, '0'); return true;
    case 'l': padded_add(out, hour, 2, ' '); return true;
    case 'k': padded_add(out, c->hour, 2, ' '); return true;
    case 'p': str_add(out, c->hour < 12 ? "AM" : "PM"); return true;
    case 'P': str_add(out, c->hour < 12 ? "am" : "pm"); return true;
    case 'n': str_addc(out, '\n'); return true;
    case 't': str_addc(out, '\t'); return true;
    case 'z':
    case 'Z': offset_add(c, sec, out); return true; /* names of zones are not known here */
    default: return week_add(conversion, c, out);
    }
}

static const char *conversion_means(char conversion)
{
    switch (conversion) {
    case 'c': return "%a %b %e %H:%M:%S %Y";
    case 'r': return "%I:%M:%S %p";
    case 'x': return "%m/%d/%y";
    case 'X': return "%H:%M:%S";
    default: return NULL;
    }
}

static void format_add(const char *format, const struct civil *c, int64_t sec, struct str *out);

/* One conversion of strftime(3). False if it is none. */
static bool conversion_add(char conversion, const struct civil *c, int64_t sec, struct str *out)
{
    const char *means = conversion_means(conversion);
    if (means)
        format_add(means, c, sec, out);
    if (means)
        return true;
    switch (conversion) {
    case 'Y': str_add_i64(out, c->year); return true;
    case 'm': padded_add(out, c->month, 2, '0'); return true;
    case 'd': padded_add(out, c->day, 2, '0'); return true;
    case 'H': padded_add(out, c->hour, 2, '0'); return true;
    case 'M': padded_add(out, c->minute, 2, '0'); return true;
    case 'S': padded_add(out, c->second, 2, '0'); return true;
    case 's': str_add_i64(out, sec); return true;
    case 'y': padded_add(out, c->year % 100, 2, '0'); return true;
    case 'b': str_add(out, months[c->month - 1]); return true;
    case 'a': str_add(out, weekdays[c->weekday]); return true;
    case 'e': padded_add(out, c->day, 2, ' '); return true;
    case 'j': padded_add(out, day_of_year(c), 3, '0'); return true;
    case 'T': clock_add(out, c, true); return true;
    case 'R': clock_add(out, c, false); return true;
    case 'F': date_add(out, c); return true;
    case 'D': us_date_add(out, c); return true;
    case '%': str_addc(out, '%'); return true;
    default: return long_form_add(conversion, c, sec, out);
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
    int64_t sec = civil_sec(us);
    zone->sec_to_local(sec, &c);
    if (text_is_nocase(format, "relative")) {
        zone->sec_to_local(civil_sec(now_us), &now);
        relative_add(&c, &now, out);
    } else if (format && strchr(format, '%')) {
        format_add(format, &c, sec, out);
    } else {
        civil_format_iso(us, zone, out);
    }
}
