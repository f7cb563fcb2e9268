/* What a node daemon cannot do yet for its steps: plans while there is no parent of shepherds, and
 * looks and commands for which there is no descriptor or memory at the moment. */
#ifndef REMUDA_NODE_DAEMON_HERD_WAITS_H
#define REMUDA_NODE_DAEMON_HERD_WAITS_H

#include "agent/note.h"
#include "base/str.h"
#include "io/loop.h"
#include "io/net/conn.h"
#include "node/step/command.h"

#include <stdbool.h>

/* Do both speak of the same run of a step? */
bool note_same_step(const struct note *a, const struct note *b);

struct waiting_plans; /* opaque */

struct waiting_plans *waiting_plans_new(void);    /* empty; never NULL */
void waiting_plans_free(struct waiting_plans *w); /* NULL is fine */
/* The step's plan is still being made: until waiting_plan_gave_up or waiting_plan_add. */
void waiting_plan_expect(struct waiting_plans *w, const struct note *step);
/* It is not expected any more; one that is made goes on waiting. */
void waiting_plan_gave_up(struct waiting_plans *w, const struct note *step);
/* Behind those that are made; takes ownership of the text. */
void waiting_plan_add(struct waiting_plans *w, const struct note *ids, struct str *plan);
/* Is there one of that step, or expected? */
bool waiting_plan_has(const struct waiting_plans *w, const struct note *step);
/* Those that are made, in order; they wait no more. */
void waiting_plans_send(struct waiting_plans *w, struct conn *to);

/* A look (herd_look_after), or a command (herd_command) with its text. */
struct retry {
    struct note step;
    bool must_have_begun; /* a look */
    bool is_command;
    struct step_command command;
    int tries;        /* to give it, so far */
    const char *text; /* NULL = none */
};

/* So often, half a second apart, a command waits until the shepherd has read the file of the one
 * before; one of an earlier release never removes it. */
#define COMMAND_TRIES 10

struct retries; /* opaque */

/* again(ctx, retry) for each that was added, in order, half a second later; it may add it again. */
struct retries *retries_new(struct loop *l, void (*again)(void *ctx, const struct retry *r),
                            void *ctx);
void retries_free(struct retries *r); /* NULL is fine */
/* Copied, its text too. Beyond some thousands it is dropped: false. Commands of one step that each
 * have a turn (step/command.h) are dropped without a word, true, where many of it wait, or very
 * many of all steps. */
bool retries_add(struct retries *r, const struct retry *what);
/* Is there a command to that step that one of `op` must not overtake? What ends or signals a step
 * does not wait for who wants to see or say something. */
bool retries_have_command(const struct retries *r, const struct note *step, enum command_op op);

#endif
