/* A level for each node, which sinks. Nodes are those of the configuration and those that joined:
 * there are no more entries than these. */
#include "controller/series_share.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "base/map.h"

#include <stdlib.h>

#define SAID_AGAIN_US USEC_PER_HOUR

struct level {
    int64_t bytes, us;
    int64_t refused_us; /* last; 0 = never */
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

bool series_share_take(struct series_share *s, const char *node, size_t bytes, int64_t now_us,
                       bool *ret_say)
{
    ASSERT(node && s->of_node);
    struct level *l = map_str_get(s->of_node, node);
    *ret_say = false;
    if (!l) {
        l = xcalloc(1, sizeof *l);
        l->us = now_us;
        map_str_put(s->of_node, node, l);
    }
    sink(l, now_us);
    if (bytes <= (size_t)SERIES_SHARE_AT_ONCE &&
        l->bytes + (int64_t)bytes <= SERIES_SHARE_AT_ONCE) {
        l->bytes += (int64_t)bytes;
        return true;
    }
    *ret_say = !l->refused_us || now_us - l->refused_us > SAID_AGAIN_US;
    l->refused_us = now_us > 0 ? now_us : 1;
    return false;
}
