/* A job of scrontab that has run goes back to the queue (record/users/crontab.c), when those who
 * wait for it have seen how it ended. */
#include "core/life/life.h"

void crons_again(struct core *c)
{
    for (size_t i = 0; i < c->marks.again.n; i++) {
        struct jobrec *r = job_find(c, c->marks.again.v[i]);
        if (r && r->j.cron && !job_live(r))
            back_to_pending(c, r, (enum job_state)r->j.state, false);
    }
    vec_clear(&c->marks.again);
}
