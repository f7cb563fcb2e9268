/* The file of srun --multi-prog: lines "TASKS PROGRAM ARGUMENTS…" with TASKS as "0,4-6" or "*"; the
 * first that names a task is its own. */
#ifndef REMUDA_NODE_STEP_MULTI_PROG_H
#define REMUDA_NODE_STEP_MULTI_PROG_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

/* Adds the words of the task's line, each ended by NUL: "%t" in them (outside of single quotes) is
 * the task's number, "%o" its place among those of the line. False: no line is its own. */
bool multi_prog_words(struct span file, int32_t task, struct str *out);

#endif
