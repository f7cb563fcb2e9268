/* The shepherd: the small process that stands over one job step, starts it, measures it, ends it,
 * and outlives the node daemon.
 *
 * `remuda-shepherd NODE_DIR` is their warm parent: it reads plans (step/plan.h) from descriptor 3
 * and forks a shepherd for each. It holds a lock on NODE_DIR/shepherds.lock until each shepherd it
 * forked has its step directory: who gets that lock after it knows that every step that will ever
 * start is in NODE_DIR/steps. Notes go to the node daemon's socket (notes_socket.h).
 *
 * What is of one user must not come near another's process: the parent never has more than one plan
 * in its memory, and none of it after the fork (plan_intake.h); the step's process has nothing open
 * of the shepherd's when it becomes its owner's, and stays closed to tracers until it executes the
 * job's program. */
#ifndef REMUDA_NODE_SHEPHERD_SHEPHERD_H
#define REMUDA_NODE_SHEPHERD_SHEPHERD_H

#include "agent/note.h"
#include "node/cgroup/group.h"
#include "node/step/plan.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#define SHEPHERD_PLAN_FD 3
/* Exit code of a step's process that could not be set up, and has said why in the pipe for that. */
#define SHEPHERD_SETUP_EXIT 121

/* What shepherds inherit from their parent. */
struct herd {
    const char *node_dir; /* steps have theirs below it */
    int steps_fd;         /* NODE_DIR/steps */
    /* Each process connects anew, at the same number, when the daemon was restarted. */
    int notes_fd;
    int lock_fd; /* of this step's directory, as long as it lives */
    /* A shepherd's own, shepherd/again.h: where its next plan comes from, and where it asks for it;
     * -1 = it has one step. */
    int again_fd, asks_fd;
};

/* Serves plans until the other end closes descriptor 3. Returns the exit status. */
int herd_serve(const char *node_dir);
/* Tells the node daemon. Waits up to wait_ms while it does not take more; false if it was not told:
 * it is not there, or did not take it. */
bool herd_tell(const struct herd *h, const struct note *n, int wait_ms);
/* The same of a line with its end, at most 15,000 bytes. */
bool herd_say(const struct herd *h, const char *line, size_t len, int wait_ms);

/* The life of one shepherd, in its own process: the step of the plan, which is in `in`, and those
 * that it is given after it. Ends with the exit status of the process: 0 when everything was
 * told. */
struct plan_intake;
_Noreturn void shepherd_run(struct herd *h, struct plan_intake *in, struct step_plan *p);

/* In the step's own process, just forked: becomes the owner, sets everything up and executes the
 * script. What goes wrong is said in the job's output, and as a line in the pipe failure_fd
 * (shepherd/setup.h). groups_why: of step_cgroup_fork. */
_Noreturn void step_exec(const struct herd *h, const struct step_plan *p, int groups_why,
                         int failure_fd);
/* Appends a line to the step's error file, as its owner, from a process of its own; waits 2 s for
 * it at most. */
void step_error_line(const struct step_plan *p, const char *line);
/* The same to its output file. */
void step_output_text(const struct step_plan *p, const char *text);

#endif
