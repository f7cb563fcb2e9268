/* When something is due: of each job, from what its record says, and one heap of due times. An
 * entry is looked at when it is due and may be out of date: what is to be done is decided from the
 * job (timers.c), and the job is armed anew. Entries of jobs that ended long before their limit
 * would gather for days: when most of the heap is out of date it is made anew. */
#include "core/record/record.h"
#include "core/record/triggers/triggers.h"

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
        if (child >= c->timers.heap.n)
            break;
        if (child + 1 < c->timers.heap.n &&
            c->timers.heap.v[child + 1].at_us < c->timers.heap.v[child].at_us)
            child++;
        if (c->timers.heap.v[child].at_us >= a.at_us)
            break;
        c->timers.heap.v[i] = c->timers.heap.v[child];
        i = child;
    }
    c->timers.heap.v[i] = a;
}

static void heap_clean(struct core *c)
{
    size_t kept = 0;
    for (size_t i = 0; i < c->timers.heap.n; i++)
        if (current(c, &c->timers.heap.v[i]))
            c->timers.heap.v[kept++] = c->timers.heap.v[i];
    c->timers.heap.n = kept;
    for (size_t i = kept / 2; i-- > 0;)
        heap_sink(c, i, c->timers.heap.v[i]);
}

static void heap_push(struct core *c, struct alarm a)
{
    if (c->timers.heap.n > HEAP_SLACK + 3 * (map_u64_count(c->jobs.by_id) + c->node.n))
        heap_clean(c);
    vec_push(&c->timers.heap, a);
    size_t i = c->timers.heap.n - 1;
    while (i > 0 && c->timers.heap.v[(i - 1) / 2].at_us > a.at_us) {
        c->timers.heap.v[i] = c->timers.heap.v[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    c->timers.heap.v[i] = a;
}

static struct alarm heap_pop(struct core *c)
{
    ASSERT(c->timers.heap.n > 0);
    struct alarm top = c->timers.heap.v[0], last = c->timers.heap.v[--c->timers.heap.n];
    if (c->timers.heap.n)
        heap_sink(c, 0, last);
    return top;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t due_kill(const struct core *c, const struct jobrec *r)
{
    ASSERT(r->j.start_us);
    int64_t end = job_limit_end(c, r), extra = job_over_time(c, r), with = resv_job_end(c, r);
    if (end == INT64_MAX || extra == TIME_UNLIMITED)
        return with;
    return least(time_add(end, extra), with);
}

const struct limit_mail limit_mails[LIMIT_MAILS] = {
    {MAIL_TIME_LIMIT_50, 50}, {MAIL_TIME_LIMIT_80, 80}, {MAIL_TIME_LIMIT_90, 90}};

int64_t due_mail(const struct jobrec *r, const struct limit_mail *m)
{
    ASSERT(m >= limit_mails && m < limit_mails + LIMIT_MAILS);
    int64_t end = job_run_end(r);
    if (end == INT64_MAX || !(r->j.spec.mail_types & m->type) || (r->mailed & m->type))
        return INT64_MAX;
    return end - r->j.limit_us / 100 * (100 - m->percent);
}

#define SIGNAL_AFTER_START (10 * USEC_PER_SEC)

/* A signal that is to come as long before the limit as the job may run, or longer, finds a program
 * that can hear it: it has some seconds to say what is to be done then. */
int64_t job_warning_at(const struct jobrec *r)
{
    int64_t end = job_run_end(r), start = r->j.start_us;
    if (!r->j.spec.signal || end == INT64_MAX)
        return INT64_MAX;
    int64_t ready = time_add(start, least(SIGNAL_AFTER_START, (end - start) / 10));
    int64_t before = end - r->j.spec.signal_before_us;
    return before > ready ? before : ready;
}

int64_t due_signal(const struct jobrec *r)
{
    return r->warned ? INT64_MAX : job_warning_at(r);
}

/* Of a job that only says when it must be over, whatever time is left until then is its limit; a
 * minute is the least. */
void deadline_shortest(struct job_spec *spec)
{
    if (spec->deadline_us && !spec->req.time_limit_us && !spec->req.time_min_us)
        spec->req.time_min_us = USEC_PER_MIN;
}

/* A job that starts later cannot end by its deadline. */
int64_t due_latest_start(const struct jobrec *r)
{
    ASSERT(r->j.spec.deadline_us);
    const struct job_request *req = &r->j.spec.req;
    int64_t shortest = req->time_min_us ? req->time_min_us : req->time_limit_us;
    return r->j.spec.deadline_us - (shortest == TIME_UNLIMITED ? 0 : shortest);
}

int64_t step_limit_end(const struct core *c, const struct jobrec *r, const struct steprec *st)
{
    ASSERT(st->s.job_id == r->j.id);
    int64_t extra = job_over_time(c, r);
    if (!st->s.limit_us || st->s.step_id == STEP_BATCH || extra == TIME_UNLIMITED)
        return INT64_MAX;
    return time_add(time_add(st->s.start_us, st->s.limit_us),
                    time_add(extra, r->j.suspended_us - st->s.suspended_before_us));
}

int64_t step_grace_end(const struct core *c, const struct steprec *st)
{
    return grace_end(c, st->s.lonely_us);
}

int64_t steps_due(const struct core *c, const struct jobrec *r)
{
    int64_t due = INT64_MAX;
    for (size_t i = 0; i < r->step.n; i++) {
        const struct steprec *st = r->step.v[i];
        if (!step_live(st) || st->ending)
            continue;
        int64_t limit = step_limit_end(c, r, st), grace = step_grace_end(c, st);
        due = limit < due ? limit : due;
        due = grace < due ? grace : due;
    }
    return due;
}

static int64_t running_due(const struct core *c, const struct jobrec *r)
{
    int64_t due = least(due_kill(c, r), due_signal(r));
    if (r->j.spec.deadline_us)
        due = least(due, r->j.spec.deadline_us);
    if (r->j.preempt_us)
        due = least(due, r->j.preempt_end_us);
    for (size_t i = 0; i < LIMIT_MAILS; i++)
        due = least(due, due_mail(r, &limit_mails[i]));
    return least(due, due_trigger(c, r));
}

static int64_t pending_due(const struct core *c, const struct jobrec *r)
{
    int64_t due = INT64_MAX;
    if (r->j.spec.begin_us > c->turn.now_us)
        due = r->j.spec.begin_us;
    if (r->j.spec.deadline_us) {
        int64_t too_late = due_latest_start(r) + 1;
        due = least(due, too_late > c->turn.now_us ? too_late : c->turn.now_us);
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

/* Whatever made it due was done by firing. Should it be due at once again, that changes nothing: it
 * is looked at later, so that no job can hold the clock. */
void timer_arm_again(struct core *c, struct jobrec *r)
{
    int64_t due = job_due(c, r);
    timer_arm_at(c, r, due <= c->turn.now_us ? time_add(c->turn.now_us, AGAIN_US) : due);
}

void node_timer_arm(struct core *c, struct noderec *n, int64_t at_us)
{
    ASSERT(at_us > 0 && c->node.v[n->index] == n);
    if (n->alarm_us)
        return;
    n->alarm_us = at_us;
    heap_push(c, (struct alarm){.at_us = at_us, .node = n->index});
}

void timers_anew(struct core *c)
{
    struct map_walk w = {0};
    vec_clear(&c->timers.heap);
    for (size_t i = 0; i < c->node.n; i++)
        if (c->node.v[i]->alarm_us)
            heap_push(c,
                      (struct alarm){.at_us = c->node.v[i]->alarm_us, .node = c->node.v[i]->index});
    while (map_u64_next(c->jobs.by_id, &w)) {
        struct jobrec *r = w.value;
        r->timer_us = 0;
        timer_arm(c, r);
    }
}

int64_t timers_due(const struct core *c)
{
    return c->timers.heap.n ? c->timers.heap.v[0].at_us : INT64_MAX;
}

bool timer_next(struct core *c, struct alarm *ret)
{
    while (c->timers.heap.n && c->timers.heap.v[0].at_us <= c->turn.now_us) {
        *ret = heap_pop(c);
        if (current(c, ret))
            return true;
    }
    return false;
}

void timer_arm_later(struct core *c, struct jobrec *r)
{
    r->timer_us = time_add(c->turn.now_us, time_add(c->settings.min_job_age_us, USEC_PER_SEC));
    heap_push(c, (struct alarm){.at_us = r->timer_us, .job_id = r->j.id});
}
