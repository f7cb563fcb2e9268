/* A site's configuration file, slurm.conf's grammar, as a machine to replay jobs on. */
#ifndef REMUDA_SIM_SITE_H
#define REMUDA_SIM_SITE_H

#include "sim/replay/replay.h"

struct site {
    char *path, *text; /* owned */
};

/* Reads the file (with what it includes) and fills in the machine: its text, processors and GPUs.
 * The machine refers to `site`. What is ignored or without effect is counted in *ret_warnings (NULL
 * = not wanted). ERR names file, line and key. */
bool site_read(const char *path, struct site *site, struct replay_machine *ret,
               size_t *ret_warnings, struct err *ret_err);
void site_done(struct site *s); /* texts; empty again */

/* For config_parse: paths are relative to the folder of the file `ctx`. */
const char *site_include(void *ctx, const char *path, struct arena *a, struct err *ret_err);

#endif
