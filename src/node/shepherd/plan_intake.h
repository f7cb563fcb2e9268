/* How the shepherds' parent takes plans from the daemon: one at a time, into memory of its own, so
 * that what it forks has the plan of its own step in its memory and no other: a plan has a user's
 * script and environment in it. */
#ifndef REMUDA_NODE_SHEPHERD_PLAN_INTAKE_H
#define REMUDA_NODE_SHEPHERD_PLAN_INTAKE_H

#include <stddef.h>

struct plan_intake {
    char *data;               /* of the plan, without its length; mapped, NULL = none yet */
    size_t len, have, mapped; /* bytes the plan has, those that came, and those that are mapped */
    char head[4];
    size_t have_head;
    size_t skip; /* bytes still to come of a plan that is longer than any: they are dropped */
};

enum plan_intake_result { PLAN_WHOLE, PLAN_NOT_YET, PLAN_NO_MORE };

/* Reads what has come on the socket `fd`, without waiting, up to the end of one plan. One of more
 * than STEP_PLAN_MAX, which the daemon refuses, is passed over: it is one user's, and who reads
 * here starts the steps of all. NO_MORE: the other end is closed. NOT_YET, after a moment: there is
 * no memory for it. */
enum plan_intake_result plan_intake_read(struct plan_intake *in, int fd);
/* After the fork: nothing of the plan stays in this process, and the next can come. */
void plan_intake_forget(struct plan_intake *in);

#endif
