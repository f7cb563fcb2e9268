/* Commands that scripts call, and what does their work in each of the three systems. */
#ifndef REMUDA_SCRIPT_DIALECT_COMMANDS_H
#define REMUDA_SCRIPT_DIALECT_COMMANDS_H

#include "base/str.h"
#include "model/job/job.h"

#include <stddef.h>

struct dialect_command {
    const char *name;
    enum dialect of;        /* whose it is */
    const char *instead[3]; /* by enum dialect; of its own system NULL */
};

/* NULL past the last. */
const struct dialect_command *dialect_command_at(size_t i);
/* The next command of that system that the line of a shell calls, from *at on; *at: behind it.
 * NULL: none. Words count where a command begins, not among arguments and in comments. */
const struct dialect_command *dialect_command_next(struct span line, size_t *at, enum dialect of);

#endif
