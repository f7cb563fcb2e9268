/* Triggers.
 *
 * A trigger waits until something happens. Then it is *pulled*: when it is due and what happened to
 * stand in its row, in the same commit as the event itself, so that neither is lost alone. When it
 * is due its program is let out to be run, and in the same commit the row goes, or waits again. So
 * a program runs once for what happened, whatever crashes: not at all only if the controller is
 * killed between that commit and the start of the program. */
#include "core/record/triggers/triggers.h"

#include "core/record/triggers/inside.h"

#include <stdio.h>

#define RUN_MOST 8 /* programs at a time; the others wait */

uint32_t trigger_add(struct core *c, const struct trigger *t)
{
    ASSERT(t->events && t->program && t->user_id != UINT32_MAX);
    struct str text = STR_INIT;
    struct trigger row = *t;
    row.id = ++c->triggers.last;
    trigger_save(c, trigger_keep(c, &row));
    str_add_u64(&text, row.id);
    fx_store(c, TABLE_META, &(struct meta){.key = "last_trigger", .value = str_text(&text)});
    str_done(&text);
    for (size_t i = 0; i < c->node.n; i++) /* those that are idle already count */
        triggers_node(c, c->node.v[i]);
    return row.id;
}

/* ---- jobs ---- */

void triggers_job_over(struct core *c, const struct jobrec *r)
{
    ASSERT(!job_live(r));
    if (c->triggers.of_jobs)
        vec_push(&c->triggers.ended, r->j.id);
}

/* All that it is about is over, or is not known any more. */
static bool all_over(const struct core *c, const struct trigger *t)
{
    const struct jobrec *r = job_find(c, t->job_id);
    if (t->task_plus1) {
        struct arrayrec *array = array_of(c, t->job_id);
        const struct jobrec *element =
            array ? map_u64_get(array->element, t->task_plus1 - 1) : NULL;
        return element ? !job_live(element)
                       : !(r && job_is_array(r) && idset_has(&r->pending, t->task_plus1 - 1));
    }
    if (!array_over(c, t->job_id) || (r && job_live(r)))
        return false;
    jobrec_vec parts = {0};
    bool over = true;
    if (r && r->j.het_job_id == t->job_id)
        components_find(c, t->job_id, &parts);
    for (size_t i = 0; i < parts.n; i++)
        over = over && !job_live(parts.v[i]);
    vec_done(&parts);
    return over;
}

static const char *job_word(const struct trigger *t, char *text, size_t size)
{
    if (t->task_plus1)
        snprintf(text, size, "%llu_%u", (unsigned long long)t->job_id, t->task_plus1 - 1);
    else
        snprintf(text, size, "%llu", (unsigned long long)t->job_id);
    return text;
}

/* What waits for nothing that can still come goes. */
static void job_ended(struct core *c, struct triggerrec *t)
{
    char text[48];
    if (t->t.due_us || !all_over(c, &t->t))
        return;
    if (trigger_has(&t->t, TRIGGER_EVENT_FINI))
        trigger_pull_word(c, t, job_word(&t->t, text, sizeof text));
    else if (!t->t.permanent)
        trigger_remove(c, t);
}

static void ended_look(struct core *c)
{
    for (size_t k = 0; k < c->triggers.ended.n; k++) {
        const struct jobrec *r = job_find(c, c->triggers.ended.v[k]);
        for (size_t i = c->triggers.of.n; i-- > 0;)
            if (r && !job_live(r) && trigger_of_job(&c->triggers.of.v[i]->t, r))
                job_ended(c, c->triggers.of.v[i]);
    }
    vec_clear(&c->triggers.ended);
}

void triggers_forget(struct core *c, const struct jobrec *r)
{
    for (size_t i = c->triggers.of.n; c->triggers.of_jobs && i-- > 0;) {
        struct triggerrec *t = c->triggers.of.v[i];
        if (!t->t.due_us && trigger_of_job(&t->t, r) && all_over(c, &t->t))
            trigger_remove(c, t);
    }
}

int64_t due_trigger(const struct core *c, const struct jobrec *r)
{
    int64_t due = INT64_MAX, end = c->triggers.timed ? job_limit_end(c, r) : INT64_MAX;
    for (size_t i = 0; end != INT64_MAX && i < c->triggers.of.n; i++) {
        const struct trigger *t = &c->triggers.of.v[i]->t;
        int64_t before = t->offset < 0 ? -t->offset * USEC_PER_SEC : 0;
        if (trigger_has(t, TRIGGER_EVENT_TIME) && !t->due_us && t->told_us < r->j.start_us &&
            trigger_of_job(t, r) && end - before < due)
            due = end - before;
    }
    return due;
}

void triggers_time(struct core *c, const struct jobrec *r)
{
    char text[48];
    int64_t end = job_limit_end(c, r);
    for (size_t i = 0; c->triggers.timed && end != INT64_MAX && i < c->triggers.of.n; i++) {
        struct triggerrec *t = c->triggers.of.v[i];
        int64_t before = t->t.offset < 0 ? -t->t.offset * USEC_PER_SEC : 0;
        if (!trigger_has(&t->t, TRIGGER_EVENT_TIME) || t->t.due_us ||
            t->t.told_us >= r->j.start_us || !trigger_of_job(&t->t, r) ||
            end - before > c->turn.now_us)
            continue;
        struct trigger of_element = {.job_id = r->j.array_job_id ? r->j.array_job_id : r->j.id};
        if (r->j.array_job_id)
            of_element.task_plus1 = r->j.array_task_id + 1;
        t->t.told_us = r->j.start_us;
        trigger_pull_word(c, t, job_word(&of_element, text, sizeof text));
    }
}

/* ---- the cluster ---- */

void triggers_site(struct core *c, uint32_t events)
{
    for (size_t i = 0; i < c->triggers.of.n; i++)
        for (size_t e = 0; e < TRIGGER_EVENT_COUNT; e++)
            if (events >> e & 1 && trigger_has(&c->triggers.of.v[i]->t, (enum trigger_event)e))
                trigger_pull_word(c, c->triggers.of.v[i], trigger_events[e].word);
}

/* ---- running ---- */

/* False: it is gone. */
static bool let_run(struct core *c, struct triggerrec *t)
{
    struct str what = STR_INIT;
    struct effect *e = effect_add(c->turn.fx, FX_PROGRAM);
    trigger_what_add(c, t, &what);
    e->program.uid = t->t.user_id;
    e->program.gid = t->t.group_id;
    e->program.user = arena_strdup(c->turn.fx->arena, t->t.user_name);
    e->program.trigger = t->t.id;
    e->program.line = arena_strdup(c->turn.fx->arena, t->t.program);
    e->program.argument = arena_strdup(c->turn.fx->arena, str_text(&what));
    str_done(&what);
    c->triggers.running++;
    c->triggers.changed = true;
    if (!t->t.permanent) {
        trigger_remove(c, t);
        return false;
    }
    t->t.due_us = 0;
    text_set(c, &t->t.what, NULL);
    idset_done(&t->hit);
    t->hit = IDSET_INIT;
    trigger_save(c, t);
    return true;
}

static void run_due(struct core *c, uint32_t events)
{
    for (size_t i = 0; i < c->triggers.of.n && c->triggers.running < RUN_MOST;) {
        struct triggerrec *t = c->triggers.of.v[i];
        bool due = t->t.events & events && t->t.due_us && t->t.due_us <= c->turn.now_us;
        i += !due || let_run(c, t);
    }
}

void triggers_run(struct core *c)
{
    for (size_t i = 0; i < c->triggers.of.n; i++) {
        struct triggerrec *t = c->triggers.of.v[i];
        if (trigger_has(&t->t, TRIGGER_EVENT_IDLE) && !t->t.due_us &&
            trigger_idle_due(c, &t->t) <= c->turn.now_us)
            trigger_idle_pull(c, t);
    }
    run_due(c, UINT32_MAX);
    c->triggers.changed = true;
}

void triggers_store_away(struct core *c)
{
    uint32_t events = TRIGGER_BIT(ACCOUNTING_FAILURE) | TRIGGER_BIT(DATABASE_FAILURE);
    triggers_site(c, events);
    run_due(c, events);
}

void triggers_over(struct core *c)
{
    if (c->triggers.running)
        c->triggers.running--;
    c->triggers.changed = true;
}

void triggers_settle(struct core *c)
{
    ended_look(c);
    if (!c->triggers.changed)
        return;
    c->triggers.changed = false;
    c->triggers.due_us = INT64_MAX;
    for (size_t i = 0; i < c->triggers.of.n; i++) {
        const struct trigger *t = &c->triggers.of.v[i]->t;
        int64_t due = INT64_MAX;
        if (t->due_us)
            due = c->triggers.running < RUN_MOST ? t->due_us : INT64_MAX;
        else if (trigger_has(t, TRIGGER_EVENT_IDLE))
            due = trigger_idle_due(c, t);
        c->triggers.due_us = due < c->triggers.due_us ? due : c->triggers.due_us;
    }
}

int64_t triggers_due(const struct core *c)
{
    return c->triggers.of.n ? c->triggers.due_us : INT64_MAX;
}

void triggers_move(struct core *c, int64_t by_us)
{
    for (size_t i = 0; i < c->node.n; i++)
        if (c->node.v[i]->idle_us)
            c->node.v[i]->idle_us += by_us;
    for (size_t i = 0; i < c->triggers.of.n; i++) {
        struct triggerrec *t = c->triggers.of.v[i];
        if (!t->t.due_us && !t->t.told_us)
            continue;
        t->t.due_us += t->t.due_us ? by_us : 0;
        t->t.told_us += t->t.told_us ? by_us : 0;
        trigger_save(c, t);
    }
    c->triggers.changed = true;
}

void triggers_restore(struct core *c)
{
    for (size_t i = c->triggers.of.n; i-- > 0;) {
        struct triggerrec *t = c->triggers.of.v[i];
        const struct jobrec *r = job_find(c, t->t.job_id);
        if (t->t.job_id && !t->t.due_us && !r && !array_of(c, t->t.job_id))
            trigger_remove(c, t);
        else if (t->t.job_id)
            job_ended(c, t);
    }
    for (size_t i = 0; i < c->node.n; i++)
        triggers_node(c, c->node.v[i]);
}

void triggers_check(const struct core *c)
{
    uint32_t of_jobs = 0, of_nodes = 0, timed = 0;
    for (size_t i = 0; i < c->triggers.of.n; i++) {
        const struct triggerrec *t = c->triggers.of.v[i];
        CHECK(t->t.id && t->t.id <= c->triggers.last && t->t.events && t->t.program);
        CHECK(!i || c->triggers.of.v[i - 1]->t.id < t->t.id);
        CHECK(t->t.due_us || (!t->hit.count && text_empty(t->t.what)));
        CHECK(t->t.job_id || !(t->t.events & TRIGGER_JOB_BITS));
        CHECK(!t->t.job_id || t->t.due_us || t->t.permanent || !all_over(c, &t->t));
        of_jobs += t->t.job_id != 0;
        of_nodes += (t->t.events & TRIGGER_NODE_BITS) != 0;
        timed += trigger_has(&t->t, TRIGGER_EVENT_TIME);
    }
    CHECK(of_jobs == c->triggers.of_jobs && of_nodes == c->triggers.of_nodes &&
          timed == c->triggers.timed && !c->triggers.ended.n);
}

void triggers_show(const struct core *c, const struct view *v)
{
    for (size_t i = 0; i < c->triggers.of.n; i++) {
        struct trigger copy = c->triggers.of.v[i]->t;
        struct str what = STR_INIT;
        trigger_what_add(c, c->triggers.of.v[i], &what);
        copy.what = what.len ? str_text(&what) : NULL;
        v->row(v->ctx, &copy);
        str_done(&what);
    }
}
