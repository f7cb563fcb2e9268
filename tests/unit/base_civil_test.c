#include "unit.h"

#include "base/alloc.h"
#include "base/calendar/civil.h"
#include "base/duration.h"
#include "base/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Saturday, 2026-11-21T05:06:01 UTC and half a second */
#define NOW_US (INT64_C(1795237561) * USEC_PER_SEC + 500000)

static const char *iso(int64_t us)
{
    static struct str out;
    str_done(&out);
    civil_format_iso(us, &civil_utc, &out);
    return str_text(&out);
}

/* What `text` reads to, in ISO; "refused" if it does not. */
static const char *read_at(const char *text, bool future)
{
    int64_t us;
    struct err e = {0};
    if (civil_parse(text, NOW_US, &civil_utc, future, &us, &e))
        return iso(us);
    assert_int_equal(e.code, ERR_INVALID);
    assert_non_null(strstr(e.text, "YYYY-MM-DD"));
    return "refused";
}

struct expectation {
    const char *text, *iso;
};

static void expect(const struct expectation *e, size_t count, bool future)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(read_at(e[i].text, future), e[i].iso) != 0)
            fail_msg("\"%s\": %s, not %s", e[i].text, read_at(e[i].text, future), e[i].iso);
}

#define EXPECT(future, ...)                                                                        \
    do {                                                                                           \
        static const struct expectation expected_[] = {__VA_ARGS__};                               \
        expect(expected_, ARRAY_LEN(expected_), future);                                           \
    } while (0)

static void test_dates_and_seconds_are_the_same_thing(void **state)
{
    static const struct {
        int64_t sec;
        struct civil c;
    } cases[] = {
        {0, {1970, 1, 1, 0, 0, 0, 4}},
        {-1, {1969, 12, 31, 23, 59, 59, 3}},
        {951782400, {2000, 2, 29, 0, 0, 0, 2}},
        {1795237561, {2026, 11, 21, 5, 6, 1, 6}},
        {INT64_C(4107542400), {2100, 3, 1, 0, 0, 0, 1}}, /* 2100 has no 29 February */
        {2147483648, {2038, 1, 19, 3, 14, 8, 2}},
        {INT64_C(-62135596800), {1, 1, 1, 0, 0, 0, 1}},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct civil c;
        civil_from_sec(cases[i].sec, &c);
        assert_memory_equal(&c, &cases[i].c, sizeof c);
        assert_true(civil_to_sec(&c) == cases[i].sec);
    }
}

static void test_every_second_has_one_date(void **state)
{
    struct rng r = {3};
    for (int i = 0; i < 20000; i++) {
        int64_t sec = rng_range(&r, INT64_C(-62135596800), INT64_C(253402300799));
        struct civil c;
        civil_from_sec(sec, &c);
        assert_true(civil_to_sec(&c) == sec);
        assert_true(c.month >= 1 && c.month <= 12 && c.day >= 1 && c.day <= 31 && c.hour < 24 &&
                    c.minute < 60 && c.second < 60);
    }
}

static void test_microseconds_are_rounded_down(void **state)
{
    assert_int_equal(civil_sec(1999999), 1);
    assert_int_equal(civil_sec(0), 0);
    assert_int_equal(civil_sec(-1), -1);
    assert_int_equal(civil_sec(-1000000), -1);
    assert_string_equal(iso(-1), "1969-12-31T23:59:59");
}

static void test_a_time_of_day_is_today_or_the_next_one_for_begin(void **state)
{
    EXPECT(true, {"16:00", "2026-11-21T16:00:00"}, {"16:00:30", "2026-11-21T16:00:30"},
           {"5:06:01", "2026-11-21T05:06:01"}, {"5:06", "2026-11-22T05:06:00"},
           {"00:00", "2026-11-22T00:00:00"}, {"23:59:59", "2026-11-21T23:59:59"});
    EXPECT(false, {"16:00", "2026-11-21T16:00:00"}, {"00:00", "2026-11-21T00:00:00"},
           {"5:06", "2026-11-21T05:06:00"});
}

static void test_am_and_pm(void **state)
{
    EXPECT(false, {"12:00AM", "2026-11-21T00:00:00"}, {"12:30 am", "2026-11-21T00:30:00"},
           {"12:00PM", "2026-11-21T12:00:00"}, {"1:05pm", "2026-11-21T13:05:00"},
           {"11:59:59 PM", "2026-11-21T23:59:59"}, {"13:00PM", "refused"},
           {"0:30AM", "2026-11-21T00:30:00"}, {"1:00 PMx", "refused"}, {"1:00 AM PM", "refused"});
}

static void test_hours_with_names(void **state)
{
    EXPECT(true, {"midnight", "2026-11-22T00:00:00"}, {"noon", "2026-11-21T12:00:00"},
           {"elevenses", "2026-11-21T11:00:00"}, {"fika", "2026-11-21T15:00:00"},
           {"teatime", "2026-11-21T16:00:00"}, {"TeaTime", "2026-11-21T16:00:00"});
    EXPECT(false, {"midnight", "2026-11-21T00:00:00"});
}

static void test_days_with_names(void **state)
{
    EXPECT(true, {"today", "2026-11-21T00:00:00"}, {"tomorrow", "2026-11-22T00:00:00"},
           {"yesterday", "2026-11-20T00:00:00"}, {"Tomorrow", "2026-11-22T00:00:00"});
    EXPECT(true, {"tomorrow noon", "2026-11-22T12:00:00"}, {"noon tomorrow", "2026-11-22T12:00:00"},
           {"teatime today", "2026-11-21T16:00:00"}, {"tomorrow 7:30", "2026-11-22T07:30:00"},
           {"tomorrow-07:30", "2026-11-22T07:30:00"}, {"today 01:00", "2026-11-21T01:00:00"});
    EXPECT(true, {"noon-tomorrow", "2026-11-22T12:00:00"}, {"tomorrow-noon", "2026-11-22T12:00:00"},
           {"midnight-tomorrow", "2026-11-22T00:00:00"}, {"16:00-12/25", "2026-12-25T16:00:00"},
           {"12/25-16:00", "2026-12-25T16:00:00"}, {"uts1830000000", "2027-12-28T13:20:00"});
}

static void test_tomorrow_may_be_next_year(void **state)
{
    int64_t us, now = INT64_C(1798761599) * USEC_PER_SEC; /* 2026-12-31T23:59:59 */
    assert_true(civil_parse("tomorrow", now, &civil_utc, true, &us, NULL));
    assert_string_equal(iso(us), "2027-01-01T00:00:00");
    assert_true(civil_parse("noon", now, &civil_utc, true, &us, NULL));
    assert_string_equal(iso(us), "2027-01-01T12:00:00");
}

static void test_now_and_an_offset(void **state)
{
    EXPECT(true, {"now", "2026-11-21T05:06:01"}, {"now+60", "2026-11-21T05:07:01"},
           {"now+1hour", "2026-11-21T06:06:01"}, {"now+2hours", "2026-11-21T07:06:01"},
           {"now + 1 hour", "2026-11-21T06:06:01"}, {"now+90seconds", "2026-11-21T05:07:31"},
           {"now+5minutes", "2026-11-21T05:11:01"}, {"now+5min", "2026-11-21T05:11:01"},
           {"now+1day", "2026-11-22T05:06:01"}, {"now+2weeks", "2026-12-05T05:06:01"},
           {"now-1day", "2026-11-20T05:06:01"}, {"now-3600", "2026-11-21T04:06:01"},
           {"NOW+1HOUR", "2026-11-21T06:06:01"});
    EXPECT(true, {"now+", "refused"}, {"now+hour", "refused"}, {"now+1fortnight", "refused"},
           {"now+1hours2", "refused"}, {"now 12:00", "refused"}, {"nowadays", "refused"},
           {"now+99999999999weeks", "refused"}, {"now+999999999999", "refused"},
           {"now+1.5hours", "refused"}, {"now++1", "refused"});
}

static void test_days_as_numbers(void **state)
{
    EXPECT(true, {"2030-01-20T12:34:00", "2030-01-20T12:34:00"},
           {"2030-01-20T12:34", "2030-01-20T12:34:00"}, {"2030-01-20", "2030-01-20T00:00:00"},
           {"2030-01-20-12:34:56", "2030-01-20T12:34:56"},
           {"2030-01-20 12:34", "2030-01-20T12:34:00"},
           {"1970-01-01-00:00:01", "1970-01-01T00:00:01"}, {"2030-1-2", "2030-01-02T00:00:00"},
           {"12/25/28", "2028-12-25T00:00:00"}, {"12/25/2028", "2028-12-25T00:00:00"},
           {"12.25.28", "2028-12-25T00:00:00"}, {"122528", "2028-12-25T00:00:00"},
           {"122528-16:00", "2028-12-25T16:00:00"}, {"122528T16:00:05", "2028-12-25T16:00:05"},
           {"12/25/28-4:00 PM", "2028-12-25T16:00:00"}, {"16:00 12/25/28", "2028-12-25T16:00:00"},
           {"010170", "2070-01-01T00:00:00"}, {"2028-02-29", "2028-02-29T00:00:00"});
}

static void test_a_date_in_the_past_stays_there(void **state)
{
    EXPECT(true, {"2010-01-20T12:34:00", "2010-01-20T12:34:00"},
           {"01/20/10", "2010-01-20T00:00:00"}, {"112126", "2026-11-21T00:00:00"});
}

static void test_a_day_without_a_year_is_the_next_for_begin_and_the_last_for_a_report(void **state)
{
    EXPECT(true, {"1225", "2026-12-25T00:00:00"}, {"12/25", "2026-12-25T00:00:00"},
           {"12.25", "2026-12-25T00:00:00"}, {"0101", "2027-01-01T00:00:00"},
           {"1121", "2027-11-21T00:00:00"}, {"1121-06:00", "2026-11-21T06:00:00"},
           {"1225-16:00:01", "2026-12-25T16:00:01"}, {"1225T16:00", "2026-12-25T16:00:00"},
           {"teatime 12/25", "2026-12-25T16:00:00"});
    EXPECT(false, {"1225", "2025-12-25T00:00:00"}, {"0101", "2026-01-01T00:00:00"},
           {"1121", "2026-11-21T00:00:00"}, {"11/21 06:00", "2025-11-21T06:00:00"});
}

static void test_29_february_needs_a_year_that_has_it(void **state)
{
    EXPECT(true, {"2026-02-29", "refused"}, {"2100-02-29", "refused"},
           {"2000-02-29", "2000-02-29T00:00:00"}, {"0229", "refused"});
    int64_t us, now = INT64_C(1830000000) * USEC_PER_SEC; /* in December 2027 */
    assert_true(civil_parse("0229", now, &civil_utc, true, &us, NULL));
    assert_string_equal(iso(us), "2028-02-29T00:00:00");
}

static void test_seconds_since_1970(void **state)
{
    EXPECT(true, {"1900-01-01", "1970-01-01T00:00:01"}, {"0001-01-01", "1970-01-01T00:00:01"},
           {"uts=1", "1970-01-01T00:00:01"}, {"uts=0", "1970-01-01T00:00:00"},
           {"1795237561", "2026-11-21T05:06:01"}, {"100000000", "1973-03-03T09:46:40"},
           {"253402300799", "9999-12-31T23:59:59"}, {"253402300800", "refused"},
           {"uts=", "refused"}, {"uts=x", "refused"}, {"uts=1x", "refused"},
           {"12345678", "refused"}, {"1795237561 12:00", "refused"});
}

static void test_what_is_no_point_in_time_is_refused(void **state)
{
    EXPECT(true, {"", "refused"}, {" ", "refused"}, {"x", "refused"}, {"5", "refused"},
           {"12", "refused"}, {"123", "refused"}, {"12345", "refused"}, {"1234567", "refused"},
           {"24:00", "refused"}, {"12:60", "refused"}, {"12:00:60", "refused"}, {"12:", "refused"},
           {":30", "refused"}, {"12:00:", "refused"}, {"1:2:3:4", "refused"},
           {"123:00", "refused"});
    EXPECT(true, {"2026-13-01", "refused"}, {"2026-00-01", "refused"}, {"2026-04-31", "refused"},
           {"2026-04-00", "refused"}, {"2026-04", "refused"}, {"2026-04-", "refused"},
           {"2026-04-01T", "refused"}, {"2026-04-01T12", "refused"},
           {"2026-04-01X12:00", "refused"}, {"2026-04-01T12:00Z", "refused"}, {"1332", "refused"},
           {"12/32", "refused"}, {"12/25/1", "refused"}, {"12/25.26", "refused"});
    EXPECT(true, {"noon noon", "refused"}, {"today tomorrow", "refused"}, {"noonfika", "refused"},
           {"12:00noon", "refused"}, {"noon!", "refused"}, {"today2026-01-01", "refused"},
           {"-1", "refused"}, {"+60", "refused"}, {"1hour", "refused"});
}

/* Two hours east of UTC: what a zone with summer time looks like on a day. */
static int64_t east_to_sec(const struct civil *local)
{
    return civil_to_sec(local) - 7200;
}

static void east_from_sec(int64_t sec, struct civil *ret)
{
    civil_from_sec(sec + 7200, ret);
}

/* Where Slurm says that the mistake is, as 22.05's sbatch printed it for each of these. */
static void test_the_mistake_is_where_slurm_says_it_is(void **state)
{
    static const struct {
        const char *text;
        int pos;
    } cases[] = {
        {"foo", 0},
        {"10pm", 2},
        {"10", 2},
        {"3", 1},
        {"0", -1},
        {"99", 0},
        {"25 December", 0},
        {"12345", 2},
        {"1600", 0},
        {"10:", 3},
        {"10:x", 3},
        {"10:60", 3},
        {"24:00", 0},
        {"10:10:", 6},
        {"10:10:60", 6},
        {"10:10:10:10", 8},
        {"12:00:00x", 8},
        {"10:00 xm", 6},
        {"13:00pm", 5},
        {"1/", 2},
        {"1/x", 2},
        {"0/1", -1},
        {"1/0", 1},
        {"1/32", 2},
        {"12/00", 3},
        {"13/01/20", 0},
        {"1/2/3", 5},
        {"1/2/33x", 6},
        {"2020-13-01", 5},
        {"2020-00-01", 5},
        {"2020-01-32", 8},
        {"2020-01", 0},
        {"2020-", 0},
        {"2020-01-01T25:00", 11},
        {"2020-01-01T10", 13},
        {"2020-01-01Tx", 11},
        {"2020-01-01T10:00:00.5", 19},
        {"1225x", 4},
        {"122520x", 6},
        {"000101", 0},
        {"tomorrowx", 8},
        {"tomorrowTx", 9},
        {"noonx", 4},
        {"noon+1day", 4},
        {"noon,tomorrow", 4},
        {"nowx", 3},
        {"now x", 4},
        {"now 5", 4},
        {"now+", 3},
        {"now-x", 3},
        {"now+ x", 4},
        {"now+5x", 4},
        {"now+12x", 5},
        {"now+1 x", 5},
        {"now+1month", 4},
        {"now+-5", 3},
        {"now+5 minutes x", 14},
        {"midnight tomorrow x", 18},
        {"12/25 25:00", 6},
        {"10:00 13/1", 6},
        {"  25:00", 2},
        {"uts", 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t us;
        struct err e = {0};
        char line[100];
        snprintf(line, sizeof line, "Invalid time specification (pos=%d): %s", cases[i].pos,
                 cases[i].text);
        assert_false(civil_parse(cases[i].text, NOW_US, &civil_utc, true, &us, &e));
        assert_string_equal(e.lead, line);
    }
    struct err e = {0};
    int64_t us;
    assert_false(civil_parse("", NOW_US, &civil_utc, true, &us, &e));
    assert_string_equal(e.lead, "");
}

static void test_the_zone_decides_which_day_it_is(void **state)
{
    static const struct civil_zone east = {east_to_sec, east_from_sec};
    int64_t us,
        /* 22:26:40 UTC on the 21st; there, 00:26:40 on the 22nd. */
        now = INT64_C(1795300000) * USEC_PER_SEC;
    assert_true(civil_parse("today", now, &east, true, &us, NULL));
    assert_string_equal(iso(us), "2026-11-21T22:00:00");
    assert_true(civil_parse("00:20", now, &east, true, &us, NULL));
    assert_string_equal(iso(us), "2026-11-22T22:20:00");
    assert_true(civil_parse("2026-11-22T10:00", now, &east, true, &us, NULL));
    assert_string_equal(iso(us), "2026-11-22T08:00:00");
    assert_true(civil_parse("uts=7200", now, &east, true, &us, NULL));
    assert_true(us == 7200 * USEC_PER_SEC);
    struct str out = STR_INIT;
    civil_format_iso(us, &east, &out);
    assert_string_equal(str_text(&out), "1970-01-01T04:00:00");
    str_done(&out);
}

static const char *formatted(const char *text, const char *format)
{
    static struct str out;
    int64_t us;
    assert_true(civil_parse(text, NOW_US, &civil_utc, false, &us, NULL));
    str_done(&out);
    civil_format(us, NOW_US, format, &civil_utc, &out);
    return str_text(&out);
}

static void test_the_standard_format_is_iso(void **state)
{
    static const char *const standard[] = {NULL, "", "standard", "STANDARD", "no conversion in it"};
    for (size_t i = 0; i < ARRAY_LEN(standard); i++)
        assert_string_equal(formatted("now", standard[i]), "2026-11-21T05:06:01");
}

static void test_conversions_of_strftime(void **state)
{
    assert_string_equal(formatted("now", "%s"), "1795237561");
    assert_string_equal(formatted("now", "%Y-%m-%d %H:%M:%S"), "2026-11-21 05:06:01");
    assert_string_equal(formatted("now", "%F|%T|%R|%D"), "2026-11-21|05:06:01|05:06|11/21/26");
    assert_string_equal(formatted("now", "%a %e %b %y, day %j"), "Sat 21 Nov 26, day 325");
    assert_string_equal(formatted("2024-12-31", "%j"), "366");
    assert_string_equal(formatted("2026-01-02", "%e %j %a"), " 2 002 Fri");
    assert_string_equal(formatted("now", "100%% %Q %"), "100% %Q %");
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
/* Every conversion says what the C library says, on each day of some years. */
static void test_conversions_are_those_of_the_library(void **state)
{
    for (time_t at = 1577836800 - 40 * 86400; at < 1577836800 + 3000 * 86400; at += 86400 + 3607)
        for (const char *c = "aAbBcCdDeFgGhHIjklmMnpPrRsStTuUVwWxXyYz%"; *c; c++) {
            struct tm tm;
            struct str out = STR_INIT;
            char format[] = {'%', *c, '\0'}, said[64];
            setenv("TZ", "UTC0", 1);
            assert_true(strftime(said, sizeof said, format, localtime_r(&at, &tm)) > 0);
            civil_format((int64_t)at * USEC_PER_SEC, NOW_US, format, &civil_utc, &out);
            if (strcmp(str_text(&out), said) != 0)
                fail_msg("%s of %lld: %s, not %s", format, (long long)at, str_text(&out), said);
            str_done(&out);
        }
    assert_string_equal(formatted("now", "%Z"), "+0000");
}
#pragma GCC diagnostic pop

static void test_relative_times_are_shorter_the_nearer(void **state)
{
    assert_string_equal(formatted("now", "relative"), "05:06:01");
    assert_string_equal(formatted("16:30", "relative"), "16:30:00");
    assert_string_equal(formatted("tomorrow 16:30", "relative"), "Tomorr 16:30");
    assert_string_equal(formatted("yesterday 23:59", "relative"), "Ystday 23:59");
    assert_string_equal(formatted("2026-11-24T10:00", "relative"), "Tue 10:00");
    assert_string_equal(formatted("2026-11-27T10:00", "relative"), "Fri 10:00");
    assert_string_equal(formatted("2026-11-28T10:00", "relative"), "28 Nov 10:00");
    assert_string_equal(formatted("2026-04-25T10:00", "relative"), "25 Apr 10:00");
    assert_string_equal(formatted("2012-06-06T10:00", "relative"), "6 Jun 2012");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dates_and_seconds_are_the_same_thing),
        cmocka_unit_test(test_every_second_has_one_date),
        cmocka_unit_test(test_microseconds_are_rounded_down),
        cmocka_unit_test(test_a_time_of_day_is_today_or_the_next_one_for_begin),
        cmocka_unit_test(test_am_and_pm),
        cmocka_unit_test(test_hours_with_names),
        cmocka_unit_test(test_days_with_names),
        cmocka_unit_test(test_tomorrow_may_be_next_year),
        cmocka_unit_test(test_now_and_an_offset),
        cmocka_unit_test(test_days_as_numbers),
        cmocka_unit_test(test_a_date_in_the_past_stays_there),
        cmocka_unit_test(test_a_day_without_a_year_is_the_next_for_begin_and_the_last_for_a_report),
        cmocka_unit_test(test_29_february_needs_a_year_that_has_it),
        cmocka_unit_test(test_seconds_since_1970),
        cmocka_unit_test(test_what_is_no_point_in_time_is_refused),
        cmocka_unit_test(test_the_mistake_is_where_slurm_says_it_is),
        cmocka_unit_test(test_the_zone_decides_which_day_it_is),
        cmocka_unit_test(test_the_standard_format_is_iso),
        cmocka_unit_test(test_conversions_of_strftime),
        cmocka_unit_test(test_conversions_are_those_of_the_library),
        cmocka_unit_test(test_relative_times_are_shorter_the_nearer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
