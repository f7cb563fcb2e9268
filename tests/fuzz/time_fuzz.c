/* Any text, as a point in time, a time limit, a size and a set of task indexes: read or refused.
 * What is read is written in a form that reads to the same value. */
#include "fuzz.h"

#include "base/alloc.h"
#include "base/calendar/civil.h"
#include "base/duration.h"
#include "base/idset.h"

#include <stdlib.h>
#include <string.h>

const char *const fuzz_words[] = {
    "now+",   "1hour", "tomorrow", "teatime",    "12:30:00",   "2026-11-21", "T05:06",
    "1225",   "PM",    "uts=",     "1-00:00:00", "30",         "UNLIMITED",  "16G",
    "0-15:4", "1,3,5", "%Y-%m",    "12/25/26",   "2147483647", NULL};

#define NOW_US (INT64_C(1795237561) * USEC_PER_SEC)

static void point_check(const char *text, bool future)
{
    struct err e = {0};
    struct str iso = STR_INIT;
    int64_t us, again;
    if (!civil_parse(text, NOW_US, &civil_utc, future, &us, &e)) {
        CHECK(e.code != ERR_NONE && e.text[0]);
        return;
    }
    civil_format_iso(us, &civil_utc, &iso);
    if (us >= INT64_C(-62167219200) * USEC_PER_SEC) /* the year 0: four digits and no sign */
        CHECK(civil_parse(str_text(&iso), NOW_US, &civil_utc, future, &again, NULL) && again == us);
    civil_format(us, NOW_US, "relative", &civil_utc, &iso);
    civil_format(us, NOW_US, text, &civil_utc, &iso);
    str_done(&iso);
}

static void duration_check(const char *text)
{
    struct str out = STR_INIT;
    int64_t us, again;
    if (duration_parse(text, &us, NULL)) {
        CHECK(us >= 0);
        duration_format(us, &out);
        CHECK(duration_parse(str_text(&out), &again, NULL) && again == us);
        duration_format_short(us, &out);
    }
    if (duration_parse_lsf(text, &us, NULL))
        CHECK(us >= 0 && us % USEC_PER_MIN == 0);
    str_done(&out);
}

static void size_check(const char *text)
{
    struct str out = STR_INIT;
    int64_t mib, again;
    if (size_parse_mib(text, &mib, NULL)) {
        CHECK(mib >= 0);
        size_format_mib(mib, 0, &out);
        CHECK(size_parse_mib(str_text(&out), &again, NULL) && again == mib);
        for (const char *unit = "KMGTP"; *unit; unit++)
            size_format_mib(mib, *unit, &out);
    }
    int64_t count;
    if (count_parse(text, &count, NULL)) {
        CHECK(count >= 0);
        size_format_bytes(count, 0, &out);
        for (const char *unit = "KMGTP"; *unit; unit++)
            size_format_bytes(count, *unit, &out);
    }
    str_done(&out);
}

static void indexes_check(const char *text)
{
    struct idset s = IDSET_INIT, again = IDSET_INIT;
    struct str out = STR_INIT, out_again = STR_INIT;
    if (idset_parse(&s, text, INT32_MAX, NULL)) {
        idset_format(&s, &out);
        CHECK(idset_parse(&again, str_text(&out), INT32_MAX, NULL));
        idset_format(&again, &out_again);
        CHECK(again.count == s.count && text_is(str_text(&out), str_text(&out_again)));
        CHECK(idset_has(&s, s.range[0].first) && idset_has(&s, idset_last(&s)) &&
              idset_last(&s) <= INT32_MAX);
    }
    idset_done(&s);
    idset_done(&again);
    str_done(&out);
    str_done(&out_again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = xstrndup((const char *)data, size);
    point_check(text, true);
    point_check(text, false);
    duration_check(text);
    size_check(text);
    indexes_check(text);
    free(text);
    return 0;
}
