/* A controller's turns with a core that notes the events it is fed, the memory twin of the store, and
 * stand-ins for all that lets effects out. For one test program: it defines what it stands in for. */
#ifndef REMUDA_TESTS_CONTROLLER_TURN_HELP_H
#define REMUDA_TESTS_CONTROLLER_TURN_HELP_H

#include "clock_stall.h"
#include "io_help.h"

#include "controller/disk/payload.h"
#include "controller/foresight.h"
#include "controller/let_out.h"
#include "controller/past.h"
#include "controller/reads.h"
#include "controller/session/session.h"
#include "controller/site/joined.h"
#include "controller/site/program_run.h"
#include "controller/turn_inside.h"

#define NOTES 64

static struct {
    int64_t wake_us;
    enum event_kind fed[NOTES];
    size_t nfed;
    uint64_t sent[NOTES]; /* seq of messages let out */
    int32_t refusal[NOTES];
    size_t nsent;
    size_t payloads, stops, closes;
    uint64_t answer;        /* seq of what each event is answered with; 0 = nothing */
    uint32_t caused[NOTES]; /* whom a commit or a plan was charged to */
    uint64_t from[NOTES];   /* and where that came from */
    size_t ncaused;
    const enum store_table *stored; /* of what a node says */
    size_t nstored;
    uint32_t sweeper; /* whose jobs a wake ends; 0 = nobody's */
    bool ends_none;   /* it is refused for each of them */
    int64_t slice_s;  /* and takes so long */
    int64_t cost_ns[NOTES];
} note;

/* ---- stand-ins ------------------------------------------------------------------------------ */

static struct effect *effect_add(struct effects *fx, enum effect_kind kind)
{
    fx->v = xrealloc(fx->v, (fx->n + 1) * sizeof *fx->v);
    fx->v[fx->n] = (struct effect){.kind = kind};
    return &fx->v[fx->n++];
}

static void record_effect(struct effects *fx, enum store_table table, const void *record, size_t n)
{
    struct effect *e = effect_add(fx, FX_STORE);
    e->table = table;
    e->record = arena_dup(fx->arena, record, n);
}

static void store_effect(struct effects *fx, const char *key)
{
    struct meta m = {.key = arena_strdup(fx->arena, key), .value = "x"};
    record_effect(fx, TABLE_META, &m, sizeof m);
}

void effects_init(struct effects *fx)
{
    *fx = (struct effects){.arena = arena_new()};
}

void effects_reset(struct effects *fx)
{
    arena_reset(fx->arena);
    fx->n = 0;
}

void effects_done(struct effects *fx)
{
    arena_free(fx->arena);
    free(fx->v);
}

int64_t core_wake_due(const struct core *c)
{
    (void)c;
    return note.wake_us;
}

void core_step(struct core *c, const struct event *ev, struct effects *fx)
{
    (void)c;
    if (note.nfed < NOTES)
        note.fed[note.nfed++] = ev->kind;
    if (note.answer) {
        static const struct msg_done done;
        struct effect *e = effect_add(fx, FX_REPLY);
        e->conn = 1;
        e->msg = (struct message){.kind = MSG_DONE, .seq = note.answer, .body = &done};
    }
    if (ev->kind == EV_MESSAGE && ev->msg->kind == MSG_SUBMIT)
        store_effect(fx, "asked");
    for (size_t i = 0; ev->kind == EV_MESSAGE && i < note.nstored; i++)
        if (note.stored[i] == TABLE_NODE)
            record_effect(fx, TABLE_NODE, &(struct node){.name = "n1"}, sizeof(struct node));
        else
            record_effect(fx, TABLE_JOB, &(struct job){.id = 1}, sizeof(struct job));
    if (ev->kind == EV_WAKE && ev->part == WAKE_SLICE) {
        stall.worked_s += note.slice_s;
        if (!note.ends_none)
            store_effect(fx, "ended");
    } else if (ev->kind == EV_WAKE) {
        note.wake_us = INT64_MAX;
        store_effect(fx, "woken");
    }
}

void session_send(struct sessions *s, uint64_t id, const struct message *m, uint64_t payload_job)
{
    (void)s, (void)payload_job;
    if (id == 0 || note.nsent == NOTES)
        return;
    note.refusal[note.nsent] =
        m->kind == MSG_DONE ? ((const struct msg_done *)m->body)->refusal : 0;
    note.sent[note.nsent++] = m->seq;
}

const struct peer *core_sweeper(const struct core *c, int64_t now_us)
{
    static struct peer who;
    (void)c, (void)now_us;
    who.uid = note.sweeper;
    return note.sweeper ? &who : NULL;
}

uint64_t session_payer(const struct sessions *s, uint64_t id, const struct peer *who)
{
    (void)s, (void)id;
    return who->uid;
}

uint64_t session_origin(const struct sessions *s, uint64_t id)
{
    (void)s;
    return id;
}

void session_caused(struct sessions *s, const struct turn_cause *who, int64_t cost_ns,
                    int64_t took_us)
{
    (void)s, (void)took_us;
    if (note.ncaused == NOTES)
        return;
    note.cost_ns[note.ncaused] = cost_ns;
    note.from[note.ncaused] = who->from;
    note.caused[note.ncaused++] = (uint32_t)who->by;
}

void session_close(struct sessions *s, uint64_t id)
{
    (void)s, (void)id;
    note.closes++;
}

void reads_look(struct reads *all)
{
    (void)all;
}

void foresight_look(struct foresight *f)
{
    (void)f;
}

void program_run(struct program_runs *p, const struct program_run *what)
{
}
void past_ask(struct past *p, uint64_t session, uint64_t seq, const struct msg_archive *m)
{
    (void)p;
    (void)session;
    (void)seq;
    (void)m;
}

void sessions_released(struct sessions *s)
{
    (void)s;
}

void sessions_close(struct sessions *s, bool at_once)
{
    (void)s, (void)at_once;
}

void payloads_put(struct payloads *p, const struct payload *payload)
{
    (void)p, (void)payload;
    note.payloads++;
}

void controller_down_mark(struct controller *c)
{
    (void)c;
}

void controller_stop(struct controller *c)
{
    (void)c;
    note.stops++;
}

void controller_reconfigure(struct controller *c)
{
    (void)c;
}

bool joined_remove(struct controller *c, const char *node, struct err *ret_err)
{
    (void)c, (void)node, (void)ret_err;
    return true;
}

void session_remark(struct sessions *s, uint64_t id, const char *text)
{
    (void)s, (void)id, (void)text;
}

/* ---- the world ------------------------------------------------------------------------------ */

struct shell {
    struct world *world;
    struct controller c;
    struct store *store;
    struct timer *timer;
};

static void shell_make(struct shell *s, void **state)
{
    memset(&note, 0, sizeof note);
    note.wake_us = INT64_MAX;
    *s = (struct shell){.world = *state};
    s->c = (struct controller){.loop = s->world->loop};
    s->c.log = log_open(arena_printf(s->world->arena, "%s/log", s->world->dir), LOG_IS_DEBUG, NULL);
    s->c.mailer = mailer_new(s->world->loop, s->c.log);
    s->store = store_open_memory();
    uint64_t epoch, seq;
    assert_true(store_take_epoch(s->store, &epoch, &seq, NULL));
    s->c.turns = turns_new(&s->c, writer_of(s->store, epoch), seq, &let_out);
    s->timer = timer_new(s->world->loop, world_stop, s->world);
}

static void shell_run(struct shell *s, int64_t us)
{
    timer_set(s->timer, us);
    loop_run(s->world->loop);
}

/* Until that has been counted, however busy the machine is; then a little longer, for what must not
 * come. */
static void shell_until(struct shell *s, const size_t *counted, size_t wanted)
{
    for (int i = 0; i < 6000 && *counted < wanted; i++)
        shell_run(s, 5000);
    shell_run(s, 20000);
}

static void shell_free(struct shell *s)
{
    turns_free(s->c.turns);
    mailer_free(s->c.mailer);
    timer_free(s->timer);
    log_close(s->c.log);
}

static void shell_end(struct shell *s)
{
    turns_end(s->c.turns);
    shell_free(s);
}

static void reply_effect(struct shell *s, uint64_t seq)
{
    struct effect *e = effect_add(turns_effects(s->c.turns), FX_REPLY);
    static const struct msg_done done;
    e->conn = 1;
    e->msg = (struct message){.kind = MSG_DONE, .seq = seq, .body = &done};
}

static void meta_count(void *ctx, const void *record)
{
    (void)record;
    ++*(int *)ctx;
}

static int meta_rows(struct shell *s)
{
    int n = 0;
    assert_true(store_load(s->store, TABLE_META, false, 0, meta_count, &n, NULL));
    return n;
}

#endif
