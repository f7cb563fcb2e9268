/* Something of a job became free: the steps that wait are tried again, in the order in which they
 * came. */
#include "core/step/queue.h"

#define RETRY_MOST   64  /* that may begin, tried in one go: each is fitted into the job */
#define REASON_BYTES 200 /* in the log: the line is no longer than the step's row in the store */

/* REFUSE_BUSY: it still waits. */
static enum refusal rec_try(struct core *c, struct jobrec *r, struct queuedrec *w, int *tries)
{
    struct str detail = STR_INIT;
    struct msg_create_step m = queue_asked(&w->q);
    enum refusal refusal = step_dependencies_look(c, r, w->q.spec.dependency, &detail);
    if (!refusal && (*tries)++ < RETRY_MOST)
        refusal = step_try_detached(c, r, &m, w->s.step_id, w->q.key_hash, false, &detail);
    else if (!refusal)
        refusal = REFUSE_BUSY;
    if (refusal && refusal != REFUSE_BUSY) {
        const char *why = detail.len ? str_text(&detail) : refusal_text(refusal);
        fx_log(c, LEVEL_INFO, "step %llu.%lld is cancelled: %s", (unsigned long long)r->j.id,
               (long long)w->s.step_id, text_head(c->turn.fx->arena, why, REASON_BYTES));
    }
    str_done(&detail);
    return refusal;
}

/* One pass: a step waits for earlier ones only. True if any began, or will never. */
static bool queue_retry(struct core *c, struct jobrec *r)
{
    int tries = 0;
    size_t before = step_queue_count(r);
    for (size_t i = 0; i < step_queue_count(r) && r->j.state == JOB_RUNNING;) {
        struct queuedrec *w = queue_at(r, i);
        enum refusal refusal = rec_try(c, r, w, &tries);
        if (refusal == REFUSE_BUSY) {
            i++;
        } else if (refusal) {
            queue_end(c, r, i);
        } else {
            queue_take_out(r, i);
        }
    }
    return step_queue_count(r) != before;
}

static void wishes_retry(struct core *c, struct jobrec *r)
{
    ASSERT(!r->wish.n || r->j.state == JOB_RUNNING || r->j.state == JOB_SUSPENDED);
    for (size_t i = 0; i < r->wish.n && r->j.state == JOB_RUNNING;) {
        struct stepwish *w = r->wish.v[i];
        struct str detail = STR_INIT;
        enum refusal refusal = step_try(c, r, w->m, w->conn, w->seq, &detail);
        if (refusal && refusal != REFUSE_BUSY)
            step_refused_say(c, w->conn, w->seq, refusal, str_text(&detail));
        if (refusal == REFUSE_BUSY)
            i++;
        else
            step_wish_drop(c, r, i);
        str_done(&detail);
    }
}

void steps_retry(struct core *c, struct jobrec *r)
{
    wishes_retry(c, r);
    if (queue_retry(c, r))
        wishes_retry(c, r); /* which may have waited for just those */
}
