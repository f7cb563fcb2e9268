/* What users ask for in a fault world: jobs, steps, and what is done to them. */
#include "base/alloc.h"
#include "base/duration.h"
#include "base/vec.h"
#include "model/grammar/signals.h"
#include "model/record/reservation.h"
#include "sim/world/play.h"
#include "sim/world/world.h"

#include <stdio.h>

int64_t play_some_time(struct play *p, int64_t most_us)
{
    return (int64_t)rng_below(&p->rng, (uint64_t)most_us) + 1;
}

const char *play_any_id(struct play *p, char *text, size_t size)
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
    b->step_runs_us = play_some_time(p, 15 * USEC_PER_SEC);
    b->lanes = rng_chance(&p->rng, 400) ? (int32_t)rng_range(&p->rng, 2, 4) : 1;
    b->queues = rng_chance(&p->rng, 250);
    b->exact = rng_chance(&p->rng, 500);
    b->overlap = rng_chance(&p->rng, 300);
    b->requeues = rng_chance(&p->rng, 100);
}

/* What it gets may be more than it asks for. */
static void gets_more(struct play *p, struct job_request *req)
{
    if (rng_chance(&p->rng, 150))
        req->exclusive = EXCLUSIVE_NODE;
    if (rng_chance(&p->rng, 150)) {
        req->min_nodes = 1;
        req->max_nodes = (int32_t)rng_range(&p->rng, 1, 3);
    }
}

void play_submit(struct play *p)
{
    static const char *const arrays[] = {"0-3", "0-9%2", "1,5,7", "0-20:4%3"};
    struct job_spec spec = {.name = rng_chance(&p->rng, 500) ? "one" : "two"};
    struct behaviour b = {.runs_us = play_some_time(p, 40 * USEC_PER_SEC)};
    struct str dependency = STR_INIT;
    spec.req.ntasks = (int32_t)rng_range(&p->rng, 1, 3);
    spec.req.mem_per_node_mib = rng_range(&p->rng, 10, 900);
    if (rng_chance(&p->rng, 200))
        spec.req.min_nodes = 2;
    if (rng_chance(&p->rng, 300))
        spec.req.gres = "gpu:1";
    spec.req.time_limit_us = rng_chance(&p->rng, 500)
                                 ? play_some_time(p, 60 * USEC_PER_SEC) + USEC_PER_SEC
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
    b.stuck_us =
        spec.req.gres && rng_chance(&p->rng, 300) ? play_some_time(p, 60 * USEC_PER_SEC) : 0;
    srun_in_script(p, &b);
    struct job_spec component[2] = {spec, spec};
    bool het = !spec.array && rng_chance(&p->rng, 80);
    if (het) /* the smallest cluster holds both */
        component[0].req.ntasks = component[1].req.ntasks = 1;
    else if (p->accounts)
        gets_more(p, &component[0].req);
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
    spec.req.time_limit_us = play_some_time(p, 200 * USEC_PER_SEC) + 10 * USEC_PER_SEC;
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
    struct behaviour b = {.runs_us = play_some_time(p, 30 * USEC_PER_SEC),
                          .exit_status = rng_chance(&p->rng, 200) ? 3 : 0,
                          .stubborn = rng_chance(&p->rng, 150),
                          .stuck_us =
                              rng_chance(&p->rng, 300) ? play_some_time(p, 30 * USEC_PER_SEC) : 0};
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
    spec.req.time_limit_us = rng_chance(&p->rng, 200) ? play_some_time(p, 20 * USEC_PER_SEC) : 0;
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

void play_command(struct play *p)
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

void play_control(struct play *p)
{
    static const enum job_action actions[] = {ACTION_HOLD,    ACTION_RELEASE,      ACTION_RELEASE,
                                              ACTION_REQUEUE, ACTION_REQUEUE_HOLD, ACTION_SUSPEND,
                                              ACTION_RESUME,  ACTION_RESUME,       ACTION_TOP};
    char text[32];
    struct msg_job_control m = {.action = actions[rng_below(&p->rng, ARRAY_LEN(actions))],
                                .ids = play_any_id(p, text, sizeof text),
                                .special_exit = rng_chance(&p->rng, 300)};
    world_request(p->w, MSG_JOB_CONTROL, &m, NULL);
}

void play_cancel(struct play *p)
{
    char text[32], element[48];
    struct msg_cancel m = {.ids = play_any_id(p, text, sizeof text)};
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

void play_update(struct play *p)
{
    char text[32];
    struct job_spec values = {
        .req = {.time_limit_us = play_some_time(p, 100 * USEC_PER_SEC) + USEC_PER_SEC}};
    struct msg_update_job m = {.ids = play_any_id(p, text, sizeof text),
                               .fields = "time_limit_us",
                               .values = {&values, 1}};
    world_request(p->w, MSG_UPDATE_JOB, &m, NULL);
}

void play_extend(struct play *p)
{
    char text[32];
    struct msg_extend m = {.id = play_any_id(p, text, sizeof text),
                           .add_us = play_some_time(p, 100 * USEC_PER_SEC) + USEC_PER_SEC,
                           .all = rng_chance(&p->rng, 300),
                           .test_only = rng_chance(&p->rng, 200)};
    world_request(p->w, MSG_EXTEND, &m, NULL);
}
