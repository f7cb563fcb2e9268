/* Which GPUs may be given to somebody.
 *
 * A device is clean only while there is proof: a look that was asked for after the last step that
 * had it was gone, and that found no process holding it and its memory back at its base. Each time
 * it is given counts up its `use`, and the answer to a look says which use it looked at; so an
 * answer that comes late proves nothing about a later use. At the start of the daemon nothing is
 * proven; the controller hears nothing from the node until the first look is answered.
 *
 * Between the steps of one job the same holds: where a step that is over had a device that others
 * of its job go on with (the batch script has all of them), a look is asked for that passes over
 * these; until it says that nothing else is there the device is not settled, and a further step of
 * the job waits for it, three seconds at most. Then it is told what is in the way, and the
 * controller, which hears of it as well, gives the job's next steps other devices, or lets them
 * wait.
 *
 * What is not proven and not in use is listed in `text`, with the reason. The text goes with every
 * hello, heartbeat and report, numbered, and the report that gives a job's devices back is among
 * them: the controller cannot hear that they are free without hearing which of them are not clean.
 * Looks are repeated until all is clean, at first soon, then more and more seldom. A broken device
 * stays out until an operator asks to try it again (DEVICES_RETRY). */
#include "agent/devices.h"

#include "agent/inside.h"
#include "base/alloc.h"
#include "model/grammar/gres.h"
#include "model/job/alloc.h"

#include <stdlib.h>
#include <string.h>

#define NOTED_MAX 63 /* numbers that a note can name */

const char devices_not_looked[] = "the node has not looked at it yet";

void devices_init(struct devices *d, uint64_t first_seq)
{
    *d = (struct devices){.seq = first_seq ? first_seq : 1,
                          .first_seq = first_seq ? first_seq : 1,
                          .text = xstrdup(""),
                          .health = xstrdup(""),
                          .due_us = INT64_MAX,
                          .pause_us = LOOK_PAUSE_US,
                          .pause_max_us = LOOK_PAUSE_MAX_US};
}

static void watched_free(struct watched *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(v[i].why);
        free(v[i].uuid);
    }
    free(v);
}

void devices_done(struct devices *d)
{
    watched_free(d->v, d->n);
    free(d->text);
    free(d->health);
}

struct watched *watched_find(const struct devices *d, int32_t index)
{
    for (size_t i = 0; i < d->n; i++)
        if (d->v[i].index == index)
            return &d->v[i];
    return NULL;
}

bool watched_is_clean(const struct watched *w)
{
    return w->health.state == HEALTH_CLEAN;
}

void watched_set(struct watched *w, enum device_health state)
{
    w->health = (struct health){.state = state};
}

void watched_why_set(struct watched *w, const char *why)
{
    char *copy = xstrdup(why ? why : "");
    free(w->why);
    w->why = copy;
}

void devices_set(struct devices *d, const struct node *self)
{
    ASSERT(!text_empty(self->name));
    struct arena *a = arena_new();
    struct device_list list = {0};
    if (self->devices)
        devices_parse(self->devices, a, &list, NULL);
    struct watched *fresh = xcalloc(list.n + 1, sizeof *fresh);
    size_t n = 0;
    for (size_t i = 0; i < list.n; i++) {
        if (!text_is(list.v[i].kind, DEVICES_KIND))
            continue;
        const char *uuid = list.v[i].uuid ? list.v[i].uuid : "";
        struct watched *known = watched_find(d, list.v[i].index);
        if (known && text_is(known->uuid, uuid)) {
            fresh[n] = *known;
            known->why = known->uuid = NULL;
        } else {
            fresh[n].index = list.v[i].index;
            fresh[n].use = known ? known->use + 1 : 0;
            fresh[n].why = xstrdup(devices_not_looked);
            fresh[n].uuid = xstrdup(uuid);
        }
        n++;
    }
    watched_free(d->v, d->n);
    d->v = fresh;
    d->n = n;
    arena_free(a);
}

/* ---- who uses them ---- */

bool watched_in_use(const struct agent *a, const struct watched *w)
{
    ASSERT(w->index >= 0);
    for (const struct held_step *s = held_marked(&a->held); s; s = s->marked_next)
        if (s->state < HELD_ENDED && idset_has(&s->gpus, (uint32_t)w->index))
            return true;
    return false;
}

/* By a job that the controller has given up, for example while this node was away: it may have
 * given the device to another. */
static bool is_leaving(const struct agent *a, const struct watched *w)
{
    for (const struct held_step *s = held_marked(&a->held); s; s = s->marked_next)
        if (s->release_wanted && s->state < HELD_ENDED && idset_has(&s->gpus, (uint32_t)w->index))
            return true;
    return false;
}

static bool has_got(const struct held_step *s, const struct watched *w)
{
    return idset_has(&s->gpus, (uint32_t)w->index);
}

/* Of a step that was found it may not be known what it has: no note of it was read, or of a release
 * that told nothing of GPUs, or the device has a number that a note does not name. */
static bool may_have_got(const struct held_step *s, const struct watched *w)
{
    bool told = s->uid_plus1 && w->index < NOTED_MAX;
    return has_got(s, w) || (s->found && s->gpus.count == 0 && !told);
}

bool watched_is_kept(const struct agent *a, const struct watched *w)
{
    for (const struct held_step *s = held_marked(&a->held); s; s = s->marked_next)
        if (may_have_got(s, w) && s->state < (s->gpus.count ? HELD_OVER : HELD_ENDED))
            return true;
    return false;
}

static bool same_run(const struct look_step *a, const struct look_step *b)
{
    return a->job_id == b->job_id && a->attempt == b->attempt;
}

static bool is_among(const struct device_look *look, const struct look_step *s)
{
    for (uint32_t i = 0; i < look->nsteps; i++)
        if (same_run(&look->step[i], s) &&
            (look->step[i].step_id == LOOK_ALL_STEPS || look->step[i].step_id == s->step_id))
            return true;
    return false;
}

/* Each run in place of its steps. */
static void runs_for_steps(struct device_look *look)
{
    uint32_t n = look->nsteps;
    look->nsteps = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct look_step run = look->step[i];
        run.step_id = LOOK_ALL_STEPS;
        if (!is_among(look, &run))
            look->step[look->nsteps++] = run;
    }
}

static void steps_add(const struct agent *a, const struct watched *w,
                      bool (*goes_on)(const struct held_step *s, const struct watched *w),
                      struct device_look *look)
{
    for (const struct held_step *s = held_marked(&a->held); s; s = s->marked_next) {
        const struct look_step one = {s->job_id, s->attempt, s->step_id, s->uid_plus1};
        if (s->state <= HELD_WAITING || s->state >= HELD_ENDED || !goes_on(s, w))
            continue;
        if (look->nsteps == LOOK_STEPS_MAX)
            runs_for_steps(look);
        if (look->nsteps < LOOK_STEPS_MAX && !is_among(look, &one))
            look->step[look->nsteps++] = one;
    }
}

/* First those that are known to have it: with all of which that is not known there may be too many
 * for one look. */
static void steps_that_go_on(const struct agent *a, const struct watched *w,
                             struct device_look *look)
{
    steps_add(a, w, has_got, look);
    steps_add(a, w, may_have_got, look);
}

/* It is not in the former list of a step that began before the GPU was found, or under a release
 * that did not note it, nor where nothing was hidden. A step that has yet to say it is begun as the
 * node is now, which the shell knows. */
static bool is_hidden_from(const struct held_step *s, const struct watched *w)
{
    bool says_later = s->state == HELD_STARTING && !s->found;
    return says_later || (w->index < NOTED_MAX && s->hidden >> w->index & 1);
}

static bool is_apart(const struct agent *a, const struct watched *w)
{
    struct held_walk walk = {0};
    while (held_next(&a->held, &walk)) {
        const struct held_step *s = walk.step;
        bool is_here = s->state >= HELD_STARTING && s->state < HELD_ENDED;
        if (is_here && !has_got(s, w) && !is_hidden_from(s, w))
            return false;
    }
    return true;
}

/* What the launch gives it of this node: the step's part, or all of the job's. */
static void gpus_of(const struct agent *a, const struct msg_launch *l, struct idset *ret)
{
    const struct job *j = l->job.v;
    const struct step *step = l->step.n ? l->step.v : NULL;
    const char *text = step ? step->layout : j->alloc;
    if (!text ||
        !strstr(text,
                " " DEVICES_KIND)) /* a launch on thousands of nodes is not unfolded for nothing */
        return;
    struct arena *arena = arena_new();
    struct alloc al = {0};
    const struct alloc_node *here =
        alloc_parse(text, arena, &al, NULL) ? alloc_find(&al, a->node->name) : NULL;
    for (size_t i = 0; here && i < here->ngres; i++) {
        struct idset set = IDSET_INIT;
        uint32_t id;
        if (text_is(here->gres[i].kind, DEVICES_KIND) && here->gres[i].devices &&
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

static enum devices_answer may_have(const struct agent *a, const struct held_step *s,
                                    const struct watched *w)
{
    if (w->health.state == HEALTH_SUSPECT)
        return DEVICES_LATER;
    if (health_is_ill(&w->health))
        return DEVICES_REFUSED;
    if (watched_is_clean(w))
        return DEVICES_GIVEN;
    if (is_own(a, s, w))
        return w->settled ? DEVICES_GIVEN : DEVICES_LATER;
    if (is_leaving(a, w))
        return DEVICES_LATER;
    return watched_in_use(a, w) ? DEVICES_GIVEN : DEVICES_REFUSED;
}

/* It has some, or looked for them in vain; not so a node that shares its machine, or whose
 * gres.conf only counts them. */
static bool knows_its_gpus(const struct agent *a)
{
    const struct node *n = a->node;
    bool counted = n->real_gres && strstr(n->real_gres, DEVICES_KIND);
    return a->devices.n > 0 ||
           (!counted && (!text_empty(n->device_search) || !text_empty(n->device_trouble)));
}

/* The worst answer of those that it is to have, with the first reason for it. */
static enum devices_answer may_have_all(const struct agent *a, const struct held_step *s,
                                        const struct idset *gpus, struct str *why)
{
    enum devices_answer worst = DEVICES_GIVEN;
    uint32_t id;
    for (bool more = knows_its_gpus(a) && idset_first(gpus, &id); more;
         more = idset_next(gpus, id, &id))
        if (!watched_find(&a->devices, (int32_t)id)) {
            str_addf(why, "GPU %u of %s is not there any more", id, a->node->name);
            return DEVICES_REFUSED;
        }
    for (size_t i = 0; i < a->devices.n; i++) {
        const struct watched *w = &a->devices.v[i];
        enum devices_answer one =
            idset_has(gpus, (uint32_t)w->index) ? may_have(a, s, w) : DEVICES_GIVEN;
        if (one <= worst)
            continue;
        worst = one;
        str_clear(why);
        str_addf(why, "GPU %d of %s cannot be used: %s", w->index, a->node->name,
                 text_empty(w->why) ? devices_not_looked : w->why);
    }
    return worst;
}

enum devices_answer devices_give(struct turn *t, struct held_step *s, const struct msg_launch *l,
                                 struct str *why)
{
    ASSERT(l->job.n > 0 && s->job_id == ((const struct job *)l->job.v)->id);
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
        watched_set(w, HEALTH_IN_USE);
        w->use++;
        w->job_id = j->id;
        w->attempt = j->attempt;
        w->uid = j->user_id;
    }
    idset_done(&s->gpus);
    s->gpus = gpus;
    if (gpus.count > 0)
        held_mark(&a->held, s);
    return DEVICES_GIVEN;
}

/* Without its user, whom shepherds of older releases do not tell, the time would say something of
 * root's; another step of the run may have told him. */
static void found_since(struct watched *w, const struct held_step *s, const struct note *n)
{
    bool is_first = w->job_id != s->job_id || w->attempt != s->attempt || !w->from_us;
    bool is_known = s->uid_plus1 || !is_first;
    if (is_first || (n->start_us && n->start_us < w->from_us))
        w->from_us = is_known ? n->start_us : 0;
    if (s->uid_plus1 || is_first)
        w->uid = s->uid_plus1 ? (uint32_t)(s->uid_plus1 - 1) : 0;
    w->job_id = s->job_id;
    w->attempt = s->attempt;
}

void devices_found(struct turn *t, struct held_step *s, const struct note *n)
{
    ASSERT(n->gpus >= 0);
    struct devices *d = &t->a->devices;
    for (uint32_t index = 0; index < NOTED_MAX; index++)
        if (n->gpus >> index & 1)
            idset_add(&s->gpus, index); /* also one that the node finds later */
    for (size_t i = 0; i < d->n; i++) {
        struct watched *w = &d->v[i];
        if (w->index >= NOTED_MAX || !(n->gpus >> w->index & 1))
            continue;
        if (!health_is_ill(&w->health))
            watched_set(w, HEALTH_IN_USE);
        found_since(w, s, n);
    }
}

/* Who ran and had none may have been sent the file of one, and what holds it be gone with him. The
 * look is not at once: thousands may end. */
static void held_look_soon(struct turn *t)
{
    struct devices *d = &t->a->devices;
    int64_t soon_us = t->now_us + LOOK_PAUSE_US;
    bool any = false;
    for (size_t i = 0; i < d->n; i++)
        any |= d->v[i].health.state == HEALTH_HELD;
    if (!any)
        return;
    d->pause_us = LOOK_PAUSE_US; /* also where a look is under way, which may have come too early */
    if (d->due_us > soon_us)
        d->due_us = soon_us;
}

void devices_give_back(struct turn *t, const struct held_step *s)
{
    ASSERT(s->job_id);
    struct devices *d = &t->a->devices;
    if (!s->marked && s->pid)
        held_look_soon(t);
    if (!s->marked)
        return;
    for (size_t i = 0; i < d->n; i++) {
        struct watched *w = &d->v[i];
        if (!idset_has(&s->gpus, (uint32_t)w->index) || watched_is_clean(w) ||
            health_is_failed(&w->health))
            continue;
        if (!w->settled)
            w->use++; /* what a look that is under way sees was before */
        w->settled = false;
        if (!health_is_ill(&w->health)) {
            watched_set(w, watched_in_use(t->a, w) ? HEALTH_IN_USE : HEALTH_UNKNOWN);
            w->since_us = t->now_us;
            watched_why_set(w, devices_not_looked);
        }
        d->pause_us = LOOK_PAUSE_US;
    }
    devices_look(t);
}

bool devices_proven(const struct turn *t, const struct held_step *s)
{
    const struct devices *d = &t->a->devices;
    for (size_t i = 0; i < d->n; i++) {
        const struct watched *w = &d->v[i];
        if (idset_has(&s->gpus, (uint32_t)w->index) && !watched_is_clean(w) &&
            !health_is_ill(&w->health) && !watched_in_use(t->a, w))
            return false;
    }
    return true;
}

/* ---- looking ---- */

/* Whose processes may have been sent an open file of a device. */
static void users_here(const struct turn *t, struct agent_effect *e)
{
    uint32_t *user = arena_alloc(t->fx->arena, LOOK_USERS_MAX * sizeof *user);
    struct held_walk walk = {0};
    e->users = user;
    while (held_next(&t->a->held, &walk) && e->nusers < LOOK_USERS_MAX) {
        const struct held_step *s = walk.step;
        bool known = !s->uid_plus1 || s->state <= HELD_WAITING || s->state >= HELD_OVER;
        for (size_t i = 0; i < e->nusers && !known; i++)
            known = user[i] == (uint32_t)(s->uid_plus1 - 1);
        if (!known)
            user[e->nusers++] = (uint32_t)(s->uid_plus1 - 1);
    }
}

bool watched_wants_look(const struct agent *a, const struct watched *w)
{
    return !watched_is_clean(w) && !health_is_failed(&w->health) &&
           !(w->settled && watched_in_use(a, w));
}

void devices_look(struct turn *t)
{
    struct devices *d = &t->a->devices;
    size_t n = 0;
    bool any = false;
    for (size_t i = 0; i < d->n; i++)
        any |= watched_wants_look(t->a, &d->v[i]);
    d->due_us = INT64_MAX;
    if (!any) {
        d->looked = true;
        return;
    }
    if (d->looking) { /* again, when the answer is here: thousands of steps may end meanwhile */
        d->due_us = t->now_us + d->pause_us;
        return;
    }
    struct device_look *look = arena_alloc(t->fx->arena, d->n * sizeof *look);
    for (size_t i = 0; i < d->n; i++) {
        const struct watched *w = &d->v[i];
        if (!watched_wants_look(t->a, w))
            continue;
        look[n] = (struct device_look){.index = w->index,
                                       .use = w->use,
                                       .job_id = w->job_id,
                                       .uid = w->uid,
                                       .from_us = w->from_us,
                                       .apart = is_apart(t->a, w)};
        steps_that_go_on(t->a, w, &look[n++]);
    }
    d->looking = true;
    struct agent_effect *e = turn_effect(t, AGENT_LOOK);
    e->look = look;
    e->nlook = n;
    users_here(t, e);
}
