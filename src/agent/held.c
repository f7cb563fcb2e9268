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

/* ---- launches ---- */

/* A copy, which lives in the arena. */
static struct arena *job_of_launch(const struct msg_launch *l, struct record_list *ret)
{
    struct msg_launch of_job = {.job = l->job}, *copy;
    struct arena *arena = arena_new();
    copy = arena_alloc(arena, sizeof *copy);
    record_copy(message_fields(MSG_LAUNCH), copy, &of_job, arena);
    *ret = copy->job;
    return arena;
}

static void run_job_drop(struct held_run *run)
{
    arena_free(run->arena);
    run->arena = NULL;
    run->job = (struct record_list){0};
}

static void run_job_keep(struct held_run *run, const struct msg_launch *l)
{
    struct record_list job;
    struct arena *arena = job_of_launch(l, &job);
    run_job_drop(run);
    run->arena = arena;
    run->job = job;
}

static size_t launch_bytes(const struct held_step *s)
{
    return sizeof *s + sizeof *s->launch + arena_used(s->arena);
}

static void launch_drop(struct held_step *s)
{
    ASSERT(!s->launch == !s->arena);
    if (!s->launch)
        return;
    s->run->launch_bytes -= launch_bytes(s);
    if (--s->run->launches == 0)
        run_job_drop(s->run);
    arena_free(s->arena);
    s->arena = NULL;
    s->launch = NULL;
}

bool held_keep_launch(struct held_step *s, const struct msg_launch *l)
{
    struct held_run *run = s->run;
    struct msg_launch own = *l;
    ASSERT(!s->launch && l->job.n > 0);
    if (l->job.n == 1)
        own.job = (struct record_list){0};
    s->arena = arena_new();
    s->launch = arena_alloc(s->arena, sizeof *s->launch);
    record_copy(message_fields(MSG_LAUNCH), s->launch, &own, s->arena);
    run->launches++;
    run->launch_bytes += launch_bytes(s);
    if (run->launches > 1 && run->launch_bytes > HELD_LAUNCHES_MAX_BYTES) {
        launch_drop(s);
        return false;
    }
    if (l->job.n == 1)
        run_job_keep(run, l);
    return true;
}

const struct msg_launch *held_launch(struct held_step *s)
{
    if (s->launch && s->launch->job.n <= 1)
        s->launch->job = s->run->job;
    return s->launch;
}

/* ---- steps ---- */

void held_move(struct held_step *s, enum held_state to)
{
    CHECK(moves[s->state] & (1u << to));
    s->run->in[s->state]--;
    s->run->in[to]++;
    s->state = to;
    if (to > HELD_STARTING)
        launch_drop(s);
}

void held_init(struct holdings *h)
{
    memset(h, 0, sizeof *h);
    h->by_job = map_u64_new();
    h->ended = map_u64_new();
    h->visit = map_u64_new();
}

static void run_remove(struct held_job *job, struct held_run *run)
{
    struct held_run **at = &job->run;
    while (*at != run)
        at = &(*at)->next;
    *at = run->next;
    map_u64_free(run->steps);
    free(run);
}

static void step_free(struct held_job *job, struct held_step *s)
{
    struct held_run *run = s->run;
    launch_drop(s);
    run->in[s->state]--;
    map_u64_del(run->steps, (uint64_t)s->step_id);
    if (map_u64_count(run->steps) == 0)
        run_remove(job, run);
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
        struct held_job *job = w.value;
        for (struct held_step *s = job->first, *next; s; s = next) {
            next = s->next_of_job;
            step_free(job, s);
        }
        free(job);
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
    const struct held_job *job = map_u64_get(h->by_job, job_id);
    return job ? job->first : NULL;
}

static struct held_run *run_of(const struct held_job *job, uint32_t attempt)
{
    struct held_run *run = job ? job->run : NULL;
    while (run && run->attempt != attempt)
        run = run->next;
    return run;
}

struct held_step *held_find(const struct holdings *h, uint64_t job_id, uint32_t attempt,
                            int64_t step_id)
{
    const struct held_run *run = run_of(map_u64_get(h->by_job, job_id), attempt);
    return run ? map_u64_get(run->steps, (uint64_t)step_id) : NULL;
}

static struct held_run *run_add(struct held_job *job, uint32_t attempt)
{
    struct held_run *run = xcalloc(1, sizeof *run);
    run->attempt = attempt;
    run->steps = map_u64_new();
    run->next = job->run;
    job->run = run;
    return run;
}

struct held_step *held_add(struct holdings *h, uint64_t job_id, uint32_t attempt, int64_t step_id,
                           enum held_state state)
{
    ASSERT(state < HELD_STATE_COUNT && !held_find(h, job_id, attempt, step_id));
    struct held_step *s = xcalloc(1, sizeof *s);
    struct held_job *job = map_u64_get(h->by_job, job_id);
    if (!job) {
        job = xcalloc(1, sizeof *job);
        map_u64_put(h->by_job, job_id, job);
    }
    struct held_run *run = run_of(job, attempt);
    run = run ? run : run_add(job, attempt);
    *s = (struct held_step){.job_id = job_id,
                            .attempt = attempt,
                            .run = run,
                            .step_id = step_id,
                            .state = state,
                            .before_of_job = job->last};
    if (job->last)
        job->last->next_of_job = s;
    else
        job->first = s;
    job->last = s;
    map_u64_put(run->steps, (uint64_t)step_id, s);
    run->in[state]++;
    h->count++;
    return s;
}

void held_mark(struct holdings *h, struct held_step *s)
{
    if (s->marked)
        return;
    s->marked = true;
    s->marked_before = h->marked_last;
    if (h->marked_last)
        h->marked_last->marked_next = s;
    else
        h->marked = s;
    h->marked_last = s;
}

struct held_step *held_marked(const struct holdings *h)
{
    return h->marked;
}

static void unmark(struct holdings *h, struct held_step *s)
{
    if (!s->marked)
        return;
    if (s->marked_before)
        s->marked_before->marked_next = s->marked_next;
    else
        h->marked = s->marked_next;
    if (s->marked_next)
        s->marked_next->marked_before = s->marked_before;
    else
        h->marked_last = s->marked_before;
    s->marked = false;
}

void held_remove(struct holdings *h, struct held_step *s)
{
    struct held_job *job = map_u64_get(h->by_job, s->job_id);
    uint64_t job_id = s->job_id;
    ASSERT(h->count > 0 && job);
    if (s->before_of_job)
        s->before_of_job->next_of_job = s->next_of_job;
    else
        job->first = s->next_of_job;
    if (s->next_of_job)
        s->next_of_job->before_of_job = s->before_of_job;
    else
        job->last = s->before_of_job;
    h->count--;
    unmark(h, s);
    step_free(job, s);
    if (!job->first)
        free(map_u64_del(h->by_job, job_id));
}

bool held_next(const struct holdings *h, struct held_walk *w)
{
    if (!w->next) {
        if (!map_u64_next(h->by_job, &w->at))
            return false;
        w->next = ((const struct held_job *)w->at.value)->first;
    }
    w->step = w->next;
    w->next = w->step->next_of_job;
    return true;
}

void held_check(const struct holdings *h, const struct held_step *s)
{
    size_t steps = 0, alike = 0, launches = 0;
    for (const struct held_step *o = held_of_job(h, s->job_id); o; o = o->next_of_job) {
        CHECK((o->run == s->run) == (o->attempt == s->attempt));
        steps += o->run == s->run;
        alike += o->run == s->run && o->state == s->state;
        launches += o->run == s->run && o->launch;
    }
    CHECK(map_u64_count(s->run->steps) == steps && s->run->in[s->state] == alike);
    CHECK(s->run->launches == launches && (s->run->job.n == 0 || launches > 0));
    CHECK(s->marked || (!s->found && !s->stuck && s->gpus.count == 0));
}

bool held_answers(const struct held_step *s)
{
    return s->answer_by_us && (s->state == HELD_RUNNING || s->state == HELD_CLEANING);
}

/* Other steps of its run in these states. */
static bool another_is(const struct held_step *s, enum held_state from, enum held_state to)
{
    size_t n = 0;
    for (enum held_state at = from; at <= to; at++)
        n += s->run->in[at];
    return n > (s->state >= from && s->state <= to);
}

bool held_has_others(const struct held_step *s)
{
    return another_is(s, HELD_WAITING, HELD_CLEANING);
}

bool held_is_alive(const struct holdings *h, uint64_t job_id, uint32_t attempt)
{
    for (const struct held_step *s = held_of_job(h, job_id); s; s = s->next_of_job)
        if (s->attempt == attempt && s->state != HELD_OVER)
            return true;
    return false;
}

bool held_has_speaker(const struct held_step *s)
{
    return another_is(s, HELD_EPILOG, HELD_PROVING);
}

bool held_another_runs(const struct held_step *s)
{
    return another_is(s, HELD_STARTING, HELD_CLEANING);
}

bool held_prolog_runs(const struct held_step *s)
{
    return another_is(s, HELD_PROLOG, HELD_PROLOG);
}

bool held_epilog_runs(const struct held_step *s)
{
    return another_is(s, HELD_EPILOG, HELD_EPILOG);
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
        v->arena = job_of_launch(l, &v->job);
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
