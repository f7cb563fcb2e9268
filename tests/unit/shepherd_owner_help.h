/* A step whose owner is nobody, and the fake srun at the other end of its stream: step 7.0 with one
 * task. */
#ifndef REMUDA_TESTS_SHEPHERD_OWNER_HELP_H
#define REMUDA_TESTS_SHEPHERD_OWNER_HELP_H

#include "unit.h"

#include "shepherd_world.h"

#include "base/str.h"
#include "cli/step/stream_hub.h"
#include "node/step/dir.h"
#include "wire/frame.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NOBODY 65534
#ifndef WAIT_MS
#define WAIT_MS 15000
#endif

static struct herd_world world;
static struct stream_hub *hub;
static struct arena *arena;
static const char *key;
static struct msg_stream_tasks tasks;
static bool done, started, met; /* met: something about MPI */
static bool detached;           /* no srun: the plan has what runs */
static int done_status;
static struct str notices; /* a line each */
static uid_t came_as;      /* whose connection it was */

/* What a test does with the connection of the shepherd `pid`, before its answer; NULL = nothing. */
static void (*on_hello)(int fd, pid_t pid);

static inline void *hello(void *ctx, struct stream_peer *p, const struct msg_stream_hello *m)
{
    struct pollfd v[16];
    struct ucred who;
    socklen_t len = sizeof who;
    (void)m;
    if (hub_wait_for(hub, v, false) == 3 &&
        getsockopt(v[2].fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0) {
        came_as = who.uid;
        if (on_hello)
            on_hello(v[2].fd, who.pid);
    }
    tasks.proof = key + strlen(key) / 2;
    peer_send(p, MSG_STREAM_TASKS, &tasks);
    return ctx;
}

static inline void message(void *ctx, void *peer_ctx, struct stream_peer *p,
                           const struct message *m)
{
    (void)ctx;
    (void)peer_ctx;
    started |= m->kind == MSG_STREAM_STARTED;
    met |= m->kind == MSG_STREAM_MPI;
    done |= m->kind == MSG_STREAM_DONE;
    if (m->kind == MSG_STREAM_NOTICE)
        str_addf(&notices, "%s\n", ((const struct msg_stream_notice *)m->body)->text);
    if (m->kind == MSG_STREAM_DONE) {
        done_status = ((const struct msg_stream_done *)m->body)->exit_status;
        peer_close(p);
    }
}

static inline void gone(void *ctx, void *peer_ctx, struct stream_peer *p)
{
    (void)ctx;
    (void)peer_ctx;
    (void)p;
}

static const struct hub_ops ops = {hello, message, gone};

static inline int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static inline void until(const bool *condition)
{
    for (int64_t end = now_ms() + WAIT_MS; !*condition;) {
        struct pollfd v[16];
        size_t n = hub_wait_for(hub, v, false);
        poll(v, n, 50);
        hub_serve(hub, v, n);
        assert_true(now_ms() < end);
    }
}

static inline int setup(void **state)
{
    static char ctx;
    struct err e = {0};
    (void)state;
    world_begin(&world);
    chmod(world.dir, 0777);
    arena = arena_new();
    key = hub_key_new(arena);
    tasks = (struct msg_stream_tasks){0};
    done = started = met = detached = false;
    on_hello = NULL;
    hub = hub_new(false, NULL, NULL, &ops, &ctx, &e);
    assert_non_null(hub);
    return 0;
}

static inline int teardown(void **state)
{
    (void)state;
    hub_free(hub);
    arena_free(arena);
    str_done(&notices);
    world_end(&world);
    return 0;
}

/* Step 7.0 with so many tasks, as nobody where we are root. */
static inline void launch_many(int n, const char *command)
{
    static char name[64];
    static const char env[] = "SLURM_NODEID=0";
    struct step_plan p = world_plan(&world, 7, "");
    struct str dir = STR_INIT, args = STR_INIT, lines = STR_INIT, frame = STR_INIT;
    for (int i = 0; i < n; i++)
        str_addf(&lines, "%d - - -\n", i);
    step_dir_name(7, 1, 0, &dir);
    snprintf(name, sizeof name, "%s", str_text(&dir));
    str_addn(&args, "sh\0-c", 6);
    str_addn(&args, command, strlen(command) + 1);
    tasks.args = (struct blob){arena_dup(arena, args.data, args.len), args.len};
    tasks.env = (struct blob){"PATH=/usr/bin:/bin", 19};
    tasks.work_dir = world.dir;
    p.switch_user = geteuid() == 0;
    p.uid = p.gid = geteuid() == 0 ? NOBODY : geteuid();
    p.step_id = 0;
    p.dir_name = name;
    p.address = hub_address(hub);
    p.key = key;
    p.tasks = str_text(&lines);
    p.world = n;
    p.kill_wait_us = 500000;
    p.std_out = NULL;
    p.script = (struct plan_bytes){0};
    if (detached) {
        wire_encode(&(struct message){.kind = MSG_STREAM_TASKS, .body = &tasks}, &frame);
        p.script = (struct plan_bytes){frame.data, frame.len};
    }
    p.env = (struct plan_bytes){env, sizeof env};
    world_send(&world, &p);
    str_done(&dir);
    str_done(&args);
    str_done(&lines);
    str_done(&frame);
}

static inline void launch(const char *command)
{
    launch_many(1, command);
}

#endif
