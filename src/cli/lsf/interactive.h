/* Interactive jobs of LSF and PBS (bsub -I, -Is; qsub -I): an allocation, and in it a command on
 * the first host, here at the terminal. */
#ifndef REMUDA_CLI_LSF_INTERACTIVE_H
#define REMUDA_CLI_LSF_INTERACTIVE_H

#include "base/arena.h"
#include "base/str.h"
#include "cli/submit/allocation.h"
#include "script/lsf/lsf.h"
#include "script/options/options.h"

#include <stdbool.h>

/* `o`: of each of the `ncomp` components. `announce`: lines of a shell in the allocation that say
 * what the users expect, set variables, and run "$@", the command. Returns what to exit with: as
 * the command did. */
int interactive_job(const struct submit_options *o, size_t ncomp, bool terminal,
                    const char *announce, char *const *command, const struct allocation_told *told,
                    struct arena *a);
/* bsub -I: the words of LSF. `queue`: the one that was named; NULL = none. */
int lsf_interactive(const struct submit_options *o, size_t ncomp, bool terminal, const char *queue,
                    char *const *command, struct arena *a);
/* Adds a line about what was asked for that an allocation and a command at this terminal do not
 * have. */
void lsf_interactive_note(const struct lsf_request *r, struct arena *a, struct str *warnings);

#endif
