/* Who holds an attached allocation, and who is told that it runs. Of a heterogeneous job the leader
 * stands for all components. */
#include "core/life/life.h"

bool allocation_attached(const struct jobrec *r)
{
    return r->j.spec.attached && !r->j.spec.batch && leader_of(r) == r->j.id;
}

static bool all_run(const jobrec_vec *jobs)
{
    for (size_t i = 0; i < jobs->n; i++)
        if (jobs->v[i]->j.state != JOB_RUNNING && jobs->v[i]->j.state != JOB_SUSPENDED)
            return false;
    return jobs->n > 0;
}

void allocation_announce(struct core *c, const struct jobrec *r)
{
    uint64_t leader = leader_of(r);
    jobrec_vec jobs = {0};
    for (size_t i = 0; i < c->calls.waiter.n; i++) {
        struct waiter *w = &c->calls.waiter.v[i];
        if (w->kind != WAIT_ALLOCATION || w->job_id != leader || w->told)
            continue;
        if (!jobs.n)
            components_find(c, leader, &jobs);
        /* It is told when the last of them starts. */
        if (!all_run(&jobs))
            break;
        struct job *rows = arena_alloc(c->turn.fx->arena, jobs.n * sizeof *rows);
        for (size_t k = 0; k < jobs.n; k++)
            rows[k] = jobs.v[k]->j;
        struct msg_allocated m = {.jobs = {rows, jobs.n}};
        fx_reply(c, w->conn, w->seq, MSG_ALLOCATED, &m);
        w->told = true;
    }
    vec_done(&jobs);
}

void allocation_hold(struct core *c, struct jobrec *leader)
{
    leader->holder_conn = c->turn.conn;
    if (leader->j.lonely_us) {
        leader->j.lonely_us = 0;
        job_save(c, leader);
    }
}

void allocation_lonely(struct core *c, struct jobrec *r)
{
    ASSERT(leader_of(r) == r->j.id);
    r->holder_conn = 0;
    int64_t since = allocation_attached(r) && job_live(r) ? c->turn.now_us : 0;
    if (r->j.lonely_us != since) {
        r->j.lonely_us = since; /* stored: a controller that is restarted counts on */
        job_save(c, r);
    }
    timer_arm(c, r);
}

void allocation_restored(struct core *c, struct jobrec *r)
{
    if (allocation_attached(r) && job_live(r))
        r->j.lonely_us = lonely_since(c, r->j.lonely_us);
    timer_arm(c, r);
}

void allocation_closed(struct core *c, uint64_t leader, uint64_t conn)
{
    struct jobrec *r = job_find(c, leader);
    if (r && r->holder_conn == conn)
        allocation_lonely(c, r);
}

/* ---- its end -------------------------------------------------------------------------------- */

void component_end(struct core *c, struct jobrec *r, enum job_state how, enum job_reason why,
                   const char *line)
{
    if (r->j.state == JOB_PENDING)
        job_over(c, r, JOB_CANCELLED, why);
    else if (r->j.state == JOB_RUNNING || r->j.state == JOB_SUSPENDED)
        job_end(c, r, how, why, c->settings.kill_wait_us, line);
}

void allocation_abandon(struct core *c, struct jobrec *leader)
{
    ASSERT(leader_of(leader) == leader->j.id && leader->j.lonely_us);
    jobrec_vec jobs = {0};
    leader->j.lonely_us = 0;
    components_find(c, leader->j.id, &jobs);
    for (size_t i = 0; i < jobs.n; i++) {
        text_set(c, &jobs.v[i]->j.reason_detail, "the command that held it is gone");
        component_end(c, jobs.v[i], JOB_CANCELLED, REASON_INACTIVE_LIMIT,
                      "BECAUSE ITS COMMAND IS GONE");
    }
    vec_done(&jobs);
}
