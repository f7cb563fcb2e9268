/* A connection has closed: what its calls waited for, or held, is nobody's any more. */
#include "core/life/life.h"

void waiters_closed(struct core *c, uint64_t conn)
{
    for (size_t i = 0; i < c->calls.waiter.n;) {
        struct waiter w = c->calls.waiter.v[i];
        if (w.conn != conn) {
            i++;
            continue;
        }
        /* Out of the list before anything follows from it: what follows may add to it or take from
         * it. */
        vec_remove(&c->calls.waiter, i);
        if (w.kind == WAIT_ALLOCATION)
            allocation_closed(c, w.job_id, conn);
        else if (w.kind == WAIT_WISH)
            step_wish_closed(c, w.job_id, conn);
        else if (w.kind == WAIT_STEP)
            step_closed(c, w.job_id, w.step_id, conn);
    }
}
