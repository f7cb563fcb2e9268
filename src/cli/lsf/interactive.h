/* Interactive jobs of LSF and PBS (bsub -I, -Is; qsub -I): an allocation, and in it a command on
 * the first host, here at the terminal. */
#ifndef REMUDA_CLI_LSF_INTERACTIVE_H
#define REMUDA_CLI_LSF_INTERACTIVE_H

#include "base/arena.h"
#include "script/options/options.h"

#include <stdbool.h>
#include <stdint.h>

/* Who wants to know that it is submitted, and has its number, while it may still wait. */
struct interactive_told {
    void (*submitted)(void *ctx, uint64_t job_id);
    void *ctx;
};

/* `announce`: lines of a shell in the allocation that say what the users expect, set variables, and
 * run "$@", the command. Returns what to exit with: as the command did. */
int interactive_job(const struct submit_options *o, bool terminal, const char *announce,
                    char *const *command, const struct interactive_told *told, struct arena *a);
/* bsub -I: the words of LSF. `queue`: the one that was named; NULL = none. */
int lsf_interactive(const struct submit_options *o, bool terminal, const char *queue,
                    char *const *command, struct arena *a);

#endif
