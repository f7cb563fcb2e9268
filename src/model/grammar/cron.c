/* The search goes through spells in which clocks are equally far ahead of UTC: in one, local time
 * is a number of minutes that only grows, and the next that fits is found by day, hour and
 * minute. What is peculiar happens between two spells: minutes that are skipped, and minutes that
 * come again. */
#include "model/grammar/cron.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "base/str.h"

#include <string.h>

#define MIN_SEC  60
#define DAY_MIN  1440
#define SHORTEST 28 /* days of a month */
/* The 29th of February is a certain day of the week once in 28 years, and around 2100 in 40: what
 * can be due is, within so many days. */
#define MOST_SEC (INT64_C(41) * 366 * DAY_MIN * MIN_SEC)

/* ---- reading ---- */

struct cron_field {
    const char *what;
    const char *allowed;
    unsigned least, most;
    const char *const *names; /* of least and on; NULL = none */
    size_t name_count;
};

static const char *const month_names[] = {"jan", "feb", "mar", "apr", "may", "jun",
                                          "jul", "aug", "sep", "oct", "nov", "dec"};
static const char *const day_names[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};

enum { MINUTE, HOUR, DAY, MONTH, WEEKDAY, FIELD_COUNT };

static const struct cron_field fields[FIELD_COUNT] = {
    [MINUTE] = {"minute", "0 to 59", 0, 59, NULL, 0},
    [HOUR] = {"hour", "0 to 23", 0, 23, NULL, 0},
    [DAY] = {"day of the month", "1 to 31", 1, 31, NULL, 0},
    [MONTH] = {"month", "1 to 12, or jan to dec", 1, 12, month_names, 12},
    [WEEKDAY] = {"day of the week", "0 to 7 (0 and 7 are Sunday), or sun to sat", 0, 7, day_names,
                 7},
};

static const struct {
    const char *word, *means;
} words[] = {
    {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"},
    {"@weekly", "0 0 * * 0"}, {"@daily", "0 0 * * *"},    {"@midnight", "0 0 * * *"},
    {"@hourly", "0 * * * *"},
};

static bool field_wrong(const struct cron_field *f, struct span text, struct err *e)
{
    return err_set(e, ERR_INVALID,
                   "%s \"%.*s\": %s are known, ranges (2-5), lists (1,4) and steps (*/10)", f->what,
                   (int)(text.len > 60 ? 60 : text.len), text.data, f->allowed);
}

/* A number or a name at the beginning of *at, taken off. */
static bool value_take(const struct cron_field *f, struct span *at, unsigned *ret)
{
    size_t n = 0;
    unsigned value = 0;
    while (n < at->len && at->data[n] >= '0' && at->data[n] <= '9' && n < 4)
        value = value * 10 + (unsigned)(at->data[n++] - '0');
    for (size_t i = 0; !n && at->len >= 3 && i < f->name_count; i++)
        if (span_is_nocase((struct span){at->data, 3}, f->names[i])) {
            value = f->least + (unsigned)i;
            n = 3;
        }
    *at = (struct span){at->data + n, at->len - n};
    *ret = value;
    return n && value >= f->least && value <= f->most;
}

/* The step behind '/', if there is one. */
static bool step_take(const struct cron_field *f, struct span *at, unsigned *ret)
{
    static const struct cron_field number = {"step", "", 1, 9999, NULL, 0};
    *ret = 1;
    if (!at->len || *at->data != '/')
        return true;
    *at = (struct span){at->data + 1, at->len - 1};
    return value_take(&number, at, ret) && *ret <= f->most - f->least + 1;
}

/* "*", "5", "1-5", each with "/2". */
static bool range_read(const struct cron_field *f, struct span piece, uint64_t *bits)
{
    unsigned from = f->least, to = f->most, step;
    bool star = piece.len && *piece.data == '*', range = star;
    if (star)
        piece = (struct span){piece.data + 1, piece.len - 1};
    else if (!value_take(f, &piece, &from))
        return false;
    else if (piece.len && *piece.data == '-') {
        piece = (struct span){piece.data + 1, piece.len - 1};
        range = true;
        if (!value_take(f, &piece, &to) || to < from)
            return false;
    }
    bool stepped = piece.len > 0;
    if (!step_take(f, &piece, &step) || piece.len || (stepped && !range))
        return false;
    if (!range)
        to = from;
    /* The seventh day of '*' is the first again. */
    for (unsigned i = from; i <= to; i += step)
        if (!star || f != &fields[WEEKDAY] || i < 7)
            *bits |= UINT64_C(1) << i;
    return true;
}

static bool field_read(const struct cron_field *f, struct span text, uint64_t *bits, struct err *e)
{
    struct span rest = text, piece;
    *bits = 0;
    if (!text.len || text.data[text.len - 1] == ',')
        return field_wrong(f, text, e);
    while (span_next(&rest, ',', &piece))
        if (!range_read(f, piece, bits))
            return field_wrong(f, text, e);
    return true;
}

static bool day_there(const struct cron *c)
{
    static const unsigned longest[] = {0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (!c->any_weekday)
        return true;
    for (unsigned month = 1; month <= 12; month++)
        for (unsigned day = 1; day <= longest[month]; day++)
            if ((c->months >> month & 1) && (c->days >> day & 1))
                return true;
    return false;
}

static bool fields_read(const char **at, struct cron *ret, struct err *e)
{
    uint64_t bits[FIELD_COUNT];
    bool star[FIELD_COUNT];
    for (int i = 0; i < FIELD_COUNT; i++) {
        *at += strspn(*at, " \t");
        struct span text = {*at, strcspn(*at, " \t\r\n")};
        if (!text.len)
            return err_set(
                e, ERR_INVALID,
                "the %s is missing: five fields stand before the command (minute, hour, day of "
                "the month, month, day of the week), or one of @hourly, @daily, @weekly, "
                "@monthly, @yearly",
                fields[i].what);
        if (!field_read(&fields[i], text, &bits[i], e))
            return false;
        star[i] = *text.data == '*';
        *at += text.len;
    }
    *ret = (struct cron){
        .minutes = bits[MINUTE],
        .hours = (uint32_t)bits[HOUR],
        .days = (uint32_t)bits[DAY],
        .months = (uint32_t)bits[MONTH],
        .weekdays = (uint32_t)((bits[WEEKDAY] | bits[WEEKDAY] >> 7) & 0x7f),
        .any_day = star[DAY],
        .any_weekday = star[WEEKDAY],
        .passing = star[MINUTE] || star[HOUR],
    };
    return day_there(ret) ||
           err_set(e, ERR_INVALID, "it would never be due: no month that is named has such a day");
}

static bool word_read(const char **at, struct cron *ret, struct err *e)
{
    struct span text = {*at, strcspn(*at, " \t\r\n")};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (span_is_nocase(text, words[i].word)) {
            const char *means = words[i].means;
            *at += text.len;
            return fields_read(&means, ret, e);
        }
    if (span_is_nocase(text, "@reboot"))
        return err_set(
            e, ERR_INVALID,
            "@reboot is not known: a cluster has no one boot; @hourly, @daily, @weekly, @monthly "
            "and @yearly are");
    return err_set(e, ERR_INVALID,
                   "%.*s is not known; @hourly, @daily (@midnight), @weekly, @monthly and @yearly "
                   "(@annually) are",
                   (int)(text.len > 40 ? 40 : text.len), text.data);
}

bool cron_parse(const char *text, struct cron *ret, size_t *ret_used, struct err *ret_err)
{
    const char *at = text + strspn(text, " \t");
    if (!(*at == '@' ? word_read(&at, ret, ret_err) : fields_read(&at, ret, ret_err)))
        return false;
    if (ret_used)
        *ret_used = (size_t)(at - text);
    else if (at[strspn(at, " \t")])
        return err_set(ret_err, ERR_INVALID, "there is something behind the five fields");
    return true;
}

/* ---- searching ---- */

/* Minutes of local time since 1970, rounded down. */
static int64_t floor_div(int64_t n, int64_t by)
{
    ASSERT(by > 0);
    return n / by - (n % by < 0);
}

static bool day_fits(const struct cron *c, const struct civil *day)
{
    bool by_day = c->days >> day->day & 1, by_weekday = c->weekdays >> day->weekday & 1;
    if (!(c->months >> day->month & 1))
        return false;
    return c->any_day || c->any_weekday ? by_day && by_weekday : by_day || by_weekday;
}

/* Of one day, from that minute of it on; -1 = none. */
static int64_t minute_of_day(const struct cron *c, int64_t from)
{
    for (int64_t hour = from / 60, minute = from % 60; hour < 24; hour++, minute = 0) {
        if (!(c->hours >> hour & 1))
            continue;
        for (; minute < 60; minute++)
            if (c->minutes >> minute & 1)
                return hour * 60 + minute;
    }
    return -1;
}

/* The first local minute from `from` on, below `below`, that fits; `below` = none does. */
static int64_t local_next(const struct cron *c, int64_t from, int64_t below)
{
    int64_t minute = from;
    while (minute < below) {
        int64_t day = floor_div(minute, DAY_MIN), in_day = -1;
        struct civil date;
        civil_from_sec(day * DAY_MIN * MIN_SEC, &date);
        if (day_fits(c, &date))
            in_day = minute_of_day(c, minute - day * DAY_MIN);
        if (in_day >= 0) {
            int64_t found = day * DAY_MIN + in_day;
            return found < below ? found : below;
        }
        bool month = c->months >> date.month & 1;
        minute = (day + (month || date.day > SHORTEST ? 1 : SHORTEST - date.day + 1)) * DAY_MIN;
    }
    return below;
}

/* The first whole local minute that begins at that moment or later. */
static int64_t local_minute(int64_t sec, int32_t ahead)
{
    return floor_div(sec + ahead + MIN_SEC - 1, MIN_SEC);
}

struct spell {
    int64_t from_sec, to_sec;
    int32_t ahead, before; /* before: how far ahead clocks were until then */
    bool first;            /* nothing changed at its beginning */
};

static struct spell spell_at(const struct zone *z, size_t i)
{
    ASSERT(z->n == 0 || i < z->n);
    struct spell s = {.from_sec = INT64_MIN / 4, .to_sec = INT64_MAX / 4, .first = i == 0};
    if (z->n == 0)
        return s;
    s.ahead = z->rule[i].ahead_sec;
    s.before = i ? z->rule[i - 1].ahead_sec : s.ahead;
    if (i)
        s.from_sec = z->rule[i].from_sec;
    if (i + 1 < z->n)
        s.to_sec = z->rule[i + 1].from_sec;
    return s;
}

/* In that spell, at `from_sec` or later and before `to_sec`; INT64_MAX = not in this one. */
static int64_t next_in(const struct cron *c, const struct spell *s, int64_t from_sec,
                       int64_t to_sec)
{
    int64_t start = from_sec > s->from_sec ? from_sec : s->from_sec;
    bool of_day = !c->passing && !s->first;
    if (of_day && s->ahead > s->before && from_sec <= s->from_sec) {
        int64_t end = local_minute(s->from_sec, s->ahead);
        if (local_next(c, local_minute(s->from_sec, s->before), end) < end)
            return s->from_sec;
    }
    int64_t from = local_minute(start, s->ahead);
    int64_t again = local_minute(s->from_sec, s->before); /* until then they were there before */
    if (of_day && s->ahead < s->before && from < again)
        from = again;
    int64_t below = local_minute(s->to_sec < to_sec ? s->to_sec : to_sec, s->ahead);
    int64_t found = local_next(c, from, below);
    return found < below ? found * MIN_SEC - s->ahead : INT64_MAX;
}

int64_t cron_next(const struct cron *cron, int64_t after_us, const struct zone *z)
{
    int64_t from_sec = civil_sec(after_us) + 1, to_sec = from_sec + MOST_SEC;
    for (size_t i = 0; i == 0 || i < z->n; i++) {
        struct spell s = spell_at(z, i);
        if (s.to_sec <= from_sec || s.from_sec > to_sec)
            continue;
        int64_t sec = next_in(cron, &s, from_sec, to_sec);
        if (sec != INT64_MAX)
            return sec * USEC_PER_SEC;
    }
    return INT64_MAX;
}
