/* How long a page of /metrics takes of a large cluster, and how long a slice of it holds the loop
 * (controller/metrics_port.c goes on like this one): 10,000 nodes of 8 GPUs, 10,000 jobs that run
 * and 90,000 that wait.
 * Usage: metrics. Prints "name | figure unit | goal". */
#include "core/metrics.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "base/duration.h"
#include "core/core.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NODES   10000
#define RUNNING 10000
#define WAITING 90000
#define NOW     (INT64_C(1700000000) * USEC_PER_SEC)

#define CONF                                                                                       \
    "ClusterName=large\nGresTypes=gpu\nMaxJobCount=200000\n"                                       \
    "NodeName=n[1-10000] CPUs=64 RealMemory=512000 Gres=gpu:h100:8\n"                              \
    "PartitionName=main Nodes=n[1-10000] Default=YES State=UP\n"                                   \
    "PartitionName=half Nodes=n[1-5000] State=UP\n"

/* As controller/metrics_port.c has them. */
#define SLICE_MS      2.0
#define SLICE_RECORDS 16

static struct core *core;
static struct effects fx;

/* Processor time: what else the machine does is not its time. */
static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void say(uint64_t conn, const struct peer *peer, enum message_kind kind, const void *body)
{
    static uint64_t seq;
    struct message m = {.kind = kind, .seq = ++seq, .body = body};
    effects_reset(&fx);
    core_step(
        core,
        &(struct event){.kind = EV_MESSAGE, .now_us = NOW, .conn = conn, .peer = peer, .msg = &m},
        &fx);
}

static void wake(void)
{
    for (int i = 0; i < 100 && core_wake_due(core) <= NOW; i++) {
        effects_reset(&fx);
        core_step(core, &(struct event){.kind = EV_WAKE, .now_us = NOW}, &fx);
    }
}

static void node_hello(int n, const struct peer *root)
{
    struct str devices = STR_INIT;
    char name[16];
    snprintf(name, sizeof name, "n%d", n);
    for (int i = 0; i < 8; i++)
        str_addf(&devices, "%sgpu:h100:%d:81920:%d-%d:GPU-%08x-1234-1234-1234-%012d", i ? ";" : "",
                 i, i * 8, i * 8 + 7, (unsigned)n, i);
    struct node node = {.name = name,
                        .real_cpus = 64,
                        .real_memory_mib = 512000,
                        .real_gres = "gpu:h100:8",
                        .devices = str_text(&devices),
                        .version = "bench"};
    struct msg_node_hello m = {.node = {&node, 1}, .pid = 1, .devices_seq = 1};
    say(100 + (uint64_t)n, root, MSG_NODE_HELLO, &m);
    str_done(&devices);
}

static void submit(int i, const char *gres)
{
    char name[32];
    snprintf(name, sizeof name, "user%d", i % 500);
    struct peer user = {.uid = 10000 + (uint32_t)(i % 500),
                        .user = name,
                        .group = name,
                        .groups = name,
                        .host = "login"};
    struct job_spec s = {.name = "job",
                         .batch = true,
                         .work_dir = "/tmp",
                         .req = {.ntasks = 8,
                                 .min_nodes = 1,
                                 .max_nodes = 1,
                                 .mem_per_node_mib = 64000,
                                 .gres = gres,
                                 .time_limit_us = USEC_PER_HOUR}};
    struct msg_submit m = {.specs = {&s, 1}, .script = {"#!/bin/sh\n", 10}};
    say(1, &user, MSG_SUBMIT, &m);
}

static void cluster_make(struct config *config)
{
    struct err err = {0};
    struct peer root = {.user = "root", .is_admin = true};
    core = core_new(1, "bench");
    effects_init(&fx);
    if (!config_parse(CONF, "bench", NULL, NULL, config, &err)) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    core_step(core, &(struct event){.kind = EV_CONFIG, .now_us = NOW, .config = config}, &fx);
    core_loaded(core, NOW, &fx);
    for (int n = 1; n <= NODES; n++)
        node_hello(n, &root);
    for (int i = 0; i < RUNNING; i++)
        submit(i, "gpu:8");
    wake();
    for (int i = 0; i < WAITING; i++)
        submit(i, "gpu:8");
    wake();
}

/* A page as the port makes it. */
static void page(unsigned sections, const char *name)
{
    struct metrics_asked asked = {.sections = sections, .operates = true, .version = "bench"};
    struct metrics *m = metrics_new(&asked);
    struct str *text;
    double all = now_ms(), longest = 0;
    size_t bytes = 0;
    for (bool more = true; more;) {
        double began = now_ms(), now = began;
        while (more && now - began < SLICE_MS) {
            more = metrics_part(m, core, NOW, SLICE_RECORDS);
            now = now_ms();
        }
        longest = now - began > longest ? now - began : longest;
    }
    all = now_ms() - all;
    size_t n = metrics_texts(m, &text);
    for (size_t i = 0; i < n; i++)
        bytes += text[i].len;
    metrics_free(m);
    printf("/metrics %s | %.3f ms |  # %.1f MB\n", name, all, (double)bytes / 1e6);
    printf("/metrics %s, longest | %.3f ms | <= 10\n", name, longest);
}

int main(void)
{
    struct config config = {0};
    cluster_make(&config);
    page(METRICS_SCHEDULER, "scheduler");
    page(METRICS_PARTITIONS, "partitions");
    page(METRICS_RUNNING, "running");
    page(METRICS_ALL, "all");
    core_free(core);
    config_done(&config);
    effects_done(&fx);
    return 0;
}
