#include "node/daemon/herd_waits.h"

#include "base/alloc.h"
#include "base/vec.h"

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

struct waiting_plan {
    struct waiting_plan *next;
    struct note ids;
    struct str plan;
};

void waiting_plan_add(struct waiting_plan **list, const struct note *ids, struct str *plan)
{
    struct waiting_plan *w = xcalloc(1, sizeof *w);
    w->ids = *ids;
    w->plan = *plan;
    *plan = (struct str)STR_INIT;
    while (*list)
        list = &(*list)->next;
    *list = w;
}

bool waiting_plan_has(const struct waiting_plan *list, const struct note *step)
{
    while (list && !note_same_step(&list->ids, step))
        list = list->next;
    return list != NULL;
}

void waiting_plans_send(struct waiting_plan **list, struct conn *to)
{
    while (*list) {
        struct waiting_plan *w = *list;
        *list = w->next;
        if (to)
            conn_send(to, w->plan.data, w->plan.len);
        str_done(&w->plan);
        free(w);
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
