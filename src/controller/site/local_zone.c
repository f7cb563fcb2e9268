/* The C library only tells how far ahead local time is at one time: changes are looked for day by
 * day and then closed in on. */
#include "controller/site/local_zone.h"

#include "base/str.h"
#include "io/clock.h"

#include <time.h>

#define DAY         86400
#define YEARS_AHEAD 6

static long ahead_at(int64_t sec)
{
    time_t t = (time_t)sec;
    struct tm tm = {0};
    localtime_r(&t, &tm);
    return tm.tm_gmtoff;
}

/* The first second of (low, high] at which it is not `before`. */
static int64_t change_find(int64_t low, int64_t high, long before)
{
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (ahead_at(middle) == before)
            low = middle;
        else
            high = middle;
    }
    return high;
}

const char *local_zone(struct arena *a)
{
    struct str s = STR_INIT;
    int64_t from = clock_now_us() / 1000000 - 365 * DAY;
    tzset();
    long ahead = ahead_at(from);
    str_addf(&s, "%lld:%ld", (long long)from, ahead);
    bool changes = ahead != 0;
    for (int64_t day = from; day < from + (int64_t)(YEARS_AHEAD + 1) * 366 * DAY; day += DAY) {
        long now = ahead_at(day + DAY);
        if (now == ahead)
            continue;
        str_addf(&s, " %lld:%ld", (long long)change_find(day, day + DAY, ahead), now);
        ahead = now;
        changes = true;
    }
    const char *text = changes ? arena_strdup(a, str_text(&s)) : NULL;
    str_done(&s);
    return text;
}
