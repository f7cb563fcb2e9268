/* Buckets by user. Who has not asked for so long that the bucket is full again needs none: such are
 * forgotten when the table is full, and if there are none, who asked longest ago. */
#include "controller/session/rate.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "base/map.h"

#include <stdlib.h>

struct bucket {
    uint32_t uid;
    int64_t left;
    int64_t filled_us; /* up to when it was filled; a period each */
    int64_t said_us;   /* when a refusal was logged last; 0 = never */
};

struct rates {
    struct map_u64 *by_uid;
};

struct session_rate {
    int64_t size, rate, period_us, table, log_us;
};

static int64_t given(int64_t said, int64_t standard, int64_t least)
{
    return said < 0 ? standard : said < least ? least : said;
}

static struct session_rate rate_of(const struct setting_words *w)
{
    return (struct session_rate){.size = given(w->rl_bucket_size, 30, 1),
                                 .rate = given(w->rl_refill_rate, 2, 1),
                                 .period_us = given(w->rl_refill_period, 1, 1) * USEC_PER_SEC,
                                 .table = given(w->rl_table_size, 8192, 1),
                                 .log_us = given(w->rl_log_freq, 0, 0) * USEC_PER_SEC};
}

struct rates *rates_new(void)
{
    struct rates *r = xcalloc(1, sizeof *r);
    r->by_uid = map_u64_new();
    return r;
}

void rates_free(struct rates *r)
{
    struct map_walk w = {0};
    if (!r)
        return;
    while (map_u64_next(r->by_uid, &w))
        free(w.value);
    map_u64_free(r->by_uid);
    free(r);
}

static void fill(struct bucket *b, const struct session_rate *k, int64_t now_us)
{
    int64_t periods = (now_us - b->filled_us) / k->period_us;
    int64_t lack = k->size - b->left;
    b->filled_us += periods * k->period_us;
    b->left = lack <= 0 || periods >= (lack + k->rate - 1) / k->rate ? k->size
                                                                     : b->left + periods * k->rate;
}

static void make_room(struct rates *r, const struct session_rate *k, int64_t now_us)
{
    struct map_walk w = {0};
    struct bucket *oldest = NULL;
    if ((int64_t)map_u64_count(r->by_uid) < k->table)
        return;
    while (map_u64_next(r->by_uid, &w)) {
        struct bucket *b = w.value;
        fill(b, k, now_us);
        if (!oldest || b->left > oldest->left ||
            (b->left == oldest->left && b->filled_us < oldest->filled_us))
            oldest = b;
    }
    map_u64_del(r->by_uid, oldest->uid);
    free(oldest);
}

static struct bucket *bucket_of(struct rates *r, const struct session_rate *k, uint32_t uid,
                                int64_t now_us)
{
    struct bucket *b = map_u64_get(r->by_uid, uid);
    if (b)
        return b;
    make_room(r, k, now_us);
    b = xcalloc(1, sizeof *b);
    *b = (struct bucket){.uid = uid, .left = k->size, .filled_us = now_us};
    map_u64_put(r->by_uid, uid, b);
    return b;
}

int64_t rate_take(struct rates *r, const struct setting_words *w, uint32_t uid, int64_t now_us,
                  bool *ret_say)
{
    const struct session_rate k = rate_of(w);
    *ret_say = false;
    if (!w->rl_enable)
        return 0;
    struct bucket *b = bucket_of(r, &k, uid, now_us);
    fill(b, &k, now_us);
    if (b->left > 0) {
        b->left--;
        return 0;
    }
    *ret_say = !b->said_us || now_us - b->said_us >= k.log_us;
    if (*ret_say)
        b->said_us = now_us;
    return b->filled_us + k.period_us - now_us;
}
