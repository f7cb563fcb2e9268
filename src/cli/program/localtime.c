#include "cli/program/localtime.h"

#include "cli/program/room.h"

#define DAY 86400

static int64_t ahead_at(int64_t sec)
{
    struct tm tm;
    local_time((time_t)sec, &tm);
    return tm.tm_gmtoff;
}

/* Not mktime: which of two equal times it means hangs on what it was asked before. As the
 * controller's zone_us has it. */
static int64_t local_to_sec(const struct civil *c)
{
    int64_t wanted = civil_to_sec(c), best = INT64_MAX;
    const int64_t ahead[] = {ahead_at(wanted - DAY), ahead_at(wanted + DAY)};
    for (size_t i = 0; i < 2; i++) {
        int64_t sec = wanted - ahead[i];
        if (ahead_at(sec) == ahead[i] && sec < best)
            best = sec;
    }
    return best == INT64_MAX ? wanted - ahead[0] : best;
}

static void sec_to_local(int64_t sec, struct civil *ret)
{
    struct tm tm;
    local_time((time_t)sec, &tm);
    *ret = (struct civil){tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour,
                          tm.tm_min,         tm.tm_sec,     tm.tm_wday};
}

const struct civil_zone civil_local = {local_to_sec, sec_to_local};

int64_t time_now_us(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}
