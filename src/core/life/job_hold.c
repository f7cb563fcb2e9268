/* Who holds a job, and who may let it go.
 *
 * What decides is who held it: what an administrator holds, its owner can neither release nor make
 * his own hold by holding it again. A hold of a job that runs is kept for its return to the queue.
 * An operator's uhold makes any hold the owner's.
 * A suspended job that goes back to the queue is held there by whoever suspended it. */
#include "core/life/life.h"

bool hold_of_admin(const struct core *c, const struct jobrec *r)
{
    ASSERT(c->turn.peer);
    return peer_directs(c, r) && c->turn.peer->uid != r->j.user_id;
}

static bool waits(const struct jobrec *r)
{
    return r->j.state == JOB_PENDING || r->j.state == JOB_SPECIAL_EXIT;
}

static bool is_held(const struct jobrec *r)
{
    return waits(r) ? r->j.spec.hold : r->j.hold_after_requeue;
}

void hold_give(struct core *c, struct jobrec *r, bool as_user)
{
    bool by_admin = hold_of_admin(c, r) && !as_user;
    bool gives_up = as_user && peer_directs(c, r) && r->j.admin_hold;
    if (is_held(r) && !by_admin && !gives_up)
        return; /* as it is */
    r->j.admin_hold = by_admin;
    if (!waits(r)) {
        r->j.hold_after_requeue = true;
        return;
    }
    hold_write(c, r, true);
    r->j.reason = by_admin ? REASON_HELD_ADMIN : REASON_HELD_USER;
}

enum refusal hold_release_check(const struct core *c, const struct jobrec *r, const char **detail)
{
    if (!r->j.admin_hold || peer_directs(c, r))
        return REFUSE_NONE;
    *detail = "an administrator holds this job; only an operator can release it";
    return REFUSE_ACCESS_DENIED;
}

void hold_end(struct core *c, struct jobrec *r)
{
    r->j.admin_hold = false;
    if (peer_operates(c, c->turn.peer))
        owner_accept(c, r);
    r->j.gpu_idle_requeues = r->j.failed_requeues = 0; /* whoever lets it go has looked */
    if (!waits(r)) {
        r->j.hold_after_requeue = false;
        return;
    }
    hold_write(c, r, false);
    if (!r->deps.n) /* it could not be read (loaded.c) */
        text_set(c, &r->j.spec.dependency, NULL);
    if (r->j.reason != REASON_DEPENDENCY_NEVER)
        r->j.reason = REASON_NONE;
}

/* Only operators suspend: what one of them stopped does not go on by itself. */
void hold_suspended(const struct core *c, struct jobrec *r, enum job_reason why)
{
    ASSERT(r->j.state == JOB_SUSPENDED);
    bool by_person = r->j.suspended_by == SUSPENDER_PERSON && !r->j.cron;
    bool held_here = why == REASON_REQUEUED_HELD && c->turn.peer && peer_directs(c, r);
    if (!by_person || !r->j.requeue_pending || held_here)
        return;
    r->j.hold_after_requeue = r->j.admin_hold = true;
}

void hold_comes_back(struct core *c, struct jobrec *r, enum job_reason why)
{
    ASSERT(!job_live(r) || r->hold.n == 0);
    if (!r->j.hold_after_requeue)
        return;
    r->j.hold_after_requeue = false;
    hold_write(c, r, true);
    r->j.reason = r->j.admin_hold ? REASON_HELD_ADMIN : why;
}

void hold_load(struct jobrec *r)
{
    /* A store of a release that kept who holds in the reason alone. */
    if (r->j.spec.hold && waits(r) && r->j.reason == REASON_HELD_ADMIN)
        r->j.admin_hold = true;
}
