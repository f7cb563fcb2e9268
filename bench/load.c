/* remuda-load: what bench.py measures with. Prints one number (seconds) on stdout.
 *
 *   spawn N COMMAND [ARG…]         posix_spawn and wait, one after another
 *   spawn-parallel N P COMMAND …   the same, P at a time
 *   submit N KIND                  N submissions over one connection, 256 in flight. KIND: short
 *                                  (true), distinct (held, each of its own shape and name)
 *   array N                        one array of N elements, held
 *   wait                           until nothing waits or runs
 *   steps N NODES                  an allocation of so many nodes, and in it N steps over all of
 *                                  them, one after another (of remuda-peers: no tasks run, no
 *                                  streams) */
#include "base/alloc.h"
#include "base/str.h"
#include "io/client/client.h"
#include "model/message.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

#define IN_FLIGHT 256

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int fail(const char *what)
{
    fprintf(stderr, "remuda-load: %s\n", what);
    return 1;
}

static int spawn_many(long n, long at_once, char **argv)
{
    double began = now();
    long running = 0;
    int status;
    posix_spawn_file_actions_t quiet;
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", 1, 0);
    posix_spawn_file_actions_addopen(&quiet, 2, "/dev/null", 1, 0);
    for (long i = 0; i < n; i++) {
        pid_t pid;
        if (running == at_once) {
            wait(&status);
            running--;
        }
        if (posix_spawnp(&pid, argv[0], &quiet, NULL, argv, environ) != 0)
            return fail("cannot spawn");
        running++;
    }
    while (running-- > 0)
        wait(&status);
    printf("%.6f\n", now() - began);
    return 0;
}

static const char script[] = "#!/bin/bash\ntrue\n";
static const char variables[] =
    "PATH=/usr/local/bin:/usr/bin:/bin\0HOME=/tmp\0LANG=C.UTF-8\0USER=bench\0SHELL=/bin/bash";

struct load {
    struct client *client;
    struct arena *arena;
    const char *work_dir;
    uint64_t refused;
};

static bool answer_take(struct load *l)
{
    struct message answer;
    struct err err = {0};
    arena_reset(l->arena);
    if (!client_receive(l->client, -1, l->arena, &answer, &err)) {
        fprintf(stderr, "remuda-load: %s\n", err.text);
        return false;
    }
    if (answer.kind != MSG_SUBMITTED) {
        const struct msg_done *done = answer.body;
        if (!l->refused++)
            fprintf(stderr, "remuda-load: %s %s\n", refusal_text((enum refusal)done->refusal),
                    done->detail ? done->detail : "");
    }
    return true;
}

static bool submit_one(struct load *l, long i, const char *kind, const char *array)
{
    char name[64], comment[64];
    struct job_spec spec = {
        .batch = true, .work_dir = l->work_dir, .command = "bench.sh", .umask_plus1 = 18 + 1};
    struct msg_submit m = {.specs = {&spec, 1},
                           .script = {script, sizeof script - 1},
                           .env = {variables, sizeof variables}};
    struct err err = {0};
    spec.name = "bench";
    spec.req.ntasks = 1;
    spec.req.mem_per_node_mib = 10;
    spec.array = array;
    if (text_is(kind, "distinct")) {
        snprintf(name, sizeof name, "job-%ld", i);
        snprintf(comment, sizeof comment, "number %ld of many", i);
        spec.name = name;
        spec.comment = comment;
        spec.req.mem_per_node_mib = 10 + i % 40;
    }
    spec.hold = !text_is(kind, "short");
    if (client_send(l->client, MSG_SUBMIT, &m, NULL, &err))
        return true;
    fprintf(stderr, "remuda-load: %s\n", err.text);
    return false;
}

static int submit_many(struct load *l, long n, const char *kind)
{
    double began = now();
    long sent = 0, answered = 0;
    while (answered < n) {
        for (; sent < n && sent - answered < IN_FLIGHT; sent++)
            if (!submit_one(l, sent, kind, NULL))
                return 1;
        if (!answer_take(l))
            return 1;
        answered++;
    }
    printf("%.6f\n", now() - began);
    return l->refused ? 1 : 0;
}

static int submit_array(struct load *l, long n)
{
    char text[64];
    double began = now();
    snprintf(text, sizeof text, "0-%ld", n - 1);
    if (!submit_one(l, 0, "array", text) || !answer_take(l))
        return 1;
    printf("%.6f\n", now() - began);
    return l->refused ? 1 : 0;
}

static void status_row(void *ctx, const void *record)
{
    const struct daemon_status *d = record;
    if (text_is(d->role, "controller"))
        *(uint64_t *)ctx = d->jobs_pending + d->jobs_running;
}

/* Until nothing waits or runs. */
static int wait_idle(struct load *l)
{
    double began = now();
    for (;;) {
        uint64_t left = UINT64_MAX;
        struct msg_query q = {.what = QUERY_STATUS, .fields = "role,jobs_pending,jobs_running"};
        struct msg_done done;
        arena_reset(l->arena);
        if (!client_query(l->client, &q, &status_fields, l->arena, status_row, &left, &done, NULL))
            return fail("the controller does not answer");
        if (left == 0)
            break;
        struct timespec nap = {.tv_nsec = 20000000}; /* each question is work for the controller */
        nanosleep(&nap, NULL);
    }
    printf("%.6f\n", now() - began);
    return 0;
}

/* The next message of that kind; others in between are passed over. */
static bool await_kind(struct load *l, enum message_kind kind, struct message *ret)
{
    struct err err = {0};
    do {
        arena_reset(l->arena);
        if (!client_receive(l->client, -1, l->arena, ret, &err)) {
            fprintf(stderr, "remuda-load: %s\n", err.text);
            return false;
        }
        if (ret->kind == MSG_DONE && kind != MSG_DONE) {
            const struct msg_done *done = ret->body;
            fprintf(stderr, "remuda-load: %s %s\n", refusal_text((enum refusal)done->refusal),
                    done->detail ? done->detail : "");
            return false;
        }
    } while (ret->kind != kind);
    return true;
}

static int steps_many(struct load *l, long n, int32_t nodes)
{
    struct job_spec spec = {.name = "wide", .work_dir = l->work_dir};
    struct msg_submit submit = {.specs = {&spec, 1}, .attach = true};
    struct message m;
    spec.req.min_nodes = spec.req.max_nodes = spec.req.ntasks = nodes;
    spec.req.mem_per_node_mib = 100;
    if (!client_send(l->client, MSG_SUBMIT, &submit, NULL, NULL) ||
        !await_kind(l, MSG_ALLOCATED, &m))
        return 1;
    const struct msg_allocated *got = m.body;
    const struct job *job = got->jobs.v;
    uint64_t id = job->id;
    double began = now();
    for (long i = 0; i < n; i++) {
        char key[64];
        struct msg_create_step step = {.job_id = id, .spec = {&spec, 1}, .key = key};
        snprintf(key, sizeof key, "key of step %ld of job %llu", i, (unsigned long long)id);
        if (!client_send(l->client, MSG_CREATE_STEP, &step, NULL, NULL) ||
            !await_kind(l, MSG_STEP_ENDED, &m))
            return 1;
    }
    printf("%.6f\n", now() - began);
    return 0;
}

int main(int argc, char **argv)
{
    long n = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    struct err err = {0};
    if (argc > 3 && text_is(argv[1], "spawn"))
        return spawn_many(n, 1, argv + 3);
    if (argc > 4 && text_is(argv[1], "spawn-parallel"))
        return spawn_many(n, strtol(argv[3], NULL, 10), argv + 4);
    struct load l = {.arena = arena_new(),
                     .work_dir = getenv("BENCH_DIR") ? getenv("BENCH_DIR") : "/tmp"};
    struct arena *a = arena_new();
    l.client = client_open(state_dir_find(NULL, a), &err);
    if (!l.client)
        return fail(err.text);
    int rc = 2;
    if (argc > 3 && text_is(argv[1], "submit"))
        rc = submit_many(&l, n, argv[3]);
    else if (argc > 2 && text_is(argv[1], "array"))
        rc = submit_array(&l, n);
    else if (argc > 1 && text_is(argv[1], "wait"))
        rc = wait_idle(&l);
    else if (argc > 3 && text_is(argv[1], "steps"))
        rc = steps_many(&l, n, (int32_t)strtol(argv[3], NULL, 10));
    else
        fail("usage: spawn N CMD | spawn-parallel N P CMD | submit N short|distinct | array N | "
             "wait | steps "
             "N NODES");
    client_close(l.client);
    arena_free(l.arena);
    arena_free(a);
    return rc;
}
