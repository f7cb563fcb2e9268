#include "sim/world.h"

#include "sim/callers.h"

#include "agent/agent.h"
#include "base/alloc.h"
#include "base/duration.h"
#include "base/idset.h"
#include "base/map.h"
#include "base/vec.h"
#include "core/core.h"
#include "model/alloc.h"
#include "store/store.h"
#include "wire/frame.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define EPOCH_US (INT64_C(1790000000) * USEC_PER_SEC) /* when worlds begin */
#define CLIENT   UINT64_C(1) << 40                    /* connections of clients are numbered from here */
#define DELAY_US 200                                  /* of a link, at least */

/* ---- what the world holds ------------------------------------------------------------------------------------------------------ */

/* A step and its shepherd, as the node's disk and process table know it. */
struct simstep {
    struct note ids;
    struct behaviour b;
    VEC(struct note) said; /* the state file */
    char *cpus; /* of a step that has them to itself; owned */
    bool alive;
    int64_t ends_us; /* when it ends by itself, unless it is stopped */
    int64_t left_us; /* stopped: how long it would run yet */
    bool stopped;
    uint64_t turn;   /* number of its current end event; older ones are void */
};

struct simnode {
    struct node n;
    struct agent *agent; /* NULL: its daemon is down */
    uint64_t conn;       /* 0: not connected */
    VEC(struct simstep *) step;
    int64_t wake_us;
};

enum happen {
    H_TO_CORE,
    H_TO_NODE,
    H_NOTE,
    H_STEP_END,
    H_STEP_START,
    H_CONNECT,
    H_AGENT_BACK,
    H_CORE_BACK,
    H_AGENT_WAKE,
    H_CORE_WAKE,
    H_STORE_RETRY,
    H_PROGRAM
};

struct happening {
    int64_t at_us;
    uint64_t order; /* among equal times: first come, first served */
    enum happen what;
    size_t node;
    uint64_t conn, turn;
    struct str bytes; /* H_TO_CORE, H_TO_NODE */
    struct note note;
    bool is_epilog;
};

struct world {
    struct rng rng;
    int64_t now_us;
    struct config config;
    struct core *core; /* NULL: the controller is down */
    struct store *store;
    uint64_t epoch, batch_seq, next_conn, next_order, answer_seq;
    struct effects fx;   /* of the open turn */
    struct batch *stuck; /* a batch that could not be committed, with its effects in fx */
    bool away;
    enum crash_point crash;
    bool crash_set;
    int64_t crash_back_us;
    VEC(struct simnode) node;
    VEC(struct happening) heap;
    struct map_u64 *acknowledged; /* ids whose submission was answered */
    struct map_u64 *state;        /* id → committed state + 1 */
    struct map_u64 *starts;       /* hash of what may start once: a batch script, a step on a node */
    struct map_u64 *step_ended;   /* hash of job, attempt and step → its end was stored */
    struct callers callers;
    enum refusal refusal;         /* of the answer to the client at hand */
    uint64_t answered_id;
    bool answered;
    uint64_t client_conn;
    struct arena *arena; /* of a message at hand */
    struct str trace;
    char *broken;
    uint64_t hash;
};

static void broke(struct world *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void broke(struct world *w, const char *format, ...)
{
    struct str text = STR_INIT;
    va_list args;
    if (w->broken)
        return;
    va_start(args, format);
    str_addv(&text, format, args);
    va_end(args);
    w->broken = str_take(&text);
}

static int64_t wall(const struct world *w)
{
    return EPOCH_US + w->now_us;
}

/* ---- the heap of what will happen ------------------------------------------------------------------------------------------------- */

static bool sooner(const struct happening *a, const struct happening *b)
{
    return a->at_us != b->at_us ? a->at_us < b->at_us : a->order < b->order;
}

static void plan(struct world *w, int64_t after_us, struct happening h)
{
    h.at_us = w->now_us + after_us;
    h.order = w->next_order++;
    vec_push(&w->heap, h);
    size_t i = w->heap.n - 1;
    for (; i > 0 && sooner(&h, &w->heap.v[(i - 1) / 2]); i = (i - 1) / 2)
        w->heap.v[i] = w->heap.v[(i - 1) / 2];
    w->heap.v[i] = h;
}

static struct happening take(struct world *w)
{
    struct happening top = w->heap.v[0], last = w->heap.v[--w->heap.n];
    size_t i = 0, child;
    for (; (child = 2 * i + 1) < w->heap.n; i = child) {
        if (child + 1 < w->heap.n && sooner(&w->heap.v[child + 1], &w->heap.v[child]))
            child++;
        if (!sooner(&w->heap.v[child], &last))
            break;
        w->heap.v[i] = w->heap.v[child];
    }
    if (w->heap.n)
        w->heap.v[i] = last;
    return top;
}

static int64_t delay(struct world *w)
{
    return DELAY_US + (int64_t)rng_below(&w->rng, 3000);
}

/* ---- the trace -------------------------------------------------------------------------------------------------------------------- */

static void trace_job(struct world *w, const struct job *j)
{
    enum job_state before = (enum job_state)((uintptr_t)map_u64_get(w->state, j->id)) - 1;
    bool known = map_u64_get(w->state, j->id) != NULL;
    if (known && before == (enum job_state)j->state)
        return;
    if (known && job_state_over(before) && j->state != JOB_PENDING && j->state != JOB_SPECIAL_EXIT)
        broke(w, "job %llu was %s and became %s", (unsigned long long)j->id,
              enum_name(&job_state_names, before), enum_name(&job_state_names, j->state));
    map_u64_put(w->state, j->id, (void *)(uintptr_t)(j->state + 1));
    if (!known && j->state == JOB_PENDING)
        return;
    str_addc(&w->trace, '[');
    struct str at = STR_INIT;
    duration_format(w->now_us, &at);
    str_add(&w->trace, str_text(&at));
    str_done(&at);
    str_add(&w->trace, "] ");
    job_label(j, &w->trace);
    str_addf(&w->trace, " %s > %s", enum_name(&job_state_names, known ? (int32_t)before : JOB_PENDING),
             enum_name(&job_state_names, j->state));
    if (j->state == JOB_RUNNING)
        str_addf(&w->trace, " on %s", j->nodes ? j->nodes : "?");
    if (job_state_over((enum job_state)j->state) && j->exit_status)
        str_addf(&w->trace, " %d:%d", status_code(j->exit_status), status_signal(j->exit_status));
    if (j->reason != REASON_NONE && j->state != JOB_RUNNING)
        str_addf(&w->trace, " (%s)", enum_name(&job_reason_names, j->reason));
    str_addc(&w->trace, '\n');
}

static uint64_t step_key(uint64_t job_id, uint64_t attempt, int64_t step_id, uint64_t node)
{
    const uint64_t parts[] = {job_id, attempt, (uint64_t)step_id, node};
    return hash_bytes(HASH_INIT, parts, sizeof parts);
}

/* A step begins once and ends once. */
static void trace_step(struct world *w, const struct step *s)
{
    uint64_t key = step_key(s->job_id, s->attempt, s->step_id, 0);
    bool known = map_u64_get(w->step_ended, key) != NULL;
    bool was_over = (uintptr_t)map_u64_get(w->step_ended, key) > 1;
    if (s->step_id == STEP_BATCH)
        return;
    if (was_over)
        broke(w, "step %llu.%lld is over and was written again", (unsigned long long)s->job_id, (long long)s->step_id);
    map_u64_put(w->step_ended, key, (void *)(uintptr_t)(s->end_us ? 2 : 1));
    if (known && !s->end_us)
        return;
    struct str at = STR_INIT;
    duration_format(w->now_us, &at);
    str_addf(&w->trace, "[%s] %llu.%lld %s", str_text(&at), (unsigned long long)s->job_id, (long long)s->step_id, enum_name(&job_state_names, s->state));
    str_done(&at);
    if (!s->end_us)
        str_addf(&w->trace, " on %s: %s", s->nodes, s->layout);
    else if (s->exit_status)
        str_addf(&w->trace, " %d:%d", status_code(s->exit_status), status_signal(s->exit_status));
    str_addc(&w->trace, '\n');
}

/* ---- the controller's shell ---------------------------------------------------------------------------------------------------------- */

static void node_link_drop(struct world *w, size_t i)
{
    struct simnode *n = &w->node.v[i];
    struct agent_effects fx;
    if (!n->conn)
        return;
    n->conn = 0;
    if (!n->agent)
        return;
    agent_effects_init(&fx);
    agent_step(n->agent, &(struct agent_event){.kind = AGENT_DOWN, .now_us = wall(w)}, &fx);
    agent_effects_done(&fx);
}

static void controller_die(struct world *w)
{
    core_free(w->core);
    w->core = NULL;
    effects_reset(&w->fx);
    callers_lose(&w->callers);
    if (w->stuck)
        batch_free(w->stuck);
    w->stuck = NULL;
    w->away = false;
    w->crash_set = false;
    for (size_t i = 0; i < w->node.n; i++)
        node_link_drop(w, i);
    plan(w, w->crash_back_us, (struct happening){.what = H_CORE_BACK});
    for (size_t i = 0; i < w->node.n; i++)
        plan(w, w->crash_back_us + delay(w), (struct happening){.what = H_CONNECT, .node = i});
}

static bool crash_here(struct world *w, enum crash_point point)
{
    if (!w->crash_set || w->crash != point)
        return false;
    controller_die(w);
    return true;
}

static void answer_take(struct world *w, const struct message *m)
{
    w->answered = true;
    w->refusal = REFUSE_NONE;
    if (m->kind == MSG_SUBMITTED)
        w->answered_id = ((const struct msg_submitted *)m->body)->job_id;
    else if (m->kind == MSG_DONE)
        w->refusal = (enum refusal)((const struct msg_done *)m->body)->refusal;
}

static size_t node_of_conn(const struct world *w, uint64_t conn)
{
    for (size_t i = 0; i < w->node.n; i++)
        if (conn && w->node.v[i].conn == conn)
            return i;
    return SIZE_MAX;
}

static void effect_release(struct world *w, const struct effect *e)
{
    size_t node = node_of_conn(w, e->conn);
    if (e->kind == FX_CLOSE && node != SIZE_MAX) {
        node_link_drop(w, node);
        plan(w, USEC_PER_SEC, (struct happening){.what = H_CONNECT, .node = node});
    }
    if (e->kind != FX_REPLY && e->kind != FX_SEND)
        return;
    w->hash = hash_bytes(w->hash, &e->msg.kind, sizeof e->msg.kind);
    if (node != SIZE_MAX) {
        struct happening h = {.what = H_TO_NODE, .node = node, .conn = e->conn};
        wire_encode(&e->msg, &h.bytes);
        plan(w, delay(w), h);
        return;
    }
    const char *wrong = callers_hear(&w->callers, e->conn, e->msg.kind);
    if (wrong)
        broke(w, "%s", wrong);
    if (e->conn == w->client_conn)
        answer_take(w, &e->msg);
}

static struct batch *batch_of(struct world *w)
{
    struct batch *b = batch_new();
    b->epoch = w->epoch;
    b->seq = w->batch_seq + 1;
    for (size_t i = 0; i < w->fx.n; i++)
        if (w->fx.v[i].kind == FX_STORE)
            batch_add(b, w->fx.v[i].remove ? ROW_DELETE : ROW_PUT, w->fx.v[i].table, w->fx.v[i].record);
    return b;
}

static void core_event(struct world *w, struct event ev)
{
    ev.now_us = wall(w);
    core_step(w->core, &ev, &w->fx);
    core_check(w->core);
}

static void wake_plan(struct world *w)
{
    int64_t due = core_wake_due(w->core);
    if (due != INT64_MAX)
        plan(w, due > wall(w) ? due - wall(w) : 1, (struct happening){.what = H_CORE_WAKE});
}

/* Commits what the turn wants stored, then lets the other effects out; a crash may come between any two of them. */
static void turn_end(struct world *w)
{
    struct err err = {0};
    if (w->away)
        return;
    if (core_wake_due(w->core) <= wall(w))
        core_event(w, (struct event){.kind = EV_WAKE});
    if (crash_here(w, CRASH_BEFORE_COMMIT))
        return;
    struct batch *b = batch_of(w);
    if (b->n && !store_commit(w->store, b, &err)) {
        batch_free(b);
        w->away = true;
        core_event(w, (struct event){.kind = EV_STORE_AWAY, .text = err.text});
        plan(w, USEC_PER_SEC, (struct happening){.what = H_STORE_RETRY});
        return;
    }
    w->batch_seq += b->n > 0;
    for (size_t i = 0; i < b->n; i++) {
        w->hash = record_hash(store_table_rows[b->row[i].table].fields, b->row[i].record, w->hash);
        if (b->row[i].table == TABLE_JOB)
            trace_job(w, b->row[i].record);
        else if (b->row[i].table == TABLE_STEP)
            trace_step(w, b->row[i].record);
    }
    batch_free(b);
    if (crash_here(w, CRASH_AFTER_COMMIT))
        return;
    for (size_t i = 0; i < w->fx.n; i++) {
        effect_release(w, &w->fx.v[i]);
        if (i == w->fx.n / 2 && crash_here(w, CRASH_BETWEEN_EFFECTS))
            return;
    }
    effects_reset(&w->fx);
    wake_plan(w);
}

static void store_retry(struct world *w)
{
    if (!w->core || !w->away)
        return;
    w->away = false;
    core_event(w, (struct event){.kind = EV_STORE_BACK});
    turn_end(w);
}

struct loading {
    struct core *core;
    enum store_table table;
};

static void row_load(void *ctx, const void *record)
{
    struct loading *l = ctx;
    core_load(l->core, l->table, record);
}

static void controller_start(struct world *w)
{
    static const enum store_table tables[] = {TABLE_META, TABLE_USAGE, TABLE_PARTITION, TABLE_NODE, TABLE_RESERVATION, TABLE_JOB, TABLE_STEP};
    w->core = core_new(7, "controller");
    CHECK(store_take_epoch(w->store, &w->epoch, &w->batch_seq, NULL));
    core_event(w, (struct event){.kind = EV_CONFIG, .config = &w->config});
    for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
        struct loading l = {w->core, tables[i]};
        CHECK(store_load(w->store, tables[i], tables[i] == TABLE_JOB,
                         wall(w) - core_settings(w->core)->min_job_age_us, row_load, &l, NULL));
    }
    core_loaded(w->core, wall(w), &w->fx);
    core_check(w->core);
    turn_end(w);
}

/* ---- the nodes' shell ------------------------------------------------------------------------------------------------------------------ */

static void agent_event(struct world *w, size_t i, struct agent_event ev);

static struct simstep *step_of(struct simnode *n, const struct note *ids)
{
    for (size_t i = 0; i < n->step.n; i++)
        if (n->step.v[i]->ids.job_id == ids->job_id && n->step.v[i]->ids.attempt == ids->attempt && n->step.v[i]->ids.step_id == ids->step_id)
            return n->step.v[i];
    return NULL;
}

static struct behaviour behaviour_of(const char *comment)
{
    struct behaviour b = {.runs_us = USEC_PER_SEC};
    struct span rest = span_of(comment), word;
    while (comment && span_next(&rest, ' ', &word)) {
        char text[32] = "";
        memcpy(text, word.data, word.len < 31 ? word.len : 31);
        int64_t n;
        if (text_starts(text, "runs=") && text_to_i64(text + 5, 0, INT64_MAX, &n))
            b.runs_us = n;
        else if (text_starts(text, "exit=") && text_to_i64(text + 5, 0, INT32_MAX, &n))
            b.exit_status = (int32_t)n;
        b.stubborn |= text_is(text, "stubborn");
        b.oom |= text_is(text, "oom");
    }
    return b;
}

/* The shepherd writes its state file and tells the daemon, if there is one. */
static void note_say(struct world *w, size_t i, struct simstep *s, struct note n)
{
    n.job_id = s->ids.job_id;
    n.attempt = s->ids.attempt;
    n.step_id = s->ids.step_id;
    n.at_us = wall(w);
    vec_push(&s->said, n);
    plan(w, 50, (struct happening){.what = H_NOTE, .node = i, .note = n});
}

static void step_end_at(struct world *w, size_t i, struct simstep *s, int64_t after_us, int32_t status)
{
    s->b.exit_status = status;
    s->stopped = false;
    s->ends_us = w->now_us + after_us;
    struct happening h = {.what = H_STEP_END, .node = i, .turn = ++s->turn};
    h.note = s->ids;
    plan(w, after_us, h);
}

static void step_signal(struct world *w, size_t i, struct simstep *s, int32_t signal)
{
    if (signal == 9) {
        step_end_at(w, i, s, 500, 9);
    } else if (signal == 19 && !s->stopped) {
        s->stopped = true;
        s->left_us = s->ends_us > w->now_us ? s->ends_us - w->now_us : 0;
        s->turn++;
    } else if (signal == 18 && s->stopped) {
        step_end_at(w, i, s, s->left_us, s->b.exit_status);
    }
}

/* CPUs that two live steps of a job on one node have to themselves. */
static void cpus_compare(struct world *w, const struct simnode *n, const struct simstep *s)
{
    for (size_t k = 0; k < n->step.n; k++) {
        const struct simstep *other = n->step.v[k];
        struct idset mine = IDSET_INIT, its = IDSET_INIT;
        uint32_t cpu;
        bool compare = other->alive && other != s && other->ids.job_id == s->ids.job_id && other->ids.attempt == s->ids.attempt && other->cpus && s->cpus;
        if (compare && idset_parse(&mine, s->cpus, INT32_MAX, NULL) && idset_parse(&its, other->cpus, INT32_MAX, NULL))
            for (bool more = idset_first(&mine, &cpu); more; more = idset_next(&mine, cpu, &cpu))
                if (idset_has(&its, cpu))
                    broke(w, "steps %lld and %lld of job %lld both have CPU %u of %s", (long long)s->ids.step_id, (long long)other->ids.step_id, (long long)s->ids.job_id, cpu, n->n.name);
        idset_done(&mine);
        idset_done(&its);
    }
}

static char *step_cpus(struct world *w, const struct simnode *n, const struct step *s)
{
    struct arena *a = arena_new();
    struct alloc al = {0};
    const struct alloc_node *here = alloc_parse(s->layout, a, &al, NULL) ? alloc_find(&al, n->n.name) : NULL;
    char *cpus = here && !(s->shares & SHARES_CPUS) ? xstrdup(here->cpus) : NULL;
    if (!here)
        broke(w, "step %llu.%lld was launched on %s, where it has nothing", (unsigned long long)s->job_id, (long long)s->step_id, n->n.name);
    arena_free(a);
    return cpus;
}

static void start_check(struct world *w, size_t i, const struct job *j, const struct note *ids)
{
    struct simnode *n = &w->node.v[i];
    bool batch = ids->step_id == STEP_BATCH;
    uint64_t key = step_key(j->id, j->attempt, ids->step_id, batch ? 0 : i + 1);
    if (step_of(n, ids))
        broke(w, "job %llu attempt %u step %lld was started twice on %s", (unsigned long long)j->id, j->attempt, (long long)ids->step_id,
              n->n.name);
    else if (map_u64_get(w->starts, key))
        broke(w, "job %llu attempt %u step %lld was started again", (unsigned long long)j->id, j->attempt, (long long)ids->step_id);
    map_u64_put(w->starts, key, w);
    for (size_t k = 0; k < w->node.n; k++)
        for (size_t s = 0; s < w->node.v[k].step.n; s++) {
            const struct simstep *other = w->node.v[k].step.v[s];
            if (other->alive && (uint64_t)other->ids.job_id == j->id && w->node.v[k].conn && other->ids.attempt != j->attempt)
                broke(w, "job %llu runs twice: attempt %u starts while another is alive on a connected node",
                      (unsigned long long)j->id, j->attempt);
        }
}

static void step_start(struct world *w, size_t i, const struct msg_launch *l)
{
    const struct job *j = l->job.v;
    struct simnode *n = &w->node.v[i];
    const struct msg_create_step *create = l->create.n ? l->create.v : NULL;
    const struct job_spec *asked = create && create->spec.n ? create->spec.v : &j->spec;
    struct note ids = {.job_id = (int64_t)j->id, .attempt = j->attempt, .step_id = l->step_id, .pid = 1000 + (int64_t)j->id};
    start_check(w, i, j, &ids);
    if (w->broken)
        return;
    struct simstep *s = xcalloc(1, sizeof *s);
    s->ids = ids;
    s->cpus = l->step.n ? step_cpus(w, n, l->step.v) : NULL;
    s->b = behaviour_of(asked->comment);
    s->alive = true;
    vec_push(&n->step, s);
    cpus_compare(w, n, s);
    note_say(w, i, s, (struct note){.kind = NOTE_STARTED, .pid = s->ids.pid, .start_us = wall(w)});
    step_end_at(w, i, s, s->b.runs_us, s->b.oom ? 9 : s->b.exit_status << 8);
}

static void step_ends(struct world *w, const struct happening *h)
{
    struct simstep *s = step_of(&w->node.v[h->node], &h->note);
    if (!s || !s->alive || s->turn != h->turn)
        return;
    s->alive = false;
    note_say(w, h->node, s,
             (struct note){.kind = NOTE_EXITED,
                           .pid = s->ids.pid,
                           .status = s->b.exit_status,
                           .oom = s->b.oom && s->b.exit_status == 9,
                           .clean = 1,
                           .cpu_user_us = 1000});
}

static void step_forget(struct simnode *n, const struct note *ids)
{
    struct simstep *s = step_of(n, ids);
    for (size_t i = 0; s && i < n->step.n; i++)
        if (n->step.v[i] == s) {
            vec_done(&s->said);
            free(s->cpus);
            free(s);
            vec_remove(&n->step, i);
            return;
        }
}

static void agent_effect_do(struct world *w, size_t i, const struct agent_effect *e)
{
    struct simnode *n = &w->node.v[i];
    struct simstep *s = step_of(n, &e->note);
    struct happening h = {.node = i, .conn = n->conn, .note = e->note};
    switch (e->kind) {
    case AGENT_SEND:
        if (!n->conn)
            return;
        h.what = H_TO_CORE;
        wire_encode(&e->msg, &h.bytes);
        plan(w, delay(w), h);
        return;
    case AGENT_START:
        step_start(w, i, e->launch);
        return;
    case AGENT_TERMINATE:
        if (s && s->alive)
            step_end_at(w, i, s, s->b.stubborn ? e->kill_wait_us + 1000 : 1000, s->b.stubborn ? 9 : 15);
        return;
    case AGENT_SIGNAL:
        if (s && s->alive)
            step_signal(w, i, s, e->signal);
        return;
    case AGENT_FOLLOW: /* nobody reads streams here */
        return;
    case AGENT_CLEAR:
        if (s)
            s->alive = false;
        return;
    case AGENT_FORGET:
        if (s && s->alive)
            broke(w, "%s forgets job %lld while it runs", n->n.name, (long long)e->note.job_id);
        step_forget(n, &e->note);
        return;
    case AGENT_PROLOG:
    case AGENT_EPILOG:
        h.what = H_PROGRAM;
        h.is_epilog = e->kind == AGENT_EPILOG;
        plan(w, 1000, h);
        return;
    case AGENT_LOG:
        return;
    }
}

static void agent_event(struct world *w, size_t i, struct agent_event ev)
{
    struct simnode *n = &w->node.v[i];
    struct agent_effects fx;
    if (!n->agent)
        return;
    agent_effects_init(&fx);
    ev.now_us = wall(w);
    agent_step(n->agent, &ev, &fx);
    agent_check(n->agent);
    for (size_t k = 0; k < fx.n; k++)
        agent_effect_do(w, i, &fx.v[k]);
    agent_effects_done(&fx);
    int64_t due = agent_wake_due(n->agent);
    if (due != INT64_MAX && due != n->wake_us) {
        n->wake_us = due;
        plan(w, due > wall(w) ? due - wall(w) : 1, (struct happening){.what = H_AGENT_WAKE, .node = i});
    }
}

/* The daemon of a node starts and finds what its predecessor left. */
static void agent_start(struct world *w, size_t i)
{
    struct simnode *n = &w->node.v[i];
    if (n->agent)
        return;
    n->agent = agent_new(&n->n, 100, (uint64_t)wall(w));
    n->wake_us = 0;
    for (size_t k = 0; k < n->step.n; k++) {
        struct simstep *s = n->step.v[k];
        bool ended = false;
        agent_event(w, i, (struct agent_event){.kind = AGENT_FOUND, .note = &s->ids});
        for (size_t m = 0; m < s->said.n; m++) {
            struct note said = s->said.v[m];
            ended |= said.kind == NOTE_EXITED || said.kind == NOTE_FAILED;
            agent_event(w, i, (struct agent_event){.kind = AGENT_NOTE, .note = &said});
        }
        if (!s->alive && !ended) {
            struct note gone = s->ids;
            gone.kind = NOTE_GONE;
            agent_event(w, i, (struct agent_event){.kind = AGENT_NOTE, .note = &gone});
        }
    }
    plan(w, delay(w), (struct happening){.what = H_CONNECT, .node = i});
}

static void link_connect(struct world *w, size_t i)
{
    struct simnode *n = &w->node.v[i];
    if (n->conn || !n->agent)
        return;
    if (!w->core) {
        plan(w, USEC_PER_SEC / 2, (struct happening){.what = H_CONNECT, .node = i});
        return;
    }
    n->conn = w->next_conn++;
    agent_event(w, i, (struct agent_event){.kind = AGENT_UP});
}

/* ---- things happen ------------------------------------------------------------------------------------------------------------------- */

static const struct peer daemon_peer = {.user = "root", .group = "root", .host = "sim", .is_admin = true};

static bool message_read(struct world *w, struct happening *h, struct message *ret)
{
    struct frame f;
    struct err err = {0};
    arena_reset(w->arena);
    if (frame_take(h->bytes.data, h->bytes.len, &f, &err) <= 0 || !wire_decode(&f, w->arena, ret, &err)) {
        broke(w, "a frame cannot be read back: %s", err.text);
        return false;
    }
    return true;
}

static void happen(struct world *w, struct happening *h)
{
    struct message m;
    struct simnode *n = h->node < w->node.n ? &w->node.v[h->node] : NULL;
    switch (h->what) {
    case H_TO_CORE:
        if (w->core && n->conn == h->conn && h->conn && message_read(w, h, &m)) {
            core_event(w,
                       (struct event){.kind = EV_MESSAGE, .conn = h->conn, .peer = &daemon_peer, .msg = &m});
            turn_end(w);
        }
        break;
    case H_TO_NODE:
        if (n->agent && n->conn == h->conn && h->conn && message_read(w, h, &m))
            agent_event(w, h->node, (struct agent_event){.kind = AGENT_MESSAGE, .msg = &m});
        break;
    case H_NOTE:
        agent_event(w, h->node, (struct agent_event){.kind = AGENT_NOTE, .note = &h->note});
        break;
    case H_STEP_END:
        step_ends(w, h);
        break;
    case H_STEP_START:
        break;
    case H_CONNECT:
        link_connect(w, h->node);
        break;
    case H_AGENT_BACK:
        agent_start(w, h->node);
        break;
    case H_CORE_BACK:
        if (!w->core)
            controller_start(w);
        break;
    case H_AGENT_WAKE:
        if (n->agent && agent_wake_due(n->agent) <= wall(w))
            agent_event(w, h->node, (struct agent_event){.kind = AGENT_WAKE, .free_mem_mib = 1000});
        break;
    case H_CORE_WAKE:
        if (w->core && !w->away && core_wake_due(w->core) <= wall(w))
            turn_end(w);
        break;
    case H_STORE_RETRY:
        store_retry(w);
        break;
    case H_PROGRAM:
        agent_event(w, h->node,
                    (struct agent_event){.kind = h->is_epilog ? AGENT_EPILOG_DONE : AGENT_PROLOG_DONE,
                                         .note = &h->note,
                                         .ok = true});
        break;
    }
    str_done(&h->bytes);
}

void world_run(struct world *w, int64_t until_us)
{
    while (w->heap.n && w->heap.v[0].at_us <= until_us && !w->broken) {
        struct happening h = take(w);
        w->now_us = h.at_us;
        happen(w, &h);
    }
    if (w->now_us < until_us)
        w->now_us = until_us;
}

/* ---- clients -------------------------------------------------------------------------------------------------------------------------- */

static bool call(struct world *w, enum message_kind kind, const void *body, bool stays, enum refusal *ret_refusal)
{
    struct message m = {.kind = kind, .seq = ++w->answer_seq, .body = body};
    struct happening carried = {0};
    struct message read;
    w->answered = false;
    w->answered_id = 0;
    if (!w->core)
        return false;
    w->client_conn = (CLIENT) + w->answer_seq;
    if (stays)
        callers_add(&w->callers, w->client_conn);
    wire_encode(&m, &carried.bytes);
    if (message_read(w, &carried, &read)) {
        core_event(w, (struct event){
                          .kind = EV_MESSAGE, .conn = w->client_conn, .peer = &daemon_peer, .msg = &read});
        turn_end(w);
    }
    str_done(&carried.bytes);
    if (ret_refusal)
        *ret_refusal = w->refusal;
    return w->answered;
}

bool world_request(struct world *w, enum message_kind kind, const void *body, enum refusal *ret_refusal)
{
    return call(w, kind, body, false, ret_refusal);
}

static const char *comment_of(const struct behaviour *b, struct str *text)
{
    str_addf(text, "runs=%lld exit=%d%s%s", (long long)b->runs_us, b->exit_status,
             b->stubborn ? " stubborn" : "", b->oom ? " oom" : "");
    return str_text(text);
}

static uint64_t submitted(struct world *w, const struct msg_submit *m, bool stays, enum refusal *ret_refusal)
{
    bool answered = call(w, MSG_SUBMIT, m, stays, ret_refusal);
    if (!answered || !w->answered_id)
        return 0;
    map_u64_put(w->acknowledged, w->answered_id, w);
    return w->answered_id;
}

uint64_t world_submit(struct world *w, const struct job_spec *spec, const struct behaviour *b,
                      enum refusal *ret_refusal)
{
    struct job_spec copy = *spec;
    struct str comment = STR_INIT;
    static const char script[] = "#!/bin/sh\n";
    copy.comment = comment_of(b, &comment);
    copy.batch = true;
    if (!copy.work_dir)
        copy.work_dir = "/tmp";
    struct msg_submit m = {.specs = {&copy, 1}, .script = {script, sizeof script - 1}};
    uint64_t id = submitted(w, &m, false, ret_refusal);
    str_done(&comment);
    return id;
}

uint64_t world_allocate(struct world *w, const struct job_spec *spec, enum refusal *ret_refusal)
{
    struct job_spec copy = *spec;
    copy.batch = false;
    copy.attached = true;
    copy.work_dir = "/tmp";
    struct msg_submit m = {.specs = {&copy, 1}, .attach = true};
    return submitted(w, &m, true, ret_refusal);
}

bool world_step(struct world *w, const struct msg_create_step *m, const struct behaviour *b, enum refusal *ret_refusal)
{
    struct msg_create_step copy = *m;
    struct job_spec spec = *(const struct job_spec *)m->spec.v;
    struct str comment = STR_INIT;
    spec.comment = comment_of(b, &comment);
    copy.spec.v = &spec;
    bool answered = call(w, MSG_CREATE_STEP, &copy, true, ret_refusal);
    str_done(&comment);
    return answered;
}

void world_hang_up(struct world *w, size_t n)
{
    uint64_t conn = callers_hang_up(&w->callers, n);
    if (!w->core || !conn)
        return;
    core_event(w, (struct event){.kind = EV_CLOSED, .conn = conn});
    turn_end(w);
}

size_t world_callers(const struct world *w)
{
    return w->callers.v.n;
}

/* ---- faults ---------------------------------------------------------------------------------------------------------------------------- */

void world_crash_controller(struct world *w, enum crash_point point, int64_t back_after_us)
{
    if (!w->core)
        return;
    w->crash_back_us = back_after_us;
    w->crash = point;
    w->crash_set = true;
    if (point == CRASH_NOW)
        controller_die(w);
}

static void agent_kill(struct world *w, size_t i)
{
    struct simnode *n = &w->node.v[i];
    uint64_t conn = n->conn;
    agent_free(n->agent);
    n->agent = NULL;
    n->conn = 0;
    if (w->core && conn) {
        core_event(w, (struct event){.kind = EV_CLOSED, .conn = conn});
        turn_end(w);
    }
}

void world_crash_agent(struct world *w, size_t node, int64_t back_after_us)
{
    if (!w->node.v[node].agent)
        return;
    agent_kill(w, node);
    plan(w, back_after_us, (struct happening){.what = H_AGENT_BACK, .node = node});
}

void world_lose_machine(struct world *w, size_t node, int64_t back_after_us)
{
    struct simnode *n = &w->node.v[node];
    for (size_t i = 0; i < n->step.n; i++)
        n->step.v[i]->alive = false;
    world_crash_agent(w, node, back_after_us);
}

void world_cut_link(struct world *w, size_t node, int64_t back_after_us)
{
    struct simnode *n = &w->node.v[node];
    uint64_t conn = n->conn;
    if (!conn)
        return;
    node_link_drop(w, node);
    if (w->core) {
        core_event(w, (struct event){.kind = EV_CLOSED, .conn = conn});
        turn_end(w);
    }
    plan(w, back_after_us, (struct happening){.what = H_CONNECT, .node = node});
}

void world_fail_store(struct world *w, unsigned commits)
{
    store_memory_fail(w->store, commits);
}

size_t world_nodes(const struct world *w)
{
    return w->node.n;
}

/* ---- the oracle ------------------------------------------------------------------------------------------------------------------------- */

const char *world_broken(const struct world *w)
{
    return w->broken;
}

struct audit {
    struct world *w;
    size_t live;
    struct map_u64 *seen;
};

static void row_audit(void *ctx, const void *record)
{
    struct audit *a = ctx;
    const struct job *j = record;
    map_u64_put(a->seen, j->id, a);
    bool resting = job_state_over((enum job_state)j->state) || j->state == JOB_SPECIAL_EXIT ||
                   (j->state == JOB_PENDING && (j->spec.hold || j->spec.dependency));
    if (!resting) {
        broke(a->w, "job %llu is still %s in the store when all is healed and quiet",
              (unsigned long long)j->id, enum_name(&job_state_names, j->state));
        a->live++;
    }
    if (job_state_over((enum job_state)j->state) && !j->end_us)
        broke(a->w, "job %llu is over without an end", (unsigned long long)j->id);
}

void world_audit(struct world *w)
{
    struct audit a = {.w = w, .seen = map_u64_new()};
    struct map_walk walk = {0};
    store_load(w->store, TABLE_JOB, false, 0, row_audit, &a, NULL);
    while (map_u64_next(w->acknowledged, &walk))
        if (!map_u64_get(a.seen, walk.key))
            broke(w, "job %llu was acknowledged and is lost", (unsigned long long)walk.key);
    for (size_t i = 0; i < w->node.n; i++)
        for (size_t k = 0; k < w->node.v[i].step.n; k++)
            if (w->node.v[i].step.v[k]->alive)
                broke(w, "%s still runs job %lld when all is over", w->node.v[i].n.name,
                      (long long)w->node.v[i].step.v[k]->ids.job_id);
    const char *untold = callers_audit(&w->callers);
    if (untold)
        broke(w, "%s", untold);
    struct map_walk steps = {0};
    while (map_u64_next(w->step_ended, &steps))
        if ((uintptr_t)steps.value == 1)
            broke(w, "a step is still running in the store when all is over");
    map_u64_free(a.seen);
}

struct count {
    size_t busy;
};

static void job_count(void *ctx, const void *record)
{
    const struct job *j = record;
    bool rests = j->state == JOB_PENDING &&
                 (j->spec.hold || j->reason == REASON_DEPENDENCY_NEVER || j->reason == REASON_DEPENDENCY);
    ((struct count *)ctx)->busy += !rests && j->state != JOB_SPECIAL_EXIT;
}

bool world_idle(const struct world *w)
{
    struct count count = {0};
    struct msg_query q = {.what = QUERY_JOBS};
    struct view v = {job_count, &count};
    struct str detail = STR_INIT;
    if (!w->core || w->away)
        return false;
    core_query(w->core, &q, &daemon_peer, wall(w), &v, &detail);
    str_done(&detail);
    return count.busy == 0;
}

uint64_t world_hash(const struct world *w)
{
    return hash_text(w->hash, str_text(&w->trace));
}

const char *world_trace(const struct world *w)
{
    return str_text(&w->trace);
}

int64_t world_now(const struct world *w)
{
    return w->now_us;
}

/* ---- birth and death ---------------------------------------------------------------------------------------------------------------------- */

struct world *simworld_new(uint64_t seed, const char *config, struct err *ret_err)
{
    struct world *w = xcalloc(1, sizeof *w);
    if (!config_parse(config, "world", NULL, NULL, &w->config, ret_err)) {
        free(w);
        return NULL;
    }
    w->rng.state = seed;
    w->hash = HASH_INIT;
    w->next_conn = 1;
    w->store = store_open_memory();
    w->arena = arena_new();
    w->acknowledged = map_u64_new();
    w->state = map_u64_new();
    w->starts = map_u64_new();
    w->step_ended = map_u64_new();
    effects_init(&w->fx);
    for (size_t i = 0; i < w->config.nnodes; i++) {
        struct simnode n = {.n = {.name = w->config.node[i].name,
                                  .real_cpus = w->config.node[i].cpus,
                                  .real_memory_mib = w->config.node[i].memory_mib,
                                  .is_virtual = true}};
        vec_push(&w->node, n);
    }
    controller_start(w);
    for (size_t i = 0; i < w->node.n; i++)
        agent_start(w, i);
    world_run(w, USEC_PER_SEC);
    return w;
}

void simworld_free(struct world *w)
{
    if (!w)
        return;
    for (size_t i = 0; i < w->node.n; i++) {
        struct simnode *n = &w->node.v[i];
        agent_free(n->agent);
        while (n->step.n)
            step_forget(n, &(struct note){.job_id = n->step.v[0]->ids.job_id, .attempt = n->step.v[0]->ids.attempt, .step_id = n->step.v[0]->ids.step_id});
        vec_done(&n->step);
    }
    for (size_t i = 0; i < w->heap.n; i++)
        str_done(&w->heap.v[i].bytes);
    core_free(w->core);
    store_close(w->store);
    effects_done(&w->fx);
    vec_done(&w->node);
    vec_done(&w->heap);
    map_u64_free(w->acknowledged);
    map_u64_free(w->state);
    map_u64_free(w->starts);
    map_u64_free(w->step_ended);
    callers_done(&w->callers);
    arena_free(w->arena);
    config_done(&w->config);
    str_done(&w->trace);
    free(w->broken);
    free(w);
}
