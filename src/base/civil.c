/* Dates are read by trying the forms of sbatch(1) in turn; each form fills in what it names of a local calendar time, the rest comes from "now". */
#include "base/civil.h"

#include "base/alloc.h"
#include "base/duration.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- calendar ---- */

static int64_t days_from_civil(int64_t y, int m, int d)
{
    y -= m <= 2;
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t yoe = y - era * 400;
    int64_t doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    int64_t doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
    return era * 146097 + doe - 719468;
}

int64_t civil_to_sec(const struct civil *c)
{
    return days_from_civil(c->year, c->month, c->day) * 86400 + c->hour * 3600 + c->minute * 60 + c->second;
}

void civil_from_sec(int64_t sec, struct civil *ret)
{
    int64_t days = sec / 86400, rest = sec % 86400;
    if (rest < 0) {
        rest += 86400;
        days--;
    }
    int64_t z = days + 719468;
    int64_t era = (z >= 0 ? z : z - 146096) / 146097;
    int64_t doe = z - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    int64_t mp = (5 * doy + 2) / 153;
    ret->day = (int) (doy - (153 * mp + 2) / 5 + 1);
    ret->month = (int) (mp < 10 ? mp + 3 : mp - 9);
    ret->year = (int) (yoe + era * 400 + (ret->month <= 2));
    ret->hour = (int) (rest / 3600);
    ret->minute = (int) (rest / 60 % 60);
    ret->second = (int) (rest % 60);
    ret->weekday = (int) (((days + 4) % 7 + 7) % 7);
}

const struct civil_zone civil_utc = {civil_to_sec, civil_from_sec};

static bool leap(int year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int month_days(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month - 1] + (month == 2 && leap(year));
}

static bool civil_valid(const struct civil *c)
{
    return c->year >= 1900 && c->year <= 9999 && c->month >= 1 && c->month <= 12 && c->day >= 1 && c->day <= month_days(c->year, c->month) &&
           c->hour >= 0 && c->hour <= 23 && c->minute >= 0 && c->minute <= 59 && c->second >= 0 && c->second <= 60;
}

/* ---- reading ---- */

struct reader {
    const char *at;
    int64_t now_us;
    const struct civil_zone *zone;
    struct civil today; /* now, in local time */
};

/* Exactly `digits` digits (0: one or two). */
static bool digits_take(struct reader *r, int digits, int *ret)
{
    int n = 0, taken = 0, most = digits ? digits : 2;
    const char *p = r->at;
    while (taken < most && isdigit((unsigned char) *p)) {
        n = n * 10 + (*p++ - '0');
        taken++;
    }
    if (taken == 0 || (digits && taken != digits))
        return false;
    r->at = p;
    *ret = n;
    return true;
}

static bool char_take(struct reader *r, char c)
{
    if (*r->at != c)
        return false;
    r->at++;
    return true;
}

static void blanks_skip(struct reader *r)
{
    while (*r->at == ' ')
        r->at++;
}

static bool word_take(struct reader *r, const char *word)
{
    size_t len = strlen(word);
    if (strncasecmp(r->at, word, len) != 0 || isalpha((unsigned char) r->at[len]))
        return false;
    r->at += len;
    return true;
}

/* HH:MM[:SS][AM|PM] */
static bool clock_take(struct reader *r, struct civil *c)
{
    struct reader before = *r;
    c->second = 0;
    bool ok = digits_take(r, 0, &c->hour) && char_take(r, ':') && digits_take(r, 2, &c->minute);
    if (ok && *r->at == ':') {
        r->at++;
        ok = digits_take(r, 2, &c->second);
    }
    if (!ok) {
        *r = before;
        return false;
    }
    blanks_skip(r);
    bool am = word_take(r, "AM"), pm = !am && word_take(r, "PM");
    if ((am || pm) && (c->hour < 1 || c->hour > 12))
        return false;
    if (am || pm)
        c->hour = c->hour % 12 + (pm ? 12 : 0);
    return true;
}

struct clock_word {
    const char *word;
    int hour;
};

static bool clock_word_take(struct reader *r, struct civil *c)
{
    static const struct clock_word words[] = {{"midnight", 0}, {"noon", 12}, {"elevenses", 11}, {"fika", 15}, {"teatime", 16}};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (word_take(r, words[i].word)) {
            c->hour = words[i].hour;
            c->minute = c->second = 0;
            return true;
        }
    return false;
}

static int full_year(int two)
{
    return two < 69 ? 2000 + two : 1900 + two;
}

/* YYYY-MM-DD */
static bool iso_date_take(struct reader *r, struct civil *c)
{
    struct reader before = *r;
    if (digits_take(r, 4, &c->year) && char_take(r, '-') && digits_take(r, 0, &c->month) && char_take(r, '-') && digits_take(r, 0, &c->day))
        return true;
    *r = before;
    return false;
}

/* MM/DD[/YY] or MM.DD[.YY]; the year may have four digits. */
static bool slash_date_take(struct reader *r, struct civil *c)
{
    struct reader before = *r;
    int month, day, year;
    if (!digits_take(r, 0, &month) || (*r->at != '/' && *r->at != '.')) {
        *r = before;
        return false;
    }
    char sep = *r->at++;
    if (!digits_take(r, 0, &day)) {
        *r = before;
        return false;
    }
    if (char_take(r, sep)) {
        if (digits_take(r, 4, &year))
            c->year = year;
        else if (digits_take(r, 2, &year))
            c->year = full_year(year);
        else
            return false;
    }
    c->month = month;
    c->day = day;
    return true;
}

/* MMDD[YY]: exactly four or six digits. */
static bool compact_date_take(struct reader *r, struct civil *c)
{
    size_t digits = strspn(r->at, "0123456789");
    int year;
    if ((digits != 4 && digits != 6) || r->at[digits] == ':' || r->at[digits] == '-')
        return false;
    digits_take(r, 2, &c->month);
    digits_take(r, 2, &c->day);
    if (digits == 6 && digits_take(r, 2, &year))
        c->year = full_year(year);
    return true;
}

static bool date_take(struct reader *r, struct civil *c)
{
    return iso_date_take(r, c) || slash_date_take(r, c) || compact_date_take(r, c);
}

struct unit_word {
    const char *word;
    int64_t us;
};

static const struct unit_word unit_words[] = {
    {"seconds", USEC_PER_SEC}, {"minutes", USEC_PER_MIN}, {"hours", USEC_PER_HOUR}, {"days", USEC_PER_DAY}, {"weeks", 7 * USEC_PER_DAY},
};

/* After "now": nothing, or ±count[unit]; units may be cut short ("hour", "min", "d"). */
static bool offset_take(struct reader *r, int64_t *ret_us)
{
    int64_t count = 0, unit = USEC_PER_SEC, offset;
    char sign = *r->at;
    *ret_us = r->now_us;
    if (!sign)
        return true;
    if (sign != '+' && sign != '-')
        return false;
    size_t digits = strspn(++r->at, "0123456789");
    if (digits == 0 || digits > 12)
        return false;
    for (; digits; digits--)
        count = count * 10 + (*r->at++ - '0');
    blanks_skip(r);
    size_t letters = strlen(r->at);
    if (letters) {
        unit = 0;
        for (size_t i = 0; i < ARRAY_LEN(unit_words); i++)
            if (letters <= strlen(unit_words[i].word) && strncasecmp(r->at, unit_words[i].word, letters) == 0) {
                unit = unit_words[i].us;
                break;
            }
        r->at += letters;
    }
    if (!unit || __builtin_mul_overflow(count, unit, &offset))
        return false;
    return !__builtin_add_overflow(r->now_us, sign == '+' ? offset : -offset, ret_us);
}

static void day_shift(struct reader *r, struct civil *c, int days)
{
    struct civil noon = r->today;
    noon.hour = 12;
    noon.minute = noon.second = 0;
    civil_from_sec(civil_to_sec(&noon) + days * (int64_t) 86400, &noon);
    c->year = noon.year;
    c->month = noon.month;
    c->day = noon.day;
}

/* A day by name; without a clock time it is the start of that day. */
static bool day_word_take(struct reader *r, struct civil *c)
{
    if (word_take(r, "today"))
        day_shift(r, c, 0);
    else if (word_take(r, "tomorrow"))
        day_shift(r, c, 1);
    else if (word_take(r, "yesterday"))
        day_shift(r, c, -1);
    else
        return false;
    return true;
}

/* A clock time, a date, or both in either order. *ret_dated: a date was named. */
static bool point_take(struct reader *r, struct civil *c, bool *ret_dated)
{
    bool timed = clock_take(r, c) || clock_word_take(r, c);
    blanks_skip(r);
    *ret_dated = *r->at && (date_take(r, c) || day_word_take(r, c));
    if (*ret_dated && !timed && *r->at) {
        if (*r->at != 'T' && *r->at != 't' && *r->at != '-' && *r->at != ' ')
            return false;
        r->at++;
        blanks_skip(r);
        timed = clock_take(r, c) || clock_word_take(r, c);
        if (!timed)
            return false;
    }
    if (!timed)
        c->hour = c->minute = c->second = 0;
    blanks_skip(r);
    return (timed || *ret_dated) && !*r->at;
}

static bool seconds_take(const char *text, int64_t *ret_us)
{
    int64_t sec;
    bool uts = strncasecmp(text, "uts=", 4) == 0;
    const char *digits = uts ? text + 4 : text;
    if ((!uts && strlen(digits) < 9) || !text_to_i64(digits, 0, INT64_MAX / USEC_PER_SEC - 1, &sec))
        return false;
    *ret_us = sec * USEC_PER_SEC;
    return true;
}

bool civil_parse(const char *text, int64_t now_us, const struct civil_zone *zone, bool future, int64_t *ret_us, struct err *ret_err)
{
    struct span s = span_trim(span_of(text ? text : ""));
    char copy[64];
    if (s.len > 0 && s.len < sizeof copy) {
        memcpy(copy, s.data, s.len);
        copy[s.len] = '\0';
        struct reader r = {.at = copy, .now_us = now_us, .zone = zone};
        if (seconds_take(copy, ret_us))
            return true;
        if (strncasecmp(copy, "now", 3) == 0) {
            r.at += 3;
            if (offset_take(&r, ret_us))
                return true;
        } else {
            zone->sec_to_local(now_us / USEC_PER_SEC, &r.today);
            struct civil c = r.today;
            bool dated;
            if (point_take(&r, &c, &dated) && civil_valid(&c)) {
                if (future && !dated && zone->local_to_sec(&c) * USEC_PER_SEC < now_us) {
                    day_shift(&r, &c, 1);
                }
                *ret_us = zone->local_to_sec(&c) * USEC_PER_SEC;
                return true;
            }
        }
    }
    return err_set(ret_err, ERR_INVALID,
                   "\"%.60s\" is no point in time: it is written HH:MM[:SS], YYYY-MM-DD[THH:MM[:SS]], MM/DD[/YY], today, tomorrow, noon, midnight, now "
                   "or now+2hours",
                   text ? text : "");
}

/* ---- writing ---- */

void civil_format_iso(int64_t us, const struct civil_zone *zone, struct str *out)
{
    struct civil c;
    int64_t sec = us / USEC_PER_SEC - (us % USEC_PER_SEC < 0);
    zone->sec_to_local(sec, &c);
    char text[48];
    int len = snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d", c.year, c.month, c.day, c.hour, c.minute, c.second);
    str_addn(out, text, (size_t) len);
}

static const char *const day_names[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
static const char *const month_names[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

static int64_t day_number(const struct civil *c)
{
    return days_from_civil(c->year, c->month, c->day);
}

/* Near times by clock or weekday, others by date: "Today" is left out, as in "14:05", "Tomorr 14:05", "Fri 14:05", "21 Nov 14:05", "2025-11". */
static void relative_add(const struct civil *c, const struct civil *now, struct str *out)
{
    int64_t ahead = day_number(c) - day_number(now);
    if (ahead == -1)
        str_addf(out, "Ystday %02d:%02d", c->hour, c->minute);
    else if (ahead == 0)
        str_addf(out, "%02d:%02d:%02d", c->hour, c->minute, c->second);
    else if (ahead == 1)
        str_addf(out, "Tomorr %02d:%02d", c->hour, c->minute);
    else if (ahead > 1 && ahead < 7)
        str_addf(out, "%s %02d:%02d", day_names[c->weekday], c->hour, c->minute);
    else if (c->year == now->year)
        str_addf(out, "%d %s %02d:%02d", c->day, month_names[c->month - 1], c->hour, c->minute);
    else
        str_addf(out, "%d %s %04d", c->day, month_names[c->month - 1], c->year);
}

static void conversion_add(char letter, const struct civil *c, int64_t sec, struct str *out)
{
    switch (letter) {
    case 'Y': str_addf(out, "%04d", c->year); break;
    case 'y': str_addf(out, "%02d", c->year % 100); break;
    case 'm': str_addf(out, "%02d", c->month); break;
    case 'd': str_addf(out, "%02d", c->day); break;
    case 'e': str_addf(out, "%2d", c->day); break;
    case 'H': str_addf(out, "%02d", c->hour); break;
    case 'M': str_addf(out, "%02d", c->minute); break;
    case 'S': str_addf(out, "%02d", c->second); break;
    case 's': str_add_i64(out, sec); break;
    case 'b': str_add(out, month_names[c->month - 1]); break;
    case 'a': str_add(out, day_names[c->weekday]); break;
    case 'j': str_addf(out, "%03d", (int) (day_number(c) - days_from_civil(c->year, 1, 1) + 1)); break;
    case 'T': str_addf(out, "%02d:%02d:%02d", c->hour, c->minute, c->second); break;
    case 'F': str_addf(out, "%04d-%02d-%02d", c->year, c->month, c->day); break;
    case 'D': str_addf(out, "%02d/%02d/%02d", c->month, c->day, c->year % 100); break;
    case 'R': str_addf(out, "%02d:%02d", c->hour, c->minute); break;
    case '%': str_addc(out, '%'); break;
    default:
        str_addc(out, '%');
        str_addc(out, letter);
    }
}

void civil_format(int64_t us, int64_t now_us, const char *format, const struct civil_zone *zone, struct str *out)
{
    if (text_empty(format) || strcasecmp(format, "standard") == 0) {
        civil_format_iso(us, zone, out);
        return;
    }
    struct civil c, now;
    zone->sec_to_local(us / USEC_PER_SEC, &c);
    if (strcasecmp(format, "relative") == 0) {
        zone->sec_to_local(now_us / USEC_PER_SEC, &now);
        relative_add(&c, &now, out);
        return;
    }
    for (; *format; format++) {
        if (*format == '%' && format[1])
            conversion_add(*++format, &c, us / USEC_PER_SEC, out);
        else
            str_addc(out, *format);
    }
}
