/* The launch of a batch script. Of a heterogeneous job it is one, on the first node of the leader,
 * and it waits until all components run. */
#include "core/life/life.h"

/* The records a launch of r's script needs, in the turn's arena. */
static void launch_jobs(struct core *c, struct jobrec *r, struct msg_launch *m)
{
    jobrec_vec jobs = {0};
    if (!r->j.het_job_id) {
        m->job.v = &r->j;
        m->job.n = 1;
        return;
    }
    components_find(c, r->j.id, &jobs);
    struct job *copy = arena_alloc(c->turn.fx->arena, jobs.n * sizeof *copy);
    for (size_t i = 0; i < jobs.n; i++)
        copy[i] = jobs.v[i]->j;
    m->job.v = copy;
    m->job.n = jobs.n;
    vec_done(&jobs);
}

void launch_send(struct core *c, struct jobrec *r)
{
    ASSERT(r->j.state == JOB_RUNNING || r->j.state == JOB_SUSPENDED);
    ASSERT(leader_of(r) == r->j.id);
    struct noderec *n = node_find(c, r->j.batch_host);
    struct msg_launch m = {.step_id = STEP_BATCH};
    if (!job_has_script(r))
        return;
    launch_jobs(c, r, &m);
    if (r->hold.n)
        r->hold.v[0].told = true;
    if (n && n->conn)
        fx_send(c, n->conn, MSG_LAUNCH, &m, r->j.array_job_id ? r->j.array_job_id : r->j.id);
}

/* Whoever of its components starts last finds that all run; until then nobody does. */
void launch_when_whole(struct core *c, struct jobrec *r)
{
    ASSERT(r->j.state == JOB_RUNNING);
    struct jobrec *leader = job_find(c, leader_of(r));
    jobrec_vec jobs = {0};
    bool whole = leader != NULL;
    if (!r->j.het_job_id) {
        launch_send(c, r);
        return;
    }
    components_find(c, leader_of(r), &jobs);
    for (size_t i = 0; i < jobs.n; i++)
        whole = whole && jobs.v[i]->j.state == JOB_RUNNING;
    if (whole)
        launch_send(c, leader);
    vec_done(&jobs);
}
