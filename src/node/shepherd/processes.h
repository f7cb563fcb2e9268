/* The processes of a step: to find them, and to end them all. */
#ifndef REMUDA_NODE_SHEPHERD_PROCESSES_H
#define REMUDA_NODE_SHEPHERD_PROCESSES_H

#include "node/shepherd/step.h"

/* Their number, SHEPHERD_TREE_MAX at most; s->pids, s->tops and s->starts are filled. */
size_t shepherd_tree(struct shepherd *s);
/* SIGSTOP to all, those too that fork meanwhile. */
void shepherd_stop_all(struct shepherd *s);
/* All stand still, where control groups can do that (s->frozen), until they are let go on. */
void shepherd_freeze(struct shepherd *s);
void shepherd_thaw(struct shepherd *s); /* nothing, if they were not frozen */
/* SIGKILL to all, those too that fork meanwhile. */
void shepherd_kill_all(struct shepherd *s);

#endif
