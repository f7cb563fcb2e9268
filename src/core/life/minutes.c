/* Limits in minutes: when use or what runs changed, who waits for one is looked at, and who has
 * used one up has to end. */
#include "core/record/accounts/minutes.h"
#include "core/life/life.h"

static void exhausted_end(struct core *c, struct jobrec *r)
{
    struct str detail = STR_INIT;
    if (minutes_exhausted(c, r, &detail)) {
        text_set(c, &r->j.reason_detail, str_text(&detail));
        job_end(c, r, JOB_TIMEOUT, REASON_TIME_LIMIT, c->settings.kill_wait_us,
                "DUE TO TIME LIMIT");
    }
    str_done(&detail);
}

void minutes_look(struct core *c)
{
    struct map_walk w = {0};
    jobrec_vec waiting = {0}, running = {0};
    minutes_looked(c);
    while (map_u64_next(c->jobs.by_id, &w)) {
        struct jobrec *r = w.value;
        if (r->j.state == JOB_PENDING)
            vec_push(&waiting, r);
        else if (r->j.state == JOB_RUNNING || r->j.state == JOB_SUSPENDED)
            vec_push(&running, r);
    }
    for (size_t i = 0; i < running.n; i++)
        /* Not if it ended meanwhile with another component of its job. */
        if (running.v[i]->j.state == JOB_RUNNING || running.v[i]->j.state == JOB_SUSPENDED)
            exhausted_end(c, running.v[i]);
    for (size_t i = 0; i < waiting.n; i++)
        eligible_update(c, waiting.v[i]);
    vec_done(&waiting);
    vec_done(&running);
}
