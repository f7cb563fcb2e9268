#include "model/grammar/signals.h"
#include "sim/world/inside.h"

#include "base/idset.h"
#include "model/job/alloc.h"
#include "wire/frame.h"

#include <stdlib.h>
#include <string.h>

static struct behaviour behaviour_of(const char *comment)
{
    struct behaviour b = {.runs_us = USEC_PER_SEC};
    struct span rest = span_of(comment), word;
    while (comment && span_next(&rest, ' ', &word)) {
        char text[32] = "";
        memcpy(text, word.data, word.len < 31 ? word.len : 31);
        int64_t n;
        if (text_starts(text, "runs=") && text_to_i64(text + 5, 0, INT64_MAX, &n))
            b.runs_us = n;
        else if (text_starts(text, "stuck=") && text_to_i64(text + 6, 0, INT64_MAX, &n))
            b.stuck_us = n;
        else if (text_starts(text, "exit=") && text_to_i64(text + 5, 0, INT32_MAX, &n))
            b.exit_status = (int32_t)n;
        else if (text_starts(text, "steps=") && text_to_i64(text + 6, 0, INT32_MAX, &n))
            b.steps = (int32_t)n;
        else if (text_starts(text, "each=") && text_to_i64(text + 5, 0, INT64_MAX, &n))
            b.step_runs_us = n;
        else if (text_starts(text, "lanes=") && text_to_i64(text + 6, 0, INT32_MAX, &n))
            b.lanes = (int32_t)n;
        b.queues |= text_is(text, "queues");
        b.exact |= text_is(text, "exact");
        b.overlap |= text_is(text, "overlap");
        b.requeues |= text_is(text, "requeues");
        b.stubborn |= text_is(text, "stubborn");
        b.oom |= text_is(text, "oom");
    }
    return b;
}

/* The shepherd writes its state file and tells the daemon, if there is one. */
static void note_say(struct sim_world *w, size_t i, struct simstep *s, struct note n)
{
    n.job_id = s->ids.job_id;
    n.attempt = s->ids.attempt;
    n.step_id = s->ids.step_id;
    n.at_us = world_wall(w);
    vec_push(&s->said, n);
    world_plan(w, NOTE_DELAY_US, (struct happening){.what = H_NOTE, .node = i, .note = n});
}

static void step_signal(struct sim_world *w, size_t i, struct simstep *s, int32_t signal)
{
    if (signal == SIGNAL_KILL) {
        simstep_end_at(w, i, s, 500, 9);
    } else if (signal == SIGNAL_STOP && !s->stopped) {
        s->stopped = true;
        s->left_us = s->ends_us > w->now_us ? s->ends_us - w->now_us : 0;
        s->turn++;
    } else if (signal == SIGNAL_CONT && s->stopped) {
        simstep_end_at(w, i, s, s->left_us, s->b.exit_status);
    }
}

/* CPUs that two live steps of a job on one node have to themselves. */
static void cpus_compare(struct sim_world *w, const struct simnode *n, const struct simstep *s)
{
    for (size_t k = 0; k < n->step.n; k++) {
        const struct simstep *other = n->step.v[k];
        struct idset mine = IDSET_INIT, its = IDSET_INIT;
        uint32_t cpu;
        bool compare = other->alive && other != s && other->ids.job_id == s->ids.job_id &&
                       other->ids.attempt == s->ids.attempt && other->cpus && s->cpus;
        if (compare && idset_parse(&mine, s->cpus, INT32_MAX, NULL) &&
            idset_parse(&its, other->cpus, INT32_MAX, NULL))
            for (bool more = idset_first(&mine, &cpu); more; more = idset_next(&mine, cpu, &cpu))
                if (idset_has(&its, cpu))
                    world_broke(w, "steps %lld and %lld of job %lld both have CPU %u of %s",
                                (long long)s->ids.step_id, (long long)other->ids.step_id,
                                (long long)s->ids.job_id, cpu, n->n.name);
        idset_done(&mine);
        idset_done(&its);
    }
}

static char *step_cpus(struct sim_world *w, const struct simnode *n, const struct step *s)
{
    struct arena *a = arena_new();
    struct alloc al = {0};
    const struct alloc_node *here =
        alloc_parse(s->layout, a, &al, NULL) ? alloc_find(&al, n->n.name) : NULL;
    char *cpus = here && !(s->shares & SHARES_CPUS) ? xstrdup(here->cpus) : NULL;
    if (!here)
        world_broke(w, "step %llu.%lld was launched on %s, where it has nothing",
                    (unsigned long long)s->job_id, (long long)s->step_id, n->n.name);
    arena_free(a);
    return cpus;
}

/* Did the controller know of what runs there when it let the job start? A node that connected again
 * at that moment had not said it. */
static bool was_known(const struct sim_world *w, const struct simnode *n, const struct job *j)
{
    const struct simjob *known = map_u64_get(w->job, j->id);
    return n->conn && n->heard_conn == n->conn && known && n->known_us <= known->began_us &&
           n->known_wall_us <= j->start_us;
}

static void start_check(struct sim_world *w, size_t i, const struct job *j, const struct note *ids)
{
    struct simnode *n = &w->node.v[i];
    bool batch = ids->step_id == STEP_BATCH;
    uint64_t key = world_step_key(j->id, j->attempt, ids->step_id, batch ? 0 : i + 1);
    if (simstep_of(n, ids))
        world_broke(w, "job %llu attempt %u step %lld was started twice on %s",
                    (unsigned long long)j->id, j->attempt, (long long)ids->step_id, n->n.name);
    else if (map_u64_get(w->starts, key))
        world_broke(w, "job %llu attempt %u step %lld was started again", (unsigned long long)j->id,
                    j->attempt, (long long)ids->step_id);
    map_u64_put(w->starts, key, w);
    for (size_t k = 0; k < w->node.n; k++)
        for (size_t s = 0; s < w->node.v[k].step.n; s++) {
            const struct simstep *other = w->node.v[k].step.v[s];
            if (other->alive && (uint64_t)other->ids.job_id == j->id &&
                other->ids.attempt != j->attempt && was_known(w, &w->node.v[k], j))
                world_broke(w,
                            "job %llu runs twice: attempt %u starts while another is alive on a "
                            "connected node",
                            (unsigned long long)j->id, j->attempt);
        }
}

static void step_start(struct sim_world *w, size_t i, const struct msg_launch *l)
{
    const struct job *j = l->job.v;
    struct simnode *n = &w->node.v[i];
    const struct msg_create_step *create = l->create.n ? l->create.v : NULL;
    const struct job_spec *asked = create && create->spec.n ? create->spec.v : &j->spec;
    struct note ids = {.job_id = (int64_t)j->id,
                       .attempt = j->attempt,
                       .step_id = l->step_id,
                       .pid = 1000 + (int64_t)j->id};
    start_check(w, i, j, &ids);
    if (w->broken)
        return;
    struct simstep *s = xcalloc(1, sizeof *s);
    s->ids = ids;
    s->cpus = l->step.n ? step_cpus(w, n, l->step.v) : NULL;
    s->b = behaviour_of(asked->comment);
    s->alive = true;
    s->conn = n->conn;
    vec_push(&n->step, s);
    char *wrong = simgpus_begin(&n->gpus, n->n.name, l, &ids, w->now_us);
    if (wrong)
        world_broke(w, "%s", wrong);
    free(wrong);
    cpus_compare(w, n, s);
    note_say(w, i, s,
             (struct note){.kind = NOTE_STARTED,
                           .pid = s->ids.pid,
                           .start_us = world_wall(w),
                           .gpus = simgpus_of(&n->gpus, &ids)});
    if (!simscript_begins(w, i, s, j))
        simstep_end_at(w, i, s, s->b.runs_us, s->b.oom ? 9 : s->b.exit_status << 8);
}

/* What of it holds its GPUs may stay on for a while. */
void simstep_dies(struct sim_world *w, struct simnode *n, struct simstep *s)
{
    s->alive = false;
    simscript_dies(w, s);
    simgpus_end(&n->gpus, &s->ids, w->now_us, s->b.stuck_us);
}

void simstep_ends(struct sim_world *w, const struct happening *h)
{
    struct simstep *s = simstep_of(&w->node.v[h->node], &h->note);
    if (!s || !s->alive || s->turn != h->turn)
        return;
    simstep_dies(w, &w->node.v[h->node], s);
    note_say(w, h->node, s,
             (struct note){.kind = NOTE_EXITED,
                           .pid = s->ids.pid,
                           .status = s->b.exit_status,
                           .oom = s->b.oom && s->b.exit_status == 9,
                           .clean = 1,
                           .cpu_user_us = 1000});
}

static void agent_effect_do(struct sim_world *w, size_t i, const struct agent_effect *e)
{
    struct simnode *n = &w->node.v[i];
    struct simstep *s = simstep_of(n, &e->note);
    struct happening h = {.node = i, .conn = n->conn, .note = e->note};
    switch (e->kind) {
    case AGENT_SEND:
        if (!n->conn)
            return;
        h.what = H_TO_CORE;
        wire_encode(&e->msg, &h.bytes);
        world_plan(w, world_delay_in_order(w, &n->to_core_us), h);
        return;
    case AGENT_START: step_start(w, i, e->launch); return;
    case AGENT_TERMINATE:
        if (s && s->alive)
            simscript_terminated(w, i, s);
        if (s && s->alive)
            simstep_end_at(w, i, s, s->b.stubborn ? e->kill_wait_us + 1000 : 1000,
                           s->b.stubborn ? 9 : 15);
        return;
    case AGENT_SIGNAL:
        if (s && s->alive)
            step_signal(w, i, s, e->signal);
        return;
    case AGENT_FOLLOW: /* nobody reads streams here */ return;
    case AGENT_CLEAR:
        if (s && s->alive)
            simstep_dies(w, n, s);
        return;
    case AGENT_FORGET:
        if (s && s->alive)
            world_broke(w, "%s forgets job %lld while it runs", n->n.name,
                        (long long)e->note.job_id);
        simstep_forget(n, &e->note);
        return;
    case AGENT_PROLOG:
    case AGENT_EPILOG:
        h.what = H_PROGRAM;
        h.is_epilog = e->kind == AGENT_EPILOG;
        world_plan(w, 1000, h);
        return;
    case AGENT_LOOK:
        h.what = H_LOOKED;
        h.turn = n->life;
        str_addn(&h.bytes, (const char *)e->look, e->nlook * sizeof *e->look);
        world_plan(w, rng_chance(&w->rng, 50) ? 5 * USEC_PER_SEC : world_delay(w), h);
        return;
    case AGENT_LOG:
    case AGENT_FIND:
    case AGENT_VISIT_KEEP: /* the sites of this world have no programs around jobs */
    case AGENT_VISIT_READY:
    case AGENT_VISIT_END:
    case AGENT_ROUSE: /* no shepherd of this world stands still */
    case AGENT_TELL: return;
    }
}

void simnode_event(struct sim_world *w, size_t i, struct agent_event ev)
{
    struct simnode *n = &w->node.v[i];
    struct agent_effects fx;
    if (!n->agent)
        return;
    agent_effects_init(&fx);
    ev.now_us = world_wall(w);
    ev.mono_us = world_monotonic(w);
    agent_step(n->agent, &ev, &fx);
    agent_check(n->agent);
    for (size_t k = 0; k < fx.n; k++)
        agent_effect_do(w, i, &fx.v[k]);
    agent_effects_done(&fx);
    int64_t due = agent_wake_due(n->agent);
    if (due != INT64_MAX && due != n->wake_us) {
        n->wake_us = due;
        world_plan(w, due > world_wall(w) ? due - world_wall(w) : 1,
                   (struct happening){.what = H_AGENT_WAKE, .node = i});
    }
}

/* The daemon of a node starts and finds what its predecessor left. */
void simnode_start(struct sim_world *w, size_t i)
{
    struct simnode *n = &w->node.v[i];
    if (n->agent)
        return;
    n->agent = agent_new(&n->n, 100, (uint64_t)world_wall(w));
    n->life++;
    n->wake_us = 0;
    for (size_t k = 0; k < n->step.n; k++) {
        struct simstep *s = n->step.v[k];
        bool ended = false;
        simnode_event(w, i, (struct agent_event){.kind = AGENT_FOUND, .note = &s->ids});
        for (size_t m = 0; m < s->said.n; m++) {
            struct note said = s->said.v[m];
            ended |= said.kind == NOTE_EXITED || said.kind == NOTE_FAILED;
            simnode_event(w, i, (struct agent_event){.kind = AGENT_NOTE, .note = &said});
        }
        if (!s->alive && !ended) {
            struct note gone = s->ids;
            gone.kind = NOTE_GONE;
            simnode_event(w, i, (struct agent_event){.kind = AGENT_NOTE, .note = &gone});
        }
    }
    world_plan(w, world_delay(w), (struct happening){.what = H_CONNECT, .node = i});
}

/* What its GPUs do: for half a minute the same, by node and number, so that some are
 * idle for minutes; now and then one does not answer. */
void simnode_gpus_say(struct sim_world *w, size_t i)
{
    struct simnode *n = &w->node.v[i];
    struct gpu_now gpu[WORLD_GPUS];
    size_t count = 0;
    if (!n->gpus.devices)
        return;
    for (int32_t k = 0; k < WORLD_GPUS; k++) {
        uint64_t now[3] = {(uint64_t)(w->now_us / (30 * USEC_PER_SEC)), i, (uint64_t)k};
        uint64_t does = w->gpus_work ? 1 : hash_bytes(HASH_INIT, now, sizeof now) % 8;
        if (does == 0)
            continue;
        if (does == 1)
            n->gpu_busy_us[k] = w->now_us;
        gpu[count++] = (struct gpu_now){.index = k,
                                        .util = does == 1 ? 50 : 0,
                                        .mem_bytes = 1 << 20,
                                        .power_mw = -1,
                                        .idle = does > 1};
    }
    simnode_event(
        w, i,
        (struct agent_event){.kind = AGENT_GPU_USED, .gpus = gpu, .ngpus = count, .ok = true});
}

void simnode_looked(struct sim_world *w, const struct happening *h)
{
    struct simnode *n = &w->node.v[h->node];
    size_t count = h->bytes.len / sizeof(struct device_look);
    struct device_seen *seen = xcalloc(count + 1, sizeof *seen);
    struct arena *a = arena_new();
    for (size_t i = 0; i < count; i++) {
        struct device_look look;
        memcpy(&look, h->bytes.data + i * sizeof look, sizeof look);
        seen[i] = simgpus_look(&n->gpus, &look, w->now_us, a);
    }
    if (n->life == h->turn)
        simnode_event(w, h->node,
                      (struct agent_event){.kind = AGENT_LOOKED, .seen = seen, .nseen = count});
    arena_free(a);
    free(seen);
}

void simnode_connect(struct sim_world *w, size_t i)
{
    struct simnode *n = &w->node.v[i];
    if (n->conn || !n->agent)
        return;
    if (!w->core) {
        world_plan(w, USEC_PER_SEC / 2, (struct happening){.what = H_CONNECT, .node = i});
        return;
    }
    n->conn = w->next_conn++;
    simnode_event(w, i, (struct agent_event){.kind = AGENT_UP});
}
