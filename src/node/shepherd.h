/* The shepherd: the small process that stands over one job step, starts it, measures it, ends it, and
 * outlives the node daemon.
 *
 * `remuda-shepherd NODE_DIR` is their warm parent: it reads plans (step_plan.h) from descriptor 3 and forks a
 * shepherd for each. It holds a lock on NODE_DIR/shepherds.lock until each shepherd it forked has its step
 * directory: who gets that lock after it knows that every step that will ever start is in NODE_DIR/steps.
 * Notes go to the pipe NODE_DIR/shepherds.fifo, which keeps them while no daemon is there to read. */
#ifndef REMUDA_NODE_SHEPHERD_H
#define REMUDA_NODE_SHEPHERD_H

#include "agent/note.h"
#include "node/cgroup.h"
#include "node/step_plan.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#define SHEPHERD_PLAN_FD  3
#define SHEPHERD_PLAN_MAX (32u << 20) /* bytes of one plan */
/* Exit code of a step's process that could not be set up; its state file then ends with a FAILED note. */
#define SHEPHERD_SETUP_EXIT 121

/* What shepherds inherit from their parent. */
struct herd {
    const char *node_dir;
    int steps_fd; /* NODE_DIR/steps */
    int fifo_fd;
    int lock_fd;
};

/* Serves plans until the other end closes descriptor 3. Returns the exit status. */
int herd_serve(const char *node_dir);
/* Writes a note to the pipe. Waits up to wait_ms while it is full; false if it could not be written. */
bool herd_tell(const struct herd *h, const struct note *n, int wait_ms);

/* The life of one shepherd, in its own process. Ends with the exit status of the process: 0 when everything
 * was told. */
_Noreturn void shepherd_run(const struct herd *h, const struct step_plan *p);

/* In the step's own process, just forked: becomes the owner, sets everything up and executes the script. What
 * goes wrong is said in the job's output, and as a FAILED note in the state file. groups_why: of
 * step_cgroup_fork. */
_Noreturn void step_exec(const struct herd *h, const struct step_plan *p, int groups_why, int state_fd,
                         const struct note *ids);
/* Appends a line to the step's error file, as its owner, from a process of its own; waits 2 s for it at most.
 */
void step_error_line(const struct step_plan *p, const char *line);

#endif
