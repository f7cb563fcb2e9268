/* salloc, for commands that do as it does. */
#ifndef REMUDA_CLI_SUBMIT_SALLOC_H
#define REMUDA_CLI_SUBMIT_SALLOC_H

#include <stdint.h>

/* As cmd_salloc. `submitted` (NULL = nobody wants to know) is called with `ctx` as soon as the
 * allocation has its number, however long it may wait. Returns what to exit with. */
int salloc_run(int argc, char **argv, void (*submitted)(void *ctx, uint64_t job_id), void *ctx);

#endif
