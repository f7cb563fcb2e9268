/* What a node's daemon finds in its directory before it serves (the steps, and the lock of those
 * who start them), and what it leaves there for shepherds. Only herd.c includes this. */
#ifndef REMUDA_NODE_DAEMON_HERD_FILES_H
#define REMUDA_NODE_DAEMON_HERD_FILES_H

#include "agent/note.h"
#include "base/err.h"
#include "base/str.h"
#include "node/step/command.h"
#include "node/step/plan.h"

#include <stdbool.h>
#include <sys/types.h>

/* NODE_DIR/steps, made where it is not there: a descriptor, which the caller closes; -1 =
 * neither. */
int herd_steps_open(const char *node_dir, struct err *ret_err);
/* Waits, some seconds at most, until nobody holds NODE_DIR/shepherds.lock: whoever does may still
 * start steps. */
bool herd_lock_wait(const char *node_dir, struct err *ret_err);
/* Appends the name of the step's directory. */
void herd_step_name(const struct note *step, struct str *out);
/* Which step a plan is of, as notes name it. */
struct note herd_plan_ids(const struct step_plan *p);
/* Appends what the step kept for its epilog; false if nothing. */
bool herd_kept_read(int steps_fd, const struct note *step, struct str *out);
/* Gives a command to the shepherd of the step `name`, with the file that goes with it, if one does,
 * which has that text. False with errno, as of step_dir_signal; EAGAIN too where the shepherd has
 * not read the file of the one before (command_has_turn), unless that is to be replaced. */
bool herd_command_give(int steps_fd, const char *name, const struct step_command *c,
                       const char *text, bool replace);
/* A shepherd that says nothing though its step is to end: does it stand still (stopped, traced, in
 * the kernel)? Then it gets SIGCONT, or with `ends`, unless it stands in the kernel, SIGKILL, and
 * *ret, which has the step, is NOTE_STUCK about it. False: it does not. */
bool herd_shepherd_rouse(pid_t pid, bool ends, struct note *ret);

#endif
