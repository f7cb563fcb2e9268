/* The tasks of a step as srun sees them: where each is, how it ended, and Slurm's lines about
 * that. */
#ifndef REMUDA_CLI_STEP_TASKS_H
#define REMUDA_CLI_STEP_TASKS_H

#include "base/str.h"
#include "model/job/alloc.h"

#include <stdbool.h>
#include <stdint.h>

enum task_at { TASK_WAITS, TASK_RUNS, TASK_ENDED };

struct step_tasks; /* opaque */

/* The layout of the step (with task_ids); `first` is the number of its first task as people see it
 * (components of a heterogeneous job). */
struct step_tasks *tasks_new(const struct alloc *layout, int32_t ntasks, int32_t first);
void tasks_free(struct step_tasks *t); /* NULL is allowed */

/* Is it one of that node's tasks? */
bool tasks_is_on(const struct step_tasks *t, int32_t task, const char *node);
/* A node says that "0-3,7" begin to run; of those that are another's it is not believed. */
void tasks_started(struct step_tasks *t, const char *node, const char *folded);
/* The same of ends. Appends Slurm's line about a bad one: "n1: tasks 0-1: Exited with exit code
 * 3". */
void tasks_ended(struct step_tasks *t, const char *node, const char *folded, int32_t wait_status,
                 struct str *line);
/* The node is gone: what ran there has ended badly. */
void tasks_lost(struct step_tasks *t, const char *node);

/* False for a number that is no task's. */
bool tasks_is_ended(const struct step_tasks *t, int32_t task);
int32_t tasks_count(const struct step_tasks *t, enum task_at at); /* of all nodes */
/* The exit code srun takes: highest code, 128 + signal. */
int32_t tasks_worst(const struct step_tasks *t);
bool tasks_any_bad(const struct step_tasks *t); /* one ended other than with 0 */
/* "tasks 0-2: running", appended; false if no task is so. */
bool tasks_describe(const struct step_tasks *t, enum task_at at, struct str *out);

#endif
