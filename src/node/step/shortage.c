#include "node/step/shortage.h"

#include "base/alloc.h"

#include <errno.h>
#include <time.h>

#define NAP_FIRST_US INT64_C(10000)
#define NAP_MOST_US  INT64_C(500000)

static int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

bool shortage_is(int why)
{
    return why == EAGAIN || why == EMFILE || why == ENFILE || why == ENOMEM || why == ENOBUFS;
}

bool shortage_passes(struct shortage *s)
{
    ASSERT(s->nap_us >= 0);
    int why = errno;
    if (!shortage_is(why))
        return false;
    int64_t now = now_us();
    if (!s->until_us)
        *s = (struct shortage){now + SHORTAGE_PATIENCE_US, NAP_FIRST_US};
    bool again = now < s->until_us;
    if (again) {
        nanosleep(&(struct timespec){.tv_sec = s->nap_us / 1000000,
                                     .tv_nsec = s->nap_us % 1000000 * 1000},
                  NULL);
        s->nap_us = s->nap_us * 2 < NAP_MOST_US ? s->nap_us * 2 : NAP_MOST_US;
    }
    errno = why;
    return again;
}
