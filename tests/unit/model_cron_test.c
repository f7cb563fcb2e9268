/* model/cron: what is read and what is refused; the next time against a watchman who looks at the clock
 * each minute, in zones with and without changes of their clocks. */
#include "model/grammar/cron.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "base/rng.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

#define MIN_SEC 60

static int64_t utc(const char *text)
{
    int64_t us;
    assert_true(civil_parse(text, 0, &civil_utc, false, &us, NULL));
    return us;
}

static struct cron parsed(const char *text)
{
    struct cron c;
    struct err e = {0};
    if (!cron_parse(text, &c, NULL, &e))
        fail_msg("%s: %s", text, e.text);
    return c;
}

static void refused(const char *text, const char *words)
{
    struct cron c;
    struct err e = {0};
    if (cron_parse(text, &c, NULL, &e))
        fail_msg("%s is taken", text);
    if (!strstr(e.text, words))
        fail_msg("%s: %s", text, e.text);
}

static void fields_are_read(void **state)
{
    struct cron c = parsed("5,10-12 */6 1-7/3 jan,6 MON-wed");
    assert_true(c.minutes == (UINT64_C(1) << 5 | UINT64_C(7) << 10));
    assert_int_equal(c.hours, 1 << 0 | 1 << 6 | 1 << 12 | 1 << 18);
    assert_int_equal(c.days, 1 << 1 | 1 << 4 | 1 << 7);
    assert_int_equal(c.months, 1 << 1 | 1 << 6);
    assert_int_equal(c.weekdays, 1 << 1 | 1 << 2 | 1 << 3);
    assert_int_equal(parsed("0 0 * * 5-7").weekdays, 1 << 0 | 1 << 5 | 1 << 6);
    assert_int_equal(parsed("0 0 * * *").weekdays, 0x7f);
    assert_int_equal(parsed("@weekly").weekdays, 1);
    assert_int_equal(parsed("@Yearly").months, 1 << 1);
    size_t used;
    assert_true(cron_parse(" 1 2 * * *\t/bin/true", &c, &used, NULL));
    assert_int_equal(used, 10);
    assert_true(cron_parse("@hourly /bin/true", &c, &used, NULL));
    assert_int_equal(used, 7);
}

static void mistakes_are_named(void **state)
{
    refused("60 * * * *", "minute \"60\"");
    refused("* 24 * * *", "hour \"24\"");
    refused("* * 0 * *", "day of the month \"0\"");
    refused("* * 32 * *", "1 to 31");
    refused("* * * 13 *", "month \"13\"");
    refused("* * * * 8", "day of the week \"8\"");
    refused("5-1 * * * *", "minute \"5-1\"");
    refused("*/0 * * * *", "minute");
    refused("*/61 * * * *", "minute");
    refused("5/2 * * * *", "minute");
    refused("1, * * * *", "minute \"1,\"");
    refused("1,,2 * * * *", "minute");
    refused("1-2-3 * * * *", "minute");
    refused("x * * * *", "minute \"x\"");
    refused("* * * * wednesday", "day of the week");
    refused("* * * janu *", "month");
    refused("-1 * * * *", "minute");
    refused("99999999999999999999 * * * *", "minute");
    refused("* * * *", "the day of the week is missing");
    refused("", "the minute is missing");
    refused("@reboot", "no one boot");
    refused("@fortnightly", "@monthly");
    refused("0 0 31 2,4 *", "never");
    refused("0 0 30 feb *", "never");
    refused("* * * * * x", "behind");
    parsed("0 0 31 2 mon"); /* either day will do */
    parsed("0 0 29 feb *");
}

static const struct zone zone_of_utc;

static void the_next_is_after(void **state)
{
    static const struct {
        const char *cron, *after, *next;
    } rows[] = {
        {"* * * * *", "2026-11-23T10:00:00", "2026-11-23T10:01:00"},
        {"* * * * *", "2026-11-23T10:00:59", "2026-11-23T10:01:00"},
        {"0 0 29 2 *", "2026-11-23T10:00:00", "2028-02-29T00:00:00"},
        {"0 0 29 2 *", "2096-03-01T00:00:00", "2104-02-29T00:00:00"},
        {"0 0 29 2 */7", "2088-03-01T00:00:00", "2128-02-29T00:00:00"}, /* a Sunday */
        {"0 0 */31 2 1", "2027-02-01T00:00:00", "2038-02-01T00:00:00"}, /* a Monday */
        {"59 23 31 12 *", "2026-12-31T23:59:00", "2027-12-31T23:59:00"},
        {"0 12 13 * fri", "2026-11-13T12:00:00", "2026-11-20T12:00:00"},
        {"0 12 */2 * fri", "2026-11-13T12:00:00", "2026-11-27T12:00:00"},
        {"@monthly", "2026-11-01T00:00:00", "2026-12-01T00:00:00"},
        {"1-5,30 8-17/2 * * wed", "2026-11-25T08:05:00", "2026-11-25T08:30:00"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct cron c = parsed(rows[i].cron);
        struct str is = STR_INIT;
        civil_format_iso(cron_next(&c, utc(rows[i].after), &zone_of_utc), &civil_utc, &is);
        assert_string_equal(str_text(&is), rows[i].next);
        str_done(&is);
    }
}

/* Rare days of each month and weekday, from each year of a whole cycle of the calendar on. */
static void what_can_be_due_is(void **state)
{
    static const char *const days[] = {"*/31", "*/29", "*/7", "29", "30", "31"};
    char text[40];
    for (size_t i = 0; i < 7 * ARRAY_LEN(days); i++) {
        bool star = *days[i / 7] == '*';
        for (unsigned month = 1; month <= 12; month++) {
            struct cron c;
            snprintf(text, sizeof text, "0 0 %s %u %s", days[i / 7], month, star ? "0" : "*/7");
            if (!cron_parse(text, &c, NULL, NULL))
                continue;
            c.weekdays = 1u << i % 7;
            for (int year = 1970; year < 2370; year += 7) {
                struct civil from = {.year = year, .month = 3, .day = 1};
                int64_t next = cron_next(&c, civil_to_sec(&from) * USEC_PER_SEC, &zone_of_utc);
                if (next == INT64_MAX)
                    fail_msg("\"%s\" on weekday %zu is not due after %d", text, i % 7, year);
            }
        }
    }
}

/* A zone with a change of its clocks every month or so. */
struct place {
    const char *name, *rules;
};
static const struct place places[] = {
    {"UTC", NULL},
    {"Berlin", "0:3600 1774746000:7200 1792890000:3600 1806195600:7200"},
    {"New York", "0:-18000 1772953200:-14400 1793512800:-18000"},
    {"Lord Howe", "0:39600 1775314800:37800 1791041400:39600"},
    {"Kathmandu", "0:20700"},
    {"a day is skipped", "0:-36000 1774778400:50400"},
    {"midnight is skipped", "0:0 1774742400:3600 1774915200:0"},
};

/* Looks at the clock each minute. */
struct watchman {
    const struct cron *cron;
    const struct zone *z;
    int64_t latest; /* local minute */
};

static bool fits(const struct cron *c, int64_t minute)
{
    struct civil l;
    civil_from_sec(minute * MIN_SEC, &l);
    bool day = c->days >> l.day & 1, weekday = c->weekdays >> l.weekday & 1;
    bool both = c->any_day || c->any_weekday;
    return (c->minutes >> l.minute & 1) && (c->hours >> l.hour & 1) && (c->months >> l.month & 1) &&
           (both ? day && weekday : day || weekday);
}

static int64_t local_minute(const struct watchman *w, int64_t us)
{
    struct civil l;
    zone_local(w->z, us, &l);
    return civil_to_sec(&l) / MIN_SEC;
}

static bool due(struct watchman *w, int64_t us)
{
    int64_t now = local_minute(w, us);
    bool is = false;
    if (w->cron->passing)
        is = fits(w->cron, now);
    else
        for (int64_t m = w->latest + 1; m <= now; m++)
            is |= fits(w->cron, m);
    w->latest = now > w->latest ? now : w->latest;
    return is;
}

static void field_make(struct rng *rng, struct str *out, unsigned least, unsigned most)
{
    switch (rng_below(rng, 6)) {
    case 0:
    case 1: str_add(out, "*"); break;
    case 2: str_addf(out, "*/%u", (unsigned)rng_below(rng, most - least) + 1); break;
    case 3: {
        unsigned from = least + (unsigned)rng_below(rng, most - least);
        str_addf(out, "%u-%u", from, from + (unsigned)rng_below(rng, most - from + 1));
        break;
    }
    case 4: {
        unsigned one = least + (unsigned)rng_below(rng, most - least + 1);
        str_addf(out, "%u,%u", one, least + (unsigned)rng_below(rng, most - least + 1));
        break;
    }
    default: str_addf(out, "%u", least + (unsigned)rng_below(rng, most - least + 1)); break;
    }
    str_addc(out, ' ');
}

static void cron_make(struct rng *rng, struct str *out)
{
    str_clear(out);
    field_make(rng, out, 0, 59);
    field_make(rng, out, 0, rng_below(rng, 2) ? 5 : 23);
    if (rng_below(rng, 3))
        str_add(out, "* ");
    else
        field_make(rng, out, 1, 31);
    str_add(out, rng_below(rng, 3) ? "* " : "3,4,10,11 ");
    str_add(out, rng_below(rng, 3) ? "*" : "0-4");
}

static void watch(const struct place *place, const char *text, const struct zone *z, int64_t from)
{
    struct cron c = parsed(text);
    struct watchman w = {.cron = &c, .z = z};
    w.latest = local_minute(&w, from);
    int64_t next = cron_next(&c, from, z), to = from + 3 * USEC_PER_DAY;
    for (int64_t us = from + USEC_PER_MIN; us < to; us += USEC_PER_MIN) {
        bool is = due(&w, us);
        if (is != (next == us))
            fail_msg("%s, \"%s\": %lld s is%s due, next is %lld s", place->name, text,
                     (long long)(us / USEC_PER_SEC), is ? "" : " not",
                     (long long)(next / USEC_PER_SEC));
        if (is)
            next = cron_next(&c, us, z);
    }
    assert_true(next >= to);
}

/* Around each change of the clocks. */
static void as_a_watchman_sees_it(void **state)
{
    struct rng rng = {.state = 20261123};
    struct arena *a = arena_new();
    struct str text = STR_INIT;
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        struct zone z;
        assert_true(zone_parse(places[i].rules, a, &z, NULL));
        for (size_t change = 0; change < (z.n > 1 ? z.n - 1 : 1); change++) {
            int64_t at = z.n > 1 ? z.rule[change + 1].from_sec : 1774746000;
            int64_t from = (at - 86400 - at % MIN_SEC) * USEC_PER_SEC;
            watch(&places[i], "30 2 * * *", &z, from);
            watch(&places[i], "*/15 * * * *", &z, from);
            watch(&places[i], "0 * * * *", &z, from);
            watch(&places[i], "0,30 0-3 * * *", &z, from);
            for (int k = 0; k < 60; k++) {
                cron_make(&rng, &text);
                watch(&places[i], str_text(&text), &z, from);
            }
        }
    }
    str_done(&text);
    arena_free(a);
}

static void clocks_that_change(void **state)
{
    struct arena *a = arena_new();
    struct zone berlin;
    assert_true(zone_parse(places[1].rules, a, &berlin, NULL));
    struct cron night = parsed("30 2 * * *"), hourly = parsed("30 * * * *");
    /* 02:30 is skipped on the 29th of March: at the jump, 01:00 UTC */
    assert_true(cron_next(&night, utc("2026-03-28T12:00:00"), &berlin) ==
                utc("2026-03-29T01:00:00"));
    assert_true(cron_next(&night, utc("2026-03-29T01:00:00"), &berlin) ==
                utc("2026-03-30T00:30:00"));
    /* it comes twice on the 25th of October */
    assert_true(cron_next(&night, utc("2026-10-24T12:00:00"), &berlin) ==
                utc("2026-10-25T00:30:00"));
    assert_true(cron_next(&night, utc("2026-10-25T00:30:00"), &berlin) ==
                utc("2026-10-26T01:30:00"));
    assert_true(cron_next(&hourly, utc("2026-10-25T00:30:00"), &berlin) ==
                utc("2026-10-25T01:30:00"));
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_read),       cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(the_next_is_after),     cmocka_unit_test(clocks_that_change),
        cmocka_unit_test(as_a_watchman_sees_it), cmocka_unit_test(what_can_be_due_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
