/* Steps one after another in one shepherd. To fork a shepherd, and to take its memory down again,
 * is a third of what a short job costs beside its own program. So one whose step ended clean and
 * soon asks its parent for another of the same owner's; the parent sends it the next such plan
 * instead of forking. It has nothing of the step before: what it knew of that is gone with its
 * struct, the plan's pages are dropped, and its files are closed.
 *
 * The parent keeps few that wait, and not for long; they end when it closes their sockets, and so
 * do those whose parent is gone. A plan travels with the lock that says "steps may still begin"
 * (shepherd.h), which its shepherd closes when it has the step's directory.
 *
 * A command for a step is marked with the step (step_dir_tag), for its shepherd may have another by
 * the time the signal arrives. */
#ifndef REMUDA_NODE_SHEPHERD_AGAIN_H
#define REMUDA_NODE_SHEPHERD_AGAIN_H

#include "node/shepherd/plan_intake.h"
#include "node/shepherd/shepherd.h"

#define AGAIN_PLAN_MAX (64u << 10) /* bytes of a plan that is sent to one that waits */

/* ---- the parent ---- */

struct again_child {
    pid_t pid;
    int fd; /* plans go there */
    int64_t switch_user, uid;
    int64_t group, group_part; /* of its last step */
    int64_t idle_since_us;     /* monotonic; 0 = it has a step */
};

struct again {
    struct again_child *v;   /* AGAIN_CHILDREN of them */
    size_t n, nidle;         /* that there are; of these, those that wait */
    struct again_child next; /* prepared: others may end before it is forked */
    int asks[2]; /* a pipe: who waits writes its process id there; -1 = this kernel lacks something
                    that is needed */
};

/* Where the system does not let it, there is none, and everything is as without. */
void again_open(struct again *a);
/* Those that wait end. */
void again_close(struct again *a);
/* To be watched for those who ask; -1 = none will. */
int again_fd(const struct again *a);
/* Takes up who asks, lets those go that waited too long. */
void again_take(struct again *a, bool some_ask);
/* Sends the plan to one that waits: who; 0 = there is none for it. */
pid_t again_give(struct again *a, const struct herd *h, const struct plan_intake *in,
                 const struct step_plan *p);
/* Before a fork: a socket for the child that has that plan first; -1 = it is to have one step
 * only. */
int again_prepare(struct again *a, const struct step_plan *p);
/* After it. pid < 0: there was none. */
void again_forked(struct again *a, pid_t pid, int child_fd);
/* It has ended. */
void again_forget(struct again *a, pid_t pid);

/* ---- the shepherd ---- */

/* Just forked: closes what is the parent's. */
void again_begin(const struct again *a, struct herd *h, int child_fd);
/* Asks for another step and waits for it; its plan is in `in` then. False: there will be none. */
bool again_wait(struct herd *h, struct plan_intake *in, struct step_plan *ret);

#endif
