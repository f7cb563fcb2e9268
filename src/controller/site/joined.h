/* joined.conf beside remuda.conf: a NodeName= line for each host that joined and that the site has
 * not described itself. Behind it stands whose it is, "# host h1a2b3c4d", by which a line that
 * stayed when its host left is known (the controller was killed, the disk was full); without that
 * it is the site's own. */
#ifndef REMUDA_CONTROLLER_SITE_JOINED_H
#define REMUDA_CONTROLLER_SITE_JOINED_H

#include "controller/controller.h"

/* Adds the line of the host's node that waits for it, if one does. False, and it is logged: it
 * cannot be written, and waits on. */
bool joined_add(struct controller *c, const struct host *h, struct err *ret_err);
/* Takes the line of that node out, if it is there. NULL: nothing. False, and it is logged: it
 * cannot be written. */
bool joined_remove(struct controller *c, const char *node, struct err *ret_err);
/* What was left half done: adds lines that still wait, of nodes that the configuration lacks, and
 * takes out those of hosts that are no more. True: the configuration is to be read again. */
bool joined_settle(struct controller *c, const struct config *config);

#endif
