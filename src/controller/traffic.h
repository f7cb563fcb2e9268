/* What was asked of the controller: messages by kind and by user, with the time its loop spent on
 * them, as `sdiag` shows it. */
#ifndef REMUDA_CONTROLLER_TRAFFIC_H
#define REMUDA_CONTROLLER_TRAFFIC_H

#include "model/message.h"

struct traffic; /* opaque */

struct traffic *traffic_new(void);    /* all counts are 0 */
void traffic_free(struct traffic *t); /* NULL is allowed */
/* One message, the same by kind and by user; of a query by what it asks. */
void traffic_count(struct traffic *t, const struct message *m, uint32_t uid, const char *user,
                   int64_t spent_us);
void traffic_reset(struct traffic *t); /* all counts are 0 again */
/* Fills the two texts of *d; they live in the arena. */
void traffic_show(const struct traffic *t, struct arena *a, struct diag *d);

#endif
