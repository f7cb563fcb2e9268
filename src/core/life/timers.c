/* One heap of due times. An entry is looked at when it is due and may be out of date: what is to be done is decided from the job, and the job is armed anew. Entries of jobs
 * that ended long before their limit would gather for days: when most of the heap is out of date it is made anew. */
#include "core/inside.h"

#define HEAP_SLACK 1024         /* entries that may be out of date in any case */
#define AGAIN_US   USEC_PER_SEC /* before a job that fired in vain fires again */

static bool current(const struct core *c, const struct alarm *a)
{
    const struct jobrec *r = a->job_id ? job_find(c, a->job_id) : NULL;
    return a->job_id ? r && r->timer_us == a->at_us : c->node.v[a->node]->alarm_us == a->at_us;
}

static void heap_sink(struct core *c, size_t i, struct alarm a)
{
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= c->heap.n)
            break;
        if (child + 1 < c->heap.n && c->heap.v[child + 1].at_us < c->heap.v[child].at_us)
            child++;
        if (c->heap.v[child].at_us >= a.at_us)
            break;
        c->heap.v[i] = c->heap.v[child];
        i = child;
    }
    c->heap.v[i] = a;
}

static void heap_clean(struct core *c)
{
    size_t kept = 0;
    for (size_t i = 0; i < c->heap.n; i++)
        if (current(c, &c->heap.v[i]))
            c->heap.v[kept++] = c->heap.v[i];
    c->heap.n = kept;
    for (size_t i = kept / 2; i-- > 0;)
        heap_sink(c, i, c->heap.v[i]);
}

static void heap_push(struct core *c, struct alarm a)
{
    if (c->heap.n > HEAP_SLACK + 3 * (map_u64_count(c->job) + c->node.n))
        heap_clean(c);
    vec_push(&c->heap, a);
    size_t i = c->heap.n - 1;
    while (i > 0 && c->heap.v[(i - 1) / 2].at_us > a.at_us) {
        c->heap.v[i] = c->heap.v[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    c->heap.v[i] = a;
}

static struct alarm heap_pop(struct core *c)
{
    struct alarm top = c->heap.v[0], last = c->heap.v[--c->heap.n];
    if (c->heap.n)
        heap_sink(c, 0, last);
    return top;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t job_limit_end(const struct core *c, const struct jobrec *r)
{
    (void)c;
    if (!r->j.limit_us || r->j.limit_us == TIME_UNLIMITED)
        return INT64_MAX;
    int64_t end = time_add(time_add(r->j.start_us, r->j.limit_us), r->j.suspended_us);
    return r->j.state == JOB_SUSPENDED ? INT64_MAX : end;
}

int64_t job_over_time(const struct core *c, const struct jobrec *r)
{
    const struct partrec *p = r->j.run_partition ? part_find(c, r->j.run_partition) : NULL;
    return p && p->p.over_time_limit_us ? p->p.over_time_limit_us : c->settings.over_time_limit_us;
}

static int64_t kill_time(const struct core *c, const struct jobrec *r)
{
    int64_t end = job_limit_end(c, r), extra = job_over_time(c, r), with = resv_job_end(c, r);
    if (end == INT64_MAX || extra == TIME_UNLIMITED)
        return with;
    return least(time_add(end, extra), with);
}

struct limit_mail {
    uint32_t type;
    int64_t percent;
};
static const struct limit_mail limit_mails[] = {
    {MAIL_TIME_LIMIT_50, 50}, {MAIL_TIME_LIMIT_80, 80}, {MAIL_TIME_LIMIT_90, 90}};

static int64_t mail_time(const struct core *c, const struct jobrec *r, const struct limit_mail *m)
{
    int64_t end = job_limit_end(c, r);
    if (end == INT64_MAX || !(r->j.spec.mail_types & m->type) || (r->mailed & m->type))
        return INT64_MAX;
    return end - r->j.limit_us / 100 * (100 - m->percent);
}

static int64_t signal_time(const struct core *c, const struct jobrec *r)
{
    int64_t end = job_limit_end(c, r);
    if (!r->j.spec.signal || r->warned || end == INT64_MAX)
        return INT64_MAX;
    return end - r->j.spec.signal_before_us;
}

/* Of a job that only says when it must be over, whatever time is left until then is its limit; a minute is the least. */
void deadline_shortest(struct job_spec *spec)
{
    if (spec->deadline_us && !spec->req.time_limit_us && !spec->req.time_min_us)
        spec->req.time_min_us = USEC_PER_MIN;
}

/* A job that starts later cannot end by its deadline. */
static int64_t latest_start(const struct jobrec *r)
{
    const struct job_request *req = &r->j.spec.req;
    int64_t shortest = req->time_min_us ? req->time_min_us : req->time_limit_us;
    return r->j.spec.deadline_us - (shortest == TIME_UNLIMITED ? 0 : shortest);
}

static int64_t running_due(const struct core *c, const struct jobrec *r)
{
    int64_t due = least(kill_time(c, r), signal_time(c, r));
    if (r->j.spec.deadline_us)
        due = least(due, r->j.spec.deadline_us);
    if (r->j.preempt_us)
        due = least(due, r->j.preempt_end_us);
    for (size_t i = 0; i < ARRAY_LEN(limit_mails); i++)
        due = least(due, mail_time(c, r, &limit_mails[i]));
    return due;
}

static int64_t pending_due(const struct core *c, const struct jobrec *r)
{
    int64_t due = INT64_MAX;
    if (r->j.spec.begin_us > c->now_us)
        due = r->j.spec.begin_us;
    if (r->j.spec.deadline_us) {
        int64_t too_late = latest_start(r) + 1;
        due = least(due, too_late > c->now_us ? too_late : c->now_us);
    }
    return least(due, dependencies_due(c, r));
}

static int64_t job_due(const struct core *c, const struct jobrec *r)
{
    int64_t gone = allocation_due(c, r);
    if (r->j.state == JOB_PENDING)
        return least(gone, pending_due(c, r));
    if (r->j.state == JOB_RUNNING)
        return least(least(gone, steps_due(c, r)), running_due(c, r));
    if (r->j.state == JOB_SUSPENDED)
        return gone;
    if (job_state_over((enum job_state)r->j.state))
        return time_add(r->j.end_us, c->settings.min_job_age_us);
    return INT64_MAX;
}

static void timer_arm_at(struct core *c, struct jobrec *r, int64_t due)
{
    if (due == INT64_MAX || due == r->timer_us)
        return;
    r->timer_us = due;
    heap_push(c, (struct alarm){.at_us = due, .job_id = r->j.id});
}

void timer_arm(struct core *c, struct jobrec *r)
{
    timer_arm_at(c, r, job_due(c, r));
}

/* Whatever made it due was done by firing. Should it be due at once again, that changes nothing: it is looked at later, so that no job can hold the clock. */
static void timer_arm_again(struct core *c, struct jobrec *r)
{
    int64_t due = job_due(c, r);
    timer_arm_at(c, r, due <= c->now_us ? time_add(c->now_us, AGAIN_US) : due);
}

void node_timer_arm(struct core *c, struct noderec *n, int64_t at_us)
{
    if (n->alarm_us)
        return;
    n->alarm_us = at_us;
    heap_push(c, (struct alarm){.at_us = at_us, .node = n->index});
}

void timers_anew(struct core *c)
{
    struct map_walk w = {0};
    vec_clear(&c->heap);
    for (size_t i = 0; i < c->node.n; i++)
        if (c->node.v[i]->alarm_us)
            heap_push(c, (struct alarm){.at_us = c->node.v[i]->alarm_us, .node = c->node.v[i]->index});
    while (map_u64_next(c->job, &w)) {
        struct jobrec *r = w.value;
        r->timer_us = 0;
        timer_arm(c, r);
    }
}

int64_t timers_due(const struct core *c)
{
    return c->heap.n ? c->heap.v[0].at_us : INT64_MAX;
}

void job_warn(struct core *c, struct jobrec *r)
{
    struct msg_signal m = {.job_id = r->j.id,
                           .attempt = r->j.attempt,
                           .signal = r->j.spec.signal,
                           .batch = r->j.spec.signal_batch};
    r->warned = true;
    for (size_t i = 0; i < r->hold.n; i++) {
        struct noderec *n = c->node.v[r->hold.v[i].node];
        if (n->conn && !r->hold.v[i].released)
            fx_send(c, n->conn, MSG_SIGNAL, &m, 0);
    }
}

static void running_fire(struct core *c, struct jobrec *r)
{
    steps_fire(c, r);
    if (signal_time(c, r) <= c->now_us)
        job_warn(c, r);
    for (size_t i = 0; i < ARRAY_LEN(limit_mails); i++)
        if (mail_time(c, r, &limit_mails[i]) <= c->now_us) {
            r->mailed |= limit_mails[i].type;
            mail_job(c, r, limit_mails[i].type);
        }
    if (r->j.spec.deadline_us && r->j.spec.deadline_us <= c->now_us) {
        job_end(c, r, JOB_DEADLINE, REASON_DEADLINE, c->settings.kill_wait_us, "DUE TO DEADLINE");
    } else if (kill_time(c, r) <= c->now_us) {
        mail_job(c, r, MAIL_TIME_LIMIT);
        job_end(c, r, JOB_TIMEOUT, REASON_TIME_LIMIT, c->settings.kill_wait_us, "DUE TO TIME LIMIT");
    } else if (r->j.preempt_us && r->j.preempt_end_us <= c->now_us) {
        preempt_end(c, r);
    }
}

/* A waiting job that can no longer end by its deadline is cancelled. */
static void pending_fire(struct core *c, struct jobrec *r)
{
    if (r->j.spec.deadline_us && latest_start(r) < c->now_us)
        job_over(c, r, JOB_DEADLINE, REASON_DEADLINE);
    else
        eligible_update(c, r);
}

/* An array's record stays until the last of its elements may go. */
static bool may_forget(const struct core *c, const struct jobrec *r)
{
    if (!job_state_over((enum job_state)r->j.state) ||
        time_add(r->j.end_us, c->settings.min_job_age_us) > c->now_us)
        return false;
    const struct id_list *list = map_u64_get(c->dependents, r->j.array_job_id ? r->j.array_job_id : r->j.id);
    for (size_t i = 0; list && i < list->id.n; i++) {
        const struct jobrec *other = job_find(c, list->id.v[i]);
        if (other && other->j.state == JOB_PENDING)
            return false;
    }
    return true;
}

static void job_fire(struct core *c, struct jobrec *r)
{
    /* Who waits for it must have seen its end before it is forgotten, even if both come in one wake. */
    if (!job_live(r))
        dependents_run(c);
    if (allocation_due(c, r) <= c->now_us)
        allocation_abandon(c, r);
    else if (r->j.state == JOB_PENDING)
        pending_fire(c, r);
    else if (r->j.state == JOB_RUNNING)
        running_fire(c, r);
    else if (may_forget(c, r)) {
        job_forget(c, r);
        return;
    } else if (job_state_over((enum job_state)r->j.state)) {
        /* Somebody still waits for it: look again later. */
        r->timer_us = time_add(c->now_us, time_add(c->settings.min_job_age_us, USEC_PER_SEC));
        heap_push(c, (struct alarm){.at_us = r->timer_us, .job_id = r->j.id});
        return;
    }
    timer_arm_again(c, r);
}

void timers_fire(struct core *c)
{
    while (c->heap.n && c->heap.v[0].at_us <= c->now_us) {
        struct alarm a = heap_pop(c);
        if (!current(c, &a))
            continue;
        if (!a.job_id) {
            node_alarm(c, c->node.v[a.node]);
            continue;
        }
        struct jobrec *r = job_find(c, a.job_id);
        r->timer_us = 0;
        job_fire(c, r);
    }
}
