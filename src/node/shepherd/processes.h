/* The processes of a step: to find them, and to end them all. */
#ifndef REMUDA_NODE_SHEPHERD_PROCESSES_H
#define REMUDA_NODE_SHEPHERD_PROCESSES_H

#include "node/shepherd/step.h"

/* Their number, SHEPHERD_TREE_MAX at most; s->pids, s->tops and s->starts are filled. */
size_t shepherd_tree(struct shepherd *s);
/* A shepherd that is kept very busy gives way to others; looked at now and then. */
void shepherd_time_look(struct shepherd *s);
void shepherd_hurry(struct shepherd *s); /* no more: there is something to end or to stop */
/* SIGSTOP to all, those too that fork meanwhile, and they stand still (s->frozen), where control
 * groups can do that, until they are let go on. */
void shepherd_suspend(struct shepherd *s);
/* Nothing, if they are not frozen; they still are, if there was no room for it, say: again then. */
void shepherd_thaw(struct shepherd *s);
/* SIGKILL to all, those too that fork meanwhile. */
void shepherd_kill_all(struct shepherd *s);

#endif
