/* Time of a replay. The controller's machine plans when it is woken, so the rule is a matter of
 * when to wake it. Rule E has a quirk of its reference to keep: a job's processors count as free
 * from its estimated end on, even if an arrival of the same second is handled before that end.
 * So what ends just as estimated is reported first, and gets its pass in its turn.
 *
 * A live queue is replayed from just before its first submission on: what runs when it was
 * looked at starts then and ends when its limit is over, what waits is submitted at its time,
 * and no pass is made before the moment it was looked at. */
#include "sim/replay/replay.h"

#include "base/alloc.h"
#include "sim/replay/inside.h"

#include <stdlib.h>

#define EPOCH_S INT64_C(1500000000) /* second 0 of a trace that does not say when it was */

/* ---- ends to come ---- */

static bool ends_before(const struct ending *a, const struct ending *b)
{
    if (a->at != b->at)
        return a->at < b->at;
    return a->turn != b->turn ? a->turn < b->turn : a->job < b->job;
}

void endings_push(struct endings *h, struct ending e)
{
    vec_push(&h->v, e);
    size_t i = h->v.n - 1;
    for (; i > 0 && ends_before(&e, &h->v.v[(i - 1) / 2]); i = (i - 1) / 2)
        h->v.v[i] = h->v.v[(i - 1) / 2];
    h->v.v[i] = e;
}

struct ending endings_pop(struct endings *h)
{
    struct ending top = h->v.v[0], last = h->v.v[--h->v.n];
    size_t i = 0, child;
    for (; (child = 2 * i + 1) < h->v.n; i = child) {
        if (child + 1 < h->v.n && ends_before(&h->v.v[child + 1], &h->v.v[child]))
            child++;
        if (!ends_before(&h->v.v[child], &last))
            break;
        h->v.v[i] = h->v.v[child];
    }
    if (h->v.n > 0)
        h->v.v[i] = last;
    return top;
}

/* ---- one second ---- */

static void ends_gather(struct replay *p)
{
    vec_clear(&p->now_ending);
    while (p->ends.v.n > 0 && p->ends.v.v[0].at <= p->now) {
        struct ending e = endings_pop(&p->ends);
        vec_push(&p->now_ending, e);
    }
}

static bool arrives_now(const struct replay *p)
{
    return p->arrived < p->t->job.n && p->t->job.v[p->arrived].submit <= p->now;
}

/* Jobs that outlived what was predicted of them. */
static void corrections_make(struct replay *p)
{
    while (p->corrections.v.n > 0 && p->corrections.v.v[0].at <= p->now) {
        struct ending e = endings_pop(&p->corrections);
        const struct live_job *l = &p->job[e.job];
        if (!l->over && l->attempt == e.attempt)
            replay_correct(p, e.job);
    }
}

/* Before a live queue was looked at, only what ran then starts. */
static bool passes_now(const struct replay *p)
{
    return p->t->live_at == 0 || p->now >= p->t->live_at || p->now == p->begun;
}

static void second_batch(struct replay *p)
{
    for (size_t i = 0; i < p->now_ending.n; i++)
        replay_end(p, &p->now_ending.v[i]);
    corrections_make(p);
    while (arrives_now(p) && !p->failed)
        replay_submit(p, (uint32_t)p->arrived);
    if (passes_now(p))
        replay_pass(p);
}

static void second_event(struct replay *p)
{
    bool conservative = p->s->policy.backfill == REF_CONSERVATIVE;
    for (size_t i = 0; i < p->now_ending.n; i++) {
        struct ending *e = &p->now_ending.v[i];
        if (p->t->job.v[e->job].run == p->job[e->job].limit)
            replay_end(p, e);
    }
    if (conservative) {
        core_set_order(p->core, &p->hook);
        replay_pass(p);
    }
    while (arrives_now(p) && !p->failed) {
        uint32_t i = (uint32_t)p->arrived;
        if (conservative) {
            p->job[i].limit = estimate_of(p, i);
            profile_forget(&p->plan, p->now);
            place_take(p, i);
            vec_push(&p->queue, i);
        }
        replay_submit(p, i);
        replay_pass(p);
    }
    for (size_t i = 0; i < p->now_ending.n && !p->failed; i++) {
        replay_end(p, &p->now_ending.v[i]);
        if (conservative)
            places_compress(p, p->now_ending.v[i].job);
        replay_pass(p);
    }
    if (p->corrections.v.n > 0 && p->corrections.v.v[0].at <= p->now) {
        corrections_make(p);
        replay_pass(p);
    }
}

static int64_t sooner(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The machine's own times matter where a configuration has more than a queue: windows, grace,
 * slices. */
static int64_t machine_time(const struct replay *p)
{
    bool busy = p->waiting > 0 || p->ends.v.n > 0;
    if (!p->s->machine.config || !busy || !passes_now(p))
        return NEVER;
    int64_t due = replay_wake_due(p);
    return due == NEVER || due > p->now ? due : p->now + 1;
}

static int64_t next_time(const struct replay *p)
{
    int64_t next = p->ends.v.n > 0 ? p->ends.v.v[0].at : NEVER;
    if (p->corrections.v.n > 0)
        next = sooner(next, p->corrections.v.v[0].at);
    if (p->arrived < p->t->job.n)
        next = sooner(next, p->t->job.v[p->arrived].submit);
    if (p->s->policy.backfill == REF_CONSERVATIVE && p->queue.n > 0)
        next = sooner(next, place_next(p));
    if (p->t->live_at > p->now && p->arrived > 0)
        next = sooner(next, p->t->live_at);
    return sooner(next, machine_time(p));
}

/* ---- a replay ---- */

static void replay_open(struct replay *p)
{
    size_t n = p->t->job.n + 1;
    p->epoch = p->t->epoch ? p->t->epoch : EPOCH_S;
    p->begun = p->now = p->t->job.n > 0 ? p->t->job.v[0].submit : 0;
    p->next_id = 1;
    p->r->job = xcalloc(n, sizeof p->r->job[0]);
    p->r->text = arena_new();
    p->job = xcalloc(n, sizeof p->job[0]);
    p->by_id = map_u64_new();
    p->users = map_u64_new();
    p->user =
        (struct peer){.uid = 999, .gid = 999, .user = "trace", .group = "trace", .host = "sim"};
    p->root = (struct peer){.user = "root", .group = "root", .host = "sim", .is_admin = true};
    hook_fill(p);
    profile_init(&p->plan, p->now, p->s->machine.procs);
}

static void replay_close(struct replay *p)
{
    struct map_walk walk = {0};
    machine_stop(p);
    while (map_u64_next(p->users, &walk))
        free(walk.value);
    for (size_t i = 0; i < p->t->job.n; i++)
        free(p->job[i].alloc);
    map_u64_free(p->users);
    map_u64_free(p->by_id);
    vec_done(&p->ends.v);
    vec_done(&p->corrections.v);
    vec_done(&p->now_ending);
    vec_done(&p->released);
    vec_done(&p->queue);
    vec_done(&p->unplanned);
    profile_done(&p->plan);
    free(p->job);
}

/* What a site's configuration can never start, it says at submission or by leaving it waiting; of a
 * trace every job must have run. */
static void leftovers(struct replay *p)
{
    for (size_t i = 0; i < p->t->job.n && !p->failed; i++) {
        struct replayed *r = &p->r->job[i];
        if (r->end != 0 || r->refused)
            continue;
        if (!p->s->machine.config)
            replay_failed(p, "never started", p->t->job.v[i].id, NULL);
        r->start = 0;
        r->refused = "never started";
        p->r->refused++;
    }
}

static bool combination_known(const struct replay_setup *s, struct err *ret_err)
{
    bool conservative = s->policy.backfill == REF_CONSERVATIVE;
    if (s->depth > 0 && (s->policy.order == REF_DAEMON || conservative))
        return err_set(
            ret_err, ERR_UNSUPPORTED,
            "--depth goes with the policies fcfs, easy, sjbf, sjf, saf, wfp3 and f1; the daemon "
            "considers every waiting job");
    if (conservative && (s->rule != RULE_EVENT || s->estimates == ESTIMATES_PREDICT ||
                         s->machine.config || s->machine.lines || s->machine.nodes))
        return err_set(ret_err, ERR_UNSUPPORTED,
                       "conservative backfill is there for a flat pool, with --rule E and without "
                       "predictions");
    if (s->node_choice != NODES_BEST_FIT && s->machine.nodes == 0)
        return err_set(ret_err, ERR_UNSUPPORTED,
                       "--nodes goes with a machine of equal nodes (--machine 80x8)");
    return true;
}

bool replay_run(const struct trace *t, const struct replay_setup *setup, struct replay_result *ret,
                struct err *ret_err)
{
    struct replay p = {.t = t, .s = setup, .r = ret, .err = ret_err};
    int64_t next;
    *ret = (struct replay_result){0};
    if (!combination_known(setup, ret_err))
        return false;
    replay_open(&p);
    p.failed = !machine_start(&p);
    while (!p.failed && (next = next_time(&p)) != NEVER) {
        nodes_count_time(&p, next - p.now);
        p.now = next;
        ends_gather(&p);
        if (setup->rule == RULE_EVENT)
            second_event(&p);
        else
            second_batch(&p);
    }
    leftovers(&p);
    replay_close(&p);
    if (p.failed)
        replay_done(ret);
    return !p.failed;
}

void replay_done(struct replay_result *r)
{
    free(r->job);
    vec_done(&r->pass_ns);
    arena_free(r->text);
    *r = (struct replay_result){0};
}
