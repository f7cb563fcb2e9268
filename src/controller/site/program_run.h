/* Programs of triggers: the core says which and when, they run here, as who set the trigger. */
#ifndef REMUDA_CONTROLLER_SITE_PROGRAM_RUN_H
#define REMUDA_CONTROLLER_SITE_PROGRAM_RUN_H

#include "controller/controller.h"

struct program_runs; /* opaque */

struct program_runs *program_runs_new(struct controller *c); /* none is running */
/* Those that run are killed. NULL is fine. */
void program_runs_free(struct program_runs *p);
/* Returns at once; EV_PROGRAM_OVER comes in a later round, whatever becomes of it. */
void program_run(struct program_runs *p, const struct program_run *what);

#endif
