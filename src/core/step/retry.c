/* Something of a job became free: the steps that wait are tried again, in the order in which they
 * came: first calls, then those of srun --async. Each is fitted into the job, which takes time, so
 * only some are tried in one go; the others one go a wake, a job after another, until all have been
 * tried once. If something became free meanwhile, all are tried once more: so the first of many
 * that do not fit keep nobody behind them from trying. */
#include "core/step/queue.h"

#define RETRY_MOST   64  /* calls, and as many others that may begin, tried in one go */
#define REASON_BYTES 200 /* in the log: the line is no longer than the step's row in the store */

/* REFUSE_BUSY: it still waits. */
static enum refusal rec_try(struct core *c, struct jobrec *r, struct queuedrec *w, int *tries)
{
    struct str detail = STR_INIT;
    struct msg_create_step m = queue_asked(&w->q);
    enum refusal refusal = step_dependencies_look(c, r, w->q.spec.dependency, &detail);
    bool wants = !refusal, now = wants && (*tries)++ < RETRY_MOST;
    w->tried = now; /* what waits for other steps is looked at again */
    if (wants)
        refusal = now ? step_try_detached(c, r, &m, w->s.step_id, w->q.key_hash, false, &detail)
                      : REFUSE_BUSY;
    if (refusal && refusal != REFUSE_BUSY) {
        const char *why = detail.len ? str_text(&detail) : refusal_text(refusal);
        fx_log(c, LEVEL_INFO, "step %llu.%lld is cancelled: %s", (unsigned long long)r->j.id,
               (long long)w->s.step_id, text_head(c->turn.fx->arena, why, REASON_BYTES));
    }
    str_done(&detail);
    return refusal;
}

/* One pass: a step waits for earlier ones only. True if all were tried; *ret_changed: if any began,
 * or will never. */
static bool queue_retry(struct core *c, struct jobrec *r, bool *ret_changed)
{
    int tries = 0;
    size_t before = step_queue_count(r);
    for (size_t i = 0; i < step_queue_count(r) && r->j.state == JOB_RUNNING;) {
        struct queuedrec *w = queue_at(r, i);
        enum refusal refusal = w->tried ? REFUSE_BUSY : rec_try(c, r, w, &tries);
        if (refusal == REFUSE_BUSY) {
            i++;
        } else if (refusal) {
            queue_end(c, r, i);
        } else {
            queue_take_out(c, r, i);
        }
    }
    *ret_changed = step_queue_count(r) != before;
    return tries <= RETRY_MOST || r->j.state != JOB_RUNNING;
}

/* True if all were tried. */
static bool wishes_retry(struct core *c, struct jobrec *r)
{
    ASSERT(!r->wish.n || r->j.state == JOB_RUNNING || r->j.state == JOB_SUSPENDED);
    int tries = 0;
    for (size_t i = 0; i < r->wish.n && r->j.state == JOB_RUNNING;) {
        struct stepwish *w = r->wish.v[i];
        struct str detail = STR_INIT;
        if (w->tried) {
            i++;
            continue;
        }
        if (tries++ == RETRY_MOST)
            return false;
        w->tried = true;
        enum refusal refusal = step_try(c, r, w->m, w->conn, w->seq, &detail);
        if (refusal && refusal != REFUSE_BUSY)
            step_refused_say(c, w->conn, w->seq, refusal, str_text(&detail));
        if (refusal == REFUSE_BUSY)
            i++;
        else
            step_wish_drop(c, r, i);
        str_done(&detail);
    }
    return true;
}

static void wishes_anew(struct jobrec *r)
{
    for (size_t i = 0; i < r->wish.n; i++)
        r->wish.v[i]->tried = false;
}

static void all_anew(struct jobrec *r)
{
    wishes_anew(r);
    for (size_t i = 0; i < step_queue_count(r); i++)
        queue_at(r, i)->tried = false;
}

void steps_retry(struct core *c, struct jobrec *r)
{
    if (!r->steps_left)
        all_anew(r);
    r->steps_left = false;
    bool changed, all = wishes_retry(c, r);
    all &= queue_retry(c, r, &changed);
    /* Calls may have waited for just those. */
    if (changed && all) {
        wishes_anew(r);
        all = wishes_retry(c, r);
    } else if (changed) {
        r->steps_again = true;
    }
    bool again = all && r->steps_again && r->j.state == JOB_RUNNING;
    if (again)
        all_anew(r);
    r->steps_again &= !all;
    r->steps_left = !all || again;
    if (r->steps_left)
        vec_push(&c->marks.steps_left, r->j.id);
}

bool steps_go_on_due(const struct core *c)
{
    return c->marks.steps_left.n && !c->store.away;
}

void steps_go_on(struct core *c)
{
    if (!steps_go_on_due(c))
        return;
    struct jobrec *r = job_find(c, c->marks.steps_left.v[0]);
    vec_remove(&c->marks.steps_left, 0);
    if (r && r->steps_left)
        steps_retry(c, r);
}
