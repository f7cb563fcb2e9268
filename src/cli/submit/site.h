/* What of the cluster's settings the words of LSF and PBS depend on. */
#ifndef REMUDA_CLI_SUBMIT_SITE_H
#define REMUDA_CLI_SUBMIT_SITE_H

#include "base/arena.h"
#include "script/dialect.h"

/* As far as they can be learned; else the defaults. */
struct dialect_site submit_site(const char *state_dir, struct arena *a);

#endif
