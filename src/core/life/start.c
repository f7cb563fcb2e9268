/* A pass of the planner and what follows from it: jobs start, victims give way. Persist before you speak: the record is stored in the turn that sends the launch. */
#include "core/inside.h"

static void alloc_sums(struct core *c, struct jobrec *r, const struct alloc *al)
{
    struct str nodes = STR_INIT, gres = STR_INIT;
    struct hostlist names = HOSTLIST_INIT;
    r->j.alloc_nodes = (int32_t)al->n;
    r->j.alloc_cpus = 0;
    r->j.alloc_mem_mib = 0;
    r->j.alloc_tasks = 0;
    for (size_t i = 0; i < al->n; i++) {
        hostlist_add(&names, al->node[i].node);
        r->j.alloc_cpus += al->node[i].cpu_count;
        r->j.alloc_mem_mib += al->node[i].mem_mib;
        r->j.alloc_tasks += al->node[i].tasks;
    }
    hostlist_fold(&names, &nodes);
    text_set(c, &r->j.nodes, str_text(&nodes));
    text_set(c, &r->j.batch_host, al->n ? al->node[0].node : NULL);
    alloc_gres_text(al, &gres);
    text_set(c, &r->j.alloc_gres, str_text(&gres));
    hostlist_done(&names);
    str_done(&nodes);
    str_done(&gres);
}

static void holds_take(struct core *c, struct jobrec *r, const struct alloc *al)
{
    vec_clear(&r->hold);
    for (size_t i = 0; i < al->n; i++) {
        struct noderec *n = node_find(c, al->node[i].node);
        CHECK(n);
        struct hold hold = {.node = node_index(c, n)};
        vec_push(&r->hold, hold);
        node_job_add(c, hold.node, r->j.id);
    }
}

void alloc_shrink(struct core *c, struct jobrec *r)
{
    struct arena *a = arena_new();
    struct alloc al = {0};
    size_t kept = 0;
    if (alloc_parse(r->j.alloc, a, &al, NULL)) {
        struct str text = STR_INIT;
        for (size_t i = 0; i < al.n; i++) {
            const struct noderec *n = node_find(c, al.node[i].node);
            const struct hold *h = n ? hold_find(r, n->index) : NULL;
            if (!h || !h->leaving)
                al.node[kept++] = al.node[i];
        }
        al.n = kept;
        alloc_format(&al, &text);
        text_set(c, &r->j.alloc, str_text(&text));
        alloc_sums(c, r, &al);
        str_done(&text);
    }
    arena_free(a);
}

void launch_send(struct core *c, struct jobrec *r)
{
    struct noderec *n = node_find(c, r->j.batch_host);
    struct msg_launch m = {.step_id = STEP_BATCH};
    if (!job_has_script(r))
        return;
    launch_jobs(c, r, &m);
    if (r->hold.n)
        r->hold.v[0].told = true;
    if (n && n->conn)
        fx_send(c, n->conn, MSG_LAUNCH, &m, r->j.array_job_id ? r->j.array_job_id : r->j.id);
}

static void start_one(struct core *c, const struct plan_start *s)
{
    struct jobrec *r = job_find(c, s->job_id);
    uint32_t task;
    CHECK(r && r->j.state == JOB_PENDING);
    if (job_is_array(r)) {
        CHECK(idset_first(&r->pending, &task));
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
    r->j.start_us = c->now_us;
    r->j.end_us = 0;
    r->j.suspend_us = 0;
    r->j.suspended_us = 0;
    preempt_clear(r);
    r->charged_us = 0;
    r->j.attempt++;
    r->j.exit_status = 0;
    r->j.oom = false;
    r->j.reason = REASON_NONE;
    r->j.planned_us = 0;
    text_set(c, &r->j.planned_nodes, NULL);
    text_set(c, &r->j.reason_detail, NULL);
    r->started = r->script_ended = r->warned = false;
    r->mailed = 0;
    holds_take(c, r, &s->alloc);
    job_move(c, r, JOB_RUNNING);
    int64_t end = job_limit_end(c, r);
    cluster_start(c->cluster, r->j.id, &r->j.spec.req, r->j.user_id, s->partition, &s->alloc, c->now_us,
                  end == INT64_MAX ? TIME_UNLIMITED : end);
    text_set(c, &r->j.run_reservation, s->reservation);
    c->resv_refit |= s->reservation != NULL;
    cluster_run_inside(c->cluster, r->j.id, s->reservation);
    job_save(c, r);
    launch_when_whole(c, r);
    allocation_announce(c, r);
    mail_job(c, r, MAIL_BEGIN);
    dependents_wake(c, r);
}

void starts_apply(struct core *c)
{
    struct budget budget = {0};
    c->plan_needed = false;
    c->plan_due_us = 0;
    if (c->store_away)
        return;
    sched_plan(c->cluster, c->now_us, &budget, c->plan);
    c->plans++;
    c->considered = c->plan->considered;
    c->diag.plans++;
    c->diag.plan_at_us = c->now_us;
    c->diag.considered_sum += c->considered;
    c->plan_due_us = c->plan->next_us;
    for (size_t i = 0; i < c->plan->nstarts; i++)
        start_one(c, &c->plan->start[i]);
    preempts_apply(c);
    /* Starting changed the waiting list in the way the plan already knows. */
    c->plan_needed = c->plan->npreempts > 0 || c->plan->nresumes > 0;
    gang_turn(c, false);
}
