/* Manual pages, and the page of what of Slurm's options works, from the tables of all commands. */
#ifndef REMUDA_CLI_CLUSTER_MANUAL_H
#define REMUDA_CLI_CLUSTER_MANUAL_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>

/* Writes a page of section 1 for each command into the directory, which is made. `prose`: the file
 * with a section for each ("@ squeue"): paragraphs, indented lines as they are, and behind a line
 * "% examples" what stands there; NULL = the tables alone. */
bool manual_write(const char *dir, const char *prose, struct err *ret_err);

/* compatibility.md: every command and option, whether it is honoured, has no effect, or is refused,
 * and why. */
void compatibility_write(struct str *out);

#endif
