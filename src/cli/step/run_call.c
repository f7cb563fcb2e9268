/* A step's conversation with the controller: asked for, made, over. The controller may go away
 * meanwhile; the call is made again then, and what it knows already is not asked for twice. */
#include "cli/program/program.h"
#include "cli/step/run_parts.h"
#include "cli/submit/command.h"
#include "model/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* None of its nodes has spoken. What they are to launch may have been lost with the controller that
 * made it and with them: who makes the step again by its key gets the same, and they are told. */
static bool is_unseen(const struct one_step *s)
{
    for (size_t i = 0; i < s->nnodes; i++)
        if (s->node[i].came)
            return false;
    return s->phase == STEP_MADE;
}

static bool ask_send(struct srun_run *r, struct one_step *s)
{
    struct err e = {0};
    s->asked++;
    if (!r->follows && (s->phase == STEP_ASKED || is_unseen(s)))
        return client_send(r->al->client, MSG_CREATE_STEP, &s->create, &s->call, &e);
    struct msg_attach_step m = {.job_id = s->step.job_id,
                                .step_id = s->step.step_id,
                                .hold = !r->follows,
                                .attempt = s->step.attempt};
    if (r->follows && s->phase == STEP_ASKED) {
        m.address = s->create.address;
        m.key = s->create.key;
    }
    return client_send(r->al->client, MSG_ATTACH_STEP, &m, &s->call, &e);
}

static void end_send(struct srun_run *r, struct one_step *s)
{
    struct msg_cancel m = {
        .ids = run_step_name(r, s), .gently = r->end_gently, .attempt = s->step.attempt};
    if (r->al->client && s->phase == STEP_MADE)
        client_send(r->al->client, MSG_CANCEL, &m, NULL, NULL);
}

void run_ask_all(struct srun_run *r)
{
    for (size_t i = 0; r->al->client && i < r->nsteps; i++)
        if (r->step[i].phase != STEP_OVER && !ask_send(r, &r->step[i])) {
            allocation_lost(r->al);
            return;
        }
    for (size_t i = 0; r->end_asked && i < r->nsteps; i++)
        end_send(r, &r->step[i]); /* it may have been away when it was told */
}

void run_kill(struct srun_run *r, const char *why, bool gently)
{
    r->end_asked = true;
    r->end_gently = gently;
    for (size_t i = 0; i < r->nsteps; i++) {
        struct one_step *s = &r->step[i];
        if (s->phase == STEP_MADE && why)
            run_say(r, "%s StepId=%s", why, run_step_name(r, s));
        end_send(r, s);
    }
    r->killed = true;
}

static struct step_output *output_open(struct srun_run *r, const struct output_ways *to)
{
    struct step_output *o = output_new(&(struct output_ask){
        .ntasks = r->ntasks,
        .label = r->ask->label,
        .unbuffered = r->ask->unbuffered || r->ask->pty,
        .to = *to,
    });
    r->output[r->noutput++] = o;
    return o;
}

/* When the number of all tasks is known, output can be laid out. */
static void all_made(struct srun_run *r)
{
    int32_t first = 0;
    for (size_t i = 0; i < r->nsteps; i++)
        if (r->step[i].phase == STEP_ASKED)
            return;
    for (size_t i = 0; i < r->nsteps; i++) {
        struct one_step *s = &r->step[i];
        s->first = first;
        first += s->step.ntasks;
        s->tasks = tasks_new(&s->layout, s->step.ntasks, s->first);
    }
    r->ntasks = first;
    for (size_t i = 0; r->ask->created && i < r->nsteps; i++)
        if (!r->ask->created(r->ask->ctx, i, &r->step[i].step)) {
            run_kill(r, NULL, false);
            r->refused = true;
            return;
        }
    r->output = arena_alloc(r->a, (r->nsteps + 1) * sizeof *r->output);
    struct step_output *shared = output_open(r, &r->ask->output);
    for (size_t i = 0; i < r->nsteps; i++) {
        const struct step_ask *own = r->step[i].ask;
        r->step[i].output = own && own->output ? output_open(r, own->output) : shared;
    }
}

static void created(struct srun_run *r, struct one_step *s, const struct msg_step_created *m)
{
    struct err e = {0};
    if (s->phase != STEP_ASKED)
        return;
    const struct step *made = m->step.n == 1 ? m->step.v : NULL;
    if (!made || made->ntasks < 1 || made->ntasks > (int32_t)LIMIT_TASKS) {
        program_error(r->al->name, "the controller's answer cannot be read: %s",
                      made ? "no step has so many tasks" : "it tells of no step");
        r->refused = true;
        return;
    }
    record_copy(&step_fields, &s->step, m->step.v, r->a);
    if (!alloc_parse(s->step.layout ? s->step.layout : "", r->a, &s->layout, &e)) {
        program_error(r->al->name, "the controller's answer cannot be read: %s", e.text);
        r->refused = true;
        return;
    }
    if (!text_empty(m->warning))
        run_warn(r, "%s", m->warning);
    s->phase = STEP_MADE;
    s->node = arena_alloc(r->a, (s->layout.n + 1) * sizeof *s->node);
    for (size_t i = 0; i < s->layout.n; i++) {
        const struct alloc_node *n = &s->layout.node[i];
        s->node[s->nnodes++] =
            (struct step_node){.step = s, .name = n->node, .task_ids = n->task_ids};
        run_tell(r, "launching StepId=%s on host %s, %d tasks: %s", run_step_name(r, s), n->node,
                 n->tasks, n->task_ids ? n->task_ids : "");
    }
    all_made(r);
}

static void ended(struct srun_run *r, struct one_step *s, const struct msg_step_ended *m)
{
    const struct step *end = m->step.n ? m->step.v : NULL;
    if (s->phase == STEP_OVER)
        return;
    if (s->phase == STEP_ASKED) {
        program_error(r->al->name, "Unable to create step for job %llu: %s",
                      (unsigned long long)s->create.job_id,
                      m->detail ? m->detail : "Job/step already completing or completed");
        r->refused = true;
    }
    s->phase = STEP_OVER;
    s->ended_status = end ? end->exit_status : 0;
    s->ended_state = end ? (enum job_state)end->state : JOB_FAILED;
    s->ended_at_ms = allocation_now_ms();
    /* Where tasks ran, their shepherds have said why. */
    if (!text_empty(m->detail) && !r->refused && !r->killed && !r->noticed)
        program_error(r->al->name, "StepId=%s: %s", run_step_name(r, s), m->detail);
}

/* More nodes than the job has, in Slurm's words; false: it is another thing. */
static bool nodes_refused(const struct srun_run *r, const struct one_step *s)
{
    const struct job_spec *want = s->create.spec.n ? s->create.spec.v : NULL;
    struct alloc held = {0};
    for (size_t i = 0; i < r->al->njobs; i++)
        if (r->al->job[i].id == s->create.job_id && r->al->job[i].alloc)
            alloc_parse(r->al->job[i].alloc, r->a, &held, NULL);
    if (!want || held.n == 0 || want->req.min_nodes <= (int32_t)held.n)
        return false;
    program_error(r->al->name, "Only allocated %zu nodes asked for %d", held.n,
                  want->req.min_nodes);
    return true;
}

/* The controller was away, and has no such step any more: its end is told by nobody. */
static void forgotten(struct srun_run *r, struct one_step *s, const struct msg_done *m)
{
    if (m->refusal != REFUSE_INVALID_JOB_ID && m->refusal != REFUSE_ALREADY_DONE)
        return;
    bool known = true; /* how its tasks ended, by their nodes */
    for (size_t i = 0; i < s->nnodes; i++)
        known = known && s->node[i].done;
    s->phase = STEP_OVER;
    s->ended_state = known ? JOB_COMPLETED : JOB_FAILED;
    s->ended_at_ms = allocation_now_ms();
    if (!known && !r->killed)
        program_error(r->al->name, "StepId=%s: %s", run_step_name(r, s),
                      refusal_text((enum refusal)m->refusal));
}

static void refused(struct srun_run *r, struct one_step *s, const struct msg_done *m)
{
    if (s->phase == STEP_MADE)
        forgotten(r, s, m);
    if (m->refusal == REFUSE_NONE || s->phase != STEP_ASKED)
        return;
    const char *text = refusal_text((enum refusal)m->refusal);
    if (r->follows)
        program_error(r->al->name, "%s", text);
    else if (r->ask->refused_as)
        program_error(r->al->name, "%s: %s", r->ask->refused_as, text);
    else if (!nodes_refused(r, s))
        program_error(r->al->name, "Unable to create step for job %llu: %s",
                      (unsigned long long)s->create.job_id, text);
    if (r->ask->refused_status)
        r->status = r->ask->refused_status;
    if (!text_empty(m->detail))
        program_error(r->al->name, "%s", m->detail);
    r->refused = true;
    if (m->refusal == REFUSE_UNAVAILABLE && s->create.immediate)
        r->status = submit_exit_immediate();
}

static struct one_step *step_of_call(struct srun_run *r, uint64_t call)
{
    for (size_t i = 0; i < r->nsteps; i++)
        if (r->step[i].phase != STEP_OVER && r->step[i].call == call) /* numbers begin anew */
            return &r->step[i];
    return NULL;
}

static void controller_message(struct srun_run *r, const struct message *m)
{
    struct one_step *s = step_of_call(r, m->seq);
    const struct msg_done *done = m->kind == MSG_DONE ? m->body : NULL;
    bool is_put_off = done && done->refusal == REFUSE_STORE;
    /* A step that is there already, or waited when the controller went, is asked for until its
     * store is back. */
    if (is_put_off && s && (s->phase == STEP_MADE || s->asked > 1))
        s = NULL;
    if (!s) {
        if (m->kind == MSG_JOB_ENDED || done)
            allocation_hear(r->al, m);
        return;
    }
    if (m->kind == MSG_STEP_CREATED)
        created(r, s, m->body);
    else if (m->kind == MSG_STEP_ENDED)
        ended(r, s, m->body);
    else if (m->kind == MSG_DONE)
        refused(r, s, m->body);
    else if (m->kind == MSG_STEP_PENDING && !r->pending_said) {
        const struct msg_step_pending *p = m->body;
        r->pending_said = true;
        run_say(r, "Job %llu step creation temporarily disabled, retrying (%s)",
                (unsigned long long)s->create.job_id,
                p->reason ? p->reason : "Requested nodes are busy");
    }
}

void run_controller_read(struct srun_run *r)
{
    struct message m;
    struct err e = {0};
    enum client_got got = CLIENT_NOTHING;
    struct arena *a = arena_new();
    while (r->al->client && (got = client_take(r->al->client, a, &m, &e)) == CLIENT_MESSAGE) {
        controller_message(r, &m);
        arena_reset(a);
    }
    arena_free(a);
    if (got == CLIENT_LOST)
        allocation_lost(r->al);
}
