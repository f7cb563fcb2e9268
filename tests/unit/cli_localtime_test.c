/* Local time of this process: of two equal times the first is meant, and one that clocks skip is
 * what it would have been without the skip, whatever was asked before. */
#include "unit.h"

#include "base/calendar/zone.h"
#include "cli/program/localtime.h"

#include <stdlib.h>
#include <time.h>

static const struct {
    const char *zone;
    int year, month, day, hour, minute;
    int64_t sec;
} cases[] = {
    {"Europe/Berlin", 2026, 10, 25, 1, 59, 1792886340},
    {"Europe/Berlin", 2026, 10, 25, 2, 0, 1792886400}, /* comes twice */
    {"Europe/Berlin", 2026, 10, 25, 2, 30, 1792888200},
    {"Europe/Berlin", 2026, 10, 25, 3, 0, 1792893600},
    {"Europe/Berlin", 2026, 3, 29, 1, 59, 1774745940},
    {"Europe/Berlin", 2026, 3, 29, 2, 30, 1774747800}, /* skipped: 03:30 */
    {"Europe/Berlin", 2026, 3, 29, 3, 0, 1774746000},
    {"Australia/Lord_Howe", 2026, 4, 5, 1, 45, 1775313900},  /* half an hour, twice */
    {"Australia/Lord_Howe", 2026, 10, 4, 2, 15, 1791042300}, /* half an hour, skipped */
    {"America/New_York", 2026, 11, 1, 1, 30, 1793511000},
    {"America/New_York", 2026, 3, 8, 2, 30, 1772955000},
    {"UTC", 2026, 3, 29, 2, 30, 1774751400},
};

static void what_was_asked_before_says_nothing(void **unused)
{
    (void)unused;
    static const int64_t before[] = {1768000000, 1784000000}; /* a winter's, a summer's day */
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (size_t k = 0; k < 2; k++) {
            const struct civil c = {.year = cases[i].year,
                                    .month = cases[i].month,
                                    .day = cases[i].day,
                                    .hour = cases[i].hour,
                                    .minute = cases[i].minute};
            struct tm tm;
            time_t asked = before[k];
            setenv("TZ", cases[i].zone, 1);
            tzset();
            localtime_r(&asked, &tm);
            tm.tm_isdst = -1;
            mktime(&tm);
            int64_t sec = civil_local.local_to_sec(&c);
            if (sec != cases[i].sec)
                fail_msg("%s %d: %lld", cases[i].zone, cases[i].hour, (long long)sec);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_was_asked_before_says_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
