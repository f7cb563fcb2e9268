/* How a node or a partition wants the tasks of its steps bound, where nobody asks (CpuBind=). */
#ifndef REMUDA_MODEL_CPU_BIND_H
#define REMUDA_MODEL_CPU_BIND_H

#include "base/err.h"

#include <stdbool.h>

/* none, sockets, ldoms, cores, threads, also without the s: *ret is the word as --cpu-bind takes
 * it, static; "off" and "" give NULL: nothing is wanted. ERR_INVALID. */
bool cpu_bind_wanted_parse(const char *value, const char **ret, struct err *ret_err);

#endif
