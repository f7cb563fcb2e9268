/* The site's submit filter (SubmitFilter=): each submission, change of a job and table of scrontab
 * is shown to it before the core hears of it, and goes on as it answers; a few at a time, users in
 * turn. Whatever goes wrong with the filter refuses the request: a rule of the site does not stop
 * to hold because its program is broken. */
#ifndef REMUDA_CONTROLLER_SUBMIT_FILTER_H
#define REMUDA_CONTROLLER_SUBMIT_FILTER_H

#include "controller/controller.h"

struct submit_filters; /* opaque */

struct submit_filters *submit_filters_new(struct controller *c); /* none is running */
/* Those that run are killed, those that wait are dropped. NULL is fine. */
void submit_filters_free(struct submit_filters *f);
/* Is there a filter, and is it asked about such a request? */
bool submit_filters_want(const struct controller *c, const struct message *m);
/* `m` came from that connection, which is held until it is answered, or the core has it. */
void submit_filter_ask(struct submit_filters *f, uint64_t session, const struct message *m,
                       const struct peer *peer);

#endif
