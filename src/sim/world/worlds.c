/* Fault worlds: a random cluster, a random stream of jobs and requests, and faults in between: the
 * controller dies before, between and after commits, daemons die, machines are lost, links are cut,
 * the store is away, somebody sets the clock. Then everything heals, and the oracle asks whether
 * the books agree. */
#include "base/alloc.h"
#include "base/duration.h"
#include "base/vec.h"
#include "model/record/reservation.h"
#include "sim/sim.h"
#include "sim/world/play.h"
#include "sim/world/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ACTIONS     120
#define HEAL_ROUNDS 800 /* an array that was run again may share its nodes by time slices */
#define LICENCES    "Licenses=lic:4\n"
#define MINUTES     "PriorityDecayHalfLife=0\nPriorityCalcPeriod=1\n"

/* Short ones, so that faults come while they begin, end, come again, move and go. */
static void reserve(struct play *p)
{
    static const uint32_t flags[] = {0,
                                     RESV_IGNORE_JOBS,
                                     RESV_OVERLAP,
                                     RESV_FLEX,
                                     RESV_REPLACE,
                                     RESV_HOURLY | RESV_IGNORE_JOBS,
                                     RESV_PURGE_COMP,
                                     RESV_MAINT | RESV_IGNORE_JOBS,
                                     RESV_NO_HOLD_JOBS_AFTER};
    struct reservation r = {
        .users = "root", .purge_us = 10 * USEC_PER_SEC, .node_count = 1, .core_counts = "1"};
    struct msg_update_reservation m = {.name = rng_chance(&p->rng, 500) ? "r1" : "r2",
                                       .values = {&r, 1}};
    m.create = rng_chance(&p->rng, 600);
    m.remove = !m.create && rng_chance(&p->rng, 300);
    m.skip = !m.create && !m.remove && rng_chance(&p->rng, 300);
    r.flags = flags[rng_below(&p->rng, ARRAY_LEN(flags))];
    r.start_us = world_wall(p->w) + play_some_time(p, 20 * USEC_PER_SEC);
    if (r.start_us / 1000 % 3 == 0)
        r.flags |= RESV_MAGNETIC;
    r.duration_us = play_some_time(p, 60 * USEC_PER_SEC) + USEC_PER_SEC;
    m.fields = !m.create                  ? "duration_us"
               : rng_chance(&p->rng, 500) ? "users,flags,purge_us,start_us,duration_us,node_count"
                                          : "users,flags,purge_us,start_us,duration_us,core_counts";
    world_request(p->w, MSG_UPDATE_RESERVATION, &m, NULL);
}

static void unreserve_all(struct play *p)
{
    static const char *const names[] = {"r1", "r2"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct msg_update_reservation m = {.name = names[i], .remove = true};
        world_request(p->w, MSG_UPDATE_RESERVATION, &m, NULL);
    }
}

static void drain(struct play *p)
{
    struct msg_update_node m = {
        .names = "n1", .state = rng_chance(&p->rng, 500) ? "DRAIN" : "RESUME", .reason = "test"};
    world_request(p->w, MSG_UPDATE_NODE, &m, NULL);
}

/* By hours, or by less than a second, forward or back. */
static void set_clock(struct play *p)
{
    int64_t by_us =
        play_some_time(p, rng_chance(&p->rng, 200) ? USEC_PER_SEC / 2 : 5 * 60 * USEC_PER_MIN);
    world_set_clock(p->w, rng_chance(&p->rng, 500) ? by_us : -by_us);
}

static void power_fails(struct play *p, int64_t back_us)
{
    world_crash_controller(p->w, CRASH_NOW, back_us);
    for (size_t i = 0; i < world_nodes(p->w); i++)
        world_lose_machine(p->w, i, play_some_time(p, 2 * back_us));
}

static void disaster(struct play *p)
{
    char text[32];
    uint64_t id = 0;
    switch (rng_below(&p->rng, 6)) {
    case 0:
    case 1:
        if (text_to_u64(play_any_id(p, text, sizeof text), UINT64_MAX, &id))
            world_kill_shepherds(p->w, id);
        break;
    case 2:
    case 3: world_backup(p->w); break;
    case 4:
        world_restore(p->w, rng_chance(&p->rng, 300), play_some_time(p, 30 * USEC_PER_SEC));
        break;
    case 5: power_fails(p, play_some_time(p, 30 * USEC_PER_SEC)); break;
    }
}

static void fault(struct play *p)
{
    size_t node = rng_below(&p->rng, world_nodes(p->w));
    int64_t back = play_some_time(p, 30 * USEC_PER_SEC);
    if (p->disasters && rng_chance(&p->rng, 300)) {
        disaster(p);
        return;
    }
    switch (rng_below(&p->rng, 10)) {
    case 0:
    case 1:
    case 2:
    case 3: world_crash_controller(p->w, (enum crash_point)rng_below(&p->rng, 4), back); break;
    case 4: world_crash_agent(p->w, node, back); break;
    case 5:
        world_lose_machine(p->w, node, rng_chance(&p->rng, 300) ? back + 100 * USEC_PER_SEC : back);
        break;
    case 6:
        world_cut_link(p->w, node, rng_chance(&p->rng, 200) ? back + 100 * USEC_PER_SEC : back);
        break;
    case 7: world_fail_store(p->w, (unsigned)rng_range(&p->rng, 1, 4)); break;
    case 8:
        world_break_gpu(p->w, node, (int32_t)rng_below(&p->rng, 2), rng_chance(&p->rng, 600));
        break;
    case 9: set_clock(p); break;
    }
}

static void act(struct play *p)
{
    for (uint64_t n = p->hostile ? rng_below(&p->rng, 4) : 0; n; n--)
        world_hostile(p->w, &p->rng);
    uint64_t dice = rng_below(&p->rng, 100);
    if (p->accounts && rng_chance(&p->rng, 250))
        world_accounts_change(p->w, &p->rng, p->minutes);
    if (p->cron && rng_chance(&p->rng, 250))
        world_cron_change(p->w, &p->rng);
    if (p->cron && rng_chance(&p->rng, 250))
        world_triggers_change(p->w, &p->rng);
    if (p->cron && rng_chance(&p->rng, 150))
        world_past_goes(p->w, &p->rng);
    if (p->commands && dice < 50)
        play_command(p);
    else if (dice < 55)
        play_submit(p);
    else if (dice < 65)
        play_control(p);
    else if (dice < 73)
        play_cancel(p);
    else if (dice < 77 && rng_chance(&p->rng, 400))
        play_extend(p);
    else if (dice < 77)
        play_update(p);
    else if (dice < 79)
        drain(p);
    else if (dice < 83)
        reserve(p);
    else
        fault(p);
}

static void release_all(struct play *p)
{
    for (size_t i = 0; i < p->id.n; i++) {
        char text[32];
        snprintf(text, sizeof text, "%llu", (unsigned long long)p->id.v[i]);
        struct msg_job_control go = {.action = ACTION_RESUME, .ids = text};
        world_request(p->w, MSG_JOB_CONTROL, &go, NULL);
        go.action = ACTION_RELEASE;
        world_request(p->w, MSG_JOB_CONTROL, &go, NULL);
    }
}

/* Everything that was held is released, the drained is resumed, and time passes until all is
 * quiet. */
static void heal(struct play *p)
{
    struct msg_update_node resume = {.names = "ALL", .state = "RESUME"};
    world_fail_store(p->w, 0);
    for (size_t i = 0; i < 2 * world_nodes(p->w); i++)
        world_break_gpu(p->w, i / 2, i % 2, false);
    world_gpus_work(p->w);
    world_run(p->w, world_now(p->w) + 200 * USEC_PER_SEC);
    bool resumed = world_request(p->w, MSG_UPDATE_NODE, &resume, NULL);
    /* play_any_id's choice before an answer came: its own may have been lost. */
    vec_push(&p->id, 1);
    unreserve_all(p);
    release_all(p);
    if (p->accounts)
        world_accounts_open(p->w);
    bool ended = p->hostile && world_hostile_ends(p->w);
    if (p->cron) {
        world_cron_end(p->w);
        world_triggers_end(p->w);
    }
    for (int i = 0; i < HEAL_ROUNDS && !world_idle(p->w) && !world_broken(p->w); i++) {
        world_run(p->w, world_now(p->w) + 10 * USEC_PER_SEC);
        if (!resumed) /* a crash that was to come at the next commit came at this one */
            resumed = world_request(p->w, MSG_UPDATE_NODE, &resume, NULL);
        if (p->hostile && !ended)
            ended = world_hostile_ends(p->w);
        if (i % 8 == 0) {
            unreserve_all(p); /* those in which jobs ran */
            release_all(p);   /* those that waited for one are held when it goes */
            if (p->accounts)
                world_accounts_open(p->w); /* a crash may have come between */
            if (p->cron)
                world_cron_end(p->w);
        }
    }
    world_audit(p->w);
    if (p->accounts)
        world_accounts_audit(p->w);
    if (p->minutes)
        world_use_audit(p->w);
}

/* Returns the hash of all that happened; *ret_broken is the complaint, owned by the caller, or
 * NULL. */
static uint64_t play(uint64_t seed, const struct play *kind, bool trace, char **ret_broken)
{
    struct play p = *kind;
    p.rng.state = seed;
    p.commands = seed % 2 == 0;
    p.minutes = p.accounts && seed / 4 % 2 == 1;
    struct err err = {0};
    static const char *const modes[] = {"OFF", "CANCEL", "REQUEUE", "REQUEUE", "SUSPEND,GANG"};
    char config[800];
    const char *mode = modes[rng_below(&p.rng, ARRAY_LEN(modes))];
    snprintf(config, sizeof config,
             "ClusterName=w\nKillWait=3\nSlurmdTimeout=60\nMinJobAge=100000000\nAttachGrace="
             "20\nNodeName=n[1-"
             "%d] CPUs=%d "
             "RealMemory=2000 Gres=gpu:v100:2 Virtual=YES\n"
             "PreemptType=preempt/%s\nPreemptMode=%s\nSchedulerTimeSlice=5\n"
             "PartitionName=main Nodes=ALL Default=YES GraceTime=%d%s%s\n"
             "PartitionName=high Nodes=ALL PriorityTier=9\n%s",
             (int)rng_range(&p.rng, 1, 5), (int)rng_range(&p.rng, 2, 6),
             p.accounts && seed % 4 < 2 ? "qos" : "partition_prio", mode,
             (int)rng_below(&p.rng, 2) * 7, strchr(mode, ',') ? " OverSubscribe=FORCE:2" : "",
             seed % 5 == 3   ? " GpuIdle=warn:20s,notify:40s,cancel:1m,grace:5s,interactive:20s"
             : seed % 5 == 4 ? " GpuIdle=warn:30s,requeue:1m,grace:0"
                             : "",
             !p.accounts    ? ""
             : !p.minutes   ? LICENCES "AccountingStorageEnforce=limits,qos\n"
             : seed / 8 % 2 ? LICENCES "AccountingStorageEnforce=safe,limits,qos\n" MINUTES
                            : LICENCES "AccountingStorageEnforce=limits,qos\n" MINUTES);
    p.w = simworld_new(rng_next(&p.rng), config, &err);
    CHECK(p.w);
    if (p.accounts)
        world_accounts_make(p.w);
    for (int i = 0; i < ACTIONS && !world_broken(p.w); i++) {
        act(&p);
        world_run(p.w, world_now(p.w) + play_some_time(&p, (p.cron ? 15 : 4) * USEC_PER_SEC));
    }
    if (!world_broken(p.w))
        heal(&p);
    if (trace)
        fputs(world_trace(p.w), stdout);
    *ret_broken = world_broken(p.w) ? xstrdup(world_broken(p.w)) : NULL;
    uint64_t hash = world_hash(p.w);
    simworld_free(p.w);
    vec_done(&p.id);
    return hash;
}

int sim_worlds(int argc, char **argv)
{
    uint64_t seed = 1, count = 100;
    bool trace = false, once = false, hashes = false;
    struct play kind = {0};
    size_t failed = 0;
    for (int i = 1; i < argc; i++) {
        if (text_is(argv[i], "--seed") && i + 1 < argc)
            text_to_u64(argv[++i], UINT64_MAX, &seed);
        else if (text_is(argv[i], "--count") && i + 1 < argc)
            text_to_u64(argv[++i], 1000000, &count);
        else if (text_is(argv[i], "--hostile"))
            kind.hostile = true;
        else if (text_is(argv[i], "--disasters"))
            kind.disasters = true;
        else if (text_is(argv[i], "--accounts"))
            kind.accounts = true;
        else if (text_is(argv[i], "--cron"))
            kind.cron = true;
        else if (text_is(argv[i], "--once"))
            once = true;
        else if (text_is(argv[i], "--hash"))
            hashes = true;
        else if (text_is(argv[i], "--trace"))
            trace = true;
        else {
            fprintf(
                stderr,
                "remuda-sim worlds: %s is not one of --seed N, --count N, --hostile, --disasters, "
                "--accounts, --cron, --once, --hash, --trace\n",
                argv[i]);
            return 2;
        }
    }
    printf("1..%llu\n", (unsigned long long)count);
    for (uint64_t i = 0; i < count; i++) {
        char *first, *second = NULL;
        uint64_t a = play(seed + i, &kind, trace, &first),
                 b = once ? a : play(seed + i, &kind, false, &second);
        bool ok = !first && a == b;
        failed += !ok;
        if (first)
            printf("# %s\n", first);
        if (a != b)
            printf("# played twice, it went differently\n");
        printf("%s %llu - world of seed %llu", ok ? "ok" : "not ok", (unsigned long long)i + 1,
               (unsigned long long)(seed + i));
        if (hashes) /* two trees that print the same did the same */
            printf(", %016llx", (unsigned long long)a);
        putchar('\n');
        fflush(stdout);
        free(first);
        free(second);
    }
    return failed ? 1 : 0;
}
