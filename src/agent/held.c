#include "agent/held.h"

#include "base/alloc.h"
#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

#define MAY(state) (1u << HELD_##state)

/* From → where to. FOUND steps begin as STARTING. */
static const uint32_t moves[HELD_STATE_COUNT] = {
    [HELD_WAITING] = MAY(PROLOG) | MAY(STARTING) | MAY(OVER),
    [HELD_PROLOG] = MAY(STARTING) | MAY(ENDED) | MAY(OVER),
    [HELD_STARTING] = MAY(RUNNING) | MAY(ENDED) | MAY(OVER),
    [HELD_RUNNING] = MAY(CLEANING) | MAY(ENDED) | MAY(OVER),
    [HELD_CLEANING] = MAY(ENDED),
    [HELD_ENDED] = MAY(EPILOG) | MAY(PROVING) | MAY(OVER),
    [HELD_EPILOG] = MAY(PROVING) | MAY(OVER),
    [HELD_PROVING] = MAY(OVER),
    [HELD_OVER] = 0,
};

void held_move(struct held_step *s, enum held_state to)
{
    CHECK(moves[s->state] & (1u << to));
    s->state = to;
}

void held_init(struct holdings *h)
{
    memset(h, 0, sizeof *h);
    h->by_job = map_u64_new();
    h->ended = map_u64_new();
    h->visit = map_u64_new();
}

static void step_free(struct held_step *s)
{
    held_drop_launch(s);
    idset_done(&s->gpus);
    free(s->release_why);
    free(s->stuck);
    free(s->why);
    free(s);
}

static void visit_free(struct visit *v)
{
    arena_free(v->arena);
    free(v);
}

void held_done(struct holdings *h)
{
    struct map_walk w = {0};
    while (map_u64_next(h->by_job, &w)) {
        for (struct held_step *s = w.value, *next; s; s = next) {
            next = s->next_of_job;
            step_free(s);
        }
    }
    map_u64_free(h->by_job);
    w = (struct map_walk){0};
    while (map_u64_next(h->ended, &w))
        free(w.value);
    map_u64_free(h->ended);
    vec_done(&h->ended_jobs);
    vec_done(&h->ended_steps);
    w = (struct map_walk){0};
    while (map_u64_next(h->visit, &w)) {
        for (struct visit *v = w.value, *next; v; v = next) {
            next = v->next;
            visit_free(v);
        }
    }
    map_u64_free(h->visit);
}

struct held_step *held_of_job(const struct holdings *h, uint64_t job_id)
{
    return map_u64_get(h->by_job, job_id);
}

struct held_step *held_find(const struct holdings *h, uint64_t job_id, uint32_t attempt,
                            int64_t step_id)
{
    struct held_step *s = held_of_job(h, job_id);
    while (s && (s->attempt != attempt || s->step_id != step_id))
        s = s->next_of_job;
    return s;
}

struct held_step *held_add(struct holdings *h, uint64_t job_id, uint32_t attempt, int64_t step_id,
                           enum held_state state)
{
    ASSERT(state < HELD_STATE_COUNT && !held_find(h, job_id, attempt, step_id));
    struct held_step *s = xcalloc(1, sizeof *s), *last = held_of_job(h, job_id);
    *s = (struct held_step){
        .job_id = job_id, .attempt = attempt, .step_id = step_id, .state = state};
    while (last && last->next_of_job)
        last = last->next_of_job;
    if (last)
        last->next_of_job = s;
    else
        map_u64_put(h->by_job, job_id, s);
    h->count++;
    return s;
}

void held_remove(struct holdings *h, struct held_step *s)
{
    ASSERT(h->count > 0 && held_of_job(h, s->job_id));
    struct held_step *first = held_of_job(h, s->job_id);
    if (first == s && !s->next_of_job) {
        map_u64_del(h->by_job, s->job_id);
    } else if (first == s) {
        map_u64_put(h->by_job, s->job_id, s->next_of_job);
    } else {
        while (first->next_of_job != s)
            first = first->next_of_job;
        first->next_of_job = s->next_of_job;
    }
    h->count--;
    step_free(s);
}

bool held_next(const struct holdings *h, struct held_walk *w)
{
    if (!w->next) {
        if (!map_u64_next(h->by_job, &w->at))
            return false;
        w->next = w->at.value;
    }
    w->step = w->next;
    w->next = w->step->next_of_job;
    return true;
}

bool held_answers(const struct held_step *s)
{
    return s->answer_by_us && (s->state == HELD_RUNNING || s->state == HELD_CLEANING);
}

bool held_has_others(const struct holdings *h, const struct held_step *s)
{
    for (const struct held_step *o = held_of_job(h, s->job_id); o; o = o->next_of_job)
        if (o != s && o->attempt == s->attempt && o->state < HELD_ENDED)
            return true;
    return false;
}

bool held_is_alive(const struct holdings *h, uint64_t job_id, uint32_t attempt)
{
    for (const struct held_step *s = held_of_job(h, job_id); s; s = s->next_of_job)
        if (s->attempt == attempt && s->state != HELD_OVER)
            return true;
    return false;
}

bool held_has_speaker(const struct holdings *h, const struct held_step *s)
{
    for (const struct held_step *o = held_of_job(h, s->job_id); o; o = o->next_of_job)
        if (o != s && o->attempt == s->attempt &&
            (o->state == HELD_EPILOG || o->state == HELD_PROVING))
            return true;
    return false;
}

bool held_has_run(const struct holdings *h, const struct held_step *s)
{
    for (const struct held_step *o = held_of_job(h, s->job_id); o; o = o->next_of_job)
        if (o != s && o->attempt == s->attempt && (o->found || o->pid || o->state == HELD_STARTING))
            return true;
    return false;
}

static bool another_is(const struct holdings *h, const struct held_step *s, enum held_state state)
{
    for (const struct held_step *o = held_of_job(h, s->job_id); o; o = o->next_of_job)
        if (o != s && o->attempt == s->attempt && o->state == state)
            return true;
    return false;
}

bool held_prolog_runs(const struct holdings *h, const struct held_step *s)
{
    return another_is(h, s, HELD_PROLOG);
}

bool held_epilog_runs(const struct holdings *h, const struct held_step *s)
{
    return another_is(h, s, HELD_EPILOG);
}

void held_remember_ended(struct holdings *h, uint64_t job_id, uint32_t attempt)
{
    ASSERT(job_id && attempt);
    uint32_t *highest = map_u64_get(h->ended, job_id);
    if (highest) {
        *highest = attempt > *highest ? attempt : *highest;
        return;
    }
    map_u64_put(h->ended, job_id, xmemdup(&attempt, sizeof attempt));
    if (h->ended_jobs.n < HELD_ENDED_MAX) {
        vec_push(&h->ended_jobs, job_id);
        return;
    }
    free(map_u64_del(h->ended, h->ended_jobs.v[h->ended_at]));
    h->ended_jobs.v[h->ended_at] = job_id;
    h->ended_at = (h->ended_at + 1) % HELD_ENDED_MAX;
}

void held_remember_step_ended(struct holdings *h, const struct held_step *s)
{
    ASSERT(s->job_id && s->step_id != STEP_BATCH);
    struct ended_step e = {s->job_id, s->attempt, s->step_id};
    if (h->ended_steps.n < HELD_ENDED_MAX) {
        vec_push(&h->ended_steps, e);
        return;
    }
    h->ended_steps.v[h->ended_step_at] = e;
    h->ended_step_at = (h->ended_step_at + 1) % HELD_ENDED_MAX;
}

bool held_was_ended(const struct holdings *h, uint64_t job_id, uint32_t attempt, int64_t step_id)
{
    const uint32_t *highest = map_u64_get(h->ended, job_id);
    if (highest && attempt <= *highest)
        return true;
    for (size_t i = 0; i < h->ended_steps.n; i++) {
        const struct ended_step *e = &h->ended_steps.v[i];
        if (e->job_id == job_id && e->attempt == attempt && e->step_id == step_id)
            return true;
    }
    return false;
}

struct visit *visit_of(const struct holdings *h, uint64_t job_id, uint32_t attempt)
{
    struct visit *v = map_u64_get(h->visit, job_id);
    while (v && v->attempt != attempt)
        v = v->next;
    return v;
}

static void visit_keep_launch(struct visit *v, const struct msg_launch *l)
{
    struct msg_launch wanted = *l;
    wanted.script = wanted.env = (struct blob){0};
    v->arena = arena_new();
    v->launch = arena_alloc(v->arena, sizeof *v->launch);
    record_copy(message_fields(MSG_LAUNCH), v->launch, &wanted, v->arena);
}

struct visit *visit_begin(struct holdings *h, uint64_t job_id, uint32_t attempt, bool prepared,
                          const struct msg_launch *l)
{
    ASSERT(job_id && !visit_of(h, job_id, attempt));
    struct visit *v = xcalloc(1, sizeof *v);
    *v = (struct visit){.job_id = job_id,
                        .attempt = attempt,
                        .prepared = prepared,
                        .next = map_u64_get(h->visit, job_id)};
    if (l)
        visit_keep_launch(v, l);
    map_u64_put(h->visit, job_id, v);
    return v;
}

bool visit_next(const struct holdings *h, struct visit_walk *w)
{
    w->visit = w->visit ? w->visit->next : NULL;
    if (!w->visit && map_u64_next(h->visit, &w->at))
        w->visit = w->at.value;
    return w->visit != NULL;
}

void visit_end(struct holdings *h, uint64_t job_id, uint32_t attempt)
{
    struct visit *v = visit_of(h, job_id, attempt), *before = map_u64_get(h->visit, job_id);
    if (!v)
        return;
    while (before != v && before->next != v)
        before = before->next;
    if (before != v)
        before->next = v->next;
    else if (v->next)
        map_u64_put(h->visit, job_id, v->next);
    else
        map_u64_del(h->visit, job_id);
    visit_free(v);
}

void held_keep_launch(struct held_step *s, const struct msg_launch *l, bool with_payload)
{
    struct msg_launch wanted = *l;
    struct arena *arena = arena_new();
    struct msg_launch *copy = arena_alloc(arena, sizeof *copy);
    if (!with_payload)
        wanted.script = wanted.env = (struct blob){0};
    record_copy(message_fields(MSG_LAUNCH), copy, &wanted, arena);
    held_drop_launch(s); /* it may be what was copied */
    s->arena = arena;
    s->launch = copy;
}

void held_drop_launch(struct held_step *s)
{
    ASSERT(!s->launch == !s->arena);
    arena_free(s->arena);
    s->arena = NULL;
    s->launch = NULL;
}
