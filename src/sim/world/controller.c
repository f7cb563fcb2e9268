#include "sim/world/inside.h"

#include "wire/frame.h"

#include <stdlib.h>
#include <string.h>

void node_link_drop(struct sim_world *w, size_t i)
{
    struct simnode *n = &w->node.v[i];
    struct agent_effects fx;
    if (!n->conn)
        return;
    n->conn = 0;
    if (!n->agent)
        return;
    agent_effects_init(&fx);
    agent_step(n->agent,
               &(struct agent_event){
                   .kind = AGENT_DOWN, .now_us = world_wall(w), .mono_us = world_monotonic(w)},
               &fx);
    agent_effects_done(&fx);
}

void controller_die(struct sim_world *w)
{
    core_free(w->core);
    w->core = NULL;
    effects_reset(&w->fx);
    callers_lose(&w->callers);
    simscripts_lose(w);
    world_use_lose(w);
    if (w->stuck)
        batch_free(w->stuck);
    w->stuck = NULL;
    w->away = false;
    w->crash_set = false;
    for (size_t i = 0; i < w->node.n; i++)
        node_link_drop(w, i);
    world_plan(w, w->crash_back_us, (struct happening){.what = H_CORE_BACK});
    for (size_t i = 0; i < w->node.n; i++)
        world_plan(w, w->crash_back_us + world_delay(w),
                   (struct happening){.what = H_CONNECT, .node = i});
}

static bool crash_here(struct sim_world *w, enum crash_point point)
{
    if (!w->crash_set || w->crash != point)
        return false;
    controller_die(w);
    return true;
}

static void answer_take(struct sim_world *w, const struct message *m)
{
    w->answered = true;
    w->refusal = REFUSE_NONE;
    if (m->kind == MSG_SUBMITTED)
        w->answered_id = ((const struct msg_submitted *)m->body)->job_id;
    else if (m->kind == MSG_DONE)
        w->refusal = (enum refusal)((const struct msg_done *)m->body)->refusal;
}

static size_t node_of_conn(const struct sim_world *w, uint64_t conn)
{
    for (size_t i = 0; i < w->node.n; i++)
        if (conn && w->node.v[i].conn == conn)
            return i;
    return SIZE_MAX;
}

static void effect_release(struct sim_world *w, const struct effect *e)
{
    size_t node = node_of_conn(w, e->conn);
    if (e->kind == FX_CLOSE && node != SIZE_MAX) {
        node_link_drop(w, node);
        world_plan(w, USEC_PER_SEC, (struct happening){.what = H_CONNECT, .node = node});
    }
    if (e->kind == FX_PROGRAM)
        world_trigger_runs(w, &e->program);
    if (e->kind != FX_REPLY && e->kind != FX_SEND)
        return;
    w->hash = hash_bytes(w->hash, &e->msg.kind, sizeof e->msg.kind);
    if (node != SIZE_MAX) {
        struct happening h = {.what = H_TO_NODE, .node = node, .conn = e->conn};
        wire_encode(&e->msg, &h.bytes);
        world_plan(w, world_delay_in_order(w, &w->node.v[node].to_node_us), h);
        return;
    }
    const char *wrong = callers_hear(&w->callers, e->conn, e->msg.kind);
    if (wrong)
        world_broke(w, "%s", wrong);
    simscripts_hear(w, e->conn, &e->msg);
    if (e->conn == w->client_conn)
        answer_take(w, &e->msg);
}

static struct batch *batch_of(struct sim_world *w)
{
    struct batch *b = batch_new();
    b->epoch = w->epoch;
    b->gap = w->batch_gap;
    b->seq = w->batch_seq + b->gap + 1;
    for (size_t i = 0; i < w->fx.n; i++)
        if (w->fx.v[i].kind == FX_STORE)
            batch_add(b,
                      w->fx.v[i].remove ? ROW_DELETE
                      : w->fx.v[i].add  ? ROW_ADD
                                        : ROW_PUT,
                      w->fx.v[i].table, w->fx.v[i].record);
    return b;
}

/* As controller/turn.c, which is not sure to come to it either. */
static void given_keep(struct sim_world *w)
{
    w->given_seq = w->batch_seq;
    for (size_t i = 0; i < w->fx.n; i++) {
        const struct meta *m = w->fx.v[i].kind == FX_STORE && w->fx.v[i].table == TABLE_META
                                   ? w->fx.v[i].record
                                   : NULL;
        if (m && text_is(m->key, "next_job_id") && m->value)
            text_to_u64(m->value, UINT64_MAX, &w->given_next);
    }
}

void controller_event(struct sim_world *w, struct event ev)
{
    ev.now_us = world_wall(w);
    ev.mono_us = world_monotonic(w);
    core_step(w->core, &ev, &w->fx);
    core_check_turn(w->core, w->check_turn++ % CHECK_TURNS);
}

static void wake_plan(struct sim_world *w)
{
    int64_t due = core_wake_due(w->core);
    if (due != INT64_MAX)
        world_plan(w, due > world_wall(w) ? due - world_wall(w) : 1,
                   (struct happening){.what = H_CORE_WAKE});
}

/* Of what goes because it is old a row has the key alone. */
static bool is_of_past(enum store_table table)
{
    return table == TABLE_JOB || table == TABLE_STEP;
}

/* Commits what the turn wants stored, then lets the other effects out; a crash may come between any
 * two of them. */
void controller_turn_end(struct sim_world *w)
{
    struct err err = {0};
    if (w->away)
        return;
    if (core_wake_due(w->core) <= world_wall(w))
        controller_event(w, (struct event){.kind = EV_WAKE});
    if (crash_here(w, CRASH_BEFORE_COMMIT))
        return;
    struct batch *b = batch_of(w);
    if (b->n && !store_commit(w->store, b, &err)) {
        batch_free(b);
        w->away = true;
        controller_event(w, (struct event){.kind = EV_STORE_AWAY, .text = err.text});
        world_plan(w, USEC_PER_SEC, (struct happening){.what = H_STORE_RETRY});
        return;
    }
    if (b->n) {
        w->batch_seq = b->seq;
        w->batch_gap = 0;
    }
    for (size_t i = 0; i < b->n; i++) {
        w->hash = record_hash(store_table_rows[b->row[i].table].fields, b->row[i].record, w->hash);
        if (b->row[i].op == ROW_PUT)
            world_rows_learn(w, (enum store_table)b->row[i].table, b->row[i].record);
        else if (is_of_past(b->row[i].table))
            continue;
        if (b->row[i].table == TABLE_JOB) {
            world_cron_check(w, b->row[i].record);
            world_depend_learn(w, b->row[i].record);
        }
        if (b->row[i].table == TABLE_JOB)
            world_trace_job(w, b->row[i].record);
        else if (b->row[i].table == TABLE_STEP)
            world_trace_step(w, b->row[i].record);
        else if (b->row[i].table == TABLE_NODE)
            world_trace_node(w, b->row[i].record);
        else if (b->row[i].table == TABLE_RESERVATION)
            world_trace_reservation(w, b->row[i].record, b->row[i].op == ROW_DELETE);
    }
    for (size_t i = 0; i < b->n; i++)
        if (b->row[i].op == ROW_PUT)
            world_rows_check(w, (enum store_table)b->row[i].table, b->row[i].record);
    world_depend_check(w);
    world_use_learn(w, b);
    world_limits_check(w, b);
    batch_free(b);
    if (crash_here(w, CRASH_AFTER_COMMIT))
        return;
    given_keep(w);
    for (size_t i = 0; i < w->fx.n; i++) {
        effect_release(w, &w->fx.v[i]);
        if (i == w->fx.n / 2 && crash_here(w, CRASH_BETWEEN_EFFECTS))
            return;
    }
    effects_reset(&w->fx);
    wake_plan(w);
}

void controller_store_retry(struct sim_world *w)
{
    if (!w->core || !w->away)
        return;
    w->away = false;
    controller_event(w, (struct event){.kind = EV_STORE_BACK});
    controller_turn_end(w);
}

struct world_controller_loading {
    struct core *core;
    enum store_table table;
};

static void row_load(void *ctx, const void *record)
{
    struct world_controller_loading *l = ctx;
    core_load(l->core, l->table, record);
}

static void packed_load(void *ctx, const struct packed *p)
{
    core_load_packed(ctx, p);
}

/* Every second time accounts come all at once. */
void controller_start(struct sim_world *w)
{
    static const enum store_table tables[] = {
        TABLE_META,        TABLE_USAGE, TABLE_PARTITION, TABLE_NODE,         TABLE_NODE_SPELL,
        TABLE_RESERVATION, TABLE_QOS,   TABLE_ACCOUNT,   TABLE_ACCOUNT_USER, TABLE_ASSOC,
        TABLE_LIMIT,       TABLE_WCKEY, TABLE_TRES,      TABLE_USE,          TABLE_CRONTAB,
        TABLE_TRIGGER,     TABLE_JOB,   TABLE_STEP,      TABLE_QUEUED_STEP,  TABLE_ANSWERED};
    w->core = core_new(7, "controller");
    CHECK(store_take_epoch(w->store, &w->epoch, &w->batch_seq, NULL));
    controller_event(w, (struct event){.kind = EV_CONFIG, .config = &w->config, .text = "boot"});
    bool at_once = false;
    for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
        struct world_controller_loading l = {w->core, tables[i]};
        if (tables[i] == TABLE_ACCOUNT && w->epoch % 2 == 0)
            CHECK(store_load_packed(w->store, packed_load, w->core, &at_once, NULL));
        if (at_once && store_is_packed(tables[i]))
            continue;
        CHECK(store_load(w->store, tables[i], tables[i] == TABLE_JOB,
                         world_wall(w) - core_settings(w->core)->min_job_age_us, row_load, &l,
                         NULL));
    }
    core_ids_from(w->core, w->given_next);
    w->batch_gap = w->given_seq > w->batch_seq ? w->given_seq - w->batch_seq : 0;
    if (w->batch_gap)
        core_store_is_older(w->core);
    else
        world_doubt_end(w); /* nothing has happened since */
    core_loaded(w->core, world_wall(w), &w->fx);
    core_check(w->core);
    controller_turn_end(w);
}
