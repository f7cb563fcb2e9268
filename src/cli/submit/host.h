/* What a submitted job takes along from the process and the host it comes from. */
#ifndef REMUDA_CLI_SUBMIT_HOST_H
#define REMUDA_CLI_SUBMIT_HOST_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* The current directory as the shell shows it (PWD, if it is that directory), else as the kernel
 * does. */
const char *submit_cwd(struct arena *a, struct err *ret_err);
/* Short name of this host. */
const char *submit_hostname(struct arena *a);
/* Soft limits: "NOFILE=1024,STACK=unlimited,…". `propagate` is the value of --propagate: NULL = not
 * given, all limits; the node leaves out what the site's settings say. Given, "ASKED" stands first,
 * and only the limits named follow, whatever the settings say. */
const char *submit_rlimits(const char *propagate, struct arena *a);
/* SLURM_UMASK, else the process's. */
uint32_t submit_umask(void);
/* Becomes the user and group of --uid and --gid; NULL = not given. Root only. */
bool submit_become(const char *user, const char *group, struct err *ret_err);
/* Is this root, and the job another's? Root of a user's own namespace is that user. */
bool submit_root_for_other(uint32_t owner);

#endif
