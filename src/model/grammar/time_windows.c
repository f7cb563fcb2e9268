#include "model/grammar/time_windows.h"

#include "base/duration.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

#define EVERY_DAY 0x7fu

static const char *const day_names[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};

static int day_of(struct span word)
{
    for (int d = 0; d < 7; d++)
        if (span_is_nocase(word, day_names[d]))
            return d;
    return -1;
}

static bool days_piece(struct span piece, uint32_t *days)
{
    const char *dash = memchr(piece.data, '-', piece.len);
    struct span from = piece, to = piece;
    if (dash) {
        from.len = (size_t)(dash - piece.data);
        to = (struct span){dash + 1, piece.len - from.len - 1};
    }
    int first = day_of(from), last = day_of(to);
    if (first < 0 || last < 0)
        return false;
    for (int d = first;; d = (d + 1) % 7) {
        *days |= 1u << d;
        if (d == last)
            return true;
    }
}

static bool days_parse(const char *text, uint32_t *days)
{
    struct span rest = span_of(text), piece;
    *days = text_is_nocase(text, "daily")      ? EVERY_DAY
            : text_is_nocase(text, "weekdays") ? 0x3eu
            : text_is_nocase(text, "weekend")  ? 0x41u
                                               : 0;
    if (*days)
        return true;
    while (span_next(&rest, ',', &piece))
        if (!days_piece(piece, days))
            return false;
    return true;
}

/* "08:00", "8" */
static bool minute_parse(char *text, int32_t *ret)
{
    uint64_t hour, minute = 0;
    char *colon = strchr(text, ':');
    if (colon)
        *colon = '\0';
    if (!text_to_u64(text, 24, &hour) || (colon && !text_to_u64(colon + 1, 59, &minute)))
        return false;
    *ret = (int32_t)(hour * 60 + minute);
    return *ret <= 24 * 60;
}

static bool span_parse(char *text, struct time_window *w)
{
    char *dash = strchr(text, '-');
    if (!dash)
        return false;
    *dash = '\0';
    return minute_parse(text, &w->from_min) && minute_parse(dash + 1, &w->to_min) &&
           w->from_min < 24 * 60;
}

static bool limit_parse(char *word, struct time_window *w, struct err *ret_err)
{
    char *equals = strchr(word, '=');
    int64_t n;
    if (!equals)
        return err_set(ret_err, ERR_INVALID,
                       "max_nodes=, max_time= or max_jobs_per_user= is expected, not \"%.60s\"",
                       word);
    *equals++ = '\0';
    if (text_is_nocase(word, "max_time"))
        return duration_parse(equals, &w->max_time_us, ret_err);
    if (!text_is_nocase(word, "max_nodes") && !text_is_nocase(word, "max_jobs_per_user"))
        return err_set(
            ret_err, ERR_INVALID,
            "there is no limit \"%.60s\" by time; there are max_nodes, max_time, max_jobs_per_user",
            word);
    if (!text_to_i64(equals, 1, INT32_MAX, &n))
        return err_set(ret_err, ERR_INVALID, "a number above 0 is expected, not \"%.60s\"", equals);
    *(text_is_nocase(word, "max_nodes") ? &w->max_nodes : &w->max_jobs_per_user) = (int32_t)n;
    return true;
}

static bool window_parse(struct span text, struct arena *a, struct time_window *w,
                         struct err *ret_err)
{
    struct span rest = text, piece;
    size_t words = 0;
    while (span_next(&rest, ' ', &piece)) {
        if (!piece.len)
            continue;
        char *word = arena_strndup(a, piece.data, piece.len);
        words++;
        if (words == 1 && !days_parse(word, &w->days))
            return err_set(
                ret_err, ERR_INVALID,
                "daily, weekdays, weekend or days (mon-fri,sun) are expected, not \"%.60s\"", word);
        if (words == 2 && !span_parse(word, w))
            return err_set(ret_err, ERR_INVALID,
                           "a time like 08:00-18:00 is expected, not \"%.60s\"",
                           arena_strndup(a, piece.data, piece.len));
        if (words > 2 && !limit_parse(word, w, ret_err))
            return false;
    }
    return words > 2 ||
           err_set(ret_err, ERR_INVALID,
                   "days, a time and a limit are expected: weekdays 08:00-18:00 max_nodes=2");
}

/* ---- hours of a limit ---- */

#define HOURS_TEXT_MAX 80

bool time_hours_parse(const char *text, struct arena *a, struct time_windows *ret,
                      struct err *ret_err)
{
    const char *blank = text ? strchr(text, ' ') : NULL;
    *ret = (struct time_windows){.v = arena_alloc(a, sizeof ret->v[0])};
    *ret->v = (struct time_window){0};
    if (!blank || strlen(text) > HOURS_TEXT_MAX ||
        !days_parse(arena_strndup(a, text, (size_t)(blank - text)), &ret->v->days) ||
        !span_parse(arena_strdup(a, blank + 1), ret->v))
        return err_set(ret_err, ERR_INVALID,
                       "days and a time are expected, as in mon-fri:8-18 or daily:22:00-06:00, "
                       "not \"%.60s\"",
                       text ? text : "");
    ret->n = 1;
    return true;
}

const char *time_hours_of(const char *text, struct arena *a, struct err *ret_err)
{
    const char *colon = strchr(text, ':');
    struct time_windows w;
    char *days = arena_strndup(a, text, colon ? (size_t)(colon - text) : strlen(text));
    for (char *p = days; *p; p++)
        if (*p >= 'A' && *p <= 'Z')
            *p = (char)(*p - 'A' + 'a');
    if (!time_hours_parse(colon ? arena_printf(a, "%s %s", days, colon + 1) : text, a, &w, ret_err))
        return NULL;
    const struct time_window *o = w.v;
    return arena_printf(a, "%s %02d:%02d-%02d:%02d", days, (int)(o->from_min / 60),
                        (int)(o->from_min % 60), (int)(o->to_min / 60), (int)(o->to_min % 60));
}

bool time_windows_parse(const char *text, struct arena *a, struct time_windows *ret,
                        struct err *ret_err)
{
    struct span rest = span_of(text ? text : ""), piece;
    size_t most = 1;
    for (const char *at = text; at && (at = strchr(at, ';')); at++)
        most++;
    *ret = (struct time_windows){.v = arena_alloc(a, most * sizeof ret->v[0])};
    while (span_next(&rest, ';', &piece)) {
        piece = span_trim(piece);
        if (!piece.len)
            continue;
        ret->v[ret->n] = (struct time_window){0};
        if (!window_parse(piece, a, &ret->v[ret->n++], ret_err))
            return false;
    }
    return true;
}

/* ---- when ---- */

static int64_t day_minute(const struct civil *day, int32_t minutes, const struct zone *z)
{
    struct civil c = {.year = day->year, .month = day->month, .day = day->day};
    int64_t sec = civil_to_sec(&c) + (int64_t)minutes * 60;
    civil_from_sec(sec, &c);
    return zone_us(z, &c);
}

/* Its opening on the local day that is `back` days before `at`, and its closing; false if it does
 * not open then. */
static bool opening(const struct time_window *w, int64_t at_us, int back, const struct zone *z,
                    int64_t *from, int64_t *to)
{
    struct civil c;
    zone_local(z, at_us, &c);
    int64_t noon =
        civil_to_sec(&(struct civil){.year = c.year, .month = c.month, .day = c.day, .hour = 12});
    civil_from_sec(noon - (int64_t)back * 86400, &c);
    if (!(w->days >> c.weekday & 1))
        return false;
    *from = day_minute(&c, w->from_min, z);
    *to = day_minute(&c, w->to_min <= w->from_min ? w->to_min + 24 * 60 : w->to_min, z);
    return true;
}

static bool is_open(const struct time_window *w, int64_t at_us, const struct zone *z)
{
    int64_t from, to;
    for (int back = 0; back <= 1; back++)
        if (opening(w, at_us, back, z, &from, &to) && from <= at_us && at_us < to)
            return true;
    return false;
}

static int32_t lesser(int32_t a, int32_t b)
{
    return a == 0 || (b > 0 && b < a) ? b : a;
}

bool time_windows_open(const struct time_windows *w, int64_t at_us, const struct zone *z)
{
    for (size_t i = 0; i < w->n; i++)
        if (is_open(&w->v[i], at_us, z))
            return true;
    return false;
}

void time_windows_at(const struct time_windows *w, int64_t at_us, const struct zone *z,
                     struct time_window *ret)
{
    *ret = (struct time_window){0};
    for (size_t i = 0; i < w->n; i++) {
        const struct time_window *o = &w->v[i];
        if (!is_open(o, at_us, z))
            continue;
        ret->max_nodes = lesser(ret->max_nodes, o->max_nodes);
        ret->max_jobs_per_user = lesser(ret->max_jobs_per_user, o->max_jobs_per_user);
        if (ret->max_time_us == 0 || (o->max_time_us > 0 && o->max_time_us < ret->max_time_us))
            ret->max_time_us = o->max_time_us;
    }
}

int64_t time_windows_next(const struct time_windows *w, int64_t at_us, const struct zone *z)
{
    int64_t next = INT64_MAX, from, to;
    for (size_t i = 0; i < w->n; i++)
        for (int back = 1; back >= -7; back--) {
            if (!opening(&w->v[i], at_us, back, z, &from, &to))
                continue;
            if (from > at_us && from < next)
                next = from;
            if (to > at_us && to < next)
                next = to;
        }
    return next;
}
