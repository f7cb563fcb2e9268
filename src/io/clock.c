#include "io/clock.h"

#include <time.h>

#define TOGETHER_US 1000 /* readings that lie further apart are made again … */
#define READINGS    8    /* … so often at most; then the closest are taken */

int64_t clock_thread_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t clock_read_us(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t clock_now_us(void)
{
    return clock_read_us(CLOCK_REALTIME);
}

int64_t clock_monotonic_us(void)
{
    return clock_read_us(CLOCK_MONOTONIC);
}

void clock_both(int64_t *ret_now_us, int64_t *ret_monotonic_us)
{
    int64_t closest = INT64_MAX;
    for (int i = 0; i < READINGS && closest > TOGETHER_US; i++) {
        int64_t before = clock_monotonic_us(), now = clock_now_us(), after = clock_monotonic_us();
        if (after - before > closest)
            continue;
        closest = after - before;
        *ret_now_us = now;
        *ret_monotonic_us = after;
    }
}
