/* Making a step: its place among the other steps of its job, its record, its launch. A step that
 * can never be is refused with a sentence. */
#include "core/record/asked.h"
#include "core/step/layout.h"
#include "core/step/step.h"
#include "model/settings/key.h"

/* ---- making --------------------------------------------------------------------------------- */

uint64_t step_key_hash(const char *key)
{
    uint64_t hash = text_empty(key) ? 0 : hash_text(HASH_INIT, key);
    return text_empty(key) ? 0 : hash ? hash : 1;
}

/* A name that all nodes of the job resolve: its address if one is configured, of a virtual node the
 * machine. */
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

struct msg_create_step *step_asked_copy(const struct msg_create_step *m, struct arena *a)
{
    struct msg_create_step *copy = arena_alloc(a, sizeof *copy);
    record_copy(&msg_create_step_fields, copy, m, a);
    return copy;
}

/* What the nodes are told. */
struct msg_create_step *step_asked_settle(const struct core *c, const struct jobrec *r,
                                          const struct msg_create_step *m, struct arena *a)
{
    struct msg_create_step *copy = step_asked_copy(m, a);
    step_bind_settle(c, r, copy->spec.v, a);
    return copy;
}

static int64_t new_step_id(const struct core *c, struct jobrec *r, const struct msg_create_step *m)
{
    struct steprec *shell = m->interactive ? step_find(r, STEP_INTERACTIVE) : NULL;
    if (m->interactive && !shell)
        return STEP_INTERACTIVE;
    int64_t step_id = step_number_next(c, r, step_key_hash(m->together));
    step_number_taken(r, step_id);
    return step_id;
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
    user_room_row(c, r->j.user_id, spec);
    user_room_disk(c, r->j.user_id, texts_long(spec));
    asked_keep(c, &st->s, m);
    totals_take(c, st, layout);
    st->s.limit_us = spec->req.time_limit_us == TIME_UNLIMITED ? 0 : spec->req.time_limit_us;
    st->s.shares = want->shares;
    st->s.no_kill = m->no_kill;
    st->s.key_hash = step_key_hash(m->key);
    st->s.together_hash = step_key_hash(m->together);
    step_layout_parse(c, st);
    step_asked_keep(c, r, st, step_asked_settle(c, r, m, st->arena));
    const struct noderec *first = node_find(c, layout->node[0].node);
    text_set(c, &st->s.master_addr, rendezvous_name(c, first));
    if (!m->no_rendezvous)
        st->s.master_port = step_port(c, first->index, r->j.id * 7 + (uint64_t)r->next_step);
    return st;
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

static void step_begin(struct core *c, struct jobrec *r, struct steprec *st, uint64_t conn,
                       uint64_t seq, const char *warning)
{
    step_start(c, r, st);
    step_created_say(c, &st->s, conn, seq, warning);
    st->holder_conn = conn;
    vec_push(&c->calls.waiter, ((struct waiter){.kind = WAIT_STEP,
                                                .payer = job_payer(&r->j),
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
                               struct arena *a, struct step_want *want, struct alloc *ret,
                               struct str *detail)
{
    struct alloc held = {0};
    struct err err = {0};
    struct str busy = STR_INIT;
    enum refusal refusal = REFUSE_NONE;
    if (sampled_too_seldom(c, m->spec.v, &r->j.spec.req)) {
        str_addf(detail, "the job has asked for memory: --acctg-freq=task= may be at most %s",
                 SETTING_KEY(JobAcctGatherFrequency));
        return REFUSE_ACCOUNTING_FREQUENCY;
    }
    if (!alloc_parse(r->j.alloc, a, &held, &err)) {
        str_add(detail, err.text);
        return REFUSE_UNAVAILABLE;
    }
    /* Names of --nodelist are the job's, and may be there for each task. */
    if (!names_fit(c, ((const struct job_spec *)m->spec.v)->req.exclude, &err)) {
        str_add(detail, err.text);
        return REFUSE_TOO_LARGE;
    }
    if (!step_want_read(m, &r->j, &held, a, want, &refusal, detail) ||
        (refusal = step_features_forbid(c, &((const struct job_spec *)m->spec.v)->req, &held, a,
                                        want, detail)))
        return refusal;
    refusal = layout_try(c, r, want, &held, ROOM_EVER, a, ret, detail);
    if (refusal == REFUSE_GRES)
        alloc_outs_say(c, &held, a, detail);
    if (refusal)
        return refusal;
    bool now = r->j.state == JOB_RUNNING &&
               !layout_try(c, r, want, &held, want->shares & SHARES_CPUS ? ROOM_SHARED : ROOM_NOW,
                           a, ret, &busy);
    str_done(&busy);
    return now ? REFUSE_NONE : REFUSE_BUSY;
}

/* REFUSE_BUSY: not now. Otherwise made, or why it can never be. */
enum refusal step_try(struct core *c, struct jobrec *r, const struct msg_create_step *m,
                      uint64_t conn, uint64_t seq, struct str *detail)
{
    struct arena *a = arena_new();
    struct alloc layout = {0};
    struct step_want want;
    enum refusal refusal =
        step_dependencies_look(c, r, ((const struct job_spec *)m->spec.v)->dependency, detail);
    if (!refusal)
        refusal = place_find(c, r, m, a, &want, &layout, detail);
    if (!refusal)
        step_begin(c, r, step_make(c, r, new_step_id(c, r, m), m, &want, &layout), conn, seq,
                   want.warning);
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
        step_number_taken(r, step_id);
        struct steprec *st = step_make(c, r, step_id, m, &want, &layout);
        st->s.detached = true;
        st->s.key_hash = hash;
        step_start(c, r, st);
    }
    arena_free(a);
    return refusal;
}
