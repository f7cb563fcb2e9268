/* What looks and signs make of the devices: the moves are agent/health.h's; here is what is said of
 * them, and what is to be done. What steps used of them comes from the same process. */
#include "agent/devices.h"

#include "agent/inside.h"

/* It is said once what keeps a device, and once that it is free. */
static void held_by(struct turn *t, struct watched *w, const char *why)
{
    if (!text_is(w->why, why))
        turn_log(t, true, "GPU %d is not given to anybody: %s", w->index, why);
    if (!w->since_us)
        w->since_us = t->now_us;
    w->settled = false;
    watched_why_set(w, why);
}

/* Steps go on with it, and nothing else is there. */
static void settled(struct turn *t, struct watched *w, bool was_held)
{
    if (was_held)
        turn_log(t, false, "GPU %d is free of what a step left on it", w->index);
    w->settled = true;
    watched_set(w, HEALTH_IN_USE);
    watched_why_set(w, watched_in_use(t->a, w)
                           ? NULL
                           : "a step that was found when the node's daemon started may use it");
}

static void proven(struct turn *t, struct watched *w)
{
    if (!text_empty(w->why) && !text_is(w->why, devices_not_looked))
        turn_log(t, false, "GPU %d is clean and can be given again", w->index);
    w->settled = true;
    w->since_us = 0;
    w->job_id = 0;
    w->from_us = 0;
    watched_why_set(w, NULL);
}

/* Its jobs go on, if they can; they are told. */
static void broken(struct turn *t, struct watched *w, const char *why)
{
    w->since_us = t->now_us;
    watched_why_set(w, why);
    turn_log(t, true, "GPU %d is taken out of use: %s", w->index, why);
    for (const struct held_step *s = held_marked(&t->a->held); s; s = s->marked_next) {
        if (s->state != HELD_RUNNING || !idset_has(&s->gpus, (uint32_t)w->index))
            continue;
        struct agent_effect *e = turn_effect_about(t, AGENT_TELL, s);
        e->text = arena_printf(t->fx->arena, "GPU %d of %s, which this job uses, is broken: %s",
                               w->index, t->a->node->name, why);
    }
}

/* It was ill and is not any more: what is on it has yet to be seen. */
static void well_again(struct turn *t, struct watched *w)
{
    if (watched_in_use(t->a, w))
        watched_set(w, HEALTH_IN_USE);
    w->since_us = t->now_us;
    watched_why_set(w, devices_not_looked);
    turn_log(t, false, "GPU %d answers again", w->index);
    t->a->devices.pause_us = LOOK_PAUSE_US;
    devices_look(t);
}

/* A look that found nobody on it, or only steps that go on. */
static void free_seen(struct turn *t, struct watched *w, enum device_sign sign)
{
    bool was_held = w->health.state == HEALTH_HELD;
    health_note(&w->health, sign);
    if (sign == DEVICE_CLEAN && !watched_in_use(t->a, w))
        proven(t, w);
    else
        settled(t, w, was_held);
}

/* Of what may pass, the first failure is only why it is not clean. What is ill stays what it is,
 * with the reason that it has. */
static void doubted(struct turn *t, struct watched *w, const struct device_seen *seen, bool answers)
{
    bool changed = health_note(&w->health, seen->sign),
         asked = answers && watched_wants_look(t->a, w);
    if (changed && w->health.state == HEALTH_SUSPECT) {
        w->since_us = t->now_us;
        turn_log(t, true, "GPU %d is not given to anybody: %s", w->index, seen->why);
        watched_why_set(w, seen->why);
    } else if (!health_is_ill(&w->health) && !watched_is_clean(w) && (changed || asked)) {
        if (asked && w->health.state == HEALTH_IN_USE) /* a step of its job waits to have it */
            w->health.state = HEALTH_UNKNOWN;
        held_by(t, w, seen->why);
    }
}

static void one_seen(struct turn *t, const struct device_seen *seen, bool answers)
{
    struct watched *w = watched_find(&t->a->devices, seen->index);
    if (!w || (answers && seen->use != w->use))
        return;
    switch (seen->sign) {
    case DEVICE_CLEAN:
    case DEVICE_SHARED:
        if (answers && !health_is_failed(&w->health))
            free_seen(t, w, seen->sign);
        break;
    case DEVICE_HELD:
        if (answers && watched_wants_look(t->a, w)) {
            health_note(&w->health, seen->sign);
            held_by(t, w, seen->why);
        }
        break;
    case DEVICE_WELL:
        if (health_note(&w->health, seen->sign))
            well_again(t, w);
        break;
    case DEVICE_DOUBT:
    case DEVICE_BLIND: doubted(t, w, seen, answers); break;
    case DEVICE_RESET:
    case DEVICE_BROKEN:
    case DEVICE_LOST:
    case DEVICE_ABSENT:
        if (health_note(&w->health, seen->sign))
            broken(t, w, seen->why);
        break;
    }
}

static bool any_unproven(const struct agent *a)
{
    for (size_t i = 0; i < a->devices.n; i++)
        if (watched_wants_look(a, &a->devices.v[i]))
            return true;
    return false;
}

void devices_seen(struct turn *t, const struct agent_event *ev)
{
    struct devices *d = &t->a->devices;
    bool answers = ev->kind == AGENT_LOOKED;
    for (size_t i = 0; i < ev->nseen; i++)
        one_seen(t, &ev->seen[i], answers);
    if (answers) {
        d->looking = false;
        d->looked = true;
        d->due_us = any_unproven(t->a) ? t->now_us + d->pause_us : INT64_MAX;
        d->pause_us = 2 * d->pause_us < d->pause_max_us ? 2 * d->pause_us : d->pause_max_us;
    } else if (d->due_us == INT64_MAX && any_unproven(t->a)) {
        d->due_us = t->now_us + d->pause_us;
    }
    hello_when_looked(t);
    steps_proven(t);
    devices_announce(t);
}
