/* A level for each node, which sinks. Nodes are those of the configuration and those that joined:
 * there are no more entries than these. */
#include "controller/series/share.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "base/map.h"

#include <stdlib.h>

#define SAID_AGAIN_US USEC_PER_HOUR /* what has not happened for so long is said again */

struct level {
    int64_t bytes;              /* taken and not sunk yet */
    int64_t us;                 /* until when it has sunk */
    int64_t refused_us, odd_us; /* last; 0 = never */
};

struct series_share {
    struct map_str *of_node;
};

struct series_share *series_share_new(void)
{
    struct series_share *s = xcalloc(1, sizeof *s);
    s->of_node = map_str_new();
    return s;
}

void series_share_free(struct series_share *s)
{
    struct map_walk w = {0};
    if (!s)
        return;
    while (map_str_next(s->of_node, &w))
        free(w.value);
    map_str_free(s->of_node);
    free(s);
}

static void sink(struct level *l, int64_t now_us)
{
    int64_t passed_s = (now_us - l->us) / USEC_PER_SEC,
            each_s = SERIES_SHARE_A_DAY / (USEC_PER_DAY / USEC_PER_SEC);
    if (passed_s <= 0)
        return;
    l->us += passed_s * USEC_PER_SEC;
    l->bytes = passed_s > l->bytes / each_s ? 0 : l->bytes - passed_s * each_s;
}

static struct level *level_of(struct series_share *s, const char *node, int64_t now_us)
{
    struct level *l = map_str_get(s->of_node, node);
    if (!l) {
        l = xcalloc(1, sizeof *l);
        l->us = now_us;
        map_str_put(s->of_node, node, l);
    }
    return l;
}

/* Notes that it happened now. True: it had not for long, and is to be said. */
static bool note_again(int64_t *last_us, int64_t now_us)
{
    bool is_new = !*last_us || now_us - *last_us > SAID_AGAIN_US;
    *last_us = now_us > 0 ? now_us : 1;
    return is_new;
}

bool series_share_odd(struct series_share *s, const char *node, int64_t now_us)
{
    ASSERT(node && s->of_node);
    return note_again(&level_of(s, node, now_us)->odd_us, now_us);
}

bool series_share_take(struct series_share *s, const char *node, size_t bytes, int64_t now_us,
                       bool *ret_say)
{
    ASSERT(node && s->of_node);
    struct level *l = level_of(s, node, now_us);
    *ret_say = false;
    sink(l, now_us);
    if (bytes <= (size_t)SERIES_SHARE_AT_ONCE &&
        l->bytes + (int64_t)bytes <= SERIES_SHARE_AT_ONCE) {
        l->bytes += (int64_t)bytes;
        return true;
    }
    *ret_say = note_again(&l->refused_us, now_us);
    return false;
}
