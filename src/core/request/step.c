/* create_step and attach_step. A step that can never be is refused with a sentence; one whose resources other steps of its job have waits (STEP_PENDING) and is tried again
 * whenever something of its job becomes free, in the order in which they came. What a step is told to its nodes in the turn that stores it.
 *
 * A call that is repeated (its answer was lost with the controller or the connection) finds its step by its key and is answered as the first one was. */
#include "core/inside.h"

#include "core/step/layout.h"

/* ---- telling ---------------------------------------------------------------------------------------------------------------------- */

/* To one node, as to the others: a node finds its own part in the layout. */
void step_launch(struct core *c, struct jobrec *r, struct steprec *st, uint32_t node)
{
    struct noderec *n = c->node.v[node];
    struct msg_create_step asked = st->asked ? *st->asked : (struct msg_create_step){0};
    struct msg_launch m = {.job = {&r->j, 1},
                           .step_id = st->s.step_id,
                           .step = {&st->s, 1},
                           .create = {&asked, 1},
                           .script = asked.tasks};
    asked.tasks = (struct blob){0};
    if (n->conn && st->asked)
        fx_send(c, n->conn, MSG_LAUNCH, &m, 0);
}

static void created_say(struct core *c, struct steprec *st, uint64_t conn, uint64_t seq, const char *warning)
{
    struct msg_step_created m = {.step = {&st->s, 1}, .warning = warning};
    fx_reply(c, conn, seq, MSG_STEP_CREATED, &m);
}

static void ended_say(struct core *c, struct steprec *st, uint64_t conn, uint64_t seq)
{
    struct msg_step_ended m = {.step = {&st->s, 1}, .detail = st->detail};
    fx_reply(c, conn, seq, MSG_STEP_ENDED, &m);
}

static void refused_say(struct core *c, uint64_t conn, uint64_t seq, enum refusal refusal, const char *detail)
{
    struct msg_done m = {.refusal = refusal, .detail = text_empty(detail) ? NULL : detail};
    fx_reply(c, conn, seq, MSG_DONE, &m);
}

/* ---- making ------------------------------------------------------------------------------------------------------------------------ */

static uint64_t key_hash(const char *key)
{
    uint64_t hash = text_empty(key) ? 0 : hash_text(HASH_INIT, key);
    return text_empty(key) ? 0 : hash ? hash : 1;
}

/* A name that all nodes of the job resolve: its address if one is configured, of a virtual node the machine. */
static const char *rendezvous_name(const struct core *c, const struct noderec *n)
{
    if (!text_empty(n->n.hostname) && !text_is(n->n.hostname, n->n.name))
        return n->n.hostname;
    if (!text_empty(n->n.addr) && !text_is(n->n.addr, n->n.name))
        return n->n.addr;
    return n->n.is_virtual ? c->host : n->n.name;
}

static void totals_take(struct core *c, struct steprec *st, const struct alloc *layout)
{
    struct hostlist names = HOSTLIST_INIT;
    struct str nodes = STR_INIT, gres = STR_INIT, text = STR_INIT;
    for (size_t i = 0; i < layout->n; i++) {
        hostlist_add(&names, layout->node[i].node);
        st->s.cpus += layout->node[i].cpu_count;
        st->s.ntasks += layout->node[i].tasks;
    }
    hostlist_fold(&names, &nodes);
    alloc_gres_text(layout, &gres);
    alloc_format(layout, &text);
    st->s.node_count = (int32_t)layout->n;
    text_set(c, &st->s.nodes, str_text(&nodes));
    text_set(c, &st->s.gres, str_text(&gres));
    text_set(c, &st->s.layout, str_text(&text));
    hostlist_done(&names);
    str_done(&nodes);
    str_done(&gres);
    str_done(&text);
}

static struct msg_create_step *asked_copy(const struct msg_create_step *m, struct arena *a)
{
    struct msg_create_step *copy = arena_alloc(a, sizeof *copy);
    record_copy(&msg_create_step_fields, copy, m, a);
    return copy;
}

/* What the nodes are told. */
static struct msg_create_step *asked_settle(const struct core *c, const struct jobrec *r,
                                            const struct msg_create_step *m, struct arena *a)
{
    struct msg_create_step *copy = asked_copy(m, a);
    step_bind_settle(c, r, copy->spec.v, a);
    return copy;
}

static int64_t new_step_id(struct jobrec *r, const struct msg_create_step *m)
{
    struct steprec *shell = m->interactive ? step_find(r, STEP_INTERACTIVE) : NULL;
    return m->interactive && !shell ? STEP_INTERACTIVE : r->next_step++;
}

/* What nothing here depends on, but is shown. */
static void asked_keep(struct core *c, struct step *s, const struct msg_create_step *m)
{
    const struct job_spec *spec = m->spec.v;
    text_set(c, &s->step_name, spec->name ? spec->name : m->interactive ? "interactive" : "srun");
    text_set(c, &s->submit_line, spec->submit_line);
    text_set(c, &s->command_host, m->async ? NULL : spec->alloc_host);
    s->command_pid = m->command_pid;
    text_set(c, &s->cpu_freq, m->cpu_freq);
    text_set(c, &s->distribution, spec->req.distribution);
    text_set(c, &s->gres_asked, spec->req.gres);
    text_set(c, &s->gpus, spec->req.gpus);
    text_set(c, &s->gpus_per_node, spec->req.gpus_per_node);
    text_set(c, &s->gpus_per_socket, spec->req.gpus_per_socket);
    text_set(c, &s->gpus_per_task, spec->req.gpus_per_task);
    text_set(c, &s->gpu_bind, spec->gpu_bind);
    s->cpus_per_gpu = spec->req.cpus_per_gpu;
    s->mem_per_gpu_mib = spec->req.mem_per_gpu_mib;
}

static struct steprec *step_make(struct core *c, struct jobrec *r, int64_t step_id,
                                 const struct msg_create_step *m, const struct step_want *want,
                                 const struct alloc *layout)
{
    const struct job_spec *spec = m->spec.v;
    struct steprec *st = step_new(c, r, step_id);
    asked_keep(c, &st->s, m);
    totals_take(c, st, layout);
    st->s.limit_us = spec->req.time_limit_us == TIME_UNLIMITED ? 0 : spec->req.time_limit_us;
    st->s.shares = want->shares;
    st->s.no_kill = m->no_kill;
    st->s.key_hash = key_hash(m->key);
    step_layout_take(c, st);
    st->asked = asked_settle(c, r, m, st->arena);
    const struct noderec *first = node_find(c, layout->node[0].node);
    text_set(c, &st->s.master_addr, rendezvous_name(c, first));
    if (!m->no_rendezvous)
        st->s.master_port = step_port(c, first->index, r->j.id * 7 + (uint64_t)r->next_step);
    return st;
}

/* A thousand nodes get a thousand times the same bytes. */
static void step_launch_all(struct core *c, struct jobrec *r, struct steprec *st)
{
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

static void step_start(struct core *c, struct jobrec *r, struct steprec *st)
{
    step_save(c, st);
    for (size_t i = 0; i < st->part.n; i++) {
        for (size_t k = 0; k < r->hold.n; k++)
            r->hold.v[k].told |= r->hold.v[k].node == st->part.v[i].node;
    }
    step_launch_all(c, r, st);
    timer_arm(c, r);
}

static void step_begin(struct core *c, struct jobrec *r, struct steprec *st, uint64_t conn, uint64_t seq,
                       const char *warning)
{
    step_start(c, r, st);
    created_say(c, st, conn, seq, warning);
    st->holder_conn = conn;
    vec_push(&c->waiter, ((struct waiter){.kind = WAIT_STEP,
                                          .uid = r->j.user_id,
                                          .conn = conn,
                                          .seq = seq,
                                          .job_id = r->j.id,
                                          .step_id = st->s.step_id}));
}

static enum refusal layout_try(struct core *c, struct jobrec *r, const struct step_want *want,
                               const struct alloc *held, enum room_view view, struct arena *a,
                               struct alloc *ret, struct str *detail)
{
    struct step_room *room = step_rooms(c, r, held, view, a);
    enum refusal refusal = step_layout(want, room, held->n, a, ret, detail);
    step_rooms_done(room, held);
    return refusal;
}

/* Can it ever be, and can it be now? */
static enum refusal place_find(struct core *c, struct jobrec *r, const struct msg_create_step *m,
                               struct arena *a, struct step_want *want, struct alloc *ret, struct str *detail)
{
    struct alloc held = {0};
    struct err err = {0};
    struct str busy = STR_INIT;
    enum refusal refusal = REFUSE_NONE;
    if (sampled_too_seldom(c, m->spec.v, &r->j.spec.req)) {
        str_add(detail,
                "the job has asked for memory: --acctg-freq=task= may be at most JobAcctGatherFrequency");
        return REFUSE_ACCOUNTING_FREQUENCY;
    }
    if (!alloc_parse(r->j.alloc, a, &held, &err)) {
        str_add(detail, err.text);
        return REFUSE_UNAVAILABLE;
    }
    if (!step_want_read(m, &r->j, &held, a, want, &refusal, detail) ||
        (refusal = step_features_take(c, &((const struct job_spec *)m->spec.v)->req, &held, a, want, detail)))
        return refusal;
    refusal = layout_try(c, r, want, &held, ROOM_EVER, a, ret, detail);
    if (refusal == REFUSE_GRES)
        alloc_outs_say(c, &held, a, detail);
    if (refusal)
        return refusal;
    bool now =
        r->j.state == JOB_RUNNING &&
        !layout_try(c, r, want, &held, want->shares & SHARES_CPUS ? ROOM_SHARED : ROOM_NOW, a, ret, &busy);
    str_done(&busy);
    return now ? REFUSE_NONE : REFUSE_BUSY;
}

/* REFUSE_BUSY: not now. Otherwise made, or why it can never be. */
static enum refusal step_try(struct core *c, struct jobrec *r, const struct msg_create_step *m, uint64_t conn,
                             uint64_t seq, struct str *detail)
{
    struct arena *a = arena_new();
    struct alloc layout = {0};
    struct step_want want;
    enum refusal refusal =
        step_dependencies_look(r, ((const struct job_spec *)m->spec.v)->dependency, detail);
    if (!refusal)
        refusal = place_find(c, r, m, a, &want, &layout, detail);
    if (!refusal)
        step_begin(c, r, step_make(c, r, new_step_id(r, m), m, &want, &layout), conn, seq, want.warning);
    arena_free(a);
    return refusal;
}

enum refusal step_try_detached(struct core *c, struct jobrec *r, const struct msg_create_step *m,
                               int64_t step_id, uint64_t hash, bool look_only, struct str *detail)
{
    struct arena *a = arena_new();
    struct alloc layout = {0};
    struct step_want want;
    enum refusal refusal = place_find(c, r, m, a, &want, &layout, detail);
    if (!refusal && look_only)
        refusal = REFUSE_BUSY;
    if (!refusal) {
        r->next_step = step_id < r->next_step ? r->next_step : step_id + 1;
        struct steprec *st = step_make(c, r, step_id, m, &want, &layout);
        st->s.detached = true;
        st->s.key_hash = hash;
        step_start(c, r, st);
    }
    arena_free(a);
    return refusal;
}

/* ---- waiting ------------------------------------------------------------------------------------------------------------------------ */

static void wish_drop(struct core *c, struct jobrec *r, size_t i)
{
    struct stepwish *w = r->wish.v[i];
    for (size_t k = 0; k < c->waiter.n; k++)
        if (c->waiter.v[k].kind == WAIT_WISH && c->waiter.v[k].conn == w->conn &&
            c->waiter.v[k].seq == w->seq) {
            vec_remove(&c->waiter, k);
            break;
        }
    vec_remove(&r->wish, i);
    arena_free(w->arena);
    free(w);
}

/* With what is out of use of the job's devices, since it may be that which is waited for. */
static void pending_say(struct core *c, const struct jobrec *r)
{
    struct str reason = STR_INIT, outs = STR_INIT;
    struct arena *a = arena_new();
    struct alloc held = {0};
    str_add(&reason, refusal_text(REFUSE_UNAVAILABLE));
    if (r->j.alloc && alloc_parse(r->j.alloc, a, &held, NULL))
        alloc_outs_say(c, &held, a, &outs);
    if (outs.len)
        str_addf(&reason, "; %s", str_text(&outs));
    struct msg_step_pending pending = {.reason = str_text(&reason)};
    fx_reply(c, c->conn, c->seq, MSG_STEP_PENDING, &pending);
    str_done(&reason);
    str_done(&outs);
    arena_free(a);
}

static void wish_add(struct core *c, struct jobrec *r, const struct msg_create_step *m)
{
    struct stepwish *w = xcalloc(1, sizeof *w);
    w->arena = arena_new();
    w->m = asked_copy(m, w->arena);
    w->conn = c->conn;
    w->seq = c->seq;
    vec_push(&r->wish, w);
    waiter_add(c, WAIT_WISH, r->j.id, 0);
    pending_say(c, r);
}

void step_wishes_retry(struct core *c, struct jobrec *r)
{
    for (size_t i = 0; i < r->wish.n && r->j.state == JOB_RUNNING;) {
        struct stepwish *w = r->wish.v[i];
        struct str detail = STR_INIT;
        enum refusal refusal = step_try(c, r, w->m, w->conn, w->seq, &detail);
        if (refusal && refusal != REFUSE_BUSY)
            refused_say(c, w->conn, w->seq, refusal, str_text(&detail));
        if (refusal == REFUSE_BUSY)
            i++;
        else
            wish_drop(c, r, i);
        str_done(&detail);
    }
    step_queue_retry(c, r);
}

void step_wishes_refuse(struct core *c, struct jobrec *r, enum refusal refusal, const char *detail)
{
    while (r->wish.n) {
        refused_say(c, r->wish.v[0]->conn, r->wish.v[0]->seq, refusal, detail);
        wish_drop(c, r, 0);
    }
    step_queue_drop(c, r);
}

void step_wish_closed(struct core *c, uint64_t job_id, uint64_t conn)
{
    struct jobrec *r = job_find(c, job_id);
    for (size_t i = 0; r && i < r->wish.n;) {
        if (r->wish.v[i]->conn == conn)
            wish_drop(c, r, i);
        else
            i++;
    }
}

#define FORMER_RUN "the job was requeued, and this command belongs to a former run of it"

/* ---- create_step -------------------------------------------------------------------------------------------------------------------- */

static struct steprec *step_of_key(const struct jobrec *r, const char *key)
{
    uint64_t hash = key_hash(key);
    for (size_t i = 0; hash && i < r->step.n; i++)
        if (r->step.v[i]->s.key_hash == hash)
            return r->step.v[i];
    return NULL;
}

static void hold_step(struct core *c, struct jobrec *r, struct steprec *st)
{
    if (st->s.detached)
        return;
    st->holder_conn = c->conn;
    st->lonely_us = 0;
    timer_arm(c, r);
}

/* The call of a step that is there. Nodes that were not seen to have it are told again: the controller that made it may have died before it told them. */
static void repeated(struct core *c, struct jobrec *r, struct steprec *st, const struct msg_create_step *m)
{
    created_say(c, st, c->conn, c->seq, NULL);
    if (m->async)
        return;
    if (!step_live(st)) {
        ended_say(c, st, c->conn, c->seq);
        return;
    }
    waiter_add(c, WAIT_STEP, r->j.id, st->s.step_id);
    hold_step(c, r, st);
    if (!st->s.detached)
        st->asked = asked_settle(c, r, m, st->arena);
    for (size_t i = 0; i < st->part.n; i++)
        if (!st->part.v[i].seen && !st->part.v[i].over && !st->ending)
            step_launch(c, r, st, st->part.v[i].node);
}

static enum refusal job_takes_steps(const struct core *c, const struct jobrec *r,
                                    const struct msg_create_step *m, const char **detail)
{
    if (!r)
        return REFUSE_INVALID_JOB_ID;
    if (!may_control(c, r))
        return REFUSE_ACCESS_DENIED;
    if (m->spec.n != 1)
        return REFUSE_BAD_MESSAGE;
    if (m->attempt && m->attempt != r->j.attempt) {
        *detail = FORMER_RUN;
        return REFUSE_ALREADY_DONE;
    }
    if (r->j.state == JOB_PENDING || r->j.state == JOB_SPECIAL_EXIT)
        return REFUSE_JOB_PENDING;
    if (r->j.state != JOB_RUNNING && r->j.state != JOB_SUSPENDED)
        return REFUSE_ALREADY_DONE;
    if (r->next_step >= (int64_t)LIMIT_STEPS_PER_JOB || r->wish.n >= LIMIT_STEPS_PER_JOB) {
        *detail = "a job has at most 40000 steps: launch several tasks with one srun, or submit an array";
        return REFUSE_STEP_LIMIT;
    }
    return REFUSE_NONE;
}

static bool wish_of_key(struct core *c, struct jobrec *r, const char *key)
{
    uint64_t hash = key_hash(key);
    for (size_t i = 0; hash && i < r->wish.n; i++)
        if (key_hash(r->wish.v[i]->m->key) == hash) {
            r->wish.v[i]->conn = c->conn;
            r->wish.v[i]->seq = c->seq;
            waiter_add(c, WAIT_WISH, r->j.id, 0);
            pending_say(c, r);
            return true;
        }
    return false;
}

void req_create_step(struct core *c, const struct msg_create_step *m)
{
    struct jobrec *r = job_find(c, m->job_id);
    const char *detail = NULL;
    struct steprec *again = r && may_control(c, r) && m->spec.n == 1 ? step_of_key(r, m->key) : NULL;
    if (again) {
        repeated(c, r, again, m);
        return;
    }
    enum refusal refusal = job_takes_steps(c, r, m, &detail);
    if (refusal) {
        reply_done(c, refusal, detail);
        return;
    }
    if (m->async) {
        req_queue_step(c, r, m, key_hash(m->key));
        return;
    }
    if (wish_of_key(c, r, m->key))
        return;
    struct str why = STR_INIT;
    refusal = step_try(c, r, m, c->conn, c->seq, &why);
    if (refusal == REFUSE_BUSY && !m->immediate)
        wish_add(c, r, m);
    else if (refusal == REFUSE_BUSY)
        reply_done(c, REFUSE_UNAVAILABLE,
                   "other steps have the job's resources; without --immediate it would wait for them");
    else if (refusal)
        reply_done(c, refusal, str_text(&why));
    str_done(&why);
}

/* ---- attach_step ---------------------------------------------------------------------------------------------------------------------- */

static void streams_turn(struct core *c, const struct steprec *st, const struct msg_attach_step *m)
{
    struct msg_stream_to to = {.job_id = st->s.job_id,
                               .attempt = st->s.attempt,
                               .step_id = st->s.step_id,
                               .address = m->address,
                               .key = m->key};
    for (size_t i = 0; i < st->part.n; i++) {
        const struct noderec *n = c->node.v[st->part.v[i].node];
        if (!st->part.v[i].over && n->conn)
            fx_send(c, n->conn, MSG_STREAM_TO, &to, 0);
    }
}

void req_attach_step(struct core *c, const struct msg_attach_step *m)
{
    struct jobrec *r = job_find(c, m->job_id);
    struct steprec *st = r ? step_find(r, m->step_id) : NULL;
    if (!r || !may_control(c, r)) {
        reply_done(c, r ? REFUSE_ACCESS_DENIED : REFUSE_INVALID_JOB_ID, NULL);
        return;
    }
    if (m->attempt && m->attempt != r->j.attempt) {
        reply_done(c, REFUSE_ALREADY_DONE, FORMER_RUN);
        return;
    }
    if (!st || m->step_id == STEP_BATCH) {
        bool was = m->step_id >= 0 && m->step_id < r->next_step;
        reply_done(c, was ? REFUSE_ALREADY_DONE : REFUSE_INVALID_JOB_ID,
                   m->step_id == STEP_BATCH ? "the batch script's streams are its output files" : NULL);
        return;
    }
    created_say(c, st, c->conn, c->seq, NULL);
    if (!step_live(st)) {
        ended_say(c, st, c->conn, c->seq);
        return;
    }
    waiter_add(c, WAIT_STEP, r->j.id, st->s.step_id);
    if (m->hold)
        hold_step(c, r, st);
    if (m->address)
        streams_turn(c, st, m);
}
