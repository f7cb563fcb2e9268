/* What must hold of steps after each commit: a step begins in a job that runs, in that job's
 * present attempt; none is live in the books when its job waits or is over; no process of a job
 * that is over lives on a node that has been connected all the while; and no job is CANCELLED whom
 * nobody asked to end: a step that is cancelled is not. GpuIdle ends only what has not used a GPU
 * of its own for as long as it allows. */
#include "model/grammar/signals.h"
#include "sim/world/inside.h"

#include "base/idset.h"
#include "model/job/alloc.h"

#include <string.h>

void world_cancel_note(struct sim_world *w, const struct msg_cancel *m)
{
    struct span rest = span_of(m->ids), piece;
    uint64_t id = 0;
    if (!m->ids || strchr(m->ids, '.') || (m->signal && m->signal != SIGNAL_KILL))
        return;
    if (!span_next(&rest, '_', &piece))
        return;
    char text[24] = "";
    memcpy(text, piece.data, piece.len < sizeof text ? piece.len : sizeof text - 1);
    if (text_to_u64(text, UINT64_MAX, &id))
        map_u64_put(w->to_end, id, w);
}

static void begun_check(struct sim_world *w, const struct step *s)
{
    const struct simjob *j = map_u64_get(w->job, s->job_id);
    uint64_t key = world_step_key(s->job_id, s->attempt, s->step_id, 0);
    if (s->end_us || s->state == JOB_PENDING || s->step_id == STEP_BATCH ||
        (uintptr_t)map_u64_get(w->step_ended, key) >= STEP_ENDED)
        return;
    if (!j || (j->state != JOB_RUNNING && j->state != JOB_SUSPENDED && j->state != JOB_COMPLETING &&
               j->state != JOB_REQUEUED))
        world_broke(w, "step %llu.%lld is live and its job is %s", (unsigned long long)s->job_id,
                    (long long)s->step_id,
                    j ? enum_name(&job_state_names, (int32_t)j->state) : "not known");
    else if (s->attempt != j->attempt)
        world_broke(w, "step %llu.%lld is live in attempt %u, its job in %u",
                    (unsigned long long)s->job_id, (long long)s->step_id, s->attempt, j->attempt);
}

static void processes_check(struct sim_world *w, const struct job *j)
{
    for (size_t i = 0; i < w->node.n; i++)
        for (size_t k = 0; k < w->node.v[i].step.n; k++) {
            const struct simstep *s = w->node.v[i].step.v[k];
            if (s->alive && (uint64_t)s->ids.job_id == j->id && s->ids.attempt == j->attempt &&
                s->conn && s->conn == w->node.v[i].conn)
                world_broke(w, "step %lld of job %llu runs on %s after its job",
                            (long long)s->ids.step_id, (unsigned long long)j->id,
                            w->node.v[i].n.name);
        }
}

static void job_check(struct sim_world *w, const struct job *j)
{
    const struct simjob *known = map_u64_get(w->job, j->id);
    bool over = job_state_over(known->state);
    if ((over || known->state == JOB_PENDING || known->state == JOB_SPECIAL_EXIT) &&
        known->live_steps)
        world_broke(w, "job %llu is %s with %u live steps", (unsigned long long)j->id,
                    enum_name(&job_state_names, (int32_t)known->state), known->live_steps);
    if (over && known->attempt == j->attempt)
        processes_check(w, j);
    bool asked = map_u64_get(w->to_end, j->id) || map_u64_get(w->to_end, j->array_job_id) ||
                 map_u64_get(w->to_end, j->het_job_id);
    asked |= j->reason == REASON_GPU_IDLE; /* idle_check */
    asked |= j->user_id == HOSTILE_UID;    /* by hand, or when the world ends: what he has is his */
    /* It could not be launched, and may not run again (launch_failed). */
    asked |= j->reason == REASON_LAUNCH_FAILED && j->spec.requeue == NO;
    bool ran = j->attempt > 0; /* one that never did may be cancelled with what it waits for */
    if (j->state == JOB_CANCELLED && j->spec.batch && ran && !asked)
        world_broke(w, "job %llu is CANCELLED and nobody asked for that",
                    (unsigned long long)j->id);
}

/* A submission that was sent again is the same job: its submit_line is its number. A stranger says
 * there what he likes. */
static void made_learn(struct sim_world *w, const struct job *j)
{
    uint64_t request, id = j->array_job_id ? j->array_job_id
                           : j->het_job_id ? j->het_job_id
                                           : j->id;
    if (j->user_id == HOSTILE_UID || !j->spec.submit_line ||
        !text_to_u64(j->spec.submit_line, UINT64_MAX, &request))
        return;
    uint64_t owner = (uintptr_t)map_u64_get(w->numbers, j->id);
    if (owner && owner != request + 1)
        world_broke(w, "number %llu was given to two jobs", (unsigned long long)j->id);
    map_u64_put(w->numbers, j->id, (void *)(uintptr_t)(request + 1));
    uint64_t before = (uintptr_t)map_u64_get(w->made, request);
    if (before && before != id)
        world_broke(w, "jobs %llu and %llu are of one submission", (unsigned long long)before,
                    (unsigned long long)id);
    map_u64_put(w->made, request, (void *)(uintptr_t)id);
}

/* ---- time ---- */

#define SLACK_US (10 * USEC_PER_SEC) /* commits may have been late */

static void time_learn(struct sim_world *w, struct simjob *known, const struct job *j)
{
    bool again = known->attempt != j->attempt;
    bool begun = j->state == JOB_RUNNING ||
                 j->state == JOB_SUSPENDED; /* of those that take turns it may not be the first */
    if (begun && (again || known->state == JOB_PENDING)) {
        known->began_us = w->now_us;
        known->stopped_us = known->idle_us = 0;
    }
    if (begun)
        known->in_reservation = j->run_reservation != NULL;
    if (j->state == JOB_SUSPENDED && !known->stopped_us)
        known->stopped_us = w->now_us;
    if (j->state != JOB_SUSPENDED && known->stopped_us) {
        known->idle_us += w->now_us - known->stopped_us;
        known->stopped_us = 0;
    }
}

static int64_t ran_us(const struct sim_world *w, const struct simjob *known)
{
    int64_t idle_us = known->idle_us + (known->stopped_us ? w->now_us - known->stopped_us : 0);
    return known->began_us ? w->now_us - known->began_us - idle_us : 0;
}

/* The components of a heterogeneous job end together, with the first that reaches its limit or the
 * end of its reservation: others of it may have been suspended meanwhile, or be in none. Their ids
 * follow each other from the leader's. */
static bool another_is_due(const struct sim_world *w, const struct job *j)
{
    const struct simjob *other = j->het_job_id ? map_u64_get(w->job, j->het_job_id) : NULL;
    for (uint64_t id = j->het_job_id; other; other = map_u64_get(w->job, ++id))
        if (other->het_job_id == j->het_job_id && id != j->id &&
            (other->in_reservation || ran_us(w, other) + SLACK_US >= other->limit_us))
            return true;
    return false;
}

/* Somebody used up a limit in minutes: its sentence says so. */
static bool is_used_up(const struct job *j)
{
    return j->reason_detail && strstr(j->reason_detail, " minutes are used");
}

/* Nothing ends because somebody sets the clock. */
static void limit_check(struct sim_world *w, const struct simjob *known, const struct job *j)
{
    bool timeout =
        j->state == JOB_TIMEOUT || (j->state == JOB_COMPLETING && j->end_state == JOB_TIMEOUT);
    if (timeout && known->state == JOB_RUNNING && known->began_us && !j->run_reservation &&
        ran_us(w, known) + SLACK_US < j->limit_us && !is_used_up(j) && !another_is_due(w, j))
        world_broke(w, "job %llu is ended for its limit of %lld s after %lld s",
                    (unsigned long long)j->id, (long long)(j->limit_us / USEC_PER_SEC),
                    (long long)(ran_us(w, known) / USEC_PER_SEC));
}

/* When one of these devices of a node was said to be busy last. */
static int64_t last_busy_us(const struct sim_world *w, const char *node, const char *devices)
{
    struct idset set = IDSET_INIT;
    int64_t last = 0;
    for (size_t i = 0; i < w->node.n && idset_parse(&set, devices, INT32_MAX, NULL); i++)
        for (uint32_t k = 0; text_is(w->node.v[i].n.name, node) && k < WORLD_GPUS; k++)
            if (idset_has(&set, k) && w->node.v[i].gpu_busy_us[k] > last)
                last = w->node.v[i].gpu_busy_us[k];
    idset_done(&set);
    return last;
}

static void idle_check(struct sim_world *w, const struct simjob *known, const struct job *j)
{
    struct arena *a = arena_new();
    struct alloc al = {0};
    bool ended = j->reason == REASON_GPU_IDLE && known->state == JOB_RUNNING &&
                 j->state != JOB_RUNNING && known->attempt == j->attempt;
    if (ended && known->began_us && ran_us(w, known) + SLACK_US < WORLD_GPU_IDLE_US &&
        !j->het_job_id)
        world_broke(w, "job %llu is ended by GpuIdle after %lld s", (unsigned long long)j->id,
                    (long long)(ran_us(w, known) / USEC_PER_SEC));
    if (!ended || !j->alloc || !alloc_parse(j->alloc, a, &al, NULL))
        al.n = 0;
    for (size_t i = 0; i < al.n; i++)
        for (size_t k = 0; k < al.node[i].ngres; k++) {
            const char *devices = al.node[i].gres[k].devices;
            int64_t busy_us = devices ? last_busy_us(w, al.node[i].node, devices) : 0;
            if (busy_us && busy_us > known->began_us &&
                w->now_us - busy_us + SLACK_US < WORLD_GPU_IDLE_US)
                world_broke(w, "job %llu is ended by GpuIdle %lld s after GPU %s of %s was busy",
                            (unsigned long long)j->id,
                            (long long)((w->now_us - busy_us) / USEC_PER_SEC), devices,
                            al.node[i].node);
        }
    arena_free(a);
}

static void state_keep(void *ctx, const void *record)
{
    *(int32_t *)ctx = ((const struct node *)record)->state;
}

/* A row that was late, because the store was away, is no longer true. */
static bool is_down(const struct sim_world *w, const char *name)
{
    struct msg_query q = {.what = QUERY_NODES, .names = name};
    struct str detail = STR_INIT;
    int32_t state = NODE_UNKNOWN;
    struct view v = {state_keep, &state};
    core_query(w->core, &q, &world_daemon, world_wall(w), &v, &detail);
    str_done(&detail);
    return state == NODE_DOWN;
}

static void silence_check(struct sim_world *w, const struct node *row)
{
    if (!is_down(w, row->name) || row->state != NODE_DOWN ||
        !text_is(row->reason, "Not responding"))
        return;
    for (size_t i = 0; i < w->node.n; i++) {
        int64_t silent_us = w->now_us - w->node.v[i].heard_us;
        if (text_is(w->node.v[i].n.name, row->name) &&
            silent_us + SLACK_US < w->config.settings.node_timeout_us)
            world_broke(w, "%s is DOWN after %lld s of silence", row->name,
                        (long long)(silent_us / USEC_PER_SEC));
    }
}

static void job_learn(struct sim_world *w, const struct job *j)
{
    made_learn(w, j);
    struct simjob *known = map_u64_get(w->job, j->id);
    if (!known) {
        known = xcalloc(1, sizeof *known);
        map_u64_put(w->job, j->id, known);
    }
    limit_check(w, known, j);
    idle_check(w, known, j);
    world_doubt_check(w, j, known);
    time_learn(w, known, j);
    known->state = (enum job_state)j->state;
    known->attempt = j->attempt;
    known->limit_us = j->limit_us;
    known->het_job_id = j->het_job_id;
}

static void step_learn(struct sim_world *w, const struct step *s, bool began)
{
    struct simjob *j = map_u64_get(w->job, s->job_id);
    /* Queued: it has begun nothing */
    if (!j || s->step_id == STEP_BATCH || s->state == JOB_PENDING)
        return;
    j->live_steps += began && !s->end_us;
    j->live_steps -= !began && s->end_us && j->live_steps;
}

void world_rows_learn(struct sim_world *w, enum store_table table, const void *record)
{
    if (table == TABLE_JOB)
        job_learn(w, record);
    if (table == TABLE_QUEUED_STEP)
        world_queued_learn(w, record);
    if (table != TABLE_STEP)
        return;
    const struct step *s = record;
    step_learn(w, s,
               !map_u64_get(w->step_ended, world_step_key(s->job_id, s->attempt, s->step_id, 0)));
}

void world_rows_check(struct sim_world *w, enum store_table table, const void *record)
{
    if (table == TABLE_JOB) {
        job_check(w, record);
    } else if (table == TABLE_STEP) {
        begun_check(w, record);
        world_queued_check(w, record);
    } else if (table == TABLE_NODE) {
        silence_check(w, record);
    }
}
