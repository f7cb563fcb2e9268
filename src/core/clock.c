/* The wall clock may be set, by hours, forward and back; durations must not notice. Times are kept
 * as the wall clock tells them, for people and for begin times, reservations and deadlines; each
 * event brings a second clock that nobody can set. When the difference of the two has changed, the
 * wall clock was set by that much: then the instants from which durations of work at hand are
 * counted are told in the new time: when runs and their steps began and were stopped, how long
 * nodes are silent and commands away, when a job's owner was told of idle GPUs. A clock that is
 * slewed changes both alike, or by less than a second until that is made up for.
 *
 * What is over stays as it was written. The difference is stored with the name of the machine's
 * boot: so a clock that was set while the controller was down is noticed, too. After a boot nothing
 * is known of the time between: the wall clock is believed, unless what has been is still to come
 * by it, as on a machine whose battery is empty and which begins in 1970 until it hears the time.
 * Then no time is taken to have passed since the last that is known. */
#include "core/record/accounts/minutes.h"
#include "core/record/accounts/usage.h"
#include "core/record/triggers/triggers.h"
#include "core/turn.h"

#include <string.h>

#define STEP_US USEC_PER_SEC /* less is made up for later */

static void moved(int64_t *at_us, int64_t by_us)
{
    if (*at_us)
        *at_us += by_us;
}

static void steps_move(struct core *c, struct jobrec *r, int64_t by_us)
{
    for (size_t i = 0; i < r->step.n; i++) {
        struct steprec *st = r->step.v[i];
        if (!step_live(st))
            continue;
        moved(&st->s.lonely_us, by_us);
        st->s.start_us += by_us;
        step_save(c, st);
    }
}

static void run_move(struct core *c, struct jobrec *r, int64_t by_us)
{
    struct job *j = &r->j;
    if (j->lonely_us) {
        j->lonely_us += by_us;
        job_save(c, r);
    }
    if (j->state != JOB_RUNNING && j->state != JOB_SUSPENDED)
        return;
    int64_t *const instants[] = {&j->submit_us,      &j->eligible_us,     &j->start_us,
                                 &j->resize_us,      &j->suspend_us,      &j->preempt_us,
                                 &j->preempt_end_us, &j->gpu_idle_told_us};
    for (size_t i = 0; i < ARRAY_LEN(instants); i++)
        moved(instants[i], by_us);
    steps_move(c, r, by_us);
    job_save(c, r);
    int64_t end = job_limit_end(c, r);
    if (c->store.loaded && end != INT64_MAX)
        cluster_set_end(c->cluster, j->id, end);
}

static void runs_move(struct core *c, int64_t by_us)
{
    struct map_walk w = {0};
    while (map_u64_next(c->jobs.by_id, &w))
        run_move(c, w.value, by_us);
}

/* When all else is told in the new time: a begin time may have come, or be to come again, and what
 * running jobs may still use is as it was. */
static void waiting_look(struct core *c)
{
    struct map_walk w = {0};
    minutes_changed(c);
    if (c->store.loaded)
        crons_look(c);
    while (c->store.loaded && map_u64_next(c->jobs.by_id, &w)) {
        struct jobrec *r = w.value;
        if (r->j.state == JOB_PENDING)
            eligible_update(c, r);
    }
}

static void nodes_move(struct core *c, int64_t by_us)
{
    for (size_t i = 0; i < c->node.n; i++) {
        struct noderec *n = c->node.v[i];
        moved(&n->lost_us, by_us);
        moved(&n->alarm_us, by_us);
        moved(&n->looked_late_us, by_us);
        moved(&n->n.last_seen_us, by_us);
    }
}

static void difference_save(struct core *c)
{
    struct str text = STR_INIT;
    str_addf(&text, "%s %lld", c->clock.boot, (long long)c->clock.ahead_us);
    struct meta row = {.key = "clock", .value = str_text(&text)};
    if (c->clock.boot)
        fx_store(c, TABLE_META, &row);
    str_done(&text);
}

void clock_look(struct core *c, const struct event *ev)
{
    int64_t difference = ev->now_us - ev->mono_us, by_us = difference - c->clock.ahead_us;
    if (!ev->mono_us)
        return;
    if (!c->clock.known) {
        c->clock.known = true;
        c->clock.ahead_us = difference;
        return;
    }
    if (by_us < STEP_US && by_us > -STEP_US)
        return;
    c->clock.ahead_us = difference;
    fx_log(c, LEVEL_WARNING,
           "the clock was set %s by %lld s; limits and silences go on as if it had not been",
           by_us > 0 ? "forward" : "back",
           (long long)((by_us > 0 ? by_us : -by_us) / USEC_PER_SEC));
    difference_save(c); /* first: rows after it are in the new time */
    nodes_move(c, by_us);
    runs_move(c, by_us);
    answered_move(c, by_us);
    tokens_move(c, by_us);
    moved(&c->store.back_us, by_us);
    moved(&c->timers.gang_due_us, by_us);
    usage_move(c, by_us);
    triggers_move(c, by_us);
    waiting_look(c);
    timers_anew(c);
    plan_soon(c);
}

void clock_boot(struct core *c, const char *boot)
{
    if (boot)
        text_set(c, &c->clock.boot, boot);
}

void clock_load(struct core *c, const char *value)
{
    size_t len = c->clock.boot ? strlen(c->clock.boot) : 0;
    int64_t stored;
    if (len && c->clock.known && strncmp(value, c->clock.boot, len) == 0 && value[len] == ' ' &&
        text_to_i64(value + len + 1, INT64_MIN, INT64_MAX, &stored))
        c->clock.missed_us = c->clock.ahead_us - stored;
}

/* The last moment that the rows know: use is charged every few minutes while the controller is
 * there. */
static int64_t latest_known(const struct core *c)
{
    struct map_walk w = {0};
    int64_t latest = c->usage.at_us;
    while (map_u64_next(c->jobs.by_id, &w)) {
        const struct job *j = &((const struct jobrec *)w.value)->j;
        const int64_t been[] = {j->start_us, j->resize_us, j->suspend_us};
        bool runs = j->state == JOB_RUNNING || j->state == JOB_SUSPENDED;
        for (size_t i = 0; runs && i < ARRAY_LEN(been); i++)
            latest = been[i] > latest ? been[i] : latest;
    }
    return latest;
}

static void behind_look(struct core *c)
{
    int64_t ahead_us = latest_known(c) - c->turn.now_us;
    if (c->clock.missed_us || ahead_us < STEP_US)
        return;
    c->clock.missed_us = -ahead_us;
    fx_log(c, LEVEL_WARNING,
           "the clock is at least %lld s behind: by it what runs has yet to begin; limits go on as "
           "if no time had passed",
           (long long)(ahead_us / USEC_PER_SEC));
}

void clock_restore(struct core *c)
{
    difference_save(c);
    behind_look(c);
    if (c->clock.missed_us >= STEP_US || c->clock.missed_us <= -STEP_US) {
        runs_move(c, c->clock.missed_us);
        usage_move(c, c->clock.missed_us);
        answered_move(c, c->clock.missed_us);
        tokens_move(c, c->clock.missed_us);
        triggers_move(c, c->clock.missed_us);
    }
    c->clock.missed_us = 0;
}
