/* Triggers.
 *
 * A trigger waits until something happens. Then it is *pulled*: when it is due and what happened to
 * stand in its row, in the same commit as the event itself, so that neither is lost alone. When it
 * is due its program is let out to be run, and in the same commit the row goes, or waits again. So
 * a program runs once for what happened, whatever crashes: not at all only if the controller is
 * killed between that commit and the start of the program.
 *
 * Of nodes what happens within COLLECT_US is told to one run of the program: a switch that fails
 * takes fifty nodes with it, and a trigger that does not stay would miss forty-nine. */
#include "core/record/triggers.h"

#include "base/list.h"

#include <stdio.h>
#include <string.h>

#define COLLECT_US (5 * USEC_PER_SEC)
#define RUN_MOST   8  /* programs at a time; the others wait */
#define SAVE_ALL   64 /* so many nodes of an event are stored one by one, more as they double */

/* How a node is, for triggers. DOWN stays until it is up. */
enum { IS_DOWN = 1, IS_DRAIN = 2, IS_DRAINED = 4, IS_FAIL = 8, IS_IDLE = 16 };

static bool has(const struct trigger *t, enum trigger_event event)
{
    return t->events >> event & 1;
}

/* ---- which there are ---- */

static void counts_add(struct core *c, const struct trigger *t, int by)
{
    c->triggers.of_jobs += (uint32_t)(by * (t->job_id != 0));
    c->triggers.of_nodes += (uint32_t)(by * ((t->events & TRIGGER_NODE_BITS) != 0));
    c->triggers.timed += (uint32_t)(by * has(t, TRIGGER_EVENT_TIME));
    c->triggers.changed = true;
}

static struct triggerrec *keep(struct core *c, const struct trigger *row)
{
    struct triggerrec *t = xcalloc(1, sizeof *t);
    record_take(c, &trigger_fields, &t->t, row);
    vec_push(&c->triggers.of, t);
    counts_add(c, &t->t, 1);
    return t;
}

static void rec_free(struct triggerrec *t)
{
    idset_done(&t->hit);
    free(t);
}

void triggers_free(struct core *c)
{
    for (size_t i = 0; i < c->triggers.of.n; i++)
        rec_free(c->triggers.of.v[i]);
    vec_done(&c->triggers.of);
    vec_done(&c->triggers.ended);
}

/* The nodes it was pulled by are known by number again; all else stays a word. */
static void hits_read(struct core *c, struct triggerrec *t)
{
    struct hostlist list = HOSTLIST_INIT;
    struct str words = STR_INIT;
    if (t->t.what && hostlist_parse(&list, t->t.what, NULL)) {
        for (size_t i = 0; i < list.n; i++) {
            const struct noderec *n = node_find(c, list.name[i]);
            if (n)
                idset_add(&t->hit, n->index);
            else
                str_addf(&words, "%s%s", words.len ? "," : "", list.name[i]);
        }
        text_set(c, &t->t.what, str_text(&words));
    }
    str_done(&words);
    hostlist_done(&list);
}

void triggers_load(struct core *c, const struct trigger *row)
{
    hits_read(c, keep(c, row));
    if (row->id > c->triggers.last)
        c->triggers.last = row->id;
}

/* What its program is told. */
static void what_add(const struct core *c, const struct triggerrec *t, struct str *out)
{
    struct hostlist list = HOSTLIST_INIT;
    uint32_t node;
    str_add(out, t->t.what ? t->t.what : "");
    for (bool more = idset_first(&t->hit, &node); more; more = idset_next(&t->hit, node, &node))
        hostlist_add(&list, c->node.v[node]->n.name);
    hostlist_sort(&list);
    if (out->len && list.n)
        str_addc(out, ',');
    hostlist_fold(&list, out);
    hostlist_done(&list);
}

static void save(struct core *c, struct triggerrec *t)
{
    struct trigger row = t->t;
    struct str what = STR_INIT;
    what_add(c, t, &what);
    row.what = what.len ? str_text(&what) : NULL;
    fx_store(c, TABLE_TRIGGER, &row);
    t->saved = (uint32_t)t->hit.count;
    str_done(&what);
}

uint32_t trigger_add(struct core *c, const struct trigger *t)
{
    ASSERT(t->events && t->program && t->user_id != UINT32_MAX);
    struct str text = STR_INIT;
    struct trigger row = *t;
    row.id = ++c->triggers.last;
    save(c, keep(c, &row));
    str_add_u64(&text, row.id);
    fx_store(c, TABLE_META, &(struct meta){.key = "last_trigger", .value = str_text(&text)});
    str_done(&text);
    for (size_t i = 0; i < c->node.n; i++) /* those that are idle already count */
        triggers_node(c, c->node.v[i]);
    return row.id;
}

void trigger_remove(struct core *c, struct triggerrec *t)
{
    ASSERT(t->t.id);
    fx_remove(c, TABLE_TRIGGER, &t->t);
    counts_add(c, &t->t, -1);
    for (size_t i = 0; i < c->triggers.of.n; i++)
        if (c->triggers.of.v[i] == t) {
            vec_remove(&c->triggers.of, i);
            break;
        }
    record_drop(c, &trigger_fields, &t->t);
    rec_free(t);
}

bool trigger_of_job(const struct trigger *t, const struct jobrec *r)
{
    if (!t->job_id)
        return false;
    if (t->task_plus1)
        return r->j.array_job_id == t->job_id && r->j.array_task_id == t->task_plus1 - 1;
    return r->j.id == t->job_id || r->j.array_job_id == t->job_id || r->j.het_job_id == t->job_id;
}

/* ---- being pulled ---- */

static void pull(struct core *c, struct triggerrec *t, int64_t collect_us)
{
    int64_t after = t->t.offset > 0 ? t->t.offset * USEC_PER_SEC : 0;
    c->triggers.changed = true;
    if (!t->t.due_us)
        t->t.due_us = time_add(c->turn.now_us, after > collect_us ? after : collect_us);
    else if (t->hit.count > SAVE_ALL && t->hit.count < 2 * t->saved)
        return;
    save(c, t);
}

static void pull_word(struct core *c, struct triggerrec *t, const char *word)
{
    struct str words = STR_INIT;
    if (!list_has(t->t.what, word)) {
        str_addf(&words, "%s%s%s", t->t.what ? t->t.what : "", text_empty(t->t.what) ? "" : ",",
                 word);
        text_set(c, &t->t.what, str_text(&words));
    }
    str_done(&words);
    pull(c, t, 0);
}

/* ---- nodes ---- */

static bool job_on(const struct core *c, const struct trigger *t, const struct noderec *n)
{
    for (size_t i = 0; i < n->job.n; i++) {
        const struct jobrec *r = job_find(c, n->job.v[i]);
        if (r && trigger_of_job(t, r))
            return true;
    }
    return false;
}

/* A job that goes on without a node that went down is to hear that it is up. */
static bool job_had(const struct core *c, const struct trigger *t, const struct noderec *n)
{
    const struct jobrec *r = t->task_plus1 ? NULL : job_find(c, t->job_id);
    struct hostlist nodes = HOSTLIST_INIT;
    bool had = r && job_live(r) && r->j.nodes && hostlist_parse(&nodes, r->j.nodes, NULL) &&
               hostlist_has(&nodes, n->n.name);
    hostlist_done(&nodes);
    return had;
}

static bool wants_node(const struct core *c, const struct trigger *t, const struct noderec *n)
{
    struct hostlist nodes = HOSTLIST_INIT;
    if (t->job_id)
        return job_on(c, t, n) || job_had(c, t, n);
    bool wants =
        !t->nodes || (hostlist_parse(&nodes, t->nodes, NULL) && hostlist_has(&nodes, n->n.name));
    hostlist_done(&nodes);
    return wants;
}

static void node_event(struct core *c, const struct noderec *n, uint32_t events)
{
    for (size_t i = 0; i < c->triggers.of.n; i++) {
        struct triggerrec *t = c->triggers.of.v[i];
        if (!(t->t.events & events) || !wants_node(c, &t->t, n) || idset_has(&t->hit, n->index))
            continue;
        idset_add(&t->hit, n->index);
        pull(c, t, COLLECT_US);
    }
}

static uint32_t node_is(const struct noderec *n)
{
    bool drain = n->n.drain && n->n.state != NODE_FUTURE, down = n->n.state == NODE_DOWN;
    bool still_down = n->is & IS_DOWN && n->n.state != NODE_UP;
    bool idle = n->n.state == NODE_UP && n->conn && !drain && !n->n.fail && !n->job.n;
    return (down || still_down ? IS_DOWN : 0) | (drain ? IS_DRAIN : 0) |
           (drain && !n->job.n ? IS_DRAINED : 0) | (n->n.fail ? IS_FAIL : 0) | (idle ? IS_IDLE : 0);
}

void triggers_node(struct core *c, struct noderec *n)
{
    ASSERT(c->node.v[n->index] == n);
    uint32_t was = n->is, is = node_is(n), came = is & ~was, went = was & ~is;
    if (is == was)
        return;
    n->is = (uint8_t)is;
    if (came & IS_IDLE)
        n->idle_us = c->turn.now_us;
    if (!c->store.loaded || !c->triggers.of_nodes)
        return;
    c->triggers.changed |= (came & IS_IDLE) != 0;
    bool resumed = went & (IS_DRAIN | IS_FAIL) && !(is & (IS_DRAIN | IS_FAIL));
    uint32_t events =
        (came & IS_DOWN ? TRIGGER_BIT(DOWN) : 0) | (went & IS_DOWN ? TRIGGER_BIT(UP) : 0) |
        (came & IS_DRAIN ? TRIGGER_BIT(DRAINING) : 0) |
        (came & IS_DRAINED ? TRIGGER_BIT(DRAINED) : 0) | (came & IS_FAIL ? TRIGGER_BIT(FAIL) : 0) |
        (resumed ? TRIGGER_BIT(RESUME) : 0);
    if (events)
        node_event(c, n, events);
}

/* Since when it has been idle for as long as the trigger asks for. */
static int64_t idle_from(const struct trigger *t, const struct noderec *n)
{
    return time_add(n->idle_us, t->offset > 0 ? t->offset * USEC_PER_SEC : 0);
}

/* When it is due by nodes that stay idle, as far as it was not told of them. */
static int64_t idle_due(const struct core *c, const struct trigger *t)
{
    int64_t due = INT64_MAX;
    for (size_t i = 0; i < c->node.n; i++) {
        const struct noderec *n = c->node.v[i];
        if (n->is & IS_IDLE && idle_from(t, n) > t->told_us && idle_from(t, n) < due &&
            wants_node(c, t, n))
            due = idle_from(t, n);
    }
    return due;
}

/* The time has passed already: it runs now. */
static void idle_pull(struct core *c, struct triggerrec *t)
{
    for (size_t i = 0; i < c->node.n; i++) {
        const struct noderec *n = c->node.v[i];
        int64_t from = idle_from(&t->t, n);
        if (n->is & IS_IDLE && from > t->t.told_us && from <= c->turn.now_us &&
            wants_node(c, &t->t, n))
            idset_add(&t->hit, n->index);
    }
    t->t.told_us = c->turn.now_us;
    t->t.due_us = c->turn.now_us;
    save(c, t);
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
    if (has(&t->t, TRIGGER_EVENT_FINI))
        pull_word(c, t, job_word(&t->t, text, sizeof text));
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
        if (has(t, TRIGGER_EVENT_TIME) && !t->due_us && t->told_us < r->j.start_us &&
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
        if (!has(&t->t, TRIGGER_EVENT_TIME) || t->t.due_us || t->t.told_us >= r->j.start_us ||
            !trigger_of_job(&t->t, r) || end - before > c->turn.now_us)
            continue;
        struct trigger of_element = {.job_id = r->j.array_job_id ? r->j.array_job_id : r->j.id};
        if (r->j.array_job_id)
            of_element.task_plus1 = r->j.array_task_id + 1;
        t->t.told_us = r->j.start_us;
        pull_word(c, t, job_word(&of_element, text, sizeof text));
    }
}

/* ---- the cluster ---- */

void triggers_site(struct core *c, uint32_t events)
{
    for (size_t i = 0; i < c->triggers.of.n; i++)
        for (size_t e = 0; e < TRIGGER_EVENT_COUNT; e++)
            if (events >> e & 1 && has(&c->triggers.of.v[i]->t, (enum trigger_event)e))
                pull_word(c, c->triggers.of.v[i], trigger_events[e].word);
}

/* ---- running ---- */

/* False: it is gone. */
static bool let_run(struct core *c, struct triggerrec *t)
{
    struct str what = STR_INIT;
    struct effect *e = effect_add(c->turn.fx, FX_PROGRAM);
    what_add(c, t, &what);
    e->program.uid = t->t.user_id;
    e->program.gid = t->t.group_id;
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
    save(c, t);
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
        if (has(&t->t, TRIGGER_EVENT_IDLE) && !t->t.due_us && idle_due(c, &t->t) <= c->turn.now_us)
            idle_pull(c, t);
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
        else if (has(t, TRIGGER_EVENT_IDLE))
            due = idle_due(c, t);
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
        save(c, t);
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
        timed += has(&t->t, TRIGGER_EVENT_TIME);
    }
    CHECK(of_jobs == c->triggers.of_jobs && of_nodes == c->triggers.of_nodes &&
          timed == c->triggers.timed && !c->triggers.ended.n);
}

void triggers_show(const struct core *c, const struct view *v)
{
    for (size_t i = 0; i < c->triggers.of.n; i++) {
        struct trigger copy = c->triggers.of.v[i]->t;
        struct str what = STR_INIT;
        what_add(c, c->triggers.of.v[i], &what);
        copy.what = what.len ? str_text(&what) : NULL;
        v->row(v->ctx, &copy);
        str_done(&what);
    }
}
