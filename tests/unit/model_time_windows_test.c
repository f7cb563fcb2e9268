/* Limits by time of day, and local time. */
#include "unit.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "model/grammar/time_windows.h"
#include "model/record/reservation.h"

#include <string.h>

/* Amsterdam, summer 2026 to spring 2027. */
#define ZONE "1774746000:7200 1792890000:3600 1806195600:7200"

static struct arena *a;
static struct zone z;

static int setup(void **state)
{
    a = arena_new();
    assert_true(zone_parse(ZONE, a, &z, NULL));
    return 0;
}

static int teardown(void **state)
{
    arena_free(a);
    return 0;
}

static int64_t at(int month, int day, int hour, int minute)
{
    return zone_us(
        &z,
        &(struct civil){.year = 2026, .month = month, .day = day, .hour = hour, .minute = minute});
}

static struct time_windows read(const char *text)
{
    struct time_windows w;
    struct err e = {0};
    if (!time_windows_parse(text, a, &w, &e))
        fail_msg("%s", e.text);
    return w;
}

static struct time_window limits(const char *text, int64_t us)
{
    struct time_windows w = read(text);
    struct time_window ret;
    time_windows_at(&w, us, &z, &ret);
    return ret;
}

static void refuses(const char *text, const char *words)
{
    struct time_windows w;
    struct err e = {0};
    assert_false(time_windows_parse(text, a, &w, &e));
    if (!strstr(e.text, words))
        fail_msg("\"%s\" does not say \"%s\"", e.text, words);
}

static void local_time(void **state)
{
    struct civil c;
    zone_local(&z, INT64_C(1790000000) * USEC_PER_SEC, &c);
    assert_true(c.month == 9 && c.day == 21 && c.hour == 16 && c.minute == 13 && c.weekday == 1);
    assert_true(at(9, 21, 16, 13) == INT64_C(1789999980) * USEC_PER_SEC);
    /* The night in which clocks go back has 25 hours. */
    assert_true(zone_add_days(&z, at(10, 24, 12, 0), 1) - at(10, 24, 12, 0) == 25 * USEC_PER_HOUR);
    assert_true(zone_add_days(&z, at(9, 21, 12, 0), 7) == at(9, 28, 12, 0));
}

static void days_and_hours(void **state)
{
    const char *peak = "weekdays 08:00-18:00 max_jobs_per_user=2 max_time=4:00:00";
    assert_int_equal(limits(peak, at(9, 21, 8, 0)).max_jobs_per_user, 2); /* a Monday */
    assert_true(limits(peak, at(9, 21, 8, 0)).max_time_us == 4 * USEC_PER_HOUR);
    assert_int_equal(limits(peak, at(9, 21, 7, 59)).max_jobs_per_user, 0);
    assert_int_equal(limits(peak, at(9, 21, 18, 0)).max_jobs_per_user, 0);
    assert_int_equal(limits(peak, at(9, 20, 12, 0)).max_jobs_per_user, 0);
    const char *night = "fri-sat,mon 22:00-06:00 max_nodes=3";
    assert_int_equal(limits(night, at(9, 26, 5, 0)).max_nodes, 3); /* Saturday: Friday's */
    assert_int_equal(limits(night, at(9, 27, 5, 59)).max_nodes, 3);
    assert_int_equal(limits(night, at(9, 28, 5, 0)).max_nodes, 0); /* Sunday does not open */
    assert_int_equal(
        limits("daily 00:00-24:00 max_nodes=9; weekend 00:00-24:00 max_nodes=4", at(9, 27, 23, 59))
            .max_nodes,
        4);
    assert_int_equal(
        limits("daily 00:00-24:00 max_nodes=9; weekend 00:00-24:00 max_nodes=4", at(9, 28, 0, 0))
            .max_nodes,
        9);
}

static void the_next_change(void **state)
{
    struct time_windows w = read("weekdays 08:00-18:00 max_nodes=2");
    assert_true(time_windows_next(&w, at(9, 21, 7, 0), &z) == at(9, 21, 8, 0));
    assert_true(time_windows_next(&w, at(9, 21, 8, 0), &z) == at(9, 21, 18, 0));
    /* Over the weekend. */
    assert_true(time_windows_next(&w, at(9, 25, 18, 0), &z) == at(9, 28, 8, 0));
    w = read("");
    assert_true(time_windows_next(&w, at(9, 21, 7, 0), &z) == INT64_MAX);
}

static void what_makes_no_sense(void **state)
{
    refuses("workdays 08:00-18:00 max_nodes=2", "daily, weekdays, weekend");
    refuses("weekdays 8-25:00 max_nodes=2", "a time like 08:00-18:00");
    refuses("weekdays 8:-9 max_nodes=2", "not \"8:-9\"");
    refuses("weekdays 8-9: max_nodes=2", "not \"8-9:\"");
    refuses("weekdays 8-24:01 max_nodes=2", "not \"8-24:01\"");
    refuses("mon 2:-3333333333333333333333 max_nodes=2", "a time like 08:00-18:00");
    refuses("mon 2-9223372036854775807:00 max_nodes=2", "a time like 08:00-18:00");
    refuses("weekdays 08:00-18:00", "days, a time and a limit");
    refuses("weekdays 08:00-18:00 max_cpus=2", "there are max_nodes, max_time, max_jobs_per_user");
    refuses("weekdays 08:00-18:00 max_nodes=0", "above 0");
}

/* A time that clocks skip is what it would have been without the skip, east and west of UTC. */
static void skipped_times(void **state)
{
    static const struct {
        const char *zone;
        int year, month, day, hour, minute;
        int64_t sec;
    } cases[] = {
        {ZONE, 2027, 3, 28, 2, 30, 1806197400},
        {ZONE, 2027, 3, 28, 2, 0, 1806195600},
        {ZONE, 2027, 3, 28, 3, 0, 1806195600},
        {"0:-18000 1772953200:-14400 1793512800:-18000", 2026, 3, 8, 2, 30, 1772955000},
        {"0:-18000 1772953200:-14400 1793512800:-18000", 2026, 3, 8, 1, 59, 1772953140},
        {"0:-18000 1772953200:-14400 1793512800:-18000", 2026, 3, 8, 3, 0, 1772953200},
        {"0:-18000 1772953200:-14400 1793512800:-18000", 2026, 11, 1, 1, 30, 1793511000},
        {"0:-36000 1325239200:50400", 2011, 12, 30, 12, 0, 1325282400}, /* Samoa left out a day */
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct zone of;
        assert_true(zone_parse(cases[i].zone, a, &of, NULL));
        int64_t us = zone_us(&of, &(struct civil){.year = cases[i].year,
                                                  .month = cases[i].month,
                                                  .day = cases[i].day,
                                                  .hour = cases[i].hour,
                                                  .minute = cases[i].minute});
        assert_int_equal(us / USEC_PER_SEC, cases[i].sec);
    }
}

/* A reservation that comes again keeps its time of the day: where clocks skip it, it is later that
 * day and only then; of two equal ones it is the first. */
static void what_comes_again(void **state)
{
    static const struct {
        const char *zone;
        uint32_t flags;
        int year, month, day, hour, minute; /* it is to begin then … */
        const char *next;                   /* … and begins then */
    } cases[] = {
        {ZONE, RESV_DAILY, 2027, 3, 26, 2, 30, "27T02:30 28T03:30 29T02:30 30T02:30"},
        {ZONE, RESV_DAILY, 2027, 3, 26, 3, 30, "27T03:30 28T03:30 29T03:30 30T03:30"},
        {ZONE, RESV_DAILY, 2026, 10, 23, 2, 30, "24T02:30 25T02:30 26T02:30 27T02:30"},
        {ZONE, RESV_DAILY, 2027, 3, 26, 0, 0, "27T00:00 28T00:00 29T00:00 30T00:00"},
        {ZONE, RESV_WEEKLY, 2027, 3, 14, 2, 0, "21T02:00 28T03:00 04T02:00 11T02:00"},
        {ZONE, RESV_WEEKEND, 2027, 3, 27, 2, 0, "28T03:00 03T02:00 04T02:00 10T02:00"},
        {ZONE, RESV_WEEKDAY, 2027, 3, 26, 2, 30, "29T02:30 30T02:30 31T02:30 01T02:30"},
        /* Lord Howe: half an hour */
        {"0:37800 1775314800:37800 1791041400:39600 1806764400:37800", RESV_DAILY, 2026, 10, 2, 2,
         15, "03T02:15 04T02:45 05T02:15 06T02:15"},
        {"0:39600 1806764400:37800", RESV_DAILY, 2027, 4, 3, 1, 45,
         "04T01:45 05T01:45 06T01:45 07T01:45"},
        /* clocks that change at midnight */
        {"0:7200 1774735200:10800", RESV_DAILY, 2026, 3, 27, 0, 0,
         "28T00:00 29T01:00 30T00:00 31T00:00"},
        /* an hour before midnight, as in Nuuk: that night it begins on the next day */
        {"0:-7200 1774746000:-3600", RESV_DAILY, 2026, 3, 27, 23, 30,
         "29T00:30 29T23:30 30T23:30 31T23:30"},
        {"0:-7200 1774746000:-3600", RESV_WEEKEND, 2026, 3, 22, 23, 30,
         "29T00:30 29T23:30 04T23:30 05T23:30"},
        {"0:-7200 1774746000:-3600", RESV_WEEKLY, 2026, 3, 21, 23, 30,
         "29T00:30 04T23:30 11T23:30 18T23:30"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct zone of;
        struct str said = STR_INIT;
        assert_true(zone_parse(cases[i].zone, a, &of, NULL));
        int64_t us = zone_us(&of, &(struct civil){.year = cases[i].year,
                                                  .month = cases[i].month,
                                                  .day = cases[i].day,
                                                  .hour = cases[i].hour,
                                                  .minute = cases[i].minute});
        const struct reservation r = {.flags = cases[i].flags,
                                      .day_second = resv_day_second(us, &of)};
        for (int times = 0; times < 4; times++) {
            struct civil c;
            us = resv_next_start(&r, us, &of);
            zone_local(&of, us, &c);
            str_addf(&said, "%s%02dT%02d:%02d", times ? " " : "", c.day, c.hour, c.minute);
        }
        assert_string_equal(str_text(&said), cases[i].next);
        str_done(&said);
    }
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {T(local_time),      T(days_and_hours),
                                       T(the_next_change), T(what_makes_no_sense),
                                       T(skipped_times),   T(what_comes_again)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
