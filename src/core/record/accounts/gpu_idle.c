/* For how long jobs have not used their GPUs, and what is to be done about it.
 *
 * Nodes say of each device since when it is idle. What a job has is idle since the last of its
 * devices became so, on whichever node (of a heterogeneous job, in whichever component), and until
 * the oldest of their words: what was not said does not count. Time before it started, or while it
 * was suspended, is not its own. */
#include "model/grammar/gpu_idle.h"
#include "base/idset.h"
#include "core/record/accounts/accounts.h"
#include "core/record/record.h"
#include "model/record/gpu_use.h"

#include <string.h>

#define KIND "gpu"

struct gpu_idle_stretch {
    int64_t since_us, until_us;
    int64_t devices;
    bool unknown, busy;
};

void node_gpus_forget(struct noderec *n)
{
    n->gpus.n = 0;
    n->gpus.said_us = 0;
}

void node_gpus_set(struct core *c, struct noderec *n, const char *text)
{
    ASSERT(c->node.v[n->index] == n);
    struct gpu_use use[GPU_USE_MAX];
    if (!text) {
        node_gpus_forget(n);
        return;
    }
    n->gpus.n = (uint32_t)gpu_use_read(text, use, GPU_USE_MAX);
    n->gpus.said_us = c->turn.now_us;
    n->gpus.v = xrealloc(n->gpus.v, (n->gpus.n + 1) * sizeof *n->gpus.v);
    memcpy(n->gpus.v, use, n->gpus.n * sizeof *use);
}

const struct gpu_use *node_gpu_use(const struct noderec *n, uint32_t index)
{
    for (uint32_t i = 0; i < n->gpus.n; i++)
        if (n->gpus.v[i].index == (int32_t)index)
            return &n->gpus.v[i];
    return NULL;
}

/* ---- how long ------------------------------------------------------------------------------- */

static void device_add(const struct noderec *n, uint32_t index, struct gpu_idle_stretch *s)
{
    const struct gpu_use *u = node_gpu_use(n, index);
    s->devices++;
    if (!u || u->idle_s < 0) {
        s->busy = true;
        return;
    }
    int64_t since = n->gpus.said_us - u->idle_s * USEC_PER_SEC;
    s->since_us = since > s->since_us ? since : s->since_us;
}

static void node_add(const struct core *c, const struct alloc_node *has, struct gpu_idle_stretch *s)
{
    const struct noderec *n = node_find(c, has->node);
    for (size_t i = 0; i < has->ngres; i++) {
        struct idset set = IDSET_INIT;
        uint32_t index;
        const char *devices = has->gres[i].devices;
        if (!text_is(has->gres[i].kind, KIND))
            continue;
        if (!n || !n->gpus.said_us || !devices || !idset_parse(&set, devices, INT32_MAX, NULL)) {
            s->unknown = true;
            return;
        }
        s->until_us = n->gpus.said_us < s->until_us ? n->gpus.said_us : s->until_us;
        for (bool more = idset_first(&set, &index); more; more = idset_next(&set, index, &index))
            device_add(n, index, s);
        idset_done(&set);
    }
}

bool job_has_gpus(const struct jobrec *r)
{
    struct span rest = span_of(r->j.alloc_gres), piece;
    while (span_next(&rest, ',', &piece))
        if (piece.len > strlen(KIND) && memcmp(piece.data, KIND, strlen(KIND)) == 0 &&
            (piece.data[strlen(KIND)] == ':' || piece.data[strlen(KIND)] == '='))
            return true;
    return false;
}

static void component_add(const struct core *c, const struct jobrec *r, int64_t grace_us,
                          struct gpu_idle_stretch *s)
{
    struct arena *a = arena_new();
    struct alloc al = {0};
    int64_t from = time_add(r->j.start_us, grace_us);
    from = r->j.suspend_us > from ? r->j.suspend_us : from;
    s->since_us = from > s->since_us ? from : s->since_us;
    s->unknown |= r->j.state != JOB_RUNNING || r->j.restored;
    if (job_has_gpus(r) && !s->unknown) {
        if (!alloc_parse(r->j.alloc, a, &al, NULL))
            s->unknown = true;
        for (size_t i = 0; i < al.n && !s->unknown; i++)
            node_add(c, &al.node[i], s);
    }
    arena_free(a);
}

int64_t job_gpus_idle(const struct core *c, const struct jobrec *r, int64_t grace_us,
                      int64_t *ret_gpus)
{
    struct gpu_idle_stretch s = {.until_us = INT64_MAX};
    jobrec_vec jobs = {0};
    if (r->j.het_job_id)
        components_find(c, leader_of(r), &jobs);
    else
        vec_push(&jobs, (struct jobrec *)(uintptr_t)r);
    for (size_t i = 0; i < jobs.n && !s.unknown; i++)
        component_add(c, jobs.v[i], grace_us, &s);
    vec_done(&jobs);
    *ret_gpus = s.devices;
    if (s.unknown || !s.devices)
        return -1;
    return !s.busy && s.until_us > s.since_us ? s.until_us - s.since_us : 0;
}

/* ---- what is done about it ------------------------------------------------------------------ */

/* The account, or one above it. */
static bool is_exempt(const struct core *c, const struct gpu_idle *p, const char *account)
{
    if (text_empty(account))
        return false;
    for (size_t i = 0; i < p->nexempt; i++)
        if (span_is(p->exempt[i], account))
            return true;
    const struct assocrec *above = assoc_find(c, account, NULL, NULL);
    for (above = above ? above->up : NULL; above; above = above->up)
        for (size_t i = 0; i < p->nexempt; i++)
            if (above->a.account && span_is(p->exempt[i], above->a.account))
                return true;
    return false;
}

void gpu_idle_policy(const struct core *c, const struct jobrec *r, struct gpu_idle *ret,
                     struct str *ret_whose)
{
    const struct qosrec *q = qos_find(c, r->j.spec.req.qos);
    const struct partrec *p = r->j.run_partition ? part_find(c, r->j.run_partition) : NULL;
    const char *text = c->settings.gpu_idle;
    if (q && !text_empty(q->q.gpu_idle)) {
        text = q->q.gpu_idle;
        if (ret_whose)
            str_addf(ret_whose, "GpuIdle of QOS %s", q->q.name);
    } else if (p && !text_empty(p->p.gpu_idle)) {
        text = p->p.gpu_idle;
        if (ret_whose)
            str_addf(ret_whose, "GpuIdle of partition %s", p->p.name);
    } else if (ret_whose) {
        str_add(ret_whose, "GpuIdle of the cluster");
    }
    if (!gpu_idle_parse(text, ret, NULL) || is_exempt(c, ret, r->j.spec.req.account)) {
        ret->stages = 0;
        return;
    }
    for (int i = 0; i < GPU_IDLE_STAGE_COUNT && !r->j.spec.batch; i++)
        ret->after_us[i] += ret->interactive_us;
}

bool gpu_idle_holds(const struct core *c, const struct jobrec *r, uint32_t requeues)
{
    return !r->j.cron && requeues > (uint32_t)c->settings.max_batch_requeue;
}

/* ---- in words ------------------------------------------------------------------------------- */

static void idle_say(int64_t idle_us, int64_t gpus, struct str *out)
{
    str_addf(out, gpus == 1 ? "its GPU has" : "its %lld GPUs have", (long long)gpus);
    str_add(out, " done nothing for ");
    duration_format(idle_us / USEC_PER_SEC * USEC_PER_SEC, out);
}

static void end_say(const struct core *c, const struct jobrec *r, const struct gpu_idle *p,
                    struct str *out)
{
    enum gpu_idle_stage_number end = gpu_idle_end(p);
    if (end == GPU_IDLE_STAGE_COUNT)
        return;
    str_add(out, "; after ");
    duration_format(p->after_us[end], out);
    bool back = end == GPU_IDLE_NUMBER_REQUEUE && job_may_requeue(c, r);
    str_add(out, !back ? " it is cancelled"
                 : gpu_idle_holds(c, r, r->j.gpu_idle_requeues + 1)
                     ? " it is sent back to the queue, where it is held, as it was often sent back"
                     : " it is sent back to the queue");
}

bool gpu_idle_say(const struct core *c, const struct jobrec *r, struct str *out)
{
    struct gpu_idle p;
    struct str whose = STR_INIT;
    int64_t gpus;
    if (r->j.state != JOB_RUNNING || (!job_has_gpus(r) && !r->j.het_job_id))
        return false;
    const struct jobrec *leader = job_find(c, leader_of(r));
    gpu_idle_policy(c, leader ? leader : r, &p, &whose);
    int64_t idle = job_gpus_idle(c, r, p.stages ? p.grace_us : 0, &gpus);
    if (idle > 0) {
        idle_say(idle, gpus, out);
        end_say(c, leader ? leader : r, &p, out);
        if (p.stages)
            str_addf(out, " (%s)", str_text(&whose));
    }
    str_done(&whose);
    return idle > 0;
}
