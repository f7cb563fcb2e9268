/* Jobs: sums of all that the controller knows, and rows of those that run. */
#include "core/query/metrics.h"
#include "core/record/accounts/private.h"
#include "model/env/device_out.h"
#include "model/grammar/gres.h"
#include "model/job/job_counts.h"
#include "model/record/gpu_use.h"

#include <stdlib.h>
#include <string.h>

#define MIB_BYTES (INT64_C(1) << 20)

/* "gpu:v100=4,nic=2": of all types of that kind. */
static int64_t gres_sum(const char *gres, const char *kind)
{
    struct span rest = span_of(gres ? gres : ""), piece;
    size_t len = strlen(kind);
    int64_t sum = 0;
    while (span_next(&rest, ',', &piece)) {
        const char *equals = memchr(piece.data, '=', piece.len);
        if (!equals || piece.len <= len || memcmp(piece.data, kind, len) != 0 ||
            (piece.data[len] != ':' && piece.data[len] != '='))
            continue;
        for (const char *p = equals + 1; p < piece.data + piece.len && *p >= '0' && *p <= '9'; p++)
            sum = sum < INT64_MAX / 16 ? sum * 10 + (*p - '0') : sum;
    }
    return sum;
}

/* ---- sums ----------------------------------------------------------------------------------- */

static int64_t *state_sum(struct job_sums *s, enum job_state state)
{
    switch (state) {
    case JOB_PENDING: return &s->pending;
    case JOB_RUNNING: return &s->running;
    case JOB_SUSPENDED: return &s->suspended;
    case JOB_COMPLETING: return &s->completing;
    case JOB_COMPLETED: return &s->completed;
    case JOB_CANCELLED: return &s->cancelled;
    case JOB_FAILED: return &s->failed;
    case JOB_TIMEOUT: return &s->timeout;
    case JOB_NODE_FAIL: return &s->node_fail;
    case JOB_PREEMPTED: return &s->preempted;
    case JOB_BOOT_FAIL: return &s->bootfail;
    case JOB_DEADLINE: return &s->deadline;
    case JOB_OUT_OF_MEMORY: return &s->oom;
    case JOB_REQUEUED: return &s->requeued;
    case JOB_SPECIAL_EXIT: return &s->pending;
    case JOB_RESIZING: return &s->resizing;
    case JOB_STATE_COUNT: break;
    }
    return &s->all;
}

static void job_sum(struct job_sums *s, const struct jobrec *r, int64_t n)
{
    const struct job *j = &r->j;
    bool has = j->state == JOB_RUNNING || j->state == JOB_SUSPENDED || j->state == JOB_COMPLETING ||
               j->state == JOB_REQUEUED;
    s->all += n;
    *state_sum(s, (enum job_state)j->state) += n;
    if (job_waits(r) && j->spec.hold)
        s->hold += n;
    if (!has)
        return;
    s->cpus += j->alloc_cpus;
    s->nodes += j->alloc_nodes;
    s->gpus += gres_sum(j->alloc_gres, "gpu");
    s->memory_bytes +=
        j->alloc_mem_mib < INT64_MAX / MIB_BYTES / 1024 ? j->alloc_mem_mib * MIB_BYTES : 0;
}

/* That it runs in, or asks for first. */
static const char *partition_of(const struct core *c, const struct jobrec *r)
{
    const struct partrec *p = part_first(c, r->j.spec.req.partition);
    return r->j.run_partition ? r->j.run_partition : p ? p->p.name : NULL;
}

static void job_count(struct metrics *m, const struct core *c, const struct jobrec *r,
                      const char *partition)
{
    int64_t n = job_is_array(r) && r->j.state == JOB_PENDING ? (int64_t)r->pending.count : 1;
    const struct peer *reader = metrics_reader(m);
    const char *user = r->j.user_name, *account = r->j.spec.req.account;
    bool seen = may_see_job(c, reader, &r->j) && may_see_usage(c, reader, user, account);
    job_sum(&m->jobs, r, n);
    if (metrics_want(m, METRICS_PARTITIONS) && partition)
        job_sum(&metrics_part_sums(m, partition)->jobs, r, n);
    if (!metrics_want(m, METRICS_JOBS_USERS_ACCTS) || !seen)
        return;
    if (!text_empty(user) && may_see_user(c, reader, user, account))
        job_sum(metrics_sums(m, m->user, user), r, n);
    if (!text_empty(account) && may_see_account(c, reader, account))
        job_sum(metrics_sums(m, m->account, account), r, n);
}

static void job_queued(struct metrics *m, const struct core *c, const struct jobrec *r,
                       int64_t now_us)
{
    struct plan_wait wait;
    int64_t n = job_is_array(r) ? (int64_t)r->pending.count : 1;
    enum job_state state = (enum job_state)r->j.state;
    if (job_state_over(state))
        return;
    enum job_reason reason =
        state == JOB_PENDING ? pending_reason(c, r, now_us, &wait) : (enum job_reason)r->j.reason;
    if (reason < REASON_COUNT)
        m->queue[state][reason] += state == JOB_PENDING ? (uint64_t)n : 1;
}

/* ---- rows of a running job ------------------------------------------------------------------ */

static void whose_labels(const struct metrics *m, const struct core *c, const struct jobrec *r,
                         const char *partition, struct str *out)
{
    const struct peer *reader = metrics_reader(m);
    const char *user = r->j.user_name, *account = r->j.spec.req.account;
    struct str number = STR_INIT;
    label_add_u64(out, "job_id", r->j.id);
    str_add_u64(&number, r->j.user_id);
    if (may_see_user(c, reader, user, account))
        label_add(out, "user", user ? user : str_text(&number));
    if (may_see_account(c, reader, account))
        label_add(out, "account", account);
    label_add(out, "partition", partition);
    str_done(&number);
}

static void info_row(struct metrics *m, const struct jobrec *r, struct str *labels)
{
    size_t before = labels->len;
    if (r->j.array_task_id != NO_TASK) {
        label_add_u64(labels, "array_job_id", r->j.array_job_id);
        label_add_u64(labels, "array_task_id", r->j.array_task_id);
    }
    label_add(labels, "qos", r->j.spec.req.qos);
    label_add(labels, "state", job_state_names.name[r->j.state]);
    row_i64(m, ROW_JOB_INFO, labels, 1);
    str_cut(labels, before);
}

static int64_t largest_rss(const struct jobrec *r)
{
    int64_t most = 0;
    for (size_t i = 0; i < r->step.n; i++)
        if (r->step.v[i]->s.max_rss_bytes > most)
            most = r->step.v[i]->s.max_rss_bytes;
    return most;
}

static void running_rows(struct metrics *m, const struct jobrec *r, struct str *labels)
{
    const struct job *j = &r->j;
    int64_t rss = largest_rss(r);
    info_row(m, r, labels);
    row_seconds(m, ROW_JOB_START, labels, j->start_us);
    row_i64(m, ROW_JOB_CPUS, labels, j->alloc_cpus);
    row_i64(m, ROW_JOB_MEM, labels, j->alloc_mem_mib * MIB_BYTES);
    row_seconds(m, ROW_JOB_CPU_TIME, labels, j->cpu_user_us + j->cpu_system_us);
    if (rss > 0) /* not measured yet: absent, not zero */
        row_i64(m, ROW_JOB_MEM_USED, labels, rss);
}

void job_at_done(struct job_at *j)
{
    arena_free(j->arena);
    str_done(&j->labels);
    *j = (struct job_at){0};
}

/* False: there are no devices to be told. */
static bool running_begin(struct metrics *m, const struct core *c, const struct jobrec *r,
                          const char *partition)
{
    struct job_at *at = &m->job;
    size_t bytes = 0;
    for (int i = ROW_JOB_INFO; i < ROW_METRIC_COUNT; i++)
        bytes += m->row[i].len;
    if (bytes > METRICS_ROWS_MAX_BYTES) {
        m->left_out++;
        return false;
    }
    *at = (struct job_at){.id = r->j.id, .arena = arena_new()};
    whose_labels(m, c, r, partition, &at->labels);
    running_rows(m, r, &at->labels);
    if (!text_empty(r->j.alloc_gres) && alloc_parse(r->j.alloc, at->arena, &at->alloc, NULL))
        return true;
    job_at_done(at);
    return false;
}

static const struct device *device_find(const struct device_list *list, const char *kind,
                                        uint32_t index)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->v[i].index == (int32_t)index && text_is(list->v[i].kind, kind))
            return &list->v[i];
    return NULL;
}

/* What its node does not tell is absent. */
static void device_use_rows(struct metrics *m, const struct gpu_use *u)
{
    const struct str *labels = &m->job.labels;
    if (u->util >= 0) {
        row_i64(m, ROW_DEVICE_BUSY, labels, u->util);
        row_i64(m, ROW_DEVICE_IDLE, labels, u->idle_s > 0 ? u->idle_s : 0);
    } else if (u->idle_s >= 0) {
        row_i64(m, ROW_DEVICE_IDLE, labels, u->idle_s);
    }
    if (u->mem_mib >= 0)
        row_i64(m, ROW_DEVICE_MEM, labels, u->mem_mib * MIB_BYTES);
    if (u->watts >= 0)
        row_i64(m, ROW_DEVICE_POWER, labels, u->watts);
}

static void device_rows(struct metrics *m, const struct device_list *known,
                        const struct alloc_gres *g, const struct noderec *n)
{
    struct str *labels = &m->job.labels;
    struct idset set = IDSET_INIT;
    size_t before = labels->len;
    uint32_t index;
    if (!g->devices || !idset_parse(&set, g->devices, INT32_MAX, NULL))
        return;
    for (bool more = idset_first(&set, &index); more; more = idset_next(&set, index, &index)) {
        const struct device *d = device_find(known, g->kind, index);
        label_add(labels, "kind", g->kind);
        label_add_u64(labels, "index", index);
        label_add(labels, "type", d && d->type ? d->type : g->type);
        label_add(labels, "uuid", d ? d->uuid : NULL);
        row_i64(m, ROW_JOB_DEVICE, labels, 1);
        const struct gpu_use *u = n && text_is(g->kind, "gpu") ? node_gpu_use(n, index) : NULL;
        if (u)
            device_use_rows(m, u);
        str_cut(labels, before);
    }
    idset_done(&set);
}

struct gpus_used {
    int64_t percent, bytes;
    bool busy, memory; /* is it known? */
};

static void gpu_use_add(struct gpus_used *u, const struct step *s)
{
    u->busy |= s->gpu_util_samples > 0;
    u->memory |= s->gpu_samples > 0;
    u->percent += s->gpu_util_samples ? s->gpu_util_ave : 0;
    u->bytes += s->gpu_samples ? s->gpu_mem_max_bytes : 0;
}

/* What its live steps used there. */
static void gpu_rows(struct metrics *m, const struct core *c, const struct jobrec *r,
                     const struct noderec *n)
{
    struct gpus_used u = {0};
    for (size_t i = 0; i < r->step.n; i++) {
        const struct steprec *st = r->step.v[i];
        if (!step_live(st))
            continue;
        if (st->part.n == 0 && text_is(st->s.nodes, n->n.name))
            gpu_use_add(&u, &st->s);
        for (size_t k = 0; k < st->part.n; k++)
            if (st->part.v[k].node == node_index(c, n) && !st->part.v[k].over)
                gpu_use_add(&u, &st->part.v[k].used);
    }
    if (u.busy)
        row_i64(m, ROW_JOB_GPU_BUSY, &m->job.labels, u.percent);
    if (u.memory)
        row_i64(m, ROW_JOB_GPU_MEM, &m->job.labels, u.bytes);
}

bool metrics_job_node(struct metrics *m, const struct core *c)
{
    ASSERT(m->job.id);
    struct job_at *at = &m->job;
    const struct jobrec *r = job_find(c, at->id);
    bool runs = r && (r->j.state == JOB_RUNNING || r->j.state == JOB_SUSPENDED);
    if (!runs || at->node >= at->alloc.n) {
        job_at_done(at);
        return false;
    }
    const struct alloc_node *has = &at->alloc.node[at->node++];
    const struct noderec *n = node_find(c, has->node);
    struct arena *a = arena_new();
    struct device_list known = {0};
    size_t before = at->labels.len;
    if (n && n->n.devices)
        devices_parse(n->n.devices, a, &known, NULL);
    label_add(&at->labels, "node", has->node);
    for (size_t i = 0; i < has->ngres; i++)
        device_rows(m, &known, &has->gres[i], n);
    if (n)
        gpu_rows(m, c, r, n);
    str_cut(&at->labels, before);
    arena_free(a);
    return true;
}

/* ---- a job ---------------------------------------------------------------------------------- */

/* An element that was cancelled before it ran is no job that anybody saw. */
static bool never_was(const struct jobrec *r)
{
    return r->j.array_job_id && r->j.id != r->j.array_job_id && r->j.state == JOB_CANCELLED &&
           !r->j.start_us && !r->j.attempt;
}

bool metrics_job(struct metrics *m, const struct core *c, const struct jobrec *r, int64_t now_us)
{
    bool runs = r->j.state == JOB_RUNNING || r->j.state == JOB_SUSPENDED;
    const char *partition = partition_of(c, r);
    if (never_was(r))
        return true;
    job_count(m, c, r, partition);
    if (metrics_want(m, METRICS_SCHEDULER))
        job_queued(m, c, r, now_us);
    if (!runs || !metrics_want(m, METRICS_RUNNING) || !may_see_job(c, metrics_reader(m), &r->j))
        return true;
    return !running_begin(m, c, r, partition);
}
