/* Fault worlds: a random cluster, a random stream of jobs and requests, and faults in between: the
 * controller dies before, between and after commits, daemons die, machines are lost, links are cut,
 * the store is away, somebody sets the clock. Then everything heals, and the oracle asks whether
 * the books agree. */
#include "base/alloc.h"
#include "base/duration.h"
#include "base/vec.h"
#include "model/grammar/signals.h"
#include "model/record/reservation.h"
#include "sim/sim.h"
#include "sim/world/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ACTIONS     120
#define HEAL_ROUNDS 800 /* an array that was run again may share its nodes by time slices */
#define LICENCES    "Licenses=lic:4\n"
#define MINUTES     "PriorityDecayHalfLife=0\nPriorityCalcPeriod=1\n"

struct play {
    struct sim_world *w;
    struct rng rng;
    bool commands;    /* salloc and srun too */
    bool hostile;     /* and a user who writes frames by hand */
    bool accounts;    /* and jobs are of accounts and QOS, whose limits hold and change */
    bool minutes;     /* and some limits are in minutes; what was used does not decay */
    bool cron;        /* and there is a table for scrontab */
    bool disasters;   /* and shepherds are killed, the power fails, backups are restored */
    VEC(uint64_t) id; /* acknowledged submissions */
    size_t keys;      /* given to steps */
};

static int64_t some_time(struct play *p, int64_t most_us)
{
    return (int64_t)rng_below(&p->rng, (uint64_t)most_us) + 1;
}

static const char *any_id(struct play *p, char *text, size_t size)
{
    uint64_t id = p->id.n ? p->id.v[rng_below(&p->rng, p->id.n)] : 1;
    snprintf(text, size, "%llu", (unsigned long long)id);
    return text;
}

static const char *any_reservation(struct play *p)
{
    static const char *const names[] = {"r1", "r2", "r1,r2"};
    return names[rng_below(&p->rng, ARRAY_LEN(names))];
}

/* Half of all scripts run their work through srun. */
static void srun_in_script(struct play *p, struct behaviour *b)
{
    if (rng_chance(&p->rng, 500))
        return;
    b->steps = (int32_t)rng_range(&p->rng, 1, rng_chance(&p->rng, 200) ? 16 : 6);
    b->step_runs_us = some_time(p, 15 * USEC_PER_SEC);
    b->lanes = rng_chance(&p->rng, 400) ? (int32_t)rng_range(&p->rng, 2, 4) : 1;
    b->queues = rng_chance(&p->rng, 250);
    b->exact = rng_chance(&p->rng, 500);
    b->overlap = rng_chance(&p->rng, 300);
    b->requeues = rng_chance(&p->rng, 100);
}

static void submit(struct play *p)
{
    static const char *const arrays[] = {"0-3", "0-9%2", "1,5,7", "0-20:4%3"};
    struct job_spec spec = {.name = rng_chance(&p->rng, 500) ? "one" : "two"};
    struct behaviour b = {.runs_us = some_time(p, 40 * USEC_PER_SEC)};
    struct str dependency = STR_INIT;
    spec.req.ntasks = (int32_t)rng_range(&p->rng, 1, 3);
    spec.req.mem_per_node_mib = rng_range(&p->rng, 10, 900);
    if (rng_chance(&p->rng, 200))
        spec.req.min_nodes = 2;
    if (rng_chance(&p->rng, 300))
        spec.req.gres = "gpu:1";
    spec.req.time_limit_us = rng_chance(&p->rng, 500)
                                 ? some_time(p, 60 * USEC_PER_SEC) + USEC_PER_SEC
                                 : 10 * USEC_PER_MIN;
    if (rng_chance(&p->rng, 150))
        spec.array = arrays[rng_below(&p->rng, ARRAY_LEN(arrays))];
    if (rng_chance(&p->rng, 150) && p->id.n) {
        world_dependency_of(&p->rng, p->id.v, p->id.n, spec.array != NULL, &dependency);
        spec.dependency = str_text(&dependency);
    } else if (rng_chance(&p->rng, 60)) {
        spec.dependency = "singleton";
    }
    if (p->accounts) {
        if (rng_chance(&p->rng, 250))
            spec.req.licenses = rng_chance(&p->rng, 500) ? "lic" : "lic:2";
        spec.req.account = world_account_of(&p->rng);
        spec.req.qos = world_qos_of(&p->rng);
    }
    if (rng_chance(&p->rng, 200))
        spec.req.partition = "high";
    if (rng_chance(&p->rng, 200))
        spec.req.reservation = any_reservation(p);
    spec.hold = rng_chance(&p->rng, 50);
    spec.requeue = rng_chance(&p->rng, 300) ? NO : UNSET;
    spec.signal = rng_chance(&p->rng, 100) ? SIGNAL_USR1 : 0;
    spec.signal_before_us = spec.signal ? 5 * USEC_PER_SEC : 0;
    b.exit_status = rng_chance(&p->rng, 150) ? 1 : 0;
    b.stubborn = rng_chance(&p->rng, 150);
    b.oom = rng_chance(&p->rng, 50);
    b.stuck_us = spec.req.gres && rng_chance(&p->rng, 300) ? some_time(p, 60 * USEC_PER_SEC) : 0;
    srun_in_script(p, &b);
    struct job_spec component[2] = {spec, spec};
    bool het = !spec.array && rng_chance(&p->rng, 80);
    if (het) /* the smallest cluster holds both */
        component[0].req.ntasks = component[1].req.ntasks = 1;
    uint64_t id = world_submit_het(p->w, component, het ? 2 : 1, &b, NULL);
    if (id)
        vec_push(&p->id, id);
    str_done(&dependency);
}

static void allocate(struct play *p)
{
    struct job_spec spec = {.name = "alloc", .no_kill = rng_chance(&p->rng, 300)};
    spec.req.min_nodes = (int32_t)rng_range(&p->rng, 1, 3);
    spec.req.ntasks = spec.req.min_nodes * (int32_t)rng_range(&p->rng, 1, 2);
    spec.req.mem_per_node_mib = rng_range(&p->rng, 10, 900);
    if (rng_chance(&p->rng, 300))
        spec.req.gres = "gpu:1";
    spec.req.time_limit_us = some_time(p, 200 * USEC_PER_SEC) + 10 * USEC_PER_SEC;
    bool het = rng_chance(&p->rng, 200);
    if (het) /* the smallest cluster holds both */
        spec.req.min_nodes = spec.req.ntasks = 1;
    struct job_spec component[2] = {spec, spec};
    uint64_t id = world_allocate(p->w, component, het ? 2 : 1, NULL);
    if (id)
        vec_push(&p->id, id + (het && rng_chance(&p->rng, 500))); /* steps in one or the other */
}

/* Most often in one of the jobs that came last, which may run. */
static void step(struct play *p)
{
    size_t n = p->id.n < 12 ? p->id.n : 12;
    char key[32];
    struct job_spec spec = {.name = "step"};
    struct behaviour b = {.runs_us = some_time(p, 30 * USEC_PER_SEC),
                          .exit_status = rng_chance(&p->rng, 200) ? 3 : 0,
                          .stubborn = rng_chance(&p->rng, 150),
                          .stuck_us =
                              rng_chance(&p->rng, 300) ? some_time(p, 30 * USEC_PER_SEC) : 0};
    struct msg_create_step m = {.spec = {&spec, 1},
                                .job_id = n ? p->id.v[p->id.n - 1 - rng_below(&p->rng, n)] : 1};
    m.exact = rng_chance(&p->rng, 600);
    m.overlap = rng_chance(&p->rng, 100);
    m.immediate = rng_chance(&p->rng, 100);
    m.no_kill = rng_chance(&p->rng, 300);
    snprintf(key, sizeof key, "%zu", p->keys++); /* a secret: nobody else has it */
    m.key = rng_chance(&p->rng, 500) ? key : NULL;
    spec.req.ntasks = (int32_t)rng_range(&p->rng, 0, 3);
    spec.req.mem_per_node_mib = rng_chance(&p->rng, 300) ? rng_range(&p->rng, 1, 100) : 0;
    spec.req.gres = rng_chance(&p->rng, 200) ? "gpu:1" : NULL;
    spec.req.time_limit_us = rng_chance(&p->rng, 200) ? some_time(p, 20 * USEC_PER_SEC) : 0;
    char after[64];
    m.async = rng_chance(&p->rng, 250);
    snprintf(after, sizeof after, "%s:%llu.%llu", rng_chance(&p->rng, 500) ? "afterok" : "afterany",
             (unsigned long long)m.job_id, (unsigned long long)rng_below(&p->rng, 4));
    spec.dependency = rng_chance(&p->rng, 150) ? after : NULL;
    world_step(p->w, &m, &b, NULL);
}

static void finish(struct play *p)
{
    struct msg_finish_job m = {.job_id = p->id.n ? p->id.v[rng_below(&p->rng, p->id.n)] : 1,
                               .exit_status = rng_chance(&p->rng, 300) ? 256 : 0};
    world_request(p->w, MSG_FINISH_JOB, &m, NULL);
}

static void command(struct play *p)
{
    uint64_t dice = rng_below(&p->rng, 10);
    if (dice < 3)
        allocate(p);
    else if (dice < 9)
        for (uint64_t i = rng_below(&p->rng, 4); i < 4; i++)
            step(p);
    else if (rng_chance(&p->rng, 500))
        finish(p);
    else if (world_callers(p->w))
        world_hang_up(p->w, rng_below(&p->rng, world_callers(p->w)));
}

static void control(struct play *p)
{
    static const enum job_action actions[] = {ACTION_HOLD,    ACTION_RELEASE,      ACTION_RELEASE,
                                              ACTION_REQUEUE, ACTION_REQUEUE_HOLD, ACTION_SUSPEND,
                                              ACTION_RESUME,  ACTION_RESUME,       ACTION_TOP};
    char text[32];
    struct msg_job_control m = {.action = actions[rng_below(&p->rng, ARRAY_LEN(actions))],
                                .ids = any_id(p, text, sizeof text),
                                .special_exit = rng_chance(&p->rng, 300)};
    world_request(p->w, MSG_JOB_CONTROL, &m, NULL);
}

static void cancel(struct play *p)
{
    char text[32], element[48];
    struct msg_cancel m = {.ids = any_id(p, text, sizeof text)};
    if (rng_chance(&p->rng, 300)) {
        snprintf(element, sizeof element, "%s_%d", text, (int)rng_below(&p->rng, 10));
        m.ids = element;
    } else if (rng_chance(&p->rng, 300)) {
        snprintf(element, sizeof element, "%s.%d", text, (int)rng_below(&p->rng, 4));
        m.ids = element;
    }
    if (rng_chance(&p->rng, 300)) { /* a signal, which ends nothing here */
        m.signal = SIGNAL_USR1;
        m.batch = rng_chance(&p->rng, 300);
        m.full = rng_chance(&p->rng, 300);
    }
    world_request(p->w, MSG_CANCEL, &m, NULL);
}

static void update(struct play *p)
{
    char text[32];
    struct job_spec values = {
        .req = {.time_limit_us = some_time(p, 100 * USEC_PER_SEC) + USEC_PER_SEC}};
    struct msg_update_job m = {
        .ids = any_id(p, text, sizeof text), .fields = "time_limit_us", .values = {&values, 1}};
    world_request(p->w, MSG_UPDATE_JOB, &m, NULL);
}

static void extend(struct play *p)
{
    char text[32];
    struct msg_extend m = {.id = any_id(p, text, sizeof text),
                           .add_us = some_time(p, 100 * USEC_PER_SEC) + USEC_PER_SEC,
                           .all = rng_chance(&p->rng, 300),
                           .test_only = rng_chance(&p->rng, 200)};
    world_request(p->w, MSG_EXTEND, &m, NULL);
}

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
    r.start_us = world_wall(p->w) + some_time(p, 20 * USEC_PER_SEC);
    if (r.start_us / 1000 % 3 == 0)
        r.flags |= RESV_MAGNETIC;
    r.duration_us = some_time(p, 60 * USEC_PER_SEC) + USEC_PER_SEC;
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
        some_time(p, rng_chance(&p->rng, 200) ? USEC_PER_SEC / 2 : 5 * 60 * USEC_PER_MIN);
    world_set_clock(p->w, rng_chance(&p->rng, 500) ? by_us : -by_us);
}

static void power_fails(struct play *p, int64_t back_us)
{
    world_crash_controller(p->w, CRASH_NOW, back_us);
    for (size_t i = 0; i < world_nodes(p->w); i++)
        world_lose_machine(p->w, i, some_time(p, 2 * back_us));
}

static void disaster(struct play *p)
{
    char text[32];
    uint64_t id = 0;
    switch (rng_below(&p->rng, 6)) {
    case 0:
    case 1:
        if (text_to_u64(any_id(p, text, sizeof text), UINT64_MAX, &id))
            world_kill_shepherds(p->w, id);
        break;
    case 2:
    case 3: world_backup(p->w); break;
    case 4: world_restore(p->w, rng_chance(&p->rng, 300), some_time(p, 30 * USEC_PER_SEC)); break;
    case 5: power_fails(p, some_time(p, 30 * USEC_PER_SEC)); break;
    }
}

static void fault(struct play *p)
{
    size_t node = rng_below(&p->rng, world_nodes(p->w));
    int64_t back = some_time(p, 30 * USEC_PER_SEC);
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
        command(p);
    else if (dice < 55)
        submit(p);
    else if (dice < 65)
        control(p);
    else if (dice < 73)
        cancel(p);
    else if (dice < 77 && rng_chance(&p->rng, 400))
        extend(p);
    else if (dice < 77)
        update(p);
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
    vec_push(&p->id, 1); /* any_id's choice before an answer came: its own may have been lost */
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
        world_run(p.w, world_now(p.w) + some_time(&p, (p.cron ? 15 : 4) * USEC_PER_SEC));
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
