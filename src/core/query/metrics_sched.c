/* The planner and the queue, GPUs by type, the controller itself. */
#include "core/query/metrics.h"

#include <string.h>

#define ONE(name, help)     (&(const struct metric_row){name, false, help})
#define COUNTER(name, help) (&(const struct metric_row){name, true, help})

/* Under Slurm's names; like ours its planner's pass over the whole queue is both of Slurm's
 * cycles. Times in microseconds, as there. X(name, expression of the diag, help) */
// clang-format off
#define SLURM_FIGURES(X) \
    X("slurm_sdiag_jobs_submitted", d->jobs_submitted, "Jobs submitted") \
    X("slurm_sdiag_jobs_started", d->jobs_started, "Jobs started") \
    X("slurm_sdiag_jobs_completed", d->jobs_completed, "Jobs that ended well") \
    X("slurm_sdiag_jobs_canceled", d->jobs_cancelled, "Jobs cancelled") \
    X("slurm_sdiag_jobs_failed", d->jobs_failed, "Jobs that ended otherwise") \
    X("slurm_sdiag_jobs_pending", d->jobs_pending, "Jobs that wait") \
    X("slurm_sdiag_jobs_running", d->jobs_running, "Jobs that run") \
    X("slurm_schedule_cycle_cnt", d->plans, "Passes of the planner") \
    X("slurm_schedule_cycle_last", (uint64_t)d->plan_last_us, "Microseconds of the last pass") \
    X("slurm_schedule_cycle_max", (uint64_t)d->plan_max_us, "Microseconds of the longest") \
    X("slurm_schedule_cycle_sum", (uint64_t)d->plan_sum_us, "Microseconds of all") \
    X("slurm_schedule_cycle_depth", d->considered_sum, "Jobs considered in all passes") \
    X("slurm_schedule_queue_len", d->considered, "Jobs considered in the last pass") \
    X("slurm_bf_cycle_cnt", d->plans, "Passes of the planner") \
    X("slurm_bf_cycle_last", (uint64_t)d->plan_last_us, "Microseconds of the last pass") \
    X("slurm_bf_cycle_max", (uint64_t)d->plan_max_us, "Microseconds of the longest") \
    X("slurm_bf_cycle_sum", (uint64_t)d->plan_sum_us, "Microseconds of all") \
    X("slurm_bf_last_depth", d->considered, "Jobs considered in the last pass") \
    X("slurm_bf_last_depth_try", d->considered, "Jobs considered in the last pass") \
    X("slurm_bf_depth_sum", d->considered_sum, "Jobs considered in all passes") \
    X("slurm_bf_depth_try_sum", d->considered_sum, "Jobs considered in all passes") \
    X("slurm_bf_queue_len", d->considered, "Jobs considered in the last pass") \
    X("slurm_bf_queue_len_sum", d->considered_sum, "Jobs considered in all passes") \
    X("slurm_bf_when_last_cycle", (uint64_t)(d->plan_at_us / USEC_PER_SEC), "When the last pass was, in seconds since 1970") \
    X("slurm_backfilled_jobs", d->backfilled_ever, "Jobs started ahead of others of higher priority, since the controller started") \
    X("slurm_last_backfilled_jobs", d->backfilled, "The same, since figures were reset") \
    X("slurm_server_thread_cnt", d->connections, "Commands and daemons connected")
// clang-format on

static void slurm_figures(struct metrics *m)
{
    const struct diag *d = &m->asked.diag;
#define X(name, value, help) metric_one(m, &m->head, ONE(name, help), (int64_t)(value));
    SLURM_FIGURES(X)
#undef X
}

static void our_figures(struct metrics *m)
{
    const struct diag *d = &m->asked.diag;
    struct str *out = &m->head;
    metric_one(m, out, COUNTER("remuda_jobs_submitted", "Jobs submitted, an array once"),
               (int64_t)d->jobs_submitted);
    metric_one(m, out, COUNTER("remuda_jobs_started", "Jobs started"), (int64_t)d->jobs_started);
    metric_one(m, out, COUNTER("remuda_plans", "Passes of the planner"), (int64_t)d->plans);
    metric_seconds(m, out, COUNTER("remuda_plan_seconds", "Time of all passes of the planner"),
                   d->plan_sum_us);
    metric_seconds(m, out, ONE("remuda_plan_last_seconds", "Time of the last pass"),
                   d->plan_last_us);
    metric_seconds(m, out, ONE("remuda_plan_max_seconds", "Time of the longest pass"),
                   d->plan_max_us);
    metric_one(m, out, ONE("remuda_plan_considered_jobs", "Jobs considered in the last pass"),
               (int64_t)d->considered);
    metric_one(m, out, COUNTER("remuda_turns", "Turns of the controller"), (int64_t)d->turns);
    metric_one(m, out, COUNTER("remuda_commits", "Commits of the store"), (int64_t)d->commits);
    metric_one(m, out, ONE("remuda_store_ready", "1: what is asked can be committed"),
               !m->asked.store_away);
    metric_one(m, out, ONE("remuda_nodes_connected", "Node daemons connected"),
               (int64_t)d->nodes_connected);
    metric_one(m, out, ONE("remuda_connections", "Commands and daemons connected"),
               (int64_t)d->connections);
    metric_seconds(m, out, ONE("remuda_start_time_seconds", "When the controller started"),
                   d->start_us);
}

/* How long the loop was held, each time: for so long nobody was heard. */
static void round_histogram(struct metrics *m)
{
    static const char *const most[] = {"0.0001", "0.0002", "0.0005", "0.001", "0.002",
                                       "0.005",  "0.01",   "0.02",   "0.05",  "0.1",
                                       "0.2",    "0.5",    "1.0",    "+Inf"};
    const struct diag *d = &m->asked.diag;
    const uint64_t of[] = {d->rounds_100us, d->rounds_200us, d->rounds_500us, d->rounds_1ms,
                           d->rounds_2ms,   d->rounds_5ms,   d->rounds_10ms,  d->rounds_20ms,
                           d->rounds_50ms,  d->rounds_100ms, d->rounds_200ms, d->rounds_500ms,
                           d->rounds_1s,    d->rounds_longer};
    struct str *out = &m->head;
    uint64_t sum = 0;
    str_add(out, "# HELP remuda_loop_round_seconds Processor time of each round of the loop\n"
                 "# TYPE remuda_loop_round_seconds histogram\n");
    for (size_t i = 0; i < ARRAY_LEN(of); i++) {
        sum += of[i];
        str_addf(out, "remuda_loop_round_seconds_bucket{le=\"%s\"} %llu\n", most[i],
                 (unsigned long long)sum);
    }
    str_addf(out, "remuda_loop_round_seconds_count %llu\nremuda_loop_round_seconds_sum ",
             (unsigned long long)sum);
    seconds_add(out, d->round_sum_us);
    str_addc(out, '\n');
}

static void queue_rows(struct metrics *m)
{
    const struct metric_row *row =
        ONE("remuda_queue_jobs", "Jobs that are not over, elements of arrays one each");
    struct str labels = STR_INIT;
    metric_head(m, &m->head, "", row);
    for (size_t s = 0; s < JOB_STATE_COUNT; s++)
        for (size_t r = 0; r < REASON_COUNT; r++) {
            if (!m->queue[s][r])
                continue;
            str_clear(&labels);
            label_add(&labels, "state", job_state_names.name[s]);
            label_add(&labels, "reason", job_reason_names.name[r]);
            str_addf(&m->head, "remuda_queue_jobs{%s} %llu\n", str_text(&labels),
                     (unsigned long long)m->queue[s][r]);
        }
    str_done(&labels);
}

static void gpu_row(struct metrics *m, const char *type, const char *state, int64_t n)
{
    struct str labels = STR_INIT;
    label_add(&labels, "type", type);
    label_add(&labels, "state", state);
    str_addf(&m->head, "remuda_gpus{%s} %lld\n", str_text(&labels), (long long)(n > 0 ? n : 0));
    str_done(&labels);
}

static void gpu_rows(struct metrics *m)
{
    struct map_walk w = {0};
    metric_head(m, &m->head, "",
                ONE("remuda_gpus", "GPUs by type: allocated to jobs, idle, broken, or away with "
                                   "a node that takes no jobs"));
    while (map_str_next(m->gpu_type, &w)) {
        const struct gpu_sums *s = w.value;
        int64_t away = s->away - s->away_alloc;
        gpu_row(m, w.text, "allocated", s->alloc);
        gpu_row(m, w.text, "idle", s->all - s->alloc - s->broken - away);
        gpu_row(m, w.text, "broken", s->broken);
        gpu_row(m, w.text, "away", away);
    }
}

static void build_row(struct metrics *m)
{
    struct str labels = STR_INIT;
    metric_head(m, &m->head, "", ONE("remuda_build_info", "1: what runs, in the label version"));
    label_add(&labels, "version", m->asked.version);
    str_addf(&m->head, "remuda_build_info{%s} 1\n", str_text(&labels));
    str_done(&labels);
}

void metrics_scheduler(struct metrics *m, bool with_nodes)
{
    slurm_figures(m);
    our_figures(m);
    build_row(m);
    round_histogram(m);
    queue_rows(m);
    if (with_nodes)
        gpu_rows(m);
    metric_one(m, &m->head,
               ONE("remuda_metrics_left_out", "Running jobs left out of this page, which is full"),
               (int64_t)m->left_out);
}
