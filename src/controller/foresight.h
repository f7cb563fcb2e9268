/* Long forecasts of who starts when are made by a copy of the controller, so that nobody waits for
 * them; what it found is taken over a part a round of the loop. */
#ifndef REMUDA_CONTROLLER_FORESIGHT_H
#define REMUDA_CONTROLLER_FORESIGHT_H

#include "controller/controller.h"

struct foresight; /* opaque */

/* Its first look comes when the planner asks for it. */
struct foresight *foresight_new(struct controller *c);
void foresight_free(struct foresight *f); /* NULL is fine */
/* Begins a forecast if one is due and none is being made. */
void foresight_look(struct foresight *f);

#endif
