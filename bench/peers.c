/* remuda-peers STATE COUNT SPREAD_MS: node daemons sim1 … simCOUNT in one process, for measuring
 * the controller. Each has its own connection and the agent of a real node daemon; only what a
 * shepherd would do is left out: steps start at once and end at once, batch scripts run until they
 * are told to end. Runs until SIGTERM; says "ready" on stdout when all were welcomed; their
 * beginnings, and so their heartbeats, are spread over SPREAD_MS. */
#include "agent/agent.h"
#include "base/alloc.h"
#include "base/vec.h"
#include "io/client/client.h"
#include "io/clock.h"
#include "io/log.h"
#include "io/net/link.h"
#include "wire/frame.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct peers;

struct peer_node {
    struct peers *all;
    struct agent *agent;
    struct link *link;
    struct timer *wake, *begin;
    bool welcomed;
};

struct input {
    struct peer_node *node;
    enum agent_event_kind kind;
    struct note note;
};

struct peers {
    struct loop *loop;
    const char *socket;
    struct agent_effects fx;
    struct arena *arena;
    struct peer_node *node;
    size_t n, welcomed;
    VEC(struct input) inputs;
};

static void input_add(struct peer_node *p, enum agent_event_kind kind, const struct note *of,
                      enum note_kind said)
{
    struct input in = {.node = p, .kind = kind, .note = *of};
    in.note.kind = said;
    in.note.at_us = clock_now_us();
    in.note.clean = 1;
    vec_push(&p->all->inputs, in);
}

static void effect_do(struct peer_node *p, const struct agent_effect *e)
{
    struct note n = e->note;
    switch (e->kind) {
    case AGENT_SEND: link_send(p->link, &e->msg); break;
    case AGENT_START:
        n.pid = 1;
        input_add(p, AGENT_NOTE, &n, NOTE_STARTED);
        if (n.step_id != STEP_BATCH)
            input_add(p, AGENT_NOTE, &n, NOTE_EXITED);
        break;
    case AGENT_TERMINATE: input_add(p, AGENT_NOTE, &n, NOTE_EXITED); break;
    case AGENT_PROLOG:
    case AGENT_EPILOG:
    case AGENT_VISIT_KEEP:
    case AGENT_VISIT_READY:
    case AGENT_VISIT_END:
    case AGENT_SIGNAL:
    case AGENT_FOLLOW:
    case AGENT_ROUSE:
    case AGENT_CLEAR:
    case AGENT_FORGET:
    case AGENT_LOOK:
    case AGENT_TELL:
    case AGENT_FIND: break;
    case AGENT_LOG: fprintf(stderr, "remuda-peers: %s\n", e->text); break;
    }
}

static void step_once(struct peer_node *p, const struct agent_event *ev)
{
    struct peers *all = p->all;
    agent_step(p->agent, ev, &all->fx);
    for (size_t i = 0; i < all->fx.n; i++)
        effect_do(p, &all->fx.v[i]);
    agent_effects_reset(&all->fx);
    int64_t due = agent_wake_due(p->agent), now = clock_now_us();
    if (due == INT64_MAX)
        timer_stop(p->wake);
    else
        timer_set(p->wake, due - now);
}

static void event(struct peer_node *p, const struct agent_event *ev)
{
    struct peers *all = p->all;
    step_once(p, ev);
    for (size_t i = 0; i < all->inputs.n; i++) {
        struct input in = all->inputs.v[i];
        struct agent_event next = {
            .kind = in.kind, .now_us = clock_now_us(), .note = &in.note, .ok = true};
        step_once(in.node, &next);
    }
    vec_clear(&all->inputs);
}

static void woken(void *ctx)
{
    struct agent_event ev = {
        .kind = AGENT_WAKE, .now_us = clock_now_us(), .load_centi = 12, .free_mem_mib = 12345};
    event(ctx, &ev);
}

static void link_up(void *ctx, struct link *k)
{
    struct agent_event ev = {.kind = AGENT_UP, .now_us = clock_now_us()};
    (void)k;
    event(ctx, &ev);
}

static void link_down(void *ctx, struct link *k, const struct err *why)
{
    struct agent_event ev = {.kind = AGENT_DOWN, .now_us = clock_now_us()};
    (void)k;
    (void)why;
    event(ctx, &ev);
}

static void link_frame(void *ctx, struct link *k, const struct frame *f)
{
    struct peer_node *p = ctx;
    struct message m;
    struct err err = {0};
    (void)k;
    arena_reset(p->all->arena);
    if (!wire_decode(f, p->all->arena, &m, &err)) {
        fprintf(stderr, "remuda-peers: %s\n", err.text);
        return;
    }
    struct agent_event ev = {.kind = AGENT_MESSAGE, .now_us = clock_now_us(), .msg = &m};
    event(p, &ev);
    if (m.kind != MSG_NODE_WELCOME || p->welcomed)
        return;
    p->welcomed = true;
    if (++p->all->welcomed == p->all->n) {
        puts("ready");
        fflush(stdout);
    }
}

static void stop(void *ctx)
{
    (void)ctx;
    _exit(0);
}

static void begin(void *ctx)
{
    static const struct link_ops ops = {.up = link_up, .frame = link_frame, .down = link_down};
    struct peer_node *p = ctx;
    p->link = link_new(p->all->loop, p->all->socket, &ops, p);
}

int main(int argc, char **argv)
{
    struct peers all = {.arena = arena_new()};
    struct arena *kept = arena_new();
    struct err err = {0};
    int64_t spread_us = argc == 4 ? strtol(argv[3], NULL, 10) * 1000 : 0;
    all.n = argc == 4 ? strtoul(argv[2], NULL, 10) : 0;
    all.loop = all.n ? loop_new(&err) : NULL;
    if (!all.loop || !loop_on_signal(all.loop, SIGTERM, stop, &all, &err)) {
        fprintf(stderr, "usage: remuda-peers STATE COUNT SPREAD_MS %s\n", err.text);
        return 2;
    }
    all.socket = state_socket_path(argv[1], kept);
    agent_effects_init(&all.fx);
    all.node = xcalloc(all.n, sizeof *all.node);
    for (size_t i = 0; i < all.n; i++) {
        struct peer_node *p = &all.node[i];
        struct node self = {
            .name = arena_printf(kept, "sim%zu", i + 1), .hostname = "sim", .arch = "x86_64"};
        self.is_virtual = true;
        self.version = REMUDA_VERSION;
        p->all = &all;
        p->agent = agent_new(&self, getpid(), (uint64_t)clock_now_us());
        p->wake = timer_new(all.loop, woken, p);
        p->begin = timer_new(all.loop, begin, p);
        timer_set(p->begin, spread_us * (int64_t)i / (int64_t)all.n);
    }
    loop_run(all.loop);
    return 0;
}
