/* Steps of srun --async, and what steps wait for.
 *
 * Such a step has no command behind it. Its program comes with the request and is stored with it
 * (queued_step); the step has its number and its row at once, PENDING, and waits for room in its
 * job and for the steps it depends on. Then it is launched as any other, only that the nodes are
 * told with the launch what runs. It ends as any other, with its job too; nobody's absence ends it.
 * The row of queued_step is there until all its nodes have begun it, so that a controller that died
 * after it had stored the step and before it had told a node can tell it again; and no longer, so
 * that one that knows of the step by its row alone never has it run twice.
 *
 * How steps ended is known for all of the run at hand: of those that left memory their numbers are
 * kept, by how they ended. So a dependency is never open to doubt, and is read from its text
 * whenever it is looked at. */
#include "core/step/queue.h"

#include "model/job/step_dependency.h"

struct step_queue {
    VEC(struct queuedrec *) rec;        /* in the order they came; each owned */
    struct idset gone_well, gone_badly; /* numbers of ended steps that left memory */
    struct gone_use gone;               /* what all those used */
};

static struct step_queue *queue_of(struct jobrec *r)
{
    if (!r->queue)
        r->queue = xcalloc(1, sizeof *r->queue);
    return r->queue;
}

size_t step_queue_count(const struct jobrec *r)
{
    return r->queue ? r->queue->rec.n : 0;
}

struct queuedrec *queue_at(const struct jobrec *r, size_t i)
{
    ASSERT(r->queue && i < r->queue->rec.n);
    return r->queue->rec.v[i];
}

const struct step *step_queue_at(const struct jobrec *r, size_t i)
{
    return &queue_at(r, i)->s;
}

const struct step *step_queue_find(const struct jobrec *r, int64_t step_id)
{
    for (size_t i = 0; i < step_queue_count(r); i++)
        if (step_queue_at(r, i)->step_id == step_id)
            return step_queue_at(r, i);
    return NULL;
}

void step_queue_gone(struct jobrec *r, const struct step *s)
{
    ASSERT(s->end_us && s->state != JOB_RUNNING);
    struct step_queue *q = queue_of(r);
    if (s->step_id >= 0)
        idset_add(s->state == JOB_COMPLETED ? &q->gone_well : &q->gone_badly, (uint32_t)s->step_id);
    q->gone.user_us = used_plus(q->gone.user_us, s->cpu_user_us);
    q->gone.system_us = used_plus(q->gone.system_us, s->cpu_system_us);
    q->gone.energy_mj = used_plus(q->gone.energy_mj, s->energy_mj);
}

const struct gone_use *step_queue_gone_use(const struct jobrec *r)
{
    return r->queue ? &r->queue->gone : NULL;
}

/* ---- what steps wait for -------------------------------------------------------------------- */

static bool names_job(const struct step_dependency *d, const struct jobrec *r)
{
    if (d->task_id == NO_TASK)
        return d->job_id == r->j.id;
    return d->job_id == r->j.array_job_id && d->task_id == r->j.array_task_id;
}

static enum dep_status by_end(enum dep_kind kind, bool well)
{
    if (kind == DEP_AFTEROK)
        return well ? DEP_SATISFIED : DEP_FAILED;
    if (kind == DEP_AFTERNOTOK)
        return well ? DEP_FAILED : DEP_SATISFIED;
    return DEP_SATISFIED;
}

static enum dep_status status_of(const struct jobrec *r, const struct step_dependency *d)
{
    const struct steprec *st = step_find(r, d->step_id);
    if (step_queue_find(r, d->step_id))
        return DEP_OPEN;
    if (st && step_live(st))
        return d->kind == DEP_AFTER ? DEP_SATISFIED : DEP_OPEN;
    if (st)
        return by_end(d->kind, st->s.state == JOB_COMPLETED);
    return by_end(d->kind, r->queue && idset_has(&r->queue->gone_well, (uint32_t)d->step_id));
}

bool step_is_of(const struct jobrec *r, int64_t step_id)
{
    return step_find(r, step_id) || step_queue_find(r, step_id);
}

/* The component of the same job that has a step of that number, where this one has none; 0: there
 * is none. */
static uint64_t component_with(const struct core *c, const struct jobrec *r, int64_t step_id)
{
    uint64_t id = 0;
    jobrec_vec jobs = {0};
    if (r->j.het_job_id && !step_is_of(r, step_id))
        components_find(c, r->j.het_job_id, &jobs);
    for (size_t i = 0; i < jobs.n && !id; i++)
        id = step_is_of(jobs.v[i], step_id) ? jobs.v[i]->j.id : 0;
    vec_done(&jobs);
    return id;
}

static enum refusal one_look(const struct core *c, const struct jobrec *r,
                             const struct step_dependency *d, struct str *detail)
{
    unsigned long long job = d->job_id, own = r->j.id;
    unsigned long long other = names_job(d, r) ? component_with(c, r, d->step_id) : 0;
    if (!names_job(d, r)) {
        str_addf(detail,
                 "%llu.%lld is a step of another job; steps wait for steps of theirs, here %llu.N",
                 job, (long long)d->step_id, own);
        return REFUSE_DEPENDENCY;
    }
    if (other) {
        str_addf(detail,
                 "%llu has no step %lld: it is %llu.%lld, and steps wait for steps of theirs", own,
                 (long long)d->step_id, other, (long long)d->step_id);
        return REFUSE_DEPENDENCY;
    }
    if (d->step_id >= r->next_step) {
        str_addf(detail, "job %llu has no step %lld yet", own, (long long)d->step_id);
        return REFUSE_DEPENDENCY;
    }
    enum dep_status status = status_of(r, d);
    if (status == DEP_FAILED)
        str_addf(detail, "its dependency on step %llu.%lld can never be satisfied", own,
                 (long long)d->step_id);
    return status == DEP_FAILED ? REFUSE_DEPENDENCY
           : status == DEP_OPEN ? REFUSE_BUSY
                                : REFUSE_NONE;
}

enum refusal step_dependencies_look(const struct core *c, const struct jobrec *r, const char *text,
                                    struct str *detail)
{
    enum refusal worst = REFUSE_NONE;
    struct step_dependency_list list;
    struct err err = {0};
    if (!step_dependency_is(text))
        return REFUSE_NONE;
    struct arena *a = arena_new();
    if (!step_dependency_parse(text, a, &list, &err)) {
        str_add(detail, err.text);
        arena_free(a);
        return REFUSE_DEPENDENCY;
    }
    for (size_t i = 0; i < list.n && worst != REFUSE_DEPENDENCY; i++) {
        enum refusal refusal = one_look(c, r, &list.v[i], detail);
        worst = refusal ? refusal : worst;
    }
    arena_free(a);
    return worst;
}

/* ---- the records ---------------------------------------------------------------------------- */

const struct queuedrec *queue_find_key(const struct jobrec *r, uint64_t key_hash)
{
    for (size_t i = 0; key_hash && i < step_queue_count(r); i++)
        if (queue_at(r, i)->q.key_hash == key_hash)
            return queue_at(r, i);
    return NULL;
}

static void rec_free(struct core *c, const struct jobrec *r, struct queuedrec *w)
{
    user_room_asked(c, job_payer(&r->j), w->bytes, -1);
    arena_free(w->arena);
    free(w);
}

void step_queue_free(struct core *c, struct jobrec *r)
{
    if (!r->queue)
        return;
    for (size_t i = 0; i < r->queue->rec.n; i++)
        rec_free(c, r, r->queue->rec.v[i]);
    vec_done(&r->queue->rec);
    idset_done(&r->queue->gone_well);
    idset_done(&r->queue->gone_badly);
    free(r->queue);
    r->queue = NULL;
}

size_t step_queue_asked_bytes(const struct jobrec *r)
{
    size_t bytes = 0;
    for (size_t i = 0; i < step_queue_count(r); i++) {
        CHECK(queue_at(r, i)->bytes == record_bytes(&queued_step_fields, &queue_at(r, i)->q));
        bytes += queue_at(r, i)->bytes;
    }
    return bytes;
}

struct queuedrec *queue_add(struct core *c, struct jobrec *r, const struct queued_step *q)
{
    ASSERT(q->job_id == r->j.id && q->step_id >= 0);
    struct queuedrec *w = xcalloc(1, sizeof *w);
    w->arena = arena_new();
    record_copy(&queued_step_fields, &w->q, q, w->arena);
    w->bytes = record_bytes(&queued_step_fields, &w->q);
    user_room_asked(c, job_payer(&r->j), w->bytes, +1);
    w->s = (struct step){.job_id = q->job_id,
                         .attempt = q->attempt,
                         .step_id = q->step_id,
                         .state = JOB_PENDING,
                         .step_name = w->q.spec.name ? w->q.spec.name : "srun",
                         .submit_line = w->q.spec.submit_line,
                         .ntasks = w->q.spec.req.ntasks,
                         .detached = true,
                         .key_hash = q->key_hash};
    vec_push(&queue_of(r)->rec, w);
    return w;
}

struct msg_create_step queue_asked(struct queued_step *q)
{
    return (struct msg_create_step){.job_id = q->job_id,
                                    .spec = {&q->spec, 1},
                                    .exact = q->exact,
                                    .overlap = q->overlap,
                                    .no_kill = q->goes_on,
                                    .no_rendezvous = q->no_rendezvous,
                                    .relative_plus1 = q->relative_plus1,
                                    .task_nodes = q->task_nodes,
                                    .async = true,
                                    .tasks = q->tasks};
}

void step_queue_load(struct core *c, const struct queued_step *row)
{
    struct jobrec *r = job_find(c, row->job_id);
    struct steprec *st = r ? step_find(r, row->step_id) : NULL;
    if (!r || r->j.attempt != row->attempt || (st && !step_live(st)))
        return;
    if (!st) {
        queue_add(c, r, row);
        return;
    }
    struct queued_step q = *row;
    struct msg_create_step m = queue_asked(&q);
    if (!st->arena)
        st->arena = arena_new();
    struct msg_create_step *asked = arena_alloc(st->arena, sizeof *asked);
    record_copy(&msg_create_step_fields, asked, &m, st->arena);
    step_asked_keep(c, r, st, asked);
}

/* Is what it came with stored? */
static bool is_queued(const struct steprec *st)
{
    return st->s.detached && st->asked && st->asked->async;
}

static void row_remove(struct core *c, const struct steprec *st)
{
    struct queued_step key = {
        .job_id = st->s.job_id, .attempt = st->s.attempt, .step_id = st->s.step_id};
    fx_remove(c, TABLE_QUEUED_STEP, &key);
}

void step_queue_begun(struct core *c, struct steprec *st)
{
    bool all = is_queued(st);
    for (size_t i = 0; all && i < st->part.n; i++)
        all = st->part.v[i].over || (st->part.v[i].seen && !st->part.v[i].unbegun);
    if (!all)
        return;
    row_remove(c, st);
    st->asked->async = false;
}

bool step_queue_may_begin(const struct steprec *st)
{
    return st->asked && (!st->s.detached || st->asked->async);
}

void step_queue_over(struct core *c, const struct steprec *st)
{
    if (is_queued(st))
        row_remove(c, st);
}

void queue_take_out(struct core *c, struct jobrec *r, size_t i)
{
    struct queuedrec *w = queue_at(r, i);
    vec_remove(&r->queue->rec, i);
    rec_free(c, r, w);
}

void queue_end(struct core *c, struct jobrec *r, size_t i)
{
    ASSERT(r->queue && i < r->queue->rec.n && queue_at(r, i)->s.state == JOB_PENDING);
    struct queuedrec *w = queue_at(r, i);
    w->s.state = JOB_CANCELLED;
    w->s.end_us = c->turn.now_us;
    fx_store(c, TABLE_STEP, &w->s);
    fx_remove(c, TABLE_QUEUED_STEP, &w->q);
    step_queue_gone(r, &w->s);
    queue_take_out(c, r, i);
}

void step_queue_drop(struct core *c, struct jobrec *r)
{
    while (step_queue_count(r))
        queue_end(c, r, 0);
}

bool step_queue_cancel(struct core *c, struct jobrec *r, int64_t step_id)
{
    for (size_t i = 0; i < step_queue_count(r); i++)
        if (step_queue_at(r, i)->step_id == step_id) {
            queue_end(c, r, i);
            steps_retry_soon(c, r);
            return true;
        }
    return false;
}

void step_queue_check(const struct jobrec *r)
{
    CHECK(!step_queue_count(r) || r->j.state == JOB_RUNNING || r->j.state == JOB_SUSPENDED);
    for (size_t i = 0; i < step_queue_count(r); i++) {
        const struct step *s = step_queue_at(r, i);
        CHECK(s->job_id == r->j.id && s->attempt == r->j.attempt && s->step_id < r->next_step);
        CHECK(!step_find(r, s->step_id) && step_queue_find(r, s->step_id) == s);
    }
}
