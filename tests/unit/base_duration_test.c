#include "unit.h"

#include "base/alloc.h"
#include "base/duration.h"

#include <string.h>

#define MIN  INT64_C(60)
#define HOUR INT64_C(3600)
#define DAY  INT64_C(86400)

static void test_a_time_limit_in_all_of_its_spellings(void **state)
{
    static const struct {
        const char *text;
        int64_t sec;
    } cases[] = {
        {"0", 0},
        {"30", 30 * MIN},    /* minutes */
        {"24:00", 24 * MIN}, /* minutes:seconds, not hours (LSF reads it so) */
        {"0:30", 30},
        {"90:90", 90 * MIN + 90},
        {"00:15:00", 15 * MIN}, /* hours:minutes:seconds */
        {"1:30:00", 90 * MIN},
        {"100:00:00", 100 * HOUR},
        {"1-0", DAY}, /* days-hours */
        {"2-12", 2 * DAY + 12 * HOUR},
        {"1-02:03", DAY + 2 * HOUR + 3 * MIN},
        {"1-02:03:04", DAY + 2 * HOUR + 3 * MIN + 4},
        {"0-0:0:1", 1},
        {"4294967295", 4294967295 * MIN},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t us = -1;
        struct err e = {0};
        if (!duration_parse(cases[i].text, &us, &e) || us != cases[i].sec * USEC_PER_SEC)
            fail_msg("%s: %lld %s", cases[i].text, (long long)us, e.text);
    }
}

static void test_no_limit_has_three_names(void **state)
{
    static const char *const names[] = {"UNLIMITED", "unlimited", "INFINITE", "Infinite", "-1"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        int64_t us = 0;
        assert_true(duration_parse(names[i], &us, NULL));
        assert_true(us == TIME_UNLIMITED);
    }
}

static void test_what_is_no_time_limit_is_refused_with_what_would_be(void **state)
{
    static const char *const wrong[] = {
        "",        " ",      "x",         "2h", "30m",         "1:",  ":1",  "1::2",
        "1:2:3:4", "1-",     "-",         "-5", "1-2-3",       "1 2", "1.5", "1-:2",
        "+5",      "1:2:3 ", "1-2:3:4:5", " 5", "UNLIMITEDLY", "0x10"};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        int64_t us = 77;
        struct err e = {0};
        if (duration_parse(wrong[i], &us, &e))
            fail_msg("\"%s\" was read", wrong[i]);
        assert_int_equal(e.code, ERR_INVALID);
        assert_non_null(strstr(e.text, "hours:minutes:seconds"));
        assert_int_equal(us, 77);
    }
}

static void test_a_limit_too_long_to_count_is_refused(void **state)
{
    static const char *const wrong[] = {"4294967296", "99999999999999999999999", "4294967295-0",
                                        "2982617-0", "71582789:00:00"};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        int64_t us;
        if (duration_parse(wrong[i], &us, NULL))
            fail_msg("\"%s\" was read", wrong[i]);
    }
}

static void test_lsf_counts_minutes_and_hours(void **state)
{
    int64_t us;
    assert_true(duration_parse_lsf("30", &us, NULL) && us == 30 * USEC_PER_MIN);
    assert_true(duration_parse_lsf("24:00", &us, NULL) && us == 24 * USEC_PER_HOUR);
    assert_true(duration_parse_lsf("0:05", &us, NULL) && us == 5 * USEC_PER_MIN);
    static const char *const wrong[] = {"",   "1:2:3", "1-0", "UNLIMITED",
                                        "1h", "1:",    "-1",  "4294967295:00"};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct err e = {0};
        assert_false(duration_parse_lsf(wrong[i], &us, &e));
        assert_true(e.code != ERR_NONE);
    }
}

/* The long form, a blank, the short one. */
static const char *both(int64_t sec)
{
    static struct str out;
    str_done(&out);
    duration_format(sec == TIME_UNLIMITED ? sec : sec * USEC_PER_SEC, &out);
    str_addc(&out, ' ');
    duration_format_short(sec == TIME_UNLIMITED ? sec : sec * USEC_PER_SEC, &out);
    return str_text(&out);
}

static void test_durations_are_written_long_for_sacct_and_short_for_squeue(void **state)
{
    assert_string_equal(both(0), "00:00:00 0:00");
    assert_string_equal(both(5), "00:00:05 0:05");
    assert_string_equal(both(754), "00:12:34 12:34");
    assert_string_equal(both(3600), "01:00:00 1:00:00");
    assert_string_equal(both(86399), "23:59:59 23:59:59");
    assert_string_equal(both(86400), "1-00:00:00 1-00:00:00");
    assert_string_equal(both(100 * 86400 + 3661), "100-01:01:01 100-01:01:01");
    assert_string_equal(both(TIME_UNLIMITED), "UNLIMITED UNLIMITED");
    assert_string_equal(both(-5), "00:00:00 0:00"); /* a clock that was set back */
}

static void test_parts_of_a_second_are_dropped(void **state)
{
    struct str out = STR_INIT;
    duration_format(USEC_PER_SEC - 1, &out);
    duration_format_short(2 * USEC_PER_SEC - 1, &out);
    assert_string_equal(str_text(&out), "00:00:000:01");
    str_done(&out);
}

static void test_memory_sizes(void **state)
{
    static const struct {
        const char *text;
        int64_t mib;
    } cases[] = {
        {"0", 0},      {"100", 100}, {"1500M", 1500}, {"512MB", 512},           {"16G", 16384},
        {"1GB", 1024}, {"4g", 4096}, {"4gb", 4096},   {"1T", 1048576},          {"1024K", 1},
        {"1025K", 2},  {"1k", 1},    {"0K", 0},       {"2P", INT64_C(2) << 30},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t mib = -1;
        if (!size_parse_mib(cases[i].text, &mib, NULL) || mib != cases[i].mib)
            fail_msg("%s: %lld", cases[i].text, (long long)mib);
    }
}

static void test_odd_suffixes_of_sizes_are_refused(void **state)
{
    static const char *const wrong[] = {"",  "G",   "-1",  "1.5G", "1X",  "1GG",  "1GiB", "1B",
                                        "B", "1 G", " 1G", "1G ",  "1BG", "0x10", "1e3",  "1KBB"};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        int64_t mib = 77;
        struct err e = {0};
        if (size_parse_mib(wrong[i], &mib, &e))
            fail_msg("\"%s\" was read", wrong[i]);
        assert_int_equal(e.code, ERR_INVALID);
        assert_int_equal(mib, 77);
    }
    struct err e = {0};
    int64_t mib;
    assert_false(size_parse_mib("99999999999999T", &mib, &e));
    assert_int_equal(e.code, ERR_LIMIT);
    assert_true(size_parse_mib("8388607T", &mib, NULL));
    assert_false(size_parse_mib("8388608T", &mib, NULL));
    assert_true(size_parse_mib("9007199254739968K", &mib, NULL));
    assert_false(size_parse_mib("99999999999999999999999", &mib, NULL));
}

static const char *mib_text(int64_t mib, char unit)
{
    static struct str out;
    str_done(&out);
    size_format_mib(mib, unit, &out);
    return str_text(&out);
}

static void test_sizes_are_written_with_the_largest_suffix_that_divides(void **state)
{
    assert_string_equal(mib_text(0, 0), "0");
    assert_string_equal(mib_text(1500, 0), "1500M");
    assert_string_equal(mib_text(16384, 0), "16G");
    assert_string_equal(mib_text(1048576, 0), "1T");
    assert_string_equal(mib_text(1048576 + 1024, 0), "1025G");
    assert_string_equal(mib_text(INT64_C(3) << 30, 0), "3P");
}

static void test_a_forced_suffix_has_two_decimals_where_needed(void **state)
{
    assert_string_equal(mib_text(1500, 'G'), "1.46G");
    assert_string_equal(mib_text(1536, 'g'), "1.50G");
    assert_string_equal(mib_text(2048, 'G'), "2G");
    assert_string_equal(mib_text(2, 'K'), "2048K");
    assert_string_equal(mib_text(1047, 'M'), "1047M");
    assert_string_equal(mib_text(1023, 'G'), "1.00G");
    assert_string_equal(mib_text(1, 'T'), "0.00T");
}

static const char *bytes_text(int64_t bytes, char unit)
{
    static struct str out;
    str_done(&out);
    size_format_bytes(bytes, unit, &out);
    return str_text(&out);
}

static void test_bytes_are_written_as_sacct_writes_them(void **state)
{
    assert_string_equal(bytes_text(0, 0), "0");
    assert_string_equal(bytes_text(1 << 20, 'K'), "1024K");
    assert_string_equal(bytes_text(1 << 20, 0), "1M");
    assert_string_equal(bytes_text(INT64_C(3) << 29, 0), "1.50G");
    assert_string_equal(bytes_text(INT64_C(4752) * 1024, 0), "4752K");
    assert_string_equal(bytes_text(1234567, 0), "1205.63K");
    assert_string_equal(bytes_text(500, 0), "0.49K");
    assert_string_equal(bytes_text(INT64_MAX, 'P'), "8192.00P");
    assert_string_equal(bytes_text(-1, 0), "0");
}

static void test_counts_may_be_in_thousands_of_1024(void **state)
{
    int64_t n;
    assert_true(count_parse("2", &n, NULL) && n == 2);
    assert_true(count_parse("2k", &n, NULL) && n == 2048);
    assert_true(count_parse("1M", &n, NULL) && n == 1 << 20);
    assert_true(count_parse("1G", &n, NULL) && n == 1 << 30);
    assert_true(count_parse("9223372036854775807", &n, NULL) && n == INT64_MAX);
    static const char *const wrong[] = {
        "", "K", "-1", "1KB", "1.5", "2x", "9223372036854775808", "8388608T"};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct err e = {0};
        if (count_parse(wrong[i], &n, &e))
            fail_msg("\"%s\" was read", wrong[i]);
        assert_true(e.code != ERR_NONE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_time_limit_in_all_of_its_spellings),
        cmocka_unit_test(test_no_limit_has_three_names),
        cmocka_unit_test(test_what_is_no_time_limit_is_refused_with_what_would_be),
        cmocka_unit_test(test_a_limit_too_long_to_count_is_refused),
        cmocka_unit_test(test_lsf_counts_minutes_and_hours),
        cmocka_unit_test(test_durations_are_written_long_for_sacct_and_short_for_squeue),
        cmocka_unit_test(test_parts_of_a_second_are_dropped),
        cmocka_unit_test(test_memory_sizes),
        cmocka_unit_test(test_odd_suffixes_of_sizes_are_refused),
        cmocka_unit_test(test_sizes_are_written_with_the_largest_suffix_that_divides),
        cmocka_unit_test(test_a_forced_suffix_has_two_decimals_where_needed),
        cmocka_unit_test(test_bytes_are_written_as_sacct_writes_them),
        cmocka_unit_test(test_counts_may_be_in_thousands_of_1024),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
