/* cancel: ends or signals jobs, by references, by filters, or both. */
#include "core/record/asked.h"
#include "core/request/request.h"

#include "model/grammar/signals.h"
#include "model/job/stopped.h"

struct cancel {
    const struct msg_cancel *m;
    struct map_u64 *uid; /* NULL = anybody's */
    struct asked_words state, partition, name, account, qos, reservation, wckey, nodes;
};

static bool cancel_fill(const struct core *c, void *ctx, const void *body, struct err *ret_err)
{
    const struct msg_cancel *m = body;
    struct cancel *x = ctx;
    *x = (struct cancel){.m = m,
                         .uid = asked_uids_read(m->uids),
                         .state = asked_words_read(m->states),
                         .partition = asked_words_read(m->partitions),
                         .name = asked_words_one(m->names),
                         .account = asked_words_read(m->accounts),
                         .qos = asked_words_read(m->qos),
                         .reservation = asked_words_read(m->reservations),
                         .wckey = asked_words_read(m->wckeys)};
    return asked_nodes_read(c, m->nodes, &x->nodes, ret_err);
}

static void cancel_done(void *ctx)
{
    struct cancel *x = ctx;
    struct asked_words *const words[] = {&x->state, &x->partition,   &x->name,  &x->account,
                                         &x->qos,   &x->reservation, &x->wckey, &x->nodes};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        asked_words_done(words[i]);
    map_u64_free(x->uid);
}

static bool state_fits(const struct cancel *x, const struct job *j)
{
    return asked_words_have(&x->state, enum_name(&job_state_names, j->state)) ||
           (job_is_stopped(j) && asked_words_have(&x->state, STATE_STOPPED));
}

static bool fits(const void *ctx, const struct jobrec *r, size_t *looks)
{
    const struct cancel *x = ctx;
    const struct job_spec *s = &r->j.spec;
    const char *partition = r->j.run_partition ? r->j.run_partition : s->req.partition;
    return (!x->uid || map_u64_get(x->uid, r->j.user_id)) && state_fits(x, &r->j) &&
           asked_words_have(&x->partition, partition) && asked_words_have(&x->name, s->name) &&
           asked_words_have(&x->account, s->req.account) && asked_words_have(&x->qos, s->req.qos) &&
           asked_words_have(&x->reservation, job_reservation(&r->j)) &&
           asked_words_have(&x->wckey, s->wckey) && asked_nodes_fit(&x->nodes, r, looks);
}

/* Without a signal: SIGKILL at once, as Slurm has it for a step. */
static enum refusal cancel_step(struct core *c, struct jobrec *r, int64_t step_id,
                                const struct msg_cancel *x)
{
    struct steprec *st = step_find(r, step_id);
    bool script = step_id == STEP_BATCH && job_has_script(r);
    struct msg_signal m = {.job_id = r->j.id,
                           .attempt = r->j.attempt,
                           .signal = x->signal ? x->signal : SIGNAL_KILL,
                           .only_step = true,
                           .step_id = step_id};
    if (x->attempt && x->attempt != r->j.attempt)
        return REFUSE_ALREADY_DONE;
    if (step_queue_find(r, step_id))
        return m.signal == SIGNAL_KILL && step_queue_cancel(c, r, step_id) ? REFUSE_NONE
                                                                           : REFUSE_NOT_RUNNING;
    if (!st && !script)
        return step_id >= 0 && step_id < r->next_step ? REFUSE_ALREADY_DONE : REFUSE_INVALID_JOB_ID;
    if (st && !step_live(st))
        return REFUSE_ALREADY_DONE;
    if (m.signal != SIGNAL_KILL || script) {
        job_signal(c, r, m);
        return REFUSE_NONE;
    }
    if (x->gently) /* one task failed: the step ends as that one did */
        st->own_end |= !st->ending;
    else
        st->s.killed_by_uid_plus1 = c->turn.peer->uid + 1;
    step_terminate(c, r, st, JOB_CANCELLED, x->gently ? c->settings.kill_wait_us : 0, "",
                   "it was cancelled");
    return REFUSE_NONE;
}

/* A signal that stops the job, or lets it go on: it holds what it has, and its time goes by;
 * Slurm's listings say STOPPED, those of LSF's and PBS' that it is suspended. Where all of it was
 * meant a node's daemon that comes back is told again (suspend_repeat). SIGTSTP, which a program
 * may catch, is a stop of the whole job alone, as bstop sends it. */
static void stop_note(struct core *c, struct jobrec *r, const struct msg_cancel *m)
{
    bool stops = m->signal == SIGNAL_STOP || (m->signal == SIGNAL_TSTP && m->full),
         goes_on = m->signal == SIGNAL_CONT;
    bool partly = stops && !m->full && (!r->j.stopped_us || r->j.stopped_partly);
    if (!stops && !goes_on)
        return;
    if (stops == (r->j.stopped_us != 0) && partly == r->j.stopped_partly)
        return;
    r->j.stopped_us = stops ? c->turn.now_us : 0;
    r->j.stopped_partly = partly;
    job_save(c, r);
}

static enum refusal cancel_running(struct core *c, struct jobrec *r, const struct cancel *x,
                                   const char **detail)
{
    const struct msg_cancel *m = x->m;
    bool batch = m->batch && !m->full, kill = !m->signal || m->signal == SIGNAL_KILL;
    if (batch && !r->j.spec.batch) {
        *detail = "salloc or srun made it, so that it has no batch script; without --batch its "
                  "steps have the signal";
        return REFUSE_SCRIPT;
    }
    struct msg_signal signal = {.job_id = r->j.id,
                                .attempt = r->j.attempt,
                                .signal = m->signal ? m->signal : SIGNAL_KILL,
                                .batch = batch,
                                .full = m->full};
    if (batch || !kill) {
        job_signal(c, r, signal);
        stop_note(c, r, m);
        return REFUSE_NONE;
    }
    /* SIGKILL to the whole job is its end, as scancel(1) says. */
    r->j.killed_by_uid_plus1 = c->turn.peer->uid + 1;
    job_end(c, r, JOB_CANCELLED, REASON_NONE, c->settings.kill_wait_us, "");
    return REFUSE_NONE;
}

static bool runs(const struct jobrec *r)
{
    return r->j.state == JOB_RUNNING || r->j.state == JOB_SUSPENDED;
}

/* What it waited for stays with a job that is cancelled before it starts. */
static enum job_reason waited_for(const struct core *c, const struct jobrec *r)
{
    struct plan_wait wait;
    enum job_reason why = pending_reason(c, r, c->turn.now_us, &wait);
    return why == REASON_STORE_AWAY || why == REASON_CLEANING ? REASON_NONE : why;
}

/* Components start together: while they wait they are cancelled together, by whoever names the
 * whole job or its first component. */
static bool is_part_of_waiting(const struct core *c, const struct jobrec *r)
{
    const struct jobrec *leader = job_find(c, leader_of(r));
    return r->j.het_job_id && leader && leader != r &&
           (leader->j.state == JOB_PENDING || leader->j.requeue_pending);
}

static enum refusal part_alone(struct core *c, const struct jobrec *r, const char **detail)
{
    *detail = arena_printf(c->turn.fx->arena, "`scancel %llu` cancels all of its components",
                           (unsigned long long)r->j.het_job_id);
    return REFUSE_NOT_WHOLE_HET;
}

static enum refusal cancel_one(struct core *c, struct jobrec *r, const struct job_ref *ref,
                               void *ctx, const char **detail)
{
    const struct cancel *x = ctx;
    size_t looks = 0;
    if (!fits(x, r, &looks))
        return REFUSE_NONE;
    /* Whatever becomes of the job: the end of a step is not its end. */
    if (ref && ref->has_step && runs(r))
        return cancel_step(c, r, ref->step_id, x->m);
    if (ref && ref->has_step) {
        *detail = "the job does not run, so that no step of it does";
        return REFUSE_ALREADY_DONE;
    }
    bool ends = !x->m->batch && (!x->m->signal || x->m->signal == SIGNAL_KILL);
    if (r->j.cron && ends && c->settings.word.explicit_scancel && !x->m->cron) {
        *detail =
            "its lines in its owner's table would be taken out as well; `scancel --cron` does "
            "so, `scontrol requeue` ends this run alone";
        return REFUSE_CRON_CANCEL;
    }
    switch ((enum job_state)r->j.state) {
    case JOB_PENDING:
    case JOB_SPECIAL_EXIT:
        if (x->m->signal && x->m->signal != SIGNAL_KILL)
            return REFUSE_NOT_RUNNING;
        if (is_part_of_waiting(c, r))
            return part_alone(c, r, detail);
        r->j.killed_by_uid_plus1 = c->turn.peer->uid + 1;
        job_over(c, r, JOB_CANCELLED, waited_for(c, r));
        return REFUSE_NONE;
    case JOB_RUNNING:
    case JOB_SUSPENDED: return cancel_running(c, r, x, detail);
    case JOB_COMPLETING:
    case JOB_REQUEUED:
        if (r->j.cron && ends) /* it is not to come again */
            r->j.killed_by_uid_plus1 = c->turn.peer->uid + 1;
        if (r->j.cron && ends && !r->j.requeue_pending) {
            job_save(c, r);
            return REFUSE_NONE;
        }
        if (r->j.requeue_pending && !x->m->signal && is_part_of_waiting(c, r))
            return part_alone(c, r, detail);
        if (r->j.requeue_pending && !x->m->signal) {
            requeue_drop(c, r);
            r->j.killed_by_uid_plus1 = c->turn.peer->uid + 1;
            job_move_ending(c, r, JOB_COMPLETING, JOB_CANCELLED);
            job_save(c, r);
            het_waits_no_more(c, r, JOB_CANCELLED, REASON_NONE);
            return REFUSE_NONE;
        }
        return REFUSE_ALREADY_DONE;
    case JOB_COMPLETED:
    case JOB_CANCELLED:
    case JOB_FAILED:
    case JOB_TIMEOUT:
    case JOB_NODE_FAIL:
    case JOB_PREEMPTED:
    case JOB_BOOT_FAIL:
    case JOB_DEADLINE:
    case JOB_OUT_OF_MEMORY:
    case JOB_RESIZING:
    case JOB_STATE_COUNT: break;
    }
    return REFUSE_ALREADY_DONE;
}

static bool of_named_users(const void *ctx)
{
    return ((const struct cancel *)ctx)->m->uids != NULL;
}

static const struct sweep_kind cancelling = {
    .kind = MSG_CANCEL,
    .act = cancel_one,
    .ctx_size = sizeof(struct cancel),
    .fill = cancel_fill,
    .done = cancel_done,
    .fits = fits,
    .of_named_users = of_named_users,
};

void req_cancel(struct core *c, const struct msg_cancel *m)
{
    sweep_begin(c, &cancelling, m, m->ids);
}
