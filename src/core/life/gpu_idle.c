/* GpuIdle: each time a node says what its GPUs do, the jobs there that do not use theirs are
 * warned, told of by mail, and in the end sent back or cancelled. What was done is kept in the
 * job, so that nobody is told twice because the controller was started anew, and is forgotten as
 * soon as one of its GPUs works. A job is never ended before its user was told, and had as long to
 * react as there is between the two stages: when nothing was heard of the node for hours, it is
 * told first. One that is sent back more often than MaxBatchRequeue says waits held: its owner has
 * to look. */
#include "model/grammar/gpu_idle.h"
#include "core/life/life.h"
#include "core/record/accounts/accounts.h"

#define TELLS ((uint32_t)GPU_IDLE_WARN | (uint32_t)GPU_IDLE_NOTIFY)

static void told_set(struct core *c, struct jobrec *r, uint32_t told, int64_t at_us)
{
    if (r->j.gpu_idle_told == told && r->j.gpu_idle_told_us == at_us)
        return;
    r->j.gpu_idle_told = told;
    r->j.gpu_idle_told_us = at_us;
    job_save(c, r);
}

/* A line in its error output, where the batch script writes, or its steps on the first node. */
static void line_say(struct core *c, const struct jobrec *r, const char *sentence)
{
    const struct noderec *n = r->j.batch_host ? node_find(c, r->j.batch_host) : NULL;
    struct msg_signal m = {.job_id = r->j.id, .attempt = r->j.attempt};
    m.say = arena_printf(c->turn.fx->arena, "*** JOB %llu: %s ***", (unsigned long long)r->j.id,
                         sentence);
    if (n && n->conn)
        fx_send(c, n->conn, MSG_SIGNAL, &m, 0);
}

static bool runs_a_step(const struct jobrec *r)
{
    for (size_t i = 0; i < r->step.n; i++)
        if (r->step.v[i]->s.step_id >= 0 && step_live(r->step.v[i]))
            return true;
    return false;
}

/* Nobody writes for an allocation of salloc without a step: the command itself hears it. */
static void holder_say(struct core *c, const struct jobrec *r, const char *sentence)
{
    struct msg_stream_notice m = {0};
    if (!r->holder_conn || runs_a_step(r))
        return;
    m.text = arena_printf(c->turn.fx->arena, "job %llu: %s", (unsigned long long)r->j.id, sentence);
    fx_send(c, r->holder_conn, MSG_STREAM_NOTICE, &m, 0);
}

static void tell(struct core *c, struct jobrec *r, uint32_t stages)
{
    struct str text = STR_INIT;
    if (gpu_idle_say(c, r, &text)) {
        line_say(c, r, str_text(&text));
        holder_say(c, r, str_text(&text));
        if (stages & GPU_IDLE_NOTIFY)
            mail_gpu_idle(c, r, str_text(&text));
        fx_log(c, LEVEL_INFO, "job %llu of %s: %s", (unsigned long long)r->j.id,
               r->j.user_name ? r->j.user_name : "?", str_text(&text));
    }
    str_done(&text);
    told_set(c, r, r->j.gpu_idle_told | stages, c->turn.now_us);
}

/* The accounting says it twice: as the reason, and as a comment that outlives a requeue. */
static void reason_write(struct core *c, struct jobrec *r)
{
    struct str text = STR_INIT, comment = STR_INIT;
    gpu_idle_say(c, r, &text);
    text_set(c, &r->j.reason_detail, str_text(&text));
    if (!text_empty(r->j.system_comment))
        str_addf(&comment, "%s; ", r->j.system_comment);
    str_addf(&comment, "run %u was ended by GpuIdle: %s", r->j.attempt, str_text(&text));
    text_set(c, &r->j.system_comment, str_text(&comment));
    str_done(&text);
    str_done(&comment);
}

static void end(struct core *c, struct jobrec *r, enum gpu_idle_stage_number stage)
{
    ASSERT(r->j.state == JOB_RUNNING && r->j.gpu_idle_told);
    jobrec_vec jobs = {0};
    reason_write(c, r);
    holder_say(c, r, r->j.reason_detail);
    fx_log(c, LEVEL_INFO, "job %llu of %s is ended: %s", (unsigned long long)r->j.id,
           r->j.user_name ? r->j.user_name : "?", r->j.reason_detail);
    if (stage == GPU_IDLE_NUMBER_REQUEUE && job_may_requeue(c, r)) {
        r->j.requeue_pending = true;
        r->j.gpu_idle_requeues++;
        if (gpu_idle_holds(c, r, r->j.gpu_idle_requeues))
            r->j.hold_after_requeue = true;
        job_end(c, r, JOB_REQUEUED, REASON_GPU_IDLE, c->settings.kill_wait_us, "DUE TO IDLE GPUS");
        return;
    }
    if (r->j.het_job_id && !r->j.spec.batch)
        components_find(c, r->j.id, &jobs);
    else
        vec_push(&jobs, r);
    for (size_t i = 0; i < jobs.n; i++)
        component_end(c, jobs.v[i], JOB_CANCELLED, REASON_GPU_IDLE, "DUE TO IDLE GPUS");
    vec_done(&jobs);
}

/* So long after it was told of last it may be ended. */
static int64_t notice_us(const struct gpu_idle *p, enum gpu_idle_stage_number last)
{
    int64_t before = 0;
    for (int i = 0; i < GPU_IDLE_NUMBER_REQUEUE; i++)
        if (p->stages >> i & 1)
            before = p->after_us[i];
    return p->after_us[last] - before;
}

static void job_look(struct core *c, struct jobrec *r)
{
    struct gpu_idle p;
    int64_t gpus;
    uint32_t due = 0;
    gpu_idle_policy(c, r, &p, NULL);
    int64_t idle = p.stages || r->j.gpu_idle_told ? job_gpus_idle(c, r, p.grace_us, &gpus) : -1;
    if (idle < 0) /* not known: nothing changes */
        return;
    for (int i = 0; i < GPU_IDLE_STAGE_COUNT; i++)
        if ((p.stages >> i & 1) && idle >= p.after_us[i])
            due |= 1u << i;
    if (!due) {
        told_set(c, r, 0, 0);
        return;
    }
    if (due & TELLS & ~r->j.gpu_idle_told) {
        tell(c, r, due & TELLS);
        return;
    }
    enum gpu_idle_stage_number last = gpu_idle_end(&p);
    if (r->j.gpu_idle_told_us > c->turn.now_us) /* the clock was set back */
        told_set(c, r, r->j.gpu_idle_told, c->turn.now_us);
    if ((due & GPU_IDLE_ENDS) && !r->j.preempt_us &&
        c->turn.now_us - r->j.gpu_idle_told_us >= notice_us(&p, last))
        end(c, r, last);
}

void gpu_idle_look(struct core *c, const struct noderec *n)
{
    uint64_t *ids = n->gpus.n && n->job.n ? xmemdup(n->job.v, n->job.n * sizeof *ids) : NULL;
    size_t count = ids ? n->job.n : 0;
    for (size_t i = 0; i < count; i++) {
        struct jobrec *r = job_find(c, ids[i]);
        r = r && job_has_gpus(r) ? job_find(c, leader_of(r)) : NULL;
        if (r && r->j.state == JOB_RUNNING)
            job_look(c, r);
    }
    free(ids);
}
