/* The end of an event: what its deeds have marked is done here, in this order, until nothing is
 * marked (record/marks.c). Who waited for a job looks first, for that may end jobs, which others
 * wait for; then jobs of scrontab that ran wait for their next time; then steps that wait in
 * their jobs are tried; then each row that changed is written, once. Planning is not among it: it
 * waits for the event that the shell gives the machine when nobody has anything to say. */
#include "core/record/accounts/limits.h"
#include "core/record/triggers/triggers.h"
#include "core/turn.h"

/* What they depend on can never be, and their owners want them to be cancelled then. */
static void never_run(struct core *c)
{
    for (size_t i = 0; i < c->marks.never.n; i++) {
        struct jobrec *r = job_find(c, c->marks.never.v[i]);
        if (r && r->j.state == JOB_PENDING)
            job_over(c, r, JOB_CANCELLED, REASON_DEPENDENCY_NEVER);
    }
    vec_clear(&c->marks.never);
}

static void steps_run(struct core *c)
{
    for (size_t i = 0; i < c->marks.steps.n; i++) {
        struct jobrec *r = job_find(c, c->marks.steps.v[i]);
        if (!r)
            continue;
        r->steps_due = false;
        steps_retry(c, r);
    }
    vec_clear(&c->marks.steps);
}

bool settle_goes_on(const struct core *c)
{
    return c->marks.woken.n || c->marks.again.n || c->marks.pairs_look || c->marks.looking.n;
}

void settle(struct core *c)
{
    do {
        singletons_run(c);
        dependents_run(c);
        pairs_run(c);
        never_run(c);
        if (!c->marks.woken.n)
            crons_again(c);
    } while (settle_goes_on(c) && work_left(c));
    if (c->accounts.capacity_changed && relative_any(c))
        limits_anew(c);
    c->accounts.capacity_changed = false;
    accruing_run(c);
    steps_run(c);
    triggers_settle(c);
    saves_write(c);
}
