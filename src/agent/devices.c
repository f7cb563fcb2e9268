/* Which GPUs may be given to somebody.
 *
 * A device is clean only while there is proof: a look that was asked for after the last step that had it was gone, and that found no process holding it and its memory
 * back at its base. Each time it is given counts up its `use`, and the answer to a look says which use it looked at; so an answer that comes late proves nothing about a
 * later use. At the start of the daemon nothing is proven; the controller hears nothing from the node until the first look is answered.
 *
 * Between the steps of one job the same holds: where a step that is over had a device that others of its job go on with (the batch script has all of them), a look is asked for
 * that passes over these; until it says that nothing else is there the device is not settled, and a further step of the job waits for it, three seconds at most. Then it is told
 * what is in the way, and the controller, which hears of it as well, gives the job's next steps other devices, or lets them wait.
 *
 * What is not proven and not in use is listed in `text`, with the reason. The text goes with every hello, heartbeat and report, numbered, and the report that gives a job's
 * devices back is among them: the controller cannot hear that they are free without hearing which of them are not clean. Looks are repeated until all is clean, at first soon,
 * then more and more seldom. A broken device stays out until an operator asks to try it again (DEVICES_RETRY). */
#include "agent/devices.h"

#include "agent/inside.h"
#include "base/alloc.h"
#include "model/alloc.h"
#include "model/device_out.h"
#include "model/gres.h"

#include <stdlib.h>
#include <string.h>

#define KIND         "gpu"
#define PAUSE_US     INT64_C(100000)   /* before the second look */
#define PAUSE_MAX_US INT64_C(10000000) /* between looks, at most */
#define FOUND_MAX    63                /* numbers that a note can name */

static const char not_looked[] = "the node has not looked at it yet";

void devices_init(struct devices *d, uint64_t first_seq)
{
    *d = (struct devices){.seq = first_seq ? first_seq : 1,
                          .first_seq = first_seq ? first_seq : 1,
                          .text = xstrdup(""),
                          .due_us = INT64_MAX,
                          .pause_us = PAUSE_US};
}

static void watched_free(struct watched *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(v[i].why);
    free(v);
}

void devices_done(struct devices *d)
{
    watched_free(d->v, d->n);
    free(d->text);
}

static struct watched *watched_find(const struct devices *d, int32_t index)
{
    for (size_t i = 0; i < d->n; i++)
        if (d->v[i].index == index)
            return &d->v[i];
    return NULL;
}

static void why_set(struct watched *w, const char *why)
{
    char *copy = xstrdup(why ? why : "");
    free(w->why);
    w->why = copy;
}

void devices_take(struct devices *d, const struct node *self)
{
    struct arena *a = arena_new();
    struct device_list list = {0};
    if (self->devices)
        devices_parse(self->devices, a, &list, NULL);
    struct watched *fresh = xcalloc(list.n + 1, sizeof *fresh);
    size_t n = 0;
    for (size_t i = 0; i < list.n; i++) {
        if (!text_is(list.v[i].kind, KIND))
            continue;
        struct watched *known = watched_find(d, list.v[i].index);
        if (known) {
            fresh[n] = *known;
            known->why = NULL;
        } else {
            fresh[n].index = list.v[i].index;
            fresh[n].why = xstrdup(not_looked);
        }
        n++;
    }
    watched_free(d->v, d->n);
    d->v = fresh;
    d->n = n;
    arena_free(a);
}

/* ---- who uses them ---- */

static bool in_use(const struct agent *a, const struct watched *w)
{
    struct held_walk walk = {0};
    while (held_next(&a->held, &walk))
        if (walk.step->state < HELD_ENDED && idset_has(&walk.step->gpus, (uint32_t)w->index))
            return true;
    return false;
}

/* By a job that the controller has given up, for example while this node was away: it may have given the device to another. */
static bool is_leaving(const struct agent *a, const struct watched *w)
{
    struct held_walk walk = {0};
    while (held_next(&a->held, &walk))
        if (walk.step->release_wanted && walk.step->state < HELD_ENDED &&
            idset_has(&walk.step->gpus, (uint32_t)w->index))
            return true;
    return false;
}

/* Of a step that was found it may not be known what it has. */
static bool may_have_got(const struct held_step *s, const struct watched *w)
{
    return idset_has(&s->gpus, (uint32_t)w->index) || (s->found && s->gpus.count == 0);
}

/* Its job has not been told to be gone from here, so the controller gives it to nobody else. */
static bool is_kept(const struct agent *a, const struct watched *w)
{
    struct held_walk walk = {0};
    while (held_next(&a->held, &walk))
        if (may_have_got(walk.step, w) && walk.step->state < (walk.step->gpus.count ? HELD_OVER : HELD_ENDED))
            return true;
    return false;
}

static void steps_that_go_on(const struct agent *a, const struct watched *w, struct device_look *look)
{
    struct held_walk walk = {0};
    while (held_next(&a->held, &walk) && look->nsteps < LOOK_STEPS_MAX)
        if (walk.step->state > HELD_WAITING && walk.step->state < HELD_ENDED && may_have_got(walk.step, w))
            look->step[look->nsteps++] =
                (struct look_step){walk.step->job_id, walk.step->attempt, walk.step->step_id};
}

/* What the launch gives it of this node: the step's part, or all of the job's. */
static void gpus_of(const struct agent *a, const struct msg_launch *l, struct idset *ret)
{
    const struct job *j = l->job.v;
    const struct step *step = l->step.n ? l->step.v : NULL;
    const char *text = step ? step->layout : j->alloc;
    if (!text || !strstr(text, " " KIND)) /* a launch on thousands of nodes is not unfolded for nothing */
        return;
    struct arena *arena = arena_new();
    struct alloc al = {0};
    const struct alloc_node *here =
        alloc_parse(text, arena, &al, NULL) ? alloc_find(&al, a->node->name) : NULL;
    for (size_t i = 0; here && i < here->ngres; i++) {
        struct idset set = IDSET_INIT;
        uint32_t id;
        if (text_is(here->gres[i].kind, KIND) && here->gres[i].devices &&
            idset_parse(&set, here->gres[i].devices, INT32_MAX, NULL))
            for (bool more = idset_first(&set, &id); more; more = idset_next(&set, id, &id))
                idset_add(ret, id);
        idset_done(&set);
    }
    arena_free(arena);
}

static bool is_own(const struct agent *a, const struct held_step *s, const struct watched *w)
{
    if (w->job_id)
        return w->job_id == s->job_id && w->attempt == s->attempt;
    const struct held_step *first = held_of_job(&a->held, s->job_id);
    return first != s || s->next_of_job;
}

static enum devices_answer may_have(const struct agent *a, const struct held_step *s, const struct watched *w)
{
    if (w->failed)
        return DEVICES_REFUSED;
    if (w->clean)
        return DEVICES_GIVEN;
    if (is_own(a, s, w))
        return w->settled ? DEVICES_GIVEN : DEVICES_LATER;
    if (is_leaving(a, w))
        return DEVICES_LATER;
    return in_use(a, w) ? DEVICES_GIVEN : DEVICES_REFUSED;
}

/* The worst answer of those that it is to have, with the first reason for it. */
static enum devices_answer may_have_all(const struct agent *a, const struct held_step *s,
                                        const struct idset *gpus, struct str *why)
{
    enum devices_answer worst = DEVICES_GIVEN;
    for (size_t i = 0; i < a->devices.n; i++) {
        const struct watched *w = &a->devices.v[i];
        enum devices_answer one = idset_has(gpus, (uint32_t)w->index) ? may_have(a, s, w) : DEVICES_GIVEN;
        if (one <= worst)
            continue;
        worst = one;
        str_clear(why);
        str_addf(why, "GPU %d of %s cannot be used: %s", w->index, a->node->name,
                 text_empty(w->why) ? not_looked : w->why);
    }
    return worst;
}

enum devices_answer devices_give(struct turn *t, struct held_step *s, const struct msg_launch *l,
                                 struct str *why)
{
    struct agent *a = t->a;
    const struct job *j = l->job.v;
    struct idset gpus = IDSET_INIT;
    gpus_of(a, l, &gpus);
    enum devices_answer answer = may_have_all(a, s, &gpus, why);
    if (answer != DEVICES_GIVEN) {
        idset_done(&gpus);
        return answer;
    }
    for (size_t i = 0; i < a->devices.n; i++) {
        struct watched *w = &a->devices.v[i];
        if (!idset_has(&gpus, (uint32_t)w->index))
            continue;
        if (w->job_id != j->id || w->attempt != j->attempt || !w->from_us)
            w->from_us = t->now_us;
        w->clean = false;
        w->use++;
        w->job_id = j->id;
        w->attempt = j->attempt;
        w->uid = j->user_id;
    }
    idset_done(&s->gpus);
    s->gpus = gpus;
    return DEVICES_GIVEN;
}

void devices_found(struct turn *t, struct held_step *s, int64_t gpus)
{
    struct devices *d = &t->a->devices;
    for (size_t i = 0; i < d->n; i++) {
        struct watched *w = &d->v[i];
        if (w->index >= FOUND_MAX || !(gpus >> w->index & 1))
            continue;
        idset_add(&s->gpus, (uint32_t)w->index);
        w->clean = false;
        w->job_id = s->job_id;
        w->attempt = s->attempt;
    }
}

void devices_give_back(struct turn *t, const struct held_step *s)
{
    struct devices *d = &t->a->devices;
    for (size_t i = 0; i < d->n; i++) {
        struct watched *w = &d->v[i];
        if (!idset_has(&s->gpus, (uint32_t)w->index) || w->clean || w->failed)
            continue;
        if (!w->settled)
            w->use++; /* what a look that is under way sees was before */
        w->settled = w->held = false;
        w->since_us = t->now_us;
        why_set(w, not_looked);
        d->pause_us = PAUSE_US;
    }
    devices_look(t);
}

bool devices_proven(const struct turn *t, const struct held_step *s)
{
    const struct devices *d = &t->a->devices;
    for (size_t i = 0; i < d->n; i++) {
        const struct watched *w = &d->v[i];
        if (idset_has(&s->gpus, (uint32_t)w->index) && !w->clean && !w->failed && !in_use(t->a, w))
            return false;
    }
    return true;
}

/* ---- looking ---- */

static bool wants_look(const struct agent *a, const struct watched *w)
{
    return !w->clean && !w->failed && !(w->settled && in_use(a, w));
}

void devices_look(struct turn *t)
{
    struct devices *d = &t->a->devices;
    struct device_look *look = arena_alloc(t->fx->arena, (d->n + 1) * sizeof *look);
    size_t n = 0;
    for (size_t i = 0; i < d->n; i++) {
        const struct watched *w = &d->v[i];
        if (!wants_look(t->a, w))
            continue;
        look[n] = (struct device_look){
            .index = w->index, .use = w->use, .job_id = w->job_id, .uid = w->uid, .from_us = w->from_us};
        steps_that_go_on(t->a, w, &look[n++]);
    }
    d->due_us = INT64_MAX;
    if (n == 0) {
        d->looked = true;
        return;
    }
    if (d->looking) { /* again, when the answer is here */
        d->due_us = t->now_us + d->pause_us;
        return;
    }
    d->looking = true;
    struct agent_effect *e = turn_effect(t, AGENT_LOOK);
    e->look = look;
    e->nlook = n;
}

/* It is said once what keeps a device, and once that it is free. */
static void held_by(struct turn *t, struct watched *w, const char *why)
{
    if (!text_is(w->why, why))
        turn_log(t, true, "GPU %d is not given to anybody: %s", w->index, why);
    if (!w->since_us)
        w->since_us = t->now_us;
    w->held = true;
    w->settled = false;
    why_set(w, why);
}

/* Steps go on with it, and nothing else is there. */
static void settled(struct turn *t, struct watched *w)
{
    if (w->held)
        turn_log(t, false, "GPU %d is free of what a step left on it", w->index);
    w->settled = true;
    w->held = false;
    why_set(w, in_use(t->a, w) ? NULL : "a step that was found when the node's daemon started may use it");
}

static void proven(struct turn *t, struct watched *w)
{
    if (!text_empty(w->why) && !text_is(w->why, not_looked))
        turn_log(t, false, "GPU %d is clean and can be given again", w->index);
    w->clean = w->settled = true;
    w->held = false;
    w->since_us = 0;
    w->job_id = 0;
    w->from_us = 0;
    why_set(w, NULL);
}

/* Its jobs go on, if they can; they are told. */
static void broken(struct turn *t, struct watched *w, const char *why)
{
    struct held_walk walk = {0};
    if (w->failed)
        return;
    w->failed = true;
    w->clean = false;
    w->since_us = t->now_us;
    why_set(w, why);
    turn_log(t, true, "GPU %d is taken out of use: %s", w->index, why);
    while (held_next(&t->a->held, &walk)) {
        if (walk.step->state != HELD_RUNNING || !idset_has(&walk.step->gpus, (uint32_t)w->index))
            continue;
        struct agent_effect *e = turn_effect_about(t, AGENT_TELL, walk.step);
        e->text = arena_printf(t->fx->arena, "GPU %d of %s, which this job uses, is broken: %s", w->index,
                               t->a->node->name, why);
    }
}

static void one_seen(struct turn *t, const struct device_seen *seen, bool answers)
{
    struct watched *w = watched_find(&t->a->devices, seen->index);
    if (!w || w->failed || (answers && seen->use != w->use))
        return;
    switch (seen->state) {
    case DEVICE_CLEAN:
        if (answers && !in_use(t->a, w))
            proven(t, w);
        else if (answers)
            settled(t, w);
        break;
    case DEVICE_SHARED:
        if (answers)
            settled(t, w);
        break;
    case DEVICE_HELD:
        if (answers && wants_look(t->a, w))
            held_by(t, w, seen->why);
        break;
    case DEVICE_BROKEN: broken(t, w, seen->why); break;
    }
}

static bool any_unproven(const struct agent *a)
{
    for (size_t i = 0; i < a->devices.n; i++)
        if (wants_look(a, &a->devices.v[i]))
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
        d->pause_us = 2 * d->pause_us < PAUSE_MAX_US ? 2 * d->pause_us : PAUSE_MAX_US;
    }
    hello_when_looked(t);
    steps_proven(t);
    devices_announce(t);
}

/* ---- what is used of them ---- */

void devices_used(struct turn *t, const struct agent_event *ev)
{
    struct held_walk walk = {0};
    while (held_next(&t->a->held, &walk)) {
        struct held_step *s = walk.step;
        struct gpu_used used = {0};
        if (s->state != HELD_RUNNING || s->gpus.count == 0)
            continue;
        for (size_t i = 0; i < ev->nused; i++)
            if (ev->used[i].job_id == s->job_id && ev->used[i].attempt == s->attempt &&
                ev->used[i].step_id == s->step_id)
                used = ev->used[i];
        s->gpu.samples++;
        s->gpu.mem_sum_kib += used.mem_bytes / 1024;
        if (used.mem_bytes > s->gpu.mem_max_bytes)
            s->gpu.mem_max_bytes = used.mem_bytes;
        if (!ev->ok)
            continue;
        s->gpu.util_samples++;
        s->gpu.util_sum += used.util;
        if (used.util > s->gpu.util_max)
            s->gpu.util_max = used.util;
    }
}

/* ---- what the controller knows ---- */

void devices_learn_failed(struct turn *t, const char *failed)
{
    struct arena *a = arena_new();
    struct device_outs list = {0};
    device_outs_parse(failed, a, &list);
    for (size_t i = 0; i < list.n; i++) {
        struct watched *w = text_is(list.v[i].kind, KIND) && list.v[i].failed
                                ? watched_find(&t->a->devices, list.v[i].index)
                                : NULL;
        if (!w || w->failed)
            continue;
        w->failed = true;
        w->clean = false;
        w->since_us = list.v[i].since_us;
        why_set(w, list.v[i].why);
    }
    arena_free(a);
}

void devices_retry(struct turn *t)
{
    struct devices *d = &t->a->devices;
    for (size_t i = 0; i < d->n; i++) {
        if (!d->v[i].failed)
            continue;
        d->v[i].failed = d->v[i].settled = d->v[i].held = false;
        why_set(&d->v[i], "it was broken and is being looked at again");
        d->v[i].use++; /* what a look that is under way sees was before */
    }
    d->pause_us = PAUSE_US;
    devices_look(t);
    devices_announce(t);
}

bool devices_speak(const struct devices *d)
{
    return d->n > 0 || d->seq != d->first_seq;
}

/* Processes that cannot be killed are told of in the same way: "process:4711:unproven:SINCE:job 7 step 0: …". */
static void stuck_say(const struct turn *t, struct str *text)
{
    struct held_walk walk = {0};
    while (held_next(&t->a->held, &walk)) {
        const struct held_step *s = walk.step;
        struct str why = STR_INIT, gpus = STR_INIT;
        if (!s->stuck || s->state >= HELD_ENDED)
            continue;
        idset_format(&s->gpus, &gpus);
        step_label(s->step_id, &why);
        struct str said = STR_INIT;
        str_addf(&said, "job %llu step %s: %s; the job keeps its part of the node%s%s",
                 (unsigned long long)s->job_id, str_text(&why), s->stuck, gpus.len ? ", GPUs " : "",
                 str_text(&gpus));
        struct device_out out = {"process", (int32_t)s->stuck_pid, false, s->stuck_since_us, str_text(&said)};
        device_out_format(&out, text);
        str_done(&said);
        str_done(&why);
        str_done(&gpus);
    }
}

void devices_refresh(struct turn *t)
{
    struct devices *d = &t->a->devices;
    struct str text = STR_INIT;
    for (size_t i = 0; i < d->n; i++) {
        struct watched *w = &d->v[i];
        if (w->clean || (!w->failed && is_kept(t->a, w) && !(w->held && in_use(t->a, w))))
            continue;
        w->since_us = w->since_us ? w->since_us : t->now_us;
        struct device_out out = {KIND, w->index, w->failed, w->since_us, w->why ? w->why : ""};
        device_out_format(&out, &text);
    }
    stuck_say(t, &text);
    if (text_is(str_text(&text), d->text)) {
        str_done(&text);
        return;
    }
    free(d->text);
    d->text = str_take(&text);
    d->seq++;
}

void devices_announce(struct turn *t)
{
    devices_refresh(t);
    if (t->a->welcomed && t->a->devices.told_seq != t->a->devices.seq)
        heartbeat_send(t);
}
