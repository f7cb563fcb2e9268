/* Who has the numbers of those whose jobs there are: asked of name services twice a minute, and
 * when /etc/passwd changes, said to the core (EV_OWNERS). */
#ifndef REMUDA_CONTROLLER_SITE_OWNERS_H
#define REMUDA_CONTROLLER_SITE_OWNERS_H

#include "controller/controller.h"

struct owner_watch; /* opaque */

/* Begins to ask at once; the state is loaded. */
struct owner_watch *owner_watch_new(struct controller *c);
/* A lookup under way is waited for by nobody. NULL is fine. */
void owner_watch_free(struct owner_watch *w);

#endif
