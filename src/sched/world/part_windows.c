#include "sched/world/part_windows.h"

#include <string.h>

#define LOOK_AHEAD 32 /* openings and closings looked ahead */

enum job_reason part_window_bars(const struct world *w, const struct option *o, int64_t start_us)
{
    struct time_window limits;
    if (o->part->windows.n == 0)
        return REASON_NONE;
    time_windows_at(&o->part->windows, start_us, &w->cl->zone, &limits);
    if (limits.max_nodes > 0 && o->nodes_min > limits.max_nodes)
        return REASON_PARTITION_NODE_LIMIT;
    if (limits.max_time_us > 0 && o->limit_min_us > limits.max_time_us)
        return REASON_PARTITION_TIME_LIMIT;
    return REASON_NONE;
}

static int32_t running_of(const struct pass *p, const struct spart *part, uint32_t uid)
{
    struct map_walk walk = {0};
    int32_t n = 0;
    while (map_u64_next(p->cl->run_of, &walk)) {
        const struct run *r = walk.value;
        n += r->uid == uid && text_is(r->partition, part->p.name);
    }
    for (size_t i = 0; i < p->v->start.n; i++) {
        const struct wjob *j = map_u64_get(p->cl->wait_of, p->v->start.v[i].job_id);
        n += j && j->w.uid == uid && text_is(p->v->start.v[i].partition, part->p.name);
    }
    return n;
}

bool part_window_full(const struct pass *p, const struct entry *e)
{
    struct time_window limits;
    if (e->o->part->windows.n == 0 || p->future)
        return false;
    time_windows_at(&e->o->part->windows, p->w->now_us, &p->cl->zone, &limits);
    return limits.max_jobs_per_user > 0 &&
           running_of(p, e->o->part, e->job->w.uid) >= limits.max_jobs_per_user;
}

void part_window_times(const struct world *w, const struct spart *part, i64_vec *at)
{
    int64_t next = w->now_us;
    for (int i = 0; i < LOOK_AHEAD && part->windows.n > 0; i++) {
        next = time_windows_next(&part->windows, next, &w->cl->zone);
        if (next == INT64_MAX)
            return;
        vec_push(at, next);
    }
}
