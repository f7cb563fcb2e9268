/* Job scripts that run srun. A script has up to four lanes (`srun …; srun …` or `srun … & srun …
 * & wait`); one that queues does so with `srun --async`, each step after the one before, and
 * waits with an srun that depends on the last. Else in each lane one srun after another makes a
 * step in the script's own job, by the number the script knows, waits for its end and leaves.
 * They live and die with the script: its end closes their connections, its SIGTERM reaches them,
 * and each then ends its own step, as cli/step/srun.c does. One that lost the controller asks
 * again: by its key for a step it has not heard of, by the number for one it has. */
#include "sim/world/inside.h"

#include <stdio.h>
#include <string.h>

#define AGAIN_US (USEC_PER_SEC / 2)
/* Of a thousand srun that get SIGTERM with their script, so many end their step before they die. */
#define FORWARDS     700
#define SCRIPT_NEVER (1000 * USEC_PER_DAY)

bool simscript_begins(struct sim_world *w, size_t i, struct simstep *s, const struct job *j)
{
    if (s->ids.step_id != STEP_BATCH || s->b.steps == 0)
        return false;
    int32_t most = s->b.lanes < 1 ? 1 : s->b.lanes > SIM_LANES ? SIM_LANES : s->b.lanes;
    s->lanes = (size_t)(s->b.steps < most ? s->b.steps : most);
    for (size_t k = 0; k < s->lanes; k++) {
        s->lane[k] =
            (struct simsrun){.left = s->b.steps / (int32_t)s->lanes, .step_id = -1, .after = -1};
        world_plan(w, world_delay(w),
                   (struct happening){.what = H_SCRIPT, .node = i, .note = s->ids, .turn = k});
    }
    if (s->b.requeues && j->restarts == 0)
        world_plan(w, 1 + (int64_t)rng_below(&w->rng, (uint64_t)(10 * USEC_PER_SEC)),
                   (struct happening){.what = H_SCRIPT_REQUEUE, .node = i, .note = s->ids});
    s->ends_us = w->now_us + SCRIPT_NEVER;
    return true;
}

static bool lanes_done(const struct simstep *s)
{
    for (size_t k = 0; k < s->lanes; k++)
        if (s->lane[k].left > 0)
            return false;
    return true;
}

/* ---- asking ---- */

static void create(struct sim_world *w, const struct simstep *s, size_t lane)
{
    char key[64], comment[64], after[64];
    const struct simsrun *srun = &s->lane[lane];
    bool queued = s->b.queues && srun->left > 1;
    snprintf(key, sizeof key, "%lld.%u.%zu.%d", (long long)s->ids.job_id, (unsigned)s->ids.attempt,
             lane, srun->left);
    snprintf(comment, sizeof comment, "runs=%lld exit=%d%s", (long long)s->b.step_runs_us,
             s->b.exit_status, s->b.stubborn ? " stubborn" : "");
    struct job_spec spec = {.name = "task", .comment = comment, .req = {.ntasks = 1}};
    spec.req.time_limit_us = srun->left % 5 == 4 ? 5 * USEC_PER_SEC : 0;
    snprintf(after, sizeof after, "%s:%lld.%lld", srun->left % 3 == 0 ? "afterok" : "afterany",
             (long long)s->ids.job_id, (long long)srun->after);
    spec.dependency = srun->after >= 0 ? after : NULL;
    struct msg_create_step m = {.spec = {&spec, 1},
                                .job_id = (uint64_t)s->ids.job_id,
                                .attempt = (uint32_t)s->ids.attempt,
                                .exact = s->b.exact,
                                .overlap = s->b.overlap,
                                .async = queued,
                                .key = key};
    if (queued)
        m.tasks = (struct blob){"tasks", 5};
    (queued ? world_call_once : world_call)(w, MSG_CREATE_STEP, &m);
}

static void ask(struct sim_world *w, struct simstep *s, size_t lane)
{
    struct simsrun *srun = &s->lane[lane];
    struct msg_attach_step again = {.job_id = (uint64_t)s->ids.job_id,
                                    .step_id = srun->step_id,
                                    .hold = true,
                                    .attempt = (uint32_t)s->ids.attempt};
    srun->conn = callers_next(w);
    if (srun->step_id >= 0)
        world_call(w, MSG_ATTACH_STEP, &again);
    else
        create(w, s, lane);
}

void simscript_goes(struct sim_world *w, const struct happening *h)
{
    struct simstep *s = simstep_of(&w->node.v[h->node], &h->note);
    if (!s || !s->alive || s->dying)
        return;
    if (s->stopped || !w->core) {
        world_plan(w, AGAIN_US,
                   (struct happening){
                       .what = H_SCRIPT, .node = h->node, .note = h->note, .turn = h->turn});
    } else if (lanes_done(s)) {
        simstep_end_at(w, h->node, s, 1000, s->b.exit_status << 8);
        s->dying = true;
    } else if (!s->lane[h->turn].conn && s->lane[h->turn].left > 0) {
        ask(w, s, h->turn);
    }
}

void simscript_requeues(struct sim_world *w, const struct happening *h)
{
    const struct simstep *s = simstep_of(&w->node.v[h->node], &h->note);
    char text[32];
    struct msg_job_control m = {.action = ACTION_REQUEUE, .ids = text};
    snprintf(text, sizeof text, "%lld", (long long)h->note.job_id);
    if (s && s->alive && !s->stopped && w->core)
        world_request(w, MSG_JOB_CONTROL, &m, NULL);
}

/* ---- hearing ---- */

static void created(struct sim_world *w, const struct simstep *s, struct simsrun *srun,
                    const struct step *made)
{
    uint64_t key = world_step_key(made->job_id, made->attempt, made->step_id, 0);
    if ((int64_t)made->job_id != s->ids.job_id || (int64_t)made->attempt != (int64_t)s->ids.attempt)
        world_broke(w, "a srun in job %lld attempt %lld was given step %llu.%lld of attempt %u",
                    (long long)s->ids.job_id, (long long)s->ids.attempt,
                    (unsigned long long)made->job_id, (long long)made->step_id, made->attempt);
    if (!map_u64_get(w->step_ended, key))
        world_broke(w, "step %llu.%lld was acknowledged and is not in the store",
                    (unsigned long long)made->job_id, (long long)made->step_id);
    srun->step_id = made->step_id;
}

static void over(struct sim_world *w, size_t node, struct simstep *s, size_t lane)
{
    s->lane[lane] = (struct simsrun){
        .left = s->lane[lane].left - 1, .step_id = -1, .after = s->lane[lane].after};
    world_plan(w, world_delay(w),
               (struct happening){.what = H_SCRIPT, .node = node, .note = s->ids, .turn = lane});
}

static void lane_hears(struct sim_world *w, size_t node, struct simstep *s, size_t lane,
                       const struct message *m)
{
    const struct msg_step_created *made = m->body;
    bool queued = s->b.queues && s->lane[lane].left > 1;
    if (m->kind == MSG_STEP_CREATED && made->step.n && queued) {
        s->lane[lane].after = ((const struct step *)made->step.v)->step_id;
        over(w, node, s, lane);
    } else if (m->kind == MSG_STEP_CREATED && made->step.n)
        created(w, s, &s->lane[lane], made->step.v);
    else if (m->kind == MSG_STEP_ENDED || m->kind == MSG_DONE)
        over(w, node, s, lane);
}

static void each_lane(struct sim_world *w,
                      void (*fn)(struct sim_world *, size_t, struct simstep *, size_t,
                                 const void *),
                      const void *ctx)
{
    for (size_t i = 0; i < w->node.n; i++)
        for (size_t k = 0; k < w->node.v[i].step.n; k++)
            for (size_t lane = 0; lane < w->node.v[i].step.v[k]->lanes; lane++)
                fn(w, i, w->node.v[i].step.v[k], lane, ctx);
}

struct heard {
    uint64_t conn;
    const struct message *m;
};

static void hear_if_mine(struct sim_world *w, size_t node, struct simstep *s, size_t lane,
                         const void *ctx)
{
    const struct heard *heard = ctx;
    if (s->alive && s->lane[lane].conn == heard->conn)
        lane_hears(w, node, s, lane, heard->m);
}

void simscripts_hear(struct sim_world *w, uint64_t conn, const struct message *m)
{
    each_lane(w, hear_if_mine, &(struct heard){conn, m});
}

static void lose(struct sim_world *w, size_t node, struct simstep *s, size_t lane, const void *ctx)
{
    (void)ctx;
    if (!s->alive || !s->lane[lane].conn)
        return;
    s->lane[lane].conn = 0;
    world_plan(w, AGAIN_US,
               (struct happening){.what = H_SCRIPT, .node = node, .note = s->ids, .turn = lane});
}

void simscripts_lose(struct sim_world *w)
{
    each_lane(w, lose, NULL);
}

/* ---- dying ---- */

void simscript_terminated(struct sim_world *w, size_t i, struct simstep *s)
{
    s->dying = true;
    for (size_t k = 0; k < s->lanes; k++)
        if (s->lane[k].conn && s->lane[k].step_id >= 0 && rng_chance(&w->rng, FORWARDS)) {
            struct happening h = {.what = H_SRUN_CANCELS, .node = i, .note = s->ids};
            h.note.step_id = s->lane[k].step_id;
            world_plan(w, world_delay(w), h);
        }
}

void simsrun_cancels(struct sim_world *w, const struct happening *h)
{
    char text[48];
    struct msg_cancel m = {.ids = text, .attempt = (uint32_t)h->note.attempt};
    snprintf(text, sizeof text, "%lld.%lld", (long long)h->note.job_id, (long long)h->note.step_id);
    world_request(w, MSG_CANCEL, &m, NULL);
}

void simscript_dies(struct sim_world *w, struct simstep *s)
{
    for (size_t k = 0; k < s->lanes; k++) {
        if (s->lane[k].conn)
            world_plan(w, world_delay(w),
                       (struct happening){.what = H_HANG_UP, .conn = s->lane[k].conn});
        s->lane[k].conn = 0;
    }
}

void simsrun_hangs_up(struct sim_world *w, uint64_t conn)
{
    callers_forget(&w->callers, conn);
    if (!w->core)
        return;
    controller_event(w, (struct event){.kind = EV_CLOSED, .conn = conn});
    controller_turn_end(w);
}
