#include "node/shepherd/linger.h"

#include "base/alloc.h"
#include "node/shepherd/places.h"

#include <time.h>
#include <unistd.h>

static int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static bool place_take(const struct herd *h, int64_t uid)
{
    int fd = places_open(h, "lingering");
    if (fd >= 0 && places_take(fd, uid * LINGER_SLOTS, LINGER_SLOTS, 1))
        return true; /* the file stays open */
    if (fd >= 0)
        close(fd);
    return false;
}

struct lingering linger_begin(const struct herd *h, int64_t uid)
{
    bool has_place = place_take(h, uid);
    return (struct lingering){has_place ? LINGER_WITHOUT_END
                                        : now_us() + LINGER_MS * INT64_C(1000)};
}

int linger_wait_ms(const struct lingering *l)
{
    if (l->until_us == LINGER_WITHOUT_END)
        return -1;
    int64_t left = (l->until_us - now_us() + 999) / 1000;
    return left <= 0 ? 0 : left < LINGER_MS ? (int)left : LINGER_MS;
}

void linger_took(struct lingering *l, size_t bytes)
{
    ASSERT(l->until_us > 0);
    if (l->until_us == LINGER_WITHOUT_END)
        return;
    int64_t until = l->until_us + (int64_t)bytes * 1000 / LINGER_BYTES_MS,
            most = now_us() + LINGER_MS * INT64_C(1000);
    l->until_us = until < most ? until : most;
}
