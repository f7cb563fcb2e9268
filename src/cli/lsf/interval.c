#include "cli/lsf/interval.h"

#include "base/calendar/civil.h"
#include "base/duration.h"
#include "cli/program/localtime.h"

#include <string.h>

/* A moment that was written, and how long it lasts: "11/23" is a day. */
struct interval_unit {
    struct civil first, next;
};

static void next_set(struct interval_unit *u, int years, int months, int days, int hours,
                     int minutes)
{
    u->next = u->first;
    u->next.year += years;
    u->next.month += months;
    if (u->next.month > 12) {
        u->next.month = 1;
        u->next.year++;
    }
    int64_t sec = civil_to_sec(&u->next) + days * 86400 + hours * 3600 + minutes * 60;
    civil_from_sec(sec, &u->next);
}

/* "9:00", "9:" */
static bool clock_parse(struct span text, struct interval_unit *u)
{
    const char *colon = memchr(text.data, ':', text.len);
    char hour[8] = "", minute[8] = "";
    int64_t h, m = 0;
    size_t before = (size_t)(colon - text.data), after = text.len - before - 1;
    if (before >= sizeof hour || after >= sizeof minute)
        return false;
    memcpy(hour, text.data, before);
    memcpy(minute, colon + 1, after);
    if (!text_to_i64(hour, 0, 23, &h) || (after && !text_to_i64(minute, 0, 59, &m)))
        return false;
    u->first.hour = (int)h;
    u->first.minute = (int)m;
    next_set(u, 0, 0, 0, after ? 0 : 1, after ? 1 : 0);
    return true;
}

/* Year, month and day, as many of them as there are, the last ones; `month_last`: no day. */
static bool date_parse(const int64_t *n, size_t count, bool month_last, struct interval_unit *u)
{
    size_t day = month_last ? 0 : 1, month = day;
    if (!month_last && count > 0)
        u->first.day = (int)n[count - 1];
    if (count > month)
        u->first.month = (int)n[count - 1 - month];
    if (count > month + 1)
        u->first.year = (int)n[count - 2 - month];
    if (month_last)
        u->first.day = 1;
    return u->first.day >= 1 && u->first.day <= 31 && u->first.month >= 1 && u->first.month <= 12;
}

static bool unit_parse(struct span text, const struct civil *now, struct interval_unit *u)
{
    struct span rest = text, piece;
    int64_t n[4];
    size_t count = 0;
    bool month_last = text.len > 1 && text.data[text.len - 1] == '/', clock = false;
    *u = (struct interval_unit){.first = *now};
    u->first.hour = u->first.minute = u->first.second = 0;
    struct span time = {"", 0};
    while (span_next(&rest, '/', &piece)) {
        char digits[8] = "";
        if (clock)
            return false;
        clock = memchr(piece.data, ':', piece.len) != NULL;
        if (clock)
            time = piece;
        if (clock || (!piece.len && !rest.len))
            continue;
        if (count == 3 || piece.len >= sizeof digits)
            return false;
        memcpy(digits, piece.data, piece.len);
        if (!text_to_i64(digits, 1, 9999, &n[count++]))
            return false;
    }
    if ((!count && !clock) || !date_parse(n, count, month_last, u))
        return false;
    if (clock)
        return !month_last && clock_parse(time, u);
    next_set(u, 0, month_last ? 1 : 0, month_last ? 0 : 1, 0, 0);
    return true;
}

/* ".", ".-2", ".-2/", ".-2:" */
static bool relative_parse(struct span text, int64_t now_us, int64_t *ret_us)
{
    char digits[8] = "";
    int64_t n = 0;
    if (text.len > 1) {
        size_t len = text.len - 2;
        bool hours = text.data[text.len - 1] == ':';
        len -= hours || text.data[text.len - 1] == '/';
        if (text.data[1] != '-' || text.len < 3 || len >= sizeof digits)
            return false;
        memcpy(digits, text.data + 2, len);
        if (!text_to_i64(digits, 0, 99999, &n))
            return false;
        n *= hours ? USEC_PER_HOUR : USEC_PER_DAY;
    }
    *ret_us = now_us - n;
    return true;
}

static bool end_parse(struct span text, int64_t now_us, bool after, int64_t *ret_us)
{
    struct civil now;
    struct interval_unit u;
    if (text.len && text.data[0] == '.')
        return relative_parse(text, now_us, ret_us);
    civil_local.sec_to_local(civil_sec(now_us), &now);
    if (!unit_parse(text, &now, &u))
        return false;
    *ret_us = civil_local.local_to_sec(after ? &u.next : &u.first) * USEC_PER_SEC;
    return true;
}

bool lsf_interval_parse(const char *text, int64_t now_us, struct lsf_interval *ret,
                        struct err *ret_err)
{
    const char *comma = strchr(text, ',');
    struct span all = span_of(text), from = all, to = all;
    *ret = (struct lsf_interval){.given = true};
    if (comma) {
        from.len = (size_t)(comma - text);
        to = span_of(comma + 1);
    }
    bool ok = (!from.len || end_parse(from, now_us, false, &ret->from_us)) &&
              (!to.len || end_parse(to, now_us, !(to.len && to.data[0] == '.'), &ret->to_us));
    if (ok && !comma && text[0] == '.')
        ret->to_us = now_us;
    return (ok && *text) || err_set(ret_err, ERR_VALUE,
                                    "%s: Illegal time interval: begin,end are needed, each as "
                                    "2026/11/23/9:00, 11/23, 23, 9:00, . (now) or .-2 (days ago)",
                                    text);
}

bool lsf_interval_has(const struct lsf_interval *i, int64_t us)
{
    return !i->given ||
           (us > 0 && (!i->from_us || us >= i->from_us) && (!i->to_us || us < i->to_us));
}

SETTER(lsf_set_interval)
{
    struct lsf_interval *i = (void *)((char *)to + row->at);
    return lsf_interval_parse(value, time_now_us(), i, ret_err);
}
