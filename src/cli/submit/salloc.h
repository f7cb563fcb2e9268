/* salloc, for commands that do as it does. */
#ifndef REMUDA_CLI_SUBMIT_SALLOC_H
#define REMUDA_CLI_SUBMIT_SALLOC_H

#include "cli/submit/allocation.h"

/* As cmd_salloc, for a command of that name. `told` (NULL = it is salloc): who hears that the
 * allocation has its number, however long it may wait, and that it ended while it waited. Returns
 * what to exit with. */
int salloc_run(int argc, char **argv, const struct allocation_told *told);

#endif
