/* What is told to the controller of the devices, and heard of them: which are out, how each is,
 * since when. */
#include "agent/devices.h"

#include "agent/inside.h"
#include "base/alloc.h"
#include "base/list.h"
#include "model/env/device_out.h"

#include <stdlib.h>

void devices_learn_failed(struct turn *t, const char *failed)
{
    struct arena *a = arena_new();
    struct device_outs list = {0};
    device_outs_parse(failed, a, &list);
    for (size_t i = 0; i < list.n; i++) {
        struct watched *w = text_is(list.v[i].kind, DEVICES_KIND) && list.v[i].failed
                                ? watched_find(&t->a->devices, list.v[i].index)
                                : NULL;
        if (!w || health_is_failed(&w->health))
            continue;
        watched_set(w, HEALTH_BROKEN);
        w->since_us = list.v[i].since_us;
        watched_why_set(w, list.v[i].why);
    }
    arena_free(a);
}

const char *devices_gone(const struct turn *t)
{
    const struct devices *d = &t->a->devices;
    struct str text = STR_INIT;
    for (size_t i = 0; i < d->n; i++)
        if (d->v[i].health.state == HEALTH_GONE)
            list_addf(&text, "%d", d->v[i].index);
    const char *gone = text.len ? arena_strdup(t->fx->arena, str_text(&text)) : NULL;
    str_done(&text);
    return gone;
}

void devices_retry(struct turn *t)
{
    struct devices *d = &t->a->devices;
    for (size_t i = 0; i < d->n; i++) {
        if (!health_is_failed(&d->v[i].health))
            continue;
        watched_set(&d->v[i], HEALTH_UNKNOWN);
        d->v[i].settled = false;
        watched_why_set(&d->v[i], "it was broken and is being looked at again");
        d->v[i].use++; /* what a look that is under way sees was before */
    }
    d->pause_us = LOOK_PAUSE_US;
    devices_look(t);
    devices_announce(t);
}

bool devices_speak(const struct devices *d)
{
    return d->n > 0 || d->seq != d->first_seq;
}

/* Processes that cannot be killed are told of in the same way: "process:4711:unproven:SINCE:job 7
 * step 0: …". */
static void stuck_say(const struct turn *t, struct str *text)
{
    for (const struct held_step *s = held_marked(&t->a->held); s; s = s->marked_next) {
        struct str why = STR_INIT, gpus = STR_INIT;
        if (!s->stuck || s->state >= HELD_ENDED)
            continue;
        idset_format(&s->gpus, &gpus);
        step_label(s->step_id, &why);
        struct str said = STR_INIT;
        str_addf(&said, "job %llu step %s: %s; the job keeps its part of the node%s%s",
                 (unsigned long long)s->job_id, str_text(&why), s->stuck, gpus.len ? ", GPUs " : "",
                 str_text(&gpus));
        struct device_out out = {"process", (int32_t)s->stuck_pid, false, s->stuck_since_us,
                                 str_text(&said)};
        device_out_format(&out, text);
        str_done(&said);
        str_done(&why);
        str_done(&gpus);
    }
}

/* Nobody may be given it, and that is news: of what a job keeps, only that it is ill, or that
 * something else is on it. */
static bool is_out(const struct agent *a, const struct watched *w)
{
    if (watched_is_clean(w) || health_is_ill(&w->health))
        return !watched_is_clean(w);
    return !watched_is_kept(a, w) || (w->health.state != HEALTH_IN_USE && watched_in_use(a, w));
}

void devices_date(struct turn *t)
{
    struct devices *d = &t->a->devices;
    for (size_t i = 0; i < d->n; i++) {
        struct watched *w = &d->v[i];
        if (w->state_us && w->dated == w->health.state)
            continue;
        w->dated = w->health.state;
        w->state_us = t->now_us;
    }
}

/* The evidence; of one in use the job. */
static void health_say(const struct watched *w, struct str *text)
{
    struct str why = STR_INIT;
    if (!text_empty(w->why))
        str_add(&why, w->why);
    else if (w->health.state == HEALTH_IN_USE && w->job_id)
        str_addf(&why, "job %llu", (unsigned long long)w->job_id);
    struct device_entry e = {.kind = DEVICES_KIND,
                             .word = health_word(w->health.state),
                             .why = str_text(&why),
                             .index = w->index,
                             .since_us = w->state_us};
    device_entry_format(&e, text);
    str_done(&why);
}

/* Takes it over; true if it is another text. */
static bool text_take(char **text, struct str *fresh)
{
    bool other = !text_is(str_text(fresh), *text);
    if (other) {
        free(*text);
        *text = str_take(fresh);
    } else {
        str_done(fresh);
    }
    return other;
}

void devices_told(struct devices *d)
{
    ASSERT(d->seq >= d->first_seq);
    d->told_seq = d->seq;
    d->urgent = false;
}

void devices_refresh(struct turn *t)
{
    struct devices *d = &t->a->devices;
    struct str text = STR_INIT, health = STR_INIT;
    devices_date(t);
    for (size_t i = 0; i < d->n; i++)
        health_say(&d->v[i], &health);
    for (size_t i = 0; i < d->n; i++) {
        struct watched *w = &d->v[i];
        if (!is_out(t->a, w))
            continue;
        w->since_us = w->since_us ? w->since_us : t->now_us;
        struct device_out out = {DEVICES_KIND, w->index, health_is_failed(&w->health), w->since_us,
                                 w->why ? w->why : ""};
        device_out_format(&out, &text);
    }
    stuck_say(t, &text);
    bool out = text_take(&d->text, &text), how = text_take(&d->health, &health);
    d->urgent |= out;
    d->seq += out || how;
}

void devices_announce(struct turn *t)
{
    devices_refresh(t);
    if (t->a->welcomed && t->a->devices.urgent)
        heartbeat_send(t);
}
