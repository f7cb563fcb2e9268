#include "node/shepherd/linger.h"

#include "base/alloc.h"
#include "node/shepherd/places.h"

#include <time.h>

#define LAST_US        INT64_C(1000000)
#define ASK_AGAIN_US   INT64_C(1000000)
#define PLACES_OF_USER (LINGER_SLOTS + LINGER_SLOW_SLOTS)

static int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static bool place_take(const struct lingering *l, int64_t first, int64_t most)
{
    return places_take(l->places_fd, l->uid * PLACES_OF_USER + first, most, 1);
}

/* A slow one's place is not given back for the better one. The file stays open: who closes it
 * loses what he has in it. */
static void place_ask(struct lingering *l, int64_t now)
{
    if (!l->herd || now < l->ask_at_us)
        return;
    l->ask_at_us = now + ASK_AGAIN_US;
    if (l->places_fd < 0)
        l->places_fd = places_open(l->herd, "lingering");
    if (l->places_fd < 0)
        return;
    if (place_take(l, 0, LINGER_SLOTS)) {
        l->until_us = LINGER_WITHOUT_END;
    } else if (!l->is_slow && place_take(l, LINGER_SLOTS, LINGER_SLOW_SLOTS)) {
        l->is_slow = true;
        l->until_us = now + LINGER_MS * INT64_C(1000);
    }
}

struct lingering linger_begin(const struct herd *h, int64_t uid)
{
    ASSERT(h && uid >= 0);
    return (struct lingering){
        .until_us = now_us() + LINGER_MS * INT64_C(1000), .herd = h, .uid = uid, .places_fd = -1};
}

int linger_wait_ms(struct lingering *l)
{
    int64_t now = now_us();
    if (l->until_us <= now)
        place_ask(l, now);
    if (l->until_us == LINGER_WITHOUT_END)
        return -1;
    int64_t left = (l->until_us - now + 999) / 1000;
    return left <= 0 ? 0 : left < LINGER_MS ? (int)left : LINGER_MS;
}

void linger_last(struct lingering *l)
{
    int64_t least = now_us() + LAST_US;
    l->until_us = l->until_us > least ? l->until_us : least;
}

void linger_took(struct lingering *l, size_t bytes)
{
    ASSERT(l->until_us > 0);
    if (l->until_us == LINGER_WITHOUT_END || bytes == 0)
        return;
    int64_t until = l->until_us + (int64_t)bytes * 1000 / LINGER_BYTES_MS,
            most = now_us() + LINGER_MS * INT64_C(1000);
    l->until_us = until < most && !l->is_slow ? until : most;
}
