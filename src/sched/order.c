/* Keys in 64 bits of fixed point. WFP3 of Tang et al. (2009) compares width × (wait ÷ limit)³; its cube root orders the same and stays small. */
#include "sched/order.h"

#include "base/duration.h"
#include "base/str.h"

#include <stddef.h>

#define WIDTH_MAX   ((INT64_C(1) << 24) - 1)
#define SECONDS_MAX ((INT64_C(1) << 30) - 1)

static int64_t clip(int64_t value, int64_t least, int64_t most)
{
    return value < least ? least : value > most ? most : value;
}

static int64_t limit_seconds(const struct order_job *j)
{
    if (j->limit_us == TIME_UNLIMITED)
        return SECONDS_MAX;
    return clip(j->limit_us / USEC_PER_SEC + j->nice, 1, SECONDS_MAX);
}

/* Cube root of width × 2³⁰, rounded down: 2¹⁰ for a width of one. */
static int64_t width_root(int64_t width)
{
    int64_t low = 0, high = INT64_C(1) << 19, cube = width << 30;
    while (high - low > 1) {
        int64_t middle = (low + high) / 2;
        if (middle * middle * middle <= cube)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static int64_t wfp_key(const struct order_job *j)
{
    int64_t waited = clip((j->now_us - j->submit_us) / USEC_PER_SEC - j->nice, 0, SECONDS_MAX);
    int64_t root = width_root(clip(j->width, 1, WIDTH_MAX));
    return clip((waited << 16) / limit_seconds(j), 0, INT64_MAX / root) * root;
}

int64_t order_key(enum sched_order order, const struct order_job *j)
{
    int64_t width = clip(j->width, 1, WIDTH_MAX);
    switch (order) {
    case ORDER_PRIORITY:
        break;
    case ORDER_ARRIVAL:
        return -(int64_t)j->nice;
    case ORDER_SJF:
        return -(limit_seconds(j) << 24 | width);
    case ORDER_SAF:
        return -(limit_seconds(j) * width);
    case ORDER_WFP:
        return wfp_key(j);
    }
    return 0;
}

bool order_named(const char *name, enum sched_order *ret)
{
    static const char *const names[] = {[ORDER_PRIORITY] = "priority",
                                        [ORDER_ARRIVAL] = "arrival",
                                        [ORDER_SJF] = "sjf",
                                        [ORDER_SAF] = "saf",
                                        [ORDER_WFP] = "wfp"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (text_is(name, names[i])) {
            *ret = (enum sched_order)i;
            return true;
        }
    return false;
}

bool backfill_named(const char *name, enum sched_backfill *ret)
{
    if (!text_is(name, "easy") && !text_is(name, "none"))
        return false;
    *ret = text_is(name, "easy") ? BACKFILL_EASY : BACKFILL_NONE;
    return true;
}
