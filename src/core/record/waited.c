/* What a job waited for, kept in its record as seconds by cause: "Resources=12,Priority=3". Time is
 * counted when the cause changes and when the wait ends, never by walking jobs: for what the
 * machine itself knows (holds, dependencies, begin times, array limits) at the event that changes
 * it, for what the planner knows from its logs (sched/pass/waited.c). How far it is counted follows
 * from the sum, so that it survives a restart; the time across a restart goes to what is found
 * after it, once nodes had time to come back. */
#include "sched/pass/waited.h"
#include "core/record/record.h"
#include "model/job/waits.h"

#include <stdio.h>

static void text_read(const char *text, struct waited *ret)
{
    struct span rest = span_of(text), cause;
    int64_t seconds;
    char word[64];
    int32_t reason;
    while (waits_next(&rest, &cause, &seconds)) {
        snprintf(word, sizeof word, "%.*s", (int)cause.len, cause.data);
        if (enum_value(&job_reason_names, word, &reason))
            ret->us[reason] += seconds * USEC_PER_SEC;
    }
}

static void text_write(const struct waited *w, struct str *out)
{
    for (int r = 0; r < REASON_COUNT; r++)
        if (w->us[r] >= USEC_PER_SEC)
            waits_add(out, enum_name(&job_reason_names, r), w->us[r] / USEC_PER_SEC);
}

static int64_t total(const struct waited *w)
{
    int64_t us = 0;
    for (int r = 0; r < REASON_COUNT; r++)
        us += w->us[r] / USEC_PER_SEC * USEC_PER_SEC;
    return us;
}

/* When the wait at hand began: that of a requeued job, when it came back. */
static int64_t wait_began(const struct jobrec *r)
{
    bool older = r->j.restarts && !r->j.first_submit_us; /* of a release that kept submit_us */
    return r->back_us ? r->back_us : older ? r->j.eligible_us : r->j.submit_us;
}

/* Seconds that are left over by cutting go to the cause that has most. */
static void rest_give(struct waited *w, int64_t whole)
{
    int most = REASON_PRIORITY;
    for (int r = 0; r < REASON_COUNT; r++)
        if (w->us[r] > w->us[most])
            most = r;
    int64_t rest = whole - total(w);
    if (rest > 0)
        w->us[most] = w->us[most] / USEC_PER_SEC * USEC_PER_SEC + rest;
}

static bool waited_now(const struct core *c, const struct jobrec *r, struct waited *ret)
{
    struct waited more = {0};
    int64_t began = wait_began(r);
    *ret = (struct waited){0};
    text_read(r->j.waited_for, ret);
    int64_t from = began + total(ret);
    if (!began || c->turn.now_us - from < USEC_PER_SEC)
        return false;
    if (r->waiting)
        sched_waited(c->cluster, r->j.id, from, c->turn.now_us, &more);
    else
        more.us[r->cause] = c->turn.now_us - from;
    for (int k = 0; k < REASON_COUNT; k++)
        ret->us[k] += more.us[k];
    rest_give(ret, (c->turn.now_us - began) / USEC_PER_SEC * USEC_PER_SEC);
    return true;
}

void waited_count(struct core *c, struct jobrec *r)
{
    ASSERT(job_waits(r));
    struct waited w;
    struct str text = STR_INIT;
    if (r->j.state != JOB_PENDING || !waited_now(c, r, &w))
        return;
    text_write(&w, &text);
    text_set(c, &r->j.waited_for, text.len ? str_text(&text) : NULL);
    sched_waited_counted(c->cluster, r->j.id, c->turn.now_us);
    job_save(c, r);
    str_done(&text);
}

const char *waited_text(const struct core *c, const struct jobrec *r, struct arena *a)
{
    struct waited w;
    struct str text = STR_INIT;
    if (r->j.state != JOB_PENDING || !waited_now(c, r, &w))
        return r->j.waited_for;
    text_write(&w, &text);
    const char *copy = text.len ? arena_strdup(a, str_text(&text)) : NULL;
    str_done(&text);
    return copy;
}

void waited_cause(struct core *c, struct jobrec *r, enum job_reason cause)
{
    ASSERT(cause < REASON_COUNT);
    if (r->cause_known && r->cause == cause)
        return;
    if (r->cause_known)
        waited_count(c, r);
    r->cause = cause;
    r->cause_known = true;
}

void waited_begins(struct core *c, struct jobrec *r)
{
    ASSERT(!r->waiting);
    text_set(c, &r->j.waited_for, NULL);
    r->back_us = c->turn.now_us;
    r->cause_known = false;
}

void planner_leave(struct core *c, struct jobrec *r)
{
    ASSERT(!r->waiting || r->j.state == JOB_PENDING);
    if (!r->waiting)
        return;
    waited_count(c, r);
    cluster_unwait(c->cluster, r->j.id);
    r->waiting = false;
}
