/* job_control: hold, release, requeue, suspend, resume. */
#include "base/plain.h"
#include "core/request/request.h"

#include <string.h>

#define NOTIFY_BYTES 512

struct control {
    const struct msg_job_control *m;
    struct map_u64 *top; /* what was put to the top so far */
};

/* Nothing comes of what is asked of it: it is over, or only its nodes are still to be cleaned. */
static bool finished(const struct jobrec *r)
{
    return !job_live(r) || r->j.state == JOB_COMPLETING;
}

static enum refusal hold_set(struct core *c, struct jobrec *r, bool as_user)
{
    if (finished(r))
        return REFUSE_JOB_FINISHED;
    hold_give(c, r, as_user);
    eligible_update(c, r);
    job_save(c, r);
    return REFUSE_NONE;
}

static enum refusal release(struct core *c, struct jobrec *r, const char **detail)
{
    enum refusal refusal = finished(r) ? REFUSE_JOB_FINISHED : hold_release_check(c, r, detail);
    if (refusal)
        return refusal;
    if (r->j.state == JOB_SPECIAL_EXIT)
        job_move(c, r, JOB_PENDING);
    /* As in Slurm: who is released has the priority that is computed. */
    if (r->j.state == JOB_PENDING && r->j.spec.hold && !r->j.restored)
        r->j.spec.priority_asked = 0;
    hold_end(c, r);
    eligible_update(c, r);
    job_save(c, r);
    if (r->j.state == JOB_PENDING)
        plan_soon(c);
    return REFUSE_NONE;
}

static enum refusal suspend(struct core *c, struct jobrec *r)
{
    if (!peer_operates(c, c->turn.peer))
        return REFUSE_ACCESS_DENIED;
    if (r->j.state == JOB_SUSPENDED && r->j.suspended_by == SUSPENDER_PERSON)
        return REFUSE_NONE; /* as in Slurm: it is as was asked */
    /* By the planner: from now on it stays so until somebody resumes it. */
    if (r->j.state == JOB_SUSPENDED) {
        r->j.suspended_by = SUSPENDER_PERSON;
        suspend_tell_planner(c, r);
        job_save(c, r);
        plan_soon(c);
        return REFUSE_NONE;
    }
    if (r->j.state == JOB_PENDING)
        return REFUSE_JOB_PENDING;
    if (r->j.state != JOB_RUNNING)
        return finished(r) ? REFUSE_ALREADY_DONE : REFUSE_NOT_RUNNING;
    job_suspend(c, r, SUSPENDER_PERSON);
    return REFUSE_NONE;
}

static enum refusal resume(struct core *c, struct jobrec *r, const char **detail)
{
    if (!peer_operates(c, c->turn.peer))
        return REFUSE_ACCESS_DENIED;
    if (r->j.state == JOB_PENDING)
        return REFUSE_JOB_PENDING;
    if (r->j.state != JOB_SUSPENDED)
        return finished(r) ? REFUSE_ALREADY_DONE : REFUSE_NOT_SUSPENDED;
    if (r->j.suspended_by != SUSPENDER_PERSON) {
        *detail =
            r->j.suspended_by == SUSPENDER_GANG
                ? "others have their turn on its CPUs; it goes on by itself when its turn comes"
                : "it gave way to a job of higher precedence and goes on by itself when its CPUs "
                  "are free";
        return REFUSE_NOT_SUSPENDED;
    }
    job_resume(c, r);
    return REFUSE_NONE;
}

/* Somebody's line in the error output of a job: printable, and short enough for a terminal. */
static const char *line_of(struct core *c, const char *text)
{
    struct str plain = STR_INIT;
    str_add_plain(&plain, arena_strndup(c->turn.fx->arena, text, strnlen(text, NOTIFY_BYTES)));
    const char *line = arena_strdup(c->turn.fx->arena, str_text(&plain));
    str_done(&plain);
    return line;
}

/* It stands where the batch script writes, or in the streams of the steps on the first node. */
static enum refusal notify(struct core *c, struct jobrec *r, const struct msg_job_control *ask,
                           const char **detail)
{
    const char *text = ask->text;
    const struct noderec *n = r->j.batch_host ? node_find(c, r->j.batch_host) : NULL;
    struct msg_signal m = {.job_id = r->j.id, .attempt = r->j.attempt};
    if (!job_live(r))
        return REFUSE_ALREADY_DONE;
    if (r->j.state != JOB_RUNNING && r->j.state != JOB_SUSPENDED)
        return REFUSE_JOB_PENDING;
    if (text_empty(text)) {
        *detail = "there is no message";
        return REFUSE_UPDATE;
    }
    m.say = line_of(c, text);
    m.streams = ask->streams;
    if (n && n->conn)
        fx_send(c, n->conn, MSG_SIGNAL, &m, 0);
    return REFUSE_NONE;
}

/* Of a job of scrontab: is it a change of what its table says? One that is held, as it is after a
 * store was restored or with --hold, can be let go. */
static bool table_change(const struct msg_job_control *m, const struct jobrec *r)
{
    switch ((enum job_action)m->action) {
    case ACTION_HOLD:
    case ACTION_UHOLD:
    case ACTION_REQUEUE_HOLD:
    case ACTION_TOP: return true;
    case ACTION_RELEASE: return !r->j.spec.hold && !r->j.hold_after_requeue;
    case ACTION_REQUEUE:
    case ACTION_SUSPEND:
    case ACTION_RESUME:
    case ACTION_NOTIFY: break;
    }
    return false;
}

/* It has the name that was said, and its leader, whose turn was before, did not go along. */
static bool left_alone(const struct core *c, const struct jobrec *r, enum job_action action)
{
    const struct jobrec *leader = job_find(c, r->j.het_job_id);
    int32_t state = leader ? leader->j.state : JOB_CANCELLED;
    bool goes_back = action == ACTION_REQUEUE || action == ACTION_REQUEUE_HOLD;
    if (!goes_back && (!leader || !job_live(leader)))
        return false;
    switch (action) {
    case ACTION_REQUEUE:
    case ACTION_REQUEUE_HOLD:
        return state != JOB_PENDING && state != JOB_SPECIAL_EXIT &&
               !(leader && leader->j.requeue_pending);
    case ACTION_SUSPEND: return r->j.state == JOB_RUNNING && state != JOB_SUSPENDED;
    case ACTION_RESUME: return r->j.state == JOB_SUSPENDED && state != JOB_RUNNING;
    case ACTION_HOLD:
    case ACTION_UHOLD:
    case ACTION_RELEASE:
    case ACTION_TOP:
    case ACTION_NOTIFY: break;
    }
    return false;
}

/* What is done to all components of a job or to none, where one alone is named. */
static enum refusal part_refuse(const struct core *c, enum job_action action,
                                const struct jobrec *r, const struct job_ref *ref,
                                const char **detail)
{
    bool part = r->j.het_job_id && r->j.het_offset > 0;
    bool alone =
        part && (ref ? ref->het_offset > 0 || ref->job_id == r->j.id : left_alone(c, r, action));
    if (!alone)
        return REFUSE_NONE;
    switch (action) {
    case ACTION_REQUEUE:
    case ACTION_REQUEUE_HOLD:
        *detail = "the components of a job go back to the queue together: name the whole job";
        return REFUSE_INVALID_JOB_ID;
    case ACTION_SUSPEND:
    case ACTION_RESUME:
        *detail = "the components of a job are stopped and go on together: name the whole job";
        return REFUSE_NOT_WHOLE_HET;
    case ACTION_HOLD:
    case ACTION_UHOLD:
    case ACTION_RELEASE:
    case ACTION_TOP:
    case ACTION_NOTIFY: break;
    }
    return REFUSE_NONE;
}

static enum refusal act(struct core *c, struct jobrec *r, const struct job_ref *ref, void *ctx,
                        const char **detail)
{
    struct control *x = ctx;
    enum refusal part = part_refuse(c, (enum job_action)x->m->action, r, ref, detail);
    if (part)
        return part;
    if (r->j.cron && table_change(x->m, r)) {
        *detail = CRON_CHANGE_TEXT;
        return REFUSE_CRON_CHANGE;
    }
    switch ((enum job_action)x->m->action) {
    case ACTION_HOLD: return hold_set(c, r, false);
    case ACTION_UHOLD: return hold_set(c, r, true);
    case ACTION_RELEASE: return release(c, r, detail);
    case ACTION_REQUEUE: return job_requeue(c, r, false, false, detail);
    case ACTION_REQUEUE_HOLD: return job_requeue(c, r, true, x->m->special_exit, detail);
    case ACTION_SUSPEND: return suspend(c, r);
    case ACTION_RESUME: return resume(c, r, detail);
    case ACTION_TOP: return job_top(c, r, x->top, detail);
    case ACTION_NOTIFY: return notify(c, r, x->m, detail);
    }
    return REFUSE_BAD_MESSAGE;
}

static void control_done(void *ctx)
{
    struct control *x = ctx;
    map_u64_free(x->top);
}

static bool control_fill(const struct core *c, void *ctx, const void *body, struct err *ret_err)
{
    (void)c, (void)ret_err;
    *(struct control *)ctx = (struct control){.m = body, .top = map_u64_new()};
    return true;
}

static const struct sweep_kind controlling = {
    .kind = MSG_JOB_CONTROL,
    .act = act,
    .ctx_size = sizeof(struct control),
    .fill = control_fill,
    .done = control_done,
};

void req_job_control(struct core *c, const struct msg_job_control *m)
{
    sweep_begin(c, &controlling, m, m->ids ? m->ids : "");
}
