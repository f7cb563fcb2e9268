/* Keys in fixed point.
 *
 * The default order is a product of powers (docs/scheduling.md has how they were found), so its key
 * is a sum of logarithms:
 *
 *     √(wait + an hour) × (1 + (wait ÷ age bound)⁸) ÷ expected^¾ ÷ ⁴√width
 *         ÷ (1 + 30 × used) ÷ (1 + 30 × busy)² × 16^fills
 *
 * Short and narrow work goes first, and everything gains by waiting: past the age bound that soon
 * is all that counts. How long a job is expected to run is what others of its user ran that asked
 * for as much time; what nobody knows anything of is expected to need its limit. Used and busy are
 * the user's part of what all used of late and of what is in use now: who has much stands back
 * while others wait, so that one user's flood costs others little. Fills is the part of what is
 * idle that a wide job takes if it takes half of it or more: wide work follows wide work, so that
 * the machine is drained for it less often.
 *
 * Who was first and blocked stays first once the start that it was first promised is past, or it
 * waited for its limit, so that what drains for it does not drain in vain. (From the beginning, a
 * job that runs for days would be what hours wait for.)
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

#define AGED (INT64_C(1) << 50) /* the oldest's; all others are below */
#define HEAD (INT64_C(1) << 51)

/* Powers of the default order are in sixteenths. */
enum {
    NEW_S = 3600, /* what a new job is worth, as if it had waited so long */
    LEAST_S = 60, /* who is expected to run shorter gains nothing by it */
    WAITED_POWER = 8,
    EXPECTED_POWER = 12,
    WIDTH_POWER = 4,
    USED_TIMES = 30,
    USED_POWER = 16,
    BUSY_TIMES = 30,
    BUSY_POWER = 32,
    PAST_MOST = 32, /* waiting counts up to so many age bounds */
    FILLS_BITS = 4, /* who takes all that is idle counts 2 to the power of this */
};

#define LOG_ONE   (INT64_C(1) << 32)
#define KEY_MID   (INT64_C(1) << 39) /* the key where all powers come to 1 */
#define KEY_BITS  1                  /* more places than a logarithm has */
#define PAST_BITS 10

/* Logarithm to the base of 2, in 2^32nds, of a number from 1 on: right to one in 20,000, and never
 * less of more. */
static int64_t logarithm(int64_t value)
{
    static const uint32_t step[] = {
        /* of 1 + i/64 */
        0u,          96069025u,   190671290u,  283850911u,  375650042u,  466108992u,  555266329u,
        643158980u,  729822323u,  815290272u,  899595355u,  982768792u,  1064840562u, 1145839467u,
        1225793196u, 1304728378u, 1382670639u, 1459644647u, 1535674166u, 1610782092u, 1684990500u,
        1758320681u, 1830793180u, 1902427828u, 1973243776u, 2043259527u, 2112492963u, 2180961372u,
        2248681478u, 2315669461u, 2381940980u, 2447511201u, 2512394809u, 2576606037u, 2640158677u,
        2703066100u, 2765341278u, 2826996792u, 2888044852u, 2948497312u, 3008365682u, 3067661139u,
        3126394546u, 3184576457u, 3242217133u, 3299326552u, 3355914416u, 3411990165u, 3467562986u,
        3522641820u, 3577235372u, 3631352117u, 3685000314u, 3738188006u, 3790923031u, 3843213029u,
        3895065449u, 3946487553u, 3997486425u, 4048068976u, 4098241947u, 4148011917u, 4197385310u,
        4246368395u,
    };
    int whole = 63 - __builtin_clzll((uint64_t)value);
    uint64_t rest = whole ? (uint64_t)value << (64 - whole) : 0; /* behind the point */
    size_t at = rest >> 58;
    int64_t low = step[at], high = at < 63 ? (int64_t)step[at + 1] : LOG_ONE,
            between = (int64_t)(rest << 6 >> 40);
    return whole * LOG_ONE + low + ((high - low) * between >> 24);
}

/* Of 1 + times × part, that being in 2^20ths. */
static int64_t logarithm_of_part(int64_t times, int64_t part)
{
    return logarithm((INT64_C(1) << 20) + times * clip(part, 0, INT64_C(1) << 20)) - 20 * LOG_ONE;
}

/* Of 1 + (waited ÷ bound)⁸ */
static int64_t logarithm_of_past(int64_t waited, int64_t bound)
{
    int64_t past = clip((waited << PAST_BITS) / clip(bound, 1, SECONDS_MAX), 0,
                        PAST_MOST << PAST_BITS),
            square = past * past >> PAST_BITS, fourth = square * square >> PAST_BITS;
    return logarithm((INT64_C(1) << PAST_BITS) + (fourth * fourth >> PAST_BITS)) -
           PAST_BITS * LOG_ONE;
}

static int64_t expected_seconds(const struct order_job *j)
{
    int64_t limit = limit_seconds(j), ran = j->expected_us / USEC_PER_SEC + j->nice;
    return clip(j->expected_us > 0 && ran < limit ? ran : limit, LEAST_S, SECONDS_MAX);
}

/* Of the wait and an hour. Nice is taken off the wait: what falls below none goes on as evenly
 * below the hour, so that nice values tell apart jobs that have just come. */
static int64_t logarithm_of_wait(int64_t waited)
{
    return waited >= 0 ? logarithm(waited + NEW_S)
                       : 2 * logarithm(NEW_S) - logarithm(NEW_S - waited);
}

/* Nice values count as waiting here, too. */
static bool stays_first(const struct order_job *j, int64_t waited)
{
    bool missed = j->promised_us > 0 && j->now_us - j->nice * USEC_PER_SEC >= j->promised_us;
    return j->head && (missed || waited >= limit_seconds(j));
}

static int64_t ageing_key(const struct order_job *j)
{
    int64_t waited = clip((j->now_us - j->submit_us) / USEC_PER_SEC - j->nice, -SECONDS_MAX,
                          SECONDS_MAX - NEW_S);
    if (stays_first(j, waited))
        return HEAD;
    if (j->oldest)
        return AGED;
    int64_t sum = WAITED_POWER * logarithm_of_wait(waited) -
                  EXPECTED_POWER * logarithm(expected_seconds(j)) -
                  WIDTH_POWER * logarithm(clip(j->width, 1, WIDTH_MAX)) -
                  USED_POWER * logarithm_of_part(USED_TIMES, j->used) -
                  BUSY_POWER * logarithm_of_part(BUSY_TIMES, j->busy);
    int64_t past = logarithm_of_past(clip(waited, 0, SECONDS_MAX), j->age_bound_us / USEC_PER_SEC);
    int64_t fills = FILLS_BITS * (LOG_ONE >> 20) * clip(j->fills, 0, INT64_C(1) << 20);
    return clip(KEY_MID + (sum / 16 + past + fills) * (1 << KEY_BITS), 1 << 20, AGED - 1);
}

uint64_t order_key(enum sched_order order, const struct order_job *j)
{
    ASSERT(j->width >= 0 && order <= ORDER_AGEING);
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
