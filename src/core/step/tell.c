/* What nodes and callers are told of a step. */
#include "core/step/step.h"

/* The job as a step's nodes need it; the shell of an interactive job of LSF or PBS has the hosts of
 * all components. */
static void jobs_take(struct core *c, struct jobrec *r, int64_t step_id, struct msg_launch *m)
{
    jobrec_vec jobs = {0};
    m->job.v = &r->j;
    m->job.n = 1;
    if (step_id != STEP_INTERACTIVE || r->j.spec.dialect == DIALECT_SLURM || !r->j.het_job_id ||
        leader_of(r) != r->j.id)
        return;
    components_find(c, r->j.id, &jobs);
    struct job *copy = arena_alloc(c->turn.fx->arena, jobs.n * sizeof *copy);
    for (size_t i = 0; i < jobs.n; i++)
        copy[i] = jobs.v[i]->j;
    m->job.v = copy;
    m->job.n = jobs.n;
    vec_done(&jobs);
}

/* To one node, as to the others: a node finds its own part in the layout. */
void step_launch(struct core *c, struct jobrec *r, struct steprec *st, uint32_t node)
{
    ASSERT(node < c->node.n && step_part(st, node));
    struct noderec *n = c->node.v[node];
    struct msg_create_step asked = st->asked ? *st->asked : (struct msg_create_step){0};
    struct msg_launch m = {.step_id = st->s.step_id,
                           .step = {&st->s, 1},
                           .create = {&asked, 1},
                           .script = asked.tasks};
    jobs_take(c, r, st->s.step_id, &m);
    asked.tasks = (struct blob){0};
    if (n->conn && st->asked)
        fx_send(c, n->conn, MSG_LAUNCH, &m, 0);
}

/* A thousand nodes get a thousand times the same bytes. */
void step_launch_all(struct core *c, struct jobrec *r, struct steprec *st)
{
    ASSERT(step_live(st) && st->part.n > 0);
    bool sent = false;
    for (size_t i = 0; i < st->part.n; i++) {
        const struct noderec *n = c->node.v[st->part.v[i].node];
        if (n->conn && sent)
            fx_send_also(c, n->conn);
        else
            step_launch(c, r, st, n->index);
        sent |= n->conn != 0;
    }
}

/* ---- telling -------------------------------------------------------------------------------- */

void step_created_say(struct core *c, const struct step *s, uint64_t conn, uint64_t seq,
                      const char *warning)
{
    struct msg_step_created m = {.step = {(void *)(uintptr_t)s, 1}, .warning = warning};
    fx_reply(c, conn, seq, MSG_STEP_CREATED, &m);
}

void step_ended_say(struct core *c, struct steprec *st, uint64_t conn, uint64_t seq)
{
    ASSERT(!step_live(st));
    struct msg_step_ended m = {.step = {&st->s, 1}, .detail = st->detail};
    fx_reply(c, conn, seq, MSG_STEP_ENDED, &m);
}

void step_refused_say(struct core *c, uint64_t conn, uint64_t seq, enum refusal refusal,
                      const char *detail)
{
    ASSERT(refusal != REFUSE_NONE && refusal < REFUSAL_COUNT);
    struct msg_done m = {.refusal = refusal, .detail = text_empty(detail) ? NULL : detail};
    fx_reply(c, conn, seq, MSG_DONE, &m);
}
