#include "cli/program/localtime.h"

#include <time.h>

static int64_t local_to_sec(const struct civil *c)
{
    struct tm tm = {
        .tm_year = c->year - 1900,
        .tm_mon = c->month - 1,
        .tm_mday = c->day,
        .tm_hour = c->hour,
        .tm_min = c->minute,
        .tm_sec = c->second,
        .tm_isdst = -1,
    };
    return (int64_t)mktime(&tm);
}

static void sec_to_local(int64_t sec, struct civil *ret)
{
    time_t t = (time_t)sec;
    struct tm tm = {0};
    localtime_r(&t, &tm);
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
