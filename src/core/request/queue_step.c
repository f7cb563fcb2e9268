/* srun --async: a step gets its number and its row at once, begun or in the queue. */
#include "core/request/request.h"
#include "core/step/queue.h"

/* ---- asked for, and tried again ------------------------------------------------------------- */

static size_t bytes_held(const struct jobrec *r)
{
    size_t bytes = 0;
    for (size_t i = 0; i < step_queue_count(r); i++)
        bytes += queue_at(r, i)->q.tasks.len;
    for (size_t i = 0; i < r->step.n; i++)
        if (r->step.v[i]->asked)
            bytes += r->step.v[i]->asked->tasks.len;
    return bytes;
}

static enum refusal bounds_check(const struct core *c, const struct jobrec *r,
                                 const struct msg_create_step *m, struct str *detail)
{
    if (m->interactive || m->pty || !m->tasks.len)
        return REFUSE_BAD_MESSAGE;
    if (step_queue_count(r) >= LIMIT_QUEUED_STEPS) {
        str_addf(detail,
                 "%u steps of this job wait already; without --async srun waits itself, and an "
                 "array of jobs has "
                 "no such limit",
                 LIMIT_QUEUED_STEPS);
        return REFUSE_STEP_LIMIT;
    }
    if (bytes_held(r) + m->tasks.len > LIMIT_QUEUED_BYTES) {
        str_addf(
            detail,
            "the environments and programs of this job's waiting steps may have %u MiB together; "
            "--export=NIL "
            "or a list of names makes them small",
            LIMIT_QUEUED_BYTES >> 20);
        return REFUSE_TOO_LARGE;
    }
    return step_asked_fits(c, r, m, detail) ? REFUSE_NONE : REFUSE_TOO_LARGE;
}

static struct queued_step queued_of(const struct core *c, const struct jobrec *r,
                                    const struct msg_create_step *m, uint64_t key_hash)
{
    return (struct queued_step){.spec = *(const struct job_spec *)m->spec.v,
                                .job_id = r->j.id,
                                .attempt = r->j.attempt,
                                .step_id = step_number_next(c, r, 0),
                                .exact = m->exact,
                                .overlap = m->overlap,
                                .goes_on = m->no_kill,
                                .no_rendezvous = m->no_rendezvous,
                                .relative_plus1 = m->relative_plus1,
                                .task_nodes = m->task_nodes,
                                .key_hash = key_hash,
                                .tasks = m->tasks};
}

/* It has its number: begun, or in the queue. */
static void accept(struct core *c, struct jobrec *r, const struct queued_step *q, bool begun)
{
    fx_store(c, TABLE_QUEUED_STEP, q);
    if (begun) {
        step_created_say(c, &step_find(r, q->step_id)->s, c->turn.conn, c->turn.seq, NULL);
        return;
    }
    struct queuedrec *w = queue_add(c, r, q);
    step_number_taken(r, q->step_id);
    fx_store(c, TABLE_STEP, &w->s);
    step_created_say(c, &w->s, c->turn.conn, c->turn.seq, NULL);
}

void req_queue_step(struct core *c, struct jobrec *r, const struct msg_create_step *m,
                    uint64_t key_hash)
{
    ASSERT(job_find(c, r->j.id) == r && r->j.id == m->job_id);
    const struct queuedrec *again = queue_find_key(r, key_hash);
    struct str detail = STR_INIT;
    if (again) {
        step_created_say(c, &again->s, c->turn.conn, c->turn.seq, NULL);
        return;
    }
    struct queued_step q = queued_of(c, r, m, key_hash);
    enum refusal refusal = bounds_check(c, r, m, &detail);
    enum refusal waits =
        refusal ? refusal : step_dependencies_look(c, r, q.spec.dependency, &detail);
    if (waits == REFUSE_NONE || waits == REFUSE_BUSY)
        refusal = step_try_detached(c, r, m, q.step_id, key_hash, waits == REFUSE_BUSY, &detail);
    else
        refusal = waits;
    if (refusal == REFUSE_BUSY && m->immediate)
        reply_done(c, REFUSE_UNAVAILABLE, "without --immediate the step would wait");
    else if (refusal && refusal != REFUSE_BUSY)
        reply_done(c, refusal, detail.len ? str_text(&detail) : NULL);
    else
        accept(c, r, &q, refusal == REFUSE_NONE);
    str_done(&detail);
}
