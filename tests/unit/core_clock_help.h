/* A world whose wall clock may be set. */
#ifndef REMUDA_TESTS_CORE_CLOCK_HELP_H
#define REMUDA_TESTS_CORE_CLOCK_HELP_H

#include "core_help.h"

#define NODES                                                                                      \
    "ClusterName=t\nSlurmdTimeout=60\nNodeName=n[1-2] CPUs=4 RealMemory=1000\nPartitionName=main " \
    "Nodes=ALL "                                                                                   \
    "Default=YES\n"

static int64_t mono;    /* the clock that nobody sets */
static size_t programs; /* that were let out */

static inline void timed(struct event ev)
{
    ev.now_us = w.now;
    ev.mono_us = mono;
    effects_reset(&w.fx);
    core_step(w.c, &ev, &w.fx);
    core_check(w.c);
    for (int i = 0; core_wake_due(w.c) <= w.now; i++) {
        assert_true(i < 1000);
        core_step(w.c, &(struct event){.kind = EV_WAKE, .now_us = w.now, .mono_us = mono}, &w.fx);
        core_check(w.c);
    }
    for (size_t i = 0; i < w.fx.n; i++)
        if (w.fx.v[i].kind == FX_STORE)
            keep(&w.fx.v[i]);
    programs += sent(FX_PROGRAM, MESSAGE_COUNT);
}

/* Time passes, and the nodes are heard of. */
static inline void goes_on(int64_t us)
{
    struct msg_heartbeat alive = {0};
    struct message m = {.kind = MSG_HEARTBEAT, .body = &alive};
    struct peer node = {.user = "root", .is_admin = true};
    w.now += us;
    mono += us;
    for (uint64_t n = 1; n <= 2; n++)
        timed((struct event){.kind = EV_MESSAGE, .conn = CONN_OF(n), .peer = &node, .msg = &m});
}

static inline void clock_is_set(int64_t by_us)
{
    w.now += by_us;
    timed((struct event){.kind = EV_WAKE});
}

/* The controller starts again, on a machine that was booted so. */
static inline void life_of(const char *conf, const char *boot)
{
    struct err err = {0};
    struct config config;
    assert_true(config_parse(conf, "t", NULL, NULL, &config, &err));
    core_free(w.c);
    effects_reset(&w.fx);
    w.c = core_new(1, "ctl");
    timed((struct event){.kind = EV_CONFIG, .config = &config, .text = boot});
    for (int t = 0; t < STORE_TABLE_COUNT; t++)
        load((enum store_table)t);
    core_loaded(w.c, w.now, &w.fx);
    settle(0);
    config_done(&config);
}

/* The first life stores the difference, the second finds it changed by that much. */
static inline void two_lives_of(const char *conf, const char *second_boot, int64_t set_by_us)
{
    life_of(conf, "this-boot");
    w.now += set_by_us;
    life_of(conf, second_boot);
}

static inline void two_lives(void)
{
    two_lives_of(NODES, "this-boot", 3 * 60 * MIN);
}

static inline int open_world(void **unused)
{
    (void)unused;
    world_open(NODES, 2);
    mono = 5 * SEC;
    timed((struct event){.kind = EV_WAKE});
    return 0;
}

#endif
