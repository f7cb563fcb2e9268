/* Keys in fixed point.
 *
 * The ageing order is what won on the scoreboard (docs/scheduling.md): √(wait + an hour) ÷ limit
 * ÷ ⁴√width, so that short and narrow work goes first and everything gains on it by waiting; times
 * 1 + (wait ÷ age bound)⁶, which is little before the bound and soon all that counts behind it. Of
 * those past the bound the oldest goes before all that are not the head: who was first and blocked
 * stays first once it waited for half its limit, so that what drains for it does not drain in vain.
 * (From the beginning, a job that runs for days would be what hours wait for.)
 *
 * WFP3 of Tang et al. (2009) compares width × (wait ÷ limit)³; its cube root orders the
 * same and stays small. */
#include "sched/books/order.h"

#include "base/alloc.h"
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

static int64_t square_root(int64_t value)
{
    int64_t low = 0, high = INT64_C(1) << 31;
    while (high - low > 1) {
        int64_t middle = (low + high) / 2;
        if (middle * middle <= value)
            low = middle;
        else
            high = middle;
    }
    return low;
}

#define AGED      (INT64_C(1) << 50) /* the oldest's; all others are below */
#define HEAD      (INT64_C(1) << 51)
#define HEAD_S    3600 /* what a new job is worth, as if it had waited so long */
#define ROOT_BITS 8
#define PAST_BITS 10
#define PAST_MOST 32 /* waiting counts up to so many age bounds */

/* key × (1 + (waited ÷ bound)⁶), at most AGED − 1 */
static int64_t past_count(int64_t key, int64_t waited, int64_t bound)
{
    int64_t past = clip((waited << PAST_BITS) / clip(bound, 1, SECONDS_MAX), 0,
                        PAST_MOST << PAST_BITS),
            square = past * past >> PAST_BITS, fourth = square * square >> PAST_BITS,
            times = (INT64_C(1) << PAST_BITS) + (fourth * square >> PAST_BITS);
    key = clip(key, 0, AGED - 1);
    return key > ((AGED - 1) << PAST_BITS) / times ? AGED - 1 : key * times >> PAST_BITS;
}

static int64_t ageing_key(const struct order_job *j)
{
    int64_t waited =
        clip((j->now_us - j->submit_us) / USEC_PER_SEC - j->nice, 0, SECONDS_MAX - HEAD_S);
    if (j->head && 2 * waited >= limit_seconds(j))
        return HEAD;
    if (j->oldest)
        return AGED;
    int64_t narrow = square_root(square_root(clip(j->width, 1, WIDTH_MAX) << 4 * ROOT_BITS));
    int64_t key = square_root((waited + HEAD_S) << 20) << (26 + ROOT_BITS);
    return past_count(key / limit_seconds(j) / narrow, waited, j->age_bound_us / USEC_PER_SEC);
}

uint64_t order_key(enum sched_order order, const struct order_job *j)
{
    int64_t width = clip(j->width, 1, WIDTH_MAX), key = 0, most = (INT64_C(1) << 52) - 1;
    switch (order) {
    case ORDER_PRIORITY: break;
    case ORDER_ARRIVAL: key = AGED - j->nice; break;
    case ORDER_SJF: key = most - (limit_seconds(j) << 22 | clip(width, 1, (1 << 22) - 1)); break;
    case ORDER_SAF: key = most - limit_seconds(j) * width; break;
    case ORDER_WFP: key = wfp_key(j); break;
    case ORDER_AGEING: key = ageing_key(j); break;
    }
    return (uint64_t)clip(key, 1 << 20, most);
}

bool order_named(const char *name, enum sched_order *ret)
{
    static const char *const names[] = {
        [ORDER_PRIORITY] = "priority", [ORDER_ARRIVAL] = "arrival", [ORDER_SJF] = "sjf",
        [ORDER_SAF] = "saf",           [ORDER_WFP] = "wfp",         [ORDER_AGEING] = "ageing"};
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

bool promises_named(const char *name, enum sched_promises *ret)
{
    static const char *const names[] = {
        [PROMISES_HEAD] = "head", [PROMISES_AGED] = "aged", [PROMISES_ALL] = "all"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (text_is(name, names[i])) {
            *ret = (enum sched_promises)i;
            return true;
        }
    return false;
}
