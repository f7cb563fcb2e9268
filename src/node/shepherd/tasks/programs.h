/* The site's and the user's programs around a task, and around a batch script, which is the one
 * task of its step: TaskProlog and TaskEpilog of the configuration, --task-prolog and --task-epilog
 * of srun. They run as the owner, in the process that becomes the program. */
#ifndef REMUDA_NODE_SHEPHERD_TASKS_PROGRAMS_H
#define REMUDA_NODE_SHEPHERD_TASKS_PROGRAMS_H

#include "node/shepherd/setup.h"

/* Runs it, if one is named, and does what its output says: "export NAME=value", "unset NAME",
 * "print text". Where it fails the process ends, with its status. `name` is said in errors. */
void task_prolog_run(struct setup *s, struct env *e, const char *name, const char *program);
/* If one is named: goes on in a child of this process, which waits for it, runs the program with
 * the environment as it is now and ends as the child did. `whose`: "user", "slurm". */
void task_epilog_follow(struct setup *s, struct env *e, const char *whose, const char *program);

#endif
