/* Jobs with GPUs that stand idle, as heartbeats tell of them. */
#ifndef REMUDA_TESTS_CORE_GPU_IDLE_HELP_H
#define REMUDA_TESTS_CORE_GPU_IDLE_HELP_H

#include "core_help.h"
#include "model/grammar/gpu_idle.h"
#include "model/record/gpu_use.h"

#include <stdio.h>
#include <stdlib.h>

#define NODES                                                                                      \
    "ClusterName=test\nOperators=olga\nGresTypes=gpu\nMinJobAge=300\nKillWait=30\nSlurmdTimeout="  \
    "300\n"                                                                                        \
    "NodeName=n[1-4] CPUs=8 RealMemory=8000 Gres=gpu:v100:4\n"
#define POLICY "GpuIdle=warn:30m,notify:60m,cancel:120m,grace:10m,interactive:60m,exempt:spared"
#define CONF_IDLE                                                                                  \
    NODES "PartitionName=main Nodes=n[1-4] Default=YES State=UP " POLICY "\n"                      \
          "PartitionName=free Nodes=n[1-4] State=UP\n"                                             \
          "PartitionName=back Nodes=n[1-4] State=UP GpuIdle=warn:30m,requeue:60m,grace:0\n"

static inline void gpu_hello_holding(int n, struct held *held, size_t nheld)
{
    struct node node = {.name = arena_printf(w.a, "n%d", n),
                        .real_cpus = 8,
                        .real_memory_mib = 8000,
                        .real_gres = "gpu:v100:4",
                        .devices =
                            "gpu:v100:0:16000;gpu:v100:1:16000;gpu:v100:2:16000;gpu:v100:3:16000",
                        .version = "test"};
    struct msg_node_hello m = {
        .node = {&node, 1}, .held = {held, nheld}, .pid = 7, .devices_seq = 5};
    struct peer asks = w.peer;
    am_root();
    say(CONN_OF(n), MSG_NODE_HELLO, &m);
    w.peer = asks;
}

static inline void gpu_hello(int n)
{
    gpu_hello_holding(n, NULL, 0);
}

/* Its script runs, as its node says. */
static inline void script_runs(uint64_t id)
{
    int n = atoi(job(id)->batch_host + 1);
    report(n, (struct msg_report){.kind = REPORT_STARTED,
                                  .job_id = id,
                                  .attempt = job(id)->attempt,
                                  .step_id = STEP_BATCH});
}

static inline int idle_setup(void **unused)
{
    (void)unused;
    world_open(CONF_IDLE, 0);
    for (int n = 1; n <= 4; n++)
        gpu_hello(n);
    return 0;
}

static inline struct job_spec gpu_job(int gpus)
{
    struct job_spec s = a_job("train");
    s.req.gres = arena_printf(w.a, "gpu:%d", gpus);
    s.req.time_limit_us = 24 * 60 * MIN;
    return s;
}

/* ---- what nodes say ---- */

/* Device 0 to 3 of node n: for so many seconds idle, -1 = busy, -2 = it is not told of. */
static int64_t idle_s[5][4];
static uint64_t idle_mails, lines;

static inline void all_are(int64_t s)
{
    for (int n = 0; n < 5; n++)
        for (int i = 0; i < 4; i++)
            idle_s[n][i] = s;
}

#define SALLOC 5000u /* a connection */
static uint64_t notices;

static inline void notices_count(void)
{
    for (size_t i = 0; i < w.fx.n; i++) {
        const struct effect *e = &w.fx.v[i];
        if (e->kind == FX_SEND && e->msg.kind == MSG_STREAM_NOTICE) {
            const struct msg_stream_notice *m = e->msg.body;
            assert_non_null(strstr(m->text, "its 2 GPUs have done nothing for"));
            assert_int_equal(e->conn, SALLOC);
            notices++;
        }
    }
}

static inline void beat(int n)
{
    struct str text = STR_INIT;
    struct peer asks = w.peer;
    for (int i = 0; i < 4; i++) {
        struct gpu_use u = {
            .index = i, .util = 0, .mem_mib = 100, .watts = 50, .idle_s = idle_s[n][i]};
        if (idle_s[n][i] > -2)
            gpu_use_format(&u, &text);
    }
    struct msg_heartbeat m = {.gpu_use = text.len ? str_text(&text) : NULL};
    am_root();
    say(CONN_OF(n), MSG_HEARTBEAT, &m);
    w.peer = asks;
    for (size_t i = 0; i < w.fx.n; i++) {
        const struct effect *e = &w.fx.v[i];
        idle_mails += e->kind == FX_MAIL && strstr(e->mail.subject, "GPUs idle") != NULL;
        lines += e->kind == FX_SEND && e->msg.kind == MSG_SIGNAL &&
                 ((const struct msg_signal *)e->msg.body)->say != NULL;
    }
    notices_count();
    str_done(&text);
}

/* Minutes pass, in each of which every node says what its devices do. */
static inline void minutes(int count)
{
    for (int m = 0; m < count; m++) {
        w.now += MIN;
        effects_reset(&w.fx);
        for (int n = 1; n <= 4; n++) {
            for (int i = 0; i < 4; i++)
                idle_s[n][i] += idle_s[n][i] >= 0 ? 60 : 0;
            beat(n);
        }
        settle(0);
    }
}

static inline void begin(void)
{
    idle_mails = lines = 0;
    all_are(0);
}

#endif
