/* A pass of the planner and what follows from it: jobs start, victims give way. Persist before you
 * speak: the record is stored in the turn that sends the launch. */
#include "core/life/life.h"
#include "core/record/accounts/limits.h"
#include "core/record/accounts/minutes.h"

#define FORECAST_MOST 400000 /* entries looked at in a wake: two milliseconds */

static void start_one(struct core *c, const struct plan_start *s)
{
    ASSERT(s->alloc.n > 0 && s->partition && s->limit_us >= 0);
    struct jobrec *r = job_find(c, s->job_id);
    uint32_t task;
    CHECK(r && r->j.state == JOB_PENDING);
    ASSERT(array_room(array_of(c, r->j.array_job_id), r->j.array_limit) > 0);
    if (job_is_array(r)) {
        CHECK(idset_first(&r->pending, &task));
        forget_for_room(c, r->j.user_id);
        r = array_split(c, r, task);
    }
    planner_leave(c, r);
    struct str alloc = STR_INIT;
    alloc_format(&s->alloc, &alloc);
    text_set(c, &r->j.alloc, str_text(&alloc));
    str_done(&alloc);
    alloc_sums(c, r, &s->alloc);
    text_set(c, &r->j.run_partition, s->partition);
    r->j.limit_us = s->limit_us;
    c->diag.jobs_started++;
    c->diag.backfilled += s->backfilled;
    c->diag.backfilled_ever += s->backfilled;
    r->j.priority = s->priority ? s->priority : 1;
    r->j.start_us = c->turn.now_us;
    r->j.end_us = 0;
    r->j.suspend_us = 0;
    r->j.suspended_us = 0;
    r->j.stopped_us = 0;
    preempt_clear(r);
    r->charged_us = 0;
    restored_number(r);
    r->j.attempt++;
    r->j.exit_status = 0;
    r->j.oom = false;
    r->j.reason = REASON_NONE;
    r->j.planned_us = 0;
    text_set(c, &r->j.planned_nodes, NULL);
    text_set(c, &r->j.reason_detail, NULL);
    r->started = r->script_ended = r->warned = false;
    r->mailed = 0;
    /* The record first, then the planner's copy of it, which is told until when and where; then
     * what counts what runs. */
    holds_add(c, r, &s->alloc);
    job_move(c, r, JOB_RUNNING);
    int64_t end = job_limit_end(c, r);
    cluster_start(c->cluster, r->j.id, &r->j.spec.req, r->j.user_id, s->partition, &s->alloc,
                  c->turn.now_us, end == INT64_MAX ? TIME_UNLIMITED : end);
    text_set(c, &r->j.run_reservation, s->reservation);
    c->planning.refit |= s->reservation != NULL;
    cluster_run_inside(c->cluster, r->j.id, s->reservation);
    cluster_run_het(c->cluster, r->j.id, r->j.het_job_id);
    limits_running(c, r);
    job_save(c, r);
    launch_when_whole(c, r);
    allocation_announce(c, r);
    mail_job(c, r, MAIL_BEGIN);
    dependents_wake(c, r);
}

/* Limits in minutes are asked once more, with all components of a heterogeneous job at once. */
static bool may_start(struct core *c, size_t at)
{
    const struct jobrec *r = job_find(c, c->plan->start[at].job_id);
    VEC(struct minutes_start) all = {0};
    /* Asked of the first component in the plan, for all behind it: none may start while another may
     * not. */
    for (size_t i = at; i < c->plan->nstarts; i++) {
        struct jobrec *other = job_find(c, c->plan->start[i].job_id);
        if (i == at || (other && r->j.het_job_id && other->j.het_job_id == r->j.het_job_id))
            vec_push(&all, ((struct minutes_start){other, &c->plan->start[i]}));
    }
    bool may = minutes_start(c, all.v, all.n);
    vec_done(&all);
    return may;
}

/* Those that may not start after all are looked at by what they would have got. True: elements that
 * wait as records of their own were planned with others into the last places of their array; what
 * these left free is to be planned. */
static bool starts_take(struct core *c)
{
    VEC(uint64_t) kept = {0};
    bool left = false;
    for (size_t i = 0; i < c->plan->nstarts; i++) {
        const struct jobrec *r = job_find(c, c->plan->start[i].job_id);
        if (!array_room(array_of(c, r->j.array_job_id), r->j.array_limit)) {
            left = true;
            continue;
        }
        bool leader_kept = false, component = false;
        for (size_t k = 0; k < i && r->j.het_job_id; k++) {
            const struct jobrec *other = job_find(c, c->plan->start[k].job_id);
            component |= other && other->j.het_job_id == r->j.het_job_id;
        }
        for (size_t k = 0; k < kept.n && r->j.het_job_id; k++)
            leader_kept |= kept.v[k] == r->j.het_job_id;
        if (leader_kept || (!component && !may_start(c, i)))
            vec_push(&kept, r->j.het_job_id ? r->j.het_job_id : r->j.id);
        else
            start_one(c, &c->plan->start[i]);
    }
    if (kept.n)
        minutes_kept(c);
    vec_done(&kept);
    return left;
}

void firsts_store(struct core *c)
{
    struct str firsts = STR_INIT;
    cluster_firsts_tell(c->cluster, &firsts);
    if (!text_is(c->jobs.firsts ? c->jobs.firsts : "", str_text(&firsts))) {
        fx_store(c, TABLE_META, &(struct meta){.key = "heads", .value = str_text(&firsts)});
        free(c->jobs.firsts);
        c->jobs.firsts = xstrdup(str_text(&firsts));
    }
    str_done(&firsts);
}

void starts_apply(struct core *c)
{
    struct budget budget = {.forecast_most = c->planning.foresees ? FORECAST_MOST : 0};
    c->planning.needed = false;
    c->planning.due_us = 0;
    /* What starts must be stored before its launch leaves: without a store nothing is planned. */
    if (c->store.away)
        return;
    sched_plan(c->cluster, c->turn.now_us, &budget, c->plan);
    c->planning.passes++;
    c->planning.considered = c->plan->considered;
    c->diag.plans++;
    c->diag.plan_at_us = c->turn.now_us;
    c->diag.considered_sum += c->planning.considered;
    c->planning.due_us = c->plan->next_us;
    firsts_store(c);
    bool left = starts_take(c);
    preempts_apply(c);
    /* Starting changed the waiting list in the way the plan already knows. */
    c->planning.needed = left || c->plan->npreempts > 0 || c->plan->nresumes > 0;
    gang_turn(c, false);
}

/* ---- what is foreseen elsewhere ---- */

#define FORESEEN_PART 2000 /* jobs and nodes of jobs: less than a millisecond */

bool core_foresee_due(const struct core *c)
{
    return c->plan->foresee;
}

void core_foresee(const struct core *c, int64_t now_us, struct str *out)
{
    plan_foresee(c->cluster, now_us, out);
}

void foreseen_adopt(struct core *c, struct foreseen *f)
{
    plan_foreseen(c->plan, c->cluster, f, FORESEEN_PART);
    if (!f->more)
        plan_soon(c); /* promises are made anew, and the next forecast has its time */
}
