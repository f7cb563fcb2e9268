#include "sched/answer/hours.h"

#include "base/duration.h"
#include "sched/answer/blockers.h"
#include "sched/books/settle.h"

#define JOBS_SAID 5

/* "until Mon 18:00"; nothing where they never close. */
static const char *until(const struct cluster *cl, const struct time_windows *w, int64_t now_us,
                         struct arena *a)
{
    static const char *const day[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    int64_t at = time_windows_next(w, now_us, &cl->local.zone);
    struct civil local;
    if (at == INT64_MAX)
        return "";
    zone_local(&cl->local.zone, at, &local);
    return arena_printf(a, " until %s %02d:%02d", day[local.weekday], local.hour, local.minute);
}

static const char *span_text(int64_t us, struct arena *a)
{
    struct str s = STR_INIT;
    duration_format(us, &s);
    const char *text = arena_strdup(a, str_text(&s));
    str_done(&s);
    return text;
}

/* Of that user in that partition: how many run, and the numbers of the first.
 */
static int32_t running(const struct cluster *cl, const struct option *o, uint32_t uid,
                       struct str *names)
{
    int32_t n = 0;
    for (size_t i = 0; i < cl->run.n; i++) {
        const struct run *r = cl->run.v[i];
        if (r->uid != uid || !text_is(r->partition, o->part->p.name))
            continue;
        if (n < JOBS_SAID)
            str_addf(names, "%s%llu", n ? "," : "", (unsigned long long)r->job_id);
        n++;
    }
    str_add(names, n > JOBS_SAID ? ",…" : "");
    return n;
}

static bool is_only_in(const struct cluster *cl, const struct wjob *j, const struct spart *p)
{
    const struct compiled *c = demand_of(cl, j->lane->klass);
    bool there = false, elsewhere = false;
    for (size_t k = 0; k < c->n; k++) {
        bool may = c->option[k].never == REASON_NONE;
        there |= may && c->option[k].part == p;
        elsewhere |= may && c->option[k].part != p;
    }
    return there && !elsewhere;
}

/* So many of its components come to that partition if it does: those that
 * cannot go elsewhere. */
static int32_t components_of(const struct cluster *cl, const struct wjob *j, const struct spart *p)
{
    int32_t n = 1;
    for (uint32_t i = 0; i < j->w.het_size; i++) {
        const struct wjob *one = map_u64_get(cl->queue.by_job, j->w.het_job_id + i);
        n += one && one != j && is_only_in(cl, one, p);
    }
    return n;
}

/* Has its user as many as they allow, or too many for all of its components? */
static const char *jobs_bar(const struct cluster *cl, const struct wjob *j, const struct option *o,
                            const struct time_window *limits, const char *end, struct arena *a)
{
    struct str names = STR_INIT, said = STR_INIT;
    int32_t most = limits->max_jobs_per_user, n = running(cl, o, j->w.uid, &names),
            comes = components_of(cl, j, o->part);
    if (n + comes > most)
        str_addf(&said, "TimeWindows of partition %s allow a user %d running job%s%s; ",
                 o->part->p.name, most, most == 1 ? "" : "s", end);
    if (n >= most)
        str_addf(&said, "so many of its user run there (%s)", str_text(&names));
    else if (said.len)
        str_addf(&said, "it has %d components, and %d of its user run there", comes, n);
    const char *text = said.len ? arena_strdup(a, str_text(&said)) : NULL;
    str_done(&names);
    str_done(&said);
    return text;
}

const char *hours_bar(const struct cluster *cl, const struct wjob *j, const struct option *o,
                      int64_t now_us, struct arena *a)
{
    ASSERT(j->lane && o->part);
    struct time_window limits;
    const char *said = NULL, *part = o->part->p.name;
    if (o->part->windows.n == 0)
        return NULL;
    time_windows_at(&o->part->windows, now_us, &cl->local.zone, &limits);
    const char *end = until(cl, &o->part->windows, now_us, a);
    if (limits.max_nodes > 0 && o->nodes_min > limits.max_nodes)
        said = arena_printf(a, "TimeWindows of partition %s allow a job %d node%s%s; it needs %d",
                            part, limits.max_nodes, limits.max_nodes == 1 ? "" : "s", end,
                            o->nodes_min);
    else if (limits.max_time_us > 0 && o->limit_min_us > limits.max_time_us)
        said = arena_printf(a, "TimeWindows of partition %s allow a job %s%s; its time limit is %s",
                            part, span_text(limits.max_time_us, a), end,
                            o->limit_min_us == TIME_UNLIMITED ? "unlimited"
                                                              : span_text(o->limit_min_us, a));
    else if (limits.max_jobs_per_user > 0)
        said = jobs_bar(cl, j, o, &limits, end, a);
    return said;
}

const char *sched_hours_bar(struct cluster *cl, uint64_t job_id, int64_t now_us, struct arena *a)
{
    cluster_settle(cl);
    const struct wjob *j = map_u64_get(cl->queue.by_job, job_id);
    const struct compiled *c = j ? demand_of(cl, j->lane->klass) : NULL;
    const char *said = NULL;
    for (size_t i = 0; c && i < c->n && !said; i++)
        said = hours_bar(cl, j, &c->option[i], now_us, a);
    return said;
}
