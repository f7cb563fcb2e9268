/* A store that is older than what was said last: somebody put a backup in its place, or it is gone.
 * What was acknowledged since is not in it, and what it calls waiting or running may have run. So
 * nothing of it starts by itself: what waits is held, with the reason; what runs goes on where its
 * node has it, and is held where its node has not. Nodes that hold what the store does not know are
 * told to end it, and no number that they know is given again. */
#include "core/life/life.h"

/* What a node may be ahead of its controller's store: more than a site does between two backups. A
 * node that says more is wrong, or lies; nobody has given that number, and nobody soon will. */
#define JOBS_AHEAD_MAX   UINT64_C(100000000)
#define STARTS_AHEAD_MAX 10000u
/* The first start since gets a number that no node has had: it takes each once. Far less than is
 * believed, so that another store as old as this one does not have them all out of its sight. */
#define STARTS_SKIPPED 1000u
#define LINES_MAX      16u /* in the log, of one hello */

static void doubt_say(struct core *c, struct jobrec *r)
{
    struct str text = STR_INIT;
    str_addf(
        &text,
        "the store is an older one that was restored: whether this job has run since is not known; "
        "`scontrol release %llu` lets it run",
        (unsigned long long)r->j.id);
    text_set(c, &r->j.reason_detail, str_text(&text));
    text_set(c, &r->j.system_comment, str_text(&text));
    str_done(&text);
}

static void doubt(struct core *c, struct jobrec *r)
{
    r->j.restored = true;
    text_set(c, &r->j.had_nodes, NULL); /* it may have been elsewhere since */
    if (r->j.state == JOB_PENDING && !r->j.spec.hold) {
        hold_write(c, r, true);
        r->j.reason = REASON_HELD_USER;
        doubt_say(c, r);
    }
    job_save(c, r);
}

void core_store_is_older(struct core *c)
{
    c->store.older = true;
}

void core_was_killed(struct core *c)
{
    c->store.killed = true;
}

void ids_raise(struct core *c, uint64_t next)
{
    c->jobs.next_id = next > c->jobs.next_id ? next : c->jobs.next_id;
}

bool ids_far_beyond(const struct core *c, uint64_t id)
{
    return id >= c->jobs.next_id + JOBS_AHEAD_MAX;
}

void core_ids_from(struct core *c, uint64_t next)
{
    c->jobs.given_id = next;
    ids_raise(c, next);
}

void restored_mark(struct core *c)
{
    struct map_walk w = {0};
    size_t n = 0;
    while (c->store.older && map_u64_next(c->jobs.by_id, &w)) {
        struct jobrec *r = w.value;
        if (!job_live(r))
            continue;
        doubt(c, r);
        n++;
    }
    if (c->store.older)
        fx_log(c, LEVEL_WARNING,
               "the store is older than what was said last, or not the one that was written then: "
               "%zu jobs of it may have run since; those that wait are held, `scontrol release` "
               "lets them run; job ids go on at %llu",
               n, (unsigned long long)c->jobs.next_id);
}

void restored_number(struct jobrec *r)
{
    ASSERT(r->j.state == JOB_PENDING);
    if (r->j.restored && r->j.attempt < UINT32_MAX / 2)
        r->j.attempt += STARTS_SKIPPED;
    r->j.restored = false;
}

static void component_doubt_end(struct core *c, struct jobrec *r)
{
    if (!r->j.restored || r->j.state == JOB_PENDING)
        return;
    r->j.restored = false;
    job_save(c, r);
}

static void each_component(struct core *c, struct jobrec *r,
                           void (*what)(struct core *c, struct jobrec *component))
{
    jobrec_vec jobs = {0};
    if (r->j.het_job_id)
        components_find(c, leader_of(r), &jobs);
    else
        vec_push(&jobs, r);
    for (size_t i = 0; i < jobs.n; i++)
        what(c, jobs.v[i]);
    vec_done(&jobs);
}

/* Of a heterogeneous job the script, which runs in the first component, speaks for all. */
void doubt_end(struct core *c, struct jobrec *r)
{
    each_component(c, r, component_doubt_end);
}

void doubt_begin(struct core *c, struct jobrec *r)
{
    each_component(c, r, doubt);
}

void restored_requeue(struct core *c, struct jobrec *r)
{
    if (!r->j.restored)
        return;
    r->j.hold_after_requeue = true;
    doubt_say(c, r);
}

/* Its next start gets a number that the node does not know, and somebody decides whether there is
 * one. */
static const char *later_start(struct core *c, const struct noderec *n, struct jobrec *r,
                               uint32_t attempt)
{
    ASSERT(attempt > r->j.attempt);
    const char *told = arena_printf(
        c->turn.fx->arena,
        "node %s has start %u of job %llu, of which the store knows %u: it is ended there, and "
        "the job held",
        n->n.name, attempt, (unsigned long long)r->j.id, r->j.attempt);
    if (r->j.state != JOB_PENDING)
        return told;
    r->j.attempt = attempt;
    doubt(c, r);
    eligible_update(c, r);
    return told;
}

static const char *number_beyond(struct core *c, const struct noderec *n, uint64_t id,
                                 uint64_t most)
{
    struct arena *a = c->turn.fx->arena;
    if (!most || id >= most)
        return arena_printf(
            a, "node %s says that it has job %llu, but job ids are at %llu: it is told to end that",
            n->n.name, (unsigned long long)id, (unsigned long long)c->jobs.next_id);
    ids_raise(c, id + 1);
    return arena_printf(a,
                        "node %s has job %llu, whose number this store has not given yet: it is "
                        "ended there, and job ids go on after it",
                        n->n.name, (unsigned long long)id);
}

/* What is to be told of it; NULL = it is as it should be. Nothing of it is believed that is not
 * below `most`. */
static const char *one_beyond(struct core *c, const struct noderec *n, const struct held *held,
                              uint64_t most)
{
    struct jobrec *r = job_find(c, held->job_id);
    if (held->job_id >= c->jobs.next_id)
        return number_beyond(c, n, held->job_id, most);
    if (!r && !held->ended)
        return arena_printf(c->turn.fx->arena,
                            "node %s has job %llu, which is not known here: it is ended there",
                            n->n.name, (unsigned long long)held->job_id);
    if (r && most && held->attempt > r->j.attempt &&
        held->attempt - r->j.attempt <= STARTS_AHEAD_MAX)
        return later_start(c, n, r, held->attempt);
    return NULL;
}

/* The controller forgets no number and no start while it lives: what a node has of an older life,
 * it has when it comes for the first time. One that says so later is wrong, or lies. */
void held_beyond(struct core *c, struct noderec *n, const struct msg_node_hello *m)
{
    ASSERT(c->node.v[n->index] == n);
    const struct held *held = m->held.v;
    uint64_t most = n->heard ? 0 : c->jobs.next_id + JOBS_AHEAD_MAX;
    size_t lines = 0;
    n->heard = true;
    for (size_t i = 0; i < m->held.n; i++) {
        const char *told = one_beyond(c, n, &held[i], most);
        if (told && lines++ < LINES_MAX)
            node_log(c, n, LEVEL_WARNING, "%s", told);
    }
    if (lines > LINES_MAX)
        node_log(c, n, LEVEL_WARNING, "node %s has %zu more like these", n->n.name,
                 lines - LINES_MAX);
}
