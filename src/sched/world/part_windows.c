#include "sched/world/part_windows.h"

#define LOOK_AHEAD 32 /* openings and closings looked ahead */

enum job_reason part_window_bars(const struct world *w, const struct option *o, int64_t start_us)
{
    ASSERT(start_us >= w->now_us);
    struct time_window limits;
    if (o->part->windows.n == 0)
        return REASON_NONE;
    time_windows_at(&o->part->windows, start_us, &w->cl->local.zone, &limits);
    if (limits.max_nodes > 0 && o->nodes_min > limits.max_nodes)
        return REASON_PARTITION_NODE_LIMIT;
    if (limits.max_time_us > 0 && o->limit_min_us > limits.max_time_us)
        return REASON_PARTITION_TIME_LIMIT;
    return REASON_NONE;
}

int32_t part_window_nodes(const struct world *w, const struct option *o, int64_t start_us,
                          int32_t most)
{
    ASSERT(start_us >= w->now_us && most > 0);
    struct time_window limits;
    if (o->part->windows.n == 0)
        return most;
    time_windows_at(&o->part->windows, start_us, &w->cl->local.zone, &limits);
    return limits.max_nodes > 0 && limits.max_nodes < most ? limits.max_nodes : most;
}

int64_t part_window_limit(const struct world *w, const struct option *o, int64_t limit_us,
                          int64_t start_us)
{
    struct time_window limits;
    if (o->part->windows.n == 0 || o->limit_min_us >= limit_us)
        return limit_us;
    time_windows_at(&o->part->windows, start_us, &w->cl->local.zone, &limits);
    bool cuts = limits.max_time_us >= o->limit_min_us && limits.max_time_us > 0;
    return cuts && limits.max_time_us < limit_us ? limits.max_time_us : limit_us;
}

void part_window_times(const struct world *w, const struct spart *part, i64_vec *at)
{
    int64_t next = w->now_us;
    /* Bounded, for they recur without end: what starts later than that is found when they come
     * nearer. */
    for (int i = 0; i < LOOK_AHEAD && part->windows.n > 0; i++) {
        next = time_windows_next(&part->windows, next, &w->cl->local.zone);
        if (next == INT64_MAX)
            return;
        vec_push(at, next);
    }
}
