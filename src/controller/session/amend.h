/* What is said of jobs afterwards (amend_jobs): the core knows only those of late, so the rows of
 * the others are read from the store before it hears of the request. */
#ifndef REMUDA_CONTROLLER_AMEND_H
#define REMUDA_CONTROLLER_AMEND_H

#include "controller/controller.h"

struct amends; /* opaque */

struct amends *amends_new(struct controller *c); /* none is under way */
/* Those that wait are dropped; nothing is read any more (reads_free comes before). NULL is fine. */
void amends_free(struct amends *all);
/* `m`, an amend_jobs, came from that connection, which is held until it is answered. */
void amend_ask(struct amends *all, uint64_t session, const struct message *m,
               const struct peer *peer);

#endif
