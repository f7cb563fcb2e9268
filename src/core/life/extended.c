/* A running job's limit becomes another. */
#include "core/life/life.h"
#include "core/record/accounts/minutes.h"
#include "model/extension.h"

void job_limit_changed(struct core *c, struct jobrec *r)
{
    ASSERT(r->j.limit_us == TIME_UNLIMITED || r->j.limit_us >= 0);
    ASSERT(r->j.start_us);
    int64_t end = job_limit_end(c, r);
    cluster_set_end(c->cluster, r->j.id, end == INT64_MAX ? TIME_UNLIMITED : end);
    /* The warnings belong to a moment before the limit: with a later limit they are due again, and
     * with a sooner one at once. */
    r->warned = r->warned && job_warning_at(r) < job_ran_until(c, r);
    r->mailed = 0;
}

/* What it asks for when it comes back to the queue is not less than what it was found to need; but
 * what a table of scrontab says stays. */
static void request_take(struct jobrec *r)
{
    int64_t *asked = &r->j.spec.req.time_limit_us;
    if (!r->j.cron && *asked != TIME_UNLIMITED && *asked < r->j.limit_us)
        *asked = r->j.limit_us;
}

void job_extended(struct core *c, struct jobrec *r, int64_t add_us)
{
    struct extension_row row = {
        .at_us = c->turn.now_us, .add_us = add_us, .user = c->turn.peer->user};
    struct str text = STR_INIT;
    r->j.limit_us = time_add(r->j.limit_us, add_us);
    r->j.extended_us = time_add(r->j.extended_us, add_us);
    extensions_add(r->j.extensions, &row, &text);
    text_set(c, &r->j.extensions, str_text(&text));
    str_done(&text);
    request_take(r);
    job_limit_changed(c, r);
    minutes_changed(c);
    job_save(c, r);
    timer_arm(c, r);
    plan_soon(c);
}
