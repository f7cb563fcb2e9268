/* The directory that LSF_ENVDIR names: programs read settings of LSF from the files in it. */
#ifndef REMUDA_CLI_PROGRAM_LSF_DIR_H
#define REMUDA_CLI_PROGRAM_LSF_DIR_H

#include "base/arena.h"
#include "base/err.h"

/* Makes it, or makes it anew, in the user's cache: lsf.conf with the cluster's settings as LSF has
 * them, and lsbatch/CLUSTER/configdir/lsb.params. Its path, in the arena; NULL: ret_err says why
 * not. */
const char *lsf_dir_make(const char *state_dir, struct arena *a, struct err *ret_err);

#endif
