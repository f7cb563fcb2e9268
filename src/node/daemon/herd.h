/* The node daemon's side of the shepherds: starts their parent, sends plans, reads notes, gives
 * commands, and finds out about those it did not start itself. */
#ifndef REMUDA_NODE_DAEMON_HERD_H
#define REMUDA_NODE_DAEMON_HERD_H

#include "agent/note.h"
#include "base/err.h"
#include "io/log.h"
#include "io/loop.h"
#include "node/step/command.h"
#include "node/step/plan.h"

#include <stdbool.h>
#include <stdint.h>

struct herd_link; /* opaque */

struct herd_ops {
    /* A note came. */
    void (*note)(void *ctx, const struct note *n);
    /* The shepherds' parent died and another one serves now: whoever was asked for and has no
     * directory will never start. */
    void (*parent_lost)(void *ctx);
    /* What a sample of a step says (shepherd/watch/series.h), without its first word. */
    void (*series)(void *ctx, struct span line);
};

/* Makes NODE_DIR/steps and the socket for notes, and waits until no earlier parent can start steps
 * any more. `cgroups`: the bases (cgroup/base.h) in which steps of this node may have groups, those
 * of earlier daemons too. */
struct herd_link *herd_new(struct loop *l, struct log *log, const char *node_dir,
                           const char *shepherd_program, const char *cgroups,
                           const struct herd_ops *ops, void *ctx, struct err *ret_err);
void herd_free(struct herd_link *h); /* shepherds go on */

/* What is in NODE_DIR/steps, told by notes in the order they were written: found(ctx, ids) for each
 * step, then ctx's note for each of its notes, and GONE if its shepherd is gone without having
 * cleared everything. Before herd_serve. */
void herd_scan(struct herd_link *h, void (*found)(void *ctx, const struct note *ids));
/* Removes control groups of steps that have no directory any more, and those of jobs without steps:
 * some seconds after a step was forgotten it happens by itself. */
void herd_groups_tidy(struct herd_link *h);
/* The directory is another than that of a former daemon, and has no step: what still runs in
 * control groups of steps is nobody's, and its jobs may be told to run again. Ends it. */
void herd_lost_end(struct herd_link *h);
/* Begins the parent that forks shepherds; false = it cannot be begun now, which ret_err
 * explains. */
bool herd_serve_plans(struct herd_link *h, struct err *ret_err);

/* Its plan is still being made (its owner is looked up): until herd_start or herd_gave_up it is no
 * step that was asked for and never began. */
void herd_expect(struct herd_link *h, const struct note *step);
/* a step whose shepherd is not expected any more */
void herd_gave_up(struct herd_link *h, const struct note *step);
/* Makes NODE_DIR/steps anew where it was removed, and says so in the log. */
void herd_dir_keep(struct herd_link *h);
/* The plan is copied; while there is no parent it waits for the next. */
void herd_start(struct herd_link *h, const struct step_plan *p);
/* why_text goes into the step's directory: of WHY_FILE the reason, of COMMAND_FOLLOW address and
 * key. False if its shepherd is not there (any more): its notes, and GONE, were delivered then or
 * are on their way. */
bool herd_command(struct herd_link *h, const struct note *step, const struct step_command *c,
                  const char *why_text);
/* Is its shepherd alive? If not: delivers its notes from the state file, then GONE. A step without
 * a directory counts as not begun: nothing is delivered unless `must_have_begun`. */
void herd_look_after(struct herd_link *h, const struct note *step, bool must_have_begun);
/* Kills what is left of a step whose shepherd is gone, and whose owner is that user (0: whoever it
 * is). */
void herd_clear(struct herd_link *h, const struct note *step, int64_t uid_plus1);
/* The shepherd of a step that is to end says nothing: if it is gone, delivers that; if it stands
 * still, makes it go on, or (ends) ends the step without it, and delivers NOTE_STUCK. */
void herd_rouse(struct herd_link *h, const struct note *step, bool ends, int64_t uid_plus1);
/* Removes the step's directory. */
void herd_forget(struct herd_link *h, const struct note *step);
/* What the step kept for its epilog; false if nothing. */
struct str;
/* Appends the job as it came with that step; false = it is not kept any more. */
bool herd_kept(struct herd_link *h, const struct note *step, struct str *out);
const char *herd_node_dir(const struct herd_link *h); /* steps have theirs below it */

#endif
