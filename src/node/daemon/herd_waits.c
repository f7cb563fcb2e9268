#include "node/daemon/herd_waits.h"

#include "base/alloc.h"
#include "base/map.h"
#include "base/vec.h"
#include "node/step/dir.h"

#include <stdlib.h>

#define AGAIN_US   INT64_C(500000)
#define MOST       4096u
#define MOST_TURNS 16u /* of one step, that each have their turn */
#define ALL_TURNS  (MOST / 2)
#define ALL_FIRSTS (MOST / 4 * 3) /* of them, where the step has none yet */

bool note_same_step(const struct note *a, const struct note *b)
{
    return a->job_id == b->job_id && a->attempt == b->attempt && a->step_id == b->step_id;
}

/* ---- plans ---- */

/* By the name of its step's directory: tens of thousands may wait at once. */
struct waiting_plans {
    struct map_str *of;
};

struct waiting_plan {
    bool made; /* else it is only expected */
    struct str plan;
};

struct waiting_plans *waiting_plans_new(void)
{
    struct waiting_plans *w = xcalloc(1, sizeof *w);
    w->of = map_str_new();
    return w;
}

static void plan_free(struct waiting_plan *plan)
{
    str_done(&plan->plan);
    free(plan);
}

void waiting_plans_free(struct waiting_plans *w)
{
    struct map_walk at = {0};
    if (!w)
        return;
    while (map_str_next(w->of, &at))
        plan_free(at.value);
    map_str_free(w->of);
    free(w);
}

static void name_of(const struct note *step, struct str *ret)
{
    step_dir_name((uint64_t)step->job_id, (uint32_t)step->attempt, step->step_id, ret);
}

/* One that waited or was expected before counts no more: the order is that of the latest word. */
static void plan_put(struct waiting_plans *w, const struct note *ids, struct waiting_plan of)
{
    struct str name = STR_INIT;
    name_of(ids, &name);
    struct waiting_plan *before = map_str_del(w->of, str_text(&name));
    if (before)
        plan_free(before);
    map_str_put(w->of, str_text(&name), xmemdup(&of, sizeof of));
    str_done(&name);
}

void waiting_plan_expect(struct waiting_plans *w, const struct note *step)
{
    ASSERT(step->job_id);
    if (!waiting_plan_has(w, step))
        plan_put(w, step, (struct waiting_plan){.made = false});
}

void waiting_plan_gave_up(struct waiting_plans *w, const struct note *step)
{
    struct str name = STR_INIT;
    name_of(step, &name);
    struct waiting_plan *plan = map_str_get(w->of, str_text(&name));
    if (plan && !plan->made)
        plan_free(map_str_del(w->of, str_text(&name)));
    str_done(&name);
}

void waiting_plan_add(struct waiting_plans *w, const struct note *ids, struct str *plan)
{
    ASSERT(ids->job_id);
    plan_put(w, ids, (struct waiting_plan){.made = true, .plan = *plan});
    *plan = (struct str)STR_INIT;
}

bool waiting_plan_has(const struct waiting_plans *w, const struct note *step)
{
    struct str name = STR_INIT;
    name_of(step, &name);
    bool has = map_str_get(w->of, str_text(&name)) != NULL;
    str_done(&name);
    return has;
}

void waiting_plans_send(struct waiting_plans *w, struct conn *to)
{
    struct map_walk at = {0};
    while (map_str_next(w->of, &at)) {
        struct waiting_plan *plan = at.value;
        if (!plan->made)
            continue;
        conn_send(to, plan->plan.data, plan->plan.len);
        plan_free(map_str_del(w->of, at.text));
    }
}

/* ---- what is tried again ---- */

struct retry_list {
    VEC(struct retry) of;
};

struct retries {
    struct timer *timer;
    void (*again)(void *ctx, const struct retry *r);
    void *ctx;
    struct retry_list list;
};

static void list_free(struct retry_list *list)
{
    for (size_t i = 0; i < list->of.n; i++)
        free((char *)(uintptr_t)list->of.v[i].text);
    vec_done(&list->of);
}

static void try_again(void *ctx)
{
    struct retries *r = ctx;
    struct retry_list list = r->list;
    r->list = (struct retry_list){0};
    for (size_t i = 0; i < list.of.n; i++)
        r->again(r->ctx, &list.of.v[i]);
    list_free(&list);
}

struct retries *retries_new(struct loop *l, void (*again)(void *ctx, const struct retry *r),
                            void *ctx)
{
    ASSERT(again);
    struct retries *r = xcalloc(1, sizeof *r);
    *r = (struct retries){.timer = timer_new(l, try_again, r), .again = again, .ctx = ctx};
    return r;
}

void retries_free(struct retries *r)
{
    if (!r)
        return;
    timer_free(r->timer);
    list_free(&r->list);
    free(r);
}

static bool has_turn(const struct retry *one)
{
    return one->is_command && command_has_turn(one->command.op);
}

/* Each waits for half a second at least, and anybody may give his own step one after the other, in
 * as many steps as he likes. Half of the room they do not get: in a part of it each step's first
 * waits, which another's many do not keep out, and the rest is for what is no such command. */
static bool has_enough(const struct retries *r, const struct retry *what)
{
    size_t of_step = 0, all = 0;
    for (size_t i = 0; has_turn(what) && i < r->list.of.n; i++)
        if (has_turn(&r->list.of.v[i])) {
            all++;
            of_step += note_same_step(&r->list.of.v[i].step, &what->step);
        }
    return of_step >= MOST_TURNS || all >= (of_step > 0 ? ALL_TURNS : ALL_FIRSTS);
}

bool retries_add(struct retries *r, const struct retry *what)
{
    struct retry copy = *what;
    if (has_enough(r, what))
        return true;
    if (r->list.of.n >= MOST)
        return false;
    copy.text = what->text ? xstrdup(what->text) : NULL;
    if (r->list.of.n == 0)
        timer_set(r->timer, AGAIN_US);
    vec_push(&r->list.of, copy);
    return true;
}

bool retries_have_command(const struct retries *r, const struct note *step, enum command_op op)
{
    for (size_t i = 0; i < r->list.of.n; i++) {
        const struct retry *one = &r->list.of.v[i];
        if (one->is_command && note_same_step(&one->step, step) &&
            (command_has_turn(op) || !command_has_turn(one->command.op)))
            return true;
    }
    return false;
}
