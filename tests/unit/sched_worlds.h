/* Random clusters and queues for the planner's properties: nodes of several kinds, partitions,
 * licences, heterogeneous jobs, work that is suspended and resumed. A seed gives the same world
 * every time. share.h says how many are tried. */
#ifndef SCHED_WORLDS_H
#define SCHED_WORLDS_H

#include "sched_help.h"
#include "share.h"

#include "base/rng.h"

struct task {
    uint64_t id;
    uint32_t uid;
    struct job_request req;
    int64_t submit, limit, runs, start, end; /* start 0 = waits */
    uint32_t elements;
    bool gone;
    int64_t promised;
    uint32_t nodes;
    uint64_t het;      /* leader of its heterogeneous job; 0 = none */
    uint32_t het_size; /* components of that */
    bool suspended, was_suspended;
    int32_t nice;
    bool held;             /* not with the planner for now */
    int64_t since, paused; /* suspended since; suspended in all before that */
    struct arena *arena;   /* its allocation, once it runs */
    struct alloc al;
    const char *part;
};

struct sim {
    uint64_t seed; /* for messages */
    struct rng rng;
    struct cluster *cl;
    struct plan *plan;
    struct node node[40];
    char name[40][32];
    size_t nnodes;
    struct partition part[3];
    size_t nparts;
    struct task job[120];
    size_t njobs;
    uint64_t next_id;
    int64_t now;
    bool exact;    /* jobs end when their limit says */
    bool one_user; /* all jobs are of one user */
    bool one_node;
    bool restless;          /* jobs are held and released */
    bool bounded;           /* partitions bound the CPUs of their jobs on a node */
    bool mixed;             /* licences, heterogeneous jobs, work that is suspended */
    bool one_tier;          /* partitions, two at most, are of one tier */
    bool wakes;             /* it is planned when the plan says so, too */
    bool paired;            /* many heterogeneous jobs, of two components or three */
    const char *parameters; /* SchedulerParameters; NULL = none */
    int64_t resv_us;        /* a reservation of a node begins; 0 = there is none */
    size_t resv_node;       /* which */
};

/* ---- making worlds ---- */

static void policy_put(struct cluster *cl, const char *parameters)
{
    struct settings set = {.licenses = "tool:2"};
    setting_words_default(&set.word);
    put_setting(&set, "SchedulerParameters", parameters ? parameters : "");
    cluster_set_policy(cl, &set);
}

static const char *const gres_of[] = {"gpu:a100:4", "gpu:v100:2,nic:1", "gpu:4", NULL, NULL};
static const char two_types[] = "gpu:a100:2,gpu:v100:2";
static const char *const features_of[] = {"intel,fast", "amd", "amd,fast", NULL};

static void nodes_make(struct sim *s)
{
    size_t kinds = 1 + rng_below(&s->rng, 3);
    s->nnodes = 1 + rng_below(&s->rng, s->one_node ? 1 : 12);
    for (size_t i = 0; i < s->nnodes; i++) {
        struct rng kind = {rng_below(&s->rng, kinds) * 7919 + s->nnodes};
        snprintf(s->name[i], sizeof s->name[i], "n%zu", i + 1);
        s->node[i] = a_node(s->name[i]);
        s->node[i].threads_per_core = 1 + (int32_t)rng_below(&kind, 2);
        s->node[i].cpus = 8 * s->node[i].threads_per_core;
        s->node[i].memory_mib = 1000 * rng_range(&kind, 1, 8);
        s->node[i].gres = gres_of[rng_below(&kind, 5)];
        s->node[i].features = features_of[rng_below(&kind, 4)];
        s->node[i].weight = (int32_t)rng_below(&kind, 3);
        if (rng_chance(&kind, 150))
            s->node[i].gres = two_types;
        s->node[i].drain = rng_chance(&s->rng, 50);
        put_node(s->cl, &s->node[i]);
    }
}

static void parts_make(struct sim *s)
{
    static const char *const names[] = {"main", "urgent", "shared"};
    s->nparts = 1 + rng_below(&s->rng, s->one_tier ? 2 : 3);
    for (size_t i = 0; i < s->nparts; i++) {
        s->part[i] = a_part(names[i], "ALL");
        s->part[i].priority_tier = 1 + (int32_t)rng_below(&s->rng, s->one_tier ? 1 : 2);
        s->part[i].share = i == 2                     ? SHARE_FORCE
                           : rng_chance(&s->rng, 100) ? SHARE_EXCLUSIVE
                                                      : SHARE_NO;
        s->part[i].share_count = 2;
        if (s->bounded)
            s->part[i].max_cpus_per_node = 2 * (int32_t)rng_range(&s->rng, 2, 5);
        if (s->bounded && rng_chance(&s->rng, 300))
            s->part[i].max_cpus_per_socket = 2 * (int32_t)rng_range(&s->rng, 1, 3);
        put_part(s->cl, &s->part[i]);
    }
}

static const char *pick(struct rng *r, const char *const *v, size_t n)
{
    return v[rng_below(r, n)];
}

static struct job_request request_make(struct sim *s)
{
    static const char *const gpus[] = {"1", "2", "a100:1", "v100:2", "a100|v100:2", "4"};
    static const char *const wants[] = {"fast", "intel|amd", "[intel|amd]", "amd&fast", "fast*1"};
    struct rng *r = &s->rng;
    struct job_request q = {.partition = s->part[rng_below(r, s->nparts)].name};
    if (s->nparts > 1 && rng_chance(r, s->one_tier ? 400 : 100))
        q.partition = "main,urgent";
    if (rng_chance(r, 400))
        q.min_nodes = (int32_t)rng_range(r, 1, 4);
    if (rng_chance(r, 300))
        q.ntasks = (int32_t)rng_range(r, 1, 12);
    if (rng_chance(r, 100) && q.min_nodes)
        q.max_nodes = q.min_nodes + (int32_t)rng_below(r, 3);
    if (rng_chance(r, 300))
        q.cpus_per_task = (int32_t)rng_range(r, 1, 6);
    if (rng_chance(r, 200))
        q.ntasks_per_node = (int32_t)rng_range(r, 1, 3);
    if (rng_chance(r, 500))
        q.mem_per_node_mib = rng_range(r, 1, 2000);
    else if (rng_chance(r, 300))
        q.mem_per_cpu_mib = rng_range(r, 1, 300);
    if (rng_chance(r, 200))
        q.gpus_per_node = pick(r, gpus, ARRAY_LEN(gpus));
    else if (rng_chance(r, 100))
        q.gpus = pick(r, gpus, ARRAY_LEN(gpus));
    else if (rng_chance(r, 100))
        q.gpus_per_task = pick(r, gpus, ARRAY_LEN(gpus));
    if (rng_chance(r, 100))
        q.constraint = pick(r, wants, ARRAY_LEN(wants));
    if (rng_chance(r, 100))
        q.exclusive = rng_chance(r, 500) ? EXCLUSIVE_NODE : EXCLUSIVE_USER;
    if (s->mixed && rng_chance(r, 100))
        q.licenses = rng_chance(r, 500) ? "tool:1" : "tool:2";
    q.contiguous = rng_chance(r, 30);
    q.time_limit_us = rng_range(r, 1, 5) * 10 * MIN;
    if (rng_chance(r, 50))
        q.time_min_us = 10 * MIN;
    return q;
}

static void job_wait(struct cluster *cl, const struct task *j)
{
    struct waiting w = {.job_id = j->id,
                        .req = &j->req,
                        .uid = j->uid,
                        .het_job_id = j->het,
                        .het_size = j->het_size,
                        .elements = j->elements,
                        .nice = j->nice,
                        .submit_us = j->submit,
                        .eligible_us = j->submit};
    cluster_wait(cl, &w);
}

static bool task_make(struct sim *s, struct task *j)
{
    *j = (struct task){.id = s->next_id++, .submit = s->now, .elements = 1};
    j->uid = 1000 + (s->one_user ? 0 : (uint32_t)(j->id % 3));
    if (s->njobs > 0 && rng_chance(&s->rng, 500))
        j->req = s->job[rng_below(&s->rng, s->njobs)].req;
    else
        j->req = request_make(s);
    return sched_check(s->cl, &j->req, j->uid, NULL, NULL, NULL) == REFUSE_NONE;
}

static uint32_t components_drawn(struct sim *s)
{
    if (s->paired && rng_chance(&s->rng, 300))
        return 2 + (uint32_t)rng_below(&s->rng, 2);
    return s->mixed && rng_chance(&s->rng, 80) ? 2 : 1;
}

/* A job of so many components at j; 0 = none came of it. */
static uint32_t tasks_make(struct sim *s, struct task *j)
{
    uint32_t n = components_drawn(s);
    for (uint32_t i = 0; i < n; i++)
        if (!task_make(s, j + i))
            return 0;
    for (uint32_t i = 0; i < n && n > 1; i++) {
        j[i].het = j[0].id;
        j[i].uid = j[0].uid;
        j[i].het_size = n;
    }
    return n;
}

static inline void submit(struct sim *s)
{
    struct task *j = &s->job[s->njobs];
    uint32_t n = tasks_make(s, j);
    s->njobs += n;
    for (uint32_t i = 0; i < n; i++)
        job_wait(s->cl, j + i);
}

/* ---- running them ---- */

static struct task *job_of(struct sim *s, uint64_t id)
{
    for (size_t i = 0; i < s->njobs; i++)
        if (s->job[i].id == id)
            return &s->job[i];
    return NULL;
}

static inline void start(struct sim *s, const struct plan_start *ps)
{
    struct task *j = job_of(s, ps->job_id);
    assert_non_null(j);
    assert_true(j->start == 0);
    assert_true(ps->limit_us <= j->req.time_limit_us &&
                ps->limit_us >= (j->req.time_min_us ? j->req.time_min_us : j->req.time_limit_us));
    j->start = s->now;
    j->limit = ps->limit_us;
    j->runs = s->exact || rng_chance(&s->rng, 500)
                  ? ps->limit_us
                  : rng_range(&s->rng, 1, ps->limit_us / MIN) * MIN;
    j->end = s->now + j->runs;
    j->arena = arena_new();
    struct str text = STR_INIT;
    alloc_format(&ps->alloc, &text);
    assert_true(alloc_parse(str_text(&text), j->arena, &j->al, NULL));
    str_done(&text);
    j->part = arena_strdup(j->arena, ps->partition);
    cluster_start(s->cl, j->id, &j->req, j->uid, ps->partition, &j->al, s->now,
                  s->now + ps->limit_us);
    cluster_unwait(s->cl, j->id);
}

static int64_t end_expected(const struct task *j)
{
    return j->start + j->limit + j->paused;
}

/* The same cluster made from nothing, in another order. */
static inline struct cluster *rebuilt(struct sim *s)
{
    struct cluster *cl = cluster_of_factors();
    if (s->mixed || s->parameters)
        policy_put(cl, s->parameters);
    for (size_t i = s->nnodes; i-- > 0;)
        put_node(cl, &s->node[i]);
    for (size_t i = s->nparts; i-- > 0;)
        put_part(cl, &s->part[i]);
    for (size_t i = s->njobs; i-- > 0;) {
        struct task *j = &s->job[i];
        if (j->gone || j->held)
            continue;
        if (!j->start) {
            job_wait(cl, j);
            continue;
        }
        cluster_start(cl, j->id, &j->req, j->uid, j->part, &j->al, j->start, end_expected(j));
        if (j->was_suspended)
            cluster_suspend(cl, j->id, true);
        if (j->was_suspended && !j->suspended)
            cluster_suspend(cl, j->id, false);
    }
    return cl;
}

static inline void job_resume(struct sim *s, struct task *j)
{
    int64_t pause = s->now - j->since;
    j->suspended = false;
    j->paused += pause;
    j->end += pause;
    cluster_suspend(s->cl, j->id, false);
    cluster_set_end(s->cl, j->id, end_expected(j));
}

static inline bool resume_all(struct sim *s)
{
    bool any = false;
    for (size_t i = 0; i < s->njobs; i++)
        if (s->job[i].suspended) {
            job_resume(s, &s->job[i]);
            any = true;
        }
    return any;
}

static inline void suspend_some(struct sim *s)
{
    for (size_t i = 0; s->mixed && i < s->njobs; i++) {
        struct task *j = &s->job[i];
        if (!j->start || j->gone || j->end <= s->now || !rng_chance(&s->rng, 50))
            continue;
        if (j->suspended) {
            job_resume(s, j);
        } else {
            j->suspended = j->was_suspended = true;
            j->since = s->now;
            cluster_suspend(s->cl, j->id, true);
        }
    }
}

static void end_due(struct sim *s)
{
    for (size_t i = 0; i < s->njobs; i++)
        if (s->job[i].start && !s->job[i].gone && !s->job[i].suspended && s->job[i].end <= s->now) {
            cluster_release(s->cl, s->job[i].id);
            s->job[i].gone = true;
            arena_free(s->job[i].arena);
            s->job[i].arena = NULL;
        }
}

static int64_t next_end(const struct sim *s)
{
    int64_t at = s->wakes && s->plan->next_us > s->now ? s->plan->next_us : INT64_MAX;
    for (size_t i = 0; i < s->njobs; i++)
        if (s->job[i].start && !s->job[i].gone && !s->job[i].suspended && s->job[i].end < at)
            at = s->job[i].end;
    return at;
}

/* A world from its seed, played to its end; `turn` is called at each time at which something
 * happened: it plans and starts. */
static inline void world_play(struct sim *s, void (*turn)(struct sim *s))
{
    s->cl = cluster_of_factors();
    s->plan = plan_new();
    s->next_id = 1;
    s->now = NOW;
    if (s->mixed || s->parameters)
        policy_put(s->cl, s->parameters);
    nodes_make(s);
    parts_make(s);
    size_t jobs = 1 + rng_below(&s->rng, 40);
    for (size_t i = 0; i < jobs; i++) {
        submit(s);
        if (rng_chance(&s->rng, 400)) {
            turn(s);
            int64_t end = next_end(s), later = s->now + rng_range(&s->rng, 1, 20) * MIN;
            s->now = end < later ? end : later;
        }
    }
    for (int64_t end = s->now; end != INT64_MAX || resume_all(s); end = next_end(s)) {
        s->now = end == INT64_MAX ? s->now : end;
        turn(s);
    }
}

static void world_done(struct sim *s)
{
    for (size_t i = 0; i < s->njobs; i++)
        if (s->job[i].arena)
            arena_free(s->job[i].arena);
    plan_free(s->plan);
    cluster_free(s->cl);
}

#endif
